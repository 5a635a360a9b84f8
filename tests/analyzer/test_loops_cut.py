"""Loops of host code that are not followed to their end: what is said of launches that later iterations make."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches import host_loops
from wattslice.launches.host_code import HostCode
from wattslice.launches.host_loops import HostLoops
from wattslice.launches.memory import Record

from .geometry import GPU, launches

STRING_MATCH = Path(__file__).parents[2] / "corpora/wattslice_corpora/kernels/wang2013/string_match.cu"

HEAD = """
#include <utility>
#include <vector>
__global__ void k(float *x, int n) {}
__global__ void e(float *x, int n) {}
float *x;
int outside();
"""
CLOCK = "struct Clock { int n = 0, on = 0; double t = 0; bool next() { t += 0.01; return t < 2; } void tick() { if (on) e<<<5, 32>>>(x, 7); if (++n == 70) on = 1; } };"
STEP = "void step(int i) { if (i % 300 == 150) e<<<5, 32>>>(x, 7); }"
ANY_NUMBER = [
    ("a count in the condition", "int c = 0; double t = 1; while (t > 1e-4) { t *= 0.95; if (++c % 50 == 0) e<<<5, 32>>>(x, 7); }"),
    ("a count elsewhere", "int c = 0; for (double t = 0; t < 1; t += 0.002) { ++c; if (c % 50 == 0) e<<<5, 32>>>(x, 7); }"),
    ("no bound", "double t = 0; int c = 0; for (;;) { if (t >= 2.5) break; t += 0.01; if (c++ % 20 == 0) e<<<5, 32>>>(x, 7); }"),
    ("a do loop, another arm", "double t = 0; int c = 0; do { t += 0.01; if (c++ % 90 != 89) k<<<1, 32>>>(x, 1); else e<<<5, 32>>>(x, 7); } while (t < 5);"),
    ("a generator", "Clock c; int s = 0; while (c.next()) if (s++ % 8 == 0) e<<<5, 32>>>(x, 7);"),
    ("a member that a later iteration sets", "Clock c; for (double t = 0; t < 1; t += 0.005) c.tick();"),
    ("a static", "for (double t = 0; t < 1; t += 0.005) { static int c = 0; if (++c % 60 == 0) e<<<5, 32>>>(x, 7); }"),
    ("a switch", "int c = 0; for (double t = 0; t < 1; t += 0.005) switch (c++ % 40) { case 3: e<<<5, 32>>>(x, 7); break; case 9: k<<<1, 32>>>(x, 1); }"),
    ("an operator", "int c = 0; auto go = [] { e<<<5, 32>>>(x, 7); return 1; }; for (double t = 0; t < 1; t += 0.005) ++c % 60 == 0 && go();"),
    ("a loop in a loop", "for (int i = 0; i < 3; i++) { int c = 0; for (double t = 0; t < 1; t += 0.01) if (++c % 30 == 0) e<<<5, 32>>>(x, 7); }"),
    ("an inner loop of more iterations", "int c = 0; for (double t = 0; t < 1; t += 0.01) for (int i = 0; i < ++c % 70; i++) e<<<5, 32>>>(x, 7);"),
    ("a range", "std::vector<int> v(200, 1); int c = 0; for (int q : v) { c += q; if (c % 100 == 99) e<<<5, 32>>>(x, 7); }"),
    ("a counted loop", "int c = 0; for (int i = 0; i < 1000; i++) if (c++ % 90 == 7) e<<<5, 32>>>(x, 7);"),
    ("a function", "for (int i = 0; i < 1000; i++) step(i);"),
    ("a loop of unknown length", "int c = 0; while (outside()) if (c++ % 90 == 7) e<<<5, 32>>>(x, 7);"),
    ("a jump over it", "int c = 0; for (double t = 0; t < 1; t += 0.005) { if (++c % 3) continue; e<<<5, 32>>>(x, 7); }"),
    ("a launch behind the loop", "int c = 0; for (double t = 0; t < 1; t += 0.005) c++; if (c > 150) e<<<5, 32>>>(x, 7);"),
    ("a loop behind the loop", "int c = 0; for (double t = 0; t < 1; t += 0.005) { k<<<1, 32>>>(x, 1); c++; } for (int i = 0; i < c; i++) e<<<5, 32>>>(x, 7);"),
]  # fmt: skip


TIMES = [
    ("a count in the condition", 3), ("a count elsewhere", 10), ("no bound", 13), ("a do loop, another arm", 5),
    ("a member that a later iteration sets", 130), ("a static", 3), ("a switch", 5), ("an operator", 3),
    ("a loop in a loop", 9), ("a jump over it", 66), ("a loop behind the loop", 200),
]  # fmt: skip
"""How often the host compiler's programs launch, of those that are followed to their end."""


@pytest.fixture
def no_steps(monkeypatch):
    """No loop is followed to its end that no counter alone ends."""
    monkeypatch.setattr(host_loops, "STEPS_TO_GO_ON", 0)


def text_of(body: str) -> str:
    used = CLOCK * ("Clock" in body) + STEP * ("step(" in body)
    return f"{HEAD} {used} int main() {{ {body} }}"


@pytest.mark.parametrize(("name", "times"), TIMES)
def test_a_loop_that_known_tests_end_is_followed_to_its_end(tmp_path, name, times):
    (one,) = [one for one in launches(tmp_path, text_of(dict(ANY_NUMBER)[name])) if one.kernel.name == "e"]
    assert (one.grid, one.times, one.source) == ((5, 1, 1), times, LaunchSource.HOST_CODE)


@pytest.mark.usefixtures("no_steps")
@pytest.mark.parametrize("body", [body for _, body in ANY_NUMBER], ids=[name for name, _ in ANY_NUMBER])
def test_nobody_knows_how_often_iterations_that_are_not_followed_launch(tmp_path, body):
    found = launches(tmp_path, text_of(body))
    (one,) = [one for one in found if one.kernel.name == "e" and one.line is not None]
    assert (one.grid, one.arguments[1], one.source) == ((5, 1, 1), 7, LaunchSource.HOST_CODE)
    assert one.times is None
    assert not one.assumptions


LATER = [
    ("int c = 0; double t = 0; while (t < 1) { t += 0.002; if (++c % 90 == 0) e<<<c, 32>>>(x, c); }", None),
    ("int c = 0; double t = 0; while (t < 3) { if (c % 40 == 0 && c > 0) e<<<c, 32>>>(x, c); c++; t += 0.01; }", 40),
    ("for (int i = 0; i < 1000; i++) if (i % 90 == 7) e<<<i, 32>>>(x, i);", None),
    ("int c = 0; while (outside()) { if (c % 40 == 3) e<<<c + 1, 32>>>(x, c); c++; }", None),
    ("int c = 0; while (outside()) { e<<<c + 1, 32>>>(x, c); c++; }", None),
    ("int a = 0; for (int i = 0; i < 500; i++) { if (i % 100 == 37) a = i; if (a > 99) e<<<a, 32>>>(x, a); }", None),
    ("int c = 0; for (double t = 0; t < 1; t += 0.005) c++; e<<<c, 32>>>(x, c);", None),
]  # fmt: skip


@pytest.mark.usefixtures("no_steps")
@pytest.mark.parametrize(("body", "grid"), LATER)
def test_a_geometry_is_that_of_an_iteration_that_was_followed(tmp_path, body, grid):
    found = launches(tmp_path, text_of(body))
    (one,) = [one for one in found if one.kernel.name == "e" and one.line is not None]
    is_known = one.source is LaunchSource.HOST_CODE
    assert (one.grid[0] if is_known else None) == grid
    assert one.assumptions
    assert "not always known" in one.assumptions[0].message or not is_known


def test_a_grid_that_the_arm_compares_with_a_number_is_known_though_not_how_often(tmp_path):
    body = LATER[5][0].replace("a > 99", "a == 137")
    (one,) = [one for one in launches(tmp_path, text_of(body)) if one.kernel.name == "e"]
    assert (one.grid[0], one.source, one.times) == (137, LaunchSource.HOST_CODE, None)


def test_the_first_of_many_grids_is_assumed_and_why_the_others_are_not_known_is_told(tmp_path):
    (one,) = [one for one in launches(tmp_path, text_of(LATER[4][0])) if one.kernel.name == "e"]
    assert (one.grid[0], one.source, one.times) == (1, LaunchSource.ASSUMED, None)
    told = "in each iteration ('c' changes in a loop of unknown length: the result of outside()); shown"
    assert told in one.assumptions[0].message


@pytest.mark.usefixtures("no_steps")
def test_what_no_iteration_changes_is_known_in_all(tmp_path):
    body = "int n = 90; double t = 1; while (t > 1e-4) { t *= 0.95; int m = n / 3; k<<<m, 32>>>(x, m); if (n > 100) e<<<5, 32>>>(x, 7); } while (outside()) e<<<n, 32>>>(x, n);"
    k, e = launches(tmp_path, text_of(body))
    assert (k.grid, k.arguments[1], k.times, k.assumptions) == ((30, 1, 1), 30, None, ())
    assert (e.grid, e.arguments[1], e.times, e.assumptions) == ((90, 1, 1), 90, None, ())


def test_regular_launches_of_a_counted_loop_have_a_number(tmp_path):
    body = "for (int i = 0; i < 900; i++) { int m = 4; if (m > 2) k<<<m, 32>>>(x, m); if (i % 90 == 7) e<<<5, 32>>>(x, 7); }"
    k, e = launches(tmp_path, text_of(body))
    assert (k.times, e.times) == (900, None)


COUNTS = [
    "int c = 0, a = 6; for (int i = 0; i < 70; i++) { c++; if (c % 20 == 3) a++; }",
    "int c = 0, a = 6; for (double t = 0; t < 1; t += 0.01) { c++; if (c % 90 == 3) a += 2; }",
    "struct { int a = 6, c = 0; void go() { if (++c % 90 == 3) a++; } } s; for (int i = 0; i < 400; i++) s.go(); int a = s.a;",
]  # fmt: skip


@pytest.mark.parametrize("body", COUNTS)
def test_a_count_under_a_condition_that_varies_is_unknown(tmp_path, body):
    _, e = launches(tmp_path, text_of(f"{body} e<<<1, 32>>>(x, a);"))
    assert e.arguments[1] is None


SWAPS = [
    ("numbers", "int a = 4, b = 5; std::swap(a, b);", 5),
    ("elements", "int v[3] = {5, 2, 1}, i = 2, a; std::swap(v[0], v[i]); a = v[2];", 5),
    ("addresses", "int u = 3, v = 5; int *p = &u, *q = &v; std::swap(p, q); int a = *p;", 5),
    ("objects behind addresses", "Clock c, d; c.n = 3; d.n = 5; Clock *p = &c, *q = &d; for (int i = 0; i < 7; i++) std::swap(p, q); int a = p->n;", 5),
    ("floats", "double c = 2.5, d = 3; std::swap(c, d); int a = int(d * 2);", 5),
    ("of any number", "int u = 3, v = 5; int *p = &u, *q = &v; while (outside()) std::swap(p, q); int a = *p;", None),
    ("of many", "int u = 3, v = 5; int *p = &u, *q = &v; for (double t = 0; t < 1; t += 0.005) { std::swap(p, q); ++*p; } int a = u;", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "value"), [entry[1:] for entry in SWAPS], ids=[entry[0] for entry in SWAPS])
def test_what_the_library_exchanges(tmp_path, body, value):
    found = launches(tmp_path, text_of(f"{body} e<<<1, 32>>>(x, a);"))
    (one,) = [one for one in found if one.kernel.name == "e" and one.line is not None and one.grid[0] == 1]
    assert one.arguments[1] == value


STEPPED = [
    ("a sum", "for (int i = 0; i < 20000; i++) m = m + 2;", 40001),
    ("a sum the other way", "for (int i = 0; i < 20000; i++) m = 2 + m;", 40001),
    ("a difference", "for (int i = 0; i < 20000; i++) m = m - 1;", -19999),
    ("a step that is left out", "int i = 0; while (i < 20000) { i++; if (i & 1) continue; m++; }", None),
]  # fmt: skip


@pytest.mark.parametrize("case", [pytest.param(case[1:], id=case[0]) for case in STEPPED])
def test_what_each_iteration_adds_is_known_behind_a_long_loop(tmp_path, case):
    body, value = case
    found = launches(tmp_path, text_of(f"int m = 1; {body} k<<<1, 32>>>(x, m);"))
    (launch,) = (one for one in found if one.kernel.name == "k")
    assert launch.arguments[1] == value


ENDS = [
    ("!=", "int i; for (i = 0; i != 65; ++i) k<<<i + 1, 32>>>(x, i);", 65, 65),
    ("!= that is passed by", "unsigned i; for (i = 0; i != 65 && i < 900; i += 2) k<<<i + 1, 32>>>(x, i);", None, None),
    ("!= that ends when it wraps", "unsigned char i = 0; for (; i != 99; i += 2) { k<<<i + 1, 32>>>(x, i); if (n > 9) break; }", None, None),
    ("while, by the end of its body", "int i = 0; while (i < 65) { k<<<i + 1, 32>>>(x, i); ++i; }", 65, 65),
    ("while, in its test", "int i = 65; while (i--) k<<<i + 1, 32>>>(x, i);", 65, -1),
    ("do, in its test", "int i = 90; do { k<<<i + 1, 32>>>(x, i); } while (i--);", 91, -1),
    ("do, in its body", "int i = 100; do { k<<<i + 1, 32>>>(x, i); ++i; } while (i < 90);", 1, 101),
    ("a step that continue may pass over", "int i = 0; while (i < 100) { k<<<i + 1, 32>>>(x, i); if (x[0] > i % 2) continue; ++i; }", None, None),
    ("a step ahead of continue", "int i = 0; while (i < 100) { ++i; k<<<i, 32>>>(x, i); if (i % 2) continue; n++; }", 100, 100),
    ("a step on a condition", "int i = 0; while (i < 100) { k<<<i + 1, 32>>>(x, i); if (outside()) ++i; }", None, None),
    ("two steps", "int i = 0; while (i < 200) { k<<<i + 1, 32>>>(x, i); ++i; ++i; }", None, None),
    ("another step by reference", "int i; for (i = 0; i < 100; i++) { k<<<i + 1, 32>>>(x, i); raise(i); }", 50, 100),
    ("another step in a function", "for (g = 0; g < 100; g++) { k<<<g + 1, 32>>>(x, g); up(); } int i = g;", 50, 100),
    ("an end that comes nearer", "std::vector<int> v(200); int i; for (i = 0; i < v.size(); i++) { k<<<i + 1, 32>>>(x, i); v.pop_back(); }", None, None),
    ("unsigned, never", "unsigned i = 0; for (; i - 5 < 100; i++) k<<<i + 1, 32>>>(x, i);", 0, 0),
    ("unsigned, always", "unsigned i = 100; for (; i >= 0; i--) k<<<i + 1, 32>>>(x, i);", None, None),
    ("too narrow for its end", "unsigned char i = 0; while (i < 300) { k<<<i + 1, 32>>>(x, i); i++; }", None, None),
    ("narrowed on the way", "int i; for (i = -190; (unsigned char)i < 200; i++) k<<<i + 999, 32>>>(x, i);", None, None),
    ("compared unsigned", "int i; for (i = -5; i < 100u; i++) k<<<i + 6, 32>>>(x, i);", 0, -5),
    ("a narrow count beside it", "unsigned char i = 0; for (int j = 0; j != 300; j++) { k<<<i + 1, 32>>>(x, i); i++; }", 300, 44),
    ("a sum that overflows beside it", "int i = 0; for (int j = 0; j < 100000; j++) i += 1000000; for (int j = 0; j < 2; j++) k<<<1, 32>>>(x, j);", 2, None),
    ("a real amount", "int i = -5; for (int j = 0; j != 300; j++) { k<<<3, 32>>>(x, j); i += 1.5; }", 300, None),
    ("a number beside it", "int i = 0; for (int j = 0; j != 100000; ++j) i += 4; for (int j = 0; j < 2; j++) k<<<1, 32>>>(x, j);", 2, 400000),
    ("a way out that it comes to", "int i = 0; while (i < 900) { if (i == 5) break; k<<<i + 1, 32>>>(x, i); ++i; }", 5, 5),
    ("a way out that is far", "int i = 0; while (i < 900) { if (i == 500) break; k<<<i + 1, 32>>>(x, i); ++i; }", None, None),
    ("what a short loop makes", "int i = 1, j = 0; while (j < 200) { i = i * 3 % 97; ++j; } k<<<1, 32>>>(x, j);", 1, pow(3, 200, 97)),
]  # fmt: skip


@pytest.mark.usefixtures("no_steps")
@pytest.mark.parametrize("case", [pytest.param(case[1:], id=case[0]) for case in ENDS])
def test_where_a_counted_loop_ends(tmp_path, case):
    body, times, value = case
    head = f"{HEAD} int g; void up() {{ g++; }} void raise(int &i) {{ i += 1; }}\n#include <vector>\n"
    found = launches(tmp_path, f"{head} int main() {{ int n = 1; {body} e<<<1, 32>>>(x, i); }}")
    made = [one for one in found if one.kernel.name == "k"]
    known = [one.times for one in made if one.source is LaunchSource.HOST_CODE]
    assert (None if None in known else sum(number or 0 for number in known)) == times
    (behind,) = (one for one in found if one.kernel.name == "e" and one.line is not None)
    assert behind.arguments[1] == value


def test_a_narrow_count_wraps_between_the_iterations_that_are_visited(tmp_path):
    path = tmp_path / "narrow.cu"
    body = "unsigned char c = 0; for (int j = 0; j < 1000; j++) { k<<<c + 1, 32>>>(x, j); c++; }"
    path.write_text(f"{HEAD} int main() {{ {body} }}")
    found = HostCode(read_cuda(path), GPU).launches({})
    assert [one.grid.cells[0] for one in found if isinstance(one.grid, Record)] == [1, 2, 251, 245, 238, 232]


def test_what_a_cut_loop_counts_may_be_assumed_behind_it(tmp_path):
    counted = (
        "unsigned read(int most) { unsigned i; for (i = 0; i < most; i++) if (outside()) break; return i; }"
    )
    found = launches(
        tmp_path,
        f"{HEAD} {counted} int main() {{ unsigned n = read(outside()); k<<<n / 256 + 1, 256>>>(x, n); }}",
    )
    (launch,) = (one for one in found if one.kernel.name == "k")
    assert any("n assumed" in told.message for told in launch.assumptions)
    assert launch.block == (256, 1, 1)


def test_a_value_that_is_assumed_gives_no_number_of_launches(tmp_path):
    """With `s` at 9 throughout, the first `c` is never launched, and the second in each odd iteration."""
    body = """int s = 1;
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 20; j++) {
            if (s < 50) k<<<j + 1, 32>>>(x, 7); else e<<<i + 1, 32>>>(x, 7);
            if (i < 5) s = s * 2; else if (s == 0) break;
        }
        if (i % 2 == 0) s = 9; else e<<<s + 1, 32>>>(x, 7);
    }
    if (s > 3) e<<<s + 2, 32>>>(x, 8);"""
    found = [one for one in launches(tmp_path, text_of(body)) if one.kernel.name == "e"]
    assert {one.source for one in found} == {LaunchSource.ASSUMED}
    assert {one.times for one in found if one.arguments[1] == 8} == {None}
    every = [told.message for one in found if one.grid[0] > 1 for told in one.assumptions]
    assert not any("its first iteration" in message for message in every)  # which has a grid of 1


def test_literals_that_a_function_is_given_in_a_loop_do_not_change():
    """Each visit has literals of its own: were they lost, another visit would have to lose the next ones."""
    visits: list[ir.Loop] = []
    original = HostLoops._visit

    def visit(self, stmt, times, why):
        visits.append(stmt)
        return original(self, stmt, times, why)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostLoops, "_visit", visit)
        host = HostCode(read_cuda(STRING_MATCH), GPU)
        found = host.launches({})
    assert {one.grid.cells[0] for one in found if isinstance(one.grid, Record)} == {512}
    assert len(visits) < 100


BY_OTHER_NAMES = [
    "std::pair<int &, int> p(c, 3); p.first = 4;",
    "std::tuple<int &, int> t(c, 3); std::get<0>(t) = 4;",
    "std::get<0>(std::tie(c, d)) = 4;",
    "for (int *one : {&c, &d}) *one = 4;",
]


@pytest.mark.parametrize("write", BY_OTHER_NAMES)
@pytest.mark.parametrize("rest", ["", "if (i % 7 == 0) continue; d += 2;"])
def test_what_is_written_by_another_name_is_not_steady(tmp_path, write, rest):
    body = f"int c = 0, d = 1; for (int i = 0; i < 150; i++) {{ c++; if (c % 90 == 0) {{ {write} }} {rest} }}"
    found = launches(tmp_path, f"#include <tuple>\n{text_of(body + 'k<<<c, 32>>>(x, 1);')}")
    launch = next(one for one in found if one.kernel.name == "k")
    assert launch.source is LaunchSource.ASSUMED or launch.grid[0] == 64


def test_a_counter_that_is_written_by_another_name_does_not_tell_the_iterations(tmp_path):
    body = "int c = 0; for (int i = 0; i < 150; i++) { c++; if (i == 90) { std::tuple<int &, int> t(i, 3); std::get<0>(t) += 4; } }"
    found = launches(tmp_path, f"#include <tuple>\n{text_of(body + 'k<<<c, 32>>>(x, 1);')}")
    launch = next(one for one in found if one.kernel.name == "k")
    assert launch.source is LaunchSource.ASSUMED or launch.grid[0] == 146
