"""Variants that were measured: read, and what they teach about the predictions of the others."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import KernelAnalysis, Power
from wattslice.config.config import Config
from wattslice.errors import WattsliceError
from wattslice.findings.quoting import Quoter
from wattslice.frontend.kernel_text import fixed_macros, kernel_text
from wattslice.launches.launch import LaunchOverride, LaunchSource
from wattslice.launches.overrides import OverrideError, parse_launch
from wattslice.pipeline.files import read_program
from wattslice.power.answer import answering_model, peak_of
from wattslice.sweep.kernel_tuner import is_cache, read_cache
from wattslice.sweep.run import Outcome, PredictedVariant, Space, no_source_has, predict, unmentioned
from wattslice.sweep.space import Variant
from wattslice.version import __version__
from wattslice_corpora.records.tables import sha256
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.plausible import (
    ABOVE_LIMIT,
    REAL_LIMIT,
    beyond_sensors,
    contradictions,
    impossible_watts,
    is_far_off,
)
from wattslice_models.store import DataFile, ModelFileError
from wattslice_models.variant_residual import Taught, VariantResidual, VariantWork, fit_variants
from wattslice_models.variant_store import StoredVariants, prediction_stamp, stored_variants

_TIMES = (("time_s", 1.0), ("time_ms", 1e-3))
_BOARD, _LAUNCH, _WATTS, _REASON = "board", "launch", "power_w", "reason"
RESERVED = (_BOARD, _LAUNCH, *(column for column, _ in _TIMES), _WATTS, _REASON)
"""Columns that are no macros."""


class MeasuredVariant(Struct, frozen=True):
    """Seconds of all launches of a variant and mean watts of the board; None: not measured.

    `board`: its name, `launch`: the only one that was measured, where the table tells them. `reason`: why
    there are no figures. `line`: of the table.
    """

    macros: Variant
    time_s: float | None
    power_w: float | None
    board: str = ""
    launch: LaunchOverride | None = None
    reason: str = ""
    line: int | None = None


def measured_table(comments: Sequence[str], rows: Sequence[MeasuredVariant]) -> str:
    """At least one variant, all of the same macros, as a table that `read_measured` reads."""
    text = io.StringIO()
    text.writelines(f"# {' '.join(comment.split())}\n" for comment in comments)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*(name for name, _ in rows[0].macros), _BOARD, _LAUNCH, _TIMES[0][0], _WATTS, _REASON))
    for row in rows:
        launch = "" if row.launch is None else _launch_text(row.launch)
        values = (value for _, value in row.macros)
        writer.writerow((*values, row.board, launch, row.time_s, row.power_w, row.reason))
    return text.getvalue()


def _launch_text(launch: LaunchOverride) -> str:
    extents = (launch.grid, launch.block, (launch.dynamic_shared_bytes or 0,))
    return f"{launch.kernel}={':'.join(','.join(map(str, extent)) for extent in extents)}"


def read_measured(
    path: Path, gpu: Gpu, names: Sequence[str] | None = None, further: Sequence[str] = ()
) -> tuple[MeasuredVariant, ...]:
    """Variants that were measured on `gpu`.

    A table with a column for each macro of `names`, `time_s` or `time_ms`, and `power_w`, perhaps with
    `board` and `launch`; or a cache file of Kernel Tuner. Macros out of `further` are taken where it has
    them, other columns are passed over. Without `names` every column that is not `RESERVED` is a macro.

    Raises `WattsliceError` for what is neither, and for watts that no such board draws.
    """
    if is_cache(path):
        cache = read_cache(path)
        if cache.is_predicted:
            raise WattsliceError("holds predictions of wattslice", path=path, remedy="give measured variants")
        found = [
            MeasuredVariant(_picked(dict(macros), names, further, path), time_s, power_w, cache.device)
            for macros, time_s, power_w in zip(
                cache.variants, cache.measured_s, cache.measured_w, strict=True
            )
        ]
    else:
        found = _rows(path, names, further)
    found = [one for one in found if one.time_s is not None or one.power_w is not None]
    if not found:
        raise WattsliceError("no variant with seconds or watts", path=path, remedy="measure some")
    for one in found:
        if one.power_w is not None and (reason := impossible_watts(one.power_w, gpu)):
            raise WattsliceError(reason, path=path, line=one.line, remedy="correct or remove this variant")
    _check_limit(found, gpu, path)
    return tuple(found)


def _check_limit(measured: Sequence[MeasuredVariant], gpu: Gpu, path: Path) -> None:
    """Raises `WattsliceError` for watts above what sensors show at the limit of `gpu`."""
    try:
        peak = peak_of(gpu)
    except ModelFileError:
        return  # then nothing is predicted, which says why
    known = [(one, one.power_w) for one in measured if one.power_w is not None]
    beyond = [(one, reason) for one, watts in known if (reason := beyond_sensors(watts, gpu, peak))]
    if beyond:
        one, reason = beyond[0]
        counted = f"{reason} ({len(beyond)} of {len(measured)} variants have more)"
        raise WattsliceError(counted, path=path, line=one.line, remedy=REAL_LIMIT)


def _rows(path: Path, names: Sequence[str] | None, further: Sequence[str]) -> list[MeasuredVariant]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
        comments = _comments(lines)
        reader = csv.DictReader("" if line.startswith("#") else line for line in lines[len(comments) :])
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        _check_header(header, path, len(comments) + 1)
        times = [(column, unit) for column, unit in _TIMES if column in header]
        if not times and _WATTS not in header:
            raise WattsliceError(
                f"neither seconds nor watts in the header {', '.join(header)}",
                path=path,
                line=len(comments) + 1,
                remedy="columns time_s or time_ms, and power_w",
            )
        found: list[MeasuredVariant] = []
        for row in reader:
            line = len(comments) + reader.line_num
            if None in row:
                raise WattsliceError(
                    f"more cells than the {len(header)} columns of the header",
                    path=path,
                    line=line,
                    remedy="quote what has commas in it",
                )
            time_s = next((_number(row[column], unit, path, line) for column, unit in times), None)
            power_w = _number(row.get(_WATTS), 1.0, path, line)
            macros, launch = _picked(row, names, further, path, line), _launch(row.get(_LAUNCH), path, line)
            board, reason = row.get(_BOARD) or "", row.get(_REASON) or ""
            found.append(MeasuredVariant(macros, time_s, power_w, board, launch, reason, line))
        return found
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WattsliceError(f"cannot be read: {error}", path=path) from None


def _check_header(header: Sequence[str], path: Path, line: int) -> None:
    if twice := [name for name in header if header.count(name) > 1]:
        raise WattsliceError(f"two columns {twice[0]!r}", path=path, line=line, remedy="keep one")
    for name in header:
        if not name.isidentifier() or not name.isascii():
            remedy = f"a column is a macro, or one of {', '.join(RESERVED)}"
            raise WattsliceError(
                f"column {name!r} is no name of a macro", path=path, line=line, remedy=remedy
            )


def _launch(text: str | None, path: Path, line: int) -> LaunchOverride | None:
    try:
        return parse_launch(text) if text else None
    except OverrideError as error:
        raise WattsliceError(error.message, path=path, line=line, remedy=error.remedy) from None


def _picked(
    row: dict[str, str],
    names: Sequence[str] | None,
    further: Sequence[str],
    path: Path,
    line: int | None = None,
) -> Variant:
    if names is None:
        names = [name for name in row if name not in RESERVED]
    if missing := [name for name in names if not row.get(name)]:
        remedy = f"one for each macro that varies; columns: {', '.join(row)}"
        raise WattsliceError(f"no column {missing[0]}, or nothing in it", path=path, line=line, remedy=remedy)
    told = (*names, *(name for name in further if name not in names and row.get(name)))
    return tuple((name, row[name].strip()) for name in told)


def _number(text: str | None, unit: float, path: Path, line: int) -> float | None:
    if not text:
        return None
    try:
        value = float(text) * unit
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise WattsliceError(f"{text!r} is no measurement", path=path, line=line, remedy="a positive number")
    return value


def predict_measured(
    config: Config, space: Space, measured: Sequence[MeasuredVariant]
) -> tuple[PredictedVariant, ...]:
    """The predictions of measured variants, each with its own macros and launch in place of those of `config`
    and `space`.

    Raises `WattsliceError` for variants of several launches where the table tells the one that was measured.
    """
    own = {name for name, _ in measured[0].macros}
    defines = tuple(text for text in config.parse.defines if text.partition("=")[0] not in own)
    config = replace(config, parse=replace(config.parse, defines=defines))
    launches = tuple(one.launch for one in measured)
    found = predict(config, replace(space, variants=tuple(one.macros for one in measured), made=launches))
    for launch, one in zip(launches, found, strict=True):
        if launch is not None and len(one.launches) > 1:
            names = ", ".join(dict.fromkeys(made.name for made in one.launches))
            raise WattsliceError(
                f"{launch.kernel} alone was measured, and variants launch {names}",
                remedy=f"--kernel {launch.kernel}",
            )
    return found


def learn(measured: Sequence[MeasuredVariant], predicted: Sequence[PredictedVariant]) -> Taught:
    """What the measured variants teach, of each of which `predicted` has the prediction.

    Those without figures teach nothing. Raises `WattsliceError` where none is left.
    """
    pairs = [
        (one, found, work)
        for one, found in zip(measured, predicted, strict=True)
        if (work := _work(found)) is not None
    ]
    if not pairs:
        raise WattsliceError(
            f"no measured variant has figures: {predicted[0].reason}", remedy="check --launch and the macros"
        )
    times = [(work, one.time_s / work.time_s) for one, _, work in pairs if one.time_s is not None]
    watts = [(work, one.power_w / work.power_w) for one, _, work in pairs if one.power_w is not None]
    most_w = max((one.power_w or 0.0 for one, _, _ in pairs))
    return Taught(len(pairs), _fit(times), _fit(watts), most_w, tuple(_doubts(pairs)))


SECONDS_FAR_OFF = 30.0
"""Ratio of measured seconds to the predicted ones from which on they are rather of another unit or launch."""


def _doubts(pairs: Sequence[tuple[MeasuredVariant, PredictedVariant, VariantWork]]) -> Iterator[str]:
    """Watts and seconds that are far from what was predicted, at most one of each."""
    watts = [(one, one.power_w, work.power_w) for one, _, work in pairs]
    asked = "was it this board and this launch, and did the kernel run all the time?"
    yield from _far_off("watts", "W", watts, is_far_off, asked)
    seconds = [(one, one.time_s, work.time_s) for one, _, work in pairs]
    yield from _far_off("seconds", "s", seconds, _is_of_another_unit, "are they seconds, and of one launch?")
    yield from _disagreeing([one for one, _, _ in pairs])
    yield from _at_limit(pairs)


def _disagreeing(measured: Sequence[MeasuredVariant]) -> Iterator[str]:
    """The first variant that was measured twice with watts that lie far apart, and with seconds."""
    watts = [(one, one.power_w) for one in measured if one.power_w is not None]
    seconds = [(one, one.time_s) for one in measured if one.time_s is not None]
    for unit, known in (("W", watts), ("s", seconds)):
        alike = [((one.macros, one.launch), figure) for one, figure in known]
        far = contradictions(alike)
        if far:
            (one, low), (other, high) = (known[place] for place in far[0])
            places = "" if one.line is None or other.line is None else f" (lines {one.line} and {other.line})"
            share = f"{len(far)} of {len({key for key, _ in alike})}"
            yield (
                f"the same macros were measured with {low:g} {unit} and {high:g} {unit}{places}, so {share} "
                "variants: does something vary that is no macro?"
            )


def _at_limit(pairs: Sequence[tuple[MeasuredVariant, PredictedVariant, VariantWork]]) -> Iterator[str]:
    """Watts above the board's limit, as far as sensors show such (`_check_limit`)."""
    known = [
        (one, one.power_w, found.launches[0].power_limit_w)
        for one, found, _ in pairs
        if one.power_w is not None
    ]
    over = [(one, watts, limit) for one, watts, limit in known if limit is not None and watts > limit]
    if over:
        one, most_w, limit_w = max(over, key=lambda entry: entry[1])
        place = "" if one.line is None else f", in line {one.line}"
        yield (
            f"measured watts of {len(over)} of {len(known)} variants lie above the board's limit of "
            f"{limit_w:g} W (up to {most_w:g} W{place}): {ABOVE_LIMIT}"
        )


def _is_of_another_unit(measured_s: float, predicted_s: float) -> bool:
    return not 1.0 / SECONDS_FAR_OFF < measured_s / predicted_s < SECONDS_FAR_OFF


def _far_off(
    what: str,
    unit: str,
    figures: Sequence[tuple[MeasuredVariant, float | None, float]],
    is_far: Callable[[float, float], bool],
    asked: str,
) -> Iterator[str]:
    """The first of the measured and predicted `figures` that lie far apart, and how many do."""
    far = [
        (one, had, expected) for one, had, expected in figures if had is not None and is_far(had, expected)
    ]
    if far:
        one, had, expected = far[0]
        place = "" if one.line is None else f", in line {one.line}"
        yield (
            f"measured {what} of {len(far)} of {len(figures)} variants are far from the predicted ones "
            f"({had:g} {unit} for {expected:.3g} {unit}{place}): {asked}"
        )


def teach(config: Config, space: Space, table: Path) -> tuple[StoredVariants, tuple[str, ...]]:
    """What the variants in a table teach about the one kernel that each of them launches once; and why some
    of them teach nothing, as they have no figures.

    Raises `WattsliceError` for a table that teaches nothing, for variants of several launches, and where a
    launch is not known.
    """
    gpu = load_gpu(config.gpu.gpu_id)
    measured = read_measured(table, gpu)
    made = (one.launch.kernel for one in measured if one.launch is not None)
    space = replace(space, kernels=tuple(dict.fromkeys((*space.kernels, *made))))
    every = tuple(one.macros for one in measured)
    doubts = _unknown_macros(config, replace(space, variants=every), table)
    config = replace(config, prediction=replace(config.prediction, variants=False))
    predicted = predict_measured(config, space, measured)
    taught = learn(measured, predicted)
    doubts += _of_another_kernel(table, predicted)
    taught = replace(taught, doubts=(*taught.doubts, *doubts))
    launches = [one.launches for one in predicted if one.outcome is Outcome.PREDICTED]
    if len({(one.source.file, one.name, one.basis.model) for made in launches for one in made}) != 1 or any(
        len(made) != 1 for made in launches
    ):
        names = ", ".join(dict.fromkeys(one.name for made in launches for one in made))
        raise WattsliceError(
            f"a variant is one launch of one kernel; these launch {names}",
            path=table,
            remedy="name it with --launch 'KERNEL=GRID:BLOCK'",
        )
    ((launch,), *_) = launches
    for one, found in zip(measured, predicted, strict=True):
        if all(made.launch.source is not LaunchSource.ASSUMED for made in found.launches):
            continue
        raise WattsliceError(
            f"how {launch.name} is launched is not known with {_told(found)}",
            path=table,
            line=one.line,
            remedy=f"correct its values, or say it with --launch '{launch.name}=GRID:BLOCK', of expressions "
            "over the macros",
        )
    model = answering_model(gpu, config.prediction.model)
    stamp = prediction_stamp(gpu, model, config.clocks, __version__)
    data = DataFile(table.name, sha256(table))
    boards = ", ".join(dict.fromkeys(one.board for one in measured if one.board))
    macros = tuple(name for name, _ in every[0])
    sources = (*_texts(config, every[0], launch.source.file), fixed_macros(config.parse.defines, macros))
    text = kernel_text(sources, launch.name, launch.source.line, launch.source.end_line)
    about = Path(launch.source.file).name, launch.name, boards, stamp, macros
    stored = StoredVariants(*about, text.words, text.uses, launch.launch.data, data, taught)
    return stored, tuple(
        f"{table}{_at(one)}: {_told(found)}: {found.outcome.value}: {found.reason}"
        for one, found in zip(measured, predicted, strict=True)
        if _work(found) is None
    )


def _texts(config: Config, macros: Variant, first: str) -> tuple[str, ...]:
    """Those that the analysed file consists of with these `macros`, that of the file `first` before all."""
    defines = (*config.parse.defines, *(f"{name}={value}" for name, value in macros))
    program = read_program(config.files[0], replace(config, parse=replace(config.parse, defines=defines)))
    return Quoter(program.file, program.source_lines, program.included).texts(first)


def _at(variant: MeasuredVariant) -> str:
    return "" if variant.line is None else f":{variant.line}"


def _told(variant: PredictedVariant) -> str:
    return " ".join(f"{name}={value}" for name, value in variant.macros)


def _unknown_macros(config: Config, space: Space, table: Path) -> tuple[str, ...]:
    """What to tell of parameters of a cache that no source has. Raises `WattsliceError` for such a column."""
    told = [no_source_has(name, config.files[0]) for name in unmentioned(config, space)]
    if told and not is_cache(table):
        line = 1 + len(_comments(table.read_text(encoding="utf-8-sig").splitlines()))
        remedy = f"correct or remove it; no macros are {', '.join(RESERVED)}"
        raise WattsliceError(f"column {told[0]}", path=table, line=line, remedy=remedy)
    return tuple(f"{one}; its values count as one" for one in told)


def _of_another_kernel(table: Path, predicted: Sequence[PredictedVariant]) -> tuple[str, ...]:
    """What to tell where a cache names a kernel that no variant launches."""
    told = read_cache(table).kernel if is_cache(table) else ""
    names = {made.name for one in predicted for made in one.launches}
    plain = told.partition("<")[0].rpartition("::")[2]
    if not plain or plain in names:
        return ()
    return (
        f"the cache is of {told}, and variants launch {', '.join(sorted(names))}: is it the same kernel?",
    )


def _comments(lines: Sequence[str]) -> list[str]:
    """Those before the header."""
    return list(takewhile(lambda line: line.startswith("#"), lines))


def _fit(pairs: list[tuple[VariantWork, float]]) -> VariantResidual | None:
    if not pairs:
        return None
    return fit_variants(
        tuple(work.features for work, _ in pairs), tuple(math.log(ratio) for _, ratio in pairs)
    )


def with_taught(predicted: Sequence[PredictedVariant], taught: Taught) -> tuple[PredictedVariant, ...]:
    """The predictions with what was learnt."""
    works = [_work(one) for one in predicted]
    factors = iter(taught.factors([work for work in works if work is not None]))
    return tuple(
        one if work is None else _scaled(one, *next(factors))
        for one, work in zip(predicted, works, strict=True)
    )


def taught_earlier(gpu_id: str, predicted: Sequence[PredictedVariant]) -> tuple[Taught, ...]:
    """What `wattslice train --variants` learnt before, and the predictions hold, of each kernel."""
    launches = (launch for one in predicted for launch in one.launches if launch.basis.variants is not None)
    kernels = dict.fromkeys((launch.source.file, launch.name) for launch in launches)
    found = (stored_variants(gpu_id, *kernel) for kernel in kernels)
    return tuple(one.taught for one in found if one is not None)


def _scaled(one: PredictedVariant, time: float, power: float) -> PredictedVariant:
    launches = tuple(_scaled_launch(launch, time, power) for launch in one.launches)
    before, after = (
        math.fsum(launch.energy_j or 0.0 for launch in made) for made in (one.launches, launches)
    )
    return replace(
        one,
        launches=launches,
        time_s=None if one.time_s is None else one.time_s * time,
        energy_j=None if one.energy_j is None or not before else one.energy_j * after / before,
    )


def _scaled_launch(launch: KernelAnalysis, time: float, power: float) -> KernelAnalysis:
    """No launch draws more than the board's limit."""
    watts = launch.power
    if watts is not None and watts.power_w and launch.power_limit_w is not None:
        power = min(power, launch.power_limit_w / watts.power_w)
    return replace(
        launch,
        time_s=None if launch.time_s is None else launch.time_s * time,
        power=watts and Power(power * watts.power_w, power * watts.low_w, power * watts.high_w),
        energy_j=None if launch.energy_j is None else launch.energy_j * time * power,
    )


def _work(variant: PredictedVariant) -> VariantWork | None:
    """None: without figures."""
    if variant.outcome is not Outcome.PREDICTED or not variant.time_s or not variant.power_w:
        return None
    each = (() if one.work is None else one.work.amounts for one in variant.launches)
    amounts = tuple(sum(column) for column in zip(*each, strict=True))
    occupancy = min(0.0 if one.resources is None else one.resources.occupancy for one in variant.launches)
    return VariantWork(amounts, occupancy, variant.time_s, variant.power_w)
