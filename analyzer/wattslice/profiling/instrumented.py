"""Branch profiles from the program itself: instrumented source, which the user builds and runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from wattslice.branch_profile.profile import ArmCount, DataSetCounts
from wattslice.config.config import Config
from wattslice.errors import WattsliceError
from wattslice.profiling.probes.counts import InstrumentedSource, NotProbed, ProbeError, read_counts
from wattslice.profiling.probes.emit import emit_probes

Tell = Callable[[str], None]
_MOST_TOLD = 5


def instrumented(path: Path, config: Config, tell: Tell) -> InstrumentedSource:
    """The program with counters; `tell` hears of branches that are not counted."""
    source = emit_probes(path, config.parse)
    try:
        source.text.encode()
    except UnicodeEncodeError:
        raise ProbeError("it, or a header, is not UTF-8 text", path=path, remedy="convert it") from None
    _tell_missing(source.not_probed, tell)
    return source


def counted_elsewhere(path: Path, files: Sequence[Path], kernel: str | None) -> tuple[DataSetCounts, ...]:
    """What instrumented programs left, a data set for each file. Raises `WattsliceError`."""
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    found: list[DataSetCounts] = []
    for file in files:
        counts = read_counts(file)
        if counts.sha256 != sha256:
            remedy = "emit the probes anew, build and run"
            raise ProbeError(f"counts another version of {path}", path=file, remedy=remedy)
        arms = tuple(replace(arm, file=str(path)) if arm.file == counts.file else arm for arm in counts.arms)
        found.append(DataSetCounts(file.stem, _of_kernel(arms, kernel, path)))
    return tuple(found)


def _of_kernel(arms: tuple[ArmCount, ...], kernel: str | None, path: Path) -> tuple[ArmCount, ...]:
    if kernel is None:
        return arms
    chosen = tuple(arm for arm in arms if arm.kernel == kernel)
    if not chosen:
        names = ", ".join(dict.fromkeys(arm.kernel for arm in arms))
        raise WattsliceError(
            f"no branch of a kernel {kernel!r} was counted", path=path, remedy=f"there are {names}"
        )
    return chosen


def _tell_missing(missing: Sequence[NotProbed], tell: Tell) -> None:
    for entry in missing[:_MOST_TOLD]:
        tell(f"{entry.file}:{entry.line}: this branch is not counted: {entry.reason}")
    if len(missing) > _MOST_TOLD:
        tell(f"{len(missing) - _MOST_TOLD} more branches are not counted")
