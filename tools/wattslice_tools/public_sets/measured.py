"""From a public table of measured kernels to the project's own tables of measured runs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.errors import WattsliceError
from wattslice_corpora.records import (
    DataCard,
    DataSet,
    Dim3,
    MeasuredRow,
    Timed,
    read_recipes,
    recipes_path,
)


class PublicSet(Struct, frozen=True):
    """A data set of the public table: its name there, and the GPU and key of its card here.

    `method`: the definition of the watts, in short. `window_s`: how long a kernel was repeated, when told.
    """

    table_name: str
    gpu_id: str
    key: str
    method: str
    window_s: float | None = None


_TOP_10 = "mean of the 10 highest samples"
_TOP_100 = "mean of the 100 highest samples"
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
        with path.open(encoding="utf-8", newline="") as stream:
            for entry in csv.DictReader(stream):
                public = known.get(entry["dataset"])
                if public:
                    row = _row(entry, public, card.dataset(public.key))
                    of_set = recipes.get(row.dataset)
                    recipe = of_set and of_set.find(row.benchmark, row.arguments)
                    yield replace(row, input=recipe.input) if recipe else row
    except (OSError, KeyError, ValueError) as error:
        raise WattsliceError(f"{path}: not a table of measured kernels ({error!r})") from None


def _row(entry: dict[str, str], public: PublicSet, dataset: DataSet) -> MeasuredRow:
    core_mhz, memory_mhz = float(entry["core_mhz"]), float(entry["mem_mhz"])
    time_s = float(entry["time_ms"]) * 1e-3
    idle = (
        idle.power_w for idle in dataset.idle if (idle.core_mhz, idle.memory_mhz) == (core_mhz, memory_mhz)
    )
    row = MeasuredRow(
        dataset=public.key,
        benchmark=entry["benchmark"],
        kernel=entry["kernel"],
        arguments=" ".join(entry["args"].split()),
        grid=_dim3(entry["grid"]),
        block=_dim3(entry["block"]),
        shared_bytes=None,
        input="",
        core_mhz=core_mhz,
        memory_mhz=memory_mhz,
        time_s=None if dataset.timed is Timed.RUN else time_s,
        power_w=float(entry["power_w"]),
        energy_j=None,
        idle_power_w=next(idle, None),
        memory_power_w=None,
        temperature_c=None,
        launches=None,
        window_s=time_s if dataset.timed is Timed.RUN else public.window_s,
        method=public.method,
        power_valid=True,
        capped=None,
        throttled=None,
        reason="",
    )
    reasons = "; ".join(invalid.reason for invalid in dataset.invalid if invalid.hit(row))
    return replace(row, power_valid=False, reason=reasons) if reasons else row


def _dim3(text: str) -> Dim3 | None:
    if not text:
        return None
    x, y, z = (int(part) for part in text.strip("()").split(","))
    return x, y, z
