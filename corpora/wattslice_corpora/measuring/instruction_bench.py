"""The GPU of this machine for kernels of PTX: assembles them, and has the host program launch them."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from wattslice_corpora.instruction_kernels import (
    Added,
    AssemblyError,
    Operand,
    assemble,
    faults,
    instance_code,
)
from wattslice_corpora.measuring.bench import Bench, Configuration, Measured
from wattslice_corpora.measuring.errors import ConfigurationError, MeasureError
from wattslice_corpora.measuring.instruction_plan import Run, Study
from wattslice_corpora.sass import NoDisassemblerError


class InstructionBench:
    """Measures the runs of a plan on `bench`; PTX, cubins and values are kept in `kernels`.

    `architecture`: as nvcc wants it. Where there is a disassembler, a kernel whose instances the assembler
    removed or merged is refused.
    """

    def __init__(
        self, bench: Bench, nvcc: str, architecture: str, kernels: Path, plan: tuple[Run, ...]
    ) -> None:
        self._bench = bench
        self._nvcc = nvcc
        self._architecture = architecture
        self._kernels = kernels
        self._runs = {run.name(): run for run in plan}
        self._machine_code: dict[Study, Added | None] = {}
        kernels.mkdir(parents=True, exist_ok=True)
        for operand in Operand:
            values = operand.values()
            (kernels / f"{operand.label}.values").write_bytes(struct.pack(f"<{len(values)}Q", *values))

    def prepare(self, configurations: tuple[Configuration, ...]) -> None:
        """Starts building the host program. Assembling takes so little that it need not be done ahead."""
        self._bench.prepare(configurations[:1])

    def measure(self, configuration: Configuration) -> Measured:
        """Assembles and measures. Raises as `Bench.measure`."""
        run = self._runs[configuration.name]
        try:
            self._assembled(run.study, run.with_instances)
        except AssemblyError as error:
            raise ConfigurationError(str(error)) from None
        except OSError as error:
            raise MeasureError(f"{self._kernels}: cannot assemble: {error}") from None
        if run.with_instances:
            found = self.machine_code(run.study)
            wrong = () if found is None else faults(run.study.instruction, found)
            if wrong:
                raise ConfigurationError(f"{configuration.name}: {'; '.join(wrong)}")
        return self._bench.measure(configuration)

    def machine_code(self, study: Study) -> Added | None:
        """What an instance of the chain became. None: no disassembler, or ptxas refuses the PTX."""
        if study not in self._machine_code:
            self._machine_code[study] = self._disassembled(study)
        return self._machine_code[study]

    def _disassembled(self, study: Study) -> Added | None:
        try:
            ours, theirs = self._assembled(study, True), self._assembled(study, False)
            return instance_code(ours, theirs, study.instruction.instances)
        except (NoDisassemblerError, AssemblyError, OSError, subprocess.CalledProcessError):
            return None

    def _assembled(self, study: Study, with_instances: bool) -> Path:
        """The cubin, as it lies there or anew."""
        text = study.ptx(with_instances)
        source = self._kernels / f"{study.stem(with_instances)}.ptx"
        cubin = source.with_suffix(".cubin")
        if cubin.exists() and source.exists() and source.read_text(encoding="utf-8") == text:
            return cubin
        cubin.unlink(missing_ok=True)
        source.write_text(text, encoding="utf-8")
        return assemble(self._nvcc, source, self._architecture, study.optimized)
