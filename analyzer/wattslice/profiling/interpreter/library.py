"""Calls that the frontend does not follow: by name, with the value CUDA gives them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from wattslice import ir
from wattslice.counting.mathematics import SEVERAL, plain_name, real_function, several
from wattslice.ir.builtins import value_of, value_of_arrays
from wattslice.ir.c_arithmetic import converted
from wattslice.patterns import regex
from wattslice.profiling.interpreter import warp
from wattslice.profiling.interpreter.arithmetic import binary, converter, fused, quotient, remainder, truth
from wattslice.profiling.interpreter.compiler import Compiler, compiles, convert, fails
from wattslice.profiling.interpreter.errors import InterpreterError, UnsupportedError
from wattslice.profiling.interpreter.expressions import from_lanes, lanes_of, number
from wattslice.profiling.interpreter.lanes import Mask
from wattslice.profiling.interpreter.layout import Value, dtype_of, is_block, stored_dtype
from wattslice.profiling.interpreter.machine import Evaluate
from wattslice.profiling.interpreter.mathematics import WHOLE

_NOTHING_WORDS = """
    printf vprintf __threadfence __threadfence_block __threadfence_system __nanosleep __prof_trigger
    __pipeline_commit __pipeline_wait_prior __syncwarp assume prefetch wait wait_prior producer_acquire
    producer_commit consumer_wait consumer_release
"""
_NOTHING = frozenset(_NOTHING_WORDS.split())
_BIT_CAST = regex(r"__\w+_as_\w+$|(float_as_int|int_as_float|bit_cast)$")
_NOT_TO_NEAREST = regex(r"\w*_(r[zud]|sat|relu)$")
_HALF_COMPARISON = regex(r"__h(eq|ne|lt|le|gt|ge)$")
_ROUNDING = regex(r"__(?:float|double|half)2u?(?:int|ll|short|char)_(r[nzud])$")
_S = ir.Semantics


@compiles(ir.Intrinsic)
def _(compiler: Compiler, expr: ir.Intrinsic) -> Evaluate:
    name = expr.name.removeprefix("__builtin_").removeprefix("__nv_")
    if expr.is_opaque_call:
        return fails(f"'{expr.name}' is not known: its body could not be followed", expr.span)
    for attempt in (warp.compile_warp_function, _effect, _number_function):
        if (found := attempt(compiler, expr, name)) is not None:
            return found
    raise UnsupportedError(f"'{expr.name}' is not interpreted")


def _effect(compiler: Compiler, expr: ir.Intrinsic, name: str) -> Evaluate | None:
    """Calls for what they do."""
    machine, span = compiler.machine, expr.span
    nothing = number(0, np.dtype(np.int32))
    if name in _NOTHING:
        parts = [compiler.expression(a) for a in expr.arguments if not isinstance(a, ir.Text)]

        def ignored(mask: Mask) -> Value:
            for part in parts:
                part(mask)
            return nothing

        return ignored
    if name == "assert":
        condition = compiler.expression(expr.arguments[0])

        def check(mask: Mask) -> Value:
            failed = mask.where(np.broadcast_to(~truth(condition(mask)), mask.lanes.shape))
            if failed.count:
                who = machine.thread(int(failed.index[0]))
                raise InterpreterError(f"assertion failed in {who}", span, "see the condition asserted")
            return nothing

        return check
    if name in ("__assertfail", "__assert_fail", "__trap", "trap", "exit", "abort", "unreachable", "__brkpt"):

        def stop(mask: Mask) -> Value:
            who = machine.thread(int(mask.index[0]))
            raise InterpreterError(f"'{name}' reached by {who}", span, "see the condition before it")

        return stop
    if name in ("clock", "clock64", "globaltimer"):
        dtype = dtype_of(expr.type)
        return lambda mask: number(machine.steps, dtype)
    if name in ("expect", "assume_aligned") and not is_block(expr.type):
        return compiler.number(expr.arguments[0], dtype_of(expr.type))
    return None


# --------------------------------------------------------------------------- numbers


def _number_function(compiler: Compiler, expr: ir.Intrinsic, name: str) -> Evaluate | None:
    """Calls for what they yield."""
    arguments = expr.arguments
    if expr.type.lanes > 1:
        return _vector_function(compiler, expr, name)
    if name in ("nan", "nanf", "huge_val", "huge_valf", "inf", "inff"):
        value = number(float("nan" if "nan" in name else "inf"), dtype_of(expr.type))
        return lambda mask: value
    if any(is_block(argument.type) for argument in arguments):
        return None
    result = dtype_of(expr.type)
    if not arguments:
        return None
    if _BIT_CAST.match(name):
        operand, stored = compiler.expression(arguments[0]), stored_dtype(expr.type)
        if stored.itemsize != dtype_of(arguments[0].type).itemsize:
            return None
        return lambda mask: np.asarray(operand(mask)).view(stored)[()]
    rounding = _ROUNDING.match(name)
    if rounding is not None and result.kind == "f" and dtype_of(arguments[0].type).kind == "f":
        whole = real_function(rounding[1], result, result)
        operand = compiler.expression(arguments[0])
        return None if whole is None else lambda mask: whole(operand(mask))
    comparison = _HALF_COMPARISON.match(name)
    if comparison is not None:
        first, second = (compiler.expression(a) for a in arguments)
        compare = binary(ir.BinaryOp[comparison[1].upper()], result)
        return None if compare is None else lambda mask: compare(first(mask), second(mask))
    if result.kind == "f" or any(dtype_of(a.type).kind == "f" for a in arguments):
        return _real(compiler, expr, name)
    return _whole(compiler, expr, name)


def _real(compiler: Compiler, expr: ir.Intrinsic, name: str) -> Evaluate | None:
    """Functions of floating-point numbers, computed in the widest type among the arguments and the result."""
    result = dtype_of(expr.type)
    types = [dtype_of(a.type) for a in expr.arguments]
    floats = [t for t in (*types, result) if t.kind == "f"]
    working = max(floats, key=lambda t: t.itemsize)
    if _is_fused(expr, name):
        a, b, c = (compiler.number(argument, working) for argument in expr.arguments)
        return convert(lambda mask: fused(a(mask), b(mask), c(mask)), working, result)
    function = real_function(name, working, result) or _of_row(expr, name)
    if function is None:
        return None
    values = [
        compiler.number(a, working if t.kind == "f" or result.kind == "f" else t)
        for a, t in zip(expr.arguments, types, strict=True)
    ]
    return _as_result(lambda mask: function(*(value(mask) for value in values)), result)


def _is_fused(expr: ir.Intrinsic, name: str) -> bool:
    """Whether it is a multiply-add rounded once, to the nearest."""
    return expr.semantics is _S.FMA and len(expr.arguments) == 3 and not _NOT_TO_NEAREST.match(name)


def _of_row(expr: ir.Intrinsic, name: str) -> Callable[..., Value] | None:
    """The function in the row of the table of builtins, for each lane."""
    of_arrays, function = value_of_arrays(name), value_of(name)
    if of_arrays is not None:
        return lambda *a: np.asarray(of_arrays(*(value.astype(np.int64) for value in a)))[()]
    if function is None:
        return None
    return np.vectorize(lambda *a: converted(function(*a), expr.type), otypes=[dtype_of(expr.type)])


def _as_result(evaluate: Evaluate, result: np.dtype[np.generic]) -> Evaluate:
    def as_result(mask: Mask) -> Value:
        value = evaluate(mask)
        change = converter(value.dtype, result)
        return value if change is None else change(value)

    return as_result


def _multiply_add(a: Value, b: Value, c: Value) -> Value:
    return a * b + c


_ARITHMETIC: dict[ir.Semantics, Callable[..., Value]] = {
    _S.ADD: np.add,
    _S.MUL: np.multiply,
    _S.FMA: _multiply_add,
}


def _whole(compiler: Compiler, expr: ir.Intrinsic, name: str) -> Evaluate | None:
    """Functions of whole numbers: in the type of the result where it is theirs, else as each is given."""
    result = dtype_of(expr.type)
    function = WHOLE.get(name) or _of_row(expr, name)
    if function is None:
        return _rank(compiler, expr)
    common = name in ("min", "max", "abs") or name.endswith(("min", "max"))
    values = [compiler.number(a, result) if common else compiler.expression(a) for a in expr.arguments]
    return _as_result(lambda mask: function(*(value(mask) for value in values)), result)


def _rank(compiler: Compiler, expr: ir.Intrinsic) -> Evaluate | None:
    """Ranks and sizes of groups, which the frontend made out of the builtin variables."""
    result = dtype_of(expr.type)
    values = [compiler.number(a, result) for a in expr.arguments]
    if expr.semantics in (_S.DIV, _S.MOD) and len(values) == 2:
        a, b = values
        divide = quotient if expr.semantics is _S.DIV else remainder
        return lambda mask: divide(a(mask), b(mask))
    function = _ARITHMETIC.get(expr.semantics)
    if function is None:
        return None
    return lambda mask: function(*(value(mask) for value in values))


def _vector_function(compiler: Compiler, expr: ir.Intrinsic, name: str) -> Evaluate | None:
    """Functions of half2, lane by lane."""
    type_ = expr.type
    if type_.kind is not ir.TypeKind.FLOAT or any(a.type.lanes != type_.lanes for a in expr.arguments):
        return None
    lane = stored_dtype(type_.lane)
    function = fused if _is_fused(expr, name) else real_function(name, lane, lane)
    if function is None:
        return None
    values = [compiler.expression(a) for a in expr.arguments]
    types = [a.type for a in expr.arguments]
    return lambda mask: from_lanes(
        function(*(lanes_of(value(mask), t) for value, t in zip(values, types, strict=True)))
    )


def several_results(compiler: Compiler, expr: ir.Intrinsic) -> Callable[[Mask], tuple[Value, ...]]:
    """`sincosf` and the like: the result of the call, then what it stores through its pointers."""
    if plain_name(expr.name) not in SEVERAL or len(expr.arguments) != 1:
        raise UnsupportedError(f"'{expr.name}' is not interpreted")
    value = compiler.expression(expr.arguments[0])
    dtype = dtype_of(expr.arguments[0].type)
    narrow = functools.partial(np.asarray, dtype=dtype)

    def results(mask: Mask) -> tuple[Value, ...]:
        found = several(expr.name, value(mask))
        return tuple(part if part.dtype.kind == "i" else narrow(part)[()] for part in found)

    return results
