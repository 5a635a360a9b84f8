"""What all tests share: processes, property tests, goldens.

`pytest --update-golden` rewrites the goldens; a missing golden fails. `pytest --hypothesis-profile fuzz`
draws other and more examples in property tests than the usual run, which draws the same ones every time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# What tests start is compiled once, not at every start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The tests share the processors already: one thread for each of them. Before numpy or torch is imported.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# How long an example takes depends on what else the machine does: no deadline, no check that one is slow.
# A costly test takes a share of these examples: `settings(max_examples=settings().max_examples // 25)`.
_ANY_SPEED = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("usual", _ANY_SPEED, derandomize=True)
settings.register_profile("fuzz", _ANY_SPEED, max_examples=2000, print_blob=True)
settings.load_profile("usual")

MOST_PROCESSES = 8
GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the files in tests/golden")


def pytest_xdist_auto_num_workers() -> int:
    """The processes of `-n auto`: one for each processor that this one may use."""
    return min(MOST_PROCESSES, len(os.sched_getaffinity(0)))


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders of users that do not exist, one for each test: making thousands takes seconds."""
    base = tmp_path_factory.mktemp("homes")
    return (base / str(number) for number in count())


def _no_wait(_: int) -> None:
    """Nobody pulls the plug of a test: journals need not wait for the disk a hundred times."""


@pytest.fixture(autouse=True)
def nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, homes: Iterator[Path]) -> None:
    """What somebody has trained or analysed on this machine is no business of the tests."""
    home = next(homes)
    monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.delenv("COLUMNS", raising=False)  # tables are as wide as it says
    monkeypatch.setenv("WATTSLICE_CACHE", "off")  # what breaks us on purpose must not be answered from it
    monkeypatch.setattr(os, "fsync", _no_wait)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder with nothing beside it: there callers of a kernel are looked for, and found in other tests."""
    folder = tmp_path / "own"
    folder.mkdir()
    return folder


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares text with the file `name` in tests/golden, line by line."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden {name}: look at the output, then run pytest --update-golden"
        assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()

    return compare
