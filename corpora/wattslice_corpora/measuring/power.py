"""From a raw trace to watts, by four methods, with the reasons for which they must not be believed.

- energy counter: joules counted by the board over the plateau, divided by its seconds. The reference.
- MTSM: integral of the samples taken between the kernel's begin and end, divided by the seconds
  (multi-threaded synchronised monitoring: Arafa et al. 2020, IV-C).
- SMA: the plateau of the whole trace, found without knowing when the kernel ran (IV-A).
- PAPI: one reading when the kernel ends (IV-B).
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from wattslice_corpora.measuring.plateau import FEWEST_READINGS, Plateau, find_plateau
from wattslice_corpora.measuring.sensor import CAPPING, SLOWING, Reading, Throttle
from wattslice_corpora.measuring.trace import Trace

SHORTEST_WINDOW_S = 2.0
LARGEST_DISAGREEMENT = 0.03
"""Between the energy counter and the integrated samples."""

SHORTEST_LAUNCH_S = 30e-6
LAUNCH_GAP_S = 0.6e-6
"""How long the GPU idles between two launches of a graph: what the spinning kernels of an H200 took on top of
their cycles. 2 % of the shortest launch."""

_LEAST_STEADY = 0.8
_MOST_FAILURES = 0.2
_CLOCK_DRIFT = 0.02
_SHARE_THROTTLED = 0.05
_FEWEST_STEPS = 5
_COUNTER_MODULUS_J = 2**32 * 1e-3  # a 32-bit counter of millijoules


class Method(StrEnum):
    """How the watts of a row were found."""

    ENERGY_COUNTER = "energy counter"
    MTSM = "MTSM"
    SMA = "SMA"
    PAPI = "PAPI"


class MethodPowers(Struct, frozen=True):
    """Board watts of one trace by every method; None where the board does not offer what it takes."""

    energy_counter_w: float | None
    mtsm_w: float | None
    sma_w: float | None
    papi_w: float | None

    def by(self, method: Method) -> float | None:
        """The watts by one method."""
        return {
            Method.ENERGY_COUNTER: self.energy_counter_w,
            Method.MTSM: self.mtsm_w,
            Method.SMA: self.sma_w,
            Method.PAPI: self.papi_w,
        }[method]


class Power(Struct, frozen=True):
    """What a trace says. `invalid`: why the watts are not to be used, empty when they are.

    `energy_j`: of one launch. `capped`: the board held its power limit, so that the kernel would have drawn
    more (a censored value); `throttled`: heat slowed the clocks. None: not told by the board.
    """

    power_w: float | None
    method: Method
    powers: MethodPowers
    energy_j: float | None
    idle_w: float | None
    memory_w: float | None
    temperature_c: float | None
    core_mhz: float | None
    memory_mhz: float | None
    capped: bool | None
    throttled: bool | None
    invalid: str


def power_of(trace: Trace, method: Method | None = None) -> Power:
    """The watts of a trace; `method` None: the energy counter where there is one, else MTSM."""
    window = trace.window
    inside = trace.between(window.begin_s, window.end_s)
    capped = _share(inside, CAPPING)
    # At its limit a board holds the average of a second, not the power: it swings about the limit (H200: 500
    # to 790 W, 0.8 s long), and the mean over the window is what belongs to the mean time of its launches.
    plateau = None if capped else _plateau(inside)
    steady = trace.between(plateau.begin_s, plateau.end_s) if plateau else inside
    powers = MethodPowers(
        energy_counter_w=counter_power(steady, swings=capped is True),
        mtsm_w=integrated_power(steady),
        sma_w=_power(_plateau(trace.readings)),
        papi_w=_reading_at_end(inside),
    )
    if method is None:
        method = Method.MTSM if powers.energy_counter_w is None else Method.ENERGY_COUNTER
    power_w = powers.by(method)
    throttled = _share(steady, SLOWING)
    launch_s = window.elapsed_s / window.launches
    return Power(
        power_w=power_w,
        method=method,
        powers=powers,
        energy_j=None if powers.energy_counter_w is None else powers.energy_counter_w * launch_s,
        idle_w=_median(reading.board_w for reading in trace.idle),
        memory_w=_median(reading.memory_w for reading in steady),
        temperature_c=_median(reading.temperature_c for reading in steady),
        core_mhz=_clock(steady, capped),
        memory_mhz=_median(reading.memory_mhz for reading in steady),
        capped=capped,
        throttled=throttled,
        invalid="; ".join(_doubts(trace, inside, plateau, powers, power_w, capped, throttled)),
    )


def counter_power(readings: tuple[Reading, ...], swings: bool = False) -> float | None:
    """Watts from the energy counter: the slope of joules over seconds through its steps, by least squares.

    The counter moves every 100 ms or so, some milliseconds before a reading shows it: a step is taken to have
    happened half-way between two readings, and many of them are worth more than the first and the last. These
    two alone count where the power `swings`, for then no slope is the mean. None when the counter is missing,
    made fewer than five steps, or went backwards other than by wrapping at 32 bits.
    """
    steps = _counter_steps(readings)
    if len(steps) < _FEWEST_STEPS:
        return None
    if swings:
        (first_s, first_j), (last_s, last_j) = steps[0], steps[-1]
        return (last_j - first_j) / (last_s - first_s)
    return statistics.linear_regression(*zip(*steps, strict=True)).slope


def _counter_steps(readings: tuple[Reading, ...]) -> list[tuple[float, float]]:
    """Seconds and joules of the counter's steps; none where it went backwards."""
    steps: list[tuple[float, float]] = []
    before: float | None = None
    before_s = 0.0
    carried_j = 0.0
    for reading in readings:
        energy_j = reading.energy_j
        if energy_j is None:
            continue
        if before is not None and energy_j < before:
            if not (before > 0.9 * _COUNTER_MODULUS_J and energy_j < 0.1 * _COUNTER_MODULUS_J):
                return []
            carried_j += _COUNTER_MODULUS_J
        if before is not None and energy_j != before:
            steps.append(((before_s + reading.time_s) / 2, carried_j + energy_j))
        before, before_s = energy_j, reading.time_s
    return steps


def integrated_power(readings: tuple[Reading, ...]) -> float | None:
    """Area under the samples (trapezoids) over their span; None with fewer than two."""
    samples = [(reading.time_s, reading.board_w) for reading in readings]
    known = [(time_s, power_w) for time_s, power_w in samples if power_w is not None]
    if len(known) < 2 or known[-1][0] <= known[0][0]:
        return None
    pairs = itertools.pairwise(known)
    area_j = sum((later - sooner) * (first + second) / 2 for (sooner, first), (later, second) in pairs)
    return area_j / (known[-1][0] - known[0][0])


def _plateau(readings: tuple[Reading, ...]) -> Plateau | None:
    known = [(reading.time_s, reading.board_w) for reading in readings]
    samples = [(time_s, power_w) for time_s, power_w in known if power_w is not None]
    updates = _updates(samples)
    chosen = samples if len(updates) < FEWEST_READINGS else updates
    return find_plateau(tuple(time_s for time_s, _ in chosen), tuple(power_w for _, power_w in chosen))


def _updates(samples: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The samples at which the sensor moved, and the last one.

    Between its own updates a board repeats itself: repetitions are no evidence of a quiet signal, and a wild
    value that is repeated seven times is still one wild value.
    """
    moved = [sample for before, sample in itertools.pairwise(samples) if sample[1] != before[1]]
    return [*samples[:1], *moved, *samples[-1:]]


def _power(plateau: Plateau | None) -> float | None:
    return None if plateau is None else plateau.power_w


def _reading_at_end(readings: tuple[Reading, ...]) -> float | None:
    """PAPI asks for the power usage, which is the average over the last second where boards tell both."""
    for reading in reversed(readings):
        if reading.average_w is not None or reading.instant_w is not None:
            return reading.instant_w if reading.average_w is None else reading.average_w
    return None


def _doubts(
    trace: Trace,
    inside: tuple[Reading, ...],
    plateau: Plateau | None,
    powers: MethodPowers,
    power_w: float | None,
    capped: bool | None,
    throttled: bool | None,
) -> list[str]:
    window = trace.window
    length_s = window.end_s - window.begin_s
    asked = len(trace.readings) + trace.failures
    doubts: list[str] = []
    launch_s = window.elapsed_s / window.launches
    if launch_s < SHORTEST_LAUNCH_S:
        share = LAUNCH_GAP_S / launch_s
        doubts.append(f"launches of {launch_s * 1e6:.0f} µs: the gaps between them are some {share:.0%}")
    if length_s < SHORTEST_WINDOW_S:
        doubts.append(f"window of {length_s:.2f} s is shorter than {SHORTEST_WINDOW_S:g} s")
    if trace.failures > _MOST_FAILURES * asked:
        doubts.append(f"the sensor failed {trace.failures} of {asked} times")
    watts = [reading.board_w for reading in inside if reading.board_w is not None]
    if power_w is None:
        doubts.append("no watts by this method: the sensor is missing or dead")
    elif len(watts) > 2 and len({reading.board_w for reading in (*trace.idle, *inside)}) == 1:
        doubts.append("the sensor never moved, not even from idle to load")
    if plateau is not None and plateau.end_s - plateau.begin_s < _LEAST_STEADY * length_s:
        share = (plateau.end_s - plateau.begin_s) / length_s
        doubts.append(f"not steady: the plateau covers {share:.0%} of the window")
    if _counter_lost(inside):
        doubts.append("the energy counter stood still or went backwards")
    counter_w, mtsm_w = powers.energy_counter_w, powers.mtsm_w
    if counter_w is not None and mtsm_w is not None:
        apart = abs(counter_w - mtsm_w) / mtsm_w if mtsm_w > 0 else float("inf")
        if apart > LARGEST_DISAGREEMENT:
            doubts.append(f"energy counter and samples are {apart:.1%} apart")
    clocks = [reading.core_mhz for reading in inside if reading.core_mhz is not None]
    if throttled:
        doubts.append("heat slowed the clocks")
    elif clocks and not capped and max(clocks) - min(clocks) > _CLOCK_DRIFT * max(clocks):
        doubts.append(f"the clock moved from {min(clocks):g} to {max(clocks):g} MHz")
    return doubts


def _counter_lost(inside: tuple[Reading, ...]) -> bool:
    """The board has a counter, but it gave no watts over a window that was long enough."""
    counted = [reading for reading in inside if reading.energy_j is not None]
    long_enough = len(counted) > 1 and counted[-1].time_s - counted[0].time_s >= 0.9 * SHORTEST_WINDOW_S
    return long_enough and counter_power(inside) is None


def _share(readings: tuple[Reading, ...], reasons: Throttle) -> bool | None:
    told = [reading.throttle for reading in readings if reading.throttle is not None]
    if not told:
        return None
    return sum(bool(throttle & reasons) for throttle in told) > _SHARE_THROTTLED * len(told)


def _clock(steady: tuple[Reading, ...], capped: bool | None) -> float | None:
    """The clock of a steady board is one of its steps, that of a swinging one the mean of them."""
    known = [reading.core_mhz for reading in steady if reading.core_mhz is not None]
    return statistics.fmean(known) if capped and known else _median(known)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
