"""What the language runs by itself in host code: special functions, values before `main`, exceptions."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource
from wattslice.launches.control_flow import ControlFlow
from wattslice.launches.host_code import HostCode
from wattslice.launches.memory import Unknown

from .geometry import GPU, launches, program

HEAD = """
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
__global__ void k(int n) {}
int g = 3;
int twice(int x) { return 2 * x; }
int set_before = twice(4);
struct Setup { Setup(int a) { g += a; } };
Setup setup(2);
struct Setting { int n = 4; };
struct Inheriting : Setting {} inheriting;
struct Settings : Setting { Setting many[2] = {{}, {10}}; } settings;
int drawn = 1;
int draw() { return drawn++; }
struct Ticket { int number = draw(); };
struct Tickets : Ticket { Ticket second; } tickets;
struct Box {
    int v, w = 4;
    static int count;
    Box() : v(1) { count++; }
    Box(int a) : v(a) {}
    Box(const Box &o) : v(o.v + 10), w(o.w) {}
    Box &operator=(const Box &o) { v = o.v + 100; return *this; }
    ~Box() { g = v; }
    int sum() const { return v + w; }
};
int Box::count = 5;
struct Keep { int &place, old; Keep(int &x) : place(x), old(x) {} ~Keep() { place = old; } };
struct Holder { Box x; int n = 7; };
struct Derived : Box { int more = 2; Derived(int a) : Box(a + 1) {} };
struct Plain { int a; ~Plain() { g = 9; } };
struct Bump { int &n; int by; Bump(int &x, int b) : n(x), by(b) {} ~Bump() { n += by; } int val() const { return by; } };
struct Two { Bump first, second; int c; };
struct Part { int n; int b = 7; int g; };
struct Err { int v; };
struct Worker { virtual int run() = 0; virtual ~Worker() {} };
struct Adds : Worker { int n; Adds(int a) : n(a) {} int run() override { return n + 1; } };
struct Owner { std::unique_ptr<Box> held; int n = 2; Owner(int a) : held(new Box(a)) {} };
struct Moved { int n; Moved(int a) : n(a) {} Moved(Moved &&o) : n(o.n) { o.n = 0; } Moved &operator=(Moved &&o) { n = o.n; o.n = 0; return *this; } };
std::unique_ptr<Worker> worker(int n) { if (n > 3) return std::make_unique<Adds>(n); return nullptr; }
int again() { try { try { throw Err{7}; } catch (Err &e) { e.v++; throw; } } catch (Err &e) { return e.v; } return 1; }
struct Count { int &n; ~Count() { n += 2; } };
struct Reads { int &n; operator int() const { n += 5; return n; } explicit operator bool() const { n *= 2; return n > 3; } };
Bump bump(int &x) { return Bump(x, 5); }
int bumped(int &x) { return Bump(x, 2).val() + x; }
int taken(Box b) { return b.v; }
Box made(int a) { Box b(a); b.w = 6; return b; }
struct Bad : std::runtime_error { int code; Bad(int c) : std::runtime_error("bad"), code(c) {} };
int checked(int x) { if (x > 4) throw Bad(x + 1); return x; }
int deep(int x) { Keep kept(g); g = 50; return checked(x) + 1; }
void leave(int x) { if (x > 4) exit(0); }
int early(int x) { if (x) { g = 77; return 1; } return 2; }
void increase(int &x) { x++; }
int unknown();
int *others();
"""

KNOWN = [
    ("a function before main", "int a = set_before;", 8),
    ("a constructor before main", "int a = g;", 5),
    ("members with a default before main", "int a = drawn;", 3),
    ("a base with a default before main", "int a = inheriting.n;", 4),
    ("their values", "int a = settings.n + settings.many[1].n;", 14),
    ("a default constructor", "Box b; int a = b.v * 10 + b.w;", 14),
    ("of each element", "Box b[3]; int a = Box::count;", 8),
    ("a copy", "Box b(2); Box c = b; int a = c.v;", 12),
    ("of a parameter", "Box b(2); int a = taken(b);", 12),
    ("none of a result that is named", "Box b = made(3); int a = b.v * 10 + b.w;", 36),
    ("an assignment", "Box b(2), c(3); c = b; int a = c.v;", 102),
    ("of members", "Holder h; h.x.v = 1; Holder i = h, j; j = h; int a = i.x.v * 1000 + j.x.v + i.n;", 11108),
    ("of a base", "Derived d(2); int a = d.v * 10 + d.more;", 32),
    ("the end of a block", "{ Box b(6); } int a = g;", 6),
    ("a way out of a block", "for (int i = 1; i < 4; i++) { Box b(i); if (i == 2) break; } int a = g;", 2),
    ("what a destructor restores", "{ Keep kept(g); g = 40; } int a = g;", 5),
    ("delete", "Box *b = new Box(7); delete b; int a = g;", 7),
    ("an arm that is not taken", "int a = g > 4 ? 6 : Box().sum() + Box::count; a += Box::count;", 11),
    ("once", "int a = 0; for (int i = 0; i < 3; i++) { static Box b; a = Box::count; }", 6),
    ("a copy in a lambda", "Box b(2); auto f = [=] { return b.v; }; int a = f();", 12),
    ("a capture of its own", "int a = 1, b = 3; b = 4; auto f = [&, c = b](int q) { a = q + c; }; b = 9; f(3);", 7),
    ("one for a reference", "int a = 1; auto f = [&b = a] { b = 6; }; f();", 6),
    ("by a pointer that moves", "int v[9] = {}; for (int *p = v; p < v + 9; ++p) *p = 3; int a = v[4] + 1;", 4),
    ("an index in a capture", "int v[2] = {1, 2}, a = 3; auto f = [c = v[1], a] { return a + c; }; a = 8; a = f();", 5),
    ("an argument in a capture", "int a = 3; auto f = [&, c = std::max(4, a)] { return a + c; }; a = 8; a = f();", 12),
    ("a capture for a lambda in a lambda", "int a = 3; auto f = [=] { return [&] { return a; }(); }; a = 8; a = f();", 3),
    ("a jump in a block", "int a = 3; { Keep kept(a); if (g > 4) goto out; g = 8; out: a = 2; } a += 1;", 4),
    ("caught", "int a = 1; try { a = 2; a = checked(8); } catch (const Bad &e) { a += e.code; }", 11),
    ("by the type of a base", "int a = 1; try { checked(8); } catch (int) { a = 3; } catch (std::exception &) { a = 4; }", 4),
    ("thrown again", "int a = 1; try { try { throw 3; } catch (...) { a = 5; throw; } } catch (int e) { a += e; }", 8),
    ("nothing thrown", "int a = 1; try { a = checked(3); } catch (...) { a = 9; }", 3),
    ("beside what cannot be read", "if (g > 4) { Box b(6); } else { std::optional<int> b; twice(b.value_or(3)); } int a = g;", 6),
    ("an object that is not left", "Box b(2); try { checked(8); } catch (...) { } int a = b.v;", 2),
    ("an address that is set once", "int b = 4, *p; if (unknown()) p = &b; int a = *p;", 4),
    ("an object without a name", "g = Box(8).sum(); int a = g;", 8),
    ("the end of a statement", "int a = 3; Bump(a, 4); a *= 2; Count{a};", 16),
    ("the end of a declaration", "int a = 3, b = Bump(a, 4).val(); a += b;", 11),
    ("between two declarations", "int a = 3; int b = Bump(a, 4).val(), c = a; a = c;", 7),
    ("a result that nobody takes", "int a = 3; bump(a);", 8),
    ("what is given on return", "int a = 3; int b = bumped(a); a = a * 10 + b;", 55),
    ("a condition", "int a = 3; if (Bump(a, 4).val() == 4) a *= 10;", 70),
    ("a condition of a loop", "int a = 3; for (int i = 0; i < Bump(a, 2).val(); i++) a += 10;", 29),
    ("a step of a loop", "int a = 3; for (int i = 0; i < 3; Bump(a, i++)) a *= 2;", 28),
    ("a selector", "int a = 3; switch (Bump(a, 4).val()) { case 4: a *= 2; }", 14),
    ("in a part that is asked for", "int a = 3; a > 2 && Bump(a, 4).val() == 4 && (a *= 2);", 10),
    ("in a part that is not", "int a = 3; a > 4 && Bump(a, 4).val(); a = a > 4 ? Bump(a, 1).val() : 9;", 9),
    ("no object in a part that is not", "int a = 3; a > 4 && Bump(a, 4).val();", 3),
    ("one behind the other", "int a = 3; (a *= 2, Bump(a, 4), a *= 3, Bump(a, a).val());", 40),
    ("what a reference keeps", "int a = 3; { const Bump &b = Bump(a, 4); a *= 10; } a += 1;", 35),
    ("an object in the head of an if", "int a = 3; if (Bump b(a, 4); a > 2) a *= 10; a *= 2;", 68),
    ("an object in a condition", "int a = 3; if (Reads b{a}) a += 1; a *= 2;", 14),
    ("an object in the head of a loop", "int a = 3; for (Bump b(a, 4); a < 20; a += 9) if (a > 11) break; a *= 2;", 32),
    ("parts in braces", "int a = 3; { Two t{{a, 1}, Bump(a, 2), 4}; } Two{{a, 1}, {a, 2}, 4}; Bump b[2] = {{a, 1}, {a, 1}};", 9),
    ("one of two", "int a = 3; { Bump b = a > 2 ? Bump(a, 4) : Bump(a, 9); } a *= 2;", 14),
    ("a conversion", "int b = 3; Reads r{b}; int c = r; int a = b * 10 + c;", 88),
    ("a conversion that is asked for", "int a = 3; Reads r{a}; if (r && a < 20) a += int(r);", 22),
    ("a conversion that is printed", "int a = 3; Reads r{a}; printf(\"%d\", int(r));", 8),
    ("a conversion of an argument", "int a = 3; Reads r{a}; a += twice(r);", 24),
    ("an object of its own", "auto p = std::make_unique<Box>(6); p->v += 2; int a = p->sum();", 12),
    ("an object that goes with its pointer", "{ std::unique_ptr<Box> p(new Box(6)); } int a = g;", 6),
    ("a pointer that is given on", "auto p = std::make_unique<Box>(6); auto q = std::move(p); int a = (p ? 9 : 1) + q->v;", 7),
    ("a pointer that is set again", "auto p = std::make_unique<Box>(6); p.reset(new Box(8)); int a = g * 10 + p->v;", 68),
    ("a pointer to a base", "std::unique_ptr<Worker> p(new Adds(4)); int a = p->run();", 5),
    ("a pointer that a function gives", "int a = worker(4)->run() + (worker(2) ? 10 : 20);", 25),
    ("a pointer that is shared", "auto p = std::make_shared<Box>(6), q = p; p.reset(); q->v++; int a = g + q->v;", 12),
    ("the last of several pointers", "{ auto p = std::make_shared<Box>(6); auto q = p; q->v = 8; } int a = g;", 8),
    ("an object that is moved with its pointer", "{ Owner o(6); Owner p = std::move(o); g = o.held ? 1 : 2; p.held->v = g + 9; } int a = g;", 11),
    ("an exchange by a library", "Moved b(2), c(3); std::swap(b, c); int a = b.n * 10 + c.n;", 32),
    ("an exchange of plain objects", "Part b{1, 2, 3}, c{4, 5, 6}; std::swap(b, c); int a = b.n * 10 + c.g;", 43),
    ("an exchange by assignments", "Box b(2), c(3); std::swap(b, c); int a = b.v * 10 + c.v / 10;", 1041),
    ("named initial values", "Part p{.n = 2, .g = 5}; int a = p.b * 10 + p.g;", 75),
    ("initial values at their places", "int v[5] = {[2] = 7, 3}; int a = v[2] + v[3] * 10 + v[1];", 37),
    ("what is left out", "Part p{4}; int a = p.n * 10 + p.b + p.g;", 47),
    ("thrown again as a handler left it", "int a = again();", 8),
    ("a text that is no number", "int a = 3; try { std::stoi(\"abc\"); a = 9; } catch (std::invalid_argument &) { a = 10; }", 10),
    ("a part behind a text", "int a = 3; try { std::string(\"abc\").substr(5); a = 9; } catch (std::out_of_range &) { a = 12; }", 12),
    ("a part at the end of a text", "int a = 3; try { a += std::string(\"abc\").substr(3).size() + 6; } catch (std::out_of_range &) { a = 12; }", 9),
    ("a pointer that is thrown", "int a = 3; try { throw new int[3]; } catch (void *) { a = 13; }", 13),
    ("characters that are written as escapes", "const char *p = \"a\\nb\\t\"; int a = (int)strlen(p) * 10 + (p[1] == '\\n');", 41),
    ("a status", "int *d, a = 4; cudaMalloc(&d, 4); if (cudaMemset(d, 0, 4) != cudaSuccess) a = 9;", 4),
    ("in a loop", "int a = 0; try { for (int i = 0; i < 9; i++) a = checked(i); } catch (...) { a *= 10; }", 40),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid"), [pytest.param(*case[1:], id=case[0]) for case in KNOWN])
def test_what_is_run_by_itself_is_run(tmp_path, body, grid):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert (launch.grid[0], launch.source, launch.assumptions) == (grid, LaunchSource.HOST_CODE, ())


@pytest.mark.parametrize(
    "body",
    [
        "std::vector<std::shared_ptr<Zeroed>> v; { auto p = std::make_shared<Zeroed>(6); v.push_back(p); }"
        "int a = v[0]->n;",
        "std::pair<int, std::shared_ptr<Zeroed>> v; { auto p = std::make_shared<Zeroed>(6);"
        "v = std::make_pair(1, p); } int a = v.second->n;",
    ],
)
def test_what_a_container_shares_is_not_destroyed(tmp_path, body):
    zeroed = "struct Zeroed { int n; Zeroed(int n) : n(n) {} ~Zeroed() { n = 0; } };"
    (launch,) = launches(tmp_path, f"{HEAD}{zeroed}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert (launch.grid[0], launch.source) == (6, LaunchSource.HOST_CODE)


def test_how_many_share_an_object_is_not_known(tmp_path):
    body = "auto p = std::make_shared<Box>(6), q = p; int a = p.use_count();"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert launch.source is LaunchSource.ASSUMED


def test_what_a_library_runs_is_named(tmp_path):
    body = "{ std::vector<Box> v(3, Box(2)); } k<<<g, 32>>>(7);"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert "what a library runs on line" in launch.assumptions[0].message


LOST = [
    ("an element's destructor", "{ std::vector<Plain> v(3); } int a = g;"),
    ("a copy that a library makes", "std::vector<Box> v; v.push_back(Box(2)); int a = v[0].v;"),
    ("an element's destructor that writes elsewhere", "int a = 3; { std::vector<Bump> v; v.emplace_back(a, 4); }"),
    ("the destructor of what is thrown", "int a = 3; try { throw Bump(a, 4); } catch (const Bump &) { }"),
    ("threads", "int a = 3;\n#pragma omp parallel\n{ a += 5; }\n"),
    ("a declaration in a switch", "int a = 3; switch (Bump b(a, 4); a) { case 3: a = 50; }"),
    ("a destructor that is passed by", "try { deep(8); } catch (...) { } int a = g;"),
    ("thrown perhaps", "int a = 1; try { a = 2; if (unknown()) throw 3; } catch (int) { a = 4; }"),
    ("written before it is perhaps thrown again", "int a = 1; try { try { checked(unknown()); } catch (...) { a = 5; throw; } } catch (const Bad &) { }"),
    ("thrown perhaps before a return", "auto f = [] { try { checked(unknown()); return 1; } catch (...) { g = 9; } return 2; }; f(); int a = g;"),
    ("written before a return", "early(unknown()); int a = g;"),
    ("thrown by one of many", "int a = 1; try { for (int i = 0; i < 900; i++) if (i == 7) throw 3; a = 2; } catch (int) { a = 4; }"),
    ("another element in each round", "int v[9] = {}, i = 0; while (unknown()) { v[i] = 3; i++; } int a = v[4] + 1;"),
    ("in another round", "int a = 1, i = 0; while (unknown()) { if (i == 3) a = 2; i++; }"),
    ("one of two objects", "int a = 1, b = 2; int &c = unknown() ? a : b; c = 9;"),
    ("read from one of two", "int b = 1, c = 2, *p = &b; if (unknown()) p = &c; int a = *p;"),
    ("written to one of two", "int a = 1, b = 2, *p = &b; if (unknown()) p = &a; *p = 9;"),
    ("one of two by reference", "int a = 1, b = 2, *p; if (unknown()) p = &a; else p = &b; increase(*p);"),
    ("one of two in a loop", "int a = 1, b = 2, *p = &b; while (unknown()) p = &a; *p = 9;"),
    ("one of two, or another", "int b = 1, *p = &b; if (unknown()) p = others(); int a = *p;"),
    ("first set in a loop", "int a, i = 1; while (unknown()) { a = i; i++; }"),
]  # fmt: skip


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in LOST])
def test_what_may_have_been_run_is_unknown(tmp_path, body):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} k<<<a, 32>>>(7); }}")
    assert launch.source is not LaunchSource.HOST_CODE or launch.assumptions


def test_what_is_thrown_perhaps_leaves_the_number_of_launches_open(tmp_path):
    body = "try { if (unknown()) throw 3; k<<<5, 32>>>(7); } catch (int) { }"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert (launch.grid[0], launch.times) == (5, None)


def test_a_launch_with_an_unknown_member_is_one_of_its_own(tmp_path):
    code = (
        "void f(Plain p) { k<<<p.a, 32>>>(7); } int main() { Plain p; p.a = 5; f(p); p.a = unknown(); f(p); }"
    )
    known, other = launches(tmp_path, f"{HEAD}{code}")
    assert (known.grid[0], known.times, known.source) == (5, 1, LaunchSource.HOST_CODE)
    assert (other.assumed_variables[0].name, other.times, other.source) == ("p.a", 1, LaunchSource.ASSUMED)


def test_a_function_that_nobody_calls_is_no_part_of_a_run(tmp_path):
    other = "__global__ void other(int n) {} void f() { other<<<5, 32>>>(7); }"
    _, launch = launches(tmp_path, f"{HEAD}{other} int main() {{ k<<<2, 32>>>(7); }}")
    assert (launch.grid[0], launch.times) == (5, None)


SEVERAL = """
struct A { int a; };
struct B { int b; void put(int x) { b = x; } };
struct C : A, B { C() { a = 1; b = 2; } void both() { put(9); } };
void set(B &x) { x.b = 9; }
"""


@pytest.mark.parametrize(
    "body", ["c.put(9);", "c.both();", "B *p = &c; p->b = 9;", "set(c);", "B *p = &c; c.a = p->b; c.b = 2;"]
)
def test_members_of_several_bases_are_not_mixed_up(tmp_path, body):
    text = f"{HEAD}{SEVERAL} int main() {{ C c; {body} k<<<c.a * 10 + c.b, 32>>>(7); }}"
    (launch,) = launches(tmp_path, text)
    assert launch.source is LaunchSource.ASSUMED


def test_members_of_several_bases_are_known_by_their_names(tmp_path):
    body = "C c; c.a = 3; c.b = 4; B &b = c; b.b = 5; k<<<c.a * 10 + c.b, 32>>>(7);"
    (launch,) = launches(tmp_path, f"{HEAD}{SEVERAL} int main() {{ {body} }}")
    assert (launch.grid[0], launch.source) == (35, LaunchSource.HOST_CODE)


def test_static_members_are_one_variable(tmp_path):
    body = "Box a; Box b; k<<<Box::count, 32>>>(7);"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert launch.grid[0] == 7


def test_kernels_in_tables_and_results_of_functions_are_those_that_are_launched(tmp_path):
    text = """
template <int B> __global__ void t(int n) {}
typedef void (*F)(int);
static F table[] = {t<32>, t<64>};
F pick(int b) { return b > 50 ? t<128> : t<16>; }
int main() { table[1]<<<2, 64>>>(1); pick(60)<<<4, 128>>>(3); auto m = &t<7>; (*m)<<<5, 160>>>(4); }
"""
    found = {one.kernel.qualified_name: (one.grid[0], one.times) for one in launches(tmp_path, text)}
    launched = {"t<64>": (2, 1), "t<128>": (4, 1), "t<7>": (5, 1)}
    assert {name: found[name] for name in launched} == launched
    assert found["t<32>"][1] is found["t<16>"][1] is None


def test_a_launch_in_an_operator_or_a_destructor_is_found_from_where_its_class_is_named(tmp_path):
    text = """
__global__ void k(int n) {}
struct Runs { int n; template <class F> void operator()(F f) const { f<<<n, 32>>>(1); } };
struct Last { int n; ~Last() { k<<<n, 64>>>(2); } };
int main() { Runs r{5}; r(k); Last{6}; r.n > 9 && Last{7}.n; }
"""
    found = {(one.grid[0], one.block[0], one.times) for one in launches(tmp_path, text)}
    assert found == {(5, 32, 1), (6, 64, 1)}


def test_each_thread_of_a_parallel_region_launches(tmp_path):
    text = """
__global__ void k(int n) {}
int main() {
#pragma omp parallel num_threads(2)
    { k<<<5, 32>>>(1); }
}
"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.times) == (5, 2)


def test_a_region_within_another_has_one_thread_also_in_a_function_that_is_called(tmp_path):
    text = """
__global__ void k(int n) {}
__global__ void l(int n) {}
void inner(int g) {
#pragma omp parallel num_threads(2)
    k<<<g, 32>>>(1);
}
int main() {
#pragma omp parallel num_threads(3)
    inner(4);
    inner(5);
#pragma omp parallel for num_threads(3)
    for (int i = 0; i < 7; i++) inner(6);
    _Pragma("omp parallel num_threads(4)") { l<<<1, 32>>>(1); }
}
"""
    found = {(one.kernel.name, one.grid[0]): one.times for one in launches(tmp_path, text)}
    assert found == {("k", 4): 3, ("k", 5): 2, ("k", 6): 7, ("l", 1): 4}


def test_a_region_that_ends_the_program_perhaps_is_not_around_what_follows(tmp_path):
    text = """
__global__ void k(int n) {}
int unknown();
int main() {
    if (unknown()) {
#pragma omp parallel num_threads(2)
        exit(1);
    }
#pragma omp parallel num_threads(3)
    k<<<4, 32>>>(1);
}
"""
    (launch,) = launches(tmp_path, text)
    assert launch.times == 3


@pytest.mark.parametrize(
    "step",
    [
        "if (i > 3) exit(0);",
        "if (i > 3) exit(EXIT_SUCCESS);",
        "if (i > 3) exit(3);",
        'if (i < 4) g = 1; else { puts(""); exit(1); }',
        "if (i > 3) throw 3;",
        "if (i > 3) end(1);",
        "deeper(i + 1);",
        "if (i < 4) return; end(1);",
    ],
)
def test_a_function_that_ends_the_program_is_followed(tmp_path, step):
    text = f"""#include <cstdio>
#include <cstdlib>
__global__ void k(int n) {{}}
int g;
void end(int status) {{ exit(status); }}
void deeper(int i) {{ if (i > 4) end(1); }}
void step(int i) {{ {step} }}
int main() {{ for (int i = 0; i < 10; i++) {{ step(i); k<<<4, 64>>>(7); }} }}"""
    (launch,) = launches(tmp_path, text)
    assert launch.times == 4


@pytest.mark.parametrize(
    ("body", "times"),
    [
        ("check(5); k<<<4, 64>>>(1);", None),
        ("int n = 5; check(n); k<<<4, 64>>>(1);", None),
        ("check(3); k<<<4, 64>>>(1);", 1),
        ("int n = unknown(); check(n); k<<<4, 64>>>(n);", 1),  # an error, which does not happen
        ("int n = unknown(); only(n); k<<<4, 64>>>(n);", 1),
        ("int n = unknown(); try { check(n); k<<<4, 64>>>(n); } catch (int) {}", 1),
        ("int n = unknown(); if (n > 3) exit(0); k<<<4, 64>>>(n);", None),  # perhaps its work is done
        ("int n = unknown(); switch (n) { case 1: exit(0); case 2: break; } k<<<4, 64>>>(n);", None),
        ("int wrong = 0; for (int i = 0; i < 9; i++) wrong += unknown(); check(wrong); k<<<4, 64>>>(1);", 1),
    ],
)
def test_what_comes_after_a_check_in_a_function(tmp_path, body, times):
    text = f"""#include <cstdlib>
__global__ void k(int n) {{}}
int unknown(), g;
void check(int i) {{ if (i > 3) exit(1); }}
void only(int i) {{ g = i; if (i < 3) return; exit(1); }}
int main() {{ {body} }}"""
    (launch,) = launches(tmp_path, text)
    assert launch.times == times


ENDING = r"""#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
__global__ void k(int n) {}
int unknown(), g;
void die(int status) { exit(status); }
[[noreturn]] void usage() { puts("usage"); exit(1); }
int chosen(int i) { return i < 3 ? i : (exit(1), 0); }
int thrown(int i) { return i < 3 ? i : throw i; }
void need(bool ok) { ok || (exit(1), 0); }
void need_all(bool ok) { if (!ok && (puts("x"), true)) exit(2); }
void need_else(bool ok) { ok ? (void)0 : abort(); }
int counted(int n) { for (int i = 0; i < n; i++) if (i == 3) throw i; return n; }
int climb(int n) { if (n > 4) exit(1); return n > 3 ? n : climb(n + 1); }
int of_switch(int n) { switch (n) { case 0: return 8; case 1: return 16; default: usage(); } }
void listed(int n) { switch (n) { case 0: case 1: break; default: puts("bad"); exit(1); } }
int left(int n) { int r = -1; if (n > 3) goto done; r = 0; done: return r; }
void derived(int n) { int twice = 2 * n, most = twice - 1; if (most > 8) exit(1); }
void well(int n) { if (n > 3) exit(0); }
#define REQUIRE(c) do { if (!(c)) { fprintf(stderr, "no"); exit(EXIT_FAILURE); } } while (0)
void required(int n) { REQUIRE(n < 4); }
"""


@pytest.mark.parametrize(
    "call",
    [
        "chosen(N);",
        "int a = chosen(N);",
        "int a = thrown(N);",
        "need(N < 4);",
        "need_all(N < 4);",
        "need_else(N < 4);",
        "counted(N);",
        "climb(N);",
        "of_switch(N - 2);",
        "listed(N - 2);",
        "if (left(N)) return 1;",
        "derived(N);",
        "required(N);",
        "REQUIRE(N < 4);",
        "N < 4 || (exit(1), 0);",
        'auto end = [](bool ok) { if (!ok) { puts(""); exit(1); } }; end(N < 4);',
        "void (*end)(int) = N < 4 ? well : die; end(1);",
        'printf("%d", chosen(N));',
        "while (chosen(N) == 3) {}",
        "if (N > 4) std::terminate();",
        "N < 4 ? (void)0 : std::quick_exit(1);",
    ],
)
def test_the_program_ends_where_what_is_told_says_so(tmp_path, call):
    ends, stays = (ENDING + f"int main() {{ {call.replace('N', n)} k<<<4, 64>>>(1); }}" for n in ("5", "2"))
    assert [one.times for one in launches(tmp_path, ends)] == [None]
    assert [one.times for one in launches(tmp_path, stays)] == [1]


@pytest.mark.parametrize("before", ["", "int *words = &argc; "])
def test_a_check_of_what_argc_decides_is_taken_to_succeed(tmp_path, before):
    """As in Parboil's fft: two numbers that a run is given."""
    body = f"{before}int n = 9, wrong = 0; if (argc != 3) wrong |= 1; else n = atoi(argv[1]);"
    text = f"{ENDING}int main(int argc, char **argv) {{ {body} if (wrong) exit(1); k<<<4, 64>>>(n); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.times) == (4, 1)


@pytest.mark.parametrize(
    ("body", "grid", "times", "is_told"),
    [
        ("int n = chosen(unknown()); k<<<4, 64>>>(n);", 4, 1, False),
        ("int n = unknown() > 3 ? (exit(1), 0) : 4; k<<<n, 64>>>(1);", 4, 1, False),
        ("int n = unknown() > 3 ? (exit(0), 0) : 4; k<<<n, 64>>>(1);", 4, None, False),
        ("unknown() > 3 && (exit(0), 1); k<<<4, 64>>>(1);", 4, None, False),
        ("well(unknown()); k<<<4, 64>>>(1);", 4, 1, True),
        ("auto f = [](int n) { if (n > 3) exit(0); }; f(unknown()); k<<<4, 64>>>(1);", 4, 1, True),
        ("k<<<4, 64>>>(1); well(unknown());", 4, 1, False),
        ("need(unknown() < 3); k<<<4, 64>>>(1);", 4, 1, False),
    ],
)
def test_an_end_that_nobody_knows_is_an_error_or_told(tmp_path, body, grid, times, is_told):
    (launch,) = launches(tmp_path, ENDING + f"int main() {{ {body} }}")
    assert (launch.grid[0], launch.source, launch.times) == (grid, LaunchSource.HOST_CODE, times)
    told = [
        a.message
        for a in launch.assumptions
        if "exit(0) before the launch of k, is taken not to" in a.message
    ]
    assert bool(told) is is_told


@pytest.mark.parametrize(
    "body",
    [
        "try { guarded(5); } catch (int) {}",
        "try { Guard one(9); guarded(5); } catch (int) {}",
        "try { try { guarded(5); } catch (int) { throw; } } catch (int) {}",
    ],
)
def test_how_often_destructors_launch_as_something_is_thrown_is_told_as_unknown(tmp_path, body):
    text = f"""
__global__ void k(int n) {{}}
struct Guard {{ int n; Guard(int a) : n(a) {{}} ~Guard() {{ k<<<n, 64>>>(1); }} }};
void check(int n) {{ if (n > 3) throw n; }}
void guarded(int n) {{ Guard guard(n); check(n); k<<<3, 64>>>(n); }}
int main() {{ {body} }}"""
    found = launches(tmp_path, text)
    assert 5 in {one.grid[0] for one in found}
    assert {one.times for one in found} == {None}


@pytest.mark.parametrize("end", ["exit(1)", "if (unknown()) exit(1); else exit(2)"])
def test_what_comes_after_a_loop_that_is_left_or_ends_the_program_is_run(tmp_path, end):
    text = f"""#include <cstdlib>
__global__ void k(int n) {{}}
int unknown();
int main() {{ int n = unknown(), i = 7; for (;;) {{ if (n) break; {end}; }} i = 8; k<<<i, 32>>>(n); }}"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.times) == (8, 1)


def test_a_function_that_returns_or_ends_the_program_gives_what_it_returns(tmp_path):
    text = """#include <cstdlib>
__global__ void k(int n) {}
int unknown();
int number(int i) { if (i < 3) return 8; exit(1); }
int main() { k<<<number(unknown()), 64>>>(1); }"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.times) == (8, 1)


def test_an_argument_array_that_is_set_again_is_read_where_it_is_used(tmp_path):
    text = """
__global__ void k(int n) {}
int main() { int n = 2, m = 3; void *a[] = {&n}; a[0] = &m; cudaLaunchKernel((void *)k, dim3(4), dim3(32), a, 0, 0); }
"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.arguments) == (4, (3,))


AT_EXIT = """
#include <cstdlib>
#include <memory>
#include <vector>
__global__ void k(int n) {}
int before = 1;
struct Module { int id; Module(int i) : id(i) {} ~Module() { k<<<before++, 32>>>(id); } };
struct Two { Module a{20}, b{21}; };
Module &kept() { static Module m(30); return m; }
bool asked();
GLOBALS
int main(int argc, char **argv) { BODY }
"""


@pytest.mark.parametrize(
    ("variables", "body", "told"),
    [
        ("static Module m(7);", "", [(1, 7, 1)]),
        ("Module m(7), n(8);", "Module l(9);", [(1, 9, 1), (2, 8, 1), (3, 7, 1)]),
        ("struct P { int n; ~P() { k<<<n, 32>>>(n); } }; P p = {5};", "", [(1, 1024, None), (5, 5, 1)]),
        ("Two two;", "", [(1, 21, 1), (2, 20, 1)]),
        ("Module m[2] = {Module(7), Module(8)};", "exit(0);", [(1, 8, 1), (2, 7, 1)]),
        ("Module m(7);", "for (int i = 0; i < 3; i++) kept().id++;", [(1, 33, 1), (2, 7, 1)]),
        ("", "if (asked()) kept();", [(1, 1024, None)]),
        ("", "if (before > 1) kept();", [(1, 1024, None)]),
        ("std::unique_ptr<Module> m;", "m.reset(new Module(7));", [(1, 7, 1)]),
        ("auto m = std::make_shared<Module>(7), n = m;", "m->id = 8;", [(1, 8, 1)]),
        ("", "static std::unique_ptr<Module> m(new Module(7));", [(1, 7, 1)]),
        ("Module m(7); struct Last { ~Last() { before = 5; } } last;", "", [(5, 7, 1)]),
    ],
)
def test_what_lives_until_the_end_is_destroyed_there(tmp_path, variables, body, told):
    found = launches(tmp_path, AT_EXIT.replace("GLOBALS", variables).replace("BODY", body))
    made = ((one.grid[0], one.arguments[0] or 1024, one.times) for one in found)
    assert sorted(made) == told


def test_a_launch_before_main_is_not_one_of_another_entry_point_as_well(tmp_path):
    text = "__global__ void k(int n) {} struct M { M(int n) { k<<<n, 32>>>(n); } }; M m(3); int main() {}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.times) == (3, 1)


def test_what_overriders_write_is_lost_once(tmp_path, monkeypatch):
    """Which of them runs, nobody knows: each variable is lost once, and not once for each of them."""
    text = """
__global__ void k(int n) {}
int n = 7;
struct B { virtual void f() {} };
struct C : B { void f() override { n = 8; } };
struct D : B { void f() override { n = 9; } };
void run(B *b) { b->f(); k<<<1, 32>>>(n); }
"""
    lost: list[str] = []
    original = ControlFlow._forget_variable

    def noted(self, variable, why, own=None):
        lost.append(variable.name)
        original(self, variable, why, own)

    monkeypatch.setattr(ControlFlow, "_forget_variable", noted)
    (launch,) = HostCode(program(tmp_path, text), GPU).launches({})
    assert isinstance(launch.arguments[0], Unknown)
    assert "set in" in launch.arguments[0].reason
    assert lost == ["n"]


def test_what_may_be_thrown_is_kept_without_frames(tmp_path, monkeypatch):
    """They hold all that was tried on the way: hundreds of megabytes in a long `try`."""
    text = """
__global__ void k(int n) {}
void check(int code) { if (code) throw 1; }
int status();
int main() {
    try { check(status()); } catch (int) {}
    k<<<1, 32>>>(1);
}
"""
    frames: list[object] = []
    original = ControlFlow._may_throw

    def noted(self, error, why):
        was_told = error.__traceback__ is not None
        original(self, error, why)
        if was_told:
            frames.append(error.__traceback__)

    monkeypatch.setattr(ControlFlow, "_may_throw", noted)
    HostCode(program(tmp_path, text), GPU).launches({})
    assert frames
    assert not any(frames)
