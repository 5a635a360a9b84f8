"""Which trip counts of loops are called known: none that data, a sample or stand-ins decide."""

from __future__ import annotations

import re

import pytest

from wattslice import analyze_text
from wattslice.counting.count import count

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
    ("known return", AROUND + "{ if (i == 9) return; x[i] = 1; }", [10.0]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_what_data_may_end_is_not_known(tmp_path, body, expected):
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
