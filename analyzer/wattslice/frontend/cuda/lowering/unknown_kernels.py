"""Launches of kernels that nothing declares, as where a header is missing: no kernel stands for them, so each
is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.lost_kernels import code_of
from wattslice.frontend.cuda.lowering.unit import Unit
from wattslice.ir import Severity, Span
from wattslice.patterns import regex

_LAUNCH = regex(
    rb"(?P<scope>(?:\b\w+\s*::\s*)*)(?P<name>\b[A-Za-z_]\w*)\s*(?:<[^;{}]*>\s*)?<<<"
    rb"|\bcuda(?:LaunchKernel|LaunchCooperativeKernel|LaunchKernelExC?)\w*\s*\((?:[^;{}(),]*,(?=\s*\w+\s*,))?"
    rb"\s*(?:\([^()]*\)|reinterpret_cast\s*<[^;{}()]*>\s*\()?\s*&?\s*(?P<given>[A-Za-z_]\w*)\s*[<,)]"
)
_WORD = regex(rb"\w+")


def report_unknown_kernels(unit: Unit) -> None:
    """A warning (PW001) for each line of the main file, and of what it includes, with such a launch."""
    unknown = {name.encode() for name in unit.parsed.recovered.unknown}
    if not unknown:
        return
    defined = {node.spelling.encode() for node in unit.declared if node.kind in _FUNCTIONS}
    for path, source in zip((unit.parsed.path, *unit.parsed.included_files), unit.texts, strict=True):
        for name, line in _launches(source, unknown):
            if name not in defined:
                where = Span(str(path), line, 1, line)
                text = f"launch of '{name.decode()}', which nothing declares: it has no figures"
                unit.report("PW001", Severity.WARNING, where, text)


_FUNCTIONS = (C.FUNCTION_DECL, C.FUNCTION_TEMPLATE, C.CXX_METHOD)


def _launches(source: bytes, unknown: set[bytes]) -> Iterator[tuple[bytes, int]]:
    """The names of kernels that are launched, by these names or in namespaces of them, with their lines."""
    if b"<<<" not in source and b"cudaLaunch" not in source:
        return
    code = code_of(source)
    for launch in _LAUNCH.finditer(code):
        name = launch["name"] or launch["given"]
        if not unknown.isdisjoint((name, *_WORD.findall(launch["scope"] or b""))):
            yield name, code.count(b"\n", 0, launch.start()) + 1
