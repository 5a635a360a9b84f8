"""Vectors, arrays and lists of host code: lengths and elements that launches are made of."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

HEAD = (
    "#include <vector>\n#include <array>\n#include <utility>\n#include <thrust/device_vector.h>\n"
    "__global__ void k(int n) {}\nstruct Shape { int grid, block; };\n"
    "struct Sizes { std::vector<int> v; int grid, block; };\n"
)

READ = [
    ("a length", "std::vector<float> v(1000); k<<<(v.size() + 255) / 256, 64>>>(v.size());", (4, 64, 1000)),
    ("a list", "std::vector<int> v = {4, 64, 7}; k<<<v[0], v[1]>>>(v.back());", (4, 64, 7)),
    ("filled", "std::vector<int> v(3, 64); k<<<4, v[2]>>>(v.front());", (4, 64, 64)),
    ("appended", "std::vector<int> v; v.push_back(4); v.push_back(64); k<<<v[0], v.at(1)>>>(v.size());",
     (4, 64, 2)),
    ("records", "std::vector<Shape> v = {{1, 32}, {4, 64}}; k<<<v[1].grid, v[1].block>>>(7);", (4, 64, 7)),
    ("a copy", "std::vector<int> v = {4, 64}, w = v; k<<<w[0], w[1]>>>(w.size());", (4, 64, 2)),
    ("resized", "std::vector<int> v; v.resize(4); k<<<v.size(), 64>>>(7);", (4, 64, 7)),
    ("an array", "std::array<int, 3> a = {4, 64, 7}; k<<<a[0], a[1]>>>(a.size());", (4, 64, 3)),
    ("a range", "int n = 0; std::vector<int> v = {1, 2, 4}; for (int x : v) n += x; k<<<4, 64>>>(n);",
     (4, 64, 7)),
    ("a range by reference", "int n = 0; std::array<int, 2> v = {3, 4}; for (const auto &x : v) n += x;"
     "k<<<4, 64>>>(n);", (4, 64, 7)),
    ("Thrust", "thrust::device_vector<float> d(1000); thrust::host_vector<float> h = d;"
     "k<<<4, 64>>>(h.size());",
     (4, 64, 1000)),
    ("assigned", "std::vector<int> v; v.assign(7, 64); k<<<4, 64>>>(v.size());", (4, 64, 7)),
    ("assigned a range", "float *p = (float *)malloc(28); std::vector<float> v; v.assign(p, p + 7);"
     "k<<<4, 64>>>(v.size());", (4, 64, 7)),
    ("made in place", "int n = 64; std::vector<int> v; v.emplace_back(4); v.emplace_back(n);"
     "k<<<v[0], v[1]>>>(v.size());",
     (4, 64, 2)),
    ("a pair", "auto p = std::make_pair(4, 64); k<<<p.first, p.second>>>(7);", (4, 64, 7)),
    ("members", "Sizes s; s.v.resize(1); s.grid = 4; s.block = 64; s.v.push_back(1); s.v.push_back(2);"
     "k<<<s.grid, s.block>>>(s.v.size());", (4, 64, 3)),
    ("a member copied", "Sizes s; s.v = std::vector<int>(3, 64); s.grid = 4; Sizes t = s; s.v.clear();"
     "s.v.push_back(9); k<<<t.grid, t.v[2]>>>(t.v.size());", (4, 64, 3)),
    ("filled with records", "std::vector<Shape> v(3, Shape{4, 64}); k<<<v[1].grid, v[2].block>>>(v.size());",
     (4, 64, 3)),
    ("a range of a list", "int n = 0; for (int x : {1, 2, 4}) n += x; k<<<4, 64>>>(n);", (4, 64, 7)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case[1:], id=case[0]) for case in READ])
def test_elements_and_lengths_are_known(tmp_path, body, expected):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert (launch.grid[0], launch.block[0], launch.arguments[0]) == expected
    assert launch.source is LaunchSource.HOST_CODE


LOST = [
    ("handed over", "std::vector<int> v = {4, 64}; fill(v); k<<<4, v[1]>>>(7);"),
    ("grown elsewhere", "std::vector<int> v = {4, 64}; v.insert(v.begin(), 3); k<<<4, v[1]>>>(7);"),
    (
        "made of another type",
        "std::vector<double> v; v.emplace_back(4); v.emplace_back(64); k<<<4, int(v[1])>>>(7);",
    ),
    (
        "read into a member",
        "Sizes s; s.block = 7; s.v.resize(2); fread(s.v.data(), 4, 2, 0); k<<<4, s.v[1]>>>(7);",
    ),
    ("read from outside", "std::vector<int> v(2); fread(v.data(), 4, 2, 0); k<<<4, v[1]>>>(7);"),
]


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in LOST])
def test_what_something_else_may_write_is_unknown(tmp_path, body):
    text = f"#include <cstdio>\n{HEAD}void fill(std::vector<int> &);\nint main() {{ {body} }}"
    (launch,) = launches(tmp_path, text)
    assert launch.source is LaunchSource.ASSUMED


def test_what_a_function_elsewhere_gets_by_reference_is_unknown(tmp_path):
    before = "struct S { int n; }; void get(int &); void look(const int &);"
    text = f"{HEAD}{before}\nint main() {{ int n = 64; S s; s.n = 4; BODY; k<<<s.n, n>>>(7); }}"
    assert launches(tmp_path, text.replace("BODY", "look(n)"))[0].source is LaunchSource.HOST_CODE
    assert launches(tmp_path, text.replace("BODY", "get(n)"))[0].source is LaunchSource.ASSUMED
    assert launches(tmp_path, text.replace("BODY", "get(s.n)"))[0].source is LaunchSource.ASSUMED


def test_an_object_that_is_a_member_is_lost_alone(tmp_path):
    text = (
        "#include <string>\n__global__ void k(int n) {}\nstruct File {}; File open();\n"
        "struct Config { int grid; std::string name; File file; int block; };\n"
        'int main() { Config c; c.grid = 4; c.block = 64; c.name = "a"; c.file = open();\n'
        "k<<<c.grid, c.block>>>(7); }"
    )
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.block[0], launch.source) == (4, 64, LaunchSource.HOST_CODE)
