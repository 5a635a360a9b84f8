"""The functions that CUDA declares and the analyzer knows by name: one row each.

A row says what one call costs in source operations, what is known of its value, and how the prelude declares
it. The stubs, the lowering of calls and the instructions that a call becomes go by the row alone. Conventions
of counting: docs/counting.md.

A new function is one more row of `_ROWS`; with a `value`, counting, host code and the interpreter compute it.
What it becomes in instructions is measured into `expansions.txt` under its name; until then a call costs one
instruction for each source operation.

Other values stand with who computes them. Counting has what each `Semantics` does to partly known values
(`counting/values.py`) and the functions of real numbers, in the precision of their type
(`counting/mathematics.py`), host code the C library (`launches/host_api.py`), the interpreter those that
plain numbers do not tell apart: `__hadd` of integers and halves, `__dp4a` of signed and unsigned bytes
(`profiling/interpreter/mathematics.py`).
tests/analyzer/test_builtin_values.py holds all of them together.

A row is arithmetic. What reads or writes memory (loads, stores, atomics, textures, copies) is lowered to an
access in `frontend/cuda/lowering/library.py`; a row would count no access of it, and is refused.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from enum import Enum
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from wattslice.ir import OperationClass, OperationCount, Semantics, Type, TypeKind
from wattslice.patterns import regex


class Cost(Enum):
    """How the operations of one call are told."""

    FREE = "free"
    OF_TYPE = "of type"  # one per lane, in the class of the type it is done in
    TWICE = "twice"  # two per lane: a fused multiply-add
    SPECIAL = "special"
    INT = "int"
    BARRIER = "barrier"
    TENSOR = "tensor"


Number = int | float


class Row(Struct, frozen=True):
    """What is known of the functions `names` (between blanks), or of those that a pattern matches.

    `declared`: by the prelude, for each name in place of `{}`: `int(int, int)` for a device function, else a
    macro of `wattslice_cuda_math.cuh`; empty for what a stub declares itself. `outputs`: indices of arguments
    that it writes through. `fixed`: its operations where no `cost` tells them. `value` gives the value for
    plain numbers, each of the declared type; `of_arrays`: for arrays of int64 as well, modulo 2**64.
    `instruction`: the kind of the one instruction that it is.
    """

    names: str
    cost: Cost
    semantics: Semantics = Semantics.OPAQUE
    declared: str = ""
    outputs: tuple[int, ...] = ()
    fixed: tuple[OperationCount, ...] = ()
    value: Callable[..., Number] | None = None
    of_arrays: bool = False
    instruction: str = ""


_S = Semantics
_F, _D, _U, _I = "float(float)", "double(double)", "unsigned(unsigned, unsigned)", "int(int, int)"
_UUU, _III = "unsigned(unsigned, unsigned, unsigned)", "int(int, int, int)"
_BOTH_1, _BOTH_2, _BOTH_3 = "WS_BOTH_1({})", "WS_BOTH_2({})", "WS_BOTH_3({})"


def _round_half_away_from_zero(x: Number) -> float:
    fraction, whole = math.modf(x)  # exact, unlike x + 0.5
    return whole + math.copysign(1.0, x) if abs(fraction) >= 0.5 else whole


def _trunc(x: Number) -> float:
    return float(math.trunc(x))


def _round_half_to_even(x: Number) -> float:
    return float(round(x))


def _umul24(a: int, b: int) -> int:
    return (a & 0xFFFFFF) * (b & 0xFFFFFF)


def _mul24(a: int, b: int) -> int:
    x, y = (((value & 0xFFFFFF) ^ 0x800000) - 0x800000 for value in (a, b))
    return x * y


def _byte_perm(x: int, y: int, selector: int) -> int:
    both, result = y << 32 | x, 0
    for bit in (0, 8, 16, 24):
        choice = selector >> (bit >> 1) & 15
        byte = both >> 8 * (choice & 7) & 255
        signs = 255 * (byte >> 7)
        result = result | byte + (choice >> 3) * (signs - byte) << bit
    return result


def _at_most_32(shift: int) -> int:
    return shift + (shift > 32) * (32 - shift)


def _exact(
    names: str,
    cost: Cost,
    declared: str,
    value: Callable[[int, int], int] | Callable[[int, int, int], int],
    instruction: str = "",
) -> Row:
    """A function of whole numbers, by operators that numbers and arrays both have."""
    return Row(names, cost, declared=declared, value=value, of_arrays=True, instruction=instruction)


def _curand(names: str, words: int, fp32: float = 0, fp64: float = 0, special: float = 0) -> Row:
    """XORWOW (Marsaglia 2003) takes nine integer operations a word; then the transformation to the output."""
    parts = ((OperationClass.FP32, fp32), (OperationClass.FP64, fp64), (OperationClass.SPECIAL, special))
    of_output = (OperationCount(cls, number) for cls, number in parts if number)
    return Row(names, Cost.FREE, fixed=(OperationCount(OperationClass.INT, 9 * words), *of_output))


_REAL = (
    # In single precision also with the suffix f. One operation in the class of the type:
    Row("fmin", Cost.OF_TYPE, _S.MIN, _BOTH_2),
    Row("fmax", Cost.OF_TYPE, _S.MAX, _BOTH_2),
    Row("fabs", Cost.OF_TYPE, _S.ABS, _BOTH_1),
    Row("floor", Cost.OF_TYPE, _S.FLOOR, _BOTH_1),
    Row("ceil", Cost.OF_TYPE, _S.CEIL, _BOTH_1),
    Row("logb", Cost.OF_TYPE, _S.COMPUTED, _BOTH_1),
    Row("round", Cost.OF_TYPE, declared=_BOTH_1, value=_round_half_away_from_zero),
    Row("trunc", Cost.OF_TYPE, declared=_BOTH_1, value=_trunc),
    Row("rint nearbyint", Cost.OF_TYPE, declared=_BOTH_1, value=_round_half_to_even),
    Row("copysign fdim nextafter", Cost.OF_TYPE, _S.COMPUTED, _BOTH_2),
    Row("min umin llmin ullmin", Cost.OF_TYPE, _S.MIN),
    Row("max umax llmax ullmax", Cost.OF_TYPE, _S.MAX),
    Row("abs labs llabs", Cost.OF_TYPE, _S.ABS),
    Row("isnan isinf isfinite signbit isnormal", Cost.OF_TYPE, _S.COMPUTED, "WS_CLASSIFY({})"),
    Row("__isnanf __isinff __finitef", Cost.OF_TYPE, _S.COMPUTED, "WS_C WS_HD int {}(float);"),
    Row("isnanf isinff", Cost.OF_TYPE, _S.COMPUTED),
    Row("ldexp scalbn scalbln lrint lround llrint llround ilogb fdivide", Cost.OF_TYPE, _S.COMPUTED),
    Row("__mul24", Cost.OF_TYPE, _S.MUL24, _I, value=_mul24, of_arrays=True),
    Row("__umul24", Cost.OF_TYPE, _S.MUL24, _U, value=_umul24, of_arrays=True),
    Row("mul24", Cost.OF_TYPE, _S.MUL24, value=_mul24, of_arrays=True),
    Row("umul24", Cost.OF_TYPE, _S.MUL24, value=_umul24, of_arrays=True),
    _exact("__mulhi", Cost.OF_TYPE, _I, lambda a, b: a * b >> 32),
    _exact("__umulhi", Cost.OF_TYPE, _U, lambda a, b: a * b >> 32),
    _exact("__rhadd", Cost.OF_TYPE, _I, lambda a, b: a + b + 1 >> 1),
    _exact("__uhadd", Cost.OF_TYPE, _U, lambda a, b: a + b >> 1),
    _exact("__urhadd", Cost.OF_TYPE, _U, lambda a, b: a + b + 1 >> 1),
    Row("__mul64hi", Cost.OF_TYPE, declared="long long(long long, long long)"),
    Row("__umul64hi", Cost.OF_TYPE, declared="unsigned long long(unsigned long long, unsigned long long)"),
    Row("mulhi", Cost.OF_TYPE),
    # One special operation:
    Row("sqrt", Cost.SPECIAL, _S.SQRT, _BOTH_1),
    Row("exp log log2 cbrt rsqrt rcbrt exp2 exp10 expm1 log10 log1p", Cost.SPECIAL, _S.COMPUTED, _BOTH_1),
    Row("sin cos tan asin acos atan sinh cosh tanh", Cost.SPECIAL, _S.COMPUTED, _BOTH_1),
    Row("asinh acosh atanh sinpi cospi", Cost.SPECIAL, _S.COMPUTED, _BOTH_1),
    Row("erf erfc erfinv erfcinv normcdf normcdfinv tgamma lgamma", Cost.SPECIAL, _S.COMPUTED, _BOTH_1),
    Row("erfcx cyl_bessel_i0 cyl_bessel_i1", Cost.SPECIAL, declared=_BOTH_1),
    Row("pow atan2 fmod hypot rhypot remainder", Cost.SPECIAL, _S.COMPUTED, _BOTH_2),
    Row("norm3d rnorm3d", Cost.SPECIAL, _S.COMPUTED, _BOTH_3),
    Row("j0 j1 y0 y1", Cost.SPECIAL, declared="WS_C WS_1(double, {}) WS_C WS_1(float, {}f)"),
    Row("powi norm rnorm norm4d rnorm4d jn yn", Cost.SPECIAL),
    # Two operations:
    Row("fma", Cost.TWICE, _S.FMA, _BOTH_3),
)

_ROWS = (
    *_REAL,
    Row("sincos sincosf sincospi sincospif", Cost.SPECIAL, _S.NONE, outputs=(1, 2)),
    Row("__sincosf", Cost.SPECIAL, _S.NONE, "void(float, float*, float*)", outputs=(1, 2)),
    Row("frexp frexpf modf modff", Cost.OF_TYPE, outputs=(1,)),
    Row("remquo remquof", Cost.SPECIAL, outputs=(2,)),
    Row("__fdividef", Cost.OF_TYPE, _S.COMPUTED, "float(float, float)"),
    Row("fdividef", Cost.OF_TYPE, _S.COMPUTED, "WS_C WS_HD float {}(float, float);"),
    Row("__saturatef", Cost.OF_TYPE, _S.COMPUTED, _F),
    # Fast approximations:
    Row("__powf", Cost.SPECIAL, _S.COMPUTED, "float(float, float)"),
    Row("__expf __logf __log2f __exp2f __exp10f __log10f", Cost.SPECIAL, _S.COMPUTED, _F),
    Row("__sinf __cosf __tanf __tanhf __frsqrt_rn", Cost.SPECIAL, _S.COMPUTED, _F),
    # Bits of whole numbers:
    Row("__popc", Cost.INT, _S.POPC, "int(unsigned)"),
    Row("__popcll", Cost.INT, _S.POPC, "int(unsigned long long)"),
    Row("__clz", Cost.INT, _S.CLZ, "int(int)"),
    Row("__clzll", Cost.INT, _S.CLZ, "int(long long)"),
    Row("__ffs", Cost.INT, _S.FFS, "int(int)"),
    Row("__ffsll", Cost.INT, _S.FFS, "int(long long)"),
    Row("__brev", Cost.INT, _S.BREV, "unsigned(unsigned)"),
    Row("__brevll", Cost.INT, _S.BREV, "unsigned long long(unsigned long long)"),
    _exact("__byte_perm", Cost.INT, _UUU, _byte_perm),
    _exact("__usad", Cost.INT, _UUU, lambda a, b, c: abs(a - b) + c),
    _exact("__sad", Cost.INT, "unsigned(int, int, unsigned)", lambda a, b, c: abs(a - b) + c),
    Row("__fns", Cost.INT, declared="unsigned(unsigned, unsigned, int)"),
    Row(
        "__dp4a",
        Cost.INT,
        declared=f"{_III} {_UUU} int(char4, char4, int) unsigned(uchar4, uchar4, unsigned)",
    ),
    Row(
        "__dp2a_lo __dp2a_hi",
        Cost.INT,
        declared=f"{_III} {_UUU} int(short2, char4, int) unsigned(ushort2, uchar4, unsigned)",
    ),
    _exact("__funnelshift_l", Cost.INT, _UUU, lambda a, b, n: (b << 32 | a) << (n & 31) >> 32, "shf"),
    _exact("__funnelshift_r", Cost.INT, _UUU, lambda a, b, n: (b << 32 | a) >> (n & 31), "shf"),
    _exact("__funnelshift_lc", Cost.INT, _UUU, lambda a, b, n: (b << 32 | a) << _at_most_32(n) >> 32),
    _exact("__funnelshift_rc", Cost.INT, _UUU, lambda a, b, n: (b << 32 | a) >> _at_most_32(n)),
    Row("popcount popcountll clz clzll ffs ffsll bswap32 bswap64 ctz", Cost.INT),
    # Exchanges between lanes:
    Row("__shfl __shfl_sync", Cost.INT, _S.BROADCAST),
    Row("__shfl_up __shfl_down __shfl_xor __match_any_sync", Cost.INT),
    Row("__shfl_up_sync __shfl_down_sync __shfl_xor_sync", Cost.INT),
    Row("shfl shfl_up shfl_down shfl_xor any all ballot match_any match_all", Cost.INT),
    Row("reduce inclusive_scan exclusive_scan", Cost.INT),
    Row("__all __any", Cost.INT, _S.UNIFORM, "int(int)"),
    Row("__ballot", Cost.INT, _S.UNIFORM, "unsigned(int)"),
    Row("__all_sync __any_sync __uni_sync", Cost.INT, _S.UNIFORM, "int(unsigned, int)"),
    Row("__ballot_sync", Cost.INT, _S.UNIFORM, "unsigned(unsigned, int)"),
    Row("__match_all_sync", Cost.INT, _S.UNIFORM),
    Row(
        "__reduce_add_sync __reduce_min_sync __reduce_max_sync",
        Cost.INT,
        _S.UNIFORM,
        f"int(unsigned, int) {_U}",
    ),
    Row("__reduce_and_sync __reduce_or_sync __reduce_xor_sync", Cost.INT, _S.UNIFORM, _U),
    # Barriers, matrices:
    Row("__syncthreads", Cost.BARRIER, _S.BARRIER, "WS_D void {}(void) __attribute__((convergent));"),
    Row("__syncwarp", Cost.BARRIER, _S.BARRIER, "void(unsigned = 0xffffffffu)"),
    Row("arrive_and_wait", Cost.BARRIER, _S.BARRIER),
    Row(
        "__syncthreads_count __syncthreads_and __syncthreads_or",
        Cost.BARRIER,
        _S.UNIFORM,
        "WS_D int {}(int) __attribute__((convergent));",
    ),
    Row("mma_sync bmma_sync", Cost.TENSOR, _S.NONE),
    # Random numbers:
    _curand("curand", 1),
    _curand("curand_uniform", 1, fp32=2),
    _curand("curand_uniform_double", 2, fp64=2),
    _curand("curand_normal", 1, fp32=4, special=1.5),
    _curand("curand_normal2", 2, fp32=8, special=3),
    _curand("curand_normal_double", 2, fp64=4, special=1.5),
    _curand("curand_normal2_double", 4, fp64=8, special=3),
    _curand("curand_log_normal", 1, fp32=6, special=2.5),
    # Bits seen as another type: arithmetic on the value could use nothing of it.
    Row("__float_as_int", Cost.FREE, declared="int(float)"),
    Row("__int_as_float", Cost.FREE, declared="float(int)"),
    Row("__float_as_uint", Cost.FREE, declared="unsigned(float)"),
    Row("__uint_as_float", Cost.FREE, declared="float(unsigned)"),
    Row("__double_as_longlong", Cost.FREE, declared="long long(double)"),
    Row("__longlong_as_double", Cost.FREE, declared="double(long long)"),
    Row("int_as_float float_as_int", Cost.FREE),
    Row("__half_as_short __short_as_half __half_as_ushort __ushort_as_half", Cost.FREE),
    # The argument itself, in another type or place:
    Row("expect move forward as_const launder assume_aligned addressof bit_cast", Cost.FREE, _S.IDENTITY),
    Row("__float_to_tf32 float2int int2float __half2float __float2half", Cost.FREE, _S.IDENTITY),
    Row("cvt_float_to_fp8 cvt_double_to_fp8 cvt_float2_to_fp8x2 cvt_fp8_to_float", Cost.INT),
    Row("cvt_fp8_to_halfraw cvt_fp8x2_to_halfraw2", Cost.INT),
    Row("__half2half2 __bfloat162float __float2bfloat16", Cost.FREE, _S.IDENTITY),
    Row("__double2hiint __double2loint", Cost.FREE, _S.IDENTITY, "int(double)"),
    Row("__hiloint2double", Cost.FREE, _S.IDENTITY, "double(int, int)"),
    # Beside the kernel's own work:
    Row("__threadfence __threadfence_block __threadfence_system __trap", Cost.FREE, declared="void(void)"),
    Row("__brkpt", Cost.FREE, declared="void(int = 0)"),
    Row("__prof_trigger", Cost.FREE, declared="void(int)"),
    Row("__nanosleep", Cost.FREE, declared="void(unsigned)"),
    Row("clock64", Cost.FREE, declared="long long(void)"),
    Row("globaltimer", Cost.FREE, declared="unsigned long long(void)"),
    Row("__activemask", Cost.FREE, declared="unsigned(void)"),
    Row("__isGlobal __isShared __isConstant __isLocal", Cost.FREE, declared="unsigned(const void*)"),
    Row("__cvta_generic_to_shared __cvta_generic_to_global", Cost.FREE, declared="size_t(const void*)"),
    Row("__cvta_shared_to_generic", Cost.FREE, declared="void*(size_t)"),
    Row("__assertfail", Cost.FREE, declared="void(const char*, const char*, unsigned, const char*, size_t)"),
    Row("__pipeline_commit", Cost.FREE, declared="void(void)"),
    Row("__pipeline_wait_prior", Cost.FREE, declared="void(size_t)"),
    Row("printf vprintf fprintf puts putchar fputs fflush", Cost.FREE),
    Row("assert __assert_fail clock malloc free trap isconstant", Cost.FREE),
    Row("fill_fragment unreachable assume exit abort memcpy_async wait wait_prior", Cost.FREE),
    Row("producer_acquire producer_commit consumer_wait consumer_release arrive init", Cost.FREE),
    Row("pipeline_consumer_wait_prior make_pipeline nan nanf huge_val huge_valf inff inf", Cost.FREE),
    Row("__cudaGetLastError cudaGetLastError cudaDeviceSynchronize", Cost.FREE),
)

_FAMILIES = (
    (r"__v\w+[24]|__funnelshift_\w+|__vi\w+", Row("", Cost.INT)),
    (r"__[fd]?maf?(_ieee)?_rn", Row("", Cost.TWICE, _S.FMA)),
    (r"__[fd]?maf?(_ieee)?_r[zud]", Row("", Cost.TWICE)),
    (r"__[fd]r?sqrtf?_rn", Row("", Cost.SPECIAL, _S.COMPUTED)),
    (r"__[fd]r?sqrtf?_r[zud]", Row("", Cost.SPECIAL)),
    (r"__[fd]addf?_rn", Row("", Cost.OF_TYPE, _S.ADD)),
    (r"__[fd]mulf?_rn", Row("", Cost.OF_TYPE, _S.MUL)),
    (r"__[fd](sub|div|rcp)_rn", Row("", Cost.OF_TYPE, _S.COMPUTED)),
    (r"__[fd](add|mul|sub|div|rcp)f?_r[nzud]", Row("", Cost.OF_TYPE)),
    (
        r"__(exp|log|log2|pow|exp2|exp10|log10|sin|cos|tan|tanh|sinh|cosh)|__(sinh|cosh|frsqrt_rn)f",
        Row("", Cost.SPECIAL, _S.COMPUTED),
    ),
    (r"h2?(sqrt|rsqrt|rcp|exp|exp2|exp10|log|log2|log10|sin|cos|tanh)(_approx)?", Row("", Cost.SPECIAL)),
    (r"__hfma2?(_sat|_relu|_rn)?", Row("", Cost.TWICE, _S.FMA)),
    (r"__hcmadd2?(_sat|_relu|_rn)?", Row("", Cost.TWICE)),
    (
        r"__h(add|sub|mul|div|max|min|neg|abs|eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|isnan|isinf|b\w+)2?"
        r"(_sat|_rn|_nan|_mask)?|__h2div|__hb?(eq|ne|lt|le|gt|ge)u?2?|h2?(floor|ceil|rint|trunc)",
        Row("", Cost.OF_TYPE),
    ),
    (
        r"__(float|double|int|uint|ll|ull|half|bfloat16|bfloat162|half2|low|high|short|ushort|char|uchar|halves)"
        r"\w*2\w+|__(low|high)s?2\w+|__(lows|highs|low|high)\w*|__halves2\w+|__floats2\w+|make_\w+",
        Row("", Cost.FREE, _S.IDENTITY),
    ),
    (r"__bfloat16_as_\w+|__u?short_as_\w+", Row("", Cost.FREE)),
)
"""What many functions have in common, told by their names; a row of its own comes first."""


def _by_name() -> dict[str, Row]:
    """Every row under each of its names; one of which only the value is known says so by its semantics."""
    found: dict[str, Row] = {}
    for row in _ROWS:
        only_value = row.value is not None and row.semantics is Semantics.OPAQUE
        known = replace(row, semantics=Semantics.COMPUTED) if only_value else row
        found.update(dict.fromkeys(row.names.split(), known))
    for row in _REAL:
        for name in row.names.split():
            found.setdefault(f"{name}f", found[name])
    return found


BUILTINS = MappingProxyType(_by_name())
"""The rows by name."""


@functools.cache
def builtin(name: str) -> Row | None:
    """What the table knows about a function; None for a name it does not have."""
    name = name.removeprefix("__builtin_").removeprefix("__nv_")
    known = BUILTINS.get(name)
    if known is not None:
        return known
    family = next((row for pattern, row in _FAMILIES if re.fullmatch(pattern, name)), None)
    if family is not None and "_as_" in name and family.semantics is Semantics.IDENTITY:
        return replace(family, semantics=Semantics.OPAQUE)
    return family


def value_of(name: str) -> Callable[..., Number] | None:
    """The function that computes the value of a call, for rows that have one."""
    known = builtin(name)
    return None if known is None else known.value


def value_of_arrays(name: str) -> Callable[..., Any] | None:
    """`value_of` where it computes arrays of int64 too."""
    known = builtin(name)
    return known.value if known is not None and known.of_arrays else None


def operations_of(row: Row, result: Type, arguments: tuple[Type, ...]) -> tuple[OperationCount, ...]:
    """The source operations of one call with these types."""
    if row.fixed:
        return row.fixed
    working = result
    if result.kind is not TypeKind.FLOAT:
        working = next((a for a in arguments if a.kind is TypeKind.FLOAT), result)
    match row.cost:
        case Cost.FREE:
            return ()
        case Cost.OF_TYPE:
            return (OperationCount(_class_of(working), working.lanes),)
        case Cost.TWICE:
            return (OperationCount(_class_of(working), 2 * working.lanes),)
        case Cost.SPECIAL:
            return (OperationCount(OperationClass.SPECIAL, working.lanes),)
        case Cost.INT | Cost.BARRIER | Cost.TENSOR:
            return (OperationCount(OperationClass(row.cost.value), 1),)


def _class_of(type_: Type) -> OperationClass:
    """The class that arithmetic in `type_` counts in."""
    if type_.kind is not TypeKind.FLOAT:
        return OperationClass.INT
    return {16: OperationClass.FP16, 64: OperationClass.FP64}.get(type_.bits, OperationClass.FP32)


_SIGNATURE = regex(r"([\w ]+\*?)\(([^()]*)\)")


@functools.cache
def declarations() -> str:
    """The rows as the prelude declares them (`wattslice_builtins.cuh`, which is nowhere on the disk)."""
    lines = ["#pragma once"]
    for row in _ROWS:
        _refuse_accesses(row)
        for name in row.names.split() if row.declared else ():
            if "{}" in row.declared:
                lines.append(row.declared.replace("{}", name))
            else:
                found = _SIGNATURE.findall(row.declared)
                lines.extend(f"WS_D {result.strip()} {name}({taken});" for result, taken in found)
    return "\n".join(lines) + "\n"


def _refuse_accesses(row: Row) -> None:
    """Raises ValueError for a row that takes a pointer to numbers which is none of its `outputs`."""
    for taken in re.findall(r"\(([^()]*)\)", row.declared):
        for number, parameter in enumerate(taken.split(",")):
            to_numbers = "*" in parameter and not re.search(r"\b(void|char)\b", parameter)
            if to_numbers and number not in row.outputs:
                where = "loads, stores and atomics are in frontend/cuda/lowering/library.py"
                raise ValueError(f"a row would count no access of {row.names}({taken}): {where}")
