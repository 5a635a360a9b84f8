"""How the programs of a public repository were run: `measurements/<repository>.toml`.

Which source file, which launches make one timed iteration, which value each kernel parameter has. Facts read
in host code; none of that code is here.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from msgspec import Struct

from wattslice_corpora.records.measured import MEASUREMENT_DIRECTORY
from wattslice_corpora.records.tables import Dim3, RecordError


def recipes_path(name: str) -> Path:
    """The recipe file that a data set names."""
    return MEASUREMENT_DIRECTORY / f"{name}.toml"


class ParameterValue(Struct, frozen=True):
    """A kernel parameter or macro, and its value: a number, or the name of the option that holds it."""

    name: str
    value: float | str


class LiveShare(Struct, frozen=True):
    """Shares in [0, 1] of arithmetic and of bytes of DRAM whose values toggle bits (as in `Workload`).

    They hold while the program's option `option` is at most `up_to`; without it, always. `rounds`: of as many
    rounds as the option tells, `operands` holds in the first so many, `later` in the others; None: in all.
    """

    option: str
    up_to: float | None
    operands: float
    data: float
    rounds: float | None = None
    later: float = 0.0

    def holds(self, arguments: str) -> bool:
        """Whether these are the shares of a run with `arguments`. `RecordError` without the option."""
        return self.up_to is None or option(arguments, self.option) <= self.up_to

    def of_run(self, arguments: str) -> LiveShare:
        """The same with the share of a run's rounds in `operands`."""
        if self.rounds is None:
            return self
        share = self.rounds / max(option(arguments, self.option), self.rounds)
        operands = share * self.operands + (1.0 - share) * self.later
        return LiveShare(self.option, self.up_to, operands, self.data)


UNKNOWN_DATA = LiveShare("", None, 1.0, 1.0)
"""Data that nothing is known about are taken to be live."""


class ArrayBytes(Struct, frozen=True):
    """A pointer parameter of a kernel and the bytes allocated from where it points."""

    name: str
    size_bytes: int


class LaunchRecipe(Struct, frozen=True):
    """One launch of a timed iteration. `kernel` empty: the one that the measurement names.

    `grid` None: as many blocks as the GPU holds at a time. `block` None: grid and block are those of the
    measured row. `live`: first entry that holds.
    `arrays`: bytes that the host code allocated for pointer parameters.
    """

    kernel: str
    grid: Dim3 | None
    block: Dim3 | None
    shared_bytes: int
    repeat: int
    parameters: tuple[ParameterValue, ...]
    live: tuple[LiveShare, ...] = ()
    arrays: tuple[ArrayBytes, ...] = ()

    def live_share(self, arguments: str) -> LiveShare:
        """How live the values are in a run with `arguments`."""
        found = next((share for share in self.live if share.holds(arguments)), UNKNOWN_DATA)
        return found.of_run(arguments)


class BenchmarkRecipe(Struct, frozen=True):
    """How one program was run. `arguments`: with which command line; empty: with any that no other entry has.

    `macros`: preprocessor macros of the build beside `defines`, and their values, as those of parameters.
    `one_of`: an iteration makes only the launch of the kernel that the measurement names. `incomplete`: what
    the launches leave out of an iteration, else empty. `input`: what the data were, as in a measured row.
    """

    name: str
    arguments: str
    file: str
    defines: tuple[str, ...]
    macros: tuple[ParameterValue, ...]
    launches: tuple[LaunchRecipe, ...]
    one_of: bool
    incomplete: str
    input: str


class WithoutRecipe(Struct, frozen=True):
    """Measured programs of which nobody can tell how they were run: their runs have no features, and why."""

    names: tuple[str, ...]
    reason: str


class Recipes(Struct, frozen=True):
    """Everything in a recipe file."""

    path: Path
    repository: str
    include: tuple[str, ...]
    benchmarks: tuple[BenchmarkRecipe, ...]
    without_recipe: tuple[WithoutRecipe, ...]

    def find(self, name: str, arguments: str) -> BenchmarkRecipe | None:
        """The recipe of a benchmark run with a command line; None without one."""
        entries = [entry for entry in self.benchmarks if entry.name == name]
        exact = (entry for entry in entries if entry.arguments == arguments)
        return next(exact, next((entry for entry in entries if not entry.arguments), None))

    def benchmark(self, name: str, arguments: str) -> BenchmarkRecipe:
        """As `find`; raises `RecordError` that says why there is none."""
        found = self.find(name, arguments)
        if found is not None:
            return found
        for missing in self.without_recipe:
            if name in missing.names:
                raise RecordError(missing.reason)
        raise RecordError(f"{self.path}: no [[benchmark]] named {name!r} for {arguments!r}")


def read_recipes(path: Path) -> Recipes:
    """A recipe file. Raises `RecordError` naming the benchmark at fault."""
    place = str(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        benchmarks: list[BenchmarkRecipe] = []
        for entry in document["benchmark"]:
            place = f"{path}: [[benchmark]] {entry.get('name')}"
            benchmarks.append(_benchmark(entry))
        place = f"{path}: [[without_recipe]]"
        missing = tuple(
            WithoutRecipe(tuple(entry["names"]), entry["reason"])
            for entry in document.get("without_recipe", ())
        )
        place = str(path)
        include = tuple(document["include"])
        return Recipes(path, document["repository"], include, tuple(benchmarks), missing)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{place}: entry missing or malformed ({error})") from None


def option(arguments: str, name: str) -> float:
    """The number of ``-name=5`` in a command line. Raises `RecordError` without it."""
    for word in arguments.split():
        key, _, value = word.lstrip("-").partition("=")
        if key == name and value:
            try:
                return float(value)
            except ValueError:
                break
    raise RecordError(f"no number for option {name!r} in {arguments!r}")


def _benchmark(entry: dict[str, Any]) -> BenchmarkRecipe:
    return BenchmarkRecipe(
        name=entry["name"],
        arguments=entry.get("arguments", ""),
        file=entry["file"],
        defines=tuple(entry.get("define", ())),
        macros=_values(entry.get("macro", {})),
        launches=tuple(_launch({"live": entry.get("live", ()), **launch}) for launch in entry["launch"]),
        one_of=bool(entry.get("one_of", False)),
        incomplete=entry.get("incomplete", ""),
        input=entry.get("input", ""),
    )


def _launch(entry: dict[str, Any]) -> LaunchRecipe:
    as_measured = bool(entry.get("as_measured", False))
    grid = None if as_measured or entry.get("fills_gpu") else _dim3(entry["grid"])
    return LaunchRecipe(
        kernel=entry.get("kernel", ""),
        grid=grid,
        block=None if as_measured else _dim3(entry["block"]),
        shared_bytes=int(entry.get("shared_bytes", 0)),
        repeat=int(entry.get("repeat", 1)),
        parameters=_values(entry.get("set", {})),
        live=tuple(_live(share) for share in entry.get("live", ())),
        arrays=tuple(ArrayBytes(name, int(size)) for name, size in entry.get("arrays", {}).items()),
    )


def _values(table: dict[str, float | str]) -> tuple[ParameterValue, ...]:
    return tuple(ParameterValue(name, value) for name, value in table.items())


def _live(entry: dict[str, Any]) -> LiveShare:
    found = LiveShare(
        entry.get("option", ""),
        entry.get("up_to"),
        entry["operands"],
        entry["data"],
        entry.get("rounds"),
        entry.get("later", 0.0),
    )
    if not all(0 <= share <= 1 for share in (found.operands, found.data, found.later)):
        raise ValueError(f"shares of live values lie in [0, 1]: {entry}")
    return found


def _dim3(values: list[int]) -> Dim3:
    x, y, z = (int(value) for value in values)
    return x, y, z
