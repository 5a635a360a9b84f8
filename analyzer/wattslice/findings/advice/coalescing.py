"""PW041: the lanes of a warp touch far-apart places of global memory: whole sectors move for a few bytes.

Told only where thread indices and known values decide the address: a stride that was assumed tells
nothing. A request is judged by its 32-byte sectors against the fewest that could hold what all its lanes
access, taking part or not (data may decide that), all of it distinct: a broadcast needs less than that and
is never told. Members of vector types (`float4 v; v.x`) are left out: the compiler merges their loads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.counting.profile import SiteStatistics
from wattslice.counting.sampling import WARP_SIZE
from wattslice.counting.sites import SECTOR_BYTES
from wattslice.findings.advice.facts import LaunchFacts, lanes_of, name_of
from wattslice.ir.accesses import MemoryAccess
from wattslice.workload.instructions.mix import RequestCount
from wattslice.workload.traffic import made_accesses

LEAST_TIMES = 2.0
"""Times the sectors needed, from which on an access is uncoalesced: misalignment alone costs 1.25."""
LEAST_LANES = 2.0
"""Lanes per request below which there is nothing to coalesce."""

_Found = tuple[MemoryAccess, RequestCount, float]


def uncoalesced(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each array, at the access that moves most."""
    arrays: dict[object, list[_Found]] = {}
    if not facts.knows_lanes:
        return
    for access, made in made_accesses(facts.launch, facts.profile, facts.work.instructions.requests):
        times = _times(facts, access, made)
        if times >= LEAST_TIMES:
            key = access.root if access.root is not None else access.site
            arrays.setdefault(key, []).append((access, made, times))
    for found in arrays.values():
        changed = {access.site: _coalesced(facts, access) for access, _, _ in found}
        stake = facts.stake(facts.with_sites(changed))
        if stake.is_worth_telling:
            worst = max(found, key=lambda one: one[1].per_warp * one[2])
            access, made, times = worst
            yield facts.advice(
                "PW041",
                access.span,
                _message(facts, worst),
                "let neighbouring threads access neighbouring elements, or stage a tile in shared memory",
                stake,
                also=[one[0].span for one in found],
            )


def _times(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> float:
    """Sectors per request over those needed; 0 where that is not known or does not matter."""
    statistics = facts.profile.sites[access.site]
    sectors, lanes = statistics.sectors_per_request, lanes_of(made)
    if (
        access.space is not ir.MemorySpace.GLOBAL
        or access.is_atomic
        or sectors is None
        or lanes < LEAST_LANES
    ):
        return 0.0
    if _is_vector_member(access, statistics.access_bytes) or facts.is_bulk(access):
        return 0.0
    times = sectors / _needed(facts, statistics.access_bytes)
    if times < LEAST_TIMES or facts.rests_on_guess(access.addresses) or _is_made_up(facts, access):
        return 0.0
    return times


def _needed(facts: LaunchFacts, access_bytes: int) -> float:
    lanes = min(WARP_SIZE, facts.launch.threads_per_block)
    return max(1.0, math.ceil(lanes * access_bytes / SECTOR_BYTES))


def _coalesced(facts: LaunchFacts, access: MemoryAccess) -> SiteStatistics:
    statistics = facts.profile.sites[access.site]
    return replace(statistics, sectors_per_request=_needed(facts, statistics.access_bytes))


def _is_made_up(facts: LaunchFacts, access: MemoryAccess) -> bool:
    """Whether the type of the elements, and so their size, may be made up: an unread name becomes `int`."""
    if access.root is None:
        return False
    type_ = access.root.type.element or access.root.type
    is_int = type_.kind is ir.TypeKind.INT and type_.bits == 32
    return not type_.size_bytes or (is_int and "int" not in facts.text(access.root.span))


def _is_vector_member(access: MemoryAccess, access_bytes: int) -> bool:
    """Whether this is `p[i].x` of an aligned vector type: the compiler loads the whole when more is
    needed.
    """
    element = access.root.type.element if access.root is not None else None
    return element is not None and element.lanes in (2, 4) and access_bytes < element.size_bytes


def _message(facts: LaunchFacts, found: _Found) -> str:
    access, made, times = found
    statistics = facts.profile.sites[access.site]
    sectors = statistics.sectors_per_request or 0.0
    needed = _needed(facts, statistics.access_bytes)
    moved = made.per_warp * facts.workload.warps * SECTOR_BYTES
    verb = "store to" if access.is_store else "load from"
    return (
        f"a warp's {verb} {name_of(access)} touches {sectors:.3g} sectors where {needed:.0f} would do: "
        f"{_bytes(moved * sectors)} move in place of {_bytes(moved * needed)}, "
        f"{times:.1f} times as much"
    )


def _bytes(number: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:.0f} B"
