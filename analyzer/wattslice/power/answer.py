"""Which model answers for a GPU, and its answer: watts, seconds, what limits the kernel."""

from __future__ import annotations

import math

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
    wanted_watts,
)
from wattslice.power.variants import OTHER, OwnVariants
from wattslice.slicing.features import SliceFeatures
from wattslice.version import __version__
from wattslice_models.contract import PowerModel, RepeatedLaunch, Subject, may_reach
from wattslice_models.energy import STATIC_COMPONENTS, ComponentPower, EnergyModel, NoEnergyModel
from wattslice_models.execution_time import (
    DEFAULT_TIME_PARAMETERS,
    Clocks,
    TimePrediction,
    Utilisation,
    core_clock_mhz,
    predict_time,
)
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.joint import sensor_peak
from wattslice_models.joint_store import joint_model
from wattslice_models.learners import MEANS, entry
from wattslice_models.plausible import beyond_sensors
from wattslice_models.regression import NoRegressionError, RegressionModel, published_regression
from wattslice_models.store import ModelFileError, energy_model, load_choice, power_model
from wattslice_models.types import Held
from wattslice_models.variant_residual import Gate, VariantWork, amounts_of
from wattslice_models.variant_store import prediction_stamp
from wattslice_models.workload import Workload
from wattslice_models.worth import worth_of


class PowerQuestion(Struct, frozen=True):
    """What is asked. `workload` None: the launch cannot run, `cannot_run` says why. `variants`: measured ones
    of the kernel, which correct the answer; None: none do.
    """

    gpu: Gpu
    choice: ModelChoice
    clocks: Clocks
    features: tuple[SliceFeatures, ...]
    counts: OperationCounts
    workload: Workload | None
    cannot_run: str = ""
    variants: OwnVariants | None = None


class PowerAnswer(Struct, frozen=True):
    """`watts` of the program and its slices, the `model` that gave them ("none" when none could).

    `rule` is the rule id of the diagnostic that an unknown power gets. `board_notes` hold for every kernel on
    this GPU and clock; what concerns this kernel alone stands in `watts.notes`. `components`: what each draws
    by the energy model, whichever model answered; they divide the watts among lines. `variants`: so many
    measured ones of the kernel have corrected it.
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
    variants: int | None = None


def answer(question: PowerQuestion) -> PowerAnswer:
    """Asks the model of the user's choice.

    AUTO takes what cross-validation chose when models of this GPU were trained, else the published regression
    where there is one, else the energy model, carried over from another GPU if need be.
    """
    work = question.workload
    if work is None:
        return PowerAnswer("none", unknown_watts(question.features, question.cannot_run), rule="PW014")
    try:
        return _corrected(_answer(question, work), question, work)
    except ModelFileError as error:  # left by another version of the program
        return _no_model(question, work, str(error))


def answering_model(gpu: Gpu, choice: ModelChoice) -> str:
    """The name of the model that is asked. Raises `ModelFileError`."""
    return _chosen(gpu) if choice is ModelChoice.AUTO else choice.value


def _answer(question: PowerQuestion, work: Workload) -> PowerAnswer:
    gpu = question.gpu
    name = answering_model(gpu, question.choice)
    if name != ModelChoice.ENERGY.value:
        model = power_model(gpu, name)
        if model is not None:
            return _by_trained(question, model, work, name)
        regression = _regression(gpu) if name == ModelChoice.REGRESSION.value else None
        if regression is not None:
            return _by_regression(question, regression, work)
        return _no_model(question, work, _why_none(gpu, name))
    model = energy_model(gpu)
    if isinstance(model, NoEnergyModel):
        return _no_model(question, work, model.reason)
    return _by_energy(question, model, work)


def _why_none(gpu: Gpu, name: str) -> str:
    """Why no model of slices answers: training refused it, or nobody trained one."""
    choice = load_choice(gpu.id)
    refused = [one.reason for one in (() if choice is None else choice.candidates) if one.name == name]
    why = f"none was kept in training: {refused[0]}" if refused else "none was trained on this board"
    return f"no {name} model answers for {gpu.name}, {why}; use --model auto"


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


def worth_notes(gpu: Gpu, asked: ModelChoice, model: str) -> tuple[str, ...]:
    """What the `model` that answered is worth on this GPU: of one that was asked for by name, and of any that
    knows less than the constant mean. Raises `ModelFileError`.
    """
    found = worth_of(gpu, model)
    if asked is ModelChoice.AUTO and (found is None or not found.loses_to_constant):
        return ()
    unknown = f"no held-out run tells what the {entry(model).title} is worth on the {gpu.name}"
    return (unknown if found is None else found.told,)


def _by_trained(question: PowerQuestion, model: PowerModel, work: Workload, name: str) -> PowerAnswer:
    """The model `name` of slices that was trained on measurements; seconds by the time model."""
    gpu = question.gpu
    subject = Subject(gpu, question.clocks, (RepeatedLaunch(work),))
    watts = trained_watts(model, subject, question.features)
    energy = energy_model(gpu)
    parameters = DEFAULT_TIME_PARAMETERS if isinstance(energy, NoEnergyModel) else energy.time
    timing = predict_time(work, gpu, question.clocks, parameters)
    return _with_limit(question, watts, timing, work, name)


def _with_limit(
    question: PowerQuestion, watts: ProgramWatts, timing: TimePrediction, work: Workload, model: str
) -> PowerAnswer:
    limit = question.gpu.power_limit_w
    power_w, high_w = watts.power_w, watts.power_high_w
    unseen = (_NO_VALUES,) if min(work.live_operands, work.live_data) < 1.0 else ()
    reaches = None
    if limit is not None and power_w is not None and high_w is not None:
        reaches = may_reach(limit, power_w, high_w)
    if limit is not None:
        watts = limited(watts, Held(limit, limit * peak_of(question.gpu)))
    found = energy_model(question.gpu)
    energies = energy_model(load_gpu(STAND_IN)) if isinstance(found, NoEnergyModel) else found
    assert isinstance(energies, EnergyModel)  # of the stand-in: it was measured
    drawn = energies.component_powers(work, question.gpu, question.clocks, timing, timing.time_s)
    if energies is found:
        watts = _board_apart(watts, drawn)
    return PowerAnswer(
        model,
        replace(watts, notes=(*watts.notes, *unseen, *timing.notes)),
        timing.time_s,
        str(timing.limited_by),
        reaches,
        drawn,
        timing.utilisations,
        "PW031" if watts.power_w is None else "",
    )


_NO_VALUES = "models of slices do not see what arrays hold: the watts are those of any data"
STAND_IN = "v100"
"""The GPU whose energies divide watts among lines where no energy model speaks for the board: what the board
itself draws is then unknown, the lines have it in them."""


def _board_apart(watts: ProgramWatts, drawn: tuple[ComponentPower, ...]) -> ProgramWatts:
    """Watts of a model of slices: the board itself has what the energy model says, lines have the rest."""
    if watts.power_w is None:
        return watts
    static_w = math.fsum(part.power_w for part in drawn if part.component in STATIC_COMPONENTS)
    if static_w < watts.power_w:
        return replace(watts, static_w=static_w)
    nothing_left = (
        f"{watts.power_w:.0f} W are no more than the board draws without any operation by the energy model "
        f"({static_w:.0f} W): nothing is left for the lines"
    )
    return replace(watts, static_w=watts.power_w, notes=(*watts.notes, nothing_left))


def peak_of(gpu: Gpu) -> float:
    """How far above its limit sensors show such a board, as a ratio."""
    own = energy_model(gpu)
    return sensor_peak(joint_model(), gpu) if isinstance(own, NoEnergyModel) else own.sensor_peak


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
        wanted=prediction.wanted,
        limit_note=prediction.limit_note,
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


def _corrected(found: PowerAnswer, question: PowerQuestion, work: Workload) -> PowerAnswer:
    """The answer with what measured variants of this kernel on this board taught about it."""
    watts, own = found.watts, question.variants
    if own is None or not watts.power_w or not found.time_s:
        return found
    stored, name = own.stored, answering_model(question.gpu, question.choice)
    if stored is None:
        return replace(found, watts=replace(watts, doubts=(own.note,)))
    if stored.predicted_with != prediction_stamp(question.gpu, name, question.clocks, __version__):
        return replace(found, watts=replace(watts, doubts=(_OTHERWISE,)))
    taught, occupancy = stored.taught, work.active_warps_per_sm / question.gpu.max_warps_per_sm
    done = VariantWork(amounts_of(work), occupancy, found.time_s, watts.power_w)
    ((longer, more),) = taught.factors((done,))
    limit_w, wanted = question.gpu.power_limit_w, wanted_watts(watts)
    power_w = taught_w = more * done.power_w
    reaches, limit_note = found.may_hit_power_limit, watts.limit_note
    is_beyond = taught.power is not None and not taught.power.reaches(done.features)
    corrects = taught.power is not None and taught.power.gate is not Gate.NOTHING
    if limit_w is not None and corrects:
        power_w, limit_note = min(taught_w, limit_w), ""
        if taught_w > limit_w:
            limit_note = f"measured variants make it {taught_w:.0f} W, above the limit of {limit_w:g} W"
        elif watts.limit_note and taught.time is None:
            limit_note = "no seconds were measured: those shown are of a board that its limit holds back"
    drawn = power_w / done.power_w
    if wanted is not None and taught.power is not None:
        if corrects:
            wanted = wanted.times(taught_w / wanted.power_w)  # what was measured had the limit in it
        shown = not beyond_sensors(taught.most_w, question.gpu, peak_of(question.gpu))
        if shown and wanted.held is not None and taught.most_w > wanted.held.high_w:
            wanted = replace(wanted, held=replace(wanted.held, high_w=taught.most_w))
        if taught.power.half_width is not None and not own.is_other and not is_beyond:
            far = math.exp(taught.power.half_width)
            wanted = replace(wanted, low_w=wanted.power_w / far, high_w=wanted.power_w * far)
        reaches = None if limit_w is None else may_reach(limit_w, wanted.power_w, wanted.high_w)
        low_w, high_w = wanted.shown
        watts = replace(watts, power_low_w=low_w, power_high_w=high_w, wanted=wanted)
    doubt = own.note or (f"{_BEYOND}: {OTHER}" if is_beyond else "")
    doubts = (*taught.doubts, *((doubt,) if doubt else ()))
    watts = replace(
        watts,
        power_w=power_w,
        static_w=None if watts.static_w is None else drawn * watts.static_w,
        slices=tuple(
            part if part.power_w is None else replace(part, power_w=drawn * part.power_w)
            for part in watts.slices
        ),
        notes=(*watts.notes, *taught.learnt),
        limit_note=limit_note,
        doubts=doubts,
    )
    return replace(
        found,
        watts=watts,
        time_s=longer * found.time_s,
        may_hit_power_limit=reaches,
        components=tuple(replace(one, power_w=drawn * one.power_w) for one in found.components),
        variants=taught.variants,
    )


_BEYOND = "it does more or less each second than any of the measured variants"
_OTHERWISE = (
    "variants of this kernel were measured, but for predictions with other coefficients, clocks or another "
    "version of wattslice: not used, train --variants again"
)
