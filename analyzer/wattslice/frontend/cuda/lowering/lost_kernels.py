"""Kernels that the file defines and clang's tree does not have: something in front of them hid them.

Each becomes a kernel of which nothing is known, with a diagnostic, so that nobody takes it for absent.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from msgspec import Struct

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.diagnostics import ParseDiagnostic
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.tokens import ATTRIBUTES, COMMENT, NAME, TOKEN, names_in
from wattslice.frontend.cuda.lowering.unit import Unit
from wattslice.ir import Block, Diagnostic, Kernel, Severity, Span
from wattslice.patterns import regex


def lost_kernels(unit: Unit, functions: list[Node], most: int) -> list[Kernel]:
    """The kernels (`most` at most) of the main file's text that are not among `functions`; each is told.

    What clang could not read outside of all functions is told too when a kernel is lost, or none is there.
    """
    if b"__global__" not in unit.parsed.source:
        return []
    seen = [node for node in functions if is_kernel(node)]
    all_seen = _are_all_seen(unit, seen)
    lost = [] if all_seen else _lost(unit, written_kernels(unit.parsed.source), seen, functions)
    if lost or not seen:
        _report_errors_outside(unit, functions, Severity.WARNING if seen or lost else Severity.ERROR)
    return [_unread(unit, kernel) for kernel in lost[:most]]


def is_kernel(function: Node) -> bool:
    """Whether clang sees the definition of a kernel, or of a template of kernels."""
    kinds = [child.kind for child in function.children]
    return C.CUDAGLOBAL_ATTR in kinds and C.COMPOUND_STMT in kinds


def _are_all_seen(unit: Unit, seen: list[Node]) -> bool:
    """Whether every `__global__` of the text is evidently in front of a kernel that was read: mostly."""
    source = unit.parsed.source
    names = sorted({node.place.offset for node in seen if unit.parsed.is_in_file(node)})
    marks = [mark.start() for mark in _MARK.finditer(source)]
    return len(marks) == len(names) and all(
        mark < name and _END.search(COMMENT.sub(b"", source[mark:name])) is None
        for mark, name in zip(marks, names, strict=True)
    )


def _lost(
    unit: Unit, written: tuple[WrittenKernel, ...], seen: list[Node], functions: list[Node]
) -> list[WrittenKernel]:
    places = {(kernel.line, kernel.column) for kernel in written}
    found = [(node.place, node) for node in seen if unit.parsed.is_in_file(node)]
    read = {(place.line, place.column) for place, _ in found}
    # What stands as the argument of a macro is there in the tree, but at another place.
    elsewhere = {node.spelling for place, node in found if (place.line, place.column) not in places}
    missing = [
        kernel
        for kernel in written
        if (kernel.line, kernel.column) not in read and kernel.name not in elsewhere
    ]
    if not any(kernel.in_doubt for kernel in missing):
        return missing
    alive = _alive(unit, functions)
    return [
        kernel
        for kernel in missing
        if all(any(branch.begin <= at < branch.end for at in alive) for branch in kernel.in_doubt)
    ]


def _alive(unit: Unit, functions: list[Node]) -> list[int]:
    """Bytes of the main file that the preprocessor has let through: clang saw something there."""
    starts = [0]
    for line in unit.parsed.source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    nodes = (*unit.root.children, *functions)
    declared = [node.place.offset for node in nodes if unit.parsed.is_in_file(node)]
    return declared + [
        starts[error.line - 1] + error.column - 1
        for error in _own_errors(unit)
        if 0 < error.line < len(starts)
    ]


def _own_errors(unit: Unit) -> list[ParseDiagnostic]:
    parsed = unit.parsed
    return [
        error
        for error in unit.errors
        if error.path is not None
        and parsed.files.is_same(error.path, parsed.path)
        and not error.message.endswith("file not found")
    ]


def _report_errors_outside(unit: Unit, functions: list[Node], severity: Severity) -> None:
    own = [unit.spans.span(node) for node in functions if unit.parsed.is_in_file(node)]
    for error in _own_errors(unit):
        at = (error.line, error.column)
        if not any((span.line, span.column) < at and error.line <= span.end_line for span in own):
            where = Span(str(unit.parsed.path), error.line, error.column, error.line)
            unit.report("PW001", severity, where, f"not understood: {error.message}")


def _unread(unit: Unit, kernel: WrittenKernel) -> Kernel:
    span = Span(str(unit.parsed.path), kernel.first_line, 1, kernel.last_line)
    told = _tell(unit, kernel, span)
    return Kernel(
        kernel.name,
        kernel.name,
        kernel.name,
        (),
        Block((), 0, span),
        span,
        1,
        0,
        (),
        None,
        None,
        False,
        (told,),
    )


def _tell(unit: Unit, kernel: WrittenKernel, span: Span) -> Diagnostic:
    """Names what is declared nowhere in front of it, else clang's last error before the body."""
    message = f"kernel '{kernel.name}' could not be read"
    words = names_in(kernel.front)
    unknown = [entry.name for entry in unit.parsed.recovered.declared if entry.name.encode() in words]
    line = unit.parsed.source.count(b"\n", 0, kernel.brace) + 1
    before = [error for error in _own_errors(unit) if error.line <= line]
    if unknown:
        message += f": '{unknown[0]}' in front of it is declared nowhere"
    elif before:
        last = max(before, key=lambda error: (error.line, error.column))
        message += f": {last.message} (line {last.line})"
    return unit.report("PW001", Severity.ERROR, span, message)


# ---------------------------------------------------------------------------
# The `__global__` definitions that stand in the text of a file, whatever clang made of them.


_MARK = regex(rb"\b__global__\b")
_HEAD_TOKEN = regex(NAME.pattern + rb"|\d\w*|[^\s]")
_BRACE = regex(rb"[{}]")
_END = regex(rb"[;{#]")
_INK = regex(rb"[^\n]")
_CONDITION = regex(rb"[ \t]*#[ \t]*(?:(?P<opens>if)|(?P<turns>el)|endif)")
_CONSTANT = regex(rb"[ \t]*#[ \t]*if[ \t]+(?P<value>[01])[ \t]*(?://|/\*|\r?\Z)")
_LONGEST_HEAD_BYTES = 10_000


class Branch(Struct, frozen=True):
    """The bytes from `begin` to `end` between two directives; `is_in` None: the text alone does not tell."""

    begin: int
    end: int
    is_in: bool | None


class WrittenKernel(Struct, frozen=True):
    """A definition from `__global__` to the end of its body; line and column (from 1) of its name.

    `front`: what stands in front of the name, from the declaration before on. `brace`: the byte where its
    body begins. `in_doubt`: the branches of conditions around it.
    """

    name: str
    line: int
    column: int
    front: bytes
    brace: int
    first_line: int
    last_line: int
    in_doubt: tuple[Branch, ...]


def written_kernels(source: bytes) -> tuple[WrittenKernel, ...]:
    """All that are not left out for certain, in order."""
    code, branches = _without_the_rest(source)
    starts = [0, *accumulate(len(line) + 1 for line in source.split(b"\n"))]
    found: list[WrittenKernel] = []
    for mark in _MARK.finditer(code):
        around = tuple(branch for branch in branches if branch.begin <= mark.start() < branch.end)
        head = None if any(branch.is_in is False for branch in around) else _head(code, mark.start())
        if head is None:
            continue
        name, brace = head
        line = bisect_right(starts, name.start())
        found.append(
            WrittenKernel(
                name[0].decode("utf-8", "replace"),
                line,
                name.start() - starts[line - 1] + 1,
                code[_begin_of_declaration(code, name.start()) : name.start()],
                brace,
                bisect_right(starts, mark.start()),
                bisect_right(starts, _end_of_body(code, brace)),
                tuple(branch for branch in around if branch.is_in is None),
            )
        )
    return tuple(found)


def code_of(source: bytes) -> bytes:
    """The text with blanks for comments, texts and directives, and for what is left out for certain."""
    code, branches = _without_the_rest(source)
    for branch in branches:
        if branch.is_in is False:
            blank = _INK.sub(b" ", code[branch.begin : branch.end])
            code = code[: branch.begin] + blank + code[branch.end :]
    return code


def _without_the_rest(source: bytes) -> tuple[bytes, list[Branch]]:
    """The text with blanks for all that is none, and the branches of its conditions."""
    pieces: list[bytes] = []
    conditions: list[tuple[int, bool | None, bool]] = []  # begin of the branch; it and another one are in
    branches: list[Branch] = []
    position = done = 0
    while token := TOKEN.search(source, position):
        position = token.end()
        if token.lastgroup is None:
            continue
        text = token[0]
        if text.startswith(b"/*") and (len(text) < 4 or not text.endswith(b"*/")):
            position = token.start() + 2
            continue
        pieces += (source[done : token.start()], _INK.sub(b" ", text))
        done = position
        condition = _CONDITION.match(text) if token.lastgroup == "directive" else None
        if condition is None:
            continue
        before = None
        if not condition["opens"]:
            if not conditions:
                continue
            before = conditions.pop()
            branches.append(Branch(before[0], token.start(), before[1]))
        if condition["opens"] or condition["turns"]:
            conditions.append((position, *_what_opens(text, before)))
    return b"".join((*pieces, source[done:])), branches


def _what_opens(directive: bytes, before: tuple[int, bool | None, bool] | None) -> tuple[bool | None, bool]:
    """Whether the branch behind an #if, #elif or #else is in, and whether one of the condition is by then."""
    if before is None:
        constant = _CONSTANT.match(directive)
        is_in = None if constant is None else constant["value"] == b"1"
        return is_in, is_in is True
    _, last, is_one_in = before
    if is_one_in:
        return False, True
    # Only the #else of a plain `#if 0` is certain.
    is_in = True if last is False and re.match(rb"[ \t]*#[ \t]*else\b", directive) else None
    return is_in, is_in is True


def _head(code: bytes, begin: int) -> tuple[re.Match[bytes], int] | None:
    """The name of the function whose head begins there, and where its body does; None: none begins."""
    name: re.Match[bytes] | None = None
    for name, end in _parameter_lists(code, begin):
        brace = _HEAD_TOKEN.search(code, end)
        if brace is not None and brace[0] == b"{":
            return name, brace.start()
    return None


def _parameter_lists(code: bytes, begin: int) -> Iterator[tuple[re.Match[bytes], int]]:
    """Each `name(...)` up to the first brace or semicolon, with its end."""
    level = 0
    before = named = templated = None
    for token in _HEAD_TOKEN.finditer(code, begin, begin + _LONGEST_HEAD_BYTES):
        sign = token[0]
        if level:
            level += (sign == b"(") - (sign == b")")
            if not level and named is not None:
                yield named, token.end()
        elif sign in (b"{", b"}", b";"):
            return
        elif sign == b"(":
            level = 1
            named = templated if before is not None and before[0] == b">" else before
            if named is not None and (named[0] in ATTRIBUTES or not NAME.fullmatch(named[0])):
                named = None
        elif sign == b"<":
            templated = before
        before = token


def _begin_of_declaration(code: bytes, end: int) -> int:
    """Behind the last brace or semicolon before `end`."""
    return 1 + max(code.rfind(sign, 0, end) for sign in (b";", b"{", b"}"))


def _end_of_body(code: bytes, brace: int) -> int:
    """Where the brace is closed; the brace itself when it is nowhere."""
    level = 0
    for found in _BRACE.finditer(code, brace):
        level += 1 if found[0] == b"{" else -1
        if not level:
            return found.start()
    return brace
