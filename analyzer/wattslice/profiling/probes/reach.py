"""Which functions of a file the kernels come through, read off the kernels with everything inlined."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.session import ParsedUnit
from wattslice.ir import Constant, If, Loop, Program, Select, Span, Switch
from wattslice.ir.walking import expressions_below, walk_statements
from wattslice.patterns import regex

_FUNCTIONS = (
    C.FUNCTION_DECL, C.FUNCTION_TEMPLATE, C.CXX_METHOD, C.CONSTRUCTOR, C.CONVERSION_FUNCTION, C.LAMBDA_EXPR,
)  # fmt: skip
_SCOPES = (
    C.NAMESPACE, C.LINKAGE_SPEC, C.UNEXPOSED_DECL, C.CLASS_DECL, C.STRUCT_DECL, C.UNION_DECL,
    C.CLASS_TEMPLATE, C.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION,
)  # fmt: skip
_CONSTEXPR = regex(rb"\b(?:constexpr|consteval)\b")


class Position(Struct, frozen=True):
    """A place in a file, from line 1 and column 1."""

    file: str
    line: int
    column: int


class ReachedFunction(Struct, frozen=True):
    """A function (or lambda) with the body that kernels come through; `kernels` are numbers, in order."""

    body: Node
    kernels: tuple[int, ...]
    is_kernel: bool
    is_constexpr: bool

    def holds(self, position: Position) -> bool:
        """Whether a place is in the body."""
        start, end = self.body.start, self.body.end
        place = position.line, position.column
        return str(start.path) == position.file and (start.line, start.column) <= place < (
            end.line,
            end.column,
        )


class Reach(Struct, frozen=True):
    """What the kernels of a file execute: its functions, and every branch wherever it was written."""

    kernels: tuple[str, ...]
    functions: tuple[ReachedFunction, ...]
    branches: frozenset[Position]
    main: Node | None


def reach(unit: ParsedUnit, program: Program, can_be_written: Callable[[Path], bool]) -> Reach:
    """Functions of the files that can be written; instances of a kernel's template count as one kernel."""
    names = tuple(dict.fromkeys(kernel.name for kernel in program.kernels))
    points: list[set[Position]] = [set() for _ in names]
    branches: set[Position] = set()
    for kernel in program.kernels:
        of_kernel = points[names.index(kernel.name)]
        for stmt in walk_statements(kernel.body):
            of_kernel.add(_position(stmt.span))
            decides = not (isinstance(stmt, Loop) and isinstance(stmt.condition, Constant))
            if isinstance(stmt, If | Loop | Switch) and decides:
                branches.add(_position(stmt.span))
        branches.update(
            _position(expr.span) for expr in expressions_below(kernel.body) if isinstance(expr, Select)
        )
    bodies = list(_functions_with_bodies(unit, can_be_written))
    reached: list[set[int]] = [set() for _ in bodies]
    for number, of_kernel in enumerate(points):
        for point in of_kernel:
            inner = _innermost(bodies, point)
            if inner is not None:
                reached[inner].add(number)
    # What could not be read of a kernel may call any function: the running kernel then says which it is.
    unclear = {names.index(kernel.name) for kernel in program.kernels if not kernel.body_is_complete}
    functions = tuple(
        ReachedFunction(
            body,
            tuple(sorted(kernels if _is_kernel(function) else kernels | unclear)),
            _is_kernel(function),
            _is_constexpr(unit, function, body),
        )
        for (function, body), kernels in zip(bodies, reached, strict=True)
        if kernels
    )
    main = next(
        (
            body
            for function, body in bodies
            if function.kind == C.FUNCTION_DECL and function.spelling == "main" and unit.is_in_file(function)
        ),
        None,
    )
    return Reach(names, functions, frozenset(branches), main)


def _position(span: Span) -> Position:
    return Position(span.file, span.line, span.column)


def _functions_with_bodies(
    unit: ParsedUnit, can_be_written: Callable[[Path], bool]
) -> Iterator[tuple[Node, Node]]:
    """Of a template rather the template than an instance, which lies in the same place."""
    found: dict[tuple[Path, int], tuple[Node, Node]] = {}
    writable: dict[Path, bool] = {}
    stack = list(reversed(unit.root.children))
    while stack:
        node = stack.pop()
        if node.kind in _SCOPES:
            stack.extend(reversed(node.children))
        elif node.kind in _FUNCTIONS:
            path = node.place.path
            if path is None:
                continue
            if path not in writable:
                writable[path] = can_be_written(path)
            if not writable[path]:
                continue
            body = next((child for child in node.children if child.kind == C.COMPOUND_STMT), None)
            if body is None:
                continue
            place = path, body.start.offset
            known = found.get(place)
            if known is None or known[0].template is not None:
                found[place] = (node, body)
                stack.extend(inner for inner in body.walk() if inner.kind == C.LAMBDA_EXPR)
    yield from found.values()


def _innermost(bodies: list[tuple[Node, Node]], point: Position) -> int | None:
    best: int | None = None
    for number, (_, body) in enumerate(bodies):
        start, end = body.start, body.end
        if (
            str(start.path) == point.file
            and (start.line, start.column) <= (point.line, point.column) < (end.line, end.column)
            and (best is None or start.offset > bodies[best][1].start.offset)
        ):
            best = number
    return best


def _is_kernel(function: Node) -> bool:
    return any(child.kind == C.CUDAGLOBAL_ATTR for child in function.children)


def _is_constexpr(unit: ParsedUnit, function: Node, body: Node) -> bool:
    return (
        _CONSTEXPR.search(unit.source_of(body.start)[function.start.offset : body.start.offset]) is not None
    )
