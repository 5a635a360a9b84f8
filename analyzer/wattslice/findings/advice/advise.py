"""All rules that advise, asked one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wattslice.analysis import Advice
from wattslice.findings.advice.atomics import contended_atomics
from wattslice.findings.advice.banks import serialised
from wattslice.findings.advice.coalescing import uncoalesced
from wattslice.findings.advice.divergence import divergent_branches
from wattslice.findings.advice.divisions import replaceable
from wattslice.findings.advice.doubles import doubles
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.findings.advice.hot_line import hot_line
from wattslice.findings.advice.latency import low_occupancy
from wattslice.findings.advice.local_arrays import local_arrays
from wattslice.findings.advice.loop_memory import repeated_accesses
from wattslice.findings.advice.saturation import idle_sms

AdviceRule = Callable[[LaunchFacts], Iterator[Advice]]

ADVICE_RULES: tuple[AdviceRule, ...] = (
    hot_line,
    uncoalesced,
    serialised,
    idle_sms,
    low_occupancy,
    doubles,
    replaceable,
    divergent_branches,
    local_arrays,
    contended_atomics,
    repeated_accesses,
)


def advise(facts: LaunchFacts) -> tuple[Advice, ...]:
    """What every rule has to say about one launch, most joules first, what has none last."""
    if facts.work.workload is None:
        return ()
    found = [advice for rule in ADVICE_RULES for advice in rule(facts)]
    return tuple(sorted(found, key=lambda one: (-(one.energy_j or 0.0), one.line, one.rule)))
