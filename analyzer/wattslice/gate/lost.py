"""Kernels that stand in the source and not in the result: the frontend lost them, and says so (PW001).

Its message names the kernel. Such a kernel is unknown, neither below a budget nor gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wattslice.analysis import Analysis
from wattslice.ir import Diagnostic, Severity
from wattslice.quoting import Quoter

_WORD = re.compile(r"[A-Za-z_]\w*")
_KERNEL = re.compile(
    r"\b__global__\b[^;{}]*?\b([A-Za-z_]\w*)\s*\((?!\()|\b([A-Za-z_]\w*)\s*(?:<[^;{}<>]*>\s*)?<<<"
)
_NO_KERNELS = frozenset(("__launch_bounds__", "__attribute__", "__cluster_dims__", "__maxnreg__"))


@dataclass(frozen=True, slots=True)
class LostKernel:
    """A kernel without a result; `name` is empty when the message names none that the text has."""

    name: str
    why: Diagnostic


def losses(analysis: Analysis) -> tuple[Diagnostic, ...]:
    """The errors by which something of a file was lost, but for files that were lost as a whole."""
    return tuple(
        entry
        for entry in analysis.diagnostics
        if entry.rule == "PW001" and entry.severity is Severity.ERROR and entry.file not in analysis.unread
    )


def lost_kernels(analysis: Analysis) -> tuple[LostKernel, ...]:
    """The kernels that `losses` speak of and that have no result."""
    quoter = Quoter("", ())
    return tuple(lost for entry in losses(analysis) for lost in _named(entry, analysis, quoter))


def _named(entry: Diagnostic, analysis: Analysis, quoter: Quoter) -> Iterator[LostKernel]:
    declared = {name for pair in _KERNEL.findall(quoter.text(entry.file)) for name in pair} - _NO_KERNELS
    known = {kernel.name for kernel in analysis.kernels}
    words = dict.fromkeys(_WORD.findall(entry.message))
    lost = [word for word in words if word in declared and word not in known]
    if lost:
        yield from (LostKernel(word, entry) for word in lost)
    elif known.isdisjoint(words):
        yield LostKernel("", entry)


def names(entry: Diagnostic, qualified_name: str) -> bool:
    """Whether the message is about the kernel; its template arguments and namespaces need not be in it."""
    plain = qualified_name.partition("<")[0].rpartition("::")[2]
    return plain in _WORD.findall(entry.message)
