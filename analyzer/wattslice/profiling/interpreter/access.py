"""Loads and stores of all active lanes at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.profiling.interpreter.lanes import Mask
from wattslice.profiling.interpreter.layout import Value, alignment_of, is_block, size_of, stored_dtype
from wattslice.profiling.interpreter.machine import WINDOW_BITS, Allocation, Machine

Addresses = NDArray[Any]


class Access:
    """Accesses of objects of one type from one place of the source."""

    def __init__(self, machine: Machine, type_: ir.Type, span: ir.Span, name: str) -> None:
        self.machine = machine
        self.span = span
        self.name = name
        self.is_block = is_block(type_)
        self.is_bool = type_.kind is ir.TypeKind.BOOL
        self.size = size_of(type_)
        self.alignment = alignment_of(type_)
        self.dtype = np.dtype(np.uint8) if self.is_block else stored_dtype(type_)

    # ------------------------------------------------------------------ where

    def _elements(self, allocation: Allocation) -> NDArray[Any]:
        return (
            allocation.rows(self.size, self.alignment) if self.is_block else allocation.elements(self.dtype)
        )

    def one(self, address: int, lane: int) -> tuple[NDArray[Any], int]:
        """The elements that an address lies in, and its index."""
        allocation = self.machine.allocations.get(address >> WINDOW_BITS)
        if allocation is not None:
            origin = allocation.origin
            offset = address - int(origin if origin.ndim == 0 else origin[lane])
            if 0 <= offset <= allocation.size - self.size and address % self.alignment == 0:
                return self._elements(allocation), (address - allocation.base) // self.alignment
        raise self.machine.fault(address, lane, self.size, self.span, self.name)

    def many(self, active: Addresses, mask: Mask) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The elements that all of the addresses lie in, and their indices; None: not in one allocation.

        `active`: one address for each active lane.
        """
        allocation = self.machine.allocations.get(int(active[0]) >> WINDOW_BITS)
        if allocation is None:
            return None
        origin = allocation.origin
        offset = from_base = active - allocation.base
        if origin.ndim:
            offset = active - (origin if mask.full else origin[mask.index])
        last = allocation.size - self.size
        if last < 0 or int(offset.view(np.uint64).max()) > last:
            return None
        if self.alignment > 1:
            if int(np.bitwise_or.reduce(from_base)) & (self.alignment - 1):
                return None
            from_base = from_base >> (self.alignment.bit_length() - 1)
        return self._elements(allocation), from_base

    def groups(
        self, active: Addresses, mask: Mask
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.int64] | slice]]:
        """Elements, indices, and which of the active lanes they belong to; raises for a wrong access."""
        found = self.many(active, mask)
        if found is not None:
            yield *found, slice(None)
            return
        lanes = mask.index
        windows = active >> WINDOW_BITS
        parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]] = []
        first_wrong: int | None = None
        for window in np.unique(windows):
            chosen = np.flatnonzero(windows == window)
            allocation = self.machine.allocations.get(int(window))
            wrong = np.ones(len(chosen), np.bool_)
            if allocation is not None:
                origin = allocation.origin
                offset = active[chosen] - (origin if origin.ndim == 0 else origin[lanes[chosen]])
                wrong = (offset < 0) | (offset > allocation.size - self.size) | (offset % self.alignment != 0)
                if not wrong.any():
                    index = (active[chosen] - allocation.base) // self.alignment
                    parts.append((self._elements(allocation), index, chosen))
                    continue
            at = int(chosen[np.argmax(wrong)])
            first_wrong = at if first_wrong is None else min(at, first_wrong)
        if first_wrong is not None:
            raise self.machine.fault(
                int(active[first_wrong]), int(lanes[first_wrong]), self.size, self.span, self.name
            )
        yield from parts

    # ------------------------------------------------------------------ what

    def load(self, address: Addresses, mask: Mask) -> Value:
        """The objects at `address` (one for all lanes, or one for each)."""
        if address.ndim == 0:
            elements, at = self.one(int(address), int(mask.index[0]) if mask.count else 0)
            value: Value = elements[at : at + 1].copy() if self.is_block else elements[at]
            return value != 0 if self.is_bool else value
        size = self.machine.batch.size
        active = address if mask.full else address[mask.index]
        found = self.many(active, mask)
        if found is not None:
            elements, index = found
            value = elements[index] if self.is_block else elements.take(index)
            if not mask.full:
                spread = np.zeros((size, self.size) if self.is_block else size, self.dtype)
                spread[mask.index] = value
                value = spread
        else:
            value = np.zeros((size, self.size) if self.is_block else size, self.dtype)
            for elements, index, chosen in self.groups(active, mask):
                value[mask.index[chosen]] = elements[index]
        return value != 0 if self.is_bool else value

    def store(self, address: Addresses, value: Value, mask: Mask) -> None:
        """Puts `value` at `address`; of lanes that store to the same place the last one wins."""
        per_lane = len(value) > 1 if self.is_block else value.ndim > 0
        if address.ndim == 0:
            elements, at = self.one(int(address), int(mask.index[0]))
            if self.is_block:
                elements[at] = value[mask.index[-1]] if per_lane else value[0]
            else:
                elements[at] = value[mask.index[-1]] if per_lane else value
            return
        active = address if mask.full else address[mask.index]
        given = value[mask.index] if per_lane and not mask.full else value
        for elements, index, chosen in self.groups(active, mask):
            elements[index] = given[chosen] if per_lane else given
