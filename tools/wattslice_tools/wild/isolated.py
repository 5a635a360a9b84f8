"""Run a function once per item in worker processes with a hard time limit: a crash or hang costs one item."""

from __future__ import annotations

import multiprocessing as mp
import threading
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from msgspec import Struct

Item = TypeVar("Item")
Result = TypeVar("Result")


class Outcome(Struct, Generic[Result], frozen=True):
    """`value`, or `failure`: "exception: ...", "hang: no answer after N s" or "crash: exit code N"."""

    value: Result | None
    failure: str = ""


def run_isolated(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int, limit_s: float
) -> list[Outcome[Result]]:
    """`function(item)` for every item, in their order; `jobs` processes, each reused until it fails."""
    outcomes: list[Outcome[Result]] = [Outcome(None, "not run")] * len(items)
    waiting: SimpleQueue[int] = SimpleQueue()
    for number in range(len(items)):
        waiting.put(number)

    def serve() -> None:
        worker: _Worker[Item, Result] | None = None
        while True:
            try:
                number = waiting.get_nowait()
            except Empty:
                break
            worker = worker or _Worker(function)
            outcomes[number] = worker.ask(items[number], limit_s)
            if not worker.alive:
                worker = None
        if worker is not None:
            worker.stop()

    threads = [threading.Thread(target=serve) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


class _Worker(Generic[Item, Result]):
    """One process that answers items until it is stopped, hangs or dies."""

    def __init__(self, function: Callable[[Item], Result]) -> None:
        context = mp.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(function, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.connection.recv()  # its imports are done: they do not count against the limit
        self.alive = True

    def ask(self, item: Item, limit_s: float) -> Outcome[Result]:
        try:
            self.connection.send(item)
            if self.connection.poll(limit_s):
                return self.connection.recv()
            failure = f"hang: no answer after {limit_s:g} s"
        except (EOFError, OSError):
            self.process.join(5)
            failure = f"crash: exit code {self.process.exitcode}"
        self.alive = False
        self.process.kill()
        self.process.join()
        self.connection.close()
        return Outcome(None, failure)

    def stop(self) -> None:
        self.connection.close()
        self.process.join(5)


def _serve(function: Callable[[Item], Result], connection: Connection) -> None:
    connection.send("ready")
    while True:
        try:
            item = connection.recv()
        except EOFError:
            return
        try:
            connection.send(Outcome(function(item)))
        except Exception as error:  # the very thing to be counted
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
            connection.send(Outcome(None, f"exception: {type(error).__name__}: {error} ({where})"))
