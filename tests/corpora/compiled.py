"""Programs compiled for the CPU, so that their launches leave snapshots, and how they are run."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

from wattslice_tools.cuda_on_cpu.rewriting import _matching, _split, _without_text, rewritten
from wattslice_tools.cuda_on_cpu.toolchain import PLAIN, Toolchain, must_run

CHECKING = (*PLAIN, "-g1", "-fsanitize=address", "-fno-sanitize-recover=all")
"""Flags that let a program end at its first access beyond an array; half as fast as `PLAIN`."""
_GLOBAL = re.compile(
    r"\b__(?:constant|device)__\s+(?:(?:__align__|alignas)\s*\(\w+\)|\[[^\]]*\]|[^;{}()=\[])+[;{=]"
)
_NO_VARIABLE = re.compile(r"\b(?:struct|class|union|enum|extern|using|typedef|operator)\b")
_NAMESPACE = re.compile(r"\b(?:namespace[\s\w:]*|extern\s*)$")


def with_snapshots(source: str) -> str:
    """`source` as C++ that knows which variables are device memory and which instance of a kernel runs."""
    return rewritten(_with_names_of_kernels(_with_registered_globals(source)))


def checking_toolchain(compiler: str, directory: Path, flags: tuple[str, ...] = CHECKING) -> Toolchain:
    """The runtime and a precompiled header for several programs."""
    made = Toolchain.build(compiler, directory, flags, with_snapshots)
    header = directory / "cuda_runtime.h"
    must_run(compiler, *flags, "-x", "c++-header", str(header), "-o", str(header.with_suffix(".h.gch")))
    return made


def _with_registered_globals(source: str) -> str:
    """Behind each `__constant__` or `__device__` variable an object that knows where it is."""
    hidden = _without_text(source)
    parts: list[str] = []
    done = 0
    for found in _GLOBAL.finditer(hidden):
        line = hidden[hidden.rfind("\n", 0, found.start()) + 1 : found.start()]
        if _NO_VARIABLE.search(line + found[0]) or line.lstrip().startswith("#"):
            continue
        if not _at_namespace_scope(hidden[: found.start()]):
            continue
        end = _matching(hidden, found.end() - 1, ";") + 1
        names = [_declared(one) for one in _split(hidden[found.start() : end - 1])]
        parts += (
            source[done:end],
            *(
                f' static cuda_on_cpu::Global cudaOnCpu_{name}("{name}", &{name}, sizeof {name});'
                for name in names
            ),
        )
        done = end
    return "".join((*parts, source[done:]))


def _declared(declarator: str) -> str:
    return re.findall(r"\w+", re.split(r"[\[={]", declarator)[0])[-1]


def _at_namespace_scope(before: str) -> bool:
    braces: list[int] = []
    for found in re.finditer("[{}]", before):
        if found[0] == "{":
            braces.append(found.start())
        elif braces:
            braces.pop()
    return all(_NAMESPACE.search(before, 0, at) for at in braces)


def _with_names_of_kernels(source: str) -> str:
    hidden = _without_text(source)
    parts: list[str] = []
    done = 0
    for found in re.finditer(r"\b__global__\b", hidden):
        line = hidden[hidden.rfind("\n", 0, found.start()) + 1 : found.start()]
        depths = accumulate((c in "([") - (c in ")]") for c in hidden[found.end() :])
        opened = next(
            (at for at, depth in enumerate(depths, found.end()) if depth == 0 and hidden[at] in "{;"), None
        )
        if opened is not None and hidden[opened] == "{" and not line.lstrip().startswith("#"):
            parts += (source[done : opened + 1], " cuda_on_cpu::runs(__PRETTY_FUNCTION__);")
            done = opened + 1
    return "".join((*parts, source[done:]))


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
