"""How all pictures look, and how they are written. Needs matplotlib, which loads when a picture is made.

The same data give the same bytes: no dates, fixed ids in SVG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wattslice.errors import WattsliceError

Figure = Any
Axes = Any
"""matplotlib's, whose types are many and partly unknown."""

_SETTINGS: Any = {
    "svg.hashsalt": "wattslice",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.parse_math": False,  # names are shown as they are, whatever they have between dollar signs
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
}
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#222222")
"""Paul Tol's bright scheme: told apart by colour-blind people as well."""
DASHED, DOTTED = (0, (4, 3)), (0, (1, 2))
_WIDE = 8.0
"""Largest over smallest from which an axis is logarithmic."""
MANY_POINTS = 400
"""More of them are pixels in an SVG, else it grows to megabytes."""


class NoPlotsError(WattsliceError):
    """matplotlib is not installed; the message says how to install it."""


def check() -> None:
    """Raises `NoPlotsError` when no picture can be made."""
    try:
        import matplotlib  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise NoPlotsError("pictures need matplotlib: pip install '.[report]' in the checkout") from None


def plain(value: float, _position: object = None) -> str:
    """A tick as a plain number, not a power of two."""
    return f"{value:g}"


def fraction(value: float, _position: object = None) -> str:
    """A tick of powers of two as people write it: 1/4, 1/2, 1, 2."""
    return plain(value) if value >= 1.0 else f"1/{1.0 / value:g}"


def scale_seconds_and_joules(axis: Axes, time_s: Sequence[float], energy_j: Sequence[float]) -> None:
    """Logarithmic where values range widely; from zero unless they are all close together."""
    from matplotlib.ticker import EngFormatter, LogLocator

    for values, scale, limits, ticks, unit in (
        (time_s, axis.set_xscale, axis.set_xlim, axis.xaxis, "s"),
        (energy_j, axis.set_yscale, axis.set_ylim, axis.yaxis, "J"),
    ):
        if not values:
            continue
        low, high = min(values), max(values)
        if high > _WIDE * low:
            scale("log")
            limits(low / 1.3, 1.5 * high)
            ticks.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ticks.set_minor_formatter("")
        elif low < 0.6 * high:
            limits(0, 1.1 * high)
        else:
            margin = 0.15 * (high - low) or 0.1 * high
            limits(low - margin, high + margin)
        ticks.set_major_formatter(EngFormatter(unit=unit))  # changing the scale would replace it


def upright(
    axis: Axes, x: float, words: str, colour: str, *, right: bool, bottom: float = 0.03, above: float = 0.0
) -> None:
    """A dotted line over the whole height, with words beside it from the share `bottom` of the height on.

    `above`: so many points more. The words may be mathematics.
    """
    axis.axvline(x, color=colour, linewidth=0.9, linestyle=DOTTED)
    axis.annotate(
        words,
        (x, bottom),
        parse_math=True,
        xycoords=axis.get_xaxis_transform(),
        xytext=(2.5 if right else -2.5, above),
        textcoords="offset points",
        rotation=90,
        fontsize=7,
        color=colour,
        ha="left" if right else "right",
        va="bottom",
    )


def save_picture(
    draw: Callable[[Figure], None], inches: tuple[float, float], paths: Sequence[Path], title: str = ""
) -> None:
    """Draw one figure under its title and write it to every path, in the format of its suffix.

    Raises `NoPlotsError`, and ``OSError`` where it cannot be written.
    """
    check()
    import matplotlib as mpl
    from matplotlib import figure as figures

    with mpl.rc_context():  # pyright: ignore[reportUnknownMemberType]
        mpl.rcdefaults()  # matplotlib has read the current folder's matplotlibrc, which may call LaTeX
        mpl.rcParams.update(_SETTINGS)
        figure: Figure = figures.Figure(figsize=inches, layout="constrained")
        draw(figure)
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        for path in paths:
            told = {"Date": None} if path.suffix.lower() == ".svg" else {"Software": None}
            figure.savefig(path, dpi=150, metadata=told)
