"""What the ways of measuring share on the command line: folder, errors, progress."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wattslice.commands.common import message
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice_corpora.measuring.campaign import Progress
    from wattslice_corpora.measuring.journal import Journal


@contextmanager
def result_folder(out: Path | None) -> Generator[Path]:
    """`out`, or a folder that is gone afterwards."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="wattslice-") as temporary:
        yield Path(temporary)


@contextmanager
def errors_told() -> Generator[None]:
    """What measuring raises becomes an error of the command."""
    from wattslice_corpora.measuring.errors import ConfigurationError, MeasureError

    try:
        yield
    except (MeasureError, ConfigurationError) as error:
        raise WattsliceError(str(error)) from None
    except OSError as error:
        path = Path(error.filename) if isinstance(error.filename, str) else None
        raise WattsliceError(error.strerror or str(error), path=path, remedy="choose another --out") from None


def tell_found(journal: Journal) -> None:
    """Says what the folder holds already."""
    if journal.entries:
        message(f"{journal.folder}: {len(journal.entries)} configurations measured before, going on")
    if journal.dropped:
        message(f"{journal.folder}: {journal.dropped} damaged lines dropped, measured again")


@contextmanager
def progress(total: int) -> Generator[Callable[[Progress], None]]:
    """A bar with the remaining time on a terminal, else a line per configuration; both on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    from wattslice import units

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda progress: message(
            f"{progress.done}/{progress.total} {progress.name}: "
            f"{progress.row.reason or units.power(progress.row.power_w)}, {progress.remaining_s:.0f} s left"
        )
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("building", total=total, left="")

        def tell(progress: Progress) -> None:
            minutes, seconds = divmod(round(progress.remaining_s), 60)
            bar.update(
                task,
                completed=progress.done,
                left=f"{minutes}:{seconds:02} left",
                description=f"{progress.name} {units.power(progress.row.power_w)}",
            )

        yield tell
