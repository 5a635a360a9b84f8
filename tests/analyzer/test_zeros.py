"""Arrays that host code sets to zero and nothing writes: told, and counted as zeros. Truth by hand."""

from pathlib import Path

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
    (found,) = {one.data for one in kernels if one.name == "k"}
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
