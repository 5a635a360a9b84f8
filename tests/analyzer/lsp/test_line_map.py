"""Lines found again after an edit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice.lsp.documents import LineMap

TEXT = list("abcdef")


def test_lines_move_with_what_is_inserted_above():
    lines = LineMap(TEXT, [*"abxycdef"])
    assert [lines.now(i) for i in range(6)] == [0, 1, 4, 5, 6, 7]
    assert [lines.then(i) for i in range(8)] == [0, 1, None, None, 2, 3, 4, 5]


def test_a_line_that_is_typed_in_keeps_its_place():
    lines = LineMap(TEXT, [*"abXdef"])
    assert lines.now(2) == lines.then(2) == 2


def test_what_was_replaced_is_gone_but_for_its_first_line():
    lines = LineMap(TEXT, [*"aXef"])
    assert [lines.now(i) for i in range(6)] == [0, 1, None, None, 2, 3]
    assert LineMap(TEXT, [*"aef"]).now(1) is None


def test_edits_far_apart():
    lines = LineMap(TEXT, [*"xbcdyzf"])  # a typed in, two lines for e
    assert [lines.now(i) for i in range(6)] == [0, 1, 2, 3, 4, 6]
    assert lines.then(5) is None


def test_very_long_changes_are_not_compared():
    old, new = [f"{i}" for i in range(5000)], [f"{i}" for i in range(5000)]
    new[1:1], new[-1:] = ["x", "y"], ["z"]
    lines = LineMap(old, new)
    assert (lines.now(0), lines.now(2500), lines.then(2500)) == (0, None, None)


def test_beyond_the_text_is_nothing():
    lines = LineMap(TEXT, TEXT)
    assert (lines.now(-1), lines.now(6), lines.then(6)) == (None, None, None)


@pytest.mark.slow
@given(st.lists(st.sampled_from("ab"), max_size=9), st.lists(st.sampled_from("ab"), max_size=9))
def test_there_and_back(old, new):
    lines = LineMap(old, new)
    for line in range(len(old)):
        now = lines.now(line)
        assert now is None or (0 <= now < len(new) and lines.then(now) == line)
