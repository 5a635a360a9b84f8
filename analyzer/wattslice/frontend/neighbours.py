"""Files beside a source file that its kernels may be called from, found by their text. Imports no parser: the
cache asks again where an answer may have changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path

from wattslice.frontend.inputs import Search, digest_of_text, note_search
from wattslice.frontend.surroundings import Surroundings, places_of
from wattslice.patterns import regex

SUFFIXES = frozenset({".cu", ".cpp", ".cc", ".cxx", ".c", ".C"})
HEADERS = frozenset({".h", ".hpp", ".hxx", ".hh", ".cuh", ".inl", ".inc"})
MAX_SCANNED = 200
MAX_PARSED = 3
MAX_CALLERS = 5
_BESIDE, _FAR = 3, 5
"""The distances of folders beside that of a file, and of all others of a small repository (`_near`)."""


def caller_files(path: Path, names: frozenset[str], around: Surroundings | None = None) -> tuple[Path, ...]:
    """Source files near `path` that mention a function of `names`; those with a `main` first."""
    around = around or Surroundings()
    callers = _mentioning(path, names, around, _FAR + 1, may_be_own=True, most=MAX_CALLERS) if names else ()
    if names and not callers and (headers := _calling_headers(path, names, around)):
        callers = _mentioning(path, headers, around, _FAR + 1, also=_includes(headers), is_call=False)
    if len(callers) > 1:  # with a function of that name of its own, a file is another program's
        callers = tuple(f for f in callers if not _defines(f, names, around)) or callers
    if names:
        note_search(Search.CALLERS, path, tuple(sorted(names)), callers)
    return callers


def as_asked(file: Path, own: Path) -> Path:
    """A file that was found; `own` where it is that one: what two readings of one file have is the same only
    where both name it alike.
    """
    return own if file == own.resolve() else file


def _defines(file: Path, names: frozenset[str], around: Surroundings) -> bool:
    return _definitions(names).search(around.text(str(file)).content)


CALL_IN_HEADER = rb"(?:[;{}(,=?:]|\breturn)\s*(?:%s)\s*[(<]"
"""A use of a name, where a declaration of it would have a type in front."""


def _calling_headers(path: Path, names: frozenset[str], around: Surroundings) -> frozenset[str]:
    """Headers near a file with calls of `names` in their code, and those that include them."""
    near = chain.from_iterable(islice(_near(around.folder_of(path), around, HEADERS), _BESIDE))
    texts = [(os.path.basename(file), around.text(file).content) for file in islice(near, MAX_SCANNED)]  # noqa: PTH119
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


_MOST_TYPE = 82
_TYPE = regex(rb"(?!\s*(?:extern\b(?!\s*\")|return\b|else\b|#))[ \t]*[A-Za-z_][\w:<>,&*\s\"]{1,80}?[\s&*:]")
_VALUE = regex(rb"\s*(?:\[[^\]\n]{0,80}\]\s*)*[={]")
_GIVEN = regex(rb"\s*extern\s(?!\s*\")[\w:<>,&*\s]{1,80}?[\s&*:]")
_OLD = rb"(?:\w[\w\s*,]{0,200};\s*){0,12}"  # the types of parameters, as C once had them
_MEMBERS = rb":[^;{}]{1,600}"  # what a constructor initialises
_BODY = rb"\([^;{}]{0,600}\)\s*(?:const\s*|noexcept\s*|" + _MEMBERS + rb"|" + _OLD + rb")\{"
_END = regex(rb"[\n;{}]")
_FUNCTION = regex(rb"\s*" + _BODY)
_DEFINED = regex(rb"\s*(?:" + _BODY + rb"|(?:\[[^\]\n]{0,80}\]\s*)*[=;{])")


class _Definitions:
    """Finds definitions of one of `names`: by what stands behind a name, then by what stands in front."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._known: dict[str, bool] = {}

    def search(self, data: bytes) -> bool:
        """Whether there is one in a text: files of one folder ask for the same in the same others."""
        text = _digest(data)
        if text not in self._known:
            self._known[text] = self._is_in(data)
        return self._known[text]

    def _is_in(self, data: bytes) -> bool:
        words = [name.encode() for name in self._names]
        for at, end in ((at, at + len(word)) for word in words for at in places_of(word, data)):
            if _DEFINED.match(data, end) is None:
                continue
            line = data.rfind(b"\n", 0, at) + 1
            inner = max(data.rfind(mark, line, at) + 1 for mark in (b"{", b";"))
            if _VALUE.match(data, end) and _GIVEN.fullmatch(data, inner or line, at):
                return True  # extern const int n = 7;
            if inner and _TYPE.fullmatch(data, inner, at):
                return True  # namespace a { int n = 7; }
            first = data.rfind(b"\n", 0, max(0, at - _MOST_TYPE)) + 1
            # any line may be the first of the type, or what follows another statement
            begins = (first, *(end.end() for end in _END.finditer(data, first, at)))
            if any(_TYPE.fullmatch(data, begin, at) for begin in begins):
                return True
            if (at == 0 or data[at - 1 : at] == b"\n") and _FUNCTION.match(data, end):
                return True
        return False


@lru_cache(maxsize=256)
def _digest(data: bytes) -> str:
    return digest_of_text(data)


@lru_cache(maxsize=256)
def _definitions(names: frozenset[str]) -> _Definitions:
    return _Definitions(names)


def definition_files(
    path: Path, names: frozenset[str], around: Surroundings | None = None
) -> tuple[Path, ...]:
    """Source files near `path` that define a function or variable of `names`, which others only declare.

    First come those that define what it names itself.
    """
    around = around or Surroundings()
    defines = _definitions(names)
    found = _mentioning(
        path, names, around, _BESIDE, also=defines, is_call=False, may_be_own=True, most=MAX_SCANNED
    )
    if len(found) > MAX_PARSED:
        own = around.text(around.resolved(str(path)))
        named = frozenset(name for name in names if own.has_any(frozenset((name.encode(),))))
        found = tuple(sorted(found, key=lambda file: not _defines(file, named, around))[:MAX_PARSED])
    note_search(Search.DEFINITIONS, path, tuple(sorted(names)), found)
    return found


def launcher_files(
    path: Path, kernels: frozenset[str], around: Surroundings | None = None
) -> tuple[Path, ...]:
    """Source files near `path` that include a file of its name and may launch one of `kernels`."""
    launchers = _mentioning(path, kernels, around or Surroundings(), also=_includes((path.name,)))
    note_search(Search.LAUNCHERS, path, tuple(sorted(kernels)), launchers)
    return launchers


def linking_files(
    path: Path, kernels: frozenset[str], around: Surroundings | None = None
) -> tuple[Path, ...]:
    """Source files near `path` that may launch one of `kernels`, themselves or by headers, without including
    it; last those with kernels of these names of their own.
    """
    around = around or Surroundings()
    found = _mentioning(path, kernels, around, _FAR + 1, most=MAX_SCANNED)
    if not found and (headers := _calling_headers(path, kernels, around)):
        found = _mentioning(path, headers, around, _FAR + 1, also=_includes(headers), is_call=False)
    linking = tuple(sorted(found, key=lambda file: _defines(file, kernels, around))[:MAX_PARSED])
    note_search(Search.LINKING, path, tuple(sorted(kernels)), linking)
    return linking


EXTERN = "extern "
"""Before the name of a variable that other files may declare."""


def plain_names(names: frozenset[str]) -> frozenset[str]:
    """`names`, of variables too as they are."""
    return frozenset(name.removeprefix(EXTERN) for name in names)


def sharing_files(path: Path, names: frozenset[str], around: Surroundings | None = None) -> tuple[Path, ...]:
    """Source files in the folder of `path`, below and above it that call or launch one of `names` as well, or
    declare a variable of them; none has a `main` or defines such a function.
    """
    around = around or Surroundings()
    functions = frozenset(name for name in names if not name.startswith(EXTERN))
    shared, plain = _shared(functions, plain_names(names - functions)), plain_names(names)
    found = _mentioning(path, plain, around, _BESIDE, also=shared, is_call=False, most=MAX_SCANNED)
    found = tuple(f for f in found if not (around.text(str(f)).has_main or _defines(f, functions, around)))
    note_search(Search.SHARING, path, tuple(sorted(names)), found[:MAX_PARSED])
    return found[:MAX_PARSED]


@lru_cache(maxsize=256)
def _shared(functions: frozenset[str], variables: frozenset[str]) -> re.Pattern[bytes]:
    """Finds a call or launch of one of `functions`, or a declaration as `extern int n` of `variables`."""
    words = b"|".join(re.escape(name.encode()) for name in sorted(variables))
    uses = [call_of(functions).pattern] if functions else []
    uses += [rb"\bextern\b[^;(){}]*(?:\(\s*\*\s*)?\b(?:%s)\b\s*[;,[)]" % words] if variables else []
    return re.compile(b"|".join(uses))


_CALL = rb"\b(?:%s)\b\s*[(<]|\bcu\w*Launch\w*\s*\([^;]{0,200}?\b(?:%s)\b|[(,]\s*&?\b(?:%s)\b\s*[,)]"
_NAME = regex(rb"\w+")


@lru_cache(maxsize=256)
def call_of(names: frozenset[str]) -> re.Pattern[bytes]:
    """Finds a call or launch of one of `names`, or where another function gets it."""
    words = b"|".join(re.escape(name.encode()) for name in sorted(names))
    return re.compile(_CALL % (words, words, words))


_INSTANTIATION = regex(rb"(?<![.>:])\btemplate\s+[A-Za-z_][^;{}]*;")
"""`template void f<float>(int);`, which makes an instance and calls nothing."""


def _calls(names: frozenset[str], text: bytes) -> bool:
    call = call_of(names)
    return call.search(text) is not None and call.search(_INSTANTIATION.sub(b"", text)) is not None


def _mentioning(
    path: Path,
    names: frozenset[str],
    around: Surroundings,
    distances: int = _BESIDE + 1,
    *,
    also: re.Pattern[bytes] | _Definitions | None = None,
    is_call: bool = True,
    may_be_own: bool = False,
    most: int = MAX_PARSED,
) -> tuple[Path, ...]:
    """`most` files near `path` that name one of `names`.

    `may_be_own`: its own `main`, of what others define.
    """
    plain = frozenset(name.encode() for name in names)
    unusual = tuple(name for name in plain if _NAME.fullmatch(name) is None)
    own = around.resolved(str(path))
    found: list[tuple[bool, int, Path]] = []
    seen: set[str] = set()
    is_found = False
    scanned = 0
    for distance, candidates in enumerate(islice(_near(around.folder_of(path), around), distances)):
        if distance >= _BESIDE and is_found:  # what is in the folders beside is another program
            break
        for candidate in candidates:
            if scanned >= MAX_SCANNED:
                break
            resolved = around.resolved(candidate)
            if (resolved == own and not may_be_own) or resolved in seen:
                continue
            scanned += 1
            text = around.text(resolved)
            named = text.has_any(plain) or any(name in text.content for name in unusual)
            named = named and (not is_call or _calls(names, text.content))
            is_own = resolved == own and is_call
            if is_own and (not text.has_main or _definitions(names).search(text.content)):
                continue
            if named and distance > _BESIDE and _has_its_own(resolved, names, own, around):
                continue
            if named and (also is None or also.search(text.content)):
                seen.add(resolved)
                found.append((not text.has_main, distance, Path(resolved)))
                is_found = is_found or not is_call or not _definitions(names).search(text.content)
    return tuple(candidate for *_, candidate in sorted(found)[:most])


def _has_its_own(file: str, names: frozenset[str], asked: str, around: Surroundings) -> bool:
    """Whether what a far file calls is defined near to it, by none of those near the one `asked` about."""
    theirs, ours = (
        _mentioning(Path(one), names, around, _BESIDE, also=_definitions(names), is_call=False)
        for one in (file, asked)
    )
    return any(str(one) != asked and one not in ours for one in theirs)


def _near(folder: str, around: Surroundings, suffixes: frozenset[str] = SUFFIXES) -> Iterator[Iterable[str]]:
    """Files in `folder`, in the folders in it and in these, in the one above, in those beside it, in the one
    above that, and then all below the top of a repository that has no more than `MAX_SCANNED`; each sorted.

    Listed as they are asked for: beside a folder there may be thousands. What is above the top of a
    repository belongs to others, and a clone elsewhere would have other neighbours.
    """
    is_top = os.path.exists(os.path.join(folder, ".git"))  # noqa: PTH110,PTH118
    for place in (folder, os.path.dirname(folder)):  # noqa: PTH120
        is_outside = is_top and place != folder
        yield () if is_outside else around.files_in(place, suffixes)
        inside = () if is_outside else around.listed(place).folders
        if place == folder:
            inside = tuple(chain(inside, *(around.listed(inner).folders for inner in inside)))
        yield chain.from_iterable(around.files_in(inner, suffixes) for inner in inside)
    above = os.path.dirname(folder)  # noqa: PTH120
    is_outside = is_top or os.path.exists(os.path.join(above, ".git"))  # noqa: PTH110,PTH118
    yield () if is_outside else around.files_in(os.path.dirname(above), suffixes)  # noqa: PTH120
    yield around.repository_files(folder, suffixes, MAX_SCANNED)
