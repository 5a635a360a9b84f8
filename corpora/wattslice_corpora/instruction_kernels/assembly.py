"""Calls the assembler: PTX into a cubin, and what an instance of a chain became."""

from __future__ import annotations

import subprocess
from pathlib import Path

from wattslice_corpora.instruction_kernels.kernels import ENTRY, ChainInstruction, chain_entry, module_ptx
from wattslice_corpora.instruction_kernels.machine_code import Added, added
from wattslice_corpora.sass import SassFunction, disassemble

_LIMIT_S = 120


class AssemblyError(RuntimeError):
    """The assembler refused; the message has its words."""


def assemble(nvcc: str, source: Path, architecture: str, optimized: bool) -> Path:
    """The cubin beside the PTX file `source`, for ``sm_90`` or the like, with -O3 or -O0.

    Raises `AssemblyError`, and ``OSError`` when there is no such compiler.
    """
    cubin = source.with_suffix(".cubin")
    draft = cubin.with_suffix(".tmp")
    options = ("-cubin", f"-arch={architecture}", f"-Xptxas=-O{3 if optimized else 0}")
    try:
        done = subprocess.run(
            (nvcc, *options, "-o", str(draft), str(source)),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise AssemblyError(f"{source.name}: the assembler did not end within {_LIMIT_S} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise AssemblyError(f"{source.name}: does not assemble: {said[0]}")
    return draft.replace(cubin)


def instance_code(with_instances: Path, without: Path, instances: int) -> Added:
    """What an instance became, from two cubins. Raises `wattslice_corpora.sass.NoDisassemblerError`."""
    return added(_chain(with_instances), _chain(without), instances)


def assembled_instances(
    instructions: tuple[ChainInstruction, ...], nvcc: str, architecture: str, optimized: bool, folder: Path
) -> tuple[Added, ...]:
    """What an instance of each becomes; all go into one module in `folder`. Raises as the others do."""
    entries = tuple(
        chain_entry(instruction, with_instances, optimized, f"chain_{number}_{with_instances}")
        for number, instruction in enumerate(instructions)
        for with_instances in (True, False)
    )
    source = folder / f"{architecture}-{optimized}.ptx"
    source.write_text(module_ptx(entries), encoding="utf-8")
    cubin = assemble(nvcc, source, architecture, optimized)
    found = {function.name: function for function in disassemble(cubin.read_bytes())}
    return tuple(
        added(found[f"chain_{number}_True"], found[f"chain_{number}_False"], instruction.instances)
        for number, instruction in enumerate(instructions)
    )


def _chain(cubin: Path) -> SassFunction:
    return next(function for function in disassemble(cubin.read_bytes()) if function.name == ENTRY)
