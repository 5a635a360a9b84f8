"""Records as JSON: names, figures and texts."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import cast

import msgspec

from wattslice.units import printable_json

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


def as_text(document: dict[str, Json]) -> str:
    """A document, indented, with a newline at its end."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)  # in C, as it would not be with `indent`
    indented = msgspec.json.format(text.encode("utf-8", "surrogatepass"), indent=2)
    return printable_json(indented.decode("utf-8", "surrogatepass")) + "\n"


def fields(record: object, *names: str) -> dict[str, Json]:
    """Fields of a record under their own names; all unknown where there is no record."""
    return {name: None if record is None else plain(getattr(record, name)) for name in names}


def plain(value: object) -> Json:
    """A name, figure, enum or tuple of these: an enum as its value, what is not finite as unknown."""
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, tuple):
        return [plain(one) for one in cast("tuple[object, ...]", value)]
    return plain(value.value) if isinstance(value, Enum) else cast("Json", value)


def finite(value: float | None) -> float | None:
    """JSON has neither NaN nor infinity: both mean that the figure is unknown."""
    return value if value is not None and math.isfinite(value) else None
