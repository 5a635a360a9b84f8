"""One function over many files, or variants of one, on several processes, of this machine or of a cluster.

A process that dies (killed for its memory, or a crash inside libclang) must cost its own item only, but
joblib gives up everything when one dies. So every process leaves a mark while it works on a file; after a
death the marked files are tried again one by one, each alone.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar, cast

from msgspec import Struct

from wattslice.config.config import Execution
from wattslice.config.options import Backend
from wattslice.errors import WattsliceError
from wattslice.pipeline.cache.keeper import program_digest
from wattslice.pipeline.clusters import Lost, check_package, what_failed, workers_of

Item = TypeVar("Item")
Result = TypeVar("Result")
_alone = threading.Lock()
"""A dask worker may run several threads; an analysis changes the recursion limit of the process."""


class _Work(Struct, Generic[Item, Result], frozen=True):
    """What travels to a worker: the function, and what tells the worker that it is in the right place.

    `marks`: a folder for marks. `program`: the digest of the wattslice that asks, empty on this machine.
    """

    task: Callable[[Item], Result]
    folder: str
    marks: str
    program: str

    def __call__(self, number: int, item: Item) -> tuple[int, Result | Lost]:
        if self.program and self.program != program_digest():
            return number, Lost(f"{_here()} runs another version of wattslice, Python or a library")
        mark = Path(self.marks, str(number))
        with contextlib.suppress(OSError):  # the folder may be on another machine
            mark.touch()
        try:
            with _alone:
                if os.getcwd() != self.folder:  # noqa: PTH109
                    os.chdir(self.folder)
                result = self.task(item)
        except OSError as error:
            where = f"{error.strerror}: {error.filename or self.folder}"
            return number, Lost(f"{_here()} does not see the files under the same path: {where}")
        finally:
            with contextlib.suppress(OSError):
                mark.unlink()
        return number, result


def _here() -> str:
    import socket

    return f"the worker on {socket.gethostname()}"


def on_workers(
    task: Callable[[Item], Result],
    items: Sequence[Item],
    workers: Execution,
    lost: Callable[[Item, str], Result],
) -> Iterator[tuple[int, Result]]:
    """(place in `items`, `task(item)`) in the order they are done; `lost(item, why)` where a process died.

    `task` must be picklable and must not raise. Raises `WattsliceError` when there is no such cluster.
    """
    import tempfile  # with all that it imports, not for a single file

    check_package(workers.backend)
    remaining = dict(enumerate(items))
    folder = os.getcwd()  # noqa: PTH109
    program = "" if workers.backend is Backend.LOKY else program_digest()
    with (
        workers_of(workers.backend, workers.jobs, workers.scheduler) as parallel,
        tempfile.TemporaryDirectory(prefix="wattslice-") as marks,
    ):
        work = _Work(task, folder, marks, program)

        def together(numbers: Sequence[int]) -> Generator[tuple[int, Result]]:
            for number, result in parallel(work, [(number, items[number]) for number in numbers]):
                del remaining[number]
                if isinstance(result, Lost):
                    yield number, lost(items[number], result.reason)
                else:
                    yield number, cast("Result", result)

        while remaining:
            try:
                yield from together(_largest_first(remaining))
            except WattsliceError:
                raise
            except Exception as error:  # a process died: loky and ray have an error each for it
                suspects = _marked(Path(marks)) & remaining.keys()
                if not suspects:
                    raise _failed(workers, error) from error
                for number in sorted(suspects):
                    try:
                        yield from together([number])
                    except Exception as again:
                        del remaining[number]
                        yield number, lost(items[number], type(again).__name__)


def _largest_first(remaining: dict[int, Item]) -> list[int]:
    """A long file that begins last keeps everybody waiting; the longest text mostly takes longest. With it go
    the files of its folder: they ask about the same others, which a process remembers for a while.
    """
    sizes: dict[int, int] = {}
    folders: dict[int, str] = {}
    largest: dict[str, int] = {}
    for number, item in remaining.items():
        is_file = isinstance(item, Path)
        folders[number] = folder = str(item.parent) if is_file else ""
        try:
            sizes[number] = item.stat().st_size if is_file else 0
        except OSError:
            sizes[number] = 0
        largest[folder] = max(largest.get(folder, 0), sizes[number])
    return sorted(remaining, key=lambda n: (-largest[folders[n]], folders[n], -sizes[n], n))


def _marked(marks: Path) -> set[int]:
    """The files that somebody was at work on; the marks are wiped away."""
    found: set[int] = set()
    for mark in marks.iterdir():
        found.add(int(mark.name))
        mark.unlink()
    return found


def _failed(workers: Execution, error: Exception) -> WattsliceError:
    return WattsliceError(
        f"the {workers.backend.value} workers failed: {what_failed(error)}",
        remedy="look at their logs; --backend loky needs none of them",
    )
