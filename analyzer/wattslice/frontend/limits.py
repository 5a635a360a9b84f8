"""An end for the analysis of a file that would have none: seconds of the processor, and memory."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from wattslice.errors import AbandonedError
from wattslice.frontend.inputs import note_unrepeatable

MOST_S = 60.0
"""Of the processor, in the thread that analyses."""
MOST_BYTES = 2 << 30
"""That the process may grow by meanwhile."""
_LOOK_S = 0.2
_AGAIN_S = 2.0

REMEDY = "split the file, or its largest kernel; look for macros and templates that multiply"

Item = TypeVar("Item")
Result = TypeVar("Result")


class _LimitReachedError(BaseException):
    """Raised in the thread that analyses, wherever it is: nobody on the way takes it for a defect."""


def resident_bytes() -> int:
    """Memory that this process uses now; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123  (many times a second)
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError, IndexError):
        return 0


_lost: set[int] = set()
"""Threads in which that was raised where C code called Python, which drops what is raised there."""


def raise_lost() -> None:
    """Raise what was dropped on its way through C code in this thread: its result is not whole."""
    if _lost and threading.get_ident() in _lost:
        _lost.discard(threading.get_ident())
        raise _LimitReachedError


class Watch:
    """Looks at a thread until `end`; raises in it when a limit is reached, again if somebody caught it.

    `reason`: which limit was reached.
    """

    def __init__(self, most_s: float) -> None:
        self.reason = ""
        self._most_s = most_s
        self._thread_id = threading.get_ident()
        self._begun_bytes = resident_bytes()
        self._clock = _processor_clock(self._thread_id)
        self._begun_s = self._clock()
        self._ended = threading.Event()
        self._raising = threading.Lock()
        _lost.discard(self._thread_id)
        self._told = sys.unraisablehook
        self._note = self._note_dropped
        sys.unraisablehook = self._note
        threading.Thread(target=self._look, name="limits", daemon=True).start()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            if self._clock() - self._begun_s > self._most_s:
                self.reason = f"its analysis takes longer than {self._most_s:g} s"
            elif resident_bytes() - self._begun_bytes > MOST_BYTES:
                self.reason = f"its analysis takes more than {MOST_BYTES / (1 << 30):g} GiB of memory"
            else:
                continue
            with self._raising:
                if not self._ended.is_set():
                    _raise_in(self._thread_id, _LimitReachedError)
            self._ended.wait(_AGAIN_S)

    def _note_dropped(self, dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is _LimitReachedError:
            _lost.add(threading.get_ident())
        else:
            self._told(dropped)

    def as_far_as_possible(self, make: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """What `make` gives for each of `items`; of the first ones where a limit is reached, then no result
        of the file is kept. What comes after is not watched any more.
        """
        made: list[Result] = []
        try:
            try:
                for item in items:
                    made.append(make(item))  # noqa: PERF401  (what is there stays)
            finally:
                self.end()
        except _LimitReachedError:
            self.end()
        if len(made) < len(items):
            note_unrepeatable()
        return made

    def end(self) -> None:
        """Nothing is raised any more."""
        with self._raising:
            self._ended.set()
            if self.reason:
                _raise_in(self._thread_id, None)  # what has not yet arrived
            _lost.discard(self._thread_id)
            if sys.unraisablehook is self._note:
                sys.unraisablehook = self._told


def _processor_clock(thread_id: int) -> Callable[[], float]:
    try:
        clock = time.pthread_getcpuclockid(thread_id)
    except (AttributeError, OSError):  # not on every system
        return time.process_time
    return lambda: time.clock_gettime(clock)


def _raise_in(thread_id: int, error: type[BaseException] | None) -> None:
    what = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread_id), what)


def limited(path: Path, analyze: Callable[[Watch], Result], most_s: float) -> Result:
    """What `analyze` gives. Raises `AbandonedError` when it takes too long or too much memory."""
    watch = Watch(most_s)
    try:
        try:
            return analyze(watch)
        finally:
            watch.end()
    except _LimitReachedError:
        watch.end()
        note_unrepeatable()
        raise AbandonedError(path, None, watch.reason, REMEDY) from None
