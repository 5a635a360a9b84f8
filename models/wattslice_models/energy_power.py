"""The energy model behind the contract of all power models: joules of all launches over their seconds."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import Interval, ModelKind, RepeatedLaunch, Subject
from wattslice_models.energy import EnergyModel, EnergyPrediction
from wattslice_models.types import Prediction


class EnergyPowerModel(Struct, frozen=True):
    """An `EnergyModel` that answers for a whole timed iteration."""

    model: EnergyModel

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.ENERGY`"""
        return ModelKind.ENERGY

    @property
    def interval(self) -> Interval:
        """That of the model."""
        return self.model.interval

    def with_interval(self, interval: Interval) -> EnergyPowerModel:
        """The same model with another interval."""
        return EnergyPowerModel(replace(self.model, interval=interval, doubted=interval))

    def predict(self, subject: Subject) -> Prediction:
        """Average watts over the iteration; unknown for another GPU than the model's."""
        if subject.gpu.id != self.model.gpu_id:
            reason = f"an energy model of {self.model.gpu_id} cannot speak for {subject.gpu.id}"
            return Prediction.unknown(reason)
        parts = self.launches(subject)
        seconds = [launch.repeat * part.time_s for launch, part in parts]

        def over_time(watts: Callable[[EnergyPrediction], float]) -> float:
            joules = sum(time_s * watts(part) for time_s, (_, part) in zip(seconds, parts, strict=True))
            return joules / sum(seconds)

        return Prediction(
            power_w=over_time(lambda part: part.power_w),
            power_low_w=over_time(lambda part: part.power_low_w),
            power_high_w=over_time(lambda part: part.power_high_w),
            interval_source="; ".join(dict.fromkeys(part.interval_source for _, part in parts)),
            in_trained_domain=all(part.in_trained_domain for _, part in parts),
            notes=tuple(dict.fromkeys(note for _, part in parts for note in part.told)),
        )

    def launches(self, subject: Subject) -> tuple[tuple[RepeatedLaunch, EnergyPrediction], ...]:
        """What the model says of each launch. Raises ``ValueError`` for another GPU than the model's."""
        return tuple(
            (launch, self.model.predict(launch.workload, subject.gpu, subject.clocks))
            for launch in subject.launches
        )

    def time_s(self, subject: Subject) -> float:
        """Predicted seconds of the iteration. Raises ``ValueError`` for another GPU than the model's."""
        return sum(launch.repeat * part.time_s for launch, part in self.launches(subject))
