"""What differs between ways that lanes come perhaps is unknown where they meet, in whatever form."""

from __future__ import annotations

import pytest

from wattslice.counting.count import count

from .geometry import launches

LOOP = "for (int j = 0; j < m; j++) x[j] = 1;"

HELPERS = """
struct Two { int a, b; };
__device__ Two *twos;
__device__ int by_if(int c) { if (c == 0) return 4; return 40; }
__device__ int mixed(int c, int t) { if (t < 16) { if (c) return 4; return 40; } return 400; }
__device__ void early(int c, int *o) { *o = 10; if (c < 0) return; *o = 100; }
__device__ void in_loop(const int *c, int *o) { for (int j = 0; j < 9; j++) if (c[j]) return; *o = 100; }
__device__ bool tried(int c, int &o) { if (c) return false; o = 60; return true; }
typedef int (*Function)(int);
__device__ int once(int v) { return v; }
__device__ int tenfold(int v) { return v * 10; }
__device__ int applied(Function f, int c) { if (c) f = tenfold; return f(2); }
"""


def profile(folder, body: str):
    kernel = f"{HELPERS}__global__ void k(float *x, const int *c, int n, Two p) {{ {body} }}\n"
    host = "int main(int, char **v) { float *x; int *c; Two p; p.a = atoi(v[1]); k<<<1, 32>>>(x, c, 64, p); }"
    (found,) = launches(folder, kernel + host)
    return count(found)


def trips(folder, body: str) -> list[float | None]:
    return [loop.trip_count for loop in profile(folder, body).loops]


UNKNOWN = [
    ("if", f"int m = 2; if (c[0]) m = 20; {LOOP}"),
    ("if in lanes", f"int m = 2; if (c[threadIdx.x]) m = 20; {LOOP}"),
    ("switch", f"int m = 2; switch (c[0]) {{ case 1: m = 20; break; case 2: m = 30; break; }} {LOOP}"),
    ("switch with default", f"int m; switch (c[0]) {{ case 1: m = 20; break; default: m = 2; }} {LOOP}"),
    ("switch that falls through", f"int m = 2; switch (c[0]) {{ case 0: m = 3; case 1: m++; }} {LOOP}"),
    ("switch to the last case", f"int m = 2; switch (c[0]) {{ case 1: m = 3; break; default: ; }} {LOOP}"),
    ("inside a case that one falls into", f"int m = 2; switch (c[0]) {{ case 0: m = 20; case 1: {LOOP} }}"),
    ("break inside a known case", f"int m = 3; switch (n) {{ case 64: if (c[0]) break; m = 5; }} {LOOP}"),
    ("select", f"int m = 3; c[0] ? m = 60 : m = 61; {LOOP}"),
    ("and", f"int m = 3; bool b = c[0] && (m = 60); {LOOP}"),
    ("or", f"int m = 3; bool b = c[0] || (m = 60); {LOOP}"),
    ("return of a callee", f"int m; early(c[0], &m); {LOOP}"),
    ("values of a callee", f"int m = by_if(c[0]); {LOOP}"),
    ("values of a callee in some lanes", f"int m = mixed(c[0], threadIdx.x); {LOOP}"),
    ("reference of a callee", f"int m = 3; if (tried(c[0], m)) x[0] = 1; {LOOP}"),
    ("goto", f"int m = 3; if (c[0]) goto done; m = 50; done: {LOOP}"),
    (
        "goto in some lanes",
        f"int m = 3; if (c[0]) {{ if (threadIdx.x < 4) goto d; m = 5; }} m = 50; d: {LOOP}",
    ),
    ("function pointer", f"Function f = once; if (c[0]) f = tenfold; int m = f(2); {LOOP}"),
    ("function pointer as an argument", f"int m = applied(once, c[0]); {LOOP}"),
    ("member of a parameter", f"if (c[0]) p.a = 5; int m = p.a; {LOOP}"),
    ("member of a parameter in the other arm", f"if (c[0]) x[0] = 1; else p.a = 5; int m = p.a; {LOOP}"),
    ("member of what was loaded", f"Two t = *twos; if (c[0]) t.a = 5; int m = t.a; {LOOP}"),
    ("member in some lanes", f"Two t = *twos; if (threadIdx.x < 3) t.a = 5; int m = t.a; {LOOP}"),
    ("counter behind a continue", "for (int j = 0; j < n; j++) { if (c[j]) continue; x[j] = 1; j++; }"),
    ("counter in a switch", "for (int k = 0; k < n;) switch (c[k]) { case 0: k++; break; default: k += 3; }"),
    ("counter in a select", "for (int k = 0; k < n;) c[k] ? k++ : k += 10;"),
    (
        "counter in a search",
        "int a = 0, b = n; while (a < b) { int h = (a + b) / 2; if (c[h]) { a = h + 1; continue; } b = h; }",
    ),
]

OF_TWO = [
    (
        "continue",
        f"int m = 0; for (int j = 0; j < 9; j++) {{ if (c[j]) continue; m = j; }} {LOOP}",
        [9.0, None],
    ),
    ("break", f"int m = 7; for (int j = 0; j < 9; j++) {{ if (c[j]) break; m = j; }} {LOOP}", [None, None]),
    (
        "break in some lanes",
        f"int m = 7; for (int j = 0; j < 9; j++) {{ if (c[j]) {{ if (threadIdx.x < 3) break; }} "
        f"m = 6; }} {LOOP}",
        [None, None],
    ),
    ("return out of a loop", f"int m = 7; in_loop(c, &m); {LOOP}", [None, None]),
    (
        "out of a switch",
        f"int m = 9; for (int j = 0; j < 9; j++) switch (c[j]) {{ case 3: m = 2; goto out; }} out: {LOOP}",
        [None, None],
    ),
]

KNOWN = [
    ("both arms", f"int m = 3; if (c[0]) m = 4; else m = 4; {LOOP}", 4.0),
    (
        "all cases",
        f"int m; switch (c[0]) {{ case 0: m = 4; break; case 1: m = 4; break; default: m = 4; }} {LOOP}",
        4.0,
    ),
    (
        "seven cases",
        "int m = 3; switch (c[0]) { case 0: case 1: m = 4; break; case 2: m = 4; break; case 3: m = 4; "
        "break; case 4: m = 4; break; case 5: m = 4; break; case 6: m = 4; break; default: m = 4; } " + LOOP,
        4.0,
    ),
    (
        "another variable",
        f"int m = 5, o = 1; switch (c[0]) {{ case 0: o = 4; }} c[1] ? o = 2 : o = 3; {LOOP}",
        5.0,
    ),
    ("an arm that ends the kernel", f"int m = 5; switch (c[0]) {{ case 0: m = 7; return; }} {LOOP}", 5.0),
    ("a known choice", f"int m = 5; switch (n) {{ case 64: m = 9; break; default: m = 2; }} {LOOP}", 9.0),
    ("a function pointer that stays", f"Function f = tenfold; int m = f(2); {LOOP}", 20.0),
    ("assigned on all ways", f"int m = 2; if (c[0]) m = 3; m = 6; {LOOP}", 6.0),
]


@pytest.mark.parametrize("body", [pytest.param(case[1], id=case[0]) for case in UNKNOWN])
def test_what_ways_disagree_on_is_unknown_and_said(tmp_path, body):
    found = profile(tmp_path, body)
    assert [loop.trip_count for loop in found.loops] == [None]
    assert "PW013" in {entry.rule for entry in found.assumptions}


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case[1:], id=case[0]) for case in OF_TWO])
def test_what_a_loop_leaves_by_several_ways(tmp_path, body, expected):
    assert trips(tmp_path, body) == expected


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case[1:], id=case[0]) for case in KNOWN])
def test_what_ways_agree_on_stays_known(tmp_path, body, expected):
    assert trips(tmp_path, body) == [expected]


SAME = {
    "if": "int m = 2; if (c[0]) m = 20; else m = 30;",
    "switch": "int m = 2; switch (c[0]) { case 0: m = 30; break; default: m = 20; }",
    "select": "int m = 2; c[0] ? m = 20 : m = 30;",
    "and": "int m = 30; c[0] && (m = 20);",
    "callee": "int m = by_if(c[0]);",
    "goto": "int m = 30; if (!c[0]) goto done; m = 20; done:",
}


@pytest.mark.parametrize("form", SAME)
def test_the_same_choice_has_the_same_counts_and_doubts(tmp_path, form):
    def seen(body: str) -> object:
        found = profile(tmp_path, f"{body} {LOOP}")
        rules = {entry.rule for entry in found.assumptions}
        assumed = [(loop.trip_count, loop.assumed) for loop in found.loops]
        return rules, assumed, [site.sectors_per_request for site in found.sites]

    assert seen(SAME[form]) == seen(SAME["if"])
