"""Rules about arithmetic: PW047, PW048, PW049 (costly forms) and PW045, PW046 (double precision).

PW047 to PW049 tell what is written out in the kernel: a power with a small constant exponent (nvcc calls the
library for it), a division by a constant or by a value that the loop around it does not change, an integer
division by a value that the compiler does not know. The kernel is lowered again with the cheaper form.

PW045: expressions that are carried out in double precision although only floats and integers go in and come
out. A tree is the largest connected part of an expression in double precision. It is unintended when its
result is rounded to float (or to an integer, or only compared), when a literal or a library function made it
double, and when all that flows in are floats, integers and constants: no variable of type double, and no
`double` in the lines it is written on. What the compiler carries out in float anyway is no such tree (LLVM's
InstCombine, seen in the PTX of nvcc 13): one operation on floats and constants that a float holds exactly,
rounded to float at once; a comparison of such; a choice between floats and constants; a product with 1 or
-1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.counting.profile import Reach, SiteStatistics
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.findings.advice.rewriting import changed_in, loops_around
from wattslice.ir.rewriting import rewritten
from wattslice.ir.walking import evaluations
from wattslice.patterns import regex
from wattslice.workload.instructions.kinds import call_cost, measured
from wattslice.workload.instructions.operators import as_float, is_power
from wattslice.workload.instructions.value_graph import Cost
from wattslice_models.workload import Workload

_Change = Callable[[frozenset[ir.Expr], Any, Any], Any]
"""Given the nodes to change, and what `rewriting.Change` is given."""
_EXPONENTS = {2.0: "x * x", 3.0: "x * x * x", 0.5: "sqrtf(x)"}
_NAMES = frozenset({"pow", "powf"})


@lru_cache(maxsize=8)
def _with(kernel: ir.Kernel, change: _Change, nodes: frozenset[ir.Expr]) -> ir.Kernel:
    """`kernel` with `nodes` changed so. Kept, that it is lowered once: all launches ask for the same."""
    return rewritten(kernel, partial(change, nodes))


class _Found(Struct, frozen=True):
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
        stake = facts.stake_if_computed(_with(facts.kernel, change, nodes))
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
            fast = bool(facts.kernel.fast_math)
            return "PW047", call_cost(node.name, node.type, node.operations, fast=fast)
        case ir.Binary(op=ir.BinaryOp.DIV, right=right) if node.operand_type.is_float:
            bits = node.operand_type.bits
            is_reciprocal = isinstance(ir.strip_casts(node.left), ir.Constant)
            if bits in (32, 64) and not is_reciprocal and _is_fixed(facts, right, region):
                return "PW048", measured(f"div.fp{bits}", fast=bool(facts.kernel.fast_math)) or ()
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
    exponent = ir.strip_casts(node.arguments[1])
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
    """Whether a divisor is a constant of inexact reciprocal, or the innermost loop leaves it alone."""
    plain = ir.strip_casts(divisor)
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
    divisor = ir.strip_casts(node.right)
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
    divisor = ir.strip_casts(divisor)
    if isinstance(divisor, ir.Builtin) and divisor.kind is ir.BuiltinKind.BLOCK_DIM:
        return float(facts.launch.block[divisor.axis])
    if isinstance(divisor, ir.Builtin) and divisor.kind is ir.BuiltinKind.GRID_DIM:
        return float(facts.launch.grid[divisor.axis])
    if isinstance(divisor, ir.Read):
        values = dict(zip(facts.kernel.parameters, facts.launch.arguments, strict=True))
        return values.get(divisor.place.variable)
    return None


_Tell = Callable[[LaunchFacts, Any], tuple[str, str, bool]]
_RULES: dict[str, tuple[_Change, _Tell]] = {
    "PW047": (_multiplied, _tell_power),
    "PW048": (_by_reciprocal, _tell_division),
    "PW049": (_masked, _tell_integer),
}


_LITERAL = regex(r"(?<![\w.])(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
"""A floating-point literal without suffix."""
WEAK = 1.0 / 8.0
"""Rate of fp64 over that of fp32 up to which a GPU is weak at it: consumer boards have 1/24 to 1/64, Tesla
boards 1/2 or 1/3."""


def doubles(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding of each kind; both cost something only where there is arithmetic in fp64."""
    done = facts.workload.instructions
    if not done.fp64 + done.wide_conversion:
        return
    trees: tuple[DoubleTree, ...] = ()
    if facts.stake(in_single_precision(facts.workload)).is_worth_telling:
        trees = unintended_trees(facts.kernel, facts.text)
        told = tuple(tree for tree in trees if not _is_power(tree))
        if told:
            yield from _unintended(facts, told)
    yield from _slow(facts, trees)


def in_single_precision(work: Workload) -> Workload:
    """The same launch with each fp64 instruction an fp32 one, and no conversions between the two."""
    done = work.instructions
    single = replace(
        done,
        fp32=done.fp32 + done.fp64,
        fp64=0.0,
        special=max(0.0, done.special - done.wide_conversion),
        wide_conversion=0.0,
    )
    return replace(work, instructions=single)


def _unintended(facts: LaunchFacts, trees: tuple[DoubleTree, ...]) -> Iterator[Advice]:
    nodes = frozenset[ir.Expr]().union(*(tree.nodes for tree in trees))
    stake = facts.stake_if_computed(_with(facts.kernel, _in_single, nodes))
    if not stake.is_worth_telling:
        return
    runs = facts.profile.thread_counts
    worst = max(trees, key=lambda tree: runs[tree.region] * len(tree.nodes))
    what, fix = _cause(facts, worst)
    yield facts.advice(
        "PW045",
        worst.root.span,
        f"{what} makes this arithmetic on floats double precision",
        fix,
        stake,
        also=[tree.root.span for tree in trees],
    )


def _is_power(tree: DoubleTree) -> bool:
    """Whether nothing but a power with a small exponent stands there, which PW047 tells."""
    calls = [node for node in tree.nodes if isinstance(node, ir.Intrinsic | ir.Binary)]
    return len(calls) == 1 and isinstance(calls[0], ir.Intrinsic) and is_small_power(calls[0])


def _cause(facts: LaunchFacts, tree: DoubleTree) -> tuple[str, str]:
    """What makes the tree double precision, and what to write instead."""
    ordered = sorted(tree.nodes, key=lambda node: (node.span.line, node.span.column))
    literal = next((found for node in ordered if (found := _LITERAL.search(facts.text(node.span)))), None)
    call = next((node.name for node in ordered if isinstance(node, ir.Intrinsic)), None)
    if literal is not None:
        also = f", and call {call}f" if call is not None else ""
        return f"the literal {literal[0]}", f"write {literal[0]}f{also}"
    if call is not None:
        return f"{call}()", f"call the function for floats, {call}f, with floats only"
    return "a constant of type double", "make the constant a float: suffix f where it is defined"


def _slow(facts: LaunchFacts, trees: tuple[DoubleTree, ...]) -> Iterator[Advice]:
    gpu = facts.gpu
    rate = gpu.fp64_fma_per_clock_per_sm
    if not rate or rate > WEAK * gpu.fp32_fma_per_clock_per_sm or not has_other_doubles(facts.kernel, trees):
        return
    stake = facts.stake(in_single_precision(facts.with_sites(_halved(facts))))
    if stake.is_worth_telling:
        times = gpu.fp32_fma_per_clock_per_sm / rate
        yield facts.advice(
            "PW046",
            facts.kernel.span,
            f"computes in double precision, at 1/{times:.0f} of the rate of single on the {gpu.name}",
            "where single precision is enough, use float: half the bytes, too; else a GPU with fast fp64",
            stake,
            is_certain=False,
        )


def _halved(facts: LaunchFacts) -> dict[int, SiteStatistics]:
    """What the accesses to doubles in global memory would be as floats."""
    found: dict[int, SiteStatistics] = {}
    for node, _ in evaluations(facts.kernel):
        place = (
            node.target if isinstance(node, ir.Assign) else node.place if isinstance(node, ir.Load) else None
        )
        if not isinstance(place, ir.MemoryPlace) or not place.type.is_float or place.type.bits != 64:
            continue
        known = facts.profile.sites[place.site]
        sectors = known.sectors_per_request
        if place.space is ir.MemorySpace.GLOBAL and sectors is not None:
            found[place.site] = replace(
                known,
                sectors_per_request=max(1.0, sectors / 2),
                access_bytes=known.access_bytes // 2,
                request_bytes=known.request_bytes // 2,
                objects=tuple(
                    replace(one, block_reach=_half(one.block_reach), launch_reach=_half(one.launch_reach))
                    for one in known.objects
                ),
            )
    return found


def _half(reach: Reach | None) -> Reach | None:
    if reach is None:
        return None
    low = tuple(start // 2 for start in reach.low)
    return replace(reach, low=low, high=tuple(-(-end // 2) for end in reach.high))


_NARROWED = frozenset({ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL, ir.BinaryOp.DIV})


class DoubleTree(Struct, frozen=True):
    """`root`: the cast, comparison or assignment that ends it; `nodes`: all of it, by identity of nodes."""

    root: ir.Expr
    nodes: frozenset[ir.Expr]
    region: int


def unintended_trees(kernel: ir.Kernel, line: Callable[[ir.Span], str]) -> tuple[DoubleTree, ...]:
    """All of a kernel; `line`: the source text where a span starts."""
    found: list[DoubleTree] = []
    for node, region in evaluations(kernel):
        parts = _ended(node)
        if not parts or all(_is_narrow(part) for part in parts) or _is_narrowed(node, parts):
            continue
        tree = _tree(node, parts)
        if tree is not None and not any("double" in line(part.span) for part in tree):
            found.append(DoubleTree(node, frozenset(tree), region))  # pyright: ignore[reportArgumentType]
    return tuple(found)


def _in_single(nodes: frozenset[ir.Expr], old: Any, new: Any) -> Any:  # noqa: ANN401 - any node
    """The change that makes `nodes` single precision (see `rewritten`)."""
    if old not in nodes:
        return new
    match new:
        case ir.Cast(operand=operand) if _is_double(new.type) and operand.type.is_float:
            return operand
        case ir.Cast() | ir.Constant() | ir.Unary() | ir.Select() if _is_double(new.type):
            return replace(new, type=ir.FLOAT32)
        case ir.Binary():
            type_ = ir.FLOAT32 if _is_double(new.type) else new.type
            return replace(new, operand_type=ir.FLOAT32, type=type_)
        case ir.Assign():
            return replace(new, operand_type=ir.FLOAT32)
        case ir.Intrinsic():
            single = tuple(
                replace(count, operation=ir.OperationClass.FP32)
                if count.operation is ir.OperationClass.FP64
                else count
                for count in new.operations
            )
            return replace(new, type=ir.FLOAT32 if _is_double(new.type) else new.type, operations=single)
        case _:
            return new


def has_other_doubles(kernel: ir.Kernel, trees: tuple[DoubleTree, ...]) -> bool:
    """Whether the kernel computes in double precision outside of `trees`, in what is not narrowed either."""
    inside = frozenset[ir.Expr]().union(*(tree.nodes for tree in trees))
    return any(
        (isinstance(node, ir.Read | ir.Load) and _is_double(node.type))
        or (isinstance(node, ir.Declare) and _is_double(node.variable.type))
        for node, _ in evaluations(kernel)
        if node not in inside
    )


def _ended(node: ir.Stmt | ir.Expr) -> tuple[ir.Expr, ...]:
    """The operands in double precision of a node whose own result is none; empty for others."""
    match node:
        case ir.Cast(operand=operand) if _is_double(operand.type) and not _is_double(node.type):
            return (operand,)
        case ir.Binary() if node.op in ir.COMPARISONS and _is_double(node.operand_type):
            return (node.left, node.right)
        case ir.Assign(op=op) if op is not None and _is_double(node.operand_type):
            return () if _is_double(node.target.type) else (node.value,)
        case _:
            return ()


def _tree(node: Any, parts: tuple[ir.Expr, ...]) -> list[ir.Expr] | None:  # noqa: ANN401 - any node
    """Every node of the tree, its root too; None when something double by intention flows in."""
    found: list[ir.Expr] = [node]
    stack = list(parts)
    from_float = isinstance(node, ir.Assign) or (isinstance(node, ir.Cast) and node.type.is_float)
    is_made_double = False
    while stack:
        part = stack.pop()
        found.append(part)
        match part:
            case ir.Constant():
                is_made_double = True
            case ir.Cast(operand=operand) if operand.type.is_float and not _is_double(operand.type):
                from_float = True
            case ir.Cast(operand=operand) if operand.type.is_integral:
                pass
            case ir.Binary() | ir.Unary() if _is_double(part.type):
                stack.extend(ir.children(part))
            case ir.Select():
                stack += (part.then, part.otherwise)
            case ir.Intrinsic() if part.semantics not in (ir.Semantics.OPAQUE, ir.Semantics.IDENTITY) or (
                part.operations
            ):
                if any(argument.type.kind is ir.TypeKind.POINTER for argument in part.arguments):
                    return None
                is_made_double = True
                stack.extend(one for one in part.arguments if _is_double(one.type))
            case _:
                return None
    return found if from_float and is_made_double else None


def _is_narrowed(node: Any, parts: tuple[ir.Expr, ...]) -> bool:  # noqa: ANN401 - any node
    """Whether the compiler computes in float what `node` ends: see above."""
    match node:
        case ir.Cast() if node.type.is_float:
            (value,) = parts
            match value:
                case ir.Binary(op=op, left=left, right=right) if op in _NARROWED:
                    return _is_narrow(left) and _is_narrow(right)
                case ir.Select(then=then, otherwise=otherwise):
                    arms = (then, otherwise)
                    return all(_is_narrow(arm) or isinstance(arm, ir.Constant) for arm in arms)
                case _:
                    return False
        case ir.Assign(op=op):
            return op in _NARROWED and _is_narrow(parts[0])
        case _:
            return False


def _is_narrow(expr: ir.Expr) -> bool:
    """Whether a float holds the value exactly, and the compiler can see it."""
    match expr:
        case ir.Constant(value=value):
            return as_float(value) == value
        case ir.Cast(operand=operand):
            return operand.type.is_float and operand.type.bits <= 32
        case ir.Unary(op=ir.UnaryOp.NEGATE, operand=operand):
            return _is_narrow(operand)
        case ir.Binary(op=ir.BinaryOp.MUL, left=left, right=right):
            units = [side for side in (left, right) if isinstance(side, ir.Constant) and abs(side.value) == 1]
            return bool(units) and _is_narrow(left) and _is_narrow(right)
        case _:
            return False


def _is_double(type_: ir.Type) -> bool:
    return type_.kind is ir.TypeKind.FLOAT and type_.bits == 64
