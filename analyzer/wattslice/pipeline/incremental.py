"""Analysis of a text that is being edited: the same answers as for a saved file, at the pace of typing.

Nothing here computes anything: of every stage (`pipeline.Stages`) the answers are remembered by what they
were made from. An edit changes the trees of few functions (`frontend/lowering/reuse.py`); the host code is
read anew only where one of its functions, or what it knows of the kernels, is new, and a launch is analysed
anew only where its kernel, its geometry or its arguments are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Analysis
from wattslice.config.config import Config
from wattslice.errors import WattsliceError
from wattslice.findings.quoting import Quoter
from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions
from wattslice.frontend.cuda.read import CallerProgram, first_launcher, read_caller
from wattslice.frontend.inputs import open_text
from wattslice.frontend.limits import MOST_S
from wattslice.frontend.neighbours import (
    as_asked,
    caller_files,
    definition_files,
    linking_files,
    plain_names,
    sharing_files,
)
from wattslice.frontend.source_files import FileState, file_state
from wattslice.ir import Block, Call, Kernel, MemorySpace, Program, expressions_below
from wattslice.launches.data import check_data
from wattslice.launches.launch import KernelLaunch
from wattslice.launches.overrides import check_overrides
from wattslice.launches.resolver import Neighbours
from wattslice.pipeline.files import Stages, analyze_file, collected, read_program
from wattslice.pipeline.launch import LaunchResult
from wattslice_models.gpu import Gpu

_KEPT_ROUNDS = 8
"""For how many analyses of a file an unused answer is kept: undoing an edit finds it again."""

Answer = TypeVar("Answer")


class CancelledError(WattsliceError):
    """The caller has no use for this analysis any more."""


def never() -> bool:
    """Nobody cancels."""
    return False


class _Answers(Generic[Answer]):
    """Answers by what they were made from, as long as somebody asks for them now and then."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Answer] = {}
        self._asked: dict[Hashable, int] = {}
        self._round = 0

    def next_round(self) -> None:
        """Another analysis begins: forget what has not been asked for in a while."""
        self._round += 1
        for key in [key for key, asked in self._asked.items() if asked < self._round - _KEPT_ROUNDS]:
            del self._known[key], self._asked[key]

    def find(self, key: Hashable) -> Answer | None:
        """The answer that goes with `key`, None when there is none."""
        if key in self._known:
            self._asked[key] = self._round
        return self._known.get(key)

    def keep(self, key: Hashable, answer: Answer) -> Answer:
        """Remember and give back."""
        self._known[key], self._asked[key] = answer, self._round
        return answer


class _StampedCaller(Struct, frozen=True):
    """Host code of another file, and the state of the files it was read from."""

    caller: CallerProgram
    stamps: tuple[FileState, ...]


def _stamps(files: tuple[Path, ...]) -> tuple[FileState, ...]:
    def stamp(file: Path) -> FileState:
        text = open_text(file)
        return file_state(file) if text is None else (0, hash(text), len(text))

    return tuple(map(stamp, files))


_Heard = tuple[str, Hashable, object]
"""Whom of `Neighbours` something was asked, what, and the answer."""


class _Reading(Struct, frozen=True):
    """The host code once read: what it asked about other files and was told, and its launches by kernel."""

    heard: tuple[_Heard, ...]
    launches: tuple[tuple[int, KernelLaunch], ...]
    bodies: tuple[Block, ...] | None  # of the kernels; None: whatever is in them

    def holds(self, around: Neighbours, bodies: tuple[Block, ...]) -> bool:
        """Whether the kernels and the other files say the same now."""
        told = ((getattr(around, name), question, answer) for name, question, answer in self.heard)
        return self.bodies in (None, bodies) and all(
            ask is not None and ask(question) == answer for ask, question, answer in told
        )


def _noted(around: Neighbours, heard: list[_Heard]) -> Neighbours:
    """`around`, which notes what it was asked and told."""

    def noted(name: str, ask: Callable[[Hashable], object]) -> Callable[[Hashable], object]:
        def noting(question: Hashable) -> object:
            answer = ask(question)
            heard.append((name, question, answer))
            return answer

        return noting

    asked = ((name, getattr(around, name)) for name in Neighbours.__struct_fields__)
    return replace(around, **{name: noted(name, ask) for name, ask in asked if ask is not None})


class _RememberedStages(Stages):
    """The stages of one file, each asked only for what it was not asked before."""

    def __init__(self) -> None:
        self._cancelled: Callable[[], bool] = never
        self._functions = LoweredFunctions()
        self._callers: _Answers[_StampedCaller] = _Answers()
        self._readings: _Answers[_Reading] = _Answers()
        self._launches: _Answers[LaunchResult] = _Answers()

    def start(self, cancelled: Callable[[], bool]) -> None:
        """Another analysis begins."""
        self._cancelled = cancelled
        for answers in (self._callers, self._readings, self._launches):
            answers.next_round()

    def _go_on(self) -> None:
        if self._cancelled():
            raise CancelledError("cancelled: a newer text is there", remedy="analyze that one")

    def program(
        self, path: Path, config: Config, source: bytes | None, wanted: frozenset[str] = frozenset()
    ) -> Program:
        self._go_on()
        program = read_program(path, config, source, self._functions, wanted)
        self._go_on()
        return program

    def neighbours(self, path: Path, config: Config) -> Neighbours:
        plain = super().neighbours(path, config)
        if plain.callers is None:
            return plain

        def read(file: Path, names: frozenset[str]) -> CallerProgram:
            return self._read_caller(file, config, names)

        def programs(files: tuple[Path, ...], names: frozenset[str]) -> tuple[Program, ...]:
            found = [read(as_asked(file, path), names).program for file in files]
            return tuple(program for program in found if program is not None)

        return Neighbours(
            lambda names: programs(caller_files(path, names), names),
            lambda kernels: first_launcher(path, kernels, lambda file: read(file, kernels)),
            plain.arguments,
            lambda sought: programs(definition_files(*sought), sought[1]),
            lambda kernels: programs(linking_files(path, kernels), kernels),
            lambda names: programs(sharing_files(path, names), plain_names(names)),
        )

    def _read_caller(self, file: Path, config: Config, names: frozenset[str]) -> CallerProgram:
        self._go_on()
        known = self._callers.find((file, names))
        if known is None or known.stamps != _stamps(known.caller.files):
            read = read_caller(file, names, config.parse)
            known = self._callers.keep((file, names), _StampedCaller(read, _stamps(read.files)))
        return known.caller

    def launches(
        self, program: Program, config: Config, gpu: Gpu, around: Neighbours
    ) -> tuple[KernelLaunch, ...]:
        key = (program.functions, program.globals, program.origin, tuple(map(_signature, program.kernels)))
        known = self._readings.find(key)
        bodies = tuple(kernel.body for kernel in program.kernels)
        if known is None or not known.holds(around, bodies):
            heard: list[_Heard] = []
            noted = _noted(around, heard)
            launches = super().launches(program, config, gpu, noted)
            places = {kernel: number for number, kernel in enumerate(program.kernels)}
            placed = tuple((places[launch.kernel], launch) for launch in launches)
            told = bodies if _rest_on_bodies(program, launches) else None
            known = self._readings.keep(key, _Reading(tuple(heard), placed, told))
        self._go_on()
        return tuple(replace(launch, kernel=program.kernels[number]) for number, launch in known.launches)

    def launch(self, launch: KernelLaunch, config: Config, gpu: Gpu, quoter: Quoter) -> LaunchResult:
        # 1 and 1.0 are equal, but not the same argument.
        key = (launch, repr(launch.arguments), config.facts.branch_profile)
        known = self._launches.find(key)
        if known is not None and not config.keep_sources:  # else the quoter has to hear what is quoted
            return known
        self._go_on()
        return self._launches.keep(key, super().launch(launch, config, gpu, quoter))


def _rest_on_bodies(program: Program, launches: tuple[KernelLaunch, ...]) -> bool:
    """Whether what is in kernels may decide what is told of their launches: where something was assumed,
    where they write what the host reads, leave what it has set to zero, or write again and again.
    """
    if any(one.assumptions or one.unknown_arguments or (one.times or 0) > 1 for one in launches):
        return True
    every = (expr for function in program.functions for expr in expressions_below(function.body))
    calls = (expr.name for expr in every if isinstance(expr, Call))
    return any(v.space is MemorySpace.GLOBAL for v in program.globals) or any(
        "emset" in name or name == "calloc" for name in calls
    )


def _signature(kernel: Kernel) -> Hashable:
    """What the host code is read with: everything about a kernel but its body."""
    return (
        (kernel.name, kernel.qualified_name, kernel.mangled_name, kernel.span.file, kernel.span.line),
        (kernel.max_threads_per_block, kernel.min_blocks_per_sm, kernel.max_registers),
        tuple((parameter.name, parameter.type, parameter.space) for parameter in kernel.parameters),
    )


class IncrementalAnalyzer:
    """Analyses the texts of open files again and again under one `config`. Not thread-safe.

    `most_s`: seconds of the processor for one analysis.
    """

    def __init__(self, config: Config, most_s: float = MOST_S) -> None:
        self._config = config
        self._most_s = most_s
        self._files: dict[Path, _RememberedStages] = {}

    def analyze(self, path: Path, text: str, cancelled: Callable[[], bool] = never) -> Analysis:
        """What `analyze_files` would say of a file `path` with this content; the disk is not looked at.

        Raises `CancelledError` soon after `cancelled` becomes true, and whatever `analyze_files` raises.
        """
        stages = self._files.setdefault(path, _RememberedStages())
        stages.most_s = self._most_s
        stages.start(cancelled)
        config = replace(self._config, files=(path,))
        # A lone surrogate is no character: an editor has nothing better to send for a broken one.
        found = analyze_file(path, config, text.encode("utf-8", "replace"), stages)
        check_overrides(config.facts.typed_overrides, [found.names])
        check_data(config.facts.data, [found.names])
        return collected(config, (found,))

    def forget(self, path: Path) -> None:
        """The file has been closed."""
        self._files.pop(path, None)
