"""What options and settings say of budgets and comparisons, checked wherever they are read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice.config.budgets import Budget
    from wattslice.config.options import Choices
    from wattslice.gate.changes import Policy
    from wattslice.gate.verdict import UnknownPolicy


class Judging(NamedTuple):
    """How the gate judges."""

    budgets: tuple[Budget, ...]
    unknown: UnknownPolicy
    policy: Policy


def judging_of(said: Choices) -> Judging:
    """Raises `WattsliceError` that names the option which is wrong."""
    from wattslice.config.config import choice
    from wattslice.gate.verdict import UnknownPolicy

    unknown = choice(UnknownPolicy, "--unknown", said.gate_unknown)
    return Judging(_budgets(said), unknown, replace(_policy(said), unknown=unknown.severity))


def _budgets(said: Choices) -> tuple[Budget, ...]:
    from wattslice.config.budgets import Budget
    from wattslice.config.config import check, is_amount

    power_w, energy_j = said.gate_max_power_w, said.gate_max_energy_j
    check("--max-power", power_w, "a budget", "a positive number of watts", holds=is_amount)
    check("--max-energy", energy_j, "a budget", "a positive number of joules", holds=is_amount)
    general = () if power_w is None and energy_j is None else (Budget("*", "**", power_w, energy_j),)
    return (*general, *said.gate_budgets)


def _policy(said: Choices) -> Policy:
    from wattslice.gate.changes import Policy
    from wattslice.gate.ratio_trust import Quantity

    policy = Policy()
    if names := said.gate_fail_on:
        known = [quantity.value for quantity in Quantity]
        for name in names:
            if name not in known:
                raise WattsliceError(f"--fail-on: unknown value {name!r}", remedy=f"of {', '.join(known)}")
        chosen = tuple(Quantity(name) for name in names)
        policy = replace(policy, fail_on=chosen, saving_pays=False)
    allowed = _share("--tolerance", said.gate_tolerance, policy.tolerance)
    sure = _share("--confidence", said.gate_confidence, policy.confidence)
    if not 0.5 <= sure < 1:
        raise WattsliceError(f"--confidence: {sure:g} is no confidence", remedy="from 50% to below 100%")
    return replace(policy, tolerance=allowed, confidence=sure)


def _share(option: str, value: str | float | None, default: float) -> float:
    """A share as people write it: 5% or 0.05. A bare 5 is refused: it could mean either."""

    if value is None:
        return default
    try:
        text = str(value).rstrip()
        is_percent = text.endswith("%")
        share = float(text.rstrip("% ")) / (100 if is_percent else 1)
    except ValueError:
        is_percent, share = False, math.nan
    if 1 <= share < math.inf and not is_percent:
        remedy = f"write {share:g}%, or {share / 100:g} for the same share"
        raise WattsliceError(
            f"{option}: {value!r} is no share below 1 and has no percent sign", remedy=remedy
        )
    if not 0 <= share < math.inf:
        raise WattsliceError(f"{option}: {value!r} is not a share", remedy="such as 5% or 0.05")
    return share
