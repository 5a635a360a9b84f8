"""The intermediate representation as a flat list that is equal for equal trees, whatever their objects."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from wattslice import ir
from wattslice.ir.walking import deep_recursion


def ir_tokens(program: ir.Program) -> list[str]:
    """Everything in a program, every span too; a variable has its number in the order of first mention."""
    found: list[str] = []
    numbers: dict[int, int] = {}

    def number_of(entry: object) -> int:
        return numbers.get(id(entry), -1)

    def visit(part: Any) -> None:
        if isinstance(part, ir.Variable):
            if id(part) in numbers:
                found.append(f"variable {numbers[id(part)]}")
                return
            numbers[id(part)] = len(numbers)
        if isinstance(part, frozenset):
            part = tuple(sorted(part, key=number_of))
        if isinstance(part, tuple):
            found.append(f"{len(part)} of")
            for entry in part:
                visit(entry)
        elif isinstance(part, Struct):
            found.append(type(part).__name__)
            for name in part.__struct_fields__:
                visit(getattr(part, name))
        else:
            found.append(repr(part))

    with deep_recursion():
        visit(program)
    return found
