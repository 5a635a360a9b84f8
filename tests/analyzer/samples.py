"""Hand-built analyses for the tests of reports and gate: no frontend, no model needed."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from wattslice.analysis import (
    Analysis,
    ArmAnalysis,
    Basis,
    BranchClass,
    InstructionCount,
    KernelAnalysis,
    KernelSource,
    Launch,
    LaunchSource,
    LineHeat,
    MethodWatts,
    Power,
    Resources,
    SliceAnalysis,
    Work,
)
from wattslice.counting.profile import LoopTrips, ProbabilitySource
from wattslice.ir import Diagnostic, MemorySpace, Severity
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import Assumption

Part = TypeVar("Part")

MATMUL = KernelAnalysis(
    name="matMul",
    source=KernelSource("matMul<16>", "_Z6matMulILi16EEvPfS0_S0_i", "src/matmul.cu", 12, 40),
    launch=Launch(
        (64, 64, 1), (16, 16, 1), LaunchSource.HOST_CODE, 88, times_unknown="it is part of a graph"
    ),
    power_limit_w=300.0,
    resources=Resources(2048, 40, sm_saturation=1.0, occupancy=0.75),
    work=Work(
        OperationCounts(
            fp32=2048.0,
            integer=96.5,
            control=20.0,
            global_load=2,
            global_store=1,
            shared_load=2048,
            barrier=32,
        ),
        (InstructionCount("ffma", 1024.0), InstructionCount("lds", 2048.0)),
        bytes_per_thread=516.0,
    ),
    power=Power(183.25, 160.5, 205.0, static_w=53.55, may_hit_limit=False),
    time_s=1.2e-3,
    energy_j=0.2199,
    limited_by="fp32",
    basis=Basis("energy", "bspm", BranchClass.SPARSE, MethodWatts(188.5, 186.0, 183.25)),
    slices=(
        SliceAnalysis(
            MemorySpace.GLOBAL,
            ("A", "B", "C"),
            (14, 15, 16, 22, 38),
            7.0,
            20.5,
            512.0,
            25.0,
            1.0,
            170.0,
            0.35,
            time_share=0.378,
            average_power_w=64.14,
        ),
        SliceAnalysis(
            MemorySpace.SHARED,
            ("tileA", "tileB"),
            (19, 20, 28, 29, 30, 31),
            130.0,
            1.5,
            1536.0,
            1024.0,
            1.0,
            191.5,
            0.65,
            time_share=0.622,
            average_power_w=119.11,
        ),
        SliceAnalysis(MemorySpace.REGISTER, (), (33,), 3.0, None, 4.0, 0.0, 1.0, None, None),
    ),
    hot_lines=(
        LineHeat("src/matmul.cu", 29, 96.2, 0.61, "            sum += tileA[ty][k] * tileB[k][tx];"),
        LineHeat("src/matmul.cu", 20, 24.0, 0.152, "        tileA[ty][tx] = A[row * n + t * TILE + tx];"),
        LineHeat("src/tile.cuh", 7, 9.0, 0.057, "        return make_float4(a.x, a.y, a.z, 0.0f);"),
        LineHeat("src/matmul.cu", 38, 0.5, 0.003, "    C[row * n + col] = sum;"),
    ),
    loops=(LoopTrips(18, 3, 64.0, 64.0), LoopTrips(28, 5, None, 16.0)),
    arms=(
        ArmAnalysis(36, "then", 0.97, 0.97, 0.97, ProbabilitySource.STATIC, 1.5, 0.01),
        ArmAnalysis(
            31, "then", 0.16, 0.0, 0.53, ProbabilitySource.DEFAULT, 18.3, 0.116, 179.2, 201.4, "src/tile.cuh"
        ),
        ArmAnalysis(22, "else", 0.03, 0.03, 0.03, ProbabilitySource.PROFILE, 2.4, 0.015),
    ),
    assumptions=(
        Assumption(
            "PW010", 18, "trip count of the loop over 'n' unknown: n assumed 1024", "--set matMul.n=..."
        ),
        Assumption("PW012", 36, "branch on data: probability of 'then' assumed 0.5", "--profile FILE"),
    ),
)
"""A kernel with everything known but one slice without memory access."""


def there(part: Part | None) -> Part:
    """A record of an analysis that is known."""
    assert part is not None
    return part


def changed(kernel: KernelAnalysis, **values: Any) -> KernelAnalysis:
    """`kernel` with other values; those of a record that it has as a dictionary: `source={"line": 3}`."""
    parts = {
        name: replace(getattr(kernel, name), **value) if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return replace(kernel, **parts)


UNKNOWN = changed(
    MATMUL,
    name="histogram",
    source={"qualified_name": "histogram", "line": 50, "end_line": 70},
    launch=Launch(
        (640, 1, 1), (2048, 1, 1), LaunchSource.ASSUMED, None, times_unknown="no launch of it was found"
    ),
    work={"bytes_per_thread": None},
    power=None,
    time_s=None,
    energy_j=None,
    limited_by=None,
    slices=(),
    hot_lines=(),
    arms=(),
    basis={"methods": MethodWatts()},
    assumptions=(),
)
"""A kernel whose power nobody can tell."""

HOT = changed(
    MATMUL,
    name="burn",
    source={"qualified_name": "gpu::burn<float, 4>", "file": "src/burn.cu", "line": 8, "end_line": 30},
    power={"power_w": 287.0, "low_w": 255.0, "high_w": 310.0, "may_hit_limit": True},
    assumptions=(),
)
"""A kernel at the power limit."""

DIAGNOSTICS = (
    Diagnostic("PW001", Severity.WARNING, "src/matmul.cu", 3, "unknown type name 'flaot'"),
    Diagnostic(
        "PW014",
        Severity.ERROR,
        "src/matmul.cu",
        50,
        "histogram: power unknown: 2048 threads per block, at most 1024 can run",
    ),
)

ANALYSIS = Analysis(
    gpu_id="v100",
    gpu_name="Tesla V100 SXM2 16GB",
    gpu_source="default",
    files=("src/matmul.cu", "src/burn.cu"),
    kernels=(MATMUL, UNKNOWN, HOT),
    diagnostics=DIAGNOSTICS,
)
FOUR = replace(
    ANALYSIS,
    kernels=(
        MATMUL,
        UNKNOWN,
        HOT,
        changed(MATMUL, name="scale", source={"qualified_name": "scale", "line": 80}),
    ),
)
EMPTY = replace(ANALYSIS, kernels=(), diagnostics=())
