"""What programs are run with, as settings of a test driver or an editor say: JSON and INI files.

An object or a section with `args` is a run of the program that it names, or that it is named after.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from wattslice.frontend.project.makefile import UNTOLD, Line, Run, text_of_file
from wattslice.frontend.project.settings_files import settings_files
from wattslice.frontend.surroundings import Surroundings
from wattslice.patterns import regex

_MOST_CHARACTERS = 1 << 18
_DEEPEST = 8
_PROGRAM = ("program", "executable", "binary", "exe")
_ARGUMENTS = ("args", "arguments")
_COMMENT = regex(r"(?m)^\s*//.*$")
_COMMA_TOO_MANY = regex(r",(?=\s*[}\]])")
_VARIABLE = regex(r"\$\{[^}]*\}|\$\(\w+\)|%\w+%")


def runs_in(folder: Path, around: Surroundings) -> Iterator[Run]:
    """The runs that the settings of a folder name: those beside, then those in its folders for settings."""
    for path in settings_files(folder, around):
        text = text_of_file(path)
        if text is None or len(text) > _MOST_CHARACTERS or not any(name in text for name in _ARGUMENTS):
            continue
        for program, words in _of_json(text) if path.suffix == ".json" else _of_ini(text):
            number = text.count("\n", 0, max(0, text.find(program))) + 1
            told = tuple(None if _VARIABLE.search(word) or UNTOLD in word else word for word in words)
            yield Run(program.replace("\\", "/").rpartition("/")[2], told, Line(program, path, number))


_Named = Iterator[tuple[str, list[str]]]


def _of_json(text: str) -> _Named:
    try:
        document: object = json.loads(_COMMA_TOO_MANY.sub("", _COMMENT.sub("", text)))
    except (ValueError, RecursionError):
        return
    yield from _runs_below(document, "", _DEEPEST)


def _runs_below(value: object, name: str, levels: int) -> _Named:
    """`name`: the program that an object is of where it does not name one."""
    if levels and isinstance(value, list):
        for entry in cast("list[object]", value):
            yield from _runs_below(entry, name, levels - 1)
    if not levels or not isinstance(value, dict):
        return
    fields = cast("dict[str, object]", value)
    named = (given for key in _PROGRAM if isinstance(given := fields.get(key), str))
    name = next(named, name)
    for key in _ARGUMENTS:
        words = _words(fields.get(key))
        if name and words is not None:
            yield name, words
    for key, inner in fields.items():
        yield from _runs_below(inner, key if isinstance(inner, dict) else name, levels - 1)


def _words(given: object) -> list[str] | None:
    if isinstance(given, str):
        return _split(given)
    if not isinstance(given, list):
        return None
    entries = cast("list[object]", given)
    return (
        [str(entry) for entry in entries] if all(isinstance(e, (str, int, float)) for e in entries) else None
    )


def _split(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:
        return None


def _of_ini(text: str) -> _Named:
    import configparser  # few projects have such a file

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for section in parser.sections():
        for key in _ARGUMENTS:
            for line in _lines(parser.get(section, key, fallback="")):
                words = _split(line)
                if words is not None:
                    yield section, words


def _lines(value: str) -> list[str]:
    """The command lines of a setting: one, or a list of them."""
    if not value.startswith("["):
        return [value] if value else []
    try:
        entries: object = json.loads(value)
    except ValueError:
        return []
    return [str(entry) for entry in cast("list[object]", entries)] if isinstance(entries, list) else []
