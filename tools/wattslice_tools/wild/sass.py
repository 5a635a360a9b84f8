"""Compile with nvcc, disassemble with nvdisasm, for the scripts of this folder."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from wattslice_corpora.sass import Instruction, SassFunction, disassemble, find_nvdisasm, parse

__all__ = ["Instruction", "SassFunction", "compile_cubin", "disassemble", "find_nvdisasm", "parse"]


def compile_cubin(source: Path, options: tuple[str, ...]) -> bytes | None:
    """The cubin of one source file; None when nvcc refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "out.cubin"
        command = ["nvcc", "-w", "-cubin", *options, "-o", str(target), str(source)]
        done = subprocess.run(command, capture_output=True, check=False)
        return target.read_bytes() if done.returncode == 0 and target.exists() else None
