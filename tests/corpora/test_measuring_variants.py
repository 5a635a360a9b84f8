"""`wattslice measure --variants`: each variant built and measured, and the table that `train` reads.

Quick: nvcc is a script that knows what does not compile, the bench plays the board. With nvcc: the real
compiler, and the stand-ins of fake_gpu/ for runtime and driver.
"""

import contextlib
import csv
import json
import shutil
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from wattslice.cli import main
from wattslice_corpora.measuring import machine
from wattslice_corpora.measuring.bench import Configuration, Measured, Timing
from wattslice_corpora.measuring.builder import Builder
from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.machine import Machine
from wattslice_corpora.measuring.program import Launch
from wattslice_corpora.measuring.sensor import Board
from wattslice_models.user_folder import user_models

from .power_traces import Course
from .test_measuring_gpu import fake_gpu, python, runtime, slow_with_nvcc

__all__ = ["fake_gpu", "runtime"]

SOURCE = """
__global__ void copy(const float *x, float *y) {
    __shared__ float s[TILE][1024];
    for (int i = 0; i < TILE; i++) s[i][threadIdx.x] = x[(blockIdx.x * TILE + i) * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < TILE; i++)
        y[(blockIdx.x * TILE + i) * blockDim.x + threadIdx.x] = s[i][blockDim.x - 1 - threadIdx.x];
}
__global__ void other(float *x) { x[0] = 1; }
int main() {
    float *x, *y;
    cudaMalloc(&x, 1 << 22);
    cudaMalloc(&y, 1 << 22);
    other<<<1, 32>>>(x);
    copy<<<N / TILE, BLOCK>>>(x, y);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""
SPACE = ("-D", "TILE=1,2,4,8", "-D", "BLOCK=64,128,256", "-D", "N=1024", "--kernel", "copy")
NVCC = """#!/bin/sh
case " $* " in
*" -M "*) echo "a.o : $0";;
*-DTILE=8*) echo "ptxas error   : Entry function 'copy' uses too much shared data" >&2; exit 255;;
*-DTILE=4*-DBLOCK=64*) echo 'k.cu:1: warning: "TILE" redefined' >&2;;
esac
while [ $# -gt 1 ]; do [ "$1" = -o ] && : > "$2"; shift; done
"""
BOARD = Board("NVIDIA RTX A4000", "GPU-0123abcd-fake", "0000:1B:00.0", "580.00", "13.0", 140.0)


class FakeBench:
    """A launch takes 100 µs and 100 W, and a sixteenth of a watt for each thread of a block."""

    def __init__(self, builder: Builder, interrupted_at: int = -1) -> None:
        self.builder = builder
        self.interrupted_at = interrupted_at
        self.measured: list[tuple[str, ...]] = []

    def prepare(self, configurations: tuple[Configuration, ...]) -> None:
        """Builds when asked."""

    def measure(self, configuration: Configuration) -> Measured:
        """What the definitions give."""
        if len(self.measured) == self.interrupted_at:
            raise KeyboardInterrupt
        self.measured.append(configuration.definitions)
        self.builder.build(configuration.source, configuration.definitions)
        macros = dict(text.split("=") for text in configuration.definitions)
        block = int(macros["BLOCK"])
        grid = int(macros["N"]) // int(macros["TILE"])
        busy_w = 100 + block / 16
        launch = Launch(0, "copy", (grid, 1, 1), (block, 1, 1), 0, 0, 16, "0000:1B:00.0")
        counter = 1.1 if (macros["TILE"], block) == ("2", 64) else 1.0
        return Measured(launch, Course(busy_w=busy_w, counter_factor=counter).trace())


Played = Callable[..., FakeBench]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "copy.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Puts a bench in the place of this machine's GPU."""
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(NVCC)
    nvcc.chmod(0o755)

    def play(**options: Any) -> FakeBench:
        bench: list[FakeBench] = []

        @contextlib.contextmanager
        def this_machine(
            _device: int, builds: Path, timing: Timing, flags: tuple[str, ...]
        ) -> Generator[Machine]:
            builder = Builder(str(nvcc), builds, "sm_86", flags)
            bench[0].builder = builder
            yield Machine(BOARD, Chip(48, "sm_86"), timing, builder, bench[0])  # pyright: ignore[reportArgumentType]

        bench.append(FakeBench(Builder(str(nvcc), tmp_path), **options))
        monkeypatch.setattr(machine, "this_machine", this_machine)
        return bench[0]

    return play


def measure(source: Path, *words: str) -> int:
    return main(["measure", str(source), "--variants", "--out", str(source.parent / "out"), *SPACE, *words])


def table(source: Path) -> list[dict[str, str]]:
    with (source.parent / "out" / "variants.csv").open(newline="") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


def by_macros(source: Path) -> dict[tuple[int, int], dict[str, str]]:
    return {(int(row["TILE"]), int(row["BLOCK"])): row for row in table(source)}


def test_a_row_for_each_variant_with_figures_or_a_reason(
    source: Path, played: Played, capsys: pytest.CaptureFixture[str]
):
    played()
    assert measure(source, "--where", "BLOCK<256 || TILE==1") == 0
    rows = by_macros(source)
    assert set(rows) == {
        (1, 64),
        (1, 128),
        (1, 256),
        *((tile, block) for tile in (2, 4, 8) for block in (64, 128)),
    }
    good = rows[1, 256]
    assert list(good) == ["TILE", "BLOCK", "N", "board", "launch", "time_s", "power_w", "reason"]
    assert float(good["power_w"]) == pytest.approx(100 + 256 / 16, rel=0.01)
    assert float(good["time_s"]) == pytest.approx(1e-4)
    assert (good["N"], good["board"], good["reason"]) == ("1024", "NVIDIA RTX A4000", "")
    assert good["launch"] == "copy=1024,1,1:256,1,1:0"
    assert rows[2, 128]["launch"] == "copy=512,1,1:128,1,1:0"
    for tile, block, reason in (
        (8, 64, "does not build: ptxas error : Entry function 'copy' uses too much shared data"),
        (8, 128, "does not build"),
        (4, 64, "defines TILE again"),
        (2, 64, "energy counter and samples are"),
    ):
        row = rows[tile, block]
        assert reason in row["reason"]
        assert (row["time_s"], row["power_w"], row["launch"]) == ("", "", "")
    said = capsys.readouterr()
    assert "no figures: TILE=4 BLOCK=64: copy.cu: defines TILE again: -D TILE has no effect" in said.out
    assert "N=1024" not in said.out  # it does not vary
    assert (
        f"next: wattslice train {source} --variants {source.parent}/out/variants.csv --gpu rtx_a4000"
        in said.err
    )


def test_what_was_measured_is_kept_whenever_it_ends(
    source: Path, played: Played, capsys: pytest.CaptureFixture[str]
):
    """Interrupted at the fourth; the next run goes on, and measures again what failed, once."""
    words = ("--where", "BLOCK > 64 and TILE < 8")
    first = played(interrupted_at=3)
    assert measure(source, *words) == 2
    assert "interrupted" in capsys.readouterr().err
    assert len(table(source)) == len(first.measured) == 3
    second = played()
    assert measure(source, *words) == 0
    assert "3 configurations measured before, going on" in capsys.readouterr().err
    assert len(table(source)) == 6
    assert len(second.measured) == 3
    assert not set(first.measured) & set(second.measured)


def test_a_draw_is_the_beginning_of_a_larger_one_and_of_its_seed(source: Path, played: Played):
    def drawn(seed: int, number: int, folder: str) -> list[tuple[str, ...]]:
        bench = played()
        out = ("--out", str(source.parent / folder))
        assert measure(source, *out, "--where", "TILE<8", "--draw", str(number), "--seed", str(seed)) == 0
        return bench.measured

    three = drawn(0, 3, "a")
    assert len(three) == 3
    assert len(drawn(0, 5, "a")) == 2 + sum("TILE=2" in one and "BLOCK=64" in one for one in three)
    assert drawn(0, 5, "b")[:3] == three
    assert drawn(1, 3, "c") != three


def test_another_text_of_the_source_is_measured_anew(source: Path, played: Played):
    words = ("--where", "TILE==1")
    assert len(_measured(played, source, words)) == 3
    assert not _measured(played, source, words)
    assert len(_measured(played, source, (*words, "-D", "M=3"))) == 3
    (source.parent / "nvcc").write_text(NVCC + "# what every source includes, as this nvcc tells\n")
    assert len(_measured(played, source, words)) == 3


def _measured(played: Played, source: Path, words: tuple[str, ...]) -> list[tuple[str, ...]]:
    bench = played()
    assert measure(source, *words) == 0
    return bench.measured


def test_no_time_no_table(source: Path, played: Played, capsys: pytest.CaptureFixture[str]):
    played()
    assert measure(source, "--time-budget", "0") == 2
    said = capsys.readouterr()
    assert "nothing measured: the time budget is too short" in said.err
    assert "12 variants left: the same command goes on" in said.err
    assert (said.out, (source.parent / "out" / "variants.csv").exists()) == ("", False)


@pytest.mark.slow
def test_the_table_teaches_with_the_launches_it_tells(
    source: Path, played: Played, capsys: pytest.CaptureFixture[str]
):
    """Nothing has to be said again: macros, launch, kernel stand in the table."""
    source.write_text(
        SOURCE.replace("N / TILE, BLOCK", 'N ? atoi(getenv("G")) : TILE, BLOCK ? atoi(getenv("B")) : 0')
    )
    played()
    assert measure(source, "--where", "TILE<8") == 0
    measured = source.parent / "out" / "variants.csv"
    capsys.readouterr()
    assert main(["train", str(source), "--variants", str(measured), "--gpu", "rtx_a4000"]) == 0
    told = capsys.readouterr()
    assert (
        "watts: 7 measured variants teach a" in told.out
    )  # of 9 one is not to be believed, and one does not build
    assert "another board" not in told.err
    kept = user_models() / "rtx_a4000" / "variants" / "copy.cu.copy.json"
    stored = json.loads(kept.read_text())["variants"]
    assert (stored["board"], stored["kernel"]) == ("NVIDIA RTX A4000", "copy")
    assert f"remove {kept} to forget it" in told.out
    assert main(["train", str(source), "--variants", str(measured), "--gpu", "v100"]) == 0
    assert "measured on NVIDIA RTX A4000: this corrects predictions for Tesla V100" in capsys.readouterr().err


@pytest.mark.slow
def test_a_sweep_of_more_kernels_than_were_measured_is_refused(
    source: Path, played: Played, capsys: pytest.CaptureFixture[str]
):
    played()
    assert measure(source, "--where", "TILE<8") == 0
    table_of = (
        "--measured",
        str(source.parent / "out" / "variants.csv"),
        "--gpu",
        "rtx_a4000",
        "--jobs",
        "1",
    )
    words = ("sweep", str(source), *SPACE[:6], *table_of)
    assert main([*words]) == 2
    assert "copy alone was measured, and variants launch" in capsys.readouterr().err
    assert main([*words, "--kernel", "copy"]) == 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ("--variants", "-D", "A=1,2", "--kernel", "k"),
            "--variants needs FILE.cu, --kernel NAME and --out DIR",
        ),
        (
            ("--variants", "-D", "A=1,2", "--out", "o"),
            "--variants needs FILE.cu, --kernel NAME and --out DIR",
        ),
        (("-D", "A=1,2"), "-D, --where and --draw are for --variants"),
        (("--draw", "3"), "-D, --where and --draw are for --variants"),
        (("--variants", "--kernel", "k", "--out", "o"), "nothing varies"),
        (("--variants", "--kernel", "k k", "--out", "o", "-D", "A=1,2"), "cannot be read"),
        (
            ("--variants", "--kernel", "k", "--out", "o", "-D", "A=1,2", "-D", "reason=1"),
            "a column of the table",
        ),
        (("--variants", "--kernel", "k", "--out", "o", "-D", "A=1,2", "-D", "B="), "-D B=: an empty value"),
        (("--variants", "--kernel", "k", "--out", "o", "-D", "A=1,2", "--where", "A>C"), "needs a number C"),
    ],
)
def test_wrong_use_is_told(
    source: Path, words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["measure", str(source), *words]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.usefixtures("runtime")
class TestWithNvcc:
    pytestmark = slow_with_nvcc

    def test_from_a_sweep_to_taught_watts(
        self, source: Path, fake_gpu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ):
        """The board takes as many microseconds as blocks, 170 W and a quarter of a watt for each thread.

        9 of 12 variants are measured; TILE=16 needs more shared memory than a block has.
        """
        space = ("-D", "TILE=1,2,4,16", "-D", "BLOCK=64,128,256,512", "-D", "N=1024")
        report = tmp_path / "sweep.json"
        sweep = ("sweep", str(source), *space, "--kernel", "copy", "--gpu", "v100", "--jobs", "1")
        sweep = (*sweep, "--where", "TILE<16", "--format", "json", "-o", str(report))
        assert main([*sweep]) == 0
        before = json.loads(report.read_text())["variants"]
        flags = (
            "--nvcc-flags",
            f"-cudart none {fake_gpu / 'libfake.a'}",
            "--window",
            "2.1",
            "--warmup",
            "0.3",
        )
        where = ("--where", "TILE==1 || TILE==4 || BLOCK==64")
        code = "import sys; from wattslice.cli import main; sys.exit(main())"
        words = (
            "measure",
            str(source),
            "--variants",
            *space,
            "--kernel",
            "copy",
            "--out",
            str(tmp_path / "out"),
        )
        done = python(fake_gpu, code, *words, *where, *flags, FAKE_WATTS="launch")
        assert done.returncode == 0, done.stderr
        rows = by_macros(source)
        assert "does not build: ptxas error" in rows.pop((16, 64))["reason"]
        assert len(rows) == 9
        for (tile, block), row in rows.items():
            assert row["launch"] == f"copy={1024 // tile},1,1:{block},1,1:0"
            assert float(row["time_s"]) == pytest.approx(1e-6 * 1024 / tile, rel=0.02)
            assert float(row["power_w"]) == pytest.approx(170 + block / 4, rel=0.02)
        assert (
            main(
                ["train", str(source), "--variants", str(tmp_path / "out" / "variants.csv"), "--gpu", "v100"]
            )
            == 0
        )
        capsys.readouterr()
        assert main([*sweep]) == 0
        found = json.loads(report.read_text())
        assert found["taught"]["variants"] == 9
        error = {"before": 0.0, "after": 0.0}
        for name, variants in (("before", before), ("after", found["variants"])):
            for one in variants:
                truth_w = 170 + int(one["macros"]["BLOCK"]) / 4
                error[name] += abs(one["power_w"] / truth_w - 1) / len(variants)
        assert error["after"] < 0.04 < 0.2 < error["before"]
        gate = ("gate", str(source), "--gpu", "v100", "--no-cache", *space[4:], "-D", "TILE=4")
        assert main([*gate, "-D", "BLOCK=512", "--max-power", "250"]) == 1  # 298 W
        assert main([*gate, "-D", "BLOCK=64", "--max-power", "250"]) == 0  # 186 W


def test_a_machine_without_a_gpu_is_told(source: Path, tmp_path: Path):
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has an NVIDIA driver")
    code = "import sys; from wattslice.cli import main; sys.exit(main())"
    done = python(
        tmp_path, code, "measure", str(source), "--variants", *SPACE, "--out", str(tmp_path / "out")
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "only be measured on a machine with an NVIDIA GPU" in done.stderr
    assert not (tmp_path / "out").exists() or sys.platform != "linux"
