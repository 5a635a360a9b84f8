"""`for (auto i : range)` over a class of the user: counted and lowered as the loop that it stands for."""

from pathlib import Path

import pytest

from wattslice.workload.instructions import InstructionKind, lower_instructions

from .counted import counted

GRID_STRIDE = """
struct strided {
  struct iterator {
    int i, step;
    __device__ iterator(int i, int step) : i(i), step(step) {}
    __device__ int operator*() const { return i; }
    __device__ iterator& operator++() { i += step; return *this; }
    __device__ bool operator!=(const iterator& o) const { return i < o.i; }
  };
  int b, e, s;
  __device__ strided(int b, int e, int s) : b(b), e(e), s(s) {}
  __device__ iterator begin() const { return iterator(b, s); }
  __device__ iterator end() const { return iterator(e, s); }
};
__device__ strided grid_stride_range(int b, int e) {
  return strided(b + blockDim.x * blockIdx.x + threadIdx.x, e, gridDim.x * blockDim.x);
}
"""
OF_TEMPLATES = """
template <typename T> struct base_iterator {
  __device__ base_iterator(T at) : at(at) {}
  __device__ T operator*() const { return at; }
  __device__ base_iterator& operator++() { ++at; return *this; }
  __device__ bool operator==(base_iterator const& o) const { return at == o.at; }
  __device__ bool operator!=(base_iterator const& o) const { return not(*this == o); }
  T at;
};
template <typename T> struct range_proxy {
  struct iter : base_iterator<T> { __device__ iter(T at) : base_iterator<T>(at) {} };
  __device__ range_proxy(T b, T e) : b(b), e(e) {}
  __device__ iter begin() const { return b; }
  __device__ iter end() const { return e; }
  iter b, e;
};
template <typename T> __device__ range_proxy<T> range(T b, T e) { return {b, e}; }
"""
FREE = """
struct it { int v; __device__ int operator*() const { return v; } __device__ void operator++() { v++; } };
__device__ bool operator!=(it a, it b) { return a.v != b.v; }
struct upto { int n; __device__ it begin() const { return {0}; } __device__ it end() const { return {n}; } };
"""
VIEW = """
struct view { float* p; int n; __device__ float* begin() const { return p; }
  __device__ float* end() const { return p + n; } };
"""
CASES = {
    "grid stride": (
        GRID_STRIDE,
        "for (auto i : grid_stride_range(0, n)) y[i] = x[i] + 1.0f;",
        "for (int i = blockDim.x * blockIdx.x + threadIdx.x, s = gridDim.x * blockDim.x; i < n; i += s)"
        " y[i] = x[i] + 1.0f;",
    ),
    "of a template with a base": (
        OF_TEMPLATES,
        "float s = 0; for (auto i : range(0, n)) s += x[i]; y[threadIdx.x] = s;",
        "float s = 0; for (int i = 0; i != n; ++i) s += x[i]; y[threadIdx.x] = s;",
    ),
    "operators beside the class": (
        FREE,
        "float s = 0; for (int i : upto{n}) s += x[i]; y[threadIdx.x] = s;",
        "float s = 0; for (int i = 0; i != n; ++i) s += x[i]; y[threadIdx.x] = s;",
    ),
    "pointers": (
        VIEW,
        "float s = 0; for (float v : view{x, n}) s += v; y[threadIdx.x] = s;",
        "float s = 0; for (float* p = x; p != x + n; ++p) s += *p; y[threadIdx.x] = s;",
    ),
    "pointers, by reference": (
        VIEW,
        "for (float& v : view{y, n}) v += 1.0f;",
        "for (float* p = y; p != y + n; ++p) *p += 1.0f;",
    ),
}


def _known(folder: Path, before: str, body: str) -> tuple[float | None, dict[InstructionKind, float]]:
    text = f"{before}\n__global__ void k(int n, float* x, float* y) {{ {body} }}"
    launch, profile = counted(folder, text, "k=8:64", "n=4096")
    assert launch.kernel.body_is_complete
    mix = lower_instructions(launch.kernel, profile)
    (loop,) = profile.loops
    return loop.trip_count, {kind: mix.number(kind) for kind in _KINDS}


_KINDS = (InstructionKind.LDG, InstructionKind.STG, InstructionKind.FADD, InstructionKind.BRANCH)


@pytest.mark.parametrize(("before", "ranged", "written"), CASES.values(), ids=CASES)
def test_a_range_is_the_loop_that_it_stands_for(tmp_path: Path, before: str, ranged: str, written: str):
    trips, _ = wanted = _known(tmp_path, before, written)
    assert trips is not None
    assert _known(tmp_path, before, ranged) == wanted
