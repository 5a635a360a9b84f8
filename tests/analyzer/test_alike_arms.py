"""What both arms of a branch begin with is done once, in front of it: loads of SASS of nvcc 13, per warp."""

from __future__ import annotations

import pytest

from wattslice.counting.count import count
from wattslice.workload.instructions import lower_instructions
from wattslice.workload.launch_work import launch_work, residency
from wattslice_models.gpu import load_gpu

from .source_text import launch_of, launched

LONG = "for (int j = 0; j < r; j++) x = x * {} + 1.0f;"


def branching(then: str, otherwise: str) -> str:
    arms = (
        f"if (i % 2) {{ {then} {LONG.format('x')} o[i] = x; }}"
        f" else {{ {otherwise} {LONG.format('0.5f')} o[i] = x; }}"
    )
    return (
        "__global__ void k(float *a, float *b, float *o, int r)"
        f" {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {arms} }}\n"
        "int main() { k<<<8, 64>>>(0, 0, 0, 64); }"
    )


@pytest.mark.parametrize(
    ("then", "otherwise", "loads"),
    [
        ("float x = a[i];", "float x = a[i];", 1),
        ("float x = a[i] + b[i];", "float x = a[i] * b[i];", 2),
        ("float x = a[i] - b[i];", "float x = b[i] - a[i];", 4),  # not in the same order
        ("float y = b[i]; float x = a[i] + y;", "float x = a[i];", 3),
        ("o[i + 1] = 3; float x = a[i];", "float x = a[i];", 2),  # behind a store
        ("float x = 1; for (int j = 0; j < r; j++) x *= x; x += a[i];", "float x = a[i];", 2),
        ("__syncthreads(); float x = a[i];", "__syncthreads(); float x = a[i];", 2),
    ],
)
def test_loads_of_a_warp(then, otherwise, loads):
    kernel, profile = launched(branching(then, otherwise))
    made = {one.name: one.number for one in lower_instructions(kernel, profile).per_warp}
    assert made["ldg"] == loads


def test_their_sectors_are_moved_once():
    gpu = load_gpu("a100")
    moved = []
    for then in ("float x = a[i];", "float x = 2 * b[i];"):
        launch = launch_of(branching(then, "float x = a[i];"))
        moved.append(launch_work(launch, residency(launch, gpu), count(launch)).traffic.l1_bytes)
    assert moved[0] < moved[1]
