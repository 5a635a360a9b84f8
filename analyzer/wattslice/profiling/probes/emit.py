"""A program that counts its branches, from a program: `emit_probes`."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.session import ParsedUnit, parse_cuda
from wattslice.frontend.cuda.lowering.program import lower_program
from wattslice.frontend.parse_options import ParseOptions
from wattslice.ir.walking import deep_recursion
from wattslice.patterns import regex
from wattslice.profiling.probes.counts import InstrumentedSource, NotProbed, Probe, ProbeError
from wattslice.profiling.probes.instrument import BranchWriter, instrument
from wattslice.profiling.probes.reach import Position, Reach, reach
from wattslice.profiling.probes.source_text import SourceText

IN_CONSTEXPR = "in a constexpr function, which the compiler may evaluate"
NO_ROOM = "in a place where no counter can be written"
NOT_IN_PLACE = "in a file that no #include names as it is"


def emit_probes(
    path: Path, options: ParseOptions | None = None, in_place: re.Pattern[bytes] | None = None
) -> InstrumentedSource:
    """The program of `path` with a counter on every arm of every branch that its kernels come to.

    Nothing is run. Lines keep their numbers, in `#line` and in what a compiler says. Branches that
    macros write are not counted; `not_probed` has them. Headers that hold `in_place` take the place of the
    line that includes them, as those with counters do. Raises `FrontendError` for a file that cannot be
    read, `ProbeError` for one without kernels.
    """
    unit = parse_cuda(path, options)
    if unit.recovered.including_file is not None:
        file = unit.recovered.including_file
        raise ProbeError("is a part of another file", path=path, remedy=f"instrument {file}")
    program = lower_program(unit)
    files = IncludedFiles(unit, (options or ParseOptions()).include_dirs, in_place)
    found = reach(unit, program, lambda file: files.text(file) is not None)
    if not found.kernels:
        raise ProbeError("has no kernel that could be read", path=path, remedy="name the file of the kernels")
    writer = BranchWriter(found.kernels)
    with deep_recursion():
        for function in found.functions:
            if not function.is_constexpr:
                writer.function, writer.text = function, _text_of(files, function.body)
                instrument(writer)
    if writer.needs_kernel:
        for function in found.functions:
            if function.is_kernel:
                _begin(files, function.body, f"wattslice_probes::kernel() = {function.kernels[0]};")
    if found.main is not None:
        _begin(files, found.main, "wattslice_probes::Reporter wattsliceReporter;")
    body = files.edited()
    sha256 = hashlib.sha256(unit.source).hexdigest()
    probes = tuple(writer.probes)
    return InstrumentedSource(
        str(path),
        "".join(
            (
                _filled("before.cuh", KERNELS=len(found.kernels), COUNTERS=max(1, writer.counters)),
                f"#line 1 {_quoted(str(path))}\n",
                body,
                _filled(
                    "after.cuh",
                    ROWS=_rows(probes, found.kernels, writer.counters),
                    FILE=_quoted(str(path))[1:-1],
                    SHA256=sha256,
                    INSTANCE="" if found.main is not None else "static Reporter reporter;\n",
                ),
            )
        ),
        sha256,
        found.kernels,
        probes,
        tuple(sorted({*writer.not_probed, *_missing(found, writer)})),
        unit.recovered.found_includes,
    )


def _rows(probes: tuple[Probe, ...], kernels: tuple[str, ...], counters: int) -> str:
    rows: list[str] = []
    for probe in probes:
        branch = f"{probe.line}\\t{probe.column}\\t{probe.kind.value}\\t{','.join(probe.arms)}"
        for number, kernel in enumerate(kernels):
            if kernel in probe.kernels:
                first = number * counters + probe.first
                rows.append(
                    f'    {{{_quoted(probe.file)} "\\t{kernel}\\t{branch}", {first}, {probe.counters}}},\n'
                )
    return "".join(rows)


def _missing(found: Reach, writer: BranchWriter) -> Iterator[NotProbed]:
    """The branches of the kernels that nothing counts, and that the writer does not know of."""
    known = {Position(probe.file, probe.line, probe.column) for probe in writer.probes}
    known |= {Position(one.file, one.line, one.column) for one in writer.not_probed}
    written = {str(function.body.start.path) for function in found.functions}
    for branch in found.branches - known:
        reason = NO_ROOM
        if branch.file not in written:
            reason = NOT_IN_PLACE
        elif any(function.is_constexpr and function.holds(branch) for function in found.functions):
            reason = IN_CONSTEXPR
        yield NotProbed(branch.file, branch.line, branch.column, reason)


def _begin(files: IncludedFiles, body: Node, text: str) -> None:
    """Write `text` at the start of a function's body."""
    source, start = _text_of(files, body), body.start
    if source.plain[start.offset : start.offset + 1] != b"{":
        raise ProbeError(
            "a macro writes this function, so that no counters can be written into it",
            path=start.path,
            line=start.line,
            remedy="write it out, or use --data",
        )
    source.close(start.offset + 1, f" {text}")


def _text_of(files: IncludedFiles, body: Node) -> SourceText:
    path = body.start.path
    text = None if path is None else files.text(path)
    assert text is not None, "functions of other files are not reached"
    return text


def _filled(name: str, **values: object) -> str:
    text = (files("wattslice.profiling.probes") / "instrumentation" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_INCLUDE = regex(rb'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)[^\n]*', re.MULTILINE)
_ONCE = regex(rb"^[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*", re.MULTILINE)


class _Include(Struct, frozen=True):
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
