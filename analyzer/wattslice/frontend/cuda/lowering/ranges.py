"""`for (x : range)` over an object of a class: by its functions `begin` and `end`, and those of iterators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeGuard, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.lowering.context import Binding, Body, Location, LoweringError
from wattslice.frontend.cuda.lowering.inlining import inline, may_inline
from wattslice.frontend.cuda.lowering.memory import location_of_variable, materialise, with_effects
from wattslice.frontend.cuda.lowering.objects import bases_of
from wattslice.frontend.cuda.lowering.statements import bind_parts, declare, loop_body
from wattslice.frontend.cuda.lowering.unit import Unit
from wattslice.ir import Declare, Expr, ExprStmt, InlinedCall, Loop, LoopKind, Read, RegisterPlace, Stmt
from wattslice.ir.loops import canonical


class _Hidden(Struct, frozen=True):
    """What the compiler declares for such a loop: the range, and the iterator that it moves."""

    range: Node
    begin: Node
    maker: Node


def over_object(
    body: Body, variable: Node, source: Node, where: Location | None, inner: Node, span: ir.Span
) -> list[Stmt]:
    """The loop that the standard says it is, with an iterator and the end to compare it with."""
    hidden = _hidden(variable)
    if hidden is None:
        raise LoweringError("range-based for over something that is no array", source)
    where = where or materialise(body, body.expr(source), span)
    body.names[hidden.range.raw.data0] = where
    before = _taken(body, [])
    before += _taken(body, declare(body, hidden.begin))
    iterator = body.names[hidden.begin.raw.data0]
    is_pointer = isinstance(iterator, ir.Variable) and iterator.type.kind is ir.TypeKind.POINTER
    if not isinstance(iterator, ir.Variable) or iterator.space is not ir.MemorySpace.REGISTER:
        raise LoweringError("range-based for with an iterator that is not followed", source)
    held = _end(body, hidden, where, span)
    before += _taken(body, [held])
    place, end = RegisterPlace(iterator, (), iterator.type), RegisterPlace(held.variable, (), iterator.type)
    region, test_region = body.region(), body.region()
    if is_pointer:
        read = (Read(place, place.type, span), Read(end, end.type, span))
        condition: Expr = ir.Binary(ir.BinaryOp.NE, *read, ir.INT32, ir.BOOL, span)
    else:
        condition = _differs(body, hidden, place, end, span)
    declared = declare(body, variable)
    if variable.kind == C.UNEXPOSED_DECL:
        bind_parts(body, variable, span)
    declared = _taken(body, declared)
    statements = loop_body(body, inner)
    statements = ir.Block((*declared, *statements.statements), statements.region, statements.span)
    step_region = body.region()
    if is_pointer:
        size = iterator.type.element.size_bytes if iterator.type.element is not None else 1
        step: Expr = ir.Increment(place, 1, True, size, iterator.type, span)
    else:
        step = _called(body, hidden.begin, "operator++", place, (), span)
    loop = Loop(LoopKind.FOR, (), condition, step, statements, None, region, test_region, step_region, span)
    return [*before, *_in_parts(body, loop, iterator, span)]


def made_for(body: Body, variable: Node, source: Node) -> tuple[list[Stmt], Location]:
    """What makes the temporary object that a loop goes over, and where it is."""
    hidden = _hidden(variable)
    if hidden is None:
        raise LoweringError("range-based for over an object that is not known here", source)
    made = _taken(body, declare(body, hidden.range))
    named = body.names[hidden.range.raw.data0]
    if isinstance(named, ir.Variable):
        named = location_of_variable(body, named, body.span(source))
    if not isinstance(named, Location):
        raise LoweringError("range-based for over an object that is not known here", source)
    return made, named


def _taken(body: Body, statements: list[Stmt]) -> list[Stmt]:
    """Statements behind what their expressions want run before them."""
    found = [*body.before, *statements]
    body.before.clear()
    return found


def _hidden(variable: Node) -> _Hidden | None:
    """Found by way of what the loop's variable is made of: `*__begin`."""
    begin = _declared_as(variable.initializer, "__begin")
    made = None if begin is None else begin.initializer
    source = _declared_as(made, "__range")
    calls = (node.referenced for node in made.walk() if node.kind == C.CALL_EXPR) if made is not None else ()
    maker = next((callee for callee in calls if callee is not None and callee.spelling == "begin"), None)
    if begin is None or source is None or maker is None or maker.kind != C.CXX_METHOD:
        return None
    return _Hidden(source, begin, maker)


def _declared_as(value: Node | None, name: str) -> Node | None:
    nodes = () if value is None else value.walk()
    found = (node.referenced for node in nodes if node.kind == C.DECL_REF_EXPR)
    return next((one for one in found if one is not None and one.spelling.startswith(name)), None)


def _end(body: Body, hidden: _Hidden, where: Location, span: ir.Span) -> Declare:
    """The end, held in a variable of its own."""
    record = hidden.maker.semantic_parent
    ends = () if record is None else _methods(body.unit, record, "end", 0)
    for end in ends:
        value = _inlined(body, end, where, (), span)
        held = body.temporary("__end", value.type, span)
        return Declare(held, value, body.region(), span)
    raise LoweringError("range-based for over an object whose end is not known here", hidden.range)


def _differs(body: Body, hidden: _Hidden, place: RegisterPlace, end: RegisterPlace, span: ir.Span) -> Expr:
    """`__begin != __end`, or what the compiler makes of `==`."""
    try:
        return _called(body, hidden.begin, "operator!=", place, (end,), span)
    except LoweringError:
        equal = _called(body, hidden.begin, "operator==", place, (end,), span)
        return ir.Unary(ir.UnaryOp.NOT, equal, ir.BOOL, span)


def _called(
    body: Body, iterator: Node, name: str, this: Location, others: tuple[Location, ...], span: ir.Span
) -> Expr:
    """An operator of an iterator, a member or a function beside the class."""
    mark = len(body.before)
    record = iterator.type.canonical.declaration
    if record is None:
        raise LoweringError("range-based for with an iterator of an unknown class", iterator)
    for method in _methods(body.unit, record, name, len(others)):
        return with_effects(body, mark, _inlined(body, method, this, others, span))
    for function in _functions(body.unit, record, name, 1 + len(others)):
        return with_effects(body, mark, _inlined(body, function, None, (this, *others), span))
    raise LoweringError(f"range-based for with an iterator whose '{name}' is not known here", iterator)


def _methods(unit: Unit, record: Node, name: str, number: int) -> Iterator[Node]:
    """The functions of a class, then of its only base, with a name and so many parameters."""
    for method in (*record.children, *unit.instantiated_members.get(record, ())):
        if method.kind == C.CXX_METHOD and method.spelling == name and len(method.arguments) == number:
            yield method
    bases = bases_of(unit, record)
    base = bases[0].type.canonical.declaration if len(bases) == 1 else None
    if base is not None and base.spelling not in unit.one_of_several_bases:
        yield from _methods(unit, base, name, number)


def _functions(unit: Unit, record: Node, name: str, number: int) -> Iterator[Node]:
    """The functions, friends among them, that take an object of a class first."""
    friends = (child for node in record.children for child in node.children if node.kind == C.FRIEND_DECL)
    for function in (*friends, *unit.declared):
        if function.kind != C.FUNCTION_DECL or function.spelling != name:
            continue
        taken = [argument.type.canonical for argument in function.arguments]
        if len(taken) == number:
            first = taken[0].pointee.canonical if taken[0].kind in _REFERENCES else taken[0]
            declaration = first.declaration
            if declaration is not None and declaration.canonical == record.canonical:
                yield function


_REFERENCES = (K.LVALUEREFERENCE, K.RVALUEREFERENCE)


def _inlined(
    body: Body, function: Node, this: Location | None, others: tuple[Location, ...], span: ir.Span
) -> Expr:
    info = body.unit.function(function)
    if not may_inline(body, info):
        raise LoweringError(f"'{info.name}' of a range has no body that is followed", function)
    given: dict[int, Binding] = {
        parameter.key: place for parameter, place in zip(info.parameters, others, strict=True)
    }
    type_ = body.unit.types.translate(function.type.result.raw)
    call, _ = inline(body, function, info, this, [], span, given=given, result_type=type_)
    return call


# ---------------------------------------------------------------------------
# The loop in the form of those that are written out: its counter a variable, its test and step expressions.


def _in_parts(body: Body, loop: Loop, iterator: ir.Variable, span: ir.Span) -> list[Stmt]:
    """The loop with each member of its iterator in a variable, where nothing in it uses the whole."""
    assert loop.condition is not None
    assert loop.step is not None
    element, *rest = loop.body.statements
    opened = replace(
        loop,
        condition=_with(loop.condition, _opened),
        step=_effect(_with(loop.step, _opened)),
        body=replace(loop.body, statements=(_with(element, _opened), *rest)),
    )
    parts: dict[tuple[str, ...], ir.Variable] = {}

    def renamed(node: Struct) -> Struct:
        if not isinstance(node, RegisterPlace) or node.variable is not iterator or not node.path:
            return node
        if node.type.kind not in _SCALARS:
            return node
        part = parts.get(node.path) or body.temporary(node.path[-1], node.type, span)
        parts[node.path] = part
        return RegisterPlace(part, (), node.type)

    split = _with(opened, renamed)
    if iterator.type.kind is not ir.TypeKind.RECORD or _names(split, iterator):
        return [canonical(opened)]
    declared: list[Stmt] = []
    for path, part in parts.items():
        value = Read(RegisterPlace(iterator, path, part.type), part.type, span)
        declared.append(Declare(part, value, body.region(), span))
    return [*declared, canonical(split)]


_SCALARS = (ir.TypeKind.INT, ir.TypeKind.FLOAT, ir.TypeKind.POINTER)


def _opened(node: Struct) -> Struct:
    """In place of a call without parameters the expressions that it runs."""
    if not isinstance(node, InlinedCall) or node.parameters or not node.body.statements:
        return node
    *first, last = node.body.statements
    value = last.value if isinstance(last, ir.Return) else last.expr if isinstance(last, ExprStmt) else None
    if value is None:
        return node
    for stmt in reversed(first):
        if not isinstance(stmt, ExprStmt):
            return node
        value = ir.Binary(ir.BinaryOp.COMMA, stmt.expr, value, value.type, value.type, value.span)
    return value


def _effect(step: Expr) -> Expr:
    """A step without the value that nobody takes."""
    match step:
        case ir.Binary(op=ir.BinaryOp.COMMA, left=left, right=Read()):
            return _effect(left)
        case _:
            return step


_Tree = TypeVar("_Tree", bound=Struct)


def _with(node: _Tree, change: Callable[[Struct], Struct]) -> _Tree:
    """`node` with everything below it that `change` changes, the innermost first."""
    changed: dict[str, object] = {}
    for name in node.__struct_fields__:
        old: object = getattr(node, name)
        if isinstance(old, tuple):
            parts = cast("tuple[object, ...]", old)
            new: object = tuple(_with(one, change) if _is_node(one) else one for one in parts)
            if all(one is other for one, other in zip(parts, cast("tuple[object, ...]", new), strict=True)):
                continue
        elif not _is_node(old) or (new := _with(old, change)) is old:
            continue
        changed[name] = new
    return cast("_Tree", change(replace(node, **changed) if changed else node))


def _is_node(value: object) -> TypeGuard[Struct]:
    return isinstance(value, Struct) and not isinstance(value, ir.Variable | ir.Type | ir.Span)


def _names(tree: Struct, variable: ir.Variable) -> bool:
    """Whether a tree names a variable anywhere."""
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if node is variable:
            return True
        if isinstance(node, tuple):
            waiting.extend(cast("tuple[object, ...]", node))
        elif _is_node(node):
            waiting.extend(getattr(node, name) for name in node.__struct_fields__)
    return False
