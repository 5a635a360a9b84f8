"""Basic blocks of a PTX function, and which registers its instructions read and write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wattslice.frontend.ptx.lowering.tree import Ending, Fork, Goto, Leave, Ways
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


@dataclass(slots=True, eq=False)
class BasicBlock:
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


_ENDS = frozenset({"bra", "brx", "ret", "exit"})


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
            if statement.opcode in _ENDS:
                blocks.append(BasicBlock())
    leave = len(blocks)
    for at, block in enumerate(blocks):
        last = block.instructions[-1] if block.instructions else None
        following = at + 1 if at + 1 < leave else None
        if last is None or last.opcode not in _ENDS:
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
