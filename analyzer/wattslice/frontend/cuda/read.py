"""CUDA source files: parse with libclang, lower into the intermediate representation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from wattslice.errors import FrontendError
from wattslice.frontend.inputs import Search, file_bytes, note_search
from wattslice.frontend.parse_options import DEFAULT_C_STANDARD, ParseOptions
from wattslice.ir import Program

if TYPE_CHECKING:
    from wattslice.frontend.cuda.clang.session import ParsedUnit
    from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions


def read_cuda(
    path: Path,
    options: ParseOptions | None = None,
    source: bytes | None = None,
    earlier: LoweredFunctions | None = None,
) -> Program:
    """Read a CUDA file: kernels inlined and instantiated, and the host functions around their launches.

    `source`: its bytes where they are newer than the disk (a text in an editor), None: what is on the disk.
    `earlier`: what is remembered of earlier texts of the file; what has not changed is taken from there.

    Raises `FrontendError` when nothing of the file can be understood; anything less is a diagnostic of the
    program (PW001 parse problem, PW002 include not found, PW005 call without body, PW006 unsupported
    construct, PW099 internal error), and the rest of the file is still there.
    """
    from wattslice.frontend.cuda.clang.session import parse_cuda
    from wattslice.frontend.cuda.lowering.program import lower_program

    return lower_program(parse_cuda(path, options, source), earlier)


# ---------------------------------------------------------------------------
# Host code beside a CUDA file: the files whose functions call into it, for the arguments they pass.


SUFFIXES = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c", ".C"})
MAX_SCANNED = 200
MAX_PARSED = 3
_BESIDE = 3
"""The distance of folders beside that of a file (`_near`)."""
MAX_BYTES = 1 << 20


class CallerProgram(Struct, frozen=True):
    """The host code of one file, None where it cannot be read, and the `files` that it was read from."""

    program: Program | None
    files: tuple[Path, ...]


def caller_files(path: Path, names: frozenset[str]) -> tuple[Path, ...]:
    """Source files near `path` that mention a function of `names`; those with a `main` first."""
    callers = _mentioning(path, names, _near(path.resolve().parent), may_be_own=True) if names else ()
    if names:
        note_search(Search.CALLERS, path, tuple(sorted(names)), callers)
    return callers


def _defining(names: frozenset[str]) -> re.Pattern[bytes]:
    """What a definition of one of `names` looks like."""
    words = b"|".join(re.escape(name.encode()) for name in sorted(names))
    begin = rb"^(?!\s*(?:extern\b(?!\s*\")|return\b|else\b|#))[ \t]*[A-Za-z_][\w:<>,&*\s\"]{1,80}?[\s&*]"
    old = rb"(?:\w[\w\s*,]{0,200};\s*){0,12}"  # the types of parameters, as C once had them
    body = rb"\([^;{}]{0,600}\)\s*(?:const\s*|noexcept\s*|" + old + rb")\{"
    value = rb"(?:\[[^\]\n]{0,80}\]\s*)*[=;{]"
    untyped = rb"^(?:%s)\s*%s" % (words, body)  # of C, where that is int
    return re.compile(rb"%s(?:%s)\s*(?:%s|%s)|%s" % (begin, words, body, value, untyped), re.M)


def definition_files(path: Path, names: frozenset[str]) -> tuple[Path, ...]:
    """Source files near `path` that define a function or variable of `names`, which others only declare."""
    defines = _defining(names)
    found = _mentioning(path, names, islice(_near(path.resolve().parent), 3), defines, is_call=False)
    note_search(Search.DEFINITIONS, path, tuple(sorted(names)), found)
    return found


def launcher_files(path: Path, kernels: frozenset[str]) -> tuple[Path, ...]:
    """Source files near `path` that include a file of its name and may launch one of `kernels`."""
    name = re.escape(os.fsencode(path.name))
    includes = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:[^>\"\n]*[/\\])?" + name + rb"[>\"]", re.M)
    near = islice(_near(path.resolve().parent), _BESIDE + 1)
    launchers = _mentioning(path, kernels, near, includes)
    note_search(Search.LAUNCHERS, path, tuple(sorted(kernels)), launchers)
    return launchers


def _mentioning(
    path: Path,
    names: frozenset[str],
    near: Iterable[Iterable[Path]],
    also: re.Pattern[bytes] | None = None,
    *,
    is_call: bool = True,
    may_be_own: bool = False,
) -> tuple[Path, ...]:
    """Those near `path` that name one of `names`; `may_be_own`: its own `main`, of what others define."""
    call = re.compile(
        rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\b\s*[(<]"
    )
    main = re.compile(rb"\bmain\s*\(")
    plain = tuple(name.encode() for name in names)  # looking for these is quicker than the expression
    own = path.resolve()
    found: list[tuple[bool, int, Path]] = []
    scanned = 0
    for distance, candidates in enumerate(near):
        if distance == _BESIDE and found:  # what is in the folders beside is another program
            break
        for candidate in candidates:
            if scanned >= MAX_SCANNED:
                break
            resolved = Path(os.path.realpath(candidate))  # of a loop of links, too, where resolve() raises
            if (resolved == own and not may_be_own) or any(resolved == known for *_, known in found):
                continue
            scanned += 1
            try:
                if not resolved.is_file() or resolved.stat().st_size > MAX_BYTES:
                    continue
                data = file_bytes(resolved, MAX_BYTES)
            except OSError:
                continue
            named = any(name in data for name in plain) and (not is_call or call.search(data))
            if resolved == own and (main.search(data) is None or _defining(names).search(data)):
                continue
            if named and (also is None or also.search(data)):
                found.append((main.search(data) is None, distance, resolved))
    return tuple(candidate for *_, candidate in sorted(found)[:MAX_PARSED])


def _near(folder: Path) -> Iterator[Iterator[Path]]:
    """Source files in `folder`, in the folders in it, in the one above, and in those beside it; each sorted.

    Listed as they are asked for: beside a folder there may be thousands. What is above the top of a
    repository belongs to others, and a clone elsewhere would have other neighbours.
    """
    yield _sources_in(folder)
    yield chain.from_iterable(map(_sources_in, _listed(folder)))
    if (folder / ".git").exists():
        return
    yield _sources_in(folder.parent)
    yield chain.from_iterable(map(_sources_in, _listed(folder.parent)))


def _sources_in(folder: Path) -> Iterator[Path]:
    return (folder / name for name in _names_in(folder) if os.path.splitext(name)[1] in SUFFIXES)  # noqa: PTH122


def _listed(folder: Path) -> Iterator[Path]:
    return (folder / name for name in _names_in(folder))


def _names_in(folder: Path) -> list[str]:
    """What is in a folder, sorted; nothing for a file or a folder that may not be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  (a path for each of thousands costs more than the look)
    except OSError:
        return []


def read_callers(
    path: Path, names: frozenset[str], options: ParseOptions | None = None
) -> tuple[Program, ...]:
    """The host functions near `path` that call `names`, with their own callers; never fails."""
    found = (read_caller(caller, names, options) for caller in caller_files(path, names))
    return tuple(caller.program for caller in found if caller.program is not None)


def read_definitions(
    path: Path, names: frozenset[str], options: ParseOptions | None = None
) -> tuple[Program, ...]:
    """The host code near `path` that defines `names`; never fails."""
    found = (read_caller(file, names, options) for file in definition_files(path, names))
    return tuple(caller.program for caller in found if caller.program is not None)


def read_launcher(path: Path, kernels: frozenset[str], options: ParseOptions | None = None) -> Program | None:
    """The host functions of the file that includes `path` and launches its `kernels`; never fails."""
    return first_launcher(path, kernels, lambda file: read_caller(file, kernels, options))


def first_launcher(
    path: Path, kernels: frozenset[str], read: Callable[[Path], CallerProgram]
) -> Program | None:
    """The first of `launcher_files` that is found to include this very file."""
    own = path.resolve()
    for file in launcher_files(path, kernels):
        caller = read(file)
        if caller.program is not None and any(included.resolve() == own for included in caller.files[1:]):
            return caller.program
    return None


def _errors(parsed: ParsedUnit) -> int:
    return sum(entry.is_error for entry in parsed.diagnostics)


def read_caller(caller: Path, names: frozenset[str], options: ParseOptions | None = None) -> CallerProgram:
    """The host functions of one file that call `names`; never fails."""
    from wattslice.frontend.cuda.clang.session import parse_cuda
    from wattslice.frontend.cuda.lowering.program import lower_host_code

    try:
        options = replace(options or ParseOptions(), compile_commands=None)
        parsed = parse_cuda(caller, options)
        if caller.suffix == ".c" and _errors(parsed):  # C that is no C++
            for standard in (DEFAULT_C_STANDARD, "gnu89"):
                plain = parse_cuda(caller, replace(options, standard=standard))
                parsed = min(parsed, plain, key=_errors)
        return CallerProgram(lower_host_code(parsed, names), (caller, *parsed.included_files))
    except (FrontendError, RecursionError):
        return CallerProgram(None, (caller,))
