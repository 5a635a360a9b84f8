"""Conversions of numbers, and the unit that makes them: SASS of nvcc 13 for sm_75, sm_80 and sm_90."""

from __future__ import annotations

import pytest

from wattslice.counting.count import count
from wattslice.workload.instructions import InstructionKind as K
from wattslice.workload.instructions import isa_of, lower_instructions
from wattslice.workload.launch_work import instructions_by_pipe, launch_work, residency
from wattslice_models.gpu import load_gpu

from .source_text import launch_of

GPUS = ("t4", "a100", "h100")
KINDS = (K.CONVERSION, K.PACK, K.INT_TO_FLOAT, K.WIDE_CONVERSION, K.HFMA2, K.FSETP)


def kernel(from_: str, to: str, expression: str) -> str:
    return (
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
        f"__global__ void k({from_}* a, {to}* c) {{ int i = threadIdx.x; c[i] = {expression}; }}\n"
        "int main() { k<<<1, 64>>>(0, 0); }\n"
    )


@pytest.mark.parametrize(
    ("from_", "to", "expression", "made"),
    [
        ("int", "float", "a[i]", ({K.CONVERSION: 1}, {K.CONVERSION: 1}, {K.INT_TO_FLOAT: 1})),
        ("unsigned", "float", "a[i]", ({K.CONVERSION: 1}, {K.CONVERSION: 1}, {K.INT_TO_FLOAT: 1})),
        ("unsigned char", "float", "a[i]", ({K.CONVERSION: 1}, {K.CONVERSION: 1}, {K.INT_TO_FLOAT: 1})),
        ("short", "float", "a[i]", ({K.CONVERSION: 1},) * 3),
        ("short", "float", "a[i] + a[i + 1]", ({K.CONVERSION: 1}, {K.CONVERSION: 1}, {K.INT_TO_FLOAT: 1})),
        ("int", "__half", "__int2half_rn(a[i])", ({K.CONVERSION: 1},) * 3),
        ("int", "float", "a[i] > 3", ({K.FSETP: 1},) * 3),  # FSEL
        ("int", "float", "2.5f * (a[i] > 3)", ({K.FSETP: 1},) * 3),
        ("float", "float", "a[i + 7] * (a[i] > 3)", ({K.FSETP: 1},) * 3),  # FSET
        ("float", "float", "a[i + 7] - !(a[i] > 3) * a[i]", ({K.FSETP: 1},) * 3),
        ("float", "double", "a[i] > 3", ({K.FSETP: 2},) * 3),
        ("float", "float", "max(a[i], a[i + 7])", ({K.FSETP: 1},) * 3),  # FMNMX
        ("float", "int", "a[i]", ({K.CONVERSION: 1},) * 3),
        ("float", "double", "a[i]", ({K.WIDE_CONVERSION: 1},) * 3),
        ("long long", "float", "a[i]", ({K.WIDE_CONVERSION: 1},) * 3),
        ("float", "__half", "__float2half(a[i])", ({K.CONVERSION: 1}, {K.PACK: 1}, {K.PACK: 1})),
        ("__half", "float", "__half2float(a[i])", ({K.HFMA2: 1},) * 3),
        ("float2", "__half2", "__float22half2_rn(a[i])", ({K.CONVERSION: 2}, {K.PACK: 1}, {K.PACK: 1})),
        (
            "float",
            "__half2",
            "__floats2half2_rn(a[i], a[i + 7])",
            ({K.CONVERSION: 2}, {K.PACK: 1}, {K.PACK: 1}),
        ),
        ("__half2", "float2", "__half22float2(a[i])", ({K.HFMA2: 2},) * 3),
    ],
)
def test_what_a_conversion_becomes(from_, to, expression, made):
    launch = launch_of(kernel(from_, to, expression))
    profile = count(launch)
    for gpu, expected in zip(GPUS, made, strict=True):
        mix = lower_instructions(launch.kernel, profile, isa_of(load_gpu(gpu)))
        assert {kind: mix.number(kind) for kind in KINDS if mix.number(kind)} == expected, gpu


def test_halves_of_the_brain_become_floats_on_the_units_for_integers():
    launch = launch_of(kernel("__nv_bfloat16", "float", "__bfloat162float(a[i])"))
    mix = lower_instructions(launch.kernel, count(launch))
    assert mix.number(K.SHF) == 1


def test_quick_conversions_are_no_special_functions():
    launch = launch_of(kernel("int", "__half", "__float2half((float)a[i])"))
    pipes = []
    for gpu in map(load_gpu, GPUS):
        work = launch_work(launch, residency(launch, gpu), count(launch))
        pipes.append(instructions_by_pipe(work.instructions, work.counts))
    assert [one.special for one in pipes] == [2, 1, 0]
    assert [one.integer - pipes[0].integer for one in pipes] == [0, 1, 2]


@pytest.mark.parametrize(
    ("expression", "trips"),
    [
        ("__float2int_rn(x)", 4),
        ("__float2int_ru(x)", 5),
        ("__float2int_rd(x)", 4),
        ("__float2int_rz(x)", 4),
        ("__double2int_rn(x + 1.0)", 6),
        ("__double2uint_ru(x)", 5),
        ("__float2int_rd(-x) + 8", 3),
        ("__float2int_rz(-x) + 8", 4),
    ],
)
def test_conversions_of_known_numbers_round_as_their_names_say(expression: str, trips: int):
    text = (
        f"__global__ void k(int *o, float x) {{ int n = {expression};\n"
        "for (int i = 0; i < n; ++i) o[i] = i; }\n"
        "int main() { k<<<1, 32>>>(0, 4.5f); }\n"
    )
    assert [loop.trip_count for loop in count(launch_of(text)).loops] == [trips]


FLOATING = (K.FADD, K.FMUL, K.FFMA, K.FSETP, K.DADD, K.DMUL, K.DFMA, K.DSETP, K.WIDE_CONVERSION)


def arithmetic(body: str, number: str = "float") -> dict[K, float]:
    launch = launch_of(
        f"__device__ double halved({number} x) {{ return x * 0.5; }}\n"
        f"__global__ void k({number}* a, const {number}* b, double* d, {number} c, int n) "
        f"{{ int i = threadIdx.x; {number} x = b[i], y = b[i + 64]; {body} }}\n"
        "int main() { k<<<1, 64>>>(0, 0, 0, 1.5, 7); }\n"
    )
    mix = lower_instructions(launch.kernel, count(launch))
    return {kind: mix.number(kind) for kind in FLOATING if mix.number(kind)}


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("a[i] = x * 0.25;", {K.FMUL: 1}),
        ("a[i] = x / 4.0;", {K.FMUL: 1}),
        ("a[i] = x + 1.0;", {K.FADD: 1}),
        ("a[i] = (double)x - y;", {K.FADD: 1}),
        ("a[i] = (float)n * 3.0;", {K.FMUL: 1}),
        ("a[i] = (x + y) * 3.0;", {K.FADD: 1, K.FMUL: 1}),
        ("a[i] = (float)(x * 3.0) + 1.0;", {K.FFMA: 1}),
        ("x += 1.0; a[i] = x;", {K.FADD: 1}),
        ("double v = x, w = v * 3.0; a[i] = w;", {K.FMUL: 1}),
        ("double s = 0; s += x; a[i] = s;", {K.FADD: 1}),
        ("a[i] = halved(x);", {K.FMUL: 1}),
        ("if (x > 0.5) a[i] = y;", {K.FSETP: 1}),
        ("if ((double)x < (double)y) a[i] = y;", {K.FSETP: 1}),
        ("a[i] = x > 0.5 ? x : 0.0;", {K.FSETP: 2}),
        ("a[i] = x > 0.5 ? 0.0 : (double)y;", {K.FSETP: 2}),
        ("a[i] = x > y ? 3.0 : 0.25;", {K.FSETP: 2}),
        # what is no float, and what is rounded once after two operations
        ("a[i] = x * 0.1;", {K.DMUL: 1, K.WIDE_CONVERSION: 2}),
        ("a[i] = x * 1e40;", {K.DMUL: 1, K.WIDE_CONVERSION: 2}),
        ("if (x > 0.1) a[i] = y;", {K.DSETP: 1, K.WIDE_CONVERSION: 1}),
        ("a[i] = (x + 1.0) * 3.0;", {K.DADD: 1, K.DMUL: 1, K.WIDE_CONVERSION: 2}),
        ("a[i] = n * 0.5;", {K.DMUL: 1, K.WIDE_CONVERSION: 2}),
        ("d[i] = x * 0.5;", {K.DMUL: 1, K.WIDE_CONVERSION: 1}),
        ("a[i] = (int)(x * 0.5);", {K.DMUL: 1, K.WIDE_CONVERSION: 2}),
        ("a[i] = fma((double)x, (double)y, 1.0);", {K.DFMA: 1, K.WIDE_CONVERSION: 3}),
        ("a[i] = x > y ? d[i] : 0.5;", {K.FSETP: 1, K.WIDE_CONVERSION: 1}),
    ],
)
def test_one_operation_in_double_on_floats_is_one_on_floats(body: str, made: dict[K, float]):
    assert arithmetic(body) == made


@pytest.mark.parametrize(
    ("body", "sums", "products", "fused"),
    [
        ("a[i] = x * 2 + y;", 0, 0, 1),
        ("a[i] = y + 2 * x;", 0, 0, 1),
        ("a[i] = x * 2 * y;", 1, 1, 0),
        ("a[i] = x * 2;", 1, 0, 0),
        ("a[i] = x + x;", 1, 0, 0),
        ("a[i] = x * 2 - y;", 2, 0, 0),
        ("a[i] = y - x * 2;", 2, 0, 0),
        ("a[i] = y + x * -2;", 2, 0, 0),
        ("a[i] = y - x * -2;", 0, 0, 1),
        ("a[i] = y - x * 4;", 0, 0, 1),
        ("a[i] = x * -2;", 0, 1, 0),
        ("x *= 2; a[i] = x + y; a[i + 64] = x;", 2, 0, 0),
        ("x *= 2; a[i] = x + y; a[i + 64] = x + c;", 0, 0, 2),
        ("a[i] = 2 * x - y + c * (y - 2 * x + c);", 4, 0, 1),
        ("a[i] = 2 * (x * y) - y;", 2, 1, 0),  # one of the sums is an FMA there: x * y + itself
        ("for (int k = 0; k < n; k++) x = 2 * x + y; a[i] = x;", 0, 0, 7),
        ("a[i] = x / 0.5 + y;", 0, 0, 1),
        ("a[i] = x * 1 + y;", 1, 0, 0),
        ("a[i] = y - x / -1;", 1, 0, 0),
    ],
)
@pytest.mark.parametrize("number", ["float", "double"])
def test_doubling_is_a_sum_by_the_time_that_differences_fuse(
    number: str, body: str, sums: float, products: float, fused: float
):
    kinds = (K.FADD, K.FMUL, K.FFMA) if number == "float" else (K.DADD, K.DMUL, K.DFMA)
    made = {kind: n for kind, n in zip(kinds, (sums, products, fused), strict=True) if n}
    assert arithmetic(body.replace("0.5", "0.5f"), number) == made
