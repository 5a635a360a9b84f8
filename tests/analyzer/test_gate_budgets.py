import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from wattslice.analysis import Suppression
from wattslice.commands.gate import gate
from wattslice.config.budgets import Budget
from wattslice.config.settings import read_settings
from wattslice.errors import WattsliceError
from wattslice.gate.verdict import UnknownPolicy, density, judge

from .samples import ANALYSIS, HOT, MATMUL, UNKNOWN

KNOWN = replace(ANALYSIS, kernels=(MATMUL, HOT), diagnostics=())


def messages(*budgets: Budget) -> list[str]:
    return [finding.message for finding in judge(KNOWN, budgets, UnknownPolicy.FAIL).findings]


def test_watts_joules_seconds_density_and_share_of_the_limit():
    assert messages(Budget(kernel="burn", max_power_w=200.0))[0].startswith("burn: 287.0 W (P(> ")
    assert "0.2199 J is over the budget of 0.2 J" in messages(Budget(kernel="burn", max_energy_j=0.2))[0]
    assert "is over the budget of 0.001 s" in messages(Budget(kernel="burn", max_time_s=1e-3))[0]
    time_s = HOT.time_s or 0.0
    tiny = messages(Budget(kernel="burn", max_time_s=1e-9))[0]
    assert f"{time_s:.4g} s is over the budget of 1e-09 s by {time_s - 1e-9:.4g} s" in tiny
    share = messages(Budget(kernel="burn", max_limit_share=0.9))
    assert "0.957 of the power limit, is over the budget of 0.9 by 0.057" in share[0]
    found = density(HOT)
    assert found == pytest.approx((512 + 1536 + 4) / (25 + 1024))
    assert "is under the budget of 2 operations" in messages(Budget(kernel="burn", min_density=2.0))[0]
    assert "is over the budget of 1 operations" in messages(Budget(kernel="burn", max_density=1.0))[0]
    assert messages(Budget(max_energy_j=0.2199, min_density=found, max_density=found)) == []


def test_each_of_several_budgets_holds_and_says_which_it_is():
    found = messages(
        Budget(max_power_w=250.0), Budget(kernel="bu*", max_power_w=200.0, label="budget 2: kernel bu*")
    )
    assert len(found) == 2
    assert found[1].endswith("(budget 2: kernel bu*)")


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("**", ["src/a/b.cu", "c.cu", "src/a.cuh"]),
        ("*.cu", ["src/a/b.cu", "c.cu"]),
        ("src/*.cu", []),
        ("src/**/*.cu", ["src/a/b.cu"]),
        ("src/**", ["src/a/b.cu", "src/a.cuh"]),
        ("./src/a.cu?", ["src/a.cuh"]),
        ("**/[ab].cu", ["src/a/b.cu"]),
        ("[!c].cu", ["src/a/b.cu"]),
        ("[[&\\^c].cu", ["c.cu"]),
    ],
)
def test_file_patterns(pattern: str, files: list[str], tmp_path: Path):
    budget = Budget(file=pattern, folder=tmp_path)
    known = ["src/a/b.cu", "c.cu", "src/a.cuh"]
    assert [file for file in known if budget.covers(str(tmp_path / file))] == files


@pytest.mark.parametrize("pattern", ["**", "*.cu", "src/*/x?y.cu", "src/**"])
def test_a_line_end_in_a_name_escapes_no_budget(pattern: str, tmp_path: Path):
    assert Budget(file=pattern, folder=tmp_path).covers(str(tmp_path / "src" / "a\nb" / "x\ny.cu"))


def test_kernel_patterns_match_plain_and_qualified_names():
    assert [
        Budget(kernel=p).holds_for(HOT.source.file, (HOT.name, HOT.source.qualified_name))
        for p in ("burn", "gpu::*", "b*<*", "matMul")
    ] == [True, True, False, False]


def test_an_unknown_figure_is_not_within_its_budget():
    unknown = replace(ANALYSIS, kernels=(UNKNOWN,))
    assert not judge(unknown, (Budget(max_energy_j=1.0),), UnknownPolicy.FAIL).passed
    assert judge(unknown, (Budget(kernel="other", max_energy_j=1.0),), UnknownPolicy.FAIL).passed
    no_access = replace(ANALYSIS, kernels=(replace(MATMUL, slices=()),), diagnostics=())
    found = judge(no_access, (Budget(min_density=1.0),), UnknownPolicy.FAIL).findings
    assert [(f.rule, f.message) for f in found] == [("PW022", "matMul: density unknown")]


def test_a_budget_that_holds_for_nothing_is_told_after_a_whole_run_only():
    lost = Budget(kernel="blurr*", max_power_w=1.0, label="budget 1: kernel blurr*")
    assert judge(KNOWN, (lost,), UnknownPolicy.FAIL).findings == ()
    (told,) = judge(KNOWN, (lost,), UnknownPolicy.FAIL, tell_unmatched=True).findings
    assert (told.rule, "budget 1: kernel blurr*" in told.message) == ("PW026", True)


def test_over_budget_is_suppressible_at_the_kernel_and_unused_ones_are_told():
    at_kernel = Suppression(
        HOT.source.file, HOT.source.line, HOT.source.line - 1, ("PW020",), "cooled with water"
    )
    analysis = replace(KNOWN, suppressions=(at_kernel,))
    verdict = judge(analysis, (Budget(max_power_w=200.0),), UnknownPolicy.FAIL)
    assert verdict.passed
    assert [finding.suppressed for finding in verdict.suppressed] == ["cooled with water"]
    unused = judge(analysis, (Budget(max_power_w=500.0),), UnknownPolicy.FAIL)
    assert [finding.rule for finding in unused.findings] == ["PW024"]
    assert unused.passed
    assert judge(analysis, (), UnknownPolicy.FAIL).findings == ()  # no budget, so nobody could be over it


def settings(folder: Path, text: str, name: str = "wattslice.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_budgets_of_the_settings(tmp_path: Path):
    text = '[gate]\nmax-energy = 2\ntolerance = "10%"\nfail-on = ["time"]\nbaseline = "w.txt"\n'
    text += (
        '[[gate.budget]]\nkernel = "blur*"\nfile = "src/**/*.cu"\nmax-power = 200\nmax-limit-share = 0.9\n'
    )
    found = read_settings(settings(tmp_path, text))
    assert found is not None
    (budget,) = found.gate_budgets
    assert (budget.kernel, budget.file, budget.max_power_w, budget.max_limit_share) == (
        "blur*", "src/**/*.cu", 200.0, 0.9,
    )  # fmt: skip
    assert budget.label == "budget 1: kernel blur*, file src/**/*.cu"
    assert (found.gate_max_energy_j, found.gate_baseline) == (2.0, tmp_path / "w.txt")
    assert (found.gate_tolerance, found.gate_fail_on) == ("10%", ("time",))
    under_tool = "[[tool.wattslice.gate.budget]]\nmax-power = 3\n"
    found = read_settings(settings(tmp_path, under_tool, "pyproject.toml"))
    assert found is not None
    assert found.gate_budgets[0].max_power_w == 3.0


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ('kernel = "a"', "gate.budget[0]: this budget bounds nothing"),
        ("max-powr = 3", "did you mean max-power?"),
        ("max-power = -3", "gate.budget[0].max-power: expected a number above 0"),
        ("max-power = 0", "expected a number above 0, found 0"),
        ('max-power = "3 W"', "expected a number, found"),
        ('file = "[z-a].cu"\nmax-power = 3', "gate.budget[0].file: '[z-a].cu': bad character range"),
        ('kernel = ""\nmax-power = 3', "gate.budget[0].kernel: expected a name"),
    ],
)
def test_impossible_budgets_are_named(entry: str, complaint: str, tmp_path: Path):
    path = settings(tmp_path, f"[[gate.budget]]\n{entry}\n")
    with pytest.raises(WattsliceError) as caught:
        read_settings(path)
    assert complaint in str(caught.value)


def test_the_command_uses_budgets_of_settings_and_options(tmp_path: Path):
    source = tmp_path / "a.cu"
    source.write_text(
        "__global__ void k(float *x) { x[blockIdx.x * 256 + threadIdx.x] += 1; }\n"
        "void go(float *x) { k<<<4096, 256>>>(x); }\n"
    )
    settings(
        tmp_path,
        '[[gate.budget]]\nkernel = "k"\nmax-power = 1\n[[gate.budget]]\nfile = "b.cu"\nmax-power = 1\n',
    )
    result = CliRunner().invoke(gate, ["--gpu", "v100", str(tmp_path)], standalone_mode=False)
    assert result.return_value == 1
    words = " ".join(result.stdout.split())
    assert "(budget 1: kernel k)" in words
    assert "gate.budget 2: file b.cu holds for no kernel" in words
    gcc = ["--gpu", "v100", "--max-energy", "1e-9", "--format", "gcc", str(source)]
    lines = CliRunner().invoke(gate, gcc, standalone_mode=False).stdout.splitlines()
    assert sum(line.endswith("[PW020]") for line in lines) == 2  # the settings' and the option's


IDLE_BY_ASSUMPTION = {
    "a guess that skips the work": "",
    "a program run without its options": "int main(int c, char **v) {\n"
    "    float *x; int n = 0; if (c > 1) n = atoi(v[1]); k<<<n / 256, 256>>>(x, n);\n}\n",
}


@pytest.mark.parametrize("host", IDLE_BY_ASSUMPTION.values(), ids=IDLE_BY_ASSUMPTION)
def test_a_launch_that_nobody_gives_never_passes_as_idle(host: str, tmp_path: Path):
    source = tmp_path / "a.cu"
    source.write_text(
        "__global__ void k(float *x, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    if (n > {'0' if host else '5000'}) while (n--) x[i] *= 2.0f;\n}}\n{host}"
    )
    words = ["--gpu", "v100", "--max-power", "100", "--format", "gcc", str(source)]
    result = CliRunner().invoke(gate, words, standalone_mode=False)
    assert result.return_value == 1
    assert re.search(rf": error: k: {r'[0-9.]+ W' if host else 'power unknown'}", result.stdout)
    known = ["--set", "k.n=0", "--launch", "k=64:256", *words]
    assert CliRunner().invoke(gate, known, standalone_mode=False).return_value == 0
