"""Asking the cache before a file is analysed, and telling it afterwards.

A kept result is a checksum, then compressed JSON of the inputs and the result. Nothing of it is ever run, and
nothing of it is believed before the checksum has been compared: a truncated, corrupted or edited entry is
none.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from wattslice.config.config import Config, Execution
from wattslice.config.gpu_choice import GpuChoice
from wattslice.frontend.cuda.clang.source_files import SourceFiles, look_again
from wattslice.frontend.cuda.read import caller_files, definition_files, launcher_files
from wattslice.frontend.inputs import (
    Inputs,
    Search,
    SearchInput,
    digest_of_paths,
    digest_of_text,
    file_bytes,
    recorded,
    repository_root,
)
from wattslice.pipeline.cache.folder import CacheError, CacheFolder
from wattslice_models.frozen_json import FrozenJsonError, decoded, encoded
from wattslice_models.gpu import load_gpu
from wattslice_models.store import user_models

Result = TypeVar("Result")


class Keeper(Struct, Generic[Result], frozen=True):
    """The cache for the files of one run. `key`: see `run_key`. `kind` of the results.

    It travels to other processes; the open folder does not.
    """

    path: Path
    limit_bytes: int
    key: str
    kind: type[Result]

    def find(self, file: Path, current: CurrentInputs) -> Result | None:
        """The result of a file as an analysis now would give it; None: analyse it."""
        name = self._name(file, current.digest(str(file)))
        folder = self._folder
        content = None if folder is None else folder.read(name)
        kept = None if content is None else read_entry(name, content, self.kind)
        return kept.result() if kept is not None and current.hold(kept.inputs) else None

    def made(self, file: Path, analyze: Callable[[], Result], is_lasting: Callable[[Result], bool]) -> Result:
        """What `analyze` gives, kept if it is lasting: one that another try would not change."""
        with recorded() as recording:
            result = analyze()
        inputs = recording.inputs
        own = None if inputs is None else next((t for t in inputs.texts if t.path == str(file)), None)
        if inputs is not None and own is not None and is_lasting(result):
            name = self._name(file, own.sha256)
            content = entry_bytes(name, inputs, result)
            folder = self._folder
            if content is not None and folder is not None:
                folder.write(name, content)
        return result

    def trim(self) -> None:
        """Keep the folder within its bound."""
        folder = self._folder
        if folder is not None:
            folder.trim()

    @property
    def _folder(self) -> CacheFolder | None:
        return _opened(self.path, self.limit_bytes)

    def _name(self, file: Path, sha256: str) -> str:
        return hashlib.sha256(f"{self.key}\0{file}\0{sha256}".encode(errors="surrogateescape")).hexdigest()


@functools.lru_cache(maxsize=4)
def _opened(path: Path, limit_bytes: int) -> CacheFolder | None:
    """Once per process; None where the folder cannot be used, which `with_usable_cache` has told."""
    try:
        return CacheFolder(path, limit_bytes)
    except CacheError:
        return None


def keeper(config: Config, kind: type[Result]) -> Keeper[Result] | None:
    """The cache that `config` asks for; None when it asks for none, or it cannot be used."""
    cache = config.execution.cache
    if cache is None:
        return None
    try:
        return Keeper(cache, config.execution.cache_limit_bytes, run_key(config), kind)
    except OSError:  # no folder to start from any more, a part of the program cannot be read
        return None


class CurrentInputs:
    """The disk as it is now. Every file is read and every search made at most once: use it for one run.

    Contents are compared, not time stamps: a checkout or a copy changes stamps without changing a letter, and
    two edits within a tick of the clock change a letter without changing stamps.
    """

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._answers: dict[tuple[Search, str, tuple[str, ...]], str] = {}
        self._roots: dict[str, SourceFiles] = {}
        look_again()

    def hold(self, inputs: Inputs) -> bool:
        """Whether an analysis now would see the very same."""
        return (
            all(self.digest(text.path) == text.sha256 for text in inputs.texts)
            and all(os.path.isfile(path) for path in inputs.present)  # noqa: PTH113  (thousands of them)
            and not any(os.path.isfile(path) for path in inputs.absent)  # noqa: PTH113
            and all(self._answer(search) == search.answer for search in inputs.searches)
        )

    def digest(self, path: str) -> str:
        """The digest of a file's content, of nothing where it cannot be read."""
        known = self._digests.get(path)
        if known is None:
            try:
                content = file_bytes(Path(path))
            except OSError:
                content = b""
            known = self._digests[path] = digest_of_text(content)
        return known

    def _answer(self, asked: SearchInput) -> str:
        question = (asked.search, asked.about, asked.names)
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = digest_of_paths(self._found(asked))
        return known

    def _found(self, asked: SearchInput) -> tuple[Path, ...]:
        about = Path(asked.about)
        if asked.search is Search.ROOT:
            return (repository_root(about),)
        if asked.search is Search.CALLERS:
            return caller_files(about, frozenset(asked.names))
        if asked.search is Search.DEFINITIONS:
            return definition_files(about, frozenset(asked.names))
        if asked.search is Search.LAUNCHERS:
            return launcher_files(about, frozenset(asked.names))
        files = self._roots.get(asked.about)
        if files is None:
            files = self._roots[asked.about] = SourceFiles(about, about, b"")
        ask = files.named if asked.search is Search.NAMED else files.includers_of
        return tuple(path for name in asked.names for path in ask(name))


_MAGIC = b"wattslice result 1\n"
_MOST_BYTES = 512 << 20
_SHARES = frozenset(
    (
        *("probability", "probability_low", "probability_high", "occupancy"),
        *("share", "share_of_power", "time_share"),
    )
)
_MOST = sys.float_info.max
_MOST_SHARE = 1 + 1e-9  # sums of shares are rounded


class Kept(NamedTuple, Generic[Result]):
    """What an entry holds. The result is typed when asked for: only then it is known to be wanted."""

    inputs: Inputs
    document: object
    kind: type[Result]

    def result(self) -> Result | None:
        """The result; None when the entry is not what this version writes."""
        if not _is_possible(self.document):
            return None
        try:
            return decoded(self.kind, self.document, exact=True)
        except FrozenJsonError:
            return None


def _is_possible(document: object) -> bool:
    """Whether every number is one that an analysis may give: finite and not negative, shares up to 1.

    Only what advice saves may be negative.
    """
    waiting: list[tuple[str, object, float]] = [("", document, 0.0)]
    while waiting:
        name, value, least = waiting.pop()
        if isinstance(value, dict):
            waiting += [
                (key, entry, -_MOST if key == "advice" else least)
                for key, entry in cast("dict[str, object]", value).items()
            ]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            waiting += [(name, entry, least) for entry in items if type(entry) is not str]
        elif isinstance(value, int | float) and not (
            least <= value <= (_MOST_SHARE if name in _SHARES else _MOST)
        ):
            return False
    return True


def entry_bytes(name: str, inputs: Inputs, result: object) -> bytes | None:
    """The entry called `name`; None for a result that JSON cannot hold (infinite or not a number)."""
    document = {"name": name, "inputs": encoded(inputs), "result": encoded(result)}
    try:
        text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return None
    body = zlib.compress(text.encode(), 1)
    return b"".join((_MAGIC, hashlib.sha256(body).digest(), body))


def read_entry(name: str, content: bytes, kind: type[Result]) -> Kept[Result] | None:
    """What `entry_bytes` made; None for anything else."""
    begin = len(_MAGIC) + hashlib.sha256().digest_size
    digest, body = content[len(_MAGIC) : begin], content[begin:]
    if not content.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        return None
    try:
        unpacking = zlib.decompressobj()
        text = unpacking.decompress(body, _MOST_BYTES)
        document = json.loads(text)
        if not unpacking.eof or not isinstance(document, dict):
            return None
        entries = cast("dict[str, object]", document)
        if entries.get("name") != name:
            return None
        return Kept(decoded(Inputs, entries.get("inputs")), entries.get("result"), kind)
    except (zlib.error, ValueError, RecursionError):
        return None


_PACKAGES = ("wattslice", "wattslice_models")
_LIBRARIES = ("libclang", "numpy")
_PICTURES = (".png", ".svg", ".pyc")


def run_key(config: Config) -> str:
    """A digest of everything but the files that decides the result of a file under `config`.

    The program (the text of every module, table and trained coefficient), its libraries and Python, the
    models that the user trained, the GPU (whose file may be the user's), every option, and the folder that
    relative paths start from. Raises OSError.
    """
    digest = hashlib.sha256()
    for part in (
        program_digest(),
        _digest_of(_files_below(user_models())),
        repr(load_gpu(config.gpu.gpu_id)),
        json.dumps(encoded(_deciding(config)), sort_keys=True, default=str),
        os.getcwd(),  # noqa: PTH109  (a text is wanted)
    ):
        digest.update(part.encode(errors="surrogateescape") + b"\0")
    return digest.hexdigest()


def _deciding(config: Config) -> Config:
    """`config` with a default in place of all that decides no result."""
    profiled = config.facts.branch_profile is not None
    return replace(
        config,
        files=config.files if profiled else (),  # a profile of one file is not taken for another of its name
        gpu=GpuChoice(config.gpu.gpu_id),
        parse=replace(config.parse, is_wary=False),
        execution=Execution(),
        notes=(),
    )


@functools.cache
def program_digest() -> str:
    """A digest of this very program: equal where the same input gives the same result."""
    digest = hashlib.sha256(platform.python_version().encode())
    for library in _LIBRARIES:
        digest.update(f"{library} {_version(library)}\0".encode())
    for package in _PACKAGES:
        spec = find_spec(package)
        for folder in () if spec is None else spec.submodule_search_locations or ():
            digest.update(_digest_of(_files_below(Path(folder))).encode())
    return digest.hexdigest()


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """(path below the folder, file) in a stable order."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if not name.endswith(_PICTURES):
                yield os.path.relpath(os.path.join(parent, name), folder), Path(parent, name)  # noqa: PTH118


def _digest_of(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, file in files:
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()
