"""Compiles a CUDA program of the corpus for the CPU, with the headers of this directory in place of CUDA's.

The headers cannot give a meaning to three things of the language, so the source is rewritten first: the
launch `kernel<<<grid, block>>>(arguments)`, the declaration `extern __shared__ T name[];`, and that
`__shared__` variables hold nothing yet when a block begins.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ("-std=c++17", "-O1", "-g1", "-w", "-fsanitize=address", "-fno-sanitize-recover=all")

_HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])+'", re.S)
_EXTERN = re.compile(
    r"extern\s+__shared__\s+(?:(?:__align__|alignas)\s*\([^)]*\)\s*)?([\w:\s]+?)\s*\b(\w+)\s*\[\s*\]\s*;"
)
_SHARED = re.compile(r"__shared__\s+([^;{}=]*);")
_KERNEL = re.compile(r"[\w:]+\s*$")
_NAME = re.compile(r"(?:\w+::)*(\w+)")
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The runtime and the precompiled header, built once."""

    compiler: str
    directory: Path
    flags: tuple[str, ...]

    @classmethod
    def build(cls, compiler: str, directory: Path, more: tuple[str, ...] = ()) -> Toolchain:
        """Compiles the runtime and the header into `directory`, with `more` flags after the usual ones."""
        flags = (*FLAGS, *more)
        for header in HERE.glob("*.h"):
            (directory / header.name).write_bytes(header.read_bytes())
        _must_run(compiler, *flags, "-c", HERE / "runtime.cpp", "-o", directory / "runtime.o")
        _must_run(compiler, *flags, "-x", "c++-header", directory / "mma.h", "-o", directory / "mma.h.gch")
        return cls(compiler, directory, flags)

    def compile(self, program: Path) -> Path:
        """The executable of `program`; raises `AssertionError` with what the compiler says against it."""
        source = self.directory / f"{program.stem}.cpp"
        source.write_text(
            f'#include "mma.h"\n#line 1 "{program}"\n{rewritten(program.read_text(encoding="utf-8"))}',
            encoding="utf-8",
        )
        executable = self.directory / program.stem
        _must_run(
            self.compiler, *self.flags, "-I", self.directory, "-iquote", program.parent,
            source, self.directory / "runtime.o", "-o", executable,
        )  # fmt: skip
        return executable


def run(
    executable: Path, arguments: Sequence[int], order: str = "ascending", without: str = ""
) -> tuple[int, str]:
    """Exit status and all output.

    `order` of the threads of a block: "ascending" or "descending"; launches of kernel `without` do nothing.
    """
    done = subprocess.run(
        [str(executable), *map(str, arguments)],
        env={
            **os.environ,
            "CUDA_ON_CPU_ORDER": order,
            "CUDA_ON_CPU_WITHOUT": without,
            "ASAN_OPTIONS": "detect_leaks=0",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _must_run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def rewritten(source: str) -> str:
    """`source` as C++; every line keeps its number."""
    source = _with_undefined_shared(_with_dynamic_shared(source))
    parts: list[str] = []
    done = 0
    hidden = _without_text(source)
    for found in re.finditer("<<<", hidden):
        start = _kernel_start(hidden, found.start())
        configuration_end = _matching(hidden, found.end(), ">>>")
        opened = hidden.index("(", configuration_end + 3)
        closed = _matching(hidden, opened + 1, ")")
        kernel = source[start : found.start()]
        arguments = source[opened + 1 : closed]
        parts += (
            source[done:start],
            f"cuda_on_cpu::launch(cuda_on_cpu::Configuration({source[found.end() : configuration_end]}), ",
            f'"{_NAME.findall(kernel)[0]}", ',
            f"[&](auto... arguments) {{ {kernel}(arguments...); }}",
            f", {arguments}" if arguments.strip() else "",
            ")",
        )
        done = closed + 1
    return "".join((*parts, source[done:]))


def _with_dynamic_shared(source: str) -> str:
    def pointer(found: re.Match[str]) -> str:
        element, name = found[1].strip(), found[2]
        return f"{element}* const {name} = reinterpret_cast<{element}*>(cuda_on_cpu::dynamicShared);"

    return _replaced(_EXTERN, source, pointer)


def _with_undefined_shared(source: str) -> str:
    def declaration(found: re.Match[str]) -> str:
        names = (re.findall(r"\w+", variable.split("[")[0])[-1] for variable in _split(found[1]))
        return found[0] + "".join(f" cuda_on_cpu::undefine(&{name}, sizeof {name});" for name in names)

    return _replaced(_SHARED, source, declaration)


def _split(variables: str) -> list[str]:
    """At the commas outside of brackets."""
    depth = 0
    parts = [""]
    for character in variables:
        depth += (character in _OPEN + "<") - (character in _CLOSE + ">")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _replaced(pattern: re.Pattern[str], source: str, replacement: Callable[[re.Match[str]], str]) -> str:
    """`source` with the matches outside of comments and literals replaced."""
    parts: list[str] = []
    done = 0
    for found in pattern.finditer(_without_text(source)):
        parts += (source[done : found.start()], replacement(found))
        done = found.end()
    return "".join((*parts, source[done:]))


def _without_text(source: str) -> str:
    """`source` with blanks for comments and literals, so that positions stay the same."""
    return _HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def _kernel_start(source: str, end: int) -> int:
    """Where the kernel's name before `<<<` begins; it may have template arguments."""
    at = len(source[:end].rstrip())
    if source[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(source[at], 0)
            if depth == 0:
                break
    found = _KERNEL.search(source, 0, at)
    assert found is not None, f"no kernel before <<< in {source[max(0, end - 80) : end]!r}"
    return found.start()


def _matching(source: str, start: int, closing: str) -> int:
    """Where `closing` stands outside of all brackets opened after `start`."""
    depth = 0
    for at in range(start, len(source)):
        if depth == 0 and source.startswith(closing, at):
            return at
        depth += (source[at] in _OPEN) - (source[at] in _CLOSE)
    raise AssertionError(f"no {closing} after {source[start : start + 80]!r}")
