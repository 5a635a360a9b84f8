"""The energy model of one board, learnt from its own runs: the joint model with effects of this board."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import UNCALIBRATED, Example, ModelKind, NotEnoughDataError
from wattslice_models.energy import EnergyModel, NoEnergyModel
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.gpu import Gpu
from wattslice_models.joint import BoardEffect, JointModel, energy_model_of, no_effects, prior_effects
from wattslice_models.joint_fit import calibrate, estimate_of
from wattslice_models.joint_rows import Reading, joint_rows
from wattslice_models.joint_store import joint_model


class EnergyLearner(Struct, frozen=True):
    """Learns the effects of one board from its runs alone; what boards share stays as it is."""

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.ENERGY`"""
        return ModelKind.ENERGY

    def fit(self, examples: tuple[Example, ...], seed: int = 0) -> EnergyPowerModel:
        """The model of the GPU that all `examples` are of; `seed` plays no part.

        Nothing is learnt from guessed bytes. Raises `NotEnoughDataError` when no example is left or the joint
        model does not speak for the GPU, ``ValueError`` for examples of several GPUs.
        """
        known = tuple(example for example in examples if not example.doubt)
        if not known:
            raise NotEnoughDataError(
                f"{len(examples)} examples, none with bytes that could be followed: at least 1 is needed"
            )
        gpus = {example.subject.gpu.id: example.subject.gpu for example in examples}
        if len(gpus) > 1:
            raise ValueError(f"an energy model is of one GPU, not of {', '.join(gpus)}")
        (gpu,) = gpus.values()
        readings = tuple(
            Reading(gpu, one.subject.clocks, one.dataset, one.benchmark, one.power_w, one) for one in known
        )
        found = calibrated_model(joint_model(), gpu, readings, no_effects())
        if isinstance(found, NoEnergyModel):
            raise NotEnoughDataError(found.reason)
        return EnergyPowerModel(found).with_interval(UNCALIBRATED)


def calibrated_model(
    shared: JointModel, gpu: Gpu, readings: tuple[Reading, ...], prior: tuple[BoardEffect, ...] | None = None
) -> EnergyModel | NoEnergyModel:
    """The joint model with the effects of one board that its `readings` make most probable.

    `prior`: what is known without them; None: what `prior_effects` says. The readings widen the clocks that
    the model was seen at, and the watts that its sensor shows.
    """
    without = energy_model_of(shared, gpu)
    if isinstance(without, NoEnergyModel):
        return without
    known = prior_effects(shared, gpu) if prior is None else prior
    effects = calibrate(joint_rows(readings), estimate_of(shared), known)
    model = energy_model_of(shared, gpu, effects)
    assert isinstance(model, EnergyModel)  # as without the readings
    core = [reading.clocks.core_mhz or gpu.boost_clock_mhz for reading in readings]
    limit_w = gpu.power_limit_w or model.reference_w
    return replace(
        model,
        core_mhz_min=min(core),
        core_mhz_max=max(core),
        sensor_peak=max(model.sensor_peak, *(reading.power_w / limit_w for reading in readings)),
    )
