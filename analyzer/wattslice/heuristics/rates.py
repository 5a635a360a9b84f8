"""The heuristics, how often each is right, and how several opinions about one branch become a probability.

Heuristics: Ball & Larus, "Branch prediction for free", PLDI 1993. Hit rates as probabilities, and their
combination: Wu & Larus, "Static branch frequency and program profile analysis", MICRO 27, 1994, Table 1.
They were measured on CPU programs of that time; docs/appendix/branches.md shows how they do on kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line must not wait for numpy
    import numpy as np
    from numpy.typing import NDArray


class Heuristic(Enum):
    """What speaks for one way of a branch.

    Two of the published nine speak about loops as a whole: loop branch (0.88 for another iteration) is the
    default of a trip count that data decide, loop exit (0.80 against leaving) is not used, because a loop of
    known length that is left with 0.2 per iteration would have five iterations, whatever its length.
    """

    POINTER = "pointer"  # two pointers, or one and null, are not equal
    OPCODE = "opcode"  # an integer is not negative, not <= 0, and not equal to a constant
    GUARD = "guard"  # goes where a compared register is used
    LOOP_HEADER = "loop header"  # goes where a loop begins
    CALL = "call"  # avoids calls
    STORE = "store"  # avoids stores
    RETURN = "return"  # avoids returns


HIT_RATES: tuple[tuple[Heuristic, float], ...] = (
    (Heuristic.POINTER, 0.60),
    (Heuristic.OPCODE, 0.84),
    (Heuristic.GUARD, 0.62),
    (Heuristic.LOOP_HEADER, 0.75),
    (Heuristic.CALL, 0.78),
    (Heuristic.STORE, 0.55),
    (Heuristic.RETURN, 0.72),
)
"""How often a branch goes the way that the heuristic says: Wu & Larus 1994, Table 1."""
_RATE = dict(HIT_RATES)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one heuristic says of a condition: whether it `holds` (the then-arm is taken)."""

    heuristic: Heuristic
    holds: bool

    @property
    def probability(self) -> float:
        """That the condition holds, if nothing else were known."""
        rate = _RATE[self.heuristic]
        return rate if self.holds else 1.0 - rate


def combined(
    prior: float | NDArray[np.float64], opinions: tuple[Opinion, ...]
) -> float | NDArray[np.float64]:
    """`prior` (one number, or one per lane) after hearing `opinions`: Dempster-Shafer, Wu & Larus 1994.

    Two probabilities p and q of the same outcome make p q / (p q + (1 - p)(1 - q)). What is certain stays so;
    one half changes nothing.
    """
    for opinion in opinions:
        q = opinion.probability
        prior = prior * q / (prior * q + (1.0 - prior) * (1.0 - q))
    return prior


def spread(probability: float) -> tuple[float, float]:
    """How far the probability of one branch may lie from that of all branches of its kind: low and high.

    A hit rate is a mean over branches. Of all distributions on [0, 1] with mean p the one whose every branch
    always goes one way has the largest standard deviation, sqrt(p (1 - p)); real branches are near it. The
    interval is one such deviation to either side: 0.5 gives 0 to 1, 0.84 gives 0.47 to 1.
    """
    deviation = math.sqrt(max(0.0, probability * (1.0 - probability)))
    return max(0.0, probability - deviation), min(1.0, probability + deviation)
