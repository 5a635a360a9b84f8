"""From a checkout of a public repository to the table of our features of its kernels."""

from __future__ import annotations

import subprocess
from pathlib import Path

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice_corpora.records import (
    MeasuredRow,
    Recipes,
    SliceRow,
    WorkloadRow,
    card_path,
    measured_gpu_ids,
    measurements_path,
    read_card,
    read_measurements,
    read_recipes,
    recipes_path,
    table_text,
)
from wattslice_models.gpu import Gpu
from wattslice_tools.public_sets.run_features import RunFeatures, run_features


class PublicFeatures(Struct, frozen=True):
    """Our features of the runs of one repository on one GPU, and the texts of their two tables."""

    features: RunFeatures
    workloads: str
    slices: str


def recipe_names() -> tuple[str, ...]:
    """The recipe files that data sets name."""
    cards = (read_card(card_path(gpu_id)) for gpu_id in measured_gpu_ids())
    return tuple(sorted({entry.recipes for card in cards for entry in card.datasets if entry.recipes}))


def find_recipes(sources: Path, wanted: str | None) -> Recipes:
    """The recipes called `wanted` (or in that file); without, those whose source files `sources` holds.

    Raises `WattsliceError` when there are none, and `RecordError` for a damaged file.
    """
    known = recipe_names()
    if wanted is None:
        for name in known:
            recipes = read_recipes(recipes_path(name))
            if _present(sources, recipes):
                return recipes
        repositories = ", ".join(read_recipes(recipes_path(name)).repository for name in known)
        raise WattsliceError(
            "holds no source file of any recipe", path=sources, remedy=f"clone one of {repositories}"
        )
    if wanted in known:
        recipes = read_recipes(recipes_path(wanted))
    elif Path(wanted).is_file():
        recipes = read_recipes(Path(wanted))
    else:
        remedy = f"a file, or one of {', '.join(known)}"
        raise WattsliceError(f"no recipes {wanted!r}", remedy=remedy)
    if not _present(sources, recipes):
        raise WattsliceError(
            f"holds no source file of the recipes {recipes.path.name}",
            path=sources,
            remedy=f"clone {recipes.repository}",
        )
    return recipes


def runs_of(recipes: Recipes, gpu_id: str) -> tuple[MeasuredRow, ...]:
    """The committed runs of one GPU whose data set names these recipes."""
    card = read_card(card_path(gpu_id))
    keys = {entry.key for entry in card.datasets if entry.recipes == recipes.path.stem}
    return tuple(row for row in read_measurements(measurements_path(gpu_id)) if row.dataset in keys)


def gpus_of(recipes: Recipes) -> tuple[str, ...]:
    """The GPUs with committed runs of these recipes."""
    return tuple(gpu_id for gpu_id in measured_gpu_ids() if runs_of(recipes, gpu_id))


def public_features(
    sources: Path, recipes: Recipes, measured: tuple[MeasuredRow, ...], gpu: Gpu
) -> PublicFeatures:
    """Analyses the kernels of all runs. Raises `WattsliceError` when `sources` is no git checkout."""
    state = checkout_state(sources, recipes)
    found = run_features(sources, recipes, measured, gpu)
    comments = (
        f"source: {recipes.repository} at {state}",
        *(f"without features: {', '.join(entry.runs)}: {entry.reason}" for entry in found.left_out),
    )
    of_launches = (
        f"features that wattslice found in public kernels, for {gpu.id}; counts and bytes per thread",
    )
    of_slices = (f"slices that wattslice found in public kernels, for {gpu.id}",)
    return PublicFeatures(
        found,
        table_text((*of_launches, *comments), WorkloadRow, found.rows),
        table_text((*of_slices, *comments), SliceRow, found.slices),
    )


def checkout_commit(sources: Path) -> str:
    """The commit a git checkout stands at. Raises `WattsliceError` when `sources` is none."""
    return _git(sources, "rev-parse", "HEAD")[0]


def checkout_state(sources: Path, recipes: Recipes) -> str:
    """The commit a git checkout stands at, and which source files of the recipes differ from it.

    Raises `WattsliceError` when `sources` is none.
    """
    commit = checkout_commit(sources)
    present = sorted({recipe.file for recipe in recipes.benchmarks if (sources / recipe.file).is_file()})
    # Hashes instead of `git diff`: that wants the committed contents, which a partial clone need not have.
    committed = {
        line.partition("\t")[2]: line.split()[2] for line in _git(sources, "ls-tree", "HEAD", "--", *present)
    }
    hashes = _git(sources, "hash-object", "--", *present)
    changed = [file for file, digest in zip(present, hashes, strict=True) if committed.get(file) != digest]
    return f"{commit}, but changed: {', '.join(changed)}" if changed else commit


def _git(folder: Path, *arguments: str) -> list[str]:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, check=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        raise WattsliceError(
            "is no git checkout", path=folder, remedy="clone the repository of the recipes"
        ) from None
    return done.stdout.splitlines()


def _present(sources: Path, recipes: Recipes) -> bool:
    return any((sources / recipe.file).is_file() for recipe in recipes.benchmarks)
