"""What the lowering asks of a tree: attributes, kernels, launches, pragmas, constant values, and holes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wattslice.frontend.clang.cursors import Node, strip
from wattslice.frontend.clang.diagnostics import ParseDiagnostic
from wattslice.frontend.clang.kinds import CursorKind as K
from wattslice.frontend.clang.kinds import TypeKind
from wattslice.frontend.clang.session import ParsedUnit

_FUNCTIONS = (K.FUNCTION_DECL, K.FUNCTION_TEMPLATE, K.CXX_METHOD)
_SPACES = {
    K.CUDAGLOBAL_ATTR: "global",
    K.CUDADEVICE_ATTR: "device",
    K.CUDAHOST_ATTR: "host",
    K.CUDASHARED_ATTR: "shared",
    K.CUDACONSTANT_ATTR: "constant",
}


def attributes(declaration: Node) -> frozenset[str]:
    """Of "global", "device", "host", "shared", "constant", "managed", "grid_constant": those it carries."""
    found: set[str] = set()
    for child in declaration.children:
        name = _SPACES.get(K(child.kind)) if child.kind in _SPACES else None
        if name is not None:
            found.add(name)
        elif child.kind == K.ANNOTATE_ATTR:
            found.add(child.spelling)
    return frozenset(found)


def annotation_arguments(declaration: Node, name: str) -> tuple[Node, ...] | None:
    """The argument expressions of an annotated attribute of the prelude (for example "launch_bounds")."""
    for child in declaration.children:
        if child.kind == K.ANNOTATE_ATTR and child.spelling == name:
            return child.children
    return None


def launch_bounds(kernel: Node, unit: ParsedUnit) -> tuple[int | None, ...]:
    """Values of `__launch_bounds__(maxThreads, minBlocks, ...)`; empty without, None where not constant."""
    return tuple(evaluate_int(a, unit) for a in annotation_arguments(kernel, "launch_bounds") or ())


def body(function: Node) -> Node | None:
    """The COMPOUND_STMT of a function definition."""
    return next((c for c in function.children if c.kind == K.COMPOUND_STMT), None)


def kernels(unit: ParsedUnit) -> Iterator[Node]:
    """Definitions of `__global__` functions in the asked-for file: functions, templates and their instances.

    An instance is a FUNCTION_DECL whose `template` is not None; prefer it over the FUNCTION_TEMPLATE.
    """
    for node in functions(unit):
        if "global" in attributes(node) and body(node) is not None:
            yield node


def functions(unit: ParsedUnit) -> Iterator[Node]:
    """Functions declared or defined at namespace or class scope of the asked-for file."""
    stack = list(unit.declarations())[::-1]
    while stack:
        node = stack.pop()
        if node.kind in _FUNCTIONS:
            yield node
        elif node.kind in (K.CLASS_DECL, K.STRUCT_DECL, K.CLASS_TEMPLATE):
            stack.extend(reversed(node.children))


@dataclass(frozen=True, slots=True)
class LaunchSite:
    """One `kernel<<<grid, block, shared, stream>>>(arguments)`.

    `kernel` is the FUNCTION_DECL launched (for a template its instance) or None when the callee is an
    expression or an unresolved template. `shared` and `stream` None where the launch does not name them.
    """

    call: Node
    kernel: Node | None
    kernel_name: str
    grid: Node | None
    block: Node | None
    shared: Node | None
    stream: Node | None
    arguments: tuple[Node, ...]

    @property
    def line(self) -> int:
        """Line from 1."""
        return self.call.start.line


def as_launch(node: Node) -> LaunchSite | None:
    """The launch this node is, if it is one: a CALL_EXPR with a call of cudaConfigureCall as child."""
    if node.kind not in (K.CALL_EXPR, K.UNEXPOSED_EXPR):
        return None
    children = node.children
    position = next((i for i, c in enumerate(children[:2]) if _is_configuration(c)), None)
    if position is None:
        return None
    configuration = children[position].children[1:]
    given = [None if a.start.line == 0 or _is_default(a) else a for a in configuration] + [None] * 4
    callee = strip(children[0]) if position == 1 else None
    kernel = node.referenced
    if kernel is not None and kernel.kind not in _FUNCTIONS:
        kernel = None
    name = kernel.spelling if kernel is not None else _callee_name(callee)
    return LaunchSite(
        node, kernel, name, given[0], given[1], given[2], given[3], tuple(children[position + 1 :])
    )


def _is_configuration(node: Node) -> bool:
    return node.kind == K.CALL_EXPR and node.spelling == "cudaConfigureCall"


def _is_default(node: Node) -> bool:
    """A default argument has no text of its own."""
    return node.start.offset == node.end.offset and node.start.line == 0


def _callee_name(callee: Node | None) -> str:
    if callee is None:
        return ""
    for node in callee.walk():
        if node.spelling:
            return node.spelling
    return ""


def launches(unit: ParsedUnit) -> Iterator[LaunchSite]:
    """Every launch in the functions of the asked-for file, in source order; one written in a template comes
    once per instance as well.
    """
    for function in functions(unit):
        for node in function.walk():
            site = as_launch(node)
            if site is not None:
                yield site


# -- pragmas ------------------------------------------------------------------------------------------------

_UNROLL = re.compile(
    rb"#[ \t]*pragma[ \t]+(?:GCC[ \t]+|clang[ \t]+loop[ \t]+)?(?P<no>no)?unroll"
    rb"(?:\([ \t]*(?P<word>enable|disable|full)[ \t]*\))?[ \t]*(?P<count>\(?[^\n\\]*\)?)"
    rb"|_Pragma[ \t]*\([ \t]*\"(?P<no2>no)?unroll[ \t]*(?P<count2>[^\"]*)\"[ \t]*\)"
)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Unroll:
    """`#pragma unroll` before a loop. `count_text` is what follows it ("" means: fully); "1" is nounroll."""

    count_text: str

    @property
    def count(self) -> int | None:
        """The number, where it is written as a literal; None for "fully" and for names."""
        try:
            return int(self.count_text.strip("() \t\r").rstrip("uUlL"), 0)
        except ValueError:
            return None


def unroll_pragma(loop: Node, unit: ParsedUnit) -> Unroll | None:
    """The unroll pragma in the source text right before a loop, (the tree names no number)."""
    start = loop.start
    before = unit.source_of(start)[max(0, start.offset - 400) : start.offset]
    last: re.Match[bytes] | None = None
    for last in _UNROLL.finditer(before):  # noqa: B007  (the last one counts)
        pass
    if last is None or _COMMENT.sub(b"", before[last.end() :]).strip():
        return None
    if last["no"] or last["no2"] or last["word"] == b"disable":
        return Unroll("1")
    text = _COMMENT.sub(b"", last["count"] or last["count2"] or b"").decode("utf-8", "replace").strip()
    return Unroll(text)


# -- constants ----------------------------------------------------------------------------------------------


def mentions_made_up(node: Node, unit: ParsedUnit) -> bool:
    """Whether a name that the parse itself declared takes part in this expression."""
    if not unit.recovered.declared:
        return False
    for part in node.walk():
        if part.kind in (K.DECL_REF_EXPR, K.TYPE_REF, K.TEMPLATE_REF):
            target = part.referenced
            if target is not None and unit.is_made_up(target):
                return True
    return False


def evaluate_int(node: Node, unit: ParsedUnit) -> int | None:
    """The integer an expression folds to at compile time; None when it does not or rests on made-up names."""
    if mentions_made_up(node, unit):
        return None
    value = node.evaluate()
    return value if isinstance(value, int) else None


# -- holes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hole:
    """A place in a function where clang dropped or could not type code."""

    line: int
    what: str


_CONDITIONED = {K.IF_STMT: 2, K.WHILE_STMT: 2, K.DO_STMT: 2, K.SWITCH_STMT: 2, K.FOR_STMT: 1}


def holes(function: Node, unit: ParsedUnit) -> tuple[Hole, ...]:
    """Everything that makes a function's tree incomplete; empty means that the tree can be trusted.

    An undeclared variable silently deletes its whole statement, so error lines inside the function count, as
    do conditions without a child and recovered expressions of dependent type outside templates.
    """
    start, last = function.start, function.end.line
    found = [Hole(d.line, d.message) for d in unit.errors_between(start.line, last, start.path)]
    dependent_is_normal = function.kind == K.FUNCTION_TEMPLATE
    for node in function.walk():
        least = _CONDITIONED.get(K(node.kind)) if node.kind in _CONDITIONED else None
        if least is not None and len(node.children) < least:
            found.append(Hole(node.line, "a condition or body is missing"))
        elif (
            not dependent_is_normal
            and node.kind == K.UNEXPOSED_EXPR
            and node.type.kind == TypeKind.DEPENDENT
            and not _inside_lambda(node)
        ):
            found.append(Hole(node.line, "an expression could not be typed"))
    return tuple(dict.fromkeys(found))


def _inside_lambda(node: Node) -> bool:
    """Generic lambdas hold dependent expressions by right; their parent is a call operator template."""
    parent = node.semantic_parent
    return parent is not None and parent.kind == K.LAMBDA_EXPR


def clean(function: Node, unit: ParsedUnit) -> bool:
    """Whether nothing of the function was lost."""
    return not holes(function, unit)


__all__ = [
    "Hole",
    "LaunchSite",
    "ParseDiagnostic",
    "Unroll",
    "annotation_arguments",
    "as_launch",
    "attributes",
    "body",
    "clean",
    "evaluate_int",
    "functions",
    "holes",
    "kernels",
    "launch_bounds",
    "launches",
    "mentions_made_up",
    "unroll_pragma",
]
