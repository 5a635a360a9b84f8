"""One launch counted three times, by class and thread: in its source, in its PTX, in its SASS."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from wattslice import ir
from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile, ProbabilitySource, total_counts
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.frontend.ptx.read import read_ptx
from wattslice.ir.operation_counts import operations
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import handed_over, resolve_launches
from wattslice.workload.instructions import lower_instructions
from wattslice_models.gpu import load_gpu
from wattslice_tools.wild.ptx_files import ptx_of
from wattslice_tools.wild.sass import Instruction, SassFunction, compile_cubin, disassemble
from wattslice_tools.wild.sass_check import FIRST_PARAMETER, sampled
from wattslice_tools.wild.sass_emulator import BudgetError, Execution

CLASSES: tuple[str, ...] = (
    "fp32",
    "fp64",
    "integer",
    "special",
    "control",
    "global_load",
    "global_store",
    "shared_load",
    "shared_store",
    "atomic",
    "barrier",
)
Counts = dict[str, float]
Lines = dict[tuple[str, int], float]


class Instructions(Struct, frozen=True):
    """Instructions per thread: SASS as estimated from the source and from PTX, PTX and SASS as executed.

    `sass` is None where it was not run.
    """

    estimated_from_source: float
    estimated_from_ptx: float
    ptx: float
    sass: float | None


class Compared(Struct, frozen=True):
    """One launch. `source`, `ptx`, `sass`: operations of each class per launched thread.

    `sass` is None where it was not run. `opcodes` are the PTX instructions executed per thread,
    `sass_opcodes` those of SASS. `source_lines` and `ptx_lines`: floating-point operations per thread by file
    name and line. `unknown`: control flow depends on data, so that SASS shows one path only.
    `assumed_in_source`, `assumed_in_ptx`: the analyzer does not know a trip count or which way a branch goes.
    `uneven`: classes of which the threads run in SASS do not all make the same number.
    """

    name: str
    source: Counts
    ptx: Counts
    sass: Counts | None
    opcodes: Counter[str]
    sass_opcodes: Counter[str]
    source_lines: Lines
    ptx_lines: Lines
    unknown: bool
    assumed_in_source: bool
    assumed_in_ptx: bool
    instructions: Instructions
    uneven: frozenset[str]


def _operations_of_sass(here: Instruction) -> tuple[str, float] | None:
    """Class and number of source operations that one SASS instruction is worth; None: it computes nothing.

    A fused multiply-add is two. Moves, conversions and reads of special registers are none.
    """
    name = here.opcode.split(".")[0]
    operands = [part.strip() for part in here.operands.split(",")]
    if name in _FLOAT:
        cls = "fp64" if name[0] == "D" else "fp32"
        return cls, _FLOAT[name]
    if name in ("IMAD", "UIMAD"):
        zeros = sum(part in ("RZ", "URZ") for part in operands[1:])
        return None if zeros >= 2 else ("integer", 2.0 - min(zeros, 1))
    if name in ("IADD3", "UIADD3"):
        terms = sum(part not in ("RZ", "URZ") and "P" not in part for part in operands[1:])
        return "integer", float(max(1, terms - 1))
    if name in ("LEA", "ULEA"):
        return "integer", 2.0
    if name in _INTEGER:
        return "integer", 1.0
    if name == "MUFU":
        return "special", 1.0
    if name in ("BRA", "EXIT", "BRX"):
        decides = here.predicate not in ("", "PT", "UPT") or operands[0].lstrip("!").startswith(("P", "UP"))
        return ("control", 1.0) if decides or name == "BRX" else None
    found = _MEMORY.get(name)
    return None if found is None else (found, 1.0)


_FLOAT = {"FFMA": 2.0, "FADD": 1.0, "FMUL": 1.0, "FSETP": 1.0, "FMNMX": 1.0, "FSET": 1.0, "FCHK": 1.0} | {
    "DFMA": 2.0,
    "DADD": 1.0,
    "DMUL": 1.0,
    "DSETP": 1.0,
}
_INTEGERS = "LOP3 ULOP3 SHF USHF ISETP UISETP IABS IMNMX POPC FLO BREV VABSDIFF SHFL VOTE VOTEU MATCH REDUX"
_INTEGER = frozenset(_INTEGERS.split())
_MEMORY = (
    {"LDG": "global_load", "LD": "global_load", "STG": "global_store", "ST": "global_store"}
    | {"LDS": "shared_load", "LDSM": "shared_load", "STS": "shared_store"}
    | {"ATOM": "atomic", "ATOMG": "atomic", "ATOMS": "atomic", "RED": "atomic", "BAR": "barrier"}
)


def compared(
    path: Path, includes: tuple[Path, ...], defines: tuple[str, ...], arch: str, kept: Path
) -> Iterator[Compared]:
    """The launches of one file that source and PTX both have."""
    flags = tuple(f"-D{define}" for define in defines)
    ptx = ptx_of(path, list(includes), (f"-arch={arch}", "-lineinfo", *flags), kept)
    if ptx is None:
        return
    program = read_ptx(ptx)
    of_ptx = {kernel.mangled_name: kernel for kernel in program.kernels}
    cubin = compile_cubin(path, (f"-arch={arch}", *flags, *(f"-I{folder}" for folder in includes)))
    of_sass = {function.name: function for function in disassemble(cubin)} if cubin is not None else {}
    options = ParseOptions(include_dirs=includes, defines=defines)
    for launch in resolve_launches(read_cuda(path, options), NO_OVERRIDES, load_gpu("v100")):
        name = launch.kernel.mangled_name
        if name in of_ptx:
            yield _three_times(launch, of_ptx[name], program, of_sass.get(name))


def _three_times(
    launch: KernelLaunch, kernel: ir.Kernel, program: ir.Program, function: SassFunction | None
) -> Compared:
    here, there = count(launch), count(handed_over(launch, kernel, program.globals))
    threads: list[Execution] = []
    unknown = False
    if function is not None:
        with contextlib.suppress(BudgetError):
            threads, unknown = sampled(function, launch, FIRST_PARAMETER["sm_80"])
    executed: Counter[str] = Counter()
    for machine in kernel.machine_instructions:
        executed[machine.opcode] += there.thread_counts[machine.region]  # pyright: ignore[reportArgumentType]
    of_source, of_ptx = total_counts(launch.kernel, here), total_counts(kernel, there)
    sass, opcodes = _of_sass(threads)
    return Compared(
        launch.kernel.name,
        {name: getattr(of_source, name) for name in CLASSES},
        {name: getattr(of_ptx, name) for name in CLASSES},
        sass if threads else None,
        executed,
        opcodes,
        _by_line(launch.kernel, here),
        _by_line(kernel, there),
        unknown,
        _assumed(here),
        _assumed(there),
        Instructions(
            lower_instructions(launch.kernel, here).total,
            lower_instructions(kernel, there).total,
            float(executed.total()),
            float(opcodes.total() - opcodes["NOP"]) if threads else None,
        ),
        _uneven(threads),
    )


def _assumed(profile: ExecutionProfile) -> bool:
    loops = any(loop.trip_count is None for loop in profile.loops)
    return loops or any(arm.source is not ProbabilitySource.STATIC for arm in profile.arms)


def _uneven(threads: list[Execution]) -> frozenset[str]:
    alone = [_of_sass([thread])[0] for thread in threads]
    return frozenset(name for name in CLASSES if len({counts[name] for counts in alone}) > 1)


def _of_sass(threads: list[Execution]) -> tuple[Counts, Counter[str]]:
    """Operations by class and instructions by opcode, the mean of some threads."""
    sums: Counts = dict.fromkeys(CLASSES, 0.0)
    opcodes: Counter[str] = Counter()
    for thread in threads:
        for instruction, times in thread.instructions.items():
            share = times / len(threads)
            opcodes[instruction.opcode] += share  # pyright: ignore[reportArgumentType]
            if (worth := _operations_of_sass(instruction)) is not None:
                sums[worth[0]] += worth[1] * share
    return sums, opcodes


def _by_line(kernel: ir.Kernel, profile: ExecutionProfile) -> Lines:
    found: Lines = {}
    for part in operations(kernel):
        if part.operation in _FLOATING:
            place = Path(part.span.file).name, part.span.line
            found[place] = found.get(place, 0.0) + part.number * profile.thread_counts[part.region]
    return found


_FLOATING = frozenset({ir.OperationClass.FP32, ir.OperationClass.FP64, ir.OperationClass.FP16})
