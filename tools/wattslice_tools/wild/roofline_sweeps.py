"""What the energy rooflines fitted to public sweeps are worth: the tables of docs/appendix/roofline-fit.md.

``python -m wattslice_tools.wild.roofline_sweeps [-o docs/appendix/roofline-fit.md]``. Needs committed data
only: the shipped fits, the energy models beside them, DCGM's counts, and the runs of mixbench-cuda-alt,
which no fit has seen. Its DRAM traffic depends on L2 and comes from DCGM: share of active cycles x peak
bandwidth x time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean, median

from msgspec import Struct

from wattslice_corpora.records import (
    measurements_path,
    option,
    read_measurements,
    read_utilisation,
    utilisation_path,
)
from wattslice_models.energy import Component, EnergyModel, NoEnergyModel
from wattslice_models.energy_roofline_fit import (
    EnergyRooflineFit,
    SweepPoint,
    SweepPrecision,
    fit_energy_roofline,
)
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.roofline_store import ClockFit, TrainedRoofline, load_roofline
from wattslice_models.store import SHIPPED, energy_model
from wattslice_tools.rooflines.card import Estimate, estimates
from wattslice_tools.wild.document import publish

GPU_IDS = ("v100_pcie", "quadro_rtx_8000")
_ALT = "mixbench-cuda-alt"
_KINDS = {"benchmark_float": (SweepPrecision.SINGLE, 4), "benchmark_double": (SweepPrecision.DOUBLE, 8)}
_THREADS = 1024 * 256
_ROUNDS, _UNROLLED, _CHAINS = 256, 32, 8
_LANES = 32
_LEAST_INTENSITY, _MOST_INTENSITY = 1 / 16, 1000.0


class AltRun(Struct, frozen=True):
    """A run of mixbench-cuda-alt: `written_bytes` is what its loads and stores ask for."""

    ratio: int
    point: SweepPoint
    written_bytes: float


def alt_runs(gpu: Gpu, one: ClockFit) -> list[AltRun]:
    """Those at the clock of a fit that do flops."""
    seen = {
        (row.benchmark, row.kernel, row.arguments, row.core_mhz): row.dram_active
        for row in read_utilisation(utilisation_path(gpu.id))
    }
    found: list[AltRun] = []
    for row in read_measurements(measurements_path(gpu.id)):
        if row.benchmark != _ALT or row.kernel not in _KINDS or row.core_mhz != one.core_mhz:
            continue
        active = seen.get((row.benchmark, row.kernel, row.arguments, row.core_mhz))
        if active is None or row.time_s is None or row.power_w is None:
            continue
        precision, element_bytes = _KINDS[row.kernel]
        ratio = int(option(row.arguments, "ratio"))
        work = 2.0 * _THREADS * _ROUNDS * _CHAINS * (_UNROLLED - ratio)
        moved = active * gpu.memory_bandwidth_bytes_per_s * row.time_s
        if work > 0.0:
            point = SweepPoint(precision, work, moved, row.time_s, row.power_w * row.time_s)
            found.append(AltRun(ratio, point, float(_THREADS * _ROUNDS * ratio * element_bytes)))
    return found


def coefficients(gpu: Gpu, trained: TrainedRoofline) -> list[str]:
    """The fits at the reference clock beside what the energy model has for the same."""
    one, model = trained.reference, energy_model(gpu)
    lines = [
        f"**{gpu.name}**, {one.core_mhz:g} MHz, {one.fit.points} runs",
        "",
        "| | as the paper fits | p | relative errors | p | energy model, idle data to live |",
        "|---|---|---|---|---|---|",
    ]
    for line, other in zip(estimates(one.fit), estimates(one.relative_fit), strict=True):
        lines.append(
            f"| {line.symbol}, {line.unit} | {line.value} | {line.p_value} | {other.value} | {other.p_value} "
            f"| {'' if isinstance(model, NoEnergyModel) else _of_model(model, line)} |"
        )
    fit, relative = one.fit, one.relative_fit
    lines += [
        f"| R² of E / W | {fit.r_squared:.4f} | | {relative.r_squared:.4f} | | |",
        f"| condition | {fit.condition:.0f} | | {relative.condition:.0f} | | |",
        f"| energies missed by, mean (worst) | {_missed(fit)} | | {_missed(relative)} | | |",
        f"| the same, each held out | {one.held_out_error:.1%} | | {one.relative_held_out_error:.1%} | | |",
        "",
    ]
    return lines


def _missed(fit: EnergyRooflineFit) -> str:
    return f"{fit.mean_error:.1%} ({fit.worst_error:.1%})"


def _of_model(model: EnergyModel, line: Estimate) -> str:
    """The same by the energy model at its reference clock, with idle data and with live ones.

    Half an FMA with its issue; a byte all the way from DRAM; all SMs at work, and nothing done.
    """
    live = {one.component: one.energy_j for one in model.energies}
    idle = {one.component: one.idle_energy_j for one in model.energies}
    if line.symbol == "π0":
        return f"{model.idle_w + model.memory_clock_w + model.active_w:.0f}"
    if line.symbol == "ε_mem":
        path = (Component.DRAM, Component.L2, Component.L1)
        low, high = (sum(energy.get(part, 0.0) for part in path) for energy in (idle, live))
    elif line.symbol in ("ε_s", "ε_d"):
        pipe = Component.FP32 if line.symbol == "ε_s" else Component.FP64
        low, high = (
            (energy.get(pipe, 0.0) + energy.get(Component.ISSUE, 0.0) / _LANES) / 2 for energy in (idle, live)
        )
    else:
        return ""
    low, high = low * line.scale, high * line.scale
    return f"{low:.1f}" if low == high else f"{low:.1f} to {high:.1f}"


def bytes_checked(gpu: Gpu, trained: TrainedRoofline) -> str:
    """One line: how our bytes compare with the activity of the memory that DCGM counted."""
    seen = {
        (row.benchmark, row.kernel, row.arguments, row.core_mhz): row.dram_active
        for row in read_utilisation(utilisation_path(gpu.id))
    }
    ratios = [
        row.traffic_bytes / (row.time_s * gpu.memory_bandwidth_bytes_per_s * active)
        for row in trained.residuals
        if (active := seen.get((row.benchmark, row.kernel, row.arguments, row.core_mhz)))
    ]
    return f"| {gpu.name} | {len(ratios)} | {median(ratios):.3f} | {min(ratios):.3f} | {max(ratios):.3f} |"


def another_program(gpu: Gpu, trained: TrainedRoofline) -> list[str]:
    """mixbench-cuda-alt at the reference clock: run by run by both fits, and a fit with its runs too."""
    one = trained.reference
    runs = [run for run in alt_runs(gpu, one) if run.point.work_flop >= _LEAST_INTENSITY * run.written_bytes]
    head = ("precision", "ratio", "flops per byte", "DRAM bytes, of those asked for", "measured, mJ")
    lines = [
        f"**{gpu.name}**, {one.core_mhz:g} MHz",
        "",
        f"| {' | '.join(head)} | as the paper fits | relative errors |",
        "|---|---|---|---|---|---|---|",
    ]
    errors: tuple[list[float], list[float]] = ([], [])
    for run in runs:
        point, cells = run.point, []
        for fit, kept in zip((one.fit, one.relative_fit), errors, strict=True):
            energy = fit.energy_j(point.precision, point.work_flop, point.traffic_bytes, point.time_s)
            kept.append(abs(energy / point.energy_j - 1.0))
            cells.append(f"{energy / point.energy_j - 1.0:+.0%}")
        share = point.traffic_bytes / run.written_bytes
        lines.append(
            f"| {point.precision} | {run.ratio} | {_intensity(point)} | {share:.0%} | "
            f"{point.energy_j * 1e3:.0f} | {' | '.join(cells)} |"
        )
    joint = fit_energy_roofline(
        [run.point for run in runs]
        + [
            SweepPoint(row.precision, row.work_flop, row.traffic_bytes, row.time_s, row.energy_j)
            for row in trained.residuals
            if row.core_mhz == one.core_mhz
        ]
    )
    values = "; ".join(
        f"{line.symbol} {line.value} {line.unit} (p {line.p_value})" for line in estimates(joint)
    )
    lines += [
        "",
        f"Mean error {fmean(errors[0]):.0%} and {fmean(errors[1]):.0%}. Both programs fitted together as the",
        f"paper does: {values};",
        f"energies missed by {_missed(joint)}.",
        "",
    ]
    return lines


def _intensity(point: SweepPoint) -> str:
    return f"{point.intensity:.3g}" if point.intensity < _MOST_INTENSITY else f"> {_MOST_INTENSITY:g}"


def main() -> None:
    """Prints the tables, or writes them into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", dest="document", type=Path)
    document = parser.parse_args().document
    known = [(load_gpu(gpu_id), load_roofline(SHIPPED / gpu_id / "roofline.json")) for gpu_id in GPU_IDS]
    lines = [line for gpu, trained in known for line in coefficients(gpu, trained)]
    publish(document, "roofline_sweeps coefficients", lines)
    head = ["| | runs | median | least | most |", "|---|---|---|---|---|"]
    lines = [*head, *(bytes_checked(gpu, trained) for gpu, trained in known), ""]
    publish(document, "roofline_sweeps bytes", lines)
    lines = [line for gpu, trained in known for line in another_program(gpu, trained)]
    publish(document, "roofline_sweeps another", lines)


if __name__ == "__main__":
    main()
