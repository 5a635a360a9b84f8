"""Launches of one kernel that a report for people tells together, as its JSON never does."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Advice, Analysis, KernelAnalysis, also_in
from wattslice.findings.findings import Finding, cause_of_unknown, throttling
from wattslice.ir import Severity
from wattslice.launches.launch import Assumption

HOT_LINE = "PW040"
"""The table of the hottest lines shows it already."""


class Alike(Struct, frozen=True):
    """Launches of one kernel, in the order of the run, of which the same is said: they differ in figures, in
    the arguments of their template, and in advice that is a mere note.
    """

    launches: tuple[KernelAnalysis, ...]

    @property
    def shown(self) -> KernelAnalysis:
        """The one to tell in full: that with most joules in a run, else with most seconds; the first such."""
        return max(self.launches, key=_cost)


def grouped(kernels: Iterable[KernelAnalysis], analysis: Analysis) -> tuple[Alike, ...]:
    """The launches, alike ones together where the first of them stands."""
    groups: dict[Hashable, list[KernelAnalysis]] = {}
    for kernel in kernels:
        groups.setdefault(_said(kernel, analysis), []).append(kernel)
    return tuple(Alike(tuple(group)) for group in groups.values())


def _cost(kernel: KernelAnalysis) -> tuple[float, float]:
    times = kernel.launch.times or 1
    return times * (kernel.energy_j or 0.0), times * (kernel.time_s or 0.0)


def _said(kernel: KernelAnalysis, analysis: Analysis) -> Hashable:
    """What a section says besides figures: of which kernel, what the figures rest on, and what to do."""
    source, launch, basis = kernel.source, kernel.launch, kernel.basis
    costly = (one for one in kernel.advice if one.severity is Severity.WARNING and one.rule != HOT_LINE)
    return (
        (kernel.name, source.place, source.ptx_file, source.fast_math),
        (launch.source, launch.program_arguments, launch.data),
        (basis.model, basis.method, basis.branch_class, basis.profile, basis.variants),
        (cause_of_unknown(kernel, analysis) if kernel.power is None else throttling(kernel)),
        frozenset(map(_about, (*kernel.assumptions, *costly))),
    )


def _about(entry: Assumption | Advice) -> tuple[str, int, str, str]:
    """Its rule, place and the option that settles it, without values: `--set n`, `--launch 'kernel`."""
    option = entry.fix.partition("=")[0] if isinstance(entry, Assumption) else ""
    return entry.rule, entry.line, entry.file, option


MOST_OF_A_LINE = 2
"""Messages of one rule about one line; of more the first stands for all."""


def told_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings in their order, the same message about several lines of a file once, with these lines; and of
    a line of which a rule says much, as of each instance of a template, the first message and how many more.
    """
    same: dict[Finding, list[int]] = {}
    for finding in findings:
        same.setdefault(replace(finding, line=0), []).append(finding.line)
    told = [
        replace(finding, line=lines[0], message=finding.message + also_in(tuple(lines[1:])))
        for finding, lines in same.items()
    ]
    of_lines: dict[Hashable, list[Finding]] = {}
    for finding in told:
        key = finding.rule, finding.severity, finding.file, finding.line
        of_lines.setdefault(key if finding.line else finding, []).append(finding)
    return tuple(
        finding
        for about in of_lines.values()
        for finding in (about if len(about) <= MOST_OF_A_LINE else [_with_more(about)])
    )


def _with_more(about: list[Finding]) -> Finding:
    return replace(about[0], message=f"{about[0].message}; and {len(about) - 1} more of this line")
