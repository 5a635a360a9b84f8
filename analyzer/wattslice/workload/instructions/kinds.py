"""Kinds of executed instructions (`instructions_per_thread` of the JSON contract), and what one operator or
library call becomes: the measured table `expansions.txt`."""

from __future__ import annotations

from enum import Enum, StrEnum
from functools import cache
from pathlib import Path

from msgspec import Struct

from wattslice.ir import TRANSPOSED, OperationClass, OperationCount, Type, TypeKind
from wattslice.ir.builtins import BUILTINS
from wattslice.patterns import regex
from wattslice_models.gpu import Gpu


class InstructionKind(StrEnum):
    """One kind of SASS instruction; the comment lists the opcodes it stands for."""

    FFMA = "ffma"  # FFMA
    FADD = "fadd"  # FADD
    FMUL = "fmul"  # FMUL
    FSETP = "fsetp"  # FSETP, FSEL, FMNMX, FCHK
    DFMA = "dfma"  # DFMA
    DADD = "dadd"  # DADD
    DMUL = "dmul"  # DMUL
    DSETP = "dsetp"  # DSETP
    HFMA2 = "hfma2"  # HFMA2, HADD2, HMUL2, HSETP2 that compute
    IMAD = "imad"  # IMAD, IMAD.WIDE
    IADD = "iadd"  # IADD3, LEA, IABS, IMNMX
    LOP = "lop"  # LOP3, PLOP3
    SHF = "shf"  # SHF
    ISETP = "isetp"  # ISETP, SEL
    MUFU = "mufu"  # MUFU
    CONVERSION = "conversion"  # I2F, F2I, F2F, I2I, FRND
    PACK = "pack"  # F2FP
    INT_TO_FLOAT = "int_to_float"  # I2FP
    WIDE_CONVERSION = "wide_conversion"  # those from or to 64 bits: F2F.F64.F32, I2F.F64, F2I.S64
    BRANCH = "branch"  # BRA, EXIT, BSSY, BSYNC, CALL, RET
    LDG = "ldg"  # LDG
    STG = "stg"  # STG
    LDS = "lds"  # LDS, LDSM
    STS = "sts"  # STS
    LDL = "ldl"  # LDL
    STL = "stl"  # STL
    LDC = "ldc"  # LDC (an operand from the constant bank is no instruction)
    TEX = "tex"  # TEX, TLD, SULD, SUST
    ATOM = "atom"  # ATOMG, ATOMS, RED
    BAR = "bar"  # BAR
    SHFL = "shfl"  # SHFL, VOTE, MATCH, REDUX
    HMMA = "hmma"  # HMMA, IMMA, DMMA
    MOV = "mov"  # MOV, IMAD.MOV, S2R, CS2R, ULDC, PRMT and HFMA2 with zeros (loads of constants)
    OTHER = "other"  # POPC, FLO, BREV, R2P, MEMBAR, and whatever has no kind of its own


Cost = tuple[tuple[InstructionKind, float], ...]
"""Instructions of each kind."""


class InstructionCount(Struct, frozen=True):
    """Executed instructions of one kind per launched thread, e.g. `ffma`."""

    name: str
    number: float


class Isa(Enum):
    """How a GPU multiplies integers, computes 64-bit addresses and converts numbers of 32 bits."""

    IMAD = "imad"
    """One IMAD for a product, one IMAD.WIDE for base + index * size."""

    XMAD = "xmad"
    """Maxwell and Pascal multiply 16 bits at a time: three XMAD for a product of 32 bits, two for one with a
    16-bit constant. An index is scaled to 64 bits by two shifts; IADD.CC and IADD.X add it to each base."""

    F2FP = "f2fp"
    """IMAD, and two floats become two halves on the units for integers (compute capability 8.0)."""

    I2FP = "i2fp"
    """F2FP, and so do integers of 32 bits become floats (8.6 and later)."""

    LDC = "ldc"
    """I2FP, and what lies in constant memory is loaded into a register first (9.0 and later)."""

    @property
    def multiplies_per_product(self) -> float:
        """Instructions of a 32-bit multiply-add."""
        return 3.0 if self is Isa.XMAD else 1.0

    @property
    def multiplies_by_constant(self) -> float:
        """Instructions of a multiply-add with a constant that is no power of two."""
        return 2.0 if self is Isa.XMAD else 1.0

    @property
    def address_scales(self) -> tuple[int, ...]:
        """By what an access to shared memory scales its address register for free: ``[R.X4]``.

        On Hopper it is a sum with the place of the block in the cluster already.
        """
        return (1,) if self in (Isa.XMAD, Isa.LDC) else (1, 4, 8, 16)


def isa_of(gpu: Gpu) -> Isa:
    """The instruction set of a GPU."""
    if gpu.architecture.multiplies_16_bits:
        return Isa.XMAD
    by_capability = (((9, 0), Isa.LDC), ((8, 6), Isa.I2FP), ((8, 0), Isa.F2FP))
    return next((isa for least, isa in by_capability if gpu.compute_capability >= least), Isa.IMAD)


def converted(cost: Cost, isa: Isa) -> Cost:
    """`cost` with the conversions that a GPU has; that of floats to halves is given for each lane."""
    slow = InstructionKind.CONVERSION
    found: list[tuple[InstructionKind, float]] = []
    for kind, number in cost:
        if kind is InstructionKind.PACK:
            packs = isa in (Isa.F2FP, Isa.I2FP, Isa.LDC)
            found.append((kind, max(1.0, number / 2)) if packs else (slow, number))
        elif kind is InstructionKind.INT_TO_FLOAT and isa not in (Isa.I2FP, Isa.LDC):
            found.append((slow, number))
        else:
            found.append((kind, number))
    return tuple(found)


_TABLE = Path(__file__).with_name("expansions.txt")

_OF_CLASS: dict[OperationClass, InstructionKind] = {
    OperationClass.FP32: InstructionKind.FADD,
    OperationClass.FP64: InstructionKind.DADD,
    OperationClass.INT: InstructionKind.IADD,
    OperationClass.SPECIAL: InstructionKind.MUFU,
    OperationClass.FP16: InstructionKind.HFMA2,
    OperationClass.TENSOR: InstructionKind.HMMA,
    OperationClass.CONTROL: InstructionKind.BRANCH,
    OperationClass.GLOBAL_LOAD: InstructionKind.LDG,
    OperationClass.GLOBAL_STORE: InstructionKind.STG,
    OperationClass.SHARED_LOAD: InstructionKind.LDS,
    OperationClass.SHARED_STORE: InstructionKind.STS,
    OperationClass.CONSTANT_LOAD: InstructionKind.LDC,
    OperationClass.TEXTURE_LOAD: InstructionKind.TEX,
    OperationClass.ATOMIC: InstructionKind.ATOM,
    OperationClass.BARRIER: InstructionKind.BAR,
}


_EXP2: Cost = ((InstructionKind.FMUL, 1.0), (InstructionKind.FSETP, 1.0), (InstructionKind.MUFU, 1.0))
"""MUFU.EX2 with the scaling of small arguments, which is predicated off for others."""


_IN_STEPS = ("reduce", "inclusive_scan", "exclusive_scan")
"""Of a cooperative group: exchanges between lanes, and what is computed with what they bring."""


_TILE = regex(r"thread_block_tile<(\d+)")
WARP_SIZE = 32
_REGISTER_BYTES = 4


_ONE: dict[str, InstructionKind] = {"lop3": InstructionKind.LOP, "ptx prmt.b32": InstructionKind.MOV}
"""Calls that are one instruction and have an instruction's kind of their own."""


@cache
def _table() -> dict[str, str]:
    """One entry per line: name, then kinds and numbers; a comment starts with `#` (TOML took 3 ms)."""
    lines = (line.partition(" ") for line in _TABLE.read_text("utf-8").splitlines())
    return {name: cost for name, _, cost in lines if not name.startswith("#")}


@cache
def measured(key: str, *, fast: bool = False) -> Cost | None:
    """The measured cost under `key` (`expf`, `div.fp32`), None when nobody measured it; `fast`: that with
    `--use_fast_math`."""
    words = (_table().get(f"fast.{key}") if fast else None) or _table().get(key)
    if words is None:
        return None
    kinds, numbers = words.split()[::2], words.split()[1::2]
    return tuple((InstructionKind(kind), float(number)) for kind, number in zip(kinds, numbers, strict=True))


def barrier_cost(name: str, group: str) -> Cost:
    """A wait of the block, or of `group` where it is one of cooperative groups."""
    if group == "grid_group":
        return measured("grid.sync") or ()
    if _in_part_of_warp(group):
        return measured("tile.sync") or ()
    of_warp = name == "__syncwarp" or group.startswith(("thread_block_tile", "coalesced_group"))
    return () if of_warp else ((InstructionKind.BAR, 1.0),)  # lanes that run together wait for nobody


def times(cost: Cost, number: float) -> Cost:
    """`cost`, `number` times."""
    return tuple((kind, each * number) for kind, each in cost)


def _in_part_of_warp(group: str) -> bool:
    """Whether `group` is a tile whose lanes make a mask and agree on it: `thread_block_tile<16, void>`."""
    tile = _TILE.match(group)
    return tile is not None and int(tile[1]) < WARP_SIZE


def _plain(name: str) -> str:
    return name.removeprefix("__builtin_").removeprefix("__nv_").removeprefix("std::")


def _keys(plain: str, working: Type) -> tuple[str, ...]:
    """What a function of values of type `working` may be called in the table: `max` of floats is `fmaxf`."""
    if working.kind is TypeKind.FLOAT and working.bits in (32, 64) and plain in ("max", "min"):
        plain = f"f{plain}"
    if working.kind is TypeKind.FLOAT and working.bits == 32:
        return plain + "f", plain
    return (f"{plain}.int64", plain) if working.kind is TypeKind.INT and working.bits == 64 else (plain,)


def shares(name: str, working: Type, *, fast: bool = False) -> tuple[float, ...]:
    """The share of the library function `name` that branches hold in a loop that its arguments leave, then
    those that only its first argument decides, its second.
    """
    keys = _keys(_plain(name), working)
    if fast and any(f"fast.{key}" in _table() for key in keys):
        return (0.0,)
    words = next((words for key in keys if (words := _table().get(f"{key}.shares"))), "0")
    return tuple(float(word) for word in words.split())


def call_cost(
    name: str,
    working: Type,
    operations: tuple[OperationCount, ...],
    base: float | None = None,
    group: str = "",
    *,
    fast: bool = False,
) -> Cost:
    """One call of the library function `name` on values of type `working`; `base`: a constant first argument;
    `group`: the cooperative group that calls it; `fast`: compiled with `--use_fast_math`.

    What the table does not have costs one instruction of the nearest kind for each source operation, for each
    two on a pair of halves.
    """
    plain = _plain(name)
    if fast and plain in ("__powf", "powf", "pow") and base is not None and working.bits == 32:
        return ((InstructionKind.FMUL, 1.0), (InstructionKind.MUFU, 1.0))
    if plain == "__powf" and base is not None:  # 2 to the x is one exp2, and b to the x one of x * log2(b)
        return (*((InstructionKind.FMUL, 1.0),) * (base != 2.0), *_EXP2)
    is_tile = plain in ("mma_sync", "bmma_sync", "load_matrix_sync", "store_matrix_sync")
    exchange: Cost = ((InstructionKind.SHFL, 1.0),)
    if _in_part_of_warp(group):
        exchange = measured("tile.shfl") or exchange
        if len(operations) == 1 and (cost := measured(f"tile.{plain}")) is not None:
            return cost
    if "shfl" in plain:  # one register at a time
        return times(exchange, max(1, working.size_bytes // _REGISTER_BYTES))
    if is_tile and group == TRANSPOSED:  # MOVM: what LDSM does on the way from shared memory
        return ((InstructionKind.OTHER, working.lanes * working.bits / (8 * _REGISTER_BYTES)),)
    if plain.endswith(("_sync", "ballot", "all", "any")) and not is_tile:
        return exchange
    if plain in _IN_STEPS:
        exchanges, *rest = operations
        if plain != "reduce":  # which lanes have one below them to add
            exchange += ((InstructionKind.ISETP, 2.0),)
        return (*times(exchange, exchanges.number), *((_OF_CLASS[o.operation], o.number) for o in rest))
    if plain in _ONE:
        return ((_ONE[plain], 1.0),)
    known = BUILTINS.get(plain)
    if known is not None and known.instruction:
        return ((InstructionKind(known.instruction), 1.0),)
    lanes = max(1, working.lanes)
    for key in _keys(plain, working):
        if (cost := measured(key, fast=fast)) is not None:
            return cost
    pairs = {OperationClass.FP16: 2.0} if working.bits == 16 and lanes > 1 else {}
    return tuple(
        (InstructionKind(o.instruction), o.number / o.each)
        if o.instruction
        else (_OF_CLASS[o.operation], o.number / pairs.get(o.operation, 1.0))
        for o in operations
    )
