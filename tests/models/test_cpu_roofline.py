import numpy as np
import pytest

from wattslice_models.cpu_roofline import (
    CpuRates,
    Loop,
    LoopCoefficients,
    loop_bytes_per_s,
    loop_flop_per_s,
    loop_time_s,
    loops_time_s,
)

ONE_CORE = CpuRates(20.8e9, 126e9, 78e9, 33e9, 13e9)
COMPUTES = LoopCoefficients(0.1, 0.0, 0.0, 1.0, flop_share=0.5)
MOVES = LoopCoefficients(0.0, 0.0, 0.0, 0.5)


def test_a_loop_takes_as_long_as_the_slower_of_its_work_and_its_traffic() -> None:
    assert loop_bytes_per_s(ONE_CORE, COMPUTES) == pytest.approx(25.6e9)
    assert loop_time_s(10.4e9, 1e9, ONE_CORE, COMPUTES) == pytest.approx(1.0)
    assert loop_time_s(1e6, 51.2e9, ONE_CORE, COMPUTES) == pytest.approx(2.0)
    assert loop_time_s(0.0, 13e9, ONE_CORE, MOVES) == pytest.approx(2.0)


def test_loops_follow_one_another_and_divide_among_nodes() -> None:
    loops = (Loop("a", 10.4e9, 1e9, COMPUTES), Loop("b", 0.0, 13e9, MOVES))
    assert loops_time_s(loops, ONE_CORE) == pytest.approx(3.0)
    assert loops_time_s([loop.divided(4) for loop in loops], ONE_CORE) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="no loops"):
        loops_time_s((), ONE_CORE)


def test_many_states_and_many_works_at_once() -> None:
    both = CpuRates(*(np.array([one, 2 * one]) for one in (20.8e9, 126e9, 78e9, 33e9, 13e9)))
    assert loops_time_s((Loop("a", 10.4e9, 1e9, COMPUTES),), both) == pytest.approx([1.0, 0.5])
    work = 10.4e9 / np.array([1.0, 2.0, 4.0])
    assert loop_time_s(work, 0.0, ONE_CORE, COMPUTES) == pytest.approx([1.0, 0.5, 0.25])


def test_impossible_loops_are_refused() -> None:
    with pytest.raises(ValueError, match="no share of the CPU's flop/s"):
        Loop("a", 1.0, 1.0, MOVES)
    with pytest.raises(ValueError, match="computes nothing"):
        loop_flop_per_s(ONE_CORE, MOVES)
    with pytest.raises(ValueError, match="no level of memory"):
        LoopCoefficients(0.0, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="a share of -1"):
        LoopCoefficients(-1.0, 0.0, 0.0, 1.0)


def test_work_at_no_rate_is_refused_and_no_work_needs_none() -> None:
    slow = LoopCoefficients(0.0, 0.0, 0.0, 1.0, flop_share=0.5, flop_offset_per_s=-20e9)
    with pytest.raises(ValueError, match=r"a: P U \+ S = -9.6e\+09 flop/s: not above 0"):
        loops_time_s((Loop("a", 1.0, 1.0, slow),), ONE_CORE)
    both = CpuRates(*(np.array([one, 2 * one]) for one in (20.8e9, 126e9, 78e9, 33e9, 13e9)))
    with pytest.raises(ValueError, match="not above 0"):
        loop_time_s(1.0, 1.0, both, slow)
    assert loop_time_s(0.0, 13e9, ONE_CORE, slow) == pytest.approx(1.0)
