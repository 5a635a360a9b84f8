"""The formats a result can be written in: one table, which `analyze`, `gate` and docs/formats.md share.

A new format is a row here and the function that the row names (plus its test): choices on the command line,
the table of the page (`python -m wattslice_tools.formats_table`) and what a command asks of the analysis
follow.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from wattslice.errors import WattsliceError

if TYPE_CHECKING:  # the names of the formats are part of --help, which must not wait for numpy
    from wattslice.analysis import Analysis
    from wattslice.findings.findings import Finding

Renderer = Callable[["Analysis", "tuple[Finding, ...]", "int | None"], str]
"""Makes one text of an analysis, findings beside it, and the exit status that the command will end with."""


class Format(Struct, frozen=True):
    """One format: who reads it, and what of findings and kernels stands in it, as docs/formats.md says.

    `renderer`: the module of `wattslice.report` and the function (a `Renderer`) in it; it loads when asked
    for. `needs`: the package that it cannot do without. `keeps_sources`: it shows the text of whole files.
    `tells_suppressed`: findings that comments in the source suppress are marked there, elsewhere left out.
    """

    name: str
    read_by: str
    findings: str
    kernels: str
    renderer: str
    needs: str = ""
    keeps_sources: bool = False
    tells_suppressed: bool = False

    def check(self) -> None:
        """Raises `WattsliceError` with the remedy when a package is missing."""
        if self.needs and importlib.util.find_spec(self.needs) is None:
            remedy = "pip install '.[report]' in the checkout"
            raise WattsliceError(f"--format {self.name} needs {self.needs}", remedy=remedy)

    def load(self) -> Renderer:
        """The function that writes it. Raises `WattsliceError` as `check` does."""
        self.check()
        module, _, function = self.renderer.rpartition(".")
        return getattr(importlib.import_module(f"wattslice.report.{module}"), function)


FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("text", "people", "all", "a section each, alike launches in one", "text.render_text"),
        Format(
            "json",
            "scripts",
            "as assumptions, advice and diagnostics",
            "everything known",
            "json.render_json",
        ),
        Format("gcc", "editors, log parsers", "a line each", "a note each, with watts", "ci.gcc.render_gcc"),
        Format(
            "sarif",
            "GitHub code scanning, viewers in editors, Azure DevOps, SonarQube",
            "a result each; what concerns no file is a notification",
            "`runs[0].properties.kernels`, with watts",
            "ci.sarif.render_sarif",
            tells_suppressed=True,
        ),
        Format(
            "github",
            "GitHub Actions",
            "ten annotations, all in the summary of the step",
            "in the summary",
            "ci.github.render_github",
        ),
        Format(
            "junit",
            "Jenkins, GitLab, most CI systems",
            "output of the kernel's test case",
            "a test case per launch",
            "ci.junit.render_junit",
        ),
        Format(
            "gitlab",
            "GitLab code quality",
            "an issue each; what concerns no file is left out",
            "none",
            "ci.gitlab.render_gitlab",
        ),
        Format(
            "html",
            "people; one page without network",
            "assumptions and advice",
            "sources with heat, rooflines",
            "html.page.render_html",
            needs="jinja2",
            keeps_sources=True,
        ),
    )
}
"""By name, `text` (for people) first."""


def render(name: str, analysis: Analysis, findings: tuple[Finding, ...], status: int | None = None) -> str:
    """The result as one text in the format `name` (of `FORMATS`), with a newline at its end.

    `findings`: what is to be told beside the kernels, `findings_of(analysis)` or those of a gate before them.
    `text`, `json` and `html` tell what the analysis says and leave findings of a gate out. `status`: the exit
    status that the command will end with, for formats that tell it.
    """
    chosen = FORMATS[name]
    return chosen.load()(analysis, findings if chosen.tells_suppressed else not_suppressed(findings), status)


def not_suppressed(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Those that no comment in the source suppresses."""
    return tuple(finding for finding in findings if finding.suppressed is None)
