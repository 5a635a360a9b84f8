"""Which kernels the energies of instructions take, in which order: a configuration for each run."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice_corpora.instruction_kernels import INSTRUCTIONS, ChainInstruction, chain_ptx
from wattslice_corpora.measuring.bench import Configuration
from wattslice_corpora.measuring.program import Choice

HOST = Path(__file__).with_name("instruction_host.cu")
REPEATS = 3
DATASET = "instructions"

_THREADS_IN_BLOCK = 256
_BLOCKS_ON_SM = 8  # 2048 threads: full, on most chips


class Variant(StrEnum):
    """How many threads run the chain."""

    LATENCY = "latency"
    """One, as Arafa et al. 2020 do: it waits for every instruction, and the whole board with it."""
    THROUGHPUT = "throughput"
    """As many as the SMs hold: their chains hide each other's waiting."""

    @property
    def iterations(self) -> int:
        """Of the loop in one launch, so that it takes milliseconds; the same with and without instances."""
        return {Variant.LATENCY: 65536, Variant.THROUGHPUT: 8192}[self]

    def blocks(self, sm_count: int) -> int:
        """Blocks of a launch."""
        return {Variant.LATENCY: 1, Variant.THROUGHPUT: _BLOCKS_ON_SM * sm_count}[self]

    @property
    def threads_in_block(self) -> int:
        """Threads of a block."""
        return {Variant.LATENCY: 1, Variant.THROUGHPUT: _THREADS_IN_BLOCK}[self]


class Study(Struct, frozen=True):
    """One instruction in one variant, assembled with -O3 (`optimized`) or -O0."""

    instruction: ChainInstruction
    variant: Variant
    optimized: bool

    def ptx(self, with_instances: bool) -> str:
        """The kernel, or the one it is measured against."""
        return chain_ptx(self.instruction, with_instances, self.optimized)

    def stem(self, with_instances: bool) -> str:
        """Of the files of a kernel. Kernels without instances are named by their text: many are one."""
        if with_instances:
            return f"{self.instruction.file_stem}-{_level(self.optimized)}"
        return _stem_without(self.instruction, self.optimized)


class Run(Struct, frozen=True):
    """One kernel to be measured once; `repeat` counts from 0.

    `study`: what it is for; of a kernel without instances, the first one of all that are measured against it.
    """

    study: Study
    with_instances: bool
    repeat: int

    def name(self) -> str:
        """Of the configuration."""
        return f"{self.study.variant}-{self.study.stem(self.with_instances)}-{self.repeat}"

    def configuration(self, sm_count: int, kernels: Path) -> Configuration:
        """Cubin and values are expected in `kernels`."""
        variant, operand = self.study.variant, self.study.instruction.operand
        stem = self.study.stem(self.with_instances)
        geometry = (variant.blocks(sm_count), variant.threads_in_block, variant.iterations)
        text = self.study.ptx(self.with_instances)
        return Configuration(
            name=self.name(),
            version=_digest(f"{text}{operand.values()}{geometry}")[:12],
            dataset=DATASET,
            benchmark=stem,
            source=HOST,
            choice=Choice(),
            arguments=(
                str((kernels / f"{stem}.cubin").absolute()),
                str((kernels / f"{operand.label}.values").absolute()),
                *(str(number) for number in geometry),
            ),
            input="random",
        )


def studies(
    only: str = "*",
    variants: tuple[Variant, ...] = tuple(Variant),
    levels: tuple[bool, ...] = (True, False),
    instructions: tuple[ChainInstruction, ...] = INSTRUCTIONS,
) -> tuple[Study, ...]:
    """All studies of the instructions that match the pattern `only` (``div*``, ``*.f32``)."""
    chosen = tuple(one for one in instructions if fnmatchcase(one.name, only))
    return tuple(
        Study(instruction, variant, optimized)
        for optimized in levels
        for variant in variants
        for instruction in chosen
    )


def instruction_plan(wanted: tuple[Study, ...], seed: int) -> tuple[Run, ...]:
    """The runs in order of value, shuffled within every part of that order.

    Of -O3 before -O0: one instruction for each row of the paper's table, after what it is measured against;
    then the latter again, so that there are standard errors; then the other instructions. Then all again.
    """
    shuffle = random.Random(seed).sample
    runs: list[Run] = []
    for optimized in (True, False):
        here = tuple(study for study in wanted if study.optimized is optimized)
        first = tuple(_first_of_rows(here))
        parts = (
            _without(first, 0),
            [Run(study, True, 0) for study in first],
            _without(first, 1),
            _without(here, 0),
            [Run(study, True, 0) for study in here],
        )
        for part in parts:
            runs += shuffle(part, len(part))
    for repeat in range(1, REPEATS):
        for optimized in (True, False):
            here = tuple(study for study in wanted if study.optimized is optimized)
            part = [*_without(here, repeat), *(Run(study, True, repeat) for study in here)]
            runs += shuffle(part, len(part))
    unique: dict[str, Run] = {}
    for run in runs:
        unique.setdefault(run.name(), run)
    return tuple(unique.values())


def _first_of_rows(wanted: tuple[Study, ...]) -> Iterator[Study]:
    seen: set[tuple[str, str, Variant]] = set()
    for study in wanted:
        row = (study.instruction.category, study.instruction.table_row, study.variant)
        if study.instruction.table_row and row not in seen:
            seen.add(row)
            yield study


def _without(wanted: tuple[Study, ...], repeat: int) -> list[Run]:
    """One run for every kernel that some of `wanted` are measured against."""
    firsts = (replace(study, instruction=_same_without(study.instruction)) for study in wanted)
    return [Run(study, False, repeat) for study in dict.fromkeys(firsts)]


@cache
def _same_without(instruction: ChainInstruction) -> ChainInstruction:
    """The first of all instructions whose kernel without instances is the same text."""
    text = chain_ptx(instruction, False)
    return next((one for one in INSTRUCTIONS if chain_ptx(one, False) == text), instruction)


@cache
def _stem_without(instruction: ChainInstruction, optimized: bool) -> str:
    return f"without-{_digest(chain_ptx(instruction, False, optimized))[:6]}-{_level(optimized)}"


def _level(optimized: bool) -> str:
    return "O3" if optimized else "O0"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
