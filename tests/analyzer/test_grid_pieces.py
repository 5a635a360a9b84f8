"""Counts of large grids: guards cut them into pieces that are weighed exactly, or counts say otherwise."""

import pytest

from wattslice import ir
from wattslice.counting import count as counting
from wattslice.counting import sampling
from wattslice.counting.boundaries import Boundaries
from wattslice.counting.count import count
from wattslice.counting.pieces import Plan, Planner, Structure, cubic_rule
from wattslice.counting.profile import ExecutionProfile, ProbabilitySource, total_counts
from wattslice.counting.state import STEPS_BETWEEN_LOOKS, InVainError
from wattslice.frontend.cuda.clang.flags import ParseOptions
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import KernelLaunch
from wattslice.launches.overrides import parse_overrides
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

HEAD = "__global__ void k(float *x, int n, int w, int h) {\n"
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
PLACE = "int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;\n"


@pytest.fixture(autouse=True)
def pieces_only(monkeypatch):
    """No grid is evaluated as a whole where its pieces could be found."""
    monkeypatch.setattr(counting, "LANES_OF_ALL", (0, 0))
    monkeypatch.setattr(counting, "WORK_OF_KINDS", 0)


def launch_of(tmp_path, body: str, launch: str, *settings: str, before: str = "") -> KernelLaunch:
    path = tmp_path / "k.cu"
    path.write_text(before + HEAD + body + "}\n")
    program = read_cuda(path, ParseOptions())
    assert program.diagnostics == ()
    (found,) = resolve_launches(program, parse_overrides((launch,), settings), load_gpu("v100"))
    return found


def stores(launch: KernelLaunch) -> tuple[float, ExecutionProfile]:
    """Stores of the whole grid."""
    profile = count(launch)
    threads = launch.blocks * launch.threads_per_block
    return total_counts(launch.kernel, profile).global_store * threads, profile


GUARDS = [  # body, launch, settings, threads of the grid that store
    (PLACE + "if (c < w && r < h) x[r*w+c] = 1;", "k=64,64:32,32", ("k.w=1500", "k.h=1100"), 1500 * 1100),
    (PLACE + "if (c < w && r < h) x[r*w+c] = 1;", "k=128,128:16,16", ("k.w=1500", "k.h=1100"), 1500 * 1100),
    (PLACE + "if (r < w && c < h) x[r*w+c] = 1;", "k=128,128:16,16", ("k.w=1500", "k.h=1100"), 1500 * 1100),
    (
        PLACE + "if (c >= w || r >= h) return; x[r*w+c] = 1;",
        "k=99,128:16,16",
        ("k.w=1500", "k.h=1101"),
        1500 * 1101,
    ),
    (
        PLACE + "if (!(c < w) || !(r < h)) {} else x[0] = 1;",
        "k=99,128:16,16",
        ("k.w=1500", "k.h=999"),
        1500 * 999,
    ),
    (INDEX + "if (i < n / 4) x[i] = 1;", "k=4096:256", ("k.n=1048576",), 1048576 // 4),
    (INDEX + "if (blockIdx.x < 100) x[i] = 1;", "k=65536:64", (), 6400),
    (INDEX + "if (blockIdx.x == 4711) x[i] = 1;", "k=65536:64", (), 64),
    (INDEX + "if (blockIdx.x % 100 == 50) x[i] = 1;", "k=65536:64", (), 655 * 64),
    (INDEX + "if (blockIdx.x % 100 == 50 && i < n) x[i] = 1;", "k=65536:64", ("k.n=1000000",), 156 * 64),
    (INDEX + "if (blockIdx.x & 1) x[i] = 1;", "k=65535:64", (), 32767 * 64),
    (INDEX + "if ((blockIdx.x & 12) == 4) x[i] = 1;", "k=65530:64", (), (65530 // 16 * 4 + 4) * 64),
    (INDEX + "if (i % 3 == 0) x[i] = 1;", "k=65536:64", (), -(-65536 * 64 // 3)),
    (INDEX + "if (i / w % 2 == 0) x[i] = 1;", "k=65536:64", ("k.w=4096",), 65536 * 32),
    (INDEX + "if (i < n) x[i] = 1;", "k=1000000:128", ("k.n=999",), 999),
    (
        "size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\nif (i >= n) return; x[i] = 1;",
        "k=1000000:128",
        ("k.n=1234567",),
        1234567,
    ),
    (
        "long long b = blockIdx.y * (long long)gridDim.x + blockIdx.x, i = b * blockDim.x + threadIdx.x;\n"
        "if (i < n) x[i] = 1;",
        "k=60,700:64",
        ("k.n=1030301",),
        1030301,
    ),
    (
        "if (blockIdx.x * 16 + threadIdx.x < n) x[0] = 1;",
        "k=1000:64",
        ("k.n=805",),
        sum(16 * b + t < 805 for b in range(1000) for t in range(64)),
    ),
    (INDEX + "if (i >= 100 && i < n - 100) x[i] = 1;", "k=5000:64", ("k.n=300000",), 299800),
    (INDEX + "unsigned j = i - 5; if (j < n) x[i] = 1;", "k=5000:64", ("k.n=300000",), 300000),
    (
        INDEX + "int m = min(max(i - w, 0), h); if (m > 0 && m < h) x[i] = 1;",
        "k=5000:64",
        ("k.w=777", "k.h=999"),
        998,
    ),
    (
        "int r = blockIdx.x / 100 * 8 + threadIdx.x / 8, c = blockIdx.x % 100 * 8 + threadIdx.x % 8;\n"
        "if (r < h && c < w) x[r*w+c] = 1;",
        "k=10000:64",
        ("k.w=797", "k.h=500"),
        797 * 500,
    ),
    (
        PLACE + "int z = blockIdx.z * blockDim.z + threadIdx.z; if (c < w && r < h && z < n) x[z] = 1;",
        "k=40,40,40:8,8,4",
        ("k.w=300", "k.h=201", "k.n=99"),
        300 * 201 * 99,
    ),
    (PLACE + "if (c < r) x[c] = 1;", "k=64,64:16,16", (), 1024 * 1023 // 2),
    (PLACE + "if (c + r < n) x[c] = 1;", "k=64,64:16,16", ("k.n=700",), 700 * 701 // 2),
    (
        PLACE + "if (blockIdx.x > 2 * blockIdx.y) x[c] = 1;",
        "k=64,64:16,16",
        (),
        sum(max(0, 63 - 2 * y) for y in range(64)) * 256,
    ),
    (
        INDEX + "switch (blockIdx.x % 5) { case 1: case 3: x[i] = 1; break; default: break; }",
        "k=5003:64",
        (),
        2001 * 64,
    ),
    # with a new period the blocks to evaluate are the same as before it
    (
        PLACE + "if ((c >> 2) < 10) { if (r > 166 && c % 3 < 1) x[c] = 1; }",
        "k=6,50:10,10",
        (),
        14 * (500 - 167),
    ),
    # a diagonal moves by a part of the period
    (
        PLACE + "if (blockIdx.x % 3 == 1 && c < r) x[c] = 1;",
        "k=60,61:8,8",
        (),
        sum(c // 8 % 3 == 1 for r in range(488) for c in range(min(r, 480))),
    ),
    (
        PLACE + "if (c % 5 == 0 && 2 * r + c < 700) x[c] = 1;",
        "k=90,61:8,8",
        (),
        sum(2 * r + c < 700 for r in range(488) for c in range(0, 720, 5)),
    ),
]


@pytest.mark.parametrize(("body", "launch", "settings", "truth"), GUARDS)
def test_guards_cut_the_grid_where_they_change(tmp_path, body, launch, settings, truth):
    found, profile = stores(launch_of(tmp_path, body, launch, *settings))
    assert found == pytest.approx(truth, rel=1e-12)
    assert profile.sampling is None
    assert profile.assumptions == ()


SQUARE = range(1600)
CUT_DIAGONALS = [  # condition, launch, threads of the grid for which it holds
    ("c >= r && c < 1500 && r >= 100", "k=100,100:16,16", sum(1500 - r for r in range(100, 1500))),
    ("c >= r && c < 1500", "k=100,100:16,16", sum(1500 - r for r in range(1500))),
    ("c + r < 1500 && c >= 100", "k=100,100:16,16", sum(1500 - c for c in range(100, 1500))),
    (
        "c + r < 1500 && c >= 100 && c < 900 && r >= 50",
        "k=100,100:16,16",
        sum(max(0, 1500 - c - 50) for c in range(100, 900)),
    ),
    (
        "blockIdx.y <= blockIdx.x && blockIdx.x < 93 && blockIdx.y >= 7",
        "k=100,100:32",
        32 * sum(93 - y for y in range(7, 93)),
    ),
    (
        "r * 32 <= c && c < 10000 && r >= 10",
        "k=100,400:128",
        sum(max(0, 10000 - 32 * r) for r in range(10, 400)),
    ),
    ("c >= r && c + r < 1200", "k=100,100:16,16", sum(max(0, 1200 - 2 * r) for r in SQUARE)),
    (
        "r <= 2 * c && c < 700 && c + r >= 300",
        "k=100,100:16,16",
        sum(max(0, min(2 * c, 1599) - max(0, 300 - c) + 1) for c in range(700)),
    ),
    (
        "2 * r <= c && c < 1100 && c + r >= 300",
        "k=100,100:16,16",
        sum(max(0, c // 2 - max(0, 300 - c) + 1) for c in range(1100)),
    ),
]


@pytest.mark.parametrize(("condition", "launch", "truth"), CUT_DIAGONALS)
def test_pieces_begin_where_a_diagonal_meets_another_bound(tmp_path, condition, launch, truth):
    found, profile = stores(launch_of(tmp_path, PLACE + f"if ({condition}) x[c] = 1;", launch))
    assert found == pytest.approx(truth, rel=1e-12)
    assert profile.sampling is None


def test_each_remainder_of_a_period_inside_has_a_diagonal_of_its_own(tmp_path, monkeypatch):
    """Over all remainders together the diagonal moves evenly, but not all of them run it."""
    monkeypatch.setattr(sampling, "SAMPLED_LANES", 1024)
    monkeypatch.setattr(sampling, "FULL_LAUNCH_LANES", 1024)
    sampling.planned.cache_clear()
    condition = "(((r + c) & 12) != 4 || c / 3 < 31) && ((211 - r) & 6) == 0 && (r - c != -47 || c > 67)"
    found, profile = stores(launch_of(tmp_path, PLACE + f"if ({condition}) x[c] = 1;", "k=13,53:8,4"))
    sampling.planned.cache_clear()
    assert profile.sampling is None
    truth = sum(
        ((r + c & 12) != 4 or c < 93) and not 211 - r & 6 and (r - c != -47 or c > 67)
        for r in range(212)
        for c in range(104)
    )
    assert found == pytest.approx(truth, rel=1e-12)


def test_diagonals_of_three_axes_are_summed_exactly(tmp_path):
    body = (
        "int c = blockIdx.x, r = blockIdx.y, z = blockIdx.z;\n"
        "if (r <= z - 4 && c + z < 24 && z >= 5) x[c] = 1;"
    )
    found, profile = stores(launch_of(tmp_path, body, "k=66,90,15:32"))
    assert found == pytest.approx(32 * sum((z - 3) * (24 - z) for z in range(5, 15)), rel=1e-12)
    assert profile.sampling is None


def test_loops_within_a_diagonal_are_summed_exactly(tmp_path):
    body = PLACE + "if (r <= c && c < 1500) for (int j = 0; j < c; ++j) x[j] = 1;"
    found, profile = stores(launch_of(tmp_path, body, "k=100,100:16,16"))
    assert found == pytest.approx(sum(c * (c + 1) for c in range(1500)), rel=1e-12)
    assert profile.sampling is None


LOOPS = [
    (INDEX + "for (int j = 0; j <= i; ++j) x[j] = 1;", "k=400:32", (), 12800 * 12801 // 2),
    (
        INDEX + "for (int j = i; j < n; j += gridDim.x * blockDim.x) x[j] = 1;",
        "k=400:256",
        ("k.n=1234567",),
        1234567,
    ),
    (
        INDEX + "for (int j = 0; j < min(i, n); ++j) x[j] = 1;",
        "k=400:64",
        ("k.n=5000",),
        4999 * 2500 + 20600 * 5000,
    ),
    (
        INDEX + "for (int j = 0; j < blockIdx.x; j += 3) x[j] = 1;",
        "k=400:64",
        (),
        64 * sum(-(-b // 3) for b in range(400)),
    ),
    (
        INDEX + "for (int j = 0; j < blockIdx.x; ++j) for (int m = 0; m < blockIdx.x; ++m) x[m] = 1;",
        "k=400:32",
        (),
        32 * sum(b * b for b in range(400)),
    ),
    (
        INDEX + "for (int m = 0; m < 50; ++m) if (m <= blockIdx.x) x[i] = 1;",
        "k=400:64",
        (),
        64 * (1225 + 351 * 50 + 0),
    ),
    (  # of 64 forms of each condition nearly all change at no block of the grid
        "for (unsigned j = blockIdx.x * 32 + threadIdx.x; j < n; j += gridDim.x * 32)"
        " { x[j] = 1; if (j + 16 < n) x[j + 16] = 1; }",
        "k=4099:16",
        ("k.n=8388611",),
        8388611,
    ),
    (
        PLACE + "for (int t = 0; t < (w + 15) / 16; ++t) if (r < h && t * 16 + threadIdx.x < w) x[r] = 1;",
        "k=4,90:16,16",
        ("k.w=200", "k.h=500"),
        4 * 200 * 500,
    ),
]


@pytest.mark.parametrize(("body", "launch", "settings", "truth"), LOOPS)
def test_loops_that_depend_on_the_block_are_summed_exactly(tmp_path, body, launch, settings, truth):
    found, profile = stores(launch_of(tmp_path, body, launch, *settings))
    assert found == pytest.approx(truth, rel=1e-12)
    assert profile.sampling is None


def test_rows_of_warps_that_grow_and_begin_again_are_summed_exactly(tmp_path):
    """A warp a row, 128 blocks until rows repeat: row r of 1 024 takes r / 4 and r + 1 elements."""
    head = "int lane = threadIdx.x % 32, row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, r = row % w;\n"
    body = head + "if (row >= n) return;\nfor (int j = lane; j < r / 4; j += 32) x[j] = 1;\n"
    body += "if (r / 4 * 4 + lane <= r) x[0] = 1;\nfor (int j = lane; j <= r; j += 32) x[j] = 1;\n"
    launch = launch_of(tmp_path, body, "k=6144:256", "k.n=49152", "k.w=1024")
    found, profile = stores(launch)
    assert profile.sampling is None
    assert found == 48 * sum(r // 4 + r % 4 + 1 + r + 1 for r in range(1024))
    assert [loop.trip_count for loop in profile.loops] == [127.5 / 32, 512.5 / 32]


def test_the_same_work_on_a_larger_grid_is_the_same_work(tmp_path):
    body = PLACE + "if (c < w && r < h) x[r*w+c] = 1;"
    exact = stores(launch_of(tmp_path, body, "k=47,35:32,32", "k.w=1500", "k.h=1100"))[0]
    large = launch_of(tmp_path, body, "k=512,512:32,32", "k.w=1500", "k.h=1100")
    found, profile = stores(large)
    assert found == pytest.approx(exact)
    (store,) = (site for site in profile.sites if site.launch_reach)
    assert store.launch_reach is not None
    assert store.launch_reach.bytes == 4 * 1500 * 1100  # the last row and column are seen
    assert store.block_reach is not None
    assert store.sectors_per_request is not None


def test_a_partial_warp_is_issued_as_a_whole_one(tmp_path):
    launch = launch_of(tmp_path, INDEX + "if (i < n) x[i] = 1;", "k=40000:64", "k.n=100001")
    profile = count(launch)
    (arm,) = profile.arms
    assert profile.warp_counts[arm.region] * 80000 == pytest.approx(3126)  # 3125 whole warps and one lane
    assert arm.source is ProbabilitySource.STATIC


@pytest.mark.parametrize(
    "condition",
    [
        "i * i < 123456789",
        "(i * 2654435761u >> 7) & 1",
        "i * i % 7 < 3",
        "__popc(i) > 8",
        "(int)(i * 0.37f) % 2",
    ],
)
def test_what_is_not_linear_is_sampled_and_says_so(tmp_path, condition):
    launch = launch_of(tmp_path, INDEX + f"if ({condition}) x[i] = 1;", "k=2000:64")
    found, profile = stores(launch)
    assert profile.sampling is not None
    assert profile.sampling.blocks < profile.sampling.of_blocks == 2000
    (told,) = (entry.message for entry in profile.assumptions if entry.rule == "PW028")
    assert f"in {profile.sampling.blocks} of 2000 blocks" in told
    assert "line 3" in told
    (arm,) = profile.arms
    assert arm.source is ProbabilitySource.SAMPLED
    truth = whole(launch)
    low, high = arm.interval
    assert low < high
    (exact,) = truth.arms
    assert low <= exact.probability <= high
    assert_within_bounds(profile, truth)
    assert found == pytest.approx(arm.probability * 2000 * 64)


RARE = [
    "if (blockIdx.x * blockIdx.x % 4099u == 5) LOOP(100000)",
    "int b = blockIdx.x; if (b * b == b * 140 - 4900) LOOP(100000)",
    "int b = blockIdx.x, r = b * b % 10007; if (r < 8) LOOP(r * 1000)",
    "unsigned g = blockIdx.x * 2654435761u >> 12; int m = g % 2000 == 7 ? 5000 : 1; LOOP(m)",
    "unsigned g = blockIdx.x * 2654435761u >> 12; int m = 1; if (g % 2000 == 7) m = 5000; LOOP(m)",
    "unsigned g = blockIdx.x * 2654435761u >> 12; int m = 1; g % 2000 == 7 ? m = 5000 : m = 2; LOOP(m)",
    "unsigned g = blockIdx.x * 2654435761u >> 12; int m = 1; if (g % 2000 == 7) m++; m *= 50; LOOP(m)",
    "unsigned g = blockIdx.x * 2654435761u >> 12; int m = long_one(g); LOOP(m)",
    "unsigned g = blockIdx.x * 2654435761u >> 12; int m; set_long(g, m); LOOP(m)",
    "unsigned g = blockIdx.x * 2654435761u >> 12; __shared__ int s; s = g % 2000 == 7 ? 900 : 1; LOOP(s)",
]
ONE_OF_MANY = """
__device__ int long_one(unsigned g) { int m = 900; if (g % 2000 == 7) return m; m = 2; return m; }
__device__ void set_long(unsigned g, int &m) { m = 900; if (g % 2000 == 7) return; m = 2; }
"""


@pytest.mark.parametrize("body", RARE)
def test_no_bound_is_told_where_rare_blocks_may_run_a_loop_longer(tmp_path, body):
    at = body.index("LOOP(")
    text = f"{body[:at]}for (int j = 0; j < {body[at + 5 : -1]}; j++) x[j] = 1;"
    launch = launch_of(tmp_path, f"{text} x[0] = 2;", "k=9000:64", before=ONE_OF_MANY)
    _, profile = stores(launch)
    assert profile.sampling is not None
    assert profile.sampling.relative_error is None
    (told,) = (entry.message for entry in profile.assumptions if entry.rule == "PW028")
    assert "how far operations are off is unknown" in told
    assert all(loop.trip_count is None for loop in profile.loops)


@pytest.mark.parametrize("body", [*RARE, "LOOP(__popc(blockIdx.x * 77) + threadIdx.x % 3)"])
def test_rare_blocks_are_found_where_all_can_be_counted(tmp_path, monkeypatch, body):
    at = body.index("LOOP(")
    text = f"{body[:at]}for (int j = 0; j < {body[at + 5 : -1]}; j++) x[j] = 1;"
    launch = launch_of(tmp_path, f"{text} x[0] = 2;", "k=900,5:64", before=ONE_OF_MANY)
    monkeypatch.setattr(counting, "WORK_OF_KINDS", 1 << 40)
    monkeypatch.setattr(counting, "LANES_TOGETHER", 1 << 16)
    _, profile = stores(launch)
    assert profile.sampling is None
    truth = whole(launch)
    assert profile.thread_counts == pytest.approx(truth.thread_counts, rel=1e-12)
    assert profile.warp_counts == pytest.approx(truth.warp_counts, rel=1e-12)
    assert profile.longest_warp == pytest.approx(truth.longest_warp)


def test_too_many_kinds_of_blocks_are_sampled(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "WORK_OF_KINDS", 1 << 40)
    monkeypatch.setattr(counting, "MOST_LANES", 1 << 10)
    body = INDEX + "unsigned g = i * 747796405u; g ^= g >> 13; g *= 2654435761u;"
    body += "for (int j = 0; j < (g >> 9) % 16; j++) x[j] = 1;"
    assert stores(launch_of(tmp_path, body, "k=2000:64"))[1].sampling is not None


@pytest.mark.parametrize(
    "body",
    [
        "if (i * i % 7 < 3) for (int j = 0; j < n; j++) x[j] = 1;",
        "int j; if (i * i % 7 < 3) for (j = 0; j < n; j++) x[j] = 1;",  # begun by the loop
    ],
)
def test_a_loop_that_all_blocks_run_alike_keeps_the_bound(tmp_path, body):
    launch = launch_of(tmp_path, INDEX + body, "k=2000:64", "k.n=16")
    _, profile = stores(launch)
    assert profile.sampling is not None
    assert profile.sampling.relative_error is not None
    assert [loop.trip_count for loop in profile.loops] == [16.0]
    assert_within_bounds(profile, whole(launch))


def test_a_counter_that_its_loop_changes_where_rare_blocks_are_is_open(tmp_path):
    body = "int j; for (j = 0; j < 40; j++) { x[j] = 1; if (blockIdx.x * blockIdx.x % 4099u == 5) j += 9; }"
    _, profile = stores(launch_of(tmp_path, body, "k=9000:64"))
    assert profile.sampling is not None
    assert profile.sampling.relative_error is None


def test_a_fixed_loop_in_one_that_rare_blocks_run_longer_keeps_its_trips(tmp_path):
    body = "int m = blockIdx.x * blockIdx.x % 4099u == 5 ? 900 : 2; for (int j = 0; j < m; j++)"
    launch = launch_of(tmp_path, f"{body} for (int l = 0; l < 5; l++) x[l] = 1;", "k=9000:64")
    _, profile = stores(launch)
    assert profile.sampling is not None
    assert profile.sampling.relative_error is None
    assert [loop.trip_count for loop in profile.loops] == [None, 5.0]


def test_an_arm_that_no_drawn_block_runs_is_within_the_bound(tmp_path):
    body = "if (blockIdx.x * blockIdx.x % 4099u == 5) { x[1] = 1; x[2] = 2; } x[0] = 2;"
    launch = launch_of(tmp_path, body, "k=9000:64")
    _, profile = stores(launch)
    assert profile.sampling is not None
    assert profile.sampling.relative_error is not None
    assert_within_bounds(profile, whole(launch))


def test_a_grid_that_is_not_too_large_is_evaluated_where_its_pieces_are_not_found(tmp_path, monkeypatch):
    launch = launch_of(tmp_path, INDEX + "if (i * i % 7 < 3) x[i] = 1;", "k=2000:64")
    monkeypatch.setattr(counting, "LANES_OF_ALL", (0, 1 << 19))
    found, profile = stores(launch)
    assert profile.sampling is None
    assert found == pytest.approx(sum(_remainder(i * i) < 3 for i in range(128000)))


def _remainder(value: int) -> int:
    """`value % 7` of a 32-bit int as C does it."""
    wrapped = (value + 2**31) % 2**32 - 2**31
    return wrapped % 7 if wrapped >= 0 else -(-wrapped % 7)


def whole(launch: KernelLaunch) -> ExecutionProfile:
    """The counts of all blocks, each evaluated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sampling, "FULL_LAUNCH_LANES", 1 << 40)
        sampling.planned.cache_clear()
        found = count(launch)
    sampling.planned.cache_clear()
    return found


def assert_within_bounds(profile: ExecutionProfile, truth: ExecutionProfile) -> None:
    """Counts are exact, or within the bounds that they state."""
    known = profile.sampling
    nothing = (0.0,) * len(truth.thread_counts)
    for found, exact, errors in (
        (profile.thread_counts, truth.thread_counts, known.thread_errors if known else nothing),
        (profile.warp_counts, truth.warp_counts, known.warp_errors if known else nothing),
    ):
        for region, error in enumerate(errors):
            if error is None:
                continue  # no bound is told
            assert abs(found[region] - exact[region]) <= error + 1e-9 * max(1.0, exact[region]), region


@pytest.mark.parametrize("extent", [1, 2, 3, 4, 5, 6, 7, 100, 101])
@pytest.mark.parametrize("degree", [0, 1, 2, 3])
def test_the_cubic_rule_sums_cubics(extent, degree):
    nodes = cubic_rule(extent)
    assert sum(w * k**degree for k, w in nodes) == pytest.approx(sum(k**degree for k in range(extent)))
    assert all(0 <= k < extent and w > 0 for k, w in nodes)


def test_a_plan_weighs_every_block_of_the_grid_once():
    for grid, periods in (((1000, 1, 1), (7, 1, 1)), ((90, 41, 3), (4, 5, 1)), ((50, 60, 70), (1, 1, 3))):
        plan = Planner(Structure(grid, periods), 5, 10_000).plan()
        assert plan.weights.sum() == pytest.approx(grid[0] * grid[1] * grid[2])
        assert (plan.places >= 0).all()
        assert (plan.places < grid).all()
        for axis in range(3):
            mean = (plan.places[:, axis] * plan.weights).sum() / plan.weights.sum()
            assert mean == pytest.approx((grid[axis] - 1) / 2)


def test_an_address_that_decides_nothing_does_not_sample_the_grid(tmp_path):
    """What memory holds there is not known anyway: wherever the load goes, all blocks count alike."""
    body = INDEX + "int token = ((const int *)x)[blockIdx.x * blockIdx.x]; if (i < n) x[i] = token;"
    written, profile = stores(launch_of(tmp_path, body, "k=65536:256", "k.n=16000000"))
    assert profile.sampling is None
    assert written == 16_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "evaluations"),
    [
        # where blocks differ; that they differ nowhere else: nothing is left that all iterations could show
        (INDEX + "if (blockIdx.x < 1000) x[i] = 1;", 2),
        # a long loop is run as far as it may in a last evaluation
        ("if (blockIdx.x < 1000) for (int j = 0; j < 400; ++j) if (j % 5 < 2) x[j] = 1;", 3),
        ("if (blockIdx.x < 1000) for (int j = 0; j < 9; ++j) if (j % 5 < 2) x[j] = 1;", 2),
    ],
)
def test_what_was_run_as_far_as_it_may_is_not_evaluated_again(tmp_path, monkeypatch, body, evaluations):
    begun: list[Plan] = []

    def noted(plan: Plan, *others) -> Boundaries:
        begun.append(plan)
        return Boundaries(plan, *others)

    monkeypatch.setattr(counting, "Boundaries", noted)
    launch = launch_of(tmp_path, body, "k=4096:256")
    _, profile = stores(launch)
    assert profile.sampling is None
    assert len(begun) == evaluations


LATER = "for (int j = 0; j < 100; ++j) if (j % 5 < 2) x[j] = 1;"
LONG = "for (int j = 0; j < 900; ++j) if (j % 5 < 2) x[j] = 1;"


@pytest.fixture
def stops(monkeypatch) -> list[int]:
    """Steps of the evaluations that ended because nobody would want what they count."""
    found: list[int] = []
    whole = counting._evaluate_blocks

    def noted(*given, **named):
        try:
            return whole(*given, **named)
        except InVainError as stopped:
            found.append(stopped.steps)
            raise

    monkeypatch.setattr(counting, "_evaluate_blocks", noted)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guard", "written", "number"),
    [
        ("if (i < 20000) ", 20_000 * 360, 1),  # cut: all blocks are evaluated, these are not wanted
        ("if (i / 7 % 3 == 0) ", 9135 * 360, 1),  # not to be told from some of the blocks
        ("if (threadIdx.x < 100) ", 107 * 100 * 360, 0),  # blocks do not differ
        (LATER + "if (i < 20000) ", 107 * 256 * 40 + 20_000 * 360, 1),  # nor do they at first
    ],
)
def test_of_a_small_grid_some_blocks_are_evaluated_while_they_may_stand_for_all(
    tmp_path, monkeypatch, stops, guard, written, number
):
    monkeypatch.setattr(counting, "LANES_OF_ALL", (1 << 15, 1 << 15))
    found, profile = stores(launch_of(tmp_path, INDEX + guard + LONG, "k=107:256"))
    assert profile.sampling is None
    assert found == pytest.approx(written, rel=1e-12)
    assert len(stops) == number
    assert all(steps <= 4 * STEPS_BETWEEN_LOOKS for steps in stops)


TRIANGLE = "for (int t = i; t < 1024; t++) for (int u = 0; u <= t; u++) x[t] = u == i ? x[1] : 0.f;"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "launch", "reason"),
    [
        ("if (blockIdx.x < 1000) " + LONG, "k=4096:256", "finding where they change takes too long"),
        (
            INDEX + TRIANGLE,
            "k=4,48:256",
            "what line 3 computes changes between the iterations of a long loop",
        ),
    ],
)
def test_blocks_that_cannot_stand_for_all_are_not_evaluated_longer_than_there_is_work_for_others(
    tmp_path, monkeypatch, stops, body, launch, reason
):
    monkeypatch.setattr(counting, "MOST_WORK", 600 * 2 * counting.FREE_LANES)
    _, profile = stores(launch_of(tmp_path, body, launch))
    assert profile.sampling is not None
    assert profile.sampling.reason == reason
    (steps,) = stops
    assert 0 < steps <= 600


@pytest.mark.slow
@pytest.mark.parametrize("most", [1200, 3600])
def test_pieces_are_found_with_few_iterations_where_all_of_them_are_too_many(
    tmp_path, monkeypatch, stops, most
):
    monkeypatch.setattr(counting, "MOST_WORK", most * 2 * counting.FREE_LANES)
    body = "if (blockIdx.x < 1000) " + LONG
    written, profile = stores(launch_of(tmp_path, body, "k=4096:256"))
    assert profile.sampling is None
    assert written == 1000 * 256 * 360
    assert len(stops) == 1


@pytest.mark.parametrize(
    ("guard", "number"), [("threadIdx.x > 999", 2), ("threadIdx.x < 999", 1), ("threadIdx.x < 64", 1.75)]
)
def test_arms_that_no_lane_or_every_lane_takes(tmp_path, guard, number):
    body = f"if ({guard}) x[0] = 1; else {{ x[1] = 1; x[2] = 1; }} if (threadIdx.x > 999) x[3] = 1;"
    written, _ = stores(launch_of(tmp_path, body, "k=64:256"))
    assert written == 64 * 256 * number


def test_conditions_that_move_by_a_number_are_cut_as_if_each_were_solved(tmp_path):
    """The lanes that run count, and beyond some size nothing is solved, whatever was solved before."""
    launch = launch_of(tmp_path, INDEX + "if (i < n) x[i] = 1;", "k=1000:64", "k.n=63000")
    plan = sampling.planned(Structure(launch.grid), launch.block)
    threads = sampling.threads_of(plan, launch.block)
    index = threads.block_idx[0] * 64 + threads.thread_idx[0]
    (condition,) = (
        stmt.condition for stmt in ir.walk_statements(launch.kernel.body) if isinstance(stmt, ir.If)
    )
    first_lane = threads.thread_idx[0] == 0
    asked = [(100, threads.exists), (300, threads.exists), (700, first_lane), (900, threads.exists)]

    def found(*limits) -> Boundaries:
        boundaries = Boundaries(plan, 64, launch.kernel)
        for limit, active in limits:
            boundaries.compare(condition, ir.BinaryOp.LT, index - limit, 0, active)
        return boundaries

    together = set(found(*asked).structure().splits)
    assert together == {split for one in asked for split in found(one).structure().splits}
    assert len(together) == len(asked)
    far = found(asked[0], (1 << 53, threads.exists), asked[1])
    assert set(far.structure().splits) == {s for one in asked[:2] for s in found(one).structure().splits}
    assert list(far.unsolved.values()) == ["is not linear in the block index"]
