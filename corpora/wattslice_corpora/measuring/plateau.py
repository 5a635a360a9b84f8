"""Finds the plateau of a power trace: the longest stretch of steady, high power.

The trace is put on an even grid, freed of single wild readings (Hampel: further than 5 sigma from the median
of its neighbours), and smoothed by shrinking its Haar wavelet coefficients with Donoho and Johnstone's
universal threshold (Biometrika 81(3), 1994), which keeps steps as steps.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_READINGS = 8
_STEADY = 0.03
"""A plateau stays within this share of its own level."""


class Plateau(Struct, frozen=True):
    """Steady power from `begin_s` to `end_s`: `power_w` is the mean, `noise_w` the scatter of readings."""

    begin_s: float
    end_s: float
    power_w: float
    noise_w: float


def find_plateau(times_s: tuple[float, ...], powers_w: tuple[float, ...]) -> Plateau | None:
    """The longest plateau in the upper half of the trace's range; None when there are too few readings.

    `times_s` ascending, one power for each.
    """
    import numpy as np

    if len(times_s) < FEWEST_READINGS or times_s[-1] <= times_s[0]:
        return None
    grid = np.linspace(times_s[0], times_s[-1], len(times_s))
    raw = without_spikes(np.interp(grid, times_s, powers_w))
    smooth, noise_w = denoised(raw)
    lowest, highest = float(smooth.min()), float(smooth.max())
    even = highest - lowest <= 2 * _STEADY * highest + 3 * noise_w
    first, last = _steadiest(smooth, lowest if even else (lowest + highest) / 2, noise_w)
    inside = raw[first : last + 1]
    return Plateau(
        begin_s=float(grid[first]),
        end_s=float(grid[last]),
        power_w=float(inside.mean()),
        noise_w=float(np.std(inside - smooth[first : last + 1])),
    )


def without_spikes(powers_w: Floats) -> Floats:
    """Readings far from the median of their seven neighbours become that median."""
    import numpy as np

    padded = np.pad(powers_w, 3, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 7)
    medians = np.median(windows, axis=1)
    spread = 1.4826 * np.median(np.abs(powers_w - medians))
    floor = 0.01 * np.abs(medians)  # a constant trace has no spread, yet its rounding is no spike
    return np.where(np.abs(powers_w - medians) > 5 * np.maximum(spread, floor), medians, powers_w)


def denoised(powers_w: Floats) -> tuple[Floats, float]:
    """The trace without its noise, and the standard deviation of that noise (from the finest wavelets)."""
    import numpy as np

    pywt: Any = import_module("pywt")  # it has no types
    coarse, *details = cast("list[Floats]", pywt.wavedec(powers_w, "haar", mode="smooth"))
    sigma = float(np.median(np.abs(details[-1]))) / 0.6745
    threshold = sigma * np.sqrt(2 * np.log(len(powers_w)))
    shrunk = [coarse, *(pywt.threshold(detail, threshold, mode="hard") for detail in details)]
    return pywt.waverec(shrunk, "haar", mode="smooth")[: len(powers_w)], sigma


def _steadiest(smooth: Floats, middle: float, noise_w: float) -> tuple[int, int]:
    """First and last index of the longest stretch not below `middle` that stays near one level.

    Three times the noise is granted on top: of many wavelets of noise, a few outlive the threshold.
    """
    best = (0, 0)
    first = 0
    low = high = float(smooth[0])
    for last, value in enumerate(smooth):
        low, high = min(low, float(value)), max(high, float(value))
        while high - low > 2 * _STEADY * high + 3 * noise_w or (low < middle and first < last):
            first += 1
            low, high = float(smooth[first : last + 1].min()), float(smooth[first : last + 1].max())
        if value >= middle and last - first > best[1] - best[0]:
            best = (first, last)
    return best
