"""Our own features of one launch, and the rows of the tables that hold them."""

from __future__ import annotations

from msgspec import Struct, convert
from msgspec.structs import asdict

from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import MemorySpace
from wattslice.ir.accesses import follows_data, loaded_registers, memory_accesses
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import KernelLaunch
from wattslice.slicing.features import SliceFeatures, slice_features
from wattslice.slicing.slices import slice_kernel
from wattslice.workload.launch_work import launch_work, residency
from wattslice.workload.traffic import Traffic
from wattslice_corpora.records import (
    UNKNOWN_DATA,
    LiveShare,
    RecordError,
    SliceRow,
    WorkloadRow,
)
from wattslice_models.access_power import access_power_factors
from wattslice_models.contract import ASSUMED_TRIPS
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Workload


class LaunchFeatures(Struct, frozen=True):
    """What every model may know of one launch. `doubt`: why its counts or bytes are in doubt, else empty."""

    workload: Workload
    doubt: str
    slices: tuple[SliceFeatures, ...]


class LaunchRows(Struct, frozen=True):
    """One launch of a run as the tables have it."""

    workload: WorkloadRow
    slices: tuple[SliceRow, ...]


def launch_features(launch: KernelLaunch, gpu: Gpu) -> LaunchFeatures:
    """Workload and slices of one launch. Raises `RecordError` when it cannot run on `gpu`."""
    resident = residency(launch, gpu)
    profile = count(launch)
    work = launch_work(launch, resident, profile)
    if work.workload is None:
        raise RecordError(f"{launch.kernel.name} cannot run on {gpu.id}: {resident.occupancy.failure}")
    slices = slice_features(
        slice_kernel(launch.kernel), profile, access_power_factors(gpu), resident.sm_saturation
    )
    return LaunchFeatures(work.workload, _doubt(launch, profile, work.counts, work.traffic), slices)


def _doubt(launch: KernelLaunch, profile: ExecutionProfile, counts: OperationCounts, moved: Traffic) -> str:
    told = {(said.file, said.line) for said in profile.assumptions if said.rule == "PW013"}
    assumed = (loop for loop in profile.loops if (loop.file, loop.line) in told and not loop.is_most)
    if any(profile.thread_counts[loop.region] for loop in assumed):
        return ASSUMED_TRIPS
    if moved.gathered:
        return "addresses not followed: every lane taken to touch a sector of its own"
    loaded = loaded_registers(launch.kernel.body)
    if any(
        access.space in (MemorySpace.GLOBAL, MemorySpace.TEXTURE) and follows_data(access.addresses, loaded)
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


def launch_rows(
    run: tuple[str, str, str],
    index: int,
    name: str,
    path: str,
    repeat: int,
    found: LaunchFeatures,
    live: LiveShare = UNKNOWN_DATA,
) -> LaunchRows:
    """The features of launch number `index` of a run, made `repeat` times, as rows of the tables.

    `run`: benchmark, kernel and arguments.
    """
    work = found.workload
    launch = dict(zip(("benchmark", "kernel", "arguments"), run, strict=True)) | {
        "launch": index,
        "launched_kernel": name,
    }
    # Counts come as numpy scalars; the table wants plain numbers.
    counts = {
        field: None if value is None else float(value)
        for field, value in (asdict(work.instructions) | asdict(work)).items()
        if field != "instructions"
    }
    own = {
        "path": path,
        "repeat": repeat,
        "doubt": found.doubt,
        "blocks": work.blocks,
        "threads_per_block": work.threads_per_block,
        "live_operands": live.operands,
        "live_data": live.data,
    }
    slices = (
        {
            "memory_space": part.memory_space.value,
            "code_lines": part.static_length,
            "arithmetic_density": None if part.arithmetic_density is None else float(part.arithmetic_density),
            "sm_saturation": float(part.sm_saturation),
            "length": float(part.length) * work.threads * repeat,
        }
        for part in found.slices
    )
    return LaunchRows(
        convert(launch | counts | own, WorkloadRow),
        tuple(convert(launch | part, SliceRow) for part in slices),
    )
