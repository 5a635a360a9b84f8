"""From a density to whole numbers: loads and operations of a trip of the loop, and how many trips."""

from __future__ import annotations

from msgspec import Struct

from wattslice_corpora.synthetic.addressing import STRIDE, Addressing, addressing
from wattslice_corpora.synthetic.kinds import CHAINS, LIGHT_CHAINS, SCALAR_KINDS
from wattslice_corpora.synthetic.spec import (
    THREADS_PER_BLOCK,
    OperationKind,
    Pattern,
    SliceSpec,
    Space,
    SpecError,
)
from wattslice_corpora.synthetic.tiles import (
    TILE_BYTES_PER_THREAD,
    TILE_CHAINS,
    TILE_ELEMENTS,
    tile_addressing,
)

TOLERANCE = 0.05
"""How far the density of a slice may be from the one asked for, relative to it."""
_CLOSE = 0.005  # near enough to stop looking for a better number of loads
_ROUND = 64  # main operations in the body of the inner loop
_TILE_ROUND = 16
_MOST_OPERATIONS = 4096  # of a trip, above which it makes fewer than _USUAL_LOADS loads
_USUAL_LOADS = 16
_TARGET_CYCLES = 2e6  # about a millisecond
_MOST_CYCLES = 1e7
_BEYOND_L2_BYTES = 128 << 20
_MOST_BYTES = 2 << 30
_FEWEST_TRIPS = 16

# Main operations (of one thread) that a multiprocessor completes in a cycle, and bytes that it reads:
# rough figures of recent data-centre GPUs, which decide nothing but how long a launch lasts.
_OPERATIONS_PER_CYCLE = {
    OperationKind.FP32: 128.0,
    OperationKind.FP64: 64.0,
    OperationKind.FP16: 128.0,
    OperationKind.INT: 64.0,
    OperationKind.SPECIAL: 16.0,
    OperationKind.TENSOR: 8.0,
}
_BYTES_PER_CYCLE = {
    Space.GLOBAL: 16.0,
    Space.L2: 32.0,
    Space.SHARED: 128.0,
    Space.CONSTANT: 128.0,
    Space.TEXTURE: 64.0,
    Space.REGISTERS: 128.0,
}


class Plan(Struct, frozen=True):
    """What one trip of the loop does, and the counts of a thread that docs/counting.md gives for the launch.

    A trip makes `loads`, `rounds` of an inner loop with `round_mains` main operations each, `mains` of them
    after it, and `lights`. `values_used` of the loads are taken in by an operation. `operations` and
    `accesses` (to the slice's own space, not weighted) are those of one thread in the whole launch of
    `iterations` trips.
    """

    loads: int
    rounds: int
    round_mains: int
    mains: int
    lights: int
    values_used: int
    iterations: int
    addressing: Addressing
    operations: int
    accesses: int
    footprint_bytes: int | None

    @property
    def mains_per_trip(self) -> int:
        """Main operations of a thread in one trip."""
        return self.rounds * self.round_mains + self.mains

    def density(self, access_weight: float) -> float | None:
        """Ã that the plan makes; None without accesses."""
        return self.operations / (access_weight * self.accesses) if self.accesses else None


class _Costs(Struct, frozen=True):
    """What the operations of a kind count: `light` 0 when there is no such operation."""

    main: int
    light: int
    round_mains: int
    start: int
    bytes_per_load: int


def plan(spec: SliceSpec) -> Plan:
    """The numbers of `spec`; `SpecError` when no whole numbers come within 5 % of its density."""
    costs = _costs(spec)
    if spec.density is None:
        return _with(spec, costs, 0, 0, costs.round_mains, 0, _trips(spec, costs, 0, costs.round_mains))
    best = _best(spec, costs, spec.density, False) or _best(spec, costs, spec.density, True)
    if best is None:
        raise SpecError(
            f"{spec.name}: no slice of density {spec.density:g} can be built with accesses of weight "
            f"{spec.access_weight:g}: the addresses, the loop and the use of each loaded value count more "
            "operations; ask for a higher density"
        )
    return best


def _best(spec: SliceSpec, costs: _Costs, density: float, skip: bool) -> Plan | None:
    """The first number of loads that comes near enough to the density, else the nearest within the tolerance.

    `skip`: not all loaded values have to be used.
    """
    usual = max(1, min(_USUAL_LOADS, int(_MOST_OPERATIONS / (density * spec.access_weight))))
    where = _addressing(spec, usual, skip)
    if skip and not where.may_skip:
        return None
    best: Plan | None = None
    best_error = TOLERANCE
    for loads in range(usual, where.most_loads + 1):
        found = _solved(spec, costs, density, loads, skip)
        if found is None:
            continue
        error = abs((found.density(spec.access_weight) or 0.0) / density - 1.0)
        if error <= best_error:
            best, best_error = found, error
        if error <= _CLOSE:
            break
    return best


def is_feasible(spec: SliceSpec) -> bool:
    """Whether a slice of this density can be built."""
    try:
        plan(spec)
    except SpecError:
        return False
    return True


def _solved(spec: SliceSpec, costs: _Costs, density: float, loads: int, skip: bool) -> Plan | None:
    """The plan with this many loads, the kind's own operations being what is left; None if nothing is."""
    wanted = density * spec.access_weight
    about = wanted * loads / costs.main
    trips = _trips(spec, costs, loads, about)
    where = _addressing(spec, loads, skip)
    overhead = 2 + where.trip_operations + where.load_operations * (loads - 1)
    accesses = trips * loads + where.setup_accesses + int(spec.is_global)
    budget = (wanted * accesses - _fixed(spec, costs, where, lights=0)) / trips - overhead
    per_round = costs.round_mains * costs.main + 2
    rounds = int((budget - 1) // per_round) if budget > 2 * per_round else 0
    left = budget - (rounds * per_round + 1 if rounds else 0)
    must_read = 0 if skip or rounds else loads
    split = _split(costs, left, must_read)
    if split is None or rounds + split[0] == 0:
        return None
    return _with(spec, costs, loads, rounds, split[0], split[1], trips)


def _split(costs: _Costs, left: float, must_read: int) -> tuple[int, int] | None:
    """`left` counted operations as main and light ones, rounded, that take in at least `must_read` values."""
    mains = int((left + 0.25) // costs.main)  # a fraction short of a whole operation is one
    if mains >= must_read:
        rest = left - mains * costs.main
        if rest > costs.main - 0.5 * max(1, costs.light):
            return mains + 1, 0
        return (mains, int(costs.light > 0 and rest >= 0.5 * costs.light)) if mains >= 0 else None
    if costs.light == 0:
        return None
    mains = round((left - costs.light * must_read) / (costs.main - costs.light))
    return (mains, must_read - mains) if mains >= 0 else None


def _with(
    spec: SliceSpec, costs: _Costs, loads: int, rounds: int, mains: int, lights: int, trips: int
) -> Plan:
    used = min(loads, max(mains + lights, costs.round_mains if rounds else 0))
    where = _addressing(spec, loads, used < loads)
    own = costs.main * (rounds * costs.round_mains + mains) + costs.light * lights
    inner = 2 * rounds + 1 if rounds else 0
    trip = 2 + where.trip_operations + where.load_operations * max(0, loads - 1) + inner + own
    stored = int(spec.is_global)  # the total, at the end
    return Plan(
        loads=loads,
        rounds=rounds,
        round_mains=costs.round_mains,
        mains=mains,
        lights=lights,
        values_used=used,
        iterations=trips,
        addressing=where,
        operations=trips * trip + _fixed(spec, costs, where, lights),
        accesses=0 if spec.density is None else trips * loads + where.setup_accesses + stored,
        footprint_bytes=_row_bytes(spec, costs) * loads * trips if spec.space is Space.GLOBAL else None,
    )


def _costs(spec: SliceSpec) -> _Costs:
    if spec.kind is OperationKind.TENSOR:
        return _Costs(1, 0, _TILE_ROUND, 0, TILE_BYTES_PER_THREAD)
    kind = SCALAR_KINDS[spec.kind]
    start = 2 + kind.lanes * (CHAINS - 1)
    return _Costs(
        main=kind.main_operations,
        light=kind.lanes,
        round_mains=_ROUND,
        start=start,
        bytes_per_load=kind.element_bytes,
    )


def _fixed(spec: SliceSpec, costs: _Costs, where: Addressing, lights: int) -> int:
    """Operations outside the loop: thread, addresses, first values, the loop's last test, the total."""
    if spec.kind is OperationKind.TENSOR:
        join = 2 * TILE_ELEMENTS + 1 + TILE_ELEMENTS * TILE_CHAINS
        finite = 2
    else:  # two halves of a pair are joined at last
        join = costs.light * (CHAINS + min(lights, LIGHT_CHAINS) - 1) + costs.light - 1
        finite = SCALAR_KINDS[spec.kind].finite_operations
    thread = 2 * uses_thread(spec, where)
    check = 0 if spec.is_global else 1 + finite
    return thread + where.setup_operations + costs.start + 1 + join + check


def uses_thread(spec: SliceSpec, where: Addressing) -> bool:
    """Whether the kernel needs the number of its thread in the launch."""
    return spec.is_global or any("thread " in line for line in where.setup)


def _addressing(spec: SliceSpec, loads: int, skip: bool) -> Addressing:
    if spec.kind is OperationKind.TENSOR:
        return tile_addressing(spec, loads)
    return addressing(spec, SCALAR_KINDS[spec.kind], loads, skip)


def _row_bytes(spec: SliceSpec, costs: _Costs) -> int:
    """Bytes of global memory between one load of a thread and its next."""
    return spec.threads * costs.bytes_per_load * (STRIDE if spec.pattern is Pattern.STRIDED else 1)


def _trips(spec: SliceSpec, costs: _Costs, loads: int, mains: float) -> int:
    """Trips for a launch of about a millisecond; of global memory more than L2 holds, and at most 2 GiB."""
    moved = loads * THREADS_PER_BLOCK * costs.bytes_per_load / _BYTES_PER_CYCLE[spec.space]
    if spec.pattern is not Pattern.COALESCED:
        moved *= STRIDE
    cycles = max(mains * THREADS_PER_BLOCK / _OPERATIONS_PER_CYCLE[spec.kind], moved, 1.0)
    trips = _TARGET_CYCLES / cycles
    if spec.space is Space.GLOBAL and spec.pattern is not Pattern.RANDOM:
        bytes_per_trip = _row_bytes(spec, costs) * loads
        trips = max(trips, min(_BEYOND_L2_BYTES / bytes_per_trip, _MOST_CYCLES / cycles))
        trips = min(trips, _MOST_BYTES / bytes_per_trip)
    return max(1 if spec.space is Space.GLOBAL else _FEWEST_TRIPS, int(trips))
