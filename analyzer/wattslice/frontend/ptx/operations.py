"""What PTX mnemonics are: types, the class of each (docs/counting.md), and the kind of memory access.

Shared by inline PTX and by PTX files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from msgspec import Struct

from wattslice.frontend.ptx.syntax.syntax import TYPE_BITS
from wattslice.ir import BOOL, AtomicOp, MemorySpace, OperationClass, OperationCount, Type, TypeKind
from wattslice.ir.matrices import product_of_ptx
from wattslice.patterns import regex

_TYPE = regex(r"([busf])(\d+)")
_TWO = frozenset({"fma", "mad", "mad24"})
MIXED = frozenset({"add", "sub", "fma"})
"""Operations that work in the first type they name where they name two: `fma.rn.f32.f16` in f32."""

_SPECIAL = frozenset({"sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh"})
_FREE_WORDS = """
    mov cvt cvta ret bra exit membar fence prefetch prefetchu isspacep call griddepcontrol pragma
    discard createpolicy applypriority setmaxnreg getctarank mapa elect trap brkpt nanosleep pmevent
    wgmma_fence
"""
_FREE = frozenset(_FREE_WORDS.split())
_OPCODE_WORDS = """
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx
    call clmad clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect
    ex2 exit fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc
    mapa match max mbarrier membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc
    prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct
    sqrt st stackrestore stacksave stmatrix sub subc suld suq sured sust szext tanh tcgen05 tensormap testp
    tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin
    vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor
"""
_MATRICES = frozenset({"mma", "wmma", "wgmma", "tcgen05"})
OPCODES = frozenset(_OPCODE_WORDS.split())
"""The instructions of PTX (PTX ISA 9.0, chapter 9.7), `pragma` and directives left out."""

_SPACES = {
    "global": (OperationClass.GLOBAL_LOAD, OperationClass.GLOBAL_STORE),
    "shared": (OperationClass.SHARED_LOAD, OperationClass.SHARED_STORE),
    "const": (OperationClass.CONSTANT_LOAD, OperationClass.GLOBAL_STORE),
    "param": (None, None),
    "local": (None, None),
}
_PAIRS = frozenset({"f16x2", "bf16x2", "f32x2", "s16x2", "u16x2"})
ATOMICS = {op.value: op for op in AtomicOp} | {"exch": AtomicOp.EXCHANGE}


PAST_L1 = frozenset({"cg", "cv", "volatile"})
"""Loads that the L1 cache keeps nothing of."""


class AccessKind(Struct, frozen=True):
    """What `ld`, `st`, `atom` or `red` says of its access; `space` None: the address is generic."""

    is_store: bool
    atomic: AtomicOp | None
    space: MemorySpace | None
    type: Type
    skips_l1: bool


def parts_of(mnemonic: str) -> list[str]:
    """The mnemonic between its dots: name and modifiers, `shared::cta` in two."""
    return mnemonic.replace("::", ".").split(".")


ACCESSES = ("ld", "ldu", "st", "atom", "red")
"""The names of instructions that load, store or change what is at an address."""


@lru_cache(maxsize=1024)
def access_kind_of(mnemonic: str) -> AccessKind | None:
    """The access to global, shared or constant memory that a mnemonic makes, if it makes a plain one."""
    name, *rest = parts_of(mnemonic)
    if name not in ACCESSES or "param" in rest or "local" in rest:
        return None
    scalar = next((found for part in reversed(rest) if (found := _TYPE.fullmatch(part))), None)
    if scalar is None or int(scalar[2]) > 64:
        return None
    lanes = lanes_of(rest)
    kind = TypeKind.FLOAT if scalar[1] == "f" else TypeKind.INT
    type_ = Type(kind, bits=int(scalar[2]), signed=scalar[1] in "sf", lanes=lanes)
    space = next((SPACES[part] for part in rest if part in SPACES), None)
    if name not in ("atom", "red"):
        return AccessKind(name == "st", None, space, type_, not PAST_L1.isdisjoint(rest))
    atomic = next((ATOMICS[part] for part in rest if part in ATOMICS), None)
    return None if atomic is None or lanes > 1 else AccessKind(False, atomic, space, type_, True)


@lru_cache(maxsize=1024)
def _operation_of(mnemonic: str) -> tuple[OperationClass, float] | None:
    """The class of a mnemonic in lower case and how many source operations it is, None: not counted."""
    name, *rest = parts_of(mnemonic)
    if name in _FREE or (not rest and name not in ("bar", "barrier")):
        return None
    if name == "wmma" and rest[0] in ("load", "store"):
        return _access(rest, int(rest[0] == "store"))
    if name in _MATRICES:
        return None
    if name in ("bar", "barrier", "mbarrier"):
        return (OperationClass.BARRIER, 1) if name != "mbarrier" or "wait" in mnemonic else None
    if name in ("ld", "ldu", "ldmatrix"):
        return _access(["shared", *rest] if name == "ldmatrix" else rest, 0)
    if name in ("st", "stmatrix"):
        return _access(["shared", *rest] if name == "stmatrix" else rest, 1)
    if name == "cp":
        return _copied(rest)
    if name in ("atom", "red"):
        return (OperationClass.ATOMIC, 1)
    if name in ("tex", "tld4", "suld"):
        return (OperationClass.TEXTURE_LOAD, 1)
    if name == "sust":
        return (OperationClass.GLOBAL_STORE, 1)
    if name in _SPECIAL:
        return (OperationClass.SPECIAL, 1)
    lanes = 2 if any(part in _PAIRS for part in rest) else 1
    number = lanes * (2 if name in _TWO else 1)
    in_order = rest if name in MIXED else reversed(rest)
    last = next((p for p in in_order if re.fullmatch(r"[a-z]+\d+(x\d)?|pred", p)), "")
    if name in ("setp", "set", "selp", "slct"):
        last = "s32"
    if last.startswith(("f16", "bf16")):
        return (OperationClass.FP16, number)
    if last == "f64":
        return (OperationClass.FP64, number)
    if last in ("f32", "tf32", "f32x2"):
        return (OperationClass.FP32, number)
    return (OperationClass.INT, number)


_PRODUCTS = {
    OperationClass.FP32: ("fmul", "ffma"),
    OperationClass.FP64: ("dmul", "dfma"),
    OperationClass.FP16: ("hfma2", "hfma2"),
    OperationClass.INT: ("imad", "imad"),
}
_WORDS_OF_64 = {"wide": 1.0, "hi": 4.0, "lo": 3.0}
"""IMADs of a product of integers: of 64 bits by parts."""


@lru_cache(maxsize=1024)
def operations_of(mnemonic: str) -> OperationCount | None:
    """What `_operation_of` says of a mnemonic in lower case, with the instruction that does it."""
    name, *rest = parts_of(mnemonic)
    if name in _MATRICES and (product := product_of_ptx(name, rest)) is not None:
        return product
    found = _operation_of(mnemonic)
    if found is None:
        return None
    of_class, number = found
    is_product = name in ("mul", "mul24", *_TWO) and of_class in _PRODUCTS
    if of_class is OperationClass.FP16:  # a pair in one instruction
        return OperationCount(of_class, number, "hfma2", number)
    if not is_product:
        return OperationCount(of_class, number)
    each = 2.0 if name in _TWO else 1.0
    if of_class is OperationClass.INT and not {"s64", "u64"}.isdisjoint(rest):
        each /= next((_WORDS_OF_64[part] for part in rest if part in _WORDS_OF_64), 1.0)
    return OperationCount(of_class, number, _PRODUCTS[of_class][name in _TWO], each)


UNCOUNTED_PRODUCT = "the size of this product of matrices stands in a descriptor: it is not counted"


def is_uncounted_product(mnemonic: str) -> bool:
    """Whether a mnemonic in lower case is a product of matrices that does not name their size."""
    name, *rest = parts_of(mnemonic)
    return name in _MATRICES and "mma" in (name, *rest) and product_of_ptx(name, rest) is None


def _copied(rest: list[str]) -> tuple[OperationClass, float] | None:
    """`cp.async` and its kin by their access to global memory; the target is named before the source."""
    if "global" not in rest or "prefetch" in rest:
        return None
    is_store = "shared" in rest[rest.index("global") :]
    return (OperationClass.GLOBAL_STORE if is_store else OperationClass.GLOBAL_LOAD, 1)


def _access(rest: list[str], direction: int) -> tuple[OperationClass, float] | None:
    for part in rest:
        if part in _SPACES:
            cls = _SPACES[part][direction]
            return None if cls is None else (cls, 1)
    return (_SPACES["global"][direction] or OperationClass.GLOBAL_LOAD, 1)


# ---------------------------------------------------------------------------
# PTX types as types of the tree.


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


def lanes_of(modifiers: Iterable[str]) -> int:
    """How many elements a vector access moves."""
    return next((VECTOR_LANES[word] for word in modifiers if word in VECTOR_LANES), 1)


def space_of(modifiers: tuple[str, ...]) -> str | None:
    """The state space that a mnemonic names, `param` too; None: generic."""
    for word in modifiers:
        space = word.partition("::")[0]
        if space in SPACES or space == "param":
            return space
    return None
