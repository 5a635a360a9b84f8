"""Votes, shuffles and reductions of values that every lane knows are known themselves."""

from pathlib import Path

import pytest

from wattslice.ir.accesses import memory_accesses

from .counted import counted

FULL = "0xffffffffu"
SUM = f"int v = lane; for (int o = 16; o; o >>= 1) v += __shfl_down_sync({FULL}, v, o);"
TRIPS = {
    "any of one lane": (f"__any_sync({FULL}, lane == 3) ? 5 : 11", 5),
    "all but one lane": (f"__all_sync({FULL}, lane < 31) ? 5 : 11", 11),
    "ballot": (f"__popc(__ballot_sync({FULL}, lane < 13))", 13),
    "uniform": (f"__uni_sync({FULL}, lane < 40) ? 3 : 4", 3),
    "shuffle": (f"__shfl_sync({FULL}, lane * 2, 9)", 18),
    "shuffle of a part": (f"__shfl_sync({FULL}, lane & 7, 6, 8)", 6),
    "shuffle up": (f"__shfl_sync({FULL}, __shfl_up_sync({FULL}, lane, 4), 20)", 16),
    "shuffle up at the edge": (f"__shfl_sync({FULL}, __shfl_up_sync({FULL}, lane + 6, 4), 1)", 7),
    "shuffle xor": (f"__shfl_sync({FULL}, __shfl_xor_sync({FULL}, lane, 16), 1)", 17),
    "sum of a warp": (f"__shfl_sync({FULL}, v, 0) / 16", 31),
    "reduction": (f"__reduce_add_sync({FULL}, lane) / 62", 8),
    "largest": (f"__reduce_max_sync({FULL}, lane)", 31),
    "or of a block": ("__syncthreads_or(threadIdx.x == 77) ? 3 : 4", 3),
    "and of a block": ("__syncthreads_and(threadIdx.x < 77) ? 3 : 4", 4),
    "count of a block": ("__syncthreads_count(threadIdx.x < 77)", 77),
}


def _loop(folder: Path, trips: str) -> tuple[float | None, float]:
    text = (
        "__global__ void k(int n, float* x) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        f" int lane = threadIdx.x & 31; {SUM} int m = {trips};"
        " for (int j = 0; j < m; j++) x[i + j * n] = 2.0f; }"
    )
    _, profile = counted(folder, text, "k=4:128", "n=512")
    found = profile.loops[-1]
    return found.trip_count, found.assumed


@pytest.mark.parametrize(("trips", "wanted"), TRIPS.values(), ids=TRIPS)
def test_what_all_lanes_know_is_known_behind_an_exchange(tmp_path: Path, trips: str, wanted: int):
    assert _loop(tmp_path, trips)[0] == wanted


@pytest.mark.parametrize(
    "trips",
    [
        f"__any_sync({FULL}, x[i] > 0.0f)",
        f"__shfl_sync({FULL}, (int)x[i], 0)",
        "__syncthreads_count(x[i] > 0.0f)",
    ],
)
def test_what_data_say_stays_unknown(tmp_path: Path, trips: str):
    assert _loop(tmp_path, trips)[0] is None


def test_lanes_that_do_not_run_do_not_vote(tmp_path: Path):
    trips = "9; if (lane < 4) m = __popc(__ballot_sync(15u, lane >= 1))"
    found, _ = _loop(tmp_path, trips)
    assert found == pytest.approx((4 * 3 + 28 * 9) / 32)


LEADERS = {
    "first": "lane == __ffs(m) - 1",
    "first by its place": "__ffs(m) == lane + 1",
    "first by leading zeros": "__clz(__brev(m)) == lane",
    "none below": "__popc(m & ((1u << lane) - 1)) == 0",
    "none below, by the register": "!(m & below)",
    "lowest bit": "(m & -m) == 1u << lane",
    "no bit behind it": "m << (31 - lane) == 1u << 31",
    "last": "lane == 31 - __clz(m)",
    "last by its rank": "__popc(m & below) == __popc(m) - 1",
    "and what all know": "n > 0 && lane == __ffs(m) - 1",
    "not one of the others": "!(lane != __ffs(m) - 1)",
    "chosen": "(lane == __ffs(m) - 1 ? 1 : 0) == 1",
    "as a truth": "static_cast<bool>(lane == __ffs(m) - 1)",
    "of a group": "g.thread_rank() == 0",
}
SETS = {
    "running": "if (x[i] > 0) { unsigned m = __activemask();",
    "running by ballot": f"if (x[i] > 0) {{ unsigned m = __ballot_sync({FULL}, 1);",
    "who will run": f"unsigned m = __ballot_sync({FULL}, x[i] > 0); if (x[i] > 0) {{",
    "few": "if (x[i] > 0) if (x[i + 1] > 0) if (x[i + 2] > 0) { unsigned m = __activemask();",
    "known": "if (lane >= 5) { unsigned m = __activemask();",
}


def _of_leader(folder: Path, lanes: str, leader: str) -> tuple[float, float, int]:
    text = (
        "#include <cooperative_groups.h>\n"
        "__global__ void k(int n, int* x, int* c) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " int lane = threadIdx.x & 31; unsigned below;"
        f' asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below)); {lanes}'
        f" auto g = cooperative_groups::coalesced_threads(); if ({leader}) atomicAdd(c, n); }} }}"
    )
    launch, profile = counted(folder, text, "k=4:128", "n=512")
    (atomic,) = (access for access in memory_accesses(launch.kernel) if access.is_atomic)
    assumed = sum(note.rule == "PW012" for note in profile.assumptions)
    return profile.thread_counts[atomic.region], profile.warp_counts[atomic.region], assumed


@pytest.mark.parametrize("lanes", SETS.values(), ids=SETS)
@pytest.mark.parametrize("leader", LEADERS.values(), ids=LEADERS)
def test_one_lane_leads_however_that_is_written(tmp_path: Path, lanes: str, leader: str):
    threads, warps, assumed = _of_leader(tmp_path, lanes, leader)
    runs = 1 - (1 - 1 / 8) ** 32 if lanes == SETS["few"] else 1
    assert 32 * threads == pytest.approx(runs, rel=0.03)
    assert warps == pytest.approx(runs, rel=0.03)
    assert assumed == ("x[i]" in lanes)


def test_a_warp_of_chance_keeps_its_lanes(tmp_path: Path):
    half, _, _ = _of_leader(tmp_path, SETS["running"], "__popc(m & below) < 8")
    assert half == pytest.approx(8 / 32)
    of_all = f"unsigned m = __ballot_sync({FULL}, x[i] > 0); {{"
    member, _, assumed = _of_leader(tmp_path, of_all, "m >> lane & 1")
    assert (member, assumed) == (pytest.approx(16 / 32), 1)
    rare = "".join(f"if (x[i + {n}] > 0) " for n in range(5)) + "{ unsigned m = __activemask();"
    one_of_32, _, _ = _of_leader(tmp_path, rare, "m >> lane & 1")
    assert one_of_32 == pytest.approx(1 / 32)
    unknown, _, _ = _of_leader(tmp_path, SETS["running"], "__popc(m) > 9")
    assert unknown == pytest.approx(8 / 32)  # how many run is not known: half of the warps


def test_lanes_of_one_label_have_a_leader(tmp_path: Path):
    lanes = "if (lane < 24) { unsigned m = __activemask();"
    leader = "cooperative_groups::labeled_partition(g, lane / 8).thread_rank() == 0"
    threads, warps, _ = _of_leader(tmp_path, lanes, leader)
    assert (32 * threads, warps) == (pytest.approx(3), pytest.approx(1))
    unknown, _, assumed = _of_leader(tmp_path, lanes, leader.replace("lane / 8", "x[i]"))
    assert (unknown, assumed) == (pytest.approx(12 / 32), 1)


def test_places_handed_out_to_lanes_lie_side_by_side(tmp_path: Path):
    text = (
        "__global__ void k(int* x, int* c, int* out) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " int lane = threadIdx.x & 31; if (x[i] > 0) { unsigned m = __activemask(); int at = 0;"
        " if (lane == __ffs(m) - 1) at = atomicAdd(c, __popc(m)); at = __shfl_sync(m, at, __ffs(m) - 1);"
        " out[at + __popc(m & ((1u << lane) - 1))] = i; } }"
    )
    launch, profile = counted(tmp_path, text, "k=4:128")
    (store,) = (one for one in memory_accesses(launch.kernel) if one.is_store and not one.is_atomic)
    assert profile.sites[store.site].sectors_per_request == 3  # 16 words, which begin anywhere
