"""From slices to a program: density and power of Wang & Chen 2013 as pure functions.

Where the paper contradicts itself:

* Eq. (1) weights every access once, ``N_mem = sum r_i n_i``; Algorithm 2, line 10, multiplies the running sum
  by ``r`` at every statement, so that the result depends on the order of statements. Eq. (1) is used.
* Algorithm 3, line 6, assigns where eq. (12) sums. Eq. (12) is used.
* Eq. (13) divides by ``L`` and defines ``L-hat`` beside it without using it; Algorithm 4, line 6, accumulates
  the *effective* lengths and divides by those. Algorithm 4 is used: its weights sum to one. With the full
  ``L`` of eq. (12) a program would lose watts merely because a branch is never taken. So BDPM is eq. (12)
  over what is left of the slices; who drops the improbable decides before (`wattslice.power.methods`).
"""

from __future__ import annotations

import math

from msgspec import Struct

from wattslice_models.types import AccessCounts, ArithmeticDensity, PowerFactors


class SlicePower(Struct, frozen=True):
    """One slice C_i: predicted power in watts, and its length |C_i| in executable statements (Def. 5)."""

    power_w: float
    length: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.power_w) and self.power_w >= 0):
            raise ValueError(f"slice power must be finite and not negative, not {self.power_w}")
        if not (math.isfinite(self.length) and self.length >= 0):
            raise ValueError(f"slice length must be finite and not negative, not {self.length}")


class SubSlice(Struct, frozen=True):
    """One sub-slice C_ij: its length, how probably it executes, and what it does (eq. (14), Def. 7)."""

    length: float
    probability: float
    arithmetic_operations: float
    normalised_accesses: float

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ValueError(f"a probability must lie in [0, 1], not {self.probability}")
        quantities = (self.length, self.arithmetic_operations, self.normalised_accesses)
        if not all(math.isfinite(quantity) and quantity >= 0 for quantity in quantities):
            raise ValueError("lengths and counts must be finite and not negative")


def normalised_accesses(accesses: AccessCounts, factors: PowerFactors) -> float:
    """N_mem of eq. (1), in equivalent global accesses."""
    return (
        factors.global_memory * accesses.global_memory
        + factors.shared_memory * accesses.shared_memory
        + factors.constant_memory * accesses.constant_memory
        + factors.texture_memory * accesses.texture_memory
    )


def arithmetic_density(arithmetic_operations: float, n_mem: float) -> ArithmeticDensity:
    """Ã of eq. (2); undefined, with the reason, for ``N_mem == 0``. ``ValueError`` for negative counts."""
    if not (arithmetic_operations >= 0 and n_mem >= 0):
        raise ValueError("counts must not be negative")
    if n_mem == 0:
        return ArithmeticDensity(None, "the slice makes no memory access")
    return ArithmeticDensity(arithmetic_operations / n_mem)


def branch_sparse_power_w(slices: tuple[SlicePower, ...]) -> float | None:
    """BSPM, eq. (12): mean of the slice powers, weighted by slice length; ``None`` for no length at all."""
    total_length = math.fsum(part.length for part in slices)
    if total_length == 0:
        return None
    return math.fsum(part.power_w * part.length for part in slices) / total_length
