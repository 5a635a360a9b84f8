"""Which trip counts of loops are called known: none that data, a sample or stand-ins decide."""

from __future__ import annotations

import re

import numpy as np
import pytest

from wattslice import analyze_text, ir
from wattslice.counting.boundaries import handed_on
from wattslice.counting.count import count
from wattslice.counting.profile import total_counts
from wattslice.ir.loops import shape_of

from .geometry import launches


def trips(folder, body: str, launch: str = "<<<1, 32>>>(x, 100)") -> list[float | None]:
    kernel = f"__global__ void k(float *x, int n) {{ {body} }}\n"
    (found,) = launches(folder, f"{kernel}int main() {{ float *x; k{launch}; }}")
    return [loop.trip_count for loop in count(found).loops]


AROUND = "for (int i = 0; i < n; i++) "
CASES = [
    ("nothing leaves", AROUND + "x[i] = 1;", [100.0]),
    ("data return", AROUND + "{ if (x[i] < 0) return; x[i] = 1; }", [None]),
    ("data break", AROUND + "{ if (x[i] < 0) break; x[i] = 1; }", [None]),
    ("data return from two", AROUND + "for (int j = 0; j < 3; j++) if (x[j] < 0) return;", [None, None]),
    ("out of a switch", AROUND + "switch (i) { case 3: if (x[i] < 0) return; }", [None]),
    ("behind a return", "if (x[0] < 0) return; " + AROUND + "x[i] = 1;", [100.0]),
    ("a loop before the return", AROUND + "x[i] = 1; " + AROUND + "if (x[i] < 0) return;", [100.0, None]),
    ("function of a number", "for (int i = 0; i < (int)exp2f(5.f) + cosf(0) * n; i++) x[i] = 1;", [132.0]),
    ("function of data", "for (int i = 0; i < exp2f(x[0]); i++) x[i] = 1;", [None]),
    ("high half", "for (int i = 0; i < __umulhi(0xffffffff, 0x80000000) >> 28; i++) x[i] = 1;", [7.0]),
    ("between pointers", "float *e = x + n; int m = e - x; for (int i = 0; i < m; i++) x[i] = 1;", [100.0]),
    ("a distance that grows", "for (float *p = x; p - x < n; p += 4) *p = 1;", [25.0]),
    ("between records", "struct R { float a, b, c; } *r = (R *)x, *e = r + n;"
     " for (int i = 0; i < &e[0] - &r[40]; i++) x[i] = 1;", [60.0]),
    ("bits of a number", "for (int i = 120; i < __float_as_uint((float)n) >> 23; i++) x[i] = 1;", [13.0]),
    ("bits of a double", "for (int i = 0; i < __double_as_longlong(1.0 * n) >> 56; i++) x[i] = 1;", [64.0]),
    ("number of bits", "for (int i = 0; i < __int_as_float(0x41200000); i++) x[i] = 1;", [10.0]),
    ("bits of data", "for (int i = 0; i < __float_as_int(x[0]); i++) x[i] = 1;", [None]),
    ("known return", AROUND + "{ if (i == 9) return; x[i] = 1; }", [10.0]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_what_data_may_end_is_not_known(tmp_path, body, expected):
    assert trips(tmp_path, body) == expected


BIT_FIELDS = [
    ("o.a + 10", 7), ("o.b ? 3 : 5", 3), ("o.c", 30), ("(1 << o.d) + o.last", 11), ("(o.c += 12, o.c)", 10),
    ("o.c + x[0]", None), ("(o.c = blockIdx.x, o.c)", None),
]  # fmt: skip


@pytest.mark.parametrize(("bound", "expected"), BIT_FIELDS)
@pytest.mark.parametrize("way", ["", "O p = o; O &o = p; "])
def test_bit_fields_of_an_argument_are_known(tmp_path, bound, expected, way):
    record = "struct O { int a : 4; bool b : 1; unsigned c : 5, d : 3; int last; };"
    kernel = (
        f"__global__ void k(float *x, O o) {{ {way}int n = {bound}; for (int i = 0; i < n; i++) x[i] = 1; }}"
    )
    given = "O o; o.a = -3; o.b = true; o.c = 30; o.d = 3; o.last = 3;"
    main = f"int main() {{ {given} float *x; k<<<40, 32>>>(x, o); }}"
    (found,) = launches(tmp_path, f"{record} {kernel} {main}")
    assert [loop.trip_count for loop in count(found).loops] == [expected]


ELEMENTS = [
    ("for (int i = 0; i < t.v[2]; i++) x[i] = 1;", [7]),
    ("for (int k = 0; k < 3; k++) for (int i = 0; i < t.v[k]; i++) x[i] = 1;", [3, 5]),
    ("for (int i = 0; i < t.in.m[1][0] + t.in.c[3]; i++) x[i] = 1;", [39]),
    ("t.v[1] = n; for (int i = 0; i < t.v[1]; i++) x[i] = 1;", [None]),
    ("for (int i = 0; i < t.v[int(x[0])]; i++) x[i] = 1;", [None]),
]


@pytest.mark.parametrize(("body", "expected"), ELEMENTS)
def test_elements_of_arrays_in_an_argument_are_known(tmp_path, body, expected):
    records = "struct In { int m[2][2]; unsigned char c[4]; }; struct T { int v[3]; In in; };"
    kernel = f"__global__ void k(float *x, int n, T t) {{ {body} }}"
    given = (
        "T t; for (int i = 0; i < 3; i++) t.v[i] = 3 + 2 * i; t.in.m[1][0] = 9; t.in.c[3] = 30; t.v[0] = 3;"
    )
    (found,) = launches(
        tmp_path, f"{records} {kernel} int main() {{ {given} float *x; k<<<1, 32>>>(x, 9, t); }}"
    )
    assert [loop.trip_count for loop in count(found).loops] == expected


def julia(real: np.float32, imaginary: np.float32, most: int) -> int:
    """Iterations until a point escapes, in single precision as it is written."""
    a = b = np.float32(0)
    for k in range(most):
        if a * a + b * b >= 4:
            return k
        a, b = a * a - b * b + real, np.float32(2) * a * b + imaginary
    return most


ESCAPES = (
    "int t = threadIdx.x; float c = t * 3.f / n - 2, d = (t % 8) / 7.f, a = 0, b = 0; int k = 0;"
    " while (k < 60 && a * a + b * b < 4) { float s = a * a - b * b + c; b = 2 * a * b + d; a = s; k++; }"
)
ESCAPES_FROM_A_FOR = (
    "int t = threadIdx.x; float c = t * 3.f / n - 2, d = (t % 8) / 7.f, a = 0, b = 0; int k;"
    " for (k = 0; k < 60; k++)"
    " { if (a * a + b * b >= 4) break; float s = a * a - b * b + c; b = 2 * a * b + d; a = s; }"
)
ESCAPES_FROM_A_DO = (
    ESCAPES.replace("while", "if (1) do")
    .replace("(k < 60 && a * a + b * b < 4)", "")
    .replace("k++; }", "k++; } while (k < 60 && a * a + b * b < 4);")
)
LONG = ESCAPES.replace("60", "2000")
BITS = "unsigned v = threadIdx.x, m = 0; {0} for (int k = 0; k < m; k++) x[k] = 1;"
SET = sum(t.bit_count() for t in range(32)) / 32


@pytest.mark.slow
def test_what_floating_point_numbers_of_indices_decide_is_known(tmp_path):
    f = np.float32
    points = [(f(t) * f(3) / f(100) - f(2), f(t % 8) / f(7)) for t in range(32)]
    passes = [julia(c, d, 60) for c, d in points]
    assert 5 < sum(passes) / 32 < 55
    assert trips(tmp_path, ESCAPES) == [sum(passes) / 32]
    assert trips(tmp_path, ESCAPES_FROM_A_FOR) == [sum(min(k + 1, 60) for k in passes) / 32]
    assert trips(tmp_path, ESCAPES_FROM_A_DO) == [sum(passes) / 32]
    assert trips(tmp_path, ESCAPES_FROM_A_DO.replace("c = t", "c = x[t]")) == [None]
    far = [julia(c, d, 2000) for c, d in points]
    assert trips(tmp_path, LONG) == [sum(far) / 32]
    assert trips(tmp_path, LONG.replace("2000", "200000")) == [None]
    behind = ESCAPES_FROM_A_FOR + " for (int j = 0; j < k; j++) x[j] = 1;"
    assert trips(tmp_path, behind)[1] == sum(passes) / 32
    grows = "for (float y = threadIdx.x * .1f; y < 9.f; y += .3f) x[0] = y;"
    steps = [next(k for k in range(99) if np.add.accumulate([f(t) * f(0.1)] + [f(0.3)] * k, dtype=f)[-1] >= 9)
             for t in range(32)]  # fmt: skip
    assert trips(tmp_path, grows) == [sum(steps) / 32]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (BITS.format("while (v) { m += v & 1; v >>= 1; }"), SET),
        (BITS.format("for (int b = 0; b < 32; b++) m += v >> b & 1;"), SET),
        (BITS.format("for (int b = 0; b < 32; b++) if (v >> b & 1) m++;"), SET),
        ("int m = 0; for (int i = 0; i < 9; i++) m += i * i; for (int k = 0; k < m; k++) x[k] = 1;", 204),
        ("int m = x[0]; for (int i = 0; i < 9; i++) m += i * i; for (int k = 0; k < m; k++) x[k] = 1;", None),
        ("int m = 0; for (int i = 0; i < 9; i++) m += x[i]; for (int k = 0; k < m; k++) x[k] = 1;", None),
        (
            AROUND
            + "{ int m = 0; for (int j = 0; j < 9; j++) m += j % 3; for (int k = 0; k < m; k++) x[k] = 1; }",
            9,
        ),
        (  # what data hand on is found out in one iteration, which leaves the loops inside their allowance
            "int m = 0; for (int i = 0; i < 20; i++) { m += x[i]; int c = 0;"
            " for (int j = 0; j < 1000; j++) c += j % 3; for (int k = 0; k < c % 50; k++) x[k] = 1; }"
            " if (m > 3) x[0] = 1;",
            49,
        ),
        ("int m = 0; for (int i = 0; i < n; i++) m = i % 7 + 1; for (int k = 0; k < m; k++) x[k] = 1;", 2),
    ],
)
def test_what_iterations_hand_on_decides_behind_the_loop(tmp_path, body, expected):
    assert trips(tmp_path, body)[-1] == expected


def test_a_floating_point_counter_of_lanes_is_known_behind_its_loop(tmp_path):
    body = "float y = threadIdx.x * .5f; for (; y < 9.f; y += .75f) x[0] = 1;"
    body += " for (int k = 0; k < (int)(y * 8); k++) x[k] = 1;"
    ends = [y + 0.75 * max(0, -int(-(9 - y) // 0.75)) for y in (t * 0.5 for t in range(32))]
    assert trips(tmp_path, body)[1] == sum(int(y * 8) for y in ends) / 32


def test_what_iterations_hand_on_changes_no_weight(tmp_path):
    """Iterations that are looked at alone count once each, also where they turn out to be data."""
    body = "int m = 0; for (int i = 0; i < 9; i++) m += i * i; if (m > 3) x[0] = 1;"
    data = "int m = 0; for (int i = 0; i < 9; i++) m += x[i]; if (m > 3) x[0] = 1;"
    assert trips(tmp_path, body) == trips(tmp_path, data) == [9]
    differ = "int m = 0; for (int i = 0; i < 4000; i++) { if (i % 3 == 0) x[i] = 1; m += x[i]; }"
    differ += " if (m > 3) x[0] = 1;"
    assert trips(tmp_path, differ) == [4000]


def test_what_is_given_anew_in_each_iteration_is_not_handed_on(tmp_path):
    body = (
        "int m = 0, g = 0; for (int i = 0; i < n; i++) { int d = n; m += f(n); g += n * i; if (d) x[i] = 1; }"
    )
    text = f"__device__ int f(int p) {{ return p > 3 ? 1 : 2; }} __global__ void k(float *x, int n) {{ {body}"
    (found,) = launches(tmp_path, text + " if (m) x[0] = 1; } int main() { float *x; k<<<1, 32>>>(x, 1); }")
    (loop,) = (stmt for stmt in ir.walk_statements(found.kernel.body) if isinstance(stmt, ir.Loop))
    assert [variable.name for variable in handed_on(found.kernel, shape_of(loop))] == ["m"]


def test_the_counter_of_a_loop_within_is_not_handed_on(tmp_path):
    text = """__global__ void k(float *x, int n) {
    int m = 0, j;
    for (int i = 0; i < n; i++) { for (j = 0; j < i; j++) x[j] = 1; m += i; }
    if (m) x[0] = 1;
    } int main() { float *x; k<<<1, 32>>>(x, 1); }"""
    (found,) = launches(tmp_path, text)
    loop = next(stmt for stmt in ir.walk_statements(found.kernel.body) if isinstance(stmt, ir.Loop))
    assert [variable.name for variable in handed_on(found.kernel, shape_of(loop))] == ["m"]


def held(value: int, bits: int) -> int:
    """`value` as a type holds it of so many bits, signed where they are negative."""
    low = -(1 << (-bits - 1)) if bits < 0 else 0
    return (value - low) % (1 << abs(bits)) + low


@pytest.mark.parametrize(
    ("head", "first", "step", "bits", "shift", "compared", "limit"),
    [
        ("unsigned v = t * 4; v - 16 < 1000u; v += 100", (4, 0), 100, 32, -16, 32, 1000),
        ("int v = t - 8; v < 20u; v += 3", (1, -8), 3, -32, 0, 32, 20),
        ("signed char v = t * 3; v < 100; v += 50", (3, 0), 50, -8, 0, -32, 100),
        ("unsigned char v = t * 8; v < 250; v += 16", (8, 0), 16, 8, 0, -32, 250),
        ("unsigned char v = t * 8; v < 250; v += 10", (8, 0), 10, 8, 0, -32, 250),
        ("unsigned v = t; v < 4000000000u; v += 900000000u", (1, 0), 900000000, 32, 0, 32, 4000000000),
        ("unsigned v = t; v < 99; v += 7", (1, 0), 7, 32, 0, 32, 99),
    ],
)
def test_a_counter_that_leaves_its_type_runs_on(
    tmp_path, head: str, first: tuple[int, int], step: int, bits: int, shift: int, compared: int, limit: int
):
    ran = 0
    for t in range(32):
        v, m = held(t * first[0] + first[1], bits), 0
        while m < 20 and held(v + shift, compared) < limit:
            v, m = held(v + step, bits), m + 1
        ran += m
    body = f"int t = threadIdx.x, m = 0; for ({head}) {{ x[t] = 1; if (++m > 19) break; }}"
    assert trips(tmp_path, body) == [ran / 32]
    first_of, test, last = head.split("; ")
    inner = f"{{ x[t] = 1; {last}; if (++m > 19) break; }}"
    body = f"int t = threadIdx.x, m = 0; {first_of}; do {inner} while ({test});"
    ran = 0
    for t in range(32):
        v, m = held(t * first[0] + first[1], bits), 0
        while m == 0 or (m < 20 and held(v + shift, compared) < limit):
            v, m = held(v + step, bits), m + 1
        ran += m
    assert trips(tmp_path, body) == [ran / 32]


@pytest.mark.parametrize(
    ("body", "stores"),
    [
        ("if (++k % 3 == 0) x[i] = 1;", 33),
        ("if (k++ % 3 == 0) x[i] = 1;", 34),
        ("if ((k += 2) % 3 == 0) x[i] = 1;", 33),
        ("if ((k ^= 1)) x[i] = 1;", 50),
        ("if (++k == 3) { k = 0; x[i] = 1; }", 33),
        ("int v = k++; if (v % 3 == 0) x[i] = 1;", 34),
        ("switch (++k & 3) { case 0: x[i] = 1; }", 25),
    ],
)
def test_what_a_condition_updates_differs_between_iterations(tmp_path, body, stores):
    text = f"__global__ void k(float *x, int n) {{ int k = 0; {AROUND} {{ {body} }} }}"
    (launch,) = launches(tmp_path, text + " int main() { float *x; k<<<1, 32>>>(x, 100); }")
    assert total_counts(launch.kernel, count(launch)).global_store == stores


@pytest.mark.parametrize("given", ["x[k]", "clock()", "__shfl_xor_sync(~0u, a, 1)"])
def test_a_do_whose_end_comes_from_elsewhere_runs_to_its_bound(tmp_path, given):
    body = f"int k = 0; float a = 0; do {{ a = {given}; k++; }} while (k < 60 && a < 4);"
    kernel = f"__global__ void k(float *x, int n) {{ {body} }}\n"
    (found,) = launches(tmp_path, f"{kernel}int main() {{ float *x; k<<<1, 32>>>(x, 1); }}")
    (loop,) = count(found).loops
    assert (loop.trip_count, loop.assumed) == (None, 60)


def test_lanes_that_do_not_enter_a_loop_do_not_wrap(tmp_path):
    body = "unsigned v = 0, m = threadIdx.x < 4 ? 1000000 : 4294967295u;"
    body += " if (threadIdx.x < 4) for (; v < m; v += 7) x[v & 63] = 1;"
    assert trips(tmp_path, body) == [142858]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int k = 0; again: x[k] = 1; k += 1 + (threadIdx.x & 3); if (k < n) goto again;", [52.25]),
        ("int k = 0; again: if (k >= n) goto done; x[k] = 1; k += 4; goto again; done: x[0] = 1;", [26]),
        ("int k = 0, j; up: j = 0; in: x[j] = 1; if (++j < 7) goto in; if (++k < n) { goto up; }", [100, 7]),
        (
            "for (int m = 0; m < 5; m++)"
            " { int k = 0; up: if (k == 1 && m == 2) break; if (k++ < 3) goto up; }",
            [3, 10 / 3],
        ),
        ("int k = 0; up: switch (k) { case 4: return; default: k++; } x[k] = 1; goto up;", [5]),
        ("int k = 0; up: x[k] = 1; if (++k == 3) { k = 5; goto up; } if (++k < n) goto up;", [50]),
        ("up: x[threadIdx.x] = 1; if (x[3] > 1) goto up;", [None]),
    ],
)
def test_a_jump_back_is_a_loop(tmp_path, body, expected):
    assert trips(tmp_path, body) == expected


def test_the_mean_of_sampled_blocks_is_not_known(tmp_path):
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x, m = (unsigned)(i * i) % 13;"
    body += " for (int j = 0; j < m; j++) x[j] = 1; for (int j = 0; j < 16; j++) x[j] += 1;"
    assert trips(tmp_path, body, "<<<20000, 256>>>(x, 1)") == [None, 16.0]


def test_entries_alike_in_all_lanes_behind_entries_that_are_not(tmp_path):
    """A tree in shared memory, twice: 2, 1, then a half ... iterations a thread, and again 2."""
    body = "for (int v = 0; v < 2; v++) for (int s = 128; s > 0; s >>= 1)"
    body += " for (int j = threadIdx.x; j < s; j += blockDim.x) x[j] += 1;"
    assert trips(tmp_path, body, "<<<1, 64>>>(x, 1)") == [2.0, 8.0, (256 - 1) / 64 / 8]


@pytest.mark.slow
def test_the_bound_of_stand_ins_is_the_share_of_all_iterations(tmp_path):
    """Of 1 500 triangles that of three iterations is looked at in one of them: next to nothing of all."""
    body = AROUND + "for (int j = 0; j < i; j++) for (int k = 0; k < j; k++) x[k] += 1;"
    kernel = f"__global__ void k(float *x, int n) {{ {body} }}\n"
    (launch,) = launches(tmp_path, f"{kernel}int main() {{ float *x; k<<<1, 32>>>(x, 1500); }}")
    counted = count(launch)
    (told,) = [entry.message for entry in counted.assumptions if entry.rule == "PW015"]
    bound = float(re.findall(r"([\d.]+)%", told)[0]) / 100
    truth = 1500 * 1499 * 1498 / 6 / (1500 * 1499 / 2)
    assert abs(counted.loops[-1].assumed / truth - 1) < bound < 0.05


GRID_STRIDE = "for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < {0}; j += gridDim.x * blockDim.x) "
WHILE_DATA = "for (int r = 0; r < 10000 && x[0] > 1; r++) {{ {0} x[r] += 1; }}"


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (
            GRID_STRIDE.format("n") + "x[j] = 2;",
            6.25,
        ),  # the same in each of the 10 000, a few of which are run
        (GRID_STRIDE.format("n + 100 * r") + "x[j] = 2;", None),
        ("if (threadIdx.x < r) " + GRID_STRIDE.format("n") + "x[j] = 2;", None),  # other lanes each time
    ],
)
def test_lanes_that_do_the_same_in_every_iteration_are_known(tmp_path, inner, expected):
    """8 blocks of 32 threads and 1 600 elements, in a loop that data end; a few of its rounds are run."""
    outer, found = trips(tmp_path, WHILE_DATA.format(inner), "<<<8, 32>>>(x, 1600)")
    assert (outer, found) == (None, expected)


def test_a_loop_that_a_known_test_leaves_has_known_trips_in_sampled_blocks(tmp_path):
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x, m = (unsigned)(i * i) % 13;"
    body += " for (int j = 0; j < n; j++) { if (m > j) x[j] = 1; if (j == n - 1) break; x[j] += m; }"
    assert trips(tmp_path, body, "<<<200000, 256>>>(x, 20)") == [20.0]


def test_a_test_without_a_closed_form_leaves_sampled_blocks_unknown(tmp_path):
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x, m = (unsigned)(i * i) % 13;"
    body += " for (int j = 0; j < n; j++) { if (j * j * j - j > m) break; x[j] += m; }"
    assert trips(tmp_path, body, "<<<200000, 256>>>(x, 20)") == [None]


@pytest.mark.parametrize("loop", [
    "int i = 0; do { i++; if (i & 1) continue; x[threadIdx.x] += i; } while (i < 20000);",
    "int i = 0; while (i < 20000) { i++; if (i & 1) continue; x[threadIdx.x] += i; }",
    "for (int i = 0; i < 20000; i++) { if (i & 1) continue; x[threadIdx.x] += i; }",
])  # fmt: skip
def test_a_step_before_the_first_continue_is_made_in_each_iteration(loop):
    text = f"__global__ void k(float *x) {{ {loop} }}\nint main() {{ k<<<1, 32>>>(0); }}\n"
    (found,) = analyze_text(text, gpu="v100").kernels
    assert [one.trip_count for one in found.loops] == [20000]
    assert found.work is not None
    assert found.work.counts_per_thread.global_store == 10000


def test_a_step_behind_a_continue_is_not_made_in_each_iteration():
    loop = "int i = 0, j = 0; do { if (j++ & 1) continue; i++; x[threadIdx.x] += i; } while (i < 100);"
    text = f"__global__ void k(float *x) {{ {loop} }}\nint main() {{ k<<<1, 32>>>(0); }}\n"
    (found,) = analyze_text(text, gpu="v100").kernels
    assert [one.trip_count for one in found.loops] == [199]
