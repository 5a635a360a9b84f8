import gc
import importlib
import pkgutil
import re

import pytest

import wattslice
from wattslice import patterns
from wattslice.patterns import regex


def test_a_pattern_is_compiled_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def compile_and_tell(text: str, flags: int) -> re.Pattern[str]:
        compiled.append(text)
        return real(text, flags)

    monkeypatch.setattr(patterns.re, "compile", compile_and_tell)
    word = regex(r"^b\w", re.MULTILINE)
    assert not compiled
    assert word.sub("x", "abc\nbcd") == "abc\nxd"
    assert word.sub("y", "be") == "y"
    assert word.flags & re.MULTILINE
    assert compiled == [r"^b\w"] * 2  # once for each name that was asked of it


def test_bytes_are_matched_by_bytes() -> None:
    found = regex(rb"(?P<digits>\d+)").search(b"a12")
    assert found is not None
    assert found["digits"] == b"12"


def test_a_wrong_pattern_is_told_when_it_is_used() -> None:
    wrong = regex("(")
    with pytest.raises(re.error, match="unterminated"):
        wrong.match("")


@pytest.mark.slow
def test_every_pattern_of_the_program_compiles() -> None:
    for module in pkgutil.walk_packages(wattslice.__path__, "wattslice."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    kind = type(regex(""))
    found = [entry for entry in gc.get_objects() if type(entry) is kind]
    assert len(found) > 200
    assert all(entry.pattern is not None for entry in found)
