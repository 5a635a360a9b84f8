"""Bytes at each level for access patterns whose traffic is known by hand."""

import math
import re

import pytest
from msgspec.structs import replace

from wattslice.counting.count import count
from wattslice.frontend.c import read_c
from wattslice.ir import MemorySpace
from wattslice.launches.launch import Contents, GivenPointer
from wattslice.workload.instructions import lower_instructions
from wattslice.workload.instructions.kinds import InstructionKind
from wattslice.workload.instructions.statements import RequestCount
from wattslice.workload.launch_work import launch_work, residency
from wattslice.workload.traffic import Traffic, traffic
from wattslice_models.gpu import load_gpu

from .advised import analysed
from .counted import counted
from .source_text import launch_of

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
N = 1000 * 256


def traffic_of(launch, profile):
    return traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)


def moved_by(launch, profile):
    moved = traffic_of(launch, profile)
    for level in ("l1_bytes", "l2_bytes", "dram_bytes", "shared_passes"):
        parts = math.fsum(getattr(part, level) for part in moved.by_access)
        constants = moved.constant_requests if level == "shared_passes" else 0.0
        assert parts == pytest.approx(getattr(moved, level) + constants)
    return replace(moved, by_access=(), dram_rows=round(moved.dram_rows, 12))


def test_streaming_moves_every_byte_once_at_every_level(tmp_path):
    source = f"__global__ void k(const float *x, float *y) {{ {INDEX} y[i] = x[i]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert (moved.l1_bytes, moved.l2_bytes, moved.dram_bytes) == pytest.approx((8, 8, 8))
    assert moved.footprint_bytes == 2 * 4 * N
    assert moved.gathered == ()


@pytest.mark.slow
@pytest.mark.parametrize("launch", ["k=65536:256", "k=256,256:256"])
def test_one_block_of_each_kind_reaches_what_the_launch_reaches(tmp_path, launch):
    row = "int row = blockIdx.y * gridDim.x + blockIdx.x, i = row * 256 + threadIdx.x, t = row % 256;"
    source = f"__global__ void k(float *o) {{ {row} o[i] = threadIdx.x > t ? -1.f : 2.f; }}"
    moved = traffic_of(*counted(tmp_path, source, launch))
    assert moved.dram_bytes == pytest.approx(4)


@pytest.mark.parametrize(
    ("launch", "body", "bytes_"),
    [  # of the accesses to `t`, each sector once per block
        ("k=79:128", "if (i < 5001) o[i] = t[i];", 32 * -(-5001 // 8)),  # the block in the middle has 9 lanes
        ("k=65:256", "if (i < 8201) o[i] = t[i];", 32 * -(-8201 // 8)),
        ("k=79:128", "if (i >= 1000 && i < 4000) o[i] = t[i];", 4 * 3000),
        ("k=79:128", "int j = 79 * 128 - 1 - i; if (j < 5005) o[j] = t[j];", 32 * -(-5005 // 8)),
        ("k=64:256", "int c = blockIdx.x & 1 ? 20 : 2; FOR o[i] += t[j * n + i];", 4 * 11 * 16384),
        ("k=64:256", "int c = blockIdx.x % 4 * 8; FOR o[i] += t[ROW + j * 256];", 4 * 12 * 16384),
    ],
)  # fmt: skip
def test_the_block_that_stands_for_all_is_a_usual_one(tmp_path, launch, body, bytes_):
    body = body.replace("ROW", "blockIdx.x * 8192 + threadIdx.x")
    body = body.replace("FOR", "for (int j = 0; j < c; j++)")
    source = f"__global__ void k(float *o, const float *t, int n) {{ {INDEX} {body} }}"
    launched, profile = counted(tmp_path, source, launch, "k.n=16384")
    moved = traffic_of(launched, profile)
    own = [one for one in moved.by_access if one.access.root is not None and one.access.root.name == "t"]
    threads = launched.blocks * launched.threads_per_block
    assert math.fsum(one.l2_bytes for one in own) * threads == pytest.approx(bytes_, rel=0.02)
    assert math.fsum(one.dram_bytes for one in own) * threads == pytest.approx(bytes_, rel=0.02)


@pytest.mark.parametrize(
    ("loop", "bytes_"),
    [
        ("for (int k = 0; k < n; k++) {", 64),  # 10 floats of a row of 64: two sectors
        ("for (int k = 0; k < 64; k++) { if (k >= n) break;", 64),
        ("for (int k = 0; k < 64; k++) { if (k % 2 == 0) continue;", 256),
    ],
)
def test_a_loop_that_a_break_leaves_touches_what_it_comes_to(tmp_path, loop, bytes_):
    source = f"""__global__ void k(float *o, const float *t, int n) {{ {INDEX} float sum = 0;
      {loop} sum += t[i * 64 + k]; }} o[i] = sum; }}"""
    launched, profile = counted(tmp_path, source, "k=100:256", "k.n=10")
    (moved,) = (one for one in traffic_of(launched, profile).by_access if not one.access.is_store)
    assert (moved.l2_bytes, moved.dram_bytes) == pytest.approx((bytes_, bytes_))


def row_bytes(tmp_path, source, launch, *settings):
    """Of a row of DRAM, what is touched at once, by the access sites of a kernel."""
    _, profile = counted(tmp_path, source, launch, *settings)
    return [site.bytes_per_row for site in profile.sites]


def test_blocks_beside_one_another_share_rows_of_dram(tmp_path):
    """A transpose reads what the next block reads on, and writes 16 lines that no block beside it touches."""
    source = """__global__ void k(const float *x, float *y, int n) {
      int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
      int k = blockIdx.x * 16 + threadIdx.y, l = blockIdx.y * 16 + threadIdx.x;
      y[k * n + l] = x[j * n + i];
    }"""
    read, written = row_bytes(tmp_path, source, "k=512,512:16,16", "n=8192")
    assert (read, written) == (2048, 64)
    moved = moved_by(*counted(tmp_path, source, "k=512,512:16,16", "n=8192"))
    assert moved.dram_rows == pytest.approx(4 / 2048 + 4 / 64)


@pytest.mark.parametrize(
    ("index", "row"),
    [
        ("i", 2048),  # block after block
        ("blockIdx.x * 100000 + threadIdx.x", 1024),  # each block elsewhere: 256 floats
        (
            "threadIdx.x * 8192 + blockIdx.x",
            2048,
        ),  # a column: 4 bytes of each row, and the next block the next 4
        ("threadIdx.x * 8192 + blockIdx.x * 100", 32 * 2048 / 400),
        ("(blockIdx.x * 7919 % 1000) * 256 + threadIdx.x", 2048),  # no one distance: taken to share rows
    ],
)
def test_rows_of_dram_by_the_distance_of_blocks(tmp_path, index, row):
    source = f"__global__ void k(const float *x, float *y) {{ {INDEX} y[i] = x[{index}]; }}"
    assert row_bytes(tmp_path, source, "k=1000:256")[0] == pytest.approx(row)


def test_what_data_lead_to_opens_no_rows(tmp_path):
    source = f"__global__ void k(const int *c, const float *x, float *y) {{ {INDEX} y[i] = x[c[i]]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert moved.dram_rows == pytest.approx(8 / 2048)  # a lower bound


def test_strided_access_moves_whole_sectors(tmp_path):
    source = f"__global__ void k(const float *x, float *y) {{ {INDEX} y[i] = x[8 * i]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert moved.l1_bytes == pytest.approx(32 + 4)


def test_a_struct_moves_what_its_words_move_by_themselves(tmp_path):
    words = "y[3 * i] = x[3 * i]; y[3 * i + 1] = x[3 * i + 1]; y[3 * i + 2] = x[3 * i + 2];"
    whole = f"__global__ void k(const float3 *x, float3 *y) {{ {INDEX} y[i] = x[i]; }}"
    apart = f"__global__ void k(const float *x, float *y) {{ {INDEX} {words} }}"
    moved = moved_by(*counted(tmp_path, whole, "k=1000:256"))
    assert moved == moved_by(*counted(tmp_path, apart, "k=1000:256"))
    assert (moved.l1_bytes, moved.l2_bytes, moved.dram_bytes) == pytest.approx((72, 12 + 36, 24))


def test_requests_for_one_object_fetch_its_sector_once(tmp_path):
    source = f"__global__ void k(const float3 *x, float3 *y) {{ {INDEX} y[i] = x[64 * i]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert (moved.l1_bytes, moved.l2_bytes) == pytest.approx((3 * 32 + 36, 32 + 36))


def test_members_that_nobody_reads_are_not_requested(tmp_path):
    source = f"__global__ void k(const float3 *x, float *y) {{ {INDEX} float3 b = x[i]; y[i] = b.y; }}"
    apart = f"__global__ void k(const float3 *x, float *y) {{ {INDEX} y[i] = x[i].y; }}"
    launch, profile = counted(tmp_path, source, "k=1000:256")
    assert lower_instructions(launch.kernel, profile).number(InstructionKind.LDG) == 1  # as in PTX
    moved = moved_by(launch, profile)
    other = moved_by(*counted(tmp_path, apart, "k=1000:256"))
    assert (moved.l1_bytes, moved.l2_bytes) == pytest.approx((other.l1_bytes, other.l2_bytes))
    assert moved.dram_bytes == pytest.approx(12 + 4)


@pytest.mark.parametrize(
    ("taken", "floats", "sectors"),
    [  # of 8 places of a float in a sector; an object of n floats lies across one more in n - 1 of them
        ("float3 b = ((const float3 *)x)[k]; s = b.x + b.y + b.z;", 3, 1.25),
        ("float3 b = ((const float3 *)x)[k]; s = b.y;", 1, 1.0),
        ("s = x[3 * k] + x[3 * k + 1] + x[3 * k + 2];", 3, 1.25),
        ("s = x[3 * k]; s += x[3 * k + 2]; s += x[3 * k + 1];", 3, 1.25),
        ("for (int c = 0; c < 3; ++c) s += x[3 * k + c];", 3, 1.25),
        ("for (int c = 0; c < 3; ++c) y[3 * i + c] = x[3 * k + c];", 3, 1.25),  # loads and stores in turn
        ("for (int c = 0; c < 9; ++c) s += x[9 * k + c];", 9, 2.0),
        ("s = x[8 * k] + x[8 * k + 5];", 2, 1.0),  # records fill sectors
        ("s = x[8 * k] + x[8 * k + 8];", 2, 2.0),
        ("s = x[k] + x[k + n];", 2, 2.0),  # nothing says how far apart
        ("s = x[3 * k]; if (i % 2) s = x[3 * k + 1]; else s += x[3 * k + 2];", 2, 2.0),  # one or the other
    ],
)
def test_members_of_a_record_whose_address_is_data_share_its_sectors(tmp_path, taken, floats, sectors):
    """L1 serves each request; L2 and DRAM each sector once."""
    source = f"""__global__ void k(const int *c, const float *x, float *y, float *z, int n) {{
      {INDEX} int k = c[i]; float s = 0.0f; {taken} z[i] = s;
    }}"""
    launch, profile = counted(tmp_path, source, "k=1000:256", "n=70001")
    loads = traffic_of(launch, profile).by_access
    of_x = [one for one in loads if one.access.root is not None and one.access.root.name == "x"]
    assert math.fsum(one.l1_bytes for one in of_x) == pytest.approx(32 * floats)
    assert math.fsum(one.l2_bytes for one in of_x) == pytest.approx(32 * sectors)
    assert math.fsum(one.dram_bytes for one in of_x) == pytest.approx(32 * sectors)


def test_stores_to_a_record_whose_address_is_data_reach_dram_together(tmp_path):
    words = "y[3 * k] = 1.0f; y[3 * k + 1] = 2.0f; y[3 * k + 2] = 3.0f;"
    source = f"__global__ void k(const int *c, float *y) {{ {INDEX} int k = c[i]; {words} }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert (moved.l2_bytes, moved.dram_bytes) == pytest.approx((4 + 3 * 32, 4 + 1.25 * 32))


def test_shifted_accesses_of_one_object_share_its_bytes(tmp_path):
    source = f"__global__ void k(const float *x, float *y) {{ {INDEX} y[i] = x[i] + x[i + 1] + x[i + 2]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert moved.l1_bytes > 3 * 4 + 4
    assert moved.dram_bytes == pytest.approx(8, rel=0.01)


@pytest.mark.parametrize(
    "loop",
    [
        "for (int j = 0; j < n; j++) { if (j > i) break; sum += x[j]; }",
        "for (int j = 0; j < n; j++) { sum += x[j]; if (j >= i) break; }",
        "for (int j = 0; j < n; j++) { float a = x[j]; if (j > i) break; sum += a; }",
    ],
)
def test_lanes_that_leave_a_loop_one_after_the_other_load_together_until_then(tmp_path, loop):
    source = (
        "__global__ void k(const float *x, float *y, int n) { int i = %s; float sum = 0; %s y[i] = sum; }"
    )
    i = "blockIdx.x * blockDim.x + threadIdx.x"
    whole = "for (int j = 0; j < min(n, i + 1); j++) sum += x[j];"
    moved, as_one = (
        moved_by(*counted(tmp_path, source % (i, one), "k=16:256", "n=4096")) for one in (loop, whole)
    )
    assert moved.l1_bytes == pytest.approx(as_one.l1_bytes, rel=0.01)


@pytest.mark.parametrize(
    ("step", "l2_bytes"),
    [
        ("8 * threadIdx.x + j", 16 * 32),  # eight loads of a lane in one sector
        ("threadIdx.x + 32 * j", 16 * 32),  # coalesced: nothing twice
        ("16 * threadIdx.x + 2 * j", 16 * 64),  # eight loads in two sectors
    ],
)
def test_a_sector_that_copies_of_a_loop_touch_again_is_in_l1(tmp_path, step, l2_bytes):
    source = f"""__global__ void k(const float *x, float *y, int n) {{
      float sum = 0;
      for (int r = 0; r < n; ++r) {{
        #pragma unroll
        for (int j = 0; j < 8; ++j) sum += x[r * 65536 + blockIdx.x * 512 + {step}];
      }}
      y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    }}"""
    moved = moved_by(*counted(tmp_path, source, "k=100:32", "n=16"))
    assert moved.l2_bytes == pytest.approx(l2_bytes + 4)


def test_what_all_warps_of_a_block_read_is_fetched_once_per_block(tmp_path):
    source = """__global__ void k(const float *x, float *y, int n) {
      float sum = 0;
      for (int j = 0; j < n; ++j) sum += x[blockIdx.x * n + j];
      y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    }"""
    moved = moved_by(*counted(tmp_path, source, "k=500:256", "n=1024"))
    assert moved.l1_bytes == pytest.approx(1024 * 32 / 32 + 4)  # one sector a request, shared by the 32 lanes
    assert moved.l2_bytes == pytest.approx(1024 * 4 / 256 + 4)
    assert moved.dram_bytes == pytest.approx(1024 * 4 / 256 + 4)


@pytest.mark.parametrize(
    ("row", "bytes_"),
    [
        # the one row of the block, and that of each of its 8 warps
        ("idx[blockIdx.x]", 0.5),
        ("idx[warp]", 4.0),
        ("idx[warp / 2]", 2.0),
        ("idx[warp] / 3", 4.0),
        ("(idx[blockIdx.x] + warp) / 3", 4.0),
        ("(idx[warp] & 7)", 4.0),
        ("min(idx[warp], 9)", 4.0),
        ("(idx[warp] % 9)", 4.0),
        ("idx[idx[warp]]", 4.0),
        ("idx[idx[blockIdx.x]]", 0.5),
        ("(idx[blockIdx.x] > 0 ? idx[warp] : idx[warp + 1])", 4.0),
        ("__shfl_sync(~0u, idx[i], 0)", 4.0),
        ("__shfl_sync(~0u, idx[blockIdx.x], 0)", 0.5),
        ("__ballot_sync(~0u, idx[i] > 0)", 4.0),
        ("__any_sync(~0u, idx[i] > 0)", 4.0),
        ("__syncthreads_count(idx[i] > 0)", 0.5),
        ("of_block", 0.5),
        ("of_warps[threadIdx.x / 32]", 4.0),
    ],
)
def test_each_warp_fetches_the_row_that_data_choose_for_it(tmp_path, row, bytes_):
    source = f"""__global__ void k(float *o, const float *t, const int *idx) {{
      {INDEX} int warp = i / 32;
      __shared__ int of_block, of_warps[8];
      if (threadIdx.x == 0) of_block = idx[blockIdx.x];
      if (i % 32 == 0) of_warps[threadIdx.x / 32] = idx[warp];
      __syncthreads();
      o[i] = t[{row} * 32 + i % 32];
    }}"""
    assert bytes_of_t(tmp_path, source)[1] == pytest.approx(bytes_)


def bytes_of_t(tmp_path, source):
    """Bytes per thread of the accesses to `t`, at L1 and at L2."""
    launch, profile = counted(tmp_path, source, "k=1000:256")
    moved = traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)
    own = [one for one in moved.by_access if one.access.root is not None and one.access.root.name == "t"]
    return math.fsum(one.l1_bytes for one in own), math.fsum(one.l2_bytes for one in own)


@pytest.mark.parametrize(
    ("index", "bytes_"),
    [("idx[warp * 16 + e] * 32 + i % 32", 64), ("idx[warp * 16 + e]", 16), ("idx[e] * 32 + i % 32", 8)],
)
def test_each_warp_fetches_the_rows_that_a_loop_goes_through(tmp_path, index, bytes_):
    source = f"""__global__ void k(float *o, const float *t, const int *idx) {{
      {INDEX} int warp = i / 32; float sum = 0;
      for (int e = 0; e < 16; ++e) sum += t[{index}];
      o[i] = sum;
    }}"""
    assert bytes_of_t(tmp_path, source)[1] == pytest.approx(bytes_)


@pytest.mark.parametrize(("row", "shared"), [("warp", 1), ("blockIdx.x", 8)])
def test_each_warp_fetches_the_rows_between_ends_that_data_give(tmp_path, row, shared):
    source = f"""__global__ void k(float *o, const float *t, const int *ends) {{
      {INDEX} int warp = i / 32; float sum = 0;
      for (int e = ends[{row}]; e < ends[{row} + 1]; ++e) sum += t[e * 32 + i % 32];
      o[i] = sum;
    }}"""
    l1_bytes, l2_bytes = bytes_of_t(tmp_path, source)
    assert l2_bytes == pytest.approx(l1_bytes / shared)


def test_gathers_are_told(tmp_path):
    source = f"__global__ void k(const int *at, const float *x, float *y) {{ {INDEX} y[i] = x[at[i]]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert [(access.root and access.root.name) for access in moved.gathered] == ["x"]
    assert moved.footprint_bytes is None
    assert moved.l1_bytes == pytest.approx(32 + 4 + 4)


def test_what_a_loop_that_never_runs_would_load_is_no_gather(tmp_path):
    """Also where the compiler takes the load out of the loop, in front of which it asks whether it runs."""
    source = f"""__global__ void k(const float *x, float *y, int n) {{ {INDEX} float s = 0;
      for (int j = 0; j < n; ++j) s += x[i * 2] + j;
      y[i] = s;
    }}"""
    never, once = (moved_by(*counted(tmp_path, source, "k=1000:256", f"n={n}")) for n in (0, 1))
    assert (never.gathered, never.l1_bytes) == ((), 4)
    assert (once.gathered, once.l1_bytes) == ((), 4 + 8)


def test_a_call_in_an_inner_loop_leaves_what_the_outer_one_carries_known(tmp_path):
    source = f"""__device__ float twice(float v) {{ return v + v; }}
    __global__ void k(const float *x, float *y, int n) {{
      {INDEX} unsigned h = i * 2654435761u; float a = 0;
      for (int j = 0; j < n; ++j) {{
        h = h * 1664525u + 1013904223u; a += x[h >> 13];
        for (int l = 0; l < 60; ++l) a = twice(a);
      }}
      y[i] = a;
    }}"""
    moved = moved_by(*counted(tmp_path, source, "k=1000:256", "n=64"))
    assert moved.gathered == ()
    assert moved.l1_bytes == pytest.approx(64 * 32 + 4, rel=0.01)


@pytest.mark.parametrize(
    "step",
    ["if (keys[place + s] <= q[i]) place += s;", "place = keys[place + s] <= q[i] ? place + s : place;"],
)
def test_where_each_lane_of_a_search_has_got_to_depends_on_data(tmp_path, step):
    """Twenty loads of keys by a place that every lane has found for itself; q[i] is loaded once."""
    source = f"""__global__ void k(const int *keys, const int *q, int *out) {{ {INDEX}
      int place = 0;
      for (int s = 1 << 19; s > 0; s /= 2) {{ {step} }}
      out[i] = place;
    }}"""
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert [(access.root and access.root.name) for access in moved.gathered] == ["keys"]
    assert moved.l1_bytes == pytest.approx(20 * 32 + 4 + 4)


def test_a_vote_leads_all_lanes_of_a_warp_to_the_same_place(tmp_path):
    """Neighbouring lanes read neighbouring keys, wherever the votes before have led their warp."""
    source = f"""__global__ void k(const int *keys, int *out) {{ {INDEX}
      int place = 0;
      for (int d = 0; d < 4; ++d) {{
        place = place * 32 + __popc(__ballot_sync(~0u, keys[place * 32 + threadIdx.x % 32] <= i));
      }}
      out[i] = place;
    }}"""
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert moved.gathered == ()
    assert moved.l1_bytes == pytest.approx(4 * 4 + 4)


@pytest.mark.parametrize(
    ("type_", "index", "requests", "gathers"),
    [
        ("int", "3", 0, 0),  # an operand of another instruction
        ("int", "blockIdx.x", 1, 0),
        ("int", "threadIdx.x % 2", 2, 0),
        ("int", "threadIdx.x", 32, 0),
        ("char", "threadIdx.x", 32, 0),
        ("int", "y[i]", 64 * (1 - (63 / 64) ** 32), 1),  # as of data at random
    ],
)
def test_constant_memory_hands_out_one_address_after_the_other(tmp_path, type_, index, requests, gathers):
    source = f"__constant__ {type_} t[64]; __global__ void k(int *y) {{ {INDEX} y[i] = t[{index}]; }}"
    moved = moved_by(*counted(tmp_path, source, "k=8:64"))
    assert (moved.shared_passes, moved.constant_misses, len(moved.gathered)) == (0, 0, gathers)
    assert moved.constant_requests == pytest.approx(requests)


@pytest.mark.parametrize(("words", "missed"), [(512, 0.0), (1024, 0.5), (4096, 0.875)])
def test_lines_that_the_cache_for_constants_does_not_hold_are_missed(tmp_path, words, missed):
    source = f"""__constant__ int t[{words}]; __global__ void k(int *y) {{ {INDEX}
      y[i] = t[i % 32 * 16 + i / 32 * 512 % {words}]; }}"""
    moved = moved_by(*counted(tmp_path, source, "k=8:64"))
    assert moved.constant_misses == pytest.approx(31 * missed, rel=0.02)


def test_neighbours_in_constant_memory_are_loaded_in_pairs(tmp_path):
    source = f"""__constant__ float t[64 * 8]; __global__ void k(float *y) {{ {INDEX} float s = 0;
      for (int j = 0; j < 8; j++) s += t[threadIdx.x % 64 * 8 + j]; y[i] = s; }}"""
    assert moved_by(*counted(tmp_path, source, "k=8:64")).constant_requests == pytest.approx(4 * 32)


@pytest.mark.parametrize(
    ("call", "requests", "of_a_line"),
    [
        ("atomicAdd(&bins[i], 1)", 4, 4 / 64),  # 64 lines
        ("atomicAdd(&bins[x[i]], 1)", 32, 32 / 128),  # 128 lines
        ("atomicAdd(&x[x[i]], 1)", 32, 0),  # of which nobody knows the size
        ("atomicAdd(&bins[threadIdx.x % 4], x[i])", 8, 8),
        ("atomicAdd(&bins[0], x[i])", 1, 1),  # added up in the warp
        ("atomicAdd(&sums[0], 1.0f)", 32, 32),
        ("atomicExch(&bins[blockIdx.x], x[i])", 32, 32),
        ("atomicAdd(&bins[x[blockIdx.x] * 32 + threadIdx.x], x[i])", 4, 4 / 128),  # data say which row
        ("atomicAdd(&bins[x[blockIdx.x] * 32 + threadIdx.x % 4], x[i])", 8, 8 / 128),
        ("atomicAdd(&bins[x[blockIdx.x]], x[i])", 32, 32 / 128),
    ],
)
def test_atomics_on_one_line_queue_in_a_slice_of_l2(tmp_path, call, requests, of_a_line):
    source = f"""__device__ int bins[4096]; __device__ float sums[4096];
      __global__ void k(int *x) {{ {INDEX} {call}; }}"""
    moved = moved_by(*counted(tmp_path, source, "k=32:64"))
    assert moved.atomic_requests == pytest.approx(requests)
    assert moved.atomic_line_requests == pytest.approx(of_a_line)


@pytest.mark.parametrize(("l2_bytes", "dram_bytes"), [(16384, 16384 / N), (4096, 0.75 * 32), (None, 32)])
def test_l2_keeps_an_array_that_fits_wherever_data_lead(tmp_path, l2_bytes, dram_bytes):
    source = f"__device__ int bins[4096]; __global__ void k(int *x) {{ {INDEX} atomicAdd(&bins[x[i]], 1); }}"
    launch, profile = counted(tmp_path, source, "k=1000:256")
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, l2_bytes=l2_bytes)
    assert moved.dram_bytes == pytest.approx(4 + dram_bytes)
    assert moved.l2_bytes == pytest.approx(4 + 2 * 32)


GATHER = f"__global__ void k(const int *at, const float *x, float *y) {{ {INDEX} y[i] = x[at[i]] + x[i]; }}"
"""In order 4 bytes a thread of each array, and a sector of x for each lane."""


@pytest.mark.parametrize(
    ("extent", "l2_bytes", "dram_bytes"),
    [(4 * N, 4e6, 4 + 4), (4 * N, 2 * N, 4 + 32 / 2), (None, 4e6, 4 + 4 + 32)],
)
def test_a_gather_misses_what_l2_does_not_hold_of_its_array(tmp_path, extent, l2_bytes, dram_bytes):
    launch, profile = counted(tmp_path, GATHER, "k=1000:256")
    launch = replace(launch, contents=Contents(pointers=(GivenPointer(1, 0, 0, extent),)))
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, l2_bytes=l2_bytes)
    assert moved.l1_bytes == pytest.approx(4 + 4 + 4 + 32)
    assert moved.dram_bytes == pytest.approx(4 + dram_bytes)
    assert (moved.footprint_bytes is None) == (extent is None)


def test_arrays_that_data_lead_to_share_l2(tmp_path):
    source = f"""__global__ void k(const int *at, const float *x, float *y, float *z) {{ {INDEX}
      z[i] = x[at[i]] + y[at[i]]; }}"""
    launch, profile = counted(tmp_path, source, "k=1000:256")
    given = tuple(GivenPointer(index, 0, index, 8 * N) for index in (1, 2))
    launch = replace(launch, contents=Contents(pointers=given))
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, l2_bytes=4 * N)
    assert moved.dram_bytes == pytest.approx(4 + 4 + 2 * 32 * 0.75)


TILES = """__global__ void k(const float *a, const float *b, float *c, int n) {
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int j = 0; j < n; ++j) sum += a[row * n + j] * b[j * n + column];
  c[row * n + column] = sum;
}"""
"""1024 x 1024 on 64 x 64 blocks: a depends on y, b on x; 4 bytes a thread of each array."""


@pytest.mark.parametrize(
    ("l2_bytes", "resident", "of_a", "of_b"),
    [
        (16e6, 32, 1, 1),  # all of it fits
        (4.5e6, 64, 1, 1),  # b and what a row of blocks touches of a and c fit
        (4e6, 32, 1, 64),  # b comes back after a row of 64 blocks; 32 of them, which share a, touch half of b
        (2e6, 32, 2, 64),  # which is too much here
        (4e6, 128, 1, 32),  # two rows of blocks at a time share b
        (1e6, 4096, 1, 1),  # all blocks run at once
    ],
)
def test_what_l2_cannot_keep_for_the_next_blocks_is_fetched_again(tmp_path, l2_bytes, resident, of_a, of_b):
    launch, profile = counted(tmp_path, TILES, "k=64,64:16,16", "n=1024")
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, l2_bytes=l2_bytes, resident_blocks=resident)
    assert moved.dram_bytes == pytest.approx(4 * (of_a + of_b + 1))
    assert moved.footprint_bytes == 3 * 4 * 1024**2


AGAIN = """__global__ void k(const float *x, float *y, int n, int rounds) {{
  float sum = 0; {before}
  for (int r = 0; r < rounds; ++r) {{ {loop} }}
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}}"""
SLICE = "for (int j = threadIdx.x; j < n; j += blockDim.x) sum += x[blockIdx.x * n + j];"
STEPPED = "p = x + blockIdx.x * n + threadIdx.x; " + SLICE.replace(
    "x[blockIdx.x * n + j]", "*p, p += blockDim.x"
)


@pytest.mark.parametrize(
    ("loop", "n", "l2_mb", "l2_rounds", "dram_rounds"),
    [
        (SLICE, 4096, 4, 1, 1),  # 16 KiB of a block: L1 keeps them, 160 blocks have 2.6 MB together
        (SLICE, 4096, 2, 1, 1),  # which this L2 does not hold, and is not asked for again
        (SLICE, 65536, 60, 8, 1),  # 512 KiB of two blocks: no L1 holds them, L2 does
        (SLICE, 65536, 40, 8, 8),
        (STEPPED.replace("p = x", "const float *p = x"), 65536, 40, 8, 8),
        ("int j; " + SLICE.replace("int j", "j"), 65536, 40, 8, 8),
        # each round goes elsewhere
        (SLICE.replace("x[", "x[r * gridDim.x * n + "), 65536, 40, 8, 8),
    ],
)
def test_what_caches_cannot_keep_is_fetched_in_each_round(tmp_path, loop, n, l2_mb, l2_rounds, dram_rounds):
    """1000 blocks of 256 threads, two on each of 80 multiprocessors; 8 rounds."""
    source = AGAIN.format(before="", loop=loop)
    launch, profile = counted(tmp_path, source, "k=1000:256", f"n={n}", "rounds=8")
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, l2_bytes=l2_mb * 1e6, resident_blocks=160, blocks_per_sm=2)
    of_slice = n * 4 / 256
    assert moved.l1_bytes == pytest.approx(8 * of_slice + 4)
    assert moved.l2_bytes == pytest.approx(l2_rounds * of_slice + 4)
    assert moved.dram_bytes == pytest.approx(dram_rounds * of_slice + 4)


COLUMN = "for (int j = threadIdx.x; j < 1000; j += 256) s += t[j * n + blockIdx.x];"


@pytest.mark.parametrize(
    ("body", "l2_sectors", "dram_sectors"),
    [  # sectors of `t`: of one block on the mean, and of all 1000 blocks
        # a loop whose length is each lane's own: 3 to 10 neighbouring floats of 64, in one sector or two
        ("FOR(0, i % 8 + 3) s += t[i * 64 + j];", 256 * 10 / 8, 256 * 10 / 8 * 1000),
        # rows of 256 floats: two triangles of 30, 3 to 10 for each lane, 1 to 10 for each block
        ("REP(30) FOR(0, k + 1) s += t[j * n + i];", 960, 960e3),
        ("REP(30) FOR(k, 30) s += t[j * n + i];", 960, 960e3),
        ("REP(9) FOR(0, i % 8 + 3) s += t[j * n + i];", 320, 320e3),
        ("REP(3) FOR(0, blockIdx.x % 10 + 1) s += t[j * n + i];", 176, 176e3),
        ("if (blockIdx.x % 10 == 0) REP(9) s += t[i];", 3.2, 3200),
        ("REP(3) for (int j = i; j < 5 * n - 77; j += n) s += t[j];", 160, 159990),
        ("if (threadIdx.x < 32 * ((blockIdx.x + 6) % 8 + 1)) s += t[i];", 18, 18e3),
        # a loop that halves its counter, with rows of its own in each iteration
        ("for (int k = 64; k > 0; k /= 2) FOR(0, 4) s += t[(5 * k + j) * n + i];", 896, 896e3),
        # a block has a column: eight of them share the sectors of each row
        (COLUMN, 1000, 125 * 1000),
        ("REP(9) " + COLUMN, 1000, 125 * 1000),
        ("s += t[blockIdx.x];", 1, 125),
        ("FOR(0, 300) s += t[j * n + blockIdx.x];", 300, 300 * 125),
    ],
)
def test_each_sector_comes_once_to_a_block_and_once_to_the_grid(tmp_path, body, l2_sectors, dram_sectors):
    """1000 blocks of 256 threads, 160 at a time, which an L2 of 60 MB serves."""
    source = f"""#define REP(n) for (int k = 0; k < n; k++)
    #define FOR(from, to) for (int j = from; j < to; j++)
    __global__ void k(float *o, const float *t, int n) {{ {INDEX} float s = 0; {body} o[i] = s; }}"""
    launched, profile = counted(tmp_path, source, "k=1000:256", "k.n=256000")
    requests = lower_instructions(launched.kernel, profile).requests
    moved = traffic(launched, profile, requests, l2_bytes=60e6, resident_blocks=160, blocks_per_sm=2)
    (own,) = (one for one in moved.by_access if not one.access.is_store)
    assert own.l2_bytes * 256 == pytest.approx(32 * l2_sectors, rel=0.01)
    assert own.dram_bytes * N == pytest.approx(32 * dram_sectors, rel=0.01)


def test_l2_need_only_hold_what_blocks_touch_that_run_together(tmp_path):
    """In each of 9 rounds 160 blocks share 20 times 1000 sectors, 0.64 MB; all blocks have 4 MB."""
    source = f"""__global__ void k(float *o, const float *t, int n) {{ {INDEX} float s = 0;
      for (int k = 0; k < 9; k++) {COLUMN.replace("t[", "__ldcg(t + ").replace("x];", "x);")} o[i] = s; }}"""
    launched, profile = counted(tmp_path, source, "k=1000:256", "k.n=256000")
    requests = lower_instructions(launched.kernel, profile).requests
    moved = traffic(launched, profile, requests, l2_bytes=2e6, resident_blocks=160, blocks_per_sm=2)
    (own,) = (one for one in moved.by_access if not one.access.is_store)
    assert own.l2_bytes * 256 == pytest.approx(9 * 32 * 1000, rel=0.02)
    assert own.dram_bytes * N == pytest.approx(32 * 125e3, rel=0.01)


@pytest.mark.parametrize(("l2_bytes", "times"), [(3e6, 1), (2e6, 8)])
def test_blocks_far_apart_share_sectors_if_l2_keeps_what_lies_between(tmp_path, l2_bytes, times):
    """Eight blocks along y share a sector of each row; the 300 from one to the next touch 2.5 MB."""
    source = """__global__ void k(float *o, const float *t) {
      o[(blockIdx.y * 300 + blockIdx.x) * 256] = t[(blockIdx.x * 256 + threadIdx.x) * 1024 + blockIdx.y]; }"""
    launched, profile = counted(tmp_path, source, "k=300,8:256")
    requests = lower_instructions(launched.kernel, profile).requests
    moved = traffic(launched, profile, requests, l2_bytes=l2_bytes, resident_blocks=160, blocks_per_sm=2)
    (own,) = (one for one in moved.by_access if not one.access.is_store)
    assert own.dram_bytes * 300 * 8 * 256 == pytest.approx(32 * 256 * 300 * times)


STRIDED = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < {n}; i += gridDim.x * blockDim.x)"


@pytest.mark.parametrize(
    ("body", "l2_mb", "passes"),
    [
        ("LOOP(n) sum += x[i]; LOOP(n) sum += x[i] * sum;", 6, 2),
        ("LOOP(n) sum += x[i]; LOOP(n) sum += x[i] * sum;", 300, 1),  # all of it stays in this L2
        ("LOOP(n) sum += x[i]; LOOP(n) sum += x[i] * sum; LOOP(n) sum += x[i] / sum;", 6, 3),
        ("LOOP(n) sum += x[i] + x[i + 1] * x[i + 2];", 6, 1),  # one loop goes there once
        ("LOOP(n / 2) sum += x[i]; LOOP(n / 2) sum += x[i + n / 2] * sum;", 6, 1),  # each its own half
        ("for (int r = 0; r < 3; r++) { LOOP(n) sum += x[i]; LOOP(n) sum += x[i] * sum; }", 6, 6),
        # both loops over a part of 256 KiB, then over the next one: 160 blocks of them fit 60 MB, not 20
        ("PARTS { PART sum += x[i]; PART sum += x[i] * sum; }", 60, 1),
        ("PARTS { PART sum += x[i]; PART sum += x[i] * sum; }", 20, 2),
        ("LOOP(n) sum += x[i]; LOOP(1 << 16) sum += x[i] * sum;", 6, 1),  # a small part again
    ],
)
def test_each_of_two_loops_fetches_what_l2_cannot_keep(tmp_path, body, l2_mb, passes):
    """268 MB, read by 160 blocks of 256 threads that all run at a time."""
    start = "blockIdx.x * (n / 160)"
    body = body.replace("PARTS", "for (int p = 0; p < n / 160; p += 1 << 16)")
    part = f"for (int i = {start} + p + threadIdx.x; i < {start} + p + (1 << 16); i += blockDim.x)"
    body = body.replace("PART", part)
    body = re.sub(r"LOOP\((.*?)\)(?= sum)", lambda found: STRIDED.format(n=found[1]), body)
    source = f"__global__ void k(const float *x, float *y, int n) {{ float sum = 0; {body} y[0] = sum; }}"
    n = 160 * 7 * 65536
    launch, profile = counted(tmp_path, source, "k=160:256", f"n={n}")
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, l2_bytes=l2_mb * 1e6, resident_blocks=160, blocks_per_sm=2)
    assert moved.dram_bytes * 160 * 256 == pytest.approx(passes * 4 * n, rel=0.01)


@pytest.mark.parametrize(
    ("load", "is_kept"),
    [
        ("x[j]", True),
        ("__ldg(x + j)", True),
        ("__ldcs(x + j)", True),  # the first to go, but kept
        ("__ldcg(x + j)", False),
        ("__ldcv(x + j)", False),
        ("((volatile const float*)x)[j]", False),
        ('0; asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(x + j)); sum += v', True),
        ('0; asm("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(x + j)); sum += v', False),
    ],
)
def test_some_loads_go_past_l1(tmp_path, load, is_kept):
    """All eight warps of a block load the same kilobyte."""
    source = f"""__global__ void k(const float *x, float *y, int n) {{
      float v, sum = 0;
      for (int i = 0; i < 256; i += 32) {{ int j = i + threadIdx.x % 32; sum += {load}; }}
      y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
    }}"""
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert moved.l1_bytes == 4 + 8 * 4
    assert moved.l2_bytes == 4 + (1024 / 256 if is_kept else 8 * 4)


ROWS = """__global__ void k(const float *x, const float *w, float *y, int n, int m) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  for (int o = 0; o < m; ++o) {
    float sum = 0;
    for (int c = 0; c < n; ++c) sum += x[row * 8 * n + c] * w[o * n + c];
    y[o * gridDim.x * blockDim.x + row] = sum;
  }
}"""
"""Each thread goes along a row of its own: of eight loads of a sector one is new."""
PLACE = "x[(y + i) * width + blockIdx.x * 64 + threadIdx.x + j]"
KEPT = [
    ("rows that fit", ROWS, "k=100:64", ("n=64", "m=16"), 2e6),
    ("tiles", TILES, "k=64,64:16,16", ("n=1024",), 16e6),
    (
        "in place",
        """__global__ void k(float *x, int n) {
          for (int r = 0; r < 8; ++r)
            for (int j = threadIdx.x; j < n; j += 256) x[blockIdx.x * n + j] *= 2;
        }""",
        "k=100:256",
        ("n=4096",),
        2e6,
    ),
    (
        "a stencil",
        f"""__global__ void k(const float *x, float *o, int width) {{
          int y = blockIdx.y; float sum = 0;
          for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) sum += {PLACE};
          o[y * width + blockIdx.x * 64 + threadIdx.x] = sum;
        }}""",
        "k=16,1024:64",
        ("width=1024",),
        1e5,
    ),
    (
        "a table beside a stream",
        """__global__ void k(const float *x, const float *t, float *y, int n) {
          for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) y[i] = x[i] * t[i & 63];
        }""",
        "k=100:256",
        ("n=2560000",),
        1e6,
    ),
]


@pytest.mark.parametrize(("source", "launch", "settings", "l2_bytes"), [case[1:] for case in KEPT])
def test_what_caches_keep_between_rounds_is_not_fetched_again(tmp_path, source, launch, settings, l2_bytes):
    found, profile = counted(tmp_path, source, launch, *settings)
    requests = lower_instructions(found.kernel, profile).requests
    once = tuple(replace(one, passes=()) for one in requests)

    def moved(made: tuple[RequestCount, ...]) -> Traffic:
        return traffic(found, profile, made, l2_bytes=l2_bytes, resident_blocks=100, blocks_per_sm=2)

    assert moved(requests) == moved(once)


STREAMS = [
    ("streaming", f"{INDEX} y[i] = x[i];", 8),
    ("shifted", f"{INDEX} y[i] = x[i] + x[i + 1];", 8),
    ("grid stride", f"{INDEX} for (int j = i; j < 512000; j += 256000) y[j] = x[j];", 16),
    ("through a register", f"{INDEX} const float *p = x; p += i; y[i] = *p;", 8),
    (
        "through a load",
        f"{INDEX} int b = at[blockIdx.x]; y[i] = x[b * blockDim.x + threadIdx.x];",
        8 + 4 / 256,
    ),
]


@pytest.mark.parametrize(
    ("body", "dram_bytes"), [case[1:] for case in STREAMS], ids=[case[0] for case in STREAMS]
)
def test_what_no_two_blocks_share_is_fetched_once_however_small_l2_is(tmp_path, body, dram_bytes):
    source = f"__global__ void k(const float *x, float *y, const int *at) {{ {body} }}"
    launch, profile = counted(tmp_path, source, "k=1000:256")
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, l2_bytes=1024, resident_blocks=10)
    assert moved.dram_bytes == pytest.approx(dram_bytes, rel=0.01)


def test_a_table_that_every_block_reads_comes_back_for_each_wave(tmp_path):
    """1024 bytes beside streams that fill L2: 100 waves of 10 blocks fetch it, not 1000 blocks."""
    source = f"""__global__ void k(const float *x, const float *table, float *y) {{
      {INDEX} y[i] = x[i] * table[threadIdx.x]; }}"""
    launch, profile = counted(tmp_path, source, "k=1000:256")
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, l2_bytes=4096, resident_blocks=10)
    assert moved.dram_bytes == pytest.approx(8 + 100 * 1024 / N)


SHARED_READS = """__global__ void k({type} *y, const {type} *x) {{
  __shared__ {type} s[1024];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  {type} sum = {{}};
  for (int j = 0; j < {trips}; j++) {{ {type} v = s[{index}]; {add} }}
  y[threadIdx.x] = sum;
}}"""


@pytest.mark.parametrize(
    ("type_", "index", "loads", "passes"),  # loads: those of the SASS of nvcc 13, sm_80
    [
        # The same for all lanes: 8 bytes of it are handed out in a pass.
        ("float4", "j", 64, 2),
        ("float4", "j + threadIdx.x / 32", 64, 2),
        ("double", "j", 32, 2),
        ("float", "j", 16, 2),
        ("float", "n[j]", 64, 1),
        # Each lane its own: 16 bytes of 32 lanes are four passes, however the compiler came to them.
        ("float4", "j + threadIdx.x", 64, 4),
        ("float", "threadIdx.x % 8 * 64 + j", 16, 4 * 8),  # each quarter of a warp has eight rows in one bank
        ("float", "threadIdx.x * 4 + j", 16, 4),
        ("float", "threadIdx.x * 2 + j", 32, 2),
    ],
)
def test_passes_of_shared_memory_are_those_of_the_requests_that_the_compiler_makes(
    tmp_path, type_, index, loads, passes
):
    add = "sum.x += v.x * v.w + v.y * v.z;" if type_ == "float4" else "sum += v * v;"
    source = SHARED_READS.format(type=type_, index=index, add=add, trips=64)
    source = source.replace("const " + type_, "const int *n, const " + type_) if "n[" in index else source
    launch, profile = counted(tmp_path, source, "k=1:128")
    moved = traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)
    assert moved.shared_accesses == loads + 1
    stored = {"float4": 4, "double": 2, "float": 1}[type_]
    assert moved.shared_passes == pytest.approx(loads * passes + stored)


@pytest.mark.parametrize(
    ("type_", "call", "passes"),  # what becomes of the calls: the SASS of nvcc 13, sm_75 and sm_86
    [
        ("int", "atomicAdd(&s[t], x[t])", 1),
        ("int", "atomicAdd(&s[t & 3], x[t])", 8),  # eight lanes on each of four words
        ("int", "atomicAdd(&s[t * 32 & 127], x[t])", 32),  # four words in one bank
        ("int", "atomicAdd(&s[t / 32], x[t])", 32),
        ("int", "if (t % 32 < 10) atomicAdd(&s[t / 32], x[t])", 10),
        ("unsigned", "atomicInc(&s[t & 3], 100)", 8),
        ("unsigned", "atomicAdd(&s[t & 3], 1u)", 1),  # ATOMS.POPC.INC
        ("int", "atomicAdd(&s[t & 3], 2)", 8),
        ("int", "atomicXor(&s[t & 3], 1)", 8),
        ("int", "atomicExch(&s[0], x[t])", 32),
        ("int", "atomicCAS(&s[0], 1, x[t])", 32),
        ("int", "atomicAdd(&s[0], x[t])", 1),  # REDUX, or SHFL, before one lane's ATOMS
        ("int", "atomicMax(&s[n], x[t])", 1),
        ("int", "atomicOr(&s[blockIdx.x & 3], x[t])", 1),
        ("float", "atomicAdd(&s[0], x[t])", 2 * 32),  # LDS and ATOMS.CAST, again for each lane
        ("float", "atomicAdd(&s[t & 3], x[t])", 2 * 8),
        ("float", "atomicAdd(&s[t], x[t])", 2),
        ("float", "atomicExch(&s[t], x[t])", 1),
        ("unsigned long long", "atomicAdd(&s[0], 1ull)", 2 * 32),
        ("int", "atomicAdd(&s[x[t]], x[t])", 3.52),  # data decide: the fullest of 32 banks, lane by lane
        ("int", "atomicAdd(&s[x[t]], 1)", 2.78),  # lanes on one of 128 words together
        ("float", "atomicAdd(&s[(int)x[t]], x[t])", 2 * 3.52),
        ("int", "x[t] = s[x[t]]", 2.78),
    ],
)
def test_lanes_that_queue_for_a_word_of_shared_memory_take_a_pass_each(tmp_path, type_, call, passes):
    source = f"""__global__ void k({type_} *x, int n) {{
      __shared__ {type_} s[128]; int t = threadIdx.x; {call};
    }}"""
    launch, profile = counted(tmp_path, source, "k=8:128", "n=5")
    moved = traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)
    assert moved.shared_passes == pytest.approx(passes, rel=0.01)


def test_an_atomic_on_a_word_that_a_loop_moves_to_is_of_one_lane_each_time(tmp_path):
    source = """__global__ void k(const int *x) {
      __shared__ int s[64]; for (int j = 0; j < 64; j++) atomicAdd(&s[j], x[threadIdx.x + j]);
    }"""
    assert moved_by(*counted(tmp_path, source, "k=8:128")).shared_passes == pytest.approx(64)


def test_bank_conflicts_are_passes(tmp_path):
    source = """__global__ void k(float *y) {
      __shared__ float tile[32 * 32];
      tile[threadIdx.x] = 1.0f;
      y[threadIdx.x] = tile[threadIdx.x * 32];
    }"""
    moved = moved_by(*counted(tmp_path, source, "k=1:32"))
    assert moved.shared_passes == 1 + 32
    assert moved.shared_accesses == 2


@pytest.mark.parametrize(
    ("element", "step", "passes"),
    [
        ("float", 1, 1),  # 32 neighbours: 128 bytes
        ("float", 16, 16),  # every half line: two banks hold them all
        ("float", 32, 32),  # a line each, all in one bank
        ("float", 33, 1),  # a line each, each in a bank of its own: 32 sectors, which are more
        ("float2", 1, 2),  # two halves of a warp, 128 bytes each
        ("float2", 8, 16),  # 16 lanes, 64 bytes apart: eight lines in two pairs of banks, twice
        ("float4", 1, 4),
    ],
)
def test_l1_has_the_banks_of_shared_memory(tmp_path, element, step, passes):
    source = f"__global__ void k(const {element} *x, float *y) {{ {INDEX} {element} v = x[i * {step}]; "
    source += "if (v.x > 0) y[0] = 1; }" if element != "float" else "if (v > 0) y[0] = 1; }"
    launch, profile = counted(tmp_path, source, "k=8:256")
    mix = lower_instructions(launch.kernel, profile)
    loads = tuple(one for one in mix.requests if not one.is_store)
    moved = traffic(launch, profile, loads)
    assert moved.l1_passes == pytest.approx(max(passes, moved.l1_bytes / 4))


def test_a_texture_is_fetched_as_a_box(tmp_path):
    source = """__global__ void k(cudaTextureObject_t t, float *y, int width) {
      int x = blockIdx.x * 16 + threadIdx.x, z = blockIdx.y * 16 + threadIdx.y;
      y[z * width + x] = tex2D<float>(t, x, z) + tex2D<float>(t, x + 1, z) + tex2D<float>(t, x, z + 1);
    }"""
    moved = moved_by(*counted(tmp_path, source, "k=64,64:16,16", "width=1024"))
    assert moved.dram_bytes == pytest.approx(4 + 4, rel=0.01)


@pytest.mark.parametrize(
    "parameter",
    [
        "float A[64][1024]",
        "float A[][1024]",
        "Mat A",
        "Row A[64]",
        "Row *A",
        "float (*A)[1024]",
        "float (&A)[64][1024]",
        "Mat &A",
    ],
)
def test_a_parameter_of_array_type_is_a_pointer(tmp_path, parameter):
    before = "typedef float Row[1024]; typedef float Mat[64][1024];"
    kernel = "__global__ void k({}) {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {} *= 2; }}"
    plain = moved_by(*counted(tmp_path, kernel.format("float *A", "A[blockIdx.y * 1024 + i]"), "k=4,64:256"))
    source = before + kernel.format(parameter, "A[blockIdx.y][i]")
    assert (found := moved_by(*counted(tmp_path, source, "k=4,64:256"))) == plain
    assert (found.l1_bytes, found.dram_bytes, found.footprint_bytes) == (8, 8, 4 * 64 * 1024)
    called = f"__device__ void f({parameter}, int i) {{ A[blockIdx.y][i] *= 2; }} "
    kernel = "__global__ void k({}) {{ f(A, blockIdx.x * blockDim.x + threadIdx.x); }}"
    assert moved_by(*counted(tmp_path, before + called + kernel.format(parameter), "k=4,64:256")) == plain


def test_a_parameter_of_array_type_is_a_pointer_in_c_and_behind_restrict_too(tmp_path):
    body = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = x[i]; }"
    for parameters in ("float y[], const float x[]", "float *__restrict__ y, float x[256]"):
        moved = moved_by(*counted(tmp_path, f"__global__ void k({parameters}) {body}", "k=1000:256"))
        assert (moved.l1_bytes, moved.dram_bytes, moved.footprint_bytes) == (8, 8, 2 * 4 * N)
    path = tmp_path / "k.c"
    path.write_text("typedef float M[8][16]; void k(M a, float b[8][16]) { a[1][2] = b[1][2]; }")
    first, second = read_c(path).kernels[0].parameters
    assert first.type == second.type
    assert first.type.element is not None
    assert first.type.element.length == 16


SHIFTS = """__global__ void k(const float *in, float *out, const int *at, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x; float sum = 0;
  for (int k = 0; k < 64; ++k) sum += in[{index}];
  out[i] = sum;
}}"""


def dram_of(tmp_path, index):
    return moved_by(*counted(tmp_path, SHIFTS.format(index=index), "k=4096:256", "n=4096")).dram_bytes


@pytest.mark.parametrize(("plain", "shifted"), [("i", "i + at[k]"), ("k * n + i", "k * n + i + at[k]")])
def test_an_offset_that_the_whole_launch_shares_moves_what_is_touched(tmp_path, plain, shifted):
    offsets = 64 * 4 / (4096 * 256)
    assert dram_of(tmp_path, shifted) == pytest.approx(dram_of(tmp_path, plain) + offsets, rel=1e-6)


@pytest.mark.parametrize(
    "row", ["at[k] * 1048576 + i", "k * at[0] + i", "at[blockIdx.x * 64 + k] + threadIdx.x"]
)
def test_rows_that_memory_chooses_are_each_fetched(tmp_path, row):
    assert dram_of(tmp_path, row) >= 64 * 4


LOCAL = f"""__global__ void k(float *y, const int *at, int n) {{
  float a[SIZE];
  {INDEX}
  for (int j = 0; j < n; ++j) a[INDEX] = j;
  float s = 0;
  for (int j = 0; j < n; ++j) s += a[INDEX];
  y[i] = s;
}}"""


def local_traffic(tmp_path, size, index, number, **caches):
    """Bytes per thread of the accesses to `a`, at L1, L2 and DRAM; 1000 blocks of 256 threads."""
    source = LOCAL.replace("SIZE", str(size)).replace("a[INDEX]", f"a[{index}]")
    launch, profile = counted(tmp_path, source, "k=1000:256", f"n={number}")
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, **caches)
    own = [one for one in moved.by_access if one.access.root is not None and one.access.root.name == "a"]
    for level in ("l1_bytes", "l2_bytes", "dram_bytes"):
        parts = math.fsum(getattr(part, level) for part in moved.by_access)
        assert parts == pytest.approx(getattr(moved, level))
    return tuple(
        math.fsum(getattr(one, level) for one in own) for level in ("l1_bytes", "l2_bytes", "dram_bytes")
    )


@pytest.mark.parametrize(
    ("size", "index", "number", "beyond_l1", "beyond_l2"),
    [
        # 16 floats of 8 blocks of 256 threads are all of 128 KiB
        (16, "n - 1 - j", 16, 0.0, 0.0),
        # twice as many: half of the accesses miss, and 80 SMs have 20 MiB, of which L2 keeps 6
        (32, "n - 1 - j", 32, 1 / 2, 1 / 2 * (1 - 6 / 20)),
        # a kilobyte of each thread is touched, of four
        (1024, "n - 1 - j", 256, 15 / 16, 15 / 16 * (1 - 6 / 160)),
    ],
)
def test_local_memory_beyond_l1(tmp_path, size, index, number, beyond_l1, beyond_l2):
    """One index in all lanes: a request touches 128 bytes, 4 of each thread, loads and stores alike."""
    caches = {"local_l1_bytes": 128 << 10, "l2_bytes": 6 << 20, "resident_blocks": 640, "blocks_per_sm": 8}
    found = local_traffic(tmp_path, size, index, number, **caches)
    requested = 4 * 2 * number
    assert found == pytest.approx((requested, requested * beyond_l1, requested * beyond_l2))


def test_local_memory_of_few_blocks_stays_in_l1(tmp_path):
    """Of 640 blocks at a time only those that run have arrays: 1000 blocks of a grid with room for 8000."""
    caches = {"local_l1_bytes": 64 << 10, "l2_bytes": 6 << 20, "resident_blocks": 8000, "blocks_per_sm": 8}
    assert local_traffic(tmp_path, 64, "(j * 7) % n", 64, **caches) == (512, 0, 0)


@pytest.mark.parametrize(
    ("index", "sectors"),
    [
        ("(j * 7) % n", 4),
        ("(j + i) % 32", 32),  # each lane another word: eight words of eight lanes are not one sector
        ("(j + i / 8) % 32", 4),
        ("(j + (i & 1)) % 32", 8),
        ("at[i + j] % 32", 32),  # data decide
    ],
)
def test_words_of_local_memory_lie_lane_by_lane(tmp_path, index, sectors):
    l1_bytes, _, _ = local_traffic(tmp_path, 32, index, 16)
    assert l1_bytes == pytest.approx(2 * 16 * sectors * 32 / 32)


@pytest.mark.parametrize(("type_", "words"), [("char", 1), ("double", 2), ("float4", 4)])
def test_elements_of_local_memory_are_words(tmp_path, type_, words):
    source = f"""__global__ void k({type_} *y, int n) {{ {type_} a[8] = {{}}; {INDEX}
      for (int j = 0; j < 8; ++j) a[j] = y[i];
      y[i] = a[n]; }}"""
    launch, profile = counted(tmp_path, source, "k=1000:256", "n=3")
    moved = traffic(launch, profile, lower_instructions(launch.kernel, profile).requests)
    own = [one for one in moved.by_access if one.access.root is not None and one.access.root.name == "a"]
    assert [one.l1_bytes for one in own if not one.access.is_store] == [4 * words]
    assert sum(one.l1_bytes for one in own if one.access.is_store) == 8 * 4 * words


def test_arrays_that_data_index_are_touched_as_a_whole(tmp_path):
    """Doubles: two sectors of each lane. 256 bytes of 8 blocks of 256 threads in 128 KiB: 3 of 4 miss."""
    source = f"""__global__ void k(double *y, const int *at) {{ double a[32] = {{}}; {INDEX}
      for (int j = 0; j < 8; ++j) a[at[i + j]] += 1; y[i] = a[at[i]]; }}"""
    launch, profile = counted(tmp_path, source, "k=1000:256")
    requests = lower_instructions(launch.kernel, profile).requests
    moved = traffic(launch, profile, requests, local_l1_bytes=128 << 10, resident_blocks=640, blocks_per_sm=8)
    own = [one for one in moved.by_access if one.access.space is MemorySpace.LOCAL]
    assert sorted((one.l1_bytes, one.l2_bytes) for one in own) == [(64, 48), *[(64 * 8, 48 * 8)] * 2]
    assert moved.l1_passes >= math.fsum(one.l1_bytes for one in own) / 4


FULL = """__global__ void k(float *y, int n) {{ {shared}
  float a[1024]; int i = blockIdx.x * blockDim.x + threadIdx.x; {use}
  for (int j = 0; j < n; ++j) a[j] = i;
  float s = 0; for (int j = 0; j < n; ++j) s += a[n - 1 - j]; y[i] = s; }}
int main() {{ float *y; k<<<10000, 256>>>(y, {n}); }}"""


@pytest.mark.parametrize(
    ("gpu", "shared_kib", "words", "held_kib"),
    [
        ("v100", 0, 16, 128),  # 8 blocks of 256 threads on each SM
        ("v100", 8, 16, 128 - 64),
        ("gtx_1080_ti", 8, 16, 48),  # an L1 of its own
        ("p100", 0, 16, 24),
        ("gtx_980", 0, 16, 0),  # L1 keeps no local memory
        ("a100", 0, 1024, 192 - 8),  # each block takes 1 KiB of shared memory for itself
    ],
)
def test_l1_beside_shared_memory_holds_local_memory(gpu, shared_kib, words, held_kib):
    shared, use = "", ""
    if shared_kib:
        shared, use = (
            f"__shared__ int t[{shared_kib * 256}];",
            "t[threadIdx.x] = i; __syncthreads(); y[0] = t[0];",
        )
    launch = launch_of(FULL.format(shared=shared, use=use, n=words))
    board = load_gpu(gpu)
    resident = residency(launch, board)
    assert resident.occupancy.blocks_per_sm == 8
    assert resident.local_l1_bytes == held_kib << 10
    moved = launch_work(launch, resident, count(launch)).traffic
    past_l1 = 1 - held_kib / (2 * 4 * words)  # of 2048 threads
    own = [one for one in moved.by_access if one.access.space is MemorySpace.LOCAL]
    l1_bytes, l2_bytes = (math.fsum(getattr(one, name) for one in own) for name in ("l1_bytes", "l2_bytes"))
    assert l1_bytes == 2 * 4 * words
    assert l2_bytes == pytest.approx(l1_bytes * max(0.0, past_l1))


def test_local_memory_that_is_only_assumed_to_be_reached_has_traffic(tmp_path):
    """The sorted list of a nearest-neighbour search: whether an element moves up depends on data."""
    source = """
    __global__ void k(float *o, int k, int n) {
        float best[100];
        for (int e = 0; e < k; e++) best[e] = 5e4f;
        for (int x = 0; x < n; x++)
            for (int e = 0; e < k; e++)
                if (best[e] > o[x]) {
                    for (int q = k - 1; q > e; q--) best[q] = best[q - 1];
                    best[e] = o[x];
                    break;
                }
        o[threadIdx.x] = best[0];
    }
    int main() { k<<<4, 256>>>(0, 16, 1000); }
    """
    found = analysed(tmp_path, source)
    assert found.power_w is not None


@pytest.mark.parametrize(
    ("index", "passes"), [("x[i] & 255", 3.15), ("x[0] + threadIdx.x", 1), ("i & 255", 1)]
)
def test_data_lead_the_lanes_of_a_warp_anywhere_in_a_shared_table(tmp_path, index, passes):
    # H200: 3.0 passes for each load of a table of AES (256 words), 3.1 for one of a cyclic redundancy check
    body = f"{INDEX} y[i] = t[{index}];"
    source = f"__shared__ int t[256]; __global__ void k(const int *x, int *y) {{ {body} }}"
    moved = moved_by(*counted(tmp_path, source, "k=1000:256"))
    assert moved.shared_passes == pytest.approx(passes, abs=0.1)


def test_a_table_of_few_words_has_fewer_passes(tmp_path):
    source = f"__shared__ int t[64]; __global__ void k(const int *x, int *y) {{ {INDEX} y[i] = t[x[i]]; }}"
    assert moved_by(*counted(tmp_path, source, "k=1000:256")).shared_passes == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize(
    "chosen",
    [
        "v & 7",
        "v % 8",
        "(unsigned)v >> 29",
        "v < 0 ? 0 : v > 7 ? 7 : v",
        "7 < v ? 7 : !(v >= 0) ? 0 : v",
        "clamped(v, 0, 7)",
        "max(min(v, 7), 0)",
        "min(abs(v % 100), 7)",
        "(int)(__saturatef(f) * 7.0f)",
        "(int)fminf(fmaxf(f, 0.0f), 7.0f)",
        "v; if (bin > 7) bin = 7; if (bin < 0) bin = 0",
        "v; if (bin >= n) bin = n - 1; if (bin < 0) bin = 0",
        "v; if (bin < 0 || bin >= 8) return",
        "0; if (f < 0.0f) f = 0.0f; if (f > 7.0f) f = 7.0f; bin = (int)f",
        "v; if (bin < 0) { bin = 0; } else if (bin > 7) { bin = 7; }",
    ],
)
def test_bounds_of_a_bin_are_one_however_they_are_written(tmp_path, chosen):
    """Eight words, in one line of L2."""
    source = f"""__device__ int clamped(int v, int a, int b) {{ return v < a ? a : (v > b ? b : v); }}
    __global__ void k(const int *x, const float *y, int *h, int n) {{
      {INDEX} int v = x[i]; float f = y[i]; int bin = {chosen}; atomicAdd(&h[bin], 1);
    }}"""
    launch, profile = counted(tmp_path, source, "k=1000:256", "n=8")
    moved = traffic_of(launch, profile)
    assert moved.atomic_requests > 0
    assert moved.atomic_line_requests == pytest.approx(moved.atomic_requests)


@pytest.mark.parametrize(
    "chosen",
    [
        "v; if (bin > 7) bin = 7",  # nothing says where it begins, but what lies before an array is not met
        "v; if (bin < 8) bin = x[i + n]",
        "v; if ((short)bin < 0 || (short)bin >= 8) return",  # of its lower half alone
        "v; if (bin < 0 || bin >= 8) bin = x[i + n]",
        "v; if (bin >= 0 && bin < 8) bin = x[i + n]",
        "v; if (bin < 0 && bin >= 8) return",
    ],
)
def test_what_is_no_bound_bounds_nothing(tmp_path, chosen):
    source = f"""__global__ void k(const int *x, int *h, int n) {{
      {INDEX} int v = x[i]; int bin = {chosen}; atomicAdd(&h[bin], 1);
    }}"""
    launch, profile = counted(tmp_path, source, "k=1000:256", "n=8")
    moved = traffic_of(launch, profile)
    assert moved.atomic_requests > 0
    assert moved.atomic_line_requests < 1e-6 * moved.atomic_requests  # an array of any size


def of_array(moved, name):
    return next(
        one for one in moved.by_access if one.access.root is not None and one.access.root.name == name
    )


@pytest.mark.parametrize(
    ("body", "sectors"),
    [
        ("int r = idx[i / 16]; y[i] = x[r * 16 + i % 16];", 4.0),
        ("int r = idx[i >> 3]; y[i] = x[(r << 3) + (i & 7)];", 4.0),
        ("int r = idx[i / 4]; y[i] = x[r * 4 + i % 4];", 8.0),  # half a sector each
        ("int r = idx[i / 8], l = i % 8; y[i] = x[r + l];", 7.5),  # 8 words at any word: 1.875 sectors
        ("int r = idx[i / 8] * 9, l = i % 8; y[i] = x[r + l];", 7.5),
        ("int r = idx[i / 16] + idx[i / 8]; y[i] = x[r * 8 + i % 8];", 4.0),
        ("int r = idx[i / 16] / 3; y[i] = x[r * 16 + i % 16];", 4.0),
        ("int r = idx[idx[i / 16]]; y[i] = x[r * 16 + i % 16];", 4.0),
        ("int r = idx[i / 16]; atomicAdd(&y[r * 16 + i % 16], x[i]); r = 0;", 4.0),
        ("int r = idx[i / 2] & 7; y[i] = x[r * 2 + i % 2];", 2.0),  # all that there is
        ("int r = idx[i]; y[i] = x[r * 16 + i % 16];", 32.0),
        ("int r = idx[i / 16]; r = __shfl_sync(~0u, r, i * 7 % 32); y[i] = x[r * 16 + i % 16];", 32.0),
        ("int r = 0; if (idx[i] > 0) r = idx[i / 16]; y[i] = x[r * 16 + i % 16];", 32.0),
    ],
)
def test_lanes_that_read_one_place_have_the_same_row(tmp_path, body, sectors):
    """Half a warp with a row out of memory fetches that, not one sector for each lane."""
    source = f"__global__ void k(const int *idx, const float *x, float *y) {{ {INDEX} {body} }}"
    launch, profile = counted(tmp_path, source, "k=1000:256")
    moved = traffic_of(launch, profile)
    row = of_array(moved, "y" if "atomic" in body else "x")
    assert row.l1_bytes / (1 + row.access.is_atomic) == pytest.approx(sectors, rel=0.02)  # some warps
    assert bool(moved.gathered) is (sectors == 32.0)


def test_rows_that_warps_share_are_fetched_once(tmp_path):
    """A block of 256 threads with two rows, which each of its warps reads: 2 x 64 bytes of 8 x 128."""
    body = "int r = idx[i % 32 / 16]; y[i] = x[r * 16 + i % 16];"
    source = f"__global__ void k(const int *idx, const float *x, float *y) {{ {INDEX} {body} }}"
    launch, profile = counted(tmp_path, source, "k=1000:256")
    row = of_array(traffic_of(launch, profile), "x")
    assert (row.l1_bytes, row.l2_bytes) == pytest.approx((4.0, 0.5))


def test_shared_words_of_rows_out_of_memory_are_at_random(tmp_path):
    body = "__shared__ float t[4096]; int r = idx[i / 16]; y[i] = t[r * 16 + i % 16];"
    source = f"__global__ void k(const int *idx, float *y) {{ {INDEX} {body} }}"
    _, profile = counted(tmp_path, source, "k=1000:256")
    assert [site.bank_passes for site in profile.sites].count(None) == 1
