"""The mathematical functions of CUDA by name, on numpy lanes.

Functions of float32 are computed in float64 and rounded: nearer to the exact result than CUDA promises.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice.patterns import regex

Real = Callable[..., Any]
Value = NDArray[Any]
Dtype = np.dtype[Any]
_One = Callable[[Any], Any]
_Two = Callable[[Any, Any], Any]


def _each(function: Callable[[float], float]) -> Real:
    """A function of the standard library for every lane; what it refuses is not a number."""

    def one(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.nan

    return np.vectorize(one, otypes=[np.float64])


def _round_away(x: Value) -> Value:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)


def _saturated(x: Value) -> Value:
    return np.fmin(np.fmax(x, x.dtype.type(0)), x.dtype.type(1))


def _positive_difference(x: Value, y: Value) -> Value:
    difference = np.where(x > y, x - y, x * 0)
    return np.where(np.isnan(x) | np.isnan(y), x + y, difference)


def _least(x: Value, y: Value) -> Value:
    """The other one where one is no number; -0 is less than +0 (PTX ISA, min)."""
    return np.where(x == y, np.where(np.signbit(x), x, y), np.fmin(x, y))


def _greatest(x: Value, y: Value) -> Value:
    return np.where(x == y, np.where(np.signbit(x), y, x), np.fmax(x, y))


def _normal_quantile(p: float) -> float:
    return {0.0: -math.inf, 1.0: math.inf}.get(p) or statistics.NormalDist().inv_cdf(p)


_erfc = _each(math.erfc)


def _of_numpy(names: str) -> dict[str, Any]:
    """Functions that numpy has under the same names."""
    return {name: getattr(np, name) for name in names.split()}


_SINGLE_ROUNDED: Mapping[str, _One | _Two] = _of_numpy(
    "sqrt abs floor ceil trunc rint copysign fmod nextafter"
) | {
    # Exact, or rounded once in the type itself.
    "fabs": np.abs,
    "nearbyint": np.rint,
    "round": _round_away,
    "saturate": _saturated,
    "neg": np.negative,
    "rcp": np.reciprocal,
    "fmin": _least,
    "fmax": _greatest,
    "min": _least,
    "max": _greatest,
    "fdim": _positive_difference,
    "fdivide": np.divide,
    "div": np.divide,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
}


def _norm(*parts: Any) -> Any:  # noqa: ANN401 - any lanes
    total = parts[0] * parts[0]
    for part in parts[1:]:
        total = total + part * part
    return np.sqrt(total)


def _inverse_norm(*parts: Any) -> Any:  # noqa: ANN401 - any lanes
    return 1.0 / _norm(*parts)


_IN_DOUBLE: dict[str, _One | _Two] = {
    **_of_numpy("cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh hypot"),
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "rcbrt": lambda x: 1.0 / np.cbrt(x),
    "exp10": lambda x: np.power(10.0, x),
    "logb": lambda x: np.where(x == 0, -np.inf, np.frexp(x)[1] - 1.0),
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2.0)),
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2.0)),
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "erf": _each(math.erf),
    "erfc": _erfc,
    "erfinv": _each(lambda x: _normal_quantile((x + 1.0) / 2.0) / math.sqrt(2.0)),
    "erfcinv": _each(lambda x: -_normal_quantile(x / 2.0) / math.sqrt(2.0)),
    "normcdf": lambda x: 0.5 * _erfc(-np.asarray(x) * math.sqrt(0.5)),
    "normcdfinv": _each(_normal_quantile),
    "tgamma": _each(math.gamma),
    "lgamma": _each(math.lgamma),
    "rhypot": lambda x, y: 1.0 / np.hypot(x, y),
    "atan2": np.arctan2,
    "pow": np.power,
    "powi": np.power,
    "remainder": lambda x, y: x - np.rint(x / y) * y,
    **dict.fromkeys(("ldexp", "scalbn", "scalbln"), lambda x, n: np.ldexp(x, np.asarray(n).astype(np.int32))),
    **dict.fromkeys(("norm3d", "norm4d"), _norm),
    **dict.fromkeys(("rnorm3d", "rnorm4d"), _inverse_norm),
}
_TESTS: dict[str, _One] = {
    **_of_numpy("isnan isinf isfinite signbit"),
    "finite": np.isfinite,
    "isnormal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).tiny),
}
_TO_INTEGER: dict[str, _One] = {
    "lrint": np.rint,
    "llrint": np.rint,
    "lround": _round_away,
    "llround": _round_away,
    "ilogb": lambda x: np.frexp(x)[1] - 1.0,
    "rn": np.rint,
    "rz": np.trunc,
    "rd": np.floor,
    "ru": np.ceil,
}
SEVERAL: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "sincos": lambda x: (np.sin(x), np.sin(x), np.cos(x)),
    "sincospi": lambda x: (np.sin(np.pi * x), np.sin(np.pi * x), np.cos(np.pi * x)),
    "frexp": lambda x: (np.frexp(x)[0], np.frexp(x)[1]),
    "modf": lambda x: (x - np.trunc(x), np.trunc(x)),
}
"""Functions with several results: that of the call first, then what goes through the pointers."""

_ROUNDED = regex(r"__[fd](add|sub|mul|div|rcp|sqrt|rsqrt)_(r[nzud])$")
_FAST = regex(r"__(\w+?)f?$")
_HALF = regex(r"__?h(add|sub|mul|div|max|min|neg|abs)2?(?:_rn)?$|__h(2div)$")
_HALF_FUNCTION = regex(
    r"h2?(sqrt|rsqrt|rcp|exp|exp2|exp10|log|log2|log10|sin|cos|tanh|floor|ceil|rint|trunc)(?:_approx)?$"
)


def plain_name(name: str) -> str:
    """`name` without what only tells the type or the precision."""
    name = name.removeprefix("__builtin_").removeprefix("__nv_")
    if name in _KNOWN:
        return name
    rounded = _ROUNDED.match(name)
    if rounded is not None:
        return rounded[1] if rounded[2] == "rn" else name
    for pattern in (_HALF, _HALF_FUNCTION):
        found = pattern.match(name)
        if found is not None:
            return next(part for part in found.groups() if part).removeprefix("2")
    if name.removesuffix("f") in _KNOWN:
        return name.removesuffix("f")
    fast = _FAST.match(name)
    return fast[1] if fast is not None and fast[1] in _KNOWN else name


_KNOWN = frozenset([*_SINGLE_ROUNDED, *_IN_DOUBLE, *_TESTS, *_TO_INTEGER, *SEVERAL]) - {
    "add", "sub", "mul", "div", "neg", "rn", "rz", "rd", "ru", "saturate"
}  # fmt: skip


def real_function(name: str, working: Dtype, result: Dtype) -> Real | None:
    """The function `name` on values of the floating-point type `working`; None when it is not known."""
    plain = "saturate" if name == "__saturatef" else plain_name(name)
    if plain in _TESTS:
        test = _TESTS[plain]
        return lambda *values: np.asarray(test(*values)).astype(result)[()]
    if plain in _TO_INTEGER:
        return _TO_INTEGER[plain]
    exact: Real | None = _SINGLE_ROUNDED.get(plain)
    if exact is not None:
        return lambda *values: np.asarray(exact(*values)).astype(working)[()]
    wide: Real | None = _IN_DOUBLE.get(plain)
    if wide is None:
        return None
    return lambda *values: np.asarray(wide(*(v.astype(np.float64) for v in values))).astype(working)[()]


def several(name: str, value: Value) -> tuple[Value, ...]:
    """The results of a function of one number that has several."""
    results = SEVERAL[plain_name(name)](value.astype(np.float64))
    return tuple(np.asarray(result)[()] for result in results)
