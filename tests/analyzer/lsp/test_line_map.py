"""Lines found again after an edit."""

from hypothesis import given
from hypothesis import strategies as st

from wattslice.lsp.line_map import LineMap

TEXT = list("abcdef")


def test_lines_move_with_what_is_inserted_above():
    lines = LineMap(TEXT, [*"abxycdef"])
    assert [lines.now(i) for i in range(6)] == [0, 1, 4, 5, 6, 7]
    assert [lines.then(i) for i in range(8)] == [0, 1, None, None, 2, 3, 4, 5]


def test_a_line_that_is_typed_in_keeps_its_place():
    lines = LineMap(TEXT, [*"abXdef"])
    assert lines.now(2) == lines.then(2) == 2


def test_what_was_replaced_is_gone():
    lines = LineMap(TEXT, [*"aXYZef"[:2], *"ef"])
    assert [lines.now(i) for i in range(6)] == [0, None, None, None, 2, 3]


def test_beyond_the_text_is_nothing():
    lines = LineMap(TEXT, TEXT)
    assert (lines.now(-1), lines.now(6), lines.then(6)) == (None, None, None)


@given(st.lists(st.sampled_from("ab"), max_size=9), st.lists(st.sampled_from("ab"), max_size=9))
def test_there_and_back(old, new):
    lines = LineMap(old, new)
    for line in range(len(old)):
        now = lines.now(line)
        assert now is None or (0 <= now < len(new) and lines.then(now) == line)
