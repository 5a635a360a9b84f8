"""The catalogue of GPUs as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from rich.table import Table
from rich.text import Text

from wattslice.report.terminal import COOL, make_console, print_stripped
from wattslice_models.energy import EnergyModel
from wattslice_models.gpu import Gpu, gpus
from wattslice_models.regression import published_regressions
from wattslice_models.store import energy_model, trained_names


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One GPU as the catalogue shows it; None is unknown. `models` names the power models it has."""

    id: str
    name: str
    architecture: str
    compute_capability: str
    sm_count: int
    boost_clock_mhz: float
    memory_bandwidth_bytes_per_s: float
    power_limit_w: float | None
    idle_power_w: float | None
    models: tuple[str, ...]


def catalogue_entries() -> tuple[CatalogueEntry, ...]:
    """All GPUs, oldest compute capability first."""
    return tuple(
        CatalogueEntry(
            id=gpu.id,
            name=gpu.name,
            architecture=gpu.architecture.name,
            compute_capability=".".join(str(part) for part in gpu.compute_capability),
            sm_count=gpu.sm_count,
            boost_clock_mhz=gpu.boost_clock_mhz,
            memory_bandwidth_bytes_per_s=gpu.memory_bandwidth_bytes_per_s,
            power_limit_w=gpu.power_limit_w,
            idle_power_w=gpu.idle_power_w,
            models=_models(gpu),
        )
        for gpu in gpus()
    )


def _models(gpu: Gpu) -> tuple[str, ...]:
    """The models that answer for a GPU; an energy model of another board names where it was measured."""
    published = any(model.gpu_id == gpu.id for model in published_regressions())
    trained = trained_names(gpu)
    names = ["regression"] if published or "regression" in trained else []
    names += ["wavelet"] if "wavelet" in trained else []
    energy = energy_model(gpu)
    if isinstance(energy, EnergyModel):
        names.append("energy" if energy.measured_on == gpu.id else f"energy (from {energy.measured_on})")
    return tuple(names)


def write_catalogue(entries: tuple[CatalogueEntry, ...], file: TextIO) -> None:
    """Print the table."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("id", style="bold cyan", no_wrap=True)
    table.add_column("name", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("generation", no_wrap=True)
    for heading in ("SMs", "MHz", "GB/s", "limit W"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("models", no_wrap=True)
    for entry in entries:
        table.add_row(
            entry.id,
            entry.name,
            f"{entry.architecture} {entry.compute_capability}",
            str(entry.sm_count),
            f"{entry.boost_clock_mhz:.0f}",
            f"{entry.memory_bandwidth_bytes_per_s / 1e9:.0f}",
            "–" if entry.power_limit_w is None else f"{entry.power_limit_w:g}",
            Text(_models_in_short(entry.models), style=COOL if entry.models else "dim"),
        )
    note = Text(
        "* carried over from another board, with wider intervals; +2: two more models (--format json)",
        style="dim",
    )
    print_stripped(make_console(file), table, Text(), note)


def _models_in_short(models: tuple[str, ...]) -> str:
    if not models:
        return "–"
    return _short(models[0]) + (f" +{len(models) - 1}" if len(models) > 1 else "")


def _short(model: str) -> str:
    return f"{model.partition(' (from ')[0]}*" if " (from " in model else model
