"""Compare `instructions_per_thread` with what SASS executes, kernel by kernel.

    python -m wattslice_tools.wild.sass_check FILE.cu... [-I DIR] [-D NAME=VALUE]
        [-o docs/appendix/instructions.md --section NAME]

Each file is compiled by nvcc; each launch read from its host code is run in `sass_emulator.py` for a few
threads spread over the grid, and compared with the lowering for the same launch. A kernel whose control flow
depends on data, or that calls a subroutine, is shown but left out of the summary (marked ~). With -o the
tables replace the section `sass_check NAME` of the document.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import resolve_launches
from wattslice.workload.instructions import InstructionMix, isa_of, lower_instructions
from wattslice.workload.instructions.kinds import InstructionKind
from wattslice_models.gpu import load_gpu
from wattslice_tools.wild.document import write_section
from wattslice_tools.wild.sass import SassFunction, compile_cubin, disassemble
from wattslice_tools.wild.sass_emulator import BudgetError, Execution, Thread, run

FIRST_PARAMETER = {"sm_80": 0x160, "sm_90": 0x210}
"""Offset of the parameters in constant bank 0, of the architectures that can be checked."""
_GPUS = {"sm_80": "a100", "sm_90": "h100"}
"""The GPU that the lowering is for."""
SAMPLES = 24
SMALL_BLOCK = 64
"""Threads of a block of which each is sampled, in blocks spread over the grid."""
GROUPS: dict[str, tuple[InstructionKind, ...]] = {
    "fp": tuple(
        InstructionKind(k)
        for k in ["ffma", "fadd", "fmul", "fsetp", "dfma", "dadd", "dmul", "dsetp", "hfma2", "mufu"]
    ),
    "int": tuple(
        InstructionKind(k)
        for k in [
            "imad",
            "iadd",
            "lop",
            "shf",
            "isetp",
            "mov",
            "conversion",
            "pack",
            "int_to_float",
            "wide_conversion",
            "other",
        ]
    ),
    "memory": tuple(
        InstructionKind(k) for k in ["ldg", "stg", "lds", "sts", "ldl", "stl", "ldc", "tex", "atom"]
    ),
    "control": tuple(InstructionKind(k) for k in ["branch", "bar", "shfl"]),
}


def parameters_of(launch: KernelLaunch, first: int) -> dict[int, int | None]:
    """The constant bank as words by offset, parameters from `first` on: known integers, made-up pointers."""
    words: dict[int, int | None] = {}
    offset = first
    for number, (parameter, argument) in enumerate(
        zip(launch.kernel.parameters, launch.arguments, strict=True)
    ):
        size = max(1, parameter.type.size_bytes)
        align = min(size, 8)
        offset = -(-offset // align) * align
        value: int | None = int(argument) if isinstance(argument, int) else None
        if parameter.type.kind.value == "pointer":
            value = 0x7F0000000000 + (number << 34)
        words[offset] = None if value is None else value & 0xFFFFFFFF
        if size == 8:
            words[offset + 4] = None if value is None else value >> 32 & 0xFFFFFFFF
        offset += size
    return words


def sampled_places(threads: int, blocks: int) -> Iterator[tuple[int, int]]:
    """Threads, each with its block: all of a small block equally often, else some over block and grid."""
    if threads <= SMALL_BLOCK:
        samples = threads * min(blocks, -(-SAMPLES // threads))
        yield from ((sample % threads, sample * blocks // samples) for sample in range(samples))
    else:
        for sample in range(SAMPLES):
            yield (sample * threads // SAMPLES + 7 * sample) % threads, sample * blocks // SAMPLES


def sampled(function: SassFunction, launch: KernelLaunch, first: int) -> tuple[list[Execution], bool]:
    """What some threads spread over the grid execute, and whether any branch was unknown."""
    (gx, gy, gz), (bx, by, bz) = launch.grid, launch.block
    threads, blocks = bx * by * bz, gx * gy * gz
    found: list[Execution] = []
    for thread, block in sampled_places(threads, blocks):
        place = Thread(
            (thread % bx, thread // bx % by, thread // (bx * by)),
            (block % gx, block // gx % gy, block // (gx * gy)),
            launch.block,
            launch.grid,
        )
        found.append(run(function, place, parameters_of(launch, first)))
    return found, any(one.unknown_branches > 0 for one in found)


def executed(
    function: SassFunction, launch: KernelLaunch, first: int
) -> tuple[Counter[InstructionKind], bool]:
    """Mean instructions per thread over sampled threads, and whether any branch was unknown."""
    threads, unknown = sampled(function, launch, first)
    total: Counter[InstructionKind] = Counter()
    for one in threads:
        total.update(one.counts)
    return Counter({kind: number / len(threads) for kind, number in total.items()}), unknown


HEADER = (
    "| Kernel | SASS | Lowered | Ratio | fp, int, memory, control (lowered/SASS) |",
    "|---|---|---|---|---|",
)


class Comparison:
    """The rows of launches that are off, and the ratios by group of those whose control flow is known."""

    def __init__(self) -> None:
        self.off: list[str] = []
        self.ratios: dict[str, list[float]] = {name: [] for name in ("all", *GROUPS)}

    def add(self, name: str, truth: Counter[InstructionKind], mix: InstructionMix, unknown: bool) -> str:
        """The row of one launch."""
        cells: list[str] = []
        total = sum(truth.values())
        for group, kinds in GROUPS.items():
            real, ours = sum(truth[k] for k in kinds), sum(mix.number(k) for k in kinds)
            cells.append(f"{ours:.0f}/{real:.0f}")
            if not unknown and real >= 1:
                self.ratios[group].append(ours / real)
        if not unknown:
            self.ratios["all"].append(mix.total / total)
        numbers = f"{total:.1f} | {mix.total:.1f} | {mix.total / total:.2f}"
        row = f"| {'~' * unknown}{name} | {numbers} | {', '.join(cells)} |"
        if not unknown and not 0.8 <= mix.total / total <= 1.25:
            self.off.append(row)
        return row

    def summary(self) -> list[str]:
        """One row for each group of instructions."""
        lines = ["| Group | Launches | Median | 10 % to 90 % | Within 25 % |", "|---|---|---|---|---|"]
        for name, values in self.ratios.items():
            if not values:
                continue
            deciles = sorted(values)
            low, high = deciles[len(deciles) // 10], deciles[-1 - len(deciles) // 10]
            within = sum(0.8 <= value <= 1.25 for value in values) / len(values)
            middle = statistics.median(values)
            lines.append(
                f"| {name} | {len(values)} | {middle:.2f} | {low:.2f} to {high:.2f} | {within:.0%} |"
            )
        return lines


def main() -> None:
    """Print one row per launch and the summary."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-I", dest="include", action="append", default=[])
    parser.add_argument("-D", dest="define", action="append", default=[])
    parser.add_argument("--arch", default="sm_80", choices=tuple(FIRST_PARAMETER))
    parser.add_argument("--details", action="store_true")
    parser.add_argument("-o", dest="document", type=Path)
    parser.add_argument("--section", default="fit")
    arguments = parser.parse_args()
    flags = [*(f"-I{d}" for d in arguments.include), *(f"-D{d}" for d in arguments.define)]
    options = ParseOptions(
        include_dirs=tuple(Path(d) for d in arguments.include), defines=tuple(arguments.define)
    )
    gpu = load_gpu(_GPUS[arguments.arch])
    found = Comparison()
    left_out: list[str] = []
    print(*HEADER, sep="\n")
    for path in arguments.files:
        cubin = compile_cubin(path, (f"-arch={arguments.arch}", *flags))
        if cubin is None:
            left_out.append(f"{path.name} (nvcc refuses it)")
            continue
        functions = {function.name: function for function in disassemble(cubin)}
        for launch in resolve_launches(read_cuda(path, options), NO_OVERRIDES, gpu):
            function = functions.get(launch.kernel.mangled_name)
            if function is None:
                continue
            try:
                truth, unknown = executed(function, launch, FIRST_PARAMETER[arguments.arch])
            except BudgetError:
                left_out.append(f"`{launch.kernel.name}` (more instructions than the budget)")
                continue
            mix = lower_instructions(launch.kernel, count(launch), isa_of(gpu))
            print(found.add(launch.kernel.name, truth, mix, unknown), flush=True)
            if arguments.details:
                for kind in InstructionKind:
                    if truth[kind] or mix.number(kind):
                        print(f"    {kind.value:12}{truth[kind]:10.1f}{mix.number(kind):10.1f}")
    summary = found.summary()
    if left_out:
        summary += ["", "Left out: " + ", ".join(dict.fromkeys(left_out)) + "."]
    print("", *summary, sep="\n")
    if arguments.document is not None:
        lines = [*summary, "", "Launches beyond 25 %:", "", *HEADER, *found.off, ""]
        write_section(arguments.document, f"sass_check {arguments.section}", lines)


if __name__ == "__main__":
    main()
