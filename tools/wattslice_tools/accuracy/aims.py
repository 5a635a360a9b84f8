"""What the accuracy of watts aims at, and whether a figure gets there: printed beside the figures."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class Aim(Struct, frozen=True):
    """A share of 1 that a figure should not exceed, or (`at_least`) not stay below."""

    limit: float
    at_least: bool = False

    @property
    def words(self) -> str:
        """``≤ 11%``"""
        return f"{'≥' if self.at_least else '≤'} {self.limit:.0%}"

    def met(self, figure: float) -> bool:
        """Whether a figure gets there, as it is and not as it is printed."""
        return figure >= self.limit if self.at_least else figure <= self.limit

    def verdict(self, figure: float | None) -> str:
        """``aim ≤ 11%: met``; empty without a figure."""
        if figure is None:
            return ""
        return f"aim {self.words}: {'met' if self.met(figure) else '**missed**'}"


APPLICATIONS = Aim(0.11)
"""Mean error over sets, applications left out."""
BOARDS = Aim(0.14)
"""The same, boards left out; and none may lose to its constant mean."""
OPERANDS_UNKNOWN, OPERANDS_KNOWN = Aim(0.10), Aim(0.06)
ROOFLINE_SET = "nhr-roofline"
"""A roofline kernel on several boards, each left out: nobody tells which operands toggle, or it is known."""
VARIANTS_BOARD = "rtx_a4000"
VARIANTS, VARIANT_PAIRS, VARIANTS_TAUGHT = Aim(0.15), Aim(0.90, at_least=True), Aim(0.03)
TAUGHT = 20
"""Its variants, board left out; pairs of them whose order is told; errors once `TAUGHT` of them are known."""
MEASURED_WIDTH, CARRIED_WIDTH = Aim(0.20), Aim(0.30)
"""Either side of an interval that holds 88 to 92 %."""
LEAST_COVERAGE, MOST_COVERAGE = 0.88, 0.92
READINGS_COST = Aim(0.01)
"""What readings of a board may at most cost."""


class Found(Struct, frozen=True):
    """A row of the table of aims: what is asked, what came out in words, and whether it gets there."""

    what: str
    aim: str
    figure: str
    met: bool


def found(what: str, aim: Aim, figure: float) -> Found:
    """The row of one figure."""
    return Found(what, aim.words, f"{figure:.1%}", aim.met(figure))


def table(rows: Sequence[Found]) -> list[str]:
    """Markdown; what is missed stands out."""
    return [
        "| | aim | found | |",
        "|---|---|---|---|",
        *(
            f"| {row.what} | {row.aim} | {row.figure} | {'met' if row.met else '**missed**'} |"
            for row in rows
        ),
    ]
