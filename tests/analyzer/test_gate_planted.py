"""A repository with planted changes: six regressions fail on their line, six refactorings are silent."""

import re
from pathlib import Path

import pytest

from .test_gate_against import HOST, REFORMATTED, RENAMED, SAXPY, TILED, UNTILED, Repository, words

TRANSPOSE = """\
__global__ void transpose(const float *in, float *out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
void turn(float *a, float *b) { transpose<<<dim3(128, 128), dim3(32, 8)>>>(a, b, 4096); }
"""
BLUR = """\
#include "at.h"
__global__ void blur(const float *in, float *out, int n) {
    int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += in[AT(y + dy, x + dx, n)];
    out[AT(y, x, n)] = weigh(sum);
}
void smooth(float *a, float *b) { blur<<<dim3(128, 512), dim3(32, 8)>>>(a, b, 4098); }
"""
AT = """\
#define AT(y, x, n) ((y) * (n) + (x))
__device__ inline float weigh(float sum) {
    return sum / 9.0f;
}
"""
ACT = """\
__device__ inline float sigmoid(float x) {
    return 1.0f / (1.0f + expf(-x));
}
"""
SWISH = """\
#include "act.cuh"
__global__ void swish(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * sigmoid(x[i]);
}
"""
CALL = """\
__global__ void swish(float *x, int n);
void activate(float *x) { swish<<<16384, 256>>>(x, 1 << 22); }
"""
BASE = {
    "swish.cu": SWISH,
    "act.cuh": ACT,
    "call.cu": CALL,
    "mul.cu": TILED + HOST,
    "saxpy.cu": SAXPY,
    "transpose.cu": TRANSPOSE,
    "blur.cu": BLUR,
    "at.h": AT,
}

REGRESSIONS: dict[str, tuple[dict[str, str], str]] = {
    "a tile removed": ({"mul.cu": UNTILED + HOST}, "mul.cu:6"),
    "a stride": ({"saxpy.cu": SAXPY.replace("x[i]", "x[i * 8]")}, "saxpy.cu:3"),
    "columns apart": (
        {"blur.cu": BLUR.replace("in[AT(y + dy, x + dx, n)]", "in[AT(y + dy, (x + dx) * 16, n)]")},
        "blur.cu:7",
    ),
    "more taps": (
        {"blur.cu": BLUR.replace("dy = -1; dy <= 1", "dy = -8; dy <= 8").replace("dx = -1", "dx = -8")},
        "blur.cu:5",
    ),
    "a header's function": (
        {"at.h": AT.replace("sum / 9.0f", "float(pow(double(sum), 1.5) / exp(double(sum)))")},
        "at.h:3",
    ),
    "two exponentials for one": (
        {"act.cuh": ACT.replace("expf(-x)", "expf(-x) * expf(-0.5f * x)")},
        "act.cuh:2",
    ),
    "all in double": (
        {"transpose.cu": TRANSPOSE.replace("float", "double").replace("[32][33]", "[32][32]")},
        "transpose.cu:",
    ),
}
"""What is written anew, and where the finding stands."""

REFACTORINGS: dict[str, dict[str, str]] = {
    "renamed variables": {"mul.cu": RENAMED + HOST},
    "reformatted": {"mul.cu": REFORMATTED + HOST},
    "split into a header": {"mul.cuh": TILED, "mul.cu": '#include "mul.cuh"\n' + HOST},
    "an index in a function": {
        "at.h": AT.replace("#define AT(y, x, n) ((y) * (n) + (x))", "")
        + "__device__ inline int AT(int y, int x, int n) { return y * n + x; }\n"
    },
    "lines in another order": {
        "transpose.cu": TRANSPOSE.replace(
            "    x = blockIdx.y * 32 + threadIdx.x;\n    y = blockIdx.x * 32 + threadIdx.y;\n",
            "    y = blockIdx.x * 32 + threadIdx.y;\n    x = blockIdx.y * 32 + threadIdx.x;\n",
        )
    },
    "kernels in one file": {
        "saxpy.cu": "// moved to blur.cu\n",
        "blur.cu": BLUR + SAXPY.replace("int i =", "const int i ="),
    },
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("COLUMNS", "200")
    found = Repository(tmp_path)
    for name, text in BASE.items():
        found.write(name, text)
    found.commit()
    return found


@pytest.mark.parametrize("name", REGRESSIONS)
def test_a_planted_regression_fails_on_its_line(repository: Repository, name: str):
    files, place = REGRESSIONS[name]
    for file, text in files.items():
        repository.write(file, text)
    status, found = told(repository)
    assert status == 1
    assert [one for one in found if one.startswith(place) and one.endswith("error")], found


def told(repository: Repository) -> tuple[int, list[str]]:
    """The status of the gate, and place and severity of each PW023."""
    result = repository.gate("--format", "gcc", str(repository.root))
    found = re.findall(r"^(\S+:\d+):\d+: (\w+): .*\[PW023\]", result.stdout, re.M)
    return int(result.return_value), [f"{Path(place).name} {severity}" for place, severity in found]


def test_what_may_be_a_saving_as_well_only_warns_on_its_line(repository: Repository):
    strided = (TILED + HOST).replace(
        "b[(t * TILE + threadIdx.y) * n + col]", "b[(t * TILE + threadIdx.y) * n + col * 3]"
    )
    strided = strided.replace("__syncthreads();", "", 1)  # else it does all that it did and more
    repository.write("mul.cu", strided)
    assert told(repository) == (0, ["mul.cu:8 warning"])


@pytest.mark.parametrize("name", REFACTORINGS)
def test_a_planted_refactoring_is_silent(repository: Repository, name: str):
    for file, text in REFACTORINGS[name].items():
        repository.write(file, text)
    result = repository.gate(str(repository.root))
    assert result.return_value == 0, result.stdout
    assert "PW023" not in result.stdout
    assert " 0 of " in words(result)
