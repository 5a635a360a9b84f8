"""Energy per PTX instruction (Arafa et al. 2020), and what it says about a kernel.

A published energy is that of one thread which runs a chain of dependent instructions, alone on the board:
board power, idle power included, times the latency of an instruction. Two readings are honest:

* the energy of one thread that runs alone (`ThreadEnergy.energy_j`), each instruction waiting for the last;
* relative weights: which instructions of a kernel are the dear ones (`ThreadEnergy.share`).

It is *not* the energy of an instruction of a full launch: thousands of threads share the board's idle power
and hide each other's latency. Energies times threads give boards of kilowatts (docs/instruction-energies.md).
Nor is there a factor that mends it: a latency says nothing about throughput or the energy above idle. Only
energies measured on a full board (`Variant.THROUGHPUT`) may be multiplied by the threads of a launch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from wattslice_models.instruction_rows import STAND_INS, opcodes_of, reason_without, same_code


class InstructionEnergy(Struct, frozen=True):
    """One row of a table: joules of one execution by one thread; None: the table has no number.

    `category` and `instruction` as the table names them. `opcodes`: the PTX opcodes that the row holds for, a
    regular expression of the whole opcode. `note`: what makes the number doubtful, else empty.
    `above_idle_j`: of `energy_j`, what the board takes more than when idle; None where nobody measured it.
    """

    category: str
    instruction: str
    opcodes: str
    energy_j: float | None
    note: str = ""
    above_idle_j: float | None = None

    @property
    def name(self) -> str:
        """Category and instruction in one line."""
        return f"{self.category}: {self.instruction}" if self.category else self.instruction


def table_1_row(category: str, instruction: str, energy_j: float | None, note: str = "") -> InstructionEnergy:
    """A row of Arafa et al. 2020, Table I. Raises ``KeyError`` for one that the table does not have."""
    return InstructionEnergy(category, instruction, opcodes_of(category, instruction), energy_j, note)


def opcode_row(
    instruction: str,
    energy_j: float | None,
    note: str = "",
    above_idle_j: float | None = None,
    category: str = "",
) -> InstructionEnergy:
    """A row for one opcode and those of the same machine code (`same_code`).

    Or for each of several measured together (``sub.cc.u32+subc.u32``).
    """
    opcodes = "|".join(same_code(opcode) for opcode in instruction.split("+"))
    return InstructionEnergy(category, instruction, opcodes, energy_j, note, above_idle_j)


class Variant(StrEnum):
    """What ran while the power was measured."""

    LATENCY = "latency"  # one thread, a chain of dependent instructions
    THROUGHPUT = "throughput"  # a board full of threads


class Basis(StrEnum):
    """What the energy of an instruction rests on."""

    NAMED = "named"  # the table has a row for this opcode
    STAND_IN = "stand-in"  # another row, by a documented guess (`STAND_INS`)
    NONE = "none"


class Price(Struct, frozen=True):
    """Joules of one execution, None without, and what of it is above idle.

    `row`: of the table, empty without. `reason`: of a stand-in why it may stand, without a price why there is
    none, of a named row its note.
    """

    energy_j: float | None
    basis: Basis
    row: str
    reason: str
    above_idle_j: float | None = None


class InstructionEnergies(Struct, frozen=True):
    """A table of energies of one GPU (its catalogue id), compiled with (-O3) or without (-O0) optimisation.

    `method`: how the power was read: ``papi``, ``mtsm``, ...; `source`: where the numbers come from.
    """

    gpu_id: str
    optimized: bool
    method: str
    source: str
    rows: tuple[InstructionEnergy, ...]
    variant: Variant = Variant.LATENCY

    def price(self, opcode: str, *, stand_ins: bool = False) -> Price:
        """What one execution costs: by the row that names the opcode, else, if wanted, by a stand-in."""
        row = self._row(opcode)
        if row is not None and row.energy_j is not None:
            return Price(row.energy_j, Basis.NAMED, row.name, row.note, row.above_idle_j)
        if stand_ins:
            found = self._stand_in(opcode)
            if found is not None:
                return found
        if row is not None:
            return Price(None, Basis.NONE, row.name, row.note or "the table has no number for this GPU")
        return Price(None, Basis.NONE, "", f"the table has {reason_without(opcode)}")

    def _row(self, opcode: str) -> InstructionEnergy | None:
        """Of the rows that hold for the opcode, that with a number, then that of its very name."""
        rows = [row for row in self.rows if re.fullmatch(row.opcodes, opcode)]
        return min(
            rows,
            key=lambda row: (row.energy_j is None, opcode not in row.instruction.split("+")),
            default=None,
        )

    def _stand_in(self, opcode: str) -> Price | None:
        for guess in STAND_INS:
            if not re.fullmatch(guess.opcodes, opcode):
                continue
            for other in guess.instead:
                row = self._row(other)
                if row is not None and row.energy_j is not None:
                    times = f"{guess.times} x " if guess.times > 1 else ""
                    above_idle_j = None if row.above_idle_j is None else guess.times * row.above_idle_j
                    energy_j, name = guess.times * row.energy_j, f"{times}{row.name}"
                    return Price(energy_j, Basis.STAND_IN, name, guess.why, above_idle_j)
        return None


class PricedInstruction(Struct, frozen=True):
    """All executions of one opcode by one thread (a mean over threads, so a fraction is possible)."""

    opcode: str
    executions: float
    price: Price

    @property
    def energy_j(self) -> float | None:
        """Joules of all executions; None without a price."""
        return None if self.price.energy_j is None else self.executions * self.price.energy_j


class ThreadEnergy(Struct, frozen=True):
    """What one thread executes and what of it has an energy; the dearest first, then those without one."""

    instructions: tuple[PricedInstruction, ...]

    @property
    def executions(self) -> float:
        """Instructions that a thread executes."""
        return math.fsum(entry.executions for entry in self.instructions)

    def coverage(self, *bases: Basis) -> float | None:
        """The share of the executed instructions whose energy rests on one of `bases`; None of nothing."""
        if not self.executions:
            return None
        covered = (entry.executions for entry in self.instructions if entry.price.basis in bases)
        return math.fsum(covered) / self.executions

    @property
    def energy_j(self) -> float | None:
        """Joules of the instructions that have an energy, by one thread alone; None when none has one.

        Without those of all others: a lower bound of what the table would give, were it complete.
        """
        known = [entry.energy_j for entry in self.instructions if entry.energy_j is not None]
        return math.fsum(known) if known else None

    @property
    def above_idle_j(self) -> float | None:
        """Of `energy_j`, what the board takes more than when idle; None unless all of it is known."""
        priced = [entry for entry in self.instructions if entry.price.energy_j is not None]
        known = [
            entry.executions * entry.price.above_idle_j
            for entry in priced
            if entry.price.above_idle_j is not None
        ]
        return math.fsum(known) if known and len(known) == len(priced) else None

    def share(self, entry: PricedInstruction) -> float | None:
        """Of `energy_j`, what the executions of one opcode make; None without an energy."""
        whole = self.energy_j
        return None if entry.energy_j is None or not whole else entry.energy_j / whole


class ExecutedInstruction(Struct, frozen=True):
    """One instruction of the program text and how often a thread executes it (mean over threads)."""

    opcode: str
    executions: float


class LaunchEnergy(Struct, frozen=True):
    """Joules of the priced instructions of a launch.

    `most_j`: each takes the time of its own pipe and nothing overlaps, idle power included. `above_idle_j`:
    without the idle power, which the launch takes for as long as it runs; None where nobody measured it.
    """

    most_j: float
    above_idle_j: float | None


def launch_energy(thread: ThreadEnergy, threads: int, energies: InstructionEnergies) -> LaunchEnergy | None:
    """Threads times the energy of one; None where that is none: energies of a thread alone, or no energy."""
    if energies.variant is not Variant.THROUGHPUT or thread.energy_j is None:
        return None
    above_idle_j = thread.above_idle_j
    return LaunchEnergy(threads * thread.energy_j, None if above_idle_j is None else threads * above_idle_j)


def thread_energy(
    executed: Iterable[ExecutedInstruction], energies: InstructionEnergies, *, stand_ins: bool = False
) -> ThreadEnergy:
    """Executions times energy, added up by opcode; opcodes that are never executed are left out."""
    executions: dict[str, float] = {}
    for entry in executed:
        if entry.executions > 0:
            executions[entry.opcode] = executions.get(entry.opcode, 0.0) + entry.executions
    priced = (
        PricedInstruction(opcode, times, energies.price(opcode, stand_ins=stand_ins))
        for opcode, times in executions.items()
    )

    def order(entry: PricedInstruction) -> tuple[float, float, str]:
        return (-1.0 if entry.energy_j is None else entry.energy_j), entry.executions, entry.opcode

    return ThreadEnergy(tuple(sorted(priced, key=order, reverse=True)))
