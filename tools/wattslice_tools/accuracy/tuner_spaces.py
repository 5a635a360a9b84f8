"""``python -m wattslice_tools.accuracy.tuner_spaces DOCUMENT --measured DIR --sources DIR``: variants that Kernel
Tuner measured, against what the sweep predicts for them.

`--measured` holds the tables ``kt_*.csv``. `--sources` holds clones of the public repositories
AutoTuningAssociation/benchmark_hub and fjwillemsen/kernel_tuner_paper under these names; no code of theirs is
kept here.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from wattslice.config.config import Options, make_config
from wattslice.config.settings import Settings
from wattslice.sweep.run import Goal, Outcome, PredictedVariant, Space, predict
from wattslice.sweep.score import TuningScore, score
from wattslice.sweep.space import LaunchTemplate, Variant
from wattslice_models.gpu import load_gpu

_COMMAND = "python -m wattslice_tools.accuracy.tuner_spaces"
_FIXED = ("kernel_tuner=1", "block_size_z=1")
"""What Kernel Tuner defines beside the parameters."""


@dataclass(frozen=True, slots=True)
class TunedKernel:
    """A kernel whose variants were measured.

    `sources`: paths below the folder of clones, to be joined in this order after `prefix`. `settings`: the
    arguments that the tuning script passes. `left_out`: rows with such a value are not of this source.
    """

    name: str
    sources: tuple[str, ...]
    launch: str
    settings: tuple[str, ...] = ()
    prefix: str = ""
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredSpace:
    """The rows of one GPU in a table. `core_clock_mhz` None: the clock was not locked."""

    kernel: TunedKernel
    table: str
    gpu_id: str
    gpu_name: str | None
    goal: Goal = Goal.TIME
    core_clock_mhz: float | None = None


_GEMM = "kernel_tuner_paper/compare_real_world_impact/kernels/gemm/gemm_milo/"
CONVOLUTION = TunedKernel(
    "convolution 15×15, 4096²",
    ("benchmark_hub/kernels/convolution_milo.cu",),
    "convolution_kernel=ceil_div(4096,block_size_x*tile_size_x),ceil_div(4096,block_size_y*tile_size_y)"
    ":block_size_x,block_size_y",
    left_out=(("use_shmem", "0"),),  # the public source knows no such variant, the measured one did
)
GEMM = TunedKernel(
    "GEMM 4096³",
    tuple(_GEMM + name for name in ("common.opencl", *(f"xgemm_part{number}.opencl" for number in range(1, 5)))),
    "Xgemm=4096/MWG,4096/NWG:MDIMC,NDIMC",
    (
        *(f"Xgemm.{name}=4096" for name in ("kSizeM", "kSizeN", "kSizeK")),
        *("Xgemm.b_offset=0", "Xgemm.c_offset=0"),
    ),
    '#include "cl_to_cuda.h"\n',
)
_HOTSPOT_LAUNCH = (
    "calculate_temp=ceil_div(grid_width,block_size_x*tile_size_x),ceil_div(grid_height,block_size_y*tile_size_y)"
    ":block_size_x,block_size_y"
)
_HOTSPOT_SOURCES = ("kernel_tuner_paper/compare_real_world_impact/kernels/hotspot/hotspot.cu",)
HOTSPOT = TunedKernel("hotspot 4096²", _HOTSPOT_SOURCES, _HOTSPOT_LAUNCH)
LARGE_HOTSPOT = TunedKernel("hotspot 8192²", _HOTSPOT_SOURCES, _HOTSPOT_LAUNCH)
_CONVOLUTIONS = "kt_convolution_time_a100_a4000_a6000.csv"
SPACES = (
    MeasuredSpace(CONVOLUTION, _CONVOLUTIONS, "a100_pcie", "NVIDIA A100-PCIE-40GB"),
    MeasuredSpace(CONVOLUTION, _CONVOLUTIONS, "rtx_a4000", "NVIDIA RTX A4000"),
    MeasuredSpace(CONVOLUTION, _CONVOLUTIONS, "rtx_a6000", "NVIDIA RTX A6000"),
    MeasuredSpace(GEMM, "kt_gemm_time_a100.csv", "a100_pcie", None),
    MeasuredSpace(HOTSPOT, "kt_hotspot_time_a100.csv", "a100_pcie", None),
    MeasuredSpace(HOTSPOT, "kt_hotspot_time_a4000.csv", "rtx_a4000", None),
    MeasuredSpace(LARGE_HOTSPOT, "kt_hotspot_a4000_energy.csv", "rtx_a4000", None, Goal.TIME, 1560.0),
    MeasuredSpace(LARGE_HOTSPOT, "kt_hotspot_a4000_energy.csv", "rtx_a4000", None, Goal.ENERGY, 1560.0),
)
_AMOUNTS = {Goal.TIME: ("time_ms", 1e-3), Goal.ENERGY: ("energy_j", 1.0)}
_NO_PARAMETERS = ("gpu", "nvml_gr_clock", "num_regs")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured variant: all its macros, and seconds or joules."""

    macros: Variant
    amount: float


@dataclass(frozen=True, slots=True)
class Judged:
    """One space: the rows, what was predicted for each, and the score of those that have a prediction."""

    space: MeasuredSpace
    rows: tuple[Row, ...]
    predicted: tuple[PredictedVariant, ...]

    def pairs(self) -> Iterator[tuple[Row, PredictedVariant]]:
        """Rows with a prediction."""
        both = zip(self.rows, self.predicted, strict=True)
        return ((row, found) for row, found in both if found.outcome is Outcome.PREDICTED)

    def score(self) -> TuningScore:
        """Of the rows with a prediction."""
        known = [(found.amount(self.space.goal), row.amount) for row, found in self.pairs()]
        return score([p for p, _ in known if p is not None], [m for _, m in known])


def rows_of(space: MeasuredSpace, folder: Path, most: int) -> tuple[Row, ...]:
    """At most `most` of its rows, evenly over the table: the same variants for every GPU."""
    column, unit = _AMOUNTS[space.goal]
    with (folder / space.table).open(newline="") as file:
        table = list(csv.DictReader(file))
    found: list[Row] = []
    for line in table:
        if space.gpu_name not in (None, line.get("gpu")) or any(line[k] == v for k, v in space.kernel.left_out):
            continue
        names = list(line)[: list(line).index("time_ms")]
        macros = tuple((name, line[name]) for name in names if name not in _NO_PARAMETERS)
        found.append(Row(macros, float(line[column]) * unit))
    found.sort(key=lambda row: row.macros)
    step = max(1, -(-len(found) // most))
    return tuple(found[::step])


def judge(space: MeasuredSpace, measured: Path, sources: Path, most: int, jobs: int) -> Judged:
    """Predict the rows of a space."""
    rows = rows_of(space, measured, most)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch, "kernel.cu")
        parts = [(sources / name).read_text(encoding="utf-8") for name in space.kernel.sources]
        source.write_text(space.kernel.prefix + "".join(parts), encoding="utf-8")
        config = make_config(
            Options(
                paths=(source,),
                gpu=space.gpu_id,
                core_clock_mhz=space.core_clock_mhz,
                overrides=space.kernel.settings,
                include_directories=((sources / space.kernel.sources[0]).parent,),
                definitions=_FIXED,
                jobs=jobs,
                no_cache=True,
            ),
            Settings(),
        )
        found = predict(config, _space(space, rows))
    return Judged(space, rows, found)


def _space(space: MeasuredSpace, rows: Sequence[Row]) -> Space:
    template = LaunchTemplate(space.kernel.launch)
    return Space(tuple(row.macros for row in rows), (template,), (template.kernel,))


def table(judged: Sequence[Judged]) -> Iterator[str]:
    """Markdown of all spaces."""
    yield "| kernel | GPU | amount | variants | no figures | Spearman | sign right | best predicted | best tenth | median error |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for one in judged:
        found = one.score()
        rank = "–" if found.spearman is None else f"{found.spearman:.2f}"
        sign = "–" if found.sign_right is None else f"{found.sign_right:.0%}"
        yield (
            f"| {one.space.kernel.name} | {load_gpu(one.space.gpu_id).name} | {one.space.goal.value} | {len(one.rows)} "
            f"| {len(one.rows) - found.variants} | {rank} | {sign} | +{found.best_slower:.0%} "
            f"| +{found.tenth_slower:.0%} | {found.median_error:.0%} |"
        )


def main(arguments: Sequence[str]) -> int:
    """Predict and print, or write between the markers of a document."""
    parser = argparse.ArgumentParser(prog=_COMMAND)
    parser.add_argument("--measured", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--most", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--dump", type=Path)
    given = parser.parse_args(arguments)
    judged = []
    for space in SPACES:
        if given.only and given.only not in f"{space.kernel.name} {space.gpu_id} {space.goal.value}":
            continue
        one = judge(space, given.measured, given.sources, given.most, given.jobs)
        judged.append(one)
        if given.dump:
            with open(given.dump, "a") as file:
                w = csv.writer(file)
                for row, found in zip(one.rows, one.predicted):
                    l = found.launches[0] if found.launches else None
                    w.writerow([space.kernel.name, space.gpu_id, space.goal.value, " ".join(f"{k}={v}" for k, v in row.macros), row.amount, found.amount(space.goal), found.outcome.value, found.reason, *( [l.limited_by, l.registers_per_thread, l.shared_bytes_per_block, l.occupancy, l.power_w] if l else [])])
        print("\n".join(table(judged)[2:] if False else list(table([one]))[2:]), flush=True)
    return 0


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
