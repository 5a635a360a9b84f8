"""The energy roofline of Choi et al. 2013: what flops and bytes cost in time, energy and power.

    T = max(W τ_flop, Q τ_mem)                              (3)  I = W / Q, B_τ = τ_mem / τ_flop
    E = W ε_flop + Q ε_mem + π0 T                           (4)  B_ε = ε_mem / ε_flop
      = W ε̂_flop (1 + B̂_ε(I) / I)                           (5)  ε̂_flop = ε_flop + ε_0, ε_0 = π0 τ_flop
    B̂_ε(I) = η B_ε + (1 - η) max(0, B_τ - I)                (6)  η = ε_flop / ε̂_flop
    P(I) = π_flop / η (min(I, B_τ) / B_τ + B̂_ε(I) / max(I, B_τ))  (7)  π_flop = ε_flop / τ_flop

W in flops, Q in bytes of slow memory, I in flops per byte; (3), (5) and (7) are numbered as the paper does,
(4) and (6) after their place between these. Below, (7) is written as the sum that it is:
constant power, plus what the flops and what the bytes of a second cost.

The limit of the board. The paper caps the line: where (7) lies above the limit, the limit is drawn (Fig. 5).
Here the run is throttled as well: it lasts as long as its energy needs at the limit,

    T = max(W τ_flop, Q τ_mem, (W ε_flop + Q ε_mem) / (limit - π0)),

so that E / T is the limit, and π0 is paid for the longer time too (the authors' later work, IPDPS 2014, does
the same). Without `power_limit_w` all is as in the paper; `without_limit()` gives that machine.

All methods take floats or numpy arrays of floats, and give the same back.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Numbers = TypeVar("Numbers", float, "NDArray[np.float64]")


class TimeRoofline(Struct, frozen=True):
    """What is known of a machine without its energies: seconds of a flop and of a byte, as if alone.

    `flop_time_s` (τ_flop) and `byte_time_s` (τ_mem) finite and above 0. Raises ``ValueError`` for others.
    """

    flop_time_s: float
    byte_time_s: float

    def __post_init__(self) -> None:
        _above_zero("flop_time_s", self.flop_time_s)
        _above_zero("byte_time_s", self.byte_time_s)

    @property
    def peak_flops_per_s(self) -> float:
        """1 / τ_flop"""
        return 1.0 / self.flop_time_s

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """1 / τ_mem"""
        return 1.0 / self.byte_time_s

    @property
    def time_balance(self) -> float:
        """B_τ in flops per byte: from here on arithmetic takes longer than memory."""
        return self.byte_time_s / self.flop_time_s

    def without_limit(self) -> TimeRoofline:
        """Itself: without energies nothing throttles."""
        return self

    def time_s(self, work_flop: Numbers, traffic_bytes: Numbers) -> Numbers:
        """(3). Flops and bytes finite and not negative; ``ValueError`` otherwise."""
        _not_negative("work_flop", work_flop)
        _not_negative("traffic_bytes", traffic_bytes)
        return _larger(work_flop * self.flop_time_s, traffic_bytes * self.byte_time_s)

    def flops_per_s(self, intensity: Numbers) -> Numbers:
        """The time roofline in flop/s over flops per byte, which are finite and above 0."""
        _positive(intensity)
        return intensity / self.time_s(intensity, 1.0 + 0.0 * intensity)

    def relative_speed(self, intensity: Numbers) -> Numbers:
        """The roofline of Fig. 2a: speed over peak, min(1, I / B_τ) where nothing throttles."""
        return self.flops_per_s(intensity) * self.flop_time_s


class EnergyRoofline(TimeRoofline, frozen=True):
    """A machine by its costs: seconds and joules of a flop and of a byte, watts of being on.

    `flop_time_s` (τ_flop), `byte_time_s` (τ_mem) and `flop_energy_j` (ε_flop) above 0, `byte_energy_j`
    (ε_mem) and `constant_power_w` (π0) at least 0, all finite; `power_limit_w` above π0, or None: no limit,
    or none known. Raises ``ValueError`` for others.
    """

    flop_energy_j: float
    byte_energy_j: float
    constant_power_w: float
    power_limit_w: float | None = None

    def __post_init__(self) -> None:
        TimeRoofline.__post_init__(self)
        _above_zero("flop_energy_j", self.flop_energy_j)
        _not_negative("byte_energy_j", self.byte_energy_j)
        _not_negative("constant_power_w", self.constant_power_w)
        limit_w = self.power_limit_w
        if limit_w is not None and not self.constant_power_w < limit_w < math.inf:
            raise ValueError(
                f"the power limit must be finite and above the constant power, {self.constant_power_w:g} W, "
                f"not {limit_w:g} W"
            )

    def without_limit(self) -> EnergyRoofline:
        """The same machine as the paper's equations have it: nothing throttles it."""
        return replace(self, power_limit_w=None)

    @property
    def energy_balance(self) -> float:
        """B_ε in flops per byte: from here on arithmetic takes more energy than memory, π0 left out."""
        return self.byte_energy_j / self.flop_energy_j

    @property
    def constant_flop_energy_j(self) -> float:
        """ε_0: what constant power costs while one flop runs at peak."""
        return self.constant_power_w * self.flop_time_s

    @property
    def actual_flop_energy_j(self) -> float:
        """ε̂_flop: what a flop at peak costs with its part of the constant power."""
        return self.flop_energy_j + self.constant_flop_energy_j

    @property
    def flop_efficiency(self) -> float:
        """η: the part of ε̂_flop that the flop itself takes; 1 without constant power."""
        return self.flop_energy_j / self.actual_flop_energy_j

    @property
    def flop_power_w(self) -> float:
        """π_flop: arithmetic at peak, without constant power."""
        return self.flop_energy_j / self.flop_time_s

    @property
    def byte_power_w(self) -> float:
        """π_mem: memory at its bandwidth, without constant power. π_flop B_ε / B_τ."""
        return self.byte_energy_j / self.byte_time_s

    @property
    def peak_power_w(self) -> float:
        """(7) at I = B_τ, its highest: what the machine asks for, limit or not."""
        return self.constant_power_w + self.flop_power_w + self.byte_power_w

    @property
    def is_capped(self) -> bool:
        """Whether some intensity asks for more than the limit."""
        return self.power_limit_w is not None and self.peak_power_w > self.power_limit_w

    @property
    def peak_flops_per_j(self) -> float:
        """1 / ε̂_flop: what the arch line tends to where memory costs nothing; the limit left out."""
        return 1.0 / self.actual_flop_energy_j

    @property
    def limited_flops_per_s(self) -> float:
        """What the limit leaves of the peak, where memory asks for nothing; without a limit the peak."""
        return 1.0 / self.time_s(1.0, 0.0)

    @property
    def limited_flops_per_j(self) -> float:
        """The same of the best energy efficiency: a longer time at π0 for every flop."""
        return 1.0 / self.energy_j(1.0, 0.0)

    @property
    def balance_gap(self) -> float:
        """B_ε / B_τ: above 1, code that is balanced in time still spends most dynamic energy on memory."""
        return self.energy_balance / self.time_balance

    @property
    def effective_balance_point(self) -> float:
        """The I with B̂_ε(I) = I, where energy efficiency is half of its peak; the limit left out.

        Both branches of (6) are straight lines, so that it is solved in closed form.
        """
        part = self.flop_efficiency
        beyond = part * self.energy_balance
        if beyond >= self.time_balance:
            return beyond
        return (beyond + (1.0 - part) * self.time_balance) / (2.0 - part)

    @property
    def race_to_halt(self) -> bool:
        """Whether code that is compute-bound in time is so in energy too: finish as fast as possible.

        True where the effective balance point is at most B_τ. False: there are intensities at peak speed
        that spend most of their energy on memory, so that fewer bytes save energy, though no time.
        """
        return self.effective_balance_point <= self.time_balance

    def time_s(self, work_flop: Numbers, traffic_bytes: Numbers) -> Numbers:
        """(3), and longer where the power limit throttles. Flops and bytes finite and not negative."""
        seconds = TimeRoofline.time_s(self, work_flop, traffic_bytes)
        if self.power_limit_w is None:
            return seconds
        budget_w = self.power_limit_w - self.constant_power_w
        return _larger(seconds, self.dynamic_energy_j(work_flop, traffic_bytes) / budget_w)

    def energy_j(self, work_flop: Numbers, traffic_bytes: Numbers) -> Numbers:
        """(4), with the constant power of the whole `time_s`."""
        constant_j = self.constant_power_w * self.time_s(work_flop, traffic_bytes)
        return self.dynamic_energy_j(work_flop, traffic_bytes) + constant_j

    def dynamic_energy_j(self, work_flop: Numbers, traffic_bytes: Numbers) -> Numbers:
        """What flops and bytes cost, constant power left out: it is the same however long a run takes."""
        return work_flop * self.flop_energy_j + traffic_bytes * self.byte_energy_j

    def throttled_time_s(self, work_flop: float, traffic_bytes: float, time_s: float) -> float:
        """A time that is known from elsewhere, or longer: until (4) fits under the limit."""
        if self.power_limit_w is None:
            return time_s
        budget_w = self.power_limit_w - self.constant_power_w
        return max(time_s, self.dynamic_energy_j(work_flop, traffic_bytes) / budget_w)

    def power_of_run_w(self, work_flop: float, traffic_bytes: float, time_s: float) -> float:
        """(4) in watts, over a time above 0 that is known from elsewhere; at most the limit."""
        _not_negative("work_flop", work_flop)
        _not_negative("traffic_bytes", traffic_bytes)
        _above_zero("time_s", time_s)
        power_w = self.constant_power_w + self.dynamic_energy_j(work_flop, traffic_bytes) / time_s
        return power_w if self.power_limit_w is None else min(power_w, self.power_limit_w)

    def effective_energy_balance(self, intensity: Numbers) -> Numbers:
        """(6), B̂_ε(I) in flops per byte, of an intensity in flops per byte, above 0."""
        _positive(intensity)
        part = self.flop_efficiency
        waiting = _larger(0.0 * intensity, self.time_balance - intensity)
        return part * self.energy_balance + (1.0 - part) * waiting

    def flops_per_j(self, intensity: Numbers) -> Numbers:
        """The arch line in flop/J."""
        _positive(intensity)
        return intensity / self.energy_j(intensity, 1.0 + 0.0 * intensity)

    def relative_efficiency(self, intensity: Numbers) -> Numbers:
        """The arch line of Fig. 2a: flops per joule over their peak, 1 / (1 + B̂_ε(I) / I) without a limit."""
        return self.flops_per_j(intensity) * self.actual_flop_energy_j

    def demanded_power_w(self, intensity: Numbers) -> Numbers:
        """(7) in watts, whatever the limit."""
        _positive(intensity)
        byte = 1.0 + 0.0 * intensity
        free_s = TimeRoofline.time_s(self, intensity, byte)
        return self.constant_power_w + self.dynamic_energy_j(intensity, byte) / free_s

    def power_w(self, intensity: Numbers) -> Numbers:
        """The power line in watts: (7), at most the limit. `energy_j` over `time_s`."""
        demanded_w = self.demanded_power_w(intensity)
        if self.power_limit_w is None:
            return demanded_w
        return -_larger(-demanded_w, -self.power_limit_w + 0.0 * intensity)


def _larger(first: Numbers, second: Numbers) -> Numbers:
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        return max(first, second)
    import numpy as np  # a scalar needs none of it

    return cast("Numbers", np.maximum(first, second))


def _holds(condition: bool | NDArray[np.bool_]) -> bool:
    """Whether a condition on a number or on every number of an array holds."""
    return condition if isinstance(condition, bool) else bool(condition.all())


def _above_zero(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be finite and above 0, not {value}")


def _not_negative(name: str, value: float | NDArray[np.float64]) -> None:
    if not _holds((value >= 0.0) & (value < math.inf)):
        raise ValueError(f"{name} must be finite and not negative, not {value}")


def _positive(intensity: float | NDArray[np.float64]) -> None:
    if not _holds((intensity > 0.0) & (intensity < math.inf)):
        raise ValueError(f"intensity must be finite and above 0 flops per byte, not {intensity}")
