"""What a check knows of one launch, and the one place that asks the model again with a cost removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.analysis import Advice, LineHeat
from wattslice.config.options import ModelChoice
from wattslice.counting.profile import ExecutionProfile, SiteStatistics
from wattslice.counting.sampling import WARP_SIZE
from wattslice.findings.quoting import Quoter
from wattslice.ir.accesses import MemoryAccess, register_assignments, value_parts
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import KernelLaunch, LaunchSource
from wattslice.patterns import regex
from wattslice.power.answer import PowerAnswer, PowerQuestion, answer
from wattslice.workload.instructions.statements import RequestCount, lower_instructions
from wattslice.workload.launch_work import (
    PIPE_OF,
    LaunchWork,
    Residency,
    instructions_by_pipe,
    launch_work,
    resident_traffic,
)
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Workload

LEAST_SHARE = 0.05
"""Of the kernel's joules: what costs less is not worth anybody's time. Chosen before a file was looked at."""
COSTLY_SHARE = 0.10
"""From this share on what is certain is a warning, below it a note."""

_MOST_LATENCY = 4.0
"""Of an instruction that may be spared, in those of a single fp32 operation."""
_BULK = regex(r"_matrix_sync|mem(cpy|move|set)")


class Stake(Struct, frozen=True):
    """How much lower power and energy would be; `share` of the energy, of the time where the power is
    unknown.

    `power_w` None: the model knows nothing of what was removed, or no model speaks for the GPU.
    """

    power_w: float | None
    energy_j: float | None
    share: float

    @property
    def is_worth_telling(self) -> bool:
        """Whether enough is at stake."""
        return self.share >= LEAST_SHARE


class LaunchFacts(Struct, frozen=True):
    """One launch that was counted and predicted. `found`: the model's answer about the expected counts."""

    launch: KernelLaunch
    resident: Residency
    profile: ExecutionProfile
    work: LaunchWork
    question: PowerQuestion
    found: PowerAnswer
    hot_lines: tuple[LineHeat, ...]
    quoter: Quoter

    @property
    def kernel(self) -> ir.Kernel:
        """The kernel launched."""
        return self.launch.kernel

    @property
    def gpu(self) -> Gpu:
        """The GPU predicted for."""
        return self.question.gpu

    @property
    def workload(self) -> Workload:
        """What the launch does. Raises ``ValueError`` for one that cannot run."""
        if self.work.workload is None:
            raise ValueError("a launch that cannot run has no workload")
        return self.work.workload

    def stake(self, workload: Workload, counts: OperationCounts | None = None) -> Stake:
        """What is at stake between this launch and the same one doing `workload` instead.

        Models of slices see neither bytes nor instructions: their watts stay, the time model's seconds fall.
        """
        counts = self.work.counts if counts is None else counts
        other = answer(replace(self.question, workload=workload, counts=counts))
        before_w, after_w = self.found.watts.power_w, other.watts.power_w
        before_s, after_s = self.found.time_s or 0.0, other.time_s or 0.0
        if before_w is None or after_w is None or not before_s:
            return Stake(None, None, 1.0 - after_s / before_s if before_s else 0.0)
        before_j, after_j = before_w * before_s, after_w * after_s
        is_told = self.found.model == ModelChoice.ENERGY.value
        return Stake(before_w - after_w if is_told else None, before_j - after_j, 1.0 - after_j / before_j)

    def is_worth_sparing(self, spared: Mapping[str, float]) -> bool:
        """Whether enough would be at stake if so many instructions per thread, by kind, were not executed.

        An upper bound of what `stake_if` tells, for the price of asking the model: nothing may be shared.
        """
        done, total = self.workload.instructions, self.work.instructions.total
        less: dict[str, float] = {}
        for kind, number in spared.items():
            pipe = PIPE_OF.get(kind, "other")
            now: float = getattr(done, pipe)
            less[pipe] = max(0.0, less.get(pipe, now) - number)
        rest = max(0.0, 1.0 - sum(spared.values()) / total) if total else 1.0
        issued = self.workload.issue_slots_per_warp * rest
        waiting = self.workload.dependent_instructions
        return self.stake(
            replace(
                self.workload,
                instructions=replace(done, **less),
                warp_instructions=issued,
                dependent_instructions=None
                if waiting is None
                else max(0.0, waiting - _MOST_LATENCY * sum(spared.values())),
            )
        ).is_worth_telling

    def with_sites(self, changed: dict[int, SiteStatistics], *, alone: bool = False) -> Workload:
        """The workload if the accesses at these sites behaved so; `alone`: each with sectors of its own."""
        sites = tuple(changed.get(site, known) for site, known in enumerate(self.profile.sites))
        profile = replace(self.profile, sites=sites)
        requests = self.work.instructions.requests
        requests = tuple(
            replace(one, fresh=1.0) if alone and one.site in changed else one for one in requests
        )
        moved = resident_traffic(self.launch, self.resident, profile, requests)
        return replace(
            self.workload,
            l1_bytes=moved.l1_bytes,
            l2_bytes=moved.l2_bytes,
            dram_bytes=moved.dram_bytes,
            dram_rows=moved.dram_rows,
            shared_passes=moved.shared_passes,
            constant_requests=moved.constant_requests,
            constant_misses=moved.constant_misses,
            atomic_requests=moved.atomic_requests,
            atomic_line_requests=moved.atomic_line_requests,
            l1_passes=moved.l1_passes,
            footprint_bytes=moved.footprint_bytes,
        )

    def stake_if(self, kernel: ir.Kernel) -> Stake | None:
        """What is at stake if the kernel were written so, with the same regions and sites; None: cannot run.

        Lowers the kernel again, which costs a tenth of an analysis: for candidates that look worth it.
        """
        work = launch_work(replace(self.launch, kernel=kernel), self.resident, self.profile)
        return None if work.workload is None else self.stake(work.workload, work.counts)

    def stake_if_computed(self, kernel: ir.Kernel) -> Stake:
        """The same where `kernel` differs in arithmetic only, for less: what it does in memory stays."""
        mix = lower_instructions(kernel, self.profile, self.resident.isa)
        workload = replace(
            self.workload,
            instructions=instructions_by_pipe(mix, self.work.counts),
            warp_instructions=sum(entry.number for entry in mix.per_warp),
            dependent_instructions=mix.chain.arithmetic,
            dependent_shared=mix.chain.shared,
        )
        return self.stake(workload)

    def is_bulk(self, access: MemoryAccess) -> bool:
        """Whether a library call makes the access for the whole warp: who touches what is its business."""
        return _BULK.search(self.text(access.span)) is not None

    def text(self, span: ir.Span) -> str:
        """The source line where `span` starts."""
        return self.quoter.line(span.file, span.line)

    def advice(
        self,
        rule: str,
        span: ir.Span,
        message: str,
        fix: str,
        stake: Stake | None,
        *,
        is_certain: bool = True,
        also: Iterable[ir.Span] = (),
    ) -> Advice:
        """The finding; a warning when it is certain and costly. `also`: where else it holds, or `span`."""
        costly = stake is not None and stake.share >= COSTLY_SHARE
        return Advice(
            rule,
            span.line,
            message,
            fix,
            None if stake is None else stake.power_w,
            None if stake is None else stake.energy_j,
            "" if span.file == self.kernel.span.file else span.file,
            ir.Severity.WARNING if is_certain and costly else ir.Severity.NOTE,
            tuple(sorted({one.line for one in also if one.file == span.file} - {span.line})),
        )

    @property
    def knows_lanes(self) -> bool:
        """Whether it is known which threads make a warp: without a launch the block is a guess."""
        return (
            self.launch.line is not None
            or self.launch.source is not LaunchSource.ASSUMED
            or not any(
                isinstance(node, ir.Builtin) and node.kind is ir.BuiltinKind.THREAD_IDX and node.axis
                for node in ir.expressions_below(self.kernel.body)
            )
        )

    @property
    def is_given(self) -> bool:
        """Whether the source gives grid, block and arguments, without a variable whose value is assumed."""
        return self.launch.source is not LaunchSource.ASSUMED and not self.launch.assumed_variables

    def rests_on_guess(self, expressions: tuple[ir.Expr, ...]) -> bool:
        """Whether `expressions` may be computed from a parameter whose value may have been assumed."""
        guessed = {
            parameter
            for parameter, value in zip(self.kernel.parameters, self.launch.arguments, strict=True)
            if parameter.type.is_integral and (value is None or not self.is_given)
        }
        return bool(guessed) and not guessed.isdisjoint(variables_behind(self.kernel, expressions))


def lanes_of(made: RequestCount) -> float:
    """Lanes that take part in a request, on average."""
    return WARP_SIZE * made.per_thread / made.per_warp


def name_of(access: MemoryAccess) -> str:
    """The accessed object as messages name it."""
    return f"'{access.root.name}'" if access.root is not None and access.root.name else "memory"


def variables_behind(kernel: ir.Kernel, expressions: tuple[ir.Expr, ...]) -> frozenset[ir.Variable]:
    """Registers that the values of `expressions` may be computed from, flows followed in any order."""
    flows = _flows(kernel)
    found: set[ir.Variable] = set()
    stack = list(expressions)
    while stack:
        for node in value_parts(stack.pop()):
            if isinstance(node, ir.Read) and node.place.variable not in found:
                found.add(node.place.variable)
                stack.extend(flows.get(node.place.variable, ()))
    return frozenset(found)


@lru_cache(maxsize=4)
def _flows(kernel: ir.Kernel) -> dict[ir.Variable, list[ir.Expr]]:
    """The values that each register is given."""
    found: dict[ir.Variable, list[ir.Expr]] = {}
    for target, value in register_assignments(kernel.body):
        found.setdefault(target, []).append(value)
    return found
