"""The raw trace of one configuration: every reading, and what happened when; kept beside the result."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.measuring.program import Window
from wattslice_corpora.measuring.sensor import Reading, Throttle

_COLUMNS = Reading.__struct_fields__
_MARKS = ("start_s", "begin_s", "end_s", "launches", "elapsed_s", "failures")


class TraceError(ValueError):
    """A trace that cannot be read; the message names file and line."""


class Trace(Struct, frozen=True):
    """Readings in order of time; before `start_s` the GPU idled, within `window` the launch was repeated.

    `failures`: how often the board did not answer.
    """

    readings: tuple[Reading, ...]
    start_s: float
    window: Window
    failures: int = 0

    def between(self, begin_s: float, end_s: float) -> tuple[Reading, ...]:
        """The readings within a span."""
        return tuple(reading for reading in self.readings if begin_s <= reading.time_s <= end_s)

    @property
    def idle(self) -> tuple[Reading, ...]:
        """The readings before the program was started."""
        return tuple(reading for reading in self.readings if reading.time_s < self.start_s)


def write_trace(path: Path, trace: Trace) -> None:
    """As gzipped CSV, times relative to the first reading; the same trace always gives the same bytes."""
    zero = trace.readings[0].time_s if trace.readings else trace.start_s
    window = trace.window
    marks = (
        trace.start_s - zero,
        window.begin_s - zero,
        window.end_s - zero,
        window.launches,
        window.elapsed_s,
        trace.failures,
    )
    text = io.StringIO()
    text.writelines(f"# {name} = {value!r}\n" for name, value in zip(_MARKS, marks, strict=True))
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for reading in trace.readings:
        values = [getattr(reading, name) for name in _COLUMNS]
        values[0] = round(reading.time_s - zero, 6)
        values[-1] = None if reading.throttle is None else reading.throttle.value
        writer.writerow("" if value is None else repr(value) for value in values)
    with path.open("wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(text.getvalue().encode())


def read_trace(path: Path) -> Trace:
    """What `write_trace` wrote. Raises `TraceError`, and ``OSError`` when unreadable."""
    number = 0
    marks: list[float] = []
    readings: list[Reading] = []
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            for number, line in enumerate(stream, start=1):  # noqa: B007 (told when a line is bad)
                if line.startswith("#"):
                    name, _, value = line[1:].partition("=")
                    if name.strip() != _MARKS[len(marks)]:
                        raise ValueError(f"expected {_MARKS[len(marks)]}")
                    marks.append(float(value))
                elif line.startswith("time_s"):
                    continue
                else:
                    readings.append(_reading(line.rstrip("\n").split(",")))
        start_s, begin_s, end_s, launches, elapsed_s, failures = marks
    except (ValueError, TypeError, IndexError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(f"{path}:{number}: not a trace of power readings ({error})") from None
    window = Window(begin_s, end_s, int(launches), elapsed_s)
    return Trace(tuple(readings), start_s, window, int(failures))


def _reading(cells: list[str]) -> Reading:
    *numbers, throttle = (float(cell) if cell else None for cell in cells)
    time_s, *rest = numbers
    if time_s is None:
        raise ValueError("a reading without its time")
    instant_w, average_w, memory_w, energy_j, core_mhz, memory_mhz, temperature_c = rest
    return Reading(
        time_s,
        instant_w,
        average_w,
        memory_w,
        energy_j,
        core_mhz,
        memory_mhz,
        temperature_c,
        None if throttle is None else Throttle(int(throttle)),
    )
