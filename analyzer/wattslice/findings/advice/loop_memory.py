"""PW053, PW054: the same place of global memory accessed in every iteration of a loop.

The compiler keeps a value in a register only when no store of the loop can change it behind its back.
Pointers of different types may still overlap to it, `__restrict__` on either side says that they do not
(seen in the SASS of nvcc 13). Told only where the address is written out and the loop changes nothing in
it, without a barrier in the loop, and of sums (`c[i] += …`) only where nothing else in the loop accesses
that array.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

from msgspec import Struct

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.findings.advice.rewriting import changed_in, loops_around
from wattslice.ir.accesses import is_written_alike
from wattslice.ir.rewriting import rewritten
from wattslice.ir.walking import evaluations

LEAST_ACCESSES = 0.02
"""Of a kernel's instructions: fewer accesses to spare are not worth predicting the kernel again."""
MOST_LOOKED_AT = 2
"""Arrays of a kernel whose cost is worked out: those accessed most."""

_PLAIN = (ir.Read, ir.Cast, ir.Constant, ir.Binary, ir.Unary, ir.Builtin, ir.PointerOffset, ir.AddressOf)


class _Access(Struct, frozen=True):
    """A load, or a sum in memory, whose address `loop` leaves alone."""

    node: ir.Load | ir.Assign
    place: ir.MemoryPlace
    root: ir.Variable
    loop: ir.Loop
    region: int


def repeated_accesses(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each array."""
    if facts.kernel.span.file.endswith(".c"):
        return  # `restrict` is not read there
    by_root: dict[tuple[str, ir.Variable], list[_Access]] = {}
    for access in _found(facts.kernel):
        memory = _memory(access.loop)
        rule = "PW053" if isinstance(access.node, ir.Assign) else "PW054"
        hidden = _can_sum(access, memory) if rule == "PW053" else _can_load(access, memory)
        if hidden and "__ldg" not in facts.text(access.node.span):
            by_root.setdefault((rule, access.root), []).append(access)
    runs, total = facts.profile.thread_counts, facts.work.instructions.total

    def spared(found: list[_Access]) -> float:
        return sum(runs[one.region] - runs[one.loop.region] for one in found)

    ranked = sorted(by_root.items(), key=lambda item: -spared(item[1]))
    for (rule, root), found in ranked[:MOST_LOOKED_AT]:
        if spared(found) < LEAST_ACCESSES * total:
            continue
        stake = facts.stake_if(rewritten(facts.kernel, partial(_in_registers, _Registers(found))))
        if stake is None or not stake.is_worth_telling:
            continue
        worst = max(found, key=lambda one: runs[one.region])
        times = runs[worst.region] / max(runs[worst.loop.region], 1e-9)
        span = worst.node.span
        where = f"in each of {times:.3g} iterations of the loop in line {worst.loop.span.line}"
        if rule == "PW053":
            message = f"'{root.name}' is loaded and stored at the same place {where}"
            fix = "sum up in a local variable, and store it once behind the loop"
            fix += f", or declare '{root.name}' __restrict__"
        else:
            message = f"'{root.name}' is loaded from the same place {where}: a store in it might change it"
            fix = f"load it into a local variable before the loop, or declare '{root.name}' __restrict__"
        yield facts.advice(rule, span, message, fix, stake, also=[one.node.span for one in found])


def _found(kernel: ir.Kernel) -> Iterator[_Access]:
    loops = loops_around(kernel)
    for node, region in evaluations(kernel):
        match node:
            case ir.Load(place=place):
                pass
            case ir.Assign(target=ir.MemoryPlace() as place, op=op) if op is not None:
                pass
            case _:
                continue
        loop, root = loops.get(region), place.root
        if loop is None or root is None or place.space is not ir.MemorySpace.GLOBAL or place.is_volatile:
            continue
        if root in kernel.parameters and not root.is_restrict and _is_fixed(place.address, loop):
            yield _Access(node, place, root, loop, region)  # pyright: ignore[reportArgumentType]


def _is_fixed(address: ir.Expr, loop: ir.Loop) -> bool:
    nodes = tuple(ir.walk_expressions(address))
    if not all(isinstance(node, _PLAIN) for node in nodes):
        return False
    read = {node.place.variable for node in nodes if isinstance(node, ir.Read)}
    return read.isdisjoint(changed_in(loop))


class _Memory(Struct, frozen=True):
    """What a loop does in global memory: each place, and whether it stores there.

    `is_shared`: other threads may be meant to change memory meanwhile.
    """

    places: tuple[tuple[ir.MemoryPlace, bool], ...]
    is_shared: bool


@lru_cache(maxsize=64)
def _memory(loop: ir.Loop) -> _Memory:
    found: list[tuple[ir.MemoryPlace, bool]] = []
    is_shared = False
    for node in ir.expressions_below(loop):
        match node:
            case ir.Load(place=place):
                found.append((place, False))
            case ir.Assign(target=ir.MemoryPlace() as place) | ir.Increment(target=ir.MemoryPlace() as place):
                found.append((place, True))
            case ir.Atomic():
                is_shared = True
            case ir.Intrinsic():
                waits = node.semantics is ir.Semantics.BARRIER or "fence" in node.name
                is_shared |= waits or node.is_opaque_call
            case _:
                pass
    places = tuple(pair for pair in found if pair[0].space is ir.MemorySpace.GLOBAL)
    return _Memory(places, is_shared)


def _can_sum(access: _Access, memory: _Memory) -> bool:
    """Whether the loop could keep the sum in a register, and the compiler cannot know it."""
    own = [place for place, _ in memory.places if place.root is access.root or place.root is None]
    others = [place.root for place, _ in memory.places if place.root is not access.root]
    may_overlap = any(root is not None and not root.is_restrict for root in others)
    return (
        not memory.is_shared
        and may_overlap
        and all(is_written_alike(place.address, access.place.address) for place in own)
    )


def _can_load(access: _Access, memory: _Memory) -> bool:
    """Whether the loop stores elsewhere only, through pointers that the compiler takes to overlap."""
    stored = [place.root for place, is_store in memory.places if is_store]
    if memory.is_shared or any(root is None or root is access.root for root in stored):
        return False
    return any(root is not None and not root.is_restrict for root in stored)


class _Registers:
    """A new register for each place of memory that is accessed over and over."""

    def __init__(self, found: list[_Access]) -> None:
        self.of_node: dict[ir.Expr, ir.Variable] = {}
        self.of_loop: dict[ir.Loop, list[tuple[ir.Variable, _Access]]] = {}
        for access in found:
            self.put(access)

    def put(self, access: _Access) -> None:
        """A register for `access`, shared with one to the same place in the same loop."""
        known = self.of_loop.setdefault(access.loop, [])
        for variable, other in known:
            if is_written_alike(other.place.address, access.place.address):
                self.of_node[access.node] = variable
                return
        type_ = access.place.type
        variable = ir.Variable(
            "kept", type_, ir.MemorySpace.REGISTER, ir.VariableRole.TEMPORARY, access.node.span
        )
        known.append((variable, access))
        self.of_node[access.node] = variable


def _in_registers(registers: _Registers, old: Any, new: Any) -> Any:  # noqa: ANN401 - any node
    """The change for `rewritten`: accesses become registers, filled before the loop and stored behind it."""
    variable = registers.of_node.get(old) if isinstance(old, ir.Load | ir.Assign) else None
    if variable is not None:
        place = ir.RegisterPlace(variable, (), variable.type)
        if isinstance(old, ir.Load):
            return ir.Read(place, old.type, old.span)
        return ir.Assign(place, new.op, new.value, new.operand_type, new.type, new.span)
    if not isinstance(old, ir.Loop) or old not in registers.of_loop:
        return new
    before: list[ir.Stmt] = []
    behind: list[ir.Stmt] = []
    for variable, access in registers.of_loop[old]:
        place, span = access.place, access.node.span
        loaded = ir.Load(place, place.type, span)
        before.append(ir.Declare(variable, loaded, old.region, span))
        if isinstance(access.node, ir.Assign):
            kept = ir.Read(ir.RegisterPlace(variable, (), variable.type), variable.type, span)
            stored = ir.Assign(place, None, kept, place.type, place.type, span)
            behind.append(ir.ExprStmt(stored, old.region, span))
    return ir.Block((*before, new, *behind), old.region, old.span)
