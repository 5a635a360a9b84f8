"""PW043: SMs without a block draw power while the others work: too few blocks, or a last round that is not
full.

The busiest SM gets ceil(blocks / SMs) blocks and sets the time. At stake is what the same total work would
save dealt out evenly: as many blocks for each SM, each with its part of the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace

from wattslice.analysis import Advice
from wattslice.findings.advice.facts import LaunchFacts
from wattslice_models.workload import Instructions, Workload

_NOT_WORK = frozenset(
    {
        "blocks",
        "threads_per_block",
        "active_warps_per_sm",
        "instructions",
        "loads_in_flight",
        "footprint_bytes",
        "live_operands",
        "live_data",
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
        numbers = {
            field.name: getattr(part, field.name) for field in fields(part) if field.name not in _NOT_WORK
        }
        return {name: number * share for name, number in numbers.items() if number is not None}

    instructions = replace(workload.instructions, **scaled(workload.instructions))
    return replace(workload, blocks=blocks, instructions=instructions, **scaled(workload))  # pyright: ignore[reportArgumentType]
