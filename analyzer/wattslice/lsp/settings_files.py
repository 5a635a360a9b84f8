"""Settings files that actions write: which one, its text as the editor holds it, and an entry more in it.

Only files within the folders that the editor has open are written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from pygls.uris import to_fs_path

from wattslice.config.settings import find_settings
from wattslice.documents import parse_toml
from wattslice.errors import WattsliceError
from wattslice.frontend.inputs import file_bytes

_NEW = "wattslice.toml"
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A settings file to edit; `text` is None when the file is yet to be created."""

    path: Path
    text: str | None

    @property
    def is_pyproject(self) -> bool:
        """Whether the settings are a table of a pyproject.toml."""
        return self.path.name == "pyproject.toml"


def path_of(uri: str) -> Path | None:
    """The file that a URI means, None for what is no file."""
    found = to_fs_path(uri)
    return Path(found) if found and "\0" not in found else None


def folder_of(path: Path, folders: tuple[Path, ...]) -> Path | None:
    """The innermost of the workspace's folders that really holds `path`, links followed; None outside."""
    try:
        real = path.resolve()
        inside = [folder for folder in folders if real.is_relative_to(folder.resolve())]
    except (OSError, RuntimeError):  # a loop of links
        return None
    return max(inside, key=lambda folder: len(folder.resolve().parts), default=None)


def settings_file(path: Path, folders: tuple[Path, ...]) -> SettingsFile | None:
    """The settings file that holds for a document, or the one to create at the root of its workspace folder.

    None for a document outside the workspace, and where settings outside of it hold: a new file would
    replace them all.
    """
    root = folder_of(path, folders)
    if root is None:
        return None
    try:
        found = find_settings((path,)).path
        if found is None:
            new = root / _NEW
            return SettingsFile(new, None) if not new.exists() and not new.is_symlink() else None
        if folder_of(found, folders) is None or found.stat().st_size > _MOST_BYTES:
            return None
        return SettingsFile(found, file_bytes(found, _MOST_BYTES).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, WattsliceError):
        return None


_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Pending:
    text: str
    stamp: _Stamp | None


class PendingTexts:
    """What the editor was given to write, until the file on the disk changes: then that is what counts."""

    def __init__(self) -> None:
        self._known: dict[Path, _Pending] = {}

    def applied(self, path: Path, text: str) -> None:
        """The editor has taken this text over, and perhaps created the empty file for it."""
        self._known[path] = _Pending(text, _stamp(path))

    def now(self, settings: SettingsFile) -> SettingsFile:
        """The file as the editor holds it."""
        pending = self._known.get(settings.path)
        if pending is None:
            return settings
        if pending.stamp != _stamp(settings.path):
            del self._known[settings.path]
            return settings
        return replace(settings, text=pending.text)


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


_TABLE = ("tool", "wattslice")


@dataclass(frozen=True, slots=True)
class Insertion:
    """`text` to insert at `offset` (characters from the beginning) of a text."""

    offset: int
    text: str

    def applied_to(self, text: str) -> str:
        """The text with the insertion in it."""
        return text[: self.offset] + self.text + text[self.offset :]


def add_entry(text: str, key: str, value: str, *, is_pyproject: bool) -> Insertion | None:
    """Where and what to insert so that the list `key` also holds `value`.

    The list may be there or not; in a pyproject.toml it belongs into `[tool.wattslice]`. None: the value is
    there already, or the text is written in a way that an insertion cannot keep (an inline table, say).
    """
    wanted = _read(text)
    table = None if wanted is None else _table(wanted, is_pyproject=is_pyproject)
    if table is None:
        return None
    entries = table.setdefault(key, [])
    if not isinstance(entries, list) or value in entries:
        return None
    cast("list[object]", entries).append(value)
    insertion = _insertion(text, key, _quoted(value), is_pyproject=is_pyproject)
    return insertion if insertion is not None and _read(insertion.applied_to(text)) == wanted else None


def has_entry(text: str, key: str, value: str, *, is_pyproject: bool) -> bool:
    """Whether the list `key` has an entry for what `value` names (what stands before its ``=``)."""
    document = _read(text)
    table = None if document is None else _table(document, is_pyproject=is_pyproject)
    entries = None if table is None else table.get(key)
    if not isinstance(entries, list):
        return False
    names = (str(entry).partition("=")[0].strip() for entry in cast("list[object]", entries))
    return value.partition("=")[0].strip() in names


def _read(text: str) -> dict[str, object] | None:
    try:
        return parse_toml(text.encode())
    except ValueError:
        return None


def _table(document: dict[str, object], *, is_pyproject: bool) -> dict[str, object] | None:
    table = document
    for name in _TABLE if is_pyproject else ():
        inner = table.get(name)
        if not isinstance(inner, dict):
            return None
        table = cast("dict[str, object]", inner)
    return table


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_BLANK = re.compile(r"[ \t]*")
_STATEMENT = re.compile(r"[ \t]*(?:(?P<table>\[[^\[\]\n]*\])|(?P<key>[^=\n#\[]+?)[ \t]*=[ \t]*)")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)


def _insertion(text: str, key: str, value: str, *, is_pyproject: bool) -> Insertion | None:
    """A guess that `add_entry` checks."""
    end = "\r\n" if "\r\n" in text else "\n"
    inside = not is_pyproject
    last: int | None = 0 if inside else None  # where a new key may go
    at = 0
    while at < len(text):
        found = _STATEMENT.match(text, at)
        if found is None:  # blank, a comment, [[an array of tables]]
            if inside and text[at:].lstrip(" \t").startswith("["):
                break
            at = _line_end(text, at)
            continue
        if found["table"]:
            if inside:
                break
            inside = _names(found["table"].strip("[]")) == _TABLE
            at = _line_end(text, at)
            last = at if inside else last
            continue
        stop = _value_end(text, found.end())
        if inside and _names(found["key"]) == (key,) and text[found.end() : found.end() + 1] == "[":
            return _append(text, found.end(), stop, value, end)
        at = _line_end(text, stop)
        last = at if inside else last
    if last is None:  # of `[tool.wattslice]` only parts stand there, such as `[tool.wattslice.gate]`
        gap = "" if not text else end if text.endswith("\n") else 2 * end
        return Insertion(len(text), f"{gap}[{'.'.join(_TABLE)}]{end}{key} = [{value}]{end}")
    before = end if last and not text[:last].endswith("\n") else ""
    return Insertion(last, f"{before}{key} = [{value}]{end}")


def _append(text: str, start: int, stop: int, value: str, end: str) -> Insertion:
    """Into the array from `start` to `stop` (its brackets included), after its last entry."""
    array = text[start:stop]
    inside = _STRING.sub(lambda m: ("x" if m[0][0] != "#" else " ") * len(m[0]), array[1:-1])
    content = inside.rstrip()
    offset = start + 1 + len(content)
    has_comma = content.endswith(",")
    comma = "" if has_comma or not content.strip() else ","
    line = content.rpartition("\n")
    if content.strip() and line[1]:  # one entry per line: the new one gets its own, indented like the last
        indent = _BLANK.match(line[2])
        blank = indent[0] if indent else ""
        tail = "," if has_comma else ""
        # What stands after the last entry is its comment, and stays with it.
        rest = array[1 + len(content) :]
        comment = re.match(r"[ \t]*#[^\r\n]*", rest)
        if comment is None:
            return Insertion(offset, f"{comma}{end}{blank}{value}{tail}")
        if comma:
            return Insertion(offset, f"{comma} {value}")
        return Insertion(offset + comment.end(), f"{end}{blank}{value}{tail}")
    space = " " if content.strip() else ""
    return Insertion(offset, f"{comma}{space}{value}")


def _names(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))


def _line_end(text: str, at: int) -> int:
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _value_end(text: str, at: int) -> int:
    """Just behind the value that begins here."""
    depth = 0
    while at < len(text):
        if (string := _STRING.match(text, at)) is not None:
            if depth == 0 and string[0][0] == "#":
                return at
            at = string.end()
            continue
        sign = text[at]
        if sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
            if depth == 0:
                return at + 1
        elif sign == "\n" and depth == 0:
            return at
        at += 1
    return len(text)
