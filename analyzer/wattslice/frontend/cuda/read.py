"""CUDA source files: parse with libclang, lower into the intermediate representation."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice.errors import FrontendError
from wattslice.frontend.inputs import Inputs, Recording, digest_of_text, file_bytes, note_inputs, recorded
from wattslice.frontend.neighbours import (
    as_asked,
    caller_files,
    definition_files,
    launcher_files,
    linking_files,
    plain_names,
    sharing_files,
)
from wattslice.frontend.parse_options import DEFAULT_C_STANDARD, ParseOptions
from wattslice.frontend.surroundings import Surroundings
from wattslice.ir import Program, forget_listed

if TYPE_CHECKING:
    from wattslice.frontend.cuda.clang.session import ParsedUnit
    from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions
    from wattslice.frontend.cuda.lowering.unit import Unit


def read_cuda(
    path: Path,
    options: ParseOptions | None = None,
    source: bytes | None = None,
    earlier: LoweredFunctions | None = None,
    wanted: frozenset[str] = frozenset(),
) -> Program:
    """Read a CUDA file: kernels inlined and instantiated, and the host functions around their launches.

    `source`: its bytes where they are newer than the disk (a text in an editor), None: what is on the disk.
    `earlier`: what is remembered of earlier texts of the file; what has not changed is taken from there.
    `wanted`: instances of templates to be followed however many there are, by their mangled names.

    Raises `FrontendError` when nothing of the file can be understood; anything less is a diagnostic of the
    program (PW001 parse problem, PW002 include not found, PW005 call without body, PW006 unsupported
    construct, PW099 internal error), and the rest of the file is still there.
    """
    from wattslice.frontend.cuda.clang.session import parse_cuda
    from wattslice.frontend.cuda.lowering.program import lower_program, program_of

    options = options or ParseOptions()
    if source is not None:
        return lower_program(parse_cuda(path, options, source), earlier, wanted)
    for known in _units.values():
        if known.is_analysed:
            known.unit = None  # its kernels are large, and not asked for again
    forget_listed()
    reading = _reading_of(_read_once(path, options, parse_cuda))
    if earlier is not None:
        return lower_program(reading.parsed, earlier, wanted)
    reading.unit, reading.is_analysed = None, True  # its diagnostics are those of what was lowered before
    return reading.made(lambda unit: program_of(unit, None, wanted))


# ---------------------------------------------------------------------------
# Host code beside a CUDA file: the files whose functions call into it, for the arguments they pass.


class CallerProgram(Struct, frozen=True):
    """The host code of one file, None where it cannot be read, and the `files` that it was read from."""

    program: Program | None
    files: tuple[Path, ...]


def read_callers(
    path: Path, names: frozenset[str], options: ParseOptions | None = None, around: Surroundings | None = None
) -> tuple[Program, ...]:
    """The host functions near `path` that call `names`, with their own callers; never fails."""
    return _read_all(caller_files(path, names, around), names, options, path)


def read_definitions(
    path: Path,
    names: frozenset[str],
    options: ParseOptions | None = None,
    around: Surroundings | None = None,
    *,
    own: Path | None = None,
) -> tuple[Program, ...]:
    """The host code near `path` that defines `names`, for the file `own` if not for it; never fails."""
    return _read_all(definition_files(path, names, around), names, options, own or path)


def read_linking(
    path: Path,
    kernels: frozenset[str],
    options: ParseOptions | None = None,
    around: Surroundings | None = None,
) -> tuple[Program, ...]:
    """The host code near `path` that may launch its `kernels` without including it; never fails."""
    return _read_all(linking_files(path, kernels, around), kernels, options, path)


def read_sharing(
    path: Path, names: frozenset[str], options: ParseOptions | None = None, around: Surroundings | None = None
) -> tuple[Program, ...]:
    """The host code near `path` that calls and launches some of `names` as it does; never fails."""
    return _read_all(sharing_files(path, names, around), plain_names(names), options, path)


def _read_all(
    files: tuple[Path, ...], names: frozenset[str], options: ParseOptions | None, own: Path
) -> tuple[Program, ...]:
    found = (read_caller(as_asked(file, own), names, options) for file in files)
    return tuple(caller.program for caller in found if caller.program is not None)


def read_launcher(
    path: Path,
    kernels: frozenset[str],
    options: ParseOptions | None = None,
    around: Surroundings | None = None,
) -> Program | None:
    """The host functions of the file that includes `path` and launches its `kernels`; never fails."""
    return first_launcher(path, kernels, lambda file: read_caller(file, kernels, options), around)


def first_launcher(
    path: Path,
    kernels: frozenset[str],
    read: Callable[[Path], CallerProgram],
    around: Surroundings | None = None,
) -> Program | None:
    """The first of `launcher_files` that is found to include this very file."""
    own = path.resolve()
    for file in launcher_files(path, kernels, around):
        caller = read(file)
        if caller.program is not None and any(included.resolve() == own for included in caller.files[1:]):
            return caller.program
    return None


def read_caller(caller: Path, names: frozenset[str], options: ParseOptions | None = None) -> CallerProgram:
    """The host functions of one file that call `names`; never fails."""
    try:
        parsed = _read_once(caller, replace(options or ParseOptions(), compile_commands=None), _parse_caller)
        return CallerProgram(_lowered_once(parsed, names), (caller, *parsed.included_files))
    except (FrontendError, RecursionError):
        return CallerProgram(None, (caller,))


# ---------------------------------------------------------------------------
# A CUDA file, about which its own host code may ask again, and the files beside it: those of its folder have
# the same ones, and ask about them in turn.


_MOST_UNITS = 5
_units: dict[tuple[str, Path, ParseOptions], _Reading] = {}
"""The last files read, the latest last, each in the folder from which its path and options are."""


@atexit.register  # libclang is gone when modules are taken apart
def forget() -> None:
    """The next file is read as by a process that has read none."""
    _units.clear()


class _Reading(Struct):
    """What a file was read as, and from what; its host code that calls some names, by these.

    `unit`: what lowering that knows of the file, with its kernels where it `is_analysed`.
    `besides`: what it was made of, but for the `inputs`.
    """

    parsed: ParsedUnit
    inputs: Inputs
    lowered: dict[frozenset[str], Program] = {}
    unit: Unit | None = None
    is_analysed: bool = False
    besides: Recording = field(default_factory=Recording)

    def made(self, lower: Callable[[Unit], Program]) -> Program:
        """What `lower` makes of it, which finds what was lowered of it before."""
        from wattslice.frontend.cuda.lowering.unit import Unit

        with recorded() as recording:
            unit, self.unit = self.unit or Unit(self.parsed), None  # which is of no use if this breaks off
            found = lower(unit)
            self.unit = unit
        self.besides.all_of(recording.inputs)
        note_inputs(recording.inputs)
        return found

    def holds(self) -> bool:
        """Whether it would be read so again."""
        return (
            all(_digest(text.path) == text.sha256 for text in self.inputs.texts)
            and all(os.path.isfile(path) for path in self.inputs.present)  # noqa: PTH113
            and not any(os.path.isfile(path) for path in self.inputs.absent)  # noqa: PTH113
        )


def _digest(path: str) -> str:
    """Of what the file has now; of nothing if it cannot be read."""
    try:
        return digest_of_text(file_bytes(Path(path)))
    except OSError:
        return digest_of_text(b"")


def _read_before(path: Path, options: ParseOptions) -> ParsedUnit | None:
    """The file as it was read a moment ago, where nothing has changed since."""
    key = os.getcwd(), path, options  # noqa: PTH109
    known = _units.pop(key, None)
    if known is None or not known.holds():
        return None
    _units[key] = known
    note_inputs(known.inputs)
    return known.parsed


def _errors(parsed: ParsedUnit) -> int:
    return sum(entry.is_error for entry in parsed.diagnostics)


def _parse_caller(caller: Path, options: ParseOptions) -> ParsedUnit:
    """The file as C++, or as the C that it rather is. Raises `FrontendError` as `parse_cuda` does."""
    from wattslice.frontend.cuda.clang.session import parse_cuda

    parsed = parse_cuda(caller, options)
    for standard in (DEFAULT_C_STANDARD, "gnu89") if caller.suffix == ".c" else ():
        if not _errors(parsed):
            break
        parsed = min(parsed, parse_cuda(caller, replace(options, standard=standard)), key=_errors)
    return parsed


def _read_once(
    path: Path, options: ParseOptions, parse: Callable[[Path, ParseOptions], ParsedUnit]
) -> ParsedUnit:
    """The file, parsed only where it is not remembered. Raises `FrontendError` as `parse_cuda` does."""
    if (known := _read_before(path, options)) is not None:
        return known
    with recorded() as recording:
        parsed = parse(path, options)
    inputs = recording.inputs
    note_inputs(inputs)
    if inputs is not None:
        while len(_units) >= _MOST_UNITS:
            del _units[next(iter(_units))]
        _units[os.getcwd(), path, options] = _Reading(parsed, inputs)  # noqa: PTH109
    return parsed


def _reading_of(parsed: ParsedUnit) -> _Reading:
    nobodys = _Reading(parsed, Inputs((), (), (), ()))
    return next((known for known in _units.values() if known.parsed is parsed), nobodys)


def _lowered_once(parsed: ParsedUnit, names: frozenset[str]) -> Program:
    """The host code that calls `names`, lowered only where another file has not asked for the same."""
    from wattslice.frontend.cuda.lowering.program import lower_host_code

    reading = _reading_of(parsed)
    if names not in reading.lowered:
        reading.lowered[names] = reading.made(lambda unit: lower_host_code(unit, names))
    note_inputs(reading.besides.inputs)
    return reading.lowered[names]
