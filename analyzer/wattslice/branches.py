"""Is a kernel branch-sparse or branch-dense? (Wang & Chen 2013, section 4: BSPM or BDPM)

The paper names the two classes and gives no measure. Here: the share of executed logical statements that a
*data-dependent* decision governs, i.e. that lie in an arm (or after a branch that leaves) whose probability
nothing known before the run decides. What thread indices and launch geometry decide (`if (i < n)`,
`if (tid < stride)`) is known exactly and needs no probability, so such branches do not make a kernel dense.
"""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.analysis import BranchClass
from wattslice.execution import ExecutionProfile, ProbabilitySource
from wattslice.features import executed_length
from wattslice.slicing.slices import Slice

DENSE_FROM = 0.1
"""Share of data-dependent statements from which a kernel is branch-dense; the paper gives no number."""


@dataclass(frozen=True, slots=True)
class BranchDensity:
    """`data_dependent_share` in [0, 1] of executed statements, and the class `threshold` makes of it."""

    data_dependent_share: float
    threshold: float

    @property
    def branch_class(self) -> BranchClass:
        """DENSE from the threshold on."""
        return BranchClass.DENSE if self.data_dependent_share >= self.threshold else BranchClass.SPARSE


def branch_density(
    slices: tuple[Slice, ...], profile: ExecutionProfile, threshold: float = DENSE_FROM
) -> BranchDensity:
    """Measure the slices of one kernel; `ValueError` for a threshold outside (0, 1]."""
    if not 0 < threshold <= 1:
        raise ValueError(f"the threshold must lie in (0, 1], not {threshold}")
    undecided = frozenset(arm.region for arm in profile.arms if arm.source is not ProbabilitySource.STATIC)
    statements = tuple(statement for part in slices for statement in part.statements)
    governed = tuple(s for s in statements if any(arm.region in undecided for arm in s.arms))
    total = executed_length(statements, profile.thread_counts)
    share = executed_length(governed, profile.thread_counts) / total if total else 0.0
    return BranchDensity(share, threshold)
