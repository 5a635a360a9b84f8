"""Which files of a repository an analysis of one of them looks at: what it includes, and who calls it.

As the frontend does it, from the text alone: an include beside the file, then in the folders of ``-I``, then
the nearest of that name; callers in the folder of a file, above, below and beside it. Where both states of a
file are known, what either of them names counts.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from wattslice.config.sources import is_ptx
from wattslice.frontend.cuda.callers import SUFFIXES as CALLER_SUFFIXES
from wattslice.frontend.cuda.clang.source_files import included_names

_FUNCTION = re.compile(rb"\b([A-Za-z_]\w*)\s*\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)\s*\{")
_FILE = re.compile(rb'^[ \t]*\.file[ \t]+\d+[ \t]+"([^"\n]+)"', re.M)
_MAIN = re.compile(rb"\bmain\s*\(")
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
        self._targets: dict[str, tuple[str, ...]] = {}
        self._callees: dict[str, frozenset[bytes]] = {}
        self._programs: dict[str, bool] = {}

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

    def _included(self, path: str) -> tuple[str, ...]:
        known = self._targets.get(path)
        if known is None and is_ptx(path):
            known = self._targets[path] = tuple(self._compiled_from(path))
        elif known is None:
            names = (name for text in self._texts(path) for name in included_names(text))
            known = tuple(dict.fromkeys(target for name in names for target in self._resolved(path, name)))
            self._targets[path] = known
        return known

    def _compiled_from(self, path: str) -> dict[str, None]:
        """The sources that a PTX file names, found as the frontend does."""
        folder = path.rpartition("/")[0]
        found: dict[str, None] = {}
        for name in (match for text in self._texts(path) for match in _FILE.findall(text)):
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
        if self._is_program(path):
            return []
        near = [other for other in self._near(path) if other != path and among(other)]
        names = self._functions(path) if near else ()
        if not names:
            return []
        call = re.compile(rb"\b(?:" + b"|".join(sorted(map(re.escape, names))) + rb")\b\s*[(<]")
        return [other for other in near if any(call.search(text) for text in self._texts(other))]

    def _functions(self, path: str) -> frozenset[bytes]:
        known = self._callees.get(path)
        if known is None:
            names = (name for text in self._texts(path) for name in _FUNCTION.findall(text))
            known = self._callees[path] = frozenset(names) - _NO_NAMES
        return known

    def _is_program(self, path: str) -> bool:
        known = self._programs.get(path)
        if known is None:
            known = any(_MAIN.search(text) for text in self._texts(path) if b"main" in text)
            self._programs[path] = known
        return known

    def _near(self, path: str) -> list[str]:
        """Sources in the same folder, above and below; beside it where its own folder makes no program."""
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
