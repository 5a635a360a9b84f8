"""PW047, PW048, PW049: calls and divisions that take many instructions where a few would do.

What is told is written out in the kernel: a power with a small constant exponent (nvcc calls the library for
it), a division by a constant or by a value that the loop around it does not change, an integer division by a
value that the compiler does not know. The kernel is lowered again with the cheaper form in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.counting.syntax import strip_casts
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.findings.advice.loops import changed_in, loops_around
from wattslice.findings.advice.rewriting import rewritten
from wattslice.ir.walking import evaluations
from wattslice.workload.instructions.expansions import call_cost, measured
from wattslice.workload.instructions.operators import is_power
from wattslice.workload.instructions.value_graph import Cost

_EXPONENTS = {2.0: "x * x", 3.0: "x * x * x", 0.5: "sqrtf(x)"}
_NAMES = frozenset({"pow", "powf"})


class _Found(NamedTuple):
    node: ir.Expr
    region: int
    cost: Cost
    runs: float

    @property
    def instructions(self) -> float:
        return self.runs * sum(number for _, number in self.cost)


def replaceable(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding of each kind, at the place that runs most instructions."""
    kinds: dict[str, list[_Found]] = {}
    runs = facts.profile.thread_counts
    for node, region in evaluations(facts.kernel):
        if runs[region] > 0.0 and (told := _kind(facts, node, region)) is not None:
            rule, cost = told
            kinds.setdefault(rule, []).append(_Found(node, region, cost, runs[region]))  # pyright: ignore[reportArgumentType]
    total = facts.work.instructions.total
    for rule, found in sorted(kinds.items()):
        spared: dict[str, float] = {}
        for one in found:
            for kind, number in one.cost:
                spared[kind.value] = spared.get(kind.value, 0.0) + number * one.runs
        if sum(spared.values()) < LEAST_INSTRUCTIONS * total or not facts.is_worth_sparing(spared):
            continue
        change, tell = _RULES[rule]
        nodes = frozenset(one.node for one in found)
        stake = facts.stake_if_computed(rewritten(facts.kernel, partial(change, nodes)))
        if stake.is_worth_telling:
            worst = max(found, key=lambda one: one.instructions)
            span = worst.node.span
            message, fix, is_certain = tell(facts, worst.node)
            also = [one.node.span for one in found]
            yield facts.advice(rule, span, message, fix, stake, is_certain=is_certain, also=also)


LEAST_INSTRUCTIONS = 0.05
"""Of a kernel's instructions: what makes fewer is not worth predicting the kernel again."""


def _kind(facts: LaunchFacts, node: ir.Stmt | ir.Expr, region: int) -> tuple[str, Cost] | None:
    """The rule that a node falls under, and the instructions it takes at most."""
    match node:
        case ir.Intrinsic() if is_small_power(node):
            return "PW047", call_cost(node.name, node.type, node.operations)
        case ir.Binary(op=ir.BinaryOp.DIV, right=right) if node.operand_type.is_float:
            bits = node.operand_type.bits
            is_reciprocal = isinstance(strip_casts(node.left), ir.Constant)
            if bits in (32, 64) and not is_reciprocal and _is_fixed(facts, right, region):
                return "PW048", measured(f"div.fp{bits}") or ()
        case ir.Binary(op=ir.BinaryOp.DIV | ir.BinaryOp.MOD) if node.operand_type.is_integral:
            if _is_unknown(facts, node.right):
                name = "div" if node.op is ir.BinaryOp.DIV else "mod"
                return "PW049", measured(f"{name}.int{64 if node.operand_type.bits == 64 else 32}") or ()
        case _:
            pass
    return None


def _length(key: str) -> float:
    return sum(number for _, number in measured(key) or ())


# ------------------------------------------------------------------ powers


def is_small_power(node: ir.Intrinsic) -> bool:
    """Whether this is `pow` with an exponent that needs no library."""
    name = node.name.removeprefix("__builtin_").removeprefix("std::")
    return name in _NAMES and _exponent(node) in _EXPONENTS


def _exponent(node: ir.Intrinsic) -> float | None:
    if len(node.arguments) != 2:
        return None
    exponent = strip_casts(node.arguments[1])
    return float(exponent.value) if isinstance(exponent, ir.Constant) else None


def _multiplied(nodes: frozenset[ir.Expr], old: Any, new: Any) -> Any:  # noqa: ANN401 - any node
    if old not in nodes:
        return new
    base, exponent = new.arguments[0], _exponent(new)
    if exponent == 0.5:
        return replace(new, name="sqrt", semantics=ir.Semantics.SQRT, arguments=(base,))

    def times(left: ir.Expr, right: ir.Expr) -> ir.Binary:
        return ir.Binary(ir.BinaryOp.MUL, left, right, new.type, new.type, new.span)

    return times(base, base) if exponent == 2.0 else times(times(base, base), base)


def _tell_power(facts: LaunchFacts, node: Any) -> tuple[str, str, bool]:  # noqa: ANN401 - an intrinsic
    exponent = _exponent(node) or 0.0
    cost = sum(number for _, number in call_cost(node.name, node.type, node.operations))
    simpler = _EXPONENTS[exponent]
    if node.type.bits == 64 and exponent == 0.5:
        simpler = "sqrt(x)"
    return (
        f"{node.name}(x, {exponent:g}) calls the library: about {cost:.0f} instructions",
        f"write {simpler}",
        True,
    )


# ------------------------------------------------------------------ divisions of floats


def _is_fixed(facts: LaunchFacts, divisor: ir.Expr, region: int) -> bool:
    """Whether a divisor is a constant whose reciprocal is not exact, or the innermost loop leaves it
    alone.
    """
    plain = strip_casts(divisor)
    if isinstance(plain, ir.Constant):
        return plain.value != 0 and abs(math.frexp(plain.value)[0]) != 0.5  # else its reciprocal is exact
    loop = loops_around(facts.kernel).get(region)
    if loop is None or not all(isinstance(node, _PLAIN) for node in ir.walk_expressions(divisor)):
        return False
    read = {node.place.variable for node in ir.walk_expressions(divisor) if isinstance(node, ir.Read)}
    return bool(read) and read.isdisjoint(changed_in(loop))


_PLAIN = (ir.Read, ir.Cast, ir.Constant, ir.Binary, ir.Unary)


def _by_reciprocal(nodes: frozenset[ir.Expr], old: Any, new: Any) -> Any:  # noqa: ANN401 - any node
    return replace(new, op=ir.BinaryOp.MUL) if old in nodes else new


def _tell_division(facts: LaunchFacts, node: Any) -> tuple[str, str, bool]:  # noqa: ANN401 - a division
    cost = _length(f"div.fp{node.operand_type.bits}")
    divisor = strip_casts(node.right)
    what = (
        f"{divisor.value:g}" if isinstance(divisor, ir.Constant) else "a value that the loop does not change"
    )
    return (
        f"division by {what}: about {cost:.0f} instructions each time",
        "multiply by its reciprocal, computed once, where the last bit does not matter",
        False,
    )


# ------------------------------------------------------------------ divisions of integers


def _is_unknown(facts: LaunchFacts, divisor: ir.Expr) -> bool:
    """Whether the compiler does not know a divisor: it is made of parameters, geometry or memory."""
    return any(
        isinstance(node, ir.Builtin | ir.Load)
        or (isinstance(node, ir.Read) and node.place.variable in facts.kernel.parameters)
        for node in ir.walk_expressions(divisor)
    )


def _masked(nodes: frozenset[ir.Expr], old: Any, new: Any) -> Any:  # noqa: ANN401 - any node
    if old not in nodes:
        return new
    op = ir.BinaryOp.SHR if new.op is ir.BinaryOp.DIV else ir.BinaryOp.AND
    return replace(new, op=op)


def _tell_integer(facts: LaunchFacts, node: Any) -> tuple[str, str, bool]:  # noqa: ANN401 - a division
    what = "division" if node.op is ir.BinaryOp.DIV else "remainder"
    name = "div" if node.op is ir.BinaryOp.DIV else "mod"
    cost = _length(f"{name}.int{64 if node.operand_type.bits == 64 else 32}")
    value = _known(facts, node.right)
    power = value is not None and is_power(value)
    message = f"integer {what} by a value that the compiler does not know: about {cost:.0f} instructions"
    if power:
        shift = "a shift" if node.op is ir.BinaryOp.DIV else "& (n - 1)"
        return (
            f"{message}; it is {value:.0f} in this launch",
            f"make it a template parameter or constant, or use {shift}",
            True,
        )
    return message, "make it a template parameter or constant, or carry quotient and remainder along", False


def _known(facts: LaunchFacts, divisor: ir.Expr) -> float | None:
    """The value of a divisor in this launch, as far as the source tells."""
    if not facts.is_given:
        return None
    divisor = strip_casts(divisor)
    if isinstance(divisor, ir.Builtin) and divisor.kind is ir.BuiltinKind.BLOCK_DIM:
        return float(facts.launch.block[divisor.axis])
    if isinstance(divisor, ir.Builtin) and divisor.kind is ir.BuiltinKind.GRID_DIM:
        return float(facts.launch.grid[divisor.axis])
    if isinstance(divisor, ir.Read):
        values = dict(zip(facts.kernel.parameters, facts.launch.arguments, strict=True))
        return values.get(divisor.place.variable)
    return None


_Tell = Callable[[LaunchFacts, Any], tuple[str, str, bool]]
_RULES: dict[str, tuple[Callable[[frozenset[ir.Expr], Any, Any], Any], _Tell]] = {
    "PW047": (_multiplied, _tell_power),
    "PW048": (_by_reciprocal, _tell_division),
    "PW049": (_masked, _tell_integer),
}
