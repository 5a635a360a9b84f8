"""What host code writes by way of streams, references, iterators and closures: never an old value."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from wattslice.analysis import LaunchSource
from wattslice.errors import Severity
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.ir import Diagnostic
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice_models.gpu import load_gpu

from .geometry import launches

HEAD = "".join(
    f"#include <{name}>\n"
    for name in (
        "cassert",
        "cstdio",
        "sys/time.h",
        "iostream",
        "fstream",
        "sstream",
        "vector",
        "array",
        "algorithm",
        "numeric",
        "cstdlib",
        "cstring",
        "tuple",
        "utility",
        "functional",
        "map",
        "unordered_map",
        "thrust/device_vector.h",
        "thrust/fill.h",
    )
)
KERNEL = """__global__ void k(int n) {}
inline int2 min(int2 a, int2 b) { return make_int2(a.x + b.x, 0); }
inline int2 abs(int2 a) { return make_int2(-a.x, 0); }
struct L { int a; int f() { return a += 2; } };
struct Config { int m, n; };
void set(int &&r) { r = 12; }
void add(int &n) { n++; }
struct Kept { int &n; Kept(int &x) : n(x) {} void go() { n += 3; } };
template <class T> void put_in(T &x, int v) { x = v; }
void lose(L &l, int n) { l.a = n; }
template <class F, class... A> void forwarded(F &&f, A &&...a) { std::forward<F>(f)(std::forward<A>(a)...); }
struct Node { int v; Node *l = 0, *r = 0; };
void grow(Node *&n, int v) { if (!n) n = new Node{v}; else grow(v < n->v ? n->l : n->r, v); }
int deep(Node *n) { return n ? 1 + std::max(deep(n->l), deep(n->r)) : 0; }
char *skip(char *s, char c) { while (*s && *s != c) s++; return s; }
int first = 5, every[4] = {1, 2, 3, 4}, *where = &first;
Config config = {1, 256};
int put(int &to, int n) { return to = n; }
struct Pool {
  int used = 4;
  void free(int n) { used -= n; }
  void printf(const char *, int n) { used = n; }
  void exit(int n) { used = n; }
};
std::ostream &setting(std::ostream &o) { first = 9; return o; }
Pool &operator<<(Pool &p, int n) { p.used += n; return p; }
void cudaFreeAll(int *n) { *n = 9; }
struct Elsewhere { void free(int *n); };
void puts(int &n);
int cudaPick(int n);
extern "C" int MPI_Init_thread(int *, char ***, int, int *);
int &named = first, &third = every[2], &size = config.n, &aimed = *where;
"""

LOST = [
    ("standard input", "int a = 3; std::cin >> a;"),
    ("two of a stream", "int a = 3, b; std::cin >> b >> a;"),
    ("a file", 'int a = 3; std::ifstream f("x"); f >> a;'),
    ("a word that is no number", 'int a = 3; std::stringstream ss("x"); ss >> a;'),
    ("an element nobody knows", "std::vector<int> v = {3, 1}; int i; std::cin >> i; v[i] = 9; int a = v[0];"),
    ("moved", "std::vector<int> v = {3, 1}; auto w = std::move(v); int a = v.size() + 1;"),
    ("backwards", "std::vector<int> v = {3, 1}; *v.rbegin() = 4; int a = v[1];"),
    ("resized by what nobody knows", "std::vector<int> v = {3, 1}; int i; std::cin >> i; v.resize(i);"
     "v.resize(2); int a = v[1];"),
    ("a text written over", 'std::stringstream s("12"); s << "3"; int a; s >> a;'),
    ("a text with a number", 'std::stringstream s; s << 1.5; int a = s.str().size();'),
    ("a text read to its end", 'std::stringstream s; int a; s << 1; s >> a; s << 2; s >> a;'),
    ("the rest of a text", 'std::stringstream s("5 6"); int b; s >> b; int a = s.str().size();'),
    ("a line's end", 'std::stringstream s; s << 1 << std::endl; int a = s.str().size();'),
    ("an unknown key", "std::map<int, int> m = {{1, 2}}; int i; std::cin >> i; m[i] = 4; int a = m[1];"),
    ("a text nobody reads", "std::vector<int> v((3 <=> 4) < 0 ? 3 : 4); int a = v.size() + 1;"),
    ("by an iterator of a class", "thrust::device_vector<int> v(8); auto i = v.begin();"
     "thrust::fill(i, i + 8, 3); int a = v[1] + 1;"),
    ("by a closure in a long loop", "std::vector<int> v(512), w = {1}; for (int i = 0; i < 99999; i++)"
     "std::for_each(w.begin(), w.end(), [&](int x) { v.push_back(x); }); int a = v.size();"),
    ("in no order", "std::unordered_map<int, int> m = {{1, 2}, {3, 4}}; int a = m.begin()->second;"),
    ("a key that is not there", "std::map<int, int> m = {{1, 2}}; int a = m.at(3);"),
    ("keys in an order of their own", "std::map<int, int, std::greater<int>> m = {{1, 2}, {3, 4}};"
     "int a = m.begin()->second;"),
    ("words by marks nobody knows", 'char s[] = "3,4"; const char *m = getenv("x"); strtok(s, m);'
     "int a = strlen(s);"),
    ("a member by pointer", "L l{3}; int L::*m = &L::a; l.*m = 40; int a = l.a;"),
    ("of an object behind a pointer", "L l{3}, *p = &l; int L::*m = &L::a; p->*m = 40; int a = l.a;"),
    ("of one in brackets", "L l{3}, *p = &l; int L::*m = &L::a; (*p).*m = 40; int a = l.a;"),
    ("by a method behind a pointer", "L l{3}; int (L::*m)() = &L::f; (l.*m)(); int a = l.a;"),
    ("read by a pointer", "L l{3}; int L::*m = &L::a; int a = 5; a = l.*m;"),
    ("an elapsed time", "float t = 0; cudaEvent_t s; cudaEventElapsedTime(&t, s, s); int a = t > 1 ? 9 : 3;"),
    ("the best of elapsed times", "float ms = 0, best = 9; cudaEvent_t s; int a = 3;"
     "for (int i = 4; i < 7; i++) { cudaEventElapsedTime(&ms, s, s); if (ms < best) { best = ms; a = i; } }"),
    ("the clock", "timeval t = {}; gettimeofday(&t, 0); int a = t.tv_usec + 2;"),
    ("behind an address that was lost", "int a = 3, *p = &a; lost::pick(&p); a = 5; *p = 9;"),
    ("behind an address in a record that was lost", "struct { int n, *at; } one; int a = 3; one.at = &a;"
     "lost::pick(&one); a = 5; *one.at = 9;"),
    ("a wait", "cudaEvent_t e; int a = 3; while (cudaEventQuery(e) == cudaErrorNotReady) a++;"),
    ("a stream at work", "int a = 3; if (cudaStreamQuery(0) == cudaErrorNotReady) a = 9;"),
    ("the pitch of a volume", "cudaPitchedPtr p = {}; cudaMalloc3D(&p, make_cudaExtent(100, 4, 4));"
     "int a = p.pitch + 1;"),
    ("what MPI provides", "int a = 3; MPI_Init_thread(0, 0, 2, &a);"),
    ("what printf counts", 'int a = 3; printf("12345%n", &a);'),
    ("what printf counts, of a result", 'int a = 3; if (printf("%5$n", &a) < 0) puts("");'),
    ("a conversion that is not known", 'char t[9]; int a = 3; sscanf("ab,12", "%[^,],%d", t, &a);'),
    ("by a method elsewhere with a name of C", "int a = 3; Elsewhere e; e.free(&a);"),
    ("by a function elsewhere with a name of C", "int a = 3; puts(a);"),
    ("of a function elsewhere that sounds like the runtime", "int a = cudaPick(3) + 3;"),
    ("by a manipulator", "std::cout << 1 << setting; int a = first;"),
    ("exchanged where it is printed", 'int a = 3; int z; std::cin >> z; printf("%d", std::exchange(a, z));'),
    ("read in a test", 'int a = 3; assert(scanf("%d", &a) == 1);'),
    ("by a pointer to its bytes", "int a = 300; char *c = (char *)&a; *c = 1;"),
    ("by a pointer to its halves", "int a = 300; short *c; c = (short *)&a; c[1] = 1;"),
    ("of a closure that a library runs in what is printed", "int a = 3, v[2] = {1, 2};"
     'printf("%d", (int)std::accumulate(v, v + 2, 0, [&](int s, int q) { a++; return s; }));'),
]  # fmt: skip


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in LOST])
def test_what_may_have_been_written_is_unknown(tmp_path, body):
    (launch,) = launches(tmp_path, f"{HEAD}{KERNEL}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert launch.source is LaunchSource.ASSUMED
    assert launch.assumptions


DOUBTS = """#include <functional>
#include <string>
int asked();
std::string name() { if (asked()) return "abc"; return "ab"; }
Config both() { if (asked()) return {1, 2}; return {3, 2}; }
int bumped = 0;
int five() { return 5; }
int six() { return 6; }
void other(std::string &s) { s = "abc"; }
void bump(int n) { bumped += n; }
struct Far { int m() const; };
struct Near { int m() const { return 3; } };
int near() { return Near().m(); }
__managed__ int total;
__managed__ int *far;
__device__ void added(int *p) { atomicAdd(p, 2); }
__global__ void sets() { total = 9; }
__global__ void adds() { added(&total); }
__global__ void elsewhere() { *far = 9; }
__global__ void calls() { unseen(); }
__global__ void none() {}
__global__ void reads(int *c) { *c = total; }
__global__ void v(Config *c) { c->n = 9; }
__global__ void w(int *c) { *c = 77; }
"""

DOUBTFUL = [
    ("a text", 'std::string s = "small"; if (asked()) s = "large"; int a = s == "large" ? 7 : 5;'),
    ("the end of a text", 'std::string s = "ab"; if (asked()) s += "c"; int a = s.size();'),
    ("a text that a function makes", 'std::string s = "ab"; if (asked()) other(s); int a = s.size();'),
    ("a text of a switch", 'std::string s = "a"; switch (asked()) { case 1: s = "bb"; } int a = s.size();'),
    ("a text of a loop", 'const char *s = "6"; while (asked()) s = "66"; int a = atoi(s);'),
    ("a text behind a loop", 'const char *s = "6"; if (asked()) s = "7"; for (int i = asked(); i--;) s = "8";'
     "int a = atoi(s);"),
    ("one of two texts", 'int a = name().size();'),
    ("one of two records", "int a = both().m;"),
    ("one of two functions", "int (*f)() = five; if (asked()) f = six; int a = f();"),
    ("one of two closures", "auto f = [](int n) { return n; }; std::function<int(int)> g = f;"
     "if (asked()) g = [](int n) { return n + 1; }; int a = g(4);"),
    ("a number behind a loop", "int a = asked(); for (int i = asked(); i--;) a = 5;"),
    ("managed", "int *c; cudaMallocManaged(&c, 64); c[0] = 2; w<<<1, 1>>>(c); int a = c[0];"),
    ("managed, a member", "Config *c; cudaMallocManaged(&c, 8); c->n = 2; v<<<1, 1>>>(c); int a = c->n;"),
    ("managed, by its name", "total = 4; sets<<<1, 1>>>(); int a = total;"),
    ("managed, by a function", "total = 4; adds<<<1, 1>>>(); int a = total;"),
    ("managed, by a pointer beside it", "total = 4; elsewhere<<<1, 1>>>(); int a = total;"),
    ("managed, by what is not read", "total = 4; calls<<<1, 1>>>(); int a = total;"),
    ("managed, by a kernel elsewhere", "extern __global__ void other(int); total = 4; other<<<1, 1>>>(7);"
     "int a = total;"),
    ("managed, by one of two kernels", "total = 4; auto f = none; if (asked()) f = sets; f<<<1, 1>>>();"
     "int a = total;"),
    ("managed, by a graph", "cudaStream_t s; cudaGraph_t g; cudaGraphExec_t e; cudaStreamBeginCapture(s,"
     "cudaStreamCaptureModeGlobal); sets<<<1, 1, 0, s>>>(); cudaStreamEndCapture(s, &g);"
     "cudaGraphInstantiate(&e, g, 0); total = 4; cudaGraphLaunch(e, s); int a = total;"),
    ("pinned", "int *c; cudaMallocHost(&c, 64); *c = 8; w<<<1, 1>>>(c); int a = *c;"),
    ("set on the device", "int *c; cudaMallocManaged(&c, 64); c[0] = 5; cudaMemset2D(c, 8, 1, 8, 2);"
     "int a = c[0];"),
    ("by a function that a library is given", "std::vector<int> v = {3, 1};"
     "std::for_each(v.begin(), v.end(), bump); int a = bumped;"),
    ("by a closure that a library is given", "std::vector<int> v = {3, 1}; int a = 0;"
     "std::for_each(v.rbegin(), v.rend(), [&](int) { a++; });"),
    ("a method elsewhere", "Far f; int a = f.m();"),
    ("a size that a library asks", "size_t a = 0; cub::DeviceScan::ExclusiveSum(nullptr, a, where, where,"
     "9);"),
]  # fmt: skip


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in DOUBTFUL])
def test_what_only_the_run_knows_is_unknown(tmp_path, body):
    head = "#include <cub/cub.cuh>\n" * ("cub::" in body) + HEAD + KERNEL + DOUBTS
    found = launches(tmp_path, f"{head}int main() {{ {body}\n k<<<a, 32>>>(7); }}")
    (launch,) = (one for one in found if one.kernel.name == "k" and one.block[0] == 32)
    assert launch.source is LaunchSource.ASSUMED
    assert launch.assumptions


def test_managed_variables_stay_behind_kernels_that_do_not_write_them(tmp_path):
    body = "total = 4; reads<<<1, 1>>>(nullptr); k<<<1, 1>>>(7); none<<<1, 1>>>(); k<<<total, 32>>>(7);"
    found = launches(tmp_path, f"{HEAD}{KERNEL}{DOUBTS}int main() {{ {body} }}")
    (launch,) = (one for one in found if one.kernel.name == "k" and one.block[0] == 32)
    assert (launch.grid[0], launch.source) == (4, LaunchSource.HOST_CODE)


TWO = """__global__ void k(int n) { if (threadIdx.x < n) __syncthreads(); }
__global__ void k2(int n) { if (threadIdx.x < n) __syncthreads(); }
__global__ void k3(int n) { if (threadIdx.x < n) __syncthreads(); }
int asked();
static void (*every[2])(int) = {k, k2};
"""


@pytest.mark.parametrize("body", [
    "auto f = k; if (asked()) f = k2; f<<<16, 64>>>(7);",
    "(asked() ? k : k2)<<<16, 64>>>(7);",
    "auto f = k; if (asked()) { if (asked()) f = k2; } f<<<16, 64>>>(7);",
    "every[asked()]<<<16, 64>>>(7);",
])  # fmt: skip
def test_a_launch_through_one_of_two_pointers_is_listed_beside_others(tmp_path, body):
    found = launches(tmp_path, f"{TWO}int main() {{ auto g = k3; g<<<4, 32>>>(7); k<<<4, 32>>>(7); {body} }}")
    assert [(one.kernel.name, one.grid[0], one.times) for one in found] == [
        ("k", 4, 1), ("k", 16, None), ("k2", 16, None), ("k3", 4, 1)
    ]  # fmt: skip
    assert ["perhaps" in "".join(a.message for a in one.assumptions) for one in found] == [0, 1, 1, 0]


def test_a_pointer_that_may_hold_any_kernel_is_listed_for_each(tmp_path):
    body = "auto f = k; if (asked()) f = chosen(); f<<<16, 64>>>(7); auto g = k3; g<<<4, 32>>>(7);"
    found = launches(tmp_path, f"{TWO}void (*chosen())(int);\nint main() {{ {body} }}")
    assert {one.kernel.name for one in found if one.grid[0] == 16} == {"k", "k3"}


WRITTEN = [
    ("the length stays", "std::vector<int> v = {3, 1}; std::iota(v.begin(), v.end(), 4);"
     "int a = v.size();", 2),
    ("also behind a pointer", "std::vector<int> v(5); std::sort(v.data(), v.data() + 5);"
     "int a = v.size();", 5),
    ("a range", "std::vector<int> v = {3, 1}; for (auto &x : v) x *= 4; int a = v[1];", 4),
    ("an index", "std::vector<int> v = {3, 1}; v[1] = 9; int a = v[1];", 9),
    ("behind data", "std::vector<int> v = {3, 1}; v.data()[0] = 9; int a = v[0];", 9),
    ("behind an address", "std::vector<int> v = {3, 1}; int *p = &v[0]; *p = 9; int a = v[0];", 9),
    ("a reference", "std::vector<int> v = {3, 1}; int &p = v.back(); p = 9; int a = v[1];", 9),
    ("moved to", "std::vector<int> v = {3, 1}; auto w = std::move(v); int a = w.size();", 2),
    ("a copy of a closure", "int a = 5; [a]() mutable { a += 7; }();", 5),
    ("all copied", "int a = 5; auto f = [=]() mutable { a++; }; f(); f();", 5),
    ("captured by reference", "int a = 5; [&a]() { a += 7; }();", 12),
    ("a pitch", "float *d; size_t a; cudaMallocPitch(&d, &a, 1025, 8);", 1536),
    ("numbers, of which a header has vectors, too", "unsigned n = 9; int a = min(n, abs(-700));", 9),
    ("moved", "int a = 3; int &&r = std::move(a); r = 9;", 9),
    ("forwarded", "int a = 3; auto &&r = std::forward<int &>(a); r = 9;", 9),
    ("moved to a function", "int a = 3; set(std::move(a));", 12),
    ("a text cut", "char s[] = \"n=50\", *e = strchr(s, '='); *e = 0; int a = strcmp(s, \"n\") ? 3 : 7;", 7),
    ("its rest", "char s[] = \"n=50\", *e = strchr(s, '='); *e++ = 0; int a = atoi(e);", 50),
    ("its length", "char s[] = \"a.b\", *e = strrchr(s, '.'); if (e) e[0] = 0; int a = strlen(s);", 1),
    ("a character", "char s[] = \"n=50\", *e = strchr(s, '='); *e = 9; int a = s[1];", 9),
    ("cut by the user", "char s[] = \"n=50\"; *skip(s, '=') = 0; int a = strlen(s);", 1),
    ("what memcpy gives", "int v[2] = {1, 2}, w[2] = {3, 4}, *p = (int *)memcpy(v, w, 8); *p = 9;"
     "int a = v[0];", 9),
    ("a text copied", 'char s[] = "ab"; strcpy(s, "x"); int a = strlen(s);', 1),
    ("by a name at file scope", "named = 17; int a = first;", 17),
    ("an element by its name", "third = 50; int a = every[2];", 50),
    ("a member by its name", "size = 96; int a = config.n;", 96),
    ("what was pointed at", "aimed = 8; int a = first;", 8),
    ("read by its name", "every[2] = 6; int a = third;", 6),
    ("printed", 'int a = 3; printf("%d", ++a);', 4),
    ("printed, less one", 'int a = 3; printf("%d", --a);', 2),
    ("printed and set", 'int a = 3; fprintf(stderr, "%s %d", "of", a += 6);', 9),
    ("by a stream", 'int a = 3; std::cout << "a" << a++ << std::endl << (a *= 2);', 8),
    ("by a function that is printed", 'int a = 3; printf("%f", 2.0 * put(a, 8));', 8),
    ("an element that a map makes", "std::map<int, int> m; std::cout << m[2]; int a = m.size();", 1),
    ("by one of two that a stream gets", "int a = 3; std::cout << (a > 2 ? put(a, 5) : put(a, 6));", 5),
    ("by a closure that is printed", "int a = 3; auto f = [&](int n) { return a = n; };"
     "std::cout << f(6) << f(7);", 7),
    ("by a method of the user", 'int a = 3; L l{a}; puts(l.f() > 4 ? "x" : "y"); a = l.a;', 5),
    ("tested", "int a = 3; assert((a = 7) && put(a, 9));", 9),
    ("freed", "int a = 3; free((a = 7, nullptr));", 7),
    ("behind a comma", 'int a = 3; a = 5, printf("%d", ++a);', 6),
    ("a count that is none", 'int a = 3; printf("%%n", &a);', 3),
    ("characters that sscanf took", 'int b, a = 1; sscanf("12ab", "%d%n", &b, &a);', 2),
    ("a pool of the user", "Pool p; p.free(1); int a = p.used;", 3),
    ("a log of the user", 'Pool p; p.printf("%d", 9); int a = p.used;', 9),
    ("a method of the user that is no exit", "Pool p; p.exit(11); int a = p.used;", 11),
    ("a stream of the user", "Pool p; p << 3 << 4; int a = p.used;", 11),
    ("a function of the user that frees", "int a = 3; cudaFreeAll(&a);", 9),
    ("an event that is there", "cudaEvent_t e = 0; int a = 3; cudaEventCreate(&e); if (e) a = 5;", 5),
    ("memory of a pool", "float *p = 0; int a = 3; cudaMallocFromPoolAsync(&p, 64, 0, 0); if (p) a = 5;", 5),
    ("an element that is looked at", "int a = 3; std::vector<int> v = {1, a};"
     "std::cout << v[1] << v.back() << v.size();", 3),
    ("an array of pointers", "int a = 3; int *all[2] = {&a, nullptr}; *all[0] = 9;", 9),
    ("by a comparison of its own", "std::vector<int> v = {1, 3};"
     "std::sort(v.begin(), v.end(), [](int x, int y) { return x > y; }); int a = v[0];", 3),
    ("tied", "int a = 3, b = 1; std::tie(a, b) = std::make_tuple(9, 8);", 9),
    ("one of two, by reference", "int x = 1, y = 1; bool up = true; for (int i = 0; i < 3; i++) {"
     "add(up ? x : y); up = !up; } int a = 10 * x + y;", 32),
    ("one of two, to a function of a library", "int x = 1, y = 2, z = 3; std::swap(y > 1 ? x : y, z);"
     "int a = 10 * x + z;", 31),
    ("one of two, kept by an object", "int x = 1, y = 2; Kept r(x > 5 ? x : y); r.go();"
     "int a = 10 * x + y;", 15),
    ("one of two, by a template", "int x = 1, y = 2; put_in(x > 5 ? x : y, 7); int a = 10 * x + y;", 17),
    ("one of two, by a lambda", "int x = 1, y = 2; auto f = [](int &r) { r += 4; }; f(x ? x : y);"
     "int a = 10 * x + y;", 52),
    ("what an operator gives, by reference", "int x = 1, y = 1, z = 1; add(++x); add(y += 4); add((x, z));"
     "int a = 100 * x + 10 * y + z;", 362),
    ("by a function that is forwarded", "int a = 3; forwarded(add, a);", 4),
    ("of an object, by a function that is forwarded", "L l{3}; forwarded(lose, l, 8); int a = l.a;", 8),
    ("one of two nodes", "Node *p = 0; for (int v : {5, 2, 8, 9}) grow(p, v); int a = deep(p);", 3),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid"), [pytest.param(*case[1:], id=case[0]) for case in WRITTEN])
def test_what_is_written_is_known(tmp_path, body, grid):
    (launch,) = launches(tmp_path, f"{HEAD}{KERNEL}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert (launch.grid[0], launch.source) == (grid, LaunchSource.HOST_CODE)


@pytest.mark.parametrize("use", ["E e;", "E *e = new E; delete e;"])
def test_a_launch_in_a_destructor_is_found(tmp_path, use):
    text = f"{KERNEL}struct E {{ ~E() {{ k<<<19, 64>>>(1); }} }};\nint main() {{ {use} }}"
    (launch,) = launches(tmp_path, text)
    assert all("no launch in this file" not in note.message for note in launch.assumptions)


@pytest.mark.parametrize(("call", "size", "is_told"), [
    ("cudaMalloc(&x, n * 4)", 1 << 40, True),
    ("cudaMalloc(&x, n * 4)", 1 << 20, False),
    ("cudaMallocManaged(&x, n * 4)", 1 << 40, False),
])  # fmt: skip
def test_arrays_larger_than_the_memory_are_told(tmp_path, call, size, is_told):
    text = "__global__ void k(float *x) { x[0] = 1; }\n"
    (launch,) = launches(
        tmp_path, f"{text}int main() {{ float *x; long n = {size}; {call}; k<<<1, 32>>>(x); }}"
    )
    told = [a.message for a in launch.assumptions if "taken to fit" in a.message]
    assert told == (
        ["k is given arrays of at least 4.4e+12 bytes, taken to fit the 1.72e+10 bytes of the GPU"] * is_told
    )


@pytest.mark.parametrize(("severity", "reason"), [
    (Severity.NOTE, "no launch in this file"),
    (Severity.WARNING, "no launch in this file, as far as it could be read"),
])  # fmt: skip
def test_a_launch_may_stand_where_the_file_could_not_be_read(tmp_path, severity, reason):
    path = tmp_path / "a.cu"
    path.write_text(KERNEL)
    problem = Diagnostic("PW001", severity, str(path), 1, "not understood")
    program = replace(read_cuda(path), diagnostics=(problem,))
    (launch,) = resolve_launches(program, NO_OVERRIDES, load_gpu("v100"))
    assert f"launch unknown: {reason}; assumed" in launch.assumptions[0].message


STAYS = [
    ("the source of a copy", "P p; p.n = 5; int *d; cudaMemcpy(d, &p, sizeof(P), cudaMemcpyHostToDevice);"),
    ("beside a member", "P p; p.n = 5; fill(&p.m);"),
    ("beside a member of what is passed on", "P p; p.n = 5; made(&p.m);"),
    ("the largest block", "P p; cudaFuncAttributes f; cudaFuncGetAttributes(&f, k);"
     "p.n = f.maxThreadsPerBlock < 1024 ? 1 : 5;"),
    ("an extent", "P p; cudaExtent e = make_cudaExtent(4, 5, 6); p.n = e.height;"),
    ("what a function of OpenGL is given", "P p; int n = 5; glBindBuffer(7, n); p.n = n;"),
    ("the plans of a long loop", "P q[4]; q[1].x = (int *)malloc(4000); q[1].n = 5;"
     "for (int i = 0; i < 1000; i++) q[1].x[i] = i; P p; p.n = q[1].n;"),
    ("what is beside memory that a long loop fills", "P p; p.n = 5; int *n = &p.n, *d;"
     "cudaMallocManaged(&d, 40000); for (int i = 0; i < 10000; i++) d[i] = i;"),
]  # fmt: skip


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in STAYS])
def test_what_nobody_writes_stays(tmp_path, body):
    types = "struct P { int n, m; int *x; }; void fill(int *); void made(int *m) { fill(m); }"
    (launch,) = launches(tmp_path, f"{KERNEL}{types} int main() {{ {body} k<<<2, 32>>>(p.n); }}")
    assert launch.arguments == (5,)


KEPT = """struct P { int n, m; }; struct Kept { int *n; P *p; };
void keep(Kept *); P *someone(); int *number();
int main() { P p; int n; Kept c = {&n, &p}; keep(&c); p.n = 5; n = 5; """


@pytest.mark.parametrize(("write", "known"), [
    ("*number() = 7;", (None, None)),
    ("someone()->m = 7;", (None, 5)),  # a member of an object is no variable by itself
    ("", (5, 5)),
])  # fmt: skip
def test_behind_an_address_that_nobody_knows_lies_what_may_be_of_its_type(tmp_path, write, known):
    text = f"__global__ void k(int a, int b) {{}} {KEPT} {write} k<<<2, 32>>>(p.n, n); }}"
    (launch,) = launches(tmp_path, text)
    assert launch.arguments == known


@pytest.mark.parametrize("written", ["&p.n", "&p.v[0]", "&p"])
def test_what_is_behind_the_start_of_an_object_is_lost(tmp_path, written):
    types = "struct P { int v[2], n; }; void fill(void *);"
    (launch,) = launches(
        tmp_path, f"{KERNEL}{types} int main() {{ P p; p.n = 5; fill({written}); k<<<2, 32>>>(p.n); }}"
    )
    assert launch.arguments == (None,)


@pytest.mark.parametrize(
    "fill",
    [
        "d[i] = i;",
        "if (i == 77) d[700] = 9;",
        "if (i == 77) *far = &n; d[0] = 9;",
        "if (i == 77) d = &n; d[0] = 9;",
        "if (i == 77) lead(far, &n); d[0] = 9;",
    ],
)
def test_what_a_long_loop_may_write_through_a_pointer_is_lost(tmp_path, fill):
    """In memory of its own, or in a variable that the pointer has come to lead to."""
    body = f"""int n = 5, *d, **far = &d; cudaMallocManaged(&d, 40000); int *e = d; d[700] = 5; e[0] = 5;
    for (int i = 0; i < 10000; i++) {{ {fill} }}
    k<<<2, 32>>>({"e[700]" if "700" in fill or "[i]" in fill else "n"});"""
    (launch,) = launches(tmp_path, f"{KERNEL} void lead(int **, int *); int main() {{ {body} }}")
    assert launch.arguments == (None,)


def test_an_array_that_a_long_loop_fills_by_a_pointer_is_lost_as_a_whole(tmp_path):
    fill = "void fill(int *p) { for (int i = 0; i < 5000; i++) p[i] = i; }"
    body = "int a[5000]; a[700] = 5; fill(a); k<<<2, 32>>>(a[700]);"
    (launch,) = launches(tmp_path, f"{KERNEL} {fill} int main() {{ {body} }}")
    assert launch.arguments == (None,)


def test_memory_that_a_long_loop_fills_by_a_member_is_lost_as_a_whole(tmp_path):
    body = """P q[4]; q[1].x = (int *)malloc(4000); q[1].x[700] = 5;
    for (int i = 0; i < 1000; i++) q[1].x[i] = i;
    k<<<2, 32>>>(q[1].x[700]);"""
    (launch,) = launches(tmp_path, f"{KERNEL} struct P {{ int *x; }}; int main() {{ {body} }}")
    assert launch.arguments == (None,)


def test_no_answer_of_the_device_hangs_on_its_number(tmp_path):
    text = """template <class T> void check(T) {}
int main(int argc, char **argv) {
    int dev = findCudaDevice(argc, (const char **)argv), mode = findCudaDevice(argc, (const char **)argv);
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, dev));
    int blocks = p.multiProcessorCount;
    switch (argc) { case 77: k<<<blocks, 32>>>(mode); }
}
int findCudaDevice(int argc, const char **argv) { return argc > 5; }
"""
    (launch,) = launches(tmp_path, f"{KERNEL}int findCudaDevice(int, const char **);\n{text}")
    assert (launch.grid, launch.source) == ((80, 1, 1), LaunchSource.HOST_CODE)


def test_a_function_elsewhere_does_not_write_what_it_gets_as_const(tmp_path):
    before = (
        "struct S { int n; }; void look(const S *, int *); void get(S *); struct T { void at(const S *); };"
    )
    for call, source in (
        ("look(&s, &m)", LaunchSource.HOST_CODE),
        ("T().at(&s)", LaunchSource.HOST_CODE),
        ("look(&t, &s.n)", LaunchSource.ASSUMED),
        ("get(&s)", LaunchSource.ASSUMED),
    ):
        text = f"{KERNEL}{before}\nint main() {{ int m = 1; S s, t; s.n = 4; {call}; k<<<s.n, 64>>>(7); }}"
        assert launches(tmp_path, text)[0].source is source, call


def test_a_member_by_pointer_in_a_launch_is_unknown(tmp_path):
    body = "L l{3}; int L::*m = &L::a; k<<<l.*m, 32>>>(7);"
    (launch,) = launches(tmp_path, f"{HEAD}{KERNEL}int main() {{ {body} }}")
    assert launch.source is LaunchSource.ASSUMED


@pytest.mark.parametrize(
    ("words", "grid", "block"), [(("n=5000", "block=128"), 40, 128), (("n=640",), 10, 64), (("m=1",), 16, 64)]
)
def test_words_that_are_cut_where_they_stand(tmp_path, words, grid, block):
    path = tmp_path / "a.cu"
    path.write_text(
        f"""{HEAD}{KERNEL}void look(int, char **);
int main(int argc, char **argv) {{
  look(argc, argv);
  int n = 1024, b = 64;
  for (int i = 1; i < argc; i++) {{
    char *eq = strchr(argv[i], '=');
    if (!eq) continue;
    *eq = 0;
    if (strcmp(argv[i], "n") == 0) n = atoi(eq + 1);
    else if (strcmp(argv[i], "block") == 0) b = atoi(eq + 1);
  }}
  k<<<(n + b - 1) / b, b>>>(n);
}}"""
    )
    around = Neighbours(arguments=lambda _: ProgramArguments(words, "--args"))
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)
    assert (launch.grid[0], launch.block[0]) == (grid, block)
    assert launch.source is not LaunchSource.ASSUMED


def test_launches_that_are_known_are_kept_before_assumed_ones(tmp_path):
    known = " ".join(f"k<<<{n}, 32>>>(1);" for n in range(1, 4))
    unknown = " ".join(f"std::cin >> x; k<<<x, {32 * n}>>>(1);" for n in range(2, 12))
    found = launches(tmp_path, f"{HEAD}{KERNEL}int main() {{ int x; {known} {unknown} }}")
    assert [one.grid[0] for one in found if one.source is LaunchSource.HOST_CODE] == [1, 2, 3]
    assert len(found) == 8
    assert found[0].assumptions[-1].message.startswith("5 further launches of k not shown")


def test_a_word_that_another_function_gets_is_lost(tmp_path):
    path = tmp_path / "a.cu"
    main = 'int main(int argc, char **argv) { split(argv[1], "="); k<<<strlen(argv[1]), 32>>>(7); }'
    path.write_text(f"{HEAD}{KERNEL}char *split(char *, const char *);\n{main}")
    around = Neighbours(arguments=lambda _: ProgramArguments(("n=5",), "--args"))
    (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"), around)
    assert launch.source is LaunchSource.ASSUMED


def test_a_method_of_a_library_is_none_of_a_class_of_the_program(tmp_path):
    head = "#include <thrust/device_vector.h>\nstruct B { int n; int size() const { return n; } };\n"
    body = "B b{3}; thrust::device_vector<int> v(5); k<<<v.size(), 32>>>(b.size());"
    (launch,) = launches(tmp_path, f"{head}__global__ void k(int n) {{}}\nint main() {{ {body} }}")
    assert (launch.grid[0], launch.arguments, launch.source) == (5, (3,), LaunchSource.HOST_CODE)


PRINTING = [
    ("printed", 'go(2); printf("%f", go(3));', {2: 1, 3: 1}),
    ("of a stream", 'go(2); std::cout << go(3) << "s" << (double)go(4) / 2;', {2: 1, 3: 1, 4: 1}),
    ("only printed", 'printf("%f", go(20));', {20: 1}),
    ("in a loop", 'for (int i = 0; i < 3; i++) printf("%f", go(2)); go(2);', {2: 4}),
    ("tested", "assert(go(2) > 0);", {2: 1}),
    ("on a condition", 'printf("%f", 1 > 2 ? go(2) : go(3));', {3: 1}),
    ("by a manipulator", "std::cout << 1 << launching;", {6: None}),
    ("beside what clang rejects", 'printf("%f %d", go(5), nothing);', {5: 1}),
    ("by a function that is held", "std::function<float(int)> f = go; std::cout << f(7);", {7: 1}),
    ("by a statement expression", 'printf("%f", ({ go(3); 1.0; }));', {3: 1}),
]


@pytest.mark.parametrize(("body", "grids"), [pytest.param(*case[1:], id=case[0]) for case in PRINTING])
def test_what_is_printed_runs(tmp_path, body, grids):
    head = "#include <functional>\n__global__ void k(int n) {}\n"
    head += "float go(int n) { k<<<n, 32>>>(n); return 1; }\n" * ("go" in body)
    if "launching" in body:
        head += "std::ostream &launching(std::ostream &o) { k<<<6, 32>>>(1); return o; }\n"
    found = launches(tmp_path, f"{HEAD}{head}int main() {{ {body} }}")
    assert {one.grid[0]: one.times for one in found} == grids
    assert {one.source for one in found} == {LaunchSource.HOST_CODE}


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("int v[4] = {1, 2, 3, 4}; char *p = (char *)v; p[5] = 1; k<<<1, 32>>>(v[at]);", [1, None, 3, 4]),
        (
            "int v[2][2] = {{1, 2}, {3, 4}}; ((short *)v)[4] = 9; k<<<1, 32>>>(v[at / 2][at % 2]);",
            [1, 2, None, 4],
        ),
        ("short v[4] = {1, 2, 3, 4}; ((int *)v)[1] = 9; k<<<1, 32>>>(v[at]);", [1, 2, None, None]),
        ("int v[4] = {1, 2, 3, 4}; *(int *)((char *)v + 6) = 9; k<<<1, 32>>>(v[at]);", [1, None, None, 4]),
        ("S s = {1, 2, 3, 4}; ((char *)&s)[5] = 7; k<<<1, 32>>>((&s.a)[at]);", [1, None, 3, 4]),
        ("S s = {1, 2, 3, 4}; *(long *)&s.c = 7; k<<<1, 32>>>((&s.a)[at]);", [1, 2, None, None]),
        ("char v[4] = {1, 2, 3, 4}; v[1] = 9; k<<<1, 32>>>(v[at]);", [1, 9, 3, 4]),
    ],
)
def test_a_number_that_is_written_in_part_is_unknown(tmp_path, body, known):
    head = "struct S { int a, b, c, d; }; __global__ void k(int n) {}"
    for at, value in enumerate(known):
        text = f"{head} int main() {{ const int at = {at}; {body} }}"
        (launch,) = launches(tmp_path, text)
        assert launch.arguments[0] == value


@pytest.mark.parametrize(("argument", "known"), [("image.d", True), ("(float *)&n", False)])
def test_an_address_that_is_not_known_is_none_of_a_variable_of_the_host(tmp_path, argument, known):
    source = f"""struct Image {{ int width; float *d; void fill(float *, int *); }};
__global__ void a(float *x) {{ x[threadIdx.x] = 1; }}
__global__ void b(float *x) {{ x[threadIdx.x] = 1; }}
int main() {{ Image image; int n; cudaMalloc(&image.d, 4096);
  image.fill(::lost::data, &n); n = 100; image.width = 64;
  a<<<4, 32>>>({argument}); b<<<n, image.width>>>(image.d); }}"""
    _, found = launches(tmp_path, source)
    assert (found.source is LaunchSource.HOST_CODE) == known
    assert not known or (found.grid, found.block) == ((100, 1, 1), (64, 1, 1))


@pytest.mark.parametrize(
    "body",
    [
        "std::vector<H *> all{make(3), make(4)}; H *o = all[unknown()]; o->n = 9; k<<<all[1]->n, 32>>>(1);",
        "std::vector<H *> all{make(3), make(4)}; H *o = all[unknown()]; *o->p = 9; k<<<*all[1]->p, 32>>>(1);",
        "H h = *make(3), *all[] = {&h, &h}, *o = all[unknown()]; o->n = 9; *o->p = 8; k<<<*h.p, 32>>>(1);",
        "std::vector<std::shared_ptr<H>> v; v.push_back(std::make_shared<H>()); v[0]->n = 3;"
        "auto o = v[unknown()]; o->n = 9; k<<<v[0]->n, 32>>>(1);",
        "int a = 3; int *p = &a; if (unknown()) p = unread(); set(&p, 1); *p = 9; k<<<a, 32>>>(1);",
    ],
)
def test_what_an_address_from_an_unknown_place_reaches_is_unknown(tmp_path, body):
    head = """#include <memory>
#include <vector>
__global__ void k(int n) {}
struct H { int n; int *p; };
int unknown(); int *unread(); void set(int **p, int n);
H *make(int n) { H *h = new H; h->n = n; h->p = new int; *h->p = n; return h; }
"""
    (launch,) = launches(tmp_path, f"{head} int main() {{ {body} }}")
    assert launch.source is LaunchSource.ASSUMED
