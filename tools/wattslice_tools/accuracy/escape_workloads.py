"""What ESCAPE's time model asks of a kernel of which tables keep a workload and nothing more."""

from __future__ import annotations

from wattslice_models.escape_time import WARP_SIZE, KernelCharacteristics
from wattslice_models.workload import Workload
from wattslice_tools.accuracy.escape_characteristics import lane_slots


def workload_characteristics(workload: Workload, ipc: float) -> KernelCharacteristics:
    """Table 8 of a workload: branches stand under miscellaneous, conversions
    under single precision, and of the bytes only those moved are known, asked for with an efficiency of 1.
    The times of Table 11 add up to nearly the same, except on Fermi.

    Raises ``ValueError`` for a kernel that executes nothing, and where the bytes are unknown.
    """
    executed = workload.instructions
    slots = lane_slots(workload.threads_per_block, workload.issue_slots_per_warp)
    moved = workload.l1_bytes
    if moved is None:
        raise ValueError("how many bytes the kernel moves is unknown")
    return KernelCharacteristics(
        inactive_share=max(0.0, 1.0 - workload.instructions_per_thread / slots),
        miscellaneous_share=(executed.other + executed.tensor / 128) / slots,
        control_flow_share=0.0,
        memory_efficiency=1.0,
        requested_bytes=moved,
        integer_instructions=executed.integer,
        single_instructions=executed.fp32 + executed.fp16 + executed.special,
        double_instructions=executed.fp64,
        warp_instructions=slots / WARP_SIZE,
        instructions_per_clock_per_sm=ipc,
    )
