"""Sectors of global memory that several accesses of one thread have in common: members of a record, taps of a
filter, copies in an unrolled loop. What the first of them brings the others find in L1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from wattslice.workload.instructions.value_graph import MemoryRequest

SECTOR_BYTES = 32


def new_share(together: Sequence[MemoryRequest]) -> float:
    """Of the sectors of accesses at constant distances the share that is distinct."""
    spans = [(asked, asked.span) for asked in together if asked.span is not None]
    _, one = spans[0]
    unit = math.gcd(SECTOR_BYTES, *(factor for term, factor in one.base if not term.is_pointer))
    requested = 0.0
    for asked, span in spans:
        whole = asked.number / max(1, -(-span.length // asked.size_bytes))  # how often, in several requests
        requested += whole * _sectors({(min(span.offsets), span.length)}, unit)
    places = {(offset, span.length) for _, span in spans for offset in span.offsets}
    return _sectors(places, unit) / (requested * one.copies)


def _sectors(places: set[tuple[int, int]], unit: int) -> float:
    """Sectors of places at these offsets, of these lengths, on the mean of all multiples of `unit` bytes."""
    starts = range(0, SECTOR_BYTES, unit)
    touched = {
        (start, sector)
        for offset, length in places
        for start in starts
        for sector in range(
            (start + offset) // SECTOR_BYTES, 1 + (start + offset + max(1, length) - 1) // SECTOR_BYTES
        )
    }
    return len(touched) / len(starts)
