"""Expressions: leaves, operators, conversions, conditional evaluation, parts of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from wattslice import ir
from wattslice.ir.c_arithmetic import wrapped
from wattslice.profiling.interpreter.arithmetic import binary, converter, quotient, remainder, truth
from wattslice.profiling.interpreter.compiler import Compiler, compiles, convert
from wattslice.profiling.interpreter.errors import InterpreterError, UnsupportedError
from wattslice.profiling.interpreter.lanes import WARP_SIZE, Mask
from wattslice.profiling.interpreter.layout import (
    ADDRESS,
    Dtype,
    Value,
    dtype_of,
    is_block,
    leaf,
    member_of,
    size_of,
    stored_dtype,
    zero_rows,
)
from wattslice.profiling.interpreter.machine import UNINITIALISED, Evaluate, Machine

# --------------------------------------------------------------------------- leaves


def number(value: int | float, dtype: Dtype) -> Value:
    """A numpy scalar of `dtype`; integers wrap."""
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        value = wrapped(int(value), ir.Type(ir.TypeKind.INT, bits=bits, signed=dtype.kind == "i"))
    return cast(Value, dtype.type(value))


@compiles(ir.Constant)
def _(compiler: Compiler, expr: ir.Constant) -> Evaluate:
    if is_block(expr.type):
        zero = zero_rows(1, size_of(expr.type))
        return lambda mask: zero
    value = number(expr.value, dtype_of(expr.type))
    return lambda mask: value


@compiles(ir.Text)
def _(compiler: Compiler, expr: ir.Text) -> Evaluate:
    """The address of the literal's characters; the name of a function stands for no address here."""
    if expr.type.kind is not ir.TypeKind.ARRAY:
        nowhere = number(UNINITIALISED, ADDRESS)
        return lambda mask: nowhere
    literal = compiler.variables.literal(expr)
    return lambda mask: literal


@compiles(ir.Builtin)
def _(compiler: Compiler, expr: ir.Builtin) -> Evaluate:
    machine, axis = compiler.machine, expr.axis
    match expr.kind:
        case ir.BuiltinKind.THREAD_IDX:
            return lambda mask: machine.batch.thread_idx[axis]
        case ir.BuiltinKind.BLOCK_IDX:
            return lambda mask: machine.batch.block_idx[axis]
        case ir.BuiltinKind.BLOCK_DIM:
            value = number(machine.launch.block[axis], np.dtype(np.uint32))
        case ir.BuiltinKind.GRID_DIM:
            value = number(machine.launch.grid[axis], np.dtype(np.uint32))
        case ir.BuiltinKind.WARP_SIZE:
            value = number(WARP_SIZE, np.dtype(np.int32))
    return lambda mask: value


# --------------------------------------------------------------------------- operators


@compiles(ir.Unary)
def _(compiler: Compiler, expr: ir.Unary) -> Evaluate:
    if expr.op is ir.UnaryOp.NOT:
        condition = compiler.expression(expr.operand)
        return lambda mask: np.logical_not(truth(condition(mask)))
    function = np.negative if expr.op is ir.UnaryOp.NEGATE else np.invert
    if expr.type.lanes > 1:
        operand, type_ = compiler.expression(expr.operand), expr.type
        return lambda mask: from_lanes(function(lanes_of(operand(mask), type_)))
    operand = compiler.number(expr.operand, dtype_of(expr.type))
    return lambda mask: function(operand(mask))


@compiles(ir.Binary)
def _(compiler: Compiler, expr: ir.Binary) -> Evaluate:
    if expr.op is ir.BinaryOp.COMMA:
        first, second = compiler.expression(expr.left), compiler.expression(expr.right)

        def comma(mask: Mask) -> Value:
            first(mask)
            return second(mask)

        return comma
    left, right = expr.left, expr.right
    operation = operator(
        compiler.machine, expr.op, expr.operand_type, left.type, right.type, expr.type, expr.span
    )
    a, b = compiler.expression(left), compiler.expression(right)
    return lambda mask: operation(a(mask), b(mask), mask)


Operation = Callable[[Value, Value, Mask], Value]
"""A binary operator on two values; the mask tells where division may fail."""


def operator(
    machine: Machine,
    op: ir.BinaryOp,
    operand_type: ir.Type,
    left: ir.Type,
    right: ir.Type,
    result: ir.Type,
    span: ir.Span,
) -> Operation:
    """`left op right`, carried out in `operand_type`, as a `result`."""
    if operand_type.lanes > 1:
        return _on_lanes(op, operand_type, left, right)
    pointers = (ir.TypeKind.POINTER, ir.TypeKind.ARRAY)
    if op is ir.BinaryOp.SUB and left.kind in pointers and right.kind in pointers:
        return lambda a, b, mask: a - b  # of bytes: what elements are is divided by in the tree
    if ir.TypeKind.UNKNOWN in (operand_type.kind, left.kind, right.kind):
        raise UnsupportedError("the type of an operand is not known here")
    dtype, of_right, yields = dtype_of(operand_type), dtype_of(right), np.dtype(np.bool_)
    if op not in ir.COMPARISONS:
        yields = dtype = np.dtype(np.int32) if dtype == np.bool_ else dtype
    if op in (ir.BinaryOp.SHL, ir.BinaryOp.SHR):  # a count has any integer type
        right_to = converter(of_right, np.dtype(np.int32)) if of_right == np.bool_ else None
    else:
        right_to = converter(of_right, dtype)
    left_to, result_to = converter(dtype_of(left), dtype), converter(yields, dtype_of(result))
    function = binary(op, dtype)
    if function is None and dtype.kind == "f":
        raise UnsupportedError(f"operator {op.value} on floating-point numbers")
    divide = quotient if op is ir.BinaryOp.DIV else remainder

    def operation(a: Value, b: Value, mask: Mask) -> Value:
        a = a if left_to is None else left_to(a)
        b = b if right_to is None else right_to(b)
        if function is not None:
            value = function(a, b)
        else:
            _check_divisor(machine, b, mask, span)
            value = divide(a, b)
        return value if result_to is None else result_to(value)

    return operation


def _check_divisor(machine: Machine, divisor: Value, mask: Mask, span: ir.Span) -> None:
    """Raises where an active lane divides by zero; what the others get is looked at by nobody."""
    zero = divisor == 0
    if zero.any() and (wrong := np.broadcast_to(zero, mask.lanes.shape) & mask.lanes).any():
        who = machine.thread(int(np.argmax(wrong)))
        raise InterpreterError(f"integer division by zero in {who}", span, "check the divisor first")


def _on_lanes(op: ir.BinaryOp, type_: ir.Type, left: ir.Type, right: ir.Type) -> Operation:
    """An operator on vectors (half2), lane by lane."""
    function = binary(op, dtype_of(type_.lane))
    if function is None or op in ir.COMPARISONS or {left.lanes, right.lanes} != {type_.lanes}:
        raise UnsupportedError(f"operator {op.value} on vectors")
    return lambda a, b, mask: from_lanes(function(lanes_of(a, type_), lanes_of(b, type_)))


def lanes_of(value: Value, type_: ir.Type) -> Value:
    """The lanes of vectors: shape (n, lanes)."""
    return value.view(stored_dtype(type_.lane))


def from_lanes(value: Value) -> Value:
    """Vectors out of their lanes."""
    return np.ascontiguousarray(value).view(np.uint8)


@compiles(ir.Cast)
def _(compiler: Compiler, expr: ir.Cast) -> Evaluate:
    operand = compiler.expression(expr.operand)
    old, new = expr.operand.type, expr.type
    if new.kind is ir.TypeKind.VOID:
        return operand
    if is_block(new) and new.lanes > 1 and old.lanes == new.lanes:
        target = stored_dtype(new.lane)
        change = converter(stored_dtype(old.lane), target)
        return lambda mask: from_lanes((change or np.copy)(lanes_of(operand(mask), old)))
    if is_block(new) or (is_block(old) and old.kind is not ir.TypeKind.ARRAY):
        raise UnsupportedError(
            f"conversion from '{old.name or old.kind.value}' to '{new.name or new.kind.value}'"
        )
    return convert(operand, dtype_of(old), dtype_of(new))


# --------------------------------------------------------------------------- conditional evaluation


@compiles(ir.Logical)
def _(compiler: Compiler, expr: ir.Logical) -> Evaluate:
    left, right = compiler.expression(expr.left), compiler.expression(expr.right)
    is_and, region, machine = expr.op is ir.LogicalOp.AND, expr.right_region, compiler.machine

    def evaluate(mask: Mask) -> Value:
        known = truth(left(mask))
        if known.ndim == 0:
            if bool(known) is not is_and:
                return known
            machine.count(region, mask)
            return truth(right(mask))
        inner = mask.where(known if is_and else ~known)
        if not inner.count:
            return known
        machine.count(region, inner)
        rest = truth(right(inner))
        return known & rest if is_and else known | rest

    return evaluate


@compiles(ir.Select)
def _(compiler: Compiler, expr: ir.Select) -> Evaluate:
    condition = compiler.expression(expr.condition)
    machine, block = compiler.machine, is_block(expr.type)
    if expr.type.kind is ir.TypeKind.VOID or block:
        then, otherwise = compiler.expression(expr.then), compiler.expression(expr.otherwise)
    else:
        dtype = dtype_of(expr.type)
        then, otherwise = compiler.number(expr.then, dtype), compiler.number(expr.otherwise, dtype)
    then_region, otherwise_region = expr.then_region, expr.otherwise_region

    def evaluate(mask: Mask) -> Value:
        chosen = truth(condition(mask))
        if chosen.ndim == 0:
            machine.count(then_region if chosen else otherwise_region, mask)
            return then(mask) if chosen else otherwise(mask)
        yes = mask.where(chosen)
        if yes is mask:
            machine.count(then_region, mask)
            return then(mask)
        if not yes.count:
            machine.count(otherwise_region, mask)
            return otherwise(mask)
        no = mask.without(yes)
        machine.count(then_region, yes)
        first = then(yes)
        machine.count(otherwise_region, no)
        second = otherwise(no)
        return np.where(yes.lanes[:, None] if block else yes.lanes, first, second)

    return evaluate


# --------------------------------------------------------------------------- parts


@compiles(ir.Construct)
def _(compiler: Compiler, expr: ir.Construct) -> Evaluate:
    type_, arguments = expr.type, expr.arguments
    if not is_block(type_):
        return _number_of_parts(compiler, expr)
    if len(arguments) == 1 and not expr.field_names and type_.lanes > 1:
        return _broadcast(compiler, arguments[0], type_)
    if not arguments:
        size = type_.size_bytes
        return lambda mask: zero_rows(1, size)
    parts: list[tuple[int, ir.Type, Evaluate]] = []
    for at, argument in enumerate(arguments):
        if type_.kind is ir.TypeKind.ARRAY:
            element = type_.element or type_
            offset, kind = at * size_of(element), element
        elif at < len(expr.field_names):
            field = member_of(type_, expr.field_names[at])
            offset, kind = field.offset_bytes, field.type
        elif argument.type == type_:
            offset, kind = 0, type_
        else:
            raise UnsupportedError(f"'{type_.name}' out of parts without names")
        value = compiler.expression(argument)
        if isinstance(argument, ir.Text):
            raise UnsupportedError("text as a value")
        if not is_block(kind):
            value = convert(value, dtype_of(argument.type), dtype_of(kind))
        parts.append((offset, kind, value))
    size = size_of(type_)

    def evaluate(mask: Mask) -> Value:
        values = [value(mask) for _, _, value in parts]
        uniform = all(
            len(v) == 1 if is_block(kind) else v.ndim == 0
            for v, (_, kind, _) in zip(values, parts, strict=True)
        )
        rows = zero_rows(1 if uniform else mask.batch.size, size)
        for value, (offset, kind, _) in zip(values, parts, strict=True):
            if is_block(kind):
                rows[:, offset : offset + kind.size_bytes] = value
            else:
                np.ndarray((len(rows),), stored_dtype(kind), rows, offset, (size,))[...] = value
        return rows

    return evaluate


def _number_of_parts(compiler: Compiler, expr: ir.Construct) -> Evaluate:
    """A number by braces, or a double out of its two words."""
    if expr.type.kind is ir.TypeKind.VOID:
        nothing = number(0, np.dtype(np.int32))
        return lambda mask: nothing
    dtype = dtype_of(expr.type)
    if not expr.arguments:
        zero = number(0, dtype)
        return lambda mask: zero
    if len(expr.arguments) == 1:
        return compiler.number(expr.arguments[0], dtype)
    if len(expr.arguments) == 2 and dtype == np.float64:
        high, low = (compiler.number(part, np.dtype(np.int64)) for part in expr.arguments)
        return lambda mask: np.asarray(
            (high(mask) << np.int64(32)) | (low(mask) & np.int64(0xFFFFFFFF))
        ).view(np.float64)[()]
    raise UnsupportedError("a number out of several parts")


def _broadcast(compiler: Compiler, argument: ir.Expr, type_: ir.Type) -> Evaluate:
    """A vector with the same number in all lanes, or another vector converted."""
    value = compiler.expression(argument)
    target = stored_dtype(type_.lane)
    lanes = type_.lanes
    if argument.type.lanes > 1:
        if argument.type.lanes != lanes:
            raise UnsupportedError("conversion between vectors of different widths")
        old = argument.type
        change = converter(stored_dtype(old.lane), target)
        return lambda mask: from_lanes((change or np.copy)(lanes_of(value(mask), old)))
    change = converter(dtype_of(argument.type), dtype_of(type_.lane))

    def evaluate(mask: Mask) -> Value:
        part = value(mask)
        part = np.atleast_1d(part if change is None else change(part)).astype(target)
        return from_lanes(np.repeat(part[:, None], lanes, axis=1))

    return evaluate


def extract(compiler: Compiler, expr: ir.Extract) -> Evaluate:
    """A member of a value, or a word of a double."""
    value = compiler.expression(expr.value)
    source = expr.value.type
    if expr.field in ("hi", "lo") and source.kind is ir.TypeKind.FLOAT and source.lanes == 1:
        shift = np.int64(32 if expr.field == "hi" else 0)

        def word(mask: Mask) -> Value:
            bits = np.asarray(value(mask)).view(np.int64)
            return (bits >> shift).astype(np.int32)[()]

        return word
    field = member_of(source, expr.field)
    offset, size = field.offset_bytes, field.type.size_bytes
    if is_block(field.type):
        return lambda mask: np.ascontiguousarray(value(mask)[:, offset : offset + size])
    return convert(
        lambda mask: leaf(np.ascontiguousarray(value(mask)), offset, stored_dtype(field.type)),
        stored_dtype(field.type),
        dtype_of(expr.type) if not is_block(expr.type) else stored_dtype(field.type),
    )
