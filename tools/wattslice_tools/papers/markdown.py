"""What the pages of all papers share: tables in Markdown, errors and their means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def relative_error(predicted: float, true: float) -> float:
    """What `predicted` is above `true`, as a fraction of `true`."""
    return (predicted - true) / true


def percent(fraction: float) -> str:
    """A signed percentage with two decimals."""
    return f"{fraction:+.2%}"


def worst(errors: Iterable[float]) -> str:
    """The one farthest from 0, in percent."""
    return percent(max(errors, key=abs))


def magnitudes(errors: Sequence[float]) -> str:
    """The least, the largest and the mean of the absolute values of errors."""
    absolute = [abs(error) for error in errors]
    return f"{min(absolute):.2%} to {max(absolute):.2%} (mean {mean(absolute):.2%})"


def held(ratios: Sequence[float], half_width: float) -> int:
    """How many ratios lie within `half_width` of one."""
    return sum(1 - half_width <= ratio <= 1 + half_width for ratio in ratios)


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean. Raises ``ZeroDivisionError`` without values."""
    collected = tuple(values)
    return math.fsum(collected) / len(collected)


def rms(values: Sequence[float]) -> float:
    """The root of the mean square."""
    return math.sqrt(mean(value * value for value in values))
