"""Execution of statements other than loops: branches, switches, calls, returns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from wattslice import ir
from wattslice.branch_profile.profile import arm_name
from wattslice.counting.compiled_code import usual_outcome
from wattslice.counting.loops import Loops
from wattslice.counting.profile import ProbabilitySource
from wattslice.counting.sampling import Mask
from wattslice.counting.state import CallFrame, Environment, LoopFrame, Meeting
from wattslice.counting.values import VARYING, Chance, Value, is_warp_uniform, join, scalar, select
from wattslice.ir.loops import written_below


class Executor(Loops):
    """Runs statements; every method returns the mask of the lanes that fall through."""

    def execute(self, stmt: ir.Stmt, mask: Mask) -> Mask:
        """Runs `stmt` under `mask`."""
        if mask.is_empty:
            return mask
        state = self.state
        state.spend()
        if not isinstance(stmt, ir.Loop):
            state.tallies.count(stmt.region, mask)
        if stmt in self.idle:
            return mask
        match stmt:
            case ir.ExprStmt(expr=expr):
                self.evaluate(expr, mask)
            case ir.Declare(variable=variable, value=value):
                if value is not None and variable in state.objects.cells:
                    self.initialise(variable, value, mask)
                elif value is not None:
                    self.declare(variable, self.evaluate(value, mask))
            case ir.Block(is_breakable=True):
                return self._breakable(stmt, mask)
            case ir.Block():
                return self._sequence(stmt, mask)
            case ir.If():
                return self._if(stmt, mask)
            case ir.Loop():
                return self.run_loop(stmt, mask)
            case ir.Switch():
                return self._switch(stmt, mask)
            case ir.Return(value=value):
                self._return(None if value is None else self.evaluate(value, mask), mask)
                return state.masks.none
            case ir.Break(levels=levels):
                self._break(levels, mask)
                return state.masks.none
            case ir.Continue():
                frame = next(f for f in reversed(state.loops) if not f.is_switch)
                frame.continued = state.masks.sum(frame.continued, mask)
                state.arrive(frame.end)
                return state.masks.none
        return mask

    def _sequence(self, block: ir.Block, mask: Mask) -> Mask:
        for inner in block.statements:
            mask = self.execute(inner, mask)
            if mask.is_empty:
                break
        return mask

    def _breakable(self, block: ir.Block, mask: Mask) -> Mask:
        state, masks = self.state, self.state.masks
        frame = LoopFrame(masks.none, masks.none, Meeting(len(state.forks)), is_switch=True, is_block=True)
        state.loops.append(frame)
        through = self._sequence(block, mask)
        state.loops.pop()
        state.meet(frame.end, is_reached=not through.is_empty)
        if frame.broken.is_empty:
            return through
        met = masks.sum(through, frame.broken)
        # iterations that stand for many, or are assumed, may have left more often than there are lanes
        return mask if bool((met.weights >= mask.weights).all()) else met

    # ------------------------------------------------------------------ branches

    def _if(self, stmt: ir.If, mask: Mask) -> Mask:
        masks = self.state.masks
        condition = self.condition(stmt.condition, mask)
        if not isinstance(condition, Chance):
            condition = self.overruled(stmt.span, stmt.condition, condition, mask) or condition
        if isinstance(condition, bool):
            self._note_arms(stmt, ProbabilitySource.STATIC)
            arm = stmt.then if condition else stmt.otherwise
            return mask if arm is None else self.execute(arm, mask)
        if isinstance(condition, Chance):
            usual = self._usual(stmt)
            if usual is not None:
                arm = stmt.then if usual else stmt.otherwise
                return mask if arm is None else self.execute(arm, mask)
            return self._perhaps(stmt, self._weighed_arms(stmt, condition), mask)
        self._note_arms(stmt, ProbabilitySource.STATIC)
        taken = int(np.count_nonzero(condition & mask.active))
        if taken == mask.lanes_active:
            return self.execute(stmt.then, mask)
        if not taken and stmt.otherwise is None:
            return mask
        then_mask = masks.where(mask, condition)
        else_mask = masks.where(mask, ~condition)
        then_out = self.execute(stmt.then, then_mask)
        else_out = else_mask if stmt.otherwise is None else self.execute(stmt.otherwise, else_mask)
        if then_out is then_mask and else_out is else_mask:
            return mask
        return masks.sum(then_out, else_out)

    def _usual(self, stmt: ir.If) -> bool | None:
        """How the test for a slow path ends that the compiler took from a mathematical function."""
        kernel = self.state.launch.kernel
        if not kernel.machine_instructions or self.profiled(stmt.span) is not None:
            return None
        usual = usual_outcome(kernel, stmt.condition)
        if usual is not None:
            self.state.tallies.assume(
                "PW012",
                stmt.span,
                "slow path of a mathematical function (huge, infinite or no number): assumed never taken",
                "--profile FILE",
            )
        return usual

    def _note_arms(self, stmt: ir.If, source: ProbabilitySource) -> None:
        sources = self.state.tallies.arm_sources
        if sources.get(stmt.region) in (None, ProbabilitySource.STATIC):
            sources[stmt.region] = source

    def _perhaps(self, stmt: ir.If, condition: Chance, mask: Mask) -> Mask:
        """Runs both arms, each with its probability; afterwards only what both agree on is known."""
        state, together = self.state, condition.uniform
        then_mask, else_mask = self.arms(mask, condition)
        before = self.told(stmt.condition, holds=False)
        state.environment = self.told(stmt.condition, holds=True)
        meeting = state.fork(together=together)
        then_out = self.execute(stmt.then, then_mask)
        if not then_out.is_empty:
            meeting.ways.append((state.environment, together))
        state.environment = before
        else_out = else_mask if stmt.otherwise is None else self.execute(stmt.otherwise, else_mask)
        state.join(meeting, is_reached=not else_out.is_empty)
        if then_out is then_mask and else_out is else_mask:
            return mask
        return state.masks.sum(then_out, else_out)

    def _weighed_arms(self, stmt: ir.If, condition: Chance) -> Chance:
        """The chance of the then-arm; an arm that leaves the loop around it has a default of its own."""
        state = self.state
        leaves_then = self._ends_by_leaving(stmt.then)
        leaves_else = stmt.otherwise is not None and self._ends_by_leaving(stmt.otherwise)
        leaves_loop = leaves_then != leaves_else and state.calls[-1].loop_depth > 0
        leaves_loop = leaves_loop and condition.typical is None
        frame = next((f for f in reversed(state.loops) if not f.is_switch), None)
        leaving = stmt.then if leaves_then else stmt.otherwise
        if leaves_loop and leaving is not None:
            self._note_leaving(leaving, condition.uniform)
        if leaves_loop and frame is not None and self.profiled(stmt.span) is not None:
            frame.left_by_profile = frame.left_by_chance = True
        elif leaves_loop:
            expected = None if frame is None else frame.expected_trips
            if frame is not None:
                frame.left_by_chance = True
            leave = 0.0 if expected is None else 1.0 / expected
            state.tallies.arm_sources[stmt.region] = ProbabilitySource.DEFAULT
            if expected is None:
                state.tallies.never_left.add(stmt.region)
            state.tallies.assume(
                "PW012",
                stmt.span,
                "leaving the loop here depends on data: "
                + (
                    "assumed never (upper bound)"
                    if expected is None
                    else f"assumed after {expected:g} iterations"
                ),
                "--profile FILE",
            )
            return replace(condition, probability=leave if leaves_then else 1.0 - leave)
        condition, source = self.weighed(stmt.span, condition)
        if source is ProbabilitySource.STATIC:
            self._note_arms(stmt, source)
        else:
            state.tallies.arm_sources[stmt.region] = source
        return condition

    def _break(self, levels: int, mask: Mask) -> None:
        state = self.state
        frame = state.loops[-levels]
        frame.broken = state.masks.sum(frame.broken, mask)
        if frame.is_switch:
            state.arrive(frame.end)
        for left in state.loops[-levels:]:
            if not left.is_switch and len(state.forks) > left.end.forks:
                left.data_leave.add(all(state.forks[left.end.forks :]))

    def _note_leaving(self, arm: ir.Stmt, together: bool) -> None:
        """Notes that data leave a loop by `arm`: even if never, what follows from that is not known."""
        if isinstance(arm, ir.Block):
            self._note_leaving(arm.statements[-1], together)
        elif isinstance(arm, ir.Return):
            call = self.state.calls[-1]
            call.data_leave.add(together)
            loops = [frame for frame in self.state.loops if not frame.is_switch]
            for frame in loops[-call.loop_depth :]:
                frame.is_returned_from = True
        elif isinstance(arm, ir.Break):
            for frame in self.state.loops[-arm.levels :]:
                frame.data_leave.add(together)

    def _ends_by_leaving(self, stmt: ir.Stmt) -> bool:
        """True when running `stmt` to its end leaves the enclosing loop or function."""
        if isinstance(stmt, ir.Block):
            return bool(stmt.statements) and self._ends_by_leaving(stmt.statements[-1])
        if isinstance(stmt, ir.Break) and self.state.loops[-1].is_block:
            return any(not frame.is_switch for frame in self.state.loops[-stmt.levels :])
        return isinstance(stmt, ir.Break | ir.Return)

    # ------------------------------------------------------------------ switch

    def _switch(self, stmt: ir.Switch, mask: Mask) -> Mask:
        state = self.state
        masks = state.masks
        selector = scalar(self.evaluate(stmt.selector, mask))
        if state.boundaries is not None:
            labels = [label for case in stmt.cases for label in case.labels if label is not None]
            state.boundaries.select(stmt.selector, selector, labels, mask.active)
        entries = self._case_entries(stmt, selector, mask)
        frame = LoopFrame(masks.none, masks.none, Meeting(len(state.forks)), is_switch=True)
        state.loops.append(frame)
        before = None if isinstance(selector, int | float | np.ndarray) else state.environment
        if before is not None:
            state.forks.append(is_warp_uniform(selector))
        falling = masks.none
        taken = masks.none
        for case, entry in zip(stmt.cases, entries, strict=True):
            taken = masks.sum(taken, entry)
            if before is not None:
                self._enter_case(before, not falling.is_empty, not entry.is_empty)
            falling = self.execute(case.body, masks.sum(falling, entry))
        if not falling.is_empty:
            state.arrive(frame.end)
        rest = masks.of(np.maximum(mask.weights - taken.weights, 0.0))
        if before is not None:
            has_rest = not (rest.is_empty or any(None in case.labels for case in stmt.cases))
            state.environment = before
            state.join(frame.end, is_reached=has_rest)
        else:
            state.meet(frame.end, is_reached=not rest.is_empty)
        state.loops.pop()
        return masks.sum(masks.sum(falling, frame.broken), rest)

    def _enter_case(self, before: Environment, is_falling: bool, is_entered: bool) -> None:
        """Begins a case with the registers `before` the switch, and with those that the last one falls on
        with.
        """
        state = self.state
        meeting = Meeting(len(state.forks) - 1)
        if is_falling:
            state.arrive(meeting)
        if is_entered or not is_falling:
            state.environment = dict(before)
        state.meet(meeting, is_reached=is_entered)

    def _case_entries(self, stmt: ir.Switch, selector: Value, mask: Mask) -> list[Mask]:
        """Lanes that jump to each case."""
        masks, state = self.state.masks, self.state
        labels = [label for case in stmt.cases for label in case.labels if label is not None]
        if isinstance(selector, int | float | np.ndarray):
            state.tallies.arm_sources[stmt.region] = ProbabilitySource.STATIC
            other = np.logical_not(np.isin(selector, labels))
            return [
                masks.where(
                    mask,
                    np.broadcast_to(
                        np.isin(selector, [label for label in case.labels if label is not None])
                        | (other if None in case.labels else np.zeros((), np.bool_)),
                        mask.weights.shape,
                    ),
                )
                for case in stmt.cases
            ]
        count = len(stmt.cases) + (0 if any(None in case.labels for case in stmt.cases) else 1)
        shares = [1.0 / count] * len(stmt.cases)
        source = ProbabilitySource.DEFAULT
        known = [self.profiled(stmt.span, arm_name(case)) for case in stmt.cases]
        if any(share is not None for share in known):
            source = ProbabilitySource.PROFILE
            shares = [0.0 if share is None else share for share in known]
        if source is ProbabilitySource.DEFAULT:
            state.tallies.assume(
                "PW012",
                stmt.span,
                f"switch depends on data: its {count} ways assumed equally likely",
                "--profile FILE",
            )
        state.tallies.arm_sources[stmt.region] = source
        together = is_warp_uniform(selector)
        return [masks.perhaps(mask, share, together=together) for share in shares]

    # ------------------------------------------------------------------ calls

    def _return(self, value: Value | None, mask: Mask) -> None:
        state = self.state
        frame = state.calls[-1]
        frame.returned = state.masks.sum(frame.returned, mask)
        if value is not None:
            frame.values.append((mask, value))
        together = state.arrive(frame.end)
        if together is not None:
            loops = [left for left in state.loops if not left.is_switch]
            for left in loops[len(loops) - frame.loop_depth :]:
                left.is_returned_from |= len(state.forks) > left.end.forks
                frame.data_leave.add(together)
        if len(state.calls) == 1 and not state.forks:
            state.live = state.masks.where(state.live, ~mask.active)

    def run_body(self, call: ir.InlinedCall, mask: Mask) -> Value:
        """Runs an inlined body and merges the values its returns gave."""
        state = self.state
        frame = CallFrame(state.masks.none, Meeting(len(state.forks)))
        state.calls.append(frame)
        through = self.execute(call.body, mask)
        state.calls.pop()
        state.meet(frame.end, is_reached=not through.is_empty)
        if frame.data_leave:
            self.forget_all(*written_below(call.body), together=frame.data_leave == {True})
        if not frame.values:
            return VARYING
        last_mask, result = frame.values[-1]
        seen = last_mask.active
        for lanes, value in reversed(frame.values[:-1]):
            if bool((lanes.active & seen).any()):
                # Both returns may happen in the same lane: only probability tells them apart.
                together = all(mask.certain is mask.weights for mask in (lanes, last_mask))
                result = join(value, result, together=together)
            else:
                result = select(lanes.active, value, result)
            seen = seen | lanes.active
        if frame.data_leave:  # then any return may be the one, also one that was not reached here
            together = frame.data_leave == {True}
            for value in _returned(call.body):
                result = join(result, value, together=together)
        return result


def _returned(body: ir.Stmt) -> Iterator[Value]:
    """The constants that a function returns, and something unknown for each return of anything else."""
    stack = [body]
    while stack:
        stmt = stack.pop()
        stack.extend(ir.nested_statements(stmt))
        if isinstance(stmt, ir.Return) and stmt.value is not None:
            yield stmt.value.value if isinstance(stmt.value, ir.Constant) else VARYING
