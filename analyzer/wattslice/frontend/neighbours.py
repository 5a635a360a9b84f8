"""Files beside a source file that its kernels may be called from, found by their text. Imports no parser: the
cache asks again where an answer may have changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

from wattslice.frontend.inputs import Search, digest_of_text, file_bytes, note_search

SUFFIXES = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c", ".C"})
HEADERS = frozenset({".h", ".hpp", ".hxx", ".hh", ".cuh", ".inl", ".inc"})
MAX_SCANNED = 200
MAX_PARSED = 3
_BESIDE, _FAR = 3, 4
"""The distances of folders beside that of a file, and of all others of a small repository (`_near`)."""
MAX_BYTES = 1 << 20


def caller_files(path: Path, names: frozenset[str]) -> tuple[Path, ...]:
    """Source files near `path` that mention a function of `names`; those with a `main` first."""
    folder = path.resolve().parent
    callers = _mentioning(path, names, _near(folder), may_be_own=True) if names else ()
    if names and not callers and (headers := _calling_headers(folder, names)):
        callers = _mentioning(path, headers, _near(folder), _includes(headers), is_call=False)
    if len(callers) > 1:  # with a function of that name of its own, a file is another program's
        callers = tuple(f for f in callers if not _defines(f, names)) or callers
    if names:
        note_search(Search.CALLERS, path, tuple(sorted(names)), callers)
    return callers


def _defines(file: Path, names: frozenset[str]) -> bool:
    return _definitions(names).search(_text(file))


CALL_IN_HEADER = rb"(?:[;{}(,=?:]|\breturn)\s*(?:%s)\s*[(<]"
"""A use of a name, where a declaration of it would have a type in front."""


def _calling_headers(folder: Path, names: frozenset[str]) -> frozenset[str]:
    """Headers near a folder with calls of `names` in their code, and those that include them."""
    near = islice(_near(folder, HEADERS), 3)
    texts = [(file.name, _text(file)) for file in islice(chain.from_iterable(near), MAX_SCANNED)]
    words = b"|".join(re.escape(name.encode()) for name in sorted(names))
    call = re.compile(CALL_IN_HEADER % words)
    found = frozenset(name for name, text in texts if call.search(text))
    while found:
        includes = _includes(found)
        wider = found | {name for name, text in texts if includes.search(text)}
        if wider == found:
            break
        found = wider
    return found


def _includes(names: Iterable[str]) -> re.Pattern[bytes]:
    """Finds an `#include` of a file of one of these names."""
    words = b"|".join(re.escape(os.fsencode(name)) for name in sorted(names))
    return re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:[^>\"\n]*[/\\])?(?:" + words + rb")[>\"]", re.M)


def _text(file: Path) -> bytes:
    try:
        return file_bytes(file, MAX_BYTES)
    except OSError:
        return b""


_MOST_TYPE = 82
_TYPE = rb"^(?!\s*(?:extern\b(?!\s*\")|return\b|else\b|#))[ \t]*[A-Za-z_][\w:<>,&*\s\"]{1,80}?[\s&*:]"
_OLD = rb"(?:\w[\w\s*,]{0,200};\s*){0,12}"  # the types of parameters, as C once had them
_MEMBERS = rb":[^;{}]{1,600}"  # what a constructor initialises
_BODY = rb"\([^;{}]{0,600}\)\s*(?:const\s*|noexcept\s*|" + _MEMBERS + rb"|" + _OLD + rb")\{"
_DEFINED = rb"(?:" + _BODY + rb"|(?:\[[^\]\n]{0,80}\]\s*)*[=;{])"


class _Definitions:
    """Finds definitions of one of `names`: first what may be their ends, since any line may be a begin."""

    def __init__(self, names: frozenset[str]) -> None:
        words = b"|".join(re.escape(name.encode()) for name in sorted(names))
        self._end = re.compile(rb"(?:%s)(?=\s*%s)" % (words, _DEFINED))
        self._known: dict[str, bool] = {}
        self._whole = rb"%s(?:%s)\s*%s|^(?:%s)\s*%s" % (_TYPE, words, _DEFINED, words, _BODY)

    def search(self, data: bytes) -> bool:
        """Whether there is one in a text: files of one folder ask for the same in the same others."""
        text = digest_of_text(data)
        if text not in self._known:
            self._known[text] = self._is_in(data)
        return self._known[text]

    def _is_in(self, data: bytes) -> bool:
        for end in self._end.finditer(data):
            begin = data.rfind(b"\n", 0, max(0, end.start() - _MOST_TYPE)) + 1
            while begin <= end.start():
                if re.compile(self._whole, re.M).match(data, begin):
                    return True
                begin = data.find(b"\n", begin, end.start()) + 1 or len(data) + 1
        return False


@lru_cache(maxsize=256)
def _definitions(names: frozenset[str]) -> _Definitions:
    return _Definitions(names)


def definition_files(path: Path, names: frozenset[str]) -> tuple[Path, ...]:
    """Source files near `path` that define a function or variable of `names`, which others only declare."""
    defines = _definitions(names)
    near = islice(_near(path.resolve().parent), 3)
    found = _mentioning(path, names, near, defines, is_call=False, may_be_own=True)
    note_search(Search.DEFINITIONS, path, tuple(sorted(names)), found)
    return found


def launcher_files(path: Path, kernels: frozenset[str]) -> tuple[Path, ...]:
    """Source files near `path` that include a file of its name and may launch one of `kernels`."""
    near = islice(_near(path.resolve().parent), _BESIDE + 1)
    launchers = _mentioning(path, kernels, near, _includes((path.name,)))
    note_search(Search.LAUNCHERS, path, tuple(sorted(kernels)), launchers)
    return launchers


def linking_files(path: Path, kernels: frozenset[str]) -> tuple[Path, ...]:
    """Source files near `path` that may launch one of `kernels`, themselves or by headers, without including
    it; last those with kernels of these names of their own.
    """
    folder = path.resolve().parent
    found = _mentioning(path, kernels, _near(folder), most=MAX_SCANNED)
    if not found and (headers := _calling_headers(folder, kernels)):
        found = _mentioning(path, headers, _near(folder), _includes(headers), is_call=False)
    linking = tuple(sorted(found, key=lambda file: _defines(file, kernels))[:MAX_PARSED])
    note_search(Search.LINKING, path, tuple(sorted(kernels)), linking)
    return linking


CALL = rb"\b(?:%s)\b\s*[(<]|\bcu\w*Launch\w*\s*\([^;]{0,200}?\b(?:%s)\b"
"""A call or launch of a name."""
_WORD = re.compile(rb"\w+")


@lru_cache(maxsize=128)
def _words(data: bytes) -> frozenset[bytes]:
    """The words of a text, which the files around it ask about by one name after another."""
    return frozenset(_WORD.findall(data))


def _mentioning(
    path: Path,
    names: frozenset[str],
    near: Iterable[Iterable[Path]],
    also: re.Pattern[bytes] | _Definitions | None = None,
    *,
    is_call: bool = True,
    may_be_own: bool = False,
    most: int = MAX_PARSED,
) -> tuple[Path, ...]:
    """`most` files near `path` that name one of `names`.

    `may_be_own`: its own `main`, of what others define.
    """
    words = b"|".join(re.escape(name.encode()) for name in sorted(names))
    call = re.compile(CALL % (words, words))
    main = re.compile(rb"\bmain\s*\(")
    plain = frozenset(name.encode() for name in names)
    unusual = tuple(name for name in plain if _WORD.fullmatch(name) is None)
    own = path.resolve()
    found: list[tuple[bool, int, Path]] = []
    is_found = False
    scanned = 0
    for distance, candidates in enumerate(near):
        if distance >= _BESIDE and is_found:  # what is in the folders beside is another program
            break
        for candidate in candidates:
            if scanned >= MAX_SCANNED:
                break
            resolved = Path(os.path.realpath(candidate))  # of a loop of links, too, where resolve() raises
            if (resolved == own and not may_be_own) or any(resolved == known for *_, known in found):
                continue
            scanned += 1
            data = _text(resolved)
            named = not plain.isdisjoint(_words(data)) or any(name in data for name in unusual)
            named = named and (not is_call or call.search(data))
            if resolved == own and is_call and (not main.search(data) or _definitions(names).search(data)):
                continue
            if named and distance == _FAR and _has_its_own(resolved, names, own):
                continue
            if named and (also is None or also.search(data)):
                found.append((main.search(data) is None, distance, resolved))
                is_found = is_found or not is_call or not _definitions(names).search(data)
    return tuple(candidate for *_, candidate in sorted(found)[:most])


def _has_its_own(file: Path, names: frozenset[str], asked: Path) -> bool:
    """Whether what a far file calls is defined near to it, by another file than the one `asked` about."""
    near = islice(_near(file.parent), _BESIDE)
    return any(one != asked for one in _mentioning(file, names, near, _definitions(names), is_call=False))


def _near(folder: Path, suffixes: frozenset[str] = SUFFIXES) -> Iterator[Iterator[Path]]:
    """Files in `folder`, in the folders in it, in the one above, in those beside it, and then all below the
    top of a repository that has no more than `MAX_SCANNED`; each sorted.

    Listed as they are asked for: beside a folder there may be thousands. What is above the top of a
    repository belongs to others, and a clone elsewhere would have other neighbours.
    """

    def files_in(place: Path) -> Iterator[Path]:
        return (place / name for name in _names_in(place) if os.path.splitext(name)[1] in suffixes)  # noqa: PTH122

    yield files_in(folder)
    yield chain.from_iterable(map(files_in, _listed(folder)))
    if not (folder / ".git").exists():
        yield files_in(folder.parent)
        yield chain.from_iterable(map(files_in, _listed(folder.parent)))
    else:
        yield iter(())
        yield iter(())
    top = next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
    yield iter(() if top is None else _small_repository(top, suffixes))


def _small_repository(top: Path, suffixes: frozenset[str]) -> tuple[Path, ...]:
    """All files below a folder; none where there are more than `MAX_SCANNED`."""
    found: list[Path] = []
    for number, (place, folders, names) in enumerate(os.walk(top)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += (Path(place, name) for name in sorted(names) if os.path.splitext(name)[1] in suffixes)  # noqa: PTH122
        if len(found) > MAX_SCANNED or number > MAX_SCANNED:
            return ()
    return tuple(found)


def _listed(folder: Path) -> Iterator[Path]:
    return (folder / name for name in _names_in(folder))


def _names_in(folder: Path) -> list[str]:
    """What is in a folder, sorted; nothing for a file or a folder that may not be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  (a path for each of thousands costs more than the look)
    except OSError:
        return []
