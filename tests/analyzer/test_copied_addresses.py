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


ROWS = "int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y; "
COPY = "d[(y + {0}) * pitch + x] = s[(y + {0}) * pitch + x];"


@pytest.mark.parametrize(
    ("body", "sass"),  # of nvcc 13 for sm_80
    [
        # two LEA, IMAD, the distance, two IMAD.WIDE for each of four rows
        ("for (int j = 0; j < 32; j += 8) " + COPY.format("j"), 12),
        # written out, too
        (" ".join(COPY.format(8 * j) for j in range(4)), 12),
        # two LEA, IMAD, two IADD3 and four IMAD.WIDE
        ("d[x] = s[y * pitch + x] + s[(y + 1) * pitch + x] + s[(y + 2) * pitch + x];", 9),
        # `y + 1` is an IADD3, the distance a part of an LEA
        ("d[x] = s[(y + 1) * pitch + x] + s[(y + 3) * pitch + x];", 8),
        # copies that decide whether they store multiply for themselves
        ("for (int j = 0; j < 8; j++) if (y + j < 77) " + COPY.format("j"), 41),
    ],
)
def test_rows_apart_are_multiplied_once(body, sass):
    assert sass <= integer(ROWS + body) <= sass + 2


def test_rows_apart_in_a_loop_are_multiplied_once():
    body = ROWS + "for (int t = 0; t < pitch; t++) {{ __syncthreads(); for (int j = 0; j < 4; j++) {} }}"
    apart, moved = (body.format(f"d[({one}) * pitch + x] = v;") for one in ("t * 32 + j + y", "t * 32 + y"))
    # an IMAD.WIDE for each of the three rows more
    assert integer(apart) - integer(moved) <= 64 * 4


def test_a_number_beside_a_sum_is_added_to_it():
    # SASS: two LEA, IADD3, two IMAD and three IMAD.WIDE; no second LEA for `y + 2`
    assert integer(ROWS + "d[x] = s[(y + 2) * pitch + x] + s[y * pitch + x];") == 8


def test_bytes_a_pitch_apart_are_added_in_two_halves():
    body = ROWS + "for (int j = 0; j < 32; j += 8) {}[(y + j) * pitch + x] = 1;"
    words, bytes_ = (integer(body.format(one)) for one in ("d", "((char*)d)"))
    assert words + 4 <= bytes_ <= words + 5  # SASS: IADD3, IADD3.X for IMAD.WIDE, in each copy
