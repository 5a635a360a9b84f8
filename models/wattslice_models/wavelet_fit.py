"""Learns the wavelet network of `wavelet_network`. Needs numpy and torch; predicting needs neither.

Training stops where benchmarks held out of it are predicted best. Up to five networks, each with another part
of the benchmarks held out, learn side by side with the one that has all of them; that one is kept as it was
when their mean error was least. Scales, start and clock factors of a network come from its own part only.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from msgspec import Struct
from torch import Tensor

from wattslice_models.contract import Example, ModelKind, NotEnoughDataError, Subject
from wattslice_models.execution_time import core_clock_mhz, memory_clock_scale
from wattslice_models.mean import UNCALIBRATED
from wattslice_models.wavelet_descent import Networks, Runs, descent
from wattslice_models.wavelet_inputs import (
    CATALOGUE_INPUTS,
    NUMBERED_INPUTS,
    CatalogueGpus,
    ClockFactor,
    InputRange,
    NumberedGpus,
    described_slices,
    share_without_density,
)
from wattslice_models.wavelet_network import WAVELONS, WaveletModel, Wavelon

FOLDS = 5
STEPS = 1500
PATIENCE = 300
BETTER = 0.99
"""Steps at most; steps after which to stop when the error of the held-out benchmarks got no better; what is
better, relative to the best error before."""
LANDMARKS = 256
"""Training slices that a model keeps to measure distances from."""

_Setting = tuple[str, float, float]
"""GPU, core clock in MHz, memory clock relative to the catalogue's."""


class WaveletLearner(Struct, frozen=True):
    """Learns a wavelet network: with GPUs of the catalogue, or numbered as published."""

    numbered_gpus: bool = False

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.WAVELET`"""
        return ModelKind.WAVELET

    def fit(self, examples: tuple[Example, ...], seed: int = 0) -> WaveletModel:
        """The network of `examples`; those without a slice that has a density, or on a GPU without a number
        that is needed, do not count.

        Raises `NotEnoughDataError` for fewer than two benchmarks, fewer examples than wavelons, and numbered
        GPUs when no two benchmarks were measured on one GPU at the same clocks.
        """
        usable = tuple(
            example
            for example in examples
            if described_slices(example.subject)
            and (self.numbered_gpus or not CatalogueGpus().cannot(example.subject))
        )
        benchmarks = tuple(dict.fromkeys(example.benchmark for example in usable))
        if len(benchmarks) < 2 or len(usable) < WAVELONS:
            found = f"{len(usable)} examples with slices, of {len(benchmarks)} benchmarks"
            raise NotEnoughDataError(f"{found}: at least {WAVELONS}, of 2 benchmarks, are needed")
        with _deterministic():
            return _fit(usable, self.numbered_gpus, seed)


@contextmanager
def _deterministic() -> Generator[None, None, None]:
    """One thread, because sums depend on how they are split; the caller's settings come back."""
    threads, exactly = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(exactly)


def _fit(examples: tuple[Example, ...], numbered_gpus: bool, seed: int) -> WaveletModel:
    gpu_ids = tuple(dict.fromkeys(example.subject.gpu.id for example in examples))
    gpus = NumberedGpus(gpu_ids, ()) if numbered_gpus else CatalogueGpus()
    described = NUMBERED_INPUTS if numbered_gpus else CATALOGUE_INPUTS
    settings = _settings(examples) if numbered_gpus else ()
    benchmarks = tuple(dict.fromkeys(example.benchmark for example in examples))
    slices = tuple(
        (run, share, (*values, *gpus.values(example.subject)))
        for run, example in enumerate(examples)
        for share, values in described_slices(example.subject)
    )
    natural, point = np.unique(np.array([values for _, _, values in slices]), axis=0, return_inverse=True)
    curved = np.where([one.logarithmic for one in described], np.log1p(natural), natural)
    units_w = [1.0 if numbered_gpus else gpus.unit_w(example.subject) for example in examples]
    runs = Runs(
        inputs=torch.tensor(curved),
        of_board=torch.tensor([one.of_board for one in described]),
        point=torch.tensor(point),
        run=torch.tensor([run for run, _, _ in slices]),
        share=_doubles(share for _, share, _ in slices),
        log_power=_doubles(
            math.log(example.power_w / unit_w) for example, unit_w in zip(examples, units_w, strict=True)
        ),
        benchmark=torch.tensor([benchmarks.index(example.benchmark) for example in examples]),
        setting=torch.tensor([settings.index(_setting(one.subject)) if settings else 0 for one in examples]),
        reference=torch.tensor([_reference(setting, settings) for setting in settings] or [0]),
    )
    steps, error, networks = _stopped_early(runs, seed)
    if isinstance(gpus, NumberedGpus):
        factors = _listed(networks.log_clock_factors(runs)[-1].exp())
        clock_factors = (ClockFactor(*one, factor) for one, factor in zip(settings, factors, strict=True))
        gpus = NumberedGpus(gpu_ids, tuple(clock_factors))
    landmarks, limit = _landmarks(networks.scaled(runs.inputs)[-1], runs)
    ranges = zip(described, natural.min(axis=0).tolist(), natural.max(axis=0).tolist(), strict=True)
    return WaveletModel(
        interval=UNCALIBRATED,
        gpus=gpus,
        inputs=tuple(InputRange(one.name, one.logarithmic, low, high) for one, low, high in ranges),
        wavelons=frozen_wavelons(networks, -1),
        log_power_mean=float(networks.log_power_mean[-1]),
        log_power_half_range=float(networks.log_power_half_range[-1]),
        share_without_density_max=max(share_without_density(example.subject) for example in examples),
        landmarks=landmarks,
        distance_limit=limit,
        training_steps=steps,
        held_out_error=math.sqrt(error),
    )


def frozen_wavelons(networks: Networks, number: int) -> tuple[Wavelon, ...]:
    """The wavelons of one of the networks."""
    columns = networks.weights, networks.translation, networks.log_dilation.exp(), networks.output_weight
    rows = zip(*(_listed(column[number]) for column in columns), strict=True)
    return tuple(Wavelon(tuple(weights), *numbers) for weights, *numbers in rows)


def _doubles(values: Iterable[float]) -> Tensor:
    return torch.tensor(tuple(values), dtype=torch.float64)


def _setting(subject: Subject) -> _Setting:
    gpu, clocks = subject.gpu, subject.clocks
    return gpu.id, core_clock_mhz(gpu, clocks), round(memory_clock_scale(gpu, clocks), 2)


def _settings(examples: tuple[Example, ...]) -> tuple[_Setting, ...]:
    """The clocks measured on each GPU, those of most rows first, then the fastest."""
    rows = Counter(_setting(example.subject) for example in examples)
    return tuple(sorted(rows, key=lambda setting: (rows[setting], setting), reverse=True))


def _reference(setting: _Setting, settings: tuple[_Setting, ...]) -> int:
    """The first setting of the same GPU."""
    return next(number for number, other in enumerate(settings) if other[0] == setting[0])


def held_out_runs(runs: Runs, seed: int) -> Tensor:
    """Networks x runs: each holds out another part of the shuffled benchmarks, the last one nothing."""
    count = int(runs.benchmark.max()) + 1
    shuffled = random.Random(seed).sample(range(count), count)
    folds = min(FOLDS, count)
    parts = [torch.tensor(shuffled[number::folds]) for number in range(folds)]
    rows = [torch.isin(runs.benchmark, part) for part in parts]
    return torch.stack([*rows, torch.zeros_like(rows[0])])


def _stopped_early(runs: Runs, seed: int) -> tuple[int, float, Networks]:
    """Steps, error of the held-out benchmarks and networks at the step where that error was least."""
    best: tuple[int, float, Networks] | None = None
    for step, (error, networks) in enumerate(descent(runs, held_out_runs(runs, seed), seed)):
        if best is None or error < BETTER * best[1]:
            best = step, error, networks.copied()
        if step == STEPS or step - best[0] == PATIENCE:
            return best
    raise AssertionError("a descent never ends")


def _landmarks(scaled: Tensor, runs: Runs) -> tuple[tuple[tuple[float, ...], ...], float]:
    """Training slices spread over all of them, and the largest distance that is not unusual.

    Landmarks are chosen farthest first (Gonzalez 1985); every training slice lies within some radius of one.
    The limit is the largest distance of a benchmark's slice from those of the others, plus that radius: what
    is farther than the limit from every landmark is farther than any was from the training slices.
    """
    chosen = [0]
    distance = _distances(scaled, scaled[:1]).squeeze(1)
    while float(distance.max()) > 0 and len(chosen) < LANDMARKS:
        chosen.append(int(distance.argmax()))
        distance = torch.minimum(distance, _distances(scaled, scaled[chosen[-1:]]).squeeze(1))
    benchmark_of = runs.benchmark[runs.run]
    limit = 0.0
    for number in range(int(runs.benchmark.max()) + 1):
        own, others = (
            _members(runs.point[of], len(scaled)) for of in (benchmark_of == number, benchmark_of != number)
        )
        limit = max(limit, float(_distances(scaled[own], scaled[others]).amin(1).max()))
    return tuple(map(tuple, _listed(scaled[chosen]))), limit + float(distance.max())


def _members(numbers: Tensor, count: int) -> Tensor:
    """Which of 0 ... count - 1 are among `numbers`."""
    return torch.isin(torch.arange(count), numbers)


def _distances(left: Tensor, right: Tensor) -> Tensor:
    return torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist")


def _listed(tensor: Tensor) -> list[Any]:
    untyped: Any = tensor  # torch does not say what its lists hold
    return untyped.tolist()
