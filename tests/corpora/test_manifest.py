import re
from math import prod
from pathlib import Path

import pytest

from wattslice_corpora.manifest import (
    KERNEL_DIRECTORY,
    BranchClass,
    CorpusKernel,
    ManifestError,
    load_manifest,
)

# Rows of Wang & Chen 2013, Tables 2 and 3, in print order.
TABLE_2 = ("Dotp", "Madd", "Dmadd", "Mtrans", "scalarProd", "fwtBatch1", "scan", "256histogram")
TABLE_3 = ("DCT", "cugrep", "binomialOptions", "BlackScholes", "cuH264")

PROGRAMS = load_manifest()
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def test_one_program_for_every_row_of_the_paper():
    assert tuple(p.paper_name for p in PROGRAMS if p.paper_table == 2) == TABLE_2
    assert tuple(p.paper_name for p in PROGRAMS if p.paper_table == 3) == TABLE_3
    assert all((p.branch_class is BranchClass.SPARSE) == (p.paper_table == 2) for p in PROGRAMS)


def test_every_cuda_file_is_listed():
    assert {p.file for p in PROGRAMS} == set(KERNEL_DIRECTORY.glob("*.cu"))


@each_program
def test_kernels_are_those_of_the_source(program: CorpusKernel):
    source = program.file.read_text(encoding="utf-8")
    assert tuple(re.findall(r"__global__ void (\w+)\(", source)) == program.kernels
    assert re.findall(r"(\w+)<<<", source) == [launch.kernel for launch in program.launches]


@each_program
def test_sizes_are_the_arguments_of_main(program: CorpusKernel):
    source = program.file.read_text(encoding="utf-8")
    defaults = re.findall(r"atoi\(argv\[(\d)\]\) : ([\d <]+)", source)
    assert [int(position) for position, _ in defaults] == list(range(1, len(program.sizes) + 1))
    assert [_shift(value) for _, value in defaults] == [size.default for size in program.sizes]
    assert "// Usage: " + program.name + "".join(f" [{size.name}]" for size in program.sizes) in source


def _shift(text: str) -> int:
    base, _, shift = text.partition("<<")
    return int(base) << int(shift or 0)


@each_program
def test_launches_are_possible(program: CorpusKernel):
    for launch in program.launches:
        assert prod(launch.block) <= 1024
        assert launch.shared_bytes <= 48 * 1024
        used = max(axis for axis in range(3) if launch.grid[axis] * launch.block[axis] > 1) + 1
        assert launch.dimensions == used


GOOD = """
[[program]]
name = "a"
file = "a.cu"
description = "d"
paper_name = "A"
paper_table = 2
branch_class = "sparse"
kernels = ["k"]
sizes = [{ name = "n", default = 4 }]
[[program.launch]]
kernel = "k"
dimensions = 1
grid = [1, 1, 1]
block = [32, 1, 1]
shared_bytes = 0
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('file = "a.cu"', 'file = "b.cu"', "program 1: no such file"),
        ('"sparse"', '"sparce"', "must be one of sparse, dense"),
        ("paper_table = 2", "", "'paper_table' must be a int, found None"),
        ("default = 4", "default = true", "'default' must be a int"),
        ("grid = [1, 1, 1]", "grid = [1, 0, 1]", "launch 1: 'grid' must be three positive"),
        ('kernel = "k"', 'kernel = "other"', "not in the program's list"),
        ("[[program]]", "[[program", "not TOML"),
        ('kernels = ["k"]', "kernels = 3", "'kernels' must be a list"),
    ],
)
def test_a_bad_manifest_names_the_entry(tmp_path: Path, old: str, new: str, message: str):
    (tmp_path / "a.cu").touch()
    manifest = tmp_path / "manifest.toml"
    manifest.write_text(GOOD, encoding="utf-8")
    assert load_manifest(manifest)[0].launches[0].block == (32, 1, 1)
    manifest.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ManifestError, match=re.escape(message)):
        load_manifest(manifest)


def test_a_missing_manifest_and_a_name_used_twice(tmp_path: Path):
    manifest = tmp_path / "manifest.toml"
    with pytest.raises(ManifestError, match="cannot be read"):
        load_manifest(manifest)
    (tmp_path / "a.cu").touch()
    manifest.write_text(GOOD + GOOD, encoding="utf-8")
    with pytest.raises(ManifestError, match="used twice"):
        load_manifest(manifest)
