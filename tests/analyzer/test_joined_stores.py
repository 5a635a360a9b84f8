"""A store that ends both arms of an `if` is one store behind them: what nvcc makes of it (13, sm_75: one
`st.global` and a `selp`, as of `?:`)."""

import pytest

from wattslice import analyze_text

_KERNEL = """
__global__ void k(float *x, float *z, const float *y, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = y[i];
  {}
}}
int main() {{
  float *p, *q, *r;
  cudaMalloc(&p, 16777216); cudaMalloc(&q, 16777216); cudaMalloc(&r, 16777216);
  k<<<16384, 256>>>(p, r, q, 1 << 22);
}}
"""


def figures(body: str) -> tuple[float, float]:
    """Watts and joules."""
    (found,) = analyze_text(_KERNEL.format(body), gpu="v100", model="energy").kernels
    assert found.power_w is not None
    assert found.energy_j is not None
    return found.power_w, found.energy_j


CHOSEN = "x[i] = v > 0.5f ? v * 2.0f : v + 1.0f;"


@pytest.mark.parametrize(
    "body",
    [
        "if (v > 0.5f) x[i] = v * 2.0f; else x[i] = v + 1.0f;",
        "if (v > 0.5f) { float w = v * 2.0f; x[i] = w; } else { x[i] = v + 1.0f; }",
    ],
)
def test_a_store_in_both_arms_draws_what_a_choice_draws(body: str):
    assert figures(body) == pytest.approx(figures(CHOSEN), rel=0.01)


@pytest.mark.parametrize(
    "body",
    [
        "if (v > 0.5f) x[i] = v * 2.0f; else z[i] = v + 1.0f;",  # two places
        "if (v > 0.5f) { x[i] = v * 2.0f; i = 7; } else x[i] = v + 1.0f;",  # no store at the end
        "if (v > 0.5f) { i = n - i; x[i] = v * 2.0f; } else x[i] = v + 1.0f;",  # another i
        "volatile float *w = x; if (v > 0.5f) w[i] = v * 2.0f; else w[i] = v + 1.0f;",
    ],
)
def test_other_stores_of_two_arms_stay_two(body: str):
    assert figures(body)[1] > 1.03 * figures(CHOSEN)[1]
