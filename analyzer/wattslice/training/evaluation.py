"""How far power models are from measured watts: `wattslice evaluate`, a `Protocol` for each way to ask.

Models trained before are asked about runs that they never saw, and models are trained anew without one
application at a time. Beside them stand means, which know nothing of a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.errors import WattsliceError
from wattslice.training.examples import Examples, LeftOut, examples_of
from wattslice.training.judging import Errors, Judgement, errors, judge, judge_held_out
from wattslice.training.tables import measured_tables, tables_of_file
from wattslice.training.training import MOST_FOLDS
from wattslice_corpora.records import Use
from wattslice_models.contract import Example, ModelKind, NotEnoughDataError, PowerModel
from wattslice_models.cross_validation import HeldOut, calibrated_interval, dealt, hold_out_each
from wattslice_models.energy import Case
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.gpu import Gpu
from wattslice_models.joint_store import HeldOutRun, held_out_runs, joint_model
from wattslice_models.learners import MEANS, LearnerEntry, MissingPackageError, entry, learner
from wattslice_models.store import power_model, trained_model, training_runs
from wattslice_models.types import Prediction

RUN = attrgetter("dataset", "benchmark", "kernel", "arguments", "core_mhz", "memory_mhz")
RUN_OF_EXAMPLE = attrgetter(
    "dataset", "benchmark", "kernel", "arguments", "subject.clocks.core_mhz", "subject.clocks.memory_mhz"
)


class Score(Struct, frozen=True):
    """What one predictor did. `about`: where its coefficients come from. `loses_to`: titles of the means that
    are nearer to the measured watts over the same runs.

    `source_only` False: it was given something measured (time), so it is no answer for a user.
    """

    name: str
    title: str
    about: str
    predicted: tuple[HeldOut, ...]
    judgement: Judgement
    loses_to: tuple[str, ...] = ()
    source_only: bool = True


class Protocol(Struct, frozen=True):
    """One way to judge. `absent`: predictors left out and why; `is_test` False: the models know the runs."""

    title: str
    explanation: str
    scores: tuple[Score, ...]
    absent: tuple[str, ...]
    is_test: bool = True


class GpuEvaluation(Struct, frozen=True):
    """Everything about one GPU. `trained_runs`: 0 where nothing of it may be trained on.

    `time`: of the seconds of iterations whose launches are all known.
    """

    gpu: Gpu
    trained_runs: int
    tested_runs: int
    protocols: tuple[Protocol, ...]
    time: Errors | None
    left_out: tuple[LeftOut, ...]


class Request(Struct, frozen=True):
    """What to evaluate. `file` None: the committed tables. `retrain` False: only models trained before."""

    gpu: Gpu
    names: tuple[str, ...]
    file: Path | None = None
    retrain: bool = True
    seed: int = 0


@lru_cache(maxsize=16)
def _examples(gpu: Gpu, file: Path | None) -> tuple[Examples, Examples]:
    """Those to test on, and those to train on."""
    tables = measured_tables(gpu.id) if file is None else tables_of_file(file, gpu)
    if tables.card is None:  # nobody has told: all of it is there to be compared
        return examples_of(tables, gpu, None), Examples((), ())
    return examples_of(tables, gpu, Use.TEST), examples_of(tables, gpu, Use.TRAINING)


def steps(request: Request) -> int:
    """How often `evaluate` says what is being done, at most. Raises `RecordError`, ``OSError``."""
    test, training = (found.examples for found in _examples(request.gpu, request.file))
    fits = len({example.benchmark for example in test}) or MOST_FOLDS
    names = {*MEANS, *request.names}
    anew = sum(not taught_by_committed_runs(request, name) for name in names) if test or training else 0
    return len(request.names) + (anew * fits if request.retrain else 0)


def evaluate(request: Request, tell: Callable[[str], None] = lambda text: None) -> GpuEvaluation:
    """Runs every protocol that the data of a GPU allow.

    With applications to test on: models trained before, then leave-one-application-out; models that were
    trained on these very runs come last, and are told apart. With microbenchmarks only: cross-validation on
    these. `tell` hears what is being done. Deterministic for a seed. Raises
    `WattsliceError` when no run can be compared, `RecordError`, ``OSError``.
    """
    gpu = request.gpu
    test, training = _examples(gpu, request.file)
    protocols: list[Protocol] = []
    if test.examples:
        seen = {name: _seen(gpu, name, test.examples) for name in request.names}
        fresh = tuple(name for name in request.names if not seen[name])
        taught = tuple(name for name in request.names if seen[name])
        if not taught or any(name not in MEANS and power_model(gpu, name) is not None for name in fresh):
            asked = replace(request, names=fresh)
            protocols.append(_trained_before(asked, training.examples, test.examples, tell))
        if request.retrain and _several(test.examples):
            protocols.append(_left_out_each(request, test.examples, tell, applications=True))
        if taught:
            all_seen = all(seen[name] == len(test.examples) for name in taught)
            asked = replace(request, names=taught)
            protocols.append(_on_training_runs(asked, test.examples, tell, all_seen=all_seen))
    elif request.retrain and _several(training.examples):
        protocols.append(_left_out_each(request, training.examples, tell, applications=False))
    elif request.retrain and any(taught_by_committed_runs(request, name) for name in request.names):
        protocols.append(_one_program(request, training.examples, tell))
    if not protocols:
        why = "; ".join(dict.fromkeys(part.reason for part in (*test.left_out, *training.left_out)))
        raise WattsliceError(
            f"no measured run of {gpu.id} can be compared with a prediction" + (f": {why}" if why else ""),
            remedy="leave --trained-only out, or give measurements with --data",
        )
    return GpuEvaluation(
        gpu,
        len(training.examples),
        len(test.examples),
        tuple(protocols),
        None if _seen(gpu, "energy", test.examples) else _time(gpu, test.examples),
        (*training.left_out, *test.left_out),
    )


def _trained_before(
    request: Request, training: tuple[Example, ...], test: tuple[Example, ...], tell: Callable[[str], None]
) -> Protocol:
    absent: list[str] = []
    scores = _answers(request, training, test, tell, absent)
    return Protocol(
        "Trained before, tested on applications",
        "Models trained on microbenchmarks only (or carried over), asked about applications that no fit "
        "saw; the energy model, which is trained on all public runs of all boards, as it is without these.",
        compared(scores),
        tuple(absent),
    )


def _one_program(request: Request, examples: tuple[Example, ...], tell: Callable[[str], None]) -> Protocol:
    """Of one program on a board only a model of all boards can be learnt without it, or of other boards."""
    absent: list[str] = []
    return Protocol(
        "One program, left out",
        "One program ran on this board: models that learn from single boards have nothing left without it.",
        compared(_answers(request, (), examples, tell, absent)),
        tuple(absent),
    )


def _on_training_runs(
    request: Request, test: tuple[Example, ...], tell: Callable[[str], None], *, all_seen: bool
) -> Protocol:
    """What models say of runs that they know: how well they fit, not how far to trust them."""
    absent: list[str] = []
    scores = _answers(request, (), test, tell, absent, "trained on these runs")
    these = "these runs" if all_seen else "some of these runs"
    return Protocol(
        "On the runs it was trained on",
        f"No test: {these} taught the model.",
        compared(scores),
        tuple(absent),
        is_test=False,
    )


def _seen(gpu: Gpu, name: str, test: tuple[Example, ...]) -> int:
    """How many of the runs taught a model: its file lists them, whatever table they stood in.

    A hash of the table would not do: one table can hold runs for training and others for testing.
    """
    if name in MEANS:
        return 0
    known = {(RUN(run), run.measured_w) for run in training_runs(gpu, name)}
    return sum((RUN_OF_EXAMPLE(example), example.power_w) in known for example in test)


def _answers(
    request: Request,
    training: tuple[Example, ...],
    test: tuple[Example, ...],
    tell: Callable[[str], None],
    absent: list[str],
    about: str = "",
) -> list[Score]:
    """The means, and the models trained before."""
    gpu = request.gpu
    scores = [_mean_score(name, training, test) for name in MEANS]
    for name in request.names:
        known = entry(name)
        if name in MEANS:
            continue
        tell(f"{gpu.id}, {known.title}: test runs")
        if taught_by_committed_runs(request, name):
            scores += _joint_scores(known, test)
            continue
        model = power_model(gpu, name)
        if model is None:
            absent.append(f"{known.title}: no model of it answers for the {gpu.name}")
            continue
        predicted = _ask(model, test)
        origin = about or _origin(gpu, known, model)
        scores.append(Score(known.name, known.title, origin, predicted, judge(predicted)))
        if isinstance(model, EnergyPowerModel):
            timed = _with_measured_time(model, test)
            title = "energy model, measured time"
            scores.append(Score("energy, timed", title, "", timed, judge(timed), source_only=False))
    return scores


def _mean_score(name: str, training: tuple[Example, ...], test: tuple[Example, ...]) -> Score:
    """What knows nothing of a kernel: of the training runs, else of these very ones."""
    known = entry(name)
    learns = learner(known)
    if not training:
        about = "of these very runs, which nobody could have known"
        predicted = _ask(learns.fit(test), test)
        return Score(name, known.title, about, predicted, judge_held_out(predicted))
    interval = calibrated_interval(hold_out_each(learns, training))
    predicted = _ask(learns.fit(training).with_interval(interval), test)
    return Score(name, known.title, "of the training runs", predicted, judge(predicted))


def taught_by_committed_runs(request: Request, name: str) -> bool:
    """Whether the joint model would be asked about runs that it knows: what it said without them counts."""
    gpu = request.gpu
    return (
        name == ModelKind.ENERGY.value
        and request.file is None
        and trained_model(gpu, name) is None
        and joint_model().board(gpu.id) is not None
    )


def _joint_scores(known: LearnerEntry, asked: tuple[Example, ...]) -> list[Score]:
    """What the joint model said of committed runs without their application, their board, or both."""
    # Runs that differ by their board or by a clock that it chose stand in the order of the table.
    kept: dict[object, list[HeldOutRun]] = {}
    for run in held_out_runs():
        kept.setdefault((run.gpu_id, RUN(run)), []).append(run)
    runs = {key: iter(same) for key, same in kept.items()}
    pairs = [
        (one, next(runs.get((one.subject.gpu.id, RUN_OF_EXAMPLE(one)), iter(())), None)) for one in asked
    ]

    def score(name: str, what: str, case: Case, watts: str, about: str = "") -> Score:
        intervals = joint_model().intervals_of(case)
        predicted = tuple(
            HeldOut(example, intervals.of(example).around(power_w, in_domain=True))
            for example, run in pairs
            if run is not None and (power_w := getattr(run, watts)) is not None
        )
        title = f"{known.title}{what}"
        return Score(name, title, about, predicted, judge(predicted), source_only=watts != "timed_w")

    return [
        score(known.name, "", Case.MEASURED, "application_w", "application left out"),
        score("energy, carried", ", board left out", Case.CARRIED_OVER, "board_w"),
        score("energy, both", ", both left out", Case.CARRIED_OVER, "both_w"),
        score("energy, timed", ", measured time", Case.MEASURED, "timed_w"),
    ]


def _origin(gpu: Gpu, known: LearnerEntry, model: PowerModel) -> str:
    own = trained_model(gpu, known.name)
    if own is not None:
        return "trained on its microbenchmarks"
    if isinstance(model, EnergyPowerModel):
        return str(model.model.case)
    return "trained on other GPUs"


def _several(examples: tuple[Example, ...]) -> bool:
    """Whether a benchmark can be left out and others teach."""
    return len({example.benchmark for example in examples}) > 1


def _left_out_each(
    request: Request, examples: tuple[Example, ...], tell: Callable[[str], None], *, applications: bool
) -> Protocol:
    """Models trained anew without the application (benchmark) that they are asked about."""
    gpu = request.gpu
    absent: list[str] = []
    scores: list[Score] = []
    folds = None if applications else MOST_FOLDS
    for name in dict.fromkeys((*MEANS, *request.names)):
        known = entry(name)
        if taught_by_committed_runs(request, name):
            scores += [] if applications else _joint_scores(known, examples)
            continue

        def told(benchmarks: str, title: str = known.title) -> None:
            tell(f"{gpu.id}, {title}: without {benchmarks}")

        try:
            held_out = hold_out_each(learner(known), examples, request.seed, told, folds)
        except (NotEnoughDataError, MissingPackageError) as error:
            absent.append(f"{known.title}: {error}")
            continue
        scores.append(Score(name, known.title, "", held_out, judge_held_out(held_out)))
    parts = len(dealt(examples, folds, request.seed))
    what = "application" if applications else "benchmark"
    benchmarks = len({example.benchmark for example in examples})
    one = f"one {what} at a time" if parts == benchmarks else f"{benchmarks} {what}s in {parts} parts"
    return Protocol(
        f"Leave one {what} out" if parts == benchmarks else f"Leave {what}s out",
        f"Models trained anew on these runs without those they are asked about: {one}. Intervals are those "
        "that the other benchmarks give.",
        compared(scores),
        tuple(absent),
    )


def _ask(model: PowerModel, examples: Sequence[Example]) -> tuple[HeldOut, ...]:
    return tuple(HeldOut(example, model.predict(example.subject)) for example in examples)


def compared(scores: Sequence[Score]) -> tuple[Score, ...]:
    """The scores, each told which means beat it over the runs that it speaks about."""
    means = [score for score in scores if score.name in MEANS]
    return tuple(
        replace(score, loses_to=tuple(mean.title for mean in means if _beats(mean, score)))
        for score in scores
    )


def _beats(mean: Score, score: Score) -> bool:
    error, own = mean_error(mean, score), score.judgement.errors
    return score.name not in MEANS and error is not None and own is not None and error < own.mean


def mean_error(mean: Score, score: Score) -> float | None:
    """MAPE of a mean over the runs that a score speaks about; None without any."""
    constant = {id(one.example): one.prediction.power_w for one in mean.predicted}
    spoken = [one.example for one in score.predicted if one.ratio is not None]
    pairs = [(constant.get(id(example)), example.power_w) for example in spoken]
    known = [(p, m) for p, m in pairs if p is not None]
    return errors([p for p, _ in known], [m for _, m in known]).mean if known else None


def _with_measured_time(model: EnergyPowerModel, examples: Sequence[Example]) -> tuple[HeldOut, ...]:
    """What the energy model says when told how long an iteration took: what wrong seconds cost in watts.

    The time is known of the iteration only: every launch gets its predicted share of it.
    """
    found: list[HeldOut] = []
    for example in examples:
        if example.time_s is None or example.subject.gpu.id != model.model.gpu_id:
            continue
        subject = example.subject
        parts = model.launches(subject)
        seconds = sum(launch.repeat * part.time_s for launch, part in parts)
        stretch = example.time_s / seconds
        joules = sum(
            launch.repeat
            * model.model.predict(
                launch.workload, subject.gpu, subject.clocks, part.time_s * stretch
            ).energy_j
            for launch, part in parts
        )
        told = model.interval.around(joules / example.time_s, in_domain=True)
        found.append(HeldOut(example, _clipped(told, subject.gpu.power_limit_w)))
    return tuple(found)


def _clipped(told: Prediction, limit_w: float | None) -> Prediction:
    """What the board can draw of it, as the model itself has it."""
    if limit_w is None or told.power_w is None or told.power_low_w is None or told.power_high_w is None:
        return told
    return replace(
        told,
        power_w=min(told.power_w, limit_w),  # joules over seconds may exceed the limit by a rounding
        power_low_w=min(told.power_low_w, limit_w),
        power_high_w=min(told.power_high_w, limit_w),
    )


def _time(gpu: Gpu, examples: Sequence[Example]) -> Errors | None:
    model = power_model(gpu, "energy")
    if not isinstance(model, EnergyPowerModel):
        return None
    timed = [(example, time_s) for example in examples if (time_s := example.known_time_s) is not None]
    if not timed:
        return None
    return errors([model.time_s(example.subject) for example, _ in timed], [time_s for _, time_s in timed])
