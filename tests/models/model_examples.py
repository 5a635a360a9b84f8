"""Examples with known watts, for every model: a small power law with noise, over benchmarks and clocks."""

import random

from msgspec.structs import replace

from wattslice_models.contract import Example, RepeatedLaunch, SliceSample, Subject
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import load_gpu
from wattslice_models.workload import Instructions, Workload

GPU = load_gpu("v100_pcie")


def subject(
    density: float, saturation: float = 1.0, core_mhz: float = 1380.0, gpu_id: str = GPU.id
) -> Subject:
    """A kernel of one global slice with `density` fp32 operations per access."""
    gpu = load_gpu(gpu_id)
    workload = Workload(
        blocks=max(1, round(saturation * gpu.sm_count * 8)),
        threads_per_block=256,
        active_warps_per_sm=64,
        instructions=Instructions(fp32=64 * density, integer=32, load_store=64, other=8),
        l1_bytes=256,
        l2_bytes=256,
        dram_bytes=256,
        global_loads=64,
        dependent_loads=16,
        footprint_bytes=1e9,
    )
    return Subject(
        gpu=gpu,
        clocks=Clocks(core_mhz, gpu.memory_clock_mhz),
        launches=(RepeatedLaunch(workload),),
        slices=(SliceSample("global", density, saturation, 12, 1.0),),
    )


def power_w(density: float, saturation: float, core_mhz: float) -> float:
    """The law: a regression of the published form whose coefficients follow the clock."""
    return (60.0 * saturation + 30.0 * density**0.3) * (0.4 + 0.6 * core_mhz / 1380.0)


def examples(noise: float = 0.02, seed: int = 1) -> tuple[Example, ...]:
    """Six benchmarks, each with twelve densities at three clocks."""
    chance = random.Random(seed)
    return tuple(
        Example(
            dataset="law",
            benchmark=f"b{number}",
            kernel="k",
            arguments=f"density={density:g}",
            subject=subject(density, saturation, core_mhz),
            power_w=power_w(density, saturation, core_mhz) * (1 + noise * chance.uniform(-1, 1)),
            time_s=1e-3,
        )
        for number, saturation in enumerate((1.0, 0.9, 0.7, 0.5, 0.8, 1.0))
        for density in (0.25 * 2.0 ** (step + number / 6) for step in range(12))
        for core_mhz in (705.0, 1087.0, 1380.0)
    )


def in_doubt(example: Example) -> Example:
    """The same with counts that nobody is sure of."""
    launches = tuple(
        replace(one, workload=replace(one.workload, doubt="guessed")) for one in example.subject.launches
    )
    return replace(example, subject=replace(example.subject, launches=launches))
