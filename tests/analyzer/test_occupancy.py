"""Occupancy against figures of NVIDIA's occupancy calculator, worked out by hand."""

from __future__ import annotations

import pytest

from wattslice.ir import (
    FLOAT32,
    FLOAT64,
    Block,
    Kernel,
    MemorySpace,
    Span,
    Type,
    TypeKind,
    Variable,
    VariableRole,
)
from wattslice.workload.occupancy import (
    LimitingResource,
    occupancy,
    registers_that_fit,
    shared_bytes,
    sm_saturation,
)
from wattslice_models.gpu import load_gpu

SPAN = Span("a.cu", 1, 1, 1)


@pytest.mark.parametrize(
    ("gpu", "threads", "registers", "shared", "blocks", "limit"),
    [
        ("v100", 256, 32, 0, 8, LimitingResource.WARPS),
        ("v100", 256, 64, 0, 4, LimitingResource.REGISTERS),
        # 33 registers: 33*32 = 1056, rounded to 1280 per warp: 12 warps in each quarter, 48 warps
        ("v100", 256, 33, 0, 6, LimitingResource.REGISTERS),
        ("v100", 32, 16, 0, 32, LimitingResource.BLOCKS),
        ("v100", 128, 16, 20000, 4, LimitingResource.SHARED_MEMORY),
        # 1 KiB reserved per block: 233472 // (48 KiB + 1 KiB) = 4
        ("h100", 128, 16, 49152, 4, LimitingResource.SHARED_MEMORY),
        ("rtx_3090", 256, 32, 0, 6, LimitingResource.WARPS),
        # Fermi: 20*32 = 640 per warp, 51 -> 50 warps; 48 warps are the limit anyway
        ("gtx480", 192, 20, 0, 8, LimitingResource.WARPS),
        ("gtx480", 256, 32, 0, 4, LimitingResource.REGISTERS),
        # 1.x: 8 warps * 32 * 10 = 2560 registers per block of 8192
        ("c870", 256, 10, 0, 3, LimitingResource.WARPS),
        ("c870", 256, 11, 0, 2, LimitingResource.REGISTERS),
    ],
)
def test_blocks_per_sm(gpu, threads, registers, shared, blocks, limit):
    found = occupancy(load_gpu(gpu), (threads, 1, 1), registers, shared)
    assert (found.blocks_per_sm, found.limited_by) == (blocks, limit)
    assert found.active_warps_per_sm == blocks * -(-threads // 32)
    assert found.occupancy == found.active_warps_per_sm / load_gpu(gpu).max_warps_per_sm


@pytest.mark.parametrize(
    ("block", "registers", "shared", "why"),
    [
        ((32, 32, 2), 16, 0, "2048 threads per block"),
        ((32, 1, 1), 300, 0, "300 registers"),
        ((32, 1, 1), 16, 200_000, "200000 bytes of shared memory"),
        ((1024, 1, 1), 128, 0, "registers"),
    ],
)
def test_launches_that_cannot_run(block, registers, shared, why):
    found = occupancy(load_gpu("v100"), block, registers, shared)
    assert (found.blocks_per_sm, found.occupancy, found.limited_by) == (0, 0.0, None)
    assert why in found.failure


def test_saturation_is_the_papers_until_a_partial_wave():
    gpu = load_gpu("v100")  # 80 SMs
    assert sm_saturation(gpu, (40, 1, 1), 8).peak == 0.5
    assert sm_saturation(gpu, (40, 1, 1), 8).mean == 0.5
    assert sm_saturation(gpu, (640, 1, 1), 8).mean == 1.0
    partial = sm_saturation(gpu, (660, 1, 1), 8)
    assert (partial.peak, partial.mean) == (1.0, (1 + 20 / 80) / 2)


def shared(name, type_, dynamic=False):
    return Variable(name, type_, MemorySpace.SHARED, VariableRole.LOCAL, SPAN, dynamic=dynamic)


def test_shared_memory_is_laid_out_by_alignment():
    byte = Type(TypeKind.INT, bits=8)
    variables = (
        shared("c", Type(TypeKind.ARRAY, element=byte, length=3)),
        shared("d", Type(TypeKind.ARRAY, element=FLOAT64, length=4)),
        shared("s", Type(TypeKind.ARRAY, element=FLOAT32, length=None), dynamic=True),
    )
    kernel = Kernel("k", "k", "k", (), Block((), 0, SPAN), SPAN, 1, 0, variables, None, None, True)
    assert shared_bytes(kernel, 0) == 35
    assert shared_bytes(kernel, 100) == 36 + 100
    assert Type(TypeKind.FLOAT, bits=32, lanes=4).alignment_bytes == 16
    assert Type(TypeKind.FLOAT, bits=32, lanes=3).alignment_bytes == 4


@pytest.mark.parametrize(
    ("warps", "registers"),
    [(13, 128), (18, 96), (21, 80), (20, 96), (11, 168), (32, 64)],  # `ptxas -v` of sm_80, bounded kernels
)
def test_registers_that_launch_bounds_leave_are_those_that_fit(warps: int, registers: int):
    gpu = load_gpu("a100")
    assert registers_that_fit(gpu, warps) == registers
    assert occupancy(gpu, (32 * warps, 1, 1), registers, 0).blocks_per_sm >= 1
    assert occupancy(gpu, (32 * warps, 1, 1), registers + 1, 0).blocks_per_sm == 0
