"""What one block touches in all iterations, from the few that are evaluated: against all of them."""

import itertools
import random

import numpy as np
import pytest

from wattslice.counting.sampling import sample_threads
from wattslice.counting.touched import MOST_KEPT, Stretch, Touched, united

from .counted import counted
from .test_traffic import moved_by

THREADS = sample_threads((1, 1, 1), (64, 1, 1))
LANES = np.ones(64)


def sectors(runs):
    return {sector for first, behind in runs for sector in range(first // 32, -(-behind // 32))}


def corners(trips):
    """The iterations that are evaluated of loops inside each other: the first of all, and the last of the
    innermost loop, of that and the loop around it, and so on; each with those that it stands for.
    """
    if not trips:
        yield ()
        return
    half = (trips[0] + 1) // 2
    for rest in corners(trips[1:]):
        yield (Stretch(0, 0, half, trips[0]), *rest)
    if half < trips[0]:
        yield (
            Stretch(trips[0] - 1, half, trips[0], trips[0]),
            *(Stretch(one - 1, 0, one, one) for one in trips[1:]),
        )


@pytest.mark.parametrize("seed", range(60))
def test_iterations_between_those_evaluated_are_found(seed):
    """Also where lanes run the innermost loop differently often."""
    draw = random.Random(seed)
    trips = tuple(draw.choice((1, 2, 3, 7)) for _ in range(draw.randint(1, 3)))
    steps = [draw.choice((0, 4, -4, 32, 8192, -8192, 100)) for _ in trips]
    lanes = np.array(
        [draw.choice((4 * lane, 32 * lane, 8192 * (lane // 8) + 4 * (lane % 8))) for lane in range(64)]
    )
    size = draw.choice((1, 4, 8, 12, 16))
    own = np.array([draw.randint(1, trips[-1]) for _ in range(64)]) if draw.random() < 0.5 else trips[-1]
    touched = Touched(THREADS, 0)
    for around in corners(trips):
        inner = around[len(trips) - 1]
        around = (*around[: len(trips) - 1], Stretch(inner.place, inner.first, inner.behind, own))
        weights = LANES
        for one in around:
            weights = weights * np.maximum(0, np.minimum(one.trips, one.behind) - one.first)
        offsets = lanes + sum(step * one.place for step, one in zip(steps, around, strict=True))
        touched.visit(offsets, weights, around)
    found = touched.runs(size)
    wanted = {
        byte // 32
        for place in itertools.product(*map(range, trips))
        for lane, most in zip(lanes, np.broadcast_to(own, 64), strict=True)
        if place[-1] < most
        for first in (lane + sum(step * k for step, k in zip(steps, place, strict=True)),)
        for byte in range(first, first + size)
    }
    assert found is not None
    assert sectors(found) == wanted
    assert all(behind < first for (_, behind), (first, _) in itertools.pairwise(found))


@pytest.mark.parametrize("seed", range(40))
def test_runs_that_come_again_are_united(seed):
    draw = random.Random(seed)
    runs = [(at, at + draw.randint(1, 90)) for at in (draw.randint(-500, 3000) for _ in range(5))]
    loops = [
        (draw.choice((0, 4, -4, 31, 100, -1000)), [draw.randint(1, 5) for _ in runs])
        for _ in range(draw.randint(0, 3))
    ]
    first, behind = np.array(runs).T
    found = united(first, behind, [(step, np.array(numbers)) for step, numbers in loops])
    assert found is not None
    wanted = {
        byte // 32
        for run, (low, high) in enumerate(runs)
        for place in itertools.product(*(range(numbers[run]) for _, numbers in loops))
        for byte in range(low, high)
        for byte in (byte + sum(step * k for (step, _), k in zip(loops, place, strict=True)),)
    }
    assert sectors(zip(*found, strict=True)) == wanted


def visited(*visits):
    touched = Touched(THREADS, 0)
    for visit in visits:
        touched.visit(*visit)
    return touched.runs(4)


def test_what_is_evaluated_once_each_needs_no_loop():
    assert visited((0, LANES, None), (64, LANES, None)) == ((0, 4), (64, 68))


def test_other_lanes_and_other_distances_need_no_loop_either():
    lanes = 4 * np.arange(64)
    assert visited((lanes, LANES, None), (9 * lanes, LANES * (np.arange(64) == 63), None)) == (
        (0, 256),
        (9 * 252, 9 * 252 + 4),
    )


def test_each_run_of_an_outer_loop_has_its_own_inner_one():
    """A triangle: iteration k of three goes through k + 1 elements from k * k on."""
    outer = [Stretch(k, k, k + 1, 3) for k in range(3)]
    visits = [(64 * 9, LANES, (outer[0], Stretch(0, 0, 1, 1)))]
    for k in (1, 2):
        half = (k + 2) // 2
        visits += [
            (64 * (9 + k * k), LANES * half, (outer[k], Stretch(0, 0, half, k + 1))),
            (64 * (9 + k * k + k), LANES * (k + 1 - half), (outer[k], Stretch(k, half, k + 1, k + 1))),
        ]
    assert visited(*visits) == tuple((64 * at, 64 * at + 4) for at in (9, 10, 11, 13, 14, 15))


@pytest.mark.parametrize(("lanes", "moves"), [(32, ((0, 128), (0, 0), (0, 0))), (16, None)])
def test_a_block_stands_for_those_that_do_no_more(lanes, moves):
    touched = Touched(sample_threads((2, 1, 1), (32, 1, 1)), 0)
    touched.visit(4 * np.arange(64), 1.0 * (np.arange(64) >= 32 - lanes), None)
    assert touched.moves == moves


def halves(trips, first=0, last=None):
    """An iteration of the first half of a loop, and one of the second."""
    last = trips - 1 if last is None else last
    return (Stretch(first, 0, trips // 2, trips),), (Stretch(last, trips // 2, trips, trips),)


@pytest.mark.parametrize(
    "visits",
    [
        [(0, LANES * 2, None)],  # which iterations is not known
        [(0, LANES * 3, halves(4)[0]), (64, LANES, halves(4)[1])],  # not so often
        [(0, LANES * 2, halves(4)[0]), (64, LANES * 2, halves(4, last=0)[1])],  # one iteration, two places
        [(0, LANES * 2, halves(4)[0]), (100, LANES * 2, halves(4)[1])],  # not by the same each time
        [(0, LANES * 4, (Stretch(0, 0, 4, 4),))],  # nothing tells by how much
        [(0, LANES * 2, halves(4)[0]), (np.arange(64), LANES * 2, halves(4)[1])],  # some move, some do not
        [(64 * k, LANES, None) for k in range(MOST_KEPT // 64 + 1)],
        [],
    ],
)
def test_what_does_not_follow_is_not_known(visits):
    assert visited(*visits) is None


STENCILS = {
    # Rows of 4 sectors, with 2 more where neighbours to both sides are read.
    "star of radius 4": (
        "float s = p[0]; for (int r = 1; r <= 4; ++r) s += p[r] + p[-r] + p[r * w] + p[-r * w];",
        16 * 6 + 8 * 4,
    ),
    "jacobi": ("float s = p[0] + p[1] + p[-1] + p[w] + p[-w];", 16 * 6 + 2 * 4),
    "taps of a filter": (
        "float s = 0; for (int j = 0; j < 7; j++) for (int i = 0; i < 7; i++) s += p[j * w + i];",
        22 * 5,
    ),
    "columns": ("float s = 0; for (int j = 0; j < 5; j++) s += p[j * w];", 20 * 4),
    "while": ("float s = 0; int j = 0; while (j < 5) { s += p[j * w]; j++; }", 20 * 4),
    "by hand": ("float s = p[0] + p[w] + p[2 * w] + p[3 * w] + p[4 * w];", 20 * 4),
}


@pytest.mark.parametrize("body", STENCILS)
def test_l1_keeps_what_a_block_reads_again(tmp_path, body):
    """A block of 32 by 16, of an image that is far wider: of the box from its first to its last address most
    belongs to other blocks.
    """
    text, wanted = STENCILS[body]
    source = f"""__global__ void k(const float *in, float *out, int w) {{
      int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
      const float *p = in + (y + 8) * w + x + 8;
      {text}
      out[y * w + x] = s;
    }}"""
    moved = moved_by(*counted(tmp_path, source, "k=60,60:32,16", "w=2048"))
    assert moved.l2_bytes * 512 == pytest.approx(32 * wanted + 4 * 512)
