"""Occupancy and SM saturation of a launch.

The allocation rules are those of NVIDIA's CUDA occupancy calculator: warps and blocks per SM are limited
outright; registers are allocated per warp in units (per block on compute capability 1.x), and warps to the
partitions of an SM; shared memory is allocated per block in units, with a reserved part on recent chips.
All limits and units come from the GPU catalogue. The whole shared memory of an SM is taken as available (the
driver chooses the carve-out so).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from msgspec import Struct

from wattslice.ir import Kernel, Variable
from wattslice_models.gpu import Gpu


class LimitingResource(Enum):
    """What keeps an SM from holding one more block."""

    WARPS = "warps"
    BLOCKS = "blocks"
    REGISTERS = "registers"
    SHARED_MEMORY = "shared memory"


class Occupancy(Struct, frozen=True):
    """What one SM holds at a time.

    `occupancy` = active warps / maximal warps, 0 when the launch cannot run; `failure` then says why, and
    `limited_by` is None.
    """

    blocks_per_sm: int
    warps_per_block: int
    active_warps_per_sm: int
    occupancy: float
    limited_by: LimitingResource | None
    failure: str = ""


class SmSaturation(Struct, frozen=True):
    """Share of SMs that work (Wang & Chen 2013, Def. 4), dimensionless in [0, 1].

    `peak` is the definition as printed, min(1, blocks / SMs). `mean` refines it by the last wave: blocks
    run in waves of SMs x blocks per SM, equally long; in the last, partial wave only min(SMs, rest) SMs
    have a block, because the hardware deals blocks out to idle SMs first.
    """

    peak: float
    mean: float


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit if unit > 1 else value


MAX_STATIC_SHARED_BYTES = 48 << 10
"""ptxas refuses more; the rest must be dynamic (CUDA C++ Programming Guide, compute capability 7.x)."""


def occupancy(
    gpu: Gpu,
    block: tuple[int, int, int],
    registers_per_thread: int,
    shared_bytes_per_block: int,
    static_shared_bytes: int = 0,
) -> Occupancy:
    """Blocks and warps that one SM of `gpu` holds at a time.

    `registers_per_thread` in 32-bit registers, `shared_bytes_per_block` static plus dynamic.
    """
    threads = block[0] * block[1] * block[2]
    warps = -(-threads // gpu.warp_size)
    failure = _failure(gpu, threads, registers_per_thread, shared_bytes_per_block)
    if not failure and static_shared_bytes > MAX_STATIC_SHARED_BYTES:
        limit = MAX_STATIC_SHARED_BYTES
        failure = f"{static_shared_bytes} bytes of static shared memory per block, compilers allow {limit}"
    if failure:
        return Occupancy(0, warps, 0, 0.0, None, failure)
    limits = {
        LimitingResource.WARPS: min(gpu.max_warps_per_sm // warps, gpu.max_threads_per_sm // threads),
        LimitingResource.BLOCKS: gpu.max_blocks_per_sm,
        LimitingResource.REGISTERS: _blocks_by_registers(gpu, warps, registers_per_thread),
        LimitingResource.SHARED_MEMORY: _blocks_by_shared_memory(gpu, shared_bytes_per_block),
    }
    blocks = min(limits.values())
    limited_by = next(resource for resource, limit in limits.items() if limit == blocks)
    if blocks == 0:
        reason = f"one block needs more {limited_by.value} than an SM of the {gpu.name} has"
        return Occupancy(0, warps, 0, 0.0, None, reason)
    return Occupancy(blocks, warps, blocks * warps, blocks * warps / gpu.max_warps_per_sm, limited_by)


def _failure(gpu: Gpu, threads: int, registers: int, shared_bytes: int) -> str:
    if threads < 1:
        return "the block has no threads"
    if threads > gpu.max_threads_per_block:
        return f"{threads} threads per block, the {gpu.name} allows {gpu.max_threads_per_block}"
    if registers > gpu.max_registers_per_thread:
        return f"{registers} registers per thread, the {gpu.name} allows {gpu.max_registers_per_thread}"
    if shared_bytes > gpu.shared_memory_optin_bytes_per_block:
        limit = gpu.shared_memory_optin_bytes_per_block
        return f"{shared_bytes} bytes of shared memory per block, the {gpu.name} allows {limit}"
    return ""


def _blocks_by_registers(gpu: Gpu, warps: int, registers: int) -> int:
    registers = max(1, registers)
    granularity = max(1, gpu.warp_allocation_granularity)
    if gpu.architecture.allocates_registers_per_block:
        per_block = _round_up(
            _round_up(warps, granularity) * gpu.warp_size * registers, gpu.register_allocation_unit
        )
        return gpu.registers_per_sm // per_block
    per_warp = _round_up(registers * gpu.warp_size, gpu.register_allocation_unit)
    warps_per_partition = gpu.registers_per_sm // granularity // per_warp
    return warps_per_partition * granularity // warps


def registers_that_fit(gpu: Gpu, warps: int) -> int:
    """Registers per thread, at most, with which an SM holds so many warps: what ptxas leaves a kernel with
    `__launch_bounds__` (cubins of sm_80: 96 for 560 threads, for 2 blocks of 288, 128 for 5 of 96).
    """
    lanes = _round_up(warps, max(1, gpu.warp_allocation_granularity)) * gpu.warp_size
    unit = max(1, gpu.register_allocation_unit // gpu.warp_size)
    return gpu.registers_per_sm // lanes // unit * unit


def _blocks_by_shared_memory(gpu: Gpu, shared_bytes: int) -> int:
    needed = shared_bytes + gpu.shared_memory_reserved_bytes_per_block
    if needed == 0:
        return gpu.max_blocks_per_sm
    return gpu.shared_memory_bytes_per_sm // _round_up(needed, gpu.shared_memory_allocation_unit_bytes)


def sm_saturation(gpu: Gpu, grid: tuple[int, int, int], blocks_per_sm: int) -> SmSaturation:
    """SM saturation of a launch of `grid` when an SM holds `blocks_per_sm` blocks at a time."""
    blocks = grid[0] * grid[1] * grid[2]
    peak = min(1.0, blocks / gpu.sm_count)
    if blocks_per_sm < 1:
        return SmSaturation(0.0, 0.0)
    per_wave = gpu.sm_count * blocks_per_sm
    full, rest = divmod(blocks, per_wave)
    last = min(1.0, rest / gpu.sm_count)
    return SmSaturation(peak, (full + last) / (full + (rest > 0)))


def shared_bytes(kernel: Kernel, dynamic_bytes: int) -> int:
    """Shared memory of one block, bytes: static variables at their natural alignment, then the dynamic part.

    Variables are laid out by falling alignment, which needs no padding between them.
    """
    offset = 0
    for variable in sorted(_static(kernel.shared_variables), key=lambda v: -v.type.alignment_bytes):
        offset = _round_up(offset, variable.type.alignment_bytes) + variable.type.size_bytes
    if not dynamic_bytes:
        return offset
    dynamic = [v.type.alignment_bytes for v in kernel.shared_variables if v.dynamic]
    return _round_up(offset, max(dynamic, default=1)) + dynamic_bytes


def _static(variables: Iterable[Variable]) -> list[Variable]:
    return [variable for variable in variables if not variable.dynamic]
