"""How a long command shows that it is at work: a bar on a terminal, else a line for every part of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from wattslice.commands.common import message

SLOW_S = 5.0


@contextmanager
def progress(total: int | None) -> Generator[Callable[[str], None]]:
    """Gives what to call, with "part: detail", before each of `total` steps (None: nobody knows how many).

    All of it goes to stderr.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        told: set[str] = set()

        def line(text: str) -> None:
            part = text.partition(":")[0]
            if part not in told:
                told.add(part)
                message(f"{part} ...")

        yield line
        return
    described = TextColumn("{task.description}")
    columns = (
        (TimeElapsedColumn(), described)
        if total is None
        else (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), described)
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = 0

        def tell(text: str) -> None:
            nonlocal begun
            bar.update(task, completed=begun, description=text[:60])
            begun += 1

        yield tell


@contextmanager
def files_progress(total: int) -> Generator[Callable[[Path], None]]:
    """Gives what to call as each of `total` files is done: a bar on stderr, where that is a terminal."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda _path: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda path: bar.update(task, advance=1, description=path.name[:40])


@contextmanager
def told_when_slow() -> Generator[Callable[[str], None]]:
    """Gives what to call when a part begins; its text goes to stderr if the part takes some seconds."""
    timer: Timer | None = None

    def begin(text: str) -> None:
        nonlocal timer
        if timer is not None:
            timer.cancel()
        timer = Timer(SLOW_S, message, (text,))
        timer.daemon = True
        timer.start()

    try:
        yield begin
    finally:
        if timer is not None:
            timer.cancel()
