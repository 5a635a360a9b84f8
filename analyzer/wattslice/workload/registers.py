"""How many registers a thread needs, estimated from the IR.

Live values are counted in the text (scalar variables from their first definition to their last use, through
the end of a loop when the value crosses an iteration; the temporaries of the deepest expression) and among
those of the lowered kernel, in the order that ptxas gives straight code (`instructions/pressure.py`). Arrays
of the thread and fragments lie in registers, whole, when every index is known once loops are unrolled.
Parameters cost nothing until they are changed. The weights are fitted to ptxas (see the constants).
"""

from __future__ import annotations

from itertools import accumulate

from msgspec import Struct

from wattslice import ir
from wattslice.ir.matrices import fragment_of
from wattslice.workload.instructions.constants import with_constants
from wattslice.workload.instructions.liveness import liveness
from wattslice.workload.occupancy import registers_that_fit
from wattslice_models.gpu import Gpu

MIN_REGISTERS = 8
REGISTERS_OF_A_CALL = 24
"""Fewest registers of a kernel that makes real calls: the calling convention reserves these."""
_REAL_CALLS = frozenset({"printf", "vprintf", "malloc", "free", "assert", "__assertfail", "__assert_fail"})


class RegisterPressure(Struct, frozen=True):
    """What the estimate is made of, in 32-bit registers.

    `live`: most variables alive at once, temporaries included. `arrays`: of arrays and fragments. `values`:
    most values of the lowered kernel, `ahead` and `ahead_shared`: what a stretch of it loads from global and
    from shared memory. `makes_calls`: something is really called (printf, device runtime), not inlined.
    """

    live: float
    arrays: float
    values: float
    ahead: float
    ahead_shared: float
    makes_calls: bool


class _Interval(Struct):
    first: int
    last: int
    defined_before_use: bool
    width: int


class _LoopRange(Struct):
    start: int
    end: int


def width(type_: ir.Type) -> int:
    """32-bit registers that a value of this type takes."""
    if type_.kind in (ir.TypeKind.VOID, ir.TypeKind.UNKNOWN):
        return 1
    return max(1, -(-type_.size_bytes // 4)) if type_.size_bytes else 1


_WARP = 32


def array_width(type_: ir.Type) -> int:
    """32-bit registers of an array of the thread, or of fragments of matrices.

    The lanes of a warp hold the elements of an operand once, although a fragment has room for two copies.
    """
    if type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        if type_.element.kind is ir.TypeKind.RECORD or type_.element.kind is ir.TypeKind.ARRAY:
            return array_width(type_.element) * (type_.length or 0)
        return -(-type_.size_bytes // 4)
    tile = fragment_of(type_.name)
    if tile is None or tile.use == "accumulator" or not type_.fields or type_.fields[0].type.length == 1:
        return width(type_)
    element = type_.fields[0].type.element or type_.fields[0].type
    elements = (tile.m if tile.use == "matrix_a" else tile.n) * tile.k
    return max(1, elements * element.bits // (32 * _WARP))


class _Walk:
    """Positions of definitions and uses along the text of a kernel."""

    def __init__(self, kernel: ir.Kernel, indexed: frozenset[ir.Variable]) -> None:
        self.position = 0
        self.intervals: dict[ir.Variable, _Interval] = {}
        self.loops: list[_LoopRange] = []
        self.temporaries: dict[int, int] = {}
        self.makes_calls = False
        self.aliases: dict[ir.Variable, ir.Variable] = {}
        self.parameters = frozenset(kernel.parameters)
        self.indexed = indexed
        self.block(kernel.body)

    def block(self, stmt: ir.Stmt) -> None:
        for inner in ir.nested_statements(stmt):
            self.statement(inner)

    def statement(self, stmt: ir.Stmt) -> None:
        self.position += 1
        match stmt:
            case ir.Loop():
                self.loop(stmt)
            case ir.Declare(variable=variable, value=value):
                if value is not None:
                    self.expression(value)
                    self.define(variable)
                elif variable.type.kind is ir.TypeKind.ARRAY:
                    self.define(variable)
            case ir.If() | ir.Switch():
                for expr in ir.statement_expressions(stmt):
                    self.expression(expr)
                self.block(stmt)
            case ir.Block():
                self.block(stmt)
            case _:
                for expr in ir.statement_expressions(stmt):
                    self.expression(expr)

    def loop(self, stmt: ir.Loop) -> None:
        for init in stmt.init:
            self.statement(init)
        found = _LoopRange(self.position, self.position)
        self.loops.append(found)
        if stmt.condition is not None:
            self.expression(stmt.condition)
        self.block(stmt.body)
        self.position += 1
        if stmt.step is not None:
            self.expression(stmt.step)
        found.end = self.position

    def define(self, variable: ir.Variable) -> None:
        found = self.intervals.get(variable)
        if found is None:
            self.intervals[variable] = _Interval(self.position, self.position, True, self.room(variable))
        else:
            found.last = self.position

    def use(self, variable: ir.Variable) -> None:
        while variable in self.aliases:
            variable = self.aliases[variable]
        found = self.intervals.get(variable)
        if found is None:
            if variable in self.parameters:
                return
            self.intervals[variable] = _Interval(self.position, self.position, False, self.room(variable))
        else:
            found.last = self.position

    def room(self, variable: ir.Variable) -> int:
        if variable.space is ir.MemorySpace.REGISTER:
            return min(16, width(variable.type))
        return 0

    def array_room(self, variable: ir.Variable) -> int:
        """Registers of an array of the thread, of which every index is known."""
        type_ = variable.type
        is_copied = type_.kind is ir.TypeKind.RECORD and any(one.type == type_ for one in self.indexed)
        in_memory = variable.space is not ir.MemorySpace.LOCAL or variable in self.indexed or is_copied
        return 0 if in_memory or not type_.size_bytes else array_width(type_)

    def expression(self, expr: ir.Expr) -> int:
        """Registers needed to evaluate (Sethi and Ullman); notes definitions and uses on the way."""
        match expr:
            case ir.Read(place=place):
                self.use(place.variable)
                return 0
            case ir.Constant() | ir.Builtin() | ir.Text():
                return 0
            case ir.AddressOf(variable=variable):
                if variable.space is ir.MemorySpace.LOCAL:
                    self.use(variable)
                return 0
            case ir.Assign(target=target, value=value):
                need = self.expression(value)
                if isinstance(target, ir.RegisterPlace):
                    self.define(target.variable)
                else:
                    need = max(need, 2 + self.memory(target))
            case ir.Increment(target=target):
                need = 1
                if isinstance(target, ir.RegisterPlace):
                    self.define(target.variable)
                else:
                    need = 2 + self.memory(target)
            case ir.Load(place=place):
                need = max(self.memory(place), width(expr.type))
            case ir.InlinedCall(parameters=parameters, arguments=arguments, body=body):
                need = max((self.expression(argument) for argument in arguments), default=0)
                for parameter, argument in zip(parameters, arguments, strict=False):
                    if isinstance(argument, ir.Read) and not argument.place.path:
                        self.aliases[parameter] = argument.place.variable  # a copy the compiler removes
                    elif not isinstance(argument, ir.Constant | ir.AddressOf):
                        self.define(parameter)
                self.block(body)
                need = max(need, width(expr.type))
            case ir.Intrinsic():
                self.makes_calls |= expr.is_opaque_call or expr.name in _REAL_CALLS
                need = self.operands(expr)
            case _:
                need = self.operands(expr)
        self.temporaries[self.position] = max(need, self.temporaries.get(self.position, 0))
        return need

    def operands(self, expr: ir.Expr) -> int:
        needs = sorted((self.expression(child) for child in ir.children(expr)), reverse=True)
        own = width(expr.type)
        if isinstance(expr, ir.Atomic):
            self.memory(expr.place)
        held = max((need + index * own for index, need in enumerate(needs)), default=0)
        return max(own, held)

    def memory(self, place: ir.MemoryPlace) -> int:
        return max(2, self.expression(place.address))


def register_pressure(kernel: ir.Kernel) -> RegisterPressure:
    """What the registers of a thread of `kernel` are needed for."""
    kernel = with_constants(kernel)
    lowered = liveness(kernel)
    walk = _Walk(kernel, lowered.indexed)
    values = [0.0] * (walk.position + 2)
    arrays = [0.0] * (walk.position + 2)
    for variable, interval in walk.intervals.items():
        first, last = interval.first, interval.last
        for loop in walk.loops:
            if loop.start <= last <= loop.end:
                crosses = first < loop.start or not interval.defined_before_use
                if crosses:
                    last = max(last, loop.end)
                    first = min(first, loop.start)
        last = min(last, walk.position) + 1
        for deltas, room in ((values, interval.width), (arrays, walk.array_room(variable))):
            deltas[first] += room
            deltas[last] -= room
    peak = max(live + walk.temporaries.get(at, 0) for at, live in enumerate(accumulate(values)))
    held = max(accumulate(arrays))
    return RegisterPressure(
        live=peak,
        arrays=held,
        values=lowered.pressure.beside(held),
        ahead=lowered.ahead,
        ahead_shared=lowered.ahead_shared,
        makes_calls=walk.makes_calls,
    )


WEIGHTS = (6.54, 0.3, 1.11, 0.46, 0.6, 0.15)
"""Weights of `features`, fitted with tools/wattslice_tools/wild/registers_check.py to what nvcc 13 reports
for sm_80; the table of docs/instructions.md says how well. On other architectures unchecked."""


def features(pressure: RegisterPressure) -> tuple[float, ...]:
    """What the estimate weighs: 1 and the parts of `pressure`.

    Each ends where ptxas reorders and recomputes rather than take more registers; what lies in arrays has to
    be held, and leaves less room for loads ahead.
    """
    return (
        1.0,
        min(pressure.live, 24.0),
        pressure.arrays,
        pressure.values,
        min(pressure.ahead, max(0.0, 16.0 - pressure.arrays)),
        min(pressure.ahead_shared, 32.0),
    )


LIKELY_ERROR = 8
"""Registers by which nine of ten estimates differ from ptxas at most (docs/appendix/instructions.md)."""


def estimate_registers(kernel: ir.Kernel, gpu: Gpu) -> int:
    """Registers per thread, at most what `__launch_bounds__` and `__maxnreg__` leave and `gpu` has.

    The compiler spills what does not fit; spilled values are not counted as traffic.
    """
    pressure = register_pressure(kernel)
    weighted = zip(WEIGHTS, features(pressure), strict=True)
    estimate = sum(weight * feature for weight, feature in weighted)
    if pressure.makes_calls:
        estimate = max(estimate, REGISTERS_OF_A_CALL)
    limit = gpu.max_registers_per_thread
    if kernel.max_threads_per_block:
        warps = -(-kernel.max_threads_per_block // gpu.warp_size) * (kernel.min_blocks_per_sm or 1)
        limit = min(limit, max(16, registers_that_fit(gpu, warps)))
    if kernel.max_registers:
        limit = min(limit, max(16, kernel.max_registers))
    return round(min(limit, max(MIN_REGISTERS, estimate)))
