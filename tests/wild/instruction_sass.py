"""Which machine code the chains of `wattslice measure --instructions` become; checked, and as a table.

    python tests/wild/instruction_sass.py [-o DOCUMENT --section NAME]

Every instruction is assembled with and without its instances, for several architectures, with -O3 and -O0;
what the loops differ by is divided by the number of instances. Ends with status 1 when an instance was
removed or merged: see `faults`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

from document import publish

from wattslice_corpora.instruction_kernels import INSTRUCTIONS, Added, ChainInstruction, assembled_instances

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
"""CUDA 13 assembles for Turing and newer only: Volta (sm_70), which the paper has, cannot be checked here."""


def faults(instruction: ChainInstruction, found: Added) -> tuple[str, ...]:
    """What is wrong with the machine code of an instance; empty when nothing is.

    One machine instruction for one instance has to be that exactly, up to three instructions of the loop. Of
    longer ones, opcodes come a whole number of times per instance, but for moves and additions that the
    assembler places as it likes; what gives an approximation to start from must not be shared by instances.
    """
    spare = Fraction(3, instruction.instances)
    if abs(found.count - 1) <= spare:
        return ()
    counts = dict(found.opcodes)
    complaints: list[str] = []
    if found.count < 1:
        complaints.append(f"{float(found.count):.3f} machine instructions for an instance")
    broken = sum(abs(count - round(count)) for name, count in counts.items() if name not in ("MOV", "IADD"))
    if broken > spare + found.count / 20:
        complaints.append(f"no whole number of {found}")
    shared = [name for name, count in counts.items() if name.startswith("MUFU") and count.denominator != 1]
    if shared:
        complaints.append(f"instances share {', '.join(shared)}")
    return tuple(complaints)


def main() -> int:
    """Assemble, check, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--section", default="instruction_sass")
    arguments = parser.parse_args()
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("nvcc is not on the PATH")
    columns = (*((name, True) for name in ARCHITECTURES), ("sm_90", False))
    headings = " | ".join(f"{name} -O{3 if level else 0}" for name, level in columns)
    lines = [
        f"| Instruction | Table I | {headings} |",
        f"|---|---|{'---|' * len(columns)}",
    ]
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        found = [
            assembled_instances(INSTRUCTIONS, nvcc, name, level, Path(folder)) for name, level in columns
        ]
    for instruction, codes in zip(INSTRUCTIONS, zip(*found, strict=True), strict=True):
        texts = [str(code) for code in codes]
        cells = [
            "same" if before == text else text for before, text in zip(("", *texts), texts, strict=False)
        ]
        lines.append(f"| `{instruction.name}` | {instruction.table_row or '–'} | {' | '.join(cells)} |")
        for (name, level), code in zip(columns, codes, strict=True):
            where = f"{instruction.name}, {name}, -O{3 if level else 0}"
            wrong += [f"{where}: {fault}" for fault in faults(instruction, code)]
    publish(arguments.output, arguments.section, lines)
    print(*wrong, sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
