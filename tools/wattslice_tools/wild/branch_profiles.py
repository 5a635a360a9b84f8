"""Branch profiles for the scripts of this folder, made on the spot from committed data specs.

The spec of `X.cu` is `X.data.toml` beside it (our corpus) or in `tools/wattslice_tools/wild/profiles`,
under the path that
the source has in its checkout: `profiles/gpu-rodinia/cuda/bfs/bfs.data.toml` is for
`gpu-rodinia/cuda/bfs/bfs.cu`. Those of measured programs lie beside their measurements, called as the
benchmark.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from wattslice.branch_profile.making import make_profile
from wattslice.branch_profile.profile import LOOP, Making
from wattslice.config.config import BranchProfile, Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.frontend.parse_options import ParseOptions
from wattslice.profiling.data_sets.spec import read_spec
from wattslice.profiling.interpreted import counted_by, run_data_sets
from wattslice.profiling.interpreter.errors import MAX_STEPS
from wattslice.profiling.interpreter.launch import Allowance
from wattslice_corpora.records import BenchmarkRecipe, Recipes

PUBLIC = Path(__file__).with_name("profiles")
ALLOWANCE = Allowance(MAX_STEPS, 1024 << 20)


def spec_of(source: Path) -> Path | None:
    """The data spec for a source of our corpus or of a public checkout; None without one."""
    beside = source.with_suffix(".data.toml")
    if beside.is_file():
        return beside
    parts = source.resolve().with_suffix(".data.toml").parts
    specs = (PUBLIC.joinpath(*parts[start:]) for start in range(1, len(parts) - 1))
    return next((spec for spec in specs if spec.is_file()), None)


@lru_cache(maxsize=64)
def profile_of(source: Path) -> BranchProfile | None:
    """The profile of a source with a spec, all kernels on all data sets; None without a spec."""
    spec = spec_of(source)
    return None if spec is None else _made(source, spec, Config((source,), GpuChoice("v100")))


def measured_profile(sources: Path, recipes: Recipes, recipe: BenchmarkRecipe) -> BranchProfile | None:
    """The profile of a measured program, read as its recipe says; None without a spec."""
    spec = recipes.path.parent / "profiles" / f"{recipe.name}.data.toml"
    if not spec.is_file():
        return None
    source = sources / recipe.file
    folders = tuple(sources / folder for folder in recipes.include)
    return _made(
        source,
        spec,
        Config(
            (source,), GpuChoice("v100"), parse=ParseOptions(include_dirs=folders, defines=recipe.defines)
        ),
    )


def only_loops(profile: BranchProfile) -> BranchProfile:
    """The same without its arms: what it says of trip counts alone."""
    return replace(profile, arms=tuple(entry for entry in profile.arms if entry.arm == LOOP))


def _made(source: Path, spec: Path, config: Config) -> BranchProfile:
    runs = tuple(run_data_sets(source, config, read_spec(spec), None, ALLOWANCE))
    return make_profile(counted_by(runs), Making.INTERPRETER, "")
