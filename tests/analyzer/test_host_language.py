"""Forms of C++ in host code, in the order of the language's chapters: what is said is what g++'s program does.

Each case is declarations, statements of `main`, a grid and an argument; behind them what the run gives. Cases of
`TOLD` may be unknown, and must not be wrong.
"""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

HEAD = """
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>
__global__ void k(int n) {}
int calls = 1, gone = 0, g = 3;
int next() { return ++calls; }
struct A { int x = 1, z = 5; int w[2] = {6, 7}; A &operator+=(int k) { x += k; return *this; } int get() { return x; } };
struct B : A { int y = 2; B() {} B(int q) : y(q) { w[1] = q; } B &operator+=(int k) { A::operator+=(k); y += k; return *this; } };
struct Hides : A { int x = 20; int own() { return x; } };
struct One { int n = 1; };
struct Two { int n = 2; };
struct Both : One, Two { int m = 4; };
struct Log { Log() { calls++; } ~Log() { gone++; } };
struct Logged : One, Log {};
struct Holding : Log { Log c[1]; int v = 9; };
Holding held() { Holding h; return h; }
struct Longs { long n = 1; double d = 2; void up() { n += 5; d += 1; } };
struct More : Longs { int k = 2; };
struct Same : Longs { void twice() { n *= 2; } };
struct T { int v; T(int a = 0) : v(a) {} T(const T &o) : v(o.v) { calls++; } ~T() { gone += v; } };
struct Holds { T a, b; };
struct One_T { T a; int n; };
struct U { int z; union { int i; float f; }; struct { int p, q; }; int last; };
struct DU : U { int more = 3; };
struct S { int r = 0; S() { init(); } virtual void init() { r += 1; } virtual int who() const { return 1; } virtual ~S() { gone = gone * 10 + who(); } };
struct R : S { R() { init(); } void init() override { r += 10; } int who() const override { return 2; } ~R() { gone = gone * 10 + who(); } };
struct Q : S {};
struct D { int v; D(int a = next(), int b = 10) : v(a + b) {} ~D() { gone += v; } };
struct P { int x, y; };
int given(P p = {3, 4}) { return p.x * 10 + p.y; }
int pointed(int *p = &g) { return ++*p; }
struct Tried { Tried(int x) try : v(x) { if (x > 4) throw x; } catch (int y) { g += y; } int v; };
int tried(int x) try { if (x) throw x * 2; return 1; } catch (int y) { return y; }
void left(int &r) { try { r = 4; throw 1; } catch (...) { r += 3; } }
struct V { int v = 1; V() {} V(int a) : v(a) {} };
struct VL : virtual V { VL() : V(5) { v++; } };
struct VR : virtual V { VR() : V(9) { v += 10; } };
struct VD : VL, VR { VD() : V(3) {} };
"""

KNOWN = [
    ("B b;", "b.x", "b.z", (1, 5)),
    ("B b(9);", "b.w[1]", "b.w[0]", (9, 6)),
    ("B b; b.z = 8; b.w[0]++;", "b.z", "b.w[0]", (8, 7)),
    ("B b[2]; b[1].z = 9; b[0] = b[1];", "b[0].z", "b[1].y", (9, 2)),
    ("B b; b += 3;", "b.x", "b.y", (4, 5)),
    ("B b; b.operator+=(4);", "b.x", "b.y", (5, 6)),
    ("More m; m.up();", "m.n", "m.d", (6, 3)),
    ("Same m; m.twice(); m.up();", "m.n", "m.d", (7, 3)),
    ("Hides h; h.A::x = 7;", "h.x", "h.get()", (20, 7)),
    ("Hides h; static_cast<A &>(h).x = 8; h.x++;", "h.own()", "h.A::x", (21, 8)),
    ("Both b; b.One::n = 6;", "b.One::n", "b.Two::n", (6, 2)),
    ("Both b, c = b; c.Two::n = 8;", "c.Two::n", "b.Two::n * 10 + c.One::n", (8, 21)),
    ("{ Logged l; }", "calls", "gone", (2, 1)),
    ("Holding h = held(); h.v++;", "calls", "h.v * 10 + gone", (3, 100)),
    ("T a(2); Holds h{a, T(5)};", "calls", "gone", (2, 0)),
    ("T a(2); { Holds h{a, T(5)}; }", "calls", "gone", (2, 7)),
    ("T a(2); { One_T *p = new One_T{a, 1}; delete p; }", "calls", "gone", (2, 2)),
    ("U u = {1, {5}, {6, 7}, 8};", "u.i", "u.q * 10 + u.last", (5, 78)),
    ("U u = {1, 2, 3, 4, 5};", "u.last", "u.i * 10 + u.p", (5, 23)),
    ("DU d; d.z = 1; d.i = 8; d.q = 9;", "d.i", "d.z * 100 + d.q * 10 + d.more", (8, 193)),
    ("R r;", "r.r", "r.who()", (11, 2)),
    ("{ R r; }", "gone", "calls", (21, 1)),
    ("S s = R();", "s.r", "s.who()", (11, 1)),
    ("int x = next() + D().v;", "calls", "x", (3, 15)),
    ("D d; D e(4);", "calls", "d.v * 100 + e.v", (2, 1214)),
    ("D d[2];", "calls", "d[1].v", (3, 13)),
    ("D *p = new D[3]; p[2].v = 9;", "calls", "p[1].v * 10 + p[2].v", (4, 139)),
    ("", "given()", "given({1, 2})", (34, 12)),
    ("pointed();", "g", "calls", (4, 1)),
    ("int n = 0; try { Tried t(5); n = 1; } catch (int i) { n = i + 10; }", "n", "g", (15, 8)),
    ("Tried t(2);", "t.v", "tried(4) * 10 + tried(0)", (2, 81)),
    ("int n = 0; left(n);", "n", "g", (7, 3)),
    ("S s; int n = 1; try { dynamic_cast<R &>(s).r = 9; n = 2; } catch (const std::bad_cast &) { n = 3; }", "n", "s.r", (3, 1)),
    ("R r; S &s = r; int n = 1; try { dynamic_cast<R &>(s).r = 9; n = 2; } catch (...) { n = 3; }", "n", "r.r", (2, 9)),
    ("S s; R r; S *p = &s, *q = &r;", "dynamic_cast<R *>(p) ? 2 : 3", "dynamic_cast<R *>(q) ? 4 : 5", (3, 4)),
    ("Q q; S *p = &q;", "dynamic_cast<R *>(p) ? 2 : 3", "dynamic_cast<Q *>(p) ? 4 : 5", (3, 4)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid", "argument", "run"), KNOWN, ids=[f"{b} {v}" for b, v, *_ in KNOWN])
def test_what_is_said_is_what_the_run_does(tmp_path, body, grid, argument, run):
    (one,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<{grid}, 64>>>({argument}); }}")
    assert one.source is LaunchSource.HOST_CODE
    assert (one.grid[0], one.arguments[0]) == run


TOLD = [
    ("VD d;", "d.v"),
    ("try { throw 8; } catch (...) { try { std::rethrow_exception(std::current_exception()); } catch (int) { g = 9; } }", "g"),
    ("int n = g * 2; D *p = new D[n];", "calls"),
    ("struct X { int n; }; struct Y : X { int m[2]; }; Y y{{5}, {8, 9}};", "y.m[0]"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid"), TOLD, ids=[body for body, _ in TOLD])
def test_what_is_not_followed_is_told(tmp_path, body, grid):
    (one,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<{grid}, 64>>>(1); }}")
    assert one.source is LaunchSource.ASSUMED


ORDER = """
#include <utility>
#include <vector>
__global__ void k(int n) {}
int drawn = 0;
int next() { return ++drawn; }
int join(int a, int b, int c) { return a * 100 + b * 10 + c; }
struct Box {
    int v;
    Box(int a, int b) : v(a * 10 + b) {}
    Box &add(int a, int b) { v = v * 100 + a * 10 + b; return *this; }
    int operator()(int a, int b) { return a * 10 + b; }
};
struct Num {
    int v;
    Num(int n) : v(n) {}
    Num &operator<<(int n) { v = v * 10 + n; return *this; }
    Num &operator<<(const Num &n) { v = v * 10 + n.v; return *this; }
    Num &operator+=(const Num &n) { v = v * 10 + n.v; return *this; }
};
Num operator+(const Num &a, const Num &b) { return Num(a.v * 10 + b.v); }
Box box(1, 2);
Box &asked() { box.v = next(); return box; }
int main() { int a = 1; BODY k<<<a, 32>>>(1); }
"""


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("a = join(next(), next(), next());", 321),
        ("a = join(a, a = 4, a);", 444),  # a number in a register is read last of all
        ("int *p = &a; a = join(a, a = 4, a);", 441),
        ("int b = 2; a = join(b++, b, 0);", 230),
        ("int b = 2; int *p = &b; a = join(b++, b, 0);", 220),
        ("int b = 2; auto f = [&](int c) { return join(b++, b, c++) + join(c++, c, 0); }; a = f(5);", 895),
        ("a = join(a++, 0, a++);", 201),
        ("a = box.add(next(), next()).add(next(), next()).v;", 122143),
        ("a = asked().add(next(), next()).v;", 132),
        ("Box b{next(), next()}; a = b.v;", 12),
        ("Box b = {next(), next()}; a = b.v;", 12),
        ("Box b(next(), next()); a = b.v;", 21),
        ("a = Box(next(), next()).v;", 21),
        ("a = Box{next(), next()}.v;", 12),
        ("Box *b = new Box(next(), next()); a = b->v;", 21),
        ("int v[2] = {next(), next()}; a = v[1];", 2),
        ("a = box(next(), next());", 21),
        ("auto f = [](int x, int y) { return x * 10 + y; }; a = f(next(), next());", 21),
        ("int (*f)(int, int, int) = join; a = f(next(), next(), next());", 321),
        ("std::pair<int, int> p(next(), next()); a = p.first;", 2),
        ("std::pair<int, int> p{next(), next()}; a = p.first;", 1),
        ("auto p = std::make_pair(next(), next()); a = p.first;", 2),
        ("std::vector<int> v(next() + 1, next()); a = v.size();", 3),
        ("std::vector<std::pair<int, int>> v; v.emplace_back(next(), next()); a = v[0].first;", 2),
        ("std::vector<Box> v; v.emplace_back(next(), next()); a = v[0].v;", 21),
        ("dim3 d(next(), next()); a = d.x;", 2),
        ("dim3 d{unsigned(next()), unsigned(next())}; a = d.x;", 1),
        ("Num n = Num(next()) + Num(next()); a = n.v;", 21),
        ("Num n(0); n << next() << next() << Num(next()); a = n.v;", 123),
        ("Num n(next()); n += Num(next()); a = n.v;", 12),
        # what needs a statement of its own is not run before what is evaluated ahead of it
        ("a = join(next(), Num(next()).v, next());", 321),
        ("a = next() * 100 + Num(next()).v * 10 + next();", 123),
        ("Box v[] = {Box(next(), next()), {next(), next()}}; a = v[0].v * 100 + v[1].v;", 2134),
        ("a = join(next(), next() ? Num(next()).v : 0, 0);", 320),
    ],
)
def test_arguments_are_evaluated_as_gcc_does(tmp_path, body, grid):
    (launch,) = launches(tmp_path, ORDER.replace("BODY", body))
    assert launch.grid[0] == grid


def test_the_arguments_of_a_launch_are_evaluated_as_gcc_does(tmp_path):
    text = ORDER.replace("k(int n)", "k(int n, int m)").replace("k<<<a, 32>>>(1)", "BODY")
    (launch,) = launches(
        tmp_path, text.replace("BODY", "k<<<next(), next()>>>(next(), next());", 1).replace("BODY", "")
    )
    assert (launch.grid[0], launch.block[0], launch.arguments) == (2, 1, (4, 3))


def test_the_stream_of_a_launch_is_evaluated(tmp_path):
    body = "cudaStream_t s[4]; int i = 0; k<<<1, 32, 0, s[i++]>>>(i); k<<<2, 32, 0, s[next()]>>>(next());"
    one, two = launches(tmp_path, f"{ORDER.partition('int main')[0]}int main() {{ {body} }}")
    assert one.arguments == (1,)
    assert two.arguments == (2,)


DRAWN = (
    "constexpr int drawn() { unsigned x = 1; for (int i = 0; i < 1000; i++) x = x * 1664525u + 1013904223u;"
    " return x % 100 + (MORE); }\n__global__ void k(int n) {}\n"
    "int main() { constexpr int n = drawn(); k<<<4, n>>>(n); }"
)


@pytest.mark.parametrize(("more", "is_known"), [("60", True), ("of_nobody % 64", False)])
def test_what_clang_computes_of_constexpr_functions_is_known_unless_a_name_was_made_up(
    tmp_path, more, is_known
):
    (launch,) = launches(tmp_path, DRAWN.replace("MORE", more))
    assert (launch.source is LaunchSource.HOST_CODE) is is_known
    assert (launch.block[0] == 117) is is_known


def test_a_sequence_of_integers_launches_once_for_each(tmp_path):
    text = (
        "#include <utility>\n__global__ void k(int n) {}\n"
        "template <int... I> void all(std::integer_sequence<int, I...>) { (k<<<3, 32 << I>>>(I), ...); }\n"
        "int main() { all(std::make_integer_sequence<int, 3>{}); }"
    )
    found = {(one.grid[0], one.block[0], one.arguments) for one in launches(tmp_path, text)}
    assert found == {(3, 32, (0,)), (3, 64, (1,)), (3, 128, (2,))}
