"""The features command on a repository of one kernel."""

import contextlib
import subprocess
from typing import Any

import pytest
from msgspec.structs import replace

from wattslice_corpora.records import MeasuredRow, read_slices, read_workloads, write_table
from wattslice_tools.public_sets.features_command import main

KERNEL = """
__global__ void axpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
RECIPES = """
repository = "https://example.org/kernels"
include = []

[[benchmark]]
name = "axpy"
file = "src/axpy.cu"
launch = [{ grid = [1000, 1, 1], block = [256, 1, 1], repeat = 2, set = { n = "n" } }]

[[without_recipe]]
names = ["secret"]
reason = "its source is not public"
"""


def git(folder, *arguments):
    identity = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path):
    """A checkout in `kernels`, its recipes, and the runs of three programs."""
    source = tmp_path / "kernels" / "src" / "axpy.cu"
    source.parent.mkdir(parents=True)
    source.write_text(KERNEL)
    git(tmp_path / "kernels", "init", "--quiet")
    git(tmp_path / "kernels", "add", ".")
    git(tmp_path / "kernels", "commit", "--quiet", "-m", "a kernel")
    (tmp_path / "recipes.toml").write_text(RECIPES)
    cells: Any = dict.fromkeys(MeasuredRow.__struct_fields__)
    cells.update(
        dataset="own",
        benchmark="axpy",
        kernel="axpy",
        arguments="-n=256000",
        input="",
        method="a meter",
        reason="",
    )
    cells.update(core_mhz=1000.0, memory_mhz=800.0, power_w=100.0, power_valid=True)
    row = MeasuredRow(**cells)
    rows = (row, replace(row, core_mhz=500.0), replace(row, benchmark="secret"))
    write_table(tmp_path / "runs.csv", (), MeasuredRow, rows)
    return tmp_path


def run(project, *more):
    """Runs the command in the project's folder, with an option more or (empty) less than the usual."""
    options = {"--sources": "kernels", "--recipes": "recipes.toml", "--gpu": "v100", "--runs": "runs.csv"}
    options.update(zip(more[::2], more[1::2], strict=True))
    with contextlib.chdir(project):
        return main([*(word for pair in options.items() if pair[1] for word in pair)])


def test_a_checkout_becomes_a_table_of_features(project, capsys):
    assert run(project, "-o", "features.csv") == 0
    (row,) = read_workloads(project / "features.csv")
    assert (row.benchmark, row.launched_kernel, row.repeat, row.blocks) == ("axpy", "axpy", 2, 1000)
    assert (row.fp32, row.l1_bytes, row.path) == (1.0, 12.0, "src/axpy.cu")
    text = (project / "features.csv").read_text()
    (branch,) = (project / "kernels" / ".git" / "refs" / "heads").iterdir()
    commit = branch.read_text().strip()
    assert f"# source: https://example.org/kernels at {commit}\n" in text
    assert "without features: secret axpy -n=256000: its source is not public" in text
    assert "wattslice: without features: secret axpy" in capsys.readouterr().err
    assert run(project) == 0
    assert capsys.readouterr().out == text


def test_changes_since_the_commit_are_told(project, capsys):
    (project / "kernels" / "src" / "axpy.cu").write_text(KERNEL + "// changed\n")
    assert run(project) == 0
    assert ", but changed: src/axpy.cu" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value", "complaint"),
    [
        ("--sources", "nowhere", "is no folder (clone the repository"),
        (
            "--sources",
            ".",
            "holds no source file of the recipes recipes.toml (clone https://example.org/kernels)",
        ),
        ("--recipes", "unheard", "no recipes 'unheard' (a file, or one of gpu_benches, gpu_ptx_model, "),
        ("--recipes", "", "holds no source file of any recipe (clone one of https://"),
        ("--recipes", "nv_dvfs_benchmark", "(clone https://github.com/blackjack2015/NV-DVFS-Benchmark)"),
        ("--gpu", "", "not measured on one GPU but on 0 (--gpu and --runs say which)"),
        ("--gpu", "riva128", "riva128"),
        ("--runs", "", "no measured runs of the recipes recipes.toml on 'v100' (give them with --runs)"),
        ("--runs", "missing.csv", "missing.csv: cannot be read: No such file"),
        ("--runs", "recipes.toml", "recipes.toml:1: columns must be dataset,"),
    ],
)
def test_what_is_wrong_is_told_with_its_remedy(project, capsys, option, value, complaint):
    assert run(project, option, value) == 2
    assert complaint in capsys.readouterr().err


def test_a_folder_without_git_is_no_checkout(project, capsys):
    (project / "kernels" / ".git").rename(project / "git")
    assert run(project) == 2
    assert "is no git checkout (clone" in capsys.readouterr().err


def test_a_damaged_recipe_is_told(project, capsys):
    (project / "recipes.toml").write_text(RECIPES.replace("block =", "blok ="))
    assert run(project) == 2
    assert "recipes.toml: [[benchmark]] axpy: entry missing or malformed" in capsys.readouterr().err


def test_the_slices_are_a_table_of_their_own(project):
    with contextlib.chdir(project):
        words = ("--sources", "kernels", "--recipes", "recipes.toml", "--gpu", "v100")
        assert main([*words, "--runs", "runs.csv", "--slices", "-o", "slices.csv"]) == 0
    (row,) = read_slices(project / "slices.csv")
    assert (row.benchmark, row.launch, row.memory_space, row.sm_saturation) == ("axpy", 0, "global", 1.0)
    assert row.arithmetic_density is not None
    assert row.length == pytest.approx(row.code_lines * 1000 * 256 * 2)
