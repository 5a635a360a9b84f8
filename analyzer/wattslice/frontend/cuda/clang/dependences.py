"""Which pieces of a text, and of what it includes, depend on which: by the words in them (`chunks.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wattslice.frontend.cuda.clang.chunks import Chunk, CutText, Head, digest_of


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
