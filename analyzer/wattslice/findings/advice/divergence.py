"""PW050: lanes of one warp go different ways, and the warp issues both while the other lanes idle.

Told of branches that thread indices and known values decide; of others nobody knows which lanes go together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.counting.profile import BranchArm, ProbabilitySource
from wattslice.counting.sampling import WARP_SIZE
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.ir.operation_counts import region_operations
from wattslice.power.paths import Path, paths
from wattslice.workload.instructions import lower_instructions

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
            yield facts.advice(
                "PW050",
                span,
                message,
                _fix(facts, arms),
                stake,
            )


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
    for path in paths(facts.kernel):
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
            for region in path.regions
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
    """Instructions per warp if the lanes that take an arm filled their warps as those that reach the
    branch do.
    """
    warps = list(facts.profile.warp_counts)
    for arm, path in ways:
        factor = _lanes(facts, arm.region) / _lanes(facts, branch.region)
        for region in path.regions:
            warps[region] = max(warps[region] * factor, facts.profile.thread_counts[region])
    profile = replace(facts.profile, warp_counts=tuple(warps))
    mix = lower_instructions(facts.kernel, profile, facts.resident.isa)
    return sum(entry.number for entry in mix.per_warp)
