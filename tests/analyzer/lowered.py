"""Helpers of the lowering tests: CUDA text in, pseudo-code lines out."""

import re
from pathlib import Path

from wattslice import ir
from wattslice.frontend.cuda.read import read_cuda

from .ir_dump import lines_of


def lower(folder: Path, text: str) -> ir.Program:
    """Write `text` to a file of its own and read it."""
    path = folder / "test.cu"
    path.write_text(text)
    return read_cuda(path)


def kernel_of(folder: Path, body: str, parameters: str = "float* p, int n", before: str = "") -> ir.Kernel:
    """A kernel `k` with this body."""
    program = lower(folder, f"{before}\n__global__ void k({parameters}) {{ {body} }}\n")
    (kernel,) = program.kernels
    return kernel


def code(kernel: ir.Kernel | ir.Function) -> list[str]:
    """Pseudo-code without region and site numbers and without indentation."""
    lines = (re.sub(r"\br\d+[: ]|#\d+", "", line).strip(" |") for line in lines_of(kernel.body))
    return [line for line in lines if line not in ("{", "")]
