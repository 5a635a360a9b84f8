"""Reads `kernels/manifest.toml`: which CUDA programs the corpus holds and what they launch.

The programs are the thirteen of Wang & Chen 2013 (Tables 2 and 3), written anew for this project.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

KERNEL_DIRECTORY = Path(__file__).parent / "kernels"
MANIFEST_FILE = KERNEL_DIRECTORY / "manifest.toml"

Dim3 = tuple[int, int, int]
_T = TypeVar("_T")


class ManifestError(ValueError):
    """The manifest cannot be used; the message names the file, the entry and what is wrong with it."""


class BranchClass(StrEnum):
    """How the paper classes a program (Wang & Chen 2013, section 4)."""

    SPARSE = "sparse"
    DENSE = "dense"


@dataclass(frozen=True, slots=True)
class SizeArgument:
    """One command-line argument of a program and the value it has when left out."""

    name: str
    default: int


@dataclass(frozen=True, slots=True)
class CorpusLaunch:
    """One launch configuration that `main` uses with the default sizes.

    `grid` and `block` are (x, y, z) in blocks and threads; `dimensions` is 1, 2 or 3;
    `shared_bytes` is the dynamic shared memory per block.
    """

    kernel: str
    dimensions: int
    grid: Dim3
    block: Dim3
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class CorpusKernel:
    """One program of the corpus: a CUDA file with its kernels, a host `main` and a CPU reference.

    `paper_name` and `paper_table` name the row of Wang & Chen 2013 with the measured watts of the
    program of the same task; `branch_class` is the paper's.
    """

    name: str
    file: Path
    description: str
    paper_name: str
    paper_table: int
    branch_class: BranchClass
    kernels: tuple[str, ...]
    sizes: tuple[SizeArgument, ...]
    launches: tuple[CorpusLaunch, ...]


def load_manifest(path: Path = MANIFEST_FILE) -> tuple[CorpusKernel, ...]:
    """All programs in the order of the manifest; files are taken relative to it.

    Raises `ManifestError` when the manifest is missing, is not TOML, lacks an entry, has one of the
    wrong type, or names a file that does not exist.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: cannot be read: {error}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(f"{path}: not TOML: {error}") from error
    programs = tuple(
        _program(_Entry(path, f"program {number}", entry), path.parent)
        for number, entry in enumerate(_Entry(path, "top level", table).tables("program"), start=1)
    )
    names = [program.name for program in programs]
    for name in names:
        if names.count(name) > 1:
            raise ManifestError(f"{path}: program name {name!r} is used twice; names must differ")
    return programs


@dataclass(frozen=True, slots=True)
class _Entry:
    """A TOML table that says where it stands when something is wrong with it."""

    path: Path
    where: str
    values: Mapping[str, Any]

    def get(self, key: str, kind: type[_T]) -> _T:
        value = self.values.get(key)
        # A TOML boolean is a Python int; it is never meant as one here.
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(f"{key!r} must be a {kind.__name__}, found {value!r}")
        return value

    def tables(self, key: str) -> tuple[Mapping[str, Any], ...]:
        items = self.items(key)
        if not all(isinstance(item, dict) for item in items):
            raise self.error(f"{key!r} must be a list of tables")
        return cast("tuple[Mapping[str, Any], ...]", items)

    def items(self, key: str) -> tuple[object, ...]:
        return tuple(cast("list[object]", self.get(key, list)))

    def dim3(self, key: str) -> Dim3:
        sizes = [item for item in self.items(key) if isinstance(item, int) and item > 0]
        if len(sizes) != 3 or len(self.items(key)) != 3:
            raise self.error(f"{key!r} must be three positive whole numbers")
        return (sizes[0], sizes[1], sizes[2])

    def error(self, message: str) -> ManifestError:
        return ManifestError(f"{self.path}: {self.where}: {message}")


def _program(entry: _Entry, directory: Path) -> CorpusKernel:
    file = directory / entry.get("file", str)
    if not file.is_file():
        raise entry.error(f"no such file: {file}")
    try:
        branch_class = BranchClass(entry.get("branch_class", str))
    except ValueError:
        choices = ", ".join(BranchClass)
        raise entry.error(f"'branch_class' must be one of {choices}") from None
    kernels = tuple(str(name) for name in entry.items("kernels"))
    launches = tuple(
        _launch(_Entry(entry.path, f"{entry.where}, launch {number}", table), kernels)
        for number, table in enumerate(entry.tables("launch"), start=1)
    )
    sizes = tuple(
        SizeArgument(size.get("name", str), size.get("default", int))
        for size in (_Entry(entry.path, f"{entry.where}, sizes", table) for table in entry.tables("sizes"))
    )
    return CorpusKernel(
        name=entry.get("name", str),
        file=file,
        description=entry.get("description", str),
        paper_name=entry.get("paper_name", str),
        paper_table=entry.get("paper_table", int),
        branch_class=branch_class,
        kernels=kernels,
        sizes=sizes,
        launches=launches,
    )


def _launch(entry: _Entry, kernels: tuple[str, ...]) -> CorpusLaunch:
    kernel = entry.get("kernel", str)
    if kernel not in kernels:
        raise entry.error(f"kernel {kernel!r} is not in the program's list of kernels")
    return CorpusLaunch(
        kernel=kernel,
        dimensions=entry.get("dimensions", int),
        grid=entry.dim3("grid"),
        block=entry.dim3("block"),
        shared_bytes=entry.get("shared_bytes", int),
    )
