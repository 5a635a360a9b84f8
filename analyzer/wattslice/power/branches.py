"""Is a kernel branch-sparse or branch-dense? (Wang & Chen 2013, section 4: BSPM or BDPM)

The paper names the two classes and gives no measure. Here: the share of executed logical statements that lie
in a *dividing* arm, one that some visits take and some do not (also: after a branch that leaves early). Arms
that nearly every visit takes (`if (i < n)` over a grid made to fit) or nearly none takes divide nothing.

On our versions of the paper's thirteen programs its sparse ones measure 0 to 0.19, its dense ones 0.25
(binomial options), 0.98 (string matching) and 1.0 (H.264, 4x4); its DCT and Black-Scholes, which it also
calls dense, have no dividing branch at all here, and come out sparse (tests/analyzer/test_branches.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from wattslice.counting.profile import ExecutionProfile
from wattslice.slicing.features import arm_probability, executed_length
from wattslice.slicing.slices import Slice

DENSE_FROM = 0.2
"""Share of statements in dividing arms from which a kernel is branch-dense: between the paper's two lists,
where public kernels are few (docs/branches.md)."""
DIVIDING = (0.02, 0.95)
"""An arm divides when its probability lies strictly between these."""


class BranchClass(Enum):
    """Branch-sparse or branch-dense (Wang & Chen 2013, section 4)."""

    SPARSE = "sparse"
    DENSE = "dense"


@dataclass(frozen=True, slots=True)
class BranchDensity:
    """`divided_share` in [0, 1] of executed logical statements, and the class `threshold` makes of it."""

    divided_share: float
    threshold: float

    @property
    def branch_class(self) -> BranchClass:
        """DENSE from the threshold on."""
        return BranchClass.DENSE if self.divided_share >= self.threshold else BranchClass.SPARSE


def branch_density(
    slices: tuple[Slice, ...], profile: ExecutionProfile, threshold: float = DENSE_FROM
) -> BranchDensity:
    """Measure the slices of one kernel; `ValueError` for a threshold outside (0, 1]."""
    if not 0 < threshold <= 1:
        raise ValueError(f"the threshold must lie in (0, 1], not {threshold}")
    known = {arm.region: arm for arm in profile.arms}
    counts = profile.thread_counts
    low, high = DIVIDING
    statements = tuple(statement for part in slices for statement in part.statements)
    arms = {arm for statement in statements for arm in statement.arms}
    dividing = {arm for arm in arms if low < arm_probability((arm,), known, counts) < high}
    divided = (s for s in statements if not dividing.isdisjoint(s.arms))
    total = executed_length(statements, counts)
    return BranchDensity(executed_length(divided, counts) / total if total else 0.0, threshold)
