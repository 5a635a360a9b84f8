"""Learns models of one GPU (or one of several GPUs), cross-validates them, and chooses among them."""

from __future__ import annotations

import platform
import random
from collections.abc import Callable
from importlib import metadata
from math import fsum, log
from pathlib import Path
from statistics import pvariance

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice.training.examples import Examples, LeftOut, examples_of
from wattslice.training.tables import measured_tables, tables_of_file
from wattslice_corpora.records import DataCard, Use, sha256
from wattslice_models.contract import Example, Learner, ModelKind, NotEnoughDataError
from wattslice_models.cross_validation import HeldOut, Unit, calibrated_interval, dealt, hold_out_each
from wattslice_models.gpu import Gpu
from wattslice_models.learners import MEANS, NAMES, LearnerEntry, MissingPackageError, entry, learner
from wattslice_models.store import (
    CandidateError,
    Choice,
    DataFile,
    Provenance,
    Residual,
    TrainedModel,
    Version,
)
from wattslice_models.wavelet_network import WaveletModel

AUTO = "auto"
MOST_FOLDS = 10
"""Benchmarks are left out one at a time, or, when there are more, in so many parts."""
CURVE_SHARES = (0.125, 0.25, 0.5, 1.0)
"""Shares of the kernels learnt from, for the learning curve."""
CURVE_FOLDS = 3
BOARD_SPREAD = 1.08
"""Two boards of one GPU, measured by different people at equal clocks, differ by 6 to 8 % (public sets)."""
LEAST_FAMILIES = 5
"""Kinds of programs from which cross-validation may choose a model; see `choose`."""
LEAST_SPOKEN = 0.9
"""A model that is silent about more than a tenth of the held-out runs is no candidate for ``auto``."""
LEAST_STEPS = 2
LEAST_SPREAD = 0.1
"""Of training, and of the spread of measured watts at the same clocks: a network below either is hollow, see
`hollow`. Those that learn show 0.31 to 0.73 of the spread, one after its first step 0.08."""
PACKAGES = ("wattslice", "numpy", "scipy", "torch", "PyWavelets")


class TrainingData(Struct, frozen=True):
    """What is learnt from. `cards` with `faults` and protocols; empty where nobody has told.

    `committed`: the tables that come along, which taught the joint model, too.
    """

    gpus: tuple[Gpu, ...]
    examples: tuple[Example, ...]
    left_out: tuple[LeftOut, ...]
    cards: tuple[DataCard, ...]
    files: tuple[DataFile, ...]
    committed: bool = False


class CurvePoint(Struct, frozen=True):
    """Mean relative error of held-out runs when so many kernels (the mean of the folds) taught the model."""

    kernels: float
    error: float


class TrainedEntry(Struct, frozen=True):
    """One model with what cross-validation showed. `passed_over`: examples it could not learn from."""

    entry: LearnerEntry
    trained: TrainedModel
    held_out: tuple[HeldOut, ...]
    curve: tuple[CurvePoint, ...]
    passed_over: tuple[LeftOut, ...]


class TrainingResult(Struct, frozen=True):
    """All models of one run, and the choice among them."""

    data: TrainingData
    entries: tuple[TrainedEntry, ...]
    choice: Choice


def training_data(gpus: tuple[Gpu, ...], files: tuple[Path, ...]) -> TrainingData:
    """The committed training runs of `gpus`, or those of the user's `files`, measured on the one GPU.

    Raises `WattsliceError` when there is nothing to learn from, `RecordError`, ``OSError``.
    """
    if files:
        (gpu,) = gpus
        sources = [(tables_of_file(path, gpu), gpu) for path in files]
    else:
        sources = [(measured_tables(gpu.id), gpu) for gpu in gpus]
    found = [examples_of(tables, gpu, Use.TRAINING) for tables, gpu in sources]
    together = Examples(
        tuple(example for part in found for example in part.examples),
        tuple(entry for part in found for entry in part.left_out),
    )
    if not together.examples:
        why = "; ".join(dict.fromkeys(entry.reason for entry in together.left_out)) or "none is for training"
        names = ", ".join(gpu.id for gpu in gpus)
        raise WattsliceError(
            f"no measured run of {names} to train on: {why}", remedy="give measurements with --data"
        )
    return TrainingData(
        gpus,
        together.examples,
        together.left_out,
        tuple(tables.card for tables, _ in sources if tables.card is not None),
        tuple(DataFile(path.name, sha256(path)) for tables, _ in sources for path in tables.files),
        not files,
    )


def steps(model: str, data: TrainingData) -> int:
    """How many fits `train` makes at most."""
    names = NAMES if model == AUTO else (model,)
    benchmarks = len({example.benchmark for example in data.examples})
    curve = len(CURVE_SHARES) * min(CURVE_FOLDS, benchmarks)
    return len(names) * (min(MOST_FOLDS, benchmarks) + curve + 1)


def check_packages(model: str, gpus: tuple[Gpu, ...]) -> None:
    """Before minutes of work: can a power model be trained at all? Means alone answer for no kernel.

    Raises `MissingPackageError` when every one that was asked for needs a package that is not there.
    """
    names = [name for name in (NAMES if model == AUTO else (model,)) if name not in MEANS]
    able = [known for known in map(entry, names) if known.several_gpus or len(gpus) == 1]
    missing: list[MissingPackageError] = []
    for known in able:
        try:
            learner(known)
        except MissingPackageError as error:
            missing.append(error)
    if missing and len(missing) == len(able):
        raise missing[0]


def train(
    data: TrainingData, model: str, seed: int = 0, tell: Callable[[str], None] = lambda text: None
) -> TrainingResult:
    """Learns the model of that name, or (``auto``) every one that the data allow, but no `hollow` network.

    `tell` hears before every fit. Deterministic for a seed. Raises `MissingPackageError` and
    `NotEnoughDataError` for a model asked for by name; ``auto`` passes it over and keeps the reason.
    """
    trained: list[TrainedEntry] = []
    failures: dict[str, str] = {}
    for name in NAMES if model == AUTO else (model,):
        known = entry(name)
        if len(data.gpus) > 1 and not known.several_gpus:
            reason = f"the {known.title} is of one GPU, not of {len(data.gpus)}"
            if model != AUTO:
                raise WattsliceError(reason, remedy="give one --gpu, or --model wavelet")
            failures[name] = reason
            continue
        try:
            trained.append(_train_one(known, learner(known), data, seed, tell))
        except (MissingPackageError, NotEnoughDataError) as error:
            if model != AUTO:
                raise
            failures[name] = str(error)
    if not trained:
        raise NotEnoughDataError("; ".join(f"{name}: {reason}" for name, reason in failures.items()))
    return TrainingResult(data, tuple(trained), choose(tuple(trained), failures))


def _train_one(
    known: LearnerEntry, learns: Learner, data: TrainingData, seed: int, tell: Callable[[str], None]
) -> TrainedEntry:
    def told(what: str) -> None:
        tell(f"{known.title}: {what}")

    # A model of several GPUs answers for one that it never saw: so it is judged.
    unit = Unit.GPU if len(data.gpus) > 1 else Unit.BENCHMARK
    held_out = hold_out_each(
        learns, data.examples, seed, lambda units: told(f"without {units}"), MOST_FOLDS, unit
    )
    known_well = tuple(entry for entry in held_out if not known.needs.lacking(entry.example))
    interval = calibrated_interval(
        known_well, widening=BOARD_SPREAD, widened_for="because boards of one GPU differ that much", unit=unit
    )
    curve = _learning_curve(learns, data.examples, seed, told)
    told("all examples")
    model = learns.fit(data.examples, seed).with_interval(interval)
    if isinstance(model, WaveletModel) and (reason := hollow(model, data.examples)):
        raise NotEnoughDataError(reason)
    passed_over: dict[tuple[str, str], int] = {}
    for example in data.examples:
        if reason := known.needs.lacking(example):
            passed_over[example.benchmark, reason] = passed_over.get((example.benchmark, reason), 0) + 1
    made_of = provenance(tuple(gpu.id for gpu in data.gpus), seed, data.files)
    return TrainedEntry(
        known,
        TrainedModel(known.name, made_of, model, tuple(map(_residual, held_out))),
        held_out,
        curve,
        tuple(LeftOut(benchmark, runs, reason) for (benchmark, reason), runs in passed_over.items()),
    )


def hollow(model: WaveletModel, examples: tuple[Example, ...]) -> str:
    """Why a network that learnt `examples` has learnt nothing of their kernels, else empty.

    The first step of Adam moves every weight by the same size, whatever the data: it is no training. What a
    network knows of kernels is how far its watts differ between runs of a board at equal clocks.
    """
    if model.training_steps < LEAST_STEPS:
        steps = "only one" if model.training_steps else "no"
        return (
            f"{steps} step of training brought it nearer to benchmarks held out: it says nearly the same of "
            "every kernel"
        )
    told: dict[object, list[tuple[float, float]]] = {}
    for example in examples:
        power_w = model.predict(example.subject).power_w
        if power_w is not None:
            key = example.subject.gpu.id, example.subject.clocks
            told.setdefault(key, []).append((log(power_w), log(example.power_w)))
    groups = [group for group in told.values() if len(group) > 1]
    said, measured = (
        fsum(len(group) * pvariance([pair[side] for pair in group]) for group in groups) ** 0.5
        for side in range(2)
    )
    if said >= LEAST_SPREAD * measured:
        return ""
    return (
        f"its watts of kernels at the same clocks spread by {said / measured:.0%} of what was measured, less "
        f"than {LEAST_SPREAD:.0%}: it says nearly the same of every kernel"
    )


def _learning_curve(
    learns: Learner, examples: tuple[Example, ...], seed: int, told: Callable[[str], None]
) -> tuple[CurvePoint, ...]:
    """Errors on held-out benchmarks as more kernels of the others teach: the same ones, and more."""
    runs = list(dict.fromkeys(_run(example) for example in examples))
    random.Random(seed).shuffle(runs)
    points: list[CurvePoint] = []
    for share in CURVE_SHARES:
        errors: list[float] = []
        taught: list[int] = []
        for part in dealt(examples, CURVE_FOLDS, seed):
            told(f"learning curve, {share:.0%} of the kernels")
            rest = [run for run in runs if run[0] not in part]
            kept = frozenset(rest[: max(1, round(share * len(rest)))])
            try:
                model = learns.fit(tuple(example for example in examples if _run(example) in kept), seed)
            except NotEnoughDataError:
                continue
            taught.append(len(kept))
            errors += _errors(
                tuple(
                    HeldOut(example, model.predict(example.subject))
                    for example in examples
                    if example.benchmark in part
                )
            )
        if errors:
            points.append(CurvePoint(sum(taught) / len(taught), fsum(errors) / len(errors)))
    return tuple(points)


def _run(example: Example) -> tuple[str, str, str]:
    return example.benchmark, example.kernel, example.arguments


def _errors(held_out: tuple[HeldOut, ...]) -> list[float]:
    """|predicted / measured - 1| of what was predicted."""
    return [
        abs(entry.prediction.power_w / entry.example.power_w - 1.0)
        for entry in held_out
        if entry.prediction.power_w is not None
    ]


def choose(trained: tuple[TrainedEntry, ...], failures: dict[str, str]) -> Choice:
    """The model with the least mean error of the held-out runs that all candidates spoke about.

    Every benchmark counts the same, as in the intervals. With fewer than `LEAST_FAMILIES` kinds of programs
    every one that is held out has a sibling among those that teach, and the error says only how well a model
    interpolates: then the energy model is taken, the one that rests on what a kernel does (decision 0005).
    """
    reasons = dict(failures)
    candidates: list[TrainedEntry] = []
    for one in trained:
        spoken = sum(part.ratio is not None for part in one.held_out) / len(one.held_out)
        if spoken < LEAST_SPOKEN and len(trained) > 1:
            reasons[one.entry.name] = f"speaks about {spoken:.0%} of the held-out runs only"
        else:
            candidates.append(one)
    common = [
        number
        for number, parts in enumerate(zip(*(one.held_out for one in candidates), strict=True))
        if all(part.ratio is not None for part in parts)
    ]
    errors = {
        one.entry.name: _by_benchmark([one.held_out[number] for number in common]) for one in candidates
    }
    known = {one.entry.name for one in trained} | set(failures)
    found = sorted(
        (CandidateError(name, errors.get(name), reasons.get(name, "")) for name in known),
        key=lambda one: (one.error is None, one.error, one.name),
    )
    # A mean tells nothing about a kernel: it is what the others have to beat, and stands in no report.
    able = [name for name in errors if name not in MEANS] or list(errors)
    if len(trained) == 1:
        return Choice(able[0], False, "the only model trained: it was compared with nothing", tuple(found))
    kinds = {_family(part.example.benchmark) for one in trained for part in one.held_out}
    if len(kinds) < LEAST_FAMILIES and ModelKind.ENERGY.value in able:
        reason = (
            f"{len(kinds)} kinds of programs ({', '.join(sorted(kinds))}) are too few for cross-validation "
            f"to choose by; with fewer than {LEAST_FAMILIES} it is the model that rests on what a kernel does"
        )
        return Choice(ModelKind.ENERGY.value, True, reason, tuple(found))
    reason = "the least error in cross-validation on the training data, each benchmark counted the same"
    return Choice(min(able, key=lambda name: errors[name]), False, reason, tuple(found))


def _family(benchmark: str) -> str:
    """``mixbench`` of ``mixbench-cuda-ro``: variants of one program are no independent evidence."""
    return benchmark.partition("-")[0]


def _by_benchmark(held_out: list[HeldOut]) -> float:
    errors: dict[str, list[float]] = {}
    for part in held_out:
        errors.setdefault(part.example.benchmark, []).extend(_errors((part,)))
    return fsum(fsum(values) / len(values) for values in errors.values()) / len(errors)


def _residual(held_out: HeldOut) -> Residual:
    example = held_out.example
    clocks = example.subject.clocks
    return Residual(
        example.dataset,
        example.benchmark,
        example.kernel,
        example.arguments,
        clocks.core_mhz,
        clocks.memory_mhz,
        example.power_w,
        held_out.prediction.power_w,
    )


def provenance(
    gpu_ids: tuple[str, ...], seed: int, data: tuple[DataFile, ...], packages: tuple[str, ...] = PACKAGES
) -> Provenance:
    """What a model was made of, and with which versions of Python and `packages`."""
    versions = [Version("python", platform.python_version())]
    for package in packages:
        try:
            versions.append(Version(package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return Provenance(gpu_ids, seed, data, tuple(versions))
