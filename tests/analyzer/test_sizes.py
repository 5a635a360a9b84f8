"""Sizes and launches that nobody gives agree with the kernel, the launch, the arrays and each other."""

from __future__ import annotations

import pytest

from wattslice import analyze_text
from wattslice.analysis import LaunchSource
from wattslice.counting.count import count
from wattslice.launches.launch import Overrides, Setting
from wattslice.launches.sizes import assumed_sizes

from .geometry import launches

STRIDE = """__global__ void k(float *x, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= 2;
}
"""
CHECK = """__global__ void g(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
"""


def sizes(launch):
    return {parameter.name: value for parameter, value in assumed_sizes(launch).items()}


def of_body(tmp_path, body, call, parameters="float *x, int n", before=""):
    text = f"{before}__global__ void k({parameters}) {{ {body} }}\nvoid f({parameters}) {{ {call} }}\n"
    (launch,) = launches(tmp_path, text)
    return launch


def test_a_grid_stride_loop_of_unknown_length_keeps_all_threads_busy(tmp_path):
    (launch,) = launches(tmp_path, STRIDE + "void f(float *x, int n) { k<<<512, 256>>>(x, n); }")
    assert launch.source is LaunchSource.HOST_CODE
    assert sizes(launch) == {"n": 512 * 256}
    profile = count(launch)
    assert [loop.assumed for loop in profile.loops] == [1.0]
    assert [entry.message for entry in profile.assumptions] == [
        "value of parameter 'n' unknown: n assumed 131072"
    ]


INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
GUARDS = [
    ("if (i < n)", INDEX + "if (i < n) x[i] = 1;", 25600),
    ("if (i <= n)", INDEX + "if (i <= n) x[i] = 1;", 25599),
    ("if (n > i)", INDEX + "if (n > i) x[i] = 1;", 25600),
    ("return", INDEX + "if (i >= n) return; x[i] = 1;", 25600),
    ("a part", INDEX + "if (i < n / 4) x[i] = 1;", 4 * 25600),
    ("twice", INDEX + "if (i < 2 * n) x[i] = 1;", 12800),
    ("a shift", INDEX + "if (i < (n >> 2)) x[i] = 1;", 4 * 25600),
    ("a rim", INDEX + "if (i > 0 && i < n - 1) x[i] = 1;", 25601),
    ("a local", INDEX + "int m = n - 1; if (i < m) x[i] = 1;", 25601),
    ("four each", INDEX + "int e = 4 * i; if (e + 3 < n) x[e] = 1;", 4 * 25599 + 3 + 1),
    ("blocks", "if (blockIdx.x < n) x[threadIdx.x] = 1;", 100),
    ("threads", "if (threadIdx.x < n) x[threadIdx.x] = 1;", 256),
    ("a tile", "int i = blockIdx.x * 1024 + threadIdx.x; if (i < n) x[i] = 1;", 99 * 1024 + 256),
    ("rows", "for (int r = blockIdx.x; r < n; r += gridDim.x) x[r] = 1;", 100),
    ("a block alone", "for (int c = threadIdx.x; c < n; c += blockDim.x) x[c] = 1;", 1024),
    ("a choice", INDEX + "x[i] = i < n ? x[i] : 0.f;", 25600),
    ("a choice the other way round", INDEX + "float v = 0; v += i >= n ? 0 : x[i]; x[i] = v;", 25600),
    ("the lesser", INDEX + "x[i] = x[min(i, n - 1)];", 25600),
    ("a named check", INDEX + "const bool in = i < n; if (in) x[i] = 1;", 25600),
    ("a named check, not held", INDEX + "const bool in = i < n && x; if (!in) return; x[i] = 1;", 25600),
    ("a named check in a choice", INDEX + "const bool in = i < n; x[i] = in ? x[i] : 0;", 25600),
    ("while", INDEX + "while (i < n) { x[i] = 1; i += gridDim.x * blockDim.x; }", 25600),
]


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*g[1:], id=g[0]) for g in GUARDS])
def test_a_size_is_what_its_comparison_with_the_threads_needs(tmp_path, body, expected):
    assert sizes(of_body(tmp_path, body, "k<<<100, 256>>>(x, n);")) == {"n": expected}


def test_a_size_that_no_thread_is_compared_with_stays_open(tmp_path):
    assert sizes(of_body(tmp_path, "for (int i = 0; i < n; i++) x[i] = 1;", "k<<<8, 32>>>(x, n);")) == {}


def test_two_sizes_of_one_check_multiply_to_what_is_covered(tmp_path):
    launch = of_body(
        tmp_path, INDEX + "if (i < w * h) x[i] = 1;", "k<<<512, 256>>>(x, w, h);", "float *x, int w, int h"
    )
    found = sizes(launch)
    assert found["w"] * found["h"] == 512 * 256


def test_axes_are_told_apart(tmp_path):
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;"
    call = "k<<<dim3(8, 4), dim3(32, 16)>>>(x, w, h);"
    launch = of_body(tmp_path, body + "if (i < w && j < h) x[j * w + i] = 1;", call, "float *x, int w, int h")
    assert sizes(launch) == {"w": 256, "h": 64}


def test_arrays_bound_a_size(tmp_path):
    main = "int main(int c, char **v) {{ float *x; cudaMalloc(&x, 20000 * 4); int n = atoi(v[1]); {} }}"
    (launch,) = launches(tmp_path, STRIDE + main.format("k<<<2, 256>>>(x, n);"))
    assert sizes(launch) == {"n": 20000}
    (launch,) = launches(tmp_path, CHECK + main.format("g<<<100, 256>>>(x, n);"))
    assert sizes(launch) == {"n": 20000}
    (launch,) = launches(tmp_path, CHECK + main.format("g<<<10, 256>>>(x, n);"))
    assert sizes(launch) == {"n": 2560}


def test_one_variable_has_one_value(tmp_path):
    text = f"""{STRIDE}{CHECK}
    __global__ void h(float *x, int m) {{ for (int i = 0; i < m; i++) x[i] *= 2; }}
    __global__ void d(float *x, int m) {{ x[blockIdx.x * blockDim.x + threadIdx.x] = m; }}
    void f(float *x, int n) {{
        k<<<512, 256>>>(x, n); g<<<100, 256>>>(x, n);
        h<<<1, 32>>>(x, 2 * n); d<<<(n + 255) / 256, 256>>>(x, n);
    }}"""
    stride, check, plain, derived = launches(tmp_path, text)
    assert (sizes(stride), sizes(check)) == ({"n": 25600}, {"n": 25600})
    assert sizes(plain) == {"m": 51200}
    assert derived.grid == (100, 1, 1)
    assert derived.arguments[1] == 25600
    assert derived.source is LaunchSource.ASSUMED
    assert "n assumed 25600" in derived.assumptions[0].message
    assert {launch.source for launch in (stride, check, plain)} == {LaunchSource.HOST_CODE}


SHAPES = [
    ("x alone", "x[blockIdx.x * blockDim.x + threadIdx.x] = 1;", "", (640, 1, 1), (256, 1, 1)),
    ("two of both", "x[(blockIdx.y * blockDim.y + threadIdx.y) * n + blockIdx.x * blockDim.x + threadIdx.x]"
     " = 1;", "", (32, 20, 1), (16, 16, 1)),
    ("rows of blocks", "x[blockIdx.y * n + blockIdx.x * blockDim.x + threadIdx.x] = 1;",
     "", (32, 20, 1), (256, 1, 1)),
    ("a width of its own", "x[(blockIdx.y * 8 + threadIdx.y) * n + blockIdx.x * 32 + threadIdx.x] = 1;",
     "", (32, 20, 1), (32, 8, 1)),
    ("a tile", "__shared__ float s[32][33]; s[threadIdx.y][threadIdx.x] = x[n];"
     "__syncthreads(); x[n] = s[threadIdx.x][threadIdx.y];", "", (640, 1, 1), (32, 32, 1)),
    ("a flat tile", "int tx = threadIdx.x; __shared__ float s[256]; s[threadIdx.y * 16 + tx] = x[n];",
     "", (640, 1, 1), (16, 16, 1)),
    ("bounded", "x[threadIdx.y * blockDim.x + threadIdx.x] = 1;", "__launch_bounds__(64)",
     (640, 1, 1), (8, 8, 1)),
    ("three", "x[(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x] = 1;", "",
     (640, 1, 1), (8, 8, 4)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "bounds", "grid", "block"), [pytest.param(*shape[1:], id=shape[0]) for shape in SHAPES]
)
def test_a_launch_that_nobody_gives_has_the_dimensions_that_the_kernel_uses(
    tmp_path, body, bounds, grid, block
):
    (launch,) = launches(tmp_path, f"__global__ void {bounds} k(float *x, int n) {{ {body} }}")
    assert (launch.grid, launch.block) == (grid, block)
    assert launch.source is LaunchSource.ASSUMED


def test_a_two_dimensional_kernel_that_nobody_launches_does_its_work(tmp_path):
    body = """__global__ void k(float *x, int w, int h) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
        if (i >= w || j >= h) return;
        x[j * w + i] = 1;
    }"""
    (launch,) = launches(tmp_path, body)
    assert count(launch).thread_counts[-1] == 1.0  # nobody returns early


_PARTLY = """
__global__ void k(float *x) { x[threadIdx.y * 4 + threadIdx.x] = blockIdx.x + blockIdx.y; }
int *table(void);
int main() { k<<<GRID, BLOCK>>>(0); }
"""


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        ("100", "dim3(4, table()[3])", ((100, 1, 1), (4, 64, 1))),
        ("dim3(table()[2], 7)", "64", ((91, 7, 1), (64, 1, 1))),
        ("dim3(table()[2], 7)", "dim3(table()[3], 4, 2)", ((91, 7, 1), (4, 4, 2))),
        ("dim3(table()[2], 0)", "64", ((32, 20, 1), (64, 1, 1))),
    ],
)
def test_what_is_known_of_a_grid_or_block_is_kept(tmp_path, grid, block, expected):
    (launch,) = launches(tmp_path, _PARTLY.replace("GRID", grid).replace("BLOCK", block))
    assert (launch.grid, launch.block) == expected
    assert launch.source is LaunchSource.ASSUMED


_IN_VECTORS = """
struct Config { float2 scale; int2 dims; };
Config read_config(); int2 read_dims(); int read_one();
__global__ void k(float *x) { x[threadIdx.x] = 1; }
int main() {
  Config config = read_config(); int2 dims = read_dims(), made; made.y = read_one(); k<<<SIZE, 32>>>(0);
}
"""


@pytest.mark.parametrize("size", ["config.dims.x", "dims.y", "made.y"])
def test_what_is_in_a_vector_is_assumed_by_name(tmp_path, size):
    (launch,) = launches(tmp_path, _IN_VECTORS.replace("SIZE", size))
    assert [told.fix for told in launch.assumptions] == [f"--set {size}=VALUE"]
    known = Overrides(settings=(Setting(size.rpartition(".")[0], size.rpartition(".")[2], 5),))
    (launch,) = launches(tmp_path, _IN_VECTORS.replace("SIZE", size), known)
    assert (launch.grid[0], launch.source) == (5, LaunchSource.HOST_CODE)


_ALLOCATED = """
#include <stdlib.h>
__global__ void k(float *x) { x[threadIdx.x] = 1; }
int main() { int *h = (int *)malloc(64); h[0] = 7; h[1] = 9; BODY; k<<<h[0] + h[1], 32>>>(0); }
"""


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("*(char *)h = 3", None),
        ("((unsigned char *)h)[5] = 3", None),
        ("char *c = (char *)h; c[6] = 3", None),
        ("*(short *)&h[1] = 3", None),
        ("char *c = (char *)malloc(8); c[0] = c[1] = 1; h[0] = *(int *)c", None),
        ("((char *)h)[8] = 3", 16),
        ("char *c = (char *)malloc(8); c[0] = 5; h[0] = c[0]", 14),
        ("h[1] = 2", 9),
    ],
)
def test_a_part_of_a_number_that_is_written_leaves_the_number_unknown(tmp_path, body, grid):
    (launch,) = launches(tmp_path, _ALLOCATED.replace("BODY", body))
    assert (launch.grid[0] if launch.source is LaunchSource.HOST_CODE else None) == grid


RANGES = """
__global__ void sums(const float *x, float *y, int first, int end, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = first; j < end; ++j) sum += x[j];
    y[i] = sum;
}
__global__ void part(const float *x, float *y, int first, int end) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + first;
    if (i < end) y[i] = x[i];
}
__global__ void all(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 0;
}
"""


def test_what_an_index_begins_with_is_0_where_nobody_tells_it():
    """`first` was as large as `end`: the kernels did nothing."""
    sums, part, _ = analyze_text(RANGES, gpu="v100").kernels
    told = {assumed.message for assumed in (*sums.assumptions, *part.assumptions)}
    assert {told for told in told if "first" in told} == {
        "value of parameter 'first' unknown: first assumed 0"
    }
    assert [loop.trip_count or loop.assumed for loop in sums.loops] == [1024]
    assert part.work is not None
    assert part.work.counts_per_thread.global_store == 1


def test_a_host_variable_that_is_also_a_size_is_no_0():
    host = "void run(float *x, int m) { part<<<64, 256>>>(x, x, m, 2 * m); all<<<64, 256>>>(x, m); }"
    _, all_ = analyze_text(RANGES + host, gpu="v100").kernels[1:]
    assert all_.work is not None
    assert all_.work.counts_per_thread.global_store == 1
    assert any("n assumed 16384" in told.message for told in all_.assumptions)


@pytest.mark.parametrize(
    ("kernel", "trips"),
    [
        ("for (int i = first; i > 0; i >>= 1) x[i] = n;", 11),
        ("for (int i = 1; i < n; i += first) x[i] = 1;", 1),
        ("for (int i = first + threadIdx.x * first; i < n; i += 32) x[i] = 1;", None),
        ("for (int i = first; i < n; ++i) x[i] = 1;", 1024),
        ("for (int i = first + threadIdx.x; i < n; i += 32) x[i] = 1;", 32),
    ],
)
def test_what_is_scaled_or_stepped_by_does_not_begin_with_0(kernel: str, trips: int | None):
    text = (
        f"__global__ void k(float *x, int first, int n) {{ {kernel} }}\nvoid f(float *x, int a, int b) {{\n"
    )
    (found,) = analyze_text(text + "k<<<1, 32>>>(x, a, b); }\n", gpu="v100").kernels
    assumed = {told.message.split()[-3]: int(told.message.split()[-1]) for told in found.assumptions}
    assert (assumed["first"] == 0) == (trips in (1024, 32))


@pytest.mark.parametrize("step", ["i *= 2", "i <<= 1", "i = i * 2", "i = i << 1"])
@pytest.mark.parametrize(
    "loop",
    ["for (int i = first; i < n; {step}) x[i] = 1;", "int i = first; while (i < n) {{ x[i] = 1; {step}; }}"],
)
def test_what_grows_by_a_factor_begins_with_1(loop: str, step: str):
    """Both were 1024: the loop did not run."""
    text = f"__global__ void k(float *x, int first, int n) {{ {loop.format(step=step)} }}\n"
    (found,) = analyze_text(text, gpu="v100").kernels
    assert [loop.trip_count for loop in found.loops] == [10]
    assert "value of parameter 'first' unknown: first assumed 1" in [a.message for a in found.assumptions]


def test_the_number_of_a_template_of_no_instance_is_an_assumption_of_its_kernel():
    text = """
    template <int N> __global__ void k(float *x) { for (int i = 0; i < N; ++i) x[threadIdx.x + i * 32] += N; }
    template <int N, int M = 7> __global__ void wide(float *x) { x[M] = 0; if (N >= 64) x[threadIdx.x] = N; }
    template <int N> __global__ void known(float *x) { if (N >= 64) x[threadIdx.x] = N; }
    void f(float *x) { known<64><<<1, 32>>>(x); }
    """
    kernels = {kernel.name: kernel for kernel in analyze_text(text, gpu="v100").kernels}
    told = {
        name: [(a.line, a.message.split(": ")[1]) for a in kernel.assumptions if a.rule == "PW010"]
        for name, kernel in kernels.items()
    }
    assert told == {
        "k": [(2, "N assumed 32")],
        "wide": [(3, "M assumed 7"), (3, "N assumed 32")],
        "known": [],
    }


def test_a_name_of_two_functions_has_a_value_in_each():
    text = """
    __global__ void big(float *x, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) x[i] = 1; }
    __global__ void small(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
    void f(float *x, int n) { big<<<10000, 256>>>(x, n); }
    void g(float *x, int n) { small<<<1, 64>>>(x, n); }
    """
    big, small = analyze_text(text, gpu="v100").kernels
    assert [told.message for told in big.assumptions] == ["value of parameter 'n' unknown: n assumed 2560000"]
    assert [told.message for told in small.assumptions] == ["value of parameter 'n' unknown: n assumed 64"]
