"""Counts of random kernels against the interpreter, which runs every thread of the grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wattslice import ir
from wattslice.workload.instructions import lower_instructions

from .lowered import lower
from .random_kernels import (
    DEAD_WORK,
    OBJECTS,
    RandomKernel,
    answer,
    draw,
    draw_objects,
    truth,
    with_dead_work,
)

KERNELS_OF_A_FILE = 25
WARP_ERROR = 0.02
"""Where lanes of a warp run an outer and an inner loop differently often, a warp's iterations are the most
that one lane runs; other lanes may run what it does not."""
QUICK_FILES = 1
ALL_FILES = 50
OBJECT_FILES = 12


def left_loops(kernel: ir.Kernel) -> set[int]:
    """Regions of the tests of loops that a `break` leaves, of the way to that `break` and of the `break`.

    Lanes of a warp that leave in different iterations are counted as if all came there together, or each
    alone: there the visits of a warp are only bounded by those of its threads.
    """
    found: set[int] = set()
    for loop in ir.walk_statements(kernel.body):
        if isinstance(loop, ir.Loop):
            inside = ir.walk_statements(loop.body)
            exits = [
                stmt
                for stmt in inside
                if isinstance(stmt, ir.If)
                and any(isinstance(inner, ir.Break) for inner in ir.walk_statements(stmt.then))
            ]
            for stmt in exits:
                found |= {loop.test_region, loop.body.region, stmt.region, stmt.then.region}
                found |= {inner.region for inner in ir.walk_statements(stmt.then)}
    return found


def differences(kernel: ir.Kernel, drawn: RandomKernel) -> list[str]:
    """Regions that counting says run otherwise than they did, as threads and as warps.

    Counts that are told to be sampled may be off by as much as they say.
    """
    executed, counted = truth(kernel, drawn), answer(kernel, drawn)
    sampling = counted.sampling
    assert (sampling is not None) == ("PW028" in {told.rule for told in counted.assumptions})
    blocks, block_threads = int(np.prod(drawn.grid)), int(np.prod(drawn.block))
    threads, warps = blocks * block_threads, blocks * -(-block_threads // 32)
    loose = left_loops(kernel)
    idle = {
        region
        for expr in ir.expressions_below(kernel.body)
        if isinstance(expr, ir.Select) and not ir.is_decision(expr)
        for region in (expr.then_region, expr.otherwise_region)
    }
    found: list[str] = []
    for region in sorted(set(range(kernel.region_count)) - idle):
        ran, ran_warps = int(executed.thread_counts[region]), int(executed.warp_counts[region])
        told, told_warps = counted.thread_counts[region] * threads, counted.warp_counts[region] * warps
        error, warp_error = 1e-9 * ran + 1e-3, WARP_ERROR * ran_warps + 1e-3
        if sampling is not None:
            bound, warp_bound = sampling.thread_errors[region], sampling.warp_errors[region]
            if bound is None or warp_bound is None:
                continue  # none is told
            error += bound * threads
            warp_error += warp_bound * warps
        if abs(told - ran) > error:
            found.append(f"region {region}: {told:.9g} threads, {ran} ran")
        if region in loose and told / 32 - error <= told_warps <= told + error:
            continue
        if abs(told_warps - ran_warps) > warp_error:
            found.append(f"region {region}: {told_warps:.9g} warps, {ran_warps} ran")
    return found


def check(folder: Path, file: int) -> None:
    seeds = range(file * KERNELS_OF_A_FILE, (file + 1) * KERNELS_OF_A_FILE)
    drawn = {f"k{seed}": draw(seed) for seed in seeds}
    program = lower(folder, "\n".join(kernel.text for kernel in drawn.values()))
    assert len(program.kernels) == len(drawn)
    wrong = {
        kernel.name: found for kernel in program.kernels if (found := differences(kernel, drawn[kernel.name]))
    }
    report = "\n".join(f"{drawn[name]}\n  " + "\n  ".join(found) for name, found in wrong.items())
    assert not wrong, report


@pytest.mark.slow
@pytest.mark.parametrize("file", range(QUICK_FILES))
def test_counts_are_those_of_the_whole_grid(tmp_path: Path, file: int) -> None:
    check(tmp_path, file)


@pytest.mark.slow
@pytest.mark.parametrize("file", range(QUICK_FILES, ALL_FILES))
def test_counts_of_many_kernels_are_those_of_the_whole_grid(tmp_path: Path, file: int) -> None:
    check(tmp_path, file)


@pytest.mark.slow
def test_dead_work_in_any_kernel_executes_nothing(tmp_path: Path) -> None:
    drawn = [draw(seed) for seed in range(2 * len(DEAD_WORK))]
    twins = [with_dead_work(kernel, seed) for seed, kernel in enumerate(drawn)]
    plain = lower(tmp_path, "\n".join(kernel.text for kernel in drawn)).kernels
    dead = lower(tmp_path, "\n".join(kernel.text for kernel in twins)).kernels
    for one, kernel, twin in zip(plain, drawn, dead, strict=True):
        profile, same = answer(one, kernel), answer(twin, kernel)
        if same.sampling is not None:
            continue  # other blocks stand for all
        mix, other = lower_instructions(one, profile), lower_instructions(twin, same)
        assert [kind.name for kind in other.per_thread] == [kind.name for kind in mix.per_thread], kernel.text
        assert other.total == pytest.approx(mix.total, rel=1e-6), kernel.text
        assert len(other.requests) == len(mix.requests)


def check_objects(folder: Path, file: int) -> int:
    """How many kernels are counted without any assumption: those have to be right."""
    seeds = range(file * KERNELS_OF_A_FILE, (file + 1) * KERNELS_OF_A_FILE)
    drawn = {f"k{seed}": draw_objects(seed) for seed in seeds}
    program = lower(folder, OBJECTS + "\n".join(kernel.text for kernel in drawn.values()))
    assert len(program.kernels) == len(drawn)
    exact = 0
    for kernel in program.kernels:
        told = {entry.rule for entry in answer(kernel, drawn[kernel.name]).assumptions}
        if told <= {"PW028"}:
            exact += 1
            assert not differences(kernel, drawn[kernel.name]), drawn[kernel.name]
    return exact


def test_counts_that_need_no_assumption_are_right_whatever_writes_a_variable(tmp_path: Path) -> None:
    assert check_objects(tmp_path, 0) > KERNELS_OF_A_FILE // 3


@pytest.mark.slow
@pytest.mark.parametrize("file", range(1, OBJECT_FILES))
def test_many_counts_that_need_no_assumption_are_right(tmp_path: Path, file: int) -> None:
    check_objects(tmp_path, file)


def test_a_way_out_that_some_threads_never_meet(tmp_path: Path) -> None:
    """`j == b` with `j` beyond `b` from the start never leaves: no closed form tells when."""
    inner = "for (int j = i; j < 8; ++j) { if (j == (int)(blockIdx.x & 3)) break; out[j] = i; }"
    text = f"__global__ void k(int* out, int n, int m) {{ for (int i = 0; i < 6; ++i) {{ {inner} }} }}"
    (kernel,) = lower(tmp_path, text).kernels
    assert not differences(kernel, RandomKernel(text, (5, 1, 1), (32, 1, 1), 1, 1))


def test_lanes_that_leave_an_outer_loop_one_by_one_make_the_warps_of_the_inner_one(tmp_path: Path) -> None:
    """Lane l runs l % 16 times from l to 24: in iteration i the warp runs as long as lane i + 1 does."""
    inner = "for (int j = min((int)threadIdx.x, 20); j < 24; ++j) out[j] = i;"
    text = (
        f"__global__ void k(int* out, int n, int m) {{ for (int i = 0; i < threadIdx.x % 16; ++i) {inner} }}"
    )
    (kernel,) = lower(tmp_path, text).kernels
    assert not differences(kernel, RandomKernel(text, (3, 1, 1), (32, 1, 1), 1, 1))
