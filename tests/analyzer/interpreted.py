"""Helpers of the interpreter's tests: CUDA text and numpy arrays in, arrays and counts out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice import ir
from wattslice.profiling.interpreter.launch import Allowance, Execution, Launch, Texture
from wattslice.profiling.interpreter.machine import DeviceMemory
from wattslice.profiling.interpreter.run import interpret

from .lowered import lower

Array = NDArray[Any]


class Ran(Struct, frozen=True):
    """`arrays`: the array arguments afterwards, in their order."""

    program: ir.Program
    execution: Execution
    arrays: tuple[Array, ...]

    @property
    def kernel(self) -> ir.Kernel:
        return self.program.kernels[-1]


def run_kernel(
    folder: Path,
    text: str,
    *arguments: Array | int | float | bytes,
    grid: tuple[int, int, int] | int = 1,
    block: tuple[int, int, int] | int = 32,
    shared_bytes: int = 0,
    allowance: Allowance | None = None,
    textures: dict[str | int, Texture] | None = None,
) -> Ran:
    """Runs the last kernel of `text`; arrays are copied to device memory, bytes are records."""
    return run(lower(folder, text), -1, arguments, grid, block, shared_bytes, allowance, textures)


def run(
    program: ir.Program,
    number: int,
    arguments: Sequence[Array | int | float | bytes],
    grid: tuple[int, int, int] | int = 1,
    block: tuple[int, int, int] | int = 32,
    shared_bytes: int = 0,
    allowance: Allowance | None = None,
    textures: dict[str | int, Texture] | None = None,
) -> Ran:
    """The same with a kernel of a program that was read."""
    kernel = program.kernels[number]
    memory = DeviceMemory()
    given: list[Any] = []
    addresses: list[tuple[int, Array]] = []
    for argument, parameter in zip(arguments, kernel.parameters, strict=True):
        if isinstance(argument, np.ndarray):
            data = np.ascontiguousarray(argument)
            addresses.append((memory.allocate(parameter.name, data.view(np.uint8).ravel()), data))
            given.append(addresses[-1][0])
        else:
            given.append(np.frombuffer(argument, np.uint8) if isinstance(argument, bytes) else argument)
    variables = {variable.name: variable for variable in program.globals}
    bound = tuple(
        (variables[key] if isinstance(key, str) else key, texture)
        for key, texture in (textures or {}).items()
    )
    launch = Launch(
        kernel, _three(grid), _three(block), shared_bytes, tuple(given), globals=(), textures=bound
    )
    execution = interpret(launch, memory, allowance or Allowance(max_steps=20_000))
    arrays = tuple(memory.contents(at).view(data.dtype).reshape(data.shape) for at, data in addresses)
    return Ran(program, execution, arrays)


def _three(extent: tuple[int, int, int] | int) -> tuple[int, int, int]:
    return (extent, 1, 1) if isinstance(extent, int) else extent


def body(text: str, parameters: str = "int* out, int n", before: str = "") -> str:
    """A program of one kernel `k` with `t` the number of the thread in the grid."""
    return (
        f"{before}\n__global__ void k({parameters}) {{ const int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"{text}\n}}\n"
    )


def values(folder: Path, expression: str, count: int = 32, dtype: str = "i4", before: str = "") -> Array:
    """`expression` in every thread `t` of one block."""
    types = {"i4": "int", "u4": "unsigned", "f4": "float", "f8": "double", "i8": "long long", "f2": "__half"}
    text = body(f"out[t] = {expression};", f"{types[dtype]}* out", before)
    return run_kernel(folder, text, np.zeros(count, dtype), block=count).arrays[0]
