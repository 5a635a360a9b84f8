"""`wattslice sweep`: the variants, what is told of each, and cache files of Kernel Tuner."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from wattslice.api import analyze
from wattslice.cli import main
from wattslice.errors import WattsliceError
from wattslice.launches.overrides import OverrideError
from wattslice.sweep.expressions import Expression, ExpressionError, NoValueError, whole_number
from wattslice.sweep.kernel_tuner import read_cache
from wattslice.sweep.run import Goal, Outcome, PredictedVariant, Sweep
from wattslice.sweep.score import score
from wattslice.sweep.space import LaunchTemplate, Macro, parse_definitions, variants

from .samples import there

SCHEMA = Path(__file__).parents[2] / "docs" / "schema" / "wattslice-sweep-1.schema.json"
TILED = """
#ifndef PAD
#define PAD 0
#endif
#if TILE == 3
#error "no three"
#endif
static_assert(TILE != 5, "no five");
__global__ void copy(const float *x, float *y) {
    __shared__ float s[TILE][1024 + PAD];
    for (int i = 0; i < TILE; i++) s[i][threadIdx.x] = x[(blockIdx.x * TILE + i) * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < TILE; i++)
        y[(blockIdx.x * TILE + i) * blockDim.x + threadIdx.x] = s[i][blockDim.x - 1 - threadIdx.x];
}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "copy.cu"
    path.write_text(TILED)
    return path


def swept(kernel: Path, *words: str) -> tuple[int, dict[str, Any]]:
    report = kernel.with_suffix(".json")
    common = ("--gpu", "v100", "--jobs", "1", "--launch", "copy=4096/TILE:BLOCK", "--format", "json")
    status = main(["sweep", str(kernel), *common, *words, "-o", str(report)])
    return status, json.loads(report.read_text())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("N/TILE", 7),
        ("-N/TILE", -7),  # C rounds towards zero
        ("ceil_div(N, TILE) + ceil_div(N, 8)", 8 + 15),
        ("min(N, 3) + max(TILE, 20)*2", 43),
        ("1 << TILE % 5", 2),
        ("TILE*2 <= 32 && N != 3", 1),
        ("not TILE == 16 or N % 2 == 1", 0),
        ("8 < TILE < 17", 1),
        ("8 < TILE < 16", 0),
        ("+N - -N", 240),
    ],
)
def test_expressions_have_the_values_of_c(text: str, value: int):
    assert Expression(text, "--where").value({"N": 120, "TILE": 16}) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "N.real",
        "N[0]",
        "lambda: 1",
        "2**N",
        "min(1,2,3)",
        "open('x')",
        "1.5",
        "",
        "N!",
        "(" * 5000,
    ],
)
def test_what_is_no_expression_is_refused_before_it_has_a_value(text: str):
    with pytest.raises(ExpressionError):
        Expression(text, "--where")


def test_unknown_names_and_values_that_do_not_exist():
    with pytest.raises(ExpressionError, match=r"TILEX.*known: TILE"):
        Expression("TILEX", "--where").value({"TILE": 4})
    with pytest.raises(NoValueError):
        Expression("1 / (TILE - 4)", "--where").value({"TILE": 4})


def test_macros_are_numbers_as_c_writes_them():
    assert [whole_number(text) for text in ("0x20", "64u", "(16)", "010", "-3L", "float4", "1.5", "")] == [
        *(32, 64, 16, 8, -3),
        *(None, None, None),
    ]


def test_a_comma_in_brackets_separates_no_values():
    macros, plain = parse_definitions(("T=1,2,2", "F(a,b)=a+b", "V={1,2}", "N=8", "USE", "Q=f(1,2),3"))
    assert macros == (Macro("T", ("1", "2")), Macro("Q", ("f(1,2)", "3")))
    assert plain == ("F(a,b)=a+b", "V={1,2}", "N=8", "USE")
    with pytest.raises(WattsliceError, match="two lists"):
        parse_definitions(("T=1,2", "T=3,4"))
    with pytest.raises(WattsliceError, match="empty value"):
        parse_definitions(("T=1,,2",))


def test_where_restricts_the_combinations():
    macros = (Macro("A", ("1", "2", "3")), Macro("B", ("0", "2")))
    found = variants(macros, (Expression("A/B >= 1", "--where"),), {})
    assert found == ((("A", "2"), ("B", "2")), (("A", "3"), ("B", "2")))  # A/0 holds for none
    with pytest.raises(WattsliceError, match="leaves no variant"):
        variants(macros, (Expression("A > 3", "--where"),), {})
    with pytest.raises(WattsliceError, match="at most"):
        variants(tuple(Macro(name, tuple(map(str, range(20)))) for name in "ABCD"), (), {})


def test_launches_follow_the_macros():
    template = LaunchTemplate("k=ceil_div(N,min(T,64)),2:T:T*4")
    found = template.launch({"N": 1000, "T": 32})
    assert (found.grid, found.block, found.dynamic_shared_bytes) == ((32, 2, 1), (32, 1, 1), 128)
    with pytest.raises(OverrideError, match="2048"):
        template.launch({"N": 1000, "T": 2048})
    with pytest.raises(WattsliceError):
        LaunchTemplate("k=1,2,3,4:1")


def test_a_variant_takes_what_an_analysis_of_it_alone_says(kernel: Path):
    status, found = swept(kernel, "-D", "TILE=2,4,8", "-D", "BLOCK=128,256")
    assert status == 0
    assert [one["macros"] for one in found["variants"]][:3] == [
        {"TILE": "2", "BLOCK": "128"},
        {"TILE": "2", "BLOCK": "256"},
        {"TILE": "4", "BLOCK": "128"},
    ]
    for one in found["variants"]:
        tile, block = int(one["macros"]["TILE"]), int(one["macros"]["BLOCK"])
        (alone,) = analyze(
            kernel,
            gpu="v100",
            define={"TILE": tile, "BLOCK": block},
            launch=f"copy={4096 // tile}:{block}",
            cache=False,
        ).kernels
        assert (one["time_s"], one["energy_j"]) == (alone.time_s, alone.energy_j)
        assert (
            one["launches"][0]["shared_bytes_per_block"]
            == there(alone.resources).shared_bytes_per_block
            == tile * 4096
        )


def test_a_macro_that_a_header_defines_again_has_no_figures_but_for_its_own_value(kernel: Path):
    (kernel.parent / "tile.h").write_text("\n#define TILE 4\n")
    kernel.write_text(f'#include "tile.h"\n{TILED}')
    _, found = swept(kernel, "-D", "TILE=2,4", "-D", "BLOCK=256")
    told = {one["macros"]["TILE"]: (one["outcome"], one["reason"]) for one in found["variants"]}
    again = "tile.h:2: -D TILE has no effect after this line, which defines it again"
    assert told == {"2": ("unknown", again), "4": ("predicted", None)}


def test_what_does_not_compile_or_fit_is_listed_with_its_reason(kernel: Path):
    status, found = swept(kernel, "-D", "TILE=2,3,5,16,4096", "-D", "BLOCK=256,2048")
    told = {tuple(one["macros"].values()): (one["outcome"], one["reason"]) for one in found["variants"]}
    assert status == 0
    assert len(told) == 10
    assert told["2", "256"] == ("predicted", None)
    assert told["3", "256"][0] == "does not compile"
    assert "copy.cu:6: " in told["3", "256"][1]
    assert "no three" in told["3", "256"][1]
    assert told["5", "256"][0] == "does not compile"
    assert "no five" in told["5", "256"][1]
    assert told["16", "256"][0] == "cannot be launched"
    assert "65536 bytes of static shared memory" in told["16", "256"][1]
    assert told["2", "2048"][0] == "cannot be launched"
    assert "'2048' in the block" in told["2", "2048"][1]
    assert [one["time_s"] for one in found["variants"] if one["outcome"] != "predicted"] == [None] * 9


def test_the_report_keeps_its_schema(kernel: Path):
    schema = json.loads(SCHEMA.read_text())
    _, found = swept(kernel, "-D", "TILE=2,3,16", "-D", "BLOCK=128,2048")
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(found)
    del found["variants"][0]["outcome"]
    assert not validator.is_valid(found)


def test_nothing_varies_is_an_error(kernel: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["sweep", str(kernel), "-D", "TILE=2"]) == 2
    assert "nothing varies" in capsys.readouterr().err
    assert main(["sweep", str(kernel), "-D", "TILE=2,4", "--launch", "kopy=1:1", "--jobs", "1"]) == 2
    assert "no kernel 'kopy'" in capsys.readouterr().err
    assert main(["sweep", str(kernel), "-D", "TILE=2,4", "--launch", "copy=N/TILE:32"]) == 2
    assert "needs a number N" in capsys.readouterr().err


def of(time_s: float, energy_j: float, name: str = "") -> PredictedVariant:
    return PredictedVariant((("V", name),), Outcome.PREDICTED, "", (), time_s, energy_j)


def test_the_front_holds_what_no_other_beats():
    every = (of(3.0, 1.0), of(1.0, 3.0), of(2.0, 3.0), of(2.0, 2.0), of(4.0, 1.0), of(1.0, 4.0))
    lost = PredictedVariant((("V", ""),), Outcome.UNKNOWN, "why")
    sweep = Sweep("v100", "V100", "option", "k.cu", (lost, *every))
    assert [(one.time_s, one.energy_j) for one in sweep.pareto()] == [(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]
    assert sweep.sorted_by(Goal.ENERGY)[0] == every[0]
    assert sweep.sorted_by(Goal.TIME)[-1] == lost
    assert every[3].power_w == 1.0
    twins = Sweep("v100", "V100", "option", "k.cu", (of(1.0, 1.0, "a"), of(1.0, 1.0, "b")))
    assert len(twins.pareto()) == 2


def test_the_score_by_hand():
    # Measured pairs over 10 % apart: all but (1.0, 1.05). The prediction turns (1.05, 2) round.
    found = score([1.0, 3.0, 2.0, 4.0], [1.0, 1.05, 2.0, 4.0])
    assert (found.variants, found.pairs) == (4, 5)
    assert found.sign_right == 4 / 5
    assert found.spearman == pytest.approx(0.8)
    assert found.best_slower == found.tenth_slower == 0.0
    assert score([2.0, 1.0], [1.0, 3.0]).best_slower == 2.0
    assert score([1.0, 1.0], [1.0, 3.0]).sign_right == 0.0  # a tie tells nothing


def cache_file(path: Path, *, is_closed: bool = True) -> Path:
    document = {
        "device_name": "Tesla V100",
        "kernel_name": "copy",
        "problem_size": [4096, 1],
        "tune_params_keys": ["TILE", "BLOCK"],
        "tune_params": {"TILE": [2, 4], "BLOCK": [128, 256]},
        "objective": "time",
        "cache": {
            "2,128": {"TILE": 2, "BLOCK": 128, "time": 0.004},
            "4,128": {"TILE": 4, "BLOCK": 128, "time": 0.008},
            "4,256": {"TILE": 4, "BLOCK": 256, "time": "RuntimeFailedConfig"},
        },
    }
    text = json.dumps(document)
    path.write_text(text if is_closed else text.removesuffix("}}") + ",")
    return path


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_cache_file_is_read(tmp_path: Path, *, is_closed: bool):
    found = read_cache(cache_file(tmp_path / "c.json", is_closed=is_closed))
    assert found.variants[1] == (("TILE", "4"), ("BLOCK", "128"))
    assert found.measured_s == (4e-6, 8e-6, None)
    assert (found.kernel, found.problem) == ("copy", (4096, 1))
    assert found.macros == (Macro("TILE", ("2", "4")), Macro("BLOCK", ("128", "256")))
    broken = tmp_path / "broken.json"
    broken.write_text('{"cache": 3}')
    with pytest.raises(WattsliceError, match="is no cache file"):
        read_cache(broken)


def test_measured_variants_are_predicted_and_compared(kernel: Path, tmp_path: Path):
    cache = cache_file(tmp_path / "c.json")
    status, found = swept(kernel, "--kernel-tuner", str(cache), "--where", "TILE*BLOCK<=512")
    assert status == 0
    assert [one["measured_time_s"] for one in found["variants"]] == [4e-6, 8e-6]
    assert found["measured"]["variants"] == 2
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))


def test_what_is_written_for_kernel_tuner_comes_back(kernel: Path, tmp_path: Path):
    output = tmp_path / "out.json"
    words = [
        "-D",
        "TILE=2,3,4",
        "-D",
        "BLOCK=128",
        "--launch",
        "copy=problem_size_x/TILE:BLOCK",
        "--gpu",
        "v100",
    ]
    more = ["--problem-size", "4096", "--format", "kernel-tuner", "-o", str(output), "--jobs", "1"]
    assert main(["sweep", str(kernel), *words, *more]) == 0
    document = json.loads(output.read_text())
    assert document["schema_version"] == "1.1.0"
    assert "predicted" in document["device_name"]
    assert document["cache"]["3"]["time"] == "CompilationFailedConfig"
    found = read_cache(output)
    assert found.problem == (4096,)
    _, told = swept(kernel, "-D", "TILE=2,3,4", "-D", "BLOCK=128")
    times = [one["time_s"] for one in told["variants"]]
    assert times[1] is None
    assert found.measured_s[1] is None
    assert found.measured_s[::2] == pytest.approx(tuple(times[::2]), rel=1e-12)


def test_the_table_lists_the_best_first(kernel: Path, capsys: pytest.CaptureFixture[str]):
    words = ["-D", "TILE=2,4,8,3", "-D", "BLOCK=128", "--launch", "copy=4096/TILE:BLOCK"]
    assert (
        main(["sweep", str(kernel), *words, "--best", "energy", "--jobs", "1", "--gpu", "v100", "--top", "2"])
        == 0
    )
    text = capsys.readouterr().out
    assert "4 variants, 3 predicted" in text
    assert "and 1 more" in text
    assert "TILE=3" in text.partition("Without figures")[2]


def test_two_pictures(kernel: Path, tmp_path: Path):
    pytest.importorskip("matplotlib")
    pictures = [tmp_path / "a.svg", tmp_path / "b.png"]
    words = [word for path in pictures for word in ("-o", str(path))]
    launch = ["-D", "TILE=2,4", "--launch", "copy=4096/TILE:128", "--jobs", "1"]
    assert main(["sweep", str(kernel), *launch, *words]) == 0
    assert pictures[0].read_text().startswith("<?xml")
    assert pictures[1].read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_several_processes_say_the_same(kernel: Path):
    words = ("-D", "TILE=1,2,4,8", "-D", "BLOCK=64,128,256")
    alone = swept(kernel, *words)[1]
    assert swept(kernel, *words, "--jobs", "2")[1] == alone
    amounts = sorted(one["time_s"] for one in alone["variants"])
    assert all(first <= second for first, second in pairwise(amounts))


SPACE = ("-D", "TILE=1,2,4,8", "-D", "BLOCK=32,64,128,256,512")


def measured_table(kernel: Path, rows: list[dict[str, Any]], power: float) -> Path:
    """As if the board took longer by a `power` of the tile, and drew a tenth less."""
    table = kernel.with_suffix(".csv")
    lines = ["TILE,BLOCK,time_ms,power_w,note"]
    for row in rows:
        tile, block = row["macros"]["TILE"], row["macros"]["BLOCK"]
        time_ms = row["time_s"] * 1e3 * int(tile) ** power
        lines.append(f"{tile},{block},{time_ms},{0.9 * row['power_w']},x")
    table.write_text("\n".join(lines) + "\n")
    return table


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The sweep that nothing was measured for."""
    path = tmp_path_factory.mktemp("plain") / "copy.cu"
    path.write_text(TILED)
    status, found = swept(path, *SPACE)
    assert (status, found["taught"]) == (0, None)
    return found


@pytest.mark.slow
def test_measured_variants_correct_the_others(kernel: Path, before: dict[str, Any]):
    table = measured_table(kernel, before["variants"][::2], 0.5)
    status, after = swept(kernel, "-D", "TILE=1,2,4,8", "-D", "BLOCK=64,256", "--measured", str(table))
    jsonschema.validate(after, json.loads(SCHEMA.read_text()))
    taught = after["taught"]
    assert (status, taught["variants"]) == (0, 10)
    assert taught["power"]["gate"] != "nothing"
    assert taught["power"]["held_out_errors"][taught["power"]["gate"]] < 0.02
    assert taught["time"]["gate"] == "a residual"
    missed: list[float] = []
    same = [row for row in before["variants"] if row["macros"]["BLOCK"] in ("64", "256")]
    for old, new in zip(same, after["variants"], strict=True):
        assert new["power_w"] == pytest.approx(0.9 * old["power_w"], rel=0.02)
        assert new["launches"][0]["energy_j"] == pytest.approx(new["energy_j"])
        assert new["launches"][0]["power_w"] == pytest.approx(new["power_w"])
        took_s = int(old["macros"]["TILE"]) ** 0.5 * old["time_s"]
        missed.append(abs(new["time_s"] / took_s - 1.0))
    assert sum(missed) / len(missed) < 0.1  # 0.43 without


def test_a_measured_variant_has_its_own_value_of_a_macro_that_the_sweep_fixes(kernel: Path):
    """PAD is 0 in the sweep; a measured variant whose PAD is too large does not fit, and teaches nothing."""
    table = kernel.with_suffix(".csv")
    table.write_text("TILE,PAD,time_s,power_w\n1,0,1e-5,100\n2,0,1e-5,100\n4,0,1e-5,100\n8,65536,1e-5,100\n")
    words = ("-D", "TILE=1,2,4,8", "-D", "PAD=0", "-D", "BLOCK=256", "--measured", str(table))
    assert swept(kernel, *words)[1]["taught"]["variants"] == 3


def test_a_cache_file_teaches_seconds_and_watts(kernel: Path):
    entries = {
        str(tile): {"TILE": tile, "BLOCK": 256, "time": 0.05, "nvml_power": 100.0 + tile}
        for tile in (1, 2, 4, 8)
    }
    cache = kernel.with_name("cache.json")
    cache.write_text(
        json.dumps(
            {
                "kernel_name": "copy",
                "tune_params_keys": ["TILE", "BLOCK"],
                "tune_params": {"TILE": [1, 2, 4, 8], "BLOCK": [256]},
                "cache": entries,
            }
        )
    )
    words = ("-D", "TILE=1,2,4,8", "-D", "BLOCK=256", "--measured", str(cache))
    taught = swept(kernel, *words)[1]["taught"]
    assert taught["variants"] == 4
    assert taught["time"] is not None
    assert taught["power"] is not None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("TILE,BLOCK\n1,32\n", "neither seconds nor watts"),
        ("TILE,time_s\n1,1e-5\n", "no column BLOCK"),
        ("TILE,BLOCK,time_s\n1,32,-1\n", "'-1' is no measurement"),
        ("TILE,BLOCK,time_s\n1,32,\n", "no variant with seconds or watts"),
        ("TILE,BLOCK,time_s\n5,32,1e-5\n", "no measured variant has figures"),
    ],
)
def test_what_teaches_nothing_is_told(
    kernel: Path, text: str, complaint: str, capsys: pytest.CaptureFixture[str]
):
    table = kernel.with_suffix(".csv")
    table.write_text(text)
    words = ("--gpu", "v100", "--jobs", "1", "--launch", "copy=4096/TILE:BLOCK", *SPACE)
    assert main(["sweep", str(kernel), *words, "--measured", str(table)]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.slow
def test_the_table_says_what_was_learnt(
    kernel: Path, before: dict[str, Any], capsys: pytest.CaptureFixture[str]
):
    table = measured_table(kernel, before["variants"][::2], 0.0)
    words = ("--gpu", "v100", "--jobs", "1", "--launch", "copy=4096/TILE:BLOCK", *SPACE)
    assert main(["sweep", str(kernel), *words, "--measured", str(table)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "watts: 10 measured variants teach a" in told
    assert "by 11.1% without" in told
    assert "seconds: 10 measured variants teach nothing; they are missed by 0.0%" in told
