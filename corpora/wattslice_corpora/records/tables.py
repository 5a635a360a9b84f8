"""Tables of typed rows: a CSV whose columns are the fields of a frozen struct, in their order.

Comment lines (``#``) before the header say where a table comes from. An empty cell is unknown: None.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import Struct, structs

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

_Row = TypeVar("_Row", bound=Struct)

Dim3 = tuple[int, int, int]
"""x, y, z; in a table ``(x,y,z)``."""


class RecordError(ValueError):
    """A table, card or recipe that cannot be used; the message names the file, the place and the fault."""


def read_table(
    path: Path, row_type: type[_Row], fault: Callable[[_Row], str] | None = None, *, by_name: bool = False
) -> tuple[_Row, ...]:
    """All rows of a table; `fault` says what is wrong with a row (empty: nothing).

    `by_name`: the columns stand in any order, those of fields with a default may be missing, and others than
    those of the fields are passed over.

    Raises `RecordError` with file and line (a row cut short, too), and ``OSError`` when unreadable.
    """
    convert = {name: _CONVERT[str(row_type.__annotations__[name])] for name in row_type.__struct_fields__}
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets begin with a byte order mark
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}: not UTF-8 text ({error.reason})") from None
    lines = text.splitlines()
    if text and not text.endswith("\n"):
        raise RecordError(f"{path}:{len(lines)}: the last line is cut short")
    skipped = 0
    while skipped < len(lines) and lines[skipped].startswith("#"):
        skipped += 1
    reader = _cells(path, csv.reader(lines[skipped:]))
    nothing: list[str] = []
    header = next(reader, (0, nothing))[1]
    if by_name:
        _check_columns(f"{path}:{skipped + 1}", header, row_type)
    elif header != list(convert):
        raise RecordError(f"{path}:{skipped + 1}: columns must be {','.join(convert)}")
    columns = [(at, name, convert[name]) for at, name in enumerate(header) if name in convert]
    rows: list[_Row] = []
    for number, cells in reader:
        place = f"{path}:{skipped + number}"
        if len(cells) != len(header):
            raise RecordError(f"{place}: {len(cells)} cells instead of {len(header)}: is the row cut short?")
        try:
            row = row_type(**{name: parse(cells[at]) for at, name, parse in columns})
        except ValueError as error:
            raise _named(place, cells, columns) or error from None
        complaint = fault(row) if fault else ""
        if complaint:
            raise RecordError(f"{place}: {complaint}")
        rows.append(row)
    return tuple(rows)


def _check_columns(place: str, header: list[str], row_type: type[Struct]) -> None:
    """Raises `RecordError` where a column is missing that every table needs, or one stands twice."""
    needed = [one.name for one in structs.fields(row_type) if one.required]
    if missing := [name for name in needed if name not in header]:
        raise RecordError(
            f"{place}: without {'column' if len(missing) == 1 else 'columns'} {', '.join(missing)}"
        )
    if twice := [name for name in dict.fromkeys(header) if header.count(name) > 1]:
        raise RecordError(f"{place}: column {twice[0]!r} stands there twice")


def table_text(comments: tuple[str, ...], row_type: type[_Row], rows: tuple[_Row, ...]) -> str:
    """A table that `read_table` reads back exactly (numbers with full precision)."""
    names = row_type.__struct_fields__
    text = io.StringIO()
    text.writelines(f"# {' '.join(comment.split())}\n" for comment in comments)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow(_text(name, getattr(row, name)) for name in names)
    return text.getvalue()


def write_table(path: Path, comments: tuple[str, ...], row_type: type[_Row], rows: tuple[_Row, ...]) -> None:
    """Write a table, in the order of `rows`. Raises `RecordError` for what would not read back."""
    write_text(path, table_text(comments, row_type, rows))


def write_text(path: Path, text: str) -> None:
    """The old file stays whole until the new one is: also when the disk is full or the process is killed."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def sha256(*paths: Path) -> str:
    """Hash of the contents of `paths`, in order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _cells(path: Path, reader: CsvReader) -> Iterator[tuple[int, list[str]]]:
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise RecordError(f"{path}: not a table ({error})") from None


def _named(
    place: str, cells: list[str], columns: list[tuple[int, str, Callable[[str], object]]]
) -> RecordError | None:
    """What to say of the first cell that is none of its column."""
    for at, name, parse in columns:
        try:
            parse(cells[at])
        except ValueError as error:
            return RecordError(f"{place}: column {name!r}: {error}")
    return None


def _text(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RecordError(f"column {name!r}: {value} is no number to write")
        return repr(float(value))
    if isinstance(value, tuple):
        return f"({','.join(str(part) for part in cast('Dim3', value))})"
    text = str(value)
    if text != " ".join(text.split()):
        raise RecordError(f"column {name!r}: line breaks or spaces to no purpose in {text!r}")
    return text


_LEAST, _MOST = 1e-18, 1e18
"""In whatever unit: sums and squares of what lies beyond have no figure any more."""


def _number(cell: str) -> float:
    value = float(cell)
    if not math.isfinite(value):
        raise ValueError(f"not a finite number: {cell!r}")
    if value and not _LEAST <= abs(value) <= _MOST:
        raise ValueError(f"{cell!r} is no figure of a measurement: beyond {_LEAST:g} to {_MOST:g}")
    return value


def _truth(cell: str) -> bool:
    if cell not in ("true", "false"):
        raise ValueError(f"neither true nor false: {cell!r}")
    return cell == "true"


def _dim3(cell: str) -> Dim3:
    try:
        x, y, z = (int(part) for part in cell.removeprefix("(").removesuffix(")").split(","))
    except ValueError:
        raise ValueError(f"not of the form (x,y,z): {cell!r}") from None
    if not all(1 <= extent < 1 << 31 for extent in (x, y, z)):
        raise ValueError(f"no extents that a launch can have: {cell!r}")
    return x, y, z


def _optional(convert: Callable[[str], object]) -> Callable[[str], object]:
    return lambda cell: convert(cell) if cell else None


_CONVERT: dict[str, Callable[[str], object]] = {
    "str": str,
    "int": int,
    "float": _number,
    "bool": _truth,
    "int | None": _optional(int),
    "float | None": _optional(_number),
    "bool | None": _optional(_truth),
    "Dim3 | None": _optional(_dim3),
}
