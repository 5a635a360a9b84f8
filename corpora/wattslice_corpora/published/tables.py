"""Tables printed in papers: CSV files that start with ``# Source: ...`` and perhaps more comment lines."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct


class PublishedTableError(ValueError):
    """A table that lacks its source line or a column, or holds text where a number belongs."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line


class PublishedRow(Struct, frozen=True):
    """One row: its cells as printed, and where it stands."""

    path: Path
    line: int
    cells: dict[str, str]

    def text(self, column: str) -> str:
        """A cell. Raises `PublishedTableError` when it is missing or empty."""
        cell = self.cells.get(column)
        if not cell:
            raise PublishedTableError(self.path, self.line, f"column {column!r} is missing or empty")
        return cell

    def number(self, column: str) -> float:
        """A number, ``4.2%`` as 0.042. Raises `PublishedTableError` when the cell holds none."""
        cell = self.text(column)
        try:
            return float(cell.removesuffix("%")) / 100 if cell.endswith("%") else float(cell)
        except ValueError:
            raise PublishedTableError(self.path, self.line, f"{column!r} is not a number: {cell!r}") from None

    def maybe(self, column: str) -> float | None:
        """A number, None for an empty cell. Raises `PublishedTableError` for anything else."""
        return self.number(column) if self.cells.get(column) else None


def table_source(path: Path) -> str:
    """The source of a table: its first line, ``# Source: ...``. Raises `PublishedTableError` without one."""
    with path.open(encoding="utf-8") as file:
        first = file.readline()
    if not first.startswith("# Source: "):
        raise PublishedTableError(path, 1, "a published table starts with a line '# Source: ...'")
    return first.removeprefix("# Source: ").strip()


def table_rows(path: Path) -> Iterator[PublishedRow]:
    """The rows below the header. Raises `PublishedTableError` for a table without source."""
    table_source(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    skipped = next((index for index, line in enumerate(lines) if not line.startswith("#")), len(lines))
    reader = csv.DictReader(lines[skipped:])
    for cells in reader:
        yield PublishedRow(path, skipped + reader.line_num, cells)


def numbers_by(path: Path, column: str) -> Callable[[str, str], float]:
    """Looks up numbers of a table whose rows are named in `column`: of a row, in a column.

    Raises `PublishedTableError` for a damaged table, also when a number is looked up that is not there.
    """
    rows = {row.text(column): row for row in table_rows(path)}

    def number(row: str, in_column: str) -> float:
        if row not in rows:
            raise PublishedTableError(path, 1, f"no row whose {column} is {row!r}")
        return rows[row].number(in_column)

    return number
