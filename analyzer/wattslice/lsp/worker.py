"""When to analyse, and the one thread that does: the latest text of every document, the rest is dropped."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from wattslice.analysis import Analysis
from wattslice.config.budgets import Budget
from wattslice.config.config import Config
from wattslice.errors import AbandonedError, WattsliceError
from wattslice.lsp.client_settings import Setup
from wattslice.patterns import regex

if TYPE_CHECKING:
    from wattslice.pipeline.incremental import IncrementalAnalyzer


_LONE_CR = regex(r"\r(?!\n)")
"""Ends a line for editors and compilers; the sources of our own are read by LF."""
_MOST_S = 15.0
"""For one analysis: meanwhile nobody hears of other documents."""
_MOST_ANALYZERS = 4
"""Settings in use at once; each has an analyzer that remembers what it has read."""


class Task(Struct, frozen=True, eq=False):
    """One text to analyse. `configure` reads its settings anew and may raise `WattsliceError`.

    `beside`: the other open texts that are not saved yet, each with the file (resolved) that it will be.
    """

    uri: str
    path: Path
    lines: tuple[str, ...]
    revision: int
    configure: Callable[[], Setup]
    beside: tuple[tuple[Path, bytes], ...] = ()
    cancelled: threading.Event = field(default_factory=threading.Event)


class Outcome(Struct, frozen=True, eq=False):
    """What became of a task: an `analysis`, or the `error` that there is none. `seconds` it took,
    `processor_s` of the whole process. `budgets`: those of its settings. `reads`: the files that counted.
    """

    task: Task
    analysis: Analysis | None
    error: WattsliceError | None
    seconds: float
    processor_s: float
    budgets: tuple[Budget, ...] = ()
    reads: tuple[str, ...] = ()


class Worker:
    """Analyses on a thread of its own; `tell` is called on that thread with what is finished."""

    def __init__(self, tell: Callable[[Outcome], None]) -> None:
        self._tell = tell
        self._waiting: dict[str, Task] = {}
        self._closed: list[Path] = []
        self._running: Task | None = None
        self._stopped = False
        self._makes_way = False
        self._files_changed = False
        self._changed = threading.Condition()
        self._analyzers: list[tuple[Config, IncrementalAnalyzer]] = []
        self._abandoned: dict[str, tuple[Config, str, AbandonedError]] = {}
        # A daemon: an analysis that hangs in a parser must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="analysis", daemon=True)
        self._thread.start()

    def submit(self, task: Task) -> None:
        """Analyse this text, and no earlier one of the same document; what runs for another one waits."""
        with self._changed:
            self._drop(task.uri)
            self._waiting[task.uri] = task
            self._makes_way = self._running is not None
            self._changed.notify()

    def cancel(self, uri: str) -> None:
        """Nobody wants the document's texts of before any more."""
        with self._changed:
            self._drop(uri)

    def forget(self, uri: str, path: Path) -> None:
        """The document has been closed."""
        with self._changed:
            self._drop(uri)
            self._closed.append(path)
            self._changed.notify()

    def look_again(self) -> None:
        """Files have changed: what is known of folders is no longer believed."""
        self._files_changed = True

    def stop(self) -> None:
        """Begin nothing more."""
        with self._changed:
            self._stopped = True
            for uri in [*self._waiting, *([self._running.uri] if self._running else [])]:
                self._drop(uri)
            self._changed.notify()

    def _drop(self, uri: str) -> None:
        if (task := self._waiting.pop(uri, None)) is not None:
            task.cancelled.set()
        if self._running is not None and self._running.uri == uri:
            self._running.cancelled.set()

    def _run(self) -> None:
        import_module("wattslice.pipeline.incremental")
        while (task := self._next()) is not None:
            outcome = self._analyze(task)
            with self._changed:
                self._running = None
                if outcome is None and not task.cancelled.is_set():  # what it has found so far is remembered
                    self._waiting = {task.uri: task, **self._waiting}
            if outcome is not None and not task.cancelled.is_set():
                self._tell(outcome)

    def _next(self) -> Task | None:
        with self._changed:
            while True:
                for path in self._closed:
                    for _, analyzer in self._analyzers:
                        analyzer.forget(path)
                self._closed.clear()
                if self._stopped:
                    return None
                if self._waiting:
                    uri = next(reversed(self._waiting))  # what is being typed in came last
                    self._running = self._waiting.pop(uri)
                    self._makes_way = False
                    return self._running
                self._changed.wait()

    def _analyze(self, task: Task) -> Outcome | None:
        """None when it was cancelled, or made way for another one."""
        from wattslice.frontend import source_files
        from wattslice.frontend.inputs import reading_open_texts, recorded
        from wattslice.pipeline.incremental import CancelledError

        if self._files_changed:
            self._files_changed = False
            source_files.look_again()
        analysis: Analysis | None = None
        error: WattsliceError | None = None
        budgets: tuple[Budget, ...] = ()
        started, processor_s = time.perf_counter(), time.process_time()
        reads: tuple[str, ...] = ()
        try:
            setup = task.configure()
            budgets = setup.budgets
            with recorded() as recording, reading_open_texts(task.beside):
                analysis = self._analysis(task, setup.config)
            reads = recording.paths
        except CancelledError:
            return None
        except WattsliceError as failure:
            error = failure
        except Exception as failure:  # a defect on one text must not end the thread
            error = WattsliceError(f"internal error: {type(failure).__name__}: {failure}")
        seconds, processor_s = time.perf_counter() - started, time.process_time() - processor_s
        return Outcome(task, analysis, error, seconds, processor_s, budgets, reads)

    def _analysis(self, task: Task, config: Config) -> Analysis:
        """A text that was abandoned once is not tried again."""
        text = _LONE_CR.sub("\n", "".join(task.lines))
        known = self._abandoned.pop(task.uri, None)
        if known is not None and known[:2] == (config, text):
            self._abandoned[task.uri] = known
            raise known[2]
        analyzer = self._analyzer(config)
        try:
            return analyzer.analyze(task.path, text, lambda: self._makes_way or task.cancelled.is_set())
        except AbandonedError as error:
            analyzer.forget(task.path)  # it was stopped amidst of whatever it did
            self._abandoned[task.uri] = (config, text, error)
            raise

    def _analyzer(self, config: Config) -> IncrementalAnalyzer:
        for number, (known, analyzer) in enumerate(self._analyzers):
            if known == config:
                self._analyzers.append(self._analyzers.pop(number))
                return analyzer
        from wattslice.pipeline.incremental import IncrementalAnalyzer

        analyzer = IncrementalAnalyzer(config, _MOST_S)
        self._analyzers = [*self._analyzers[1 - _MOST_ANALYZERS :], (config, analyzer)]
        return analyzer


LEAST_S, MOST_S = 0.03, 0.5
"""Bounds of the pause that is waited for: less starts one for every key of a word, more feels slow."""


class Schedule:
    """One timer per document. `due` is called with its uri, on the event loop, when it is to be analysed."""

    def __init__(self, due: Callable[[str], None]) -> None:
        self._due = due
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._took_s: dict[str, float] = {}
        self.fixed_pause_s: float | None = None

    def pause_s(self, uri: str) -> float:
        """What is waited for after an edit: half of what the last analysis took, within bounds."""
        if self.fixed_pause_s is not None:
            return self.fixed_pause_s
        return min(MOST_S, max(LEAST_S, 0.5 * self._took_s.get(uri, 0.0)))

    def edited(self, uri: str) -> None:
        """The document has changed under somebody's hands."""
        self._start(uri, self.pause_s(uri))

    def at_once(self, uri: str) -> None:
        """It was opened or saved, or its settings were."""
        self._start(uri, 0.0)

    def _start(self, uri: str, delay_s: float) -> None:
        self.drop(uri)
        self._timers[uri] = asyncio.get_running_loop().call_later(delay_s, self._fire, uri)

    def _fire(self, uri: str) -> None:
        self._timers.pop(uri, None)
        self._due(uri)

    def took(self, uri: str, seconds: float) -> None:
        """How long its analysis took."""
        self._took_s[uri] = seconds

    def drop(self, uri: str) -> None:
        """Nothing is due any more."""
        if (timer := self._timers.pop(uri, None)) is not None:
            timer.cancel()

    def forget(self, uri: str) -> None:
        """The document has been closed."""
        self.drop(uri)
        self._took_s.pop(uri, None)
