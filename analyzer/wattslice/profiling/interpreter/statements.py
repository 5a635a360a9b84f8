"""Statements in lock step: the arms of a branch one after the other, a loop until no lane is left in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wattslice import ir
from wattslice.profiling.interpreter.arithmetic import truth
from wattslice.profiling.interpreter.atomics import atomic_without_result
from wattslice.profiling.interpreter.compiler import Compiler, Frames, compiles, convert, merged
from wattslice.profiling.interpreter.errors import InterpreterError, UnsupportedError
from wattslice.profiling.interpreter.lanes import Mask
from wattslice.profiling.interpreter.layout import Value, dtype_of, is_block
from wattslice.profiling.interpreter.machine import Evaluate, Run
from wattslice.profiling.interpreter.places import bind, declare


@compiles(ir.ExprStmt, ir.Declare)
def _(compiler: Compiler, stmt: ir.ExprStmt | ir.Declare) -> Run:
    machine, region, span = compiler.machine, stmt.region, stmt.span
    if isinstance(stmt, ir.Declare):
        perform = declare(compiler, stmt.variable, stmt.value)
    elif isinstance(stmt.expr, ir.Atomic):
        perform = atomic_without_result(compiler, stmt.expr)
    else:
        perform = compiler.expression(stmt.expr)

    def run(mask: Mask) -> Mask:
        machine.step(span)
        machine.count(region, mask)
        perform(mask)
        return mask

    return run


@compiles(ir.Block)
def _(compiler: Compiler, stmt: ir.Block) -> Run:
    machine, region = compiler.machine, stmt.region
    frames = Frames()
    if stmt.is_breakable:
        compiler.breaks.append(frames)
    parts = [compiler.statement(inner) for inner in stmt.statements]
    if stmt.is_breakable:
        compiler.breaks.pop()

    def run(mask: Mask) -> Mask:
        machine.count(region, mask)
        for part in parts:
            mask = part(mask)
            if not mask.count:
                break
        return mask

    def run_and_meet(mask: Mask) -> Mask:
        frames.broken = []
        result = run(mask)
        for left in frames.broken:
            result = result.plus(left)
        return mask if result.count == mask.count else result

    return run_and_meet if stmt.is_breakable else run


@compiles(ir.If)
def _(compiler: Compiler, stmt: ir.If) -> Run:
    machine, region, span = compiler.machine, stmt.region, stmt.span
    condition = compiler.expression(stmt.condition)
    then = compiler.statement(stmt.then)
    otherwise = None if stmt.otherwise is None else compiler.statement(stmt.otherwise)

    def run(mask: Mask) -> Mask:
        machine.step(span)
        machine.count(region, mask)
        chosen = truth(condition(mask))
        if chosen.ndim == 0:
            if chosen:
                return then(mask)
            return mask if otherwise is None else otherwise(mask)
        yes = mask.where(chosen)
        if yes is mask:
            return then(mask)
        if not yes.count:
            return mask if otherwise is None else otherwise(mask)
        no = mask.without(yes)
        after_then = then(yes)
        after_else = no if otherwise is None else otherwise(no)
        if after_then is yes and after_else is no:
            return mask
        return after_then.plus(after_else)

    return run


# --------------------------------------------------------------------------- loops


@compiles(ir.Loop)
def _(compiler: Compiler, stmt: ir.Loop) -> Run:
    machine, span = compiler.machine, stmt.span
    frames = Frames()
    init = [compiler.statement(inner) for inner in stmt.init]
    condition = None if stmt.condition is None else compiler.expression(stmt.condition)
    compiler.breaks.append(frames)
    compiler.continues.append(frames)
    body = compiler.statement(stmt.body)
    compiler.breaks.pop()
    compiler.continues.pop()
    step = None if stmt.step is None else compiler.expression(stmt.step)
    region, test_region, step_region = stmt.region, stmt.test_region, stmt.step_region
    tests_first = stmt.kind is not ir.LoopKind.DO

    def run(mask: Mask) -> Mask:
        machine.step(span)
        machine.count(region, mask)
        for inner in init:
            inner(mask)
        out: list[Mask] = []
        running = mask
        first = not tests_first
        while running.count:
            if first:
                first = False
            else:
                machine.step(span)
                machine.count(test_region, running)
                if condition is not None:
                    goes_on = truth(condition(running))
                    if goes_on.ndim == 0:
                        if not goes_on:
                            out.append(running)
                            break
                    else:
                        staying = running.where(goes_on)
                        if staying is not running:
                            out.append(running.without(staying))
                            running = staying
                            if not running.count:
                                break
            frames.broken, frames.continued = [], []
            running = body(running)
            for other in frames.continued:
                running = running.plus(other)
            out.extend(frames.broken)
            if step is not None and running.count:
                machine.count(step_region, running)
                step(running)
        if sum(left.count for left in out) == mask.count:
            return mask
        result = machine.batch.none
        for left in out:
            result = result.plus(left)
        return result

    return run


@compiles(ir.Break, ir.Continue)
def _(compiler: Compiler, stmt: ir.Break | ir.Continue) -> Run:
    machine, region, is_break = compiler.machine, stmt.region, isinstance(stmt, ir.Break)
    around = compiler.breaks if is_break else compiler.continues
    if not around:
        raise UnsupportedError(f"{'break' if is_break else 'continue'} outside of a loop")
    frames = around[-stmt.levels if isinstance(stmt, ir.Break) else -1]

    def run(mask: Mask) -> Mask:
        machine.count(region, mask)
        (frames.broken if is_break else frames.continued).append(mask)
        return machine.batch.none

    return run


# --------------------------------------------------------------------------- switch


@compiles(ir.Switch)
def _(compiler: Compiler, stmt: ir.Switch) -> Run:
    machine, region, span = compiler.machine, stmt.region, stmt.span
    dtype = dtype_of(stmt.selector.type)
    selector = compiler.number(stmt.selector, np.dtype(np.int32) if dtype == np.bool_ else dtype)
    frames = Frames()
    compiler.breaks.append(frames)
    bodies = [compiler.statement(case.body) for case in stmt.cases]
    compiler.breaks.pop()
    labels = [[label for label in case.labels if label is not None] for case in stmt.cases]
    defaults = [None in case.labels for case in stmt.cases]
    every = [label for group in labels for label in group]

    def entries(value: Value) -> list[Any]:
        other = np.logical_not(np.isin(value, every))
        return [
            np.isin(value, group) | other if default else np.isin(value, group)
            for group, default in zip(labels, defaults, strict=True)
        ]

    def run(mask: Mask) -> Mask:
        machine.step(span)
        machine.count(region, mask)
        chosen = entries(np.atleast_1d(selector(mask)))
        outer, frames.broken = frames.broken, []
        none = machine.batch.none
        falling, rest = none, mask
        for body, entry in zip(bodies, chosen, strict=True):
            lanes = np.broadcast_to(entry, mask.lanes.shape)
            entering = mask.where(lanes)
            rest = rest.without(entering)
            falling = falling.plus(entering)
            if falling.count:
                falling = body(falling)
        result = falling.plus(rest)
        for left in frames.broken:
            result = result.plus(left)
        frames.broken = outer
        return mask if result.count == mask.count else result

    return run


# --------------------------------------------------------------------------- calls


@compiles(ir.Return)
def _(compiler: Compiler, stmt: ir.Return) -> Run:
    machine, region, span = compiler.machine, stmt.region, stmt.span
    frames, in_kernel = compiler.calls[-1], len(compiler.calls) == 1
    value = None if stmt.value is None else compiler.expression(stmt.value)
    type_ = compiler.result_types[-1]
    is_number = type_.kind is not ir.TypeKind.VOID and not is_block(type_)
    if value is not None and stmt.value is not None and is_number and not is_block(stmt.value.type):
        value = convert(value, dtype_of(stmt.value.type), dtype_of(type_))

    def run(mask: Mask) -> Mask:
        machine.step(span)
        machine.count(region, mask)
        result = None if value is None else value(mask)
        if in_kernel:
            machine.exited = machine.exited.plus(mask)
        else:
            frames.returned.append((mask, result))
        return machine.batch.none

    return run


@compiles(ir.InlinedCall)
def _(compiler: Compiler, expr: ir.InlinedCall) -> Evaluate:
    machine, span, type_ = compiler.machine, expr.span, expr.type
    bindings = [
        bind(compiler, parameter, compiler.expression(argument), argument.type)
        for parameter, argument in zip(expr.parameters, expr.arguments, strict=True)
    ]
    frames = Frames()
    compiler.calls.append(frames)
    compiler.result_types.append(type_)
    outer_breaks, outer_continues = compiler.breaks, compiler.continues
    compiler.breaks, compiler.continues = [], []
    body = compiler.statement(expr.body)
    compiler.breaks, compiler.continues = outer_breaks, outer_continues
    compiler.calls.pop()
    compiler.result_types.pop()
    gives_value = type_.kind is not ir.TypeKind.VOID

    def evaluate(mask: Mask) -> Value:
        machine.step(span)
        for bound in bindings:
            bound(mask)
        frames.returned = []
        body(mask)
        result: Value | None = None
        for lanes, value in frames.returned:
            if value is not None:
                result = value if result is None else merged(lanes, value, result, type_)
        if result is None:
            if gives_value and frames.returned:
                raise InterpreterError(
                    f"'{expr.name}' returns nothing here", span, "return a value on every path"
                )
            return _NOTHING
        return result

    return evaluate


_NOTHING: Value = np.zeros((), np.int32)[()]
