"""What a piece starts beside its bench: the profiler and the square wave. Neither outlives it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wattslice_corpora.measuring.bench import Configuration
from wattslice_corpora.measuring.errors import ConfigurationError
from wattslice_corpora.measuring.program import Choice, run_to_end
from wattslice_tools.campaign import counters, sensor_check
from wattslice_tools.campaign.counters import CountersRefusedError, Profiler

CONFIGURATION = Configuration("c", "1", "d", "b", Path("b.cu"), Choice("k"))


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


PATIENCE_S = 300.0  # much more than a busy machine needs


def lives(process: int) -> bool:
    """Not gone, and not waiting to be reaped by whoever inherited it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_what_the_profiler_started_ends_with_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(counters, "LIMIT_S", 0.5)
    ncu = script(tmp_path / "ncu", f"sleep 600 &\necho $! > {tmp_path}/child\nwait")
    with pytest.raises(ConfigurationError, match=r"ncu: no end in sight after 0.5 s, killed"):
        Profiler(str(ncu)).count(Path("program"), CONFIGURATION, ())
    child = int((tmp_path / "child").read_text())
    deadline_s = time.monotonic() + PATIENCE_S
    while lives(child) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not lives(child)


def test_what_a_program_leaves_behind_ends_with_it(tmp_path: Path):
    done = run_to_end((str(script(tmp_path / "p", "sleep 600 >/dev/null 2>&1 &\necho $!")),), (), PATIENCE_S)
    deadline_s = time.monotonic() + PATIENCE_S
    while lives(int(done.stdout)) and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not lives(int(done.stdout))


def test_a_program_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="nothing: cannot be run"):
        run_to_end((str(tmp_path / "nothing"),), (), 1.0)


def test_the_profiler_is_found_in_the_folder_of_its_newest_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(counters, "_PLACES", ())
    monkeypatch.setattr(counters, "_VERSIONS", tmp_path)
    with pytest.raises(CountersRefusedError, match="ncu is not installed"):
        Profiler()
    for version in ("2024.3.2", "2025.3.1"):
        script(tmp_path / version / "ncu", f"echo ==ERROR== of {version}")
    with pytest.raises(ConfigurationError, match=r"ncu: ==ERROR== of 2025.3.1"):
        Profiler().count(Path("program"), CONFIGURATION, ())


def test_the_square_wave_dies_with_the_piece(tmp_path: Path):
    marks = "echo hold 1; for i in 1 2 3 4; do echo on 2; echo off 3; done"
    program = script(tmp_path / "wave", f'echo "$WATTSLICE_LOOP_PARENT" > {tmp_path}/parent\n{marks}')
    wave = sensor_check.run_wave(program, (("CUDA_VISIBLE_DEVICES", "GPU-1"),))
    assert len(wave.off_s) == sensor_check.CYCLES
    assert int((tmp_path / "parent").read_text()) == os.getpid()


def test_a_square_wave_that_fails_says_why(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="the square wave failed: no GPU"):
        sensor_check.run_wave(script(tmp_path / "wave", "echo no GPU >&2; exit 1"), ())


def test_a_piece_that_is_asked_twice_to_end_packs_all_the_same():
    program = """
import os, signal
from wattslice_tools.campaign.__main__ import end_when_asked
end_when_asked()
try:
    os.kill(os.getpid(), signal.SIGTERM)
    print("never asked")
finally:
    os.kill(os.getpid(), signal.SIGTERM)
    print("packed")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (143, "packed\n", "")
