"""The tokens of PTX text, one after the other, and where they stand.

One regular expression finds them all; every quantifier that can meet hostile text is possessive, so that the
time is proportional to the length. Nothing is kept but the current token.
"""

from __future__ import annotations

import re
from typing import NoReturn

# A mnemonic with its modifiers is one token (`ld.global.nc.f32`, `shared::cluster`), and so is `%tid.x`.
_TOKEN = re.compile(
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
_PUNCTUATION = frozenset("[]{}()<>,;:@!|+-*/%&^~=?")
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
