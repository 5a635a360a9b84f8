"""`wattslice analyze PATH...`, a report, and `wattslice annotate PATH...`: figures in the margin."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click
from msgspec.structs import replace

from wattslice.commands.common import analysis_options, analyzed_words, options_from
from wattslice.commands.output import (
    CONTEXT,
    format_option,
    message,
    output_option,
    write_report,
    write_result,
)
from wattslice.commands.table import FAILED, FINE
from wattslice.report.formats import FORMATS

if TYPE_CHECKING:
    from wattslice.analysis import Analysis


_HIDING = ("PW002", "PW007")
"""Rules of what hides whole kernels: a missing header with its macros, the bounds of the analysis."""


@click.command(context_settings=CONTEXT)
@analysis_options
@format_option(*FORMATS)
@output_option
def analyze(report_format: str, output: Path | None, **values: object) -> int:
    """Predict watts, seconds and joules of every kernel in the given files.

    A folder stands for all .cu files below it; a .c or .ptx file must be named itself. Without PATH the
    current folder is analysed; - is CUDA code on stdin.
    """
    analysis = analyzed_words(options_from(values), report_format)
    from wattslice.findings.findings import findings_of

    write_report(report_format, analysis, findings_of(analysis), output, exit_status(analysis))
    return outcome(analysis)


def exit_status(analysis: Analysis) -> int:
    """That of an analysis that was reported: without any kernel, or with nothing of a file, it failed."""
    from wattslice.findings.findings import unread_files

    return FINE if analysis.kernels and not unread_files(analysis) else FAILED


def outcome(analysis: Analysis) -> int:
    """The exit status of an analysis that was reported; what is missing in it goes to stderr."""
    from wattslice.findings.findings import partly_read_files, unread_files

    unread = unread_files(analysis)
    if not analysis.kernels:
        message(no_kernels(analysis))
    elif unread:
        message(f"no result for {', '.join(unread)}: see the diagnostics")
    if partly := [file for file in partly_read_files(analysis) if file not in unread]:
        more = f" and {len(partly) - _NAMED} more" if len(partly) > _NAMED else ""
        message(f"not understood as a whole: {', '.join(partly[:_NAMED])}{more}: see PW001")
    return exit_status(analysis)


_NAMED = 3
"""Files that one line names."""


def no_kernels(analysis: Analysis) -> str:
    """What to tell when there was nothing to predict, with what may have hidden the kernels."""
    files = analysis.files[0] if len(analysis.files) == 1 else f"{len(analysis.files)} files"
    hiding = [f"{entry.message} [{entry.rule}]" for entry in analysis.diagnostics if entry.rule in _HIDING]
    if hiding:
        more = f"; and {len(hiding) - 2} more" if len(hiding) > 2 else ""
        cause = "; ".join(hiding[:2]) + more
    elif analysis.diagnostics:
        cause = "see the diagnostics"
    else:
        cause = "no __global__ function is defined there (what #if leaves out does not count)"
    return f"no kernel found in {files}: {cause}"


@click.command(context_settings=CONTEXT)
@analysis_options
@format_option("text", "html", help="In the terminal, or as one page for a browser.")
@output_option
@click.option("--kernel", metavar="NAME", help="Show the heat of this kernel only.")
@click.option("--all", "show_all", is_flag=True, help="Show stretches without heat, too.")
def annotate(
    report_format: str, output: Path | None, kernel: str | None, show_all: bool, **values: object
) -> int:
    """Show sources with the watts of every line in the margin.

    Lines are coloured by the memory space of the slice they belong to. In a file or a pipe they are whole, on
    a terminal they are cut at its edge.
    """
    analysis = analyzed_words(options_from(values), report_format, keep_sources=True)
    shown = analysis if kernel is None else _only(analysis, kernel)
    write_result(lambda file: _render(shown, report_format, show_all, file), output)
    return outcome(analysis)


def _only(analysis: Analysis, name: str) -> Analysis:
    """The analysis with the launches of one kernel only. Raises `WattsliceError` when there is none."""
    from wattslice.errors import WattsliceError

    kernels = tuple(one for one in analysis.kernels if name in (one.name, one.source.qualified_name))
    if not kernels:
        names = sorted({kernel.name for kernel in analysis.kernels})
        close = difflib.get_close_matches(name, names, n=3) or names[:8]
        remedy = f"there is {', '.join(close)}" if close else "there is none at all"
        raise WattsliceError(f"--kernel: no kernel {name!r} here", remedy=remedy)
    others = {kernel.name for kernel in analysis.kernels} - {kernel.name for kernel in kernels}
    about_others = tuple(f"{other}: " for other in others)
    told = tuple(entry for entry in analysis.diagnostics if not entry.message.startswith(about_others))
    return replace(analysis, kernels=kernels, diagnostics=told)


def _render(analysis: Analysis, report_format: str, show_all: bool, file: TextIO) -> None:
    if report_format == "html":
        from wattslice.report.html.page import render_html

        file.write(render_html(analysis))
    else:
        from wattslice.report.annotated import write_annotated

        write_annotated(analysis, file, show_all=show_all)
