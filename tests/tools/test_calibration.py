from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import wattslice_tools.public_sets.__main__ as command
from wattslice.errors import WattsliceError
from wattslice.training.examples import workload_of
from wattslice_corpora.records import (
    ArrayBytes,
    BenchmarkRecipe,
    LaunchRecipe,
    LiveShare,
    MeasuredRow,
    ParameterValue,
    Recipes,
    RecordError,
    WithoutRecipe,
    card_path,
    option,
    read_card,
)
from wattslice_models.contract import ASSUMED_TRIPS, Example, RepeatedLaunch, Subject
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import load_gpu
from wattslice_tools.public_sets.dcgm import read_dcgm_table
from wattslice_tools.public_sets.measured import PUBLIC_SETS, read_public_tables
from wattslice_tools.public_sets.run_features import run_features

V100 = load_gpu("v100_pcie")
SAXPY = """
__global__ void saxpy(int n, int rounds, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < rounds; k++) y[i] = 2.0f * x[i] + y[i];
}
"""


def recipes(file="saxpy.cu", grid=(1000, 1, 1)):
    launch = LaunchRecipe(
        "", grid, (256, 1, 1), 0, 3, (ParameterValue("n", 1e9), ParameterValue("rounds", "ratio"))
    )
    benchmark = BenchmarkRecipe("bench", "", file, (), (), (launch,), False, "", "")
    return Recipes(Path("r.toml"), "", (), (benchmark,), (WithoutRecipe(("lost",), "only a binary"),))


def run(arguments, benchmark="bench", kernel="saxpy"):
    cells: Any = dict.fromkeys(MeasuredRow.__struct_fields__)
    cells.update(benchmark=benchmark, kernel=kernel, arguments=arguments)
    return MeasuredRow(**cells)


def runs(*arguments):
    return tuple(run(text) for text in arguments)


def test_features_come_from_the_source(tmp_path):
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    few, many = run_features(tmp_path, recipes(), runs("-ratio=1", "-ratio=100", "-ratio=1"), V100).rows
    assert (few.blocks, few.threads_per_block, few.repeat, few.launched_kernel) == (1000, 256, 3, "saxpy")
    assert many.fp32 == pytest.approx(100 * few.fp32)
    assert few.l1_bytes == pytest.approx(12.0)
    assert few.doubt == ""


def test_a_recipe_says_how_live_the_values_are(tmp_path):
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    idle_above = (LiveShare("ratio", 8, 1.0, 0.5), LiveShare("", None, 0.0, 0.0))
    known = recipes()
    (launch,) = known.benchmarks[0].launches
    benchmark = replace(known.benchmarks[0], launches=(replace(launch, live=idle_above),))
    arguments = runs("-ratio=8", "-ratio=9")
    few, many = run_features(tmp_path, replace(known, benchmarks=(benchmark,)), arguments, V100).rows
    assert (few.live_operands, few.live_data) == (1.0, 0.5)
    assert (many.live_operands, many.live_data) == (0.0, 0.0)
    for row in run_features(tmp_path, known, arguments, V100).rows:  # unknown values are taken to be live
        assert (row.live_operands, row.live_data) == (1.0, 1.0)


VARIANT = """
__global__ void variant(float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < SIZE) for (int k = 0; k < ROUNDS; k++) x[i] = x[i] * 2.0f;
}
"""


def test_a_variant_is_built_with_its_macros_and_launched_as_it_was_measured(tmp_path):
    (tmp_path / "variant.cu").write_text(VARIANT)
    live = LiveShare("rounds", None, 1.0, 1.0, rounds=4, later=0.5)
    launch = LaunchRecipe("variant", None, None, 0, 1, (), (live,))
    macros = (ParameterValue("ROUNDS", "rounds"), ParameterValue("SIZE", 1 << 20))
    benchmark = BenchmarkRecipe("bench", "", "variant.cu", (), macros, (launch,), False, "", "")
    known = Recipes(Path("r.toml"), "", (), (benchmark,), ())
    few = replace(run("-rounds=2", kernel="variant"), grid=(4096, 1, 1), block=(256, 1, 1))
    many = replace(few, arguments="-rounds=16", grid=(8192, 1, 1), block=(128, 1, 1))
    unknown = replace(few, arguments="-rounds=3", block=None)
    found = run_features(tmp_path, known, (few, many, unknown), V100)
    first, second = found.rows
    assert (first.blocks, first.threads_per_block, second.blocks, second.threads_per_block) == (
        4096,
        256,
        8192,
        128,
    )
    assert second.fp32 == pytest.approx(8 * first.fp32)
    assert (first.live_operands, second.live_operands, second.live_data) == (1.0, 0.625, 1.0)
    assert [entry.reason for entry in found.left_out] == ["its launch configuration was not recorded"]


GATHER = """
__global__ void pick(const int *at, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[at[i]];
}
"""


def test_sizes_of_arrays_come_from_the_recipe_not_from_the_defaults_of_the_program(tmp_path):
    host = """int main() { float *x; cudaMalloc(&x, 64); pick<<<1000, 256>>>(0, x, 0); }"""
    (tmp_path / "pick.cu").write_text(GATHER + host)

    def dram(*arrays):
        launch = LaunchRecipe("", (1000, 1, 1), (256, 1, 1), 0, 1, (), arrays=arrays)
        benchmark = BenchmarkRecipe("bench", "", "pick.cu", (), (), (launch,), False, "", "")
        found = run_features(
            tmp_path, Recipes(Path("r.toml"), "", (), (benchmark,), ()), (run("", kernel="pick"),), V100
        )
        return [row.dram_bytes for row in found.rows], [entry.reason for entry in found.left_out]

    assert dram() == ([pytest.approx(4 + 32 + 4)], [])
    assert dram(ArrayBytes("x", 256000)) == ([pytest.approx(4 + 1 + 4)], [])
    assert dram(ArrayBytes("z", 4)) == ([], ["pick has no pointer parameter z"])


def test_a_launch_can_fill_the_gpu(tmp_path):
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    (row,) = run_features(tmp_path, recipes(grid=None), runs("-ratio=1"), V100).rows
    assert row.blocks == 80 * 2048 // 256


def test_what_cannot_be_analysed_is_left_out_and_told(tmp_path):
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    measured = (
        *runs("-other=1", "-ratio=2"),
        run("", "lost"),
        run("", "new"),
        run("-ratio=1", kernel="axpy"),
    )
    found = run_features(tmp_path, recipes(), measured, V100)
    assert [row.arguments for row in found.rows] == ["-ratio=2"]
    reasons = {runs: entry.reason for entry in found.left_out for runs in entry.runs}
    assert "no number for option 'ratio'" in reasons["bench saxpy -other=1"]
    assert reasons["lost saxpy"] == "only a binary"
    assert "no [[benchmark]] named 'new'" in reasons["new saxpy"]
    assert "no kernel axpy" in reasons["bench axpy -ratio=1"]


def test_an_iteration_is_left_out_as_a_whole(tmp_path):
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    known = recipes()
    (benchmark,) = known.benchmarks
    (launch,) = benchmark.launches
    two = replace(benchmark, launches=(launch, replace(launch, kernel="other")))
    found = run_features(tmp_path, replace(known, benchmarks=(two,)), runs("-ratio=1"), V100)
    assert found.rows == ()
    assert "no kernel other" in found.left_out[0].reason


def test_guessed_bytes_are_marked(tmp_path):
    (tmp_path / "saxpy.cu").write_text(SAXPY.replace("x[i]", "x[(int)x[i]]"))
    (row,) = run_features(tmp_path, recipes(), runs("-ratio=1"), V100).rows
    assert "addresses not followed" in row.doubt


@pytest.mark.parametrize(
    ("condition", "assumed"),
    [
        ("k < rounds", False),
        ("x[i] < k", True),
        ("k < rounds && k < 4", False),
        ("k < (unsigned)(i * i) % 13", False),  # the mean of sampled blocks, which no data decide
    ],
)
def test_seconds_of_assumed_trips_are_not_known(tmp_path, condition, assumed):
    (tmp_path / "saxpy.cu").write_text(SAXPY.replace("k < rounds", condition))
    (row,) = run_features(tmp_path, recipes(grid=(20000, 1, 1)), runs("-ratio=100"), V100).rows
    assert (row.doubt == ASSUMED_TRIPS) is assumed
    subject = Subject(V100, Clocks(), (RepeatedLaunch(workload_of(row)),))
    example = Example("set", "bench", "saxpy", "", subject, 100.0, 1e-3)
    assert example.known_time_s == (None if assumed else 1e-3)


def test_options_of_a_command_line():
    assert option("-ratio=12 --type=float", "ratio") == 12.0
    for text in ("", "-ratio=", "-type=float -ratios=1", "-ratio=x"):
        with pytest.raises(RecordError, match="ratio"):
            option(text, "ratio")


def test_the_public_table_becomes_ours(tmp_path):
    path = tmp_path / "table.csv"
    header = "dataset,gpu,benchmark,kernel,args,grid,block,core_mhz,mem_mhz,time_ms,power_w,power_definition"
    row = f'{PUBLIC_SETS[1].table_name},V100,vectorAdd,k,-n=64  -x=1,"(4,1,1)",,1380,877,1.5,150,mean'
    path.write_text(f"{header}\n{row}\nother{row}\n{row.replace('1380', '405')}\n")
    fast, slow = read_public_tables((path,), read_card(card_path("v100_pcie")))
    assert (fast.benchmark, fast.arguments, fast.grid, fast.block) == (
        "vectorAdd",
        "-n=64 -x=1",
        (4, 1, 1),
        None,
    )
    assert (fast.time_s, fast.power_w, fast.power_valid, fast.input) == (0.0015, 150.0, True, "random")
    assert (slow.power_w, slow.power_valid) == (150.0, False)
    assert "half the labelled clock" in slow.reason
    for text in ("gpu\n", f"{header}\n"):
        path.write_text(text)
        with pytest.raises(WattsliceError, match="table"):
            read_public_tables((path,), read_card(card_path("v100_pcie")))


def test_a_roofline_sweep_and_variants_of_a_kernel_become_ours(tmp_path):
    path = tmp_path / "roofline.csv"
    header = "gpu,device_index,blocks,N_inner_iterations,flop_per_byte,bandwidth_gbs,gflops,sm_clock_mhz"
    path.write_text(
        f"{header},power_w,temp_c\nH200,0,1056,0,0.25,4000,1000,1980,500,50\n"
        "H200,0,1056,400,100.25,500,50125,1980,600,55\nA40 (other),0,1,1,1,1,1,1,1,1\n"
    )
    low, high = read_public_tables((path,), read_card(card_path("h200")))
    assert (low.arguments, low.grid, low.block, low.power_w) == ("-N=0", (1056, 1, 1), (256, 1, 1), 500.0)
    assert low.time_s == pytest.approx(8 * 1056 * 256 * 4000 / 4e12)
    assert high.time_s == pytest.approx(802 * 1056 * 256 * 4000 / 50125e9)
    path = tmp_path / "variants.csv"
    sizes = "grid_width,grid_height,block_size_x,block_size_y,tile_size_x,tile_size_y,temporal_tiling_factor"
    path.write_text(
        f"nvml_gr_clock,{sizes},num_regs,time_ms,energy_j,power_w,core_freq_mhz,mem_freq_mhz,"
        "power_run_temp_c\n" + "1560,100,100,32,4,2,3,1,40,2.0,0.2,100,1560,6501,45\n" * 5
    )
    rows = read_public_tables((path,), read_card(card_path("rtx_a4000")))
    assert len(rows) == 2  # every fourth
    assert (rows[0].grid, rows[0].block, rows[0].energy_j) == ((2, 9, 1), (32, 4, 1), 0.2)
    assert option(rows[0].arguments, "tile_size_y") == 3
    assert "nvml_gr_clock" not in rows[0].arguments


def test_activity_is_joined_with_the_run_it_was_counted_in(tmp_path):
    path = tmp_path / "dcgm.csv"
    header = "SMACT,SMOCC,DRAMA,FP32A,FP64A,FP16A,TENSO,average_power"
    header += ",benchmark,core_frequency,kernel,memory_frequency,time"
    text = f"{header}\n0.9,0.5,,0.1,0,0,0,100.0,bench,1380,saxpy,877,1.5\n"
    timed = replace(run("-n=1"), core_mhz=1380.0, memory_mhz=877.0, time_s=0.0015, power_w=100.0)
    others = (replace(timed, arguments="-n=2", time_s=0.0016), replace(timed, core_mhz=1000.0))
    path.write_text(text)
    (row,) = read_dcgm_table(path, (*others, timed))
    assert (row.arguments, row.sm_active, row.dram_active) == ("-n=1", 0.9, None)
    for wrong, measured, complaint in (
        (text, others, r"dcgm\.csv:2: .*belongs to 0 measured runs"),
        (text, (timed, timed), r"dcgm\.csv:2: .*belongs to 2 measured runs"),
        (text.replace("0.9", "high"), (timed,), "not a table of DCGM activity"),
        ("SMACT\n1\n", (timed,), "not a table of DCGM activity"),
    ):
        path.write_text(wrong)
        with pytest.raises(WattsliceError, match=complaint):
            read_dcgm_table(path, measured)


def test_the_command_reports_instead_of_crashing(tmp_path, capsys):
    assert command.main(["--measurements", str(tmp_path / "missing.csv")]) == 2
    assert command.main(["--sources", str(tmp_path), "--gpu", "v100_pcie"]) == 2
    assert command.main(["--dcgm", str(tmp_path / "missing.csv")]) == 2
    assert capsys.readouterr().err.count("wattslice_tools.public_sets: ") == 3
