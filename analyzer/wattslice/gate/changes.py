"""What became worse: relative changes of watts, joules and seconds, and which lines changed them.

How far ratios can be trusted: `ratio_trust`. Lines: their heat on both sides, mapped through the text diff.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice.analysis import Analysis, KernelAnalysis, Work
from wattslice.config.options import CONFIDENCE, TOLERANCE
from wattslice.errors import WattsliceError
from wattslice.findings.findings import Finding
from wattslice.findings.quoting import Quoter
from wattslice.gate.ratio_trust import Kin, Quantity, curve
from wattslice.gate.records import LaunchRecord, Matching, Pair
from wattslice.gate.verdict import Compared, idles_by_assumption, losses, names
from wattslice.ir import Severity
from wattslice.launches.launch import LaunchSource
from wattslice.patterns import regex
from wattslice.units import energy, power, time

MOST_LINES = 3
WORTH_TELLING = 0.1
"""Share of the whole rise from which on a line whose text stayed is told."""

_IDLE_TEXT = regex(r"\s*(?://.*|/\*.*|\*.*|[{}();]*)\s*")
"""Lines that say nothing: blank, brackets, comments."""


class LineChange(Struct, frozen=True):
    """What a line costs more (W or J) than before: `line` of `file` now. `is_edited`: its text is new."""

    file: str
    line: int
    more: float
    text: str
    is_edited: bool


class Explanation(Struct, frozen=True):
    """What changed a launch, in words, and the edited line (file, line) that costs most more."""

    words: str = ""
    place: tuple[str, int] | None = None


class Blame(Struct):
    """Explains pairs of launches of two states. `shared_old`, `shared_new`: paths common to both states.

    `changed`: paths of all files that differ.
    """

    shared_old: Callable[[str], str]
    shared_new: Callable[[str], str]
    changed: tuple[str, ...] = ()
    _quoter: Quoter = field(default_factory=lambda: Quoter("", ()))
    _maps: dict[tuple[str, str], dict[int, int]] = field(
        default_factory=dict[tuple[str, str], dict[int, int]]
    )

    def explain(self, pair: Pair, quantity: Quantity) -> Explanation:
        """The lines that changed `quantity`; empty when the heat of one side is not known."""
        old, new = pair.old.analysis, pair.new.analysis
        if old is None or new is None or not (old.hot_lines and new.hot_lines):
            return Explanation()
        by_power = quantity is Quantity.POWER
        rise = ((new.power_w if by_power else new.energy_j) or 0.0) - (
            (old.power_w if by_power else old.energy_j) or 0.0
        )
        changes = self.line_changes(old, new, by_power=by_power)
        edited = [change for change in changes if change.is_edited]
        same = [change for change in changes if not change.is_edited and change.more > WORTH_TELLING * rise]
        parts: list[str] = []
        if edited:
            more = f" and {len(edited) - MOST_LINES} more" if len(edited) > MOST_LINES else ""
            told = ", ".join(_told(change, by_power, new.source.file) for change in edited[:MOST_LINES])
            parts.append(f"edited: {told}{more}")
        elif self.changed:
            parts.append(f"no line of it was edited, but {', '.join(self.changed[:MOST_LINES])}")
        if same:
            told = ", ".join(_told(change, by_power, new.source.file) for change in same[:MOST_LINES])
            parts.append(f"costlier with the same text: {told}")
        static = _static(new, by_power) - _static(old, by_power)
        if static > WORTH_TELLING * rise:
            figure = power(static) if by_power else energy(static)
            parts.append(f"{figure} more for the board itself" + ("" if by_power else ", busy for longer"))
        if parts and not by_power and (new.launch.times or 1) > 1:
            parts[0] = f"in each launch, {parts[0]}"
        costliest = next(iter(edited), None)
        place = None if costliest is None else (costliest.file, costliest.line)
        return Explanation("; ".join(parts), place)

    def line_changes(
        self, old: KernelAnalysis, new: KernelAnalysis, *, by_power: bool
    ) -> tuple[LineChange, ...]:
        """Every line with heat now and every line of the kernel that says something, the costliest first."""
        before, after = _heat(old, by_power), _heat(new, by_power)
        places = dict.fromkeys((*after, *((new.source.file, line) for line in new.source.lines)))
        found: list[LineChange] = []
        for file, line in places:
            partner = self._before(file, line, old)
            text = self._quoter.line(file, line)
            if partner is None and (file, line) not in after and _IDLE_TEXT.fullmatch(text):
                continue
            earlier = 0.0 if partner is None else before.get(partner, 0.0)
            more = after.get((file, line), 0.0) - earlier
            found.append(LineChange(file, line, more, text, partner is None))
        return tuple(sorted(found, key=lambda change: (-change.more, change.file, change.line)))

    def _before(self, file: str, line: int, old: KernelAnalysis) -> tuple[str, int] | None:
        """Where a line of now stood before; None for one that was written since."""
        files = dict.fromkeys((old.source.file, *(heat.file for heat in old.hot_lines)))
        for earlier in sorted(files, key=lambda one: self.shared_old(one) != self.shared_new(file)):
            found = self._map(earlier, file).get(line)
            if found is not None:
                return earlier, found
        return None

    def _map(self, old_file: str, new_file: str) -> dict[int, int]:
        """Line now to line before: equal runs of the diff, then equal lines that moved."""
        known = self._maps.get((old_file, new_file))
        if known is None:
            before = [" ".join(line.split()) for line in self._quoter.text(old_file).split("\n")]
            after = [" ".join(line.split()) for line in self._quoter.text(new_file).split("\n")]
            known = self._maps[old_file, new_file] = line_map(before, after)
        return known


def line_map(before: list[str], after: list[str]) -> dict[int, int]:
    """Lines (from 1) of `after` that stood in `before`, unchanged or moved; blank ones only in place."""
    found: dict[int, int] = {}
    for start_old, start_new, length in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_matching_blocks():
        found.update({start_new + i + 1: start_old + i + 1 for i in range(length)})
    free: dict[str, list[int]] = {}
    taken = set(found.values())
    for number, text in enumerate(before, 1):
        if number not in taken and len(text) > 1:
            free.setdefault(text, []).append(number)
    for number, text in enumerate(after, 1):
        if number not in found and free.get(text):
            found[number] = free[text].pop(0)
    return found


def _heat(kernel: KernelAnalysis, by_power: bool) -> dict[tuple[str, int], float]:
    factor = 1.0 if by_power else kernel.time_s or 0.0
    return {(heat.file, heat.line): heat.power_w * factor for heat in kernel.hot_lines}


def _static(kernel: KernelAnalysis, by_power: bool) -> float:
    """What no line draws: idle and active SMs."""
    total = kernel.power_w if by_power else kernel.energy_j
    return (total or 0.0) - sum(_heat(kernel, by_power).values())


def _told(change: LineChange, by_power: bool, own_file: str) -> str:
    figure = power(abs(change.more)) if by_power else energy(abs(change.more))
    place = f"line {change.line}" + ("" if change.file == own_file else f" of {Path(change.file).name}")
    heat = f" ({'+' if change.more > 0 else '-'}{figure})" if change.more else ""
    text = " ".join(change.text.split())
    return f"{place}{heat} `{text if len(text) <= 60 else text[:59] + '…'}`"


SAME = 2e-5
"""|ln ratio| up to which two figures are the same: a baseline keeps six digits."""

VARIANT_FROM = 0.5
"""Bodies at least this much alike count as variants of one kernel, others as two programs."""

_GATHER, _GEOMETRY, _SIZE = "PW016", "PW011", "PW010"
_PLACES = regex(r"\b(?:line \d+|trip_L\d+(?:@\S+)?)")


class Policy(Struct, frozen=True):
    """What fails a comparison: an increase of at least `tolerance` (0.05: 5 %) of one of `fail_on` that is a
    real one with a probability of at least `confidence`.

    `saving_pays`: more watts are accepted where the launch takes fewer joules: it became faster.
    `unknown`: how bad it is when something is unknown that was known before.
    """

    fail_on: tuple[Quantity, ...] = (Quantity.POWER, Quantity.ENERGY)
    tolerance: float = TOLERANCE
    confidence: float = CONFIDENCE
    saving_pays: bool = True
    unknown: Severity = Severity.ERROR


class Change(Struct, frozen=True):
    """One quantity of one launch before and after; where its `times` are known on both sides, joules and
    seconds are of all of them. `low`, `high`: where the true ratio lies with 90 %.

    `p_worse`: that it really rose. Nothing changed: `ratio`, `low` and `high` are 1, and `p_worse` 0.
    """

    quantity: Quantity
    old: float
    new: float
    low: float
    high: float
    p_worse: float

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.new / self.old


def changes_of(pair: Pair) -> tuple[Change, ...]:
    """The changes of what is known on both sides. Raises `WattsliceError` for a model nobody has judged."""
    found: list[Change] = []
    kin = _kin(pair)
    for quantity in Quantity:
        old, new = _figure(pair.old, quantity), _figure(pair.new, quantity)
        if not old or not new:
            continue
        is_same = abs(math.log(new / old)) <= SAME
        if pair.old.times and pair.new.times and quantity is not Quantity.POWER:
            old, new = old * pair.old.times, new * pair.new.times
        log_ratio = math.log(new / old)
        if is_same or abs(log_ratio) <= SAME:  # what is the same cancels: the number of launches is exact
            ratio = 1.0 if abs(log_ratio) <= SAME else new / old
            found.append(Change(quantity, old, old * ratio, ratio, ratio, float(ratio > 1.0)))
            continue
        trust = curve(pair.new.model, kin, quantity)
        if trust is None:
            raise WattsliceError(
                f"nothing measured tells how far ratios of the {pair.new.model} model can be trusted",
                remedy="compare with --model energy",
            )
        knot = trust.at(log_ratio)
        errors = (knot.error_low, knot.error_high)
        low, high = errors if log_ratio > 0 else (-errors[1], -errors[0])
        p_worse = knot.p_worse if log_ratio > 0 else 1.0 - knot.p_worse
        if log_ratio > 0 and quantity is not Quantity.POWER and does_more(pair):
            low, p_worse = max(low, -log_ratio), 1.0
        found.append(
            Change(quantity, old, new, math.exp(log_ratio + low), math.exp(log_ratio + high), p_worse)
        )
    return tuple(found)


def does_more(pair: Pair) -> bool:
    """Whether a launch executes all that it did before and more, or doubles in place of floats, in the same
    threads and no more of these at a time: then it takes more joules and no less time, however far off the
    figures are.
    """
    old, new = pair.old.analysis, pair.new.analysis
    if old is None or new is None or _kin(pair) is Kin.PROGRAMS:
        return False
    before = old.launch.grid, old.launch.block, pair.old.times
    if before != (new.launch.grid, new.launch.block, pair.new.times):
        return False
    if not (old.work and new.work and old.resources and new.resources):
        return False
    figures = (
        (old.work.bytes_per_thread, new.work.bytes_per_thread),
        (old.time_s, new.time_s),
        (new.resources.occupancy, old.resources.occupancy),
        (new.resources.sm_saturation, old.resources.sm_saturation),
    )
    now = _executed(new.work)
    pairs = ((number, now.get(name, 0.0)) for name, number in _executed(old.work).items())
    return all(
        least is not None and most is not None and most >= least * (1.0 - SAME)
        for least, most in (*figures, *pairs)
    )


def _executed(work: Work) -> dict[str, float]:
    """Instructions by name; those of doubles together, and with them those of floats: these cost no more."""
    counts = {count.name: count.number for count in work.instructions_per_thread}
    doubles = sum(counts.pop(name, 0.0) for name in ("dadd", "dmul", "dfma"))
    floats = sum(counts.pop(name, 0.0) for name in ("fadd", "fmul", "ffma"))
    return counts | {"doubles": doubles, "doubles and floats": doubles + floats}


def _kin(pair: Pair) -> Kin:
    """Rewritten kernels, and those whose addresses nobody knows, are trusted no further than strangers."""
    for record in (pair.old, pair.new):
        if record.analysis and any(entry.rule == _GATHER for entry in record.analysis.assumptions):
            return Kin.PROGRAMS
    rewritten = pair.similarity is not None and pair.similarity < VARIANT_FROM
    return Kin.PROGRAMS if rewritten else Kin.VARIANTS


def _figure(record: LaunchRecord, quantity: Quantity) -> float | None:
    return {Quantity.POWER: record.power_w, Quantity.ENERGY: record.energy_j, Quantity.TIME: record.time_s}[
        quantity
    ]


def failing(changes: Sequence[Change], policy: Policy) -> tuple[Change, ...]:
    """The changes that fail by `policy`."""
    energy_ratio = next((one.ratio for one in changes if one.quantity is Quantity.ENERGY), None)
    saves = energy_ratio is not None and energy_ratio < 1.0
    return tuple(
        change
        for change in changes
        if change.quantity in policy.fail_on
        and change.ratio >= 1.0 + policy.tolerance
        and change.p_worse >= policy.confidence
        and not (change.quantity is Quantity.POWER and saves and policy.saving_pays)
    )


Explain = Callable[[Pair, Quantity], Explanation]
"""Says which lines changed a quantity of a pair, or nothing."""


def compare(
    matching: Matching,
    policy: Policy,
    against: str,
    place: Callable[[LaunchRecord], tuple[str, int]],
    explain: Explain,
) -> Compared:
    """PW023 for what became worse, PW027 for what has no partner; `place` gives the file and line to tell."""
    findings: list[Finding] = []
    for pair in matching.pairs:
        worse = failing(changes_of(pair), policy)
        idle = idles_by_assumption(pair.new.analysis) if pair.new.analysis else ""
        if worse:
            findings.append(_worse(pair, worse, against, place(pair.new), explain))
        elif idle and not (pair.old.analysis and idles_by_assumption(pair.old.analysis)):
            text = f"power unknown, for it accesses nothing with what is assumed: {idle}"
            findings.append(replace(_note(pair.new, place, text), rule="PW022", severity=policy.unknown))
        elif pair.new.power_w is None and pair.old.power_w is not None:
            text = f"power unknown, was {power(pair.old.power_w)} {against}"
            findings.append(replace(_note(pair.new, place, text), rule="PW022", severity=policy.unknown))
        if pair.new.times is None and pair.old.times is not None:
            text = f"how often it is launched is unknown, was {_times(pair.old)} {against}"
            findings.append(_note(pair.new, place, text))
        if pair.is_renamed:
            findings.append(_note(pair.new, place, f"was {pair.old.kernel} {against}"))
    findings += (_note(record, place, f"new, not {against}") for record in matching.new)
    findings += (
        Finding(
            "PW027", Severity.NOTE, record.file, 0, record.kernel, f"{record.name}: vanished, was {against}"
        )
        for record in matching.vanished
    )
    return Compared(against, len(matching.pairs), tuple(findings))


def with_losses(
    compared: Compared,
    analysis: Analysis,
    unread: Collection[str],
    shared_path: Callable[[str], str],
    policy: Policy,
) -> Compared:
    """The comparison with PW022 for what it could not tell: files without any result that are not among
    those `unread` before either, and kernels that vanished because the frontend lost them (PW001).
    """
    lost = losses(analysis)

    def told(finding: Finding) -> Finding:
        if finding.rule != "PW027" or finding.line:
            return finding
        why = next(
            (one for one in lost if shared_path(one.file) == finding.file and names(one, finding.kernel)),
            None,
        )
        if why is None:
            return finding
        message = f"{finding.kernel}: power unknown, was {compared.against}: {why.message} (PW001)"
        return replace(
            finding, rule="PW022", severity=policy.unknown, file=why.file, line=why.line, message=message
        )

    what = f"cannot be analysed, so not compared {compared.against}"
    files = tuple(
        Finding("PW022", policy.unknown, file, 0, "", what)
        for file in analysis.unread
        if shared_path(file) not in unread
    )
    return replace(compared, findings=(*map(told, compared.findings), *files))


def _worse(
    pair: Pair, worse: Sequence[Change], against: str, place: tuple[str, int], explain: Explain
) -> Finding:
    main = max(worse, key=lambda change: (change.quantity is Quantity.ENERGY, change.ratio))
    text = f"{pair.new.name}: {', '.join(map(told, worse))} {against}"
    explained = explain(pair, main.quantity)
    for reason in (_circumstances(pair), explained.words):
        if reason:
            text += f"; {reason}"
    kernel = pair.new.analysis
    deltas = {change.quantity: change.new - change.old for change in worse}
    doubt = _doubt(pair, worse, is_edited=explained.place is not None)
    if doubt:
        text += f"; a warning only, for {doubt}"
    return Finding(
        "PW023",
        Severity.WARNING if doubt else Severity.ERROR,
        *(explained.place or _launch_place(pair) or place),
        kernel.name if kernel else pair.new.kernel,
        text,
        power_w=deltas.get(Quantity.POWER),
        energy_j=deltas.get(Quantity.ENERGY),
        launch_line=kernel.launch.line if kernel else None,
        kernel_place=place,
    )


def _launch_place(pair: Pair) -> tuple[str, int] | None:
    """Where the host code makes it, of a launch that is made more or less often than before, or otherwise."""
    old, new, kernel = pair.old, pair.new, pair.new.analysis
    is_other = old.times not in (None, new.times) or (old.grid, old.block) != (new.grid, new.block)
    if kernel is None or kernel.launch.line is None or not is_other:
        return None
    return kernel.launch.file or kernel.source.file, kernel.launch.line


def _doubt(pair: Pair, worse: Sequence[Change], *, is_edited: bool) -> str:
    """Why a change for the worse does not fail; empty: it does. `is_edited`: a line of the kernel was."""
    if not _known_alike(pair):
        return "the two launches are not known alike"
    sides = [one for one in (pair.old.analysis, pair.new.analysis) if one is not None]
    is_assumed = any(one.launch.source is LaunchSource.ASSUMED for one in sides)
    if not is_edited and is_assumed and len(sides) == 2:  # a baseline knows no lines
        return "its launch is assumed, which what was edited may have changed"
    return "" if any(change.low >= 1.0 for change in worse) else "it may be a saving as well"


def _known_alike(pair: Pair) -> bool:
    """Whether what is known of one launch is known of the other: its geometry, sizes and trip counts, what
    measured variants taught.

    Unknown compared with known tells nothing; a loop that is there on one side only is a change of the
    kernel. A baseline has nothing of all this, and is compared as it is.
    """
    old, new = pair.old.analysis, pair.new.analysis
    if old is None or new is None:
        return True
    if (
        old.basis.variants != new.basis.variants
        or _geometry_known(old) != _geometry_known(new)
        or _sizes_assumed(old) != _sizes_assumed(new)
    ):
        return False
    more_unknown = _loops(new, known=False) - _loops(old, known=False)
    more_known = _loops(new, known=True) - _loops(old, known=True)
    return more_unknown * more_known >= 0  # else one became the other


def _geometry_known(kernel: KernelAnalysis) -> tuple[bool, tuple[str, ...]]:
    """Whether a launch's geometry is assumed, and what of it."""
    assumed = (entry.message for entry in kernel.assumptions if entry.rule == _GEOMETRY)
    is_assumed = kernel.launch.source is LaunchSource.ASSUMED
    return is_assumed, tuple(dict.fromkeys(_PLACES.sub("there", text) for text in assumed))


def _sizes_assumed(kernel: KernelAnalysis) -> int:
    """How many parameters have an assumed value, under whatever names."""
    return len({entry.message for entry in kernel.assumptions if entry.rule == _SIZE})


def _loops(kernel: KernelAnalysis, *, known: bool) -> int:
    """How many loops have a trip count that is known, or one that is assumed."""
    return sum((loop.trip_count is not None) is known for loop in kernel.loops)


def told(change: Change) -> str:
    """A change in words: ``energy +41 % (+12 to +78 %), 1.20 mJ to 1.69 mJ``."""
    figure = {Quantity.POWER: power, Quantity.ENERGY: energy, Quantity.TIME: time}[change.quantity]
    return (
        f"{change.quantity} {_percent(change.ratio)} % "
        f"({_percent(change.low)} to {_percent(change.high)} %), {figure(change.old)} to {figure(change.new)}"
    )


def _percent(ratio: float) -> str:
    """The change in whole percent, with its sign unless it is 0."""
    percent = f"{100 * (ratio - 1):+.0f}"
    return "0" if percent in ("+0", "-0") else percent


def _note(record: LaunchRecord, place: Callable[[LaunchRecord], tuple[str, int]], text: str) -> Finding:
    kernel = record.analysis.name if record.analysis else record.kernel
    return Finding("PW027", Severity.NOTE, *place(record), kernel, f"{record.name}: {text}")


def _circumstances(pair: Pair) -> str:
    """What is not the kernel's own text: another launch geometry, other assumptions."""
    parts: list[str] = []
    old, new = pair.old, pair.new
    if (old.grid, old.block) != (new.grid, new.block):
        parts.append(f"launched with {_geometry(new)}, was {_geometry(old)}")
    if None not in (old.times, new.times) and old.times != new.times:
        parts.append(f"launched {_times(new)}, was {_times(old)}")
    if old.analysis is not None and new.analysis is not None:
        before, after = _assumptions(old.analysis), _assumptions(new.analysis)
        gone = [text for text in before if text not in after]
        come = [text for text in after if text not in before]
        if come:
            parts.append(f"assumed now: {come[0]}" + (f" and {len(come) - 1} more" if come[1:] else ""))
        elif gone:
            parts.append(f"no longer assumed: {gone[0]}" + (f" and {len(gone) - 1} more" if gone[1:] else ""))
    return "; ".join(parts)


def _times(record: LaunchRecord) -> str:
    return "once" if record.times == 1 else f"{record.times} times"


def _geometry(record: LaunchRecord) -> str:
    return f"<<<{','.join(map(str, record.grid))}; {','.join(map(str, record.block))}>>>"


def _assumptions(kernel: KernelAnalysis) -> tuple[str, ...]:
    """Messages of the assumptions without the places in them, which move with every edit."""
    return tuple(dict.fromkeys(_PLACES.sub("there", entry.message) for entry in kernel.assumptions))
