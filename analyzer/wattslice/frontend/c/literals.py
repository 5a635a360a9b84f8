"""Literals of C: values and types."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

import re

from wattslice import ir
from wattslice.frontend.c.nodes import Node
from wattslice.frontend.c.types import UNSIGNED_LONG
from wattslice.ir import INT32, Type, TypeKind
from wattslice.ir.c_arithmetic import wrapped

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
    type_ = integer_type(value, suffix, is_decimal=digits[:1] != "0")
    return wrapped(value, type_), type_


def integer_type(value: int, suffix: str, *, is_decimal: bool) -> Type:
    """The first type that holds an integer literal (C11 6.4.4.1); `suffix` in lower case.

    Decimal literals without `u` are signed unless only an unsigned 64-bit integer holds them.
    """
    for bits in (64,) if "l" in suffix else (32, 64):
        if "u" not in suffix and value < 1 << (bits - 1):
            return Type(TypeKind.INT, bits=bits)
        if ("u" in suffix or not is_decimal) and value < 1 << bits:
            return Type(TypeKind.INT, bits=bits, signed=False)
    return UNSIGNED_LONG
