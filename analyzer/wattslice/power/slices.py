"""Watts of one launch by models of slices, and how slices make a program (equation 12)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from wattslice.slicing.features import SliceFeatures
from wattslice_models.contract import PowerModel, SliceSample, Subject
from wattslice_models.program_power import SlicePower, branch_sparse_power_w
from wattslice_models.regression import RegressionModel
from wattslice_models.types import ArithmeticDensity, Held, Wanted


class SliceWatts(Struct, frozen=True):
    """`power_w`: watts of the board while the slice runs, P_i of (9); None when it never does.

    `time_share` of the program's time, and `share_of_power` of its energy: both sum to 1. None: unknown.
    """

    power_w: float | None
    share_of_power: float | None
    time_share: float | None


class ProgramWatts(Struct, frozen=True):
    """Board power of one launch. All watts None: unknown, `reason` says why. `slices` as the features came;
    none where the model knows the launch only as a whole.

    `static_w`: what the board draws whatever the operations are (idle and active SMs), None when the model
    does not tell it apart. `wanted`: the watts before the board's limit bounds them, None where nothing did;
    `limit_note`: what that did to them. `doubts`: why what measured variants taught may mislead, or is not
    used.
    """

    power_w: float | None
    power_low_w: float | None
    power_high_w: float | None
    static_w: float | None
    slices: tuple[SliceWatts, ...]
    notes: tuple[str, ...] = ()
    reason: str = ""
    wanted: Wanted | None = None
    limit_note: str = ""
    doubts: tuple[str, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """All notes."""
        return (*self.notes, self.limit_note) if self.limit_note else self.notes


def regression_watts(model: RegressionModel, features: Sequence[SliceFeatures]) -> ProgramWatts:
    """The published regression per slice, combined by (12)."""
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
            return unknown_watts(features, notes[-1])
        parts.append(SlicePower(prediction.power_w, length))
        lows.append(SlicePower(prediction.power_low_w, length))
        highs.append(SlicePower(prediction.power_high_w, length))
    total = branch_sparse_power_w(tuple(parts))
    if total is None:
        return unknown_watts(features, "no statement of the kernel is executed")
    length = sum(part.length for part in parts)
    return ProgramWatts(
        total,
        branch_sparse_power_w(tuple(lows)),
        branch_sparse_power_w(tuple(highs)),
        None,
        tuple(
            SliceWatts(part.power_w, part.power_w * part.length / length / total, part.length / length)
            if part.length
            else SliceWatts(None, 0.0, 0.0)
            for part in parts
        ),
        tuple(dict.fromkeys(notes)),
    )


def trained_watts(model: PowerModel, subject: Subject, features: Sequence[SliceFeatures]) -> ProgramWatts:
    """A trained model of slices: watts of the program, and of each slice as if it ran alone (12).

    `subject`: GPU, clocks and launch; its slices are those of `features`. A slice that the model cannot speak
    about counts as it does in the model: as the mean of the others.
    """
    total = math.fsum(part.length for part in features)
    if not total:
        return unknown_watts(features, "no statement of the kernel is executed")
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
        return unknown_watts(features, "; ".join(prediction.notes))
    alone = [model.predict(replace(subject, slices=(replace(part, weight=1.0),))).power_w for part in samples]
    watts = [prediction.power_w if power_w is None else power_w for power_w in alone]
    weighted = [power_w * part.weight for power_w, part in zip(watts, samples, strict=True)]
    return ProgramWatts(
        prediction.power_w,
        prediction.power_low_w,
        prediction.power_high_w,
        None,
        tuple(
            SliceWatts(power_w if part.weight else None, share / math.fsum(weighted), part.weight)
            for power_w, part, share in zip(watts, samples, weighted, strict=True)
        ),
        prediction.notes,
    )


def limited(watts: ProgramWatts, held: Held) -> ProgramWatts:
    """What the board can draw of it: nothing above the limit, and a note when the program's power was.

    Shares of power stay as the model has them: the limit takes from all slices alike.
    """

    def clip(power_w: float | None) -> float | None:
        return None if power_w is None else min(power_w, held.limit_w)

    wanted = wanted_watts(watts)
    if wanted is None:
        return watts
    wanted = replace(wanted, held=held)
    excess = f"{wanted.power_w:.0f} W exceed the limit of {held.limit_w:g} W, which is shown instead"
    low_w, high_w = wanted.shown
    return replace(
        watts,
        power_w=clip(watts.power_w),
        power_low_w=low_w,
        power_high_w=high_w,
        wanted=wanted,
        slices=tuple(replace(part, power_w=clip(part.power_w)) for part in watts.slices),
        limit_note=excess if wanted.power_w > held.limit_w else "",
    )


def wanted_watts(watts: ProgramWatts) -> Wanted | None:
    """What the launch would draw if no limit held the board back; None where that is unknown."""
    power_w, low_w, high_w = watts.power_w, watts.power_low_w, watts.power_high_w
    if watts.wanted is not None or power_w is None or low_w is None or high_w is None:
        return watts.wanted
    return Wanted(power_w, low_w, high_w)


def unknown_watts(features: Sequence[SliceFeatures], reason: str) -> ProgramWatts:
    """No watts, and why."""
    nothing = tuple(SliceWatts(None, None, None) for _ in features)
    return ProgramWatts(None, None, None, None, nothing, (), reason)


def _density(part: SliceFeatures) -> ArithmeticDensity:
    if part.arithmetic_density is None:
        return ArithmeticDensity(None, "the slice makes no memory access")
    return ArithmeticDensity(part.arithmetic_density)
