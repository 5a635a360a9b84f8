"""When to analyse: once the typing pauses, and what is running for an older text is called off at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

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
