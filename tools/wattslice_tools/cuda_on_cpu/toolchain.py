"""Compiles a CUDA program for the CPU, with the headers of this directory in place of CUDA's."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from wattslice.errors import WattsliceError, of_system
from wattslice.patterns import regex
from wattslice_tools.cuda_on_cpu.rewriting import rewritten

HERE = Path(__file__).parent
PLAIN = ("-std=c++17", "-O1", "-w", "-fpermissive", "-ffp-contract=off")
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
_USES_CUDA = regex(r"^\s*#\s*include\s*[<\"]cuda", re.MULTILINE)  # its headers here are C++


class Toolchain(Struct, frozen=True):
    """The runtime, compiled; `rewrite` makes C++ of a program."""

    compiler: str
    directory: Path
    flags: tuple[str, ...]
    rewrite: Callable[[str], str] = rewritten

    @classmethod
    def build(
        cls, compiler: str, directory: Path, flags: tuple[str, ...], rewrite: Callable[[str], str] = rewritten
    ) -> Toolchain:
        """Compiles the runtime into `directory`. Raises `WattsliceError`."""
        for header in HERE.glob("*.h"):
            (directory / header.name).write_bytes(header.read_bytes())
        for name in _SAME_AS_RUNTIME:
            (directory / f"{name}.h").write_text('#include "cuda_runtime.h"\n', encoding="utf-8")
        (directory / "cooperative_groups").mkdir(exist_ok=True)
        for name in _OF_GROUPS:
            header = directory / "cooperative_groups" / f"{name}.h"
            header.write_text('#include "../cooperative_groups.h"\n', encoding="utf-8")
        for part in _RUNTIME:
            must_run(compiler, *flags, "-c", HERE / f"{part}.cpp", "-o", directory / f"{part}.o")
        return cls(compiler, directory, flags, rewrite)

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
        that end in .cu are CUDA, in .c are C. Raises `WattsliceError`, `WattsliceError`.
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
                f'#include "cuda_runtime.h"\n#line 1 "{source}"\n{self.rewrite(text)}',
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


def _text_of(path: Path) -> str:
    """Comments and strings of old programs are in any encoding: bytes that are not UTF-8 are kept."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise of_system(error, "cannot be read", path) from None


def must_run(*command: str | Path) -> None:
    """Raises `WattsliceError` for a command that fails."""
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


_GXX = regex(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal error|error|Error): (?P<text>.*)$", re.M
)
_CAUSE = regex(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)?\s+required from here$", re.M)
_UNDEFINED = regex(r"undefined reference to [`'](?P<name>[^'\n]+)'")
_NO_HEADER = regex(r"(\S+): No such file or directory")
_UNKNOWN = regex(
    r"'([\w:]+)' (?:was not declared|has not been declared|does not name a type|is not a member of)"
    r"|'([\w:]+)' (?:is|are) not a template|there are no arguments to '(\w+)'"
    r"|no matching function for call to '(\w+)"
)
_OF_CUDA = regex(r"(?:cuda|cu[A-Z]|cub|nv|__|tex|surf|cooperative_groups|thrust|wmma|atomic)")
_PTX = regex(r"'asm'|^no such instruction|^invalid (?:character|instruction)|^bad register|^junk", re.M)
ELSEWHERE = "wattslice profile --emit-probes is for nvcc, --data needs no build"
_MORE = "all that it says stands above"


class CompilerOutput(Exception):  # noqa: N818  (no error of its own)
    """All that a compiler printed: the cause of a `WattsliceError`, for those who want it whole."""


def refusal(compiler: str, program: Path, output: str, stand_in: Path | None = None) -> WattsliceError:
    """Why `compiler` refuses `program`. `stand_in`: the folder of the headers in place of CUDA's."""
    error = _refusal(Path(compiler).name, program, output, stand_in)
    error.__cause__ = CompilerOutput(output.strip())
    return error


def _refusal(compiler: str, program: Path, output: str, stand_in: Path | None) -> WattsliceError:
    found = _GXX.search(output)
    if found is None:
        undefined = _UNDEFINED.search(output)
        if undefined is not None:
            name = undefined["name"]
            remedy = f"--source FILE for a source file that has it, --flag -lNAME for a library; {ELSEWHERE}"
            return WattsliceError(f"{name} is defined in another file", path=program, remedy=remedy)
        said = (output.strip().splitlines() or ["nothing"])[0]
        return WattsliceError(f"{compiler} refuses the program: {said}", path=program, remedy=_MORE)
    text = found["text"]
    if stand_in is not None and Path(found["file"]).parent == stand_in:
        found = _CAUSE.search(output, found.end()) or found
    place = Path(found["file"]), int(found["line"])
    header, unknown = _NO_HEADER.search(text), _UNKNOWN.search(text)
    if header is not None:
        message = f"{header[1]} is not found"
        remedy = f"-I DIR tells where it is; if it belongs to CUDA, the stand-in lacks it: {ELSEWHERE}"
    elif stand_in is not None and _PTX.search(text):
        message, remedy = "PTX in asm cannot be run by a CPU", ELSEWHERE
    elif (
        stand_in is not None
        and unknown is not None
        and _OF_CUDA.match(name := next(filter(None, unknown.groups())))
    ):
        message, remedy = f"the stand-in for CUDA does not offer {name} as it is used here", ELSEWHERE
    else:
        message = f"{compiler} refuses the program: {text}"
        remedy = _MORE if stand_in is None else f"{ELSEWHERE}; {_MORE}"
    return WattsliceError(message, path=place[0], line=place[1], remedy=remedy)
