"""Sampled threads stand for the whole launch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice.counting.estimates import MOST_WAITING, BlockCounts
from wattslice.counting.pieces import Split, Structure, representatives
from wattslice.counting.sampling import Masks, planned, sample_threads


@given(extent=st.integers(1, 5000), number=st.integers(1, 20))
def test_representatives_are_exact_for_linear_functions(extent, number):
    chosen = representatives(extent, number)
    assert sum(w for _, w in chosen) == pytest.approx(extent)
    assert sum(w * (3 * k + 1) for k, w in chosen) == pytest.approx(sum(3 * k + 1 for k in range(extent)))
    assert len({k for k, _ in chosen}) == len(chosen)


@given(
    grid=st.tuples(st.integers(1, 3000), st.integers(1, 40), st.integers(1, 3)),
    block=st.tuples(st.integers(1, 64), st.integers(1, 8), st.integers(1, 2)),
)
def test_population_is_a_distribution_over_existing_threads(grid, block):
    threads = sample_threads(grid, block)
    assert threads.population.sum() == pytest.approx(1.0)
    assert threads.warp_population.sum() == pytest.approx(1.0)
    assert (threads.population[~threads.exists] == 0).all()
    assert threads.population.size % 32 == 0


def test_mean_global_index_is_exact():
    grid, block = (1000, 1, 1), (128, 1, 1)
    threads = sample_threads(grid, block)
    index = np.asarray(threads.block_idx[0]) * block[0] + np.asarray(threads.thread_idx[0])
    assert float(index @ threads.population) == pytest.approx((128_000 - 1) / 2)


def test_small_launches_are_complete():
    threads = sample_threads((4, 2, 1), (32, 2, 1))
    assert threads.population.size == 4 * 2 * 64
    assert np.unique(threads.population).size == 1


def test_each_block_has_counts_of_its_own():
    """Whichever masks come one after the other, and however often."""
    threads = sample_threads((3, 1, 1), (64, 1, 1))
    masks = Masks(threads)
    block = np.repeat(np.arange(3), 64)
    first, half = masks.where(masks.all, block == 0), masks.where(masks.all, np.arange(192) % 64 < 16)
    counts = BlockCounts((2.0, 1.0), threads)
    for region, mask in ((0, first), (1, first), (0, half), (1, first)):
        counts.add(region, mask)
    assert counts.by_thread.tolist() == [[1.25, 0.25, 0.25], [2.0, 0.0, 0.0]]
    assert counts.by_warp.tolist() == [[1.5, 0.5, 0.5], [2.0, 0.0, 0.0]]
    assert counts.lengths[[0, 16, 64, 80]].tolist() == [6.0, 4.0, 2.0, 0.0]
    for _ in range(2 * MOST_WAITING):
        counts.add(1, masks.where(first, np.arange(192) % 64 < 32))
    assert counts.by_warp.tolist() == [[1.5, 0.5, 0.5], [2.0 + MOST_WAITING, 0.0, 0.0]]
    assert counts.lengths[[0, 32]].tolist() == [6.0 + 2 * MOST_WAITING, 4.0]


def test_what_is_known_alike_is_planned_once():
    def cut(at: int) -> Structure:
        split = Split(np.array([[0], [0], [1]]), np.array([-at]), np.zeros(3, int), np.array([1, 1, 5000]))
        return Structure((5000, 1, 1), splits=(split,))

    plan = planned(cut(1234), (256, 1, 1))
    assert planned(cut(1234), (256, 1, 1)) is plan
    assert sample_threads((5000, 1, 1), (256, 1, 1)) is sample_threads((5000, 1, 1), (256, 1, 1))
    for other in (planned(cut(1235), (256, 1, 1)), planned(cut(1234), (128, 1, 1))):
        assert not other.same_blocks(plan)
