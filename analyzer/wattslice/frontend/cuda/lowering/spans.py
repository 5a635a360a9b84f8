"""Source spans from raw location numbers: one call into libclang per node instead of seven.

A libclang location outside macros is `base of its file + offset`, so once the base of a file is known, line
and column come from a bisection over its line starts. Locations inside macros (bit 31) go the long way.
"""

from __future__ import annotations

import ctypes as ct
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.libclang import CXSourceLocation, library
from wattslice.frontend.cuda.clang.places import UnitHandle
from wattslice.ir import Span

_MACRO_BIT = 0x8000_0000


@dataclass(slots=True)
class SourceFile:
    """One file as libclang parsed it: `base` is the location number of its first byte."""

    name: str
    base: int
    data: bytes
    line_starts: list[int]
    last: int  # the location number one past its last byte

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """1-based line and column of a byte offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1


class SpanFinder:
    """Turns cursors of one translation unit into spans and source text."""

    def __init__(self, handle: UnitHandle) -> None:
        self._handle = handle
        self._library: Any = library()
        self._extent = self._library.clang_getCursorExtent
        self._files: dict[int, SourceFile] = {}
        self._last: SourceFile | None = None
        self._macros: dict[int, tuple[str, int, int]] = {}
        self._contents = self._library.clang_getFileContents

    def _slow(self, location: CXSourceLocation) -> tuple[int | None, int, int, int]:
        file, line, column, offset = ct.c_void_p(), ct.c_uint(), ct.c_uint(), ct.c_uint()
        self._library.clang_getExpansionLocation(
            location, ct.byref(file), ct.byref(line), ct.byref(column), ct.byref(offset)
        )
        return file.value, line.value, column.value, offset.value

    def _read(self, file: int, base: int) -> SourceFile:
        size = ct.c_size_t()
        address: int | None = self._contents(self._handle.unit, file, ct.byref(size))
        data = ct.string_at(address, size.value) if address else b""
        starts = [0, *accumulate(len(line) + 1 for line in data.split(b"\n")[:-1])]
        path = self._handle.file_name(file)
        return SourceFile("" if path is None else str(path), base, data, starts, base + len(data))

    def _locate(self, range_: Any, number: int, at_end: bool) -> tuple[str, int, int]:  # noqa: ANN401
        last = self._last
        if last is not None and 0 <= number - last.base <= len(last.data):
            return (last.name, *last.line_and_column(number - last.base))
        if number & _MACRO_BIT:
            known = self._macros.get(number)
            if known is not None:
                return known
        else:
            for source in self._files.values():
                if 0 <= number - source.base <= len(source.data):
                    self._last = source
                    return (source.name, *source.line_and_column(number - source.base))
        end = self._library.clang_getRangeEnd if at_end else self._library.clang_getRangeStart
        file, line, column, offset = self._slow(end(range_))
        if file is None:
            return ("", 0, 0)
        path = self._handle.file_name(file)
        name = "" if path is None else str(path)
        if number & _MACRO_BIT:
            self._macros[number] = (name, line, column)
        elif number - offset not in self._files:
            self._last = self._files[number - offset] = self._read(file, number - offset)
        return (name, line, column)

    def span(self, node: Node) -> Span:
        """Where `node` was written; what a macro yields stands where the macro is used. Line 0: nowhere."""
        range_ = self._extent(node.raw)
        begin, end = range_.begin, range_.end
        last = self._last
        if last is not None and last.base <= begin <= end <= last.last:  # the usual case, made short
            starts = last.line_starts
            offset = begin - last.base
            line = bisect_right(starts, offset)
            column = offset - starts[line - 1] + 1
            offset = end - last.base
            if line == len(starts) or offset < starts[line]:
                return Span(last.name, line, column, line)
            return Span(last.name, line, column, bisect_right(starts, offset, line))
        name, line, column = self._locate(range_, begin, False)
        _, end_line, _ = self._locate(range_, end, True)
        return Span(name, line, column, max(line, end_line))

    def source(self, node: Node) -> tuple[SourceFile, int, int] | None:
        """The file and the byte offsets of the node's text; None when it comes out of a macro."""
        range_ = self._extent(node.raw)
        self._locate(range_, range_.begin, False)
        for file in self._files.values():
            if 0 <= range_.begin - file.base <= len(file.data):
                if range_.end & _MACRO_BIT or not 0 <= range_.end - file.base <= len(file.data):
                    return None
                return file, range_.begin - file.base, range_.end - file.base
        return None

    def text(self, node: Node) -> str:
        """The source text of the node; empty when it comes out of a macro."""
        found = self.source(node)
        if found is None:
            return ""
        file, begin, end = found
        return file.data[begin:end].decode("utf-8", "replace")

    def line_text(self, node: Node) -> str:
        """The first source line of the node, from where it starts (for a macro: from its name)."""
        range_ = self._extent(node.raw)
        name, line, column = self._locate(range_, range_.begin, False)
        for file in self._files.values():
            if file.name == name and 0 < line <= len(file.line_starts):
                begin = file.line_starts[line - 1] + column - 1
                end = file.data.find(b"\n", begin)
                return file.data[begin : end if end >= 0 else None].decode("utf-8", "replace")
        return ""
