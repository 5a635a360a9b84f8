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
