"""A whole translation unit: its kernels, the host functions around their launches, what could not be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend import MOST_KERNELS
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.diagnostics import ParseDiagnostic, Role
from wattslice.frontend.cuda.clang.flags import FOLLOWED, STUBS
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.session import ParsedUnit
from wattslice.frontend.cuda.lowering import calls, closures, expressions, loops, memory, statements
from wattslice.frontend.cuda.lowering.context import (
    NUMBER_OF_NO_INSTANCE,
    TOO_LARGE,
    Body,
    Frame,
    TooLargeError,
)
from wattslice.frontend.cuda.lowering.host import declare_exports, host_functions
from wattslice.frontend.cuda.lowering.library_work import report_library_work
from wattslice.frontend.cuda.lowering.lost_kernels import is_kernel, lost_kernels
from wattslice.frontend.cuda.lowering.memory import note_parameter
from wattslice.frontend.cuda.lowering.statements import as_block
from wattslice.frontend.cuda.lowering.types import UINT64, decayed, is_wide_record
from wattslice.frontend.cuda.lowering.unit import Unit, qualified_name
from wattslice.frontend.cuda.lowering.unknown_kernels import report_unknown_kernels
from wattslice.frontend.project.conditionals import left_out
from wattslice.frontend.project.defaults import doubtful_defaults, name_of, other_builds
from wattslice.ir import (
    Block,
    Function,
    Kernel,
    MemorySpace,
    Program,
    Severity,
    Span,
    Variable,
    numbered_lines,
)
from wattslice.ir.walking import deep_recursion
from wattslice.patterns import regex

if TYPE_CHECKING:
    from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions, Reuse

_FUNCTIONS = (
    C.FUNCTION_DECL,
    C.FUNCTION_TEMPLATE,
    C.CXX_METHOD,
    C.CONVERSION_FUNCTION,
    C.CONSTRUCTOR,
    C.DESTRUCTOR,
)
_SCOPES = (C.NAMESPACE, C.LINKAGE_SPEC, C.UNEXPOSED_DECL, C.FRIEND_DECL)
_RECORDS = (C.CLASS_DECL, C.STRUCT_DECL, C.UNION_DECL, C.CLASS_TEMPLATE)
# These modules register their handlers when they are imported.
_REGISTERED = (calls, closures, expressions, loops, memory, statements)
_STUBS = str(STUBS)
_FOLLOWED = str(FOLLOWED)
_INLINE = regex(r"\b(__)?inline(__)?\b")
_TEXTURE_OBJECTS = ("cudaTextureObject_t", "cudaSurfaceObject_t", "CUtexObject", "CUsurfObject")


def lower_program(
    parsed: ParsedUnit, earlier: LoweredFunctions | None = None, wanted: frozenset[str] = frozenset()
) -> Program:
    """Lower everything of a parsed file that the analysis needs; never fails on one bad kernel.

    Of a fragment only its own kernels: the others are those of the file that includes it. Of a template with
    many instances some are followed, and those that are `wanted` by their mangled names.

    `earlier`: what is remembered of the same file's functions; those that are as they were are taken from it.
    """
    return program_of(Unit(parsed), earlier, wanted)


def program_of(unit: Unit, earlier: LoweredFunctions | None, wanted: frozenset[str]) -> Program:
    """The same of a `unit` of which nothing was lowered: it knows the host functions from then on."""
    parsed = unit.parsed
    with deep_recursion():
        functions = project_functions(unit)
        reuse = None if earlier is None else earlier.for_unit(unit)
        asked = parsed.asked_files()
        own = functions if asked is None else [node for node in functions if node.place.path in asked]
        kernels = lower_kernels(unit, kernel_definitions(own), reuse, wanted)
        kernels += lost_kernels(unit, functions, MOST_KERNELS - len(kernels))
        hosts = host_functions(unit, functions, reuse=reuse)
        declare_exports(unit)
    _report_includes(unit)
    report_library_work(unit)
    report_unknown_kernels(unit)
    return _program(unit, kernels, hosts)


def _includer(unit: Unit) -> str:
    file = unit.parsed.recovered.including_file
    return "" if file is None else f" or {file.name}, which includes it"


def _program(unit: Unit, kernels: list[Kernel], hosts: tuple[Function, ...]) -> Program:
    parsed = unit.parsed
    text = parsed.source.decode("utf-8", "replace")
    return Program(
        str(parsed.path),
        tuple(kernels),
        hosts,
        tuple(v for v in dict.fromkeys(unit.globals.values()) if v.space is not MemorySpace.REGISTER),
        tuple(sorted(unit.diagnostics, key=lambda d: (d.file, d.line, d.rule, d.message))),
        numbered_lines(text),
        included=tuple(map(str, parsed.included_files)),
        assumed=tuple(_assumed(parsed)),
    )


def _assumed(parsed: ParsedUnit) -> Iterator[ir.AssumedOfText]:
    text = parsed.source.decode("utf-8", "replace")
    yield from doubtful_defaults(parsed.path, text, parsed.options.defines)
    if parsed.options.others:
        yield from other_builds(parsed.path, parsed.options, _texts(parsed))
    yield from _assumed_types(parsed, text)
    if parsed.recovered.unknown:
        paths = (parsed.path, *parsed.included_files)
        texts = tuple(zip(map(str, paths), _texts(parsed), strict=True))
        yield from left_out(texts, parsed.recovered.unknown, set(map(name_of, parsed.options.defines)))


def _texts(parsed: ParsedUnit) -> tuple[str, ...]:
    """Of the file and what it includes."""
    headers = (parsed.files.text_of(path) for path in parsed.included_files)
    return tuple(text.decode("utf-8", "replace") for text in (parsed.source, *headers))


def _assumed_types(parsed: ParsedUnit, text: str) -> Iterator[ir.AssumedOfText]:
    """Numbers of types that nothing declares: what is cast to them or given to variables and kernels."""
    recovered = parsed.recovered
    for one in recovered.declared if recovered.missing_includes else ():
        if (
            one.role is Role.TYPE
            and (used := re.search(_OF_TYPE.replace("TYPE", one.name), text)) is not None
        ):
            headers = " or ".join(recovered.missing_includes[:3])
            message = f"{one.name} assumed int: {headers}, which may declare it, was not found"
            line = text.count("\n", 0, used.start()) + 1
            yield ir.AssumedOfText(str(parsed.path), line, message, "-I FOLDER")


_OF_TYPE = (
    r"\(\s*(?:const\s+)?TYPE\s*\)\s*[\w(]|\bstatic_cast\s*<\s*TYPE\s*>|\bTYPE\s*\(\s*[\w.]+\s*[)+*/-]"
    r"|\bTYPE\s+\w+\s*=\s*[-(]*(?:[\d.]|\w+\s*[-;+*/%,)])"
    r"|__global__[^;{]*[(,]\s*(?:const\s+)?TYPE\s*(?:const\s*)?[\s*&]"
)
"""A number of a type: what is only handed on, as the handle of a library, says nothing."""


def lower_c_program(parsed: ParsedUnit) -> Program:
    """Lower a C file: its functions are kernels of one thread in one block, and all arrays global memory.

    A call of a kernel that stands as a statement in `main` is its launch. Errors outside of functions are
    told too.
    """
    unit = Unit(parsed)
    with deep_recursion():
        functions = project_functions(unit)
        definitions = c_kernel_definitions(unit, functions)
        unit.c_kernels = frozenset(node.spelling for node in definitions)
        kernels = lower_kernels(unit, definitions, None, frozenset())
        hosts = host_functions(unit, functions, unit.c_kernels)
    _report_includes(unit)
    bodies = [unit.spans.span(node) for node in functions]
    for error in unit.errors:
        path = str(error.path or parsed.path)
        known = (body.file == path and body.line <= error.line <= body.end_line for body in bodies)
        if not any(known) and not error.message.endswith("file not found"):
            where = Span(path, error.line, error.column, error.line)
            unit.report("PW001", Severity.WARNING, where, f"not understood: {error.message}")
    return _program(unit, kernels, hosts)


def lower_host_code(unit: Unit, callees: frozenset[str]) -> Program:
    """Only the host functions of a parsed file that call `callees`, launches of another file; no kernels.

    Functions that were lowered for other callees are known to the `unit`.
    """
    unit.touched = []
    with deep_recursion():
        hosts = host_functions(unit, project_functions(unit), callees)
        declare_exports(unit)
    named = dict.fromkeys(variable for _, _, variable in unit.touched)
    variables = tuple(v for v in named if v.space is not MemorySpace.REGISTER)
    parsed = unit.parsed
    included = tuple(map(str, parsed.included_files))
    assumed = tuple(_assumed(parsed))
    return Program(str(parsed.path), (), hosts, variables, (), (), included=included, assumed=assumed)


def project_functions(unit: Unit) -> list[Node]:
    """Functions at namespace and class scope of the main file and of the project's own headers."""
    found: list[Node] = []
    seen: set[int] = set()
    stack = list(reversed(unit.root.children))
    while stack:
        node = stack.pop()
        kind = node.kind
        if kind in _FUNCTIONS:
            key: int = node.raw.data0
            if key not in seen and not _is_stub(unit, node):
                seen.add(key)
                found.append(node)
                stack.extend(_classes_within(unit, node))
        elif (kind in _SCOPES or kind in _RECORDS) and not _is_stub(unit, node):
            stack.extend(reversed(node.children))
    return found


def _classes_within(unit: Unit, function: Node) -> list[Node]:
    """The classes that host code defines in a function."""
    written = unit.spans.written(function)
    if written is None or not _CLASS.search(written[0].data, written[1], written[2]):
        return []
    if any(child.kind in (C.CUDAGLOBAL_ATTR, C.CUDADEVICE_ATTR) for child in function.children):
        return []
    statements = (node for node in function.walk() if node.kind == C.DECL_STMT)
    found = [child for node in statements for child in node.children if child.kind in _RECORDS]
    for node in (node for one in found for node in one.walk() if node.kind == C.DECL_REF_EXPR):
        named = node.referenced
        if named is not None and named.kind == C.VAR_DECL and named.is_static:
            unit.shared_statics.add(named.raw.data0)
    return found


_CLASS = regex(rb"\b(?:struct|class|union)\b[^;{}]*\{")


def _is_stub(unit: Unit, node: Node) -> bool:
    file = unit.spans.file(node)
    return file.startswith(_STUBS) and file != _FOLLOWED


def kernel_definitions(functions: list[Node]) -> list[Node]:
    """`__global__` definitions: functions, template instances, and templates without an instance."""
    plain: list[Node] = []
    instances: dict[int, list[Node]] = {}
    patterns: list[Node] = []
    for function in functions:
        if not is_kernel(function):
            continue
        if function.kind == C.FUNCTION_TEMPLATE:
            patterns.append(function)
            continue
        template = function.template
        if template is None:
            plain.append(function)
        else:
            instances.setdefault(template.canonical.raw.data0, []).append(function)
    result = list(plain)
    for pattern in patterns:
        key: int = pattern.canonical.raw.data0
        result.extend(instances.pop(key, [pattern]))
    for rest in instances.values():
        result.extend(rest)
    return result


def c_kernel_definitions(unit: Unit, functions: list[Node]) -> list[Node]:
    """The functions of a C file but `main`, `inline` ones and those that only other kernels call."""
    defined = {
        node.spelling: node
        for node in functions
        if C.COMPOUND_STMT in {child.kind for child in node.children}
    }
    calls = {
        name: {node.spelling for node in function.walk() if node.kind == C.CALL_EXPR}
        for name, function in defined.items()
    }
    by_main = calls.pop("main", set[str]())
    helpers = {name for caller, names in calls.items() for name in names - {caller}} - by_main
    return [
        node
        for name, node in defined.items()
        if name not in ("main", *helpers)
        and unit.parsed.is_in_file(node)
        and not _INLINE.search(unit.spans.text(node).partition("{")[0])
    ]


MOST_INSTANCES = 8
"""So many instances of a template are followed, at even steps; of one more it must be asked for."""


def lower_kernels(
    unit: Unit, definitions: list[Node], reuse: Reuse | None, wanted: frozenset[str]
) -> list[Kernel]:
    """All kernels, as far as the budgets of a file reach; what lies beyond is told (PW007)."""
    kernels: list[Kernel] = []
    spared = _spared(definitions, wanted)
    for number, definition in enumerate(definitions):
        if number >= MOST_KERNELS:
            message = (
                f"the file defines {len(definitions)} kernels: all after the first {number} are left out"
            )
            unit.report("PW007", Severity.WARNING, unit.spans.span(definition), message)
            break
        if number in spared:
            kernels.append(_like(kernels[-1], unit, definition))
        elif reuse is None:
            kernels.append(lower_kernel(unit, definition))
        else:
            kernels.append(reuse.function(definition, lower_kernel, is_host=False))
    return kernels


def _spared(definitions: list[Node], wanted: frozenset[str]) -> frozenset[int]:
    """The places of the instances that are not followed; each stands behind one of the same template."""
    groups: dict[tuple[int, int], list[int]] = {}  # a specialisation has a line of its own
    for number, definition in enumerate(definitions):
        if (template := definition.template) is not None:
            key = template.canonical.raw.data0, definition.place.line
            groups.setdefault(key, []).append(number)
    spared: set[int] = set()
    for places in groups.values():
        most = min(MOST_INSTANCES, len(places))
        chosen = {places[step * len(places) // most] for step in range(most)}
        spared.update(
            place for place in places if place not in chosen and definitions[place].mangled_name not in wanted
        )
    return frozenset(spared)


def _like(other: Kernel, unit: Unit, function: Node) -> Kernel:
    """An instance that is not followed, with the body of another one: sizes are those of its places."""
    names = {"qualified_name": qualified_name(function), "mangled_name": function.mangled_name}
    bounds = _launch_bounds(unit, function)
    return replace(
        other, **names, max_threads_per_block=bounds[0], min_blocks_per_sm=bounds[1], is_followed=False
    )


UNFOLDED_NODES = 60_000
"""Operations from which on statements that repeat each other are folded."""
MOST_REFUSED = 8
"""Instances of one template for which too little was left of a file's operations: no other one is tried."""


def lower_kernel(unit: Unit, function: Node) -> Kernel:
    """One kernel; an internal failure becomes a diagnostic and an empty, incomplete body."""
    span = unit.spans.span(function)
    body = Body(unit, is_host=False)
    parameters: tuple[Variable, ...] = ()
    template = function.template
    refused: list[str] = []
    if template is not None:
        refused = unit.refused.setdefault(template.canonical.raw.data0, refused)
    try:
        if len(refused) >= MOST_REFUSED:
            raise TooLargeError(refused[-1])
        try:
            body.most_nodes = min(body.most_nodes, UNFOLDED_NODES)
            parameters = _parameters(body, function)
            tree = _lower_body(body, function)
        except TooLargeError:
            body = Body(unit, is_host=False)
            body.folds = True
            parameters = _parameters(body, function)
            tree = _lower_body(body, function)
            if body.folded:
                message = (
                    f"kernel '{function.spelling}' is large: {body.folded} statements that repeat others "
                    "but for their numbers are counted as loops"
                )
                unit.report("PW007", Severity.NOTE, span, message)
    except TOO_LARGE as error:
        body = Body(unit, is_host=False)
        reason = str(error) if isinstance(error, TooLargeError) else "statements or operators nest too deeply"
        if isinstance(error, TooLargeError):
            refused.append(reason)
        body.hole("PW007", span, f"kernel '{function.spelling}' is not followed: {reason}")
        tree = Block((), body.region(), span)
    except Exception as error:  # one kernel must not cost the others
        body = Body(unit, is_host=False)
        body.hole(
            "PW099", span, f"internal error in kernel '{function.spelling}': {type(error).__name__}: {error}"
        )
        tree = Block((), body.region(), span)
    unit.nodes_left -= body.nodes
    body.report_errors_in(function)
    bounds = _launch_bounds(unit, function)
    if function.kind == C.FUNCTION_TEMPLATE:
        unit.report(
            "PW006",
            Severity.NOTE,
            span,
            f"template kernel '{function.spelling}' is not instantiated in this file{_includer(unit)}: "
            "its type parameters are read as float, "
            f"numbers as their defaults or {NUMBER_OF_NO_INSTANCE}, truths as true",
        )
    return Kernel(
        function.spelling,
        qualified_name(function),
        function.mangled_name,
        parameters,
        tree,
        span,
        body.regions,
        body.sites,
        tuple(body.shared),
        bounds[0],
        bounds[1],
        not body.holes,
        tuple(body.holes),
        max_registers=max_registers(function, unit.parsed) or None,
        fast_math=unit.parsed.options.fast_math or "",
        assumed=tuple(body.assumed),
    )


def _parameters(body: Body, function: Node) -> tuple[Variable, ...]:
    found: list[Variable] = []
    for child in function.children:
        if child.kind == C.PARM_DECL:
            type_ = decayed(body.type(child))
            space = MemorySpace.REGISTER
            if is_wide_record(type_):
                space = MemorySpace.LOCAL
            elif type_ == UINT64 and child.type.spelling in _TEXTURE_OBJECTS:
                space = MemorySpace.TEXTURE
            variable = Variable(
                child.spelling,
                type_,
                space,
                ir.VariableRole.PARAMETER,
                body.unit.spans.span(child),
                is_restrict=type_.kind is ir.TypeKind.POINTER and child.type.is_restrict,
            )
            body.names[child.raw.data0] = variable
            note_parameter(body, variable)
            found.append(variable)
    return tuple(found)


def _lower_body(body: Body, function: Node) -> Block:
    compound = next(child for child in function.children if child.kind == C.COMPOUND_STMT)
    body.frames = [Frame(None, None)]
    body.function = function
    return as_block(body, compound)


def _launch_bounds(unit: Unit, function: Node) -> tuple[int | None, int | None]:
    values = launch_bounds(function, unit.parsed)
    first = values[0] if values else None
    second = values[1] if len(values) > 1 else None
    return first, second or None


_TOLD_ANYWHERE = (
    "#include nested too deeply",
    "recursive template instantiation exceeded",
    "static assertion failed",
    "static_assert failed",
)
_SYNTAX = (
    "expected ';' after top level declarator",
    "expected '}'",
    "extraneous closing brace",
    "unterminated ",
    "version control conflict marker",
)
"""Slips that tear the file apart, told wherever they stand in it. Of others clang complains, too, where it
lacks the type of a library; and of all of them where it lacks a header."""


def _is_own_slip(unit: Unit, error: ParseDiagnostic) -> bool:
    """Whether an error is the file's own and tears it apart, or an ``#error`` (told in its own words)."""
    parsed = unit.parsed
    if error.path is None or not parsed.files.is_same(error.path, parsed.path):
        return False
    if error.message.startswith(_SYNTAX) and not parsed.recovered.missing_includes:
        return True
    line = parsed.source.split(b"\n", error.line)[error.line - 1 : error.line]
    return bool(line) and re.match(rb"\s*#\s*error\b", line[0]) is not None


def _report_includes(unit: Unit) -> None:
    source = unit.parsed.source
    told = {text.partition("=")[0] for text in unit.parsed.options.defines}
    for error in unit.parsed.diagnostics:
        if error.path is None:
            continue
        again = re.fullmatch(r"'(\w+)' macro redefined", error.message)
        if again is not None and again[1] in told and STUBS not in error.path.parents:
            where = Span(str(error.path), error.line, error.column, error.line)
            message = f"-D {again[1]} has no effect after this line, which defines it again"
            unit.report("PW001", Severity.NOTE, where, message)
        if not error.is_error:
            continue
        if error.message.startswith(_TOLD_ANYWHERE) or _is_own_slip(unit, error):
            where = Span(str(error.path), error.line, error.column, error.line)
            unit.report("PW001", Severity.WARNING, where, f"not understood: {error.message}")
    for one in unit.parsed.options.unread:
        where = Span(one.file, one.line, 1, one.line)
        unit.report("PW001", Severity.WARNING, where, f"ignored: {one.reason}")
    for name in unit.parsed.recovered.missing_includes:
        match = re.search(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]" + re.escape(name.encode()), source, re.M)
        line = 1 if match is None else source.count(b"\n", 0, match.start()) + 1
        where = Span(str(unit.parsed.path), line, 1, line)
        unit.report("PW002", Severity.WARNING, where, f"include file '{name}' not found (use -I)")


# ---------------------------------------------------------------------------
# `__launch_bounds__` and `__maxnreg__` of a kernel: macros of the prelude annotate their arguments.


def launch_bounds(kernel: Node, unit: ParsedUnit) -> tuple[int | None, ...]:
    """Values of `__launch_bounds__(maxThreads, minBlocks, ...)`; empty without, None where not known."""
    return _annotated(kernel, "launch_bounds", unit)


def max_registers(kernel: Node, unit: ParsedUnit) -> int | None:
    """Value of `__maxnreg__(registers)`; None without, and where it is not known."""
    return next(iter(_annotated(kernel, "maxnreg", unit)), None)


def _annotated(kernel: Node, annotation: str, unit: ParsedUnit) -> tuple[int | None, ...]:
    for child in kernel.children:
        if child.kind == C.ANNOTATE_ATTR and child.spelling == annotation:
            return tuple(_integer(argument, unit) for argument in child.children)
    return ()


def _integer(node: Node, unit: ParsedUnit) -> int | None:
    """The integer an expression folds to at compile time; None when it does not or rests on made-up names."""
    if unit.mentions_made_up(node):
        return None
    value = node.evaluate()
    return value if isinstance(value, int) else None
