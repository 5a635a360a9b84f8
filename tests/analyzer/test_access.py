"""Sectors and bank passes against a count by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice.counting.sites import bank_passes, sectors_per_request

LANE = np.arange(32)
ALL = np.ones(32, bool)


@pytest.mark.parametrize(
    ("offsets", "size", "sectors"),
    [
        (LANE * 4, 4, 4),
        (LANE * 8, 8, 8),
        (LANE * 16, 16, 16),
        (LANE * 128, 4, 32),
        (LANE * 0, 4, 1),
        (LANE * 4 + 4, 4, 5),
        (LANE * 8, 4, 8),
        (LANE * -4, 4, 5),
        (LANE * 64, 64, 64),
    ],
)
def test_sectors(offsets, size, sectors):
    assert sectors_per_request(offsets, ALL, size) == sectors


@pytest.mark.parametrize(
    ("offsets", "size", "passes"),
    [
        (LANE * 4, 4, 1),
        (LANE * 8, 4, 2),
        (LANE * 128, 4, 32),
        (LANE * 132, 4, 1),
        (LANE * 0, 4, 1),
        (LANE * 8, 8, 1),
        (LANE * 16, 16, 1),
        (LANE * 16, 8, 2),
        (LANE * 12, 12, 1),
    ],
)
def test_bank_passes(offsets, size, passes):
    assert bank_passes(offsets, ALL, size) == passes


@given(
    st.lists(st.integers(0, 4000), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
)
def test_random_addresses(words, active):
    offsets, active = np.array(words) * 4, np.array(active)
    touched = offsets[active]
    assert sectors_per_request(offsets, active, 4) == len({int(o) // 32 for o in touched})
    if active.any():
        banks = [len({int(o) for o in touched if o // 4 % 32 == bank}) for bank in range(32)]
        assert bank_passes(offsets, active, 4) == max(banks)
