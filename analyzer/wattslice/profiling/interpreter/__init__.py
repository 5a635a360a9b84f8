"""Executes kernels over the intermediate representation: in lock step, without a compiler or a GPU.

`interpret` runs a launch on a `DeviceMemory` and tells exactly how often each region of the kernel was
executed. What it does and what it does not: docs/interpreter.md.
"""

from __future__ import annotations

from wattslice.profiling.interpreter.errors import InterpreterError
from wattslice.profiling.interpreter.launch import Addressing, Budget, Execution, Launch, Texture
from wattslice.profiling.interpreter.machine import DeviceMemory
from wattslice.profiling.interpreter.run import interpret

__all__ = [
    "Addressing",
    "Budget",
    "DeviceMemory",
    "Execution",
    "InterpreterError",
    "Launch",
    "Texture",
    "interpret",
]
