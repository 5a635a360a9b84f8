"""The same kernel written in another way has the same counts, and about the same instructions and watts.

`SAMPLES` write a kernel in a `Way`: how loops, constants, subscripts, functions and names are spelled.
Compared with the plain way: operations and accesses of all threads together exactly; for ways that a
compiler sees through, also instructions and watts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto
from functools import cache

import pytest
from msgspec import Struct, field

from wattslice import analyze_text

from .samples import there


class Loops(Enum):
    FOR = auto()
    WHILE = auto()
    ENDLESS = auto()
    BY_HAND = auto()


class Constants(Enum):
    LITERAL = auto()
    MACRO = auto()
    TEMPLATE = auto()
    CONSTEXPR = auto()


class Way(Struct):
    """How a sample is written; collects what stands in front of the kernel."""

    loops: Loops = Loops.FOR
    constants: Constants = Constants.LITERAL
    renames: bool = False
    with_temporaries: bool = False
    with_functions: bool = False
    with_pointers: bool = False
    spare_blocks: int = 0
    flat_block: bool = False
    front: list[str] = field(default_factory=list[str])
    template: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def name(self, plain: str) -> str:
        return f"q{sum(map(ord, plain))}_{plain[::-1]}" if self.renames else plain

    def at(self, array: str, index: str) -> str:
        return f"*({array} + ({index}))" if self.with_pointers else f"{array}[{index}]"

    def constant(self, name: str, value: int) -> str:
        match self.constants:
            case Constants.LITERAL:
                return str(value)
            case Constants.MACRO:
                self.front.append(f"#define {name} {value}\n")
            case Constants.CONSTEXPR:
                self.front.append(f"constexpr int {name} = {value};\n")
            case Constants.TEMPLATE:
                self.template.append((name, value))
        return name

    def value(self, type_: str, expression: str) -> tuple[str, str]:
        """A declaration in front, and what the value is called: the expression itself, or a variable."""
        if not self.with_temporaries:
            return "", f"({expression})"
        name = f"v{len(self.front)}_{abs(hash(expression)) % 997}"
        return f"const {type_} {name} = {expression};", name

    def call(self, type_: str, parameters: str, result: str, *arguments: str) -> str:
        """`result` of parameters, as an expression or as the call of a function."""
        names = [parameter.split()[-1].lstrip("*") for parameter in parameters.split(",")]
        if self.with_functions:
            function = f"f{len(self.front)}"
            self.front.append(f"__device__ {type_} {function}({parameters}) {{ return {result}; }}\n")
            return f"{function}({', '.join(arguments)})"
        for name, argument in zip(names, arguments, strict=True):
            result = re.sub(rf"\b{name}\b", f"({argument})", result)
        return f"({result})"

    def loop(self, counter: str, start: str, end: str, body: Callable[[str], str], step: int = 1) -> str:
        head = f"int {counter} = {start};"
        match self.loops:
            case Loops.FOR:
                return f"for ({head} {counter} < {end}; {counter} += {step}) {{ {body(counter)} }}"
            case Loops.WHILE:
                return f"{{ {head} while ({counter} < {end}) {{ {body(counter)} {counter} += {step}; }} }}"
            case Loops.ENDLESS:
                left = f"if (!({counter} < {end})) break;"
                return f"{{ {head} for (;;) {{ {left} {body(counter)} {counter} += {step}; }} }}"
            case Loops.BY_HAND:  # an even number of iterations
                twice = f"{{ {body(counter)} }} {{ {body(f'({counter} + {step})')} }}"
                return f"for ({head} {counter} < {end}; {counter} += {2 * step}) {{ {twice} }}"

    def program(
        self, parameters: str, body: str, grid: str, block: str, arguments: str, before: str = ""
    ) -> str:
        template = ", ".join(f"int {name}" for name, _ in self.template)
        given = ", ".join(str(value) for _, value in self.template)
        kernel = self.name("kernel")
        return (
            "".join(self.front)
            + before
            + (f"template <{template}> " if template else "")
            + f"__global__ void {kernel}({parameters}) {{ {body} }}\n"
            + "int main() { char *d; cudaMalloc(&d, 1 << 26); "
            + f"{kernel}{f'<{given}>' if given else ''}<<<{grid}, {block}>>>({arguments}); }}\n"
        )

    def linear(self, parameters: str, body: str, threads: int = 65536, n: int = 64, before: str = "") -> str:
        """A kernel of one axis: `t` is the thread; more blocks than needed do nothing."""
        t = self.name("t")
        blocks = threads // 256 + self.spare_blocks
        guarded = (
            f"const int {t} = blockIdx.x * blockDim.x + threadIdx.x;"
            f" if ({t} < m) {{ {body.replace('@t', t)} }}"
        )
        arguments = ", ".join([*_pointers(parameters), str(n), str(threads)])
        return self.program(f"{parameters}, int n, int m", guarded, str(blocks), "256", arguments, before)

    def plane(self, parameters: str, body: str, width: int = 512, n: int = 64) -> str:
        """A kernel of two axes: column `c`, row `r`."""
        x, y = (32, 8) if self.flat_block else (16, 16)
        c, r = self.name("c"), self.name("r")
        start = (
            f"const int {c} = blockIdx.x * blockDim.x + threadIdx.x;"
            f" const int {r} = blockIdx.y * blockDim.y + threadIdx.y;"
        )
        arguments = ", ".join([*_pointers(parameters), str(n), str(width)])
        text = body.replace("@c", c).replace("@r", r)
        grid = f"dim3({width // x + self.spare_blocks}, {width // y})"
        guarded = f"{start} if ({c} < w && {r} < w) {{ {text} }}"
        return self.program(f"{parameters}, int n, int w", guarded, grid, f"dim3({x}, {y})", arguments)


def _pointers(parameters: str) -> list[str]:
    return [f"({one.rpartition('*')[0]}*)d" for one in parameters.split(",") if "*" in one]


Sample = Callable[[Way], str]
XY = "const float *x, float *y"


def saxpy(way: Way) -> str:
    first, scaled = way.value("float", f"2.5f * {way.at('x', '@t')}")
    return way.linear(XY, f"{first} {way.at('y', '@t')} = {scaled} + {way.at('y', '@t')};")


def daxpy(way: Way) -> str:
    made = way.call("double", "double a, double b", "a * 3.0 + b", way.at("x", "@t"), way.at("y", "@t"))
    return way.linear("const double *x, double *y", f"{way.at('y', '@t')} = {made};")


def grid_stride(way: Way) -> str:
    body = way.loop("i", "@t", "64 * m", lambda i: f"{way.at('y', i)} = {way.at('x', i)} * 2.f;", 65536)
    return way.linear(XY, body)


def sum_of_row(way: Way) -> str:
    s = way.name("s")
    body = way.loop("i", "0", "n", lambda i: f"{s} += {way.at('x', f'@t * n + {i}')};")
    return way.linear(XY, f"float {s} = 0.f; {body} {way.at('y', '@t')} = {s};")


def sum_of_column(way: Way) -> str:
    s = way.name("s")
    body = way.loop("i", "0", "n", lambda i: f"{s} += {way.at('x', f'{i} * m + @t')};")
    return way.linear(XY, f"float {s} = 0.f; {body} {way.at('y', '@t')} = {s};")


def matrix_product(way: Way) -> str:
    s = way.name("s")

    def step(k: str) -> str:
        product = way.call(
            "float", "float a, float b", "a * b", way.at("x", f"@r * n + {k}"), way.at("z", f"{k} * w + @c")
        )
        return f"{s} += {product};"

    stored = f"{way.at('y', '@r * w + @c')} = {s};"
    return way.plane(
        "const float *x, const float *z, float *y",
        f"float {s} = 0.f; {way.loop('k', '0', 'n', step)} {stored}",
    )


def tiled_product(way: Way) -> str:
    side, s = way.constant("SIDE", 16), way.name("s")
    tiles = way.loop(
        "k",
        "0",
        "n",
        lambda k: (
            f"a[threadIdx.x] = x[@t * n + {k}]; __syncthreads();"
            + way.loop("j", "0", side, lambda j: f"{s} += a[{j}] * {s};")
            + "__syncthreads();"
        ),
        16,
    )
    return way.linear(XY, f"__shared__ float a[256]; float {s} = 1.f; {tiles} y[@t] = {s};")


def stencil(way: Way) -> str:
    places = [way.at("x", f"@r * w + @c + {d}") for d in ("0", "1", "w", "2 * w")]
    first, mean = way.value("float", " + ".join(places))
    return way.plane(XY, f"{first} {way.at('y', '@r * w + @c')} = {mean} * 0.25f;")


def transposed(way: Way) -> str:
    return way.plane(XY, f"{way.at('y', '@c * w + @r')} = {way.at('x', '@r * w + @c')};")


def horner(way: Way) -> str:
    degree, s = way.constant("DEGREE", 24), way.name("s")
    step = way.loop("i", "0", degree, lambda i: f"{s} = {s} * v + 0.5f;")
    return way.linear(XY, f"float v = {way.at('x', '@t')}, {s} = 1.f; {step} {way.at('y', '@t')} = {s};")


def exponentials(way: Way) -> str:
    made = way.call("float", "float a", "expf(a) + logf(1.5f)", way.at("x", "@t"))
    return way.linear(XY, f"{way.at('y', '@t')} = {made};")


def histogram(way: Way) -> str:
    bins = way.constant("BINS", 64)
    return way.linear("const int *x, int *y", f"atomicAdd(&y[{way.at('x', '@t')} % {bins}], 1);")


def shared_reduction(way: Way) -> str:
    return way.linear(
        XY,
        "__shared__ float a[256]; a[threadIdx.x] = x[@t]; __syncthreads();"
        " for (int d = 128; d > 0; d /= 2) { if (threadIdx.x < d) a[threadIdx.x] += a[threadIdx.x + d];"
        f" __syncthreads(); }} if (threadIdx.x == 0) {way.at('y', 'blockIdx.x')} = a[0];",
    )


def bodies(way: Way) -> str:
    s, soft = way.name("s"), way.call("float", "float a", "rsqrtf(a * a + 0.01f)", "d")
    body = way.loop("j", "0", "n", lambda j: f"float d = {way.at('x', j)} - v; {s} += d * {soft};")
    return way.linear(
        XY, f"float v = {way.at('x', '@t')}, {s} = 0.f; {body} {way.at('y', '@t')} = {s};", n=1024
    )


def convolution(way: Way) -> str:
    taps, s = way.constant("TAPS", 8), way.name("s")
    body = way.loop("k", "0", taps, lambda k: f"{s} += {way.at('x', f'@t + {k}')} * filter[{k}];")
    text = f"float {s} = 0.f; {body} {way.at('y', '@t')} = {s};"
    return way.linear(XY, text, before="__constant__ float filter[32];\n")


def triangle(way: Way) -> str:
    s = way.name("s")
    body = way.loop(
        "i",
        "0",
        "n",
        lambda i: way.loop("j", "0", "64", lambda j: f"if ({j} <= {i}) {s} += {way.at('x', j)};"),
    )
    return way.linear(XY, f"float {s} = 0.f; {body} {way.at('y', '@t')} = {s};")


def even_elements(way: Way) -> str:
    s = way.name("s")
    body = way.loop("i", "0", "n", lambda i: f"if ({i} % 2 == 0) {s} += {way.at('x', i)};")
    return way.linear(XY, f"float {s} = 0.f; {body} {way.at('y', '@t')} = {s};", n=20_000)


def long_prefix(way: Way) -> str:
    s = way.name("s")
    body = way.loop("i", "0", "n", lambda i: f"if ({i} < n / 4) {s} += {way.at('x', i)};")
    return way.linear(XY, f"float {s} = 0.f; {body} {way.at('y', '@t')} = {s};", n=40_000)


def nested_constants(way: Way) -> str:
    side, s = way.constant("SIDE", 6), way.name("s")
    body = way.loop("i", "0", side, lambda i: way.loop("j", "0", side, lambda j: f"{s} = {s} * 1.5f + v;"))
    return way.linear(XY, f"float v = x[@t], {s} = 0.f; {body} {way.at('y', '@t')} = {s};")


def complex_product(way: Way) -> str:
    body = (
        "float2 a = x[@t], b = y[@t]; float2 c; c.x = a.x * b.x - a.y * b.y; c.y = a.x * b.y + a.y * b.x;"
        f" {way.at('y', '@t')} = c;"
    )
    return way.linear("const float2 *x, float2 *y", body)


def strided_copy(way: Way) -> str:
    stride = way.constant("STRIDE", 8)
    return way.linear(XY, f"{way.at('y', '@t')} = {way.at('x', f'@t * {stride}')};")


def gather(way: Way) -> str:
    first, index = way.value("int", way.at("z", "@t"))
    body = f"{first} {way.at('y', '@t')} = {way.at('x', index)};"
    return way.linear("const float *x, const int *z, float *y", body)


def bits(way: Way) -> str:
    mixed = way.call("unsigned", "unsigned a", "(a ^ 12345u) * 2654435761u", way.at("x", "@t"))
    return way.linear("const unsigned *x, unsigned *y", f"{way.at('y', '@t')} = {mixed};")


def clamped(way: Way) -> str:
    made = way.call("float", "float a", "fminf(fmaxf(a, 0.f), 1.f)", way.at("x", "@t"))
    return way.linear(XY, f"{way.at('y', '@t')} = {made};")


def orbit(way: Way) -> str:
    steps = way.constant("STEPS", 32)
    body = way.loop("i", "0", steps, lambda i: "float q = a * a - b * b + v; b = 2.f * a * b; a = q;")
    return way.linear(XY, f"float v = x[@t], a = 0.f, b = 0.5f; {body} {way.at('y', '@t')} = a + b;")


def matrix_vector(way: Way) -> str:
    s = way.name("s")
    body = way.loop("k", "0", "n", lambda k: f"{s} += {way.at('x', f'@t * n + {k}')} * {way.at('z', k)};")
    text = f"float {s} = 0.f; {body} {way.at('y', '@t')} = {s};"
    return way.linear("const float *x, const float *z, float *y", text)


def boundary(way: Way) -> str:
    inside = "@r > 0 && @r < w - 1 && @c > 0 && @c < w - 1"
    return way.plane(
        XY, f"if ({inside}) {way.at('y', '@r * w + @c')} = {way.at('x', '@r * w + @c - 1')} * 2.f;"
    )


def stored_twice(way: Way) -> str:
    body = way.loop("i", "0", "n", lambda i: f"{way.at('y', f'{i} * m + @t')} = {way.at('x', '@t')};")
    return way.linear(XY, body)


def halo_stencil(way: Way) -> str:
    first, mean = way.value("float", "a[threadIdx.x] + a[threadIdx.x + 1] + a[threadIdx.x + 2]")
    return way.linear(
        XY,
        f"__shared__ float a[258]; a[threadIdx.x + 1] = {way.at('x', '@t')};"
        f" if (threadIdx.x == 0) a[0] = @t > 0 ? {way.at('x', '@t - 1')} : 0.f;"
        f" if (threadIdx.x == 255) a[257] = @t < m - 1 ? {way.at('x', '@t + 1')} : 0.f;"
        f" __syncthreads(); {first} {way.at('y', '@t')} = {mean} * 0.3f;",
    )


def shared_histogram(way: Way) -> str:
    bins = way.constant("BINS", 256)
    count = way.loop("i", "0", "n", lambda i: f"atomicAdd(&a[{way.at('x', f'{i} * m + @t')} & 255], 1);")
    return way.linear(
        "const int *x, int *y",
        f"__shared__ int a[{bins}]; a[threadIdx.x] = 0; __syncthreads(); {count}"
        " __syncthreads(); atomicAdd(&y[threadIdx.x], a[threadIdx.x]);",
    )


def prefix_sum(way: Way) -> str:
    taken = way.call("float", "float a, float b", "a + b", "a[threadIdx.x]", "a[threadIdx.x - d]")
    return way.linear(
        XY,
        f"__shared__ float a[256]; a[threadIdx.x] = {way.at('x', '@t')}; __syncthreads();"
        f" for (int d = 1; d < 256; d *= 2) {{ float v = threadIdx.x >= d ? {taken} : a[threadIdx.x];"
        f" __syncthreads(); a[threadIdx.x] = v; __syncthreads(); }} {way.at('y', '@t')} = a[threadIdx.x];",
    )


def ellpack(way: Way) -> str:
    s = way.name("s")

    def step(k: str) -> str:
        first, column = way.value("int", way.at("c", f"{k} * m + @t"))
        product = f"{way.at('v', f'{k} * m + @t')} * {way.at('x', column)}"
        return f"{first} {s} += {product};"

    body = way.loop("k", "0", "n", step)
    parameters = "const int *c, const float *v, const float *x, float *y"
    return way.linear(parameters, f"float {s} = 0.f; {body} {way.at('y', '@t')} = {s};")


def tile_of_bodies(way: Way) -> str:
    s, side = way.name("s"), way.constant("SIDE", 256)

    def tile(k: str) -> str:
        pull = way.call("float", "float d", "d * rsqrtf(d * d + 0.01f)", "d")
        return (
            f"a[threadIdx.x] = {way.at('x', f'{k} + threadIdx.x')}; __syncthreads();"
            f" for (int j = 0; j < {side}; j++) {{ float d = a[j] - v; {s} += {pull}; }} __syncthreads();"
        )

    body = way.loop("k", "0", "n", tile, 256)
    text = f"__shared__ float a[256]; float v = {way.at('x', '@t')}, {s} = 0.f; {body}"
    return way.linear(XY, f"{text} {way.at('y', '@t')} = {s};", n=2048)


def sorted_block(way: Way) -> str:
    last = way.constant("LAST", 256)
    return way.linear(
        "const int *x, int *y",
        f"__shared__ int a[256]; a[threadIdx.x] = {way.at('x', '@t')};"
        f" for (int k = 2; k <= {last}; k *= 2) for (int j = k / 2; j > 0; j /= 2) {{ __syncthreads();"
        " int p = threadIdx.x ^ j; if (p > threadIdx.x) { int u = a[threadIdx.x], v = a[p];"
        " if ((u > v) == ((threadIdx.x & k) == 0)) { a[threadIdx.x] = v; a[p] = u; } } }"
        f" __syncthreads(); {way.at('y', '@t')} = a[threadIdx.x];",
    )


def lattice(way: Way) -> str:
    s, ways = way.name("s"), way.constant("WAYS", 6)
    gather = way.loop("q", "0", ways, lambda q: f"{s} += {way.at('x', f'({q} * w + @r) * w + @c')};")
    relax = way.loop(
        "q",
        "0",
        ways,
        lambda q: f"y[({q} * w + @r) * w + @c] = {way.at('x', f'({q} * w + @r) * w + @c')} * 0.4f + {s};",
    )
    return way.plane(XY, f"float {s} = 0.f; {gather} {relax}")


def random_points(way: Way) -> str:
    s, hits = way.name("s"), way.name("hits")
    drawn = way.call("unsigned", "unsigned a", "a * 1664525u + 1013904223u", s)
    body = way.loop("k", "0", "n", lambda k: f"{s} = {drawn}; {hits} += (float)({s} >> 8) * 6e-8f;")
    return way.linear(XY, f"unsigned {s} = @t; float {hits} = 0.f; {body} {way.at('y', '@t')} = {hits};")


def filter_of_planes(way: Way) -> str:
    s, taps = way.name("s"), way.constant("TAPS", 4)
    body = way.loop(
        "i",
        "0",
        taps,
        lambda i: way.loop(
            "j", "0", taps, lambda j: f"{s} += {way.at('x', f'(@r + {i}) * (w + 8) + @c + {j}')} * 0.1f;"
        ),
    )
    return way.plane(XY, f"float {s} = 0.f; {body} {way.at('y', '@r * w + @c')} = {s};")


def small_matrices(way: Way) -> str:
    s, side = way.name("s"), way.constant("SIDE", 4)
    cell = way.loop(
        "k",
        "0",
        side,
        lambda k: f"{s} += {way.at('x', f'@t * 16 + i * 4 + {k}')} * z[@t * 16 + {k} * 4 + j];",
    )
    return way.linear(
        "const float *x, const float *z, float *y",
        f"for (int i = 0; i < {side}; i++) for (int j = 0; j < {side}; j++)"
        f" {{ float {s} = 0.f; {cell} {way.at('y', '@t * 16 + i * 4 + j')} = {s}; }}",
    )


SAMPLES: tuple[Sample, ...] = (
    saxpy,
    daxpy,
    grid_stride,
    sum_of_row,
    sum_of_column,
    matrix_product,
    tiled_product,
    stencil,
    transposed,
    horner,
    exponentials,
    histogram,
    shared_reduction,
    bodies,
    convolution,
    triangle,
    even_elements,
    long_prefix,
    nested_constants,
    complex_product,
    strided_copy,
    gather,
    bits,
    clamped,
    orbit,
    matrix_vector,
    boundary,
    stored_twice,
    halo_stencil,
    shared_histogram,
    prefix_sum,
    ellpack,
    tile_of_bodies,
    sorted_block,
    lattice,
    random_points,
    filter_of_planes,
    small_matrices,
)

SEEN_THROUGH = {
    "renamed": lambda: Way(renames=True),
    "while": lambda: Way(loops=Loops.WHILE),
    "endless": lambda: Way(loops=Loops.ENDLESS),
    "temporaries": lambda: Way(with_temporaries=True),
    "functions": lambda: Way(with_functions=True),
    "pointers": lambda: Way(with_pointers=True),
    "macro": lambda: Way(constants=Constants.MACRO),
    "template": lambda: Way(constants=Constants.TEMPLATE),
    "constexpr": lambda: Way(constants=Constants.CONSTEXPR),
}
"""Ways that say the same to a compiler."""

OTHERWISE = {
    "by hand": lambda: Way(loops=Loops.BY_HAND),
    "spare blocks": lambda: Way(spare_blocks=70),
    "flat block": lambda: Way(flat_block=True),
}
"""Ways that run other instructions for the same operations."""

OTHER_BY_HAND = (even_elements, long_prefix, filter_of_planes)
"""Samples of which another loop runs when they are unrolled by hand, and longer; of the filter, sectors that
taps in two places of the text share are told as loaded for each."""

SAME = (
    *("fp32", "fp64", "fp16", "special", "tensor", "atomic", "barrier"),
    *("global_load", "global_store", "shared_load", "shared_store", "constant_load", "texture_load"),
)
"""What is counted alike in every way; `int` and `control` depend on how subscripts and loops are written."""

INSTRUCTIONS = 0.06
WATTS = 0.03
SECONDS = 0.05
"""How far executed instructions, watts and seconds may differ among ways that a compiler sees through."""


class Answer(Struct, frozen=True):
    counts: tuple[float, ...]
    bytes_moved: float
    instructions: float
    power_w: float
    time_s: float
    notes: frozenset[str]


def answer(sample: Sample, way: Way) -> Answer:
    """What all threads of a sample do."""
    text = sample(way)
    (kernel,) = analyze_text(text, gpu="v100").kernels
    assert kernel.power_w is not None, text
    assert kernel.time_s is not None
    threads = 1
    for extent in (*kernel.launch.grid, *kernel.launch.block):
        threads *= extent
    counts = there(kernel.work).counts_per_thread
    return Answer(
        tuple(getattr(counts, name) * threads for name in SAME),
        there(there(kernel.work).bytes_per_thread) * threads,
        sum(one.number for one in there(kernel.work).instructions_per_thread) * threads,
        kernel.power_w,
        kernel.time_s,
        frozenset(assumption.rule for assumption in kernel.assumptions),
    )


@cache
def plain(sample: Sample) -> Answer:
    return answer(sample, Way())


WAYS = {**SEEN_THROUGH, **OTHERWISE}
WRITTEN = [
    (name, sample)
    for name, way in WAYS.items()
    for sample in SAMPLES
    if sample(way()) != sample(Way())  # a sample without a loop has no other loop
]


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        pytest.param(
            name, sample, id=f"{name}-{sample.__name__}", marks=[pytest.mark.slow] if number % 3 else []
        )
        for number, (name, sample) in enumerate(WRITTEN)
    ],
)
def test_another_way_of_writing_has_the_same_counts(sample: Sample, name: str):
    expected, found = plain(sample), answer(sample, WAYS[name]())
    assert found.counts == pytest.approx(expected.counts, rel=1e-9)
    assert found.notes == expected.notes
    if name in SEEN_THROUGH:
        assert found.bytes_moved == pytest.approx(expected.bytes_moved, rel=1e-9)
        assert found.instructions == pytest.approx(expected.instructions, rel=INSTRUCTIONS)
        assert found.power_w == pytest.approx(expected.power_w, rel=WATTS)
    if name in SEEN_THROUGH or (name == "by hand" and sample not in OTHER_BY_HAND):
        assert found.time_s == pytest.approx(expected.time_s, rel=SECONDS)


def test_a_stored_array_does_not_move():
    """A store through a pointer leaves the pointer: its place is computed before the loop, as by hand."""
    within = "for (int k = 0; k < n; k++) out[j * m + i] += x[k * m + i];"
    before = "float *place = &out[j * m + i]; for (int k = 0; k < n; k++) *place += x[k * m + i];"
    found = [
        analyze_text(
            "__global__ void sums(float *out, const float *x, int n, int m) {"
            "    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;"
            f"   {body} }}"
            "int main() { float *out, *x; cudaMalloc(&out, 1 << 22); cudaMalloc(&x, 1 << 22);"
            "    sums<<<dim3(8, 8), 128>>>(out, x, 1000, 1024); }",
            gpu="v100",
        ).kernels[0]
        for body in (within, before)
    ]
    assert there(found[0].work).instructions_per_thread == there(found[1].work).instructions_per_thread
    assert found[0].time_s == found[1].time_s
