"""Section a: what the board's sensors are worth, before any watts of a kernel are believed."""

from __future__ import annotations

import itertools
import json
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct, to_builtins

from wattslice_corpora.measuring.bench import visible
from wattslice_corpora.measuring.builder import Builder
from wattslice_corpora.measuring.errors import ConfigurationError
from wattslice_corpora.measuring.power import integrated_power
from wattslice_corpora.measuring.program import Window, dies_with_us, run_to_end
from wattslice_corpora.measuring.sampling import Sampler
from wattslice_corpora.measuring.sensor import Reading, Sensor
from wattslice_corpora.measuring.trace import Trace, write_trace
from wattslice_corpora.records import write_text

SOURCE = Path(__file__).with_name("square_wave.cu")
RESULT = "sensor.json"
IDLE_S, HOLD_S, ON_S, OFF_S, CYCLES = 4.0, 3.0, 1.5, 1.5, 4
CHECK_S = 2 * IDLE_S + HOLD_S + CYCLES * (ON_S + OFF_S) + 2.0
_PERIOD_S = 0.005
_SLACK_S = 15.0


class Idle(Struct, frozen=True):
    """Medians while nothing runs; the clocks are those that the board chose."""

    power_w: float | None
    core_mhz: float | None
    memory_mhz: float | None
    temperature_c: float | None


class SensorCheck(Struct, frozen=True):
    """None: the board does not tell. `delay_s`: from the begin of work to the reading half-way up.

    `..._period_s`: median time between changes of a reading under a changing load.
    `counter_over_integral`: joules of the energy counter over the integral of the samples, for the wave.
    """

    without_context: Idle
    with_context: Idle
    after_load: Idle
    busy_w: float | None
    instant_period_s: float | None
    average_period_s: float | None
    energy_period_s: float | None
    delay_s: float | None
    average_delay_s: float | None
    counter_over_integral: float | None
    readings: int
    failures: int


class Wave(Struct, frozen=True):
    """When (``CLOCK_MONOTONIC``) the program held its context, and began and ended every burst of work."""

    hold_s: float
    on_s: tuple[float, ...]
    off_s: tuple[float, ...]


def check_sensor(sensor: Sensor, builder: Builder, folder: Path) -> SensorCheck:
    """Runs the square wave; writes ``sensor.json`` and its trace into `folder`.

    Raises `ConfigurationError` when the program fails.
    """
    program = builder.build(SOURCE)
    with Sampler(sensor, _PERIOD_S) as sampler:
        time.sleep(IDLE_S)
        start_s = time.monotonic()
        wave = run_wave(program, visible(sensor.board()))
        time.sleep(IDLE_S)
    window = Window(wave.on_s[0], wave.off_s[-1], len(wave.on_s), wave.off_s[-1] - wave.on_s[0])
    trace = Trace(sampler.readings(), start_s, window, sampler.failures)
    found = judge_sensor(trace, wave)
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    write_trace(folder / "traces" / "sensor-check.csv.gz", trace)
    text = json.dumps({"check": to_builtins(found), "wave": to_builtins(wave)}, indent=1)
    write_text(folder / RESULT, f"{text}\n")
    return found


def judge_sensor(trace: Trace, wave: Wave) -> SensorCheck:
    """What a trace of the square wave says."""
    end_s = wave.off_s[-1]
    inside = trace.between(wave.on_s[0], end_s)
    busy = [
        reading
        for on_s, off_s in zip(wave.on_s, wave.off_s, strict=True)
        for reading in trace.between(on_s + 0.5, off_s)
    ]
    energies = [(one.time_s, one.energy_j) for one in inside if one.energy_j is not None]
    mean_w = integrated_power(inside)
    ratio = None
    if energies and mean_w:
        (first_s, first_j), (last_s, last_j) = energies[0], energies[-1]
        ratio = (last_j - first_j) / (mean_w * (last_s - first_s)) if last_s > first_s else None
    return SensorCheck(
        without_context=_idle(trace.idle),
        with_context=_idle(trace.between(wave.hold_s + 0.5, wave.on_s[0])),
        after_load=_idle(trace.between(end_s + 1.0, float("inf"))),
        busy_w=_median(one.board_w for one in busy),
        instant_period_s=_period(inside, lambda one: one.instant_w),
        average_period_s=_period(inside, lambda one: one.average_w),
        energy_period_s=_period(inside, lambda one: one.energy_j),
        delay_s=_delay(trace, wave, lambda one: one.instant_w),
        average_delay_s=_delay(trace, wave, lambda one: one.average_w),
        counter_over_integral=ratio,
        readings=len(trace.readings),
        failures=trace.failures,
    )


def run_wave(program: Path, environment: tuple[tuple[str, str], ...]) -> Wave:
    """Runs the square wave to its end. Raises `ConfigurationError`."""
    words = (str(program), *(str(number) for number in (HOLD_S, ON_S, OFF_S, CYCLES)))
    done = run_to_end(words, (*environment, *dies_with_us()), CHECK_S + _SLACK_S)
    marks: dict[str, list[float]] = {"hold": [], "on": [], "off": []}
    for line in done.stdout.splitlines():
        what, _, nanoseconds = line.partition(" ")
        if what in marks:
            marks[what].append(int(nanoseconds) * 1e-9)
    if done.returncode != 0 or len(marks["off"]) != CYCLES:
        raise ConfigurationError(f"the square wave failed: {(done.stderr or done.stdout).strip()[-200:]}")
    return Wave(marks["hold"][0], tuple(marks["on"]), tuple(marks["off"]))


def _idle(readings: Iterable[Reading]) -> Idle:
    some = tuple(readings)
    return Idle(
        _median(one.board_w for one in some),
        _median(one.core_mhz for one in some),
        _median(one.memory_mhz for one in some),
        _median(one.temperature_c for one in some),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _period(readings: tuple[Reading, ...], of: Callable[[Reading], float | None]) -> float | None:
    changes = [
        after.time_s
        for before, after in itertools.pairwise(readings)
        if of(before) is not None and of(after) is not None and of(before) != of(after)
    ]
    return _median(after - before for before, after in itertools.pairwise(changes))


def _delay(trace: Trace, wave: Wave, of: Callable[[Reading], float | None]) -> float | None:
    """Median over the bursts, of the first reading above the middle between before and during."""
    delays: list[float] = []
    for on_s, off_s in zip(wave.on_s, wave.off_s, strict=True):
        low = _median(of(one) for one in trace.between(on_s - 0.3, on_s))
        high = _median(of(one) for one in trace.between(off_s - 0.3, off_s))
        if low is None or high is None or high <= low:
            continue
        above = (
            one.time_s - on_s
            for one in trace.between(on_s, off_s)
            if (value := of(one)) is not None and value > (low + high) / 2
        )
        delays += [delay for delay in (next(above, None),) if delay is not None]
    return _median(delays)
