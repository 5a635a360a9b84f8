"""Host code beside a CUDA file: the files whose functions call into it, for the arguments they pass.

Many programs keep `main` in a `.cpp` and wrappers around launches in a `.cu`. The sizes then stand in the
other file. Looked at are source files in the folder of the CUDA file, in the folder above and in the folders
beside and below it, never outside the repository; only files that mention a wanted name are parsed, at most
`MAX_PARSED` of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from wattslice.errors import FrontendError
from wattslice.inputs import Search, note_search
from wattslice.ir import Program

if TYPE_CHECKING:
    from wattslice.frontend.clang.flags import ParseOptions

SUFFIXES = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c", ".C"})
MAX_SCANNED = 200
MAX_PARSED = 3
MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CallerProgram:
    """The host code of one file, None where it cannot be read, and the `files` that it was read from."""

    program: Program | None
    files: tuple[Path, ...]


def caller_files(path: Path, names: frozenset[str]) -> tuple[Path, ...]:
    """Source files near `path` that mention a function of `names`; those with a `main` first."""
    if not names:
        return ()
    call = re.compile(
        rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\b\s*[(<]"
    )
    main = re.compile(rb"\bmain\s*\(")
    plain = tuple(name.encode() for name in names)  # looking for these is quicker than the expression
    own = path.resolve()
    found: list[tuple[bool, int, Path]] = []
    scanned = 0
    for distance, candidates in enumerate(_near(own.parent)):
        for candidate in candidates:
            if scanned >= MAX_SCANNED:
                break
            resolved = Path(os.path.realpath(candidate))  # of a loop of links, too, where resolve() raises
            if resolved == own or any(resolved == known for *_, known in found):
                continue
            scanned += 1
            try:
                if not resolved.is_file() or resolved.stat().st_size > MAX_BYTES:
                    continue
                data = resolved.read_bytes()
            except OSError:
                continue
            if any(name in data for name in plain) and call.search(data):
                found.append((main.search(data) is None, distance, resolved))
    callers = tuple(candidate for *_, candidate in sorted(found)[:MAX_PARSED])
    note_search(Search.CALLERS, path, tuple(sorted(names)), callers)
    return callers


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


def read_caller(caller: Path, names: frozenset[str], options: ParseOptions | None = None) -> CallerProgram:
    """The host functions of one file that call `names`; never fails."""
    from wattslice.frontend.clang.flags import ParseOptions
    from wattslice.frontend.clang.session import parse_cuda
    from wattslice.frontend.lowering.program import lower_host_code

    try:
        parsed = parse_cuda(caller, replace(options or ParseOptions(), compile_commands=None))
        return CallerProgram(lower_host_code(parsed, names), (caller, *parsed.included_files))
    except (FrontendError, RecursionError):
        return CallerProgram(None, (caller,))
