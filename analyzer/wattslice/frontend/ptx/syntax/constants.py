"""Constants and constant expressions of PTX: their values, by the rules of PTX ISA 4.5."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable

from wattslice.frontend.ptx.syntax.lexer import Cursor, is_number
from wattslice.frontend.ptx.syntax.syntax import Immediate

Value = int | float

_DEPTH = 64
_UNARY = frozenset("+-!~")
_CAST = {".s64": True, ".u64": False}


def _divide(left: Value, right: Value) -> Value:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - int(_divide(left, right)) * right


_ARITHMETIC: dict[str, tuple[int, Callable[[Value, Value], Value]]] = {
    "*": (10, lambda a, b: a * b),
    "/": (10, _divide),
    "+": (9, lambda a, b: a + b),
    "-": (9, lambda a, b: a - b),
    "<": (7, lambda a, b: int(a < b)),
    ">": (7, lambda a, b: int(a > b)),
    "<=": (7, lambda a, b: int(a <= b)),
    ">=": (7, lambda a, b: int(a >= b)),
    "==": (6, lambda a, b: int(a == b)),
    "!=": (6, lambda a, b: int(a != b)),
    "&&": (2, lambda a, b: int(bool(a) and bool(b))),
    "||": (1, lambda a, b: int(bool(a) or bool(b))),
}
_INTEGER: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "%": (10, _remainder),
    "<<": (8, lambda a, b: a << (b & 63)),
    ">>": (8, lambda a, b: a >> (b & 63)),
    "&": (5, lambda a, b: a & b),
    "^": (4, lambda a, b: a ^ b),
    "|": (3, lambda a, b: a | b),
}
_LEVEL = {sign: level for table in (_ARITHMETIC, _INTEGER) for sign, (level, _) in table.items()}
_OCTAL = re.compile(r"0[0-7]+")


def literal_value(token: str) -> Value:
    """The value of one number token (without sign)."""
    prefix = token[:2].lower()
    if prefix == "0f":
        return struct.unpack(">f", bytes.fromhex(token[2:]))[0]
    if prefix == "0d":
        return struct.unpack(">d", bytes.fromhex(token[2:]))[0]
    digits = token.rstrip("U")
    if prefix in ("0x", "0b"):
        return int(digits, 0)
    if _OCTAL.fullmatch(digits):
        return int(digits, 8)
    return int(digits) if digits.isascii() and digits.isdecimal() else float(digits)


def constant(cursor: Cursor) -> Immediate:
    """The constant expression at the cursor.

    Raises PtxSyntaxError for what is none. A `|` is an operator here: two results never begin with a number.
    """
    words: list[str] = []
    value = _wrapped(_expression(cursor, 0, words, 0))
    return Immediate("".join(words), value)


def begins_constant(token: str) -> bool:
    """Whether a token can begin a constant expression."""
    return is_number(token) or token in _UNARY or token in ("(", "WARP_SZ")


def integer(cursor: Cursor, what: str) -> int:
    """A constant expression that must be a whole number; `what` says of what."""
    found = constant(cursor).value
    if isinstance(found, float):
        cursor.fail(f"{what} must be a whole number, {found} found")
    return found


def _expression(cursor: Cursor, lowest: int, words: list[str], depth: int) -> Value:
    if depth > _DEPTH:
        cursor.fail(f"an expression nested deeper than {_DEPTH}", "compute the constant beforehand")
    left = _operand(cursor, words, depth)
    while (level := _LEVEL.get(cursor.token, 0)) > lowest:
        sign = _taken(cursor, words)
        left = _applied(cursor, sign, left, _expression(cursor, level, words, depth + 1))
    if lowest == 0 and cursor.token == "?":
        _taken(cursor, words)
        first = _expression(cursor, 0, words, depth + 1)
        words.append(":")
        cursor.expect(":")
        second = _expression(cursor, 0, words, depth + 1)
        return first if left else second
    return left


def _operand(cursor: Cursor, words: list[str], depth: int) -> Value:
    token = cursor.token
    if is_number(token):
        if not token.isascii():
            cursor.fail(f"{token[:40]!r} as a number")
        if len(token) > 400:  # beyond every type; int() would also take its time
            cursor.fail("a number of more than 400 digits")
        return literal_value(_taken(cursor, words))
    if token == "WARP_SZ":
        _taken(cursor, words)
        return 32
    if token in _UNARY:
        _taken(cursor, words)
        if depth > _DEPTH:
            cursor.fail(f"an expression nested deeper than {_DEPTH}", "compute the constant beforehand")
        return _signed(cursor, token, _operand(cursor, words, depth + 1))
    if token == "(":
        _taken(cursor, words)
        if cursor.token in _CAST:
            signed = _CAST[_taken(cursor, words)]
            _closed(cursor, words)
            value = _operand(cursor, words, depth + 1)
            if not math.isfinite(value):
                cursor.fail(f"{value} as an integer")
            return _cast(int(value), signed)
        inner = _expression(cursor, 0, words, depth + 1)
        _closed(cursor, words)
        return inner
    return cursor.fail(f"a constant expected, {cursor.shown} found")


def _taken(cursor: Cursor, words: list[str]) -> str:
    words.append(cursor.token)
    return cursor.take()


def _closed(cursor: Cursor, words: list[str]) -> None:
    words.append(")")
    cursor.expect(")")


def _signed(cursor: Cursor, sign: str, value: Value) -> Value:
    if sign == "-":
        return -value
    if sign == "+":
        return value
    if sign == "!":
        return int(not value)
    if isinstance(value, float):
        cursor.fail("'~' of a floating-point number")
    return ~value


def _applied(cursor: Cursor, sign: str, left: Value, right: Value) -> Value:
    if sign in ("/", "%") and right == 0:
        cursor.fail("a division by zero in a constant")
    if sign in _ARITHMETIC:
        return _wrapped(_ARITHMETIC[sign][1](left, right))
    if isinstance(left, float) or isinstance(right, float):
        cursor.fail(f"'{sign}' of a floating-point number")
    return _wrapped(_INTEGER[sign][1](left, right))


def _wrapped(value: Value) -> Value:
    """Integers have 64 bits; those from 2^63 on are unsigned."""
    if isinstance(value, float) or -(1 << 63) <= value < 1 << 64:
        return value
    return _cast(value, True)


def _cast(value: int, signed: bool) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if signed and value >> 63 else value
