"""Rules about the launch: PW040 (hot line), PW043 (idle SMs), PW044 (latency), PW050 (divergence).

PW043: SMs without a block draw power while the others work. The busiest SM gets ceil(blocks / SMs) blocks
and sets the time. At stake is what the same total work would save dealt out evenly: as many blocks for each
SM, each with its part of the work.

PW044: a kernel that waits more than it works, on an SM that could hold more warps to wait side by side. Told
only when the time model says that latency limits the kernel and that a full SM would be faster.

PW050: lanes of one warp go different ways, and the warp issues both while the other lanes idle. Told of
branches that thread indices and known values decide; of others nobody knows which lanes go together.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.counting.profile import BranchArm, ProbabilitySource
from wattslice.counting.sampling import WARP_SIZE
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.ir import Severity
from wattslice.ir.operation_counts import region_operations
from wattslice.power.paths import Path, paths
from wattslice.workload.instructions import lower_instructions
from wattslice.workload.occupancy import LimitingResource
from wattslice_models.execution_time import Resource
from wattslice_models.workload import Instructions, Workload

MOST_OF_IT = 0.75
"""Share of the watts of all operations."""
LEAST_LINES = 8
"""Lines that draw anything, below which it is no wonder."""
OF_THE_BOARD = 0.2
"""Share of the kernel's power that the line draws."""


def hot_line(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding. At stake is what the line draws, over the time of the launch."""
    lines, power_w, time_s = facts.hot_lines, facts.found.watts.power_w, facts.found.time_s
    if len(lines) < LEAST_LINES or power_w is None or time_s is None:
        return
    hottest = lines[0]
    if hottest.share < MOST_OF_IT or hottest.power_w < OF_THE_BOARD * power_w:
        return
    own = facts.kernel.span.file
    yield Advice(
        "PW040",
        hottest.line,
        f"this line draws {hottest.share:.0%} of what the {len(lines)} lines of the kernel draw",
        "start here: what makes this line cheaper, or run less often, makes the kernel cheaper",
        hottest.power_w,
        hottest.power_w * time_s,
        "" if hottest.file == own else hottest.file,
        Severity.NOTE,
    )


_NOT_WORK = frozenset(
    {
        "blocks",
        "threads_per_block",
        "active_warps_per_sm",
        "instructions",
        "longest_warp",
        "kinds",
        "footprint_bytes",
        "live_operands",
        "live_data",
        "doubt",
    }
)
"""Fields of a workload that are no work per thread or warp."""


def idle_sms(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding, for launches whose geometry the source gives."""
    launch, sms = facts.launch, facts.gpu.sm_count
    if not facts.is_given:
        return
    rounds = -(-launch.blocks // sms)
    if launch.blocks == rounds * sms:
        return
    stake = facts.stake(dealt_evenly(facts.workload, rounds * sms))
    if not stake.is_worth_telling:
        return
    idle = 1.0 - launch.blocks / (rounds * sms)
    if rounds == 1:
        what = f"{launch.blocks} block{'s' * (launch.blocks > 1)} for {sms} SMs: {idle:.0%} of them idle"
        fix = f"launch {sms} blocks or more: smaller blocks, or a split of what each one does"
    else:
        what = f"{launch.blocks} blocks for {sms} SMs: some get {rounds}, others {rounds - 1}, "
        what += f"and wait {idle:.0%} of the time"
        fix = f"make the grid a multiple of {sms} blocks, or the blocks smaller"
    what += "; at stake is at most so much: what runs one after the other cannot be dealt out"
    where = facts.kernel.span
    yield facts.advice("PW043", where, what, fix, stake, is_certain=False)


def dealt_evenly(workload: Workload, blocks: int) -> Workload:
    """The same total work on `blocks` blocks."""
    share = workload.blocks / blocks

    def scaled(part: Workload | Instructions) -> dict[str, float]:
        numbers = {name: getattr(part, name) for name in part.__struct_fields__ if name not in _NOT_WORK}
        return {name: number * share for name, number in numbers.items() if number is not None}

    instructions = replace(workload.instructions, **scaled(workload.instructions))
    return replace(workload, blocks=blocks, instructions=instructions, **scaled(workload))  # pyright: ignore[reportArgumentType]


MOST_OCCUPANCY = 0.5
"""Above this occupancy more warps seldom help (CUDA C++ Best Practices Guide, section on occupancy)."""

_FIXES = {
    LimitingResource.REGISTERS: "fewer registers: __launch_bounds__ or -maxrregcount, shorter live ranges",
    LimitingResource.SHARED_MEMORY: "less shared memory per block",
    LimitingResource.BLOCKS: "more threads per block: the number of blocks on an SM is at its limit",
    LimitingResource.WARPS: "a block size that divides the threads that an SM holds",
}


def low_occupancy(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding."""
    held, gpu = facts.resident.occupancy, facts.gpu
    is_waiting = facts.found.limited_by == Resource.LATENCY.value
    at_once = gpu.sm_count * held.blocks_per_sm
    if (
        not facts.is_given
        or not is_waiting
        or held.occupancy > MOST_OCCUPANCY
        or facts.launch.blocks <= at_once
    ):
        return
    most = gpu.max_warps_per_sm // held.warps_per_block * held.warps_per_block
    stake = facts.stake(replace(facts.workload, active_warps_per_sm=most))
    if held.limited_by is None or not stake.is_worth_telling:
        return
    message = (
        f"waits for memory and results, with {held.active_warps_per_sm} of {gpu.max_warps_per_sm} warps "
        f"on an SM to wait side by side: limited by {held.limited_by.value}"
    )
    yield facts.advice("PW044", facts.kernel.span, message, _FIXES[held.limited_by], stake, is_certain=False)


LEAST_IDLE = 0.25
"""Share of the lanes that reach a branch and idle in its arm, from which on the arm is told."""
MOST_LOOKED_AT = 2
"""Branches of a kernel whose cost is worked out: those where most lanes idle."""


def divergent_branches(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each branch."""
    work = facts.workload
    together = replace(work, warp_instructions=work.instructions_per_thread)
    if not facts.knows_lanes:
        return
    if work.divergence < 1.0 + LEAST_IDLE / WARP_SIZE or not facts.stake(together).is_worth_telling:
        return
    for branch, ways in _ranked(facts)[:MOST_LOOKED_AT]:
        stake = facts.stake(replace(work, warp_instructions=_issued(facts, branch, ways)))
        if stake.is_worth_telling:
            arms = tuple(arm for arm, _ in ways)
            span = branch.span
            sides = "both ways" if len(ways) > 1 else "it"
            of = min(WARP_SIZE, facts.launch.threads_per_block)
            lanes = " and ".join(f"{of * _lanes(facts, arm.region):.3g}" for arm in arms)
            message = f"lanes of a warp part here: the warp issues {sides}, for {lanes} of its {of} lanes"
            yield facts.advice("PW050", span, message, _fix(facts, arms), stake)


def _fix(facts: LaunchFacts, arms: tuple[BranchArm, ...]) -> str:
    if len(arms) == 1 and _lanes(facts, arms[0].region) * WARP_SIZE < 2.0:
        return "let all lanes share this work, or leave it to the host or to a kernel of its own"
    return "let whole warps go one way: choose by warp (threadIdx.x / 32), or by a compact range of threads"


def _lanes(facts: LaunchFacts, region: int) -> float:
    warps = facts.profile.warp_counts[region]
    return facts.profile.thread_counts[region] / warps if warps else 1.0


def _ranked(facts: LaunchFacts) -> list[tuple[ir.If, tuple[tuple[BranchArm, Path], ...]]]:
    """Branches at which lanes part, those with most idle operations first."""
    static = {arm.region: arm for arm in facts.profile.arms if arm.source is ProbabilitySource.STATIC}
    of_branch: dict[int, list[tuple[BranchArm, Path]]] = {}
    for path in paths(facts.kernel).entries:
        arm = static.get(path.first_region)
        if arm is None or facts.profile.thread_counts[arm.region] <= 0.0:
            continue
        if _lanes(facts, arm.region) <= (1.0 - LEAST_IDLE) * _lanes(facts, path.of_region):
            of_branch.setdefault(path.of_region, []).append((arm, path))
    operations = region_operations(facts.kernel)
    threads, warps = facts.profile.thread_counts, facts.profile.warp_counts

    def idle(ways: list[tuple[BranchArm, Path]]) -> float:
        return sum(
            sum(operations[region].values()) * (warps[region] - threads[region])
            for _, path in ways
            for region in paths(facts.kernel).regions(path)
        )

    branches = {
        stmt.region: stmt for stmt in ir.walk_statements(facts.kernel.body) if isinstance(stmt, ir.If)
    }
    ranked = sorted(of_branch, key=lambda region: -idle(of_branch[region]))
    return [
        (branches[region], tuple(of_branch[region]))
        for region in ranked
        if region in branches and not facts.rests_on_guess((branches[region].condition,))
    ]


def _issued(facts: LaunchFacts, branch: ir.If, ways: tuple[tuple[BranchArm, Path], ...]) -> float:
    """Instructions per warp if the lanes of an arm filled their warps as those that reach the branch do."""
    warps = list(facts.profile.warp_counts)
    for arm, path in ways:
        factor = _lanes(facts, arm.region) / _lanes(facts, branch.region)
        for region in paths(facts.kernel).regions(path):
            warps[region] = max(warps[region] * factor, facts.profile.thread_counts[region])
    profile = replace(facts.profile, warp_counts=tuple(warps))
    mix = lower_instructions(facts.kernel, profile, facts.resident.isa)
    return sum(entry.number for entry in mix.per_warp)
