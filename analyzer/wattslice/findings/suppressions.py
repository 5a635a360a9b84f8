"""Comments in the source that silence a finding: ``// wattslice: ignore[PW016] reason``.

A comment behind code covers its own line; one that stands alone covers the next line that holds code, so that
several can stand above one line. Only comments count: the same words in a string are text. A comment that
means to be one and is not well formed is told (PW025), never silently without effect.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from msgspec import Struct

from wattslice.analysis import Suppression
from wattslice.findings.quoting import Quoter
from wattslice.findings.rules import RULES
from wattslice.ir import Diagnostic, Severity
from wattslice.patterns import regex

_TOKEN = regex(
    r"""
    (?P<comment> //(?:[^\\\n]|\\.|\\\n)* | /\*.*?(?:\*/|\Z) )
    | (?:u8|[uUL])?R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"
    | "(?:[^"\\\n]|\\.)*"
    | \b\d[\w.]*(?:'\w+)*                    # 1'000'000: these quotes open nothing
    | '(?:[^'\\\n]|\\.)*'
    | \S
    """,
    re.VERBOSE | re.DOTALL,
)
_MEANT = regex(r"wattslice:\s*ignore\b")
_WELL_FORMED = regex(r"wattslice:\s*ignore\s*\[(?P<ids>[^\]]*)\]\s*(?P<reason>.*)")
_EXAMPLE = "such as // wattslice: ignore[PW016] a table of 16 entries"


class Suppressed(Struct, frozen=True):
    """What the comments of some files say, and what is wrong with them (PW025)."""

    suppressions: tuple[Suppression, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def suppressions_in(files: Iterable[str], quoter: Quoter) -> Suppressed:
    """The suppressions of several files, each as `quoter` knows its text: that may be unsaved."""
    found = [read_suppressions(file, quoter.text(file)) for file in dict.fromkeys(files) if file]
    return Suppressed(
        tuple(entry for one in found for entry in one.suppressions),
        tuple(entry for one in found for entry in one.diagnostics),
    )


def read_suppressions(file: str, text: str) -> Suppressed:
    """The suppressions in the comments of one C or CUDA text."""
    if not _MEANT.search(text):  # nearly every file
        return Suppressed()
    suppressions: list[Suppression] = []
    diagnostics: list[Diagnostic] = []
    waiting: list[tuple[int, tuple[str, ...], str]] = []
    line, end, last_code_line = 1, 0, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", end, token.start())
        end = token.start()
        comment = token["comment"]
        if comment is None:
            if waiting:
                covered = line + text.count("\n", token.start(), _declared_at(text, token.start()))
                suppressions += (Suppression(file, covered, *entry) for entry in waiting)
                waiting.clear()
            last_code_line = line + token.group().count("\n")
            continue
        words = comment[2:].removesuffix("*/").strip(" \t*!/")
        if not _MEANT.match(words):
            continue
        rules, reason, wrong = _parsed(words)
        if wrong:
            diagnostics.append(Diagnostic("PW025", Severity.WARNING, file, line, wrong))
        elif last_code_line == line:
            suppressions.append(Suppression(file, line, line, rules, reason))
        else:
            waiting.append((line, rules, reason))
    diagnostics += (
        Diagnostic("PW025", Severity.WARNING, file, at, "no code follows this suppression")
        for at, *_ in waiting
    )
    return Suppressed(tuple(suppressions), tuple(diagnostics))


def _declared_at(text: str, start: int) -> int:
    """Where a finding speaks of what stands at `start`: behind ``template <...>``, if it begins so."""
    if not re.compile(r"template\s*<").match(text, start):
        return start
    depth = 0
    for token in re.compile(r"[<>(){};]").finditer(text, start):
        depth += {"<": 1, ">": -1}.get(token.group(), 0)
        if token.group() in "{;":
            return start
        if depth == 0 and token.group() == ">":
            after = re.compile(r"\S").search(text, token.end())
            return start if after is None else after.start()
    return start


def _parsed(words: str) -> tuple[tuple[str, ...], str, str]:
    """Ids and reason of a comment, or what is wrong with it."""
    match = _WELL_FORMED.match(" ".join(words.split()))
    if match is None:
        return (), "", f"a suppression names the rules it is about, {_EXAMPLE}"
    ids = tuple(dict.fromkeys(entry.strip().upper() for entry in match["ids"].split(",") if entry.strip()))
    if not ids:
        return (), "", f"this suppression names no rule, {_EXAMPLE}"
    known = {rule.id: rule for rule in RULES}
    for entry in ids:
        if entry not in known:
            close = difflib.get_close_matches(entry, known, n=1)
            hint = f"did you mean {close[0]}?" if close else "`wattslice explain` lists all"
            return (), "", f"this suppression names an unknown rule {entry} ({hint})"
        if not known[entry].can_be_suppressed:
            return (), "", f"{entry} cannot be suppressed"
    if not match["reason"].strip():
        return (), "", f"a suppression needs a reason, {_EXAMPLE}"
    return ids, match["reason"].strip(), ""
