"""Atomics: the lanes of a batch take turns in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice import ir
from wattslice.profiling.interpreter.compiler import Compiler, compiles
from wattslice.profiling.interpreter.errors import UnsupportedError
from wattslice.profiling.interpreter.lanes import Mask
from wattslice.profiling.interpreter.layout import Value, dtype_of, is_block, stored_dtype
from wattslice.profiling.interpreter.machine import Evaluate
from wattslice.profiling.interpreter.places import Access, access_of

_Operation = ir.AtomicOp
_UFUNCS: dict[ir.AtomicOp, np.ufunc] = {
    _Operation.ADD: np.add,
    _Operation.SUB: np.subtract,
    _Operation.MIN: np.minimum,
    _Operation.MAX: np.maximum,
    _Operation.AND: np.bitwise_and,
    _Operation.OR: np.bitwise_or,
    _Operation.XOR: np.bitwise_xor,
}


@compiles(ir.Atomic)
def _(compiler: Compiler, expr: ir.Atomic) -> Evaluate:
    return _compile(compiler, expr, wants_old=True)


def atomic_without_result(compiler: Compiler, expr: ir.Atomic) -> Evaluate:
    """An atomic whose old value nobody asks for."""
    try:
        return _compile(compiler, expr, wants_old=False)
    except UnsupportedError:
        return compiler.expression(expr)


def _compile(compiler: Compiler, expr: ir.Atomic, *, wants_old: bool) -> Evaluate:
    type_ = expr.place.type
    if is_block(type_):
        raise UnsupportedError(f"atomics on '{type_.name}'")
    address, access = access_of(compiler, expr.place, expr.span)
    dtype = dtype_of(type_)
    operands = [compiler.number(argument, dtype) for argument in expr.arguments]
    if len(operands) != (2 if expr.op is _Operation.CAS else 1):
        raise UnsupportedError(f"atomic {expr.op.value} with {len(operands)} operands")
    return _Atomic(expr.op, address, access, operands, stored_dtype(type_), wants_old)


class _Atomic(Struct, frozen=True):
    """One atomic of the source."""

    op: ir.AtomicOp
    address: Evaluate
    access: Access
    operands: list[Evaluate]
    dtype: np.dtype[Any]
    wants_old: bool

    def __call__(self, mask: Mask) -> Value:
        """The old values, in the lanes of `mask`."""
        size = mask.batch.size
        values = [np.broadcast_to(operand(mask), (size,))[mask.index] for operand in self.operands]
        active = np.broadcast_to(self.address(mask), (size,))[mask.index]
        result = np.zeros(size, self.dtype)
        for elements, index, chosen in self.access.groups(active, mask):
            parts = [value[chosen] for value in values]
            old = self._perform(elements, index, parts)
            if old is not None:
                result[mask.index[chosen]] = old
        return result

    def _perform(
        self, elements: NDArray[Any], index: NDArray[Any], operands: list[NDArray[Any]]
    ) -> NDArray[Any] | None:
        ufunc = _UFUNCS.get(self.op)
        if ufunc is not None and not self.wants_old:
            ufunc.at(elements, index, operands[0])
            return None
        order = np.argsort(index, kind="stable")
        grouped = index[order]
        first = np.ones(len(grouped), np.bool_)
        first[1:] = grouped[1:] != grouped[:-1]
        if first.all():
            old = elements[index]
            elements[index] = _changed(self.op, old, operands, self.dtype)
            return old
        if self.op in (_Operation.ADD, _Operation.SUB) and self.dtype.kind in "iu":
            return self._integer_sums(elements, index, operands[0], order, first)
        return _in_turn(self.op, elements, index, operands, self.dtype)

    def _integer_sums(
        self,
        elements: NDArray[Any],
        index: NDArray[Any],
        amounts: NDArray[Any],
        order: NDArray[np.int64],
        first: NDArray[np.bool_],
    ) -> NDArray[Any]:
        """Sums modulo 2**n can be made in any order: what came before each lane is a running sum."""
        amounts = amounts.astype(self.dtype)
        if self.op is _Operation.SUB:
            amounts = np.negative(amounts)
        sums = np.cumsum(amounts[order], dtype=self.dtype)
        before = sums - amounts[order]
        group = np.cumsum(first) - 1
        before = before - before[first][group]
        old = np.empty(len(index), self.dtype)
        old[order] = elements[index[order]] + before
        np.add.at(elements, index, amounts)
        return old


def _changed(op: ir.AtomicOp, old: Value, operands: list[Value], dtype: np.dtype[Any]) -> Value:
    """What the place holds afterwards."""
    value = operands[0]
    match op:
        case _Operation.EXCHANGE:
            return value
        case _Operation.CAS:
            return np.where(old == value, operands[1], old)
        case _Operation.INC:
            return np.where(old >= value, np.zeros((), dtype), old + np.ones((), dtype))
        case _Operation.DEC:
            return np.where((old == 0) | (old > value), value, old - np.ones((), dtype))
        case _:
            combine: Callable[[Value, Value], Value] = _UFUNCS[op]
            return combine(old, value)


def _in_turn(
    op: ir.AtomicOp,
    elements: NDArray[Any],
    index: NDArray[Any],
    operands: list[NDArray[Any]],
    dtype: np.dtype[Any],
) -> NDArray[Any]:
    """One lane after the other."""
    old = np.empty(len(index), dtype)
    columns = list(zip(*operands, strict=True))
    for lane, at in enumerate(index.tolist()):
        held = elements[at]
        old[lane] = held
        elements[at] = _changed(op, held, list(columns[lane]), dtype)
    return old
