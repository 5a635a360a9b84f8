"""Sectors and bank passes against a count by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice.counting.profile import Reach
from wattslice.counting.sampling import Masks, complete, sample_threads, threads_of
from wattslice.counting.sites import (
    REACH_VISITS,
    ROW_BYTES,
    Patterns,
    SiteTally,
    bank_passes,
    patterns_of,
    sectors_per_request,
)
from wattslice.counting.values import Pointer
from wattslice.ir import INT32, MemorySpace
from wattslice.ir.accesses import memory_accesses

from .counted import counted

LANE = np.arange(32)
ALL = np.ones(32, bool)


@pytest.mark.parametrize(
    ("offsets", "size", "sectors"),
    [
        (LANE * 4, 4, 4),
        (LANE * 8, 8, 8),
        (LANE * 16, 16, 16),
        (LANE * 128, 4, 32),
        (LANE * 0, 4, 1),
        (LANE * 4 + 4, 4, 5),
        (LANE * 8, 4, 8),
        (LANE * -4, 4, 5),
        (LANE * 64, 64, 64),
    ],
)
def test_sectors(offsets, size, sectors):
    assert sectors_per_request(offsets, ALL, size) == sectors


@pytest.mark.parametrize(
    ("offsets", "size", "passes"),
    [
        (LANE * 4, 4, 1),
        (LANE * 8, 4, 2),
        (LANE * 128, 4, 32),
        (LANE * 132, 4, 1),
        (LANE * 0, 4, 1),
        (LANE * 8, 8, 1),
        (LANE * 16, 16, 1),
        (LANE * 16, 8, 2),
        (LANE * 12, 12, 1),
        (LANE * 0, 8, 0.5),  # a broadcast of 8 bytes takes one pass, of 16 bytes two
        (LANE * 0, 16, 0.5),
        (LANE // 2 * 8, 8, 0.5),  # pairs of lanes: 128 bytes in all
        ((LANE // 4 * 2 + LANE % 2) * 8, 8, 0.5),  # lanes i and i ^ 2
        (LANE // 2 * 16, 16, 0.5),
    ],
)
def test_bank_passes(offsets, size, passes):
    assert bank_passes(offsets, ALL, size) == passes


@pytest.mark.parametrize(("size", "passes"), [(8, 1), (16, 1)])
def test_l1_serves_groups_of_lanes_one_after_the_other_whatever_they_read(size, passes):
    assert bank_passes(LANE * 0, ALL, size, joins_pairs=False) == passes


def test_half_a_warp_takes_half_the_passes_of_a_wide_access():
    assert bank_passes(LANE * 8, LANE < 16, 8) == 0.5


@given(
    st.lists(st.integers(0, 4000), min_size=32, max_size=32),
    st.lists(st.booleans(), min_size=32, max_size=32),
)
def test_random_addresses(words, active):
    offsets, active = np.array(words) * 4, np.array(active)
    touched = offsets[active]
    assert sectors_per_request(offsets, active, 4) == len({int(o) // 32 for o in touched})
    if active.any():
        banks = [len({int(o) for o in touched if o // 4 % 32 == bank}) for bank in range(32)]
        assert bank_passes(offsets, active, 4) == max(banks)


SAME_IN_ALL_LANES = {
    "loaded from a uniform address": "at[k]",
    "through the read-only cache": "__ldg(at + k)",
    "a float, converted": "(int)weight[k]",
    "a member of a record": "pair[k].second",
    "a record in registers": "held.second",
    "a component of a vector": "both.y",
    "broadcast from a fixed lane": "__shfl_sync(0xffffffff, mine, 0)",
    "broadcast from a uniform lane": "__shfl_sync(0xffffffff, mine, k & 31)",
    "a vote": "__popc(__ballot_sync(0xffffffff, mine > 0))",
    "a uniform slot of shared memory": "slot[k]",
    "constant memory": "table[k]",
    "what a uniform branch chose": "chosen",
    "what a uniform selection chose": "(at[k] > 3 ? at[k] : 12)",
    "clamped": "min(max(at[k], 0), 7)",
    "scaled": "at[k] * 64",
    "returned by a function": "look(at, k)",
    "the same in a block": "at[blockIdx.x]",
}
SHIFTED = """
struct Pair {{ int first, second; }};
__constant__ int table[64];
__device__ int look(const int *at, int k) {{ if (at[k] > 4) return at[k]; return 4; }}
__global__ void k(const float *in, float *out, int *at, float *weight, Pair *pair, int2 *two, int n) {{
  __shared__ int slot[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x, mine = at[i];
  slot[threadIdx.x & 63] = mine;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 64; ++k) {{
    Pair held = pair[k]; int2 both = two[k]; int chosen = 0;
    if (at[k] > 3) chosen = 128;
    sum += in[k * n + i + {shift}];
  }}
  out[i] = sum;
}}"""


def sectors_of_the_input(tmp_path, shift):
    launch, profile = counted(tmp_path, SHIFTED.format(shift=shift), "k=1024:256", "n=262144")
    (access,) = [a for a in memory_accesses(launch.kernel) if a.root is not None and a.root.name == "in"]
    return profile.sites[access.site].sectors_per_request


@pytest.mark.parametrize("shift", SAME_IN_ALL_LANES.values(), ids=SAME_IN_ALL_LANES)
def test_an_offset_that_all_lanes_share_leaves_an_access_coalesced(tmp_path, shift):
    assert sectors_of_the_input(tmp_path, shift) == sectors_of_the_input(tmp_path, "0") == 4


@pytest.mark.parametrize(
    "shift",
    ["mine", "__shfl_sync(0xffffffff, mine, threadIdx.x ^ 1)", "__shfl_xor_sync(0xffffffff, mine, 1)"],
)
def test_an_offset_of_each_lane_scatters(tmp_path, shift):
    assert sectors_of_the_input(tmp_path, shift) is None


def test_a_shuffle_of_known_lanes_is_computed(tmp_path):
    assert sectors_of_the_input(tmp_path, "32 * __shfl_sync(0xffffffff, i, 3)") == 4
    assert sectors_of_the_input(tmp_path, "-__shfl_sync(0xffffffff, i, 0) + 8 * i") == 32


def test_an_unknown_start_wraps_around_as_a_whole(tmp_path):
    assert sectors_of_the_input(tmp_path, "(i + at[k]) % 262144 - i") is not None


def test_warps_looked_at_are_not_always_the_same_of_each_block():
    """Of 36 blocks of six warps, two of each touch one sector and four touch four: three on the mean."""
    warps = np.arange(36 * 6)
    words = np.where((warps % 3 == 0)[:, None], 0, np.arange(32)[None, :])
    offsets = (warps[:, None] * 32 + words).ravel() * 4
    found = sectors_per_request(offsets, np.ones(offsets.size, np.bool_), 4)
    assert found == pytest.approx(3.0, rel=0.25)


@pytest.mark.parametrize(
    ("space", "distance", "is_looked_at"),
    [
        (MemorySpace.GLOBAL, 64, False),
        (MemorySpace.GLOBAL, -32, False),
        (MemorySpace.GLOBAL, 4, True),
        (MemorySpace.SHARED, 4, False),
        (MemorySpace.SHARED, 2, True),
    ],
)
def test_addresses_that_lie_alike_are_looked_at_once(space, distance, is_looked_at):
    """And cost what they would cost alone; other lanes, sizes or distances between lanes are looked at."""
    threads = sample_threads((2, 1, 1), (64, 1, 1))
    block = slice(0, 64)
    offsets = np.arange(128) * 12 % 1024 + 4096
    every, half = np.ones(128, np.bool_), np.arange(128) % 2 == 0
    patterns = Patterns()
    first = patterns.cost(offsets, every, 4, space, threads, block)
    assert patterns.cost(offsets, every.copy(), 4, space, threads, block) == first
    assert patterns.looked == 1
    moved = patterns.cost(offsets + distance, every, 4, space, threads, block)
    assert patterns.looked == 1 + is_looked_at
    assert moved == Patterns().cost(offsets + distance, every, 4, space, threads, block)
    for asked in ((offsets, half, 4), (offsets, every, 8), (offsets * 2, every, 4)):
        looked = patterns.looked
        found = patterns.cost(*asked, space, threads, block)
        assert (patterns.looked, found) == (looked + 1, Patterns().cost(*asked, space, threads, block))


@pytest.mark.parametrize(("blocks", "looks"), [(2, 40), (1024, 80)])
def test_kinds_of_addresses_are_kept_as_far_as_there_is_room(blocks, looks):
    threads = threads_of(complete((blocks, 1, 1)), (64, 1, 1))
    lanes = np.arange(64 * blocks)
    every, patterns = np.ones(lanes.size, np.bool_), Patterns()
    for stride in (*range(1, 41), *range(1, 41)):
        patterns.cost(lanes * stride * 4, every, 4, MemorySpace.SHARED, threads, slice(0, 64))
    assert patterns.looked == looks


def test_what_requests_cost_does_not_tell_where_they_begin():
    """Looked at once for all kernels of the same threads: neither near nor far are these neighbours even."""
    threads = sample_threads((5000, 1, 1), (64, 1, 1))
    lanes = np.arange(threads.exists.size)
    uneven = lanes % 64 * 4 + threads.block_idx[0] * 1024 + lanes // 64 % 2 * 640
    for begin in (0, 1 << 40):
        asked = (uneven + begin, threads.exists, 4, MemorySpace.GLOBAL, threads, slice(0, 64))
        assert Patterns().cost(*asked).bytes_per_row == ROW_BYTES
        assert patterns_of(threads).cost(*asked) == Patterns().cost(*asked)
    assert patterns_of(threads).looked == 1
    assert patterns_of(sample_threads((5000, 1, 1), (32, 1, 1))).looked == 0


def test_what_a_site_has_taken_in_is_not_kept():
    """Hundreds of sites with the addresses of all lanes of a launch would be most of the memory."""
    threads = threads_of(complete((1024, 1, 1)), (64, 1, 1))
    site = SiteTally()
    for visit in range(REACH_VISITS + 2):
        address = Pointer(None, np.arange(threads.exists.size) * 4 + visit)
        site.visit(INT32, MemorySpace.GLOBAL, address, Masks(threads).all, threads, None)
        assert (site._objects[None].last is None) == (visit < REACH_VISITS)
    (reached,) = site.statistics().objects
    assert reached.launch_reach == Reach((0,), (65535 * 4 + REACH_VISITS + 5,))
