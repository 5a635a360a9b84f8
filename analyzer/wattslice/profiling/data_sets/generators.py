"""Contents of arrays that a data set does not list: random ones, and those with an order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice.documents import Table, Value

Numbers = NDArray[Any]
_LETTERS = "abcdefghijklmnopqrstuvwxyz "


class Request(Struct, frozen=True):
    """What a generator is to make: `count` numbers (scalars) for an array, whole ones unless `is_float`.

    `table` holds its parameters; `random` is the stream of this array, `shared` that of all arrays with the
    same seed, which linked arrays draw the same numbers from.
    """

    count: int
    is_float: bool
    table: Table
    random: np.random.Generator
    shared: np.random.Generator


class Generator(Struct, frozen=True):
    """A generator, the keys it knows, and for one that gives the size itself, how many numbers it makes."""

    make: Callable[[Request], Numbers]
    keys: tuple[str, ...] = ()
    count: Callable[[Table], int] | None = None


def _constant(request: Request) -> Numbers:
    return np.full(request.count, _number(request, "value", None))


def _iota(request: Request) -> Numbers:
    steps = np.arange(request.count)
    return _number(request, "start", 0) + _number(request, "step", 1) * steps


def _uniform(request: Request) -> Numbers:
    low, high = _number(request, "low", 0), _number(request, "high", 1 if request.is_float else None)
    if not low < high:
        raise request.table.value("high").error(f"must be above the low of {low}")
    if not math.isfinite(high - low):
        raise request.table.value("high").error(f"is too far above the low of {low}")
    if request.is_float:
        return request.random.uniform(low, high, request.count)
    return request.random.integers(int(low), int(high), request.count)


def _sorted(request: Request) -> Numbers:
    numbers = _uniform(request)
    length = request.table.optional("segment")
    if length is None:
        return np.sort(numbers)
    segment = length.whole(1)
    if request.count % segment:
        raise length.error(f"the size of {request.count} is no multiple of it")
    return np.sort(numbers.reshape(-1, segment), axis=1).reshape(-1)


def _normal(request: Request) -> Numbers:
    numbers = request.random.normal(
        _number(request, "mean", 0), _number(request, "std", 1, low=0), request.count
    )
    return numbers if request.is_float else np.rint(numbers).astype(np.int64)


def _text(request: Request) -> Numbers:
    alphabet = request.table.get("alphabet", Value.name, _LETTERS).encode()
    return np.frombuffer(alphabet, np.uint8)[request.random.integers(0, len(alphabet), request.count)]


def _one_of(request: Request) -> Numbers:
    entries = request.table.value("values")
    values = [entry.number() for entry in entries.list()]
    if not values:
        raise entries.error("expected at least one number, found none")
    given = request.table.optional("weights")
    weights = None if given is None else np.array([entry.number(0) for entry in given.list()])
    if given is not None and weights is not None and (len(weights) != len(values) or not weights.sum()):
        raise given.error(f"expected {len(values)} numbers, not all 0: one for each of the values")
    chosen = request.random.choice(
        len(values), request.count, p=None if weights is None else weights / weights.sum()
    )
    numbers = np.array(values)[chosen]
    return numbers if request.is_float else numbers.astype(np.int64)


def _degrees(request: Request) -> Numbers:
    mean = request.table.value("mean_degree").whole(0)
    return request.shared.integers(0, 2 * mean + 1, request.table.value("nodes").whole(1))


def _offsets(request: Request) -> Numbers:
    return np.concatenate(([0], np.cumsum(_degrees(request))))


def _edges(request: Request) -> Numbers:
    edges = int(_degrees(request).sum())
    return request.shared.integers(0, request.table.value("nodes").whole(1), edges)


def _nodes(table: Table) -> int:
    return table.value("nodes").whole(1)


def _number(request: Request, key: str, default: float | None, low: float | None = None) -> float:
    value = request.table.value(key) if default is None else request.table.optional(key)
    if value is None:
        assert default is not None
        return default
    number = value.number() if low is None else value.number(low)
    if request.is_float:
        return number
    if not number.is_integer():
        raise value.error(f"expected a whole number, found {value.any!r}")
    return int(number)


_GRAPH = ("nodes", "mean_degree")

GENERATORS: dict[str, Generator] = {
    "zeros": Generator(lambda request: np.zeros(request.count, np.int64)),
    "constant": Generator(_constant, ("value",)),
    "iota": Generator(_iota, ("start", "step")),
    "uniform": Generator(_uniform, ("low", "high")),
    "sorted": Generator(_sorted, ("low", "high", "segment")),
    "normal": Generator(_normal, ("mean", "std")),
    "permutation": Generator(lambda request: request.random.permutation(request.count)),
    "text": Generator(_text, ("alphabet",)),
    "one_of": Generator(_one_of, ("values", "weights")),
    "csr_offsets": Generator(_offsets, _GRAPH, lambda table: _nodes(table) + 1),
    "csr_starts": Generator(lambda request: _offsets(request)[:-1], _GRAPH, _nodes),
    "csr_degrees": Generator(_degrees, _GRAPH, _nodes),
    "csr_edges": Generator(
        _edges, _GRAPH, lambda table: 2 * table.value("mean_degree").whole(0) * _nodes(table)
    ),
}
"""By name. Those of a graph belong together where seed, nodes and mean degree are the same."""
