"""What libraries, pointers and functions themselves call: any number of times, where not all is followed."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

HEAD = """
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>
__global__ void k(int n) {}
static int g = 0;
int *where = &g;
void each(int) { g += 10; }
void behind(int) { *where = 7; }
void other(int) { g = 3; }
int compare(const void *, const void *) { g++; return 0; }
int counted() { static int s = 0; return ++s; }
void counting(int) { counted(); }
void nothing(int) {}
void tabled(int) { g = 5; }
static void (*table[])(int) = {tabled, nothing};
struct Given { int *p; };
void later(void *c) { *((Given *)c)->p = 3; }
void in_itself(int d) { g++; if (d > 0) in_itself(d - 1); }
struct Adder { int *p; void operator()(int) const { ++*p; } };
struct Base { virtual void f() = 0; };
struct One : Base { void f() { g = 1; } };
struct Two : Base { void f() { g = 2; } };
void elsewhere(void (*)(int));
extern void (*at)(int *);
Base *made(int);
using Table = std::map<int, std::function<void()>>;
"""

CALLED = [
    ("a lambda", "int n = 1; std::generate(v.begin(), v.end(), [&] { return n++; });", "n", None),
    ("its return value only", "int n = 1; std::generate(v.begin(), v.end(), [&] { return n; });", "n", 1),
    (
        "what the next call finds",
        "int a = 0, b = 0, n = 1;"
        "std::for_each(v.begin(), v.begin() + u, [&](int) { if (b) n = 2; if (a) b = 1; a = 1; });",
        "n",
        None,
    ),
    ("a function", "std::for_each(v.begin(), v.end(), each);", "g + 1", None),
    ("what a function does not write", "int n = 4; std::for_each(v.begin(), v.end(), each);", "n", 4),
    ("a function that writes behind a pointer", "std::for_each(v.begin(), v.end(), behind);", "g + 1", None),
    ("a comparison", "int a[3] = {3, 1, 2}; qsort(a, 3, 4, compare);", "g + 1", None),
    ("a pointer to one", "void (*f)(int) = each; std::for_each(v.begin(), v.end(), f);", "g + 1", None),
    ("a pointer by another function", "void (*f)(int) = each; elsewhere(f);", "g + 1", None),
    ("a pointer to one of two", "void (*q)(int) = each, (*f)(int) = nothing; elsewhere(f);", "g + 1", 1),
    ("a pointer to what takes an address", "void (*f)(int) = other; at(&u);", "g + 1", 1),
    (
        "what is behind what it is given",
        "int n = 1; Given c{&n}; cudaLaunchHostFunc(0, later, &c); cudaDeviceSynchronize();",
        "n",
        None,
    ),
    ("a static of one not run before", "std::for_each(v.begin(), v.end(), counting);", "counted()", None),
    ("a pointer that nobody knows", "void (*f)(int) = each; if (u) f = other; f(1);", "g + 1", None),
    ("one of a table", "table[u](1);", "g + 1", None),
    ("the first of a table", "table[0](1);", "g + 1", 6),
    ("an object", "int n = 1; std::for_each(v.begin(), v.end(), Adder{&n});", "n", None),
    ("a method that nobody knows", "Base *b = made(u); b->f();", "g + 1", None),
    ("an object that is kept", "int n = 2; Table t; t[0] = [&] { n = 3; };", "n", 2),
    ("one that is called", "int n = 2; Table t; t[0] = [&] { n = 3; }; t[0]();", "n", 3),
    ("one that is asked for", "int n = 1; std::function<void()> f = [&] { n++; }; if (f) f();", "n", 2),
    (
        "a static of a function",
        "counted(); std::for_each(v.begin(), v.begin() + u, [](int) { counted(); });",
        "counted()",
        None,
    ),
    ("itself, as often as is known", "in_itself(4);", "g + 1", 6),
    ("itself", "in_itself(u);", "g + 1", None),
    (
        "a lambda itself, as often as is known",
        "int n = 0; std::function<void(int)> f = [&](int d) { n++; if (d > 0) f(d - 1); }; f(9);",
        "n",
        10,
    ),
    (
        "a lambda itself",
        "int n = 0; std::function<void(int)> f = [&](int d) { n++; if (d > 0) f(d - 1); }; f(u);",
        "n",
        None,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "value", "known"), [c[1:] for c in CALLED], ids=[c[0] for c in CALLED])
def test_what_is_called_nobody_knows_how_often_may_write_as_often(tmp_path, code, value, known) -> None:
    body = f'int u; FILE *in = fopen(argv[1], "r"); fscanf(in, "%d", &u); std::vector<int> v(4); {code}'
    text = f"#include <cstdio>\n{HEAD}int main(int argc, char **argv) {{ {body} k<<<1, 32>>>({value}); }}"
    (launch,) = launches(tmp_path, text)
    assert launch.arguments == (known,)


IN_ITSELF = "void launching(int d) { k<<<2, 32>>>(1); if (d > 0) launching(d - 1); }\n"
KEPT = "void kept(int d) { int two = 1; two++; if (d > 0) kept(d - 1); k<<<two, 32>>>(1); }\n"
ONCE = "void once(int) { k<<<2, 32>>>(1); }\n"
COUNTED = [
    ("by a library", "", "std::for_each(v.begin(), v.begin() + u, [&](int) { k<<<2, 32>>>(1); });", None),
    ("for each element", "", "std::for_each(v.begin(), v.end(), [&](int) { k<<<2, 32>>>(1); });", 4),
    ("for none", "", "std::for_each(v.begin(), v.begin(), [&](int) { k<<<2, 32>>>(1); });", None),
    (
        "by itself",
        "",
        "std::function<void(int)> f = [&](int d) { k<<<2, 32>>>(1); if (d < 3) { f(d + 1); f(d + 1); } };"
        "f(0);",
        15,
    ),
    ("by itself, nobody knows how often", IN_ITSELF, "launching(u);", None),
    ("behind itself", KEPT, "kept(u);", None),
    ("by a pointer that nobody knows", ONCE, "void (*f)(int) = once; once(1); if (u) f = other; f(1);", None),
    ("by others", ONCE, "once(1); elsewhere(once);", None),
    ("once", "", "std::function<void()> f = [] { k<<<2, 32>>>(1); }; if (f) f();", 1),
]  # fmt: skip


@pytest.mark.parametrize(("before", "code", "times"), [c[1:] for c in COUNTED], ids=[c[0] for c in COUNTED])
def test_how_often_what_is_called_launches(tmp_path, before, code, times) -> None:
    body = f'int u; fscanf(fopen("x", "r"), "%d", &u); std::vector<int> v(4); {code}'
    (launch,) = launches(tmp_path, f"#include <cstdio>\n{HEAD}{before}int main() {{ {body} }}")
    assert (launch.grid, launch.times) == ((2, 1, 1), times)


FOR_EACH = [
    ("each number", "int s = 0; std::for_each(v.begin(), v.end(), [&](int z) { s += z; });", "s", 14),
    ("a part", "int s = 0; std::for_each(v.begin() + 1, v.end(), [&](int z) { s += z; });", "s", 10),
    ("written", "std::for_each(v.begin(), v.end(), [](int &z) { z *= 2; });", "v[1]", 20),
    ("a named one", "int n = 3; auto f = [&](int &z) { z += n; }; std::for_each(v.begin(), v.end(), f);",
     "v[0]", 7),
    ("an array", "int a[2] = {1, 2}; std::for_each(a, a + 2, [](int &z) { z += 5; });", "a[1]", 7),
    ("converted", "double d[2] = {1.5, 2.5}; int s = 0; std::for_each(d, d + 2, [&](int z) { s += z; });",
     "s", 3),
    ("members", "std::vector<Pair> p = {{1, 2}, {3, 4}};"
     "std::for_each(p.begin(), p.end(), [](Pair &z) { z.b += z.a; });", "p[1].b", 7),
    ("the largest", "auto i = std::max_element(v.begin(), v.end(), [](int a, int b) { return -a < -b; });",
     "*i", 4),
    ("the least by a member", "Pair p[3] = {{3, 1}, {1, 7}, {1, 9}}; auto i = std::min_element(p, p + 3,"
     "[](const Pair &a, const Pair &b) { return a.a < b.a; });", "i->b", 7),
    ("the first of equals", "Pair p[3] = {{3, 1}, {4, 7}, {4, 9}}; auto i = std::max_element(p, p + 3,"
     "[](Pair a, Pair b) { return a.a < b.a; });", "i->b", 7),
    ("as nobody knows", "auto i = std::max_element(v.begin(), v.end(),"
     "[](int a, int b) { return rand() < a + b; });", "*i", None),
    ("of any type", "std::for_each(v.begin(), v.end(), [](auto &z) { z *= 2; });", "v[1]", None),
]  # fmt: skip


@pytest.mark.parametrize(("code", "value", "known"), [c[1:] for c in FOR_EACH], ids=[c[0] for c in FOR_EACH])
def test_what_is_called_for_each_element(tmp_path, code, value, known) -> None:
    body = f"std::vector<int> v = {{4, 10}}; {code} k<<<1, 32>>>({value});"
    text = f"#include <cstdio>\n{HEAD}struct Pair {{ int a, b; }}; int main() {{ {body} }}"
    (launch,) = launches(tmp_path, text)
    assert launch.arguments == (known,)


def test_what_a_library_calls_a_lambda_with_is_said(tmp_path) -> None:
    body = "std::vector<int> v = {4}; std::for_each(v.rbegin(), v.rend(), [](int z) { k<<<z, 32>>>(1); });"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert "'z' is what for_each() calls it with" in launch.assumptions[0].message
    assert launch.times_unknown == "nobody knows how often for_each() calls what launches it"


def test_a_lambda_whose_calls_are_not_followed_goes_by_its_line(tmp_path) -> None:
    body = "std::map<float, std::function<void(int)>> v; v[1] = [](int z) { k<<<z, 32>>>(1); };"
    text = f"{HEAD}int main() {{ {body} v[1](7); }}"
    told = f"the lambda in line {text.count(chr(10)) + 1}"
    (launch,) = launches(tmp_path, text)
    assert f"'z' is a parameter of {told}, whose calls are not followed" in launch.assumptions[0].message
    assert launch.times_unknown == f"{told} launches it, whose calls are not followed"


DISPATCH = """
#define BOOL_SWITCH(COND, NAME, ...) \\
    [&] { \\
        if (COND) { static constexpr bool NAME = true; return __VA_ARGS__(); } \\
        else { static constexpr bool NAME = false; return __VA_ARGS__(); } \\
    }()
template <bool A, bool B, int W> __global__ void k(int n) {}
struct P { int n; bool a, b; };
template <int W> void launch(P &p) {
    int blocks = (p.n + 255) / 256;
    BOOL_SWITCH(p.a, kA, [&] {
        int twice = blocks * 2;
        BOOL_SWITCH(p.b, kB, [&] { auto kernel = &k<kA, kB, W>; kernel<<<twice, 256>>>(p.n); });
    });
}
int main() {
    P p; p.n = 100000; p.a = true; p.b = false; launch<2>(p);
    p.n = 5000; p.b = true; launch<4>(p);
}
"""


def test_lambdas_that_one_macro_writes_are_different(tmp_path):
    """All of them are at the place where the outermost macro is used."""
    found = launches(tmp_path, DISPATCH)
    assert {(one.kernel.qualified_name, one.grid, one.arguments) for one in found if one.times == 1} == {
        ("k<true, false, 2>", (782, 1, 1), (100000,)),
        ("k<true, true, 4>", (40, 1, 1), (5000,)),
    }


def test_what_a_dispatch_does_not_choose_is_as_it_is_written_there(tmp_path):
    """Its lambda is run where it stands and nobody else may call it: its variables have values."""
    others = [one for one in launches(tmp_path, DISPATCH) if one.times is None]
    grids = {(one.kernel.qualified_name.rpartition(" ")[2], one.grid) for one in others}
    assert (len(others), grids) == (6, {("2>", (782, 1, 1)), ("4>", (40, 1, 1))})
    assert all(
        "does not come with the values read or assumed" in one.assumptions[0].message for one in others
    )


ASKED = """
bool go(int *h);
bool step(int &n, int *h) { k<<<2, 32>>>(1); n *= 2; return go(h); }
"""


@pytest.mark.parametrize(
    "loop", ["while (step(n, &h)) {}", "do { h = 0; } while (step(n, &h));", "for (; step(n, &h);) {}"]
)
def test_what_the_condition_of_a_loop_does_is_done_as_often_as_it_is_asked(tmp_path, loop) -> None:
    code = f"{HEAD}{ASKED}int main() {{ int h = 0, n = 4; {loop} k<<<n, 64>>>(7); }}"
    asked, behind = sorted(launches(tmp_path, code), key=lambda one: one.line or 0)
    assert (asked.grid, asked.times) == ((2, 1, 1), None)
    assert "'n' changes in a loop of unknown length" in behind.assumptions[0].message


def test_a_lambda_that_is_run_where_it_stands_is_run_by_nobody_else(tmp_path):
    text = """__global__ void k(int n) {}
    int main() {
        int n = 4;
        [&] { n = 5; }();
        auto f = &k;
        cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
        n = 6;
        unread(f);
        k<<<n, 64>>>(n);
    }"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.arguments) == ((6, 1, 1), (6,))


TABLES = """
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>
__global__ void k(int n) {}
using Run = std::function<void(int)>;
struct Case { std::string name; Run run; };
void plain(int n) { k<<<n, 32>>>(1); }
int main() { int by = 10; BODY }
"""
ADDED = "[by](int n) { k<<<n * by, 32>>>(1); }"


@pytest.mark.parametrize(
    "body",
    [
        f"std::vector<Run> t; t.push_back(plain); t.push_back({ADDED}); for (auto &f : t) f(3);",
        f"std::vector<Run> t = {{plain}}; t.emplace_back({ADDED}); for (Run f : t) f(3);",
        f'std::vector<Case> t; t.push_back({{"a", plain}}); t.push_back({{"b", {ADDED}}});'
        " for (const auto &c : t) c.run(3);",
        f'std::vector<std::pair<std::string, Run>> t = {{{{"a", plain}}, {{"b", {ADDED}}}}};'
        " for (auto &[name, f] : t) f(3);",
        f'std::map<std::string, Run> t; t["b"] = {ADDED}; t["a"] = plain; for (auto &[name, f] : t) f(3);',
        f'std::map<std::string, Run> t = {{{{"a", plain}}, {{"b", {ADDED}}}}}; t.at("a")(3); t["b"](3);',
        f"std::map<int, Run> t = {{{{1, plain}}, {{2, {ADDED}}}}}; t[1](3); auto i = t.find(2);"
        " if (i != t.end()) i->second(3);",
    ],
)
def test_functions_of_a_table_are_run(tmp_path, body):
    found = launches(tmp_path, TABLES.replace("BODY", body))
    assert sorted((one.grid[0], one.times) for one in found) == [(3, 1), (30, 1)]


def test_a_function_of_a_table_that_nobody_set_is_not_any_other(tmp_path):
    body = f"std::map<int, Run> t = {{{{1, plain}}}}; t[2](3); t[1] = {ADDED}; t[by > 11 ? 1 : 3](3);"
    found = launches(tmp_path, TABLES.replace("BODY", body))
    assert all(one.times is None for one in found)


TREE = """
#include <memory>
#include <vector>
__global__ void k(int n) {}
struct Node {
    int n; std::vector<std::unique_ptr<Node>> kids; Node *up = nullptr;
    Node(int a) : n(a) {}
    Node *add(int a) {
        kids.push_back(std::make_unique<Node>(a));
        kids.back()->up = this;
        return kids.back().get();
    }
    void all(std::vector<int> &out) const { out.push_back(n); for (auto &kid : kids) kid->all(out); }
    int depth() const {
        int d = 0;
        for (auto &kid : kids) if (kid->depth() > d) d = kid->depth();
        return d + 1;
    }
    void round(int &n) { n++; if (up) up->round(n); else kids[0]->round(n); }
};
bool asked();
int main() {
    Node root(1), *two = root.add(2);
    two->add(3)->add(4);
    root.add(5);
    std::vector<int> v;
    int n = 7;
    BODY
}
"""


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("root.all(v); k<<<v.size() * 10 + v[2], 32>>>(1);", 53),
        ("k<<<root.depth() * 10 + two->depth(), 32>>>(1);", 43),
    ],
)
def test_objects_of_a_tree_are_walked(tmp_path, body, grid):
    (launch,) = launches(tmp_path, TREE.replace("BODY", body))
    assert (launch.grid[0], launch.times) == (grid, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", ["root.round(n); k<<<n, 32>>>(1);", "if (asked()) root.all(v); k<<<v.size() + 1, 32>>>(1);"]
)
def test_what_recursion_without_an_end_gets_by_reference_is_lost(tmp_path, body):
    found = launches(tmp_path, TREE.replace("BODY", body))
    assert {one.source for one in found} == {LaunchSource.ASSUMED}
