"""Measures one configuration: build, idle, run, and the trace of it all."""

from __future__ import annotations

import time
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from wattslice_corpora.measuring.builder import Builder
from wattslice_corpora.measuring.errors import MeasureError
from wattslice_corpora.measuring.power import Power
from wattslice_corpora.measuring.program import START_LIMIT_S, Choice, Command, Launch, repeat
from wattslice_corpora.measuring.sampling import Sampler
from wattslice_corpora.measuring.sensor import Board, Sensor
from wattslice_corpora.measuring.trace import Trace
from wattslice_corpora.records import MeasuredRow


class Configuration(Struct, frozen=True):
    """One launch of one program to be measured. `name` is unique and fit for a file name.

    `version`: changes whenever the program does; a result of another version does not count.
    `dataset`: key of the data set the row belongs to; `input`: what the data are, as in `MeasuredRow`.
    `definitions`: macros that the program is built with, ``NAME=VALUE`` each.
    """

    name: str
    version: str
    dataset: str
    benchmark: str
    source: Path
    choice: Choice
    arguments: tuple[str, ...] = ()
    input: str = ""
    definitions: tuple[str, ...] = ()


class Timing(Struct, frozen=True):
    """Seconds of a measurement: idle before, warm-up (dropped), window, and mean time between readings.

    `start_limit_s`: how long a program may take until it makes the launch.
    """

    idle_s: float = 0.5
    warmup_s: float = 1.0
    window_s: float = 2.5
    period_s: float = 0.015
    start_limit_s: float = START_LIMIT_S


class Measured(Struct, frozen=True):
    """A launch and the trace taken while it was repeated."""

    launch: Launch
    trace: Trace


class Bench(Protocol):
    """Where configurations are measured: this machine's GPU, or its stand-in in a test."""

    def prepare(self, configurations: tuple[Configuration, ...]) -> None:
        """These come next: whatever can be done ahead may be done meanwhile."""
        ...

    def measure(self, configuration: Configuration) -> Measured:
        """Raises `ConfigurationError` when it cannot be measured, `MeasureError` when nothing can."""
        ...


class GpuBench:
    """The GPU of `sensor`; programs are built ahead in `workers` threads."""

    def __init__(self, sensor: Sensor, builder: Builder, timing: Timing, workers: int = 1) -> None:
        self._sensor = sensor
        self._builder = builder
        self._timing = timing
        self._board = sensor.board()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="nvcc")
        self._builds: dict[tuple[Path, tuple[str, ...]], Future[Path]] = {}

    def board(self) -> Board:
        """Which GPU this is."""
        return self._board

    def prepare(self, configurations: tuple[Configuration, ...]) -> None:
        """Starts building the programs."""
        for configuration in configurations:
            self._build(configuration)

    def program(self, configuration: Configuration) -> Path:
        """What was built, when it is ready. Raises as `Builder.build`."""
        return self._build(configuration).result()

    def measure(self, configuration: Configuration) -> Measured:
        """Idle, then the program, sampled throughout."""
        program = self.program(configuration)
        command = Command(program, configuration.arguments, environment=visible(self._board))
        timing = self._timing
        with Sampler(self._sensor, timing.period_s, seed=zlib.crc32(configuration.name.encode())) as sampler:
            time.sleep(timing.idle_s)
            start_s = time.monotonic()
            repeated = repeat(
                command, configuration.choice, timing.warmup_s, timing.window_s, timing.start_limit_s
            )
        if not same_bus(repeated.launch.pci_bus_id, self._board.pci_bus_id):
            raise MeasureError(
                f"the program ran on GPU {repeated.launch.pci_bus_id}, but GPU {self._board.pci_bus_id} "
                "was read: it chooses its GPU itself; choose the same with --device"
            )
        return Measured(
            repeated.launch, Trace(sampler.readings(), start_s, repeated.window, sampler.failures)
        )

    def close(self) -> None:
        """Ends builds that nobody waits for, and lets the driver go."""
        self._pool.shutdown(cancel_futures=True)
        self._sensor.close()

    def _build(self, configuration: Configuration) -> Future[Path]:
        built_of = configuration.source, configuration.definitions
        if built_of not in self._builds:
            self._builds[built_of] = self._pool.submit(self._builder.build, *built_of)
        return self._builds[built_of]


def visible(board: Board) -> tuple[tuple[str, str], ...]:
    """The environment in which CUDA sees `board` alone."""
    return (("CUDA_VISIBLE_DEVICES", board.uuid),)


def same_bus(one: str, other: str) -> bool:
    """Whether two PCI bus ids are one: NVML writes the domain with eight digits, CUDA with four."""
    return _bus(one) == _bus(other)


def _bus(text: str) -> tuple[str, ...]:
    return tuple(part.lstrip("0") for part in text.lower().replace(".", ":").split(":"))


def failed_row(configuration: Configuration, reason: str) -> MeasuredRow:
    """The row of a configuration that could not be measured: what was asked for, and why there is no more."""
    return MeasuredRow(
        dataset=configuration.dataset,
        benchmark=configuration.benchmark,
        kernel=configuration.choice.kernel,
        arguments=" ".join(configuration.arguments).encode(errors="replace").decode(),
        input=configuration.input,
        method="none",
        power_valid=False,
        reason=" ".join(reason.split()),
    )


def measured_row(configuration: Configuration, measured: Measured, power: Power) -> MeasuredRow:
    """The row of a measurement; flagged, with the reasons, when the watts are not to be believed."""
    launch = measured.launch
    row = replace(
        failed_row(configuration, ""),
        kernel=configuration.choice.kernel or launch.name,
        grid=launch.grid,
        block=launch.block,
        shared_bytes=launch.shared_bytes,
    )
    return with_power(row, measured.trace, power)


def with_power(row: MeasuredRow, trace: Trace, power: Power) -> MeasuredRow:
    """The row with what its trace says."""
    window = trace.window
    return replace(
        row,
        core_mhz=power.core_mhz,
        memory_mhz=power.memory_mhz,
        time_s=window.elapsed_s / window.launches,
        power_w=power.power_w,
        energy_j=power.energy_j,
        idle_power_w=power.idle_w,
        memory_power_w=power.memory_w,
        temperature_c=power.temperature_c,
        launches=window.launches,
        window_s=window.end_s - window.begin_s,
        method=power.method.value,
        power_valid=not power.invalid,
        capped=power.capped,
        throttled=power.throttled,
        reason=power.invalid,
    )
