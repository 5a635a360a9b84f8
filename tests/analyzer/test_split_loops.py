"""Loops that nvcc splits where a comparison of their counter changes: SASS of nvcc 13 for sm_80."""

from __future__ import annotations

import pytest

from wattslice.workload.instructions import InstructionKind, InstructionMix, lower_instructions

from .source_text import launched

GUARD = "if (i >= n) return; "
LOOP = "float s = 0; for (int k = 0; k < n; k++) {} y[i] = s;"
IF = "if ({}) s += h[k] * x[k];"


def lowered(body: str) -> InstructionMix:
    text = (
        "__global__ void k(const float *x, const float *h, float *y, int n, int m)"
        f" {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}\n"
        "int main() { k<<<4, 64>>>(0, 0, 0, 256, 256); }"
    )
    return lower_instructions(*launched(text))


@pytest.mark.parametrize(
    ("body", "sass"),
    [
        (IF.format("k < i"), 510),
        (IF.format("k <= i"), 577),
        (IF.format("k < i + 1"), 577),
        (IF.format("k > i"), 565),
        (IF.format("!(k < i)"), 559),
        (IF.format("k != i"), 1004),
        (IF.format("i - k > 0"), 510),
        (IF.format("i > k"), 510),
        ("{ if (k == i) continue; s += h[k] * x[k]; }", 1004),
        ("if (k == i) s += 2.f * x[k]; else s += h[k] * x[k];", 1039),
        ("{ s *= x[k]; if (k < i) s += h[k]; }", 848),
        ("if (k < i) y[k * n + i] = 1.f;", 343),
    ],
)
def test_ranges_need_no_test(body, sass):
    assert 0.8 <= lowered(GUARD + LOOP.format(body)).total / sass <= 1.2


RANK = "{ if (k < i) { if (x[k] <= 2.f) s += 1.f; } else { if (x[k] < 2.f) s += 1.f; } }"
SPLIT = LOOP.format(IF.format("k < i"))


@pytest.mark.parametrize(
    ("body", "is_split"),
    [
        (f"if (i < n) {{ {SPLIT} }}", True),
        (f"if (i >= n) return; if (m < 3) {{ y[i] = 3; return; }} {SPLIT}", True),
        (f"if (i < n) {{ {SPLIT} }} for (int k = 0; k < m; k++) y[k] = x[k];", True),
        (GUARD + SPLIT + " float t = 0; for (int k = 0; k < 7; k++) t += x[k]; y[i + n] = t;", True),
        (SPLIT, False),
        (GUARD + "if (m > 3) y[i] = 3; " + SPLIT, False),
        (GUARD + SPLIT + " if (m > 3) y[i + n] = x[i];", False),
        (GUARD + SPLIT + " for (int k = 0; k < m; k++) y[k] = x[k];", False),
        (GUARD + f"for (int j = 0; j < 3; j++) {{ {SPLIT} }}", False),
        (GUARD + SPLIT.replace("k < n", "k < 256"), False),
        (GUARD + SPLIT.replace("int k = 0", "int k = 1"), False),
        (GUARD + SPLIT.replace("k++", "k += 2"), False),
        (GUARD + SPLIT.replace("int k", "long k"), False),
        (GUARD + SPLIT.replace("k < i", "k >= m && k <= i"), True),
        (GUARD + SPLIT.replace("if (k < i)", "if (k > m) if (k < i)"), True),
        (GUARD + SPLIT.replace("k < i", "k != m && k < i"), False),
        # limits that an iteration computes, two branches, what one select chooses, one load ahead
        *((GUARD + SPLIT.replace("k < i", c), False) for c in ("2 * k < i", "k < i || k > m", "k < i - 3")),
        (GUARD + LOOP.format("{ if (k < i) s += h[k]; if (k > m) s *= x[k]; }"), False),
        (GUARD + LOOP.format("{ float v = x[k]; if (k > i) v = 0.f; s += v; }"), False),
        (GUARD + LOOP.format(RANK), False),
        (GUARD + LOOP.format("s += k < i ? x[k] <= 2.f : x[k] < 2.f;"), False),
        (
            GUARD
            + LOOP.format(
                RANK.replace("else { if (x[k] < 2.f) s += 1.f", "else { if (x[k] < 2.f) s += h[k]")
            ),
            True,
        ),
        (GUARD + LOOP.format("{ float v = x[i] * h[k]; s += k > i ? 0.f : __expf(v); }"), False),
    ],
)
def test_only_behind_a_guard_with_nothing_else_that_branches(body, is_split):
    comparisons = lowered(body).number(InstructionKind.ISETP)
    assert (comparisons < 0.4 * 256) is is_split


@pytest.mark.parametrize(
    ("body", "sass"),
    [
        (IF.format("k > 0"), 1038),
        (IF.format("k != 2"), 1038),
        (IF.format("k == 2"), 212),
        ("{ if (k == 0) s = x[k]; else s = s * 0.5f + x[k]; }", 832),
        (IF.format("k == m"), 610),  # each asks
    ],
)
def test_one_copy_in_four_asks_for_a_number(body, sass):
    assert 0.8 <= lowered(LOOP.format(body)).total / sass <= 1.2


def test_a_range_that_does_nothing_is_passed_by():
    branches = [
        lowered(GUARD + LOOP.format(IF.format(c))).number(InstructionKind.BRANCH)
        for c in ("k < i", "k <= i", "k > i", "k != i")
    ]
    assert branches == pytest.approx([20, 37, 32, 42], rel=0.4)  # SASS
    assert branches[1] > branches[0] + 15
    assert branches[2] > branches[0] + 10
