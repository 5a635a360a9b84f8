"""Why source, PTX and SASS of a launch differ by more than 20 % in a class: causes by their evidence.

Each rule looks at what the other counts show (executed opcodes, loop tests, special functions). The first
that applies names the cause; where its share can be computed, it is taken off and the ratio looked at again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from wattslice_tools.wild.ptx_counts import Compared

TOLERANCE = 1.25
"""Within 20 %: neither count more than a quarter above the other."""

_LEAST = 0.05
"""Operations per thread below which a class is not looked at."""


class Difference(Struct, frozen=True):
    """A class that differs between two of the three.

    `settled`: equal within 20 % once the cause is taken off; None where its share cannot be computed.
    """

    pair: str
    cls: str
    ratio: float
    cause: str
    settled: bool | None


class _Pair(Struct, frozen=True):
    row: Compared
    cls: str
    before: float
    after: float

    @property
    def less(self) -> bool:
        return self.after < self.before


Found = tuple[str, float | None]
"""A cause, and what the two counts would differ by without it (a ratio)."""
_Rule = Callable[[_Pair], Found | None]


def differences(row: Compared) -> list[Difference]:
    """All of one launch, source against PTX and PTX against SASS."""
    found = [_difference("source/PTX", _TO_PTX, row, row.source, row.ptx, cls) for cls in row.source]
    if row.sass is not None and not row.unknown:
        found += [_difference("PTX/SASS", _TO_SASS, row, row.ptx, row.sass, cls) for cls in row.source]
    return [one for one in found if one is not None]


def close(first: float, second: float) -> bool:
    """Within 20 %; two counts of next to nothing are close too."""
    low, high = sorted((first, second))
    return high < _LEAST or high <= TOLERANCE * low


def _difference(
    name: str,
    rules: tuple[_Rule, ...],
    row: Compared,
    before: dict[str, float],
    after: dict[str, float],
    cls: str,
) -> Difference | None:
    pair = _Pair(row, cls, before[cls], after[cls])
    if close(pair.before, pair.after):
        return None
    ratio = pair.before / pair.after if pair.after else float("inf")
    for rule in rules:
        found = rule(pair)
        if found is not None:
            rest = found[1]
            settled = None if rest is None else 1 / TOLERANCE <= rest <= TOLERANCE
            return Difference(name, cls, ratio, found[0], settled)
    return Difference(name, cls, ratio, "not explained", None)


def _executed(opcodes: Counter[str], pattern: str) -> float:
    matcher = re.compile(pattern)
    return sum(number for name, number in opcodes.items() if matcher.match(name))


def _ratio(first: float, second: float) -> float:
    return first / second if second > 0 and first > 0 else float("inf")


# Source to PTX

_WIDE = r"(?:mul|mad)\.wide|(?:add|sub|mul|mad|shl)\.(?:lo\.)?[subc]+64"


def _functions(pair: _Pair) -> Found | None:
    """`expf`, `sinf`, `pow`, an integer division by the runtime library: instructions instead of one call."""
    if pair.cls in ("fp32", "fp64", "special", "integer", "control") and pair.row.source["special"] >= _LEAST:
        more = pair.row.ptx["fp32"] + pair.row.ptx["fp64"] > 1.05 * (
            pair.row.source["fp32"] + pair.row.source["fp64"]
        )
        if (pair.cls == "special" or not pair.less) and more:
            return "mathematical functions written out", None
        if pair.cls == "special":
            return "functions of constants, computed by the compiler", None
    return None


def _address_arithmetic(pair: _Pair) -> Found | None:
    if pair.cls != "integer" or pair.less:
        return None
    wide = _executed(pair.row.opcodes, _WIDE)
    rest = _ratio(pair.before, pair.after - wide)
    return ("64-bit addresses, scaling of subscripts", rest) if wide >= 0.2 * pair.after else None


def _shared_addresses(pair: _Pair) -> Found | None:
    if pair.cls != "integer" or pair.less:
        return None
    shared = pair.row.ptx["shared_load"] + pair.row.ptx["shared_store"] + pair.row.ptx["atomic"]
    return ("addresses in shared memory, scaling of subscripts", None) if shared >= 1 else None


def _fewer_tests(pair: _Pair) -> float:
    return max(0.0, pair.row.source["control"] - pair.row.ptx["control"])


def _unrolled(pair: _Pair) -> Found | None:
    """Each test that is gone took a comparison and a step with it."""
    tests = _fewer_tests(pair)
    if not pair.less or tests < 1:
        return None
    if pair.cls == "control":
        chosen = _executed(pair.row.opcodes, r"min\.|max\.|set\.|(?:and|or|xor)\.pred")
        if chosen >= tests / 2:
            return "choices without branches (min, max, predicates joined)", _ratio(
                pair.before - chosen, pair.after
            )
        return "unrolled loops: fewer tests", None
    if pair.cls == "integer":
        rest = _ratio(pair.before - 2 * tests, pair.after)
        if rest <= TOLERANCE:
            return "unrolled loops: fewer steps and tests", rest
        return "unrolled loops; subscripts computed once and stepped (strength reduction, CSE)", None
    return None


def _fewer_integers(pair: _Pair) -> Found | None:
    if pair.cls == "integer" and pair.less:
        return "subscripts computed once and stepped (strength reduction, CSE)", None
    return None


def _fewer_decisions(pair: _Pair) -> Found | None:
    if pair.cls != "control" or not pair.less:
        return None
    return "choices without branches (min, max, predicates joined)", None


def _more_decisions(pair: _Pair) -> Found | None:
    if pair.cls == "control" and not pair.less:
        return "rotated and unrolled loops: guards before them, rests after them", None
    return None


def _fewer_floats(pair: _Pair) -> Found | None:
    if pair.cls in ("fp32", "fp64") and pair.less:
        return "common subexpressions, dead code, code moved out of loops or into branches", None
    return None


def _more_floats(pair: _Pair) -> Found | None:
    if pair.cls in ("fp32", "fp64") and not pair.less:
        return "both arms of a choice computed, then selected", None
    return None


def _vectors(pair: _Pair) -> Found | None:
    wide = {
        "global_load": r"ld\.global.*\.v",
        "global_store": r"st\.global.*\.v",
        "shared_load": r"ld\.shared.*\.v",
    }.get(pair.cls)
    if wide is None or not pair.less or _executed(pair.row.opcodes, wide) < _LEAST:
        return None
    return "accesses joined into vectors", None


def _loads(pair: _Pair) -> Found | None:
    if not pair.cls.endswith(("_load", "_store")):
        return None
    if pair.less:
        return "values kept in registers, accesses sunk into the branch that needs them", None
    return "structures moved in parts, or loads moved before a branch", None


def _assumed(pair: _Pair) -> Found | None:
    """A loop or branch that data decide has other trips and probabilities once it is written otherwise."""
    if pair.row.assumed_in_ptx and not pair.row.assumed_in_source:
        return "trips or branches that are known in the source, not in PTX", None
    if pair.row.assumed_in_source:
        return "data decide trips or branches: assumed on both sides", None
    return None


_TO_PTX: tuple[_Rule, ...] = (
    _functions,
    _assumed,
    _unrolled,
    _address_arithmetic,
    _shared_addresses,
    _fewer_integers,
    _fewer_decisions,
    _more_decisions,
    _fewer_floats,
    _more_floats,
    _vectors,
    _loads,
)

# PTX to SASS


def _sampled(pair: _Pair) -> Found | None:
    """The threads that were run do different amounts of work: so few are not all of them."""
    if pair.cls == "control":  # how branches are written differs far more
        return None
    return ("24 threads stand for all", None) if pair.cls in pair.row.uneven else None


def _tiles(pair: _Pair) -> Found | None:
    if pair.cls.endswith(("_load", "_store")) and _executed(pair.row.opcodes, r"wmma|mma") > 0:
        return "matrix tiles loaded and stored in parts", None
    return None


def _expanded(pair: _Pair) -> Found | None:
    if pair.less or pair.cls not in ("fp32", "fp64", "special", "integer", "control"):
        return None
    divided = _executed(
        pair.row.opcodes, r"(?:div|rem)\.|sqrt\.r|rcp\.r|rsqrt\.|(?:sqrt|lg2|ex2|sin|cos)\.approx\.f"
    )
    if divided < _LEAST:
        return None
    return "division, square root and approximations written out", None


def _lanes(pair: _Pair) -> Found | None:
    name = {"global_load": "LDG", "global_store": "STG", "shared_load": "LDS", "shared_store": "STS"}.get(
        pair.cls
    )
    if name is None:
        return None
    elements = 0.0
    joined = False
    for opcode, number in pair.row.sass_opcodes.items():
        head, *rest = opcode.split(".")
        if head == name:
            lanes = 4 if "128" in rest else 2 if "64" in rest else 1
            joined = joined or lanes > 1
            elements += lanes * number
    return ("accesses joined into vectors", _ratio(pair.before, elements)) if joined and pair.less else None


def _sass_integers(pair: _Pair) -> Found | None:
    if pair.cls != "integer":
        return None
    if not pair.less:
        wide = _executed(pair.row.opcodes, _WIDE)
        rest = _ratio(pair.before + 2 * wide, pair.after)
        return "64-bit additions in two halves, LEA and IADD3 worth two", rest if wide else None
    return "offsets folded into accesses, unrolled loops, uniform registers", None


def _sass_control(pair: _Pair) -> Found | None:
    if pair.cls != "control":
        return None
    if pair.less:
        return "unrolled loops; short branches as predicated instructions", None
    return "rests of unrolled loops, slow paths of division", None


def _sass_others(pair: _Pair) -> Found | None:
    if pair.cls in ("fp32", "fp64"):
        if pair.less:
            return "common subexpressions, dead code", None
        return "conversions and comparisons done by the floating-point units", None
    if pair.cls == "special":
        return "approximations shared or added", None
    if pair.cls.endswith(("_load", "_store")):
        if pair.less:
            return "values kept in registers, accesses sunk into the branch that needs them", None
        return "accesses split, or moved before a branch", None
    return None


def _assumed_for_sass(pair: _Pair) -> Found | None:
    return ("trips or branches assumed for PTX", None) if pair.row.assumed_in_ptx else None


_TO_SASS: tuple[_Rule, ...] = (
    _assumed_for_sass,
    _expanded,
    _tiles,
    _lanes,
    _sampled,
    _sass_integers,
    _sass_control,
    _sass_others,
)
