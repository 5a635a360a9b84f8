"""The catalogue of GPUs as a table."""

from __future__ import annotations

from typing import TextIO

from rich.table import Table
from rich.text import Text

from wattslice.report.json_values import Json, as_text, fields
from wattslice.report.terminal import COOL, make_console, print_stripped
from wattslice_models.energy import Case, EnergyModel
from wattslice_models.gpu import Gpu, gpus
from wattslice_models.regression import published_regressions
from wattslice_models.store import energy_model, trained_names

_CARRIED_OVER = "energy (carried over)"


def _models(gpu: Gpu) -> tuple[str, ...]:
    """The models that answer for a GPU, and whether its energy model is carried over from other boards."""
    published = any(model.gpu_id == gpu.id for model in published_regressions())
    trained = trained_names(gpu)
    names = ["regression"] if published or "regression" in trained else []
    names += ["wavelet"] if "wavelet" in trained else []
    energy = energy_model(gpu)
    if isinstance(energy, EnergyModel):
        names.append(_CARRIED_OVER if energy.case is Case.CARRIED_OVER else "energy")
    return tuple(names)


def write_catalogue(file: TextIO) -> None:
    """Print all GPUs, oldest compute capability first."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("id", style="bold cyan", no_wrap=True)
    table.add_column("name", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("generation", no_wrap=True)
    for heading in ("SMs", "MHz", "GB/s", "limit W"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("models", no_wrap=True)
    for gpu in gpus():
        models = _models(gpu)
        table.add_row(
            gpu.id,
            gpu.name,
            f"{gpu.architecture.name} {_capability(gpu)}",
            str(gpu.sm_count),
            f"{gpu.boost_clock_mhz:.0f}",
            f"{gpu.memory_bandwidth_bytes_per_s / 1e9:.0f}",
            "–" if gpu.power_limit_w is None else f"{gpu.power_limit_w:g}",
            Text(_models_in_short(models), style=COOL if models else "dim"),
        )
    note = Text(
        "* carried over from other boards, with wider intervals; +2: two more models (--format json)",
        style="dim",
    )
    print_stripped(make_console(file), table, Text(), note)


def catalogue_json() -> str:
    """The same as JSON; null is unknown. `models` names the power models that answer for the GPU."""
    entries: list[Json] = [
        {
            **fields(gpu, "id", "name"),
            "architecture": gpu.architecture.name,
            "compute_capability": _capability(gpu),
            **fields(gpu, "sm_count", "boost_clock_mhz", "memory_bandwidth_bytes_per_s"),
            **fields(gpu, "power_limit_w", "idle_power_w"),
            "models": list(_models(gpu)),
        }
        for gpu in gpus()
    ]
    return as_text({"schema_version": 1, "gpus": entries})


def _capability(gpu: Gpu) -> str:
    return ".".join(str(part) for part in gpu.compute_capability)


def _models_in_short(models: tuple[str, ...]) -> str:
    if not models:
        return "–"
    first = "energy*" if models[0] == _CARRIED_OVER else models[0]
    return first + (f" +{len(models) - 1}" if len(models) > 1 else "")
