"""Plain C kernels: a `.c` file, parsed by clang as C and lowered as CUDA is (`lower_c_program`)."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from wattslice.errors import FrontendError
from wattslice.frontend.parse_options import DEFAULT_C_STANDARD, ParseOptions
from wattslice.ir import Program


def read_c(path: Path, options: ParseOptions | None = None, source: bytes | None = None) -> Program:
    """Read a C file; `source` None: what is on the disk. What cannot be read is a diagnostic of the program.

    Raises `FrontendError` when it cannot be read at all, or holds errors and no kernel.
    """
    from wattslice.frontend.cuda.clang.flags import is_c
    from wattslice.frontend.cuda.clang.session import parse_cuda
    from wattslice.frontend.cuda.lowering.program import lower_c_program

    options = options or ParseOptions()
    if not is_c(options.standard):
        options = replace(options, standard=DEFAULT_C_STANDARD)
    parsed = parse_cuda(path, options, source)
    program = lower_c_program(parsed)
    error = next((error for error in parsed.diagnostics if error.is_error), None)
    if error is not None and not program.kernels:
        missing = parsed.recovered.missing_includes
        remedy = f"'{missing[0]}' was not found: name its folder with -I" if missing else ""
        message = f"not understood as C ({error.message})"
        remedy = remedy or "kernels must be C; CUDA belongs into .cu files"
        raise FrontendError(error.path or path, error.line, message, remedy)
    return program
