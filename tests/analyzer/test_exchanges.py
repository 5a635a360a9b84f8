"""Votes, shuffles and reductions of values that every lane knows are known themselves."""

from pathlib import Path

import pytest

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
