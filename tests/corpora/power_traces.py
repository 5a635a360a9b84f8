"""Traces as a Hopper board gives them: readings every 15 ms that move every 100 ms, and an energy counter."""

import math

from msgspec import Struct
from msgspec.structs import replace

from wattslice_corpora.measuring.program import Window
from wattslice_corpora.measuring.sensor import Reading, Throttle
from wattslice_corpora.measuring.trace import Trace

IDLE_W = 70.0


class Course(Struct, frozen=True):
    """A second of idling, a kernel of `busy_w` for `window_s` after a warm-up of a second."""

    busy_w: float = 300.0
    window_s: float = 2.5
    noise_w: float = 1.5
    counter_factor: float = 1.0
    counter_start_j: float = 1000.0
    counter_modulus_j: float = math.inf
    throttle: Throttle | None = Throttle.NONE

    def power_w(self, time_s: float) -> float:
        """What the chip draws."""
        return self.busy_w if 1.0 <= time_s <= 2.0 + self.window_s else IDLE_W

    def reading(self, time_s: float) -> Reading:
        """What the sensors say: the state at the last tenth of a second."""
        at_s = math.floor(time_s * 10) / 10
        power_w = self.power_w(at_s) + self.noise_w * math.sin(at_s * 97.0)
        busy_s = min(max(at_s - 1.0, 0.0), 1.0 + self.window_s)
        energy_j = self.counter_start_j + self.counter_factor * (
            at_s * IDLE_W + busy_s * (self.busy_w - IDLE_W)
        )
        return Reading(
            time_s=time_s,
            instant_w=power_w,
            average_w=power_w,
            memory_w=0.2 * power_w,
            energy_j=energy_j % self.counter_modulus_j,
            core_mhz=1980.0,
            memory_mhz=3201.0,
            temperature_c=45.0,
            throttle=self.throttle,
        )

    def trace(self) -> Trace:
        """The whole of it."""
        count = int((2.0 + self.window_s) / 0.015)
        readings = tuple(self.reading(0.015 * number) for number in range(count))
        window = Window(2.0, 2.0 + self.window_s, 25000, self.window_s)
        return Trace(readings, start_s=0.9, window=window)


def without(trace: Trace, **fields: None) -> Trace:
    """The trace of a board that lacks some sensors."""
    return replace(trace, readings=tuple(replace(reading, **fields) for reading in trace.readings))
