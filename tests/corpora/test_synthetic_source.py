"""Our own analyzer reads from the generated text what was asked for."""

from pathlib import Path

import pytest

from wattslice.analysis import KernelAnalysis, LaunchSource
from wattslice.config.config import Options, make_config
from wattslice.ir import MemorySpace, Severity
from wattslice.pipeline.files import analyze_file
from wattslice_corpora.synthetic import (
    KERNEL_NAME,
    AccessWeights,
    InputData,
    OperationKind,
    Pattern,
    SliceSpec,
    Space,
    default_grid,
    plan,
    source,
)
from wattslice_models.access_power import access_power_factors
from wattslice_models.gpu import load_gpu

GPU = load_gpu("h200")
FACTORS = access_power_factors(GPU)
WEIGHTS = AccessWeights(FACTORS.shared_memory, FACTORS.constant_memory, FACTORS.texture_memory)
SLICED_AS = {Space.L2: MemorySpace.GLOBAL, Space.REGISTERS: MemorySpace.REGISTER}
OPERATION_FIELD = {OperationKind.INT: "integer"}


def spec(space: Space, kind: OperationKind, density: float | None, *rest) -> SliceSpec:
    return SliceSpec(space, kind, density, GPU.sm_count, *rest, access_weight=WEIGHTS.of(space))


SPECS = (
    *(spec(space, OperationKind.FP32, 0.25) for space in (Space.GLOBAL, Space.L2, Space.SHARED)),
    *(spec(space, OperationKind.FP64, 8200.0) for space in Space if space is not Space.REGISTERS),
    *(spec(Space.REGISTERS, kind, None, 0.6) for kind in OperationKind),
    *(spec(Space.GLOBAL, OperationKind.FP16, 0.25, 0.1, pattern) for pattern in Pattern),
    spec(Space.SHARED, OperationKind.FP32, 30.0, 0.8, Pattern.RANDOM, InputData.ZEROS),
    spec(Space.L2, OperationKind.TENSOR, 30.0, 0.8, Pattern.STRIDED, InputData.ZEROS),
)


@pytest.mark.parametrize(
    "number", [pytest.param(one, marks=pytest.mark.slow) if one % 4 else one for one in range(40)]
)
def test_the_analyzer_reads_what_the_grid_asks_for(number: int, tmp_path: Path):
    assert_it_is_read(default_grid(GPU.sm_count, WEIGHTS)[number], tmp_path)


@pytest.mark.parametrize("wanted", sorted(set(SPECS), key=SPECS.index), ids=lambda wanted: wanted.name)
@pytest.mark.slow
def test_the_analyzer_reads_what_was_asked_for(wanted: SliceSpec, tmp_path: Path):
    assert_it_is_read(wanted, tmp_path)


def assert_it_is_read(wanted: SliceSpec, tmp_path: Path):
    file = tmp_path / f"{wanted.name}.cu"
    file.write_text(source(wanted), encoding="utf-8")
    analysis = analyze_file(file, make_config(Options(paths=(file,), gpu="h200")))
    assert [d for d in analysis.diagnostics if d.severity is not Severity.NOTE] == []
    (kernel,) = analysis.kernels
    assert kernel.name == KERNEL_NAME
    assert kernel.launch.source is LaunchSource.HOST_CODE
    assert {one.message for one in kernel.assumptions} <= {
        "argc assumed 1: that decides the arguments of slice"
    }
    assert kernel.launch.grid == (wanted.blocks, 1, 1)
    assert kernel.resources is not None
    assert kernel.resources.sm_saturation == pytest.approx(wanted.saturation, abs=0.5 / GPU.sm_count)
    assert_the_slice(kernel, wanted)


def assert_the_slice(kernel: KernelAnalysis, wanted: SliceSpec):
    """One slice, of the space and density wanted, with exactly the operations that were planned."""
    (only,) = kernel.slices
    numbers = plan(wanted)
    assert only.memory_space is (SLICED_AS.get(wanted.space) or MemorySpace(wanted.space.value))
    assert only.compute_ops == numbers.operations
    assert only.memory_ops_weighted == pytest.approx(wanted.access_weight * numbers.accesses)
    if wanted.density is None:
        assert only.arithmetic_density is None
    else:
        assert only.arithmetic_density == pytest.approx(wanted.density, rel=0.05)
    assert kernel.work is not None
    own = getattr(kernel.work.counts_per_thread, OPERATION_FIELD.get(wanted.kind, wanted.kind.value))
    assert own >= numbers.mains_per_trip * numbers.iterations
