"""What the wavelet network is told about a slice, its GPU and the clocks (see `wavelet_network`)."""

from __future__ import annotations

import math

from msgspec import Struct

from wattslice_models.contract import SliceSample, Subject
from wattslice_models.execution_time import core_clock_mhz, memory_clock_scale

SAME = 0.01
"""Numbers that differ by less than this share are the same, read twice: 876 and 877 MHz."""


class InputKind(Struct, frozen=True):
    """One input of the network: its name and unit; whether its logarithm counts; a number of the board?

    A training set holds few boards: whatever is fitted to their numbers is thinly supported.
    """

    name: str
    logarithmic: bool = False
    of_board: bool = False


class InputRange(Struct, frozen=True):
    """The range of one input in the training data, in its unit."""

    name: str
    logarithmic: bool
    low: float
    high: float

    def scaled(self, value: float) -> float:
        """`value` in [-1, 1], held at the edges; 0 for an input that never varied."""
        low, high = self._curved(self.low), self._curved(self.high)
        if low == high:
            return 0.0
        position = (self._curved(value) - low) / (high - low)
        return 2 * min(1.0, max(0.0, position)) - 1

    def note(self, values: tuple[float, ...]) -> tuple[str, ...]:
        """What to say about the worst of `values` outside the range; nothing when none is."""
        worst = max(values, key=lambda value: max(self.low - value, value - self.high))
        if (1 - SAME) * self.low <= worst <= (1 + SAME) * self.high:
            return ()
        return (f"{self.name} {worst:.4g} outside the trained range [{self.low:.4g}, {self.high:.4g}]",)

    def _curved(self, value: float) -> float:
        return math.log1p(value) if self.logarithmic else value


class ClockFactor(Struct, frozen=True):
    """Watts at these clocks relative to those at the GPU's reference clocks, where it is 1.

    `memory_scale`: memory clock relative to the catalogue's.
    """

    gpu_id: str
    core_mhz: float
    memory_scale: float
    factor: float


class NumberedGpus(Struct, frozen=True):
    """GPUs as the paper numbers them: 0, 1, ... in the order of `gpu_ids`; clocks by factor."""

    gpu_ids: tuple[str, ...]
    clock_factors: tuple[ClockFactor, ...]

    def cannot(self, subject: Subject) -> str:
        """Why nothing can be said about the subject's GPU; empty when something can."""
        if subject.gpu.id in self.gpu_ids:
            return ""
        return f"the network knows GPUs by number: {subject.gpu.id} is none of {', '.join(self.gpu_ids)}"

    def values(self, subject: Subject) -> tuple[float, ...]:
        """The inputs that describe the GPU, in the units of `NUMBERED_INPUTS`."""
        return (float(self.gpu_ids.index(subject.gpu.id)),)

    def unit_w(self, subject: Subject) -> float:
        """Watts for one unit of the network's answer: the clocks' factor, linear between measured ones."""
        core_mhz, factors = core_clock_mhz(subject.gpu, subject.clocks), self._at_memory_clock(subject)
        below = max((one for one in factors if one.core_mhz <= core_mhz), key=_core_mhz, default=None)
        above = min((one for one in factors if one.core_mhz >= core_mhz), key=_core_mhz, default=None)
        if below is None or above is None or below == above:
            return (below or above or factors[0]).factor
        share = (core_mhz - below.core_mhz) / (above.core_mhz - below.core_mhz)
        return below.factor + share * (above.factor - below.factor)

    def notes(self, subject: Subject) -> tuple[str, ...]:
        """What lies outside the measured clocks."""
        factors = self._at_memory_clock(subject)
        clocks = tuple(one.core_mhz for one in factors)
        outside = InputRange("core clock in MHz", False, min(clocks), max(clocks))
        notes = outside.note((core_clock_mhz(subject.gpu, subject.clocks),))
        scale = memory_clock_scale(subject.gpu, subject.clocks)
        if abs(scale - factors[0].memory_scale) > SAME:
            notes += (
                f"memory clock {scale:.4g} of the catalogue's; nearest trained {factors[0].memory_scale:.4g}",
            )
        return notes

    def _at_memory_clock(self, subject: Subject) -> tuple[ClockFactor, ...]:
        scale = memory_clock_scale(subject.gpu, subject.clocks)
        factors = tuple(one for one in self.clock_factors if one.gpu_id == subject.gpu.id)
        nearest = min((one.memory_scale for one in factors), key=lambda trained: abs(trained - scale))
        return tuple(one for one in factors if one.memory_scale == nearest)


class CatalogueGpus(Struct, frozen=True):
    """GPUs by the numbers of their catalogue entry."""

    def cannot(self, subject: Subject) -> str:
        """Why nothing can be said about the subject's GPU; empty when something can."""
        missing = [name for name in ("power_limit_w", "process_nm") if getattr(subject.gpu, name) is None]
        return f"{missing[0]} of {subject.gpu.id} is unknown" if missing else ""

    def values(self, subject: Subject) -> tuple[float, ...]:
        """The inputs that describe the GPU and its clocks, in the units of `CATALOGUE_INPUTS`."""
        gpu, limit_w = subject.gpu, self.unit_w(subject)
        return (
            float(gpu.sm_count),
            gpu.peak_fp32_flops_per_s / limit_w / 1e9,
            gpu.memory_bandwidth_bytes_per_s / limit_w / 1e9,
            gpu.process_nm or math.nan,
            gpu.boost_clock_mhz,
            core_clock_mhz(gpu, subject.clocks) / gpu.boost_clock_mhz,
            memory_clock_scale(gpu, subject.clocks),
        )

    def unit_w(self, subject: Subject) -> float:
        """Watts for one unit of the network's answer: the power limit."""
        return subject.gpu.power_limit_w or math.nan

    def notes(self, subject: Subject) -> tuple[str, ...]:
        """Nothing: the clocks are inputs, and their ranges speak."""
        return ()


SLICE_INPUTS = (
    InputKind("arithmetic density", logarithmic=True),
    InputKind("SM saturation"),
    InputKind("code lines", logarithmic=True),
)
NUMBERED_INPUTS = (*SLICE_INPUTS, InputKind("GPU number"))
CATALOGUE_INPUTS = (
    *SLICE_INPUTS,
    InputKind("SMs", logarithmic=True, of_board=True),
    InputKind("peak fp32 rate per watt of the power limit, GFLOP/s/W,", logarithmic=True, of_board=True),
    InputKind("memory bandwidth per watt of the power limit, GB/s/W,", logarithmic=True, of_board=True),
    InputKind("process in nm", logarithmic=True, of_board=True),
    InputKind("boost clock in MHz", logarithmic=True, of_board=True),
    InputKind("core clock / boost clock"),
    InputKind("memory clock / catalogue's"),
)
"""Inputs in the order of `slice_values` and `values`."""


def slice_values(part: SliceSample) -> tuple[float, ...] | None:
    """The inputs that describe a slice; ``None`` for one without density."""
    if part.arithmetic_density is None:
        return None
    return (part.arithmetic_density, part.sm_saturation, float(part.code_lines))


def described_slices(subject: Subject) -> tuple[tuple[float, tuple[float, ...]], ...]:
    """Weight and inputs of the slices that have a density and a weight; the weights add up to 1."""
    known = tuple(
        (part.weight, values)
        for part in subject.slices
        if part.weight > 0 and (values := slice_values(part)) is not None
    )
    total = math.fsum(weight for weight, _ in known)
    return tuple((weight / total, values) for weight, values in known)


def share_without_density(subject: Subject) -> float:
    """Share of the executed statements in slices without density."""
    return math.fsum(part.weight for part in subject.slices if part.arithmetic_density is None)


def _core_mhz(factor: ClockFactor) -> float:
    return factor.core_mhz
