"""How often parts of objects come from DRAM: hand-counted on small grids."""

import pytest

from wattslice.workload.traffic import L2Reuse, SharedObject

X, Y, Z = frozenset((0,)), frozenset((1,)), frozenset((2,))
EVERYTHING = X | Y | Z


@pytest.mark.parametrize(
    ("axes", "fetches"),
    [
        (X, 4 * 2),  # each of 8 columns for each of 4 rows and 2 layers
        (Y, 2),  # a row runs together; it comes back in the next layer
        (Z, 4),  # a layer takes 4 waves of 8 blocks
        (X | Y, 2),
        (Y | Z, 1),
        (EVERYTHING, 1),
        (frozenset(), 8),  # 64 blocks, 8 at a time
    ],
)
def test_a_part_is_fetched_for_every_stretch_of_blocks_that_runs_together(axes, fetches):
    reuse = L2Reuse((SharedObject(1e6, EVERYTHING),), (8, 4, 2), resident=8, l2_bytes=1.0)
    assert reuse.fetches(axes) == pytest.approx(fetches)


@pytest.mark.parametrize(("l2_bytes", "fetches"), [(9000, 1), (8999, 4)])
def test_l2_keeps_a_part_if_it_holds_all_that_blocks_touch_in_between(l2_bytes, fetches):
    """A row of 8 blocks touches all 8000 bytes that differ along x and a quarter of what differs along y."""
    objects = (SharedObject(8000, X), SharedObject(4000, Y))
    assert L2Reuse(objects, (8, 4, 1), resident=2, l2_bytes=l2_bytes).fetches(X) == fetches
