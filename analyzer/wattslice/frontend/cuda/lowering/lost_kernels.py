"""Kernels that the file defines and clang's tree does not have: something in front of them hid them.

Each becomes a kernel of which nothing is known, with a diagnostic, so that nobody takes it for absent.
"""

from __future__ import annotations

from wattslice.frontend.cuda.clang.chunks import names_in
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.diagnostics import ParseDiagnostic
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.written_kernels import WrittenKernel, written_kernels
from wattslice.frontend.cuda.lowering.unit import Unit
from wattslice.ir import Block, Diagnostic, Kernel, Severity, Span


def lost_kernels(unit: Unit, functions: list[Node], most: int) -> list[Kernel]:
    """The kernels (`most` at most) of the main file's text that are not among `functions`; each is told.

    What clang could not read outside of all functions is told too when a kernel is lost, or none is there.
    """
    if b"__global__" not in unit.parsed.source:
        return []
    seen = [node for node in functions if is_kernel(node)]
    lost = _lost(unit, written_kernels(unit.parsed.source), seen, functions)
    if lost or not seen:
        _report_errors_outside(unit, functions, Severity.WARNING if seen or lost else Severity.ERROR)
    return [_unread(unit, kernel) for kernel in lost[:most]]


def is_kernel(function: Node) -> bool:
    """Whether clang sees the definition of a kernel, or of a template of kernels."""
    kinds = [child.kind for child in function.children]
    return C.CUDAGLOBAL_ATTR in kinds and C.COMPOUND_STMT in kinds


def _lost(
    unit: Unit, written: tuple[WrittenKernel, ...], seen: list[Node], functions: list[Node]
) -> list[WrittenKernel]:
    places = {(kernel.line, kernel.column) for kernel in written}
    found = [(node.place, node) for node in seen if unit.parsed.is_in_file(node)]
    read = {(place.line, place.column) for place, _ in found}
    # What stands as the argument of a macro is there in the tree, but at another place.
    elsewhere = {node.spelling for place, node in found if (place.line, place.column) not in places}
    missing = [
        kernel
        for kernel in written
        if (kernel.line, kernel.column) not in read and kernel.name not in elsewhere
    ]
    if not any(kernel.in_doubt for kernel in missing):
        return missing
    alive = _alive(unit, functions)
    return [
        kernel
        for kernel in missing
        if all(any(branch.begin <= at < branch.end for at in alive) for branch in kernel.in_doubt)
    ]


def _alive(unit: Unit, functions: list[Node]) -> list[int]:
    """Bytes of the main file that the preprocessor has let through: clang saw something there."""
    starts = [0]
    for line in unit.parsed.source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)
    nodes = (*unit.root.children, *functions)
    declared = [node.place.offset for node in nodes if unit.parsed.is_in_file(node)]
    return declared + [
        starts[error.line - 1] + error.column - 1
        for error in _own_errors(unit)
        if 0 < error.line < len(starts)
    ]


def _own_errors(unit: Unit) -> list[ParseDiagnostic]:
    parsed = unit.parsed
    return [
        error
        for error in unit.errors
        if error.path is not None
        and parsed.files.is_same(error.path, parsed.path)
        and not error.message.endswith("file not found")
    ]


def _report_errors_outside(unit: Unit, functions: list[Node], severity: Severity) -> None:
    own = [unit.spans.span(node) for node in functions if unit.parsed.is_in_file(node)]
    for error in _own_errors(unit):
        at = (error.line, error.column)
        if not any((span.line, span.column) < at and error.line <= span.end_line for span in own):
            where = Span(str(unit.parsed.path), error.line, error.column, error.line)
            unit.report("PW001", severity, where, f"not understood: {error.message}")


def _unread(unit: Unit, kernel: WrittenKernel) -> Kernel:
    span = Span(str(unit.parsed.path), kernel.first_line, 1, kernel.last_line)
    told = _tell(unit, kernel, span)
    return Kernel(
        kernel.name,
        kernel.name,
        kernel.name,
        (),
        Block((), 0, span),
        span,
        1,
        0,
        (),
        None,
        None,
        False,
        (told,),
    )


def _tell(unit: Unit, kernel: WrittenKernel, span: Span) -> Diagnostic:
    """Names what is declared nowhere in front of it, else clang's last error before the body."""
    message = f"kernel '{kernel.name}' could not be read"
    words = names_in(kernel.front)
    unknown = [entry.name for entry in unit.parsed.recovered.declared if entry.name.encode() in words]
    line = unit.parsed.source.count(b"\n", 0, kernel.brace) + 1
    before = [error for error in _own_errors(unit) if error.line <= line]
    if unknown:
        message += f": '{unknown[0]}' in front of it is declared nowhere"
    elif before:
        last = max(before, key=lambda error: (error.line, error.column))
        message += f": {last.message} (line {last.line})"
    return unit.report("PW001", Severity.ERROR, span, message)
