"""Checkouts of public code for the scripts of this folder: which files, and what their plain text shows.

Nothing here uses the analyzer: what it has to account for is counted independently of it.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from pathlib import Path

from msgspec import Struct

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)
_CONTINUED = re.compile(r"\\\r?\n")
_GLOBAL = re.compile(r"\b__global__\b")
_NAME_BEFORE_PARENTHESIS = re.compile(r"(\w+)\s*\(")
_NOT_A_NAME = frozenset(("__launch_bounds__", "__attribute__", "__declspec", "alignas", "__align__"))
_TRIPLE = re.compile(r"(\w+)\s*(?:<(?:[^;{}<>]|<[^;{}<>]*>)*>)?\s*<<<")
_RUNTIME = re.compile(
    r"cudaLaunch(?:Cooperative)?Kernel(?:ExC?)?\s*\(\s*(?:&\s*\w+\s*,\s*)?"
    r"(?:(?:\(|reinterpret_cast\s*<|static_cast\s*<)[^&\w]*(?:const\s+)?void\s*(?:const\s*)?\*\s*[)>]\s*\(?)?\s*&?\s*(\w+)"
)


class TextFacts(Struct, frozen=True):
    """What plain text shows: (name, line) of kernel definitions, and names in launches of any kind."""

    definitions: tuple[tuple[str, int], ...]
    launched: frozenset[str]


def cuda_files(checkout: Path, seen: set[str]) -> list[Path]:
    """The .cu files of a checkout, sorted; each content once over all calls with one `seen`."""
    found: list[Path] = []
    for folder, folders, names in os.walk(checkout):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix != ".cu" or not path.is_file():
                continue
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest not in seen:
                seen.add(digest)
                found.append(path)
    return sorted(found)


def revision(checkout: Path) -> str:
    """The commit of a checkout, shortened; "no commit" outside git."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "no commit"


def text_facts(path: Path) -> TextFacts:
    """Kernels defined and kernels launched in one file, from its text without comments and strings.

    A definition is `__global__` with a name, parameters in balanced parentheses and then `{`. A launch is
    `name<<<`, `name<arguments><<<`, or the name in cudaLaunchKernel and its relatives. Whether the
    preprocessor switches a piece off is not looked at here.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    text = _NOISE.sub(_blank, _CONTINUED.sub(lambda m: " " * (len(m[0]) - 1) + "\n", text))
    definitions: list[tuple[str, int]] = []
    for mark in _GLOBAL.finditer(text):
        found = _definition(text, mark.end())
        if found is not None:
            name, position = found
            definitions.append((name, text.count("\n", 0, position) + 1))
    launched = {m[1] for m in _TRIPLE.finditer(text)} | {m[1] for m in _RUNTIME.finditer(text)}
    return TextFacts(tuple(definitions), frozenset(launched))


def _blank(noise: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", noise[0])


def _definition(text: str, start: int) -> tuple[str, int] | None:
    """Name and position of the function that starts here; None for a declaration or something else."""
    position = start
    while (found := _NAME_BEFORE_PARENTHESIS.search(text, position)) is not None:
        if re.search(r"[;{}]", text[position : found.start()]):
            return None
        end = _closing(text, found.end())
        if found[1] not in _NOT_A_NAME:
            return (found[1], found.start(1)) if text[end:].lstrip()[:1] == "{" else None
        position = end
    return None


def _closing(text: str, position: int) -> int:
    """The position after the parenthesis that closes the one before `position`."""
    depth = 1
    while depth and position < len(text):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
    return position
