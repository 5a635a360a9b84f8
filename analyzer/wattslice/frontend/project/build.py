"""The build files around a source: the Makefile and CMakeLists.txt of its folder and those above."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field

from wattslice.frontend.inputs import followed, is_folder, note_file, repository_root
from wattslice.frontend.project.makefile import UNTOLD, Line, Makefile, fits, read_makefile, text_of_file
from wattslice.patterns import regex

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
DATABASES = ("compile_commands.json", "build/compile_commands.json")
_MOST_ABOVE = 4
_MOST_COMMANDS = 4000
_LONGEST_PATH = 4000


def folders_above(file: Path) -> tuple[Path, ...]:
    """The folder of a file and those above it, up to the top of its repository, else the next."""
    top = repository_root(file)
    folders = list(file.parents)
    if top != folders[0] or (top / ".git").exists():
        folders = folders[: folders.index(top) + 1]
        return (*folders[:_MOST_ABOVE], *folders[_MOST_ABOVE:][-1:])
    return tuple(folders[:2])


def makefile_of(folder: Path, top: Path) -> Makefile | None:
    """The Makefile of a folder; what it includes has to lie below `top`."""
    for name in MAKEFILES:
        found = read_makefile(f"{folder}/{name}", top)
        if found is not None:
            return found
    return None


# ----------------------------------------------------------------------------- CMake


class CmakeProgram(Struct, frozen=True):
    """`add_executable` or `add_library`."""

    name: str
    sources: tuple[str, ...]


class CmakeTest(Struct, frozen=True):
    """`add_test`: the program and its words."""

    program: str
    words: tuple[str, ...]
    line: Line


class Cmake(Struct):
    """What a CMakeLists.txt says of programs. `folder`: where it stands, `top`: the project's."""

    folder: Path
    top: Path
    variables: dict[str, str] = field(default_factory=dict[str, str])
    programs: list[CmakeProgram] = field(default_factory=list[CmakeProgram])
    tests: list[CmakeTest] = field(default_factory=list[CmakeTest])
    flags: list[tuple[str | None, str]] = field(default_factory=list[tuple[str | None, str]])
    """`-D` and `-I` of a target, None: of all."""


_COMMAND = regex(r"([A-Za-z_]\w*)\s*\(")
_ARGUMENT = regex(r'"((?:[^"\\]|\\.)*)"|#[^\n]*|([^\s()"#]+)|([()])', re.DOTALL)
_REFERENCE = regex(r"\$\{([^${}]+)\}")
_FILE_OF_TARGET = regex(r"\$<TARGET_FILE:([^>]+)>")
_KEYWORDS = frozenset({"PRIVATE", "PUBLIC", "INTERFACE", "SYSTEM", "BEFORE", "AFTER", "WIN32",
                       "MACOSX_BUNDLE", "EXCLUDE_FROM_ALL", "STATIC", "SHARED", "MODULE",
                       "OBJECT"})  # fmt: skip


def read_cmake(folder: Path, top: Path) -> Cmake | None:
    """The CMakeLists.txt of a folder with the variables of those above; None where there is none."""
    own = text_of_file(f"{folder}/CMakeLists.txt")
    if own is None:
        return None
    above = folder.parents
    downwards = reversed(above[: 0 if folder == top else above.index(top) + 1])
    asked = ((place, text_of_file(f"{place}/CMakeLists.txt")) for place in downwards)
    return _read_cmake((*((place, text) for place, text in asked if text is not None), (folder, own)), top)


@lru_cache(maxsize=64)
def _read_cmake(texts: tuple[tuple[Path, str], ...], top: Path) -> Cmake | None:
    """What these say, from the top downwards. Files of a folder ask about the same; nobody changes it."""
    found: Cmake | None = None
    variables: dict[str, str] = {}
    flags: list[tuple[str | None, str]] = []
    for place, text in texts:
        variables.setdefault("CMAKE_SOURCE_DIR", str(place))
        variables["CMAKE_CURRENT_SOURCE_DIR"] = variables["CMAKE_CURRENT_LIST_DIR"] = str(place)
        found = Cmake(place, top, variables, flags=[flag for flag in flags if flag[0] is None])
        _follow(found, text, place / "CMakeLists.txt")
        flags = found.flags
    return found


def _follow(cmake: Cmake, text: str, path: Path) -> None:
    level = ifs = 0
    position = 0
    text = re.sub(r"(?m)^\s*#.*$", "", text)
    for _ in range(_MOST_COMMANDS):
        command = _COMMAND.search(text, position)
        if command is None:
            return
        arguments, position = _arguments(cmake, text, command.end())
        name = command[1].lower()
        level += (name in ("if", "foreach", "function", "macro", "while")) - (
            name in ("endif", "endforeach", "endfunction", "endmacro", "endwhile")
        )
        ifs += (name == "if") - (name == "endif")
        number = text.count("\n", 0, command.start()) + 1
        if name == "set" and ifs and len(arguments) > 1 and arguments[0] in cmake.variables:
            _set_in_branch(cmake, arguments)
            continue
        _command(cmake, name, arguments, Line(command[0], path, number), is_certain=level == 0)


def _arguments(cmake: Cmake, text: str, position: int) -> tuple[list[str], int]:
    """The words of a command, expanded, and where it ends."""
    found: list[str] = []
    level = 1
    while level and (token := _ARGUMENT.search(text, position)) is not None:
        position = token.end()
        quoted, word, bracket = token.groups()
        level += (bracket == "(") - (bracket == ")")
        if quoted is not None:
            found.append(_expanded(cmake, quoted))
        elif word is not None:
            found += (part for part in _expanded(cmake, word).split(";") if part)
    return found, position


def _expanded(cmake: Cmake, text: str) -> str:
    for _ in range(8):
        changed = _REFERENCE.sub(lambda found: _variable(cmake, found[1]), text)
        if changed == text or len(changed) > 1 << 16:
            break
        text = changed
    return _FILE_OF_TARGET.sub(r"\1", text)


def _variable(cmake: Cmake, name: str) -> str:
    if name in ("PROJECT_SOURCE_DIR", "CMAKE_SOURCE_DIR"):
        name = "CMAKE_SOURCE_DIR"
    elif name.endswith("_BINARY_DIR"):
        return "."
    elif name.endswith("_SOURCE_DIR") and name not in cmake.variables:
        name = "CMAKE_SOURCE_DIR"
    return cmake.variables.get(name, UNTOLD)


def _command(cmake: Cmake, name: str, words: list[str], line: Line, *, is_certain: bool) -> None:
    if not words:
        return
    first, rest = words[0], [word for word in words[1:] if word not in _KEYWORDS]
    match name:
        case "set":
            is_cached = "CACHE" in rest
            values = rest[: rest.index("CACHE")] if is_cached else rest
            cmake.variables[first] = ";".join(value for value in values if value != "PARENT_SCOPE")
        case "foreach":
            in_lists = rest[rest.index("LISTS") + 1 :] if "LISTS" in rest else []
            listed = [value for name in in_lists for value in cmake.variables.get(name, UNTOLD).split(";")]
            cmake.variables[first] = _first_of(listed or rest)
        case "function" | "macro":
            cmake.variables.update(dict.fromkeys((*rest, "ARGN", "ARGV"), UNTOLD))
        case "project":
            cmake.variables["PROJECT_NAME"] = first
        case "list" if first.upper() == "APPEND" and len(words) > 2:
            known = cmake.variables.get(words[1], "")
            cmake.variables[words[1]] = ";".join((*((known,) if known else ()), *words[2:]))
        case "file" if first.upper().startswith("GLOB") and len(words) > 2:
            patterns = [word for word in words[2:] if word not in ("CONFIGURE_DEPENDS", "LIST_DIRECTORIES")]
            cmake.variables[words[1]] = ";".join(patterns)
        case "add_executable" | "add_library" | "cuda_add_executable" | "cuda_add_library":
            cmake.programs.append(CmakeProgram(first, tuple(rest)))
        case "target_sources":
            cmake.programs.append(CmakeProgram(first, tuple(rest)))
        case "add_test":
            _test(cmake, words, line)
        case "add_definitions" | "add_compile_definitions" | "add_compile_options" if is_certain:
            cmake.flags += ((None, _flag(word)) for word in words)
        case "include_directories" if is_certain:
            cmake.flags += ((None, f"-I{word}") for word in words if word not in _KEYWORDS)
        case "target_compile_definitions" if is_certain:
            cmake.flags += ((first, _flag(word)) for word in rest)
        case "target_compile_options" if is_certain:
            cmake.flags += ((first, word) for word in rest if word.startswith("-D"))
        case "target_include_directories" if is_certain:
            cmake.flags += ((first, f"-I{word}") for word in rest)
        case _:
            pass


def _set_in_branch(cmake: Cmake, words: list[str]) -> None:
    """A variable that has another value if some condition holds: nobody knows which."""
    before = cmake.variables[words[0]]
    _command(cmake, "set", words, Line("", cmake.folder, 0), is_certain=False)
    if cmake.variables[words[0]] != before:
        cmake.variables[words[0]] = UNTOLD


def _first_of(words: list[str]) -> str:
    """The first value of a loop's variable: `foreach(n 1 2)`, `IN ITEMS 1 2`, `IN LISTS names`, `RANGE 4`."""
    if words[:1] == ["RANGE"]:
        return words[1] if len(words) > 2 else "0"
    values = [word for word in words if word not in ("IN", "ITEMS")]
    return values[0] if values and "LISTS" not in values else UNTOLD


def _flag(word: str) -> str:
    return word if word.startswith("-") else f"-D{word}"


def _test(cmake: Cmake, words: list[str], line: Line) -> None:
    """Both forms: `NAME name COMMAND program words...` and `name program words...`."""
    if "COMMAND" in words:
        words = words[words.index("COMMAND") + 1 :]
        ends = [words.index(key) for key in ("WORKING_DIRECTORY", "CONFIGURATIONS", "COMMAND_EXPAND_LISTS")
                if key in words]  # fmt: skip
        words = words[: min(ends, default=len(words))]
    else:
        words = words[1:]
    if words:
        cmake.tests.append(CmakeTest(words[0], tuple(words[1:]), line))


# ----------------------------------------------------------------------------- how a source is compiled


class CompileFlags(Struct, frozen=True):
    """`-D`, `-U` and `-I` of a source, as the build gives them."""

    definitions: tuple[str, ...] = ()
    include_directories: tuple[Path, ...] = ()


_DEFINITION = regex(r"[A-Za-z_]\w*(\([^()]*\))?(=.*)?", re.DOTALL)


def flags_in(words: list[str], base: Path, top: Path) -> CompileFlags:
    """Definitions and folders among the words of a compiler's command; only folders below `top`.

    A folder elsewhere, such as that of the CUDA toolkit, is none of the repository's headers.
    """
    definitions: list[str] = []
    folders: list[Path] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        for flag in ("-isystem", "-I", "-D"):
            if not word.startswith(flag):
                continue
            value = word[len(flag) :]
            if not value and position < len(words):
                value, position = words[position], position + 1
            if not value or UNTOLD in value or "$" in value:
                break
            if flag == "-D":
                definitions += [value] if _DEFINITION.fullmatch(value) else []
            else:
                folder = followed(base / value[:_LONGEST_PATH])
                folders += [folder] if folder.is_relative_to(top) and is_folder(folder) else []
            break
    return CompileFlags(tuple(dict.fromkeys(definitions)), tuple(dict.fromkeys(folders)))


_COMPILED = regex(r"\.(?:cu|cpp|cc|cxx|c|C)$")


def compile_flags(source: Path) -> CompileFlags:
    """What the Makefile or CMakeLists.txt nearest to a source says of how it is compiled."""
    source = source.resolve()
    folders = folders_above(source)
    for folder in folders:
        makefile = makefile_of(folder, folders[-1])
        if makefile is not None:
            found = _of_makefile(makefile, source, folders[-1])
            if found is not None:
                return found
        cmake = read_cmake(folder, folders[-1])
        if cmake is not None:
            return _of_cmake(cmake, source)
    return CompileFlags()


def _of_makefile(makefile: Makefile, source: Path, top: Path) -> CompileFlags | None:
    """The flags of the first rule that compiles this source."""
    for rule in makefile.rules:
        asked = _asked_of(rule.prerequisites, rule.targets, source)
        for _, text in makefile.recipe(rule, asked or ""):
            words = text.replace('"', "").replace("'", "").replace("\\", "").split()
            names = {word.rpartition("/")[2] for word in words if _COMPILED.search(word)}
            if source.name in names or (asked is not None and "-o" in words and _compiles(words)):
                return flags_in(words, makefile.folder, top)
    return None


def _compiles(words: list[str]) -> bool:
    return any(re.search(r"(?:nvcc|clang|g\+\+|gcc|hipcc|CC)", word) for word in words[:2])


def _asked_of(prerequisites: tuple[str, ...], targets: tuple[str, ...], source: Path) -> str | None:
    """The prerequisite that is this source, where a pattern stands for it; None where it is none of them."""
    for word in prerequisites:
        last = word.rpartition("/")[2]
        if last == source.name or ("%" in last and source.name.endswith(last.replace("%", ""))):
            return word.replace("%", source.stem)
    suffix = source.suffix
    return source.name if any(target.startswith(f"{suffix}.") for target in targets) else None


def _of_cmake(cmake: Cmake, source: Path) -> CompileFlags:
    names = {p.name for p in cmake.programs if any(fits(word, source.name) for word in p.sources)}
    words = [flag for target, flag in cmake.flags if target is None or target in names]
    return flags_in(words, cmake.folder, cmake.top)


def compile_databases(source: Path) -> Iterator[Path]:
    """Places of a compile_commands.json for a source, nearest first."""
    for folder in folders_above(source.resolve()):
        for name in DATABASES:
            path = f"{folder}/{name}"
            is_there = os.path.isfile(path)  # noqa: PTH113
            note_file(path, is_there)
            if is_there or (os.path.exists(path) and not os.path.isdir(path)):  # noqa: PTH110,PTH112
                yield Path(path)  # a pipe, say: whoever reads it says so
