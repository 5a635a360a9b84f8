"""Where loops end: a counter that is tested anywhere in the body, data with a bound, floating-point counters.

The truth of each is by hand: `n` iterations of the statement that loads.
"""

import pytest

from wattslice import ir
from wattslice.counting.count import NotCountedError, count
from wattslice.counting.profile import ExecutionProfile

from .source_text import launch_of

N = 100_000
"""More iterations than are run one by one."""


def ran(
    loop: str, *, before: str = "int i = 0;", arguments: str = f"0, 0, {N}"
) -> tuple[ExecutionProfile, float]:
    """The counts of a kernel around `loop`, and how often a thread adds `x[...]` to `s`."""
    launch = launch_of(
        f"""__global__ void k(float *x, const int *pn, int n) {{
            float s = 0; {before} {loop} x[threadIdx.x] = s;
        }}
        int main() {{ k<<<4, 128>>>({arguments}); }}"""
    )
    profile = count(launch)
    loads = [
        stmt.region
        for stmt in ir.walk_statements(launch.kernel.body)
        if isinstance(stmt, ir.ExprStmt)
        and any(isinstance(e, ir.Load) and e.type.is_float for e in ir.walk_expressions(stmt.expr))
    ]
    return profile, sum(profile.thread_counts[region] for region in loads[:1])


@pytest.mark.parametrize(
    ("loop", "truth"),
    [
        ("for (;;) { if (!(i < n)) break; s += x[i]; i++; }", N),
        ("for (;; i++) { if (i >= n) break; s += x[i]; }", N),
        ("while (true) { s += x[i]; i++; if (i == n) break; }", N),
        ("while (1) { s += x[i]; if (i >= n) break; s *= 2.f; i++; }", N + 1),
        ("while (1) { s += x[i]; i += 3; if (!(i < n)) { s = 1.f; break; } s *= 2.f; }", -(-N // 3)),
        ("while (1) { i += 3; if (!(i < n)) { s = 1.f; break; } s += x[i]; }", -(-N // 3) - 1),
        ("while (1) { if (i++ >= n) break; s += x[i]; }", N),
        ("while (1) { if (++i >= n) break; s += x[i]; }", N - 1),
        ("for (i = 0; i < n; i++) { if (i >= 50000) break; s += x[i]; }", 50_000),
        ("for (i = 0; i < n; i++) { if (50000 < i) break; s += x[i]; }", 50_001),
        ("for (i = 0; i < n; i++) { s += x[i]; if (i == 70000) { x[1] = s; return; } }", 70_001),
        ("for (i = 0; i < n; i++) { if (i == 2 * n) break; s += x[i]; }", N),
        ("for (i = 0; i < n; i++) { if (i >= n / 2 || i >= n / 4) break; s += x[i]; }", N // 4),
        ("while (i++ < n) { if (i > 40000) break; s += x[i]; }", 40_000),
        ("do { s += x[i]; if (i >= 30000) break; i++; } while (i < n);", 30_001),
        ("for (int j = n - 1; i < n; j = i++) s += x[j];", N),
        ("for (i = n; i--; ) s += x[i];", N),
    ],
)
def test_a_test_of_a_counter_ends_a_loop_wherever_it_stands(loop: str, truth: int):
    profile, found = ran(loop)
    assert found == truth
    assert not profile.assumptions
    assert all(trips.trip_count is not None for trips in profile.loops)


def test_each_thread_leaves_at_an_iteration_of_its_own():
    profile, found = ran("for (i = 0; i < n; i++) { if (i > 1000 * (int)threadIdx.x) break; s += x[i]; }")
    assert found == sum(1000 * t + 1 for t in range(100)) / 128 + N * 28 / 128
    assert not profile.assumptions


@pytest.mark.parametrize(
    ("loop", "truth"),
    [
        ("for (float t = 0; t < 3.5f; t += 0.5f) s += x[3];", 7),
        ("for (float t = 0; t < 1.0f; t += 0.001f) s += x[3];", 1001),  # rounded at each step
        ("for (double t = 0; t < 1.0; t += 0.001) s += x[3];", 1000),
        ("for (float t = 1; t > 1e-6f; t *= 0.9f) s += x[3];", 132),
        ("for (int t = 0; t < 3.5; t++) s += x[3];", 4),
        ("for (int t = 0; t <= 2500.5f; t++) s += x[3];", 2501),
        ("for (int t = 1000; t > -0.5; t--) s += x[3];", 1001),
    ],
)
def test_floating_point_bounds(loop: str, truth: int):
    profile, found = ran(loop)
    assert found == truth
    assert not profile.assumptions


@pytest.mark.parametrize(
    "loop",
    [
        "for (i = 0; i < 4096 && i < *pn; i++) s += x[i];",
        "for (i = 0; i < *pn; i++) { if (i >= 4096) break; s += x[i]; }",
        "for (i = 0; i < 4096 && s < 3.f; i++) s += x[i];",  # known as the loop is entered
        "int go = 1; for (i = 0; i < 4096 && go; i++) { s += x[i]; go = s < 3.f; }",
    ],
)
def test_data_with_a_bound_are_not_known(loop: str):
    profile, found = ran(loop)
    assert found == 4096
    (trips,) = profile.loops
    assert (trips.trip_count, trips.is_most) == (None, True)
    assert any("data" in a.message and "bound, 409" in a.message for a in profile.assumptions)


def test_a_loop_that_data_may_leave_is_not_known():
    profile, found = ran("for (i = 0; i < n; i++) { if (x[i] < 0) break; s += x[i]; }")
    (trips,) = profile.loops
    assert (found, trips.trip_count, trips.assumed, trips.is_most) == (N, None, N, True)


def test_a_do_loop_that_data_end_runs_as_often_as_the_note_says():
    profile, found = ran("do { s += x[i]; i = (int)s; } while (s < 3.f);")
    assert found == 8
    assert any("8 iterations assumed" in a.message for a in profile.assumptions)


def test_only_what_is_loaded_from_constant_memory_makes_a_bound_known():
    """`*p` may change from one iteration to the next, whatever stands before it."""
    launch = launch_of(
        """__constant__ int c;
        __global__ void k(float *x, int *p) { for (int i = 0; i < c + *p; i++) x[i] = 1; }
        int main() { k<<<4, 128>>>(0, 0); }"""
    )
    (trips,) = count(launch).loops
    assert trips.trip_count is None


def nested(depth: int, trips: int) -> str:
    loops = "".join(f"for (int i{k} = 0; i{k} < {trips}; i{k}++) " for k in range(depth))
    return f"{loops} s += x[i0 + i{depth - 1}];"


def test_forty_nested_loops_have_a_closed_form():
    profile, found = ran(nested(40, 300))
    assert found == pytest.approx(300.0**40)
    assert not profile.assumptions


def test_loops_that_no_launch_could_end_are_not_counted():
    with pytest.raises(NotCountedError, match="more often than any launch could"):
        ran(nested(40, 1_000_000))


def test_a_fractional_bound_in_host_code():
    text = """__global__ void k(float *x, int n) { x[n] = 1; }
    int main() { int n = 0; for (int i = 0; i < 9999999.5; i++) n += 2; k<<<4, 128>>>(0, n); }"""
    assert launch_of(text).arguments == (None, 20_000_000)


SWITCH = (
    "switch (q) { case 0: s += x[i]; q = 1; break; case 1: s *= 2; q = 2; break; default: s -= 2; q = 0; }"
)


@pytest.mark.parametrize(
    ("loop", "truth"),
    [  # states that come again: how often a thread meets the first of them
        ("for (; i < n; i++) { " + SWITCH + " }", -(-N // 3)),
        ("for (; i < n - 1; i++) { " + SWITCH + " }", N // 3),
        ("for (; i < n - 2; i++) { " + SWITCH + " }", N // 3),
        ("q = 2; for (; i < n; i++) { " + SWITCH + " }", N // 3),
        ("for (; i < n; i++) { if (q) s += x[i]; q ^= 1; }", N // 2),
        ("for (; i < n; i++) { if (++q == 7) { q = 0; s += x[i]; } }", N // 7),
        ("for (; i < n; i++) { if (q < 3) { q++; s += x[i]; } }", 3),
        ("for (; i < n; i++) { int r = q; q = (q + 1) % 5; if (r == 2) s += x[i]; }", N // 5),
        ("q = threadIdx.x % 4; for (; i < n; i++) { if (q == 0) s += x[i]; q = q == 0 ? 3 : q - 1; }", N / 4),
    ],
)
def test_states_that_come_again_are_counted_exactly(loop: str, truth: float):
    profile, found = ran(loop, before="int i = 0, q = 0;")
    assert found == pytest.approx(truth, abs=1e-6)
    assert not profile.assumptions


def test_what_decides_behind_the_loop_alone_may_follow_the_counter():
    profile, found = ran(
        "for (; i < n; i++) q = i / 1000; if (q == 99) s += x[i];", before="int i = 0, q = 0;"
    )
    assert (found, profile.assumptions) == (1, ())


def test_a_sum_that_stays_at_first_does_not_come_again():
    profile, _ = ran("for (; i < n; i++) q += i / 1000; if (q == 0) s += x[i];", before="int i = 0, q = 0;")
    assert profile.assumptions


def test_what_goes_on_behind_such_states_has_the_last_of_them():
    loop = "for (; i < n; i++) { if (q == 2) s *= 2; q = (q + 1) % 3; } if (q == 1) s += x[i];"
    profile, found = ran(loop, before="int i = 0, q = 0;")  # 100 000 = 3 * 33 333 + 1
    assert (found, profile.assumptions) == (1, ())


@pytest.mark.parametrize(
    "loop",
    [
        "for (; i < n; i++) { if (q == 2) s += x[i]; q = (q + 1) % 17; }",  # too many states
        "for (; i < n; i++) { if (q == 2) s += x[i]; q = i < 5000 ? (q + 1) % 3 : 2; }",  # and the counter
        "for (; i < n; i++) { if (q == 2) s += x[i]; q = x[i + 1] > 0 ? 2 : 1; }",  # and data
        "int a[4] = {0, 0, 0, 0}; for (; i < n; i++) { if (a[1]) s += x[i]; a[i / 1000 % 4] = 1; }",
    ],
)
def test_other_states_are_not_known(loop: str):
    profile, _ = ran(loop, before="int i = 0, q = 0;")
    assert profile.assumptions
