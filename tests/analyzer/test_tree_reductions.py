"""Guards in loops that halve or double their counter: BRA, BSSY and BSYNC of SASS of nvcc 13 for sm_80."""

from __future__ import annotations

import pytest

from wattslice.workload.instructions import InstructionKind, lower_instructions

from .source_text import launched

HALVING = "for (int k = blockDim.x / 2; k > 0; k >>= 1)"
DOUBLING = "for (int k = 1; k < blockDim.x; k *= 2)"


@pytest.mark.parametrize(
    ("loop", "body", "is_branched"),
    [
        (HALVING, "if (t < k) g[t] += g[t + k];", True),
        (HALVING, "if (t < k) g[t] = h[t + k];", True),
        (HALVING, "if (t < k) s[t] += h[t + k];", True),
        (HALVING, "if (t < k) v += h[t + k];", False),
        (DOUBLING, "if (t % (2 * k) == 0) g[t] += g[t + k];", True),
        (DOUBLING, "int j = 2 * k * t; if (j < n) g[j] += g[j + k];", True),
        (HALVING, "if (t < k) { s[t] += s[t + k]; q[t] += q[t + k]; }", True),
        (HALVING, "if (t < k) { s[t] = fmaxf(s[t], s[t + k]); q[t] = fminf(q[t], q[t + k]); }", True),
        (HALVING, "if (t < k) { if (s[t + k] > s[t]) s[t] = s[t + k]; }", True),
        (HALVING, "if (t < k) s[t] += s[t + k];", False),
        (HALVING, "if (t < k) s[t] = fmaxf(s[t], s[t + k]);", False),
        (HALVING, "if (t < k) s[t] += s[t + k] * q[t + k] + q[t];", False),
        (HALVING, "if (t < k) { s[t] = s[t + k]; q[t] = q[t + k]; }", False),
        (HALVING, "if (t < k) g[t] = s[t + k];", False),
        (HALVING, "if (t < k) g[t + k] = 1.f;", False),
        ("for (int k = 0; k < n; k++)", "if (t < k) g[k + t] += h[k];", False),
    ],
)
def test_guards(loop, body, is_branched):
    text = (
        "__global__ void k(float *g, const float *__restrict__ h, int n) { __shared__ float s[256], q[256];"
        f" int t = threadIdx.x; float v = 0; s[t] = h[t]; q[t] = h[t + 1]; __syncthreads();"
        f" {loop} {{ {body} __syncthreads(); }} g[t] = s[t] + v + q[t]; }}\n"
        "int main() { k<<<4, 256>>>(0, 0, 256); }"
    )
    rounds = 256 if "k++" in loop else 8
    branches = lower_instructions(*launched(text)).number(InstructionKind.BRANCH)
    assert (branches > 3 * rounds) is is_branched
