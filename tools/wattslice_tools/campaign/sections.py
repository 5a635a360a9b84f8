"""What the campaign measures, section by section, the most valuable first: any beginning is worth having."""

from __future__ import annotations

import random
from enum import Enum
from functools import cache
from itertools import product
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice_corpora.manifest import CorpusKernel, RunSize, load_manifest
from wattslice_corpora.measuring.bench import Configuration, Timing
from wattslice_corpora.measuring.instruction_plan import Run, instruction_plan, studies
from wattslice_corpora.measuring.plan import SLICES, kernel_configurations, slice_configuration, sweep_plan
from wattslice_corpora.measuring.program import Choice
from wattslice_corpora.records import sha256
from wattslice_corpora.synthetic import InputData, OperationKind, SliceSpec, Space, SpecError, default_grid
from wattslice_corpora.synthetic.plan import is_feasible
from wattslice_tools.campaign.probes import gap_probes, probes

TIMING = Timing(idle_s=0.3, warmup_s=0.7, window_s=2.1, period_s=0.015, start_limit_s=12.0)
START_S = 1.0
"""Assumed, not measured yet: seconds for a context and the program's data, and for judging its trace."""
TUNER = "tuner"
ANCHORS = 3
VARIANTS = 60
COUNTED = 40
_TEMPLATE = Path(__file__).with_name("tiled_gemm.cu")
_SHARED_LIMIT_BYTES = 48 << 10
_SEED = 0


class Section(Enum):
    """The letters of the plan. The text is what a person reads."""

    SENSOR = "a", "sensor check: idle, step response, counter against integral, launch gap"
    ROOFLINE = "b", "roofline sweep: fp32, fp64, fp16, tensor cores; live operands and zeros"
    PROBES = "c", "microbenchmarks: latency, bandwidth, throughput, block dispatch, empty kernels"
    CORPUS = "d", "corpus kernels at their large size: good and bad variants first"
    TUNER = "e", f"tuner space: {VARIANTS} tiled matrix products in random order"
    INSTRUCTIONS = "f", "energies of PTX instructions: MTSM, SMA, single readings, energy counter"
    COUNTERS = "g", f"hardware counters of {COUNTED} corpus kernels (ncu), if permitted"
    REST = "h", "corpus kernels at their medium size"
    AGAIN = "i", "what was not valid, once more"

    def __init__(self, letter: str, what: str) -> None:
        self.letter = letter
        self.what = what


class Plan(Struct, frozen=True):
    """All that is to be measured on one kind of board.

    `powers`: by section, for the bench. `instructions`: the runs of section f; `counted`: kernels of g.
    `anchors`: measured in every piece before anything else, so that pieces and boards can be compared; where
    none of them runs, nothing would.
    """

    powers: tuple[tuple[Section, tuple[Configuration, ...]], ...]
    instructions: tuple[Run, ...]
    counted: tuple[Configuration, ...]
    anchors: tuple[Configuration, ...]

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """Those of all sections that the bench measures, in order."""
        return tuple(one for _, some in self.powers for one in some)


@cache
def make_plan(sm_count: int, board: str, folder: Path, each: int | None = None) -> Plan:
    """The plan for a chip; sources go into `folder`, once a process. `each`: so many of every section."""
    anchors = tuple(
        slice_configuration(spec, SLICES, board, folder)
        for spec in (
            SliceSpec(Space.REGISTERS, OperationKind.FP32, None, sm_count),
            SliceSpec(Space.GLOBAL, OperationKind.FP32, 0.25, sm_count),
            SliceSpec(Space.L2, OperationKind.FP32, 0.25, sm_count),
        )
    )
    roofline = _roofline(sm_count, board, folder)
    slices = tuple(
        slice_configuration(spec, SLICES, board, folder)
        for spec in (*_throughputs(sm_count), *default_grid(sm_count)[:24])
    )
    probing = (*(probe.configuration(board) for probe in probes(sm_count)), *slices)
    powers = (
        (Section.SENSOR, tuple(probe.configuration(board) for probe in gap_probes(sm_count))),
        (Section.ROOFLINE, roofline),
        (Section.PROBES, _unseen(probing, roofline)),
        (Section.CORPUS, _corpus(board, RunSize.LARGE)),
        (Section.TUNER, _tuner(board, folder)),
        (Section.REST, _corpus(board, RunSize.MEDIUM)),
    )
    return Plan(
        tuple((section, some[:each]) for section, some in powers),
        _instructions()[: None if each is None else 2 * each],
        _counted(board)[: COUNTED if each is None else each],
        anchors[:each],
    )


def anchored(anchors: tuple[Configuration, ...], piece: int) -> tuple[Configuration, ...]:
    """The anchors of a piece: the same launches under names of their own."""
    return tuple(replace(one, name=f"{one.name}--piece{piece}") for one in anchors)


def _unseen(some: tuple[Configuration, ...], before: tuple[Configuration, ...]) -> tuple[Configuration, ...]:
    """Each once, and none that comes before anyway."""
    names = {one.name for one in before}
    return tuple({one.name: one for one in some if one.name not in names}.values())


def _roofline(sm_count: int, board: str, folder: Path) -> tuple[Configuration, ...]:
    """Single and double precision as the fitted roofline takes it, then halves, tensor cores and zeros."""
    more: list[SliceSpec] = []
    halves, tensor = OperationKind.FP16, OperationKind.TENSOR
    for kind, density in (
        *product((halves,), (0.5, 4.0, 16.0, 64.0, 256.0)),
        *product((tensor,), (2.0, 16.0, 64.0, 128.0, 512.0)),
    ):
        more.append(SliceSpec(Space.GLOBAL, kind, density, sm_count))
    for kind, density in (
        *product((OperationKind.FP32, OperationKind.FP64, halves), (0.5, 16.0, 256.0)),
        *product((tensor,), (2.0, 64.0, 512.0)),
    ):
        more.append(SliceSpec(Space.GLOBAL, kind, density, sm_count, data=InputData.ZEROS))
        if kind in (OperationKind.FP32, OperationKind.FP64):  # what the zeros are compared with
            more.append(SliceSpec(Space.GLOBAL, kind, density, sm_count))
    others = [slice_configuration(spec, SLICES, board, folder) for spec in more if is_feasible(spec)]
    random.Random(_SEED).shuffle(others)
    return (*sweep_plan(sm_count, board, folder, _SEED), *others)


def _throughputs(sm_count: int) -> tuple[SliceSpec, ...]:
    """Every kind of operation from registers alone, with live operands and zeros; then from near memory."""
    found: list[SliceSpec] = []
    near = product((Space.SHARED, Space.L2), (OperationKind.FP32, OperationKind.TENSOR))
    wanted = (
        *((Space.REGISTERS, kind, None, data) for data in InputData for kind in OperationKind),
        *((space, kind, 4.0, InputData.RANDOM) for space, kind in near),
    )
    for space, kind, density, data in wanted:
        try:
            found.append(SliceSpec(space, kind, density, sm_count, data=data))
        except SpecError:
            continue  # reciprocals of zeros
    return tuple(spec for spec in found if is_feasible(spec))


def _corpus(board: str, size: RunSize) -> tuple[Configuration, ...]:
    """Kernels of programs that are variants of each other, then the others, each part in random order."""
    chance = random.Random(_SEED)
    found: list[Configuration] = []
    for paired in (True, False):
        part = [
            one
            for program in load_manifest()
            if program.repeatable and paired == bool(program.variants)
            for one in _at(program, size, board)
        ]
        found += chance.sample(part, len(part))
    return tuple(found)


def _at(program: CorpusKernel, size: RunSize, board: str) -> tuple[Configuration, ...]:
    return tuple(
        one for run in program.runs if run.size is size for one in kernel_configurations(program, run, board)
    )


def _counted(board: str) -> tuple[Configuration, ...]:
    """The medium size: a profiler launches a kernel many times over."""
    programs = [program for program in load_manifest() if program.repeatable]
    ordered = sorted(programs, key=lambda program: not program.variants)
    return tuple(one for program in ordered for one in _at(program, RunSize.MEDIUM, board))


def tuner_space() -> tuple[tuple[int, int, int, int, int], ...]:
    """Rows, columns and depth of a block's tile, rows and columns of a thread's; in random order."""
    space = [
        (rows, columns, depth, thread_rows, thread_columns)
        for rows, columns, depth, thread_rows, thread_columns in product(
            (32, 64, 128), (32, 64, 128), (8, 16, 32), (2, 4, 8), (2, 4, 8)
        )
        if 64 <= rows * columns // (thread_rows * thread_columns) <= 1024
        and 4 * depth * (rows + 1 + columns) <= _SHARED_LIMIT_BYTES
    ]
    return tuple(random.Random(_SEED).sample(space, VARIANTS))


def _tuner(board: str, folder: Path) -> tuple[Configuration, ...]:
    names = ("kTileM", "kTileN", "kTileK", "kThreadM", "kThreadN")
    text = _TEMPLATE.read_text(encoding="utf-8")
    found: list[Configuration] = []
    for sizes in tuner_space():
        benchmark = "tiled_gemm_" + "_".join(map(str, sizes))
        path = folder / "sources" / f"{benchmark}.cu"
        path.parent.mkdir(parents=True, exist_ok=True)
        constants = ", ".join(f"{name} = {size}" for name, size in zip(names, sizes, strict=True))
        path.write_text(f"constexpr int {constants};\n{text}", encoding="utf-8")
        found.append(
            Configuration(
                name=f"{TUNER}-{benchmark}",
                version=sha256(path),
                dataset=f"{TUNER}-{board}",
                benchmark=benchmark,
                source=path,
                choice=Choice("tiledGemm"),
                input="random",
            )
        )
    return tuple(found)


def _instructions() -> tuple[Run, ...]:
    """One instruction for every row of the paper's table with -O3, both variants: the first of the plan."""
    plan = instruction_plan(studies(levels=(True,)), _SEED)
    rows = {
        (run.study.instruction.category, run.study.instruction.table_row, run.study.variant)
        for run in plan
        if run.with_instances and run.study.instruction.table_row
    }
    found: list[Run] = []
    left = set(rows)
    for run in plan:  # what comes until every row of the table has its instruction
        if not left:
            break
        found.append(run)
        if run.with_instances:
            study = run.study
            left.discard((study.instruction.category, study.instruction.table_row, study.variant))
    return tuple(found)
