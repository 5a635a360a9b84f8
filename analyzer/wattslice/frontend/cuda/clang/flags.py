"""What to tell clang: the fixed flags of a device-side parse without any toolkit, and the user's choices."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from wattslice.documents import parse_json
from wattslice.errors import FrontendError
from wattslice.frontend.inputs import file_bytes, followed, is_folder, note_text
from wattslice.frontend.parse_options import FAST_MATH, ParseOptions, UnreadFile
from wattslice.frontend.project.build import compile_databases, compile_flags, folders_above

STUBS = Path(__file__).with_name("stubs")
FALLBACK_STUBS = STUBS / "fallback"
FOLLOWED = STUBS / "wattslice_std_pointers.h"
"""Of the library, but written down as what it does: as functions of the program are."""
PRELUDE, C_PRELUDE = STUBS / "prelude.cuh", STUBS / "prelude_c.h"
BUILTINS = STUBS / "wattslice_builtins.cuh"  # made of the table of builtins, not on the disk

# CXTranslationUnit_Flags
INCOMPLETE, FOR_SERIALIZATION, KEEP_GOING = 0x02, 0x10, 0x200

# Nesting beyond this is refused by clang itself with an error, long before its stack ends.
BRACKET_DEPTH = 256
TEMPLATE_DEPTH = 900


def is_c(standard: str) -> bool:
    """Whether a language standard is one of C, not of C++ and so of CUDA."""
    return "++" not in standard


def language_flags(standard: str, gpu_arch: str) -> tuple[str, ...]:
    """The flags that the prelude's PCH and every file that uses it must share."""
    cuda = (
        "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={gpu_arch}", "-nocudainc", "-nocudalib",
        "--cuda-path=/nonexistent", "-Xclang", "-fcuda-allow-variadic-functions",
    )  # fmt: skip
    return (
        *(("-x", "c") if is_c(standard) else cuda), "--target=x86_64-unknown-linux-gnu", f"-std={standard}",
        "-nostdinc", "-nostdinc++", "-ferror-limit=0", "-Wno-everything",
        f"-fbracket-depth={BRACKET_DEPTH}", f"-ftemplate-depth={TEMPLATE_DEPTH}",
        "-ftemplate-backtrace-limit=1",
        "-fconstexpr-steps=1000000", f"-isystem{STUBS}",
    )  # fmt: skip


def user_flags(options: ParseOptions, extra_dirs: tuple[Path, ...]) -> tuple[str, ...]:
    """The user's folders and macros; `extra_dirs` (found by search) come after the user's own."""
    return (
        *(f"-I{folder}" for folder in (*options.include_dirs, *extra_dirs)),
        *(f"-D{define}" for define in options.defines),
        *(("-Wmacro-redefined",) if options.defines else ()),  # `_report_includes` tells it
        *(f"-U{name}" for name in options.undefines),
    )


# ---------------------------------------------------------------------------
# compile_commands.json: what a build tells nvcc about a file, reduced to what matters to the parse.


_STANDARDS = frozenset(("c++11", "c++14", "c++17", "c++20", "gnu++11", "gnu++14", "gnu++17", "gnu++20"))
# The GPUs libclang 18 knows; a newer one parses as the newest of them.
_ARCHITECTURES = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90)
_VALUE_FLAGS = ("-I", "-isystem", "-D", "-U", "--include-path", "--system-include", "--define-macro",
                "--undefine-macro", "-std", "--std", "-arch", "--gpu-architecture", "-gencode",
                "--generate-code")  # fmt: skip


def with_compile_commands(path: Path, options: ParseOptions) -> ParseOptions:
    """The options plus what `options.compile_commands` says about the file; unchanged if it says nothing.

    Raises `FrontendError` when the folder has no readable compile_commands.json.
    """
    folder = options.compile_commands
    if folder is None:
        return options
    database = folder / "compile_commands.json" if folder.is_dir() else folder
    remedy = "let the build write it, for example with CMAKE_EXPORT_COMPILE_COMMANDS=ON"
    try:
        data = file_bytes(database)
        note_text(database, data)
        entries: Any = parse_json(data)
    except OSError as error:
        note_text(database, b"")
        raise FrontendError(database, None, error.strerror or "unreadable", remedy) from error
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise FrontendError(database, line, "is not JSON", remedy) from error
    if not isinstance(entries, list):
        raise FrontendError(database, None, "is no list of commands", remedy)
    if b"\\u0000" in data:  # the only way of JSON to write one
        line = data.count(b"\n", 0, data.index(b"\\u0000")) + 1
        raise FrontendError(database, line, "names a file or word with a NUL byte", remedy)
    wanted = path.resolve()
    for entry in cast("list[Any]", entries):
        if not isinstance(entry, dict):
            continue
        fields = cast("dict[str, Any]", entry)
        base = database.parent / str(fields.get("directory", ""))
        if followed(base / str(fields.get("file", ""))) == wanted:
            return _merged(options, _words(fields), base, database.name)
    return options


def with_build_flags(path: Path, options: ParseOptions) -> ParseOptions:
    """The options plus what the build files around the file say: compile_commands.json, else the Makefile or
    CMakeLists.txt. Of folders only those of the same repository; what cannot be read is `unread`.
    """
    top = folders_above(path.resolve())[-1]
    unread: list[UnreadFile] = []
    for database in compile_databases(path):
        try:
            found = with_compile_commands(path, replace(options, compile_commands=database.parent))
        except FrontendError as error:
            unread.append(UnreadFile(str(error.path), error.line or 1, f"{error.message} ({error.remedy})"))
            continue
        own = found.include_dirs[len(options.include_dirs) :]
        if found != replace(options, compile_commands=database.parent):
            inside = (followed(folder) for folder in own)
            kept = [folder for folder in inside if folder.is_relative_to(top) and is_folder(folder)]
            folders = (*options.include_dirs, *(as_asked(folder, path) for folder in kept))
            return replace(found, include_dirs=folders, compile_commands=None, unread=tuple(unread))
    flags = compile_flags(path)
    return replace(
        options,
        include_dirs=(
            *options.include_dirs,
            *(as_asked(folder, path) for folder in flags.include_directories),
        ),
        defines=(*flags.definitions, *options.defines),
        unread=tuple(unread),
        fast_math=flags.fast_math if options.fast_math is None else options.fast_math,
        others=flags.others,
    )


def as_asked(folder: Path, path: Path) -> Path:
    """A folder below the current one relative to it, where the file is named so: messages name a header by
    the folder that it is found in.
    """
    if path.is_absolute() or folder.is_relative_to(STUBS):
        return folder
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _words(fields: dict[str, Any]) -> list[str]:
    arguments = fields.get("arguments")
    if isinstance(arguments, list):
        return [str(word) for word in cast("list[Any]", arguments)]
    try:
        return shlex.split(str(fields.get("command", "")))
    except ValueError:
        return []


def _flag_and_value(words: list[str], position: int) -> tuple[str, str, int]:
    """The flag at a place with its value, written `-Ix`, `-I x` or `--flag=x`; and how many words."""
    word = words[position]
    for flag in _VALUE_FLAGS:
        if word == flag:
            return flag, words[position + 1] if position + 1 < len(words) else "", 2
        if word.startswith(flag + "="):
            return flag, word[len(flag) + 1 :], 1
        if flag in ("-I", "-D", "-U", "-isystem") and word.startswith(flag):
            return flag, word[len(flag) :], 1
    return "", "", 1


def _merged(options: ParseOptions, words: list[str], base: Path, where: str) -> ParseOptions:
    include_dirs: list[Path] = []
    defines: list[str] = []
    undefines: list[str] = []
    standard, gpu_arch, fast_math = options.standard, options.gpu_arch, options.fast_math
    if fast_math is None and any(word in FAST_MATH for word in words):
        fast_math = where
    position = 1
    while position < len(words):
        flag, value, taken = _flag_and_value(words, position)
        position += taken
        match flag:
            case "-I" | "-isystem" | "--include-path" | "--system-include":
                include_dirs.extend(base / part for part in value.split(",") if part)
            case "-D" | "--define-macro":
                defines.append(value)
            case "-U" | "--undefine-macro":
                undefines.append(value)
            case "-std" | "--std":
                standard = value if value in _STANDARDS and not is_c(standard) else standard
            case "-arch" | "--gpu-architecture" | "-gencode" | "--generate-code":
                gpu_arch = _known_architecture(value) or gpu_arch
            case _:
                pass
    return replace(
        options,
        # What the user says on wattslice's own command line wins: first folder, last macro.
        include_dirs=(*options.include_dirs, *include_dirs),
        defines=(*defines, *options.defines),
        undefines=(*undefines, *options.undefines),
        standard=standard,
        gpu_arch=gpu_arch,
        fast_math=fast_math,
    )


def _known_architecture(value: str) -> str | None:
    match = re.search(r"(?:sm|compute)_(\d+)", value)
    if match is None:
        return None
    known = [number for number in _ARCHITECTURES if number <= int(match[1])]
    return f"sm_{known[-1]}" if known else None
