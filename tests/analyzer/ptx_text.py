"""Statements of parsed PTX written as PTX again, blanks left out, for tests."""

from __future__ import annotations

from collections.abc import Iterator

from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Arguments,
    BranchTargets,
    Guard,
    Immediate,
    Instruction,
    Label,
    Operand,
    Pair,
    Pragma,
    Register,
    RegisterDeclaration,
    Sink,
    Statement,
    Symbol,
    Variable,
    Vector,
)


def statement_texts(body: tuple[Statement, ...]) -> Iterator[str]:
    """One text for each statement.

    Of a declaration only what declares it (`.reg`, `.shared`), once for each name.
    """
    for statement in body:
        match statement:
            case Instruction():
                yield instruction_text(statement)
            case Label(name):
                yield f"{name}:"
            case RegisterDeclaration():
                yield ".reg"
            case Variable(space):
                yield f".{space}"
            case BranchTargets(name, targets):
                yield f"{name}:.branchtargets{','.join(targets)}"
            case Pragma():
                yield ".pragma"


def instruction_text(instruction: Instruction) -> str:
    """`@!%p1 add.s32 %r1,%r2,-4` without any blank."""
    return (
        guard_text(instruction.guard)
        + instruction.mnemonic
        + ",".join(map(operand_text, instruction.operands))
    )


def guard_text(guard: Guard | None) -> str:
    """`@!%p1`, or nothing."""
    return "" if guard is None else f"@{'!' * guard.negated}{guard.register}"


def operand_text(operand: Operand) -> str:
    """An operand without blanks; an offset of 0 is left out."""
    match operand:
        case Register(name, component, negated):
            return "!" * negated + name + (f".{component}" if component else "")
        case Sink():
            return "_"
        case Immediate(value):
            return str(value)
        case Symbol(name, offset):
            return name + _offset(offset)
        case Address(base, offset, arguments, subscript):
            element = "" if subscript is None else f"[{operand_text(subscript)}]"
            if subscript is not None and isinstance(base, Symbol) and not arguments:
                return f"{base.name}{element}"
            inside = operand_text(base) + element + _offset(offset)
            return f"[{','.join((inside, *map(operand_text, arguments)))}]"
        case Vector(elements):
            return f"{{{','.join(map(operand_text, elements))}}}"
        case Arguments(elements):
            return f"({','.join(map(operand_text, elements))})"
        case Pair(first, second):
            return f"{operand_text(first)}|{operand_text(second)}"


def _offset(offset: int) -> str:
    return f"+{offset}" if offset else ""
