"""Basic blocks of a PTX function: which registers instructions read and write, and which hold addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field

from wattslice.frontend.ptx.lowering.structure import Ending, Fork, Goto, Leave, Ways
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Arguments,
    BranchTargets,
    Guard,
    Instruction,
    Label,
    Operand,
    Pair,
    Pragma,
    Register,
    Statement,
    Symbol,
    Vector,
)
from wattslice.ir import Variable

_NO_RESULT_WORDS = """
    st red bra brx bar barrier call ret exit trap brkpt pmevent nanosleep membar fence prefetch
    prefetchu cp sust stmatrix wgmma discard applypriority griddepcontrol setmaxnreg tensormap
    clusterlaunchcontrol mbarrier_init mbarrier_inval
"""
NO_RESULT = frozenset(_NO_RESULT_WORDS.split())
"""Opcodes whose first operand is no result."""


class NotUnderstoodError(Exception):
    """A function that cannot be turned into statements. `line` of the PTX file says why."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class BasicBlock(Struct, eq=False):
    """Instructions that run one after another; the last may be the branch that `ending` tells.

    `guard` decides the fork of the ending; `selector` its ways. `line`: of the first instruction, 0 without.
    `label`: by which branches name it, empty where none does.
    `is_unrolled`: a pragma forbids to unroll the loop that begins here (any more).
    """

    instructions: list[Instruction] = field(default_factory=list[Instruction])
    ending: Ending = field(default_factory=Leave)
    guard: Guard | None = None
    selector: Operand | None = None
    line: int = 0
    label: str = ""
    is_unrolled: bool = False

    @property
    def is_bare(self) -> bool:
        """Whether the block does nothing but leave the function."""
        return isinstance(self.ending, Leave) and len(self.instructions) <= 1 and self.guard is None


ENDS = frozenset({"bra", "brx", "ret", "exit"})
"""Branches that end a block."""


def basic_blocks(statements: tuple[Statement, ...]) -> list[BasicBlock]:
    """The blocks of a body without scopes, the entry first. Raises `NotUnderstoodError`."""
    blocks = [BasicBlock()]
    at_label: dict[str, int] = {}
    tables = {s.name: s.targets for s in statements if isinstance(s, BranchTargets)}
    for statement in statements:
        if isinstance(statement, Label):
            if blocks[-1].instructions or len(blocks) == 1:
                blocks.append(BasicBlock())
            at_label[statement.name] = len(blocks) - 1
            blocks[-1].label = statement.name
        elif isinstance(statement, Pragma):
            blocks[-1].is_unrolled |= "nounroll" in statement.text
        elif isinstance(statement, Instruction):
            blocks[-1].instructions.append(statement)
            blocks[-1].line = blocks[-1].line or statement.line
            if statement.opcode in ENDS:
                blocks.append(BasicBlock())
    leave = len(blocks)
    for at, block in enumerate(blocks):
        last = block.instructions[-1] if block.instructions else None
        following = at + 1 if at + 1 < leave else None
        if last is None or last.opcode not in ENDS:
            block.ending = Leave() if following is None else Goto(following)
            continue
        on = leave if following is None else following
        block.guard = last.guard
        if last.opcode in ("ret", "exit"):
            block.ending = Leave() if last.guard is None else Fork(leave, on)
        elif last.opcode == "bra":
            target = _target(last, at_label)
            block.ending = Goto(target) if last.guard is None else Fork(target, on)
        else:
            if len(last.operands) < 2:
                raise NotUnderstoodError(f"'{last.mnemonic}' without its table of labels", last.line)
            names = tables.get(last.operands[1].name, ()) if isinstance(last.operands[1], Symbol) else ()
            block.selector = last.operands[0]
            block.ending = Ways(tuple(_place(name, at_label, last.line) for name in names))
            block.guard = None
    blocks.append(BasicBlock())  # where a guarded return leads to
    return blocks


def _target(branch: Instruction, at_label: dict[str, int]) -> int:
    target = branch.operands[0] if branch.operands else None
    if not isinstance(target, Symbol | Register):
        raise NotUnderstoodError(f"'{branch.mnemonic}' without a label", branch.line)
    return _place(target.name, at_label, branch.line)


def _place(name: str, at_label: dict[str, int], line: int) -> int:
    if name not in at_label:
        raise NotUnderstoodError(f"no label '{name}'", line)
    return at_label[name]


def has_result(instruction: Instruction) -> bool:
    """Whether the first operand is what the instruction writes."""
    if instruction.opcode in ("bar", "barrier"):
        return "red" in instruction.modifiers
    if instruction.opcode == "wmma":
        return "store" not in instruction.modifiers
    if instruction.opcode == "mbarrier":
        return bool({"arrive", "test_wait", "try_wait", "pending_count"} & set(instruction.modifiers))
    if instruction.opcode == "wgmma":
        return "mma_async" in instruction.modifiers
    if instruction.opcode == "tcgen05":
        return "ld" in instruction.modifiers
    return instruction.opcode not in NO_RESULT


ParameterKey = tuple[str, int]
"""A place in parameter space: the parameter's name and the offset in it, in bytes."""


def parameter_place(instruction: Instruction) -> ParameterKey | None:
    """The place in parameter space that a load or store names, None when a register is in its address."""
    for operand in instruction.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol):
            return operand.base.name, operand.offset + operand.base.offset
    return None


def registers_in(operand: Operand) -> Iterator[str]:
    """The names of the registers in an operand; special ones (`%tid`) among them."""
    match operand:
        case Register(name=name):
            yield name
        case Address(base=base, arguments=arguments, subscript=subscript):
            yield from registers_in(base)
            for part in (*arguments, *(() if subscript is None else (subscript,))):
                yield from registers_in(part)
        case Vector(elements=elements) | Arguments(elements=elements):
            for element in elements:
                yield from registers_in(element)
        case Pair(first=first, second=second):
            yield from registers_in(first)
            yield from registers_in(second)
        case _:
            pass


def results_of(instruction: Instruction) -> tuple[str, ...]:
    """The registers that an instruction writes."""
    if instruction.opcode == "call":
        first = instruction.operands[0] if instruction.operands else None
        is_results = isinstance(first, Arguments) and len(instruction.operands) > 1
        return tuple(registers_in(first)) if is_results and first is not None else ()
    if not instruction.operands or not has_result(instruction):
        return ()
    first = instruction.operands[0]
    return () if isinstance(first, Address) else tuple(registers_in(first))


def sources_of(instruction: Instruction) -> tuple[str, ...]:
    """The registers that an instruction reads, its guard among them, as often as it reads them."""
    skip = 1 if results_of(instruction) else 0
    found = [name for operand in instruction.operands[skip:] for name in registers_in(operand)]
    if instruction.opcode == "wgmma" and skip:
        found += registers_in(instruction.operands[0])
    if instruction.guard is not None:
        found.append(instruction.guard.register)
    return tuple(found)


# ---------------------------------------------------------------------------
# Which registers hold addresses, and of which object: told from what the instructions do with them.


_COPIES = frozenset({"mov", "cvta", "cvt"})
_SUMS = frozenset({"add", "sub", "mad", "or"})
_ACCESS_WORDS = """
    ld ldu st atom red prefetch prefetchu cp ldmatrix stmatrix wmma discard applypriority isspacep
"""
_ACCESSES = frozenset(_ACCESS_WORDS.split())


class Loaded(Struct, frozen=True):
    """An address that comes out of memory: of which object is unknown."""


Origin = Variable | Loaded
LOADED = Loaded()


class Pointers(Struct):
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
                if not {"u64", "s64", "b64"} & set(instruction.modifiers):
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
