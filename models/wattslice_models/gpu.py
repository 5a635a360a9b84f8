"""GPU facts: one TOML file per GPU in ``gpus/``, one per architecture in ``gpus/architectures/``.

A new GPU is a new TOML file. It names its architecture, or describes a new one in a table ``[architecture]``
with the entries of such a file. Every number stands as ``{ value = 80, source = "..." }``, and a number that
was not found as ``{ unknown = "why" }``; the loader accepts nothing else. Measured coefficients live apart
from these facts, under ``trained/``.

Only the standard library is imported here, so that listing GPUs stays as cheap as reading text files.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Container, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

_GPU_DIRECTORY = Path(__file__).parent / "gpus"
_ARCHITECTURE_DIRECTORY = _GPU_DIRECTORY / "architectures"


class UnknownGpuError(LookupError):
    """No GPU of that id, name or alias; `close_matches` holds the nearest ids, best first."""

    def __init__(self, gpu_id: str, close_matches: tuple[str, ...]) -> None:
        hint = f"did you mean {', '.join(close_matches)}?" if close_matches else "`wattslice gpus` lists all"
        super().__init__(f"unknown GPU {gpu_id!r}: {hint}")
        self.gpu_id = gpu_id
        self.close_matches = close_matches


class GpuFileError(ValueError):
    """A GPU file that is not valid TOML, or lacks, misspells or mistypes entries; `faults`: all of them."""

    def __init__(self, path: Path, *faults: str) -> None:
        super().__init__(f"{path}: {'; '.join(faults)}")
        self.path = path
        self.faults = faults


class _Faults:
    """What is wrong with a file, gathered so that all of it is told at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: list[str] = []

    @contextmanager
    def gathered(self) -> Generator[None]:
        """What goes wrong within is kept for `tell`."""
        try:
            yield
        except GpuFileError as error:
            self.found += error.faults

    def tell(self) -> None:
        """Raises `GpuFileError` when anything was wrong."""
        if self.found:
            raise GpuFileError(self.path, *self.found)


class NumberSource(Struct, frozen=True):
    """Where the number in field `field` of a `Gpu` comes from, or, for an unknown one, why it is unknown."""

    field: str
    source: str


class Architecture(Struct, frozen=True):
    """What the chips of one GPU generation have in common: facts that only change with the architecture.

    `generation`: its place in their order in time. Chips that differ from the others of their generation
    (GP100) say so in its file under ``[chips.GP100]``: the record of a GPU holds what is true of its chip.
    """

    name: str
    generation: int

    warp_instructions_per_clock_per_sm: float
    register_reads_per_clock_per_sm: float | None
    """Operands of whole warps that the register files deliver; None: they never fall short."""
    texture_units_per_sm: float
    """Each filters one texel of up to 32 bits a clock."""
    dependent_issue_cycles: float
    """Clocks until an arithmetic instruction that needs the result of another one can issue."""
    has_one_integer_pipe: bool
    """Integer multiplications and additions run on the same units, one after the other."""
    multiplies_16_bits: bool
    """Integer multiplications are XMAD, of 16 bits at a time."""
    l1_keeps_global_loads: bool
    """Unless told otherwise when compiling."""
    l1_local_bytes_per_sm: int
    """What keeps local memory in L1; 0: nothing does."""
    l1_shares_shared_memory: bool
    """Shared memory is taken from these bytes."""
    allocates_registers_per_block: bool
    is_like_measured: bool
    """Whether energies measured on another architecture may be carried over to it."""
    shared_latency_cycles: float
    l1_latency_cycles: float
    l2_latency_cycles: float
    """Of a load that hits there, from issue to use."""
    dram_latency_ns: float
    """On top of `l2_latency_cycles`: memory does not follow the core clock."""
    shared_bytes_per_clock_per_sm: float
    l1_bytes_per_clock_per_sm: float
    l2_bytes_per_clock_per_sm: float
    l2_fill_bytes_per_clock_per_sm: float | None
    """What L2 exchanges with DRAM at most: it limits where the core clock is low."""
    dram_efficiency: float
    """Achievable share of the bandwidth on the specification sheet: refresh and turns take the rest."""
    fp64_efficiency: float
    """Achievable share of the rate of fp64 units: a chip with few of them does not keep them busy."""
    fp16_efficiency: float
    """Achievable share of the rate of half precision by the instructions that nvcc chooses."""
    tensor_efficiency: float
    """Achievable share of the tensor rate by ``mma.sync``, of one warp at a time."""
    block_dispatch_cycles: float
    """Clocks between two blocks that the whole GPU starts."""
    block_turnaround_cycles: float
    """From the end of a block until the one that takes its place runs."""
    barrier_warps_per_clock_per_sm: float
    """Warps that arrive at barriers of blocks."""
    constant_request_cycles: float
    """For each distinct address of a warp's request to constant memory, hits in the SM's cache for it."""
    constant_miss_cycles: float
    """For each line that this cache has to fetch, one after the other."""
    atomic_requests_per_clock_per_sm: float
    """Sectors of atomics that L2 works on, all of it; a sector again for each lane on the same word."""
    atomic_line_cycles: float
    """For each of them in one line, which lies in one slice of L2."""

    sources: tuple[NumberSource, ...]


class Gpu(Struct, frozen=True):
    """One GPU board. ``None`` means unknown; `source_of` gives the source, or why it is unknown.

    Rates are operations per clock cycle and streaming multiprocessor (SM): an FMA counts as one operation
    here, ``fp16_vector`` counts FMA of scalar halves, ``tensor_fp16_dense_fma`` multiply-adds of fp16
    matrices without sparsity. A rate of 0 means that the GPU has no such instruction.
    """

    id: str
    name: str
    aliases: tuple[str, ...]
    chip: str
    architecture: Architecture
    compute_capability: tuple[int, int]
    notes: str

    sm_count: int
    warp_size: int
    fp32_fma_per_clock_per_sm: float
    fp64_fma_per_clock_per_sm: float | None
    int32_add_per_clock_per_sm: float | None
    int32_mul_per_clock_per_sm: float | None
    sfu_per_clock_per_sm: float | None
    fp16_vector_fma_per_clock_per_sm: float | None
    tensor_fp16_dense_fma_per_clock_per_sm: float | None

    max_threads_per_sm: int
    max_warps_per_sm: int
    max_blocks_per_sm: int
    max_threads_per_block: int
    registers_per_sm: int
    max_registers_per_thread: int
    register_allocation_unit: int
    """Registers: per warp, but per block on compute capability 1.x."""
    warp_allocation_granularity: int
    """Sub-partitions of an SM that share its registers; warps admitted by registers are a multiple of it."""
    shared_memory_bytes_per_sm: int
    shared_memory_optin_bytes_per_block: int
    shared_memory_reserved_bytes_per_block: int
    shared_memory_allocation_unit_bytes: int

    base_clock_mhz: float | None
    """Clock of the arithmetic units (the shader clock where the chip has one)."""
    boost_clock_mhz: float
    memory_clock_mhz: float | None
    """Command clock as the board's specification sheet prints it, not the data rate."""
    memory_bytes: int
    memory_bus_bits: int
    memory_bandwidth_bytes_per_s: float
    l2_bytes: int | None
    memory_type: str

    power_limit_w: float | None
    board_id: str
    """The GPU whose board this is: the one extended, where a file sets no more than another power limit of it
    (``nvidia-smi -pl``); else its own `id`.
    """
    design_power_w: float | None
    """Watts that the board is made for: the power limit of `board_id`."""
    idle_power_w: float | None
    process_nm: float | None
    die_area_mm2: float | None

    nvml_power_supported: bool | None
    nvml_update_period_ms: float | None
    nvml_instant_window_ms: float | None
    nvml_average_window_ms: float | None
    nvml_static_error_low: float | None
    """Smallest observed (NVML - power meter) / power meter, dimensionless; the largest is ``..._high``."""
    nvml_static_error_high: float | None

    sources: tuple[NumberSource, ...]

    def source_of(self, field: str) -> str:
        """Source of the number in `field`, or why it is unknown; ``KeyError`` for a field without source."""
        for entry in self.sources:
            if entry.field == field:
                return entry.source
        raise KeyError(field)

    @property
    def peak_fp32_flops_per_s(self) -> float:
        """Peak single-precision rate at boost clock; an FMA is two operations."""
        return 2e6 * self.fp32_fma_per_clock_per_sm * self.sm_count * self.boost_clock_mhz


_TEXT = ("id", "name", "chip", "notes", "memory_type")
_IDENTITY = (*_TEXT, "architecture", "aliases", "compute_capability")
_DERIVED = ("board_id", "design_power_w", "sources")
_OF_A_SETTING = ("id", "name", "aliases", "notes", "power_limit_w", "idle_power_w")
"""What may differ, beside the sensor, in a file that extends a GPU and still describes that board."""


class _Numbers:
    """The numbers that the files of a record hold, and what each may be."""

    def __init__(self, record: type[Gpu] | type[Architecture], identity: tuple[str, ...]) -> None:
        self.identity = identity
        # The annotations are strings here, which is exactly what is needed to see what a field may hold.
        self.annotations = {
            name: str(record.__annotations__[name])
            for name in record.__struct_fields__
            if name not in (*identity, *_DERIVED)
        }

    def nearest(self, key: str) -> str:
        names, words = (*self.identity, *self.annotations), {*key.split("_"), *key.rstrip("s").split("_")}
        alike = sorted((name for name in names if words & set(name.split("_"))), key=len)
        found = difflib.get_close_matches(key, names, n=1) or alike
        return f" (did you mean {found[0]}?)" if found else ""

    def misplaced(self, key: str) -> str:
        """What is wrong with a key that is no table."""
        if key in self.annotations:
            return f"{key}: write it into a table, such as [board]"
        return f"{key}: no such entry{self.nearest(key)}"

    def check_complete(
        self, path: Path, values: dict[str, Any], place: str = "", said: Container[str] = ()
    ) -> None:
        """Raises `GpuFileError` for what is neither in `values` nor otherwise `said`."""
        fields = (*self.identity, *self.annotations)
        missing = [field for field in fields if field not in values and field not in said]
        if missing:
            remedy = 'write { unknown = "why" } for a number that cannot be found'
            raise GpuFileError(path, f"{place}missing {', '.join(missing)}; {remedy}")


_OF_GPU = _Numbers(Gpu, _IDENTITY)
_OF_ARCHITECTURE = _Numbers(Architecture, ("name", "generation"))
_ID = re.compile(r"[A-Za-z0-9_-]+")  # it names a folder of models: no path
_MAY_BE_ZERO = frozenset(
    {
        "fp64_fma_per_clock_per_sm",
        "int32_add_per_clock_per_sm",
        "int32_mul_per_clock_per_sm",
        "sfu_per_clock_per_sm",
        "fp16_vector_fma_per_clock_per_sm",
        "tensor_fp16_dense_fma_per_clock_per_sm",
        "shared_memory_optin_bytes_per_block",
        "shared_memory_reserved_bytes_per_block",
        "l2_bytes",
        "l1_local_bytes_per_sm",
        "idle_power_w",
    }
)
_MAY_BE_NEGATIVE = frozenset({"nvml_static_error_low", "nvml_static_error_high"})


def read_gpu(path: Path) -> Gpu:
    """Read one GPU file. Raises `GpuFileError` naming all entries at fault, ``OSError`` when unreadable.

    One that ``extends = "h100"`` has the entries of that GPU of the catalogue where it is silent.
    """
    faults = _Faults(path)
    written = _document(path)
    document = _extended(path, written, faults)
    values: dict[str, Any] = {}
    sources: list[NumberSource] = []
    said = set(document)
    for key, entry in document.items():
        if isinstance(entry, dict) and key not in _IDENTITY:
            said |= set(cast("dict[str, Any]", entry))
            _read_numbers(faults, key, cast("dict[str, Any]", entry), _OF_GPU, values, sources)
            continue
        with faults.gathered():
            if key not in _IDENTITY:
                raise GpuFileError(path, _OF_GPU.misplaced(key))
            values[key] = entry if key == "architecture" else _identity(path, key, cast("object", entry))
    with faults.gathered():
        _OF_GPU.check_complete(path, values, said=said)
    with faults.gathered():
        if "architecture" in values:
            values["architecture"] = _architecture(path, values["architecture"], values.get("chip", ""))
    faults.tell()
    board = _same_board(values, written.get("extends"))
    return Gpu(
        **values,
        board_id=board.id if board else values["id"],
        design_power_w=board.design_power_w if board else values["power_limit_w"],
        sources=tuple(sources),
    )


def _same_board(values: dict[str, Any], extended: object) -> Gpu | None:
    """The GPU that a file extends, if the file describes that very board with other settings."""
    if extended is None:
        return None
    board = load_gpu(str(extended))
    same = all(
        getattr(board, field) == value
        for field, value in values.items()
        if field not in _OF_A_SETTING and not field.startswith("nvml_")
    )
    return board if same else None


def _extended(path: Path, document: dict[str, Any], faults: _Faults) -> dict[str, Any]:
    """The entries, with those of the GPU that the file extends; what it has to say itself may be missing."""
    if "extends" not in document:
        return document
    own = dict(document)
    base = str(own.pop("extends"))
    missing = [key for key in ("id", "name") if key not in own]
    if missing:
        faults.found.append(f"extends {base}: {' and '.join(missing)} of its own missing")
    try:
        whole = tomllib.loads(gpu_text(base))
    except UnknownGpuError as error:
        raise GpuFileError(path, *faults.found, f"extends: {error}") from None
    del whole["aliases"], whole["notes"]
    places = {
        field: table
        for table, numbers in whole.items()
        if isinstance(numbers, dict) and table not in _IDENTITY
        for field in cast("dict[str, Any]", numbers)
    }
    for key, entry in own.items():
        known = whole.get(key)
        if isinstance(entry, dict) and key not in _IDENTITY:
            for field in [name for name in cast("dict[str, Any]", entry) if places.get(name, key) != key]:
                faults.found.append(f"[{key}] {field}: belongs into [{places[field]}], as in {base}")
                del entry[field]
        is_table = isinstance(known, dict) and isinstance(entry, dict)
        whole[key] = {**cast("dict[str, Any]", known), **cast("dict[str, Any]", entry)} if is_table else entry
    return {"aliases": [], "notes": "", **whole}


def gpu_text(gpu_id: str) -> str:
    """The file of a GPU of the catalogue, to begin one of your own with. Raises `UnknownGpuError`."""
    if gpu_id.endswith(".toml"):
        raise UnknownGpuError(gpu_id, ())
    return (_GPU_DIRECTORY / f"{load_gpu(gpu_id).id}.toml").read_text(encoding="utf-8")


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise GpuFileError(path, f"not valid TOML: {error}") from None


def _read_numbers(
    faults: _Faults,
    table: str,
    entries: dict[str, Any],
    known: _Numbers,
    values: dict[str, Any],
    sources: list[NumberSource],
) -> None:
    for field, number in entries.items():
        place = f"[{table}] {field}"
        with faults.gathered():
            if field not in known.annotations:
                raise GpuFileError(faults.path, f"{place}: no such number{known.nearest(field)}")
            if field in values:
                raise GpuFileError(faults.path, f"{place}: given twice")
            values[field], source = _number(faults.path, place, field, number, known.annotations[field])
            sources.append(NumberSource(field, source))


def architecture_names() -> tuple[str, ...]:
    """Names of the architectures that GPU files may refer to, without reading their files."""
    return tuple(sorted(path.stem for path in _ARCHITECTURE_DIRECTORY.glob("*.toml")))


@cache
def load_architecture(name: str, chip: str = "") -> Architecture:
    """The architecture of that name, as its chip `chip` has it. Raises `GpuFileError`, ``OSError``."""
    path = _ARCHITECTURE_DIRECTORY / f"{name}.toml"
    return _read_architecture(path, _document(path), chip)


def _architecture(path: Path, entry: object, chip: str) -> Architecture:
    if isinstance(entry, dict):
        return _read_architecture(path, cast("dict[str, Any]", entry), chip, "[architecture] ")
    if isinstance(entry, str) and entry in architecture_names():
        return load_architecture(entry, chip)
    known = ", ".join(architecture_names())
    remedy = f"name one of {known}, or describe it in a table [architecture]"
    raise GpuFileError(path, f"architecture: cannot be {entry!r}; {remedy}")


def _read_architecture(path: Path, document: dict[str, Any], chip: str, place: str = "") -> Architecture:
    chips = document.get("chips", {})
    name, generation = document.get("name"), document.get("generation")
    if not isinstance(name, str) or not name:
        raise GpuFileError(path, f"{place}name: cannot be {name!r}")
    if type(generation) is not int:
        raise GpuFileError(path, f"{place}generation: cannot be {generation!r}, expected a whole number")
    if not isinstance(chips, dict):
        raise GpuFileError(path, f"{place}chips: expected a table for each chip, found {chips!r}")
    own = cast("dict[str, Any]", chips).get(chip, {})
    if not isinstance(own, dict):
        raise GpuFileError(path, f"{place}chips.{chip}: expected a table of numbers, found {own!r}")
    numbers = {key: entry for key, entry in document.items() if key not in ("name", "generation", "chips")}
    numbers |= cast("dict[str, Any]", own)
    values: dict[str, Any] = {"name": name, "generation": generation}
    sources: list[NumberSource] = []
    faults = _Faults(path)
    _read_numbers(faults, "architecture", numbers, _OF_ARCHITECTURE, values, sources)
    with faults.gathered():
        _OF_ARCHITECTURE.check_complete(path, values, place, said=numbers)
    faults.tell()
    return Architecture(**values, sources=tuple(sources))


def _identity(path: Path, key: str, entry: object) -> object:
    if key == "aliases" and isinstance(entry, list):
        aliases = cast("list[object]", entry)
        if all(isinstance(alias, str) for alias in aliases):
            return tuple(aliases)
    if key == "compute_capability" and isinstance(entry, list):
        pair = cast("list[object]", entry)
        if len(pair) == 2 and all(type(part) is int for part in pair):
            return (pair[0], pair[1])
    if key == "id" and not (isinstance(entry, str) and _ID.fullmatch(entry)):
        raise GpuFileError(path, f"id: cannot be {entry!r}, expected letters, digits, _ and -")
    if key in _TEXT and isinstance(entry, str):
        return entry
    raise GpuFileError(path, f"{key}: cannot be {entry!r}")


def _number(path: Path, place: str, field: str, entry: object, annotation: str) -> tuple[object, str]:
    may_be_unknown = "None" in annotation
    if isinstance(entry, dict):
        table = cast("dict[str, object]", entry)
        match table:
            case {"unknown": str(why)} if why and len(table) == 1 and may_be_unknown:
                return None, why
            case {"value": bool(flag), "source": str(source)} if source:
                if "bool" in annotation:
                    return flag, source
            case {"value": int(number), "source": str(source)} if source and "bool" not in annotation:
                _check_sign(path, place, field, number, may_be_unknown)
                return (float(number) if "float" in annotation else int(number)), source
            case {"value": float(number), "source": str(source)} if source and "float" in annotation:
                if math.isfinite(number):
                    _check_sign(path, place, field, number, may_be_unknown)
                    return number, source
            case _:
                pass
    allowed = f'{{ value = <{annotation.removesuffix(" | None")}>, source = "..." }}'
    if may_be_unknown:
        allowed += ' or { unknown = "why" }'
    raise GpuFileError(path, f"{place}: expected {allowed}, found {entry!r}")


def _check_sign(path: Path, place: str, field: str, number: float, may_be_unknown: bool) -> None:
    """Refuses a number that no GPU can have, before something is divided by it."""
    if field in _MAY_BE_NEGATIVE or number > 0 or (number == 0 and field in _MAY_BE_ZERO):
        return
    allowed = "0 or more" if field in _MAY_BE_ZERO else "more than 0"
    unknown = ', or write { unknown = "why" }' if may_be_unknown else ""
    raise GpuFileError(path, f"{place}: must be {allowed}, found {number:g}{unknown}")


def gpu_ids() -> tuple[str, ...]:
    """Ids of all GPUs that can be loaded, in alphabetical order, without reading their files."""
    return tuple(sorted(path.stem for path in _GPU_DIRECTORY.glob("*.toml")))


@cache
def gpus() -> tuple[Gpu, ...]:
    """All GPUs, oldest compute capability first."""
    loaded = (load_gpu(gpu_id) for gpu_id in gpu_ids())
    return tuple(sorted(loaded, key=lambda gpu: (gpu.compute_capability, gpu.id)))


@cache
def chip_of(gpu_id: str) -> tuple[str, tuple[int, int]]:
    """Chip and compute capability of a GPU of the catalogue, without its numbers: those are slow to read."""
    text = (_GPU_DIRECTORY / f"{gpu_id}.toml").read_text(encoding="utf-8")
    head = tomllib.loads(text.partition("\n[")[0])  # what stands before the first table
    major, minor = head["compute_capability"]
    return head["chip"], (major, minor)


@cache
def load_gpu(gpu_id: str) -> Gpu:
    """The GPU of an id (``v100``), of a name or alias as drivers print it (``Tesla V100-SXM2-16GB``), or of a
    file of the user's own (``my_gpu.toml``).

    Raises `UnknownGpuError` with close matches, for a file `GpuFileError`, and ``OSError`` when unreadable.
    """
    if gpu_id.endswith(".toml"):
        return read_gpu(Path(gpu_id))
    wanted = _normalise(gpu_id)
    if wanted in gpu_ids():
        return read_gpu(_GPU_DIRECTORY / f"{wanted}.toml")
    if (found := gpu_of_board(gpu_id)) is not None:
        return found
    names: dict[str, str] = {known: known for known in gpu_ids()}
    for gpu in gpus():
        names |= dict.fromkeys(_spellings(gpu), gpu.id)
    close = [
        name for name in names if wanted in name
    ]  # "2060" means rtx_2060_super, whatever the edit distance
    close += difflib.get_close_matches(wanted, names, n=5, cutoff=0.5)
    raise UnknownGpuError(gpu_id, tuple(dict.fromkeys(names[name] for name in close if wanted))[:5])


def gpu_of_board(name: str) -> Gpu | None:
    """That of a name as drivers print it (``NVIDIA RTX A4000``); None: the catalogue has none."""
    wanted = _normalise(name)
    return next((gpu for gpu in gpus() if wanted in _spellings(gpu)), None)


def _spellings(gpu: Gpu) -> tuple[str, ...]:
    return tuple(map(_normalise, (gpu.name, *gpu.aliases)))


def _normalise(name: str) -> str:
    words = "".join(character if character.isalnum() else " " for character in name.lower()).split()
    return "_".join(words[1:] if words[:1] == ["nvidia"] else words)
