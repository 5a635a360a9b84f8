"""What every power model takes and gives back."""

from __future__ import annotations

import math

from msgspec import Struct

DEVIATIONS_OF_INTERVAL = 1.645
"""Standard deviations from a normal's middle to either end of the range that holds 90 % of it."""
BEYOND_INTERVAL = 0.05
"""Probability beyond either end of a 90 % interval."""
_SAME_CHANCE = 1e-4
_HALVINGS = 40


def exceedance(budget_w: float, power_w: float, low_w: float, high_w: float) -> float:
    """Probability, in [0, 1], that measured watts exceed `budget_w`, by a prediction with a 90 % interval.

    The logarithm of the watts is taken to be normal on either side of `power_w`, with 5 % beyond each end of
    the interval. Raises ``ValueError`` for a budget that is no number or negative.
    """
    if not 0 <= budget_w < math.inf:
        raise ValueError(f"a budget of {budget_w} W")
    if budget_w == 0 or power_w <= 0:
        return 1.0 if power_w > budget_w else 0.0
    end_w = high_w if budget_w > power_w else low_w
    way, length = math.log(budget_w / power_w), abs(math.log(end_w / power_w)) if end_w > 0 else math.inf
    if way == 0:
        return 0.5
    deviations = DEVIATIONS_OF_INTERVAL * way / length if length else math.copysign(math.inf, way)
    return 0.5 * math.erfc(deviations / math.sqrt(2.0))


BOARDS_DIFFER = 0.95
"""Of its limit, what one in twenty boards that are held back stays below; the A40's sensor shows 0.997."""


class Held(Struct, frozen=True):
    """Watts that sensors show of a board which its limit holds back: `limit_w` in the middle, in 90 % of all
    cases at least `BOARDS_DIFFER` of it and at most `high_w`.
    """

    limit_w: float
    high_w: float

    def exceedance(self, budget_w: float) -> float:
        """Probability that such a board shows more than `budget_w`."""
        return exceedance(budget_w, self.limit_w, BOARDS_DIFFER * self.limit_w, self.high_w)


class Wanted(Struct, frozen=True):
    """Watts that a launch would draw at the clock asked for if no limit held the board back, and the ends of
    their 90 % interval. `held`: what the limit makes of them; None: no limit is known.

    The measured watts are the lesser of both, each with its own error.
    """

    power_w: float
    low_w: float
    high_w: float
    held: Held | None = None

    def beyond(self, watts: float) -> float:
        """Probability that the launch wants more than `watts`; as in `exceedance`."""
        return exceedance(watts, self.power_w, self.low_w, self.high_w)

    def exceedance(self, budget_w: float) -> float:
        """Probability that the measured watts exceed `budget_w`: 95 and 5 % at the two ends of `shown`.

        Raises ``ValueError`` for a budget that is no number or negative.
        """
        return self.beyond(budget_w) * (1.0 if self.held is None else self.held.exceedance(budget_w))

    @property
    def shown(self) -> tuple[float, float]:
        """The ends of the 90 % interval of the measured watts."""
        if self.held is None:
            return self.low_w, self.high_w
        return (
            self._exceeded(1.0 - BEYOND_INTERVAL, min(self.low_w, BOARDS_DIFFER * self.held.limit_w)),
            self._exceeded(BEYOND_INTERVAL, min(self.high_w, self.held.high_w)),
        )

    def _exceeded(self, chance: float, most_w: float) -> float:
        """The watts up to `most_w` that are exceeded with that probability."""
        if self.exceedance(most_w) >= chance - _SAME_CHANCE:
            return most_w
        least_w = 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (least_w + most_w)
            least_w, most_w = (middle, most_w) if self.exceedance(middle) > chance else (least_w, middle)
        return least_w

    def times(self, factor: float) -> Wanted:
        """What is wanted multiplied, the limit as it is."""
        return Wanted(factor * self.power_w, factor * self.low_w, factor * self.high_w, self.held)


class Prediction(Struct, frozen=True):
    """Predicted average board power in watts, with an interval; all three are ``None`` when it is unknown.

    Raises ``ValueError`` for an interval that does not hold the prediction, for a prediction without
    interval, and for an unknown one without a reason in `notes`.
    """

    power_w: float | None
    power_low_w: float | None
    power_high_w: float | None
    interval_source: str
    """Where the interval comes from, and what it may claim; empty only when the power is unknown."""
    in_trained_domain: bool
    """False when a feature lies outside what the model was fitted on: the interval then promises nothing."""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.power_w is None:
            if self.power_low_w is not None or self.power_high_w is not None or not self.notes:
                raise ValueError("an unknown power has no interval, and a note that says why it is unknown")
        elif self.power_low_w is None or self.power_high_w is None or not self.interval_source:
            raise ValueError("a predicted power needs an interval and where that comes from")
        elif not 0 <= self.power_low_w <= self.power_w <= self.power_high_w:
            message = f"{self.power_w} W does not lie in [{self.power_low_w}, {self.power_high_w}] W"
            raise ValueError(message)

    def exceedance(self, budget_w: float) -> float | None:
        """Probability that the measured watts exceed `budget_w` (see `exceedance`); None when unknown."""
        if self.power_w is None or self.power_low_w is None or self.power_high_w is None:
            return None
        return exceedance(budget_w, self.power_w, self.power_low_w, self.power_high_w)

    @classmethod
    def unknown(cls, reason: str) -> Prediction:
        """A prediction that could not be made, and why."""
        return cls(None, None, None, "", False, (reason,))


class ArithmeticDensity(Struct, frozen=True):
    """Power-weighted arithmetic density Ã, operations per normalised access; ``None`` with a reason.

    Ã is undefined for a slice that touches no memory: it is then neither infinite nor zero.
    """

    value: float | None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError("exactly an undefined density has a reason")


class AccessCounts(Struct, frozen=True):
    """Memory accesses by memory space, dimensionless: n_0 ... n_3 of Wang & Chen 2013, eq. (1)."""

    global_memory: float = 0.0
    shared_memory: float = 0.0
    constant_memory: float = 0.0
    texture_memory: float = 0.0


class PowerFactors(Struct, frozen=True):
    """Power of an access relative to a global one: r_0 = 1 ... r_3 of Wang & Chen 2013, section 2.3."""

    global_memory: float
    shared_memory: float
    constant_memory: float
    texture_memory: float
    provenance: str
    """Which GPU's measurements these come from, and what was assumed to carry them over."""
    gpu_matched: bool
    """True when measured on the very GPU asked for, False when carried over from another one."""

    def __post_init__(self) -> None:
        if self.global_memory != 1.0:
            raise ValueError("the global access is the unit: its factor is 1")
        if min(self.shared_memory, self.constant_memory, self.texture_memory) <= 0:
            raise ValueError("power factors are positive")
