"""How long a sweep of 512 variants takes beside runs of single variants, as Markdown.

    python -m wattslice_tools.wild.sweep_speed [--singles 32] [--gpu a100] [-o docs/appendix/speed.md]

A tiled product of matrices whose tile, unrolling and work per thread are macros. Every so many of the 512
variants is also analysed alone, by a process of `wattslice analyze`; their mean times 512 is what all of them
would take. No process keeps results.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import product
from pathlib import Path

from wattslice_tools.wild.document import publish
from wattslice_tools.wild.speed import program, run

_SOURCE = """
__global__ void multiply(const float *a, const float *b, float *c, int n) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = (blockIdx.y * TILE + threadIdx.y) * WORK, column = blockIdx.x * TILE + threadIdx.x;
    float sums[WORK] = {};
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
#pragma unroll UNROLL
        for (int i = 0; i < TILE; ++i)
            for (int w = 0; w < WORK; ++w)
                sums[w] += left[(threadIdx.y + w) % TILE][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    for (int w = 0; w < WORK; ++w) c[(row + w) * n + column] = sums[w];
}
"""
_MACROS = {
    "TILE": (4, 8, 12, 16, 20, 24, 28, 32),
    "UNROLL": (1, 2, 3, 4, 5, 6, 7, 8),
    "WORK": (1, 2, 3, 4, 5, 6, 7, 8),
}
_N = 6720


def main() -> None:
    """Prints the table or writes it into a document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--singles", type=int, default=32)
    parser.add_argument("--gpu", default="a100")
    parser.add_argument("-o", type=Path)
    options = parser.parse_args()
    variants = list(product(*_MACROS.values()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "multiply.cu"
        path.write_text(_SOURCE, encoding="utf-8")
        common = [str(path), "--gpu", options.gpu, "--set", f"n={_N}", "--format", "json"]
        launch = f"multiply={_N}/TILE,{_N}/(TILE*WORK):TILE,TILE"
        macros = [f"-D{name}={','.join(map(str, values))}" for name, values in _MACROS.items()]
        sweep = run([*program(), "sweep", *common, *macros, "--launch", launch, "--jobs", "1"])
        singles = []
        for variant in variants[:: len(variants) // options.singles]:
            tile, _, work = variant
            words = [f"-D{name}={value}" for name, value in zip(_MACROS, variant, strict=True)]
            grid = f"multiply={_N // tile},{_N // (tile * work)}:{tile},{tile}"
            singles.append(run([*program(), "analyze", *common, *words, "--launch", grid]))
    if any(one.status != 0 for one in (sweep, *singles)):
        raise SystemExit("a run failed")
    number, count = len(variants), len(singles)
    cpu_s = sum(one.cpu_s for one in singles) / count
    wall_s = sum(one.wall_s for one in singles) / count
    swept = f"{sweep.cpu_s:.1f} | {sweep.wall_s:.1f} | {1e3 * sweep.cpu_s / number:.0f}"
    alone = f"{number * cpu_s:.0f} | {number * wall_s:.0f} | {1e3 * cpu_s:.0f}"
    ratios = f"{number * cpu_s / sweep.cpu_s:.1f} | {number * wall_s / sweep.wall_s:.1f} | "
    lines = [
        f"One process, `--jobs 1`; {count} of the {number} variants alone. A tiled product, {options.gpu}.",
        "",
        "| | CPU, s | wall, s | a variant, CPU, ms |",
        "|---|---|---|---|",
        f"| `sweep` of {number} variants | {swept} |",
        f"| {number} runs of `analyze`, from the mean of {count} | {alone} |",
        f"| ratio | {ratios} |",
        "",
    ]
    publish(options.o, "sweep_speed", lines)


if __name__ == "__main__":
    main()
