"""The text of inline PTX: its instructions, the class of each (docs/counting.md), and its memory accesses."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wattslice.ir import AtomicOp, MemorySpace, OperationClass, OperationCount, Type, TypeKind

_MNEMONIC = re.compile(r"(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:[.:]+[a-z0-9_]+)*)\s*(.*)", re.I | re.S)
_LABEL = re.compile(r"^[\w$%]+:(?!:)\s*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_ADDRESS = re.compile(
    r"^\[\s*(?P<base>%?(?:\w+|\[\s*\w+\s*\]))\s*(?:\+\s*(?P<offset>-?\s*(?:0x[0-9a-f]+|\d+))\s*)?\]$", re.I
)
_TYPE = re.compile(r"^([busf])(\d+)$")
_TWO = frozenset({"fma", "mad", "mad24"})
_SPECIAL = frozenset({"sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh"})
_FREE = frozenset(
    [
        "mov",
        "cvt",
        "cvta",
        "ret",
        "bra",
        "exit",
        "membar",
        "fence",
        "prefetch",
        "prefetchu",
        "isspacep",
        "call",
        "griddepcontrol",
        "pragma",
        "discard",
        "createpolicy",
        "applypriority",
        "setmaxnreg",
        "getctarank",
        "mapa",
        "elect",
        "trap",
        "brkpt",
        "nanosleep",
        "pmevent",
        "wgmma_fence",
    ]
)
_SPACES = {
    "global": (OperationClass.GLOBAL_LOAD, OperationClass.GLOBAL_STORE),
    "shared": (OperationClass.SHARED_LOAD, OperationClass.SHARED_STORE),
    "const": (OperationClass.CONSTANT_LOAD, OperationClass.GLOBAL_STORE),
    "param": (None, None),
    "local": (None, None),
}


_MEMORY = {
    "global": MemorySpace.GLOBAL,
    "shared": MemorySpace.SHARED,
    "const": MemorySpace.CONSTANT,
}
_LANES = {"v2": 2, "v4": 4}
_ATOMICS = {op.value: op for op in AtomicOp} | {"exch": AtomicOp.EXCHANGE}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX instruction: its mnemonic in lower case and its operands as written."""

    mnemonic: str
    operands: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The mnemonic between its dots: name and modifiers."""
        return tuple(self.mnemonic.replace("::", ".").split("."))


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
        found = _operation(instruction.mnemonic)
        if found is not None:
            counts[found[0]] = counts.get(found[0], 0) + found[1]
    return tuple(OperationCount(cls, number) for cls, number in counts.items())


def access_of(instruction: Instruction) -> PtxAccess | None:
    """The memory access that an instruction is, when its address and width are plain to see."""
    name, *rest = instruction.parts
    operands = list(instruction.operands)
    if name == "cp" and rest[:1] == ["async"] and "global" in rest and len(operands) >= 3:
        return _copy(operands)
    if name not in ("ld", "ldu", "st", "atom", "red") or "param" in rest or "local" in rest:
        return None
    if name in ("st", "red"):
        operands.insert(0, "")
    if len(operands) < 2:
        return None
    address = _ADDRESS.match(operands[1])
    scalar = next((_TYPE.match(part) for part in reversed(rest) if _TYPE.match(part)), None)
    if address is None or scalar is None or int(scalar[2]) > 64:
        return None
    lanes = next((_LANES[part] for part in rest if part in _LANES), 1)
    kind = TypeKind.FLOAT if scalar[1] == "f" else TypeKind.INT
    type_ = Type(kind, bits=int(scalar[2]), signed=scalar[1] in "sf", lanes=lanes)
    space = next((_MEMORY[part] for part in rest if part in _MEMORY), None)
    atomic = next((_ATOMICS[part] for part in rest if part in _ATOMICS), None)
    if name in ("atom", "red"):
        if atomic is None or lanes > 1:
            return None
        values = (operands[0], *operands[2:])
    else:
        atomic = None
        written = operands[2] if name == "st" and len(operands) > 2 else operands[0]
        values = tuple(part.strip() for part in written.strip("{}").split(","))
        if len(values) != lanes:
            return None
    return PtxAccess(name == "st", atomic, space, type_, address["base"], _offset(address), values)


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


def _operation(mnemonic: str) -> tuple[OperationClass, float] | None:
    parts = mnemonic.replace("::", ".").split(".")
    name, rest = parts[0], parts[1:]
    if name in _FREE or (not rest and name not in ("bar", "barrier")):
        return None
    if name in ("mma", "wmma", "wgmma"):
        if name == "wmma" and rest[0] == "load":
            return _access(rest, 0)
        if name == "wmma" and rest[0] == "store":
            return _access(rest, 1)
        tensor = name == "mma" or rest[0] in ("mma", "mma_async")
        return (OperationClass.TENSOR, 1) if tensor else None
    if name in ("bar", "barrier", "mbarrier"):
        return (OperationClass.BARRIER, 1) if name != "mbarrier" or "wait" in mnemonic else None
    if name in ("ld", "ldu", "ldmatrix"):
        return _access(["shared", *rest] if name == "ldmatrix" else rest, 0)
    if name in ("st", "stmatrix"):
        return _access(["shared", *rest] if name == "stmatrix" else rest, 1)
    if name == "cp":
        return (OperationClass.GLOBAL_LOAD, 1) if "global" in rest else None
    if name in ("atom", "red"):
        return (OperationClass.ATOMIC, 1)
    if name in ("tex", "tld4", "suld"):
        return (OperationClass.TEXTURE_LOAD, 1)
    if name == "sust":
        return (OperationClass.GLOBAL_STORE, 1)
    if name in _SPECIAL:
        return (OperationClass.SPECIAL, 1)
    lanes = 2 if any(part in ("f16x2", "bf16x2") for part in rest) else 1
    number = lanes * (2 if name in _TWO else 1)
    last = next((p for p in reversed(rest) if re.fullmatch(r"[a-z]+\d+(x\d)?|pred", p)), "")
    if name in ("setp", "set", "selp", "slct"):
        last = "s32"
    if last.startswith(("f16", "bf16")):
        return (OperationClass.FP16, number)
    if last == "f64":
        return (OperationClass.FP64, number)
    if last in ("f32", "tf32", "f32x2"):
        return (OperationClass.FP32, number)
    return (OperationClass.INT, number)


def _access(rest: list[str], direction: int) -> tuple[OperationClass, float] | None:
    for part in rest:
        if part in _SPACES:
            cls = _SPACES[part][direction]
            return None if cls is None else (cls, 1)
    return (_SPACES["global"][direction] or OperationClass.GLOBAL_LOAD, 1)
