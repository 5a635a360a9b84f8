"""What a campaign has measured so far, on disk so that nothing is lost whenever the process dies.

A line per configuration is appended to ``journal.jsonl`` and forced to disk before the next configuration
starts; its raw trace was written before. Every line carries a checksum: one that was cut short (power loss,
full disk, kill) is known as such, dropped, and its configuration measured again. The tables are made anew
from the journal after every configuration, each appearing whole or not at all.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from msgspec import Struct, to_builtins
from msgspec.structs import asdict

from wattslice_corpora.measuring.errors import MeasureError
from wattslice_corpora.measuring.power import MethodPowers
from wattslice_corpora.measuring.trace import Trace, write_trace
from wattslice_corpora.records import MeasuredRow, write_table

MEASURED_TABLE = "measured.csv"
"""The table of measured runs in the folder of a campaign."""
TRACES = "traces"
"""The folder of raw traces, ``NAME.csv.gz`` each."""
_JOURNAL, _METHODS = "journal.jsonl", "methods.csv"


class Entry(Struct, frozen=True):
    """One measured configuration. `powers`: by every method; None when there was no trace.

    `name`, `version`: of the configuration; a result of another version of it does not count.
    """

    name: str
    version: str
    row: MeasuredRow
    powers: MethodPowers | None


class MethodRow(Struct, frozen=True):
    """A line of ``methods.csv``: the watts of one configuration by every method."""

    name: str
    energy_counter_w: float | None
    mtsm_w: float | None
    sma_w: float | None
    papi_w: float | None


class Journal:
    """``with Journal(folder) as journal``: alone in `folder` until the block ends.

    `identity` tells what all entries have in common (board, seed, timing); a folder of another one is
    refused. Raises `MeasureError` when the folder cannot be used.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        self.dropped = 0
        """Lines found damaged when the journal was opened."""
        self._identity = identity
        self._entries: dict[str, Entry] = {}

    def __enter__(self) -> Journal:
        try:
            (self.folder / TRACES).mkdir(parents=True, exist_ok=True)
            self._file = (self.folder / _JOURNAL).open("a+b", buffering=0)
        except OSError as error:
            raise MeasureError(f"{self.folder}: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise MeasureError(f"{self.folder}: another campaign is writing here") from None
        try:
            self._load()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Everything measured, in the order it was; a configuration measured again stands once, as last."""
        return tuple(self._entries.values())

    def add(self, entry: Entry, trace: Trace | None) -> None:
        """Keeps an entry for good. Raises `MeasureError` when the disk is full; what was there stays."""
        try:
            if trace is not None:
                self._keep_trace(entry.name, trace)
            self._append(_encoded(entry, self._identity))
        except OSError as error:
            raise MeasureError(
                f"{self.folder}: cannot keep the result of {entry.name}: {error.strerror}; "
                "everything measured before is safe: make room and run the same command again"
            ) from None
        self._keep(entry)

    def write_tables(self, comments: tuple[str, ...], plan: tuple[tuple[str, str], ...]) -> Path:
        """``measured.csv`` and ``methods.csv`` anew, rows in the order of `plan`: (name, version) each.

        A result of another version of a planned configuration is left out.

        Returns the first. Raises `MeasureError` when the disk is full; the old tables stay.
        """
        rank = {name: number for number, (name, _) in enumerate(plan)}
        versions = dict(plan)
        current = [one for one in self.entries if versions.get(one.name, one.version) == one.version]
        entries = sorted(current, key=lambda entry: (rank.get(entry.name, len(rank)), entry.name))
        methods = tuple(
            MethodRow(entry.name, **asdict(entry.powers)) for entry in entries if entry.powers is not None
        )
        table = self.folder / MEASURED_TABLE
        try:
            write_table(table, comments, MeasuredRow, tuple(entry.row for entry in entries))
            write_table(self.folder / _METHODS, comments, MethodRow, methods)
        except OSError as error:
            raise MeasureError(f"{table}: cannot be written: {error.strerror}; the journal is safe") from None
        return table

    def _load(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        whole, _, torn = content.rpartition(b"\n")
        lines = whole.split(b"\n") if whole else []
        verified = [values for values in map(_verified, lines) if values is not None]
        if content and not verified:
            raise MeasureError(
                f"{self.folder / _JOURNAL}: not the journal of a campaign; choose another --out"
            )
        for values in verified:
            if values.get("identity") != self._identity:
                raise MeasureError(
                    f"{self.folder}: holds a campaign of another kind ({values.get('identity')} instead of "
                    f"{self._identity}); choose another --out, or the same settings"
                )
        self.dropped = len(lines) - len(verified) + bool(torn)
        if torn:
            self._file.truncate(len(content) - len(torn))
        for values in verified:
            if "name" not in values:
                continue  # the first line only says whose journal this is
            try:
                entry = _decoded(values)
            except (KeyError, TypeError):  # written by a version of wattslice with other columns
                self.dropped += 1
                continue
            self._keep(entry)
        if not content:
            self._append(_checked({"identity": self._identity}))

    def _keep(self, entry: Entry) -> None:
        self._entries.pop(entry.name, None)
        self._entries[entry.name] = entry

    def _append(self, line: bytes) -> None:
        """All of the line, or nothing of it."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:]) or 0
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(end)
            raise

    def _keep_trace(self, name: str, trace: Trace) -> None:
        final = self.folder / TRACES / f"{name}.csv.gz"
        draft = final.with_suffix(".tmp")
        try:
            write_trace(draft, trace)
            draft.replace(final)
        finally:
            draft.unlink(missing_ok=True)


def read_entries(folder: Path) -> tuple[Entry, ...]:
    """What the journal in `folder` holds, whoever wrote it and whoever writes it now; none without one.

    Damaged lines and lines of other columns are left out.
    """
    path = folder / _JOURNAL
    found: dict[str, Entry] = {}
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        values = _verified(line)
        if values is None or "name" not in values:
            continue
        try:
            entry = _decoded(values)
        except (KeyError, TypeError):
            continue
        found.pop(entry.name, None)
        found[entry.name] = entry
    return tuple(found.values())


def _encoded(entry: Entry, identity: str) -> bytes:
    return _checked({"identity": identity, **cast("dict[str, object]", to_builtins(entry))})


def _decoded(values: Mapping[str, Any]) -> Entry:
    row = cast("dict[str, Any]", values["row"])
    for name in MeasuredRow.__struct_fields__:
        if isinstance(row[name], list):  # JSON has no tuples
            row[name] = tuple(cast("list[int]", row[name]))
    powers = None if values["powers"] is None else MethodPowers(**values["powers"])
    return Entry(values["name"], values["version"], MeasuredRow(**row), powers)


def _checked(values: Mapping[str, object]) -> bytes:
    text = json.dumps(values, separators=(",", ":"), allow_nan=False).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def _verified(line: bytes) -> dict[str, Any] | None:
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    return json.loads(text)
