"""How people run a program: the words behind its name in run targets, tests and scripts of its folder.

Looked for in this order: targets `run`, `test` and `check` of a Makefile, `add_test` of a CMakeLists.txt,
scripts `run`, `run.sh` and `test.sh`, settings of test drivers and editors; each beside the file with `main`
first, then above it, within its repository. A line counts that starts a program made of that file, as far as
its folder tells, with at least a word.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from wattslice.frontend.project.build import DATABASES, Cmake, folders_above, makefile_of, read_cmake
from wattslice.frontend.project.defaults import BUILD_FILES
from wattslice.frontend.project.makefile import UNTOLD, Line, Makefile, Run, fits, logical_lines, text_of_file
from wattslice.frontend.project.run_settings import runs_in
from wattslice.frontend.project.settings_files import DEPTH_OF_SETTINGS, FOLDERS_OF_SETTINGS, SUFFIXES
from wattslice.frontend.surroundings import Surroundings
from wattslice.patterns import regex

_TARGETS = ("run", "test", "check")
_SCRIPTS = ("run", "run.sh", "run_all.sh", "verify", "verify.sh", "test.sh", "benchmark.sh",
            "scripts/run.sh", "test/run.sh", "tests/run.sh")  # fmt: skip
_MOST_LINES = 400
_MOST_TARGETS = 20
_MOST_PROGRAMS = 50
_STARTERS = frozenset(
    {"time", "env", "nohup", "mpirun", "mpiexec", "srun", "jsrun", "nvprof", "nsys", "ncu", "cuda-memcheck",
     "cuda-gdb", "compute-sanitizer", "numactl", "timeout", "perf", "stdbuf", "taskset", "exec", "optirun",
     "valgrind"}
)  # fmt: skip
"""Commands that start the program named behind them."""
_NAMES_A_REPORT = ("-o", "--output", "--export", "--log-file")
"""Options of theirs whose word may be called as the program is."""
_REDIRECTION = regex(r"(?:(?<=\s)|^)(?:\d|&)?(?:>>?|<)\s*(?:&\d?|\S+)|\s\d?>&\d")
_SEPARATOR = regex(r"&&|\|\||[;|&]")
_SHELL_NAME = regex(r"([A-Za-z_]\w*)=(.*)")
_SHELL_VARIABLE = regex(r"\$(?:\{(\w+)(?::?-([^{}]*))?\}|\{[^{}]*\}|([A-Za-z_]\w*)|[^\s]?)")
_SHELL_COMMAND = regex(r"\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|`[^`]*`")
_LOOP = regex(r"for\s+(\w+)\s+in\s+(\S+)")
_KEYWORD = regex(r"(?:do|then|else|if|while|[({!@])\s+")


class ProgramArguments(Struct, frozen=True):
    """What a program is given on its command line, and where that stands: "run target, Makefile:23".

    None for a word that its place does not tell. `is_found`: nobody gave it, it was found.
    """

    words: tuple[str | None, ...]
    source: str
    program: str = "program"
    is_found: bool = False

    @property
    def text(self) -> str:
        """The words as one types them."""
        return " ".join("?" if word is None else shlex.quote(word) for word in self.words)


def folder_told_of(path: str) -> str | None:
    """The folder of whose programs a file may say how they are built or run; None: of none.

    `path` with slashes, from the top folder, which is the empty text.
    """
    for name in (*reversed(DATABASES), *reversed(_SCRIPTS), *BUILD_FILES):
        if f"/{path}".endswith(f"/{name}"):
            return path.removesuffix(name).rstrip("/")
    if path.endswith(SUFFIXES):
        folders = path.split("/")[:-1]
        near = range(max(0, len(folders) - DEPTH_OF_SETTINGS), len(folders))
        return "/".join(folders[: next((n for n in near if folders[n] in FOLDERS_OF_SETTINGS), len(folders))])
    return path.rpartition("/")[0] if path.endswith((".mk", ".cmake")) else None


def parse_arguments(text: str) -> ProgramArguments:
    """What `--args` gives. Raises ValueError where a quotation has no end."""
    return ProgramArguments(tuple(shlex.split(text)), "--args")


def find_arguments(main: Path, around: Surroundings | None = None) -> ProgramArguments | None:
    """How the program whose `main` is in this file is run; None where nobody says so, or without a word."""
    main = main.resolve()
    folders = folders_above(main)
    kinds = (_run_targets, _cmake_tests, _scripts, partial(_settings, around or Surroundings()))
    runs = (kind(main, folder, folders[-1]) for kind in kinds for folder in folders)
    return next((run for run in runs if run is not None and run.words), None)


def _run_targets(main: Path, folder: Path, top: Path) -> ProgramArguments | None:
    makefile = makefile_of(folder, top)
    if makefile is None:
        return None
    for target in _TARGETS:
        found = tuple(_of_target(makefile, target))
        chosen = _chosen(main, folder, top, found, makefile)
        if chosen is not None:
            return _told(f"{target} target", chosen, folder)
    return None


def _of_target(makefile: Makefile, target: str) -> Iterator[Run]:
    asked = [target]
    products: frozenset[str] | None = None
    left = _MOST_LINES
    for name in asked:
        for rule in makefile.rules:
            if name not in rule.targets:
                continue
            products = _products(makefile) if products is None else products
            for line, text in makefile.recipe(rule, target=target):
                left -= 1
                if left < 0:
                    return
                yield from _started(text.lstrip("@-+ "), line, products, {})
            if len(asked) < _MOST_TARGETS:
                asked += [p for p in rule.prerequisites if p.startswith(_TARGETS) and p not in asked]


def _scripts(main: Path, folder: Path, top: Path) -> ProgramArguments | None:
    for name in _SCRIPTS:
        text = text_of_file(f"{folder}/{name}")
        if text is None:
            continue
        makefile = makefile_of(folder, top)
        products = frozenset[str]() if makefile is None else _products(makefile)
        found = tuple(_of_script(text, folder / name, products))
        chosen = _chosen(main, folder, top, found, makefile)
        if chosen is not None:
            return _told("script", chosen, folder)
    return None


def _of_script(text: str, path: Path, products: frozenset[str]) -> Iterator[Run]:
    """Lines that start a program in a shell script; `products`: what the Makefile beside it makes."""
    variables: dict[str, str] = {}
    for line in list(logical_lines(text, path))[:_MOST_LINES]:
        plain = re.sub(r"(?:^|(?<=\s))#.*", "", line.text).strip()
        for started in _started(plain, line, products, variables):
            # mpirun looks for a program beside the script, a shell does not
            if "/" in started.program or plain.split(maxsplit=1)[0] in _STARTERS:
                yield started


def _cmake_tests(main: Path, folder: Path, top: Path) -> ProgramArguments | None:
    cmake = read_cmake(folder, top)
    if cmake is None:
        return None
    chosen = _chosen(main, folder, top, tuple(cmake.tests), cmake)
    return None if chosen is None else _told("add_test", chosen, folder)


def _settings(around: Surroundings, main: Path, folder: Path, top: Path) -> ProgramArguments | None:
    runs = [run for run in runs_in(folder, around) if run.words]
    build = (makefile_of(main.parent, top) or read_cmake(main.parent, top)) if runs else None
    chosen = _without_data(run for run in runs if _makes(build, run.program, main))
    return None if chosen is None else _told("settings", chosen, folder)


def _makes(build: Makefile | Cmake | None, program: str, main: Path) -> bool:
    """Whether a program is made of the file with `main`: as the build beside it says, else by its name.

    Settings may write a name in another way: `matrixMul` of `matrix_mul`.
    """
    made = () if build is None else _made_by(build)
    built = next((name for name in made if _bare(name) == _bare(program)), program)
    sources = _sources(build, program) or _sources(build, built)
    return _is_of(main, sources) if sources else _bare(program) == _bare(main.stem)


def _bare(program: str) -> str:
    return re.sub(r"[_-]", "", _plain(program)).lower()


def _made_by(build: Makefile | Cmake) -> Iterable[str]:
    return [made.name for made in build.programs] if isinstance(build, Cmake) else sorted(_products(build))


def _told(kind: str, started: Run, folder: Path) -> ProgramArguments:
    path = started.line.file
    name = path.relative_to(folder) if path.is_relative_to(folder) else path.name
    return ProgramArguments(started.words, f"{kind}, {name}:{started.line.number}", started.program, True)


# ----------------------------------------------------------------------------- lines


def _started(text: str, line: Line, products: frozenset[str], variables: dict[str, str]) -> Iterator[Run]:
    """The programs that a line of a shell starts, its plain variables followed; of a loop the first word."""

    def value(found: re.Match[str]) -> str:
        default = UNTOLD if found[2] is None else found[2]
        return variables.get(found[1] or found[3] or "", default)

    text = _SHELL_COMMAND.sub(UNTOLD, _REDIRECTION.sub(" ", text))
    for part in _SEPARATOR.split(text):
        command = part.strip()
        while keyword := _KEYWORD.match(command):
            command = command[keyword.end() :]
        command = _SHELL_VARIABLE.sub(value, command)
        if loop := _LOOP.match(command):
            variables[loop[1]] = loop[2]
            continue
        try:
            words = shlex.split(command)
        except ValueError:
            continue
        words = words[1:] if words[:1] == ["export"] else words
        assigned: dict[str, str] = {}
        while words and (found := _SHELL_NAME.fullmatch(words[0])):
            assigned[found[1]] = found[2]
            words = words[1:]
        if not words:
            variables.update(assigned)
        programs = [n for n, word in enumerate(words) if _is_program(word, products)]
        programs = [n for n in programs if not n or words[n - 1] not in _NAMES_A_REPORT] or programs
        # what is plainly a path in this folder rather than a word that a target happens to be called
        place = next((n for n in programs if words[n].startswith("./")), next(iter(programs), None))
        if place is None or (place and words[0].rpartition("/")[2] not in _STARTERS):
            continue
        given = tuple(None if UNTOLD in word or "*" in word else word for word in words[place + 1 :])
        yield Run(words[place], given, line)


def _is_program(word: str, products: frozenset[str]) -> bool:
    last = word.rpartition("/")[2]
    if not last or UNTOLD in last or word.startswith(("-", "/")) or "=" in word:
        return False
    return word.startswith(("./", "../")) or last in products or ("/" in word and "." not in last[:-4])


# ----------------------------------------------------------------------------- which program


def _plain(program: str) -> str:
    last = program.rpartition("/")[2]
    for ending in (".exe", ".out", ".x", ".bin"):
        last = last.removesuffix(ending)
    return last


def _products(makefile: Makefile) -> frozenset[str]:
    """Names that rules make: their targets, and what `-o` names."""
    found: set[str] = set()
    for rule, recipe in makefile.recipes():
        found.update(target.rpartition("/")[2] for target in rule.targets)
        found |= _outputs(recipe)
    return frozenset(name for name in found if name and not name.startswith("."))


def _sources(build: Makefile | Cmake | None, program: str) -> tuple[str, ...]:
    """Sources and objects that a program is made of, as far as the build tells; they may be patterns."""
    if build is None:
        return ()
    if isinstance(build, Cmake):
        return next((made.sources for made in build.programs if made.name == _plain(program)), ())
    found: list[str] = []
    names = {program.rpartition("/")[2], _plain(program)}
    for rule, recipes in build.recipes():
        if ({target.rpartition("/")[2] for target in rule.targets} | _outputs(recipes)) & names:
            found += rule.prerequisites
            found += (word for text in recipes for word in text.split() if _SOURCE.search(word))
            behind = set(rule.prerequisites[:64])  # a target between the program and its sources
            found += (p for inner in build.rules if behind & {*inner.targets} for p in inner.prerequisites)
    return tuple(dict.fromkeys(word for word in found if _SOURCE.search(word) and UNTOLD not in word))


_SOURCE = regex(r"\.(?:cu|cpp|cc|cxx|c|C|o|obj|cu\.o|cubin)$")


def _is_of(main: Path, words: tuple[str, ...]) -> bool:
    names = {main.name, f"{main.stem}.o", f"{main.name}.o", f"{main.stem}.obj", f"{main.stem}_cu.o"}
    return any(fits(word, name) for word in words for name in names)


def _chosen(
    main: Path, folder: Path, top: Path, found: tuple[Run, ...], build: Makefile | Cmake | None
) -> Run | None:
    """A line that starts the program of this `main`: the first that names no file of data, else the first.

    A build of another folder has to say that it makes the program of this file.
    """
    of_main: list[Run] = []
    maybe: list[Run] = []
    known: dict[str, tuple[str, ...]] = {}
    for started in found:
        if started.program not in known and len(known) >= _MOST_PROGRAMS:
            break
        place = Path(os.path.normpath(folder / started.program)).parent
        is_beside = place == main.parent
        own = makefile_of(place, top) if is_beside and place != folder else build
        sources = _sources(own, started.program)
        if _is_of(main, _near_words(sources, main, folder, own)) or (
            not sources and _plain(started.program) == main.stem
        ):
            of_main.append(started)
        elif (
            not sources
            and (is_beside or main.parent == folder)
            and not _is_made_elsewhere(main, own, started)
        ):
            maybe.append(started)
    if not of_main and len({_plain(started.program) for started in maybe}) == 1:
        of_main = maybe
    return _without_data(of_main)


def _without_data(runs: Iterable[Run]) -> Run | None:
    """The first that names no file of data, else the first."""
    return min(runs, key=lambda run: any(map(_is_data, run.words)), default=None)


def _near_words(
    sources: tuple[str, ...], main: Path, folder: Path, build: Makefile | Cmake | None
) -> tuple[str, ...]:
    """The sources that may lie beside `main`: no pattern of a build that does not name this folder."""
    place = os.path.relpath(main.parent, folder)
    if place == "." or not isinstance(build, Makefile):
        return sources
    texts = (*build.variables.values(), *(word for rule in build.rules for word in rule.prerequisites))
    if any(f"{place}/" in text or text.strip().endswith(place) for text in texts):
        return sources
    return tuple(word for word in sources if "*" not in word and "%" not in word)


def _is_data(word: str | None) -> bool:
    return word is None or "/" in word or re.search(r"\w\.[A-Za-z]\w*$", word) is not None


def _is_made_elsewhere(main: Path, build: Makefile | Cmake | None, started: Run) -> bool:
    """Whether the build makes another program of this `main`."""
    program = _plain(started.program)
    if build is None:
        return False
    if isinstance(build, Cmake):
        return any(_is_of(main, made.sources) and made.name != program for made in build.programs)
    for rule, recipes in build.recipes():
        words = {word.rpartition("/")[2] for word in (*rule.prerequisites, *" ".join(recipes).split())}
        made = {_plain(target) for target in (*rule.targets, *_outputs(recipes))}
        if main.name in words and program not in made:
            return not any(name.endswith(".o") for name in made)
    return False


def _outputs(recipes: Iterable[str]) -> set[str]:
    return {
        found[1].rpartition("/")[2]
        for text in recipes
        if _STARTERS.isdisjoint(text.split())  # whose reports are no programs
        for found in re.finditer(r"(?:^|\s)-o\s*(\S+)", text)
    }
