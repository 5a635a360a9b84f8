"""Kernels that stand in the source and could not be read: the frontend says so (PW001) and names them.

Such a kernel is unknown, neither below a budget nor gone.
"""

from __future__ import annotations

import re

from wattslice.analysis import Analysis
from wattslice.ir import Diagnostic, Severity

_WORD = re.compile(r"[A-Za-z_]\w*")


def losses(analysis: Analysis) -> tuple[Diagnostic, ...]:
    """The errors by which something of a file was lost, but for files that were lost as a whole."""
    return tuple(
        entry
        for entry in analysis.diagnostics
        if entry.rule == "PW001" and entry.severity is Severity.ERROR and entry.file not in analysis.unread
    )


def losses_without_kernel(analysis: Analysis) -> tuple[Diagnostic, ...]:
    """Those of `losses` that speak of no kernel in the result, where it would stand as unknown."""
    return tuple(
        entry
        for entry in losses(analysis)
        if not any(kernel.file == entry.file and names(entry, kernel.name) for kernel in analysis.kernels)
    )


def names(entry: Diagnostic, qualified_name: str) -> bool:
    """Whether the message is about the kernel; its template arguments and namespaces need not be in it."""
    plain = qualified_name.partition("<")[0].rpartition("::")[2]
    return plain in _WORD.findall(entry.message)
