"""`wattslice watch [PATH...]`: analyses again what was edited, and tells what that changes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.commands.common import analysis_options, configured, options_from
from wattslice.commands.output import CONTEXT, message, write_result
from wattslice.commands.table import FINE
from wattslice.errors import WattsliceError
from wattslice.frontend.source_files import FileState, file_state, look_again
from wattslice.units import energy, power
from wattslice.units import time as seconds

if TYPE_CHECKING:
    from wattslice.config.config import Config
    from wattslice.gate.records import LaunchRecord

_POLL_S = 0.5


@click.command(context_settings=CONTEXT)
@analysis_options
def watch(**values: object) -> int:
    """Analyse again what changes, and tell the difference at once.

    Looks at the files twice a second, at headers, callers and build files too, until Ctrl-C. Settings and
    options count as they were at the start.
    """
    options = options_from(values)
    watcher = Watcher(configured(options), options.paths)
    for line in watcher.poll():
        message(line)
    message(f"watching; files: {len(watcher.files)}, launches: {watcher.launches}; Ctrl-C ends")

    def wait() -> bool:
        time.sleep(_POLL_S)
        return True

    with contextlib.suppress(KeyboardInterrupt):
        follow(watcher, wait)
    return FINE


def follow(watcher: Watcher, wait: Callable[[], bool]) -> None:
    """Tell what changes, as long as `wait`, which is called before each look, says so."""
    while wait():
        for line in watcher.poll():
            write_result(line)


class _File:
    """One file: its launches as they were told last, and the state of every path that it was read with."""

    def __init__(self) -> None:
        self.stamps: dict[str, FileState] = {}
        self.records: tuple[LaunchRecord, ...] | None = None


class Watcher:
    """The files that `paths` stand for, each analysed again when something it was read with changes."""

    def __init__(self, config: Config, paths: tuple[Path, ...]) -> None:
        from wattslice.pipeline.incremental import IncrementalAnalyzer

        self._analyzer = IncrementalAnalyzer(config)
        self._paths = paths
        self.files: dict[Path, _File] = {}

    @property
    def launches(self) -> int:
        """How many there are."""
        return sum(len(file.records or ()) for file in self.files.values())

    def poll(self) -> Iterator[str]:
        """One look at all files: a line for each launch that is another now, and for each problem.

        A file that is seen for the first time only has its problems told.
        """
        from wattslice.config.sources import source_files

        look_again()
        try:
            paths = source_files(self._paths)
        except WattsliceError:  # between two saves a file may be away
            return
        for path in [path for path in self.files if path not in paths]:
            del self.files[path]
            self._analyzer.forget(path)
            yield f"{path}: gone"
        for path in paths:
            file = self.files.setdefault(path, _File())
            if not file.stamps or any(file_state(name) != stamp for name, stamp in file.stamps.items()):
                yield from self._again(path, file)

    def _again(self, path: Path, file: _File) -> Iterator[str]:
        from wattslice.frontend.inputs import file_bytes, recorded
        from wattslice.gate.records import records_of

        # Before they are read: an edit meanwhile is one more change. A new file beside it may call it.
        own = (str(path), str(path.parent))
        file.stamps = {name: file_state(name) for name in (*own, *file.stamps)}
        with recorded() as recording:
            try:
                text = file_bytes(path).decode("utf-8", "replace")
                analysis = self._analyzer.analyze(path, text)
            except OSError as error:
                yield f"{path}: cannot be read: {error.strerror}"
                return
            except WattsliceError as error:
                yield str(error)
                return
        for name in recording.paths:
            file.stamps.setdefault(name, file_state(name))
        before, file.records = file.records, records_of(analysis, str)
        if before is not None:
            yield from _differences(path, before, file.records) or (f"{path}: no launch changes",)


def _differences(path: Path, before: tuple[LaunchRecord, ...], now: tuple[LaunchRecord, ...]) -> list[str]:
    from wattslice.gate.records import match

    matching = match(before, now)
    found: list[str] = []
    for pair in matching.pairs:
        old, new = pair.old, pair.new
        if (old.power_w, old.energy_j, old.time_s, old.grid, old.block) != (
            *(new.power_w, new.energy_j, new.time_s),
            *(new.grid, new.block),
        ):
            figures = (
                _change(power, old.power_w, new.power_w),
                _change(energy, old.energy_j, new.energy_j),
                _change(seconds, old.time_s, new.time_s),
            )
            found.append(f"{path}: {new.kernel}: {', '.join(figures)}")
    for word, records in (("new", matching.new), ("gone", matching.vanished)):
        found += [f"{path}: {word}: {record.kernel}, {power(record.power_w)}" for record in records]
    return found


def _change(show: Callable[[float | None], str], old: float | None, new: float | None) -> str:
    if show(old) == show(new):
        return show(new)
    share = f" ({100 * (new / old - 1):+.1f} %)" if old and new else ""
    return f"{show(old)} → {show(new)}{share}"
