"""Bars of the text report, in colours that read on a light and on a dark terminal."""

from __future__ import annotations

from rich.text import Text

COOL, WARM, HOT = "#2f9e6e", "#d9822b", "#d64545"
TRACK = "dim"
_EIGHTHS = " ▏▎▍▌▋▊▉"


def heat_style(share: float) -> str:
    """Colour of a share of a kernel's power: hot from 30 %, warm from 10 %."""
    return HOT if share >= 0.30 else WARM if share >= 0.10 else COOL


def load_style(fraction: float) -> str:
    """Colour of a power relative to the limit: hot from 90 %, warm from 70 %."""
    return HOT if fraction >= 0.90 else WARM if fraction >= 0.70 else COOL


def share_bar(share: float | None, width: int) -> Text:
    """A bar of `share` (0 to 1) of `width` cells, to an eighth of a cell; empty when unknown."""
    if share is None:
        return Text(" " * width)
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    cells = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text(cells.ljust(width), style=heat_style(share))


def power_bar(power_w: float, low_w: float | None, high_w: float | None, limit_w: float, width: int) -> Text:
    """Power against the limit (the full width): solid to the interval's low end, shaded to its high end."""

    def cell(watts: float) -> int:
        return min(width, max(0, round(width * watts / limit_w)))

    style = load_style(power_w / limit_w)
    middle = cell(power_w)
    low = middle if low_w is None else cell(low_w)
    high = middle if high_w is None else cell(high_w)
    bar = Text()
    bar.append("█" * low, style=style)
    bar.append("▓" * (middle - low), style=style)
    bar.append("░" * (high - middle), style=style)
    bar.append("·" * (width - high), style=TRACK)
    return bar
