"""How far a predicted ratio of two launches can be trusted, from measured pairs of runs.

A single prediction may be wrong by half; two versions of one kernel on one board share most of that error.
``ratio_trust.json`` holds what remains, as `tools/wattslice_tools/wild/gate_ratios.py` found it in the
public measurements:
for pairs of runs on one board at one clock, how the measured ratio lay around the predicted one.
"""

from __future__ import annotations

import math
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

DATA = Path(__file__).with_name("ratio_trust.json")


class Quantity(StrEnum):
    """What is compared of one launch: watts, joules, seconds."""

    POWER = "power"
    ENERGY = "energy"
    TIME = "time"


class Kin(StrEnum):
    """How much the two measured programs had in common.

    VARIANTS: two variants of one program (other loop bodies, sizes, access patterns), all addresses known.
    PROGRAMS: two programs that have nothing to do with each other: the worst case.
    """

    VARIANTS = "variants"
    PROGRAMS = "programs"


class Knot(Struct, frozen=True):
    """From a predicted increase of exp(`log_ratio`) on: the measured one was an increase with `p_worse`.

    `error_low`, `error_high`: 5 % and 95 % quantiles of ln(measured ratio) - ln(predicted ratio).
    """

    log_ratio: float
    p_worse: float
    error_low: float
    error_high: float
    pairs: int


class Curve(Struct, frozen=True):
    """The knots of one model, kin and quantity, by rising `log_ratio`, the first at 0."""

    model: str
    kin: Kin
    quantity: Quantity
    knots: tuple[Knot, ...]

    def at(self, log_ratio: float) -> Knot:
        """What holds for a predicted |ln ratio|."""
        return max(
            (knot for knot in self.knots if knot.log_ratio <= abs(log_ratio)), key=lambda knot: knot.log_ratio
        )

    def significant_from(self, confidence: float) -> float | None:
        """The least predicted increase (as ratio - 1) that is one with that probability; None: never."""
        found = [knot.log_ratio for knot in self.knots if knot.p_worse >= confidence]
        return math.expm1(min(found)) if found else None


class _Document(Struct, frozen=True):
    curves: tuple[Curve, ...]


@cache
def curves() -> tuple[Curve, ...]:
    """All curves of the data file."""
    return msgspec.json.decode(DATA.read_bytes(), type=_Document).curves


def curve(model: str, kin: Kin, quantity: Quantity) -> Curve | None:
    """The curve; None where nothing was measured that could tell."""
    return next(
        (one for one in curves() if (one.model, one.kin, one.quantity) == (model, kin, quantity)), None
    )
