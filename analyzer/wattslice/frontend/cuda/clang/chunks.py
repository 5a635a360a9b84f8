"""The text of a file cut at its declarations, each with the words by which they depend on each other.

What a declaration means follows from its own text and from that of everything it names, directly or through
what it names. So two texts of a file in which all of that is the same give it the same tree: that is how
the functions are told that an edit cannot have touched. Names are compared as words, and where the cut is in
doubt pieces stay together: a dependence too many costs time, one too few would cost the truth.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate

from msgspec import Struct

from wattslice.frontend.cuda.clang.tokens import ATTRIBUTES, COMMENT, KEYWORDS, NAME, TOKEN, names_in
from wattslice.patterns import regex

_BLANK = regex(rb"(?:\s++|//(?:[^\n\\]++|(?:\\\r?\n)++|\\)*+|/\*.*?(?:\*/|\Z))*+", re.DOTALL)
_SCOPE = regex(rb"\s*(?:(?:inline\s+)?namespace\b[\w:\s]*|extern\s*\"C(?:\+\+)?\"\s*)\Z")
_DEFINE = regex(rb"[ \t]*#[ \t]*define[ \t]+(\w+)")
_CONDITION = regex(rb"[ \t]*#[ \t]*(?:(?P<opens>if)|(?P<turns>el)|endif)")
_SPLICED = regex(rb"[\w\x80-\xff/*#](?:\\[ \t]*\r?\n)+[\w\x80-\xff/*#]")
_LOCAL_DIRECTIVE = regex(rb"[ \t]*#[ \t]*pragma[ \t]+(?!push_macro|pop_macro)")
_EVERYBODYS = regex(rb"\b(?:operator|using|namespace|asm|static_assert|concept)\b")
"""In what is no plain function: it may change what others mean without being named."""
_TELLING = regex(rb"\b(?:constexpr|consteval|auto|decltype)\b|::")
"""In the head of a function: its value, its type, or what it is a part of, depends on its body."""


class Words(Struct, frozen=True):
    """The names in one piece of text; `introduced` are those that it may give a meaning to for others.

    `is_everybodys`: what is nobody's by name may depend on it. `makes_names`: it may depend on anything.
    `is_template`: a function whose meaning depends on who instantiates it.
    """

    mentioned: frozenset[bytes]
    introduced: frozenset[bytes]
    is_everybodys: bool = False
    makes_names: bool = False
    is_template: bool = False


class Chunk(Struct, frozen=True):
    """One piece: bytes from `begin` to `end`; `identity`: a digest of its place and of all its lines.

    `body` is where the body of a plain function begins, None for everything else. `head` is what those
    that only call the function depend on: all but its body; None where the body tells them something too.
    """

    begin: int
    end: int
    words: Words
    identity: bytes
    body: int | None = None
    head: Head | None = None

    @property
    def mentioned(self) -> frozenset[bytes]:
        """The names that it depends on."""
        return self.words.mentioned


class Head(Struct, frozen=True):
    """A plain function up to its body: the names in it, and its digest."""

    mentioned: frozenset[bytes]
    identity: bytes


class CutText(Struct, frozen=True):
    """`chunks` in order and without overlap; `macros`: definitions, and conditions, which depend on them too.

    `order`: all directives but definitions. `line_starts`: where each line begins, in bytes.
    """

    chunks: tuple[Chunk, ...]
    macros: tuple[Chunk, ...]
    order: bytes
    line_starts: tuple[int, ...]
    size: int

    def chunk_at(self, line: int, column: int, end_line: int) -> Chunk | None:
        """The piece that holds what begins there and ends in that line; None when no single one does."""
        begin = min(self.offset(line, column), self.size - 1)
        found = bisect_right(self.chunks, begin, key=lambda chunk: chunk.begin) - 1
        if found < 0 or max(begin, self.offset(end_line, 1)) >= self.chunks[found].end:
            return None
        return self.chunks[found]

    def offset(self, line: int, column: int) -> int:
        """Of a line and column, from 1, in bytes from 0."""
        return self.line_starts[min(line, len(self.line_starts)) - 1] + column - 1


class _Condition(Struct):
    """An #if: the depth of braces before it, and behind its first branch, which counts from there on."""

    depth: int
    first: int | None = None

    def turns(self, depth: int) -> bool:
        """A branch ends; whether it is at odds with what the first, or none, leaves."""
        if self.first is None:
            self.first = depth
        return depth != self.depth

    @property
    def after(self) -> int:
        return self.depth if self.first is None else self.first


@lru_cache(maxsize=256)
def cut(source: bytes) -> CutText | None:
    """The pieces of a source text; None when its braces do not tell where declarations end.

    None, too, for a text with carriage returns alone, which are ends of lines to clang only, and for one with
    a name or sign that goes on behind a backslash at the end of its line.
    """
    if (b"\r" in source and b"\r" in source.replace(b"\r\n", b"\n")) or _SPLICED.search(source):
        return None
    return _Cutter(source).cut()


class _Cutter:
    """A source text on its way through `cut`, token by token."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._chunks: list[Chunk] = []
        self._macros: list[Chunk] = []
        self._order: list[bytes] = []
        self._line, self._counted = 1, 0
        self._begin = self._depth = self._scopes = 0
        self._brace = -1  # the first one that opens in the piece
        self._is_torn = False  # branches of an #if in the piece open different numbers of braces
        self._conditions: list[_Condition] = []

    def cut(self) -> CutText | None:
        """The pieces; None when a brace closes what none has opened."""
        source = self._source
        for token in TOKEN.finditer(source):
            if token.lastgroup == "directive":
                self._directive(token)
            elif token.lastgroup is not None:
                continue
            elif token[0] == b"{":
                self._opens(token.start())
            elif token[0] == b"}":
                if not self._depth and not self._scopes:
                    return None
                self._closes(token.start())
            elif not self._depth:
                self._end_piece(token.end())
        self._end_piece(len(source))
        starts = (0, *accumulate(len(line) + 1 for line in source.split(b"\n")[:-1]))
        return CutText(tuple(self._chunks), tuple(self._macros), b"\0".join(self._order), starts, len(source))

    def _end_piece(self, end: int) -> None:
        source, brace = self._source, self._brace
        begin = _after_blanks(source, self._begin, end)
        self._line += source.count(b"\n", self._counted, begin)
        self._counted = begin
        text = source[begin:end]
        column = begin - (source.rfind(b"\n", 0, begin) + 1)
        is_plain = brace >= 0 and not self._is_torn and plain_function(source[begin:brace]) is not None
        words = words_of(text, brace - begin if brace >= 0 else None, self._is_torn)
        if text:
            place = b"%d:%d:" % (self._line, column)
            last = source.find(b"\n", end)
            lines = source[begin - column : last if last >= 0 else len(source)]
            body = brace if is_plain else None
            head = _head_of(source[begin:brace], place) if is_plain and not words.is_everybodys else None
            self._chunks.append(Chunk(begin, end, words, digest_of(place, lines), body, head))
        self._begin, self._brace, self._is_torn = end, -1, False

    def _note(self, text: bytes) -> None:
        """What stands between pieces, in its order among them."""
        self._order.append(b"%d:" % len(self._chunks) + text)

    def _directive(self, token: re.Match[bytes]) -> None:
        text = token[0]
        if not self._depth and _after_blanks(self._source, self._begin, token.start()) == token.start():
            self._begin = token.end()
        if defined := _DEFINE.match(text):
            name = defined[1]
            # A keyword stands in no list of names: whoever gives it a meaning concerns everybody.
            words = Words(names_in(text), frozenset((name,)), name in KEYWORDS, b"##" in text)
            place = b"%d:%d:" % (len(self._chunks), len(self._order))
            self._macros.append(Chunk(token.start(), token.end(), words, digest_of(place, text)))
        elif condition := _CONDITION.match(text):
            self._note(text)
            words = Words(names_in(text), frozenset(), True)
            self._macros.append(Chunk(token.start(), token.end(), words, b""))
            self._condition(condition)
        elif not (self._depth and _LOCAL_DIRECTIVE.match(text)):
            self._note(text)

    def _condition(self, found: re.Match[bytes]) -> None:
        if found["opens"]:
            self._conditions.append(_Condition(self._depth))
        elif self._conditions:
            self._is_torn = self._conditions[-1].turns(self._depth) or self._is_torn
            turns = found["turns"]
            self._depth = self._conditions[-1].depth if turns else self._conditions.pop().after

    def _opens(self, position: int) -> None:
        text = self._source[self._begin : position]
        if not self._depth and self._brace < 0 and _SCOPE.match(COMMENT.sub(_blank, text)):
            self._scopes += 1
            self._note(self._source[self._begin : position + 1].strip())
            self._begin = position + 1
            return
        self._depth += 1
        if self._brace < 0:
            self._brace = position

    def _closes(self, position: int) -> None:
        if not self._depth:
            self._end_piece(position)
            self._scopes -= 1
            self._note(b"}")
            self._begin = position + 1
            return
        self._depth -= 1
        if not self._depth and plain_function(self._source[self._begin : self._brace]) is not None:
            self._end_piece(position + 1)


def _after_blanks(source: bytes, begin: int, end: int) -> int:
    found = _BLANK.match(source, begin, end)
    return begin if found is None else found.end()


def digest_of(*parts: bytes) -> bytes:
    """Equal for equal parts."""
    digest = blake2b(digest_size=20)
    for part in parts:
        digest.update(b"%d " % len(part) + part)
    return digest.digest()


def _blank(found: re.Match[bytes]) -> bytes:
    return found[0] if found[0].startswith(b'"') else b" "


@lru_cache(maxsize=1024)
def words_of(text: bytes, brace: int | None, is_torn: bool = False) -> Words:
    """The names in a piece whose first brace is at `brace`."""
    mentioned = names_in(text)
    header = text.rstrip(b"; \t\r\n") if brace is None else text[:brace]
    name = None if is_torn else plain_function(header)
    if name is not None:
        is_template = b"template" in NAME.findall(header)
        return Words(mentioned, frozenset((name,)) - KEYWORDS, name == b"operator", is_template=is_template)
    return Words(mentioned, mentioned, _EVERYBODYS.search(text) is not None)


def _head_of(text: bytes, place: bytes) -> Head | None:
    return None if _TELLING.search(text) else Head(names_in(text), digest_of(place, text))


# ---------------------------------------------------------------------------
# The heads of functions, up to their bodies: is this one, and of which function?


_HEADER_TOKEN = regex(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*|\d\w*|::|[^\s]")
_NO_PLAIN_FUNCTION = frozenset(
    b"struct class union enum namespace typedef using friend concept requires = [ { }".split()
)


@lru_cache(maxsize=1024)
def plain_function(header: bytes) -> bytes | None:
    """The function whose head this is, up to its body or semicolon; None when it is not that simple."""
    text = COMMENT.sub(b" ", header)
    if b"#" in text:
        return None
    tokens: list[bytes] = _HEADER_TOKEN.findall(text)
    position, name = 0, b""
    while position < len(tokens):
        token = tokens[position]
        if token in _NO_PLAIN_FUNCTION:
            return None
        if token == b"template" or token in ATTRIBUTES:
            position = _after_brackets(tokens, position + 1)
            continue
        if token == b"operator":
            return _operator_at(tokens, position)
        if token == b"(":
            break
        position += 1
    if position < 2 or position == len(tokens) or not _ends_a_head(tokens, position):
        return None
    at = position - 1
    if tokens[at] == b">":  # an explicit specialisation: name<arguments>(...)
        level = 0
        while at > 0:
            level += {b">": 1, b"<": -1}.get(tokens[at], 0)
            at -= 1
            if not level:
                break
    name = tokens[at]
    before = [token for token in tokens[:at] if NAME.fullmatch(token)]
    return name if before and NAME.fullmatch(name) else None


def _operator_at(tokens: list[bytes], position: int) -> bytes | None:
    position += 3 if tokens[position + 1 : position + 3] == [b"(", b")"] else 1
    while position < len(tokens) and tokens[position] != b"(":
        position += 1
    return b"operator" if _ends_a_head(tokens, position) else None


def _ends_a_head(tokens: list[bytes], position: int) -> bool:
    """Whether nothing but parameters and words without a meaning of their own are left of a head."""
    end = _after_brackets(tokens, position)
    return end <= len(tokens) and all(token in (b"const", b"noexcept", b"override") for token in tokens[end:])


def _after_brackets(tokens: list[bytes], position: int) -> int:
    """Behind the bracket that closes the one at `position`; beyond the end when none does."""
    if position >= len(tokens) or tokens[position] not in (b"(", b"<"):
        return position
    opening = tokens[position]
    closing = b")" if opening == b"(" else b">"
    level = 0
    for end in range(position, len(tokens)):
        level += (tokens[end] == opening) - (tokens[end] == closing)
        if not level:
            return end + 1
    return len(tokens) + 1


# ---------------------------------------------------------------------------
# Which pieces of a text, and of what it includes, depend on which: by the words in them (`chunks.py`).


class Dependences:
    """Which pieces a piece depends on, of a text together with what it includes.

    `besides` are names that pieces turned out to introduce without looking like it. `surroundings`: whatever
    else the parse rests on.
    """

    def __init__(
        self,
        texts: Iterable[CutText],
        extra: Iterable[Chunk],
        besides: Iterable[tuple[bytes, Chunk]],
        surroundings: bytes,
    ) -> None:
        own = [(text.chunks, text.macros) for text in texts]
        self._pieces = [*extra, *(piece for kinds in own for pieces in kinds for piece in pieces)]
        self._surroundings = surroundings
        self._introducing: dict[bytes, list[int]] = {}
        for number, piece in enumerate(self._pieces):
            for name in piece.words.introduced:
                self._introducing.setdefault(name, []).append(number)
        numbers = {id(piece): number for number, piece in enumerate(self._pieces)}
        self._whole: set[int] = set()  # more than the one function that they look like
        for name, piece in besides:
            self._introducing.setdefault(name, []).append(numbers[id(piece)])
            self._whole.add(numbers[id(piece)])
        self._edges: dict[tuple[int, bool], tuple[int, ...]] = {}
        self._everybodys = [n for n, piece in enumerate(self._pieces) if piece.words.is_everybodys]

    def _behind(self, names: frozenset[bytes]) -> Iterator[int]:
        for name in names & self._introducing.keys():
            yield from self._introducing[name]

    def _reached(self, front: Iterable[int], only_calls: bool) -> frozenset[int]:
        found: set[int] = set()
        waiting = list(front)
        while waiting:
            number = waiting.pop()
            if number not in found:
                found.add(number)
                waiting.extend(self._edges_of(number, only_calls))
        return frozenset(found)

    def _edges_of(self, number: int, only_calls: bool) -> tuple[int, ...]:
        known = self._edges.get((number, only_calls))
        if known is None:
            if self._pieces[number].words.makes_names:
                known = tuple(range(len(self._pieces)))
            else:
                known = tuple(self._behind(self._relevant(number, only_calls).mentioned))
            self._edges[number, only_calls] = known
        return known

    def _relevant(self, number: int, only_calls: bool) -> Chunk | Head:
        piece = self._pieces[number]
        return piece.head if only_calls and piece.head is not None and number not in self._whole else piece

    def key(self, chunk: Chunk, names: frozenset[bytes], only_calls: bool) -> bytes:
        """Equal for what has the same text and place, and depends on the same; `names`: it says too.

        `only_calls`: functions are called, and their bodies nobody's concern.
        """
        reached = self._reached([*self._everybodys, *self._behind(names | chunk.words.mentioned)], only_calls)
        others = (self._relevant(number, only_calls).identity for number in sorted(reached))
        return digest_of(self._surroundings, chunk.identity, *others)
