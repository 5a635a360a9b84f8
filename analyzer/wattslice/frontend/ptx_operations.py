"""What PTX mnemonics are: the class of each (docs/counting.md), and the kind of memory access.

Shared by inline PTX and by PTX files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from wattslice.ir import AtomicOp, MemorySpace, OperationClass, Type, TypeKind

_TYPE = re.compile(r"([busf])(\d+)")
_TWO = frozenset({"fma", "mad", "mad24"})
_SPECIAL = frozenset({"sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh"})
_FREE_WORDS = """
    mov cvt cvta ret bra exit membar fence prefetch prefetchu isspacep call griddepcontrol pragma
    discard createpolicy applypriority setmaxnreg getctarank mapa elect trap brkpt nanosleep pmevent
    wgmma_fence
"""
_FREE = frozenset(_FREE_WORDS.split())
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
_LANES = {"v2": 2, "v4": 4, "v8": 8}
_ATOMICS = {op.value: op for op in AtomicOp} | {"exch": AtomicOp.EXCHANGE}


@dataclass(frozen=True, slots=True)
class AccessKind:
    """What `ld`, `st`, `atom` or `red` says of its access; `space` None: the address is generic."""

    is_store: bool
    atomic: AtomicOp | None
    space: MemorySpace | None
    type: Type


def parts_of(mnemonic: str) -> list[str]:
    """The mnemonic between its dots: name and modifiers, `shared::cta` in two."""
    return mnemonic.replace("::", ".").split(".")


def access_kind_of(mnemonic: str) -> AccessKind | None:
    """The access to global, shared or constant memory that a mnemonic makes, if it makes a plain one."""
    name, *rest = parts_of(mnemonic)
    if name not in ("ld", "ldu", "st", "atom", "red") or "param" in rest or "local" in rest:
        return None
    scalar = next((found for part in reversed(rest) if (found := _TYPE.fullmatch(part))), None)
    if scalar is None or int(scalar[2]) > 64:
        return None
    lanes = next((_LANES[part] for part in rest if part in _LANES), 1)
    kind = TypeKind.FLOAT if scalar[1] == "f" else TypeKind.INT
    type_ = Type(kind, bits=int(scalar[2]), signed=scalar[1] in "sf", lanes=lanes)
    space = next((_MEMORY[part] for part in rest if part in _MEMORY), None)
    if name not in ("atom", "red"):
        return AccessKind(name == "st", None, space, type_)
    atomic = next((_ATOMICS[part] for part in rest if part in _ATOMICS), None)
    return None if atomic is None or lanes > 1 else AccessKind(False, atomic, space, type_)


def operation_of(mnemonic: str) -> tuple[OperationClass, float] | None:
    """The class of a mnemonic in lower case and how many source operations it is, None: not counted."""
    name, *rest = parts_of(mnemonic)
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
