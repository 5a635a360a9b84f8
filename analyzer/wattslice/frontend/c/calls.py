"""Calls in C: library functions by name, others followed into their bodies."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

from pycparser import c_ast

from wattslice import ir
from wattslice.frontend.c.library import COSTLESS, library_function, operation_class
from wattslice.frontend.c.nodes import Node
from wattslice.frontend.c.scope import Scope, Value
from wattslice.frontend.c.types import (
    pointer_to,
)
from wattslice.frontend.c.values import cast_to, opaque
from wattslice.ir import INT32, UNKNOWN_TYPE, VOID, Span, Type

MAX_INLINE_DEPTH = 24


class Calls(Scope):
    """The calls of a function."""

    def call(self, node: Node, span: Span) -> Value:
        """The value of a call."""
        arguments = [self.value(part).expr for part in (node.args.exprs if node.args is not None else ())]
        if not isinstance(node.name, c_ast.ID):
            self.hole(node, "a call through a pointer cannot be followed")
            return Value(opaque("<function pointer>", arguments, UNKNOWN_TYPE, span))
        name: str = node.name.name
        definition = self.unit.functions.get(name)
        if definition is not None:
            result = self.unit.types.of(definition.decl.type.type).as_ir()
            if self.is_host:
                return Value(ir.Call(name, name, tuple(arguments), result, span))
            if name in self._active or len(self._active) > MAX_INLINE_DEPTH:
                self.hole(node, f"recursive call of {name}() is not followed")
                return Value(opaque(name, arguments, result, span))
            return Value(self._inline(definition, arguments, result, span))
        known = library_function(name)
        if known is not None:
            function, is_single = known
            type_ = (ir.FLOAT32 if is_single else ir.FLOAT64) if function.is_float else INT32
            operations = (ir.OperationCount(operation_class(function, is_single), function.operations),)
            cast = tuple(cast_to(argument, type_, span) for argument in arguments)
            return Value(ir.Intrinsic(name, cast, operations, function.semantics, False, type_, span))
        if self.is_host:
            pointer = name in ("malloc", "calloc", "realloc")
            return Value(ir.Call(name, name, tuple(arguments), pointer_to(VOID) if pointer else INT32, span))
        if name in COSTLESS:
            return Value(ir.Intrinsic(name, tuple(arguments), (), ir.Semantics.NONE, False, INT32, span))
        self.unit.report(
            "PW001",
            ir.Severity.WARNING,
            span,
            f"{name}() is not defined in the files read; its cost is unknown",
        )
        return Value(opaque(name, arguments, INT32, span))

    def _inline(self, definition: Node, arguments: list[ir.Expr], result: Type, span: Span) -> ir.Expr:
        self._active.append(definition.decl.name)
        outer, self._scopes = self._scopes, [{}]
        parameters = self.parameters(definition)
        converted = tuple(
            cast_to(argument, parameter.type, span)
            for parameter, argument in zip(parameters, arguments, strict=False)
        )
        body = self.block(definition.body)
        self._scopes = outer
        self._active.pop()
        return ir.InlinedCall(definition.decl.name, parameters, converted, body, result, span)
