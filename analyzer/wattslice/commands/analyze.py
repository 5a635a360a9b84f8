"""`wattslice analyze PATH...`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.commands.common import (
    CONTEXT,
    analysis_options,
    analyzed,
    config_for,
    message,
    options_from,
    write_report,
)
from wattslice.commands.table import FAILED, FINE
from wattslice.report.formats import FORMATS

if TYPE_CHECKING:
    from wattslice.analysis import Analysis

_HIDING = ("PW002", "PW007")
"""Rules of what hides whole kernels: a missing header with its macros, the bounds of the analysis."""


@click.command(context_settings=CONTEXT)
@analysis_options
@click.option(
    "--format",
    "report_format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How to report.",
)
@click.option("-o", "output", type=click.Path(path_type=Path), metavar="FILE", help="Write the report there.")
def analyze(report_format: str, output: Path | None, **values: object) -> int:
    """Predict watts, seconds and joules of every kernel in the given files.

    A folder stands for all .cu files below it; a .c or .ptx file must be named itself.
    """
    from wattslice.config.config import make_config  # modules load when they are needed, not for --help

    config = config_for(report_format, make_config(options_from(values)))
    for note in config.notes:
        message(note)
    from wattslice.findings.findings import findings_of

    analysis = analyzed(config)
    write_report(report_format, analysis, findings_of(analysis), output, exit_status(analysis))
    return outcome(analysis)


def exit_status(analysis: Analysis) -> int:
    """That of an analysis that was reported: without any kernel, or with nothing of a file, it failed."""
    from wattslice.findings.findings import unread_files

    return FINE if analysis.kernels and not unread_files(analysis) else FAILED


def outcome(analysis: Analysis) -> int:
    """The exit status of an analysis that was reported; what is missing in it goes to stderr."""
    from wattslice.findings.findings import unread_files

    unread = unread_files(analysis)
    if not analysis.kernels:
        message(no_kernels(analysis))
    elif unread:
        message(f"no result for {', '.join(unread)}: see the diagnostics")
    return exit_status(analysis)


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
