"""Reads a sensor in a thread of its own while something else happens (MTSM: Arafa et al. 2020, IV-C)."""

from __future__ import annotations

import random
import threading
import time
from types import TracebackType

from wattslice_corpora.measuring.sensor import Reading, Sensor, SensorError


class Sampler:
    """``with Sampler(sensor) as sampler: ...; sampler.readings()``.

    `period_s` is the mean time between two readings. It varies by half of itself, so that the readings never
    fall into step with the board's own updates (every 20 to 100 ms) and see only one side of them.
    """

    def __init__(self, sensor: Sensor, period_s: float = 0.015, seed: int = 0) -> None:
        self._sensor = sensor
        self._period_s = period_s
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="power sampling", daemon=True)
        self._readings: list[Reading] = []
        self._failures = 0
        self._defect: BaseException | None = None

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if self._defect is not None and error is None:
            raise self._defect

    def readings(self) -> tuple[Reading, ...]:
        """Everything read so far, in order."""
        return tuple(self._readings)

    @property
    def failures(self) -> int:
        """How often the board did not answer."""
        return self._failures

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                began = time.monotonic()
                try:
                    self._readings.append(self._sensor.read())
                except SensorError:
                    self._failures += 1
                spent = time.monotonic() - began
                self._stop.wait(max(0.0, self._period_s * self._random.uniform(0.5, 1.5) - spent))
        except BaseException as error:
            self._defect = error
