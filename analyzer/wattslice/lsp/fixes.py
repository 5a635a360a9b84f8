"""Settings that would settle a finding: its `fix`, with the values that are assumed now for its placeholders.

A fix is written as options of the command line: `--set k.n=VALUE --set k.m=VALUE`,
`--launch 'k=gx,gy,gz:bx,by,bz'`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from wattslice.analysis import KernelAnalysis
from wattslice.errors import WattsliceError
from wattslice.findings.findings import Finding
from wattslice.launches.overrides import parse_launch, parse_setting

_KEYS = {"--set": "set", "--launch": "launch"}
_LOOP = re.compile(r"trip_L(\d+)(?:@(.+))?")


@dataclass(frozen=True, slots=True)
class SettingEntry:
    """One entry of a list in the settings file: `set` or `launch`, and what to add to it."""

    key: str
    value: str


def settings_for(finding: Finding, launches: tuple[KernelAnalysis, ...]) -> tuple[SettingEntry, ...]:
    """The entries that settle the finding, none when there is no such setting or no value is known.

    `launches` are those of the finding's kernel.
    """
    try:
        words = shlex.split(finding.fix)
    except ValueError:
        return ()
    entries: list[SettingEntry] = []
    for option, text in zip(words[::2], words[1::2], strict=False):
        key = _KEYS.get(option)
        value = None if key is None else _filled(key, text, finding, launches)
        if key is None or value is None:
            return ()  # half of what settles it would not
        entries.append(SettingEntry(key, value))
    return tuple(entries) if len(words) == 2 * len(entries) else ()


def read_entries(value: object) -> tuple[SettingEntry, ...]:
    """Entries as a client sends them back; what is none is left out."""
    found: list[SettingEntry] = []
    for item in cast("Sequence[object]", value) if isinstance(value, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        table = cast("Mapping[object, object]", item)
        key, text = table.get("key"), table.get("value")
        if isinstance(key, str) and isinstance(text, str) and key in _KEYS.values() and _is_valid(key, text):
            found.append(SettingEntry(key, text))
    return tuple(found)


def _is_valid(key: str, text: str) -> bool:
    try:
        parse_launch(text) if key == "launch" else parse_setting(text)
    except WattsliceError:
        return False
    return True


def _filled(key: str, text: str, finding: Finding, launches: tuple[KernelAnalysis, ...]) -> str | None:
    """The text with the assumed values in it; None when they are not known or it is no valid setting."""
    name, _, value = text.partition("=")
    if key == "launch":
        if not re.fullmatch(r"[\d,:]+", value):
            if not launches:
                return None
            grid, block = (",".join(map(str, e)) for e in (launches[0].grid, launches[0].block))
            value = f"{grid}:{block}" + (":0" if value.endswith(":BYTES") else "")
    elif value == "VALUE":
        assumed = _assumed_value(name.rpartition(".")[2] if "trip_L" not in name else name, finding, launches)
        if assumed is None:
            return None
        value = assumed
    filled = f"{name}={value}"
    return filled if _is_valid(key, filled) else None


def _assumed_value(name: str, finding: Finding, launches: tuple[KernelAnalysis, ...]) -> str | None:
    if (loop := _LOOP.search(name)) is not None:
        for kernel in launches:
            for trips in kernel.loops:
                file = (
                    trips.file.endswith(loop[2]) if loop[2] else not trips.file or trips.file == kernel.file
                )
                if trips.line == int(loop[1]) and file:
                    return f"{trips.assumed:g}"
        return None
    found = re.search(rf"\b{re.escape(name)} assumed (-?[\d.]+(?:e[-+]?\d+)?)(?![\w.]*\w)", finding.message)
    return None if found is None else found[1].rstrip(".")
