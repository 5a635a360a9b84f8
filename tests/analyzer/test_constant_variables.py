"""Variables that never change are the constants that they are declared with."""

from __future__ import annotations

import pytest

from wattslice.workload.instructions import lower_instructions
from wattslice.workload.instructions.constants import with_constants
from wattslice.workload.registers import estimate_registers
from wattslice_models.gpu import load_gpu

from .source_text import launched

GPU = load_gpu("a100")


def text_of(body: str) -> str:
    """The body in a kernel, and functions that it may call."""
    return (
        "__device__ float sum(const float *a, int from, int to, int by)"
        " { float s = 0; for (int i = from; i < to; i += by) s += a[i]; return s; }\n"
        "__device__ float twice(const float *a, int from, int to, int by)"
        " { float s = 0; by *= 2; for (int i = from; i < to; i += by) s += a[i]; return s; }\n"
        "__device__ void change(int *by) { *by = 2 * *by; }\n"
        f"__global__ void k(float* a, float* b, int n) {{ float s = 0; {body} b[threadIdx.x] = s; }}\n"
        "int main() { k<<<100, 256>>>(0, 0, 64); }"
    )


def made(body: str) -> tuple[object, int]:
    """Instructions and registers of a kernel."""
    kernel, profile = launched(text_of(body))
    return lower_instructions(kernel, profile).per_warp, estimate_registers(kernel, GPU)


LOOP = "for (int i = 0; i < n; i += {}) s += a[i * n + threadIdx.x];"


@pytest.mark.parametrize(
    ("by_variable", "literal"),
    [
        ("int step = 4; " + LOOP.format("step"), LOOP.format(4)),
        (
            "int step = 4, end = 64; for (int i = 0; i < end; i = i + step) s += a[i * n];",
            "for (int i = 0; i < 64; i = i + 4) s += a[i * n];",
        ),
        (
            "int by = 2; for (int i = n; i > 0; i -= by) s += a[i * n];",
            "for (int i = n; i > 0; i -= 2) s += a[i * n];",
        ),
        (
            "int i = 0; int by = 4; while (i < n) { s += a[i]; i += by; }",
            "int i = 0; while (i < n) { s += a[i]; i += 4; }",
        ),
        ("s = sum(a, 0, n, 4);", "for (int i = 0; i < n; i += 4) s += a[i];"),
    ],
)
def test_a_constant_in_a_variable_is_the_literal(by_variable, literal):
    assert made(by_variable) == made(literal)


@pytest.mark.parametrize(
    "before",
    [
        "int step = 4; step++; ",
        "int step = 4; if (n > 7) step = n; ",
        "int step = 2; change(&step); ",
        "int step = 4; step += n; ",
        "int step; if (n > 7) step = 4; ",
    ],
)
def test_a_variable_that_changes_is_none(before):
    kernel, _ = launched(text_of(before + LOOP.format("step")))
    assert with_constants(kernel) is kernel


def test_a_variable_that_a_pointer_may_change_is_none():
    kernel, _ = launched(text_of("int x = 4, y = 5; int *p = n > 7 ? &x : &y; *p = n; s += x + y;"))
    assert with_constants(kernel) is kernel


def test_functions_of_constants_are_computed_by_the_compiler():
    # nvcc 13: one FFMA with immediates
    by_function = "s = a[threadIdx.x] * sqrtf(2.0f) + expf(3.0f);"
    assert made(by_function) == made("s = a[threadIdx.x] * 1.5f + 20.0f;")


def test_a_parameter_that_is_changed_is_none():
    text = "s = twice(a, 0, n, {});"
    assert made(text.format(4)) != made("for (int i = 0; i < n; i += 4) s += a[i];")
