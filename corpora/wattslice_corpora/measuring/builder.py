"""Builds a CUDA program with nvcc so that one of its launches can be repeated (see loop.cpp)."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.measuring.errors import ConfigurationError, MeasureError
from wattslice_corpora.records import sha256

_LOOP = Path(__file__).with_name("loop.cpp")
_WRAPPED = (
    "cudaLaunchKernel",
    "cudaLaunchKernel_ptsz",
    "cudaLaunchCooperativeKernel",
    "cudaLaunchKernelExC",
    "__cudaRegisterFunction",
)
_BUILD_LIMIT_S = 600


class Builder(Struct, frozen=True):
    """nvcc and how to call it. `folder`: where programs are kept; the same source is not built twice.

    `architecture`: as nvcc's ``-arch`` wants it; ``native`` is the GPU of this machine.
    """

    nvcc: str
    folder: Path
    architecture: str = "native"
    flags: tuple[str, ...] = ()

    def build(self, source: Path, definitions: tuple[str, ...] = ()) -> Path:
        """The executable; `definitions`: ``NAME=VALUE`` each.

        Raises `ConfigurationError` with the compiler's words when it does not compile, and where the source
        defines one of the macros again.
        """
        flags = (*self.flags, *(f"-D{definition}" for definition in definitions))
        program = self.folder / f"{source.stem[:40]}-{self.version(source, definitions)}"
        if program.exists():
            return program
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = program.with_name(f"{program.name}.{os.getpid()}.tmp")
        command = [
            self.nvcc,
            "-std=c++17",
            "-O3",
            f"-arch={self.architecture}",
            "-Xcompiler=-D__NV_LEGACY_LAUNCH",
            *(f"-Xlinker=--wrap={name}" for name in _WRAPPED),
            *flags,
            str(source),
            str(_LOOP),
            "-o",
            str(draft),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=_BUILD_LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"{source.name}: nvcc did not end within {_BUILD_LIMIT_S} s") from None
        except OSError as error:
            raise MeasureError(f"nvcc cannot be run: {error}") from None
        if done.returncode != 0:
            draft.unlink(missing_ok=True)
            said = _first_error(done.stderr or done.stdout).replace(f"{source.parent}/", "")
            raise ConfigurationError(f"{source.name}: does not build: {said}")
        if again := _redefined(done.stderr, definitions):
            draft.unlink(missing_ok=True)
            raise ConfigurationError(f"{source.name}: defines {again} again: -D {again} has no effect")
        draft.replace(program)
        return program

    def version(self, source: Path, definitions: tuple[str, ...] = ()) -> str:
        """A hash of all that makes the program: what it includes and what it is linked with count too."""
        flags = (*self.flags, *(f"-D{definition}" for definition in definitions))
        linked = (Path(flag) for flag in flags if Path(flag).is_file())
        contents = (sha256(path) for path in (*self._read(source, flags), _LOOP, *linked))
        settings = "\0".join((*contents, self.nvcc, self.architecture, *flags))
        return hashlib.sha256(settings.encode(errors="replace")).hexdigest()[:12]

    def _read(self, source: Path, flags: tuple[str, ...]) -> tuple[Path, ...]:
        """The files that nvcc reads for `source`; of one that does not compile, itself alone."""
        command = [self.nvcc, "-M", "-std=c++17", f"-arch={self.architecture}", *flags, str(source)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        _, _, listed = done.stdout.replace("\\\n", " ").partition(" : ")
        names = re.split(r"(?<!\\)\s+", listed.strip())
        found = tuple(Path(name.replace("\\ ", " ")) for name in names if name)
        return tuple(path for path in found if path.is_file()) or (source,)


def find_nvcc() -> str:
    """nvcc of ``CUDA_HOME``, on the PATH, or of /usr/local/cuda. Raises `MeasureError` when there is none."""
    asked = tuple(os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name))
    candidates = (
        *(str(Path(folder) / "bin" / "nvcc") for folder in asked),
        "nvcc",
        "/usr/local/cuda/bin/nvcc",
    )
    for candidate in candidates:
        if found := shutil.which(candidate):
            return found
    raise MeasureError(
        "nvcc not found: measuring builds the kernels; install the CUDA toolkit or set CUDA_HOME"
    )


def _redefined(said: str, definitions: tuple[str, ...]) -> str:
    """Which of the macros the source defines with another value; empty: none."""
    names = (re.split(r"[(=]", definition, maxsplit=1)[0] for definition in definitions)
    return next((name for name in names if re.search(rf"""["']{name}["'] (?:macro )?redefined""", said)), "")


def _first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = ("undefined reference", ": error", "error")
    errors = [line for sign in telling for line in lines if sign in line]
    return (errors or lines or ["no message"])[0]
