"""`wattslice sweep FILE -D TILE=8,16,32 ...`"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from wattslice.commands.common import configured, options_from, some_options, with_definitions
from wattslice.commands.output import (
    CONTEXT,
    FILE,
    draw_pictures,
    format_option,
    message,
    pictures_and_report,
    progress,
    write_result,
)
from wattslice.commands.table import FAILED, FINE
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice.config.config import Options
    from wattslice.launches.launch import Setting
    from wattslice.sweep.kernel_tuner import TuningSpace
    from wattslice.sweep.run import Space
    from wattslice_models.variant_residual import Taught

_OPTIONS = (
    *("gpu", "model", "method", "delta", "dense-from", "set", "data", "launch", "include", "define", "std"),
    "nvcc-flags",
    "args",
    *("compile-commands", "profile", "core-mhz", "mem-mhz", "jobs", "backend", "scheduler"),
)


@click.command(context_settings=CONTEXT)
@click.argument("file", type=FILE)
@some_options(*_OPTIONS)
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only variants for which it holds, e.g. 'TILE*BLOCK<=1024'. Repeatable.",
)
@click.option(
    "--kernel", "kernels", multiple=True, metavar="NAME", help="Only launches of this kernel. Repeatable."
)
@click.option(
    "--best",
    "goal",
    type=click.Choice(["time", "energy"]),
    default="time",
    show_default=True,
    help="What the best variant has least of.",
)
@click.option(
    "--top", type=click.IntRange(0), default=20, show_default=True, help="Rows of the table; 0: all."
)
@click.option(
    "--kernel-tuner",
    "tuner_cache",
    type=FILE,
    metavar="CACHE",
    help="Take the variants from a cache file of Kernel Tuner; times in it are compared.",
)
@click.option(
    "--measured",
    "measured_file",
    type=FILE,
    metavar="FILE",
    help="Variants measured on this board, which correct the others: a CSV of macros, time_s, power_w, or a "
    "cache file of Kernel Tuner.",
)
@click.option(
    "--problem-size",
    metavar="X[,Y[,Z]]",
    help="Extents for --format kernel-tuner, and problem_size_x, _y, _z in expressions.",
)
@format_option("text", "json", "kernel-tuner")
@click.option(
    "-o",
    "outputs",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Write the report there; .svg or .png: draw seconds and joules. Repeatable.",
)
def sweep(
    file: Path,
    where: tuple[str, ...],
    kernels: tuple[str, ...],
    goal: str,
    top: int,
    tuner_cache: Path | None,
    measured_file: Path | None,
    problem_size: str | None,
    report_format: str,
    outputs: tuple[Path, ...],
    **values: object,
) -> int:
    """Predict seconds and joules of every variant of a kernel, and tell the best.

    -D NAME=8,16,32 gives a macro several values; every combination is a variant. Numbers in --launch and
    --where may be expressions over the macros: --launch 'mul=N/TILE,N/TILE:TILE,TILE'.
    """
    from wattslice.sweep.run import Goal, Outcome, Sweep, no_source_has, predict, unmentioned

    pictures, output = pictures_and_report(outputs)
    options = options_from({**values, "paths": (file,), "launches": (), "definitions": (), "no_cache": True})
    config = configured(options)
    if len(config.files) != 1:
        raise WattsliceError("is a folder", path=file, remedy="sweep takes one file")
    if values["jobs"] is None and config.execution.jobs == 1:
        config = replace(config, execution=replace(config.execution, jobs=0))
    problem = _extents(problem_size)
    settings = config.facts.overrides.settings
    space, plain, tuned = _space(values, where, kernels, tuner_cache, problem, settings)
    config = with_definitions(config, plain)
    for name in unmentioned(config, space):
        message(f"{no_source_has(name, file)}; its values count as one")
    from wattslice_models.gpu import load_gpu

    gpu = load_gpu(config.gpu.gpu_id)
    taught: tuple[Taught, ...] = ()
    if measured_file is not None:
        from wattslice.sweep.measured import learn, predict_measured, read_measured

        config = replace(config, prediction=replace(config.prediction, variants=False))
        fixed = [text.partition("=")[0] for text in plain]
        known = read_measured(measured_file, gpu, [name for name, _ in space.variants[0]], fixed)
        taught = (learn(known, predict_measured(config, space, known)),)
    with progress(len(space.variants), "variants") as tell:
        found = predict(config, space, lambda _place: tell(""))
    from wattslice.sweep.measured import taught_earlier, with_taught

    if taught:
        found = with_taught(found, taught[0])
    else:
        taught = taught_earlier(gpu.id, found)
    result = Sweep(gpu.id, gpu.name, config.gpu.source, str(file), found, taught)
    measured = () if tuned is None else tuned.measured_s
    chosen = Goal(goal)
    if pictures:
        from wattslice.report.sweep_picture import draw_sweep

        draw_pictures(lambda *paths: draw_sweep(result, *paths), pictures)
    if report_format == "kernel-tuner":
        from wattslice.sweep.kernel_tuner import render_cache

        write_result(render_cache(result, problem if tuned is None else tuned.problem, chosen), output)
    else:
        from wattslice.report.sweep_tables import render_sweep, write_sweep

        if report_format == "json":
            write_result(render_sweep(result, chosen, measured), output)
        else:
            write_result(lambda out: write_sweep(result, chosen, measured, top, out), output)
    if any(one.outcome is Outcome.PREDICTED for one in found):
        return FINE
    message(f"no variant of {file} has figures: {found[0].outcome.value}: {found[0].reason}")
    return FAILED


def fixed_space(
    values: dict[str, object], table: Path, settings: tuple[Setting, ...]
) -> tuple[Space, tuple[str, ...]]:
    """Of variants that a `table` names: their launches, and the definitions that all share."""
    from wattslice.sweep.kernel_tuner import extent_names, fixed_definitions, is_cache, read_cache

    told = options_from({**values, "paths": ()})
    if not is_cache(table):
        return _launched(told, told.definitions, {}, settings), told.definitions
    tuned = read_cache(table)
    plain = (*fixed_definitions(tuned), *told.definitions)
    space = _launched(told, plain, extent_names(tuned.problem), settings)
    return replace(space, kernels=space.kernels or (tuned.kernel,)), plain


def _launched(
    told: Options, plain: Sequence[str], extents: dict[str, int], settings: tuple[Setting, ...]
) -> Space:
    """A space without variants yet: the launches that were told, and the numbers that they may name."""
    from wattslice.config.config import check_definitions
    from wattslice.sweep.run import Space
    from wattslice.sweep.space import LaunchTemplate, known_numbers

    check_definitions(told.definitions)
    templates = tuple(map(LaunchTemplate, told.launches))
    kernels = tuple(dict.fromkeys(template.kernel for template in templates))
    return Space((), templates, kernels, tuple({**extents, **known_numbers(plain, settings)}.items()))


def _extents(text: str | None) -> tuple[int, ...]:
    from wattslice.sweep.expressions import whole_number

    if text is None:
        return ()
    found = tuple(whole_number(part) or 0 for part in text.split(","))
    if not 1 <= len(found) <= 3 or min(found) < 1:
        raise WattsliceError(f"--problem-size: {text!r} is no extent", remedy="such as 4096,4096")
    return found


def _space(
    values: dict[str, object],
    where: tuple[str, ...],
    kernels: tuple[str, ...],
    tuner_cache: Path | None,
    problem: tuple[int, ...],
    settings: tuple[Setting, ...],
) -> tuple[Space, tuple[str, ...], TuningSpace | None]:
    """The variants, the definitions that all share, and what the cache file of Kernel Tuner says."""
    from wattslice.sweep.expressions import Expression
    from wattslice.sweep.kernel_tuner import extent_names, fixed_definitions, read_cache
    from wattslice.sweep.space import holds, numbers, parse_definitions, variants

    told = options_from({**values, "paths": ()})
    macros, plain = parse_definitions(told.definitions)
    conditions = tuple(Expression(text, "--where") for text in where)
    if tuner_cache is None:
        space = _launched(told, plain, extent_names(problem), settings)
        every = variants(macros, conditions, dict(space.known))
        return replace(space, variants=every, kernels=kernels or space.kernels), plain, None
    tuned = read_cache(tuner_cache)
    if macros:
        raise WattsliceError("-D with several values beside --kernel-tuner", remedy="give one of them")
    if not told.launches:
        raise WattsliceError(
            "--kernel-tuner needs --launch: a cache file does not tell the grid",
            remedy=f"such as --launch '{tuned.kernel}=ceil_div(problem_size_x,block_size_x):block_size_x'",
        )
    if problem:
        tuned = replace(tuned, problem=problem)
    plain = (*fixed_definitions(tuned), *plain)
    space = _launched(told, plain, extent_names(tuned.problem), settings)
    known = dict(space.known)
    if tuned.variants:
        kept = [holds(conditions, numbers(variant, known)) for variant in tuned.variants]
        tuned = tuned.only(kept)
    else:
        tuned = tuned.unmeasured(variants(tuned.macros, conditions, known))
    return replace(space, variants=tuned.variants, kernels=kernels or space.kernels), plain, tuned
