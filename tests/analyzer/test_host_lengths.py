"""What constructors and methods of containers throw, names of their elements, bytes that are copied."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.overrides import parse_overrides
from wattslice.launches.resolver import resolve_launches

from .geometry import GPU, launches

HEAD = (
    "#include <bitset>\n#include <cstdio>\n#include <cstring>\n#include <map>\n#include <stdexcept>\n"
    "#include <string>\n#include <unordered_map>\n#include <vector>\n"
    "__global__ void k(int n) {}\nint outside(int);\n"
    "struct P { int k; int b[4]; int j; void set(const int *x, int n) { memcpy(b, x, n * sizeof(int)); } };\n"
)

# each number was printed by what g++ makes of the statements
KNOWN = [
    ("try { std::vector<int> v(-1); n = 1; } catch (std::length_error &) { n = 2; }", 2),
    ("int m = -1; try { std::vector<int> v(m); n = 1; } catch (std::exception &) { n = 2; }", 2),
    ("int m = -1; try { std::vector<int> v(m, 3); n = 1; } catch (...) { n = 2; }", 2),
    ("try { std::vector<int> v(5), w(3, 2); n = v.size() * 10 + w[2]; } catch (...) { n = 1; }", 52),
    ("try { std::string s(-1, 'x'); n = 1; } catch (std::length_error &) { n = 2; }", 2),
    ("std::string s(4, 'y'); n = s.size() * 10 + (s[3] == 'y');", 41),
    ("std::bitset<8> b(5); n = 3;", 3),
    ("std::vector<bool> v(4); auto r = v[2]; v[2] = true; n = r ? 3 : 4;", 3),
    ("std::vector<bool> v(4); auto r = v[2]; r = true; n = v[2] ? 3 : 4;", 3),
    ("std::vector<bool> v(4); bool r = v[2]; v[2] = true; n = r ? 3 : 4;", 4),
    ("std::vector<int> v(4); auto r = v[2]; v[2] = 9; n = 1 + r;", 1),
    ("std::vector<bool> v(4); for (auto b : v) b = true; for (bool b : v) n += b;", 5),
    ("std::vector<bool> v(4); for (bool b : v) b = true; for (bool b : v) n += b;", 1),
    ("std::unordered_map<int, int> m{{1, 2}, {3, 4}}; for (auto &p : m) p.second *= 5;"
     "try { m.at(7); n = 1; } catch (std::out_of_range &) { n = m.size() + m.count(3); }", 3),
    ("std::unordered_map<int, int> m{{1, 2}, {3, 4}}; for (auto p : m) p.second = 9; n = m[1];", 2),
    ("P p = {1, {3, 3, 3, 3}, 2}; int v[2] = {8, 9}; p.set(v, 2);"
     "n = p.k * 10000 + p.j * 1000 + p.b[0] * 100 + p.b[1] * 10 + p.b[2];", 12893),
    ("P p = {1, {3, 3, 3, 3}, 2}; memset(p.b, 0, 8);"
     "n = p.k * 1000 + p.j * 100 + p.b[1] * 10 + p.b[2];", 1203),
    ("int a[4] = {1, 2, 3, 4}, b[2] = {7, 8}; memcpy(a + 1, b, sizeof b);"
     "n = a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3];", 1784),
    ("P p = {1, {3, 3, 3, 3}, 2}; fread(p.b, 4, 2, stdin); n = p.k * 10 + p.j;", 12),
]  # fmt: skip


@pytest.mark.parametrize(("body", "number"), KNOWN)
def test_the_number_is_that_of_the_run(tmp_path, body, number):
    (one,) = launches(tmp_path, f"{HEAD}int main() {{ int n = 1; {body} k<<<n, 64>>>(1); }}")
    assert (one.grid[0], one.source) == (number, LaunchSource.HOST_CODE)


UNKNOWN = [
    'try { std::bitset<8> b("12"); } catch (std::invalid_argument &) { n = 2; }',
    "std::bitset<8> b(5); try { b.set(9); } catch (std::out_of_range &) { n = 2; }",
    "std::map<int, int> m; m[outside(3)] = 4; try { m.at(9); } catch (std::out_of_range &) { n = 2; }",
    "std::vector<int> v(4, 2); try { v.at(outside(1)) = 3; } catch (std::out_of_range &) { n = 2; }",
    "std::unordered_map<int, int> m{{1, 2}, {3, 4}}; for (auto &p : m) p.second *= 5; n = m.at(1);",
    "P p = {1, {3, 3, 3, 3}, 2}; fread(p.b, 4, 2, stdin); n = p.b[1];",
    "P p = {1, {3, 3, 3, 3}, 2}; fread(&p.b[2], 4, 1, stdin); n = p.b[2];",
    "int a[2] = {0x01020304, 5}, b = 7; memcpy((char *)a + 1, &b, 2); n = a[0];",
    'std::vector<int> v(4, 2); int i; scanf("%d", &i);'
    "try { v.at(i); } catch (std::out_of_range &) { n = 2; }",
]


@pytest.mark.parametrize("body", UNKNOWN)
def test_what_only_the_run_tells_is_unknown(tmp_path, body):
    (one, *_) = launches(tmp_path, f"{HEAD}int main() {{ int n = 1; {body} k<<<n, 64>>>(1); }}")
    assert one.source is LaunchSource.ASSUMED


@pytest.mark.parametrize(("option", "grids", "arguments"), [
    ("n=8192", [32, 64, 7], [8192, 16384, 1792]),
    ("k.n=8192", [16, 32, 7], [8192, 8192, 8192]),
])  # fmt: skip
def test_a_setting_without_a_kernel_leaves_arguments_that_the_host_code_gives(
    tmp_path, option, grids, arguments
):
    path = tmp_path / "a.cu"
    path.write_text(
        "__global__ void k(int n) {}\nint main() { int n = 4096, m = n * 2;\n"
        "k<<<n / 256, 256>>>(n);\nk<<<m / 256, 256>>>(m);\nk<<<7, 256>>>(1792); }"
    )
    found = sorted(
        resolve_launches(read_cuda(path), parse_overrides((), (option,)), GPU), key=lambda o: o.line or 0
    )
    assert [one.grid[0] for one in found] == grids
    assert [one.arguments[0] for one in found] == arguments
