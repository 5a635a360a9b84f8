"""Host functions of a C file: `main`'s calls of kernels become launches of one block of one thread."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

from wattslice import ir
from wattslice.frontend.c.lowering import Body, CLoweringError, Unit, span_of
from wattslice.frontend.c.nodes import Node


class HostBody(Body):
    """Lowers a host function; calls of `kernels` that stand as statements become launches."""

    def __init__(self, unit: Unit, kernels: frozenset[str]) -> None:
        super().__init__(unit, is_host=True)
        self._kernels = kernels

    def statement(self, node: Node, unroll: int | None = None) -> list[ir.Stmt]:
        """As in kernels, but with launches."""
        return [self._with_launch(stmt) for stmt in super().statement(node, unroll)]

    def hole(self, node: Node, message: str) -> None:
        """Host code that cannot be read only costs knowledge; it is no finding about a kernel."""

    def _with_launch(self, stmt: ir.Stmt) -> ir.Stmt:
        if not isinstance(stmt, ir.ExprStmt) or not isinstance(stmt.expr, ir.Call):
            return stmt
        call = stmt.expr
        if call.name not in self._kernels:
            return stmt
        one = ir.Constant(1, ir.INT32, call.span)
        launch = ir.LaunchCall(call.name, call.name, one, one, None, call.arguments, ir.VOID, call.span)
        return ir.ExprStmt(launch, stmt.region, stmt.span)


def lower_host_function(unit: Unit, node: Node, kernels: frozenset[str]) -> ir.Function:
    """A function as host code; only `main` launches."""
    name: str = node.decl.name
    reported = len(unit.diagnostics)
    body = HostBody(unit, kernels if name == "main" else frozenset())
    span = span_of(node)
    parameters: tuple[ir.Variable, ...] = ()
    try:
        parameters = body.parameters(node)
        block = body.block(node.body)
    except CLoweringError:
        block = ir.Block((), body.region(), span)
    del unit.diagnostics[reported:]
    return ir.Function(name, name, parameters, tuple(None for _ in parameters), block, span)
