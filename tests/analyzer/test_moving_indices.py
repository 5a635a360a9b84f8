"""What the iterations of a loop add to an index: a pointer steps along, or the index does in 32 bits."""

from __future__ import annotations

import pytest

from wattslice.workload.instructions import InstructionKind as K
from wattslice.workload.instructions import InstructionMix, lower_instructions

from .source_text import launched

LOOP = "for (int k = {start}; k < n; k++) s += {read};"


def mix_of(loop: str) -> InstructionMix:
    kernel, profile = launched(
        "__global__ void f(const float* u, const float* v, float* o, int n, int w, int h) {\n"
        f"int c = blockIdx.x * blockDim.x + threadIdx.x; float s = 0; {loop} o[c] = s; }}\n"
        "int main() { f<<<16, 128>>>(0, 0, 0, 514, 2048, 3); }"
    )
    return lower_instructions(kernel, profile)


@pytest.mark.parametrize(
    ("start", "read", "instructions"),  # of SASS of nvcc 13
    [
        # a pointer, by one IMAD.WIDE
        (1, "u[k * w + c]", 1710),
        (1, "u[(k - 1) * w + c]", 1706),
        (1, "u[(k + 1) * w + c]", 1708),
        (0, "u[k * (w + h) + c]", 1712),
        ("h", "u[(k - 1) * w + c]", 1682),
        (1, "u[(k - 1) * w + c] * v[(k - 1) * w + c]", 2734),
        # rows that another copy loads, too
        (1, "u[(k - 1) * w + c] * u[k * w + c]", 1969),
        (1, "u[(k - 1) * w + c] * u[k * w + c] + u[(k + 1) * w + c]", 2739),
        # the index itself, in four copies
        (0, "u[k * h * w + c]", 2345),
        (1, "u[(k * h + c) * w]", 2344),
        (0, "u[(n - k) * w + c]", 2343),
        (0, "u[(2 * k + 1) * w + c]", 2341),
        (0, "u[k * h + k * w + c]", 2343),
        (1, "u[(k - 1) * 64 + c]", 1951),
        (0, "u[(k + 1) * 64 + c]", 2086),
        (0, "u[k * 64 + 1]", 2090),
        # not where the counter alone is an index, or the run tells the start
        (0, "u[k * 64 + c] * v[k]", 1850),
        (0, "u[2 * k + c]", 1265),
        ("h", "u[k * h * w + c]", 1840),
        ("h", "u[k * 64 + c]", 1457),
    ],
)
def test_a_pointer_steps_along_unless_its_index_may_wrap(start: object, read: str, instructions: float):
    made = mix_of(LOOP.format(start=start, read=read)).total
    assert made == pytest.approx(instructions, rel=0.09)


def test_an_index_has_a_name():
    named = mix_of("for (int k = 0; k < n; k++) { int q = k * 64 + c; s += u[q]; }")
    assert named.total == pytest.approx(2088, rel=0.05)
    called = mix_of("auto at = [&](int k) { return k * 64 + c; };" + LOOP.format(start=0, read="u[at(k)]"))
    assert called.total == named.total


def test_planes_have_a_stride():
    """SASS of nvcc 13: four copies of one IMAD.WIDE for each address, and an IADD3 for the number added."""
    plane = "for (int k = 1; k < n; k++) {}"
    assert mix_of(plane.format("s += u[(k * h + 7) * w + c] * v[(k * h + c) * w + 5];")).number(K.IMAD) < 1400
    moved = mix_of(plane.format("o[(k * h + c) * w + 1] = u[(k * h + c) * w + 1];"))
    assert moved.number(K.IMAD) + moved.number(K.IADD) == pytest.approx(2704, rel=0.1)


def test_an_address_in_shared_memory_may_wrap():
    fill = "__shared__ float m[4096]; m[c] = c; __syncthreads();"
    branches = mix_of(fill + LOOP.format(start=0, read="m[k * 64 + c]")).number(K.BRANCH)
    assert branches == pytest.approx(38, abs=2)  # SASS: sixteen copies


TABLES = """
__constant__ unsigned tab[256]; __constant__ float ft[64];
__global__ void f(const unsigned* p, const unsigned char* b, const float* t, float* o, int n, unsigned m) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0; unsigned c = 0; {fill}
  for (int k = 0; k < n; k++) {{ {body} }} o[i] = s + c;
}}
int main() {{ f<<<16, 128>>>(0, 0, 0, 0, 512, 7); }}
"""
SHARED = "__shared__ unsigned sm[256]; sm[threadIdx.x] = i; sm[threadIdx.x + 128] = i; __syncthreads();"


@pytest.mark.parametrize(
    ("fill", "body", "integer", "copies"),  # SASS of nvcc 13, less the conversion of the result
    [
        # what is loaded may be without a sign: it moves no pointer
        ("", "c += p[p[k] + 1u];", 1498, 16),
        ("", "unsigned x = p[k]; s += t[x >> 3];", 1243, 16),
        (SHARED, "c += sm[(p[k] >> 8) & 255u];", 1466, 16),
        ("", "c = p[(c ^ b[k]) & 255] ^ (c >> 8);", 2260, 16),
        ("unsigned j = i;", "c += p[j + k];", 1811, 4),
        # a sum in an address is one, with what is loaded beside it
        ("", "s += t[k * 4 + 1 + 64 * (int)p[k]];", 1759, 16),
        ("", "s += t[(k + 3) % 7 + i];", 4635, 4),
        # an index into constant memory is scaled
        ("", "c += tab[b[k]];", 954, 16),
        ("", "s += ft[p[k * n + i] & 63];", 1659, 16),
    ],
)
def test_a_table_is_read_in_sixteen_copies(fill: str, body: str, integer: float, copies: int):
    mix = lower_instructions(*launched(TABLES.format(fill=fill, body=body)))
    kinds = (K.IMAD, K.IADD, K.LOP, K.SHF, K.ISETP, K.MOV)
    assert sum(mix.number(kind) for kind in kinds) == pytest.approx(integer, rel=0.1)
    assert mix.number(K.BRANCH) == pytest.approx(512 / copies + 3, abs=2)


def test_one_look_into_a_table():
    mix = lower_instructions(
        *launched(
            "__constant__ float table[256];\n"
            "__global__ void f(const int* p, float* o) { o[threadIdx.x] = table[p[threadIdx.x] & 255]; }\n"
            "int main() { f<<<1, 32>>>(0, 0); }"
        )
    )
    # S2R, two IMAD.WIDE, their MOV, LOP3, and SHF, the stack pointer, the descriptor
    assert (mix.number(K.SHF) + mix.number(K.IADD), mix.number(K.LDC)) == (1, 1)


@pytest.mark.parametrize(
    ("body", "instructions"),  # SASS of nvcc 13
    [
        # the counter is kept for what is made of it, and sixteen copies are made
        ("float t = u[k * 64 + c]; if (t > s) { s = t; i = k; }", 2276),
        ("if (u[k * 64 + c] == s) i = k;", 1764),
        ("s += u[k * 64 + c] * k;", 2250),
        ("float t = u[k * 64 + c]; if (t > s) s = t;", 2587),
    ],
)
def test_the_number_of_the_greatest_element(body: str, instructions: float):
    mix = mix_of(f"int i = 0; for (int k = 0; k < n; k++) {{ {body} }} o[c + 1] = i;")
    assert mix.total == pytest.approx(instructions, rel=0.03)


CHANGED = "float a = -1e9f, b = 0, d = 0; int i = 0, j = 0;"


@pytest.mark.parametrize(
    ("body", "selections", "moves"),  # of each iteration, SASS of nvcc 13
    [
        ("if (t > a) { b = a; a = t; }", 2, 0),
        ("if (t > a) { b = a; a = t; i = k; }", 3, 0),
        ("if (t > a) { b = a; a = t; j = i; i = k; }", 0, 6),
        ("if (t > a) { d = b; b = a; a = t; i = k; }", 0, 6),
        (
            "int q = k; if (t > a) { float f = a; a = t; t = f; int w = i; i = q; q = w; }"
            "if (t > b) { b = t; j = q; }",
            2,
            6,
        ),
    ],
)
def test_more_than_three_variables_are_moved(body: str, selections: float, moves: float):
    tests = body.count("if")
    mix = mix_of(f"{CHANGED} for (int k = 0; k < n; k++) {{ float t = u[k]; {body} }} s = a + b + d + i + j;")
    bare = mix_of(f"{CHANGED} for (int k = 0; k < n; k++) a += u[k]; s = a + b + d + i + j;")
    made = {kind: (mix.number(kind) - bare.number(kind)) / 514 for kind in (K.FSETP, K.ISETP, K.MOV)}
    assert made[K.FSETP] + made[K.ISETP] == pytest.approx(tests + selections, abs=0.1)
    assert made[K.MOV] == pytest.approx(moves, abs=0.1)


def test_elements_of_an_array_are_exchanged():
    """SASS of nvcc 13: of the eight greatest a text keeps, an iteration has about 45 moves and selections."""
    body = "float f = m[j]; m[j] = t; t = f; int g = at[j]; at[j] = i; i = g;"
    loop = "for (int k = 0; k < n; k++) { float t = u[k]; int i = k; \n#pragma unroll\n"
    loop += f"for (int j = 0; j < 8; j++) if (t > m[j]) {{ {body} }} }}"
    start = "float m[8]; int at[8]; \n#pragma unroll\nfor (int j = 0; j < 8; j++) { m[j] = 0; at[j] = 0; }"
    end = "\n#pragma unroll\nfor (int j = 0; j < 8; j++) s += m[j] * at[j];"
    assert mix_of(start + loop + end).number(K.MOV) / 514 == pytest.approx(45, rel=0.2)


@pytest.mark.parametrize(
    ("index", "instructions", "is_whole"),  # of SASS of nvcc 13
    [
        ("i / w * w + i % w", 11, True),
        ("i % w + w * (i / w)", 11, True),
        ("i / w * w * h + i % w * h", 12, True),
        ("i / 100 * 100 + i % 100", 11, True),
        ("i / w * w + i % h", 45, False),
        ("i / h * w + i % h", 32, False),
        ("i / 50 * 100 + i % 50", 16, False),
        ("i / 50 * 100 + i % 100", 17, False),
        ("i / w * w + (i + 1) % w", 41, False),
    ],
)
def test_what_is_divided_and_put_together_again_is_not_divided(index: str, instructions: int, is_whole: bool):
    kernel, profile = launched(
        "__global__ void f(const int *a, int *o, int w, int h) {"
        f" int i = blockIdx.x * blockDim.x + threadIdx.x; o[i] = a[{index}]; }}"
        "int main() { f<<<256, 256>>>(0, 0, 100, 50); }"
    )
    made = lower_instructions(kernel, profile).total
    assert made == instructions if is_whole else made >= instructions - 1
