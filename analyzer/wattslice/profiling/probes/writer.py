"""What the branches of a source are written around with, and the list of the counters that this feeds."""

from __future__ import annotations

from dataclasses import dataclass, field

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.profiling.probes.reach import ReachedFunction
from wattslice.profiling.probes.source_text import Piece, SourceText
from wattslice.profiling.probes.types import NotProbed, Probe, ProbeKind

BY_MACRO = "a macro writes it"
Closing = list[tuple[int, str]]
"""What is to be written behind a branch once everything inside is: offset in bytes, text."""


class SkippedError(Exception):
    """This branch cannot be counted; the argument says why."""


@dataclass(slots=True)
class BranchWriter:
    """Writes into `text` and collects the probes; one `function` at a time, whose file that is.

    `needs_kernel`: a function that several kernels call counts something, so kernels must say who they are.
    """

    kernels: tuple[str, ...]
    text: SourceText = field(init=False)
    function: ReachedFunction = field(init=False)
    probes: list[Probe] = field(default_factory=list[Probe])
    not_probed: list[NotProbed] = field(default_factory=list[NotProbed])
    counters: int = 0
    needs_kernel: bool = False

    def probe(self, kind: ProbeKind, node: Node, counters: int, arms: tuple[str, ...] = ()) -> int:
        """Counters for a branch at the start of `node`; the number of the first."""
        place = node.start
        kernels = tuple(self.kernels[number] for number in self.function.kernels)
        first = self.counters
        self.probes.append(
            Probe(kind, str(place.path), place.line, place.column, first, counters, kernels, arms)
        )
        self.counters += counters
        return first

    def slot(self, counter: int) -> str:
        """The C++ expression for a counter: of one kernel a number, else the running kernel's."""
        if len(self.function.kernels) == 1:
            return f"{self.function.kernels[0]} * wattslice_probes::kCounters + {counter}"
        self.needs_kernel = True
        return f"wattslice_probes::at({counter})"

    def count(self, counter: int) -> str:
        """The C++ expression that counts."""
        return f"wattslice_probes::count({self.slot(counter)})"

    def keyword(self, node: Node, keyword: bytes) -> int:
        """Where the keyword ends that a statement begins with."""
        start = node.start.offset
        word = self.text.plain[start : start + len(keyword) + 1]
        if word[: len(keyword)] != keyword or word[len(keyword) :].isalnum() or word.endswith(b"_"):
            raise SkippedError(BY_MACRO)
        return start + len(keyword)

    def header(self, node: Node, keyword: bytes, body: Node | None) -> tuple[Piece, ...]:
        """The parts in the parentheses of a statement, `body` being what follows them."""
        parts = self.text.header(self.keyword(node, keyword))
        if parts is None:
            raise SkippedError(BY_MACRO)
        if body is not None and self.text.next(parts[-1].end + 1) != body.start.offset:
            raise SkippedError(BY_MACRO)
        return parts

    def condition(self, node: Node, piece: Piece) -> Node | None:
        """The condition that `piece` of the source holds; None when that declares a variable."""
        inner = self.text.trimmed(piece)
        if inner is None:
            raise SkippedError("its condition could not be read")
        for child in node.children:
            if child.start.offset == inner.start:
                if child.kind in (C.VAR_DECL, C.DECL_STMT):
                    return None
                if child.end.offset == inner.end:
                    return child
        raise SkippedError(BY_MACRO)

    def test(self, piece: Piece, counter: int, closing: Closing) -> None:
        """Count how often the condition in `piece` is asked for, and how often it holds."""
        inner = self.text.trimmed(piece)
        assert inner is not None
        self.text.open(inner.start, f"wattslice_probes::test({self.slot(counter)}, (")
        closing.append((inner.end, ") ? true : false)"))

    def body(self, body: Node, counter: int, closing: Closing) -> None:
        """Count at the start of a loop's body."""
        start = body.start.offset
        if body.kind == C.COMPOUND_STMT:
            if self.text.plain[start : start + 1] != b"{":
                raise SkippedError(BY_MACRO)
            self.text.open(start + 1, f" {self.count(counter)};")
            return
        end = self.text.end_of_statement(body.end.offset)
        if end is None:
            raise SkippedError(BY_MACRO)
        self.text.open(start, f"{{ {self.count(counter)}; ")
        closing.append((end, " }"))
