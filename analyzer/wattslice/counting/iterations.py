"""Which iterations of a long loop stand for the others, and how far the counts may then be off.

All iterations are looked at together first, as if each were a thread: without addresses, with everything that
one iteration hands to the next unknown. Iterations in which every thread runs the same are of one class, of
which one or two are then run in full. Where there are too many classes, as with an inner loop that grows with
the counter, nodes that add up any cubic polynomial exactly stand for the iterations of one pattern, and what
the nodes come to is compared with what was looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.sampling import WARP_SIZE, Mask, SampledThreads
from wattslice.counting.sites import SiteTally
from wattslice.counting.state import State, Tallies
from wattslice.counting.values import Chance, Pointer, Record, Unknown, Value, scalar
from wattslice.ir.accesses import register_assignments
from wattslice.ir.loops import is_invariant, read_place, written_in
from wattslice.ir.objects import FOLLOWED, contents_given

MOST_LOOKED_AT = 1 << 20
"""Iterations times threads that are looked at together."""
MOST_NUMBERS = 1 << 25
"""The same times the registers and regions that are kept for each, 8 bytes a number."""
SAMPLED_ITERATIONS = 1 << 14
"""Iterations looked at of a loop that has more than MOST_LOOKED_AT."""
FEWEST_LOOKED_AT = 64
"""Iterations of an inner loop that are looked at for each of an outer one, at least."""
FEW_ITERATIONS = 512
"""Iterations looked at of a loop whose inner loops are too long to look at all."""
FEW_CLASSES = 16
"""Classes of iterations that are not too many to run each."""
_FEW_NUMBERS = 256
"""Of a row, to find one that may be equal."""
SURVEY_STEPS = 2000
"""Statements that one look may take, besides some for each operation of the loop."""

Lanes = NDArray[np.int64]
Numbers = NDArray[np.float64]


class SurveyError(Exception):
    """The iterations of a loop cannot be looked at together."""


class LookedAt(Struct, frozen=True, eq=False):
    """The threads and iterations of a look: `threads[thread_of]` are the lanes `lanes` of the launch.

    `threads`: one lane of each kind of thread, which nothing that decides in the loop tells apart; `share`:
    the weight of each kind, sums to 1. `iterations`: ascending; `stands_for`: how many iterations each of
    them is. `has_all_iterations`: none is left out. `kinds`: how many kinds of threads there are.
    """

    threads: NDArray[np.intp]
    share: Numbers
    lanes: NDArray[np.intp]
    thread_of: NDArray[np.intp]
    iterations: Lanes
    stands_for: Numbers
    has_all_iterations: bool
    kinds: int

    @property
    def has_all_kinds(self) -> bool:
        """Whether a thread of every kind is looked at."""
        return self.kinds == self.threads.size


class Survey(Struct, frozen=True, eq=False):
    """How often each of `regions` runs: `runs[row, iteration, thread]` of what was looked at, the row of each
    in `rows`: regions that run together share one.

    `alive[iteration, thread]`: the thread begins the iteration; `leaves`: and leaves the loop in it. `error`:
    how far loops inside may be off, as a share of their iterations.
    """

    looked: LookedAt
    regions: tuple[int, ...]
    rows: tuple[int, ...]
    runs: Numbers
    alive: NDArray[np.bool_]
    leaves: NDArray[np.bool_]
    error: float

    def of_threads(self, part: slice) -> Survey:
        """What was seen of some of the threads."""
        looked = self.looked
        threads = looked.threads[part]
        share = np.full(threads.size, 1.0 / threads.size)
        return replace(
            self,
            looked=replace(looked, threads=threads, share=share),
            runs=self.runs[:, :, part],
            alive=self.alive[:, part],
            leaves=self.leaves[:, part],
        )

    def by_lane(self, mask: Mask) -> list[tuple[int, Numbers]]:
        """How often each region runs in the lanes of `mask`, all iterations together."""
        looked = self.looked
        found: list[Numbers] = []
        for runs in self.runs:
            weights = np.zeros_like(mask.weights)
            weights[looked.lanes] = (runs * looked.stands_for[:, None]).sum(axis=0)[
                looked.thread_of
            ] * mask.weights[looked.lanes]
            found.append(weights)
        return [(region, found[row]) for region, row in zip(self.regions, self.rows, strict=True)]


class Plan(Struct, frozen=True, eq=False):
    """Iterations to run, ascending, with the number that each stands for.

    `error`: how far the counts of a statement may be off, as a share of the iterations; 0: they are exact.
    """

    iterations: tuple[int, ...]
    weights: tuple[float, ...]
    error: float


# ---------------------------------------------------------------------------------------------- threads


@lru_cache(maxsize=512)
def deciding(loop: ir.Loop) -> tuple[tuple[ir.Expr, ...], frozenset[ir.Variable]]:
    """What decisions in a loop depend on: expressions that it does not change, and registers that it does."""
    assigned = written_in(loop)
    given: dict[ir.Variable, list[ir.Expr]] = ir.values_given(loop.body)
    for variable, value in contents_given(loop.body):
        given.setdefault(variable, []).append(value)
    todo: list[ir.Expr] = []
    for stmt in ir.walk_statements(loop):
        if isinstance(stmt, ir.If):
            todo.append(stmt.condition)
        elif isinstance(stmt, ir.Switch):
            todo.append(stmt.selector)
        elif isinstance(stmt, ir.Loop):
            todo += [expr for expr in (stmt.condition, stmt.step) if expr is not None]
        for expr in ir.statement_expressions(stmt):
            for node in ir.walk_expressions(expr):
                if isinstance(node, ir.Select) and ir.is_decision(node):
                    todo.append(node.condition)
                elif isinstance(node, ir.Logical):
                    todo.append(node.left)
                elif isinstance(node, ir.InlinedCall):
                    for parameter, argument in zip(node.parameters, node.arguments, strict=True):
                        given.setdefault(parameter, []).append(argument)
    fixed: list[ir.Expr] = []
    found: set[ir.Variable] = set()
    seen: set[ir.Expr] = set()
    while todo:
        node = todo.pop()
        if node in seen or isinstance(node, ir.Atomic | ir.TextureFetch | ir.Constant):
            continue
        if isinstance(node, ir.Load) and node.place.space not in FOLLOWED:
            continue
        seen.add(node)
        if all(isinstance(part, PLAIN) for part in ir.walk_expressions(node)) and is_invariant(
            node, assigned
        ):
            fixed.append(node)
            continue
        place = node.place if isinstance(node, ir.Load) else read_place(node)
        if place is not None:
            variable = place.variable if isinstance(place, ir.RegisterPlace) else place.root
            if variable is not None and variable not in found:
                found.add(variable)
                todo += given.get(variable, ())
        elif isinstance(node, ir.InlinedCall):
            todo += ir.expressions_below(node.body)
        todo += ir.children(node)
    return tuple(fixed), frozenset(found)


PLAIN = ir.Constant | ir.Read | ir.Builtin | ir.Binary | ir.Cast | ir.Unary | ir.AddressOf | ir.PointerOffset
"""What may be evaluated once more: it leaves no trace."""


class Needed(Struct, frozen=True, eq=False):
    """What of a loop tells how often its parts run: all but the `idle` statements, and these `variables`."""

    idle: frozenset[ir.Stmt]
    variables: frozenset[ir.Variable]


@lru_cache(maxsize=512)
def needed(loop: ir.Loop) -> Needed:
    """The statements of a loop whose values nothing comes of that decides; the order is not looked at."""
    given: dict[ir.Variable, list[ir.Expr]] = {}
    for variable, value in (*register_assignments(loop.body), *contents_given(loop.body)):
        given.setdefault(variable, []).append(value)
    simple = [s for s in ir.walk_statements(loop.body) if isinstance(s, ir.ExprStmt | ir.Declare)]
    inside = {
        stmt: [n for e in ir.statement_expressions(stmt) for n in ir.walk_expressions(e)] for stmt in simple
    }
    idle = {stmt for stmt, nodes in inside.items() if not any(map(_is_counted, nodes))}
    todo = [*ir.statement_expressions(loop)]
    for stmt in ir.walk_statements(loop.body):
        if stmt not in idle:
            todo += ir.statement_expressions(stmt)
        if isinstance(stmt, ir.Loop):
            todo += (expr for first in stmt.init for expr in ir.statement_expressions(first))
    seen: set[ir.Expr] = set()
    variables: set[ir.Variable] = set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        todo += ir.children(node)
        variable = _named(node)
        if variable is not None and variable not in variables:
            variables.add(variable)
            todo += given.get(variable, ())
    idle = {stmt for stmt in idle if seen.isdisjoint(inside[stmt])}
    variables.update(s.variable for s in simple if isinstance(s, ir.Declare))
    return Needed(frozenset(idle), frozenset(variables))


def _is_counted(node: ir.Expr) -> bool:
    """Whether a part of this expression is counted by itself, or changes what it is evaluated from."""
    return isinstance(node, ir.Logical | ir.InlinedCall | ir.Increment) or (
        isinstance(node, ir.Select) and ir.is_decision(node)
    )


def _named(node: ir.Expr) -> ir.Variable | None:
    """The register or object in memory that an expression reads or writes."""
    match node:
        case (
            ir.Read(place=place)
            | ir.Assign(target=ir.RegisterPlace() as place)
            | ir.Increment(target=ir.RegisterPlace() as place)
        ):
            return place.variable
        case (
            ir.Load(place=place)
            | ir.Assign(target=ir.MemoryPlace() as place)
            | ir.Increment(target=ir.MemoryPlace() as place)
        ):
            return place.root
        case ir.AddressOf(variable=variable):
            return variable
        case _:
            return None


def _arrays(value: Value) -> list[Numbers | Lanes]:
    """What of a value differs from lane to lane."""
    match value:
        case np.ndarray():
            return [value]
        case Unknown(delta=np.ndarray() as delta):
            return [delta]
        case Pointer(offset=offset):
            return _arrays(offset)
        case Chance(probability=np.ndarray() as probability):
            return [probability]
        case Record(members=members):
            return [array for _, member in members for array in _arrays(member)]
        case _:
            return []


def look(
    state: State,
    loop: ir.Loop,
    mask: Mask,
    trips: int | Lanes,
    fixed: Iterable[Value],
    *,
    one_by_one: bool = False,
    most_iterations: int = MOST_LOOKED_AT,
) -> LookedAt:
    """What to look at of a loop whose threads begin `trips` iterations.

    `fixed`: the values of what is `deciding` and does not change. `one_by_one`: every thread is of a kind of
    its own. Raises SurveyError where the budget of the kernel is spent.
    """
    longest = int(np.max(trips))
    kept_for_each = len(state.environment) + state.launch.kernel.region_count
    most_together = min(MOST_LOOKED_AT, MOST_NUMBERS // kept_for_each)
    most_iterations = min(most_iterations, most_together)
    _, variables = deciding(loop)
    values = [
        value
        for key, value in state.environment.items()
        if (key[0] if isinstance(key, tuple) else key) in variables
    ]
    lanes = np.flatnonzero(mask.active)
    columns: list[Numbers | Lanes] = []  # what tells threads apart, each once
    for array in (array for value in (*values, *fixed, trips) for array in _arrays(value)):
        if not any(array is known or np.array_equal(array, known) for known in columns):
            columns.append(array)
    if one_by_one:
        threads, thread_of = lanes, np.arange(lanes.size)
    elif columns:
        first, thread_of = kinds_of(np.stack([column[lanes].astype(np.float64) for column in columns]))
        threads = lanes[first]
    else:
        threads, thread_of = lanes[:1], np.zeros(lanes.size, np.intp)
    weights = (state.threads.population * mask.weights)[lanes]
    share = np.bincount(thread_of, weights, threads.size)
    share = share / share.sum() if share.sum() else np.full(threads.size, 1.0 / threads.size)
    number = longest
    if one_by_one:
        number = min(longest, most_together // threads.size)
        if number < min(longest, FEWEST_LOOKED_AT):
            raise SurveyError
    elif longest > most_iterations:
        number = min(most_iterations, SAMPLED_ITERATIONS)
    iterations, stands_for = _sampled(longest, number)
    most = max(2, most_together // number)
    kinds = threads.size
    if kinds > most:  # at random; every second one is put by to see how well the others stand for it
        kept, _ = _sampled(threads.size, most)
        threads, share, thread_of = threads[kept], np.full(most, 1.0 / most), np.zeros(lanes.size, np.intp)
    state.survey_left -= number * threads.size
    if state.survey_left < 0:
        raise SurveyError
    return LookedAt(threads, share, lanes, thread_of, iterations, stands_for, number == longest, kinds)


def kinds_of(columns: Numbers) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of the distinct of (numbers, lanes), ascending, the first lane of each; and which of them each lane is.

    What `np.unique` says along axis 1, in a fraction of its time.
    """
    order = np.lexsort(columns[::-1])
    ranked = columns[:, order]
    is_new = np.ones(order.size, np.bool_)
    np.any(ranked[:, 1:] != ranked[:, :-1], axis=0, out=is_new[1:])
    kind_of = np.empty_like(order)
    kind_of[order] = np.cumsum(is_new) - 1
    return order[is_new], kind_of


def _sampled(longest: int, number: int) -> tuple[Lanes, Numbers]:
    """About `number` of them, one at random of each of equal strata, and both ends."""
    if number == longest:
        return np.arange(longest), np.ones(longest)
    edges = np.linspace(0, longest, number + 1).astype(np.int64)
    width = np.diff(edges)
    chosen = edges[:-1] + (np.random.default_rng(0).random(number) * width).astype(np.int64)
    chosen[0], chosen[-1] = 0, longest - 1
    return chosen, width.astype(np.float64)


# ---------------------------------------------------------------------------------------------- looking


class Runs(Tallies):
    """Tallies that keep the weight of every lane in every region."""

    def __init__(self, kernel: ir.Kernel, threads: SampledThreads) -> None:
        super().__init__(kernel, threads)
        self.sites = no_sites(kernel)
        self.runs: dict[int, Numbers] = {}
        self.error = 0.0

    def count(self, region: int, mask: Mask) -> None:
        """One run of `region` under `mask`."""
        known = self.runs.get(region)
        self.runs[region] = mask.weights if known is None else known + mask.weights


class _NoSite:
    """Where addresses do not matter."""

    def visit(self, *_: object) -> None:
        pass

    visit_texels = visit


def no_sites(kernel: ir.Kernel) -> list[SiteTally]:
    """The sites of a kernel that is evaluated for its counts alone."""
    return [cast(SiteTally, _NoSite())] * kernel.site_count


def shadow_of(state: State, loop: ir.Loop, looked: LookedAt) -> State:
    """A state whose lanes are the iterations looked at of the threads looked at, iterations outermost.

    It knows what is needed to count `loop`.
    """
    number = looked.iterations.size * looked.threads.size
    padded = -(-number // WARP_SIZE) * WARP_SIZE
    source = np.full(padded, looked.threads[0])
    source[:number] = np.tile(looked.threads, looked.iterations.size)
    exists = np.arange(padded) < number
    threads = state.threads
    shadow = State(
        state.launch,
        SampledThreads(
            thread_idx=tuple(a if isinstance(a, int) else a[source] for a in threads.thread_idx),
            block_idx=tuple(a if isinstance(a, int) else a[source] for a in threads.block_idx),
            population=exists / number,
            warp_population=np.full(padded // WARP_SIZE, WARP_SIZE / padded),
            exists=exists,
            block_population=np.full(padded // WARP_SIZE, WARP_SIZE / padded),
            block_lanes=WARP_SIZE,
            typical=(0,),
        ),
        SURVEY_STEPS,
    )
    shadow.inputs.assumed = {}
    shadow.inputs.guessed = state.inputs.guessed
    shadow.survey_left = state.survey_left
    shadow.has_blocks = False
    variables = needed(loop).variables
    shadow.environment = {
        key: _of_lanes(value, source)
        for key, value in state.environment.items()
        if (key[0] if isinstance(key, tuple) else key) in variables
    }
    return shadow


def _of_lanes(value: Value, source: NDArray[np.intp]) -> Value:
    match value:
        case np.ndarray():
            return value[source]
        case Unknown(delta=delta):
            delta = delta[source] if isinstance(delta, np.ndarray) else delta
            return replace(value, delta=delta, which=None)  # of lanes that are no block
        case Pointer(offset=offset):
            return replace(value, offset=scalar(_of_lanes(offset, source)))
        case Chance(probability=np.ndarray() as probability):
            return replace(value, probability=probability[source])
        case Record(members=members):
            return Record(tuple((path, _of_lanes(member, source)) for path, member in members))
        case _:
            return value


def begun_by(looked: LookedAt, trips: int | Lanes) -> Lanes:
    """How many iterations each of the threads begins."""
    return np.full(looked.threads.size, trips) if isinstance(trips, int) else trips[looked.threads]


def on_lanes(looked: LookedAt, shadow: State, values: NDArray[Any]) -> NDArray[Any]:
    """Values by iteration and thread, as those of the lanes of a shadow."""
    found = np.zeros(shadow.threads.exists.size, values.dtype)
    number = looked.iterations.size * looked.threads.size
    found[:number] = np.broadcast_to(values, (looked.iterations.size, looked.threads.size)).ravel()
    return found


def surveyed(looked: LookedAt, tallies: Runs, begun: Lanes, through: Mask) -> Survey:
    """What the shadow has seen of one run of a body.

    `begun`: iterations that each thread begins; `through`: lanes that reach the next. Raises SurveyError
    where a lane leaves the loop only perhaps.
    """
    shape = (looked.iterations.size, looked.threads.size)
    number = shape[0] * shape[1]

    def of(weights: Numbers) -> Numbers:
        return weights[:number].reshape(shape)

    goes_on = of(through.weights)
    alive = looked.iterations[:, None] < begun[None, :]
    if not bool(((goes_on == 0.0) | (goes_on == 1.0)).all()):
        raise SurveyError
    leaves = alive & (goes_on == 0.0)
    if bool(leaves.any()):
        left_before = np.cumsum(leaves, axis=0) - leaves > 0
        alive &= ~left_before
        leaves &= ~left_before
    regions, rows, distinct = _rows(tallies)
    runs = np.empty((len(distinct), *shape))
    for seen in runs:
        np.multiply(of(distinct.pop(0)), alive, out=seen)
    return Survey(looked, regions, rows, runs, alive, leaves, tallies.error)


def _rows(tallies: Runs) -> tuple[tuple[int, ...], tuple[int, ...], list[Numbers]]:
    """The regions, the row of each, and the rows, taken out of the tallies: one for equal weights."""
    regions = tuple(sorted(tallies.runs))
    rows: list[int] = []
    distinct: list[Numbers] = []
    alike: dict[bytes, list[int]] = {}  # rows by a few of their numbers
    for region in regions:
        weights = tallies.runs.pop(region)
        known = alike.setdefault(weights[:: 1 + weights.size // _FEW_NUMBERS].tobytes(), [])
        alike_rows = (
            row for row in known if distinct[row] is weights or np.array_equal(distinct[row], weights)
        )
        row = next(alike_rows, len(distinct))
        if row == len(distinct):
            distinct.append(weights)
            known.append(row)
        rows.append(row)
    return regions, tuple(rows), distinct


def surveyed_once(looked: LookedAt, tallies: Runs) -> Survey:
    """What was seen of the iterations that a shadow ran one after the other."""
    number = looked.threads.size
    regions, rows, distinct = _rows(tallies)
    runs = np.array([weights[:number] for weights in distinct]).reshape(len(distinct), 1, number)
    ones = np.ones((1, number), np.bool_)
    return Survey(looked, regions, rows, runs, ones, ~ones, 0.0)


# ---------------------------------------------------------------------------------------------- planning

_CLOSE = 1e-6
"""A share of the iterations that is nothing: rounding of sums."""
CLOSE_OF_WARPS = 0.01
"""A share of the runs of warps that is close enough, where those of threads add up."""


def plan(survey: Survey, most: int) -> Plan:
    """At most about `most` iterations that stand for all."""
    looked = survey.looked
    if looked.has_all_kinds:
        return _planned(survey, most)
    made = _planned(survey.of_threads(slice(0, None, 2)), most)
    put_by = survey.of_threads(slice(1, None, 2))
    at, weights = np.searchsorted(looked.iterations, made.iterations), np.array(made.weights)
    missed = put_by.runs[:, at].swapaxes(1, 2) @ weights - (put_by.runs.swapaxes(1, 2) @ looked.stands_for)
    spread = missed.std(axis=1) * (2.0 / np.sqrt(missed.shape[1]))
    error = float(((np.abs(missed.mean(axis=1)) + spread) / _scale(put_by)).max())
    # what the last threads left out do in the iterations that were chosen
    return replace(made, error=min(1.0, made.error + error + 2.0 / looked.kinds))


def _planned(survey: Survey, most: int) -> Plan:
    """The same from the threads looked at alone."""
    looked = survey.looked
    own = looked.stands_for
    classes = _classes(_marks(survey, exact_counts=True))
    error = 0.0
    if len(classes) <= FEW_CLASSES:
        chosen = _of_classes(classes, own, most)
    else:
        chosen, error = _by_nodes(survey, most)
        if error and len(classes) <= most:
            chosen, error = _of_classes(classes, own, most), 0.0
    if not looked.has_all_iterations:
        error = min(1.0, error + 1.0 / np.sqrt(own.size))
    if survey.error:
        error = min(1.0, error + survey.error)
    chosen.sort()
    return Plan(
        tuple(int(looked.iterations[k]) for k, _ in chosen), tuple(weight for _, weight in chosen), error
    )


def _of_classes(classes: list[NDArray[np.intp]], own: Numbers, most: int) -> list[tuple[int, float]]:
    both_ends = 2 * len(classes) <= most
    return [node for members in classes for node in _ends(members, own, both_ends=both_ends)]


def _scale(survey: Survey) -> Numbers:
    """What an error is a share of, for each region: the iterations, or its runs where these are more."""
    own = survey.looked.stands_for
    return np.maximum((_means(survey) * own).sum(axis=1), own.sum())


def _marks(survey: Survey, *, exact_counts: bool) -> Numbers:
    """A number for each iteration: the same where every thread runs the same regions (as often)."""
    generator = np.random.default_rng(1)
    threads = survey.looked.threads.size
    sums: Numbers = np.zeros(survey.looked.iterations.size)
    for seen in (*survey.runs, survey.alive, survey.leaves):
        chances: Numbers = generator.random(threads)
        ran = seen if exact_counts else seen > 0.0
        sums = sums + _of_rows(ran * chances)  # not `@`: it adds up in another order for other rows
    return np.round(sums, 9)


def _of_rows(numbers: Numbers) -> Numbers:
    return np.asarray(numbers.sum(axis=1), np.float64)


def _classes(marks: Numbers | NDArray[np.intp]) -> list[NDArray[np.intp]]:
    order = np.argsort(marks, kind="stable")
    edges = np.flatnonzero(np.diff(marks[order])) + 1
    return list(np.split(order, edges))


def _ends(members: NDArray[np.intp], own: Numbers, *, both_ends: bool) -> list[tuple[int, float]]:
    """The first and the last of some iterations, each for half of them."""
    weight = float(own[members].sum())
    if members.size == 1 or not both_ends:
        return [(int(members[0]), weight)]
    half = float(own[members[: (members.size + 1) // 2]].sum())
    return [(int(members[0]), half), (int(members[-1]), weight - half)]


def _means(survey: Survey) -> Numbers:
    """How often each region runs in each iteration, as means over the threads."""
    means = [_of_rows(runs * survey.looked.share) for runs in survey.runs]
    return np.array(means).reshape(len(survey.runs), -1)


def warp_means(survey: Survey) -> Numbers:
    """The same as means over the warps, each of which runs as often as its busiest lane."""
    looked = survey.looked
    first = np.flatnonzero(np.diff(looked.lanes // WARP_SIZE, prepend=-1))
    alike = Counter(warp.tobytes() for warp in np.split(looked.thread_of, first[1:]))
    warps = [np.frombuffer(warp, looked.thread_of.dtype) for warp in alike]
    share = np.array([*alike.values()]) / first.size
    lanes, begins = np.concatenate(warps), np.cumsum([0, *(warp.size for warp in warps[:-1])])
    means = [_of_rows(np.maximum.reduceat(runs[:, lanes], begins, axis=1) * share) for runs in survey.runs]
    return np.array(means).reshape(len(survey.runs), -1)


def _by_nodes(survey: Survey, most: int) -> tuple[list[tuple[int, float]], float]:
    """Nodes for the iterations of each pattern, split where they do not add up; and what they then miss.

    Where there are more patterns than that, as where each thread begins or ends at an iteration of its own,
    the iterations in which any thread runs the same are one pattern, and warps have to add up nearly as well.
    """
    own = survey.looked.stands_for
    pieces = _classes(_marks(survey, exact_counts=False))
    means = _means(survey)
    left_out = 0.0 if survey.looked.has_all_kinds else 2.0 / survey.looked.threads.size
    enough = np.full(len(means), max(_CLOSE, survey.error / 8, left_out))
    if len(pieces) > most and not survey.leaves.any():
        by_any = np.packbits(survey.runs.any(axis=2), axis=0)
        pieces = _classes(np.unique(by_any, axis=1, return_inverse=True)[1].ravel())
        if survey.looked.has_all_kinds:
            means = np.concatenate([means, warp_means(survey)])
            enough = np.concatenate([enough, np.full(len(enough), CLOSE_OF_WARPS)])
    scale = np.maximum((means * own).sum(axis=1), own.sum())
    chosen_nodes = [nodes(piece, own) for piece in pieces]

    def missed(piece: NDArray[np.intp], chosen: list[tuple[int, float]]) -> Numbers:
        at = np.array([k for k, _ in chosen], np.intp)
        weights = np.array([weight for _, weight in chosen])
        return (means[:, at] * weights).sum(axis=1) - (means[:, piece] * own[piece]).sum(axis=1)

    misses = [missed(piece, chosen) for piece, chosen in zip(pieces, chosen_nodes, strict=True)]
    while True:
        excess = [float((np.abs(miss) / (scale * enough)).max()) for miss in misses]
        worst = int(np.argmax(excess))
        if excess[worst] <= 1.0:
            break
        if sum(map(len, chosen_nodes)) + 4 > most or pieces[worst].size < 2:
            break
        whole = pieces.pop(worst)
        chosen_nodes.pop(worst)
        misses.pop(worst)
        for part in (whole[: whole.size // 2], whole[whole.size // 2 :]):
            pieces.append(part)
            chosen_nodes.append(nodes(part, own))
            misses.append(missed(part, chosen_nodes[-1]))
    error = float((np.abs(np.sum(misses, axis=0)) / scale).max())
    return [node for chosen in chosen_nodes for node in chosen], 0.0 if error <= _CLOSE else error


def nodes(members: NDArray[np.intp], own: Numbers) -> list[tuple[int, float]]:
    """Some of consecutive iterations, with weights that add up every polynomial of degree three exactly."""
    number = members.size
    if number <= 4:
        return [(int(k), float(own[k])) for k in members]
    each = float(own[members].sum()) / number
    half = (number - 1) / 2
    if number % 2:
        end = number * (number + 1) / (6 * (number - 1))
        middle = [(number // 2, number - 2 * end)]
    else:
        end = (number * (number**2 - 1) / 12 - number / 4) / (2 * half**2 - 0.5)
        middle = [(number // 2 - 1, number / 2 - end), (number // 2, number / 2 - end)]
    places = [(0, end), *middle, (number - 1, end)]
    return [(int(members[at]), weight * each) for at, weight in places]
