"""`wattslice train`, `calibrate` and `evaluate`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from wattslice.commands.common import configured, options_from, some_options, with_definitions
from wattslice.commands.output import CONTEXT, FILE, gpu_names, message, progress, write_result
from wattslice.commands.table import FINE
from wattslice.config.options import is_silent
from wattslice.errors import WattsliceError, of_system

if TYPE_CHECKING:
    from wattslice.training.calibration import Calibration
    from wattslice.training.evaluation import GpuEvaluation, Request
    from wattslice.training.training import TrainingResult


_OF_VARIANTS = (
    *("launch", "set", "include", "define", "nvcc-flags", "std", "args"),
    "core-mhz",
    "mem-mhz",
    "jobs",
)


@click.command(context_settings=CONTEXT)
@click.argument("source", required=False, type=FILE, metavar="[SOURCE]")
@click.option(
    "--variants",
    "variants",
    type=FILE,
    metavar="FILE",
    help="Measured variants of the one kernel of SOURCE teach what sweep, gate and analyze then use: a CSV "
    "of macros, time_s, power_w, or a cache file of Kernel Tuner.",
)
@some_options(*_OF_VARIANTS)
@click.option(
    "--gpu",
    "gpu_ids",
    multiple=True,
    metavar="ID|FILE",
    shell_complete=gpu_names,
    help="GPU measured, of the catalogue or a TOML file. Several: one model for all (wavelet).",
)
@click.option(
    "--data",
    "files",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Measured runs, e.g. measured.csv of a campaign. Repeatable.  [default: those that come along]",
)
@click.option("--model", default="auto", metavar="NAME", help="auto, or one model.  [default: auto]")
@click.option("--out", type=FILE, metavar="DIR", help="Write there.  [default: the user's data folder]")
@click.option("--seed", default=0, metavar="N", help="Of everything random.  [default: 0]")
def train(
    source: Path | None,
    variants: Path | None,
    gpu_ids: tuple[str, ...],
    files: tuple[Path, ...],
    model: str,
    out: Path | None,
    seed: int,
    **values: object,
) -> int:
    """Fit the power models of a GPU to measurements, and choose among them.

    Writes coefficients (JSON), a model card (Markdown) and pictures. `wattslice analyze --gpu` then uses
    what is in the user's data folder. Needs more packages: pip install '.[train,report]' in the checkout.
    """
    from wattslice.config.gpu_choice import known_gpu
    from wattslice.training.training import AUTO, check_packages, steps, training_data
    from wattslice.training.training import train as learn
    from wattslice_corpora.records import RecordError
    from wattslice_models.contract import NotEnoughDataError
    from wattslice_models.gpu import load_gpu
    from wattslice_models.learners import GENERAL, MEANS, NAMES, MissingPackageError
    from wattslice_models.user_folder import user_models

    if not gpu_ids:
        raise click.UsageError("--gpu says which GPU was measured")
    if variants is not None:
        if source is None or len(gpu_ids) != 1 or files or model != AUTO:
            raise click.UsageError("--variants needs the SOURCE and one --gpu, and has no --data and --model")
        return _teach(source, variants, gpu_ids[0], out, values)
    if given := [name for name, value in (("SOURCE", source), *values.items()) if not is_silent(value)]:
        raise click.UsageError(f"without --variants there is no use for {', '.join(given)}")
    if model not in (AUTO, *NAMES):
        raise click.UsageError(f"--model: no model {model!r}; one of {AUTO}, {', '.join(NAMES)}")
    if files and len(gpu_ids) > 1:
        raise click.UsageError("--data is for one --gpu")
    gpus = tuple(load_gpu(known_gpu(gpu_id)) for gpu_id in dict.fromkeys(gpu_ids))
    folder = out or user_models() / (gpus[0].id if len(gpus) == 1 else GENERAL)
    try:
        check_packages(model, gpus)
        _check_folder(folder)
        try:
            data = training_data(gpus, files)
        except OSError as error:
            raise of_system(error, "cannot be read", None, "check --data") from None
        with progress(steps(model, data), "steps", begins=True) as tell:
            result = learn(data, model, seed, tell)
        # A mean answers for no kernel: to choose it would only hide what was chosen before.
        able = result.choice.name not in MEANS
        chooses = able and (model == AUTO or not (folder / "choice.json").exists())
        written = _write(result, folder, choice=chooses)
    except (RecordError, MissingPackageError) as error:
        raise WattsliceError(str(error)) from None
    except NotEnoughDataError as error:
        raise WattsliceError(str(error), remedy="measure more benchmarks") from None
    except OSError as error:
        raise of_system(error, "cannot be written", None, "choose another --out", otherwise=folder) from None
    for candidate in result.choice.candidates:
        if candidate.reason:
            message(f"{candidate.name}: {candidate.reason}")
    chosen = result.choice.name if chooses else _stored_choice(folder)
    write_result(lambda file: _report(result, chosen, folder, written, file), None)
    return FINE


def _teach(source: Path, table: Path, gpu_id: str, out: Path | None, values: dict[str, object]) -> int:
    """Measured variants of one kernel: what they teach, stored where the analysis looks for it."""
    from wattslice.commands.sweep import fixed_space
    from wattslice.config.gpu_choice import known_gpu
    from wattslice.sweep.measured import teach
    from wattslice_models.gpu import gpu_ids, gpu_of_board, load_gpu
    from wattslice_models.store import ModelFileError
    from wattslice_models.user_folder import user_models
    from wattslice_models.variant_store import save_variants, variants_file, variants_in

    gpu = load_gpu(known_gpu(gpu_id))
    folder = out or user_models() / gpu.id
    values = {**values, "paths": (source,), "gpu": gpu_id, "no_cache": True}
    config = configured(options_from({**values, "launches": (), "definitions": ()}))
    space, plain = fixed_space(values, table, config.facts.overrides.settings)
    stored, left_out = teach(with_definitions(config, plain), space, table)
    try:
        earlier = variants_in(folder, stored.file, stored.kernel)
    except ModelFileError:
        earlier = None  # one that nobody can read teaches nothing
    number = earlier.taught.variants if earlier is not None and earlier.taught.teaches else 0
    keeps = number > 0 and not stored.taught.teaches
    written = variants_file(folder, stored.file, stored.kernel)
    try:
        if not keeps:
            save_variants(folder, stored)
    except OSError as error:
        raise of_system(error, "cannot be written", None, "choose another --out", otherwise=folder) from None
    if left_out:
        told = f"{len(left_out)} measured variants have no predicted figures and teach nothing"
        message(f"{told}: {left_out[0]} (correct or remove such rows)")
    if (known := gpu_of_board(stored.board)) is not None and gpu.id in gpu_ids() and known.id != gpu.id:
        message(f"measured on {stored.board}: this corrects predictions for {gpu.name}, another board")
    if number:
        message(
            f"this table teaches nothing: the earlier {number} variants are kept"
            if keeps
            else f"replaces {number} variants taught earlier"
        )
    kept = f"remove {written} to forget it"
    lines = (*stored.taught.told, f"for {stored.kernel} in files named {stored.file} on {gpu.name}; {kept}")
    write_result(lambda file: click.echo("\n".join(lines), file), None)
    return FINE


def _check_folder(folder: Path) -> None:
    """Before hours of training: can anything be written there? Nothing stays behind."""
    there = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        probe = there / f".{os.getpid()}.tmp"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise of_system(error, "cannot be written", None, "choose another --out", otherwise=folder) from None


def _write(result: TrainingResult, folder: Path, *, choice: bool) -> tuple[Path, ...]:
    from wattslice.report.model_plots import (
        Panel,
        plot_learning_curves,
        plot_measured_against_predicted,
        plot_residuals,
    )
    from wattslice.report.pictures import NoPlotsError
    from wattslice.training.model_card import model_card
    from wattslice_models.contract import ModelKind
    from wattslice_models.learners import MEANS
    from wattslice_models.store import save, save_choice

    # The energy model of committed runs is the joint model's, which has those of all boards.
    own = [
        one for one in result.entries if one.entry.kind is not ModelKind.ENERGY or not result.data.committed
    ]
    written = [save(folder, one.trained) for one in own]
    if choice:  # one model trained on its own is compared with nothing: an earlier choice stands
        written.append(save_choice(folder, result.choice))
    gpus = result.data.gpus
    name = gpus[0].name if len(gpus) == 1 else f"{len(gpus)} GPUs"
    panels = [Panel(one.entry.title, one.held_out) for one in result.entries]
    able = [panel for panel, one in zip(panels, result.entries, strict=True) if one.entry.name not in MEANS]
    pictures = {
        picture: tuple(folder / f"{picture}.{kind}" for kind in ("svg", "png"))
        for picture in ("predicted", "residuals", "learning_curve")
    }
    try:
        unit = "GPU" if len(gpus) > 1 else "benchmark"
        held_out = f"each {unit} held out of the training"
        plot_measured_against_predicted(panels, f"{name}: {held_out}", *pictures["predicted"])
        plot_residuals(able or panels, f"{name}: {held_out}", *pictures["residuals"])
        plot_learning_curves(result.entries, f"{name}: learning curves", *pictures["learning_curve"])
    except NoPlotsError as error:
        message(f"no pictures: {error}")
        pictures = {}
    written += [path for paths in pictures.values() for path in paths]
    card = folder / "card.md"
    text = model_card(result, [f"{picture}.svg" for picture in pictures], choice_is_new=choice)
    card.write_text(text, encoding="utf-8")
    return (*written, card)


def _stored_choice(folder: Path) -> str | None:
    """What an earlier training chose for ``--model auto``; None without one."""
    from wattslice_models.store import ModelFileError, read_choice

    path = folder / "choice.json"
    if not path.exists():
        return None
    try:
        return read_choice(path).name
    except ModelFileError:
        return None


def _report(
    result: TrainingResult, chosen: str | None, folder: Path, written: tuple[Path, ...], file: TextIO
) -> None:
    from rich.text import Text

    from wattslice.report.terminal import make_console, plain_table, print_stripped
    from wattslice.training.judging import judge_held_out

    table = plain_table(("model",), ("held-out error", "median", "worst", "Spearman", "interval"))
    for one in result.entries:
        found = judge_held_out(one.held_out).errors
        interval = one.trained.model.interval
        cells = (
            ["–"] * 4
            if found is None
            else [
                f"{found.mean:.1%}",
                f"{found.median:.1%}",
                f"{found.worst:.1%}",
                "–" if found.spearman is None else f"{found.spearman:.2f}",
            ]
        )
        table.add_row(one.entry.title, *cells, f"{interval.low:.2f}–{interval.high:.2f}")
    auto = "nothing was chosen for --model auto" if chosen is None else f"--model auto takes {chosen}"
    print_stripped(make_console(file), table, Text(), Text(f"{auto}; {len(written)} files in {folder}"))


@click.command(context_settings=CONTEXT)
@click.argument("table", type=FILE, metavar="READINGS")
@click.option(
    "--gpu", "gpu_id", required=True, metavar="ID|FILE", shell_complete=gpu_names, help="GPU of your board."
)
def calibrate(table: Path, gpu_id: str) -> int:
    """Fit the energy model to your own board by a few readings of its watts.

    READINGS is a table (CSV) with the columns kernel (a source file, FILE:NAME, or idle) and power_w;
    core_mhz, memory_mhz (of an idle board always), launch and settings if need be. One row is enough, five
    programs are better.
    `wattslice analyze --gpu` then uses the model, until energy.json is removed. Give all readings at once:
    they take the place of those that an earlier calibration had.
    """
    from wattslice.config.gpu_choice import known_gpu
    from wattslice.training.calibration import calibration
    from wattslice_models.gpu import load_gpu
    from wattslice_models.store import save
    from wattslice_models.user_folder import user_models

    gpu = load_gpu(known_gpu(gpu_id))
    folder = user_models() / gpu.id
    try:
        found = calibration(table, gpu)
    except OSError as error:
        raise of_system(error, "cannot be read", None, "check the path", otherwise=table) from None
    if (folder / "energy.json").is_file():
        message(f"the calibration in {folder} is replaced: only these readings count now")
    try:
        written = save(folder, found.trained)
    except OSError as error:
        remedy = "make it writable, or set XDG_DATA_HOME"
        raise of_system(error, "cannot be written", None, remedy, otherwise=folder) from None
    for doubt in found.doubts:
        message(doubt)
    write_result(lambda file: _calibrated(found, written, file), None)
    return FINE


def _calibrated(found: Calibration, written: Path, file: TextIO) -> None:
    from rich.text import Text

    from wattslice.report.terminal import make_console, plain_table, print_stripped

    read = plain_table(("reading",), ("measured W", "before W", "after W", "interval W"))
    for one in found.readings:
        watts = (f"{watts:.1f}" for watts in (one.measured_w, one.before_w, one.after_w))
        read.add_row(one.kernel, *watts, f"{one.low_w:.0f}–{one.high_w:.0f}")
    changed = plain_table(("this board has",), ("before", "after"))
    for old, new in zip(found.before, found.after, strict=True):
        changed.add_row(old.effect.value, *(f"{one.value:+.2f} ± {one.deviation:.2f}" for one in (old, new)))
    interval = found.trained.model.interval
    told = Text(
        f"logarithms, against the mean of all boards; interval now {interval.low:.2f} to {interval.high:.2f} "
        f"times the prediction; written to {written}"
    )
    print_stripped(make_console(file), read, Text(), changed, Text(), told)


@click.command(context_settings=CONTEXT)
@click.option(
    "--gpu",
    "gpu_ids",
    multiple=True,
    metavar="ID|FILE",
    shell_complete=gpu_names,
    help="Only this GPU. Repeatable.  [default: all that were measured]",
)
@click.option(
    "--model", "names", multiple=True, metavar="NAME", help="Only this model. Repeatable.  [default: all]"
)
@click.option(
    "--data", "file", type=FILE, metavar="FILE", help="Measured runs.  [default: those that come along]"
)
@click.option("--trained-only", is_flag=True, help="Only models trained before: no leaving out, seconds.")
@click.option("--seed", default=0, metavar="N", help="Of everything random.  [default: 0]")
def evaluate(
    gpu_ids: tuple[str, ...], names: tuple[str, ...], file: Path | None, trained_only: bool, seed: int
) -> int:
    """Compare predicted with measured watts, beside means, which know nothing of a kernel.

    Models trained before are asked about applications that they never saw; then models are trained anew
    without each application in turn. Needs more packages: pip install '.[train,report]' in the checkout.
    """
    from wattslice.config.gpu_choice import known_gpu
    from wattslice.report.model_plots import summary_lines
    from wattslice.training.evaluation import Request
    from wattslice_corpora.records import RecordError, measured_gpu_ids
    from wattslice_models.gpu import load_gpu
    from wattslice_models.learners import NAMES, MissingPackageError
    from wattslice_models.store import ModelFileError

    for name in names:
        if name not in NAMES:
            raise click.UsageError(f"--model: no model {name!r}; one of {', '.join(NAMES)}")
    if file is not None and len(gpu_ids) != 1:
        raise click.UsageError("--data is for one --gpu")
    chosen = tuple(dict.fromkeys(known_gpu(gpu_id) for gpu_id in gpu_ids)) or measured_gpu_ids()
    requests = [
        Request(load_gpu(gpu_id), names or NAMES, file, retrain=not trained_only, seed=seed)
        for gpu_id in chosen
    ]
    try:
        found = _evaluate(requests, optional=not gpu_ids)
    except (RecordError, MissingPackageError, ModelFileError) as error:
        raise WattsliceError(str(error)) from None
    except OSError as error:
        raise of_system(error, "cannot be used", None, "check the path") from None
    head = f"{'':44} {'MAPE':>6} {'median':>6} {'worst':>7} {'rank':>5} {'in 90 %':>7}"
    write_result("\n".join((head, *summary_lines(found))))
    return FINE


def _evaluate(requests: list[Request], *, optional: bool) -> list[GpuEvaluation]:
    from wattslice.training.evaluation import evaluate as judged
    from wattslice.training.evaluation import steps

    found: list[GpuEvaluation] = []
    with progress(sum(map(steps, requests)), "steps", begins=True) as tell:
        for request in requests:
            try:
                found.append(judged(request, tell))
            except WattsliceError as error:
                if not optional or len(requests) == 1:
                    raise
                message(str(error))
    return found
