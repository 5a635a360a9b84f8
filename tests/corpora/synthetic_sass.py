"""What nvcc makes of a synthetic slice: the instructions of its loop, counted by what the slice promises."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.synthetic import KERNEL_NAME, OperationKind, Plan, SliceSpec, Space, source
from wattslice_corpora.synthetic.kinds import SCALAR_KINDS
from wattslice_tools.wild.sass import Instruction, SassFunction, disassemble

LOADS = {
    Space.GLOBAL: ("LDG",),
    Space.L2: ("LDG",),
    Space.SHARED: ("LDS", "LDSM"),
    Space.CONSTANT: ("LDC", "ULDC"),
    Space.TEXTURE: ("TLD", "TEX"),
    Space.REGISTERS: (),
}
TILE_INSTRUCTIONS = 2
"""A product of 16 x 16 x 16 is two HMMA of 16 x 8 x 16."""
TILE_LOADS = 4
"""A tile from global memory is four LDG of a thread; from shared memory one LDSM."""


class LoopCounts(Struct, frozen=True):
    """Instructions in the text of the outer loop, the body of the inner one counted once."""

    operations: int
    loads: int


def promised(spec: SliceSpec, numbers: Plan) -> LoopCounts:
    """What has to stand in the loop."""
    mains = numbers.mains + (numbers.round_mains if numbers.rounds else 0)
    if spec.kind is OperationKind.TENSOR:
        each = TILE_LOADS if spec.is_global else 1
        return LoopCounts(TILE_INSTRUCTIONS * mains, each * numbers.loads)
    if spec.kind is OperationKind.FP16:  # the compiler writes some additions as multiply-adds
        mains += numbers.lights
    return LoopCounts(mains, numbers.loads)


def compiled(
    spec: SliceSpec, folder: Path, architecture: str = "sm_90", *, is_whole: bool = False
) -> tuple[str, SassFunction]:
    """What nvcc says when it compiles the kernel or the whole program for `architecture`, and the kernel."""
    file = folder / "slice.cu"
    file.write_text(source(spec), encoding="utf-8")
    nvcc = shutil.which("nvcc")
    assert nvcc is not None
    cubin = folder / f"slice.{architecture}.cubin"
    whole = ("-Xcompiler=-Wall,-Wextra", "--keep", "--keep-dir", str(folder), "-o", str(folder / "slice"))
    options = whole if is_whole else ("-cubin", "-o", str(cubin))
    command = [nvcc, f"-arch={architecture}", *options, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    (function,) = disassemble(cubin.read_bytes())
    assert KERNEL_NAME in function.name
    return done.stdout + done.stderr, function


def loop_counts(spec: SliceSpec, function: SassFunction) -> LoopCounts:
    """Main operations and loads in the longest loop of the kernel."""
    body = _longest_loop(function)
    loads = sum(i.opcode.split(".")[0] in LOADS[spec.space] and "c[0x0]" not in i.operands for i in body)
    return LoopCounts(sum(_is_own(spec.kind)(instruction) for instruction in body), loads)


def _longest_loop(function: SassFunction) -> tuple[Instruction, ...]:
    labels = dict(function.labels)
    start, end = 0, 0
    for number, instruction in enumerate(function.instructions):
        target = re.search(r"`\((\.L\w+)\)", instruction.operands)
        if instruction.opcode.startswith("BRA") and target is not None:
            place = labels.get(target[1], number)
            if place < number and number - place > end - start:
                start, end = place, number
    return function.instructions[start : end + 1]


def _is_own(kind: OperationKind) -> Callable[[Instruction], bool]:
    if kind is OperationKind.TENSOR:
        return lambda i: i.opcode.startswith("HMMA")
    if kind is OperationKind.INT:  # other multiply-adds are addresses: only the chains square
        return lambda i: i.opcode == "IMAD" and len({_register(i, 1), _register(i, 2)}) == 1
    if kind is OperationKind.FP16:  # HFMA2 also loads constants
        return lambda i: i.opcode in ("HFMA2", "HFMA2.MMA", "HADD2") and "-RZ, RZ" not in i.operands
    return lambda i: i.opcode.split(".")[0] == SCALAR_KINDS[kind].main_sass


def _register(instruction: Instruction, place: int) -> str:
    return instruction.operands.split(",")[place].strip().removesuffix(".reuse")
