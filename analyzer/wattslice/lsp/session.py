"""Everything the server knows: the open documents, what was found of them, and the client's wishes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from lsprotocol import types
from msgspec import Struct, field

from wattslice.config.settings import find_settings
from wattslice.errors import WattsliceError
from wattslice.lsp.client_settings import NO_CLIENT_SETTINGS, ClientSettings, Setup, setup_for
from wattslice.lsp.diagnostics import diagnostics_of, failure
from wattslice.lsp.documents import Document, Encoding, LineMap
from wattslice.lsp.settings_files import path_of
from wattslice.lsp.views import Torn, View
from wattslice.lsp.worker import Outcome, Schedule, Task, Worker

_LANGUAGES = {"cuda": ".cu", "cuda-cpp": ".cu", "cudacpp": ".cu", "cu": ".cu", "c": ".c"}
"""What editors call the languages that are analysed, and the suffix of a text that has no file yet."""
_SUFFIXES = (".cu", ".cuh", ".c")
_HEADER = ".cuh"
_KERNEL_MARK = "__global__"
_MOST_MAPS = 7


class Open(Struct, eq=False):
    """An open document: what is shown of it, and what is wrong with its present text.

    `torn`: the kernels that cannot be read in the text of `view`; `kept` shows them as they were.
    `settled`: nothing is under way. `reads`: the files that its figures were made of.
    """

    document: Document
    view: View | None = None
    torn: tuple[Torn, ...] = ()
    kept: tuple[View, ...] = ()
    error: WattsliceError | None = None
    is_saved_text: bool = True
    reads: frozenset[str] = frozenset()
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    _maps: tuple[tuple[View, int, LineMap], ...] = ()

    def lines_of(self, view: View) -> LineMap:
        """Where the lines of a view are now."""
        revision = self.document.revision
        for of, at, known in self._maps:
            if of is view and at == revision:
                return known
        lines = LineMap(view.lines, self.document.lines)
        self._maps = (*self._maps[-_MOST_MAPS:], (view, revision, lines))
        return lines

    def shown(self) -> tuple[View, ...]:
        """The present figures, and those that are kept of earlier texts."""
        return () if self.view is None else (self.view, *self.kept)

    def show(self, view: View) -> None:
        """New figures; for kernels that are being typed in, those of before stay."""
        torn: list[Torn] = []
        kept: list[View] = []
        for before in () if self.is_saved_text else self.shown():
            lost = view.torn_since(before)
            if lost:
                torn += lost
                kept.append(before.only({entry.name for entry in lost}))
        self.view = view.without({entry.name for entry in torn}) if torn else view
        self.torn, self.kept = tuple(torn), tuple(kept)


class Session:
    """Documents in, views out. All methods run on the event loop; only the analyses do not.

    `publish(document, diagnostics)`, `refresh()` and `report(outcome)`, of each analysis, tell the client.
    """

    def __init__(
        self,
        publish: Callable[[Document, list[types.Diagnostic]], None],
        refresh: Callable[[], None],
        report: Callable[[Outcome], None],
    ) -> None:
        self._publish = publish
        self._report = report
        self._refresh = refresh
        self._open: dict[str, Open] = {}
        self.folders: tuple[Path, ...] = ()
        self.client = NO_CLIENT_SETTINGS
        self.encoding: Encoding = types.PositionEncodingKind.Utf16
        self.schedule = Schedule(self._due)
        loop = asyncio.get_running_loop()
        self._worker = Worker(lambda outcome: _hand_over(loop, self._landed, outcome))

    # ---------------------------------------------------------------------------- documents

    def opened(self, item: types.TextDocumentItem) -> None:
        """A document was opened: it is analysed at once."""
        self.closed(item.uri)
        path, is_saved = self._path_of(item)
        document = Document(item.uri, path, item.language_id, item.version, item.text, is_saved=is_saved)
        self._open[item.uri] = Open(document)
        self.schedule.at_once(item.uri)

    def changed(
        self,
        identifier: types.VersionedTextDocumentIdentifier,
        changes: list[types.TextDocumentContentChangeEvent],
    ) -> None:
        """It was edited: what runs for the text of before is called off."""
        found = self._open.get(identifier.uri)
        if found is None:
            return
        found.document.change(identifier.version, changes, self.encoding)
        found.is_saved_text = False
        found.settled.clear()
        for other in (identifier.uri, *self._readers(found.document.path)):
            self._worker.cancel(other)
            self.schedule.edited(other)

    def saved(self, uri: str) -> None:
        """A file was saved: it, and what may include it or be set by it, is analysed anew."""
        if (found := self._open.get(uri)) is not None:
            found.is_saved_text = True
        self.analyze_all()

    def closed(self, uri: str) -> None:
        """It was closed: nothing is kept of it."""
        found = self._open.pop(uri, None)
        if found is None:
            return
        self.schedule.forget(uri)
        self._worker.forget(uri, found.document.path)
        found.settled.set()
        self._publish(found.document, [])
        for other in () if found.is_saved_text else self._readers(found.document.path):
            self.schedule.edited(other)

    def _readers(self, path: Path) -> Iterator[str]:
        """The other open documents whose figures a file decides with. They are not settled any more."""
        for uri, found in self._open.items():
            names = (name for name in found.reads if name.endswith(path.name))
            if found.document.path != path and any(os.path.realpath(n) == str(path.resolve()) for n in names):
                found.settled.clear()
                yield uri

    def analyze_all(self) -> None:
        """Settings or files have changed: everything open is analysed anew."""
        self._worker.look_again()
        for uri, found in self._open.items():
            found.settled.clear()
            self._worker.cancel(uri)
            self.schedule.at_once(uri)

    def configured(self, client: ClientSettings) -> None:
        """The client's settings."""
        if client == self.client:
            return
        self.client = client
        self.schedule.fixed_pause_s = client.pause_s
        self.analyze_all()

    def stop(self) -> None:
        """Begin nothing more."""
        self._worker.stop()

    def get(self, uri: str) -> Open | None:
        """An open document."""
        return self._open.get(uri)

    def _path_of(self, item: types.TextDocumentItem) -> tuple[Path, bool]:
        """The file of a document; for a text without one a name that no file has, in the workspace."""
        if (found := path_of(item.uri)) is not None:
            return found, True
        name = "".join(sign for sign in item.uri.rpartition(":")[2] if sign.isalnum())[:40] or "untitled"
        folder = self.folders[0] if self.folders else Path("/nonexistent")
        return folder / f"{name}.unsaved{_LANGUAGES.get(item.language_id, '')}", False

    # ---------------------------------------------------------------------------- analyses

    def _due(self, uri: str) -> None:
        found = self._open.get(uri)
        if found is None:
            return
        document = found.document
        if not self._is_worth_a_look(document):
            found.view = found.error = None
            found.torn, found.kept = (), ()
            found.settled.set()
            self._tell(found)
            return
        path, client = document.path, self.client

        def configure() -> Setup:
            return setup_for(path, client)

        beside = tuple(
            (other.document.path.resolve(), other.document.text.encode("utf-8", "replace"))
            for other in self._open.values()
            if other is not found and not other.is_saved_text
        )
        self._worker.submit(Task(uri, path, document.lines, document.revision, configure, beside))

    def _is_worth_a_look(self, document: Document) -> bool:
        suffix = document.path.suffix
        if suffix not in _SUFFIXES and document.language not in _LANGUAGES:
            return False
        if not any(line.strip() for line in document.lines):
            return False
        if suffix == _HEADER:
            return any(_KERNEL_MARK in line for line in document.lines)
        # Every function of a C file would do for a kernel: only who uses wattslice there wants to hear of it.
        return suffix != ".c" or self.client.plain_c or _has_settings(document.path)

    def _landed(self, outcome: Outcome) -> None:
        task = outcome.task
        found = self._open.get(task.uri)
        if found is None or task.cancelled.is_set():
            return
        self.schedule.took(task.uri, outcome.seconds)
        self._report(outcome)
        found.error = outcome.error
        found.reads |= frozenset(outcome.reads)  # what was remembered is not read again
        if outcome.analysis is not None:
            found.show(View(outcome.analysis, task.path, task.lines, outcome.budgets))
        if task.revision == found.document.revision:
            found.settled.set()
        self._tell(found)
        self._refresh()

    def _tell(self, found: Open) -> None:
        document, view = found.document, found.view
        told: list[types.Diagnostic] = []
        has_kernels = document.path.suffix == ".cu"  # any other file is in order without one
        if view is not None and (view.kernels or found.kept or has_kernels):
            told = diagnostics_of(view, document, found.lines_of(view), self.encoding, found.torn)
            for kept in found.kept:
                told += diagnostics_of(kept, document, found.lines_of(kept), self.encoding)
        if found.error is not None:
            told.append(failure(found.error, document, self.encoding, is_stale=view is not None))
        self._publish(document, told if self.client.diagnostics else [])


def _has_settings(path: Path) -> bool:
    try:
        return find_settings((path,)).path is not None
    except WattsliceError:
        return True


def _hand_over(loop: asyncio.AbstractEventLoop, land: Callable[[Outcome], None], outcome: Outcome) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(land, outcome)
