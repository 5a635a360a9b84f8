"""Short texts of PTX, read."""

from __future__ import annotations

from pathlib import Path

from wattslice.frontend.ptx.syntax.parser import parse_ptx
from wattslice.frontend.ptx.syntax.syntax import Function, Instruction, Module, Operand

HEAD = ".version 8.7\n.target sm_90a, debug\n.address_size 64\n"


def read(text: str) -> Module:
    return parse_ptx(HEAD + text, Path("a.ptx"))


def body_of(text: str) -> Function:
    module = read(f".visible .entry k()\n{{\n{text}\n}}\n")
    assert module.problems == ()
    return module.functions[0]


def one(text: str) -> Instruction:
    """The only instruction of a text."""
    (found,) = (part for part in body_of(text).body or () if isinstance(part, Instruction))
    return found


def operand(text: str) -> Operand:
    return one(f"mov.b32 {text};").operands[0]


def problem(text: str) -> tuple[int, str, str | None]:
    """Line, message and lost function of the first problem; lines count from the text."""
    found = read(text).problems[0]
    assert found.remedy
    return found.line - 3, found.message, found.function
