"""Compiles a CUDA program for the CPU, with the headers of this directory in place of CUDA's."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wattslice.profiling.probes.cuda_on_cpu.rewriting import rewritten
from wattslice.profiling.probes.refusals import BuildError, refusal

HERE = Path(__file__).parent
_FLAGS = ("-std=c++17", "-O1", "-w", "-fpermissive", "-ffp-contract=off")
CHECKING = (*_FLAGS, "-g1", "-fsanitize=address", "-fno-sanitize-recover=all")
"""Flags that let a program end at its first access beyond an array; half as fast as `PLAIN`."""
PLAIN = _FLAGS
_OF_CXX = ("-std=c++", "-fpermissive")
_RUNTIME = ("runtime", "snapshot")
_SAME_AS_RUNTIME = (
    "builtin_types", "channel_descriptor", "cuda", "cuda_device_runtime_api", "cuda_profiler_api",
    "cuda_runtime_api", "cuda_texture_types", "device_atomic_functions", "device_launch_parameters",
    "device_types", "driver_types", "host_config", "host_defines", "math_constants", "math_functions",
    "sm_20_atomic_functions", "sm_30_intrinsics", "surface_functions", "surface_types",
    "texture_fetch_functions", "texture_types", "vector_functions",
)  # fmt: skip
"""Headers of CUDA whose contents are in ours of `cuda_runtime.h`."""
_OF_GROUPS = ("memcpy_async", "reduce", "scan")
_USES_CUDA = re.compile(r"^\s*#\s*include\s*[<\"]cuda", re.MULTILINE)  # its headers here are C++


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
        for name in _SAME_AS_RUNTIME:
            (directory / f"{name}.h").write_text('#include "cuda_runtime.h"\n', encoding="utf-8")
        (directory / "cooperative_groups").mkdir(exist_ok=True)
        for name in _OF_GROUPS:
            header = directory / "cooperative_groups" / f"{name}.h"
            header.write_text('#include "../cooperative_groups.h"\n', encoding="utf-8")
        for part in _RUNTIME:
            _must_run(compiler, *flags, "-c", HERE / f"{part}.cpp", "-o", directory / f"{part}.o")
        if precompiled:
            header = directory / "cuda_runtime.h"
            _must_run(compiler, *flags, "-x", "c++-header", header, "-o", header.with_suffix(".h.gch"))
        return cls(compiler, directory, flags)

    def compile(
        self,
        program: Path,
        text: str | None = None,
        name: str = "",
        include_dirs: Sequence[Path] = (),
        sources: Sequence[Path] = (),
    ) -> Path:
        """The executable of `program`, or of `text` in its place; compiled once.

        `name` of the executable, the program's stem if empty. `sources`: further files of the program; those
        that end in .cu are CUDA, in .c are C. Raises `BuildError`, `RewritingError`.
        """
        executable = self.directory / (name or program.stem)
        if executable.exists() and text is None and executable.stat().st_mtime > program.stat().st_mtime:
            return executable
        cuda = _text_of(program) if text is None else text
        folders = tuple(word for folder in include_dirs for word in ("-I", folder))
        parts = [self._object(program, cuda, executable.with_suffix(".o"), folders)]
        for number, source in enumerate(sources):
            made = self.directory / f"{executable.name}_{number}.o"
            parts.append(self._object(source, _text_of(source), made, folders))
        runtime = (self.directory / f"{part}.o" for part in _RUNTIME)
        libraries = [flag for flag in self.flags if flag.startswith(("-l", "-L"))]
        done = _ran(self.compiler, *self.flags, *parts, *runtime, "-o", executable, *libraries)
        if done.returncode != 0:
            raise refusal(self.compiler, program, done.stdout + done.stderr, self.directory)
        return executable

    def _object(self, source: Path, text: str, made: Path, folders: Sequence[str | Path]) -> Path:
        language, written = "c++", made.with_suffix(".cpp")
        if source.suffix == ".c" and _USES_CUDA.search(text) is None:
            language, written = "c", made.with_suffix(".c")
            written.write_text(f'#line 1 "{source}"\n{text}', encoding="utf-8", errors="surrogateescape")
        elif source.suffix == ".cu":
            written.write_text(
                f'#include "cuda_runtime.h"\n#line 1 "{source}"\n{rewritten(text)}',
                encoding="utf-8",
                errors="surrogateescape",
            )
        else:
            written.write_text(f'#line 1 "{source}"\n{text}', encoding="utf-8", errors="surrogateescape")
        flags = [flag for flag in self.flags if language == "c++" or not flag.startswith(_OF_CXX)]
        done = _ran(
            self.compiler, *flags, "-I", self.directory, "-iquote", source.parent, *folders,
            "-x", language, "-c", written, "-o", made,
        )  # fmt: skip
        if done.returncode != 0:
            raise refusal(self.compiler, source, done.stdout + done.stderr, self.directory)
        return made


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


def _text_of(path: Path) -> str:
    """Comments and strings of old programs are in any encoding: bytes that are not UTF-8 are kept."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise BuildError(f"cannot be read: {error.strerror}", path=path) from None


def _must_run(*command: str | Path) -> None:
    done = _ran(*command)
    if done.returncode != 0:
        raise refusal(str(command[0]), HERE, done.stdout + done.stderr)


def _ran(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, "LC_ALL": "C"},  # messages are read
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
