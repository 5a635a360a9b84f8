"""Analysis of a text that is being edited: the same answers as for a saved file, at the pace of typing.

Nothing here computes anything: of every stage (`pipeline.Stages`) the answers are remembered by what they
were made from. An edit changes the trees of few functions (`frontend/lowering/reuse.py`); the host code is
read anew only where one of its functions, or what it knows of the kernels, is new, and a launch is analysed
anew only where its kernel, its geometry or its arguments are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from wattslice.analysis import Analysis
from wattslice.config.config import Config
from wattslice.errors import WattsliceError
from wattslice.findings.quoting import Quoter
from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions
from wattslice.frontend.cuda.read import CallerProgram, caller_files, first_launcher, read_caller
from wattslice.frontend.limits import MOST_S
from wattslice.ir import Kernel, Program
from wattslice.launches.launch import KernelLaunch
from wattslice.launches.overrides import check_overrides
from wattslice.launches.resolver import CallerReader, LauncherReader
from wattslice.pipeline.files import Stages, analyze_file, collected, parse_options, read_program
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


_Stamp = tuple[int, int, int] | None


@dataclass(frozen=True, slots=True)
class _StampedCaller:
    """Host code of another file, and the state of the files it was read from."""

    caller: CallerProgram
    stamps: tuple[_Stamp, ...]


def _stamps(files: tuple[Path, ...]) -> tuple[_Stamp, ...]:
    """Inode, time of change and size of each file; None for one that cannot be looked at."""

    def stamp(file: Path) -> _Stamp:
        try:
            found = file.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    return tuple(map(stamp, files))


@dataclass(frozen=True, slots=True)
class _Reading:
    """The host code once read: what it asked other files for and got, and its launches by kernel."""

    asked: tuple[tuple[frozenset[str], tuple[Program, ...]], ...]
    asked_launcher: tuple[tuple[frozenset[str], Program | None], ...]
    launches: tuple[tuple[int, KernelLaunch], ...]


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

    def program(self, path: Path, config: Config, source: bytes | None) -> Program:
        self._go_on()
        program = read_program(path, config, source, self._functions)
        self._go_on()
        return program

    def callers(self, path: Path, config: Config) -> CallerReader | None:
        return None if super().callers(path, config) is None else partial(self._read_callers, path, config)

    def launcher(self, path: Path, config: Config) -> LauncherReader | None:
        return None if super().launcher(path, config) is None else partial(self._read_launcher, path, config)

    def _read_callers(self, path: Path, config: Config, names: frozenset[str]) -> tuple[Program, ...]:
        found = [self._read_caller(file, config, names).program for file in caller_files(path, names)]
        return tuple(program for program in found if program is not None)

    def _read_launcher(self, path: Path, config: Config, kernels: frozenset[str]) -> Program | None:
        return first_launcher(path, kernels, lambda file: self._read_caller(file, config, kernels))

    def _read_caller(self, file: Path, config: Config, names: frozenset[str]) -> CallerProgram:
        self._go_on()
        known = self._callers.find((file, names))
        if known is None or known.stamps != _stamps(known.caller.files):
            read = read_caller(file, names, parse_options(config))
            known = self._callers.keep((file, names), _StampedCaller(read, _stamps(read.files)))
        return known.caller

    def launches(
        self,
        program: Program,
        config: Config,
        gpu: Gpu,
        callers: CallerReader | None,
        launcher: LauncherReader | None,
    ) -> tuple[KernelLaunch, ...]:
        key = (program.functions, program.globals, program.origin, tuple(map(_signature, program.kernels)))
        known = self._readings.find(key)
        if known is not None and callers is not None and launcher is not None:
            same = all(callers(names) == answer for names, answer in known.asked)
            same = same and all(launcher(names) == answer for names, answer in known.asked_launcher)
            known = known if same else None
        if known is None:
            asked: list[tuple[frozenset[str], tuple[Program, ...]]] = []
            asked_launcher: list[tuple[frozenset[str], Program | None]] = []

            def ask(names: frozenset[str]) -> tuple[Program, ...]:
                answer = () if callers is None else tuple(callers(names))
                asked.append((names, answer))
                return answer

            def ask_launcher(kernels: frozenset[str]) -> Program | None:
                answer = None if launcher is None else launcher(kernels)
                asked_launcher.append((kernels, answer))
                return answer

            others = (None if callers is None else ask, None if launcher is None else ask_launcher)
            launches = super().launches(program, config, gpu, *others)
            places = {kernel: number for number, kernel in enumerate(program.kernels)}
            placed = tuple((places[launch.kernel], launch) for launch in launches)
            known = _Reading(tuple(asked), tuple(asked_launcher), placed)
            self._readings.keep(key, known)
        self._go_on()
        return tuple(replace(launch, kernel=program.kernels[number]) for number, launch in known.launches)

    def launch(self, launch: KernelLaunch, config: Config, gpu: Gpu, quoter: Quoter) -> LaunchResult:
        # 1 and 1.0 are equal, but not the same argument.
        key = (launch, repr(launch.arguments), config.branch_profile)
        known = self._launches.find(key)
        if known is not None and not config.keep_sources:  # else the quoter has to hear what is quoted
            return known
        self._go_on()
        return self._launches.keep(key, super().launch(launch, config, gpu, quoter))


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
        check_overrides(config.typed_overrides, [found.names])
        return collected(config, (found,))

    def forget(self, path: Path) -> None:
        """The file has been closed."""
        self._files.pop(path, None)
