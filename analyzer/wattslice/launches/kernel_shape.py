"""The block and the grid of a launch that nobody gives, with the dimensions that the kernel uses.

A kernel that uses `threadIdx.y` gets a block of two dimensions. Where the kernel itself says how wide its
block is (`blockIdx.x * 16 + threadIdx.x`, `tile[threadIdx.y][threadIdx.x]` of a `tile[16][16]`), the block is
that wide. Else it has 256 threads, or what `__launch_bounds__` allows if that is less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from wattslice import ir
from wattslice.launches.launch import BLOCKS_PER_SM, DEFAULT_BLOCK, MAX_BLOCK, MAX_THREADS_PER_BLOCK, Dim3
from wattslice_models.gpu import Gpu

_AXES = range(3)
NOTHING = MappingProxyType[int, int]({})


def default_block(kernel: ir.Kernel, known: Mapping[int, int] = NOTHING) -> Dim3:
    """The block assumed of `kernel`: its own widths along the axes that it uses, 256 threads otherwise.

    `known`: extents by axis that the host code tells.
    """
    uses = _uses_of(kernel.body)
    most = min(kernel.max_threads_per_block or MAX_THREADS_PER_BLOCK, MAX_THREADS_PER_BLOCK)
    known = known if math.prod(known.values()) <= most else {}
    own = {**uses.widths, **known}
    own = own if math.prod(own.values()) <= most else known
    free = [axis for axis in _AXES if axis in uses.thread_axes and axis not in own]
    if not own and not free:
        free = [0]
    left = max(1, min(DEFAULT_BLOCK[0], most) // math.prod(own.values()))
    shared = _split(1 << (left.bit_length() - 1) if len(free) > 1 else left, len(free))
    extents = {**own, **dict(zip(free, shared, strict=True))}
    x, y, z = (min(extents.get(axis, 1), MAX_BLOCK[axis]) for axis in _AXES)
    return x, y, z


def default_grid(kernel: ir.Kernel, gpu: Gpu, known: Mapping[int, int] = NOTHING) -> Dim3:
    """`BLOCKS_PER_SM` blocks for every SM, a launch that fills the GPU, along the axes that `kernel` uses.

    `known`: extents by axis that the host code tells.
    """
    open_axes = [axis for axis in _AXES if axis not in known]
    axes = sorted(_uses_of(kernel.body).block_axes.intersection(open_axes)) or open_axes[:1]
    blocks = max(1, BLOCKS_PER_SM * gpu.sm_count // math.prod(known.values()))
    parts = {**known, **dict(zip(axes, _split(blocks, len(axes)), strict=True))}
    return parts.get(0, 1), parts.get(1, 1), parts.get(2, 1)


def _split(number: int, parts: int) -> list[int]:
    """`parts` factors of `number`, as nearly equal as they come, the largest first."""
    found: list[int] = []
    for left in range(parts, 1, -1):
        root = round(number ** (1 / left))
        factor = next(f for f in range(max(1, root), 0, -1) if number % f == 0)
        found.append(factor)
        number //= factor
    return sorted((*found, number), reverse=True) if parts else []


@lru_cache(maxsize=8)  # the block is asked for, then the grid; instances of a template may have one body
def _uses_of(body: ir.Stmt) -> _Uses:
    return _Uses(body)


class _Uses:
    """Axes of the launch that a kernel uses, and the widths of the block that it takes for granted."""

    def __init__(self, body: ir.Stmt) -> None:
        self.thread_axes: set[int] = set()
        self.block_axes: set[int] = set()
        self.widths: dict[int, int] = {}
        self._given: dict[ir.Variable, ir.Expr | None] = {}
        every = list(ir.expressions_below(body))
        for expr in every:
            if isinstance(expr, ir.Builtin):
                if expr.kind in (ir.BuiltinKind.THREAD_IDX, ir.BuiltinKind.BLOCK_DIM):
                    self.thread_axes.add(expr.axis)
                elif expr.kind in (ir.BuiltinKind.BLOCK_IDX, ir.BuiltinKind.GRID_DIM):
                    self.block_axes.add(expr.axis)
        for stmt in ir.walk_statements(body):
            if isinstance(stmt, ir.Declare):
                self._given[stmt.variable] = stmt.value if stmt.variable not in self._given else None
        for expr in every:
            if isinstance(expr, ir.Binary):
                self._note_tile(expr)
        for expr in every:
            if isinstance(expr, (ir.Load, ir.Assign)):
                place = expr.place if isinstance(expr, ir.Load) else expr.target
                if isinstance(place, ir.MemoryPlace) and place.space is ir.MemorySpace.SHARED:
                    self._note_shared(place)

    def _index(self, expr: ir.Expr, kind: ir.BuiltinKind) -> int | None:
        """The axis of the index that an expression is, by itself or by the name of a variable."""
        expr = ir.strip_casts(expr)
        for _ in range(4):
            variable = ir.read_variable(expr)
            given = None if variable is None else self._given.get(variable)
            if given is None:
                break
            expr = ir.strip_casts(given)
        return expr.axis if isinstance(expr, ir.Builtin) and expr.kind is kind else None

    def _scaled(self, expr: ir.Expr, kind: ir.BuiltinKind) -> tuple[int, int] | None:
        """Axis and factor of `blockIdx.y * 16`."""
        expr = ir.strip_casts(expr)
        if isinstance(expr, ir.Binary) and expr.op in (ir.BinaryOp.MUL, ir.BinaryOp.SHL):
            sides = ((expr.left, expr.right), (expr.right, expr.left))
            for index, factor in sides[: 1 if expr.op is ir.BinaryOp.SHL else 2]:
                axis, factor = self._index(index, kind), ir.strip_casts(factor)
                if axis is not None and isinstance(factor, ir.Constant) and isinstance(factor.value, int):
                    number = factor.value
                    return axis, 1 << number if expr.op is ir.BinaryOp.SHL and 0 <= number < 11 else number
        return None

    def _note_tile(self, expr: ir.Binary) -> None:
        """`blockIdx.x * 16 + threadIdx.x`: a block is 16 wide; so in `threadIdx.y * 16 + threadIdx.x`."""
        if expr.op is not ir.BinaryOp.ADD:
            return
        for whole, part in ((expr.left, expr.right), (expr.right, expr.left)):
            axis = self._index(part, ir.BuiltinKind.THREAD_IDX)
            block = self._scaled(whole, ir.BuiltinKind.BLOCK_IDX)
            row = self._scaled(whole, ir.BuiltinKind.THREAD_IDX)
            if axis is not None and block is not None and block[0] == axis:
                self._note(axis, block[1])
            elif axis == 0 and row is not None and row[0] == 1:
                self._note(0, row[1])

    def _note_shared(self, place: ir.MemoryPlace) -> None:
        """`tile[threadIdx.y][threadIdx.x]`: as wide as the dimensions that an index walks alone."""
        root = place.root
        type_ = None if root is None or root.dynamic else root.type
        dimensions: list[tuple[int, int]] = []  # bytes of a step, and how many there are
        while type_ is not None and type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
            dimensions.append((type_.element.size_bytes, type_.length or 0))
            type_ = type_.element
        address = place.address
        while isinstance(address, (ir.PointerOffset, ir.Cast)):
            if isinstance(address, ir.Cast):
                address = address.operand
                continue
            axis = None if address.index is None else self._index(address.index, ir.BuiltinKind.THREAD_IDX)
            length = next((n for step, n in dimensions if step == address.scale_bytes), 0)
            if axis is not None and length:
                is_padded = length > 2 and _is_power(length - 1)  # against bank conflicts: float tile[32][33]
                self._note(axis, length - 1 if is_padded else length)
            address = address.pointer

    def _note(self, axis: int, width: int) -> None:
        if 1 < width <= MAX_BLOCK[axis]:
            self.widths[axis] = min(width, self.widths.get(axis, width))


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0
