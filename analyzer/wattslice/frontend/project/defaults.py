"""Macros for which a source has a default of its own, and that the build seems to give another value.

`#ifndef BLOCK` / `#define BLOCK 256` holds where nothing else defines it. A build file or script that names
the macro in a way that is not followed (`$(shell ...)`, a function of CMake, meson) may: that is told.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from wattslice import ir
from wattslice.frontend.parse_options import ParseOptions
from wattslice.frontend.project.build import MAKEFILES, folders_above
from wattslice.frontend.project.makefile import text_of_file
from wattslice.patterns import regex

BUILD_FILES = (
    *MAKEFILES, "CMakeLists.txt", "CMakePresets.json", "meson.build", "setup.py", "SConstruct", "BUILD",
    *(f"{name}.sh" for name in ("build", "compile", "make", "run", "test", "run_all", "benchmark")),
)  # fmt: skip
_DEFAULT = regex(
    r"^[ \t]*#[ \t]*(?:ifndef[ \t]+|if[ \t]+!\s*defined[ \t(]+)(\w+)[^\n]*\n"
    r"[ \t]*#[ \t]*define[ \t]+\1[ \t]+(\S[^\n]*)",
    re.MULTILINE,
)
_FEWEST_USES = 3
"""Of a name that is used: two are the default's own."""


def doubtful_defaults(source: Path, text: str, given: Collection[str]) -> Iterator[ir.AssumedOfText]:
    """Those in a text that build files around it name; `given`: the definitions that are known."""
    known = {*map(name_of, given)}
    found = {m[1]: m for m in _DEFAULT.finditer(text) if m[1] not in known}
    used = {name: m for name, m in found.items() if len(re.findall(rf"\b{name}\b", text)) >= _FEWEST_USES}
    folders = folders_above(source.resolve()) if used else ()
    for name, default in used.items():
        line = text.count("\n", 0, default.start(2)) + 1
        value = re.split(r"//|/\*", default[2])[0].strip()
        if (place := _named_in(folders, name, value)) is not None:
            message = f"{name} assumed {value}, its default in the source: {place} gives it another value"
            yield ir.AssumedOfText(
                str(source), line, f"{message} in a way that is not followed", f"-D {name}=VALUE"
            )


def other_builds(source: Path, options: ParseOptions, texts: Sequence[str]) -> Iterator[ir.AssumedOfText]:
    """How else the build compiles a file, where that defines what its texts, headers among them, name."""
    for other in options.others:
        names = {name_of(one) for one in {*other.definitions} ^ {*options.defines}}
        if any(re.search(rf"\b{name}\b", text) for name in names for text in texts):
            own, flags = (
                " ".join(f"-D {one}" for one in given) or "no -D"
                for given in (options.defines, other.definitions)
            )
            message = f"{own} assumed: {other.where} compiles the file with {flags}"
            yield ir.AssumedOfText(str(source), 1, message, "-D NAME=VALUE")


def name_of(definition: str) -> str:
    """Of a macro: `NAME` of `NAME(a)=a`."""
    return re.split(r"[=(]", definition)[0]


def _named_in(folders: Sequence[Path], name: str, value: str) -> str | None:
    """The first place in a build file or script that defines a macro as another value."""
    flag = rf"-D\s*[\"']?{name}\b(?!={re.escape(value)}\b)"
    for folder in folders:
        for file in BUILD_FILES:
            written = (
                rf"{flag}|[\s\"':;(]{name}=(?!{re.escape(value)}\b)" if file.startswith("CMake") else flag
            )
            if (text := text_of_file(f"{folder}/{file}")) is None or name not in text:
                continue
            for number, line in enumerate(text.split("\n"), 1):
                if re.search(written, line.split("#")[0]):
                    return f"{os.path.relpath(folder / file, folders[0])}:{number}"
    return None
