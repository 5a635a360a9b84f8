"""Visits the functions that kernels come through, and has a counter written at each branch."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.profiling.probes.branches import HANDLERS
from wattslice.profiling.probes.constants import is_constant
from wattslice.profiling.probes.types import NotProbed
from wattslice.profiling.probes.writer import BranchWriter, Closing, SkippedError

_FIRST, _LAST = 100, 299  # cursor kinds of expressions and statements
# What these hold is evaluated by the compiler, or not at all; lambdas are functions of their own.
_OPAQUE = frozenset(
    (C.DECL_REF_EXPR, C.CXX_UNARY_EXPR, C.LAMBDA_EXPR, C.ASM_STMT, C.MS_ASM_STMT, C.CXX_TYPEID_EXPR)
)


def instrument(writer: BranchWriter) -> None:
    """Count the branches of `writer.function`, without those of the lambdas in it."""
    for child in writer.function.body.children:
        _visit(writer, child)


def _visit(writer: BranchWriter, node: Node) -> None:
    handler = HANDLERS.get(node.kind)
    closing: Closing = []
    if handler is not None:
        mark, probes, counters = writer.text.mark(), len(writer.probes), writer.counters
        try:
            handler(writer, node, closing)
        except SkippedError as reason:
            place = node.start
            writer.not_probed.append(NotProbed(str(place.path), place.line, place.column, str(reason)))
            writer.text.take_back(mark)
            del writer.probes[probes:]
            writer.counters = counters
            closing = []
    _visit_children(writer, node)
    for at, text in closing:
        writer.text.close(at, text)


def _visit_children(writer: BranchWriter, node: Node) -> None:
    if node.kind in _OPAQUE:
        return
    if node.kind == C.VAR_DECL:
        initializer = node.initializer
        if initializer is not None and not _is_constant_variable(writer, node, initializer):
            _visit(writer, initializer)
        return
    for child in node.children:
        is_label = node.kind == C.CASE_STMT and child is not node.children[-1]
        if (_FIRST <= child.kind <= _LAST or child.kind == C.VAR_DECL) and not is_label:
            _visit(writer, child)


def _is_constant_variable(writer: BranchWriter, node: Node, initializer: Node) -> bool:
    before = writer.text.plain[node.start.offset : initializer.start.offset]
    return b"constexpr" in before.split() or (node.type.is_const and is_constant(initializer))
