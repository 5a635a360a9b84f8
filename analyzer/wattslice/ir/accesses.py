"""Every access to memory that the text of a kernel makes: its site, region, object, and whether it stores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from wattslice import ir
from wattslice.ir.walking import evaluations


class MemoryAccess(Struct, frozen=True):
    """One load or store as written; `A[i] += x` is one of each at the same `site`.

    `root` None: which object is accessed is not evident. `atomic`: of which it is the store half.
    `addresses`: what the place is computed from, one expression, or the coordinates of a texture.
    `skips_l1`: as of its place.
    """

    region: int
    site: int
    space: ir.MemorySpace
    root: ir.Variable | None
    is_store: bool
    atomic: ir.Atomic | None
    addresses: tuple[ir.Expr, ...]
    span: ir.Span
    skips_l1: bool = False

    @property
    def is_atomic(self) -> bool:
        """Whether it is the store half of an atomic."""
        return self.atomic is not None


@lru_cache(maxsize=4)
def memory_accesses(kernel: ir.Kernel) -> tuple[MemoryAccess, ...]:
    """Every access to memory in the kernel and in the calls inlined into it."""
    found: list[MemoryAccess] = []
    for node, region in evaluations(kernel):
        match node:
            case ir.Load(place=place):
                found.append(_access(region, node, place))
            case ir.Assign(target=ir.MemoryPlace() as place, op=op):
                if op is not None:
                    found.append(_access(region, node, place))
                found.append(_access(region, node, place, is_store=True))
            case ir.Increment(target=ir.MemoryPlace() as place):
                found.append(_access(region, node, place))
                found.append(_access(region, node, place, is_store=True))
            case ir.Atomic(place=place):
                found.append(_access(region, node, place, is_store=True, atomic=node))
            case ir.TextureFetch(texture=texture, coordinates=coordinates, site=site, is_store=is_store):
                space = ir.MemorySpace.TEXTURE
                found.append(
                    MemoryAccess(region, site, space, texture, is_store, None, coordinates, node.span)
                )
            case _:
                pass
    return tuple(found)


def _access(
    region: int,
    node: ir.Expr,
    place: ir.MemoryPlace,
    *,
    is_store: bool = False,
    atomic: ir.Atomic | None = None,
) -> MemoryAccess:
    where = place.site, place.space, place.root
    return MemoryAccess(region, *where, is_store, atomic, (place.address,), node.span, place.skips_l1)


@lru_cache(maxsize=4)
def loaded_registers(body: ir.Stmt) -> frozenset[ir.Variable]:
    """Registers that `body` fills from memory, directly or through other registers and inlined calls.

    Kept for the last few kernels: each way that its branches may go asks.
    """
    flows = [(target, _sources(value)) for target, value in register_assignments(body)]
    loaded: set[ir.Variable] = set()
    while True:
        more = {
            target
            for target, (loads, read) in flows
            if target not in loaded and (loads or not loaded.isdisjoint(read))
        }
        if not more:
            return frozenset(loaded)
        loaded |= more


def follows_data(addresses: tuple[ir.Expr, ...], loaded: frozenset[ir.Variable]) -> bool:
    """True when an address contains a load, or a register out of `loaded`."""
    for address in addresses:
        loads, read = _sources(address)
        if loads or not loaded.isdisjoint(read):
            return True
    return False


@lru_cache(maxsize=64)
def register_assignments(body: ir.Stmt) -> tuple[tuple[ir.Variable, ir.Expr], ...]:
    """Every value that a register is given in `body`; parameters of inlined calls are registers too.

    Kept for the last few kernels and loops: eight stages ask.
    """
    found: list[tuple[ir.Variable, ir.Expr]] = []
    for stmt in ir.walk_statements(body):
        if isinstance(stmt, ir.Declare) and stmt.value is not None:
            found.append((stmt.variable, stmt.value))
        for expr in ir.statement_expressions(stmt):
            for node in ir.walk_expressions(expr):
                if isinstance(node, ir.Assign) and isinstance(node.target, ir.RegisterPlace):
                    found.append((node.target.variable, node.value))
                elif isinstance(node, ir.InlinedCall):
                    found += zip(node.parameters, node.arguments, strict=True)
    return tuple(found)


def value_parts(expr: ir.Expr) -> Iterator[ir.Expr]:
    """Every expression whose value may be part of the value of `expr`: of inlined calls what they return."""
    seen: set[ir.InlinedCall] = set()  # calls nest, and the walk over a body enters those within it
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ir.InlinedCall):
            stack.extend(ir.children(node))
        elif node not in seen:  # its arguments reach the result through its parameters only
            seen.add(node)
            returns = (stmt for stmt in ir.walk_statements(node.body) if isinstance(stmt, ir.Return))
            stack.extend(stmt.value for stmt in returns if stmt.value is not None)


def _sources(expr: ir.Expr) -> tuple[bool, frozenset[ir.Variable]]:
    """Whether `expr` loads from memory, and the registers it reads."""
    read: set[ir.Variable] = set()
    loads = False
    for node in value_parts(expr):
        if isinstance(node, ir.Load | ir.TextureFetch | ir.Atomic):
            loads = True
        elif isinstance(node, ir.Read):
            read.add(node.place.variable)
    return loads, frozenset(read)


def is_written_alike(one: ir.Expr, other: ir.Expr) -> bool:
    """Whether two expressions of registers, indices and pointers are one, written twice.

    It is not looked at whether a register changes between them.
    """
    one, other = ir.strip_casts(one), ir.strip_casts(other)
    match one, other:
        case ir.Read(), ir.Read():
            return one.place.variable is other.place.variable and one.place.path == other.place.path
        case ir.Builtin(), ir.Builtin():
            return (one.kind, one.axis) == (other.kind, other.axis)
        case ir.Constant(), ir.Constant():
            return one.value == other.value
        case ir.Binary(), ir.Binary():
            same = one.op is other.op and is_written_alike(one.left, other.left)
            return same and is_written_alike(one.right, other.right)
        case ir.PointerOffset(), ir.PointerOffset():
            moved = (one.scale_bytes, one.offset_bytes, one.subtract)
            if moved != (other.scale_bytes, other.offset_bytes, other.subtract):
                return False
            if one.index is None or other.index is None:
                return one.index is other.index and is_written_alike(one.pointer, other.pointer)
            return is_written_alike(one.index, other.index) and is_written_alike(one.pointer, other.pointer)
        case _:
            return False
