"""What one operator or library call becomes: the measured table `expansions.txt`, read once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from wattslice.ir import OperationClass, OperationCount, Type, TypeKind
from wattslice.workload.instructions.kinds import InstructionKind
from wattslice.workload.instructions.value_graph import Cost

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


_ONE: dict[str, InstructionKind] = {
    "__funnelshift_l": InstructionKind.SHF,
    "__funnelshift_r": InstructionKind.SHF,
    "lop3": InstructionKind.LOP,
    "ptx prmt.b32": InstructionKind.MOV,
}
"""Calls that are one instruction and have an instruction's kind of their own."""


@cache
def _table() -> dict[str, Cost]:
    """One entry per line: name, then kinds and numbers; a comment starts with `#` (TOML took 3 ms)."""
    found: dict[str, Cost] = {}
    for line in _TABLE.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, *rest = line.split()
            pairs = zip(rest[::2], rest[1::2], strict=True)
            found[name] = tuple([(InstructionKind(kind), float(number)) for kind, number in pairs])
    return found


def measured(key: str) -> Cost | None:
    """The measured cost under `key` (`expf`, `div.fp32`), None when nobody measured it."""
    return _table().get(key)


def call_cost(
    name: str, working: Type, operations: tuple[OperationCount, ...], base: float | None = None
) -> Cost:
    """One call of the library function `name` on values of type `working`; `base`: a constant first argument.

    What the table does not have costs one instruction of the nearest kind for each source operation, for each
    two on a pair of halves.
    """
    plain = name.removeprefix("__builtin_").removeprefix("__nv_").removeprefix("std::")
    if plain == "__powf" and base is not None:  # 2 to the x is one exp2, and b to the x one of x * log2(b)
        return (*((InstructionKind.FMUL, 1.0),) * (base != 2.0), *_EXP2)
    is_tile = plain in ("mma_sync", "load_matrix_sync", "store_matrix_sync")
    if "shfl" in plain or (plain.endswith(("_sync", "ballot", "all", "any")) and not is_tile):
        return ((InstructionKind.SHFL, 1.0),)
    if plain in _ONE:
        return ((_ONE[plain], 1.0),)
    keys = (plain + "f", plain) if working.kind is TypeKind.FLOAT and working.bits == 32 else (plain,)
    lanes = max(1, working.lanes)
    for key in keys:
        if (cost := measured(key)) is not None:
            return tuple((kind, number * lanes) for kind, number in cost)
    pairs = {OperationClass.FP16: 2.0} if working.bits == 16 and lanes > 1 else {}
    return tuple((_OF_CLASS[o.operation], o.number / pairs.get(o.operation, 1.0)) for o in operations)
