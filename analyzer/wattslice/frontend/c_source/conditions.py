"""The integer expressions of `#if` and `#elif`."""

from __future__ import annotations

import re


class ConditionParser:
    """Integer expressions of `#if` by precedence climbing; names that are left are 0."""

    _LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<=", ">=", "<", ">"),
               ("<<", ">>"), ("+", "-"), ("*", "/", "%"))  # fmt: skip
    _WORDS = re.compile(r"\d\w*|[A-Za-z_]\w*|<<|>>|<=|>=|==|!=|&&|\|\||\S")

    def __init__(self, text: str) -> None:
        self._tokens = self._WORDS.findall(text)
        self._position = 0

    def value(self) -> int:
        """Value of the whole expression. Raises `ValueError` when it is none."""
        value = self._level(0)
        if self._peek() == "?":
            self._position += 1
            then = self.value()
            self._expect(":")
            otherwise = self.value()
            return then if value else otherwise
        if self._position < len(self._tokens) and self._peek() not in (")", ":"):
            raise ValueError(self._peek())
        return value

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise ValueError(token)
        self._position += 1

    def _level(self, level: int) -> int:
        if level == len(self._LEVELS):
            return self._unary()
        left = self._level(level + 1)
        while self._peek() in self._LEVELS[level]:
            op = self._peek()
            self._position += 1
            left = self._apply(op, left, self._level(level + 1))
        return left

    def _unary(self) -> int:
        token = self._peek()
        self._position += 1
        if token == "(":
            value = self.value()
            self._expect(")")
            return value
        if token == "!":
            return int(not self._unary())
        if token in ("-", "+", "~"):
            value = self._unary()
            return {"-": -value, "+": value, "~": ~value}[token]
        if token[:1].isdigit():
            digits = token.rstrip("uUlL")
            return int(digits, 8 if digits[:1] == "0" and digits.isdigit() and len(digits) > 1 else 0)
        if token[:1].isalpha() or token[:1] == "_":
            return 0
        raise ValueError(token)

    @staticmethod
    def _apply(op: str, left: int, right: int) -> int:
        match op:
            case "||":
                return int(bool(left or right))
            case "&&":
                return int(bool(left and right))
            case "==":
                return int(left == right)
            case "!=":
                return int(left != right)
            case "<":
                return int(left < right)
            case ">":
                return int(left > right)
            case "<=":
                return int(left <= right)
            case ">=":
                return int(left >= right)
            case "|":
                return left | right
            case "^":
                return left ^ right
            case "&":
                return left & right
            case "<<":
                return left << (right & 63)
            case ">>":
                return left >> (right & 63)
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return int(left / right)
            case _:
                return left - right * int(left / right)
