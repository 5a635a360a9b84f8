"""What is there while a launch is interpreted: lanes, variables, memory, counts, and the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.profiling.interpreter.errors import InterpreterError
from wattslice.profiling.interpreter.lanes import Batch, Mask
from wattslice.profiling.interpreter.launch import Launch, Texture
from wattslice.profiling.interpreter.layout import Dtype, Value

_FIRST_OWN_WINDOW = 1 << 24
Evaluate = Callable[[Mask], Value]
"""An expression, compiled: its value in the lanes of a mask."""
Run = Callable[[Mask], Mask]
"""A statement, compiled: the lanes that go on behind it."""


class Machine:
    """The state of a launch; `begin` sets it up for the next blocks."""

    batch: Batch

    def __init__(self, launch: Launch, memory: DeviceMemory, max_steps: int) -> None:
        self.launch = launch
        self.max_steps = max_steps
        self.steps = 0
        self.thread_counts = [0] * launch.kernel.region_count
        self.warp_counts = [0] * launch.kernel.region_count
        self.allocations: dict[int, Allocation] = dict(memory)
        self.textures: dict[ir.Variable | int, Texture] = dict(launch.textures)
        self._next_window = _FIRST_OWN_WINDOW
        self.at_begin: list[Callable[[], None]] = []
        self.exited: Mask
        self.needs_all_blocks = False

    def begin(self, batch: Batch) -> None:
        """The next blocks: every variable without a value, no thread has returned."""
        self.batch = batch
        self.exited = batch.none
        for prepare in self.at_begin:
            prepare()

    def count(self, region: int, mask: Mask) -> None:
        """Notes that the lanes of `mask` execute a region."""
        self.thread_counts[region] += mask.count
        self.warp_counts[region] += mask.warps

    def step(self, span: ir.Span) -> None:
        """One statement or loop test more; raises when the budget is spent."""
        self.steps += 1
        if self.steps > self.max_steps:
            raise InterpreterError(
                f"step budget of {self.max_steps} spent here: an endless loop, threads that wait for each "
                "other, or too large a launch",
                span,
                "make the launch smaller, or raise the budget (--steps)",
            )

    # ------------------------------------------------------------------ memory

    def window(self) -> int:
        """A free window number for memory of the launch itself."""
        self._next_window += 1
        return self._next_window - 1

    def allocate(self, window: int, name: str, size: int, windows: int, fill: int = 0) -> Allocation:
        """Memory of the launch itself, in a window of its own; replaces what the window held."""
        allocation = Allocation(name, first_address(window), size, windows, fill)
        self.allocations[window] = allocation
        return allocation

    # ------------------------------------------------------------------ telling lanes

    def thread(self, lane: int) -> str:
        """A lane as a person knows it: its block and thread."""
        batch = self.batch

        def at(parts: tuple[NDArray[Any], ...]) -> str:
            return "(" + ", ".join(str(int(p if p.ndim == 0 else p[lane])) for p in parts) + ")"

        return f"block {at(batch.block_idx)} thread {at(batch.thread_idx)}"

    def fault(self, address: int, lane: int, size: int, span: ir.Span, name: str) -> InterpreterError:
        """The error for an access of `size` bytes at `address` that is no access of an object."""
        who = self.thread(lane)
        allocation = self.allocations.get(address >> WINDOW_BITS)
        shown = f" of '{name}'" if name else ""
        if address >> WINDOW_BITS == 0:
            return InterpreterError(
                f"access{shown} through a null pointer (address {address}) by {who}", span, _CHECK_POINTER
            )
        if abs(address - UNINITIALISED) >> WINDOW_BITS == 0:
            return InterpreterError(
                f"access{shown} through a pointer that was never given a value by {who}", span, _CHECK_POINTER
            )
        if allocation is None:  # far out of bounds: of an object below, if there is one
            allocation = next(
                (a for w, a in self.allocations.items() if abs((address >> WINDOW_BITS) - w) == 1), None
            )
        if allocation is None:
            return InterpreterError(
                f"access{shown} at address {address:#x}, which belongs to no object, by {who}",
                span,
                _CHECK_POINTER,
            )
        origin = int(allocation.origin if allocation.origin.ndim == 0 else allocation.origin[lane])
        offset = address - origin
        if 0 <= offset <= allocation.size - size:
            return InterpreterError(
                f"misaligned access to '{allocation.name}': {size} bytes at offset {offset} by {who}",
                span,
                "align the address to the size of what is accessed",
            )
        return InterpreterError(
            f"access out of bounds of '{allocation.name}' ({allocation.size} bytes): {size} bytes at offset "
            f"{offset}, index {offset // size}, by {who}",
            span,
            "check the index, or give the array its full size",
        )


_CHECK_POINTER = "check that the pointer was set, and that the launch passes it"


class SharedObject:
    """A `__shared__` variable: one object for each block of a batch."""

    def __init__(self, machine: Machine, name: str, size: int) -> None:
        self._machine = machine
        self._name = name
        self.size = size
        self._window = machine.window()
        self.address: NDArray[Any]
        machine.at_begin.append(self._begin)

    def _begin(self) -> None:
        # CUDA leaves the contents undefined: all ones, which no sum or index survives unnoticed.
        batch = self._machine.batch
        allocation = self._machine.allocate(self._window, self._name, self.size, batch.blocks, 0xFF)
        if batch.blocks > 1:
            allocation.origin = allocation.base + batch.block_of_lane * allocation.stride
        self.address = allocation.origin


WINDOW_BITS = 36
"""Every allocation has 64 GiB of addresses for itself; the first of these windows belongs to none."""
UNINITIALISED = 0x7EAD << 44
"""What a pointer holds that was never assigned."""
_PADDING = 16


def first_address(window: int) -> int:
    """Where the allocation of a window begins: in its middle, so that what is before it is in it too."""
    return (window << WINDOW_BITS) + (1 << (WINDOW_BITS - 1))


class Allocation:
    """An object in memory, or one of it for each thread or block of a batch (`windows`).

    `size` is that of one object. `origin` is where the object begins that a lane may access: an address, or
    an array of them, one per lane.
    """

    def __init__(self, name: str, base: int, size: int, windows: int, fill: int = 0) -> None:
        self.name = name
        self.base = base
        self.size = size
        self.stride = -(-size // _PADDING) * _PADDING
        self.data = np.full(self.stride * windows + _PADDING, fill, np.uint8)
        self.origin: NDArray[Any] = np.full((), base, np.int64)[()]
        self._views: dict[tuple[Dtype | int, int], NDArray[Any]] = {}

    def elements(self, dtype: Dtype) -> NDArray[Any]:
        """All bytes as numbers of `dtype`."""
        key = (dtype, 0)
        found = self._views.get(key)
        if found is None:
            found = self._views[key] = self.data.view(dtype)
        return found

    def rows(self, size: int, alignment: int) -> NDArray[np.uint8]:
        """Overlapping stretches of `size` bytes, one at every multiple of `alignment`."""
        key = (size, alignment)
        found = self._views.get(key)
        if found is None:
            count = max(0, (len(self.data) - size) // alignment + 1)
            found = self._views[key] = np.ndarray((count, size), np.uint8, self.data, 0, (alignment, 1))
        return found


class DeviceMemory:
    """Global memory: what a launch's pointers point at. It outlives launches."""

    def __init__(self) -> None:
        self._allocations: dict[int, Allocation] = {}
        self._next = 1
        self.total_bytes = 0

    def allocate(self, name: str, contents: NDArray[np.uint8]) -> int:
        """Copies `contents` into an allocation of its own; its device address."""
        number = self._next
        self._next += 1
        allocation = Allocation(name, first_address(number), len(contents), 1)
        allocation.data[: len(contents)] = contents
        self._allocations[number] = allocation
        self.total_bytes += len(contents)
        return allocation.base

    def contents(self, address: int) -> NDArray[np.uint8]:
        """The live bytes of the allocation that `address` belongs to; `KeyError` when it belongs to none."""
        allocation = self._allocations[address >> WINDOW_BITS]
        return allocation.data[: allocation.size]

    def __iter__(self) -> Iterator[tuple[int, Allocation]]:
        """Window numbers and allocations."""
        return iter(self._allocations.items())
