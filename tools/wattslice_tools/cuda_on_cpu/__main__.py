"""``python -m wattslice_tools.cuda_on_cpu FILE [-- ARGUMENTS]``: a CUDA program with counters, run on a CPU.

It leaves ``wattslice-counts.txt``, which `wattslice profile FILE --counts` reads.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice.frontend.parse_options import ParseOptions
from wattslice_tools.cuda_on_cpu.running import build_probed


def main(words: list[str] | None = None) -> int:
    """Builds and runs the program; its exit status, 2 with a message where it cannot be built."""
    parser = argparse.ArgumentParser(
        prog="python -m wattslice_tools.cuda_on_cpu", description="Runs a CUDA program with counters on a CPU"
    )

    def several(*names: str, about: str, kind: type[str | Path] = str) -> None:
        parser.add_argument(*names, type=kind, action="append", default=[], help=about)

    parser.add_argument("file", type=Path)
    parser.add_argument("arguments", nargs="*", help="of the program, after --")
    several("--source", about="another file of the program", kind=Path)
    several("--flag", about="for g++")
    several("-I", "--include", about="folder of headers", kind=Path)
    several("-D", "--define", about="macro")
    said = parser.parse_args(words)
    options = ParseOptions(include_dirs=tuple(said.include), defines=tuple(said.define))
    try:
        with build_probed(said.file, options, said.flag, said.source) as program:
            for one in program.not_probed:
                print(f"{one.file}:{one.line}: this branch is not counted: {one.reason}", file=sys.stderr)
            return subprocess.call([program.executable, *said.arguments])
    except WattsliceError as error:
        print(error.__cause__ or "", f"wattslice_tools.cuda_on_cpu: {error}", sep="\n", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
