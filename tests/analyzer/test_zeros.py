"""Arrays that host code sets to zero and nothing writes: told, and counted as zeros. Truth by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wattslice.api import analyze_text

SOURCE = """
#define CHECK(call) {{ cudaError_t e = call; if (e != cudaSuccess) return 1; }}
__global__ void k(const float *x, float *y, float *z, float a, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < 4; j++) sum += a * x[i] + {extra};
    z[i] = {stored};
}}
__global__ void fill(float *p) {{ p[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }}
void other(float *p);
int main(int argc, char **argv) {{
    int n = 1 << 20;
    float *x, *y, *z;
    cudaMalloc(&x, n * sizeof(float));
    CHECK(cudaMalloc((void **)&y, n * sizeof(float)));
    cudaMalloc(&z, sizeof(float) * n);
    float *h = (float *)calloc(n, sizeof(float));
    {host}
    k<<<n / 256, 256>>>(x, y, z, 2.0f, n);
    {after}
    cudaFree(x);
    free(h);
}}
"""
SET_X = "cudaMemset(x, 0, n * sizeof(float));"
SET_Z = "cudaMemset(z, 0, sizeof(float) * n);"
COPY_Y = "cudaMemcpy(y, h, n * sizeof(float), cudaMemcpyHostToDevice);"


def data(host: str, after: str = "", extra: str = "y[i]", stored: str = "sum") -> str:
    text = SOURCE.format(host=host, after=after, extra=extra, stored=stored)
    kernels = analyze_text(text, gpu="v100").kernels
    (found,) = {one.launch.data for one in kernels if one.name == "k"}
    return found


def test_what_is_set_to_zero_is_told_with_its_line():
    assert data("") == "live"
    assert data(SET_X) == "live, x zeros (cudaMemset in line 18)"
    assert data(COPY_Y) == "live, y zeros (cudaMemcpy in line 18)"
    assert data(f"CHECK({SET_X[:-1]})") == "live, x zeros (cudaMemset in line 18)"


def test_a_host_array_that_is_set_to_zero_carries_it():
    host = "float *g = (float *)malloc(n * sizeof(float)); memset(g, 0, n * sizeof(float));"
    copy = "cudaMemcpy(x, g, n * sizeof(float), cudaMemcpyHostToDevice);"
    assert data(host + copy) == "live, x zeros (cudaMemcpy in line 18)"
    assert data(host + "g[argc] = 1;" + copy) == "live"


def test_an_array_that_only_zeros_are_stored_in_stays_zero():
    """The sum of a * x + y is zero where x and y are; where one of them lives, it is not."""
    everything = SET_X + COPY_Y + SET_Z
    told = "x zeros (cudaMemset in line 18), y zeros (cudaMemcpy in line 18), z zeros (cudaMemset in line 18)"
    assert data(everything) == f"live, {told}"
    assert data(everything, stored="z[i] + sum * a") == f"live, {told}"
    for stored in ("sum + 1.0f", "sum + i", "expf(sum)", "sum / sum", "z[i] + n"):
        assert "z zeros" not in data(everything, stored=stored), stored
    assert "z zeros" not in data(SET_X + SET_Z)
    assert "x zeros" in data(SET_X + SET_Z)
    assert "z zeros" not in data(everything, extra="y[i]; sum++")


@pytest.mark.parametrize(
    "host",
    [
        "cudaMemset(x, 1, n * sizeof(float));",
        "cudaMemset(x, 0, n);",  # a quarter
        "cudaMemset(x, 0, n * sizeof(float)); other(x);",
        "cudaMemset(x, 0, n * sizeof(float)); float *alias = x; other(alias);",
        "cudaMemset(x, 0, n * sizeof(float)); fill<<<n / 256, 256>>>(x);",
        "cudaMemset(x, 0, n * sizeof(float)); cudaMemcpy(x, argv, n * sizeof(float), cudaMemcpyDefault);",
        "if (argc > 1) cudaMemset(x, 0, n * sizeof(float));",
        "cudaMemset(x, 0, n * sizeof(float)); x[3] = 1;",
        "cudaMemset(x, 0, n * sizeof(float)); cudaMalloc(&x, n * sizeof(float));",
        "n = 1 << 19; cudaMemset(x, 0, n * sizeof(float));",
        "h[argc] = 1; cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);",
        "float *g = (float *)malloc(n * sizeof(float)); cudaMemset(x, 0, n * sizeof(float));"
        " cudaMemcpy(x, g, n * sizeof(float), cudaMemcpyDefault);",
        "cudaMemset(x + 1, 0, n * sizeof(float));",
        "auto f = [&] { fill<<<n / 256, 256>>>(x); }; f(); cudaMemset(x, 0, n * sizeof(float));",
    ],
)
def test_what_is_not_certain_is_live(host: str):
    assert "x zeros" not in data(host)


def test_what_is_set_behind_the_launch_does_not_count():
    assert "zeros" not in data("", after=SET_X)
    assert "zeros" not in data("", after=SET_X + "fill<<<n / 256, 256>>>(x);")


def test_zeros_draw_less_and_what_the_user_says_counts_more(tmp_path: Path):
    text = SOURCE.format(host=SET_X + COPY_Y + SET_Z, after="", extra="y[i]", stored="sum")

    def watts(*said: str) -> float:
        (power_w,) = {
            one.power_w for one in analyze_text(text, gpu="v100", data=said).kernels if one.name == "k"
        }
        assert power_w is not None
        return power_w

    assert watts() == watts("zeros") < watts("live")
    assert watts() < watts("x=live") < watts("live")


def test_operators_that_nest_deeply_are_followed():
    told = data(SET_X + SET_Z, stored="-(" * 200 + "x[i]" + ")" * 200)
    assert told == "live, x zeros (cudaMemset in line 18), z zeros (cudaMemset in line 18)"


GROWING = """
__global__ void k(float *x, float *y, double *z, float a, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}
__global__ void fill(float *p) {{ p[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }}
__global__ void copy(const float *p, float *q) {{ q[threadIdx.x] = p[threadIdx.x]; }}
{before}
int main(int argc, char **argv) {{
    int n = 1 << 20;
    float *x, *y, *h = (float *)malloc(n * sizeof(float));
    double *z;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMalloc(&z, n * sizeof(double));
    cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
    for (int r = 0; r < {times}; r++) {{
        k<<<n / 256, 256>>>(x, y, z, 2.0f, {size});
        {inside}
    }}
    cudaMemcpy(h, x, n * sizeof(float), cudaMemcpyDeviceToHost);
}}
"""


def grown(body: str, times: int = 30000, inside: str = "", size: str = "n", before: str = "") -> str:
    text = GROWING.format(body=body, times=times, inside=inside, size=size, before=before)
    (found,) = {one.launch.data for one in analyze_text(text, gpu="v100").kernels if one.name == "k"}
    return found


def ends(start: float, step: Callable[[Any], Any], kind: Callable[[Any], Any]) -> int:
    """After how many steps a number is the same whatever follows, in numpy's arithmetic."""
    one, steps = kind(start), 0
    with np.errstate(all="ignore"):
        while (other := kind(step(one))) != one and steps < 9999:
            one, steps = other, steps + 1
    assert one in (0.0, 1.0, np.inf)
    return steps


@pytest.mark.parametrize(
    ("body", "told", "launches"),
    [
        ("x[i] = x[i] * x[i];", "x constant (squared in line 4", 40),
        ("if (i < n) x[i] *= x[i];", "x constant (squared in line 4", 40),
        ("float v = x[i]; x[i] = v * v;", "x constant (squared in line 4", 40),
        ("x[i] += x[i];", "x constant (doubled in line 4", 278),
        ("x[i] = 2.0 * x[i];", "x constant (multiplied by 2 in line 4", 278),
        ("x[i] *= 0.25f;", "x constant (multiplied by 0.25 in line 4", 139),
        ("z[i] *= z[i];", "z constant (squared in line 4", 80),
        ("z[i] += z[i];", "z constant (doubled in line 4", 2099),
    ],
)
def test_what_each_launch_doubles_or_squares_overflows(body: str, told: str, launches: int):
    assert grown(body).startswith(f"live, {told} by each of 30000 launches")
    assert grown(body, 10 * launches).startswith(f"live, {told}")
    assert grown(body, 10 * launches - 1) == "live"


def test_numbers_are_at_their_end_after_as_many_launches():
    single, double = np.finfo(np.float32), np.finfo(np.float64)
    assert max(ends(float(x), lambda v: v + v, np.float32) for x in (single.smallest_subnormal, 1.0)) == 277
    assert ends(float(double.smallest_subnormal), lambda v: v + v, np.float64) == 2098
    assert ends(float(single.max), lambda v: v * np.float32(0.5), np.float32) <= 278
    assert ends(float(single.max), lambda v: v * np.float32(0.25), np.float32) <= 139
    nearest = [(np.float32, single, 40), (np.float64, double, 80)]
    for kind, of, most in nearest:
        assert ends(float(1 + of.eps), lambda v: v * v, kind) < most
        assert ends(float(1 - of.epsneg), lambda v: v * v, kind) < most


@pytest.mark.parametrize(
    "body",
    [
        "x[i] = x[i] * x[i] + 1.0f;",
        "x[i] = a * x[i];",  # 2.0f here, but any launch may have another
        "x[i] *= 1.2f;",  # the smallest number is 1.2 times itself
        "x[i] *= 0.7f;",
        "if (x[i] < 9.0f) x[i] *= 2.0f;",
        "float v = x[i]; if (v < 9.0f) x[i] = v * 2.0f;",
        "x[i] = 2.0f * x[i + 1];",
        "if (i == 0) x[i] *= 2.0f; else y[i] = x[i];",
        "x[i] *= 2.0f; x[i] -= 1.0f;",
        "x[i] *= 2.0f; atomicAdd(&x[0], 1.0f);",
        "x[i] *= 2.0f; float *p = argc_of(x); p[i] = 1.0f;",
        "if (clock() % 2) x[i] *= 2.0f;",
        "float v = x[i]; i++; x[i] = v * v;",
        "float v = x[i]; v = 1.0f; x[i] = v * v;",
        "x[(int)y[i]] *= 2.0f;",
        "x[i] = y[i] * y[i];",
    ],
)
def test_what_may_end_at_other_numbers_is_live(body: str):
    assert grown(body, before="__device__ float *argc_of(float *);" if "argc_of" in body else "") == "live"


@pytest.mark.parametrize(
    "inside",
    [
        "fill<<<n / 256, 256>>>(x);",
        "cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);",
        "cudaMemset(x, 1, n * sizeof(float));",
        "cudaFree(x); cudaMalloc(&x, n * sizeof(float));",
        "other(x);",
        "float *alias = x; other(alias);",
        "n--;",
    ],
)
def test_what_else_writes_in_the_loop_ends_it(inside: str):
    assert grown("x[i] *= 2.0f;", inside=inside, before="void other(float *);") == "live"


def test_what_only_reads_in_the_loop_does_not():
    told = "live, x constant (multiplied by 2 in line 4 by each of 30000 launches)"
    assert grown("x[i] *= 2.0f;", inside="copy<<<n / 256, 256>>>(x, y);") == told
    assert grown("x[i] *= 2.0f;", inside="cudaMemcpy(h, x, 4, cudaMemcpyDeviceToHost);") == told
    assert grown("if (i < n) x[i] *= 2.0f;", size="r") == "live"  # other elements in every launch
