"""Tiles of matrices in memory, which the lanes of a warp load and store together: what each lane moves."""

from __future__ import annotations

from msgspec import Struct

from wattslice.ir import (
    INT32,
    LANE,
    UINT32,
    Builtin,
    BuiltinKind,
    Constant,
    Expr,
    Intrinsic,
    PointerOffset,
    Semantics,
    Span,
    Type,
)

_WARP, _WORD = 32, 32


class Tile(Struct, frozen=True):
    """A matrix tile in memory: `rows` stretches of `columns` elements each, one leading dimension apart.

    `is_operand`: of a product, not its sums. `is_turned`: neighbours in memory are none in a register: tensor
    cores take operands along the sum, and sums along the rows.
    """

    rows: int
    columns: int
    is_operand: bool
    is_turned: bool

    @property
    def share(self) -> int | None:
        """The elements of one lane, a stretch of a row; None where rows do not divide so."""
        elements = self.rows * self.columns // _WARP
        return None if elements == 0 or self.columns % elements else elements

    def moved_together(self, bits: int) -> int:
        """Elements of `bits` that an access of global memory moves (SASS of nvcc 13, sm_80): those of a word,
        two sums; turned, one, but for halves: MOVM turns them in registers."""
        if self.is_turned and bits != _WORD // 2:
            return 1
        return max(1, _WORD // bits) if self.is_operand else 2


def tile_of(use: str, m: int, n: int, k: int, *, is_column_major: bool) -> Tile:
    """The tile of an operand (`a`, `b`, else an accumulator) of a product m x n x k."""
    rows, columns = {"a": (m, k), "b": (k, n)}.get(use, (m, n))
    if is_column_major:
        rows, columns = columns, rows
    return Tile(rows, columns, use in ("a", "b"), is_column_major is (use != "b"))


def address_of_share(
    address: Expr, tile: Tile, stride: Expr, element: Type, part: Type, type_: Type, span: Span
) -> Expr:
    """Where the share of one lane begins, as `type_`: equal stretches (`part`), lane after lane along rows.

    `stride` counts elements from one row to the next. Finding the address costs no operation. How many
    elements move together is the `detail` of the last step.
    """
    lanes_in_row = Constant(tile.columns // (tile.share or 1), INT32, span)
    lane = _free(Semantics.MOD, (_thread(span), Constant(_WARP, INT32, span)), span)
    row = _free(Semantics.DIV, (lane, lanes_in_row), span)
    skipped = _free(Semantics.MUL, (row, stride), span)
    begin = PointerOffset(address, skipped, element.size_bytes, 0, False, False, type_, span)
    together = str(tile.moved_together(element.bits))
    column = Intrinsic(LANE, (lane, lanes_in_row), (), Semantics.MOD, False, INT32, span, together)
    return PointerOffset(begin, column, part.size_bytes, 0, False, False, type_, span)


def _thread(span: Span) -> Expr:
    """The number of the thread in its block."""
    x, y, z = (Builtin(BuiltinKind.THREAD_IDX, axis, UINT32, span) for axis in range(3))
    width, height = (Builtin(BuiltinKind.BLOCK_DIM, axis, UINT32, span) for axis in range(2))
    return _free(Semantics.FMA, (_free(Semantics.FMA, (z, height, y), span), width, x), span)


def _free(semantics: Semantics, arguments: tuple[Expr, ...], span: Span) -> Expr:
    return Intrinsic(LANE, arguments, (), semantics, False, INT32, span)
