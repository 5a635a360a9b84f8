"""Loop headers: which child of a `for` is which, and the number in `#pragma unroll`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, LoweringError
from wattslice.ir import Severity


@dataclass(frozen=True, slots=True)
class ForParts:
    """The parts of a `for`; what the source leaves out is None."""

    init: Node | None
    condition: Node | None
    step: Node | None
    body: Node


def for_parts(body: Body, node: Node) -> ForParts:
    """Tell the children of a FOR_STMT apart: libclang lists only those that exist."""
    children = list(node.children)
    if not children:
        raise LoweringError("for without a body", node)
    inner = children.pop()
    if len(children) == 3:
        return ForParts(children[0], children[1], children[2], inner)
    if not children:
        return ForParts(None, None, None, inner)
    semicolons = _semicolons(body, node)
    parts: list[Node | None] = [None, None, None]
    for child in children:
        slot = _slot_by_text(body, child, semicolons) if semicolons else None
        if slot is None or parts[slot] is not None:
            slot = _slot_by_kind(child, parts)
        parts[slot] = child
    if parts[1] is None and semicolons is not None and _has_text_between(body, node, semicolons):
        # An undeclared name deletes the whole condition.
        body.hole("PW001", body.unit.spans.span(node), "the condition of this loop could not be read")
    return ForParts(parts[0], parts[1], parts[2], inner)


def _semicolons(body: Body, node: Node) -> tuple[int, int] | None:
    """Byte offsets of the two semicolons in the header; None when the loop comes out of a macro."""
    found = body.unit.spans.source(node)
    if found is None:
        return None
    file, begin, end = found
    data = file.data
    depth = 0
    seen: list[int] = []
    at = begin
    while at < end:
        byte = data[at : at + 1]
        if data[at : at + 2] == b"//":
            at = data.find(b"\n", at)
            if at < 0:
                return None
        elif data[at : at + 2] == b"/*":
            at = data.find(b"*/", at) + 1
            if at <= 0:
                return None
        elif byte in (b'"', b"'"):
            closing = data.find(byte, at + 1)
            at = end if closing < 0 else closing
        elif byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
            if depth == 0:
                return None
        elif byte == b";" and depth == 1:
            seen.append(at)
            if len(seen) == 2:
                return seen[0], seen[1]
        at += 1
    return None


def _has_text_between(body: Body, node: Node, semicolons: tuple[int, int]) -> bool:
    found = body.unit.spans.source(node)
    if found is None:
        return False
    between = found[0].data[semicolons[0] + 1 : semicolons[1]]
    return bool(re.sub(rb"/\*.*?\*/|//[^\n]*", b"", between, flags=re.S).strip())


def _slot_by_text(body: Body, child: Node, semicolons: tuple[int, int]) -> int | None:
    found = body.unit.spans.source(child)
    begin = child.start.offset if found is None else found[1]
    return 0 if begin < semicolons[0] else 1 if begin < semicolons[1] else 2


def _slot_by_kind(child: Node, parts: list[Node | None]) -> int:
    """A loop out of a macro: declarations and assignments start it, increments step it, the rest tests."""
    free = [i for i in range(3) if parts[i] is None]
    if child.kind in (C.DECL_STMT, C.VAR_DECL):
        wanted = 0
    elif child.kind in (C.COMPOUND_ASSIGNMENT_OPERATOR, C.UNARY_OPERATOR):
        wanted = 2
    elif child.kind == C.BINARY_OPERATOR and child.binary_operator == B.ASSIGN:
        wanted = 0 if parts[1] is None and parts[0] is None else 2
    else:
        wanted = 1
    return wanted if wanted in free else free[0]


_UNROLL = re.compile(r"(no)?unroll\b\s*\(?\s*([^)\s\"]*)")
_DEFINE = r"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+\(?(\d+)\)?"


def unroll_of(body: Body, around: Node, loop: Node) -> int | None:
    """The number in `#pragma unroll N` before a loop: 0 for the bare pragma, 1 for `nounroll`."""
    outer, inner = body.unit.spans.source(around), body.unit.spans.source(loop)
    if outer is None or inner is None:
        return 0
    file, begin, _ = outer
    text = file.data[file.data.rfind(b"\n", 0, begin) + 1 : inner[1]].decode("utf-8", "replace")
    matches = list(_UNROLL.finditer(text))
    if not matches:
        return None
    no, argument = matches[-1][1], matches[-1][2].rstrip("uUlL;")
    if no:
        return 1
    if not argument or argument.startswith(("//", "/*")):
        return 0
    try:
        return int(argument, 0)
    except ValueError:
        pass
    known = _value_of_name(body, argument, file.data)
    if known is None:
        span = body.unit.spans.span(around)
        body.unit.report(
            "PW006", Severity.NOTE, span, f"unroll count '{argument}' is not a number known here"
        )
        return 0
    return known


def _value_of_name(body: Body, name: str, data: bytes) -> int | None:
    if not name.isidentifier():
        return None
    define = re.search(_DEFINE.format(name=re.escape(name)), data.decode("utf-8", "replace"), re.M)
    if define is not None:
        return int(define[1])
    return body.named_constants.get(name)
