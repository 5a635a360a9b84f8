"""Random kernels whose control flow thread indices and known sizes decide, and what they truly run.

`draw(seed)` makes one kernel with a launch. Its guards cut the grid at odd places: affine conditions over
block and thread, residues, masks and shifts, early returns, strided and triangular loops. The lock-step
interpreter runs it over the whole grid; counting has to find the same without doing that.
"""

from __future__ import annotations

from random import Random

import numpy as np
from msgspec import Struct

from wattslice import ir
from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile
from wattslice.launches.launch import KernelLaunch, LaunchSource
from wattslice.profiling.interpreter.launch import Allowance, Execution, Launch
from wattslice.profiling.interpreter.machine import DeviceMemory
from wattslice.profiling.interpreter.run import interpret

OUT_WORDS = 1024
MOST_THREADS = 1 << 18


class RandomKernel(Struct, frozen=True):
    """`text`: a CUDA function; `n`, `m`: values of its parameters."""

    text: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    n: int
    m: int


class _Writer:
    """Writes one kernel; `axes` is 1 to 3."""

    def __init__(self, random: Random, axes: int) -> None:
        self.random = random
        self.axes = axes
        self.loops = 0
        names = "xyz"[:axes]
        self.indexes = list(names)
        for axis in names:
            self.indexes += [f"threadIdx.{axis}", f"blockIdx.{axis}"]
        if axes == 2:
            self.indexes.append("linear")

    def number(self, *choices: int) -> int:
        return self.random.choice(choices)

    def index(self) -> str:
        return self.random.choice(self.indexes)

    def bound(self, index: str) -> str:
        """Something that an index may be compared with, near enough to matter."""
        axis = index[-1] if index[-1] in "xyz" else "x"
        extents = {"threadIdx": f"(int)blockDim.{axis}", "blockIdx": f"(int)gridDim.{axis}"}
        kind = index.split(".")[0]
        draw = self.random.random()
        if draw < 0.3:
            return str(self.number(1, 2, 7, 16, 31, 33, 100, 250, 1000, 1500))
        if draw < 0.65:
            return self.random.choice(["n", "m", "n / 4", "n - 1", "m / 2 + 3", "n - m", "(n + 5) / 3"])
        extent = extents.get(kind, f"(int)(gridDim.{axis} * blockDim.{axis})")
        if draw < 0.85:
            return f"{extent} / {self.number(2, 3, 4, 5)}"
        return f"{extent} - {self.number(1, 2, 8)}"

    def affine(self) -> str:
        first = self.index()
        draw = self.random.random()
        if draw < 0.5:
            return first
        if draw < 0.65:
            return f"{self.number(2, 3, -1, 4)} * (int){first} + {self.number(0, 1, -3, 17)}"
        return f"(int){first} {self.random.choice('+-')} {self.number(1, 1, 2)} * (int){self.index()}"

    def test(self) -> str:
        draw = self.random.random()
        if draw < 0.62:
            index = self.index()
            left = index if self.random.random() < 0.7 else self.affine()
            compare = self.random.choice(["<", "<", "<", "<=", ">", ">=", "==", "!="])
            return f"(int)({left}) {compare} {self.bound(index)}"
        index = self.index()
        if draw < 0.76:
            modulus = self.number(2, 3, 5, 8, 32, 100)
            compare = self.random.choice(["==", "!=", "<"])
            return f"{index} % {modulus} {compare} {self.random.randrange(modulus)}"
        if draw < 0.85:
            mask = self.number(1, 3, 7, 12, 31)
            return f"({index} & {mask}) == {self.random.randrange(mask + 1) & mask}"
        if draw < 0.93:
            return f"({index} >> {self.number(1, 2, 5)}) < {self.number(1, 3, 10, 40)}"
        return f"{index} / {self.number(3, 10, 32)} == {self.number(0, 1, 4)}"

    def condition(self, depth: int = 0) -> str:
        draw = self.random.random()
        if depth > 1 or draw < 0.6:
            return self.test()
        if draw < 0.8:
            return f"({self.condition(depth + 1)}) && ({self.condition(depth + 1)})"
        if draw < 0.93:
            return f"({self.condition(depth + 1)}) || ({self.condition(depth + 1)})"
        return f"!({self.condition(depth + 1)})"

    def store(self) -> str:
        return f"out[({self.index()} * {self.number(1, 2, 3)}) & {OUT_WORDS - 1}] = {self.index()};"

    def loop(self, depth: int) -> str:
        self.loops += 1
        i = f"i{self.loops}"
        draw = self.random.random()
        is_while = self.random.random() < 0.2
        body = self.block(depth + 1, (i,), may_continue=not is_while)
        if is_while:
            end = self.random.choice(["n", "m", "3 * n", "n / 2"])
            return f"int {i} = x; while ({i} < {end}) {{ {body[1:-1]} {i} += gridDim.x * blockDim.x; }}"
        if draw < 0.25:
            step = self.number(1, 1, 2, 3)
            first, limit = self.number(0, 1, 3), self.number(5, 8, 20, 33)
            return f"for (int {i} = {first}; {i} < {limit}; {i} += {step}) {body}"
        if draw < 0.45:
            index = self.random.choice(["threadIdx.x", "blockIdx.x", "x"])
            limit = f"(int)({index} % {self.number(3, 7, 16)})"
            return f"for (int {i} = 0; {i} < {limit}; ++{i}) {body}"
        if draw < 0.6:
            lower = self.random.choice(
                ["min((int)threadIdx.x, 20)", "min(x / 64, 12)", "max(0, 9 - (int)blockIdx.x)"]
            )
            return f"for (int {i} = {lower}; {i} < 24; ++{i}) {body}"
        if draw < 0.85:
            end = self.random.choice(["n", "m", "3 * n", "n / 2"])
            return f"for (int {i} = x; {i} < {end}; {i} += gridDim.x * blockDim.x) {body}"
        limit = self.number(40, 100, 130)
        return f"for (int {i} = (int)threadIdx.x; {i} < {limit}; {i} += (int)blockDim.x) {body}"

    def statement(self, depth: int, may_leave: bool) -> str:
        draw = self.random.random()
        if depth > 2 or draw < 0.25:
            return self.store()
        if draw < 0.6:
            otherwise = f" else {self.block(depth + 1)}" if self.random.random() < 0.3 else ""
            return f"if ({self.condition()}) {self.block(depth + 1)}{otherwise}"
        if draw < 0.75 and may_leave:
            return f"if ({self.condition()}) return;"
        if depth < 2:
            return self.loop(depth)
        return self.store()

    def block(self, depth: int, counters: tuple[str, ...] = (), *, may_continue: bool = True) -> str:
        self.indexes += counters
        lines = [self.statement(depth, may_leave=depth == 0) for _ in range(self.number(1, 1, 2))]
        if counters and self.random.random() < 0.2:
            leave = [f"if ({counters[0]} > {self.number(3, 9, 30)}) break;"]
            if may_continue:
                leave.append(f"if (({counters[0]} & 1) == 0) continue;")
            lines.insert(0, self.random.choice(leave))
        for _ in counters:
            self.indexes.pop()
        return "{ " + " ".join(lines) + " " + self.store() + " }"


class _ObjectWriter(_Writer):
    """Writes kernels whose bounds and guards come out of records, tables, pointers and shared scalars.

    `values`: names of integers that such things hold. All are bounded, so that every loop ends soon.
    """

    def __init__(self, random: Random, axes: int) -> None:
        super().__init__(random, axes)
        self.names = 0
        self.shares = True  # no thread has returned yet, and none waits alone
        self.values: list[str] = []

    def value(self) -> str:
        """A small number, of which it is not plain where it comes from."""
        if self.values and self.random.random() < 0.75:
            return f"({self.random.choice(self.values)} & 15)"
        return self.random.choice(["(n & 7)", "(m & 7)", "3", f"(int)({self.index()} & 3)"])

    def setting(self) -> str:
        """Declares an object, or writes one in some way."""
        self.names += 1
        v = f"v{self.names}"
        a, b, c = self.value(), self.value(), self.value()
        ways = [
            (v, f"int {v} = {a}; int* p{v} = &{v}; *p{v} = {b};"),
            (v, f"int {v} = {a}; set(&{v}, {b});"),
            (v, f"int {v} = {a}; int w{v} = {b}; exchange({v}, w{v});"),
            (v, f"int {v} = {a}; memcpy(&{v}, &m, 4);"),
            (v, f"int {v} = {a}; ((unsigned char*)&{v})[0] = {b};"),
            (v, f"int {v} = {a}; int w{v} = 1; int* p{v} = {self.test()} ? &{v} : &w{v}; *p{v} = {b};"),
            (v, f"int {v} = {a}; auto f{v} = [=]() mutable {{ {v} += {b}; return {v}; }}; {v} += f{v}();"),
            (v, f"int {v} = {a}; auto f{v} = [&]() {{ {v} += {b}; }}; f{v}(); f{v}();"),
            (f"{v}.x", f"P {v} = {{{a}, {b}}}; {v}.x = {c};"),
            (f"{v}.y", f"P {v} = {{{a}, {b}}}; P* p{v} = &{v}; p{v}->x = {c};"),
            (f"{v}.y", f"P {v} = {{{a}, {b}}}; ((int*)&{v})[{self.index()} & 1] = {c};"),
            (f"{v}.x", f"P {v} = {{{a}, {b}}}; for (int j = 0; j < {c}; ++j) {v} = more({v});"),
            (f"{v}.x", f"P {v} = {{{a}, {b}}}; for (int j = 0; j < 9; ++j) {v}.y += j;"),
            (f"{v}.i", f"U {v}; {v}.i = {a}; {v}.u = {b};"),
            (f"{v}.x", f"int2 {v} = make_int2({a}, {b}); if ({self.test()}) {v}.x = {c};"),
            (f"{v}[{self.index()} & 3]", f"const int {v}[4] = {{{a}, {b}, {c}, 5}};"),
            (f"{v}[1]", f"int {v}[4] = {{{a}, {b}, {c}}}; {v}[{self.index()} & 3] = {self.value()};"),
            (f"{v}[2]", f"int {v}[4] = {{{a}, {b}}}; for (int j = 0; j < 4; ++j) {v}[j] += {c};"),
            (f"{v}[2]", f"int {v}[4] = {{{a}}}; int* p{v} = {v} + 1; p{v}[1] = {b};"),
            (f"{v}[0]", f"int {v}[2]; {v}[0] = {a}; if ({self.test()}) {{ {v}[0] += {b}; }}"),
            (v, f"int {v} = {a}; if ({self.test()}) {{ {v} = {b}; }} else {{ {v} += {c}; }}"),
            (v, f"int {v} = 0; while ({v} < {a} + 2) {{ if ({v} == {b}) break; {v} += 1; }}"),
            (v, f"int {v} = {a}; for (int j = 0; j < {b}; ++j) {{ {v} += j; if ({v} > 9) break; }}"),
            (v, f"short {v} = (short)({a} + 65530); {v} += {b};"),
            (v, f"int {v} = ({{ int w = {a}; if ({self.test()}) w += {b}; w * 2; }});"),
            (v, f"int {v} = {a}; {{ if ({self.test()}) goto end{v}; {v} += {b}; end{v}: {v} += 1; }}"),
            (
                v,
                f"int {v} = {a}; for (int j = 0; j < {b}; ++j) {{ Adds g{{&{v}, j}}; "
                f"if ({v} > {c}) break; }}",
            ),
            (
                v,
                f"int {v} = {a}; for (int j = 0; j < 5; ++j) {{ if (j == {b}) goto next{v}; "
                f"if ({v} > 9) break; "
                f"{v} += j; next{v}: {v} += {c}; }}",
            ),
        ]
        if self.shares:
            first = "threadIdx.x + threadIdx.y + threadIdx.z == 0"
            ways += [
                (v, f"__shared__ int {v}; if ({first}) {v} = n; __syncthreads();"),
                (v, f"__shared__ int {v}; if ({first}) {v} = blockIdx.x; __syncthreads();"),
                (
                    f"{v}[{self.index()} & 3]",
                    f"__shared__ int {v}[4]; if ({first}) {{ for (int j = 0; j < 4; ++j) {v}[j] = j * 3; }} "
                    "__syncthreads();",
                ),
            ]
        name, text = self.random.choice(ways)
        self.values.append(name)
        return text

    def statement(self, depth: int, may_leave: bool) -> str:
        draw = self.random.random()
        if draw < 0.35:
            return self.deep_loop()
        if draw < 0.5:
            compare = self.random.choice(["<", ">", "=="])
            return f"if ({self.value()} {compare} {self.value()}) {{ {self.store()} }}"
        return super().statement(depth, may_leave)

    def deep_loop(self) -> str:
        """One to three loops inside each other, whose bounds may follow the counters around."""
        counters: list[str] = []
        text = ""
        for _ in range(self.number(1, 1, 2, 3)):
            self.loops += 1
            i = f"i{self.loops}"
            start = self.random.choice(["0", "0", *counters])
            limit = self.random.choice([self.value(), self.value(), "6", *(f"{c} + 2" for c in counters)])
            text += f"for (int {i} = {start}; {i} < {limit}; ++{i}) {{ "
            if self.random.random() < 0.2:
                text += f"if ({i} == {self.value()}) {self.random.choice(['continue', 'break'])}; "
            counters.append(i)
        return text + self.store() + " }" * len(counters)


OBJECTS = """
struct P { int x, y; };
struct Adds { int* p; int n; __device__ ~Adds() { *p += n; } };
union U { int i; unsigned u; };
__device__ void set(int* p, int n) { *p = n; }
__device__ void exchange(int& a, int& b) { int c = a; a = b; b = c; }
__device__ P more(P s) { s.x += 1; return s; }
"""


def draw_objects(seed: int) -> RandomKernel:
    """The same with objects that are written in other ways than by their names; `OBJECTS` goes before it."""
    random = Random(seed)
    axes = random.choice([1, 1, 2, 3])
    block = random.choice({1: [(64, 1, 1), (96, 1, 1)], 2: [(16, 8, 1)], 3: [(8, 4, 2)]}[axes])
    grid = tuple(random.choice([1, 2, 5, 40] if axis < axes else [1]) for axis in range(3))
    writer = _ObjectWriter(random, axes)
    lines = [f"const int {a} = blockIdx.{a} * blockDim.{a} + threadIdx.{a};" for a in "xyz"[:axes]]
    if axes == 2:
        lines.append("const int linear = y * (gridDim.x * blockDim.x) + x;")
    lines += [writer.setting() for _ in range(random.choice([1, 2, 3]))]
    lines += [writer.statement(1, may_leave=False) for _ in range(random.choice([1, 2, 2]))]
    lines.append(writer.store())
    text = f"__global__ void k{seed}(int* out, int n, int m) {{\n  " + "\n  ".join(lines) + "\n}\n"
    return RandomKernel(
        text, (grid[0], grid[1], grid[2]), block, random.choice([3, 37, 900]), random.choice([1, 6, 77])
    )


def draw(seed: int) -> RandomKernel:
    """The kernel number `seed`: always the same one."""
    random = Random(seed)
    axes = random.choice([1, 1, 1, 2, 2, 3])
    if axes == 1:
        block = (random.choice([32, 64, 96, 128, 200, 256, 512, 1024]), 1, 1)
        blocks = random.choice([1, 2, 7, 30, 65, 128, 300, 1000])
        grid = (max(1, min(blocks, MOST_THREADS // block[0])), 1, 1)
    elif axes == 2:
        block = random.choice([(16, 16, 1), (32, 8, 1), (32, 32, 1), (8, 8, 1), (64, 4, 1), (10, 10, 1)])
        side = int((MOST_THREADS / (block[0] * block[1])) ** 0.5)
        grid = (random.randint(1, side), random.randint(1, side), 1)
    else:
        block = random.choice([(8, 8, 4), (4, 4, 4), (32, 2, 2), (16, 4, 2)])
        grid = (random.randint(1, 12), random.randint(1, 12), random.randint(1, 6))
    across = grid[0] * block[0]
    share = random.choice([0.1, 0.4, 0.7, 0.97, 1.0, 1.0, 1.3, 4.0])
    n = max(1, int(across * share) - random.choice([0, 0, 1, 5]))
    m = random.choice([1, 10, 64, 100, 777, max(1, across // 3)])
    writer = _Writer(random, axes)
    lines = [f"const int {a} = blockIdx.{a} * blockDim.{a} + threadIdx.{a};" for a in "xyz"[:axes]]
    if axes == 2:
        lines.append("const int linear = y * (gridDim.x * blockDim.x) + x;")
    lines += [writer.statement(0, may_leave=True) for _ in range(random.choice([1, 2, 2, 3]))]
    lines.append(writer.store())
    body = "\n  ".join(lines)
    text = f"__global__ void k{seed}(int* out, int n, int m) {{\n  {body}\n}}\n"
    return RandomKernel(text, grid, block, n, m)


DEAD_WORK = (
    "int d = 0; for (int q = 0; q < n; ++q) d += out[q & 1023];",
    "int d = 0; for (int q = 0; q < 9; ++q) { if (out[q]) break; for (int r = q; r < m; ++r) d += r * q; }",
    "int d = x & 31; while (d > 0) { if (out[d & 7] == n) { d -= 3; continue; } d -= 1; }",
    "int d = 0; if (x % 3 == 1) { for (int q = x; q < n; q += 64) d ^= out[q & 31]; } else d = out[x & 3];",
    "int d[8]; for (int q = 0; q < m; ++q) d[(q + x) & 7] = out[q & 15] / (q + 1);",
)
"""Statements that change nothing."""


def with_dead_work(drawn: RandomKernel, seed: int) -> RandomKernel:
    """The same kernel, and before its last statement one that nobody could miss."""
    before, last = drawn.text.rsplit("\n  ", 1)
    dead = DEAD_WORK[seed % len(DEAD_WORK)]
    return RandomKernel(f"{before}\n  {{ {dead} }}\n  {last}", drawn.grid, drawn.block, drawn.n, drawn.m)


def truth(kernel: ir.Kernel, drawn: RandomKernel) -> Execution:
    """What each region of the kernel runs, over the whole grid."""
    memory = DeviceMemory()
    out = memory.allocate("out", np.zeros(4 * OUT_WORDS, np.uint8))
    launch = Launch(kernel, drawn.grid, drawn.block, 0, (out, drawn.n, drawn.m))
    return interpret(launch, memory, Allowance(max_steps=2_000_000))


def answer(kernel: ir.Kernel, drawn: RandomKernel) -> ExecutionProfile:
    """What counting says."""
    return count(
        KernelLaunch(kernel, drawn.grid, drawn.block, 0, LaunchSource.OPTION, None, (None, drawn.n, drawn.m))
    )
