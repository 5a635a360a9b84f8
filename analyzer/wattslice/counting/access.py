"""What one memory request of a warp costs: 32-byte sectors and shared-memory bank passes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wattslice.counting.sampling import WARP_SIZE

SECTOR_BYTES = 32
BANKS = 32
BANK_BYTES = 4
SAMPLED_WARPS = 8


def _rows(
    offsets: NDArray[np.int64], active: NDArray[np.bool_], population: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]:
    """Up to SAMPLED_WARPS warps with an active lane, as (warps, 32) offsets and activity, and their weights.

    `population`: how many warps of the launch each stands for; None: all as many.
    """
    lanes = active.reshape(-1, WARP_SIZE)
    busy = np.flatnonzero(lanes.any(axis=1))
    weights = np.ones(busy.size) if population is None else population[busy]
    if busy.size > SAMPLED_WARPS:
        share = np.cumsum(weights)
        marks = (np.arange(SAMPLED_WARPS) + 0.5) / SAMPLED_WARPS * share[-1]
        busy, weights = busy[np.searchsorted(share, marks)], np.ones(SAMPLED_WARPS)
    return offsets.reshape(-1, WARP_SIZE)[busy], lanes[busy], weights


def _distinct(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Marks, in rows sorted along axis 1, the first of each run of equal non-negative ids."""
    first = np.ones_like(ids, dtype=np.bool_)
    first[:, 1:] = ids[:, 1:] != ids[:, :-1]
    return first & (ids >= 0)


def sectors_per_request(
    offsets: NDArray[np.int64],
    active: NDArray[np.bool_],
    size_bytes: int,
    population: NDArray[np.float64] | None = None,
    sector_bytes: int = SECTOR_BYTES,
) -> float:
    """Mean number of distinct 32-byte sectors a warp touches.

    `offsets`: byte offsets of shape (lanes,), relative to a base aligned to at least 32 bytes. `population`,
    of shape (warps,): what each warp counts in the mean.
    """
    rows, lanes, weights = _rows(offsets, active, population)
    if rows.size == 0:
        return 0.0
    first = rows // sector_bytes
    # A sorted row counts its distinct non-negative ids; shift so that negative offsets stay countable.
    base = int(first.min())
    sectors = np.where(lanes, first - base, -1)
    extra = (rows + max(size_bytes, 1) - 1) // sector_bytes - base
    if bool((extra > first - base).any()):
        count = 2 + size_bytes // sector_bytes
        pieces = [np.where(lanes, np.minimum(sectors + k, extra), -1) for k in range(count)]
        sectors = np.concatenate(pieces, axis=1)
    return float(np.average(_distinct(np.sort(sectors, axis=1)).sum(axis=1), weights=weights))


def distinct_share(offsets: NDArray[np.int64], active: NDArray[np.bool_]) -> float:
    """Of the sectors that the warps of one block request together, the share that is distinct, in (0, 1]."""
    sectors = np.where(active, offsets // SECTOR_BYTES - int(offsets.min()) // SECTOR_BYTES, -1)
    requested = int(_distinct(np.sort(sectors.reshape(-1, WARP_SIZE), axis=1)).sum())
    distinct = int(_distinct(np.sort(sectors)[None, :]).sum())
    return distinct / requested if requested else 1.0


def bank_passes(
    offsets: NDArray[np.int64],
    active: NDArray[np.bool_],
    size_bytes: int,
    population: NDArray[np.float64] | None = None,
) -> float:
    """Passes of a shared-memory request relative to a conflict-free one (1 = no conflict).

    Lanes that read the same 4-byte word share it. 8- and 16-byte accesses are served in 2 and 4 groups.
    """
    rows, lanes, weights = _rows(offsets, active, population)
    if rows.size == 0:
        return 1.0
    # Records of other sizes are read word by word.
    words_per_lane = {8: 2, 16: 4}.get(size_bytes, 1)
    group = WARP_SIZE // words_per_lane
    weights = np.repeat(weights, words_per_lane)
    rows, lanes = rows.reshape(-1, group), lanes.reshape(-1, group)
    words = np.where(lanes, rows // BANK_BYTES - int(rows.min()) // BANK_BYTES, -1)
    words = np.sort(words, axis=1)
    distinct = _distinct(words)
    # Wide accesses hit consecutive banks; the bank of the first word decides the conflict.
    banks = (words % BANKS) // words_per_lane
    passes = np.zeros((rows.shape[0], BANKS))
    np.add.at(passes, (np.nonzero(distinct)[0], banks[distinct]), 1.0)
    busy = lanes.any(axis=1)
    return float(np.average(passes.max(axis=1)[busy], weights=weights[busy])) if bool(busy.any()) else 1.0
