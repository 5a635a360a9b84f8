"""Tables of energies per PTX instruction: the published one for its four GPUs, measured ones from a CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from wattslice.errors import WattsliceError, of_system
from wattslice_corpora.published.arafa2020 import InstructionEnergyRow, arafa2020_instruction_energies
from wattslice_corpora.records import MeasuredInstruction, RecordError, read_instructions
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.instruction_energy import InstructionEnergies, Variant, opcode_row, table_1_row

PUBLISHED = "Arafa et al. 2020, Table I"
DEFAULT_GPU = "titan_v"
"""The GPU of the published table whose values its authors compared with a power meter."""
DEFAULT_METHOD = "mtsm"
NOTEWORTHY_ERROR = 0.1
"""A measured energy is told to be doubtful from this relative standard error on."""

ADD_KERNEL_S, DIV_KERNEL_S = 0.28, 13.0
"""How long the kernels of integer addition and unsigned division took on the TITAN V (section IV-A)."""
OPTIMIZED_INSTRUCTIONS, UNOPTIMIZED_INSTRUCTIONS = 5e6, 20e6
"""What the authors divide the energy of a kernel by: README of NMSU-PEARL/GPUs-Energy at 14bc4b4. The paper
tells of one million iterations of five instructions only."""


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


def published_beside(energies: InstructionEnergies) -> tuple[InstructionEnergies, ...]:
    """The published tables to compare one with: the other GPUs, by the same method if it is among theirs.

    None for energies of a full board, which are something else.
    """
    if energies.variant is not Variant.LATENCY:
        return ()
    known = {row.method.lower() for row in arafa2020_instruction_energies()}
    method = energies.method if energies.method in known else DEFAULT_METHOD
    return tuple(
        published_energies(gpu_id, optimized=energies.optimized, method=method)
        for gpu_id in published_gpus()
        if gpu_id != energies.gpu_id or energies.source != PUBLISHED
    )


def _relatives(gpu: Gpu) -> str:
    """A GPU of the table with the same chip, else of the same generation, to be asked for by name."""
    tabled = [load_gpu(gpu_id) for gpu_id in published_gpus()]
    for kind, found in (
        ("chip", [other for other in tabled if other.chip == gpu.chip]),
        ("generation", [other for other in tabled if other.architecture.name == gpu.architecture.name]),
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


def measured_energies(
    path: Path, gpu_id: str | None, *, optimized: bool, variant: Variant, method: str | None
) -> InstructionEnergies:
    """A measured table (``wattslice measure --instructions``), or what of it was asked for.

    `gpu_id` None: the only GPU of the table. `method` None: ``mtsm`` if there is one, else the first.
    Raises `WattsliceError` for a table that cannot be used, or does not hold what was asked for.
    """
    rows = _measured_rows(path)
    boards = {row.board: _board(path, row.board) for row in rows}
    gpu_ids = tuple(dict.fromkeys(boards.values()))
    if gpu_id is None and len(gpu_ids) > 1:
        raise WattsliceError("holds several GPUs", path=path, remedy=f"--gpu {', '.join(gpu_ids)}")
    chosen = boards[rows[0].board] if gpu_id is None else load_gpu(gpu_id).id
    rows = [row for row in rows if boards[row.board] == chosen]
    if not rows:
        raise WattsliceError(f"holds nothing for {chosen}", path=path, remedy=f"--gpu {', '.join(gpu_ids)}")
    rows = [row for row in rows if row.optimized == optimized]
    if not rows:
        other, remedy = ("-O0", "--not-optimized") if optimized else ("-O3", "--optimized")
        raise WattsliceError(f"holds only instructions compiled with {other}", path=path, remedy=remedy)
    rows = [row for row in rows if row.variant == variant]
    if not rows:
        other = next(one for one in Variant if one is not variant)
        raise WattsliceError(f"holds only {other} energies", path=path, remedy=f"--variant {other}")
    methods = tuple(dict.fromkeys(row.method.lower() for row in rows))
    if method is None:
        method = DEFAULT_METHOD if DEFAULT_METHOD in methods else methods[0]
    rows = [row for row in rows if row.method.lower() == method]
    if not rows:
        raise WattsliceError(f"holds nothing by method {method}", path=path, remedy=" or ".join(methods))
    names = [row.instruction for row in rows]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            raise WattsliceError(f"holds {name} twice", path=path, remedy="keep one row of each")
    found = tuple(
        opcode_row(row.instruction, row.energy_j, _doubt(row), row.above_idle_j, row.category) for row in rows
    )
    return InstructionEnergies(chosen, optimized, method, str(path), found, variant)


def _doubt(row: MeasuredInstruction) -> str:
    if row.energy_j is None or row.standard_error_j is None:
        return row.reason
    error = row.standard_error_j / row.energy_j
    return f"standard error {error:.0%}" if error > NOTEWORTHY_ERROR else ""


def _measured_rows(path: Path) -> list[MeasuredInstruction]:
    try:
        rows = list(read_instructions(path))
    except RecordError as error:
        raise WattsliceError(str(error), remedy="`wattslice measure --instructions` writes it") from None
    except OSError as error:
        raise of_system(error, "cannot be read", path, "give a CSV file") from None
    if not rows:
        raise WattsliceError("holds no rows", path=path, remedy="`wattslice measure --instructions`")
    return rows


def _board(path: Path, name: str) -> str:
    try:
        return load_gpu(name).id
    except (LookupError, ValueError, OSError):
        remedy = "`wattslice gpus` lists all"
        raise WattsliceError(f"unknown board {name!r}", path=path, remedy=remedy) from None
