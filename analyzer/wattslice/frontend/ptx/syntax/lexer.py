"""The tokens of PTX text, one after the other, and where they stand; constants that they make.

One regular expression finds them all; every quantifier that can meet hostile text is possessive, so that the
time is proportional to the length. Nothing is kept but the current token.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from typing import NoReturn

from wattslice.frontend.ptx.syntax.syntax import Immediate
from wattslice.patterns import regex

# A mnemonic with its modifiers is one token (`ld.global.nc.f32`, `shared::cluster`), and so is `%tid.x`.
_TOKEN = regex(
    r"""
    (?: \s++ | //[^\n]*+ | /\*(?s:.*?)\*/ | \#[^\n]*+ | @@DWARF[^\n]*+ )*+
    (
      [A-Za-z_$%][\w$]*+ (?: (?: \. | :: ) [\w$]++ )*+              # word
    | \.[A-Za-z_][\w$]*+ (?: :: [\w$]++ )*+                         # directive, or a modifier standing apart
    | 0[fF][0-9a-fA-F]{8} | 0[dD][0-9a-fA-F]{16}                    # floating point, bit by bit
    | 0[xX][0-9a-fA-F]++U? | 0[bB][01]++U?
    | \d++ (?: \.\d*+ (?:[eE][+-]?\d++)? | [eE][+-]?\d++ | U )?
    | "[^"\\\n]*+ (?: \\. [^"\\\n]*+ )*+"
    | /\*(?s:.*+) | "[^\n]*+                                         # a comment or a string without end
    | << | >> | <= | >= | == | != | && | \|\|
    | [][{}()<>,;:@!|+\-*/%&^~=?]
    | \Z
    | .                                                             # what PTX has no use for
    )
    """,
    re.VERBOSE | re.ASCII,
)
_SHOWN = 40


class PtxSyntaxError(Exception):
    """Text that cannot be read at a line; the parser makes a `Problem` of it."""

    def __init__(self, line: int, message: str, remedy: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.remedy = remedy


REGENERATE = "write the file again with nvcc -ptx, or mend the line"


class Cursor:
    """A position in PTX text. `token` is the token there, empty at the end.

    Line ends must be plain `\\n`. Lines are counted as the cursor goes; `reset` is the only way back.
    """

    __slots__ = ("_counted", "_line", "_match", "_matches", "_text", "token")

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted, self._line = 0, 1
        self.jump(0)

    def jump(self, position: int) -> None:
        """Go to the first token at or after a position."""
        self._matches = _TOKEN.finditer(self._text, position)
        self._match = next(self._matches)
        self.token = self._match[1]

    def mark(self) -> tuple[int, int]:
        """A place to come back to, with its line."""
        return self.position, self.line

    def reset(self, mark: tuple[int, int]) -> None:
        """Go back to a place."""
        self._counted, self._line = mark
        self.jump(mark[0])

    def advance(self) -> None:
        """Go to the next token; at the end, stay."""
        found = next(self._matches, None)
        if found is not None:
            self._match = found
            self.token = found[1]

    @property
    def position(self) -> int:
        """Where the token begins."""
        return self._match.start(1)

    @property
    def line(self) -> int:
        """The line on which the token begins, counted from 1."""
        position = self._match.start(1)
        self._line += self._text.count("\n", self._counted, position)
        self._counted = position
        return self._line

    def accept(self, token: str) -> bool:
        """Step over the token if it is this one."""
        if self.token != token:
            return False
        self.advance()
        return True

    def expect(self, token: str) -> None:
        """Step over the token, which must be this one."""
        if self.token != token:
            self.fail(f"'{token}' expected, {self.shown} found")
        self.advance()

    def take(self) -> str:
        """The token, stepped over."""
        token = self.token
        self.advance()
        return token

    def word(self, what: str) -> str:
        """A name, stepped over; `what` says of what in the message when there is none."""
        if not is_word(self.token):
            self.fail(f"{what} expected, {self.shown} found")
        return self.take()

    def string(self, what: str) -> str:
        """A text in quotes, stepped over, without the quotes."""
        if len(self.token) < 2 or self.token[0] != '"' or self.token[-1] != '"':
            self.fail(f"{what} in quotes expected, {self.shown} found")
        return self.take()[1:-1]

    @property
    def shown(self) -> str:
        """The token as messages show it."""
        if not self.token:
            return "the end of the file"
        if ord(self.token[0]) < 32:
            return f"the character {ord(self.token[0]):#04x}"
        return f"'{self.token[:_SHOWN]}...'" if len(self.token) > _SHOWN else f"'{self.token}'"

    def fail(self, message: str, remedy: str = REGENERATE) -> NoReturn:
        """Raise PtxSyntaxError for the line of the token."""
        raise PtxSyntaxError(self.line, message, remedy)

    def skip_braces(self) -> str:
        """The text of a `{ ... }` that holds no braces, up to the end where the brace is never closed."""
        begin = self.position
        end = self._text.find("}", begin)
        end = len(self._text) if end < 0 else end
        self.jump(end)
        self.accept("}")
        return self._text[begin:end]


def is_word(token: str) -> bool:
    """Whether a token is a name or a mnemonic."""
    return token[:1].isalpha() or (token[:1] in ("_", "$", "%") and len(token) > 1) or token == "_"


def is_number(token: str) -> bool:
    """Whether a token is a number without sign."""
    return "0" <= token[:1] <= "9"


def is_directive(token: str) -> bool:
    """Whether a token begins with a dot."""
    return token[:1] == "."


# ---------------------------------------------------------------------------
# Constants and constant expressions of PTX: their values, by the rules of PTX ISA 4.5.


Value = int | float

_DEPTH = 64
_UNARY = frozenset("+-!~")
_CAST = {".s64": True, ".u64": False}


def _divide(left: Value, right: Value) -> Value:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


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
    "%": (10, lambda a, b: a - int(_divide(a, b)) * b),
    "<<": (8, lambda a, b: a << (b & 63)),
    ">>": (8, lambda a, b: a >> (b & 63)),
    "&": (5, lambda a, b: a & b),
    "^": (4, lambda a, b: a ^ b),
    "|": (3, lambda a, b: a | b),
}
_LEVEL = {sign: level for table in (_ARITHMETIC, _INTEGER) for sign, (level, _) in table.items()}
_OCTAL = regex(r"0[0-7]+")


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
    return Immediate(_wrapped(_expression(cursor, 0, 0)))


def begins_constant(token: str) -> bool:
    """Whether a token can begin a constant expression."""
    return is_number(token) or token in _UNARY or token in ("(", "WARP_SZ")


def integer(cursor: Cursor, what: str) -> int:
    """A constant expression that must be a whole number; `what` says of what."""
    found = constant(cursor).value
    if isinstance(found, float):
        cursor.fail(f"{what} must be a whole number, {found} found")
    return found


def _expression(cursor: Cursor, lowest: int, depth: int) -> Value:
    if depth > _DEPTH:
        cursor.fail(f"an expression nested deeper than {_DEPTH}", "compute the constant beforehand")
    left = _factor(cursor, depth)
    while (level := _LEVEL.get(cursor.token, 0)) > lowest:
        sign = cursor.take()
        left = _applied(cursor, sign, left, _expression(cursor, level, depth + 1))
    if lowest == 0 and cursor.accept("?"):
        first = _expression(cursor, 0, depth + 1)
        cursor.expect(":")
        second = _expression(cursor, 0, depth + 1)
        return first if left else second
    return left


def _factor(cursor: Cursor, depth: int) -> Value:
    token = cursor.token
    if is_number(token):
        if not token.isascii():
            cursor.fail(f"{token[:40]!r} as a number")
        if len(token) > 400:  # beyond every type; int() would also take its time
            cursor.fail("a number of more than 400 digits")
        return literal_value(cursor.take())
    if cursor.accept("WARP_SZ"):
        return 32
    if token in _UNARY:
        cursor.advance()
        if depth > _DEPTH:
            cursor.fail(f"an expression nested deeper than {_DEPTH}", "compute the constant beforehand")
        return _signed(cursor, token, _factor(cursor, depth + 1))
    if cursor.accept("("):
        if cursor.token in _CAST:
            signed = _CAST[cursor.take()]
            cursor.expect(")")
            value = _factor(cursor, depth + 1)
            if not math.isfinite(value):
                cursor.fail(f"{value} as an integer")
            return _cast(int(value), signed)
        inner = _expression(cursor, 0, depth + 1)
        cursor.expect(")")
        return inner
    return cursor.fail(f"a constant expected, {cursor.shown} found")


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
