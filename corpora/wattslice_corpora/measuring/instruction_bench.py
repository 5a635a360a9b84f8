"""The GPU of this machine for kernels of PTX: assembles them, and has the host program launch them."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from wattslice_corpora.instruction_kernels import Added, Operand, added
from wattslice_corpora.measuring.bench import Bench, Configuration, Measured
from wattslice_corpora.measuring.errors import ConfigurationError, MeasureError
from wattslice_corpora.measuring.instruction_plan import Run, Study
from wattslice_corpora.sass import NoDisassemblerError, SassFunction, disassemble

_ASSEMBLY_LIMIT_S = 120


class InstructionBench:
    """Measures the runs of a plan on `bench`; PTX, cubins and values are kept in `kernels`.

    `architecture`: as nvcc wants it. Where there is a disassembler, a kernel whose instances the assembler
    removed is refused.
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
        self._assembled(run.study, run.with_instances)
        if run.with_instances:
            found = self.machine_code(run.study)
            if found is not None and found.count < 1:
                raise ConfigurationError(f"{configuration.name}: the assembler removed instances")
        return self._bench.measure(configuration)

    def machine_code(self, study: Study) -> Added | None:
        """What an instance of the chain became. None: no disassembler, or ptxas refuses the PTX."""
        if study not in self._machine_code:
            self._machine_code[study] = self._added(study)
        return self._machine_code[study]

    def _added(self, study: Study) -> Added | None:
        try:
            ours, theirs = _chain(self._assembled(study, True)), _chain(self._assembled(study, False))
        except (NoDisassemblerError, ConfigurationError, subprocess.CalledProcessError):
            return None
        return added(ours, theirs, study.instruction.instances)

    def _assembled(self, study: Study, with_instances: bool) -> Path:
        """The cubin. Raises `ConfigurationError` with the assembler's words."""
        text = study.ptx(with_instances)
        source = self._kernels / f"{study.stem(with_instances)}.ptx"
        cubin = source.with_suffix(".cubin")
        if cubin.exists() and source.exists() and source.read_text(encoding="utf-8") == text:
            return cubin
        cubin.unlink(missing_ok=True)
        source.write_text(text, encoding="utf-8")
        draft = cubin.with_suffix(".tmp")
        level = 3 if study.optimized else 0
        options = ("-cubin", f"-arch={self._architecture}", f"-Xptxas=-O{level}")
        command = (self._nvcc, *options, "-o", str(draft), str(source))
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_ASSEMBLY_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ConfigurationError(
                f"{source.name}: ptxas did not end within {_ASSEMBLY_LIMIT_S} s"
            ) from None
        except OSError as error:
            raise MeasureError(f"nvcc cannot be run: {error}") from None
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise ConfigurationError(f"{source.name}: does not assemble: {said[0]}")
        draft.replace(cubin)
        return cubin


def _chain(cubin: Path) -> SassFunction:
    return next(function for function in disassemble(cubin.read_bytes()) if function.name == "chain")
