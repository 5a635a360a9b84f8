"""`__launch_bounds__` and `__maxnreg__` of a kernel: macros of the prelude annotate their arguments."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as K
from wattslice.frontend.cuda.clang.unit import ParsedUnit

_NAMES = (K.DECL_REF_EXPR, K.TYPE_REF, K.TEMPLATE_REF)


def launch_bounds(kernel: Node, unit: ParsedUnit) -> tuple[int | None, ...]:
    """Values of `__launch_bounds__(maxThreads, minBlocks, ...)`; empty without, None where not known."""
    return _annotated(kernel, "launch_bounds", unit)


def max_registers(kernel: Node, unit: ParsedUnit) -> int | None:
    """Value of `__maxnreg__(registers)`; None without, and where it is not known."""
    return next(iter(_annotated(kernel, "maxnreg", unit)), None)


def _annotated(kernel: Node, annotation: str, unit: ParsedUnit) -> tuple[int | None, ...]:
    for child in kernel.children:
        if child.kind == K.ANNOTATE_ATTR and child.spelling == annotation:
            return tuple(_integer(argument, unit) for argument in child.children)
    return ()


def _integer(node: Node, unit: ParsedUnit) -> int | None:
    """The integer an expression folds to at compile time; None when it does not or rests on made-up names."""
    if _mentions_made_up(node, unit):
        return None
    value = node.evaluate()
    return value if isinstance(value, int) else None


def _mentions_made_up(node: Node, unit: ParsedUnit) -> bool:
    """Whether a name that the parse itself declared takes part: its value means nothing."""
    if not unit.recovered.declared:
        return False
    targets = (part.referenced for part in node.walk() if part.kind in _NAMES)
    return any(target is not None and unit.is_made_up(target) for target in targets)
