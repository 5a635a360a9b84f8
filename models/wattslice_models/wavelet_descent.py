"""Gradient descent of wavelet networks, several side by side, each on its own part of the measured runs.

As the paper says, weights, translations and dilations follow the gradient of the error. What it leaves open:

* error: eq. (8) sums signed differences, which has no minimum; the mean squared log of measured / predicted
  watts is taken (a relative error), every benchmark with the same weight, whatever its number of rows. The
  watts of a run are the mixture of its slices' (eq. (12)), and the gradient goes through it.
* start (Zhang & Benveniste 1992, the paper's reference [27], recalled): wavelons sit at the nodes of a dyadic
  tree over the range of the data. A node's translation is the centre of gravity of |df/dx| in its interval,
  its dilation in proportion to the interval; the two parts are the next nodes. Output weights start at 0
  around the mean of the output. Their construction is for one input; here each wavelon looks at the data
  along a random direction of its own, which does not point at the board's numbers at first.
* step: Adam (Kingma & Ba 2015) on all runs at once, with a small penalty on large output weights.

Tensors have double precision; the first dimension is the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from msgspec import Struct
from torch import Tensor

from wattslice_models.contract import NotEnoughDataError
from wattslice_models.wavelet_network import MORLET_FREQUENCY, SIGMOID_HEIGHT, SIGMOID_SLOPE, WAVELONS

STEP_SIZE = 0.02
PENALTY = 1e-3
"""On the squares of the output weights and of the weights of the board's numbers. Without it, and with
narrower wavelons, networks of a few benchmarks invent waves between them; both numbers were chosen on laws
made up for that purpose, not on measurements."""
DILATION_SHARE = 2.0
"""Dilation relative to the interval (Zhang & Benveniste's xi; theirs is usually 0.5)."""
BINS = 16
"""Pieces of an interval in which |df/dx| is estimated."""


class Runs(Struct, frozen=True):
    """Measured runs and their slices.

    `inputs`: distinct slices x inputs, logarithms taken; `of_board`: which inputs are numbers of the board.
    `point`, `run`, `share`: of each slice, which of the distinct ones it is, the run it belongs to and its
    weight there. `log_power`, `benchmark`, `setting`: of each run, log units measured, number of its
    benchmark and of its GPU's clocks. `reference`: of each setting, the setting of the same GPU whose clock
    factor is 1.
    """

    inputs: Tensor
    of_board: Tensor
    point: Tensor
    run: Tensor
    share: Tensor
    log_power: Tensor
    benchmark: Tensor
    setting: Tensor
    reference: Tensor


class Networks(Struct, frozen=True):
    """Networks side by side: scales of input and output, and what the descent moves.

    `low`, `high`: networks x inputs. `log_power_mean`, `log_power_half_range`: networks. `weights`: networks
    x wavelons x inputs; `translation`, `log_dilation`, `output_weight`: networks x wavelons;
    `log_clock_factor`: networks x settings, that of a reference counts as 0 whatever it is.
    """

    low: Tensor
    high: Tensor
    log_power_mean: Tensor
    log_power_half_range: Tensor
    weights: Tensor
    translation: Tensor
    log_dilation: Tensor
    output_weight: Tensor
    log_clock_factor: Tensor

    @property
    def moved(self) -> tuple[Tensor, ...]:
        """What the descent moves."""
        return self.weights, self.translation, self.log_dilation, self.output_weight, self.log_clock_factor

    def scaled(self, inputs: Tensor) -> Tensor:
        """Networks x slices x inputs in [-1, 1]; 0 for an input that never varied."""
        span = self.high - self.low
        position = (inputs - self.low.unsqueeze(1)) / torch.where(span == 0, 1.0, span).unsqueeze(1)
        return torch.where(span.unsqueeze(1) == 0, 0.0, 2 * position.clamp(0, 1) - 1)

    def answers(self, scaled: Tensor) -> Tensor:
        """Eqs. (5) to (7): networks x slices."""
        projected = scaled @ self.weights.transpose(1, 2)
        x = (projected - self.translation.unsqueeze(1)) / self.log_dilation.exp().unsqueeze(1)
        wavelets = torch.cos(MORLET_FREQUENCY * x) * torch.exp(-x * x / 2)
        total = (wavelets @ self.output_weight.unsqueeze(2)).squeeze(2)
        return SIGMOID_HEIGHT * torch.tanh(SIGMOID_SLOPE * total / 2)

    def log_power(self, scaled: Tensor, runs: Runs) -> Tensor:
        """Log of the units predicted for each run: networks x runs."""
        answers = self.answers(scaled)
        units = torch.exp(self.log_power_mean.unsqueeze(1) + self.log_power_half_range.unsqueeze(1) * answers)
        of_runs = torch.zeros(len(answers), len(runs.log_power), dtype=torch.float64)
        of_runs = of_runs.index_add(1, runs.run, units[:, runs.point] * runs.share)
        return of_runs.log() + self.log_clock_factors(runs)[:, runs.setting]

    def log_clock_factors(self, runs: Runs) -> Tensor:
        """Networks x settings; 0 for each GPU's reference."""
        is_reference = runs.reference == torch.arange(len(runs.reference))
        return torch.where(is_reference, 0.0, self.log_clock_factor)

    def copied(self) -> Networks:
        """The same numbers, out of reach of the descent."""
        scales = self.low, self.high, self.log_power_mean, self.log_power_half_range
        return Networks(*scales, *(tensor.detach().clone() for tensor in self.moved))


def descent(runs: Runs, held_out: Tensor, seed: int) -> Iterator[tuple[float, Networks]]:
    """Step after step: the error of what was held out, and the networks, which the next step moves on.

    `held_out`: networks x runs, which runs a network must not see. The error is the mean over the networks
    that hold out something, every benchmark with the same weight; runs at clocks that a network never saw do
    not count. Never ends. Raises `NotEnoughDataError` when nothing counts.
    """
    networks = _start(runs, held_out, seed)
    scaled = networks.scaled(runs.inputs)
    trained = _benchmark_weights(runs, ~held_out)
    tested = _benchmark_weights(runs, held_out & _known_settings(runs, held_out))
    if not tested.any():
        raise NotEnoughDataError("no two benchmarks share a GPU at the same clocks: none can be held out")
    tested = tested / tested.sum()
    for tensor in networks.moved:
        tensor.requires_grad_()
    adam: Any = torch.optim.Adam(networks.moved, lr=STEP_SIZE)
    while True:
        adam.zero_grad()
        squared_errors = (networks.log_power(scaled, runs) - runs.log_power) ** 2
        yield float((squared_errors.detach() * tested).sum()), networks
        penalised = (networks.output_weight**2).sum() + (networks.weights[..., runs.of_board] ** 2).sum()
        loss: Any = (squared_errors * trained).sum() + PENALTY * penalised
        loss.backward()
        adam.step()


def _benchmark_weights(runs: Runs, kept: Tensor) -> Tensor:
    """Networks x runs: weights that add up to 1 over the kept runs, the same for each of their benchmarks."""
    weights = torch.zeros(kept.shape, dtype=torch.float64)
    for number in range(int(runs.benchmark.max()) + 1):
        members = kept & (runs.benchmark == number)
        weights += members / members.sum(1, keepdim=True).clamp(min=1)
    return weights / weights.sum(1, keepdim=True).clamp(min=1)


def _known_settings(runs: Runs, held_out: Tensor) -> Tensor:
    return torch.stack([torch.isin(runs.setting, runs.setting[~row]) for row in held_out])


def _start(runs: Runs, held_out: Tensor, seed: int) -> Networks:
    starts = [_start_of_one(runs, ~row, seed) for row in held_out]
    return Networks(*(torch.stack(column) for column in zip(*starts, strict=True)))


def _start_of_one(runs: Runs, seen: Tensor, seed: int) -> tuple[Tensor, ...]:
    """The fields of one network before the first step, from the runs it may see."""
    weights = _benchmark_weights(runs, seen.unsqueeze(0)).squeeze(0)
    log_factor = _first_clock_factors(runs, weights)
    base = runs.log_power - log_factor[runs.setting]
    mean = (weights * base).sum()
    half_range = (base - mean)[seen].abs().max()

    mass = torch.zeros(len(runs.inputs), dtype=torch.float64)
    mass = mass.index_add(0, runs.point, runs.share * weights[runs.run])
    target = torch.zeros_like(mass).index_add(0, runs.point, runs.share * (weights * base)[runs.run])
    inputs, target = runs.inputs[mass > 0], (target / mass)[mass > 0]
    low, high = inputs.amin(0), inputs.amax(0)
    scaled = torch.where(high == low, 0.0, 2 * (inputs - low) / torch.where(high == low, 1.0, high - low) - 1)

    chance = torch.Generator().manual_seed(seed)
    directions = torch.randn(WAVELONS, inputs.shape[1], generator=chance, dtype=torch.float64)
    directions = torch.where((high == low) | runs.of_board, 0.0, directions)
    directions = directions / (directions**2).sum(1, keepdim=True).sqrt().clamp(min=1e-12)
    nodes = [
        _tree_node(node, scaled @ direction, target) for node, direction in enumerate(directions, start=1)
    ]
    translation, dilation = torch.tensor(nodes, dtype=torch.float64).unbind(1)
    output_weight = torch.zeros_like(translation)
    return (low, high, mean, half_range, directions, translation, dilation.log(), output_weight, log_factor)


def _first_clock_factors(runs: Runs, weights: Tensor) -> Tensor:
    """Mean log watts of a setting's runs, less that of its reference; 0 where either has none."""
    settings = len(runs.reference)
    mass = torch.zeros(settings, dtype=torch.float64).index_add(0, runs.setting, weights)
    total = torch.zeros_like(mass).index_add(0, runs.setting, weights * runs.log_power)
    mean = total / torch.where(mass == 0, 1.0, mass)
    both = (mass > 0) & (mass[runs.reference] > 0)
    return torch.where(both, mean - mean[runs.reference], 0.0)


def _tree_node(number: int, positions: Tensor, target: Tensor) -> tuple[float, float]:
    """Translation and dilation of a node: 1 is the root, 2n and 2n + 1 are left and right of n."""
    low, high = float(positions.min()), float(positions.max())
    for turn in bin(number)[3:]:
        centre = _centre_of_change(positions, target, low, high)
        low, high = (low, centre) if turn == "0" else (centre, high)
    return _centre_of_change(positions, target, low, high), max(DILATION_SHARE * (high - low), 1e-3)


def _centre_of_change(positions: Tensor, target: Tensor, low: float, high: float) -> float:
    """Centre of gravity of |df/dx| in an interval, by the means of its pieces; the middle where f is flat."""
    inside = (positions >= low) & (positions <= high)
    order = torch.argsort(positions[inside], stable=True)
    x, y = positions[inside][order], target[inside][order]
    pieces = [piece for piece in torch.arange(len(x)).tensor_split(BINS) if len(piece)]
    if len(pieces) < 2:
        return (low + high) / 2
    at = torch.stack([x[piece].mean() for piece in pieces])
    change = torch.stack([y[piece].mean() for piece in pieces]).diff().abs()
    if float(change.sum()) == 0:
        return (low + high) / 2
    return float(((at[1:] + at[:-1]) / 2 * change).sum() / change.sum())
