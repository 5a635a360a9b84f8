"""Local variables that are constants: what the compiler puts in their place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.rewriting import rewritten


@lru_cache(maxsize=32)
def with_constants(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with the constant in place of each variable that is declared with it and never changes."""
    given = ir.values_given(kernel.body)
    begun = {s.variable for s in ir.walk_statements(kernel.body) if isinstance(s, ir.Declare) and s.value}
    for expr in ir.expressions_below(kernel.body):
        if isinstance(expr, ir.InlinedCall):
            begun.update(expr.parameters)
            for parameter, argument in zip(expr.parameters, expr.arguments, strict=True):
                given.setdefault(parameter, []).append(argument)
    found = {
        variable: values[0]
        for variable, values in given.items()
        if len(values) == 1 and isinstance(values[0], ir.Constant) and variable in begun
    }
    for expr in ir.expressions_below(kernel.body) if found else ():
        if isinstance(expr, ir.Increment) and isinstance(expr.target, ir.RegisterPlace):
            found.pop(expr.target.variable, None)
        elif isinstance(expr, ir.AddressOf):
            found.pop(expr.variable, None)

    def constant(_: Any, new: Any) -> Any:  # noqa: ANN401 - any node
        if isinstance(new, ir.Read) and not new.place.path and new.place.variable in found:
            return replace(found[new.place.variable], span=new.span)
        return new

    changed = rewritten(kernel, constant) if found else kernel
    return kernel if changed is kernel else with_constants(changed)
