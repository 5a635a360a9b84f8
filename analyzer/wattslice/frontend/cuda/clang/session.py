"""From a path to a parsed unit: the file itself, or the file that it is a fragment of."""

from __future__ import annotations

import re
from pathlib import Path

from wattslice.errors import FrontendError
from wattslice.frontend.cuda.clang.compile_commands import with_compile_commands
from wattslice.frontend.cuda.clang.flags import ParseOptions
from wattslice.frontend.cuda.clang.guards import check_source, read_source
from wattslice.frontend.cuda.clang.includes import including_units, repository_root
from wattslice.frontend.cuda.clang.repairs import Clock, parse_with_repairs
from wattslice.frontend.cuda.clang.source_files import SourceFiles
from wattslice.frontend.cuda.clang.unit import ParsedUnit, Recovered

__all__ = ["ParsedUnit", "Recovered", "parse_cuda"]


def parse_cuda(path: Path, options: ParseOptions | None = None, source: bytes | None = None) -> ParsedUnit:
    """Parse a CUDA source file as nvcc's device side would see it; `source` None: what is on the disk.

    A file with errors is still a unit: `diagnostics` name the lines. Raises
    `FrontendError` when there is nothing to look at: unreadable, empty, binary, or clang gives up, would
    crash, or takes longer than 6 s.
    """
    if source is None:
        source = read_source(path)
    check_source(path, source)
    options = with_compile_commands(path, options or ParseOptions())
    files = SourceFiles(options.search_root or repository_root(path), path, source)
    clock = Clock()
    unit = parse_with_repairs(path, path, source, options, files, clock)
    if _badness(unit) > (0, 0) and clock.allows_repairs:
        for candidate in including_units(path.resolve(), files)[:2]:
            try:
                whole = parse_with_repairs(candidate, path, source, options, files, clock)
            except FrontendError:
                continue
            if _badness(whole) < _badness(unit) and any(True for _ in whole.declarations()):
                unit = whole
    return unit


def _names(source: bytes, name: str) -> bool:
    return re.search(rb"\b" + re.escape(name.encode()) + rb"\b", source) is not None


def _badness(unit: ParsedUnit) -> tuple[int, int]:
    """Errors in the asked-for file, then names of it made up: the reading with less of both is the better."""
    errors = sum(
        d.is_error and d.path is not None and unit.files.is_same(d.path, unit.path) for d in unit.diagnostics
    )
    return (errors, sum(_names(unit.source, entry.name) for entry in unit.recovered.declared))
