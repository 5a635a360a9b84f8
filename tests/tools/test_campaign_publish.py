"""What the rows of a campaign change in the project, apart from training: the GPU's entry and its place."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice.training.tables import MeasuredTables
from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.errors import MeasureError
from wattslice_corpora.measuring.sensor import Board
from wattslice_corpora.records import read_card, read_measurements, read_slices, read_workloads
from wattslice_models import gpu
from wattslice_tools.campaign import publish
from wattslice_tools.campaign.home import BoardFolder

BOARD = BoardFolder(
    Path("campaign/1a2b3c4d"),
    Board("NVIDIA H200", "GPU-1a2b3c4d-0", "0000:1B:00.0", "580.159", "13.0", 700.0),
    Chip(132, "sm_90"),
    "",
)
ENTRY = Path(gpu.__file__).parent / "gpus" / "h200.toml"


def always(path: Path) -> Callable[[str], Path]:
    return lambda gpu_id: path


def check(folder: Path, **values: float | None) -> Path:
    """A sensor check's file."""
    idle = {"power_w": values.get("idle_w"), "memory_mhz": values.get("memory_mhz")}
    text = {
        "check": {"without_context": idle, "after_load": idle, "instant_period_s": values.get("period_s")}
    }
    path = folder / "sensor.json"
    path.write_text(json.dumps(text))
    return path


def test_the_entry_takes_what_the_sensor_check_says_and_nothing_else(tmp_path: Path):
    entry = tmp_path / "h200.toml"
    entry.write_text(ENTRY.read_text())
    facts = publish.sensor_facts(check(tmp_path, idle_w=78.26, memory_mhz=3201.0, period_s=0.1004))
    assert publish.write_entry(entry, facts, BOARD) == (
        "idle_power_w = 78.3",
        "nvml_update_period_ms = 100.4",
    )
    before, after = tomllib.loads(ENTRY.read_text()), tomllib.loads(entry.read_text())
    assert after["board"].pop("idle_power_w")["value"] == 78.3
    assert "board 1a2b3c4d, driver 580.159" in after["nvml"]["nvml_update_period_ms"]["source"]
    assert after["nvml"].pop("nvml_update_period_ms")["value"] == 100.4
    del before["board"]["idle_power_w"], before["nvml"]["nvml_update_period_ms"]
    assert after == before


def test_what_the_board_does_not_tell_changes_nothing(tmp_path: Path):
    entry = tmp_path / "h200.toml"
    entry.write_text(ENTRY.read_text())
    assert publish.write_entry(entry, publish.sensor_facts(check(tmp_path)), BOARD) == ()
    assert publish.sensor_facts(tmp_path / "nothing.json") == ()
    assert entry.read_text() == ENTRY.read_text()


def test_runs_without_features_are_told_but_for_microbenchmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    reasons = (
        (("gemm_naive", "gemmNaive", "1024"), "its source gemm_naive.cu is not at hand"),
        (("latency_l2", "chase", "latency_l2 20000 1"), "its source latency_l2.cu is not at hand"),
    )
    tables = MeasuredTables((), (), (), None, reasons, ())
    kept: list[str] = []

    def tables_of_file(table: Path, gpu: gpu.Gpu) -> MeasuredTables:
        return tables

    def keep_public(gpu: str, cards: list[Path], tables: MeasuredTables, source: str) -> None:
        kept.append(source)

    monkeypatch.setattr(publish, "tables_of_file", tables_of_file)
    monkeypatch.setattr(publish, "keep_public", keep_public)
    publish.write_measured((BOARD,), "h200")
    assert capsys.readouterr().out.splitlines() == [
        "without features: gemm_naive gemmNaive 1024: its source gemm_naive.cu is not at hand",
        "19 microbenchmarks serve probes.csv, not the training",
    ]
    assert kept == ["campaign on NVIDIA H200, board 1a2b3c4d"]


def test_nothing_is_written_without_what_training_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(publish, "_NEEDED", ("json", "a_package_that_nobody_has"))
    with pytest.raises(MeasureError, match=r"training needs a_package_that_nobody_has, .*pip install"):
        publish.publish(tmp_path, (), None)


def test_a_board_is_found_in_the_catalogue_by_its_name():
    assert publish.gpu_of(BOARD, None) == "h200"
    named = Board("NVIDIA H100 80GB HBM3", "GPU-2", "", "", "", None)
    assert publish.gpu_of(BoardFolder(BOARD.folder, named, BOARD.chip, ""), None) == "h100"
    assert publish.gpu_of(BOARD, "h100") == "h100"


def test_a_gpu_gets_a_place_in_the_document_once(tmp_path: Path):
    page = tmp_path / "accuracy.md"
    page.write_text(f"# Errors\n\n{publish.begin_marker('v100_pcie')}\ntext\n{publish.SECTION_END}\n\nend\n")
    publish.make_section(page, "h200")
    once = page.read_text()
    publish.make_section(page, "h200")
    assert page.read_text() == once
    assert once.index("v100_pcie") < once.index("evaluate h200:") < once.index("\nend\n")
    assert once.count(publish.SECTION_END) == 2


def test_rows_of_a_campaign_replace_their_own_and_leave_the_public_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    measured = read_measurements(publish.measurements_path("a100"))
    workloads = read_workloads(publish.workloads_path("a100"))
    slices = read_slices(publish.slices_path("a100"))
    for name in ("measurements", "workloads", "slices", "card"):
        path = getattr(publish, f"{name}_path")("a100")
        (tmp_path / path.name).write_bytes(path.read_bytes())
        monkeypatch.setattr(publish, f"{name}_path", always(tmp_path / path.name))
    card = tmp_path / "card.toml"
    head = 'board = "H200"\nchip = "GH100"\ndriver = "580"\n\n'
    one = publish.card_path("a100").read_text().split("[[dataset]]")[1]
    none = one.replace("nhr-roofline", "without rows").replace("gpu_benches", "")
    card.write_text(
        f"{head}[[dataset]]{none}[[dataset]]"
        + one.replace("nhr-roofline", "campaign").replace("gpu_benches", "")
    )
    for count in (3, 2):  # the second campaign replaces the first
        rows = tuple(
            replace(row, dataset="campaign", arguments=f"-x={n}") for n, row in enumerate(measured[:count])
        )
        work = tuple(replace(workloads[0], arguments=row.arguments) for row in rows)
        publish.keep_public("a100", [card], MeasuredTables(rows, work, (), None, (), ()), "campaign")
        assert read_measurements(tmp_path / "a100.csv") == rows + measured
        assert read_workloads(tmp_path / "a100_workloads.csv") == work + workloads
        assert read_slices(tmp_path / "a100_slices.csv") == slices
        found = read_card(tmp_path / "a100.toml")
        assert [entry.key for entry in found.datasets] == ["campaign", "nhr-roofline"]
        assert found.driver == "580"


def test_boards_of_one_kind_are_published_together_and_no_features_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    measured = read_measurements(publish.measurements_path("h200"))[:2]
    workloads = read_workloads(publish.workloads_path("h200"))[:2]
    runs = {(row.benchmark, row.kernel, row.arguments) for row in measured}
    slices = tuple(
        row
        for row in read_slices(publish.slices_path("h200"))
        if (row.benchmark, row.kernel, row.arguments) in runs
    )
    text = publish.card_path("h200").read_text()
    for name in ("measurements", "workloads", "slices", "card"):
        monkeypatch.setattr(publish, f"{name}_path", always(tmp_path / f"h200-{name}"))
    tables: dict[str, MeasuredTables] = {}
    found: list[BoardFolder] = []
    for key, count in (("1a2b3c4d", 2), ("4567cdef", 1)):  # the first run was measured on both
        folder = tmp_path / key
        folder.mkdir()
        (folder / "card.toml").write_text(text.replace("nhr-roofline", f"slices-{key}"))
        rows = tuple(replace(row, dataset=f"slices-{key}") for row in measured[:count])
        tables[key] = MeasuredTables(rows, workloads[:count], slices, None, (), ())
        found.append(replace(BOARD, folder=folder))

    def tables_of_file(table: Path, gpu: gpu.Gpu) -> MeasuredTables:
        return tables[table.parent.name]

    monkeypatch.setattr(publish, "tables_of_file", tables_of_file)
    for _ in range(2):
        publish.write_measured(found, "h200")
        rows = read_measurements(tmp_path / "h200-measurements")
        assert [row.dataset for row in rows] == ["slices-1a2b3c4d"] * 2 + ["slices-4567cdef"]
        assert read_workloads(tmp_path / "h200-workloads") == workloads
        assert read_slices(tmp_path / "h200-slices") == slices
        card = read_card(tmp_path / "h200-card")
        assert [entry.key for entry in card.datasets] == ["slices-1a2b3c4d", "slices-4567cdef"]


def test_without_a_choice_all_boards_are_taken_if_they_are_of_one_kind(tmp_path: Path):
    def keys(*wanted: str) -> list[str]:
        return [one.folder.name for one in publish.boards_of(tmp_path, wanted)]

    with pytest.raises(MeasureError, match="there are: none"):
        keys()
    for key in ("4567cdef", "1a2b3c4d"):
        replace(BOARD, folder=tmp_path / key).write()
    assert keys() == ["1a2b3c4d", "4567cdef"]
    other = replace(BOARD.board, name="NVIDIA H100 80GB HBM3")
    replace(BOARD, folder=tmp_path / "77777777", board=other).write()
    with pytest.raises(MeasureError, match=r"of one kind.*77777777 \(NVIDIA H100 80GB HBM3\)"):
        keys()
    assert keys("4567cdef", "1a2b3c4d") == ["1a2b3c4d", "4567cdef"]
    with pytest.raises(MeasureError, match="no board 00000000"):
        keys("00000000")
