"""The one walk over a kernel that totals, heat, traffic and alias classes read."""

from wattslice import ir
from wattslice.ir.walking import LEAVES, evaluations, expressions_below

from .source_text import kernel_of


def test_inlined_bodies_are_walked_and_leaves_left_out():
    kernel = kernel_of("""
        __device__ float twice(float x) { return 2.0f * x; }
        __global__ void k(float* a) { a[0] = twice(a[1]) + 3.0f; }
    """)
    kinds = [type(node) for node, _ in evaluations(kernel)]
    assert LEAVES.isdisjoint(kinds)
    assert sorted(kind.__name__ for kind in kinds if kind in (ir.Binary, ir.Load, ir.InlinedCall)) == [
        "Binary",
        "Binary",
        "InlinedCall",
        "Load",
    ]


def test_every_expression_has_the_region_it_is_evaluated_in():
    kernel = kernel_of("""
        __global__ void k(float* a, int n) {
            for (int i = 0; i < n; i++) a[i] = i > 3 && n < 9 ? a[i + 1] : 0.0f;
        }
    """)
    loop = next(node for node, _ in evaluations(kernel) if isinstance(node, ir.Loop))
    select = next(node for node, _ in evaluations(kernel) if isinstance(node, ir.Select))
    logical = next(node for node, _ in evaluations(kernel) if isinstance(node, ir.Logical))
    where = dict(evaluations(kernel))
    assert where[loop] == loop.test_region
    assert loop.step is not None
    assert where[loop.step] == loop.step_region
    assert where[select.then] == select.then_region != where[select]
    assert where[logical.right] == logical.right_region != where[logical]


def test_expressions_below_a_statement_come_in_the_order_of_its_statements():
    kernel = kernel_of("""
        __device__ float twice(float x) { return 2.0f * x; }
        __global__ void k(float* a, int n) {
            if (n > 1) a[0] = twice(a[1]) - 3.0f;
            a[2] = 4.0f / n;
        }
    """)
    operators = [node.op.name for node in expressions_below(kernel.body) if isinstance(node, ir.Binary)]
    assert operators == ["GT", "SUB", "MUL", "DIV"]  # the body of a call behind the expression that calls
    inside = kernel.body.statements[0]
    assert isinstance(inside, ir.If)
    operators = [node.op.name for node in expressions_below(inside.then) if isinstance(node, ir.Binary)]
    assert operators == ["SUB", "MUL"]
