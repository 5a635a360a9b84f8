"""`--against REV`: the same kernels in a git revision, analysed with the same options, and what changed.

Analysed on both sides are the files that changed, those that include what changed, are called from it or call
it, and those of programs whose build or run files changed. `Dependencies` finds includes and callers as the
frontend does, from the text alone: an include beside the file, then in folders of ``-I``, then the nearest
of that name; callers in the folder of a file, above, below and beside it. Where both states of a file are
known, what either of them names counts.
"""

from __future__ import annotations

import json
import os
import os.path
import re
import shlex
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Analysis
from wattslice.config.config import Config
from wattslice.config.sources import SUFFIXES_IN_FOLDERS, is_ptx
from wattslice.documents import parse_json
from wattslice.findings.findings import Finding
from wattslice.frontend.inputs import file_bytes
from wattslice.frontend.neighbours import CALL_IN_HEADER, MAX_SCANNED, call_of
from wattslice.frontend.neighbours import SUFFIXES as CALLER_SUFFIXES
from wattslice.frontend.project.runs import folder_told_of
from wattslice.frontend.source_files import included_names
from wattslice.gate.changes import Blame, Policy, compare, with_losses
from wattslice.gate.records import LaunchRecord, match, records_of
from wattslice.gate.revision import (
    SOURCES,
    Entry,
    Revision,
    Tree,
    blobs,
    extracted,
    is_changed,
    is_pointer,
    not_checked_out,
    read_revision,
    repository_of,
    wanted,
)
from wattslice.gate.verdict import Compared
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import MOST_CALLS_APART
from wattslice.patterns import regex

_FUNCTION = regex(rb"\b([A-Za-z_]\w*)\s*\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)\s*\{")
_FILE = regex(rb'^[ \t]*\.file[ \t]+\d+[ \t]+"([^"\n]+)"', re.M)
_MAIN = regex(rb"\bmain\s*\(")
_NO_NAMES = frozenset((b"if", b"for", b"while", b"switch", b"catch", b"main", b"return"))


class Dependencies:
    """Over the files `paths` (with slashes, from the top folder); `texts` gives a file's known states.

    `root`: the top folder, as PTX files name it in the paths of their sources.
    """

    def __init__(
        self,
        paths: Iterable[str],
        include_dirs: tuple[str, ...],
        texts: Callable[[str], tuple[bytes, ...]],
        root: str = "",
    ) -> None:
        self._root = root
        self._paths, self._include_dirs, self._texts = frozenset(paths), include_dirs, texts
        self._by_name: dict[str, list[str]] = {}
        self._by_folder: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            folder, _, name = path.rpartition("/")
            self._by_name.setdefault(name, []).append(path)
            self._by_folder.setdefault(folder, []).append(path)
        self._below: dict[str, list[str]] = {}
        for folder in self._by_folder:
            if folder:
                self._below.setdefault(folder.rpartition("/")[0], []).append(folder)
        self._sources = [path for path in sorted(self._paths) if _is_source(path)]
        self._included, self._functions = cache(self._targets), cache(self._defined)
        self._is_program = cache(self._has_main)

    def closure(self, paths: Iterable[str]) -> set[str]:
        """The files themselves and all that they include, directly or through others."""
        found: set[str] = set()
        waiting = list(paths)
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                waiting += self._included(path)
        return found

    def _targets(self, path: str) -> tuple[str, ...]:
        if is_ptx(path):
            return tuple(self._compiled_from(path))
        names = (name for text in self._texts(path) for name in included_names(text))
        return tuple(dict.fromkeys(target for name in names for target in self._resolved(path, name)))

    def _compiled_from(self, path: str) -> dict[str, None]:
        """The sources that a PTX file names, found as the frontend does."""
        folder = path.rpartition("/")[0]
        found: dict[str, None] = {}
        for name in (one for text in self._texts(path) for one in _FILE.findall(text)):
            written = name.decode("utf-8", "replace").removeprefix(f"{self._root}/")
            beside = f"{folder}/{PurePosixPath(written).name}".lstrip("/")
            for target in (os.path.normpath(f"{folder}/{written}").lstrip("/"), written, beside):
                if target in self._paths:
                    found[target] = None
                    break
        return found

    def _resolved(self, path: str, name: str) -> list[str]:
        for folder in (path.rpartition("/")[0], *self._include_dirs):
            target = os.path.normpath(f"{folder}/{name}").lstrip("/")
            if target in self._paths:
                return [target]
        wanted = "/".join(part for part in PurePosixPath(name).parts if part not in ("..", ".", "/"))
        matches = [
            other
            for other in self._by_name.get(PurePosixPath(name).name, ())
            if other == wanted or other.endswith(f"/{wanted}")
        ]
        return [min(matches, key=lambda other: _distance(other, path))] if matches else []

    def callers(self, path: str, among: Callable[[str], bool] = lambda _: True) -> list[str]:
        """Files near `path` (of those that are `among`) that call its functions; a program needs none.

        Of a PTX file those that call what it was compiled from.
        """
        if is_ptx(path):
            return [other for source in self._included(path) for other in self.callers(source, among)]
        near = [other for other in self.near(path) if other != path and among(other)]
        names = self._functions(path) if near and not self._is_program(path) else ()
        if not names:
            return []
        words = b"|".join(sorted(map(re.escape, names)))
        call = call_of(frozenset(name.decode() for name in names))
        direct = [other for other in near if any(call.search(text) for text in self._texts(other))]
        if direct:
            return direct
        used = re.compile(CALL_IN_HEADER % words)
        return [other for other in near if any(map(used.search, self._headers_of(other)))]

    def _headers_of(self, path: str) -> Iterator[bytes]:
        return (text for header in self.closure((path,)) - {path} for text in self._texts(header))

    def _defined(self, path: str) -> frozenset[bytes]:
        return frozenset(name for text in self._texts(path) for name in _FUNCTION.findall(text)) - _NO_NAMES

    def _has_main(self, path: str) -> bool:
        return any(_MAIN.search(text) for text in self._texts(path) if b"main" in text)

    def near(self, path: str) -> list[str]:
        """Sources in the same folder, above and below; beside it where its own folder makes no program. Of a
        small repository all.
        """
        if len(self._sources) <= MAX_SCANNED:
            return self._sources
        folder = path.rpartition("/")[0]
        above = folder.rpartition("/")[0]
        found = list(self._by_folder.get(folder, ()))
        found += self._by_folder.get(above, ()) if folder else ()
        folders = list(self._below.get(folder, ()))
        if folder and not self._makes_program(folder):
            folders += (other for other in self._below.get(above, ()) if other != folder)
        for other in folders:
            found += self._by_folder[other]
        return [other for other in found if _is_source(other)]

    def _makes_program(self, folder: str) -> bool:
        return any(self._is_program(path) for path in self._by_folder.get(folder, ()) if _is_source(path))


def _distance(candidate: str, source: str) -> tuple[int, int, str]:
    """Nearer first, as the frontend's search for headers has it: most shared folders, then least depth."""
    one, other = candidate.split("/"), source.split("/")[:-1]
    shared = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return (-shared, len(one), candidate)


def _is_source(path: str) -> bool:
    return os.path.splitext(path)[1] in CALLER_SUFFIXES  # noqa: PTH122  (a million times over a repository)


class Comparison(Struct, frozen=True):
    """What a comparison needs: files to analyse now (of `config.files`) and then (from the top folder).

    `changed`: every file that differs, is new or gone. `sparse`: what is not checked out, today or then.
    `untold`: files of now that cannot be compared, and why: a text they rest on is not to be had.
    """

    revision: Revision
    now: tuple[Path, ...]
    then: tuple[str, ...]
    changed: tuple[str, ...] = ()
    sparse: frozenset[str] = frozenset()
    untold: tuple[tuple[str, str], ...] = ()


def plan(paths: Sequence[Path], config: Config, name: str) -> Comparison:
    """Which files to look at for `--against name`. Raises `GitError`."""
    root = repository_of(paths)
    revision = read_revision(root, name)
    entries = {entry.path: entry for entry in revision.entries if wanted(entry)}
    sparse = not_checked_out(root)
    changed = {path for path, entry in entries.items() if path not in sparse and is_changed(revision, entry)}
    submodules = tuple(f"{entry.path}/" for entry in revision.entries if entry.is_submodule)
    inside = {_inside(file, root): file for file in config.files}
    files = {path: file for path, file in inside.items() if not path.startswith(submodules)}
    tracked = {entry.path for entry in revision.entries}
    added = {path for path in _untracked(root, tracked, config) if not path.startswith(submodules)}
    touched = changed | added
    texts = _Texts(revision, [entries[path] for path in changed])
    folders = tuple(_inside(folder, root) for folder in config.parse.include_dirs)
    known = Dependencies({*entries, *added}, folders, texts.both, root.as_posix())
    affected = _affected(files, touched, known) if touched else set[str]()
    lacking = texts.lacking(changed)
    untold = {path: why for path in files if path in affected and (why := _untold(path, known, lacking))}
    then = {path for path in files if path in affected and path in entries}
    given = [PurePosixPath(_inside(path, root)) for path in paths]
    then |= {path for path in changed if _is_gone(root, path, given)}
    then -= {*untold, *lacking}
    return Comparison(
        revision,
        tuple(file for path, file in files.items() if path in affected),
        tuple(sorted(then)),
        tuple(sorted(touched, key=lambda path: (PurePosixPath(path).suffix not in SOURCES, path))),
        sparse,
        tuple(untold.items()),
    )


def _is_gone(root: Path, path: str, given: Sequence[PurePosixPath]) -> bool:
    """Whether a folder that was named on the command line held this source, and does no longer."""
    if PurePosixPath(path).suffix not in SUFFIXES_IN_FOLDERS or (root / path).exists():
        return False
    return any(PurePosixPath(path).is_relative_to(folder) for folder in given)


def _untold(path: str, known: Dependencies, lacking: Mapping[str, str]) -> str:
    """Why a file cannot be compared: what itself, a header or a caller of it was, nobody knows."""
    if not lacking:
        return ""
    rests_on = known.closure((path, *known.callers(path)))
    return next((why for other, why in lacking.items() if other in rests_on), "")


def _affected(files: Iterable[str], touched: set[str], known: Dependencies) -> set[str]:
    """The files that were touched themselves or include what was; those that call functions of what was, and
    those of programs whose build was; and all that these call, through other files as well.

    And all those that tell of the same kernels: fragments that these include, and whoever includes them.
    """
    included = {path: known.closure((path,)) for path in files}

    @cache
    def is_touched(file: str) -> bool:
        return not (included.get(file) or known.closure((file,))).isdisjoint(touched)

    builds = {folder for path in touched if (folder := folder_told_of(path)) is not None}
    defines = {caller for path in touched if _is_source(path) for caller in known.callers(path)}
    others = {other for path in included for other in known.near(path)} | included.keys()
    wave = {path for path in others if is_touched(path) or path in defines}
    affected = wave
    for _ in range(MOST_CALLS_APART if wave else 0):
        wave = {path for path in others - affected if known.callers(path, wave.__contains__)}
        affected = affected | wave
    affected = {
        path
        for path in included
        if path in affected or any(path.startswith(f"{folder}/" if folder else "") for folder in builds)
    }
    fragments = {path: inside & included.keys() for path, inside in included.items()}
    number = 0
    while number < len(affected):
        number = len(affected)
        told = {fragment for path in affected for fragment in fragments[path]}
        affected = {path for path, inside in fragments.items() if not inside.isdisjoint(told)}
    return affected


def _inside(file: Path, root: Path) -> str:
    resolved = Path(os.path.realpath(file))
    return resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else resolved.as_posix()


def _untracked(root: Path, tracked: set[str], config: Config) -> Iterator[str]:
    """Files of this run and headers beside them or in include folders that the revision does not have."""
    folders = {file.resolve().parent for file in config.files}
    folders |= {folder.resolve() for folder in config.parse.include_dirs}
    for folder in folders:
        if folder.is_relative_to(root):
            for file in folder.iterdir():
                path = file.relative_to(root).as_posix()
                if path not in tracked and file.is_file():
                    yield path


class _Texts:
    """The texts of both states, each read once."""

    def __init__(self, revision: Revision, changed: Sequence[Entry]) -> None:
        self._root, self._name = revision.root, revision.name
        self._text = cache(self._read)
        self._then = {entry.path: data for entry, data in blobs(revision, changed)} if changed else {}

    def both(self, path: str) -> tuple[bytes, ...]:
        """Today's text and, where it differs, the revision's."""
        now = self._text(path)
        then = self._then.get(path)
        return (now,) if then is None else (now, then)

    def _read(self, path: str) -> bytes:
        try:
            return (self._root / path).read_bytes()
        except OSError:
            return b""

    def lacking(self, changed: Iterable[str]) -> dict[str, str]:
        """Of changed files those without a text on one side, and why."""
        found: dict[str, str] = {}
        for path in sorted(changed):
            then = self._then.get(path)
            if then is None:
                found[path] = f"{path} of {self._name} is not in this clone"
            elif is_pointer(then):
                found[path] = f"{path} is a Git LFS pointer in {self._name}"
            elif is_pointer(self._text(path)):
                found[path] = f"{path} is a Git LFS pointer here"
        return found


def compare_with(
    comparison: Comparison,
    config: Config,
    current: Analysis,
    policy: Policy,
    analyze: Callable[[Config], Analysis],
) -> tuple[Compared, tuple[str, ...]]:
    """Analyses the revision's side and compares `current` with it; and notes on what could not be had.

    `current`: of `comparison.now` alone. `config`: how it was made; the same options hold for the revision,
    folders inside the repository being those of the revision.
    """
    root = comparison.revision.root
    untold = {path for path, _ in comparison.untold}
    with extracted(comparison.revision, comparison.sparse) as tree, _mapped(config, comparison, tree) as then:
        earlier = analyze(then) if then.files else None
        about = f"against {comparison.revision.name}"

        def now_path(file: str) -> str:
            return _inside(Path(file), root)

        def then_path(file: str) -> str:
            path = _inside(Path(file), tree.root)
            return now_path(file) if Path(path).is_absolute() else path  # of a submodule: the same on both

        new = records_of(current, now_path)
        old = () if earlier is None else records_of(earlier, then_path)
        compared = [record for record in new if record.file not in untold]
        blame = Blame(then_path, now_path, comparison.changed)
        found = compare(match(old, compared), policy, about, _place, blame.explain)
        before = {*(() if earlier is None else map(then_path, earlier.unread)), *untold}
        found = with_losses(found, current, before, now_path, policy)
        findings = (*found.findings, *_not_to_be_had(comparison, policy))
    return replace(found, findings=findings), tree.notes


def _not_to_be_had(comparison: Comparison, policy: Policy) -> Iterator[Finding]:
    """PW022 for what cannot be compared; with the names of today's files, as everywhere."""
    names = {_inside(file, comparison.revision.root): str(file) for file in comparison.now}
    for path, why in comparison.untold:
        yield Finding("PW022", policy.unknown, names[path], 0, "", f"cannot be compared: {why}")


def _place(record: LaunchRecord) -> tuple[str, int]:
    return record.analysis.source.place if record.analysis else (record.file, 0)


@contextmanager
def _mapped(config: Config, comparison: Comparison, tree: Tree) -> Generator[Config]:
    """The same run over the revision's files."""
    root = comparison.revision.root

    def mapped(path: Path) -> Path:
        """The same place in the revision, for what it has; what is outside or generated stays as it is."""
        resolved = Path(os.path.realpath(path))
        if not resolved.is_relative_to(root):
            return path
        then = tree.root / resolved.relative_to(root)
        return then if then.exists() else path

    folder = config.parse.compile_commands
    if folder is not None:
        folder = _map_compile_commands(folder, tree.root, mapped)
    yield replace(
        config,
        files=tuple(tree.root / path for path in comparison.then if (tree.root / path).is_file()),
        parse=replace(
            config.parse,
            include_dirs=tuple(mapped(path) for path in config.parse.include_dirs),
            compile_commands=folder,
            moved=(root, tree.root),
        ),
        # That they name something is judged on the side of today.
        facts=replace(config.facts, typed_overrides=NO_OVERRIDES),
        execution=replace(config.execution, cache=None),  # nobody comes to this folder a second time
        notes=(),
    )


def _map_compile_commands(folder: Path, tree: Path, mapped: Callable[[Path], Path]) -> Path:
    """The build's file as it would be for the revision's folder, in a folder of its own there."""
    try:
        document: Any = parse_json(file_bytes(folder / "compile_commands.json"))
    except (OSError, ValueError):
        return folder  # today's side says what is wrong with it
    entries: list[dict[str, Any]] = []
    for entry in cast("list[Any]", document) if isinstance(document, list) else ():
        if isinstance(entry, dict):
            fields = cast("dict[str, Any]", entry)
            base = Path(os.path.realpath(folder / str(fields.get("directory", ""))))
            words = fields.get("arguments")
            if not isinstance(words, list):
                words = _split(str(fields.get("command", "")))
            entries.append(
                {
                    "directory": str(base),
                    "file": str(mapped(base / str(fields.get("file", "")))),
                    "arguments": [_map_word(str(word), base, mapped) for word in cast("list[Any]", words)],
                }
            )
    target = tree / ".git" / "wattslice"
    target.mkdir(parents=True, exist_ok=True)
    (target / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    return target


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _map_word(word: str, base: Path, mapped: Callable[[Path], Path]) -> str:
    flag = next((flag for flag in ("-I", "-isystem") if word.startswith(flag)), "")
    path = word[len(flag) :]
    if not path or (not flag and "/" not in path) or path.startswith("-"):
        return word
    absolute = base / path
    then = mapped(absolute)
    return word if then == absolute else f"{flag}{then}"
