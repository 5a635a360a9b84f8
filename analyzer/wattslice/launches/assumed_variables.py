"""Sizes that the host code takes from outside (`atoi(argv[1])`, a file): assumed, so that the rest follows.

The host code is read again with a value for that variable, exactly as `--set NAME=VALUE` would do, so that
grid, block and arguments agree. The value is 1024, or one of `BLOCK_SIZES` of what blocks have as an extent;
where the variable, besides those, alone decides launches that would all leave the GPU partly empty, the
smallest 1024 * 4^k at which one gives every SM `BLOCKS_PER_SM` blocks; where 1024 cannot be launched (a block
of 1024 x 1024, a grid of 0), 16, or 65536 where that helps; where it makes a launch of more than
`MOST_THREADS` threads (all four sizes of a tensor), or a number that is too large for its type, the largest
1024 / 4^k that does not. What a function that was not read may set is what it was before.
Sizes of tensors whose loops would take a launch more than `MOST_STEPS` steps are smaller, batches first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.agreement import counterparts, with_assumed_arguments
from wattslice.launches.instances import (
    AssumedVariable,
    LaunchInstance,
    geometry_of,
    is_read,
    is_too_large,
    kernel_key,
    without_dead,
)
from wattslice.launches.launch import ASSUMED_SIZE, BLOCKS_PER_SM
from wattslice.launches.memory import Record, Unknown, Value
from wattslice.launches.tensors import is_channels, is_given_size, may_be_less
from wattslice_models.gpu import Gpu

BLOCK_SIZES = (256, 16, 8)
"""Of a variable that is an extent of blocks, where one, two or more are."""
NO_BLOCK = 2048
"""An extent that no block has."""
SMALL_SIZE = 16
LARGE_SIZE = 1 << 16
LARGEST_SIZE = 1 << 22
MOST_THREADS = 1 << 30
"""Of a launch whose sizes nobody gives: an array of as many numbers fills a good part of a GPU's memory."""
MOST_STEPS = 1 << 32
"""That all lanes of a launch take whose sizes nobody gives: some ten milliseconds."""
LEAST_SIZE = 64
"""Of a dimension that is no batch, where less is assumed because a launch would take too many steps."""
_ROUNDS = 8
_MOST_CAUSES = 24
"""Variables in one product of sizes: each reading of the launches finds one more."""
_MAX_CHANGES = 6
_STEADY = 0.1
"""Grids grow steadily where two factors of 4 make as many blocks of each, but for this share."""
_ROUNDING = 1e-9

Reader = Callable[[Mapping[str, int | float]], Sequence[LaunchInstance]]
"""Reads the launches again, with more variables fixed."""
Agreeing = Callable[[Iterable[LaunchInstance]], dict[str, int]]
"""What launches of known geometry tell of the variables that they are passed (`agreement.py`)."""
Steps = Callable[[LaunchInstance], float]
"""About how many steps all lanes of a launch take."""

_Place = tuple[ir.LaunchCall, tuple[ir.Call, ...]]
"""A launch in the source, and the calls that lead to it."""


def _place(instance: LaunchInstance) -> _Place:
    return instance.node, instance.path


def _places_read(instances: Sequence[LaunchInstance]) -> set[_Place]:
    """Those whose geometry is known."""
    return {_place(instance) for instance in instances if is_read(instance)}


class _Site(Struct):
    """What is known of one launch, reached by one way, that could not be read."""

    causes: dict[str, Unknown]  # variables its geometry needs, with the reason why each is unknown
    others: dict[str, Unknown]  # variables its arguments need
    of_block: set[str]  # the causes that its block needs


def with_assumed_variables(
    instances: Sequence[LaunchInstance], read: Reader, gpu: Gpu, agree: Agreeing, steps: Steps
) -> tuple[LaunchInstance, ...]:
    """`instances`, those of unread launch sites replaced by what assumed variables make of them.

    All arguments follow what launches whose geometry is known tell, and sizes of tensors are assumed as well
    where arguments alone need them.
    """
    agreed = {**_passed_before(instances), **agree(instances)}
    smaller: dict[str, int] = {}
    result: tuple[LaunchInstance, ...] = ()
    for _ in range(_ROUNDS):
        found, latest, values = _with_geometry(instances, read, gpu, agreed, smaller)
        if fewer := _fewer(found, values, {**agreed, **smaller}):
            found, latest, values = _with_geometry(instances, read, gpu, agreed, {**fewer, **smaller})
        result = _with_sizes(found, latest, read, {**smaller, **agree(found), **values}, values)
        if not (less := _less_work(result, agreed, steps)):
            break
        smaller |= less
    return without_dead(result)


def _passed_before(instances: Iterable[LaunchInstance]) -> dict[str, int]:
    """Variables that are passed and may be what they were before: that, where it is one for all of a name."""
    found: dict[str | None, set[int | float | None]] = {}
    for why in (why for one in instances for value in one.arguments for why in _unknowns(value)):
        found.setdefault(why.variable, set()).add(why.likely if why.may_stay else None)
    each = ((name, next(iter(values))) for name, values in found.items() if len(values) == 1)
    return {name: value for name, value in each if name is not None and isinstance(value, int)}


def _less_work(
    instances: Sequence[LaunchInstance], agreed: Mapping[str, int], steps: Steps
) -> dict[str, int]:
    """Smaller sizes for tensors of launches that would take more than `MOST_STEPS`: of their first
    dimensions, which are batches, and where these are small of all others.
    """
    found: dict[str, int] = {}
    for instance in instances:
        every = (*instance.assumed, *instance.assumed_sizes)
        sizes = {
            one.name: int(one.value)
            for one in every
            if one.name not in agreed and may_be_less(one.name, one.reason)
        }
        batches = {
            name: size for name, size in sizes.items() if name.endswith(".size0") and size > SMALL_SIZE
        }
        open_ = batches or {name: size for name, size in sizes.items() if size > LEAST_SIZE}
        if open_ and (excess := steps(instance) / MOST_STEPS) > 1:
            least = SMALL_SIZE if batches else LEAST_SIZE
            factor = 4 ** _steps_to_fill(excess, 4.0 ** len(open_))
            less = {name: max(least, size // factor) for name, size in open_.items()}
            found |= {name: min(size, found.get(name, size)) for name, size in less.items()}
    return found


def _with_sizes(
    instances: Sequence[LaunchInstance],
    latest: Sequence[LaunchInstance],
    read: Reader,
    told: Mapping[str, int | float],
    values: Mapping[str, int | float],
) -> tuple[LaunchInstance, ...]:
    """`instances`, with values for the sizes of tensors that their arguments need, one in all launches.

    `told`: what they are by other launches, `values`: of them those of the reading `latest`.
    """
    found, again = list(instances), latest
    lacking = [dict[str, Unknown]() for _ in instances]
    sizes: dict[str, int | float] = {}
    for _ in range(_ROUNDS):  # a product of sizes lacks one after the other
        for whys, instance in zip(lacking, found, strict=True):
            whys.update({str(one.variable): one for one in _sizes_lacking(instance)})
        wanted = {name: one for whys in lacking for name, one in whys.items()}
        if wanted.keys() <= sizes.keys():
            break
        fresh = {name: told.get(name, _size(one, wanted, values)) for name, one in wanted.items()}
        sizes = {**fresh, **sizes}
        again = read({**values, **sizes}) if sizes.keys() - values.keys() else latest
        pairs = zip(found, counterparts(found, again), lacking, strict=True)
        found = [_with_sizes_of(new, old, sizes, why) for old, new, why in pairs]
    return with_assumed_arguments(found, again) if values or sizes else tuple(found)


def _with_sizes_of(
    new: LaunchInstance | None,
    old: LaunchInstance,
    sizes: Mapping[str, int | float],
    lacking: Mapping[str, Unknown],
) -> LaunchInstance:
    """`old`, with the arguments that lacked sizes of tensors as they are in `new`."""
    if not lacking or new is None or not _has_its_geometry(new, old):
        return old
    pairs = zip(old.arguments, new.arguments, strict=True)
    arguments = tuple(now if _lacks_size(before) else before for before, now in pairs)
    assumed = tuple(AssumedVariable(name, sizes[name], lacking[name].reason) for name in sorted(lacking))
    shared = new.shared_bytes if _lacks_size(old.shared_bytes) else old.shared_bytes
    return replace(old, arguments=arguments, shared_bytes=shared, assumed_sizes=assumed)


def _wanted(instances: Sequence[LaunchInstance]) -> dict[str, Unknown]:
    return {str(why.variable): why for instance in instances for why in _sizes_lacking(instance)}


def _fewer(
    instances: Sequence[LaunchInstance], values: Mapping[str, int | float], agreed: Mapping[str, int]
) -> dict[str, int]:
    """Values for the first sizes of tensors, the images of a batch, that would be too large with them all."""
    wanted = _wanted(instances)
    found: dict[str, int] = {}
    for first in (f"{tensor}.size0" for tensor in {name.rpartition(".")[0] for name in wanted}):
        if first not in values or first in agreed:
            continue
        tensor = first.removesuffix("0")
        sizes = {name: _size(why, wanted, values) for name, why in wanted.items() if name.startswith(tensor)}
        sizes |= {name: value for name, value in values.items() if name.startswith(tensor)}
        number = int(values[first])
        while number > SMALL_SIZE and math.prod({**sizes, first: number}.values()) > MOST_THREADS:
            number //= 4
        if number < values[first]:
            found[first] = number
    return found


def _size(why: Unknown, wanted: Collection[str], values: Mapping[str, int | float]) -> int | float:
    """The value assumed for a size of a tensor: few channels of images; no more than memory holds."""
    if why.likely is not None:  # of its number of dimensions
        return why.likely
    name = str(why.variable)
    size = SMALL_SIZE if is_channels(name, {*wanted, *values}) else ASSUMED_SIZE
    tensor = f"{name.rpartition('.')[0]}.size"
    others = math.prod(value for other, value in values.items() if other.startswith(tensor))
    while size > SMALL_SIZE and size * others > MOST_THREADS:
        size //= 4
    return size


def _sizes_lacking(instance: LaunchInstance) -> Iterator[Unknown]:
    """Why numbers among the arguments, also those in accessors, and the bytes of shared memory are unknown
    that sizes of tensors settle.
    """
    values = (*instance.arguments, instance.shared_bytes)
    every = (unknown for value in values for unknown in _unknowns(value))
    return (unknown for unknown in every if is_given_size(unknown))


def _lacks_size(argument: Value) -> bool:
    return any(is_given_size(unknown) for unknown in _unknowns(argument))


def _has_its_geometry(one: LaunchInstance, other: LaunchInstance) -> bool:
    first, second = geometry_of(one), geometry_of(other)
    return (first.grid, first.block) == (second.grid, second.block)


def _with_geometry(
    instances: Sequence[LaunchInstance],
    read: Reader,
    gpu: Gpu,
    agreed: Mapping[str, int],
    smaller: Mapping[str, int],
) -> tuple[Sequence[LaunchInstance], Sequence[LaunchInstance], Mapping[str, int | float]]:
    """`instances`, those of unread launch sites replaced by what assumed variables make of them; the last
    reading, and the values that it was made with.

    `smaller`: values to be assumed for some, where they turn out to be needed.
    """
    running = {kernel_key(instance) for instance in instances if instance.is_certain}
    known = {
        _place(instance)
        for instance in instances
        if is_read(instance) and (instance.is_certain or kernel_key(instance) not in running)
    }
    nodes = {node for node, _ in known}
    sites = {
        _place(instance): _Site({}, {}, set())
        for instance in instances
        if _place(instance) not in known and (instance.is_certain or instance.node not in nodes)
    }
    values: dict[str, int | float] = dict(agreed)
    latest = instances
    for _ in range(_MOST_CAUSES):
        if not _note_causes(sites, latest):
            break
        for site in sites.values():
            for name, why in site.causes.items():
                assumed = ASSUMED_SIZE if why.likely is None else why.likely
                values.setdefault(name, smaller.get(name, assumed))
        latest = read(values)
    if not values:
        return instances, instances, values
    fixed = {*agreed, *smaller, *_likely(sites)}
    if extents := _extents(sites, values, read, fixed):
        values |= extents
    latest = read(values) if extents or latest is instances else latest
    values, latest = _fitting(sites, values, latest, read, fixed)
    values, latest = _launchable(sites, values, latest, read, fixed, extents)
    values, latest = _fitting(sites, values, latest, read, fixed)
    wanted_blocks = BLOCKS_PER_SM * gpu.sm_count
    fixed |= {*extents, *(name for name, value in values.items() if value <= 0)}
    values, latest = _filling(sites, values, latest, read, wanted_blocks, fixed)
    unread = {node: site for (node, _), site in sites.items()}
    for instance in latest:  # ways to the launch that only known values lead along
        if instance.node in unread and _place(instance) not in known:
            sites.setdefault(_place(instance), unread[instance.node])
    solved = {_place(instance) for instance in latest if _place(instance) in sites and is_read(instance)}
    reached = {instance.node for instance in latest if instance.is_certain}
    launched = {kernel_key(instance) for instance in latest if instance.is_certain and is_read(instance)}

    def stays(instance: LaunchInstance) -> bool:
        """Whether a launch stands that assumed values do not come to: a name may mean others, too."""
        is_run = isinstance(instance.times, int) or instance.in_unknown_loop
        is_run = is_run and instance.is_certain and is_read(instance)
        return is_run or instance.node in reached or kernel_key(instance) not in launched

    first = {_place(instance): instance.arguments for instance in reversed(instances)}
    causes = {_place(instance): geometry_of(instance).cause for instance in reversed(instances)}
    uncounted = {_place(one): one.times for one in instances if isinstance(one.times, Unknown)}
    kept = [instance for instance in instances if _place(instance) not in solved and stays(instance)]
    for instance in latest:
        if _place(instance) in solved and is_read(instance):
            site = sites[_place(instance)]
            used = {**{name: why for name, why in site.others.items() if name in values}, **site.causes}
            if not site.causes:  # read only with what is assumed for other sites
                every = ((name, why) for other in sites.values() for name, why in other.causes.items())
                every = {name: why for name, why in every if name in values}
                own = causes.get(_place(instance), Unknown(""))  # of a variable here that has such a name
                used = {name: own for name in every if f"'{name}'" in own.reason} or every | used
            assumed = tuple(AssumedVariable(name, values[name], used[name].reason) for name in sorted(used))
            times = uncounted.get(_place(instance), instance.times)
            arguments = _without_others(instance.arguments, first.get(_place(instance)), values)
            before = first.get(_place(instance), ())
            made = frozenset(index for index, value in enumerate(before) if isinstance(value, Unknown))
            kept.append(
                replace(instance, assumed=assumed, times=times, arguments=arguments, made_of_assumed=made)
            )
    return kept, latest, values


def _without_others(
    arguments: tuple[Value, ...], first: tuple[Value, ...] | None, values: Mapping[str, int | float]
) -> tuple[Value, ...]:
    """`arguments`, unknown as at `first` where nothing was assumed for the variable that would settle them:
    what was found is that of another variable of some name on the way.
    """
    return tuple(
        old if isinstance(old, Unknown) and old.variable is not None and old.variable not in values else new
        for old, new in zip(arguments if first is None else first, arguments, strict=True)
    )


def _note_causes(sites: Mapping[_Place, _Site], latest: Sequence[LaunchInstance]) -> bool:
    """Add the unknown variables of sites that are not read yet; False when there are no new ones."""
    running = {kernel_key(instance) for instance in latest if instance.is_certain}
    done = {
        _place(instance)
        for instance in latest
        if is_read(instance) and (instance.is_certain or kernel_key(instance) not in running)
    }
    found = False
    for instance in latest:
        site = sites.get(_place(instance))
        if site is None or _place(instance) in done:
            continue
        for unknown in (*_unknowns(instance.grid), *_unknowns(instance.block)):
            if unknown.variable is not None and unknown.variable not in site.causes:
                site.causes[unknown.variable] = unknown
                found = True
        site.of_block.update(one.variable for one in _unknowns(instance.block) if one.variable is not None)
        numbers = (
            value
            for argument, value in zip(instance.node.arguments, instance.arguments, strict=False)
            if argument.type.kind is not ir.TypeKind.POINTER  # the size of an array decides no launch
        )
        for value in (instance.shared_bytes, *numbers):
            for unknown in _unknowns(value):
                if unknown.variable is not None:
                    site.others.setdefault(unknown.variable, unknown)
    return found


def _unknowns(value: Value) -> Iterator[Unknown]:
    if isinstance(value, Unknown):
        yield value
    elif isinstance(value, Record):
        yield from (cell for cell in value.cells.values() if isinstance(cell, Unknown))


_State = tuple[dict[str, int | float], Sequence[LaunchInstance]]


def _extents(
    sites: Mapping[_Place, _Site], values: Mapping[str, int | float], read: Reader, fixed: set[str]
) -> dict[str, int]:
    """Sizes for variables that are extents of blocks, as what no GPU would start shows: not for a number of
    elements of which small blocks are made.
    """
    found: dict[str, int] = {}
    known: dict[str, bool] = {}
    for place, site in sites.items():
        names = sorted(site.of_block - fixed)
        for name in (name for name in names if name not in known and len(known) < _MAX_CHANGES):
            again = read({**values, **dict.fromkeys(names, 1), name: NO_BLOCK})
            known[name] = any(geometry_of(one).is_impossible for one in again if _place(one) == place)
        extents = [name for name in names if known.get(name)]
        found |= dict.fromkeys(extents, BLOCK_SIZES[min(len(extents), len(BLOCK_SIZES)) - 1])
    return found


def _launchable(
    sites: Mapping[_Place, _Site],
    values: dict[str, int | float],
    latest: Sequence[LaunchInstance],
    read: Reader,
    fixed: set[str],
    extents: Collection[str],
) -> _State:
    """Other values for variables whose launches are all impossible with the assumed ones.

    Smaller ones, for blocks that are too large, of what these need if that will do; else one of them larger,
    for grids of no block.
    """
    done = _places_read(latest)
    wanted = {name for place in done if place in sites for name in sites[place].causes}
    failing = {name for place, site in sites.items() if place not in done for name in site.causes}
    shrunk = failing - wanted - fixed
    if not shrunk:
        return values, latest
    unset = {name for name in shrunk if values[name] <= 0}  # which says that a size is not given
    changes = [dict.fromkeys(unset, ASSUMED_SIZE)] * bool(unset)
    changes += [dict.fromkeys(names, SMALL_SIZE) for names in (shrunk.intersection(extents), shrunk) if names]
    changes += ({name: LARGE_SIZE} for name in sorted(shrunk))
    for change in changes[:_MAX_CHANGES]:
        changed = {**values, **change}
        again = read(changed)
        if _places_read(again) > done:
            return changed, again
    return values, latest


def _filling(
    sites: Mapping[_Place, _Site],
    values: dict[str, int | float],
    latest: Sequence[LaunchInstance],
    read: Reader,
    wanted_blocks: int,
    fixed: set[str],
) -> _State:
    """Larger values for variables that alone decide launches too small for the GPU.

    A reading is dear: while grids grow steadily, the factors at which they would still be too small are
    passed over. At first they are taken to grow as the values do.
    """
    done = _places_read(latest)
    open_ = [site.causes.keys() - fixed for site in sites.values()]
    shared = {name for names in open_ if len(names) > 1 for name in names}
    alone = {name for place in done if place in sites for name in sites[place].causes} - shared - fixed
    blocks = _most_blocks(sites, latest)
    rates = dict.fromkeys(alone, 4.0)  # how many times as many blocks the last factor of 4 has made
    while alone := {name for name in alone if blocks.get(name, wanted_blocks) < wanted_blocks}:
        steps = min(_steps_to_fill(wanted_blocks / blocks[name], rates[name]) for name in alone)
        steps = min(steps, *(_steps_between(values[name], LARGEST_SIZE) for name in alone))
        if not steps:
            break
        larger = {name: value * 4**steps if name in alone else value for name, value in values.items()}
        again = read(larger)
        grown = _most_blocks(sites, again)
        stands = _places_read(again) >= done
        stands = stands and not _large(sites, again) - _large(sites, latest)
        rate = {name: (grown.get(name, 0) / blocks[name]) ** (1 / steps) for name in alone}
        is_steady = all(abs(rate[name] / rates[name] - 1) < _STEADY for name in alone)
        is_least = all(grown.get(name, 0) / max(rate[name], 1) < wanted_blocks for name in alone)
        if steps > 1 and not (stands and is_steady and is_least):
            rates = dict.fromkeys(alone, 1.0)  # one by one, then
        elif not stands or all(grown[name] <= blocks[name] for name in alone):
            break
        else:
            values, latest, blocks, rates = larger, again, grown, rate
    return values, latest


def _fitting(
    sites: Mapping[_Place, _Site],
    values: dict[str, int | float],
    latest: Sequence[LaunchInstance],
    read: Reader,
    fixed: set[str],
) -> _State:
    """Smaller values for variables that decide launches of more than `MOST_THREADS` threads, or too many to
    be a number.
    """
    done = _places_read(latest)
    while True:
        names = {name for place in _large(sites, latest) for name in sites[place].causes} - fixed
        names = {name for name in names if values[name] > SMALL_SIZE}
        if not names:
            return values, latest
        smaller = {name: value // 4 if name in names else value for name, value in values.items()}
        again = read(smaller)
        if not _places_read(again) >= done:
            return values, latest
        values, latest = smaller, again


def _large(sites: Mapping[_Place, _Site], instances: Sequence[LaunchInstance]) -> set[_Place]:
    """The sites that launch more than `MOST_THREADS` threads, or a grid that no GPU has."""
    here = [instance for instance in instances if _place(instance) in sites]
    return {
        _place(one) for one in here if (geometry_of(one).threads or 0) > MOST_THREADS or is_too_large(one)
    }


def _steps_between(least: float, most: float) -> int:
    """How often `least` may be multiplied by 4."""
    return max(0, int(math.log(most / least, 4) + _ROUNDING))


def _steps_to_fill(factor: float, rate: float) -> int:
    """Factors of 4 until there are `factor` times as many blocks, of which one gives `rate` times as many."""
    if rate <= 1:
        return 1
    return max(1, math.ceil(math.log(factor, rate) - _ROUNDING))


def _likely(sites: Mapping[_Place, _Site]) -> set[str]:
    """Variables whose assumed value stands in the host code, and is a size."""
    causes = (pair for site in sites.values() for pair in site.causes.items())
    return {name for name, why in causes if why.likely is not None and why.likely > 0}


def _most_blocks(sites: Mapping[_Place, _Site], instances: Sequence[LaunchInstance]) -> dict[str, int]:
    most: dict[str, int] = {}
    for instance in instances:
        grid = geometry_of(instance).grid
        site = sites.get(_place(instance))
        if grid is not None and site is not None:
            for name in site.causes:
                most[name] = max(most.get(name, 0), grid[0] * grid[1] * grid[2])
    return most
