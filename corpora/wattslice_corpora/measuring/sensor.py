"""What a power sensor is: a board that can be asked, now, what it draws."""

from __future__ import annotations

from enum import Flag
from typing import Protocol

from msgspec import Struct


class SensorError(RuntimeError):
    """The board did not answer this time."""


class Throttle(Flag):
    """Why the clocks are not higher; the bits are NVML's ``nvmlClocksEventReason*``."""

    NONE = 0
    IDLE = 0x1
    CLOCK_SETTING = 0x2
    POWER_CAP = 0x4
    HW_SLOWDOWN = 0x8
    SYNC_BOOST = 0x10
    SW_THERMAL = 0x20
    HW_THERMAL = 0x40
    POWER_BRAKE = 0x80
    DISPLAY_CLOCK = 0x100


CAPPING = Throttle.POWER_CAP | Throttle.POWER_BRAKE
SLOWING = Throttle.SW_THERMAL | Throttle.HW_THERMAL
"""Heat. HW_SLOWDOWN alone does not say why: the power brake sets it as well."""


class Board(Struct, frozen=True):
    """The GPU as its driver names it. `power_limit_w`: the limit in force; None when not told."""

    name: str
    uuid: str
    pci_bus_id: str
    driver: str
    cuda: str
    power_limit_w: float | None


class Reading(Struct, frozen=True):
    """What the sensors said at one moment; None for what the board does not tell.

    `time_s`: ``CLOCK_MONOTONIC``. `instant_w`: board power over the sensor's own short window; `average_w`:
    over the last second (on boards before Ampere both may be one thing); `memory_w`: of the memory alone;
    `energy_j`: counted since the driver was loaded.
    """

    time_s: float
    instant_w: float | None
    average_w: float | None
    memory_w: float | None
    energy_j: float | None
    core_mhz: float | None
    memory_mhz: float | None
    temperature_c: float | None
    throttle: Throttle | None

    @property
    def board_w(self) -> float | None:
        """The best there is: instant power, else the average."""
        return self.average_w if self.instant_w is None else self.instant_w


class Sensor(Protocol):
    """A board whose power can be read. Used by one thread at a time."""

    def board(self) -> Board:
        """Which board this is."""
        ...

    def read(self) -> Reading:
        """The sensors, now. Raises `SensorError`."""
        ...

    def close(self) -> None:
        """Let the driver go."""
        ...
