"""Ranges of host code that calls give, and elements that are written by way of references.

What g++ makes of each program stands in front. Each is a program by itself: what matters in one is not known
from another.
"""

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

HEAD = "".join(f"#include <{name}>\n" for name in ("map", "memory", "string", "utility", "vector"))
OWN = "struct B { std::vector<int> v{3, 4, 5}; std::vector<int> &items() { return v; } };"
PAIRS = "struct P { int a, b; };"
PAIRS += "struct B { std::vector<P> v{{1, 2}, {3, 4}}; std::vector<P> &all() { return v; } };"
ROWS = "struct B { std::vector<std::vector<int>> v{{1, 2}, {3, 4}}; auto &all() { return v; } };"
LIST = "std::vector<int> list() { return {3, 4, 5}; }"
COUNTED = "int n = 0; std::vector<int> list() { n++; return {3, 4, 5}; }"
MAP = "std::map<int, int> made() { std::map<int, int> m; m[3] = 4; m[1] = 7; return m; }"
GLOBAL = "std::vector<int> g{3, 4}, h{5, 6};"


def grid(tmp_path, head: str, body: str, value: str) -> int | None:
    """The grid where nothing of it is assumed."""
    text = f"{HEAD}__global__ void k(int n) {{}}\n{head}\nint main() {{ {body} k<<<{value}, 32>>>(1); }}"
    (launch,) = launches(tmp_path, text)
    return launch.grid[0] if launch.source is LaunchSource.HOST_CODE else None


@pytest.mark.parametrize(
    ("head", "body", "value", "truth"),
    [
        (LIST, "int t = 0; for (int x : list()) t = t * 10 + x;", "t", 345),
        (COUNTED, "int t = 0; for (auto &&x : list()) t += x;", "t * 10 + n", 121),
        ("", "int t = 0; for (int x : std::vector<int>{3, 4}) t = t * 10 + x;", "t", 34),
        ("", "int t = 0; auto f = [] { return std::vector<int>{2, 3}; }; for (int x : f()) t += x;", "t", 5),
        (PAIRS + "std::vector<P> made() { return {{1, 2}, {3, 4}}; }",
         "int t = 0; for (const auto &[x, y] : made()) t = t * 10 + x * y;", "t", 32),
        (MAP, "int t = 0; for (auto [x, y] : made()) t = t * 10 + x * y;", "t", 82),
        ("", "int t = 0; for (char c : std::string(\"abc\")) t += c - 'a' + 1;", "t", 6),
        ("std::vector<std::vector<int>> rows() { return {{1, 2}, {3}}; }",
         "int t = 0; for (auto &r : rows()) for (int x : r) t = t * 10 + x;", "t", 123),
    ],
)  # fmt: skip
def test_temporary_ranges_are_gone_through(tmp_path, head, body, value, truth) -> None:
    assert grid(tmp_path, head, body, value) == truth


@pytest.mark.parametrize(
    ("head", "body", "value", "truth"),
    [
        (GLOBAL, "int t = 0; for (int x : (t == 0 ? g : h)) t = t * 10 + x;", "t", 34),
        (GLOBAL, "auto *p = &g; int t = 0; for (int x : *p) { t = t * 10 + x; p = &h; }", "t", 34),
        (ROWS, "B b; int i = 0, t = 0; for (int x : b.v[i]) { t = t * 10 + x; i = 1; }", "t", 12),
    ],
)
def test_a_range_is_looked_for_once(tmp_path, head, body, value, truth) -> None:
    assert grid(tmp_path, head, body, value) == truth


@pytest.mark.parametrize(
    ("head", "body", "value", "truth"),
    [
        (OWN, "B b; for (int &x : b.items()) x += 2;", "b.v[1]", 6),
        (OWN, "B b; auto &r = b.items(); for (int &x : r) x += 2;", "b.v[1]", 6),
        (OWN, "B b; auto &r = b.items(); int &x = r.back(); x += 2;", "b.v[2]", 7),
        (OWN, "B b; auto &r = b.items(); int *x = &r[1]; *x += 2;", "b.v[1]", 6),
        (OWN, "B b; auto &r = b.items(); int *x = r.data(); x[1] += 2;", "b.v[1]", 6),
        (OWN, "B b; for (auto x = b.items().begin(); x != b.items().end(); ++x) *x += 2;", "b.v[0]", 5),
        (OWN, "B b; auto &r = b.items(); std::swap(r[0], r[2]);", "b.v[2]", 3),
        (PAIRS, "B b; for (auto &x : b.all()) x.b += 2;", "b.v[1].b", 6),
        (ROWS, "B b; for (auto &r : b.all()) for (int &x : r) x += 2;", "b.v[1][0]", 5),
        (GLOBAL + "std::vector<int> &all() { return g; }", "for (int &x : all()) x += 2;", "g[0]", 5),
        ("void add(std::vector<int> *v) { for (int &x : *v) x += 2; }",
         "std::vector<int> v{3, 4}; add(&v);", "v[1]", 6),
        (OWN + "struct A { B *b; std::vector<int> &items() { return b->v; } };",
         "B b; A a{&b}; for (int &x : a.items()) x += 2;", "b.v[1]", 6),
    ],
)  # fmt: skip
def test_elements_are_written_by_way_of_references(tmp_path, head, body, value, truth) -> None:
    assert grid(tmp_path, head, body, value) == truth
