"""PTX files, as `nvcc -ptx` writes them, into the same tree as CUDA sources.

Every `.entry` is a kernel. Line information (`nvcc -lineinfo`) makes all that is told of it point into the
CUDA source; without, into the PTX file.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from wattslice import ir
from wattslice.errors import FrontendError
from wattslice.frontend import MOST_KERNELS
from wattslice.frontend.inputs import file_bytes, note_text, note_unrepeatable
from wattslice.frontend.neighbours import launcher_files
from wattslice.frontend.parse_options import ParseOptions
from wattslice.frontend.ptx.lowering.blocks import NotUnderstoodError
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.context import (
    SUFFIXES,
    KernelParameters,
    KernelParts,
    TooLargeError,
    Unit,
    launch_bounds,
)
from wattslice.frontend.ptx.lowering.instructions import lower_instruction
from wattslice.frontend.ptx.lowering.names import Names, demangled
from wattslice.frontend.ptx.lowering.statements import block_of, scoped
from wattslice.frontend.ptx.syntax.parser import parse_ptx
from wattslice.frontend.ptx.syntax.syntax import Function, Instruction, Parameter, SourceLocation
from wattslice.ir import Kernel, Program, Severity, TypeKind
from wattslice.ir.walking import deep_recursion
from wattslice.patterns import regex

MAX_BYTES = 64 << 20


def read_ptx(path: Path, options: ParseOptions | None = None, source: bytes | None = None) -> ir.Program:
    """Read a PTX file; `source` None: what is on the disk. `options`: how to read the CUDA source it names.

    Raises `FrontendError` when it is no PTX; a function that cannot be read is a diagnostic of the program
    (PW060, PW005 for calls that cannot be followed), and the others are still there.
    """
    text = _text(path, source)
    module = parse_ptx(text, path)
    unit = Unit(path, module, moved=None if options is None else options.moved)
    for problem in module.problems:
        message = f"{problem.message} ({problem.remedy})" if problem.remedy else problem.message
        severity = ir.Severity.ERROR if problem.is_entry else ir.Severity.WARNING
        unit.report("PW060", severity, problem.line, message)
    origin = read_origin(unit, options)
    entries = [function for function in module.functions if function.is_entry and function.body is not None]
    if len(entries) > MOST_KERNELS:
        message = f"the file has {len(entries)} kernels: all after the first {MOST_KERNELS} are left out"
        unit.report("PW007", ir.Severity.WARNING, entries[MOST_KERNELS].line, message)
    with deep_recursion():
        kernels = [_kernel(unit, function) for function in entries[:MOST_KERNELS]]
    lost = [p for p in module.problems if p.function is not None and p.is_entry]
    lost = lost[: MOST_KERNELS - len(kernels)]
    kernels += [_lost(unit, problem.function or "", problem.line) for problem in lost]
    return ir.Program(
        str(path),
        tuple(kernels),
        (),
        tuple(unit.variables.values()),
        tuple(dict.fromkeys(unit.diagnostics)),
        ir.numbered_lines(text),
        origin,
    )


def _text(path: Path, source: bytes | None) -> str:
    data = source
    if data is None:
        try:
            data = file_bytes(path)
        except OSError as error:
            raise FrontendError(path, None, f"cannot be read: {error.strerror}", "check the path") from None
        note_text(path, data)
    if len(data) > MAX_BYTES:
        raise FrontendError(path, None, f"{len(data)} bytes of PTX are too many", "split the program")
    if b"\0" in data:
        raise FrontendError(path, None, "this is a binary file", "give the text that nvcc -ptx writes")
    return data.decode("utf-8", "replace")


def _kernel(unit: Unit, function: Function) -> ir.Kernel:
    parameters = KernelParameters(unit, function)
    parts = KernelParts(unit, frozenset(parameter.name for parameter in parameters.variables))
    parts.inlining.append(function.name)
    is_complete = True
    try:
        body = FunctionBody(parts, function, parameters.at, lower_instruction, parameters.settle)
        block = scoped(block_of(body))
    except Exception as error:  # one kernel must not cost the others
        is_complete = False
        line = function.line
        match error:
            case NotUnderstoodError():
                line = error.line or line
                rule, message = "PW060", f"'{function.name}' cannot be structured: {error}"
            case TooLargeError() | RecursionError():
                reason = error if isinstance(error, TooLargeError) else "its statements nest too deeply"
                rule, message = "PW007", f"'{function.name}' is not followed: {reason}"
            case _:
                what = f"{type(error).__name__}: {error}"
                rule, message = "PW099", f"internal error in kernel '{function.name}': {what}"
        parts = KernelParts(unit)
        parts.holes.append(unit.report(rule, ir.Severity.ERROR, line, message))
        span = ir.Span(str(unit.path), function.line, 1, function.end_line)
        block = ir.Block((), parts.region(), span)
    return _finished(unit, function, parts, parameters, block, is_complete)


def _finished(
    unit: Unit,
    function: Function,
    parts: KernelParts,
    parameters: KernelParameters,
    block: ir.Block,
    is_complete: bool,
) -> ir.Kernel:
    original = unit.originals.get(function.name)
    name = demangled(function.name) if original is None else Names(original.name, original.qualified_name)
    most_threads, least_blocks, most_registers = launch_bounds(function)
    return ir.Kernel(
        name.plain,
        name.qualified,
        function.name,
        parameters.variables,
        block,
        _span(unit, function),
        parts.regions,
        parts.sites,
        tuple(parts.shared),
        most_threads,
        least_blocks,
        is_complete,
        tuple(parts.holes),
        tuple(parts.machine),
        parameters.parts,
        original,
        most_registers,
    )


def _lost(unit: Unit, name: str, line: int) -> ir.Kernel:
    """A kernel whose text could not be read: its name, and nothing else."""
    span = ir.Span(str(unit.path), line, 1, line)
    shown = demangled(name)
    holes = tuple(entry for entry in unit.diagnostics if entry.line == line)
    return ir.Kernel(
        shown.plain,
        shown.qualified,
        name,
        (),
        ir.Block((), 0, span),
        span,
        1,
        0,
        (),
        None,
        None,
        False,
        holes,
    )


def _span(unit: Unit, function: Function) -> ir.Span:
    """Where a kernel is written: the lines of its own text, those that inlined functions were called on."""
    places: list[SourceLocation] = []
    for statement in function.body or ():
        place = statement.location if isinstance(statement, Instruction) else None
        while place is not None and place.inlined_at is not None:
            place = place.inlined_at
        if place is not None and place.line and place.file in unit.files:
            places.append(place)
    if not places:
        return ir.Span(str(unit.path), function.line, 1, function.end_line)
    file = places[0].file
    lines = [place.line for place in places if place.file == file]
    return ir.Span(unit.files[file], min(lines), 1, max(lines))


# ---------------------------------------------------------------------------
# The CUDA source that a PTX file was compiled from: it launches the kernels, and names their parameters.


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
    program = _best(sources, frozenset(entries), options)
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


def _best(sources: tuple[Path, ...], entries: frozenset[str], options: ParseOptions | None) -> Program | None:
    """The source with the most of the kernels, of several the one with host code that launches them."""
    best: Program | None = None
    best_rank = (0, False)
    waiting = list(sources)
    asked: set[Path] = set()
    while waiting and len(asked) < MAX_READ:
        path = waiting.pop(0)
        asked.add(path)
        program = _read_source(path, options)
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


def _read_source(path: Path, options: ParseOptions | None) -> Program | None:
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


_ANONYMOUS = regex(r"(?P<length>\d+)(?P<name>_GLOBAL__N_)")
_INTERNAL = regex(r"L(?=\d)")


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
