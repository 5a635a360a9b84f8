"""An energy model for a GPU nobody measured, carried over from the nearest one measured.

On the same chip the energies are those of the measured board: the silicon is the same, and only clocks, SMs
and the board's limit differ. On another chip every energy inside the chip is scaled by the geometric mean of
two rough guides:

- process node: energy per operation ∝ feature size (between the cube of ideal scaling and the standstill of
  the supply voltage; an assumption),
- power limit per peak fp32 throughput: boards are built to draw about their limit at full load.

Idle power is the catalogue's where known, else the measured board's in proportion to the limits; so are
leakage and the power of active SMs. Seconds come from the facts of its architecture, with the default
time parameters. The energy of a DRAM byte is that of a measured board with the same kind
of memory (HBM or not). None of this was measured on the GPU asked for: the interval is widened accordingly.
"""

from __future__ import annotations

from msgspec.structs import replace

from wattslice_models.contract import Interval
from wattslice_models.energy import Component, EnergyModel, NoEnergyModel, VoltageCurve
from wattslice_models.execution_time import DEFAULT_TIME_PARAMETERS
from wattslice_models.gpu import Gpu

SAME_CHIP_WIDENING = 1.15
OTHER_CHIP_WIDENING = 1.5
"""Factors on both ends of the interval: assumptions (docs/energy-model.md)."""


def transferred(gpu: Gpu, measured: tuple[tuple[Gpu, EnergyModel], ...]) -> EnergyModel | NoEnergyModel:
    """The model of the nearest GPU in `measured`, scaled to `gpu`; or the reason why that makes no sense."""
    if not measured:
        return NoEnergyModel(gpu.id, "no GPU has been measured yet")
    if not gpu.architecture.is_like_measured:
        differ = "chips differ too much from every measured one (caches, issue, process)"
        return NoEnergyModel(gpu.id, f"{gpu.architecture.name} {differ}")
    source, model = min(measured, key=lambda pair: _distance(gpu, pair[0]))
    if source.chip == gpu.chip:
        return _same_chip(gpu, source, model)
    if gpu.power_limit_w is None or source.power_limit_w is None:
        return NoEnergyModel(
            gpu.id, f"the power limit of the {gpu.name} is unknown, and nothing to scale with"
        )
    return _other_chip(gpu, source, model, measured)


def _distance(gpu: Gpu, other: Gpu) -> tuple[bool, bool, int, bool]:
    generations = abs(gpu.architecture.generation - other.architecture.generation)
    fp64_differs = _has_fast_fp64(gpu) != _has_fast_fp64(other)
    # Data-centre chips of two generations are more alike than a data-centre and a desktop chip of one.
    return gpu.chip != other.chip, fp64_differs, generations, _has_hbm(gpu) != _has_hbm(other)


def _has_hbm(gpu: Gpu) -> bool:
    return gpu.memory_type.startswith("HBM")


def _has_fast_fp64(gpu: Gpu) -> bool:
    return (gpu.fp64_fma_per_clock_per_sm or 0.0) >= gpu.fp32_fma_per_clock_per_sm / 4


def _same_chip(gpu: Gpu, source: Gpu, model: EnergyModel) -> EnergyModel:
    note = f"coefficients measured on the {source.name}, the same chip on another board"
    return _widened(
        replace(
            model,
            gpu_id=gpu.id,
            active_w=model.active_w * gpu.sm_count / source.sm_count,
            notes=(*model.notes, note),
        ),
        SAME_CHIP_WIDENING,
        note,
    )


def _other_chip(
    gpu: Gpu, source: Gpu, model: EnergyModel, measured: tuple[tuple[Gpu, EnergyModel], ...]
) -> EnergyModel:
    board = (gpu.power_limit_w or 0.0) / (source.power_limit_w or 1.0)
    per_flop = board * source.peak_fp32_flops_per_s / gpu.peak_fp32_flops_per_s
    node = per_flop if None in (gpu.process_nm, source.process_nm) else _node_ratio(gpu, source)
    chip = (per_flop * node) ** 0.5
    alike = [pair for pair in measured if _has_hbm(pair[0]) == _has_hbm(gpu)]
    memory = min(alike or measured, key=lambda pair: _distance(gpu, pair[0]))[1]
    dram = next(entry for entry in memory.energies if entry.component is Component.DRAM)
    clock = gpu.boost_clock_mhz / model.voltage.reference_mhz
    note = f"coefficients scaled from the {source.name} by process, power limit and throughput: not measured"
    scaled = replace(
        model,
        gpu_id=gpu.id,
        idle_w=gpu.idle_power_w if gpu.idle_power_w is not None else model.idle_w * board,
        leakage_w=0.0 if gpu.idle_power_w is not None else model.leakage_w * board,
        active_w=model.active_w * board,
        energies=tuple(
            dram if entry.component is Component.DRAM else entry.scaled(chip) for entry in model.energies
        ),
        voltage=VoltageCurve(model.voltage.floor, model.voltage.knee_mhz * clock, gpu.boost_clock_mhz),
        core_mhz_min=model.core_mhz_min * clock,
        core_mhz_max=gpu.boost_clock_mhz,
        time=DEFAULT_TIME_PARAMETERS,
        notes=(*model.notes, note),
    )
    return _widened(scaled, OTHER_CHIP_WIDENING, note)


def _node_ratio(gpu: Gpu, source: Gpu) -> float:
    return (gpu.process_nm or 1.0) / (source.process_nm or 1.0)


def _widened(model: EnergyModel, factor: float, note: str) -> EnergyModel:
    known = model.interval
    source = f"{known.source}; widened by a factor of {factor:g} because: {note}"
    return replace(model, interval=Interval(known.low / factor, known.high * factor, known.coverage, source))
