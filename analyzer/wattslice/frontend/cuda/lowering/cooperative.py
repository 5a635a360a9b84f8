"""Cooperative groups: ranks and sizes from the builtin variables at no cost, barriers, shuffles."""

from __future__ import annotations

import re

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body
from wattslice.frontend.cuda.lowering.types import DIM3_AXES
from wattslice.ir import (
    UINT32,
    VOID,
    Builtin,
    BuiltinKind,
    Constant,
    Construct,
    Expr,
    Intrinsic,
    OperationClass,
    OperationCount,
    Semantics,
    Span,
    Type,
)

_NAMESPACE = "cooperative_groups::"
_TILE = re.compile(r"thread_block_tile<(\d+)")
_MAKERS = frozenset(
    [
        "this_thread_block",
        "this_thread",
        "this_grid",
        "this_multi_grid",
        "this_cluster",
        "coalesced_threads",
        "tiled_partition",
        "binary_partition",
        "labeled_partition",
    ]
)
_ONE_INT = frozenset(
    [
        "shfl",
        "shfl_up",
        "shfl_down",
        "shfl_xor",
        "any",
        "all",
        "ballot",
        "match_any",
        "match_all",
        "reduce",
        "inclusive_scan",
        "exclusive_scan",
    ]
)
_VECTORS = {
    "group_index": BuiltinKind.BLOCK_IDX,
    "block_index": BuiltinKind.BLOCK_IDX,
    "thread_index": BuiltinKind.THREAD_IDX,
    "group_dim": BuiltinKind.BLOCK_DIM,
    "dim_threads": BuiltinKind.BLOCK_DIM,
    "dim_blocks": BuiltinKind.GRID_DIM,
}


def _free(name: str, semantics: Semantics, type_: Type, span: Span, *arguments: Expr) -> Expr:
    return Intrinsic(name, arguments, (), semantics, False, type_, span)


def _linear(index: BuiltinKind, extent: BuiltinKind, span: Span) -> Expr:
    """`(z * extent.y + y) * extent.x + x`, at no cost: nobody wrote it."""
    i = [Builtin(index, axis, UINT32, span) for axis in range(3)]
    n = [Builtin(extent, axis, UINT32, span) for axis in range(3)]
    rows = _free("rank", Semantics.FMA, UINT32, span, i[2], n[1], i[1])
    return _free("rank", Semantics.FMA, UINT32, span, rows, n[0], i[0])


def _volume(extent: BuiltinKind, span: Span) -> Expr:
    n = [Builtin(extent, axis, UINT32, span) for axis in range(3)]
    plane = _free("size", Semantics.MUL, UINT32, span, n[0], n[1])
    return _free("size", Semantics.MUL, UINT32, span, plane, n[2])


def _thread_rank(span: Span) -> Expr:
    return _linear(BuiltinKind.THREAD_IDX, BuiltinKind.BLOCK_DIM, span)


def _group_name(body: Body, node: Node, arguments: list[Node]) -> str:
    children = node.children
    if children and children[0].kind == C.MEMBER_REF_EXPR:
        inner = [child for child in children[0].children if child.kind >= 100]
        type_ = body.type(inner[0]) if inner else None
    else:
        type_ = body.type(arguments[0]) if arguments else None
    if type_ is not None and type_.element is not None:
        type_ = type_.element
    return "" if type_ is None else type_.name


def group_call(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr | None:
    """A function or member of cooperative groups; None when the call is none of those."""
    type_ = body.type(node)
    if name in _MAKERS and (type_.name.startswith(_NAMESPACE) or "group" in type_.name):
        return Construct((), (), type_, span)
    group = _group_name(body, node, arguments)
    if not group.startswith(_NAMESPACE):
        return None
    if name in ("sync", "barrier_wait", "barrier_arrive"):
        counted = () if name == "barrier_arrive" else (OperationCount(OperationClass.BARRIER, 1),)
        detail = group.removeprefix(_NAMESPACE)
        return Intrinsic(f"group.{name}", (), counted, Semantics.BARRIER, False, VOID, span, detail)
    if name in _ONE_INT:
        values = tuple(body.expr(a) for a in arguments if not body.type(a).name.startswith(_NAMESPACE))
        counted = (OperationCount(OperationClass.INT, 1),)
        functions = [n for n in (body.type(a).name for a in arguments) if n.startswith(_NAMESPACE)]
        detail = " ".join(dict.fromkeys((group, *functions))).replace(_NAMESPACE, "")
        return Intrinsic(name, values, counted, Semantics.OPAQUE, False, type_, span, detail)
    kind = _VECTORS.get(name)
    if kind is not None:
        parts = tuple(Builtin(kind, axis, UINT32, span) for axis in range(3))
        return Construct(parts, DIM3_AXES, type_, span)
    number = _number(group.removeprefix(_NAMESPACE), name, type_, span)
    if number is not None:
        return number
    return None


def _number(group: str, name: str, type_: Type, span: Span) -> Expr | None:
    """A rank or size as a value of the builtin variables; opaque where the group is not static."""
    tile = _TILE.match(group)
    size = int(tile[1]) if tile is not None else None
    if group == "thread_block":
        if name == "thread_rank":
            return _thread_rank(span)
        if name in ("size", "num_threads"):
            return _volume(BuiltinKind.BLOCK_DIM, span)
    if group == "grid_group":
        block = _linear(BuiltinKind.BLOCK_IDX, BuiltinKind.GRID_DIM, span)
        threads = _volume(BuiltinKind.BLOCK_DIM, span)
        blocks = _volume(BuiltinKind.GRID_DIM, span)
        if name == "thread_rank":
            return _free(name, Semantics.FMA, type_, span, block, threads, _thread_rank(span))
        if name in ("size", "num_threads"):
            return _free(name, Semantics.MUL, type_, span, blocks, threads)
        if name == "block_rank":
            return block
        if name == "num_blocks":
            return blocks
    if size is not None:
        lanes = Constant(size, UINT32, span)
        if name in ("size", "num_threads"):
            return Constant(size, type_, span)
        if name == "thread_rank":
            return _free(name, Semantics.MOD, type_, span, _thread_rank(span), lanes)
        if name == "meta_group_rank":
            return _free(name, Semantics.DIV, type_, span, _thread_rank(span), lanes)
        if name == "meta_group_size":
            return _free(name, Semantics.DIV, type_, span, _volume(BuiltinKind.BLOCK_DIM, span), lanes)
    if name in ("thread_rank", "size", "num_threads", "meta_group_rank", "meta_group_size", "is_valid"):
        return _free(name, Semantics.OPAQUE, type_, span)
    if name in ("grid_rank", "num_grids", "cluster_size", "block_rank", "num_blocks"):
        return _free(name, Semantics.UNIFORM, type_, span)
    return None
