"""ESCAPE D3.5, 2018: what stands beside W, Q and T in Tables 1 to 6, 18 to 20, 38 and 39."""

from __future__ import annotations

import math
from collections.abc import Iterator

from wattslice_corpora.published.escape2018 import RooflineRow, escape2018_roofline, escape2018_verification
from wattslice_corpora.published.escape2018_energy import escape2018_bifft
from wattslice_tools.papers.markdown import relative_error, table, worst

_KERNELS, _DOMAINS, _MODELLED = (1, 2, 3), (4, 5, 6), (18, 19, 20)
_SUM = "SUM"
_HALF_A_DIGIT = 0.006
"""Three printed digits are off by at most 0.5 %; what differs by more is told."""


def escape2018_rooflines() -> tuple[str, ...]:
    """The paragraphs and tables on them."""
    rows = [
        (
            str(number),
            worst(relative_error(row.work_flop / row.traffic_bytes, row.intensity) for row in found),
            worst(relative_error(row.work_flop / row.time_s, row.flop_per_s) for row in found),
            worst(_sums(number)),
            told,
        )
        for number in (*_KERNELS, *_DOMAINS, *_MODELLED)
        for found, told in ((escape2018_roofline(number), _other_times(number)),)
    ]
    bifft = [
        (
            str(number),
            worst(relative_error(row.work_flop / row.traffic_bytes, row.intensity) for row in found),
            worst(relative_error(row.work_flop / row.time_s, row.flop_per_s) for row in found),
            worst(relative_error(row.traffic_bytes / row.time_s, row.bytes_per_s) for row in found),
        )
        for number in (38, 39)
        for found in (escape2018_bifft(number),)
    ]
    return (
        "### Tables 1 to 6, 18 to 20, 38, 39: W, Q, T and their ratios",
        "Worst difference of the recomputed from the printed number in each table. Sums: of the kernels from "
        "the row SUM (Tables 1 to 3), of the largest domain's W and Q divided by cells from the others.",
        table(("table", "W / Q", "W / T", "sums of W and Q", "T"), rows),
        table(("table", "W / Q", "W / T", "Q / T"), bifft),
        "I of Tables 38 and 39 has two digits, which explains its difference.",
        "So the times of Tables 1 to 3, whose rooflines the text introduces as based on real benchmarks, are "
        "the model's; those of Tables 4 to 6 are profiled.",
        "Different by more than rounding: " + "; ".join(contradictory_cells()) + ".",
    )


def contradictory_cells() -> tuple[str, ...]:
    """Cells of Tables 4 to 6 that another cell of the same paper contradicts."""
    told: list[str] = []
    for number, modelled in zip(_DOMAINS, _MODELLED, strict=True):
        others = {row.name: row for row in escape2018_roofline(modelled)}
        largest = escape2018_roofline(number)[0]
        for row in escape2018_roofline(number):
            other = others[row.name]
            if other.profiled_s is not None and row.time_s != other.profiled_s:
                same = " (its T sim)" if row.time_s == other.time_s else ""
                told.append(
                    f"Table {number} prints {row.time_s:.3g} s{same} for {row.name}, Table {modelled} "
                    f"{other.profiled_s:.3g} s as T prof"
                )
            expected = largest.traffic_bytes * _cells(row) / _cells(largest)
            if abs(relative_error(row.traffic_bytes, expected)) > _HALF_A_DIGIT:
                told.append(
                    f"Table {number} prints Q = {row.traffic_bytes:.3g} for {row.name}, where the cells of "
                    f"{largest.name} give {expected:.3g}"
                )
    return tuple(told)


def _other_times(number: int) -> str:
    """Which other table prints the same times."""
    own = escape2018_roofline(number)
    if number in _KERNELS:
        others = escape2018_verification(number + 11)
        same = sum(row.time_s == other.modelled_s for row, other in zip(own, others, strict=True))
        return f"{same} of {len(own)} are the modelled times of Table {number + 11}"
    if number in _DOMAINS:
        profiled = {row.name: row.profiled_s for row in escape2018_roofline(number + 14)}
        same = sum(row.time_s == profiled[row.name] for row in own)
        return f"{same} of {len(own)} are T prof of Table {number + 14}"
    given = [row for row in own if row.profiled_s is not None and row.difference is not None]
    errors = [
        relative_error(row.time_s, row.profiled_s or math.nan) - (row.difference or 0.0) for row in given
    ]
    return f"printed differences from T prof are off by {max(errors, key=abs):+.2%} at most"


def _sums(number: int) -> Iterator[float]:
    rows = escape2018_roofline(number)
    if number in _KERNELS:
        total = next(row for row in rows if row.name == _SUM)
        parts = [row for row in rows if row.name != _SUM]
        yield relative_error(math.fsum(row.work_flop for row in parts), total.work_flop)
        yield relative_error(math.fsum(row.traffic_bytes for row in parts), total.traffic_bytes)
        return
    largest = max(rows, key=_cells)
    for row in rows:
        share = _cells(row) / _cells(largest)
        yield relative_error(largest.work_flop * share, row.work_flop)
        yield relative_error(largest.traffic_bytes * share, row.traffic_bytes)


def _cells(row: RooflineRow) -> float:
    return float(math.prod(int(part) for part in row.name.split("x")))
