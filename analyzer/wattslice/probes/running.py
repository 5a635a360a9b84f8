"""Builds and runs a program that counts its branches. Nothing else in wattslice runs what it analyses."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from wattslice.frontend.clang.flags import ParseOptions
from wattslice.probes.counts import FILE_VARIABLE, read_counts
from wattslice.probes.cuda_on_cpu.toolchain import PLAIN, Toolchain
from wattslice.probes.emit import emit_probes
from wattslice.probes.types import InstrumentedSource, NotProbed, ProbeError
from wattslice.profiles.types import ArmCount

_MOST_OUTPUT = 2_000


class Build(Enum):
    """What makes the program executable: g++ with our stand-in for CUDA, or nvcc and a GPU."""

    CPU = "cpu"
    NVCC = "nvcc"


@dataclass(frozen=True, slots=True)
class Counted:
    """What a run counted, what it printed, and which branches it could not count."""

    arms: tuple[ArmCount, ...]
    output: str
    not_probed: tuple[NotProbed, ...]


def run_probed(
    path: Path,
    options: ParseOptions | None,
    build: Build,
    arguments: Sequence[str] = (),
    flags: Sequence[str] = (),
    timeout_s: float = 600.0,
) -> Counted:
    """Instrument the program of `path`, build it, run it with `arguments` in the current directory.

    `flags` go to the compiler. Raises `WattsliceError` when there is no compiler, it refuses the program, the
    program fails or does not end in `timeout_s`, or it leaves no counts.
    """
    source = emit_probes(path, options)
    includes = options or ParseOptions()
    more = (
        *(f"-I{folder}" for folder in includes.include_dirs),
        *(f"-D{define}" for define in includes.defines),
        *flags,
    )
    with tempfile.TemporaryDirectory(prefix="wattslice-probes-") as folder:
        work = Path(folder)
        executable = (_built_for_cpu if build is Build.CPU else _built_by_nvcc)(path, source, more, work)
        counts = work / "counts.txt"
        output = _run(executable, arguments, counts, timeout_s)
        if not counts.exists():
            raise ProbeError(
                f"the program left no counts: {_last(output)}",
                path=path,
                remedy="it must end by return or exit",
            )
        return Counted(read_counts(counts).arms, output, source.not_probed)


def _built_for_cpu(path: Path, source: InstrumentedSource, flags: Sequence[str], work: Path) -> Path:
    toolchain = Toolchain.build(_compiler("g++", "--build cpu"), work, (*PLAIN, *flags), precompiled=False)
    return toolchain.compile(path, source.text, f"{path.stem}_probed")


def _built_by_nvcc(path: Path, source: InstrumentedSource, flags: Sequence[str], work: Path) -> Path:
    compiler = _compiler("nvcc", "--build nvcc")
    written = work / f"{path.stem}_probed.cu"
    written.write_text(source.text, encoding="utf-8")
    executable = written.with_suffix("")
    architecture = () if any("arch" in flag or "gencode" in flag for flag in flags) else ("-arch=native",)
    command = (
        compiler,
        *architecture,
        "-O2",
        "-I",
        str(path.parent),
        *flags,
        str(written),
        "-o",
        str(executable),
    )
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise ProbeError(
            f"nvcc refuses the instrumented program:\n{_last(done.stdout + done.stderr)}", path=path
        )
    return executable


def _compiler(name: str, option: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ProbeError(
            f"{option}: {name} is not on the PATH", remedy=f"install {name}, or use --emit-probes"
        )
    return found


def _run(executable: Path, arguments: Sequence[str], counts: Path, timeout_s: float) -> str:
    environment = {**os.environ, FILE_VARIABLE: str(counts)}
    try:
        done = subprocess.run(
            [str(executable), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProbeError(
            f"the program did not end within {timeout_s:g} s", remedy="give it arguments for less data"
        ) from None
    output = done.stdout + done.stderr
    if done.returncode != 0:
        raise ProbeError(
            f"the program ended with status {done.returncode}: {_last(output)}",
            remedy="what follows -- are its arguments",
        )
    return output


def _last(output: str) -> str:
    return output.strip()[-_MOST_OUTPUT:] or "it printed nothing"
