"""The table of a branch profile: what was run, and which way the branches went."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from wattslice.branch_profile.profile import LOOP, ArmProbability, BranchProfile, DataSet, weighted_mean
from wattslice.profiling.interpreted import DataSetRun
from wattslice.report.terminal import ORNAMENT, Column, fitting_table, make_console, print_stripped, texts
from wattslice.units import line_ranges, percent, printable, tail, three_digits, time

Quote = Callable[[str, int], str]
"""The text of a line of a file of the profile."""
_PLACE = 24


def write_profile(profile: BranchProfile, runs: Sequence[DataSetRun], quote: Quote, file: TextIO) -> None:
    """What was run, the branches of each kernel, and those that no data set came to."""
    console = make_console(file)
    parts: list[RenderableType] = [_runs(runs, console.width), Text()] if runs else []
    for kernel in dict.fromkeys(arm.kernel for arm in profile.arms):
        arms = [arm for arm in profile.arms if arm.kernel == kernel]
        parts += [_heading(kernel, arms), _branches(arms, profile, quote, console.width), Text()]
        if unvisited := [arm for arm in arms if arm.probability is None]:
            parts += [Text(f"no data set came to {_places(unvisited)}", style="dim"), Text()]
    if not profile.arms:
        parts.append(Text("no branch in what was run"))
    print_stripped(console, *parts)


def _heading(kernel: str, arms: Sequence[ArmProbability]) -> Text:
    """The kernel, and the file where all its branches lie in one."""
    heading = Text(printable(kernel), style="bold")
    files = {arm.file for arm in arms}
    return heading.append(f"  {printable(files.pop())}", style="dim not bold") if len(files) == 1 else heading


def _runs(runs: Sequence[DataSetRun], width: int) -> Table:
    columns = (
        Column("kernel", texts(printable(run.kernel) for run in runs), least=12, cut=True),
        Column("data set", texts(printable(run.data_set) for run in runs), least=8, cut=True),
        Column("threads", texts(f"{run.threads}" for run in runs), right=True),
        Column(
            "thread instructions",
            texts(f"{run.execution.thread_instructions}" for run in runs),
            right=True,
            give_up=1,
        ),
        Column("time", texts(time(run.time_s) for run in runs), right=True, give_up=2),
    )
    return fitting_table(columns, width)


def _branches(arms: Sequence[ArmProbability], profile: BranchProfile, quote: Quote, width: int) -> Table:
    files = dict.fromkeys(arm.file for arm in arms)
    places = [f"{arm.line}" if len(files) == 1 else tail(f"{arm.file}:{arm.line}", _PLACE) for arm in arms]
    columns = [
        Column("line", texts(printable(place) for place in places), right=len(files) == 1),
        Column("arm", texts(arm.arm for arm in arms)),
        Column("visits", texts(f"{sum(arm.visits)}" for arm in arms), right=True, give_up=2),
        Column("taken", texts(f"{sum(arm.taken)}" for arm in arms), right=True, give_up=1),
        Column("mean", texts(_share(arm.probability) for arm in arms), right=True),
    ]
    if any(sum(1 for visits in arm.visits if visits) > 1 for arm in arms):
        columns.append(Column("range", texts(_range(arm) for arm in arms), right=True))
    if any(arm.arm == LOOP for arm in arms):
        trips = texts(_trips(arm, profile.data_sets) for arm in arms)
        columns.append(Column("per entry", trips, right=True, give_up=3))
    quoted = tuple(Text(printable(quote(arm.file, arm.line).strip()), style="dim") for arm in arms)
    columns.append(Column("", quoted, least=20, wanted=20, stretch=True, cut=True, give_up=ORNAMENT))
    return fitting_table(columns, width)


def _range(arm: ArmProbability) -> str:
    """Least and greatest probability of the data sets that came by."""
    shares = [taken / visits for taken, visits in zip(arm.taken, arm.visits, strict=True) if visits]
    if not shares:
        return "–"
    low, high = _share(min(shares)), _share(max(shares))
    return low if low == high else f"{low} to {high}"


def _share(share: float | None) -> str:
    """As percent; what nearly always happens is not what always does."""
    return ">99 %" if share is not None and 0.995 <= share < 1 else percent(share)


def _trips(arm: ArmProbability, data_sets: tuple[DataSet, ...]) -> str:
    """Iterations of a loop each time it is entered."""
    mean = weighted_mean(data_sets, arm.taken, arm.entries) if arm.entries else None
    return "" if mean is None else f"×{three_digits(mean)}"


def _places(arms: Sequence[ArmProbability]) -> str:
    by_file: dict[str, set[int]] = {}
    for arm in arms:
        by_file.setdefault(arm.file, set()).add(arm.line)
    places = (f"{printable(file)}: {line_ranges(tuple(lines))}" for file, lines in by_file.items())
    return "; ".join(places)
