"""Contents of objects in memory that a kernel reaches by their names alone: cells, kept like registers.

A cell is a key of the environment, the object with the offset in it for a path. A local object has its cells
in every thread; a shared one in every block, where all threads read what one of them has written last, as
long as they do not race.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.sampling import Mask
from wattslice.counting.state import State
from wattslice.counting.values import (
    UNIFORM,
    VARYING,
    Lanes,
    Pointer,
    Unknown,
    Value,
    distinct,
    fits_int64,
    is_the_same_everywhere,
    is_warp_uniform,
    join,
    same,
    scalar,
    select,
    shared_by,
)
from wattslice.ir.objects import KEPT, MOST_CELLS, scalars_of, seen_as

_FEW_TO_COUNT = 1 << 13
"""Bytes of an object in which the offsets of lanes are counted."""


def held(state: State, root: ir.Root | None, offset: int) -> Value | None:
    """What is known to be in an object at `offset`: a constant, or what the kernel has put there itself."""
    if not isinstance(root, ir.Variable):
        return None
    constant = state.inputs.constants.get((root, offset))
    return constant if constant is not None else state.environment.get(_cell(root, offset))


def offsets_of(offset: NDArray[np.int64]) -> list[int]:
    """The different offsets of lanes, ascending; none where there are too many."""
    if not offset.size:
        return []
    least, most = int(np.minimum.reduce(offset)), int(np.maximum.reduce(offset))
    if most - least < _FEW_TO_COUNT:  # to count them takes less time than to sort them
        found = np.flatnonzero(np.bincount(offset - least)) + least
    else:
        found = distinct(offset)
    return found.tolist() if found.size <= MOST_CELLS else []


def is_followed(state: State, root: ir.Root | None) -> bool:
    """Whether anything may be known of what an object holds."""
    return root in state.objects.cells or root in state.inputs.constant_objects


def gathered(offset: NDArray[np.int64], places: list[int], values: list[Value | None]) -> Value | None:
    """Of every lane the one of `values` that is in the cell at its `offset`, one of `places`, ascending.

    A number where all cells hold the same; None where one holds no known number, and not all pointers.
    """
    pointers = [v for v in values if isinstance(v, Pointer)]
    if pointers and len(pointers) == len(values):
        return functools.reduce(functools.partial(join, together=is_warp_uniform(offset)), pointers)
    numbers = [v for v in values if isinstance(v, int | np.ndarray) and fits_int64(v)]
    if not values or len(numbers) < len(values):
        return None
    first = numbers[0]
    if isinstance(first, int) and all(isinstance(v, int) and v == first for v in numbers):
        return first
    cell = np.minimum(np.searchsorted(places, offset), len(places) - 1)
    table = np.array([v if isinstance(v, int) else 0 for v in numbers], np.int64)
    result = np.where(np.array(places)[cell] == offset, table[cell], 0)
    for at, value in zip(places, numbers, strict=True):
        if isinstance(value, np.ndarray):
            result = np.where(offset == at, value, result)
    return result


def keep(state: State, place: ir.MemoryPlace, address: Value, value: Value, mask: Mask) -> None:
    """Notes what a store leaves in an object whose contents are followed."""
    root = address.root if isinstance(address, Pointer) else None
    if not isinstance(root, ir.Variable) or root not in state.objects.cells:
        return
    offset = address.offset if isinstance(address, Pointer) else VARYING
    active = mask.active
    places = [offset] if isinstance(offset, int) else []
    if isinstance(offset, np.ndarray):
        places = offsets_of(offset[active])
    held_as, own = seen_as(place.type), _views(root)
    if not places or any(own.get(at) != held_as for at in places):
        (is_everywhere,) = _written_everywhere(state, root, 0, [0], active)
        for at in _places(root):
            _set(state, root, at, VARYING, lambda: active, is_everywhere)
    elif place.type.kind in KEPT:
        everywhere = _written_everywhere(state, root, offset, places, active)
        for at, is_everywhere in zip(places, everywhere, strict=True):
            _set(state, root, at, value, lambda at=at: active & (offset == at), is_everywhere)


def _written_everywhere(
    state: State, root: ir.Variable, offset: Value, places: list[int], active: NDArray[np.bool_]
) -> list[bool]:
    """Of each of `places`, which `active` lanes write, whether those of all objects do."""
    threads = state.threads
    if root.space is not ir.MemorySpace.SHARED or not state.has_blocks:
        return [len(places) == 1 and not bool((active < threads.exists).any())] * len(places)
    lanes, blocks = np.flatnonzero(active), active.size // threads.block_lanes
    own = lanes // threads.block_lanes * len(places)
    if isinstance(offset, np.ndarray):
        own += np.searchsorted(places, offset[lanes])
    writes = np.bincount(own, minlength=blocks * len(places)).reshape(blocks, len(places))
    return [bool(column.all()) for column in (writes > 0).T]


def fill(state: State, variable: ir.Variable, values: dict[int, Value], otherwise: Value) -> None:
    """Gives a new local object its contents."""
    for at in _places(variable):
        state.environment[_cell(variable, at)] = values.get(at, otherwise)


def _places(variable: ir.Variable) -> Iterator[int]:
    """The offsets of the cells of an object."""
    return (at for at, type_ in scalars_of(variable).items() if type_.kind in KEPT)


@functools.lru_cache(maxsize=64)
def _views(variable: ir.Variable) -> dict[int, tuple[ir.TypeKind, int, bool]]:
    """As what the numbers and pointers in an object are seen, by offset."""
    return {at: seen_as(type_) for at, type_ in scalars_of(variable).items()}


def _cell(variable: ir.Variable, offset: int) -> ir.RegisterKey:
    return variable, (f"+{offset}",)


def _set(
    state: State,
    root: ir.Variable,
    at: int,
    value: Value,
    active: Callable[[], NDArray[np.bool_]],
    is_everywhere: bool,
) -> None:
    """Notes that `active` lanes store `value` in a cell; `is_everywhere`: in that of every object."""
    key = _cell(root, at)
    old = state.environment.get(key)
    is_shared = root.space is ir.MemorySpace.SHARED
    known = _whoever_writes(state, value) if is_shared else value
    found = value if known is None else known
    if known is None or not (is_everywhere or old is None or isinstance(found, Unknown) or same(found, old)):
        writing = active()
        if is_shared:
            found, writing = _of_blocks(state, value, writing)
        if not is_everywhere:
            found = VARYING if old is None else select(writing, found, old)
    elif is_everywhere or (old is not None and same(known, old)):
        found = known
    else:
        found = VARYING  # of two that are not the same, one unknown, nothing is left
    state.environment[key] = found


def _of_blocks(state: State, value: Value, active: NDArray[np.bool_]) -> tuple[Value, NDArray[np.bool_]]:
    """What all threads of a block find where `active` ones wrote `value`, and the threads of such blocks."""
    if not state.has_blocks:
        return VARYING, active
    blocks = active.reshape(-1, state.threads.block_lanes)
    writing = np.repeat(blocks.any(axis=1), state.threads.block_lanes)
    found = _whoever_writes(state, value)
    if found is not None:
        return found, writing
    if isinstance(value, Pointer):
        offset, _ = _of_blocks(state, value.offset, active)
        return Pointer(value.root, scalar(offset)), writing
    lanes = cast(Lanes, value)
    first = np.repeat(lanes.reshape(blocks.shape)[np.arange(len(blocks)), blocks.argmax(axis=1)],
                      state.threads.block_lanes)  # fmt: skip
    return (VARYING if bool((active & (lanes != first)).any()) else first), writing


def _whoever_writes(state: State, value: Value) -> Value | None:
    """What all threads of a block find of a `value`; None where that depends on which of them wrote it."""
    if not state.has_blocks:
        return VARYING
    if isinstance(value, np.ndarray | Pointer):
        return None
    is_one = isinstance(value, int) or (isinstance(value, Unknown) and is_the_same_everywhere(value))
    return value if is_one else UNIFORM


def loaded(place: ir.MemoryPlace, address: Value, *, is_parameter: bool = False) -> Unknown:
    """What memory holds at `address`: the same in all threads that mean the same place by it.

    A local object is another one in every thread, unless it `is_parameter` of the kernel that nobody writes;
    a shared one is another one in every block.
    """
    is_own = place.space is ir.MemorySpace.LOCAL and not is_parameter
    if is_own:
        return VARYING
    is_one = place.space is not ir.MemorySpace.SHARED and is_the_same_everywhere(address)
    return replace(shared_by(address), everywhere=is_one)
