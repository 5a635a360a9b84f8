"""Source text on a terminal must not steer the terminal: no control characters get through."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, tabs as four spaces, other unprintable characters as a replacement sign."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text.expandtabs(4))


def tail(place: str, width: int) -> str:
    """The end of a place (its line matters most) in `width` characters."""
    return place if len(place) <= width else "…" + place[-(width - 1) :]
