"""Visits the functions that kernels come through, and has a counter written at each branch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from wattslice.branch_profile.profile import THEN
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.profiling.probes.counts import NotProbed, Probe, ProbeKind
from wattslice.profiling.probes.reach import ReachedFunction
from wattslice.profiling.probes.source_text import Piece, SourceText

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
        if parts is None or (body is not None and self.text.next(parts[-1].end + 1) != body.start.offset):
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


def is_constant(expression: Node) -> bool:
    """Whether the compiler knows the value: literals, constants, template arguments, what is made of them."""
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
    return initializer is not None and is_constant(initializer)


Handler = Callable[[BranchWriter, Node, Closing], None]


def _if(to: BranchWriter, node: Node, closing: Closing) -> None:
    text, children = to.text, node.children
    after = text.next(to.keyword(node, b"if"))
    if text.plain[after : after + 9] == b"constexpr":
        return
    *init, part = to.header(node, b"if", None)
    close = text.next(part.end + 1)
    if not any(child.start.offset == close for child in children):
        raise SkippedError(BY_MACRO)
    arms = () if children[-1].start.offset > close else (THEN,)
    condition = to.condition(node, part)
    if condition is not None:
        if not is_constant(condition):
            to.test(part, to.probe(ProbeKind.TEST, node, 2, arms), closing)
        return
    if init:
        raise SkippedError("its condition declares a variable")
    variable = next((child for child in node.walk() if child.kind == C.VAR_DECL), None)
    if variable is None or not variable.spelling:
        raise SkippedError("its condition declares a variable")
    counter = to.probe(ProbeKind.TEST, node, 2, arms)
    test = f"wattslice_probes::test({to.slot(counter)}, {variable.spelling} ? true : false)"
    closing.append((part.end, f"; {test}"))


def _for(to: BranchWriter, node: Node, closing: Closing) -> None:
    body = node.children[-1]
    parts = to.header(node, b"for", body)
    if len(parts) != 3:
        raise SkippedError(BY_MACRO)
    condition = None
    if to.text.trimmed(parts[1]) is not None:
        condition = to.condition(node, parts[1])
        if condition is None:
            raise SkippedError("its condition declares a variable")
    endless = condition is None or is_constant(condition)
    counters = 2 if endless else 3
    enter = _entry(to, node, parts[0])
    if enter is None:
        counters -= 1
    counter = to.probe(ProbeKind.ENDLESS if endless else ProbeKind.LOOP, node, counters)
    if enter is not None:
        enter(counter + counters - 1, closing)
    if endless:
        to.body(body, counter, closing)
    else:
        to.test(parts[1], counter, closing)


def _entry(to: BranchWriter, node: Node, init: Piece) -> Callable[[int, Closing], None] | None:
    """What counts that a `for` is entered; None where its first part leaves no place for that."""
    inner = to.text.trimmed(init)
    first = None if inner is None else node.children[0]
    if inner is None or first is None or first.start.offset != inner.start:
        if inner is not None:
            return None
        return lambda counter, _: to.text.open(init.start, to.count(counter))
    if first.kind != C.DECL_STMT:
        return lambda counter, _: to.text.open(inner.start, f"{to.count(counter)}, ")
    value = first.children[0].initializer if first.children[0].kind == C.VAR_DECL else None
    if value is None:
        return None
    start, end = value.start.offset, value.end.offset
    before = to.text.plain[inner.start : start].rstrip()
    after = to.text.plain[end : end + 1 + len(to.text.plain[end : init.end])].lstrip()
    if before[-1:] != b"=" or before[-2:-1] in b"=<>!" or after[:1] not in (b",", b";") or end > init.end:
        return None
    if to.text.plain[start : start + 1] == b"{":
        return None

    def wrap(counter: int, closing: Closing) -> None:
        to.text.open(start, f"({to.count(counter)}, (")
        closing.append((end, "))"))

    return wrap


def _while(to: BranchWriter, node: Node, closing: Closing) -> None:
    body = node.children[-1]
    (part,) = to.header(node, b"while", body)
    condition = to.condition(node, part)
    if condition is None:
        raise SkippedError("its condition declares a variable")
    endless = is_constant(condition)
    counters = 2 if endless else 3
    counter = to.probe(ProbeKind.ENDLESS if endless else ProbeKind.LOOP, node, counters)
    to.text.open(node.start.offset, "for", replaced=len("while"))
    to.text.open(part.start, f"{to.count(counter + counters - 1)}; ")
    if endless:
        to.body(body, counter, closing)
    else:
        to.test(part, counter, closing)
    closing.append((part.end, ";"))


def _do(to: BranchWriter, node: Node, closing: Closing) -> None:
    to.keyword(node, b"do")
    body, condition = node.children[0], node.children[-1]
    end = to.text.end_of_statement(body.end.offset)
    keyword = -1 if end is None else to.text.next(end)
    if end is None or to.text.plain[keyword : keyword + 5] != b"while":
        keyword = to.text.next(body.end.offset)
    if to.text.plain[keyword : keyword + 5] != b"while":
        raise SkippedError(BY_MACRO)
    parts = to.text.header(keyword + 5)
    if parts is None or len(parts) != 1:
        raise SkippedError(BY_MACRO)
    if is_constant(condition):
        if condition.evaluate() in (0, None):  # do … while (0) is no loop
            return
        raise SkippedError("a do-while that never ends by its condition")
    inner = to.text.trimmed(parts[0])
    if inner is None or inner.start != condition.start.offset:
        raise SkippedError(BY_MACRO)
    counter = to.probe(ProbeKind.DO, node, 3)
    to.body(body, counter + 2, closing)
    to.test(parts[0], counter, closing)


def _range(to: BranchWriter, node: Node, closing: Closing) -> None:
    raise SkippedError("a range-based for")


def _switch(to: BranchWriter, node: Node, closing: Closing) -> None:
    body = node.children[-1]
    (part, *more) = to.header(node, b"switch", body)
    if more or to.condition(node, part) is None:
        raise SkippedError("its selector declares a variable")
    groups: list[tuple[str, str]] = []
    inner = body.children if body.kind == C.COMPOUND_STMT else (body,)
    for child in inner:
        arm, labels = "", ""
        current: Node | None = child
        while current is not None and current.kind in (C.CASE_STMT, C.DEFAULT_STMT):
            if current.kind == C.CASE_STMT:
                label, value = _label(to, current)
                labels += f"case {label}: "
                arm = arm or f"case {value}"
            else:
                labels += "default: "
                arm = arm or "default"
            current = current.children[-1] if current.children else None
        if labels:
            groups.append((arm, labels))
    counter = to.probe(ProbeKind.SWITCH, node, 1 + len(groups), tuple(arm for arm, _ in groups))
    cases = "".join(
        f"{labels}{to.count(counter + 1 + number)}; break; " for number, (_, labels) in enumerate(groups)
    )
    if not any("default: " in labels for _, labels in groups):
        cases += "default: break; "
    selector = to.text.trimmed(part)
    assert selector is not None
    to.text.open(
        selector.start,
        f"[](auto selected) {{ {to.count(counter)}; switch (selected) {{ {cases}}} return selected; }}(",
    )
    closing.append((selector.end, ")"))


def _label(to: BranchWriter, case: Node) -> tuple[str, int]:
    """A case's label as written, and its value."""
    label = case.children[0]
    start, end = label.start.offset, label.end.offset
    plain = to.text.plain
    keyword = to.keyword(case, b"case")
    if to.text.next(keyword) != start or plain[to.text.next(end) :][:1] != b":":
        raise SkippedError(BY_MACRO if plain[to.text.next(end) :][:3] != b"..." else "a range of cases")
    value = label.evaluate()
    if not isinstance(value, int):
        raise SkippedError("a case whose value depends on the instance of a template")
    return to.text.source[start:end].decode("utf-8", "replace").replace("\n", " "), value


def _select(to: BranchWriter, node: Node, closing: Closing) -> None:
    condition, then = node.children[0], node.children[1]
    if is_constant(condition):
        return
    between = to.text.plain[condition.end.offset : then.start.offset].strip()
    if between != b"?":
        raise SkippedError(BY_MACRO)
    piece = Piece(condition.start.offset, condition.end.offset)
    to.test(piece, to.probe(ProbeKind.TEST, condition, 2), closing)


def _logical(to: BranchWriter, node: Node, closing: Closing) -> None:
    if node.binary_operator not in (B.LAND, B.LOR) or is_constant(node):
        return
    left, right = node.children[0], node.children[1]
    between = to.text.plain[left.end.offset : right.start.offset].strip()
    if between not in (b"&&", b"||"):
        raise SkippedError(BY_MACRO)
    counter = to.probe(ProbeKind.LOGICAL, right, 2)
    for part, slot in ((left, counter), (right, counter + 1)):
        to.text.open(part.start.offset, f"({to.count(slot)}, (")
        closing.append((part.end.offset, "))"))


HANDLERS: dict[int, Handler] = {
    int(C.IF_STMT): _if,
    int(C.FOR_STMT): _for,
    int(C.WHILE_STMT): _while,
    int(C.DO_STMT): _do,
    int(C.CXX_FOR_RANGE_STMT): _range,
    int(C.SWITCH_STMT): _switch,
    int(C.CONDITIONAL_OPERATOR): _select,
    int(C.BINARY_OPERATOR): _logical,
}


_FIRST, _LAST = 100, 299  # cursor kinds of expressions and statements
# What these hold is evaluated by the compiler, or not at all; lambdas are functions of their own.
_OPAQUE = frozenset(
    (C.DECL_REF_EXPR, C.CXX_UNARY_EXPR, C.LAMBDA_EXPR, C.ASM_STMT, C.MS_ASM_STMT, C.CXX_TYPEID_EXPR)
)


def instrument(writer: BranchWriter) -> None:
    """Count the branches of `writer.function`, without those of the lambdas in it."""
    for child in writer.function.body.children:
        _visit(writer, child)


def _visit(writer: BranchWriter, node: Node) -> None:
    handler = HANDLERS.get(node.kind)
    closing: Closing = []
    if handler is not None:
        mark, probes, counters = writer.text.mark(), len(writer.probes), writer.counters
        try:
            handler(writer, node, closing)
        except SkippedError as reason:
            place = node.start
            writer.not_probed.append(NotProbed(str(place.path), place.line, place.column, str(reason)))
            writer.text.take_back(mark)
            del writer.probes[probes:]
            writer.counters = counters
            closing = []
    _visit_children(writer, node)
    for at, text in closing:
        writer.text.close(at, text)


def _visit_children(writer: BranchWriter, node: Node) -> None:
    if node.kind in _OPAQUE:
        return
    if node.kind == C.VAR_DECL:
        initializer = node.initializer
        if initializer is not None and not _is_constant_variable(writer, node, initializer):
            _visit(writer, initializer)
        return
    for child in node.children:
        is_label = node.kind == C.CASE_STMT and child is not node.children[-1]
        if (_FIRST <= child.kind <= _LAST or child.kind == C.VAR_DECL) and not is_label:
            _visit(writer, child)


def _is_constant_variable(writer: BranchWriter, node: Node, initializer: Node) -> bool:
    before = writer.text.plain[node.start.offset : initializer.start.offset]
    return b"constexpr" in before.split() or (node.type.is_const and is_constant(initializer))
