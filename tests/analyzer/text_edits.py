"""Edits of source texts as people make them, sensible ones and such as break the text, at random."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

Edit = Callable[[str, Random], str]


def _replaced(text: str, pattern: str, random: Random, new: Callable[[str], str]) -> str:
    """One match of `pattern` replaced; the text as it is where there is none."""
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if not found:
        return text
    match = random.choice(found)
    return text[: match.start()] + new(match[0]) + text[match.end() :]


def _line_edit(edit: Callable[[list[str], int], list[str]]) -> Edit:
    """Replaces one line by those that `edit` gives for it."""

    def apply(text: str, random: Random) -> str:
        lines = text.split("\n")
        number = random.randrange(len(lines))
        return "\n".join([*lines[:number], *edit(lines, number), *lines[number + 1 :]])

    return apply


def _constant(text: str, random: Random) -> str:
    return _replaced(text, r"\b\d+\b", random, lambda _: random.choice(("0", "1", "2", "7", "33", "256")))


def _operator(text: str, random: Random) -> str:
    return _replaced(text, r" [-+*/<>] ", random, lambda _: f" {random.choice('-+*/<>')} ")


def _type(text: str, random: Random) -> str:
    return _replaced(
        text, r"\b(float|double|int)\b", random, lambda _: random.choice(("float", "double", "int"))
    )


def _rename(text: str, random: Random) -> str:
    names = sorted(set(re.findall(r"\b[A-Za-z_]\w+\b", text)))
    name = random.choice(names) if names else "x"
    return re.sub(rf"\b{name}\b", f"{name}_", text)


def _misspell(text: str, random: Random) -> str:
    return _replaced(text, r"\b[A-Za-z_]\w+\b", random, lambda word: word + "q")


def _remove_sign(text: str, random: Random) -> str:
    return _replaced(text, r"[;{}()\[\],#\"]", random, lambda _: "")


def _type_in(text: str, random: Random) -> str:
    signs = (
        ";",
        "{",
        "}",
        "(",
        ")",
        '"',
        "'",
        "/*",
        "*/",
        "//",
        " x ",
        "\\",
        "<<<",
        "\n#if 0\n",
        "\n#endif\n",
    )
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(signs) + text[place:]


EDITS: tuple[Edit, ...] = (
    _constant,
    _constant,
    _operator,
    _type,
    _rename,
    _misspell,
    _remove_sign,
    _type_in,
    _line_edit(lambda lines, n: [lines[n], ""]),
    _line_edit(lambda lines, n: [lines[n], "// a remark"]),
    _line_edit(lambda lines, n: [lines[n] + "  // a remark"]),
    _line_edit(lambda lines, n: ["#pragma unroll 4", lines[n]]),
    _line_edit(lambda lines, n: [lines[n], lines[n]]),
    _line_edit(lambda lines, n: []),
    _line_edit(lambda lines, n: [lines[n], "int added = 3;"] if lines[n].endswith(";") else [lines[n], ""]),
    _line_edit(lambda lines, n: [" " + lines[n]]),
)


def edited(history: Sequence[str], random: Random) -> str:
    """The next text after those of `history`: one edit of the last one, or an earlier one again (undo)."""
    if len(history) > 1 and random.random() < 0.2:
        return random.choice(history[:-1][-4:])
    return random.choice(EDITS)(history[-1], random)
