"""What reports say of the values that arrays are taken to hold: one phrase for all launches of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from wattslice.analysis import Launch
from wattslice.units import printable

_MOST_NAMED = 3


class OfData(Protocol):
    """A launch of a kernel."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def launch(self) -> Launch: ...  # noqa: D102


def data_words(launches: Sequence[OfData], *, named: bool = True) -> str:
    """`data live`, what most hold; launches that differ: `; add: live, x zeros (cudaMemset in line 9)`.

    Empty without launches. `named` False: those that differ are only counted; no text of the sources.
    """
    if not launches:
        return ""
    told = [(printable(one.name), one.launch.data) for one in launches]
    usual = Counter(data.partition(",")[0] for _, data in told).most_common(1)[0][0]
    others = [f"{name}: {printable(data)}" for name, data in told if data != usual]
    if not named:
        return f"data {usual}" + (
            f", other in {len(others)} launch{'es' * (len(others) != 1)}" if others else ""
        )
    others = list(dict.fromkeys(others))
    more = len(others) - _MOST_NAMED
    return "; ".join((f"data {usual}", *others[:_MOST_NAMED], *([f"and {more} more"] if more > 0 else ())))
