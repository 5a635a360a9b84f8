"""Which machine code the chains of `wattslice measure --instructions` become; checked, and as a table.

    python -m wattslice_tools.wild.instruction_sass [-o docs/appendix/machine-code.md]

Every instruction is assembled with and without its instances, for several architectures, with -O3 and -O0;
what the loops differ by is divided by the number of instances. Ends with status 1 when an instance was
removed or merged: see `faults` in instruction_kernels/machine_code.py.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from wattslice_corpora.instruction_kernels import INSTRUCTIONS, assembled_instances, faults
from wattslice_tools.wild.document import publish

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
"""CUDA 13 assembles for Turing and newer only: Volta (sm_70), which the paper has, cannot be checked here."""


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
    lines = [f"| Instruction | Table I | {headings} |", f"|---|---|{'---|' * len(columns)}"]
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
