from timeit import repeat
from typing import Any

import pytest
from msgspec.structs import replace

from wattslice_models.execution_time import (
    Clocks,
    Resource,
    TimeParameters,
    core_clock_range_mhz,
    memory_clock_range_mhz,
    memory_clock_scale,
    moved_bytes,
    nvidia_smi_memory_mhz,
    predict_time,
)
from wattslice_models.gpu import gpus, load_gpu
from wattslice_models.workload import Instructions, Workload

BOARD = load_gpu("v100_pcie")  # 80 SMs, 64 FMA a clock and SM, 1380 MHz, 897 GB/s
V100 = replace(BOARD, architecture=replace(BOARD.architecture, block_turnaround_cycles=0.0))
RTX = load_gpu("quadro_rtx_8000")
EXACT = TimeParameters(launch_overhead_s=0.0, pipe_share=1.0, issue_share=1.0, overlap=1e4)
NO_BYTES = 0.0, 0.0, 0.0
ACHIEVABLE = 0.9  # of DRAM bandwidth, gpus/architectures/volta.toml


def arithmetic(blocks=800, fp32=10_000.0):
    return Workload(blocks, 256, 64.0, Instructions(fp32=fp32))


def streaming(bytes_per_thread=12.0):
    part = Instructions(fp32=1.0, load_store=3.0)
    return Workload(80_000, 256, 64.0, part, None, bytes_per_thread, bytes_per_thread, bytes_per_thread)


def test_arithmetic_runs_at_the_rate_of_its_pipe():
    found = predict_time(arithmetic(), V100, Clocks(1000.0), EXACT)
    assert found.limited_by is Resource.FP32
    assert found.time_s == pytest.approx(10 * 256 * 10_000 / 64 / 1e9)
    assert found.utilisations[0].share == pytest.approx(1.0)


def test_arithmetic_follows_the_core_clock_and_streaming_the_memory_clock():
    slow, fast = (
        predict_time(arithmetic(), V100, Clocks(mhz, 877.0), EXACT).time_s for mhz in (700.0, 1400.0)
    )
    assert slow == pytest.approx(2 * fast)
    half, full = (
        predict_time(streaming(), V100, Clocks(1380.0, mhz), EXACT).time_s for mhz in (438.0, 876.0)
    )
    assert half == pytest.approx(2 * full)


def test_facts_of_the_architecture_set_the_time():
    def time_s(work, **facts):
        gpu = replace(V100, architecture=replace(V100.architecture, **facts))
        return predict_time(work, gpu, Clocks(1000.0), EXACT).time_s

    issue = time_s(arithmetic(), warp_instructions_per_clock_per_sm=0.5)
    assert issue == pytest.approx(10 * 256 / 32 * 10_000 / 0.5 / 1e9)
    textures = replace(arithmetic(fp32=1.0), texture_fetches=10_000.0)
    assert time_s(textures, texture_units_per_sm=8.0) == pytest.approx(10 * 256 * 10_000 / 8 / 1e9)
    constants = replace(arithmetic(fp32=1.0), constant_requests=10_000.0, constant_misses=1000.0)
    cached = {"constant_request_cycles": 3.0, "constant_miss_cycles": 50.0}
    assert time_s(constants, **cached) == pytest.approx(10 * 8 * 80_000 / 1e9)
    atomics = replace(arithmetic(fp32=1.0), atomic_requests=1000.0)
    assert time_s(atomics, atomic_requests_per_clock_per_sm=0.5) == pytest.approx(10 * 8 * 1000 / 0.5 / 1e9)
    queue = replace(atomics, atomic_line_requests=10.0)
    assert time_s(queue, atomic_line_cycles=8.0) == pytest.approx(800 * 8 * 10 * 8 / 1e9)
    lonely = Workload(80, 32, 1.0, Instructions(fp32=10_000.0))
    waiting = time_s(lonely, dependent_issue_cycles=20.0)
    assert waiting == pytest.approx(10_000 / 2 * 20 / 1e9)
    tiny = Workload(1_000_000, 32, 64.0, Instructions(fp32=1.0))
    assert time_s(tiny, block_dispatch_cycles=30.0) == pytest.approx(1_000_000 * 30 / 1e9)


def test_constants_and_pipes_overlap_as_load_store_and_pipes_do():
    work = Workload(800, 256, 64.0, Instructions(fp32=8000.0), constant_requests=8000.0)
    chip = replace(V100.architecture, constant_request_cycles=0.5)  # as long as the arithmetic
    found = predict_time(work, replace(V100, architecture=chip), Clocks(1000.0), EXACT)
    assert found.time_s == pytest.approx(2 ** (1 / 3) * 10 * 8 * 8000 / 2 / 1e9)


def test_an_h200_fetches_eight_texels_a_clock():
    """As measured; 16 loads of 32 bits with a few integer operations on them."""
    h200 = load_gpu("h200")
    work = Workload(79, 512, 16.0, Instructions(integer=1.0), texture_fetches=41664.0)
    found = predict_time(work, h200, Clocks(1980.0), EXACT)
    assert found.time_s == pytest.approx(1352e-6, rel=0.02)


def test_streaming_runs_at_the_bandwidth_of_dram():
    found = predict_time(streaming(), V100, None, EXACT)
    assert found.limited_by is Resource.DRAM
    assert found.time_s == pytest.approx(80_000 * 256 * 12 / 897e9 / ACHIEVABLE)


def test_multiplications_run_beside_additions_since_volta():
    both = Workload(800, 256, 64.0, Instructions(integer=20_000.0, integer_multiply=10_000.0))
    volta = predict_time(both, V100, Clocks(1000.0), EXACT).time_s
    assert volta == pytest.approx(10 * 256 * 10_000 / 64 / 1e9)
    older = replace(
        load_gpu("gtx_titan_x"), int32_add_per_clock_per_sm=128.0, int32_mul_per_clock_per_sm=32.0
    )
    pair = 10_000 / 128 + 10_000 / 32
    assert predict_time(both, older, Clocks(1000.0), EXACT).time_s == pytest.approx(34 * 256 * pair / 1e9)


def test_conversions_from_and_to_64_bits_hold_the_fp64_units():
    mixed = Workload(800, 256, 64.0, Instructions(fp64=1000.0, special=1000.0, wide_conversion=1000.0))
    clocks = {"quadro_rtx_8000": 12 * 256 * 2000 / (0.98 * 2), "v100_pcie": 10 * 256 * 2000 / (0.93 * 32)}
    for gpu, expected in clocks.items():
        found = predict_time(mixed, load_gpu(gpu), Clocks(1000.0), EXACT)
        assert found.time_s == pytest.approx(expected / 1e9)


def test_a_chip_with_few_fp64_units_does_not_keep_them_busy():
    work = Workload(28 * 8, 256, 64.0, Instructions(fp64=1000.0))
    small, large = (
        predict_time(work, load_gpu(gpu), Clocks(1000.0), EXACT).time_s
        for gpu in ("gtx_1080_ti", "p100_pcie")
    )
    assert small == pytest.approx(8 * 256 * 1000 / (0.67 * 4) / 1e9)  # 28 SMs
    assert large == pytest.approx(4 * 256 * 1000 / (0.93 * 32) / 1e9)  # 56 SMs


def test_a_block_takes_its_place_when_the_one_before_is_gone():
    brief = Workload(80 * 2 * 1000, 32, 2.0, Instructions(other=10.0), dependent_instructions=10.0)
    with_it, without = (predict_time(brief, gpu, Clocks(1000.0), EXACT) for gpu in (BOARD, V100))
    assert without.limited_by is Resource.DISPATCH
    assert with_it.limited_by is Resource.LATENCY
    assert with_it.time_s == pytest.approx(1000 * (10 * 4 + 330) / 1e9)


def test_registers_feed_two_operands_a_clock():
    def time_s(gpu, threes):
        work = Instructions(fp32=10_000.0, fp32_three_registers=threes)
        return predict_time(Workload(800, 256, 64.0, work), load_gpu(gpu), Clocks(1000.0), EXACT)

    for gpu, blocks in (("a40", 10), ("h200", 7)):  # 128 fp32 units an SM: a clock for each warp of four
        ideal = blocks * 256 * 10_000 / 128 / 1e9
        starved, fed = time_s(gpu, 10_000.0), time_s(gpu, 0.0)
        assert fed.time_s == pytest.approx(ideal)
        assert starved.time_s == pytest.approx(1.5 * ideal)
        assert starved.limited_by is Resource.REGISTERS
        # others leave ports free: 1.2 reads each
        assert time_s(gpu, 5_000.0).time_s == pytest.approx((3 + 1.2) / 2 / 2 * ideal)
    assert time_s("a100", 10_000.0).time_s == time_s("a100", 0.0).time_s  # 64 units: two clocks
    assert time_s("gtx_1080_ti", 10_000.0).time_s == time_s("gtx_1080_ti", 0.0).time_s  # four banks


def test_pipes_and_issue_have_shares_of_their_own():
    work = Workload(800, 256, 64.0, Instructions(fp32=10_000.0))
    slower = replace(EXACT, pipe_share=0.8)
    exact_s, slower_s = (predict_time(work, V100, Clocks(1000.0), one).time_s for one in (EXACT, slower))
    assert slower_s == pytest.approx(exact_s / 0.8)
    spread = Workload(800, 256, 64.0, Instructions(other=10_000.0))
    assert predict_time(spread, V100, None, slower).time_s == predict_time(spread, V100, None, EXACT).time_s


def test_one_block_too_many_costs_a_whole_round():
    assert predict_time(arithmetic(81), V100, None, EXACT).time_s == pytest.approx(
        2 * predict_time(arithmetic(80), V100, None, EXACT).time_s
    )


def test_a_lone_warp_is_bound_by_latency_and_an_empty_kernel_by_its_launch():
    lone = Workload(1, 32, 64.0, Instructions(fp32=1e6))
    assert predict_time(lone, V100).limited_by is Resource.LATENCY
    assert predict_time(Workload(1, 32, 64.0, Instructions()), V100).limited_by is Resource.LAUNCH


def test_bank_conflicts_cost_passes():
    free = Workload(800, 256, 64.0, Instructions(load_store=1e4), shared_accesses=1e4, shared_passes=1e4)
    found = predict_time(replace(free, shared_passes=32e4), V100, None, EXACT)
    assert found.limited_by is Resource.LOAD_STORE
    assert found.time_s == pytest.approx(10 * 8 * 32e4 / 1380e6)


def test_bank_conflicts_in_l1_cost_passes_too():
    part = Instructions(load_store=1e4)
    work = Workload(800, 256, 64.0, part, None, *(4e4, 4e4, 0.0), shared_passes=0.0, dependent_loads=0.0)
    free, found = (
        predict_time(replace(work, l1_passes=passes), V100, None, EXACT).time_s for passes in (1e4, 8e4)
    )
    assert free == pytest.approx(predict_time(work, V100, None, EXACT).time_s)
    assert found == pytest.approx(10 * 8 * 8e4 * 128 / 126 / 1380e6, rel=1e-4)  # 126 bytes a clock and SM


def test_load_store_units_overlap_with_the_pipes_of_their_sm():
    def seconds(**done):
        work = Workload(17000, 256, 64.0, Instructions(**done), None, *NO_BYTES, dependent_loads=0.0)
        return predict_time(work, V100, None, EXACT).time_s

    pipe, near = seconds(fp32=2e4), seconds(load_store=1e4)  # 64 and 32 lanes a clock
    assert near == pytest.approx(pipe, rel=0.01)
    assert seconds(fp32=2e4, load_store=1e4) == pytest.approx(2 ** (1 / 3) * pipe, rel=0.02)


def test_resources_overlap_as_well_as_the_exponent_says():
    alone = [predict_time(work, V100, None, EXACT).time_s for work in (arithmetic(8000), streaming())]
    both = Workload(80_000, 256, 64.0, Instructions(fp32=1000.0, load_store=3.0), None, 12.0, 12.0, 12.0)
    assert predict_time(both, V100, None, EXACT).time_s == pytest.approx(max(alone), rel=0.01)
    one_by_one = replace(EXACT, overlap=1.0, latency_share=1e-9)
    loose = predict_time(both, V100, None, one_by_one).time_s
    assert loose == pytest.approx(sum(alone), rel=0.1)  # waiting comes on top


def test_a_texture_unit_delivers_a_texel_a_clock():
    fetches = Instructions(load_store=100.0)
    work = Workload(8000, 256, 64.0, fetches, None, 0.0, 0.0, 0.0, texture_fetches=100.0)
    found = predict_time(work, V100, Clocks(1000.0))
    assert found.limited_by is Resource.TEXTURE
    texels = work.threads * 100.0
    assert found.time_s == pytest.approx(texels / (4 * 80 * 1e9), rel=0.03)


def test_every_assumption_is_told():
    unknown = Workload(80, 256, 64.0, Instructions(load_store=10.0), shared_passes=None, shared_accesses=4.0)
    moved = moved_bytes(unknown, V100)
    assert moved.l1_bytes == moved.l2_bytes == moved.dram_bytes == 80 * 256 * 4 * 6
    assert moved.shared_passes == 80 * 8 * 4
    assert len(moved.notes) == 4
    assert predict_time(unknown, V100).notes == moved.notes


def test_a_footprint_that_fits_l2_leaves_dram_alone():
    reread = replace(streaming(1200.0), dram_bytes=None, footprint_bytes=1e6)
    assert moved_bytes(reread, V100).dram_bytes == 0.0
    beyond = moved_bytes(replace(reread, footprint_bytes=1e9), V100)
    assert 1e9 < beyond.dram_bytes < beyond.l2_bytes


@pytest.mark.parametrize(
    ("gpu_id", "mhz", "scale"),
    [
        ("v100_pcie", 877.0, 1.001),
        ("quadro_rtx_8000", 6500.0, 0.929),
        ("gtx_titan_x", 3505.0, 1.0),
        ("gtx_titan_x", 810.0, 0.231),
        ("gtx_1080_ti", 5500.0, 1.0),
    ],
)
def test_memory_clocks_are_those_of_nvidia_smi(gpu_id, mhz, scale):
    gpu = load_gpu(gpu_id)
    assert memory_clock_scale(gpu, Clocks(memory_mhz=mhz)) == pytest.approx(scale, rel=2e-3)
    assert memory_clock_scale(gpu, Clocks(memory_mhz=None)) == 1.0


def test_a_clock_must_be_positive():
    with pytest.raises(ValueError, match="must be positive"):
        Clocks(0.0)


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_every_gpu_of_the_catalogue_has_a_time(gpu):
    mixed = Workload(
        1000, 128, 8.0, Instructions(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 1.0), None, 8.0, 8.0, 8.0, 2.0, 2.0
    )
    found = predict_time(mixed, gpu)
    assert 0 < found.time_s < 1
    assert all(0 < entry.share <= 1 for entry in found.utilisations)


@pytest.mark.parametrize("gpu", gpus(), ids=lambda gpu: gpu.id)
def test_the_clocks_of_the_catalogue_lie_in_the_possible_range(gpu):
    low, high = core_clock_range_mhz(gpu)
    assert low < gpu.boost_clock_mhz < high < 10_000
    low, high = memory_clock_range_mhz(gpu)
    assert low < nvidia_smi_memory_mhz(gpu) < high < 50_000


def test_a_warp_of_which_half_the_lanes_take_part_holds_its_pipe_as_long_as_a_full_one():
    whole = replace(arithmetic(), warp_instructions=10_000.0)
    divided = replace(arithmetic(fp32=5_000.0), warp_instructions=10_000.0)
    times = [predict_time(each, V100, Clocks(1000.0), EXACT) for each in (whole, divided)]
    assert times[0].limited_by is times[1].limited_by is Resource.FP32
    assert times[0].time_s == pytest.approx(times[1].time_s)
    assert (whole.divergence, divided.divergence) == (1.0, 2.0)


def test_a_warp_waits_for_its_chain_and_loads_side_by_side_for_one():
    lone = Workload(1, 32, 64.0, Instructions(fp32=10_000.0, load_store=160.0), None, 640.0, 640.0, 640.0)
    chained = replace(lone, dependent_instructions=2_500.0, dependent_loads=10.0)
    found = predict_time(chained, V100, Clocks(1000.0), EXACT)
    assert found.limited_by is Resource.LATENCY
    # It has 16 lanes, two clocks for each of its 10 000, which takes longer than a chain of 2 500 times 4.
    assert found.time_s == pytest.approx(20_000 / 1e9)
    longer = predict_time(replace(chained, dependent_instructions=5_000.0), V100, Clocks(1000.0), EXACT)
    assert longer.time_s == pytest.approx(20_000 / 1e9 + 10 * (215 / 1e9 + 161e-9))


def test_barriers_take_a_warp_at_a_time():
    work = Workload(V100.sm_count, 256, 64.0, Instructions(fp32=10.0), barriers=1_000.0)
    found = predict_time(work, V100, Clocks(1000.0), EXACT)
    assert found.limited_by is Resource.LATENCY  # its warps meet 1000 times, 20 cycles each
    full = replace(work, blocks=8 * V100.sm_count)
    found = predict_time(full, V100, Clocks(1000.0), EXACT)
    assert found.limited_by is Resource.BARRIER
    rate = V100.architecture.barrier_warps_per_clock_per_sm
    assert found.time_s == pytest.approx(8 * 8 * 1_000 / rate / 1e9)


def test_barriers_do_not_hide_behind_arithmetic():
    """With p = 1 one after the other: the unit of barriers is no pipe that arithmetic keeps busy."""
    one_by_one = replace(EXACT, overlap=1.0)
    both = Workload(8 * V100.sm_count, 256, 64.0, Instructions(fp32=4_000.0), barriers=1_000.0)
    both = replace(both, dependent_instructions=0.0)
    found, without = (
        predict_time(work, V100, Clocks(1000.0), one_by_one) for work in (both, replace(both, barriers=0.0))
    )
    waited = next(one.share for one in found.utilisations if one.resource is Resource.LATENCY) * found.time_s
    before = (
        next(one.share for one in without.utilisations if one.resource is Resource.LATENCY) * without.time_s
    )
    rate = V100.architecture.barrier_warps_per_clock_per_sm
    apart_s = found.time_s - waited - (without.time_s - before)
    assert apart_s == pytest.approx(8 * 8 * 1_000 / rate / 1e9)


@pytest.mark.parametrize(("gpu", "channels"), [(V100, 64), (RTX, 24), (load_gpu("gtx_1080_ti"), 11)])
def test_rows_of_dram_open_one_after_the_other_in_each_channel(gpu, channels):
    work = replace(streaming(), dram_rows=12.0 / 32)  # a row for each sector
    found = predict_time(work, gpu, parameters=EXACT)
    assert found.limited_by is Resource.DRAM_ROWS
    assert found.time_s == pytest.approx(work.threads * 12 / 32 / channels * 4e-9)
    in_whole_rows = replace(work, dram_rows=12.0 / 2048)
    assert predict_time(in_whole_rows, gpu, parameters=EXACT).limited_by is Resource.DRAM
    strange = replace(gpu, memory_type="core")
    assert predict_time(work, strange, parameters=EXACT).limited_by is Resource.DRAM


def test_what_l2_takes_from_dram_in_a_clock_limits_at_low_clocks():
    """10.8 bytes a clock and SM of a V100: 807 GB/s, what its memory achieves, need 934 MHz."""
    slow, fast = (predict_time(streaming(), V100, Clocks(mhz), EXACT).time_s for mhz in (600.0, 1380.0))
    moved = streaming().threads * 12.0
    assert slow == pytest.approx(moved / (10.8 * 80 * 600e6))
    assert fast == pytest.approx(moved / (897e9 * ACHIEVABLE))


def test_a_launch_takes_as_long_as_its_longest_block():
    even = Workload(256, 128, 64.0, Instructions(fp32=400.0), None, *NO_BYTES, dependent_instructions=400.0)
    assert predict_time(even, V100, Clocks(1000.0), EXACT).time_s < 10e-6
    found = predict_time(among(even, 1), V100, Clocks(1000.0), EXACT)  # all work is done by one block
    assert found.limited_by is Resource.LONGEST_BLOCK
    assert found.time_s == pytest.approx(256 * 400 * 4 / 1e9)
    # all work is done by one warp of each block
    in_each = replace(even, blocks=2560, threads_per_block=256, longest_warp=8.0)
    assert predict_time(in_each, V100, Clocks(1000.0), EXACT).time_s == pytest.approx(
        4 * 8 * 1600 / 1e9, rel=1e-3
    )


def among(work, number):
    """The same total work in `number` of the blocks, the others do nothing."""
    done, times = work.instructions, work.blocks / number
    own = replace(
        work,
        blocks=number,
        instructions=replace(done, fp32=times * done.fp32, fp64=times * done.fp64),
        dependent_instructions=times * work.dependent_instructions,
        l1_bytes=times * work.l1_bytes,
        l2_bytes=times * work.l2_bytes,
    )
    idle = replace(work, blocks=work.blocks - number, instructions=Instructions(), dependent_instructions=0.0)
    return replace(work, kinds=(own, replace(idle, l1_bytes=0.0, l2_bytes=0.0)))


def alone(work):
    """The blocks of the first kind, without the others."""
    return work.kinds[0]


@pytest.mark.parametrize("number", [1, 54, 80, 81, 1000])
@pytest.mark.parametrize(
    "work",
    [
        Workload(10_000, 256, 64.0, Instructions(fp32=4e5), None, *NO_BYTES, dependent_instructions=4e5),
        Workload(10_000, 32, 32.0, Instructions(fp32=4e5), None, *NO_BYTES, dependent_instructions=1e5),
        Workload(10_000, 256, 16.0, Instructions(fp64=4e5), None, *NO_BYTES, dependent_instructions=4e5),
        Workload(10_000, 256, 64.0, Instructions(), None, *(4e6, 4e6, 0.0), dependent_instructions=0.0),
    ],
    ids=["fp32", "one warp", "fp64", "L2"],
)
def test_a_few_busy_blocks_take_as_long_as_without_the_others(work, number):
    uneven = among(work, number)
    both = [predict_time(one, V100, Clocks(1000.0), EXACT) for one in (uneven, alone(uneven))]
    assert both[0].time_s == pytest.approx(both[1].time_s, rel=1e-3)
    assert both[0].held_warps_per_sm == pytest.approx(both[1].held_warps_per_sm, rel=1e-2)
    backwards = replace(uneven, kinds=uneven.kinds[::-1])
    assert predict_time(backwards, V100, Clocks(1000.0), EXACT) == both[0]


def test_the_busiest_sm_gets_its_share_of_the_longest_blocks():
    """Of 81 blocks of one length on 80 SMs one SM gets two, whatever else the grid holds."""
    work = Workload(10_000, 1024, 64.0, Instructions(fp32=4e4), None, *NO_BYTES, dependent_instructions=0.0)
    of_80, of_81 = (
        predict_time(alone(among(work, number)), V100, Clocks(1000.0), EXACT).time_s * number
        for number in (80, 81)
    )
    assert of_81 == pytest.approx(2 * of_80 * 80 / 81 * 81 / 80, rel=1e-3)
    half = replace(work, blocks=80)  # beside 80 blocks of twice the length
    long = replace(half, instructions=Instructions(fp32=8e4))
    mixed = replace(half, blocks=160, instructions=Instructions(fp32=6e4), kinds=(half, long))
    times = [predict_time(one, V100, Clocks(1000.0), EXACT).time_s for one in (half, long, mixed)]
    assert times[2] == pytest.approx(times[0] + times[1], rel=1e-3)


def test_one_warp_has_one_scheduler_and_its_share_of_the_units():
    """32 lanes on the 16 of a scheduler of a V100: two clocks for each multiply-add, idle as the rest is."""
    work = Workload(1, 32, 64.0, Instructions(fp32=1e5), dependent_instructions=0.0)
    of_four = replace(work, threads_per_block=128)
    assert predict_time(work, V100, Clocks(1000.0), EXACT).time_s == pytest.approx(2e5 / 1e9, rel=0.15)
    assert predict_time(of_four, V100, Clocks(1000.0), EXACT).time_s == pytest.approx(2e5 / 1e9, rel=0.15)


def test_one_sm_takes_no_more_from_l2_than_its_port_is_wide():
    one = Workload(1, 1024, 64.0, Instructions(), None, *(4e4, 4e4, 0.0), dependent_loads=0.0)
    alone, all_sms = (
        predict_time(replace(one, blocks=number), V100, Clocks(1000.0), EXACT) for number in (1, 80)
    )
    assert alone.limited_by is Resource.L2
    assert alone.time_s == pytest.approx(1024 * 4e4 / 64 / 1e9)
    assert all_sms.time_s == pytest.approx(80 * 1024 * 4e4 / (80 * 22.1) / 1e9)


def test_what_kinds_add_up_to_says_the_launch_itself():
    even = Workload(640, 256, 64.0, Instructions(fp32=4e3), None, *NO_BYTES, dependent_instructions=0.0)
    work = among(even, 80)
    twice = replace(work, instructions=Instructions(fp32=8e3))
    of_others = replace(work, instructions=Instructions(fp16=4e3))  # which no kind has: even
    once_s, twice_s, others_s, even_s = (
        predict_time(one, V100, Clocks(1000.0), EXACT).time_s
        for one in (work, twice, of_others, replace(of_others, kinds=()))
    )
    assert twice_s == pytest.approx(2 * once_s, rel=1e-3)
    assert others_s == pytest.approx(even_s, rel=1e-3)


@pytest.mark.parametrize(
    ("gpu_id", "pipe", "said"),
    [
        ("gtx_970", "tensor", "the GeForce GTX 970 has no tensor cores: the rate of fp32 assumed"),
        ("gtx_970", "fp16", "the GeForce GTX 970 has no fp16 pipe: the rate of fp32 assumed"),
        (
            "rtx_5090",
            "tensor",
            "rate of the tensor cores unknown on the GeForce RTX 5090: 4 of that of fp32 ",
        ),
    ],
)
def test_units_that_a_chip_lacks_are_not_of_unknown_rate(gpu_id, pipe, said):
    work = Workload(100, 256, 32.0, Instructions(**{pipe: 1e4}), l1_bytes=0.0, l2_bytes=0.0, dram_bytes=0.0)
    (note,) = predict_time(work, load_gpu(gpu_id)).notes
    assert note.startswith(said)


def test_the_assumed_rate_of_a_unit_that_hardly_works_is_no_note():
    work = Workload(17000, 256, 48.0, Instructions(fp32=4e4, special=1.0), None, *NO_BYTES)
    assert not predict_time(work, load_gpu("rtx_5090")).notes


@pytest.mark.parametrize(("pipe", "share"), [("special", 1 / 8), ("tensor", 4.0), ("integer", 1 / 2 / 0.8)])
def test_unknown_rates_are_those_of_boards_alike(pipe, share):
    blackwell = load_gpu("rtx_5090")
    fp32, other = (
        predict_time(
            Workload(
                17000, 256, 48.0, Instructions(**{one: 4e4}), l1_bytes=0.0, l2_bytes=0.0, dram_bytes=0.0
            ),
            blackwell,
            parameters=EXACT,
        ).time_s
        for one in ("fp32", pipe)
    )
    assert other == pytest.approx(fp32 / share, rel=0.01)


H200 = load_gpu("h200")


def of_pipes(gpu, **done):
    work = Workload(17000, 256, 48.0, Instructions(**done), l1_bytes=0.0, l2_bytes=0.0, dram_bytes=0.0)
    return predict_time(work, gpu, parameters=EXACT).time_s


def test_integer_work_moves_to_multipliers_that_have_less_to_do():
    alone = of_pipes(V100, integer=4e4)
    assert alone == pytest.approx(0.8 * of_pipes(V100, integer=4e4, fp32=4e4), rel=0.01)
    busy = of_pipes(V100, integer=4e4, integer_multiply=2e4)  # as much either way: none moves
    assert busy == pytest.approx(of_pipes(V100, integer=2e4, fp32=2e4), rel=0.01)


def test_hopper_reaches_parts_of_its_fp16_and_tensor_rates():
    fp32 = of_pipes(H200, fp32=4e4)
    assert of_pipes(H200, fp16=4e4) == pytest.approx(fp32 / 0.7, rel=0.01)  # halves: 256 a clock, two each
    assert of_pipes(H200, tensor=4e4) == pytest.approx(fp32 * 128 / 2048 / 0.6, rel=0.02)
    assert of_pipes(V100, fp16=4e4) == pytest.approx(of_pipes(V100, fp32=4e4), rel=0.01)


def held(blocks, threads=256, warps=64.0, **changes):
    """Warps that an SM of a V100 holds while so many blocks of nothing but arithmetic run."""
    work = Workload(blocks, threads, warps, Instructions(fp32=400.0), dependent_instructions=400.0)
    return predict_time(replace(work, **changes), V100, Clocks(1000.0), EXACT).held_warps_per_sm


def test_sms_hold_the_warps_of_the_grid_and_no_more_than_fit():
    assert held(1) == pytest.approx(8 / 80)  # one block of 8 warps, on one SM of 80
    assert held(80) == pytest.approx(8)
    assert held(80, threads=32) == pytest.approx(1)
    assert held(80 * 8) == held(80 * 8 * 100) == pytest.approx(64)
    assert held(80 * 4, warps=16.0) == pytest.approx(16)


def test_sms_run_empty_in_a_last_round_and_beside_a_long_block():
    # Two rounds of 8 blocks on each SM, the second with one block in all: half of the time nearly nothing.
    waiting: dict[str, Any] = {"instructions": Instructions(), "warp_instructions": 0.0}
    assert held(641, **waiting) == pytest.approx(8 * 641 / 2 / 80)
    # All work in one block of 640: its 8 warps are all that runs.
    one, ten, none = (
        Workload(number, 256, 64.0, dependent_instructions=work, **waiting)
        for number, work in ((1, 6.4e7), (10, 6.4e6), (630, 0.0))
    )
    waiting["dependent_instructions"] = 1e5  # beside which the start of so many blocks is nothing
    assert held(640, kinds=(one, replace(none, blocks=639)), **waiting) == pytest.approx(8 / 80, rel=0.01)
    assert held(640, kinds=(ten, none), **waiting) == pytest.approx(80 / 80, rel=0.01)
    # What DRAM has to move, fewer blocks move in less time: no SM runs empty for long.
    moving: dict[str, Any] = {"l1_bytes": 4e5, "l2_bytes": 4e5, "dram_bytes": 4e5, "dependent_loads": 0.0}
    assert held(641, **moving, **waiting) == pytest.approx(64, rel=0.01)


def test_a_prediction_takes_less_than_a_millisecond():
    """Best of several, of 14 µs measured: room for a slow and busy machine."""
    assert min(repeat(lambda: predict_time(streaming(), V100), number=20, repeat=10)) / 20 < 1e-3
