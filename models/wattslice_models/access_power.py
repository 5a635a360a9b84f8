"""Power of a memory access relative to a global one: the factors r_i of Wang & Chen 2013, eq. (1).

The paper takes them from earlier work and prints no values. Here they are computed from measured energies:

* Tesla V100 PCIe and Quadro RTX 8000 from public microbenchmarks. ``shmembench`` launches 2^20 threads, each
  with 7 global accesses and 12 + 20 R shared ones for an iteration count R. A straight line through
  energy against R gives both energies. ``cachebench`` and its texture variant differ only in 4096 loads per
  thread.
* Tesla K40 from the GPUJoule table of energies per bit and path.

Caveats: energies are those of the whole board, idle power included, so that a slower access carries more of
it (probably most of the RTX 8000 texture factor); short kernels have launch gaps outside the measured time. A
texture access is an L1 hit plus the measured difference. A *constant* access was measured nowhere and is
taken as an L1 hit, presumably too much for a value broadcast to a warp. An L1 hit is a shared access times
the K40's relation of the two.

Arafa et al. 2020 cannot serve here: their table holds no memory instruction.
"""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path

from msgspec import Struct

from wattslice_models.gpu import Gpu, chip_of, load_gpu
from wattslice_models.types import PowerFactors

_FACTS = Path(__file__).parent / "trained" / "access_energy"

# shmembench: threads of a launch and accesses of a thread; 20 = 5 swaps of 4 accesses per iteration.
_SHMEMBENCH_THREADS = 2**20
_SHMEMBENCH_GLOBAL = 7
_SHMEMBENCH_SHARED_FIXED = 12
_SHMEMBENCH_SHARED_PER_ITERATION = 20


class AccessEnergies(Struct, frozen=True):
    """Energy of one 4-byte access of one thread, in joules, on one GPU; there is none for constant memory."""

    gpu_id: str
    global_j: float
    shared_j: float
    l1_hit_j: float
    texture_j: float
    source: str


class _Run(Struct, frozen=True):
    gpu_id: str
    benchmark: str
    iterations: int
    energy_j: float


def access_power_factors(gpu: Gpu) -> PowerFactors:
    """Factors r_0 ... r_3 for a GPU: its own measurement, else that of the nearest GPU measured.

    Nearest means the same chip, else the same architecture, else the same kind of memory (HBM: V100 PCIe;
    GDDR6 and newer: Quadro RTX 8000; older: Tesla K40): a global access is mostly an access to DRAM.
    """
    measured, why = _nearest(gpu)
    return PowerFactors(
        global_memory=1.0,
        shared_memory=measured.shared_j / measured.global_j,
        constant_memory=measured.l1_hit_j / measured.global_j,
        texture_memory=measured.texture_j / measured.global_j,
        provenance=f"{why}: {measured.source}; constant memory assumed to cost an L1 hit",
        gpu_matched=measured.gpu_id == gpu.id,
    )


def _nearest(gpu: Gpu) -> tuple[AccessEnergies, str]:
    known = _measured()
    if gpu.id in known:
        return _energies(gpu.id), f"measured on {gpu.name}"
    for one in known:
        if chip_of(one)[0] == gpu.chip:
            return _energies(one), f"carried over from {one}, the same chip {gpu.chip}"
    for one in known:
        if load_gpu(one).architecture.name == gpu.architecture.name:
            return _energies(one), f"carried over from {one}, the same architecture"
    if gpu.memory_type.startswith("HBM"):
        one = "v100_pcie"
    elif gpu.memory_type in ("GDDR3", "GDDR5", "GDDR5X"):
        one = "k40"
    else:
        one = "quadro_rtx_8000"
    return _energies(one), f"carried over from {one}, the nearest kind of memory to {gpu.memory_type}"


def measured_access_energies() -> tuple[AccessEnergies, ...]:
    """Access energies of every GPU for which measurements are at hand, computed from those."""
    return tuple(map(_energies, _measured()))


def _measured() -> tuple[str, ...]:
    return "k40", *dict.fromkeys(run.gpu_id for run in _benchmarks()[1])


@cache
def _energies(gpu_id: str) -> AccessEnergies:
    source, rows = _table("published.csv")
    per_bit_j = {row["path"]: float(row["energy_pj_per_bit"]) * 1e-12 for row in rows}
    if gpu_id != "k40":
        l1_over_shared = per_bit_j["L1 to registers"] / per_bit_j["shared memory to registers"]
        return _from_microbenchmarks(gpu_id, l1_over_shared)
    return AccessEnergies(
        gpu_id="k40",
        global_j=32 * (per_bit_j["L1 to registers"] + per_bit_j["L2 to L1"] + per_bit_j["DRAM to L2"]),
        shared_j=32 * per_bit_j["shared memory to registers"],
        l1_hit_j=32 * per_bit_j["L1 to registers"],
        # Kepler serves texture reads from a cache of the same level; the table has no separate path for it.
        texture_j=32 * per_bit_j["L1 to registers"],
        source=source,
    )


@cache
def _benchmarks() -> tuple[str, tuple[_Run, ...]]:
    source, rows = _table("microbenchmarks.csv")
    return source, tuple(
        _Run(
            gpu_id=row["gpu"],
            benchmark=row["benchmark"],
            iterations=int(row["iterations"]),
            energy_j=float(row["time_s"]) * float(row["power_w"]),
        )
        for row in rows
    )


def _from_microbenchmarks(gpu_id: str, l1_over_shared: float) -> AccessEnergies:
    source, every = _benchmarks()
    runs = [run for run in every if run.gpu_id == gpu_id]
    sweep = [run for run in runs if run.benchmark == "shmembench"]
    mean_iterations = math.fsum(run.iterations for run in sweep) / len(sweep)
    mean_j = math.fsum(run.energy_j for run in sweep) / len(sweep)
    slope_j = math.fsum((run.iterations - mean_iterations) * (run.energy_j - mean_j) for run in sweep)
    slope_j /= math.fsum((run.iterations - mean_iterations) ** 2 for run in sweep)
    intercept_j = mean_j - slope_j * mean_iterations
    shared_j = slope_j / _SHMEMBENCH_THREADS / _SHMEMBENCH_SHARED_PER_ITERATION
    global_j = intercept_j / _SHMEMBENCH_THREADS - _SHMEMBENCH_SHARED_FIXED * shared_j
    global_j /= _SHMEMBENCH_GLOBAL
    l1_hit_j = shared_j * l1_over_shared
    plain, texture = (
        next(run for run in runs if run.benchmark == benchmark)
        for benchmark in ("cachebench", "cachebench-tex-loads")
    )
    gpu = load_gpu(gpu_id)
    # cachebench fills the GPU with threads; every other one of its accesses is a load.
    loads = gpu.sm_count * gpu.max_threads_per_sm * plain.iterations // 2
    texture_j = l1_hit_j + (texture.energy_j - plain.energy_j) / loads
    return AccessEnergies(gpu_id, global_j, shared_j, l1_hit_j, texture_j, source)


def _table(name: str) -> tuple[str, list[dict[str, str]]]:
    source, *lines = (_FACTS / name).read_text(encoding="utf-8").splitlines()
    return source.removeprefix("# Source: "), list(csv.DictReader(lines))
