"""PTX files, as `nvcc -ptx` writes them, into the same tree as CUDA sources.

Every `.entry` is a kernel. Line information (`nvcc -lineinfo`) makes all that is told of it point into the
CUDA source; without, into the PTX file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wattslice import ir
from wattslice.errors import FrontendError
from wattslice.frontend.bounds import MOST_KERNELS
from wattslice.frontend.inputs import file_bytes, note_text
from wattslice.ir.walking import deep_recursion

if TYPE_CHECKING:
    from wattslice.frontend.cuda.clang.flags import ParseOptions
    from wattslice.frontend.ptx.lowering.context import KernelParts, Unit
    from wattslice.frontend.ptx.lowering.parameters import KernelParameters
    from wattslice.frontend.ptx.syntax.syntax import Function

MAX_BYTES = 64 << 20


def read_ptx(path: Path, options: ParseOptions | None = None, source: bytes | None = None) -> ir.Program:
    """Read a PTX file; `source` None: what is on the disk. `options`: how to read the CUDA source it names.

    Raises `FrontendError` when it is no PTX; a function that cannot be read is a diagnostic of the program
    (PW060, PW005 for calls that cannot be followed), and the others are still there.
    """
    from wattslice.frontend.ptx.lowering.context import Unit
    from wattslice.frontend.ptx.origin import read_origin
    from wattslice.frontend.ptx.syntax.parser import parse_ptx

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
    from wattslice.frontend.ptx.lowering.blocks import NotUnderstoodError
    from wattslice.frontend.ptx.lowering.body import FunctionBody
    from wattslice.frontend.ptx.lowering.context import KernelParts, TooLargeError
    from wattslice.frontend.ptx.lowering.instructions import lower_instruction
    from wattslice.frontend.ptx.lowering.parameters import KernelParameters
    from wattslice.frontend.ptx.lowering.scoping import scoped
    from wattslice.frontend.ptx.lowering.statements import block_of

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
    from wattslice.frontend.ptx.lowering.launch_bounds import launch_bounds
    from wattslice.frontend.ptx.lowering.names import Names, demangled

    original = unit.originals.get(function.name)
    name = demangled(function.name) if original is None else Names(original.name, original.qualified_name)
    bounds = launch_bounds(function)
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
        bounds.max_threads_per_block,
        bounds.min_blocks_per_sm,
        is_complete,
        tuple(parts.holes),
        tuple(parts.machine),
        parameters.parts,
        original,
        bounds.max_registers,
    )


def _lost(unit: Unit, name: str, line: int) -> ir.Kernel:
    """A kernel whose text could not be read: its name, and nothing else."""
    from wattslice.frontend.ptx.lowering.names import demangled

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
    from wattslice.frontend.ptx.syntax.scopes import flat_body
    from wattslice.frontend.ptx.syntax.syntax import Instruction, SourceLocation

    places: list[SourceLocation] = []
    for statement in flat_body(function):
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
