"""Counts if branches went other ways: BSPM, BDPM, and the ends of a probability's interval."""

import math
from collections.abc import Callable
from itertools import chain

import pytest
from msgspec.structs import replace

from wattslice import ir
from wattslice.branch_profile.profile import ArmProbability, BranchProfile
from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile, total_counts
from wattslice.ir.accesses import memory_accesses
from wattslice.power.methods import Method, counts_for
from wattslice.power.paths import arms_of_data, as_if_taken, paths, with_probability
from wattslice.slicing.slices import slice_kernel

from .source_text import launch_of

BOTH = """__global__ void k(const float* x, float* y) {
    int i = threadIdx.x;
    if (x[i] > 0.0f) {
        y[i] = x[i] * 2.0f;
        if (x[i] > 1.0f)
            y[i] = sqrtf(x[i]);
    } else
        y[i] = x[i] + 3.0f + 4.0f;
}
int main() { k<<<1, 32>>>(0, 0); }"""
LEAVES = """__global__ void k(const float* x, float* y) {
    int i = threadIdx.x;
    if (x[i] > 0.0f) return;
    y[i] = x[i] * 2.0f;
}
int main() { k<<<1, 32>>>(0, 0); }"""


def stores(text: str, profile: ExecutionProfile) -> float:
    return total_counts(launch_of(text).kernel, profile).global_store


def test_bspm_counts_every_arm_as_if_taken():
    kernel, plain = launch_of(BOTH).kernel, count(launch_of(BOTH))
    assert stores(BOTH, plain) == pytest.approx(0.5 + 0.25 + 0.5)
    taken = as_if_taken(kernel, plain)
    assert stores(BOTH, taken) == pytest.approx(3.0)
    assert max(taken.warp_counts) == pytest.approx(1.0)
    leaves = launch_of(LEAVES)
    assert stores(LEAVES, as_if_taken(leaves.kernel, count(leaves))) == pytest.approx(1.0)


def test_what_thread_indices_decide_is_left_alone():
    text = BOTH.replace("x[i] > 0.0f", "i < 8").replace("x[i] > 1.0f", "i < 4")
    plain = count(launch_of(text))
    assert arms_of_data(plain) == ()
    assert as_if_taken(launch_of(text).kernel, plain) == plain


def test_bdpm_drops_what_hardly_executes_and_keeps_the_rest_whole():
    launch = launch_of(BOTH)
    profile = BranchProfile((ArmProbability("kernel.cu", 5, "then", 0.04),))
    known = count(launch, profile)
    slices = slice_kernel(launch.kernel)

    def counted(method: Method) -> float:
        return stores(BOTH, counts_for(method, launch.kernel, slices, known, 0.05))

    assert counted(Method.EXPECTED) == pytest.approx(0.5 + 0.5 * 0.04 + 0.5)
    assert counted(Method.BDPM) == pytest.approx(2.0)
    assert counted(Method.BSPM) == pytest.approx(3.0)


@pytest.mark.parametrize("value", [0.0, 0.2, 1.0])
def test_another_probability_gives_the_counts_of_a_profile_that_says_so(value: float):
    for text, line in ((BOTH, 3), (LEAVES, 3)):
        launch = launch_of(text)
        plain = count(launch)
        arm = next(arm for arm in plain.arms if arm.line == line and arm.arm == "then")
        moved = with_probability(launch.kernel, plain, arm, value)
        told = count(launch, BranchProfile((ArmProbability("kernel.cu", line, "then", value),)))
        assert moved.thread_counts == pytest.approx(told.thread_counts)
        assert stores(text, moved) == pytest.approx(stores(text, told))
        assert {a.probability for a in moved.arms if a.region == arm.region} == {value}


def test_lanes_that_decide_by_themselves_keep_their_warps_busy():
    launch = launch_of(BOTH)
    plain = count(launch)
    arm = next(arm for arm in plain.arms if arm.line == 3 and arm.arm == "then")
    moved = with_probability(launch.kernel, plain, arm, 0.1)
    told = count(launch, BranchProfile((ArmProbability("kernel.cu", 3, "then", 0.1),)))
    assert moved.warp_counts[arm.region] == pytest.approx(told.warp_counts[arm.region])
    assert moved.warp_counts[arm.region] == pytest.approx(1 - 0.9**32)


OF_SOME = [("x[i] > 0", 32), ("x[i / 8] > 0", 4), ("x[i / 32] > 0", 1), ("z[i / 16]", 2), ("!z[i / 16]", 2)]


@pytest.mark.parametrize(("condition", "number"), OF_SOME)
@pytest.mark.parametrize("lanes", [32, 16, 8])
def test_warps_run_an_arm_that_any_of_the_lanes_takes_which_decide_by_themselves(condition, number, lanes):
    """The expectation by hand: 1 - (1 - p) ** n for n independent choices among the lanes that come there."""
    text = f"""__global__ void k(const float* x, const bool* z, float* y) {{ int i = threadIdx.x;
    if (i % 32 < {lanes})
        if ({condition})
            y[i] = 1.0f;
}}
int main() {{ k<<<1, 256>>>(0, 0, 0); }}"""
    choices = -(-number * lanes // 32)
    launch = launch_of(text)
    plain = count(launch)
    arm = next(arm for arm in plain.arms if arm.line == 3 and arm.arm == "then")
    assert plain.thread_counts[arm.region] == pytest.approx(lanes / 64)
    assert plain.warp_counts[arm.region] == pytest.approx(1 - 0.5**choices)
    told = count(launch, BranchProfile((ArmProbability("kernel.cu", 3, "then", 0.1),)))
    assert told.warp_counts[arm.region] == pytest.approx(1 - 0.9**choices)
    moved = with_probability(launch.kernel, plain, arm, 0.1)
    assert moved.warp_counts[arm.region] == pytest.approx(1 - 0.9**choices)


NESTED = [
    ("if (x[i / 8] > 0) if (x[i / 8 + 99] > 0) y[i] = 1;", 1 - 0.75**4),
    ("if (x[i / 8] > 0 && x[i / 8 + 99] > 0) y[i] = 1;", 1 - 0.75**4),
    ("if (x[i / 8] > 0 || x[i / 8 + 99] > 0) y[i] = 1;", 1 - 0.25**4),
    ("if (x[i / 8] > 0) if (x[i / 32 + 99] > 0) y[i] = 1;", (1 - 0.5**4) / 2),
    ("if (i % 32 < 8 && x[i / 32] > 0) y[i] = 1;", 0.5),
    ("if (x[i / 32] > 0 || i % 32 < 8) y[i] = 1;", 1.0),
    ("if (i % 32 < 8 && x[i / 4] > 0) y[i] = 1;", 0.75),
    ("if (x[i / 8] > 0) if (x[i / 32] > 0) if (x[i / 8 + 99] > 0) y[i] = 1;", (1 - 0.75**4) / 2),
    ("if (x[i / 8] > 0) if (x[i] > 0) y[i] = 1;", 1 - 0.75**32),
    ("if (x[i / 8] > 0) { if (i < 4) return; } if (x[i / 8] > 9) y[i] = 1;", 1 - 0.5**4),
]


@pytest.mark.parametrize(("body", "share"), NESTED)
def test_lanes_that_choose_alike_twice_are_as_many_as_once(body: str, share: float):
    text = f"__global__ void k(const float* x, float* y) {{ int i = threadIdx.x; {body} }}"
    launch = launch_of(text + " int main() { k<<<1, 256>>>(0, 0); }")
    (store,) = (one for one in memory_accesses(launch.kernel) if one.is_store)
    assert count(launch).warp_counts[store.region] == pytest.approx(share)


def test_the_regions_of_an_arm_hold_what_is_nested_in_it():
    launch = launch_of(BOTH)
    outer, inner = (arm for arm in count(launch).arms if arm.arm == "then")
    found = paths(launch.kernel)
    of = {path.first_region: set(found.regions(path)) for path in found.entries}
    assert of[inner.region] < of[outer.region]


RETURNS = """__global__ void k(const float* x, float* y) {
    int i = threadIdx.x;
    for (int j = 0; j < 4; j++) {
        if (x[i + j] > 1.0f) continue;
        if (x[i + j] > 2.0f && y[i] > 1.0f) y[i] = 2.0f; else { if (x[i] > 3.0f) break; y[j] = 4.0f; }
        switch (int(x[i])) { case 1: y[i + 1] = 5.0f; break; default: y[i + 2] = x[j] > 6.0f ? 7.0f : y[j]; }
    }
    if (x[i] > 8.0f) return;
    if (x[i] > 9.0f) return;
    y[i] = sqrtf(x[i]);
}
int main() { k<<<1, 32>>>(0, 0); }"""


def below(stmt: ir.Stmt) -> set[int]:
    """The regions of a statement and of everything in it, looked for one by one."""
    found: set[int] = set()
    for inner in ir.walk_statements(stmt):
        found.add(inner.region)
        if isinstance(inner, ir.Loop):
            found |= {inner.test_region, inner.step_region}
        for expr in chain.from_iterable(map(ir.walk_expressions, ir.statement_expressions(inner))):
            if isinstance(expr, ir.Logical):
                found.add(expr.right_region)
            elif isinstance(expr, ir.Select):
                found |= {expr.then_region, expr.otherwise_region}
    return found


def as_it_is(kernel: ir.Kernel) -> ir.Kernel:
    return kernel


def known_before(kernel: ir.Kernel) -> ir.Kernel:
    """Where the last statement belongs to a region of before what it stands behind."""
    *others, last = kernel.body.statements
    return replace(kernel, body=replace(kernel.body, statements=(*others, replace(last, region=0))))


@pytest.mark.parametrize("made", [as_it_is, known_before])
@pytest.mark.parametrize("text", [BOTH, LEAVES, RETURNS])
def test_paths_have_the_regions_below_them_and_their_exact_sums(
    text: str, made: Callable[[ir.Kernel], ir.Kernel]
):
    kernel = made(launch_of(text).kernel)
    found = paths(kernel)
    values = [0.1 * 3.0 ** (region % 37) for region in range(kernel.region_count)]
    sums = found.sums(values)
    expected: list[set[int]] = []
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.If):
            expected += [below(arm) for arm in (stmt.then, stmt.otherwise) if arm is not None]
        elif isinstance(stmt, ir.Switch):
            expected += [below(case.body) for case in stmt.cases]
        inner = ir.nested_statements(stmt)
        for place, one in enumerate(inner[:-1]):
            if isinstance(one, ir.If) and one.otherwise is None and ir.never_falls_through(one.then):
                expected.append(set().union(*map(below, inner[place + 1 :])))
    assert [set(found.regions(path)) for path in found.entries] == expected
    for path, regions in zip(found.entries, expected, strict=True):
        assert sums([path]) == math.fsum(values[region] for region in regions)
    assert sums(found.entries) == math.fsum(values[region] for region in set().union(*expected))
    assert sums(()) == 0.0
