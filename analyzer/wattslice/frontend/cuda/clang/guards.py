"""A look at the bytes before libclang does: files that are no source text, nesting no compiler survives."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from wattslice.errors import EmptyFileError, FrontendError
from wattslice.frontend.inputs import file_bytes, note_text
from wattslice.patterns import regex

_MOST_BYTES = 4 << 20
_MOST_NESTING = 2_000
_OPEN, _CLOSE = frozenset(b"([{"), frozenset(b")]}")
_UNINTERESTING = bytes(sorted(set(range(256)) - _OPEN - _CLOSE - {10}))
_COMMENT = regex(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ALL_SEMICOLONS = bytes.maketrans(b"{}", b";;")
# A statement that is the body of another one without braces around it.
_NESTED = regex(rb"\)\s*(?:for|while|if|do|switch)\b|\b(?:else|do)\b")
# An #include whose name a macro makes may be a pipe or a device, which is read without end.
_MADE_INCLUDE = regex(rb"^[ \t]*#[ \t]*include[a-z_]*[ \t]+[A-Za-z_]", re.MULTILINE)
# Clang calls itself for each of the lines that continue each other.
_MANY_CONTINUED = 1_000
_CONTINUED = regex(rb"(?:\\[ \t]*+\r?+\n){%d}" % _MANY_CONTINUED)
# {[100000000] = 1} makes clang write down all elements before.
_FAR_ELEMENT = regex(rb"[{,]\s*\[[^\]\n]*(?:\d{6}|<<|\*|[eE]\d|0[xX][\da-fA-F]{5})[^\]\n]*\]\s*=[^=]")
# Directives and empty lines are no statement, however many of them stand in a row.
_DIRECTIVE = regex(rb"^\s*(?:#[^\n]*)?\n", re.MULTILINE)
_ELSE_IF = regex(rb"\belse\b")
_OPERATORS = b"+-*/%&|^!~?<>="
_MANY_OPERATORS, _MANY_NESTED, _MANY_ELSES = 1_500, 500, 1_500
# Bytes of a statement, and of it between two commas. A long table of numbers is no deep expression.
_LONG_STATEMENT, _LONG_PART = 30_000, 5_000


def read_source(path: Path) -> bytes:
    """The bytes of a source file. Raises `FrontendError` when it cannot be read."""
    try:
        if path.is_dir():
            raise FrontendError(path, None, "is a folder", "name a .cu file")
        if not path.exists():
            raise FrontendError(path, None, "no such file", "check the path")
        if not path.is_file():
            raise FrontendError(path, None, "is not a regular file", "name a .cu file")
        if path.stat().st_size > _MOST_BYTES:
            raise _too_large(path)
        source = file_bytes(path, _MOST_BYTES)
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise FrontendError(
            path, None, f"cannot be read: {reason}", "check the file's permissions"
        ) from error
    note_text(path, source)
    return source


def check_source(path: Path, source: bytes) -> None:
    """Raises `FrontendError` for anything that cannot be CUDA source, or that no compiler survives."""
    if len(source) > _MOST_BYTES:
        raise _too_large(path)
    _check_text(path, source)
    _check_nesting(path, source)


def _too_large(path: Path) -> FrontendError:
    return FrontendError(
        path, None, f"is larger than {_MOST_BYTES >> 20} MiB", "analyze the kernels' own source files"
    )


def _check_text(path: Path, source: bytes) -> None:
    if source.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FrontendError(path, 1, "is UTF-16 text", "save it as UTF-8")
    if b"\0" in source:
        line = source.count(b"\n", 0, source.index(b"\0")) + 1
        raise FrontendError(path, line, "holds NUL bytes: a binary file?", "name a CUDA source file")
    if not source.strip():
        raise EmptyFileError(path, None, "is empty", "name a file that defines a __global__ function")
    try:
        source.decode("utf-8")
    except UnicodeDecodeError as error:
        # A few Latin-1 letters in comments are common in old sources, and clang reads past them.
        foreign = sum(byte >= 0x80 for byte in source)
        if foreign > len(source) // 10:
            line = source.count(b"\n", 0, error.start) + 1
            raise FrontendError(path, line, "is not UTF-8 text", "save it as UTF-8") from error


def _check_nesting(path: Path, source: bytes) -> None:
    """Refuse absurd nesting. Comments and strings count too, which only matters at absurd depths."""
    if sum(map(source.count, (b"(", b"[", b"{"))) <= _MOST_NESTING:
        return
    depth = 0
    line = 1
    for byte in source.translate(None, _UNINTERESTING):
        if byte in _OPEN:
            depth += 1
            if depth > _MOST_NESTING:
                raise FrontendError(
                    path, line, f"brackets nest more than {_MOST_NESTING} deep", "split the expression"
                )
        elif byte in _CLOSE:
            depth = max(0, depth - 1)
        else:
            line += 1


def may_exhaust_stack(source: bytes) -> bool:
    """Whether a text may exhaust clang's stack, which kills the process, or never end: one statement holds so
    many operators, or one stretch without braces so many nested statements (measured: 3 000 prefix operators
    or template brackets, 2 500 casts, 1 400 `sizeof`, 25 000 commas, 6 000 labels, 5 000 nested loops, 10 000
    `else if`); an #include names what only clang knows, an
    initializer a far element; or lines without anything continue each other. True means: try in a process of
    its own first.
    """
    return (_of_small_text if len(source) <= _SMALL_BYTES else _of_text)(source)


def _of_text(source: bytes) -> bool:
    if _MADE_INCLUDE.search(source) or _FAR_ELEMENT.search(source):
        return True
    if source.count(b"\\") >= _MANY_CONTINUED and _CONTINUED.search(source):
        return True
    if not (_is_deep(source) or _is_long(source)):
        return False
    code = _COMMENT.sub(b"", source)
    return _is_deep(code) or _is_long(_DIRECTIVE.sub(b"", code))


_SMALL_BYTES = 1 << 18
_of_small_text = lru_cache(maxsize=64)(_of_text)
"""Many files include the same headers."""


def _is_deep(source: bytes) -> bool:
    if source.count(b"else") > _MANY_ELSES and len(_ELSE_IF.findall(source)) > _MANY_ELSES:
        return True
    for statement in _statements(source, _MANY_OPERATORS):
        # Between commas: a long table of negative numbers is no deep expression.
        parts = statement.split(b",")
        if statement.count(b"<") > _MANY_OPERATORS or any(_operators(p) > _MANY_OPERATORS for p in parts):
            return True
    return any(
        len(stretch) > 3 * _MANY_NESTED and len(_NESTED.findall(stretch)) > _MANY_NESTED
        for stretch in source.replace(b"}", b"{").split(b"{")
    )


def _statements(source: bytes, longer_than: int) -> list[bytes]:
    """What stands between semicolons and braces."""
    statements = source.translate(_ALL_SEMICOLONS).split(b";")
    return [statement for statement in statements if len(statement) > longer_than]


def _is_long(source: bytes) -> bool:
    return any(
        len(statement) > _LONG_STATEMENT or any(len(part) > _LONG_PART for part in statement.split(b","))
        for statement in _statements(source, _LONG_PART)
    )


def _operators(text: bytes) -> int:
    return len(text) - len(text.translate(None, _OPERATORS)) if len(text) > _MANY_OPERATORS else 0


# ---------------------------------------------------------------------------
# ``k << <grid, block >> > (x)``: launch brackets torn apart by a formatter, and ``k<<<grid, {32, 8}>>>(x)``,
# of which nvcc makes a dim3; ``extern __shared__ float s[32][32]``, whose `extern` it leaves out: clang
# refuses these.


_TORN = regex(rb"<[ \t]*<[ \t]*<(?P<configuration>[^;{}]*?)>[ \t]*>[ \t]*>(?=\s*\()")
_SIZED = regex(rb"\bextern\b(?=[ \t]+__shared__[ \t][^;{}\[\]=]*\[[^;\]]*[\w)][ \t]*\])")
_LAUNCH = regex(rb"<<<(?:(?!<<<|>>>)[^;])*>>>(?=\s*\()")
_BRACE = regex(rb"(?P<before><<<|,)[ \t]?(?P<blanks>\s*)\{")


def as_clang_reads(source: bytes) -> bytes:
    """`source` with such places as clang reads them; everything else stays as it is, and where it is.

    The stubs call dim3 `$`, so that it finds room in the blank before a brace; without a blank, what follows
    in the line is a column further to the right.
    """
    if b"<< <" in source or b"< <<" in source:
        source = _TORN.sub(_joined, source)
    if b"__shared__" in source and b"extern" in source:
        source = _SIZED.sub(lambda found: b" " * len(found[0]), source)
    return _LAUNCH.sub(_constructed, source) if b"<<<" in source else source


def _joined(launch: re.Match[bytes]) -> bytes:
    begin, end = launch.span("configuration")
    opening, closing = begin - launch.start(), launch.end() - end
    return b"<<<".ljust(opening) + launch["configuration"] + b">>>".rjust(closing)


def _constructed(launch: re.Match[bytes]) -> bytes:
    return _BRACE.sub(rb"\g<before>\g<blanks>${", launch[0])
