# ruff: noqa: E501 - each kernel stands on one line
"""Random CUDA kernels whose result C++ defines, and the program that runs them on a CPU.

Every thread writes its own places, shared memory is exchanged across barriers, atomics commute; shifts, divisors
and conversions to integers are kept inside of what C++ defines; a pragma makes overflow of signed integers wrap.
"""

from __future__ import annotations

import random

from msgspec import Struct, field

GRID = 3
INPUTS = 64
PARAMETERS = (
    "const int* I, const float* F, const double* D, const long long* L, "
    "int* oi, float* of, double* od, long long* ol, unsigned* counts"
)
_INTEGERS = (
    "int", "unsigned", "long long", "unsigned long long", "short", "unsigned short", "signed char",
    "unsigned char", "bool",
)  # fmt: skip
_LITERALS = (
    "0", "1", "2", "7", "-1", "-3", "31", "0x7fffffff", "2147483648u", "123456789012LL", "'a'", "true",
    "255u", "0x8000000000000000ull", "1000003",
)  # fmt: skip
BEFORE = """
struct Pair { short a; float b; };
struct Mixed { int2 at; Pair pair; double d; };
__constant__ int table[8] = {3, -1, 4, 1, -5, 9, 2, 6};
__device__ int bounded(double x) { return (int)fmin(fmax(x, -1e6), 1e6); }
__device__ int early(int x, int n) {
    for (int i = 0; i < n; ++i) { if (x > 100) return i; x = x * 3 + 1; if (x == 7) break; }
    if (x & 1) return -x;
    return x;
}
__device__ float mixed(float x, int k) { switch (k & 3) { case 0: return x; case 1: x += 1.5f; case 2: x *= 0.75f; } return x - k; }
__device__ void bump(int& x, float* y) { x += 5; *y = *y * 0.5f + x; }
__device__ int& either(int& x, int& y) { if (x < y) return y; return x; }
__device__ Pair paired(int a, float b) { Pair p; p.a = a; p.b = b; if (p.a < 0) { p.b = -b; } return p; }
template <class T> __device__ T clampTo(T x, T low, T high) { return x < low ? low : x > high ? high : x; }
"""


def block_of(seed: int) -> int:
    """Threads of a block: whole warps, which may shuffle, or a warp and a part of one."""
    return 64 if seed % 2 else 40


class Writer(Struct):
    """One kernel being written; `names` are the variables in scope, by their class (i, f, d)."""

    draw: random.Random
    block_size: int
    names: dict[str, list[str]] = field(default_factory=lambda: {"i": [], "f": [], "d": []})
    fresh: int = 0
    loops: int = 0

    def name(self) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    # -- expressions

    def integer(self, depth: int) -> str:
        pick = self.draw.random()
        if depth <= 0 or pick < 0.12:
            return self.integer_leaf(depth)
        a, b = (lambda: self.integer(depth - 1)), (lambda: self.integer(depth - 1))
        forms = (
            lambda: f"({a()} {self.draw.choice('+-*&|^')} {b()})",
            lambda: f"({a()} {self.draw.choice('+-*&|^')} {b()})",
            lambda: f"({a()} / (({b()} & 7) + 1))",
            lambda: f"({a()} % (({b()} & 15) + 1))",
            lambda: f"({a()} / -(({b()} & 7) + 2))",
            lambda: f"({a()} % -(({b()} & 7) + 2))",
            lambda: f"({a()} << ({b()} & 15))",
            lambda: f"({a()} >> ({b()} & 31))",
            lambda: f"({a()} {self.draw.choice(['<', '<=', '>', '>=', '==', '!='])} {b()})",
            lambda: f"({self.real(depth - 1)} {self.draw.choice(['<', '<=', '>', '==', '!='])} {self.real(depth - 1)})",
            lambda: f"({a()} && {b()})",
            lambda: f"({a()} || {b()})",
            lambda: f"({a()} ? {b()} : {a()})",
            lambda: f"(~{a()})",
            lambda: f"(- {a()})",
            lambda: f"(!{a()})",
            lambda: f"(({self.draw.choice(_INTEGERS)}){a()})",
            lambda: f"{self.draw.choice(['min', 'max'])}((int){a()}, (int){b()})",
            lambda: f"max((unsigned){a()}, (unsigned){b()})",
            lambda: f"abs((int){a()})",
            lambda: f"__popc((unsigned){a()})",
            lambda: f"__clz((int){a()})",
            lambda: f"__ffs((int){a()})",
            lambda: f"__brev((unsigned){a()})",
            lambda: f"__mulhi((int){a()}, (int){b()})",
            lambda: f"__umulhi((unsigned){a()}, (unsigned){b()})",
            lambda: f"__byte_perm((unsigned){a()}, (unsigned){b()}, 0x{self.draw.randrange(4096):04x} & 0x7777)",
            lambda: f"__float_as_int((float){self.draw.randrange(-100, 100)}.5f)",
            lambda: f"bounded({self.real(depth - 1)})",
            lambda: f"early((int){a()}, {b()} & 7)",
            lambda: f"paired((int){a()}, {self.single(depth - 1)}).a",
            lambda: f"clampTo<int>({a()}, -50, 50)",
            lambda: f"table[{a()} & 7]",
        )  # fmt: skip
        return self.draw.choice(forms)()

    def integer_leaf(self, depth: int) -> str:
        leaves = ["threadIdx.x", "blockIdx.x", "blockDim.x", "t", self.draw.choice(_LITERALS)]
        leaves += [f"I[{self.index(depth)}]", f"L[{self.index(depth)}]"]
        leaves += self.names["i"] * 2
        return self.draw.choice(leaves)

    def index(self, depth: int) -> str:
        inner = self.integer(depth - 1) if depth > 0 else self.draw.choice(["t", "threadIdx.x * 3", "5"])
        return f"(unsigned)({inner}) & {INPUTS - 1}"

    def single(self, depth: int) -> str:
        """A float."""
        if depth <= 0 or self.draw.random() < 0.15:
            leaves = [f"{self.draw.uniform(-9, 9):.3f}f", "0.1f", f"F[{self.index(0)}]", *self.names["f"]]
            return self.draw.choice(leaves)
        a, b = (lambda: self.single(depth - 1)), (lambda: self.single(depth - 1))
        forms = (
            lambda: f"({a()} {self.draw.choice('+-*/')} {b()})",
            lambda: f"({a()} {self.draw.choice('+-*/')} {b()})",
            lambda: f"(- {a()})",
            lambda: f"fmaf({a()}, {b()}, {a()})",
            lambda: f"fabsf({a()})",
            lambda: f"{self.draw.choice(['floorf', 'ceilf', 'truncf', 'rintf'])}({a()})",
            lambda: f"sqrtf(fabsf({a()}))",
            lambda: f"{self.draw.choice(['fminf', 'fmaxf'])}({a()} + 0.0f, {b()} + 0.0f)",
            lambda: f"((float){self.integer(depth - 1)})",
            lambda: f"((float){self.double(depth - 1)})",
            lambda: f"({a()} * {self.integer(depth - 1)})",
            lambda: f"({self.integer(depth - 1)} ? {a()} : {b()})",
            lambda: f"mixed({a()}, (int){self.integer(depth - 1)})",
            lambda: f"paired((int){self.integer(depth - 1)}, {a()}).b",
        )
        return self.draw.choice(forms)()

    def double(self, depth: int) -> str:
        if depth <= 0 or self.draw.random() < 0.15:
            leaves = [f"{self.draw.uniform(-9, 9):.5f}", f"D[{self.index(0)}]", *self.names["d"]]
            return self.draw.choice(leaves)
        a, b = (lambda: self.double(depth - 1)), (lambda: self.double(depth - 1))
        forms = (
            lambda: f"({a()} {self.draw.choice('+-*/')} {b()})",
            lambda: f"({a()} {self.draw.choice('+-*/')} {self.single(depth - 1)})",
            lambda: f"fma({a()}, {b()}, {a()})",
            lambda: f"sqrt(fabs({a()}))",
            lambda: f"((double){self.integer(depth - 1)})",
            lambda: f"({self.integer(depth - 1)} ? {a()} : {b()})",
        )
        return self.draw.choice(forms)()

    def real(self, depth: int) -> str:
        return self.single(depth) if self.draw.random() < 0.6 else self.double(depth)

    def value(self, kind: str, depth: int) -> str:
        return {"i": self.integer, "f": self.single, "d": self.double}[kind](depth)

    # -- statements

    def block(self, depth: int, count: int) -> str:
        """Statements in a scope of their own."""
        kept = {kind: list(names) for kind, names in self.names.items()}
        text = " ".join(self.statement(depth) for _ in range(count))
        self.names = kept
        return f"{{ {text} }}"

    def statement(self, depth: int) -> str:
        pick = self.draw.randrange(16 if depth > 0 else 8)
        own = {kind: [n for n in names if n[0] == "v"] for kind, names in self.names.items()}
        kind = self.draw.choice([k for k in "iifd" if own[k]] or ["i"])
        if pick < 2 or not own[kind]:
            return self.declaration()
        target = self.draw.choice(own[kind])
        if pick < 4:
            return f"{target} = {self.value(kind, 3)};"
        if pick < 6:
            ops = ["+=", "-=", "*="] + (["&=", "|=", "^="] if kind == "i" else [])
            given = self.value(kind, 2) if kind != "d" else self.real(2)
            return f"{target} {self.draw.choice(ops)} {given};"
        if pick == 6 and kind == "i":
            return f"{target} {self.draw.choice(['<<=', '>>='])} {self.integer(1)} & 7;"
        if pick == 7:
            return self.special(own)
        if pick < 11:
            other = f" else {self.block(depth - 1, 2)}" if self.draw.random() < 0.6 else ""
            return f"if ({self.integer(2)}) {self.block(depth - 1, 2)}{other}"
        if pick < 13:
            return self.loop(depth)
        if pick == 13:
            cases = "".join(
                f"case {at}: {self.block(depth - 1, 1)}{' break;' if self.draw.random() < 0.6 else ''} "
                for at in range(3)
            )
            return f"switch ({self.integer(2)} & 3) {{ {cases}default: {self.block(depth - 1, 1)} }}"
        if pick == 14:
            return f"atomicAdd(&counts[{self.integer(2)} & 15], (unsigned){self.integer(1)});"
        return self.block(depth - 1, 3)

    def declaration(self) -> str:
        kind = self.draw.choice("iifd")
        type_ = {"i": self.draw.choice(_INTEGERS[:8]), "f": "float", "d": "double"}[kind]
        given = self.value(kind, 3)
        name = self.name()
        self.names[kind].append(name)
        return f"{type_} {name} = {given};"

    def loop(self, depth: int) -> str:
        self.loops += 1
        counter = f"n{self.loops}"
        jump = ""
        if self.draw.random() < 0.5:
            jump = f"if ({self.integer(2)}) {self.draw.choice(['break', 'continue'])};"
        limit = self.integer(2)
        self.names["i"].append(counter)
        body = self.block(depth - 1, 2)
        self.names["i"].remove(counter)
        match self.draw.randrange(3):
            case 0:
                return f"for (int {counter} = 0; {counter} < (int)({limit} & 7); ++{counter}) {{ {body} {jump} }}"
            case 1:
                return (
                    f"{{ int {counter} = (int)({limit} & 7); while ({counter}-- > 0) {{ {jump} {body} }} }}"
                )
            case _:
                return f"{{ int {counter} = 0; do {{ {counter} += 1; {body} {jump} }} while ({counter} < (int)({limit} & 3)); }}"

    def special(self, own: dict[str, list[str]]) -> str:
        """Increments inside of expressions, references, arrays, vectors, records."""
        target = self.draw.choice(own["i"]) if own["i"] else None
        name = self.name()
        a, f = self.integer(2), self.single(2)
        forms = [
            f"int {name}[4] = {{1, 2}}; {name}[{a} & 3] = {self.integer(2)}; {name}[1] += {name}[t & 3]; oi[t] += {name}[{a} & 3];",
            f"float4 {name} = make_float4({f}, 1.0f, {self.single(1)}, 0.5f); {name}.y += {name}.x * {name}.w; of[t] += {name}.y - {name}.z;",
            f"Mixed {name}; {name}.at = make_int2((int){a}, 3); {name}.pair = paired(2, {f}); {name}.d = {self.double(1)}; "
            f"Mixed {name}b = {name}; {name}b.at.y *= {name}.at.x; oi[t] ^= {name}b.at.y; od[t] += {name}b.d + {name}b.pair.b;",
            f"int {name} = (int){a}; float {name}f = {f}; bump({name}, &{name}f); oi[t] += {name}; of[t] += {name}f;",
            f"int {name} = (int){a}, {name}b = (int){self.integer(2)}; float {name}f = {f}; bump({self.integer(1)} ? {name} : {name}b, &{name}f); "
            f"int& {name}r = {self.integer(1)} ? {name} : {name}b; {name}r += 3; either({name}, {name}b) ^= 6; oi[t] += {name} - {name}b * 3;",
            f"unsigned char {name} = (unsigned char){a}; {name} += 200; ol[t] += {name}++; ol[t] -= --{name};",
            f"long long* {name} = ol + t; *{name} += {a}; {name}[0] ^= 5;",
            f"union {{ float f; unsigned u; }} {name}; {name}.f = {f}; if ({name}.u >> 31) oi[t] += 11;",
        ]
        if target is not None:
            forms.append(f"if ({target}++ > 3 && --{target} < 50) {target} += 2; else {target}--;")
            forms.append(f"oi[t] += {target}++ + 1;")
        return self.draw.choice(forms)

    def exchange(self) -> str:
        """Through shared memory, by all threads of the block."""
        name = self.name()
        kind = self.draw.choice("if")
        type_ = "int" if kind == "i" else "float"
        shared = f"s{name}"
        shift = self.draw.randrange(1, self.block_size)
        text = (
            f"__shared__ {type_} {shared}[{self.block_size}]; {shared}[threadIdx.x] = {self.value(kind, 2)}; __syncthreads(); "
            f"{type_} {name} = {shared}[(threadIdx.x * 7 + {shift}) % {self.block_size}]; __syncthreads();"
        )
        self.names[kind].append(name)
        return text

    def together(self) -> str:
        """Shuffles, votes and atomics whose old values do not depend on the order, by whole warps."""
        name = self.name()
        kind = self.draw.choice("if")
        type_ = "int" if kind == "i" else "float"
        given = self.value(kind, 2)
        lane = self.integer(1)
        form = self.draw.choice(
            (
                f"__shfl_sync(~0u, {name}s, {lane} & 31)",
                f"__shfl_sync(~0u, {name}s, {lane} & 31, 8)",
                f"__shfl_up_sync(~0u, {name}s, {self.draw.randrange(1, 20)}u)",
                f"__shfl_down_sync(~0u, {name}s, {self.draw.randrange(1, 20)}u, 16)",
                f"__shfl_xor_sync(~0u, {name}s, {self.draw.randrange(1, 32)})",
                f"__ballot_sync(~0u, {name}s > 3)",
                f"__any_sync(~0u, {name}s > 50) + 2 * __all_sync(~0u, {name}s < 50)",
                f"__popc(__match_any_sync(~0u, (int)threadIdx.x & {self.draw.randrange(32)}))",
                f"__syncthreads_count({name}s > 3) + 100 * __syncthreads_or({name}s == 1)",
                f"__reduce_add_sync(~0u, (unsigned)({lane})) + __reduce_xor_sync(~0u, (unsigned)t)",
            )
        )
        self.names[kind].append(name)
        return f"const {type_} {name}s = {given}; {type_} {name} = {form};"

    def kernel(self, number: int) -> str:
        """The whole kernel."""
        parts = ["const int t = blockIdx.x * blockDim.x + threadIdx.x;"]
        parts += [self.declaration() for _ in range(3)]
        for _ in range(self.draw.randrange(4, 9)):
            pick = self.draw.random()
            whole_warps = self.block_size % 32 == 0
            parts.append(
                self.exchange()
                if pick < 0.2
                else self.together()
                if pick < 0.35 and whole_warps
                else self.statement(3)
            )
        parts.append(f"if ({self.integer(2)}) return;" if self.draw.random() < 0.3 else "")
        parts.append(f"oi[t] += (int)({self.integer(3)}); of[t] += {self.single(3)};")
        parts.append(f"od[t] += {self.double(3)}; ol[t] += {self.integer(3)};")
        lines = "\n    ".join(part for part in parts if part)
        return f"__global__ void k{number}({PARAMETERS}) {{\n    {lines}\n}}\n"


def program(seed: int, kernels: int) -> str:
    """A CUDA program of random kernels; it reads arrays from the file named first and writes to the second."""
    draw = random.Random(seed)
    block = block_of(seed)
    threads = GRID * block
    text = "".join(Writer(draw, block).kernel(number) for number in range(kernels))
    launches = "".join(
        f"    clear(); k{n}<<<{GRID}, {block}>>>(I, F, D, L, oi, of, od, ol, counts); dump(out);\n"
        for n in range(kernels)
    )
    return f"""#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#pragma GCC optimize("O0", "wrapv")
{BEFORE}{text}
int *I, *oi; float *F, *of; double *D, *od; long long *L, *ol; unsigned *counts;
void clear() {{
    memset(oi, 0, 4 * {threads}); memset(of, 0, 4 * {threads}); memset(od, 0, 8 * {threads});
    memset(ol, 0, 8 * {threads}); memset(counts, 0, 64);
}}
void dump(FILE* f) {{
    fwrite(oi, 4, {threads}, f); fwrite(of, 4, {threads}, f); fwrite(od, 8, {threads}, f);
    fwrite(ol, 8, {threads}, f); fwrite(counts, 4, 16, f);
}}
int main(int, char** argv) {{
    cudaMalloc(&I, 4 * {INPUTS}); cudaMalloc(&F, 4 * {INPUTS}); cudaMalloc(&D, 8 * {INPUTS}); cudaMalloc(&L, 8 * {INPUTS});
    cudaMalloc(&oi, 4 * {threads}); cudaMalloc(&of, 4 * {threads}); cudaMalloc(&od, 8 * {threads});
    cudaMalloc(&ol, 8 * {threads}); cudaMalloc(&counts, 64);
    FILE* in = fopen(argv[1], "rb"); FILE* out = fopen(argv[2], "wb");
    if (fread(I, 4, {INPUTS}, in) + fread(F, 4, {INPUTS}, in) + fread(D, 8, {INPUTS}, in) + fread(L, 8, {INPUTS}, in) != 4 * {INPUTS}) return 1;
{launches}    fclose(out);
    return 0;
}}
"""
