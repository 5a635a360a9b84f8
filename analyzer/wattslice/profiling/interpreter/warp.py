"""What threads do together: shuffles, votes, reductions of a warp; barriers of a block."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.patterns import regex
from wattslice.profiling.interpreter.arithmetic import truth
from wattslice.profiling.interpreter.compiler import Compiler
from wattslice.profiling.interpreter.errors import InterpreterError, UnsupportedError
from wattslice.profiling.interpreter.expressions import number
from wattslice.profiling.interpreter.lanes import WARP_SIZE, Mask
from wattslice.profiling.interpreter.layout import Dtype, Value, dtype_of, is_block
from wattslice.profiling.interpreter.machine import Evaluate, Machine

_INT64 = np.dtype(np.int64)
_UINT32 = np.dtype(np.uint32)
_SHUFFLE = regex(r"(?:__)?shfl(?:_(up|down|xor))?(_sync)?$")
_VOTE = regex(r"(?:__)?(any|all|ballot|uni|match_any|match_all)(_sync)?$")
_REDUCE = regex(r"__reduce_(add|min|max|and|or|xor)_sync$")
_BLOCK = regex(r"__syncthreads(?:_(count|and|or))?$")
_SPECIAL_REGISTER = regex(r"asm mov\.[usb]32 %0, %+(laneid|warpid|lanemask_(?:lt|le|eq|ge|gt));?$")
_TILE = regex(r"thread_block_tile<(\d+)")


def compile_warp_function(compiler: Compiler, expr: ir.Intrinsic, name: str) -> Evaluate | None:
    """A call that threads make together; None for other calls."""
    if _BLOCK.match(name) or name.startswith("group.") or name == "arrive_and_wait":
        return _barrier(compiler, expr, name)
    if name == "__activemask":
        return lambda mask: _ballot(mask, mask.lanes)
    shuffle = _SHUFFLE.match(name)
    if shuffle is not None:
        return _shuffle(compiler, expr, shuffle[1] or "", name)
    vote = _VOTE.match(name)
    if vote is not None:
        return _vote(compiler, expr, vote[1], name)
    reduction = _REDUCE.match(name)
    if reduction is not None:
        mask_value = compiler.number(expr.arguments[0], _UINT32)
        value = compiler.number(expr.arguments[1], dtype_of(expr.type))
        return _reduction(_UFUNCS[reduction[1]], value, mask_value)
    if name == "reduce":
        return _tile_reduction(compiler, expr)
    special = _SPECIAL_REGISTER.match(name)
    if special is not None:
        return lambda mask: _special_register(mask, special[1]).astype(dtype_of(expr.type))
    return None


def _special_register(mask: Mask, name: str) -> Value:
    """What inline assembly reads from `%laneid` and the like (PTX ISA, special registers)."""
    lane = mask.batch.lane_in_warp.astype(np.uint64)
    bit = np.uint64(1) << lane
    below = bit - np.uint64(1)
    return {
        "laneid": lane,
        "warpid": mask.batch.thread_in_block // WARP_SIZE,
        "lanemask_eq": bit,
        "lanemask_lt": below,
        "lanemask_le": below | bit,
        "lanemask_gt": ~(below | bit),
        "lanemask_ge": ~below,
    }[name]


# --------------------------------------------------------------------------- barriers


def _barrier(compiler: Compiler, expr: ir.Intrinsic, name: str) -> Evaluate:
    machine, span = compiler.machine, expr.span
    nothing = number(0, np.dtype(np.int32))
    if name.startswith("group."):
        if name != "group.sync":
            raise UnsupportedError(f"'{name.removeprefix('group.')}' of a cooperative group")
        if expr.detail.startswith("grid_group"):
            machine.needs_all_blocks = True
        elif not expr.detail.startswith("thread_block") or _TILE.match(expr.detail):
            return lambda mask: nothing  # within a warp nobody is behind
    elif name == "arrive_and_wait":
        raise UnsupportedError("'arrive_and_wait' of a barrier object")
    found = _BLOCK.match(name)
    kind = None if found is None else found[1]
    if kind is None:

        def wait(mask: Mask) -> Value:
            check_barrier(machine, mask, span)
            return nothing

        return wait
    predicate = compiler.expression(expr.arguments[0])

    def count(mask: Mask) -> Value:
        holds = np.broadcast_to(truth(predicate(mask)), mask.lanes.shape) & mask.lanes
        check_barrier(machine, mask, span)
        batch = mask.batch
        yes = batch.blocks_of(holds)
        if kind == "and":
            yes = yes == batch.blocks_of(mask.lanes)
        elif kind == "or":
            yes = yes > 0
        return yes.astype(np.int32)[batch.block_of_lane]

    return count


def check_barrier(machine: Machine, mask: Mask, span: ir.Span) -> None:
    """Raises unless every thread that has not returned of every block here is here."""
    batch = mask.batch
    exited = machine.exited
    if mask.count + exited.count == batch.size:
        return
    missing = ~(mask.lanes | exited.lanes)
    here = batch.blocks_of(mask.lanes) > 0
    waited_for = missing & here[batch.block_of_lane]
    if waited_for.any():
        who = machine.thread(int(np.argmax(waited_for)))
        raise InterpreterError(
            f"deadlocked barrier: {mask.count} threads wait here for others that take another way, {who} "
            "for one",
            span,
            "let every thread of the block reach the same barrier",
        )


# --------------------------------------------------------------------------- shuffles


def _shuffle(compiler: Compiler, expr: ir.Intrinsic, kind: str, name: str) -> Evaluate:
    arguments = list(expr.arguments)
    member = compiler.expression(arguments.pop(0)) if name.endswith("_sync") else None
    value = compiler.expression(arguments[0])
    block = is_block(arguments[0].type)
    if not block and dtype_of(arguments[0].type) != dtype_of(expr.type):
        value = compiler.number(arguments[0], dtype_of(expr.type))
    operand = compiler.number(arguments[1], _INT64)
    tile = _TILE.match(expr.detail)
    if expr.detail and tile is None:
        raise UnsupportedError(f"'{name}' of {expr.detail}")
    width = int(tile[1]) if tile is not None else WARP_SIZE
    given = arguments[2] if len(arguments) > 2 else ir.Constant(width, ir.INT64, expr.span)
    width_of = compiler.number(given, _INT64)

    def evaluate(mask: Mask) -> Value:
        if member is not None:
            member(mask)
        own = value(mask)
        amount, lanes_wide = operand(mask), width_of(mask)
        if len(own) == 1 if block else own.ndim == 0:
            return own
        source = _source(kind, mask.batch.lane_in_warp, amount, lanes_wide)
        return own[_position(mask, source)]

    return evaluate


def _source(kind: str, lane: NDArray[np.int64], amount: Value, width: Value) -> NDArray[np.int64]:
    """The lane of the warp that each lane reads; its own where that is outside of its segment."""
    begin = lane & ~(width - 1)
    match kind:
        case "up":
            source = lane - amount
            inside = source >= begin
        case "down":
            source = lane + amount
            inside = (lane - begin) + amount < width
        case "xor":
            source = lane ^ amount
            inside = source < begin + width
        case _:
            return begin + (amount & (width - 1))
    return np.where(inside, source, lane)


def _position(mask: Mask, source: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lane of the batch that each lane reads; its own where that one is not here (undefined in CUDA)."""
    batch = mask.batch
    position = batch.warp_start + source
    everyone = np.arange(batch.size)
    wrong = (position < 0) | (position >= batch.size)
    position = np.where(wrong, everyone, position)
    wrong = (batch.warp_of_lane[position] != batch.warp_of_lane) | ~mask.lanes[position]
    return np.where(wrong, everyone, position)


# --------------------------------------------------------------------------- votes


def _ballot(mask: Mask, lanes: NDArray[np.bool_]) -> Value:
    """A bit for every lane of the warp that is in `lanes`."""
    batch = mask.batch
    bits = np.where(lanes, np.uint64(1) << batch.lane_in_warp.astype(np.uint64), np.uint64(0))
    return np.add.reduceat(bits, batch.starts).astype(np.uint32)[batch.warp_of_lane]


def _vote(compiler: Compiler, expr: ir.Intrinsic, kind: str, name: str) -> Evaluate:
    arguments = list(expr.arguments)
    members = compiler.number(arguments.pop(0), _UINT32) if name.endswith("_sync") else None
    if kind in ("uni", "match_all") or (expr.detail and not _TILE.match(expr.detail)):
        raise UnsupportedError(f"'{name}' {'of ' + expr.detail if expr.detail else 'is not interpreted'}")
    value = compiler.expression(arguments[0])
    tile = _TILE.match(expr.detail)
    width = int(tile[1]) if tile is not None else WARP_SIZE
    result = dtype_of(expr.type)

    def evaluate(mask: Mask) -> Value:
        batch = mask.batch
        here = mask.lanes
        if members is not None:
            here = here & _belongs(members(mask), batch.lane_in_warp)
        given = np.broadcast_to(value(mask), here.shape)
        if kind == "match_any":
            return _match(mask, given, here).astype(result)
        holds = truth(given) & here
        yes, present = _ballot(mask, holds), _ballot(mask, here)
        if width < WARP_SIZE:
            first = (batch.lane_in_warp & ~(width - 1)).astype(np.uint32)
            segment = np.uint32((1 << width) - 1)
            yes, present = (yes >> first) & segment, (present >> first) & segment
        match kind:
            case "ballot":
                return yes.astype(result)
            case "any":
                return (yes != 0).astype(result)
            case _:
                return (yes == present).astype(result)

    return evaluate


def _belongs(members: Value, lane: NDArray[np.int64]) -> NDArray[np.bool_]:
    return ((members >> lane.astype(np.uint32)) & np.uint32(1)) != 0


def _match(mask: Mask, value: Value, here: NDArray[np.bool_]) -> Value:
    """For each lane the lanes of its warp with the same value."""
    batch = mask.batch
    result = np.zeros(batch.size, np.uint32)
    for other in range(WARP_SIZE):
        position = np.minimum(batch.warp_start + other, batch.size - 1)
        same_warp = batch.warp_of_lane[position] == batch.warp_of_lane
        same = same_warp & here[position] & (value[position] == value)
        result |= np.where(same, np.uint32(1 << other), np.uint32(0))
    return result


# --------------------------------------------------------------------------- reductions

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_OPERATORS = {
    "plus": "add",
    "less": "min",
    "greater": "max",
    "bit_and": "and",
    "bit_or": "or",
    "bit_xor": "xor",
}


def _reduction(ufunc: np.ufunc, value: Evaluate, members: Evaluate) -> Evaluate:
    """Over the lanes of each warp that are in its mask."""

    def evaluate(mask: Mask) -> Value:
        batch = mask.batch
        here = mask.lanes & _belongs(members(mask), batch.lane_in_warp)
        given = np.broadcast_to(value(mask), here.shape)
        neutral = _neutral(ufunc, given.dtype)
        per_warp = ufunc.reduceat(np.where(here, given, neutral), batch.starts)
        return per_warp.astype(given.dtype)[batch.warp_of_lane]

    return evaluate


def _neutral(ufunc: np.ufunc, dtype: Dtype) -> Value:
    limits = np.iinfo(dtype)
    if ufunc is np.minimum:
        return number(limits.max, dtype)
    if ufunc is np.maximum:
        return number(limits.min, dtype)
    return number(-1 if ufunc is np.bitwise_and else 0, dtype)


def _tile_reduction(compiler: Compiler, expr: ir.Intrinsic) -> Evaluate:
    """`cg::reduce(tile, value, cg::plus<T>())`: pairs that are half a tile apart, then a quarter …"""
    tile = _TILE.match(expr.detail)
    function = next((f for word, f in _OPERATORS.items() if f"{word}<" in expr.detail), None)
    if tile is None or function is None or is_block(expr.type):
        raise UnsupportedError("this reduction of a cooperative group")
    ufunc = _UFUNCS[function]
    value = compiler.number(expr.arguments[0], dtype_of(expr.type))
    width = int(tile[1])

    def evaluate(mask: Mask) -> Value:
        total: Value = np.broadcast_to(value(mask), mask.lanes.shape)
        distance = width // 2
        while distance:
            source = mask.batch.lane_in_warp ^ distance
            total = ufunc(total, total[_position(mask, source)])
            distance //= 2
        return total

    return evaluate
