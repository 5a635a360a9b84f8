"""Operators on values and objects: arithmetic, assignment, increments, addresses, conditionals."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import UnaryOperator as U
from wattslice.frontend.cuda.lowering import folding
from wattslice.frontend.cuda.lowering.context import Body, Cell, LoweringError, expression
from wattslice.frontend.cuda.lowering.inlining import function_named
from wattslice.frontend.cuda.lowering.known import known_value
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    note_pointer,
    place_for_access,
    read,
    with_effects,
)
from wattslice.frontend.cuda.lowering.types import common_type, pointer_to, promoted
from wattslice.ir import (
    BOOL,
    INT32,
    Assign,
    Binary,
    BinaryOp,
    Constant,
    Expr,
    Increment,
    Load,
    Logical,
    LogicalOp,
    PointerOffset,
    RegisterPlace,
    Select,
    Span,
    Type,
    TypeKind,
    UnaryOp,
)

_ARITHMETIC: dict[int, BinaryOp] = {
    B.MUL: BinaryOp.MUL,
    B.DIV: BinaryOp.DIV,
    B.REM: BinaryOp.MOD,
    B.ADD: BinaryOp.ADD,
    B.SUB: BinaryOp.SUB,
    B.SHL: BinaryOp.SHL,
    B.SHR: BinaryOp.SHR,
    B.LT: BinaryOp.LT,
    B.GT: BinaryOp.GT,
    B.LE: BinaryOp.LE,
    B.GE: BinaryOp.GE,
    B.EQ: BinaryOp.EQ,
    B.NE: BinaryOp.NE,
    B.AND: BinaryOp.AND,
    B.XOR: BinaryOp.XOR,
    B.OR: BinaryOp.OR,
}
_COMPOUND: dict[int, BinaryOp] = {
    B.MUL_ASSIGN: BinaryOp.MUL,
    B.DIV_ASSIGN: BinaryOp.DIV,
    B.REM_ASSIGN: BinaryOp.MOD,
    B.ADD_ASSIGN: BinaryOp.ADD,
    B.SUB_ASSIGN: BinaryOp.SUB,
    B.SHL_ASSIGN: BinaryOp.SHL,
    B.SHR_ASSIGN: BinaryOp.SHR,
    B.AND_ASSIGN: BinaryOp.AND,
    B.XOR_ASSIGN: BinaryOp.XOR,
    B.OR_ASSIGN: BinaryOp.OR,
}
_UNARY: dict[int, UnaryOp] = {U.MINUS: UnaryOp.NEGATE, U.NOT: UnaryOp.INVERT, U.LNOT: UnaryOp.NOT}
OPERATOR_NAMES: dict[str, BinaryOp] = {f"operator{op.value}": op for op in BinaryOp} | {
    f"operator{op.value}=": op for op in _COMPOUND.values()
}


@expression(C.BINARY_OPERATOR)
def _(body: Body, node: Node) -> Expr:
    children = node.children
    if len(children) != 2:
        raise LoweringError("operator with a side that could not be read", node)
    kind = int(node.binary_operator)
    if kind == B.ASSIGN:
        return assign(body, children[0], None, children[1], node)
    span = body.span(node)
    if kind in (B.LAND, B.LOR):
        return _logical(body, node, kind, span)
    left = body.expr(children[0])
    right = body.expr(children[1])
    if kind == B.COMMA:
        if isinstance(left, Load):  # named, but its value is not asked for
            left = left.place.address
        return Binary(BinaryOp.COMMA, left, right, right.type, right.type, span)
    op = _ARITHMETIC.get(kind)
    if op is None:
        raise LoweringError("pointer to member or three-way comparison", node)
    return arithmetic(body, op, left, right, body.type(node), span)


def arithmetic(body: Body, op: BinaryOp, left: Expr, right: Expr, type_: Type, span: Span) -> Expr:
    """A binary operator on two values, pointer arithmetic included."""
    if left.type.kind in (TypeKind.POINTER, TypeKind.ARRAY) and op in (BinaryOp.ADD, BinaryOp.SUB):
        if right.type.kind not in (TypeKind.POINTER, TypeKind.ARRAY):
            return offset(body, left, right, op is BinaryOp.SUB, span)
    elif right.type.kind in (TypeKind.POINTER, TypeKind.ARRAY) and op is BinaryOp.ADD:
        return offset(body, right, left, False, span)
    if op in (BinaryOp.SHL, BinaryOp.SHR):
        operand_type = promoted(left.type)
    else:
        operand_type = common_type(left.type, right.type)
    if op in (BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ, BinaryOp.NE):
        type_ = BOOL
    elif type_.kind in (TypeKind.UNKNOWN,) or type_.name == "dependent":
        type_ = operand_type
    return folding.binary(op, left, right, operand_type, type_, span)


def offset(body: Body, pointer: Expr, index: Expr, subtract: bool, span: Span) -> Expr:
    """`pointer + index`, written as such."""
    element = pointer.type.element
    scale = element.size_bytes if element is not None else 1
    result_type = pointer.type if pointer.type.kind is TypeKind.POINTER else pointer_to(element or INT32)
    return PointerOffset(pointer, index, max(1, scale), 0, True, subtract, result_type, span)


def _logical(body: Body, node: Node, kind: int, span: Span) -> Expr:
    left = body.expr(node.children[0])
    if isinstance(left, Constant):
        if bool(left.value) == (kind == B.LOR):
            return Constant(int(kind == B.LOR), BOOL, span)
        return folding.cast(body.expr(node.children[1]), BOOL, span)
    region = body.region()
    mark = len(body.before)
    right = with_effects(body, mark, body.expr(node.children[1]))
    op = LogicalOp.AND if kind == B.LAND else LogicalOp.OR
    return Logical(op, left, right, region, BOOL, body.unit.spans.span(node.children[1]))


@expression(C.COMPOUND_ASSIGNMENT_OPERATOR)
def _(body: Body, node: Node) -> Expr:
    children = node.children
    if len(children) != 2:
        raise LoweringError("assignment with a side that could not be read", node)
    return assign(body, children[0], _COMPOUND[node.binary_operator], children[1], node)


def assign(body: Body, target: Node, op: BinaryOp | None, value: Node, node: Node) -> Expr:
    """`target = value`, `target op= value`."""
    where = body.location(target)
    if where is None:
        raise LoweringError("assignment to something that is no object known here", node)
    result = body.expr(value)
    return assign_value(body, where, op, result, body.span(node))


def assign_value(body: Body, where: object, op: BinaryOp | None, value: Expr, span: Span) -> Expr:
    """Store a value that has been built already."""
    assert isinstance(where, RegisterPlace | Cell)
    if op is None:
        operand_type = where.type
        if isinstance(where, RegisterPlace):
            note_pointer(body, where.variable, where.path, value)
    elif op in (BinaryOp.SHL, BinaryOp.SHR):
        operand_type = promoted(where.type)
    else:
        operand_type = common_type(where.type, value.type)
    return Assign(place_for_access(body, where), op, value, operand_type, where.type, span)


@expression(C.UNARY_OPERATOR)
def _(body: Body, node: Node) -> Expr:
    kind = int(node.unary_operator)
    span = body.span(node)
    if len(node.children) != 1:
        raise LoweringError("operator with an operand that could not be read", node)
    child = node.children[0]
    if kind in (U.POST_INC, U.POST_DEC, U.PRE_INC, U.PRE_DEC):
        where = body.location(child)
        if where is None:
            raise LoweringError("increment of something that is no object known here", node)
        step = 1
        if where.type.kind is TypeKind.POINTER and where.type.element is not None:
            step = max(1, where.type.element.size_bytes)
        return Increment(
            place_for_access(body, where),
            1 if kind in (U.POST_INC, U.PRE_INC) else -1,
            kind in (U.PRE_INC, U.PRE_DEC),
            step,
            where.type,
            span,
        )
    if kind == U.ADDR_OF:
        if body.is_host and body.type(child).name == "function":
            return body.expr(child)
        inner = body.location(child)
        if inner is None:
            if not body.is_host and function_named(body, child) is None:
                raise LoweringError("address of an object that is not known here", node)
            return body.expr(child)  # the address of a function
        return address_of(body, inner, span)
    if kind == U.DEREF:
        where = body.location(node)
        if where is None:
            raise LoweringError("dereference that could not be read", node)
        return read(body, where, span)
    operand = body.expr(child)
    op = _UNARY.get(kind)
    if op is None:  # unary plus, __extension__, __real
        return operand
    type_ = BOOL if op is UnaryOp.NOT else body.type(node)
    if type_.kind is TypeKind.UNKNOWN:
        type_ = operand.type
    return folding.unary(op, operand, type_, span)


@expression(C.CONDITIONAL_OPERATOR)
def _(body: Body, node: Node) -> Expr:
    children = node.children
    if len(children) != 3:
        raise LoweringError("conditional with a part that could not be read", node)
    condition = body.expr(children[0])
    if isinstance(condition, Constant):
        return body.expr(children[1] if condition.value else children[2])
    known = known_value(body, condition) if body.known else None
    then_region = body.region()
    otherwise_region = body.region()
    if known is None:
        mark = len(body.before)
        then = with_effects(body, mark, body.expr(children[1]))
        mark = len(body.before)
        otherwise = with_effects(body, mark, body.expr(children[2]))
    else:  # recursion: the arm that is not taken would never end
        taken = body.expr(children[1] if known else children[2])
        never = Constant(0, taken.type, taken.span)
        then, otherwise = (taken, never) if known else (never, taken)
    type_ = body.type(node)
    if type_.kind is TypeKind.UNKNOWN or type_.name == "dependent":
        type_ = common_type(then.type, otherwise.type)
    span = body.unit.spans.span(node)  # its own, which tells several in one statement apart
    return Select(condition, then, otherwise, then_region, otherwise_region, type_, span)
