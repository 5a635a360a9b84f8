"""What C library functions cost and mean, for the functions a kernel calls."""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.ir import OperationClass, Semantics


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """`is_special`: counted as one special operation, else as `operations` of the argument's class."""

    semantics: Semantics
    is_special: bool = True
    operations: int = 1
    is_float: bool = True  # result: double, or float with the suffix f; else int


_SPECIAL = LibraryFunction(Semantics.OPAQUE)
_PLAIN = LibraryFunction(Semantics.OPAQUE, is_special=False)
_BY_NAME = {
    "sqrt": LibraryFunction(Semantics.SQRT),
    "pow": LibraryFunction(Semantics.POW),
    "exp": LibraryFunction(Semantics.EXP),
    "log": LibraryFunction(Semantics.LOG),
    "log2": LibraryFunction(Semantics.LOG2),
    "ceil": LibraryFunction(Semantics.CEIL, is_special=False),
    "floor": LibraryFunction(Semantics.FLOOR, is_special=False),
    "fabs": LibraryFunction(Semantics.ABS, is_special=False),
    "fmin": LibraryFunction(Semantics.MIN, is_special=False),
    "fmax": LibraryFunction(Semantics.MAX, is_special=False),
    "fma": LibraryFunction(Semantics.FMA, is_special=False, operations=2),
    "abs": LibraryFunction(Semantics.ABS, is_special=False, is_float=False),
    "labs": LibraryFunction(Semantics.ABS, is_special=False, is_float=False),
}
for _name in [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "exp2",
    "expm1",
    "log10",
    "log1p",
    "cbrt",
    "hypot",
    "erf",
    "erfc",
    "tgamma",
    "lgamma",
]:
    _BY_NAME[_name] = _SPECIAL
for _name in ("round", "rint", "trunc", "nearbyint", "copysign", "fmod"):
    _BY_NAME[_name] = _PLAIN


COSTLESS = frozenset(
    {"printf", "fprintf", "puts", "putchar", "fputs", "fflush", "free", "assert", "exit", "abort"}
)
"""Functions whose cost does not belong to the kernel's arithmetic."""


def library_function(name: str) -> tuple[LibraryFunction, bool] | None:
    """The function and whether it is the single-precision form; None when unknown."""
    if name in _BY_NAME:
        return _BY_NAME[name], False
    stem = name.removesuffix("f")
    if stem != name and stem in _BY_NAME and _BY_NAME[stem].is_float:
        return _BY_NAME[stem], True
    return None


def operation_class(function: LibraryFunction, is_single: bool) -> OperationClass:
    """Under which class one execution is counted."""
    if function.is_special:
        return OperationClass.SPECIAL
    if not function.is_float:
        return OperationClass.INT
    return OperationClass.FP32 if is_single else OperationClass.FP64
