"""What ESCAPE's time model asks of a kernel (D3.5, 2018, Table 8), from the source in place of a profiler.

The counts are for one launched thread, so that `gpu_time` is asked with the launched threads. What nvprof
counts in which class is told by its manual; a class of our instructions goes where nvprof would put it.
"""

from __future__ import annotations

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import MemorySpace
from wattslice.launches.launch import KernelLaunch
from wattslice.workload.instructions import InstructionKind
from wattslice.workload.launch_work import LaunchWork
from wattslice.workload.traffic import made_accesses
from wattslice_models.escape_time import WARP_SIZE, KernelCharacteristics
from wattslice_models.execution_time import (
    DEFAULT_TIME_PARAMETERS,
    Clocks,
    TimeParameters,
    core_clock_mhz,
    predict_time,
)
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Workload

_INTEGER = "imad iadd lop shf isetp"
_SINGLE = "ffma fadd fmul fsetp mufu hfma2"  # half precision runs on the pipe of single precision here
_DOUBLE = "dfma dadd dmul dsetp"
_CONTROL_FLOW = "branch"
_MISCELLANEOUS = "mov bar shfl hmma other"  # tensor cores came after the model


def launch_characteristics(
    launch: KernelLaunch, profile: ExecutionProfile, work: LaunchWork, ipc: float
) -> KernelCharacteristics:
    """Table 8 of a counted launch, per launched thread.

    `ipc`: instructions that an SM issues in a clock (`predicted_ipc`). Bytes asked for are those of loads
    and stores to global memory and of texture fetches, bytes moved the 32-byte sectors that these touch; the
    efficiency exceeds 1 where lanes read the same word. Raises ``ValueError`` for a kernel that executes
    nothing or for an `ipc` that is not positive.
    """
    slots = lane_slots(launch.threads_per_block, sum(entry.number for entry in work.instructions.per_warp))
    requested = sum(
        made.per_thread * profile.sites[access.site].request_bytes
        for access, made in made_accesses(launch, profile, work.instructions.requests)
        if access.space in (MemorySpace.GLOBAL, MemorySpace.TEXTURE)
    )
    moved = work.traffic.l1_bytes
    return KernelCharacteristics(
        inactive_share=max(0.0, 1.0 - work.instructions.total / slots),
        miscellaneous_share=_number(work, _MISCELLANEOUS) / slots,
        control_flow_share=_number(work, _CONTROL_FLOW) / slots,
        memory_efficiency=requested / moved if moved and requested else 1.0,
        requested_bytes=float(requested),
        integer_instructions=_number(work, _INTEGER),
        single_instructions=_number(work, _SINGLE),
        double_instructions=_number(work, _DOUBLE),
        warp_instructions=slots / WARP_SIZE,
        instructions_per_clock_per_sm=ipc,
    )


def predicted_ipc(
    workload: Workload,
    gpu: Gpu,
    clocks: Clocks | None = None,
    parameters: TimeParameters = DEFAULT_TIME_PARAMETERS,
) -> float:
    """Warp instructions per clock and SM that our own time model expects, the launch itself left out."""
    clocks = clocks or Clocks()
    time_s = predict_time(workload, gpu, clocks, parameters).time_s - parameters.launch_overhead_s
    issued = workload.issue_slots_per_warp * workload.warps
    return issued / (time_s * 1e6 * core_clock_mhz(gpu, clocks) * gpu.sm_count)


def lane_slots(threads_per_block: int, issued_per_warp: float) -> float:
    """Lane slots of issued instructions per launched thread: a partly filled warp occupies all its lanes."""
    if not issued_per_warp > 0:
        raise ValueError("the kernel executes no instruction")
    warps = -(-threads_per_block // WARP_SIZE)
    return issued_per_warp * WARP_SIZE * warps / threads_per_block


def _number(work: LaunchWork, kinds: str) -> float:
    return sum(work.instructions.number(InstructionKind(kind)) for kind in kinds.split())
