"""Vectors, arrays and lists of host code: lengths and elements that launches are made of."""

from __future__ import annotations

import pytest

from wattslice.analysis import LaunchSource

from .geometry import launches

HEAD = (
    "#include <deque>\n#include <optional>\n#include <algorithm>\n#include <tuple>\n"
    "#include <cuda_fp16.h>\n#include <mutex>\n"
    "#include <vector>\n#include <array>\n#include <utility>\n#include <map>\n"
    "#include <string>\n#include <thrust/device_vector.h>\n"
    "__global__ void k(int n) {}\nstruct Shape { int grid, block; };\n"
    "struct Sizes { std::vector<int> v; int grid, block; };\n"
    "struct Layers { std::vector<Shape> sizes; int n;\n"
    "  Layers() { sizes.push_back({1, 32}); sizes.push_back({4, 64}); n = 7; } };\n"
    "struct Held { std::vector<int> v; std::string s; std::map<std::string, int> m; dim3 g; };\n"
    "struct Holder { Held held; int z = 7; };\n"
    "std::optional<int> found(bool is) { if (is) return 64; return std::nullopt; }\n"
    "struct Bare { int n; Bare(int n) : n(n) {} }; std::optional<Bare> bare(int n) { return Bare(n); }\n"
    "std::tuple<int, int> both_of(int n) { return {n, 16 * n}; }\n"
    "template <class T> constexpr auto best() { std::tuple<bool, int> found{}; int b = 32;"
    "  for (int c = 32; c * (int)sizeof(T) < 300; c *= 2) {"
    "    std::tuple<bool, int> one = {c * sizeof(T) <= 256, std::min(c, 9000)}; if (one > found)"
    "    { std::get<0>(found) = std::get<0>(one); std::get<1>(found) = std::get<1>(one); b = c; } }"
    "  return std::make_tuple(b, 8 * b); }\n"
    "struct Sized { int n, block; explicit Sized(int n, int b = 32) : n(n), block(b) {} ~Sized() {} };\n"
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
    ("made in a constructor", "Layers l; k<<<l.sizes[1].grid, l.sizes[1].block>>>(l.n);", (4, 64, 7)),
    ("made by itself", "Held h; h.v.push_back(4); h.s += \"ab\"; h.m[\"n\"] = 7;"
     "k<<<h.v[0], 62 + h.s.size()>>>(h.m[\"n\"]);", (4, 64, 7)),
    ("made on the heap", "auto *p = new Held; p->v.push_back(4); p->g.x = 64;"
     "k<<<p->v[0], p->g>>>(p->v.size() + 6 * p->g.y);", (4, 64, 7)),
    ("made in another", "Holder h; h.held.v.push_back(4); k<<<h.held.v[0], 64>>>(h.z);", (4, 64, 7)),
    ("both ends", "std::deque<int> d = {9, 64}; d.push_front(4); d.pop_back(); d.push_back(64);"
     "d.push_back(1); d.push_front(0); d.pop_front();"
     "k<<<d.front(), d[2]>>>(d.size() + 2 + d.back());", (4, 64, 7)),
    ("what may be there", "auto o = found(true); if (o) k<<<4, *o>>>(found(false).value_or(7));", (4, 64, 7)),
    ("what may be there set again", "std::optional<int> o, p; o = 5; p = o; o.reset(); p.emplace(*p + 2);"
     "k<<<4, o.value_or(64)>>>(p && !o.has_value() ? p.value() : 1);", (4, 64, 7)),
    ("an object that may be there", "auto o = bare(4); auto p = o; p->n = 7;"
     "k<<<o->n, 64>>>(p.value().n);", (4, 64, 7)),
    ("a tuple", "std::tuple<int, float, int> t(3, 2.f, 7); std::get<0>(t) += 1;"
     "k<<<std::get<0>(t), 64>>>(std::get<2>(t));", (4, 64, 7)),
    ("a tuple by parts", "int a = 0, b; std::tie(a, b) = both_of(4); k<<<a, b>>>(7);", (4, 64, 7)),
    ("a tuple by its types' parts", "auto [a, b] = both_of(4); k<<<a, b>>>(7);", (4, 64, 7)),
    ("three parts of a tuple", "auto t = std::make_tuple(4, 64, 6); auto &[a, b, c] = t; c++;"
     "k<<<a, b>>>(std::get<2>(t));", (4, 64, 7)),
    ("the best of tuples", "constexpr auto t = best<float>(); constexpr int b = std::get<0>(t);"
     "k<<<4, b>>>(std::get<1>(t) / 64 - 1);", (4, 64, 7)),
    ("tuples in order", "std::tuple<int, float> a(4, 2.f), b(4, 3.f); std::tuple<> c, d; int n = a < b"
     " && a != b"
     " && !(a >= b) && a <= b && b > a && !(a == b) && c == d && !(c < d) && a < std::make_tuple(5, 0.f);"
     "k<<<4, n ? 64 : 1>>>(7);", (4, 64, 7)),
    ("a size that clang knows", "constexpr int b = std::get<0>(best<half>()); k<<<4, b>>>(7);", (4, 128, 7)),
    ("once", "std::once_flag o; int n = 3; for (int i = 0; i < 3; i++)"
     "  std::call_once(o, [&](int m) { n += m; }, 4);"
     "k<<<4, 64>>>(n);", (4, 64, 7)),
    ("parts of a tuple of one", "std::tuple<int> t(7); auto [a] = t; k<<<4, 64>>>(a);", (4, 64, 7)),
    ("a tuple made", "auto t = std::make_tuple(4, 64, 7.5); auto u = t; int n = (int)std::get<2>(u);"
     "k<<<std::get<0>(u), std::get<1>(t)>>>(n);", (4, 64, 7)),
    ("parts of a constant tuple", "const std::tuple<int, int> t(4, 64); const auto &[a, b] = t;"
     "k<<<a, b>>>(7);", (4, 64, 7)),
    ("tuples of a list by parts", "std::vector<std::tuple<int, int>> v = {{1, 64}, {4, 3}}; int n = 0;"
     "for (auto &[a, b] : v) { b += 1; n += a; } n += std::get<0>(std::make_tuple(2, 1));"
     "k<<<std::get<0>(v[1]), std::get<1>(v[0]) - 1>>>(n);", (4, 64, 7)),
    ("objects made in their place", "std::vector<Sized> v; int i = 0;"
     "for (; i < 3; i++) v.emplace_back(i + 2, 64); v.emplace_back(v[1]); v.emplace_back(i + 4);"
     "k<<<v[2].n, v[3].block>>>(v[4].n + v[3].n - 3);", (4, 64, 7)),
    ("a range of a list", "int n = 0; for (int x : {1, 2, 4}) n += x; k<<<4, 64>>>(n);", (4, 64, 7)),
    ("made of another type", "std::vector<double> v; v.emplace_back(4); v.emplace_back(64);"
     "k<<<int(v[0]), int(v[1])>>>(7);", (4, 64, 7)),
    ("pairs made in place", "std::vector<std::pair<int, float>> v; v.emplace_back(4, 64.5f);"
     "k<<<v[0].first, int(v[0].second)>>>(7);", (4, 64, 7)),
    ("made anew", "std::vector<int> v = {9}; v.clear(); v.emplace_back(); k<<<v[0] + 4, 64>>>(7);",
     (4, 64, 7)),
    ("vectors", "std::vector<std::vector<int>> v; for (int i = 1; i < 4; i++) { std::vector<int> r;"
     "for (int j = 0; j <= i; j++) r.push_back(i * j + 1); v.push_back(r); } v[0].push_back(64);"
     "k<<<v[2].size(), v[0].back()>>>(v[2][2]);", (4, 64, 7)),
    ("alike vectors", "std::vector<std::vector<float>> v(7, std::vector<float>(64)); v[1].resize(4);"
     "k<<<v[1].size(), v[2].size()>>>(v.size());", (4, 64, 7)),
    ("empty vectors", "std::vector<std::vector<int>> v(3); v[1].push_back(4); v.resize(7); v.emplace_back();"
     "k<<<v[1][0], 64 + v[2].size() + v[6].size() + v[7].size()>>>(v.size() - 1);", (4, 64, 7)),
    ("a list of vectors", "std::vector<std::vector<int>> v = {{1}, {4, 64, 7}}; auto w = v; v[1][0] = 1;"
     "for (auto &r : w) if (r.size() > 1) k<<<r[0], r[1]>>>(r[2]);", (4, 64, 7)),
    ("vectors taken over", "std::vector<std::vector<int>> v = {{1}, {4, 64, 7}}, w(1); w = v; v = {};"
     "k<<<w[1][0], w[1][1]>>>(w[1][2]);", (4, 64, 7)),
    ("sizes in vectors of records", "std::vector<Sizes> v; Sizes o; v.push_back(o); o.v.push_back(4);"
     "o.block = 64; v.push_back(o);"
     "for (const Sizes &s : v) if (s.v.size()) k<<<s.v[0], s.block>>>(7);", (4, 64, 7)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case[1:], id=case[0]) for case in READ])
def test_elements_and_lengths_are_known(tmp_path, body, expected):
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {body} }}")
    assert (launch.grid[0], launch.block[0], launch.arguments[0]) == expected
    assert launch.source is LaunchSource.HOST_CODE


def test_which_instance_of_a_constructor_a_list_means_is_unknown(tmp_path):
    made = "template <class U> struct Twice { U n; template <class A> Twice(A x) : n((int)(x * 2)) {} };"
    body = "Twice<int> one(3), two(4.5); std::vector<Twice<int>> v = {{5}, {6.5}}; k<<<v[0].n, 32>>>(v[1].n);"
    (launch,) = launches(tmp_path, f"{HEAD}{made} int main() {{ {body} }}")
    assert (launch.source, launch.arguments) == (LaunchSource.ASSUMED, (None,))


AT_FILE_SCOPE = """
struct Conf { int a = 4; int b; };
static Conf own;
namespace { Shape hidden; }
template <class T> struct Pair { T a = 4; int b = 64; };
Pair<int> both;
Held held;
Conf seen;
struct Holding : Held { int n; };
static Holding holding;
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("k<<<own.a, 64>>>(own.b);", (4, 64, 0)),
        ("k<<<4 + hidden.grid, 64>>>(hidden.block);", (4, 64, 0)),
        ("hidden.block = 7; k<<<4 + hidden.grid, 64>>>(hidden.block);", (4, 64, 7)),
        ("k<<<both.a, both.b>>>(7);", (4, 64, 7)),
        ("held.v.push_back(4); k<<<held.v[0], 64>>>(held.v.size());", (4, 64, 1)),
        ("holding.v.push_back(4); k<<<holding.v[0], 64>>>(holding.n);", (4, 64, 0)),
        ("k<<<seen.a, 64>>>(seen.b);", (4, 64, None)),  # another file may have set it
    ],
)
def test_objects_at_file_scope_begin_with_zeros(tmp_path, body, expected):
    (launch,) = launches(tmp_path, f"{HEAD}{AT_FILE_SCOPE}int main() {{ {body} }}")
    assert (launch.grid[0], launch.block[0], launch.arguments[0]) == expected
    assert launch.source is LaunchSource.HOST_CODE


# each number was printed by what g++ makes of the statements
ALGORITHMS = [
    ("iterators", "auto i = v.begin(); ++i; int a = *i * 10 + *(v.end() - 1);", 92),
    ("written through one", "std::vector<long long> u = {1, 2, 3}; auto i = u.begin() + 1; *i = 7; *++i = 4;"
     "int a = u[1] * 10 + u[2];", 74),
    ("a loop over them", "int a = 0; for (auto i = v.cbegin(); i < v.cend(); i++) a = a * 10 + *i;", 492),
    ("their distance", "int a = v.end() - v.begin() + std::distance(v.begin(), v.end());", 6),
    ("next", "int a = *std::next(v.begin()) * 10 + *std::prev(v.end());", 92),
    ("the largest", "int a = *std::max_element(v.begin(), v.end()) * 10 + *std::min_element(w, w + 4);", 91),
    ("the smallest by greater", "int a = *std::max_element(w, w + 4, std::greater<int>());", 1),
    ("a sum", "int a = std::accumulate(v.begin(), v.end(), 2);", 17),
    ("a product", "int a = std::accumulate(w, w + 3, 1, std::multiplies<int>());", 6),
    ("a sum of fractions", "float f[] = {1.5f, 1.5f}; int a = std::accumulate(f, f + 2, 0);", 2),
    ("a divisor and a multiple", "long l = -12; constexpr int one = std::gcd(6, 5);"
     "int a = std::gcd(v[0] * 3, 18) * 100 + std::lcm(l, 8u) + one + std::lcm(0, 3);", 625),
    ("bits", "unsigned u = 1000; int a = std::bit_ceil(u) + std::bit_floor(u) + std::bit_width(u)"
     "+ 2000 * std::popcount(u) + 100000 * std::countr_zero(u) + std::countl_zero(u)"
     "+ std::has_single_bit(8u);", 313569),
    ("bits, by functions of the compiler", "unsigned long u = 1000;"
     "int a = __builtin_clzl(u) + 100 * __builtin_clz(5)"
     "+ 10000 * __builtin_ctz(8) + 100000 * __builtin_popcount(-1);", 3232954),
    ("what is rounded to whole numbers",
     "int a = lround(2.5) * 100 + std::lrint(2.5) * 10 + lroundf(2.4f);", 322),
    ("a signed size and a middle", "int a = std::ssize(v) * 100 + std::midpoint(3, 9);", 306),
    ("filled", "std::fill(v.begin() + 1, v.end(), 7); int a = v[0] * 100 + v[1] * 10 + v[2];", 477),
    ("so many filled", "std::fill_n(w, 2, 8); int a = w[0] * 100 + w[1] * 10 + w[2];", 882),
    ("counted up", "std::iota(v.begin(), v.end(), 3); int a = v[0] * 10 + v[2];", 35),
    ("sorted", "std::sort(v.begin(), v.end()); int a = v[0] * 100 + v[1] * 10 + v[2];", 249),
    ("sorted down", "std::sort(w, std::end(w), std::greater<int>()); int a = w[0] * 10 + w[3];", 51),
    ("sorted by a lambda", "std::sort(v.begin(), v.end(), [](int p, int q) { return p > q; });"
     "int a = v[0] * 100 + v[1] * 10 + v[2];", 942),
    ("records sorted", "int by = 10; Shape s[] = {{3, 1}, {1, 2}, {2, 9}};"
     "std::sort(s, s + 3, [&](const Shape &p, const Shape &q) { return p.grid % by < q.grid % by; });"
     "int a = s[0].block * 100 + s[1].block * 10 + s[2].grid;", 293),
    ("records that are alike", "Shape s[] = {{3, 1}, {1, 2}, {3, 4}, {1, 5}};"
     "std::stable_sort(s, s + 4, [](const Shape &p, const Shape &q) { return p.grid < q.grid; });"
     "int a = s[0].block * 100 + s[1].block * 10 + s[3].block;", 254),
    ("reversed", "std::reverse(v.data(), v.data() + 3); int a = v[0] * 10 + v[2];", 24),
    ("found", "int a = std::find(v.begin(), v.end(), 9) - v.begin() + 1;", 2),
    ("not found", "int a = std::find(w, w + 4, 9) == w + 4 ? 6 : 7;", 6),
    ("counted", "int a = std::count(w, w + 4, 1) + 3;", 4),
    ("counted by a lambda", "int a = std::count_if(v.begin(), v.end(), [](int x) { return x < 9; });", 2),
    ("found by a lambda", "int a = *std::find_if(v.begin(), v.end(), [](int x) { return x > 4; });"
     " if (std::find_if(w, w + 4, [](int x) { return x > 99; }) == w + 4) a += 5;", 14),
    ("asked of all", "auto f = [](int x) { return x > 2; }; int a = std::any_of(v.begin(), v.end(), f) * 100"
     " + std::all_of(v.begin(), v.end(), f) * 10 + std::none_of(v.begin(), v.begin(), f);", 101),
    ("removed", "v.erase(std::remove(v.begin(), v.end(), 9), v.end()); int a = v.size() * 10 + v[1];", 22),
    ("removed by a lambda", "int most = 4; auto f = [&](int x) { return x >= most; };"
     " v.erase(std::remove_if(v.begin(), v.end(), f), v.end()); int a = v.size() * 10 + v[0];", 12),
    ("records erased", "std::vector<Shape> s = {{4, 3}, {4, 64}}; s.erase(s.begin());"
     " int a = s[0].block;", 64),
    ("records removed", "std::vector<Shape> s = {{1, 2}, {3, 4}, {5, 6}};"
     " s.erase(std::remove_if(s.begin(), s.end(), [](const Shape &x) { return x.grid == 3; }), s.end());"
     " int a = s.size() * 10 + s[1].block;", 26),
    ("equal neighbours", "int u[] = {1, 1, 2, 2, 1}; int a = std::unique(u, u + 5) - u + u[1] * 10;", 23),
    ("a bound", "int s[] = {2, 4, 4, 8}; int a = (std::lower_bound(s, s + 4, 4) - s) * 10"
     "+ (std::upper_bound(s, s + 4, 4) - s);", 13),
    ("copied", "std::copy(w, w + 2, v.begin() + 1); int a = v[1] * 10 + v[2];", 31),
    ("sums", "std::vector<int> o(v.size() + 1, 0); std::partial_sum(v.begin(), v.end(), o.begin() + 1);"
     "int a = o[1] * 100 + o[3];", 415),
    ("sums before", "std::exclusive_scan(w, w + 4, w, 1); int a = w[0] * 100 + w[3];", 107),
    ("inserted", "v.insert(v.begin() + 1, 8); int a = v[1] * 100 + v[2] * 10 + v.size();", 894),
    ("a range inserted", "v.insert(v.end(), w, w + 4); int a = v.back() * 100 + v[3] * 10 + v.size();", 537),
    ("so many inserted", "v.insert(v.begin(), 2, 6); int a = v[1] * 100 + v[2] * 10 + v.size();", 645),
    ("erased", "v.erase(v.begin()); int a = v[0] * 10 + v.size();", 92),
    ("a range erased", "v.erase(v.begin() + 1, v.end()); v.push_back(3); int a = v[1] * 10 + v.size();", 32),
    ("texts appended", 'std::vector<std::string> s; std::string t = "ccc"; s.push_back("a"); s.push_back(t);'
     "s.push_back(t.substr(1)); s.push_back(std::move(t)); "
     "int a = s.size() * 10 + s[1].size() + s[2].size();", 45),
    ("texts appended in a loop", "std::vector<std::string> s; "
     'for (int i = 0; i < 300; ++i) s.push_back("a"); int a = s.size();', 300),
    ("texts appended to a member", 'struct { std::deque<std::string> d; } o; o.d.push_back("a");'
     'o.d.push_back(std::to_string(12)); int a = o.d.size() * 10 + o.d.back().size();', 22),
    ("a text inserted", 'std::vector<std::string> s = {"a", "bb"}; s.insert(s.begin(), "ccc");'
     "int a = s[0].size() * 10 + s[2].size();", 32),
    ("exchanged", "std::vector<int> u = {5}; u.swap(v); int a = u.size() * 100 + v[0] * 10 + v.size();", 351),
    ("new elements", "v.resize(2); v.resize(4); int a = v[3] * 10 + v[1];", 9),
    ("new elements again", "v.clear(); v.resize(3); int a = v[0] + 3;", 3),
    ("new elements of a value", "v.resize(5, 6); int a = v[4] * 10 + v[2];", 62),
    ("elements of nothing", "std::vector<int> u(3); int a = u[2] + 4;", 4),
    ("a copy of a part", "std::vector<int> u(w + 1, w + 3); int a = u[0] * 100 + u[1] * 10 + u.size();", 122),
    ("an array filled", "std::array<int, 2> u = {3, 1}; u.fill(4); int a = u[0] + *(u.end() - 1);", 8),
    ("a map", 'std::map<std::string, int> m = {{"s", 4}, {"l", 9}}; int a = m["l"] * 10 + m.at("s");', 94),
    ("a map of numbers", "std::unordered_map<int, int> m; m[3] = 5; m[4]++; int a = m[3] * 10 + m[4];", 51),
    ("the next key", "std::map<int, int> m = {{1, 2}, {4, 5}}; int a = m.lower_bound(2)->second;", 5),
    ("a key itself", "std::map<int, int> m = {{1, 2}, {4, 5}}; int a = m.lower_bound(1)->second;", 2),
    ("the key behind", "std::map<int, int> m = {{1, 2}, {4, 5}}; int a = m.upper_bound(1)->second;", 5),
    ("no key behind", "std::set<int> m = {1, 4}; int a = m.upper_bound(4) == m.end() ? 7 : 8;", 7),
    ("a key found", 'const std::map<std::string, int> m = {{"s", 4}}; auto i = m.find("s");'
     "int a = i != m.end() ? i->second * 10 + m.count(\"x\") : 7;", 40),
    ("a key not found",
     "std::map<int, int> m = {{1, 2}}; int a = m.find(3) == m.end() ? m.size() + 5 : 7;", 6),
    ("a map in order", "std::map<int, int> m = {{7, 2}, {1, 3}}; m[4] = 5; int a = 0;"
     "for (const auto &p : m) a = a * 10 + p.second;", 352),
    ("a map's texts",
     'std::map<int, std::string> m = {{1, "abc"}}; int a = m[1].size() * 10 + m[2].size();', 30),
    ("erased by key", "std::map<int, int> m = {{1, 2}, {3, 4}}; m.erase(1); int a = m.begin()->second * 10"
     "+ m.size();", 41),
    ("put in",
     "std::map<int, double> m; m.emplace(2, 7.5); m.insert({2, 9}); m.insert(std::make_pair(1, 3.0));"
     "int a = m[2] * 10 + m.size();", 77),
    ("words", 'char t[] = "3,40;5"; int a = 0; for (char *p = strtok(t, ",;"); p; p = strtok(nullptr, ",;"))'
     "a = a * 10 + atoi(p);", 705),
    ("words by place",
     'char t[] = "x=7", *p; strtok_r(t, "=", &p); int a = atoi(strtok_r(nullptr, "=", &p));', 7),
    ("numbers of a text",
     'std::istringstream s("12 x 4"); std::string n; int b, a; s >> b >> n >> a; a += b;', 16),
    ("lines of a text", "std::stringstream s(\"4,5,66\"); std::string n; int a = 0;"
     "while (std::getline(s, n, ',')) a += std::stoi(n);", 75),
    ("the end of a text", 'std::istringstream s("5"); int b, a = 0; while (s >> b) a += b;', 5),
    ("a text made", 'std::ostringstream s; s << "n=" << 50 << \',\'; int a = s.str().size();', 5),
    ("a text made by a function", "std::stringstream s; put(s, 5); int a = s.str().size();", 2),
]  # fmt: skip


@pytest.mark.parametrize(("body", "grid"), [pytest.param(*case[1:], id=case[0]) for case in ALGORITHMS])
def test_what_the_library_makes_of_known_elements_is_known(tmp_path, body, grid):
    heads = (
        "algorithm",
        "bit",
        "cstdlib",
        "cstring",
        "functional",
        "map",
        "numeric",
        "sstream",
        "string",
        "unordered_map",
    )
    head = "".join(f"#include <{name}>\n" for name in heads) + HEAD
    head += 'void put(std::ostream &o, int n) { o << n << "-"; }\n'
    known = "std::vector<int> v = {4, 9, 2}; int w[] = {3, 1, 2, 5};"
    text = f"{head}int main() {{ {known} {body} k<<<a, 32>>>(7); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.source) == (grid, LaunchSource.HOST_CODE)


def test_a_divisor_is_of_the_standard_library_only_where_its_header_is_read(tmp_path) -> None:
    own = "long gcd(long a, long b) { return a + b; }"
    text = f"{HEAD}using namespace std;\n{own}\nint main() {{ k<<<gcd(12, 18), 32>>>(7); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.source) == (30, LaunchSource.HOST_CODE)


LONG = [
    ("elements set",
     "std::vector<int> v(n); for (int i = 0; i < n; i++) v[i] = far();", "v.size() / 256", 4096),
    ("a range", "std::vector<float> v(n); for (auto &x : v) x = far() / 2.0f;", "v.size() / 256", 4096),
    ("put behind",
     "std::vector<int> v; for (int i = 0; i < n; i++) v.push_back(far());", "v.size() / 256", 4096),
    ("put behind others", "std::vector<int> v(512), w(256); for (int i = 0; i < n; i++) { w[i % 9] = i;"
     "v.emplace_back(i); }", "v.size() / 256 + w.size()", 4354),
    ("a member beside",
     "Two t; t.v.resize(n); for (int i = 0; i < n; i++) { t.v[i] = 1; if (far()) t.w.push_back(1); }",
     "t.v.size() / 256", 4096),
    ("a member of what is given", "Two t; filled(t, n);", "t.v.size() / 256", 4096),
    ("an unknown number",
     "std::vector<int> v(512); for (int i = 0; i < far(); i++) v[i % 9] = i;", "v.size() / 256", 2),
    ("on the device", "Two t; t.n = 3; cudaMemcpy(t.d.get(), &n, 4, cudaMemcpyHostToDevice);", "t.n", 3),
    ("sometimes put",
     "std::vector<int> v; for (int i = 0; i < n; i++) if (i % 3) v.push_back(i);", "v.size() + 1", None),
    ("twice put",
     "std::vector<int> v; for (int i = 0; i < n; i++) { v.push_back(i); v.push_back(i);"
     "}", "v.size() + 1", None),
    ("put in front", "std::deque<int> v; for (int i = 0; i < n; i++) v.push_front(i);", "v.size() + 1", None),
    ("put and gone on",
     "std::vector<int> v; for (int i = 0; i < n; i++) { if (i % 3) continue; v.push_back(i); }",
     "v.size() + 1", None),
    ("by a pointer",
     "std::vector<int> v(512), *p = &v; for (int i = 0; i < n; i++) p->push_back(i);", "v.size()", None),
    ("by a function", "std::vector<int> v(512); for (int i = 0; i < n; i++) grow(v);", "v.size()", None),
    ("by a closure", "std::vector<int> v(512); auto f = [&](int i) { v.push_back(i); };"
     "for (int i = 0; i < n; i++) f(i);", "v.size()", None),
    ("by a method", "Two t; for (int i = 0; i < n; i++) t.add();", "t.v.size() + 1", None),
    ("assigned",
     "std::vector<int> v(512); for (int i = 0; i < n; i++) v = std::vector<int>(i);",
     "v.size() + 1", 1 << 20),
    ("put and cleared", "std::vector<int> v; for (int i = 0; i < n; i++) { v.push_back(i);"
     "if (i % 7 == 6) v.clear(); }", "v.size() + 1", None),
    ("given as a whole", "Two t; t.w.resize(512); while (far()) touch(t);", "t.w.size()", None),
    ("of a member",
     "Two t; for (int i = 0; i < n; i++) { if (far()) t.w.push_back(1); }",
     "t.w.size() + 1", None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "size", "grid"), [pytest.param(*case[1:], id=case[0]) for case in LONG])
def test_long_loops_leave_lengths_that_they_do_not_change(tmp_path, body, size, grid):
    more = """int far();
    struct Two { std::vector<int> v; std::vector<float> w; int n;
        thrust::device_ptr<int> d; void add() { v.push_back(1); } };
    void touch(Two &);
    void grow(std::vector<int> &v) { v.push_back(2); }
    void filled(Two &t, int n) {
        t.v.resize(n); for (int i = 0; i < n; i++) { t.v[i] = far(); t.w.push_back(1); } }
    """
    (launch,) = launches(
        tmp_path, f"{HEAD}{more}int main() {{ int n = 1 << 20; {body} k<<<{size}, 32>>>(7); }}"
    )
    assert (launch.grid[0] if launch.source is LaunchSource.HOST_CODE else None) == grid


LOST = [
    ("handed over", "std::vector<int> v = {4, 64}; fill(v); k<<<4, v[1]>>>(7);"),
    ("grown elsewhere", "std::vector<int> v = {4, 64}; v.insert(v.begin(), far()); k<<<4, v[0]>>>(7);"),
    (
        "grown where nobody knows",
        "std::vector<int> v = {4, 64}; v.insert(v.begin() + far(), 3);k<<<4, v[1]>>>(7);",
    ),
    (
        "read into a member",
        "Sizes s; s.block = 7; s.v.resize(2); fread(s.v.data(), 4, 2, 0); k<<<4, s.v[1]>>>(7);",
    ),
    (
        "sorted by what nobody knows",
        "int v[] = {4, 64}; std::sort(v, v + 2, [](int p, int q) { return p < far(); }); k<<<4, v[1]>>>(7);",
    ),
    (
        "sorted, and alike",
        "Shape s[] = {{3, 64}, {3, 32}}; std::sort(s, s + 2, [](const Shape &p, const Shape &q)"
        "{ return p.grid < q.grid; }); k<<<4, s[0].block>>>(7);",
    ),
    ("read from outside", "std::vector<int> v(2); fread(v.data(), 4, 2, 0); k<<<4, v[1]>>>(7);"),
]


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in LOST])
def test_what_something_else_may_write_is_unknown(tmp_path, body):
    head = f"#include <algorithm>\n#include <cstdio>\n{HEAD}void fill(std::vector<int> &);\nint far();\n"
    (launch,) = launches(tmp_path, f"{head}int main() {{ {body} }}")
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


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("struct array { T p[4]; int size() const; };", "array<int> a; k<<<a.size(), 64>>>(7);"),
        ("struct vector { T *p; int n; int size(); };", "vector<int> v{}; k<<<v.size() + 5, 64>>>(7);"),
        (
            "struct array { T *p; int n; int size(); void fill(int); };",
            "array<int> a{}; a.fill(3); k<<<a.n + 1, 64>>>(7);",
        ),
    ],
)
def test_a_container_of_the_program_is_none_of_the_library(tmp_path, before, body):
    head = f"namespace thrust {{ template <class T> {before.replace('vector', 'host_vector')} }}"
    head += f" template <class T> {before}\n__global__ void k(int n) {{}}\nint main() {{"
    for text in (body, body.replace("vector", "thrust::host_vector")):
        (launch,) = launches(tmp_path, f"{head} {text} }}")
        assert launch.source is LaunchSource.ASSUMED


def test_a_class_of_the_name_of_one_of_the_library_has_its_own_members(tmp_path):
    head = "template <class T> struct vector { T *p; int n; };\n__global__ void k(int n) {}\n"
    (launch,) = launches(tmp_path, f"{head}int main() {{ vector<int> v{{}}; k<<<v.n + 5, 64>>>(7); }}")
    assert (launch.grid[0], launch.source) == (5, LaunchSource.HOST_CODE)


def test_a_function_of_the_program_is_none_of_mathematics(tmp_path):
    head = "namespace my { int max(int, int); }\n__global__ void k(int n) {}\n"
    (launch,) = launches(tmp_path, f"{head}int main() {{ k<<<my::max(1, 2), 64>>>(7); }}")
    assert "the result of max()" in launch.assumptions[0].message


OWNING = """
#include <initializer_list>
#include <utility>
#include <vector>
__global__ void k(int n) {}
int g = 0;
struct Buffer {
    float *p = nullptr; int n; std::vector<int> dims;
    explicit Buffer(std::vector<int> d, int b = 1) : dims(std::move(d)) {
        n = b;
        for (int x : dims) n *= x;
        cudaMalloc(&p, n);
    }
    MEMBERS
    int size() const { return n; }
};
int main() { std::vector<Buffer> v; BODY }
"""
MOVED = "Buffer(Buffer &&o) : p(o.p), n(std::exchange(o.n, 0)), dims(std::move(o.dims)) { o.p = nullptr; }"
DESTROYED = "~Buffer() { cudaFree(p); }"
DELETED = "Buffer(const Buffer &) = delete; Buffer &operator=(const Buffer &) = delete;"
GROWN = "v.emplace_back(std::vector<int>{4, 8}, 2); v.emplace_back(std::vector<int>{7});"


@pytest.mark.parametrize("members", ["", DESTROYED, f"{MOVED} {DESTROYED}", f"{DELETED} {MOVED} {DESTROYED}"])
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("for (auto &b : v) k<<<b.size(), 32>>>(b.dims.size());", [(64, 2)]),
        ("v.push_back(Buffer({9})); k<<<v.back().size(), 32>>>(v.size());", [(9, 3)]),
        (
            "v.reserve(9); k<<<v[0].dims[1], 32>>>(v[1].n); v.clear(); k<<<2, 32>>>(v.size());",
            [(2, 0), (8, 7)],
        ),
    ],
)
def test_objects_that_own_memory_stay_what_they_are_in_a_vector(tmp_path, members, body, told):
    text = OWNING.replace("MEMBERS", members)
    found = launches(tmp_path, text.replace("BODY", GROWN + body))
    assert {one.source for one in found} == {LaunchSource.HOST_CODE}
    assert [(one.grid[0], one.arguments[0]) for one in found][: len(told)] in (told, [(7, 1)])


@pytest.mark.parametrize(
    "members",
    [
        "Buffer(const Buffer &o) : p(o.p), n(o.n + 1), dims(o.dims) {}",
        "Buffer(Buffer &&o) : p(o.p), n(o.n + 1), dims(o.dims) {}",
        "Buffer(Buffer &&o) : p(o.p), n(3), dims(o.dims) {}",
        "Buffer(Buffer &&o) : p(o.p), n(o.n) {}",
        "Buffer(Buffer &&o) : p(o.p), n(o.n), dims(o.dims) { g++; }",
        "Buffer(Buffer &&o) : p(o.p), n(o.n), dims(o.dims) { n = 3; }",
        "Buffer(Buffer &&o) : p(o.p), dims(o.dims) { n = o.n; p[0] = 1; }",
    ],
)
def test_objects_that_are_copied_in_a_way_of_their_own_are_unknown(tmp_path, members):
    text = OWNING.replace("MEMBERS", members)
    (launch,) = launches(
        tmp_path, text.replace("BODY", f"{GROWN} k<<<v[0].n + v[0].dims.size() + g, 32>>>(1);")
    )
    assert launch.source is LaunchSource.ASSUMED


LISTS = """
#include <initializer_list>
#include <vector>
__global__ void k(int n) {}
struct Shape {
    int a; std::vector<int> dims; int b, c = 1;
    Shape(std::initializer_list<int> l) : a(3), dims(l), b(l.size()) { for (int x : l) c *= x; }
    void set(std::initializer_list<int> l) { dims = l; }
};
int largest(std::initializer_list<int> l) {
    int m = 0;
    for (auto i = l.begin(); i != l.end(); ++i) if (*i > m) m = *i;
    return m;
}
int sum(std::vector<int> v) { int a = 0; for (int x : v) a += x; return a; }
int main() { Shape s{4, 5}; int a = 1; BODY k<<<a, 32>>>(1); }
"""


@pytest.mark.parametrize(
    ("body", "grid"),
    [
        ("a = s.a * 1000 + s.b * 100 + s.c;", 3220),
        ("s.set({7, 8, 9}); a = s.a * 1000 + s.b * 100 + s.c + s.dims.size() + s.dims[2];", 3232),
        ("a = largest({3, 8, 5});", 8),
        ("a = sum({3, 8, 5}) + sum({4});", 20),
    ],
)
def test_a_list_of_values_that_a_function_is_given(tmp_path, body, grid):
    (launch,) = launches(tmp_path, LISTS.replace("BODY", body))
    assert (launch.grid[0], launch.source) == (grid, LaunchSource.HOST_CODE)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("std::vector<int> v; fill(v); k<<<v[0], 32>>>(1);", "perhaps set by fill(), of which only"),
        ("std::vector<Shape> v; v.insert(v.end(), made()); k<<<v[0].grid, 32>>>(1);", "set by insert()"),
        ("std::vector<std::string> v; v.emplace_back(3, 'x'); k<<<v[0].size(), 32>>>(1);", "size()"),
    ],
)
def test_why_an_element_is_unknown_names_what_may_have_set_it(tmp_path, body, why):
    head = f"{HEAD}void fill(std::vector<int> &); Shape made();"
    (launch,) = launches(tmp_path, f"{head}int main() {{ {body} }}")
    assert why in launch.assumptions[0].message


def test_a_class_of_the_program_called_tensor_is_no_tensor_of_pytorch(tmp_path):
    text = f"""{HEAD}#include <vector>
    struct Tensor {{ std::vector<int> shape; int n; }};
    void run(const Tensor &t) {{ k<<<t.n, 32>>>(t.shape[0]); }}
    int main() {{
      std::vector<Tensor> all;
      Tensor t;
      t.n = 5;
      t.shape.push_back(8);
      all.emplace_back(std::move(t));
      Tensor u = std::move(all.back());
      run(u);
    }}"""
    (launch,) = launches(tmp_path, text)
    assert (launch.grid, launch.arguments) == ((5, 1, 1), (8,))


NOT_FOLLOWED = [
    ("recursion", "int c = 1; deeper(c, atoi(argv[1])); k<<<c, 32>>>(7);"),
    ("one of several", "int c = 1; std::vector<std::function<void()>> all; all.push_back([&] { c = 9; });"
     "all.push_back([&] { c = 3; }); all[atoi(argv[1])](); k<<<c, 32>>>(7);"),
]  # fmt: skip


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in NOT_FOLLOWED])
def test_what_is_set_where_nobody_follows_is_assumed(tmp_path, body):
    text = f"""{HEAD}#include <functional>
    #include <vector>
    #include <cstdlib>
    void deeper(int &c, int n) {{ if (n > 0) {{ c++; deeper(c, n - 1); }} }}
    int main(int argc, char **argv) {{ {body} }}"""
    (launch,) = launches(tmp_path, text)
    assert launch.source is LaunchSource.ASSUMED
    assert "c" in {one.name for one in launch.assumed_variables}


@pytest.mark.parametrize("body", ["int v[3] = {3, 5, 7};", "std::vector<int> v = {3, 5, 7};"])
@pytest.mark.parametrize(
    ("code", "grid", "argument"),
    [
        ("std::swap(v[i++], v[2]);", 7, 1),
        ("i = 9; std::swap(v[next()], i);", 9, 3),
        ("std::swap(v[i++], v[i++]);", 5, 2),
        ("v[next()] += next() + 7;", 3, 0),
        ("v[i++] ^= 1; v[i++]--; v[0] += v[1];", 6, 2),
        ("i = std::max(v[i++], v[i++]) + i;", 3, 7),
        ("Own a[2] = {Own(4), Own(6)}; std::swap(a[i++], a[1]); v[0] = a[0].n;", 60, 1),
        ("Own a[2] = {Own(4), Own(6)}; a[i++] = a[next() + 1]; v[0] = a[0].n;", 60, 1),
        ("v[0] = held(Own(i++)).n + i;", 1, 1),
        ("i = std::exchange(v[i++], 9) + i;", 9, 4),
    ],
)
def test_a_place_is_found_once(tmp_path, body, code, grid, argument):
    before = """#include <algorithm>
    #include <utility>
    int drawn = -1;
    int next() { return ++drawn; }
    struct Own {
        int n;
        Own(int n) : n(n) {}
        Own(const Own &o) : n(o.n) {}
        Own &operator=(const Own &o) { n = o.n * 10; return *this; }
    };
    const Own &held(const Own &h) { return h; }
    """
    text = f"{HEAD}{before}int main() {{ {body} int i = 0; {code} k<<<v[0], 32>>>(i); }}"
    (launch,) = launches(tmp_path, text)
    assert (launch.grid[0], launch.arguments) == (grid, (argument,))


@pytest.mark.parametrize(
    ("code", "grid", "argument"),
    [
        ("std::vector<int> a{4, 5}, b; std::swap(a, b);", "b.size()", 0),
        ("std::vector<int> a{4, 5}, b{6}; a.swap(b); std::swap(a, b); b.push_back(a[1]);", "b[1]", 2),
        ("std::map<int, int> a{{1, 7}}, b; std::swap(a, b);", "b[1]", 0),
        ('std::string a = "abc", b; std::swap(a, b);', "b.size()", 0),
        ("std::vector<int> a(3), b; a.assign(2, 6); b.assign(5, 1);", "a[1]", 2),
    ],
)
def test_containers_are_exchanged_and_filled_as_a_whole(tmp_path, code, grid, argument):
    text = f"{HEAD}#include <utility>\nint main() {{ {code} k<<<{grid}, 32>>>(a.size()); }}"
    (launch,) = launches(tmp_path, text)
    wanted = {"b.size()": 2 + ("abc" in code), "b[1]": 5 + 2 * ("map" in code), "a[1]": 6}[grid]
    assert (launch.grid[0], launch.arguments) == (wanted, (argument,))


@pytest.mark.parametrize(
    "code",
    [
        'std::map<std::string, Fn> m; m["a"] = twice; int a = m["a"](3);',
        "std::map<int, Fn> m{{1, twice}}; auto it = m.find(1); int a = it == m.end() ? 9 : it->second(3);",
        "int a = chosen(1)(3);",
    ],
)
def test_the_function_that_a_call_gives_is_called(tmp_path, code):
    before = "using Fn = int (*)(int); int twice(int x) { return 2 * x; } Fn chosen(int) { return twice; }\n"
    (launch,) = launches(tmp_path, f"{HEAD}{before}int main() {{ {code} k<<<a, 32>>>(7); }}")
    assert (launch.grid[0], launch.source) == (6, LaunchSource.HOST_CODE)


def test_what_is_moved_is_not_called(tmp_path):
    before = "#include <functional>\nstruct Task { std::function<void()> run; };\n"
    before += "struct Tasks { std::vector<Task> all; void add(std::function<void()> f)"
    before += " { all.push_back(Task{std::move(f)}); } };\n"
    body = "Tasks t; int n = 2; t.add([=] { k<<<n, 32>>>(n); }); n = 3; for (auto &one : t.all) one.run();"
    (launch,) = launches(tmp_path, f"{HEAD}{before}int main() {{ {body} }}")
    assert (launch.grid[0], launch.times) == (2, 1)


def test_what_an_element_was_moved_to_is_known_and_the_element_is_not(tmp_path):
    code = "std::vector<std::vector<int>> v{{1, 2}, {3}}; auto m = std::move(v[0]); int a = v[1].size();"
    (launch,) = launches(tmp_path, f"{HEAD}int main() {{ {code} k<<<m.size() + a, 32>>>(v[0].size()); }}")
    assert (launch.grid[0], launch.arguments) == (3, (None,))


def test_arrays_that_are_swapped_are_not_known(tmp_path):
    text = (
        f"{HEAD}int main() {{ int a[] = {{1, 2}}, b[] = {{3, 4}}; std::swap(a, b); k<<<a[1], 32>>>(b[1]); }}"
    )
    (launch,) = launches(tmp_path, text)
    assert launch.source is LaunchSource.ASSUMED
    assert launch.arguments == (None,)
