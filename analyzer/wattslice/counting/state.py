"""Everything one evaluation carries along: the environment, the tallies, what had to be assumed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property, lru_cache

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.boundaries import Boundaries
from wattslice.counting.estimates import BlockCounts
from wattslice.counting.profile import BlockKind, ProbabilitySource
from wattslice.counting.sampling import WARP_SIZE, Mask, Masks, SampledThreads
from wattslice.counting.sites import SiteTally
from wattslice.counting.touched import Stretch
from wattslice.counting.values import VARYING, Lanes, Value, join, select, unknown_of
from wattslice.ir.objects import objects
from wattslice.ir.operation_counts import operations
from wattslice.launches.launch import Assumption, KernelLaunch, trip_name

EVEN = 1.1
"""Up to this many times the mean block the longest one is no other kind of block."""

KINDS_BELOW = (1.05, 1.3, 2.0, 6.0, 100.0)
"""How much smaller than the longest block the blocks of a kind are at most, in all but the last kind."""

STEPS_BETWEEN_LOOKS = 250
"""Statements from one time that it is asked whether they are in vain to the next."""

SURVEYS = 1 << 23
"""Iterations times threads that all looks at the loops of one kernel may take."""


class NotCountedError(Exception):
    """The executions of a kernel cannot be counted; its message says why."""


class BudgetExceededError(NotCountedError):
    """The evaluation of one kernel took more steps than allowed; `had_choice`: it might have run fewer."""

    def __init__(self, *, had_choice: bool = True) -> None:
        super().__init__("counting its executions took more steps than allowed")
        self.had_choice = had_choice


class InVainError(Exception):
    """After so many `steps` nobody wants the counts: others have to be evaluated for them."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps


class LoopTally(Struct):
    """Entries and iterations of one loop, as thread means.

    `last`: iterations that its lanes began in the last entry (None: not known in advance), and which did.
    """

    span: ir.Span
    entries: float = 0.0
    iterations: float = 0.0
    known: bool = True
    last: tuple[int | Lanes | None, NDArray[np.bool_]] | None = None
    is_most: bool = True  # no more iterations than these, where they are not known

    def repeats(self, trips: int | Lanes | None, active: NDArray[np.bool_]) -> bool:
        """Notes an entry; whether each lane runs as often as in the one before, or it is the first."""
        before, self.last = self.last, (trips, active)
        if trips is None or before is None:
            return trips is not None
        earlier, lanes = before
        if isinstance(trips, int) or earlier is None or isinstance(earlier, int):
            return isinstance(trips, int) and isinstance(earlier, int) and trips == earlier
        return np.array_equal(earlier, trips) and np.array_equal(lanes, active)

    @property
    def is_uniform(self) -> bool:
        """Whether all threads ran as often in the last entry."""
        return self.last is not None and isinstance(self.last[0], int)


Environment = dict[ir.RegisterKey, Value]


class Meeting(Struct):
    """A place where ways meet that lanes have come perhaps: what they disagree on is not known behind it.

    `forks`: chances open around it. `ways`: the registers of each such way, and whether all lanes of a warp
    come it together. `is_certain`: some lanes jump here for certain, with the registers of the way that goes
    on.
    """

    forks: int
    ways: list[tuple[Environment, bool]] = field(default_factory=list[tuple[Environment, bool]])
    is_certain: bool = False


class LoopFrame(Struct):
    """A loop, switch or breakable block being run: lanes that left it or skip to its next iteration.

    `end`: of a switch or block, where a `break` leads; of a loop, where a `continue` does.
    `expected_trips` is None while the number of iterations is known from the counters. `data_leave`: data
    decide a break, so that what the loop assigns is not known behind it, even if the break is assumed never
    to happen; True in it when all lanes of a warp break together. `is_returned_from`: data decide a return.
    `stretch`: the iterations that the one being run stands for, where they are known. `moving`: the loads
    of pointers that are others in iterations that the one being run stands for.
    """

    broken: Mask
    continued: Mask
    end: Meeting
    expected_trips: float | None = None
    left_by_chance: bool = False
    left_by_profile: bool = False
    data_leave: set[bool] = field(default_factory=set[bool])
    is_returned_from: bool = False
    is_switch: bool = False  # no loop
    is_block: bool = False  # a breakable block
    moving: frozenset[int] = frozenset()
    stretch: Stretch | None = None


class CallFrame(Struct):
    """The kernel or an inlined call being run: lanes that returned, and with which values.

    `end`: where a `return` leads. `data_leave`: not empty when data decide a return in a loop, even if it is
    assumed never to happen; True in it when all lanes of a warp return together.
    """

    returned: Mask
    end: Meeting
    values: list[tuple[Mask, Value]] = field(default_factory=list[tuple[Mask, Value]])
    data_leave: set[bool] = field(default_factory=set[bool])
    loop_depth: int = 0


class StandIns(Struct, frozen=True, order=True):
    """`number` of `longest` iterations that differ stand for all; `missed`: iterations that may differ.

    `depth`: such loops inside each other, this one included. `missed` is a mean per thread of the grid.
    """

    missed: float
    depth: int
    number: int
    longest: int


class Tallies:
    """What one evaluation has found so far, and what it had to assume."""

    def __init__(self, kernel: ir.Kernel, threads: SampledThreads) -> None:
        self._kernel = kernel
        self._threads = threads
        self.thread_counts = [0.0] * kernel.region_count
        self.warp_counts = [0.0] * kernel.region_count
        self.loops: dict[int, LoopTally] = {}
        self.arm_sources: dict[int, ProbabilitySource] = {}
        self.never_left: set[int] = set()  # branches that leave a loop by data, assumed never to
        self.assumptions: dict[tuple[str, str, int, str], Assumption] = {}
        self.bounds: dict[ir.Loop, tuple[float, int]] = {}  # the fewest and the most iterations assumed
        self.stand_ins: dict[ir.Loop, StandIns] = {}  # of each loop the worst, with what all of it miss
        self.is_looking = False  # at what would be: nothing of it happens in any block

    @cached_property
    def sites(self) -> list[SiteTally]:
        """What the visits of each access have reached."""
        return [SiteTally() for _ in range(self._kernel.site_count)]

    @cached_property
    def by_block(self) -> BlockCounts:
        """How often each block runs each region."""
        return BlockCounts(_work_by_region(self._kernel), self._threads)

    def count(self, region: int, mask: Mask) -> None:
        """One run of `region` under `mask`."""
        self.thread_counts[region] += mask.thread_mean
        self.warp_counts[region] += mask.warp_mean
        if not self.is_looking:
            self.by_block.add(region, mask)

    def of_loop(self, loop: ir.Loop) -> LoopTally:
        """The entries and iterations of a loop so far."""
        return self.loops.setdefault(loop.region, LoopTally(loop.span))

    def assume(self, rule: str, span: ir.Span, message: str, fix: str) -> None:
        """Notes an assumption once."""
        found = Assumption(rule, span.line, message, fix, self.other_file(span))
        self.assumptions.setdefault((rule, span.file, span.line, message), found)

    def stand_in(self, loop: ir.Loop, found: StandIns) -> None:
        """Notes that iterations of a loop stand for others which differ."""
        known = self.stand_ins.get(loop)
        if known is not None:
            found = replace(max(found, known), missed=found.missed + known.missed)
        self.stand_ins[loop] = found

    def tell_stand_ins(self) -> None:
        """One assumption for all loops of which iterations stand for others, with the worst bound."""
        if not self.stand_ins:
            return
        shares = {
            loop: min(1.0, found.missed / max(found.missed, self.of_loop(loop).iterations))
            for loop, found in self.stand_ins.items()
        }
        loop = max(shares, key=shares.__getitem__)
        worst = self.stand_ins[loop]
        many = len({other.span for other in self.stand_ins})
        self.assume(
            "PW015",
            loop.span,
            (
                "iterations of the loop differ"
                if many == 1
                else f"iterations of {many} loops differ, most here"
            )
            + f", and {worst.number} of {worst.longest} stand for all: "
            + _off_by(shares[loop])
            + (f", in each of {worst.depth} loops inside each other" if worst.depth > 1 else ""),
            f"--set {self._kernel.name}.{trip_name(self._kernel, loop)}=VALUE",
        )

    def assume_branch(self, span: ir.Span, values: int = 0, *, is_even: bool = True) -> None:
        """Notes that nothing is known of the branches on this line: one assumption for a line.

        `values`: as in `Chance`. `is_even`: one arm comes out as likely as the other; not so where several
        tests make the branch.
        """
        share = f"to meet one of {values} values, each as likely" if values else "as likely as the other"
        subject = "an equality" if values else "each arm"
        if not (values or is_even):
            subject, share = "each test of them", "as likely to hold as not"
        self.assume("PW012", span, f"branch depends on data: {subject} assumed {share}", "--profile FILE")

    def assume_trips(self, loop: ir.Loop, message: str) -> None:
        """Notes what was assumed of the iterations of a loop."""
        fix = f"--set {self._kernel.name}.{trip_name(self._kernel, loop)}=VALUE"
        self.assume("PW013", loop.span, message, fix)

    def assume_bound(self, loop: ir.Loop, trips: int | Lanes, *, is_decided: bool) -> None:
        """Notes that a loop is taken to run to its bound, `trips` iterations: one assumption for all its
        entries. `is_decided`: whether no data decide where it ends.
        """
        least, most = self.bounds.get(loop, (math.inf, 0))
        least, most = self.bounds[loop] = min(least, int(np.min(trips))), max(most, int(np.max(trips)))
        why = "is not followed so far" if is_decided else "depends on data"
        number = f"{most} iteration{'s' * (most != 1)}" if least == most else f"{least} to {most} iterations"
        fix = f"--set {self._kernel.name}.{trip_name(self._kernel, loop)}=VALUE"
        message = f"the loop may end early, which {why}: assumed to run to its bound, {number}"
        key = ("PW013", loop.span.file, loop.span.line, why)
        self.assumptions[key] = Assumption(key[0], loop.span.line, message, fix, self.other_file(loop.span))

    def other_file(self, span: ir.Span) -> str:
        """The file of `span`; empty when it is the kernel's own."""
        return "" if span.file == self._kernel.span.file else span.file

    def longest_warp(self, blocks: slice | NDArray[np.intp] = slice(None)) -> float:
        """How much longer than the mean warp of `blocks` (all) the longest one of a block is, on the mean."""
        weights, (mean, longest) = self._threads.block_population[blocks], self._sizes()
        work = float((mean[blocks] * weights).sum())
        return max(1.0, float((longest[blocks] * weights).sum()) / work) if work else 1.0

    def _sizes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Operations of the mean warp and of the longest one of each block."""
        warps = self._threads.block_lanes // WARP_SIZE
        warps = self.by_block.lengths.reshape(-1, warps, WARP_SIZE).max(axis=2)
        return warps.mean(axis=1), warps.max(axis=1)

    def kinds(self) -> tuple[BlockKind, ...]:
        """Blocks of about the same work, the longest first; none where hardly any block is longer than the
        mean.
        """
        mean, longest = self._sizes()
        size, population = mean + longest, self._threads.block_population
        if size.max() <= EVEN * float((size * population).sum()):
            return ()
        smaller: NDArray[np.float64] = size.max() / np.maximum(size, 1e-9 * size.max())
        kind_of = np.searchsorted(np.array(KINDS_BELOW), smaller)
        kinds = [np.flatnonzero(kind_of == kind) for kind in np.unique(kind_of)]
        threads = self._of_kinds(kinds, self.by_block.by_thread, self.thread_counts)
        warps = self._of_kinds(kinds, self.by_block.by_warp, self.warp_counts)
        shares = [float(population[blocks].sum()) for blocks in kinds]
        of_mean = size / float((size * population).sum())
        sizes = [
            float((of_mean * population)[blocks].sum()) / share
            for blocks, share in zip(kinds, shares, strict=True)
        ]
        return tuple(map(BlockKind, shares, sizes, map(self.longest_warp, kinds), threads, warps))

    def _of_kinds(
        self, kinds: list[NDArray[np.intp]], by_block: NDArray[np.float64], means: list[float]
    ) -> Iterator[tuple[float, ...]]:
        """The counts of each kind from those of the blocks, which on the mean of all become `means`."""
        weights = self._threads.block_population
        found = (by_block * weights).sum(axis=1)
        scale = np.divide(means, found, out=np.ones_like(found), where=found > 0)
        for blocks in kinds:
            counts = (by_block[:, blocks] * weights[blocks]).sum(axis=1) / weights[blocks].sum()
            yield tuple((scale * counts).tolist())

    @property
    def has_assumed_a_parameter(self) -> bool:
        """True when the value of some parameter had to be assumed, and was read."""
        return any(entry.rule == "PW010" for entry in self.assumptions.values())

    @property
    def touched_memory(self) -> bool:
        """True when some access was visited, or there is none to visit."""
        return not self.sites or any(site.was_visited for site in self.sites)


class TalliesOfBlocks(Tallies):
    """Tallies of how often each block runs each region, without the means over the launch."""

    def count(self, region: int, mask: Mask) -> None:
        """One run of `region` under `mask`."""
        if not self.is_looking:
            self.by_block.add(region, mask)


class Inputs:
    """What a launch hands to its kernel besides the arguments that registers hold.

    `assumed`: parameters whose values had to be assumed, and were not read yet; `guessed`: those assumed,
    read or not.
    """

    def __init__(self, launch: KernelLaunch) -> None:
        self.settings = {setting.name: setting.value for setting in launch.settings}
        self.constants: dict[tuple[ir.Root | None, int], Value] = {
            (c.variable, c.offset_bytes): c.value for c in launch.contents.constants
        }
        self.constant_objects = frozenset(c.variable for c in launch.contents.constants)
        self.assumed: dict[ir.Variable, int] = {}
        self.guessed: frozenset[ir.Variable] = frozenset()


class State:
    """The mutable heart of one evaluation of one launch."""

    def __init__(self, launch: KernelLaunch, threads: SampledThreads, max_steps: int) -> None:
        self.launch = launch
        self.threads = threads
        self.masks = Masks(threads)
        self.objects = objects(launch.kernel)
        self.has_blocks = True  # or the lanes are iterations that are looked at together
        self.inputs = Inputs(launch)
        self.tallies = Tallies(launch.kernel, threads)
        self.environment: Environment = {}
        self.live = self.masks.all
        self.boundaries: Boundaries | None = None  # of the first evaluations, which find where blocks differ
        self.forks: list[bool] = []  # of each arm taken only perhaps around: all lanes of a warp together
        self.is_limited = False  # with a greater allowance some loop may have been run in another way
        self.had_choice = False  # some loop would run fewer iterations at any price
        self.loops: list[LoopFrame] = []
        self.calls: list[CallFrame] = [CallFrame(self.masks.none, Meeting(0))]
        self._max_steps = self.steps_left = max_steps
        self._next_look = 0  # steps left below which it is asked whether the others are in vain
        self.survey_left = SURVEYS

    def spend(self, steps: int = 1) -> None:
        """Uses up the step budget; raises BudgetExceededError when it is gone, InVainError for nothing."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise BudgetExceededError
        if self.steps_left < self._next_look and self.boundaries is not None:
            self._next_look -= STEPS_BETWEEN_LOOKS
            if self.boundaries.is_in_vain(self.launch.block):
                raise InVainError(self.steps_taken)

    def find(self, boundaries: Boundaries, enough: int) -> None:
        """Begins to look where blocks differ; beyond `enough` steps only while the counts may be of use."""
        self.boundaries = boundaries
        self._next_look = self.steps_left - max(enough, STEPS_BETWEEN_LOOKS)

    @property
    def steps_taken(self) -> int:
        """Statements evaluated so far."""
        return self._max_steps - self.steps_left

    def trip_name(self, loop: ir.Loop) -> str:
        """How `--set` names the trip count of a loop."""
        return trip_name(self.launch.kernel, loop)

    def fork(self, *, together: bool) -> Meeting:
        """Begins arms of which lanes take one, nobody can tell which; where they meet again."""
        meeting = Meeting(len(self.forks))
        self.forks.append(together)
        return meeting

    def arrive(self, meeting: Meeting) -> bool | None:
        """Lanes come to `meeting` by a way of their own, with the registers as they are.

        None: they come there for certain; else whether all lanes of a warp do together.
        """
        if len(self.forks) == meeting.forks:
            meeting.is_certain = True
            return None
        together = all(self.forks[meeting.forks :])
        meeting.ways.append((dict(self.environment), together))
        return together

    def join(self, meeting: Meeting, *, is_reached: bool) -> None:
        """Ends the arms of a fork; `is_reached`: the last one goes on."""
        self.forks.pop()
        self.meet(meeting, is_reached=is_reached)

    def meet(self, meeting: Meeting, *, is_reached: bool) -> None:
        """Goes on where ways meet; `is_reached`: lanes come there on the present one too."""
        ways = meeting.ways
        if not ways:
            return
        if not (is_reached or meeting.is_certain):
            (self.environment, _), *ways = ways
        for environment, together in ways:
            self._join(environment, together=together)

    def _join(self, other: Environment, *, together: bool) -> None:
        """Keeps what is known by the present registers and by `other` ones."""
        environment = self.environment
        for key in environment.keys() - other.keys():
            if (unset := self._unset(key, other)) is not None:
                environment[key] = join(unset, environment[key], together=together)
        for key, value in other.items():
            own = environment.get(key)
            if own is None and (own := self._unset(key, environment)) is None:
                environment[key] = value
            elif own is not value:
                environment[key] = join(value, own, together=together)

    def _unset(self, key: ir.RegisterKey, environment: Environment) -> Value | None:
        """What a register that is not in `environment` holds: a part of a record that is, or of a parameter.

        None: nothing was ever put there.
        """
        variable, path = key if isinstance(key, tuple) else (key, ())
        for length in range(len(path)):
            whole = environment.get((variable, path[:length]) if length else variable)
            if whole is not None:
                return unknown_of(whole)
        return VARYING if variable in self.launch.kernel.parameters else None

    def assign(self, key: ir.RegisterKey, value: Value, mask: Mask) -> None:
        """Sets a register in the lanes of `mask`; lanes that left the kernel do not matter any more."""
        if (key[0] if isinstance(key, tuple) else key) in self.objects.hidden:
            return
        if mask.lanes_active < self.live.lanes_active:
            old = self.environment.get(key)
            if old is not None or (old := self._unset(key, self.environment)) is not None:
                value = select(mask.active, value, old)
        self.environment[key] = value


@lru_cache(maxsize=4)
def _off_by(share: float) -> str:
    """How far off the counts of a loop may be; from all of its iterations on, that is no bound."""
    if share >= 1.0:
        return "in how many of its iterations what is in it runs is not known"
    worst = max(1, math.ceil(share * 1e4)) / 1e4
    return f"how often what is in it runs may be off by up to {worst:.2%} of its iterations"


def _work_by_region(kernel: ir.Kernel) -> tuple[float, ...]:
    """Operations of one run of each region."""
    work = [0.0] * kernel.region_count
    for operation in operations(kernel):
        work[operation.region] += operation.number
    return tuple(work)
