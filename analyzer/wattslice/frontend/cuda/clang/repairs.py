"""One file parsed until nothing more can be repaired: includes searched for, undeclared names declared."""

from __future__ import annotations

import contextlib
import functools
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wattslice.errors import FrontendError
from wattslice.frontend.cuda.clang.autodeclare import (
    AUTO_DECLARED_FILE,
    Undeclared,
    declarations,
    undeclared_names,
    with_members,
)
from wattslice.frontend.cuda.clang.diagnostics import ParseDiagnostic, diagnostics_of, missing_includes
from wattslice.frontend.cuda.clang.flags import (
    FALLBACK_STUBS,
    KEEP_GOING,
    PRELUDE,
    STUBS,
    ParseOptions,
    language_flags,
    user_flags,
)
from wattslice.frontend.cuda.clang.guards import may_exhaust_stack
from wattslice.frontend.cuda.clang.includes import find_header
from wattslice.frontend.cuda.clang.launch_brackets import joined_brackets
from wattslice.frontend.cuda.clang.parse import ParseTimeoutError, budget_clock, raw_parse
from wattslice.frontend.cuda.clang.pch import prelude_pch
from wattslice.frontend.cuda.clang.places import UnitHandle
from wattslice.frontend.cuda.clang.probe import refuse_if_fatal
from wattslice.frontend.cuda.clang.source_files import SourceFiles, included_names
from wattslice.frontend.cuda.clang.unit import ParsedUnit, Recovered
from wattslice.frontend.cuda.clang.unit_inputs import note_unit
from wattslice.frontend.inputs import note_file, note_unrepeatable

_MOST_INCLUDE_ROUNDS = 4
_MOST_DECLARE_ROUNDS = 3
_MOST_HEADERS = 1_000
_PARSE_BUDGET_S = 6.0
# A parse that took longer is not repeated for repairs.
_REPAIR_BUDGET_S = 2.0


class Clock:
    """The time that all parses for one file share."""

    def __init__(self) -> None:
        self._now = budget_clock()
        self._start = self._now()

    @property
    def remaining_s(self) -> float:
        """Seconds until a running parse is given up."""
        return _PARSE_BUDGET_S - (self._now() - self._start)

    @property
    def allows_repairs(self) -> bool:
        """Whether one more parse is affordable."""
        is_allowed = self._now() - self._start < _REPAIR_BUDGET_S
        if not is_allowed:
            note_unrepeatable()
        return is_allowed


@dataclass(frozen=True, slots=True)
class _HeaderSearch:
    """Folders found so far for headers that no include folder has; our fallback headers come last."""

    source: Path
    files: SourceFiles
    folders: list[Path]
    asked: list[str]

    def look_for(self, names: Iterable[str]) -> bool:
        """Search for names not asked for before; whether there is a new folder."""
        before = len(self.folders)
        for name in names:
            if name in self.asked:
                continue
            self.asked.append(name)
            folder = find_header(name, self.source, self.files)
            if folder is None and (FALLBACK_STUBS / name).is_file():
                folder = FALLBACK_STUBS
            if folder is not None and folder not in self.folders:
                self.folders.append(folder)
        return len(self.folders) > before

    def flags(self) -> tuple[Path, ...]:
        """The folders in the order to search them in."""
        return tuple(sorted(self.folders, key=lambda folder: folder == FALLBACK_STUBS))


def _unknown(
    complaints: tuple[ParseDiagnostic, ...], declared: tuple[Undeclared, ...], files: SourceFiles
) -> tuple[Undeclared, ...]:
    known = {entry.name for entry in declared}
    return tuple(entry for entry in undeclared_names(complaints, files) if entry.name not in known)


def _known_folder(name: str, folders: Iterable[Path]) -> Path | None:
    try:
        return next((folder for folder in folders if _is_file(folder / name)), None)
    except OSError:  # a name too long for the file system
        return None


def _is_file(path: Path) -> bool:
    found = path.is_file()
    note_file(path, found)
    return found


def _look_ahead(file: Path, own: bytes, options: ParseOptions, search: _HeaderSearch) -> bool:
    """Find the headers of the file, and theirs, before clang asks for them: that saves a parse of every
    second file. Returns whether one of all these texts may exhaust clang's stack.
    """
    suspicious = may_exhaust_stack(own)
    seen = {file}
    waiting = [(file, included_names(own))]
    while waiting and len(seen) < _MOST_HEADERS:
        includer, names = waiting.pop()
        for name in names:
            if _is_stub(name):
                continue
            folders = (includer.parent, *options.include_dirs, *search.folders)
            folder = _known_folder(name, folders)
            if folder is None and search.look_for((name,)):
                folder = _known_folder(name, search.folders[-1:])
            if folder is None:
                _refuse_device(file, includer, name)
            if folder is None or folder == FALLBACK_STUBS:
                continue
            header = folder / name
            if header not in seen:
                seen.add(header)
                suspicious = suspicious or may_exhaust_stack(search.files.text_of(header))
                waiting.append((header, search.files.included_by(header)))
    return suspicious


def _refuse_device(file: Path, includer: Path, name: str) -> None:
    """An included pipe or device would be read without end."""
    with contextlib.suppress(OSError, ValueError):
        mode = (includer.parent / name).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise FrontendError(
                file, None, f"includes '{name}', which is no regular file", "remove the #include"
            )


@functools.lru_cache(maxsize=1024)
def _is_stub(name: str) -> bool:
    try:
        return (STUBS / name).is_file()
    except OSError:  # a name too long for the file system
        return False


def parse_with_repairs(
    file: Path, asked: Path, source: bytes, options: ParseOptions, files: SourceFiles, clock: Clock
) -> ParsedUnit:
    """Parse `file` for the sake of `asked` (which it is, or includes), whose bytes are `source`.

    Raises `FrontendError` when clang gives up, would crash, or takes too long.
    """
    search = _HeaderSearch(file.resolve(), files, [], [])
    own = files.text_of(file)
    # What is known of the texts is given from memory: they may change on the disk, or be newer than it.
    unsaved = ((file, joined_brackets(own)),)
    if file != asked:
        unsaved = (*unsaved, (asked.resolve(), joined_brackets(source)))
    if _look_ahead(file, own, options, search):
        flags = (*language_flags(options.standard, options.gpu_arch), *user_flags(options, search.flags()))
        refuse_if_fatal(file, flags, unsaved)
    declared: tuple[Undeclared, ...] = ()
    handle, complaints = _parse(file, unsaved, options, search.flags(), declared, clock)
    for _ in range(_MOST_INCLUDE_ROUNDS):
        missing = missing_includes(complaints)
        if not (missing and clock.allows_repairs and search.look_for(missing)):
            break
        handle, complaints = _parse(file, unsaved, options, search.flags(), declared, clock)
    for _ in range(_MOST_DECLARE_ROUNDS):
        wanted = (*with_members(declared, complaints, own), *_unknown(complaints, declared, files))
        if wanted == declared or not clock.allows_repairs:
            break
        declared = wanted
        handle, complaints = _parse(file, unsaved, options, search.flags(), declared, clock)
    note_unit(handle, unsaved, (*options.include_dirs, *search.flags()))
    recovered = Recovered(
        declared,
        tuple(dict.fromkeys(missing_includes(complaints))),
        tuple(folder for folder in search.folders if folder != FALLBACK_STUBS),
        None if file == asked else file,
    )
    return ParsedUnit(asked, source, options, complaints, recovered, handle, files)


def _parse(
    file: Path,
    unsaved: tuple[tuple[Path, bytes], ...],
    options: ParseOptions,
    extra_dirs: tuple[Path, ...],
    declared: tuple[Undeclared, ...],
    clock: Clock,
) -> tuple[UnitHandle, tuple[ParseDiagnostic, ...]]:
    flags = (*language_flags(options.standard, options.gpu_arch), *user_flags(options, extra_dirs))
    made_up = ((AUTO_DECLARED_FILE, declarations(declared)),) if declared else ()
    include = tuple(f"-include{name}" for name, _ in made_up)
    unsaved = (*unsaved, *made_up)
    pch = prelude_pch(options.standard, options.gpu_arch) if options.use_pch else None
    try:
        if pch is not None:
            started = (*flags, "-include-pch", str(pch), *include)
            handle = raw_parse(file, started, KEEP_GOING, unsaved, clock.remaining_s)
            complaints = () if handle is None else diagnostics_of(handle)
            if handle is not None and not _pch_refused(complaints, pch):
                return handle, complaints
        started = (*flags, f"-include{PRELUDE}", *include)
        handle = raw_parse(file, started, KEEP_GOING, unsaved, clock.remaining_s)
    except ParseTimeoutError:
        note_unrepeatable()
        raise FrontendError(
            file,
            None,
            f"clang does not finish parsing it in {_PARSE_BUDGET_S:g} s",
            "look for templates, macros or headers that multiply without end, or split the file",
        ) from None
    if handle is None:
        raise FrontendError(
            file, None, "clang gave up on this file", "check that it compiles; simplify very deep nesting"
        )
    return handle, diagnostics_of(handle)


def _pch_refused(complaints: tuple[ParseDiagnostic, ...], pch: Path) -> bool:
    """Whether clang complained about the PCH itself (truncated, or flags that contradict it)."""
    return any(
        d.is_error and ("PCH" in d.message or "precompiled" in d.message or pch.name in d.message)
        for d in complaints
    )
