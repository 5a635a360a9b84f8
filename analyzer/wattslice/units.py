"""Figures and names as people read them: three digits, a prefix that fits, "unknown"; no control characters.

Source text on a terminal must not steer the terminal: it goes through `printable`.
"""

from __future__ import annotations

UNKNOWN = "unknown"

_PREFIXES = (
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
    (1e-12, "p"),
)


def power(power_w: float | None) -> str:
    """Watts: 183 W, 9.25 W."""
    return UNKNOWN if power_w is None else f"{three_digits(power_w)} W"


def time(time_s: float | None) -> str:
    """Seconds with a prefix: 1.20 ms."""
    return UNKNOWN if time_s is None else prefixed(time_s, "s")


def energy(energy_j: float | None) -> str:
    """Joules with a prefix: 220 mJ."""
    return UNKNOWN if energy_j is None else prefixed(energy_j, "J")


def percent(share: float | None) -> str:
    """A share as percent; what is there but rounds to nothing is "<1 %"."""
    if share is None:
        return "–"
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def probability(value: float) -> str:
    """A probability after its sign: = 0.83; never certain: > 0.99."""
    return "> 0.99" if value > 0.99 else "< 0.01" if value < 0.01 else f"= {value:.2f}"


def three_digits(value: float) -> str:
    """Three significant digits without exponent up to 10^6, e.g. 0.012, 7.25, 20.5, 183, 1024."""
    magnitude = abs(value)
    if magnitude == 0:
        return "0"
    if magnitude >= 1e6 or magnitude < 1e-3:
        return f"{value:.2e}"
    rounded = float(f"{magnitude:.2e}")  # 9.999 is 10.0, not 10.00
    decimals = next(digits for digits in (0, 1, 2, 3, 4, 5) if rounded >= 10.0 ** (2 - digits))
    return f"{value:.{decimals}f}"


def prefixed(value: float, unit: str) -> str:
    """Three digits of a quantity, its unit with a prefix that fits."""
    if value == 0:
        return f"0 {unit}"
    for factor, prefix in _PREFIXES:
        if abs(value) >= 0.9995 * factor:
            return f"{three_digits(value / factor)} {prefix}{unit}"
    return f"{value:.2e} {unit}"


def line_ranges(lines: tuple[int, ...]) -> str:
    """Lines compacted: (14, 15, 16, 22) as 14–16, 22."""
    parts: list[str] = []
    start = previous = None
    for line in (*sorted(set(lines)), None):
        if previous is not None and line == previous + 1:
            previous = line
            continue
        if start is not None and previous is not None:
            parts.append(str(start) if start == previous else f"{start}–{previous}")
        start = previous = line
    return ", ".join(parts)


def printable(text: str) -> str:
    """The text on one line, tabs as four spaces, other unprintable characters as a replacement sign."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text.expandtabs(4))


_STEERING = tuple((chr(code), f"\\u{code:04x}") for code in (*range(0x7F, 0xA0), *range(0x2028, 0x202F)))


def printable_json(text: str) -> str:
    """JSON whose texts steer no terminal: JSON itself escapes only what is below a space."""
    for sign, escape in _STEERING:  # thirty times as fast as `translate` where there is none
        text = text.replace(sign, escape)
    return text


def tail(place: str, width: int) -> str:
    """The end of a place (its line matters most) in `width` characters."""
    return place if len(place) <= width else "…" + place[-(width - 1) :]
