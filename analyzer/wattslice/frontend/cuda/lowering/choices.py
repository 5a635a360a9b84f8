"""References to one of several objects, which only the run decides: `c ? a : b`, a function's `return`s.

Such an object is named by an address; a register that may be meant is then an object in memory like any
other whose address is taken.
"""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.clang.types import Type as ClangType
from wattslice.frontend.cuda.lowering.context import Body, Cell, Location, Pointee, location
from wattslice.frontend.cuda.lowering.memory import address_of, joined_pointees, pointee_of, with_effects
from wattslice.frontend.cuda.lowering.types import is_wide_record, pointer_to
from wattslice.frontend.cuda.lowering.unit import FunctionInfo
from wattslice.ir import Constant, Expr, MemorySpace, Select, Span


@location(C.CONDITIONAL_OPERATOR)
def _(body: Body, node: Node) -> Location | None:
    """The object at an address that is selected; None when an arm is a mere value, and so the whole."""
    if body.is_host or len(node.children) != 3:
        return None
    condition, *arms = node.children
    if not all(_may_name_an_object(arm) for arm in arms):
        return None
    before = list(body.before)
    chosen = body.expr(condition)
    if isinstance(chosen, Constant):
        return body.location(arms[0] if chosen.value else arms[1])
    span = body.unit.spans.span(node)  # its own, which tells several in one statement apart
    then_region, otherwise_region = body.region(), body.region()
    cells: list[Cell] = []
    addresses: list[Expr] = []
    for arm in arms:
        mark = len(body.before)
        where = body.location(arm)
        if where is None:
            body.before[:] = before
            return None
        cells.append(in_memory(body, where, span))
        addresses.append(with_effects(body, mark, cells[-1].address))
    type_ = cells[0].type
    then, otherwise = addresses
    pointer = Select(chosen, then, otherwise, then_region, otherwise_region, pointer_to(type_), span)
    pointee = one_of(cells)
    return Cell(pointer, pointee.space, type_, pointee.root, any(cell.is_volatile for cell in cells))


def in_memory(body: Body, where: Location, span: Span) -> Cell:
    """An object as one that an address names, also where it is a register."""
    if isinstance(where, Cell):
        return where
    address = address_of(body, where, span)
    del body.register_addresses[id(address)]  # what is reached through it is not always this register
    found = pointee_of(body, address)
    return Cell(address, MemorySpace.LOCAL if found is None else found.space, where.type, where.variable)


def one_of(cells: list[Cell]) -> Pointee:
    """What is known of an object that is one of these."""
    found = Pointee(cells[0].space, cells[0].root)
    for cell in cells[1:]:
        found = joined_pointees(found, Pointee(cell.space, cell.root))
    return found


def is_choice(node: Node) -> bool:
    """Whether an expression is `c ? a : b`, parentheses and implicit conversions aside."""
    while node.kind in (C.PAREN_EXPR, C.UNEXPOSED_EXPR) and len(node.children) == 1:
        node = node.children[0]
    return node.kind == C.CONDITIONAL_OPERATOR


def chooses_result(info: FunctionInfo) -> bool:
    """Whether a function that returns a reference decides while it runs which object that names."""
    if not info.returns_reference or info.body is None:
        return False
    returned = [node.children[0] for node in info.body.walk() if node.kind == C.RETURN_STMT and node.children]
    return len({_name_of(node) for node in returned}) > 1 or any(map(is_choice, returned))


def _name_of(node: Node) -> int:
    """Equal for what certainly names the same object: `*this`, a variable."""
    inner = node.children[0] if node.kind == C.UNARY_OPERATOR and node.children else node
    if inner.kind == C.CXX_THIS_EXPR:
        return 0
    declaration = node.referenced if node.kind == C.DECL_REF_EXPR else None
    return id(node) if declaration is None else declaration.raw.data0


def gives_value(body: Body, info: FunctionInfo) -> bool:
    """Whether a chosen `const T&` is as good as its value: then registers can stay what they are."""
    result = info.declaration.type.result
    type_ = body.unit.types.translate(result.canonical.pointee.raw)
    return is_const_reference(result) and not is_wide_record(type_)


def takes_values(info: FunctionInfo) -> bool:
    """Whether a function changes nothing through references, so that it may get copies for `const T&`."""
    return all(is_const_reference(p.node.type) for p in info.parameters if p.is_reference)


def is_const_reference(type_: ClangType) -> bool:
    """`const T&`."""
    return type_.canonical.kind == K.LVALUEREFERENCE and type_.canonical.pointee.is_const


def must_name_an_object(type_: ClangType) -> bool:
    """`T&`, which C++ never binds to a temporary."""
    return type_.canonical.kind == K.LVALUEREFERENCE and not type_.canonical.pointee.is_const


def _may_name_an_object(node: Node) -> bool:
    while node.kind in (C.PAREN_EXPR, C.UNEXPOSED_EXPR) and len(node.children) == 1:
        node = node.children[0]
    if node.kind == C.BINARY_OPERATOR:
        return node.binary_operator in (B.COMMA, B.ASSIGN)
    return node.kind in _OBJECTS


_OBJECTS = (
    C.DECL_REF_EXPR,
    C.MEMBER_REF_EXPR,
    C.ARRAY_SUBSCRIPT_EXPR,
    C.UNARY_OPERATOR,
    C.COMPOUND_ASSIGNMENT_OPERATOR,
    C.CONDITIONAL_OPERATOR,
    C.CALL_EXPR,
    C.CSTYLE_CAST_EXPR,
    C.CXX_STATIC_CAST_EXPR,
    C.CXX_REINTERPRET_CAST_EXPR,
    C.CXX_CONST_CAST_EXPR,
)
