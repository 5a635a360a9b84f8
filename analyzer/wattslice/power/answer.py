"""Which model answers for a GPU, and its answer: watts, seconds, what limits the kernel."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from wattslice.config.options import ModelChoice
from wattslice.ir.operation_counts import OperationCounts
from wattslice.power.slices import (
    ProgramWatts,
    limited,
    regression_watts,
    trained_watts,
    unknown_watts,
)
from wattslice.slicing.features import SliceFeatures
from wattslice_models.contract import PowerModel, RepeatedLaunch, Subject, may_reach
from wattslice_models.energy import ComponentPower, EnergyModel, NoEnergyModel
from wattslice_models.execution_time import (
    DEFAULT_TIME_PARAMETERS,
    Clocks,
    TimePrediction,
    Utilisation,
    core_clock_mhz,
    predict_time,
)
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.learners import MEANS
from wattslice_models.regression import NoRegressionError, RegressionModel, published_regression
from wattslice_models.store import ModelFileError, energy_model, load_choice, power_model
from wattslice_models.workload import Workload


class PowerQuestion(Struct, frozen=True):
    """What is asked. `workload` None: the launch cannot run, `cannot_run` says why."""

    gpu: Gpu
    choice: ModelChoice
    clocks: Clocks
    features: tuple[SliceFeatures, ...]
    counts: OperationCounts
    workload: Workload | None
    cannot_run: str = ""


class PowerAnswer(Struct, frozen=True):
    """`watts` of the program and its slices, the `model` that gave them ("none" when none could).

    `rule` is the rule id of the diagnostic that an unknown power gets. `board_notes` hold for every kernel on
    this GPU and clock; what concerns this kernel alone stands in `watts.notes`. `components`: what each draws
    by the energy model, whichever model answered; they divide the watts among lines.
    """

    model: str
    watts: ProgramWatts
    time_s: float | None = None
    limited_by: str | None = None
    may_hit_power_limit: bool | None = None
    components: tuple[ComponentPower, ...] = ()
    utilisations: tuple[Utilisation, ...] = ()
    rule: str = "PW031"
    board_notes: tuple[str, ...] = ()


def answer(question: PowerQuestion) -> PowerAnswer:
    """Asks the model of the user's choice.

    AUTO takes what cross-validation chose when models of this GPU were trained, else the published regression
    where there is one, else the energy model, carried over from another GPU if need be.
    """
    work = question.workload
    if work is None:
        return PowerAnswer("none", unknown_watts(question.features, question.cannot_run), rule="PW014")
    try:
        return _answer(question, work)
    except ModelFileError as error:  # left by another version of the program
        return _no_model(question, work, str(error))


def _answer(question: PowerQuestion, work: Workload) -> PowerAnswer:
    gpu = question.gpu
    name = _chosen(gpu) if question.choice is ModelChoice.AUTO else question.choice.value
    if name != ModelChoice.ENERGY.value:
        model = power_model(gpu, name)
        if model is not None:
            return _by_trained(question, model, work)
        regression = _regression(gpu) if name == ModelChoice.REGRESSION.value else None
        if regression is not None:
            return _by_regression(question, regression, work)
        return _no_model(question, work, f"no {name} model answers for {gpu.name}; use --model auto")
    model = energy_model(gpu)
    if isinstance(model, NoEnergyModel):
        return _no_model(question, work, model.reason)
    return _by_energy(question, model, work)


def _chosen(gpu: Gpu) -> str:
    choice = load_choice(gpu.id)
    if choice is not None and choice.name not in MEANS:
        return choice.name
    return ModelChoice.ENERGY.value if _regression(gpu) is None else ModelChoice.REGRESSION.value


def _regression(gpu: Gpu) -> RegressionModel | None:
    try:
        return published_regression(gpu.id)
    except NoRegressionError:
        return None


def _by_trained(question: PowerQuestion, model: PowerModel, work: Workload) -> PowerAnswer:
    """A model of slices that was trained on measurements; seconds by the time model."""
    gpu = question.gpu
    subject = Subject(gpu, question.clocks, (RepeatedLaunch(work),))
    watts = trained_watts(model, subject, question.features)
    energy = energy_model(gpu)
    parameters = DEFAULT_TIME_PARAMETERS if isinstance(energy, NoEnergyModel) else energy.time
    timing = predict_time(work, gpu, question.clocks, parameters)
    return _with_limit(question, watts, timing, work, model.kind.value)


def _with_limit(
    question: PowerQuestion, watts: ProgramWatts, timing: TimePrediction, work: Workload, model: str
) -> PowerAnswer:
    limit = question.gpu.power_limit_w
    power_w, high_w = watts.power_w, watts.power_high_w
    reaches = None
    if limit is not None and power_w is not None and high_w is not None:
        reaches = may_reach(limit, power_w, high_w)
    if limit is not None:
        watts = limited(watts, limit)
    return PowerAnswer(
        model,
        replace(watts, notes=(*watts.notes, *timing.notes)),
        timing.time_s,
        str(timing.limited_by),
        reaches,
        _energies(question.gpu).component_powers(work, question.gpu, question.clocks, timing.time_s),
        timing.utilisations,
        "PW031" if watts.power_w is None else "",
    )


STAND_IN = "v100"
"""The GPU whose energies divide watts among lines where no energy model speaks for the board."""


def _energies(gpu: Gpu) -> EnergyModel:
    found = energy_model(gpu)
    if isinstance(found, NoEnergyModel):
        found = energy_model(load_gpu(STAND_IN))
    assert isinstance(found, EnergyModel)  # of the stand-in: it was measured
    return found


def _by_regression(question: PowerQuestion, model: RegressionModel, work: Workload) -> PowerAnswer:
    watts = regression_watts(model, question.features)
    timing = predict_time(work, question.gpu, question.clocks)
    return _with_limit(question, watts, timing, work, "regression")


def _by_energy(question: PowerQuestion, model: EnergyModel, work: Workload) -> PowerAnswer:
    prediction = model.predict(work, question.gpu, question.clocks)
    board_notes = model.board_notes(core_clock_mhz(question.gpu, question.clocks))
    own_notes = tuple(note for note in prediction.notes if note not in board_notes)
    watts = ProgramWatts(
        prediction.power_w,
        prediction.power_low_w,
        prediction.power_high_w,
        # A prediction clipped at the board's limit leaves less than its components add up to.
        min(prediction.static_power_w, prediction.power_w),
        (),
        own_notes,
        uncut_high_w=prediction.uncut_high_w,
    )
    return PowerAnswer(
        "energy",
        watts,
        prediction.time_s,
        str(prediction.limited_by),
        prediction.may_hit_power_limit,
        prediction.components,
        prediction.utilisations,
        "",
        board_notes,
    )


def _no_model(question: PowerQuestion, work: Workload, reason: str) -> PowerAnswer:
    timing = predict_time(work, question.gpu, question.clocks)
    watts = unknown_watts(question.features, reason)
    return PowerAnswer("none", watts, timing.time_s, str(timing.limited_by))
