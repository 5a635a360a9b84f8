"""One launch from its arguments to its counts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.ir.walking import deep_recursion, evaluations
from wattslice.profiling.interpreter import atomics, expressions, library, places, statements, textures
from wattslice.profiling.interpreter.compiler import Compiler
from wattslice.profiling.interpreter.errors import PROBES, InterpreterError, UnsupportedError
from wattslice.profiling.interpreter.expressions import number
from wattslice.profiling.interpreter.lanes import Batch
from wattslice.profiling.interpreter.launch import Allowance, Execution, Launch
from wattslice.profiling.interpreter.layout import dtype_of, is_block
from wattslice.profiling.interpreter.machine import DeviceMemory, Machine, Run
from wattslice.profiling.interpreter.variables import Register, Rows, Variables

# These modules register what they compile when they are imported.
_REGISTERED = (atomics, expressions, library, places, statements, textures)
LANES = 8192
"""Threads interpreted together, in whole blocks: enough to outweigh what each numpy call costs."""
_MOST_THREADS = 1024
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_SHARED_BYTES = 232_448


def interpret(launch: Launch, memory: DeviceMemory, allowance: Allowance | None = None) -> Execution:
    """Runs every block of the launch on `memory`.

    Raises `InterpreterError` (file, line, remedy) for a kernel that does something wrong (access out of
    bounds, division by zero, deadlocked barrier, failed assertion), exceeds the budget, or uses what has no
    value here. Memory then holds what was stored until then.
    """
    allowance = allowance or Allowance()
    kernel = launch.kernel
    _check(launch, memory, allowance)
    machine = Machine(launch, memory, allowance.max_steps)
    try:
        with deep_recursion(), np.errstate(all="ignore"):
            _run(machine, launch, memory, allowance)
    except InterpreterError:
        raise
    except (MemoryError, RecursionError) as error:
        raise InterpreterError(
            f"kernel '{kernel.name}' takes more than this machine has: {type(error).__name__}",
            kernel.span, "make the launch smaller",
        ) from error  # fmt: skip
    except Exception as error:  # as the frontend does it: nobody sees a traceback
        raise InterpreterError(
            f"internal error in kernel '{kernel.name}': {type(error).__name__}: {error}", kernel.span, PROBES
        ) from error
    work = operations_by_region(kernel)
    return Execution(
        tuple(machine.thread_counts),
        tuple(machine.warp_counts),
        sum(count * operations for count, operations in zip(machine.thread_counts, work, strict=True)),
        machine.steps,
    )


def _run(machine: Machine, launch: Launch, memory: DeviceMemory, allowance: Allowance) -> None:
    """Compiles the kernel to closures and runs all blocks."""
    kernel = launch.kernel
    variables = Variables(machine, kernel)
    compiler = Compiler(machine, variables)
    run = compiler.statement(kernel.body)
    arguments = _bound_arguments(compiler, launch)
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    size = _blocks_together(machine, variables, launch, memory, allowance)
    if machine.needs_all_blocks and size < blocks:
        raise InterpreterError(
            f"a grid of {blocks} blocks that wait for each other is too large", kernel.span,
            "make the grid smaller",
        )  # fmt: skip
    _run_blocks(machine, run, arguments, blocks, size)
    variables.write_back()


def _run_blocks(
    machine: Machine, run: Run, arguments: list[Callable[[Batch], None]], blocks: int, together: int
) -> None:
    batch: Batch | None = None
    for first in range(0, blocks, together):
        count = min(together, blocks - first)
        if batch is None or batch.blocks != count:
            batch = Batch(first, count, machine.launch.grid, machine.launch.block)
        else:
            batch.move_to(first, machine.launch.grid)
        machine.begin(batch)
        for pass_on in arguments:
            pass_on(batch)
        run(batch.all)


# --------------------------------------------------------------------------- before the start


def _check(launch: Launch, memory: DeviceMemory, allowance: Allowance) -> None:
    kernel = launch.kernel
    if not kernel.body_is_complete:
        why = kernel.holes[0].message if kernel.holes else "something could not be read or followed"
        raise InterpreterError(f"kernel '{kernel.name}' is not whole: {why}", _hole(kernel), PROBES)
    if min(launch.grid) < 1 or min(launch.block) < 1:
        raise InterpreterError("an empty grid or block", kernel.span, "launch at least one thread")
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    too_many = any(n > most for n, most in zip(launch.grid, _MOST_BLOCKS, strict=True))
    if threads > _MOST_THREADS or launch.block[2] > 64 or too_many:
        raise InterpreterError(
            f"grid {launch.grid} of blocks {launch.block} is more than any GPU launches", kernel.span,
            f"at most {_MOST_THREADS} threads in a block",
        )  # fmt: skip
    if memory.total_bytes > allowance.max_bytes:
        raise InterpreterError(
            f"{memory.total_bytes} bytes of global memory are more than the budget of {allowance.max_bytes}",
            kernel.span, "make the arrays smaller, or raise the budget",
        )  # fmt: skip
    if len(launch.arguments) != len(kernel.parameters):
        raise InterpreterError(
            f"kernel '{kernel.name}' takes {len(kernel.parameters)} arguments, not {len(launch.arguments)}",
            kernel.span, "give one argument for each parameter",
        )  # fmt: skip


def _hole(kernel: ir.Kernel) -> ir.Span:
    """Where the frontend left something out, as far as it says so."""
    if kernel.holes:
        return ir.Span(kernel.holes[0].file, kernel.holes[0].line, 1, kernel.holes[0].line)
    for expr in ir.expressions_below(kernel.body):
        if isinstance(expr, ir.Intrinsic) and expr.is_opaque_call:
            return expr.span
    return kernel.span


def _blocks_together(
    machine: Machine, variables: Variables, launch: Launch, memory: DeviceMemory, allowance: Allowance
) -> int:
    """How many blocks fit into the memory budget, as far as that is of any use."""
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    shared = variables.bytes_per_block()
    kernel = launch.kernel
    if shared > _MOST_SHARED_BYTES:
        raise InterpreterError(
            f"{shared} bytes of shared memory for a block", kernel.span,
            f"no GPU has more than {_MOST_SHARED_BYTES}",
        )  # fmt: skip
    bytes_of_block = threads * variables.bytes_per_thread() + shared
    left = allowance.max_bytes - memory.total_bytes
    if bytes_of_block > left:
        name, size = variables.largest()
        raise InterpreterError(
            f"a block needs {bytes_of_block} bytes of local and shared memory ('{name}': {size} for each "
            f"thread), the budget leaves {left}", kernel.span, "make the arrays smaller, or raise the budget",
        )  # fmt: skip
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    if machine.needs_all_blocks:
        fit = left // max(1, bytes_of_block + threads * 256)
        return max(1, min(blocks, fit))
    return max(1, min(blocks, LANES // threads, left // max(1, bytes_of_block)))


def _bound(
    compiler: Compiler, variable: ir.Variable, given: int | float | NDArray[np.uint8]
) -> Callable[[Batch], None]:
    """What gives every thread of a batch its copy of what the launch passes for a parameter."""
    type_, name, span = variable.type, variable.name, variable.span
    storage = compiler.storage(variable)
    if is_block(type_):
        if isinstance(given, int | float) or len(given) != type_.size_bytes:
            told = f"parameter '{name}' takes {type_.size_bytes} bytes"
            raise InterpreterError(told, span, "pass the record's bytes")
        value = np.asarray(given, np.uint8).reshape(1, -1)
    elif isinstance(given, int | float):
        value = number(given, dtype_of(type_))
    else:
        raise InterpreterError(f"parameter '{name}' takes a number", span, "pass a number or an address")

    def pass_on(batch: Batch) -> None:
        if isinstance(storage, Register):
            storage.value, storage.scope = value, batch.size
        elif isinstance(storage, Rows):
            storage.assign_all(type_, value)

    return pass_on


def _bound_arguments(compiler: Compiler, launch: Launch) -> list[Callable[[Batch], None]]:
    found: list[Callable[[Batch], None]] = []
    for variable, given in zip(launch.kernel.parameters, launch.arguments, strict=True):
        try:
            found.append(_bound(compiler, variable, given))
        except UnsupportedError as error:
            raise InterpreterError(f"parameter '{variable.name}': {error}", variable.span, PROBES) from None
    return found


_FREE = (ir.Declare, ir.If, ir.Loop, ir.Switch, ir.Construct, ir.Extract, ir.InlinedCall)


def operations_by_region(kernel: ir.Kernel) -> list[int]:
    """By region: operators, accesses, conversions, assignments and calls that one execution of it makes."""
    counts = [0] * kernel.region_count
    for node, region in evaluations(kernel):
        counts[region] += not isinstance(node, _FREE)
    return counts
