"""How slices make a program: which counts BSPM, BDPM and the expectation take (Wang & Chen 2013, section 4).

All three are eq. (12), power weighted by slice length, over different counts:

* BSPM: every path that data decide counts as if each visit took it (Algorithms 1 and 3 know no branches);
* BDPM: so, but without the sub-slices that execute with a probability up to δ (Def. 7, (13), Algorithm 4);
* expected: every path by its probability, none dropped.

What thread indices decide is known, and counts as it runs in all three. Time is always the expected one.

By default a kernel some of whose branches data decide is predicted by expectation: over the measured programs
BDPM is no nearer than BSPM or the expectation (docs/appendix/branches.md), and the expectation is what models
were trained on. Where data decide nothing it goes by the branch class, as the paper has it.

The paper names the two classes, branch-sparse and branch-dense, and gives no measure. Here: the share of
executed logical statements that lie in a *dividing* arm, one that some visits take and some do not (also:
after a branch that leaves early). Arms that nearly every visit takes (`if (i < n)` over a grid made to fit)
or nearly none takes divide nothing. On our versions of the paper's thirteen programs its sparse ones measure
0 to 0.19, its dense ones 0.25 (binomial options), 0.98 (string matching) and 1.0 (H.264, 4x4); its DCT and
Black-Scholes, which it also calls dense, have no dividing branch at all here, and come out sparse
(tests/analyzer/test_branches.py).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from msgspec import Struct, field

from wattslice.analysis import BranchClass
from wattslice.config.config import Config
from wattslice.config.options import DENSE_FROM
from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import Kernel
from wattslice.launches.launch import KernelLaunch
from wattslice.power.answer import PowerAnswer, PowerQuestion, answer
from wattslice.power.attribution import Attribution, attribute, parts, slice_powers
from wattslice.power.paths import arms_of_data, as_if_taken
from wattslice.power.slices import SliceWatts
from wattslice.power.variants import OwnVariants
from wattslice.slicing.features import (
    SliceFeatures,
    arm_probability,
    executed_length,
    slice_features,
    without_improbable,
)
from wattslice.slicing.slices import Slice
from wattslice.slicing.statements import ArmChain, links
from wattslice.workload.instructions.loops import TripCounts, loop_trips
from wattslice.workload.launch_work import LaunchWork, Residency, launch_work
from wattslice_models.access_power import access_power_factors
from wattslice_models.gpu import Gpu


class Method(Enum):
    """How slices make a program."""

    BSPM = "bspm"
    BDPM = "bdpm"
    EXPECTED = "expected"


def counts_for(
    method: Method, kernel: Kernel, slices: tuple[Slice, ...], expected: ExecutionProfile, threshold: float
) -> ExecutionProfile:
    """The counts that `method` makes of the expected ones; `threshold` is δ in [0, 1).

    For BSPM give those without a profile: it needs none, and what a profile never saw taken has no counts
    that could be raised.
    """
    if method is Method.EXPECTED:
        return expected
    taken = as_if_taken(kernel, expected)
    return taken if method is Method.BSPM else without_improbable(slices, taken, threshold)


DIVIDING = (0.02, 0.95)
"""An arm divides when its probability lies strictly between these."""


class BranchDensity(Struct, frozen=True):
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
    is_divided: dict[ArmChain | None, bool] = {None: False}
    for chain in links(statement.arms for statement in statements):
        divides = low < arm_probability(chain.arm, known, counts) < high
        is_divided[chain] = divides or is_divided[chain.around]
    divided = (s for s in statements if is_divided[s.arms])
    total = executed_length(statements, counts)
    return BranchDensity(executed_length(divided, counts) / total if total else 0.0, threshold)


class Attributed(Struct, frozen=True):
    """Who draws the watts of a launch: places of the source, and slices (as the features came)."""

    drawn: Attribution
    slices: tuple[SliceWatts, ...]


class MethodAnswers(Struct):
    """One launch that was counted, and the model's answers about it, each worked out once.

    `expected`: the counts with the best probabilities known, `work` and `features` what they make;
    `unprofiled` makes the counts without a profile. `variants`: what measured ones of the kernel taught.
    """

    launch: KernelLaunch
    resident: Residency
    slices: tuple[Slice, ...]
    expected: ExecutionProfile
    work: LaunchWork
    features: tuple[SliceFeatures, ...]
    unprofiled: Callable[[], ExecutionProfile]
    config: Config
    gpu: Gpu
    variants: OwnVariants | None = None
    _known: dict[Method, PowerAnswer] = field(default_factory=dict[Method, PowerAnswer])
    _asked: list[tuple[ExecutionProfile, PowerAnswer]] = field(
        default_factory=list[tuple[ExecutionProfile, PowerAnswer]]
    )

    def by(self, method: Method) -> PowerAnswer:
        """The answer by `method`. Where data decide nothing and nothing is dropped, all three are one."""
        known = self._known.get(method)
        if known is None:
            known = self._known[method] = self._answer(method)
        return known

    def _answer(self, method: Method) -> PowerAnswer:
        """Methods mostly count alike, and the model is asked once for the same counts."""
        if method is Method.BSPM and not arms_of_data(self.expected):
            return self.by(Method.EXPECTED)
        counts = self._counts(method)
        for known, found in self._asked:
            if (known.thread_counts, known.warp_counts) == (counts.thread_counts, counts.warp_counts):
                return found
        found = answer(self.question(counts))
        self._asked.append((counts, found))
        return found

    def attributed(self, method: Method) -> Attributed:
        """The watts by `method` told apart by the source, in the counts that it takes; empty when unknown."""
        found = self.by(method)
        power_w = found.watts.power_w
        if power_w is None:
            return Attributed(Attribution(None, ()), found.watts.slices)
        counts = self._counts(method)
        kernel, work = self.launch.kernel, self._work(counts)
        executed = parts(kernel, counts, work, self.resident.isa, self.gpu)
        drawn = attribute(executed, found.components, power_w, found.watts.static_w)
        limit_w = self.gpu.power_limit_w
        slices = found.watts.slices or slice_powers(
            self.slices, drawn, executed, found.utilisations, 2.0 * power_w if limit_w is None else limit_w
        )
        return Attributed(drawn, slices)

    def power_w(self, method: Method, expected: ExecutionProfile) -> float | None:
        """The watts by `method` if the expected counts were these; BSPM takes none that a profile made."""
        if method is Method.BSPM and self.config.facts.branch_profile is not None:
            return self.by(method).watts.power_w
        as_compiled = loop_trips(self.launch.kernel, self.expected)  # data move the counts, not the code
        return answer(self.question(self._made(method, expected), as_compiled)).watts.power_w

    def _counts(self, method: Method) -> ExecutionProfile:
        return self._made(method, self.unprofiled() if method is Method.BSPM else self.expected)

    def _made(self, method: Method, known: ExecutionProfile) -> ExecutionProfile:
        return counts_for(
            method, self.launch.kernel, self.slices, known, self.config.prediction.branch_threshold
        )

    def _work(self, counts: ExecutionProfile, trips: TripCounts | None = None) -> LaunchWork:
        if counts is self.expected:
            return self.work
        return launch_work(self.launch, self.resident, counts, trips)

    def question(self, counts: ExecutionProfile, trips: TripCounts | None = None) -> PowerQuestion:
        """What the model is asked about these counts; `trips`: those that the code is made for."""
        work, features = self._work(counts, trips), self.features
        if counts is not self.expected:
            factors = access_power_factors(self.gpu)
            features = slice_features(self.slices, counts, factors, self.resident.sm_saturation)
        return PowerQuestion(
            gpu=self.gpu,
            choice=self.config.prediction.model,
            clocks=self.config.clocks,
            features=features,
            counts=work.counts,
            workload=work.workload,
            cannot_run=self.resident.occupancy.failure,
            variants=self.variants,
        )
