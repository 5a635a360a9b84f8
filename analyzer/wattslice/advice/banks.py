"""PW042: lanes of a warp need different words of one shared-memory bank, which come one after the other.

Lanes that read the same word share it (a broadcast). Accesses of 8 and 16 bytes are served in two and four
parts without any conflict: only what comes on top counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wattslice import ir
from wattslice.accesses import MemoryAccess
from wattslice.advice.facts import LaunchFacts, also_in, assuming, name_of
from wattslice.analysis import Advice
from wattslice.counting.access import BANK_BYTES, BANKS
from wattslice.traffic import made_accesses

LEAST_WAYS = 2.0
"""Passes per request, on average over all requests of an access, from which on it is told."""


def bank_conflicts(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each array, at the access with most passes to spare."""
    arrays: dict[object, list[tuple[MemoryAccess, float]]] = {}
    for access, made in made_accesses(facts.launch, facts.profile, facts.work.instructions.requests):
        ways = facts.profile.sites[access.site].bank_passes
        if access.space is ir.MemorySpace.SHARED and not access.is_atomic and ways and ways >= LEAST_WAYS:
            key = access.root if access.root is not None else access.site
            arrays.setdefault(key, []).append((access, made.per_warp * (ways - 1.0)))
    for found in arrays.values():
        changed = {one.site: replace(facts.profile.sites[one.site], bank_passes=1.0) for one, _ in found}
        stake = facts.stake(facts.with_sites(changed))
        if stake.is_worth_telling:
            access, _ = max(found, key=lambda one: one[1])
            ways = facts.profile.sites[access.site].bank_passes or 1.0
            names = facts.assumed_in(access.addresses)
            verb = "store to" if access.is_store else "load from"
            message = f"a warp's {verb} {name_of(access)} takes {ways:.3g} passes for bank conflicts{assuming(names)}"
            yield facts.advice(
                "PW042",
                access.span,
                message + also_in({one.span.line for one, _ in found}, access.span.line),
                _fix(access),
                stake,
                is_certain=not names,
            )


def _fix(access: MemoryAccess) -> str:
    root = access.root
    row = root.type.element if root is not None else None
    if root is not None and row is not None and row.kind is ir.TypeKind.ARRAY and row.length:
        while row.element is not None and row.element.kind is ir.TypeKind.ARRAY:
            row = row.element
        if row.size_bytes % (BANKS * BANK_BYTES // 4) == 0:
            return f"pad the rows of '{root.name}': {(row.length or 0) + 1} elements in place of {row.length}"
    return "pad the array, or let neighbouring threads access neighbouring words"
