"""Whether the iterations of a long loop that were looked at tell what all of them launch.

They do where a visit to any iteration, in which nothing is known of what the loop changes, launches the same:
numbers that it knows too, or that go one way from the first iteration to the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from wattslice.launches.instances import FIRST_ARGUMENT, LaunchInstance, Part, Sample, Site, parts_of, site_of
from wattslice.launches.memory import Course, Unknown, Value


class Told(Struct, frozen=True):
    """What visits to some iterations of a loop tell of all: everything if they are `complete`.

    `samples`: launches that others may make otherwise. `moving`: those of which each iteration has its own.
    """

    is_complete: bool
    samples: Mapping[Site, Sample]
    moving: frozenset[Site]


def told_by(
    visits: Sequence[Sequence[LaunchInstance]], of_any: Sequence[LaunchInstance], iterations: int
) -> Told:
    """`of_any`: what any of all `iterations` launches, as far as that is known.

    That nobody knows how often something is launched is not said here.
    """
    made, possible = [_by_site(visit) for visit in visits], _by_site(of_any)
    samples, moving, is_complete = dict[Site, Sample](), set[Site](), True
    for site in dict.fromkeys(site for launches in made for site in launches):
        own, any_one = [launches.get(site, []) for launches in made], possible.get(site, [])
        if any(isinstance(one.times, Unknown) for launches in own for one in launches):
            continue
        pairs = list(zip(zip(*own, strict=False), any_one, strict=False))
        if any(len(launches) != len(any_one) for launches in own):
            is_complete = False
            pairs = [(tuple(one for launches in own for one in launches), one) for one in any_one[:1]]
            if not any_one:
                samples[site] = Sample(len(visits), iterations, is_of_geometry=True, is_shown=False)
        for visited, one in pairs:
            numbers, known = [parts_of(launch) for launch in visited], parts_of(one)
            unlike = dict(_unlike(numbers, known))
            is_complete = is_complete and not unlike and not isinstance(one.times, Unknown)
            if unlike:
                is_of_geometry = any(part < FIRST_ARGUMENT for part, _ in unlike)
                samples[site] = Sample(len(visits), iterations, is_of_geometry, all(unlike.values()))
            if any(isinstance(value, Unknown) and value.course is not Course.ANY for value in known.values()):
                moving.add(site)
    return Told(is_complete, samples, frozenset(moving))


def _by_site(launches: Sequence[LaunchInstance]) -> dict[Site, list[LaunchInstance]]:
    found: dict[Site, list[LaunchInstance]] = {}
    for one in launches:
        if one.is_certain:
            found.setdefault(site_of(one), []).append(one)
    return found


def _unlike(
    visits: Sequence[Mapping[Part, Value]], of_any: Mapping[Part, Value]
) -> Iterator[tuple[Part, bool]]:
    """Numbers that other iterations may have others of, and whether the visits show that."""
    for part in dict.fromkeys(part for values in visits for part in values):
        numbers = [v for values in visits if isinstance(v := values.get(part), (int, float))]
        value = of_any.get(part)
        if not numbers or (isinstance(value, Unknown) and value.course is not Course.ANY):
            continue
        is_one = len(numbers) == len(visits) and numbers.count(numbers[0]) == len(numbers)
        is_known = isinstance(value, (int, float)) and is_one and value == numbers[0]
        is_varying = not is_one and part[0] >= FIRST_ARGUMENT and isinstance(numbers[0], float)
        if not is_known and not is_varying:  # rates that change stand for themselves
            yield part, not is_one
