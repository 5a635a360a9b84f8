"""`wattslice sweep`: every variant of a kernel through the analysis, on as many processes as wished."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import KernelAnalysis
from wattslice.config.config import Config
from wattslice.config.options import Backend
from wattslice.errors import WattsliceError
from wattslice.findings.quoting import text_of
from wattslice.frontend.inputs import recorded
from wattslice.ir import Diagnostic, Program, Severity
from wattslice.launches.launch import KernelLaunch, LaunchOverride
from wattslice.launches.overrides import KnownNames, OverrideError, check_overrides, known_names, names_kernel
from wattslice.launches.resolver import Neighbours
from wattslice.patterns import regex
from wattslice.pipeline.files import Stages, analyze_file
from wattslice.pipeline.joining import FileAnalysis
from wattslice.pipeline.workers import on_workers
from wattslice.sweep.space import LaunchTemplate, Variant, numbers
from wattslice_models.gpu import Gpu
from wattslice_models.variant_residual import Taught

_WORD = regex(r"[A-Za-z_]\w*")
_WORTH_A_PROCESS = 8
"""Starting a process takes as long as so many variants."""


class Outcome(Enum):
    """What became of a variant."""

    PREDICTED = "predicted"
    NOT_COMPILED = "does not compile"
    NOT_LAUNCHED = "cannot be launched"
    UNKNOWN = "unknown"


class Goal(Enum):
    """What the best variant has least of."""

    TIME = "time"
    ENERGY = "energy"


class PredictedVariant(Struct, frozen=True):
    """A variant and what all its launches take together, each made once.

    `time_s` and `energy_j` are None unless `outcome` is PREDICTED; `reason` then says why. Of the `launches`
    only the totals are kept.
    """

    macros: Variant
    outcome: Outcome
    reason: str = ""
    launches: tuple[KernelAnalysis, ...] = ()
    time_s: float | None = None
    energy_j: float | None = None

    @property
    def power_w(self) -> float | None:
        """Mean over its launches."""
        return None if self.time_s is None or self.energy_j is None else self.energy_j / self.time_s

    def amount(self, goal: Goal) -> float | None:
        """Seconds or joules."""
        return self.time_s if goal is Goal.TIME else self.energy_j


class Sweep(Struct, frozen=True):
    """All variants, in the order of the space. `taught`: what measured variants have changed in them, now or
    by what they taught earlier.
    """

    gpu_id: str
    gpu_name: str
    gpu_source: str
    file: str
    variants: tuple[PredictedVariant, ...]
    taught: tuple[Taught, ...] = ()

    def sorted_by(self, goal: Goal) -> tuple[PredictedVariant, ...]:
        """The best first; those without figures last."""

        def place(variant: PredictedVariant) -> tuple[bool, float]:
            amount = variant.amount(goal)
            return amount is None, amount or 0.0

        return tuple(sorted(self.variants, key=place))

    def pareto(self) -> tuple[PredictedVariant, ...]:
        """Those that no other variant beats in seconds and in joules, the fastest first."""
        found: list[PredictedVariant] = []
        for variant in sorted(_predicted(self.variants), key=lambda one: (one.time_s, one.energy_j)):
            last = found[-1] if found else None
            if last is None or (variant.energy_j or 0.0) < (last.energy_j or 0.0) or _same(variant, last):
                found.append(variant)
        return tuple(found)


def _same(one: PredictedVariant, other: PredictedVariant) -> bool:
    return (one.time_s, one.energy_j) == (other.time_s, other.energy_j)


def _predicted(variants: Sequence[PredictedVariant]) -> Iterator[PredictedVariant]:
    return (variant for variant in variants if variant.outcome is Outcome.PREDICTED)


class Space(Struct, frozen=True):
    """What to predict: the variants, the launches of each, and the kernels that count (empty: all).

    `known`: further numbers that the launches may name. `made`: of each variant the launch that it is known
    to make, in place of those for the same kernel; empty: of none.
    """

    variants: tuple[Variant, ...]
    launches: tuple[LaunchTemplate, ...] = ()
    kernels: tuple[str, ...] = ()
    known: tuple[tuple[str, int], ...] = ()
    made: tuple[LaunchOverride | None, ...] = ()

    def launches_of(self, place: int) -> tuple[LaunchOverride, ...]:
        """Of the variant at `place`. Raises `ExpressionError`; `OverrideError` where it can be no launch."""
        made = self.made[place] if self.made else None
        names = numbers(self.variants[place], dict(self.known))
        others = (one for one in self.launches if made is None or one.kernel != made.kernel)
        return (*(one.launch(names) for one in others), *(() if made is None else (made,)))


def predict(
    config: Config, space: Space, done: Callable[[int], None] = lambda number: None
) -> tuple[PredictedVariant, ...]:
    """What each variant of the one file of `config` takes; `done` is called with the place of each.

    A variant that does not compile or fit is among them with its reason. Raises `WattsliceError` for an
    expression without a meaning, and for kernels and variables that no variant has.
    """
    found: dict[int, _Answer] = {}
    tasks: dict[int, _Task] = {}
    for place, variant in enumerate(space.variants):
        try:
            launches = space.launches_of(place)
        except OverrideError as error:
            found[place] = _Answer(PredictedVariant(variant, Outcome.NOT_LAUNCHED, error.message))
            done(place)
        else:
            tasks[place] = _Task(variant, launches)
    places = list(tasks)
    for number, answer in _run(
        partial(_predict, config, space.kernels), [tasks[place] for place in places], config
    ):
        found[places[number]] = answer
        done(places[number])
    answers = [found[place] for place in range(len(space.variants))]
    if names := [answer.names for answer in answers if answer.names is not None]:
        launches = (*config.facts.typed_overrides.launches, *next(task.launches for task in tasks.values()))
        check_overrides(replace(config.facts.typed_overrides, launches=launches), names)
    return tuple(answer.variant for answer in answers)


def unmentioned(config: Config, space: Space) -> tuple[str, ...]:
    """Macros of the variants that neither a launch of `space` nor any source of the first variant mentions:
    all their values are one to the analysis.
    """
    (path,) = config.files
    texts = [*(template.text for template in space.launches), text_of(str(path))]
    if found := _not_in([name for name, _ in space.variants[0]], texts):
        defines = (*config.parse.defines, *(f"{name}={value}" for name, value in space.variants[0]))
        with recorded() as recording, suppress(WattsliceError):
            analyze_file(path, replace(config, parse=replace(config.parse, defines=defines)), None, Stages())
        found = _not_in(found, [text_of(path) for path in recording.paths])
    return found


def no_source_has(name: str, file: Path) -> str:
    """Of a macro that `unmentioned` found."""
    return f"{name}: neither --launch nor a source of {file} mentions such a macro"


def _not_in(names: Sequence[str], texts: Sequence[str]) -> tuple[str, ...]:
    words = {word for text in texts for word in _WORD.findall(text)}
    return tuple(name for name in names if name not in words)


class _Task(Struct, frozen=True):
    variant: Variant
    launches: tuple[LaunchOverride, ...]


class _Answer(Struct, frozen=True):
    variant: PredictedVariant
    names: KnownNames | None = None


def _run(
    task: Callable[[_Task], _Answer], tasks: Sequence[_Task], config: Config
) -> Iterator[tuple[int, _Answer]]:
    execution = config.execution
    if execution.backend is Backend.LOKY and (execution.jobs == 1 or len(tasks) < _WORTH_A_PROCESS):
        yield from ((number, task(item)) for number, item in enumerate(tasks))
        return
    yield from on_workers(task, tasks, execution, _lost)


def _lost(task: _Task, reason: str) -> _Answer:
    message = f"no result from the process that analysed it: {reason}"
    return _Answer(PredictedVariant(task.variant, Outcome.UNKNOWN, message))


class _OnlyThese(Stages):
    """Launches of the kernels of these names only; of all where there is no name."""

    def __init__(self, kernels: tuple[str, ...]) -> None:
        self._kernels = kernels
        self.names: KnownNames | None = None

    def launches(
        self, program: Program, config: Config, gpu: Gpu, around: Neighbours
    ) -> tuple[KernelLaunch, ...]:
        self.names = known_names(program)
        found = super().launches(program, config, gpu, around)
        if not self._kernels:
            return found
        return tuple(one for one in found if any(names_kernel(name, one.kernel) for name in self._kernels))


def _predict(config: Config, kernels: tuple[str, ...], task: _Task) -> _Answer:
    """One variant; what goes wrong with it costs only itself."""
    (path,) = config.files
    overrides = replace(config.facts.overrides, launches=(*_others(config, task.launches), *task.launches))
    config = replace(
        config,
        facts=replace(config.facts, overrides=overrides),
        parse=replace(
            config.parse,
            defines=(*config.parse.defines, *(f"{name}={value}" for name, value in task.variant)),
        ),
    )
    stages = _OnlyThese(kernels)
    try:
        found = analyze_file(path, config, None, stages)
    except WattsliceError as error:
        return _Answer(PredictedVariant(task.variant, Outcome.UNKNOWN, str(error)))
    except Exception as error:  # a defect on one variant must not lose the others
        reason = f"internal error: {type(error).__name__}: {error}"
        return _Answer(PredictedVariant(task.variant, Outcome.UNKNOWN, reason))
    return _Answer(_variant(task.variant, found), stages.names)


def _others(config: Config, launches: Sequence[LaunchOverride]) -> Iterator[LaunchOverride]:
    named = {launch.kernel for launch in launches}
    return (launch for launch in config.facts.overrides.launches if launch.kernel not in named)


def _variant(macros: Variant, found: FileAnalysis) -> PredictedVariant:
    launches = tuple(map(_launch, found.kernels))
    if broken := _compile_error(found.diagnostics):
        return PredictedVariant(macros, Outcome.NOT_COMPILED, broken, launches)
    if again := _redefinition(macros, found.diagnostics):
        return PredictedVariant(macros, Outcome.UNKNOWN, again, launches)
    if not launches:
        return PredictedVariant(macros, Outcome.UNKNOWN, "no kernel", launches)
    if misfit := next((one.message for one in found.diagnostics if one.rule == "PW014"), ""):
        return PredictedVariant(
            macros, Outcome.NOT_LAUNCHED, misfit.partition("power unknown: ")[2], launches
        )
    times = [one.time_s for one in launches if one.time_s is not None]
    energies = [one.energy_j for one in launches if one.energy_j is not None]
    if len(times) < len(launches) or len(energies) < len(launches):
        told = (one.message for one in found.diagnostics if "power unknown" in one.message)
        return PredictedVariant(macros, Outcome.UNKNOWN, next(told, "time or power unknown"), launches)
    return PredictedVariant(macros, Outcome.PREDICTED, "", launches, sum(times), sum(energies))


def _redefinition(macros: Variant, diagnostics: Sequence[Diagnostic]) -> str:
    """Where the source defines a macro of the variant again, and so is not this variant."""
    starts = tuple(f"-D {name} has no effect" for name, _ in macros)
    found = (one for one in diagnostics if one.rule == "PW001" and one.message.startswith(starts))
    return next((f"{Path(one.file).name}:{one.line}: {one.message}" for one in found), "")


def _compile_error(diagnostics: Sequence[Diagnostic]) -> str:
    """The first thing that a compiler rejects. Where a header is missing nobody knows: what follows from that
    is no error of the variant.
    """
    if any(entry.rule == "PW002" for entry in diagnostics):
        return ""
    errors = (one for one in diagnostics if one.rule == "PW001" and one.severity is not Severity.NOTE)
    return next(
        (
            f"{Path(one.file).name}:{one.line}: {one.message.removeprefix('not understood: ')}"
            for one in errors
        ),
        "",
    )


def _launch(kernel: KernelAnalysis) -> KernelAnalysis:
    """The totals: nobody asks for more of one of thousands of variants."""
    return replace(
        kernel,
        work=None if kernel.work is None else replace(kernel.work, instructions_per_thread=()),
        slices=(),
        hot_lines=(),
        loops=(),
        arms=(),
        assumptions=(),
        advice=(),
        roofline=None,
    )
