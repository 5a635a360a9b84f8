"""Writes counters into the functions of a source: one visit of the tree, what is written never moves a line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from wattslice.frontend.clang.cursors import Node
from wattslice.frontend.clang.kinds import BinaryOperator as B
from wattslice.frontend.clang.kinds import CursorKind as C
from wattslice.frontend.clang.unit import ParsedUnit
from wattslice.probes.reach import ReachedFunction
from wattslice.probes.source_text import Piece, SourceText
from wattslice.probes.types import NotProbed, Probe, ProbeKind

BY_MACRO = "a macro writes it"
_NO_STATEMENT = 300  # cursor kinds below are expressions and statements, those from 100
# What these hold is evaluated by the compiler, or not at all.
_OPAQUE = frozenset(
    int(kind)
    for kind in (
        C.DECL_REF_EXPR,
        C.CXX_UNARY_EXPR,
        C.LAMBDA_EXPR,
        C.ASM_STMT,
        C.MS_ASM_STMT,
        C.CXX_TYPEID_EXPR,
    )
)


class _SkippedError(Exception):
    """This branch cannot be counted; the argument says why."""


@dataclass(slots=True)
class Instrumenter:
    """Collects edits in `text` and the probes they feed, function by function."""

    unit: ParsedUnit
    text: SourceText
    kernels: tuple[str, ...]
    probes: list[Probe] = field(default_factory=list)
    not_probed: list[NotProbed] = field(default_factory=list)
    counters: int = 0
    needs_kernel: bool = False
    """Whether a function that several kernels call counts something: then kernels must say who they are."""
    _function: ReachedFunction | None = None

    def function(self, function: ReachedFunction) -> None:
        """Count the branches of a function, without those of the lambdas in it."""
        self._function = function
        for child in function.body.children:
            self._visit(child)

    # ------------------------------------------------------------------ the visit

    def _visit(self, node: Node) -> None:
        handler = _HANDLERS.get(node.kind)
        closing: list[tuple[int, str]] = []
        if handler is not None:
            before = self.text.mark(), len(self.probes), self.counters
            try:
                handler(self, node, closing)
            except _SkippedError as reason:
                place = node.start
                self.not_probed.append(NotProbed(str(place.path), place.line, place.column, str(reason)))
                closing = []
                mark, probes, self.counters = before
                self.text.take_back(mark)
                del self.probes[probes:]
        self._visit_children(node)
        for at, text in closing:
            self.text.close(at, text)

    def _visit_children(self, node: Node) -> None:
        if node.kind in _OPAQUE:
            return
        if node.kind == C.VAR_DECL:
            initializer = node.initializer
            if initializer is not None and not self._is_constant_variable(node, initializer):
                self._visit(initializer)
            return
        for child in node.children:
            is_label = node.kind == C.CASE_STMT and child is not node.children[-1]
            if (100 <= child.kind < _NO_STATEMENT or child.kind == C.VAR_DECL) and not is_label:
                self._visit(child)

    def _is_constant_variable(self, node: Node, initializer: Node) -> bool:
        before = self.text.plain[node.start.offset : initializer.start.offset]
        if b"constexpr" in before.split():
            return True
        return node.type.is_const and _is_constant(initializer)

    # ------------------------------------------------------------------ help for the handlers

    def _probe(self, kind: ProbeKind, node: Node, counters: int, arms: tuple[str, ...] = ()) -> int:
        assert self._function is not None
        place = node.start
        kernels = tuple(self.kernels[number] for number in self._function.kernels)
        first = self.counters
        self.probes.append(Probe(kind, place.line, place.column, first, counters, kernels, arms))
        self.counters += counters
        return first

    def _slot(self, counter: int) -> str:
        """The C++ expression for a counter: of one kernel a number, else the running kernel's."""
        assert self._function is not None
        if len(self._function.kernels) == 1:
            return f"{self._function.kernels[0]} * wattslice_probes::kCounters + {counter}"
        self.needs_kernel = True
        return f"wattslice_probes::at({counter})"

    def _count(self, counter: int) -> str:
        return f"wattslice_probes::count({self._slot(counter)})"

    def _keyword(self, node: Node, keyword: bytes) -> int:
        """Where the keyword ends that a statement begins with."""
        start = node.start.offset
        word = self.text.plain[start : start + len(keyword) + 1]
        if word[: len(keyword)] != keyword or word[len(keyword) :].isalnum() or word.endswith(b"_"):
            raise _SkippedError(BY_MACRO)
        return start + len(keyword)

    def _header(self, node: Node, keyword: bytes, body: Node | None) -> tuple[Piece, ...]:
        """The parts in the parentheses of a statement, `body` being what follows them."""
        parts = self.text.header(self._keyword(node, keyword))
        if parts is None:
            raise _SkippedError(BY_MACRO)
        if body is not None and self.text.next(parts[-1].end + 1) != body.start.offset:
            raise _SkippedError(BY_MACRO)
        return parts

    def _condition(self, node: Node, piece: Piece) -> Node | None:
        """The condition that `piece` of the source holds; None when that declares a variable."""
        inner = self.text.trimmed(piece)
        if inner is None:
            raise _SkippedError("its condition could not be read")
        for child in node.children:
            if child.start.offset == inner.start:
                if child.kind in (C.VAR_DECL, C.DECL_STMT):
                    return None
                if child.end.offset == inner.end:
                    return child
        raise _SkippedError(BY_MACRO)

    def _test(self, piece: Piece, counter: int, closing: list[tuple[int, str]]) -> None:
        inner = self.text.trimmed(piece)
        assert inner is not None
        self.text.open(inner.start, f"wattslice_probes::test({self._slot(counter)}, (")
        closing.append((inner.end, ") ? true : false)"))

    def _body(self, body: Node, counter: int, closing: list[tuple[int, str]]) -> None:
        """Count at the start of a loop's body."""
        start = body.start.offset
        if body.kind == C.COMPOUND_STMT:
            if self.text.plain[start : start + 1] != b"{":
                raise _SkippedError(BY_MACRO)
            self.text.open(start + 1, f" {self._count(counter)};")
            return
        end = self.text.end_of_statement(body.end.offset)
        if end is None:
            raise _SkippedError(BY_MACRO)
        self.text.open(start, f"{{ {self._count(counter)}; ")
        closing.append((end, " }"))


_Handler = Callable[[Instrumenter, Node, list[tuple[int, str]]], None]


def _if(self: Instrumenter, node: Node, closing: list[tuple[int, str]]) -> None:
    text, children = self.text, node.children
    after = text.next(self._keyword(node, b"if"))
    if text.plain[after : after + 9] == b"constexpr":
        return
    parts = self._header(node, b"if", None)
    close = text.next(parts[-1].end + 1)
    if not any(child.start.offset == close for child in children):
        raise _SkippedError(BY_MACRO)
    condition = self._condition(node, parts[-1])
    if condition is not None:
        if not _is_constant(condition):
            self._test(parts[-1], self._probe(ProbeKind.TEST, node, 2), closing)
        return
    if len(parts) > 1:
        raise _SkippedError("its condition declares a variable")
    variable = next((child for child in node.children if child.kind in (C.VAR_DECL, C.DECL_STMT)), None)
    if variable is not None and variable.kind == C.DECL_STMT:
        variable = next((child for child in variable.children if child.kind == C.VAR_DECL), None)
    if variable is None or not variable.spelling:
        raise _SkippedError("its condition declares a variable")
    counter = self._probe(ProbeKind.TEST, node, 2)
    test = f"wattslice_probes::test({self._slot(counter)}, {variable.spelling} ? true : false)"
    closing.append((parts[0].end, f"; {test}"))


def _for(self: Instrumenter, node: Node, closing: list[tuple[int, str]]) -> None:
    body = node.children[-1]
    parts = self._header(node, b"for", body)
    if len(parts) != 3:
        raise _SkippedError(BY_MACRO)
    condition = None
    if self.text.trimmed(parts[1]) is not None:
        condition = self._condition(node, parts[1])
        if condition is None:
            raise _SkippedError("its condition declares a variable")
    endless = condition is None or _is_constant(condition)
    counters = 2 if endless else 3
    enter = _entry(self, node, parts[0])
    if enter is None:
        counters -= 1
    counter = self._probe(ProbeKind.ENDLESS if endless else ProbeKind.LOOP, node, counters)
    if enter is not None:
        enter(counter + counters - 1, closing)
    if endless:
        self._body(body, counter, closing)
    else:
        self._test(parts[1], counter, closing)


def _entry(
    self: Instrumenter, node: Node, init: Piece
) -> Callable[[int, list[tuple[int, str]]], None] | None:
    """What counts that a `for` is entered; None where its first part leaves no place for that."""
    inner = self.text.trimmed(init)
    first = None if inner is None else node.children[0]
    if inner is None or first is None or first.start.offset != inner.start:
        if inner is not None:
            return None
        return lambda counter, _: self.text.open(init.start, self._count(counter))
    if first.kind != C.DECL_STMT:
        return lambda counter, _: self.text.open(inner.start, f"{self._count(counter)}, ")
    value = first.children[0].initializer if first.children[0].kind == C.VAR_DECL else None
    if value is None:
        return None
    start, end = value.start.offset, value.end.offset
    before = self.text.plain[inner.start : start].rstrip()
    after = self.text.plain[end : end + 1 + len(self.text.plain[end : init.end])].lstrip()
    if before[-1:] != b"=" or before[-2:-1] in b"=<>!" or after[:1] not in (b",", b";") or end > init.end:
        return None
    if self.text.plain[start : start + 1] == b"{":
        return None

    def wrap(counter: int, closing: list[tuple[int, str]]) -> None:
        self.text.open(start, f"({self._count(counter)}, (")
        closing.append((end, "))"))

    return wrap


def _while(self: Instrumenter, node: Node, closing: list[tuple[int, str]]) -> None:
    body = node.children[-1]
    (part,) = self._header(node, b"while", body)
    condition = self._condition(node, part)
    if condition is None:
        raise _SkippedError("its condition declares a variable")
    endless = _is_constant(condition)
    counters = 2 if endless else 3
    counter = self._probe(ProbeKind.ENDLESS if endless else ProbeKind.LOOP, node, counters)
    self.text.open(node.start.offset, "for", replaced=len("while"))
    self.text.open(part.start, f"{self._count(counter + counters - 1)}; ")
    if endless:
        self._body(body, counter, closing)
    else:
        self._test(part, counter, closing)
    closing.append((part.end, ";"))


def _do(self: Instrumenter, node: Node, closing: list[tuple[int, str]]) -> None:
    self._keyword(node, b"do")
    body, condition = node.children[0], node.children[-1]
    end = self.text.end_of_statement(body.end.offset)
    keyword = -1 if end is None else self.text.next(end)
    if end is None or self.text.plain[keyword : keyword + 5] != b"while":
        keyword = self.text.next(body.end.offset)
    if self.text.plain[keyword : keyword + 5] != b"while":
        raise _SkippedError(BY_MACRO)
    parts = self.text.header(keyword + 5)
    if parts is None or len(parts) != 1:
        raise _SkippedError(BY_MACRO)
    if _is_constant(condition):
        if condition.evaluate() in (0, None):  # do … while (0) is no loop
            return
        raise _SkippedError("a do-while that never ends by its condition")
    inner = self.text.trimmed(parts[0])
    if inner is None or inner.start != condition.start.offset:
        raise _SkippedError(BY_MACRO)
    counter = self._probe(ProbeKind.DO, node, 3)
    self._body(body, counter + 2, closing)
    self._test(parts[0], counter, closing)


def _range(self: Instrumenter, node: Node, closing: list[tuple[int, str]]) -> None:
    raise _SkippedError("a range-based for")


def _switch(self: Instrumenter, node: Node, closing: list[tuple[int, str]]) -> None:
    body = node.children[-1]
    (part, *more) = self._header(node, b"switch", body)
    if more or self._condition(node, part) is None:
        raise _SkippedError("its selector declares a variable")
    groups: list[tuple[str, str]] = []
    inner = body.children if body.kind == C.COMPOUND_STMT else (body,)
    for child in inner:
        arm, labels = "", ""
        current: Node | None = child
        while current is not None and current.kind in (C.CASE_STMT, C.DEFAULT_STMT):
            if current.kind == C.CASE_STMT:
                label, value = _label(self, current)
                labels += f"case {label}: "
                arm = arm or f"case {value}"
            else:
                labels += "default: "
                arm = arm or "default"
            current = current.children[-1] if current.children else None
        if labels:
            groups.append((arm, labels))
    counter = self._probe(ProbeKind.SWITCH, node, 1 + len(groups), tuple(arm for arm, _ in groups))
    cases = "".join(
        f"{labels}{self._count(counter + 1 + number)}; break; " for number, (_, labels) in enumerate(groups)
    )
    if not any("default: " in labels for _, labels in groups):
        cases += "default: break; "
    selector = self.text.trimmed(part)
    assert selector is not None
    self.text.open(
        selector.start,
        f"[](auto selected) {{ {self._count(counter)}; switch (selected) {{ {cases}}} return selected; }}(",
    )
    closing.append((selector.end, ")"))


def _label(self: Instrumenter, case: Node) -> tuple[str, int]:
    """A case's label as written, and its value."""
    label = case.children[0]
    start, end = label.start.offset, label.end.offset
    plain = self.text.plain
    keyword = self._keyword(case, b"case")
    if self.text.next(keyword) != start or plain[self.text.next(end) :][:1] != b":":
        raise _SkippedError(BY_MACRO if plain[self.text.next(end) :][:3] != b"..." else "a range of cases")
    value = label.evaluate()
    if not isinstance(value, int):
        raise _SkippedError("a case whose value depends on the instance of a template")
    return self.text.source[start:end].decode("utf-8", "replace").replace("\n", " "), value


def _select(self: Instrumenter, node: Node, closing: list[tuple[int, str]]) -> None:
    condition, then = node.children[0], node.children[1]
    if _is_constant(condition):
        return
    between = self.text.plain[condition.end.offset : then.start.offset].strip()
    if between != b"?":
        raise _SkippedError(BY_MACRO)
    piece = Piece(condition.start.offset, condition.end.offset)
    self._test(piece, self._probe(ProbeKind.TEST, condition, 2), closing)


def _logical(self: Instrumenter, node: Node, closing: list[tuple[int, str]]) -> None:
    if node.binary_operator not in (B.LAND, B.LOR) or _is_constant(node):
        return
    left, right = node.children[0], node.children[1]
    between = self.text.plain[left.end.offset : right.start.offset].strip()
    if between not in (b"&&", b"||"):
        raise _SkippedError(BY_MACRO)
    counter = self._probe(ProbeKind.LOGICAL, right, 2)
    for part, slot in ((left, counter), (right, counter + 1)):
        self.text.open(part.start.offset, f"({self._count(slot)}, (")
        closing.append((part.end.offset, "))"))


_HANDLERS: dict[int, _Handler] = {
    int(C.IF_STMT): _if,
    int(C.FOR_STMT): _for,
    int(C.WHILE_STMT): _while,
    int(C.DO_STMT): _do,
    int(C.CXX_FOR_RANGE_STMT): _range,
    int(C.SWITCH_STMT): _switch,
    int(C.CONDITIONAL_OPERATOR): _select,
    int(C.BINARY_OPERATOR): _logical,
}


def _is_constant(expression: Node) -> bool:
    """Whether the compiler knows the value: literals, constants, template arguments and what is made of these."""
    for node in expression.walk():
        if node.kind in (
            C.CALL_EXPR,
            C.MEMBER_REF_EXPR,
            C.ARRAY_SUBSCRIPT_EXPR,
            C.CXX_THIS_EXPR,
            C.LAMBDA_EXPR,
        ):
            return False
        if node.kind == C.DECL_REF_EXPR and not _is_constant_name(node):
            return False
    return True


def _is_constant_name(name: Node) -> bool:
    declaration = name.referenced
    if declaration is None:
        return False
    if declaration.kind in (C.ENUM_CONSTANT_DECL, C.TEMPLATE_NON_TYPE_PARAMETER):
        return True
    if declaration.kind != C.VAR_DECL or not declaration.type.is_const:
        return False
    initializer = declaration.initializer
    return initializer is not None and _is_constant(initializer)
