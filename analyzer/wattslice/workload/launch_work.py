"""What one launch does on a GPU, whatever model reads it: prediction and training see the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from wattslice.counting.profile import ExecutionProfile, total_counts
from wattslice.ir import MemorySpace
from wattslice.ir.accesses import MemoryAccess, follows_data, loaded_registers, memory_accesses
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import DataKind, KernelLaunch
from wattslice.workload.instructions import InstructionKind, InstructionMix, Isa, isa_of, lower_instructions
from wattslice.workload.instructions.loops import TripCounts, loop_trips
from wattslice.workload.instructions.statements import RequestCount
from wattslice.workload.occupancy import Occupancy, occupancy, shared_bytes, sm_saturation
from wattslice.workload.registers import LIKELY_ERROR, estimate_registers
from wattslice.workload.traffic import Traffic, traffic, traffic_of_blocks
from wattslice_models.gpu import Gpu
from wattslice_models.workload import ASSUMED_TRIPS, Instructions, Workload


class Residency(Struct, frozen=True):
    """How a launch sits on a GPU: registers per thread (estimated, and as taken), shared bytes per block, Sa
    of Def. 4, the instruction set that its kernel is compiled to, whether L1 keeps what global loads bring,
    how much L2 holds (None: unknown), how many blocks run at a time on the whole GPU. `local_l1_bytes`: what
    the L1 of one SM has for local memory, beside the shared memory of the blocks on it.
    """

    estimated_registers: int
    registers: int
    shared_bytes: int
    occupancy: Occupancy
    sm_saturation: float
    isa: Isa
    l1_keeps_loads: bool
    l2_bytes: float | None
    resident_blocks: int
    local_l1_bytes: float


class LaunchWork(Struct, frozen=True):
    """Counts, executed instructions and traffic of one launch; `workload` None when the launch cannot run."""

    counts: OperationCounts
    instructions: InstructionMix
    traffic: Traffic
    workload: Workload | None


def residency(launch: KernelLaunch, gpu: Gpu) -> Residency:
    """Registers, shared memory, occupancy and SM saturation of `launch` on `gpu`."""
    estimated = registers = estimate_registers(launch.kernel, gpu)
    shared = shared_bytes(launch.kernel, launch.dynamic_shared_bytes)
    held = occupancy(gpu, launch.block, registers, shared, shared_bytes(launch.kernel, 0))
    while held.failure and registers > estimated - LIKELY_ERROR:  # who launches it has seen it run
        registers -= 1
        held = occupancy(gpu, launch.block, registers, shared, shared_bytes(launch.kernel, 0))
    taken = held.blocks_per_sm * (shared + gpu.shared_memory_reserved_bytes_per_block)
    taken *= gpu.architecture.l1_shares_shared_memory
    return Residency(
        estimated,
        estimated if held.failure else registers,
        shared,
        held,
        sm_saturation(gpu, launch.grid, held.blocks_per_sm).peak,
        isa_of(gpu),
        gpu.architecture.l1_keeps_global_loads,
        gpu.l2_bytes,
        gpu.sm_count * held.blocks_per_sm,
        max(0.0, gpu.architecture.l1_local_bytes_per_sm - taken),
    )


def resident_traffic(
    launch: KernelLaunch, resident: Residency, profile: ExecutionProfile, requests: tuple[RequestCount, ...]
) -> Traffic:
    """What a launch moves that sits so on its GPU."""
    return traffic(
        launch,
        profile,
        requests,
        l1_keeps_loads=resident.l1_keeps_loads,
        l2_bytes=resident.l2_bytes,
        resident_blocks=resident.resident_blocks,
        blocks_per_sm=resident.occupancy.blocks_per_sm,
        local_l1_bytes=resident.local_l1_bytes,
    )


def launch_work(
    launch: KernelLaunch, resident: Residency, profile: ExecutionProfile, trips: TripCounts | None = None
) -> LaunchWork:
    """What a counted launch executes and moves. `trips`: those that its code is made for, if not its own."""
    counts = total_counts(launch.kernel, profile)
    trips = loop_trips(launch.kernel, profile) if trips is None else trips
    mix = lower_instructions(launch.kernel, profile, resident.isa, trips)
    moved = resident_traffic(launch, resident, profile, mix.requests)
    if resident.occupancy.failure:
        return LaunchWork(counts, mix, moved, None)
    warps = resident.occupancy.active_warps_per_sm
    work = workload(launch, profile, counts, mix, moved, warps)
    kinds = tuple(
        replace(
            workload(launch, own, total_counts(launch.kernel, own), own_mix, own_moved, warps),
            blocks=max(1, round(share * launch.blocks)),
        )
        for share, own, own_mix, own_moved in _kinds(launch, resident, profile, moved, trips)
    )
    return LaunchWork(counts, mix, moved, replace(work, kinds=kinds))


def _kinds(
    launch: KernelLaunch, resident: Residency, profile: ExecutionProfile, moved: Traffic, trips: TripCounts
) -> Iterator[tuple[float, ExecutionProfile, InstructionMix, Traffic]]:
    """The kinds of blocks: their share of the grid, and what they execute and move.

    None where the grid has so many rounds of blocks that none of them is long beside all rounds.
    """
    rounds = launch.blocks / resident.resident_blocks
    if not profile.kinds or profile.kinds[0].size * MANY_ROUNDS < rounds:
        return
    for kind in profile.kinds:
        own = replace(
            profile,
            thread_counts=kind.thread_counts,
            warp_counts=kind.warp_counts,
            longest_warp=kind.longest_warp,
        )
        mix = lower_instructions(launch.kernel, own, resident.isa, trips)
        yield kind.share, own, mix, traffic_of_blocks(moved, kind.warp_counts, profile.warp_counts)


MANY_ROUNDS = 10.0
"""Rounds of blocks for each that the longest one takes, from which on it hardly matters."""
MOST_IN_FLIGHT = 16.0
"""Outstanding loads of one warp taken to be possible at most: a bound of ours, not measured."""
TENSOR_FMA_PER_THREAD = 16 * 16 * 16 / 32
"""Multiply-adds of the unit of `tensor`, a product of 16 x 16 x 16 by a warp, per thread."""

_PIPES: tuple[tuple[str, str], ...] = (
    ("fp32", "ffma fadd fmul fsetp"),
    ("fp64", "dfma dadd dmul dsetp"),
    ("fp16", "hfma2"),
    # Packing floats and I2FP are no special functions: an H200 counts none of them in its XU pipe.
    ("integer", "imad iadd lop shf isetp pack int_to_float"),
    # Others run at the rate of the special-function unit (CUDA C++ Programming Guide, throughput table).
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
    loads = mix.number(InstructionKind.LDG) + mix.number(InstructionKind.TEX)
    live = _live_shares(launch, traffic)
    return Workload(
        blocks=launch.blocks,
        threads_per_block=launch.threads_per_block,
        active_warps_per_sm=active_warps_per_sm,
        instructions=instructions_by_pipe(mix, counts),
        warp_instructions=sum(entry.number for entry in mix.per_warp),
        l1_bytes=traffic.l1_bytes,
        l2_bytes=traffic.l2_bytes,
        dram_bytes=traffic.dram_bytes,
        dram_rows=traffic.dram_rows,
        shared_passes=traffic.shared_passes,
        l1_passes=traffic.l1_passes,
        shared_accesses=traffic.shared_accesses,
        constant_requests=traffic.constant_requests,
        constant_misses=traffic.constant_misses,
        atomic_requests=traffic.atomic_requests,
        atomic_line_requests=traffic.atomic_line_requests,
        texture_fetches=counts.texture_load,
        atomics=counts.atomic,
        barriers=counts.barrier,
        global_loads=loads,
        dependent_instructions=mix.chain.arithmetic,
        dependent_shared=mix.chain.shared,
        dependent_loads=max(mix.chain.far, loads / MOST_IN_FLIGHT),
        longest_warp=profile.longest_warp,
        footprint_bytes=traffic.footprint_bytes,
        live_operands=live.operands,
        live_data=live.data,
        doubt=_doubt(launch, profile, counts, mix, traffic),
    )


LEAST_LOCAL_SHARE = 0.05
"""Accesses to local memory among a kernel's instructions from which on they are told."""


def _doubt(
    launch: KernelLaunch,
    profile: ExecutionProfile,
    counts: OperationCounts,
    mix: InstructionMix,
    moved: Traffic,
) -> str:
    told = {(said.file, said.line) for said in profile.assumptions if said.rule == "PW013"}
    assumed = (loop for loop in profile.loops if (loop.file, loop.line) in told and not loop.is_most)
    if any(profile.thread_counts[loop.region] for loop in assumed):
        return ASSUMED_TRIPS
    far = (MemorySpace.GLOBAL, MemorySpace.TEXTURE)
    if mix.local_accesses > LEAST_LOCAL_SHARE * mix.total:
        far += (MemorySpace.LOCAL,)
    if any(access.space in (*far, MemorySpace.CONSTANT) for access in moved.gathered):
        return "addresses not followed: every lane taken to touch a sector of its own"
    loaded = loaded_registers(launch.kernel.body)
    if any(
        access.space in far and follows_data(access.addresses, loaded)
        for access in memory_accesses(launch.kernel)
    ):
        return "addresses depend on loaded data: how far they reach is unknown"
    followed = sum(
        profile.thread_counts[access.region]
        for access in memory_accesses(launch.kernel)
        if access.space is MemorySpace.GLOBAL
    )
    if followed < 0.9 * (counts.global_load + counts.global_store):
        return "accesses by inline PTX: their bytes are not counted"
    return ""


class _LiveShares(Struct, frozen=True):
    operands: float
    data: float


def _live_shares(launch: KernelLaunch, traffic: Traffic) -> _LiveShares:
    """How much of arithmetic and of DRAM's bytes toggles, by what the launch's arrays hold.

    Operands toggle in the share of what is loaded that does: values are not followed any further.
    """
    everything, *named = (entry.kind is DataKind.LIVE for entry in launch.data)
    if all(live == everything for live in named):
        return _LiveShares(float(everything), float(everything))
    kinds = {entry.array: entry.kind is DataKind.LIVE for entry in launch.data}

    def is_live(name: str | None) -> bool:
        """What is said of an array, else of the record that holds it, else of all."""
        if name in kinds or not name:
            return kinds.get(name, everything)
        return is_live(name.rpartition(".")[0])

    def share(amounts: Iterable[tuple[MemoryAccess, float]]) -> float:
        held = [(is_live(access.root.name if access.root else None), amount) for access, amount in amounts]
        total = sum(amount for _, amount in held)
        return sum(amount for live, amount in held if live) / total if total else float(everything)

    moved = traffic.by_access
    return _LiveShares(
        share((one.access, one.l1_bytes) for one in moved if not one.access.is_store),
        share((one.access, one.dram_bytes) for one in moved),
    )


def instructions_by_pipe(mix: InstructionMix, counts: OperationCounts) -> Instructions:
    """The instructions of a thread by the pipe that executes them."""
    pipes: defaultdict[str, float] = defaultdict(float)
    for entry in mix.per_thread:
        pipes[PIPE_OF.get(entry.name, "other")] += entry.number
    return Instructions(
        fp32=pipes["fp32"],
        fp32_three_registers=mix.three_registers,
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
