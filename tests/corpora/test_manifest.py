import re
import tomllib
from math import prod
from pathlib import Path

import pytest

from wattslice_corpora.manifest import (
    KERNEL_DIRECTORY,
    BranchClass,
    CorpusKernel,
    ManifestError,
    RunSize,
    Variant,
    VariantRole,
    load_manifest,
    read_manifest,
)
from wattslice_corpora.manifest_page import corpus_page, main

# Rows of Wang & Chen 2013, Tables 2 and 3, in print order.
TABLE_2 = ("Dotp", "Madd", "Dmadd", "Mtrans", "scalarProd", "fwtBatch1", "scan", "256histogram")
TABLE_3 = ("DCT", "cugrep", "binomialOptions", "BlackScholes", "cuH264")

PROGRAMS = load_manifest()
each_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def test_one_program_for_every_row_of_the_paper():
    papers = [p.paper for p in PROGRAMS if p.paper is not None]
    assert tuple(paper.name for paper in papers if paper.table == 2) == TABLE_2
    assert tuple(paper.name for paper in papers if paper.table == 3) == TABLE_3
    assert all((paper.branch_class is BranchClass.SPARSE) == (paper.table == 2) for paper in papers)
    assert {p.family for p in PROGRAMS if p.paper is not None} == {"wang2013"}


def test_every_cuda_file_is_listed():
    assert {p.file for p in PROGRAMS} == set(KERNEL_DIRECTORY.rglob("*.cu"))


def test_every_pair_has_a_good_and_a_bad_member():
    roles: dict[str, set[VariantRole]] = {}
    for variant in (variant for program in PROGRAMS for variant in program.variants):
        roles.setdefault(variant.pair, set()).add(variant.role)
    assert {pair for pair, found in roles.items() if found != set(VariantRole)} == set()


@each_program
def test_kernels_are_those_of_the_source(program: CorpusKernel):
    source = program.file.read_text(encoding="utf-8")
    definitions = r"__global__ void (?:__launch_bounds__\(.*?\) )?(\w+)\("
    assert tuple(re.findall(definitions, source)) == program.kernels
    launched = re.findall(r"(\w+)(?:<[^;<>]*>)?<<<", source)
    assert set(launched) == set(program.kernels)
    assert list(dict.fromkeys(launched)) == list(dict.fromkeys(launch.kernel for launch in program.launches))


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
        used = max((axis for axis in range(3) if launch.grid[axis] * launch.block[axis] > 1), default=0) + 1
        assert launch.dimensions == used


GOOD = """
[[program]]
name = "a"
file = "a.cu"
description = "d"
kernels = ["k"]
sizes = [{ name = "n", default = 4 }]
runs = [{ size = "small", arguments = [2] }, { size = "large", arguments = [8] }]
repeatable = true
variant = { pair = "p", role = "good" }
[program.paper]
name = "A"
table = 2
branch_class = "sparse"
[[program.launch]]
kernel = "k"
dimensions = 1
grid = [1, 1, 1]
block = [32, 1, 1]
shared_bytes = 0
"""


def family(directory: Path, name: str, text: str) -> Path:
    manifest = directory / name / "manifest.toml"
    manifest.parent.mkdir(exist_ok=True)
    (manifest.parent / "a.cu").touch()
    manifest.write_text(text, encoding="utf-8")
    return directory


def test_what_a_manifest_says(tmp_path: Path):
    (program,) = read_manifest(family(tmp_path, "f", GOOD))
    assert (program.family, program.file) == ("f", tmp_path / "f" / "a.cu")
    assert [(run.size, run.arguments) for run in program.runs] == [
        (RunSize.SMALL, (2,)),
        (RunSize.LARGE, (8,)),
    ]
    assert program.launches[0].block == (32, 1, 1)
    assert program.variants == (Variant("p", VariantRole.GOOD, None),)
    assert program.repeatable
    consumed = GOOD.replace("repeatable = true", 'repeatable = false\nwhy_not = "sorts in place"')
    both = consumed.replace(
        'variant = { pair = "p", role = "good" }',
        'variant = [{ pair = "p", role = "good", kernel = "k" }, { pair = "p", role = "bad", kernel = "k" }]',
    )
    (program,) = read_manifest(family(tmp_path, "f", both))
    assert (program.repeatable, program.why_not_repeatable) == (False, "sorts in place")
    assert [(variant.role, variant.kernel) for variant in program.variants] == [
        (VariantRole.GOOD, "k"),
        (VariantRole.BAD, "k"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('file = "a.cu"', 'file = "b.cu"', "program 1: no such file"),
        ('"sparse"', '"sparce"', "program 1, paper: 'branch_class' must be one of sparse, dense"),
        ("table = 2", "", "'table' must be a int, found None"),
        ("default = 4", "default = true", "'default' must be a int"),
        ("grid = [1, 1, 1]", "grid = [1, 0, 1]", "launch 1: 'grid' must be three positive"),
        ("grid = [1, 1, 1]", "grid = [1, 1.5, 1]", "launch 1: 'grid' must be whole numbers"),
        ('kernel = "k"', 'kernel = "other"', "not in the program's list"),
        ("[[program]]", "[[program", "not TOML"),
        ('kernels = ["k"]', "kernels = 3", "'kernels' must be a list"),
        ('"large"', '"huge"', "runs: 'size' must be one of small, medium, large"),
        ('"large"', '"small"', "of different sizes, from small to large"),
        ("arguments = [8]", "arguments = [8, 9]", "the large run must give all 1 of 'sizes'"),
        ("repeatable = true", "repeatable = 1", "'repeatable' must be true or false"),
        ("repeatable = true", "repeatable = false", "'why_not' must be a str, found None"),
        (
            "repeatable = true",
            'repeatable = true\nwhy_not = "w"',
            "only for a program that is not repeatable",
        ),
        ('role = "good"', 'role = "fair"', "variant: 'role' must be one of good, bad"),
        ('role = "good"', 'role = "good", kernel = "other"', "variant: kernel 'other' is not in"),
    ],
)
def test_a_bad_manifest_names_the_entry(tmp_path: Path, old: str, new: str, message: str):
    with pytest.raises(ManifestError, match=re.escape(message)):
        read_manifest(family(tmp_path, "f", GOOD.replace(old, new, 1)))


def test_no_manifest_an_unreadable_one_and_a_name_used_twice(tmp_path: Path):
    with pytest.raises(ManifestError, match="no family"):
        read_manifest(tmp_path)
    (tmp_path / "f" / "manifest.toml").mkdir(parents=True)
    with pytest.raises(ManifestError, match="cannot be read"):
        read_manifest(tmp_path)
    (tmp_path / "f" / "manifest.toml").rmdir()
    family(tmp_path, "f", GOOD)
    with pytest.raises(
        ManifestError, match=r"g: program name 'a' is used twice, also in .*f; names must differ"
    ):
        read_manifest(family(tmp_path, "g", GOOD))


def test_the_page_of_the_corpus_is_up_to_date():
    path = Path(__file__).parents[2] / "docs" / "appendix" / "corpus.md"
    text = path.read_text(encoding="utf-8")
    command = "python -m wattslice_corpora.manifest_page docs/appendix/corpus.md"
    assert text == corpus_page(PROGRAMS), f"run `{command}`"
    for target in re.findall(r"\]\((\S+)\)", text):
        assert (path.parent / target).is_file(), target
    for key in tomllib.loads(GOOD)["program"][0]:
        assert f"`{key}`" in text


def test_the_page_is_written_or_the_fault_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "corpus.md"
    assert main([str(path)]) == 0
    assert path.read_text(encoding="utf-8") == corpus_page(PROGRAMS)
    assert main([]) == 2
    assert main([str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
