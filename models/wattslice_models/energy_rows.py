"""Measured runs as the energy fit reads them: work per second, and how much of it is on live data."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice_models.contract import Example
from wattslice_models.energy import Component, clocked_share, component_work, live_share
from wattslice_models.execution_time import core_clock_mhz
from wattslice_models.gpu import Gpu

Array = NDArray[np.float64]


class TimedRow(Struct, frozen=True):
    """An example whose time is known."""

    example: Example
    time_s: float

    @property
    def core_mhz(self) -> float:
        """The core clock it ran at."""
        return core_clock_mhz(self.example.subject.gpu, self.example.subject.clocks)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Blocks of each launch of an iteration."""
        return tuple(launch.workload.blocks for launch in self.example.subject.launches)


class WorkRates(Struct, frozen=True):
    """Work per measured second of every run: rows are runs, columns `components`.

    Fp32 instructions and integer multiplications stand together under FP32, because the same units make both.
    `live`: the part of `rates` that is on live data. `clocked`: share of P_active (`clocked_share`).
    """

    components: tuple[Component, ...]
    rates: Array
    live: Array
    clocked: Array
    core_mhz: Array
    power_w: Array

    def column(self, component: Component) -> int:
        """Where a component stands in `rates` and `live`."""
        return self.components.index(component)


def work_rates(rows: tuple[TimedRow, ...], gpu: Gpu) -> WorkRates:
    """The arrays of `rows`, all of them measured on `gpu`."""
    done = [_row_work(row, gpu) for row in rows]
    components = tuple(done[0])
    per_second = 1.0 / np.array([[row.time_s] for row in rows])
    return WorkRates(
        components=components,
        rates=np.array([[work[c].total for c in components] for work in done]) * per_second,
        live=np.array([[work[c].live for c in components] for work in done]) * per_second,
        clocked=np.array([clocked_share(min(1.0, max(row.blocks) / gpu.sm_count)) for row in rows]),
        core_mhz=np.array([row.core_mhz for row in rows]),
        power_w=np.array([row.example.power_w for row in rows]),
    )


class _Work(Struct):
    total: float = 0.0
    live: float = 0.0


def _row_work(row: TimedRow, gpu: Gpu) -> dict[Component, _Work]:
    found: dict[Component, _Work] = {}
    for launch in row.example.subject.launches:
        for entry in component_work(launch.workload, gpu):
            multiplies = entry.component is Component.INTEGER_MULTIPLY
            work = found.setdefault(Component.FP32 if multiplies else entry.component, _Work())
            number = launch.repeat * entry.number
            work.total += number
            work.live += number * live_share(entry.component, launch.workload)
    return found
