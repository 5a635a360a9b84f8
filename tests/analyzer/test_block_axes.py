"""Which indices of the block an address is computed from."""

import pytest

from wattslice.ir.accesses import memory_accesses
from wattslice.workload.traffic import block_axes

from .counted import counted

ALL = {0, 1, 2}


@pytest.mark.parametrize(
    ("body", "axes"),
    [
        ("y[threadIdx.x] = 1;", set()),
        ("y[blockIdx.x] = 1;", {0}),
        ("int row = blockIdx.y * 16 + threadIdx.y; row *= n; y[row + blockIdx.z] = 1;", {1, 2}),
        ("for (int i = blockIdx.y; i < n; i += gridDim.y) y[i] = 1;", {1}),
        ("int i = 0; i += sum(blockIdx.x, n); y[i] = 1;", {0}),
        ("int i; put(blockIdx.x, &i); y[i] = 1;", {0}),
        ("int i; frexpf(blockIdx.x, &i); y[i] = 1;", ALL),
        ('int b; asm("mov.u32 %0, %ctaid.y;" : "=r"(b)); y[b] = 1;', ALL),
        ("y[at[threadIdx.x]] = 1;", ALL),
        ("y[width + threadIdx.x] = 1;", set()),  # constant memory is the same for all
        ("if (blockIdx.x == 0) y[threadIdx.x] = 1;", set()),
    ],
)
def test_axes_are_those_of_the_values_an_address_is_made_of(tmp_path, body, axes):
    source = f"""__constant__ int width;
    __device__ int sum(int a, int b) {{ return a + b; }}
    __device__ void put(int a, int *to) {{ *to = a; }}
    __global__ void k(int *y, const int *at, int n) {{ {body} }}"""
    launch, _ = counted(tmp_path, source, "k=8,8,8:32", "n=8")
    (store,) = (a for a in memory_accesses(launch.kernel) if a.is_store and a.root and a.root.name == "y")
    assert block_axes(launch.kernel, store) == axes
