"""What a kernel's parameters hold when counting starts: known arguments, assumed values for the others."""

from __future__ import annotations

from wattslice import ir
from wattslice.counting.bounds_checks import covered_parameters
from wattslice.counting.state import State
from wattslice.counting.values import Pointer
from wattslice.launches.values import offset_of

DEFAULT_PARAMETER = 1024
"""Value assumed for an integer parameter nobody knows and no guard hints at."""

SMALL_PARAMETER = 1
"""Assumed instead when with the default the kernel would touch no memory at all."""


def bind_parameters(state: State, default: int) -> None:
    """Gives parameters their values; integers nobody knows are assumed, which is told when they are read."""
    launch = state.launch
    kernel = launch.kernel
    covered = covered_parameters(launch)
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        value: int | float | None = argument
        is_size = parameter.type.is_integral and parameter.type.lanes == 1
        if value is None and is_size and parameter.space is not ir.MemorySpace.TEXTURE:
            value = covered.get(parameter, default)
            state.assumed_parameters[parameter] = value
        if value is not None:
            state.environment[parameter] = value
        elif parameter.type.kind is ir.TypeKind.POINTER:
            state.environment[parameter] = Pointer(parameter, 0)
    state.guessed = frozenset(state.assumed_parameters)
    written = _written(kernel) if launch.members else frozenset[ir.Variable]()
    for member in launch.members:
        parameter = kernel.parameters[member.parameter]
        if parameter.space is not ir.MemorySpace.LOCAL:
            state.environment[(parameter, member.path)] = member.value
        elif parameter not in written:  # a struct that holds an array lies in memory
            state.constants[(parameter, offset_of(parameter.type, member.path))] = member.value


def _written(kernel: ir.Kernel) -> frozenset[ir.Variable]:
    """The variables whose address is used for more than to load from: they may not keep what they held."""
    addresses: set[ir.AddressOf] = set()
    loaded: set[ir.Expr] = set()
    for expr in ir.expressions_below(kernel.body):
        if isinstance(expr, ir.AddressOf):
            addresses.add(expr)
        elif isinstance(expr, ir.Load):
            loaded.update(ir.walk_expressions(expr.place.address))
    return frozenset(address.variable for address in addresses - loaded)
