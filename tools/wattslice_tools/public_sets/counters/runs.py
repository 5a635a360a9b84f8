"""The launches that Nsight Compute counted, found in their sources by what was typed to run them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from wattslice.config.config import Options, make_config
from wattslice.config.settings import NO_SETTINGS
from wattslice.counting.count import count
from wattslice.errors import WattsliceError
from wattslice.frontend.parse_options import FAST_MATH
from wattslice.launches.launch import KernelLaunch, LaunchOverride, Overrides, Setting
from wattslice.launches.resolver import resolve_launches
from wattslice.pipeline.files import followed, neighbours_of, read_program
from wattslice.workload.launch_work import launch_work, residency
from wattslice_corpora.manifest import CorpusKernel, load_manifest
from wattslice_corpora.ncu_counters import NcuRow
from wattslice_corpora.records import RecordError
from wattslice_models.execution_time import predict_time
from wattslice_models.gpu import Gpu
from wattslice_tools.public_sets.counters.causes import Notes
from wattslice_tools.public_sets.counters.launches import CountedLaunch
from wattslice_tools.public_sets.run_features import parameter_value


class CountedRun(Struct, frozen=True):
    """What our analysis says of a counted launch: the one of the run, else one with the counted geometry.

    `read`: the launches of the kernel that the host code tells. `launches`: how often a run makes them; None
    where we do not know.
    """

    read: tuple[KernelLaunch, ...]
    counted: CountedLaunch
    launches: int | None
    registers: int
    shared_bytes: int
    time_s: float | None


def counted_runs(
    sources: tuple[Path, ...], rows: tuple[NcuRow, ...], notes: Notes, gpu: Gpu
) -> Iterator[tuple[NcuRow, CountedRun | str]]:
    """Every row with our analysis of its launch, or why there is none."""
    corpus = {program.name: program for program in load_manifest()}
    for _, group in groupby(rows, lambda row: (row.repository, row.program, row.file)):
        own = tuple(group)
        told = notes.host_run(own[0].program).variables
        settings = tuple(Setting(None, one.name, parameter_value(one.value, "")) for one in told)
        try:
            run = _Run(sources, corpus, own[0], settings, gpu)
        except (WattsliceError, RecordError, OSError) as error:
            yield from ((row, str(error)) for row in own)
            continue
        for row in own:
            try:
                yield row, run.counted(row)
            except (WattsliceError, RecordError, ValueError) as error:
                yield row, str(error)


class _Run:
    """One program as it was run."""

    def __init__(
        self,
        sources: tuple[Path, ...],
        corpus: dict[str, CorpusKernel],
        row: NcuRow,
        settings: tuple[Setting, ...],
        gpu: Gpu,
    ) -> None:
        """Raises `WattsliceError` where the source is missing or cannot be read."""
        self._gpu, self._settings = gpu, settings
        self._corpus = None if row.repository else corpus[row.program]
        root = _root(sources, row) if self._corpus is None else self._corpus.file.parent
        words = row.options.split()
        file = root / row.file
        config = make_config(
            Options(
                paths=(file,),
                gpu=gpu.id,
                program_arguments=row.arguments,
                include_directories=tuple(root / word[2:] for word in words if word.startswith("-I")),
                definitions=tuple(word[2:] for word in words if word.startswith("-D")),
                compiler_flags=" ".join(word for word in words if word in FAST_MATH),
                no_cache=True,
            ),
            NO_SETTINGS,
        )
        self._around = neighbours_of(file, config)
        self._read = partial(read_program, file, config, None, None)
        self._found = self._launches(())

    def _launches(self, overrides: tuple[LaunchOverride, ...]) -> tuple[KernelLaunch, ...]:
        told = Overrides(overrides, self._settings)
        return followed(self._read, lambda read: resolve_launches(read, told, self._gpu, self._around))[1]

    def counted(self, row: NcuRow) -> CountedRun:
        """The launch of `row`. Raises `RecordError` where there is no such kernel, else as counting does."""
        read = tuple(one for one in self._found if _name(one) == row.kernel)
        if not read:
            raise RecordError(f"no kernel {row.kernel}")
        read = tuple(one for one in read if one.times is not None) or read
        occurrence = 0 if self._corpus is None else self._corpus.occurrence(row.kernel)
        same = tuple(
            one for one in read if row.grid is None or (one.grid, one.block) == (row.grid, row.block)
        )
        launch = _at(same, occurrence)
        if launch is None and row.grid is not None and row.block is not None:
            override = LaunchOverride(row.kernel, row.grid, row.block, row.dynamic_shared_bytes or 0)
            again = self._launches((override,))
            launch = next(one for one in again if _name(one) == row.kernel)
        if launch is None:
            raise RecordError(f"no launch of {row.kernel}")
        resident = residency(launch, self._gpu)
        profile = count(launch)
        work = launch_work(launch, resident, profile)
        times = [one.times for one in read]
        return CountedRun(
            read,
            CountedLaunch(launch, profile, work),
            None if None in times else sum(filter(None, times)),
            resident.registers,
            resident.shared_bytes,
            None if work.workload is None else predict_time(work.workload, self._gpu).time_s,
        )


def _root(sources: tuple[Path, ...], row: NcuRow) -> Path:
    for root in sources:
        if root.name == row.repository:
            return root
    raise RecordError(f"no checkout of {row.repository}")


def _name(launch: KernelLaunch) -> str:
    return launch.kernel.name.partition("<")[0]


def _at(launches: tuple[KernelLaunch, ...], occurrence: int) -> KernelLaunch | None:
    """The launch that is made as number `occurrence`, where one stands for several in a row."""
    for launch in launches:
        occurrence -= launch.times or 1
        if occurrence < 0:
            return launch
    return launches[-1] if launches else None
