"""Contrast as WCAG 2.2 computes it: at least 4.5 : 1 for everything that is read."""

import re
from importlib.resources import files
from types import SimpleNamespace

import pytest

from wattslice.report.source_text import SPACE_STYLES

AA = 4.5
STYLES = files("wattslice.report.html").joinpath("assets/page.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    SimpleNamespace(**dict(re.findall(r"--(\w+):(#\w+)", rule)))
    for rule in re.findall(r":root\{(--page[^}]*)\}", STYLES)
)
TINTS = [int(percent) / 100 for percent in re.findall(r"-tint:(\d+)%", STYLES)]


def channels(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed(colour: str, share: float, ground: str) -> tuple[float, ...]:
    pairs = zip(channels(colour), channels(ground), strict=True)
    return tuple(share * a + (1 - share) * b for a, b in pairs)


def test_the_measure_is_that_of_the_standard():
    assert contrast(channels("#000000"), channels("#ffffff")) == pytest.approx(21)
    assert contrast(channels("#777777"), channels("#ffffff")) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("style", SPACE_STYLES.values(), ids=lambda style: style.label)
def test_spaces_are_readable_on_any_terminal_and_on_both_pages(style):
    for ground in ("#000000", "#ffffff"):
        assert contrast(channels(style.terminal), channels(ground)) >= AA
    for page, colour in ((LIGHT, style.light), (DARK, style.dark)):
        for ground in (page.page, page.surface, page.hover):
            assert contrast(channels(colour), channels(ground)) >= AA
        for share in TINTS:
            for other in SPACE_STYLES.values():
                tint = other.light if page is LIGHT else other.dark
                assert contrast(channels(colour), mixed(tint, share, page.surface)) >= AA


@pytest.mark.parametrize("page", [LIGHT, DARK], ids=["light", "dark"])
def test_texts_are_readable_on_every_ground(page):
    for name in ("text", "muted", "keyword", "string", "comment", "warm", "hot", "cool", "accent"):
        for ground in (page.page, page.surface, page.hover):
            assert contrast(channels(getattr(page, name)), channels(ground)) >= AA, name
    for name in ("text", "muted", "keyword", "string", "comment"):  # source text also stands on tints
        for style in SPACE_STYLES.values():
            tint = style.light if page is LIGHT else style.dark
            for share in TINTS:
                ground = mixed(tint, share, page.surface)
                assert contrast(channels(getattr(page, name)), ground) >= AA, name


def test_every_space_has_a_letter_of_its_own():
    letters = [style.letter for style in SPACE_STYLES.values()]
    assert len(set(letters)) == len(letters)
