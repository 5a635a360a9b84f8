"""Objects: reading and assigning variables and memory, addresses, increments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wattslice import ir
from wattslice.profiling.interpreter.access import Access
from wattslice.profiling.interpreter.arithmetic import converter
from wattslice.profiling.interpreter.compiler import Compiler, compiles, convert
from wattslice.profiling.interpreter.errors import UnsupportedError
from wattslice.profiling.interpreter.expressions import extract, number, operator
from wattslice.profiling.interpreter.lanes import Mask
from wattslice.profiling.interpreter.layout import (
    ADDRESS,
    Value,
    dtype_of,
    is_block,
    path_offset,
    stored_dtype,
)
from wattslice.profiling.interpreter.machine import Evaluate
from wattslice.profiling.interpreter.variables import Register, Results, Rows, constant_bytes

Assigns = Callable[[Value, Mask], None]


# --------------------------------------------------------------------------- registers


def _reader(compiler: Compiler, place: ir.RegisterPlace) -> Evaluate:
    storage = compiler.storage(place.variable)
    type_ = place.type
    if isinstance(storage, Results):
        return lambda mask: storage.values[0]
    if isinstance(storage, Rows):
        offset = path_offset(place.variable.type, place.path)
        if type_.kind is ir.TypeKind.ARRAY:
            raise UnsupportedError("an array as a value")
        return lambda mask: storage.read(offset, type_)
    own, seen = dtype_of(place.variable.type), dtype_of(type_)
    if own == seen:
        return lambda mask: storage.value
    return lambda mask: _as_bits(storage.value, type_)


def _as_bits(value: Value, type_: ir.Type) -> Value:
    """The same bits seen as another type of the same size."""
    seen = np.asarray(value).view(stored_dtype(type_))[()]
    return seen != 0 if type_.kind is ir.TypeKind.BOOL else seen


def _assigner(compiler: Compiler, place: ir.RegisterPlace) -> Assigns:
    storage = compiler.storage(place.variable)
    type_ = place.type
    if isinstance(storage, Results):
        raise UnsupportedError("a function with several results")
    if isinstance(storage, Rows):
        offset = path_offset(place.variable.type, place.path)
        return lambda value, mask: storage.assign(offset, type_, value, mask)
    own = place.variable.type
    if dtype_of(own) == dtype_of(type_):
        return storage.assign
    return lambda value, mask: storage.assign(_as_bits(value, own), mask)


@compiles(ir.Read)
def _(compiler: Compiler, expr: ir.Read) -> Evaluate:
    return _reader(compiler, expr.place)


# --------------------------------------------------------------------------- memory


@compiles(ir.AddressOf)
def _(compiler: Compiler, expr: ir.AddressOf) -> Evaluate:
    variable = expr.variable
    match variable.space:
        case ir.MemorySpace.SHARED:
            shared = compiler.variables.shared_object(variable)
            return lambda mask: shared.address
        case ir.MemorySpace.REGISTER | ir.MemorySpace.LOCAL:
            storage = compiler.storage(variable)
            if not isinstance(storage, Rows):
                raise UnsupportedError(f"the address of '{variable.name}'")
            offset = number(expr.offset_bytes, ADDRESS)
            if expr.offset_bytes:
                return lambda mask: storage.address + offset
            return lambda mask: storage.address
        case ir.MemorySpace.GLOBAL | ir.MemorySpace.CONSTANT:
            address = compiler.variables.global_address(variable)
            return lambda mask: address
        case _:
            raise UnsupportedError(f"the address of '{variable.name}' ({variable.space.value})")


@compiles(ir.PointerOffset)
def _(compiler: Compiler, expr: ir.PointerOffset) -> Evaluate:
    pointer = compiler.expression(expr.pointer)
    if is_block(expr.pointer.type) and expr.pointer.type.kind is not ir.TypeKind.ARRAY:
        raise UnsupportedError("arithmetic on what is no pointer")
    offset = number(expr.offset_bytes, ADDRESS)
    if expr.index is None:
        return (lambda mask: pointer(mask) + offset) if expr.offset_bytes else pointer
    index = compiler.number(expr.index, ADDRESS)
    scale = number(-expr.scale_bytes if expr.subtract else expr.scale_bytes, ADDRESS)
    if expr.offset_bytes:
        return lambda mask: pointer(mask) + index(mask) * scale + offset
    if abs(expr.scale_bytes) == 1 and not expr.subtract:
        return lambda mask: pointer(mask) + index(mask)
    return lambda mask: pointer(mask) + index(mask) * scale


def access_of(compiler: Compiler, place: ir.MemoryPlace, span: ir.Span) -> tuple[Evaluate, Access]:
    """The address of a place, and how its objects are accessed."""
    name = "" if place.root is None else place.root.name
    address = compiler.number(place.address, ADDRESS)
    return address, Access(compiler.machine, place.type, span, name)


@compiles(ir.Load)
def _(compiler: Compiler, expr: ir.Load) -> Evaluate:
    address, access = access_of(compiler, expr.place, expr.span)
    return lambda mask: access.load(address(mask), mask)


# --------------------------------------------------------------------------- assignment


@compiles(ir.Assign)
def _(compiler: Compiler, expr: ir.Assign) -> Evaluate:
    target = expr.target
    if expr.op is not None:
        return _update(compiler, expr, expr.op)
    if isinstance(target, ir.RegisterPlace):
        storage = compiler.storage(target.variable)
        if isinstance(storage, Results):
            return _assign_results(compiler, expr, storage)
    value = _converted(compiler, expr.value, target.type)
    if isinstance(target, ir.RegisterPlace):
        assign = _assigner(compiler, target)

        def to_register(mask: Mask) -> Value:
            result = value(mask)
            assign(result, mask)
            return result

        return to_register
    address, access = access_of(compiler, target, expr.span)

    def to_memory(mask: Mask) -> Value:
        result = value(mask)
        access.store(address(mask), result, mask)
        return result

    return to_memory


def _assign_results(compiler: Compiler, expr: ir.Assign, storage: Results) -> Evaluate:
    from wattslice.profiling.interpreter.library import several_results

    if not isinstance(expr.value, ir.Intrinsic):
        raise UnsupportedError("a function with several results")
    call = several_results(compiler, expr.value)

    def keep(mask: Mask) -> Value:
        storage.values = call(mask)
        return storage.values[0]

    return keep


def _converted(compiler: Compiler, value: ir.Expr, type_: ir.Type) -> Evaluate:
    """A value as an object of `type_` holds it."""
    evaluate = compiler.expression(value)
    if is_block(type_):
        if value.type.size_bytes != type_.size_bytes and not isinstance(value, ir.Constant):
            raise UnsupportedError(f"'{type_.name}' out of '{value.type.name}'")
        if is_block(value.type) or isinstance(value, ir.Constant):
            return evaluate
        stored = stored_dtype(value.type)  # the bytes of a number
        return lambda mask: (
            np.atleast_1d(evaluate(mask)).astype(stored).view(np.uint8).reshape(-1, stored.itemsize)
        )
    if is_block(value.type) and value.type.kind is not ir.TypeKind.ARRAY:
        if value.type.size_bytes == type_.size_bytes:  # the same bits seen as a number
            dtype = stored_dtype(type_)
            return lambda mask: _number_in(np.ascontiguousarray(evaluate(mask)).view(dtype))
        raise UnsupportedError(f"a number out of '{value.type.name}'")
    return convert(evaluate, dtype_of(value.type), dtype_of(type_))


def _number_in(value: Value) -> Value:
    return value[0, 0] if len(value) == 1 else value[:, 0]


def _update(compiler: Compiler, expr: ir.Assign, op: ir.BinaryOp) -> Evaluate:
    """`target op= value`."""
    type_, value = expr.target.type, expr.value
    right = compiler.expression(value)
    right_type = value.type
    operand_type = expr.operand_type
    if type_.kind is ir.TypeKind.POINTER:
        size = np.int64(max(1, type_.element.size_bytes if type_.element else 1))
        steps = convert(right, dtype_of(value.type), ADDRESS)

        def in_bytes(mask: Mask) -> Value:
            return steps(mask) * size

        right, right_type, operand_type = in_bytes, ir.INT64, ir.INT64
    operation = operator(compiler.machine, op, operand_type, type_, right_type, type_, expr.span)
    return _read_change_write(compiler, expr.target, expr.span, right, operation)[1]


def _read_change_write(
    compiler: Compiler,
    target: ir.Place,
    span: ir.Span,
    right: Evaluate,
    change: Callable[[Value, Value, Mask], Value],
) -> tuple[Evaluate, Evaluate]:
    """Updates a place; two closures for the same: one yields the old value, the other the new one."""
    if isinstance(target, ir.RegisterPlace):
        read, assign = _reader(compiler, target), _assigner(compiler, target)

        def run(mask: Mask) -> tuple[Value, Value]:
            operand = right(mask)
            old = read(mask)
            new = change(old, operand, mask)
            assign(new, mask)
            return old, new
    else:
        address, access = access_of(compiler, target, span)

        def run(mask: Mask) -> tuple[Value, Value]:
            operand = right(mask)
            where = address(mask)
            old = access.load(where, mask)
            new = change(old, operand, mask)
            access.store(where, new, mask)
            return old, new

    return (lambda mask: run(mask)[0]), (lambda mask: run(mask)[1])


@compiles(ir.Extract)
def _(compiler: Compiler, expr: ir.Extract) -> Evaluate:
    value = expr.value
    if expr.field.startswith("result ") and isinstance(value, ir.Read):
        storage = compiler.storage(value.place.variable)
        if isinstance(storage, Results):
            at, dtype = 1 + int(expr.field.removeprefix("result ")), dtype_of(expr.type)

            def result(mask: Mask) -> Value:
                found = storage.values[at]
                change = converter(found.dtype, dtype)
                return found if change is None else change(found)

            return result
    return extract(compiler, expr)


@compiles(ir.Increment)
def _(compiler: Compiler, expr: ir.Increment) -> Evaluate:
    type_ = expr.target.type
    is_pointer = type_.kind is ir.TypeKind.POINTER
    delta = expr.delta * (expr.step_bytes if is_pointer else 1)
    dtype = dtype_of(type_)
    amount = number(delta, np.dtype(np.int32) if dtype == np.bool_ else dtype)
    to_type = converter(amount.dtype, dtype)

    def change(old: Value, right: Value, mask: Mask) -> Value:
        new = old + right
        return new if to_type is None else to_type(new)

    old, new = _read_change_write(compiler, expr.target, expr.span, lambda mask: amount, change)
    return new if expr.is_prefix else old


def declare(compiler: Compiler, variable: ir.Variable, value: ir.Expr | None) -> Callable[[Mask], None]:
    """A declaration: no lane but those of the mask knows the variable."""
    storage = compiler.storage(variable)
    if isinstance(storage, Results):
        raise UnsupportedError("a function with several results")
    if value is None:
        if isinstance(storage, Register):

            def fresh(mask: Mask) -> None:
                storage.value = storage.initial
                storage.scope = mask.count

            return fresh
        if variable.type.kind is ir.TypeKind.ARRAY or not is_block(variable.type):
            return lambda mask: None
        zero = np.zeros((1, variable.type.size_bytes), np.uint8)
        return lambda mask: storage.assign(0, variable.type, zero, mask)
    if isinstance(value, ir.Text) and variable.type.kind is ir.TypeKind.ARRAY:
        characters = constant_bytes(value, variable.type)[None]
        return bind(compiler, variable, lambda mask: characters, variable.type)
    return bind(compiler, variable, compiler.expression(value), value.type)


def bind(
    compiler: Compiler, variable: ir.Variable, evaluate: Evaluate, given: ir.Type
) -> Callable[[Mask], None]:
    """Gives a fresh variable the value of `evaluate`, an expression of type `given`."""
    storage = compiler.storage(variable)
    type_ = variable.type
    if isinstance(storage, Register):
        if is_block(given) and given.kind is not ir.TypeKind.ARRAY:
            raise UnsupportedError(f"a number out of '{given.name}'")
        value = convert(evaluate, dtype_of(given), dtype_of(type_))

        def to_register(mask: Mask) -> None:
            storage.value = value(mask)
            storage.scope = mask.count

        return to_register
    if isinstance(storage, Results):
        raise UnsupportedError("a function with several results")
    if is_block(type_):
        if not is_block(given) or given.size_bytes != type_.size_bytes:
            raise UnsupportedError(f"'{type_.name or type_.kind.value}' out of '{given.name}'")
    else:
        evaluate = convert(evaluate, dtype_of(given), dtype_of(type_))
    return lambda mask: storage.assign(0, type_, evaluate(mask), mask)
