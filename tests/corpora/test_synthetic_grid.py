from collections import Counter

import pytest

from wattslice_corpora.synthetic import AccessWeights, OperationKind, Pattern, Space, default_grid
from wattslice_corpora.synthetic.grid import DENSITIES, SATURATIONS


@pytest.mark.slow
def test_it_is_the_same_every_time_and_repeats_nothing():
    grid = default_grid(132)
    default_grid.cache_clear()
    assert default_grid(132) == grid
    assert len(grid) == 150
    assert len({spec.name for spec in grid}) == 150


def test_every_value_of_everything_occurs_also_with_every_other():
    grid = default_grid(132)
    assert {spec.density for spec in grid} == {None, *DENSITIES}
    assert {(spec.space, spec.pattern) for spec in grid} >= {
        (space, pattern) for space in Space if space is not Space.REGISTERS for pattern in Pattern
    }
    kinds = {(spec.space, spec.kind) for spec in grid}
    assert (
        len(kinds) == 6 * 6 - 3
    )  # no tensor tile from constant and texture memory, no halves from a texture
    assert {spec.saturation for spec in grid} == set(SATURATIONS)


def test_a_first_part_of_it_is_balanced():
    beginning = default_grid(132)[:30]
    assert set(Counter(spec.space for spec in beginning)) == set(Space)
    assert set(Counter(spec.kind for spec in beginning)) == set(OperationKind)
    assert min(Counter(spec.pattern for spec in beginning).values()) >= 7
    assert min(Counter(spec.saturation for spec in beginning).values()) >= 3
    assert len({spec.density for spec in beginning}) >= 10


@pytest.mark.slow
def test_weights_and_multiprocessors_are_those_given():
    weighted = default_grid(80, AccessWeights(0.1, 0.2, 0.3))
    assert {spec.sm_count for spec in weighted} == {80}
    weights = {spec.space: spec.access_weight for spec in weighted}
    assert (weights[Space.SHARED], weights[Space.CONSTANT], weights[Space.TEXTURE]) == (0.1, 0.2, 0.3)
    assert weights[Space.GLOBAL] == weights[Space.L2] == 1.0
