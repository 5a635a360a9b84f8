"""The report for people: one section per kernel, at most 100 columns, in a terminal or a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePath
from typing import TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.findings import (
    Finding,
    findings_of,
    plain_reason,
    why_unknown,
    without_suppressed,
    would_hit_power_limit,
)
from wattslice.ir import Diagnostic, Severity
from wattslice.report.advice_table import advice_shown, advice_table
from wattslice.report.bars import HOT, WARM, load_style, power_bar
from wattslice.report.columns import ORNAMENT, Column, fitting_table
from wattslice.report.kernel_tables import (
    arm_table,
    arms_shown,
    assumption_table,
    hot_line_table,
    launch_text,
    slice_table,
)
from wattslice.report.printable import printable, tail
from wattslice.units import UNKNOWN, energy, percent, power, three_digits, time

MAX_COLUMNS = 100
_NARROW = 70
"""Below this width what stands side by side comes one below the other."""
SUMMARY_FROM = 4
"""From this many kernels on a summary stands first."""

GPU_SOURCES = {
    "--gpu": "chosen with --gpu",
    "settings": "from the settings",
    "this machine": "found in this machine",
    "default": "the default, choose with --gpu",
}
_METHODS = {"bspm": "BSPM", "bdpm": "BDPM", "expected": "branches by their probability"}
_SEVERITY_STYLES = {Severity.NOTE: "dim", Severity.WARNING: WARM, Severity.ERROR: f"bold {HOT}"}


def make_console(file: TextIO, most: int = MAX_COLUMNS) -> Console:
    """A console of at most `most` columns; colours only on a terminal, and never with NO_COLOR.

    In a file or pipe it is as wide as a terminal of COLUMNS, without that `MAX_COLUMNS`.
    """
    console = Console(file=file, force_terminal=file.isatty(), highlight=False, emoji=False, markup=False)
    told = os.environ.get("COLUMNS", "")
    has_width = console.is_terminal or (told.isdecimal() and int(told) > 0)
    console.width = min(console.width, most) if has_width else MAX_COLUMNS
    return console


def print_stripped(console: Console, *parts: RenderableType) -> None:
    """Print the parts; in a file or pipe without the spaces that fill table rows up to the right."""
    if console.is_terminal:
        for part in parts:
            console.print(part)
        return
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    console.file.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def write_text(analysis: Analysis, file: TextIO) -> None:
    """Write the whole report to a file, pipe or terminal."""
    console = make_console(file)
    print_stripped(console, *_parts(analysis, console.width))


def _parts(analysis: Analysis, width: int) -> Iterator[RenderableType]:
    yield header(analysis)
    if len(analysis.kernels) >= SUMMARY_FROM:
        yield from ("", _summary(analysis, width))
    kernels = without_suppressed(analysis)
    for kernel in kernels:
        yield ""
        yield from _kernel_parts(kernel, analysis, width)
    findings = tuple(finding for finding in findings_of(analysis) if not _told_in_section(finding, analysis))
    if findings:
        yield from ("", section_title("Diagnostics", "", width, "bold"), finding_table(findings, width))
    if findings or any(kernel.assumptions or advice_shown(kernel) for kernel in kernels):
        yield from ("", Text("wattslice explain RULE tells more about a finding.", style="dim"))


def _told_in_section(finding: Finding, analysis: Analysis) -> bool:
    """Assumptions, advice and the power limit stand in the kernel's own section."""
    return bool(finding.kernel) and any(kernel.name == finding.kernel for kernel in analysis.kernels)


def header(analysis: Analysis) -> Text:
    """The first line: the GPU and where it comes from, how much was analysed."""
    source = GPU_SOURCES.get(analysis.gpu_source, analysis.gpu_source)
    files, kernels = len(analysis.files), len(analysis.kernels)
    header = Text()
    header.append("wattslice", style="bold")
    header.append(f"  {analysis.gpu_name}", style="bold cyan")
    header.append(f"  {analysis.gpu_id}, {source}", style="dim")
    header.append(
        f"  ·  {files} file{'s' * (files != 1)}, {kernels} launch{'es' * (kernels != 1)}", style="dim"
    )
    return header


def section_title(left: str, right: str, width: int, style: str) -> Text:
    """`── left ─────────── right ──`, exactly as wide as the report; `left` gives way when both are long."""
    room = max(8, width - len(right) - 9)
    left = left if len(left) <= room else left[: room - 1] + "…"
    title = Text()  # a style given here would dim everything appended
    title.append("── ", style="dim")
    title.append(left, style=style)
    end = f" {right} ──" if right else "──"
    title.append(" " + "─" * max(1, width - 4 - len(left) - len(end)), style="dim")
    title.append(end, style="dim")
    return title


def _summary(analysis: Analysis, width: int) -> Table:
    kernels = analysis.kernels
    names = tuple(Text(printable(kernel.qualified_name)) for kernel in kernels)
    places = tuple(Text(tail(f"{printable(kernel.file)}:{kernel.line}", width // 4)) for kernel in kernels)
    columns = (
        Column("kernel", names, least=12, wanted=width // 3, cut=True, style="bold"),
        Column("where", places, give_up=ORNAMENT),
        Column("power", tuple(map(_power_text, kernels)), right=True),
        Column("of limit", tuple(map(_limit_bar, kernels)), give_up=ORNAMENT + 1),
        Column("time", tuple(Text(time(kernel.time_s)) for kernel in kernels), right=True, give_up=1),
        Column("energy", tuple(Text(energy(kernel.energy_j)) for kernel in kernels), right=True, give_up=2),
    )
    return fitting_table(columns, width)


def _power_text(kernel: KernelAnalysis) -> Text:
    if kernel.power_w is None:
        return Text(power(None), style=WARM)
    style = load_style(kernel.power_w / kernel.power_limit_w) if kernel.power_limit_w else ""
    return Text(power(kernel.power_w), style=style)


def _limit_bar(kernel: KernelAnalysis) -> Text:
    if kernel.power_w is None or not kernel.power_limit_w:
        return Text("")
    return power_bar(kernel.power_w, kernel.power_low_w, kernel.power_high_w, kernel.power_limit_w, 14)


def _kernel_parts(kernel: KernelAnalysis, analysis: Analysis, width: int) -> Iterator[RenderableType]:
    name = printable(kernel.qualified_name)
    room = max(12, min(width // 2, width - len(name) - 9))
    place = tail(f"{printable(kernel.file)}:{kernel.line}", room)
    yield section_title(name, place, width, "bold cyan")
    yield power_line(kernel, width)
    yield _facts(kernel, why_unknown(kernel, analysis))
    if kernel.slices:
        yield from ("", slice_table(kernel.slices, width))
    if kernel.hot_lines:
        yield from ("", hot_line_table(kernel, width))
    if arms_shown(kernel):
        yield from ("", arm_table(kernel, width))
    if advice_shown(kernel):
        yield from ("", advice_table(kernel, width))
    if kernel.assumptions:
        yield from ("", assumption_table(kernel.assumptions))


def power_line(kernel: KernelAnalysis, width: int) -> Text:
    """The watts of a launch with their bar, interval and limit."""
    if kernel.power_w is None:
        return Text(f"  power {UNKNOWN}", style=f"bold {WARM}")
    line = Text("  ")
    limit_w = kernel.power_limit_w
    style = f"bold {load_style(kernel.power_w / limit_w)}" if limit_w else "bold"
    line.append(power(kernel.power_w).rjust(7), style=style)
    line.append("  ")
    if limit_w:
        bar_width = width - 59 if width >= _NARROW else width - 11
        line.append_text(
            power_bar(kernel.power_w, kernel.power_low_w, kernel.power_high_w, limit_w, bar_width)
        )
        line.append("  " if width >= _NARROW else "\n  ")
    words: list[str] = []
    if kernel.power_low_w is not None and kernel.power_high_w is not None:
        words.append(f"{three_digits(kernel.power_low_w)}–{three_digits(kernel.power_high_w)} W")
    if limit_w:
        words.append(f"{percent(kernel.power_w / limit_w)} of the {limit_w:g} W limit")
    line.append(" · ".join(words), style="dim")
    return line


def _facts(kernel: KernelAnalysis, reason: Diagnostic | None) -> Table:
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True, min_width=7)
    facts.add_column()
    if kernel.power_w is None:
        why = (
            f"{printable(plain_reason(kernel, reason))} ({reason.rule})"
            if reason
            else "no diagnostic names the cause"
        )
        facts.add_row("  why", Text(why, style=WARM))
    if kernel.may_hit_power_limit:
        hits = "would" if would_hit_power_limit(kernel) else "may"
        warning = f"{hits} hit the power limit: the GPU would lower its clocks and run longer (PW021)"
        facts.add_row("  limit", Text(warning, style=f"bold {HOT}"))
    if kernel.ptx_file and kernel.ptx_file != kernel.file:
        facts.add_row("  read", Text(f"from {printable(PurePath(kernel.ptx_file).name)}"))
    facts.add_row("  launch", launch_text(kernel))
    runs = f"{time(kernel.time_s)} · {energy(kernel.energy_j)}"
    if kernel.limited_by is not None:
        runs += f" · limited by {kernel.limited_by}"
    if kernel.time_s is None and kernel.energy_j is None:
        runs = f"time and energy {UNKNOWN}"
    facts.add_row("  runs", runs)
    fills = "unknown"
    if kernel.sm_saturation is not None and kernel.occupancy is not None:
        fills = f"SM saturation {kernel.sm_saturation:.2f} · occupancy {percent(kernel.occupancy)}"
        fills += f" · {kernel.registers_per_thread} registers/thread"
    if kernel.shared_bytes_per_block:
        fills += f" · {kernel.shared_bytes_per_block} B shared/block"
    facts.add_row("  fills", fills)
    branches = "" if kernel.branch_class is None else f" · branch-{kernel.branch_class.value}"
    facts.add_row("  model", f"{kernel.model} · {_METHODS.get(kernel.method, kernel.method)}{branches}")
    if (used := kernel.profile) is not None:
        words = f"{used.branches} branch{'es' * (used.branches != 1)} from {printable(used.file)}"
        if used.data_sets:
            words += f", {used.data_sets} data set{'s' * (used.data_sets != 1)}"
        facts.add_row("  data", words)
    return facts


def finding_table(findings: tuple[Finding, ...], width: int) -> Table:
    """Findings one below the other: severity, place, message, rule."""
    narrow = width < _NARROW
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True)
    if not narrow:
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=34)
    table.add_column(ratio=1)
    table.add_column(style="dim", no_wrap=True)
    for finding in findings:
        place = printable(finding.file) + (f":{finding.line}" if finding.line else "")
        message = Text(printable(finding.message))
        if finding.fix:
            message.append(f"\n→ {printable(finding.fix)}", style="cyan")
        severity = Text(finding.severity.value, style=_SEVERITY_STYLES[finding.severity])
        if narrow:
            placed = Text(f"{place}\n" if place else "").append_text(message)
            table.add_row(severity, placed, finding.rule)
        else:
            table.add_row(severity, tail(place, 34), message, finding.rule)
    return table
