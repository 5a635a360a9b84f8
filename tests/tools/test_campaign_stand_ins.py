"""Pieces of the campaign as a person calls them, on stand-ins for CUDA runtime, NVML and ncu.

nvcc builds the programs; time runs three times as fast. A machine under load makes single rows
fail; what is asserted holds all the same.
"""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from wattslice_corpora.measuring.journal import Entry, read_entries
from wattslice_tools.campaign.home import boards, merge, read_lines
from wattslice_tools.campaign.planned import build_all
from wattslice_tools.campaign.rehearsal import FLAGS, StandIns, build_stand_ins, piece_command
from wattslice_tools.campaign.sections import make_plan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.nvcc,
    pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on the PATH"),
]

SPEED = 3.0
MOST_PIECES = 4
"""On a machine under load; one is enough on a quiet one."""
BOARD = "0123abcd"


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all tests find their programs: time runs too fast to wait for nvcc meanwhile."""
    folder = tmp_path_factory.mktemp("campaign")
    assert build_all(folder, "sm_90", os.cpu_count() or 1, tuple(FLAGS.split()), 1) == 0
    return folder / "build"


@pytest.fixture(scope="module")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> StandIns:
    return build_stand_ins(tmp_path_factory.mktemp("stand-ins"))


def campaign_in(folder: Path, builds: Path) -> Path:
    campaign = folder / "campaign"
    campaign.mkdir(exist_ok=True)
    if not (campaign / "build").exists():
        (campaign / "build").symlink_to(builds)
    return campaign


def piece(
    stand_ins: StandIns, folder: Path, builds: Path, *more: str, **fakes: str
) -> subprocess.CompletedProcess[str]:
    """One of every section; what came home lies in ``folder/out``."""
    environment = stand_ins.environment(SPEED, OUT=str(folder / "out"), **fakes)
    command = piece_command(campaign_in(folder, builds), "--each", "1", *more)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


def entries(folder: Path) -> tuple[Entry, ...]:
    """What was measured, as it is at home after merging the packet alone."""
    merge(folder / "home", (folder / "out").glob("*.tar.gz"))
    return read_entries(folder / "home" / BOARD)


@pytest.fixture(scope="module")
def healthy(stand_ins: StandIns, builds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("healthy")
    for _ in range(MOST_PIECES):
        done = piece(stand_ins, folder, builds)
        assert done.returncode == 0, done.stderr
        if "nothing is left" in done.stdout:
            break
    return folder


def test_every_section_brings_something_home(healthy: Path):
    found = {entry.name: entry for entry in entries(healthy)}
    plan = make_plan(132, BOARD, healthy / "home" / BOARD, 1)
    assert {one.name for one in plan.configurations} <= set(found)
    valid = [entry for entry in found.values() if entry.row.power_valid]
    assert valid
    assert all(60.0 < (entry.row.power_w or 0.0) - 70.0 + 5.0 < 470.0 for entry in valid)
    folder = healthy / "home" / BOARD
    assert (folder / "sensor.json").exists()
    assert read_entries(folder / "instructions")
    counters = next(read_lines(folder / "counters.jsonl"))["counters"]
    assert counters["gpu__time_duration.sum"] == pytest.approx(101.5e-6)
    assert counters["smsp__inst_executed.sum"] == 1234567
    assert counters["dram__bytes_read.sum"] == 4.25e6
    (board,) = boards(healthy / "home")
    assert (board.board.name, board.chip.sm_count) == ("NVIDIA H200", 132)


def test_what_comes_home_is_few_and_small(healthy: Path):
    files = list((healthy / "out").iterdir())
    assert len(files) <= 2
    assert sum(path.stat().st_size for path in files) < 2 << 20


def test_a_clock_that_moves_spoils_its_rows(healthy: Path, stand_ins: StandIns, builds: Path, tmp_path: Path):
    """Other reasons: tests/corpora/test_measuring_power.py, and of whole programs test_measuring_gpu.py."""
    done = piece(stand_ins, tmp_path, builds, FAKE_SENSOR="clock")
    assert "nothing is left" in done.stdout or "the next piece" in done.stdout, done.stderr
    reasons = [entry.row.reason for entry in entries(tmp_path)]
    assert any("the clock moved from 1500 to 1980 MHz" in one for one in reasons), reasons


def test_an_old_driver_without_some_functions_is_measured_all_the_same(
    healthy: Path, builds: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    fewer = build_stand_ins(tmp_path_factory.mktemp("fewer"), fewer_functions=True)
    done = piece(fewer, tmp_path, builds)
    assert "Traceback" not in done.stderr
    found = entries(tmp_path)
    assert any(entry.row.power_valid for entry in found), [entry.row.reason for entry in found]
    assert all(entry.row.core_mhz is None for entry in found)


def test_no_counters_are_told_and_the_piece_goes_on(
    healthy: Path, stand_ins: StandIns, builds: Path, tmp_path: Path
):
    done = piece(stand_ins, tmp_path, builds, FAKE_NCU="forbidden")
    assert "g no counters: ncu: ERR_NVGPUCTRPERM" in done.stdout
    assert any(entry.name.startswith("kernel-") and "medium" in entry.name for entry in entries(tmp_path))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_piece_that_is_stopped_goes_on(
    healthy: Path, stand_ins: StandIns, builds: Path, tmp_path: Path, how: signal.Signals
):
    """Stopped in the middle, by its time limit or for good, and called again."""
    campaign = campaign_in(tmp_path, builds)
    environment = stand_ins.environment(SPEED, OUT=str(tmp_path / "out"))
    command = piece_command(campaign, "--each", "1")
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        deadline_s = time.monotonic() + 300
        while len(read_entries(campaign / BOARD)) < 3 and time.monotonic() < deadline_s:
            time.sleep(0.05)
        os.killpg(process.pid, how)
        process.communicate(timeout=300)
    before = {entry.name for entry in read_entries(campaign / BOARD)}
    assert len(before) >= 3
    if how is signal.SIGTERM:
        assert before <= {entry.name for entry in entries(tmp_path)}
    words = ""
    for _ in range(MOST_PIECES):
        done = piece(stand_ins, tmp_path, builds)
        words += done.stdout
        if "nothing is left" in done.stdout:
            break
    again = {line.split()[2].rstrip(":") for line in words.splitlines() if line[:2] in ("a ", "b ")}
    valid = {entry.name for entry in read_entries(campaign / BOARD) if entry.row.power_valid}
    assert not {name for name in again if "--piece" not in name} & before & valid
    plan = make_plan(132, BOARD, tmp_path / "plan", 1)
    assert {one.name for one in plan.configurations} <= {one.name for one in read_entries(campaign / BOARD)}
