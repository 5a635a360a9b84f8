"""What commands write: results, messages, progress; and the options that say where and how."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from wattslice.commands.streams import StdoutError, flush, is_closed, writing
from wattslice.errors import WattsliceError, of_system
from wattslice.pipeline.cache.answers import heard
from wattslice.units import printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from wattslice.analysis import Analysis
    from wattslice.findings.findings import Finding

Command = TypeVar("Command", bound=Callable[..., int])
FILE = click.Path(path_type=Path)
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
"""How every command has its help."""
SLOW_S = 5.0
SLOW_BAR_S = 2.0


def gpu_names(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[str]:
    """What a shell may offer for `--gpu`."""
    from wattslice_models.gpu import gpu_ids

    return [name for name in gpu_ids() if name.startswith(incomplete)]


def output_option(command: Command) -> Command:
    """Add `-o FILE`."""
    return click.option("-o", "output", type=FILE, metavar="FILE", help="Write the report there.")(command)


def format_option(*formats: str, help: str = "How to report.") -> Callable[[Command], Command]:  # noqa: A002
    """Add `--format`, text by default."""
    return click.option(
        "--format", "report_format", type=click.Choice(formats), default="text", show_default=True, help=help
    )


def message(text: str) -> None:
    """Tell the user something on stderr, on one line whatever files are called; stdout is for results."""
    line = f"wattslice: {printable(text)}"
    click.echo(line, err=True)
    heard(f"{line}\n")


def write_report(
    report_format: str,
    analysis: Analysis,
    findings: tuple[Finding, ...],
    output: Path | None,
    status: int | None = None,
) -> None:
    """Write a result in one of `report.formats.FORMATS`, as `write_result` does; for the rest see `render`.

    The format `github` also appends to the summary of the step, where GitHub names its file.
    """
    from wattslice.report.formats import not_suppressed, render

    if report_format == "text":  # as wide and as coloured as the terminal is
        from wattslice.report.text import write_text

        write_result(lambda file: write_text(analysis, file), output)
        return
    write_result(render(report_format, analysis, findings, status), output)
    if report_format == "github":
        _summarize_step(analysis, not_suppressed(findings))


def _summarize_step(analysis: Analysis, findings: tuple[Finding, ...]) -> None:
    """Append to the file that GitHub shows beside the step. It is an extra: a failure is told, no more."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    from wattslice.report.ci.github import SUMMARY_BYTES, step_summary

    path = Path(name)
    try:
        taken = path.stat().st_size if path.exists() else 0
        summary = step_summary(analysis, findings, SUMMARY_BYTES - taken)
        with path.open("a", encoding="utf-8") as file:
            file.write(summary)
    except OSError as error:
        message(f"the step summary could not be written: {error.strerror or error}")


def write_result(result: str | Callable[[TextIO], None], output: Path | None = None) -> None:
    """Write a text, or what renders it, to stdout, or to a file that appears complete or not at all.

    A text ends its last line if it does not do so itself. Raises `WattsliceError`, `StdoutError`.
    """

    def render(file: TextIO) -> None:
        if isinstance(result, str):
            click.echo(result, file, nl=not result.endswith("\n"))
        else:
            result(file)

    if output is None:
        if is_closed():
            raise StdoutError("it is closed")
        with writing():
            render(sys.stdout)
        flush()
        return
    buffer = StringIO()
    render(buffer)
    try:
        _replace(output.resolve(), buffer.getvalue())
    except OSError as error:
        raise of_system(error, "cannot be written", output, "choose another -o") from None


_PICTURES = (".svg", ".png")


def pictures_and_report(outputs: tuple[Path, ...]) -> tuple[tuple[Path, ...], Path | None]:
    """What `-o` names: pictures, by their suffix, and the file for the report. Raises `WattsliceError`."""
    pictures = tuple(path for path in outputs if path.suffix.lower() in _PICTURES)
    reports = [path for path in outputs if path not in pictures]
    if len(reports) > 1:
        raise WattsliceError("-o: two files for one report", remedy="one file, and pictures .svg or .png")
    check_pictures(pictures)
    return pictures, reports[0] if reports else None


def check_pictures(pictures: tuple[Path, ...]) -> None:
    """Raises `WattsliceError` for a path that is no picture, and where pictures cannot be made."""
    for path in pictures:
        if path.suffix.lower() not in _PICTURES:
            raise WattsliceError("no kind of picture", path=path, remedy="a name that ends in .svg or .png")
    if pictures:
        from wattslice.report.pictures import check

        check()


def draw_pictures(draw: Callable[..., None], pictures: tuple[Path, ...]) -> None:
    """Call `draw` with the paths. Raises `WattsliceError` for one that cannot be written."""
    try:
        draw(*pictures)
    except OSError as error:
        raise of_system(error, "cannot be written", None, "choose another -o") from None


def _replace(target: Path, text: str) -> None:
    from wattslice_corpora.records import write_text

    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
        target.write_text(text, encoding="utf-8", errors="replace")
        return
    # A file name need not be UTF-8, and must not spoil the report it stands in.
    write_text(target, text.encode(errors="replace").decode())


class Steps:
    """What a command tells of its steps as it goes; `bar` None: nobody is told."""

    def __init__(self, bar: Progress | None, total: int, what: str, *, begins: bool) -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task(what if total == 1 else "", total=total)
        self._done = -1 if begins else 0

    def __call__(self, text: str) -> None:
        """A step ends, or begins where all are told when they begin; `text` in a few words."""
        self._done += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, description=text[:_WORDS])

    def under_way(self, text: str) -> None:
        """What is worked on from now on."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=text[:_WORDS])


_WORDS = 60


@contextmanager
def progress(total: int, what: str = "", *, begins: bool = False) -> Generator[Steps]:
    """Gives what to call as each of `total` steps ends (`begins`: begins).

    On a terminal a bar appears on stderr, with the time that remains, once it all takes over `SLOW_BAR_S`; of
    a single step how long it has taken. Elsewhere nothing.
    """
    if total == 0 or not sys.stderr.isatty():
        yield Steps(None, total, what, begins=begins)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    words = TextColumn("{task.description}", markup=False)
    if total == 1:
        columns = (SpinnerColumn(), words, TimeElapsedColumn())
    else:
        remaining = (TimeRemainingColumn(), TextColumn("left"), words)
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn(what), *remaining)
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    steps = Steps(bar, total, what, begins=begins)
    timer = Timer(SLOW_BAR_S, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield steps
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


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
