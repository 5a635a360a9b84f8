"""All rules that advise, asked one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wattslice.analysis import Advice
from wattslice.findings.advice.arithmetic import doubles, replaceable
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.findings.advice.launches import divergent_branches, hot_line, idle_sms, low_occupancy
from wattslice.findings.advice.loop_memory import repeated_accesses
from wattslice.findings.advice.memory import contended_atomics, local_arrays, serialised, uncoalesced

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
