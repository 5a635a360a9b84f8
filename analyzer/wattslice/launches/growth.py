"""Arrays that launches of one kernel in a loop double, square or scale in place until nothing toggles.

`x[i] *= 2.0f` takes a float from the smallest number to infinity in 277 launches, `x[i] *= x[i]` in some 30:
each element is then 0, 1 or infinite, or no number, and stays so. An array counts when every store of the
kernel to it does that to its own element, whatever the data are, and when nothing else in the loop writes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from msgspec import Struct

from wattslice import ir
from wattslice.ir.accesses import follows_data, is_written_alike, loaded_registers

_MOSTLY = 10
"""So many times the launches to the end are a loop whose launches nearly all find the array at its end."""
_LEAST_FACTOR = 2.0
_BINADES = {32: 278, 64: 2099}
"""Powers of two from the smallest number of so many bits to infinity, or from the largest to zero."""
_UNSEEN = (ir.Semantics.OPAQUE, ir.Semantics.EFFECT)
_SQUARINGS = {32: 40, 64: 80}
"""After which the numbers nearest to 1 are at an end too: 2^-24 and 2^-53 away from it, 31 and 63."""


class Growth(Struct, frozen=True):
    """What a launch does to each element; after `launches` of them the element is at its end."""

    told: str
    launches: int


def outermost_loops(body: ir.Stmt) -> dict[ir.LaunchCall, ir.Loop]:
    """For each launch in loops, the loop around it that no loop is around."""
    found: dict[ir.LaunchCall, ir.Loop] = {}
    waiting = [body]
    while waiting:
        stmt = waiting.pop()
        if isinstance(stmt, ir.Loop):
            launches = (node for node in ir.expressions_below(stmt) if isinstance(node, ir.LaunchCall))
            found |= dict.fromkeys(launches, stmt)
        else:
            waiting += ir.nested_statements(stmt)
    return found


def repeats(loop: ir.Loop, launch: ir.LaunchCall) -> bool:
    """Whether every launch in `loop` has the same grid, block and arguments."""
    changed = set(ir.values_given(loop))
    for node in ir.expressions_below(loop):
        if isinstance(node, (ir.Assign, ir.Increment)) and isinstance(node.target, ir.RegisterPlace):
            changed.add(node.target.variable)
        elif isinstance(node, ir.AddressOf):
            changed.add(node.variable)
    parts = (launch.grid, launch.block, *launch.arguments)
    nodes = [node for part in parts for node in ir.walk_expressions(part)]
    known = (ir.Constant, ir.Read, ir.Cast, ir.Binary, ir.Unary, ir.Construct)
    return all(
        isinstance(node, known) and not (isinstance(node, ir.Read) and node.place.variable in changed)
        for node in nodes
    )


def is_at_an_end(growth: Growth, times: int | None) -> bool:
    """Whether nearly all of so many launches find the array at its end."""
    return times is not None and times >= _MOSTLY * growth.launches


def growth_of(kernel: ir.Kernel, array: ir.Variable) -> Growth | None:
    """What one launch does to each element of the array that parameter `array` points to; None: not known.

    Which elements it takes must not depend on data: then it takes the same ones in every launch.
    """
    if not kernel.body_is_complete or kernel.machine_instructions or _decides_by_data(kernel.body):
        return None
    grown: list[Growth] = []
    own: set[int] = set()
    for assign, known in _stores(kernel.body):
        if assign.target.root is array:
            element = _Element(assign.target, known, own)
            if (found := _growth(assign, element.has)) is None:
                return None
            grown.append(found)
    stores = 0
    for node in ir.expressions_below(kernel.body):
        match node:
            case ir.Load(place=place) if place.root is array and id(node) not in own:
                return None
            case ir.Assign(target=ir.MemoryPlace(root=root)) if root in kernel.parameters:
                stores += root is array
            case ir.Assign(target=ir.MemoryPlace()) | ir.Increment(target=ir.MemoryPlace()):
                return None  # it may lead anywhere
            case ir.Atomic() | ir.TextureFetch() | ir.InlinedCall() | ir.Call():
                return None
            case ir.Intrinsic(semantics=semantics, arguments=arguments):
                if semantics in _UNSEEN or any(one.type.kind is ir.TypeKind.POINTER for one in arguments):
                    return None
            case _:
                pass
    return max(grown, key=lambda one: one.launches) if grown and stores == len(grown) else None


def _decides_by_data(body: ir.Stmt) -> bool:
    """Whether a branch, or where it stores, hangs on what was loaded."""
    loaded = loaded_registers(body)
    asked: list[ir.Expr] = []
    for stmt in ir.walk_statements(body):
        match stmt:
            case ir.If(condition=condition) | ir.Loop(condition=condition) | ir.Switch(selector=condition):
                asked += () if condition is None else (condition,)
            case _:
                pass
    for node in ir.expressions_below(body):
        if isinstance(node, (ir.Select, ir.Logical)):
            asked.append(node.condition if isinstance(node, ir.Select) else node.left)
        elif isinstance(node, ir.Assign) and isinstance(node.target, ir.MemoryPlace):
            asked.append(node.target.address)
    return follows_data(tuple(asked), loaded)


class _Store(Struct, frozen=True):
    target: ir.MemoryPlace
    op: ir.BinaryOp | None
    value: ir.Expr
    line: int


def _stores(body: ir.Stmt) -> Iterator[tuple[_Store, dict[ir.Variable, ir.Load]]]:
    """Statements that store, with the registers that the same block loaded before and gave nothing else."""
    given = ir.values_given(body)
    for block in ir.walk_statements(body):
        known: dict[ir.Variable, ir.Load] = {}
        for stmt in block.statements if isinstance(block, ir.Block) else ():
            if isinstance(stmt, ir.Declare):
                value = None if stmt.value is None else ir.strip_casts(stmt.value)
                if isinstance(value, ir.Load) and len(given[stmt.variable]) == 1:
                    known[stmt.variable] = value
                continue
            assign = stmt.expr if isinstance(stmt, ir.ExprStmt) else None
            if isinstance(assign, ir.Assign) and isinstance(assign.target, ir.MemoryPlace):
                value = ir.strip_casts(assign.value)
                yield _Store(assign.target, assign.op, value, assign.span.line), known
            known = {}  # an index may have changed


class _Element(Struct, frozen=True):
    """The element that a store goes to. `own`: the loads that were found to be of it."""

    target: ir.MemoryPlace
    known: dict[ir.Variable, ir.Load]
    own: set[int]

    def has(self, expr: ir.Expr) -> bool:
        """Whether `expr` is the element as it was."""
        expr = ir.strip_casts(expr)
        variable = ir.read_variable(expr)
        load = self.known.get(variable) if variable is not None else expr
        if not isinstance(load, ir.Load) or not is_written_alike(load.place.address, self.target.address):
            return False
        self.own.add(id(load))
        return True


def _growth(store: _Store, is_element: Callable[[ir.Expr], bool]) -> Growth | None:
    kind = store.target.type
    if kind.kind is not ir.TypeKind.FLOAT or kind.lanes != 1 or kind.bits not in _BINADES:
        return None
    pairs: list[tuple[ir.BinaryOp, ir.Expr]] = []
    if store.op is not None:
        pairs.append((store.op, store.value))
    elif isinstance(store.value, ir.Binary):
        left, right = store.value.left, store.value.right
        pairs += [(store.value.op, other) for one, other in ((left, right), (right, left)) if is_element(one)]
    for op, other in pairs:
        factor = ir.strip_casts(other)
        if op is ir.BinaryOp.MUL and is_element(other):
            return Growth(f"squared in line {store.line}", _SQUARINGS[kind.bits])
        if op is ir.BinaryOp.ADD and is_element(other):
            return Growth(f"doubled in line {store.line}", _BINADES[kind.bits])
        if op is ir.BinaryOp.MUL and isinstance(factor, ir.Constant):
            return _scaled(abs(float(factor.value)), kind.bits, store.line)
    return None


def _scaled(factor: float, bits: int, line: int) -> Growth | None:
    """A smaller factor may come to an end at a number like any other: 1.2 times the smallest is itself."""
    if not (_LEAST_FACTOR <= factor < math.inf or 0 < factor <= 1 / _LEAST_FACTOR):
        return None
    launches = math.ceil(_BINADES[bits] / abs(math.log2(factor)))
    return Growth(f"multiplied by {factor:g} in line {line}", launches)
