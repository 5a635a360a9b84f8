"""The text of inline PTX: its instructions and their memory accesses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wattslice.frontend.ptx.operations import access_kind_of, operation_of, parts_of
from wattslice.ir import AtomicOp, MemorySpace, OperationClass, OperationCount, Type, TypeKind

_MNEMONIC = re.compile(r"(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:[.:]+[a-z0-9_]+)*)\s*(.*)", re.I | re.S)
_LABEL = re.compile(r"^[\w$%]+:(?!:)\s*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_ADDRESS = re.compile(
    r"^\[\s*(?P<base>%?(?:\w+|\[\s*\w+\s*\]))\s*(?:\+\s*(?P<offset>-?\s*(?:0x[0-9a-f]+|\d+))\s*)?\]$", re.I
)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX instruction: its mnemonic in lower case and its operands as written."""

    mnemonic: str
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PtxAccess:
    """`ld`, `st`, `atom` or `red` with a plain address operand.

    `base` is the operand that holds the address, `offset_bytes` what is added to it; `space` None: the
    address is generic. `values` are the registers loaded into or stored from, one for each lane; of an
    atomic all operands after the address.
    """

    is_store: bool
    atomic: AtomicOp | None
    space: MemorySpace | None
    type: Type
    base: str
    offset_bytes: int
    values: tuple[str, ...]


def instructions_of(template: str) -> tuple[Instruction, ...]:
    """The instructions of an asm template, declarations, labels and scopes left out."""
    found: list[Instruction] = []
    for piece in _COMMENT.sub("", template).split(";"):
        text = _LABEL.sub("", piece.strip().lstrip("{} \t\r\n"))
        match = _MNEMONIC.match(text)
        if match is not None and not text.startswith("."):
            found.append(Instruction(match[1].lower(), _operands(match[2])))
    return tuple(found)


def _operands(text: str) -> tuple[str, ...]:
    parts: list[str] = [""]
    depth = 0
    for char in text:
        depth += (char in "{[(") - (char in "}])")
        if depth < 0:  # the end of a scope
            break
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return tuple(" ".join(part.split()) for part in parts)


def operations_of_instructions(instructions: tuple[Instruction, ...]) -> tuple[OperationCount, ...]:
    """The source operations of instructions, one entry for each class."""
    counts: dict[OperationClass, float] = {}
    for instruction in instructions:
        found = operation_of(instruction.mnemonic)
        if found is not None:
            counts[found[0]] = counts.get(found[0], 0) + found[1]
    return tuple(OperationCount(cls, number) for cls, number in counts.items())


def access_of(instruction: Instruction) -> PtxAccess | None:
    """The memory access that an instruction is, when its address and width are plain to see."""
    name, *rest = parts_of(instruction.mnemonic)
    operands = list(instruction.operands)
    if name == "cp" and rest[:1] == ["async"] and "global" in rest and len(operands) >= 3:
        return _copy(operands)
    kind = access_kind_of(instruction.mnemonic)
    if kind is None:
        return None
    if name in ("st", "red"):
        operands.insert(0, "")
    if len(operands) < 2:
        return None
    address = _ADDRESS.match(operands[1])
    if address is None:
        return None
    if kind.atomic is not None:
        values = (operands[0], *operands[2:])
    else:
        written = operands[2] if name == "st" and len(operands) > 2 else operands[0]
        values = tuple(part.strip() for part in written.strip("{}").split(","))
        if len(values) != kind.type.lanes:
            return None
    return PtxAccess(
        kind.is_store, kind.atomic, kind.space, kind.type, address["base"], _offset(address), values
    )


def _copy(operands: list[str]) -> PtxAccess | None:
    """`cp.async`: the load from global memory (its store into shared memory is not counted)."""
    address = _ADDRESS.match(operands[1])
    if address is None or operands[2] not in ("4", "8", "16"):
        return None
    lanes = int(operands[2]) // 4
    type_ = Type(TypeKind.INT, bits=32, signed=False, lanes=lanes)
    return PtxAccess(
        False, None, MemorySpace.GLOBAL, type_, address["base"], _offset(address), ("_",) * lanes
    )


def _offset(address: re.Match[str]) -> int:
    return int(address["offset"].replace(" ", ""), 0) if address["offset"] else 0
