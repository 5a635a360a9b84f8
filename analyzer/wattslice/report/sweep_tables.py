"""What `wattslice sweep` prints: variants by seconds or joules, the best, and those without figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from rich.console import RenderableType
from rich.text import Text

from wattslice.analysis import KernelAnalysis, Resources
from wattslice.launches.launch import LaunchSource
from wattslice.report.data_words import data_words
from wattslice.report.json import about_run
from wattslice.report.json_values import Json, as_text, fields
from wattslice.report.terminal import (
    Column,
    fitting_table,
    make_console,
    print_stripped,
    section_title,
    texts,
)
from wattslice.report.text import head_of_gpu
from wattslice.sweep.run import Goal, Outcome, PredictedVariant, Sweep
from wattslice.sweep.score import TuningScore, score
from wattslice.units import energy, percent, power, printable, time
from wattslice_models.variant_residual import Taught, VariantResidual

_NOTHING = "–"
_MOST_FAILED = 12
"""Reasons that are printed; the JSON report has all."""
Measured = Sequence[float | None]
"""Seconds of the variants, in the order of the sweep; empty: none was measured."""


def write_sweep(sweep: Sweep, goal: Goal, measured: Measured, top: int, file: TextIO) -> None:
    """Write the tables to a file, pipe or terminal; `top` rows at most, 0: all."""
    console = make_console(file)
    print_stripped(console, *_parts(sweep, goal, measured, top, console.width))


def _parts(sweep: Sweep, goal: Goal, measured: Measured, top: int, width: int) -> Iterator[RenderableType]:
    predicted = [one for one in sweep.sorted_by(goal) if one.outcome is Outcome.PREDICTED]
    number = f"{len(sweep.variants)} variant{'s' * (len(sweep.variants) != 1)}"
    head = head_of_gpu(sweep.gpu_name, sweep.gpu_id, sweep.gpu_source)
    yield head.append(f"  ·  {number}, {len(predicted)} predicted", style="dim")
    seconds = {id(one): found for one, found in zip(sweep.variants, measured, strict=bool(measured))}
    if predicted:
        shown = predicted[: top or None]
        by = "seconds" if goal is Goal.TIME else "joules"
        yield from ("", section_title(f"Least {by} first", printable(sweep.file), width, "bold"))
        yield _table(shown, sweep, [seconds.get(id(one)) for one in shown] if measured else [], width)
        if len(shown) < len(predicted):
            yield Text(f"  and {len(predicted) - len(shown)} more: --top 0, or --format json", style="dim")
        yield Text("  *: no other variant has both fewer seconds and fewer joules", style="dim")
        yield from map(_remark, _remarks(sweep))
    if found := measured_score(sweep, measured):
        yield from ("", section_title("Against the measured times", "", width, "bold"), *_told(found))
    if failed := [one for one in sweep.variants if one.outcome is not Outcome.PREDICTED]:
        yield from ("", section_title("Without figures", "", width, "bold"), *_failed(failed))


def _remark(words: str) -> Text:
    return Text(f"  {words}", style="dim")


def _remarks(sweep: Sweep) -> Iterator[str]:
    for taught in sweep.taught:
        yield from taught.told
    launches = [launch for variant in sweep.variants for launch in variant.launches]
    yield data_words(launches)
    assumed = (one.name for one in launches if one.launch.source is LaunchSource.ASSUMED)
    for name in dict.fromkeys(assumed):
        yield f"the launch of {printable(name)} is assumed: give --launch, or --kernel for others"
    if len(kernels := dict.fromkeys(launch.name for launch in launches)) > 1:
        yield f"sums over one launch each of {', '.join(map(printable, kernels))}"


def _table(shown: Sequence[PredictedVariant], sweep: Sweep, measured: Measured, width: int) -> RenderableType:
    best = {id(one) for one in sweep.pareto()}
    first = shown[0]

    def column(heading: str, cell: Callable[[PredictedVariant], str], give_up: int = 0) -> Column:
        return Column(heading, texts(map(cell, shown)), right=True, give_up=give_up)

    def of_launch(tell: Callable[[KernelAnalysis], str]) -> Callable[[PredictedVariant], str]:
        return lambda one: tell(one.launches[0]) if len(one.launches) == 1 else _NOTHING

    def of_resources(tell: Callable[[Resources], str]) -> Callable[[PredictedVariant], str]:
        return of_launch(lambda one: _NOTHING if one.resources is None else tell(one.resources))

    macros = [
        Column(printable(name), texts(printable(one.macros[place][1]) for one in shown), right=True)
        for place, (name, _) in enumerate(first.macros)
        if len({one.macros[place][1] for one in sweep.variants}) > 1
    ]
    times = [Column("measured", texts(map(time, measured)), right=True)] if measured else []
    columns = (
        Column(" ", texts(" *" if id(one) in best else "" for one in shown)),
        *macros,
        column("time", lambda one: time(one.time_s)),
        *times,
        column("energy", lambda one: energy(one.energy_j)),
        column("power", lambda one: power(one.power_w), give_up=1),
        column("occupancy", of_resources(lambda one: percent(one.occupancy)), give_up=3),
        column("registers", of_resources(lambda one: str(one.registers_per_thread)), give_up=4),
        Column(
            "limited by",
            texts(of_launch(lambda one: one.limited_by or _NOTHING)(one) for one in shown),
            give_up=2,
        ),
    )
    return fitting_table(columns, width)


def _told(found: TuningScore) -> Iterator[Text]:
    rank = _NOTHING if found.spearman is None else f"{found.spearman:.2f}"
    yield _remark(f"{found.variants} variants with both; rank correlation (Spearman) {rank}")
    yield _remark(
        f"of {found.pairs} pairs more than 10 % apart {percent(found.sign_right)} are in the right order"
    )
    yield _remark(f"the best predicted takes {percent(found.best_slower)} longer than the fastest measured,")
    yield _remark(f"the best of the predicted tenth {percent(found.tenth_slower)}")


def _failed(failed: Sequence[PredictedVariant]) -> Iterator[Text]:
    for one in failed[:_MOST_FAILED]:
        macros = " ".join(f"{name}={value}" for name, value in one.macros)
        yield Text(f"  {printable(macros)}: {one.outcome.value}: {printable(one.reason)}")
    if len(failed) > _MOST_FAILED:
        yield _remark(f"and {len(failed) - _MOST_FAILED} more: --format json")


def measured_score(sweep: Sweep, measured: Measured) -> TuningScore | None:
    """Of the variants with predicted and measured seconds; None where there are none."""
    both = [
        (one.time_s, found)
        for one, found in zip(sweep.variants, measured, strict=bool(measured))
        if one.time_s is not None and found is not None
    ]
    return score([p for p, _ in both], [m for _, m in both]) if both else None


def render_sweep(sweep: Sweep, goal: Goal, measured: Measured) -> str:
    """One JSON object, docs/schema/wattslice-sweep-1.schema.json."""
    places = {id(one): place for place, one in enumerate(sweep.variants)}
    best = next((one for one in sweep.sorted_by(goal) if one.outcome is Outcome.PREDICTED), None)
    found = measured_score(sweep, measured)
    names = ("variants", "spearman", "pairs", "sign_right", "best_slower", "tenth_slower", "median_error")
    document: dict[str, Json] = {
        **about_run(sweep.gpu_id, sweep.gpu_name, sweep.gpu_source),
        "file": sweep.file,
        "goal": goal.value,
        "best": None if best is None else places[id(best)],
        "pareto": [places[id(one)] for one in sweep.pareto()],
        "measured": None if found is None else fields(found, *names),
        "taught": _taught(sweep.taught[0]) if sweep.taught else None,
        "variants": [
            _variant(one, measured[place] if measured else None) for place, one in enumerate(sweep.variants)
        ],
    }
    return as_text(document)


def _taught(taught: Taught) -> dict[str, Json]:
    def told(residual: VariantResidual | None) -> dict[str, Json] | None:
        if residual is None:
            return None
        errors: dict[str, Json] = {gate.value: error for gate, error in residual.errors}
        return {"gate": residual.gate.value, "held_out_errors": errors, "half_width": residual.half_width}

    return {"variants": taught.variants, "time": told(taught.time), "power": told(taught.power)}


def _variant(one: PredictedVariant, measured_s: float | None) -> dict[str, Json]:
    return {
        "macros": dict(one.macros),
        "outcome": one.outcome.value,
        "reason": one.reason or None,
        **fields(one, "time_s", "energy_j", "power_w"),
        "measured_time_s": measured_s,
        "launches": [
            {
                "kernel": kernel.name,
                **fields(kernel.launch, "grid", "block"),
                **fields(kernel, "time_s", "power_w", "energy_j"),
                "limited_by": kernel.limited_by or None,
                **fields(kernel.resources, "registers_per_thread", "shared_bytes_per_block", "occupancy"),
                "data": kernel.launch.data,
                "is_assumed": kernel.launch.source is LaunchSource.ASSUMED,
            }
            for kernel in one.launches
        ],
    }
