"""The pictures of the HTML page as inline SVG: the power bar, the time roofline, the power line.

Colours and fonts are the page's (classes, no style attributes: its policy forbids them), so that a picture
is light or dark as the page is. Files of pictures are drawn by matplotlib (`pictures.py`), whose SVG has
styles of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from wattslice.analysis import KernelAnalysis, Roofline
from wattslice.units import energy, power, prefixed, three_digits

_WIDTH, _HEIGHT = 312, 214
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 16, 22, 38
_PREFIXES = ("", "k", "M", "G", "T", "P")


def power_bar_svg(kernel: KernelAnalysis) -> str:
    """Power against the limit, the full width; empty when either is unknown."""
    limit_w, watts = kernel.power_limit_w, kernel.power
    if watts is None or not limit_w:
        return ""

    def place(watts: float) -> float:
        return 100.0 * min(1.0, max(0.0, watts / limit_w))

    low, middle, high = place(watts.low_w), place(watts.power_w), place(watts.high_w)
    rects = (("track", 0.0, 100.0), ("low", 0.0, low), ("mid", low, middle), ("high", middle, high))
    inside = "".join(
        f'<rect class="{name}" x="{start:.2f}" y="0" width="{end - start:.2f}" height="8"/>'
        for name, start, end in rects
        if end > start
    )
    words = f"{power(watts.power_w)} of {power(limit_w)}"
    return (
        f'<svg class="pb" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(words)}">{inside}</svg>'
    )


class _Axes:
    """Where flops per byte (logarithmic) and a second quantity stand in the picture."""

    def __init__(self, low: float, high: float, bottom: float, top: float, *, is_log: bool) -> None:
        self.low, self.high = low, high
        self._bottom, self._top, self._is_log = bottom, top, is_log

    def x(self, intensity: float) -> float:
        share = math.log(intensity / self.low) / math.log(self.high / self.low)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share

    def y(self, value: float) -> float:
        if self._is_log:
            share = math.log(value / self._bottom) / math.log(self._top / self._bottom)
        else:
            share = (value - self._bottom) / (self._top - self._bottom)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(1.0, max(0.0, share))

    def frame(self, title: str, ticks: Iterable[tuple[float, str]]) -> str:
        """Grid lines with their labels, and the names of the axes."""
        right, floor = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        parts = [f'<text class="name" x="{_LEFT}" y="13">{escape(title)}</text>']
        for value, label in ticks:
            y = self.y(value)
            parts.append(f'<line class="grid-line" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        decades = range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)
        every = math.ceil(len(decades) / 6)
        for decade in decades:
            x = self.x(10.0**decade)
            parts.append(f'<line class="grid-line" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{floor}"/>')
            if not (decade - decades[0]) % every:
                parts.append(
                    f'<text x="{x:.1f}" y="{floor + 16}" text-anchor="middle">{_decade(decade)}</text>'
                )
        parts.append(f'<text x="{right}" y="{_HEIGHT - 4}" text-anchor="end">flops per byte of DRAM</text>')
        return "".join(parts)

    def line(self, points: Iterable[tuple[float, float]], name: str) -> str:
        """A curve through (flops per byte, value)."""
        places = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
        return f'<polyline class="{name}" points="{places}"/>'

    def upright(self, intensity: float, name: str) -> str:
        """A vertical line over the whole height."""
        x = self.x(intensity)
        return f'<line class="{name}" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}"/>'

    def dot(self, intensity: float, value: float) -> str:
        """The kernel."""
        return f'<circle class="point" cx="{self.x(intensity):.1f}" cy="{self.y(value):.1f}" r="5"/>'


def time_roofline_svg(roofline: Roofline) -> str:
    """Flops per second over flops per byte, with the kernel's point where it has one."""
    low, high = _intensities(roofline)
    curve = roofline.curve(low, high)
    point = roofline.point
    rates = [entry.flops_per_s for entry in curve] + ([point.flops_per_s] if point else [])
    bottom = 10.0 ** math.floor(math.log10(min(rates)))
    top = 10.0 ** math.ceil(math.log10(max(rates) * 1.05))
    axes = _Axes(low, high, bottom, top, is_log=True)
    decades = range(round(math.log10(bottom)), round(math.log10(top)) + 1)
    every = math.ceil(len(decades) / 6)
    ticks = [(10.0**decade, _rate(decade)) for decade in decades[::every]]
    roof = f"{prefixed(roofline.machine.peak_flops_per_s, 'flop/s')} {roofline.precision.value}"
    words = f"Roofs: {roof}, {prefixed(roofline.machine.bandwidth_bytes_per_s, 'B/s')} of DRAM; "
    words += f"they meet at {three_digits(roofline.machine.time_balance)} flops per byte. "
    drawn = axes.frame("Time: flop/s", ticks) + axes.upright(roofline.machine.time_balance, "balance")
    drawn += axes.line(((entry.intensity, entry.flops_per_s) for entry in curve), "roof")
    drawn += _label(axes.x(high) - 4, axes.y(roofline.machine.peak_flops_per_s) - 5, roof, "end")
    if point:
        rate = prefixed(point.flops_per_s, "flop/s")
        words += f"The kernel: {rate} at {three_digits(point.intensity)}."
        above = roofline.at(point.intensity).flops_per_s
        ends = ((point.intensity, point.flops_per_s), (point.intensity, above))
        drawn += axes.line(ends, "drop") + axes.dot(point.intensity, point.flops_per_s)
        drawn += _beside(axes, ends[0], rate, [(entry.intensity, entry.flops_per_s) for entry in curve])
    return _chart("Time roofline", words, drawn)


def power_line_svg(roofline: Roofline, kernel: KernelAnalysis) -> str:
    """Watts over flops per byte, with the kernel's point and interval; empty when the line is unknown."""
    low, high = _intensities(roofline)
    curve = [
        (entry.intensity, entry.power_w) for entry in roofline.curve(low, high) if entry.power_w is not None
    ]
    if not curve:
        return ""
    point, limit_w, watts = roofline.point, roofline.power_limit_w, kernel.power
    most = [power_w for _, power_w in curve]
    most += [] if limit_w is None else [limit_w]
    most += [] if watts is None else [watts.high_w]
    step = _step(max(most) / 4.5)
    top = step * math.ceil(max(most) * 1.02 / step)
    axes = _Axes(low, high, 0.0, top, is_log=False)
    ticks = [(step * number, f"{step * number:g}") for number in range(round(top / step) + 1)]
    drawn = axes.frame("Power: W", ticks) + axes.upright(roofline.machine.time_balance, "balance")
    words = f"The power line peaks where the time roofs meet: {power(max(power_w for _, power_w in curve))}. "
    if (energies := roofline.energies) is not None:
        balance = three_digits(energies.energy_balance)
        words += f"Arithmetic takes more energy from {balance} flops per byte on. "
    if limit_w is not None:
        drawn += axes.line(((low, limit_w), (high, limit_w)), "limit")
        drawn += _label(_LEFT + 5, axes.y(limit_w) - 5, f"limit {limit_w:g} W", "start", "of-limit")
    drawn += axes.line(curve, "roof")
    if point and point.power_w is not None:
        words += f"The kernel: {power(point.power_w)}, {energy(kernel.energy_j)} per launch."
        if watts is not None:
            ends = ((point.intensity, watts.low_w), (point.intensity, watts.high_w))
            drawn += axes.line(ends, "whisker")
        drawn += axes.dot(point.intensity, point.power_w)
        drawn += _beside(axes, (point.intensity, point.power_w), power(point.power_w), curve)
    return _chart("Power line", words, drawn)


def _chart(title: str, words: str, drawn: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f"<title>{escape(title)}</title><desc>{escape(words)}</desc>{drawn}</svg>"
    )


def _label(x: float, y: float, words: str, anchor: str, name: str = "") -> str:
    of_class = f' class="{name}"' if name else ""
    return f'<text{of_class} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _beside(axes: _Axes, point: tuple[float, float], words: str, curve: Iterable[tuple[float, float]]) -> str:
    """The figure beside a point of (flops per byte, value), where it covers least of the curve."""
    x, y = axes.x(point[0]), axes.y(point[1])
    width = 6.5 * len(words)
    drawn = [(axes.x(intensity), axes.y(value)) for intensity, value in curve]

    def covered(place: tuple[int, float]) -> float:
        side, base = place
        left, right = sorted((x + 9 * side, x + (9 + width) * side))
        outside = left < _LEFT or right > _WIDTH or base > _HEIGHT - _BOTTOM or base < _TOP + 12
        return 1e3 * outside + sum(left < at < right and base - 12 < level < base + 3 for at, level in drawn)

    side, base = min(((side, y + more) for side in (1, -1) for more in (14, -6, 28, -20)), key=covered)
    return _label(x + 9 * side, base, words, "start" if side > 0 else "end", "name")


def _intensities(roofline: Roofline) -> tuple[float, float]:
    """Whole decades around the corner of the roofs and the kernel."""
    places = [roofline.machine.time_balance]
    if roofline.point:
        places.append(roofline.point.intensity)
    low = math.floor(math.log10(min(places)) - 0.7)
    high = math.ceil(math.log10(max(places)) + 0.7)
    return 10.0**low, 10.0**high


def _decade(exponent: int) -> str:
    return f"{10.0**exponent:g}" if -3 <= exponent <= 3 else f"1e{exponent}"


def _rate(exponent: int) -> str:
    """10^exponent with its prefix: 100 G."""
    thousands = min(max(exponent // 3, 0), len(_PREFIXES) - 1)
    return f"{10.0 ** (exponent - 3 * thousands):g} {_PREFIXES[thousands]}".rstrip()


def _step(value: float) -> float:
    """The round step (1, 2, 5 · 10^n) that is at least `value`."""
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in (1, 2, 5, 10) if step * decade >= value)
