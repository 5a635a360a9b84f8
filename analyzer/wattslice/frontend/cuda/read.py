"""CUDA source files: parse with libclang, lower into the intermediate representation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattslice.ir import Program

if TYPE_CHECKING:
    from wattslice.frontend.cuda.clang.flags import ParseOptions
    from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions


def read_cuda(
    path: Path,
    options: ParseOptions | None = None,
    source: bytes | None = None,
    earlier: LoweredFunctions | None = None,
) -> Program:
    """Read a CUDA file: kernels inlined and instantiated, and the host functions around their launches.

    `source`: its bytes where they are newer than the disk (a text in an editor), None: what is on the disk.
    `earlier`: what is remembered of earlier texts of the file; what has not changed is taken from there.

    Raises `FrontendError` when nothing of the file can be understood; anything less is a diagnostic of the
    program (PW001 parse problem, PW002 include not found, PW005 call without body, PW006 unsupported
    construct, PW099 internal error), and the rest of the file is still there.
    """
    from wattslice.frontend.cuda.clang.session import parse_cuda
    from wattslice.frontend.cuda.lowering.program import lower_program

    return lower_program(parse_cuda(path, options, source), earlier)
