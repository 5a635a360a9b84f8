"""What a person asks at home: what comes next and how long it takes, what came home, does it compile."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.measuring.builder import Builder, find_nvcc
from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.errors import ConfigurationError
from wattslice_corpora.measuring.instruction_plan import HOST
from wattslice_corpora.measuring.journal import read_entries
from wattslice_corpora.measuring.sensor import Board
from wattslice_corpora.measuring.summary import summarise
from wattslice_tools.campaign import sensor_check
from wattslice_tools.campaign.home import (
    INSTRUCTIONS,
    LOG,
    BoardFolder,
    Left,
    boards,
    judge_anew,
    left_of,
    merge,
    read_lines,
    state_of,
    timing_s,
)
from wattslice_tools.campaign.piece import BUDGET_S
from wattslice_tools.campaign.sections import ANCHORS, Section

_BEGIN_S = 15.0
"""Assumed, not measured yet: packages, the first builds, the driver."""


class Share(Struct, frozen=True):
    """What one piece takes of a section: configurations and predicted seconds."""

    section: Section
    count: int
    seconds: float


def pieces_of(left: tuple[Left, ...], budget_s: float = BUDGET_S) -> tuple[tuple[Share, ...], ...]:
    """How what is left falls into pieces of `budget_s`, by predicted seconds."""
    overhead_s = ANCHORS * timing_s() + _BEGIN_S
    pieces: list[list[Share]] = []
    room_s = 0.0
    for one in left:
        count, check_s = one.count, one.seconds - one.count * _each_s(one)
        while count or check_s:
            if room_s < max(_each_s(one), check_s):
                pieces.append([])
                room_s = budget_s - overhead_s
            fitting = min(count, int((room_s - check_s) / _each_s(one)))
            seconds = fitting * _each_s(one) + check_s
            pieces[-1].append(Share(one.section, fitting, seconds))
            room_s, count, check_s = room_s - seconds, count - fitting, 0.0
    return tuple(tuple(piece) for piece in pieces)


def _each_s(left: Left) -> float:
    return Left(left.section, 1, 1).seconds


def lines_of_next(left: tuple[Left, ...], budget_s: float = BUDGET_S) -> tuple[str, ...]:
    """What the next piece will do, and how many there are."""
    pieces = pieces_of(left, budget_s)
    if not pieces:
        return ("nothing is left: the campaign is done",)
    shares = "; ".join(
        f"{share.section.letter} {share.count} ({share.seconds / 60:.1f} min)" for share in pieces[0]
    )
    minutes = sum(one.seconds for one in left) / 60
    return (f"the next piece: {shares}", f"left: {minutes:.1f} minutes in {len(pieces)} pieces")


def plan_table(left: tuple[Left, ...]) -> tuple[str, ...]:
    """Markdown: sections with numbers and minutes, then pieces."""
    lines = ["| Section | what | of | left | minutes |", "|---|---|---:|---:|---:|"]
    lines += [
        f"| {one.section.letter} | {one.section.what} | {one.total} | {one.count} | {one.seconds / 60:.1f} |"
        for one in left
        if one.total
    ]
    lines += ["", "| Piece | sections | minutes |", "|---:|---|---:|"]
    overhead_s = ANCHORS * timing_s() + _BEGIN_S
    for number, piece in enumerate(pieces_of(left), start=1):
        shares = ", ".join(f"{share.section.letter} {share.count}" for share in piece)
        minutes = (overhead_s + sum(share.seconds for share in piece)) / 60
        lines.append(f"| {number} | {shares} | {minutes:.1f} |")
    return tuple(lines)


def left_for(campaign: Path, found: BoardFolder, each: int | None = None) -> tuple[Left, ...]:
    """What boards of that name have not measured yet; of every section only `each`."""
    plan = found.plan(each)
    kernels = found.folder / INSTRUCTIONS / "kernels"
    versions = {
        run.name(): run.configuration(found.chip.sm_count, kernels).version for run in plan.instructions
    }
    return left_of(plan, versions, state_of(campaign, found.board))


def any_board(campaign: Path, sm_count: int) -> BoardFolder:
    """A board that was never measured, for a plan."""
    nobody = Board("a board never measured", "GPU-plan", "", "", "", None)
    return BoardFolder(campaign / "plan", nobody, Chip(sm_count, "sm_90"), "")


def tell(campaign: Path, sm_count: int) -> int:
    """Prints the plan of every kind of board in the folder, or of one that was never measured."""
    by_name = {found.board.name: found for found in boards(campaign)}
    for found in by_name.values() or (any_board(campaign, sm_count),):
        print(f"{found.board.name}, {found.chip.sm_count} SMs", "", sep="\n")
        print(*plan_table(left_for(campaign, found)), "", sep="\n")
    return 0


def tell_merged(campaign: Path, packets: list[Path]) -> int:
    """Merges, and prints what every board has now."""
    faults = merge(campaign, packets)
    print(*board_lines(campaign), sep="\n")
    print(*faults, sep="\n")
    return 1 if faults else 0


def tell_judged(campaign: Path) -> int:
    """Judges every row of every board anew from its trace, and prints what every board has now."""
    for found in boards(campaign):
        print(f"{found.folder.name}: {judge_anew(found)} rows changed")
    print(*board_lines(campaign), sep="\n")
    return 0


def board_lines(campaign: Path) -> tuple[str, ...]:
    """A few lines for every board: rows, valid ones, sensor, traces, what is left."""
    lines: list[str] = []
    for found in boards(campaign):
        summary = summarise(read_entries(found.folder))
        runs = summarise(read_entries(found.folder / INSTRUCTIONS))
        traces = list(found.folder.rglob("*.csv.gz"))
        size = sum(path.stat().st_size for path in traces) / 2**20
        lines += [
            f"{found.folder.name}: {found.board.name}, driver {found.board.driver}",
            f"  {summary.rows} configurations, {summary.valid} valid, {summary.capped} at the power limit",
            f"  {runs.rows} runs of instructions, {runs.valid} valid",
            f"  {len(traces)} traces, {size:.1f} MiB",
            *(f"  {line}" for line in lines_of_next(left_for(campaign, found))),
        ]
    return tuple(lines)


def log_rows(campaign: Path) -> tuple[dict[str, object], ...]:
    """What the log says of sections, in the order of pieces."""
    return tuple(values for values in read_lines(campaign / LOG) if "section" in values)


def section_rows(rows: Iterable[dict[str, object]]) -> list[str]:
    """One line for a piece and section: anchors and the sensor check are of section a."""
    sums: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        key = int(str(row["piece"])), str(row["section"])
        found = sums.setdefault(key, [0.0, 0.0, 0.0, 0.0])
        for index, name in enumerate(("measured", "valid", "predicted_s", "charged_s")):
            found[index] += float(str(row[name]))
    order = {section.letter: number for number, section in enumerate(Section)}
    lines: list[str] = []
    for piece, letter in sorted(sums, key=lambda one: (one[0], order[one[1]])):
        measured, valid, predicted_s, charged_s = sums[piece, letter]
        minutes = f"{predicted_s / 60:.1f} | {charged_s / 60:.1f}"
        lines.append(f"| {piece} | {letter} | {measured:.0f} | {valid:.0f} | {minutes} |")
    return lines


def sources_of(found: BoardFolder, each: int | None = None) -> tuple[Path, ...]:
    """Every program of the plan, in the order it is needed."""
    plan = found.plan(each)
    programs = (*plan.anchors, *plan.configurations, *plan.counted)
    return tuple(dict.fromkeys((sensor_check.SOURCE, *(one.source for one in programs), HOST)))


def build_all(campaign: Path, architecture: str, jobs: int, flags: tuple[str, ...], each: int | None) -> int:
    """Compiles every program of the plan; prints seconds and what does not compile."""
    builder = Builder(find_nvcc(), campaign / "build", architecture, flags)
    sources = sources_of(any_board(campaign, 132), each)
    faults: list[str] = []

    def build(source: Path) -> None:
        try:
            builder.build(source)
        except ConfigurationError as error:
            faults.append(str(error))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin_s = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(build, sources))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{len(sources)} programs in {time.monotonic() - begin_s:.0f} s with {jobs} jobs on {os.cpu_count()} "
        f"cores: {cpu_s:.0f} s of CPU, {cpu_s / len(sources):.1f} s each; {len(faults)} do not compile"
    )
    print(*faults, sep="\n")
    return 1 if faults else 0
