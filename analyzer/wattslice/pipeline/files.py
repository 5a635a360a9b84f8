"""The main job, from files to an analysis. Reads like the list in docs/how-a-run-works.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Analysis
from wattslice.config.config import Config
from wattslice.config.options import Backend
from wattslice.config.sources import is_ptx
from wattslice.errors import EmptyFileError, WattsliceError
from wattslice.findings.findings import files_spoken_of
from wattslice.findings.quoting import Quoter
from wattslice.findings.suppressions import suppressions_in
from wattslice.frontend.cuda.read import (
    read_callers,
    read_definitions,
    read_launcher,
    read_linking,
    read_sharing,
)
from wattslice.frontend.inputs import Inputs, note_inputs, note_unrepeatable, recorded
from wattslice.frontend.limits import MOST_S, REMEDY, Watch, limited
from wattslice.frontend.project.runs import ProgramArguments, find_arguments
from wattslice.frontend.source_files import mentions
from wattslice.frontend.surroundings import Surroundings
from wattslice.ir import Diagnostic, Program, Severity
from wattslice.ir.walking import deep_recursion, in_one_piece, no_collections
from wattslice.launches.data import check_data
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.overrides import KnownNames, check_overrides, known_names, unmatched_settings
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice.pipeline.cache.keeper import CurrentInputs, Keeper, keeper
from wattslice.pipeline.joining import FileAnalysis, joined
from wattslice.pipeline.launch import LaunchResult, analyze_launch, bare_facts
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.variant_store import all_stored_variants

if TYPE_CHECKING:
    from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions


def _nobody(_path: Path) -> None:
    pass


def analyze_files(
    config: Config, done: Callable[[Path], None] = _nobody, begun: Callable[[Path], None] = _nobody
) -> Analysis:
    """Analyses every file of `config`, on as many processes as it says; what is known from an earlier run is
    not analysed again. `done` is called with every file as its result is there, `begun` as this process
    begins with one. The results stand in the order of the files, and are the same to the letter wherever they
    come from.

    A file that cannot be read at all raises `WattsliceError` when it is the only one; among several it
    becomes a diagnostic and the others are analysed. Options that name no kernel or variable of any file
    raise `OverrideError`. `WattsliceError` too when the package of the backend is missing, even where nobody
    needs it: what one file is told, many are.
    """
    if config.execution.backend is not Backend.LOKY:
        from wattslice.pipeline.clusters import check_package

        check_package(config.execution.backend)
    kept = keeper(config, FileAnalysis)
    if kept is None:
        note_unrepeatable()
    if len(config.files) == 1:
        (path,) = config.files
        begun(path)
        known = None if kept is None else kept.find(path, CurrentInputs())
        results = [_analyze_and_keep(path, config, kept) if known is None else known]
    else:
        results = _analyze_several(config, kept, done, begun)
    names = [result.names for result in results]
    check_overrides(config.facts.typed_overrides, names)
    check_data(config.facts.data, names)
    return collected(config, results, lambda name: _is_elsewhere(name, config))


def _is_elsewhere(name: str, config: Config) -> bool:
    """Whether a source below the settings may define what they name."""
    identifier = name.partition("<")[0].rpartition("::")[2].strip()
    return config.settings_path is None or mentions(config.settings_path.parent, identifier)


def collected(
    config: Config, results: Sequence[FileAnalysis], is_elsewhere: Callable[[str], bool] = lambda name: True
) -> Analysis:
    """What the files of one run gave, as one analysis. `is_elsewhere`: whether other files have a name."""
    gpu = load_gpu(config.gpu.gpu_id)
    unread = tuple(result.file for result in results if _is_unread(result))
    results = joined(results)
    told = (entry for result in results for entry in result.diagnostics)
    return Analysis(
        gpu_id=gpu.id,
        gpu_name=gpu.name,
        gpu_source=config.gpu.source,
        files=tuple(result.file for result in results),
        kernels=tuple(kernel for result in results for kernel in result.kernels),
        diagnostics=tuple(
            dict.fromkeys((*_about_profile(config, results), *_about_variants(config, results), *told))
        ),
        suppressions=tuple(dict.fromkeys(entry for result in results for entry in result.suppressions)),
        sources=tuple({source.file: source for result in results for source in result.sources}.values()),
        unread=unread,
        unmatched_settings=tuple(
            f"{_place(config, entry)}: {entry}: {error}"
            for entry, error in unmatched_settings(
                config.facts.overrides, [result.names for result in results], is_elsewhere
            )
        ),
        rules=config.rules,
    )


def _place(config: Config, entry: str) -> str:
    """Where an entry of the settings stands."""
    if config.settings_path is None:
        return "the settings"
    text, wanted = config.settings_path.read_text(encoding="utf-8-sig"), entry.partition(" ")[2]
    line = next((number for number, line in enumerate(text.splitlines(), 1) if wanted in line), None)
    return str(config.settings_path) if line is None else f"{config.settings_path}:{line}"


def _is_unread(result: FileAnalysis) -> bool:
    return not result.kernels and any(entry.severity is Severity.ERROR for entry in result.diagnostics)


def _about_profile(config: Config, results: Sequence[FileAnalysis]) -> tuple[Diagnostic, ...]:
    """Entries of the profile that no analysed file could use."""
    if config.facts.branch_profile is None:
        return ()
    from wattslice.branch_profile.binding import about_profile

    bound = [result.bound for result in results if result.bound is not None]
    return about_profile(config.facts.branch_profile, bound)


def _about_variants(config: Config, results: Sequence[FileAnalysis]) -> Iterator[Diagnostic]:
    """What measured variants taught of a kernel that is no longer in a file of its name."""
    if not config.prediction.variants:
        return
    kernels: dict[str, dict[str, str]] = {}  # by the names of files: their names, and the files
    for kernel in (one for result in results for one in result.kernels):
        kernels.setdefault(Path(kernel.source.file).name, {})[kernel.name] = kernel.source.file
    for stored in all_stored_variants(config.gpu.gpu_id):
        there = kernels.get(stored.file, {})
        if there and stored.kernel not in there:
            text = (
                f"measured variants of {stored.kernel} in a file of this name taught watts that no kernel "
                f"here uses ({', '.join(there)}): after a renaming, train --variants again"
            )
            yield Diagnostic("PW030", Severity.NOTE, next(iter(there.values())), 0, text)


class Stages:
    """The stages that cost time, each a pure function of its arguments: a subclass may remember answers.

    `most_s`: seconds of the processor for all of them.
    """

    most_s = MOST_S

    def program(
        self, path: Path, config: Config, source: bytes | None, wanted: frozenset[str] = frozenset()
    ) -> Program:
        """Source text to kernels and host functions."""
        return read_program(path, config, source, None, wanted)

    def neighbours(self, path: Path, config: Config) -> Neighbours:
        """Reads the files around this one."""
        return neighbours_of(path, config)

    def launches(
        self, program: Program, config: Config, gpu: Gpu, around: Neighbours
    ) -> tuple[KernelLaunch, ...]:
        """Host functions to launches."""
        return resolve_launches(program, config.facts.overrides, gpu, around)

    def launch(self, launch: KernelLaunch, config: Config, gpu: Gpu, quoter: Quoter) -> LaunchResult:
        """One launch to its watts."""
        return _analyze(launch, config, gpu, quoter)


def analyze_file(
    path: Path, config: Config, source: bytes | None = None, stages: Stages | None = None
) -> FileAnalysis:
    """One file from source text to watts; `source`: its bytes where they are newer than the disk.

    Where that has no end (`limits.py`), launches that were not reached have no figures and are told (PW001).
    Raises `WattsliceError` when the file cannot be read at all, or reading it has no end.
    """
    steps = stages or Stages()
    with no_collections():
        analyze = partial(_analyze_file, path, config, source, steps)
        return in_one_piece(lambda: limited(path, analyze, steps.most_s))


def _analyze_file(
    path: Path, config: Config, source: bytes | None, stages: Stages, watch: Watch
) -> FileAnalysis:
    gpu = load_gpu(config.gpu.gpu_id)
    others: list[Program] = []

    def launched(program: Program) -> tuple[KernelLaunch, ...]:
        host = path if program.origin is None else Path(program.origin.file)
        return stages.launches(program, config, gpu, _noting(stages.neighbours(host, config), others))

    program, launches = followed(partial(stages.program, path, config, source), launched)
    quoter = Quoter(program.file, program.source_lines, program.included)
    profile = config.facts.branch_profile
    bound = None
    if profile is not None:
        from wattslice.branch_profile.binding import bind

        bound = bind(profile, program, config.files, source)
        config = replace(config, facts=replace(config.facts, branch_profile=bound.profile))
    results = watch.as_far_as_possible(lambda launch: stages.launch(launch, config, gpu, quoter), launches)
    reason = f"not reached within the limits of a file: {watch.reason} ({REMEDY})"
    results += [_failed(launch, gpu, "PW001", reason) for launch in launches[len(results) :]]
    kernels = tuple(result.kernel for result in results)
    diagnostics = (*program.diagnostics, *(d for result in results for d in result.diagnostics))
    comments = suppressions_in((program.file, *files_spoken_of(kernels, diagnostics)), quoter)
    return FileAnalysis(
        program.file,
        kernels,
        tuple(dict.fromkeys((*diagnostics, *comments.diagnostics))),
        known_names(program, others, launches)
        if config.facts.data or config.facts.overrides != NO_OVERRIDES
        else KnownNames(),
        bound,
        comments.suppressions,
        quoter.quoted() if config.keep_sources else (),
    )


def _analyze_several(
    config: Config,
    kept: Keeper[FileAnalysis] | None,
    done: Callable[[Path], None],
    begun: Callable[[Path], None],
) -> list[FileAnalysis]:
    found: dict[Path, FileAnalysis] = {}
    current = CurrentInputs()
    for path in config.files:
        known = None if kept is None else kept.find(path, current)
        if known is not None:
            found[path] = known
            done(path)
    missing = [path for path in config.files if path not in found]
    if missing:
        # What travels to other processes should not name a thousand files that nobody needs there.
        each = config if config.facts.branch_profile is not None else replace(config, files=())
        task = partial(_analyze_or_report, config=each, kept=kept)
        for path, made in _run(task, missing, config, begun):
            note_inputs(made.inputs)
            found[path] = made.result
            done(path)
        if kept is not None:
            kept.trim()
    return [found[path] for path in config.files]


class _Made(Struct, frozen=True):
    """A result, and what it was made of; None: not of inputs alone."""

    result: FileAnalysis
    inputs: Inputs | None


def _run(
    task: Callable[[Path], _Made], paths: Sequence[Path], config: Config, begun: Callable[[Path], None]
) -> Iterator[tuple[Path, _Made]]:
    execution = config.execution
    if execution.backend is Backend.LOKY and (execution.jobs == 1 or len(paths) == 1):
        for path in paths:
            begun(path)
            yield path, task(path)
        return
    from wattslice.pipeline.workers import on_workers  # not for one file

    for number, result in on_workers(task, paths, execution, _lost):
        yield paths[number], result


def _lost(path: Path, reason: str) -> _Made:
    """A file whose process died, or that no process could begin with."""
    message = f"no result from the process that analysed this file: {reason}"
    return _Made(_unread(path, Diagnostic("PW099", Severity.ERROR, str(path), 0, message)), None)


def _analyze_and_keep(path: Path, config: Config, kept: Keeper[FileAnalysis] | None) -> FileAnalysis:
    if kept is None:
        return analyze_file(path, config)
    return kept.made(path, lambda: analyze_file(path, config), _is_lasting)


def _is_lasting(result: FileAnalysis) -> bool:
    """Whether another try would give the same: a defect of ours may come of too little memory."""
    return all(entry.rule != "PW099" for entry in result.diagnostics)


def neighbours_of(path: Path, config: Config) -> Neighbours:
    """Reads the files around a CUDA file, and says how its program is run: as its build does it by itself."""
    given, around = config.facts.program_arguments, Surroundings()

    def arguments(main: Path) -> ProgramArguments | None:
        return find_arguments(main, around) if given is None else given

    if path.suffix == ".c" or is_ptx(path):  # kernels no other file is asked about
        return Neighbours(arguments=arguments)
    return Neighbours(
        partial(read_callers, path, options=config.parse, around=around),
        partial(read_launcher, path, options=config.parse, around=around),
        arguments,
        lambda sought: read_definitions(*sought, options=config.parse, around=around, own=path),
        partial(read_linking, path, options=config.parse, around=around),
        partial(read_sharing, path, options=config.parse, around=around),
    )


_Question = TypeVar("_Question")


def _noting(around: Neighbours, read: list[Program]) -> Neighbours:
    """`around`, of which all that it reads for host code is added to `read`."""

    def noted(
        reader: Callable[[_Question], Sequence[Program]] | None,
    ) -> Callable[[_Question], Sequence[Program]] | None:
        def reading(question: _Question) -> Sequence[Program]:
            found = () if reader is None else reader(question)
            read.extend(found)
            return found

        return None if reader is None else reading

    callers, definitions = noted(around.callers), noted(around.definitions)
    linking, sharing = noted(around.linking), noted(around.sharing)
    return replace(around, callers=callers, definitions=definitions, linking=linking, sharing=sharing)


def followed(
    read: Callable[[frozenset[str]], Program], launched: Callable[[Program], tuple[KernelLaunch, ...]]
) -> tuple[Program, tuple[KernelLaunch, ...]]:
    """A program and its launches. What `read` is given are the instances of templates to be followed: where
    one is launched that is not, the program is read again.
    """
    program = read(frozenset())
    launches = launched(program)
    wanted = frozenset(one.kernel.mangled_name for one in launches if not one.kernel.is_followed)
    if wanted:
        program = read(wanted)
        launches = launched(program)
    return program, launches


def read_program(
    path: Path,
    config: Config,
    source: bytes | None = None,
    earlier: LoweredFunctions | None = None,
    wanted: frozenset[str] = frozenset(),
) -> Program:
    """The file as kernels and host functions; `source` None: as it is on the disk, `earlier`, `wanted`:
    `read_cuda`'s.

    Raises `FrontendError` when it cannot be read at all.
    """
    if path.suffix == ".c":
        from wattslice.frontend.c import read_c

        return read_c(path, config.parse, source)
    if is_ptx(path):
        from wattslice.frontend.ptx.read import read_ptx

        return read_ptx(path, config.parse, source)
    from wattslice.frontend.cuda.read import read_cuda

    return read_cuda(path, config.parse, source, earlier, wanted)


def _analyze(launch: KernelLaunch, config: Config, gpu: Gpu, quoter: Quoter) -> LaunchResult:
    """One launch; a failure of ours costs this launch's figures only and is told (PW099)."""
    if not (launch.kernel.body_is_complete or launch.kernel.body.statements):
        # Nothing could be read, the frontend has said why; nothing is computed that rests on assumptions.
        return LaunchResult(bare_facts(replace(launch, assumptions=()), gpu), ())
    try:
        with deep_recursion():
            return analyze_launch(launch, config, gpu, quoter)
    except RecursionError:
        return _failed(launch, gpu, "PW007", "statements or operators nest too deeply")
    except Exception as error:  # a defect in one stage must not lose the other kernels
        return _failed(launch, gpu, "PW099", f"internal error: {type(error).__name__}: {error}")


def _failed(launch: KernelLaunch, gpu: Gpu, rule: str, reason: str) -> LaunchResult:
    span = launch.kernel.span
    message = f"{launch.kernel.name}: power unknown: {reason}"
    diagnostic = Diagnostic(rule, Severity.ERROR, span.file, span.line, message)
    return LaunchResult(bare_facts(launch, gpu), (diagnostic,))


def _analyze_or_report(path: Path, config: Config, kept: Keeper[FileAnalysis] | None = None) -> _Made:
    """One file of several: what goes wrong with it is told and costs only itself."""
    with recorded() as recording:
        try:
            return _Made(_analyze_and_keep(path, config, kept), recording.inputs)
        except EmptyFileError as error:
            where = Diagnostic("PW001", Severity.NOTE, str(path), 0, f"{error.message}: no kernel is in it")
            return _Made(_unread(path, where), recording.inputs_with(str(path)))
        except WattsliceError as error:
            message = f"{error.message} ({error.remedy})" if error.remedy else error.message
            where = Diagnostic("PW001", Severity.ERROR, str(path), error.line or 0, message)
            return _Made(_unread(path, where), recording.inputs_with(str(path)))
        except Exception as error:  # a defect on one file must not lose the others
            message = f"internal error: {type(error).__name__}: {error}"
            where = Diagnostic("PW099", Severity.ERROR, str(path), 0, message)
    return _Made(_unread(path, where), None)


def _unread(path: Path, why: Diagnostic) -> FileAnalysis:
    return FileAnalysis(str(path), (), (why,), KnownNames())
