"""What the lines of ten kernels that everybody knows draw, in short expectations."""

import math
from pathlib import Path

import pytest

from wattslice.analysis import KernelAnalysis
from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.pipeline.files import analyze_file

HERE = Path(__file__).parent / "known_kernels.cu"
GPUS = ("v100", "quadro_rtx_8000", "a100")


@pytest.fixture(scope="module", params=GPUS)
def kernels(request) -> dict[str, KernelAnalysis]:
    return {one.name: one for one in analyze_file(HERE, Config((HERE,), GpuChoice(request.param))).kernels}


EXPECTED: tuple[tuple[str, tuple[tuple[str, ...], ...], float, float], ...] = (
    ("saxpy", (("a * x[i] + y[i]",),), 0.85, 1.0),
    ("reduce", (("v += in[i]",),), 0.8, 1.0),
    ("reduce", (("s[t] += s[t + k]", "__syncthreads"),), 0.0, 0.08),
    ("transposeNaive", (("out[x * n + y]",),), 0.4, 0.95),
    ("transposePadded", (("= in[y * n + x]",), ("out[y * n + x]",)), 0.35, 0.55),
    ("matmul", (("sum += as",),), 0.45, 0.97),
    ("stencil", (("out[y * n + x]", "+ in", "in[y * n + x - 1]"),), 0.8, 1.0),
    ("stencil", (("in[(y - 1) * n + x]",), ("in[(y + 1) * n + x]",)), 0.03, 0.25),
    ("histogram", (("atomicAdd(&s[data[i]]",),), 0.6, 0.97),
    ("histogram", (("atomicAdd(&bins",),), 0.0, 0.05),
    ("spmv", (("val[j] * x[col[j]]",),), 0.85, 1.0),
    ("scan", (("= in[base", "out[base"),), 0.25, 0.85),
    ("scan", (("__syncthreads",),), 0.0, 0.1),
    ("softmax", (("* scale",),), 0.3, 0.8),
    ("softmax", (("row[i]",),), 0.8, 1.0),
    ("softmax", (("s[threadIdx.x] =", "s[threadIdx.x] +="),), 0.0, 0.1),
    ("nbody", (("dx", "dy", "o.w", "rsqrtf"),), 0.6, 1.0),
    ("nbody", (("p[tile", "f[i] =", "float4 me"),), 0.0, 0.05),
)
"""Kernel, groups of lines by what stands in them, the shares of the operations that each group may have."""


@pytest.mark.parametrize(("name", "groups", "low", "high"), EXPECTED)
def test_the_lines_that_cost_are_those_that_work(kernels, name, groups, low, high):
    for texts in groups:
        lines = [line for line in kernels[name].hot_lines if any(text in line.text for text in texts)]
        assert lines, texts
        assert low <= math.fsum(line.share for line in lines) <= high


def test_everything_adds_up(kernels):
    assert len(kernels) == 11
    for kernel in kernels.values():
        assert kernel.power_w is not None
        lines_w = math.fsum(line.power_w for line in kernel.hot_lines)
        assert lines_w + (kernel.power.static_w or 0.0) == pytest.approx(kernel.power_w)
        assert math.fsum(part.average_power_w or 0.0 for part in kernel.slices) == pytest.approx(
            kernel.power_w
        )
        limit_w = (kernel.power_limit_w or math.inf) * (1.0 + 1e-9)
        assert all((part.power_w or 0.0) <= limit_w for part in kernel.slices)


def test_a_naive_transposition_pays_at_its_store_and_a_padded_one_at_both(kernels):
    naive, padded = (
        {line.text.strip(): line.power_w * (kernels[name].time_s or 0.0) for line in kernels[name].hot_lines}
        for name in ("transposeNaive", "transposePadded")
    )
    assert naive["out[x * n + y] = v;"] > 1.1 * naive["float v = in[y * n + x];"]
    load = padded["tile[threadIdx.y][threadIdx.x] = in[y * n + x];"]
    assert padded["out[y * n + x] = tile[threadIdx.x][threadIdx.y];"] == pytest.approx(load, rel=0.3)
