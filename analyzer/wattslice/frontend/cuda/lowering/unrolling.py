"""How often `#pragma unroll` repeats a loop: a number in the text, else what clang makes of the expression.

libclang hides the pragma of a loop, but prints it with the function: macros expanded, arguments of templates
put in. What names are left are looked up, and clang computes the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.libclang import library
from wattslice.frontend.cuda.clang.parse import raw_parse
from wattslice.frontend.cuda.lowering.context import Body, function_around, printed_text
from wattslice.patterns import regex

_COMMENT = regex(r"//[^\n]*|/\*.*?\*/", re.S)
_UNROLL = regex(r"(no)?unroll\b([^\n\"]*)")
_NUMBER = regex(r"\(?\s*(0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)[uUlL]*\s*\)?\s*;?")
_PRINTED = regex(r"(?:^[ \t]*#pragma [^\n]*\n)+", re.M)
_PRINTED_UNROLL = regex(r"#pragma (no)?unroll(?: \((.*)\))?$", re.M)
_NAME = regex(r"(?<![\w.])[A-Za-z_]\w*(?:::\w+)*")
_LOOPS = (C.FOR_STMT, C.WHILE_STMT, C.DO_STMT, C.CXX_FOR_RANGE_STMT)
_LONGEST = 1000


def unroll_of(body: Body, around: Node, loop: Node) -> int | None:
    """The number in `#pragma unroll N` before a loop: 0 for the bare pragma, 1 for `nounroll`.

    None without such a pragma, and with a note (PW006) where its number cannot be determined.
    """
    outer, inner = body.unit.spans.source(around), body.unit.spans.source(loop)
    written = None
    if outer is not None and inner is not None:
        file, begin, _ = outer
        text = file.data[file.data.rfind(b"\n", 0, begin) + 1 : inner[1]].decode("utf-8", "replace")
        matches = list(_UNROLL.finditer(_COMMENT.sub(" ", text)))
        if not matches and "unroll" not in text.lower():
            return None
        if matches:
            no, written = matches[-1][1], matches[-1][2].strip()
            if no:
                return 1
            if not written:
                return 0
            number = _NUMBER.fullmatch(written)
            if number is not None:
                return int(number[1], 0)
    printed = printed_text(body, around, _is_loop_with_pragma, _printed_pragmas)
    if printed:
        match = _PRINTED_UNROLL.search(printed)
        if match is None:
            return None
        if match[1]:
            return 1
        if match[2] == "enable":
            return 0
        written = match[2]
        known = _value(body, written, around)
        if known:
            return known
    span = body.unit.spans.span(around)
    message = f"unroll count '{written or 'of a macro'}' is not a number known here: "
    body.unit.report("PW006", ir.Severity.NOTE, span, f"{message}unrolled as compilers do without a pragma")
    return None


def _is_loop_with_pragma(node: Node) -> bool:
    return node.kind == C.UNEXPOSED_STMT and bool(node.children) and node.children[-1].kind in _LOOPS


def _printed_pragmas(text: str) -> Iterator[str]:
    return (match[0] for match in _PRINTED.finditer(text))


def _value(body: Body, expression: str, at: Node) -> int | None:
    """What a constant expression without macros is at a place; 0 or None: unknown."""
    if len(expression) > _LONGEST:
        return None

    def number(match: re.Match[str]) -> str:
        known = _constant(body, match[0], at)
        return match[0] if known is None else f"({known})"

    source = f"enum {{ value = ({_NAME.sub(number, expression)}) }};"
    path = Path("wattslice_unroll.cpp")
    handle = raw_parse(path, ("-xc++", "-std=c++17"), 0, ((path, source.encode()),))
    if handle is None:
        return None
    root = Node(handle, library().clang_getTranslationUnitCursor(handle.unit))
    return next((node.enum_value for node in root.walk() if node.kind == C.ENUM_CONSTANT_DECL), None)


def _constant(body: Body, name: str, at: Node) -> int | None:
    """The value of a constant or enumerator that is visible at a place."""
    function = function_around(body)
    local = None if function is None or "::" in name else _local(function, name, at)
    if local is not None:
        return _value_of(body, local)
    found = {
        _value_of(body, node) for path, node in _declarations(body.unit.root) if path.endswith(f"::{name}")
    }
    return found.pop() if len(found) == 1 else None


def _local(function: Node, name: str, at: Node) -> Node | None:
    """The innermost declaration of the name in the function, of those around and before a place."""
    found = None
    scope: Node | None = function
    while scope is not None:
        inside = None
        for child in scope.children:
            if any(node.raw.data1 == at.raw.data1 and node.kind == at.kind for node in child.walk()):
                inside = child
                break
            if child.kind == C.DECL_STMT:
                found = next((node for path, node in _declarations(child) if path == f"::{name}"), found)
        scope = inside if inside != at else None
    return found


def _declarations(scope: Node, path: str = "::") -> Iterator[tuple[str, Node]]:
    """Variables and enumerators of a scope, its namespaces and records, with their qualified names."""
    for child in scope.children:
        if child.kind in (C.VAR_DECL, C.ENUM_CONSTANT_DECL):
            yield f"{path}{child.spelling}", child
        elif child.kind in (C.LINKAGE_SPEC, C.ENUM_DECL):
            yield from _declarations(child, path)
        elif child.kind in (C.NAMESPACE, C.STRUCT_DECL, C.CLASS_DECL):
            yield from _declarations(child, f"{path}{child.spelling}::")


def _value_of(body: Body, node: Node) -> int | None:
    if body.unit.parsed.is_made_up(node):
        return None
    value = node.enum_value if node.kind == C.ENUM_CONSTANT_DECL else node.evaluate()
    return value if isinstance(value, int) else None
