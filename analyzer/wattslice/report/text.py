"""The reports for people: of an analysis a section for each kernel's alike launches, and the gate's verdict.

At most 100 columns, in a terminal or a pipe.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import takewhile
from pathlib import PurePath
from string import ascii_letters, digits
from textwrap import dedent, wrap
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from wattslice.analysis import (
    Advice,
    Analysis,
    ArmAnalysis,
    KernelAnalysis,
    Launch,
    LineHeat,
    Power,
    Resources,
    SliceAnalysis,
)
from wattslice.counting.profile import ProbabilitySource
from wattslice.findings.findings import (
    Finding,
    cause_of_unknown,
    decision,
    findings_of,
    throttling,
    without_suppressed,
)
from wattslice.gate.verdict import Verdict
from wattslice.ir import Severity
from wattslice.launches.launch import About, Assumption, LaunchSource
from wattslice.report.alike import HOT_LINE, Alike, grouped, told_once
from wattslice.report.data_words import data_words
from wattslice.report.terminal import (
    COOL,
    HOT,
    ORNAMENT,
    WARM,
    Column,
    fitting_table,
    heat_style,
    load_style,
    make_console,
    power_bar,
    print_stripped,
    section_title,
    share_bar,
    texts,
)
from wattslice.units import (
    UNKNOWN,
    energy,
    line_ranges,
    percent,
    power,
    printable,
    probability,
    tail,
    three_digits,
    time,
)

MAX_HOT_LINES = 8
"""Lines quoted; the JSON report has them all."""

MAX_ALIKE = 16
"""Rows of alike launches; the JSON report has them all."""

MAX_ARMS = 8
"""Arms listed; the JSON report has them all."""

_WORTH = 0.01
_NOTHING = "–"
_BAR = 10
_PLACE = 22
_ROOMY = 80
"""From this width on figures of several tables line up."""


def launch_text(launch: Launch) -> Text:
    """`<<<(64, 64), 256, 2048>>>` and where it comes from."""
    return Text(f"{geometry(launch.grid, launch.block)}  ").append_text(launch_origin(launch))


def geometry(grid: tuple[int, int, int], block: tuple[int, int, int]) -> str:
    """`<<<(64, 64), 256>>>`"""
    return f"<<<{_extent(grid)}, {_extent(block)}>>>"


def launch_origin(launch: Launch) -> Text:
    """Where a launch comes from, how often it is made, and with which arguments of the program."""
    text = Text()
    if launch.source in (LaunchSource.HOST_CODE, LaunchSource.ARGUMENTS):
        where = "host code" if launch.line is None else f"host code, line {launch.line}"
        where += f" of {printable(PurePath(launch.file).name)}" if launch.file else ""
        text.append(where, style="dim")
    else:
        style = WARM if launch.source is LaunchSource.ASSUMED else "dim"
        text.append(launch.source.value, style=style)
    if (launch.times or 1) > 1:
        text.append(f" · {launch.times} times", style="dim")
    if (given := launch.program_arguments) is not None:
        words = f"run with {printable(given.text)}" if given.text else "run without arguments"
        text.append(f" · {words} ({printable(given.source)})", style="dim")
    return text


def _extent(extent: tuple[int, int, int]) -> str:
    x, y, z = extent
    return f"({x}, {y}, {z})" if z != 1 else f"({x}, {y})" if y != 1 else str(x)


def _power_columns(powers: list[Text], shares: Sequence[float | None], width: int) -> tuple[Column, ...]:
    """Watts, share and its bar: at the right edge and of one width, so that they line up across tables."""
    percents = texts(percent(share) for share in shares)
    bars = tuple(
        share_bar(share, _BAR, str(watts.style)) for watts, share in zip(powers, shares, strict=True)
    )
    return (
        Column("watts", tuple(powers), right=True, at_least=9 if width >= _ROOMY else 0),
        Column("share", percents, right=True, give_up=ORNAMENT),
        Column("", bars, give_up=ORNAMENT + 1),
    )


def slice_table(slices: tuple[SliceAnalysis, ...], width: int) -> Table:
    """One row per slice, in the order of the analysis."""

    watts = [
        Text(power(part.average_power_w), style="" if part.average_power_w is not None else WARM)
        for part in slices
    ]
    densities = (
        _NOTHING if part.arithmetic_density is None else three_digits(part.arithmetic_density)
        for part in slices
    )
    columns = (
        Column("  slice", texts(f"  {part.memory_space.value}" for part in slices)),
        Column(
            "variables",
            texts(printable(", ".join(part.variables)) or _NOTHING for part in slices),
            least=12,
            wanted=24,
            stretch=True,
            cut=True,
        ),
        Column("lines", texts(line_ranges(part.lines) or _NOTHING for part in slices), least=5, wanted=20),
        Column("length", texts(three_digits(part.length) for part in slices), right=True, give_up=1),
        Column("density", texts(densities), right=True, give_up=2),
        Column("running", texts(_running(part) for part in slices), right=True, give_up=3),
        *_power_columns(watts, [part.share_of_power for part in slices], width),
    )
    return fitting_table(columns, width)


def _running(part: SliceAnalysis) -> str:
    """Watts of the board while a slice runs, where that is not all the time."""
    if part.never_runs:
        return "never"
    is_always = part.time_share is not None and part.time_share > 1.0 - 1e-9
    return _NOTHING if part.power_w is None or is_always else power(part.power_w)


def hot_line_table(kernel: KernelAnalysis, width: int) -> Table:
    """Where the watts of the kernel go: its hottest lines as the source has them, the others, the board."""
    shown, others = kernel.hot_lines[:MAX_HOT_LINES], kernel.hot_lines[MAX_HOT_LINES:]
    quoted = dedent("\n".join(printable(heat.text) for heat in shown)).split("\n")
    whole_w, static_w = kernel.power_w, None if kernel.power is None else kernel.power.static_w
    rows = [
        (
            _place(heat, kernel),
            quote,
            heat.power_w,
            heat_style(heat.power_w / whole_w if whole_w else heat.share),
            "",
        )
        for heat, quote in zip(shown, quoted, strict=True)
    ]
    if others:
        words = f"{len(others)} more line{'s' * (len(others) > 1)}"
        rows.append((_NOTHING, words, math.fsum(heat.power_w for heat in others), "", "dim"))
    if static_w is not None:
        rows.append((_NOTHING, "the board itself: idle, memory, clocks", static_w, "dim", "dim"))
    whole_w = kernel.power_w or math.fsum(watts for _, _, watts, _, _ in rows)
    columns = (
        Column("  line", texts(f"  {place}" for place, *_ in rows), right=True, style="dim"),
        Column(
            f"where the {power(whole_w)} go{', the idle board in them' if static_w is None else ''}",
            tuple(Text(words, style=style) for _, words, _, _, style in rows),
            least=24,
            wanted=40,
            stretch=True,
            cut=True,
        ),
        *_power_columns(
            [Text(power(watts), style=style) for _, _, watts, style, _ in rows],
            [watts / whole_w if whole_w else None for _, _, watts, _, _ in rows],
            width,
        ),
    )
    return fitting_table(columns, width)


def arms_shown(kernel: KernelAnalysis) -> tuple[ArmAnalysis, ...]:
    """The arms that data decide and that draw or move a part worth telling, or leave; the largest first.

    The copies of a function that is inlined several times are one arm.
    """
    copies: dict[tuple[str, int, int, str], list[ArmAnalysis]] = {}
    for arm in kernel.arms:
        if arm.source is not ProbabilitySource.STATIC:
            copies.setdefault((arm.file, arm.line, arm.column, arm.arm), []).append(arm)
    decided = (_together(arms, kernel) for arms in copies.values())
    worth = (
        arm
        for arm in decided
        if arm.leaves
        or (arm.share_of_power or 0.0) >= _WORTH
        or _moves_w(arm) >= _WORTH * (kernel.power_w or math.inf)
    )
    return tuple(sorted(worth, key=lambda arm: -max(arm.power_w or 0.0, _moves_w(arm)))[:MAX_ARMS])


def _moves_w(arm: ArmAnalysis) -> float:
    """How far the arm moves the kernel's watts; 0 where that is not known."""
    if arm.kernel_low_w is None or arm.kernel_high_w is None:
        return 0.0
    return arm.kernel_high_w - arm.kernel_low_w


def _together(copies: list[ArmAnalysis], kernel: KernelAnalysis) -> ArmAnalysis:
    """Several copies of one arm as one: probabilities by visits, watts in sum, all of them moving at once."""
    first, visits = copies[0], sum(arm.visits for arm in copies)
    if len(copies) == 1 or not visits:
        return first

    def mean(values: Iterable[float]) -> float:
        return sum(value * arm.visits for value, arm in zip(values, copies, strict=True)) / visits

    def total(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    power_w = kernel.power_w or 0.0
    below = total(None if arm.kernel_low_w is None else power_w - arm.kernel_low_w for arm in copies)
    above = total(None if arm.kernel_high_w is None else arm.kernel_high_w - power_w for arm in copies)
    high_w = None if above is None else power_w + above
    if high_w is not None and kernel.power_limit_w is not None:
        high_w = min(high_w, kernel.power_limit_w)
    return replace(
        first,
        probability=mean(arm.probability for arm in copies),
        probability_low=mean(arm.probability_low for arm in copies),
        probability_high=mean(arm.probability_high for arm in copies),
        power_w=total(arm.power_w for arm in copies),
        share_of_power=total(arm.share_of_power for arm in copies),
        kernel_low_w=None if below is None else max(0.0, power_w - below),
        kernel_high_w=high_w,
        visits=visits,
    )


def arm_table(kernel: KernelAnalysis, width: int) -> Table:
    """How often data take an arm, who says so, and what it does to the watts."""
    shown = arms_shown(kernel)
    watts = [Text(power(arm.power_w), style=heat_style(arm.share_of_power or 0.0)) for arm in shown]
    columns = (
        Column("  line", texts(f"  {_place(arm, kernel)}" for arm in shown), right=True, style="dim"),
        Column("arm", texts(arm.arm for arm in shown), least=4, wanted=8, cut=True),
        Column("taken", texts(percent(arm.probability) for arm in shown), right=True),
        Column("by", texts(arm.source.value for arm in shown), style="dim"),
        Column("may be", tuple(map(_may_be, shown)), give_up=1),
        Column("kernel then", tuple(map(_kernel_draws, shown)), stretch=True, give_up=2),
        *_power_columns(watts, [arm.share_of_power for arm in shown], width),
    )
    return fitting_table(columns, width)


def _may_be(arm: ArmAnalysis) -> Text:
    low, high = arm.probability_low, arm.probability_high
    return Text(_NOTHING if low == high else f"{percent(low)} to {percent(high)}")


def _kernel_draws(arm: ArmAnalysis) -> Text:
    if arm.kernel_low_w is None or arm.kernel_high_w is None:
        return Text(_NOTHING)
    return Text(f"{three_digits(arm.kernel_low_w)}–{three_digits(arm.kernel_high_w)} W")


def _place(what: LineHeat | ArmAnalysis, kernel: KernelAnalysis) -> str:
    if what.file in ("", kernel.source.file):
        return str(what.line)
    return tail(f"{PurePath(what.file).name}:{what.line}", _PLACE)


def assumption_table(assumptions: tuple[Assumption, ...]) -> Table:
    """What had to be assumed, each with the option that settles it where there is one."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    table.add_column("  line", justify="right", no_wrap=True, style="dim")
    table.add_column("assumed", ratio=1)
    table.add_column("", style="dim", no_wrap=True)
    for assumption in assumptions:
        message = _with_fix(assumption.message, assumption.fix, assumption.file)
        table.add_row(f"  {assumption.line or _NOTHING}", message, assumption.rule)
    return table


def _with_fix(message: str, fix: str, file: str = "") -> Text:
    """What is said, what to do about it, and in which file where that is not the kernel's own."""
    words = Text(printable(message))
    if fix:
        words.append(f"\n→ {printable(fix)}", style="cyan")
    if file:
        words.append(f"\nin {printable(PurePath(file).name)}", style="dim")
    return words


MAX_ADVICE = 6
"""Pieces of advice told; the JSON report has them all."""


def advice_shown(kernel: KernelAnalysis) -> tuple[Advice, ...]:
    """What the section tells, most joules first."""
    return tuple(advice for advice in kernel.advice if advice.rule != HOT_LINE)[:MAX_ADVICE]


def advice_table(kernel: KernelAnalysis, width: int) -> Table:
    """One piece of advice per row: where, what and what to do; the joules at stake, and how the watts
    would change.
    """
    shown = advice_shown(kernel)
    columns = (
        Column("  line", texts(f"  {advice.line}" for advice in shown), right=True, style="dim"),
        Column(
            "what costs power, and what to do",
            tuple(_with_fix(advice.told, advice.fix, advice.file) for advice in shown),
            least=24,
            wanted=50,
            stretch=True,
        ),
        Column("at stake", tuple(_stake(advice) for advice in shown), right=True),
        Column("share", texts(_share(advice, kernel) for advice in shown), right=True, give_up=ORNAMENT),
        Column("watts", texts(_change(advice) for advice in shown), right=True, give_up=1),
        Column("", texts(advice.rule for advice in shown), style="dim"),
    )
    return fitting_table(columns, width)


def _stake(advice: Advice) -> Text:
    style = WARM if advice.severity is Severity.WARNING else ""
    return Text(_NOTHING if advice.energy_j is None else energy(advice.energy_j), style=style)


def _share(advice: Advice, kernel: KernelAnalysis) -> str:
    if advice.energy_j is None or not kernel.energy_j:
        return _NOTHING
    return percent(min(1.0, advice.energy_j / kernel.energy_j))


def _change(advice: Advice) -> str:
    """The watts would change by so much: `−4.89 W` are saved, `+77.0 W` come with the shorter time."""
    if advice.power_w is None:
        return _NOTHING
    return f"{'−' if advice.power_w >= 0 else '+'}{three_digits(abs(advice.power_w))} W"


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


def write_text(analysis: Analysis, file: TextIO) -> None:
    """Write the whole report to a file, pipe or terminal."""
    console = make_console(file)
    print_stripped(console, *_parts(analysis, console.width))


def render_text(analysis: Analysis, _findings: tuple[Finding, ...] = (), _status: int | None = None) -> str:
    """The whole report as a text without colours."""
    buffer = StringIO()
    write_text(analysis, buffer)
    return buffer.getvalue()


def _parts(analysis: Analysis, width: int) -> Iterator[RenderableType]:
    yield header(analysis)
    kernels = without_suppressed(analysis)
    groups = grouped(kernels, analysis)
    if len(kernels) >= SUMMARY_FROM:
        yield from ("", _summary(groups, width))
    told: set[tuple[str, Assumption]] = set()
    for group in groups:
        yield ""
        yield from _group_parts(_not_again(group, told), analysis, width)
    # Assumptions, advice and the power limit stand in the kernel's own section.
    own = {kernel.name for kernel in analysis.kernels} - {""}
    findings = told_once(finding for finding in findings_of(analysis) if finding.kernel not in own)
    if findings:
        yield from ("", section_title("Diagnostics", "", width, "bold"), finding_table(findings, width))
    if findings or any(kernel.assumptions or advice_shown(kernel) for kernel in kernels):
        yield from ("", Text("wattslice explain RULE tells more about a finding.", style="dim"))


def head_of_gpu(name: str, gpu_id: str, source: str) -> Text:
    """What the first line of every report begins with."""
    where = GPU_SOURCES.get(source, source)
    return Text.assemble(
        ("wattslice", "bold"),
        (f"  {printable(name)}", "bold cyan"),
        (f"  {printable(gpu_id)}, {where}", "dim"),
    )


def header(analysis: Analysis) -> Text:
    """The first line: the GPU and where it comes from, how much was analysed."""
    files, kernels = len(analysis.files), len(analysis.kernels)
    head = head_of_gpu(analysis.gpu_name, analysis.gpu_id, analysis.gpu_source)
    counted = f"{files} file{'s' * (files != 1)}, {kernels} launch{'es' * (kernels != 1)}"
    return head.append(f"  ·  {counted}", style="dim")


def _summary(groups: Sequence[Alike], width: int) -> Table:
    """A row for each section, with the figures of the launch that it tells in full."""
    kernels = [group.shown for group in groups]
    numbers = [len(group.launches) for group in groups]
    names = texts(_told_apart([printable(one.source.qualified_name) for one in kernels], width // 3))
    places = texts(
        tail(f"{printable(kernel.source.file)}:{kernel.source.line}", width // 4) for kernel in kernels
    )
    several = Column("launch", texts(f"1 of {number}" if number > 1 else "" for number in numbers))
    columns = (
        Column("kernel", names, least=12, wanted=width // 3, cut=True, style="bold"),
        *([several] if max(numbers) > 1 else ()),
        Column("where", places, give_up=ORNAMENT),
        Column("power", tuple(map(_power_text, kernels)), right=True),
        Column("of limit", tuple(map(_limit_bar, kernels)), give_up=ORNAMENT + 1),
        Column("time", texts(time(kernel.time_s) for kernel in kernels), right=True, give_up=1),
        Column("energy", texts(energy(kernel.energy_j) for kernel in kernels), right=True, give_up=2),
    )
    return fitting_table(columns, width)


def _told_apart(names: Sequence[str], room: int) -> Iterator[str]:
    """The names; of instances of a template without what all their arguments begin with, where one is longer
    than `room`: the column cuts the end.
    """
    given: dict[str, set[str]] = {}
    for name in names:
        template, _, arguments = name.partition("<")
        given.setdefault(template, set()).add(arguments)
    shared: dict[str, int] = {}
    for template, every in given.items():
        alike = takewhile(lambda letters: len({*letters}) == 1, zip(*every, strict=False))
        is_cut = any(len(template) + len(one) >= room for one in every)
        shared[template] = len("".join(one for one, *_ in alike).rstrip(_IN_WORDS)) if is_cut else 0
    for name in names:
        template, _, arguments = name.partition("<")
        left = arguments[shared[template] :]
        yield f"{template}<…{left}" if 1 < len(left) < len(arguments) - 1 else name


_IN_WORDS = f"{ascii_letters}{digits}_"


def _power_text(kernel: KernelAnalysis) -> Text:
    if kernel.power_w is None:
        return Text(power(None), style=WARM)
    style = load_style(kernel.power_w / kernel.power_limit_w) if kernel.power_limit_w else ""
    return Text(power(kernel.power_w), style=style)


def _limit_bar(kernel: KernelAnalysis) -> Text:
    if kernel.power is None or not kernel.power_limit_w:
        return Text("")
    return power_bar(kernel.power, kernel.power_limit_w, 14)


def _not_again(group: Alike, told: set[tuple[str, Assumption]]) -> Alike:
    """The launches without what was assumed of their files and an earlier section has `told`."""
    shown = group.shown
    new = tuple(entry for entry in shown.assumptions if (shown.source.file, entry) not in told)
    told.update((shown.source.file, entry) for entry in new if entry.about is About.FILES)
    launches = (replace(one, assumptions=new) if one is shown else one for one in group.launches)
    return Alike(tuple(launches))


def _group_parts(group: Alike, analysis: Analysis, width: int) -> Iterator[RenderableType]:
    """The section of alike launches: one of them in full, then the figures of all."""
    yield from _kernel_parts(group.shown, analysis, width)
    if len(group.launches) > 1:
        yield from ("", _alike_table(group, width))


class _Row(Struct, frozen=True):
    """What a row of alike launches says besides how many they are, and their names."""

    launch: str
    limited_by: str = ""
    power: str = ""
    time: str = ""
    energy: str = ""


def _row(kernel: KernelAnalysis) -> _Row:
    launch = kernel.launch
    times = f" · {launch.times} times" if (launch.times or 1) > 1 else ""
    return _Row(
        geometry(launch.grid, launch.block) + times,
        kernel.limited_by or _NOTHING,
        power(kernel.power_w),
        time(kernel.time_s),
        energy(kernel.energy_j),
    )


def _alike_table(group: Alike, width: int) -> Table:
    """The launches of a section, with the same figures in one row: how many of them, and their names where
    these are not all the same.
    """
    names = [printable(one.source.qualified_name) for one in group.launches]
    rows: dict[_Row, list[str]] = {}
    for kernel, name in zip(group.launches, _arguments_of(names), strict=True):
        rows.setdefault(_row(kernel), []).append(name)
    numbers = [str(len(same)) for same in rows.values()]
    told = list(rows)
    if left_out := told[MAX_ALIKE:]:
        more = sum(len(rows[row]) for row in left_out)
        told[MAX_ALIKE:], numbers[MAX_ALIKE:] = [_Row("more, of other figures")], [str(more)]
    instances = texts(", ".join(dict.fromkeys(rows.get(row, ()))) for row in told)
    are_named = len(set(names)) > 1
    columns = (
        Column(f"  {len(names)} alike", texts(f"  {number}" for number in numbers), style="dim"),
        *([Column("instance", instances, least=12, wanted=24, stretch=True, cut=True)] if are_named else ()),
        Column("launch", texts(row.launch for row in told), least=12, wanted=40),
        Column(
            "limited by",
            texts(row.limited_by for row in told),
            least=8,
            wanted=24,
            stretch=not are_named,
            give_up=ORNAMENT,
        ),
        Column("power", texts(row.power for row in told), right=True),
        Column("time", texts(row.time for row in told), right=True, give_up=1),
        Column("energy", texts(row.energy for row in told), right=True, give_up=2),
    )
    return fitting_table(columns, width)


def _arguments_of(names: Sequence[str]) -> list[str]:
    """What tells instances of one template apart: `<float, 4>`."""
    return [name[len(name.partition("<")[0]) :] for name in names]


def _kernel_parts(kernel: KernelAnalysis, analysis: Analysis, width: int) -> Iterator[RenderableType]:
    name = printable(kernel.source.qualified_name)
    room = max(12, min(width // 2, width - len(name) - 9))
    place = tail(f"{printable(kernel.source.file)}:{kernel.source.line}", room)
    yield section_title(name, place, width, "bold cyan")
    yield power_line(kernel, width)
    yield _facts(kernel, analysis)
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
    """The watts of a launch and what to make of them, in one line; below it their bar, interval and limit."""
    if kernel.power is None:
        return Text(f"  power {UNKNOWN}", style=f"bold {WARM}")
    watts, limit_w = kernel.power.power_w, kernel.power_limit_w
    style = f"bold {load_style(watts / limit_w)}" if limit_w else "bold"
    words, throttles = decision(kernel), throttling(kernel)
    if throttles:
        words += " (PW021)"
    line = Text("  " + "\n  ".join(wrap(words, max(16, width - 2), break_on_hyphens=False)))
    line.stylize(style, 2, 2 + len(power(watts)))
    if throttles:
        line.highlight_regex(throttles.replace(" ", r"\s+"), f"bold {HOT}")
    line.append("\n  ")
    if limit_w:
        bar_width = width - 50 if width >= _NARROW else width - 11
        line.append_text(power_bar(kernel.power, limit_w, bar_width))
        line.append("  " if width >= _NARROW else "\n  ")
    line.append(interval(kernel.power, limit_w), style="dim")
    return line


def interval(watts: Power, limit_w: float | None) -> str:
    """The interval of the watts, and what part of the limit they are."""
    words = f"{three_digits(watts.low_w)}–{three_digits(watts.high_w)} W"
    return f"{words} · {percent(watts.power_w / limit_w)} of the {limit_w:g} W limit" if limit_w else words


def runs(kernel: KernelAnalysis) -> str:
    """How long a launch takes, what it spends and what limits it."""
    words = f"{time(kernel.time_s)} · {energy(kernel.energy_j)}"
    if kernel.time_s is None and kernel.energy_j is None:
        words = "time and energy unknown"
    return words if kernel.limited_by is None else f"{words} · limited by {kernel.limited_by}"


def fills(resources: Resources | None) -> tuple[str, ...]:
    """What is known of how the launch fills the GPU, and of what its threads and blocks hold."""
    if resources is None:
        return ()
    shared = resources.shared_bytes_per_block
    return (
        f"SM saturation {resources.sm_saturation:.2f}",
        f"occupancy {percent(resources.occupancy)}",
        f"{resources.registers_per_thread} registers/thread",
        *([f"{shared} B shared/block"] if shared else ()),
    )


def _facts(kernel: KernelAnalysis, analysis: Analysis) -> Table:
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True, min_width=7)
    facts.add_column()
    if kernel.power_w is None:
        facts.add_row("  why", Text(printable(cause_of_unknown(kernel, analysis)), style=WARM))
    if kernel.source.ptx_file and kernel.source.ptx_file != kernel.source.file:
        facts.add_row("  read", Text(f"from {printable(PurePath(kernel.source.ptx_file).name)}"))
    if kernel.source.fast_math:
        facts.add_row("  built", Text(f"with --use_fast_math ({printable(kernel.source.fast_math)})"))
    facts.add_row("  launch", launch_text(kernel.launch))
    facts.add_row("  runs", runs(kernel))
    facts.add_row("  fills", " · ".join(fills(kernel.resources)) or "unknown")
    basis = kernel.basis
    branches = "" if basis.branch_class is None else f" · branch-{basis.branch_class.value}"
    method = _METHODS.get(basis.method, basis.method)
    facts.add_row("  model", f"{basis.model} · {method}{branches} · data {printable(kernel.launch.data)}")
    if (used := basis.profile) is not None:
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
        message = _with_fix(finding.message, finding.fix)
        severity = Text(finding.severity.value, style=_SEVERITY_STYLES[finding.severity])
        if narrow:
            placed = Text(f"{place}\n" if place else "").append_text(message)
            table.add_row(severity, placed, finding.rule)
        else:
            table.add_row(severity, tail(place, 34), message, finding.rule)
    return table


def write_verdict(verdict: Verdict, analysis: Analysis, file: TextIO) -> None:
    """The findings, then one line with the outcome."""
    console = make_console(file)
    if verdict.findings:
        print_stripped(console, finding_table(verdict.findings, console.width), "")
    outcome = "passed" if verdict.passed else "failed"
    line = Text(f"gate {outcome}", style=f"bold {COOL if verdict.passed else HOT}")
    words = ", ".join(_outcome_words(verdict))
    data = (data_words(analysis.kernels),) if analysis.kernels else ()
    line.append(", ".join((f": {words} on {analysis.gpu_id}", *data)), style="default not bold")
    print_stripped(console, line)


def _outcome_words(verdict: Verdict) -> list[str]:
    def number(rule: str, *severities: Severity) -> int:
        return sum(
            finding.rule == rule and (not severities or finding.severity in severities)
            for finding in verdict.findings
        )

    words = [f"{verdict.checked} checked"]
    if verdict.budgets:
        first = verdict.budgets[0]
        only = len(verdict.budgets) == 1 and first.max_energy_j is None and first.max_power_w is not None
        over, may_be = (number("PW020", one) for one in (Severity.ERROR, Severity.WARNING))
        words.append(f"{over} over {first.max_power_w:g} W" if only else f"{over} over budget")
        words += [f"{may_be} may be"] if may_be else []
        if (odds := verdict.likeliest) is not None:
            words.append(f"at most P(> {odds.budget_w:g} W) {probability(odds.probability)} ({odds.kernel})")
    for compared in verdict.compared:
        worse = [finding for finding in compared.findings if finding.rule == "PW023"]
        warned = sum(finding.severity is Severity.WARNING for finding in worse)
        words.append(f"{len(worse) - warned} of {compared.pairs} worse {compared.against}")
        if warned:
            words.append(f"{warned} warned of")
    if unverified := number("PW022"):
        words.append(f"{unverified} unknown")
    if verdict.suppressed:
        words.append(f"{len(verdict.suppressed)} suppressed")
    return words
