"""A campaign on a bench without a GPU, as a program of its own so that it can be killed.

``python fake_campaign.py FOLDER SECONDS_PER_CONFIGURATION``; the last configuration never ends. The watts of
a configuration follow from its name alone, as if the board repeated itself exactly.
"""

import signal
import sys
import time
import zlib
from pathlib import Path

from wattslice_corpora.measuring.bench import Configuration, Measured
from wattslice_corpora.measuring.campaign import run_campaign
from wattslice_corpora.measuring.errors import ConfigurationError
from wattslice_corpora.measuring.journal import Journal
from wattslice_corpora.measuring.program import Choice, Launch

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from power_traces import Course
else:
    from .power_traces import Course

IDENTITY = "fake board, seed 0"
COUNT = 24


class FakeBench:
    """Measures from the name; every seventh configuration crashes."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.measured: list[str] = []

    def prepare(self, configurations: tuple[Configuration, ...]) -> None:
        """Nothing to build."""

    def measure(self, configuration: Configuration) -> Measured:
        """The trace that the name gives."""
        time.sleep(self.seconds)
        self.measured.append(configuration.name)
        number = zlib.crc32(configuration.name.encode())
        if number % 7 == 0:
            raise ConfigurationError(f"{configuration.benchmark}: killed by signal 11")
        launch = Launch(0, f"k{number}", (number % 500 + 1, 1, 1), (256, 1, 1), 0, 0, 16, "0000:1B:00.0")
        return Measured(launch, Course(busy_w=100.0 + number % 400).trace())


def plan() -> tuple[Configuration, ...]:
    """Configurations c00, c01, …"""
    return tuple(
        Configuration(f"c{number:02}", "1", "fake", f"program{number}", Path("none.cu"), Choice("k"))
        for number in range(COUNT)
    )


class EndlessBench(FakeBench):
    """It waits to be killed, however late that is."""

    def measure(self, configuration: Configuration) -> Measured:
        """The trace that the name gives, but for the last configuration."""
        if configuration.name == plan()[-1].name:
            signal.pause()
        return super().measure(configuration)


if __name__ == "__main__":
    with Journal(Path(sys.argv[1]), IDENTITY) as journal:
        run_campaign(plan(), EndlessBench(float(sys.argv[2])), journal, ("fake",))
