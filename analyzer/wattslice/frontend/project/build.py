"""The build files around a source: the Makefile and CMakeLists.txt of its folder and those above."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice.frontend.inputs import followed, is_folder, note_file, repository_root
from wattslice.frontend.parse_options import FAST_MATH, OtherBuild
from wattslice.frontend.project.makefile import UNTOLD, Line, Makefile, Run, fits, read_makefile, text_of_file
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
        if (found := read_makefile(f"{folder}/{name}", top)) is not None:
            return found
    return None


# ----------------------------------------------------------------------------- CMake


_CMAKE = "CMakeLists.txt"
_FLAGS_OF_ALL: tuple[str, ...] = ("CMAKE_CUDA_FLAGS", "CUDA_NVCC_FLAGS")
_FOR_CUDA = regex(r"\$<\$<COMPILE_LANGUAGE:CUDA>:([^<>$]*)>")


class CmakeProgram(Struct, frozen=True):
    """`add_executable` or `add_library`."""

    name: str
    sources: tuple[str, ...]


class CmakeFlag(Struct, frozen=True):
    """`-D` or `-I` of a target, None: of all; or, `is_link`, another target, whose flags it gets that are
    passed on. `is_own`: for its own sources; `is_passed`: for those of targets that link it.
    """

    target: str | None
    word: str
    is_own: bool = True
    is_passed: bool = False
    is_link: bool = False


class Cmake(Struct):
    """What a CMakeLists.txt says of programs. `folder`: where it stands, `top`: the project's.

    `above`: that of the folder above. `inner`: the folders that it adds.
    """

    folder: Path
    top: Path
    above: Cmake | None = None
    inner: list[Path] = field(default_factory=list[Path])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    programs: list[CmakeProgram] = field(default_factory=list[CmakeProgram])
    tests: list[Run] = field(default_factory=list[Run])
    flags: list[CmakeFlag] = field(default_factory=list[CmakeFlag])


_COMMAND = regex(r"([A-Za-z_]\w*)\s*\(")
_ARGUMENT = regex(r'"((?:[^"\\]|\\.)*)"|#[^\n]*|([^\s()"#]+)|([()])', re.DOTALL)
_REFERENCE = regex(r"\$\{([^${}]+)\}")
_IF_TRUE = regex(r"\$<\$<BOOL:([^<>$]*)>:([^<>$]*)>")
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
    variables: dict[str, str] = dict.fromkeys(_FLAGS_OF_ALL, "")
    flags: list[CmakeFlag] = []
    for place, text in texts:
        variables.setdefault("CMAKE_SOURCE_DIR", str(place))
        variables["CMAKE_CURRENT_SOURCE_DIR"] = variables["CMAKE_CURRENT_LIST_DIR"] = str(place)
        of_all = [flag for flag in flags if flag.target is None]
        found = Cmake(place, top, found, [], variables, flags=of_all)
        _follow(found, text, place / "CMakeLists.txt")
        flags = found.flags
    return found


def _follow(cmake: Cmake, text: str, path: Path) -> None:
    branches: list[_Branch] = []
    position = 0
    text = re.sub(r"(?m)^\s*#.*$", "", text)
    for _ in range(_MOST_COMMANDS):
        command = _COMMAND.search(text, position)
        if command is None:
            return
        arguments, position = _arguments(cmake, text, command.end())
        name = command[1].lower()
        _branch(cmake, name, arguments, branches)
        number = text.count("\n", 0, command.start()) + 1
        is_certain = all(branch.holds is True for branch in branches)
        if name == "set" and len(arguments) > 1 and arguments[0] in cmake.variables and not is_certain:
            if all(branch.holds is not False for branch in branches):
                is_in_if = any(branch.is_if for branch in branches)
                _set_in_branch(cmake, arguments, is_perhaps=is_in_if)
            continue
        _command(cmake, name, arguments, Line(command[0], path, number), is_certain=is_certain)


class _Branch(Struct):
    """Where a command stands: whether it is run, and whether a branch before it of the same `if` is; None:
    nobody knows, nor how often in a loop or a function."""

    holds: bool | None
    was_taken: bool | None = False
    is_if: bool = True


def _branch(cmake: Cmake, name: str, words: list[str], branches: list[_Branch]) -> None:
    """Follow what begins and ends branches."""
    match name:
        case "if":
            branches.append(_Branch(_holds(cmake, words)))
        case "foreach" | "function" | "macro" | "while":
            branches.append(_Branch(None, is_if=False))
        case "endif" | "endforeach" | "endfunction" | "endmacro" | "endwhile" if branches:
            branches.pop()
        case "elseif" | "else" if branches:
            now = branches[-1]
            before = (now.holds, now.was_taken)
            now.was_taken = True if True in before else None if None in before else False
            holds = True if name == "else" else _holds(cmake, words)
            now.holds = False if now.was_taken or holds is False else None if now.was_taken is None else holds
        case _:
            pass


_TRUE = frozenset({"ON", "YES", "TRUE", "Y", "1"})
_FALSE = frozenset({"OFF", "NO", "FALSE", "N", "0", "IGNORE", "NOTFOUND", ""})


def _holds(cmake: Cmake, words: list[str]) -> bool | None:
    """Whether a condition holds: of options, constants and texts that are equal; None: nobody knows."""
    for word, decides in (("OR", True), ("AND", False)):
        if word in words:
            at = words.index(word)
            sides = [_holds(cmake, words[:at]), _holds(cmake, words[at + 1 :])]
            return decides if decides in sides else None if None in sides else not decides
    if words[:1] == ["NOT"]:
        inner = _holds(cmake, words[1:])
        return None if inner is None else not inner
    if len(words) == 3 and words[1] in ("STREQUAL", "EQUAL"):
        one, two = (cmake.variables.get(word, word) for word in words[::2])
        return None if UNTOLD in one + two else one == two
    if len(words) != 1 or UNTOLD in words[0]:
        return None
    value = words[0] if words[0].upper() in _TRUE | _FALSE else cmake.variables.get(words[0], UNTOLD)
    return None if value.upper() not in _TRUE | _FALSE else value.upper() in _TRUE


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
    text = _IF_TRUE.sub(lambda found: found[2] if _holds(cmake, [found[1]]) else UNTOLD, text)
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
        case "option" if is_certain:
            cmake.variables.setdefault(first, words[2] if len(words) > 2 else "OFF")
        case "project":
            cmake.variables["PROJECT_NAME"] = first
        case "list" | "string" if first.upper() == "APPEND" and len(words) > 2:
            known = cmake.variables.get(words[1], "")
            if is_certain or not words[1].startswith(_FLAGS_OF_ALL):
                cmake.variables[words[1]] = ";".join((*((known,) if known else ()), *words[2:]))
        case "file" if first.upper().startswith("GLOB") and len(words) > 2:
            patterns = [word for word in words[2:] if word not in ("CONFIGURE_DEPENDS", "LIST_DIRECTORIES")]
            cmake.variables[words[1]] = ";".join(patterns)
        case "add_executable" | "add_library" | "cuda_add_executable" | "cuda_add_library" | "target_sources":
            cmake.programs.append(CmakeProgram(first, tuple(rest)))
        case "add_test":
            _test(cmake, words, line)
        case "add_definitions" | "add_compile_definitions" if is_certain:
            cmake.flags += (CmakeFlag(None, _flag(word)) for word in words)
        case "add_compile_options" if is_certain:
            cmake.flags += (CmakeFlag(None, word) for word in _of_cuda(words))
        case "include_directories" if is_certain:
            cmake.flags += (CmakeFlag(None, f"-I{word}") for word in words if word not in _KEYWORDS)
        case "target_compile_definitions" if is_certain:
            cmake.flags += _of_target(words, _flag)
        case "target_compile_options" if is_certain:
            flags = _of_target([first, *_of_cuda(words[1:])])
            cmake.flags += (flag for flag in flags if flag.word.startswith(("-D", *FAST_MATH)))
        case "set_target_properties" | "set_source_files_properties" if is_certain and "PROPERTIES" in words:
            at = words.index("PROPERTIES")
            _properties(cmake, words[:at], zip(words[at + 1 :: 2], words[at + 2 :: 2], strict=False))
        case "set_property" if is_certain and "PROPERTY" in words[:-1]:
            at = words.index("PROPERTY")
            if first in ("TARGET", "SOURCE"):
                _properties(cmake, words[1:at], ((words[at + 1], value) for value in words[at + 2 :]))
        case "target_include_directories" if is_certain:
            cmake.flags += _of_target(words, "-I{}".format)
        case "target_link_libraries" if is_certain:
            cmake.flags += (replace(flag, is_link=True) for flag in _of_target(words))
        case "add_subdirectory":
            cmake.inner.append(cmake.folder / first)
        case _:
            pass


def _properties(cmake: Cmake, names: Sequence[str], given: Iterable[tuple[str, str]]) -> None:
    """What the properties of targets or sources add to how they are compiled."""
    pairs = [*given]
    flags = [*_of_cuda(value for key, value in pairs if key in ("COMPILE_OPTIONS", "COMPILE_FLAGS"))]
    macros = (value for key, value in pairs if key == "COMPILE_DEFINITIONS")
    flags += (_flag(word) for value in macros for word in value.split(";"))
    cmake.flags += (CmakeFlag(name, word) for name in names for word in flags)


def _of_target(words: list[str], flag: Callable[[str], str] = str) -> Iterator[CmakeFlag]:
    """The words behind a target, each for whom `PRIVATE`, `PUBLIC` or `INTERFACE` in front of it says."""
    is_own = is_passed = True
    for word in words[1:]:
        if word in ("PRIVATE", "PUBLIC", "INTERFACE"):
            is_own, is_passed = word != "INTERFACE", word != "PRIVATE"
        elif word not in _KEYWORDS:
            yield CmakeFlag(words[0], flag(word), is_own, is_passed)


def _set_in_branch(cmake: Cmake, words: list[str], *, is_perhaps: bool) -> None:
    """A variable that has another value if some condition holds: nobody knows which."""
    before = cmake.variables[words[0]]
    _command(cmake, "set", words, Line("", cmake.folder, 0), is_certain=False)
    if is_perhaps and cmake.variables[words[0]] != before:
        cmake.variables[words[0]] = UNTOLD


def _first_of(words: list[str]) -> str:
    """The first value of a loop's variable: `foreach(n 1 2)`, `IN ITEMS 1 2`, `IN LISTS names`, `RANGE 4`."""
    if words[:1] == ["RANGE"]:
        return words[1] if len(words) > 2 else "0"
    values = [word for word in words if word not in ("IN", "ITEMS")]
    return values[0] if values and "LISTS" not in values else UNTOLD


def _of_cuda(words: Iterable[str]) -> Iterator[str]:
    """Flags without the condition that they are for CUDA, those of a list or a `SHELL:` text one by one."""
    for word in words:
        yield from _FOR_CUDA.sub(r"\1", word).replace("SHELL:", "").replace(";", " ").split()


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
        told = tuple(None if "$" in word or UNTOLD in word else word for word in words[1:])
        cmake.tests.append(Run(words[0], told, line))


# ----------------------------------------------------------------------------- how a source is compiled


class CompileFlags(Struct, frozen=True):
    """`-D` and `-I` of a source, as the build gives them; `fast_math`: where it gives `--use_fast_math`.

    `others`: how the build compiles it as well, with other definitions.
    """

    definitions: tuple[str, ...] = ()
    include_directories: tuple[Path, ...] = ()
    fast_math: str = ""
    others: tuple[OtherBuild, ...] = ()


_DEFINITION = regex(r"[A-Za-z_]\w*(\([^()]*\))?(=.*)?", re.DOTALL)


def flags_in(words: list[str], base: Path, top: Path, where: str) -> CompileFlags:
    """What the words of a compiler's command, said at `where`, give; only folders below `top`.

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
    fast_math = where if any(word in FAST_MATH for word in words) else ""
    return CompileFlags(tuple(dict.fromkeys(definitions)), tuple(dict.fromkeys(folders)), fast_math)


_FOR_NVCC = regex(r"(?:CUDA|NVCC|CU)_?C?_?FLAGS$")
_COMPILED = regex(r"\.(?:cu|cpp|cc|cxx|c|C)$")


def compile_flags(source: Path) -> CompileFlags:
    """What the Makefile, CMakeLists.txt or setup.py nearest to a source says of how it is compiled."""
    source = source.resolve()
    folders = folders_above(source)
    for folder in folders:
        makefile = makefile_of(folder, folders[-1])
        if makefile is not None and (found := _of_makefile(makefile, source, folders[-1])) is not None:
            return found
        cmake = read_cmake(folder, folders[-1])
        if cmake is not None:
            return _of_cmake(cmake, source)
        if (script := text_of_file(f"{folder}/setup.py")) is not None:
            from wattslice.frontend.project.setup_script import words_of  # imports Python's parser

            words = words_of(script, source.name)
            if words is not None:
                return flags_in(list(words), folder, folders[-1], "setup.py")
    return CompileFlags()


def _of_makefile(makefile: Makefile, source: Path, top: Path) -> CompileFlags | None:
    """The flags of the first rule that compiles this source, else those that variables hold for includers."""
    if not makefile.rules:
        names = [name for name in makefile.variables if _FOR_NVCC.search(name)]
        words = " ".join(makefile.expanded(makefile.variables[name]) for name in names).split()
        return flags_in(words, makefile.folder, top, "Makefile") if words else None
    found: dict[str, CompileFlags] = {}
    for rule in makefile.rules:
        asked = _asked_of(rule.prerequisites, rule.targets, source)
        made = "".join(rule.targets[:1]).replace("%", source.stem)
        target = _wanted_for(makefile, made) if makefile.of_targets and asked is not None else ""
        for line, text in makefile.recipe(rule, asked or "", target):
            words = text.replace('"', "").replace("'", "").replace("\\", "").split()
            is_named = any(fits(word, source.name) for word in words if _COMPILED.search(word))
            is_compiled = (is_named or (asked is not None and "-o" in words)) and _compiles(words)
            if is_compiled or (is_named and not found):
                where = f"{line.file.name}:{line.number}"
                found.setdefault(where, flags_in(words, makefile.folder, top, where))
    return _first(found)


def _first(found: Mapping[str, CompileFlags]) -> CompileFlags | None:
    """The first of several ways to compile a source; it names the others. None where there is none."""
    first = next(iter(found.values()), None)
    if first is None:
        return None
    others = (OtherBuild(where, flags.definitions) for where, flags in found.items())
    return replace(first, others=tuple(one for one in others if {*one.definitions} != {*first.definitions}))


def _wanted_for(makefile: Makefile, made: str) -> str:
    """The target with variables of its own that make makes this for, asked for nothing; it passes them on."""
    goals = (name for rule in makefile.rules for name in rule.targets if not name.startswith((".", "%")))
    waiting = [(name, "") for name in islice(goals, 1)]
    seen = set[str]()
    for name, outer in waiting:
        owner = name if name in makefile.of_targets else outer
        if name == made:
            return owner
        if name not in seen:
            seen.add(name)
            inner = (word for rule in makefile.rules if name in rule.targets for word in rule.prerequisites)
            waiting += ((word, owner) for word in inner)
    return ""


def _compiles(words: list[str]) -> bool:
    return any(re.search(r"(?:nvcc|clang(?!-[a-z])|g\+\+|gcc|hipcc|CC)", word) for word in words[:2])


def _asked_of(prerequisites: tuple[str, ...], targets: tuple[str, ...], source: Path) -> str | None:
    """The prerequisite that is this source, where a pattern stands for it; None where it is none of them."""
    for word in prerequisites:
        last = word.rpartition("/")[2]
        if last == source.name or ("%" in last and source.name.endswith(last.replace("%", ""))):
            return word.replace("%", source.stem)
    suffix = source.suffix
    return source.name if any(target.startswith(f"{suffix}.") for target in targets) else None


def _of_cmake(cmake: Cmake, source: Path) -> CompileFlags:
    programs = [p.name for p in cmake.programs if any(fits(word, source.name) for word in p.sources)]
    found = {f"{name} of {_CMAKE}": _as_target(cmake, source, name) for name in programs}
    return _first(found) or _as_target(cmake, source, None)


def _as_target(cmake: Cmake, source: Path, name: str | None) -> CompileFlags:
    """How CMake compiles a source for a target; None: for nothing that is known."""
    own = [
        flag
        for flag in cmake.flags
        if flag.target is None
        or (flag.target == name and flag.is_own)
        or fits(flag.target, source.name)  # a property of the source
    ]
    words = [*_words_of_all(cmake), *(flag.word for flag in own if not flag.is_link)]
    found = [flags_in(words, cmake.folder, cmake.top, _CMAKE)]
    waiting = [flag.word for flag in own if flag.is_link]
    seen = {name}
    while waiting:
        target = waiting.pop(0)
        where = next((one for one in _beside(cmake) if any(p.name == target for p in one.programs)), None)
        if target in seen or where is None:
            continue
        seen.add(target)
        aliases = (p.sources for p in where.programs if p.name == target and p.sources[:1] == ("ALIAS",))
        waiting += (word for sources in aliases for word in sources[1:])
        passed = [flag for flag in where.flags if flag.target == target and flag.is_passed]
        waiting += (flag.word for flag in passed if flag.is_link)
        words = [flag.word for flag in passed if not flag.is_link]
        found.append(flags_in(words, where.folder, where.top, _CMAKE))
    return CompileFlags(
        tuple(dict.fromkeys(word for flags in found for word in flags.definitions)),
        tuple(dict.fromkeys(folder for flags in found for folder in flags.include_directories)),
        next((flags.fast_math for flags in found if flags.fast_math), ""),
    )


def _words_of_all(cmake: Cmake) -> list[str]:
    """The flags that variables give every CUDA source."""
    kind = cmake.variables.get("CMAKE_BUILD_TYPE", "").upper()
    own = "-DNDEBUG" if kind in ("RELEASE", "RELWITHDEBINFO", "MINSIZEREL") else ""
    texts = [cmake.variables.get(name, "") for name in _FLAGS_OF_ALL]
    texts.append(cmake.variables.get(f"CMAKE_CUDA_FLAGS_{kind}", own))
    return re.split(r"[\s;]+", " ".join(texts))


_MOST_BESIDE = 32


def _beside(cmake: Cmake) -> Iterator[Cmake]:
    """The CMakeLists.txt, those above, and then those in the folders that these add."""
    above = [cmake]
    while (outer := above[-1].above) is not None:
        above.append(outer)
    yield from above
    inner = [folder for one in above for folder in one.inner]
    for number, folder in enumerate(inner):
        if number >= _MOST_BESIDE:
            return
        place = followed(folder)
        found = read_cmake(place, cmake.top) if place.is_relative_to(cmake.top) else None
        if found is not None:
            yield found
            inner += found.inner


def compile_databases(source: Path) -> Iterator[Path]:
    """Places of a compile_commands.json for a source, nearest first."""
    for folder in folders_above(source.resolve()):
        for name in DATABASES:
            path = f"{folder}/{name}"
            is_there = os.path.isfile(path)  # noqa: PTH113
            note_file(path, is_there)
            if is_there or (os.path.exists(path) and not os.path.isdir(path)):  # noqa: PTH110,PTH112
                yield Path(path)  # a pipe, say: whoever reads it says so
