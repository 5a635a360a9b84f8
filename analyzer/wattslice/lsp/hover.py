"""Hover: why a line draws what it draws, and what the figures rest on; on a kernel's name, its summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wattslice.analysis import Advice, BranchClass, KernelAnalysis, SliceAnalysis
from wattslice.counting.profile import ProbabilitySource
from wattslice.findings.findings import operations_power_w, plain_reason, why_unknown, without_suppressed
from wattslice.ir.operation_counts import FIELD_NAMES
from wattslice.launches.launch import Assumption
from wattslice.lsp.actions import settings_for
from wattslice.lsp.views import View, code, heat_text, launches_text, plain, stake_text, table
from wattslice.patterns import regex
from wattslice.report.text import fills, geometry, launch_origin
from wattslice.units import energy, line_ranges, percent, power, three_digits, time

_MOST_LAUNCHES = 4
"""Summarised one by one; of further ones only their number is told."""
_WORD = regex(r"\w+")


def hover_text(view: View, line: int, text: str, column: int) -> str:
    """Markdown for a place in `line` (from 1, with its `text`, column from 0); empty: nothing to say."""
    named = view.named(_word_at(text, column))
    if named:
        return _summary(view, named)
    return "\n\n".join(_line_parts(view, line))


def _word_at(text: str, column: int) -> str:
    for found in _WORD.finditer(text):
        if found.start() <= column <= found.end():
            return found[0]
    return ""


# ------------------------------------------------------------------------------------ a line


def _line_parts(view: View, line: int) -> Iterator[str]:
    around = view.launches_around(line)
    heats = view.heats.get(line, ())
    kernels = tuple(dict.fromkeys((*around, *(kernel for kernel, _ in heats))))
    for kernel in _some_per_name(kernels):
        own = [heat for other, heat in heats if other is kernel]
        facts = [*_slices_at(kernel, line, view), *_counts_at(kernel, line, view)]
        if own:
            whose = "the board draws" if kernel.basis.model == "regression" else "operations draw"
            total = power(operations_power_w(kernel))
            yield f"**{heat_text(own)}** of the {total} that {whose} in {code(kernel.source.qualified_name)}"
        yield from facts
    everywhere = without_suppressed(view.analysis)  # a launch stands outside of its kernel
    assumed = [
        entry for kernel in everywhere for entry in kernel.assumptions if _is_at(view, entry, kernel, line)
    ]
    if assumed:
        yield _assumption_list(view, assumed)
    advice = [entry for kernel in everywhere for entry in kernel.advice if _is_at(view, entry, kernel, line)]
    if advice:
        yield "\n".join(_advice(entry) for entry in dict.fromkeys(advice))


def _some_per_name(kernels: tuple[KernelAnalysis, ...]) -> tuple[KernelAnalysis, ...]:
    """One launch of each kernel: the one that draws most, else the first."""
    best: dict[str, KernelAnalysis] = {}
    for kernel in kernels:
        known = best.get(kernel.source.qualified_name)
        if known is None or (kernel.power_w or 0.0) > (known.power_w or 0.0):
            best[kernel.source.qualified_name] = kernel
    return tuple(best.values())[:_MOST_LAUNCHES]


def _is_at(view: View, entry: Assumption | Advice, kernel: KernelAnalysis, line: int) -> bool:
    return entry.line == line and view.is_own(entry.file or kernel.source.file)


def _slices_at(kernel: KernelAnalysis, line: int, view: View) -> Iterator[str]:
    slices = [part for part in kernel.slices if line in part.lines] if view.is_own(kernel.source.file) else []
    if slices:
        yield _slice_table(slices)


def _counts_at(kernel: KernelAnalysis, line: int, view: View) -> Iterator[str]:
    for trips in dict.fromkeys(
        (t.trip_count, t.assumed) for t in kernel.loops if _own_line(t, kernel, view) == line
    ):
        known, assumed = trips
        if known is None:
            yield f"The loop is assumed to run **{three_digits(assumed)}** times: data decide."
        else:
            yield f"The loop runs **{three_digits(known)}** times per entry."
    arms = [arm for arm in kernel.arms if _own_line(arm, kernel, view) == line]
    texts: list[str] = []
    for arm in arms:
        text = f"{arm.arm} **{percent(arm.probability)}**"
        if arm.source is not ProbabilitySource.STATIC:
            text += (
                f" ({arm.source.value}, {percent(arm.probability_low)} to {percent(arm.probability_high)})"
            )
        if arm.power_w is not None:
            text += f", {power(arm.power_w)}"
        texts.append(text)
    if texts:
        yield f"Taken: {'; '.join(dict.fromkeys(texts))}"


def _own_line(place: object, kernel: KernelAnalysis, view: View) -> int:
    """The line of a loop or arm, 0 in another file."""
    file = getattr(place, "file", "") or kernel.source.file
    return int(getattr(place, "line", 0)) if view.is_own(file) else 0


def _assumption_list(view: View, assumed: Iterable[Assumption]) -> str:
    rows = ["**Assumed**"]
    settled = {
        (finding.rule, finding.line, finding.message): settings_for(finding, view.named(finding.kernel))
        for finding in (*view.findings, *view.elsewhere)
        if finding.fix
    }
    for entry in dict.fromkeys(assumed):
        row = f"- {plain(entry.message)} ({entry.rule})"
        if entry.fix:
            row += f"  \n  settled by {code(entry.fix)}"
        settings = settled.get((entry.rule, entry.line, entry.message), ())
        if settings:
            written = ", ".join(code(f'{setting.key} = ["{setting.value}"]') for setting in settings)
            row += f", or in wattslice.toml by {written}"
        rows.append(row)
    return "\n".join(rows)


def _advice(advice: Advice) -> str:
    stake = stake_text(advice.power_w, advice.energy_j)
    at_stake = f" — {stake}" if stake else ""
    fix = f"  \n  {plain(advice.fix)}" if advice.fix else ""
    return f"- {plain(advice.told)}{at_stake} ({advice.rule}){fix}"


# ------------------------------------------------------------------------------------ a kernel


def _summary(view: View, launches: tuple[KernelAnalysis, ...]) -> str:
    parts = [f"**{plain(launches[0].name)}** on {plain(view.analysis.gpu_name)}"]
    if len(launches) > 1:
        parts.append(plain(launches_text(launches)))
    for kernel in launches[:_MOST_LAUNCHES]:
        parts += _launch(kernel, view)
    if len(launches) > _MOST_LAUNCHES:
        parts.append(f"… and {len(launches) - _MOST_LAUNCHES} more")
    assumed = tuple(entry for kernel in launches for entry in kernel.assumptions)
    if assumed:
        parts.append(_assumption_list(view, assumed))
    notes = [entry for entry in view.analysis.diagnostics if not entry.file]
    if notes:
        parts.append("\n".join(f"- {plain(entry.message)} ({entry.rule})" for entry in notes))
    return "\n\n".join(parts)


def _launch(kernel: KernelAnalysis, view: View) -> Iterator[str]:
    inside = geometry(kernel.launch.grid, kernel.launch.block)
    yield f"{code(kernel.source.qualified_name + inside)} {plain(launch_origin(kernel.launch).plain)}"
    if kernel.power_w is None:
        reason = why_unknown(kernel, view.analysis)
        yield "Power **unknown**" + (
            f": {plain(plain_reason(kernel, reason))} ({reason.rule})" if reason else ""
        )
    else:
        of_limit = ""
        if kernel.power_limit_w and kernel.limit_exceedance is None:  # else the probability is told
            of_limit = (
                f", {percent(kernel.power_w / kernel.power_limit_w)} of the {kernel.power_limit_w:g} W limit"
            )
        yield f"**{plain(launches_text((kernel,)))}**{of_limit}"
    facts = [f"runs {time(kernel.time_s)}, {energy(kernel.energy_j)}"] if kernel.power_w is None else []
    facts += fills(kernel.resources)
    branches = {BranchClass.SPARSE: "branch-sparse", BranchClass.DENSE: "branch-dense"}
    basis = kernel.basis
    facts += [f"model {basis.model}", f"method {basis.method.upper()}", f"data {plain(kernel.launch.data)}"]
    facts += [branches[basis.branch_class]] if basis.branch_class in branches else []
    yield " · ".join(facts)
    if kernel.work is not None:
        pairs = zip(FIELD_NAMES, kernel.work.counts_per_thread.values(), strict=True)
        counts = [f"{name.replace('_', ' ')} {three_digits(count)}" for name, count in pairs if count]
        yield f"Operations per thread: {', '.join(counts)}" if counts else "No operations"
    if kernel.slices:
        yield _slice_table(kernel.slices)


def _slice_table(slices: Iterable[SliceAnalysis]) -> str:
    rows = [
        (
            part.memory_space.value,
            code(", ".join(part.variables)) if part.variables else "–",
            line_ranges(part.lines) or "–",
            three_digits(part.compute_ops),
            three_digits(part.memory_ops_weighted),
            "–" if part.arithmetic_density is None else three_digits(part.arithmetic_density),
            three_digits(part.length),
            power(part.average_power_w),
            percent(part.share_of_power),
        )
        for part in slices
    ]
    head = ("slice", "variables", "lines", "N_a", "N_mem", "density", "length", "watts", "share")
    return table(head, rows)
