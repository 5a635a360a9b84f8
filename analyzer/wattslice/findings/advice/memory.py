"""Rules about memory: PW041 and PW042, PW055 (how a warp accesses), PW051 (local arrays), PW052 (atomics).

PW041: the lanes of a warp touch far-apart places of global memory: whole sectors move for a few bytes. Told
only where thread indices and known values decide the address: a stride that was assumed tells nothing. A
request is judged by its 32-byte sectors against the fewest that could hold what all its lanes access, taking
part or not (data may decide that), all of it distinct: a broadcast needs less than that and is never told.
Members of vector types (`float4 v; v.x`) are left out: the compiler merges their loads.

PW042, PW055: requests that shared or constant memory serves piece by piece. Shared memory hands out one word
of each bank at a time. Lanes that read the same word share it (a broadcast). Accesses of 8 and 16 bytes are
served in two and four parts without any conflict: only what comes on top counts. Constant memory hands out
one word at a time, to all lanes that want it.

PW051: a private array that is indexed at run time lives in local memory, not in registers. Told where an
index comes from a thread index, a parameter, memory, or the counter of a loop that such a value bounds: no
unrolling makes those constants. At stake is what its accesses issue and move, and their
share of the loads that are waited for.

PW052: all threads add floats to the same address, one after the other. Integers are left out: nvcc makes one
atomic per warp of them (seen in the SASS of nvcc 13: VOTE, POPC or REDUX before RED), and for floats it does
not. Nothing is at stake in numbers: of contention the time model knows that in shared memory only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.counting.profile import SiteStatistics
from wattslice.counting.sampling import WARP_SIZE
from wattslice.counting.sites import BANK_BYTES, BANKS, ROW_BYTES, SECTOR_BYTES
from wattslice.findings.advice.facts import LaunchFacts, Stake, lanes_of, name_of, variables_behind
from wattslice.ir.accesses import MemoryAccess, memory_accesses, value_parts
from wattslice.ir.walking import evaluations
from wattslice.workload.instructions.statements import RequestCount
from wattslice.workload.traffic import AccessTraffic, made_accesses, shared_passes
from wattslice_models.workload import PASS_BYTES, Workload

LEAST_TIMES = 2.0
"""Times the sectors needed, from which on an access is uncoalesced: misalignment alone costs 1.25."""
LEAST_LANES = 2.0
"""Lanes per request below which there is nothing to coalesce."""


def _by_array(
    facts: LaunchFacts,
    cost: Callable[[LaunchFacts, MemoryAccess, RequestCount], float],
    cheaper: Callable[[LaunchFacts, MemoryAccess, RequestCount], SiteStatistics],
) -> Iterator[tuple[MemoryAccess, RequestCount, Stake, list[ir.Span]]]:
    """For each array with enough at stake: the access that costs most, what is at stake, and where else.

    `cost`: what a launch pays for an access above what it needs, in any unit, 0 for what is not told.
    `cheaper`: the access without that cost.
    """
    arrays: dict[object, list[tuple[float, MemoryAccess, RequestCount]]] = {}
    if not facts.knows_lanes:
        return
    for access, made in made_accesses(facts.launch, facts.profile, facts.work.instructions.requests):
        if costs := cost(facts, access, made):
            key = access.root if access.root is not None else access.site
            arrays.setdefault(key, []).append((costs, access, made))
    for found in arrays.values():
        stake = facts.stake(
            facts.with_sites({one.site: cheaper(facts, one, its) for _, one, its in found}, alone=True)
        )
        if stake.is_worth_telling:
            _, access, made = max(found, key=lambda one: one[0])
            yield access, made, stake, [one.span for _, one, _ in found]


def uncoalesced(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each array, at the access that moves most."""
    fix = "let neighbouring threads access neighbouring elements, or stage a tile in shared memory"
    for access, made, stake, also in _by_array(facts, _moved, _coalesced):
        message = _message(facts, access, made)
        yield facts.advice("PW041", access.span, message, fix, stake, also=also)


def _moved(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> float:
    return made.per_warp * _times(facts, access, made)


def _times(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> float:
    """Sectors per request over those needed; 0 where that is not known or does not matter."""
    statistics = facts.profile.sites[access.site]
    sectors, lanes = statistics.sectors_per_request, lanes_of(made)
    if (
        access.space is not ir.MemorySpace.GLOBAL
        or access.is_atomic
        or sectors is None
        or lanes < LEAST_LANES
    ):
        return 0.0
    if _is_vector_member(access, statistics.access_bytes) or facts.is_bulk(access):
        return 0.0
    times = sectors / _needed(facts, statistics.access_bytes)
    if times < LEAST_TIMES or facts.rests_on_guess(access.addresses) or _is_made_up(facts, access):
        return 0.0
    return times


def _needed(facts: LaunchFacts, access_bytes: int) -> float:
    lanes = min(WARP_SIZE, facts.launch.threads_per_block)
    return max(1.0, math.ceil(lanes * access_bytes / SECTOR_BYTES))


def _coalesced(facts: LaunchFacts, access: MemoryAccess, _made: RequestCount) -> SiteStatistics:
    statistics = facts.profile.sites[access.site]
    needed = _needed(facts, statistics.access_bytes)
    return replace(statistics, sectors_per_request=needed, bank_passes=1.0, bytes_per_row=ROW_BYTES)


def _is_made_up(facts: LaunchFacts, access: MemoryAccess) -> bool:
    """Whether the type of the elements, and so their size, may be made up: an unread name becomes `int`."""
    if access.root is None:
        return False
    type_ = access.root.type.element or access.root.type
    is_int = type_.kind is ir.TypeKind.INT and type_.bits == 32
    return not type_.size_bytes or (is_int and "int" not in facts.text(access.root.span))


def _is_vector_member(access: MemoryAccess, access_bytes: int) -> bool:
    """Whether this is `p[i].x` of an aligned vector type: the compiler loads the whole when it needs more."""
    element = access.root.type.element if access.root is not None else None
    return element is not None and element.lanes in (2, 4) and access_bytes < element.size_bytes


def _message(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> str:
    statistics = facts.profile.sites[access.site]
    sectors = statistics.sectors_per_request or 0.0
    needed = _needed(facts, statistics.access_bytes)
    moved = made.per_warp * facts.workload.warps * SECTOR_BYTES
    verb = "store to" if access.is_store else "load from"
    return (
        f"a warp's {verb} {name_of(access)} touches {sectors:.3g} sectors where {needed:.0f} would do: "
        f"{_bytes(moved * sectors)} move in place of {_bytes(moved * needed)}, "
        f"{_times(facts, access, made):.1f} times as much"
    )


def _bytes(number: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= factor:
            return f"{number / factor:.3g} {unit}"
    return f"{number:.0f} B"


LEAST_WAYS = 2.0
"""Passes per request, on average over all requests of an access, from which on it is told."""

_SERIALISED = {ir.MemorySpace.SHARED: "PW042", ir.MemorySpace.CONSTANT: "PW055"}


def serialised(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each array, at the access with most passes to spare."""
    for access, made, stake, also in _by_array(facts, _spare_passes, _without_conflict):
        message, fix = _conflict_message(facts, access, made), _conflict_fix(access)
        yield facts.advice(_SERIALISED[access.space], access.span, message, fix, stake, also=also)


def _spare_passes(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> float:
    if access.space not in _SERIALISED or access.is_atomic:
        return 0.0
    if facts.is_bulk(access) or facts.rests_on_guess(access.addresses):
        return 0.0
    ways = _ways(facts, access, made)
    return made.per_warp * (ways - made.joined) if ways >= LEAST_WAYS * made.joined else 0.0


def _ways(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> float:
    """Passes of a request for each word of one lane; `made.joined` of them without any conflict."""
    statistics = facts.profile.sites[access.site]
    if statistics.bank_passes is None:
        return 0.0
    if access.space is ir.MemorySpace.CONSTANT:
        return statistics.bank_passes
    return shared_passes(statistics, made) / max(1, statistics.request_bytes // BANK_BYTES)


def _without_conflict(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> SiteStatistics:
    return replace(facts.profile.sites[access.site], bank_passes=1.0, joined_passes=None)


def _conflict_message(facts: LaunchFacts, access: MemoryAccess, made: RequestCount) -> str:
    ways = _ways(facts, access, made)
    if access.space is ir.MemorySpace.CONSTANT:
        return (
            f"the lanes of a warp read {ways:.3g} different words of {name_of(access)}, one after the other"
        )
    verb = "store to" if access.is_store else "load from"
    where = f" where {made.joined:.0f} would do" if made.joined > 1.0 else ""
    return f"a warp's {verb} {name_of(access)} takes {ways:.3g} passes for bank conflicts{where}"


def _conflict_fix(access: MemoryAccess) -> str:
    root = access.root
    if access.space is ir.MemorySpace.CONSTANT:
        return "keep it in shared or global memory where each lane reads a word of its own"
    row = root.type.element if root is not None else None
    if root is not None and row is not None and row.kind is ir.TypeKind.ARRAY and row.length:
        while row.element is not None and row.element.kind is ir.TypeKind.ARRAY:
            row = row.element
        if row.size_bytes % (BANKS * BANK_BYTES // 4) == 0:
            return f"pad the rows of '{root.name}': {(row.length or 0) + 1} elements in place of {row.length}"
    return "pad the array, or let neighbouring threads access neighbouring words"


def local_arrays(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each array."""
    runs = facts.profile.thread_counts
    bounded = _bounded_at_run_time(facts)
    arrays: dict[ir.Variable, list[tuple[float, ir.Span]]] = {}
    for access in memory_accesses(facts.kernel):
        root = access.root
        if (
            root is None
            or access.space is not ir.MemorySpace.LOCAL
            or root.type.kind is not ir.TypeKind.ARRAY
        ):
            continue
        if runs[access.region] and _comes_at_run_time(facts, access.addresses, bounded):
            arrays.setdefault(root, []).append((runs[access.region], access.span))
    for root, found in arrays.items():
        moved = [one for one in facts.work.traffic.by_access if one.access.root is root]
        stake = facts.stake(_in_registers(facts, moved))
        if not stake.is_worth_telling:
            continue
        _, span = max(found, key=lambda one: one[0])
        name = f"'{root.name}'" if root.name else "a private array"
        past_l1 = sum(one.l2_bytes for one in moved) / sum(one.l1_bytes for one in moved)
        fits = f"{past_l1:.0%} of its bytes pass by L1" if past_l1 else "L1 holds it"
        yield facts.advice(
            "PW051",
            span,
            f"{name} is indexed at run time and lives in local memory; {fits}",
            "index it by constants (unroll the loops over it), or keep it in shared memory",
            stake,
            also=[one for _, one in found],
        )


def _in_registers(facts: LaunchFacts, moved: list[AccessTraffic]) -> Workload:
    """What would issue and move without these accesses to local memory."""
    now = facts.workload
    of_them = {(one.access.site, one.access.is_store) for one in moved}
    made = [one for one in facts.work.instructions.requests if (one.site, one.is_store) in of_them]
    l1 = sum(one.l1_bytes for one in moved)
    l2 = sum(one.l2_bytes for one in moved)
    dram = sum(one.dram_bytes for one in moved)
    lanes = now.threads_per_block / now.warps_per_block
    loads = sum(one.per_thread for one in made if not one.is_store)
    waited = loads / ((now.global_loads or 0.0) + facts.work.instructions.local_loads or 1.0)

    def rest(whole: float | None, part: float) -> float:
        return max(0.0, (whole or 0.0) - part)

    done = now.instructions
    return replace(
        now,
        instructions=replace(done, load_store=rest(done.load_store, sum(one.per_thread for one in made))),
        warp_instructions=rest(now.warp_instructions, sum(one.per_warp for one in made)),
        dependent_loads=(now.dependent_loads or 0.0) * rest(1.0, waited),
        l1_bytes=rest(now.l1_bytes, l1),
        l2_bytes=rest(now.l2_bytes, l2),
        dram_bytes=rest(now.dram_bytes, dram),
        l1_passes=rest(now.l1_passes, l1 * lanes / PASS_BYTES),
    )


def _comes_at_run_time(
    facts: LaunchFacts, addresses: tuple[ir.Expr, ...], bounded: frozenset[ir.Variable]
) -> bool:
    """Whether no unrolling can make these addresses constant."""
    read = variables_behind(facts.kernel, addresses)
    if read & bounded or any(
        variable in facts.kernel.parameters and variable.type.is_integral for variable in read
    ):
        return True
    return any(
        isinstance(node, ir.Builtin)
        or (isinstance(node, ir.Load) and node.place.space is not ir.MemorySpace.LOCAL)
        for address in addresses
        for node in value_parts(address)
    )


def _bounded_at_run_time(facts: LaunchFacts) -> frozenset[ir.Variable]:
    """Registers changed by the steps of loops whose condition no compiler knows."""
    found: set[ir.Variable] = set()
    for stmt in ir.walk_statements(facts.kernel.body):
        if not isinstance(stmt, ir.Loop) or stmt.condition is None or stmt.step is None:
            continue
        if not variables_behind(facts.kernel, (stmt.condition,)).isdisjoint(facts.kernel.parameters):
            found |= {
                node.target.variable
                for node in ir.walk_expressions(stmt.step)
                if isinstance(node, ir.Increment | ir.Assign) and isinstance(node.target, ir.RegisterPlace)
            }
    return frozenset(found)


LEAST_QUEUED = 2.0
"""Lanes per request from which on they queue up: one per warp is what the remedy leaves."""
LEAST_ATOMIC_SHARE = 0.002
"""Atomics among a kernel's instructions per warp; each lane's addition is served by itself."""


def contended_atomics(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each atomic."""
    floats = {
        node.place.site: node
        for node, _ in evaluations(facts.kernel)
        if isinstance(node, ir.Atomic)
        and node.type.is_float
        and node.op in (ir.AtomicOp.ADD, ir.AtomicOp.SUB)
    }
    if not floats:
        return
    for access, made in made_accesses(facts.launch, facts.profile, facts.work.instructions.requests):
        node, reach = floats.get(access.site), facts.profile.sites[access.site].block_reach
        if node is None or reach is None or reach.bytes > facts.profile.sites[access.site].access_bytes:
            continue
        lanes = lanes_of(made)
        if lanes < LEAST_QUEUED or made.per_thread < LEAST_ATOMIC_SHARE * facts.work.instructions.total:
            continue
        yield facts.advice(
            "PW052",
            node.span,
            f"{lanes:.3g} lanes of each warp add to one address of {name_of(access)}, one after the other",
            "add up in the warp first (__shfl_down_sync, cg::reduce), and let one lane add the sum",
            None,
        )
