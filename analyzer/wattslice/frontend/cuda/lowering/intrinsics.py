"""The table of library functions: name -> source operations and meaning (conventions: docs/counting.md)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from enum import Enum

from wattslice.ir import AtomicOp, OperationClass, OperationCount, Semantics, Type, TypeKind


class Cost(Enum):
    """How the operations of one call are told."""

    FREE = "free"
    OF_TYPE = "of type"  # one per lane, in the class of the type it is done in
    TWICE = "twice"  # two per lane: a fused multiply-add
    SPECIAL = "special"
    INT = "int"
    BARRIER = "barrier"
    TENSOR = "tensor"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Rule:
    """What one call of a function costs and yields; `outputs`: indices of arguments it writes through."""

    cost: Cost
    semantics: Semantics = Semantics.OPAQUE
    outputs: tuple[int, ...] = ()
    fixed: tuple[OperationCount, ...] = ()


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SEMANTICS: dict[str, Semantics] = {
    "min": Semantics.MIN,
    "fmin": Semantics.MIN,
    "umin": Semantics.MIN,
    "llmin": Semantics.MIN,
    "ullmin": Semantics.MIN,
    "max": Semantics.MAX,
    "fmax": Semantics.MAX,
    "umax": Semantics.MAX,
    "llmax": Semantics.MAX,
    "ullmax": Semantics.MAX,
    "abs": Semantics.ABS,
    "labs": Semantics.ABS,
    "llabs": Semantics.ABS,
    "fabs": Semantics.ABS,
    "floor": Semantics.FLOOR,
    "ceil": Semantics.CEIL,
    "sqrt": Semantics.SQRT,
    "pow": Semantics.POW,
    "log": Semantics.LOG,
    "log2": Semantics.LOG2,
    "exp": Semantics.EXP,
    "fma": Semantics.FMA,
    "__mul24": Semantics.MUL24,
    "__umul24": Semantics.MUL24,
    "mul24": Semantics.MUL24,
    "umul24": Semantics.MUL24,
    "__popc": Semantics.POPC,
    "__popcll": Semantics.POPC,
    "__clz": Semantics.CLZ,
    "__clzll": Semantics.CLZ,
    "__ffs": Semantics.FFS,
    "__ffsll": Semantics.FFS,
    "__brev": Semantics.BREV,
    "__brevll": Semantics.BREV,
}
_ONE_OF_TYPE = _names(
    """
    fmin fmax fabs floor ceil trunc rint nearbyint round copysign fdim ldexp scalbn scalbln logb min max abs
    labs llabs umin umax llmin llmax ullmin ullmax isnan isinf isfinite signbit isnormal __isnanf __isinff
    __finitef isnanf isinff nextafter lrint lround llrint llround ilogb fdivide mulhi mul24 umul24 __mul24
    __umul24 __mulhi __umulhi __mul64hi __umul64hi __rhadd __uhadd __urhadd
    """
)
_SPECIAL = _names(
    """
    sqrt rsqrt cbrt rcbrt hypot rhypot norm rnorm norm3d rnorm3d norm4d rnorm4d exp exp2 exp10 expm1 log
    log2 log10 log1p sin cos tan sinpi cospi asin acos atan atan2 sinh cosh tanh asinh acosh atanh pow powi
    erf erfc erfinv erfcinv erfcx normcdf normcdfinv tgamma lgamma fmod remainder j0 j1 jn y0 y1 yn
    cyl_bessel_i0 cyl_bessel_i1
    """
)
_INT = _names(
    """
    __popc __popcll __clz __clzll __ffs __ffsll __brev __brevll __byte_perm __sad __usad __dp4a __dp2a_lo
    __dp2a_hi __fns __match_any_sync __shfl __shfl_up __shfl_down __shfl_xor __shfl_sync __shfl_up_sync
    __shfl_down_sync __shfl_xor_sync shfl shfl_up shfl_down shfl_xor any all ballot match_any match_all reduce
    inclusive_scan exclusive_scan popcount popcountll clz clzll ffs ffsll bswap32 bswap64 ctz
    """
)
_VOTES = _names(
    """
    __all __any __ballot __all_sync __any_sync __uni_sync __ballot_sync __match_all_sync __reduce_add_sync
    __reduce_min_sync __reduce_max_sync __reduce_and_sync __reduce_or_sync __reduce_xor_sync
    """
)
_UNIFORM = frozenset({"__syncthreads_count", "__syncthreads_and", "__syncthreads_or"})
_FREE = _names(
    """
    printf vprintf assert __assertfail __assert_fail __threadfence __threadfence_block __threadfence_system
    clock clock64 globaltimer __nanosleep __trap __brkpt __prof_trigger __activemask __isGlobal __isShared
    __isConstant __isLocal __cvta_generic_to_shared __cvta_generic_to_global __cvta_shared_to_generic
    __pipeline_commit __pipeline_wait_prior fill_fragment unreachable assume exit abort memcpy_async wait
    wait_prior producer_acquire producer_commit consumer_wait consumer_release pipeline_consumer_wait_prior
    make_pipeline arrive init nan nanf malloc free __threadfence_system trap isconstant __cudaGetLastError
    cudaGetLastError cudaDeviceSynchronize __syncwarp_nothing huge_val huge_valf inff inf
    """
)
_IDENTITY = _names(
    """
    expect move forward as_const launder assume_aligned addressof __float_as_int __int_as_float
    __float_as_uint __uint_as_float __double_as_longlong __longlong_as_double int_as_float float_as_int
    __half_as_short __short_as_half __half_as_ushort __ushort_as_half __float_to_tf32 float2int int2float
    __half2float __float2half __half2half2 __bfloat162float __float2bfloat16 bit_cast
    """
)
_CONVERSION = re.compile(
    r"^__(float|double|int|uint|ll|ull|half|bfloat16|bfloat162|half2|low|high|short|ushort|char|uchar|halves)"
    r"\w*2\w+$|^__(low|high)s?2\w+$|^__(lows|highs|low|high)\w*$|^__halves2\w+$|^__floats2\w+$"
    r"|^__hiloint2double$|^__bfloat16_as_\w+$|^__u?short_as_\w+$|^make_\w+$"
)
_ROUNDED = re.compile(r"^__([fd])(add|sub|mul|div|rcp|sqrt|rsqrt|ma)f?_r[nzud]$|^__fma(f?)_r[nzud]$")
_HALF = re.compile(
    r"^__h(add|sub|mul|div|max|min|neg|abs|eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|isnan|isinf|b\w+)2?"
    r"(_sat|_rn|_nan|_mask)?$|^__h2div$|^__hb?(eq|ne|lt|le|gt|ge)u?2?$"
)
_HALF_FMA = re.compile(r"^__h(fma|cmadd)2?(_sat|_relu|_rn)?$")
_HALF_SPECIAL = re.compile(r"^h2?(sqrt|rsqrt|rcp|exp|exp2|exp10|log|log2|log10|sin|cos|tanh)(_approx)?$")
_HALF_ROUND = re.compile(r"^h2?(floor|ceil|rint|trunc)$")
_PACKED = re.compile(r"^__v\w+[24]$|^__funnelshift_\w+$|^__vi\w+$")
_FAST = re.compile(
    r"^__(exp|exp2|exp10|log|log2|log10|sin|cos|tan|tanh|pow|sinh|cosh|frsqrt_rn)f?$|^__frsqrt_rn$"
)


def _int(number: float) -> tuple[OperationCount, ...]:
    return (OperationCount(OperationClass.INT, number),)


def _curand(words: int, fp32: float = 0, fp64: float = 0, special: float = 0) -> Rule:
    """XORWOW (Marsaglia 2003) takes nine integer operations a word; then the transformation to the output."""
    parts = [OperationCount(OperationClass.INT, 9 * words)]
    for cls, number in (
        (OperationClass.FP32, fp32),
        (OperationClass.FP64, fp64),
        (OperationClass.SPECIAL, special),
    ):
        if number:
            parts.append(OperationCount(cls, number))
    return Rule(Cost.FREE, Semantics.OPAQUE, fixed=tuple(parts))


_NAMED: dict[str, Rule] = {
    "__syncthreads": Rule(Cost.BARRIER, Semantics.BARRIER),
    "__syncwarp": Rule(Cost.BARRIER, Semantics.BARRIER),
    "arrive_and_wait": Rule(Cost.BARRIER, Semantics.BARRIER),
    "__fdividef": Rule(Cost.OF_TYPE),
    "fdividef": Rule(Cost.OF_TYPE),
    "__saturatef": Rule(Cost.OF_TYPE),
    "sincos": Rule(Cost.SPECIAL, Semantics.NONE, (1, 2)),
    "sincosf": Rule(Cost.SPECIAL, Semantics.NONE, (1, 2)),
    "__sincosf": Rule(Cost.SPECIAL, Semantics.NONE, (1, 2)),
    "sincospi": Rule(Cost.SPECIAL, Semantics.NONE, (1, 2)),
    "sincospif": Rule(Cost.SPECIAL, Semantics.NONE, (1, 2)),
    "frexp": Rule(Cost.OF_TYPE, Semantics.OPAQUE, (1,)),
    "frexpf": Rule(Cost.OF_TYPE, Semantics.OPAQUE, (1,)),
    "modf": Rule(Cost.OF_TYPE, Semantics.OPAQUE, (1,)),
    "modff": Rule(Cost.OF_TYPE, Semantics.OPAQUE, (1,)),
    "remquo": Rule(Cost.SPECIAL, Semantics.OPAQUE, (2,)),
    "remquof": Rule(Cost.SPECIAL, Semantics.OPAQUE, (2,)),
    "mma_sync": Rule(Cost.TENSOR, Semantics.NONE),
    "bmma_sync": Rule(Cost.TENSOR, Semantics.NONE),
    "curand": _curand(1),
    "curand4": _curand(4),
    "curand_uniform": _curand(1, fp32=2),
    "curand_uniform4": _curand(4, fp32=8),
    "curand_uniform_double": _curand(2, fp64=2),
    "curand_uniform2_double": _curand(4, fp64=4),
    "curand_normal": _curand(1, fp32=4, special=1.5),
    "curand_normal2": _curand(2, fp32=8, special=3),
    "curand_normal4": _curand(4, fp32=16, special=6),
    "curand_normal_double": _curand(2, fp64=4, special=1.5),
    "curand_normal2_double": _curand(4, fp64=8, special=3),
    "curand_log_normal": _curand(1, fp32=6, special=2.5),
}
ATOMIC = re.compile(r"^atomic(Add|Sub|Min|Max|And|Or|Xor|Exch|CAS|Inc|Dec)(_block|_system)?$")
ATOMIC_OPS: dict[str, AtomicOp] = {
    "Add": AtomicOp.ADD,
    "Sub": AtomicOp.SUB,
    "Min": AtomicOp.MIN,
    "Max": AtomicOp.MAX,
    "And": AtomicOp.AND,
    "Or": AtomicOp.OR,
    "Xor": AtomicOp.XOR,
    "Exch": AtomicOp.EXCHANGE,
    "CAS": AtomicOp.CAS,
    "Inc": AtomicOp.INC,
    "Dec": AtomicOp.DEC,
}
CACHED_LOAD = re.compile(r"^__ld(g|cg|ca|cs|lu|cv)$")
CACHED_STORE = re.compile(r"^__st(wb|cg|cs|wt)$")
TEXTURE = re.compile(r"^tex(1D|2D|3D|Cubemap|1Dfetch)\w*$")
SURFACE = re.compile(r"^surf(1D|2D|3D|Cubemap)\w*(read|write)$")


@functools.cache
def rule_for(name: str) -> Rule | None:
    """What the table knows about a function; None for a name it does not have."""
    name = name.removeprefix("__builtin_").removeprefix("__nv_")
    named = _NAMED.get(name)
    if named is not None:
        return named
    plain = name.removesuffix("f") if name not in ("erf", "modf", "isinf") else name
    if name.endswith("f") and plain not in _SPECIAL and plain not in _ONE_OF_TYPE:
        plain = name
    semantics = _SEMANTICS.get(plain, Semantics.OPAQUE)
    if name in _UNIFORM:
        return Rule(Cost.BARRIER, Semantics.UNIFORM)
    if plain in ("fma",) or name == "fmaf":
        return Rule(Cost.TWICE, Semantics.FMA)
    if plain in _SPECIAL:
        return Rule(Cost.SPECIAL, semantics)
    if plain in _ONE_OF_TYPE:
        return Rule(Cost.OF_TYPE, semantics)
    if name in _VOTES:
        return Rule(Cost.INT, Semantics.UNIFORM)
    if name in _INT or _PACKED.match(name):
        return Rule(Cost.INT, semantics)
    if name in _IDENTITY:
        # Bit casts keep no value that arithmetic on it could use.
        opaque = "_as_" in name
        return Rule(Cost.FREE, Semantics.OPAQUE if opaque else Semantics.IDENTITY)
    if name in _FREE:
        return Rule(Cost.FREE, Semantics.OPAQUE)
    return _by_pattern(name)


def _by_pattern(name: str) -> Rule | None:
    rounded = _ROUNDED.match(name)
    if rounded is not None:
        operation = rounded[2]
        if rounded[0].startswith("__fma") or operation == "ma":
            return Rule(Cost.TWICE, Semantics.FMA)
        if operation in ("sqrt", "rsqrt"):
            return Rule(Cost.SPECIAL)
        known = {"add": Semantics.ADD, "mul": Semantics.MUL}.get(operation, Semantics.OPAQUE)
        return Rule(Cost.OF_TYPE, known)
    if fast := _FAST.match(name):
        return Rule(Cost.SPECIAL, _SEMANTICS.get(fast[1] or "", Semantics.OPAQUE))
    if _HALF_SPECIAL.match(name):
        return Rule(Cost.SPECIAL)
    if _HALF_FMA.match(name):
        return Rule(Cost.TWICE, Semantics.OPAQUE if "cmadd" in name else Semantics.FMA)
    if _HALF.match(name) or _HALF_ROUND.match(name):
        return Rule(Cost.OF_TYPE)
    if _CONVERSION.match(name):
        return Rule(Cost.FREE, Semantics.OPAQUE if "_as_" in name else Semantics.IDENTITY)
    return None


def class_of(type_: Type) -> OperationClass:
    """The class that arithmetic in `type_` counts in."""
    if type_.kind is TypeKind.FLOAT:
        if type_.bits == 16:
            return OperationClass.FP16
        return OperationClass.FP64 if type_.bits == 64 else OperationClass.FP32
    return OperationClass.INT


def operations_of(rule: Rule, result: Type, arguments: tuple[Type, ...]) -> tuple[OperationCount, ...]:
    """The source operations of one call with these types."""
    if rule.fixed:
        return rule.fixed
    working = result
    if result.kind is not TypeKind.FLOAT:
        working = next((a for a in arguments if a.kind is TypeKind.FLOAT), result)
    match rule.cost:
        case Cost.FREE | Cost.UNKNOWN:
            return ()
        case Cost.OF_TYPE:
            return (OperationCount(class_of(working), working.lanes),)
        case Cost.TWICE:
            return (OperationCount(class_of(working), 2 * working.lanes),)
        case Cost.SPECIAL:
            return (OperationCount(OperationClass.SPECIAL, working.lanes),)
        case Cost.INT:
            return _int(1)
        case Cost.BARRIER:
            return (OperationCount(OperationClass.BARRIER, 1),)
        case Cost.TENSOR:
            return (OperationCount(OperationClass.TENSOR, 1),)
