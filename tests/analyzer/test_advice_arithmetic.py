"""Arithmetic, branches and launches that take more than they need: told or not, with what is at stake."""

import pytest

from wattslice.config.config import Options, make_config
from wattslice.findings.advice import arithmetic
from wattslice.ir import Kernel
from wattslice.ir.rewriting import Change
from wattslice.pipeline.files import analyze_files

from .advised import advised, analysed, known, saved

FLOATS = """
#define PI 3.14159265358979
__device__ float twice(float x) {{ return 2.0 * x * x; }}
__global__ void k(float *p, double *d, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = p[i], y = p[i + 1];
    for (int j = 0; j < 1000; ++j) {{ {body} }}
    p[i] = x;
}}
int main() {{ float *p; double *d; k<<<800, 256>>>(p, d, 7); }}
"""


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        # told: what nvcc 13 computes in double precision (its PTX and SASS)
        ("x = x * 0.1;", "the literal 0.1"),
        ("x += 0.5 * y;", "the literal 0.5"),
        ("x = 1.0 - x - y;", "the literal 1.0"),
        ("x = twice(x);", "the literal 2.0"),
        ("x = sqrt(1.0 + x);", "the literal 1.0"),
        ("x = x * PI;", "a constant of type double"),
        ("if (x > 0.1) x += y;", "the literal 0.1"),
        ("x = j * 0.1 + x;", "the literal 0.1"),
        # not told: what it computes in single precision
        ("x = x * 0.5;", None),
        ("x = x + 1.0;", None),
        ("x = 1.0 / x;", None),
        ("x += 1.0;", None),
        ("if (x > 0.5) x += y;", None),
        ("x = x > 0 ? x : 0.1;", None),
        ("x = (-1.0 * x) * y;", None),
        ("x = x * 0.1f;", None),
        ("x = sqrt(x);", None),
        # not told: double by intention
        ("x = (double)x * 0.1 + y;", None),
        ("x = x * d[0];", None),
        ("double s = x; x = s * 0.1;", None),
    ],
)
def test_doubles_among_floats(tmp_path, body, cause):
    found = advised(tmp_path, FLOATS.format(body=body), gpu="rtx_3090").get("PW045", [])
    assert [advice.message.split(" makes")[0] for advice in found] == ([cause] if cause else [])


def test_what_a_suffix_saves_is_what_the_model_says_of_the_kernel_with_it(tmp_path):
    double = analysed(tmp_path, FLOATS.format(body="x += 0.1 * y * x;"), gpu="rtx_3090")
    single = analysed(tmp_path, FLOATS.format(body="x += 0.1f * y * x;"), gpu="rtx_3090")
    (advice,) = (advice for advice in double.advice if advice.rule == "PW045")
    assert (advice.power_w, advice.energy_j) == pytest.approx(saved(double, single), rel=0.02)


def test_what_is_asked_of_each_launch_of_a_kernel_is_lowered_once(tmp_path, monkeypatch):
    asked: list[Kernel] = []
    once = arithmetic.rewritten

    def noted(kernel: Kernel, change: Change) -> Kernel:
        asked.append(kernel)
        return once(kernel, change)

    monkeypatch.setattr(arithmetic, "rewritten", noted)
    arithmetic._with.cache_clear()
    path = tmp_path / "k.cu"
    source = FLOATS.format(body="x += 0.1 * y * x; x = powf(x, 3) + y;")
    path.write_text(source.replace("k<<<", "k<<<640, 256>>>(p, d, 7); k<<<"))
    launches = analyze_files(make_config(Options(paths=(path,), gpu="rtx_3090"))).kernels
    rules = [[one.rule for one in launch.advice] for launch in launches]
    assert [{"PW045", "PW047"} <= {*found} for found in rules] == [True, True]
    assert len(asked) == 2


@pytest.mark.parametrize(("gpu", "is_told"), [("rtx_3090", True), ("v100", False)])
def test_double_precision_where_it_is_slow(tmp_path, gpu, is_told):
    body = "d[i] = d[i] * d[i] + x;"
    assert ("PW046" in advised(tmp_path, FLOATS.format(body=body), gpu=gpu)) == is_told


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("x = powf(x, 2.0f) + y;", "PW047"),
        ("x = pow(x, 2) + y;", "PW047"),
        ("x = powf(x, 3) + y;", "PW047"),
        ("x = powf(x, 0.5f) + y;", "PW047"),
        ("x = powf(x, 2.5f) + y;", None),
        ("x = powf(x, y) + y;", None),
        ("x = x / 3.0f;", "PW048"),
        ("x = x / y;", "PW048"),  # y stays the same in the loop
        ("x = x / 4.0f;", None),
        ("x = 1.0f / x;", None),
        ("y += 1.0f; x = x / y;", None),
        ("x += (i + j) % n;", "PW049"),
        ("x += (i + j) / n;", "PW049"),
        ("x += (i + j) % 7;", None),
        ("x += (i + j) & (n - 1);", None),
    ],
)
def test_calls_and_divisions_with_a_cheaper_form(tmp_path, body, rule):
    found = {"PW047", "PW048", "PW049"} & advised(tmp_path, FLOATS.format(body=body)).keys()
    assert found == ({rule} if rule else set())


def test_a_power_of_two_known_from_the_launch_is_named(tmp_path):
    (advice,) = advised(tmp_path, FLOATS.format(body="x += (i + j) % blockDim.x;"))["PW049"]
    assert "it is 256 in this launch" in advice.message
    assert "& (n - 1)" in advice.fix


def test_a_large_power_of_two_is_named_in_full(tmp_path):
    source = FLOATS.format(body="x += (i + j) % n;").replace("d, 7)", "d, 1 << 24)")
    (advice,) = advised(tmp_path, source)["PW049"]
    assert "it is 16777216 in this launch" in advice.message


WORK = "for (int j = 0; j < 500; ++j) x = x * 1.5f + {}.0f;"


@pytest.mark.parametrize(
    ("condition", "lanes"),
    [
        ("threadIdx.x % 2 == 0", "16 and 16 of its 32 lanes"),
        ("threadIdx.x % 4 == 0", "8 and 24 of its 32 lanes"),
        ("threadIdx.x / 32 % 2 == 0", None),  # by warp
        ("threadIdx.x < 128", None),
        ("i < 800 * 256 - 5", None),  # the last warp only
        ("x > 0", None),  # data decide
    ],
)
def test_branches_that_divide_a_warp(tmp_path, condition, lanes):
    body = f"if ({condition}) {{ {WORK.format(1)} }} else {{ {WORK.format(2)} }}"
    source = f"""
__global__ void k(float *p) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = p[i];
    {body}
    p[i] = x;
}}
int main() {{ float *p; k<<<800, 256>>>(p); }}
"""
    found = advised(tmp_path, source).get("PW050", [])
    assert bool(found) == bool(lanes)
    assert all(lanes in advice.message for advice in found)


def test_one_lane_that_works_for_all(tmp_path):
    source = """
__global__ void k(float *p) {
    float x = p[blockIdx.x];
    if (threadIdx.x == 0) { for (int j = 0; j < 5000; ++j) x = x * 1.5f + 1.0f; p[blockIdx.x] = x; }
}
int main() { float *p; k<<<800, 32>>>(p); }
"""
    (advice,) = advised(tmp_path, source)["PW050"]
    assert "for 1 of its 32 lanes" in advice.message
    assert "share this work" in advice.fix


GRID = """
__global__ void k(float *p) {{
    float x = p[threadIdx.x];
    for (int j = 0; j < 20000; ++j) x = x * 1.5f + 1.0f;
    p[blockIdx.x * blockDim.x + threadIdx.x] = x;
}}
int main() {{ float *p; k<<<{blocks}, 256>>>(p); }}
"""


@pytest.mark.parametrize(
    ("blocks", "told"),
    [
        ("16", "16 blocks for 80 SMs: 80% of them idle"),
        ("1", "1 block for 80 SMs: 99% of them idle"),
        ("81", "81 blocks for 80 SMs: some get 2, others 1"),
        ("80", None),
        ("800", None),
        ("8001", None),  # one block in a hundred rounds
        ("unheardOf()", None),
    ],
)
def test_sms_without_a_block(tmp_path, blocks, told):
    found = advised(tmp_path, "int unheardOf();" + GRID.format(blocks=blocks)).get("PW043", [])
    assert bool(found) == bool(told)
    assert all(advice.message.startswith(told) for advice in found)
    assert all("at stake is at most" in advice.message for advice in found)


def test_evenly_dealt_work_costs_what_a_full_grid_costs(tmp_path):
    # 40 blocks on 80 SMs take as long as 80; at stake is what 80 blocks of half the work would save.
    half = analysed(tmp_path, GRID.format(blocks=40))
    full = analysed(tmp_path, GRID.format(blocks=80).replace("20000", "10000"))
    (advice,) = (advice for advice in half.advice if advice.rule == "PW043")
    assert advice.energy_j == pytest.approx(saved(half, full)[1], rel=0.02)


@pytest.mark.parametrize(("words", "is_told"), [(10000, True), (1000, False)])
def test_few_warps_that_wait(tmp_path, words, is_told):
    source = f"""
__global__ void k(const int *next, float *out) {{
    __shared__ float s[{words}];
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < 2000; ++j) at = at * at + 1;
    s[threadIdx.x] = at;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = s[63 - threadIdx.x];
}}
int main() {{ int *next; float *out; cudaMalloc(&next, 4096); k<<<8000, 64>>>(next, out); }}
"""
    found = advised(tmp_path, source).get("PW044", [])
    assert bool(found) == is_told
    assert all("limited by shared memory" in advice.message for advice in found)


def test_without_a_model_that_tells_them_the_watts_stay_unknown(tmp_path):
    body = "x = powf(x, 2.0f) + y;"
    (by_slices,) = advised(tmp_path, FLOATS.format(body=body), gpu="gtx_480")["PW047"]
    assert by_slices.power_w is None
    assert known(by_slices.energy_j) > 0


def test_most_joules_first(tmp_path):
    found = analysed(tmp_path, FLOATS.format(body="x = powf(x, 2.0f) / 3.0f;")).advice
    told = [known(advice.energy_j) for advice in found]
    assert len(told) >= 2
    assert told == sorted(told, reverse=True)
