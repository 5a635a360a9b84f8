"""What is asked of the interpreter, and what it answers."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice import ir
from wattslice.profiling.interpreter.errors import MAX_MEMORY_MIB, MAX_STEPS


class Addressing(Enum):
    """What a texture yields beside its edges."""

    CLAMP = "clamp"
    BORDER = "border"  # zero
    WRAP = "wrap"  # normalised coordinates only
    MIRROR = "mirror"  # normalised coordinates only


class Texture(Struct, frozen=True):
    """An array that texture and surface functions access.

    `texels`: shape (depth, height, width, channels), of the element type; surface writes change it.
    `addressing`: for x, y and z. `is_linear`: neighbours are interpolated. `is_normalised`: coordinates run
    from 0 to 1. `reads_normalised`: integers are read as fractions of their largest value.
    """

    texels: NDArray[Any]
    addressing: tuple[Addressing, ...] = (Addressing.CLAMP,) * 3
    is_linear: bool = False
    is_normalised: bool = False
    reads_normalised: bool = False


class Launch(Struct, frozen=True):
    """One kernel launch.

    `arguments`: in parameter order; numbers, addresses of `DeviceMemory.allocate` for pointers, bytes for
    records passed by value. `globals`: contents of `__constant__` and `__device__` objects; the interpreter
    writes what a kernel leaves in them back into these arrays. Objects that are not listed hold their
    initialiser, else zero. `textures`: by texture reference, or by the number that was passed as object.
    """

    kernel: ir.Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[int | float | NDArray[np.uint8], ...]
    globals: tuple[tuple[ir.Variable, NDArray[np.uint8]], ...] = ()
    textures: tuple[tuple[ir.Variable | int, Texture], ...] = ()


class Allowance(Struct, frozen=True):
    """`max_steps`: statements, each counted once for all the threads that execute it together (up to some ten
    thousand). `max_bytes`: global memory, and shared and local memory of the blocks interpreted together.
    """

    max_steps: int = MAX_STEPS
    max_bytes: int = MAX_MEMORY_MIB << 20


class Execution(Struct, frozen=True):
    """What was executed, over all blocks of the grid.

    `thread_counts`: by region, how many threads executed it. `warp_counts`: how many warps did, with at
    least one of their threads active. `thread_instructions`: operations of the tree (operators, accesses,
    calls) times the threads that executed them. `steps`: as in `Allowance`.
    """

    thread_counts: tuple[int, ...]
    warp_counts: tuple[int, ...]
    thread_instructions: int
    steps: int
