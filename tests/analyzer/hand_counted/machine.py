"""A machine that counts: Python numbers and arrays that tally every operation done with them.

A hand-counted kernel is transcribed to Python with these and run for every launched thread. The
operators themselves count, so the outcome is independent of the closed forms and of the analyzer.
The rules are those of docs/counting.md.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from fractions import Fraction
from itertools import product

from msgspec import Struct, field

Amount = int | Fraction


class Counts(Struct, frozen=True, kw_only=True):
    """Operations per launched thread, by the names of the JSON contract (`integer` is `int`)."""

    fp32: Amount = 0
    fp64: Amount = 0
    integer: Amount = 0
    special: Amount = 0
    fp16: Amount = 0
    tensor: Amount = 0
    control: Amount = 0
    global_load: Amount = 0
    global_store: Amount = 0
    shared_load: Amount = 0
    shared_store: Amount = 0
    constant_load: Amount = 0
    texture_load: Amount = 0
    atomic: Amount = 0
    barrier: Amount = 0

    def by_json_name(self) -> dict[str, Amount]:
        """The counts under the keys of `counts_per_thread`."""
        return {_json_name(name): getattr(self, name) for name in self.__struct_fields__}


def _json_name(name: str) -> str:
    return "int" if name == "integer" else name


class Kind(IntEnum):
    """Scalar kinds in the order of the usual arithmetic conversions."""

    INT = 0
    FP16 = 1
    FP32 = 2
    FP64 = 3


CLASS_OF_KIND = ("integer", "fp16", "fp32", "fp64")


class Tally(Struct):
    """How often each class of operation was executed, by all threads together."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Counts.__struct_fields__, 0))

    def add(self, name: str, times: int = 1) -> None:
        self.counts[name] += times

    def mean(self, threads: int) -> Counts:
        return Counts(**{name: Fraction(count, threads) for name, count in self.counts.items()})


class Number(Struct, frozen=True, eq=False):
    """A register; each operator is one operation of the kind that C++ converts its operands to.

    A Python literal beside it converts to the other's kind.
    """

    tally: Tally
    value: float
    kind: Kind = Kind.INT

    def _with(self, other: Number | float, result: Callable[[float, float], float]) -> Number:
        value, kind = (other.value, other.kind) if isinstance(other, Number) else (other, self.kind)
        kind = max(self.kind, kind)
        self.tally.add(CLASS_OF_KIND[kind])
        return Number(self.tally, result(self.value, value), kind)

    def __add__(self, other: Number | float) -> Number:
        return self._with(other, lambda a, b: a + b)

    def __radd__(self, other: float) -> Number:
        return self + other

    def __sub__(self, other: Number | float) -> Number:
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other: float) -> Number:
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other: Number | float) -> Number:
        return self._with(other, lambda a, b: a * b)

    def __rmul__(self, other: float) -> Number:
        return self * other

    def __truediv__(self, other: Number | float) -> Number:
        # Values of floating-point kind steer nothing in these kernels: any will do.
        return self._with(other, lambda a, b: a)

    def __rtruediv__(self, other: float) -> Number:
        return self / other

    def __floordiv__(self, other: Number | int) -> Number:
        return self._with(other, lambda a, b: a // b)

    def __mod__(self, other: Number | int) -> Number:
        return self._with(other, lambda a, b: a % b)

    def __rshift__(self, other: int) -> Number:
        return self._with(other, lambda a, b: int(a) >> int(b))

    def __lshift__(self, other: int) -> Number:
        return self._with(other, lambda a, b: int(a) << int(b) & (1 << 64) - 1)

    def __and__(self, other: int) -> Number:
        return self._with(other, lambda a, b: int(a) & int(b))

    def __or__(self, other: Number | int) -> Number:
        return self._with(other, lambda a, b: int(a) | int(b))

    def __xor__(self, other: Number | int) -> Number:
        return self._with(other, lambda a, b: int(a) ^ int(b))

    def __neg__(self) -> Number:
        return self._with(0, lambda a, _: -a)

    def __invert__(self) -> Number:
        return self._with(0, lambda a, _: ~int(a))

    def __lt__(self, other: Number | float) -> bool:
        return bool(self._with(other, lambda a, b: a < b).value)

    def __le__(self, other: Number | float) -> bool:
        return bool(self._with(other, lambda a, b: a <= b).value)

    def __gt__(self, other: Number | float) -> bool:
        return bool(self._with(other, lambda a, b: a > b).value)

    def __ge__(self, other: Number | float) -> bool:
        return bool(self._with(other, lambda a, b: a >= b).value)

    def equals(self, other: Number | float) -> bool:
        """`==` or `!=` of the source: one operation."""
        return bool(self._with(other, lambda a, b: a == b).value)

    def cast(self, kind: Kind) -> Number:
        """A conversion: free."""
        return Number(self.tally, self.value, kind)


class Memory(Struct, frozen=True):
    """An array in one memory space: each subscript read or written is one access."""

    tally: Tally
    space: str
    kind: Kind

    def __getitem__(self, index: Number | int) -> Number:
        self.tally.add(f"{self.space}_load")
        return Number(self.tally, 1, self.kind)

    def __setitem__(self, index: Number | int, value: object) -> None:
        self.tally.add(f"{self.space}_store")


class Thread(Struct, frozen=True):
    """The built-in variables of one thread."""

    bx: Number
    by: Number
    tx: Number
    ty: Number
    block_x: Number
    block_y: Number
    grid_x: Number


class Machine(Struct, frozen=True):
    """Makes registers and arrays that share one tally, and counts what is not an operator."""

    tally: Tally = field(default_factory=Tally)

    def int(self, value: int) -> Number:
        return Number(self.tally, value)

    def f16(self) -> Number:
        return Number(self.tally, 1, Kind.FP16)

    def f32(self) -> Number:
        return Number(self.tally, 1, Kind.FP32)

    def f64(self) -> Number:
        return Number(self.tally, 1, Kind.FP64)

    def array(self, space: str, kind: Kind = Kind.FP32) -> Memory:
        return Memory(self.tally, space, kind)

    def decide(self, condition: bool | Number) -> bool:
        """`if`, `?:`, a loop's test."""
        self.tally.add("control")
        return bool(condition.value) if isinstance(condition, Number) else condition

    def both(self, left: bool, right: Callable[[], bool]) -> bool:
        """`left && right`."""
        return self.decide(left) and right()

    def either(self, left: bool, right: Callable[[], bool]) -> bool:
        """`left || right`."""
        return self.decide(left) or right()

    def count(self, name: str, times: int = 1) -> None:
        """Operations that are calls: special functions, atomics, barriers, intrinsics."""
        self.tally.add(name, times)


Dim3 = tuple[int, int, int]


class Case(Struct, frozen=True):
    """One kernel as launched by its file: counts by closed form, and the thread to run for the check."""

    file: str
    kernel: str
    grid: Dim3
    block: Dim3
    counts: Counts
    thread: Callable[[Machine, Thread], None]

    def executed(self) -> Counts:
        """The mean over all launched threads of what the transcribed kernel executes."""
        machine = Machine()
        number = machine.int
        block_x, block_y, grid_x = number(self.block[0]), number(self.block[1]), number(self.grid[0])
        threads = list(
            product(range(self.grid[1]), range(self.grid[0]), range(self.block[1]), range(self.block[0]))
        )
        for by, bx, ty, tx in threads:
            self.thread(
                machine, Thread(number(bx), number(by), number(tx), number(ty), block_x, block_y, grid_x)
            )
        return machine.tally.mean(len(threads))
