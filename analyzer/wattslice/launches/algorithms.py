"""Algorithms of the standard library over elements of sequences that host code knows.

A range is given by two addresses; iterators of vectors and arrays are addresses too. What decides by a
function that it is given is nobody's here, `std::greater` and its kin aside.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.containers import MOST_MOVED, fill, store_elements
from wattslice.launches.memory import Memory, Pointer, Unknown, Value, binary, convert

_SCALARS = (ir.TypeKind.INT, ir.TypeKind.FLOAT)
_OPERATORS = {
    "std::plus<": ir.BinaryOp.ADD,
    "std::minus<": ir.BinaryOp.SUB,
    "std::multiplies<": ir.BinaryOp.MUL,
}


class _Range(Struct, frozen=True):
    """So many scalars of a type from an address on; `given`: the arguments behind the range."""

    memory: Memory
    first: Pointer
    number: int
    type: ir.Type
    node: ir.Call
    given: tuple[Value, ...]

    def at(self, index: int) -> Pointer:
        return replace(self.first, offset=self.first.offset + index * self.type.size_bytes)

    @property
    def values(self) -> list[Value]:
        places = (self.at(index) for index in range(self.number))
        return [self.memory.read(place.storage, place.offset, self.type) for place in places]

    @property
    def numbers(self) -> list[int | float] | None:
        """The values, where all are known."""
        known = [value for value in self.values if isinstance(value, (int, float))]
        return known if len(known) == self.number else None

    def write(self, target: Pointer, values: Sequence[Value]) -> Pointer:
        """Store values from an address on; where the last one ends."""
        parts = [{0: convert(value, self.type)} for value in values]
        store_elements(self.memory, target, parts, self.type.size_bytes)
        return replace(target, offset=target.offset + len(values) * self.type.size_bytes)

    def operator(self, place: int) -> ir.BinaryOp | None:
        """What combines two values: of the argument at `place` behind the range, an addition without one."""
        if len(self.given) <= place:
            return ir.BinaryOp.ADD
        name = self.node.arguments[place + len(self.node.arguments) - len(self.given)].type.name
        return next((op for start, op in _OPERATORS.items() if name.startswith(start)), None)

    def order(self, place: int) -> bool | None:
        """Whether the largest comes first; None where a function decides."""
        if len(self.given) <= place:
            return False
        name = self.node.arguments[place + len(self.node.arguments) - len(self.given)].type.name
        return True if name.startswith("std::greater<") else False if name.startswith("std::less<") else None


def _extreme(r: _Range) -> Value | None:
    numbers, is_reversed = r.numbers, r.order(0)
    if is_reversed is None:
        return None
    if numbers is None:
        return Unknown(f"the result of {r.node.name}()", around=(r.first,))
    chosen = max if (r.node.name == "max_element") is not is_reversed else min
    return r.at(numbers.index(chosen(numbers)) if numbers else 0)


def _sum(r: _Range) -> Value | None:
    op, value = r.operator(1), r.given[0] if r.given else 0
    if op is None or (r.node.name == "reduce" and len(r.given) > 1):
        return None
    type_ = r.node.type
    wide = type_ if type_.size_bytes >= r.type.size_bytes or r.type.is_float else r.type
    wide = r.type if r.type.is_float and not type_.is_float else wide
    for element in r.values:
        value = convert(binary(op, convert(value, wide), convert(element, wide), wide), type_)
    return value


def _sums(r: _Range) -> Value | None:
    """partial_sum, inclusive_scan and exclusive_scan, into as large numbers."""
    is_exclusive = r.node.name == "exclusive_scan"
    target = r.given[0] if r.given else None
    if not isinstance(target, Pointer) or len(r.given) != 1 + is_exclusive or not _is_of(r, 2):
        return None
    values = r.values
    if is_exclusive:
        values = [r.given[1], *values[: r.number - 1]][: r.number]
    return r.write(target, list(accumulate(values, lambda x, y: binary(ir.BinaryOp.ADD, x, y, r.type))))


def _is_of(r: _Range, place: int) -> bool:
    """Whether an argument points to what the range holds."""
    element = r.node.arguments[place].type.element
    return element is not None and (element.kind, element.bits) == (r.type.kind, r.type.bits)


def _sort(r: _Range) -> Value | None:
    numbers, is_reversed = r.numbers, r.order(0)
    if numbers is None or is_reversed is None:
        return None
    return r.write(r.first, sorted(numbers, reverse=is_reversed))


def _reverse(r: _Range) -> Value | None:
    return r.write(r.first, r.values[::-1])


def _fill(r: _Range) -> Value | None:
    fill(r.memory, r.first, r.number, r.given[0], r.type)
    return r.at(r.number)


def _iota(r: _Range) -> Value | None:
    start = r.given[0]
    return r.write(r.first, [binary(ir.BinaryOp.ADD, start, at, r.type) for at in range(r.number)])


def _find(r: _Range) -> Value | None:
    for index, value in enumerate(r.values):
        if not isinstance(value, (int, float)) or not isinstance(r.given[0], (int, float)):
            return Unknown("the result of find()", around=(r.first,))
        if value == r.given[0]:
            return r.at(index)
    return r.at(r.number)


def _kept(r: _Range) -> Value | None:
    """remove and unique: the elements that stay are moved to the front."""
    numbers = r.numbers
    if numbers is None or len(r.given) != (r.node.name == "remove"):
        return None
    stays = [at for at, one in enumerate(numbers) if not at or one != numbers[at - 1]]
    if r.given:
        stays = [at for at, one in enumerate(numbers) if one != r.given[0]]
        if not isinstance(r.given[0], (int, float)):
            return None
    return r.write(r.first, [numbers[at] for at in stays])


def _count(r: _Range) -> Value | None:
    numbers, wanted = r.numbers, r.given[0]
    is_known = numbers is not None and isinstance(wanted, (int, float))
    return sum(number == wanted for number in numbers or ()) if is_known else Unknown("the result of count()")


def _bound(r: _Range) -> Value | None:
    numbers, wanted = r.numbers, r.given[0]
    if numbers is None or numbers != sorted(numbers) or not isinstance(wanted, (int, float)) or r.given[1:]:
        return None
    return r.at((bisect_left if r.node.name == "lower_bound" else bisect_right)(numbers, wanted))


def _copy(r: _Range) -> Value | None:
    target = r.given[0]
    if not isinstance(target, Pointer) or not _is_of(r, 2):
        return None
    return r.write(target, r.values)


_OF_RANGES: dict[str, tuple[int, Callable[[_Range], Value | None]]] = {
    **dict.fromkeys(("max_element", "min_element"), (0, _extreme)),
    **dict.fromkeys(("accumulate", "reduce"), (0, _sum)),
    **dict.fromkeys(("partial_sum", "inclusive_scan", "exclusive_scan"), (1, _sums)),
    **dict.fromkeys(("sort", "stable_sort"), (0, _sort)),
    **dict.fromkeys(("lower_bound", "upper_bound"), (1, _bound)),
    "reverse": (0, _reverse),
    "fill": (1, _fill),
    "fill_n": (1, _fill),
    "iota": (1, _iota),
    "find": (1, _find),
    "count": (1, _count),
    **dict.fromkeys(("remove", "unique"), (0, _kept)),
    "copy": (1, _copy),
    "copy_n": (1, _copy),
}
"""What they need behind the range at least, and what evaluates them."""


def algorithm_call(memory: Memory, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    """Value of an algorithm, after its effect; None where it is none or not known."""
    name = node.name.removeprefix("std::")
    if len(arguments) < 2 or not node.callee.startswith("_ZSt"):
        return None
    (first, second), given = arguments[:2], arguments[2:]
    type_ = node.arguments[0].type.element
    if not isinstance(first, Pointer) or type_ is None or not type_.size_bytes:
        return None
    array = node.arguments[1].type.element
    if name in ("begin", "end") and array is not None and array.kind is ir.TypeKind.ARRAY:
        length = 0 if name == "begin" else array.size_bytes
        return replace(first, offset=first.offset + length)
    if name in ("next", "prev") and isinstance(second, int):
        step = second if name == "next" else -second
        return replace(first, offset=first.offset + step * type_.size_bytes)
    number = second
    if isinstance(second, Pointer) and second.storage is first.storage:
        number = (second.offset - first.offset) // type_.size_bytes
    if name == "distance" and isinstance(second, Pointer):
        return number if isinstance(number, int) else None
    least, function = _OF_RANGES.get(name, (0, None))
    is_counted = name.endswith("_n")
    if function is None or not isinstance(number, int) or is_counted != isinstance(second, int):
        return None
    if type_.kind not in _SCALARS or type_.lanes != 1 or not 0 <= number <= MOST_MOVED:
        return None
    return None if len(given) < least else function(_Range(memory, first, number, type_, node, given))


_SPLITS: dict[str, Callable[[float], tuple[float, float]]] = {
    **dict.fromkeys(("frexp", "frexpf"), math.frexp),
    **dict.fromkeys(("modf", "modff"), math.modf),
}


def split_call(memory: Memory, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    """Value of `frexp` and `modf`, after they have written their second part; None of another call."""
    split = _SPLITS.get(node.name.removeprefix("std::"))
    if split is None or len(arguments) != 2:
        return None
    number, place = arguments
    type_ = node.arguments[1].type.element
    if not isinstance(number, (int, float, Unknown)) or not isinstance(place, Pointer) or type_ is None:
        return None
    first, second = (number, number) if isinstance(number, Unknown) else split(number)
    memory.write(place.storage, place.offset, second, type_)
    return first
