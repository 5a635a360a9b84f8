import json
from enum import StrEnum

import pytest
from msgspec import Struct

from wattslice_models.frozen_json import FrozenJsonError, decoded, dumps


class Colour(StrEnum):
    RED = "red"


class Inner(Struct, frozen=True):
    value_w: float
    name: str


class Outer(Struct, frozen=True):
    colour: Colour
    inner: tuple[Inner, ...]
    pair: tuple[int, float]
    maybe: float | None
    sure: bool


RECORD = Outer(Colour.RED, (Inner(0.1 + 0.2, "a"), Inner(1e-300, "b")), (3, 1 / 3), None, True)


def test_a_record_reads_back_exactly():
    assert decoded(Outer, json.loads(dumps(RECORD))) == RECORD


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "blue"}, "Outer.colour: 'blue' is no Colour"),
        ({"inner": [{"value_w": 1.0}]}, r"Outer.inner\[0\]: entry 'name' is missing"),
        ({"inner": [{"value_w": 1.0, "name": "a", "x": 1}]}, r"Outer.inner\[0\]: unknown entry 'x'"),
        ({"pair": [1]}, "Outer.pair: 1 items instead of 2"),
        ({"pair": 7}, "Outer.pair: 7 is no list"),
        ({"maybe": "much"}, "Outer.maybe: 'much' is none of"),
        ({"sure": 1}, "Outer.sure: 1 is no"),
    ],
)
def test_what_does_not_fit_names_its_place(change: dict[str, object], message: str):
    with pytest.raises(FrozenJsonError, match=message):
        decoded(Outer, {**json.loads(dumps(RECORD)), **change})
