"""wattslice as a library: the command line's analysis as functions with typed results.

`import wattslice` offers what stands here and loads it when it is first used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, cast

from msgspec.structs import replace

from wattslice.analysis import (
    Advice,
    Analysis,
    ArmAnalysis,
    Basis,
    BranchClass,
    KernelAnalysis,
    KernelSource,
    Launch,
    LineHeat,
    MethodWatts,
    Power,
    Precision,
    ProfileUse,
    Resources,
    Roofline,
    RooflinePoint,
    SliceAnalysis,
    SourceText,
    Suppression,
    Work,
)
from wattslice.config.config import Config, Options, make_config
from wattslice.config.options import Kind, Place, said_at
from wattslice.config.rule_choices import RuleChoice, RuleChoices
from wattslice.config.settings import find_settings
from wattslice.counting.profile import LoopTrips, ProbabilitySource
from wattslice.errors import FrontendError, WattsliceError
from wattslice.findings.findings import Finding, findings_of
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.ir import Diagnostic, MemorySpace, Severity
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import About, Assumption, LaunchSource
from wattslice.workload.instructions.kinds import InstructionCount
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline
from wattslice_models.program_power import SubSlice
from wattslice_models.types import Held, Wanted

__all__ = [
    "About",
    "Advice",
    "Analysis",
    "ArmAnalysis",
    "Assumption",
    "Basis",
    "BranchClass",
    "Diagnostic",
    "EnergyRoofline",
    "Finding",
    "FrontendError",
    "Held",
    "InstructionCount",
    "KernelAnalysis",
    "KernelSource",
    "Launch",
    "LaunchSource",
    "LineHeat",
    "LoopTrips",
    "MemorySpace",
    "MethodWatts",
    "OperationCounts",
    "Power",
    "Precision",
    "ProbabilitySource",
    "ProfileUse",
    "ProgramArguments",
    "Resources",
    "Roofline",
    "RooflinePoint",
    "RuleChoice",
    "RuleChoices",
    "Severity",
    "SliceAnalysis",
    "SourceText",
    "SubSlice",
    "Suppression",
    "TimeRoofline",
    "Wanted",
    "WattsliceError",
    "Work",
    "analyze",
    "analyze_text",
    "findings_of",
    "to_json",
]

AnyPath = str | Path
Number = int | float


class TextOptions(TypedDict, total=False):
    """What `analyze_text` can be told: options of the command line, under the names of its settings.

    `set` and `define` may be texts (``"n=4096"``) or a mapping (``{"n": 4096}``; of a macro without value:
    None).
    """

    gpu: str | None
    model: Literal["auto", "regression", "wavelet", "wavelet-published", "energy"] | None
    method: Literal["auto", "bspm", "bdpm", "expected"] | None
    delta: float | None
    dense_from: float | None
    set: Mapping[str, Number] | Iterable[str]
    data: str | Iterable[str]
    launch: str | Iterable[str]
    args: str | None
    include: AnyPath | Iterable[AnyPath]
    define: Mapping[str, Number | str | None] | Iterable[str]
    nvcc_flags: str | None
    std: str | None
    compile_commands: AnyPath | None
    profile: AnyPath | None
    core_mhz: float | None
    mem_mhz: float | None
    select: str | Iterable[str]
    ignore: str | Iterable[str]
    severity: str | Iterable[str]


class FileOptions(TextOptions, total=False):
    """What `analyze` can be told. `cache` True: the user's folder; False: none."""

    jobs: int | None
    backend: Literal["loky", "dask", "ray"] | None
    scheduler: str | None
    cache: AnyPath | bool


def analyze(
    paths: AnyPath | Iterable[AnyPath],
    *,
    done: Callable[[Path], None] = lambda path: None,
    **options: Unpack[FileOptions],
) -> Analysis:
    """Watts, seconds and joules of every kernel in files or folders: `wattslice analyze` as a function.

    Options are those of the command line, settings files count as there. `done` is called with every file
    whose result is there, out of order.

    Raises `WattsliceError` for a wrong option, a missing file, or a single file that cannot be read; of
    several files those that cannot be read become diagnostics.
    """
    from wattslice.pipeline.cache.keeper import with_usable_cache
    from wattslice.pipeline.files import analyze_files

    files = _paths(paths)
    if not files:
        raise WattsliceError("no file to analyse", remedy="name a file or a folder")
    config = with_usable_cache(make_config(_options("analyze", Place.FILES, files, options)))
    _warn(config)
    return analyze_files(config, done)


def analyze_text(text: str, path: AnyPath = "kernel.cu", **options: Unpack[TextOptions]) -> Analysis:
    """The same for a text that need not be on the disk. `path`: where it would stand.

    Its name tells CUDA from C, its folder is where headers, calling files and settings are looked for.
    Raises `WattsliceError` as `analyze` does for a single file.
    """
    from wattslice.pipeline.incremental import IncrementalAnalyzer

    place = Path(path)
    said = _options("analyze_text", Place.TEXT, (), options)
    config = make_config(replace(said, no_cache=True), find_settings((place,)))
    _warn(config)
    return IncrementalAnalyzer(config).analyze(place, text)


def to_json(analysis: Analysis) -> str:
    """The text of ``wattslice analyze --format json``."""
    from wattslice.report.json import render_json

    return render_json(analysis)


def _options(function: str, place: Place, paths: tuple[Path, ...], given: Mapping[str, object]) -> Options:
    """Arguments as the table of options knows them. Raises TypeError for one that it does not know."""
    known = {option.argument: option for option in said_at(place).values()}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
        if name == "cache" and isinstance(value, bool):
            values["no_cache"] = not value
        elif value is not None:
            values[known[name].field] = _CONVERT.get(known[name].kind, lambda given: given)(value)
    return Options(paths=paths, **values)


def _warn(config: Config) -> None:
    for note in config.notes:
        warnings.warn(note, stacklevel=3)


def _paths(paths: AnyPath | Iterable[AnyPath]) -> tuple[Path, ...]:
    return (Path(paths),) if isinstance(paths, str | Path) else tuple(Path(path) for path in paths)


def _texts(given: str | Iterable[str] | Mapping[str, Number | str | None]) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Mapping):
        return tuple(given)
    values = cast("Mapping[str, Number | str | None]", given)
    return tuple(name if value is None else f"{name}={value}" for name, value in values.items())


_CONVERT: dict[Kind, Callable[[Any], object]] = {Kind.PATH: Path, Kind.PATHS: _paths, Kind.TEXTS: _texts}
