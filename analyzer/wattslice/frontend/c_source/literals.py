"""Literals and integer constant expressions of C."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

import re

from wattslice import ir
from wattslice.frontend.c_source.nodes import Node
from wattslice.ir import INT32, Type, TypeKind


def fold_integers(op: str, left: int, right: int) -> int | None:
    """`left op right` in C; None when it is undefined or no arithmetic."""
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return _quotient(left, right) if right else None
        case "%":
            return left - right * _quotient(left, right) if right else None
        case "<<":
            return left << right if 0 <= right < 64 else None
        case ">>":
            return left >> right if 0 <= right < 64 else None
        case _:
            return None


def _quotient(left: int, right: int) -> int:
    """Division that rounds towards zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8, "f": 12, "v": 11}


def constant_of(node: Node) -> tuple[int | float, Type]:
    """The value and type of a literal."""
    text: str = node.value
    if node.type == "char":
        inner = text[text.index("'") + 1 : -1]
        if inner[:1] != "\\":
            return ord(inner[0]), INT32
        if inner[1:2] == "x":
            return int(inner[2:], 16), INT32
        return (int(inner[1:], 8) if inner[1:].isdigit() else _ESCAPES.get(inner[1], 0)), INT32
    if "float" in node.type or "double" in node.type:
        stem = text.rstrip("fFlL") if not text.lower().startswith("0x") else text.rstrip("lL")
        value = float.fromhex(stem) if text.lower().startswith("0x") else float(stem)
        single = text[-1] in "fF" and not text.lower().startswith("0x")
        return value, ir.FLOAT32 if single else ir.FLOAT64
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    value = int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
    bits = 64 if "l" in suffix or value >= 1 << 32 or (value >= 1 << 31 and "u" not in suffix) else 32
    return value, Type(TypeKind.INT, bits=bits, signed="u" not in suffix)
