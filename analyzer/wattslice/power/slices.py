"""Watts of one launch by slice and by source line.

Which model answers, how slices make a program (equation 12), and the dynamic energy spread over lines by what
they execute.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import Kernel
from wattslice.ir.operation_counts import COLUMN, OperationCounts, operations
from wattslice.slicing.features import SliceFeatures
from wattslice_models.contract import PowerModel, SliceSample, Subject
from wattslice_models.energy import Component, EnergyPrediction
from wattslice_models.program_power import (
    SlicePower,
    branch_sparse_power_w,
)
from wattslice_models.regression import RegressionModel
from wattslice_models.types import ArithmeticDensity


class SliceWatts(Struct, frozen=True):
    """Power of one slice while it runs, P_i of (9), and its share of the program's power."""

    power_w: float | None
    share_of_power: float | None


class OperationPrices(NamedTuple):
    """Relative energy of one source operation of each class under a model, in any unit; none is negative.

    The classes stand in the order of `OperationCounts` (`COLUMN`).
    """

    fp32: float = 0.0
    fp64: float = 0.0
    integer: float = 0.0
    special: float = 0.0
    fp16: float = 0.0
    tensor: float = 0.0
    control: float = 0.0
    global_load: float = 0.0
    global_store: float = 0.0
    shared_load: float = 0.0
    shared_store: float = 0.0
    constant_load: float = 0.0
    texture_load: float = 0.0
    atomic: float = 0.0
    barrier: float = 0.0

    def of(self, counts: OperationCounts) -> float:
        """The energy of all these operations."""
        return sum(number * price for number, price in zip(counts.values(), self, strict=True))


class ProgramWatts(Struct, frozen=True):
    """Board power of one launch. All watts None: unknown, `reason` says why. `slices` as the features came.

    `prices`: what source operations cost under this model, for heat.
    `static_w`: what the board draws whatever the operations are (idle and active SMs), None when the model
    does not tell it apart.
    """

    power_w: float | None
    power_low_w: float | None
    power_high_w: float | None
    static_w: float | None
    slices: tuple[SliceWatts, ...]
    prices: OperationPrices
    notes: tuple[str, ...] = ()
    reason: str = ""


def regression_watts(model: RegressionModel, features: Sequence[SliceFeatures]) -> ProgramWatts:
    """The published regression per slice, combined by (12)."""
    prices = _regression_prices(features)
    parts: list[SlicePower] = []
    lows: list[SlicePower] = []
    highs: list[SlicePower] = []
    notes: list[str] = []
    for part in features:
        density, length = _density(part), part.length
        prediction = model.predict(part.sm_saturation, density)
        notes += (f"{part.memory_space.value} slice: {note}" for note in prediction.notes)
        if prediction.power_w is None or prediction.power_low_w is None or prediction.power_high_w is None:
            if length == 0.0:
                parts.append(SlicePower(0.0, 0.0))
                continue
            return _unknown(features, prices, notes[-1])
        parts.append(SlicePower(prediction.power_w, length))
        lows.append(SlicePower(prediction.power_low_w, length))
        highs.append(SlicePower(prediction.power_high_w, length))
    total = branch_sparse_power_w(tuple(parts))
    if total is None:
        return _unknown(features, prices, "no statement of the kernel is executed")
    length = sum(part.length for part in parts)
    return ProgramWatts(
        total,
        branch_sparse_power_w(tuple(lows)),
        branch_sparse_power_w(tuple(highs)),
        None,
        tuple(
            SliceWatts(part.power_w, part.power_w * part.length / length / total)
            if part.length
            else SliceWatts(None, 0.0)
            for part in parts
        ),
        prices,
        tuple(dict.fromkeys(notes)),
    )


def trained_watts(model: PowerModel, subject: Subject, features: Sequence[SliceFeatures]) -> ProgramWatts:
    """A trained model of slices: watts of the program, and of each slice as if it ran alone (12).

    `subject`: GPU, clocks and launch; its slices are those of `features`. A slice that the model cannot speak
    about counts as it does in the model: as the mean of the others.
    """
    prices = _regression_prices(features)
    total = math.fsum(part.length for part in features)
    if not total:
        return _unknown(features, prices, "no statement of the kernel is executed")
    samples = tuple(
        SliceSample(
            part.memory_space.value,
            part.arithmetic_density,
            part.sm_saturation,
            part.static_length,
            part.length / total,
        )
        for part in features
    )
    prediction = model.predict(replace(subject, slices=samples))
    if prediction.power_w is None:
        return _unknown(features, prices, "; ".join(prediction.notes))
    alone = [model.predict(replace(subject, slices=(replace(part, weight=1.0),))).power_w for part in samples]
    watts = [prediction.power_w if power_w is None else power_w for power_w in alone]
    weighted = [power_w * part.weight for power_w, part in zip(watts, samples, strict=True)]
    return ProgramWatts(
        prediction.power_w,
        prediction.power_low_w,
        prediction.power_high_w,
        None,
        tuple(
            SliceWatts(power_w if part.weight else None, share / math.fsum(weighted))
            for power_w, part, share in zip(watts, samples, weighted, strict=True)
        ),
        prices,
        prediction.notes,
    )


def limited(watts: ProgramWatts, limit_w: float) -> ProgramWatts:
    """What the board can draw of it: nothing above `limit_w`, and a note when the program's power was.

    Shares of power stay as the model has them: the limit takes from all slices alike.
    """

    def clip(power_w: float | None) -> float | None:
        return None if power_w is None else min(power_w, limit_w)

    notes = watts.notes
    if watts.power_w is not None and watts.power_w > limit_w:
        excess = f"{watts.power_w:.0f} W exceed the limit of {limit_w:g} W, which is told instead"
        notes = (*notes, excess)
    return replace(
        watts,
        power_w=clip(watts.power_w),
        power_low_w=clip(watts.power_low_w),
        power_high_w=clip(watts.power_high_w),
        slices=tuple(replace(part, power_w=clip(part.power_w)) for part in watts.slices),
        notes=notes,
    )


def energy_watts(
    prediction: EnergyPrediction, features: Sequence[SliceFeatures], counts: OperationCounts
) -> ProgramWatts:
    """The energy model's watts, told apart by slice so that (12) gives the total back.

    The model knows the whole launch. A slice runs for |C_i| / L of the time (10); it draws the static power
    and the energy of its own operations in that time.
    """
    component_w = {part.component: part.power_w for part in prediction.components}
    static_w = prediction.static_power_w
    # A prediction clipped at the board's limit leaves less than its components add up to.
    static_w = min(static_w, prediction.power_w)
    prices = _energy_prices(component_w, counts)
    lengths = [part.length for part in features]
    energies = [prices.of(part.counts) for part in features]
    total_length, total_energy = sum(lengths), sum(energies)
    dynamic_w = prediction.power_w - static_w
    slices: list[SliceWatts] = []
    for length, energy in zip(lengths, energies, strict=True):
        if total_length == 0.0 or length == 0.0:
            slices.append(SliceWatts(None, 0.0))
            continue
        time_share = length / total_length
        own_w = dynamic_w * (energy / total_energy if total_energy else time_share)
        slices.append(
            SliceWatts(
                static_w + own_w / time_share,
                (static_w * time_share + own_w) / prediction.power_w if prediction.power_w else None,
            )
        )
    return ProgramWatts(
        prediction.power_w,
        prediction.power_low_w,
        prediction.power_high_w,
        static_w,
        tuple(slices),
        prices,
        prediction.notes,
    )


def unknown_watts(features: Sequence[SliceFeatures], reason: str) -> ProgramWatts:
    """No watts, and why."""
    return _unknown(features, OperationPrices(), reason)


def _unknown(features: Sequence[SliceFeatures], prices: OperationPrices, reason: str) -> ProgramWatts:
    nothing = tuple(SliceWatts(None, None) for _ in features)
    return ProgramWatts(None, None, None, None, nothing, prices, (), reason)


def _density(part: SliceFeatures) -> ArithmeticDensity:
    if part.arithmetic_density is None:
        return ArithmeticDensity(None, "the slice makes no memory access")
    return ArithmeticDensity(part.arithmetic_density)


def _regression_prices(features: Sequence[SliceFeatures]) -> OperationPrices:
    """Relative energies as the paper has them: every operator alike, an access by its power factor."""
    factors = {part.memory_space.value: 1.0 for part in features}
    for part in features:
        accesses = part.accesses
        number = (
            accesses.global_memory
            + accesses.shared_memory
            + accesses.constant_memory
            + accesses.texture_memory
        )
        if number:
            factors[part.memory_space.value] = part.memory_ops_weighted / number
    shared = factors.get("shared", 1.0)
    return OperationPrices(
        fp32=1.0,
        fp64=1.0,
        integer=1.0,
        special=1.0,
        fp16=1.0,
        tensor=1.0,
        control=0.0,
        global_load=1.0,
        global_store=1.0,
        shared_load=shared,
        shared_store=shared,
        constant_load=factors.get("constant", 1.0),
        texture_load=factors.get("texture", 1.0),
        atomic=1.0,
        barrier=0.0,
    )


def _energy_prices(component_w: dict[Component, float], counts: OperationCounts) -> OperationPrices:
    """Watts of each component divided among the source operations that cause them."""

    def price(components: tuple[Component, ...], number: float) -> float:
        watts = sum(component_w.get(component, 0.0) for component in components)
        return watts / number if number > 0 else 0.0

    issue = price((Component.ISSUE,), sum(counts.values()))
    far = (Component.L1, Component.L2, Component.DRAM)
    far_number = counts.global_load + counts.global_store + counts.texture_load + counts.atomic
    global_ = issue + price(far, far_number)
    shared = issue + price((Component.SHARED,), counts.shared_load + counts.shared_store)
    return OperationPrices(
        fp32=issue + price((Component.FP32,), counts.fp32),
        fp64=issue + price((Component.FP64,), counts.fp64),
        integer=issue + price((Component.INTEGER, Component.INTEGER_MULTIPLY), counts.integer),
        special=issue + price((Component.SPECIAL,), counts.special),
        fp16=issue + price((Component.FP16,), counts.fp16),
        tensor=issue + price((Component.TENSOR,), counts.tensor),
        control=issue,
        global_load=global_,
        global_store=global_,
        shared_load=shared,
        shared_store=shared,
        constant_load=issue,
        texture_load=global_,
        atomic=global_,
        barrier=issue,
    )


class LineShare(Struct, frozen=True):
    """`share` in [0, 1] of a kernel's dynamic energy that the operations written on one line cost."""

    file: str
    line: int
    share: float


def region_energies(kernel: Kernel, profile: ExecutionProfile, prices: OperationPrices) -> tuple[float, ...]:
    """What all executions of each region cost, by region, in the unit of `prices` (as in `line_shares`)."""
    runs = profile.thread_counts
    found = [0.0] * kernel.region_count
    for region, _, operation, number in operations(kernel):
        found[region] += prices[COLUMN[operation]] * number * runs[region]
    return tuple(found)


def line_shares(kernel: Kernel, profile: ExecutionProfile, prices: OperationPrices) -> tuple[LineShare, ...]:
    """Shares of all lines that cost anything, largest first; they sum to 1, or there are none at all.

    A negative price raises `ValueError`. An operation counts where its operator is written: an inlined
    function heats its own lines, not the call's.
    """
    if min(prices) < 0:
        raise ValueError("energies of operations must not be negative")
    heat: dict[tuple[str, int], float] = {}
    runs = profile.thread_counts
    for region, span, operation, number in operations(kernel):
        place = (span.file, span.line)
        heat[place] = heat.get(place, 0.0) + prices[COLUMN[operation]] * number * runs[region]
    total = sum(heat.values())
    if total <= 0:
        return ()
    ranked = sorted(heat.items(), key=lambda item: (-item[1], item[0]))
    return tuple(LineShare(file, line, energy / total) for (file, line), energy in ranked if energy > 0)
