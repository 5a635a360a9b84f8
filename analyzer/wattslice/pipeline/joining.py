"""What the files of one run gave, put together: every file under one name, every launch told once.

A `.cu` file that others of the run include is read with each of them, and once by itself. By itself its
kernels may have no launch, and a grid is invented for them; whoever includes it knows better.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Advice, ArmAnalysis, KernelAnalysis, LineHeat, SourceText, Suppression
from wattslice.branch_profile.profile import BoundProfile
from wattslice.config.sources import is_ptx
from wattslice.counting.profile import LoopTrips
from wattslice.ir import Diagnostic
from wattslice.launches.launch import Assumption, LaunchSource
from wattslice.launches.overrides import KnownNames


class FileAnalysis(Struct, frozen=True):
    """What one file gave: its kernels, launch by launch, and everything to be said about it."""

    file: str
    kernels: tuple[KernelAnalysis, ...]
    diagnostics: tuple[Diagnostic, ...]
    names: KnownNames
    bound: BoundProfile | None = None
    suppressions: tuple[Suppression, ...] = ()
    sources: tuple[SourceText, ...] = ()


def joined(results: Sequence[FileAnalysis]) -> tuple[FileAnalysis, ...]:
    """The same results, the files spelled alike and without what another result tells as well or better."""
    return _each_launch_once(_spelled_alike(results))


def _spelled_alike(results: Sequence[FileAnalysis]) -> tuple[FileAnalysis, ...]:
    """Every file as the user gave it, any other as it was spelled first, without needless `..`."""
    own = dict.fromkeys(result.file for result in results)
    named: dict[str, str] = {}
    for result in results:
        _renamed(result, lambda file: named.setdefault(file, file))
    first: dict[str, str] = {os.path.realpath(file): file for file in reversed(own)}
    for file in filter(None, (file for file in named if file not in own)):
        place, short = os.path.realpath(file), os.path.normpath(file)
        first.setdefault(place, short if os.path.realpath(short) == place else file)
    names = {file: first[os.path.realpath(file)] for file in (*own, *named) if file}
    if all(file == name for file, name in names.items()):
        return tuple(results)
    return tuple(_renamed(result, lambda file: names.get(file, file)) for result in results)


_Naming = Callable[[str], str]


def _renamed(result: FileAnalysis, name: _Naming) -> FileAnalysis:
    """`result` with `name` of every file that it names."""
    return replace(
        result,
        diagnostics=_in_files(result.diagnostics, name),
        suppressions=_in_files(result.suppressions, name),
        sources=_in_files(result.sources, name),
        kernels=tuple(_renamed_kernel(kernel, name) for kernel in result.kernels),
    )


def _renamed_kernel(kernel: KernelAnalysis, name: _Naming) -> KernelAnalysis:
    file, launch_file = name(kernel.source.file), name(kernel.launch.file)
    return replace(
        kernel,
        source=replace(kernel.source, file=file),
        launch=replace(kernel.launch, file="" if launch_file == file else launch_file),
        hot_lines=_in_files(kernel.hot_lines, name),
        loops=_in_files(kernel.loops, name),
        arms=_in_files(kernel.arms, name),
        assumptions=_in_files(kernel.assumptions, name),
        advice=_in_files(kernel.advice, name),
    )


_Entry = TypeVar(
    "_Entry", Diagnostic, Suppression, SourceText, LineHeat, LoopTrips, ArmAnalysis, Assumption, Advice
)


def _in_files(entries: tuple[_Entry, ...], name: _Naming) -> tuple[_Entry, ...]:
    return tuple(replace(entry, file=name(entry.file)) for entry in entries)


class _Told(Struct, frozen=True):
    """A launch, and the number of the result that tells of it."""

    kernel: KernelAnalysis
    by: int

    @property
    def name(self) -> str:
        return self.kernel.source.qualified_name

    @property
    def place(self) -> Hashable:
        """Where the launch stands in the source; None for an invented one."""
        line = self.kernel.launch.line
        return None if line is None else (self.kernel.launch.file or self.kernel.source.file, line)

    @property
    def launch(self) -> Hashable:
        launch, resources = self.kernel.launch, self.kernel.resources
        shared_bytes = None if resources is None else resources.shared_bytes_per_block
        return self.name, self.place, launch.grid, launch.block, shared_bytes


def _each_launch_once(results: tuple[FileAnalysis, ...]) -> tuple[FileAnalysis, ...]:
    """Every launch as one result tells it, and none invented of which another knows more."""
    definitions: defaultdict[Hashable, list[_Told]] = defaultdict(list)
    for number, result in enumerate(results):
        for kernel in result.kernels:
            # compiled code is another kernel than its source, although it is told of the same lines
            compiled = result.file if is_ptx(result.file) else ""
            definitions[*kernel.source.place, kernel.name, compiled].append(_Told(kernel, number))
    kept: defaultdict[int, set[int]] = defaultdict(set)
    unsure: dict[int, str] = {}
    for group in definitions.values():
        if len({told.by for told in group}) == 1:
            worth = group
        else:
            worth = _worth_telling(group)
            unsure |= _differently_often(worth, group, results)
        for told in worth:
            kept[told.by].add(id(told.kernel))
    return tuple(
        result
        if len(kept[number]) == len(result.kernels) and unsure.keys().isdisjoint(map(id, result.kernels))
        else _only(result, kept[number], unsure)
        for number, result in enumerate(results)
    )


def _differently_often(
    worth: Sequence[_Told], group: Sequence[_Told], results: Sequence[FileAnalysis]
) -> dict[int, str]:
    """Why the number of a launch is not known, by the `id` of its kernel: several programs make it, which
    share its source, and each another number of times.
    """
    numbers: defaultdict[Hashable, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for told in group:
        if told.kernel.launch.times is not None:
            numbers[told.launch][told.by].append(told.kernel.launch.times)
    found: dict[int, str] = {}
    for told in worth:
        each = {by: sum(times) for by, times in numbers[told.launch].items()}
        if told.kernel.launch.times is not None and len(set(each.values())) > 1:
            programs = [
                f"{total} time{'s' * (total != 1)} from {results[by].file}" for by, total in each.items()
            ]
            found[id(told.kernel)] = f"several programs launch it: {', '.join(programs)}"
    return found


def _worth_telling(group: Sequence[_Told]) -> list[_Told]:
    """Of all that several results say of one kernel: each launch once, by whoever knows its power first."""
    names = {told.name for told in group}
    launched = {told.name for told in group if told.place is not None}
    read: defaultdict[Hashable, set[int]] = defaultdict(set)
    for told in group:
        if told.kernel.launch.source is not LaunchSource.ASSUMED:
            read[told.name, told.place].add(told.by)

    def is_known_better(told: _Told) -> bool:
        if any(name.startswith(f"{told.name}<") for name in names):
            return True  # a template of which another result has an instance is no kernel of its own
        if told.place is None:
            return told.name in launched
        is_assumed = told.kernel.launch.source is LaunchSource.ASSUMED
        return is_assumed and not read[told.name, told.place] <= {told.by}

    best = [told for told in group if not is_known_better(told)]
    speaker: dict[Hashable, int] = {}
    for told in sorted(best, key=lambda told: (told.kernel.power_w is None, told.by)):
        speaker.setdefault(told.launch, told.by)
    return [told for told in best if speaker[told.launch] == told.by]


def _unsure_of(kernel: KernelAnalysis, unsure: Mapping[int, str]) -> KernelAnalysis:
    why = unsure.get(id(kernel))
    return (
        kernel
        if why is None
        else replace(kernel, launch=replace(kernel.launch, times=None, times_unknown=why))
    )


def _only(result: FileAnalysis, ids: set[int], unsure: Mapping[int, str]) -> FileAnalysis:
    """A result without the kernels that are not of these `id`, and without what it says of them.

    Of a file whose kernels are all told by others, they tell everything: they have read it, too. How often
    those of `unsure` are launched is not known.
    """
    kept = tuple(_unsure_of(kernel, unsure) for kernel in result.kernels if id(kernel) in ids)
    gone = [kernel for kernel in result.kernels if id(kernel) not in ids]
    files = {kernel.source.file for kernel in gone} - {kernel.source.file for kernel in kept}
    spans = {(*kernel.source.place, kernel.source.end_line) for kernel in gone}
    spans -= {(*kernel.source.place, kernel.source.end_line) for kernel in kept}

    def is_told_by_others(entry: Diagnostic) -> bool:
        return entry.file in files or any(
            entry.file == file and line <= entry.line <= end_line for file, line, end_line in spans
        )

    diagnostics = tuple(entry for entry in result.diagnostics if not is_told_by_others(entry))
    return replace(result, kernels=kept, diagnostics=diagnostics)
