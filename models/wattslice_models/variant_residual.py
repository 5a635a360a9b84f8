"""What measured variants of one kernel on one board teach about the others: a residual on the physics.

A Gaussian process (Rasmussen and Williams 2006, chapters 2 and 5) on logarithms of what a variant does each
second, of its predicted seconds and watts: a Matérn kernel of order 5/2 and a linear one, averaged over a
grid of lengths, linear shares and noises by their marginal likelihoods. It is used only where it predicts
measured variants that it was not taught better than a level, and a level only where it beats nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice_models.workload import Workload

_LENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
_LINEAR = (0.0, 0.3, 3.0)
_NOISES = (0.003, 0.01, 0.03, 0.1, 0.3)
_FOLDS = 10
_COVERAGE = 0.9
_BEYOND = math.log(1.1)
"""How far beyond the features of all measured variants their interval is believed."""

_Array = NDArray[np.float64]


class Gate(Enum):
    """What of the measured variants is used, the least first."""

    NOTHING = "nothing"
    LEVEL = "a level"
    LEARNED = "a residual"


_NEEDED = {Gate.NOTHING: 0, Gate.LEVEL: 2, Gate.LEARNED: 4}
"""Variants that differ in their features."""


def amounts_of(work: Workload) -> tuple[float, ...]:
    """What a launch does, as `VariantWork` has it."""
    done = work.instructions
    kinds = (done.fp32, done.fp64, done.integer, done.load_store, work.instructions_per_thread)
    return tuple(work.threads * one for one in (*kinds, work.l1_bytes or 0.0, work.dram_bytes or 0.0))


class VariantWork(Struct, frozen=True):
    """What a variant does and what is predicted of it.

    `amounts`: of all threads instructions on fp32, fp64 and integers, loads and stores, all instructions;
    bytes of loads and stores; bytes of DRAM. `occupancy`: share of the SMs' warps.
    """

    amounts: tuple[float, ...]
    occupancy: float
    time_s: float
    power_w: float

    @property
    def features(self) -> tuple[float, ...]:
        """Logarithms of all: of what it does, each second."""
        rates = (math.log(max(amount / self.time_s, 1.0)) for amount in self.amounts)
        held = math.log(max(self.occupancy, 1e-3))
        return (*rates, held, math.log(self.time_s), math.log(self.power_w))


class VariantResidual(Struct, frozen=True):
    """Of `variants` measured ones, each with `features` and the logarithm of measured over predicted.

    `errors`: mean |measured / predicted - 1| of variants held out, by gate, as far as tried. `half_width`:
    of the logarithm, what 90 % of the held-out ones lie within; None: too few to say.
    """

    gate: Gate
    features: tuple[tuple[float, ...], ...]
    log_ratios: tuple[float, ...]
    errors: tuple[tuple[Gate, float], ...]
    half_width: float | None

    def reaches(self, features: tuple[float, ...]) -> bool:
        """Whether what was measured, and so `half_width`, is about a variant with such `features`."""
        return all(
            min(column) - _BEYOND <= one <= max(column) + _BEYOND
            for one, column in zip(features, zip(*self.features, strict=True), strict=True)
        )

    def factors(self, features: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
        """By what to multiply the predictions of variants with such `features` (as in `fit_variants`).

        Beyond what was measured the nearest edge of it counts.
        """
        return tuple(float(math.exp(value)) for value in _process_of(self).at(np.array(features)))


class Taught(Struct, frozen=True):
    """What `variants` measured ones taught about seconds and watts; None: nobody measured these.

    `most_w`: the highest watts that the sensor showed. `doubts`: why the measurements may mislead.
    """

    variants: int
    time: VariantResidual | None
    power: VariantResidual | None
    most_w: float
    doubts: tuple[str, ...] = ()

    @property
    def teaches(self) -> bool:
        """Whether it changes predictions or how sure they are."""
        found = [one for one in (self.time, self.power) if one is not None]
        measures_interval = self.power is not None and self.power.half_width is not None
        return measures_interval or any(one.gate is not Gate.NOTHING for one in found)

    @property
    def learnt(self) -> tuple[str, ...]:
        """What they teach and how far it holds, in words."""
        found = (("seconds", self.time), ("watts", self.power))
        return tuple(self._told(what, residual) for what, residual in found if residual is not None)

    @property
    def told(self) -> tuple[str, ...]:
        """What they teach, and the doubts."""
        return (*self.learnt, *self.doubts)

    def _told(self, what: str, residual: VariantResidual) -> str:
        errors, number = dict(residual.errors), len(residual.log_ratios)
        teach = "variants teach" if number > 1 else "variant teaches"
        told, plain = f"{what}: {number} measured {teach} {residual.gate.value}", errors[Gate.NOTHING]
        if residual.gate is Gate.NOTHING:
            return f"{told}; they are missed by {plain:.1%}"
        told += f"; held out, they are missed by {errors[residual.gate]:.1%}, by {plain:.1%} without"
        has_interval = residual is not self.power or residual.half_width is not None
        return told if has_interval else f"{told}; too few for an interval of their own"

    def factors(self, works: Sequence[VariantWork]) -> tuple[tuple[float, float], ...]:
        """By what to multiply the predicted seconds and watts of each of `works`."""
        asked = tuple(work.features for work in works)
        ones = (1.0,) * len(asked)
        times = ones if self.time is None else self.time.factors(asked)
        return tuple(zip(times, ones if self.power is None else self.power.factors(asked), strict=True))


def fit_variants(
    features: tuple[tuple[float, ...], ...], log_ratios: tuple[float, ...], seed: int = 0
) -> VariantResidual:
    """`features[i]`: finite numbers of measured variant i. Those with equal features are held out together.

    Raises ``ValueError`` without a variant.
    """
    if not features:
        raise ValueError("no measured variant")
    x, y = np.array(features), np.array(log_ratios)
    groups = {row: number for number, row in enumerate(dict.fromkeys(features))}
    order = np.random.default_rng(seed).permutation(len(groups))
    fold = np.array([order[groups[row]] % _FOLDS for row in features])
    held: dict[Gate, _Array] = {}
    for gate in Gate:
        if len(groups) < _NEEDED[gate]:
            continue
        left = np.empty(len(y))
        for number in set(fold.tolist()):
            out = fold == number
            left[out] = y[out] - _process(gate, x[~out], y[~out]).at(x[out])
        held[gate] = left
    errors = tuple((gate, float(np.mean(np.abs(np.exp(-left) - 1)))) for gate, left in held.items())
    best = min(errors, key=lambda entry: entry[1])[0]
    rank = math.ceil((len(y) + 1) * _COVERAGE)
    widths = np.sort(np.abs(held[best]))
    return VariantResidual(
        best, features, log_ratios, errors, float(widths[rank - 1]) if rank <= len(widths) else None
    )


class _Process(Struct, frozen=True):
    """The mean of the Gaussian process: `level` everywhere, and by how alike variants are to the `known`.

    `used`: columns of the features, from `low` to `high`; `terms`: length, linear share, weights.
    """

    level: float
    used: NDArray[np.intp]
    low: _Array
    high: _Array
    centre: _Array
    spread: _Array
    known: _Array
    terms: tuple[tuple[float, float, _Array], ...]

    def at(self, asked: _Array) -> _Array:
        """Of the rows of `asked`, beyond the edge of the known as at the edge."""
        found = np.full(len(asked), self.level)
        if not self.terms:
            return found
        rows: _Array = (np.clip(asked, self.low, self.high)[:, self.used] - self.centre) / self.spread
        far, line = _squares(rows, self.known), _products(rows, self.known)
        for length, share, weights in self.terms:
            found += (_matern(far, length) + share * line) @ weights
        return found


@lru_cache(maxsize=16)
def _process_of(residual: VariantResidual) -> _Process:
    return _process(residual.gate, np.array(residual.features), np.array(residual.log_ratios))


def _process(gate: Gate, x: _Array, y: _Array) -> _Process:
    level = 0.0 if gate is Gate.NOTHING or len(y) == 0 else float(y.mean())
    deviation = np.asarray(x.std(axis=0) if len(y) else (), dtype=np.float64)
    used = np.flatnonzero(deviation > 1e-9)
    if gate is not Gate.LEARNED or len(y) < 2 or not np.ptp(y) or not len(used):
        nothing = np.zeros(0)
        return _Process(level, used, nothing, nothing, nothing, nothing, nothing, ())
    centre, spread = np.asarray(x.mean(axis=0), dtype=np.float64)[used], deviation[used]
    known = (x[:, used] - centre) / spread
    near, line, centred = _squares(known, known), _products(known, known), y - level
    kinds = [(length, share) for length in _LENGTHS for share in _LINEAR]
    likelihoods: list[list[float]] = []
    weights: list[list[_Array]] = []
    for length, share in kinds:
        alike = _matern(near, length) + share * line
        likelihoods.append([])
        weights.append([])
        for noise in _NOISES:
            factor = np.asarray(np.linalg.cholesky(alike + noise * np.eye(len(y))), dtype=np.float64)
            found = _solved(factor.T, _solved(factor, centred))
            scale = max(float(centred @ found) / len(y), 1e-300)
            likelihoods[-1].append(-0.5 * len(y) * math.log(scale) - float(np.log(np.diag(factor)).sum()))
            weights[-1].append(found)
    shares = np.exp(np.array(likelihoods) - np.max(likelihoods))
    shares /= shares.sum()
    terms = (
        (length, share, part @ np.array(found))
        for (length, share), part, found in zip(kinds, shares, weights, strict=True)
    )
    return _Process(level, used, x.min(axis=0), x.max(axis=0), centre, spread, known, tuple(terms))


def _solved(matrix: _Array, right: _Array) -> _Array:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def _squares(one: _Array, other: _Array) -> _Array:
    apart: _Array = one[:, None] - other[None]
    return np.mean(apart**2, axis=2)


def _products(one: _Array, other: _Array) -> _Array:
    return one @ other.T / one.shape[1]


def _matern(squares: _Array, length: float) -> _Array:
    apart = np.sqrt(5.0 * squares) / length
    return (1.0 + apart + apart**2 / 3.0) * np.exp(-apart)
