"""What the editor says under `wattslice`: the settings file's keys, and a few that only an editor needs.

Unknown keys are the editor's own (paths to the server, traces) and of no concern; a known key with a value of
the wrong kind is told and left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, cast

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from wattslice.config.budgets import Budget
from wattslice.config.config import Config, Options, check_entries, check_settings, make_config, merged
from wattslice.config.options import Choices, Option, Place, said_at, table_of
from wattslice.config.settings import find_settings

MIN_SHARE = 0.05
"""A line below this share of the kernel's power gets no hint."""


_NO_CHOICES = Choices()


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`choices` come before those of the settings file."""

    choices: Choices = _NO_CHOICES
    inlay_hints: Annotated[bool, Option("inlay-hints", "", "At hot lines, what they draw.", Place.EDITOR)] = (
        True
    )
    code_lenses: Annotated[bool, Option("code-lens", "", "Above kernels, what they draw.", Place.EDITOR)] = (
        True
    )
    diagnostics: Annotated[bool, Option("diagnostics", "", "Findings as problems.", Place.EDITOR)] = True
    plain_c: Annotated[
        bool, Option("plain-c", "", "Analyse `.c` files without a settings file, too.", Place.EDITOR)
    ] = False
    min_share: Annotated[
        float,
        Meta(ge=0, le=1),
        Option(
            "min-share", "", "Share of a line with a hint.", Place.EDITOR, expected="a number from 0 to 1"
        ),
    ] = MIN_SHARE
    pause_ms: Annotated[
        Annotated[float, Meta(ge=0, le=60_000)] | None,
        Option(
            "debounce-ms",
            "",
            "Pause of the typing; else by how long analyses take.",
            Place.EDITOR,
            expected="milliseconds up to 60000",
        ),
    ] = None

    @property
    def pause_s(self) -> float | None:
        """None: by how long analyses take."""
        return None if self.pause_ms is None else self.pause_ms / 1000


NO_CLIENT_SETTINGS = ClientSettings()
_CHOICES = said_at(Place.EDITOR)
_OWN = {option.key: option for option in table_of(ClientSettings)}
KEYS = (*_CHOICES.values(), *_OWN.values())


def read_client_settings(value: object, root: Path | None) -> tuple[ClientSettings, tuple[str, ...]]:
    """The settings in what the client sent, and what is wrong with them. Keys may be camelCase.

    `null`, and an empty text where a text is expected, mean that nothing is said. Relative paths are
    relative to `root`.
    """
    if not isinstance(value, Mapping):
        return NO_CLIENT_SETTINGS, ()
    choices: dict[str, object] = {}
    own: dict[str, object] = {}
    complaints: list[str] = []
    for name, entry in cast("Mapping[object, object]", value).items():
        key = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", str(name)).lower()
        option = _CHOICES.get(key) or _OWN.get(key)
        if option is None or entry is None or entry == "":
            continue
        try:
            (choices if key in _CHOICES else own)[option.field] = option.read(entry, root or Path())
        except ValueError as error:
            complaints.append(f"wattslice.{name}: {error}")
    return replace(NO_CLIENT_SETTINGS, choices=replace(_NO_CHOICES, **choices), **own), tuple(complaints)


class Setup(Struct, frozen=True):
    """How a document is analysed, and the budgets that its kernels must keep."""

    config: Config
    budgets: tuple[Budget, ...] = ()


def setup_for(path: Path, client: ClientSettings) -> Setup:
    """What holds for a document: the client's choice before the settings file's. Raises `WattsliceError`.

    Reads the settings file each time: it costs a millisecond, and no change of it goes unnoticed.
    """
    found = find_settings((path,))
    check_entries(client.choices, "the editor's settings: wattslice.", None)
    check_settings(found)
    config = make_config(Options(paths=()), merged(client.choices, found))
    config = replace(config, parse=replace(config.parse, is_wary=True))
    general = Budget(max_power_w=found.gate_max_power_w, max_energy_j=found.gate_max_energy_j)
    return Setup(config, (general, *found.gate_budgets))
