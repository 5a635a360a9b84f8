"""What lowering knows of loops and arms before it reads them."""

import pytest

from wattslice import ir
from wattslice.workload.instructions.code_facts import CodeFacts, Trait, kernel_facts

from .source_text import kernel_of


def loop_body(body: str) -> CodeFacts:
    """Facts about the body of the outermost loop of `for (i) { body }`."""
    kernel = kernel_of(f"""
        __device__ float twice(float x) {{ x *= 2.0f; return x; }}
        __global__ void k(float* a, float* b, int n) {{
            __shared__ float s[64];
            float sum = 0.0f;
            for (int i = 0; i < n; i++) {{ {body} }}
            a[n] = sum;
        }}
    """)
    loop = next(stmt for stmt in kernel.body.statements if isinstance(stmt, ir.Loop))
    return kernel_facts(kernel).blocks[loop.body]


def test_nested_code_counts_with_what_is_around_it():
    facts = loop_body("if (i > 3) { for (int j = 0; j < 4; j++) sum += twice(a[j]); }")
    assert {variable.name for variable in facts.assigned} == {"sum", "j", "x"}
    assert Trait.RETURN not in facts.has  # that of the inlined call is its end
    assert {Trait.NESTED, Trait.LONG_ARM} <= facts.has  # a loop cannot be predicated


@pytest.mark.parametrize(
    ("body", "short"),
    [
        ("sum += a[i];", True),
        ("sum += " + " + ".join(f"a[i + {k}]" for k in range(8)) + ";", False),
        ("if (i > 3) break;", False),
        ("sum += sqrtf(a[i]);", False),
    ],
)
def test_short_enough_to_be_predicated(body: str, short: bool):
    assert loop_body(body).is_short is short
