"""Execution of loops: closed forms where the counter is simple, evaluation where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattslice import ir
from wattslice.counting.counted_loops import run_counted
from wattslice.counting.loop_shape import LoopShape
from wattslice.counting.loop_steps import unknown_like
from wattslice.counting.loop_trips import known_trips
from wattslice.counting.sampling import Mask
from wattslice.counting.state import LoopFrame, LoopTally
from wattslice.counting.stepped_loops import run_stepwise
from wattslice.counting.values import VARYING, Pointer, Value, select

if TYPE_CHECKING:
    from wattslice.counting.statements import Executor

ALLOWANCE = 30_000
"""Expression evaluations a kernel's loops may take before iterations are sampled."""


def run_loop(executor: Executor, loop: ir.Loop, mask: Mask) -> Mask:
    """Runs `loop` under `mask` and returns the lanes that go on behind it."""
    state = executor.state
    state.count(loop.region, mask)
    entering, hidden = mask, _hide_old_counters(executor, loop, mask)
    for stmt in loop.init:
        mask = executor.execute(stmt, mask)
    shape = state.shape(loop)
    trips, exact = known_trips(executor, loop, shape, mask)
    frame = LoopFrame(state.masks.none, state.masks.none)
    around = [(outer, outer.broken) for outer in state.loops]
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
    if frame.data_leave or not exact:
        _forget_the_end(executor, shape, together=frame.data_leave == {True})
    for variable, old in hidden:
        state.environment[variable] = select(entering.active, state.environment.get(variable, old), old)
    _tally(executor, loop, exact, mask)
    is_left = call.returned is not returned_before or any(f.broken is not before for f, before in around)
    return out if is_left else mask


def _forget_the_end(executor: Executor, shape: LoopShape, *, together: bool) -> None:
    """What a loop leaves in its registers is unknown when it only was assumed to run to its end."""
    environment = executor.state.environment
    for key in {*shape.assigned, *(induction.variable for induction in shape.inductions)}:
        value = environment.get(key)
        if together and value is not None:
            environment[key] = unknown_like(value)
        elif value is not None:
            environment[key] = Pointer(value.root, VARYING) if isinstance(value, Pointer) else VARYING


def _hide_old_counters(
    executor: Executor, loop: ir.Loop, mask: Mask
) -> tuple[tuple[ir.Variable, Value], ...]:
    """Takes out the values, to be given back, that lanes outside of this loop hold in what its init sets.

    `int i; if (c) for (i = 0; ...)`: where those lanes' `i` is unknown it would make the counter unknown in
    here, although only lanes of `mask` run in here.
    """
    state = executor.state
    if mask.lanes_active >= state.live.lanes_active:
        return ()
    hidden: list[tuple[ir.Variable, Value]] = []
    for stmt in loop.init:
        match stmt:
            case ir.ExprStmt(
                expr=ir.Assign(target=ir.RegisterPlace(variable=variable, path=()), op=None) as set_
            ):
                reads = (e.place.variable for e in ir.walk_expressions(set_.value) if isinstance(e, ir.Read))
                if variable not in reads and (old := state.environment.pop(variable, None)) is not None:
                    hidden.append((variable, old))
            case _:
                pass
    return tuple(hidden)


def _tally(executor: Executor, loop: ir.Loop, exact: bool, mask: Mask) -> None:
    tally = executor.state.loop_tallies.setdefault(loop.region, LoopTally(loop.span))
    tally.entries += mask.thread_mean
    tally.known = tally.known and exact
