"""Data specs of measured programs and of public kernels: they read, and each belongs to something."""

from pathlib import Path

import pytest

import wattslice_tools.wild
from wattslice.profiling.data_sets.spec import read_spec
from wattslice_corpora.records import read_recipes, recipes_path

MEASURED = recipes_path("nv_dvfs_benchmark").parent / "profiles"
PUBLIC = Path(wattslice_tools.wild.__file__).parent / "profiles"
SPECS = [*sorted(MEASURED.glob("*.toml")), *sorted(PUBLIC.rglob("*.toml"))]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_spec_reads_and_says_what_it_imitates(path: Path):
    assert read_spec(path).data
    assert path.read_text(encoding="utf-8").startswith("# ")


def test_a_spec_beside_measurements_is_called_as_its_program():
    recipes = read_recipes(recipes_path("nv_dvfs_benchmark"))
    kernels = {entry.name: {one.kernel for one in entry.launches} for entry in recipes.benchmarks}
    for path in MEASURED.glob("*.toml"):
        program = path.name.removesuffix(".data.toml")
        own = {data.kernel for data in read_spec(path).data} - {None}
        launched = kernels[program] - {None, ""}
        assert not launched or own <= launched, program
