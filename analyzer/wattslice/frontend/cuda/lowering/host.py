"""Host functions: those that launch kernels, their callers, and the helpers that compute the geometry."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.lowering.context import (
    TOO_LARGE,
    Body,
    Frame,
    Guard,
    LoweringError,
    file_scope_variable,
    is_callable_type,
)
from wattslice.frontend.cuda.lowering.expressions import thrown_if
from wattslice.frontend.cuda.lowering.host_calls import has_object, member_initialisers, object_parameter
from wattslice.frontend.cuda.lowering.lost_kernels import code_of
from wattslice.frontend.cuda.lowering.macros import DEFINITION
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    location_of_variable,
    must_name_an_object,
    place_for_access,
    read,
)
from wattslice.frontend.cuda.lowering.objects import (
    Special,
    destroyed_at_exit,
    initialises,
    inner_parts,
    is_made_empty,
    made_at,
    part_at,
    parts,
)
from wattslice.frontend.cuda.lowering.rejected import rejected, unread
from wattslice.frontend.cuda.lowering.statements import as_block, at_end, note_object, tried
from wattslice.frontend.cuda.lowering.types import decayed, pointer_to
from wattslice.frontend.cuda.lowering.unit import Rejections, Unit, scope_of
from wattslice.ir import Call, Expr, Function, Severity, Stmt, Type, TypeKind, Variable
from wattslice.patterns import regex

if TYPE_CHECKING:
    from wattslice.frontend.cuda.lowering.reuse import Reuse

_LAUNCH = regex(rb"<<<|\bcu(?:da)?Launch\w*Kernel|\bcudaGraph\w*(?:Kernel|Add|Exec|Graph)Node")
_LAUNCHING = (b"<<<", b"Launch", b"cudaGraph")
_DISPATCH = regex(rb"\bAT_DISPATCH_(?!CASE|SWITCH)\w+")
_NAME = regex(rb"[A-Za-z_]\w*")
_MOST_FUNCTIONS = 160


def host_functions(
    unit: Unit, functions: list[Node], callees: frozenset[str] = frozenset(), reuse: Reuse | None = None
) -> tuple[Function, ...]:
    """The functions that the geometry is read from, each lowered once.

    `callees` are functions of another file that launch kernels.
    """
    macros = _launching_macros(unit)
    unit.lambda_instances.clear()
    hosts: dict[int, Node] = {}
    called: dict[int, frozenset[str]] = {}
    launching: list[int] = []
    templates = (node.template for node in functions if node.kind != C.FUNCTION_TEMPLATE)
    instantiated = {template.canonical.raw.data0 for template in templates if template is not None}
    for function in functions:
        if function.kind == C.FUNCTION_TEMPLATE and function.canonical.raw.data0 in instantiated:
            continue  # what runs are its instances
        around = function.semantic_parent if function.spelling == "operator()" else None
        if around is not None and "(lambda at " in (name := unit.types.of(around.raw).name):
            unit.lambda_instances.setdefault(name, []).append(function)
            continue  # lowered with the lambda
        children = {child.kind for child in function.children}
        if children.isdisjoint(_BODIES) or C.CUDAGLOBAL_ATTR in children:
            continue
        if C.CUDADEVICE_ATTR in children and C.CUDAHOST_ATTR not in children:
            continue
        data = _bytes_of(unit, function)
        key: int = function.raw.data0
        hosts[key] = function
        called[key] = _names_in(data)  # also as an argument: a callback
        others = callees - {function.spelling} if function.spelling in unit.c_kernels else callees
        if _launches(data) or called[key] & macros or called[key] & others:
            launching.append(key)
    file_scope = list(_file_scope(unit))
    wanted = dict.fromkeys(launching)
    frontier = launching
    while frontier and len(wanted) < _MOST_FUNCTIONS:
        names = {word for key in frontier for word in _words_for(hosts[key])}
        frontier = [key for key in hosts if key not in wanted and called[key] & names]
        wanted.update(dict.fromkeys(frontier))
    if frontier:  # the callers of these are more than are followed, but for main()
        wanted.update((key, None) for key, node in hosts.items() if node.spelling == "main")
    beyond = {word for key in frontier for word in _words_for(hosts[key])}
    used = {name for key in wanted for name in called[key]}
    read = [node for node in file_scope if node.spelling in used]
    every = {node.spelling for node in read} | beyond
    own = {node.spelling for node in read if _is_private(node)} | beyond
    every |= {n.spelling for n in hosts.values() if n.spelling in used and _gives_out(n)}
    others = [key for key in hosts if key not in wanted]  # which other files may call
    setting = [k for k in others if called[k] & (own if hosts[k].spelling in used else every)]
    wanted.update(dict.fromkeys(setting))
    result: dict[int, Function] = {}
    for key in launching:
        _report_dispatch(unit, hosts[key])
    last = max(_MOST_FUNCTIONS, len(wanted) - len(setting))
    cut = list(wanted)[last:]
    for key in list(wanted)[:last]:
        function = _reused_or_lowered(unit, hosts[key], reuse)
        if function is not None:
            result[key] = function
    initial = _initial_values(unit) if result else None
    if initial is not None:
        result[0] = initial
        if ir.AT_EXIT in _callees(initial) and not any(node.name == "main" for node in result.values()):
            mains = (key for key, node in hosts.items() if node.spelling == "main")
            result |= {key: main for key in mains if (main := _reused_or_lowered(unit, hosts[key], reuse))}
    cut += _follow_helpers(unit, hosts, result, reuse, cut)
    if cut:
        result |= dict(_without_bodies(unit, hosts, called, cut, result))
    instances = {_pattern_of(f) for f in result.values() if f.mangled_name != f.name}
    lowered = (f for f in result.values() if f.mangled_name != f.name or _pattern_of(f) not in instances)
    return tuple(part for function in lowered for part in (function, *function.lambdas))


def _gives_out(function: Node) -> bool:
    """Whether a function gives everybody a reference to something, as `int &size()`."""
    return not has_object(function) and must_name_an_object(function.type.result)


def _words_for(function: Node) -> set[str]:
    """What stands where a function is called: of one that is not named there, the classes of its objects."""
    if function.spelling.isidentifier():
        return {function.spelling}
    taken = [child.type.canonical for child in function.children if child.kind == C.PARM_DECL]
    pointed = (type_.pointee.canonical if type_.kind in _REFERENCES else type_ for type_ in taken)
    classes = (function.semantic_parent, *(type_.declaration for type_ in pointed))
    return {class_.spelling.partition("<")[0] for class_ in classes if class_ is not None}


_BODIES = (C.COMPOUND_STMT, C.CXX_TRY_STMT)
_FUNCTIONS = (C.FUNCTION_DECL, C.CXX_METHOD)
_REFERENCES = (K.LVALUEREFERENCE, K.RVALUEREFERENCE)
_POINTERS = (K.POINTER, *_REFERENCES)


def _reused_or_lowered(unit: Unit, function: Node, reuse: Reuse | None) -> Function | None:
    if reuse is None:
        key, before = function.raw.data0, len(unit.touched)
        if (known := unit.hosts.get(key)) is None:
            lowered = lower_host_function(unit, function)
            known = unit.hosts[key] = lowered, unit.touched[before:]
        else:
            unit.touched += known[1]
        return known[0]
    return reuse.function(function, lower_host_function, is_host=True)


def _launches(text: bytes) -> bool:
    """Whether a launch stands in the code of a function, not in what it prints."""
    return _LAUNCH.search(text) is not None and _LAUNCH.search(code_of(text)) is not None


def _pattern_of(function: Function) -> tuple[str, str, int]:
    """What the member of a class template has in common with its instances, which are what runs."""
    return function.name.partition("<")[0], function.span.file, function.span.end_line


def _report_dispatch(unit: Unit, function: Node) -> None:
    """Of the types that a dispatch goes through, one is read."""
    found = _DISPATCH.search(_bytes_of(unit, function))
    if found is None:
        return
    span = unit.spans.span(function)
    line = span.line + _bytes_of(unit, function).count(b"\n", 0, found.start())
    default = "long" if b"INTEGRAL" in found[0] or b"INDEX" in found[0] else "float"
    default = "c10::Half" if b"REDUCED" in found[0] else default
    fix = "" if default != "float" else "; -D WATTSLICE_DISPATCHED=double reads it for double"
    message = f"{found[0].decode()} goes through several types, of which {default} is assumed{fix}"
    unit.report("PW006", Severity.NOTE, replace(span, line=line, end_line=line), message)


def _launching_macros(unit: Unit) -> set[str]:
    """Macros that launch, by themselves or by way of others, of the file and its headers."""
    texts = unit.texts
    may_launch = [source for source in texts if any(word in source for word in _LAUNCHING)]
    if not any(_LAUNCH.search(text) for source in may_launch for _, text in DEFINITION.findall(source)):
        return set()
    bodies: dict[str, bytes] = {}  # of all definitions: nobody knows here which one holds
    for name, text in (found for source in texts for found in DEFINITION.findall(source)):
        bodies[name.decode()] = bodies.get(name.decode(), b"") + text
    found = {name for name, text in bodies.items() if _LAUNCH.search(text)}
    while found:
        wider = found | {name for name, text in bodies.items() if _names_in(text) & found}
        if len(wider) == len(found):
            break
        found = wider
    return found


@lru_cache(maxsize=1024)
def _names_in(text: bytes) -> frozenset[str]:
    return frozenset(name.decode() for name in _NAME.findall(text))


_LARGEST_EXPORT = 1024


def declare_exports(unit: Unit) -> None:
    """File-scope numbers that other files may use, also in namespaces: `extern const int n = 4`, `int n = 4`,
    `S s = {1, 2}`, `int sizes[2] = {4, 8}` unless it is a large table; and pointers to functions.
    """
    body = Body(unit, is_host=True)
    stack = list(unit.root.children)
    while stack:
        node = stack.pop()
        if node.kind in (C.NAMESPACE, C.LINKAGE_SPEC, C.UNEXPOSED_DECL):
            stack.extend(node.children)
        elif (
            node.kind == C.VAR_DECL
            and not node.is_static
            and node.initializer is not None
            and (type_ := unit.types.of(node.raw)).tells_files
            and type_.size_bytes <= _LARGEST_EXPORT
            and unit.spans.span(node).file == str(unit.parsed.path)
        ):
            file_scope_variable(body, node)


def _initial_values(unit: Unit) -> Function | None:
    """What runs before `main`: constructors and functions that give file-scope variables their values, and
    notes of their destructors.
    """
    body = Body(unit, is_host=True)
    statements: list[Stmt] = []
    where = ir.Span(str(unit.parsed.path), 1, 1, 1)
    for node in _file_scope(unit):
        value, made = node.initializer, list[Stmt]()
        is_destroyed = bool(parts(unit, node.type, Special.DESTROY))
        try:
            if value is not None and value.kind >= 100 and (is_destroyed or _runs_something(unit, value)):
                made += _initial_value(body, node, value)
            if is_destroyed:
                place = location_of_variable(body, file_scope_variable(body, node), where)
                made += destroyed_at_exit(body, place, node.type, unit.spans.span(node))
        except LoweringError:
            continue
        statements += (*body.before, *made)
        body.before = []
    if not statements:
        return None
    tree = ir.Block(tuple(statements), body.region(), where)
    name = f"{ir.INITIAL_VALUES}{unit.parsed.path}"
    return Function(name, name, (), (), tree, where, frozenset(), tuple(body.lambdas))


def _initial_value(body: Body, declaration: Node, value: Node) -> tuple[Stmt, ...]:
    """What gives one variable its value: of a reference, kept as a pointer, where the object is."""
    span = body.unit.spans.span(declaration)
    variable = file_scope_variable(body, declaration)
    place = location_of_variable(body, variable, span)
    initial: Expr | None = None
    if variable.type != body.unit.types.of(declaration.raw):
        named = body.location(value)
        initial = variable.initializer if named is None else address_of(body, named, span)
    if initial is None:
        made = made_at(body, value, place, span)
        if made is not None:
            return tuple(made)
        initialises(body, value)
        initial = body.expr(value)
    stored = ir.Assign(place_for_access(body, place), None, initial, place.type, place.type, span)
    return (ir.ExprStmt(stored, body.region(), span),)


def _file_scope(unit: Unit) -> Iterator[Node]:
    """The variables that the file and its own headers define outside of functions, in their order."""
    waiting = list(reversed(unit.root.children))
    while waiting:
        node = waiting.pop()
        if node.kind in _HOLDING and not unit.parsed.is_builtin(node):
            waiting.extend(reversed(node.children))
        elif node.kind == C.VAR_DECL and not node.is_extern and not unit.parsed.is_builtin(node):
            yield node


def _is_private(variable: Node) -> bool:
    """Whether the functions of its file alone can name a variable, of which others may call some."""
    around = variable.semantic_parent
    return variable.is_static or (around is not None and around.kind == C.NAMESPACE and not around.spelling)


_HOLDING = (C.NAMESPACE, C.LINKAGE_SPEC, C.UNEXPOSED_DECL, C.CLASS_DECL, C.STRUCT_DECL)


def _runs_something(unit: Unit, value: Node) -> bool:
    """Whether a value comes of a function of the user, or holds one."""
    if any(node.kind == C.LAMBDA_EXPR for node in value.walk()):
        return True
    calls = (node for node in value.walk() if node.kind == C.CALL_EXPR)
    for callee in (node.referenced for node in calls):
        if callee is None or not (unit.parsed.is_builtin(callee) or callee.is_defaulted):
            return True
        if callee.kind == C.CONSTRUCTOR and _gives_members(unit, callee.semantic_parent):
            return True
    return bool(parts(unit, value.type, Special.MAKE))


def _gives_members(unit: Unit, record: Node | None) -> bool:
    """Whether a class, or a base or member of it, gives members values: `struct S { int n = 4; };`."""
    if record is None or unit.parsed.is_builtin(record):
        return False
    bases = [node for node in record.children if node.kind == C.CXX_BASE_SPECIFIER]
    return any(
        any(own.kind >= 100 for own in node.children)
        or is_made_empty(unit.types.of(node.raw))
        or _gives_members(unit, node.type.declaration)
        for node in (*bases, *record.type.fields)  # of an instance of a template these are not its children
    )


def _bytes_of(unit: Unit, function: Node) -> bytes:
    found = unit.spans.written(function)
    if found is None:
        return b""
    file, begin, end = found
    return file.data[begin:end]


def _follow_helpers(
    unit: Unit, hosts: dict[int, Node], result: dict[int, Function], reuse: Reuse | None, cut: Collection[int]
) -> Iterator[int]:
    """Functions called for their value, or that write through an argument, those near a launch first; gives
    those that are more than are followed. `cut`: others that are not followed.
    """
    by_name: dict[str, list[int]] = {}
    for key, node in hosts.items():
        for name in {node.spelling, node.mangled_name}:
            by_name.setdefault(name, []).append(key)
    queue, left = deque(result.values()), dict.fromkeys(cut)
    while queue:
        has_room = len(result) + len(left) < _MOST_FUNCTIONS
        for name in sorted(_callees(queue.popleft())):
            for key in by_name.get(name, ()):
                if key in result or key in left or not _is_helper(unit, hosts[key]):
                    continue
                if not has_room:
                    left[key] = None
                    yield key
                elif (function := _reused_or_lowered(unit, hosts[key], reuse)) is not None:
                    result[key] = function
                    queue.append(function)


def _callees(function: Function) -> set[str]:
    """The names of what a function calls, and of the functions that it hands on, as to a thread; and of
    what the program runs at its end.
    """
    every = [expr for part in (function, *function.lambdas) for expr in ir.expressions_below(part.body)]
    calls = [expr for expr in every if isinstance(expr, Call)]
    given = {expr.value for expr in every if isinstance(expr, ir.Text) and expr.type.name == "function"}
    at_exit = {call.callee for call in calls if call.name == ir.AT_EXIT}
    return {call.name for call in calls} | given | at_exit


def _is_helper(unit: Unit, function: Node) -> bool:
    result = unit.types.translate(function.type.result.raw)
    gives_number = result.kind not in (TypeKind.VOID, TypeKind.POINTER) or is_callable_type(result)
    if gives_number or has_object(function):
        return True  # a method may change the members of its object
    pointers = [
        type_
        for child in function.children
        if child.kind == C.PARM_DECL
        for type_ in (decayed(unit.types.of(child.raw)),)
        if type_.kind is TypeKind.POINTER
    ]
    if not pointers or any(_may_hold_numbers(pointer) for pointer in pointers):
        return True
    names = unit.file_scope_integers
    return bool(names) and _writes_of(names).search(_bytes_of(unit, function)) is not None


@lru_cache(maxsize=16)
def _writes_of(names: frozenset[str]) -> re.Pattern[bytes]:
    """Finds what may write one of these variables."""
    words = b"|".join(re.escape(name.encode()) for name in sorted(names))
    return re.compile(
        rb"\b(?:%s)\b\s*(?:(?:[-+*/%%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:&|\+\+|--)\s*(?:%s)\b" % (words, words)
    )


def _may_hold_numbers(pointer: Type) -> bool:
    """A pointer to something other than floating-point data or raw memory (so: sizes, options, argv)."""
    element = pointer.element
    while element is not None and element.kind is TypeKind.ARRAY:
        element = element.element
    return element is not None and not element.is_float and element.kind is not TypeKind.VOID


class _Lost(Struct, frozen=True):
    """What a function may do that is not followed, by what stands in it and in those that it may come to."""

    variables: tuple[Variable, ...]
    launching: tuple[str, ...]
    """Functions with launches, by their mangled names."""
    may_throw: bool


def _without_bodies(
    unit: Unit,
    hosts: dict[int, Node],
    called: dict[int, frozenset[str]],
    cut: Sequence[int],
    known: dict[int, Function],
) -> Iterator[tuple[int, Function]]:
    """Host functions that are not followed, beside those that are `known`: what they get, and what is at file
    scope or static, they may write.
    """
    body = Body(unit, is_host=True)
    outside = [file_scope_variable(body, node) for node in _file_scope(unit) if not node.type.is_const]
    outside += (v for v in unit.globals.values() if v.space is ir.MemorySpace.HOST and not v.is_constant)
    statics = {key: tuple(_statics(function)) for key, function in known.items() if key in hosts}
    launching = {key for key in statics if _launches(_bytes_of(unit, hosts[key]))}
    throwing = {key for key, node in hosts.items() if b"throw" in _bytes_of(unit, node)}
    ends = launching | throwing | {key for key, variables in statics.items() if variables}
    come_to = _come_to(hosts, called, ends)
    for key in cut:
        below = sorted(come_to.get(key, ()))
        own = (variable for one in below for variable in statics.get(one, ()))
        names = tuple(known[one].mangled_name for one in below if one in launching)
        lost = _Lost(tuple(dict.fromkeys((*outside, *own))), names, not throwing.isdisjoint(below))
        if (function := lower_host_function(unit, hosts[key], lost)) is not None:
            yield key, function


def _statics(function: Function) -> Iterator[Variable]:
    """The static variables of a function and its lambdas that may change."""
    every = (stmt for part in (function, *function.lambdas) for stmt in ir.walk_statements(part.body))
    declared = (stmt.variable for stmt in every if isinstance(stmt, ir.Declare))
    return (v for v in declared if v.role is ir.VariableRole.STATIC_LOCAL and not v.is_constant)


def _come_to(
    hosts: dict[int, Node], called: dict[int, frozenset[str]], ends: Iterable[int]
) -> dict[int, frozenset[int]]:
    """To which of some functions others may come by calls, told by the names that stand in them."""
    by_word: dict[str, list[int]] = {}
    for key, node in hosts.items():
        for word in _words_for(node):
            by_word.setdefault(word, []).append(key)
    callers: dict[int, list[int]] = {}
    for key in hosts:
        for other in (other for word in called[key] for other in by_word.get(word, ())):
            callers.setdefault(other, []).append(key)
    found: dict[int, frozenset[int]] = {key: frozenset((key,)) for key in ends}
    waiting = deque(found)
    while waiting:
        key = waiting.popleft()
        for caller in callers.get(key, ()):
            before = found.get(caller, frozenset())
            if not found[key] <= before:
                found[caller] = before | found[key]
                waiting.append(caller)
    return found


def _lost(body: Body, function: Node, parameters: Sequence[Variable], lost: _Lost) -> ir.Block:
    """What remains of a function that is not followed."""
    span = body.unit.spans.span(function)
    declared = [child for child in function.children if child.kind == C.PARM_DECL]
    this = parameters[: len(parameters) - len(declared)]
    given = [one for one, node in zip(parameters[len(this) :], declared, strict=True) if not _is_kept(node)]
    variables = [] if _is_formula(body.unit, function, declared) else [*given, *this, *lost.variables]
    places = [location_of_variable(body, one, span) for one in variables]
    arguments = (
        *(read(body, one, span) for one in places if one.type.kind is TypeKind.POINTER),
        *(address_of(body, one, span) for one in places),
        *(ir.Text(name, ir.Type(TypeKind.UNKNOWN, name="function"), span) for name in lost.launching),
    )
    type_ = body.unit.types.translate(function.type.result.raw)
    type_ = pointer_to(type_) if must_name_an_object(function.type.result) else type_
    result = replace(unread(span, arguments, ir.NOT_FOLLOWED), type=type_)
    statements: list[Stmt] = [ir.Return(result, body.region(), span)]
    if lost.may_throw:
        statements.insert(0, thrown_if(body, unread(span), ir.ANY_TYPE, span))
    if ending := _ending(body.unit, function):
        end = ir.Call(ending, ending, (), ir.VOID, span)
        statements = [ir.ExprStmt(expr, body.region(), span) for expr in (result, end)]
    return ir.Block(tuple(statements), body.region(), span)


def _ending(unit: Unit, function: Node) -> str:
    """What ends the program at the end of a function, as of `usage()`, whatever happens in it."""
    if b"return" in _bytes_of(unit, function):
        return ""
    bodies = (child for child in function.children if child.kind == C.COMPOUND_STMT)
    names = (inner.spelling for child in bodies for inner in child.children if inner.kind == C.CALL_EXPR)
    return next((name for name in names if name in ("exit", "abort")), "")


def _is_kept(parameter: Node) -> bool:
    """Whether a function leaves as it is what this parameter refers to: a constant number."""
    type_ = parameter.type.canonical
    return type_.kind in _POINTERS and type_.pointee.is_const and _is_number(type_.pointee)


def _is_number(type_: ClangType) -> bool:
    return K.BOOL <= type_.canonical.kind <= K.LONGDOUBLE


def _is_formula(unit: Unit, function: Node, declared: Sequence[Node]) -> bool:
    """Whether a function computes a number of the numbers that it gets, and nothing else."""
    text = code_of(_bytes_of(unit, function))
    names = {child.spelling.encode() for child in declared if _is_number(child.type)} | _OF_FORMULAS
    body = text[text.find(b"{") :]
    is_of_numbers = function.kind in _FUNCTIONS and _is_number(function.type.result)
    return is_of_numbers and set(_NAME.findall(body)) <= names


_OF_FORMULAS = frozenset((b"return", b"if", b"else"))


def lower_host_function(unit: Unit, function: Node, lost: _Lost | None = None) -> Function | None:
    """One host function, not inlined, or what is `lost` of it; None (with a note) when it fails."""
    span = unit.spans.span(function)
    body = Body(unit, is_host=True)
    body.function = function
    gives_object = must_name_an_object(function.type.result)
    body.frames = [Frame(None, None, returns_address=gives_object)]
    body.rejections = Rejections(unit, function)
    quiet = len(unit.diagnostics)
    try:
        parameters: list[Variable] = []
        defaults: list[Expr | None] = []
        references: set[Variable] = set()
        initialisers: list[Stmt] = []
        if has_object(function):
            this, where = object_parameter(body, function, span)
            parameters.append(this)
            defaults.append(None)
            body.frames = [Frame(None, where, returns_address=gives_object)]
        for child in function.children:
            if child.kind == C.PARM_DECL:
                is_reference = unit.types.is_reference(child.raw)
                variable = Variable(
                    child.spelling,
                    body.type(child) if is_reference else decayed(body.type(child)),
                    ir.MemorySpace.HOST,
                    ir.VariableRole.PARAMETER,
                    unit.spans.span(child),
                )
                body.names[child.raw.data0] = variable
                parameters.append(variable)
                if is_reference:
                    references.add(variable)
                else:
                    note_object(body, location_of_variable(body, variable, span), child.type, span)
                defaults.append(_default(body, child))
        compound = next(child for child in function.children if child.kind in _BODIES)
        this_object = body.frame.this
        if function.kind == C.DESTRUCTOR and this_object is not None and function.semantic_parent is not None:
            for one in inner_parts(unit, function.semantic_parent.type, Special.DESTROY):
                place = part_at(body, this_object, one.path, span)
                body.frame.guards.append(Guard(place, one.function))
        if function.kind == C.CONSTRUCTOR and body.frame.this is not None:
            initialisers = member_initialisers(body, function, body.frame.this, span)
        if lost is not None:
            tree, initialisers = _lost(body, function, parameters, lost), []
        elif compound.kind == C.CXX_TRY_STMT:
            throws_on = function.kind in (C.CONSTRUCTOR, C.DESTRUCTOR)
            tree = ir.Block((tried(body, compound, initialisers, throws_on=throws_on),), body.region(), span)
            initialisers = []
        else:
            tree = as_block(body, compound)
        ending = at_end(body, 0, list(tree.statements))
        tree = replace(tree, statements=(*initialisers, *tree.statements, *ending))
        if (at := body.lost_jump) is not None:
            text = _bytes_of(unit, function).decode("utf-8", "replace")
            result = ir.Return(unread(at, why=ir.LOST_JUMP), body.region(), at)
            perhaps = (*initialisers, *rejected(body, text, at, why=ir.LOST_JUMP), result)
            tree, body.lambdas = ir.Block(perhaps, body.region(), span), []
    except TOO_LARGE:
        del unit.diagnostics[quiet:]
        message = (
            f"host function '{function.spelling}' is too large to be followed: launches in it are not read"
        )
        unit.report("PW007", Severity.WARNING, span, message)
        return None
    except Exception as error:  # one host function must not cost the kernels
        del unit.diagnostics[quiet:]
        message = f"internal error in host function '{function.spelling}': {type(error).__name__}: {error}"
        unit.report("PW099", Severity.NOTE, span, message)
        return None
    # What host code holds besides geometry is nobody's concern: no diagnostics about it.
    del unit.diagnostics[quiet:]
    return Function(
        function.spelling,
        function.mangled_name,
        tuple(parameters),
        tuple(defaults),
        tree,
        span,
        frozenset(references),
        tuple(body.lambdas),
        linked_as=function.mangled_name if _is_defined_once(function) else None,
        scope=scope_of(function),
    )


def _is_defined_once(function: Node) -> bool:
    """Whether no other file of a program may define a function as well."""
    class_ = function.semantic_parent
    is_of_template = function.template is not None or (class_ is not None and class_.template is not None)
    return function.is_external and not function.is_inline and not is_of_template


def _default(body: Body, parameter: Node) -> Expr | None:
    for child in reversed(parameter.children):
        if 100 <= child.kind < 400:
            try:
                return body.expr(child)
            except LoweringError:
                return None
    return None
