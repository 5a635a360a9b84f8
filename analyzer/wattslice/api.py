"""wattslice as a library: the command line's analysis as functions with typed results.

`import wattslice` offers what stands here and loads it when it is first used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal, cast

from wattslice.analysis import (
    Advice,
    Analysis,
    ArmAnalysis,
    BranchClass,
    KernelAnalysis,
    LineHeat,
    MethodWatts,
    Precision,
    ProfileUse,
    Roofline,
    RooflinePoint,
    SliceAnalysis,
    SourceText,
    Suppression,
)
from wattslice.config.config import Config, ConfigError, Options, make_config
from wattslice.config.settings import Settings, find_settings
from wattslice.counting.profile import LoopTrips, ProbabilitySource
from wattslice.errors import FrontendError, WattsliceError
from wattslice.findings.findings import Finding, findings_of
from wattslice.ir import Diagnostic, MemorySpace, Severity
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import Assumption, LaunchSource
from wattslice.workload.instructions.kinds import InstructionCount
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline
from wattslice_models.program_power import SubSlice

__all__ = [
    "Advice",
    "Analysis",
    "ArmAnalysis",
    "Assumption",
    "BranchClass",
    "Diagnostic",
    "EnergyRoofline",
    "Finding",
    "FrontendError",
    "InstructionCount",
    "KernelAnalysis",
    "LaunchSource",
    "LineHeat",
    "LoopTrips",
    "MemorySpace",
    "MethodWatts",
    "OperationCounts",
    "Precision",
    "ProbabilitySource",
    "ProfileUse",
    "Roofline",
    "RooflinePoint",
    "Severity",
    "SliceAnalysis",
    "SourceText",
    "SubSlice",
    "Suppression",
    "TimeRoofline",
    "WattsliceError",
    "analyze",
    "analyze_text",
    "findings_of",
    "to_json",
]

AnyPath = str | Path
Number = int | float
Model = Literal["auto", "regression", "wavelet", "energy"]
Method = Literal["auto", "bspm", "bdpm", "expected"]
Backend = Literal["loky", "dask", "ray"]


def analyze(
    paths: AnyPath | Iterable[AnyPath],
    *,
    gpu: str | None = None,
    model: Model | None = None,
    method: Method | None = None,
    delta: float | None = None,
    dense_from: float | None = None,
    set: Mapping[str, Number] | Iterable[str] = (),  # noqa: A002  (the option's name)
    launch: str | Iterable[str] = (),
    include: AnyPath | Iterable[AnyPath] = (),
    define: Mapping[str, Number | str | None] | Iterable[str] = (),
    std: str | None = None,
    compile_commands: AnyPath | None = None,
    profile: AnyPath | None = None,
    core_mhz: float | None = None,
    mem_mhz: float | None = None,
    jobs: int | None = None,
    backend: Backend | None = None,
    scheduler: str | None = None,
    cache: AnyPath | bool = True,
    done: Callable[[Path], None] = lambda path: None,
) -> Analysis:
    """Watts, seconds and joules of every kernel in files or folders: `wattslice analyze` as a function.

    Options are those of the command line, settings files count as there. `set` and `define` may be texts
    (``"n=4096"``) or a mapping (``{"n": 4096}``; of a macro without value: None). `cache` True: the user's
    folder; False: none. `done` is called with every file whose result is there, out of order.

    Raises `WattsliceError` for a wrong option, a missing file, or a single file that cannot be read; of
    several files those that cannot be read become diagnostics.
    """
    from wattslice.pipeline.files import analyze_files

    files = _paths(paths)
    if not files:
        raise ConfigError("no file to analyse", remedy="name a file or a folder")
    options = Options(
        paths=files,
        gpu=gpu,
        model=model,
        method=method,
        delta=delta,
        dense_from=dense_from,
        overrides=_assignments(set),
        launches=_texts(launch),
        include_directories=_paths(include),
        definitions=_assignments(define),
        language_standard=std,
        compile_commands_directory=_path(compile_commands),
        profile=_path(profile),
        core_clock_mhz=core_mhz,
        memory_clock_mhz=mem_mhz,
        jobs=jobs,
        backend=backend,
        scheduler=scheduler,
        cache=None if isinstance(cache, bool) else Path(cache),
        no_cache=cache is False,
    )
    return analyze_files(_config(options), done)


def analyze_text(
    text: str,
    path: AnyPath = "kernel.cu",
    *,
    gpu: str | None = None,
    model: Model | None = None,
    method: Method | None = None,
    delta: float | None = None,
    dense_from: float | None = None,
    set: Mapping[str, Number] | Iterable[str] = (),  # noqa: A002
    launch: str | Iterable[str] = (),
    include: AnyPath | Iterable[AnyPath] = (),
    define: Mapping[str, Number | str | None] | Iterable[str] = (),
    std: str | None = None,
    compile_commands: AnyPath | None = None,
    profile: AnyPath | None = None,
    core_mhz: float | None = None,
    mem_mhz: float | None = None,
) -> Analysis:
    """The same for a text that need not be on the disk. `path`: where it would stand.

    Its name tells CUDA from C, its folder is where headers, calling files and settings are looked for.
    Raises `WattsliceError` as `analyze` does for a single file.
    """
    from wattslice.pipeline.incremental import IncrementalAnalyzer

    options = Options(
        paths=(),
        gpu=gpu,
        model=model,
        method=method,
        delta=delta,
        dense_from=dense_from,
        overrides=_assignments(set),
        launches=_texts(launch),
        include_directories=_paths(include),
        definitions=_assignments(define),
        language_standard=std,
        compile_commands_directory=_path(compile_commands),
        profile=_path(profile),
        core_clock_mhz=core_mhz,
        memory_clock_mhz=mem_mhz,
        no_cache=True,
    )
    place = Path(path)
    return IncrementalAnalyzer(_config(options, find_settings((place,)))).analyze(place, text)


def to_json(analysis: Analysis) -> str:
    """The text of ``wattslice analyze --format json``."""
    from wattslice.report.json import render_json

    return render_json(analysis)


def _config(options: Options, settings: Settings | None = None) -> Config:
    config = make_config(options, settings)
    for note in config.notes:
        warnings.warn(note, stacklevel=3)
    return config


def _paths(paths: AnyPath | Iterable[AnyPath]) -> tuple[Path, ...]:
    return (Path(paths),) if isinstance(paths, str | Path) else tuple(Path(path) for path in paths)


def _path(path: AnyPath | None) -> Path | None:
    return None if path is None else Path(path)


def _texts(texts: str | Iterable[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)


def _assignments(
    given: Mapping[str, Number] | Mapping[str, Number | str | None] | Iterable[str],
) -> tuple[str, ...]:
    if not isinstance(given, Mapping):
        return _texts(given)
    values = cast("Mapping[str, Number | str | None]", given)
    return tuple(name if value is None else f"{name}={value}" for name, value in values.items())
