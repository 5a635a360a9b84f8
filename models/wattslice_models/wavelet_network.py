"""The wavelet network of Wang & Chen 2013 (section 3.2, eqs. (5) to (7)) as a frozen model, in plain Python.

Watts of a slice come from a network with one layer of eleven wavelons, watts of a run from eq. (12): the mean
of its slices' watts by `SliceSample.weight`. Two descriptions of the GPU exist:

`NumberedGpus`, as published: inputs Ã, Sa, code lines and the number of the GPU in the training set. The
    published network has no clock. It answers here for the reference clocks of each GPU; at other measured
    clocks every kernel is taken to follow one factor, fitted along with the network. So the network keeps its
    four inputs, and whether a kernel is bound by memory or by arithmetic does not change how it follows the
    clock: that is a limit of the published inputs.
`CatalogueGpus`, generalised: numbers of the GPU's catalogue entry and its clocks instead of the number, and
    watts relative to the power limit. It can answer for a GPU never measured.

What the paper leaves open, and what was taken:

* preprocessing: log(1 + x) of everything that spans orders of magnitude (Ã may be 0), then the range of the
  training data to [-1, 1]. An input outside that range is held at its edge, and the prediction says so.
* output: log watts, their mean at 0 and their largest deviation at 1, inside the sigmoid's ±1.716.
* eq. (7) has no sigmoid around its sum, while the text makes eq. (6) the output neuron: it is applied.
* a slice without memory access has no Ã: it is taken to draw what the other slices of its run draw. A run
  whose slices all lack it is not predicted.

Learning is the business of `wavelet_fit`; here nothing but the standard library is needed.
"""

from __future__ import annotations

import math
import operator

from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import Interval, ModelKind, Subject
from wattslice_models.types import Prediction
from wattslice_models.wavelet_inputs import (
    CatalogueGpus,
    InputRange,
    NumberedGpus,
    described_slices,
    share_without_density,
)

WAVELONS = 11
MORLET_FREQUENCY = 1.67
SIGMOID_HEIGHT = 1.716
SIGMOID_SLOPE = 0.667
"""Constants as printed: nodes of the wavelet layer, eq. (5), a and b of eq. (6)."""


def morlet(x: float) -> float:
    """The real Morlet wavelet, eq. (5)."""
    return math.cos(MORLET_FREQUENCY * x) * math.exp(-x * x / 2)


def scaled_sigmoid(x: float) -> float:
    """Eq. (6), 2a/(1 + exp(-bx)) - a, written as a tanh(bx/2), which does not overflow."""
    return SIGMOID_HEIGHT * math.tanh(SIGMOID_SLOPE * x / 2)


class Wavelon(Struct, frozen=True):
    """One node of the wavelet layer: morlet((weights · inputs - translation) / dilation) · output_weight."""

    weights: tuple[float, ...]
    translation: float
    dilation: float
    output_weight: float

    def output(self, inputs: tuple[float, ...]) -> float:
        """Its part of the sum of eq. (7)."""
        projected = math.fsum(map(operator.mul, self.weights, inputs))
        return self.output_weight * morlet((projected - self.translation) / self.dilation)


def network_output(wavelons: tuple[Wavelon, ...], inputs: tuple[float, ...]) -> float:
    """Eqs. (5) to (7) for scaled inputs, in (-1.716, 1.716)."""
    return scaled_sigmoid(math.fsum(wavelon.output(inputs) for wavelon in wavelons))


class WaveletModel(Struct, frozen=True):
    """A trained wavelet network.

    `log_power_mean`, `log_power_half_range`: an answer y of the network means exp(mean + half_range · y)
    units, watts at the reference clocks or shares of the power limit. `landmarks`: training slices in scaled
    inputs; none was farther than `distance_limit` from those of other benchmarks. `training_steps` and
    `held_out_error` (root of the mean squared log of measured / predicted over benchmarks held out of
    training): what early stopping chose. After 0 steps the network says the same of every slice: its inputs
    did not help to predict benchmarks held out.
    """

    interval: Interval
    gpus: NumberedGpus | CatalogueGpus
    inputs: tuple[InputRange, ...]
    wavelons: tuple[Wavelon, ...]
    log_power_mean: float
    log_power_half_range: float
    share_without_density_max: float
    landmarks: tuple[tuple[float, ...], ...]
    distance_limit: float
    training_steps: int
    held_out_error: float

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.WAVELET`"""
        return ModelKind.WAVELET

    def with_interval(self, interval: Interval) -> WaveletModel:
        """The same network with another interval."""
        return replace(self, interval=interval)

    def predict(self, subject: Subject) -> Prediction:
        """Watts of a run by eq. (12); unknown when no slice has a density, or for a GPU unknown here."""
        if reason := self.gpus.cannot(subject):
            return Prediction.unknown(reason)
        slices = described_slices(subject)
        if not slices:
            return Prediction.unknown("no slice with an arithmetic density: nothing to give to the network")
        gpu_values = self.gpus.values(subject)
        values = tuple((*part, *gpu_values) for _, part in slices)
        scaled = tuple(self._scaled(one) for one in values)
        units = math.fsum(share * self._units(one) for (share, _), one in zip(slices, scaled, strict=True))
        outside = self._outside(subject, values, scaled)
        missing, seen = share_without_density(subject), self.share_without_density_max
        assumed = f"{missing:.0%} of the statements are in slices without memory access: taken as the others"
        notes = (*outside, *((f"{assumed} (at most {seen:.0%} in training)",) if missing else ()))
        power_w = units * self.gpus.unit_w(subject)
        return self.interval.around(power_w, in_domain=not outside and missing <= seen, notes=notes)

    def _scaled(self, values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(one.scaled(value) for one, value in zip(self.inputs, values, strict=True))

    def _units(self, scaled: tuple[float, ...]) -> float:
        return math.exp(
            self.log_power_mean + self.log_power_half_range * network_output(self.wavelons, scaled)
        )

    def _outside(
        self, subject: Subject, values: tuple[tuple[float, ...], ...], scaled: tuple[tuple[float, ...], ...]
    ) -> tuple[str, ...]:
        notes = self.gpus.notes(subject)
        for one, column in zip(self.inputs, zip(*values, strict=True), strict=True):
            notes += one.note(column)
        farthest = max(min(math.dist(one, landmark) for landmark in self.landmarks) for one in scaled)
        if farthest > self.distance_limit:
            trained = f"the nearest trained one, more than {self.distance_limit:.2g}"
            notes += (f"the inputs of a slice are {farthest:.2g} from {trained}",)
        return notes
