"""Counting beyond closed forms: data-dependent loops and branches, profiles, settings, access patterns."""

from pathlib import Path

import pytest

from wattslice import ir
from wattslice.branch_profile.profile import ArmProbability, BranchProfile
from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile, ProbabilitySource, spread, total_counts
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.overrides import parse_overrides
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

from .counted import counted
from .source_text import launched


def analyse(
    tmp_path: Path, source: str, *settings: str, launch: str = "k=4:64", profile: BranchProfile | None = None
) -> tuple[ExecutionProfile, OperationCounts]:
    path = tmp_path / "k.cu"
    path.write_text(source)
    program = read_cuda(path, ParseOptions())
    assert program.diagnostics == ()
    (found,) = resolve_launches(program, parse_overrides((launch,), settings), load_gpu("v100"))
    profiled = count(found, profile)
    return profiled, total_counts(found.kernel, profiled)


def test_a_loop_that_ends_by_data_has_no_trip_count_and_says_so(tmp_path):
    source = """__global__ void k(int *next, float *x) {
int i = 0;
while (next[i] >= 0) {
 x[i] += 1.0f; i = next[i]; }
}"""
    counted, operations = analyse(tmp_path, source)
    (loop,) = counted.loops
    assert loop.trip_count is None
    assert operations.fp32 == loop.assumed > 1
    (assumption,) = counted.assumptions
    assert (assumption.rule, assumption.line) == ("PW013", 3)
    assert assumption.fix == "--set k.trip_L3=VALUE"


@pytest.mark.parametrize(
    ("step", "loads", "message"),
    [
        ("++i", 8, "8 iterations assumed"),
        ("i += 4", 2, "2 iterations assumed (8 elements in steps of 4)"),
        ("i -= -2 * 2", 2, "2 iterations assumed (8 elements in steps of 4)"),
        ("i += warpSize", 1, "1 iteration assumed (32 elements in steps of 32)"),
        ("i = max(i * 2, 1)", 8, "8 iterations assumed"),
    ],
)
def test_rows_are_assumed_equally_long_however_many_lanes_share_one(tmp_path, step, loads, message):
    source = f"""__global__ void k(const int *rows, const float *x, float *y) {{
    float sum = 0; int i = rows[blockIdx.x] + threadIdx.x;
    for (; i < rows[blockIdx.x + 1]; {step}) sum += x[i];
    y[blockIdx.x] = sum;
}}"""
    counted, operations = analyse(tmp_path, source)
    assert operations.fp32 == counted.loops[0].assumed == loads
    assert [a.message for a in counted.assumptions] == [f"trip count of the loop depends on data: {message}"]


def test_the_setting_that_an_assumption_names_settles_it(tmp_path):
    source = """__global__ void k(int *next, float *x) {
int i = 0;
while (next[i] >= 0) {
 x[i] += 1.0f; i = next[i]; }
}"""
    counted, operations = analyse(tmp_path, source, "k.trip_L3=21")
    assert counted.assumptions == ()
    assert operations.fp32 == 21
    assert operations.global_load == 22 + 21 + 21


def test_a_data_dependent_branch_counts_half_unless_profiled(tmp_path):
    source = """__global__ void k(float *x) {
if (x[threadIdx.x] > 0.0f) {
 x[0] = x[1] * 2.0f; }
 else { x[2] = 1.0f; }
}"""
    counted, operations = analyse(tmp_path, source)
    assert operations.fp32 == 1 + 0.5
    assert {arm.source for arm in counted.arms} == {ProbabilitySource.DEFAULT}
    profile = BranchProfile((ArmProbability("k.cu", 2, "then", 0.125),))
    counted, operations = analyse(tmp_path, source, profile=profile)
    assert operations.fp32 == 1 + 0.125
    assert operations.global_store == 1
    assert counted.assumptions == ()
    assert [(arm.arm, arm.probability) for arm in counted.arms] == [("then", 0.125), ("else", 0.875)]


@pytest.mark.parametrize(
    "change",
    [
        "int& c = a[i] & 1 << j ? hi : lo; c++;",
        "int* c = a[i] & 1 << j ? &hi : &lo; *c += 1;",
        "pick(hi, lo, a[i])++;",
    ],
)
def test_what_a_reference_to_one_of_several_changes_is_unknown(tmp_path, change):
    source = f"""__device__ int& pick(int& x, int& y, int n) {{ if (n > 3) return x; return y; }}
__global__ void k(const int* a, float* b) {{
    int i = threadIdx.x, lo = 0, hi = 0;
    for (int j = 0; j < 8; ++j) {{ {change} }}
    if (hi > lo) b[i] += 1.0f;
}}"""
    counted, operations = analyse(tmp_path, source)
    assert operations.fp32 == 0.5
    assert any(a.line == 5 for a in counted.assumptions)


def test_a_bounds_check_in_front_of_data_keeps_its_exact_part(tmp_path):
    source = """__global__ void k(float *x) {
int i = blockIdx.x * 64 + threadIdx.x;
if (i < 128 && x[i] > 0.0f) x[i] = 0.0f;
}"""
    _, operations = analyse(tmp_path, source)
    assert operations.global_load == 0.5
    assert operations.global_store == 0.25


def test_what_only_one_arm_assigns_is_unknown_afterwards(tmp_path):
    source = """__global__ void k(float *x, int *n) {
      int limit = 8;
      if (n[0] > 3) limit = 4;
      for (int i = 0; i < limit; ++i) x[i] = 0.0f;
    }"""
    counted, _ = analyse(tmp_path, source)
    assert [loop.trip_count for loop in counted.loops] == [None]


def test_divergence_costs_whole_warps(tmp_path):
    source = """__global__ void k(float *x) {
if (threadIdx.x % 32 == 0) x[threadIdx.x] = 1.0f;
}"""
    counted, _ = analyse(tmp_path, source)
    (arm,) = counted.arms
    assert counted.thread_counts[arm.region] == pytest.approx(1 / 32)
    assert counted.warp_counts[arm.region] == pytest.approx(1.0)


def test_unknown_size_in_a_guard_is_the_extent_of_the_launch(tmp_path):
    source = """__global__ void k(float *x, int n) {
int i = blockIdx.x * blockDim.x + threadIdx.x;
if (i < n) x[i] = 0.0f;
}"""
    counted, operations = analyse(tmp_path, source)
    assert operations.global_store == 1.0
    assert [a.rule for a in counted.assumptions] == ["PW010"]
    assert "256" in counted.assumptions[0].message


@pytest.mark.parametrize(
    ("index", "sectors"),
    [
        ("i", 4),
        ("i * 2", 8),
        ("i * 32", 32),
        ("0", 1),
        ("base[blockIdx.x] + threadIdx.x", 4),
        ("base[i]", None),
    ],
)
def test_sectors_per_request(tmp_path, index, sectors):
    source = f"""__global__ void k(float *x, int *base) {{
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      x[{index}] = 1.0f;
    }}"""
    counted, _ = analyse(tmp_path, source)
    assert counted.sites[-1].sectors_per_request == sectors


def test_shared_memory_bank_conflicts(tmp_path):
    source = """__global__ void k(float *x) {
      __shared__ float good[32][33];
      __shared__ float bad[32][32];
      x[0] = good[threadIdx.x][1] + bad[threadIdx.x][1];
    }"""
    counted, _ = analyse(tmp_path, source, launch="k=1:32")
    passes = [
        site.bank_passes or 0 for site in counted.sites if site.block_reach and site.block_reach.bytes > 4
    ]
    assert sorted(passes) == [1, 32]


@pytest.mark.slow
def test_long_varying_loops_are_sampled_close_to_the_truth(tmp_path):
    source = """__global__ void k(float *x) {
      for (int i = 0; i < 3000; ++i)
        for (int j = 0; j < i; ++j)
          for (int l = 0; l < j; ++l) x[l] = 1.0f;
    }"""
    _, operations = analyse(tmp_path, source, launch="k=1:32")
    assert operations.global_store == pytest.approx(3000 * 2999 * 2998 / 6, rel=0.02)


@pytest.mark.slow
def test_endless_loops_end(tmp_path):
    source = """__global__ void k(float *x) {
int i = 1;
while (i != 0) { i = i * 3 + 1; if (i > 1000) i = 1; x[0] = 1.0f; }
}"""
    counted, operations = analyse(tmp_path, source)
    assert operations.global_store > 0
    assert [loop.trip_count for loop in counted.loops] == [None]


def test_a_macro_in_do_while_zero_runs_once_wherever_it_stands(tmp_path):
    source = """__global__ void k(int *next, float *x) {
for (int i = 0; i < next[0]; ++i) {
  do { x[i] += 1.0f; } while (0); }
do {} while (false);
}"""
    counted, operations = analyse(tmp_path, source)
    assert [loop.trip_count for loop in counted.loops] == [None, 1.0, 1.0]
    assert operations.fp32 == counted.loops[0].assumed


def test_a_counter_set_in_some_lanes_only_is_known_in_their_loop(tmp_path):
    source = """__global__ void k(const int *n, float *x) {
int i, j = n[threadIdx.x];
if (threadIdx.x < 48) {
  for (int m = 0; m < n[0]; ++m)
    for (j = 0; j < 10; ++j) x[m] += 1.0f;
}
for (i = 0; i < j; ++i) x[i] = 2.0f;
}"""
    counted, operations = analyse(tmp_path, source)
    assert [loop.trip_count for loop in counted.loops] == [None, 10.0, None]
    assert operations.fp32 == 10 * 0.75 * counted.loops[0].assumed


def test_choices_on_data_are_told_and_profiled(tmp_path):
    source = """__global__ void k(float *x) {
float v = x[0] > 1.0f ? x[1] * 2.0f : 3.0f;
x[2] = v;
}"""
    counted, operations = analyse(tmp_path, source)
    assert operations.global_load == 1.5
    assert [(a.rule, a.line) for a in counted.assumptions] == [("PW012", 2)]
    profile = BranchProfile((ArmProbability("k.cu", 2, "then", 0.25),))
    counted, operations = analyse(tmp_path, source, profile=profile)
    assert operations.global_load == 1.25
    assert counted.assumptions == ()


def test_a_pointer_parameter_is_not_null(tmp_path):
    source = "__global__ void k(float *x, float *y) { if (y != nullptr) x[0] = 1.0f; else x[1] = y == 0; }"
    counted, operations = analyse(tmp_path, source)
    assert operations.global_store == 1
    assert counted.assumptions == ()


@pytest.mark.parametrize("leave", [1.0, 0.5, 0.1, 0.01, 0.001])
@pytest.mark.parametrize(
    "loop", ["for (int j = 0; j < 1000; ++j) {", "while (true) {", "while (d[3] != 5) {", "for (;;) {"]
)
def test_a_profiled_exit_makes_a_geometric_loop(tmp_path, loop, leave):
    source = f"""__global__ void k(const int *d, float *x) {{
int i = threadIdx.x;
{loop}
if (d[i] == 7)
  break;
x[i] += 1.0f;
}}
}}"""
    arms = [ArmProbability("k.cu", 4, "then", leave)]
    again = 1.0
    if "d[3]" in loop:
        again = 0.75
        arms.append(ArmProbability("k.cu", 3, "loop", again))
    counted, _ = analyse(tmp_path, source, profile=BranchProfile(tuple(arms)))
    (trips,) = counted.loops
    stay = (1 - leave) * again
    expected = (1 - stay**1000) / (1 - stay) if "1000" in loop else 1 / (1 - stay)
    assert trips.trip_count == pytest.approx(expected)
    assert counted.assumptions == ()


@pytest.mark.parametrize(
    ("loop", "trips"),
    [
        ("int x = 1000; while (x && (x & 1) == 0) { y[x] = 1.0f; x >>= 1; }", 3),
        ("for (int j = 0; j <= 600 && j * j < n; ++j) y[j] = 1.0f;", 23),
        ("for (int j = 0; j < 16 && n > 3; ++j) y[j] = 1.0f;", 16),
        ("for (int j = 0; j < 16 && n < 3; ++j) y[j] = 1.0f;", 0),
    ],
)
def test_conditions_of_several_parts_are_run_when_nothing_depends_on_data(tmp_path, loop, trips):
    source = f"__global__ void k(float *y, int n) {{ {loop} }}"
    counted, operations = analyse(tmp_path, source, "n=512")
    assert operations.global_store == trips
    assert counted.assumptions == ()


def test_a_pointer_chosen_by_warp_keeps_its_coalescing(tmp_path):
    source = """__global__ void k(const float *a, const float *b, float *y) {
      const float *p = threadIdx.x / 32 < 1 ? a : b;
      y[threadIdx.x] = p[threadIdx.x];
    }"""
    counted, _ = analyse(tmp_path, source)
    assert [site.sectors_per_request for site in counted.sites] == [4, 4]


def test_fast_intrinsics_of_constants_bound_loops(tmp_path):
    source = "__global__ void k(float *y) { for (int i = 1; i <= __log2f(16); ++i) y[i] = 1.0f; }"
    counted, operations = analyse(tmp_path, source)
    assert operations.global_store == 4
    assert counted.assumptions == ()


def test_sizes_in_guards_are_what_the_grid_covers_along_their_axis(tmp_path):
    source = """__global__ void k(float *x, int width, int height) {
      int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
      if (column >= width || row >= height) return;
      x[row * width + column] = 0.0f;
    }"""
    counted, operations = analyse(tmp_path, source, launch="k=4,6:16,8")
    assert operations.global_store == pytest.approx(1.0)
    assert sorted(a.message.split()[-1] for a in counted.assumptions) == ["48", "64"]


def test_sizes_that_would_let_nothing_happen_are_not_assumed(tmp_path):
    source = """__global__ void k(float *x, int halo) {
      int inner = 16 - 2 * halo;
      for (int i = 0; i < inner; ++i) x[i] = 0.0f;
    }"""
    counted, operations = analyse(tmp_path, source)
    assert operations.global_store == 14
    assert "halo assumed 1" in counted.assumptions[0].message


SEARCHES = {
    "returned": "if (holds(a, n, i)) x[i] = 2.0f * x[i];",
    "flag": "bool ok = true; for (int j = 0; j < n; ++j) if (a[j] == i) { ok = false; break; }\n"
    "if (ok) x[i] = 2.0f * x[i];",
    "counter": "int j; for (j = 0; j < n; ++j) if (a[j] == i) break;\nif (j < n) x[i] = 2.0f * x[i];",
    "condition": "int j = 0; while (j < n && a[j] != i) ++j;\nif (j < n) x[i] = 2.0f * x[i];",
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
def test_what_follows_from_never_leaving_a_loop_is_not_known(tmp_path, search):
    source = f"""__device__ bool holds(const int *a, int n, int wanted) {{
    for (int j = 0; j < n; ++j) {{ if (a[j] == wanted) return true; }}
    return false; }}
__global__ void k(const int *a, int n, float *x) {{
    int i = blockIdx.x * 64 + threadIdx.x; {search} }}"""
    counted, operations = analyse(tmp_path, source, "k.n=100")
    assert operations.fp32 == pytest.approx(0.5)
    arm = next(arm for arm in counted.arms if arm.probability > 0)
    assert arm.source is ProbabilitySource.DEFAULT


@pytest.mark.parametrize(
    ("condition", "probability"),
    [
        ("a[0] == 7", 0.5),
        ("a[0] < 0", 0.5),
        ("f[0] != f[1]", 0.5),
        ("a[0] == 3 && a[1] == 4", 0.25),
        ("a[0] == 3 || a[1] == 4", 0.75),
        ("threadIdx.x < 8 && a[0] == 3", 0.0625),  # what thread indices decide stays exact
    ],
)
def test_what_data_decide_goes_either_way(tmp_path, condition, probability):
    source = f"__global__ void k(const int *a, float *f) {{ if ({condition}) f[2] = 1.0f; }}"
    counted, _ = analyse(tmp_path, source)
    assert [(arm.probability, arm.source) for arm in counted.arms] == [
        (probability, ProbabilitySource.DEFAULT)
    ]
    assumed = "each arm assumed as likely as the other"
    if probability in (0.25, 0.75):
        assumed = "each test of them assumed as likely to hold as not"
    assert [a.message for a in counted.assumptions if a.rule == "PW012"] == [
        f"branch depends on data: {assumed}"
    ]


def test_lanes_that_break_one_after_the_other_all_go_on_behind_the_loop(tmp_path):
    source = """__global__ void k(float *x) {
    float s = x[threadIdx.x];
    for (int j = 0; j < 4; ++j) { if (threadIdx.x == j) break; s += 1.0f; }
    x[threadIdx.x] = s * 2.0f; }"""
    _, operations = analyse(tmp_path, source, launch="k=1:32")
    additions = (0 + 1 + 2 + 3 + 28 * 4) / 32
    assert operations.fp32 == pytest.approx(additions + 1.0)


def test_the_interval_is_widest_where_nothing_is_known():
    assert spread(0.5) == (0.0, 1.0)
    assert spread(1.0) == (1.0, 1.0)
    low, high = spread(0.84)
    assert low == pytest.approx(0.84 - (0.84 * 0.16) ** 0.5)
    assert high == 1.0


def test_a_profile_overrules_what_only_an_assumed_parameter_decides(tmp_path):
    source = """__global__ void k(int n, float *x) {
int m = n + 1;
if (m > 5) x[threadIdx.x] *= 2.0f; }"""
    profile = BranchProfile((ArmProbability("k.cu", 3, "then", 0.125),))
    counted, operations = analyse(tmp_path, source, profile=profile)
    assert operations.fp32 == 0.125
    assert [(arm.probability, arm.source) for arm in counted.arms] == [(0.125, ProbabilitySource.PROFILE)]
    assert [a.fix for a in counted.assumptions if a.rule == "PW019"] == ["--set k.n=VALUE"]
    counted, operations = analyse(tmp_path, source, "k.n=7", profile=profile)
    assert operations.fp32 == 1
    assert [arm.source for arm in counted.arms] == [ProbabilitySource.STATIC]
    (told,) = counted.assumptions
    assert told.message.startswith(
        "100% of visits take this branch in the launch analysed, by the profile 12%"
    )


def test_a_profile_decides_what_follows_from_a_loop_that_data_leave(tmp_path):
    source = """__device__ bool all(const int *a, int n) {
    for (int j = 0; j < n; ++j) { if (a[j] != j) return false; }
    return true; }
__global__ void k(const int *a, int n, float *x) { if (all(a, n)) x[0] *= 2.0f; }"""
    arms = (ArmProbability("k.cu", 2, "then", 0.7), ArmProbability("k.cu", 4, "then", 0.25))
    _, operations = analyse(tmp_path, source, "k.n=1000", profile=BranchProfile(arms))
    assert operations.fp32 == 0.25


def test_a_measured_loop_that_an_assumed_parameter_bounds_is_told(tmp_path):
    source = """__global__ void k(int n, float *x) {
for (int j = 0; j < n; ++j) x[threadIdx.x] *= 2.0f; }"""
    profile = BranchProfile((ArmProbability("k.cu", 2, "loop", 0.9),))
    counted, _ = analyse(tmp_path, source, profile=profile)
    assert [a.fix for a in counted.assumptions if a.rule == "PW019"] == ["--set k.n=VALUE"]
    counted, _ = analyse(tmp_path, source, "k.n=9", profile=profile)
    assert counted.assumptions == ()


@pytest.mark.parametrize(
    ("body", "swaps", "message"),
    [
        (
            "int old = *p, was; do { was = old; old = atomicCAS(p, was, was * i); } while (was != old);",
            1,
            "came",
        ),
        ("while (atomicCAS(p, 0, 1) != 0);", 9, "8 iterations assumed"),  # waits for another thread
    ],
)
def test_a_compare_and_swap_that_is_repeated_succeeds_at_once(tmp_path, body, swaps, message):
    counted, operations = analyse(tmp_path, f"__global__ void k(int *p, int i) {{ {body} }}")
    assert operations.atomic == swaps
    assert [message in a.message for a in counted.assumptions if a.rule == "PW013"] == [True]


def test_a_loop_that_data_may_end_is_told_once_for_all_its_bounds(tmp_path):
    body = (
        "for (int i = 1; i < 9; i++) { int j = i; while (j > 0 && d[j - 1] > x) { d[j] = d[j - 1]; j--; } }"
    )
    counted, _ = analyse(tmp_path, f"__global__ void k(float *d, float x) {{ {body} }}")
    (told,) = (one.message for one in counted.assumptions if one.rule == "PW013")
    assert (
        told
        == "the loop may end early, which depends on data: assumed to run to its bound, 1 to 8 iterations"
    )


@pytest.mark.parametrize(
    ("first", "stores"), [("", 40 / 64), ("c.width = n;", 0.5), ("int *w = &c.width; *w = n;", 0.5)]
)
def test_a_struct_with_an_array_has_its_known_members(tmp_path, first, stores):
    source = f"""struct C {{ int width; float k; double s[2]; }};
__global__ void k(C c, const int *p, float *x) {{ int n = p[0]; {first}
if (threadIdx.x < c.width) x[threadIdx.x] = 1.0f; }}
int main() {{ C c; c.width = 40; float *x; int *p; k<<<1, 64>>>(c, p, x); }}"""
    path = tmp_path / "k.cu"
    path.write_text(source)
    (launch,) = resolve_launches(read_cuda(path), parse_overrides((), ()), load_gpu("v100"))
    counted = count(launch)
    (arm,) = counted.arms
    assert arm.probability == stores


@pytest.mark.parametrize("jump", ["if ((i & 1) == 0) continue;", "if (i > 9) break;"])
def test_lanes_that_never_enter_a_loop_with_a_jump_test_it_once(tmp_path, jump):
    source = f"""__global__ void k(int* out, int n) {{
        for (int i = threadIdx.x; i < n; i += 64) {{ {jump} out[i] = i; }}
    }}"""
    launch, profile = counted(tmp_path, source, "k=1:64", "k.n=24")
    (loop,) = (s for s in ir.walk_statements(launch.kernel.body) if isinstance(s, ir.Loop))
    stay = 10 if "break" in jump else 24  # lanes above 9 leave by the jump, without a second test
    assert profile.thread_counts[loop.test_region] * 64 == pytest.approx(64 + stay)


KINDS = """
__global__ void k(const float *x, float *y) {
    float a = x[threadIdx.x];
    if (blockIdx.x < 6)
        for (int i = 0; i < 1000 * (blockIdx.x / 3 + 1); i++)
            if (x[i * 256 + threadIdx.x] > 0.5f) a = a * a + 1.0f;
    y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
"""


@pytest.mark.parametrize("blocks", [12, 1000])
def test_kinds_of_blocks_add_up_to_all_blocks(tmp_path, blocks):
    """Three blocks of 2000 iterations, three of 1000, the others of none; lanes decide by data."""
    _, found = counted(tmp_path, KINDS, f"k={blocks}:256")
    assert [round(kind.share * blocks) for kind in found.kinds] == [3, 3, blocks - 6]
    assert found.kinds[0].size == pytest.approx(2 * found.kinds[1].size, rel=0.01)
    assert max(found.kinds[0].thread_counts) == pytest.approx(2001)  # the test of the loop
    for means, own in (
        (found.thread_counts, [kind.thread_counts for kind in found.kinds]),
        (found.warp_counts, [kind.warp_counts for kind in found.kinds]),
    ):
        for region, mean in enumerate(means):
            total = sum(kind.share * counts[region] for kind, counts in zip(found.kinds, own, strict=True))
            assert total == pytest.approx(mean)
    (chance,) = (arm.region for arm in found.arms if arm.source is ProbabilitySource.DEFAULT)
    assert found.warp_counts[chance] > 1.9 * found.thread_counts[chance]
    twice = found.with_counts([2 * one for one in found.thread_counts], found.warp_counts)
    assert twice.kinds[0].thread_counts == pytest.approx([2 * one for one in found.kinds[0].thread_counts])
    assert twice.kinds[0].warp_counts == found.kinds[0].warp_counts
    in_loop = found.sites[1]  # looked at in a block of 1000 or 2000 iterations
    assert round(9 / blocks / in_loop.block_scale, 6) in (1, 2)


def test_blocks_of_equal_work_are_of_one_kind(tmp_path):
    even = KINDS.replace("blockIdx.x < 6", "blockIdx.x < 10000").replace("blockIdx.x / 3 + 1", "3")
    _, found = counted(tmp_path, even, "k=1000:256")
    assert found.kinds == ()
    assert found.longest_warp == pytest.approx(1.0)


def test_what_all_lanes_share_equals_one_of_the_values_of_the_lanes():
    """`threadIdx.x == best`: one thread of a block of 64, whatever the block found."""
    kernel, profile = launched(
        """__global__ void k(const float* e, float* o) {
          __shared__ int best[64]; int t = threadIdx.x; best[t] = t; __syncthreads();
          for (int d = 32; d > 0; d /= 2) { if (e[t] > e[t + d]) best[t] = best[t + d]; __syncthreads(); }
          if (t == best[0]) o[blockIdx.x] = e[t];
          if (t != best[0]) o[blockIdx.x + 1] = e[t];
        }
        int main() { k<<<1024, 64>>>(0, 0); }"""
    )
    *_, meets, differs = [stmt for stmt in ir.walk_statements(kernel.body) if isinstance(stmt, ir.If)]
    assert profile.thread_counts[meets.then.region] == pytest.approx(1 / 64)
    assert profile.thread_counts[differs.then.region] == pytest.approx(63 / 64)
    told = {entry.message for entry in profile.assumptions if entry.rule == "PW012"}
    assert any("to meet one of 64 values" in message for message in told)
