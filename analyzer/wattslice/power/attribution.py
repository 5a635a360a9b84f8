"""Watts of one launch told apart by the source: what each expression executes and moves, and what that draws.

A component of the energy model (a pipe, the issue of instructions, a level of memory) has its watts from the
whole launch. Here they are divided by the work that each expression gives it: the instructions that the
compiler makes of it, the bytes that its accesses move at each level. Lines, slices, regions and arms are sums
of these parts, so that they add up to what the kernel draws above the idle board.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import Kernel, MemorySpace, Span
from wattslice.power.slices import SliceWatts
from wattslice.slicing.slices import Slice
from wattslice.slicing.statements import StatementKind
from wattslice.workload.instructions import InstructionKind, Isa
from wattslice.workload.instructions.statements import written_instructions
from wattslice.workload.launch_work import PIPE_OF, LaunchWork
from wattslice_models.energy import STATIC_COMPONENTS, Component, ComponentPower
from wattslice_models.execution_time import BARRIER_CYCLES, Resource, Utilisation
from wattslice_models.gpu import Gpu

_COMPONENT_OF: dict[InstructionKind, Component] = {
    kind: Component(pipe) for kind in InstructionKind if (pipe := PIPE_OF.get(kind.value)) in set(Component)
} | {InstructionKind.IMAD: Component.INTEGER_MULTIPLY}
"""The component that executes a kind of instruction; the rest is issued, and what it moves counts."""
_SPACE_OF: dict[InstructionKind, MemorySpace] = {
    InstructionKind.LDG: MemorySpace.GLOBAL,
    InstructionKind.STG: MemorySpace.GLOBAL,
    InstructionKind.LDS: MemorySpace.SHARED,
    InstructionKind.STS: MemorySpace.SHARED,
    InstructionKind.LDC: MemorySpace.CONSTANT,
    InstructionKind.TEX: MemorySpace.TEXTURE,
}
_FAR = frozenset({InstructionKind.LDG, InstructionKind.TEX, InstructionKind.ATOM, InstructionKind.LDL})
_NEAR = frozenset({InstructionKind.LDS, InstructionKind.SHFL})
_STORES = frozenset({InstructionKind.STG, InstructionKind.STS, InstructionKind.STL})


class Part(Struct, frozen=True):
    """`number` units of work that the expression at `span` gives to a component in the runs of `region`.

    `of`: a component of the energy model, or `Resource.LATENCY` (cycles that its warps wait). `space`: of an
    access to memory. Numbers of different components do not compare.
    """

    of: Component | Resource
    region: int
    span: Span
    space: MemorySpace | None
    number: float


def parts(
    kernel: Kernel, profile: ExecutionProfile, work: LaunchWork, isa: Isa, gpu: Gpu
) -> tuple[Part, ...]:
    """The work of one launch by the expressions that cause it, in the counts of `profile`."""
    return tuple(_parts(kernel, profile, work, isa, gpu))


def _parts(kernel: Kernel, profile: ExecutionProfile, work: LaunchWork, isa: Isa, gpu: Gpu) -> Iterator[Part]:
    cycles = _latencies(work, gpu)
    for one in written_instructions(kernel, profile, isa):
        kind, region, span = one.kind, one.region, one.span
        space = _SPACE_OF.get(kind)
        if kind in _COMPONENT_OF:
            yield Part(_COMPONENT_OF[kind], region, span, space, one.per_thread)
        yield Part(Component.ISSUE, region, span, space, one.per_warp)
        yield Part(Resource.LATENCY, region, span, space, one.per_warp * cycles(kind))
    for moved in work.traffic.by_access:
        access = moved.access
        for component, number in (
            (Component.L1, moved.l1_bytes),
            (Component.L2, moved.l2_bytes),
            (Component.DRAM, moved.dram_bytes),
            (Component.SHARED, moved.shared_passes),
        ):
            if number:
                yield Part(component, access.region, access.span, access.space, number)


def _latencies(work: LaunchWork, gpu: Gpu) -> Callable[[InstructionKind], float]:
    """Cycles that a warp waits for one instruction, as the time model has them (`warp_length_s`)."""
    chip, moved = gpu.architecture, work.traffic
    past_l1 = min(1.0, moved.l2_bytes / moved.l1_bytes) if moved.l1_bytes else 0.0
    past_l2 = min(1.0, moved.dram_bytes / moved.l1_bytes) if moved.l1_bytes else 0.0
    far = chip.l1_latency_cycles + past_l1 * (chip.l2_latency_cycles - chip.l1_latency_cycles)
    far += past_l2 * 1e-3 * chip.dram_latency_ns * gpu.boost_clock_mhz

    def cycles(kind: InstructionKind) -> float:
        if kind in _FAR:
            return far
        if kind in _NEAR:
            return chip.shared_latency_cycles
        if kind is InstructionKind.BAR:
            return BARRIER_CYCLES
        return 1.0 if kind in _STORES else chip.dependent_issue_cycles

    return cycles


class PlacePower(Struct, frozen=True):
    """Mean watts over the launch that the expression at `span` draws above the idle board."""

    region: int
    span: Span
    space: MemorySpace | None
    power_w: float


class Attribution(Struct, frozen=True):
    """What a launch draws, by the source: `static_w` whatever the operations are, and the rest by place.

    `static_w` None: the model does not tell it apart, the places have it all. They are all of the kernel's
    watts together.
    """

    static_w: float | None
    places: tuple[PlacePower, ...]

    @property
    def operations_w(self) -> float:
        """What the operations draw together."""
        return math.fsum(place.power_w for place in self.places)


def attribute(
    found: Sequence[Part], components: Sequence[ComponentPower], power_w: float, static_w: float | None
) -> Attribution:
    """`power_w` less `static_w` among the places of `found`, each component by the work that it has there.

    The components give proportions only. What a component draws although no place has work for it goes with
    the issue of instructions. Without any work, and where the board has all the watts, there are no places.
    """
    drawn = {part.component: part.power_w for part in components if part.component not in STATIC_COMPONENTS}
    totals: defaultdict[Component | Resource, float] = defaultdict(float)
    for part in found:
        totals[part.of] += part.number
    nowhere = math.fsum(watts for component, watts in drawn.items() if not totals[component])
    if totals[Component.ISSUE]:
        drawn[Component.ISSUE] = drawn.get(Component.ISSUE, 0.0) + nowhere
    priced: dict[Component | Resource, float] = {
        component: watts / totals[component] for component, watts in drawn.items() if totals[component]
    }
    if not any(priced.values()):
        priced = {Component.ISSUE: 1.0}  # of a model without energies: by instructions
    places: defaultdict[tuple[int, Span, MemorySpace | None], float] = defaultdict(float)
    for one in found:
        if one.of in priced and one.number:
            places[one.region, one.span, one.space] += priced[one.of] * one.number
    total = math.fsum(places.values())
    scale = max(0.0, power_w - (static_w or 0.0)) / total if total else 0.0
    return Attribution(
        static_w, tuple(PlacePower(*place, watts * scale) for place, watts in places.items() if watts * scale)
    )


class LinePower(Struct, frozen=True):
    """Mean watts over the launch that the operations written on one line draw."""

    file: str
    line: int
    power_w: float


_Key = TypeVar("_Key", bound=Hashable)


def _sums(places: Sequence[PlacePower], key: Callable[[PlacePower], _Key]) -> dict[_Key, float]:
    found: defaultdict[_Key, float] = defaultdict(float)
    for place in places:
        found[key(place)] += place.power_w
    return found


def line_powers(attribution: Attribution) -> tuple[LinePower, ...]:
    """All lines that draw anything, the hottest first. An inlined function heats its own lines."""
    lines = _sums(attribution.places, lambda place: (place.span.file, place.span.line))
    ranked = sorted(lines.items(), key=lambda item: (-item[1], item[0]))
    return tuple(LinePower(*line, power_w) for line, power_w in ranked)


def region_powers(attribution: Attribution, regions: int) -> tuple[float, ...]:
    """Mean watts over the launch that all executions of each of `regions` regions draw."""
    found = [0.0] * regions
    for place in attribution.places:
        found[place.region] += place.power_w
    return tuple(found)


def slice_powers(
    slices: Sequence[Slice],
    attribution: Attribution,
    found: Sequence[Part],
    utilisations: Sequence[Utilisation],
    ceiling_w: float,
) -> tuple[SliceWatts, ...]:
    """Slices that together draw what the kernel draws, in the order given; none draws more than `ceiling_w`.

    A slice takes the time of the slowest resource that it uses, as if it had the chip for itself: the share
    that it has of the work of each resource, times how busy that is. Where slices overlap in time these times
    are too long together: all are shortened alike, but none so far that its energy would not fit under the
    ceiling. While it runs, the slice draws the static power and its own energy.
    """
    if not slices:
        return ()
    owner = _owners(slices)
    busy = {entry.resource: entry.share for entry in utilisations}
    shares: defaultdict[Resource, list[float]] = defaultdict(lambda: [0.0] * len(slices))
    for part in found:
        index = owner(part.region, part.span, part.space)
        for resource in _RESOURCES.get(part.of, ()):
            weight = 128.0 if part.of is Component.SHARED and resource is Resource.LOAD_STORE else 1.0
            shares[resource][index] += weight * part.number
    times = [0.0] * len(slices)
    for resource, numbers in shares.items():
        total = math.fsum(numbers)
        for index, number in enumerate(numbers):
            times[index] = max(times[index], busy.get(resource, 0.0) * number / total if total else 0.0)
    own = [0.0] * len(slices)
    for place in attribution.places:
        own[owner(place.region, place.span, place.space)] += place.power_w
    static_w = attribution.static_w or 0.0
    room_w = max(ceiling_w - static_w, math.fsum(own))
    least = [watts / room_w if room_w else 0.0 for watts in own]
    power_w = static_w + math.fsum(own)
    return tuple(
        SliceWatts(
            static_w + watts / share if share else None,
            (static_w * share + watts) / power_w if power_w else share,
            share,
        )
        for watts, share in zip(own, time_shares(times, least), strict=True)
    )


_RESOURCES: dict[Component | Resource, tuple[Resource, ...]] = {
    Component.FP32: (Resource.FP32, Resource.REGISTERS),
    Component.FP64: (Resource.FP64,),
    Component.FP16: (Resource.FP16,),
    Component.INTEGER: (Resource.INTEGER,),
    Component.INTEGER_MULTIPLY: (Resource.INTEGER,),
    Component.SPECIAL: (Resource.SPECIAL,),
    Component.TENSOR: (Resource.TENSOR,),
    Component.ISSUE: (Resource.ISSUE,),
    Component.SHARED: (Resource.LOAD_STORE,),
    Component.L1: (Resource.LOAD_STORE, Resource.TEXTURE),
    Component.L2: (Resource.L2,),
    Component.DRAM: (Resource.DRAM,),
    Resource.LATENCY: (Resource.LATENCY, Resource.LONGEST_BLOCK),
}


def time_shares(times: Sequence[float], least: Sequence[float]) -> tuple[float, ...]:
    """`times` relative to their sum, none below its `least`, whose sum is at most 1; what lacks is taken from
    the others alike. All zero where nothing takes time.
    """
    if not math.fsum(times) and not math.fsum(least):
        return tuple(0.0 for _ in times)
    held: set[int] = set()
    while True:
        free = [index for index in range(len(times)) if index not in held]
        rest = 1.0 - math.fsum(least[index] for index in held)
        total = math.fsum(times[index] for index in free)
        if not total:  # nothing but what has to be held: it shares the time by its energy
            whole = math.fsum(least)
            return tuple(part / whole for part in least)
        scale = rest / total
        short = {index for index in free if times[index] * scale < least[index] * (1.0 - 1e-12)}
        if not short:
            return tuple(
                least[index] if index in held else times[index] * scale for index in range(len(times))
            )
        held |= short


def _owners(slices: Sequence[Slice]) -> Callable[[int, Span, MemorySpace | None], int]:
    """The slice that an expression belongs to, by its index.

    An access is in the slice of its space, an operation in that of the statement that it is part of; what the
    compiler adds goes with its line, and what belongs to no line with the first slice, of the dearest space.
    """
    of_space = {part.memory_space: index for index, part in enumerate(slices)}
    of_span: dict[tuple[int, Span], int] = {}
    of_line: defaultdict[tuple[str, int], defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    for index, part in enumerate(slices):
        for statement in part.statements:
            computes = statement.kind is not StatementKind.ACCESS
            for one in statement.operations:
                if computes or (one.region, one.span) not in of_span:
                    of_span[one.region, one.span] = index
            of_span.setdefault((statement.region, statement.span), index)
            of_line[statement.span.file, statement.span.line][index] += 1
    known: dict[tuple[int, Span, MemorySpace | None], int] = {}

    def owner(region: int, span: Span, space: MemorySpace | None) -> int:
        key = (region, span, space)
        if (found := known.get(key)) is None:
            found = None if space is None else of_space.get(space)
            found = of_span.get((region, span)) if found is None else found
            if found is None:
                beside = of_line.get((span.file, span.line))
                found = max(beside, key=lambda index: beside[index]) if beside else 0
            known[key] = found
        return found

    return owner
