"""Texts edited in pieces: the same as edited at once, whatever ends lines and however columns are counted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from wattslice.lsp.documents import Document, index, split_lines, whole_line, width

UTF8, UTF16, UTF32 = (
    types.PositionEncodingKind.Utf8,
    types.PositionEncodingKind.Utf16,
    types.PositionEncodingKind.Utf32,
)
ENCODINGS = (UTF8, UTF16, UTF32)
TEXTS = st.text(alphabet="ab\t\r\n\f\u2028é漢😀", max_size=40)


def document(text: str) -> Document:
    return Document("file:///a.cu", Path("/a.cu"), "cuda", 1, text)


def change(
    first: tuple[int, int], last: tuple[int, int], text: str
) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(
        types.Range(types.Position(*first), types.Position(*last)), text
    )


def offset_of(text: str, line: int, column: int) -> int:
    """Slow and plain: where a place (column in characters) is in the text."""
    lines = split_lines(text)
    if line >= len(lines):
        return len(text)
    return sum(map(len, lines[:line])) + min(column, len(lines[line].rstrip("\r\n")))


@pytest.mark.slow
@given(TEXTS, st.lists(st.tuples(*[st.integers(0, 8)] * 4, TEXTS), max_size=4), st.sampled_from(ENCODINGS))
def test_edits_in_pieces_are_edits_of_the_text(text, edits, encoding):
    edited, found = text, document(text)
    for line, column, end_line, end_column, inserted in edits:
        if (end_line, end_column) < (line, column):
            line, column, end_line, end_column = end_line, end_column, line, column
        first, last = (
            (line, units(found, line, column, encoding)),
            (end_line, units(found, end_line, end_column, encoding)),
        )
        start, end = offset_of(edited, line, column), offset_of(edited, end_line, end_column)
        edited = edited[:start] + inserted + edited[end:]
        found.change(2, [change(first, last, inserted)], encoding)
        assert found.text == edited
        assert list(found.lines) == split_lines(edited)


def units(found: Document, line: int, column: int, encoding: str) -> int:
    return width(found.line(line)[:column], encoding)


@pytest.mark.parametrize(
    ("encoding", "column", "found"),
    [(UTF32, 3, 3), (UTF16, 4, 3), (UTF16, 3, 2), (UTF8, 7, 3), (UTF8, 6, 2), (UTF8, 4, 2), (UTF16, 99, 4)],
)
def test_columns_are_code_units(encoding, column, found):
    assert index("\té😀x", column, encoding) == found  # within a character: its beginning


def test_columns_of_each_encoding():
    line = "\té😀x"
    assert [width(line, encoding) for encoding in ENCODINGS] == [8, 5, 4]
    for encoding in ENCODINGS:  # there and back at every character
        assert [index(line, width(line[:i], encoding), encoding) for i in range(5)] == [0, 1, 2, 3, 4]


def test_half_a_character_has_a_place():
    line = "a\ud83db"  # JSON can carry a lone surrogate
    for encoding in ENCODINGS:
        assert [index(line, width(line[:i], encoding), encoding) for i in range(4)] == [0, 1, 2, 3]


def test_only_line_ends_end_lines():
    assert split_lines("a\fb\vc\u2028d\r\ne\rf\n") == ["a\fb\vc\u2028d\r\n", "e\r", "f\n"]


def test_the_text_of_a_line_without_its_blanks():
    found = whole_line(3, "\t  é = 1;  ", UTF8)
    assert (found.start, found.end) == (types.Position(3, 3), types.Position(3, 10))


def test_a_whole_new_text():
    found = document("a\nb\n")
    found.change(5, [types.TextDocumentContentChangeWholeDocument("c")], UTF16)
    assert (found.text, found.version) == ("c", 5)
