"""Evaluation of host expressions, without ever running anything: unknown stays unknown, with its reason."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeGuard

from msgspec.structs import replace

from wattslice import ir
from wattslice.launches import host_api
from wattslice.launches.command_line import text_storage
from wattslice.launches.containers import constructed_array, constructed_vector, is_array, is_vector
from wattslice.launches.keyed import constructed_map, is_keyed
from wattslice.launches.memory import (
    MOST_ARGC,
    Course,
    Delta,
    Memory,
    Pointer,
    Record,
    Storage,
    Unknown,
    Value,
    binary,
    cause,
    condition_of,
    construct,
    convert,
    is_aggregate,
    loaded_from,
    member_of,
    of_argc,
    offset_of,
    one_of,
    same,
    truth,
    with_course,
    without_argc,
)
from wattslice_models.gpu import Gpu

LEFT = Unknown("the value of an expression that ends the program")
"""Of what throws or exits: nothing goes on behind it."""


class BudgetExceededError(Exception):
    """The host code takes more steps than reading a launch is worth."""


class Evaluator(ABC):
    """Expressions over a `Memory`; what a call or a launch does is left to the subclass."""

    def __init__(self, memory: Memory, gpu: Gpu, budget: int) -> None:
        self.memory = memory
        self.gpu = gpu
        self._budget = budget
        self.loaded_at: dict[int, Value] = {}  # where a load, by the identity of its place, read last
        self._evaluate = self._handlers()

    def spend(self) -> None:
        """One step; raises `BudgetExceededError` when there is none left."""
        self._budget -= 1
        if self._budget < 0:
            raise BudgetExceededError

    @property
    def steps_left(self) -> int:
        """What remains of the budget."""
        return max(0, self._budget)

    @abstractmethod
    def call(self, node: ir.Call, arguments: tuple[Value, ...]) -> Value:
        """Value of a call to a function of the program, or to one that is known."""

    @abstractmethod
    def launch(self, node: ir.LaunchCall) -> None:
        """Note a kernel launch in the present state."""

    def constructed(self, node: ir.Construct, values: tuple[Value, ...]) -> Value:
        """The object that a constructor makes of these values."""
        if is_keyed(node.type):
            return constructed_map(node, values)
        if is_vector(node.type):
            return constructed_vector(node, values)
        return constructed_array(node, values) if is_array(node.type) and values else construct(node, values)

    @abstractmethod
    def forget_escaped(self, place: ir.MemoryPlace, why: Unknown) -> None:
        """What a write to `place`, whose address nobody knows, may change."""

    @abstractmethod
    def text(self, node: ir.Text) -> Value:
        """The value of a text: the text itself, or the closure of the lambda that it names."""

    @abstractmethod
    def _without_options(self, condition: Value) -> bool | None:
        """Whether a condition that argc decides holds in the run at hand."""

    @abstractmethod
    def evaluate_perhaps(self, node: ir.Expr, condition: Unknown) -> tuple[Value, Delta]:
        """Value of what is evaluated perhaps, as `condition` says, and what that changes, undone."""

    @abstractmethod
    def inlined(self, node: ir.InlinedCall, arguments: tuple[Value, ...]) -> Value:
        """Value of a call that the frontend inlined (a constexpr or __host__ __device__ function)."""

    def evaluate(self, node: ir.Expr) -> Value:
        """Value of an expression; its side effects happen in memory."""
        self._budget -= 1  # as `spend` does
        if self._budget < 0:
            raise BudgetExceededError
        return self._evaluate[type(node)](node)

    def _handlers(self) -> dict[type[ir.Expr], Callable[[Any], Value]]:
        """What evaluates each kind of expression: asked for hundreds of thousands of times."""
        return {
            ir.Constant: lambda node: node.value,
            ir.Text: self.text,
            ir.Read: self._read,
            ir.Cast: lambda node: convert(_whole(self.evaluate(node.operand), node), node.type),
            ir.Binary: lambda node: binary(
                node.op, self.evaluate(node.left), self.evaluate(node.right), node.operand_type
            ),
            ir.Unary: lambda node: _unary(node.op, self.evaluate(node.operand), node.type),
            ir.Logical: self._logical,
            ir.Select: self._select,
            ir.Assign: self._assign,
            ir.Increment: self._increment,
            ir.Construct: lambda node: self.constructed(node, self._values(_typed(node), node.order)),
            ir.Extract: lambda node: _member(self.evaluate(node.value), node.value.type, node.field),
            ir.AddressOf: lambda node: self.memory.address(node.variable),
            ir.PointerOffset: self._pointer_offset,
            ir.Load: lambda node: self._load(node.place, node.type),
            ir.Call: lambda node: self.call(node, self._values(node.arguments, node.order)),
            ir.Intrinsic: lambda node: self._intrinsic(node.name, node.arguments, node.semantics),
            ir.InlinedCall: lambda node: self.inlined(node, self._values(node.arguments)),
            ir.LaunchCall: self._launch,
            ir.Builtin: _device_code,
            ir.Atomic: _device_code,
            ir.TextureFetch: _device_code,
        }

    def _values(self, nodes: tuple[ir.Expr, ...], order: tuple[int, ...] = ()) -> tuple[Value, ...]:
        if not order:
            return tuple([self.evaluate(node) for node in nodes])
        mark = self.memory.mark()
        found = {at: self.evaluate(nodes[at]) for at in order}
        if self.memory.mark() != mark:
            found.update((at, self._read(n)) for at in order if self.is_in_register(n := nodes[at]))
        return tuple([found[at] for at in range(len(nodes))])

    def last_first(self, nodes: tuple[ir.Expr, ...]) -> tuple[Value, ...]:
        """Values in the order of `nodes` that are evaluated from the last one on, as GCC does arguments."""
        return self._values(nodes, tuple(reversed(range(len(nodes)))))

    @abstractmethod
    def is_in_register(self, node: ir.Expr) -> TypeGuard[ir.Read]:
        """Whether GCC reads what stands beside others when these have been evaluated."""

    def _read(self, node: ir.Read) -> Value:
        place = node.place
        storage = self.memory.storage(place.variable)
        offset = offset_of(place.variable.type, place.path) if place.path else 0
        return self.memory.read(storage, offset, node.type)

    def _launch(self, node: ir.LaunchCall) -> Value:
        self.launch(node)
        return Unknown("a launch has no value")

    def _logical(self, node: ir.Logical) -> Value:
        first = self.evaluate(node.left)
        left = truth(first)
        decisive = node.op is ir.LogicalOp.OR
        if left is decisive:
            return int(decisive)
        if left is None:
            second, changes = self.evaluate_perhaps(node.right, condition_of(first))
            if second is LEFT:
                return int(decisive)
            self.memory.merge({}, changes, condition_of(first))
        else:
            second = self.evaluate(node.right)
        right = truth(second)
        if right is decisive:
            return int(decisive)
        if left is None or right is None:
            return _either_of(decisive, first, second)
        return int(right)

    def _select(self, node: ir.Select) -> Value:
        condition = self.evaluate(node.condition)
        decided = truth(condition)
        if decided is not None:
            return self.evaluate(node.then if decided else node.otherwise)
        then, changes = self.evaluate_perhaps(node.then, condition_of(condition))
        otherwise, others = self.evaluate_perhaps(node.otherwise, condition_of(condition))
        if then is LEFT or otherwise is LEFT:
            self.memory.apply(others if then is LEFT else changes)
            return otherwise if then is LEFT else then
        self.memory.merge(changes, others, condition_of(condition))
        if same(then, otherwise):
            return then
        why = one_of(condition_of(condition), then, otherwise)
        why = of_argc(why, _chosen, condition, then, otherwise)
        if not why.is_option:
            return why
        # `argc > 1 ? atoi(argv[1]) : 1024`: the side that is known is the default.
        if self._without_options(condition) and _is_lost(then):
            return then  # with as many options as the checks before ask for
        if _is_lost(then):
            return otherwise
        return then if _is_lost(otherwise) else replace(why, is_option=False)

    def _place(self, place: ir.Place) -> tuple[Storage, int] | None:
        """Where a write goes; None where nobody knows: then all of the object that it is in is lost."""
        if isinstance(place, ir.RegisterPlace):
            return self.memory.storage(place.variable), offset_of(place.variable.type, place.path)
        pointer = self.evaluate(place.address)
        if isinstance(pointer, Pointer):
            return pointer.storage, pointer.offset
        if isinstance(pointer, Unknown):
            why = replace(pointer, around=(), least=None, by_argc=())
            if pointer.is_anywhere or not pointer.around:
                self.forget_escaped(place, why)
            for perhaps in pointer.around:
                self.memory.forget_behind(perhaps, why)
        return None

    def _assign(self, node: ir.Assign) -> Value:
        value = self.evaluate(node.value)
        where = self._place(node.target)
        type_ = node.target.type
        if where is None:
            return value
        if node.op is not None:
            old = self.memory.read(*where, type_)
            value = (
                Unknown("pointer arithmetic")
                if isinstance(old, Pointer)
                else binary(node.op, old, value, node.operand_type)
            )
        self.memory.write(*where, value, type_)
        return value if is_aggregate(type_) else self.memory.read(*where, type_)

    def _increment(self, node: ir.Increment) -> Value:
        where = self._place(node.target)
        if where is None:
            return Unknown("an object behind an unknown pointer")
        type_ = node.target.type
        old = self.memory.read(*where, type_)
        if isinstance(old, str) and type_.element is not None and type_.element.bits == 8:
            old = text_storage(old, is_literal=True)
        new: Value = old
        if isinstance(old, Pointer):
            new = replace(old, offset=old.offset + node.delta * node.step_bytes)
        elif isinstance(old, (int, float)):
            new = convert(old + node.delta, type_)
        elif isinstance(old, Unknown):
            new = of_argc(old, lambda known: binary(ir.BinaryOp.ADD, known[0], node.delta, type_), old)
        self.memory.write(*where, new, type_)
        return new if node.is_prefix else old

    def _pointer_offset(self, node: ir.PointerOffset) -> Value:
        pointer = self.evaluate(node.pointer)
        index = 0 if node.index is None else self.evaluate(node.index)
        if isinstance(pointer, str):
            pointer = text_storage(pointer, is_literal=True)
        if not isinstance(pointer, Pointer):
            return pointer if isinstance(pointer, Unknown) else Unknown("an element of something unknown")
        if not isinstance(index, int):
            why = index if isinstance(index, Unknown) else Unknown("an element at an unknown index")
            return replace(why, around=(pointer,), least=None, by_argc=(), course=Course.ANY)
        step = index * node.scale_bytes
        offset = pointer.offset + node.offset_bytes + (-step if node.subtract else step)
        return replace(pointer, offset=offset, member_bytes=_member_bytes(node))

    def _load(self, place: ir.MemoryPlace, type_: ir.Type) -> Value:
        pointer = self.evaluate(place.address)
        if isinstance(pointer, str) and type_.bits == 8:
            pointer = text_storage(pointer, is_literal=True)
        self.loaded_at[id(place)] = pointer
        if isinstance(pointer, Pointer):
            return self.memory.read(pointer.storage, pointer.offset, type_)
        if isinstance(pointer, Unknown):
            if not pointer.around:
                return without_argc(pointer)
            return loaded_from(pointer.around, pointer, type_)
        return Unknown("memory the host code fills at run time")

    def _intrinsic(self, name: str, arguments: tuple[ir.Expr, ...], semantics: ir.Semantics) -> Value:
        if name == "sizeof":
            return Unknown("the size of a type that is not known")
        values = tuple(self.evaluate(argument) for argument in arguments)
        found = host_api.mathematics(name, values)
        return without_argc(host_api.by_semantics(semantics, values) if found is None else found)


_SCALARS = (ir.TypeKind.INT, ir.TypeKind.FLOAT, ir.TypeKind.POINTER)


def _member_bytes(node: ir.PointerOffset) -> int:
    """Of the address of a member: the bytes of the scalar or array that it is; else 0."""
    element = node.type.element or ir.UNKNOWN_TYPE
    if node.index is not None or element.kind not in (*_SCALARS, ir.TypeKind.ARRAY) or element.lanes > 1:
        return 0
    whole = node.pointer.type.element or ir.UNKNOWN_TYPE
    members = (member.type for member in whole.fields if member.offset_bytes == node.offset_bytes)
    return next(
        (type_.size_bytes for type_ in members if type_.kind is ir.TypeKind.ARRAY), element.size_bytes
    )


def _typed(node: ir.Construct) -> tuple[ir.Expr, ...]:
    """The parts; those of an array of pairs or vectors may be written `{a, b}`, without a type."""
    element = node.type.element if node.type.kind is ir.TypeKind.ARRAY else None
    if element is None or element.kind is not ir.TypeKind.RECORD:
        return node.arguments
    return tuple(_of_type(part, element) for part in node.arguments)


def _of_type(part: ir.Expr, element: ir.Type) -> ir.Expr:
    if isinstance(part, ir.Construct) and part.type.kind is ir.TypeKind.VOID:
        return replace(part, type=element)
    is_list = is_vector(element) and part.type.kind is ir.TypeKind.ARRAY
    return ir.Construct((part,), (), element, part.span) if is_list else part


def _is_lost(value: Value) -> bool:
    return isinstance(value, Unknown) and not any(number is not None for number in value.by_argc)


def _either_of(decisive: bool, first: Value, second: Value) -> Unknown:
    """`first && second`, or `first || second` where `decisive`, of which neither decides."""
    sides = condition_of(first), condition_of(second)
    why = replace(cause(*sides), least=None, by_argc=())
    if not any(isinstance(side, Unknown) and side.by_argc for side in (first, second)):
        return why
    found: list[int | None] = []
    for argc in range(1, MOST_ARGC + 1):
        one, two = truth(_at(first, argc)), truth(_at(second, argc))
        is_open = decisive not in (one, two)
        found.append(None if is_open and None in (one, two) else int(decisive is not is_open))
    return replace(why, by_argc=tuple(found))


def _chosen(known: tuple[Value, ...]) -> Value:
    """The side that `known`, a condition and two sides, says."""
    decided = truth(known[0])
    return Unknown("a condition") if decided is None else known[1 if decided else 2]


def _at(value: Value, argc: int) -> Value:
    known = value.at(argc) if isinstance(value, Unknown) else value
    return value if known is None else known


def _device_code(_: ir.Expr) -> Value:
    return Unknown("device code")


def _whole(value: Value, node: ir.Cast) -> Value:
    """`value`; what an integer is made of keeps its order, if any."""
    if isinstance(value, Unknown) and value.course is Course.STEADY and node.operand.type.is_float:
        return with_course(value, Course.STEADY if node.type.is_float else Course.ONE_WAY)
    return value


def _unary(op: ir.UnaryOp, value: Value, type_: ir.Type) -> Value:
    if isinstance(value, Unknown):
        why = value if op is ir.UnaryOp.NEGATE else with_course(value, Course.ANY)
        return of_argc(why, lambda known: _unary(op, known[0], type_), value)
    if op is ir.UnaryOp.NOT:
        known = truth(value)
        return condition_of(value) if known is None else int(not known)
    if not isinstance(value, (int, float)):
        return Unknown("arithmetic on something that is no number")
    if op is ir.UnaryOp.NEGATE:
        return convert(-value, type_)
    return convert(~int(value), type_)


def _member(value: Value, type_: ir.Type, field: str) -> Value:
    if isinstance(value, Record):
        return value.cells.get(member_of(type_, field)[0], Unknown(f"member '{field}'"))
    return value if isinstance(value, Unknown) else Unknown(f"member '{field}'")
