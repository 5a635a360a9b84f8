"""The CUDA source that a PTX file was compiled from: it launches the kernels, and names their parameters.

`nvcc -lineinfo` writes the paths of the sources into the PTX (`.file`). Where such a file lies there, or
under its name beside the PTX, it is read. Nothing of it is trusted for a kernel whose parameters are others
there.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wattslice.errors import FrontendError
from wattslice.frontend.cuda.callers import launcher_files
from wattslice.frontend.inputs import note_unrepeatable
from wattslice.frontend.ptx.files import SUFFIXES
from wattslice.frontend.ptx.lowering.context import Unit
from wattslice.frontend.ptx.lowering.names import demangled
from wattslice.frontend.ptx.syntax.syntax import Function, Parameter
from wattslice.ir import Kernel, Program, Severity, TypeKind

if TYPE_CHECKING:
    from wattslice.frontend.cuda.clang.flags import ParseOptions

MAX_READ = 4
"""Files read at most in search of the one that launches the kernels."""

_CHECKOUT_NS = 10_000_000_000
"""Files written within this time may be those of one checkout or copy, whose order says nothing."""


def read_origin(unit: Unit, options: ParseOptions | None = None) -> Program | None:
    """The program that `unit` was compiled from, None where no source is found.

    Its kernels are those that fit the kernels of the PTX; they are also `unit.originals`. What does not fit,
    and a source that was changed since, is a note of `unit` (PW061).
    """
    entries = {f.name: f for f in unit.module.functions if f.is_entry and f.body is not None}
    sources = _sources(unit)
    if not entries or not sources:
        return None
    program = _best(unit, sources, frozenset(entries), options)
    if program is None:
        return None
    _report_newer(unit, sources)
    written = _kernels(program)
    compiled = {_as_written(name) for name in entries}
    namesakes = {k.qualified_name: k for mangled, k in written.items() if mangled not in compiled}
    missing: list[str] = []
    for name, function in entries.items():
        kernel = written.get(_as_written(name))
        if kernel is None:
            names = demangled(name)
            namesake = namesakes.get(names.qualified)
            if namesake is None:
                missing.append(names.qualified)
            else:
                _report_other(unit, program, function, namesake)
        elif _difference(function, kernel) is None:
            unit.originals[name] = kernel
        else:
            _report_other(unit, program, function, kernel)
    if missing:
        message = f"not found in {program.file}: {', '.join(missing)}; nothing is taken from there"
        unit.report("PW061", Severity.NOTE, 0, message)
    return replace(program, kernels=tuple(unit.originals.values()))


def _report_other(unit: Unit, program: Program, function: Function, kernel: Kernel) -> None:
    difference = _difference(function, kernel) or "of other types"
    message = f"'{kernel.name}' has other parameters in {program.file} ({difference})"
    unit.report("PW061", Severity.NOTE, function.line, f"{message}: nothing is taken from there")


def _sources(unit: Unit) -> tuple[Path, ...]:
    """The sources that are there, those first that nvcc is given."""
    found: dict[Path, None] = {}
    for number, file in unit.files.items():
        path = Path(file)
        if number not in unit.foreign and path.suffix.lower() in SUFFIXES and os.path.isfile(path):  # noqa: PTH113
            found[path] = None
    return tuple(sorted(found, key=lambda path: path.suffix.lower() != ".cu"))


def _best(
    unit: Unit, sources: tuple[Path, ...], entries: frozenset[str], options: ParseOptions | None
) -> Program | None:
    """The source with the most of the kernels, of several the one with host code that launches them."""
    best: Program | None = None
    best_rank = (0, False)
    waiting = list(sources)
    asked: set[Path] = set()
    while waiting and len(asked) < MAX_READ:
        path = waiting.pop(0)
        asked.add(path)
        program = _read(path, options)
        if program is None:
            continue
        kernels = _kernels(program)
        missing = {name for name in entries if _as_written(name) not in kernels}
        rank = (len(entries) - len(missing), bool(program.functions))
        if best is None or rank > best_rank:
            best, best_rank = program, rank
        if best_rank == (len(entries), True):
            break
        # A program of several files is the one that includes them; so are templates what it makes of them.
        names = frozenset(demangled(name).plain for name in missing)
        others = launcher_files(path, names) if names else ()
        waiting[:0] = [file for file in others if file not in asked and file not in waiting]
    return best


def _read(path: Path, options: ParseOptions | None) -> Program | None:
    from wattslice.frontend.cuda.read import read_cuda

    try:
        return read_cuda(path, options)
    except (FrontendError, RecursionError):
        return None


def _report_newer(unit: Unit, sources: tuple[Path, ...]) -> None:
    """Says when a source was changed after the PTX was made."""
    try:
        made = unit.path.stat().st_mtime_ns
        newer = [str(path) for path in sources if path.stat().st_mtime_ns > made + _CHECKOUT_NS]
    except OSError:
        return
    if newer:
        note_unrepeatable()  # the next compilation may give the same text, and then this holds no more
        verb = "is" if len(newer) == 1 else "are"
        message = f"{', '.join(newer)} {verb} newer than the PTX: launches are read as they stand there now"
        unit.report("PW061", Severity.NOTE, 0, f"{message} (compile again)")


def _kernels(program: Program) -> dict[str, Kernel]:
    """Those that could be read at all."""
    read = (kernel for kernel in program.kernels if kernel.body_is_complete or kernel.body.statements)
    return {_as_written(kernel.mangled_name): kernel for kernel in read}


def _as_written(mangled: str) -> str:
    """A mangled name without what says `static` (`_ZL4stat`) and which file (`_GLOBAL__N__91f2`)."""
    if not mangled.startswith("_Z"):
        return mangled
    found = _ANONYMOUS.search(mangled)
    while found is not None:
        end = found.start("name") + int(found["length"])
        mangled = f"{mangled[: found.start()]}@{mangled[end:]}"
        found = _ANONYMOUS.search(mangled)
    return _INTERNAL.sub("", mangled)


_ANONYMOUS = re.compile(r"(?P<length>\d+)(?P<name>_GLOBAL__N_)")
_INTERNAL = re.compile(r"L(?=\d)")


def _difference(function: Function, kernel: Kernel) -> str | None:
    """How the parameters of a kernel are others than in its source; None where they can be the same."""
    compiled, written = function.parameters, kernel.parameters
    if len(compiled) != len(written):
        return f"{len(written)}, here {len(compiled)}"
    for mine, theirs in zip(compiled, written, strict=True):
        size, expected = mine.size_bytes, theirs.type.size_bytes
        if size is not None and expected and size != expected:
            return f"{theirs.name} is of {expected} bytes, here of {size}"
        known = _is_float(mine) is not None and not mine.dimensions and theirs.type.kind in _NUMBERS
        if known and _is_float(mine) != theirs.type.is_float:
            return f"{theirs.name} is {'a' if theirs.type.is_float else 'no'} floating-point number"
    return None


_NUMBERS = (TypeKind.INT, TypeKind.BOOL, TypeKind.FLOAT, TypeKind.POINTER)


def _is_float(parameter: Parameter) -> bool | None:
    """None for types of bits, which may be either."""
    return None if parameter.type.startswith("b") else parameter.type.startswith("f")
