"""Launches read from real CUDA host code: constant memory, members, objects, function pointers."""

from __future__ import annotations

from functools import partial

import pytest

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_callers, read_cuda
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.relevance import relevance_of
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice_models.gpu import load_gpu

GPU = load_gpu("v100")


def launches(tmp_path, text):
    path = tmp_path / "a.cu"
    path.write_text(text)
    return resolve_launches(read_cuda(path), NO_OVERRIDES, GPU)


CONSTANTS = """
struct Common { int n; float f; int m[4]; };
__constant__ Common common;
__constant__ int width;
__constant__ int table[4];
__global__ void k(float *x)
{
    for (int i = 0; i < common.n; i++) x[i] += 1;
    for (int i = 0; i < common.m[1]; i++) x[i] += 1;
    for (int i = 0; i < width; i++) x[i] *= 2;
    for (int i = 0; i < table[2]; i++) x[i] *= 2;
}
int main(int argc, char **argv)
{
    Common c;
    c.n = 37; c.f = 2; c.m[1] = 5;
    int w = 21, t[4] = {1, 2, 3, 4};
    cudaMemcpyToSymbol(common, &c, sizeof(Common));
    cudaMemcpyToSymbol(width, &w, sizeof(int));
    cudaMemcpyToSymbol(table, t, sizeof(t));
    k<<<4, 32>>>(0);
}
"""


def test_values_copied_to_constant_memory_are_counted_with(tmp_path):
    (launch,) = launches(tmp_path, CONSTANTS)
    assert [loop.trip_count for loop in count(launch).loops] == [37, 5, 21, 3]


def test_constant_memory_of_unknown_content_stays_unknown(tmp_path):
    (launch,) = launches(tmp_path, CONSTANTS.replace("w = 21", "w = atoi(argv[1])"))
    trips = [loop.trip_count for loop in count(launch).loops]
    assert trips == [37, 5, None, 3]


BODIES = [
    ("array member of a device property",
     "cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); k<<<p.multiProcessorCount, p.maxThreadsDim[0]>>>(1);",
     "", (80, 1024, 1)),
    ("array in a struct", "S s; s.n[0] = 3; s.n[2] = 64; s.m = 7; k<<<s.n[0], s.n[2]>>>(s.m);",
     "struct S { int m; int n[3]; };", (3, 64, 7)),
    ("copied back", "int n = 0; cudaMemcpy(&n, device, 4, cudaMemcpyDeviceToHost); k<<<5, 32>>>(n);",
     "int *device;", (5, 32, None)),
    ("memcpy", "S a, b; a.m = 9; memcpy(&b, &a, sizeof(S)); k<<<b.m, 32>>>(b.m);",
     "struct S { int m; };", (9, 32, 9)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "before", "expected"), [pytest.param(*b[1:], id=b[0]) for b in BODIES])
def test_one_launch(tmp_path, body, before, expected):
    text = f"__global__ void k(int n) {{ }}\n{before}\nint main() {{ {body} return 0; }}\n"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.block[0], launch.arguments[0]) == expected
    assert launch.source is LaunchSource.HOST_CODE


POINTERS = """
__global__ void k(int n) { }
__global__ void k2(int n) { }
void launch1(int n, int b) { k<<<n / b, b>>>(n); }
void launch2(int n, int b) { k2<<<n / b, b>>>(n); }
typedef void (*Launcher)(int, int);
void run(Launcher f, int n) { f(n, 64); }
void wrap(Launcher f, int n) { run(f, n); }
template <class F, class... A> void bench(int times, F f, A &&...args)
{
    for (int i = 0; i < times; i++) f(args...);
}
int main() { wrap(launch1, 1024); Launcher g = &launch2; run(g, 2048); bench(3, launch1, 4096, 32); }
"""


def test_launches_behind_function_pointers(tmp_path):
    found = [(k.kernel.name, k.grid[0], k.block[0], k.arguments[0]) for k in launches(tmp_path, POINTERS)]
    assert found == [("k", 16, 64, 1024), ("k", 128, 32, 4096), ("k2", 32, 64, 2048)]


CHOSEN = """
__global__ void k0(int n) { }
__global__ void k1(int n) { }
__global__ void k2(int n) { }
int main()
{
    void (*kernel)(int) = k0;
    for (int k = 0; k < 3; k++) {
        int threads = 64;
        switch (k) {
        case 1: kernel = &k1; threads = 128; break;
        case 2: kernel = k2; threads = 256; break;
        }
        kernel<<<16, threads>>>(k);
    }
}
"""


def test_a_launch_through_a_pointer_is_of_each_kernel_it_holds(tmp_path):
    found = launches(tmp_path, CHOSEN)
    assert [(k.kernel.name, k.block[0], k.arguments[0]) for k in found] == [
        ("k0", 64, 0),
        ("k1", 128, 1),
        ("k2", 256, 2),
    ]
    assert {k.source for k in found} == {LaunchSource.HOST_CODE}


def test_variables_of_two_files_are_one(tmp_path):
    (tmp_path / "main.cpp").write_text("extern const int LEAST; void run(int);\nint main() { run(LEAST); }\n")
    path = tmp_path / "a.cu"
    path.write_text(
        "__global__ void k(int n) { }\nextern const int LEAST = 12;\nvoid run(int n) { k<<<n, 32>>>(n); }\n"
    )
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, GPU, Neighbours(partial(read_callers, path)))
    assert (launch.grid[0], launch.arguments[0], launch.source) == (12, 12, LaunchSource.HOST_CODE)


REFERENCE = """
__global__ void k(int n) { }
int sizeOf(int n) { int size = 1; while (size < n) size *= 2; return size; }
float reference(const float *x, int n) { float sum = 0; for (int i = 0; i < n; i++) sum += x[i]; return sum; }
int main()
{
    int n = 1000, errors = 0;
    float *x = (float *)malloc(n * 4);
    for (int i = 0; i < n; i++) x[i] = i;
    int size = sizeOf(n);
    k<<<size / 32, 32>>>(size);
    float sum = reference(x, n);
    for (int i = 0; i < n; i++) errors += x[i] != sum;
    if (errors) return 1;
    if (size > 4096) return 2;
    k<<<1, size / 2>>>(n);
    return 0;
}
"""


def test_what_no_launch_depends_on_is_not_interpreted(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(REFERENCE)
    program = read_cuda(path)
    found = relevance_of(program, CallGraph(program))
    assert {function.name for function in found.unfollowed} == {"reference"}
    main_function = next(function for function in program.functions if function.name == "main")
    skipped = {stmt.span.line for stmt in main_function.body.statements if stmt in found.skipped}
    assert skipped == {7, 8, 9, 12, 13, 14}  # of line 7: errors
    assert [(k.grid[0], k.block[0]) for k in launches(tmp_path, REFERENCE)] == [(32, 32), (1, 512)]


PICTURE = """
__global__ void k(int n) { }
struct Picture { const char *data; int width; int at(int x) const { return data[x % width]; } };
int check(const Picture &picture, int *sums) {
  for (int x = 0; x < 100; x++) sums[x] += picture.at(x);
  return sums[0];
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 64;
  static int sums[100];
  k<<<n, 32>>>(n);
  const Picture picture = {argv[0], n};
  return check(picture, sums);
}
"""


def test_a_pointer_in_a_record_makes_no_other_member_matter(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(PICTURE)
    program = read_cuda(path)
    found = relevance_of(program, CallGraph(program))
    assert {function.name for function in found.unfollowed} == {"check", "at"}
    assert [(k.grid[0], k.block[0]) for k in launches(tmp_path, PICTURE)] == [(64, 32)]


def test_a_member_that_a_method_sets_matters(tmp_path):
    text = (
        "__global__ void k(int n) { }\n"
        "struct Sizes { char *name; int n; void set(int *p) { *p = 7; name = 0; } };\n"
        "int main(int argc, char **argv) { Sizes s; s.name = argv[0]; s.set(&s.n);\n"
        "  if (s.name == 0) k<<<s.n, 32>>>(s.n); }\n"
    )
    assert [(k.grid[0], k.arguments[0]) for k in launches(tmp_path, text)] == [(7, 7)]


OBJECTS = """
__global__ void k(int n) { }
class Work {
public:
    Work(int n, unsigned block) : n_(n), block_(block) { extra_ = 3; }
    void run() { int b = block_; k<<<(n_ + b - 1) / b, block_>>>(extra_ + twice()); }
    void operator()() { run(); }
    int twice() const { return n_ * 2; }
    static int half(int n) { return n / 2; }
private:
    int n_; unsigned block_; int extra_;
};
void other(Work &w) { w.run(); }
int main()
{
    Work a(1000, 128);
    a.run();
    Work *b = new Work(2000, 64);
    b->run();
    Work c(Work::half(600), 32);
    c();
    Work d(4096, 256);
    other(d);
    return 0;
}
"""


def test_methods_know_their_object(tmp_path):
    found = [(k.grid[0], k.block[0], k.arguments[0]) for k in launches(tmp_path, OBJECTS)]
    assert sorted(found) == [(8, 128, 2003), (10, 32, 603), (16, 256, 8195), (32, 64, 4003)]


def test_callbacks_are_entry_points_though_calls_of_them_are_dead(tmp_path):
    text = """
    __global__ void k(int n) { }
    void glutDisplayFunc(void (*callback)());
    static int n = 0;
    void display() { k<<<n, 32>>>(n); }
    int main() { n = 96; if (n < 0) display(); glutDisplayFunc(display); return 0; }
    """
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.source) == ((96, 1, 1), LaunchSource.HOST_CODE)


def test_the_instance_that_a_dead_branch_launches_is_assumed(tmp_path):
    text = """
    template <int N> __global__ void k(int n) { }
    int main() {
      int size = 32; dim3 threads(size, size);
      if (size == 16) k<16><<<4, threads>>>(1); else k<32><<<4, threads>>>(2);
      return 0;
    }
    """
    found = {launch.arguments[0]: launch for launch in launches(tmp_path, text)}
    assert [found[n].source for n in (1, 2)] == [LaunchSource.ASSUMED, LaunchSource.HOST_CODE]
    (told,) = found[1].assumptions
    reason = "'size' is another than 16 with the values read or assumed; size assumed 16"
    assert told.message == f"{reason}: k<<<(4,1,1), (16,16,1)>>>"
    assert found[2].assumptions == ()


ARRAYS = """
template <class T> T *allocated(int n) { T *t; cudaMalloc((void **)&t, sizeof(T) * n); return t; }
__global__ void k(const int *at, const float *x, float *y, double *z, float *h, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[at[i]] + z[i] + h[i];
}
int main(int argc, char **argv)
{
    int n = 1000, *at;
    float *x, *h;
    cudaMalloc(&at, n * sizeof(int));
    cudaMallocManaged(&x, 4 * n * sizeof(float));
    double *z = allocated<double>(n);
    cudaMalloc(&h, atoi(argv[1]));
    float *y = at == NULL ? 0 : allocated<float>(n + 32) + 32;
    k<<<4, 256>>>(at, x + 128, y, z, h, n);
}
"""


def test_arrays_are_as_large_as_what_the_host_code_allocates(tmp_path):
    (launch,) = launches(tmp_path, ARRAYS)
    known = {str(getattr(array, "name", array)): size for array, size in launch.extents.items()}
    assert known == {"at": 4000, "x": 16000 - 512, "y": 4000, "z": 8000, "h": None}


VECTOR = """
#include <set>
__global__ void k(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }
int main(int argc, char **argv)
{
    std::multiset<float> values;
    for (int i = 0; i < 1000; ++i) values.insert(i % 7);
    float *x;
    cudaMalloc(&x, values.size() * sizeof(float));
    k<<<4, 256>>>(x, values.size());
}
"""


def test_what_fills_a_container_of_the_library_is_not_run(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(VECTOR)
    program = read_cuda(path)
    (loop,) = (s for s in ir.walk_statements(program.functions[0].body) if isinstance(s, ir.Loop))
    assert loop in relevance_of(program, CallGraph(program)).skipped


@pytest.mark.parametrize(
    ("query", "blocks"),
    [
        ("cudaGetDevice(&n); n += 5;", 5),
        ("cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0);", 80),
        ("cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, k, 256, 0);", 8),
        ("int block; cudaOccupancyMaxPotentialBlockSize(&n, &block, k, 0, 0); n += block;", 160 + 1024),
    ],
)
def test_what_the_runtime_says_of_the_device_is_known(tmp_path, query, blocks):
    text = f"__global__ void k(int x) {{}}\nint main() {{ int n; {query} k<<<n, 32>>>(1); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.source) == ((blocks, 1, 1), LaunchSource.HOST_CODE)


ENUMERATORS = """
namespace n9 { enum class Q2 { A, B }; }
enum R { A, B, C };
template <class T, R r, bool h, n9::Q2 q, int i> __global__ void k(T *x) {}
int main() { k<float, A, true, n9::Q2::B, 1><<<1, 32>>>(0); k<float, C, false, n9::Q2::A, -7><<<1, 32>>>(0); }
"""


def test_names_of_kernels_tell_enumerators_and_booleans_apart(tmp_path) -> None:
    names = [launch.kernel.qualified_name for launch in launches(tmp_path, ENUMERATORS)]
    assert names == ["k<float, 0, true, 1, 1>", "k<float, 2, false, 0, -7>"]
