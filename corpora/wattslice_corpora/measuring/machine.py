"""The GPU of this machine, ready to measure: board, chip, compiler."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.measuring.bench import GpuBench, Timing
from wattslice_corpora.measuring.builder import Builder, find_nvcc
from wattslice_corpora.measuring.chip import Chip, read_chip
from wattslice_corpora.measuring.errors import MeasureError
from wattslice_corpora.measuring.nvml import NvmlSensor
from wattslice_corpora.measuring.sensor import Board, SensorError

_MOST_BUILDS = 4


class Machine(Struct, frozen=True):
    """What measuring needs. `key`: a short name of the board, of its UUID, for the keys of data sets."""

    board: Board
    chip: Chip
    timing: Timing
    builder: Builder
    bench: GpuBench

    @property
    def key(self) -> str:
        """The first group of the UUID: ``GPU-1a2b3c4d-…`` is ``1a2b3c4d``."""
        return self.board.uuid.removeprefix("GPU-").split("-")[0]


@contextmanager
def this_machine(
    device: int, builds: Path, timing: Timing, nvcc_flags: tuple[str, ...] = ()
) -> Generator[Machine]:
    """The GPU number `device`; programs are built into `builds`.

    Raises `MeasureError` without driver, GPU, or compiler.
    """
    if importlib.util.find_spec("pywt") is None:
        raise MeasureError(
            "cleaning a trace needs the package PyWavelets: pip install '.[measure]' in the checkout"
        )
    sensor = NvmlSensor(device)
    try:
        board = sensor.board()
        chip = read_chip(board.pci_bus_id)
        builder = Builder(find_nvcc(), builds, chip.architecture, nvcc_flags)
        bench = GpuBench(
            sensor, builder, timing, workers=min(_MOST_BUILDS, max(1, (os.cpu_count() or 2) // 2))
        )
    except SensorError as error:
        sensor.close()
        raise MeasureError(f"GPU {device} does not answer: {error}") from None
    except BaseException:
        sensor.close()
        raise
    try:
        yield Machine(board, chip, timing, builder, bench)
    finally:
        bench.close()
