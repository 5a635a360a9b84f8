"""How fast the interpreter is, as Markdown.

    python -m wattslice_tools.wild.interpreter_speed [--repeats 3] [-o docs/appendix/speed.md]

Thread-instructions are operations of our tree (operators, accesses, conversions, assignments, calls) times
the threads that executed them. Meaningful on an otherwise idle machine only.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
from msgspec import Struct

from wattslice.frontend.cuda.read import read_cuda
from wattslice.profiling.interpreter.launch import Execution, Launch
from wattslice.profiling.interpreter.machine import DeviceMemory
from wattslice.profiling.interpreter.run import interpret
from wattslice_tools.wild.document import write_section


class Case(Struct, frozen=True):
    """A kernel `k(const float* a, float* b, int* c, int n)` and its launch."""

    title: str
    body: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


_I = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"
CASES = (
    Case("saxpy, 2^20 threads", f"{_I} if (i < n) b[i] = 2.5f * a[i] + b[i];", (4096, 1, 1), (256, 1, 1)),
    Case("polynomial of degree 64 in registers", f"{_I} float x = a[i], s = 0; "
         "for (int k = 0; k < 64; ++k) s = s * x + 0.5f; b[i] = s;", (256, 1, 1), (256, 1, 1)),
    Case("matrix product, tiles of 16 x 16 in shared memory, 256 x 256",
         """__shared__ float s[16][16], t[16][16];
         const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y; float sum = 0;
         for (int m = 0; m < 16; ++m) {
             s[threadIdx.y][threadIdx.x] = a[y * 256 + m * 16 + threadIdx.x];
             t[threadIdx.y][threadIdx.x] = a[(m * 16 + threadIdx.y) * 256 + x];
             __syncthreads();
             for (int k = 0; k < 16; ++k) sum += s[threadIdx.y][k] * t[k][threadIdx.x];
             __syncthreads();
         }
         b[y * 256 + x] = sum;""", (16, 16, 1), (16, 16, 1)),
    Case("Mandelbrot set: loops that end at different times", f"""{_I}
         const float p = i % 256 / 100.0f - 2, q = i / 256 / 100.0f - 1.3f; float x = 0, y = 0; int k = 0;
         while (k < 200 && x * x + y * y < 4) {{
             const float z = x * x - y * y + p; y = 2 * x * y + q; x = z; ++k;
         }}
         c[i] = k;""", (256, 1, 1), (256, 1, 1)),
    Case("histogram by atomics, 2^18 values", f"""{_I}
         atomicAdd(&c[(int)(a[i] * 255)], 1);""", (1024, 1, 1), (256, 1, 1)),
    Case("branches on data, eight deep", f"""{_I} int h = __float_as_int(a[i]);
         for (int k = 0; k < 32; ++k) {{
             if (h & 1) h = h * 3 + 1; else if (h & 2) h = h / 2; else h ^= 0x55;
         }}
         c[i] = h;""", (256, 1, 1), (256, 1, 1)),
    Case("one block of 32 threads, 10 000 iterations: nothing to spread numpy's cost over", f"""{_I}
         int h = i; for (int k = 0; k < 10000; ++k) h = h * 5 + k; c[i] = h;""", (1, 1, 1), (32, 1, 1)),
)  # fmt: skip


def run(case: Case, folder: Path) -> tuple[Execution, float]:
    """The counts of one launch, and its seconds."""
    path = folder / "speed.cu"
    path.write_text(
        f"__global__ void k(const float* a, float* b, int* c, int n) {{ {case.body} }}\n", encoding="utf-8"
    )
    (kernel,) = read_cuda(path).kernels
    memory = DeviceMemory()
    numbers = np.random.default_rng(0).random(1 << 20, np.float32)
    arguments = [memory.allocate(name, numbers.view(np.uint8)) for name in "abc"]
    begin = time.perf_counter()
    execution = interpret(Launch(kernel, case.grid, case.block, 0, (*arguments, len(numbers))), memory)
    return execution, time.perf_counter() - begin


def main() -> None:
    """Prints the table or writes it into a document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", type=Path)
    options = parser.parse_args()
    lines = [
        f"The least of {options.repeats} runs each, on one of {os.cpu_count()} cores ({platform.machine()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}).",
        "",
        "| Kernel | thread-instructions | seconds | million a second |",
        "|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            runs = [run(case, Path(folder)) for _ in range(options.repeats)]
            execution, seconds = min(runs, key=lambda pair: pair[1])
            rate = execution.thread_instructions / seconds / 1e6
            lines.append(f"| {case.title} | {execution.thread_instructions:,} | {seconds:.3f} | {rate:.1f} |")
    lines.append("")
    if options.o is None:
        print("\n".join(lines))
    else:
        write_section(options.o, "interpreter_speed", lines)


if __name__ == "__main__":
    main()
