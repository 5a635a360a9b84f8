import io
import re
import sys
import time

import pytest

from wattslice.commands import output


class Stream(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def told(monkeypatch: pytest.MonkeyPatch, total: int, *, is_terminal: bool = True, begins: bool = False):
    stream = Stream(is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(output, "SLOW_BAR_S", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with output.progress(total, "variants", begins=begins) as tell:
        tell.under_way("zero")
        while is_terminal and "zero" not in stream.getvalue():
            time.sleep(0.01)
        for name in ("one", "two", "three"):
            tell(name)
        while is_terminal and "three" not in stream.getvalue():
            time.sleep(0.01)
    return stream.getvalue()


def test_a_bar_tells_steps_and_the_time_that_remains(monkeypatch):
    text = told(monkeypatch, 4)
    assert [word for word in ("3/4", "variants", "left") if word not in text] == []
    assert "2/4" in told(monkeypatch, 4, begins=True)  # the third has begun


def test_nothing_is_told_to_a_file(monkeypatch):
    assert told(monkeypatch, 4, is_terminal=False) == ""
    assert told(monkeypatch, 1, is_terminal=False) == ""


def test_of_one_step_a_terminal_shows_what_is_under_way_for_how_long(monkeypatch):
    text = told(monkeypatch, 1)
    assert text.endswith("\x1b[2K")  # and leaves nothing behind
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    assert "zero 0:00:00" in plain
    assert "1/1" not in plain


def test_nothing_is_told_of_what_is_quick(monkeypatch):
    stream = Stream(True)
    monkeypatch.setattr(sys, "stderr", stream)
    with output.progress(4) as tell:
        tell("one")
    assert "1/4" not in stream.getvalue()
