"""Tables of energies per PTX instruction: the published one for its four GPUs, measured ones from a CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from wattslice.errors import WattsliceError
from wattslice_corpora.published import InstructionEnergyRow, arafa2020_instruction_energies
from wattslice_models.gpu import Gpu, GpuFileError, UnknownGpuError, load_gpu
from wattslice_models.instruction_energy import (
    InstructionEnergies,
    InstructionEnergy,
    Variant,
    opcode_row,
    table_1_row,
)

PUBLISHED = "Arafa et al. 2020, Table I"
DEFAULT_GPU = "titan_v"
"""The GPU of the published table whose values its authors compared with a power meter."""
DEFAULT_METHOD = "mtsm"

ADD_KERNEL_S, DIV_KERNEL_S = 0.28, 13.0
"""How long the kernels of integer addition and unsigned division took on the TITAN V (section IV-A)."""
OPTIMIZED_INSTRUCTIONS, UNOPTIMIZED_INSTRUCTIONS = 5e6, 20e6
"""What the authors divide the energy of a kernel by: README of NMSU-PEARL/GPUs-Energy at 14bc4b4. The paper
tells of one million iterations of five instructions only."""

_COLUMNS = ("board", "instruction", "optimized", "variant", "method", "energy_j")
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


@cache
def gpu_of_column(name: str) -> Gpu:
    """The GPU of the catalogue that a column of the published table stands for."""
    return load_gpu(name.partition(" (")[0])


def published_gpus() -> tuple[str, ...]:
    """Catalogue ids of the GPUs of the published table, in its order."""
    names = dict.fromkeys(row.gpu for row in arafa2020_instruction_energies())
    return tuple(gpu_of_column(name).id for name in names)


def published_energies(gpu_id: str, *, optimized: bool, method: str) -> InstructionEnergies:
    """The published table for one GPU. Raises `WattsliceError` for a GPU or method that it does not have."""
    gpu, rows = load_gpu(gpu_id), arafa2020_instruction_energies()
    if gpu.id not in published_gpus():
        raise WattsliceError(
            f"no published energies per instruction for {gpu.name}",
            remedy=f"{_relatives(gpu)}--gpu {', '.join(published_gpus())}; or give measured ones: --energies",
        )
    known = sorted({row.method.lower() for row in rows})
    if method not in known:
        raise WattsliceError(f"--method {method}: not in {PUBLISHED}", remedy=" or ".join(known))
    own = [row for row in rows if gpu_of_column(row.gpu).id == gpu.id and row.optimized == optimized]
    return InstructionEnergies(
        gpu.id,
        optimized,
        method,
        PUBLISHED,
        tuple(
            table_1_row(row.category, row.instruction, row.energy_j, "; ".join(_notes(row, own)))
            for row in own
            if row.method.lower() == method
        ),
    )


def _relatives(gpu: Gpu) -> str:
    """A GPU of the table with the same chip, else of the same generation, to be asked for by name."""
    tabled = [load_gpu(gpu_id) for gpu_id in published_gpus()]
    for kind, found in (
        ("chip", [other for other in tabled if other.chip == gpu.chip]),
        ("generation", [other for other in tabled if other.architecture is gpu.architecture]),
    ):
        if found:
            return f"{found[0].id} has the same {kind}; "
    return ""


def _notes(row: InstructionEnergyRow, own: Sequence[InstructionEnergyRow]) -> Iterator[str]:
    """What makes a number doubtful: it is another row's by both methods, or the sensor could not see it."""
    if row.energy_j is None:
        yield "not run on this GPU"
        return
    for other in own:
        if (other.category, other.instruction) == (row.category, row.instruction):
            break
        if _numbers(other, own) == _numbers(row, own):
            yield f"the numbers of {other.category}: {other.instruction}"
            break
    if row.energy_j < watt_step_j(optimized=row.optimized):
        yield "below a step of the sensor, as it was read"


def watt_step_j(*, optimized: bool) -> float:
    """What one watt more makes of an instruction's joules in a kernel as short as that of the addition.

    The authors' programs read whole watts; the kernel of the addition takes 0.28 s (section IV-A), and its
    energy is divided by 5 million instructions, without optimisation by 20 million.
    """
    return 1.0 * ADD_KERNEL_S / (OPTIMIZED_INSTRUCTIONS if optimized else UNOPTIMIZED_INSTRUCTIONS)


def _numbers(row: InstructionEnergyRow, own: Sequence[InstructionEnergyRow]) -> list[float | None]:
    return [
        other.energy_j
        for other in own
        if (other.category, other.instruction) == (row.category, row.instruction)
    ]


@dataclass(frozen=True, slots=True)
class _Measured:
    line: int
    gpu: Gpu
    instruction: str
    optimized: bool
    variant: Variant
    method: str
    energy_j: float | None
    reason: str


def measured_energies(
    path: Path, gpu_id: str | None, *, optimized: bool, variant: Variant, method: str | None
) -> InstructionEnergies:
    """A measured table (``wattslice measure --instructions``), or what of it was asked for.

    `gpu_id` None: the only GPU of the table. `method` None: ``mtsm`` if there is one, else the first.
    Raises `WattsliceError` with file and line for a table that cannot be used.
    """
    rows = _measured_rows(path)
    gpus = tuple(dict.fromkeys(row.gpu.id for row in rows))
    if gpu_id is None and len(gpus) > 1:
        raise WattsliceError("holds several GPUs", path=path, remedy=f"--gpu {', '.join(gpus)}")
    chosen = rows[0].gpu.id if gpu_id is None else load_gpu(gpu_id).id
    own = [row for row in rows if row.gpu.id == chosen]
    if not own:
        raise WattsliceError(f"holds nothing for {chosen}", path=path, remedy=f"--gpu {', '.join(gpus)}")
    own = [row for row in own if row.optimized == optimized]
    if not own:
        other, remedy = ("-O0", "--not-optimized") if optimized else ("-O3", "--optimized")
        raise WattsliceError(f"holds only instructions compiled with {other}", path=path, remedy=remedy)
    own = [row for row in own if row.variant is variant]
    if not own:
        other = next(one for one in Variant if one is not variant)
        raise WattsliceError(f"holds only {other} energies", path=path, remedy=f"--variant {other}")
    methods = tuple(dict.fromkeys(row.method for row in own))
    if method is None:
        method = DEFAULT_METHOD if DEFAULT_METHOD in methods else methods[0]
    if method not in methods:
        raise WattsliceError(f"holds nothing by method {method}", path=path, remedy=" or ".join(methods))
    chosen_rows = _rows(path, [row for row in own if row.method == method])
    return InstructionEnergies(chosen, optimized, method, str(path), chosen_rows, variant)


def _rows(path: Path, own: Sequence[_Measured]) -> tuple[InstructionEnergy, ...]:
    found: dict[str, _Measured] = {}
    for row in own:
        if row.instruction in found:
            message = f"{row.instruction} is there already, in line {found[row.instruction].line}"
            raise WattsliceError(message, path=path, line=row.line, remedy="keep one row of each")
        found[row.instruction] = row
    return tuple(opcode_row(row.instruction, row.energy_j, row.reason) for row in own)


def _measured_rows(path: Path) -> tuple[_Measured, ...]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WattsliceError(f"cannot be read: {reason}", path=path, remedy="give a CSV file") from None
    except UnicodeDecodeError:
        raise WattsliceError("is no text", path=path, remedy="give a CSV file") from None
    skipped = next((index for index, line in enumerate(lines) if not line.startswith("#")), len(lines))
    reader = csv.DictReader(lines[skipped:])
    missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        raise WattsliceError(
            f"has no column {', '.join(missing)}",
            path=path,
            line=skipped + 1,
            remedy=f"columns {', '.join(_COLUMNS)}, as `wattslice measure --instructions` writes them",
        )
    try:
        rows = tuple(_measured(path, skipped + reader.line_num, cells) for cells in reader)
    except csv.Error as error:
        line = skipped + reader.line_num
        raise WattsliceError(f"is no CSV: {error}", path=path, line=line, remedy="give a CSV file") from None
    if not rows:
        raise WattsliceError("holds no rows", path=path, remedy="measure some: `wattslice measure`")
    return rows


def _measured(path: Path, line: int, cells: dict[str, str | None]) -> _Measured:
    def text(column: str) -> str:
        return (cells.get(column) or "").strip()

    def wrong(what: str, remedy: str) -> WattsliceError:
        return WattsliceError(what, path=path, line=line, remedy=remedy)

    try:
        gpu = load_gpu(text("board"))
    except (UnknownGpuError, GpuFileError, OSError):
        raise wrong(f"unknown GPU {text('board')!r}", "`wattslice gpus` lists all") from None
    for column in ("instruction", "method"):
        if not text(column):
            raise wrong(f"{column!r} is empty", f"tell the {column}")
    if text("optimized").lower() not in _FLAGS:
        raise wrong(f"'optimized' is {text('optimized')!r}", "true or false")
    if text("variant") not in tuple(Variant):
        raise wrong(f"'variant' is {text('variant')!r}", " or ".join(Variant))
    return _Measured(
        line,
        gpu,
        text("instruction"),
        _FLAGS[text("optimized").lower()],
        Variant(text("variant")),
        text("method").lower(),
        _energy(text("energy_j"), wrong),
        text("reason") or ("" if text("energy_j") else "measured without a result"),
    )


class _Wrong(Protocol):
    def __call__(self, what: str, remedy: str) -> WattsliceError: ...


def _energy(cell: str, wrong: _Wrong) -> float | None:
    if not cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        raise wrong(f"'energy_j' is {cell!r}, no number", "joules, or nothing where unknown") from None
    if not math.isfinite(value):
        raise wrong(f"'energy_j' is {cell!r}", "joules, or nothing where unknown")
    return value
