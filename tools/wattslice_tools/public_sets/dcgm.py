"""From public tables of DCGM activity to the project's own."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice_corpora.records import MeasuredRow, UtilisationRow


def read_dcgm_table(path: Path, measured: tuple[MeasuredRow, ...]) -> tuple[UtilisationRow, ...]:
    """The rows of a public table, each with the run it belongs to: same kernel, clocks, time and watts.

    Raises `WattsliceError` when the table cannot be read, or a row belongs to no run or to several.
    """
    runs: dict[tuple[str, str, float | None, float | None], list[MeasuredRow]] = {}
    for row in measured:
        runs.setdefault((row.benchmark, row.kernel, row.core_mhz, row.memory_mhz), []).append(row)
    rows: list[UtilisationRow] = []
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            for entry in reader:
                place = (
                    entry["benchmark"],
                    entry["kernel"],
                    float(entry["core_frequency"]),
                    float(entry["memory_frequency"]),
                )
                time_s, power_w = float(entry["time"]) * 1e-3, float(entry["average_power"])
                found = [row for row in runs.get(place, ()) if _same(row, time_s, power_w)]
                if len(found) != 1:
                    raise WattsliceError(
                        f"this row belongs to {len(found)} measured runs",
                        path=path,
                        line=reader.line_num,
                        remedy="take the table that the runs were measured with",
                    )
                rows.append(_row(found[0], entry))
    except (OSError, KeyError, ValueError) as error:
        raise WattsliceError(f"{path}: not a table of DCGM activity ({error!r})") from None
    return tuple(rows)


def _same(row: MeasuredRow, time_s: float, power_w: float) -> bool:
    return (
        row.time_s is not None
        and row.power_w is not None
        and math.isclose(row.time_s, time_s, rel_tol=1e-6)
        and math.isclose(row.power_w, power_w, rel_tol=1e-6)
    )


def _row(run: MeasuredRow, entry: dict[str, str]) -> UtilisationRow:
    def fraction(column: str) -> float | None:
        return float(entry[column]) if entry[column] else None

    return UtilisationRow(
        dataset=run.dataset,
        benchmark=run.benchmark,
        kernel=run.kernel,
        arguments=run.arguments,
        core_mhz=run.core_mhz,
        memory_mhz=run.memory_mhz,
        sm_active=fraction("SMACT"),
        sm_occupancy=fraction("SMOCC"),
        dram_active=fraction("DRAMA"),
        fp32_active=fraction("FP32A"),
        fp64_active=fraction("FP64A"),
        fp16_active=fraction("FP16A"),
        tensor_active=fraction("TENSO"),
    )
