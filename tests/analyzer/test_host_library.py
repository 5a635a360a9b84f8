"""What functions of the library do to the objects of host code: memset, threads."""

from __future__ import annotations

import pytest

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.lowering import calls
from wattslice.frontend.cuda.lowering.context import Body
from wattslice.frontend.cuda.lowering.unit import ParameterInfo

from .geometry import launches

HEAD = """
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <thread>
#include <future>
#include <pthread.h>
struct C { int n, m; float f; int a[3]; };
__global__ void k(int n) {}
"""

KNOWN = [
    ("zeros in a struct", "C c; memset(&c, 0, sizeof(c)); int n = c.a[2];", 0),
    ("what is written later", "C c; memset(&c, 0, sizeof(c)); c.m = 5; int n = c.m;", 5),
    ("ones in all bytes", "C *p = (C *)malloc(80); memset(p, 0xff, 2 * sizeof(C)); int n = p[1].m;", -1),
    ("an array", "int v[4] = {7, 8}; memset(v, 0, sizeof(v)); v[1] += 3; int n = v[1];", 3),
    ("the start of an array", "int v[4]; memset(v, 0, 2 * sizeof(int)); int n = v[1];", 0),
    ("not its rest", "int v[4]; memset(v, 0, 2 * sizeof(int)); int n = v[2];", None),
    ("mathematics", "int n = 100 * 2 * asin(1.0) + fmod(7.5, 2) + hypot(3.0, 4.0) + atan2(0.0, 1.0);", 320),
    ("two parts of a number",
     "int e; double w; int n = 16 * frexpf(1000.0f, &e) + 10 * e + 4 * modf(7.25, &w) + w;", 123),
    ("no real number of bytes that are not 0", "C c; memset(&c, 1, sizeof(c)); int n = c.f;", None),
]  # fmt: skip


@pytest.mark.parametrize(("code", "value"), [entry[1:] for entry in KNOWN], ids=[e[0] for e in KNOWN])
def test_what_the_library_writes(tmp_path, code, value) -> None:
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {code} k<<<1, 32>>>(n); }}")
    assert launch.arguments == (value,)


STATUSES = """
cudaMalloc(&d, 64); cudaMallocAsync(&d, 64, s); cudaMallocFromPoolAsync(&d, 64, pool, s)
cudaMallocManaged(&d, 64); cudaMallocHost(&h, 64); cudaHostAlloc(&h, 64, 0); cudaMallocPitch(&d, &w, 64, 4)
cudaMallocArray(&a, &cd, 4, 4); cudaMalloc3D(&pp, ex); cudaMalloc3DArray(&a, &cd, ex)
cudaFree(d); cudaFreeHost(h); cudaFreeAsync(d, s); cudaFreeArray(a)
cudaMemset(d, 0, 64); cudaMemsetAsync(d, 0, 64); cudaMemsetAsync(d, 0, 64, s); cudaMemset2D(d, 64, 0, 64, 1)
cudaMemset2DAsync(d, 64, 0, 64, 1, s); cudaMemset3D(pp, 0, ex); cudaMemset3DAsync(pp, 0, ex, s)
cudaMemcpy(d, h, 64, cudaMemcpyHostToDevice); cudaMemcpyAsync(d, h, 64, cudaMemcpyHostToDevice, s)
cudaMemcpy2D(d, 64, h, 64, 64, 1, cudaMemcpyHostToDevice); cudaMemcpy3D(&p3); cudaMemcpy3DAsync(&p3, s)
cudaMemcpyToSymbol(c, h, 16); cudaMemcpyToSymbolAsync(c, h, 16, 0, cudaMemcpyHostToDevice, s)
cudaMemcpyFromSymbol(h, c, 16); cudaMemcpyPeer(d, 0, d, 1, 4)
cudaStreamCreate(&s); cudaStreamCreateWithFlags(&s, 1); cudaStreamCreateWithPriority(&s, 1, 0)
cudaStreamSynchronize(s); cudaStreamDestroy(s); cudaStreamWaitEvent(s, e, 0); cudaEventCreate(&e)
cudaEventCreateWithFlags(&e, 2); cudaEventRecord(e, s); cudaEventElapsedTime(&ms, e, e); cudaEventDestroy(e)
cudaSetDevice(0); cudaGetDevice(&i); cudaGetDeviceFlags(&u); cudaGetDeviceProperties(&p, 0)
cudaGetDeviceCount(&i); cudaDeviceGetAttribute(&i, cudaDevAttrMultiProcessorCount, 0); cudaDeviceSynchronize()
cudaGetLastError(); cudaFuncGetAttributes(&fa, k)
cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 1)
cudaOccupancyMaxActiveBlocksPerMultiprocessor(&i, k, 64, 0)
cudaOccupancyMaxPotentialBlockSize(&i, &i, k, 0, 0)
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&i, k, 64, 0, 0); cudaMemGetInfo(&w, &w)
cudaHostRegister(h, 64, 0); cudaDeviceCanAccessPeer(&i, 0, 1)
cudaMemAdvise(d, 64, cudaMemAdviseSetReadMostly, 0)
cuInit(0); cuMemAlloc(&dp, 64); cuMemsetD8(dp, 0, 64); cuMemcpyHtoD(dp, h, 64); cuModuleLoad(&m, "a.cubin")
cuModuleGetFunction(&f, m, "k"); cuCtxSynchronize(); cublasCreate(&b); cublasSetVector(4, 4, h, 1, d, 1)
cublasSgemv(b, CUBLAS_OP_N, 4, 4, &ms, 0, 4, 0, 1, &ms, 0, 1); cufftPlan1d(&i, 64, CUFFT_C2C, 1)
curandGenerateUniform(g, &ms, 1); ncclCommInitAll(&nc, 1, &i); ncclAllReduce(d, d, 1, 7, 0, nc, s)
ncclGroupEnd()
"""
OBJECTS = """
#include <cublas_v2.h>
#include <cuda.h>
#include <cufft.h>
#include <curand.h>
#include <nccl.h>
__constant__ int c[4];
int *d, *h, i; unsigned u; size_t w; float ms; cudaStream_t s; cudaEvent_t e; cudaMemPool_t pool;
cudaArray_t a; cudaDeviceProp p; cudaFuncAttributes fa;
cudaChannelFormatDesc cd; cudaPitchedPtr pp; cudaExtent ex;
cudaMemcpy3DParms p3; cublasHandle_t b; curandGenerator_t g; ncclComm_t nc; CUdeviceptr dp; CUmodule m;
CUfunction f;
"""
_CALLS = [call for line in STATUSES.strip().split("\n") for call in line.split("; ")]


def test_what_every_function_of_a_run_time_returns_says_that_it_succeeded(tmp_path) -> None:
    kernels = "".join(f"__global__ void k{at}(int n) {{}}\n" for at in range(len(_CALLS)))
    checks = "".join(
        f"if (({call}) != 0) {{ k{at}<<<9, 32>>>(1); return -1; }} k{at}<<<1, 32>>>(1);\n"
        for at, call in enumerate(_CALLS)
    )
    found = launches(tmp_path, f"{HEAD}{OBJECTS}{kernels}int main() {{ {checks} }}")
    right = {one.kernel.name for one in found if (one.grid, one.times) == ((1, 1, 1), 1)}
    assert [call for at, call in enumerate(_CALLS) if f"k{at}" not in right] == []


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("int *v; cudaMallocManaged(&v, 64); v[3] = 7; int n = cudaMemset(v, 0, 64) + v[3];", 0),
        ("int v[4]; int n = memset(v, 0, 16) == v;", 1),
        ("unsigned n = 3; cudaGetDeviceFlags(&n);", None),
        ("int n = cuInit(0) + cublasDestroy(b) + ncclGroupEnd();", 0),
        ("int n = cublasIdamax(b);", None),
        ("cudaStream_t s = 0; int n = cudaStreamQuery(s);", None),
    ],
)
def test_what_a_run_time_writes(tmp_path, code, value) -> None:
    (launch,) = launches(tmp_path, f"{HEAD}{OBJECTS}int main() {{ {code} k<<<1, 32>>>(n); }}")
    assert launch.arguments == (value,)


THREADS = """
void work(int n, int g) { k<<<g, 32>>>(n); }
void fill(int &n) { n = 12; }
void elsewhere(int &n);
void *run(void *p) { k<<<5, 32>>>(((C *)p)->m); return 0; }
void async(int g, int n) { k<<<g, 32>>>(n); }
struct W { int g; void go(int n) { k<<<g, 32>>>(n); } };
"""

BEGUN = [
    ("a function", "std::thread t(work, 7, 3); t.join();", 3, 7),
    ("its address", "std::thread t(&work, 7, 3); t.join();", 3, 7),
    ("in a vector", "std::vector<std::thread> v; v.emplace_back(work, 9, 6);", 6, 9),
    ("moved into one", "std::vector<std::thread> v; v.push_back(std::thread(work, 10, 8));", 8, 10),
    ("asynchronous", "auto f = std::async(work, 8, 4); f.get();", 4, 8),
    ("with a policy", "auto f = std::async(std::launch::async, work, 8, 4); f.get();", 4, 8),
    ("of POSIX", "C c; c.m = 11; pthread_t id; if (pthread_create(&id, 0, run, &c)) exit(1);", 5, 11),
    ("a method", "W w{13}; std::thread t(&W::go, &w, 2); t.join();", 13, 2),
    ("a lambda", "int z = 21; std::thread t([&] { k<<<z, 32>>>(z); }); t.join();", 21, 21),
    ("a lambda with arguments", "int z = 2; std::thread t([&](int g) { k<<<g, 32>>>(z); }, 22);", 22, 2),
    ("no thread", "async(17, 4);", 17, 4),
    ("what it writes", "int n = 1; std::thread t(fill, std::ref(n)); t.join(); k<<<1, 32>>>(n);", 1, 12),
    ("what nobody knows", "int n = 1; std::thread t(elsewhere, std::ref(n)); k<<<1, 32>>>(n);", 1, None),
]  # fmt: skip


@pytest.mark.parametrize(("code", "blocks", "value"), [b[1:] for b in BEGUN], ids=[b[0] for b in BEGUN])
def test_what_runs_on_a_thread(tmp_path, code, blocks, value) -> None:
    found = launches(tmp_path, f"{HEAD}{THREADS}int main() {{ {code} }}")
    (launch,) = (launch for launch in found if launch.grid == (blocks, 1, 1))
    assert launch.arguments == (value,)
    assert launch.times == 1


OF_THREADS = """
thread_local int own = 4;
__thread int old = 6;
int plain = 8;
int next() { thread_local int c = 1; return c++; }
void one() { k<<<own++, 32>>>(next()); }
void two() { k<<<old, 32>>>(plain); }
void *three(void *) { k<<<old, 32>>>(own); return 0; }
"""
EACH_ITS_OWN = [
    ("a function", "std::thread t(one); t.join();", 4, 1),
    ("another", "std::thread t(two); t.join();", 6, 9),
    ("a lambda", "std::thread t([] { k<<<own, 32>>>(old); }); t.join();", 4, 6),
    ("of POSIX", "pthread_t id; pthread_create(&id, 0, three, 0);", 6, 4),
    ("in a vector", "std::vector<std::thread> v; v.emplace_back(one);", 4, 1),
    ("that of main", "std::thread t([] { own = 90; }); t.join(); k<<<own, 32>>>(next());", 5, 3),
    ("no thread", "one();", 5, 3),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "blocks", "value"), [e[1:] for e in EACH_ITS_OWN], ids=[e[0] for e in EACH_ITS_OWN]
)
def test_each_thread_has_its_own(tmp_path, code, blocks, value) -> None:
    main = f"int main() {{ own = 5; old = 7; plain = 9; next(); next(); {code} }}"
    found = launches(tmp_path, f"{HEAD}{OF_THREADS}{main}")
    assert [(one.grid[0], one.arguments) for one in found if one.times == 1] == [(blocks, (value,))]


@pytest.mark.parametrize(
    "code",
    [
        "auto f = std::async([] { k<<<own, 32>>>(1); }); f.get();",  # perhaps the thread that asks
        "cudaLaunchHostFunc(0, [](void *) { k<<<own, 32>>>(1); }, 0);",
    ],
)
def test_of_which_thread_a_variable_is_nobody_knows(tmp_path, code) -> None:
    (found,) = launches(tmp_path, f"{HEAD}thread_local int own = 4; int main() {{ own = 5; {code} }}")
    assert found.source is LaunchSource.ASSUMED
    assert "'own' is a variable of which each thread has its own" in found.assumptions[0].message


def test_every_link_of_a_chain_of_operators_is_read_once(tmp_path, monkeypatch) -> None:
    read: list[int] = []
    whole = calls.value_given

    def noted(body: Body, parameter: ParameterInfo | None, argument: Node, span: ir.Span) -> ir.Expr:
        read.append(1)
        return whole(body, parameter, argument, span)

    monkeypatch.setattr(calls, "value_given", noted)
    adds = "struct O { int v; O &operator<<(int x) { v += x; return *this; } };"
    links = "".join(f" << {n}" for n in range(9))
    text = f"{HEAD}{adds}int main() {{ O o; o.v = 1; O &r = o{links}; k<<<1, 32>>>(r.v); }}"
    (launch,) = launches(tmp_path, text)
    assert launch.arguments == (37,)
    assert len(read) == 9  # 2^9 - 1 where the object of each is read twice


@pytest.mark.parametrize(
    ("statement", "value"), [("o << 5;", 6), ("o << 5 << 6;", 12), ("(o << 5);", 6), ("std::cout << o.v;", 1)]
)
def test_an_operator_of_the_source_may_change_its_object(tmp_path, statement, value) -> None:
    adds = "#include <iostream>\nstruct O { int v; O &operator<<(int x) { v += x; return *this; } };"
    text = f"{HEAD}{adds}int main() {{ O o; o.v = 1; {statement} k<<<1, 32>>>(o.v); }}"
    (launch,) = launches(tmp_path, text)
    assert launch.arguments == (value,)


@pytest.mark.parametrize(
    "stream", ["std::stringstream s(v[1]);", 'std::stringstream s("abc");', 'std::ifstream s("a");']
)
def test_whether_a_stream_had_something_to_read_is_unknown(tmp_path, stream) -> None:
    code = f"{HEAD}#include <sstream>\n#include <fstream>\nint main(int c, char **v) {{ {stream} int d = 3; "
    found = launches(tmp_path, code + "if (s >> d) k<<<1, 64>>>(1); else k<<<2, 64>>>(2); }")
    assert {(one.grid[0], one.times) for one in found} == {(1, None), (2, None)}


def test_what_a_missing_file_gives_names_the_file_however_much_is_read_at_once(tmp_path) -> None:
    code = (
        f'{HEAD}#include <fstream>\nint main() {{ std::ifstream f("a.txt"); int a = 0, b = 0; f >> a >> b; '
    )
    (launch,) = launches(tmp_path, code + "k<<<b / 64 + 1, 64>>>(b); }")
    assert "'b' is read from a.txt" in launch.assumptions[0].message


@pytest.mark.parametrize(
    ("inside", "caught"),
    [
        ("std::function<int(int)> f; f(1);", "std::bad_function_call"),
        ('std::string s = "ab"; s.compare(5, 1, "a");', "std::out_of_range"),
        ("std::variant<int, float> w = 1.5f; std::get<int>(w);", "std::bad_variant_access"),
        ("std::any a = 1.5; std::any_cast<int>(a);", "std::bad_any_cast"),
        ("std::weak_ptr<int> w; std::shared_ptr<int> p(w);", "std::bad_weak_ptr"),
    ],
)
def test_what_an_object_nobody_knows_may_throw_leaves_the_code_behind_it_in_doubt(
    tmp_path, inside, caught
) -> None:
    names = ("any", "functional", "memory", "stdexcept", "string", "variant")
    headers = "".join(f"#include <{name}>\n" for name in names)
    code = f"try {{ {inside} k<<<2, 32>>>(0); }} catch (const {caught} &) {{ k<<<3, 32>>>(0); }}"
    found = launches(tmp_path, f"{HEAD}{headers}int main() {{ {code} k<<<4, 32>>>(0); }}")
    assert {(one.grid[0], one.times) for one in found} == {(2, None), (3, None), (4, 1)}


@pytest.mark.parametrize(
    ("inside", "caught"),
    [
        ("std::optional<int> o; o.value();", "std::bad_optional_access"),
        ("std::optional<int> o; o.value();", "std::exception"),
        ("std::deque<int> d; d.at(1) = 2;", "std::out_of_range"),
    ],
)
def test_what_an_empty_object_throws_is_caught(tmp_path, inside, caught) -> None:
    headers = "#include <deque>\n#include <optional>\n#include <stdexcept>\n"
    code = f"try {{ {inside} k<<<2, 32>>>(0); }} catch (const {caught} &) {{ k<<<3, 32>>>(0); }}"
    found = launches(tmp_path, f"{HEAD}{headers}int main() {{ {code} k<<<4, 32>>>(0); }}")
    assert {(one.grid[0], one.times) for one in found} == {(3, 1), (4, 1)}


def test_a_random_number_is_no_reason_for_doubt(tmp_path) -> None:
    code = "try { std::mt19937 g(7); int n = g() % 4; k<<<2, 32>>>(n); } catch (...) { k<<<3, 32>>>(0); }"
    found = launches(tmp_path, f"{HEAD}#include <random>\nint main() {{ {code} k<<<4, 32>>>(0); }}")
    assert {(one.grid[0], one.times) for one in found if one.times} == {(2, 1), (4, 1)}


@pytest.mark.parametrize("grown", ["v.reserve(n);", "v.resize(n);"])
@pytest.mark.parametrize(("n", "grid"), [(-1, 3), (5, 2)])
def test_a_length_that_no_vector_has_is_thrown(tmp_path, grown, n, grid) -> None:
    code = f"int n = {n}; std::vector<int> v; try {{ {grown} k<<<2, 32>>>(0); }} "
    head = f"{HEAD}#include <vector>\n#include <stdexcept>\n"
    found = launches(
        tmp_path, f"{head}int main() {{ {code} catch (const std::length_error &) {{ k<<<3, 32>>>(0); }} }}"
    )
    assert {one.grid[0] for one in found if one.times == 1} == {grid}


@pytest.mark.parametrize("grid", ["(int)n", "n", "dim3(n, 2)"])
def test_a_number_that_a_class_of_a_library_makes_of_an_object_is_unknown(tmp_path, grid) -> None:
    text = f"{HEAD}#include <atomic>\nstd::atomic<int> n{{3}};\nint main() {{ k<<<{grid}, 32>>>(0); }}"
    (launch,) = launches(tmp_path, text)
    assert launch.assumptions[0].message.startswith("grid ")
    assert "unknown" in launch.assumptions[0].message
