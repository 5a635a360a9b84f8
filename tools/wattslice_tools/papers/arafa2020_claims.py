"""Arafa et al. 2020: what the text says of Table I, counted, and which rows are copies."""

from __future__ import annotations

import statistics

from wattslice_tools.papers.arafa2020_table import GPUS, METHODS, Row, cells, places, table_rows, value
from wattslice_tools.papers.markdown import mean, table

MAPE_MTSM, MAPE_PAPI = 0.0639, 0.1024
"""As printed in section VI-A: TITAN V, against a power meter."""


def least(optimized: bool, method: str) -> dict[str, int]:
    """In how many rows each GPU needs the least energy."""
    counts = dict.fromkeys(GPUS.values(), 0)
    for row in table_rows():
        own = [c for c in cells() if (c.row, c.optimized, c.method) == (row, optimized, method)]
        counts[min(own, key=lambda cell: cell.value).gpu] += 1
    return counts


def category_least(optimized: bool) -> dict[str, str]:
    """The GPU with the least mean energy of each category, by MTSM, over the GPUs that ran all of it."""
    found: dict[str, str] = {}
    for category in dict.fromkeys(category for category, _ in table_rows()):
        means: dict[str, float] = {}
        for gpu in GPUS.values():
            own = [
                c.value
                for c in cells()
                if (c.row[0], c.gpu, c.optimized, c.method) == (category, gpu, optimized, "MTSM")
            ]
            if own:
                means[gpu] = mean(own)
        found[category] = min(means, key=lambda gpu: means[gpu])
    return found


def papi_minus_mtsm() -> tuple[tuple[float, Row, str, bool], ...]:
    """The difference of the two methods in every place, in microjoules, the largest first."""
    found = (
        (value(row, gpu, optimized, "PAPI") - value(row, gpu, optimized, "MTSM"), row, gpu, optimized)
        for row, gpu, optimized in places()
    )
    return tuple(sorted(found, reverse=True))


def unoptimized_over_optimized(gpu: str) -> tuple[float, ...]:
    """By how much -O0 costs more than -O3, by MTSM, for every row of a GPU."""
    return tuple(
        value(row, gpu, False, "MTSM") / value(row, gpu, True, "MTSM")
        for row, other, optimized in places()
        if other == gpu and optimized
    )


def least_error_sum(*levels: bool) -> float:
    """The mean over rows of what the errors of PAPI and MTSM on the TITAN V must at least add up to.

    Whatever a power meter says, the errors of two values a < b relative to it add up to (b - a) / b or more.
    """
    pairs = [
        [value(row, "Volta", one, method) for method in METHODS] for one in levels for row in table_rows()
    ]
    return mean((max(pair) - min(pair)) / max(pair) for pair in pairs)


def claims() -> tuple[str, ...]:
    """What the text says, what the table counts, and whether that holds."""
    total = len(table_rows())
    volta = [least(one, "MTSM")["Volta"] for one in (True, False)]
    lost = [
        f"{category.removesuffix(' Instructions')} {'-O3' if one else '-O0'}: {gpu}"
        for one in (True, False)
        for category, gpu in category_least(one).items()
        if gpu != "Volta"
    ]
    differences = papi_minus_mtsm()
    above = sum(difference > 0 for difference, *_ in differences)
    largest, row, gpu, optimized = differences[0]
    ratios = {name: unoptimized_over_optimized(name) for name in GPUS.values()}
    never_less = all(ratio > 1 for each in ratios.values() for ratio in each)
    medians = ", ".join(f"{name} {statistics.median(each):.1f}" for name, each in ratios.items())
    halves = [
        value(("Half Precision Instructions", "add / sub / mul"), name, True, "MTSM")
        for name in ("Pascal", "Volta", "Turing")
    ]
    maxwell = _maxwell_highest()
    return (
        "### What the text says of the table",
        table(
            ("claim", "counted", ""),
            [
                (
                    "Volta needs the least energy per instruction",
                    f"in {volta[0]} of {total} rows with -O3, in {volta[1]} with -O0; not by the mean of "
                    f"{'; '.join(lost) or 'any category'}",
                    "in most rows",
                ),
                (
                    "... in the different categories",
                    f"{16 - len(lost)} of 16 (8 categories, two levels)",
                    _verdict(not lost),
                ),
                (
                    "PAPI mostly reads more than MTSM",
                    f"{above} of {len(differences)} pairs",
                    _verdict(above > len(differences) / 2),
                ),
                (
                    "by up to 1 J (so 1 µJ) for divisions",
                    f"up to {largest:.2f} µJ ({row[1]}, {gpu}, {'-O3' if optimized else '-O0'}); "
                    f"{sum(abs(d) > 1 for d, *_ in differences)} pairs differ by more than 1",
                    _verdict(largest <= 1),
                ),
                ("-O0 always costs more than -O3", f"median ratios: {medians}", _verdict(never_less)),
                (
                    "Maxwell has very high energies in single and double precision",
                    f"the highest of the four in {maxwell[0]} of {maxwell[1]} cells, Turing in {maxwell[2]}",
                    _verdict(maxwell[0] == maxwell[1]),
                ),
                (
                    "half precision far better on Volta and Turing than on Pascal",
                    f"Pascal ÷ Volta {halves[0] / halves[1]:.0f}, ÷ Turing {halves[0] / halves[2]:.0f}",
                    _verdict(min(halves[0] / halves[1], halves[0] / halves[2]) > 2),
                ),
                ("multi precision best on Volta and Pascal", *_multi_precision()),
            ],
        ),
        f"Not to be recomputed: MAPE {MAPE_MTSM:.2%} (MTSM) and {MAPE_PAPI:.2%} (PAPI) against the power "
        "meter, and the RMSE beside them, which has no unit; the column of the meter is printed nowhere. "
        "One thing can be checked: whatever the meter said, the two errors of a row add up to at least the "
        "distance of the two readings over the greater one. The mean of that is "
        f"{least_error_sum(False):.1%} for -O0, {least_error_sum(True):.1%} for -O3 and "
        f"{least_error_sum(True, False):.1%} for both, against {MAPE_MTSM + MAPE_PAPI:.1%} for the two "
        "claims: possible over both levels or -O0 alone, not over -O3 alone.",
    )


def _verdict(holds: bool) -> str:
    return "holds" if holds else "FAILS"


def _maxwell_highest() -> tuple[int, int, int]:
    """Places of single and double precision: where Maxwell is the highest, all of them, where Turing is."""
    highest: list[str] = []
    for row in table_rows():
        if row[0].startswith(("Floating Single", "Double")):
            for optimized in (True, False):
                own = [c for c in cells() if (c.row, c.optimized, c.method) == (row, optimized, "MTSM")]
                highest.append(max(own, key=lambda cell: cell.value).gpu)
    return highest.count("Maxwell"), len(highest), highest.count("Turing")


def _multi_precision() -> tuple[str, str]:
    counted: list[str] = []
    all_hold = True
    for optimized in (True, False):
        means = {
            gpu: mean(
                c.value
                for c in cells()
                if (c.row[0], c.gpu, c.optimized, c.method)
                == ("Multi Precision Instructions", gpu, optimized, "MTSM")
            )
            for gpu in GPUS.values()
        }
        order = sorted(means, key=lambda gpu: means[gpu])
        counted.append(f"{'-O3' if optimized else '-O0'}: {' < '.join(order)}")
        all_hold &= set(order[:2]) == {"Volta", "Pascal"}
    return "; ".join(counted) + " (means)", _verdict(all_hold)


def copied_rows() -> tuple[tuple[Row, Row, tuple[str, ...]], ...]:
    """Rows whose numbers an earlier row has too, by both methods, and on which GPUs and levels."""
    found: dict[tuple[Row, Row], list[str]] = {}
    first: dict[tuple[str, bool, float, float], Row] = {}
    for row, gpu, optimized in places():
        papi, mtsm = (value(row, gpu, optimized, method) for method in METHODS)
        original = first.setdefault((gpu, optimized, papi, mtsm), row)
        if original != row:
            found.setdefault((row, original), []).append(f"{gpu} {'-O3' if optimized else '-O0'}")
    return tuple((row, original, tuple(places)) for (row, original), places in found.items())


def copies() -> tuple[str, ...]:
    """The rows that repeat others."""
    rows = [
        (": ".join(row), ": ".join(original), "all" if len(places) == 8 else ", ".join(places))
        for row, original, places in copied_rows()
    ]
    return (
        "### Rows that are other rows",
        "Both numbers of a place are those of an earlier row, to the last digit:",
        table(("row", "has the numbers of", "on"), rows),
        "The authors' published script runs integer addition and multiplication, but no kernel of logic, "
        "shifts or single-precision addition and multiplication. `wattslice instructions` marks these rows.",
    )
