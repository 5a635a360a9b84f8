"""Evaluation of expressions for all sampled lanes at once, to the values of `values.py`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache, partial
from operator import is_
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice import ir
from wattslice.branch_profile.profile import ELSE, RIGHT, THEN
from wattslice.counting import bounds
from wattslice.counting.bounds import Bounds
from wattslice.counting.cells import fill, gathered, held, is_followed, keep, loaded, offsets_of
from wattslice.counting.exchanges import BALLOTS, ballot, exchanged, lane_register
from wattslice.counting.parameters import parameters_behind
from wattslice.counting.profile import ProbabilitySource
from wattslice.counting.sampling import WARP_SIZE, Mask
from wattslice.counting.state import Environment, State
from wattslice.counting.values import (
    UNIFORM,
    VARYING,
    Chance,
    Lanes,
    Pointer,
    Record,
    Scalar,
    Unknown,
    Value,
    apply,
    binary,
    bounds_of,
    convert,
    is_warp_uniform,
    join,
    joint,
    scalar,
    select,
    truth,
    typically,
    unknown_of,
)
from wattslice.ir.c_arithmetic import wrapped
from wattslice.ir.loops import conjuncts_of
from wattslice.ir.objects import part_of, pointers_in

if TYPE_CHECKING:
    from wattslice.branch_profile.profile import BranchProfile


KEPT_LANES = 1 << 22
"""Lanes of results that are kept: 32 MB."""

SAME_PROBABILITY = 0.01
"""A measured probability and a counted one that differ by no more say the same."""


PATIENCE = 3
"""How often in a row operands may be others before it is no longer looked whether they are the same."""


class _Result(Struct):
    """What came of `operands`, none while nothing is kept; `seen`: where those of the last time were."""

    operands: tuple[object, ...] = ()
    value: Value = VARYING
    seen: tuple[int, ...] = ()
    patience: int = PATIENCE


class ExpressionEvaluator:
    """Evaluates expressions under a mask, with their side effects on registers and tallies."""

    def __init__(self, state: State, profile: BranchProfile | None) -> None:
        self.state = state
        self.profile = profile
        self._results: dict[ir.Expr, _Result] = {}
        self._kept, self._most_kept = 0, KEPT_LANES // state.threads.exists.size
        self._evaluate: dict[type, Callable[[Any, Mask], Value]] = {
            ir.Constant: self._constant,
            ir.Builtin: self._builtin,
            ir.Read: self._read,
            ir.Load: self._load,
            ir.AddressOf: self._address_of,
            ir.PointerOffset: self._pointer_offset,
            ir.Unary: self._unary,
            ir.Binary: self._binary,
            ir.Logical: self._logical,
            ir.Select: self._select,
            ir.Cast: self._cast,
            ir.Assign: self._assign,
            ir.Increment: self._increment,
            ir.Intrinsic: self._intrinsic,
            ir.Atomic: self._atomic,
            ir.TextureFetch: self._texture,
            ir.Construct: self._construct,
            ir.Extract: self._extract,
            ir.InlinedCall: self._inlined_call,
            ir.Text: self._unmodelled,
            ir.Call: self._unmodelled,
            ir.LaunchCall: self._unmodelled,
        }

    @abstractmethod
    def run_body(self, call: ir.InlinedCall, mask: Mask) -> Value:
        """Runs the body of an inlined call; its parameters are bound already."""

    def evaluate(self, expr: ir.Expr, mask: Mask) -> Value:
        """The value of `expr` in the lanes of `mask`."""
        return self._evaluate[type(expr)](expr, mask)

    def peek(self, *expressions: ir.Expr, mask: Mask) -> list[Value]:
        """The values of expressions as they are now, without counting or leaving a trace of side effects."""
        state = self.state
        threads, warps = list(state.tallies.thread_counts), list(state.tallies.warp_counts)
        environment, assumptions = dict(state.environment), dict(state.tallies.assumptions)
        assumed = dict(state.inputs.assumed)
        was_looking, state.tallies.is_looking = state.tallies.is_looking, True
        values = [self.evaluate(expr, mask) for expr in expressions]
        state.tallies.is_looking = was_looking
        state.tallies.thread_counts, state.tallies.warp_counts = threads, warps
        state.environment, state.tallies.assumptions = environment, assumptions
        state.inputs.assumed = assumed
        return values

    def _once(self, expr: ir.Expr, operands: tuple[object, ...], compute: Callable[[], Value]) -> Value:
        """What `compute` makes of operands; of the very same lanes as the last time, what it made of them."""
        known = self._results.get(expr)
        if known is None:
            known = self._results[expr] = _Result()
        elif not known.patience:
            return compute()
        if known.operands and all(map(is_, known.operands, operands)):
            known.patience = PATIENCE
            return known.value
        value, seen = compute(), tuple(map(id, operands))
        if known.seen != seen:
            self._kept -= bool(known.operands)
            known.operands, known.value = (), VARYING
            known.seen, known.patience = seen, known.patience - 1
        elif self._kept < self._most_kept:  # twice the same; to keep more would cost the processor's cache
            self._kept += 1
            known.operands, known.value = operands, value
        return value

    def _unmodelled(self, expr: ir.Expr, mask: Mask) -> Value:
        """Strings, and calls and launches from within kernels: only what they evaluate is followed."""
        for child in ir.children(expr):
            self.evaluate(child, mask)
        return VARYING

    # ------------------------------------------------------------------ leaves

    def _constant(self, expr: ir.Constant, mask: Mask) -> Value:
        return expr.value

    def _builtin(self, expr: ir.Builtin, mask: Mask) -> Value:
        match expr.kind:
            case ir.BuiltinKind.THREAD_IDX:
                return self.state.threads.thread_idx[expr.axis]
            case ir.BuiltinKind.BLOCK_IDX:
                return self.state.threads.block_idx[expr.axis]
            case ir.BuiltinKind.BLOCK_DIM:
                return self.state.launch.block[expr.axis]
            case ir.BuiltinKind.GRID_DIM:
                return self.state.launch.grid[expr.axis]
            case ir.BuiltinKind.WARP_SIZE:
                return WARP_SIZE

    def _read(self, expr: ir.Read, mask: Mask) -> Value:
        place = expr.place
        state = self.state
        if place.variable in state.inputs.assumed:
            self._note_assumed(place.variable, expr.span)
        if place.variable in state.objects.hidden:
            return VARYING
        value = state.environment.get(ir.register_key(place))
        if value is not None:
            return unknown_of(value) if place in state.objects.otherwise else value
        if place.path and (whole := state.environment.get(place.variable)) is not None:
            return convert(unknown_of(whole), place.type)
        if place.type.kind is ir.TypeKind.RECORD or place.type.lanes > 1:
            depth = len(place.path)
            members = tuple(
                (key[1][depth:], member)
                for key, member in state.environment.items()
                if isinstance(key, tuple) and key[0] is place.variable and key[1][:depth] == place.path
            )
            return Record(members) if members else VARYING
        if place.type.kind in (ir.TypeKind.POINTER, ir.TypeKind.ARRAY):
            part = part_of(place.variable.type, place.path) if place.path else None
            return Pointer(ir.Behind(place.variable, part[0]) if part else place.variable, 0)
        setting = state.inputs.settings.get(place.variable.name)
        return VARYING if setting is None else setting

    def _note_assumed(self, variable: ir.Variable, span: ir.Span) -> None:
        state = self.state
        value = state.inputs.assumed.pop(variable)
        kernel, name = state.launch.kernel, variable.name
        message = f"value of parameter '{name}' unknown: {name} assumed {value}"
        is_of_pack = sum(one.name == name for one in kernel.parameters) > 1  # --set would mean all of it
        state.tallies.assume(
            "PW010", span, message, "" if is_of_pack else f"--set {kernel.name}.{name}=VALUE"
        )

    def _address_of(self, expr: ir.AddressOf, mask: Mask) -> Value:
        return Pointer(expr.variable, 0)

    # ------------------------------------------------------------------ memory

    def address(self, place: ir.MemoryPlace, mask: Mask) -> Value:
        """Evaluates the address of a place and visits its site."""
        address = self.evaluate(place.address, mask)
        tally = self.state.tallies.sites[place.site]
        around = [frame for frame in self.state.loops if not (frame.is_switch or frame.is_block)]
        known = tuple(frame.stretch for frame in around if frame.stretch is not None)
        iteration = known if len(known) == len(around) else None
        tally.visit(place.type, place.space, address, mask, self.state.threads, iteration)
        return address

    def _load(self, expr: ir.Load, mask: Mask) -> Value:
        address = self.address(expr.place, mask)
        root = expr.place.root
        if root is not None and root.name in self.state.inputs.settings and root.type.is_integral:
            return self.state.inputs.settings[root.name]
        is_pointer = expr.type.kind is ir.TypeKind.POINTER
        if isinstance(address, Pointer) and (is_pointer or expr.type.is_integral) and expr.type.lanes == 1:
            known = self._held(expr, address, mask)
            if known is not None and known is not VARYING:  # what shared memory holds is one in all threads
                if not is_pointer:
                    return convert(known, expr.type)
                offset = known.offset if isinstance(known, Pointer) else scalar(known)
                if isinstance(known, Pointer) and not self._is_of_others(expr):
                    return known
                value = offset if isinstance(offset, Unknown) else Unknown(uniform=True, delta=offset)
                return self._pointer(expr, address, value)
        is_parameter = root in self.state.launch.kernel.parameters and root in self.state.objects.unwritten
        value = loaded(expr.place, address, is_parameter=is_parameter)
        return self._pointer(expr, address, value) if is_pointer else convert(value, expr.type)

    def _pointer(self, expr: ir.Load, address: Value, value: Unknown) -> Pointer:
        """A pointer out of memory, told by where it lies; `value`: what is known of what lies there.

        Where each lane has another, as in a chain, they are taken to point into the array that they are in.
        """
        table, offset = (address.root, address.offset) if isinstance(address, Pointer) else (None, value)
        if table is None or not value.uniform:
            return Pointer(None, value)
        if self._is_of_others(expr):
            value = replace(value, everywhere=False)
        elif expr.place.space in _TABLES and _depth(table) < MOST_BEHIND:
            if isinstance(offset, int):
                return Pointer(ir.Behind(table, offset), 0)
            if isinstance(offset, np.ndarray) and self.state.has_blocks:
                blocks = offset.reshape(-1, self.state.threads.block_lanes)
                if bool((blocks == blocks[:, :1]).all()):
                    return Pointer(ir.Behind(table, int(offset[0]), is_by_block=True), 0)
        return Pointer(_somewhere_behind(table), value)

    def _is_of_others(self, expr: ir.Load) -> bool:
        """Whether what `expr` loads is not always the same: in iterations that the one being run stands for,
        or where the kernel writes other pointers there.
        """
        if expr.place.space in _TABLES and _stores_pointers(self.state.launch.kernel):
            return True
        return any(expr.place.site in frame.moving for frame in self.state.loops)

    def _held(self, expr: ir.Load, address: Pointer, mask: Mask) -> Value | None:
        """A number that memory is known to hold: a constant, or what the kernel has put there itself."""
        state, offset = self.state, address.offset
        if isinstance(offset, int):
            return held(state, address.root, offset)
        if not isinstance(offset, np.ndarray) or not is_followed(state, address.root):
            return None
        of_one = held(state, address.root, int(offset[mask.active.argmax()]))
        if not isinstance(of_one, int | np.ndarray | Pointer):
            return None  # wherever the other lanes look
        places = offsets_of(offset[mask.active])
        values = [held(state, address.root, at) for at in places]
        found = gathered(offset, places, values)
        if state.boundaries is not None and found is not None and not isinstance(found, int):
            state.boundaries.select(expr, offset, places, mask.active)
        return found

    def _pointer_offset(self, expr: ir.PointerOffset, mask: Mask) -> Value:
        pointer = self.evaluate(expr.pointer, mask)
        root, offset = (pointer.root, pointer.offset) if isinstance(pointer, Pointer) else (None, VARYING)
        index = None if expr.index is None else self.evaluate(expr.index, mask)
        if not isinstance(offset, np.ndarray) and not isinstance(index, np.ndarray):
            return _moved(expr, root, offset, index)
        return self._once(expr, (root, offset, index), lambda: _moved(expr, root, offset, index))

    def _atomic(self, expr: ir.Atomic, mask: Mask) -> Value:
        self.state.tallies.sites[expr.place.site].is_atomic = True
        self.address(expr.place, mask)
        for argument in expr.arguments:
            self.evaluate(argument, mask)
        return VARYING

    def _texture(self, expr: ir.TextureFetch, mask: Mask) -> Value:
        coordinates = [self.evaluate(coordinate, mask) for coordinate in expr.coordinates]
        tally = self.state.tallies.sites[expr.site]
        tally.visit_texels(expr.type.size_bytes, coordinates, mask, self.state.threads)
        return VARYING

    # ------------------------------------------------------------------ operators

    def _unary(self, expr: ir.Unary, mask: Mask) -> Value:
        if expr.op is ir.UnaryOp.NOT:
            condition = self.condition(expr.operand, mask)
            if isinstance(condition, Chance):
                return replace(condition, probability=1.0 - condition.probability)
            return int(not condition) if isinstance(condition, bool) else ~condition
        operand = self.evaluate(expr.operand, mask)
        match expr.op:
            case ir.UnaryOp.NEGATE:
                return binary(ir.BinaryOp.SUB, 0, operand, expr.type)
            case ir.UnaryOp.INVERT:
                return binary(ir.BinaryOp.XOR, operand, -1, expr.type)

    def _binary(self, expr: ir.Binary, mask: Mask) -> Value:
        left = self.evaluate(expr.left, mask)
        right = self.evaluate(expr.right, mask)
        if _compares_with_null(expr, left, right):
            return int(expr.op is ir.BinaryOp.NE)
        type_ = expr.operand_type
        if isinstance(left, Pointer) and isinstance(right, Pointer):
            if expr.op is ir.BinaryOp.OR:  # whether both are aligned is asked of this
                offset = scalar(binary(expr.op, left.offset, right.offset, ir.INT64))
                return Pointer(left.root and right.root, offset)
            is_one, offset = left.root == right.root and left.root is not None, left.offset
            left = offset if is_one else binary(ir.BinaryOp.ADD, offset, UNIFORM, ir.INT64)
            right, type_ = right.offset, ir.INT64
        if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
            operands = left, right
            result = self._once(expr, operands, lambda: binary(expr.op, *operands, type_))
        else:
            result = binary(expr.op, left, right, type_)
        boundaries = self.state.boundaries
        if boundaries is not None and (isinstance(result, np.ndarray) or boundaries.is_iterating):
            if expr.op in ir.COMPARISONS:
                boundaries.compare(expr, expr.op, left, right, mask.active)
            else:
                boundaries.operation(expr, left, right, result, mask.active)
        return result

    def condition(self, expr: ir.Expr, mask: Mask) -> bool | NDArray[np.bool_] | Chance:
        """The truth of `expr` in the lanes of `mask`."""
        value = self.evaluate(expr, mask)
        if self.state.boundaries is not None:
            self.state.boundaries.decide(expr, value, mask.active)
        return truth(value)

    def profiled(self, span: ir.Span, arm: str = THEN) -> float | None:
        """The measured probability of an arm of the branch there; that of `then` also from its `else`."""
        if self.profile is None:
            return None
        kernel = self.state.launch.kernel
        entry = self.profile.lookup(kernel, span, arm)
        if entry is not None and entry.probability is not None:
            return entry.probability
        other = self.profile.lookup(kernel, span, ELSE) if arm == THEN else None
        return None if other is None or other.probability is None else 1.0 - other.probability

    def arms(self, mask: Mask, condition: Chance) -> tuple[Mask, Mask]:
        """The lanes of `mask` that take each arm of a branch."""
        chance, perhaps = condition.probability, self.state.masks.perhaps
        is_typical, which = condition.typical is not None, condition.which
        arm = partial(perhaps, mask, together=condition.uniform, typical=is_typical, which=which)
        return arm(chance), arm(1.0 - chance)

    def weighed(
        self, span: ir.Span, condition: Chance, *, is_part: bool = False
    ) -> tuple[Chance, ProbabilitySource]:
        """How probably `condition` holds: from the profile for its line, else as it says itself.

        `is_part`: it is one of several tests that a branch makes.
        """
        known = self.profiled(span)
        if known is not None:
            return Chance(known, condition.uniform, which=condition.which), ProbabilitySource.PROFILE
        if condition.typical is not None:
            for guess in condition.typical:
                self.state.tallies.assume_branch(guess)
            return condition, ProbabilitySource.DEFAULT if condition.typical else ProbabilitySource.STATIC
        is_even = not is_part and bool(np.isin(condition.probability, (0.0, 0.5, 1.0)).all())
        self.state.tallies.assume_branch(span, condition.values, is_even=is_even)
        return condition, ProbabilitySource.DEFAULT

    def overruled(
        self, span: ir.Span, expr: ir.Expr, outcome: bool | NDArray[np.bool_], mask: Mask, arm: str = THEN
    ) -> Chance | None:
        """The chance of `arm` where a profile knows better than an `outcome` by assumed parameters.

        None: nothing was measured there, or it says the same, or what decides `expr` is known.
        """
        state = self.state
        measured = self.profiled(span, arm) if state.inputs.guessed else None
        if measured is None or not mask.thread_mean:
            return None
        taken = float(outcome) if isinstance(outcome, bool) else state.masks.where(mask, outcome).thread_mean
        counted = taken if isinstance(outcome, bool) else taken / mask.thread_mean
        kernel = state.launch.kernel
        assumed = sorted(v.name for v in parameters_behind(kernel, expr) & state.inputs.guessed)
        if not assumed or abs(measured - counted) <= SAME_PROBABILITY:
            return None
        state.tallies.assume(
            "PW019",
            span,
            f"assumed {', '.join(assumed)} would decide this otherwise than the profile: the profile is used",
            " ".join(f"--set {kernel.name}.{name}=VALUE" for name in assumed),
        )
        return Chance(measured, isinstance(outcome, bool) or is_warp_uniform(outcome))

    def _logical(self, expr: ir.Logical, mask: Mask) -> Value:
        is_and = expr.op is ir.LogicalOp.AND
        left = self.condition(expr.left, mask)
        if not isinstance(left, Chance):
            goes_on = left if is_and else not left if isinstance(left, bool) else ~left
            left = self.overruled(expr.span, expr.left, goes_on, mask, RIGHT) or left
        if isinstance(left, bool):
            if left is not is_and:
                return int(left)
            inner = mask
        elif isinstance(left, Chance):
            known = self.profiled(expr.span, RIGHT)
            if known is not None:
                left = Chance(known if is_and else 1.0 - known, left.uniform, which=left.which)
            elif self.profiled(expr.span) is None:  # a profile by hand may know the whole condition only
                left, _ = self.weighed(expr.span, left, is_part=True)
            inner = self.arms(mask, left)[not is_and]
        else:
            inner = self.state.masks.where(mask, left if is_and else ~left)
        if inner.is_empty:
            return int(not is_and)
        self.state.tallies.count(expr.right_region, inner)
        meeting = None
        if isinstance(left, Chance) and inner is not mask and _writes(expr.right):
            meeting = self.state.fork(together=left.uniform)
            meeting.ways.append((dict(self.state.environment), left.uniform))
        right = self.condition(expr.right, inner)
        if meeting is not None:
            self.state.join(meeting, is_reached=True)
        return _combine(left, right, is_and)

    def told(self, condition: ir.Expr, *, holds: bool) -> Environment:
        """The registers where `condition` is found to hold, or not: with the bounds that it gives them."""
        environment = dict(self.state.environment)
        for part, is_true in conjuncts_of(condition, holds):
            if not (isinstance(part, ir.Binary) and part.op in ir.COMPARISONS):
                continue
            op = part.op if is_true else ir.NEGATED[part.op]
            for one, other, comparison in (
                (part.left, part.right, op),
                (part.right, part.left, ir.MIRRORED[op]),
            ):
                side = _widened(one)
                own = environment.get(ir.register_key(side.place)) if isinstance(side, ir.Read) else None
                # what the lanes of a warp share would be told apart where ways meet
                if not isinstance(side, ir.Read) or not isinstance(own, Unknown) or own.uniform:
                    continue
                limit = self._bounds_now(ir.strip_casts(other))
                if limit is not None:
                    found = bounds.of_comparison(comparison, own.bounds, limit, side.type)
                    environment[ir.register_key(side.place)] = replace(own, bounds=found)
        return environment

    def _bounds_now(self, expr: ir.Expr) -> Bounds | None:
        match expr:
            case ir.Constant():
                return bounds.of_known(expr.value)
            case ir.Read() if expr.place.variable not in self.state.objects.hidden:
                value = self.state.environment.get(ir.register_key(expr.place))
                return None if value is None else bounds_of(value)
            case _:
                return None

    def _select(self, expr: ir.Select, mask: Mask) -> Value:
        state = self.state
        is_decision = ir.is_decision(expr)
        condition = self.condition(expr.condition, mask)
        if not isinstance(condition, Chance):
            condition = self.overruled(expr.span, expr.condition, condition, mask) or condition
        if isinstance(condition, bool):
            region, arm = (
                (expr.then_region, expr.then) if condition else (expr.otherwise_region, expr.otherwise)
            )
            if is_decision:
                state.tallies.count(region, mask)
            return self.evaluate(arm, mask)
        if isinstance(condition, Chance):
            condition, _ = self.weighed(expr.span, condition)
            then_mask, else_mask = self.arms(mask, condition)
        else:
            then_mask, else_mask = state.masks.where(mask, condition), state.masks.where(mask, ~condition)
        then = otherwise = meeting = None
        is_chance = isinstance(condition, Chance)
        if is_chance and (_writes(expr.then) or _writes(expr.otherwise)):
            meeting = state.fork(together=condition.uniform)
        before = state.environment
        if not then_mask.is_empty:
            if is_decision:
                state.tallies.count(expr.then_region, then_mask)
            if is_chance:
                state.environment = self.told(expr.condition, holds=True)
            then = self.evaluate(expr.then, then_mask)
            if meeting is not None:
                state.arrive(meeting)
            state.environment = before
        if not else_mask.is_empty:
            if is_decision:
                state.tallies.count(expr.otherwise_region, else_mask)
            if is_chance:
                state.environment = self.told(expr.condition, holds=False)
            otherwise = self.evaluate(expr.otherwise, else_mask)
        if meeting is not None:
            state.join(meeting, is_reached=otherwise is not None)
        elif is_chance:
            state.environment = before
        if then is None or otherwise is None:
            return (
                VARYING
                if then is None and otherwise is None
                else cast(Value, then if otherwise is None else otherwise)
            )
        if isinstance(condition, Chance):
            guessed, chosen = condition.typical, np.asarray(condition.probability) > 0.0
            if guessed is not None:
                found = typically(partial(select, chosen), then, otherwise, guessed=guessed)
                if found is not None:
                    return found
            return join(then, otherwise, together=condition.uniform)
        return select(condition, then, otherwise)

    def _cast(self, expr: ir.Cast, mask: Mask) -> Value:
        value = self.evaluate(expr.operand, mask)
        if self.state.boundaries is not None:
            self.state.boundaries.conversion(expr, value, mask.active)
        if not isinstance(value, np.ndarray):
            return convert(value, expr.type)
        return self._once(expr, (value,), lambda: convert(value, expr.type))

    # ------------------------------------------------------------------ assignment

    def _assign(self, expr: ir.Assign, mask: Mask) -> Value:
        value = self.evaluate(expr.value, mask)
        target = expr.target
        if isinstance(target, ir.MemoryPlace):
            address = self.address(target, mask)
            if expr.op is not None:
                value = self._updated(target, address, expr.op, value, expr.operand_type)
            keep(self.state, target, address, value, mask)
            return value
        if expr.op is not None:
            old = self._register(target)
            if isinstance(old, Pointer):
                size = target.type.element.size_bytes if target.type.element else 1
                step = scalar(binary(ir.BinaryOp.MUL, value, size, ir.INT64))
                value = Pointer(old.root, scalar(binary(expr.op, old.offset, step, ir.INT64)))
            else:
                value = convert(binary(expr.op, old, value, expr.operand_type), target.type)
        if target.variable in self.state.inputs.assumed:
            del self.state.inputs.assumed[target.variable]  # overwritten before it was read
        self.store_register(target, value, mask)
        return value

    def _register(self, place: ir.RegisterPlace) -> Value:
        """What a register holds before it is updated; a pointer nobody set yet points at its own object."""
        if place.variable in self.state.objects.hidden:
            return VARYING
        unset = Pointer(place.variable, 0) if place.type.kind is ir.TypeKind.POINTER else VARYING
        return self.state.environment.get(ir.register_key(place), unset)

    def _updated(
        self, place: ir.MemoryPlace, address: Value, op: ir.BinaryOp, amount: Value, type_: ir.Type
    ) -> Value:
        """What `place op= amount` leaves at one place in memory."""
        if not isinstance(address, Pointer) or not isinstance(address.offset, int):
            return VARYING
        old = held(self.state, address.root, address.offset)
        return VARYING if old is None else convert(binary(op, old, amount, type_), place.type)

    def declare(self, variable: ir.Variable, value: Value) -> None:
        """Gives a new variable its value; lanes that do not run here never see it."""
        if variable in self.state.objects.hidden:
            return
        if isinstance(value, Record):
            for path, member in value.members:
                self.state.environment[(variable, path)] = member
        else:
            self.state.environment[variable] = value

    def store_register(self, place: ir.RegisterPlace, value: Value, mask: Mask) -> None:
        """Assigns a register, a member of one, or a whole record member by member."""
        if isinstance(value, Record):
            for path, member in value.members:
                self.state.assign((place.variable, (*place.path, *path)), member, mask)
        else:
            key = ir.register_key(place)
            if place.type.kind is ir.TypeKind.RECORD or place.type.lanes > 1:
                depth = len(place.path)
                for inside in list(self.state.environment):
                    if (
                        isinstance(inside, tuple)
                        and inside[0] is place.variable
                        and inside[1][:depth] == place.path
                    ):
                        self.state.assign(inside, unknown_of(value), mask)
            self.state.assign(key, value, mask)

    def _increment(self, expr: ir.Increment, mask: Mask) -> Value:
        target = expr.target
        if isinstance(target, ir.MemoryPlace):
            address = self.address(target, mask)
            new = self._updated(target, address, ir.BinaryOp.ADD, expr.delta, target.type)
            keep(self.state, target, address, new, mask)
            return new if expr.is_prefix else VARYING
        old = self._register(target)
        if target.variable in self.state.inputs.assumed:
            self._note_assumed(target.variable, expr.span)
        if isinstance(old, Pointer):
            step = expr.delta * (expr.step_bytes or 1)
            new: Value = Pointer(old.root, scalar(binary(ir.BinaryOp.ADD, old.offset, step, ir.INT64)))
        else:
            new = binary(ir.BinaryOp.ADD, old, expr.delta, target.type)
        self.state.assign(ir.register_key(target), new, mask)
        return new if expr.is_prefix else old

    # ------------------------------------------------------------------ records and calls

    def initialise(self, variable: ir.Variable, value: ir.Expr, mask: Mask) -> None:
        """Gives a new object in memory its contents; what braces leave out is 0."""
        found: dict[int, Value] = {}
        otherwise: Value = 0

        def take(part: ir.Expr, type_: ir.Type, offset: int) -> None:
            nonlocal otherwise
            is_array = type_.kind is ir.TypeKind.ARRAY
            if not is_array and type_.kind is not ir.TypeKind.RECORD:
                found[offset] = self.evaluate(part, mask)
            elif isinstance(part, ir.Construct) and is_array and (element := type_.element) is not None:
                for i, inner in enumerate(part.arguments):
                    take(inner, element, offset + i * element.size_bytes)
            elif isinstance(part, ir.Construct) and len(part.field_names) == len(part.arguments):
                for name, inner in zip(part.field_names, part.arguments, strict=True):
                    if (member := part_of(type_, (name,))) is not None:
                        take(inner, member[1], offset + member[0])
            else:
                self.evaluate(part, mask)
                otherwise = VARYING

        take(value, variable.type, 0)
        fill(self.state, variable, found, otherwise)

    def _construct(self, expr: ir.Construct, mask: Mask) -> Value:
        values = [self.evaluate(argument, mask) for argument in expr.arguments]
        if not expr.field_names:
            return values[0] if len(values) == 1 else VARYING
        members: list[tuple[tuple[str, ...], Value]] = []
        for name, value in zip(expr.field_names, values, strict=False):
            if isinstance(value, Record):
                members += [((name, *path), member) for path, member in value.members]
            else:
                members.append(((name,), value))
        return Record(tuple(members))

    def _extract(self, expr: ir.Extract, mask: Mask) -> Value:
        value = self.evaluate(expr.value, mask)
        if isinstance(value, Record):
            inner = tuple((path[1:], member) for path, member in value.members if path[:1] == (expr.field,))
            if len(inner) == 1 and not inner[0][0]:
                return inner[0][1]
            return Record(inner) if inner else VARYING
        return convert(unknown_of(value), expr.type)

    def _inlined_call(self, expr: ir.InlinedCall, mask: Mask) -> Value:
        values = [self.evaluate(argument, mask) for argument in expr.arguments]
        for parameter, value in zip(expr.parameters, values, strict=True):
            self.declare(parameter, value)
        return self.run_body(expr, mask)

    def _intrinsic(self, expr: ir.Intrinsic, mask: Mask) -> Value:
        values = [self.evaluate(argument, mask) for argument in expr.arguments]
        bits = expr.arguments[0].type.bits if expr.arguments else 0
        if self.state.boundaries is not None:
            self.state.boundaries.function(expr, values, mask.active)
        if expr.name == ir.BIT_FIELD:
            whole, width, _ = values
            if isinstance(whole, int) and isinstance(width, int) and isinstance(expr.arguments[0], ir.Read):
                return wrapped(whole, replace(expr.type, bits=width))  # in registers each has its own place
            return unknown_of(whole)
        is_warp = self.state.has_blocks  # else lanes are iterations of threads here and there
        found = exchanged(expr.name, values, mask, self.state.threads.block_lanes) if is_warp else None
        if found is not None:
            return convert(found, expr.type)
        of_lane = lane_register(expr.name, mask.active.size) if is_warp and not values else None
        if of_lane is not None:
            return convert(of_lane, expr.type)
        if is_warp and expr.name in BALLOTS:
            return convert(self._ballot(expr, values, mask), expr.type)

        def applied() -> Value:
            found = apply(expr.semantics, values, bits, expr.name)
            if found is UNIFORM and not expr.name.startswith("__syncthreads"):
                found = replace(UNIFORM, which=_warps(mask))
            return convert(found, expr.type)

        return self._once(expr, tuple(values), applied)

    def _ballot(self, expr: ir.Intrinsic, values: list[Value], mask: Mask) -> Value:
        """The lanes that say yes in a typical warp, where data say which do, or which run."""
        masks = self.state.masks
        says = truth(values[-1]) if values else True
        guessed = frozenset[ir.Span]()
        if isinstance(says, Chance):
            running, _ = self.arms(mask, says)
            guessed = frozenset((expr.span,)) if says.typical is None else says.typical
        else:
            running = masks.where(mask, np.broadcast_to(says, mask.weights.shape))
        delta = ballot(masks.typical(running))
        return Unknown(uniform=True, delta=delta, typical=guessed, which=_warps(mask))


def _widened(expr: ir.Expr) -> ir.Expr:
    """`expr` without the casts that leave all its numbers as they are."""
    while isinstance(expr, ir.Cast) and bounds.is_kept(expr.operand.type, expr.type):
        expr = expr.operand
    return expr


def _warps(mask: Mask) -> NDArray[np.int64]:
    """The number of each lane's warp."""
    return np.arange(mask.active.size, dtype=np.int64) // WARP_SIZE


def _moved(expr: ir.PointerOffset, root: ir.Root | None, offset: Scalar, index: Value | None) -> Pointer:
    """`expr` for a pointer that lies at `offset` in `root`."""
    if index is not None:
        index = scalar(index)
        if expr.scale_bytes != 1:
            index = scalar(binary(ir.BinaryOp.MUL, index, expr.scale_bytes, ir.INT64))
        op = ir.BinaryOp.SUB if expr.subtract else ir.BinaryOp.ADD
        offset = scalar(binary(op, offset, index, ir.INT64))
    if expr.offset_bytes:
        offset = scalar(binary(ir.BinaryOp.ADD, offset, expr.offset_bytes, ir.INT64))
    return Pointer(root, offset)


_TABLES = (ir.MemorySpace.GLOBAL, ir.MemorySpace.CONSTANT)
MOST_BEHIND = 4
"""Pointers that are followed one behind the other."""


def _depth(root: ir.Root) -> int:
    return 1 + _depth(root.holder) if isinstance(root, ir.Behind) else 0


def _somewhere_behind(table: ir.Root) -> ir.Behind:
    """What the pointers in `table` point to that are not told apart; far behind it that is all one."""
    if isinstance(table, ir.Behind) and _depth(table) == MOST_BEHIND:
        return table
    return ir.Behind(table, None)


def _is_in_memory(root: ir.Root) -> bool:
    """Whether `root` is behind a pointer that may be anything, null as well: in no record that is given."""
    holder = root.holder if isinstance(root, ir.Behind) else None
    if isinstance(holder, ir.Variable):
        return holder.role is not ir.VariableRole.PARAMETER or not holder.type.fields
    return holder is not None


@lru_cache(maxsize=4)
def _stores_pointers(kernel: ir.Kernel) -> bool:
    """Whether a kernel stores pointers where tables of them lie."""
    return any(
        isinstance(node, ir.Assign | ir.Increment)
        and isinstance(node.target, ir.MemoryPlace)
        and node.target.space in _TABLES
        and any(True for _ in pointers_in(node.target.type))
        for node in ir.expressions_below(kernel.body)
    )


@lru_cache(maxsize=4096)
def _writes(expr: ir.Expr) -> bool:
    """Whether to evaluate `expr` may change a register."""
    return any(
        isinstance(node, ir.Assign | ir.Increment | ir.InlinedCall) for node in ir.walk_expressions(expr)
    )


def _compares_with_null(expr: ir.Binary, left: Value, right: Value) -> bool:
    """`p == NULL` or `p != NULL` of a pointer whose object is known: it is not null."""
    if expr.op not in (ir.BinaryOp.EQ, ir.BinaryOp.NE):
        return False
    for pointer, null in ((left, right), (right, left)):
        root = pointer.root if isinstance(pointer, Pointer) else None
        if root is not None and isinstance(null, int) and null == 0 and not _is_in_memory(root):
            return True
    return False


def _combine(
    left: bool | np.ndarray[Any, np.dtype[np.bool_]] | Chance,
    right: bool | np.ndarray[Any, np.dtype[np.bool_]] | Chance,
    is_and: bool,
) -> Value:
    """`left && right` or `left || right` of truth values."""
    if isinstance(left, Chance) or isinstance(right, Chance):
        a = left.probability if isinstance(left, Chance) else np.asarray(left, np.float64)
        b = right.probability if isinstance(right, Chance) else np.asarray(right, np.float64)
        chance = a * b if is_and else a + b - a * b
        uniform = all(
            side.uniform if isinstance(side, Chance) else is_warp_uniform(side) for side in (left, right)
        )
        of_warps = [side.typical for side in (left, right) if isinstance(side, Chance)]
        known = [one for one in of_warps if one is not None]
        typical = frozenset[ir.Span]().union(*known) if len(known) == len(of_warps) else None
        of_lanes = [side.which for side in (left, right) if isinstance(side, Chance) and not side.uniform]
        found = float(chance) if np.ndim(chance) == 0 else cast(Lanes, chance)
        alike = np.zeros_like(chance, np.int64) if np.ndim(chance) else None
        which = joint(*of_lanes) if of_lanes else alike
        return Chance(found, uniform, typical=typical, which=which)
    result = np.logical_and(left, right) if is_and else np.logical_or(left, right)
    return int(result) if np.ndim(result) == 0 else result
