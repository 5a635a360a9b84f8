"""Variants that this machine measures: which of a space, and the table of what was found."""

from __future__ import annotations

import random
from collections.abc import Sequence

from wattslice.config.config import check_definitions
from wattslice.errors import WattsliceError
from wattslice.launches.launch import LaunchOverride
from wattslice.launches.overrides import parse_launch
from wattslice.sweep.expressions import Expression
from wattslice.sweep.measured import RESERVED, MeasuredVariant
from wattslice.sweep.space import Variant, known_numbers, parse_definitions, variants
from wattslice_corpora.measuring.bench import Configuration
from wattslice_corpora.measuring.journal import Entry
from wattslice_corpora.measuring.sensor import Board


def variants_to_measure(
    kernel: str, definitions: tuple[str, ...], where: Sequence[str], drawn: int | None, seed: int
) -> tuple[Variant, ...]:
    """`drawn` of the variants (None: all) in random order, each with all macros that it is built with.

    More that are drawn with the same `seed` begin with the same ones. Raises `WattsliceError` where nothing
    varies, and for names that the table could not hold.
    """
    parse_launch(f"{kernel}=1:1")
    check_definitions(definitions)
    macros, plain = parse_definitions(definitions)
    conditions = tuple(Expression(text, "--where") for text in where)
    halves = (text.partition("=") for text in plain)
    fixed = tuple((name, value if equals else "1") for name, equals, value in halves)
    found = [(*variant, *fixed) for variant in variants(macros, conditions, known_numbers(plain, ()))]
    if taken := [name for name, _ in found[0] if name in RESERVED]:
        raise WattsliceError(f"-D {taken[0]}: a column of the table has this name", remedy="rename the macro")
    if empty := [name for name, value in fixed if not value]:
        raise WattsliceError(
            f"-D {empty[0]}=: an empty value", remedy=f"say it in --nvcc-flags, and -D {empty[0]}= to train"
        )
    random.Random(seed).shuffle(found)
    return tuple(found[:drawn])


def measured_rows(
    board: Board,
    kernel: str,
    asked: Sequence[Variant],
    plan: Sequence[Configuration],
    entries: Sequence[Entry],
) -> tuple[MeasuredVariant, ...]:
    """Those of the variants `asked` that were measured; `plan[i]` measures variant i.

    One whose watts are not to be believed has no figures, but the reason.
    """
    rows = {(entry.name, entry.version): entry.row for entry in entries}
    found: list[MeasuredVariant] = []
    for macros, configuration in zip(asked, plan, strict=True):
        row = rows.get((configuration.name, configuration.version))
        if row is None:
            continue
        if not row.power_valid or row.grid is None or row.block is None:
            found.append(MeasuredVariant(macros, None, None, board.name, None, row.reason))
            continue
        launch = LaunchOverride(kernel, row.grid, row.block, row.shared_bytes)
        found.append(MeasuredVariant(macros, row.time_s, row.power_w, board.name, launch))
    return tuple(found)
