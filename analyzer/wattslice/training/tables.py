"""Where measured runs and our features of them come from: committed tables, or the user's own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.ir import Program
from wattslice.launches.launch import KernelLaunch, LaunchOverride, Overrides
from wattslice.launches.overrides import names_kernel
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice.training.launch_rows import launch_features, launch_rows
from wattslice_corpora.manifest import load_manifest
from wattslice_corpora.records import (
    UNKNOWN_DATA,
    CoreClock,
    DataCard,
    LiveShare,
    MeasuredRow,
    RecordError,
    SliceRow,
    Timed,
    Use,
    WorkloadRow,
    card_path,
    measured_gpu_ids,
    measurements_path,
    read_card,
    read_measurements,
    read_recipes,
    read_slices,
    read_workloads,
    recipes_path,
    slices_path,
    workloads_path,
)
from wattslice_models.gpu import Gpu

Run = tuple[str, str, str]
"""Benchmark, kernel and arguments."""


class MeasuredTables(Struct, frozen=True):
    """Measured runs with our features of them. `card` None: nobody has told what the runs may serve.

    `reasons`: why runs have no features, where that is known. `files`: what all of it was read from.
    """

    measured: tuple[MeasuredRow, ...]
    workloads: tuple[WorkloadRow, ...]
    slices: tuple[SliceRow, ...]
    card: DataCard | None
    reasons: tuple[tuple[Run, str], ...]
    files: tuple[Path, ...]

    def use(self, dataset: str) -> Use | None:
        """What the rows of a data set may serve; None when nobody has told. Raises `RecordError`."""
        return None if self.card is None else self.card.dataset(dataset).use

    def core_mhz(self, row: MeasuredRow) -> float | None:
        """The core clock that a row was asked to run at; None: as fast as its board may.

        A free clock that the power limit may have lowered is an outcome, as the watts are.
        """
        free = self.card is not None and self.card.dataset(row.dataset).core_clock is CoreClock.FREE
        return None if free and row.capped is not False else row.core_mhz

    def time_is_of_something_else(self, row: MeasuredRow) -> bool:
        """Whether the time of a row is not that of the launches which its features are of."""
        if self.card is None:
            return False
        dataset = self.card.dataset(row.dataset)
        if not dataset.recipes:
            return False
        return (dataset.recipes, dataset.timed, row.benchmark) in _partly_timed(self.card)


@cache
def _partly_timed(card: DataCard) -> frozenset[tuple[str, Timed, str]]:
    """Programs whose time is of more or of fewer launches than the recipe analyses."""
    return frozenset(
        (dataset.recipes, dataset.timed, recipe.name)
        for dataset in card.datasets
        if dataset.recipes
        for recipe in read_recipes(recipes_path(dataset.recipes)).benchmarks
        if recipe.incomplete
        or (
            dataset.timed is Timed.KERNEL
            and not recipe.one_of
            and sum(launch.repeat for launch in recipe.launches) > 1
        )
    )


def measured_tables(gpu_id: str) -> MeasuredTables:
    """The committed tables of a GPU. Raises `RecordError`, and `WattsliceError` when it has none."""
    files = (measurements_path(gpu_id), workloads_path(gpu_id), slices_path(gpu_id))
    for path in (*files, card_path(gpu_id)):
        if not path.is_file():
            board = gpu_id.partition("_")[0]
            alike = ", ".join(one for one in measured_gpu_ids() if one.partition("_")[0] == board)
            raise WattsliceError(
                f"no measurements of {gpu_id}: there is no {path.name}",
                remedy="give measurements with --data" + (f", or take {alike}" if alike else ""),
            )
    return MeasuredTables(
        read_measurements(files[0]),
        read_workloads(files[1]),
        read_slices(files[2]),
        read_card(card_path(gpu_id)),
        (),
        files,
    )


def tables_of_file(path: Path, gpu: Gpu) -> MeasuredTables:
    """The user's measured runs, in the schema of docs/appendix/datasets.md.

    Features stand in ``NAME_workloads.csv`` and ``NAME_slices.csv`` beside ``NAME.csv``, or the table lies in
    the folder of a campaign with its sources, whose features are computed now. The card is ``NAME.toml`` or
    ``card.toml``, if there is one. Raises `WattsliceError`, `RecordError`, and ``OSError`` when unreadable.
    """
    measured = read_measurements(path)
    if not measured:
        raise WattsliceError("no measured run in this table", path=path, remedy="measure first")
    card = card_beside(path)
    beside = [path.with_name(f"{path.stem}_{name}.csv") for name in ("workloads", "slices")]
    if all(place.is_file() for place in beside):
        rows = read_workloads(beside[0]), read_slices(beside[1])
        return MeasuredTables(measured, *rows, card, (), (path, *beside))
    if not is_campaign(path):
        raise WattsliceError(
            f"a table without features: neither {beside[0].name} and {beside[1].name} nor a folder of "
            "sources lies beside it",
            path=path,
            remedy="make them with `python -m wattslice_tools.public_sets.features_command` "
            "with and without --slices",
        )
    workloads, slices, reasons = _campaign_features(path.parent, measured, gpu)
    return MeasuredTables(measured, workloads, slices, card, reasons, (path,))


def card_beside(table: Path) -> DataCard | None:
    """What is known of a user's table: ``NAME.toml`` or ``card.toml`` in its folder, if there is one."""
    cards = (table.with_suffix(".toml"), table.with_name("card.toml"))
    return next((read_card(place) for place in cards if place.is_file()), None)


_SOURCES = "sources"
_ZEROS = LiveShare("", None, 0.0, 0.0)


def is_campaign(table: Path) -> bool:
    """Whether a table of measured runs lies in the folder of a campaign."""
    return (table.parent / _SOURCES).is_dir() or (table.parent / "journal.jsonl").is_file()


def _campaign_features(
    folder: Path, measured: tuple[MeasuredRow, ...], gpu: Gpu
) -> tuple[tuple[WorkloadRow, ...], tuple[SliceRow, ...], tuple[tuple[Run, str], ...]]:
    """The features of every distinct run, as far as its source can be analysed, and why others have none.

    A program runs with the measured command line; the launch configuration is the measured one.
    """
    corpus = {program.name: program.file for program in load_manifest()}
    programs: dict[Path, Program] = {}
    workloads: list[WorkloadRow] = []
    slices: list[SliceRow] = []
    reasons: list[tuple[Run, str]] = []
    seen: set[Run] = set()
    for row in measured:
        run = (row.benchmark, row.kernel, row.arguments)
        if run in seen or not row.power_valid:
            continue
        seen.add(run)
        try:
            path = _source(folder, row, corpus)
            if path not in programs:
                programs[path] = read_cuda(path, ParseOptions())
            launch = _launch(programs[path], row, gpu)
            live = _ZEROS if row.input == "zeros" else UNKNOWN_DATA
            rows = launch_rows(run, 0, row.kernel, path.name, 1, launch_features(launch, gpu), live)
            workloads.append(rows.workload)
            slices += rows.slices
        except (WattsliceError, RecordError, ValueError) as error:
            reasons.append((run, str(error)))
    return tuple(workloads), tuple(slices), tuple(reasons)


def _source(folder: Path, row: MeasuredRow, corpus: dict[str, Path]) -> Path:
    written = folder / _SOURCES / f"{row.benchmark}.cu"
    if written.is_file():
        return written
    if row.benchmark in corpus:
        return corpus[row.benchmark]
    raise RecordError(f"its source {row.benchmark}.cu is not at hand")


def _launch(program: Program, row: MeasuredRow, gpu: Gpu) -> KernelLaunch:
    """The launch of a run with the measured command line that has the measured configuration, else that
    configuration as a whole.
    """
    words = ProgramArguments(tuple(row.arguments.split()), "the measured run")
    run = Neighbours(arguments=lambda main: words)
    found = _of_kernel(resolve_launches(program, Overrides(), gpu, run), row.kernel)
    for launch in found:
        if (launch.grid, launch.block) == (row.grid, row.block):
            return launch
    if row.grid is None or row.block is None:
        raise RecordError("its launch configuration was not recorded")
    override = LaunchOverride(row.kernel, row.grid, row.block, row.shared_bytes)
    found = _of_kernel(resolve_launches(program, Overrides((override,)), gpu, run), row.kernel)
    if not found:
        raise RecordError(f"{program.file} has no kernel {row.kernel}")
    return found[0]


def _of_kernel(launches: tuple[KernelLaunch, ...], name: str) -> list[KernelLaunch]:
    return [launch for launch in launches if names_kernel(name, launch.kernel)]
