"""One file of public code: what the analyzer made of each kernel that the file's text shows."""

from __future__ import annotations

import ctypes as ct
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from wattslice import ir
from wattslice.analysis import KernelAnalysis, LaunchSource
from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.counting import count as counting
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.clang.cursors import UnitHandle
from wattslice.frontend.cuda.clang.flags import (
    FALLBACK_STUBS,
    KEEP_GOING,
    PRELUDE,
    language_flags,
    user_flags,
)
from wattslice.frontend.cuda.clang.libclang import CXSourceLocation, CXSourceRange, library
from wattslice.frontend.cuda.clang.parse import raw_parse
from wattslice.frontend.cuda.clang.session import parse_cuda
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.launch import About
from wattslice.pipeline.files import FileAnalysis, analyze_file
from wattslice_tools.wild.checkouts import text_facts

_OTHER_PARAMETER = 768
"""In place of the value assumed for unknown parameters: a trip count that changes rests on that value."""


class FileQuestion(Struct, frozen=True):
    """A file and the GPU to predict for."""

    path: Path
    gpu: str


class LoopFacts(Struct, frozen=True):
    """One loop as written, over all launches: known only if known in each."""

    line: int
    known: bool
    on_assumed_value: bool
    why: str


class KernelFacts(Struct, frozen=True):
    """One kernel definition, the instances of a template together.

    `is_own`: defined in the file itself, else in a file it includes. `launched_here`: the file's text has
    a launch of that name. `complete`: every instance was read, and every function it calls. `usable`: the
    same, but for calls of functions without a body anywhere (PW005): only their cost is missing.
    `all_known`: of one launch grid and block were read and no parameter that matters was assumed.
    `geometry_computed`: no launch was read, but grid and block of one were computed from host variables whose
    value is assumed: `--set` settles every assumption about it.
    """

    name: str
    line: int
    is_own: bool
    launched_here: bool
    predicted: bool
    why_no_power: str
    complete: bool
    usable: bool
    why_not_complete: str
    geometry_read: bool
    geometry_computed: bool
    why_no_geometry: str
    all_known: bool
    why_not_all_known: str
    loops: tuple[LoopFacts, ...]


class FileFacts(Struct, frozen=True):
    """`refusal`: what the analyzer says when it takes nothing of the file. `seconds`: of the analysis."""

    seconds: float
    kernels: tuple[KernelFacts, ...]
    switched_off: int
    internal_errors: tuple[str, ...]
    refusal: str


def examine(question: FileQuestion) -> FileFacts:
    """Analyses the file as the command line would, and holds the result against the file's text."""
    path = question.path
    text = text_facts(path)
    config = Config(files=(path,), gpu=GpuChoice(question.gpu))
    start = time.perf_counter()
    refusal = ""
    analysis: FileAnalysis | None = None
    try:
        analysis = analyze_file(path, config)
    except WattsliceError as error:
        refusal = error.message
    seconds = time.perf_counter() - start
    done, said = (analysis.kernels, analysis.diagnostics) if analysis is not None else ((), ())
    varied = done
    program: ir.Program | None = None
    if any(a.rule == "PW010" for kernel in done for a in kernel.assumptions):
        usual, counting.DEFAULT_PARAMETER = counting.DEFAULT_PARAMETER, _OTHER_PARAMETER
        try:
            varied = analyze_file(path, config).kernels
        finally:
            counting.DEFAULT_PARAMETER = usual
    if not refusal:
        program = read_cuda(path)
    found: list[KernelFacts] = []
    lost = list(text.definitions)
    for kernels in _by_definition(program.kernels if program else ()):
        kernel = kernels[0]
        own = _same(kernel.span.file, path)
        launches = [a for a in done if (a.source.file, a.source.line, a.name) == _key(kernel)]
        others = [a for a in varied if (a.source.file, a.source.line, a.name) == _key(kernel)]
        launched = kernel.name in text.launched
        if own:
            lost = _without(lost, kernel)
        if own or launched:
            diagnostics = (*said, *(program.diagnostics if program else ()))
            found.append(_kernel_facts(kernels, own, launched, launches, others, diagnostics))
    off = _switched_off(path, lost) if lost and not refusal else set[tuple[str, int]]()
    found += [
        KernelFacts(name, line, True, name in text.launched, False, _mention(said, name, refusal), False,
                    False, refusal or "not in the tree", False, False, refusal or "not in the tree",
                    False, refusal or "not in the tree", ())
        for name, line in lost if (name, line) not in off
    ]  # fmt: skip
    internal = tuple(d.message for d in said if d.rule == "PW099")
    return FileFacts(seconds, tuple(found), len(off), internal, refusal)


def _by_definition(kernels: Iterable[ir.Kernel]) -> list[list[ir.Kernel]]:
    found: dict[tuple[str, int, str], list[ir.Kernel]] = {}
    for kernel in kernels:
        found.setdefault(_key(kernel), []).append(kernel)
    return list(found.values())


def _key(kernel: ir.Kernel) -> tuple[str, int, str]:
    return kernel.span.file, kernel.span.line, kernel.name


def _same(file: str, path: Path) -> bool:
    return Path(file).resolve() == path.resolve()


def _without(lost: list[tuple[str, int]], kernel: ir.Kernel) -> list[tuple[str, int]]:
    """The definitions but the one that is this kernel: that of its name next to its lines."""
    same = [entry for entry in lost if entry[0] == kernel.name]
    if not same:
        return lost
    nearest = min(same, key=lambda entry: abs(entry[1] - kernel.span.line))
    return [entry for entry in lost if entry is not nearest]


def _kernel_facts(
    kernels: list[ir.Kernel],
    own: bool,
    launched: bool,
    launches: list[KernelAnalysis],
    others: list[KernelAnalysis],
    diagnostics: tuple[ir.Diagnostic, ...],
) -> KernelFacts:
    kernel = kernels[0]
    span = kernel.span
    inside = [d for d in diagnostics if d.file == span.file and span.line <= d.line <= span.end_line]
    read = (LaunchSource.HOST_CODE, LaunchSource.ARGUMENTS)
    geometry_read = any(launch.launch.source in read for launch in launches)
    sizes = [
        [a.message for a in launch.assumptions if a.rule == "PW010"]
        for launch in launches
        if launch.launch.source in read
    ]
    reasons = [
        _nameless(assumption.message, kernel.name)
        for launch in launches
        if launch.launch.source is LaunchSource.ASSUMED
        for assumption in launch.assumptions
        if assumption.rule == "PW011"
    ]
    named = [d for d in diagnostics if d.message.startswith(f"{kernel.name}: ")]
    no_power = [_general(d, kernel.name) for d in (*named, *inside) if d.rule != "PW030"]
    holes = [
        _general(d, kernel.name)
        for d in inside
        if d.rule in ("PW001", "PW005", "PW006", "PW099") and d.severity is not ir.Severity.NOTE
    ]
    complete = all(k.body_is_complete for k in kernels)
    return KernelFacts(
        kernel.name,
        span.line,
        own,
        launched,
        predicted=any(launch.power_w is not None for launch in launches),
        why_no_power=no_power[0] if no_power else "",
        complete=complete,
        usable=complete or (bool(holes) and all(hole.startswith("PW005") for hole in holes)),
        why_not_complete=holes[0] if holes else "no diagnostic within its lines",
        geometry_read=geometry_read,
        geometry_computed=not geometry_read and any(_is_computed(launch) for launch in launches),
        why_no_geometry=reasons[0] if reasons else "no launch of it in the analysis",
        all_known=[] in sizes,
        why_not_all_known=min(sizes, key=len)[0].partition(":")[0] if sizes and [] not in sizes else "",
        loops=tuple(_loops(launches, others)),
    )


def _is_computed(launch: KernelAnalysis) -> bool:
    """True when values for host variables would settle grid and block, no `--launch` needed."""
    told = [a for a in launch.assumptions if a.rule == "PW011" and a.about is not About.TIMES]
    fixes = [a.fix or "" for a in told]
    assumed = launch.launch.source is LaunchSource.ASSUMED
    return assumed and bool(fixes) and all(fix.startswith("--set") for fix in fixes)


def _nameless(message: str, kernel: str) -> str:
    """Why a geometry is assumed, without the kernel, the values assumed and the line numbers."""
    reason = re.split(r"; | assumed ", message)[0]
    return re.sub(r"[0-9]+", "N", reason.replace(kernel, "the kernel"))


def _general(diagnostic: ir.Diagnostic, name: str) -> str:
    """Rule and message without names and numbers, so that equal causes meet."""
    message = diagnostic.message.removeprefix(f"{name}: ").removeprefix("power unknown: ")
    return f"{diagnostic.rule} {re.sub(r'[0-9]+', 'N', message)}"


def _loops(launches: list[KernelAnalysis], others: list[KernelAnalysis]) -> Iterable[LoopFacts]:
    lines = sorted({loop.line for launch in launches for loop in launch.loops})
    sampled = [launch for launch in launches if any(a.rule == "PW028" for a in launch.assumptions)]
    for line in lines:
        trips = [x.trip_count for launch in launches for x in launch.loops if x.line == line]
        varied = [x.trip_count for launch in others for x in launch.loops if x.line == line]
        why = [
            re.sub(r"[0-9]+", "N", a.message)
            for launch in launches
            for a in launch.assumptions
            if a.line == line and a.rule in ("PW010", "PW012", "PW013", "PW015")
        ]
        known = None not in trips
        is_sampled = any(x.line == line and x.trip_count is None for launch in sampled for x in launch.loops)
        if known:
            otherwise = "its bound depends on one"
        elif is_sampled:
            otherwise = "blocks run it differently often, and not all are counted"
        else:  # the analyzer says "unknown" whatever the bound is
            otherwise = "leaving it before its bound depends on data"
        yield LoopFacts(line, known, known and trips != varied, why[0] if why else otherwise)


def _mention(diagnostics: tuple[ir.Diagnostic, ...], name: str, refusal: str) -> str:
    """A diagnostic about a kernel that the tree does not have."""
    said = [_general(d, name) for d in diagnostics if re.search(rf"\b{name}\b", d.message)]
    return refusal or (said[0] if said else "")


# ---------------------------------------------------------------------- what the preprocessor leaves out


_DETAILED_PREPROCESSING_RECORD = 0x01  # of CXTranslationUnit_Flags: without it clang keeps no such ranges


class _Ranges(ct.Structure):
    _fields_ = (("count", ct.c_uint), ("ranges", ct.POINTER(CXSourceRange)))


def _switched_off(path: Path, lost: list[tuple[str, int]]) -> set[tuple[str, int]]:
    """Those of the definitions that lie where `#if` and its relatives leave text out."""
    options = ParseOptions()
    folders = (*parse_cuda(path, options).recovered.found_includes, FALLBACK_STUBS)
    flags = (*language_flags(options.standard, options.gpu_arch), *user_flags(options, folders))
    handle = raw_parse(path, (*flags, f"-include{PRELUDE}"), KEEP_GOING | _DETAILED_PREPROCESSING_RECORD)
    skipped = [] if handle is None else list(_skipped_lines(handle, path))
    return {entry for entry in lost if any(first <= entry[1] <= last for first, last in skipped)}


def _skipped_lines(handle: UnitHandle, path: Path) -> Iterable[tuple[int, int]]:
    lib = library()
    lib.clang_getFile.restype = ct.c_void_p
    lib.clang_getFile.argtypes = (ct.c_void_p, ct.c_char_p)
    lib.clang_getSkippedRanges.restype = ct.POINTER(_Ranges)
    lib.clang_getSkippedRanges.argtypes = (ct.c_void_p, ct.c_void_p)
    for getter in (lib.clang_getRangeStart, lib.clang_getRangeEnd):
        getter.restype = CXSourceLocation
        getter.argtypes = (CXSourceRange,)
    found = lib.clang_getSkippedRanges(handle.unit, lib.clang_getFile(handle.unit, os.fsencode(path)))
    if not found:
        return
    for number in range(found.contents.count):
        extent = found.contents.ranges[number]
        yield _line(lib.clang_getRangeStart(extent)), _line(lib.clang_getRangeEnd(extent))


def _line(location: CXSourceLocation) -> int:
    line = ct.c_uint()
    library().clang_getSpellingLocation(location, None, ct.byref(line), None, None)
    return line.value
