"""Classes in host code: what braces leave out, friends, classes inside functions, and what is destroyed.

The truths are those of programs that nvcc compiled.
"""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

HEAD = """
#include <array>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
__global__ void k(int n) {}
int g = 1;
struct A { int x, y; A(int x = 4, int y = 5) : x(x), y(y) {} };
struct B { A a[3]; };
struct D { int v = 2, w = 3; D() = default; D(int q) : v(q) {} };
struct E { D a[2]; E() : a{D(5)} {} };
struct F { int n; A a; D d; };
A ga[2] = {{1}};
struct Z {
    int n;
    friend int get(const Z &z) { return z.n + 1; }
    friend void bump(Z &z) { z.n *= 3; }
    friend Z &operator<<(Z &a, int v) { a.n += v; return a; }
    friend void set(Z &) { g = 9; }
};
struct Q {
    int v;
    Q(int v) : v(v) {}
    Q(const Q &o) : v(o.v) {}
    friend void swap(Q &a, Q &b) { int t = a.v; a.v = b.v; b.v = t; }
    Q &operator=(Q o) { swap(*this, o); return *this; }
};
union U { int i; float f; void set(int x) { i = x; } };
struct Base { int *p; Base(int *p) : p(p) {} virtual ~Base() { *p += 1; } };
struct Der : Base { Der(int *q) : Base(q) {} ~Der() { *p += 10; } };
struct L { int n; L(int n) : n(n) {} void on(int i) { n += i; k<<<1, 32>>>(n); } };
enum Flag : bool { OFF, ON };
"""

VALUES = [
    ("A a[3] = {{1, 2}, A(7)};", "a[1].x * 100 + a[2].x * 10 + a[2].y", 745),
    ("A a[4] = {1, {}, A()};", "a[1].y * 10 + a[3].x", 54),
    ("A a[2][2] = {{{3}}};", "a[1][1].x * 10 + a[0][0].x", 43),
    ("static A a[5] = {1, 2};", "a[4].x * 10 + a[1].x", 42),
    ("A *a = new A[2]{{8}};", "a[0].x * 10 + a[1].y", 85),
    ("B b = {{1, 2}};", "b.a[2].x * 10 + b.a[1].x", 42),
    ("D d[3] = {4};", "d[2].v * 10 + d[0].v", 24),
    ("D d[3] = {4, {}};", "d[1].v * 10 + d[1].w", 23),
    ("D *d = new D[3]{4};", "d[2].v * 10 + d[2].w", 23),
    ("E e;", "e.a[1].v * 10 + e.a[0].v", 25),
    ("F f = {7};", "f.a.x * 100 + f.d.w * 10 + f.n", 437),
    ("F f[2] = {{1}};", "f[1].a.y * 100 + f[1].d.v * 10 + f[1].n", 520),
    ("", "ga[1].x * 10 + ga[0].y", 45),
    ("Z z{2};", "get(z)", 3),
    ("Z z{2}; bump(z);", "z.n", 6),
    ("Z z{2}; z << 4 << 5;", "z.n", 11),
    ("Z z{2}; set(z);", "g", 9),
    ("Q x(1), y(9); x = y;", "x.v", 9),
    ("U u; u.set(5);", "u.i", 5),
    (
        "struct In { int z; In(int a) : z(a + 1) {} void up(int &q) { q += z; } static void st() { g = 6; } }; In i(1); int q = 3; i.up(q); In::st();",
        "q * 10 + g",
        56,
    ),
    ("int a = 3; struct R { int &q; void operator()(int v) { q = v; } }; R r{a}; r(7);", "a", 7),
    ("", "ON + ON", 2),
    ("Flag f = ON;", "f == ON", 1),
    (
        "int n; try { std::vector<int> v(3); v.at(3) = 1; n = 5; } catch (std::out_of_range &) { n = 6; }",
        "n",
        6,
    ),
    ("int n; try { std::vector<int> v(3); v.at(2) = 1; n = 5; } catch (...) { n = 6; }", "n", 5),
    ("int n; try { std::array<int, 3> v{}; n = v.at(3); } catch (...) { n = 6; }", "n", 6),
    (
        "int n; try { std::map<int, int> m; m[1] = 2; n = m.at(3); } catch (std::exception &) { n = 6; }",
        "n",
        6,
    ),
    ('int n; try { std::string s = "abc"; n = s.at(3); } catch (...) { n = 6; }', "n", 6),
]


@pytest.mark.parametrize(("body", "value", "number"), VALUES, ids=[f"{b} {v}" for b, v, _ in VALUES])
def test_the_value_is_that_of_the_run(tmp_path, body, value, number):
    (one,) = (
        launch
        for launch in launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<{value}, 64>>>(1); }}")
        if launch.block[0] == 64
    )
    assert (one.grid[0], one.source) == (number, LaunchSource.HOST_CODE)


LOST = [
    ("int t = 1; { Base *b = new Der(&t); delete b; }", "t"),
    ("int t = 1; { std::unique_ptr<Base> b(new Der(&t)); }", "t"),
]


@pytest.mark.parametrize(("body", "value"), LOST, ids=[body for body, _ in LOST])
def test_what_is_not_followed_is_unknown_or_right(tmp_path, body, value):
    every = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<{value}, 64>>>(1); }}")
    (one,) = (launch for launch in every if launch.block[0] == 64)
    assert one.source is LaunchSource.ASSUMED


def test_kernels_in_an_array_of_the_heap_are_perhaps_launched(tmp_path):
    source = "template <int N> __global__ void t(int n) {} typedef void (*Held)(int);"
    body = "Held *p = new Held[2]{t<61>, t<62>}; p[1]<<<8, 256>>>(1);"
    every = launches(tmp_path, f"{HEAD}{source} int main() {{ {body} }}")
    held = [one for one in every if one.kernel.name == "t"]
    assert [(one.grid, one.times) for one in held] == [((8, 1, 1), None)] * 2


def test_a_friend_that_launches_is_read(tmp_path):
    source = "struct S { int n; friend void start(const S &s) { k<<<s.n, 64>>>(3); } };"
    every = launches(tmp_path, f"{HEAD}{source} int main() {{ S s{{8}}; start(s); }}")
    assert [one.grid[0] for one in every if one.block[0] == 64] == [8]


def test_a_class_inside_a_function_that_launches_is_read(tmp_path):
    source = "struct S { int n; void start() { k<<<n, 64>>>(3); } };"
    every = launches(tmp_path, f"{HEAD}int main() {{ {source} S s{{8}}; s.start(); }}")
    assert [one.grid[0] for one in every if one.block[0] == 64] == [8]


def test_calls_through_a_pointer_to_a_method_are_not_counted(tmp_path):
    body = "L l(6); void (L::*m)(int) = &L::on; (l.*m)(1); l.on(2);"
    assert {one.times for one in launches(tmp_path, f"{HEAD}int main() {{ {body} }}")} == {None}


def test_methods_of_classes_without_a_name_are_their_own(tmp_path):
    first = "struct { int n = 2; int next() { return n += 3; } } a; int x = a.next();"
    second = "struct { int n = 2; int next() { return n += 30; } operator int() { return n * 2; } } b;"
    third = "struct { int n = 9; operator int() { return n * 3; } } c;"
    body = f"{first} {second} {third} k<<<x, 32>>>(b.next()); int y = b, z = c; k<<<y, 32>>>(z);"
    text = f"__global__ void k(int n) {{}} int main() {{ {body} }}"
    found = sorted((launch.grid[0], launch.arguments[0]) for launch in launches(tmp_path, text))
    assert found == [(5, 32), (64, 27)]


NETWORK = """
#include <memory>
#include <vector>
__global__ void linear(int n) {}
__global__ void relu(int n) {}
struct Layer { virtual ~Layer() {} virtual void run(int b) = 0; };
struct Linear : Layer {
    int in, out;
    Linear(int i, int o) : in(i), out(o) {}
    void run(int b) override { linear<<<out, b>>>(in); }
};
struct Relu : Layer { int n; Relu(int a) : n(a) {} void run(int b) override { relu<<<n, b>>>(0); } };
class Net {
    std::vector<std::POINTER<Layer>> layers;
  public:
    void add(std::POINTER<Layer> layer) { layers.push_back(std::move(layer)); }
    void run(int b) { for (auto &layer : layers) layer->run(b); }
    int size() const { return layers.size(); }
};
int main() {
    Net net;
    int sizes[] = {784, 128, 10};
    for (int i = 0; i < 2; i++) {
        net.add(std::make_POINTED<Linear>(sizes[i], sizes[i + 1]));
        if (i < 1) net.add(std::make_POINTED<Relu>(sizes[i + 1]));
    }
    for (int i = 0; i < net.size(); i++) net.run(32);
}
"""


@pytest.mark.parametrize("kind", ["unique", "shared"])
def test_layers_that_a_container_holds_are_run(tmp_path, kind):
    text = NETWORK.replace("POINTER", f"{kind}_ptr").replace("POINTED", kind)
    found = launches(tmp_path, text)
    told = [(one.kernel.name, one.times, one.grid[0], one.arguments[0]) for one in found]
    assert told == [("linear", 3, 10, 128), ("linear", 3, 128, 784), ("relu", 3, 128, 0)]
