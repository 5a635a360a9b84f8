"""Lowering of C functions to the IR: parameters and statements."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

import re

from pycparser import c_ast

from wattslice import ir
from wattslice.frontend.c.expressions import Expressions
from wattslice.frontend.c.scope import CLoweringError, CTooLargeError, Unit, cast_to, root_of, span_of
from wattslice.frontend.c.types import CType, Node, promoted
from wattslice.ir import Span
from wattslice.ir.c_arithmetic import wrapped

__all__ = ["Body", "CLoweringError", "CTooLargeError", "Unit", "root_of", "span_of"]


class Body(Expressions):
    """A function: its statements over its expressions."""

    def parameters(self, definition: Node) -> tuple[ir.Variable, ...]:
        """Declare the parameters of a function in the innermost scope."""
        found: list[ir.Variable] = []
        declared = definition.decl.type.args
        for parameter in declared.params if declared is not None else ():
            if isinstance(parameter, c_ast.Decl) and parameter.name:
                ctype = self.unit.types.of(parameter)
                span = span_of(parameter)
                found.append(self.declare(parameter.name, ctype, span, ir.VariableRole.PARAMETER))
        return tuple(found)

    # ------------------------------------------------------------------------- statements

    def block(self, node: Node) -> ir.Block:
        """A statement as a block with a scope of its own."""
        region = self.region()
        self._scopes.append({})
        items = node.block_items or () if isinstance(node, c_ast.Compound) else (node,)
        statements: list[ir.Stmt] = []
        unroll: int | None = None
        for item in items:
            if isinstance(item, c_ast.Pragma):
                unroll = _unroll(item.string)
                continue
            statements.extend(self.statement(item, unroll))
            unroll = None
        self._scopes.pop()
        return ir.Block(tuple(statements), region, span_of(node))

    def statement(self, node: Node, unroll: int | None = None) -> list[ir.Stmt]:
        """One statement; a construct that cannot be read becomes a diagnostic."""
        if node is None or isinstance(node, (c_ast.EmptyStatement, c_ast.Typedef, c_ast.Pragma)):
            if isinstance(node, c_ast.Typedef):
                self.unit.types.typedefs[node.name] = self.unit.types.of(node)
            return []
        try:
            return self._statement(node, unroll)
        except CLoweringError as error:
            self.hole(node, str(error))
            return []

    def _statement(self, node: Node, unroll: int | None) -> list[ir.Stmt]:
        span = span_of(node)
        match node:
            case c_ast.Compound():
                return [self.block(node)]
            case c_ast.DeclList():
                return [stmt for decl in node.decls for stmt in self.statement(decl)]
            case c_ast.Decl():
                return self._declaration(node, span)
            case c_ast.If():
                region = self.region()
                condition = self.value(node.cond).expr
                then = self.block(node.iftrue)
                otherwise = None if node.iffalse is None else self.block(node.iffalse)
                return [ir.If(condition, then, otherwise, region, span)]
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                return [self._loop(node, span, unroll)]
            case c_ast.Switch():
                return [self._switch(node, span)]
            case c_ast.Return():
                region = self.region()
                return [ir.Return(None if node.expr is None else self.value(node.expr).expr, region, span)]
            case c_ast.Break():
                return [ir.Break(self.region(), span)]
            case c_ast.Continue():
                return [ir.Continue(self.region(), span)]
            case c_ast.Label():
                return self.statement(node.stmt)
            case c_ast.Goto():
                raise CLoweringError("goto is not supported", node)
            case _:
                region = self.region()
                return [ir.ExprStmt(self.value(node).expr, region, span)]

    def _declaration(self, node: Node, span: Span) -> list[ir.Stmt]:
        ctype = self.unit.types.of(node)
        if isinstance(node.type, c_ast.FuncDecl) or not node.name:
            return []
        region = self.region()
        length = len(node.init.exprs) if isinstance(node.init, c_ast.InitList) else None
        if ctype.dimensions and ctype.dimensions[0] is None and length is not None:
            ctype = CType(ctype.type, (length, *ctype.dimensions[1:]))
        variable = self.declare(node.name, ctype, span, ir.VariableRole.LOCAL)
        if node.init is None:
            return [ir.Declare(variable, None, region, span)]
        if isinstance(node.init, c_ast.InitList):
            parts = tuple(self.value(part).expr for part in node.init.exprs)
            names = tuple(field.name for field in variable.type.fields[: len(parts)])
            return [ir.Declare(variable, ir.Construct(parts, names, variable.type, span), region, span)]
        initial = cast_to(self.value(node.init).expr, variable.type, span)
        return [ir.Declare(variable, initial, region, span)]

    def _loop(self, node: Node, span: Span, unroll: int | None) -> ir.Loop:
        region = self.region()
        self._scopes.append({})
        init: list[ir.Stmt] = []
        if isinstance(node, c_ast.For) and node.init is not None:
            init = self.statement(node.init)
        test_region = self.region()
        condition = None if node.cond is None else self.value(node.cond).expr
        body = self.block(node.stmt)
        step_region = self.region()
        step = None
        if isinstance(node, c_ast.For) and node.next is not None:
            step = self.value(node.next).expr
        self._scopes.pop()
        kinds = {"For": ir.LoopKind.FOR, "While": ir.LoopKind.WHILE, "DoWhile": ir.LoopKind.DO}
        kind = kinds[type(node).__name__]
        return ir.Loop(
            kind, tuple(init), condition, step, body, unroll, region, test_region, step_region, span
        )

    def _switch(self, node: Node, span: Span) -> ir.Switch:
        region = self.region()
        selector = self.value(node.cond).expr
        cases: list[ir.Case] = []
        items = node.stmt.block_items or () if isinstance(node.stmt, c_ast.Compound) else (node.stmt,)
        labels: list[int | None] = []
        for item in items:
            if not isinstance(item, (c_ast.Case, c_ast.Default)):
                raise CLoweringError("a statement before the first case", item)
            if isinstance(item, c_ast.Case):
                label = self.unit.fold(item.expr)
                if label is None:
                    raise CLoweringError("a case label that is no constant", item)
                labels.append(wrapped(label, promoted(selector.type)))
            else:
                labels.append(None)
            if not item.stmts:
                continue
            inner = self.region()
            self._scopes.append({})
            body = [stmt for part in item.stmts for stmt in self.statement(part)]
            self._scopes.pop()
            cases.append(ir.Case(tuple(labels), ir.Block(tuple(body), inner, span_of(item))))
            labels = []
        return ir.Switch(selector, tuple(cases), region, span)


def _unroll(text: str) -> int | None:
    match = re.match(r"unroll\b\s*\(?\s*(\d*)", text)
    return None if match is None else int(match.group(1) or 0)


# ---------------------------------------------------------------------------
# Host functions of a C file: `main`'s calls of kernels become launches of one block of one thread.


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
