"""What `.maxntid`, `.reqntid`, `.minnctapersm` and `.maxnreg` allow a launch."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from wattslice.frontend.ptx.syntax.syntax import Directive, Function


@dataclass(frozen=True, slots=True)
class LaunchBounds:
    """The bounds of `__launch_bounds__` and `__maxnreg__`, None where nothing is said."""

    max_threads_per_block: int | None
    min_blocks_per_sm: int | None
    max_registers: int | None


def launch_bounds(function: Function) -> LaunchBounds:
    """The bounds that the directives of a kernel give."""
    threads = function.directive("reqntid") or function.directive("maxntid")
    blocks = function.directive("minnctapersm") or function.directive("minncta")
    return LaunchBounds(_product(threads), _product(blocks), _product(function.directive("maxnreg")))


def _product(directive: Directive | None) -> int | None:
    if directive is None:
        return None
    texts = (text.strip() for text in directive.arguments)
    numbers = [int(text) for text in texts if text.isascii() and text.isdecimal()]
    return prod(numbers) if numbers else None
