"""Launches however they are written: lambdas, pointers to kernels, tables, macros, graphs, the driver."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.counting.count import count
from wattslice.counting.state import NotCountedError
from wattslice.errors import Severity
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.project.runs import parse_arguments
from wattslice.launches import kernel_shape, sizes
from wattslice.launches.host_code import HostCode
from wattslice.launches.launch import NO_OVERRIDES, Overrides, Setting
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice_models.gpu import load_gpu

from .geometry import GPU, launches, program

K = "__global__ void k(int n) {}\n"
TWO = "__global__ void a(int n) {}\n__global__ void b(int n) {}\n"

LAMBDAS = [
    ("called", "int n = 5; auto f = [&] { k<<<4, 64>>>(n); }; f();"),
    ("called at once", "int n = 5; [&] { k<<<4, 64>>>(n); }();"),
    ("with a parameter", "auto f = [](int n) { k<<<4, 64>>>(n); }; f(5);"),
    ("by reference", "int n = 1; auto f = [&] { k<<<4, 64>>>(n); }; n = 5; f();"),
    ("by value", "int n = 5; auto f = [=] { k<<<4, 64>>>(n); }; n = 1; f();"),
    ("by its name", "int n = 5, m = 1; auto f = [n, &m] { k<<<m, 64>>>(n); }; n = 1; m = 4; f();"),
    ("initialised", "int m = 4; auto f = [n = m + 1] { k<<<4, 64>>>(n); }; f();"),
    ("in an object", "std::function<void(int)> f = [](int n) { k<<<4, 64>>>(n); }; f(5);"),
    ("handed over", "run([](int n) { k<<<4, 64>>>(n); });"),
    ("handed to a template", "int n = 5; apply([&] { k<<<4, 64>>>(n); });"),
    ("handed to a library", "int n = 5; std::for_each(&n, &n + 1, [=](int) { k<<<4, 64>>>(n); });"),
    ("nested", "int n = 5; auto f = [&] { auto g = [&] { k<<<4, 64>>>(n); }; g(); }; f();"),
    ("writing", "int n = 1; auto f = [&] { n = 5; }; f(); k<<<4, 64>>>(n);"),
    ("giving a value", "auto f = [](int m) { return m + 1; }; k<<<4, 64>>>(f(4));"),
]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in LAMBDAS])
def test_lambdas_are_host_code(tmp_path, body):
    text = f"""#include <functional>
    #include <algorithm>
    {K}template <class F> void apply(F f) {{ f(); }}
    void run(std::function<void(int)> f) {{ f(5); }}
    int main() {{ {body} }}"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.block, launch.arguments) == ((4, 1, 1), (64, 1, 1), (5,))
    assert launch.source is LaunchSource.HOST_CODE


POINTERS = [
    ("chosen", "int c = C; auto f = c ? a : b; f<<<C, 64>>>(7);"),
    ("assigned", "void (*f)(int) = a; if (C == 0) f = b; f<<<1, 64>>>(7);"),
    ("a table", "void (*t[2])(int) = {b, a}; t[C]<<<1, 64>>>(7);"),
    ("a table of structs", "table[C].kernel<<<1, table[C].block>>>(7);"),
    ("handed over", "run(C ? a : b, 64);"),
    ("handed to a template", "generic(C ? a : b, 64, 7);"),
    ("a template's argument", "if (C) fixed<a>(64); else fixed<b>(64);"),
    ("cudaLaunchKernel", "int n = 7; void *p[] = {&n}; void *f = C ? (void *)a : (void *)b;"
     "cudaLaunchKernel(f, dim3(1), dim3(64), p, 0, 0);"),
]  # fmt: skip


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in POINTERS])
def test_a_launch_is_of_the_kernel_that_its_pointer_holds(tmp_path, body):
    text = f"""{TWO}struct Entry {{ const char *name; void (*kernel)(int); int block; }};
    Entry table[] = {{{{"b", b, 32}}, {{"a", a, 64}}}};
    void run(void (*f)(int), int block) {{ f<<<1, block>>>(7); }}
    template <class F, class... A> void generic(F f, int block, A... args) {{ f<<<1, block>>>(args...); }}
    template <void (*F)(int)> void fixed(int block) {{ F<<<1, block>>>(7); }}
    int main() {{ {body.replace("C", "1")} }}"""
    first, *others = launches(tmp_path, text)
    assert (first.kernel.name, first.block, first.arguments) == ("a", (64, 1, 1), (7,))
    assert first.source is LaunchSource.HOST_CODE
    assert all((other.kernel.name, other.source) == ("b", LaunchSource.ASSUMED) for other in others)


INSTANCES = """
enum {{ THREE = 3 }};
template <int N> __global__ void t(int n) {{}}
template <class T, int N> __global__ void u(T *p) {{}}
template <int N> __global__ void w(int n) {{}}
template <int N, int M> __global__ void w(int n) {{}}
typedef void (*F)(int);
static F table[] = {{t<32>, a, t<64>}};
struct Entry {{ const char *name; F f; int block; }};
const Entry entries[] = {{{{"x", t<9>, 64}}, {{"y", &t<8 + 1 + 1>, 128}}}};
F pick(int n) {{ return n > 50 ? t<128> : t<16>; }}
struct Dim {{
  unsigned n, step = 32;
  Dim &by(unsigned b) {{ step = b; return *this; }}
  template <class G, class... A> void operator()(G g, A... args) const {{ g<<<n / step, step>>>(args...); }}
}};
int main() {{ {body} }}
"""


@pytest.mark.parametrize(
    ("body", "kernel", "blocks"),
    [
        ("table[2]<<<2, 32>>>(1);", "t<64>", 2),
        ("F l[2] = {t<3>, t<5>}; l[0]<<<6, 32>>>(1);", "t<3>", 6),
        ("F l[] = {t<THREE * 2>, t<7>}; l[0]<<<6, 32>>>(1);", "t<6>", 6),
        ("static F l[] = {a, &t<7>}; l[1]<<<7, 32>>>(1);", "t<7>", 7),
        ("F l[] = {w<1, 2>, w<1>}; l[0]<<<6, 32>>>(1);", "w<1, 2>", 6),
        ("void (*l[])(float *) = {u<float, 2>, u<float, 1>}; l[1]<<<3, 32>>>(0);", "u<float, 1>", 3),
        ("entries[1].f<<<2, entries[1].block>>>(1);", "t<10>", 2),
        ("pick(60)<<<4, 32>>>(1);", "t<128>", 4),
        ("auto m = &t<7>; (*m)<<<5, 32>>>(1);", "t<7>", 5),
        ("Dim{1024}.by(128)(a, 1);", "a", 8),
        ("Dim x{64}; x(a, 5);", "a", 2),
        ("auto y = Dim{64, 16}; y(a, 5);", "a", 4),
    ],
)
def test_an_instance_is_launched_by_what_holds_it(tmp_path, body, kernel, blocks):
    found = launches(tmp_path, TWO + INSTANCES.format(body=body))
    (launch,) = (one for one in found if one.times == 1)
    assert launch.kernel.qualified_name == kernel
    assert (launch.grid[0], launch.source) == (blocks, LaunchSource.HOST_CODE)


def test_an_array_of_arguments_that_is_set_again_holds_what_it_has_then(tmp_path):
    body = """int n = 2, m = 3; void *p[] = {&n}; cudaLaunchKernel((void *)a, dim3(1), dim3(64), p, 0, 0);
    p[0] = &m; m++; cudaLaunchCooperativeKernel((void *)a, dim3(2), dim3(64), p);"""
    found = launches(tmp_path, f"{TWO}int main() {{ {body} }}")
    assert [(one.grid[0], one.arguments, one.times) for one in found if one.times] == [
        (1, (2,), 1),
        (2, (4,), 1),
    ]


def test_a_pointer_that_nobody_knows_may_hold_any_kernel_used_as_a_value(tmp_path):
    text = f"{TWO}int main(int c, char **v) {{ auto f = atoi(v[1]) ? a : b; f<<<3, 64>>>(7); }}"
    assert [(launch.kernel.name, launch.grid[0]) for launch in launches(tmp_path, text)] == [
        ("a", 3),
        ("b", 3),
    ]


def test_what_a_pointer_holds_with_other_values_is_perhaps_launched(tmp_path):
    text = f"""{TWO}__global__ void other(float x) {{}} __global__ void own(int n) {{}}
    int main(int c, char **v) {{
        void (*f)(int); void *kept = (void *)other; int which = 0;
        if (c > 1) which = atoi(v[1]);
        switch (which) {{ case 0: f = &a; break; case 1: f = &b; break; case 2: f = &own; break; }}
        f<<<3, 64>>>(7);
        if (c > 9) own<<<9, 32>>>(8);
    }}"""
    told = {one.kernel.name: one for one in launches(tmp_path, text)}
    grids = {name: (one.grid[0], one.source, one.arguments) for name, one in told.items()}
    assert grids["a"] == (3, LaunchSource.HOST_CODE, (7,))
    assert grids["b"] == (3, LaunchSource.ASSUMED, (7,))
    assert grids["own"][::2] == (9, (8,))
    assert "no launch in this file" in told["other"].assumptions[0].message
    assert (
        "b is perhaps launched: through a pointer that holds another kernel"
        in told["b"].assumptions[-1].message
    )


def test_handlers_launch_perhaps_and_what_follows_the_try_is_read(tmp_path):
    text = f"""#include <stdexcept>
    {TWO}__global__ void c(int n) {{}}
    int main(int argc, char **v) {{
        int n = 64;
        try {{ a<<<2, n>>>(7); if (atoi(v[1])) throw std::runtime_error("x"); }}
        catch (std::exception &e) {{ puts(e.what()); n = 32; b<<<3, n>>>(7); return 1; }}
        catch (...) {{ b<<<4, 32>>>(7); }}
        c<<<5, n>>>(7);
    }}"""
    a, b, c = launches(tmp_path, text)
    assert [(launch.grid[0], launch.block[0]) for launch in (a, b, c)] == [(2, 64), (3, 32), (5, 64)]
    assert [launch.source for launch in (a, c)] == [LaunchSource.HOST_CODE] * 2
    assert b.times is None


FORMS = [
    ("a graph's node", "cudaKernelNodeParams p = {0}; p.func = (void *)k; p.gridDim = dim3(4);"
     "p.blockDim = 64; p.kernelParams = args; cudaGraphAddKernelNode(&node, graph, 0, 0, &p);"),
    ("cudaLaunchKernel", "cudaLaunchKernel((void *)k, dim3(4), dim3(64), args, 0, 0);"),
    ("cooperative", "cudaLaunchCooperativeKernel((void *)k, dim3(4), dim3(64), args, 0, 0);"),
    ("arguments one by one", "void *q[1]; q[0] = &n;"
     "cudaLaunchKernel((void *)k, dim3(4), dim3(64), q, 0, 0);"),
    ("cudaLaunchKernelEx", "cudaLaunchConfig_t c = {0}; c.gridDim = 4; c.blockDim = 64;"
     "cudaLaunchKernelEx(&c, k, n);"),
    ("cudaLaunchKernelExC", "cudaLaunchConfig_t c = {0}; c.gridDim = 4; c.blockDim = 64;"
     "cudaLaunchKernelExC(&c, (void *)k, args);"),
    ("the driver", 'CUfunction f; cuModuleGetFunction(&f, module, "k");'
     "cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, 0, args, 0);"),
    ("nested macros", "L3(k, 4, 64, n);"),
]  # fmt: skip


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in FORMS])
def test_every_way_to_launch_is_found(tmp_path, body):
    text = f"""#include <cuda.h>
    #define L1(kern, g, b, ...) kern<<<g, b>>>(__VA_ARGS__)
    #define L2(kern, g, b, ...) do {{ L1(kern, g, b, __VA_ARGS__); }} while (0)
    #define L3(...) L2(__VA_ARGS__)
    extern "C" {K}
    int main() {{
        int n = 5; void *args[] = {{&n}}; cudaGraph_t graph; cudaGraphNode_t node; CUmodule module;
        {body}
    }}"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.block, launch.arguments) == ((4, 1, 1), (64, 1, 1), (5,))
    assert launch.source is LaunchSource.HOST_CODE


def test_what_a_device_lambda_captured_arrives_in_the_kernel(tmp_path):
    text = """template <class F> __global__ void apply(int n, F f) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) f(i);
    }
    int main() {
        int m = 37;
        float *p;
        cudaMalloc(&p, 4096);
        auto f = [=] __device__ (int i) { for (int j = 0; j < m; j++) p[i] += j; };
        m = 50;
        apply<<<4, 64>>>(256, f);
    }"""
    (launch,) = launches(tmp_path, text)
    assert [(capture.variable.name, capture.value) for capture in launch.contents.captures] == [("m", 37)]
    assert [loop.trip_count for loop in count(launch).loops] == [37]


def test_members_have_the_values_written_in_their_class(tmp_path):
    text = f"""{K}class Solver {{ int n; int block = 64; public: Solver(int m) : n(m) {{}}
    void run() {{ k<<<n / block, block>>>(n); }} }};
    int main() {{ Solver s(640); s.run(); }}"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.block, launch.arguments) == ((10, 1, 1), (64, 1, 1), (640,))


LOOPS = [
    ("steady", "n += 3;", 7 + 3000),
    ("a variable step", "int d = i; n += d;", None),
    ("on a condition", "if (i == 300) n = 9;", None),
    ("left early", "n += 3; if (i == 500) break;", None),
    ("skipped", "if (i % 7 == 3) continue; n += 3;", None),
    ("doubled", "n = n * 2 % 1000;", None),
    ("in a function", "touch(&n, i);", None),
    ("untouched", "other += i;", 7),
]


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*loop[1:], id=loop[0]) for loop in LOOPS])
def test_a_long_loop_tells_only_what_every_iteration_does(tmp_path, body, expected):
    text = f"""{K}void touch(int *n, int i) {{ if (i == 700) *n = 3; }}
    int main() {{ int n = 7, other = 0; for (int i = 0; i < 1000; i++) {{ {body} }} k<<<4, 64>>>(n); }}"""
    (launch,) = launches(tmp_path, text)
    assert launch.arguments == (expected,)


BUSY = "for (int i = 0; i < 60; i++) for (int j = 0; j < 16; j++) for (int l = 0; l < 4; l++)"


def test_a_loop_with_too_many_steps_is_left_and_what_follows_is_read(tmp_path):
    busy = f"int s = 0; {BUSY} for (int m = 0; m < 4; m++) {{ s = s * 3 + m; s ^= l; }}"
    (launch,) = launches(tmp_path, f"{K}int main() {{ {busy} k<<<4, 64>>>(s); }}")
    assert (launch.grid, launch.source, launch.arguments) == ((4, 1, 1), LaunchSource.HOST_CODE, (None,))


TOO_BUSY = (
    "int s = 0, l = 5, i = 0; while (i != 120) { i++; i++; int j = 0; while (j != 32) { j++; j++; "
    + "s = s * 3 + l; "
    + "s ^= l; l += s % 3; " * 30
    + "other<<<s % 7 + 1, 64>>>(s); } }"
)


def test_a_launch_beyond_the_budget_is_one_of_unknown_geometry(tmp_path):
    text = f"{K}__global__ void other(int n) {{}}\nint main() {{ {TOO_BUSY} k<<<4, 64>>>(s); }}"
    launch, *_ = launches(tmp_path, text)
    assert (launch.source, launch.line) == (LaunchSource.ASSUMED, 3)
    assert "more steps than are followed" in launch.assumptions[0].message


@pytest.mark.parametrize(("shared", "known"), [("s", None), ("512", 512), ("", 0)])
def test_shared_memory_of_a_launch_beyond_the_budget_is_told(tmp_path, shared, known):
    given = f", {shared}" if shared else ""
    text = f"{K}__global__ void other(int n) {{}}\nint main() {{ {TOO_BUSY} k<<<4, 64{given}>>>(s); }}"
    launch, *_ = launches(tmp_path, text)
    told = any("dynamic shared memory of k unknown" in one.message for one in launch.assumptions)
    assert (launch.dynamic_shared_bytes, told) == (known or 0, known is None)


def test_what_nothing_calls_is_not_beyond_the_budget(tmp_path):
    unused = "void unused(int n) { k<<<n, 64>>>(n); }"
    text = f"{K}__global__ void other(int n) {{}}\n{unused} int main() {{ {TOO_BUSY} }}"
    launch, *_ = launches(tmp_path, text)
    assert (
        "unknown: nothing that was read calls the function that launches it" in launch.assumptions[0].message
    )


@pytest.mark.slow
def test_what_a_main_that_is_not_followed_writes_is_not_known_elsewhere(tmp_path):
    """`main` takes more steps than are followed; what it hands to a library is visited all the same."""
    text = f"""#include <functional>
    {K}int width = 5, height = 7; void later(std::function<void()>);
    int main() {{ {TOO_BUSY} width = 9; later([s] {{ k<<<width, height>>>(s); }}); }}"""
    (launch,) = launches(tmp_path, text)
    assert (launch.block, launch.source) == ((7, 1, 1), LaunchSource.ASSUMED)
    assert "width" in launch.assumptions[0].message


def test_what_a_main_that_is_not_followed_calls_is_said_to_lie_behind_its_steps(tmp_path):
    text = f"{K}void go(int w) {{ k<<<w, 64>>>(7); }} int main() {{ {TOO_BUSY} go(s); }}"
    (launch,) = launches(tmp_path, text)
    assert "called only behind more steps than are followed" in launch.assumptions[0].message


def test_torn_brackets_in_a_file_that_is_included(tmp_path):
    (tmp_path / "k.cuh").write_text(
        "__global__ void k(int n) {}\nstatic void go(int n) { k << <n, 64 >> > (n); }\n"
    )
    (launch,) = launches(tmp_path, '#include "k.cuh"\nint main() { go(5); }')
    assert (launch.grid, launch.block, launch.source) == ((5, 1, 1), (64, 1, 1), LaunchSource.HOST_CODE)


def test_code_that_is_not_run_leaves_the_steps_to_what_is(tmp_path):
    """Each of six modes takes more steps than all that is left: the one that is run is read."""
    modes = "".join(f"case {n}: all<{n}>(mode); break;" for n in range(6))
    loop = (
        "for (int i = 0; i < 60; i++) for (int j = 0; j < 15; j++) for (int m = 0; m < 4; m++) s = s * 3 % 9;"
    )
    text = f"""template <int N> __global__ void k(int n) {{}}
    template <int N> void all(int g) {{ int s = N; {loop} {loop} {loop} k<N><<<7 + g, 64>>>(N); }}
    int main() {{ int mode = 4; switch (mode) {{ {modes} }} }}"""
    found = {launch.kernel.mangled_name: launch for launch in launches(tmp_path, text)}
    run = next(launch for name, launch in found.items() if "Li4E" in name)
    assert (run.grid, run.block, run.source) == ((11, 1, 1), (64, 1, 1), LaunchSource.HOST_CODE)
    assert len(found) == 6


HEAVY = "for (int i = 0; i < 30; i++) for (int j = 0; j < 14; j++) {{ {work} k<<<{grid}, 64>>>(j); }}"


def test_a_long_loop_with_launches_leaves_steps_for_what_follows(tmp_path):
    work = "for (int m = 0; m < 4; m++) s = (s * 3 + j) % 97;" * 20
    text = f"""__global__ void k(int n) {{}}
    __global__ void last(int n) {{}}
    int main() {{ int s = 1, c = 0; {HEAVY.format(work=work, grid="5")} c += 3; last<<<c, 64>>>(c); }}"""
    first, second = launches(tmp_path, text)
    assert (first.grid[0], first.times, first.source) == (5, 420, LaunchSource.HOST_CODE)
    assert (second.grid[0], second.times, second.source) == (3, 1, LaunchSource.HOST_CODE)


@pytest.mark.slow
def test_a_function_that_nobody_calls_does_not_stand_for_a_run_that_is_not_followed(tmp_path):
    """`main` takes more steps than are followed; `unused` launches the same kernel with another grid."""
    text = f"""__global__ void k(int n) {{}}
    __global__ void other(int n) {{}}
    void go(int n) {{ k<<<n, 64>>>(n); }}
    int unused() {{ go(7); return 0; }}
    int main() {{ {TOO_BUSY} go(s); }}"""
    launch, _ = launches(tmp_path, text)
    assert launch.source is LaunchSource.ASSUMED


BRACES = [
    ("k<<<4, {64}>>>(5);", (4, 1, 1), (64, 1, 1)),
    ("k<<<{4, 2}, {32, 8, 1}, 0, 0>>>(5);", (4, 2, 1), (32, 8, 1)),
    ("k<<<dim3(4), {32,\n  8}>>>(5);", (4, 1, 1), (32, 8, 1)),
    ("k<<<{}, 64>>>(5);", (1, 1, 1), (64, 1, 1)),
    ("t<int><<<{4}, dim3{2, 2}>>>(5);", (4, 1, 1), (2, 2, 1)),
]


@pytest.mark.parametrize(("statement", "grid", "block"), BRACES)
def test_braces_between_the_launch_brackets(tmp_path, statement, grid, block):
    text = f"{K}template <class T> __global__ void t(T n) {{}}\nint main() {{ {statement} }}"
    (launch,) = [one for one in launches(tmp_path, text) if one.source is LaunchSource.HOST_CODE]
    assert (launch.grid, launch.block, launch.arguments) == (grid, block, (5,))
    assert launch.line == 3


def test_of_many_processes_the_first_of_one_is_assumed(tmp_path):
    text = f"""{K}
    int main() {{
        int rank, size, rows = 4096, array[4];
        MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Send(array, rows, MPI_INT, 0, 0, MPI_COMM_WORLD);
        int share = rows / size; if (rank == size) share++;
        k<<<share / 64, 64>>>(rank * share);
    }}"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.arguments, launch.source) == ((64, 1, 1), (0,), LaunchSource.ASSUMED)
    assert {v.name: v.value for v in launch.assumed_variables} == {"rank": 0, "size": 1}


@pytest.mark.parametrize("query", ["cudaGetDeviceCount(&gpus);", "cuInit(0); cuDeviceGetCount(&gpus);"])
def test_one_of_perhaps_several_gpus_is_assumed(tmp_path, query):
    text = f"""#include <cstdlib>
    #include <cuda.h>
    {TWO}
    void run() {{ int gpus = 0; {query} if (gpus == 0) return; b<<<3, 32>>>(5); }}
    int main() {{
        int gpus = 0; {query} if (gpus == 0 || gpus < 1) exit(1);
        a<<<4096 / gpus, 64>>>(7); run();
        for (int i = 0; i < gpus; i++) {{ cudaSetDevice(i); b<<<5, 64>>>(7); }}
    }}"""
    a, *b = launches(tmp_path, text)
    assert [(launch.grid[0], launch.source, launch.times) for launch in (a, *b)] == [
        (4096, LaunchSource.ASSUMED, 1),
        (3, LaunchSource.HOST_CODE, 1),
        (5, LaunchSource.HOST_CODE, 1),
    ]
    assert [[assumption.message for assumption in launch.assumptions] for launch in (a, *b)] == [
        ["one GPU assumed: that decides the grid or block of a"],
        [],
        ["one GPU assumed: that decides how often the program launches b"],
    ]
    a, *b = launches(tmp_path, text, Overrides(settings=(Setting(None, "gpus", 4),)))
    assert [(launch.grid[0], launch.times) for launch in (a, *b)] == [(1024, 1), (3, 1), (5, 4)]


@pytest.mark.parametrize(("grid", "blocks", "source", "told"), [
    ("4096 / gpus", 2048, LaunchSource.ASSUMED,
     "'gpus' is 1 with the values read or assumed, with which line 3 of"),
    ("4096", 4096, LaunchSource.HOST_CODE, "one GPU assumed: that decides that the program does not launch"),
])  # fmt: skip
def test_one_gpu_is_told_where_a_program_asks_for_two(tmp_path, grid, blocks, source, told):
    check = "int gpus; cudaGetDeviceCount(&gpus); if (gpus < 2) exit(2);"
    text = f"#include <cstdlib>\n{K}int main() {{ {check} k<<<{grid}, 64>>>(gpus); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.source, launch.times) == ((blocks, 1, 1), source, None)
    assert launch.arguments == (2 if blocks == 2048 else None,)  # one is what the check does not let pass
    assert any(one.message.startswith(told) for one in launch.assumptions)


@pytest.mark.parametrize(("least", "times"), [(1, 1), (2, None)])
def test_a_program_that_ends_without_two_gpus_launches_nothing(tmp_path, least, times):
    check = f'int gpus; check(cudaGetDeviceCount(&gpus)); if (gpus < {least}) {{ puts("more"); return 0; }}'
    head = f'#include <cstdio>\n{K}void check(cudaError_t e) {{ if (e) puts("failed"); }}'
    (launch,) = launches(tmp_path, f"{head} int main() {{ {check} k<<<4096, 64>>>(7); }}")
    assert (launch.grid, launch.arguments, launch.times) == ((4096, 1, 1), (7,), times)
    told = "one GPU assumed: that decides that the program does not launch k"
    assert (told in [one.message for one in launch.assumptions]) is (times is None)


@pytest.mark.parametrize("helper", ["b<<<2, 32>>>(n);", "inner(n);"])
def test_a_kernel_that_another_launches_is_not_said_to_have_no_launch(tmp_path, helper):
    inner = "__global__ void b(int n);\n__device__ void inner(int n) { b<<<2, 32>>>(n); }"
    text = f"""{inner}
    __global__ void a(int n) {{ {helper} }}
    __global__ void b(int n) {{}}
    __global__ void c(int n) {{}}
    int main() {{ a<<<3, 64>>>(1); }}"""
    found = {launch.kernel.name: launch.assumptions for launch in launches(tmp_path, text)}
    line = 3 if helper.startswith("b") else 2
    assert found["a"] == ()
    who = "kernel a on the device" if helper.startswith("b") else "device code"
    assert (
        f"number unknown: {who} launches it (line {line}), no host code in this file" in found["b"][0].message
    )
    assert "no launch in this file" in found["c"][0].message


@pytest.mark.parametrize(
    ("configuration", "grid", "block", "what"),
    [
        ("4, 64", 4, 64, "number unknown"),
        ("n / SIZE, SIZE", None, 128, "grid unknown"),
        ("BLOCKS, COUNT, 0, s", 6, 32, "number unknown"),
        ("n, n / 2", None, None, "grid and block unknown"),
    ],
)
def test_a_launch_on_the_device_tells_who_makes_it_and_its_numbers(
    tmp_path, configuration, grid, block, what
):
    text = f"""#define SIZE 128
    #define BLOCKS (6)
    constexpr int COUNT = 32;
    __global__ void b(int n) {{}}
    __global__ void a(int n) {{
        cudaStream_t s;
        b<<<{configuration}>>>(n);
    }}
    int main() {{ a<<<3, 64>>>(1); }}"""
    (launch,) = (one for one in launches(tmp_path, text) if one.kernel.name == "b")
    assert launch.times_unknown == "kernel a on the device launches it (line 7)"
    assert launch.assumptions[0].message.startswith(f"{what}: {launch.times_unknown}, no host code")
    assert launch.grid[0] == grid or grid is None
    assert launch.block[0] == block or block is None
    assert launch.source is LaunchSource.ASSUMED


def test_a_launch_that_is_not_understood_is_assumed_with_the_block_that_stands_there(tmp_path):
    text = """#include "gone.hpp"
    const int COUNT = 512;
    template <typename T> __global__ void k(T *x) {}
    template <typename T> void Layer<T>::forward(const Blob<T> &b) {
        k<T><<<BLOCKS_OF(b.count()), COUNT>>>(b.data());
    }"""
    (launch,) = launches(tmp_path, text)
    assert (launch.block, launch.source, launch.times) == ((512, 1, 1), LaunchSource.ASSUMED, None)
    assert launch.times_unknown.startswith("no launch is read: that of line 5 is left out by #if")


@pytest.mark.parametrize(
    ("configuration", "block"),
    [
        ("9" * 5000 + ", 64", None),
        ("9" * 20 + ", 64", 64),
        ("4, COUNT", 32),
        ("4, " + " " * 9000 + "64", None),
    ],
)
def test_a_written_launch_is_looked_at_for_numbers_of_blocks_and_threads(tmp_path, configuration, block):
    text = f"#define \t COUNT\t(32) \n{K}\n#if 0\nvoid f() {{ k<<<{configuration}>>>(1); }}\n#endif\n"
    (launch,) = launches(tmp_path, text)
    (plain,) = launches(tmp_path, K)
    assert launch.block[0] == (block or plain.block[0])
    assert launch.grid[0] == (4 if "COUNT" in configuration else plain.grid[0])


def test_a_launch_in_a_comment_is_none(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(f"{K}// k<<<2, 32>>>(1);\n")
    told = ir.Diagnostic("PW006", Severity.NOTE, str(path), 2, "something else")
    program = replace(read_cuda(path), diagnostics=(told,))
    (launch,) = resolve_launches(program, NO_OVERRIDES, load_gpu("v100"))
    assert "no launch in this file" in launch.assumptions[0].message


@pytest.mark.parametrize("front", ["#if 0\n{0}\n#endif", "/* {0} */", "#ifdef OWN\n#else\n{0}\n#endif"])
def test_a_launch_that_is_left_out_is_told(tmp_path, front):
    left_out = front.format("k<<<2, 32>>>(1);")
    found = launches(tmp_path, f"#define OWN\n{K}\nint main() {{\n{left_out}\n}}")
    line = 5 + left_out[: left_out.index("k<<<")].count("\n")
    assert f"no launch is read: that of line {line} is left out by #if" in found[0].assumptions[0].message


def test_a_value_assumed_for_a_counter_takes_no_other_loop_of_that_name_away(tmp_path):
    never = "for (int i = 0; i < 0; i++) a<<<i + 1, 64>>>(7);"
    text = f"{TWO}int main() {{ {never} for (int i = 0; i < 3; i++) b<<<5, 32>>>(7); b<<<6, 32>>>(7); }}"
    found = [one for one in launches(tmp_path, text) if one.kernel.name == "b"]
    assert [(one.grid[0], one.times) for one in found] == [(5, 3), (6, 1)]


NODE = "cudaGraphAddKernelNode(&node, graph, 0, 0, &p);"
AGAIN = "p.gridDim = dim3(9); cudaGraphKernelNodeSetParams(node, &p);"
TAKEN = "cudaGraphInstantiate(&made, graph, 0);"
OTHER = "cudaGraphAddKernelNode(&other, graph, 0, 0, &p);"
IN_MADE = "p.gridDim = 9; cudaGraphExecKernelNodeSetParams(made, node, &p);"
OF_ANY = "q.type = cudaGraphNodeTypeKernel; q.kernel = p; cudaGraphAddNode(&node, graph, 0, 0, 0, &q);"
OF_MEMORY = "q.type = cudaGraphNodeTypeMemset; cudaGraphAddNode(&node, graph, 0, 0, &q);"
OF_A_CONDITION = """cudaGraphConditionalHandle h; cudaGraphConditionalHandleCreate(&h, graph);
    q.type = cudaGraphNodeTypeConditional; q.conditional.handle = h; q.conditional.size = 2;
    q.conditional.type = cudaGraphCondTypeSwitch; cudaGraphAddNode(&other, graph, 0, 0, 0, &q);
    cudaGraphNodeParams r = {}; r.kernel = p;
    cudaGraphAddNode(&node, q.conditional.phGraph_out[1], 0, 0, 0, &r);"""
GRAPHS = [
    ("changed before it is taken", f"{NODE} {AGAIN} {TAKEN}", [9]),
    ("changed twice", f"{NODE} {AGAIN} {AGAIN.replace('9', '5')} {TAKEN}", [5]),
    ("changed by the same", f"{NODE} for (int i = 2; i < 5; i++) {{ p.gridDim = dim3(i); "
     f"cudaGraphKernelNodeSetParams(node, &p); }} {TAKEN}", [4]),
    ("changed behind it", f"{NODE} {TAKEN} {AGAIN} {TAKEN}", [7, 9]),
    ("changed in what was made", f"{NODE} {TAKEN} {IN_MADE}", [7, 9]),
    ("changed perhaps", f"{NODE} if (u) {{ {AGAIN} }} {TAKEN}", [7, 9]),
    ("given to others", f"{NODE} elsewhere(graph); {AGAIN} {TAKEN}", [7, 9]),
    ("another node", f"{NODE} p.gridDim = 9; {OTHER} {TAKEN}", [7, 9]),
    ("another node that is changed", f"{OTHER} {NODE} {AGAIN} {TAKEN}", [7, 9]),
    ("of any type", f"{OF_ANY} {TAKEN}", [7]),
    ("of any, changed", f"{OF_ANY} q.kernel.gridDim = 9; cudaGraphNodeSetParams(node, &q); {TAKEN}", [9]),
    ("of a condition", f"{OF_A_CONDITION} {TAKEN}", [7]),
    ("of memory", f"{OF_MEMORY} k<<<3, 64>>>(5); cudaGraphNodeSetParams(node, &q); {TAKEN}", [3]),
]  # fmt: skip


@pytest.mark.parametrize(("code", "blocks"), [g[1:] for g in GRAPHS], ids=[g[0] for g in GRAPHS])
def test_a_node_of_a_graph_runs_what_it_has_when_the_graph_is_taken(tmp_path, code, blocks):
    text = f"""#include <cstdio>
    {K}void elsewhere(cudaGraph_t graph);
    int main(int argc, char **argv) {{
        int u; FILE *in = fopen("x", "r"); fscanf(in, "%d", &u);
        cudaGraph_t graph; cudaGraphNode_t node, other; cudaGraphExec_t made;
        int n = 5; void *args[] = {{&n}};
        cudaKernelNodeParams p = {{0}}; p.func = (void *)k; p.gridDim = dim3(7); p.blockDim = dim3(64);
        p.kernelParams = args; cudaGraphNodeParams q = {{}}; {code}
        cudaGraphLaunch(made, 0);
    }}"""
    found = launches(tmp_path, text)
    assert sorted(launch.grid[0] for launch in found) == blocks
    assert {launch.source for launch in found} == {LaunchSource.HOST_CODE}
    assert {launch.times for launch in found} == ({1} if blocks == [3] else {None})


@pytest.mark.parametrize(("blocks", "least", "most"), [
    ("d <= n ? d : 2 * n - d", 1900, 2200),  # up and down again: 2048 in the mean, 1 at the ends
    ("2 * n - d", 4000, 4200),
    ("7", 7, 7),
])  # fmt: skip
def test_what_stands_for_a_long_loop_has_nearly_the_mean_number_of_blocks(tmp_path, blocks, least, most):
    loop = f"for (int d = 1; d < 2 * n; d++) {{ int b = {blocks}; k<<<b, 32>>>(d); }}"
    (launch,) = launches(tmp_path, f"{K}int main() {{ int n = 4096; {loop} }}")
    assert least <= launch.grid[0] <= most
    assert launch.times == 8191


@pytest.mark.parametrize(("words", "expected"), [
    (None, ((16, 1, 1), (256, 1, 1))),
    ("--size=8192 --block 64", ((128, 1, 1), (64, 1, 1))),
    ("-size 512 --noquick", ((2, 1, 1), (256, 1, 1))),
    ("--quick", ((1, 1, 1), (256, 1, 1))),
])  # fmt: skip
def test_flags_of_gflags_have_their_defaults_or_what_the_command_line_says(tmp_path, words, expected):
    text = """#include <gflags/gflags.h>
DEFINE_int32(size, 4096, "size"); DEFINE_int32(block, 256, "b"); DEFINE_bool(quick, false, "q");
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  k<<<FLAGS_quick ? 1 : FLAGS_size / FLAGS_block, FLAGS_block>>>(7);
}
"""
    given = None if words is None else parse_arguments(words)
    around = Neighbours(arguments=lambda _: given)
    (launch,) = resolve_launches(program(tmp_path, f"{K}{text}"), NO_OVERRIDES, GPU, around)
    assert (launch.grid, launch.block) == expected


MANY = "template <int N> __global__ void many(int n) { if (n > N) __syncthreads(); }\n"


def test_of_a_template_with_many_instances_some_are_shown(tmp_path):
    """The one whose grid is known goes first, however small; of the others eight at even steps."""
    ladder = " ".join(f"case {n}: many<{n}><<<m, {n}>>>(1); break;" for n in range(1, 41))
    text = f"""{MANY}void run(int n, int m) {{ switch (n) {{ {ladder} }} }}
    int main(int argc, char **argv) {{ many<1><<<1, 1>>>(2); run(atoi(argv[1]), atoi(argv[2])); }}"""
    found = launches(tmp_path, text)
    assert [one.block[0] for one in found] == [1, 1, 6, 11, 16, 21, 26, 31, 36]
    assert all(one.kernel.is_followed for one in found)
    told = [a.message for one in found for a in one.assumptions if "not shown" in a.message]
    assert told == ["32 further launches of many not shown; the 9 shown are known ones and some instances"]


def test_instances_with_one_body_are_read_once_for_the_grid_that_is_assumed(tmp_path):
    ladder = " ".join(f"case {n}: many<{n}><<<s[m], 32>>>(1); break;" for n in range(1, 41))
    kernel = MANY.replace("n > N", "blockIdx.x * 32 + threadIdx.x < n")
    for asked in (kernel_shape._uses_of, sizes._needed):
        asked.cache_clear()
    found = launches(tmp_path, f"{kernel}void run(int n, int m, int *s) {{ switch (n) {{ {ladder} }} }}")
    assert len(found) == 8
    assert [asked.cache_info().misses for asked in (kernel_shape._uses_of, sizes._needed)] == [8, 8]


def test_of_many_known_launches_of_a_template_the_largest_are_shown(tmp_path):
    launched = " ".join(f"many<{n}><<<1, {n}>>>(1);" for n in range(1, 41))
    found = launches(tmp_path, f"{MANY}int main() {{ {launched} }}")
    assert [one.block[0] for one in found] == list(range(9, 41))
    told = [a.message for one in found for a in one.assumptions if "not shown" in a.message]
    assert told == [
        "8 further launches of many not shown; the 32 shown are those with the most threads, known ones first"
    ]


def test_an_instance_that_is_not_followed_is_not_counted(tmp_path):
    """It has the body of another one. A specialisation is written by itself, and always followed."""
    launched = " ".join(f"many<{n}><<<1, {n}>>>(1);" for n in range(1, 21))
    special = "template <> __global__ void many<20>(int n) {}\n"
    found = {one.block[0]: one for one in launches(tmp_path, f"{MANY}{special}int main() {{ {launched} }}")}
    followed = [n for n, one in found.items() if one.kernel.is_followed]
    assert sorted(followed) == [1, 3, 5, 8, 10, 12, 15, 17, 20]
    with pytest.raises(NotCountedError, match="not followed"):
        count(found[2])
    assert found[2].kernel.body is found[1].kernel.body


HELD = [("auto f = a; f<<<4, 64>>>(5);", []), ("auto f = a; f = b; f = a; f<<<4, 64>>>(5);", ["b"])]


@pytest.mark.parametrize(("body", "others"), HELD)
def test_a_pointer_that_nothing_sets_again_holds_no_other_kernel(tmp_path, body, others):
    read = program(tmp_path, f"{TWO}int main() {{ {body} auto g = b; }}")
    instances = HostCode(read, GPU).launches({}, None, frozenset())
    assert [one.kernel for one in instances if one.is_other] == [f"_Z1{name}i" for name in others]


def test_the_memory_of_the_gpu_is_known_and_what_is_free_of_it_assumed(tmp_path):
    text = f"""{K}int main() {{ size_t left, all; cudaMemGetInfo(&left, &all);
        k<<<all >> 30, 32>>>(1); if (left < 4096) return 1; k<<<left >> 30, 64>>>(2); }}"""
    known, assumed = launches(tmp_path, text)
    gigabytes = GPU.memory_bytes >> 30
    assert (known.grid[0], known.source) == (gigabytes, LaunchSource.HOST_CODE)
    assert (assumed.grid[0], assumed.source) == (gigabytes, LaunchSource.ASSUMED)
    assert assumed.assumptions[0].message.startswith("'left' is set by cudaMemGetInfo(); left assumed")


def test_which_launch_of_loops_is_shown_is_told_once_for_calls_from_two_places(tmp_path):
    source = """__global__ void k(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
void run(float *x, int n) { k<<<n / 32, 32>>>(x, n); }
int main() { float *x; cudaMalloc(&x, 4096);
  for (int n = 32; n <= 4096; n += 32) { run(x, n); for (int j = 0; j < 5; j++) run(x, n); } }"""
    found = launches(tmp_path, source)
    assert [len([a for a in one.assumptions if "looked at" in a.message]) for one in found] == [1]


def test_a_launch_that_ifdef_leaves_out_tells_the_option(tmp_path):
    source = """__global__ void k(float *x) { x[threadIdx.x] = 1; }
#ifdef GPU
void run(float *x) { k<<<4, 32>>>(x); }
#endif"""
    (found,) = launches(tmp_path, source)
    assert "that of line 3 is left out by #if" in found.assumptions[0].message
    assert "(it is there with -D GPU)" in found.assumptions[0].message
