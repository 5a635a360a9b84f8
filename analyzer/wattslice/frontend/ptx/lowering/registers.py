"""The registers of one function: their variables, what they stand for, and expressions not yet written out.

A register that is written once and read once, in the same block, becomes part of the expression that reads
it, as a person would have written it; what costs nothing (a copy, a parameter, `%tid.x`) never is a
statement of its own. Everything else is a variable.
"""

from __future__ import annotations

import math
import struct
from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.ptx.lowering.blocks import BasicBlock, Pointers, results_of, sources_of
from wattslice.frontend.ptx.operations import POINTER, type_of
from wattslice.frontend.ptx.syntax.syntax import RegisterDeclaration, Statement
from wattslice.ir import BinaryOp, Builtin, Cast, Constant, Expr, Semantics, Span, Type, TypeKind, Variable

MAX_SIZE = 40
"""Nodes of an expression above which it is kept in a variable."""

_BUILTINS = {
    "%tid": ir.BuiltinKind.THREAD_IDX,
    "%ctaid": ir.BuiltinKind.BLOCK_IDX,
    "%ntid": ir.BuiltinKind.BLOCK_DIM,
    "%nctaid": ir.BuiltinKind.GRID_DIM,
}
_AXES = {"x": 0, "y": 1, "z": 2}
_UNIFORM_WORDS = """
    %smid %nsmid %nwarpid %warpid %gridid %clock %clock_hi %clock64 %globaltimer %globaltimer_lo
    %globaltimer_hi %dynamic_smem_size %total_smem_size %aggr_smem_size %clusterid %nclusterid
    %cluster_ctaid %cluster_nctaid %cluster_ctarank %cluster_nctarank %is_explicit_cluster
"""
_UNIFORM = frozenset(_UNIFORM_WORDS.split())


def is_leaf(expr: Expr) -> bool:
    """Whether an expression costs nothing and is the same wherever it stands."""
    if isinstance(expr, Cast):
        return is_leaf(expr.operand) and not expr.operand.type.is_float and expr.type.is_integral
    return isinstance(expr, Constant | Builtin | ir.AddressOf | ir.Read)


class Pending(Struct):
    """An expression whose one reader is still to come, and the registers it reads that may change."""

    expr: Expr
    reads: frozenset[Variable]
    size: int


class Registers:
    """The registers of one function."""

    def __init__(
        self,
        statements: tuple[Statement, ...],
        blocks: list[BasicBlock],
        span: Span,
        taken: frozenset[str] = frozenset(),
    ) -> None:
        self._span = span
        self._taken = taken
        self._declared: dict[str, Type] = {}
        self._ranges: dict[str, Type] = {}
        for statement in statements:
            if isinstance(statement, RegisterDeclaration):
                named = self._declared if statement.count is None else self._ranges
                named[statement.name] = type_of(statement.type, statement.lanes)
        self._written: Counter[str] = Counter()
        self._read: Counter[str] = Counter()
        self._home: dict[str, tuple[int, int]] = {}
        local: Counter[tuple[str, int]] = Counter()
        for number, block in enumerate(blocks):
            for instruction in block.instructions:
                for name in results_of(instruction):
                    # a result under a guard keeps its old value where the guard does not hold
                    self._written[name] += 1 if instruction.guard is None else 2
                    self._home[name] = (number, instruction.line)
                for name in sources_of(instruction):
                    self._read[name] += 1
                    local[name, number] += 1
        self._local = {
            name
            for name, (number, _) in self._home.items()
            if self._read[name] == 1 and local[name, number] == 1
        }
        self.pointers = Pointers()
        self._variables: dict[str, Variable] = {}
        self._same: dict[str, Expr] = {}
        self.pending: dict[str, Pending] = {}
        self._constant: set[Variable] = set()

    def is_single(self, name: str) -> bool:
        """Whether a register is written once, unconditionally."""
        return self._written[name] == 1

    def is_unused(self, name: str) -> bool:
        """Whether nobody reads a register."""
        return self._read[name] == 0

    def declared_type(self, name: str) -> Type:
        """The type that a `.reg` gives."""
        found = self._declared.get(name)
        return found or self._ranges.get(name.rstrip("0123456789"), ir.INT32)

    def variable(self, name: str, type_: Type | None = None) -> Variable:
        """The variable of a register; `type_`: of what it is given first."""
        known = self._variables.get(name)
        if known is None:
            declared = self.declared_type(name)
            chosen = declared
            if name in self.pointers.registers:
                chosen = POINTER
            elif type_ is not None and type_.is_float and type_.size_bytes == declared.size_bytes:
                chosen = type_
            shown = name.lstrip("%$").replace("@", "_")
            known = Variable(
                f"%{shown}" if shown in self._taken else shown,
                chosen,
                ir.MemorySpace.REGISTER,
                ir.VariableRole.LOCAL,
                self._span,
            )
            self._variables[name] = known
            if self.is_single(name):
                self._constant.add(known)
        return known

    def share(self, name: str, others: Registers, other: str) -> None:
        """`name` is a register of the caller, which passes it by `.reg` parameter."""
        self._variables[name] = others.variable(other)
        self._written[name] = max(2, self._written[name])

    def stand_for(self, name: str, expr: Expr) -> None:
        """From here on `name` is `expr`, which costs nothing."""
        self._same[name] = expr

    def changing(self, expr: Expr) -> frozenset[Variable]:
        """The registers in an expression that may be written again."""
        return frozenset(
            node.place.variable
            for node in ir.walk_expressions(expr)
            if isinstance(node, ir.Read)
            and node.place.variable not in self._constant
            and node.place.variable.role is not ir.VariableRole.PARAMETER
        )

    def wait(self, name: str, expr: Expr) -> bool:
        """Keeps an expression for its one reader in this block; False without one, or if it is too large."""
        size = sum(1 for _ in ir.walk_expressions(expr))
        if name not in self._local or size > MAX_SIZE:
            return False
        self.pending[name] = Pending(expr, self.changing(expr), size)
        return True

    def read(self, name: str, component: str, span: Span) -> Expr:
        """The value of a register, special ones included."""
        kept = self.pending.pop(name, None)
        if kept is not None:
            return kept.expr
        same = self._same.get(name)
        if same is not None:
            return _at(same, span)
        if name.startswith("%") and name not in self._written:
            return _special(name, component, span)
        variable = self.variable(name)
        return ir.Read(ir.RegisterPlace(variable, (), variable.type), variable.type, span)


def _at(expr: Expr, span: Span) -> Expr:
    """A leaf once more, read elsewhere."""
    if isinstance(expr, Cast):
        return replace(expr, operand=_at(expr.operand, span), span=span)
    return replace(expr, span=span)


def _special(name: str, component: str, span: Span) -> Expr:
    if name in _BUILTINS:
        return Builtin(_BUILTINS[name], _AXES.get(component, 0), ir.UINT32, span)
    if name == "WARP_SZ":
        return Builtin(ir.BuiltinKind.WARP_SIZE, 0, ir.INT32, span)
    if name == "%laneid":
        return _lane(span)
    semantics = Semantics.UNIFORM if name in _UNIFORM else Semantics.OPAQUE
    return ir.Intrinsic(name.lstrip("%"), (), (), semantics, False, ir.UINT32, span)


def _lane(span: Span) -> Expr:
    """`((tid.z * ntid.y + tid.y) * ntid.x + tid.x) % 32`, which the hardware knows for nothing."""

    def known(semantics: Semantics, a: Expr, b: Expr) -> Expr:
        return ir.Intrinsic("laneid", (a, b), (), semantics, False, ir.INT32, span)

    thread = [Builtin(ir.BuiltinKind.THREAD_IDX, axis, ir.UINT32, span) for axis in range(3)]
    extent = [Builtin(ir.BuiltinKind.BLOCK_DIM, axis, ir.UINT32, span) for axis in range(3)]
    row = known(Semantics.ADD, known(Semantics.MUL, thread[2], extent[1]), thread[1])
    linear = known(Semantics.ADD, known(Semantics.MUL, row, extent[0]), thread[0])
    return known(Semantics.MOD, linear, Constant(32, ir.INT32, span))


def float_bits(value: int | float, bits: int) -> float:
    """The number that the bits of an immediate stand for as a floating-point number."""
    if isinstance(value, float):
        return value
    code, size = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[bits]
    return struct.unpack(code, struct.pack(size, value & ((1 << bits) - 1)))[0]


# ---------------------------------------------------------------------------
# Values of registers and immediates: as another type, negated, and whether they may be computed later.


_PURE = (
    Constant,
    Builtin,
    ir.Read,
    ir.AddressOf,
    Cast,
    ir.Unary,
    ir.Binary,
    ir.PointerOffset,
    ir.Logical,
    ir.Select,
)
_EFFECTS = (Semantics.EFFECT, Semantics.BARRIER, Semantics.NONE)


def is_pure(expr: Expr) -> bool:
    """Whether an expression may be computed later: it neither reads memory nor does anything."""
    return all(
        isinstance(node, _PURE)
        or (isinstance(node, ir.Intrinsic) and not node.is_opaque_call and node.semantics not in _EFFECTS)
        for node in ir.walk_expressions(expr)
    )


def constant(value: int | float, type_: Type, span: Span) -> Constant:
    """An immediate as `type_`: integers in its range, floating-point numbers from their bits."""
    if type_.is_float:
        number = float_bits(value, type_.bits) if type_.lanes == 1 and type_.bits in (16, 32, 64) else 0.0
        if type_.bfloat:
            number = float_bits((int(value) & 0xFFFF) << 16, 32)
        return Constant(number, type_, span)
    if isinstance(value, float):
        return Constant(value if math.isfinite(value) else _bits(value, type_.bits), type_, span)
    if type_.kind is TypeKind.BOOL:
        return Constant(int(value != 0), type_, span)
    bits = type_.bits or 64
    value &= (1 << bits) - 1
    if type_.signed and type_.kind is TypeKind.INT and value >> (bits - 1):
        value -= 1 << bits
    return Constant(value, type_, span)


def _bits(value: float, bits: int) -> int:
    """An infinity or no number as the bits that an integer register holds of it."""
    wide = bits == 64
    return int.from_bytes(struct.pack(">d" if wide else ">f", value), "big", signed=True)


def as_type(value: Expr, type_: Type, span: Span) -> Expr:
    """The bits of a register read as `type_`: another sign or width, or a number of the other kind."""
    own = value.type
    if own.kind is TypeKind.POINTER or own == type_ or TypeKind.BOOL in (own.kind, type_.kind):
        return value
    if isinstance(value, Constant) and (own.is_float == type_.is_float or isinstance(value.value, int)):
        return constant(value.value, type_, span) if isinstance(value.value, int) else value
    if (own.kind is TypeKind.FLOAT) != (type_.kind is TypeKind.FLOAT):
        if type_.kind is TypeKind.POINTER:
            return value
        return bit_cast(value, type_, span)
    if own.is_float or (own.bits == type_.bits and own.signed == type_.signed):
        return value
    return Cast(value, type_, span)


def bit_cast(value: Expr, type_: Type, span: Span) -> Expr:
    """The bits of a value as another kind of number, which costs nothing."""
    return ir.Intrinsic("bit_cast", (value,), (), Semantics.OPAQUE, False, type_, span)


def fitted(value: Expr, type_: Type, span: Span) -> Expr:
    """A value as a variable of `type_` holds it."""
    if value.type.kind is TypeKind.INT and type_.kind is TypeKind.INT:
        return as_type(value, type_, span)
    return value


def negated(condition: Expr) -> Expr:
    """`!condition`; integers are compared the other way round."""
    if isinstance(condition, ir.Unary) and condition.op is ir.UnaryOp.NOT:
        return condition.operand
    if (
        isinstance(condition, ir.Binary)
        and condition.op in ir.COMPARISONS
        and (not condition.operand_type.is_float or condition.op in (BinaryOp.EQ, BinaryOp.NE))
    ):
        return replace(condition, op=ir.NEGATED[condition.op])
    return ir.Unary(ir.UnaryOp.NOT, condition, ir.BOOL, condition.span)
