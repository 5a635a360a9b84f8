"""Compiles a CUDA program for the CPU, with the headers of this directory in place of CUDA's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice.probes.cuda_on_cpu.rewriting import rewritten

HERE = Path(__file__).parent
_FLAGS = ("-std=c++17", "-O1", "-w", "-ffp-contract=off")
CHECKING = (*_FLAGS, "-g1", "-fsanitize=address", "-fno-sanitize-recover=all")
"""Flags that let a program end at its first access beyond an array; half as fast as `PLAIN`."""
PLAIN = _FLAGS
_RUNTIME = ("runtime", "snapshot")


class BuildError(WattsliceError):
    """The compiler refuses a program; the message is what it says."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The runtime, and a precompiled header if several programs are compiled with them."""

    compiler: str
    directory: Path
    flags: tuple[str, ...]

    @classmethod
    def build(
        cls, compiler: str, directory: Path, flags: tuple[str, ...] = CHECKING, *, precompiled: bool = True
    ) -> Toolchain:
        """Compiles the runtime, and the header if `precompiled`, into `directory`. Raises `BuildError`."""
        for header in HERE.glob("*.h"):
            (directory / header.name).write_bytes(header.read_bytes())
        for part in _RUNTIME:
            _must_run(compiler, *flags, "-c", HERE / f"{part}.cpp", "-o", directory / f"{part}.o")
        if precompiled:
            header = directory / "mma.h"
            _must_run(compiler, *flags, "-x", "c++-header", header, "-o", header.with_suffix(".h.gch"))
        return cls(compiler, directory, flags)

    def compile(self, program: Path, text: str | None = None, name: str = "") -> Path:
        """The executable of `program`, or of `text` in its place; compiled once.

        `name` of the executable, the program's stem if empty. Raises `BuildError`, `RewritingError`.
        """
        executable = self.directory / (name or program.stem)
        if executable.exists() and text is None and executable.stat().st_mtime > program.stat().st_mtime:
            return executable
        source = executable.with_name(f"{executable.name}.cpp")
        cuda = program.read_text(encoding="utf-8") if text is None else text
        source.write_text(f'#include "mma.h"\n#line 1 "{program}"\n{rewritten(cuda)}', encoding="utf-8")
        _must_run(
            self.compiler, *self.flags, "-I", self.directory, "-iquote", program.parent,
            source, *(self.directory / f"{part}.o" for part in _RUNTIME), "-o", executable,
        )  # fmt: skip
        return executable


def run(
    executable: Path,
    arguments: Sequence[int | str],
    order: str = "ascending",
    without: str = "",
    more: Mapping[str, str] | None = None,
    timeout_s: float = 120,
) -> tuple[int, str]:
    """Exit status and all output; raises `subprocess.TimeoutExpired`.

    `order` of the threads of a block: "ascending" or "descending"; launches of kernel `without` do nothing;
    `more` environment variables.
    """
    done = subprocess.run(
        [str(executable), *map(str, arguments)],
        env={
            **os.environ,
            "CUDA_ON_CPU_ORDER": order,
            "CUDA_ON_CPU_WITHOUT": without,
            "ASAN_OPTIONS": "detect_leaks=0",
            **(more or {}),
        },
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _must_run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildError(f"{command[0]} refuses the program:\n{done.stdout}{done.stderr}".rstrip())
