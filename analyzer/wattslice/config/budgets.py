"""Budgets: what a kernel may draw, take and cost, for the kernels that its patterns name.

Several budgets may name one kernel; each holds. A budget of the settings says where it stands, so that a
finding can name it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from wattslice.documents import Value


class Budget(Struct, frozen=True):
    """Bounds for the kernels that match `kernel` and `file`; None: no bound. What is exactly at one passes,
    watts with a warning.

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

    def holds_for(self, file: str, names: Iterable[str]) -> bool:
        """Whether it is for a kernel in `file` that goes by `names`, the plain and the qualified one."""
        return any(fnmatchcase(name, self.kernel) for name in names) and self.covers(file)

    def covers(self, file: str) -> bool:
        """Whether the file pattern matches; one without a slash is about the file's own name."""
        return _file_pattern(self.file).fullmatch(_relative(Path(file), self.folder)) is not None


def parse_budgets(path: Path, place: str, value: object) -> tuple[Budget, ...]:
    """The entries of ``[[gate.budget]]``. Raises `WattsliceError` with the place of what is wrong."""
    budgets: list[Budget] = []
    for number, entry in enumerate(Value(path, place, value).list(), 1):
        table = entry.table()
        table.only("kernel", "file", *_BOUND_KEYS)
        names = [key for key in ("kernel", "file") if key in table]
        patterns = {key: table.value(key).name() for key in names}
        bounds: dict[str, float] = {}
        for key, field in _BOUND_KEYS.items():
            if key in table:
                bounds[field] = table.value(key).positive()
        if "file" in patterns:
            try:
                _file_pattern(patterns["file"])
            except re.error as error:
                remedy = "a glob such as src/**/*.cu"
                raise table.value("file").error(f"{patterns['file']!r}: {error.msg}", remedy) from None
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
            found.get(part) or (_any_of(part[1:-1]) if index % 2 else re.escape(part))
            for index, part in enumerate(parts)
        ),
        re.DOTALL,  # a name may hold a line end
    )


def _any_of(characters: str) -> str:
    """What stands between the brackets of a glob, as a regular expression."""
    negated = characters.startswith("!")
    escaped = re.sub(r"([\\\[\]&~|^])", r"\\\1", characters[negated:])
    return f"[{'^' * negated}{escaped}]"


def _relative(file: Path, folder: Path) -> str:
    """The path as patterns see it: from the settings' folder where it lies below, else absolute."""
    absolute, base = (Path(os.path.realpath(path)) for path in (file, folder))
    return absolute.relative_to(base).as_posix() if absolute.is_relative_to(base) else absolute.as_posix()
