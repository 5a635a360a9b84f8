"""Slow paths of mathematical functions that compilers write out."""

import pytest

from .ptx_kernels import ADDRESS, THREAD, analysed, executed, kernel_text

TEMPLATE = (
    THREAD
    + ADDRESS
    + """
ld.global.f32 %f1, [%rd4]; abs.f32 %f2, %f1; ld.global.f64 %fd1, [%rd4]; mov.b32 %r9, %f1;
TEST @%p1 bra DONE;
mul.f32 %f3, %f1, %f1; st.global.f32 [%rd4], %f3;
DONE: ret;
"""
)


@pytest.mark.parametrize(
    ("test", "taken"),
    [
        ("setp.ltu.f32 %p1, %f2, 0f47CE4780;", 0),  # sinf: |x| < 105615
        ("setp.ltu.f64 %p1, %fd1, 0d41E0000000000000;", 0),  # sin: |x| < 2^31
        ("setp.neu.f32 %p1, %f2, 0f7F800000;", 0),
        ("setp.eq.f32 %p1, %f2, 0f7F800000;", 1),
        ("setp.lt.u32 %p1, %r9, 2139095040;", 0),  # logf: bits below those of infinity
        ("setp.ltu.f32 %p1, %f2, 0f47CE4781;", 0.5),  # some other number
        ("setp.lt.u32 %p1, %r9, 2139095041;", 0.5),
    ],
)
def test_numbers_are_assumed_to_be_ordinary(tmp_path, test, taken):
    text = kernel_text(TEMPLATE.replace("TEST", test), "u64")
    assert executed(tmp_path, text, "k=4:64")["mul.f32"] == taken
    (assumption,) = (a for a in analysed(tmp_path, text, "k=4:64").assumptions if a.rule == "PW012")
    assert ("slow path" in assumption.message) is (taken != 0.5)


def test_a_test_that_two_functions_share_is_known(tmp_path):
    """Sine and cosine of the same number: the comparison stays in a predicate."""
    again = "@%p1 bra DONE; sub.f32 %f4, %f1, %f1;\n@%p1 bra DONE;"
    text = TEMPLATE.replace("TEST @%p1 bra DONE;", f"setp.ltu.f32 %p1, %f2, 0f47CE4780;\n{again}")
    runs = executed(tmp_path, kernel_text(text, "u64"), "k=4:64")
    assert runs["sub.f32"] == runs["mul.f32"] == 0
