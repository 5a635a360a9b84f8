"""PW045, PW046: arithmetic in double precision, unintended (a literal, a function) or where it is slow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from wattslice import ir
from wattslice.advice.double_trees import DoubleTree, has_other_doubles, in_single, unintended_trees
from wattslice.advice.facts import LaunchFacts, Stake, also_in
from wattslice.advice.rewriting import rewritten
from wattslice.analysis import Advice
from wattslice_models.workload import Workload

_LITERAL = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
"""A floating-point literal without suffix."""
WEAK = 1.0 / 8.0
"""Rate of fp64 over that of fp32 up to which a GPU is weak at it: consumer boards have 1/24 to 1/64, Tesla
boards 1/2 or 1/3."""


def doubles(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding of each kind; both costs something only where the fp64 pipe does."""
    work = facts.workload
    if not work.instructions.fp64 + work.instructions.wide_conversion:
        return
    all_single = facts.stake(in_single_precision(work))
    if not all_single.is_worth_telling:
        return
    trees = unintended_trees(facts.kernel, facts.text)
    if trees:
        yield from _unintended(facts, trees)
    if has_other_doubles(facts.kernel, trees):
        yield from _slow(facts, all_single)


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
    stake = facts.stake_if(rewritten(facts.kernel, in_single(nodes)))
    if stake is None or not stake.is_worth_telling:
        return
    runs = facts.profile.thread_counts
    worst = max(trees, key=lambda tree: runs[tree.region] * len(tree.nodes))
    what, fix = _cause(facts, worst)
    lines = {tree.root.span.line for tree in trees if tree.root.span.file == worst.root.span.file}
    yield facts.advice(
        "PW045",
        worst.root.span,
        f"{what} makes this arithmetic on floats double precision{also_in(lines, worst.root.span.line)}",
        fix,
        stake,
    )


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


def _slow(facts: LaunchFacts, stake: Stake) -> Iterator[Advice]:
    gpu = facts.gpu
    rate = gpu.fp64_fma_per_clock_per_sm
    if not rate or rate > WEAK * gpu.fp32_fma_per_clock_per_sm:
        return
    times = gpu.fp32_fma_per_clock_per_sm / rate
    yield facts.advice(
        "PW046",
        facts.kernel.span,
        f"computes in double precision, which the {gpu.name} does at 1/{times:.0f} of the rate of single precision",
        "where single precision is enough, use float; else run it on a GPU with full-rate fp64",
        stake,
        is_certain=False,
    )
