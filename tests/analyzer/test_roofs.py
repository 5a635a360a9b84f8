"""Kernels that do one thing only reach 75 to 100 % of what every GPU of the catalogue is sold for.

The roofs are those of specification sheets: DRAM bandwidth, fp32 rate, width of shared memory; for L2, of
which none speaks, the measured bandwidth of the architecture's file.
"""

from typing import NamedTuple

import pytest

from wattslice import analyze_text
from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import LaunchOverride, Overrides
from wattslice.launches.resolver import resolve_launches
from wattslice.projection.kernels import time_parameters
from wattslice.workload.launch_work import launch_work, residency
from wattslice_models.execution_time import predict_time
from wattslice_models.gpu import gpus
from wattslice_models.workload import Instructions, Workload

N = 1 << 26
ROUNDS = 4096
SOURCE = f"""
__global__ void saxpy(float a, const float4 *x, float4 *y) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < {N // 4}) {{
    const float4 u = x[i], v = y[i];
    y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
  }}
}}
__global__ void fma(float m, float *y) {{
  float a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
  #pragma unroll 16
  for (int i = 0; i < {ROUNDS}; ++i) {{
    a = a * m + m; b = b * m + m; c = c * m + m; d = d * m + m;
    e = e * m + m; f = f * m + m; g = g * m + m; h = h * m + m;
  }}
  y[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d + e + f + g + h;
}}
"""
LOW_BANDWIDTH = "GP100"
"""Measured: 551 of 732 GB/s, and some time goes into starting."""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("roofs") / "roofs.cu"
    path.write_text(SOURCE, encoding="utf-8")
    return read_cuda(path)


def time_s(program, gpu, name, grid):
    override = LaunchOverride(name, (grid, 1, 1), (256, 1, 1), 0)
    (launch,) = (
        one for one in resolve_launches(program, Overrides((override,)), gpu) if one.kernel.name == name
    )
    work = launch_work(launch, residency(launch, gpu), count(launch)).workload
    assert work is not None
    return predict_time(work, gpu, None, time_parameters(gpu.id)).time_s


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_saxpy_reaches_the_bandwidth_of_dram(program, gpu):
    reached = 12 * N / time_s(program, gpu, "saxpy", N // 1024) / gpu.memory_bandwidth_bytes_per_s
    assert (0.70 if gpu.chip == LOW_BANDWIDTH else 0.75) <= reached <= 1.0


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_multiply_adds_reach_the_rate_of_fp32(program, gpu):
    blocks = 64 * gpu.sm_count
    flops = 2 * 8 * ROUNDS * 256 * blocks
    reached = flops / time_s(program, gpu, "fma", blocks) / gpu.peak_fp32_flops_per_s
    assert 0.75 <= reached <= 1.0


def per_second(gpu, work, number):
    return number / predict_time(work, gpu, None, time_parameters(gpu.id)).time_s


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_a_copy_in_shared_memory_reaches_its_width(gpu):
    warps = gpu.max_warps_per_sm
    passes = 20_000.0  # of a warp, each 128 bytes
    work = Workload(
        16 * gpu.sm_count,
        min(256, gpu.max_threads_per_block),
        float(warps),
        Instructions(load_store=passes, integer=passes / 8),
        None,
        *(0.0, 0.0, 0.0),
        shared_passes=passes,
        shared_accesses=passes,
        dependent_instructions=passes / 8,
        dependent_shared=passes / 8,
    )
    roof = gpu.architecture.shared_bytes_per_clock_per_sm * gpu.sm_count * 1e6 * gpu.boost_clock_mhz
    assert 0.7 <= per_second(gpu, work, 128 * passes * work.warps) / roof <= 1.0


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_reading_what_l2_holds_reaches_its_bandwidth(gpu):
    loads = 4_000.0  # of a thread, 4 bytes each
    work = Workload(
        16 * gpu.sm_count,
        256,
        float(gpu.max_warps_per_sm),
        Instructions(load_store=loads, fp32=loads),
        None,
        *(4 * loads, 4 * loads, 0.0),
        global_loads=loads,
        dependent_instructions=loads,
        dependent_loads=loads / 16,
    )
    roof = gpu.architecture.l2_bytes_per_clock_per_sm * gpu.sm_count * 1e6 * gpu.boost_clock_mhz
    assert 0.75 <= per_second(gpu, work, 4 * loads * work.threads) / roof <= 1.0


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_l2_is_faster_than_dram(gpu):
    roof = gpu.architecture.l2_bytes_per_clock_per_sm * gpu.sm_count * 1e6 * gpu.boost_clock_mhz
    assert roof > gpu.memory_bandwidth_bytes_per_s


FEW = """
__global__ void few(float *y, const float *x) {
  __shared__ float tile[256];
  float a = threadIdx.x;
  GUARD { WORK }
  y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}
int main() {
  float *y, *x; cudaMalloc(&y, 1 << 28); cudaMalloc(&x, 1 << 28);
  few<<<GRID, 256>>>(y, x);
}
"""
ARITHMETIC = "for (int i = 0; i < 200000; ++i) a = a * 1.01f + 0.5f;"
WORKS = {
    "arithmetic": ARITHMETIC,
    "one warp": f"if (threadIdx.x < 32) {ARITHMETIC}",
    "doubles": "double d = a; for (int i = 0; i < 20000; ++i) d = d * 1.01 + 0.5; a = d;",
    "stream": "for (int i = 0; i < 20000; ++i) a += x[((BLOCK) * 20000 + i) * 256 + threadIdx.x];",
    "again": "for (int i = 0; i < 20000; ++i) a += x[(BLOCK) * 2048 + i % 8 * 256 + threadIdx.x];",
    "shared": "for (int i = 0; i < 20000; ++i) { tile[threadIdx.x] = a; __syncthreads(); "
    "a += tile[(threadIdx.x + i) % 256]; __syncthreads(); }",
}


class Figures(NamedTuple):
    time_s: float
    power_w: float


def few(work, grid, guard="", block="blockIdx.x", gpu="a100"):
    text = (
        FEW.replace("WORK", work).replace("GRID", str(grid)).replace("GUARD", guard).replace("BLOCK", block)
    )
    (kernel,) = analyze_text(text, gpu=gpu).kernels
    assert kernel.time_s is not None
    assert kernel.power_w is not None
    return Figures(kernel.time_s, kernel.power_w)


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
@pytest.mark.parametrize(
    ("grid", "guard", "block"),
    [
        (108, "if (blockIdx.x < 54)", "blockIdx.x"),
        (2000, "if (blockIdx.x < 54)", "blockIdx.x"),
        (2000, "if (blockIdx.x >= 1946)", "blockIdx.x - 1946"),
        (108, "if (blockIdx.x % 2 == 0)", "blockIdx.x / 2"),
    ],
    ids=["first half", "first", "last", "every second"],
)
def test_blocks_that_do_nothing_change_nothing(work, grid, guard, block):
    alone, beside = few(work, 54), few(work, grid, guard, block)
    assert beside.time_s == pytest.approx(alone.time_s, rel=0.01)
    assert beside.power_w == pytest.approx(alone.power_w, rel=0.03)


def test_blocks_differ_in_how_their_warps_share_the_work():
    """In the one half a warp does all, and sets the time; in the other all do a tenth of it each."""
    of_one = f"if (threadIdx.x < 32) {ARITHMETIC}"
    alone = few(of_one, 54)
    both = few(f"{of_one} }} else {{ {ARITHMETIC.replace('200000', '20000')}", 108, "if (blockIdx.x < 54)")
    assert both.time_s == pytest.approx(alone.time_s, rel=0.02)


def test_one_long_block_draws_what_it_draws_alone():
    alone, among = few(ARITHMETIC, 1), few(ARITHMETIC, 5000, "if (blockIdx.x == 4321)")
    assert among.time_s == pytest.approx(alone.time_s, rel=0.01)
    assert among.power_w == pytest.approx(alone.power_w, rel=0.04)  # the others run, too, for a microsecond


@pytest.mark.parametrize("grid", [108, 300, 5000])
def test_triangular_work_takes_as_long_in_either_order_and_no_less_than_its_longest_block(grid):
    work = "for (int i = 0; i < (BLOCK) * 100; ++i) a = a * 1.01f + 0.5f;"
    up, down = (few(work, grid, block=block) for block in ("blockIdx.x", f"{grid - 1} - blockIdx.x"))
    assert up.time_s == pytest.approx(down.time_s, rel=0.01)
    assert up.power_w == pytest.approx(down.power_w, rel=0.01)
    longest, even = few(work, 1, block=str(grid - 1)), few(work, grid, block=str((grid - 1) // 2))
    assert up.time_s >= 0.95 * longest.time_s
    assert up.time_s >= 0.95 * even.time_s
    if grid == 108:  # one block on each SM
        assert up.time_s == pytest.approx(longest.time_s, rel=0.05)
        assert up.power_w < 0.95 * few(work, grid, block=str(grid - 1)).power_w


STEPS = 100_000
UNEVEN = f"""
__global__ void uneven(float *y) {{
  float a = y[threadIdx.x];
  if (CONDITION) for (int i = 0; i < {STEPS}; ++i) a = a * 1.01f + 0.5f;
  y[blockIdx.x * blockDim.x + threadIdx.x] = a;
}}
int main() {{ float *y; cudaMalloc(&y, 1 << 22); uneven<<<1024, 256>>>(y); }}
"""


@pytest.mark.parametrize("condition", ["blockIdx.x == 0", "blockIdx.x == 1023", "threadIdx.x < 32"])
def test_a_launch_lasts_as_long_as_its_longest_block(condition):
    """A chain of 100 000 multiply-adds, 4 clocks each at 1530 MHz, however few blocks or warps have it."""
    (kernel,) = analyze_text(UNEVEN.replace("CONDITION", condition), gpu="v100").kernels
    assert kernel.time_s is not None
    rounds = 2 if condition.startswith("thread") else 1  # 1024 blocks, 640 at a time
    assert 1 <= kernel.time_s / (rounds * STEPS * 4 / 1530e6) <= 2.5
