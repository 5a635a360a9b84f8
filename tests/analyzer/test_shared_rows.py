"""Neighbours in shared memory that one LDS.64, LDS.128 or STS.128 takes along: counts of nvcc 13's SASS."""

import pytest

from wattslice.workload.instructions.kinds import InstructionKind as K

from .test_instructions import mix_of

FILL = "t[threadIdx.x] = b[threadIdx.x]; __syncthreads(); "
SQUARE = "t[threadIdx.x / 32][threadIdx.x % 32] = b[threadIdx.x]; __syncthreads(); "
ROW = "__shared__ float t[128]; " + FILL
THREAD = "int i = threadIdx.x; "


def summed(trips: str, term: str) -> str:
    return f"float s = 0; for (int i = 0; i < {trips}; i++) s += {term}; a[0] = s;"


@pytest.mark.parametrize(
    ("body", "loads", "stores"),
    [
        (ROW + summed("128", "t[i]"), 32, 1),
        (ROW + summed("n", "t[i]"), 25, 1),
        ("extern __shared__ float t[]; " + FILL + summed("n", "t[i]"), 25, 1),
        ("extern __shared__ char u[]; " + FILL.replace("t[", "u[") + summed("n", "u[i]"), 25, 1),
        ("__shared__ char t[128]; " + FILL + summed("n", "t[i] * i"), 100, 1),
        ("__shared__ double t[64]; " + FILL + summed("32", "t[i]"), 16, 1),
        (ROW + summed("40", "t[3 * i] * t[3 * i + 1] + t[3 * i + 2]"), 30, 1),
        ("__shared__ float t[32][33]; " + SQUARE + summed("32", "t[threadIdx.x][i]"), 32, 1),
        ("__shared__ float t[32][34]; " + SQUARE + summed("32", "t[threadIdx.x][i]"), 16, 1),
        (
            "__shared__ float t[32][32]; "
            + SQUARE
            + THREAD
            + "a[0] = t[i][0] * t[i][1] + t[i][2] * t[i][3];",
            1,
            1,
        ),
        (
            THREAD
            + "struct C { float x, y; }; __shared__ C t[64]; t[i] = C{b[i], b[i + 1]}; __syncthreads();"
            "C z = t[31 - i]; a[0] = z.x * z.y;",
            1,
            1,
        ),
        (
            THREAD + "struct V { float x, y, z; }; __shared__ V t[32]; t[i] = V{b[i], b[1], b[2]};"
            "__syncthreads(); V z = t[31 - i]; a[0] = z.x * z.y * z.z;",
            3,
            3,
        ),
        (
            THREAD + "__shared__ float t[128]; t[4 * i] = b[i]; t[4 * i + 1] = b[i + 32];"
            "t[4 * i + 2] = b[i + 64]; t[4 * i + 3] = b[i + 96]; __syncthreads(); a[0] = t[31 - i];",
            1,
            1,
        ),
        (
            "__shared__ float t[128]; for (int k = 0; k < 4; k++) t[threadIdx.x * 4 + k] = b[k * n];"
            "__syncthreads(); a[0] = t[31 - threadIdx.x];",
            1,
            1,
        ),
        # a load in between keeps stores apart
        ("__shared__ float t[64]; t[0] = x; a[n] = t[n - 64]; t[1] = x; a[0] = t[0] + t[1];", 1, 2),
    ],
)
def test_aligned_neighbours_in_shared_memory_share_an_instruction(body: str, loads: float, stores: float):
    mix = mix_of(body)
    assert (mix.number(K.LDS), mix.number(K.STS)) == pytest.approx((loads, stores))


def test_what_a_counter_is_added_to_is_not_what_it_is_taken_from():
    taps = "float s = 0; for (int i = 1; i <= 4; i++) s += t[j - i] * t[j + i]; a[0] = s;"
    assert mix_of(f"{ROW} int j = threadIdx.x + 9; {taps}").number(K.LDS) == 8


def test_neighbours_of_a_constant_index_are_other_elements():
    """`b[i * 8 + 1]` of an unrolled loop is not `b[i * 8]`."""
    assert mix_of(summed("4", "b[i * 8] * b[i * 8 + 1]")).number(K.LDG) == 8


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        ("float u = a[n]; a[n] = a[n + 1]; a[n + 1] += u; b[0] = a[n];", 2),  # beside what is stored
        ("float u = a[n]; a[n + 1] = x; b[0] = u + a[n];", 1),
        ("float u = a[n]; a[c[0]] = x; b[0] = u + a[n];", 3),  # anywhere
        ("float u = a[n]; ((double*)(a + n - 1))[0] = x; b[0] = u + a[n];", 2),  # over it
    ],
)
def test_a_store_beside_a_known_place_leaves_it_known(body: str, loads: float):
    assert mix_of(body).number(K.LDG) == loads


def test_divisions_by_one_number_compute_its_reciprocal_once():
    """As the SASS of nvcc 13 does: one MUFU.RCP and two conversions for each divisor."""
    mix = mix_of("c[0] = c[1] / n; c[2] = c[3] % n; c[4] = (c[5] + 7) / n + c[6] / c[7];")
    assert (mix.number(K.MUFU), mix.number(K.CONVERSION)) == (2, 4)
