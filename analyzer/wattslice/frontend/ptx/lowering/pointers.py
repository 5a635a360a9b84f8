"""Which registers hold addresses, and of which object: told from what the instructions do with them.

PTX keeps pointers and integers in the same registers. A register holds an address when an access uses it as
one; along copies and sums the address is traced back to a parameter, a variable or a load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from wattslice.frontend.ptx.lowering.blocks import results_of
from wattslice.frontend.ptx.syntax.syntax import Address, Instruction, Operand, Register, Symbol
from wattslice.ir import Variable

_COPIES = frozenset({"mov", "cvta", "cvt"})
_SUMS = frozenset({"add", "sub", "mad", "or"})
_ACCESS_WORDS = """
    ld ldu st atom red prefetch prefetchu cp ldmatrix stmatrix wmma discard applypriority isspacep
"""
_ACCESSES = frozenset(_ACCESS_WORDS.split())


@dataclass(frozen=True, slots=True)
class Loaded:
    """An address that comes out of memory: of which object is unknown."""


Origin = Variable | Loaded
LOADED = Loaded()


@dataclass(slots=True)
class Pointers:
    """The registers that hold addresses, and the objects that each may point into.

    `parameters`: variables of parameters that turned out to be pointers.
    """

    registers: set[str] = field(default_factory=set[str])
    origins: dict[str, set[Origin]] = field(default_factory=dict[str, set[Origin]])
    parameters: set[Variable] = field(default_factory=set[Variable])

    def root(self, register: str) -> Variable | None:
        """The object that a register points into, None where there are several or it is unknown."""
        found = self.origins.get(register, set())
        if len(found) != 1:
            return None
        (only,) = found
        return only if isinstance(only, Variable) else None


def find_pointers(
    instructions: Iterable[Instruction],
    parameter: Callable[[Instruction], Variable | None],
    symbol: Callable[[str], Variable | None],
    passed: frozenset[str] = frozenset(),
) -> Pointers:
    """Traces addresses. `parameter`: what an `ld.param` reads; `symbol`: the variable of a name.

    `passed`: places in parameter space that functions called take addresses from.
    """
    found = Pointers()
    feeds: list[tuple[str, tuple[str, ...], str]] = []  # result, registers it may be an address by, opcode
    demanded: list[str] = []
    converted: set[str] = set()
    parameter_of: dict[str, Variable] = {}
    for instruction in instructions:
        opcode, operands = instruction.opcode, instruction.operands
        for result in results_of(instruction):
            if opcode in ("ld", "ldu"):
                if not _may_be_address(instruction):
                    continue
                variable = parameter(instruction)
                if variable is not None:
                    parameter_of[result] = variable
                found.origins.setdefault(result, set()).add(variable or LOADED)
            elif opcode == "cvt" and not {"u32", "u64"} <= set(instruction.modifiers):
                continue
            elif opcode in _COPIES or opcode in _SUMS or opcode in ("selp", "and"):
                parts = operands[3:4] if opcode == "mad" else operands[1:3]
                feeds.append((result, tuple(_names(parts)), opcode))
                for operand in parts:
                    variable = symbol(operand.name) if isinstance(operand, Symbol) else None
                    if variable is not None:
                        found.origins.setdefault(result, set()).add(variable)
                        demanded.append(result)
                if opcode == "cvta":
                    converted.update(_names(operands[1:2]))
        if opcode == "st" and "param" in instruction.modifiers:
            target = operands[0] if operands else None
            if isinstance(target, Address) and isinstance(target.base, Symbol) and target.base.name in passed:
                demanded += _names(operands[1:])
        elif opcode in _ACCESSES:
            addresses = [operand.base for operand in operands if isinstance(operand, Address)]
            demanded += [base.name for base in addresses if isinstance(base, Register)]
    _spread(found.origins, feeds)
    _demand(found, feeds, demanded, converted)
    found.parameters = {v for register, v in parameter_of.items() if register in found.registers}
    return found


def _may_be_address(instruction: Instruction) -> bool:
    """Whether a load brings 64 bits that are no floating-point number."""
    return bool({"u64", "s64", "b64"} & set(instruction.modifiers))


def _names(operands: tuple[Operand, ...]) -> list[str]:
    return [operand.name for operand in operands if isinstance(operand, Register)]


def _spread(origins: dict[str, set[Origin]], feeds: list[tuple[str, tuple[str, ...], str]]) -> None:
    """Hands the objects on from operands to results, until nothing changes."""
    changed = True
    while changed:
        changed = False
        for result, sources, _ in feeds:
            for source in sources:
                new = origins.get(source, set()) - origins.get(result, set())
                if new:
                    origins.setdefault(result, set()).update(new)
                    changed = True


def _demand(
    found: Pointers, feeds: list[tuple[str, tuple[str, ...], str]], demanded: list[str], converted: set[str]
) -> None:
    """From the addresses of accesses back along copies and sums: of two operands the one that is one."""
    by_result: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for result, sources, opcode in feeds:
        by_result.setdefault(result, []).append((sources, opcode))
    sure = {register for register in converted if register in found.origins}
    stack = demanded
    while stack:
        register = stack.pop()
        if register in found.registers:
            continue
        found.registers.add(register)
        for sources, opcode in by_result.get(register, ()):
            known = [source for source in sources if source in found.origins]
            if opcode == "selp":
                stack += known
            elif len(known) > 1 and opcode in _SUMS:
                stack.append(_address_of_two(found, known, sure))
            else:
                stack += known[:1]
    # what only adds an index to an address does not point anywhere itself
    for register in list(found.origins):
        if register not in found.registers:
            del found.origins[register]
    kept = found.origins
    for register in found.registers & by_result.keys():
        parts = [s for sources, _ in by_result[register] for s in sources if s in found.registers]
        direct = {o for o in kept.get(register, set()) if any(o in kept.get(p, set()) for p in parts)}
        if parts and direct:
            kept[register] = direct


def _address_of_two(found: Pointers, known: list[str], sure: set[str]) -> str:
    """Of two summands that could be addresses: one that was converted as an address, else no mere load."""
    for register in known:
        if register in sure or register in found.registers:
            return register
    for register in known:
        if LOADED not in found.origins[register]:
            return register
    return known[0]
