"""Products of matrix tiles on tensor cores: their size, their time, the instructions of one.

The unit of `tensor` operations is one product of 16 x 16 x 16 halves by a warp. Elements that take longer or
shorter for a multiply-add count as many as take the same time, by the rates of the A100 without sparsity
(NVIDIA A100 Tensor Core GPU Architecture, table 1).
"""

from __future__ import annotations

from types import MappingProxyType

from msgspec import Struct

from wattslice.ir.tree import OperationClass, OperationCount
from wattslice.patterns import regex

_UNIT = 16 * 16 * 16
_TIME = MappingProxyType(
    {"f16": 1.0, "bf16": 1.0, "tf32": 2.0, "f64": 16.0}
    | dict.fromkeys(("s8", "u8", "e4m3", "e5m2", "e3m2", "e2m3"), 1 / 2)
    | dict.fromkeys(("s4", "u4", "e2m1"), 1 / 4)
    | {"b1": 1 / 16}
)
"""Time of a multiply-add of the elements that PTX names, by that of halves."""
_OF_INSTRUCTION = MappingProxyType({"tf32": 512, "f64": 256, "b1": 8192})
"""Multiply-adds of one instruction of those that `wmma` becomes: HMMA.1684, DMMA.884, BMMA.88128; 2048 of
other elements: HMMA.16816, IMMA.16816, IMMA.8832 (SASS of nvcc 13 for sm_80)."""

_FRAGMENT = regex(r"fragment<(?:\w+::)*(\w+), (\d+), (\d+), (\d+), (?:\w+ )?(?:\w+::)*(\w+)")
_ELEMENTS = MappingProxyType(
    {"half": "f16", "__half": "f16", "__nv_bfloat16": "bf16", "double": "f64", "char": "s8"}
)
_SHAPE = regex(r"m(\d+)n(\d+)k(\d+)")


class Fragment(Struct, frozen=True):
    """The type of a `wmma::fragment`: `use` is `matrix_a`, `matrix_b` or `accumulator`; the element as PTX
    names it, where it does."""

    use: str
    m: int
    n: int
    k: int
    element: str


def fragment_of(type_name: str) -> Fragment | None:
    """The fragment that a type is; None for another type, and for one whose shape is not known here."""
    match = _FRAGMENT.search(type_name)
    if match is None:
        return None
    use, m, n, k, element = match.groups()
    return Fragment(use, int(m), int(n), int(k), _ELEMENTS.get(element, element))


def product_of_fragments(type_names: tuple[str, ...]) -> OperationCount:
    """One `mma_sync` of these types; of halves and of a usual shape where none of them tells its own."""
    found = (fragment_of(name) for name in type_names)
    a = next((one for one in found if one is not None and one.use == "matrix_a"), None)
    if a is None:
        return _product(_UNIT, "f16")
    return _product(a.m * a.n * a.k, a.element)


def product_of_ptx(name: str, modifiers: list[str]) -> OperationCount | None:
    """One `mma`, `wmma.mma` or `wgmma.mma_async`: its part of a warp; None where no shape stands in it."""
    shape = next((found for part in modifiers if (found := _SHAPE.fullmatch(part))), None)
    if shape is None:
        return None
    types = [
        part for part in modifiers[modifiers.index(shape[0]) :] if part in _TIME or part in ("f32", "s32")
    ]
    element = types[1] if len(types) > 2 else "f16"  # those of D, A, B; wmma of halves has those of D and C
    fmas = int(shape[1]) * int(shape[2]) * int(shape[3])
    if name == "wgmma":
        return _product(fmas / 4, element, 1.0)  # by a group of four warps
    if name == "wmma":
        return _product(fmas, element)
    return _product(fmas / 2 if "sp" in modifiers else fmas, element, 1.0)  # half of a sparse A is not there


def _product(fmas: float, element: str, instructions: float | None = None) -> OperationCount:
    """So many multiply-adds, in as many `instructions`; None: in those that `wmma` becomes."""
    number = fmas / _UNIT * _TIME.get(element, 1.0)
    made = fmas / _OF_INSTRUCTION.get(element, 2048) if instructions is None else instructions
    return OperationCount(OperationClass.TENSOR, number, "hmma", number / made)
