from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scipy")

import wattslice.calibration.__main__ as command
from wattslice.calibration.dcgm import read_dcgm_table
from wattslice.calibration.document import BEGIN, END, Trained, update
from wattslice.calibration.evaluation import errors, spearman
from wattslice.calibration.features import run_features
from wattslice.calibration.measured import PUBLIC_SETS, public_gpu_ids, read_public_table
from wattslice.calibration.training import public_runs
from wattslice.errors import WattsliceError
from wattslice_corpora.records import (
    BenchmarkRecipe,
    LaunchRecipe,
    MeasuredRow,
    ParameterValue,
    Recipes,
    RecordError,
    Use,
    WithoutRecipe,
    card_path,
    measurements_path,
    option,
    read_card,
    read_measurements,
    sha256,
    workloads_path,
)
from wattslice_models.energy import EnergyModel
from wattslice_models.gpu import load_gpu
from wattslice_models.store import energy_model, trained_gpu_ids

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
    benchmark = BenchmarkRecipe("bench", file, (), (launch,), False, "", "")
    return Recipes(Path("r.toml"), "", (), (benchmark,), (WithoutRecipe(("lost",), "only a binary"),))


def run(arguments, benchmark="bench", kernel="saxpy"):
    cells: Any = dict.fromkeys(field.name for field in fields(MeasuredRow))
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


def test_options_of_a_command_line():
    assert option("-ratio=12 --type=float", "ratio") == 12.0
    for text in ("", "-ratio=", "-type=float -ratios=1", "-ratio=x"):
        with pytest.raises(RecordError, match="ratio"):
            option(text, "ratio")


@pytest.mark.parametrize("gpu_id", public_gpu_ids())
def test_the_committed_tables_fit_together(gpu_id):
    found = public_runs(load_gpu(gpu_id))
    assert len(found.training) > 100 or gpu_id not in trained_gpu_ids()
    assert {row.benchmark for row in found.training}.isdisjoint(row.benchmark for row in found.test)
    assert len({row.benchmark for row in found.test}) >= 15 or gpu_id == "gtx_titan_x"
    card = read_card(card_path(gpu_id))
    use = {
        row.benchmark: card.dataset(row.dataset).use for row in read_measurements(measurements_path(gpu_id))
    }
    assert all(use[row.benchmark] is Use.TRAINING for row in found.training)
    assert all(use[row.benchmark] is Use.TEST for row in found.test)
    assert all(entry.reason for entry in found.left_out)


def test_runs_without_the_time_of_a_launch_cannot_serve():
    found = public_runs(load_gpu("gtx_titan_x"))
    assert (found.training, found.test) == ((), ())
    assert sum(entry.runs for entry in found.left_out) == 4480


def test_the_document_says_when_no_run_can_serve(tmp_path):
    gpu = load_gpu("gtx_titan_x")
    path = tmp_path / "doc.md"
    path.write_text(f"{BEGIN}\n{END}")
    update(path, (Trained(gpu, None, public_runs(gpu)),))
    assert "4479 runs of 140 programs: the time of one launch is not told" in path.read_text()


def test_misread_clocks_are_left_out():
    found = public_runs(V100)
    assert all((row.clocks.core_mhz or 0.0) > 405.0 for row in (*found.training, *found.test))
    assert any("405 MHz" in entry.benchmark for entry in found.left_out)


def test_spearman_and_errors():
    assert spearman([1.0, 2.0, 3.0], [10.0, 20.0, 15.0]) == pytest.approx(0.5)
    assert spearman([1.0, 1.0, 2.0], [1.0, 1.0, 5.0]) == pytest.approx(1.0)
    assert spearman([1.0, 1.0], [1.0, 2.0]) is None
    found = errors([90.0, 100.0, 130.0], [100.0, 100.0, 100.0])
    assert (found.mean, found.median, found.worst) == pytest.approx((0.4 / 3, 0.1, 0.3))


def test_the_public_table_becomes_ours(tmp_path):
    path = tmp_path / "table.csv"
    header = "dataset,gpu,benchmark,kernel,args,grid,block,core_mhz,mem_mhz,time_ms,power_w,power_definition"
    row = f'{PUBLIC_SETS[1].table_name},V100,vectorAdd,k,-n=64  -x=1,"(4,1,1)",,1380,877,1.5,150,mean'
    path.write_text(f"{header}\n{row}\nother{row}\n{row.replace('1380', '405')}\n")
    fast, slow = read_public_table(path, read_card(card_path("v100_pcie")))
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
            read_public_table(path, read_card(card_path("v100_pcie")))


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


def test_a_document_without_a_generated_part_is_left_alone(tmp_path):
    path = tmp_path / "doc.md"
    path.write_text("text")
    with pytest.raises(WattsliceError, match="no generated part"):
        update(path, ())
    path.write_text(f"before\n{BEGIN}\nold\n{END}\nafter")
    update(path, ())
    assert "old" not in path.read_text()
    assert path.read_text().startswith("before\n")
    assert path.read_text().endswith("\nafter")


def test_the_command_reports_instead_of_crashing(tmp_path, capsys):
    assert command.main(["--measurements", str(tmp_path / "missing.csv")]) == 2
    assert command.main(["--sources", str(tmp_path), "--gpu", "v100_pcie"]) == 2
    assert command.main(["--dcgm", str(tmp_path / "missing.csv")]) == 2
    assert capsys.readouterr().err.count("wattslice.calibration: ") == 3


@pytest.mark.parametrize("gpu_id", trained_gpu_ids())
def test_the_models_were_fitted_on_the_committed_tables(gpu_id):
    model = energy_model(load_gpu(gpu_id))
    assert isinstance(model, EnergyModel)
    assert model.data_sha256 == sha256(measurements_path(gpu_id), workloads_path(gpu_id)), (
        "run `python -m wattslice.calibration --document docs/energy-model.md`"
    )


def test_the_document_is_up_to_date():
    text = (Path(__file__).parents[2] / "docs" / "energy-model.md").read_text(encoding="utf-8")
    assert BEGIN in text
    assert all(f"`{gpu_id}`" in text for gpu_id in public_gpu_ids())
