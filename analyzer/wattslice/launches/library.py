"""What calls of library functions do to the memory of the host: device queries, allocations, the unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wattslice import ir
from wattslice.launches import host_api
from wattslice.launches.facts import symbol_of
from wattslice.launches.memory import Memory, construct
from wattslice.launches.values import Pointer, Unknown, Value
from wattslice_models.gpu import Gpu

_Arguments = tuple[Value, ...]


def library_call(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value:
    """Value of a call to a function that is not part of the program, after its effect on `memory`."""
    name = node.name.removeprefix("std::")
    if name.startswith("make_") and node.type.lanes > 1:
        return construct(ir.Construct(node.arguments, (), node.type, node.span), arguments)
    if name in ("forward", "move") and arguments:
        return arguments[0]
    if name in host_api.ALLOCATIONS:
        return host_api.fresh_memory(name)
    for prefix, effect in _EFFECTS.items():
        if name.startswith(prefix):
            found = effect(memory, gpu, node, arguments)
            if found is not None:
                return found
    is_option = _looks_at_options(name, node, arguments)
    if name not in host_api.KEEPS_ITS_ARGUMENTS:
        for argument in arguments:
            if isinstance(argument, Pointer):
                memory.forget(argument.storage, Unknown(f"set by {name}()", is_option=is_option))
    unknown = next((a for a in arguments if isinstance(a, Unknown)), None)
    if unknown is not None and name.startswith("ato"):
        return replace(unknown, is_option=False)  # a number that is given is no question of whether it is
    if node.name.startswith("cuda") and node.type.is_integral:
        return 0  # cudaSuccess: a run that fails is none to predict
    return Unknown(f"the result of {name}()", is_option=is_option)


def _looks_at_options(name: str, node: ir.Call, arguments: _Arguments) -> bool:
    """True when a function compares text of the command line, or is handed argv as a whole."""
    for argument, value in zip(node.arguments, arguments, strict=False):
        target = argument.type.element
        if isinstance(value, Pointer):
            value = value.storage.cells.get(value.offset, value)
            target = None if target is None else target.element
        if isinstance(value, Unknown) and value.is_option:
            is_argv = target is not None and target.kind is ir.TypeKind.POINTER
            if is_argv or name in host_api.TEXT_TESTS:
                return True
    return False


def _store(memory: Memory, pointer: Value, value: Value) -> bool:
    """Write an `int` where an output argument points; False when that is unknown."""
    if not isinstance(pointer, Pointer):
        return False
    memory.write(pointer.storage, pointer.offset, value, ir.INT32)
    return True


def _properties(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    first = arguments[0] if arguments else None
    if not isinstance(first, Pointer):
        return None
    element = node.arguments[0].type.element or ir.UNKNOWN_TYPE
    for offset, value in host_api.device_property_cells(gpu, element).items():
        memory.set_cell(first.storage, first.offset + offset, value)
    return 0


def _attribute(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del node
    if len(arguments) < 2:
        return None
    return 0 if _store(memory, arguments[0], host_api.device_attribute(gpu, arguments[1])) else None


def _device_count(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del gpu, node
    return 0 if arguments and _store(memory, arguments[0], 1) else None


def _device(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del gpu, node
    return 0 if arguments and _store(memory, arguments[0], 0) else None


def _active_blocks(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del node
    if len(arguments) < 3:
        return None
    return 0 if _store(memory, arguments[0], host_api.active_blocks(gpu, arguments[2])) else None


def _potential_block_size(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del node
    stored = [
        _store(memory, argument, value)
        for argument, value in zip(arguments, host_api.potential_block_size(gpu), strict=False)
    ]
    return 0 if any(stored) else None


def _copy(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """memcpy: the cells of the source, where both sides and the size are known."""
    del gpu
    if len(arguments) < 3 or not isinstance(arguments[0], Pointer):
        return None
    return arguments[0] if _copied(memory, arguments[0], arguments[1], arguments[2], node) else None


def _copy_to_symbol(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del gpu
    symbol = symbol_of(node.arguments[0]) if node.arguments else None
    if symbol is None or len(arguments) < 3:
        return None
    offset = arguments[3] if len(arguments) > 3 else 0
    target = Pointer(memory.storage(symbol), offset if isinstance(offset, int) else 0)
    if not isinstance(offset, int) or not _copied(memory, target, arguments[1], arguments[2], node):
        memory.forget(target.storage, Unknown(f"set by {node.name}()"))
    return 0


def _copied(memory: Memory, target: Pointer, source: Value, size: Value, node: ir.Call) -> bool:
    if not isinstance(source, Pointer) or not isinstance(size, int):
        return False
    end = source.offset + size
    cells = {at: value for at, value in source.storage.cells.items() if source.offset <= at < end}
    memory.forget(target.storage, Unknown(f"set by {node.name}()"))
    for at, value in cells.items():
        memory.set_cell(target.storage, target.offset + at - source.offset, value)
    return True


def _allocation_by_pointer(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del gpu
    first = arguments[0] if arguments else None
    if node.name not in host_api.ALLOCATIONS_BY_POINTER or not isinstance(first, Pointer):
        return None
    fresh = host_api.fresh_memory(node.name, arguments[1] if len(arguments) > 1 else None)
    memory.write(first.storage, first.offset, fresh, node.type)
    return 0


_EFFECTS: dict[str, Callable[[Memory, Gpu, ir.Call, _Arguments], Value | None]] = {
    "memcpy": _copy,
    "memmove": _copy,
    "cudaMemcpyToSymbol": _copy_to_symbol,
    "cudaGetDeviceProperties": _properties,
    "cudaDeviceGetAttribute": _attribute,
    "cuDeviceGetAttribute": _attribute,
    "cudaGetDeviceCount": _device_count,
    "cudaGetDevice": _device,
    "cudaOccupancyMaxActiveBlocks": _active_blocks,
    "cudaOccupancyMaxPotentialBlockSize": _potential_block_size,
    **dict.fromkeys(host_api.ALLOCATIONS_BY_POINTER, _allocation_by_pointer),
}
"""Effects by the start of the name, longest first where one begins another."""
