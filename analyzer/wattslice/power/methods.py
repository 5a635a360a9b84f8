"""How slices make a program: which counts BSPM, BDPM and the expectation take (Wang & Chen 2013, section 4).

All three are eq. (12), power weighted by slice length, over different counts:

* BSPM: every path that data decide counts as if each visit took it (Algorithms 1 and 3 know no branches);
* BDPM: so, but without the sub-slices that execute with a probability up to δ (Def. 7, (13), Algorithm 4);
* expected: every path by its probability, none dropped.

What thread indices decide is known, and counts as it runs in all three. Time is always the expected one.

By default a kernel some of whose branches data decide is predicted by expectation: over the measured programs
BDPM is no nearer than BSPM or the expectation (docs/branches.md), and the expectation is what models were
trained on. Where data decide nothing it goes by the branch class, as the paper has it.
"""

from __future__ import annotations

from enum import Enum

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import Kernel
from wattslice.power.paths import as_if_taken
from wattslice.slicing.features import without_improbable
from wattslice.slicing.slices import Slice


class Method(Enum):
    """How slices make a program."""

    BSPM = "bspm"
    BDPM = "bdpm"
    EXPECTED = "expected"


def counts_for(
    method: Method,
    kernel: Kernel,
    slices: tuple[Slice, ...],
    expected: ExecutionProfile,
    threshold: float,
) -> ExecutionProfile:
    """The counts that `method` makes of the expected ones; `threshold` is δ in [0, 1).

    For BSPM give those without a profile: it needs none, and what a profile never saw taken has no counts
    that could be raised.
    """
    if method is Method.EXPECTED:
        return expected
    taken = as_if_taken(kernel, expected)
    return taken if method is Method.BSPM else without_improbable(slices, taken, threshold)
