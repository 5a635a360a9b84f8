"""From a path to a parsed unit: prelude, includes, names that nobody declared, files that are fragments."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wattslice.errors import FrontendError
from wattslice.frontend.clang.autodeclare import (
    AUTO_DECLARED_FILE,
    Undeclared,
    declarations,
    undeclared_names,
)
from wattslice.frontend.clang.compile_commands import with_compile_commands
from wattslice.frontend.clang.cursors import Node, Place, UnitHandle
from wattslice.frontend.clang.diagnostics import ParseDiagnostic, diagnostics_of, missing_includes
from wattslice.frontend.clang.flags import (
    FALLBACK_STUBS,
    KEEP_GOING,
    PRELUDE,
    STUBS,
    ParseOptions,
    language_flags,
    user_flags,
)
from wattslice.frontend.clang.guards import may_exhaust_stack, read_source
from wattslice.frontend.clang.includes import (
    find_header,
    included_names,
    including_units,
    repository_root,
    text_of,
)
from wattslice.frontend.clang.kinds import CursorKind
from wattslice.frontend.clang.libclang import library
from wattslice.frontend.clang.parse import raw_parse
from wattslice.frontend.clang.pch import prelude_pch
from wattslice.frontend.clang.probe import refuse_if_fatal

_MOST_INCLUDE_ROUNDS = 4
_MOST_DECLARE_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the parse had to make up or look for: the analyzer must not pass it off as the user's word.

    `declared` names have a made-up declaration: their types and values mean nothing.
    `missing_includes` were found nowhere; `found_includes` are the folders that the search came up with.
    `including_file` is the file that was parsed instead because the asked-for file is a fragment of it.
    """

    declared: tuple[Undeclared, ...] = ()
    missing_includes: tuple[str, ...] = ()
    found_includes: tuple[Path, ...] = ()
    including_file: Path | None = None


@dataclass(frozen=True, slots=True)
class ParsedUnit:
    """A file as clang understands it. `path` is the file asked for, `source` its bytes."""

    path: Path
    source: bytes
    diagnostics: tuple[ParseDiagnostic, ...]
    recovered: Recovered
    handle: UnitHandle = field(repr=False)

    @property
    def root(self) -> Node:
        """The TRANSLATION_UNIT node."""
        return Node(self.handle, library().clang_getTranslationUnitCursor(self.handle.unit))

    def is_in_file(self, node: Node) -> bool:
        """Whether the node is (used) in the asked-for file, and not in a header, stub or including file."""
        path = node.place.path
        return path is not None and (
            path == self.path or (path.name == self.path.name and _same(path, self.path))
        )

    def is_builtin(self, declaration: Node) -> bool:
        """Whether the prelude or a stub declares it: an intrinsic or library function known by name."""
        path = declaration.place.path
        return path is None or (path.is_relative_to(STUBS) and path != AUTO_DECLARED_FILE)

    def is_made_up(self, declaration: Node) -> bool:
        """Whether the parse itself declared this name because nobody else did."""
        return declaration.place.path == AUTO_DECLARED_FILE

    def errors_between(
        self, first_line: int, last_line: int, path: Path | None = None
    ) -> tuple[ParseDiagnostic, ...]:
        """Errors in a range of lines, both ends included, of the asked-for file or of another one."""
        wanted = path or self.path
        return tuple(
            d
            for d in self.diagnostics
            if d.is_error
            and first_line <= d.line <= last_line
            and d.path is not None
            and _same(d.path, wanted)
        )

    def source_of(self, place: Place) -> bytes:
        """The bytes of the file a place is in; empty for what has no file."""
        if place.path is None:
            return b""
        return self.source if _same(place.path, self.path) else text_of(place.path)

    def text(self, node: Node) -> str:
        """The source text of a node (of the macro's use, for a node out of a macro)."""
        start = node.start
        return self.source_of(start)[start.offset : node.end.offset].decode("utf-8", "replace")

    def declarations(self) -> Iterator[Node]:
        """Declarations at namespace scope of the asked-for file, namespaces and extern "C" blocks opened."""
        stack = list(reversed(self.root.children))
        while stack:
            node = stack.pop()
            if node.kind in (CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL):
                stack.extend(reversed(node.children))
            elif self.is_in_file(node):
                yield node


@functools.lru_cache(maxsize=4096)
def _same(left: Path, right: Path) -> bool:
    return left == right or left.resolve() == right.resolve()


def parse_cuda(path: Path, options: ParseOptions | None = None) -> ParsedUnit:
    """Parse a CUDA source file as nvcc's device side would see it.

    A file with errors is still a unit: look at `errors_between` for the lines of a kernel. Raises
    `FrontendError` when there is nothing to look at (unreadable, empty, binary, or clang gives up).
    """
    source = read_source(path)
    options = with_compile_commands(path, options or ParseOptions())
    if may_exhaust_stack(source):
        refuse_if_fatal(path, (*language_flags(options.standard, options.gpu_arch), *user_flags(options, ())))
    root = options.search_root or repository_root(path)
    unit = _parse_with_repairs(path, path, source, options, root)
    if any(d.is_error and d.path is not None and _same(d.path, path) for d in unit.diagnostics) or (
        unit.recovered.declared
    ):
        for candidate in including_units(path.resolve(), root.resolve())[:2]:
            whole = _parse_with_repairs(candidate, path, source, options, root)
            if _badness(whole) < _badness(unit) and any(True for _ in whole.declarations()):
                unit = whole
    return unit


def _badness(unit: ParsedUnit) -> tuple[int, int]:
    """Errors in the asked-for file, then names made up: the reading with less of both is the better one."""
    errors = sum(d.is_error and d.path is not None and _same(d.path, unit.path) for d in unit.diagnostics)
    return (errors, len(unit.recovered.declared))


@dataclass(frozen=True, slots=True)
class _HeaderSearch:
    """Folders found so far for headers that no include folder has; our fallback headers come last."""

    source: Path
    root: Path
    folders: list[Path]
    asked: list[str]

    def look_for(self, names: Iterable[str]) -> bool:
        """Search for names not asked for before; whether there is a new folder."""
        before = len(self.folders)
        for name in names:
            if name in self.asked:
                continue
            self.asked.append(name)
            folder = find_header(name, self.source, self.root)
            if folder is None and (FALLBACK_STUBS / name).is_file():
                folder = FALLBACK_STUBS
            if folder is not None and folder not in self.folders:
                self.folders.append(folder)
        return len(self.folders) > before

    def flags(self) -> tuple[Path, ...]:
        """The folders in the order to search them in."""
        return tuple(sorted(self.folders, key=lambda folder: folder == FALLBACK_STUBS))


def _unknown(
    complaints: tuple[ParseDiagnostic, ...], declared: tuple[Undeclared, ...]
) -> tuple[Undeclared, ...]:
    known = {entry.name for entry in declared}
    return tuple(entry for entry in undeclared_names(complaints) if entry.name not in known)


def _has_include(name: str, file: Path, options: ParseOptions) -> bool:
    return any((folder / name).is_file() for folder in (file.parent, *options.include_dirs, STUBS))


def _parse_with_repairs(
    file: Path, asked: Path, source: bytes, options: ParseOptions, root: Path
) -> ParsedUnit:
    search = _HeaderSearch(file.resolve(), root.resolve(), [], [])
    # What the file itself includes is looked for beforehand: that saves a parse of every second file.
    own = source if file == asked else text_of(file)
    search.look_for(name for name in included_names(own) if not _has_include(name, file, options))
    declared: tuple[Undeclared, ...] = ()
    handle = _parse(file, options, search.flags(), declared)
    complaints = diagnostics_of(handle)
    for _ in range(_MOST_INCLUDE_ROUNDS):
        if not search.look_for(missing_includes(complaints)):
            break
        handle = _parse(file, options, search.flags(), declared)
        complaints = diagnostics_of(handle)
    for _ in range(_MOST_DECLARE_ROUNDS):
        new = _unknown(complaints, declared)
        if not new:
            break
        declared = (*declared, *new)
        handle = _parse(file, options, search.flags(), declared)
        complaints = diagnostics_of(handle)
    recovered = Recovered(
        declared,
        tuple(dict.fromkeys(missing_includes(complaints))),
        tuple(folder for folder in search.folders if folder != FALLBACK_STUBS),
        None if file == asked else file,
    )
    return ParsedUnit(asked, source, complaints, recovered, handle)


def _parse(
    file: Path, options: ParseOptions, extra_dirs: tuple[Path, ...], declared: tuple[Undeclared, ...]
) -> UnitHandle:
    flags = (*language_flags(options.standard, options.gpu_arch), *user_flags(options, extra_dirs))
    made_up = ((AUTO_DECLARED_FILE, declarations(declared)),) if declared else ()
    include = tuple(f"-include{name}" for name, _ in made_up)
    pch = prelude_pch(options.standard, options.gpu_arch) if options.use_pch else None
    if pch is not None:
        handle = raw_parse(file, (*flags, "-include-pch", str(pch), *include), KEEP_GOING, made_up)
        if handle is not None and not _pch_refused(handle, pch):
            return handle
    handle = raw_parse(file, (*flags, f"-include{PRELUDE}", *include), KEEP_GOING, made_up)
    if handle is None:
        raise FrontendError(
            file, None, "clang gave up on this file", "check that it compiles; simplify very deep nesting"
        )
    return handle


def _pch_refused(handle: UnitHandle, pch: Path) -> bool:
    """Whether clang complained about the PCH itself (truncated, or flags that contradict it)."""
    return any(
        d.is_error and ("PCH" in d.message or "precompiled" in d.message or pch.name in d.message)
        for d in diagnostics_of(handle)
    )
