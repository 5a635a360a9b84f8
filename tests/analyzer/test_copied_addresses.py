"""Addresses in the copies of an unrolled loop that lie a stride apart which only the run tells."""

from __future__ import annotations

import pytest

from wattslice.workload.instructions import InstructionKind as K
from wattslice.workload.instructions import Isa, lower_instructions

from .source_text import launched

START = "int x = blockIdx.x * 32 + threadIdx.x; {}"
UNROLLED = "\n#pragma unroll\nfor (int i = 0; i < 8; i++) {}\n"


def integer(body: str, isa: Isa = Isa.IMAD) -> float:
    text = (
        f"__global__ void k(float *d, float *s, int pitch, float v) {{ {body} }}\n"
        "int main() { k<<<8, 32>>>(0, 0, 64, 1); }"
    )
    kernel, profile = launched(text)
    mix = lower_instructions(kernel, profile, isa)
    return sum(mix.number(kind) for kind in (K.IMAD, K.IADD, K.LOP, K.SHF, K.ISETP))


@pytest.mark.parametrize(
    ("body", "made"),  # SASS of nvcc 13 for sm_80 and sm_90
    [
        # LEA, the stride, eight IMAD.WIDE
        (START.format("d += x;") + UNROLLED.format("d[i * 8 * pitch] = v;"), 10),
        # the same, and one IMAD.WIDE for d[0]
        (START.format("s += x; float a = 0;") + UNROLLED.format("a += s[i * 8 * pitch];") + "d[x] = a;", 11),
        (START.format("d += x; s += x;") + UNROLLED.format("d[i * 8 * pitch] = s[i * 8 * pitch];"), 19),
        # LEA, IMAD of the stride, eight IMAD.WIDE and the first one
        (START.format("") + UNROLLED.format("d[x + i * pitch] = v;"), 11),
    ],
)
def test_each_copy_adds_the_stride_to_the_address_before(body, made):
    assert integer(body) == made


def test_a_stride_that_the_copy_changes_is_multiplied_anew():
    fixed = START.format("d += x;") + UNROLLED.format("d[i * pitch] = v;")
    moving = START.format("d += x;") + UNROLLED.format("d[i * (pitch + i * i)] = v;")
    assert integer(moving) > integer(fixed) + 16


def test_pascal_adds_in_two_halves():
    body = START.format("d += x;") + UNROLLED.format("d[i * 8 * pitch] = v;")
    assert integer(body, Isa.XMAD) > integer(body) + 8
