"""PW045, PW046: arithmetic in double precision, unintended (a literal, a function) or where it is slow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.counting.profile import Reach, SiteStatistics
from wattslice.findings.advice.divisions import is_small_power
from wattslice.findings.advice.double_trees import DoubleTree, has_other_doubles, in_single, unintended_trees
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.findings.advice.rewriting import rewritten
from wattslice.ir.walking import evaluations
from wattslice_models.workload import Workload

_LITERAL = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
"""A floating-point literal without suffix."""
WEAK = 1.0 / 8.0
"""Rate of fp64 over that of fp32 up to which a GPU is weak at it: consumer boards have 1/24 to 1/64, Tesla
boards 1/2 or 1/3."""


def doubles(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding of each kind; both cost something only where there is arithmetic in fp64."""
    done = facts.workload.instructions
    if not done.fp64 + done.wide_conversion:
        return
    trees: tuple[DoubleTree, ...] = ()
    if facts.stake(in_single_precision(facts.workload)).is_worth_telling:
        trees = unintended_trees(facts.kernel, facts.text)
        told = tuple(tree for tree in trees if not _is_power(tree))
        if told:
            yield from _unintended(facts, told)
    yield from _slow(facts, trees)


def in_single_precision(work: Workload) -> Workload:
    """The same launch with each fp64 instruction an fp32 one, and no conversions between the two."""
    done = work.instructions
    single = replace(
        done,
        fp32=done.fp32 + done.fp64,
        fp64=0.0,
        special=max(0.0, done.special - done.wide_conversion),
        wide_conversion=0.0,
    )
    return replace(work, instructions=single)


def _unintended(facts: LaunchFacts, trees: tuple[DoubleTree, ...]) -> Iterator[Advice]:
    nodes = frozenset[ir.Expr]().union(*(tree.nodes for tree in trees))
    stake = facts.stake_if_computed(rewritten(facts.kernel, in_single(nodes)))
    if not stake.is_worth_telling:
        return
    runs = facts.profile.thread_counts
    worst = max(trees, key=lambda tree: runs[tree.region] * len(tree.nodes))
    what, fix = _cause(facts, worst)
    yield facts.advice(
        "PW045",
        worst.root.span,
        f"{what} makes this arithmetic on floats double precision",
        fix,
        stake,
        also=[tree.root.span for tree in trees],
    )


def _is_power(tree: DoubleTree) -> bool:
    """Whether nothing but a power with a small exponent stands there, which PW047 tells."""
    calls = [node for node in tree.nodes if isinstance(node, ir.Intrinsic | ir.Binary)]
    return len(calls) == 1 and isinstance(calls[0], ir.Intrinsic) and is_small_power(calls[0])


def _cause(facts: LaunchFacts, tree: DoubleTree) -> tuple[str, str]:
    """What makes the tree double precision, and what to write instead."""
    ordered = sorted(tree.nodes, key=lambda node: (node.span.line, node.span.column))
    literal = next((found for node in ordered if (found := _LITERAL.search(facts.text(node.span)))), None)
    call = next((node.name for node in ordered if isinstance(node, ir.Intrinsic)), None)
    if literal is not None:
        also = f", and call {call}f" if call is not None else ""
        return f"the literal {literal[0]}", f"write {literal[0]}f{also}"
    if call is not None:
        return f"{call}()", f"call the function for floats, {call}f, with floats only"
    return "a constant of type double", "make the constant a float: suffix f where it is defined"


def _slow(facts: LaunchFacts, trees: tuple[DoubleTree, ...]) -> Iterator[Advice]:
    gpu = facts.gpu
    rate = gpu.fp64_fma_per_clock_per_sm
    if not rate or rate > WEAK * gpu.fp32_fma_per_clock_per_sm or not has_other_doubles(facts.kernel, trees):
        return
    stake = facts.stake(in_single_precision(facts.with_sites(_halved(facts))))
    if stake.is_worth_telling:
        times = gpu.fp32_fma_per_clock_per_sm / rate
        yield facts.advice(
            "PW046",
            facts.kernel.span,
            f"computes in double precision, at 1/{times:.0f} of the rate of single on the {gpu.name}",
            "where single precision is enough, use float: half the bytes, too; else a GPU with fast fp64",
            stake,
            is_certain=False,
        )


def _halved(facts: LaunchFacts) -> dict[int, SiteStatistics]:
    """What the accesses to doubles in global memory would be as floats."""
    found: dict[int, SiteStatistics] = {}
    for node, _ in evaluations(facts.kernel):
        place = (
            node.target if isinstance(node, ir.Assign) else node.place if isinstance(node, ir.Load) else None
        )
        if not isinstance(place, ir.MemoryPlace) or not place.type.is_float or place.type.bits != 64:
            continue
        known = facts.profile.sites[place.site]
        sectors = known.sectors_per_request
        if place.space is ir.MemorySpace.GLOBAL and sectors is not None:
            found[place.site] = replace(
                known,
                sectors_per_request=max(1.0, sectors / 2),
                access_bytes=known.access_bytes // 2,
                block_reach=_half(known.block_reach),
                launch_reach=_half(known.launch_reach),
            )
    return found


def _half(reach: Reach | None) -> Reach | None:
    if reach is None:
        return None
    low = tuple(start // 2 for start in reach.low)
    return replace(reach, low=low, high=tuple(-(-end // 2) for end in reach.high))
