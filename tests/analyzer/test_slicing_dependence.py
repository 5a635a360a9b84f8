# ruff: noqa: E501  (CUDA sources on one line)
"""Which statement takes values from which, or runs because of which: docs/slicing.md."""

import pytest

from wattslice.ir import Kernel
from wattslice.slicing.slices import dependence_graph
from wattslice.slicing.statements import StatementKind, links

from .source_text import kernel_of


def definition_lines(kernel: Kernel, line: int) -> set[int]:
    """Lines that the statements on `line` take register values or memory contents from."""
    graph = dependence_graph(kernel)
    here = [s.index for s in graph.statements if s.span.line == line]
    return {graph.statements[j].span.line for i in here for j in graph.sources(i)} - {line}


def test_a_definition_that_is_overwritten_does_not_reach():
    kernel = kernel_of("__global__ void k(float* a) {\n float x = 1.0f;\n x = 2.0f;\n a[0] = x;\n}")
    assert definition_lines(kernel, 4) == {3}


def test_both_arms_and_what_was_before_may_reach():
    text = "__global__ void k(float* a, int n) {\n float x = 1.0f;\n if (n)\n  x = 2.0f;\n a[0] = x;\n}"
    assert definition_lines(kernel_of(text), 5) == {2, 4}


def test_values_travel_around_a_loop():
    text = (
        "__global__ void k(float* a, int n) {\n"
        " float x = 1.0f;\n"
        " for (int i = 0; i < n; i++) {\n"
        "  a[i] = x;\n"
        "  x = 2.0f;\n"
        " }\n"
        "}"
    )
    assert definition_lines(kernel_of(text), 4) == {2, 3, 5}


def test_a_value_that_leaves_a_loop_by_break_reaches_what_follows():
    text = (
        "__global__ void k(float* a, int n) {\n"
        " float x = 0.0f;\n"
        " for (int i = 0; i < n; i++) {\n"
        "  x = 1.0f;\n"
        "  if (a[i] > 0.0f) {\n"
        "   x = 2.0f;\n"
        "   break;\n"
        "  }\n"
        "  x = 3.0f;\n"
        " }\n"
        " a[0] = x;\n"
        "}"
    )
    assert definition_lines(kernel_of(text), 11) == {2, 6, 9}


def test_memory_meets_through_a_copied_pointer_but_not_through_another_parameter():
    text = (
        "__global__ void k(float* a, float* b) {\n"
        " float* p = a + 4;\n"
        " *p = 1.0f;\n"
        " b[1] = a[1];\n"
        " a[2] = b[2];\n"
        "}"
    )
    kernel = kernel_of(text)
    assert definition_lines(kernel, 4) == {3}
    assert definition_lines(kernel, 5) == {4}


def test_statements_after_an_early_return_depend_on_it():
    kernel = kernel_of("__global__ void k(float* a, int n) {\n if (n > 3)\n  return;\n a[0] = 1.0f;\n}")
    graph = dependence_graph(kernel)
    store = next(s for s in graph.statements if s.kind is StatementKind.ACCESS)
    assert [graph.statements[i].span.line for i in graph.control[store.index]] == [3]
    assert [chain.arm.negated for chain in links((store.arms,))] == [True]


@pytest.mark.parametrize(
    ("body", "line", "reached_from"),
    [
        # What was before a branch counts as reaching what is after it, even where every arm writes.
        (" x = 1.0f;\n if (n)\n  x = 2.0f;\n else\n  x = 3.0f;\n a[0] = x;", 8, {3, 5, 7}),
        (" if (n > 1) {\n  if (n > 2)\n   x = 2.0f;\n }\n a[0] = x;", 7, {2, 5}),
        (" switch (n) {\n case 1: x = 1.0f;\n case 2: x += 2.0f; break;\n default: x = 4.0f;\n }\n a[0] = x;", 8, {2, 4, 5, 6}),
        (" for (int i = 0; i < n; i++) {\n  x = 1.0f;\n  if (i > 3)\n   continue;\n  x = 2.0f;\n }\n a[0] = x;", 9, {2, 4, 7}),
        (" do {\n  x = 1.0f;\n } while (n--);\n a[0] = x;", 6, {2, 4}),
        (" for (int i = 0; i < n; i++)\n  for (int j = 0; j < i; j++)\n   x += j;\n a[0] = x;", 6, {2, 5}),
    ],
    ids=["both arms", "nested branch", "fall through", "continue", "do while", "nested loops"],
)  # fmt: skip
def test_definitions_that_reach_a_use(body: str, line: int, reached_from: set[int]):
    kernel = kernel_of(f"__global__ void k(float* a, int n) {{\n float x = 0.0f;\n{body}\n}}")
    assert definition_lines(kernel, line) == reached_from


def test_the_result_of_a_followed_call_comes_from_its_returns():
    text = (
        "__device__ float f(float v) {\n"
        " if (v > 0.0f)\n"
        "  return v * 2.0f;\n"
        " return 1.0f;\n"
        "}\n"
        "__global__ void k(float* a) {\n"
        " a[1] = f(a[0]);\n"
        "}"
    )
    assert definition_lines(kernel_of(text), 7) == {3, 4}


def test_a_store_to_one_shared_array_does_not_meet_another():
    text = (
        "__global__ void k(float* a) {\n"
        " __shared__ float s[32], t[32];\n"
        " s[0] = 1.0f;\n"
        " t[0] = 2.0f;\n"
        " a[0] = s[threadIdx.x];\n"
        "}"
    )
    assert definition_lines(kernel_of(text), 5) == {3}


@pytest.mark.parametrize("number", range(5, 24))
def test_however_many_definitions_reach_a_use(number: int):
    body = "".join(f" if (n > {i})\n  x = {i}.0f;\n" for i in range(number))
    kernel = kernel_of(f"__global__ void k(float* a, int n) {{\n float x = 0.0f;\n{body} a[0] = x;\n}}")
    assert definition_lines(kernel, 3 + 2 * number) == {2, *range(4, 3 + 2 * number, 2)}
