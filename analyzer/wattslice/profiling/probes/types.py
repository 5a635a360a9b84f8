"""What an instrumented source counts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from wattslice.errors import WattsliceError


class ProbeError(WattsliceError):
    """A program that cannot be instrumented, built or run, or that left no counts."""


class ProbeKind(Enum):
    """A branch, by what its counters mean.

    TEST: tests, tests that held (`if`, ``?:``). LOOP: the same and, if there is a third, entries. DO: the
    same and iterations. ENDLESS: iterations and, if there is a second, entries. LOGICAL: evaluations,
    evaluations of the right side. SWITCH: evaluations, then jumps to each of its groups of labels.
    """

    TEST = "test"
    LOOP = "loop"
    DO = "do"
    ENDLESS = "endless"
    LOGICAL = "logical"
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Probe:
    """The counters of one branch; every kernel in `kernels`, which can come here, has its own set of them.

    `line` and `column` as in `ArmCount`. `first` of `counters` counters. `arms` of a switch, in the order of
    its counters after the first.
    """

    kind: ProbeKind
    file: str
    line: int
    column: int
    first: int
    counters: int
    kernels: tuple[str, ...]
    arms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class NotProbed:
    """A branch of a kernel that is not counted, and why."""

    file: str
    line: int
    column: int
    reason: str


@dataclass(frozen=True, slots=True)
class InstrumentedSource:
    """A program that counts its branches; lines keep their numbers. `sha256` of the program as it was.

    `include_dirs` that its headers were found in beyond those that the user has named.
    """

    file: str
    text: str
    sha256: str
    kernels: tuple[str, ...]
    probes: tuple[Probe, ...]
    not_probed: tuple[NotProbed, ...]
    include_dirs: tuple[Path, ...] = ()
