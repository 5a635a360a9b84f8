"""OpenMP in host code: clang reads the statement behind a directive as if that were not there.

The threads of a `parallel` region run it one after another here; what they share out among them (`for`,
`sections`, `single`, ...) the first one does. Private copies begin and end with the region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, Location, binding_of, changed_in
from wattslice.frontend.cuda.lowering.memory import location_of_variable, place_for_access, read
from wattslice.frontend.cuda.lowering.rejected import unread
from wattslice.frontend.cuda.lowering.unit import Unit
from wattslice.ir import INT32, Constant, Declare, Expr, Read, RegisterPlace, Span, Stmt
from wattslice.patterns import regex

_DIRECTIVES = regex(
    rb"(?:(?:^|\n)((?:[ \t]*#[ \t]*pragma[ \t]+omp[ \t]+(?:[^\n\\]|\\.|\\\r?\n)*\r?\n\s*)+)"
    rb"|((?:\b_Pragma\s*\(\s*\"omp\s[^\"\n]*\"\s*\)\s*)+))\Z"
)
_CLAUSE = regex(r"\b(num_threads|private|firstprivate|if)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_SHARED_OUT = frozenset({"for", "sections", "single", "master", "masked", "loop"})
_NESTING = regex(rb"\bomp_set_(?:nested|max_active_levels)\b")
_LONGEST = 1000


def directive_before(unit: Unit, node: Node) -> str:
    """The OpenMP directives in front of a statement, without their clauses' line ends; empty without any."""
    found = unit.spans.source(node) if unit.has_openmp else None
    if found is None:
        return ""
    file, begin, _ = found
    directives = _DIRECTIVES.search(file.data[max(0, begin - _LONGEST) : begin])
    return "" if directives is None else directives[0].decode(errors="replace")


def in_parallel(
    body: Body, node: Node, directive: str, lower: Callable[[Body, Node], list[Stmt]]
) -> list[Stmt]:
    """What a statement does under its directives."""
    span = body.unit.spans.span(node)
    clauses = dict(_CLAUSE.findall(directive))
    words = set(regex(r"\w+").findall(_CLAUSE.sub("", directive)))
    is_shared_out = bool(words & _SHARED_OUT)
    is_team = "parallel" in words and not is_shared_out and "target" not in words
    copies = list(_copies(body, node, clauses, is_team=is_team))
    outer = body.thread
    if "parallel" in words:
        body.thread = body.temporary("omp_thread", INT32, span) if is_team else None
    try:
        inner = lower(body, node)
    finally:
        thread, body.thread = body.thread, outer
    saved, begun, restored = ([step for copy in copies for step in copy[at]] for at in range(3))
    if is_team and thread is not None:
        number = _threads(body, node, clauses, span)
        return [*saved, *_of_a_team(body, thread, number, [*begun, *inner], span), *restored]
    inner = [*saved, *begun, *inner, *restored]
    if "parallel" in words:
        begin = ir.ExprStmt(_team(Constant(1, INT32, span), False, span), body.region(), span)
        return [begin, *inner, _end_of_team(body, span)]
    if is_shared_out and outer is not None:
        first = ir.Binary(ir.BinaryOp.EQ, _value(outer, span), Constant(0, INT32, span), INT32, ir.BOOL, span)
        return [ir.If(first, ir.Block(tuple(inner), body.region(), span), None, body.region(), span)]
    return inner


def _value(variable: ir.Variable, span: Span) -> Read:
    return Read(RegisterPlace(variable, (), variable.type), variable.type, span)


def _team(number: Expr, is_nesting: bool, span: Span) -> ir.Call:
    return ir.Call(ir.TEAM, ir.TEAM, (number, Constant(is_nesting, INT32, span)), INT32, span)


def _end_of_team(body: Body, span: Span) -> Stmt:
    return ir.ExprStmt(ir.Call(ir.TEAM_END, ir.TEAM_END, (), INT32, span), body.region(), span)


def _of_a_team(body: Body, thread: ir.Variable, number: Expr, inner: list[Stmt], span: Span) -> list[Stmt]:
    """A loop over the threads, one at least; one, too, in a nested region unless somebody allows for more."""
    is_nesting = any(_NESTING.search(text) for text in body.unit.texts)
    number = _team(number, is_nesting, span)
    threads = body.temporary("omp_threads", INT32, span)
    first = Declare(thread, Constant(0, INT32, span), body.region(), span)
    more = ir.Binary(ir.BinaryOp.GT, _value(threads, span), _value(thread, span), INT32, ir.BOOL, span)
    step = ir.Increment(RegisterPlace(thread, (), INT32), 1, True, 1, INT32, span)
    init = (Declare(threads, number, body.region(), span), first)
    code = ir.Block(tuple(inner), body.region(), span)
    regions = (body.region(), body.region(), body.region())
    loop = ir.Loop(ir.LoopKind.FOR, init, more, step, code, None, *regions, span)
    return [loop, _end_of_team(body, span)]


def _threads(body: Body, node: Node, clauses: dict[str, str], span: Span) -> Expr:
    """How many threads a region has that is in no other one."""
    if "if" in clauses:
        return unread(span)
    text = clauses.get("num_threads", "").strip()
    if not text:
        return ir.Call("omp_get_max_threads", "omp_get_max_threads", (), INT32, span)
    if text.isdigit():
        return Constant(int(text), INT32, span)
    where = _named(body, node, text)
    return unread(span) if where is None else where


def _named(body: Body, node: Node, name: str) -> Expr | None:
    """The value of the variable of this name that a statement sees."""
    found: Node | None = None
    line = body.unit.spans.span(node).line
    roots = [one for one in body.unit.root.children if one.kind == C.VAR_DECL]
    around = () if body.function is None else body.function.walk()
    for one in (*roots, *around):
        if one.kind in (C.VAR_DECL, C.PARM_DECL) and one.spelling == name and one.line <= line:
            found = one
    if found is None:
        return None
    binding = body.names.get(found.raw.data0) or binding_of(body, found)
    span = body.unit.spans.span(node)
    if isinstance(binding, Constant):
        return Constant(binding.value, INT32, span)
    if isinstance(binding, ir.Variable):
        return read(body, location_of_variable(body, binding, span), span)
    return None


_Steps = tuple[list[Stmt], list[Stmt], list[Stmt]]


def _copies(body: Body, node: Node, clauses: dict[str, str], *, is_team: bool) -> Iterator[_Steps]:
    """Of each private variable that a region writes: what keeps its value, what begins the copy of a thread,
    and what gives the value back. Which thread has which iteration of a loop nobody knows.
    """
    span = body.unit.spans.span(node)
    for clause in ("private", "firstprivate"):
        for name in regex(r"\w+").findall(clauses.get(clause, "")):
            where = _written(body, node, name)
            if where is None:
                continue
            place, type_ = place_for_access(body, where), where.type
            kept = body.temporary(f"{name} outside", type_, span)
            is_known = clause == "firstprivate" and is_team
            begun = _value(kept, span) if is_known else unread(span)
            yield (
                [Declare(kept, read(body, where, span), body.region(), span)],
                [ir.ExprStmt(ir.Assign(place, None, begun, type_, type_, span), body.region(), span)],
                [
                    ir.ExprStmt(
                        ir.Assign(place, None, _value(kept, span), type_, type_, span), body.region(), span
                    )
                ],
            )


def _written(body: Body, node: Node, name: str) -> Location | None:
    """Where the variable of this name is that a statement writes."""
    changed = changed_in(body.unit, node)
    for one in node.walk():
        if one.kind == C.DECL_REF_EXPR and one.spelling == name:
            declaration = one.referenced
            if declaration is not None and declaration.raw.data0 in changed:
                return body.location(one)
    return None
