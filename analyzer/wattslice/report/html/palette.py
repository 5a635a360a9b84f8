"""Colours of the memory spaces: one hue each, readable on light and on dark, never without their letter.

The hues are those of Okabe and Ito's palette for colour-blind readers as far as contrast allows: every colour
has at least 4.5 : 1 (WCAG 2 AA) against what it stands on; those of terminals against black and white.
"""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.ir import MemorySpace


@dataclass(frozen=True, slots=True)
class SpaceStyle:
    """How a memory space is shown: its letter, and colours as #rrggbb for terminals and both pages."""

    letter: str
    label: str
    terminal: str
    light: str
    dark: str


SPACE_STYLES: dict[MemorySpace, SpaceStyle] = {
    MemorySpace.GLOBAL: SpaceStyle("G", "global memory", "#cc4b00", "#a43f04", "#ff833c"),
    MemorySpace.SHARED: SpaceStyle("S", "shared memory", "#1273e3", "#135eb5", "#69a9f3"),
    MemorySpace.CONSTANT: SpaceStyle("C", "constant memory", "#00856e", "#036c5b", "#00bc9c"),
    MemorySpace.TEXTURE: SpaceStyle("T", "texture memory", "#c043a1", "#9c3783", "#d98dc6"),
    MemorySpace.REGISTER: SpaceStyle("R", "registers only", "#71757f", "#5c5f67", "#a2a6ad"),
}
"""The spaces that slices are made of (docs/slicing.md)."""


@dataclass(frozen=True, slots=True)
class PageColours:
    """Text and surfaces of the HTML page, as #rrggbb."""

    page: str
    surface: str
    text: str
    muted: str
    rule: str
    keyword: str
    string: str
    comment: str
    warm: str
    hot: str
    cool: str
    track: str
    accent: str
    hover: str


LIGHT = PageColours(
    page="#f6f7f9",
    surface="#ffffff",
    text="#1c2026",
    muted="#565d67",
    rule="#dfe3e8",
    keyword="#3d3a9e",
    string="#0f6674",
    comment="#565d67",
    warm="#9a5b00",
    hot="#b3261e",
    cool="#1d7a52",
    track="#e6e9ee",
    accent="#4b3fbf",
    hover="#eef1f5",
)
DARK = PageColours(
    page="#0f1115",
    surface="#16191f",
    text="#e3e6ea",
    muted="#9aa2ad",
    rule="#2a2f38",
    keyword="#b0b4ff",
    string="#7cc9d6",
    comment="#99a1ad",
    warm="#e0a04a",
    hot="#ff8a80",
    cool="#5cc795",
    track="#2a2f38",
    accent="#a9a3ff",
    hover="#20242c",
)
HOT_TINT, CHOSEN_TINT, LIT_TINT = 9, 14, 15
"""Percent of a space's colour in the ground of hot lines, of chosen slices, and of lines that are lit."""
