"""The one table of options: what an analysis can be told, and where each of it may be said.

A row is a field of `Choices`: its type, and beside it an `Option`. The options of commands, the keys of
settings files and of editors, the arguments of the library and the table of docs/settings.md come from
here.
"""

from __future__ import annotations

from enum import Enum, Flag, auto
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wattslice.config.budgets import Budget
from wattslice.user_folders import CACHE_MIB

DELTA = 0.05
"""δ of Wang & Chen 2013, Algorithm 4: sub-slices executed with a probability up to δ are dropped.

The paper prints no value; this one is ours.
"""
DENSE_FROM = 0.2
"""Share of statements in dividing arms from which a kernel is branch-dense: between the paper's two lists,
where public kernels are few (docs/branches.md)."""
JOBS = 1
TOLERANCE, CONFIDENCE = 0.05, 0.9
"""Of the gate: a rise up to this share is accepted; how sure a rise must be to fail, and a kernel to be below
a budget of watts so that nobody is told."""


class ModelChoice(Enum):
    """Which power model answers; AUTO takes the best one that exists for the GPU."""

    AUTO = "auto"
    REGRESSION = "regression"
    WAVELET = "wavelet"
    WAVELET_PUBLISHED = "wavelet-published"
    ENERGY = "energy"


class MethodChoice(Enum):
    """How slices make a program (`methods.py`, which also says what AUTO takes)."""

    AUTO = "auto"
    BSPM = "bspm"
    BDPM = "bdpm"
    EXPECTED = "expected"


class Backend(Enum):
    """Who runs the workers."""

    LOKY = "loky"  # processes of this machine
    DASK = "dask"
    RAY = "ray"


class Place(Flag):
    """Where an option may be said."""

    COMMAND = auto()  # the commands that analyse
    GATE = auto()  # `wattslice gate` alone
    BESIDE = auto()  # settings beside the sources, which may be a stranger's
    USER = auto()  # the user's own settings
    EDITOR = auto()
    FILES = auto()  # `wattslice.analyze`
    TEXT = auto()  # `wattslice.analyze_text`


ANYWHERE = Place.COMMAND | Place.BESIDE | Place.USER | Place.EDITOR | Place.FILES | Place.TEXT
OF_A_RUN = Place.COMMAND | Place.BESIDE | Place.USER | Place.FILES
"""About many files: a text or an editor has one."""
CONNECTS_OR_WRITES = Place.COMMAND | Place.USER | Place.FILES
"""Nothing that a stranger's repository may choose."""
OF_THE_GATE = Place.GATE | Place.BESIDE | Place.USER


class Kind(Enum):
    """What a value must be, in words."""

    TEXT = "a text"
    NUMBER = "a number"
    WHOLE = "a whole number"
    SHARE = "a share"
    SWITCH = "true or false"
    PATH = "a path"
    TEXTS = "a list of texts"
    PATHS = "a list of paths"
    BUDGETS = "a list of budgets"


_KINDS: dict[object, Kind] = {
    str: Kind.TEXT,
    float: Kind.NUMBER,
    int: Kind.WHOLE,
    str | float: Kind.SHARE,
    bool: Kind.SWITCH,
    Path: Kind.PATH,
    tuple[str, ...]: Kind.TEXTS,
    tuple[Path, ...]: Kind.PATHS,
    tuple[Budget, ...]: Kind.BUDGETS,
}


class Option(Struct, frozen=True):
    """A row. `key` is what settings files call it; `--key` on the command line, or `flag`.

    `adds`: what several places say adds up, else the first that says something counts. `stays`: a path that
    settings beside the sources may name only within their folder. `is_told_empty`: an empty text says
    something. `values` it may have; `expected`: what to ask for instead of `kind`. `field`, `type` and `kind`
    are those of the record's field.
    """

    key: str
    metavar: str
    help: str
    places: Place = ANYWHERE
    flag: str = ""
    adds: bool = False
    stays: bool = False
    is_told_empty: bool = False
    values: type[Enum] | None = None
    expected: str = ""
    field: str = ""
    type: Any = None
    kind: Kind = Kind.TEXT

    @property
    def name(self) -> str:
        """On the command line."""
        return self.flag or f"--{self.key.removeprefix('gate.')}"

    def is_silent(self, value: object) -> bool:
        """Whether nothing is said with a value of this option."""
        return is_silent(value) and not (self.is_told_empty and value == "")

    @property
    def argument(self) -> str:
        """Of the library."""
        return self.key.replace("-", "_")

    @property
    def camel(self) -> str:
        """In an editor's settings."""
        first, *rest = self.key.split("-")
        return first + "".join(word.capitalize() for word in rest)

    def read(self, value: object, base: Path) -> object:
        """A value of a settings file or of an editor; relative paths start at `base`.

        Raises ValueError that says what was expected and found.
        """

        def located(_type: object, given: object) -> object:
            if not isinstance(given, str):
                raise ValueError
            return base / given

        try:
            return msgspec.convert(value, self.type, dec_hook=located)
        except (ValueError, NotImplementedError):
            raise ValueError(f"expected {self.expected or self.kind.value}, found {value!r}") from None


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody says of an analysis, unchecked; None or empty where they are silent.

    Units: clocks in MHz; `delta` is a probability, `dense_from` a share. `cache_mib`: the bound of the cache.
    `gate_tolerance` and `gate_confidence` as written: ``5%`` or 0.05.
    """

    gpu: Annotated[str | None, Option("gpu", "ID", "GPU to predict for; `wattslice gpus` lists them.")] = None
    model: Annotated[
        str | None,
        Option(
            "model",
            "NAME",
            "Power model: auto, regression, wavelet, wavelet-published or energy.",
            values=ModelChoice,
        ),
    ] = None
    method: Annotated[
        str | None,
        Option(
            "method", "NAME", "How slices make a program: auto, bspm, bdpm or expected.", values=MethodChoice
        ),
    ] = None
    delta: Annotated[
        float | None,
        Option("delta", "P", f"Drop branches less likely than P from a slice (BDPM).  [default: {DELTA:g}]"),
    ] = None
    dense_from: Annotated[
        float | None,
        Option(
            "dense-from",
            "SHARE",
            f"Branch-dense from this share of statements in dividing branches on.  [default: {DENSE_FROM:g}]",
        ),
    ] = None
    overrides: Annotated[
        tuple[str, ...],
        Option(
            "set",
            "[KERNEL.]NAME=VALUE",
            "Value of a parameter, variable or loop (trip_L42=16). Repeatable.",
            adds=True,
        ),
    ] = ()
    data: Annotated[
        tuple[str, ...],
        Option(
            "data",
            "[ARRAY=]KIND",
            "What arrays hold: live, zeros or constant, all or by parameter. Repeatable.  [default: live]",
            adds=True,
        ),
    ] = ()
    launches: Annotated[
        tuple[str, ...],
        Option(
            "launch",
            "KERNEL=GRID:BLOCK[:SMEM]",
            "Launch configuration, e.g. 'mul=64,64:16,16'. Repeatable.",
            adds=True,
        ),
    ] = ()
    program_arguments: Annotated[
        str | None,
        Option(
            "args",
            "WORDS",
            "Command line of the program, e.g. '1000 64', or '' for no words.  [default: as Makefiles, tests "
            "and scripts run it]",
            is_told_empty=True,
        ),
    ] = None
    include_directories: Annotated[
        tuple[Path, ...], Option("include", "DIR", "Folder of headers.", flag="-I", adds=True)
    ] = ()
    definitions: Annotated[
        tuple[str, ...], Option("define", "NAME[=V]", "Macro definition.", flag="-D", adds=True)
    ] = ()
    compiler_flags: Annotated[
        str | None,
        Option(
            "nvcc-flags",
            "WORDS",
            "--use_fast_math, or '' for none.  [default: as the Makefile, CMake or setup.py says]",
            is_told_empty=True,
        ),
    ] = None
    language_standard: Annotated[str | None, Option("std", "STD", "Language standard, e.g. c++17.")] = None
    compile_commands_directory: Annotated[
        Path | None, Option("compile-commands", "DIR", "Folder of a compile_commands.json.", flag="-p")
    ] = None
    profile: Annotated[Path | None, Option("profile", "FILE", "Measured branch probabilities (JSON).")] = None
    core_clock_mhz: Annotated[float | None, Option("core-mhz", "N", "Clock of the SMs.")] = None
    memory_clock_mhz: Annotated[float | None, Option("mem-mhz", "N", "Clock of the memory (nvidia-smi).")] = (
        None
    )
    select: Annotated[
        tuple[str, ...],
        Option("select", "RULE[@FILES]", "Tell of these rules only: 'PW04*', 'PW016@src/*'.", adds=True),
    ] = ()
    ignore: Annotated[
        tuple[str, ...],
        Option("ignore", "RULE[@FILES]", "Do not tell of these: 'PW021', 'PW043@tests/*'.", adds=True),
    ] = ()
    severity: Annotated[
        tuple[str, ...],
        Option(
            "severity",
            "RULE=LEVEL[@FILES]",
            "How severe they are, note, warning or error: 'PW041=error'.",
            adds=True,
        ),
    ] = ()
    jobs: Annotated[
        int | None,
        Option(
            "jobs",
            "N",
            f"Processes to analyse files with; 0: one per core.  [default: {JOBS}]",
            places=OF_A_RUN,
        ),
    ] = None
    backend: Annotated[
        str | None,
        Option(
            "backend",
            "NAME",
            "Who runs the processes: loky, dask or ray.  [default: loky]",
            places=CONNECTS_OR_WRITES,
            values=Backend,
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        Option("scheduler", "URL", "Scheduler of a dask or ray cluster.", places=CONNECTS_OR_WRITES),
    ] = None
    cache: Annotated[
        Path | None,
        Option(
            "cache",
            "DIR",
            "Folder of results to use again.  [default: the user's]",
            places=CONNECTS_OR_WRITES,
        ),
    ] = None
    no_cache: Annotated[
        bool, Option("no-cache", "", "Analyse everything anew and keep nothing.", places=Place.COMMAND)
    ] = False
    cache_mib: Annotated[
        int | None,
        Option("cache-mib", "N", f"Bound of that folder in MiB.  [default: {CACHE_MIB}]", Place.USER),
    ] = None
    gate_max_power_w: Annotated[
        float | None, Option("gate.max-power", "W", "Budget per kernel in watts.", OF_THE_GATE)
    ] = None
    gate_max_energy_j: Annotated[
        float | None, Option("gate.max-energy", "J", "Budget per launch in joules.", OF_THE_GATE)
    ] = None
    gate_unknown: Annotated[
        str | None,
        Option(
            "gate.unknown", "fail|warn", "A kernel of unknown power fails the gate, or warns.", OF_THE_GATE
        ),
    ] = None
    gate_baseline: Annotated[
        Path | None,
        Option("gate.baseline", "FILE", "Compare with this committed baseline.", OF_THE_GATE, stays=True),
    ] = None
    gate_fail_on: Annotated[
        tuple[str, ...],
        Option(
            "gate.fail-on",
            "LIST",
            "What must not rise: power, energy, time.  [default: energy, and power unless it saves joules]",
            OF_THE_GATE,
        ),
    ] = ()
    gate_tolerance: Annotated[
        str | float | None,
        Option(
            "gate.tolerance",
            "SHARE",
            f"A rise up to this share is accepted.  [default: {TOLERANCE:.0%}]",
            OF_THE_GATE,
        ),
    ] = None
    gate_confidence: Annotated[
        str | float | None,
        Option(
            "gate.confidence",
            "SHARE",
            "How sure a rise must be to fail, a budget to be kept without a warning.  "
            f"[default: {CONFIDENCE:.0%}]",
            OF_THE_GATE,
        ),
    ] = None
    gate_budgets: Annotated[
        tuple[Budget, ...],
        Option("gate.budget", "", "Bounds for the kernels of a name or file.", Place.BESIDE | Place.USER),
    ] = ()


def _plain(type_: Any) -> object:  # noqa: ANN401  (a type of any form)
    """Without ``None`` and bounds."""
    if get_origin(type_) is UnionType or get_origin(type_) is Union:
        return Union[tuple(_plain(part) for part in get_args(type_) if part is not NoneType)]  # noqa: UP007
    return get_args(type_)[0] if get_origin(type_) is Annotated else type_


def table_of(record: type[msgspec.Struct]) -> tuple[Option, ...]:
    """The rows of a record."""
    found: list[Option] = []
    for entry in msgspec.structs.fields(record):
        if get_origin(entry.type) is not Annotated:
            continue
        *parts, option = get_args(entry.type)
        found.append(
            replace(
                option,
                field=entry.name,
                type=parts[0] if len(parts) == 1 else Annotated[tuple(parts)],
                kind=_KINDS[_plain(parts[0])],
            )
        )
    return tuple(found)


OPTIONS = table_of(Choices)


def said_at(place: Place) -> dict[str, Option]:
    """The options that may be said there, by their key."""
    return {option.key: option for option in OPTIONS if option.places & place}


def is_silent(value: object) -> bool:
    """Whether nothing is said with it."""
    return value is None or value is False or value in ("", ())


def before(first: Choices, then: Choices) -> dict[str, object]:
    """What counts, by field, where `first` comes before `then`; what adds up begins with `then`.

    Of two entries ``NAME=...`` for one name that of `first` counts.
    """
    values: dict[str, object] = {}
    for option in OPTIONS:
        mine, other = getattr(first, option.field), getattr(then, option.field)
        if option.adds:
            names = {_name(entry) for entry in mine}
            named = option.field in ("overrides", "launches")
            values[option.field] = (*(e for e in other if not (named and _name(e) in names)), *mine)
        else:
            values[option.field] = other if option.is_silent(mine) else mine
    return values


def _name(entry: object) -> str:
    return str(entry).partition("=")[0].strip()
