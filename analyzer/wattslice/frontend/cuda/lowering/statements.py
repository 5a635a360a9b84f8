"""Statements of clang to those of the tree: declarations, branches, switches, returns (`loops.py`: loops)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend import MOST_NESTED_BLOCKS
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.diagnostics import Role
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.clang.kinds import UnaryOperator
from wattslice.frontend.cuda.lowering.context import (
    FEWEST_FOLDED,
    STATEMENTS,
    Body,
    Cell,
    Frame,
    Guard,
    Location,
    LoweringError,
    PointsTo,
    Rejected,
    StatementHandler,
    Target,
    TooLargeError,
    changed_in,
    file_scope_variable,
    function_around,
    function_named,
    is_callable_type,
    lost_initial_value,
    memory_attribute,
    somewhere,
    statement,
)
from wattslice.frontend.cuda.lowering.expressions import known_value
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    dereference,
    in_memory,
    is_fixed,
    location_of_variable,
    member,
    must_name_an_object,
    note_pointer,
    pointee_of,
    read,
    unwrapped,
    whole_expression,
    with_effects,
)
from wattslice.frontend.cuda.lowering.objects import (
    Special,
    bare,
    destroyed_at_exit,
    destroyed_within,
    every_part,
    handed_over,
    initialises,
    is_made_empty,
    lost_by,
    made_at,
    part_at,
    parts,
    ran,
)
from wattslice.frontend.cuda.lowering.openmp import directive_before, in_parallel
from wattslice.frontend.cuda.lowering.rejected import jumps_in, rejected, unread
from wattslice.frontend.cuda.lowering.types import class_names, is_wide_record, pointer_to
from wattslice.frontend.cuda.lowering.unit import Rejections
from wattslice.ir import (
    Block,
    Constant,
    Expr,
    Read,
    RegisterPlace,
    Span,
    Stmt,
    TypeKind,
    Variable,
    VariableRole,
)
from wattslice.patterns import regex

if TYPE_CHECKING:
    from wattslice.frontend.cuda.lowering.folding import Run


def lower(body: Body, node: Node) -> list[Stmt]:
    """The statements that one source statement becomes; what cannot be read leaves a diagnostic."""
    if body.lost and (lost := body.lost.pop(id(node), None)) is not None:
        before = [stmt for one in lost.before for stmt in _dropped(body, *one)]
        read = lower(body, node)
        read = read if lost.within is None else _dropped(body, *lost.within, read)
        return [*before, *read, *(stmt for one in lost.behind for stmt in _dropped(body, *one))]
    if body.is_host and body.unit.has_openmp and (directive := directive_before(body.unit, node)):
        return in_parallel(body, node, directive, _lower)
    return _lower(body, node)


def _lower(body: Body, node: Node) -> list[Stmt]:
    macro = _macro_in_front(body, node) if body.is_host and node.kind != C.DECL_STMT else None
    if macro is None:
        return _lowered(body, node)
    region = body.region()
    inner = Block(tuple(_lowered(body, node)), region, body.unit.spans.span(node))
    return [_any_times(body, inner, macro)]


def _lowered(body: Body, node: Node) -> list[Stmt]:
    body.nodes += 1
    handler = STATEMENTS.get(node.kind)
    if handler is not None and node.kind in _SELF_SPANNED:
        return guarded(body, node, handler)
    previous = body.line_span  # what `statement_span` does, without a generator for each statement
    span = body.unit.spans.span(node)
    body.line_span = span if span.line == span.end_line and span.line else None
    try:
        return guarded(body, node, handler or _expression_statement)
    finally:
        body.line_span = previous


def guarded(body: Body, node: Node, handler: StatementHandler) -> list[Stmt]:
    """Run a handler; effects it wants run before come first, and its failure leaves a hole."""
    outer, outer_after = body.before, body.after
    body.before, body.after = [], []
    older = len(body.frame.guards)
    try:
        result = [*handler(body, node), *body.after]
        if node.kind in _SCOPES and len(body.frame.guards) > older:  # what its head declares ends with it
            result += at_end(body, older, result)
            del body.frame.guards[older:]
        return [*body.before, *result] if body.before else result
    except LoweringError as error:
        span = body.unit.spans.span(error.node)
        if not span.line:
            span = body.unit.spans.span(node)
        body.hole("PW006", span, f"not read: {error}")
        return _rest_of(body, node) if body.is_host else list(body.before)
    finally:
        body.before, body.after = outer, outer_after


_SCOPES = (C.IF_STMT, C.SWITCH_STMT, C.FOR_STMT, C.WHILE_STMT, C.CXX_FOR_RANGE_STMT)


def _rest_of(body: Body, node: Node) -> list[Stmt]:
    """Of a host statement that cannot be read: the statements in it, which may run, and what it may write."""
    span = body.unit.spans.span(node)
    read = list(body.before)
    for child in node.children:
        if _is_statement(child) and child.kind != C.DECL_STMT:
            inner = as_block(body, child)
            read.append(ir.If(unread(span), inner, None, body.region(), span))
    left = _leaving(body, "return", span) if node.kind == C.RETURN_STMT else []
    return [*rejected(body, body.unit.spans.text(node), span, read), *left]


def _is_statement(node: Node) -> bool:
    return 200 <= node.kind < 300


def _expression_statement(body: Body, node: Node) -> list[Stmt]:
    if node.kind >= 200 and node.kind < 280:
        raise LoweringError(f"statement of kind {node.kind} is not supported", node)
    if body.is_host and _is_beside_the_point(body, node := unwrapped(node)):
        if node.spelling == "assert" and len(node.arguments) == 1:
            return _asserted(body, node, node.arguments[0])
        return [stmt for effect in _effects_in(body, node) for stmt in lower(body, effect)]
    expr = body.expr(node)
    if isinstance(expr, ir.Call) and expr.name in body.unit.c_kernels and _is_in_main(body):
        one = Constant(1, ir.INT32, expr.span)
        expr = ir.LaunchCall(expr.name, expr.name, one, one, None, expr.arguments, ir.VOID, expr.span)
    if isinstance(expr, ir.Load) and not expr.place.is_volatile:  # named, but its value is not asked for
        expr = expr.place.address
    if isinstance(expr, Constant | ir.Construct) and not getattr(expr, "arguments", ()):
        return []
    stmt = ir.ExprStmt(expr, body.region(), body.span(node))
    macro = _macro_around(body, node, expr) if body.is_host and isinstance(expr, ir.Call) else None
    return [stmt] if macro is None else [_any_times(body, Block((stmt,), body.region(), stmt.span), macro)]


def _asserted(body: Body, node: Node, condition: Node) -> list[Stmt]:
    """What `assert` is: the end of the program unless a condition holds."""
    span = body.span(node)
    with body.statement_span(condition):
        holds = decision(body, condition)
    end = ir.ExprStmt(ir.Call("abort", "abort", (), ir.VOID, span), body.region(), span)
    if isinstance(holds, Constant):
        return [] if holds.value else [end]
    ends, goes_on = (Block(inner, body.region(), span) for inner in ((end,), ()))
    return [ir.If(holds, goes_on, ends, body.region(), span)]


def _macro_around(body: Body, node: Node, call: ir.Call) -> str | None:
    """A name that nothing declares and that is given a launch, `REPEAT(4, k<<<1, 32>>>());`."""
    if not (unknown := body.unit.parsed.recovered.unknown):
        return None
    inner = (e for argument in call.arguments for e in ir.walk_expressions(argument))
    found = re.match(r"\w+", body.unit.spans.text(node))
    name = "" if found is None else found[0]
    is_given = name in unknown and any(isinstance(e, ir.LaunchCall) for e in inner)
    return name if is_given else None


def _is_in_main(body: Body) -> bool:
    return body.function is not None and body.function.spelling == "main"


_NO_GEOMETRY = regex(
    r"^(assert|v?f?printf|f?puts|putchar|fflush|fclose|free|cudaFree(Host|Array|Async|MipmappedArray)?"
    r"|cudaEvent(Record(WithFlags)?|Synchronize|Destroy)|cuda(Device|Thread|Stream)(Synchronize|Reset|Exit)"
    r"|operator<<)$"
)


def _is_beside_the_point(body: Body, node: Node) -> bool:
    """Calls of a library that print, test, free or wait: nothing about a launch can come out of them."""
    if node.kind != C.CALL_EXPR or _NO_GEOMETRY.match(node.spelling) is None:
        return False
    callee = node.referenced
    if node.spelling == "operator<<" and callee is not None and _may_be_a_text(body, node):
        return False
    if callee is None:  # what clang could not resolve: of the library, unless an object of the user takes it
        first = next((argument.type.canonical.declaration for argument in node.arguments), None)
        return first is None or body.unit.parsed.is_builtin(first)
    if not body.unit.function(callee).is_builtin:
        return False
    given = [unwrapped(argument) for argument in node.arguments]
    if not all(_only_reads(body, one) for one in given if one.kind == C.DECL_REF_EXPR):
        return False  # a function of the user, which the library calls
    texts = given[:2] if node.spelling.endswith("printf") else ()
    return not any(n.kind == C.STRING_LITERAL and ir.COUNTS_CHARACTERS.search(n.spelling) for n in texts)


def _effects_in(body: Body, call: Node) -> list[Node]:
    """Of what a call that prints is given: the parts that may run functions of the program, or write."""
    return [node for node in map(unwrapped, call.arguments) if not _only_reads(body, node)]


def _only_reads(body: Body, node: Node) -> bool:
    """Whether an expression runs nothing of the program and writes nothing."""
    kind = node.kind
    if kind in _LITERALS:
        return True
    if kind == C.CALL_EXPR:
        if not _is_beside_the_point(body, node) and not _only_asks(body, node):
            return False
    elif kind == C.DECL_REF_EXPR:
        callee = node.referenced if node.type.kind in _FUNCTIONS else None
        return callee is None or body.unit.function(callee).is_builtin
    elif kind == C.BINARY_OPERATOR:
        if B.ASSIGN <= node.binary_operator <= B.OR_ASSIGN:
            return False
    elif kind == C.UNARY_OPERATOR:
        if node.unary_operator <= UnaryOperator.PRE_DEC:
            return False
    elif (kind >= 100 and kind not in _VALUES) or (kind == C.UNEXPOSED_EXPR and len(node.children) > 1):
        return False
    return all(_only_reads(body, child) for child in node.children)


_FUNCTIONS = (K.FUNCTIONPROTO, K.FUNCTIONNOPROTO)
_LITERALS = (
    C.STRING_LITERAL,
    C.INTEGER_LITERAL,
    C.FLOATING_LITERAL,
    C.CHARACTER_LITERAL,
    C.CXX_BOOL_LITERAL_EXPR,
)
_VALUES = frozenset(
    (C.UNEXPOSED_EXPR, C.MEMBER_REF_EXPR, C.PAREN_EXPR, C.ARRAY_SUBSCRIPT_EXPR, C.CONDITIONAL_OPERATOR,
     C.CSTYLE_CAST_EXPR, C.CXX_STATIC_CAST_EXPR, C.CXX_REINTERPRET_CAST_EXPR, C.CXX_FUNCTIONAL_CAST_EXPR,
     C.CXX_UNARY_EXPR, C.CXX_THIS_EXPR, C.CXX_NULL_PTR_LITERAL_EXPR, C.GNU_NULL_EXPR)
)  # fmt: skip


def _only_asks(body: Body, node: Node) -> bool:
    """Whether a call is one of a library that cannot write what it gets, or run something of the user."""
    callee = node.referenced
    if callee is None or callee.kind not in (C.FUNCTION_DECL, C.CXX_METHOD, C.CONSTRUCTOR):
        return False
    name, info = callee.spelling, body.unit.function(callee)
    if not info.is_builtin or info.is_made_up or node.type.kind == K.VOID or name == "operator()":
        return False
    if name.startswith(("cu", "omp_set", "setenv", "unsetenv")):
        return name.startswith("cudaGetErr")
    is_method = callee.kind == C.CXX_METHOD and not callee.is_static
    if is_method and name not in ir.ELEMENT_METHODS and not callee.mangled_name.startswith("_ZNK"):
        return False
    if name == "operator[]" and body.type(node.arguments[0]).name.startswith(ir.KEYED_CLASSES):
        return False  # it makes an element where there is none
    is_all = len(node.arguments) <= len(info.parameters) + is_method * name.startswith("operator")
    types = (parameter.node.type.canonical for parameter in info.parameters)
    return is_all and all(map(_is_for_reading, types)) and not handed_over(body, node, callee)


def _is_for_reading(type_: ClangType) -> bool:
    """Whether nothing can be written through a parameter of this type."""
    if type_.kind in (K.POINTER, K.LVALUEREFERENCE):
        return type_.pointee.canonical.is_const
    return type_.kind < K.POINTER or type_.kind == K.ENUM


def _may_be_a_text(body: Body, node: Node) -> bool:
    """Whether what the first `<<` of a chain writes to is, or may be, a `std::stringstream`."""
    while node.arguments and node.kind == C.CALL_EXPR and node.spelling == "operator<<":
        node = node.arguments[0]
    node = unwrapped(node)
    name = body.type(node).name.removeprefix("const ")
    return "stringstream" in name or (
        name == "std::ostream" and node.spelling not in ("cout", "cerr", "clog")
    )


def block(body: Body, nodes: list[Node], span: Span, around: Node | None = None) -> Block:
    """A block of its own region from the statements given; `around`: the node that they are all of."""
    region = body.region()
    statements: list[Stmt] = []
    older = len(body.frame.guards)
    if body.depth >= MOST_NESTED_BLOCKS:
        raise TooLargeError(f"its statements nest more than {MOST_NESTED_BLOCKS} deep")
    body.depth += 1
    try:
        if body.rejections and around is not None:
            statements = _with_rejected(body, body.rejections, nodes, around)
        else:
            statements = lower_all(body, nodes)
        statements += at_end(body, older, statements)
    finally:
        body.depth -= 1
        del body.frame.guards[older:]
    return Block(tuple(statements), region, span)


def _with_rejected(body: Body, rejections: Rejections, nodes: list[Node], around: Node) -> list[Stmt]:
    """The statements of a block of host code, and in their places those that clang found errors in."""
    whole = rejections.extent(body.unit, around)
    is_braced = around.kind == C.COMPOUND_STMT and body.unit.spans.source(around) is not None  # by no macro
    done = None if whole is None else whole[0] + is_braced
    latest = None  # what is in front of a label belongs to what a jump to it leaves out
    for node in nodes:
        extent = rejections.extent(body.unit, node)
        if extent is None or done is None:
            continue
        if whole is not None and extent[0] == whole[0]:  # out of the same macro
            extent = extent[0], min(extent[1], whole[1])
        here = body.lost[id(node)] = Rejected()
        if lost := rejections.between(done, extent[0]):
            (here.before if latest is None else latest.behind).append(lost)
        led = node
        while led.kind == C.LABEL_STMT and led.children:
            led = led.children[-1]
        inner = [child for child in led.children if _is_statement(child)] if _is_statement(led) else []
        if not inner or led.kind == C.DECL_STMT:
            here.within = rejections.within(*extent)
        else:
            first_inner = rejections.extent(body.unit, inner[0])
            head = rejections.within(extent[0], extent[1] if first_inner is None else first_inner[0])
            here.before += [head] if head else []
            here.behind += [head] if head else []
        done, latest = extent[1], here
    result = lower_all(body, nodes)
    if whole is not None and done is not None and (lost := rejections.between(done, whole[1])):
        result += _dropped(body, *lost)
    return result


def _dropped(body: Body, text: str, span: Span, read: Sequence[Stmt] = ()) -> list[Stmt]:
    """What remains of a statement that clang found errors in, and the jumps in it, which may be taken."""
    result = rejected(body, text, span, read)
    for label in _GOTO.findall(text):
        inner = Block(tuple(_jump(body, label, span)), body.region(), span)
        result.append(ir.If(unread(span), inner, None, body.region(), span))
    for word in jumps_in(text):
        jump = _leaving(body, word, span)
        is_certain = text.lstrip().startswith(word)
        inner = Block(tuple(jump), body.region(), span)
        result += jump if is_certain else [ir.If(unread(span), inner, None, body.region(), span)]
    return result


def _gives(body: Body) -> bool:
    """Whether the function at hand gives a value."""
    return body.function is not None and body.function.type.result.canonical.kind != K.VOID


def _leaving(body: Body, word: str, span: Span) -> list[Stmt]:
    """`return` of a value that could not be read, `break` or `continue`."""
    if word == "return":
        value = unread(span) if _gives(body) else None
        return [*destroyed(body, 0), ir.Return(value, body.region(), span)]
    is_end = word == "break"
    found = left_by(body, lambda target: target.label is None if is_end else target.is_loop)
    if found is None:
        return []
    leaving = ir.Break(body.region(), span, found[0]) if is_end else ir.Continue(body.region(), span)
    return [*found[1], leaving]


_GOTO = regex(r"\bgoto\s+(\w+)\s*;")


def lower_all(body: Body, nodes: Sequence[Node]) -> list[Stmt]:
    """The statements in their order; in a kernel that is too large otherwise, those that repeat folded."""
    if not body.folds and not body.is_host and len(nodes) > body.most_nodes:
        raise TooLargeError("it has more statements than operations are followed")  # each has one at least
    label, again = _last_label(nodes, is_any=bool(body.rejections)), _jumped_back(nodes)
    if label and (again is None or not again[0] < label < again[1]):
        return [_in_front_of(body, nodes[:label], nodes[label]), *lower_all(body, nodes[label:])]
    if again is not None and not _continues(nodes[again[0] : again[1]]):
        first, end = again
        before = lower_all(body, nodes[:first])
        return [*before, _looped(body, nodes[first:end]), *lower_all(body, nodes[end:])]
    if not body.folds or len(nodes) < FEWEST_FOLDED:
        return [stmt for node in nodes for stmt in lower(body, node)]
    from wattslice.frontend.cuda.lowering.folding import runs_of  # few kernels are so large

    statements: list[Stmt] = []
    for run in runs_of(body, nodes):
        if run.times == 1:
            statements.extend(lower(body, run.nodes[0]))
        else:
            statements.append(_folded(body, run))
    return statements


def _folded(body: Body, run: Run) -> Stmt:
    """A loop whose counters are the literals by which the statements of a run differ."""
    from wattslice.frontend.cuda.lowering.folding import wrapped

    span = body.unit.spans.span(run.nodes[0])
    region, test_region = body.region(), body.region()
    outer = dict(body.literals)
    init: list[Stmt] = []
    step: Expr | None = None
    condition: Expr | None = None
    body.folded += run.times * len(run.nodes)
    counted = (None, 0, 1, ir.INT32)
    for node, first, delta, type_ in (counted, *((s.node, s.first, s.delta, s.type) for s in run.steps)):
        counter = body.temporary("__fold", type_, span)
        place = RegisterPlace(counter, (), type_)
        init.append(ir.Declare(counter, Constant(first, type_, span), body.region(), span))
        added = ir.Increment(place, delta, True, 1, type_, span)
        step = added if step is None else ir.Binary(ir.BinaryOp.COMMA, step, added, type_, type_, span)
        if node is None:
            most = Constant(run.times, type_, span)
            condition = ir.Binary(ir.BinaryOp.LT, Read(place, type_, span), most, type_, ir.BOOL, span)
        else:
            for one in wrapped(node):
                body.literals[id(one)] = Read(place, type_, span)
    try:
        inner = block(body, list(run.nodes), span)
    finally:
        body.literals = outer
    step_region = body.region()
    return ir.Loop(
        ir.LoopKind.FOR,
        tuple(init),
        condition,
        step,
        inner,
        0,
        region,
        test_region,
        step_region,
        span,
        is_folded=True,
    )


def as_block(body: Body, node: Node) -> Block:
    """The body of an `if`, a loop or a function as one block."""
    children = list(node.children) if node.kind == C.COMPOUND_STMT else [node]
    return block(body, children, body.unit.spans.span(node), node)


# --------------------------------------------------------------------------- ways out


def _last_label(nodes: Sequence[Node], *, is_any: bool) -> int:
    """The place of the last label that something in front of it jumps to, or of any; 0 if there is none."""
    for at in range(len(nodes) - 1, 0, -1):
        if nodes[at].kind == C.LABEL_STMT and (is_any or nodes[at].spelling in _jumped_to(nodes[:at])):
            return at
    return 0


def _jumped_back(nodes: Sequence[Node]) -> tuple[int, int] | None:
    """Where a label is that something behind it jumps back to, and where the last such statement ends."""
    for first, node in enumerate(nodes):
        if node.kind == C.LABEL_STMT:
            for end in range(len(nodes), first, -1):
                if node.spelling in _jumped_to(nodes[end - 1 : end]):
                    return first, end
    return None


def _looped(body: Body, nodes: Sequence[Node]) -> Stmt:
    """Statements from a label to a jump back to it: a loop, with its test behind them if it is there, in a
    kernel, that they jump back, else endless, left from their end.
    """
    span, guards, targets = body.unit.spans.span(nodes[0]), len(body.frame.guards), body.frame.targets
    regions = body.region(), body.region(), body.region()
    last, label = nodes[-1], nodes[0].spelling
    is_test = not body.is_host and last.kind == C.IF_STMT and len(last.children) == 2
    is_test = is_test and label not in _jumped_to(nodes[:-1])
    is_test = is_test and _is_jump(last.children[1])
    around = [Target(guards, label="", depth=body.depth)] * (not is_test)
    targets += [*around, Target(guards, label=label, depth=body.depth)]
    statements = [*lower(body, nodes[0]), *lower_all(body, nodes[1:])]
    del targets[-1 - len(around) :]
    if is_test:
        test = statements[-1]
        if not isinstance(test, ir.If) or len(test.then.statements) != 1:
            raise LoweringError("goto backwards on a condition that is constant", last)
        inner = Block(tuple(statements[:-1]), body.region(), span)
        return ir.Loop(ir.LoopKind.DO, (), test.condition, None, inner, None, *regions, span)
    through = ir.Break(body.region(), span, 2)
    inner = Block((*statements, through), body.region(), span, is_breakable=True)
    whole = Block((inner,), body.region(), span)
    return ir.Loop(ir.LoopKind.FOR, (), None, None, whole, None, *regions, span)


def _is_jump(node: Node) -> bool:
    inner = node.children[0] if node.kind == C.COMPOUND_STMT and len(node.children) == 1 else node
    return inner.kind == C.GOTO_STMT


def _continues(nodes: Sequence[Node]) -> bool:
    """Whether a `continue` among these is one of a loop around them."""
    loops = (C.FOR_STMT, C.WHILE_STMT, C.DO_STMT, C.CXX_FOR_RANGE_STMT, C.LAMBDA_EXPR)
    return any(
        node.kind == C.CONTINUE_STMT or (node.kind not in loops and _continues(node.children))
        for node in nodes
    )


def _jumped_to(nodes: Sequence[Node]) -> set[str]:
    jumps = (inner for node in nodes for inner in node.walk() if inner.kind == C.GOTO_STMT)
    return {_label_of(jump) for jump in jumps}


def _label_of(jump: Node) -> str:
    return jump.children[0].spelling if jump.children else ""


def _in_front_of(body: Body, nodes: Sequence[Node], label: Node) -> Stmt:
    """The statements that a `goto` forward to `label` leaves."""
    region, targets = body.region(), body.frame.targets
    targets.append(Target(len(body.frame.guards), label=label.spelling, depth=body.depth))
    statements = lower_all(body, nodes)
    targets.pop()
    return Block(tuple(statements), region, body.unit.spans.span(nodes[0]), is_breakable=True)


def loop_body(body: Body, node: Node) -> Block:
    """The body of a loop, which `break` and `continue` leave."""
    targets = body.frame.targets
    targets.append(Target(len(body.frame.guards), is_loop=True))
    inner = as_block(body, node)
    targets.pop()
    return inner


def left_by(body: Body, leaves: Callable[[Target], bool]) -> tuple[int, list[Stmt]] | None:
    """How many targets a jump leaves up to the one that it is meant for, and the destructors on its way."""
    for levels, target in enumerate(reversed(body.frame.targets), 1):
        if leaves(target):
            staying = sum(guard.depth <= target.depth for guard in body.frame.guards)
            return levels, destroyed(body, staying if target.label is not None else target.guards)
    return None


def destroyed(body: Body, older: int, kept: Variable | None = None) -> list[Stmt]:
    """The destructors of this function's objects but the `older` ones and `kept`, the last made first."""
    result: list[Stmt] = []
    for guard in reversed(body.frame.guards[older:]):
        where = guard.where
        if kept is None or (where.variable if isinstance(where, RegisterPlace) else where.root) is not kept:
            if body.is_host:
                span = body.unit.spans.span(guard.destructor)
                if guard.is_by_library:
                    result += lost_by(body, [guard.destructor], span)
                else:
                    result.append(ran(body, guard.destructor, where, (), span))
                continue
            body.frames.append(Frame(None, guard.where))
            result += STATEMENTS[C.DESTRUCTOR](body, guard.destructor)
            body.frames.pop()
    return result


def at_end(body: Body, older: int, statements: list[Stmt]) -> list[Stmt]:
    """What leaving a scope by its end runs."""
    if statements and isinstance(statements[-1], ir.Return | ir.Break | ir.Continue):
        return []
    return destroyed(body, older)


def note_object(body: Body, where: Location, type_: ClangType, span: Span) -> None:
    """Remember the destructors that a local object needs."""
    find = parts if body.is_host else every_part
    for one in find(body.unit, type_, Special.DESTROY):
        body.frame.guards.append(Guard(part_at(body, where, one.path, span), one.function, body.depth))
    declaration = type_.canonical.declaration if body.is_host else None
    if declaration is not None and body.unit.parsed.is_builtin(declaration):
        for one in destroyed_within(body.unit, type_):
            body.frame.guards.append(Guard(where, one, body.depth, is_by_library=True))


@statement(C.COMPOUND_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return [as_block(body, node)]


_NESTED = rb"(?:[^(){};]|\((?:[^(){};]|\((?:[^(){};]|\([^(){};]*\))*\))*\))*"
_MACRO = regex(rb"\b([A-Za-z_]\w*)\s*(?:\(" + _NESTED + rb"\))?(?:\s|//[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*$")
_LONGEST_MACRO = 400


def _macro_in_front(body: Body, node: Node) -> str | None:
    """A name that nothing declares in front of a statement, `REP(i, 10) f();`: a macro of a lost header."""
    unknown = body.unit.parsed.recovered.unknown
    if not unknown or (where := body.unit.spans.source(node)) is None:
        return None
    found = _MACRO.search(where[0].data, max(0, where[1] - _LONGEST_MACRO), where[1])
    name = None if found is None else found[1].decode()
    return name if name in unknown else None


def _any_times(body: Body, inner: Block, macro: str) -> ir.Loop:
    """What a macro that nobody knows may run any number of times."""
    span = inner.span
    asked = ir.Call(macro, macro, (), ir.INT32, span)
    regions = body.region(), body.region(), body.region()
    return ir.Loop(ir.LoopKind.WHILE, (), asked, None, inner, None, *regions, span)


@statement(C.NULL_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return []


# --------------------------------------------------------------------------- branches


def split_condition(body: Body, node: Node, tail: int) -> tuple[list[Stmt], list[Node]]:
    """Declarations in front of a condition, lowered, and the rest: condition and at most `tail` parts."""
    children = list(node.children)
    before: list[Stmt] = []
    while children and children[0].kind in (C.DECL_STMT, C.VAR_DECL):
        first = children.pop(0)
        before.extend(declare(body, first) if first.kind == C.VAR_DECL else lower(body, first))
    if len(children) > 1 + tail:
        before.extend(lower(body, children.pop(0)))
    return before, children


def decision(body: Body, node: Node) -> ir.Expr:
    """The value of a condition; of host code an unknown one where it cannot be read."""
    try:
        return whole_expression(body, lambda: body.expr(node))
    except LoweringError:
        if not body.is_host:
            raise
        return unread(body.span(node))


@statement(C.IF_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    span = body.unit.spans.span(node)
    before, parts = split_condition(body, node, 2)
    if len(parts) < 2:
        raise LoweringError("if whose condition could not be read", node)
    with body.statement_span(parts[0]):
        condition = decision(body, parts[0])
    if isinstance(condition, Constant):
        taken = parts[1] if condition.value else parts[2] if len(parts) > 2 else None
        return before if taken is None else [*before, as_block(body, taken)]
    region = body.region()
    known = known_value(body, condition) if body.known else None
    # in recursion the arm that is not taken would never end
    empty = None if known is None else Block((), body.region(), span)
    then = as_block(body, parts[1]) if empty is None or known else empty
    otherwise = as_block(body, parts[2]) if len(parts) > 2 and not known else empty
    return [*before, ir.If(condition, then, otherwise, region, span)]


@statement(C.SWITCH_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    span = body.unit.spans.span(node)
    before, parts = split_condition(body, node, 1)
    if len(parts) != 2:
        raise LoweringError("switch whose selector could not be read", node)
    with body.statement_span(parts[0]):
        selector = whole_expression(body, lambda: body.expr(parts[0]))
    head = _head(body, node, parts[1]) if body.is_host else ""
    unseen = [] if ";" not in head or before else rejected(body, head, span)  # clang does not list it
    before.extend(unseen)
    region = body.region()
    groups: list[tuple[list[int | None], list[Node]]] = []
    inner = list(parts[1].children) if parts[1].kind == C.COMPOUND_STMT else [parts[1]]
    for child in inner:
        labels: list[int | None] = []
        current: Node | None = child
        while current is not None and current.kind in (C.CASE_STMT, C.DEFAULT_STMT):
            rest = list(current.children)
            if current.kind == C.CASE_STMT:
                value = body.expr(rest[0])
                if not isinstance(value, Constant):
                    raise LoweringError("case label that is no constant", current)
                labels.append(int(value.value))
                if len(rest) > 2:
                    raise LoweringError("case label that is a range", current)
                rest = rest[1:]
            else:
                labels.append(None)
            current = rest[-1] if rest else None
        if labels:
            groups.append((labels, [] if current is None else [current]))
        elif groups:
            groups[-1][1].append(child)
        else:
            before.extend(lower(body, child))
    body.frame.targets.append(Target(len(body.frame.guards)))
    cases = tuple(
        ir.Case(tuple(labels), block(body, nodes, body.unit.spans.span(nodes[0]) if nodes else span))
        for labels, nodes in groups
    )
    body.frame.targets.pop()
    return [*before, ir.Switch(selector, cases, region, span), *unseen]


def _head(body: Body, node: Node, inner: Node) -> str:
    """What stands in front of the body of a statement."""
    text, length = body.unit.spans.text(node), inner.start.offset - node.start.offset
    return text[: max(0, length)]


# --------------------------------------------------------------------------- jumps


@statement(C.RETURN_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    result = _return(body, node)
    last = result[-1]
    ending, body.after = body.after, []
    if not (body.frame.guards or ending) or not isinstance(last, ir.Return):
        return result
    value, kept = last.value, None
    if isinstance(value, Read) and value.type.kind is TypeKind.RECORD:
        kept = value.place.variable  # what a function returns by name is made where the caller wants it
    elif value is not None and not isinstance(value, Constant):  # known before anything is destroyed
        variable = body.temporary("result", value.type, last.span)
        note_pointer(body, variable, (), value)
        result.insert(-1, ir.Declare(variable, value, body.region(), last.span))
        value = Read(RegisterPlace(variable, (), value.type), value.type, last.span)
    return [*result[:-1], *ending, *destroyed(body, 0, kept), ir.Return(value, last.region, last.span)]


def _return(body: Body, node: Node) -> list[Stmt]:
    span = body.span(node)
    children = [c for c in node.children if c.kind >= 100]
    if not children:  # or none that could be read
        is_lost = body.is_host and _gives(body)
        return [ir.Return(unread(span) if is_lost else None, body.region(), span)]
    frame = body.frame
    if frame.returns_address:
        where = body.location(children[0]) or somewhere(body, children[0], body.type(children[0]))
        return [ir.Return(address_of(body, where, span), body.region(), span)]
    if frame.info is not None and frame.info.returns_reference and not frame.results_as_values:
        where = body.location(children[0])
        if where is None and frame.results_in_memory:
            raise LoweringError("reference to one of several objects that are not known here", node)
        if where is not None:
            if frame.results_in_memory:
                where = in_memory(body, where, span)
            frame.result_locations.append(where)
            if isinstance(where, Cell):
                return [ir.Return(where.address, body.region(), span)]
            return [ir.Return(Read(where, where.type, span), body.region(), span)]
    value = body.expr(_named_result(body, children[0]) if body.is_host else children[0])
    if value.type.kind is TypeKind.POINTER:
        found = pointee_of(body, value)
        if found is not None:
            frame.result_pointees.append(found)
    return [ir.Return(value, body.region(), span)]


def _named_result(body: Body, node: Node) -> Node:
    """What a host function gives: a local that all `return`s name is made at the caller's, not copied."""
    initialises(body, node)
    call = bare(node)
    inner = [bare(child) for child in call.children if child.kind >= 100]
    if call.kind != C.CALL_EXPR or len(inner) != 1 or body.function is None:
        return node
    local = inner[0].referenced if inner[0].kind == C.DECL_REF_EXPR else None
    if local is None or local.kind != C.VAR_DECL or not _is_given_only(body.function, local):
        return node
    return inner[0] if isinstance(body.names.get(local.raw.data0), Variable) else node


def _is_given_only(function: Node, local: Node) -> bool:
    returns = [node for node in function.walk() if node.kind == C.RETURN_STMT]
    named = [[n.referenced for n in node.walk() if n.kind == C.DECL_REF_EXPR] for node in returns]
    return all(len(names) == 1 and names[0] == local for names in named)


@statement(C.BREAK_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    levels, left = left_by(body, lambda target: target.label is None) or (1, [])
    return [*left, ir.Break(body.region(), body.span(node), levels)]


@statement(C.CONTINUE_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    _, left = left_by(body, lambda target: target.is_loop) or (1, [])
    return [*left, ir.Continue(body.region(), body.span(node))]


@statement(C.LABEL_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return lower(body, node.children[-1]) if node.children else []


@statement(C.GOTO_STMT, C.INDIRECT_GOTO_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return _jump(body, _label_of(node), body.span(node))


def _jump(body: Body, label: str, span: Span) -> list[Stmt]:
    """A jump to a label of the function; one that is not followed is remembered in host code."""
    found = left_by(body, lambda target: bool(label) and target.label == label)
    if found is not None:
        return [*found[1], ir.Break(body.region(), span, found[0])]
    message = "goto is not followed into a block, or back over a 'continue': it is read as doing nothing"
    body.hole("PW006", span, message)
    body.lost_jump = body.lost_jump or span
    return []


@statement(C.CXX_TRY_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return [tried(body, node)]


def tried(body: Body, node: Node, first: Sequence[Stmt] = (), *, throws_on: bool = False) -> Stmt:
    """Host code: the protected block, then handler by handler whether it takes what was thrown.

    `first`: what else is protected. `throws_on`: handlers end with throwing it again, as a constructor's.
    """
    protected, *handlers = node.children
    span = body.unit.spans.span(node)
    again = ir.Call("", ir.THROW, (), ir.VOID, span)
    others = ir.If(
        _caught(ir.ANY_TYPE, span),
        Block((_alone(body, again),), body.region(), span),
        None,
        body.region(),
        span,
    )
    rest: Stmt = others
    for handler in reversed(handlers):
        where = body.unit.spans.span(handler)
        name, by_reference = ir.ANY_TYPE, None
        held: Stmt = _alone(body, ir.Call("", ir.HANDLE, (), ir.UNKNOWN_TYPE, where))
        if handler.children[0].kind == C.VAR_DECL:
            declaration = handler.children[0]
            name = class_names(declaration.type)[0]
            variable = Variable(
                declaration.spelling,
                body.type(declaration),
                body.home(body.type(declaration)),
                VariableRole.LOCAL,
                where,
            )
            body.names[declaration.raw.data0] = variable
            by_reference = variable if must_name_an_object(declaration.type) else None
            held = ir.Declare(
                variable, ir.Call("", ir.HANDLE, (), variable.type, where), body.region(), where
            )
        outer, body.handled = body.handled, by_reference
        inner = as_block(body, handler.children[-1])
        body.handled = outer
        ending = (_alone(body, again),) if throws_on else ()
        inner = Block((held, *inner.statements, *ending), inner.region, where)
        rest = ir.If(_caught(name, where), inner, Block((rest,), body.region(), where), body.region(), where)
    inside = as_block(body, protected)
    inside = replace(inside, statements=(*first, *inside.statements))
    return Block((inside, rest), body.region(), span, is_protected=True)


def _caught(name: str, span: Span) -> Expr:
    return ir.Call("", ir.CAUGHT, (ir.Text(name, ir.UNKNOWN_TYPE, span),), ir.BOOL, span)


def _alone(body: Body, expr: Expr) -> Stmt:
    return ir.ExprStmt(expr, body.region(), expr.span)


@statement(C.CASE_STMT, C.DEFAULT_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    """A label inside a nested block (Duff's device): its statement is read, the jump into it is not."""
    body.hole("PW006", body.span(node), "case label inside a nested block is not followed")
    return lower(body, node.children[-1])


_SELF_SPANNED = frozenset(
    int(kind)
    for kind in (
        C.COMPOUND_STMT,
        C.IF_STMT,
        C.FOR_STMT,
        C.WHILE_STMT,
        C.DO_STMT,
        C.SWITCH_STMT,
        C.CXX_FOR_RANGE_STMT,
        C.UNEXPOSED_STMT,
        C.LABEL_STMT,
        C.CXX_TRY_STMT,
    )
)


@statement(C.ASM_STMT, C.MS_ASM_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    from wattslice.frontend.cuda.lowering.inline_assembly import (
        lower_assembly,
    )  # reads PTX: few files hold any

    return lower_assembly(body, node)


# ---------------------------------------------------------------------------
# Local declarations: shared memory, arrays, registers, references, known constants.


@statement(C.DECL_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    result: list[Stmt] = []
    is_of_several = body.is_host and len(node.children) > 1
    is_lost = False
    for child in node.children:
        if child.kind == C.VAR_DECL:
            result.extend(lower(body, child) if is_of_several else declare(body, child))
            is_lost |= body.is_host and lost_initial_value(body.unit, child)
        elif child.kind == C.UNEXPOSED_DECL:  # structured binding
            result.extend(structured_binding(body, child, body.span(child)))
    return rejected(body, body.unit.spans.text(node), body.span(node), result) if is_lost else result


@statement(C.VAR_DECL)
def _(body: Body, node: Node) -> list[Stmt]:
    return declare(body, node)


def declare(body: Body, node: Node) -> list[Stmt]:
    """A local variable: shared memory, local array, register, reference, or a known constant."""
    type_ = body.type(node)
    span = body.span(node)
    key = node.raw.data0
    initializer = node.initializer
    if initializer is not None and initializer.kind < 100:
        initializer = None
    if initializer is not None and (
        body.unit.types.is_reference(node.raw) or _names_a_bit(node, initializer)
    ):
        return _declare_reference(body, node, initializer, span)
    if body.is_host and node.is_extern:
        return []  # its name means the variable of that name outside
    if body.is_host and key in body.unit.shared_statics:
        shared = body.names[key] = file_scope_variable(body, node)
        if isinstance(shared.initializer, Constant):
            return []
        lost = unread(span, (ir.AddressOf(shared, pointer_to(shared.type), span),))
        return [ir.ExprStmt(lost, body.region(), span)]
    children = node.children
    attribute = memory_attribute(node) if any(c.kind >= 400 for c in children) else None
    if attribute is not None and not body.is_host:
        length_unknown = type_.kind is TypeKind.ARRAY and type_.length is None
        dynamic = attribute is ir.MemorySpace.SHARED and length_unknown
        variable = Variable(node.spelling, type_, attribute, VariableRole.LOCAL, span, dynamic=dynamic)
        body.names[key] = variable
        if attribute is ir.MemorySpace.SHARED:
            known = next((v for v in body.shared if dynamic and v.dynamic and v.name == variable.name), None)
            if known is None:
                body.shared.append(variable)
        return []
    if initializer is not None and is_callable_type(body.type(initializer)):
        target = function_named(body, initializer)
        around = function_around(body) if type_.kind is TypeKind.POINTER and not node.type.is_const else None
        if target is not None and (around is None or key not in changed_in(body.unit, around)):
            body.functions[key] = target
    is_of_thread = body.is_host and node.is_of_thread
    is_static = node.is_static or is_of_thread
    is_object = not is_static and type_.kind in (TypeKind.RECORD, TypeKind.ARRAY)
    if is_object and body.is_host and initializer is not None and _is_of_class(body, node):
        made = _made_object(body, node, initializer, span)
        if made:
            return made
    if body.is_host and initializer is not None:
        initialises(body, initializer)
    mark = len(body.before)
    role = VariableRole.STATIC_LOCAL if body.is_host and is_static else VariableRole.LOCAL
    itself: Variable | None = None
    if initializer is not None and body.is_host and _names(body, initializer, node):
        itself = Variable(node.spelling, type_, body.home(type_), role, span, is_of_thread=is_of_thread)
        body.names[key] = itself
    value = None if initializer is None else body.expr(initializer)
    if body.is_host and isinstance(value, (ir.Call, ir.Read, ir.Load, ir.Cast)):
        value = _computed(body, node, type_) or value
    if body.is_host and lost_initial_value(body.unit, node):
        value = unread(span)
    if value is not None and body.is_host and is_static:  # once
        value = with_effects(body, mark, value)
    if isinstance(value, ir.Construct) and not value.arguments and type_.kind is not TypeKind.ARRAY:
        value = value if is_made_empty(type_) else None
    if value is not None and type_.kind is TypeKind.ARRAY and type_.length is None and value.type.length:
        type_ = value.type
    if type_.kind is TypeKind.UNKNOWN and value is not None:
        type_ = value.type
    is_constant = isinstance(value, Constant) and node.type.is_const
    # A const float is no constant expression in C++; a constexpr one is.
    folds = is_constant and (type_.is_integral or "constexpr" in body.unit.spans.line_text(node))
    home = body.home(type_)
    variable = itself or Variable(
        node.spelling, type_, home, role, span, is_constant=is_constant, is_of_thread=is_of_thread
    )
    body.names[key] = value if isinstance(value, Constant) and folds and type_.lanes == 1 else variable
    if value is not None:
        address = body.register_addresses.get(id(value))
        if type_.kind is TypeKind.POINTER and not body.is_host and not is_static and _stays(body, node):
            if address is not None:
                body.names[key] = PointsTo(address[1])
            elif is_fixed(value):
                body.names[key] = PointsTo(dereference(body, value, type_.element or type_))
        note_pointer(body, variable, (), value)
    declared: list[Stmt] = [ir.Declare(variable, value, body.region(), span)]
    if is_object and (body.is_host or type_.kind is TypeKind.RECORD):
        note_object(body, location_of_variable(body, variable, span), node.type, span)
    elif body.is_host and is_static:
        declared += destroyed_at_exit(body, location_of_variable(body, variable, span), node.type, span)
    return declared


def _computed(body: Body, node: Node, type_: ir.Type) -> Constant | None:
    """The value of a constant that a `constexpr` function gives, which clang has computed."""
    if not (type_.is_integral and node.type.is_const):
        return None
    if any(name.role is Role.VALUE for name in body.unit.parsed.recovered.declared):  # it may go back to one
        return None
    value = node.evaluate()
    return None if value is None else Constant(value, type_, body.span(node))


def _stays(body: Body, variable: Node) -> bool:
    """Whether nothing around gives a local variable another value than its first."""
    if variable.type.is_const:
        return True
    around = function_around(body)
    return around is not None and variable.raw.data0 not in changed_in(body.unit, around)


def _names(body: Body, initializer: Node, variable: Node) -> bool:
    """Whether an initial value names the variable itself: its address, or in a function that it holds."""
    is_named = variable.spelling in body.unit.spans.text(initializer)
    names = (n for n in initializer.walk() if n.kind == C.DECL_REF_EXPR) if is_named else ()
    return any(name.referenced == variable for name in names)


def _is_of_class(body: Body, node: Node) -> bool:
    """Whether making an object, or an array of such, may run functions of the user."""
    type_ = node.type.canonical
    while type_.kind == K.CONSTANTARRAY:
        type_ = type_.element.canonical
    declaration = type_.declaration
    return declaration is not None and not body.unit.parsed.is_builtin(declaration)


def _made_object(body: Body, node: Node, initializer: Node, span: Span) -> list[Stmt]:
    """A local object of host code that a constructor makes where it is; empty where it is given a value."""
    type_ = body.type(node)
    variable = Variable(node.spelling, type_, body.home(type_), VariableRole.LOCAL, span)
    where = location_of_variable(body, variable, span)
    made = made_at(body, initializer, where, span)
    if made is None:
        return []
    body.names[node.raw.data0] = variable
    note_object(body, where, node.type, span)
    return [ir.Declare(variable, None, body.region(), span), *made]


def _names_a_bit(node: Node, initializer: Node) -> bool:
    """Whether `auto x = v[i]` gives an element of a `std::vector<bool>` another name, as its proxy does."""
    is_bit = node.type.kind == K.AUTO and node.type.canonical.kind == K.BOOL
    callee = bare(initializer).referenced if is_bit else None
    return callee is not None and callee.mangled_name.startswith("_ZNSt6vectorIb")


def _declare_reference(body: Body, node: Node, initializer: Node, span: Span) -> list[Stmt]:
    """A reference is another name: of a register place, or of memory at an address computed once."""
    key = node.raw.data0
    where = body.location(initializer)
    if isinstance(where, RegisterPlace):
        body.names[key] = body.bindings[node.spelling] = where
        return []
    type_ = body.type(node)
    if where is None and body.is_host and must_name_an_object(node.type):
        where = somewhere(body, initializer, type_)
    if where is None:  # bound to a temporary
        if not body.is_host and must_name_an_object(node.type):
            raise LoweringError(f"'{node.spelling}' refers to an object that is not known here", node)
        initialises(body, initializer)
        value = body.expr(initializer)
        variable = Variable(node.spelling, type_, body.home(type_), VariableRole.LOCAL, span)
        body.names[key] = variable
        note_pointer(body, variable, (), value)
        if body.is_host and bare(initializer).kind in (C.CALL_EXPR, C.INIT_LIST_EXPR):
            note_object(body, location_of_variable(body, variable, span), bare(initializer).type, span)
        return [ir.Declare(variable, value, body.region(), span)]
    pointer = Variable(
        node.spelling, pointer_to(where.type), body.home(pointer_to(where.type)), VariableRole.LOCAL, span
    )
    note_pointer(body, pointer, (), where.address)
    handle = Read(RegisterPlace(pointer, (), pointer.type), pointer.type, span)
    body.names[key] = body.bindings[node.spelling] = Cell(handle, where.space, where.type, where.root)
    return [ir.Declare(pointer, where.address, body.region(), span)]


# ---------------------------------------------------------------------------
# Members by declaration: initialisers written in the class, and structured bindings.


def structured_binding(body: Body, declaration: Node, span: Span) -> list[Stmt]:
    """`auto [x, y] = value;`: names for the members, lanes or elements of an object, or of a copy of it."""
    type_ = body.type(declaration)
    if type_.kind is TypeKind.ARRAY and not body.unit.types.is_reference(declaration.raw):
        return _bind_copies(body, declaration, span)
    result = declare(body, declaration)
    bind_parts(body, declaration, span)
    return result


def bind_parts(body: Body, declaration: Node, span: Span) -> None:
    """Names the parts of what a structured binding declares: `[x, y]`, which has its place already."""
    where = body.names[declaration.raw.data0]
    if isinstance(where, Variable):
        where = location_of_variable(body, where, span)
    assert isinstance(where, Cell | RegisterPlace)
    names = _bound(declaration)
    is_followed = _has_parts(body, declaration, len(names), where.type)
    if not is_followed and not body.is_host:
        raise LoweringError("structured binding of an object whose parts are not known here", declaration)
    for position, name in enumerate(names):
        if is_followed:
            part = _part(body, where, position, declaration, span)
        else:
            of = pointer_to(body.type(name))
            address = ir.Call(ir.UNREAD, ir.UNREAD, (address_of(body, where, span),), of, span)
            part = Cell(address, ir.MemorySpace.HOST, body.type(name), None)
        body.names[name.raw.data0] = body.bindings[name.spelling] = part


def _has_parts(body: Body, declaration: Node, count: int, type_: ir.Type) -> bool:
    """Whether the parts are members of the object itself: not of its bases, nor what a member refers to."""
    if type_.kind is not TypeKind.RECORD:
        return True
    if _is_tuple(type_) or _is_array(type_):
        return "&" not in type_.name
    of = declaration.type.canonical
    members = (of.pointee if body.unit.types.is_reference(declaration.raw) else of).canonical.fields
    return len(type_.fields) == count and not any(body.unit.types.is_reference(m.raw) for m in members)


def _is_tuple(type_: ir.Type) -> bool:
    return type_.name.removeprefix("const ").startswith("std::tuple<")


def _is_array(type_: ir.Type) -> bool:
    return type_.name.removeprefix("const ").startswith("std::array<")


def _bound(declaration: Node) -> list[Node]:
    """The names `x` and `y` of `[x, y]`; other declarations have none."""
    return [child for child in declaration.children if child.kind == C.UNEXPOSED_DECL]


def _bind_copies(body: Body, declaration: Node, span: Span) -> list[Stmt]:
    """`auto [x, y] = array;`: each name has a copy of an element."""
    source = declaration.children[-1]  # the copying: of what is copied, and how
    where = body.location(source.children[0]) if source.children else None
    if where is None:
        raise LoweringError("structured binding whose array could not be read", declaration)
    result: list[Stmt] = []
    for position, name in enumerate(_bound(declaration)):
        value = copy_of(body, _part(body, where, position, declaration, span), declaration, span)
        variable = Variable(name.spelling, value.type, body.home(value.type), VariableRole.LOCAL, span)
        note_pointer(body, variable, (), value)
        body.names[name.raw.data0] = variable
        result.append(ir.Declare(variable, value, body.region(), span))
    return result


def copy_of(body: Body, where: Location, node: Node, span: Span) -> Expr:
    """What an object holds; of arrays each element, so that each is known by itself."""
    type_ = where.type
    is_wide = is_wide_record(type_)
    if type_.kind is not TypeKind.ARRAY and not is_wide:
        return read(body, where, span)
    number = len(type_.fields) if is_wide else type_.length or 0
    parts = (_part(body, where, position, node, span) for position in range(number))
    names = tuple(field.name for field in type_.fields)
    return ir.Construct(tuple(copy_of(body, part, node, span) for part in parts), names, type_, span)


def _part(body: Body, where: Location, position: int, node: Node, span: Span) -> Location:
    type_ = where.type
    if _is_tuple(type_) and position:  # it has its first part, and a tuple of the others
        rest = type_.fields[1]
        where = member(where, rest.name, rest.offset_bytes, rest.type, span)
        return _part(body, where, position - 1, node, span)
    if _is_array(type_):
        elements = type_.fields[0]
        where = member(where, elements.name, elements.offset_bytes, elements.type, span)
        return _part(body, where, position, node, span)
    if type_.kind is TypeKind.RECORD and position < len(type_.fields):
        field = type_.fields[position]
        return member(where, field.name, field.offset_bytes, field.type, span)
    if type_.lanes > position and type_.lanes > 1:
        lane = type_.lane
        return member(where, "xyzw"[position], position * lane.size_bytes, lane, span)
    if type_.kind is TypeKind.ARRAY and body.is_host and not isinstance(where, Cell):
        where = Cell(address_of(body, where, span), ir.MemorySpace.HOST, type_, None)
    if type_.kind is TypeKind.ARRAY and type_.element is not None and isinstance(where, Cell):
        index = Constant(position, ir.INT32, span)
        element = type_.element
        address = ir.PointerOffset(
            where.address, index, element.size_bytes, 0, False, False, pointer_to(element), span
        )
        return Cell(address, where.space, element, where.root)
    raise LoweringError("structured binding of something that has no members here", node)
