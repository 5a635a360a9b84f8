"""The layouts of public tables of measured kernels: each line as a row of ours, with the name of its set."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice_corpora.records import Dim3, MeasuredRow

_UNKNOWN = MeasuredRow("", "", "", "")


class NamedRow(Struct, frozen=True):
    """A line of a public table: what the table calls its set, and what it tells of the run."""

    name: str
    row: MeasuredRow


def named_rows(path: Path) -> Iterator[NamedRow]:
    """All lines of a table. Raises `KeyError` or `ValueError` for another layout, and ``OSError``."""
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(line for line in stream if not line.startswith("#"))
        columns = set(reader.fieldnames or ())
        read = next((read for column, read in _LAYOUTS if column in columns), None)
        if read is None:
            raise KeyError(" or ".join(column for column, _ in _LAYOUTS))
        for entry in reader:
            yield read(entry)


def _of_dvfs_run(entry: dict[str, str]) -> NamedRow:
    row = replace(
        _UNKNOWN,
        benchmark=entry["benchmark"],
        kernel=entry["kernel"],
        arguments=" ".join(entry["args"].split()),
        grid=_dim3(entry["grid"]),
        block=_dim3(entry["block"]),
        core_mhz=float(entry["core_mhz"]),
        memory_mhz=float(entry["mem_mhz"]),
        time_s=float(entry["time_ms"]) * 1e-3,
        power_w=float(entry["power_w"]),
    )
    return NamedRow(entry["dataset"], row)


HOTSPOT = "hotspot-variants"
"""Name of the set whose table holds only one, and of its program."""
_ROOFLINE_BLOCK = 256
_ROOFLINE_PAIRS = 4000
"""Of floats, that a thread reads."""


def _of_roofline(entry: dict[str, str]) -> NamedRow:
    blocks, rounds = int(entry["blocks"]), int(entry["N_inner_iterations"])
    pairs = float(blocks * _ROOFLINE_BLOCK * _ROOFLINE_PAIRS)
    flops, moved = (2.0 + 2.0 * rounds) * pairs, 8.0 * pairs  # as the program counts them
    # Both rates are of the same time; the larger figure has the lesser error of rounding.
    by_bytes, by_flops = (float(entry[column]) * 1e9 for column in ("bandwidth_gbs", "gflops"))
    row = replace(
        _UNKNOWN,
        benchmark="gpu-roofline",
        kernel="testfun",
        arguments=f"-N={rounds}",
        grid=(blocks, 1, 1),
        block=(_ROOFLINE_BLOCK, 1, 1),
        core_mhz=float(entry["sm_clock_mhz"]),
        time_s=moved / by_bytes if by_bytes > by_flops else flops / by_flops,
        power_w=float(entry["power_w"]),
        temperature_c=float(entry["temp_c"]),
    )
    return NamedRow(entry["gpu"], row)


_MACROS_END = "num_regs"
_NO_MACRO = "nvml_gr_clock"


def _of_hotspot_variant(entry: dict[str, str]) -> NamedRow:
    names = list(entry)
    macros = {name: int(entry[name]) for name in names[: names.index(_MACROS_END)] if name != _NO_MACRO}
    block = (macros["block_size_x"], macros["block_size_y"], 1)
    x, y = (
        -(-macros[f"grid_{size}"] // (macros[f"block_size_{axis}"] * macros[f"tile_size_{axis}"]))
        for size, axis in (("width", "x"), ("height", "y"))
    )
    row = replace(
        _UNKNOWN,
        benchmark=HOTSPOT,
        kernel="calculate_temp",
        arguments=" ".join(f"-{name}={value}" for name, value in macros.items()),
        grid=(x, y, 1),
        block=block,
        core_mhz=float(entry["core_freq_mhz"]),
        memory_mhz=float(entry["mem_freq_mhz"]),
        time_s=float(entry["time_ms"]) * 1e-3,
        power_w=float(entry["power_w"]),
        energy_j=float(entry["energy_j"]),
        temperature_c=float(entry["power_run_temp_c"]),
    )
    return NamedRow(HOTSPOT, row)


def _dim3(text: str) -> Dim3 | None:
    if not text:
        return None
    x, y, z = (int(part) for part in text.strip("()").split(","))
    return x, y, z


_LAYOUTS: tuple[tuple[str, Callable[[dict[str, str]], NamedRow]], ...] = (
    ("dataset", _of_dvfs_run),
    ("N_inner_iterations", _of_roofline),
    ("temporal_tiling_factor", _of_hotspot_variant),
)
"""A column that only tables of the layout have, and what reads a line of them."""
