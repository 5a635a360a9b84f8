"""What a campaign measures, most valuable first.

Six rounds, each a sample of everything that is left, so that a campaign cut short at any point is a design
in itself: synthetic slices in the order of their grid, kernels of the corpus first at their largest size,
then some of both again (how well does the board repeat itself?), then the other sizes. The intensity sweep,
which is of use as a whole only, stands in the first one. Within a round the order is shuffled, so that the
board's warming up does not follow any axis of the design.
"""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path

from msgspec.structs import replace

from wattslice_corpora.manifest import KERNEL_DIRECTORY, CorpusKernel, CorpusRun, RunSize, load_manifest
from wattslice_corpora.measuring.bench import Configuration
from wattslice_corpora.measuring.journal import MEASURED_TABLE
from wattslice_corpora.measuring.program import Choice, Command, launches
from wattslice_corpora.records import FlopKind, SweepRow, sha256, sweep_beside, write_table
from wattslice_corpora.synthetic import (
    KERNEL_NAME,
    AccessWeights,
    OperationKind,
    SliceSpec,
    SweepSlice,
    default_grid,
    intensity_sweep,
    source,
)
from wattslice_corpora.synthetic.grid import UNWEIGHTED

SLICES, SWEEP, KERNELS, MEASURED, VARIANTS = "slices", "sweep", "kernels", "measured", "variants"
"""What the keys of the data sets begin with."""

_ROUNDS = 6
_REPEATED = 10
_TIMES = 3
_SOURCES = "sources"


def campaign_plan(
    sm_count: int, board: str, folder: Path, seed: int = 0, weights: AccessWeights = UNWEIGHTED
) -> tuple[Configuration, ...]:
    """Every configuration in the order it is to be measured; the same for the same arguments.

    `board`: a short name of the one board that measures; it enters the keys of the data sets, because two
    boards of one kind differ and must not be fitted as one. `weights`: what an access is worth on this GPU,
    for the densities of the slices. The sources of the slices are written into `folder`.
    """
    slices = tuple(
        slice_configuration(spec, SLICES, board, folder) for spec in default_grid(sm_count, weights)
    )
    programs = [program for program in load_manifest() if program.repeatable]
    largest = tuple(
        configuration
        for program in programs
        for configuration in kernel_configurations(program, program.runs[-1], board)
    )
    smaller = tuple(
        configuration
        for program in programs
        for run in program.runs[:-1]
        if run.size is not RunSize.SMALL  # that one is for checking on a CPU, and mostly gaps on a GPU
        for configuration in kernel_configurations(program, run, board)
    )
    chance = random.Random(seed)
    repeated = chance.sample([*slices, *largest], min(_REPEATED, len(slices) + len(largest)))
    again = tuple(
        replace(configuration, name=f"{configuration.name}--{number}")
        for number in range(2, _TIMES + 1)
        for configuration in repeated
    )
    half = _ROUNDS // 2
    rounds = [
        [
            *_share(slices, number, _ROUNDS),
            *_share(largest, number, half),
            *_share((*again, *smaller), number - half, half),
        ]
        for number in range(_ROUNDS)
    ]
    rounds[0] += sweep_plan(sm_count, board, folder, seed)
    for configurations in rounds:
        chance.shuffle(configurations)
    return tuple(configuration for configurations in rounds for configuration in configurations)


def sweep_plan(sm_count: int, board: str, folder: Path, seed: int = 0) -> tuple[Configuration, ...]:
    """The intensity sweep alone, for the energy roofline; arguments as in `campaign_plan`.

    Its flops and bytes are written into `folder`, as the sweep of the table of measured runs there.
    """
    sweep = intensity_sweep(sm_count)
    folder.mkdir(parents=True, exist_ok=True)
    comments = ("the intensity sweep of the campaign in this folder: flops and bytes of one launch",)
    write_table(sweep_beside(folder / MEASURED_TABLE), comments, SweepRow, tuple(map(_sweep_row, sweep)))
    configurations = [slice_configuration(point.spec, SWEEP, board, folder) for point in sweep]
    random.Random(seed).shuffle(configurations)
    return tuple(configurations)


def file_plan(
    file: Path, command: Command, choice: Choice, version: str, board: str, start_limit_s: float
) -> tuple[Configuration, ...]:
    """The chosen launch, or, without a kernel, that occurrence of every kernel that the program launches.

    `command`: the program built of `file`; `version`: of it. Raises `ConfigurationError` when it launches
    none.
    """
    kernels = (choice.kernel,)
    if not choice.kernel:
        kernels = tuple(dict.fromkeys(launch.name for launch in launches(command, start_limit_s)))
    dataset = f"{MEASURED}-{board}"
    return tuple(
        _launch_of(file, Choice(name, choice.occurrence), command.arguments, version, dataset)
        for name in kernels
    )


def variant_plan(
    file: Path,
    choice: Choice,
    arguments: tuple[str, ...],
    variants: tuple[tuple[str, ...], ...],
    version: str,
    board: str,
) -> tuple[Configuration, ...]:
    """The chosen launch of the program that `file` is with each of `variants`, ``NAME=VALUE`` of macros."""
    dataset = f"{VARIANTS}-{board}"
    return tuple(
        _launch_of(file, choice, arguments, version, dataset, definitions) for definitions in variants
    )


def _launch_of(
    file: Path,
    choice: Choice,
    arguments: tuple[str, ...],
    version: str,
    dataset: str,
    definitions: tuple[str, ...] = (),
) -> Configuration:
    words = (*definitions, *arguments, str(choice.occurrence + 1))
    return Configuration(
        name=_file_name(file, choice.kernel, words),
        version=version,
        dataset=dataset,
        benchmark=file.stem,
        source=file,
        choice=choice,
        arguments=arguments,
        definitions=definitions,
    )


def _file_name(file: Path, kernel: str, words: tuple[str, ...]) -> str:
    """Readable, fit for a file, and another one for every program, kernel and arguments."""
    whole = "\0".join((str(file.resolve()), kernel, *words))
    readable = re.sub(r"[^\w.-]+", "_", "-".join((file.stem, kernel, *words)), flags=re.ASCII)
    return f"{readable[:80]}-{hashlib.sha256(whole.encode(errors='replace')).hexdigest()[:8]}"


def _share(configurations: tuple[Configuration, ...], number: int, parts: int) -> tuple[Configuration, ...]:
    """Part `number` of `parts` consecutive ones; nothing for a number outside of them."""
    if not 0 <= number < parts:
        return ()
    size = len(configurations)
    return configurations[size * number // parts : size * (number + 1) // parts]


def slice_configuration(spec: SliceSpec, dataset: str, board: str, folder: Path) -> Configuration:
    """The configuration that measures a slice; its source is written into `folder`."""
    path = folder / _SOURCES / f"{spec.name}.cu"
    text = source(spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return Configuration(
        name=f"{dataset.removesuffix('s')}-{spec.name}",
        version=sha256(path),
        dataset=f"{dataset}-{board}",
        benchmark=spec.name,
        source=path,
        choice=Choice(KERNEL_NAME),
        input=spec.data.value,
    )


def _sweep_row(point: SweepSlice) -> SweepRow:
    kind = FlopKind.DOUBLE if point.spec.kind is OperationKind.FP64 else FlopKind.SINGLE
    flops, moved = float(point.work_flop), float(point.traffic_bytes)
    return SweepRow(point.spec.name, KERNEL_NAME, "", kind.value, flops, moved)


def kernel_configurations(program: CorpusKernel, run: CorpusRun, board: str) -> tuple[Configuration, ...]:
    """One for every kernel of a program of the corpus, at one size."""
    version = sha256(program.file, *sorted(KERNEL_DIRECTORY.rglob("*.cuh")))
    return tuple(
        Configuration(
            name=f"kernel-{program.name}-{kernel}-{run.size}",
            version=version,
            dataset=f"{KERNELS}-{board}",
            benchmark=program.name,
            source=program.file,
            choice=Choice(kernel, program.occurrence(kernel)),
            arguments=tuple(str(argument) for argument in run.arguments),
            input="real",
        )
        for kernel in program.kernels
    )
