"""What an analysis says beyond figures, as one flat list: diagnostics, assumptions, power limit.

Judging happens here and in `gate`; reports only print what these functions return.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice.analysis import Advice, Analysis, KernelAnalysis, Suppression, also_in, lines_told
from wattslice.config.rule_choices import RuleChoices
from wattslice.findings.rules import RULES
from wattslice.ir import Diagnostic, Severity
from wattslice.launches.launch import Assumption
from wattslice.units import power, probability

_EXPLAINS = {rule.id: rule.explains_unknown for rule in RULES if rule.explains_unknown is not None}
"""Rules that can explain an unknown power, 1 for the likeliest."""


_Said = TypeVar("_Said", bound=Advice | Assumption)


class Finding(Struct, frozen=True):
    """One thing to tell, with its rule. `kernel` is empty for findings about a file; `fix` may be empty.

    `line` counts from 1; 0 means the whole file. `power_w`, `energy_j`: what is at stake, as in `Advice`.
    `suppressed`: the reason that a comment in the source gives for not telling it; None: it is told.
    `launch_line`: of a finding about one launch of `kernel`, where the host code launches it.
    `also_lines`: further lines of `file` that it is told of; `silenced_lines`: those that comments take out.
    `about`: the advice or assumption of a kernel that became this finding, its file told.
    `kernel_place`: file and line of the kernel's head, where a comment silences the finding, too.
    """

    rule: str
    severity: Severity
    file: str
    line: int
    kernel: str
    message: str
    fix: str = ""
    power_w: float | None = None
    energy_j: float | None = None
    suppressed: str | None = None
    launch_line: int | None = None
    also_lines: tuple[int, ...] = ()
    silenced_lines: tuple[int, ...] = ()
    about: Advice | Assumption | None = field(default=None)
    kernel_place: tuple[str, int] | None = None

    @property
    def places(self) -> frozenset[tuple[str, int]]:
        """Every file and line that a comment may suppress it in."""
        lines = (self.line, *self.also_lines, *self.silenced_lines)
        whole = () if self.kernel_place is None else (self.kernel_place,)
        return frozenset((*((self.file, line) for line in lines), *whole))


def findings_of(analysis: Analysis) -> tuple[Finding, ...]:
    """What is to be told: `all_findings` without the suppressed ones."""
    return tuple(finding for finding in all_findings(analysis) if finding.suppressed is None)


def all_findings(analysis: Analysis) -> tuple[Finding, ...]:
    """Diagnostics, assumptions, advice and kernels near the power limit, sorted by file and line.

    Files come in the order of the run; what several launches of one kernel share is told once. Suppressed
    ones are among them, and suppressions that suppress nothing (PW024).
    """
    found = with_suppressions(_found(analysis), analysis.suppressions)
    unused = unused_suppressions(analysis, found, lambda rule: _could_fire(rule, analysis))
    return in_order(chosen((*map(_with_lines, found), *unused), analysis.rules), analysis)


def chosen(findings: Iterable[Finding], rules: RuleChoices) -> Iterator[Finding]:
    """Those that are to be told, as severe as the user has them. What is an error by itself stays."""
    for finding in findings:
        if finding.severity is Severity.ERROR:
            yield finding
        elif rules.tells(finding.rule, finding.file):
            yield replace(finding, severity=rules.severity(finding.rule, finding.file, finding.severity))


def in_order(findings: Iterable[Finding], analysis: Analysis) -> tuple[Finding, ...]:
    """Each finding once, by file (those of the run first) and line."""
    order = {file: index for index, file in enumerate(analysis.files)}
    return tuple(
        sorted(
            dict.fromkeys(findings), key=lambda item: (order.get(item.file, len(order)), item.file, item.line)
        )
    )


def with_suppressions(
    findings: Iterable[Finding], suppressions: Iterable[Suppression]
) -> tuple[Finding, ...]:
    """The same findings, those that comments cover in all of their lines with the reason.

    One that is covered in some of its lines only is told of the others: `line` is the first of these.
    """
    reasons = {(entry.file, entry.line, rule): entry.reason for entry in suppressions for rule in entry.rules}
    if not reasons:
        return tuple(findings)

    def marked(finding: Finding) -> Finding:
        if (
            finding.kernel_place
            and (reason := reasons.get((*finding.kernel_place, finding.rule))) is not None
        ):
            return replace(finding, suppressed=reason)
        lines = (finding.line, *finding.also_lines)
        why = {line: reasons.get((finding.file, line, finding.rule)) for line in lines}
        left = tuple(line for line in lines if why[line] is None)
        if not left:
            return replace(finding, suppressed=why[finding.line])
        silenced = tuple(sorted(set(lines) - set(left)))
        return replace(finding, line=left[0], also_lines=left[1:], silenced_lines=silenced)

    return tuple(map(marked, findings))


def unused_suppressions(
    analysis: Analysis, findings: Iterable[Finding], could_fire: Callable[[str], bool]
) -> tuple[Finding, ...]:
    """PW024 for each rule of a suppression that covers none of `findings`, which must hold suppressed ones.

    Only rules that `could_fire`, and not inside kernels that could not be analysed: nobody knows there.
    """
    used = {(*place, finding.rule) for finding in findings for place in finding.places}
    dark = [kernel for kernel in analysis.kernels if kernel.power_w is None]
    return tuple(
        Finding(
            "PW024",
            Severity.WARNING,
            entry.file,
            entry.comment_line,
            "",
            f"unused suppression: there is no {rule} on line {entry.line}",
            "remove it",
        )
        for entry in analysis.suppressions
        for rule in entry.rules
        if (entry.file, entry.line, rule) not in used
        and could_fire(rule)
        and not any(kernel.source.file == entry.file and entry.line in kernel.source.lines for kernel in dark)
    )


GATE_RULES = frozenset(rule.id for rule in RULES if rule.told_by == "gate")
"""Rules that only `wattslice gate` can tell."""

_PROFILE_RULES = frozenset(rule.id for rule in RULES if rule.needs_profile)


def _could_fire(rule: str, analysis: Analysis) -> bool:
    if rule in _PROFILE_RULES:
        return any(kernel.basis.profile is not None for kernel in analysis.kernels)
    return rule not in GATE_RULES


def files_spoken_of(kernels: Iterable[KernelAnalysis], diagnostics: Iterable[Diagnostic]) -> tuple[str, ...]:
    """Every file that a finding about these may name: where a comment can suppress one."""
    files = [entry.file for entry in diagnostics]
    for kernel in kernels:
        files.append(kernel.source.file)
        files += (entry.file for entry in (*kernel.assumptions, *kernel.advice))
    return tuple(file for file in dict.fromkeys(files) if file)


def _found(analysis: Analysis) -> tuple[Finding, ...]:
    found = [
        Finding(entry.rule, entry.severity, entry.file, entry.line, "", entry.message)
        for entry in analysis.diagnostics
    ]
    told_of_limit = {(entry.file, entry.line) for entry in analysis.diagnostics if entry.rule == "PW021"}
    for kernel in analysis.kernels:
        for entry in (*kernel.assumptions, *kernel.advice):
            stake = entry if isinstance(entry, Advice) else None
            found.append(
                Finding(
                    entry.rule,
                    stake.severity if stake else Severity.NOTE,
                    entry.file or kernel.source.file,
                    entry.line,
                    kernel.name,
                    entry.message,
                    entry.fix,
                    stake.power_w if stake else None,
                    stake.energy_j if stake else None,
                    also_lines=stake.also_lines if stake else (),
                    about=_placed(entry, kernel),
                )
            )
        if throttling(kernel) and kernel.source.place not in told_of_limit:
            found.append(power_limit_warning(kernel))
    return tuple(dict.fromkeys(found))


def _with_lines(finding: Finding) -> Finding:
    """The finding with its further lines in the message."""
    text = finding.message + also_in(finding.also_lines)
    if finding.silenced_lines:
        text += f"; suppressed in {lines_told(finding.silenced_lines)}, still counted in what is at stake"
    return replace(finding, message=text)


def without_suppressed(analysis: Analysis) -> tuple[KernelAnalysis, ...]:
    """The kernels without the advice and assumptions that comments in the source suppress."""
    if not analysis.suppressions and analysis.rules == RuleChoices():
        return analysis.kernels
    active = {(finding.kernel, finding.about) for finding in findings_of(analysis)}

    def standing(kernel: KernelAnalysis, entries: tuple[_Said, ...]) -> tuple[_Said, ...]:
        return tuple(one for one in entries if (kernel.name, _placed(one, kernel)) in active)

    return tuple(
        replace(
            kernel, advice=standing(kernel, kernel.advice), assumptions=standing(kernel, kernel.assumptions)
        )
        for kernel in analysis.kernels
    )


def told_by(finding: Finding, kernel: KernelAnalysis, advice: Advice) -> bool:
    """Whether `finding` is what became of `advice` of `kernel`: some of its lines may be suppressed."""
    return (finding.kernel, finding.about) == (kernel.name, _placed(advice, kernel))


def _placed(entry: _Said, kernel: KernelAnalysis) -> _Said:
    """The entry with its file told, which is empty for the kernel's own."""
    return replace(entry, file=entry.file or kernel.source.file)


def power_limit_warning(kernel: KernelAnalysis) -> Finding:
    """PW021 of a kernel that may or would hit the limit."""
    message = f"{kernel.name} {hits_limit(kernel)}"
    if kernel.power_limit_w is not None:
        message += f" of {kernel.power_limit_w:.0f} W"
    if (over := kernel.limit_exceedance) is not None and not _is_held(kernel):
        message += f" (P {probability(over)})"
    return Finding("PW021", Severity.WARNING, *kernel.source.place, kernel.name, message)


def hits_limit(kernel: KernelAnalysis) -> str:
    """Of a kernel that may; it "would" where the whole interval of what it wants lies above the limit."""
    would = (kernel.limit_exceedance or 0.0) >= 0.95
    return f"{'would' if would else 'may'} hit the power limit"


def decision(kernel: KernelAnalysis) -> str:
    """What to make of a launch's watts, in one line; empty when they are unknown.

    ``281 W ± 18 %, 94 % sure to stay under the limit of 350 W: may throttle``
    """
    if (watts := kernel.power) is None:
        return ""
    words = power(watts.power_w)
    if watts.power_w:
        sides = 1.0 - watts.low_w / watts.power_w, watts.high_w / watts.power_w - 1.0
        below, above = (round(100.0 * side) for side in sides)
        alike = abs(below - above) <= _ALIKE
        words += f" ± {(below + above) // 2} %" if alike else f" −{below}/+{above} %"
    limit_w, over = kernel.power_limit_w, kernel.limit_exceedance
    if limit_w is None or over is None:
        return words
    if _is_held(kernel):
        words += f", held back by the limit of {limit_w:g} W"
    elif over <= 0.5:
        words += f", {_sure(1.0 - over)} sure to stay under the limit of {limit_w:g} W"
    else:
        words += f", {_sure(over)} sure to reach the limit of {limit_w:g} W"
    return f"{words}: {throttles}" if (throttles := throttling(kernel)) else words


_ALIKE = 3
"""Percent that the two sides of an interval may differ by and be told as one."""


def _sure(probability: float) -> str:
    """A probability of at least one half, never certain."""
    return ">99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def throttling(kernel: KernelAnalysis) -> str:
    """What the power limit does to a launch; empty when it does nothing."""
    if kernel.power is None or not kernel.power.may_hit_limit:
        return ""
    return "throttles" if _is_held(kernel) else "may throttle"


_AT_LIMIT = 0.995
"""Share of the limit from which watts are those that the limit leaves: predictions stop there."""


def _is_held(kernel: KernelAnalysis) -> bool:
    watts, limit_w = kernel.power, kernel.power_limit_w
    if watts is None or limit_w is None:
        return False
    return watts.power_w >= _AT_LIMIT * limit_w and watts.may_hit_limit is True


def operations_power_w(kernel: KernelAnalysis) -> float:
    """Watts that the hot lines share among them: what the operations draw, above idle and active SMs."""
    return math.fsum(heat.power_w for heat in kernel.hot_lines)


def why_unknown(kernel: KernelAnalysis, analysis: Analysis) -> Diagnostic | None:
    """The diagnostic that explains an unknown power; None when the power is known or nothing explains it."""
    if kernel.power_w is not None:
        return None
    places = (kernel.source.line, kernel.launch.line, 0)
    candidates = [
        entry
        for entry in analysis.diagnostics
        if entry.rule in _EXPLAINS
        and entry.file in (kernel.source.file, "")
        and (entry.line in places or entry.line in kernel.source.lines)
    ]
    # A diagnostic that names the kernel beats one that merely lies in it.
    return min(
        candidates, key=lambda entry: (kernel.name not in entry.message, _EXPLAINS[entry.rule]), default=None
    )


def plain_reason(kernel: KernelAnalysis, reason: Diagnostic) -> str:
    """The diagnostic's message for a place that names the kernel and calls its power unknown already."""
    return reason.message.removeprefix(f"{kernel.name}: ").removeprefix("power unknown: ")


def cause_of_unknown(kernel: KernelAnalysis, analysis: Analysis) -> str:
    """`plain_reason` of what explains an unknown power, with the rule."""
    reason = why_unknown(kernel, analysis)
    return f"{plain_reason(kernel, reason)} ({reason.rule})" if reason else "no diagnostic names the cause"


def unread_files(analysis: Analysis) -> tuple[str, ...]:
    """Files that gave no kernel, and those of whose kernels not a single one could be read."""
    unread = {(entry.file, entry.line) for entry in analysis.diagnostics if _is_unread(entry)}
    with_kernels = {kernel.source.file for kernel in analysis.kernels}
    read = {
        kernel.source.file
        for kernel in analysis.kernels
        if kernel.power_w is not None or kernel.source.place not in unread
    }
    lost = {*analysis.unread, *(with_kernels - read)}
    return tuple(file for file in analysis.files if file in lost)


def partly_read_files(analysis: Analysis) -> tuple[str, ...]:
    """Files that something in was not understood: what it does is in no figure."""
    found = (e.file for e in analysis.diagnostics if e.rule == "PW001" and e.severity is not Severity.NOTE)
    return tuple(dict.fromkeys(found))


def _is_unread(entry: Diagnostic) -> bool:
    return entry.rule == "PW001" and entry.severity is Severity.ERROR
