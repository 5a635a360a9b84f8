"""The warps that a sampled access looks at."""

import numpy as np

from wattslice.counting.sites import SAMPLED_WARPS, sectors_per_request


def test_marks_are_those_of_the_generator_that_they_spare_us():
    warps = 1000  # warp w touches 1 + w // 40 sectors: the mean says which warps were taken
    lanes = np.arange(32)
    offsets = np.concatenate([32 * (lanes % (1 + warp // 40)) for warp in range(warps)])
    drawn = (np.arange(16) + np.random.default_rng(0).random(16)) / 16
    taken = [int(np.searchsorted(np.arange(1, warps + 1), mark * warps)) for mark in drawn]
    found = sectors_per_request(offsets.astype(np.int64), np.ones(32 * warps, np.bool_), 4)
    assert len(taken) == SAMPLED_WARPS
    assert found == np.mean([1 + warp // 40 for warp in taken])
