"""The baseline: predicted watts, joules and seconds of every launch, in a text file to commit and review.

One line per launch, sorted, tab-separated, six digits: the same source gives the same bytes, and a change of
one kernel changes its lines only. The head says what the figures were predicted with; figures of another GPU,
of other coefficients or other settings are never compared with.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from wattslice.analysis import Analysis
from wattslice.config.config import Config
from wattslice.config.options import DENSE_FROM, ModelChoice
from wattslice.errors import WattsliceError
from wattslice.frontend.inputs import file_bytes
from wattslice.frontend.parse_options import DEFAULT_STANDARD
from wattslice.gate.records import LaunchRecord, records_of
from wattslice.launches.launch import Dim3
from wattslice.patterns import regex
from wattslice.version import __version__
from wattslice_corpora.records import write_text
from wattslice_models.gpu import load_gpu
from wattslice_models.regression import NoRegressionError, published_regression
from wattslice_models.store import energy_model, load_choice, power_model
from wattslice_models.variant_store import all_stored_variants

DEFAULT_NAME = "watts.baseline"
_TITLE = "# wattslice baseline 1"
_FIRST_COLUMNS = (
    "file",
    "kernel",
    "launch",
    "grid",
    "block",
    "power_w",
    "energy_j",
    "time_s",
    "model",
    "body",
)
_COLUMNS = (*_FIRST_COLUMNS, "times")
"""Older files lack the last one."""
_UNREAD = "unread"
_REMEDY = "recalculate it: wattslice gate --update-baseline --baseline {} PATH..."


class BaselineError(WattsliceError):
    """A baseline that cannot be read, or not be compared with."""


class Made(Struct, frozen=True):
    """What figures were predicted with. `coefficients`, `settings`: hashes of the models and of what else
    shapes a prediction (method, branches, clocks, sizes, launches, macros).
    """

    gpu: str
    coefficients: str
    settings: str
    version: str = __version__


class Baseline(Struct, frozen=True):
    """A baseline file. Files are relative to its folder; those that were `unread` had no result."""

    path: Path
    made: Made
    records: tuple[LaunchRecord, ...]
    unread: tuple[str, ...] = ()


def made_with(config: Config) -> Made:
    """How `config` predicts. Raises `WattsliceError` for a model file of another version."""
    gpu = load_gpu(config.gpu.gpu_id)
    try:
        regression: object = published_regression(gpu.id)
    except NoRegressionError:
        regression = None
    names = ["regression", "wavelet"]
    if config.prediction.model is ModelChoice.WAVELET_PUBLISHED:
        names.append(config.prediction.model.value)
    models = [power_model(gpu, name) for name in names]
    choice = load_choice(gpu.id)
    variants = all_stored_variants(gpu.id)
    coefficients = (gpu, energy_model(gpu), regression, *models, choice and choice.name, *variants)
    settings = (
        config.prediction.model.value,
        config.prediction.method.value,
        "half",  # what was the option --branches: baselines made while there was one stay comparable
        config.prediction.branch_threshold,
        None if config.prediction.dense_from == DENSE_FROM else config.prediction.dense_from,
        config.facts.overrides,
        config.parse.defines,
        None if config.parse.standard == DEFAULT_STANDARD else config.parse.standard,
        config.facts.branch_profile,
        config.clocks.core_mhz,
        config.clocks.memory_mhz,
        *(() if config.facts.program_arguments is None else (config.facts.program_arguments,)),
        *config.facts.data,
        *(() if config.parse.fast_math is None else (config.parse.fast_math,)),
    )
    return Made(gpu.id, _hash(coefficients), _hash(settings))


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def baseline_records(analysis: Analysis, path: Path) -> tuple[LaunchRecord, ...]:
    """The launches of an analysis with files as a baseline at `path` has them."""
    folder = path.resolve().parent
    return records_of(analysis, lambda file: shared_path(file, folder))


def shared_path(file: str, folder: Path) -> str:
    """`file` from `folder`, with slashes."""
    return Path(os.path.relpath(os.path.realpath(file), folder)).as_posix()


def write_baseline(path: Path, analysis: Analysis, made: Made) -> tuple[int, int]:
    """Writes the launches of the analysed files, all at once or not at all; their number, and of those kept.

    Lines about other files are kept when they were made alike and the files exist. Raises `BaselineError`.
    """
    folder = path.resolve().parent
    own = baseline_records(analysis, path)
    analysed = {shared_path(file, folder) for file in analysis.files} | {record.file for record in own}
    unread = {shared_path(file, folder) for file in analysis.unread}
    kept: list[LaunchRecord] = []
    if path.exists():
        before = read_baseline(path)
        if before.made == made:
            kept = [
                record
                for record in before.records
                if record.file not in analysed and (folder / record.file).is_file()
            ]
            unread |= {file for file in before.unread if file not in analysed and (folder / file).is_file()}
    text = baseline_text(made, (*own, *kept), unread)
    try:
        write_text(path.resolve(), text)
    except OSError as error:
        raise BaselineError(f"cannot be written: {error.strerror}", path=path) from None
    return len(own), len(kept)


def baseline_text(made: Made, records: Iterable[LaunchRecord], unread: Iterable[str] = ()) -> str:
    """The file's text."""
    head = [_TITLE, *(f"# {name} {getattr(made, name)}" for name in Made.__struct_fields__)]
    head += (f"# {_UNREAD} {_quoted(file)}" for file in sorted(unread))
    ordered = sorted(records, key=lambda record: (record.file, record.kernel, record.ordinal))
    lines = ["\t".join(_COLUMNS), *("\t".join(_cells(record)) for record in ordered)]
    return "".join(f"{line}\n" for line in (*head, *lines))


def _cells(record: LaunchRecord) -> tuple[str, ...]:
    figures = (record.power_w, record.energy_j, record.time_s)
    return (
        _quoted(record.file),
        _quoted(record.kernel),
        str(record.ordinal),
        "x".join(map(str, record.grid)),
        "x".join(map(str, record.block)),
        *("" if figure is None else f"{figure:.6g}" for figure in figures),
        record.model,
        record.body,
        "" if record.times is None else str(record.times),
    )


_SHORT = {"\\": "\\\\", "\t": "\\t", "\n": "\\n"}
_LONG = {short: character for character, short in _SHORT.items()}
_ESCAPE = regex(r"\\(?:[\\tn]|U[0-9a-f]{8})")


def _quoted(text: str) -> str:
    """A name on one line of printable text; file names hold line ends, controls and bytes of no encoding."""
    return "".join(
        _SHORT.get(character) or (character if character.isprintable() else f"\\U{ord(character):08x}")
        for character in text
    )


def _unquoted(text: str) -> str:
    return _ESCAPE.sub(lambda match: _LONG.get(match[0]) or chr(int(match[0][2:], 16)), text)


def read_baseline(path: Path) -> Baseline:
    """Reads a baseline. Raises `BaselineError` with the line that is wrong."""
    try:
        lines = [line.removesuffix("\r") for line in file_bytes(path).decode("utf-8-sig").split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text"
        raise BaselineError(
            f"cannot read the baseline: {reason}", path=path, remedy=_REMEDY.format(path.name)
        ) from None
    if lines[:1] != [_TITLE]:
        raise BaselineError(
            "not a baseline of wattslice", path=path, line=1, remedy=_REMEDY.format(path.name)
        )
    heads = {"\t".join(_COLUMNS), "\t".join(_FIRST_COLUMNS)}
    above = next((number for number, line in enumerate(lines) if line in heads), 0)
    comments = [line[2:].partition(" ") for line in lines[:above] if line.startswith("# ")]
    head = {name: value for name, _, value in comments}
    names = list(Made.__struct_fields__)
    if not all(name in head for name in names):
        raise BaselineError("its head is not complete", path=path, remedy=_REMEDY.format(path.name))
    body = ((number, line) for number, line in enumerate(lines[above + 1 :], above + 2) if line)
    records = tuple(_record(path, number, line) for number, line in body)
    unread = tuple(_unquoted(value) for name, _, value in comments if name == _UNREAD)
    return Baseline(path, Made(**{name: head[name] for name in names}), records, unread)


def _record(path: Path, number: int, line: str) -> LaunchRecord:
    cells = line.split("\t")
    try:
        file, kernel, ordinal, grid, block, power_w, energy_j, time_s, model, body, *times = cells
        (times,) = times or ("",)
        return LaunchRecord(
            _unquoted(file),
            _unquoted(kernel),
            int(ordinal),
            _dim3(grid),
            _dim3(block),
            _figure(power_w),
            _figure(energy_j),
            _figure(time_s),
            model,
            body,
            int(times) if times else None,
        )
    except ValueError:
        raise BaselineError(
            "not a line of a baseline", path=path, line=number, remedy=_REMEDY.format(path.name)
        ) from None


def _figure(cell: str) -> float | None:
    if not cell:
        return None
    figure = float(cell)
    if not 0 < figure < math.inf:
        raise ValueError
    return figure


def _dim3(text: str) -> Dim3:
    x, y, z = map(int, text.split("x"))
    return x, y, z


def check_comparable(baseline: Baseline, made: Made) -> None:
    """Raises `BaselineError` when the figures were predicted with something else than now."""
    names = {"gpu": "another GPU", "coefficients": "other coefficients", "settings": "other settings"}
    for field, what in names.items():
        before, now = getattr(baseline.made, field), getattr(made, field)
        if before != now:
            raise BaselineError(
                f"its figures are of {what} ({before}, now {now})",
                path=baseline.path,
                remedy=_REMEDY.format(baseline.path.name),
            )


def records_of_files(
    baseline: Baseline, files: Sequence[str], new: Sequence[LaunchRecord]
) -> tuple[LaunchRecord, ...]:
    """What the baseline knows of the analysed files, of those with kernels in `new` (headers), and of files
    that are gone since.
    """
    folder = baseline.path.resolve().parent
    wanted = {shared_path(file, folder) for file in files} | {record.file for record in new}
    return tuple(
        record
        for record in baseline.records
        if record.file in wanted or not os.path.exists(folder / record.file)  # noqa: PTH110  (any name)
    )
