"""What the rows of a campaign change in the project, apart from training: the GPU's entry and its place."""

import json
import tomllib
from pathlib import Path

from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.sensor import Board
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
        "memory_clock_mhz = 3201",
    )
    before, after = tomllib.loads(ENTRY.read_text()), tomllib.loads(entry.read_text())
    assert after["board"].pop("idle_power_w")["value"] == 78.3
    assert "board 1a2b3c4d, driver 580.159" in after["clocks"].pop("memory_clock_mhz")["source"]
    assert after["nvml"].pop("nvml_update_period_ms")["value"] == 100.4
    del before["board"]["idle_power_w"], before["nvml"]["nvml_update_period_ms"]
    del before["clocks"]["memory_clock_mhz"]
    assert after == before


def test_what_the_board_does_not_tell_changes_nothing(tmp_path: Path):
    entry = tmp_path / "h200.toml"
    entry.write_text(ENTRY.read_text())
    assert publish.write_entry(entry, publish.sensor_facts(check(tmp_path)), BOARD) == ()
    assert publish.sensor_facts(tmp_path / "nothing.json") == ()
    assert entry.read_text() == ENTRY.read_text()


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
