"""The file of a program and those it includes: a header that something is written into must be in place."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from wattslice.frontend.cuda.clang.unit import ParsedUnit
from wattslice.profiling.probes.source_text import SourceText

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)[^\n]*', re.MULTILINE)
_ONCE = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Include:
    """A line that includes `file`: offsets of the line and of the name in it, and the line's number."""

    start: int
    end: int
    name_start: int
    name_end: int
    line: int
    file: Path
    quoted: bool


class IncludedFiles:
    """The texts of a program's file and of the files that it includes, by their resolved paths.

    A header into which something is written replaces the line that includes it, between two `#line`; so does
    one that holds `in_place`.
    """

    def __init__(
        self, unit: ParsedUnit, folders: tuple[Path, ...], in_place: re.Pattern[bytes] | None = None
    ) -> None:
        self._must = in_place
        self.main = unit.path.resolve()
        self._unit = unit
        self._folders = (*folders, *unit.recovered.found_includes)
        self._texts: dict[Path, SourceText] = {}
        self._includes: dict[Path, tuple[_Include, ...]] = {}
        self._names: dict[Path, str] = {self.main: str(unit.path)}
        self._load(self.main, unit.source)

    def text(self, path: Path) -> SourceText | None:
        """What can be written into a file; None for one that no `#include` line names."""
        found = self._texts.get(path)
        return found if found is not None else self._texts.get(path.resolve())

    def edited(self) -> str:
        """The program's file with everything written. What is not UTF-8 is there as Python's surrogates."""
        return self._in_place(self.main, ())

    def _load(self, path: Path, source: bytes) -> None:
        text = self._texts[path] = SourceText(source)
        found: list[_Include] = []
        for include in _INCLUDE.finditer(text.source):
            if not text.plain[include.start() : include.end()].lstrip().startswith(b"#"):
                continue  # in a comment
            quoted = include[1] is not None
            name = (include[1] if quoted else include[2]).decode("utf-8", "replace")
            file = self._resolved(path, name, quoted)
            if file is not None:
                line = source.count(b"\n", 0, include.start()) + 1
                found.append(_Include(*include.span(), *include.span(1 if quoted else 2), line, file, quoted))
        self._includes[path] = tuple(found)
        for one in found:
            if one.file not in self._texts:
                self._load(one.file, self._unit.files.text_of(one.file))

    def _resolved(self, includer: Path, name: str, quoted: bool) -> Path | None:
        for folder in (*((includer.parent,) if quoted else ()), *self._folders):
            file = folder / name
            if file.is_file():
                self._names.setdefault(file.resolve(), os.path.normpath(file))
                return file.resolve()
        return None

    def _is_changed(self, path: Path, above: tuple[Path, ...]) -> bool:
        """Whether something is written into a file or one that it includes."""
        text = self._texts[path]
        if text.mark() > 0 or (self._must is not None and self._must.search(text.plain)):
            return True
        return any(
            one.file not in above and self._is_changed(one.file, (*above, path))
            for one in self._includes[path]
        )

    def _in_place(self, path: Path, above: tuple[Path, ...]) -> str:
        text, mark = self._texts[path], self._texts[path].mark()
        for one in self._includes[path]:
            if one.file not in (*above, path) and self._is_changed(one.file, (*above, path)):
                inner = self._header(one.file, (*above, path))
                line = f'#line {one.line + 1} "{_escaped(self._names[path])}"'
                text.open(one.start, f"{inner}{line}", replaced=one.end - one.start)
            elif path != self.main and one.quoted and one.file.parent != self.main.parent:
                name = os.path.relpath(one.file, self.main.parent)
                text.open(one.name_start, name, replaced=one.name_end - one.name_start)
        edited = text.edited().decode("utf-8", "surrogateescape")
        text.take_back(mark)
        return edited if edited.endswith("\n") else f"{edited}\n"

    def _header(self, path: Path, above: tuple[Path, ...]) -> str:
        text = self._in_place(path, above)
        body = f'#line 1 "{_escaped(self._names[path])}"\n{text}'
        if _ONCE.search(self._texts[path].plain) is None:
            return body
        guard = f"WATTSLICE_PROBES_ONCE_{list(self._texts).index(path)}"
        body = _ONCE.sub(b"", body.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
        return f"#ifndef {guard}\n#define {guard}\n{body}#endif\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
