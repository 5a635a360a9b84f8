"""A program that counts its branches, from a program: `emit_probes`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.flags import ParseOptions
from wattslice.frontend.cuda.clang.session import parse_cuda
from wattslice.frontend.cuda.lowering.program import lower_program
from wattslice.ir.walking import deep_recursion
from wattslice.profiling.probes.included import IncludedFiles
from wattslice.profiling.probes.instrument import instrument
from wattslice.profiling.probes.reach import Position, Reach, reach
from wattslice.profiling.probes.source_text import SourceText
from wattslice.profiling.probes.types import InstrumentedSource, NotProbed, Probe, ProbeError
from wattslice.profiling.probes.writer import BranchWriter

IN_CONSTEXPR = "in a constexpr function, which the compiler may evaluate"
NO_ROOM = "in a place where no counter can be written"
NOT_IN_PLACE = "in a file that no #include names as it is"


def emit_probes(
    path: Path, options: ParseOptions | None = None, in_place: re.Pattern[bytes] | None = None
) -> InstrumentedSource:
    """The program of `path` with a counter on every arm of every branch that its kernels come to.

    Nothing is run. Lines keep their numbers, in `#line` and in what a compiler says. Branches that
    macros write are not counted; `not_probed` has them. Headers that hold `in_place` take the place of the
    line that includes them, as those with counters do. Raises `FrontendError` for a file that cannot be
    read, `ProbeError` for one without kernels.
    """
    unit = parse_cuda(path, options)
    if unit.recovered.including_file is not None:
        file = unit.recovered.including_file
        raise ProbeError("is a part of another file", path=path, remedy=f"instrument {file}")
    program = lower_program(unit)
    files = IncludedFiles(unit, (options or ParseOptions()).include_dirs, in_place)
    found = reach(unit, program, lambda file: files.text(file) is not None)
    if not found.kernels:
        raise ProbeError("has no kernel that could be read", path=path, remedy="name the file of the kernels")
    writer = BranchWriter(found.kernels)
    with deep_recursion():
        for function in found.functions:
            if not function.is_constexpr:
                writer.function, writer.text = function, _text_of(files, function.body)
                instrument(writer)
    if writer.needs_kernel:
        for function in found.functions:
            if function.is_kernel:
                _begin(files, function.body, f"wattslice_probes::kernel() = {function.kernels[0]};")
    if found.main is not None:
        _begin(files, found.main, "wattslice_probes::Reporter wattsliceReporter;")
    body = files.edited()
    sha256 = hashlib.sha256(unit.source).hexdigest()
    probes = tuple(writer.probes)
    return InstrumentedSource(
        str(path),
        "".join(
            (
                _filled("before.cuh", KERNELS=len(found.kernels), COUNTERS=max(1, writer.counters)),
                f"#line 1 {_quoted(str(path))}\n",
                body,
                _filled(
                    "after.cuh",
                    ROWS=_rows(probes, found.kernels, writer.counters),
                    FILE=_quoted(str(path))[1:-1],
                    SHA256=sha256,
                    INSTANCE="" if found.main is not None else "static Reporter reporter;\n",
                ),
            )
        ),
        sha256,
        found.kernels,
        probes,
        tuple(sorted({*writer.not_probed, *_missing(found, writer)})),
        unit.recovered.found_includes,
    )


def _rows(probes: tuple[Probe, ...], kernels: tuple[str, ...], counters: int) -> str:
    rows: list[str] = []
    for probe in probes:
        branch = f"{probe.line}\\t{probe.column}\\t{probe.kind.value}\\t{','.join(probe.arms)}"
        for number, kernel in enumerate(kernels):
            if kernel in probe.kernels:
                first = number * counters + probe.first
                rows.append(
                    f'    {{{_quoted(probe.file)} "\\t{kernel}\\t{branch}", {first}, {probe.counters}}},\n'
                )
    return "".join(rows)


def _missing(found: Reach, writer: BranchWriter) -> Iterator[NotProbed]:
    """The branches of the kernels that nothing counts, and that the writer does not know of."""
    known = {Position(probe.file, probe.line, probe.column) for probe in writer.probes}
    known |= {Position(one.file, one.line, one.column) for one in writer.not_probed}
    written = {str(function.body.start.path) for function in found.functions}
    for branch in found.branches - known:
        reason = NO_ROOM
        if branch.file not in written:
            reason = NOT_IN_PLACE
        elif any(function.is_constexpr and function.holds(branch) for function in found.functions):
            reason = IN_CONSTEXPR
        yield NotProbed(branch.file, branch.line, branch.column, reason)


def _begin(files: IncludedFiles, body: Node, text: str) -> None:
    """Write `text` at the start of a function's body."""
    source, start = _text_of(files, body), body.start
    if source.plain[start.offset : start.offset + 1] != b"{":
        raise ProbeError(
            "a macro writes this function, so that no counters can be written into it",
            path=start.path,
            line=start.line,
            remedy="write it out, or use --data",
        )
    source.close(start.offset + 1, f" {text}")


def _text_of(files: IncludedFiles, body: Node) -> SourceText:
    path = body.start.path
    text = None if path is None else files.text(path)
    assert text is not None, "functions of other files are not reached"
    return text


def _filled(name: str, **values: object) -> str:
    text = (files("wattslice.profiling.probes") / "instrumentation" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
