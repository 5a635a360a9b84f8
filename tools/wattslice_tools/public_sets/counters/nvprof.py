"""From a public table of nvprof counters to the project's own: one row per kernel, the median over clocks."""

from __future__ import annotations

import csv
import re
import statistics
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice_corpora.counters import COUNTERS, CounterRow

CHANGES = 0.05
"""A counter whose values at different clocks are further apart than this, relative to their median, depends
on the clock: it says so in the row."""

_EXTENT = re.compile(r"\((\d+) (\d+) (\d+)\) \((\d+) (\d+) (\d+)\)")


def read_nvprof_table(path: Path, arguments: tuple[tuple[str, str], ...]) -> tuple[CounterRow, ...]:
    """The rows of a table with the columns appName, kernel, blocks and nvprof's metrics, one row per clock.

    `arguments`: pairs of program and the arguments it was run with, which the table only numbers. Raises
    `WattsliceError` when the table cannot be read or a launch differs between clocks.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            entries = list(csv.DictReader(stream))
        runs: dict[tuple[str, str], list[dict[str, str]]] = {}
        for entry in entries:
            runs.setdefault((entry["appName"], entry["kernel"]), []).append(entry)
        given = dict(arguments)
        rows = tuple(_row(*key, given.get(key[0], ""), run) for key, run in runs.items())
    except (OSError, KeyError, ValueError) as error:
        raise WattsliceError(f"{path}: not a table of nvprof counters ({error!r})") from None
    if not rows:
        raise WattsliceError(f"{path}: no rows")
    return rows


def _row(benchmark: str, kernel: str, arguments: str, run: list[dict[str, str]]) -> CounterRow:
    extents = {entry["blocks"].strip() for entry in run}
    found = _EXTENT.match(next(iter(extents)))
    if len(extents) != 1 or found is None:
        raise ValueError(f"{benchmark}: launches {sorted(extents)}")
    x, y, z, threads_x, threads_y, threads_z = (int(number) for number in found.groups())
    values = {name: [float(entry[name]) for entry in run] for name in COUNTERS}
    middle = {name: statistics.median(numbers) for name, numbers in values.items()}
    changing = [n for n, numbers in values.items() if max(numbers) - min(numbers) > CHANGES * middle[n]]
    return CounterRow(
        benchmark=benchmark,
        kernel=kernel,
        arguments=arguments,
        grid_x=x,
        grid_y=y,
        grid_z=z,
        block_x=threads_x,
        block_y=threads_y,
        block_z=threads_z,
        clocks=len(run),
        changes_with_clock=" ".join(changing),
        **middle,
    )
