"""A finished analysis as an editor asks for it: by line of one document."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath

from wattslice.analysis import Analysis, KernelAnalysis, LineHeat
from wattslice.findings import Finding, findings_of
from wattslice.gate.budgets import Budget
from wattslice.gate.verdict import UnknownPolicy, judge

_UNREADABLE = ("PW001", "PW002")
"""Rules of text that could not be read: typical of a text in the middle of being typed."""
_KERNEL_MARK = "__global__"


class View:
    """What an analysis says of the document `path`, whose text had these `lines`. Lines count from 1.

    `kernels`: the launches of each kernel defined in the document, by the line of its definition; `findings`
    those of the document, `elsewhere` those of its kernels in other files (headers, host code). What is over
    one of the `budgets` is among them.
    """

    def __init__(
        self, analysis: Analysis, path: Path, lines: tuple[str, ...], budgets: tuple[Budget, ...] = ()
    ) -> None:
        self.analysis = analysis
        self.lines = lines
        self._is_own = _Own(path)
        self.kernels: dict[int, tuple[KernelAnalysis, ...]] = {}
        self.heats: dict[int, tuple[tuple[KernelAnalysis, LineHeat], ...]] = {}
        for kernel in analysis.kernels:
            if self.is_own(kernel.file):
                self.kernels[kernel.line] = (*self.kernels.get(kernel.line, ()), kernel)
            for heat in kernel.hot_lines:
                if self.is_own(heat.file):
                    self.heats[heat.line] = (*self.heats.get(heat.line, ()), (kernel, heat))
        found = (*findings_of(analysis), *judge(analysis, budgets, UnknownPolicy.WARN).findings)
        self.findings = tuple(finding for finding in found if self.is_own(finding.file))
        self.elsewhere = tuple(finding for finding in found if not self.is_own(finding.file))
        self._unreadable = sum(finding.rule in _UNREADABLE for finding in self.findings)
        self._marks = sum(line.count(_KERNEL_MARK) for line in lines)

    def is_own(self, file: str) -> bool:
        """Whether a file that the analysis names is the document; one without a name is not."""
        return bool(file) and self._is_own(file)

    def looks_torn(self, before: View) -> bool:
        """Whether the text looks like one in the middle of an edit, compared with an earlier one.

        More of it cannot be read, or a kernel is gone of which the text still speaks.
        """
        if self._unreadable > before._unreadable:
            return True
        return len(self.kernels) < len(before.kernels) and self._marks >= before._marks

    def unreadable(self) -> tuple[Finding, ...]:
        """What of the document could not be read."""
        return tuple(finding for finding in self.findings if finding.rule in _UNREADABLE)

    def launches_around(self, line: int) -> tuple[KernelAnalysis, ...]:
        """The launches of the kernels whose definition holds this line."""
        return tuple(
            kernel
            for launches in self.kernels.values()
            for kernel in launches
            if kernel.line <= line <= kernel.end_line
        )

    def place_of(self, finding: Finding) -> int:
        """The line of the document where a finding belongs: its own, else that of the kernel it concerns.

        For one of another file that concerns no kernel: the line that includes it, else the first.
        """
        if self.is_own(finding.file):
            return max(1, finding.line)
        own = (kernel.line for kernel in self.named(finding.kernel) if self.is_own(kernel.file))
        name = PurePath(finding.file).name
        including = (
            number
            for number, line in enumerate(self.lines, 1)
            if line.lstrip().startswith("#") and "include" in line and name in line
        )
        return next((line for lines in (own, including) for line in lines), 1)

    def named(self, name: str) -> tuple[KernelAnalysis, ...]:
        """All launches of the kernels of this name, wherever they are defined."""
        return tuple(kernel for kernel in self.analysis.kernels if kernel.name == name)


class _Own:
    """Whether a file name means the document; the disk is asked once per name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, bool] = {str(path): True}

    def __call__(self, file: str) -> bool:
        known = self._known.get(file)
        if known is None:
            try:
                known = Path(file).resolve() == self._path.resolve()
            except (OSError, RuntimeError):  # a loop of links
                known = False
            self._known[file] = known
        return known


def spread(values: Iterable[float | None]) -> tuple[float, float] | None:
    """Least and largest of what is known; None when one of them is not."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    return (min(numbers), max(numbers)) if numbers and len(numbers) == len(known) else None
