"""Guards in loops that halve or double their counter: BRA, BSSY and BSYNC of SASS of nvcc 13 for sm_80."""

from __future__ import annotations

import pytest

from wattslice.workload.instructions import InstructionKind, lower_instructions

from .source_text import launched

HALVING = "for (int k = blockDim.x / 2; k > 0; k >>= 1)"
WHOLE = "for (int k = 128; k > 0; k >>= 1)"
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
        (HALVING, "if (t < k) s[t] = s[t + k] / 3.f;", True),
        (HALVING, "if (t < k) s[t] /= 3;", True),
        (HALVING, "if (t < k) s[t] = s[t + k] / 0.25f;", False),
        (HALVING, "if (t < k) s[t] = s[t + k] * (1.f / 3.f);", False),
        (HALVING, "if (t < k) s[t] += s[t + k];", False),
        (HALVING, "if (t < k) s[t] = fmaxf(s[t], s[t + k]);", False),
        (HALVING, "if (t < k) s[t] += s[t + k] * q[t + k] + q[t];", False),
        (HALVING, "if (t < k) { s[t] = s[t + k]; q[t] = q[t + k]; }", False),
        (HALVING, "if (t < k) g[t] = s[t + k];", False),
        (HALVING, "if (t < k) g[t + k] = 1.f;", False),
        (WHOLE, "if (t < k) { if (s[t + k] > s[t]) s[t] = s[t + k]; }", True),
        (WHOLE, "if (t < k) s[t] += h[t + k];", True),
        (WHOLE, "if (t < k) { s[t] += s[t + k]; q[t] += q[t + k]; }", False),
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


def step(text, guard="t < {}"):
    """Two steps of a reduction one by one, each followed by a barrier."""
    return "".join(f"if ({guard.format(k)}) {text.format(k)} __syncthreads(); " for k in (64, 32))


@pytest.mark.parametrize(
    ("body", "guards"),
    [
        (step("g[t] += g[t + {}];") + "if (t == 0) o[0] = g[0];", 2),
        (step("g[t] = fmaxf(g[t], g[t + {}]);") + "if (t == 0) o[0] = g[0];", 2),
        (step("g[t] = h[t + {}];").replace("__syncthreads();", "") + "if (t == 0) o[0] = g[0];", 2),
        (step("s[t] += g[t + {}];") + "if (t == 0) o[0] = s[0];", 2),
        ("g[t] = h[t]; __syncthreads(); if (t < 64) g[t] += g[t + 64]; if (t == 0) o[0] = g[0];", 1),
        ("if (n > 5) { if (t < 64) g[t] += g[t + 64]; } if (t == 0) o[0] = g[0];", 1),
        ("if (t < 64) g[t] += g[t + 64]; __syncthreads(); o[t] = g[t ^ 1];", 0),
        ("float v = h[t]; if (t < 64) g[t] = h[t + 64]; if (t < 32) g[t + 5] = h[t + 32]; o[t] = v;", 0),
        (step("s[t] = h[t + {}];").replace("__syncthreads();", "") + "__syncthreads(); o[t] = s[t ^ 5];", 0),
        (step("s[t] += s[t + {}];") + "if (t == 0) o[0] = s[0];", 0),
        ("float v = 0; " + step("v += h[t + {}];") + "o[t] = v;", 0),
        ("if (t < 64) g[t] = h[t]; if (t < 32) g[t + 1] = 5.f; o[t] = h[t ^ 1];", 0),
        ("if (t < n) s[t] = h[t]; __syncthreads(); t = n - t; if (t < n) o[t] = s[threadIdx.x];", 0),
        ("int j = t * n; if (t < 64) g[t] = h[t]; if (t < 32) g[j] = h[j]; o[t] = 1.f;", 0),
    ],
)
def test_guards_in_straight_code(body, guards):
    text = (
        "__global__ void k(float *g, const float *h, float *o, int n) {"
        f" __shared__ float s[256]; int t = threadIdx.x; {body} }}\n"
        "int main() { k<<<1, 32>>>(0, 0, 0, 256); }"
    )
    branches = lower_instructions(*launched(text)).number(InstructionKind.BRANCH)
    assert int(branches) // 3 == guards
    restricted = text.replace("*h", "*__restrict__ h")
    is_free = lower_instructions(*launched(restricted)).number(InstructionKind.BRANCH) < 3
    assert is_free is (guards == 0 or "h[t +" in body)


def test_what_a_guard_itself_stores_stays_in_its_place_through_restrict():
    text = (
        "__global__ void k(float *__restrict__ g, float *o) { int t = threadIdx.x;"
        f" {step('g[t] += g[t + {}];')} if (t == 0) o[0] = g[0]; }}\n"
        "int main() { k<<<1, 32>>>(0, 0); }"
    )
    assert lower_instructions(*launched(text)).number(InstructionKind.BRANCH) >= 6
