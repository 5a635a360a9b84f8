"""From a public table of measured kernels to the project's own tables of watts and seconds."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice_corpora.records import MeasuredRow, Recipes


@dataclass(frozen=True, slots=True)
class PublicSet:
    """The rows of one GPU in the public table, and the catalogue's id of the board they were measured on.

    `trains` False: a GPU without microbenchmarks, on which a transferred model is only tested.
    """

    table_gpu: str
    gpu_id: str
    trains: bool = True


PUBLIC_SETS = (
    # The set says "V100" only; its clocks end at the PCIe board's 1380 MHz, its watts below the 250 W of it.
    PublicSet("V100 (2022 set)", "v100_pcie"),
    PublicSet("Quadro RTX 8000", "quadro_rtx_8000"),
    PublicSet("GTX 1080 Ti", "gtx_1080_ti", trains=False),
)


def read_public_table(
    path: Path, public: PublicSet, recipes: Recipes
) -> tuple[tuple[MeasuredRow, ...], tuple[str, ...]]:
    """The rows of one GPU whose program has a recipe, and the comment lines that say where they come from.

    Raises `WattsliceError` when the table cannot be read or lacks a column or the GPU.
    """
    rows: list[MeasuredRow] = []
    datasets: dict[str, None] = {}
    definitions: dict[str, None] = {}
    known = {recipe.name for recipe in recipes.benchmarks}
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            for entry in csv.DictReader(stream):
                if entry["gpu"] != public.table_gpu or entry["benchmark"] not in known:
                    continue
                datasets[entry["dataset"]] = None
                definitions[entry["power_definition"]] = None
                rows.append(
                    MeasuredRow(
                        benchmark=entry["benchmark"],
                        kernel=entry["kernel"],
                        arguments=" ".join(entry["args"].split()),
                        core_mhz=float(entry["core_mhz"]),
                        memory_mhz=float(entry["mem_mhz"]),
                        time_s=float(entry["time_ms"]) * 1e-3,
                        power_w=float(entry["power_w"]),
                    )
                )
    except (OSError, KeyError, ValueError) as error:
        raise WattsliceError(f"{path}: not a table of measured kernels ({error!r})") from None
    if not rows:
        raise WattsliceError(f"{path}: no rows of {public.table_gpu!r} with a recipe")
    comments = (
        f"power and time of public kernels on {public.table_gpu!r}, taken for {public.gpu_id}",
        f"repository: {recipes.repository}",
        f"sets: {'; '.join(datasets)}",
        f"power_w: {'; '.join(definitions)}",
    )
    return tuple(rows), comments
