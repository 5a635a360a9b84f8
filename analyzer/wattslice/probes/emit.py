"""A program that counts its branches, from a program: `emit_probes`."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path

from wattslice.frontend.clang.flags import ParseOptions
from wattslice.frontend.clang.session import parse_cuda
from wattslice.frontend.lowering.program import lower_program
from wattslice.probes.instrument import Instrumenter
from wattslice.probes.reach import Position, Reach, reach
from wattslice.probes.source_text import SourceText
from wattslice.probes.types import InstrumentedSource, NotProbed, Probe, ProbeError
from wattslice.recursion import deep_recursion


def emit_probes(path: Path, options: ParseOptions | None = None) -> InstrumentedSource:
    """The program of `path` with a counter on every arm of every branch that its kernels come to.

    Nothing is run. Lines keep their numbers, in `#line` and in what a compiler says. Branches that headers or
    macros write are not counted; `not_probed` has them. Raises `FrontendError` for a file that cannot be read,
    `ProbeError` for one without kernels or in another encoding than UTF-8.
    """
    unit = parse_cuda(path, options)
    if unit.recovered.including_file is not None:
        file = unit.recovered.including_file
        raise ProbeError("is a part of another file", path=path, remedy=f"instrument {file}")
    program = lower_program(unit)
    found = reach(unit, program)
    if not found.kernels:
        raise ProbeError("has no kernel that could be read", path=path, remedy="name the file of the kernels")
    text = SourceText(unit.source)
    writer = Instrumenter(unit, text, found.kernels)
    not_probed: list[NotProbed] = []
    with deep_recursion():
        for function in found.functions:
            if function.is_constexpr:
                place = function.body.start
                reason = "a constexpr function, which the compiler may evaluate"
                not_probed.append(NotProbed(str(path), place.line, place.column, reason))
            else:
                writer.function(function)
    if writer.needs_kernel:
        for function in found.functions:
            if function.is_kernel:
                at = function.body.start.offset + 1
                text.close(at, f" wattslice_probes::kernel() = {function.kernels[0]};")
    if found.main is not None:
        text.close(found.main.start.offset + 1, " wattslice_probes::Reporter wattsliceReporter;")
    try:
        body = text.edited().decode("utf-8")
    except UnicodeDecodeError:
        raise ProbeError("is not UTF-8 text", path=path, remedy="convert it") from None
    sha256 = hashlib.sha256(unit.source).hexdigest()
    not_probed += (*writer.not_probed, *_elsewhere(found, str(path)))
    probes = tuple(writer.probes)
    return InstrumentedSource(
        str(path),
        "".join(
            (
                _filled("before.cuh", KERNELS=len(found.kernels), COUNTERS=max(1, writer.counters)),
                f"#line 1 {_quoted(str(path))}\n",
                body if body.endswith("\n") else f"{body}\n",
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
        tuple(sorted(set(not_probed))),
    )


def _rows(probes: tuple[Probe, ...], kernels: tuple[str, ...], counters: int) -> str:
    return "".join(
        f'    {{"{kernel}\\t{probe.line}\\t{probe.column}\\t{probe.kind.value}\\t{",".join(probe.arms)}", '
        f"{kernels.index(kernel) * counters + probe.first}, {probe.counters}}},\n"
        for probe in probes
        for kernel in probe.kernels
    )


def _elsewhere(found: Reach, file: str) -> list[NotProbed]:
    return [_in_header(branch) for branch in found.branches if branch.file != file]


def _in_header(branch: Position) -> NotProbed:
    return NotProbed(branch.file, branch.line, branch.column, "in an included file")


def _filled(name: str, **values: object) -> str:
    text = (files("wattslice.probes") / "instrumentation" / name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    return text


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
