"""`wattslice train --variants`: measured variants of one kernel, stored, correct later predictions."""

import gzip
import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest

from wattslice.api import analyze
from wattslice.cli import main
from wattslice_models.user_folder import user_models

SOURCE = """
#ifndef TILE
#define TILE 4
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
__global__ void copy(const float *x, float *y) {
    __shared__ float s[TILE][1024];
    for (int i = 0; i < TILE; i++) s[i][threadIdx.x] = x[(blockIdx.x * TILE + i) * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < TILE; i++)
        y[(blockIdx.x * TILE + i) * blockDim.x + threadIdx.x] = s[i][blockDim.x - 1 - threadIdx.x];
}
__global__ void other(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
void run(float *x, float *y) { copy<<<4096 / TILE, BLOCK>>>(x, y); other<<<4096, 256>>>(x); }
"""
LAUNCH = ("--launch", "copy=4096/TILE:BLOCK")
SPACE = (*LAUNCH, "-D", "TILE=1,2,4,8", "-D", "BLOCK=32,64,128,256,512")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "copy.cu"
    path.write_text(SOURCE)
    return path


def swept(kernel: Path, *words: str, space: tuple[str, ...] = SPACE) -> dict[str, Any]:
    report = kernel.with_suffix(".json")
    common = ("--gpu", "v100", "--jobs", "1", *space, "--format", "json")
    assert main(["sweep", str(kernel), *common, *words, "-o", str(report)]) == 0
    return json.loads(report.read_text())


_PLAIN: dict[str, list[dict[str, Any]]] = {}
"""The variants of a source before anything is stored."""


def plain_variants(kernel: Path) -> list[dict[str, Any]]:
    source = kernel.read_text()
    if source not in _PLAIN:
        _PLAIN[source] = swept(kernel)["variants"]
    return _PLAIN[source]


def measured_table(kernel: Path, power: float = 0.5) -> Path:
    """Half of the variants, as if the board took longer by a `power` of the tile, and drew a tenth less, by a
    sensor that is wrong by up to one percent.
    """
    lines = ["TILE,BLOCK,time_s,power_w"]
    for number, row in enumerate(plain_variants(kernel)[::2]):
        tile, block = row["macros"]["TILE"], row["macros"]["BLOCK"]
        power_w = (0.9 + 0.009 * (-1) ** number) * row["power_w"]
        lines.append(f"{tile},{block},{row['time_s'] * int(tile) ** power},{power_w}")
    table = kernel.with_suffix(".csv")
    table.write_text("\n".join(lines) + "\n")
    return table


def train(kernel: Path, table: Path, *words: str) -> int:
    return main(["train", str(kernel), "--variants", str(table), "--gpu", "v100", *words])


_STORED: dict[str, str] = {}
"""What training with the plain table stores of a source."""


def teach(kernel: Path) -> None:
    """As training with the `measured_table`, which is done once for each source."""
    kept, source = user_models() / "v100" / "variants" / "copy.cu.copy.json", kernel.read_text()
    if source not in _STORED:
        assert train(kernel, measured_table(kernel), *LAUNCH) == 0
        _STORED[source] = kept.read_text()
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(_STORED[source])


def figures(kernel: Path, **options: Any) -> Any:
    (found,) = (one for one in analyze([kernel], gpu="v100", **options).kernels if one.name == "copy")
    return found


@pytest.mark.slow
def test_what_is_stored_corrects_a_sweep_as_the_table_itself_does(
    kernel: Path, capsys: pytest.CaptureFixture[str]
):
    table = measured_table(kernel)
    few = (*LAUNCH, "-D", "TILE=1,8", "-D", "BLOCK=32,512")
    with_table = swept(kernel, "--measured", str(table), space=few)
    assert train(kernel, table, *LAUNCH) == 0
    told = capsys.readouterr().out
    assert "seconds: 10 measured variants teach a residual" in told
    assert "watts: 10 measured variants teach a" in told
    stored = swept(kernel, space=few)
    assert stored["taught"] == with_table["taught"]
    for one, other in zip(stored["variants"], with_table["variants"], strict=True):
        for name in ("time_s", "power_w", "energy_j"):
            assert one[name] == pytest.approx(other[name], rel=1e-9)
    again = swept(kernel, "--measured", str(table), space=few)
    assert again == with_table  # it corrects the plain predictions, not the corrected ones


@pytest.mark.slow
def test_an_analysis_is_corrected_as_a_whole_and_says_so(kernel: Path):
    before = figures(kernel)
    teach(kernel)
    after = figures(kernel)
    assert (before.basis.variants, after.basis.variants) == (None, 10)
    assert after.power_w == pytest.approx(0.9 * before.power_w, rel=0.02)
    assert after.time_s == pytest.approx(2.0 * before.time_s, rel=0.15)
    assert after.energy_j == pytest.approx(after.power_w * after.time_s)
    assert after.power.static_w + math.fsum(line.power_w for line in after.hot_lines) == pytest.approx(
        after.power_w
    )
    assert math.fsum(one.average_power_w for one in after.slices) == pytest.approx(after.power_w)
    width = math.log(after.power.high_w / after.power_w)
    assert 0 < width < 0.1 < math.log(before.power.high_w / before.power_w)
    assert math.log(after.power_w / after.power.low_w) == pytest.approx(width)
    notes = [one.message for one in analyze([kernel], gpu="v100").diagnostics if one.rule == "PW030"]
    assert [note for note in notes if "copy: watts: 10 measured variants teach" in note]
    assert not [note for note in notes if note.startswith("other: ") and "measured variants" in note]


@pytest.mark.slow
def test_what_was_taught_never_draws_more_than_the_board_may(kernel: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever was stored: watts as far above the limit are refused where they are taught."""
    table = measured_table(kernel)
    plain = plain_variants(kernel)
    header, *rows = (line.rsplit(",", 1) for line in table.read_text().splitlines())
    more = [f"{start},{min(590.0, 6.0 * float(power_w))}" for start, power_w in rows]
    table.write_text("\n".join([",".join(header), *more]) + "\n")
    with monkeypatch.context() as patch:
        patch.setattr("wattslice_models.plausible.SENSOR_ERROR", 2.0)
        assert train(kernel, table, *LAUNCH) == 0
    after = figures(kernel)
    assert 6 * 0.9 * min(one["power_w"] for one in plain) > after.power_limit_w == after.power_w
    assert after.power.low_w <= after.power_w <= after.power.high_w
    assert after.power.static_w + math.fsum(line.power_w for line in after.hot_lines) == pytest.approx(
        after.power_w
    )
    assert after.limit_exceedance > 0.9
    assert after.power.high_w < 1.02 * after.power_limit_w
    assert after.exceedance(after.power.high_w) == pytest.approx(0.05, abs=2e-3)
    assert after.exceedance(after.power_limit_w) == pytest.approx(0.5, abs=0.02)
    for one in swept(kernel)["variants"]:
        assert one["power_w"] == pytest.approx(after.power_limit_w)
        assert one["energy_j"] == pytest.approx(one["power_w"] * one["time_s"])


HOT = """#ifndef UN
#define UN 8
#endif
__global__ void hot(float *y, float a) {
    float v[UN];
    for (int j = 0; j < UN; j++) v[j] = y[threadIdx.x + j];
    for (int i = 0; i < 4096; i++)
        for (int j = 0; j < UN; j++) v[j] = v[j] * a + 1.0f;
    for (int j = 0; j < UN; j++) y[(blockIdx.x * UN + j) * 256 + threadIdx.x] = v[j];
}
void run(float *y) { hot<<<4800, 256>>>(y, 0.5f); }
"""


@pytest.mark.slow
def test_watts_measured_below_the_limit_are_not_taken_for_those_that_a_launch_wants(tmp_path: Path):
    """A board that stays at 119 W where 153 are predicted, more than its limit of 140, does not want 130."""
    path, table = tmp_path / "hot.cu", tmp_path / "hot.csv"
    path.write_text(HOT)

    def hot() -> Any:
        (found,) = analyze([path], gpu="rtx_a4000").kernels
        return found

    before = hot()
    assert before.power_w == pytest.approx(before.power_limit_w, rel=0.01)
    rows = [f"{copies},{1e-3 * copies},119.0" for copies in range(4, 16)]
    table.write_text("\n".join(["UN,time_s,power_w", *rows]) + "\n")
    assert main(["train", str(path), "--variants", str(table), "--gpu", "rtx_a4000"]) == 0
    after = hot()
    assert after.power_w == pytest.approx(119.0, rel=0.02)
    assert after.power.high_w < 125.0
    notes = [one.message for one in analyze([path], gpu="rtx_a4000").diagnostics]
    assert not any("would exceed" in note or "may hit" in note for note in notes)
    # Watts alone: the seconds are still those of a board that its limit holds back, and that is told.
    table.write_text("\n".join(["UN,power_w", *(f"{copies},119.0" for copies in range(4, 16))]) + "\n")
    assert main(["train", str(path), "--variants", str(table), "--gpu", "rtx_a4000"]) == 0
    notes = [one.message for one in analyze([path], gpu="rtx_a4000").diagnostics]
    assert not any("would exceed" in note for note in notes)
    assert any("no seconds were measured: those shown are of a board that its" in note for note in notes)
    assert after.exceedance(125.0) < 0.1
    assert after.exceedance(113.0) > 0.9


def test_watts_at_the_limit_that_agree_with_the_prediction_leave_what_is_wanted(tmp_path: Path):
    path, table = tmp_path / "hot.cu", tmp_path / "hot.csv"
    path.write_text(HOT)
    (before,) = analyze([path], gpu="rtx_a4000").kernels
    table.write_text(
        "\n".join(["UN,power_w", *(f"{copies},{before.power_w}" for copies in (8, 8, 8))]) + "\n"
    )
    assert main(["train", str(path), "--variants", str(table), "--gpu", "rtx_a4000"]) == 0
    found = analyze([path], gpu="rtx_a4000")
    (after,) = found.kernels
    assert after.basis.variants == 3
    assert after.limit_exceedance == before.limit_exceedance
    assert any("would exceed the limit" in one.message for one in found.diagnostics)


def hot_table(table: Path, *watts: float) -> Path:
    rows = [f"{copies},{1e-3 * copies},{power_w}" for copies, power_w in enumerate(watts, 4)]
    table.write_text("\n".join(["UN,time_s,power_w", *rows]) + "\n")
    return table


def train_hot(path: Path, table: Path, gpu: str = "rtx_a4000") -> int:
    path.write_text(HOT)
    return main(["train", str(path), "--variants", str(table), "--gpu", gpu])


def test_watts_above_what_sensors_show_at_the_limit_are_refused_unless_the_real_limit_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """140 W, of which sensors show 1.01 times as much, to within 5 %: 148.5 W."""
    path, board = tmp_path / "hot.cu", tmp_path / "board.toml"
    table = hot_table(tmp_path / "hot.csv", 119.0, 148.0, 149.0, 161.0)
    assert train_hot(path, table) == 2
    told = capsys.readouterr().err
    assert (
        f"{table}:4: 149 W: sensors show no more than some 148 W of the RTX A4000 at its limit of 140" in told
    )
    assert "(2 of 4 variants have more) (give the board's real limit: --gpu FILE with power_limit_w)" in told
    assert not list(user_models().glob("rtx_a4000/variants/*"))
    sweep = ("sweep", str(path), "-D", "UN=4,5", "--jobs", "1", "--measured", str(table), "--gpu")
    assert main([*sweep, "rtx_a4000"]) == 2
    assert "give the board's real limit" in capsys.readouterr().err
    board.write_text(
        'extends = "rtx_a4000"\nid = "mine"\nname = "My A4000"\n'
        '[board]\npower_limit_w = { value = 160, source = "nvidia-smi" }\n'
    )
    assert train_hot(path, table, str(board)) == 0
    assert train_hot(path, hot_table(table, 119.0, 148.0, 148.4)) == 0
    assert main([*sweep, "rtx_a4000"]) == 0


@pytest.mark.slow
def test_watts_between_the_limit_and_what_sensors_show_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "hot.cu"
    assert train_hot(path, hot_table(tmp_path / "hot.csv", 119.0, 140.0)) == 0
    assert "above the board's limit" not in capsys.readouterr().out
    table = hot_table(tmp_path / "hot.csv", 141.0, 120.0, 147.5, 146.0)
    told = (
        "measured watts of 3 of 4 variants lie above the board's limit of 140 W (up to 147.5 W, in line 4): "
        "sensors may show so much, predictions end at the limit"
    )
    assert train_hot(path, table) == 0
    assert told in " ".join(capsys.readouterr().out.split())
    found = analyze([path], gpu="rtx_a4000")
    assert any(told in one.message for one in found.diagnostics)
    sweep = ("sweep", str(path), "-D", "UN=4,5", "--jobs", "1", "--gpu", "rtx_a4000")
    for words in (sweep, (*sweep, "--measured", str(table)), ("gate", str(path), "--gpu", "rtx_a4000")):
        words = (*words, "--max-power", "200") if words[0] == "gate" else words
        assert main([*words]) == 0
        said = capsys.readouterr()
        assert told in " ".join((said.out + said.err).split())


def hot_figures(path: Path) -> Any:
    (found,) = analyze([path], gpu="rtx_a4000").kernels
    return found


@pytest.mark.slow
def test_odds_of_a_budget_reach_as_far_as_the_sensor_showed(tmp_path: Path):
    path = tmp_path / "hot.cu"
    assert train_hot(path, hot_table(tmp_path / "hot.csv", *[139.0] * 5)) == 0
    known = hot_figures(path)
    assert known.power.high_w < 142.0
    assert known.exceedance(144.0) < 0.01
    assert train_hot(path, hot_table(tmp_path / "hot.csv", *[139.0] * 4, 147.0)) == 0
    above = hot_figures(path)
    assert above.power_w <= 140.0
    assert above.power.high_w > 143.0
    assert above.exceedance(144.0) > 0.04


def test_coefficients_that_cannot_be_read_are_told_when_variants_are_to_teach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    broken = user_models() / "rtx_a4000" / "energy.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{}")
    assert train_hot(tmp_path / "hot.cu", hot_table(tmp_path / "hot.csv", 119.0)) == 2
    assert "no measured variant has figures" in capsys.readouterr().err


@pytest.mark.slow
def test_what_teaches_is_kept_from_a_table_that_teaches_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, table = tmp_path / "hot.cu", tmp_path / "hot.csv"
    kept = user_models() / "rtx_a4000" / "variants" / "hot.cu.hot.json"
    assert train_hot(path, hot_table(table, 119.0)) == 0  # nothing to keep, nothing to tell
    assert "earlier" not in capsys.readouterr().err
    assert train_hot(path, hot_table(table, *[119.0] * 4)) == 0
    assert "earlier" not in capsys.readouterr().err  # one that taught nothing is replaced without a word
    four = kept.read_text()
    assert train_hot(path, hot_table(table, 119.0)) == 0
    assert "the earlier 4 variants are kept" in capsys.readouterr().err
    assert kept.read_text() == four
    assert train_hot(path, hot_table(table, *[119.0] * 5)) == 0
    assert "replaces 4 variants taught earlier" in capsys.readouterr().err
    assert json.loads(kept.read_text())["variants"]["taught"]["variants"] == 5
    kept.write_text("{}")
    assert train_hot(path, hot_table(table, 119.0)) == 0
    assert "earlier" not in capsys.readouterr().err


@pytest.mark.slow
def test_many_variants_that_confirm_the_prediction_teach_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path, table = tmp_path / "hot.cu", tmp_path / "hot.csv"
    path.write_text(HOT)
    (plain,) = analyze([path], gpu="rtx_a4000").kernels
    watts = [plain.power_w * (1 + 0.02 * (-1) ** number) for number in range(12)]
    assert train_hot(path, hot_table(table, *[119.0] * 4)) == 0
    table.write_text("\n".join(["UN,power_w", *(f"8,{power_w}" for power_w in watts)]) + "\n")
    capsys.readouterr()
    assert train_hot(path, table) == 0
    told = capsys.readouterr()
    assert "watts: 12 measured variants teach nothing" in told.out
    assert "replaces 4 variants taught earlier" in told.err


@pytest.mark.parametrize(
    ("watts", "told"), [((110.0, 120.0), False), ((122.0, 110.0), True), ((110.0, 122.0), True)]
)
def test_one_variant_measured_twice_with_other_watts_is_told(
    tmp_path: Path, watts: tuple[float, float], told: bool, capsys: pytest.CaptureFixture[str]
):
    path, table = tmp_path / "hot.cu", tmp_path / "hot.csv"
    one, other = watts
    table.write_text(f"UN,power_w\n8,{one}\n4,90\n8,115\n8,{other}\n")
    assert train_hot(path, table) == 0
    lines = "2 and 5" if one < other else "5 and 2"
    words = f"the same macros were measured with 110 W and 122 W (lines {lines}), so 1 of 2 variants"
    said = capsys.readouterr().out
    assert (words in said) == ("the same macros" in said) == told


def test_one_variant_measured_twice_with_other_seconds_is_told(tmp_path: Path, capsys):
    path, table = tmp_path / "hot.cu", tmp_path / "hot.csv"
    for other, told in ((0.00109, False), (0.0012, True)):
        table.write_text(f"UN,time_s,power_w\n8,1e-3,110\n4,5e-4,110\n8,{other},112\n")
        assert train_hot(path, table) == 0
        words = "the same macros were measured with 0.001 s and 0.0012 s (lines 2 and 4), so 1 of 2 variants"
        assert (words in " ".join(capsys.readouterr().out.split())) == told


@pytest.mark.slow
def test_a_kernel_that_was_renamed_is_told_from_what_was_taught(kernel: Path):
    def told() -> list[str]:
        found = analyze([kernel], gpu="v100").diagnostics
        return [one.message for one in found if "measured variants of" in one.message]

    teach(kernel)
    assert told() == []
    kernel.write_text(SOURCE.replace("copy", "copied"))
    (one,) = told()
    assert "variants of copy in a file of this name" in one
    assert "(copied, other)" in one
    kernel.rename(kernel.with_name("mine.cu"))
    assert not any(
        "variants of" in one.message for one in analyze([kernel.with_name("mine.cu")], gpu="v100").diagnostics
    )


@pytest.mark.slow
def test_a_gate_says_that_what_was_taught_is_not_used(kernel: Path, capsys: pytest.CaptureFixture[str]):
    assert train(kernel, measured_table(kernel), *LAUNCH) == 0
    words = ("gate", str(kernel), "--gpu", "v100", "--max-power", "300", "--no-cache")
    assert main([*words]) == 0
    assert "variants" not in capsys.readouterr().err
    assert main([*words, "--core-mhz", "1000"]) == 0
    (told,) = [line for line in capsys.readouterr().err.splitlines() if "variants" in line]
    assert "warning: copy: variants of this kernel were measured, but for predictions with other" in told


def told_of_copy(kernel: Path) -> str:
    found = analyze([kernel], gpu="v100").diagnostics
    return " ".join(one.message for one in found if one.rule == "PW030" and one.message.startswith("copy: "))


def edited(kernel: Path, old: str, new: str) -> None:
    assert old in SOURCE
    kernel.write_text(SOURCE.replace(old, new))


def test_another_kernel_of_the_same_names_has_nothing_of_it_and_that_is_told(kernel: Path):
    other = """__global__ void copy(const float *x, float *y) {
    float sum = 0;
    for (int k = 0; k < 64; k++) sum = sum * x[k] + 1.5f;
    y[threadIdx.x] = sum;
}
void run(float *x, float *y) { copy<<<4096, 256>>>(x, y); }
"""
    kernel.write_text(other)
    plain = figures(kernel)
    kernel.write_text(SOURCE)
    teach(kernel)
    kernel.write_text(other)
    after = figures(kernel)
    assert (after.power_w, after.power.high_w, after.time_s) == (
        plain.power_w,
        plain.power.high_w,
        plain.time_s,
    )
    assert after.basis.variants is None
    told = told_of_copy(kernel)
    assert (
        "variants of a kernel of this name in a file named copy.cu were measured, but of another text" in told
    )
    assert "not used; if it is the same kernel, train --variants again" in told


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("__syncthreads();", "__syncthreads(); __syncwarp();", "it was edited"),
        (
            "const float *x, float *y) {\n    __shared__",
            "const float *x, float *y, int n) {\n    __shared__",
            "it was",
        ),
        (
            "#define TILE 4",
            "#define TILE 2  // half",
            "functions, macros or declarations that it uses have changed",
        ),
    ],
)
def test_an_edited_kernel_keeps_what_was_taught_but_not_its_interval(
    kernel: Path, old: str, new: str, what: str
):
    edited(kernel, old, new)
    plain = figures(kernel)
    kernel.write_text(SOURCE)
    teach(kernel)
    taught = figures(kernel)
    edited(kernel, old, new)
    after = figures(kernel)
    assert after.basis.variants == 10
    assert after.power_w == pytest.approx(0.9 * plain.power_w, rel=0.02)
    assert after.power.high_w / after.power_w == pytest.approx(plain.power.high_w / plain.power_w)
    assert after.power.high_w / after.power_w > 1.1 * taught.power.high_w / taught.power_w
    assert f"copy: since variants were measured, {what}" in told_of_copy(kernel)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("__syncthreads();\n    for", "__syncthreads();  // all of it\n\n    for"),  # layout and comments
        ("other<<<4096, 256>>>(x);", "other<<<64, 256>>>(x);"),  # what it does not use
        ("x[blockIdx.x * blockDim.x + threadIdx.x] = 1;", "x[threadIdx.x] = 2;"),
    ],
)
def test_what_is_no_edit_of_the_kernel_changes_nothing(kernel: Path, old: str, new: str):
    teach(kernel)
    taught = figures(kernel)
    edited(kernel, old, new)
    after = figures(kernel)
    assert (after.power_w, after.power.high_w, after.basis.variants) == (
        taught.power_w,
        taught.power.high_w,
        10,
    )
    assert "edited" not in told_of_copy(kernel)


USES_EDITED = (
    "copy: since variants were measured, functions, macros or declarations that it uses have changed"
)
INDEX = "(blockIdx.x * TILE + i) * blockDim.x + threadIdx.x];\n    __sync"


@pytest.mark.slow
def test_an_edited_device_function_is_an_edit_of_its_kernel(kernel: Path):
    source = SOURCE.replace(f"= x[{INDEX}", f"= twice(x[{INDEX}".replace("];", "]);"))
    source = "__device__ float twice(float v) { return more(v); }\n" + source
    source = "__device__ float more(float v) { return 2 * v; }\n" + source
    kernel.write_text(source)
    assert train(kernel, measured_table(kernel), *LAUNCH) == 0
    assert "edited" not in told_of_copy(kernel)
    kernel.write_text(source.replace("2 * v", "2 * v * v"))
    assert USES_EDITED in told_of_copy(kernel)


HEADER = """#ifndef PARTS_H
#define PARTS_H
#include "scale.h"
#ifdef FAST
#define PART(v) (v)
#else
#define PART(v) twice(v)
#endif
__device__ inline float unused(float v) { return v - 1; }
#endif
"""
SCALE = """#define SCALE 2
__device__ inline float twice(float v) { return SCALE * v; }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "is_edit"),
    [
        ("parts.h", "PART(v) twice(v)", "PART(v) (2 * twice(v))", True),
        ("parts.h", "#ifdef FAST", "#ifndef FAST", True),
        ("scale.h", "SCALE * v", "SCALE * v * v", True),
        ("scale.h", "SCALE 2", "SCALE 3", True),
        ("copy.cu", '#include "lib/parts.h"', '#define FAST\n#include "lib/parts.h"', True),
        ("parts.h", "v - 1", "v - 2", False),
        ("parts.h", "#ifdef FAST", "#ifdef FAST  // in a hurry", False),
        ("scale.h", "inline float twice", "inline  float\ntwice", False),
    ],
)
def test_an_edit_in_an_included_header_is_one_where_the_kernel_uses_it(
    kernel: Path, file: str, old: str, new: str, is_edit: bool
):
    (kernel.parent / "lib").mkdir()
    source = '#include "lib/parts.h"\n' + SOURCE.replace(
        f"= x[{INDEX}", f"= PART(x[{INDEX}".replace("];", "]);")
    )
    texts = {"copy.cu": source, "parts.h": HEADER, "scale.h": SCALE}
    paths = {name: kernel.parent / ("" if name == "copy.cu" else "lib") / name for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    teach(kernel)
    taught = figures(kernel)
    assert taught.basis.variants == 10
    assert "edited" not in told_of_copy(kernel)
    assert texts[file].count(old) == 1
    paths[file].write_text(texts[file].replace(old, new))
    assert (USES_EDITED in told_of_copy(kernel)) == ("since variants" in told_of_copy(kernel)) == is_edit
    after = figures(kernel)
    assert (after.power.high_w / after.power_w > 1.1 * taught.power.high_w / taught.power_w) == is_edit


@pytest.mark.slow
def test_another_definition_on_the_command_line_is_an_edit_but_of_macros_that_were_varied(kernel: Path):
    source = SOURCE.replace(" = s[i]", " = SCALE * s[i]")
    kernel.write_text("#ifndef SCALE\n#define SCALE 1\n#endif\n" + source)
    words = ("-D", "SCALE=2", "-D", "SIZE=64")
    assert train(kernel, measured_table(kernel), *LAUNCH, *words) == 0

    def told(*definitions: str) -> str:
        found = analyze([kernel], gpu="v100", define=definitions).diagnostics
        return " ".join(one.message for one in found if one.message.startswith("copy: "))

    assert "10 measured variants" in told("SCALE=2", "SIZE=64")
    assert "since variants" not in told("SCALE=2", "SIZE=64")
    assert "since variants" not in told("SCALE=2", "TILE=8", "BLOCK=64")
    assert USES_EDITED in told("SCALE=3", "TILE=8")


@pytest.mark.slow
def test_an_edit_is_seen_of_a_kernel_that_stands_in_a_header(kernel: Path):
    header = kernel.with_name("copy.h")
    body, _, host = SOURCE.partition("void run(")
    header.write_text(body.replace("__global__ void other", "void other"))
    kernel.write_text(
        '#define MORE 1\n#include "copy.h"\nvoid run(' + host.replace("other<<<4096, 256>>>(x);", "")
    )
    header.write_text(header.read_text().replace("= s[i]", "= MORE * s[i]"))
    assert train(kernel, measured_table(kernel), *LAUNCH) == 0
    assert figures(kernel).basis.variants == 10
    assert "edited" not in told_of_copy(kernel)
    kernel.write_text(kernel.read_text().replace("MORE 1", "MORE 2"))
    assert USES_EDITED in told_of_copy(kernel)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"data": ("zeros",)}, "since variants were measured, arrays held other values (live)"),
        ({"launch": ("copy=2:64",)}, "it does more or less each second than any of the measured variants"),
    ],
)
def test_what_is_far_from_all_that_was_measured_has_no_narrow_interval(
    kernel: Path, options: dict[str, Any], told: str
):
    plain = figures(kernel, **options)
    teach(kernel)
    after = figures(kernel, **options)
    assert after.basis.variants == 10
    assert after.power.high_w / after.power_w == pytest.approx(plain.power.high_w / plain.power_w)
    notes = " ".join(one.message for one in analyze([kernel], gpu="v100", **options).diagnostics)
    assert f"copy: {told}" in notes


def test_what_variants_taught_and_cannot_be_read_is_told(kernel: Path, tmp_path: Path):
    plain = figures(kernel)
    teach(kernel)
    (kept,) = user_models().glob("v100/variants/*.json")
    kept.write_text('{"schema_version": 1, "variants": {}}')
    assert figures(kernel).power_w == plain.power_w
    assert "what measured variants taught is not used: " in told_of_copy(kernel)


@pytest.mark.parametrize(
    ("header", "row", "told"),
    [
        ("TILE,BLOCK,WIDTH,power_w", "4,256,3,110", ":2: column WIDTH: neither --launch nor a source of"),
        ("TILE,BLOCK,watts,time_s", "4,256,110,1e-3", ":2: column watts: neither"),
        ("TILE,BLOCK,TILE,power_w", "4,256,4,110", ":2: two columns 'TILE' (keep one)"),
        ("TILE,BLOCK,,power_w", "4,256,,110", ":2: column '' is no name of a macro"),
        ("TILE,BLOCK,power_w", "4,256,110,7", ":3: more cells than the 3 columns of the header"),
    ],
)
def test_a_column_that_is_no_macro_is_refused(kernel: Path, capsys, header: str, row: str, told: str):
    table = kernel.with_suffix(".csv")
    table.write_text(f"# mine\n{header}\n{row}\n")
    assert train(kernel, table, *LAUNCH) == 2
    assert f"{table}{told}" in capsys.readouterr().err


def test_a_macro_may_stand_in_a_header_or_in_the_launch_alone(kernel: Path):
    kernel.with_name("tile.h").write_text("#define SIDE TILE\n")
    source = '#include "tile.h"\n' + SOURCE.replace("TILE", "SIDE").replace(
        "#ifndef SIDE\n#define SIDE 4\n#endif\n", ""
    )
    kernel.write_text(source.partition("__global__ void other")[0].replace("BLOCK", "UNUSED"))
    launch = ("--launch", "copy=1024:BLOCK")
    table = kernel.with_suffix(".csv")
    table.write_text("TILE , BLOCK,power_w\n4,256,100\n8,128,100\n")
    assert train(kernel, table, *launch) == 0


def test_a_sweep_over_a_macro_that_nobody_mentions_tells_it(kernel: Path, capsys):
    assert main(["sweep", str(kernel), "--gpu", "v100", "--jobs", "1", "-D", "TYLE=1,2"]) == 0
    assert "TYLE: neither --launch nor a source of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("power_w", "told"),
    [
        (
            "19000",
            "19000 W: the Tesla V100 SXM2 16GB cannot draw more than some 600 W; are they milliwatts, 19 W?",
        ),
        ("5", "5 W: a Tesla V100 SXM2 16GB that runs a kernel cannot draw less than some 8 W"),
    ],
)
def test_watts_that_no_such_board_draws_are_refused(kernel: Path, capsys, power_w: str, told: str):
    table = measured_table(kernel)
    lines = table.read_text().splitlines()
    lines[3] = f"{lines[3].rsplit(',', 1)[0]},{power_w}"
    table.write_text("\n".join(lines) + "\n")
    assert train(kernel, table, *LAUNCH) == 2
    assert f"{table}:4: {told} (correct or remove this variant)" in capsys.readouterr().err


@pytest.mark.slow
def test_watts_far_from_the_predicted_ones_are_told(kernel: Path, capsys):
    table = measured_table(kernel)
    header, *rows = (line.rsplit(",", 1) for line in table.read_text().splitlines())
    less = [f"{start},{0.4 * float(power_w)}" for start, power_w in rows]
    table.write_text("\n".join([",".join(header), *less]) + "\n")
    assert train(kernel, table, *LAUNCH) == 0
    told = f"measured watts of {len(rows)} of {len(rows)} variants are far from the predicted ones"
    assert told in capsys.readouterr().out


@pytest.mark.slow
def test_seconds_of_another_unit_are_told(kernel: Path, capsys):
    table = measured_table(kernel)
    header, *rows = (line.split(",") for line in table.read_text().splitlines())
    longer = [",".join((tile, block, str(1e3 * float(time_s)), watts)) for tile, block, time_s, watts in rows]
    table.write_text("\n".join([",".join(header), *longer]) + "\n")
    assert train(kernel, table, *LAUNCH) == 0
    told = f"measured seconds of {len(rows)} of {len(rows)} variants are far from the predicted ones"
    assert told in capsys.readouterr().out


@pytest.mark.parametrize("options", [{"core_mhz": 1200.0}, {"model": "wavelet"}])
def test_predictions_of_another_kind_are_not_corrected(kernel: Path, options: dict[str, Any]):
    plain = figures(kernel, **options)
    teach(kernel)
    after = analyze([kernel], gpu="v100", **options)
    assert figures(kernel, **options).power_w == plain.power_w
    assert any("not used, train --variants again" in one.message for one in after.diagnostics)


def test_another_board_file_or_kernel_has_nothing_of_it(kernel: Path):
    teach(kernel)
    elsewhere = kernel.with_name("elsewhere.cu")
    elsewhere.write_text(SOURCE)
    assert [one.basis.variants for one in analyze([elsewhere], gpu="v100").kernels] == [None, None]
    assert [one.basis.variants for one in analyze([kernel], gpu="a100").kernels] == [None, None]
    assert sorted(str(one.basis.variants) for one in analyze([kernel], gpu="v100").kernels) == ["10", "None"]


@pytest.mark.slow
def test_nothing_beside_the_sources_is_looked_at(kernel: Path, tmp_path: Path):
    """What a repository holds cannot correct predictions: only the user's data folder counts."""
    beside = tmp_path / "v100"
    assert train(kernel, measured_table(kernel), *LAUNCH, "--out", str(beside)) == 0
    assert (beside / "variants" / "copy.cu.copy.json").is_file()
    assert figures(kernel).basis.variants is None


@pytest.mark.slow
def test_a_gate_compares_with_what_was_taught_on_both_sides(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    kernel.write_text(
        SOURCE.replace("other<<<4096, 256>>>(x);", "").replace("__global__ void other", "void other")
    )
    baseline, words = tmp_path / "watts.baseline", ("--gpu", "v100", "--no-cache")
    assert main(["gate", str(kernel), *words, "--update-baseline", "--baseline", str(baseline)]) == 0
    plain_w = figures(kernel).power_w
    assert train(kernel, measured_table(kernel), *LAUNCH) == 0
    assert main(["gate", str(kernel), *words, "--baseline", str(baseline)]) == 2  # other coefficients
    assert "coefficients" in capsys.readouterr().err
    budget = ("--max-power", str(0.95 * plain_w))
    assert main(["gate", str(kernel), *words, *budget]) == 0  # 0.9 of the plain watts
    assert main(["gate", str(kernel), *words, "--update-baseline", "--baseline", str(baseline)]) == 0
    assert main(["gate", str(kernel), *words, "--baseline", str(baseline)]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("name", "status"), [("copy", 1), ("renamed", 0)])
def test_a_gate_warns_only_where_one_side_is_corrected(
    kernel: Path, name: str, status: int, capsys: pytest.CaptureFixture[str]
):
    """The kernel reads a sector for each word; renamed, it is not the one that the board does so fast."""
    assert train(kernel, measured_table(kernel, -1.0), *LAUNCH) == 0
    git = ("git", "-C", str(kernel.parent), "-c", "user.name=a", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "copy.cu"), ("commit", "-q", "-m", "a")):
        subprocess.run([*git, *words], check=True)
    kernel.write_text(
        SOURCE.replace("copy", name).replace(
            "+ threadIdx.x];\n    __sync", "+ threadIdx.x * 32];\n    __sync"
        )
    )
    capsys.readouterr()
    assert main(["gate", str(kernel), "--gpu", "v100", "--no-cache", "--against", "HEAD"]) == status
    told = " ".join(capsys.readouterr().out.split())
    assert "energy +" in told
    assert ("not known alike" in told) == (name == "renamed")


@pytest.mark.slow
def test_a_cache_file_of_kernel_tuner_teaches_as_well(kernel: Path, capsys: pytest.CaptureFixture[str]):
    rows = plain_variants(kernel)[::5]
    entries = {
        f"{row['macros']['TILE']},{row['macros']['BLOCK']}": {
            **{name: int(value) for name, value in row["macros"].items()},
            "time": 1e3 * row["time_s"],
            "nvml_power": 1.2 * row["power_w"],
        }
        for row in rows
    }
    cache = kernel.with_name("cache.json")
    space = {"tune_params_keys": ["TILE", "BLOCK"], "tune_params": {"TILE": [1, 2, 4, 8], "BLOCK": [32]}}
    cache.write_text(json.dumps({"kernel_name": "copy", **space, "cache": entries}))
    before = figures(kernel)
    assert train(kernel, cache, *LAUNCH) == 0
    assert figures(kernel).power_w == pytest.approx(1.2 * before.power_w, rel=1e-6)
    capsys.readouterr()
    cache.write_text(cache.read_text().replace('"kernel_name": "copy"', '"kernel_name": "ns::paste<4>"'))
    assert train(kernel, cache, *LAUNCH) == 0
    assert "the cache is of ns::paste<4>, and variants launch copy: is it the same" in capsys.readouterr().out
    compressed = cache.with_name("cache.json.gz")
    compressed.write_bytes(gzip.compress(cache.read_bytes()))
    assert train(kernel, compressed, *LAUNCH) == 0
    compressed.write_bytes(compressed.read_bytes()[:-40])
    assert train(kernel, compressed, *LAUNCH) == 2
    assert "cache.json.gz: cannot be read: " in capsys.readouterr().err


def test_milliwatts_and_parameters_of_a_cache_that_nobody_mentions(kernel: Path, capsys):
    entries = {
        f"{tile},1": {"TILE": tile, "FOO": 1, "time": 0.1, "nvml_power": 120_000.0} for tile in (1, 2, 4, 8)
    }
    cache = kernel.with_name("cache.json")
    space = {"tune_params_keys": ["TILE", "FOO"], "tune_params": {"TILE": [1, 2, 4, 8], "FOO": [1]}}
    cache.write_text(json.dumps({"kernel_name": "copy", **space, "cache": entries}))
    assert train(kernel, cache, "--launch", "copy=4096/TILE:256") == 2
    assert "are they milliwatts, 120 W?" in capsys.readouterr().err
    cache.write_text(cache.read_text().replace("120000.0", "120.0"))
    assert train(kernel, cache, "--launch", "copy=4096/TILE:256") == 0
    assert "FOO: neither --launch nor a source of" in capsys.readouterr().out


@pytest.mark.slow
def test_predictions_are_no_measurements(kernel: Path, capsys: pytest.CaptureFixture[str]):
    cache = kernel.with_name("predicted.json")
    common = ("sweep", str(kernel), "--gpu", "v100", "--jobs", "1", *SPACE)
    assert main([*common, "--format", "kernel-tuner", "-o", str(cache)]) == 0
    assert train(kernel, cache, *LAUNCH) == 2
    assert main([*common, "--measured", str(cache)]) == 2
    assert capsys.readouterr().err.count("holds predictions of wattslice") == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--launch", "copy=4096/TILE:BLOCK", "--launch", "other=4096:256"), "one launch of one kernel"),
        (("--launch", "copy=4096/WIDTH:BLOCK"), "WIDTH"),
        ((*LAUNCH, "--data", "x.csv"), "has no --data"),
    ],
)
def test_what_cannot_teach_is_told(
    kernel: Path, words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
):
    table = measured_table(kernel)
    assert train(kernel, table, *words) == 2
    assert complaint in capsys.readouterr().err


def test_options_of_variants_need_variants(kernel: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["train", str(kernel), "--gpu", "v100", *LAUNCH]) == 2
    assert "without --variants there is no use for SOURCE, launches" in capsys.readouterr().err


@pytest.mark.slow
def test_a_launch_in_the_table_counts_before_all_others(kernel: Path):
    """The same is learnt as with --launch of the right grid, whatever the command line or the host say."""
    folder = kernel.with_name("kept")
    kept = folder / "variants" / "copy.cu.copy.json"
    table = measured_table(kernel)
    assert train(kernel, table, *LAUNCH, "--out", str(folder)) == 0
    wanted = json.loads(kept.read_text())["variants"]["taught"]
    header, *rows = table.read_text().splitlines()
    lines = [f"{header},launch,board,reason"]
    for row in rows:
        tile, block, *_ = map(float, row.split(","))
        lines.append(f'{row},"copy={4096 // int(tile)},1,1:{int(block)},1,1:0",NVIDIA RTX A4000,')
    lines.insert(3, "3,32,,,,NVIDIA RTX A4000,it does not build")
    table.write_text("\n".join(["\ufeff# one comment", *lines]) + "\n")
    for words in ((), ("--launch", "copy=7:96")):
        assert train(kernel, table, *words, "--out", str(folder)) == 0
        found = json.loads(kept.read_text())["variants"]
        assert found["taught"] == wanted
        assert found["board"] == "NVIDIA RTX A4000"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('4,32,1e-3,100,"copy=0:32"', ":4: --launch 'copy=0:32': '0' in the grid is no integer"),
        ("4,32,-1,100,", ":4: '-1' is no measurement"),
        ("4,,1e-3,100,", ":4: no column BLOCK, or nothing in it"),
    ],
)
def test_a_fault_of_a_table_names_its_line(
    kernel: Path, line: str, complaint: str, capsys: pytest.CaptureFixture[str]
):
    table = kernel.with_suffix(".csv")
    table.write_text(f"# where it comes from\nTILE,BLOCK,time_s,power_w,launch\n2,32,1e-3,100,\n{line}\n")
    assert train(kernel, table, *LAUNCH) == 2
    assert complaint in capsys.readouterr().err


def test_what_was_not_predicted_or_not_measured_is_counted(kernel: Path, capsys: pytest.CaptureFixture[str]):
    table = kernel.with_suffix(".csv")
    rows = ("1,64,1e-3,", "2,64,,20", "4,64,1e-3,20", "64,64,1e-3,20", "8,64,,")
    table.write_text("\n".join(("TILE,BLOCK,time_s,power_w", *rows)) + "\n")
    assert train(kernel, table, *LAUNCH) == 0
    told = capsys.readouterr()
    assert "seconds: 2 measured variants teach" in told.out
    assert "watts: 2 measured variants teach" in told.out
    assert "too few for an interval of their own" in told.out.split("watts:")[1]
    assert "too few" not in told.out.split("watts:")[0]
    assert "1 measured variants have no predicted figures and teach nothing: " in told.err
    assert f"{table}:5: TILE=64 BLOCK=64: cannot be launched: " in told.err
    table.write_text("TILE,BLOCK,power_w\n4,64,110\n")
    assert train(kernel, table, *LAUNCH) == 0
    assert "watts: 1 measured variant teaches nothing; they are missed by" in capsys.readouterr().out


@pytest.mark.slow
def test_nothing_is_taught_where_the_launch_is_a_guess(kernel: Path, capsys: pytest.CaptureFixture[str]):
    table = measured_table(kernel)
    kernel.write_text(SOURCE.partition("__global__ void other")[0])
    assert train(kernel, table) == 2
    assert (
        f"{table}:2: how copy is launched is not known with TILE=1 BLOCK=32 (correct its values, or say it "
        "with --launch 'copy=GRID:BLOCK'" in capsys.readouterr().err
    )
    assert train(kernel, table, *LAUNCH) == 0
