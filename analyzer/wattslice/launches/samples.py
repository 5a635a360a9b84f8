"""Whether the iterations of a long loop that were looked at tell what all of them launch.

They do where a visit to any iteration, in which nothing is known of what the loop changes, launches the same:
numbers that it knows too, or that go one way from the first iteration to the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wattslice.launches.instances import LaunchInstance, Sample, Site, site_of
from wattslice.launches.memory import Course, Record, Unknown, Value

_Part = tuple[int, int]
"""One number of a launch: of grid, block, shared memory or an argument, and where in that it lies."""
_FIRST_ARGUMENT = 3


def untold(
    visits: Sequence[Sequence[LaunchInstance]], of_any: Sequence[LaunchInstance], iterations: int
) -> Mapping[Site, Sample] | None:
    """None where `visits` tell all `iterations` of a loop; else the launches of which that has to be said.

    `of_any`: what any iteration launches, as far as that is known. That nobody knows how often something is
    launched is not said here.
    """
    made, possible = [_by_site(visit) for visit in visits], _by_site(of_any)
    found: dict[Site, Sample] = {}
    is_told = True
    for site in dict.fromkeys(site for launches in made for site in launches):
        own, any_one = [launches.get(site, []) for launches in made], possible.get(site, [])
        if any(isinstance(one.times, Unknown) for launches in own for one in launches):
            continue
        groups = list(zip(zip(*own, strict=False), any_one, strict=False))
        if any(len(launches) != len(any_one) for launches in own):
            is_told = False
            groups = [(tuple(one for launches in own for one in launches), one) for one in any_one[:1]]
            if not any_one:
                found[site] = Sample(len(visits), iterations, is_of_geometry=True)
        for visited, one in groups:
            unlike = dict(_unlike([_parts(launch) for launch in visited], _parts(one)))
            is_told = is_told and not unlike and not isinstance(one.times, Unknown)
            is_of_geometry = any(part < _FIRST_ARGUMENT for part, _ in unlike)
            if is_of_geometry or True in unlike.values():
                found[site] = Sample(len(visits), iterations, is_of_geometry)
    return None if is_told else found


def _by_site(launches: Sequence[LaunchInstance]) -> dict[Site, list[LaunchInstance]]:
    found: dict[Site, list[LaunchInstance]] = {}
    for one in launches:
        if one.is_certain:
            found.setdefault(site_of(one), []).append(one)
    return found


def _parts(launch: LaunchInstance) -> dict[_Part, Value]:
    values = (launch.grid, launch.block, launch.shared_bytes, *launch.arguments)
    return {
        (index, offset): cell
        for index, value in enumerate(values)
        for offset, cell in (value.cells.items() if isinstance(value, Record) else ((0, value),))
    }


def _unlike(
    visits: Sequence[Mapping[_Part, Value]], of_any: Mapping[_Part, Value]
) -> Iterator[tuple[_Part, bool]]:
    """Numbers that other iterations may have others of, and whether the visits do not show that either."""
    for part in dict.fromkeys(part for values in visits for part in values):
        numbers = [v for values in visits if isinstance(v := values.get(part), (int, float))]
        value = of_any.get(part)
        if not numbers or (isinstance(value, Unknown) and value.course is not Course.ANY):
            continue
        is_one = len(numbers) == len(visits) and numbers.count(numbers[0]) == len(numbers)
        is_known = isinstance(value, (int, float)) and is_one and value == numbers[0]
        is_shown = not is_one and part[0] >= _FIRST_ARGUMENT and isinstance(numbers[0], float)
        if not is_known and not is_shown:
            yield part, is_one
