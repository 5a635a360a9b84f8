"""From counts, instructions and traffic to the workload record that the time and energy models read."""

from __future__ import annotations

from collections import defaultdict

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import KernelLaunch
from wattslice.workload.instructions import InstructionKind, InstructionMix
from wattslice.workload.parallelism import loads_in_flight
from wattslice.workload.traffic import Traffic
from wattslice_models.workload import Instructions, Workload

TENSOR_FMA_PER_THREAD = 16 * 16 * 16 / 32
"""Multiply-adds of one warp-wide 16x16x16 `mma_sync`, per thread."""

_PIPES: tuple[tuple[str, str], ...] = (
    ("fp32", "ffma fadd fmul fsetp"),
    ("fp64", "dfma dadd dmul dsetp"),
    ("fp16", "hfma2"),
    ("integer", "imad iadd lop shf isetp"),
    # Conversions run at the rate of the special-function unit (CUDA C++ Programming Guide, throughput table).
    ("special", "mufu conversion wide_conversion"),
    ("load_store", "ldg stg lds sts ldl stl ldc tex atom shfl"),
    ("tensor", "hmma"),
)
PIPE_OF: dict[str, str] = {name: pipe for pipe, names in _PIPES for name in names.split()}
"""The field of `Instructions` that a kind of instruction counts in; `other` for the rest."""


def workload(
    launch: KernelLaunch,
    profile: ExecutionProfile,
    counts: OperationCounts,
    mix: InstructionMix,
    traffic: Traffic,
    active_warps_per_sm: int,
) -> Workload:
    """What one launch does, from its counts, its executed instructions and the bytes it moves."""
    return Workload(
        blocks=launch.blocks,
        threads_per_block=launch.threads_per_block,
        active_warps_per_sm=active_warps_per_sm,
        instructions=instructions_by_pipe(mix, counts),
        warp_instructions=sum(entry.number for entry in mix.per_warp),
        l1_bytes=traffic.l1_bytes,
        l2_bytes=traffic.l2_bytes,
        dram_bytes=traffic.dram_bytes,
        shared_passes=traffic.shared_passes,
        shared_accesses=traffic.shared_accesses,
        texture_fetches=counts.texture_load,
        atomics=counts.atomic,
        barriers=counts.barrier,
        global_loads=counts.global_load + counts.texture_load,
        loads_in_flight=loads_in_flight(launch.kernel, profile),
        footprint_bytes=traffic.footprint_bytes,
    )


def instructions_by_pipe(mix: InstructionMix, counts: OperationCounts) -> Instructions:
    """The instructions of a thread by the pipe that executes them."""
    pipes: defaultdict[str, float] = defaultdict(float)
    for entry in mix.per_thread:
        pipes[PIPE_OF.get(entry.name, "other")] += entry.number
    return Instructions(
        fp32=pipes["fp32"],
        fp64=pipes["fp64"],
        fp16=pipes["fp16"],
        integer=pipes["integer"],
        integer_multiply=mix.number(InstructionKind.IMAD),
        wide_conversion=mix.number(InstructionKind.WIDE_CONVERSION),
        special=pipes["special"],
        tensor=counts.tensor * TENSOR_FMA_PER_THREAD,  # not from HMMA: their size varies
        load_store=pipes["load_store"],
        other=pipes["other"],
    )
