"""Measured runs as the joint fit reads them: rates of work of every launch, over predicted seconds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice_models.contract import Example
from wattslice_models.energy import DYNAMIC_COMPONENTS, awake_share, component_work, live_share
from wattslice_models.execution_time import (
    DEFAULT_TIME_PARAMETERS,
    Clocks,
    core_clock_mhz,
    memory_clock_scale,
    predict_time,
)
from wattslice_models.gpu import Gpu
from wattslice_models.joint import SIZE_W, has_gddr5, has_hbm, log_process

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Indices = NDArray[np.int64]


class Reading(Struct, frozen=True):
    """Measured watts of a run, or of an idle board at some clocks: then there is no example.

    `program`: what the reading is of; the readings of one program are one piece of evidence. `peak`: whether
    the watts are the highest samples, not their mean.
    """

    gpu: Gpu
    clocks: Clocks
    dataset: str
    program: str
    power_w: float
    example: Example | None = None
    peak: bool = False


class JointRows(Struct, frozen=True, eq=False):
    """Arrays of readings (rows) and of their launches. `row`: of each launch; an idle board is one launch.

    Of a launch: `work`, shape (launches, components), 1e-12 of the work per second (watts at 1 pJ for each);
    `live`: the part of it on live values; `share` of the time of its row.
    """

    readings: tuple[Reading, ...]
    log_power: Array
    log_limit: Array
    peak: Array
    seconds: Array
    row: Indices
    share: Array
    work: Array
    live: Array
    core: Array
    memory: Array
    awake: Array
    idle: Mask
    size: Array
    hbm: Array
    gddr5: Array
    process: Array
    reference_w: Array

    def __len__(self) -> int:
        return len(self.readings)

    def those(self, kept: Mask) -> JointRows:
        """The rows that are `kept`, shape (rows,)."""
        launches = kept[self.row]
        numbers = np.cumsum(kept) - 1
        found: dict[str, Any] = {
            "readings": tuple(one for one, keep in zip(self.readings, kept, strict=True) if keep),
            "row": numbers[self.row[launches]],
        }
        for name in ("log_power", "log_limit", "peak", "seconds"):
            found[name] = getattr(self, name)[kept]
        for name in self.__struct_fields__:
            if name not in found:
                found[name] = getattr(self, name)[launches]
        return JointRows(**found)

    def at_seconds(self, seconds: Array) -> JointRows:
        """The same work in other seconds, shape (rows,), of each row."""
        faster = (self.seconds / seconds)[self.row][:, None]
        changes: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        changes |= {"work": self.work * faster, "live": self.live * faster, "seconds": seconds}
        return JointRows(**changes)


def joint_rows(readings: tuple[Reading, ...]) -> JointRows:
    """The arrays of `readings`. Raises ``ValueError`` for a GPU without a known power limit."""
    launches: list[_Launch] = []
    seconds: list[float] = []
    for number, reading in enumerate(readings):
        found = _launches(number, reading)
        total_s = math.fsum(launch.time_s for launch in found)
        seconds.append(total_s)
        launches += found
    limits = [_limit_w(reading.gpu) for reading in readings]
    time_s = np.array([launch.time_s for launch in launches])
    row = np.array([launch.row for launch in launches], dtype=np.int64)
    gpus = [readings[launch.row].gpu for launch in launches]
    clocks = [readings[launch.row].clocks for launch in launches]
    pairs = list(zip(gpus, clocks, strict=True))
    reference_w: Array = np.array([gpu.design_power_w for gpu in gpus])
    return JointRows(
        readings=readings,
        log_power=np.log([reading.power_w for reading in readings]),
        log_limit=np.log(limits),
        peak=np.array([float(reading.peak) for reading in readings]),
        seconds=np.array(seconds),
        row=row,
        share=time_s / np.array(seconds)[row],
        work=np.array([launch.work for launch in launches]),
        live=np.array([launch.live for launch in launches]),
        core=np.array([core_clock_mhz(*pair) / pair[0].boost_clock_mhz for pair in pairs]),
        memory=np.array([memory_clock_scale(*pair) for pair in pairs]),
        awake=np.array([launch.awake for launch in launches]),
        idle=np.array([readings[launch.row].example is None for launch in launches]),
        size=np.log(reference_w / SIZE_W),
        hbm=np.array([has_hbm(gpu) for gpu in gpus]),
        gddr5=np.array([has_gddr5(gpu) for gpu in gpus]),
        process=np.array([log_process(gpu) for gpu in gpus]),
        reference_w=reference_w,
    )


class _Launch(Struct, frozen=True):
    row: int
    time_s: float
    awake: float
    work: tuple[float, ...]
    live: tuple[float, ...]


def _launches(number: int, reading: Reading) -> list[_Launch]:
    if reading.example is None:
        nothing = (0.0,) * len(DYNAMIC_COMPONENTS)
        return [_Launch(number, 1.0, 0.0, nothing, nothing)]
    gpu, found = reading.gpu, list[_Launch]()
    for launch in reading.example.subject.launches:
        timing = predict_time(launch.workload, gpu, reading.clocks, DEFAULT_TIME_PARAMETERS)
        per_second = 1e-12 / timing.time_s
        done = component_work(launch.workload, gpu)
        found.append(
            _Launch(
                number,
                launch.repeat * timing.time_s,
                awake_share(timing, launch.workload, gpu),
                tuple(part.number * per_second for part in done),
                tuple(
                    part.number * per_second * live_share(part.component, launch.workload) for part in done
                ),
            )
        )
    return found


def _limit_w(gpu: Gpu) -> float:
    if gpu.power_limit_w is None:
        raise ValueError(f"the power limit of {gpu.id} is unknown")
    return gpu.power_limit_w
