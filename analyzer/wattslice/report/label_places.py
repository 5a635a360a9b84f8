"""Where labels of points in a picture may stand without covering each other. Plane geometry, no plotting."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_RADII = (8.0, 11.0, 15.0, 20.0, 26.0, 33.0)
_DEGREES = range(30, 390, 30)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle by its sides, in typographic points, y upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @staticmethod
    def around(x: float, y: float, width: float, height: float) -> Box:
        """The one with this centre."""
        return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def overlaps(self, other: Box) -> bool:
        """Whether they have more than an edge in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top

    def contains(self, other: Box) -> bool:
        """Whether `other` lies inside, edges included."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.bottom <= other.bottom and other.top <= self.top


def free_offsets(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    inside: Box,
) -> tuple[tuple[float, float], ...]:
    """From each point to the centre of its label: the nearest free place inside, in the order given.

    Where nothing is free the label stands up and right of its point, over whatever is there.
    """
    taken = list(obstacles)
    found: list[tuple[float, float]] = []
    for (x, y), (width, height) in zip(points, sizes, strict=True):
        for dx, dy in _around():
            box = Box.around(x + dx, y + dy, width, height)
            if inside.contains(box) and not any(box.overlaps(other) for other in taken):
                break
        else:
            dx = dy = _RADII[0]
            box = Box.around(x + dx, y + dy, width, height)
        taken.append(box)
        found.append((dx, dy))
    return tuple(found)


def _around() -> Iterator[tuple[float, float]]:
    for radius in _RADII:
        for degrees in _DEGREES:
            angle = math.radians(degrees)
            yield radius * math.cos(angle), radius * math.sin(angle)
