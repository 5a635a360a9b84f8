"""Time of a GPU kernel after ESCAPE D3.5 (2018), Tables 7 to 11: seven times, one after the other.

Inactive, miscellaneous and control-flow time come from the instructions that warps issue and from how many
go through in a clock; arithmetic from the peak rates; transfer from the bandwidth. Nothing overlaps: the
authors saw none in their OpenACC kernels (Section 3.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Generic

from msgspec import Struct

from wattslice_models.execution_time import Clocks, core_clock_mhz, memory_clock_scale
from wattslice_models.gpu import Gpu
from wattslice_models.quantity import Values

PUBLISHED_CELLS_FACTOR = 2.0
"""What the domain has to be multiplied by for Tables 9 and 10 to give the times of Tables 12 to 20.

With N as the paper states it (200 x 200 x 80 = 3.2 million cells) Table 11 gives half of every printed time,
and `requested_bytes` times N half of the traffic of Tables 1 to 3. The paper does not say why. Multiply N by
this wherever the *published* characteristics are used, and nowhere else.
"""
WARP_SIZE = 32
_ROUNDING = 1e-9


class KernelCharacteristics(Struct, frozen=True):
    """Table 8, independent of GPU and domain: counts are for one cell, or for whatever `gpu_time` counts.

    The three shares are parts of the lane slots that issued warps occupy (32 times the warp instructions):
    fractions, not percent. Raises ``ValueError`` for shares that are more than the whole together, for
    negative and non-finite numbers, and for an efficiency or a rate of zero.
    """

    inactive_share: float
    """P_i: lane slots of issued warps in which no thread executed anything."""
    miscellaneous_share: float
    """P_m"""
    control_flow_share: float
    """P_cfl"""
    memory_efficiency: float
    """G_e: bytes asked for over bytes moved. Exceeds 1 where lanes read the same word or caches serve them:
    no bound, and Table 11 then moves fewer bytes than are asked for."""
    requested_bytes: float
    """G_r: bytes of global memory that threads ask for."""
    integer_instructions: float
    """i_i"""
    single_instructions: float
    """i_f"""
    double_instructions: float
    """i_d"""
    warp_instructions: float
    """I_e: instructions that warps issue."""
    instructions_per_clock_per_sm: float
    """IPC_e"""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value: float = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} = {value}: must be finite and not negative")
        for name in ("memory_efficiency", "instructions_per_clock_per_sm"):
            if not getattr(self, name):
                raise ValueError(f"{name} = 0: must be positive")
        shares = self.inactive_share + self.miscellaneous_share + self.control_flow_share
        if shares > 1 + _ROUNDING:
            raise ValueError(
                f"inactive_share + miscellaneous_share + control_flow_share = {shares:g}: fractions of one"
                " whole, at most 1 together"
            )


class GpuCharacteristics(Struct, frozen=True):
    """Table 10: what the model knows about a GPU. ``None``: a rate that is unknown, or no such unit."""

    name: str
    architecture: str
    core_clock_hz: float
    """C_G"""
    sm_count: int
    """SM"""
    peak_double_flop_per_s: float | None
    """O_d; a multiply-add is two operations, as in O_f."""
    peak_single_flop_per_s: float
    """O_f"""
    peak_integer_op_per_s: float | None
    """O_i; one operation per instruction."""
    memory_bandwidth_bytes_per_s: float
    """G_max"""

    @staticmethod
    def from_gpu(gpu: Gpu, clocks: Clocks | None = None) -> GpuCharacteristics:
        """The same of a GPU of the catalogue, at `clocks`, else at those of the catalogue."""
        clocks = clocks or Clocks()
        hertz = 1e6 * core_clock_mhz(gpu, clocks)
        per_clock = gpu.sm_count * hertz
        double, integer = gpu.fp64_fma_per_clock_per_sm, gpu.int32_add_per_clock_per_sm
        return GpuCharacteristics(
            name=gpu.name,
            architecture=gpu.architecture.name,
            core_clock_hz=hertz,
            sm_count=gpu.sm_count,
            peak_double_flop_per_s=2.0 * double * per_clock if double else None,
            peak_single_flop_per_s=2.0 * gpu.fp32_fma_per_clock_per_sm * per_clock,
            peak_integer_op_per_s=integer * per_clock if integer else None,
            memory_bandwidth_bytes_per_s=gpu.memory_bandwidth_bytes_per_s * memory_clock_scale(gpu, clocks),
        )

    def transfer_efficiency(self, memory_efficiency: float) -> float:
        """G_e, on Fermi adjusted (Section 3.4): a quarter of it below 40 %, two thirds from there on."""
        if self.architecture != "fermi":
            return memory_efficiency
        return memory_efficiency * (0.25 if memory_efficiency < 0.4 else 2.0 / 3.0)


class GpuTime(Struct, Generic[Values], frozen=True):
    """Table 11: the seven times of one kernel, seconds."""

    idle_s: Values
    """T_i"""
    miscellaneous_s: Values
    """T_m"""
    control_flow_s: Values
    """T_cfl"""
    single_s: Values
    """T_cf"""
    double_s: Values
    """T_cd"""
    integer_s: Values
    """T_ci"""
    transfer_s: Values
    """T_t"""

    @property
    def compute_s(self) -> Values:
        """Column "Compute" of Tables 12 to 17: arithmetic of all three kinds."""
        return self.single_s + self.double_s + self.integer_s

    @property
    def inactive_s(self) -> Values:
        """Column "Inactive": inactive, miscellaneous and control-flow time together."""
        return self.idle_s + self.miscellaneous_s + self.control_flow_s

    @property
    def total_s(self) -> Values:
        """T_sim: the sum of all seven. Printed under "Total"; "Simulated" there is the measured time."""
        return self.compute_s + self.transfer_s + self.inactive_s


def gpu_time(kernel: KernelCharacteristics, gpu: GpuCharacteristics, cells: Values) -> GpuTime[Values]:
    """Table 11 for `cells` cells (N), one number or an array of domains.

    Published characteristics need N doubled: `PUBLISHED_CELLS_FACTOR`. Raises ``ValueError`` for arithmetic
    whose rate on this GPU is unknown.
    """
    issue_s = kernel.warp_instructions / (
        kernel.instructions_per_clock_per_sm * gpu.core_clock_hz * gpu.sm_count
    )
    efficiency = gpu.transfer_efficiency(kernel.memory_efficiency)
    transfer_s = kernel.requested_bytes / (gpu.memory_bandwidth_bytes_per_s * efficiency)
    single_s = 2.0 * kernel.single_instructions / gpu.peak_single_flop_per_s
    double_s = _arithmetic_s(2.0 * kernel.double_instructions, gpu.peak_double_flop_per_s, "double", gpu)
    integer_s = _arithmetic_s(kernel.integer_instructions, gpu.peak_integer_op_per_s, "integer", gpu)
    return GpuTime(
        idle_s=kernel.inactive_share * issue_s * cells,
        miscellaneous_s=kernel.miscellaneous_share * issue_s * cells,
        control_flow_s=kernel.control_flow_share * issue_s * cells,
        single_s=single_s * cells,
        double_s=double_s * cells,
        integer_s=integer_s * cells,
        transfer_s=transfer_s * cells,
    )


def kernels_time_s(kernels: Sequence[KernelCharacteristics], gpu: GpuCharacteristics, cells: float) -> float:
    """Seconds of kernels one after the other. Raises ``ValueError`` as `gpu_time`."""
    return math.fsum(gpu_time(kernel, gpu, cells).total_s for kernel in kernels)


def _arithmetic_s(operations: float, per_second: float | None, kind: str, gpu: GpuCharacteristics) -> float:
    if not operations:
        return 0.0
    if not per_second:
        raise ValueError(f"the {kind} rate of the {gpu.name} is unknown, and the kernel needs it")
    return operations / per_second
