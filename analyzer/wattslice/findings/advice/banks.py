"""PW042, PW055: requests of a warp that shared or constant memory serves piece by piece.

Shared memory hands out one word of each bank at a time. Lanes that read the same word share it (a
broadcast). Accesses of 8 and 16 bytes are served in two and four parts without any conflict: only what
comes on top counts. Constant memory hands out one word at a time, to all lanes that want it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.counting.sites import BANK_BYTES, BANKS
from wattslice.findings.advice.facts import LaunchFacts, name_of
from wattslice.ir.accesses import MemoryAccess, memory_accesses
from wattslice.workload.instructions.mix import RequestCount
from wattslice.workload.traffic import made_accesses

LEAST_WAYS = 2.0
"""Passes per request, on average over all requests of an access, from which on it is told."""

_RULES = {ir.MemorySpace.SHARED: "PW042", ir.MemorySpace.CONSTANT: "PW055"}


def serialised(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each array, at the access with most passes to spare."""
    if not facts.knows_lanes:
        return
    arrays: dict[object, list[tuple[MemoryAccess, float]]] = {}
    for access, made in made_accesses(facts.launch, facts.profile, facts.work.instructions.requests):
        ways = facts.profile.sites[access.site].bank_passes
        if access.space not in _RULES or access.is_atomic or ways is None or ways < LEAST_WAYS:
            continue
        if not (
            facts.is_bulk(access) or facts.rests_on_guess(access.addresses) or _is_merged(facts, access, made)
        ):
            key = access.root if access.root is not None else access.site
            arrays.setdefault(key, []).append((access, made.per_warp * (ways - 1.0)))
    for found in arrays.values():
        changed = {one.site: replace(facts.profile.sites[one.site], bank_passes=1.0) for one, _ in found}
        stake = facts.stake(facts.with_sites(changed))
        if stake.is_worth_telling:
            access, _ = max(found, key=lambda one: one[1])
            message, also = _message(facts, access), [one.span for one, _ in found]
            yield facts.advice(_RULES[access.space], access.span, message, _fix(access), stake, also=also)


def _is_merged(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> bool:
    """Whether the compiler may make one wide access of this one and its neighbours.

    nvcc 13 does so in shared memory wherever alignment allows (seen in its SASS): `s[2 * t]` and `s[2
    * t + 1]`, the members of a structure, the copies of an unrolled loop.
    """
    statistics, runs = facts.profile.sites[access.site], facts.profile.thread_counts[access.region]
    share = made.per_thread / runs if runs else 1.0
    if any(abs(share - merged) < 0.01 for merged in (1 / 2, 1 / 4)):
        return True
    for other in memory_accesses(facts.kernel):
        together = facts.profile.thread_counts[other.region] == runs  # each statement is a region of its own
        if other.root is access.root and other.is_store is access.is_store and together:
            known = facts.profile.sites[other.site]
            if statistics.block_reach is None or known.block_reach is None:
                continue
            apart = abs(known.block_reach.low[0] - statistics.block_reach.low[0])
            if apart == statistics.access_bytes == known.access_bytes < 16:
                return True
    return False


def _message(facts: LaunchFacts, access: MemoryAccess) -> str:
    ways = facts.profile.sites[access.site].bank_passes or 1.0
    if access.space is ir.MemorySpace.CONSTANT:
        return (
            f"the lanes of a warp read {ways:.3g} different words of {name_of(access)}, one after the other"
        )
    verb = "store to" if access.is_store else "load from"
    return f"a warp's {verb} {name_of(access)} takes {ways:.3g} passes for bank conflicts"


def _fix(access: MemoryAccess) -> str:
    root = access.root
    if access.space is ir.MemorySpace.CONSTANT:
        return "keep it in shared or global memory where each lane reads a word of its own"
    row = root.type.element if root is not None else None
    if root is not None and row is not None and row.kind is ir.TypeKind.ARRAY and row.length:
        while row.element is not None and row.element.kind is ir.TypeKind.ARRAY:
            row = row.element
        if row.size_bytes % (BANKS * BANK_BYTES // 4) == 0:
            return f"pad the rows of '{root.name}': {(row.length or 0) + 1} elements in place of {row.length}"
    return "pad the array, or let neighbouring threads access neighbouring words"
