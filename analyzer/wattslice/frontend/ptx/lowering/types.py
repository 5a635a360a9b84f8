"""PTX types as types of the tree."""

from __future__ import annotations

from wattslice.frontend.ptx.operations import MIXED
from wattslice.frontend.ptx.syntax.syntax import TYPE_BITS
from wattslice.ir import BOOL, MemorySpace, Type, TypeKind

VECTOR_LANES = {"v2": 2, "v4": 4, "v8": 8}
LANE_NAMES = ("x", "y", "z", "w", "s", "t", "u", "v")

BYTE = Type(TypeKind.INT, bits=8, signed=False)
POINTER = Type(TypeKind.POINTER, bits=64, element=BYTE)
"""What PTX knows of a pointer: it counts bytes."""

SPACES = {
    "global": MemorySpace.GLOBAL,
    "const": MemorySpace.CONSTANT,
    "shared": MemorySpace.SHARED,
    "local": MemorySpace.LOCAL,
}
"""State spaces of accesses; `shared::cta` is `shared`."""


def type_of(name: str, lanes: int = 1) -> Type:
    """The type that `u32` or `f16x2` names; the bits of `b32` count as signed."""
    if name == "pred":
        return BOOL
    bits = TYPE_BITS[name]
    if name.endswith("x2"):
        kind = TypeKind.INT if name[0] in "su" else TypeKind.FLOAT
        signed = name[0] != "u"
        return Type(kind, bits=bits // 2, signed=signed, lanes=2, bfloat=name.startswith("b"))
    if (name[0] in "ft" and name[1].isdigit()) or name in ("bf16", "tf32"):
        return Type(TypeKind.FLOAT, bits=bits, lanes=lanes, bfloat=name == "bf16")
    return Type(TypeKind.INT, bits=bits, signed=name[0] != "u", lanes=lanes)


def scalar_types(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    """The type words of a mnemonic, in order: of `cvt.rn.f32.s32` f32 and s32."""
    return tuple(word for word in modifiers if word in TYPE_BITS)


def working_name(opcode: str, modifiers: tuple[str, ...]) -> str:
    """The type that an instruction works in: the last of its mnemonic, the first of `fma.rn.f32.f16`."""
    names = scalar_types(modifiers)
    return names[0] if opcode in MIXED else names[-1]


def lanes_of(modifiers: tuple[str, ...]) -> int:
    """How many elements a vector access moves."""
    return next((VECTOR_LANES[word] for word in modifiers if word in VECTOR_LANES), 1)


def space_of(modifiers: tuple[str, ...]) -> str | None:
    """The state space that a mnemonic names, `param` too; None: generic."""
    for word in modifiers:
        space = word.partition("::")[0]
        if space in SPACES or space == "param":
            return space
    return None
