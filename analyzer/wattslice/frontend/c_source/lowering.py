"""Lowering of C expressions and statements to the IR."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from pycparser import c_ast

from wattslice import ir
from wattslice.frontend.c_source.library import COSTLESS, library_function, operation_class
from wattslice.frontend.c_source.nodes import Node
from wattslice.frontend.c_source.types import (
    CHAR,
    UNSIGNED_LONG,
    CType,
    TypeTable,
    common,
    pointer_to,
    promoted,
)
from wattslice.ir import BOOL, INT32, UNKNOWN_TYPE, VOID, BinaryOp, MemorySpace, Span, Type, TypeKind, UnaryOp

MAX_INLINE_DEPTH = 24
MAX_NODES = 400_000
_BINARY = {op.value: op for op in BinaryOp}
Dimensions = tuple["int | ir.Expr | None", ...]


class CLoweringError(Exception):
    """A construct outside the supported C, or code that is too large; the line is 1-based."""

    def __init__(self, message: str, node: Node) -> None:
        super().__init__(message)
        self.coord = getattr(node, "coord", None)


@dataclass(frozen=True, slots=True)
class Value:
    """An expression and, for pointers into arrays, the dimensions of what it points at."""

    expr: ir.Expr
    dimensions: Dimensions = ()


@dataclass(frozen=True, slots=True)
class Object:
    """Something that can be read and assigned."""

    place: ir.RegisterPlace | None
    address: ir.Expr | None
    type: Type
    dimensions: Dimensions
    root: ir.Variable | None


class Unit:
    """What all functions of a translation unit share."""

    def __init__(self) -> None:
        self.types = TypeTable(self.fold)
        self.functions: dict[str, Node] = {}
        self.globals: dict[str, tuple[ir.Variable, Dimensions]] = {}
        self.constants: dict[str, int | float] = {}
        self.diagnostics: list[ir.Diagnostic] = []

    def fold(self, node: Node) -> int | None:
        """Integer value of a constant expression; None when it is none."""
        match node:
            case c_ast.Constant(type=kind) if "int" in kind or kind == "char":
                return int(_constant(node)[0])
            case c_ast.ID(name=name):
                value = self.types.enumerators.get(name, self.constants.get(name))
                return value if isinstance(value, int) else None
            case c_ast.UnaryOp(op="-"):
                inner = self.fold(node.expr)
                return None if inner is None else -inner
            case c_ast.UnaryOp(op="sizeof"):
                return self.types.of(node.expr).as_ir().size_bytes or None
            case c_ast.Cast():
                return self.fold(node.expr)
            case c_ast.BinaryOp():
                left, right = self.fold(node.left), self.fold(node.right)
                return None if left is None or right is None else _fold(node.op, left, right)
            case _:
                return None

    def report(self, rule: str, severity: ir.Severity, span: Span, message: str) -> None:
        """Add a diagnostic, each once."""
        found = ir.Diagnostic(rule, severity, span.file, span.line, message)
        if found not in self.diagnostics:
            self.diagnostics.append(found)


def _fold(op: str, left: int, right: int) -> int | None:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return int(left / right) if right else None
        case "%":
            return left - right * int(left / right) if right else None
        case "<<":
            return left << right if 0 <= right < 64 else None
        case ">>":
            return left >> right if 0 <= right < 64 else None
        case _:
            return None


_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8, "f": 12, "v": 11}


def _constant(node: Node) -> tuple[int | float, Type]:
    text: str = node.value
    if node.type == "char":
        inner = text[text.index("'") + 1 : -1]
        if inner[:1] != "\\":
            return ord(inner[0]), INT32
        if inner[1:2] == "x":
            return int(inner[2:], 16), INT32
        return (int(inner[1:], 8) if inner[1:].isdigit() else _ESCAPES.get(inner[1], 0)), INT32
    if "float" in node.type or "double" in node.type:
        stem = text.rstrip("fFlL") if not text.lower().startswith("0x") else text.rstrip("lL")
        value = float.fromhex(stem) if text.lower().startswith("0x") else float(stem)
        single = text[-1] in "fF" and not text.lower().startswith("0x")
        return value, ir.FLOAT32 if single else ir.FLOAT64
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    value = int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
    bits = 64 if "l" in suffix or value >= 1 << 32 or (value >= 1 << 31 and "u" not in suffix) else 32
    return value, Type(TypeKind.INT, bits=bits, signed="u" not in suffix)


def span_of(node: Node) -> Span:
    """Where a node stands; pycparser knows starts only, ends come from the nodes inside."""
    coord = node.coord
    if coord is None:
        return Span("", 0, 0, 0)
    return Span(str(coord.file), int(coord.line), int(coord.column or 1), _last_line(node, str(coord.file)))


def _last_line(node: Node, file: str) -> int:
    last = int(node.coord.line)
    stack: list[Node] = [node]
    budget = 4000
    while stack and budget:
        budget -= 1
        current = stack.pop()
        coord = current.coord
        if coord is not None and str(coord.file) == file:
            last = max(last, int(coord.line))
        stack.extend(child for _, child in current.children())
    return last


class Body:
    """One function while it is lowered; `is_host` leaves calls as calls and all variables on the host."""

    def __init__(self, unit: Unit, *, is_host: bool) -> None:
        self.unit = unit
        self.is_host = is_host
        self.is_complete = True
        self.regions = 0
        self.sites = 0
        self._nodes = 0
        self._scopes: list[dict[str, tuple[ir.Variable, Dimensions]]] = [{}]
        self._depth = 0
        self._active: list[str] = []

    # ------------------------------------------------------------------------- bookkeeping

    def region(self) -> int:
        """The next region number."""
        self.regions += 1
        return self.regions - 1

    def _site(self) -> int:
        self.sites += 1
        return self.sites - 1

    def declare(self, name: str, ctype: CType, span: Span, role: ir.VariableRole) -> ir.Variable:
        """A new variable in the innermost scope; parameters of array type become pointers."""
        dimensions = tuple(
            d if d is None or isinstance(d, int) else self.value(d).expr for d in ctype.dimensions
        )
        type_ = ctype.as_ir()
        if role is ir.VariableRole.PARAMETER and dimensions:
            type_ = pointer_to(type_.element or UNKNOWN_TYPE)
            dimensions = dimensions[1:]
        elif type_.kind is TypeKind.POINTER and type_.element is not None:
            dimensions = _constant_dimensions(type_.element)
        space = MemorySpace.HOST if self.is_host else MemorySpace.REGISTER
        if type_.kind is TypeKind.ARRAY and not self.is_host:
            space = MemorySpace.GLOBAL  # a C function has one memory
        variable = ir.Variable(name, type_, space, role, span)
        self._scopes[-1][name] = (variable, dimensions)
        return variable

    def _lookup(self, name: str) -> tuple[ir.Variable, Dimensions] | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return self.unit.globals.get(name)

    def hole(self, node: Node, message: str) -> None:
        """Something that could not be read."""
        self.is_complete = False
        self.unit.report("PW001", ir.Severity.WARNING, span_of(node), message)

    # ------------------------------------------------------------------------- expressions

    def value(self, node: Node) -> Value:
        """The value of an expression."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise CLoweringError("the function is too large after its calls are followed", node)
        span = span_of(node)
        match node:
            case c_ast.Constant(type="string", value=text):
                return Value(ir.Text(text[1:-1], pointer_to(CHAR), span))
            case c_ast.Constant():
                number, type_ = _constant(node)
                return Value(ir.Constant(number, type_, span))
            case c_ast.ID(name=name):
                known = self.unit.types.enumerators.get(name, self.unit.constants.get(name))
                if known is not None and self._lookup(name) is self.unit.globals.get(name):
                    return Value(ir.Constant(known, INT32 if isinstance(known, int) else ir.FLOAT64, span))
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
                    _cast(inner.expr, self.unit.types.of(node.to_type).as_ir(), span), inner.dimensions
                )
            case c_ast.FuncCall():
                return self._call(node, span)
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
                    base.dimensions if element.kind is TypeKind.ARRAY else _constant_dimensions(element)
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
        inner, scale, factor = _stride(element, base.dimensions, span)
        scaled = index if factor is None else ir.Binary(
            BinaryOp.MUL, _cast(index, INT32, span) if not index.type.is_integral else index, factor,
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
        dimensions = _constant_dimensions(field.type)
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
        if op == "-" and isinstance(operand, ir.Constant):
            return Value(ir.Constant(-operand.value, type_, span))
        kind = UnaryOp.NEGATE if op == "-" else UnaryOp.INVERT
        return Value(ir.Unary(kind, _cast(operand, type_, span), type_, span))

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
            return Value(ir.Logical(ir.LogicalOp(node.op), left, right, region, BOOL, span))
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
            return Value(ir.Binary(op, _cast(left.expr, operand_type, span), right.expr, operand_type,
                                   operand_type, span))  # fmt: skip
        operand_type = common(left.expr.type, right.expr.type)
        result = BOOL if op in ir.COMPARISONS else operand_type
        a, b = _cast(left.expr, operand_type, span), _cast(right.expr, operand_type, span)
        return Value(ir.Binary(op, a, b, operand_type, result, span))

    def _shifted(self, base: Value, index: ir.Expr, span: Span, *, subtract: bool) -> Value:
        pointer = base.expr
        element = pointer.type.element or UNKNOWN_TYPE
        _, scale, factor = _stride(element, base.dimensions, span)
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
            expr = _cast(value.expr, found.type, span)
            return Value(ir.Assign(target, None, expr, found.type, found.type, span), value.dimensions)
        op = _BINARY[node.op[:-1]]
        if found.type.kind is TypeKind.POINTER:
            old = Value(ir.Read(target, found.type, span) if isinstance(target, ir.RegisterPlace)
                        else ir.Load(target, found.type, span), found.dimensions)  # fmt: skip
            moved = self._shifted(old, value.expr, span, subtract=op is BinaryOp.SUB)
            return Value(ir.Assign(target, None, moved.expr, found.type, found.type, span), found.dimensions)
        shift = op in (BinaryOp.SHL, BinaryOp.SHR)
        operand_type = promoted(found.type) if shift else common(found.type, value.expr.type)
        expr = value.expr if shift else _cast(value.expr, operand_type, span)
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
            a, b = _cast(a, type_, span), _cast(b, type_, span)
        return Value(ir.Select(condition, a, b, then_region, otherwise_region, type_, span), then.dimensions)

    # ------------------------------------------------------------------------- calls

    def _call(self, node: Node, span: Span) -> Value:
        arguments = [self.value(part).expr for part in (node.args.exprs if node.args is not None else ())]
        if not isinstance(node.name, c_ast.ID):
            self.hole(node, "a call through a pointer cannot be followed")
            return Value(_opaque("<function pointer>", arguments, UNKNOWN_TYPE, span))
        name: str = node.name.name
        definition = self.unit.functions.get(name)
        if definition is not None:
            result = self.unit.types.of(definition.decl.type.type).as_ir()
            if self.is_host:
                return Value(ir.Call(name, name, tuple(arguments), result, span))
            if name in self._active or len(self._active) > MAX_INLINE_DEPTH:
                self.hole(node, f"recursive call of {name}() is not followed")
                return Value(_opaque(name, arguments, result, span))
            return Value(self._inline(definition, arguments, result, span))
        known = library_function(name)
        if known is not None:
            function, is_single = known
            type_ = (ir.FLOAT32 if is_single else ir.FLOAT64) if function.is_float else INT32
            operations = (ir.OperationCount(operation_class(function, is_single), function.operations),)
            cast = tuple(_cast(argument, type_, span) for argument in arguments)
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
        return Value(_opaque(name, arguments, INT32, span))

    def _inline(self, definition: Node, arguments: list[ir.Expr], result: Type, span: Span) -> ir.Expr:
        self._active.append(definition.decl.name)
        outer, self._scopes = self._scopes, [{}]
        parameters = self.parameters(definition)
        converted = tuple(
            _cast(argument, parameter.type, span)
            for parameter, argument in zip(parameters, arguments, strict=False)
        )
        body = self.block(definition.body)
        self._scopes = outer
        self._active.pop()
        return ir.InlinedCall(definition.decl.name, parameters, converted, body, result, span)

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
        initial = _cast(self.value(node.init).expr, variable.type, span)
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
                labels.append(label)
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


def _opaque(name: str, arguments: list[ir.Expr], type_: Type, span: Span) -> ir.Expr:
    return ir.Intrinsic(name, tuple(arguments), (), ir.Semantics.OPAQUE, True, type_, span)


def _constant_dimensions(type_: Type) -> Dimensions:
    found: list[int | ir.Expr | None] = []
    while type_.kind is TypeKind.ARRAY and type_.element is not None:
        found.append(type_.length)
        type_ = type_.element
    return tuple(found)


def _stride(element: Type, dimensions: Dimensions, span: Span) -> tuple[Dimensions, int, ir.Expr | None]:
    """Distance of neighbours: dimensions of the element, bytes, and a run-time factor (VLA) or None."""
    if element.kind is not TypeKind.ARRAY:
        return _constant_dimensions(element), element.size_bytes, None
    scale, factor = 1, None
    for dimension in dimensions:
        if isinstance(dimension, int):
            scale *= dimension
        elif dimension is not None:
            if factor is None:
                factor = dimension
            else:
                type_ = common(factor.type, dimension.type)
                factor = ir.Binary(BinaryOp.MUL, factor, dimension, type_, type_, span)
    inner = element
    while inner.kind is TypeKind.ARRAY and inner.element is not None:
        inner = inner.element
    return dimensions, scale * inner.size_bytes, factor


def _cast(expr: ir.Expr, type_: Type, span: Span) -> ir.Expr:
    source = expr.type
    scalars = (TypeKind.INT, TypeKind.FLOAT, TypeKind.BOOL)
    if source.kind not in scalars or type_.kind not in scalars:
        return expr
    if (source.kind, source.bits, source.signed) == (type_.kind, type_.bits, type_.signed):
        return expr
    if isinstance(expr, ir.Constant):
        value = float(expr.value) if type_.is_float else int(expr.value)
        return ir.Constant(value, type_, expr.span)
    return ir.Cast(expr, type_, span)


def root_of(expr: ir.Expr) -> ir.Variable | None:
    """The variable that an address is derived from, when that is evident."""
    while True:
        match expr:
            case ir.PointerOffset(pointer=pointer):
                expr = pointer
            case ir.Cast(operand=operand):
                expr = operand
            case ir.AddressOf(variable=variable):
                return variable
            case ir.Read(place=place):
                return place.variable
            case ir.Load(place=place):
                return place.root
            case _:
                return None
