"""What one run of each region costs, by the convention of docs/counting.md."""

import sys

import pytest
from msgspec.structs import replace

from wattslice.counting.profile import total_counts
from wattslice.ir import INT32, Binary, BinaryOp, Block, Constant, Expr, ExprStmt, If, Span
from wattslice.ir.operation_counts import OperationCounts, region_operations
from wattslice.slicing.slices import slice_kernel

from .source_text import flat_profile, kernel_of, launched


def once(
    body: str, parameters: str = "float* a, float* b, int* c, double* d, int n, float x"
) -> OperationCounts:
    """The operations of a kernel in which every region runs once."""
    kernel = kernel_of(f"__constant__ float table[8];\n__global__ void k({parameters}) {{ {body} }}")
    return total_counts(kernel, flat_profile(kernel))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a[n] = x * x + x;", OperationCounts(fp32=2, global_store=1)),
        ("a[n + 1] = b[2 * n];", OperationCounts(integer=2, global_load=1, global_store=1)),
        ("a[0] += x;", OperationCounts(fp32=1, global_load=1, global_store=1)),
        ("c[0]++;", OperationCounts(integer=1, global_load=1, global_store=1)),
        ("n++; x++; c[0] = n; a[0] = x;", OperationCounts(integer=1, fp32=1, global_store=2)),
        ("d[0] = d[1] / 2.0;", OperationCounts(fp64=1, global_load=1, global_store=1)),
        ("*(a + n) = x;", OperationCounts(integer=1, global_store=1)),
        ("a[0] = -x; c[0] = !n; c[1] = ~n;", OperationCounts(fp32=1, integer=1, global_store=3)),
        ("a[0] = (float)n;", OperationCounts(global_store=1)),
        ("if (n > 0 && x < 1.0f) a[0] = x;", OperationCounts(integer=1, fp32=1, control=2, global_store=1)),
        ("a[0] = n ? x : 1.0f;", OperationCounts(control=1, global_store=1)),
        ("a[0] = table[n];", OperationCounts(constant_load=1, global_store=1)),
        ("a[0] = sqrtf(x);", OperationCounts(special=1, global_store=1)),
        ("atomicAdd(c, n); __syncthreads();", OperationCounts(atomic=1, barrier=1)),
        (
            "__shared__ float s[32]; s[n] = x; a[0] = s[n + 1];",
            OperationCounts(integer=1, shared_load=1, shared_store=1, global_store=1),
        ),
        ("float local[4]; local[n] = x; a[0] = local[0];", OperationCounts(global_store=1)),
        ("switch (n) { case 1: a[0] = x; break; default: ; }", OperationCounts(control=1, global_store=1)),
    ],
)
def test_one_run_costs(body: str, expected: OperationCounts):
    assert once(body) == expected


def test_vector_operators_count_every_lane_and_one_access():
    body = "float4 v = reinterpret_cast<float4*>(a)[n]; a[0] = v.x * v.y;"
    assert once(body) == OperationCounts(fp32=1, global_load=1, global_store=1)


def test_loop_parts_lie_in_their_own_regions():
    n = 37
    kernel, profile = launched(
        "__global__ void k(float* a, float x) { for (int i = 0; i < 37; i++) a[i] = x * x; }\n"
        "int main() { k<<<1, 32>>>(0, 0); }"
    )
    expected = OperationCounts(fp32=n, integer=(n + 1) + n, control=n + 1, global_store=n)
    assert total_counts(kernel, profile) == expected


def test_inlined_body_counts_in_its_regions_and_arguments_in_the_callers():
    text = (
        "__device__ float f(float x) { return x * x; }\n"
        "__global__ void k(float* a, float y, int n) { if (n > 3) a[0] = f(y + 1.0f); }"
    )
    kernel = kernel_of(text)
    table = region_operations(kernel)
    assert len(table) == kernel.region_count
    assert sorted(row.fp32 for row in table if row.fp32) == [1, 1]


def test_a_profile_of_another_kernel_is_refused():
    kernel = kernel_of("__global__ void k(float* a) { a[0] = 1.0f; }")
    other = kernel_of("__global__ void k(float* a, int n) { if (n) a[0] = 1.0f; else a[1] = 2.0f; }")
    with pytest.raises(ValueError, match="thread counts"):
        total_counts(kernel, flat_profile(other))


def test_nesting_deeper_than_the_recursion_limit():
    depth = 5000
    assert sys.getrecursionlimit() < depth
    span = Span("k.cu", 1, 1, 1)
    expr: Expr = Constant(1, INT32, span)
    for _ in range(depth):
        expr = Binary(BinaryOp.ADD, expr, Constant(1, INT32, span), INT32, INT32, span)
    body = Block((ExprStmt(expr, 0, span),), 0, span)
    for _ in range(depth):
        body = Block((If(Constant(1, INT32, span), body, None, 0, span),), 0, span)
    kernel = replace(kernel_of("__global__ void k() {}"), body=body, region_count=1)
    assert total_counts(kernel, flat_profile(kernel)) == OperationCounts(integer=depth, control=depth)
    assert len(slice_kernel(kernel)) == 1
