"""How long a projection takes by its number of configurations, as Markdown.

    python -m wattslice_tools.wild.projection_speed [--repeats 3] [-o docs/appendix/speed.md]

Two measured components, each on one of two node kinds with up to so many nodes. The time is that of all that
follows reading the file: every configuration, the Pareto front, the best by each objective. Beside it the
time and size of the JSON report with all configurations.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from pathlib import Path

from wattslice.projection.projection import Projection, project_workflow
from wattslice.projection.reader import read_workflow
from wattslice.report.projection import projection_json
from wattslice_tools.wild.document import publish

_MOST_IN_JSON = 100_000
_WORKFLOW = """
[network]
latency_s = 2e-6
bandwidth_bytes_per_s = 12.5e9

[nodes.cpu]
cores = 16
package_idle_w = 40
memory_idle_w = 10

[nodes.gpu]
gpu = "a100"
host_idle_w = 150
"""
_COMPONENT = """
[components.{name}]
nodes = "1..{nodes}"
serial_share = 0.001
communication = [{{ pattern = "halo", data_bytes = 25e6 }}]

[[components.{name}.measured]]
node = "cpu"
time_s = {time_s}
power_w = 300

[[components.{name}.measured]]
node = "gpu"
time_s = {fast_s}
gpu_power_w = 250
"""


def projected(nodes: int) -> tuple[Projection, float]:
    """The projection with up to so many nodes, and the seconds it took."""
    text = _WORKFLOW + "".join(
        _COMPONENT.format(name=name, nodes=nodes, time_s=time_s, fast_s=time_s / 4)
        for name, time_s in (("a", 100.0), ("b", 30.0))
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "workflow.toml"
        path.write_text(text, encoding="utf-8")
        workflow = read_workflow(path)
    started = time.perf_counter()
    projection = project_workflow(workflow)
    return projection, time.perf_counter() - started


def _json(projection: Projection) -> str:
    """Seconds and megabytes of the report, where it has not gigabytes."""
    if len(projection.outcomes) > _MOST_IN_JSON:
        return "– | –"
    started = time.perf_counter()
    size = len(projection_json(projection, everything=True).encode())
    return f"{time.perf_counter() - started:.2f} | {size / 1e6:.1f}"


def main() -> None:
    """Prints the table or writes it into a document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", type=Path)
    options = parser.parse_args()
    projected(2)  # what is imported then is not timed
    lines = [
        f"The least of {options.repeats} runs each, on one of {os.cpu_count()} cores ({platform.machine()}, "
        f"Python {platform.python_version()}). Two measured components on two node kinds; timed is what",
        "follows reading the file, without analyses of kernels: every configuration, the Pareto front, the",
        "best by each objective. Writing all of them as JSON (`--format json --all`) takes longer:",
        "",
        "| configurations | on the Pareto front | seconds | JSON of all: seconds | MB |",
        "|---|---|---|---|---|",
    ]
    for nodes in (16, 50, 158, 500):
        runs = [projected(nodes) for _ in range(options.repeats)]
        projection, seconds = min(runs, key=lambda pair: pair[1])
        cells = (
            f"{len(projection.outcomes):,} | {len(projection.front)} | {seconds:.3f} | {_json(projection)}"
        )
        lines.append(f"| {cells} |")
    publish(options.o, "projection_speed", [*lines, ""])


if __name__ == "__main__":
    main()
