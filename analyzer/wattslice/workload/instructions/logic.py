"""LOP3 computes any function of three inputs: which bitwise operations become part of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wattslice.workload.instructions.value_graph import Shape, Value

INPUTS = 3
"""Operands of one LOP3, an immediate among them."""
CUTS = 24
"""Sets of inputs looked at for one value; long chains have more, and these suffice for them."""

_Cut = frozenset[object]
"""Inputs from which a value can be computed: values, and constants by number."""


def within_lop3(needed: Iterable[Value], uses: Mapping[Value, int]) -> set[Value]:
    """The bitwise operations among `needed` that the LOP3 of another one does along.

    `uses`: how many operands of others each value is. Each operation, those that no other takes in first,
    takes in as many as it can of those that nothing else needs; at most three distinct inputs remain.
    """
    logic = [value for value in needed if value.shape is Shape.LOGIC]
    cuts: dict[Value, tuple[_Cut, ...]] = {}
    ordered = _inputs_first(logic)
    for value in ordered:
        cuts[value] = _cuts(value, cuts)
    taken: set[Value] = set()
    for value in reversed(ordered):
        if value not in taken:
            covered = (frozenset(_covered(value, cut, uses) - taken) for cut in cuts[value])
            taken |= max(covered, key=len, default=frozenset[Value]())
    return taken


def _inputs_first(logic: list[Value]) -> list[Value]:
    """`logic` with each value behind those that it is computed from."""
    found: dict[Value, None] = {}
    for top in logic:
        stack = [(top, False)]
        while stack:
            value, are_inputs_there = stack.pop()
            if are_inputs_there:
                found[value] = None
            elif value not in found:
                stack.append((value, True))
                stack += [(part, False) for part in value.inputs if part.shape is Shape.LOGIC]
    return list(found)


def _cuts(value: Value, cuts: Mapping[Value, tuple[_Cut, ...]]) -> tuple[_Cut, ...]:
    """The sets of at most three inputs that `value` is a function of, nearest first."""
    found: dict[_Cut, None] = {frozenset(): None}
    for part in value.inputs:
        choices = (frozenset({_name(part)}), *cuts.get(part, ()))
        merged = (have | choice for have in found for choice in choices)
        found = dict.fromkeys(cut for cut in merged if len(cut) <= INPUTS)
    return tuple(found)[:CUTS]


def _name(value: Value) -> object:
    is_number = value.shape is Shape.CONSTANT and value.number is not None
    return value.number if is_number else value


def _covered(value: Value, cut: _Cut, uses: Mapping[Value, int]) -> set[Value]:
    """The operations between `cut` and `value` that nothing else needs."""
    inside: dict[Value, None] = {}
    reached: dict[Value, int] = {}
    stack = [value]
    while stack:
        here = stack.pop()
        inside[here] = None
        for part in here.inputs:
            if part.shape is Shape.LOGIC and part not in cut:
                reached[part] = reached.get(part, 0) + 1
                if reached[part] == uses.get(part, 0):
                    stack.append(part)
    return set(inside) - {value}
