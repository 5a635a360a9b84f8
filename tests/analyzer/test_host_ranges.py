"""Ranges of host code that calls give, elements that are written by way of references, and containers.

What g++ makes of each program stands in front. Each is a program by itself: what matters in one is not known
from another.
"""

# ruff: noqa: E501

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

HEAD = "".join(f"#include <{name}>\n" for name in ("map", "memory", "string", "utility", "vector"))
OWN = "struct B { std::vector<int> v{3, 4, 5}; std::vector<int> &items() { return v; } };"
PAIRS = "struct P { int a, b; }; struct B { std::vector<P> v{{1, 2}, {3, 4}}; std::vector<P> &all() { return v; } };"
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


@pytest.mark.parametrize(
    ("body", "value", "truth"),
    [
        ("std::queue<int> q; q.push(4); q.emplace(8); while (!q.empty()) { int n = q.front(); q.pop();"
         "t = t * 10 + n; if (n == 4) q.push(3); }", "t", 483),
        ("std::queue<int> q; q.push(4); q.push(8); q.front() = 6; auto r = q; r.push(1);",
         "q.front() * 100 + r.size() * 10 + q.size()", 632),
        ("std::queue<std::pair<int, int>> q; q.push({4, 5}); q.emplace(8, 9); auto p = q.front(); q.pop();",
         "p.first * 100 + q.front().second * 10 + q.size()", 491),
        ("std::stack<int> s; s.push(4); s.top() += 3; s.emplace(2); while (!s.empty()) { t = t * 10 + s.top();"
         "s.pop(); }", "t", 27),
        ("std::list<int> l = {4, 2}; l.push_back(9); l.emplace_back(1); l.pop_back();"
         "for (int &x : l) x += 1; for (int x : l) t = t * 10 + x;", "t + l.size() + l.front()", 548),
        ("std::list<int> l = {4, 2}; l.push_front(9);", "l.size()", 3),
        ("std::list<int> l = {9, 5}; auto it = l.begin(); l.sort();", "*it", None),
        ("std::set<int> s; s.insert(8); s.insert(4); s.insert(8); s.emplace(1); s.erase(1);"
         "for (int x : s) t = t * 10 + x;", "t + s.size() + s.count(4)", 51),
        ("std::set<std::string> s = {\"a\", \"b\", \"a\"}; t = s.find(\"c\") == s.end();", "t + s.size()", 3),
        ("std::unordered_set<int> s; s.insert(8); s.insert(4); s.insert(8);", "s.size() * 10 + s.count(8)", 21),
        ("std::unordered_set<int> s = {8, 4}; for (int x : s) t = t * 10 + x;", "t", None),
    ],
)  # fmt: skip
def test_lists_queues_and_sets_are_followed(tmp_path, body, value, truth) -> None:
    names = ("list", "queue", "set", "stack", "unordered_set")
    head = "".join(f"#include <{name}>\n" for name in names)
    assert grid(tmp_path, head, f"int t = 0; {body}", value) == truth


A_SET, A_LIST, A_MAP = (
    "std::set<int> s = {5, 9};",
    "std::list<int> l = {5, 9};",
    "std::map<int, int> m{{5, 2}, {9, 4}};",
)


@pytest.mark.parametrize(
    ("body", "value", "truth"),
    [
        (f"{A_SET} auto it = s.find(5); s.insert(3);", "*it", 5),
        (f"{A_SET} auto it = s.end(); s.insert(3); --it;", "*it", 9),
        (f"{A_SET} auto it = s.find(9); s.erase(5);", "*it", 9),
        (f"{A_SET} auto it = s.find(9); s.erase(s.begin());", "*it * 10 + s.size()", 91),
        (f"{A_SET} for (auto it = s.begin(); it != s.end(); ++it) {{ if (*it == 5) s.insert(3); t += *it; }}", "t", 14),
        (f"{A_SET} for (auto it = s.begin(); it != s.end(); ++it) {{ if (*it == 5) s.insert(7); t += *it; }}", "t", 21),
        (f"{A_SET} auto it = s.begin(); auto f = [it] {{ return *it; }}; s.insert(3);", "f()", 5),
        (f"{A_SET} auto it = s.begin(); if (unknown()) s.insert(3);", "it == s.begin() ? 1 : 2", None),
        (f"{A_SET} std::vector<std::set<int>::iterator> v; v.push_back(s.begin()); s.insert(3);", "*v[0]", 5),
        (f"{A_MAP} auto it = m.find(5); m[3] = 7;", "it->second", 2),
        (f"{A_MAP} int &r = m[5]; m[3] = 7; r = 6;", "m[5]", 6),
        (f"{A_MAP} put(m[5], m);", "m[5] * 10 + m[0]", 83),
        (f"{A_MAP} auto e = m.end(); m[3] = 4;", "m.find(7) == e ? 3 : 4", 3),
        (f"{A_MAP} for (auto it = m.begin(); it != m.end();) if (it->second == 2) it = m.erase(it); else ++it;",
         "m.size() * 10 + m[9]", 14),
        (f"{A_LIST} auto it = l.end(); l.push_back(3);", "it == l.end() ? 4 : 7", 4),
        (f"{A_LIST} auto it = l.end(); l.push_back(3); --it;", "*it", 3),
        (f"{A_LIST} auto it = l.end(); l.pop_back(); --it;", "*it", 5),
        (f"{A_LIST} auto it = l.end(); l.clear();", "it == l.begin() ? 4 : 7", 4),
        (f"{A_LIST} auto it = l.begin(); l.push_front(3);", "*it * 10 + (it == l.begin())", 50),
        (f"{A_LIST} auto it = l.begin(); ++it; auto j = l.insert(it, 3);", "*it * 10 + *j", 93),
        (f"{A_LIST} l.push_back(4); for (auto it = l.begin(); it != l.end();) if (*it % 2) it = l.erase(it); else ++it;",
         "l.front() * 10 + l.size()", 41),
        (f"{A_LIST} auto it = l.begin(); l.remove(9);", "it == l.begin() ? 4 : 7", None),
    ],
)  # fmt: skip
def test_iterators_and_references_stay_with_elements_of_lists_and_sets(tmp_path, body, value, truth) -> None:
    head = "".join(f"#include <{name}>\n" for name in ("list", "map", "set", "vector"))
    head += "int unknown();\nvoid put(int &v, std::map<int, int> &m) { m[0] = 3; v = 8; }\n"
    assert grid(tmp_path, head, f"int t = 0; {body}", value) == truth


LAYERS = "struct L { virtual int f() { return 1; } }; struct M : L { int n; M(int n) : n(n) {} int f() { return n; } };"
TWO = "struct L { int a = 4; }; struct K { int b = 5; }; struct M : K, L { int n = 6; };"


@pytest.mark.parametrize(
    ("head", "body", "value", "truth"),
    [
        (LAYERS, "v.emplace_back(new M(5)); v.emplace_back(new L()); for (auto &l : v) t = t * 10 + l->f();", "t", 51),
        (LAYERS, "for (int i = 2; i < 4; i++) v.emplace_back(new M(i)); for (auto &l : v) t = t * 10 + l->f();", "t", 23),
        (TWO, "v.emplace_back(new M);", "v[0]->a", None),
    ],
)  # fmt: skip
def test_pointers_to_new_objects_are_put_into_vectors(tmp_path, head, body, value, truth) -> None:
    """Into one of `std::unique_ptr`; nobody says where a second base lies."""
    assert grid(tmp_path, head, f"std::vector<std::unique_ptr<L>> v; int t = 0; {body}", value) == truth
