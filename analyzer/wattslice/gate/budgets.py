"""Budgets: what a kernel may draw, take and cost, for the kernels that its patterns name.

Several budgets may name one kernel; each holds. A budget of the settings says where it stands, so that a
finding can name it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from wattslice.analysis import KernelAnalysis
from wattslice.documents import Value
from wattslice.errors import WattsliceError
from wattslice.findings import Finding
from wattslice.ir import Severity


@dataclass(frozen=True, slots=True)
class Budget:
    """Bounds for the kernels that match `kernel` and `file`; None: no bound. What is exactly at one passes.

    `max_power_w` W, `max_energy_j` J and `max_time_s` s of one launch; `min_density`, `max_density`: of
    arithmetic operations per memory access (`density`); `max_limit_share`: of the GPU's power limit.
    `label` names the budget in findings, empty for the one that holds for all. `folder`: what file patterns
    are relative to.
    """

    kernel: str = "*"
    file: str = "**"
    max_power_w: float | None = None
    max_energy_j: float | None = None
    max_time_s: float | None = None
    min_density: float | None = None
    max_density: float | None = None
    max_limit_share: float | None = None
    label: str = ""
    folder: Path = Path()

    def holds_for(self, kernel: KernelAnalysis) -> bool:
        """Whether kernel and file match; a kernel pattern may match the plain or the qualified name."""
        names = (kernel.name, kernel.qualified_name)
        return any(fnmatchcase(name, self.kernel) for name in names) and self.covers(kernel.file)

    def covers(self, file: str) -> bool:
        """Whether the file pattern matches; one without a slash is about the file's own name."""
        return _file_pattern(self.file).fullmatch(_relative(Path(file), self.folder)) is not None


def parse_budgets(
    error_type: type[WattsliceError], path: Path, place: str, value: object
) -> tuple[Budget, ...]:
    """The entries of ``[[gate.budget]]``. Raises `error_type` with the place of what is wrong."""
    budgets: list[Budget] = []
    for number, entry in enumerate(Value(error_type, path, place, value).list(), 1):
        table = entry.table()
        table.only("kernel", "file", *_BOUND_KEYS)
        names = [key for key in ("kernel", "file") if key in table]
        patterns = {key: table.value(key).name() for key in names}
        bounds: dict[str, float] = {}
        for key, field in _BOUND_KEYS.items():
            if key in table:
                bounds[field] = _positive(table.value(key))
        if not bounds:
            raise entry.error("this budget bounds nothing", f"give one of {', '.join(_BOUND_KEYS)}")
        about = ", ".join(f"{key} {pattern}" for key, pattern in patterns.items())
        label = f"budget {number}" + (f": {about}" if about else "")
        budgets.append(Budget(**patterns, **bounds, label=label, folder=path.parent))  # pyright: ignore[reportArgumentType]
    return tuple(budgets)


_BOUND_KEYS = {
    "max-power": "max_power_w",
    "max-energy": "max_energy_j",
    "max-time": "max_time_s",
    "min-density": "min_density",
    "max-density": "max_density",
    "max-limit-share": "max_limit_share",
}


def _positive(value: Value) -> float:
    number = value.number(0.0)
    if not (math.isfinite(number) and number > 0):
        raise value.error(f"{number:g} is not a bound", "a positive number")
    return number


@lru_cache
def _file_pattern(pattern: str) -> re.Pattern[str]:
    """A glob over paths with `/`: `*` and `?` stay within one folder, `**` goes through any."""
    pattern = pattern.removeprefix("./")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[!?[^\]/]+\])", pattern)
    found = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(
            found.get(part)
            or (f"[{part[1:-1].replace('!', '^', 1) if part[1] == '!' else part[1:-1]}]" if index % 2 else "")
            or re.escape(part)
            for index, part in enumerate(parts)
        )
    )


def _relative(file: Path, folder: Path) -> str:
    """The path as patterns see it: from the settings' folder where it lies below, else absolute."""
    absolute = file.resolve()
    base = folder.resolve()
    return absolute.relative_to(base).as_posix() if absolute.is_relative_to(base) else absolute.as_posix()


def density(kernel: KernelAnalysis) -> float | None:
    """Arithmetic operations per weighted memory access, N_a / N_mem of all slices; None without accesses."""
    accesses = math.fsum(part.memory_ops_weighted for part in kernel.slices)
    return math.fsum(part.compute_ops for part in kernel.slices) / accesses if accesses else None


def over_budget(kernel: KernelAnalysis, budget: Budget) -> tuple[Finding, ...]:
    """PW020 for every bound of `budget` that the kernel does not keep; see also `unknown_bounds`."""
    messages: list[str] = []
    for bound in _bounds(kernel, budget):
        value = bound.value
        if value is None or (value >= bound.limit if bound.is_least else value <= bound.limit):
            continue
        verb = "under" if bound.is_least else "over"
        text = f"{kernel.name}: {bound.told(value)} is {verb} the budget of {bound.limit:g}{bound.unit}"
        messages.append(f"{text} by {abs(value - bound.limit):.{bound.digits}f}{bound.unit}")
    label = f" ({budget.label})" if budget.label else ""
    return tuple(
        Finding(
            "PW020",
            Severity.ERROR,
            kernel.file,
            kernel.line,
            kernel.name,
            f"{message}{label}",
            launch_line=kernel.launch_line,
        )
        for message in messages
    )


def unknown_bounds(kernel: KernelAnalysis, budget: Budget) -> tuple[str, ...]:
    """What the budget bounds and nobody can tell of this kernel."""
    return tuple(bound.quantity for bound in _bounds(kernel, budget) if bound.value is None)


@dataclass(frozen=True, slots=True)
class _Bound:
    quantity: str
    value: float | None
    limit: float
    unit: str
    digits: int
    told: Callable[[float], str]
    is_least: bool = False


def _bounds(kernel: KernelAnalysis, budget: Budget) -> list[_Bound]:
    found: list[_Bound] = []
    if budget.max_power_w is not None:
        found.append(
            _Bound("power", kernel.power_w, budget.max_power_w, " W", 1, lambda w: _watts(kernel, w))
        )
    if budget.max_energy_j is not None:
        found.append(
            _Bound("energy", kernel.energy_j, budget.max_energy_j, " J", 4, lambda joules: f"{joules:.4g} J")
        )
    if budget.max_time_s is not None:
        found.append(_Bound("time", kernel.time_s, budget.max_time_s, " s", 6, lambda s: f"{s:.4g} s"))
    for limit, is_least in ((budget.min_density, True), (budget.max_density, False)):
        if limit is not None:
            found.append(
                _Bound(
                    "density",
                    density(kernel),
                    limit,
                    " operations per access",
                    2,
                    lambda number: f"density {number:.2f}",
                    is_least,
                )
            )
    if budget.max_limit_share is not None:
        power_w, limit_w = kernel.power_w, kernel.power_limit_w
        share = None if power_w is None or not limit_w else power_w / limit_w
        told: Callable[[float], str] = lambda value: (  # noqa: E731
            f"{_watts(kernel, power_w or 0.0)}, {value:.3f} of the power limit,"
        )
        found.append(_Bound("share of the power limit", share, budget.max_limit_share, "", 3, told))
    return found


def _watts(kernel: KernelAnalysis, power_w: float) -> str:
    if kernel.power_low_w is None or kernel.power_high_w is None:
        return f"{power_w:.1f} W"
    return f"{power_w:.1f} W ({kernel.power_low_w:.1f}-{kernel.power_high_w:.1f} W)"
