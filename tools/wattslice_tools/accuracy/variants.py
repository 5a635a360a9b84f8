"""Good and bad ways of the same work in our corpus: does a model tell which draws more?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wattslice_corpora.manifest import CorpusKernel, RunSize, VariantRole, load_manifest
from wattslice_models.contract import Example
from wattslice_models.cross_validation import HeldOut

CLEAR = 0.05
"""Pairs whose measured watts differ by less than this are not told apart by a board's sensor either."""


class SignScore(Struct, frozen=True):
    """Pairs that were predicted, in how many the sign of the change is right; the same for clear changes."""

    pairs: int
    right: int
    clear_pairs: int
    clear_right: int


def variant_pairs(predicted: Sequence[HeldOut]) -> tuple[tuple[HeldOut, HeldOut], ...]:
    """The (good, bad) pairs of the corpus among these runs: same size, clocks as near as there are."""
    programs = {program.name: program for program in load_manifest()}
    found: dict[tuple[str, RunSize], dict[VariantRole, list[HeldOut]]] = {}
    for entry in predicted:
        program = programs.get(entry.example.benchmark)
        size = None if program is None else _size(program, entry.example)
        for variant in () if program is None or size is None else program.variants:
            if size is not None and variant.kernel in (None, entry.example.kernel):
                found.setdefault((variant.pair, size), {}).setdefault(variant.role, []).append(entry)
    return tuple(
        (good, min(roles[VariantRole.BAD], key=lambda bad, good=good: _apart(good.example, bad.example)))
        for roles in found.values()
        if len(roles) == 2
        for good in roles[VariantRole.GOOD]
    )


def _apart(one: Example, other: Example) -> tuple[float, float]:
    here, there = one.subject.clocks, other.subject.clocks
    return (
        abs((here.memory_mhz or 0.0) - (there.memory_mhz or 0.0)),
        abs((here.core_mhz or 0.0) - (there.core_mhz or 0.0)),
    )


def _size(program: CorpusKernel, example: Example) -> RunSize | None:
    words = tuple(example.arguments.split())
    return next((run.size for run in program.runs if tuple(map(str, run.arguments)) == words), None)


def sign_score(predicted: Sequence[HeldOut]) -> SignScore | None:
    """How often the sign of the change from bad to good is predicted; None without a pair."""
    right: list[bool] = []
    clear: list[bool] = []
    for good, bad in variant_pairs(predicted):
        if good.prediction.power_w is None or bad.prediction.power_w is None:
            continue
        measured = good.example.power_w / bad.example.power_w - 1.0
        told = good.prediction.power_w - bad.prediction.power_w
        right.append(measured * told > 0)
        if abs(measured) >= CLEAR:
            clear.append(right[-1])
    return SignScore(len(right), sum(right), len(clear), sum(clear)) if right else None
