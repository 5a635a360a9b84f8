"""From a profile to the program as it is today: its entries on the lines where their branches are now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.branch_profile.making import branches
from wattslice.branch_profile.profile import (
    ArmProbability,
    BoundProfile,
    BranchProfile,
    LineDigest,
    SourceLines,
    is_tail,
    line_digests,
    moved_lines,
)
from wattslice.frontend.inputs import file_bytes, note_text
from wattslice.launches.overrides import names_kernel

_Branches = dict[str, frozenset[tuple[str, int, int]]]
"""By the name that entries give a kernel (empty: any): file, line and column of its branches."""


def bind(
    profile: BranchProfile, program: ir.Program, files: Sequence[Path], source: bytes | None = None
) -> BoundProfile:
    """The profile for `program`. Of a profile that knows its sources, lines that only moved are followed.

    `files`: all that are analysed. A file that one of them is to the letter is no other one of its name.
    `source`: the bytes of the program's own file where they are newer than the disk.
    """
    known = _branches(program, {entry.kernel for entry in profile.arms})
    places = {file for own in known.values() for file, _, _ in own} | {program.file}
    given = {} if source is None else {program.file: source}
    homes = {file: _Home.of(file, given.get(file), profile.sources, files) for file in sorted(places)}
    arms: list[ArmProbability] = []
    fitting: set[int] = set()
    lost: set[int] = set()
    for index, entry in enumerate(profile.arms):
        own = known.get(entry.kernel)
        for file, home in homes.items() if own is not None else ():
            if home.is_other or (home.name != entry.file if home.name else not is_tail(entry.file, file)):
                continue
            moved = home.today(entry, file)
            if moved is not None and _is_branch(moved, file, own or frozenset()):
                fitting.add(index)
                arms.append(moved)
            elif home.has_changed:
                lost.add(index)
    today = replace(profile, arms=tuple(arms))
    return BoundProfile(today, frozenset(fitting), frozenset(lost - fitting), frozenset(known))


def _is_branch(entry: ArmProbability, file: str, branches: frozenset[tuple[str, int, int]]) -> bool:
    if entry.column:
        return (file, entry.line, entry.column) in branches
    return any((file, entry.line) == (where, line) for where, line, _ in branches)


class _Home(Struct, frozen=True):
    """One file of the program beside what the profile knows of it.

    `name`: how the profile calls it, empty when it knows nothing of its lines. `is_other`: only its name is
    that of the profile's file. `old` and `new`: its lines then and now, where they differ.
    """

    name: str = ""
    is_other: bool = False
    has_changed: bool = False
    old: tuple[LineDigest, ...] = ()
    new: tuple[LineDigest, ...] = ()

    @staticmethod
    def of(file: str, given: bytes | None, sources: tuple[SourceLines, ...], files: Sequence[Path]) -> _Home:
        fitting = [source for source in sources if is_tail(source.file, file)]
        if not fitting:
            return _Home()
        source = max(fitting, key=lambda source: len(PurePath(source.file).parts))
        try:
            data = file_bytes(Path(file)) if given is None else given
            note_text(file, data)
        except OSError:  # the frontend has read it: it will say what is wrong
            return _Home()
        if hashlib.sha256(data).hexdigest() == source.sha256:
            return _Home(source.file)
        named = (path for path in files if is_tail(source.file, str(path)) and str(path) != file)
        if any(_sha256(path) == source.sha256 for path in named):
            return _Home(source.file, is_other=True)
        return _Home(source.file, has_changed=True, old=source.lines, new=line_digests(data))

    def today(self, entry: ArmProbability, file: str) -> ArmProbability | None:
        """The entry on the line where its branch is now; None when the text of that line is gone."""
        if not self.has_changed:
            return replace(entry, file=file) if self.name else entry
        line = _moved(self.old, self.new).get(entry.line)
        if line is None:
            return None
        shift = self.new[line - 1].indent - self.old[entry.line - 1].indent
        column = max(1, entry.column + shift) if entry.column else 0
        return replace(entry, file=file, line=line, column=column)


@lru_cache(maxsize=8)
def _moved(old: tuple[LineDigest, ...], new: tuple[LineDigest, ...]) -> dict[int, int]:
    return moved_lines(old, new)


def _sha256(path: Path) -> str:
    try:
        data = file_bytes(path)
    except OSError:
        data = b""
    note_text(path, data)
    return hashlib.sha256(data).hexdigest()


def _branches(program: ir.Program, names: set[str]) -> _Branches:
    """Of every name that means a kernel of the program."""
    found: dict[str, set[tuple[str, int, int]]] = {}
    for kernel in program.kernels:
        meant = [name for name in names if not name or names_kernel(name, kernel)]
        if meant:
            own = branch_places(kernel)
            for name in meant:
                found.setdefault(name, set()).update(own)
    return {name: frozenset(places) for name, places in found.items()}


def branch_places(kernel: ir.Kernel) -> frozenset[tuple[str, int, int]]:
    """File, line and column of everything in a kernel that a profile may know."""
    return frozenset((node.span.file, node.span.line, node.span.column) for node, _ in branches(kernel))


def branches_known(profile: BranchProfile, kernel: ir.Kernel) -> int:
    """How many branches of `kernel` a bound profile knows a probability of."""
    places = branch_places(kernel)
    return len(
        {
            (entry.file, entry.line, entry.column)
            for entry in profile.arms
            if entry.probability is not None
            and (not entry.kernel or names_kernel(entry.kernel, kernel))
            and any(
                line == entry.line and entry.column in (0, column) and is_tail(entry.file, file)
                for file, line, column in places
            )
        }
    )


def about_profile(profile: BranchProfile, bound: Iterable[BoundProfile]) -> tuple[ir.Diagnostic, ...]:
    """What has to be said of entries that no analysed file could use, branch by branch."""
    bindings = tuple(bound)
    fitting = frozenset[int]().union(*(binding.fitting for binding in bindings))
    lost = frozenset[int]().union(*(binding.lost for binding in bindings)) - fitting
    kernels = frozenset[str]().union(*(binding.kernels for binding in bindings))
    unused = [entry for index, entry in enumerate(profile.arms) if index not in fitting | lost]
    gone = [entry for entry in unused if entry.kernel and entry.kernel not in kernels]
    changed = _by_branch(profile.arms[index] for index in sorted(lost))
    again = f": make the profile anew with `{profile.command}`" if profile.command else ""
    unknown = {(entry.file, entry.kernel): entry for entry in reversed(gone)}

    def said(rule: str, first: ArmProbability, message: str) -> ir.Diagnostic:
        return ir.Diagnostic(rule, ir.Severity.WARNING, first.file, first.line, f"the profile{message}")

    return (
        *(
            said(
                "PW018",
                first,
                f" is older than the source: line {first.line} has changed, so that "
                f"{_arms(arms)}{_of_kernel(first)} is not used{again}",
            )
            for first, arms in changed
        ),
        *(
            said(
                "PW017",
                first,
                f"'s {_arms(arms)}{_of_kernel(first)} is about no branch: none is on this line",
            )
            for first, arms in _by_branch(entry for entry in unused if entry not in gone)
        ),
        *(
            said(
                "PW017", one, f"'s kernel {one.kernel} is not in what was analysed: its entries are not used"
            )
            for one in unknown.values()
        ),
    )


def _by_branch(entries: Iterable[ArmProbability]) -> list[tuple[ArmProbability, tuple[str, ...]]]:
    """The first entry of each branch, and the names of all its arms."""
    found: dict[tuple[str, str, int, int], list[ArmProbability]] = {}
    for entry in entries:
        found.setdefault((entry.file, entry.kernel, entry.line, entry.column), []).append(entry)
    return [(arms[0], tuple(arm.arm for arm in arms)) for arms in found.values()]


def _arms(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _of_kernel(entry: ArmProbability) -> str:
    return f" of kernel {entry.kernel}" if entry.kernel else ""
