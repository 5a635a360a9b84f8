"""docs/appendix/lines.md: the lines of ten well-known kernels of the corpus, held against rules of reason.

    python -m wattslice_tools.accuracy.known_lines FILE

Two rules. Lines move the bytes of DRAM that their arrays have (`KNOWN`: by hand, at the sizes of the default
run). And a line has the share of the joules that energies of the literature (the means of the joint
model's priors, before any fit) give to the bytes that it moves and the instructions that it issues.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from pathlib import Path

from msgspec import Struct

from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import KernelLaunch, Overrides
from wattslice.launches.resolver import resolve_launches
from wattslice.power.attribution import Attribution, Part, attribute, line_powers, parts, slice_powers
from wattslice.power.slices import SliceWatts
from wattslice.slicing.slices import slice_kernel
from wattslice.workload.launch_work import launch_work, residency
from wattslice_corpora.manifest import load_manifest
from wattslice_models.energy import Component, EnergyModel
from wattslice_models.execution_time import Resource
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.joint import ENERGY_TERMS, PRIORS, Term, has_hbm
from wattslice_models.store import energy_model
from wattslice_models.workload import PASS_BYTES
from wattslice_tools.pages import write_page

GPU = "v100_pcie"
SHOWN = 0.02
"""Share of the kernel's operations from which a line is shown."""
APART = 2.0
"""Factor from which a share, and bytes against those by hand, count as implausible."""


class HandBytes(Struct, frozen=True):
    """Bytes of DRAM that the lines with one of these texts move together in one launch, and why."""

    texts: tuple[str, ...]
    dram_bytes: float
    why: str


class Known(Struct, frozen=True):
    """A kernel of the corpus with what its lines must move at its default sizes; `reading`: what a critical
    reader has to say of its lines and slices, by hand, not of this run.
    """

    program: str
    kernel: str
    lines: tuple[HandBytes, ...]
    reading: str


_MB = 1 << 20
KNOWN = (
    Known(
        "axpy",
        "axpyFloat",
        (HandBytes(("z[i] =",), 48 * _MB, "x, y and z of 2²² floats"),),
        "three streams and one fused multiply-add, so that all watts belong to one line. Loads and "
        "stores cost the same per byte: no public measurement tells them apart.",
    ),
    Known(
        "reduction",
        "reduceSequential",
        (HandBytes(("in[i]",), 4 * _MB, "2²⁰ floats"),),
        "the tree in shared memory (lines 33 to 37) has more than a third of what operations draw, though it "
        "moves nothing from DRAM: the compiler predicates the arm, so that all 8 warps issue it in "
        "each of 8 rounds, and in 52 of these 64 no lane works. That is what the machine code does,"
        " too.",
    ),
    Known(
        "transpose_variants",
        "transposePadded",
        (
            HandBytes(("in[(y + row)",), 16 * _MB, "2048² floats"),
            HandBytes(("out[(y + row)",), 16 * _MB, "2048² floats"),
        ),
        "both sides move the same bytes and draw the same, as they should: the padding leaves the "
        "tile one pass a row. Lines 27 and 35, the guards, are charged what they issue.",
    ),
    Known(
        "gemm_tiled",
        "gemmTiled",
        (
            HandBytes(("? a[row",), 4 * _MB, "1024² floats; L2 holds them for the 31 other times"),
            HandBytes(("? b[(start",), 4 * _MB, "as a"),
            HandBytes(("c[row * n",), 4 * _MB, "1024² floats"),
        ),
        "three quarters are the inner line: one multiply-add, one read of a row, and a quarter of a"
        " read of four words of `tileA[ty][k]`, which the compiler joins; all lanes read the same, "
        "and that is two passes. a and b come from DRAM once and from L2 32 times, which lines 17 and"
        " 18 have.",
    ),
    Known(
        "stencil_2d",
        "stencilNaive",
        (
            HandBytes(("* in[i]", "(in[i - r]"), 16 * _MB, "2048² floats; neighbours come from the caches"),
            HandBytes(("out[i] =",), 16 * _MB, "2048² floats but for the border"),
        ),
        "a block of 32 by 16 reads 128 sectors, 4 KiB, with its border; L1 is taken to keep them, so that "
        "34 MB of reads are left for L2, which lines 20 and 22 have. How many of them L1 loses to other "
        "blocks is in doubt.",
    ),
    Known(
        "histogram_privatised",
        "histogramShared",
        (HandBytes(("values[i]",), 16 * _MB, "2²² integers"),),
        "line 24 holds a stream from DRAM and an atomic in shared memory, and they cannot be told "
        "apart. The atomic is charged one pass a warp, the least there is: its values pile up in few "
        "bins, lanes that hit one bin take turns, and a note says that the time is a lower bound. "
        "Watts of the shared slice are too low.",
    ),
    Known(
        "prefix_sum",
        "scanTiles",
        (HandBytes(("in[i]",), 4 * _MB, "2²⁰ integers"), HandBytes(("out[i] =",), 4 * _MB, "2²⁰ integers")),
        "the machine code reads the eight sums with two loads of 16 bytes, which both lines use. "
        "Line 30 has them, two passes each; line 29 has 3.5 more a warp that nobody makes, as its reads "
        "are conditional in the source, and with it too much.",
    ),
    Known(
        "spmv_csr",
        "spmvVector",
        (
            HandBytes(
                ("values[entry]",),
                (8 * 32.5 + 4) * 65536,
                "values and columns of 1 to 64 entries in each of 65536 rows; L2 holds x",
            ),
        ),
        "the host draws 1 to 64 entries a row from a generator that is not followed; four times as "
        "many are assumed, and four times the bytes on line 33. The report says that it assumed "
        "them, with the interval of kernels in doubt. Seconds and joules are too many, shares of "
        "the other lines too small.",
    ),
    Known(
        "softmax",
        "softmaxThreePasses",
        (
            HandBytes(
                ("fmaxf(maximum, row[i])", "sum += expf(row", "result[i] ="),
                32 * _MB,
                "4096 rows of 1024 floats in and out; a row of 4 KiB stays in the caches for three passes",
            ),
        ),
        "line 36 brings the row from DRAM, lines 49 and 63 find it in the caches. Here the three "
        "share it alike (5.59 MB each): line 36 has too little, the others too much. The other 16.8"
        " MB of line 63 are its stores. Lines 44 and 58 read four words at once for all lanes, two passes.",
    ),
    Known(
        "nbody",
        "nbodyTiled",
        (HandBytes(("bodies[j]",), 0.25 * _MB, "16384 bodies of 16 bytes"),),
        "the machine code has 8 instructions a pair for line 15 (with three for tiny arguments of the"
        " root), 3 for line 16 and one for each of the other six, as here. In line 47 all lanes read one "
        "body of 16 bytes, which takes two passes. 64 blocks leave 16 SMs of 80 idle, which the idle board "
        "shows (46.9 W for 58.9).",
    ),
)


class LineCheck(Struct, frozen=True):
    """One line: its share of the operations' joules, and that by reason; what it moves in one launch."""

    line: int
    text: str
    power_w: float
    energy_j: float
    share: float
    reason_share: float
    dram_bytes: float
    l2_bytes: float
    l1_bytes: float
    shared_bytes: float
    warp_instructions: float

    @property
    def is_plausible(self) -> bool:
        """Whether its share is near that by reason."""
        low, high = sorted((self.share, self.reason_share))
        return high < 2 * SHOWN or high <= APART * low


class KernelCheck(Struct, frozen=True):
    """A kernel's lines, hottest first, and its slices by memory space. `rest_w`: of the lines not shown.
    `doubt`: of its counts or bytes.
    """

    known: Known
    doubt: str
    power_w: float
    static_w: float
    time_s: float
    rest_w: float
    lines: tuple[LineCheck, ...]
    slices: tuple[tuple[str, SliceWatts], ...]

    def lines_of(self, hand: HandBytes) -> tuple[LineCheck, ...]:
        """The lines that have one of its texts."""
        return tuple(line for line in self.lines if any(text in line.text for text in hand.texts))

    @property
    def faults(self) -> tuple[str, ...]:
        """What is implausible."""
        found = [
            f"line {line.line}: {line.share:.0%} of the joules, {line.reason_share:.0%} by reason"
            for line in self.lines
            if not line.is_plausible
        ]
        for hand in self.known.lines:
            moved = math.fsum(line.dram_bytes for line in self.lines_of(hand))
            low, high = sorted((moved, hand.dram_bytes))
            if high > APART * low:
                found.append(f"{_told(self, hand)}: {_mb(moved)} MB of DRAM, {_mb(hand.dram_bytes)} by hand")
        return tuple(found)


def _told(one: KernelCheck, hand: HandBytes) -> str:
    numbers = sorted(line.line for line in one.lines_of(hand))
    return f"line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


def check(known: Known, gpu: Gpu) -> KernelCheck:
    """One kernel at the sizes of its program's default run. Raises ``LookupError`` without it."""
    program = next(one for one in load_manifest() if one.name == known.program)
    launches = resolve_launches(read_cuda(program.file), Overrides(), gpu)
    launch = next(one for one in launches if one.kernel.name == known.kernel)
    model = energy_model(gpu)
    assert isinstance(model, EnergyModel)
    resident, counts = residency(launch, gpu), count(launch)
    work = launch_work(launch, resident, counts)
    assert work.workload is not None
    found = model.predict(work.workload, gpu)
    executed = parts(launch.kernel, counts, work, resident.isa, gpu)
    drawn = attribute(executed, found.components, found.power_w, found.static_power_w)
    lines = _lines(known, launch, executed, drawn, found.time_s, gpu)
    texts = [text for hand in known.lines for text in hand.texts]
    shown = tuple(one for one in lines if one.share >= SHOWN or any(text in one.text for text in texts))
    rest_w = drawn.operations_w - math.fsum(one.power_w for one in shown)
    cut, limit_w = slice_kernel(launch.kernel), gpu.power_limit_w or math.inf
    slices = slice_powers(cut, drawn, executed, found.utilisations, limit_w)
    return KernelCheck(
        known,
        work.workload.doubt,
        found.power_w,
        found.static_power_w,
        found.time_s,
        rest_w,
        shown,
        tuple((part.memory_space.value, one) for part, one in zip(cut, slices, strict=True)),
    )


def _lines(
    known: Known,
    launch: KernelLaunch,
    executed: tuple[Part, ...],
    drawn: Attribution,
    time_s: float,
    gpu: Gpu,
) -> tuple[LineCheck, ...]:
    threads = float(launch.blocks * launch.threads_per_block)
    warps = launch.blocks * math.ceil(launch.threads_per_block / 32)
    units: defaultdict[int, defaultdict[Component | Resource, float]]
    units = defaultdict(lambda: defaultdict(float))
    for part in executed:
        per_warp = part.of in (Component.ISSUE, Component.SHARED, Resource.LATENCY)
        units[part.span.line][part.of] += part.number * (warps if per_warp else threads)
    reason_j = {line: _by_reason(of, gpu) for line, of in units.items()}
    total_j, text = math.fsum(reason_j.values()), _text(launch)
    return tuple(
        LineCheck(
            line,
            text[line - 1].strip(),
            power_w,
            power_w * time_s,
            power_w / drawn.operations_w,
            reason_j[line] / total_j,
            units[line][Component.DRAM],
            units[line][Component.L2],
            units[line][Component.L1],
            units[line][Component.SHARED] * PASS_BYTES,
            units[line][Component.ISSUE],
        )
        for line, power_w in ((one.line, one.power_w) for one in line_powers(drawn))
    )


def _text(launch: KernelLaunch) -> list[str]:
    return Path(launch.kernel.span.file).read_text(encoding="utf-8").splitlines()


def _by_reason(units: dict[Component | Resource, float], gpu: Gpu) -> float:
    """Joules of a line by energies of the literature."""
    total = 0.0
    for of, number in units.items():
        if isinstance(of, Component):
            logarithm = PRIORS[ENERGY_TERMS[of]].mean
            logarithm += PRIORS[Term.HBM_DRAM].mean * has_hbm(gpu) if of is Component.DRAM else 0.0
            total += number * math.exp(logarithm) * 1e-12 * (PASS_BYTES if of is Component.SHARED else 1.0)
    return total


def page() -> str:
    """The whole page."""
    gpu = load_gpu(GPU)
    found = [check(known, gpu) for known in KNOWN]
    told = [
        f"- `{one.known.kernel}`, {fault}{f'; in doubt, and said so: {one.doubt}' if one.doubt else ''}."
        for one in found
        for fault in one.faults
    ]
    checked = sum(len(one.lines) + len(one.known.lines) for one in found)
    lines = [
        "<!-- generated by `python -m wattslice_tools.accuracy.known_lines`: do not edit by hand -->",
        "",
        "# Lines of ten known kernels",
        "",
        f"Ten kernels of the [corpus](corpus.md), at the sizes of their default runs, on the {gpu.name}: "
        "what each line draws above the idle board, what it moves, and two rules of reason.",
        "",
        "- *Reason*: the share that the line has by energies of the literature (the means of the priors, "
        "before any fit) for the same bytes and instructions.",
        "- By hand: the bytes of DRAM that the arrays of the lines have.",
        "- Shared, MB: passes of 128 bytes, whatever they carry; a broadcast of one word is a pass, too.",
        "- *Slices*: by memory space; what the board draws while each runs, times its share of time, adds "
        "up to the kernel.",
        "- *Read*: by hand, once: what to believe, and what not.",
        "",
        f"Implausible (off by more than a factor of {APART:g}): {len(told)} of {checked}.",
        "",
        *told,
        *([""] if told else []),
        "Where one object is read on several lines, they share what of it comes from DRAM and L2, whichever "
        "reads it first ([Slicing](../slicing.md#watts-of-lines-and-slices)).",
        "",
    ]
    for one in found:
        lines += _section(one)
    return "\n".join(lines)


def _section(one: KernelCheck) -> list[str]:
    rows = [
        f"| {line.line} | `{line.text.replace('|', chr(92) + '|')}` | {line.power_w:.3g} "
        f"| {line.energy_j * 1e6:.3g} | {line.share:.0%} | {line.reason_share:.0%} "
        f"| {_mb(line.dram_bytes)} | {_mb(line.l2_bytes)} | {_mb(line.l1_bytes)} | {_mb(line.shared_bytes)} "
        f"| {line.warp_instructions / 1e6:.3g} |"
        for line in one.lines
    ]
    hands = [
        f"- {_told(one, hand)}: {_mb(math.fsum(line.dram_bytes for line in one.lines_of(hand)))} MB of DRAM, "
        f"{_mb(hand.dram_bytes)} by hand ({hand.why})"
        for hand in one.known.lines
    ]
    return [
        f"## `{one.known.kernel}` of {one.known.program}.cu",
        "",
        f"{one.power_w:.0f} W, {one.static_w:.1f} W of them the idle board and its clocks; "
        f"{one.time_s * 1e6:.3g} µs. Lines not shown: {one.rest_w:.2g} W.",
        "",
        *hands,
        "",
        "| line | | W | µJ | share | reason | DRAM, MB | L2, MB | L1, MB | shared, MB | warp instr. 10⁶ |",
        "|---" * 11 + "|",
        *rows,
        "",
        "| slice | share of the time | W while it runs | W of the kernel |",
        "|---|---|---|---|",
        *(_slice_row(one, space, part) for space, part in one.slices),
        "",
        f"Read: {one.known.reading}",
        "",
    ]


def _slice_row(one: KernelCheck, space: str, part: SliceWatts) -> str:
    if part.power_w is None or part.time_share is None or part.share_of_power is None:
        return f"| {space} | – | – | – |"
    return (
        f"| {space} | {part.time_share:.0%} | {part.power_w:.3g} | {part.share_of_power * one.power_w:.3g} |"
    )


def _mb(number: float) -> str:
    return f"{number / 1e6:.3g}" if number else ""


if __name__ == "__main__":
    sys.exit(write_page(sys.argv[1:], "accuracy.known_lines", page))
