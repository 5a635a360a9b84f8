"""From a public table of measured kernels to the project's own tables of measured runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.errors import WattsliceError
from wattslice_corpora.records import (
    DataCard,
    DataSet,
    MeasuredRow,
    Recipes,
    Timed,
    read_recipes,
    recipes_path,
)
from wattslice_tools.public_sets.layouts import HOTSPOT, named_rows


class PublicSet(Struct, frozen=True):
    """A data set of the public table: its name there, and the GPU and key of its card here.

    `method`: the definition of the watts, in short. `window_s`: how long a kernel was repeated, when told.
    `every`: of so many lines of the table the first is taken.
    """

    table_name: str
    gpu_id: str
    key: str
    method: str
    window_s: float | None = None
    every: int = 1


_TOP_10 = "mean of the 10 highest samples"
_TOP_100 = "mean of the 100 highest samples"
_HIGHEST = "highest of 21 samples"
_HKBU = "HKBU NV-DVFS-Benchmark"

PUBLIC_SETS = (
    # The set says "V100" only; its clocks end at the PCIe board's 1380 MHz, its watts below the 250 W of it.
    PublicSet(f"{_HKBU} master:data/v100-dvfs-microbenchmark", "v100_pcie", "hkbu-micro", _TOP_10, 12.0),
    PublicSet(f"{_HKBU} master:data/v100-dvfs-real", "v100_pcie", "hkbu-real", _TOP_10, 12.0),
    PublicSet(
        f"{_HKBU} master:data/rtx8000-dvfs-microbenchmark", "quadro_rtx_8000", "hkbu-micro", _TOP_10, 12.0
    ),
    PublicSet(f"{_HKBU} master:data/rtx8000-dvfs-real", "quadro_rtx_8000", "hkbu-real", _TOP_10, 12.0),
    PublicSet(f"{_HKBU} wsl:csvs/raw/gtx1080ti-dvfs-real", "gtx_1080_ti", "hkbu-real", _TOP_100),
    PublicSet(f"{_HKBU} wsl:csvs/raw/gtx2070s-dvfs-real", "rtx_2070_super", "hkbu-real", _TOP_100, 10.0),
    *(
        PublicSet(
            f"{_HKBU} wsl:csvs/raw/gtx980-{name}-dvfs-real-small-workload", "gtx_980", key, _TOP_100, 15.0
        )
        for name, key in (("high", "hkbu-real-p2"), ("low", "hkbu-real-p5"))
    ),
    PublicSet(f"{_HKBU} wsl:csvs/raw/p100-dvfs-real", "p100_pcie", "hkbu-real", _TOP_100, 15.0),
    PublicSet(f"{_HKBU} wsl:csvs/raw/v100-dvfs-real", "v100_pcie", "hkbu-real-older", _TOP_100, 10.0),
    PublicSet(
        "hpc-ulisboa gpuPTXModel micro",
        "gtx_titan_x",
        "ulisboa-micro",
        "mean of the samples more than 7 W above idle",
    ),
    PublicSet("A100 40GB SXM4 (Alex, NHR@FAU)", "a100", "nhr-roofline", _HIGHEST, 2.1),
    PublicSet("A40 (Alex, NHR@FAU)", "a40", "nhr-roofline", _HIGHEST, 2.1),
    PublicSet("H200", "h200", "nhr-roofline", _HIGHEST, 2.1),
    PublicSet(HOTSPOT, "rtx_a4000", "kernel-tuner-hotspot", "energy over time of the runs", every=4),
)


def public_gpu_ids() -> tuple[str, ...]:
    """GPUs with a public data set."""
    return tuple(dict.fromkeys(public.gpu_id for public in PUBLIC_SETS))


def read_public_tables(paths: Sequence[Path], card: DataCard) -> tuple[MeasuredRow, ...]:
    """The rows of one GPU, those that the card calls invalid flagged.

    Raises `WattsliceError` when a table cannot be read or lacks a column, or none has rows of the GPU.
    """
    rows = tuple(row for path in paths for row in _rows(path, card))
    if not rows:
        names = ", ".join(str(path) for path in paths)
        raise WattsliceError(f"{names}: no table of rows measured on {card.gpu_id}")
    return rows


def _rows(path: Path, card: DataCard) -> Iterator[MeasuredRow]:
    known = {public.table_name: public for public in PUBLIC_SETS if public.gpu_id == card.gpu_id}
    recipes = {
        entry.key: read_recipes(recipes_path(entry.recipes)) for entry in card.datasets if entry.recipes
    }
    try:
        for number, found in enumerate(named_rows(path)):
            public = known.get(found.name)
            if public is not None and number % public.every == 0:
                yield _of_set(found.row, public, card.dataset(public.key), recipes.get(public.key))
    except (OSError, KeyError, ValueError) as error:
        raise WattsliceError(f"{path}: not a table of measured kernels ({error!r})") from None


def _of_set(row: MeasuredRow, public: PublicSet, dataset: DataSet, recipes: Recipes | None) -> MeasuredRow:
    """A row with what its data set tells of all."""
    recipe = recipes and recipes.find(row.benchmark, row.arguments)
    clocks = row.core_mhz, row.memory_mhz
    idle = (idle.power_w for idle in dataset.idle if (idle.core_mhz, idle.memory_mhz) == clocks)
    of_run = dataset.timed is Timed.RUN
    row = replace(
        row,
        dataset=public.key,
        input=recipe.input if recipe else "",
        time_s=None if of_run else row.time_s,
        idle_power_w=next(idle, None),
        window_s=row.time_s if of_run else public.window_s,
        method=public.method,
    )
    reasons = "; ".join(invalid.reason for invalid in dataset.invalid if invalid.hit(row))
    return replace(row, power_valid=False, reason=reasons) if reasons else row
