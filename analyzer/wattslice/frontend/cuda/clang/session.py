"""From a path to a parsed unit: the file itself, or the file that it is a fragment of.

A file is parsed until nothing more can be repaired: includes searched for, undeclared names declared.
"""

from __future__ import annotations

import contextlib
import ctypes as ct
import functools
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from wattslice.errors import AbandonedError, FrontendError
from wattslice.frontend.cuda.clang.cursors import Node, Type
from wattslice.frontend.cuda.clang.diagnostics import (
    AUTO_DECLARED_FILE,
    ParseDiagnostic,
    Undeclared,
    declarations,
    diagnostics_of,
    missing_includes,
    undeclared_names,
    with_members,
)
from wattslice.frontend.cuda.clang.flags import (
    C_PRELUDE,
    FALLBACK_STUBS,
    FOLLOWED,
    KEEP_GOING,
    PRELUDE,
    STUBS,
    as_asked,
    is_c,
    language_flags,
    user_flags,
    with_build_flags,
    with_compile_commands,
)
from wattslice.frontend.cuda.clang.guards import as_clang_reads, check_source, may_exhaust_stack, read_source
from wattslice.frontend.cuda.clang.kinds import CursorKind, TypeKind
from wattslice.frontend.cuda.clang.libclang import INCLUSION_VISITOR, Place, UnitHandle, library, place_of
from wattslice.frontend.cuda.clang.macro_sizes import MacroSizes
from wattslice.frontend.cuda.clang.parse import ParseAbandonedError, budget_clock, prelude_pch, raw_parse
from wattslice.frontend.inputs import (
    is_recording,
    note_file,
    note_text,
    note_unrepeatable,
    open_texts,
    repository_root,
)
from wattslice.frontend.parse_options import ParseOptions
from wattslice.frontend.source_files import SourceFiles, find_header, included_names, including_units
from wattslice.patterns import regex


def parse_cuda(path: Path, options: ParseOptions | None = None, source: bytes | None = None) -> ParsedUnit:
    """Parse a CUDA source file as nvcc's device side would see it; `source` None: what is on the disk.

    A file with errors is still a unit: `diagnostics` name the lines. Raises
    `FrontendError` when there is nothing to look at: unreadable, empty, binary, or clang gives up, would
    crash, or takes longer than 6 s.
    """
    if source is None:
        source = read_source(path)
    check_source(path, source)
    options = options or ParseOptions()
    if options.compile_commands is None:
        options = with_build_flags(path, options)
    else:
        options = with_compile_commands(path, options)
    files = SourceFiles(options.search_root or repository_root(path), path, source)
    clock = Clock()
    unit = parse_with_repairs(path, path, source, options, files, clock)
    if any(_badness(unit)) and clock.allows_repairs:
        for candidate in including_units(path.resolve(), files)[:2]:
            try:
                whole = parse_with_repairs(candidate, path, source, options, files, clock)
            except FrontendError:
                continue
            if _badness(whole) < _badness(unit) and any(True for _ in whole.declarations()):
                unit = whole
    return unit


@functools.lru_cache(maxsize=2)
def _words(source: bytes) -> frozenset[bytes]:
    return frozenset(re.findall(rb"\w+", source))


_TEMPLATE_KERNEL = regex(rb"\btemplate\b[^;{}]*\b__global__\b")


def _badness(unit: ParsedUnit) -> tuple[int, int, int]:
    """Errors in the asked-for file, then names of it made up, then template kernels of it without an
    instance: the reading with less of these is the better.
    """
    errors = sum(
        d.is_error and d.path is not None and unit.files.is_same(d.path, unit.path) for d in unit.diagnostics
    )
    made_up = sum(entry.name.encode() in _words(unit.source) for entry in unit.recovered.declared)
    if not _TEMPLATE_KERNEL.search(unit.source):
        return errors, made_up, 0
    functions = list(unit.declarations())
    templates = (node for node in functions if node.kind == CursorKind.FUNCTION_TEMPLATE)
    patterns = {
        node.canonical.raw.data0
        for node in templates
        if CursorKind.CUDAGLOBAL_ATTR in {child.kind for child in node.children}
    }
    instances = (node.template for node in functions if node.kind == CursorKind.FUNCTION_DECL)
    lone = patterns - {template.canonical.raw.data0 for template in instances if template is not None}
    return errors, made_up, len(lone)


# ---------------------------------------------------------------------------
# One file parsed until nothing more can be repaired: includes searched for, undeclared names declared.


_MOST_INCLUDE_ROUNDS = 4
_MOST_DECLARE_ROUNDS = 3
_MOST_HEADERS = 1_000
_PARSE_BUDGET_S = 6.0
# A parse that took longer is not repeated for repairs.
_REPAIR_BUDGET_S = 2.0


_MAY_GROW = regex(rb'\btemplate\b|\bconstexpr\b|#\s*include\s*"')
_tried: set[Path] = set()
"""Files that were parsed in a process of their own, for those who are wary."""


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


class _HeaderSearch(Struct, frozen=True):
    """Folders found so far for headers that no include folder has; our fallback headers come last.

    `source`: the file as it is named. `joined`: headers that clang has to see otherwise than they are
    (`as_clang_reads`).
    """

    source: Path
    files: SourceFiles
    folders: list[Path] = field(default_factory=list[Path])
    asked: list[str] = field(default_factory=list[str])
    joined: list[tuple[Path, bytes]] = field(default_factory=list[tuple[Path, bytes]])

    def look_for(self, names: Iterable[str]) -> bool:
        """Search for names not asked for before; whether there is a new folder."""
        before = len(self.folders)
        for name in names:
            if name in self.asked:
                continue
            self.asked.append(name)
            found = find_header(name, self.source.resolve(), self.files)
            folder = None if found is None else as_asked(found, self.source)
            if folder is None and os.path.isfile(FALLBACK_STUBS / name):  # noqa: PTH113  (a name that is too long is none)
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
    second file. Returns whether one of all these texts may exhaust clang's stack or memory.
    """
    suspicious = may_exhaust_stack(own)
    macros = MacroSizes(own)
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
                text = search.files.text_of(header)
                suspicious = suspicious or may_exhaust_stack(text)
                macros.add(text)
                if (joined := as_clang_reads(text)) != text:
                    note_text(header, text)
                    search.joined.append((header, joined))
                waiting.append((header, search.files.included_by(header)))
    return suspicious or macros.may_exhaust()


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
    return os.path.isfile(STUBS / name)  # noqa: PTH113  (a name that is too long is none)


def parse_with_repairs(
    file: Path, asked: Path, source: bytes, options: ParseOptions, files: SourceFiles, clock: Clock
) -> ParsedUnit:
    """Parse `file` for the sake of `asked` (which it is, or includes), whose bytes are `source`.

    Raises `FrontendError` when clang gives up, would crash, or takes too long.
    """
    search = _HeaderSearch(file, files)
    own = files.text_of(file)
    # What is known of the texts is given from memory: they may change on the disk, or be newer than it.
    unsaved = ((file, as_clang_reads(own)),)
    if file != asked:
        unsaved = (*unsaved, (asked.resolve(), as_clang_reads(source)))
    own_names = (file.resolve(), asked.resolve())
    unsaved += tuple((name, as_clang_reads(text)) for name, text in open_texts() if name not in own_names)
    is_wary = options.is_wary and file not in _tried and _MAY_GROW.search(own) is not None
    if _look_ahead(file, own, options, search) or is_wary:
        from wattslice.frontend.cuda.clang.probe import refuse_if_fatal

        _tried.add(file)
        flags = (*language_flags(options.standard, options.gpu_arch), *user_flags(options, search.flags()))
        refuse_if_fatal(file, (*flags, f"-include{prelude_of(options)}"), unsaved)
    given = {name for name, _ in unsaved}
    unsaved += tuple((name, text) for name, text in search.joined if name.resolve() not in given)
    declared: tuple[Undeclared, ...] = ()
    handle, complaints = _parse_with(file, unsaved, options, search.flags(), declared, clock)
    for _ in range(_MOST_INCLUDE_ROUNDS):
        missing = missing_includes(complaints)
        if not (missing and clock.allows_repairs and search.look_for(missing)):
            break
        handle, complaints = _parse_with(file, unsaved, options, search.flags(), declared, clock)
    for _ in range(0 if is_c(options.standard) else _MOST_DECLARE_ROUNDS):
        wanted = (*with_members(declared, complaints, own), *_unknown(complaints, declared, files))
        if wanted == declared or not clock.allows_repairs:
            break
        declared = wanted
        handle, complaints = _parse_with(file, unsaved, options, search.flags(), declared, clock)
    note_unit(handle, unsaved, (*options.include_dirs, *search.flags()))
    recovered = Recovered(
        declared,
        tuple(dict.fromkeys(missing_includes(complaints))),
        tuple(folder for folder in search.folders if folder != FALLBACK_STUBS),
        None if file == asked else file,
        _unknown(complaints, declared, files),
    )
    return ParsedUnit(asked, source, options, complaints, recovered, handle, files)


def prelude_of(options: ParseOptions) -> Path:
    """What every file sees before its first line."""
    return C_PRELUDE if is_c(options.standard) else PRELUDE


def _parse_with(
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
    use_pch = options.use_pch and not is_c(options.standard)  # whose prelude is small
    pch = prelude_pch(options.standard, options.gpu_arch) if use_pch else None
    try:
        if pch is not None:
            started = (*flags, "-include-pch", str(pch), *include)
            handle = raw_parse(file, started, KEEP_GOING, unsaved, clock.remaining_s)
            complaints = () if handle is None else diagnostics_of(handle)
            if handle is not None and not _pch_refused(complaints, pch):
                return handle, complaints
        started = (*flags, f"-include{prelude_of(options)}", *include)
        handle = raw_parse(file, started, KEEP_GOING, unsaved, clock.remaining_s)
    except ParseAbandonedError as error:
        note_unrepeatable()
        raise AbandonedError(
            file,
            None,
            str(error) or f"clang does not finish parsing it in {_PARSE_BUDGET_S:g} s",
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


# ---------------------------------------------------------------------------
# What a parse gives: the tree, what was made up for it, and what clang complained about.


class Recovered(Struct, frozen=True):
    """What the parse had to make up or look for: the analyzer must not pass it off as the user's word.

    `declared` names have a made-up declaration: their types and values mean nothing.
    `missing_includes` were found nowhere; `found_includes` are the folders that the search came up with.
    `including_file` is the file that was parsed instead because the asked-for file is a fragment of it.
    `lacking` names have no declaration at all.
    """

    declared: tuple[Undeclared, ...] = ()
    missing_includes: tuple[str, ...] = ()
    found_includes: tuple[Path, ...] = ()
    including_file: Path | None = None
    lacking: tuple[Undeclared, ...] = ()

    @property
    def unknown(self) -> frozenset[str]:
        """Names that the file uses and does not declare."""
        return frozenset(one.name for one in (*self.declared, *self.lacking))


_WRITTEN_DOWN = frozenset(
    {
        "cub",
        "torch",
        "wattslice_libcudacxx.h",
        "wattslice_cooperative_groups.cuh",
        "cuda_fp8.h",
        "curand_kernel.h",
    }
)


def _visit_inclusion(file: int, _stack: object, _depth: int, sink: list[int]) -> None:
    sink.append(file)


_VISIT_INCLUSION = INCLUSION_VISITOR(_visit_inclusion)


_NAMES = (CursorKind.DECL_REF_EXPR, CursorKind.TYPE_REF, CursorKind.TEMPLATE_REF)


class ParsedUnit(Struct, frozen=True):
    """A file as clang understands it. `path` is the file asked for, `source` its bytes."""

    path: Path
    source: bytes
    options: ParseOptions
    diagnostics: tuple[ParseDiagnostic, ...]
    recovered: Recovered
    handle: UnitHandle
    files: SourceFiles

    @property
    def root(self) -> Node:
        """The TRANSLATION_UNIT node."""
        return Node(self.handle, library().clang_getTranslationUnitCursor(self.handle.unit))

    @property
    def included_files(self) -> tuple[Path, ...]:
        """The files that were included, the prelude's and our stubs left out, each once."""
        found: list[int] = []
        library().clang_getInclusions(self.handle.unit, _VISIT_INCLUSION, found)
        paths = dict.fromkeys(path for file in found if (path := self.handle.file_name(file)) is not None)
        return tuple(p for p in paths if not p.is_relative_to(STUBS) and not self.files.is_same(p, self.path))

    def asked_files(self) -> frozenset[Path] | None:
        """Of a fragment: the file itself and what it includes; None for a file that is none: all of them."""
        if self.recovered.including_file is None:
            return None
        found: set[Path] = set()

        def visit(file: int, stack: Any, depth: int, _: object) -> None:  # noqa: ANN401  (CXSourceLocation*)
            path = self.handle.file_name(file)
            way = (place_of(self.handle, stack[level]).path for level in range(depth))
            if path is not None and any(
                p is not None and self.files.is_same(p, self.path) for p in (path, *way)
            ):
                found.add(path)

        library().clang_getInclusions(self.handle.unit, INCLUSION_VISITOR(visit), None)
        return frozenset(found)

    def is_in_file(self, node: Node) -> bool:
        """Whether the node is (used) in the asked-for file, and not in a header, stub or including file."""
        path = node.file
        return path is not None and (
            path == self.path or (path.name == self.path.name and self.files.is_same(path, self.path))
        )

    def is_builtin(self, declaration: Node) -> bool:
        """Whether the prelude or a stub declares it: an intrinsic or library function known by name."""
        path = declaration.file
        return path is None or _is_of_stubs(path)

    def is_written_down(self, declaration: Node) -> bool:
        """Whether it is of a library whose stub says what its device code does (CUB, libcu++, PyTorch)."""
        path = declaration.file
        if path is None or not _is_of_stubs(path):
            return False
        return not _WRITTEN_DOWN.isdisjoint(path.parts[len(STUBS.parts) :])  # cub/block/../cub.cuh too

    def is_made_up(self, declaration: Node) -> bool:
        """Whether the parse itself declared this name because nobody else did."""
        return bool(self.recovered.declared) and declaration.file == AUTO_DECLARED_FILE

    def mentions_made_up(self, node: Node) -> bool:
        """Whether a name that the parse itself declared takes part: its value means nothing."""
        if not self.recovered.declared:
            return False
        targets = (part.referenced for part in node.walk() if part.kind in _NAMES)
        return any(target is not None and self.is_made_up(target) for target in targets)

    def is_of_made_up(self, type_: Type) -> bool:
        """Whether a type that the parse itself declared is a part of this one: its size means nothing."""
        declaration = type_.declaration if self.recovered.declared else None
        if declaration is None:
            return False
        if self.is_made_up(declaration):
            return True
        canonical = type_.canonical
        if canonical.kind == TypeKind.RECORD:
            return any(self.is_of_made_up(field.type) for field in canonical.fields)
        return canonical.kind == TypeKind.CONSTANTARRAY and self.is_of_made_up(type_.element)

    def source_of(self, place: Place) -> bytes:
        """The bytes of the file a place is in; empty for what has no file."""
        if place.path is None:
            return b""
        is_own = self.files.is_same(place.path, self.path)
        return self.source if is_own else self.files.text_of(place.path)

    def declarations(self) -> Iterator[Node]:
        """Declarations at namespace scope of the asked-for file, namespaces and extern "C" blocks opened."""
        stack = list(reversed(self.root.children))
        while stack:
            node = stack.pop()
            if node.kind in (CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL):
                stack.extend(reversed(node.children))
            elif self.is_in_file(node):
                yield node


# ---------------------------------------------------------------------------
# What clang itself read for a unit, and where a header would have been taken instead had there been one.


_ASKED = regex(
    rb'#[ \t]*(?:include|include_next|import)[ \t]*[<"]([^>"\n]+)[>"]'
    rb'|__has_include(?:_next)?[ \t]*\([ \t]*[<"]([^>"\n]+)[>"]'
)
_COMPUTED = regex(rb"#[ \t]*(?:include|include_next|import)[ \t]+[A-Za-z_]|__has_include\w*[ \t]*\([ \t]*\w")


@functools.lru_cache(maxsize=1024)
def _is_of_stubs(path: Path) -> bool:
    return path.is_relative_to(STUBS) and path not in (AUTO_DECLARED_FILE, FOLLOWED)


def _visit_entered(file: int, _stack: object, depth: int, sink: list[int]) -> None:
    if depth:  # else the file itself
        sink.append(file)


_VISIT_ENTERED = INCLUSION_VISITOR(_visit_entered)


def note_unit(handle: UnitHandle, given: tuple[tuple[Path, bytes], ...], folders: tuple[Path, ...]) -> None:
    """Tell (`inputs.py`) which files a unit is made of, but for those whose text was `given` to clang.

    `folders`: where clang searched, the user's and those found, in this order.
    """
    if not is_recording():
        return
    searched = tuple(folder for folder in folders if not folder.is_relative_to(STUBS))
    for path, source in given:
        _note_names(source, path.parent, searched)
    for path, data in _entered(handle):
        if any(path == known for known, _ in given):
            continue
        stub = _stub_name(path)
        if stub is None:
            note_text(path, data)
            _note_names(data, path.parent, searched)
        else:  # a header of this name in a folder of the user comes before ours
            for folder in searched:
                _note_place(folder / stub)


def _entered(handle: UnitHandle) -> list[tuple[Path, bytes]]:
    """The files that clang included, with the bytes it saw."""
    found: list[int] = []
    library().clang_getInclusions(handle.unit, _VISIT_ENTERED, found)
    entered: list[tuple[Path, bytes]] = []
    for file in dict.fromkeys(found):
        path, size = handle.file_name(file), ct.c_size_t()
        address: int | None = library().clang_getFileContents(handle.unit, file, ct.byref(size))
        if path is not None:
            entered.append((path, ct.string_at(address, size.value) if address else b""))
    return entered


def _stub_name(path: Path) -> Path | None:
    """How one of our own headers is included; None for any other file."""
    for folder in (FALLBACK_STUBS, STUBS):
        if path.is_relative_to(folder):
            return path.relative_to(folder)
    return None


def _note_names(source: bytes, folder: Path, searched: tuple[Path, ...]) -> None:
    """Every place where a header that the text asks for is, or might come to be."""
    if any(_begins_line(source, m.start()) or m[0].startswith(b"__") for m in _COMPUTED.finditer(source)):
        note_unrepeatable()  # a name that macros make: nobody knows where it was looked for
    for asked in _ASKED.finditer(source):
        name = (asked[1] or asked[2]).decode("utf-8", "replace")
        for place in (folder, *searched):
            _note_place(place / name)


def _begins_line(source: bytes, position: int) -> bool:
    return not source[source.rfind(b"\n", 0, position) + 1 : position].strip(b" \t")


def _note_place(path: Path) -> None:
    try:
        note_file(path, path.is_file())
    except OSError:  # a name too long for the file system
        note_unrepeatable()
