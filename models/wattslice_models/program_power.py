"""From slices to a program: density, BSPM and BDPM of Wang & Chen 2013 as pure functions.

Where the paper contradicts itself:

* Eq. (1) weights every access once, ``N_mem = sum r_i n_i``; Algorithm 2, line 10, multiplies the running sum
  by ``r`` at every statement, so that the result depends on the order of statements. Eq. (1) is used.
* Algorithm 3, line 6, assigns where eq. (12) sums. Eq. (12) is used.
* Eq. (13) divides by ``L`` and defines ``L-hat`` beside it without using it; Algorithm 4, line 6, accumulates
  the *effective* lengths and divides by those. Algorithm 4 is used: its weights sum to one. With the full
  ``L`` of eq. (12) a program would lose watts merely because a branch is never taken. For comparison
  `branch_dense_power_w` computes that reading too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wattslice_models.types import AccessCounts, ArithmeticDensity, PowerFactors


@dataclass(frozen=True, slots=True)
class SlicePower:
    """One slice C_i: predicted power in watts, and its length |C_i| in executable statements (Def. 5)."""

    power_w: float
    length: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.power_w) and self.power_w >= 0):
            raise ValueError(f"slice power must be finite and not negative, not {self.power_w}")
        if not (math.isfinite(self.length) and self.length >= 0):
            raise ValueError(f"slice length must be finite and not negative, not {self.length}")


@dataclass(frozen=True, slots=True)
class SubSlice:
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


def effective_sub_slices(sub_slices: tuple[SubSlice, ...], threshold: float) -> tuple[SubSlice, ...]:
    """Ĉ_i: the sub-slices that execute with a probability above the threshold δ (Algorithm 4, line 3).

    The paper prints no value for δ; its example calls a probability of 0.001 negligible.
    """
    if not 0 <= threshold < 1:
        raise ValueError(f"the threshold must lie in [0, 1), not {threshold}")
    return tuple(part for part in sub_slices if part.probability > threshold)


def effective_length(sub_slices: tuple[SubSlice, ...], threshold: float) -> float:
    """|Ĉ_i|: the length of what is left of a slice above the threshold."""
    return math.fsum(part.length for part in effective_sub_slices(sub_slices, threshold))


def effective_density(sub_slices: tuple[SubSlice, ...], threshold: float) -> ArithmeticDensity:
    """Effective arithmetic density (Def. 7): operations per access of the sub-slices above the threshold."""
    kept = effective_sub_slices(sub_slices, threshold)
    if not kept:
        return ArithmeticDensity(None, f"no sub-slice executes with a probability above {threshold:g}")
    return arithmetic_density(
        math.fsum(part.arithmetic_operations for part in kept),
        math.fsum(part.normalised_accesses for part in kept),
    )


def branch_dense_power_w(
    effective_slices: tuple[SlicePower, ...], total_length: float | None = None
) -> float | None:
    """BDPM: mean power of the effective slices ``(P_i, |Ĉ_i|)``, weighted by effective length.

    P_i is the slice model evaluated at the *effective* density. By default Algorithm 4, whose weights sum to
    one; `total_length` takes eq. (13) literally and divides by that ``L`` instead. ``None`` when nothing is
    left above the threshold. Raises ``ValueError`` for an ``L`` shorter than the effective lengths.
    """
    remaining = math.fsum(part.length for part in effective_slices)
    if remaining == 0:
        return None
    if total_length is None:
        return branch_sparse_power_w(effective_slices)
    if total_length < remaining:
        raise ValueError(f"total length {total_length:g} is less than the effective length {remaining:g}")
    return math.fsum(part.power_w * part.length for part in effective_slices) / total_length


def execution_probabilities(executions: tuple[tuple[int, ...], ...]) -> tuple[float, ...]:
    """Eq. (14): probability of each sub-slice, the mean over data sets of its share of all executions.

    `executions[d][j]` is how often sub-slice j ran on data set d. Raises ``ValueError`` for no data set, rows
    of different lengths, a negative count, or a data set on which nothing ran (its share is undefined).
    """
    if not executions or len({len(row) for row in executions}) != 1:
        raise ValueError("need at least one data set, and one count per sub-slice in each")
    if any(count < 0 for row in executions for count in row):
        raise ValueError("execution counts must not be negative")
    totals = tuple(sum(row) for row in executions)
    if 0 in totals:
        raise ValueError(f"data set {totals.index(0)} executed no sub-slice")
    shares = tuple(
        tuple(count / total for count in row) for row, total in zip(executions, totals, strict=True)
    )
    return tuple(math.fsum(column) / len(shares) for column in zip(*shares, strict=True))


def program_energy_j(slices: tuple[SlicePower, ...], time_s: float) -> float | None:
    """Energy of a program that runs for `time_s`, eq. (10) and (11): the power of eq. (12) times t."""
    power_w = branch_sparse_power_w(slices)
    return None if power_w is None else power_w * time_s
