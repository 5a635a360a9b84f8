"""Closed-form trip counts against running the loop."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice.counting.trips import trip_count, value_at
from wattslice.counting.values import Unknown
from wattslice.ir import BinaryOp

COMPARE = {
    BinaryOp.LT: operator.lt,
    BinaryOp.LE: operator.le,
    BinaryOp.GT: operator.gt,
    BinaryOp.GE: operator.ge,
    BinaryOp.EQ: operator.eq,
    BinaryOp.NE: operator.ne,
}
UPDATE = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
    BinaryOp.DIV: operator.floordiv,
    BinaryOp.SHL: operator.lshift,
    BinaryOp.SHR: operator.rshift,
}


def brute_force(start, op, amount, comparison, limit, most=400):
    trips = 0
    while COMPARE[comparison](start, limit):
        trips += 1
        start = UPDATE[op](start, amount)
        if trips > most:
            return None
    return trips


@given(
    start=st.integers(-60, 60),
    op=st.sampled_from([BinaryOp.ADD, BinaryOp.SUB]),
    amount=st.integers(-7, 7),
    comparison=st.sampled_from(list(COMPARE)),
    limit=st.integers(-60, 60),
)
def test_counting_loops(start, op, amount, comparison, limit):
    assert trip_count(start, op, amount, comparison, limit) == brute_force(
        start, op, amount, comparison, limit
    )


@given(
    start=st.integers(0, 5000),
    op=st.sampled_from([BinaryOp.MUL, BinaryOp.DIV, BinaryOp.SHL, BinaryOp.SHR]),
    amount=st.integers(1, 4),
    comparison=st.sampled_from([BinaryOp.LT, BinaryOp.GT, BinaryOp.GE, BinaryOp.NE]),
    limit=st.integers(0, 5000),
)
def test_halving_and_doubling_loops(start, op, amount, comparison, limit):
    found = trip_count(start, op, amount, comparison, limit)
    expected = brute_force(start, op, amount, comparison, limit)
    if found is not None:
        assert found == expected
    elif expected is not None:
        # Left shifts of 64-bit numbers wrap where Python's grow; only such loops may stay unknown.
        assert op in (BinaryOp.MUL, BinaryOp.SHL)


@given(starts=st.lists(st.integers(-30, 30), min_size=1, max_size=8), limit=st.integers(-30, 30))
def test_lanes_count_for_themselves(starts, limit):
    found = trip_count(np.array(starts), BinaryOp.ADD, 3, BinaryOp.LT, limit)
    assert isinstance(found, np.ndarray)
    assert list(found) == [brute_force(s, BinaryOp.ADD, 3, BinaryOp.LT, limit) for s in starts]


def test_unknown_operands_give_unknown_counts():
    assert trip_count(0, BinaryOp.ADD, 1, BinaryOp.LT, Unknown(uniform=True)) is None
    assert trip_count(0, BinaryOp.ADD, 0, BinaryOp.LT, 5) is None


@pytest.mark.parametrize(
    ("op", "amount", "expected"),
    [(BinaryOp.ADD, 3, 109), (BinaryOp.SUB, 3, 91), (BinaryOp.SHR, 1, 12), (BinaryOp.MUL, 2, 800)],
)
def test_value_at_iteration_three(op, amount, expected):
    assert value_at(100, op, amount, 3) == expected
