"""Labels of points: near, inside, and on top of nothing."""

import itertools
import math

from wattslice.report.roofline_picture import Box, free_offsets

INSIDE = Box(0.0, 0.0, 200.0, 200.0)
SIZE = (9.0, 7.5)


def boxes(points, obstacles=()):
    offsets = free_offsets(points, [SIZE] * len(points), obstacles, INSIDE)
    return offsets, [
        Box.around(x + dx, y + dy, *SIZE) for (x, y), (dx, dy) in zip(points, offsets, strict=True)
    ]


def test_a_lone_point_has_its_label_at_its_side():
    ((dx, dy),), _ = boxes([(100.0, 100.0)])
    assert math.hypot(dx, dy) <= 8.0 + 1e-9


def test_labels_of_a_crowd_cover_neither_each_other_nor_obstacles():
    points = [(100.0 + 3 * number, 100.0) for number in range(8)]
    obstacles = [Box.around(x, y, 7.0, 7.0) for x, y in points]
    _, found = boxes(points, obstacles)
    assert not any(first.overlaps(second) for first, second in itertools.combinations(found, 2))
    assert not any(label.overlaps(obstacle) for label in found for obstacle in obstacles)


def test_at_an_edge_the_label_stays_inside():
    _, (label,) = boxes([(199.0, 199.0)])
    assert INSIDE.contains(label)


def test_where_nothing_is_free_the_label_is_still_there():
    ((dx, dy),), _ = boxes([(100.0, 100.0)], [INSIDE])
    assert (dx, dy) == (8.0, 8.0)
