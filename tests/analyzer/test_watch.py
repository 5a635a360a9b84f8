"""`wattslice watch`: what is edited is analysed again, and the difference told. Nothing here sleeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattslice.commands.watch import Watcher, follow
from wattslice.config.config import Options, make_config

SOURCE = """#include "steps.h"
__global__ void scale(float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < STEPS; ++k) x[i] = x[i] * 2.0f + 1.0f;
}
int main() { float *x; cudaMalloc(&x, 1 << 22); scale<<<4096, 256>>>(x); }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.cu").write_text(SOURCE)
    (tmp_path / "steps.h").write_text("#define STEPS 4\n")
    return tmp_path


@pytest.fixture
def watcher(folder: Path) -> Watcher:
    found = Watcher(make_config(Options(paths=(folder,), gpu="v100", no_cache=True)), (folder,))
    assert list(found.poll()) == []
    assert (len(found.files), found.launches) == (1, 1)
    return found


def test_without_an_edit_nothing_is_analysed(watcher, monkeypatch):
    monkeypatch.setattr(watcher, "_again", pytest.fail)
    assert list(watcher.poll()) == []


def test_an_edit_of_the_file_or_of_its_header_is_told_in_figures(folder, watcher):
    for name, old, new in (("k.cu", "* 2.0f", "/ (x[i] + 3.5f)"), ("steps.h", "4", "400")):
        (folder / name).write_text((folder / name).read_text().replace(old, new))
        (told,) = watcher.poll()
        assert told.startswith(f"{folder / 'k.cu'}: scale: ")
        assert "→" in told
        assert "(+" in told
        assert list(watcher.poll()) == []


def test_a_header_that_appears_and_a_change_of_nothing(folder, watcher):
    (folder / "steps.h").rename(folder / "other.h")
    list(watcher.poll())
    (folder / "other.h").rename(folder / "steps.h")
    assert any("→" in line or "new" in line for line in watcher.poll())
    (folder / "k.cu").write_text(SOURCE + "// the end\n")
    assert list(watcher.poll()) == [f"{folder / 'k.cu'}: no launch changes"]


def test_launches_and_files_come_and_go(folder, watcher):
    more = SOURCE.replace("scale<<<4096, 256>>>(x); }", "scale<<<4096, 256>>>(x); scale<<<32, 64>>>(x); }")
    (folder / "k.cu").write_text(more)
    (told,) = watcher.poll()
    assert ": new: scale, " in told
    (folder / "k.cu").write_text(SOURCE)
    (told,) = watcher.poll()
    assert ": gone: scale, " in told
    (folder / "l.cu").write_text(SOURCE)
    assert [line for line in watcher.poll() if "l.cu" in line] == []
    assert watcher.launches == 2
    (folder / "l.cu").unlink()
    assert f"{folder / 'l.cu'}: gone" in list(watcher.poll())


def test_what_cannot_be_read_is_told_and_watched_on(folder, watcher):
    (folder / "k.cu").write_text("")
    list(watcher.poll())
    (folder / "k.cu").write_text(SOURCE.replace("4096", "2048"))
    assert list(watcher.poll())
    assert watcher.launches == 1


def test_it_follows_as_long_as_it_waits(folder, watcher, capsys):
    waits = iter((True, True, False))

    def wait() -> bool:
        goes_on = next(waits)
        if goes_on:
            (folder / "k.cu").write_text((folder / "k.cu").read_text().replace("4096", "40960"))
        return goes_on

    follow(watcher, wait)
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2
    assert all(" W" in line and "→" in line for line in told)
