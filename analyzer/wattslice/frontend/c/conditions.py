"""The integer expressions of `#if` and `#elif`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wattslice.frontend.c.types import UNSIGNED_LONG
from wattslice.ir import COMPARISONS, INT64, BinaryOp, Type
from wattslice.ir.c_arithmetic import fold, wrapped


@dataclass(frozen=True, slots=True)
class _Number:
    """An integer of 64 bits; `value` None where C defines none, as behind `defined(N) &&`."""

    value: int | None
    type: Type = INT64


class ConditionParser:
    """Integer expressions of `#if` by precedence climbing; names that are left are 0."""

    _LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<=", ">=", "<", ">"),
               ("<<", ">>"), ("+", "-"), ("*", "/", "%"))  # fmt: skip
    _WORDS = re.compile(r"\d\w*|[A-Za-z_]\w*|<<|>>|<=|>=|==|!=|&&|\|\||\S")

    def __init__(self, text: str) -> None:
        self._tokens = self._WORDS.findall(text)
        self._position = 0

    def value(self) -> int:
        """Value of the whole expression. Raises `ValueError` when it has none."""
        value = self._conditional().value
        if value is None or self._position < len(self._tokens):
            raise ValueError(self._peek())
        return value

    def _conditional(self) -> _Number:
        condition = self._level(0)
        if self._peek() != "?":
            return condition
        self._position += 1
        then = self._conditional()
        self._expect(":")
        otherwise = self._conditional()
        if condition.value is None:
            return condition
        return then if condition.value else otherwise

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise ValueError(token)
        self._position += 1

    def _level(self, level: int) -> _Number:
        if level == len(self._LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while self._peek() in self._LEVELS[level]:
            op = self._peek()
            self._position += 1
            left = _apply(op, left, self._level(level + 1))
        return left

    def _unary(self) -> _Number:
        token = self._peek()
        self._position += 1
        if token == "(":
            value = self._conditional()
            self._expect(")")
            return value
        if token == "!":
            return _apply("==", self._unary(), _Number(0))
        if token == "~":
            return _apply("^", self._unary(), _Number(-1))
        if token in ("-", "+"):
            return _apply(token, _Number(0), self._unary())
        if token[:1].isdigit():
            digits = token.rstrip("uUlL")
            value = int(digits, 8 if digits[:1] == "0" and digits.isdigit() and len(digits) > 1 else 0)
            is_unsigned = "u" in token[len(digits) :].lower() or value >= 1 << 63
            type_ = UNSIGNED_LONG if is_unsigned else INT64
            return _Number(wrapped(value, type_), type_)
        if token[:1].isalpha() or token[:1] == "_":
            return _Number(0)
        raise ValueError(token)


def _apply(op: str, left: _Number, right: _Number) -> _Number:
    a, b = left.value, right.value
    if op in ("&&", "||"):
        is_or = op == "||"
        if a is None or bool(a) is is_or:  # the right side is not evaluated
            return _Number(None if a is None else int(is_or))
        return _Number(None if b is None else int(bool(b)))
    operator = BinaryOp(op)
    is_signed = left.type.signed and (right.type.signed or op in ("<<", ">>"))
    type_ = INT64 if is_signed else UNSIGNED_LONG
    value = None if a is None or b is None else fold(operator, a, b, type_)
    return _Number(None if value is None else int(value), INT64 if operator in COMPARISONS else type_)
