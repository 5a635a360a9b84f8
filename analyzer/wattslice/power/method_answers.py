"""The watts of one launch by each method: which counts a method takes, and what the model says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from wattslice.config.config import Config
from wattslice.counting.profile import ExecutionProfile
from wattslice.launches.launch import KernelLaunch
from wattslice.power.answer import PowerAnswer, PowerQuestion, answer
from wattslice.power.methods import Method, counts_for
from wattslice.power.paths import arms_of_data
from wattslice.slicing.features import SliceFeatures, slice_features
from wattslice.slicing.slices import Slice
from wattslice.workload.launch_work import LaunchWork, Residency, launch_work
from wattslice_models.access_power import access_power_factors
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import Gpu


@dataclass(slots=True)
class MethodAnswers:
    """One launch that was counted, and the model's answers about it, each worked out once.

    `expected`: the counts with the best probabilities known, `work` and `features` what they make;
    `unprofiled` makes the counts without a profile.
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
        found = self._ask(counts)
        self._asked.append((counts, found))
        return found

    def power_w(self, method: Method, expected: ExecutionProfile) -> float | None:
        """The watts by `method` if the expected counts were these; BSPM takes none that a profile made."""
        if method is Method.BSPM and self.config.branch_profile is not None:
            return self.by(method).watts.power_w
        return self._ask(self._made(method, expected)).watts.power_w

    def _counts(self, method: Method) -> ExecutionProfile:
        return self._made(method, self.unprofiled() if method is Method.BSPM else self.expected)

    def _made(self, method: Method, known: ExecutionProfile) -> ExecutionProfile:
        return counts_for(method, self.launch.kernel, self.slices, known, self.config.branch_threshold)

    def _ask(self, counts: ExecutionProfile) -> PowerAnswer:
        return answer(self.question(counts))

    def question(self, counts: ExecutionProfile) -> PowerQuestion:
        """What the model is asked about these counts."""
        work, features = self.work, self.features
        if counts is not self.expected:
            work = launch_work(self.launch, self.resident, counts)
            factors = access_power_factors(self.gpu)
            features = slice_features(self.slices, counts, factors, self.resident.sm_saturation)
        return PowerQuestion(
            gpu=self.gpu,
            choice=self.config.model,
            clocks=Clocks(self.config.core_clock_mhz, self.config.memory_clock_mhz),
            features=features,
            counts=work.counts,
            workload=work.workload,
            cannot_run=self.resident.occupancy.failure,
        )
