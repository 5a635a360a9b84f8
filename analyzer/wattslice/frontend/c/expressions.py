"""Lowering of C expressions: values, objects, calls that are followed."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

from dataclasses import replace

from pycparser import c_ast

from wattslice import ir
from wattslice.frontend.c.scope import (
    CLoweringError,
    CTooLargeError,
    Object,
    Scope,
    Value,
    cast_to,
    constant_dimensions,
    opaque,
    root_of,
    span_of,
    stride_of,
)
from wattslice.frontend.c.types import (
    CHAR,
    UNSIGNED_LONG,
    Node,
    common,
    constant_of,
    pointer_to,
    promoted,
)
from wattslice.ir import BOOL, INT32, UNKNOWN_TYPE, BinaryOp, MemorySpace, Span, Type, TypeKind, UnaryOp
from wattslice.ir.builtins import Builtin, Cost, builtin, operations_of
from wattslice.ir.c_arithmetic import converted

_BINARY = {op.value: op for op in BinaryOp}
MAX_NODES = 100_000


class Expressions(Scope):
    """The expressions of a function."""

    def value(self, node: Node) -> Value:
        """The value of an expression."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise CTooLargeError(f"more than {MAX_NODES} operations after its calls are followed")
        span = span_of(node)
        match node:
            case c_ast.Constant(type="string", value=text):
                return Value(ir.Text(text[1:-1], pointer_to(CHAR), span))
            case c_ast.Constant():
                number, type_ = constant_of(node)
                return Value(ir.Constant(number, type_, span))
            case c_ast.ID(name=name):
                known = self.unit.named(name)
                if known is not None and self._lookup(name) is self.unit.globals.get(name):
                    return Value(ir.Constant(known.value, known.type, span))
                return self._read(self._object(node), span)
            case c_ast.ArrayRef() | c_ast.StructRef():
                return self._read(self._object(node), span)
            case c_ast.UnaryOp():
                return self._unary(node, span)
            case c_ast.BinaryOp():
                return self._binary(node, span)
            case c_ast.Assignment():
                return self._assign(node, span)
            case c_ast.TernaryOp():
                return self._select(node, span)
            case c_ast.Cast():
                inner = self.value(node.expr)
                return Value(
                    cast_to(inner.expr, self.unit.types.of(node.to_type).as_ir(), span), inner.dimensions
                )
            case c_ast.FuncCall():
                return self.call(node, span)
            case c_ast.ExprList():
                values = [self.value(part) for part in node.exprs]
                result = values[0].expr
                for part in values[1:]:
                    type_ = part.expr.type
                    result = ir.Binary(BinaryOp.COMMA, result, part.expr, type_, type_, span)
                return Value(result)
            case c_ast.InitList():
                parts = tuple(self.value(part).expr for part in node.exprs)
                return Value(ir.Construct(parts, (), UNKNOWN_TYPE, span))
            case c_ast.NamedInitializer():
                return self.value(node.expr)
            case c_ast.CompoundLiteral():
                type_ = self.unit.types.of(node.type).as_ir()
                parts = tuple(self.value(part).expr for part in node.init.exprs)
                return Value(
                    ir.Construct(parts, tuple(f.name for f in type_.fields[: len(parts)]), type_, span)
                )
            case _:
                raise CLoweringError(f"{type(node).__name__} is not supported in C kernels", node)

    def _read(self, found: Object, span: Span) -> Value:
        if found.type.kind is TypeKind.ARRAY:
            element = found.type.element or UNKNOWN_TYPE
            if found.place is not None:
                address: ir.Expr = ir.AddressOf(found.place.variable, pointer_to(element), span)
            else:
                assert found.address is not None
                address = found.address
                if isinstance(address, (ir.AddressOf, ir.PointerOffset)):  # the array decays
                    address = replace(address, type=pointer_to(element))
            return Value(address, found.dimensions[1:])
        if found.place is not None:
            return Value(ir.Read(found.place, found.type, span), found.dimensions)
        return Value(ir.Load(self._memory(found), found.type, span), found.dimensions)

    def _memory(self, found: Object) -> ir.MemoryPlace:
        assert found.address is not None
        space = MemorySpace.HOST if self.is_host else MemorySpace.GLOBAL
        return ir.MemoryPlace(found.address, space, found.type, found.root, self._site())

    def _object(self, node: Node) -> Object:
        span = span_of(node)
        match node:
            case c_ast.ID(name=name):
                found = self._lookup(name)
                if found is None:
                    raise CLoweringError(f"'{name}' is not declared", node)
                variable, dimensions = found
                if variable.space is MemorySpace.GLOBAL or variable.type.kind is TypeKind.ARRAY:
                    address = ir.AddressOf(variable, pointer_to(variable.type), span)
                    return Object(None, address, variable.type, dimensions, variable)
                return Object(
                    ir.RegisterPlace(variable, (), variable.type), None, variable.type, dimensions, None
                )
            case c_ast.ArrayRef():
                base = self.value(node.name)
                index = self.value(node.subscript).expr
                return self._element(base, index, span, written=False)
            case c_ast.UnaryOp(op="*"):
                base = self.value(node.expr)
                element = base.expr.type.element or UNKNOWN_TYPE
                dimensions = (
                    base.dimensions if element.kind is TypeKind.ARRAY else constant_dimensions(element)
                )
                return Object(None, base.expr, element, dimensions, root_of(base.expr))
            case c_ast.StructRef():
                return self._member(node, span)
            case (
                c_ast.Cast()
                | c_ast.FuncCall()
                | c_ast.Assignment()
                | c_ast.TernaryOp()
                | c_ast.CompoundLiteral()
            ):
                raise CLoweringError("only variables, elements and members can be used here", node)
            case _:
                raise CLoweringError(f"{type(node).__name__} names no object", node)

    def _element(self, base: Value, index: ir.Expr, span: Span, *, written: bool) -> Object:
        pointer = base.expr
        element = pointer.type.element or UNKNOWN_TYPE
        inner, scale, factor = stride_of(element, base.dimensions, span)
        scaled = index if factor is None else ir.Binary(
            BinaryOp.MUL, cast_to(index, INT32, span) if not index.type.is_integral else index, factor,
            common(index.type, factor.type), common(index.type, factor.type), span,
        )  # fmt: skip
        address = ir.PointerOffset(pointer, scaled, scale, 0, written, False, pointer_to(element), span)
        return Object(None, address, element, inner, root_of(pointer))

    def _member(self, node: Node, span: Span) -> Object:
        name: str = node.field.name
        if node.type == "->":
            base = self.value(node.name)
            record = base.expr.type.element or UNKNOWN_TYPE
            whole = Object(None, base.expr, record, (), root_of(base.expr))
        else:
            whole = self._object(node.name)
            record = whole.type
        field = next((field for field in record.fields if field.name == name), None)
        if field is None:
            raise CLoweringError(f"no member '{name}' in '{record.name or record.kind.value}'", node)
        dimensions = constant_dimensions(field.type)
        if whole.place is not None:
            place = ir.RegisterPlace(whole.place.variable, (*whole.place.path, name), field.type)
            return Object(place, None, field.type, dimensions, None)
        assert whole.address is not None
        type_ = pointer_to(field.type)
        address = ir.PointerOffset(whole.address, None, 1, field.offset_bytes, False, False, type_, span)
        return Object(None, address, field.type, dimensions, whole.root)

    def _target(self, found: Object) -> ir.Place:
        return self._memory(found) if found.place is None else found.place

    def _unary(self, node: Node, span: Span) -> Value:
        op: str = node.op
        if op == "sizeof":
            is_type = isinstance(node.expr, c_ast.Typename)
            type_ = self.unit.types.of(node.expr).as_ir() if is_type else self._type_of(node.expr)
            return Value(ir.Constant(type_.size_bytes, UNSIGNED_LONG, span))
        if op in ("++", "--", "p++", "p--"):
            found = self._object(node.expr)
            step = found.type.element.size_bytes if found.type.element is not None else 0
            delta = 1 if "+" in op else -1
            target = self._target(found)
            return Value(ir.Increment(target, delta, op[0] != "p", step, found.type, span), found.dimensions)
        if op == "*":
            return self._read(self._object(node), span)
        if op == "&":
            found = self._object(node.expr)
            if found.place is not None:
                return Value(ir.AddressOf(found.place.variable, pointer_to(found.type), span))
            assert found.address is not None
            return Value(found.address, found.dimensions)
        operand = self.value(node.expr).expr
        if op == "+":
            return Value(operand)
        if op == "!":
            return Value(ir.Unary(UnaryOp.NOT, operand, BOOL, span))
        type_ = promoted(operand.type)
        negated = converted(-operand.value, type_) if isinstance(operand, ir.Constant) else None
        if op == "-" and negated is not None:
            return Value(ir.Constant(negated, type_, span))
        kind = UnaryOp.NEGATE if op == "-" else UnaryOp.INVERT
        return Value(ir.Unary(kind, cast_to(operand, type_, span), type_, span))

    def _type_of(self, node: Node) -> Type:
        regions, sites = self.regions, self.sites
        try:
            found = self._object(node).type if isinstance(node, (c_ast.ID, c_ast.StructRef, c_ast.ArrayRef)) \
                else self.value(node).expr.type  # fmt: skip
        finally:
            self.regions, self.sites = regions, sites
        return found

    def _binary(self, node: Node, span: Span) -> Value:
        if node.op in ("&&", "||"):
            left = self.value(node.left).expr
            region = self.region()
            right = self.value(node.right).expr
            return Value(ir.Logical(ir.LogicalOp(node.op), left, right, region, BOOL, span_of(node.right)))
        op = _BINARY[node.op]
        left, right = self.value(node.left), self.value(node.right)
        is_pointer = left.expr.type.kind is TypeKind.POINTER, right.expr.type.kind is TypeKind.POINTER
        if op in (BinaryOp.ADD, BinaryOp.SUB) and is_pointer == (True, False):
            return self._shifted(left, right.expr, span, subtract=op is BinaryOp.SUB)
        if op is BinaryOp.ADD and is_pointer == (False, True):
            return self._shifted(right, left.expr, span, subtract=False)
        if any(is_pointer):
            type_ = BOOL if op in ir.COMPARISONS else ir.INT64
            return Value(ir.Binary(op, left.expr, right.expr, left.expr.type, type_, span))
        if op in (BinaryOp.SHL, BinaryOp.SHR):
            operand_type = promoted(left.expr.type)
            return Value(ir.Binary(op, cast_to(left.expr, operand_type, span), right.expr, operand_type,
                                   operand_type, span))  # fmt: skip
        operand_type = common(left.expr.type, right.expr.type)
        result = BOOL if op in ir.COMPARISONS else operand_type
        a, b = cast_to(left.expr, operand_type, span), cast_to(right.expr, operand_type, span)
        return Value(ir.Binary(op, a, b, operand_type, result, span))

    def _shifted(self, base: Value, index: ir.Expr, span: Span, *, subtract: bool) -> Value:
        pointer = base.expr
        element = pointer.type.element or UNKNOWN_TYPE
        _, scale, factor = stride_of(element, base.dimensions, span)
        if factor is not None:
            type_ = common(index.type, factor.type)
            index = ir.Binary(BinaryOp.MUL, index, factor, type_, type_, span)
        moved = ir.PointerOffset(pointer, index, scale, 0, True, subtract, pointer.type, span)
        return Value(moved, base.dimensions)

    def _assign(self, node: Node, span: Span) -> Value:
        value = self.value(node.rvalue)
        found = self._object(node.lvalue)
        if found.type.kind is TypeKind.ARRAY:
            raise CLoweringError("an array cannot be assigned", node)
        target = self._target(found)
        if node.op == "=":
            expr = cast_to(value.expr, found.type, span)
            return Value(ir.Assign(target, None, expr, found.type, found.type, span), value.dimensions)
        op = _BINARY[node.op[:-1]]
        if found.type.kind is TypeKind.POINTER:
            old = Value(ir.Read(target, found.type, span) if isinstance(target, ir.RegisterPlace)
                        else ir.Load(target, found.type, span), found.dimensions)  # fmt: skip
            moved = self._shifted(old, value.expr, span, subtract=op is BinaryOp.SUB)
            return Value(ir.Assign(target, None, moved.expr, found.type, found.type, span), found.dimensions)
        shift = op in (BinaryOp.SHL, BinaryOp.SHR)
        operand_type = promoted(found.type) if shift else common(found.type, value.expr.type)
        expr = value.expr if shift else cast_to(value.expr, operand_type, span)
        return Value(ir.Assign(target, op, expr, operand_type, found.type, span))

    def _select(self, node: Node, span: Span) -> Value:
        condition = self.value(node.cond).expr
        then_region = self.region()
        then = self.value(node.iftrue)
        otherwise_region = self.region()
        otherwise = self.value(node.iffalse)
        a, b = then.expr, otherwise.expr
        type_ = a.type
        if (
            type_.kind in (TypeKind.INT, TypeKind.FLOAT, TypeKind.BOOL)
            and b.type.kind is not TypeKind.POINTER
        ):
            type_ = common(a.type, b.type)
            a, b = cast_to(a, type_, span), cast_to(b, type_, span)
        return Value(ir.Select(condition, a, b, then_region, otherwise_region, type_, span), then.dimensions)

    # ------------------------------------------------------------------------- calls

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
            function, type_ = known
            operations = operations_of(function, type_, ())
            cast = tuple(cast_to(argument, type_, span) for argument in arguments)
            return Value(ir.Intrinsic(name, cast, operations, function.semantics, False, type_, span))
        if self.is_host:
            pointer = name in ("malloc", "calloc", "realloc")
            return Value(
                ir.Call(name, name, tuple(arguments), pointer_to(ir.VOID) if pointer else INT32, span)
            )
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


MAX_INLINE_DEPTH = 24
_REAL_WORDS = """
    sqrt pow exp log log2 ceil floor fabs fmin fmax fma sin cos tan asin acos atan atan2 sinh cosh tanh exp2
    expm1 log10 log1p cbrt hypot erf erfc tgamma lgamma round rint trunc nearbyint copysign fmod
"""
_REAL = frozenset(_REAL_WORDS.split())
"""The functions of <math.h> in double precision; with the suffix f in single precision."""
_WHOLE = frozenset({"abs", "labs"})
_FMOD = Builtin("fmod", Cost.OF_TYPE)  # a few operations on a CPU
COSTLESS = frozenset(
    {"printf", "fprintf", "puts", "putchar", "fputs", "fflush", "free", "assert", "exit", "abort"}
)
"""Functions whose cost does not belong to the kernel's arithmetic."""


def library_function(name: str) -> tuple[Builtin, Type] | None:
    """What a function of the C library costs and means, and the type that it works in; None when unknown."""
    stem, type_ = name, ir.FLOAT64
    if name in _WHOLE:
        type_ = INT32
    elif name not in _REAL:
        stem, type_ = name.removesuffix("f"), ir.FLOAT32
        if stem == name or stem not in _REAL:
            return None
    row = _FMOD if stem == "fmod" else builtin(stem)
    return None if row is None else (row, type_)
