"""`wattslice_tools.rooflines`: from a campaign, and from the sweeps that come along."""

import json
import sys
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace

pytest.importorskip("scipy")
pytest.importorskip("pywt")

from wattslice_corpora.measuring.bench import Configuration, Measured
from wattslice_corpora.measuring.campaign import run_campaign
from wattslice_corpora.measuring.journal import Journal
from wattslice_corpora.measuring.plan import sweep_plan
from wattslice_corpora.measuring.program import Launch
from wattslice_corpora.records import (
    MEASUREMENT_DIRECTORY,
    MeasuredRow,
    SweepRow,
    read_measurements,
    read_sweep,
    read_utilisation,
    sha256,
    sweep_path,
    utilisation_path,
    write_table,
)
from wattslice_corpora.records.mixbench import mixbench_sweep
from wattslice_corpora.synthetic import OperationKind, SliceSpec, intensity_sweep
from wattslice_models.energy_roofline import EnergyRoofline
from wattslice_models.energy_roofline_fit import SweepPrecision
from wattslice_models.gpu import load_gpu
from wattslice_models.roofline_store import load_roofline, save_roofline, stored_roofline
from wattslice_models.store import SHIPPED, ModelFileError
from wattslice_tools.rooflines.__main__ import main

from ..corpora.power_traces import Course

SM_COUNT = 132
BYTE_ENERGY_J, CONSTANT_POWER_W = 60e-12, 110.0
FLOP_ENERGY_J = {OperationKind.FP32: 3e-12, OperationKind.FP64: 8e-12}
FLOPS_PER_S = {OperationKind.FP32: 50e12, OperationKind.FP64: 25e12}


class SweepBench(Struct):
    """A board that draws what an energy roofline says, give or take; both relative."""

    time_jitter: float = 0.02
    power_jitter: float = 0.003

    def prepare(self, configurations: tuple[Configuration, ...]) -> None:
        """Nothing to build."""

    def measure(self, configuration: Configuration) -> Measured:
        """The trace of the launch that the name asks for."""
        (number, point), *_ = (
            (number, point)
            for number, point in enumerate(intensity_sweep(SM_COUNT))
            if point.spec.name == configuration.benchmark
        )
        machine = board(point.spec)
        work, traffic = float(point.work_flop), float(point.traffic_bytes)
        time_s = machine.time_s(work, traffic) * (1.0 + self.time_jitter * (number % 3))
        dynamic_j = work * machine.flop_energy_j + traffic * machine.byte_energy_j
        wrong = 1.0 + self.power_jitter * (number * 7 % 5 - 2)
        trace = Course(busy_w=wrong * (CONSTANT_POWER_W + dynamic_j / time_s)).trace()
        launches = round(trace.window.elapsed_s / time_s)
        window = replace(trace.window, launches=launches, elapsed_s=launches * time_s)
        launch = Launch(0, "slice", (SM_COUNT, 1, 1), (512, 1, 1), 0, 0, 1, "0000:1B:00.0")
        return Measured(launch, replace(trace, window=window))


def board(spec: SliceSpec) -> EnergyRoofline:
    return EnergyRoofline(
        1 / FLOPS_PER_S[spec.kind], 1 / 4e12, FLOP_ENERGY_J[spec.kind], BYTE_ENERGY_J, CONSTANT_POWER_W
    )


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a campaign that measured the sweep."""
    folder = tmp_path_factory.mktemp("campaign")
    with Journal(folder, "a board") as journal:
        run_campaign(sweep_plan(SM_COUNT, "1a2b3c4d", folder), SweepBench(), journal, ("played",))
    return folder


@pytest.mark.slow
def test_a_campaign_gives_the_coefficients_of_its_board(campaign, tmp_path, capsys):
    table = campaign / "measured.csv"
    words = ["h200", "--data", str(table), "--out", str(tmp_path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "relative errors" in out
    assert "24 runs, 12 of them in single precision" in out
    trained = load_roofline(tmp_path / "roofline.json")
    fit = trained.reference.fit
    assert (fit.points, fit.single_points, trained.reference.core_mhz) == (24, 12, 1980.0)
    sure = trained.reference.relative_fit
    for name, known in (
        ("single_flop_energy_j", 3e-12),
        ("double_flop_energy_j", 8e-12),
        ("byte_energy_j", BYTE_ENERGY_J),
        ("constant_power_w", CONSTANT_POWER_W),
    ):
        assert getattr(sure, name).value == pytest.approx(known, rel=0.1), name
        assert getattr(sure, name).significant, name
        one = getattr(fit, name)
        assert abs(one.value - known) < 3 * one.standard_error, name
    assert fit.rates.single_flops_per_s == pytest.approx(50e12, rel=0.01)
    assert fit.rates.single_reached
    assert fit.rates.bytes_per_s == pytest.approx(4e12, rel=0.01)
    assert [file.name for file in trained.provenance.data] == ["measured.csv", "measured_sweep.csv"]
    card = (tmp_path / "roofline.md").read_text()
    assert "| ε_mem | byte to or from DRAM, pJ/B |" in card
    assert "| single | 50000 GFLOP/s |" in card


def test_what_is_written_reads_back_and_is_the_same_each_time(campaign, tmp_path, capsys):
    words = ["h200", "--data", str(campaign / "measured.csv")]
    for name in ("a", "b"):
        assert main([*words, "--out", str(tmp_path / name)]) == 0
    for name in ("roofline.json", "roofline.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    trained = load_roofline(tmp_path / "a" / "roofline.json")
    save_roofline(tmp_path / "c", trained)
    assert (tmp_path / "c" / "roofline.json").read_bytes() == (tmp_path / "a" / "roofline.json").read_bytes()
    capsys.readouterr()


def test_runs_that_are_no_points_are_left_out_and_told(campaign, tmp_path, capsys):
    rows = list(read_measurements(campaign / "measured.csv"))
    rows[0] = replace(rows[0], capped=True)
    rows[1] = replace(rows[1], core_mhz=1500.0)
    rows[2] = replace(rows[2], power_valid=False, reason="the sensor never moved")
    rows[3:] = [replace(row, core_mhz=1980.0 + number) for number, row in enumerate(rows[3:])]
    changed(tmp_path, rows, (campaign / "measured_sweep.csv").read_text())
    assert train_on(tmp_path) == 0
    said = capsys.readouterr().err
    for told in ("the power limit throttled it", "more than 2% from the median of", "the sensor never moved"):
        assert told in said
    assert load_roofline(tmp_path / "out" / "roofline.json").reference.fit.points == 21


def changed(folder: Path, rows: list[MeasuredRow], sweep: str) -> None:
    write_table(folder / "measured.csv", (), MeasuredRow, tuple(rows))
    (folder / "measured_sweep.csv").write_text(sweep)


def train_on(folder: Path) -> int:
    words = ["--data", str(folder / "measured.csv"), "--out", str(folder / "out")]
    return main(["h200", *words])


def test_what_cannot_be_fitted_is_told_with_a_remedy(campaign, tmp_path, capsys):
    rows = list(read_measurements(campaign / "measured.csv"))
    sweep = (campaign / "measured_sweep.csv").read_text()
    for number, (table, facts, told) in enumerate(
        (
            (rows, "", "columns must be benchmark,kernel"),
            (
                rows,
                "\n".join(line for line in sweep.splitlines() if ",double," not in line),
                "no run in double",
            ),
            (rows[:4], sweep, "too few"),
            (rows, sweep.replace(",single,", ",half,"), "precision is 'half', not one of single, double"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        changed(folder, table, facts and facts.rstrip("\n") + "\n")
        assert train_on(folder) == 2
        assert told in capsys.readouterr().err
    (tmp_path / "0" / "measured_sweep.csv").unlink()
    assert train_on(tmp_path / "0") == 2
    said = capsys.readouterr().err
    assert "no measured_sweep.csv" in said
    assert "wattslice measure --campaign --only roofline" in said
    assert main(["gtx_titan_x", "--out", str(tmp_path)]) == 2
    assert "there is no gtx_titan_x_sweep.csv" in capsys.readouterr().err


def test_rates_beyond_the_catalogue_are_doubted(campaign, tmp_path, capsys):
    """The runs of a board of 25 Tflop/s in double precision are not those of a Quadro."""
    words = ["--data", str(campaign / "measured.csv"), "--out", str(tmp_path)]
    assert main(["quadro_rtx_8000", *words]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "double precision ran at best 2.5e+04 GFLOP/s where the catalogue has" in out
    assert "these are not runs of a Quadro RTX 8000" in out
    assert main(["h200", *words]) == 0
    assert "where the catalogue has" not in capsys.readouterr().out


def test_a_sweep_that_moves_next_to_nothing_is_doubted(campaign, tmp_path, capsys):
    changed(tmp_path, list(read_measurements(campaign / "measured.csv")), "")
    rows = [
        replace(row, traffic_bytes=row.traffic_bytes / 1000)
        for row in read_sweep(campaign / "measured_sweep.csv")
    ]
    write_table(tmp_path / "measured_sweep.csv", (), SweepRow, tuple(rows))
    assert train_on(tmp_path) == 0
    assert "memory moved at best 4 GB/s where the catalogue has" in " ".join(capsys.readouterr().out.split())


def test_training_that_fails_leaves_no_folder(tmp_path, capsys):
    out = tmp_path / "models" / "gtx_titan_x"
    assert main(["gtx_titan_x", "--out", str(out)]) == 2
    assert list(tmp_path.iterdir()) == []


def test_wrong_use_and_missing_packages_are_told(campaign, tmp_path, capsys, monkeypatch):
    assert main(["riva128"]) == 2
    assert "unknown GPU 'riva128'" in capsys.readouterr().err
    words = ["h200", "--out", str(tmp_path)]
    assert main([*words, "--data", str(tmp_path / "nothing.csv")]) == 2
    assert "nothing.csv" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert main([*words, "--data", str(campaign / "measured.csv")]) == 2
    assert "needs scipy: pip install '.[train]' in the checkout" in capsys.readouterr().err


def test_a_damaged_file_is_refused(campaign, tmp_path, capsys):
    changed(
        tmp_path,
        list(read_measurements(campaign / "measured.csv")),
        (campaign / "measured_sweep.csv").read_text(),
    )
    assert train_on(tmp_path) == 0
    capsys.readouterr()
    path = tmp_path / "out" / "roofline.json"
    document = json.loads(path.read_text())
    for damage in ({"fits": []}, {"residual_columns": []}, {"fits": [{"core_mhz": 1.0}]}):
        path.write_text(json.dumps(document | damage))
        with pytest.raises(ModelFileError, match="train the model again"):
            load_roofline(path)


@pytest.mark.parametrize("gpu_id", ["v100_pcie", "quadro_rtx_8000"])
class TestShipped:
    def test_it_was_fitted_to_the_committed_tables(self, gpu_id):
        trained = load_roofline(SHIPPED / gpu_id / "roofline.json")
        for file in trained.provenance.data:
            assert sha256(MEASUREMENT_DIRECTORY / file.name) == file.sha256, "see docs/roofline.md"

    def test_it_makes_machines(self, gpu_id, monkeypatch, tmp_path):
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))  # nothing of the user's own
        trained = stored_roofline(gpu_id)
        assert trained is not None
        assert trained.at(600.0).core_mhz in (600.0, 705.0)
        gpu = load_gpu(gpu_id)
        for precision in SweepPrecision:
            machine = trained.reference.fit.roofline(precision)
            assert machine.bandwidth_bytes_per_s < gpu.memory_bandwidth_bytes_per_s
            assert machine.constant_power_w < (gpu.power_limit_w or 0.0)

    def test_the_sweep_is_what_the_source_says(self, gpu_id):
        measured = read_measurements(MEASUREMENT_DIRECTORY / f"{gpu_id}.csv")
        assert read_sweep(sweep_path(gpu_id)) == mixbench_sweep(measured)

    def test_the_memory_was_as_busy_as_the_bytes_of_the_sweep_make_it(self, gpu_id):
        """DCGM's count of active cycles knows nothing of our count of bytes."""
        seen = {
            (row.benchmark, row.kernel, row.arguments, row.core_mhz): row
            for row in read_utilisation(utilisation_path(gpu_id))
        }
        peak = load_gpu(gpu_id).memory_bandwidth_bytes_per_s
        ratios = []
        for row in load_roofline(SHIPPED / gpu_id / "roofline.json").residuals:
            active = seen[row.benchmark, row.kernel, row.arguments, row.core_mhz].dram_active
            ratios.append(row.traffic_bytes / row.time_s / peak / (active or float("nan")))
        assert len(ratios) > 150
        assert sorted(ratios)[len(ratios) // 2] == pytest.approx(1.0, abs=0.01)
        assert min(ratios) > 0.9
        assert max(ratios) < 1.1
