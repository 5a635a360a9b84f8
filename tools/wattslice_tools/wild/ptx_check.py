"""Operations and accesses of one launch from its source, its PTX and its SASS, as Markdown.

    python -m wattslice_tools.wild.ptx_check FILE.cu... [-I DIR] [-D NAME=VALUE] [--kept FOLDER]
        [-o docs/appendix/ptx.md]

Each file is compiled by nvcc twice: to PTX with -lineinfo, which the analyzer reads and counts like a source,
and to SASS, which `sass_emulator.py` runs for 24 threads. All launches that the host code of the file shows
are compared, by class and per launched thread; differences beyond 20 % get the cause that `ptx_causes.py`
finds evidence for. With -o the tables replace the section `ptx_check` of the document.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from wattslice_tools.wild.document import publish
from wattslice_tools.wild.ptx_causes import Difference, close, differences
from wattslice_tools.wild.ptx_counts import CLASSES, Compared, Counts, Lines, compared

_SHOWN = {"integer": "int"}
_LEAST = 0.05


def ratios(
    rows: list[Compared], cls: str, first: Callable[[Compared], Counts], second: Callable[[Compared], Counts]
) -> list[float]:
    """The ratios of a class over the launches that have it on both sides."""
    pairs = [(first(row)[cls], second(row)[cls]) for row in rows]
    return [a / b for a, b in pairs if a >= _LEAST and b >= _LEAST]


def cell(values: list[float]) -> str:
    """Median, 10 % to 90 %, and how many lie within 20 %."""
    if not values:
        return "–"
    ordered = sorted(values)
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    within = sum(close(value, 1.0) for value in values)
    return f"{statistics.median(values):.2f} ({low:.2f} to {high:.2f}), {within} of {len(values)}"


def summary(rows: list[Compared]) -> list[str]:
    """One row for each class."""
    rows = [row for row in rows if not row.assumed_in_source and not row.assumed_in_ptx]
    known = [row for row in rows if row.sass is not None and not row.unknown]
    lines = ["| Class | Source / PTX | PTX / SASS | Source / SASS |", "|---|---|---|---|"]
    for cls in CLASSES:
        cells = (
            cell(ratios(rows, cls, lambda row: row.source, lambda row: row.ptx)),
            cell(ratios(known, cls, lambda row: row.ptx, lambda row: row.sass or {})),
            cell(ratios(known, cls, lambda row: row.source, lambda row: row.sass or {})),
        )
        lines.append(f"| {_SHOWN.get(cls, cls)} | {' | '.join(cells)} |")
    return lines


def instruction_rows(rows: list[Compared]) -> list[str]:
    """How many instructions the analyzer expects of the launches whose trips and branches it knows."""
    rows = [row for row in rows if not (row.assumed_in_source or row.assumed_in_ptx or row.unknown)]
    found = [row.instructions for row in rows]
    known = [(one, one.sass) for one in found if one.sass]
    lines = ["| Instructions per thread | Ratio |", "|---|---|"]
    for name, values in (
        ("estimated from the source / SASS", [one.estimated_from_source / sass for one, sass in known]),
        ("estimated from PTX / SASS", [one.estimated_from_ptx / sass for one, sass in known]),
        ("PTX / SASS", [one.ptx / sass for one, sass in known]),
    ):
        lines.append(f"| {name} | {cell(values)} |")
    return lines


def causes(found: list[Difference]) -> list[str]:
    """One row for each cause, the most frequent first."""
    numbers = Counter((one.pair, one.cause) for one in found)
    lines = [
        "| Between | Cause | Differences | Classes | Ratio, median | Within 20 % without it |",
        "|---|---|---|---|---|---|",
    ]
    for (pair, cause), times in numbers.most_common():
        of_cause = [one for one in found if (one.pair, one.cause) == (pair, cause)]
        classes = Counter(_SHOWN.get(one.cls, one.cls) for one in of_cause)
        shown = ", ".join(f"{name} {times}" for name, times in classes.most_common())
        tried = [one.settled for one in of_cause if one.settled is not None]
        settled = f"{sum(tried)} of {len(tried)}" if tried else "not computed"
        middle = statistics.median(one.ratio for one in of_cause)
        lines.append(f"| {pair} | {cause} | {times} | {shown} | {middle:.2f} | {settled} |")
    return lines


def told(row: Compared) -> str:
    """One launch as a line: its counts as source / PTX / SASS, then the causes of differences."""
    cells: list[str] = []
    for cls in CLASSES:
        sass = None if row.sass is None else row.sass[cls]
        if max(row.source[cls], row.ptx[cls], sass or 0.0) >= _LEAST:
            last = "–" if sass is None else f"{sass:.4g}"
            cells.append(f"{_SHOWN.get(cls, cls)} {row.source[cls]:.4g} / {row.ptx[cls]:.4g} / {last}")
    why = [f"{_SHOWN.get(one.cls, one.cls)}: {one.pair} {one.cause}" for one in differences(row)]
    return f"{'~' * row.unknown}{row.name}: {', '.join([*cells, *why])}"


def overlap(source: Lines, ptx: Lines) -> float | None:
    """The share of floating-point operations that source and PTX have on the same lines, 1: the same."""
    places = source.keys() | ptx.keys()
    most = sum(max(source.get(place, 0.0), ptx.get(place, 0.0)) for place in places)
    same = sum(min(source.get(place, 0.0), ptx.get(place, 0.0)) for place in places)
    return same / most if most >= _LEAST else None


def by_line(rows: list[Compared]) -> list[str]:
    """How floating-point operations fall on source lines, in launches that do about as many on both sides."""
    alike: list[tuple[float, Compared]] = []
    for row in rows:
        share = overlap(row.source_lines, row.ptx_lines)
        sums = [sum(lines.values()) for lines in (row.source_lines, row.ptx_lines)]
        if share is not None and close(*sums):
            alike.append((share, row))
    if not alike:
        return ["No launch whose floating-point operations agree."]
    shares = [share for share, _ in alike]
    lines = [len(row.source_lines.keys() | row.ptx_lines.keys()) for _, row in alike]
    worst = ", ".join(f"`{row.name}` {share:.2f}" for share, row in sorted(alike, key=lambda p: p[0])[:5])
    return [
        f"Of {len(alike)} launches whose floating-point operations agree within 20 % as a whole, on "
        f"{sum(lines)} lines: {sum(share >= 0.8 for share in shares)} have at least 80 % of them on the same "
        f"lines, median {statistics.median(shares):.2f}. Least: {worst}."
    ]


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-I", dest="include", action="append", default=[], type=Path)
    parser.add_argument("-D", dest="define", action="append", default=[])
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--kept", type=Path, help="where compiled PTX lies or is put")
    parser.add_argument("-o", dest="document", type=Path)
    arguments = parser.parse_args()
    rows: list[Compared] = []
    refused: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        kept = arguments.kept or Path(temporary)
        for path in arguments.files:
            before = len(rows)
            includes = (*arguments.include, path.parent)
            for row in compared(path, includes, tuple(arguments.define), arguments.arch, kept):
                rows.append(row)
                print(told(row), flush=True)
            if len(rows) == before:
                refused.append(path.name)
    found = [one for row in rows for one in differences(row)]
    kernels = len({row.name for row in rows})
    lines = [
        f"{len(rows)} launches of {kernels} kernels in {len(arguments.files)} files; SASS of "
        f"{sum(row.sass is not None for row in rows)}, {sum(row.unknown for row in rows)} of them with "
        "control flow that depends on data (~: SASS shows one path). Where the analyzer knows all trips and "
        f"branches ({sum(not row.assumed_in_source and not row.assumed_in_ptx for row in rows)} launches), "
        "median of the ratios, 10 % to 90 % of them, and how many are within 20 %:",
        "",
        *summary(rows),
        "",
        *instruction_rows(rows),
        "",
        f"{len(found)} differences beyond 20 %:",
        "",
        *causes(found),
        "",
        *by_line(rows),
        "",
    ]
    if refused:
        lines += ["Nothing to compare in " + ", ".join(f"`{name}`" for name in refused) + ".", ""]
    publish(arguments.document, "ptx_check", lines)


if __name__ == "__main__":
    main()
