"""Inline PTX: loads, stores and atomics become accesses of their address, the rest counts by mnemonic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, field

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, Location, printed_text
from wattslice.frontend.cuda.lowering.expressions import convert
from wattslice.frontend.cuda.lowering.memory import note_pointer, place_for_access, pointee_of
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.frontend.ptx.operations import (
    ACCESSES,
    UNCOUNTED_PRODUCT,
    AccessKind,
    access_kind_of,
    is_uncounted_product,
    operations_of,
    parts_of,
    type_of,
)
from wattslice.frontend.ptx.syntax.parser import fragment
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Immediate,
    Instruction,
    Operand,
    Register,
    Sink,
    Vector,
)
from wattslice.ir import Expr, ExprStmt, Intrinsic, MemoryPlace, Read, Semantics, Span, Stmt, Type, TypeKind
from wattslice.patterns import regex

_STRING = regex(r'"((?:[^"\\]++|\\.)*+)"', re.S)
_NAMED = regex(r"^\s*(?:\[\s*(\w+)\s*\])?\s*\"([^\"]*)")
_VOLATILE = regex(r"\s*(?:__)?asm(?:__)?\s+(?:__)?volatile(?:__)?\b")
_BEGIN = regex(r"\basm\b[\w\s]*\(")
_TOKEN = regex(r'"(?:[^"\\]++|\\.)*+"|[][():]', re.S)
_NAME = regex(r"%\[\s*(\w+)\s*\]")
_LANE_NAMES = "xyzw"


def _sections(text: str) -> list[str]:
    """The parts of an asm statement between its top-level colons: template, outputs, inputs, clobbers."""
    parts: list[str] = []
    depth = begin = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        depth += (sign in "([") - (sign in ")]")
        if sign == ":" and depth == 1:
            parts.append(text[begin : token.start()])
            begin = token.end()
    return [*parts, text[begin:]]


class _Operand(Struct, frozen=True):
    """An operand as declared: its symbolic name (empty where there is none) and its constraint."""

    name: str
    constraint: str


def _declared(section: str) -> list[_Operand]:
    """The operands in one section, in order."""
    found: list[_Operand] = []
    depth = 0
    start = True
    for piece in re.split(r'((?:\[\s*\w+\s*\]\s*)?"(?:[^"\\]|\\.)*")', section):
        if start and depth == 0 and (match := _NAMED.match(piece)) is not None:
            found.append(_Operand(match[1] or "", match[2]))
            start = False
            continue
        for char in piece:
            depth += (char in "([{") - (char in ")]}")
            start = start or (char == "," and depth == 0)
    return found


class _Operands(Struct):
    """The operands of one asm statement: outputs first, each input evaluated at most once.

    `is_volatile`: the statement happens whether or not anybody uses its outputs.
    """

    body: Body
    span: Span
    outputs: list[Node]
    inputs: list[Node]
    declared: list[_Operand]
    is_volatile: bool
    before: list[Stmt] = field(default_factory=list[Stmt])
    _values: dict[int, Expr] = field(default_factory=dict[int, Expr])

    def index(self, written: Operand) -> int | None:
        """The position of `%3`; None for a register of the PTX text itself."""
        number = written.name[1:] if isinstance(written, Register) else ""
        if not number.isdecimal():
            return None
        return int(number) if int(number) < len(self.outputs) + len(self.inputs) else None

    def output(self, written: Operand) -> Location | None:
        """Where an output operand is; None when `written` names none."""
        at = self.index(written)
        return None if at is None or at >= len(self.outputs) else self.body.location(self.outputs[at])

    def value(self, at: int) -> Expr:
        """The value of an operand. What is not free to repeat is kept in a variable before the statement."""
        if (known := self._values.get(at)) is not None:
            return known
        if at < len(self.outputs):
            return self.body.expr(self.outputs[at])
        value = self.body.expr(self.inputs[at - len(self.outputs)])
        if not isinstance(value, ir.Constant | Read | ir.AddressOf):
            kept = self.body.temporary("operand", value.type, self.span)
            note_pointer(self.body, kept, (), value)
            self.before.append(ir.Declare(kept, value, self.body.region(), self.span))
            value = Read(ir.RegisterPlace(kept, (), value.type), value.type, self.span)
        self._values[at] = value
        return value

    def read(self, written: Operand, type_: Type) -> Expr:
        """The value stored from an operand or PTX register, as `type_`."""
        at = self.index(written)
        if isinstance(written, Immediate) and isinstance(written.value, int) and type_.kind is TypeKind.INT:
            return ir.Constant(written.value, type_, self.span)
        if at is None:
            return Intrinsic("asm register", (), (), Semantics.OPAQUE, False, type_, self.span)
        value = self.value(at)
        same = value.type.size_bytes == type_.size_bytes and value.type.lanes == 1
        return _same_bits(value, type_) if same else convert(self.body, value, type_, self.span)

    @property
    def all_inputs(self) -> tuple[Expr, ...]:
        """The values of the outputs that are read as well (`"+f"`), then every input's."""
        outputs = zip(range(len(self.outputs)), self.declared, strict=False)
        read = [at for at, operand in outputs if operand.constraint.startswith("+")]
        read.extend(range(len(self.outputs), len(self.outputs) + len(self.inputs)))
        return tuple(map(self.value, read))


def lower_assembly(body: Body, node: Node) -> list[Stmt]:
    """The instructions of one `asm` statement."""
    span = body.span(node)
    text = body.unit.spans.text(node) or printed_text(body, node, _is_assembly, _printed_statements)
    if not text:
        body.hole("PW006", span, "inline assembly whose text could not be read")
    sections = _sections(text)
    template = "".join(_STRING.findall(sections[0])).encode().decode("unicode_escape", "replace")
    declared = _declared(sections[1]) if len(sections) > 1 else []
    children = [child for child in node.children if 100 <= child.kind < 200]
    children = [child for child in children if child.kind != C.STRING_LITERAL]
    outputs = children[: len(declared)]
    declared += _declared(sections[2]) if len(sections) > 2 else []
    is_volatile = not outputs or _VOLATILE.match(text) is not None
    operands = _Operands(body, span, outputs, children[len(outputs) :], declared, is_volatile)
    rest: list[Instruction] = []
    loads: list[Stmt] = []
    stores: list[Stmt] = []
    written: set[int] = set()
    instructions = fragment(_numbered(template, declared))
    predicates = _Predicates(operands, instructions)
    for instruction in instructions:
        if instruction.opcode.lower() in _BRANCHES:
            continue
        access = _access_of(instruction)
        at = None if access is None else operands.index(access.base)
        if access is None or at is None:
            rest.append(instruction)
            continue
        place = _place(operands, access, operands.value(at))
        if access.kind.is_store:
            stores += predicates.guarded(instruction, [_store(body, access, place, operands)])
            continue
        loads += predicates.guarded(instruction, _load(body, access, place, operands))
        written.update(i for i in map(operands.index, access.values) if i is not None)
    name = "asm " + " ".join(template.split())[:40]
    operations = _operations_of([one for one in rest if one not in predicates.followed])
    waits = all(o.operation is ir.OperationClass.BARRIER for o in operations) and not (loads or stores)
    if not waits and any(one.opcode.lower() in _BRANCHES for one in instructions):
        body.hole(
            "PW006", span, "not read: a branch in inline assembly, what it repeats or skips counts once"
        )
    if any(is_uncounted_product(one.mnemonic.lower()) for one in rest):
        body.hole("PW006", span, UNCOUNTED_PRODUCT)
    middle = _others(body, operands, written, name, operations) if rest or not (loads or stores) else []
    return [*operands.before, *loads, *middle, *stores]


def _others(
    body: Body, operands: _Operands, written: set[int], name: str, operations: tuple[ir.OperationCount, ...]
) -> list[Stmt]:
    """What is no plain access: the outputs get unknown values, the first of them with all the operations."""
    span = operands.span
    inputs = operands.all_inputs
    result: list[Stmt] = []
    left = operations
    for at, child in enumerate(operands.outputs):
        where = None if at in written else body.location(child)
        if where is None:
            continue
        value = _unknown(operands, name, inputs if not result else (), left, where.type)
        result.append(_assigned(body, where, value, span))
        left = ()
    if not result and (operations or not written):
        result.append(ExprStmt(_unknown(operands, name, inputs, operations, ir.VOID), body.region(), span))
    return result


def _unknown(
    operands: _Operands,
    name: str,
    inputs: tuple[Expr, ...],
    operations: tuple[ir.OperationCount, ...],
    type_: Type,
) -> Expr:
    semantics = Semantics.EFFECT if operands.is_volatile else Semantics.OPAQUE
    if any(o.operation is ir.OperationClass.BARRIER for o in operations):
        semantics = Semantics.BARRIER
    return Intrinsic(name, inputs, operations, semantics, False, type_, operands.span)


def _assigned(body: Body, where: Location, value: Expr, span: Span) -> Stmt:
    return ExprStmt(
        ir.Assign(place_for_access(body, where), None, value, where.type, where.type, span),
        body.region(),
        span,
    )


def _place(operands: _Operands, access: _Access, base: Expr) -> MemoryPlace:
    """The object accessed: the space is the mnemonic's, of a generic address the pointer's."""
    body, span = operands.body, operands.span
    pointer_type = pointer_to(access.kind.type)
    found = pointee_of(body, base)
    address = base if base.type.kind is TypeKind.POINTER else ir.Cast(base, pointer_type, span)
    if access.offset_bytes:
        address = ir.PointerOffset(address, None, 1, access.offset_bytes, False, False, pointer_type, span)
    generic = ir.MemorySpace.GLOBAL if found is None else found.space
    root = None if found is None or base.type.kind is not TypeKind.POINTER else found.root
    kind, is_volatile = access.kind, operands.is_volatile
    return MemoryPlace(
        address, kind.space or generic, kind.type, root, body.site(), is_volatile, kind.skips_l1, True
    )


def _load(body: Body, access: _Access, place: MemoryPlace, operands: _Operands) -> list[Stmt]:
    """The access, and what it yields put into the outputs (a register of the PTX text gets nothing)."""
    span = operands.span
    value: Expr = ir.Load(place, access.kind.type, span)
    if access.kind.atomic is not None:
        arguments = tuple(operands.read(written, access.kind.type) for written in access.values[1:])
        value = ir.Atomic(access.kind.atomic, place, arguments, access.kind.type, span)
    targets = [operands.output(written) for written in access.values[: access.kind.type.lanes]]
    if len(targets) == 1 and targets[0] is not None:
        return [_assigned(body, targets[0], _fitted(body, value, targets[0].type, span), span)]
    if not any(targets):
        load = ExprStmt(value, body.region(), span)
        if access.kind.atomic is not None or not isinstance(access.values[0], Sink):
            return [load]
        # Of cp.async the store is not in the tree: who computes values must not take the load for all of it.
        store = Intrinsic("asm cp.async", (), (), Semantics.NONE, False, ir.VOID, span)
        return [load, ExprStmt(store, body.region(), span)]
    kept = body.temporary("loaded", access.kind.type, span)
    result: list[Stmt] = [ir.Declare(kept, value, body.region(), span)]
    lane = access.kind.type.lane
    for name, target in zip(_LANE_NAMES, targets, strict=False):
        if target is not None:
            part = Read(ir.RegisterPlace(kept, (name,), lane), lane, span)
            result.append(_assigned(body, target, _fitted(body, part, target.type, span), span))
    return result


def _fitted(body: Body, value: Expr, type_: Type, span: Span) -> Expr:
    """Registers of one width hold the bits of any type: only a change of width is a conversion."""
    if value.type.size_bytes == type_.size_bytes:
        return _same_bits(value, type_)
    return convert(body, value, type_, span)


def _same_bits(value: Expr, type_: Type) -> Expr:
    """The bits of a number seen as another type of the same size, which costs nothing."""
    if value.type.is_float == type_.is_float or TypeKind.UNKNOWN in (value.type.kind, type_.kind):
        return value
    return Intrinsic("bit_cast", (value,), (), Semantics.OPAQUE, False, type_, value.span)


def _store(body: Body, access: _Access, place: MemoryPlace, operands: _Operands) -> Stmt:
    lane = access.kind.type.lane
    parts = tuple(operands.read(written, lane) for written in access.values)
    value = parts[0]
    if len(parts) > 1:
        value = ir.Construct(parts, tuple(_LANE_NAMES[: len(parts)]), access.kind.type, operands.span)
    stored = ir.Assign(place, None, value, access.kind.type, access.kind.type, operands.span)
    return ExprStmt(stored, body.region(), operands.span)


# --------------------------------------------------------------------------- text out of macros


def _is_assembly(node: Node) -> bool:
    return node.kind == C.ASM_STMT


def _printed_statements(text: str) -> Iterator[str]:
    """Every `asm (...)` in the text of a function, up to its closing parenthesis."""
    for match in _BEGIN.finditer(text):
        depth = 1
        for token in _TOKEN.finditer(text, match.end()):
            depth += (token[0] == "(") - (token[0] == ")")
            if depth == 0:
                yield text[match.start() : token.end()]
                break


# --------------------------------------------------------------------------- instructions


_BRANCHES = frozenset({"bra", "brx", "call"})

_COMPARISONS = {
    "eq": ir.BinaryOp.EQ,
    "ne": ir.BinaryOp.NE,
    "lt": ir.BinaryOp.LT,
    "le": ir.BinaryOp.LE,
    "gt": ir.BinaryOp.GT,
    "ge": ir.BinaryOp.GE,
    "lo": ir.BinaryOp.LT,
    "ls": ir.BinaryOp.LE,
    "hi": ir.BinaryOp.GT,
    "hs": ir.BinaryOp.GE,
}


class _Predicates:
    """The guards of accesses: `@p ld`. `followed`: the `setp` that became comparisons of the tree."""

    def __init__(self, operands: _Operands, instructions: tuple[Instruction, ...]) -> None:
        self.followed: list[Instruction] = []
        self._operands = operands
        self._known: dict[str, ir.Variable] = {}
        self._set_by: dict[str, list[Instruction]] = {}
        self._changed: set[int | None] = set()
        for instruction in instructions:
            target = instruction.operands[0] if instruction.operands else None
            if isinstance(target, Register):
                self._set_by.setdefault(target.name, []).append(instruction)
                self._changed.add(operands.index(target))

    def guarded(self, instruction: Instruction, run: list[Stmt]) -> list[Stmt]:
        """What `instruction` runs, under its guard."""
        guard, operands = instruction.guard, self._operands
        if guard is None:
            return run
        body, span = operands.body, operands.span
        if guard.register not in self._known:
            kept = body.temporary("predicate", ir.BOOL, span)
            operands.before.append(ir.Declare(kept, self._condition(guard.register), body.region(), span))
            self._known[guard.register] = kept
        kept = self._known[guard.register]
        condition: Expr = Read(ir.RegisterPlace(kept, (), ir.BOOL), ir.BOOL, span)
        if guard.negated:
            condition = ir.Unary(ir.UnaryOp.NOT, condition, ir.BOOL, span)
        return [ir.If(condition, ir.Block(tuple(run), body.region(), span), None, body.region(), span)]

    def _condition(self, register: str) -> Expr:
        """The comparison of operands that sets a predicate, and nothing else does; else an unknown value."""
        operands, span = self._operands, self._operands.span
        found = self._set_by.get(register, [])
        if len(found) == 1 and found[0].opcode.lower() == "setp" and found[0].guard is None:
            (test,) = found
            op = _COMPARISONS.get(test.modifiers[0].lower()) if len(test.modifiers) == 2 else None
            sides = test.operands[1:]
            if op is not None and len(sides) == 2 and all(map(self._is_given, sides)):
                self.followed.append(test)
                type_ = type_of(test.modifiers[1].lower())
                left, right = (operands.read(side, type_) for side in sides)
                return ir.Binary(op, left, right, type_, ir.BOOL, span)
        return Intrinsic("asm predicate", (), (), Semantics.OPAQUE, False, ir.BOOL, span)

    def _is_given(self, side: Operand) -> bool:
        at = self._operands.index(side)
        return isinstance(side, Immediate) or (at is not None and at not in self._changed)


class _Access(Struct, frozen=True):
    """`ld`, `st`, `atom` or `red` with a plain address operand.

    `base` holds the address, `offset_bytes` is added to it. `values` are loaded into or stored from, one for
    each lane; of an atomic all operands after the address.
    """

    kind: AccessKind
    base: Operand
    offset_bytes: int
    values: tuple[Operand, ...]


def _numbered(template: str, declared: list[_Operand]) -> str:
    """The PTX of an asm template: `%[name]` by its number, `%%` as `%`, `%=` as a number."""
    names = {operand.name: number for number, operand in reversed(list(enumerate(declared)))}
    text = _NAME.sub(lambda found: f"%{names.get(found[1], found[1])}", template)
    return text.replace("%%", "%").replace("%=", "0")


def _operations_of(instructions: list[Instruction]) -> tuple[ir.OperationCount, ...]:
    """The source operations of instructions, one entry for each class and kind of instruction."""
    counts: dict[tuple[ir.OperationClass, str, float], float] = {}
    for mnemonic, times in Counter(instruction.mnemonic for instruction in instructions).items():
        found = operations_of(mnemonic.lower())
        if found is not None:
            key = found.operation, found.instruction, found.each
            counts[key] = counts.get(key, 0) + times * found.number
    return tuple(ir.OperationCount(cls, number, kind, each) for (cls, kind, each), number in counts.items())


def _access_of(instruction: Instruction) -> _Access | None:
    """The memory access that an instruction is, when its address and width are plain to see."""
    if instruction.opcode.lower() not in ("cp", *ACCESSES):
        return None
    mnemonic, operands = instruction.mnemonic.lower(), list(instruction.operands)
    name, *rest = parts_of(mnemonic)
    kind = access_kind_of(mnemonic)
    if name == "cp" and rest[:1] == ["async"] and "global" in rest and len(operands) >= 3:
        # The load from global memory (the store into shared memory is not counted).
        size = operands[2].value if isinstance(operands[2], Immediate) else 0
        if size not in (4, 8, 16):
            return None
        lanes = int(size) // 4
        words = ir.Type(TypeKind.INT, 32, False, lanes)
        kind = AccessKind(False, None, ir.MemorySpace.GLOBAL, words, "cg" in rest)
        values: tuple[Operand, ...] = (Sink(),) * lanes
    elif name in ("st", "red"):
        operands.insert(0, Sink())
        values = tuple(operands[2:])
    else:
        values = tuple(operands[:1])
    if kind is None or len(operands) < 2 or not isinstance(address := operands[1], Address):
        return None
    if kind.atomic is not None:
        values = (operands[0], *operands[2:])
    else:
        values = values[0].elements if values and isinstance(values[0], Vector) else values
        if len(values) != kind.type.lanes:
            return None
    return _Access(kind, address.base, address.offset, values)
