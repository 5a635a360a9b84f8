"""SASS as tuples, as nvdisasm lists it.

`nvdisasm` is found in $NVDISASM, on the PATH, or in the wheel `nvidia-cuda-nvdisasm` of the extra `dev`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from msgspec import Struct

_SECTION = re.compile(r"\s*\.section\s+\.text\.(\S+?),")
_LABEL = re.compile(r"(\.L\w+|\$\S+):")
_INSTRUCTION = re.compile(
    r"\s*/\*[0-9a-f]+\*/\s+(?:@(?P<not>!?)(?P<predicate>U?P\w+)\s+)?(?P<opcode>[A-Z0-9_.]+)\s*(?P<operands>.*?)\s*;"
)


class NoDisassemblerError(RuntimeError):
    """nvdisasm is not on this machine; the message says how to get it."""


class Instruction(Struct, frozen=True):
    """`@[!]predicate opcode operands`; predicate empty when there is none."""

    predicate: str
    negated: bool
    opcode: str
    operands: str


class SassFunction(Struct, frozen=True):
    """One kernel: its instructions and where the labels point (index of the next instruction)."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: tuple[tuple[str, int], ...]


def find_nvdisasm() -> str | None:
    """The disassembler, None when there is none."""
    spec = importlib.util.find_spec("nvidia")  # the wheel installs no command, only a file below this package
    folders = () if spec is None else tuple(spec.submodule_search_locations or ())
    wheels = (str(path) for folder in folders for path in Path(folder).glob("*/bin/nvdisasm"))
    return os.environ.get("NVDISASM") or shutil.which("nvdisasm") or next(wheels, None)


def disassemble(cubin: bytes) -> tuple[SassFunction, ...]:
    """The kernels of a cubin. Raises `NoDisassemblerError`, ``CalledProcessError`` for what is none."""
    tool = find_nvdisasm()
    if tool is None:
        raise NoDisassemblerError(
            "nvdisasm not found: pip install nvidia-cuda-nvdisasm, or set NVDISASM to its path"
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        text = subprocess.run([tool, "-c", file.name], capture_output=True, text=True, check=True).stdout
    return parse(text)


def parse(text: str) -> tuple[SassFunction, ...]:
    """Functions in a listing of `nvdisasm -c`."""
    functions: list[SassFunction] = []
    name, instructions, labels = "", list[Instruction](), list[tuple[str, int]]()
    for line in (*text.splitlines(), "\t.section .text.,"):
        if (found := _SECTION.match(line)) is not None or line.endswith(".text.,"):
            if name:
                functions.append(SassFunction(name, tuple(instructions), tuple(labels)))
            name, instructions, labels = found.group(1) if found else "", [], []
        elif (found := _LABEL.match(line.strip())) is not None:
            labels.append((found.group(1), len(instructions)))
        elif (found := _INSTRUCTION.match(line)) is not None:
            negated = found["not"] == "!"
            instructions.append(
                Instruction(found["predicate"] or "", negated, found["opcode"], found["operands"])
            )
    return tuple(functions)
