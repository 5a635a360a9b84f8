# pyright: reportOptionalMemberAccess=false
# What is missing fails the test.

"""Device code of libraries that kernels call: CUB's collectives, libcu++, fp8, clusters; counted by hand."""

from __future__ import annotations

import pytest

from wattslice import analyze_text

from .lowered import lower

HEAD = """
#include <cub/cub.cuh>
#include <cuda/atomic>
#include <cuda/std/span>
#include <cooperative_groups.h>
#include <cuda_fp8.h>
"""


def kernel(text, launch):
    analysis = analyze_text(f"{HEAD}{text}\nint main() {{ {launch}; }}\n", gpu="v100")
    assert [told.message for told in analysis.diagnostics if told.rule != "PW030"] == []
    (found,) = analysis.kernels
    return found


SHUFFLED = (31 + 30 + 28 + 24 + 16) / 32
"""Additions of a thread in a reduction of its warp: one in each step with a partner."""


@pytest.mark.parametrize("threads", [32, 64, 256, 1024])
def test_a_block_reduces(threads):
    text = f"""
__global__ void k(const float *x, float *y) {{
    typedef cub::BlockReduce<float, {threads}> Reduce;
    __shared__ typename Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[blockIdx.x * blockDim.x + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}}"""
    found = kernel(text, f"k<<<512, {threads}>>>(0, 0)")
    counts, warps = found.work.counts_per_thread, threads // 32
    later = (warps - 1) / threads  # what thread 0 adds
    assert counts.fp32 == pytest.approx(SHUFFLED + later)
    assert counts.shared_store == pytest.approx((warps if warps > 1 else 0) / threads)
    assert counts.shared_load == pytest.approx(later)
    assert counts.barrier == (1 if warps > 1 else 0)
    assert (counts.global_load, counts.global_store) == (1, 1 / threads)
    assert {line.line for line in found.hot_lines} <= {8, 11, 12}  # nothing of our own headers


def test_items_of_a_thread_are_reduced_first():
    text = """
__global__ void k(const int *x, int *y) {
    typedef cub::BlockReduce<int, 128> Reduce;
    __shared__ typename Reduce::TempStorage storage;
    int items[4];
    for (int i = 0; i < 4; i++) items[i] = x[i * 128 + threadIdx.x];
    int most = Reduce(storage).Reduce(items, cub::Max());
    if (threadIdx.x == 0) y[blockIdx.x] = most;
}"""
    found = kernel(text, "k<<<512, 128>>>(0, 0)")
    assert (found.work.counts_per_thread.global_load, found.work.counts_per_thread.barrier) == (4, 1)


def test_a_block_scans():
    text = """
__global__ void k(const int *x, int *y) {
    typedef cub::BlockScan<int, 128> Scan;
    __shared__ typename Scan::TempStorage storage;
    int i = blockIdx.x * 128 + threadIdx.x, sum;
    Scan(storage).ExclusiveSum(x[i], sum);
    y[i] = sum;
}"""
    counts = kernel(text, "k<<<512, 128>>>(0, 0)").work.counts_per_thread
    # every thread: one store and one load; one warp of four: two loads and one store of four values each,
    # and the total of its last lane
    assert counts.shared_store == pytest.approx(1 + 4 / 4 + 1 / 128)
    assert counts.shared_load == pytest.approx(1 + 8 / 4)
    assert counts.barrier == 2


@pytest.mark.parametrize(("algorithm", "shared"), [("DIRECT", 0), ("STRIPED", 0), ("TRANSPOSE", 4)])
def test_a_block_loads_and_stores(algorithm, shared):
    text = f"""
__global__ void k(const int *x, int *y) {{
    typedef cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_{algorithm}> Load;
    typedef cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_{algorithm}> Store;
    __shared__ union {{ typename Load::TempStorage load; typename Store::TempStorage store; }} storage;
    int items[4];
    Load(storage.load).Load(x + blockIdx.x * 512, items);
    __syncthreads();
    Store(storage.store).Store(y + blockIdx.x * 512, items);
}}"""
    counts = kernel(text, "k<<<512, 128>>>(0, 0)").work.counts_per_thread
    assert (counts.global_load, counts.global_store) == (4, 4)
    assert (counts.shared_load, counts.shared_store) == (2 * shared, 2 * shared)
    assert counts.barrier == (3 if shared else 1)


def test_a_warp_reduces():
    text = """
__global__ void k(const float *x, float *y) {
    typedef cub::WarpReduce<float> Reduce;
    __shared__ typename Reduce::TempStorage storage[4];
    float sum = Reduce(storage[threadIdx.x / 32]).Sum(x[threadIdx.x]);
    if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = sum;
}"""
    counts = kernel(text, "k<<<512, 128>>>(0, 0)").work.counts_per_thread
    assert counts.fp32 == pytest.approx(SHUFFLED)
    assert (counts.shared_load, counts.shared_store, counts.barrier) == (0, 0, 0)


def test_a_reference_to_an_atomic():
    text = """
__global__ void k(int *bins, int *most) {
    cuda::atomic_ref<int, cuda::thread_scope_device> bin(bins[threadIdx.x]);
    bin.fetch_add(1, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_device> largest(*most);
    largest.fetch_max(7);
}"""
    counts = kernel(text, "k<<<512, 128>>>(0, 0)").work.counts_per_thread
    assert (counts.atomic, counts.global_load, counts.global_store) == (2, 0, 0)


def test_spans():
    text = """
__global__ void k(float *x, int n) {
    cuda::std::span<float> all(x, n);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < all.size()) all[i] = 2 * all[i];
}"""
    counts = kernel(text, "k<<<512, 128>>>(0, 65536)").work.counts_per_thread
    assert (counts.global_load, counts.global_store, counts.fp32) == (1, 1, 1)


def test_shared_memory_of_a_cluster():
    text = """
__global__ void __cluster_dims__(2, 1, 1) k(float *y) {
    __shared__ float own[128];
    auto cluster = cooperative_groups::this_cluster();
    own[threadIdx.x] = threadIdx.x;
    cluster.sync();
    y[threadIdx.x] = cluster.map_shared_rank(own, 1)[threadIdx.x];
}"""
    counts = kernel(text, "k<<<512, 128>>>(0)").work.counts_per_thread
    assert (counts.shared_load, counts.shared_store, counts.global_load) == (1, 1, 0)


def test_bytes_of_fp8():
    text = """
__global__ void k(const float *x, __nv_fp8_e4m3 *y, const __nv_fp8_e5m2 *z, float *w) {
    int i = threadIdx.x;
    y[i] = __nv_fp8_e4m3(x[i]);
    w[i] = float(z[i]);
}"""
    found = kernel(text, "k<<<512, 128>>>(0, 0, 0, 0)")
    assert found.work.bytes_per_thread == pytest.approx(4 + 1 + 1 + 4)
    assert found.work.counts_per_thread.integer >= 2  # one conversion each


LIBRARIES = """
#include <thrust/sort.h>
#include <cublas_v2.h>
__global__ void k(float *x) { x[threadIdx.x] = 1; }
// thrust::sort(a, b);
#if 0
void f() { cublasSgemm(h); }
#endif
int main() {
    cublasHandle_t h; cublasCreate(&h); const char *text = "cublasSgemm(";
    float *x, a = 1;
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &a, x, 1, x, 1, &a, x, 1); cublasSetStream(h, 0);
    thrust::sort(x, x + 5); thrust::reduce<int>(x, x + 2);
    cub::DeviceReduce::Sum(0, 0, x, x, 5);
    k<<<1, 32>>>(x);
}
"""


def test_what_libraries_run_is_told():
    analysis = analyze_text(LIBRARIES, gpu="v100")
    notes = [entry for entry in analysis.diagnostics if entry.rule == "PW005"]
    told = [(entry.line, entry.message.split("'")[1]) for entry in notes]
    assert told == [
        (12, "cublasSgemm"),
        (13, "thrust::reduce"),
        (13, "thrust::sort"),
        (14, "cub::DeviceReduce::Sum"),
    ]


@pytest.mark.parametrize(
    "call",
    [
        "thrust::sort(x, x)",
        "::cub::DeviceReduce::Sum(0, 0, x, x, 5)",
        "cublasSgemm(x)",
        "cufftExecC2C(x)",
        "cusparseSpMV(x)",
        "cusolverDnSgetrf(x)",
        "cudnnConvolutionForward(x)",
        "curandGenerateUniform(x)",
        "at::matmul(x, x)",
        "torch::mm(x, x)",
    ],
)
def test_every_library_is_found_by_itself(call: str):
    text = f"__global__ void k(float *x) {{ *x = 1; }}\nint main() {{ float *x; {call}; k<<<1, 32>>>(x); }}\n"
    notes = [entry.message for entry in analyze_text(text, gpu="v100").diagnostics if entry.rule == "PW005"]
    name = call.partition("(")[0].removeprefix("::")
    assert [note for note in notes if note.startswith(f"work of '{name}' on the GPU")]


@pytest.mark.parametrize("header", ["cub/cub.cuh", "cub/block/block_load.cuh", "cub/block/block_store.cuh"])
def test_each_header_of_cub_has_the_bodies(header):
    text = f"""#include <{header}>
__global__ void k(const float *x, float *y, int n) {{
    float items[4];
    cub::BlockLoad<float, 128, 4, cub::BLOCK_LOAD_STRIPED>().Load(x, items, n);
    y[threadIdx.x] = items[3];
}}
int main() {{ k<<<1, 128>>>(0, 0, 256); }}
"""
    analysis = analyze_text(text, gpu="v100")
    assert [told.rule for told in analysis.diagnostics] == ["PW030"]
    assert analysis.kernels[0].work.counts_per_thread.global_load == 2  # of four, half of the threads each


def test_constants_of_the_standard_library_are_constants():
    found = kernel(
        """
#include <algorithm>
constexpr int most(std::initializer_list<int> of) { return std::max(of); }
template <int A, int B> struct T {
    static constexpr int least = std::min(A, B), big = most({A, B, 64}), held = std::clamp(A, 10, 100);
};
__global__ void k(const float *x, float *y) {
    float sum = 0;
    for (int j = 0; j < T<8, 5>::least; ++j) sum += x[j];
    y[threadIdx.x] = std::max(sum, 1.0f);
}""",
        "k<<<T<128, 3>::held, T<128, 3>::big>>>(0, 0)",
    )
    assert (found.launch.grid[0], found.launch.block[0]) == (100, 128)
    assert found.work.counts_per_thread.global_load == 5


EXCHANGES = [("StripedToBlocked", 1), ("BlockedToStriped", 1), ("BlockedToWarpStriped", 1)]


@pytest.mark.parametrize(("way", "barriers"), EXCHANGES, ids=[way for way, _ in EXCHANGES])
def test_an_exchange_goes_by_way_of_shared_memory(way, barriers):
    found = kernel(
        f"""
#include <cub/block/block_exchange.cuh>
__global__ void k(const float *x, float *y) {{
    __shared__ cub::BlockExchange<float, 128, 4>::TempStorage shared;
    float items[4] = {{x[threadIdx.x], 1, 2, 3}};
    cub::BlockExchange<float, 128, 4>(shared).{way}(items, items);
    y[threadIdx.x] = items[0] + items[3];
}}""",
        "k<<<1, 128>>>(0, 0)",
    )
    counts = found.work.counts_per_thread
    assert (counts.shared_store, counts.shared_load, counts.barrier) == (4, 4, barriers)


def test_a_scan_asks_once_a_block_for_what_came_before():
    found = kernel(
        """
#include <cub/block/block_scan.cuh>
struct Op {
    __device__ float2 operator()(float2 a, float2 b) const { return make_float2(a.x * b.x, a.y * b.x + b.y); }
};
struct Before {
    float2 kept;
    __device__ float2 operator()(float2 total) { float2 old = kept; kept = total; return old; }
};
__global__ void k(const float2 *x, float2 *y) {
    float2 items[2] = {x[threadIdx.x], x[threadIdx.x + 128]};
    Before before{make_float2(1, 0)};
    cub::BlockScan<float2, 128>().InclusiveScan(items, items, Op(), before);
    y[threadIdx.x] = items[1];
}""",
        "k<<<1, 128>>>(0, 0)",
    )
    assert found.work.counts_per_thread.barrier == 3  # two of the scan, one for what came before
    shuffles = {one.name: one.number for one in found.work.instructions_per_thread}["shfl"]
    assert shuffles * 128 == 2 * 6 * 32  # both halves, by one warp


RANDOM = "#include <curand_kernel.h>\n"
DRAWS = """
__global__ void draw({state} *states, {type} *o) {{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    {state} own = states[id];
    {calls}
    states[id] = own;
}}"""
XORWOW, PHILOX = "curandState", "curandStatePhilox4_32_10_t"


@pytest.mark.parametrize(
    ("state", "call", "type_", "sass"),  # of a call: what two calls more add for sm_80, halved
    [
        (XORWOW, "curand_uniform", "float", {"ffma": 1, "conversion": 1, "lop": 3}),
        (XORWOW, "curand_uniform_double", "double", {"dfma": 1, "wide_conversion": 1, "lop": 7}),
        (XORWOW, "curand_normal2", "float2", {"ffma": 16, "fmul": 8, "mufu": 3, "conversion": 3, "lop": 7}),
        (XORWOW, "curand_normal_double", "double", {"dfma": 20, "dmul": 7.5, "dadd": 4.5, "mufu": 1}),
        (PHILOX, "curand4", "uint4", {"imad": 41.5, "lop": 24}),
        (PHILOX, "curand_uniform4", "float4", {"imad": 40.5, "lop": 24, "ffma": 4, "conversion": 4}),
        (PHILOX, "curand_normal4", "float4", {"imad": 43.5, "ffma": 32, "fmul": 16, "mufu": 6}),
    ],
)
def test_random_numbers_cost_what_they_cost_in_sass(
    state: str, call: str, type_: str, sass: dict[str, float]
):
    calls = [f"o[{64 * place} + id * 7] = {call}(&own);" for place in range(3)]
    texts = [
        RANDOM + DRAWS.format(state=state, type=type_, calls=" ".join(calls[:number])) for number in (1, 3)
    ]
    works = [kernel(text, "draw<<<64, 256>>>(0, 0)").work.instructions_per_thread for text in texts]
    few, more = ({count.name: count.number for count in work} for work in works)
    for kind, number in sass.items():
        assert (more[kind] - few.get(kind, 0.0)) / 2 == pytest.approx(number, rel=0.2, abs=0.5), kind


@pytest.mark.parametrize(("subsequence", "products"), [("0", 0), ("1", 1), ("5", 2), ("255ull << 20", 12)])
def test_beginning_a_sequence_takes_as_long_as_its_number_says(subsequence: str, products: int):
    """XORWOW jumps ahead by one product with a matrix of 160 x 5 words for each unit of each two bits."""
    text = f"__global__ void begin(curandState *s) {{ curand_init(1, {subsequence}, 0, s + threadIdx.x); }}"
    counts = kernel(RANDOM + text, "begin<<<1, 32>>>(0)").work.counts_per_thread
    bits = 160 * products
    assert counts.global_load == pytest.approx(bits / 2 * 5 + bits, rel=0.1, abs=30)


def test_what_checks_and_frees_is_no_work_of_a_library():
    text = (
        "#define cublasTry(x) do { if (x) return; } while (0)\n__global__ void k(float *p) { p[0] = 1; }\n"
        "void f(cublasHandle_t h, float *p) {\n  k<<<1, 32>>>(p);\n  cublasTry(cublasSscal(h, 4, p, p, 1));\n"
        "  cublasErrCheck(cublasIsamax(h, 4, p, 1, 0));\n  cublasShutdown(); cublasFree(p);\n}\n"
    )
    said = [one for one in analyze_text(text).diagnostics if one.rule == "PW005"]
    assert [(one.line, one.message.split("'")[1]) for one in said] == [
        (5, "cublasSscal"),
        (6, "cublasIsamax"),
    ]


@pytest.mark.parametrize(
    ("of", "size_bytes"),  # sizeof, by nvcc 13
    [
        ("barrier<cuda::thread_scope_block>", 8),
        ("barrier<cuda::thread_scope_device>", 8),
        ("pipeline_shared_state<cuda::thread_scope_block, 1>", 24),
        ("pipeline_shared_state<cuda::thread_scope_block, 4>", 72),
    ],
)
def test_what_synchronizes_in_shared_memory_takes_its_bytes(of: str, size_bytes: int):
    text = f"#include <cuda/barrier>\n#include <cuda/pipeline>\nusing T = cuda::{of};\n"
    text += "__global__ void k(int *x) { __shared__ T a, b; x[0] = (int)(long)&a + (int)(long)&b; }"
    assert kernel(text, "k<<<1, 32>>>(0)").resources.shared_bytes_per_block == 2 * size_bytes


def test_work_of_a_library_behind_macros_of_a_header_is_told_with_its_library(tmp_path):
    (tmp_path / "h.h").write_text(
        "#define cublascall(call) do { int status = (call); if (status) throw 1; } while (0)\n"
        "#define GEMM(h, ...) CHECK_CUBLAS(cublasSgemm(h, __VA_ARGS__))\n"
        "#define CHECK_CUBLAS(x) cublasAssert((x))\ninline void cublasAssert(int s) {}\n"
        "inline void cublasMine(int n) {}\n"
    )
    text = """#include "h.h"
    __global__ void k(float *p) { p[0] = 1; }
    void f(cublasHandle_t h, float *p) {
      cublascall(cublasCreate(&h));
      cublascall(cublasSscal(h, 4, p, p, 1));
      CHECK_CUBLAS(cublasDgemm(h, p));
      GEMM(h, p); cublasMine(4); cublasAssert(0);
      k<<<1, 32>>>(p);
    }"""
    said = [one for one in lower(tmp_path, text).diagnostics if one.rule == "PW005"]
    assert [(one.line, one.message.split("'")[1]) for one in said] == [
        (5, "cublasSscal"),
        (6, "cublasDgemm"),
        (7, "cublasSgemm"),
    ]
    assert all(one.message.endswith("not counted: it is that of cuBLAS") for one in said)
