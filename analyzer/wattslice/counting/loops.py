"""Execution of loops: closed forms where the counter is simple, evaluation where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattslice import ir
from wattslice.counting.counted_loops import run_counted
from wattslice.counting.loop_trips import known_trips
from wattslice.counting.masks import Mask
from wattslice.counting.state import LoopFrame, LoopTally
from wattslice.counting.stepped_loops import run_stepwise

if TYPE_CHECKING:
    from wattslice.counting.statements import Executor

ALLOWANCE = 12_000
"""Expression evaluations a kernel's loops may take before iterations are sampled."""


def run_loop(executor: Executor, loop: ir.Loop, mask: Mask) -> Mask:
    """Runs `loop` under `mask` and returns the lanes that go on behind it."""
    state = executor.state
    state.count(loop.region, mask)
    for stmt in loop.init:
        mask = executor.execute(stmt, mask)
    shape = state.shape(loop)
    trips, exact = known_trips(executor, loop, shape, mask)
    frame = LoopFrame(state.masks.none, state.masks.none)
    call = state.calls[-1]
    returned_before = call.returned
    state.loops.append(frame)
    call.loop_depth += 1
    if trips is not None:
        out = run_counted(executor, loop, shape, trips, mask, frame)
    else:
        out = run_stepwise(executor, loop, shape, mask, frame)
    call.loop_depth -= 1
    state.loops.pop()
    _tally(executor, loop, exact, mask)
    return mask if call.returned is returned_before else out


def _tally(executor: Executor, loop: ir.Loop, exact: bool, mask: Mask) -> None:
    tally = executor.state.loop_tallies.setdefault(loop.region, LoopTally(loop.span.line))
    tally.entries += mask.thread_mean
    tally.known = tally.known and exact
