"""What the lanes of a warp tell each other (votes, shuffles, reductions) where each knows its own value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from wattslice.counting.sampling import WARP_SIZE, Mask
from wattslice.counting.values import Lanes, Value

_Rows = NDArray[np.int64]
_Running = NDArray[np.bool_]


BALLOTS = ("__activemask", "__ballot", "__ballot_sync")


def ballot(mask: Mask) -> Lanes:
    """The lanes of each warp that run, as bits."""
    running = mask.active.reshape(-1, WARP_SIZE)
    return np.repeat(_ballot(running.astype(np.int64), running), WARP_SIZE)


def lane_register(name: str, lanes: int) -> Lanes | None:
    """What each lane reads in a special register of PTX, which an inline `asm mov.u32 %0, %laneid;` names;
    None for others.
    """
    function = _OF_LANE.get(name.rpartition("%")[2].rstrip("; "))
    return None if function is None else function(np.arange(lanes, dtype=np.int64) % WARP_SIZE)


_OF_LANE: dict[str, Callable[[NDArray[np.int64]], Lanes]] = {
    "laneid": lambda lane: lane,
    "lanemask_eq": lambda lane: 1 << lane,
    "lanemask_lt": lambda lane: (1 << lane) - 1,
    "lanemask_le": lambda lane: (2 << lane) - 1,
    "lanemask_gt": lambda lane: (1 << WARP_SIZE) - (2 << lane),
    "lanemask_ge": lambda lane: (1 << WARP_SIZE) - (1 << lane),
}


def exchanged(name: str, arguments: Sequence[Value], mask: Mask, block_lanes: int) -> Lanes | int | None:
    """The value that each lane gets; None where it is not known, or no exchange that is computed here.

    A block's votes (`__syncthreads_or`) go by `block_lanes`. The lanes that run have to be known as well:
    none of them by a chance of its own.
    """
    plain = name.removesuffix("_sync")
    shuffle, of_block = _SHUFFLES.get(plain), _OF_BLOCK.get(name)
    vote = _VOTES.get(plain) or of_block
    if plain == "__activemask":
        arguments = (1,)
    own = arguments[name.endswith("_sync") :]
    if (shuffle is None and vote is None) or not own or not all(map(_is_whole, arguments)):
        return None
    size = block_lanes if of_block is not None else WARP_SIZE
    lanes = [np.broadcast_to(np.asarray(value, np.int64), mask.weights.shape) for value in arguments]
    values, *rest = (one.reshape(-1, size) for one in lanes[name.endswith("_sync") :])
    running = mask.active.reshape(-1, size)
    weights = mask.weights.reshape(-1, size)
    if mask.certain is not mask.weights or (running & (weights != weights.max(axis=1, keepdims=True))).any():
        return None
    if name.endswith("_sync"):
        named = lanes[0].reshape(-1, size) >> np.arange(size) & 1 != 0
        if (running & ~named).any():
            return None
    if vote is not None:
        found = vote(values, running)
        return np.repeat(found, size) if found.ndim == 1 else found.ravel()
    return None if shuffle is None else _moved(shuffle, values, rest, running)


def _is_whole(value: Value) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype == np.int64 or value.dtype == np.bool_
    return isinstance(value, int) and abs(value) < 1 << 62


def _moved(
    source: Callable[[_Rows, _Rows], _Rows], values: _Rows, rest: Sequence[_Rows], running: _Running
) -> Lanes | None:
    """What each lane reads of the lane `source` of its part of the warp; its own where that is outside."""
    if not rest or (len(rest) > 1 and not _is_power_of_two(rest[1])):
        return None
    width = rest[1] if len(rest) > 1 else np.full_like(values, WARP_SIZE)
    lane = np.broadcast_to(np.arange(WARP_SIZE), values.shape)
    first = lane & -width
    asked = source(lane, rest[0]) if source is not _indexed else first + (rest[0] & width - 1)
    at = np.where((asked >= first) & (asked < first + width), asked, lane)
    if not (np.take_along_axis(running, at, axis=1) | ~running).all():
        return None  # of a lane that does not run: anything
    return np.take_along_axis(values, at, axis=1).ravel()


def _is_power_of_two(width: _Rows) -> bool:
    return bool(((width > 0) & (width <= WARP_SIZE) & (width & width - 1 == 0)).all())


def _indexed(lane: _Rows, wanted: _Rows) -> _Rows:
    return wanted


_SHUFFLES: dict[str, Callable[[_Rows, _Rows], _Rows]] = {
    "__shfl": _indexed,
    "__shfl_up": lambda lane, by: lane - by,
    "__shfl_down": lambda lane, by: lane + by,
    "__shfl_xor": lambda lane, by: lane ^ by,
}


def _any(values: _Rows, running: _Running) -> _Rows:
    return (running & (values != 0)).any(axis=1).astype(np.int64)


def _all(values: _Rows, running: _Running) -> _Rows:
    return (~running | (values != 0)).all(axis=1).astype(np.int64)


def _count(values: _Rows, running: _Running) -> _Rows:
    return (running & (values != 0)).sum(axis=1).astype(np.int64)


def _ballot(values: _Rows, running: _Running) -> _Rows:
    bits = (running & (values != 0)).astype(np.int64) << np.arange(WARP_SIZE)
    return bits.sum(axis=1)


def _match(values: _Rows, running: _Running) -> _Rows:
    """Of each lane, those that run and have its value; rows of one number for each lane."""
    alike = (values[:, :, None] == values[:, None, :]) & running[:, None, :]
    return (alike.astype(np.int64) << np.arange(WARP_SIZE)).sum(axis=2)


def _reduced(function: Callable[..., _Rows], neutral: int) -> Callable[[_Rows, _Running], _Rows]:
    return lambda values, running: function(np.where(running, values, neutral), axis=1)


_MOST = (1 << 63) - 1
_VOTES: dict[str, Callable[[_Rows, _Running], _Rows]] = {
    "__any": _any,
    "__all": _all,
    "__uni": lambda values, running: (_any(values, running) == _all(values, running)).astype(np.int64),
    "__ballot": _ballot,
    "__activemask": _ballot,
    "__match_any": _match,
    "__reduce_add": _reduced(np.add.reduce, 0),
    "__reduce_min": _reduced(np.minimum.reduce, _MOST),
    "__reduce_max": _reduced(np.maximum.reduce, -_MOST),
    "__reduce_and": _reduced(np.bitwise_and.reduce, -1),
    "__reduce_or": _reduced(np.bitwise_or.reduce, 0),
    "__reduce_xor": _reduced(np.bitwise_xor.reduce, 0),
}
_OF_BLOCK: dict[str, Callable[[_Rows, _Running], _Rows]] = {
    "__syncthreads_or": _any,
    "__syncthreads_and": _all,
    "__syncthreads_count": _count,
}
