"""Everything one run needs, parsed once and checked, and immutable from then on."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice.branch_profile.profile import BranchProfile
from wattslice.config.gpu_choice import GpuChoice, choose_gpu
from wattslice.config.options import (
    DELTA,
    DENSE_FROM,
    JOBS,
    OPTIONS,
    Backend,
    Choices,
    MethodChoice,
    ModelChoice,
    Option,
    before,
)
from wattslice.config.rule_choices import RuleChoices, rule_choices
from wattslice.config.settings import Settings, find_settings, settings_prefix
from wattslice.config.sources import source_files
from wattslice.documents import did_you_mean, line_of
from wattslice.errors import WattsliceError
from wattslice.frontend.inputs import Search, note_search
from wattslice.frontend.parse_options import DEFAULT_STANDARD, FAST_MATH, ParseOptions
from wattslice.frontend.project.runs import ProgramArguments, parse_arguments
from wattslice.launches.data import parse_data
from wattslice.launches.launch import NO_OVERRIDES, ArrayData, Overrides
from wattslice.launches.overrides import OverrideError, parse_overrides
from wattslice.patterns import regex
from wattslice.user_folders import CACHE_MIB, default_cache
from wattslice_models.execution_time import (
    Clocks,
    core_clock_range_mhz,
    memory_clock_range_mhz,
    nvidia_smi_memory_mhz,
)
from wattslice_models.gpu import Gpu, load_gpu

_CXX_STANDARD = regex(r"(c|gnu)\+\+(11|0x|14|1y|17|1z|20|2a|23|2b|26|2c)")
_C_STANDARD = regex(r"(c|gnu)(89|90|99|9x|11|1x|17|18|23|2x)")
_STANDARDS = "c++11, c++14, c++17, c++20, c++23 or c++26, or gnu++ for c++"
"""What libclang 18 takes for CUDA; before C++11 there was too little to write down CUDA's header in."""


_PORT = r"[^\s/]+:\d{1,5}"
_ADDRESSES = {
    Backend.DASK: (regex(rf"((tcp|tls|ucx|wss?)://)?{_PORT}|inproc://.+"), "tcp://HOST:8786"),
    Backend.RAY: (regex(rf"auto|local|(ray://)?{_PORT}"), "auto, HOST:6379 or ray://HOST:10001"),
}
"""What addresses of schedulers look like, and how to say it."""


class Options(Choices, frozen=True, kw_only=True):
    """The command line as typed; None or empty where an option was not given."""

    paths: tuple[Path, ...]


class Prediction(Struct, frozen=True):
    """How watts are predicted.

    `branch_threshold` is δ in [0, 1), `dense_from` the share of statements in dividing arms that makes a
    kernel branch-dense. `variants`: whether what measured variants of a kernel taught corrects its
    predictions.
    """

    model: ModelChoice = ModelChoice.AUTO
    method: MethodChoice = MethodChoice.AUTO
    branch_threshold: float = DELTA
    dense_from: float = DENSE_FROM
    variants: bool = True


class Facts(Struct, frozen=True):
    """What the user says of the runs of the program.

    `overrides` come from options and settings; `typed_overrides` are those of the options alone, which must
    name something. `program_arguments` None: as the build files around a program run it. `data`: what arrays
    hold.
    """

    overrides: Overrides = NO_OVERRIDES
    typed_overrides: Overrides = NO_OVERRIDES
    program_arguments: ProgramArguments | None = None
    branch_profile: BranchProfile | None = None
    data: tuple[ArrayData, ...] = ()


class Execution(Struct, frozen=True):
    """What runs the analysis and where results are kept; it decides no result.

    `jobs` processes, 0: one per core; `cache`: the folder of kept results, None: without.
    """

    jobs: int = JOBS
    backend: Backend = Backend.LOKY
    scheduler: str | None = None
    cache: Path | None = None
    cache_limit_bytes: int = CACHE_MIB << 20


class Config(Struct, frozen=True):
    """One run.

    `files` as the user wrote them, at least one. `notes` are for the user (stderr). `keep_sources`: the
    analysis carries the text of the sources, for reports that show it. `rules`: which findings are told.
    `settings_path`: the file beside the sources that `set` and `launch` come from.
    """

    files: tuple[Path, ...]
    gpu: GpuChoice
    clocks: Clocks = field(default_factory=Clocks)
    prediction: Prediction = Prediction()
    facts: Facts = Facts()
    parse: ParseOptions = field(default_factory=ParseOptions)
    execution: Execution = Execution()
    notes: tuple[str, ...] = ()
    keep_sources: bool = False
    rules: RuleChoices = RuleChoices()
    settings_path: Path | None = None


def make_config(options: Options, settings: Settings | None = None) -> Config:
    """Check everything and put it together: option before setting before default.

    Lists (`-I`, `-D`, `--set`, `--launch`) of options and settings are both used, those of the settings
    first; of two values for one name the option's counts. `settings` None: look for the file.
    Raises `WattsliceError` saying which option, or key of which file, is wrong.
    """
    files = source_files(options.paths)
    settings = find_settings(options.paths) if settings is None else settings
    with naming_settings(options, settings):
        return _config(files, options, settings)


def _config(files: tuple[Path, ...], options: Options, settings: Settings) -> Config:
    with _named_in(settings, "gpu", is_typed=options.gpu is not None):
        gpu = choose_gpu(options.gpu, settings.gpu, settings.file_of("gpu"))
        board = load_gpu(gpu.gpu_id)
    with _named_in(settings, "profile", is_typed=options.profile is not None):
        profile, branch_profile = merged(options, settings).profile, None
        if profile is not None:
            from wattslice.branch_profile.files import read_branch_profile

            branch_profile = read_branch_profile(profile)
    said = merged(options, settings)
    _check_folders(said.include_directories, said.compile_commands_directory)
    check_definitions(said.definitions)
    backend = choice(Backend, "--backend", said.backend)
    delta, shares, mib = said.delta, said.dense_from, said.cache_mib
    check("--delta", delta, "a probability threshold", "0 <= delta < 1", holds=lambda p: 0 <= p < 1)
    check("--dense-from", shares, "a share of statements", "0 < share <= 1, such as 0.2", holds=_is_share)
    check("cache-mib", mib, "a size", "a whole number of MiB, 1 or more", holds=lambda size: size >= 1)
    cache, cache_notes = _cache(said.cache, options)
    check_settings(settings)
    return Config(
        files=files,
        gpu=gpu,
        clocks=Clocks(
            _clock("--core-mhz", said.core_clock_mhz, core_clock_range_mhz(board), board),
            _clock("--mem-mhz", said.memory_clock_mhz, memory_clock_range_mhz(board), board),
        ),
        prediction=Prediction(
            model=choice(ModelChoice, "--model", said.model),
            method=choice(MethodChoice, "--method", said.method),
            branch_threshold=DELTA if delta is None else delta,
            dense_from=DENSE_FROM if shares is None else shares,
        ),
        facts=Facts(
            overrides=parse_overrides(said.launches, said.overrides),
            typed_overrides=parse_overrides(options.launches, options.overrides),
            program_arguments=_program_arguments(said.program_arguments),
            branch_profile=branch_profile,
            data=parse_data(said.data),
        ),
        parse=ParseOptions(
            include_dirs=said.include_directories,
            defines=said.definitions,
            standard=_standard(said.language_standard, files),
            compile_commands=said.compile_commands_directory,
            fast_math=_fast_math(said.compiler_flags),
        ),
        execution=Execution(
            jobs=_jobs(options.jobs if options.jobs is not None else _most_jobs(settings)),
            backend=backend,
            scheduler=_scheduler(options.scheduler, settings.scheduler, backend),
            cache=cache,
            cache_limit_bytes=(CACHE_MIB if mib is None else mib) << 20,
        ),
        notes=(*_notes(gpu, board, said.memory_clock_mhz), *cache_notes),
        rules=rule_choices(said.select, said.ignore, said.severity),
        settings_path=None if {"overrides", "launches"} & settings.users else settings.path,
    )


Choice = TypeVar("Choice", bound=Enum)


def choice(kind: type[Choice], option: str, value: str | None) -> Choice:
    """What a word means, the first of its kind without one. Raises `WattsliceError` that names the option."""
    known = [str(member.value) for member in kind]
    if value is None:
        value = known[0]
    if value not in known:
        raise WattsliceError(f"{option}: unknown value {value!r}", remedy=did_you_mean(value, known))
    return kind(value)


def check(
    option: str, value: float | None, what: str, remedy: str, *, holds: Callable[[float], bool]
) -> None:
    """Raises `WattsliceError` for a number that was given and for which `holds` does not."""
    if value is not None and not holds(value):
        raise WattsliceError(f"{option}: {value:g} is not {what}", remedy=remedy)


def _is_share(value: float) -> bool:
    return 0 < value <= 1


def is_amount(value: float) -> bool:
    """Whether it is a finite number above 0."""
    return math.isfinite(value) and value > 0


def _clock(option: str, value: float | None, possible: tuple[float, float], board: Gpu) -> float | None:
    check(option, value, "a clock", "a positive number of MHz", holds=is_amount)
    if value is not None and not possible[0] <= value <= possible[1]:
        remedy = f"{possible[0]:g} to {possible[1]:g} MHz"
        raise WattsliceError(f"{option}: no {board.name} runs at {value:.9g} MHz", remedy=remedy)
    return value


def _program_arguments(value: str | None) -> ProgramArguments | None:
    if value is None:
        return None
    try:
        return parse_arguments(value)
    except ValueError as error:
        raise WattsliceError(f"--args: {value!r}: {error}", remedy="close the quotation") from None


def _fast_math(value: str | None) -> str | None:
    if value is None or not value.split():
        return value
    other = next((word for word in value.split() if word not in FAST_MATH), None)
    if other is not None:
        remedy = "macros are -D; of other flags --use_fast_math alone changes what is counted"
        raise WattsliceError(f"--nvcc-flags: {other!r} is not known", remedy=remedy)
    return "--nvcc-flags"


def _jobs(value: int | None) -> int:
    remedy = "1 or more; 0 means one per core"
    check("--jobs", value, "a number of processes", remedy, holds=lambda number: number >= 0)
    return JOBS if value is None else value


def _most_jobs(settings: Settings) -> int | None:
    """What settings ask for; those beside sources, a stranger's perhaps, start no thousand processes."""
    if settings.jobs is None or "jobs" in settings.users:
        return settings.jobs
    return min(settings.jobs, 4 * (os.cpu_count() or 1))


def _scheduler(option: str | None, setting: str | None, backend: Backend) -> str | None:
    if backend is not Backend.LOKY:
        _check_address(backend, option or setting)
        return option or setting
    if option is not None:
        raise WattsliceError(
            f"--scheduler {option}: processes of this machine need none",
            remedy="add --backend dask or --backend ray",
        )
    return None


def _check_address(backend: Backend, scheduler: str | None) -> None:
    """Raises `WattsliceError` for what cannot be the address of a scheduler."""
    pattern, example = _ADDRESSES.get(backend, (None, ""))
    if scheduler is not None and pattern is not None and not pattern.fullmatch(scheduler):
        message = f"--scheduler: {scheduler!r} is no address of a {backend.value} scheduler"
        raise WattsliceError(message, remedy=f"such as {example}")


def _cache(said: Path | None, options: Options) -> tuple[Path | None, tuple[str, ...]]:
    """The folder of kept results, None for no such folder; and why there is none by default."""
    if options.no_cache and options.cache is not None:
        raise WattsliceError("--cache and --no-cache contradict each other", remedy="keep one of them")
    if options.no_cache:
        return None, ()
    try:
        path = said or default_cache()
    except WattsliceError as error:
        return None, (str(error),)
    return None if path is None else path.absolute(), ()


def _standard(value: str | None, files: tuple[Path, ...]) -> str:
    if value is None:
        return DEFAULT_STANDARD
    if _CXX_STANDARD.fullmatch(value):
        return value
    if not _C_STANDARD.fullmatch(value):
        raise WattsliceError(f"--std: {value!r} is no standard that can be read", remedy=_STANDARDS)
    cuda = next((file for file in files if file.suffix != ".c"), None)
    if cuda is not None:
        raise WattsliceError(f"--std: {value} is C, and {cuda} is read as C++", remedy=_STANDARDS)
    return value


def check_definitions(definitions: tuple[str, ...]) -> None:
    """Raises `WattsliceError` for one that no compiler takes."""
    for definition in definitions:
        if not re.fullmatch(r"[A-Za-z_]\w*(\([^()]*\))?(=.*)?", definition, flags=re.DOTALL):
            raise WattsliceError(
                f"-D: {definition!r} is not NAME or NAME=VALUE", remedy="such as -D BLOCK=256"
            )


def _check_folders(include_directories: tuple[Path, ...], compile_commands: Path | None) -> None:
    for folder in include_directories:
        note_search(Search.FOLDER, folder, (), (folder,))
        if not os.path.isdir(folder):  # noqa: PTH112  (a name that is too long is none)
            raise WattsliceError("-I: no such folder", path=folder, remedy="check the spelling")
    if compile_commands is not None and not os.path.isfile(compile_commands / "compile_commands.json"):  # noqa: PTH113
        remedy = "name the folder that holds it, e.g. the build folder"
        raise WattsliceError(
            "-p: no compile_commands.json in this folder", path=compile_commands, remedy=remedy
        )


def merged(first: Choices, settings: Settings) -> Settings:
    """What counts where an option, or an editor's setting, comes before the settings files."""
    return replace(settings, **before(first, settings))


@contextmanager
def naming_settings(options: Choices, settings: Settings) -> Generator[None]:
    """Errors ("--model: ...") about what a settings file says name that file and its key, not the option."""
    try:
        yield
    except WattsliceError as error:
        name, _, text = error.message.partition(": ")
        blamed = next((one for one in OPTIONS if text and one.name == name), None)
        path = None if blamed is None else settings.file_of(blamed.field)
        if blamed is None or path is None or not _is_of_settings(blamed, options, settings, error):
            raise
        about = "" if error.path is None else f": {error.path}"
        place = f"{settings_prefix(path)}{blamed.key}"
        message = f"{place}: {text}{about}"
        raise WattsliceError(message, path=path, line=line_of(path, place), remedy=error.remedy) from None


@contextmanager
def _named_in(settings: Settings, field: str, *, is_typed: bool) -> Generator[None]:
    """Errors about a file that the settings name, or about its name, say where they do."""
    try:
        yield
    except WattsliceError as error:
        path = None if is_typed else settings.file_of(field)
        if path is None:
            raise
        key = f"{settings_prefix(path)}{next(one.key for one in OPTIONS if one.field == field)}"
        line = line_of(path, key)
        if error.path == path:
            raise WattsliceError(error.message, path=path, line=line, remedy=error.remedy) from None
        place = f"{key} in {path}" if line is None else f"{key} in {path}:{line}"
        remedy = "; ".join(filter(None, (error.remedy, f"named by {place}")))
        raise WattsliceError(error.message, path=error.path, line=error.line, remedy=remedy) from None


def _is_of_settings(blamed: Option, options: Choices, settings: Settings, error: WattsliceError) -> bool:
    """Whether an error is about what the settings say of this option; of a list, about one of its entries."""
    said: object = getattr(settings, blamed.field)
    if blamed.is_silent(getattr(options, blamed.field, ())):
        return not blamed.is_silent(said)
    entries = cast("tuple[object, ...]", said) if isinstance(said, tuple) else ()
    return any(repr(entry) in error.message or entry == error.path for entry in entries)


def check_settings(settings: Settings) -> None:
    """Read the entries of `set` and `launch` of settings files. Raises as `check_entries` does."""
    for choices, name in (
        (Choices(launches=settings.launches), "launches"),
        (Choices(overrides=settings.overrides), "overrides"),
    ):
        path = settings.file_of(name)
        check_entries(choices, settings_prefix(path), path)


def check_entries(choices: Choices, prefix: str, path: Path | None) -> None:
    """Read the entries of `set` and `launch`, of a settings file `path` or of what else calls them `prefix`.

    Raises `WattsliceError` that says whose entry is wrong.
    """
    for key, launches, settings in (("launch", choices.launches, ()), ("set", (), choices.overrides)):
        try:
            parse_overrides(launches, settings)
        except OverrideError as error:
            message = error.message.replace(f"contradictory --{key}", "contradictory")
            message = message.removeprefix(f"--{key} ")
            remedy = error.remedy.replace(f"--{key} ", "")
            line = None if path is None else line_of(path, f"{prefix}{key}")
            raise WattsliceError(f"{prefix}{key}: {message}", path=path, line=line, remedy=remedy) from None


def _notes(choice: GpuChoice, board: Gpu, memory_mhz: float | None) -> tuple[str, ...]:
    notes: list[str] = []
    if choice.passed_over:
        found = f"the GPU of this machine, {choice.passed_over!r}, is not in the catalogue"
        notes.append(f"{found}; predicting for {choice.gpu_id}")
    full_mhz, sheet_mhz = nvidia_smi_memory_mhz(board), board.memory_clock_mhz
    if memory_mhz is None or sheet_mhz is None or full_mhz < 1.5 * sheet_mhz:
        return tuple(notes)
    if abs(memory_mhz / sheet_mhz - 1) < 0.02:
        share = f"{memory_mhz / full_mhz:.0%} of the {board.name}'s {full_mhz:.0f} MHz"
        notes.append(f"--mem-mhz counts as nvidia-smi does: {memory_mhz:g} MHz are {share}")
    return tuple(notes)
