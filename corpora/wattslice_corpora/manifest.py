"""Reads `kernels/<family>/manifest.toml`: which CUDA programs the corpus holds and what they launch.

All of them are written for this project. The family `wang2013` has the tasks of the thirteen programs of
Wang & Chen 2013 (Tables 2 and 3); the others span what people run on GPUs.
"""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct

KERNEL_DIRECTORY = Path(__file__).parent / "kernels"

Dim3 = tuple[int, int, int]
_T = TypeVar("_T")
_Choice = TypeVar("_Choice", bound=StrEnum)


class ManifestError(ValueError):
    """The manifest cannot be used; the message names the file, the entry and what is wrong with it."""


class BranchClass(StrEnum):
    """How the paper classes a program (Wang & Chen 2013, section 4)."""

    SPARSE = "sparse"
    DENSE = "dense"


class RunSize(StrEnum):
    """How big a run is: SMALL is quick even on a CPU, LARGE keeps a big GPU busy."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class VariantRole(StrEnum):
    """Which of two ways to do the same work: the one to write, or the one to compare it with."""

    GOOD = "good"
    BAD = "bad"


class PaperProgram(Struct, frozen=True):
    """The row of Wang & Chen 2013 with the measured watts of the program of the same task."""

    name: str
    table: int
    branch_class: BranchClass


class SizeArgument(Struct, frozen=True):
    """One command-line argument of a program and the value it has when left out."""

    name: str
    default: int


class CorpusRun(Struct, frozen=True):
    """One choice of all command-line arguments, in order."""

    size: RunSize
    arguments: tuple[int, ...]


class Variant(Struct, frozen=True):
    """A program, or one `kernel` of it, as the good or the bad member of the pair named `pair`."""

    pair: str
    role: VariantRole
    kernel: str | None


class CorpusLaunch(Struct, frozen=True):
    """One launch configuration that `main` uses with the default sizes.

    `grid` and `block` are (x, y, z) in blocks and threads; `dimensions` is 1, 2 or 3;
    `shared_bytes` is the dynamic shared memory per block. `occurrence`: which launch of the kernel stands for
    all of them where they do different work, counted from 0 (at the sizes of the medium and the large run).
    """

    kernel: str
    dimensions: int
    grid: Dim3
    block: Dim3
    shared_bytes: int
    occurrence: int


class CorpusKernel(Struct, frozen=True):
    """One program of the corpus: a CUDA file with its kernels, a host `main` and a CPU reference.

    `family` is the directory it stands in. `runs` go from small to large. `why_not_repeatable` says why
    launching a kernel again on the same buffers would be other work; None when it would be the same.
    `paper` is None for a program that no paper measured.
    """

    family: str
    name: str
    file: Path
    description: str
    kernels: tuple[str, ...]
    sizes: tuple[SizeArgument, ...]
    runs: tuple[CorpusRun, ...]
    why_not_repeatable: str | None
    variants: tuple[Variant, ...]
    launches: tuple[CorpusLaunch, ...]
    paper: PaperProgram | None

    def occurrence(self, kernel: str) -> int:
        """Which launch of `kernel` stands for all of them, counted from 0."""
        return next((launch.occurrence for launch in self.launches if launch.kernel == kernel), 0)

    @property
    def data_spec(self) -> Path | None:
        """What `wattslice profile` runs its kernels on: small, but every branch is met; None without."""
        path = self.file.with_suffix(".data.toml")
        return path if path.is_file() else None

    @property
    def repeatable(self) -> bool:
        """Whether the same launch again does the same work."""
        return self.why_not_repeatable is None


@cache
def load_manifest() -> tuple[CorpusKernel, ...]:
    """All programs of the corpus, read once. Raises `ManifestError` as `read_manifest` does."""
    return read_manifest(KERNEL_DIRECTORY)


def read_manifest(directory: Path) -> tuple[CorpusKernel, ...]:
    """All programs below `directory`: families by name, programs in the order of their manifest.

    Raises `ManifestError` when there is no manifest, or one cannot be read, is not TOML, lacks an entry,
    has one of the wrong type, or names a file that does not exist.
    """
    paths = sorted(directory.glob("*/manifest.toml"))
    if not paths:
        raise ManifestError(f"{directory}: no family with a manifest.toml in it")
    programs = tuple(program for path in paths for program in _family(path))
    first: dict[str, CorpusKernel] = {}
    for program in programs:
        if (other := first.setdefault(program.name, program)) is not program:
            raise ManifestError(
                f"{program.file.parent}: program name {program.name!r} is used twice, also in "
                f"{other.file.parent}; names must differ"
            )
    return programs


def _family(path: Path) -> tuple[CorpusKernel, ...]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"{path}: cannot be read: {error}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ManifestError(f"{path}: not TOML: {error}") from error
    return tuple(
        _program(_Entry(path, f"program {number}", entry), path.parent)
        for number, entry in enumerate(_Entry(path, "top level", table).tables("program"), start=1)
    )


class _Entry(Struct, frozen=True):
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

    def flag(self, key: str) -> bool:
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false, found {value!r}")
        return value

    def choice(self, key: str, choices: type[_Choice]) -> _Choice:
        try:
            return choices(self.get(key, str))
        except ValueError:
            raise self.error(f"{key!r} must be one of {', '.join(choices)}") from None

    def optional(self, key: str) -> "_Entry | None":
        """The table under `key`, None when there is none."""
        if key not in self.values:
            return None
        return self.inside(key, cast("Mapping[str, Any]", self.get(key, dict)))

    def inside(self, where: str, values: Mapping[str, Any]) -> "_Entry":
        return _Entry(self.path, f"{self.where}, {where}", values)

    def tables(self, key: str) -> tuple[Mapping[str, Any], ...]:
        items = self.items(key)
        if not all(isinstance(item, dict) for item in items):
            raise self.error(f"{key!r} must be a list of tables")
        return cast("tuple[Mapping[str, Any], ...]", items)

    def items(self, key: str) -> tuple[object, ...]:
        return tuple(cast("list[object]", self.get(key, list)))

    def integers(self, key: str) -> tuple[int, ...]:
        numbers = [item for item in self.items(key) if isinstance(item, int) and not isinstance(item, bool)]
        if len(numbers) != len(self.items(key)):
            raise self.error(f"{key!r} must be whole numbers")
        return tuple(numbers)

    def dim3(self, key: str) -> Dim3:
        sizes = self.integers(key)
        if len(sizes) != 3 or min(sizes) < 1:
            raise self.error(f"{key!r} must be three positive whole numbers")
        return (sizes[0], sizes[1], sizes[2])

    def error(self, message: str) -> ManifestError:
        return ManifestError(f"{self.path}: {self.where}: {message}")


def _program(entry: _Entry, directory: Path) -> CorpusKernel:
    file = directory / entry.get("file", str)
    if not file.is_file():
        raise entry.error(f"no such file: {file}")
    kernels = tuple(str(name) for name in entry.items("kernels"))
    sizes = tuple(
        SizeArgument(size.get("name", str), size.get("default", int))
        for size in (entry.inside("sizes", table) for table in entry.tables("sizes"))
    )
    paper = entry.optional("paper")
    return CorpusKernel(
        family=directory.name,
        name=entry.get("name", str),
        file=file,
        description=entry.get("description", str),
        kernels=kernels,
        sizes=sizes,
        runs=_runs(entry, len(sizes)),
        why_not_repeatable=_why_not_repeatable(entry),
        variants=_variants(entry, kernels),
        launches=tuple(
            _launch(entry.inside(f"launch {number}", table), kernels)
            for number, table in enumerate(entry.tables("launch"), start=1)
        ),
        paper=None if paper is None else _paper(paper),
    )


def _paper(entry: _Entry) -> PaperProgram:
    return PaperProgram(
        entry.get("name", str), entry.get("table", int), entry.choice("branch_class", BranchClass)
    )


def _runs(entry: _Entry, size_count: int) -> tuple[CorpusRun, ...]:
    tables = (entry.inside("runs", table) for table in entry.tables("runs"))
    runs = tuple(CorpusRun(run.choice("size", RunSize), run.integers("arguments")) for run in tables)
    order = list(RunSize)
    ranks = [order.index(run.size) for run in runs]
    if len(runs) < 2 or ranks[0] != 0 or ranks != sorted(set(ranks)):
        raise entry.error("'runs' must be two or three, of different sizes, from small to large")
    for run in runs:
        if len(run.arguments) != size_count:
            raise entry.error(f"the {run.size} run must give all {size_count} of 'sizes'")
    return runs


def _why_not_repeatable(entry: _Entry) -> str | None:
    if not entry.flag("repeatable"):
        return entry.get("why_not", str)
    if "why_not" in entry.values:
        raise entry.error("'why_not' is only for a program that is not repeatable")
    return None


def _variants(entry: _Entry, kernels: tuple[str, ...]) -> tuple[Variant, ...]:
    """`variant` is one table, or a list of them when a program holds both members of a pair."""
    several = isinstance(entry.values.get("variant"), list)
    one = None if several else entry.optional("variant")
    tables = tuple(entry.inside("variant", table) for table in entry.tables("variant")) if several else (one,)
    return tuple(_variant(table, kernels) for table in tables if table is not None)


def _variant(entry: _Entry, kernels: tuple[str, ...]) -> Variant:
    kernel = entry.get("kernel", str) if "kernel" in entry.values else None
    if kernel is not None and kernel not in kernels:
        raise entry.error(f"kernel {kernel!r} is not in the program's list of kernels")
    return Variant(entry.get("pair", str), entry.choice("role", VariantRole), kernel)


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
        occurrence=entry.get("occurrence", int) if "occurrence" in entry.values else 0,
    )
