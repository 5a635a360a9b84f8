"""Features of slices: what every power model may look at, one frozen record per slice.

All counts are means per launched thread, so that one kernel's slices can be added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from wattslice import ir
from wattslice.counting.profile import KNOWN_TO_LANES, BranchArm, ExecutionProfile
from wattslice.ir.operation_counts import SPACE_OF, OperationCounts, weighted_counts
from wattslice.slicing.slices import Slice
from wattslice.slicing.statements import Arm, ArmChain, LogicalStatement, StatementKind, links
from wattslice_models.program_power import SubSlice, arithmetic_density, normalised_accesses
from wattslice_models.types import AccessCounts, PowerFactors


class SliceFeatures(Struct, frozen=True):
    """What one slice does for one launch (Wang & Chen 2013, section 2.3 and Def. 5), per launched thread.

    `length` |C_i|: executed effective logical statements, each times its count (Def. 5 with Algorithm 1);
    `static_length`: each once (Algorithm 3 as printed), the "code lines" of the wavelet network.
    `compute_ops` N_a; `memory_ops_weighted` N_mem of (1); `arithmetic_density` Ã of (2), None if N_mem is 0.
    `sm_saturation` Sa of Def. 4. `bytes_accessed`: bytes that the slice's loads and stores name, caches and
    coalescing aside; None when the size of an accessed object is unknown. `probability`: how probably a
    thread reaches the slice's most probable access. `sub_slices`: by chain of branch arms, for BDPM.
    """

    memory_space: ir.MemorySpace
    variables: tuple[str, ...]
    lines: tuple[int, ...]
    length: float
    static_length: int
    counts: OperationCounts
    accesses: AccessCounts
    compute_ops: float
    memory_ops_weighted: float
    arithmetic_density: float | None
    sm_saturation: float
    bytes_accessed: float | None
    probability: float
    sub_slices: tuple[SubSlice, ...]


def slice_features(
    slices: tuple[Slice, ...], profile: ExecutionProfile, factors: PowerFactors, sm_saturation: float
) -> tuple[SliceFeatures, ...]:
    """The features of each slice of one kernel, in the order given; `sm_saturation` in [0, 1]."""
    arms = {arm.region: arm for arm in profile.arms}
    return tuple(_features(part, profile, arms, factors, sm_saturation) for part in slices)


def without_improbable(
    slices: tuple[Slice, ...], profile: ExecutionProfile, threshold: float
) -> ExecutionProfile:
    """`profile` without the sub-slices that execute with a probability up to `threshold` δ (Def. 7); itself
    where there are none. What thread indices decide is known to happen: no chance, however rare.
    """
    arms = {arm.region: arm for arm in profile.arms if arm.source not in KNOWN_TO_LANES}
    chains = dict.fromkeys(statement.arms for part in slices for statement in part.statements)
    probabilities = _probabilities(chains, arms, profile.thread_counts, listed_only=True)
    dropped = {chain for chain in chains if probabilities[chain] <= threshold}
    if not dropped:
        return profile
    regions = {s.region for part in slices for s in part.statements if s.arms in dropped}
    threads, warps = list(profile.thread_counts), list(profile.warp_counts)
    for region in regions:
        threads[region] = warps[region] = 0.0
    return profile.with_counts(threads, warps)


def _probabilities(
    chains: Iterable[ArmChain | None],
    arms: dict[int, BranchArm],
    thread_counts: tuple[float, ...],
    *,
    listed_only: bool = False,
) -> dict[ArmChain | None, float]:
    """Probability that control takes every arm of each of `chains`: the product, by the chain rule.

    `listed_only`: of those in `arms`. Each factor is per visit of its branch, that is, given that control got
    there; no independence is assumed.
    """
    found: dict[ArmChain | None, float] = {None: 1}
    for chain in links(chains):
        is_left_out = listed_only and chain.arm.region not in arms
        factor = 1.0 if is_left_out else arm_probability(chain.arm, arms, thread_counts)
        found[chain] = found[chain.around] * factor
    return found


def arm_probability(arm: Arm, arms: dict[int, BranchArm], thread_counts: tuple[float, ...]) -> float:
    """Probability that a visit of its branch takes `arm`. One that is not in `arms`, which the profile lists,
    has the share of its visits among those of its branch.
    """
    if arm.region in arms:
        taken = arms[arm.region].probability
    else:
        visits = thread_counts[arm.of_region]
        taken = min(1.0, thread_counts[arm.region] / visits) if visits else 0.0
    return 1.0 - taken if arm.negated else taken


def _features(
    part: Slice,
    profile: ExecutionProfile,
    arms: dict[int, BranchArm],
    factors: PowerFactors,
    sm_saturation: float,
) -> SliceFeatures:
    runs = profile.thread_counts
    statements = part.statements
    counts = _counts(statements, runs)
    accesses = access_counts(statements, runs)
    n_mem = normalised_accesses(accesses, factors)
    chains: dict[ArmChain | None, list[LogicalStatement]] = {}
    for statement in statements:
        chains.setdefault(statement.arms, []).append(statement)
    probabilities = _probabilities(chains, arms, runs)
    reaching = [s for s in statements if s.kind is StatementKind.ACCESS] or statements
    only = len(chains) == 1  # then the one sub-slice is the slice
    length = executed_length(statements, runs)
    return SliceFeatures(
        memory_space=part.memory_space,
        variables=part.variables,
        lines=part.lines,
        length=length,
        static_length=sum(statement.is_effective for statement in statements),
        counts=counts,
        accesses=accesses,
        compute_ops=counts.compute,
        memory_ops_weighted=n_mem,
        arithmetic_density=arithmetic_density(counts.compute, n_mem).value,
        sm_saturation=sm_saturation,
        bytes_accessed=_bytes(statements, runs),
        probability=max((probabilities[s.arms] for s in reaching), default=0.0),
        sub_slices=tuple(
            SubSlice(
                length=length if only else executed_length(members, runs),
                probability=min(1.0, max(0.0, probabilities[chain])),
                arithmetic_operations=(counts if only else _counts(members, runs)).compute,
                normalised_accesses=n_mem
                if only
                else normalised_accesses(access_counts(members, runs), factors),
            )
            for chain, members in chains.items()
        ),
    )


def executed_length(statements: Iterable[LogicalStatement], thread_counts: tuple[float, ...]) -> float:
    """|C_i|: effective logical statements, each as often as it executes (Def. 5 with Algorithm 1)."""
    return math.fsum(thread_counts[s.region] for s in statements if s.is_effective)


def access_counts(statements: Iterable[LogicalStatement], thread_counts: tuple[float, ...]) -> AccessCounts:
    """n_i of eq. (1): executed accesses by memory space; an atomic counts in the space it works on."""
    totals = dict.fromkeys(ir.MemorySpace, 0.0)
    for statement in statements:
        for one in statement.operations:
            space = SPACE_OF.get(one.operation)
            if one.operation is ir.OperationClass.ATOMIC:
                space = statement.space
            if space is not None:
                totals[space] += one.number * thread_counts[one.region]
    return AccessCounts(
        global_memory=totals[ir.MemorySpace.GLOBAL],
        shared_memory=totals[ir.MemorySpace.SHARED],
        constant_memory=totals[ir.MemorySpace.CONSTANT],
        texture_memory=totals[ir.MemorySpace.TEXTURE],
    )


def _counts(statements: Iterable[LogicalStatement], thread_counts: tuple[float, ...]) -> OperationCounts:
    return weighted_counts((operation for s in statements for operation in s.operations), thread_counts)


def _bytes(statements: Iterable[LogicalStatement], thread_counts: tuple[float, ...]) -> float | None:
    total = 0.0
    for statement in statements:
        if statement.kind is not StatementKind.ACCESS:
            continue
        if statement.access_bytes == 0:
            return None
        total += statement.access_bytes * thread_counts[statement.region]
    return total
