"""PW052: all threads add floats to the same address, one after the other.

Integers are left out: nvcc makes one atomic per warp of them (seen in the SASS of nvcc 13: VOTE, POPC or
REDUX before RED), and for floats it does not. Nothing is at stake in numbers: the time model does not know
contention.
"""

from __future__ import annotations

from collections.abc import Iterator

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.findings.advice.facts import LaunchFacts, lanes_of, name_of
from wattslice.ir.walking import evaluations
from wattslice.workload.traffic import made_accesses

LEAST_LANES = 2.0
"""Lanes per request from which on they queue up: one per warp is what the remedy leaves."""
LEAST_SHARE = 0.002
"""Atomics among a kernel's instructions per warp; each lane's addition is served by itself."""


def contended_atomics(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each atomic."""
    floats = {
        node.place.site: node
        for node, _ in evaluations(facts.kernel)
        if isinstance(node, ir.Atomic)
        and node.type.is_float
        and node.op in (ir.AtomicOp.ADD, ir.AtomicOp.SUB)
    }
    if not floats:
        return
    for access, made in made_accesses(facts.launch, facts.profile, facts.work.instructions.requests):
        node, reach = floats.get(access.site), facts.profile.sites[access.site].block_reach
        if node is None or reach is None or reach.bytes > facts.profile.sites[access.site].access_bytes:
            continue
        lanes = lanes_of(made)
        if lanes < LEAST_LANES or made.per_thread < LEAST_SHARE * facts.work.instructions.total:
            continue
        yield facts.advice(
            "PW052",
            node.span,
            f"{lanes:.3g} lanes of each warp add to one address of {name_of(access)}, one after the other",
            "add up in the warp first (__shfl_down_sync, cg::reduce), and let one lane add the sum",
            None,
        )
