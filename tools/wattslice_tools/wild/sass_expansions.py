"""Measure what one operator or library call becomes in SASS; writes expansions.txt beside its reader.

    python -m wattslice_tools.wild.sass_expansions [--arch sm_80]

Each expression is compiled into `o[i] = expr` and into `o[i] = x` (or one of `_BASES`); the difference is
its cost. Counted is one path through the code: the longest one that goes straight on without calling a
slow-path subroutine and without looping (argument reduction of huge arguments, denormals, infinities stay
out), or that of usual arguments where the script says how long it is; see `docs/instructions.md`. `fast.*`:
what `-use_fast_math` changes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path

from wattslice.workload.instructions.kinds import InstructionKind
from wattslice_tools.wild.sass import Instruction, SassFunction, compile_cubin, disassemble
from wattslice_tools.wild.sass_kinds import kind_of_sass

TARGET = Path(__file__).parents[3] / "analyzer" / "wattslice" / "workload" / "instructions" / "expansions.txt"
_UNARY_FLOAT = [
    "sqrt",
    "rsqrt",
    "cbrt",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "erf",
    "erfc",
    "floor",
    "ceil",
    "rint",
    "trunc",
    "round",
    "fabs",
    "tgamma",
    "lgamma",
    "sinpi",
    "cospi",
    "rcbrt",
    "asinh",
    "acosh",
    "atanh",
    "erfinv",
    "erfcinv",
    "erfcx",
    "normcdf",
    "normcdfinv",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "nearbyint",
    "logb",
]
_BINARY_FLOAT = [
    "pow",
    "atan2",
    "fmod",
    "remainder",
    "fmin",
    "fmax",
    "hypot",
    "rhypot",
    "copysign",
    "fdim",
    "nextafter",
]
_NORMS = ["norm3d", "rnorm3d"]
_TO_INT = ["ilogb", "lround", "llround", "lrint", "llrint"]
_SCALES = ["ldexp", "scalbn"]
_FAST = [
    "__expf",
    "__logf",
    "__log2f",
    "__log10f",
    "__sinf",
    "__cosf",
    "__tanf",
    "__frcp_rn",
    "__fsqrt_rn",
    "__frsqrt_rn",
    "__saturatef",
    "__exp10f",
]
_FAST_BINARY = ["__fdividef", "__powf", "__fadd_rn", "__fmul_rn", "__fdiv_rn"]
_FAST_DOUBLE = ["__ddiv_rn(x, y)", "__drcp_rn(x)", "__dsqrt_rn(x)"]
_OF_HALVES = ["exp", "exp2", "exp10", "log", "log2", "log10", "sin", "cos", "sqrt", "rsqrt", "rcp"]
_SEVERAL_RESULTS = (
    ("sincosf", "float", "sincosf(x, &x, &y)"),
    ("sincospif", "float", "sincospif(x, &x, &y)"),
    ("__sincosf", "float", "__sincosf(x, &x, &y)"),
    ("modff", "float", "x = modff(x, &y)"),
    ("frexpf", "float", "int e; x = frexpf(x, &e); y = __int_as_float(e)"),
    ("sincos", "double", "sincos(x, &x, &y)"),
    ("sincospi", "double", "sincospi(x, &x, &y)"),
    ("modf", "double", "x = modf(x, &y)"),
    ("frexp", "double", "int e; x = frexp(x, &e); y = __hiloint2double(e, 0)"),
)
"""Statements that take x and leave x and y."""
_UNARY_INT = ["abs", "__popc", "__clz", "__ffs", "__brev"]
_UNARY_LONG = ["__popcll", "__clzll", "__ffsll", "__brevll"]
_FENCES = ["__threadfence_block", "__threadfence", "__threadfence_system"]
_TILE = "cg::tiled_partition<16>(cg::this_thread_block())"
_GROUPS = (
    ("tile.shfl", "int", f"{_TILE}.shfl_xor(x, 1)"),
    ("tile.any", "int", f"{_TILE}.any(x)"),
    ("tile.all", "int", f"{_TILE}.all(x)"),
    ("tile.ballot", "int", f"{_TILE}.ballot(x)"),
    ("tile.match_any", "int", f"{_TILE}.match_any(x)"),
    ("tile.reduce", "int", f"cg::reduce({_TILE}, x, cg::plus<int>())"),
    ("tile.sync", "int", f"({_TILE}.sync(), x)"),
    ("grid.sync", "int", "(cg::this_grid().sync(), x)"),
)
"""Cooperative groups: a tile smaller than a warp makes a mask of its lanes and agrees on it."""
_HEADERS = [
    "#include <cuda_fp16.h>",
    "#include <cooperative_groups.h>",
    "#include <cooperative_groups/reduce.h>",
]
_HEADERS.append("namespace cg = cooperative_groups;")
_BINARY_INT = ["min", "max", "__mulhi", "__umulhi", "__mul24", "__rhadd"]
_BINARY_LONG = ["__mul64hi", "__umul64hi"]
_SIMD_UNARY = ["abs", "neg"]
_SIMD_BINARY = """
    add sub addss subss addus subus absdiffs absdiffu avgs avgu haddu maxs maxu mins minu sads sadu
    cmpeq cmpne cmpges cmpgeu cmpgts cmpgtu cmples cmpleu cmplts cmpltu
    seteq setne setges setgeu setgts setgtu setles setleu setlts setltu
"""
"""`__vadd2`, `__vadd4`: halfwords or bytes of an integer at once."""
_USUAL = """
    sinf 28  cosf 29  tanf 25  sincosf 35  sinpif 26  cospif 27  sincospif 29  powf 88  fmodf 29
    remainderf 37  log1pf 28  asinhf 41  erfinvf 19  erfcinvf 21  erfcxf 37  normcdfinvf 23  lgammaf 83
    logbf 11  ilogbf 12  cyl_bessel_i0f 20  cyl_bessel_i1f 21  exp 27  exp2 26  exp10 29  pow 148
    fmod 107  remainder 112  log1p 68+39  asin 49+23  acos 50+29  tanh 45+23  sinh 70+20  atanh 88+59
    lgamma 161  erfcinv 71  erfcx 62  normcdfinv 75  rhypot 33  logb 20  ilogb 19  cyl_bessel_i0 30
    cyl_bessel_i1 31  grid.sync 0
"""
"""How many instructions usual arguments execute, where the longest path is not theirs: it reduces huge ones,
or mends results that do not fit. Two numbers: lanes of a warp go both ways, one after the other. `fmod` and
`remainder` of doubles divide in a loop whose trips the arguments tell (85 to 170 instructions)."""
USUAL = {
    name: tuple(int(length) for length in lengths.split("+"))
    for name, lengths in zip(_USUAL.split()[::2], _USUAL.split()[1::2], strict=True)
}

_SHARES = """
    sinf .91  cosf .91  tanf .9  sincosf .86  logf .15  log2f .14  log10f .17  log1pf .17  atanf .27
    erff .14  atan2f .32  fmodf .7  remainderf .77  sinpif .38  cospif .9  asinhf .21  acoshf .13
    atanhf .15  tgammaf .97  lgammaf 1  erfinvf .63  erfcinvf .79  erfcxf .88  normcdff .06
    normcdfinvf .77  nextafterf .18  cyl_bessel_i0f .86  cyl_bessel_i1f .83  exp .15  exp2 .23  exp10 .21
    expm1 1  log 1  log2 1  log10 1  log1p .79  sin 1  cos 1  tan .9  asin .93  acos .95  atan 1  sinh .88
    cosh .88  tanh .87  asinh .89  acosh .89  atanh .68  cbrt .88  rcbrt .91  erfc 1  erfcx 1  erfinv 1
    erfcinv .97  tgamma .96  lgamma .98  sinpi .18  cospi 1  normcdf .89  normcdfinv .96
    cyl_bessel_i0 .86  cyl_bessel_i1 .25  fmod .67  remainder .84  rhypot .18  nextafter .31  logb .47
    ilogb .47  pow .11  powf .15+.58+.1
"""
"""The share of a function that its branches hold in a loop that does not change its arguments: what each
round executes of what a call does. Then the shares that only the first argument decides, the second.
"""


_BASES = {"div_constant.fp32": "x / 7.0f"}
"""What an expression is the difference to, where not to `x`: a constant is moved to a register once."""


def expressions() -> tuple[tuple[str, str, str], ...]:
    """(key, operand type, expression in x and y)."""
    found: list[tuple[str, str, str]] = []
    for suffix, type_ in (("f", "float"), ("", "double")):
        found += [(name + suffix, type_, f"{name}{suffix}(x)") for name in _UNARY_FLOAT]
        found += [(name + suffix, type_, f"{name}{suffix}(x, y)") for name in _BINARY_FLOAT]
        bits = "__int_as_float({})" if suffix else "__longlong_as_double({})"
        found += [(name + suffix, type_, bits.format(f"{name}{suffix}(x)")) for name in _TO_INT]
        found += [(name + suffix, type_, f"{name}{suffix}(x, i)") for name in _SCALES]
        found += [(name + suffix, type_, f"{name}{suffix}(x, y, {bits.format('i')})") for name in _NORMS]
    found += [(expr.partition("(")[0], "double", expr) for expr in _FAST_DOUBLE]
    for prefix, divided, type_ in (("h", "__hdiv", "__half"), ("h2", "__h2div", "__half2")):
        found += [(prefix + name, type_, f"{prefix}{name}(x)") for name in _OF_HALVES]
        found += [(divided, type_, f"{divided}(x, y)")]
    found += [(name, "float", f"{name}(x)") for name in _FAST]
    found += [(name, "float", f"{name}(x, y)") for name in _FAST_BINARY]
    found += [(name, "int", f"{name}(x)") for name in _UNARY_INT]
    found += [(name, "int", f"{name}(x, y)") for name in _BINARY_INT]
    found += [(name, "long long", f"{name}(x)") for name in _UNARY_LONG]
    found += [(name, "long long", f"{name}(x, y)") for name in _BINARY_LONG]
    found += [(f"{name}.int64", "long long", f"{name}(x, y)") for name in ("min", "max")]
    found += [("abs.int64", "long long", "llabs(x)")]
    for width in (2, 4):
        found += [(f"__v{n}{width}", "int", f"__v{n}{width}(x)") for n in _SIMD_UNARY]
        found += [(f"__v{n}{width}", "int", f"__v{n}{width}(x, y)") for n in _SIMD_BINARY.split()]
    found += [(name, "int", f"({name}(), x)") for name in _FENCES]
    found += [("div.fp32", "float", "x / y"), ("div.fp64", "double", "x / y")]
    found += [("div_constant.fp32", "float", f"{_BASES['div_constant.fp32']} / 7.0f")]
    found += [("rcp.fp32", "float", "1.0f / x"), ("rcp.fp64", "double", "1.0 / x")]
    for key, type_ in (("int32", "int"), ("uint32", "unsigned"), ("int64", "long long")):
        found += [(f"div.{key}", type_, "x / y"), (f"mod.{key}", type_, "x % y")]
        found += [(f"div_constant.{key}", type_, "x / 7"), (f"mod_constant.{key}", type_, "x % 7")]
        found += [(f"div_power.{key}", type_, "x / 8"), (f"mod_power.{key}", type_, "x % 8")]
        found += [
            (f"mul.{key}", type_, "x * y"),
            (f"add.{key}", type_, "x + y"),
            (f"shl.{key}", type_, "x << y"),
        ]
    found += _SEVERAL_RESULTS
    found += _GROUPS
    found += [(f"fast.{k}", f"fast {t}", e) for k, t, e in found if t in ("float", "__half", "__half2")]
    return tuple(found)


def path(function: SassFunction, lengths: tuple[int, ...]) -> Counter[InstructionKind]:
    """Kinds on the loop-free paths from entry to EXIT that come next to `lengths`, each instruction once; the
    longest one of those with the fewest calls where no length is given."""
    labels = dict(function.labels)
    code = function.instructions

    @cache
    def paths(index: int) -> dict[tuple[int, int], tuple[int, ...]]:
        """What follows `index`, by the calls and instructions in it."""
        if index >= len(code):
            return {}
        here = code[index]
        name = here.opcode.split(".")[0]
        if name in ("EXIT", "RET") and not here.predicate:
            return {(0, 1): (index,)}
        following = _targets(here, labels, index) if name == "BRA" else [index + 1]
        callee: dict[tuple[int, int], tuple[int, ...]] = {(0, 0): ()}
        label = re.search(r"\$\w+\$\w+", here.operands) if name == "CALL" else None
        if label:
            callee = paths(labels[label.group()])
        found: dict[tuple[int, int], tuple[int, ...]] = {}
        for later in (paths(n) for n in following if n > index):
            for (calls, length), rest in later.items():
                for (inner, longer), called in callee.items():
                    key = (calls + inner + (name == "CALL"), length + longer + 1)
                    found.setdefault(key, (index, *called, *rest))
        return found

    found = paths(0)
    if not found:
        raise SystemExit(f"no path through {function.name}")
    chosen = [min(found, key=lambda key: (abs(key[1] - length), key[0])) for length in lengths]
    chosen = chosen or [min(found, key=lambda key: (key[0], -key[1]))]
    visited = dict.fromkeys(index for key in chosen for index in found[key])
    kinds = (kind_of_sass(code[i].opcode, code[i].operands) for i in visited)
    return Counter(kind for kind in kinds if kind is not None)


def _targets(branch: Instruction, labels: dict[str, int], index: int) -> list[int]:
    label = re.search(r"\.L\w+", branch.operands)
    targets = [labels[label.group()]] if label else []
    conditional = branch.predicate or re.match(r"!?U?P\d", branch.operands)
    return [*targets, index + 1] if conditional else targets


def measure(arch: str) -> dict[str, Counter[InstructionKind]]:
    """Cost of each expression beyond loading its operands."""
    sys.setrecursionlimit(20_000)
    found: dict[str, Counter[InstructionKind]] = {}
    jobs = [(key, type_, expr) for key, type_, expr in expressions()]
    for fast in (False, True):
        group = [job for job in jobs if job[1].startswith("fast ") is fast]
        lines = list(_HEADERS)
        for number, (key, type_, expr) in enumerate(group):
            scalar = type_.removeprefix("fast ")
            has_y = _names_y(expr)
            less = "" if has_y else _BASES.get(key.removeprefix("fast."), "x")
            for variant, body in (("base", less), ("full", expr)):
                loads = f"{scalar} x = a[i];" + (f" {scalar} y = b[i];" if has_y else "")
                store = f"o[i] = ({body});" if body else "o[i] = x; p[i] = y;"
                inputs = f"const {scalar}* __restrict__ a, const {scalar}* __restrict__ b"
                arguments = f"{scalar}* o, {scalar}* p, {inputs}"
                name = f"k{number}_{variant}"
                if "&" in expr:
                    loads = f"{scalar} x = a[i], y = x;" + (f" {expr};" if variant == "full" else "")
                    store = "o[i] = x; p[i] = y;"
                body = f"{{ int i = threadIdx.x; {loads} {store} }}"
                lines.append(f'extern "C" __global__ void {name}({arguments}) {body}')
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "expressions.cu"
            source.write_text("\n".join(lines))
            cubin = compile_cubin(
                source, (f"-arch={arch}", "-std=c++17", *(["-use_fast_math"] if fast else []))
            )
        if cubin is None:
            raise SystemExit("nvcc cannot compile the expressions")
        functions = {function.name: function for function in disassemble(cubin)}
        for number, (key, _, expr) in enumerate(group):
            base = functions[f"k{number}_base"]
            copied = 1 + next(i for i, each in enumerate(base.instructions) if each.opcode == "EXIT")
            lengths = (length + copied for length in USUAL.get(key.removeprefix("fast."), ()))
            cost = path(functions[f"k{number}_full"], tuple(lengths))
            cost.subtract(path(base, ()))
            if _names_y(expr) and "&" not in expr:  # the base stores both operands: take one store back
                cost[InstructionKind.STG] += 1
                cost[InstructionKind.IMAD] += 1
            found[key] = cost
    return found


def _names_y(expr: str) -> bool:
    return re.search(r"\by\b", expr) is not None


def render(found: dict[str, Counter[InstructionKind]], arch: str, compiler: str) -> str:
    """The table, one entry per line: name, then kinds and numbers, or shares; of `fast.*` what differs."""
    lines = [
        "# Executed SASS instructions of one operator or call; "
        "written by tools/wattslice_tools/wild/sass_expansions.py.",
        f"# {compiler}, -arch={arch}, default optimisation; fast.* with -use_fast_math",
    ]
    for key in sorted(found):
        if found[key] == found.get(key.removeprefix("fast.")) and key.startswith("fast."):
            continue
        parts = [f"{kind.value} {number}" for kind, number in sorted(found[key].items()) if number > 0]
        lines.append("  ".join((key, *parts)))
    names = zip(_SHARES.split()[::2], _SHARES.split()[1::2], strict=True)
    lines += [f"{name}.shares  {each.replace('+', ' ')}" for name, each in sorted(names)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", default="sm_80")
    arguments = parser.parse_args()
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release [\d.]+, V[\d.]+", version)
    compiler = f"nvcc {release.group()}" if release else "nvcc"
    TARGET.write_text(render(measure(arguments.arch), arguments.arch, compiler))
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
