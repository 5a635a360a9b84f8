"""Features of what a campaign measured, from the sources at hand: its synthetic slices and our corpus."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.clang.flags import ParseOptions
from wattslice.frontend.cuda.read import read_cuda
from wattslice.ir import Program
from wattslice.launches.launch import KernelLaunch, LaunchOverride, Overrides, Setting
from wattslice.launches.overrides import names_kernel
from wattslice.launches.resolver import resolve_launches
from wattslice.training.launch_rows import launch_features, launch_rows
from wattslice_corpora.manifest import CorpusKernel, load_manifest
from wattslice_corpora.records import MeasuredRow, RecordError, SliceRow, WorkloadRow
from wattslice_models.gpu import Gpu

_SOURCES = "sources"


@dataclass(frozen=True, slots=True)
class CampaignFeatures:
    """`reasons`: why runs (benchmark, kernel, arguments) have no features."""

    workloads: tuple[WorkloadRow, ...]
    slices: tuple[SliceRow, ...]
    reasons: tuple[tuple[tuple[str, str, str], str], ...]


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    corpus: CorpusKernel | None


def is_campaign(table: Path) -> bool:
    """Whether a table of measured runs lies in the folder of a campaign."""
    return (table.parent / _SOURCES).is_dir() or (table.parent / "journal.jsonl").is_file()


def campaign_features(folder: Path, measured: tuple[MeasuredRow, ...], gpu: Gpu) -> CampaignFeatures:
    """The features of every distinct run, as far as its source is at hand and can be analysed.

    A run of a corpus program has the values of its command line for the variables of `main`; the launch
    configuration is the measured one.
    """
    corpus = {program.name: program for program in load_manifest()}
    programs: dict[Path, Program] = {}
    workloads: list[WorkloadRow] = []
    slices: list[SliceRow] = []
    reasons: list[tuple[tuple[str, str, str], str]] = []
    seen: set[tuple[str, str, str]] = set()
    for row in measured:
        run = (row.benchmark, row.kernel, row.arguments)
        if run in seen or not row.power_valid:
            continue
        seen.add(run)
        try:
            source = _source(folder, row, corpus)
            if source.path not in programs:
                programs[source.path] = read_cuda(source.path, ParseOptions())
            launch = _launch(programs[source.path], row, source.corpus, gpu)
            place = source.path.name
            rows = launch_rows(*run, 0, row.kernel, place, 1, launch_features(launch, gpu))
            workloads.append(rows.workload)
            slices += rows.slices
        except (WattsliceError, RecordError, ValueError) as error:
            reasons.append((run, str(error)))
    return CampaignFeatures(tuple(workloads), tuple(slices), tuple(reasons))


def _source(folder: Path, row: MeasuredRow, corpus: dict[str, CorpusKernel]) -> _Source:
    written = folder / _SOURCES / f"{row.benchmark}.cu"
    if written.is_file():
        return _Source(written, None)
    if row.benchmark in corpus:
        return _Source(corpus[row.benchmark].file, corpus[row.benchmark])
    raise RecordError(f"its source {row.benchmark}.cu is not at hand")


def _launch(program: Program, row: MeasuredRow, corpus: CorpusKernel | None, gpu: Gpu) -> KernelLaunch:
    """The launch of the host code that has the measured configuration, else that configuration as a whole."""
    settings: tuple[Setting, ...] = ()
    if corpus is not None:
        values = (int(word) for word in row.arguments.split())
        settings = tuple(
            Setting(None, size.name, value) for size, value in zip(corpus.sizes, values, strict=False)
        )
    found = _of_kernel(resolve_launches(program, Overrides((), settings), gpu), row.kernel)
    for launch in found:
        if (launch.grid, launch.block) == (row.grid, row.block):
            return launch
    if row.grid is None or row.block is None:
        raise RecordError("its launch configuration was not recorded")
    override = LaunchOverride(row.kernel, row.grid, row.block, row.shared_bytes)
    found = _of_kernel(resolve_launches(program, Overrides((override,), settings), gpu), row.kernel)
    if not found:
        raise RecordError(f"{program.file} has no kernel {row.kernel}")
    return found[0]


def _of_kernel(launches: tuple[KernelLaunch, ...], name: str) -> list[KernelLaunch]:
    return [launch for launch in launches if names_kernel(name, launch.kernel)]
