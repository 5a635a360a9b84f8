"""What one block touches in all iterations, from the few that are evaluated: against all of them."""

import itertools
import random

import numpy as np
import pytest

from wattslice.counting.touched import MOST_ITERATIONS, Touched

from .counted import counted
from .test_traffic import moved_by

LANES = np.ones(64, bool)


def sectors(runs):
    return {sector for first, behind in runs for sector in range(first, behind)}


def corners(trips):
    """The iterations that are evaluated of loops inside each other: the first of all, and the last of the
    innermost loop, of that and the loop around it, and so on.
    """
    yield tuple(0 for _ in trips)
    for depth in range(len(trips) - 1, -1, -1):
        if trips[depth] > 1:
            yield (*(0 for _ in trips[:depth]), *(one - 1 for one in trips[depth:]))


@pytest.mark.parametrize("seed", range(40))
def test_iterations_between_those_evaluated_are_found(seed):
    draw = random.Random(seed)
    trips = tuple(draw.choice((1, 2, 3, 7)) for _ in range(draw.randint(1, 3)))
    steps = [draw.choice((0, 4, -4, 32, 8192, -8192, 100)) for _ in trips]
    lanes = np.array(
        [draw.choice((4 * lane, 32 * lane, 8192 * (lane // 8) + 4 * (lane % 8))) for lane in range(64)]
    )
    size = draw.choice((1, 4, 8, 12, 16))
    touched, visits = Touched(), list(corners(trips))
    of_each = np.prod(trips) / len(visits)
    for place in visits:
        offsets = lanes + sum(step * k for step, k in zip(steps, place, strict=True))
        touched.visit(offsets, LANES * of_each, tuple(zip(place, trips, strict=True)))
    found = touched.runs(size, 32)
    assert found is not None
    wanted = {
        byte // 32
        for place in itertools.product(*map(range, trips))
        for lane in lanes
        for first in (lane + sum(step * k for step, k in zip(steps, place, strict=True)),)
        for byte in range(first, first + size)
    }
    assert sectors(found) == wanted
    assert all(behind < first for (_, behind), (first, _) in itertools.pairwise(found))


def visited(*visits):
    touched = Touched()
    for visit in visits:
        touched.visit(*visit)
    return touched.runs(4, 32)


def test_what_is_evaluated_once_each_needs_no_loop():
    assert visited((0, LANES * 1.0, None), (64, LANES * 1.0, None)) == ((0, 1), (2, 3))


@pytest.mark.parametrize(
    "visits",
    [
        [(0, LANES * 2.0, None)],  # which iterations is not known
        [(0, LANES * 2.0, ((0, 5),)), (64, LANES * 2.0, ((4, 5),))],  # one of five is missing
        [(0, LANES * 2.0, ((0, 4),)), (64, LANES * 2.0, ((0, 4),))],  # one iteration, two places
        [(0, LANES * 2.0, ((0, 4),)), (100, LANES * 2.0, ((3, 4),))],  # not by the same each time
        [(0, LANES * 4.0, ((0, 4),))],  # nothing tells by how much
        [(0, LANES * 2.0, ((0, 4),)), (64, LANES * 2.0 * (np.arange(64) < 32), ((3, 4),))],  # other lanes
        [(0, LANES * 2.0, ((0, 4),)), (np.arange(64), LANES * 2.0, ((3, 4),))],  # some move, some do not
        [(0, LANES * (MOST_ITERATIONS / 2 + 1), ((0, MOST_ITERATIONS + 2),))] * 2,
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
