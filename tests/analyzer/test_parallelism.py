"""How many loads are under way at once."""

import pytest

from wattslice.workload.parallelism import MOST_IN_FLIGHT, loads_in_flight

from .counted import counted


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[threadIdx.x] = 1.0f;", 1),
        ("y[threadIdx.x] = x[threadIdx.x];", 1),
        ("y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x + 32];", 2),
        ("float s = 0; for (int i = 0; i < 64; ++i) s += x[i * 32]; y[0] = s;", 4),
        ("float s = 0; for (int i = 0; i < 64; ++i) s += x[i * 32] * x[i]; y[0] = s;", 8),
        ("float s = 0; for (int i = 0; i < 2; ++i) s += x[i * 32]; y[0] = s;", 2),
        ("float s = 0;\n#pragma unroll 8\nfor (int i = 0; i < 64; ++i) s += x[i]; y[0] = s;", 8),
        (
            "float s = 0;\n#pragma unroll 32\nfor (int i = 0; i < 64; ++i) s += x[i]; y[0] = s;",
            MOST_IN_FLIGHT,
        ),
        ("float s = 0; for (int i = 0; i < 64; ++i) { s += x[i]; __syncthreads(); } y[0] = s;", 1),
        ("int i = 0; for (int j = 0; j < 64; ++j) i = at[i]; y[0] = i;", 1),
    ],
)
def test_loads_in_flight(tmp_path, body, expected):
    source = f"__global__ void k(const float *x, const int *at, float *y) {{ {body} }}"
    launch, profile = counted(tmp_path, source, "k=1:32")
    assert loads_in_flight(launch.kernel, profile) == expected
