"""Source text on a terminal must not steer the terminal: no control characters get through."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, tabs as four spaces, other unprintable characters as a replacement sign."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text.expandtabs(4))


_STEERING = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F))}


def printable_json(text: str) -> str:
    """JSON whose texts steer no terminal: JSON itself escapes only what is below a space."""
    return text.translate(_STEERING)


def tail(place: str, width: int) -> str:
    """The end of a place (its line matters most) in `width` characters."""
    return place if len(place) <= width else "…" + place[-(width - 1) :]
