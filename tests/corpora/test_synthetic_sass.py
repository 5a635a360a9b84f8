"""The compiler keeps every operation and every load of a slice, and finds nothing to warn of."""

import shutil
from pathlib import Path

import pytest

from wattslice_corpora.synthetic import (
    InputData,
    OperationKind,
    Pattern,
    SliceSpec,
    Space,
    intensity_sweep,
    plan,
)
from wattslice_tools.wild.sass import find_nvdisasm

from .synthetic_sass import compiled, loop_counts, promised

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nvcc,
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH"),
    pytest.mark.skipif(find_nvdisasm() is None, reason="no nvdisasm (the wheel nvidia-cuda-nvdisasm has it)"),
]
WEIGHT = 0.1
SAMPLE = (
    SliceSpec(Space.GLOBAL, OperationKind.FP32, 0.25, 132),
    SliceSpec(Space.GLOBAL, OperationKind.INT, 8200.0, 132, 1.0, Pattern.RANDOM),
    SliceSpec(Space.L2, OperationKind.FP16, 4.0, 132, 1.0, Pattern.STRIDED),
    SliceSpec(Space.L2, OperationKind.TENSOR, 25.0, 132),
    SliceSpec(Space.SHARED, OperationKind.FP64, 0.25, 132, access_weight=WEIGHT),
    SliceSpec(Space.SHARED, OperationKind.TENSOR, 80.0, 132, 1.0, Pattern.STRIDED, access_weight=WEIGHT),
    SliceSpec(Space.CONSTANT, OperationKind.FP16, 25.0, 132, access_weight=WEIGHT),
    SliceSpec(Space.CONSTANT, OperationKind.SPECIAL, 250.0, 132, 1.0, Pattern.RANDOM, access_weight=WEIGHT),
    SliceSpec(Space.TEXTURE, OperationKind.FP64, 25.0, 132),
    SliceSpec(Space.REGISTERS, OperationKind.SPECIAL, None, 132),
    SliceSpec(Space.REGISTERS, OperationKind.FP32, None, 132, data=InputData.ZEROS),
)


WHOLE = {spec.space: spec for spec in SAMPLE}.values()
"""One of each space, whose host part nvcc compiles as well."""


@pytest.mark.parametrize("spec", SAMPLE, ids=lambda spec: spec.name)
def test_the_compiler_keeps_all_operations_and_loads(spec: SliceSpec, tmp_path: Path):
    said, function = compiled(spec, tmp_path, is_whole=spec in WHOLE)
    assert said == ""
    assert loop_counts(spec, function) == promised(spec, plan(spec))


@pytest.mark.parametrize(
    ("number", "architecture"), [(0, "sm_90"), (6, "sm_80"), (12, "sm_80"), (23, "sm_90")]
)
def test_the_intensity_sweep_is_what_it_says(number: int, architecture: str, tmp_path: Path):
    point = intensity_sweep(132)[number]
    said, function = compiled(point.spec, tmp_path, architecture)
    assert said == ""
    assert loop_counts(point.spec, function) == promised(point.spec, plan(point.spec))
