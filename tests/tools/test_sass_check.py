"""The checker of instruction counts: which threads it runs, and what of SASS it cannot tell."""

from collections import Counter

import pytest

from wattslice_corpora.sass import Instruction, SassFunction
from wattslice_tools.wild.sass_check import sampled_places
from wattslice_tools.wild.sass_emulator import Thread, run


@pytest.mark.parametrize(("threads", "blocks"), [(16, 1000), (16, 1), (1, 5), (12, 100), (32, 7), (64, 64)])
def test_each_thread_of_a_small_block_is_sampled_equally_often(threads: int, blocks: int):
    places = list(sampled_places(threads, blocks))
    times = Counter(thread for thread, _ in places)
    assert times.keys() == set(range(threads))
    assert len(set(times.values())) == 1
    assert {block for _, block in places} <= set(range(blocks))
    assert len({block for _, block in places}) >= min(blocks, 5)


def test_threads_of_a_large_block_are_spread_over_it_and_the_grid():
    places = list(sampled_places(256, 1000))
    assert len({thread // 64 for thread, _ in places}) == 4
    assert min(block for _, block in places) == 0
    assert max(block for _, block in places) > 900


@pytest.mark.parametrize(
    ("subroutine", "is_told"),
    [
        ("$__internal_0_$__cuda_sm20_rem_u64", True),
        ("$__internal_0_$__cuda_sm20_div_s64", True),
        ("$__internal_1_$__cuda_sm3x_div_rn_noftz_f32_slowpath", False),
        ("$__internal_0_$__cuda_sm20_dsqrt_rn_f64_mediumpath_v1", False),
    ],
)
@pytest.mark.parametrize("is_around", [True, False])
def test_a_subroutine_that_is_not_entered_is_told(subroutine: str, *, is_told: bool, is_around: bool):
    """A way around a division of whole numbers is for small ones, around a slow path for all but few."""
    code = (
        Instruction("P0" if is_around else "PT", not is_around, "BRA", "`(.L_x_0)"),
        Instruction("", False, "CALL.REL.NOINC", f"`({subroutine})"),
        Instruction("", False, "EXIT", ""),
    )
    function = SassFunction("k", code, ((".L_x_0", 2),))
    one = (1, 1, 1)
    found = run(function, Thread((0, 0, 0), (0, 0, 0), one, one), {})
    assert (found.unknown_branches > 0) is (is_told or not is_around)
