"""Our own features of one launch, and the rows of the tables that hold them."""

from __future__ import annotations

from msgspec import Struct, convert, json
from msgspec.structs import asdict

from wattslice.counting.count import count
from wattslice.launches.launch import KernelLaunch
from wattslice.slicing.features import SliceFeatures, slice_features
from wattslice.slicing.slices import slice_kernel
from wattslice.workload.launch_work import launch_work, residency
from wattslice_corpora.records import UNKNOWN_DATA, LiveShare, RecordError, SliceRow, WorkloadRow
from wattslice_models.access_power import access_power_factors
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Workload


class LaunchFeatures(Struct, frozen=True):
    """What every model may know of one launch."""

    workload: Workload
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
    return LaunchFeatures(work.workload, slices)


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
        if field not in ("instructions", "doubt", "kinds")
    }
    own = {
        "path": path,
        "repeat": repeat,
        "doubt": work.doubt,
        "kinds": json.encode(work.kinds, enc_hook=float).decode() if work.kinds else "",
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
