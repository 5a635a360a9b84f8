"""Long loops whose iterations differ: some stand for the others, and the counts are exact or said not to be.

Truth by hand, and by the interpreter for random bodies.
"""

import math
import random
import re
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from wattslice import ir
from wattslice.counting import count as counting
from wattslice.counting import iterations, loops
from wattslice.counting.count import count
from wattslice.counting.iterations import Survey, kinds_of, needed, nodes, surveyed, warp_means
from wattslice.counting.profile import ExecutionProfile
from wattslice.ir.loops import shape_of
from wattslice.ir.walking import children
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu

from .interpreted import run
from .lowered import lower
from .source_text import launch_of

N = 100_000


def kernel_text(name: str, body: str) -> str:
    return (
        f"__global__ void {name}(float *x, int n) {{ int t = blockIdx.x * blockDim.x + threadIdx.x;"
        f" float s = 0; {body} x[t] = s; }}\n"
    )


def kernel(body: str, n: int = N) -> KernelLaunch:
    return launch_of(f"{kernel_text('k', body)}int main() {{ k<<<4, 128>>>(0, {n}); }}")


def loads(launch: KernelLaunch, profile: ExecutionProfile) -> float:
    """How often a thread runs the first statement that loads."""
    return next(
        profile.thread_counts[stmt.region]
        for stmt in ir.walk_statements(launch.kernel.body)
        if isinstance(stmt, ir.ExprStmt)
        and any(isinstance(e, ir.Load) for e in ir.walk_expressions(stmt.expr))
    )


def bound(profile: ExecutionProfile) -> float:
    """How far the counts may be off, as a share of the iterations."""
    (said,) = (re.search(r"up to ([\d.]+)%", a.message) for a in profile.assumptions if a.rule == "PW015")
    assert said is not None
    return float(said[1]) / 100


@pytest.mark.parametrize(
    ("body", "truth"),
    [
        ("for (int i = 0; i < n; i++) { if (i % 100 == 0) continue; s += x[i]; }", 99_000),
        ("for (int i = 0; i < n; i++) { if (i % 1000 == 7) s += x[i]; }", 100),
        ("for (int i = 0; i < n; i++) { if (i > 10 && i < n - 10) s += x[i]; else s -= 1.f; }", N - 21),
        ("for (int i = 0; i < n; i++) { int j = i * 3; if (j < n) s += x[i]; }", 33_334),
        ("for (int i = 0; i < n; i++) s += i % 8 ? 1.f : 2.f, s *= i == 5 ? x[i] : 1.f;", N),
        ("for (int k = 0; k < n / 32; k++) if (k * 32 + t % 32 < 90000) s += x[k];", 2812.5),
        ("for (int i = 0; i < n; i++) { if (t % 4 == 0) { if (i == 70000) break; } s += x[i]; }", 92_500),
        ("for (int i = 0; i < n / 100; i++) for (int j = i; j < n / 100; j++) s += x[j];", 500_500),
        (
            "for (int i = 0; i < n / 100; i++) for (int j = i; j < n / 100; j++)"
            " for (int k = j; k < n / 100; k++) s += x[k];",
            167_167_000,
        ),
    ],
)
def test_exact_without_running_every_iteration(body: str, truth: float):
    launch = kernel(body)
    profile = count(launch)
    assert loads(launch, profile) == pytest.approx(truth, rel=1e-12)
    assert not [a for a in profile.assumptions if a.rule != "PW012"]


@pytest.mark.parametrize(
    ("body", "truth"),
    [
        (
            "for (int i = 0; i < n; i++) if (i <= 97 * t) s += x[i];",
            sum(97 * t + 1 for t in range(512)) / 512,
        ),
        ("for (int i = 0; i < n; i++) if (i != t * 3) s += x[i];", N - 1),
        (
            "for (int i = 0; i < n; i++) for (int j = 0; j < 40; j++) for (int l = 0; l < 40; l++)"
            " if (j + l == i % 5) s += x[j];",
            3 * N,
        ),
        ("for (int i = 0; i < 1000 * n; i++) if (i % 7 == 2) s += x[i];", 1000 * N / 7),
    ],
)
def test_what_is_sampled_says_how_far_off_it_may_be(body: str, truth: float):
    launch = kernel(body)
    profile = count(launch)
    most = max(loop.assumed for loop in profile.loops)
    said = bound(profile)
    assert said < 0.2
    assert abs(loads(launch, profile) - truth) <= said * most


@pytest.mark.parametrize(
    ("start", "truth"), [("0", 1200), ("threadIdx.x", sum(1200 - t * 3 // 5 for t in range(128)) / 128)]
)
def test_a_loop_without_a_counter_is_followed_to_its_end(start: str, truth: float):
    launch = kernel(
        f"int i = {start}, d = 1; while (i < n) {{ s += x[i]; i += d % 3 ? 2 : 1; d++; "
        + "".join(f"s *= s + {k}.f;" for k in range(40))
        + "}",
        2000,
    )
    profile = count(launch)
    assert loads(launch, profile) == pytest.approx(truth, abs=0.5)
    (loop,) = profile.loops
    assert loop.trip_count is not None
    assert not profile.assumptions


@pytest.mark.slow
def test_a_loop_that_is_cut_says_after_how_many_iterations():
    profile = count(kernel("unsigned i = 1; while (i != 0) { s += x[i]; i = i * 1664525u + 1013904223u; }"))
    (loop,) = profile.loops
    assert (loop.trip_count, loop.is_most) == (None, False)
    assert loop.assumed > 4096
    (said,) = profile.assumptions
    assert f"cut after {loop.assumed:g} iterations" in said.message


def test_a_triangle_needs_four_iterations_of_each_loop():
    launch = kernel("for (int i = 0; i < n; i++) for (int j = i; j < n; j++) s += x[j];", 3000)
    assert loads(launch, count(launch)) == 3000 * 3001 / 2
    assert [number for number, _ in nodes(np.arange(3000), np.ones(3000))] == [0, 1499, 1500, 2999]
    for number in (5, 6, 999, 1000):
        for degree in range(4):
            found = sum(w * float(k) ** degree for k, w in nodes(np.arange(number), np.ones(number)))
            assert found == pytest.approx(sum(k**degree for k in range(number)), rel=1e-12)


@pytest.mark.parametrize("begin", ["t", "511 - t", "t / 32"])
def test_threads_that_begin_at_iterations_of_their_own(begin: str, monkeypatch: pytest.MonkeyPatch):
    """No two iterations are begun by the same threads; few are run, the sums are exact."""
    monkeypatch.setattr(counting, "ALLOWANCE", 3000.0)
    monkeypatch.setattr(counting, "MAX_STEPS", 600)
    launch = kernel(
        f"for (int i = {begin}; i < n; i++) for (int j = 0; j <= i; j++)"
        " { float w = j == t ? 1.f : 0.f; s += w * x[j]; }",
        2000,
    )
    profile = count(launch)
    first = [eval(begin.replace("/", "//"), {"t": t}) for t in range(512)]
    truth = sum(i + 1 for f in first for i in range(f, 2000)) / 512
    assert loads(launch, profile) == pytest.approx(truth, rel=2e-3)
    assert not profile.assumptions or bound(profile) < 0.02


@pytest.mark.parametrize(
    ("arms", "differs"), [("2.f : s", False), ("x[i] : 0.f", True), ("s * 2.f : s", True)]
)
def test_a_choice_between_what_is_there_does_not_tell_iterations_apart(arms: str, differs: bool):
    launch = kernel(f"for (int i = 0; i < n; i++) s += i == t ? {arms};", 3000)
    (loop,) = (stmt for stmt in ir.walk_statements(launch.kernel.body) if isinstance(stmt, ir.Loop))
    assert shape_of(loop).iterations_differ is differs
    launch = kernel("for (int i = 0; i < n; i++) { int k = i == t ? 1 : t; if (k == 1) s += 1.f; }")
    (loop,) = (stmt for stmt in ir.walk_statements(launch.kernel.body) if isinstance(stmt, ir.Loop))
    assert shape_of(loop).iterations_differ


def test_what_an_inner_loop_is_given_behind_another_tells_iterations_apart():
    body = "int a = 0; for (int j = 0; j < 9; j++) { for (int l = 0; l < 9; l++) if (a) s += 1.f; a = {}; }"
    for given, differs in (("i", True), ("j", False), ("3", False)):
        launch = kernel("for (int i = 0; i < n; i++) {" + body.replace("{}", given) + "}")
        loop = next(stmt for stmt in ir.walk_statements(launch.kernel.body) if isinstance(stmt, ir.Loop))
        assert shape_of(loop).iterations_differ is differs


def test_a_nest_is_looked_through_once(monkeypatch: pytest.MonkeyPatch):
    """Twice as deep, twice the steps."""

    def steps(depth: int) -> int:
        heads = "".join(f"for (int i{k} = 0; i{k} < 2; i{k}++) " for k in range(depth))
        launch = kernel(f"{heads} {{ x[t] += 1.f; }}")
        loop = next(stmt for stmt in ir.walk_statements(launch.kernel.body) if isinstance(stmt, ir.Loop))
        seen: list[ir.Expr] = []

        def looked_at(expr: ir.Expr) -> tuple[ir.Expr, ...]:
            seen.append(expr)
            return children(expr)

        with monkeypatch.context() as patch:
            patch.setattr(ir, "children", looked_at)
            shape_of(loop)
        return len(seen)

    assert steps(40) < 3 * steps(20)


def _random_body(rng: random.Random) -> str:
    def condition() -> str:
        return rng.choice(
            [
                f"i < {rng.randrange(400)}",
                f"i % {rng.randrange(2, 9)} == {rng.randrange(3)}",
                f"i >= n - {rng.randrange(40)}",
                f"i + t < {rng.randrange(400)}",
                f"(i & {rng.choice([1, 3, 12])}) == 0",
                f"t > {rng.randrange(70)}",
                f"i * {rng.randrange(1, 5)} + 3 > {rng.randrange(900)} && i != {rng.randrange(300)}",
            ]
        )

    def statement(depth: int) -> str:
        match rng.randrange(7 if depth else 3):
            case 0 | 1:
                return f"s += x[{rng.choice(['0', 't', 'i'])}];"
            case 2:
                return f"if ({condition()}) s *= 3.f;"
            case 3:
                return f"if ({condition()}) {{ {statement(depth - 1)} }} else {{ {statement(depth - 1)} }}"
            case 4:
                start, end = rng.choice(["0", "i / 16"]), rng.randrange(2, 7)
                return f"for (int j = {start}; j < {end}; j++) {statement(depth - 1)}"
            case 5:
                return f"if ({condition()}) {rng.choice(['continue', 'break'])};"
            case _:
                return f"{{ {statement(depth - 1)} {statement(depth - 1)} }}"

    body = " ".join(statement(2) for _ in range(rng.randrange(1, 4)))
    return rng.choice(
        [
            f"for (int i = {rng.choice(['0', 't', '5'])}; i < n; i += {rng.randrange(1, 4)}) {{ {body} }}",
            f"for (int i = n; i > 0; i--) {{ {body} }}",
            f"for (int i = 0; ; i++) {{ if (i >= n) break; {body} }}",
        ]
    )


@pytest.mark.parametrize("first", [0, 30, *(pytest.param(n, marks=pytest.mark.slow) for n in (60, 90, 120))])
def test_random_loops_against_the_interpreter(first: int, tmp_path, monkeypatch: pytest.MonkeyPatch):
    drawn: list[tuple[int, str]] = []
    for seed in range(first, first + 30):
        rng = random.Random(seed)
        drawn.append((rng.randrange(50, 400), _random_body(rng)))
    kernels = "".join(kernel_text(f"k{number}", text) for number, (_, text) in enumerate(drawn))
    calls = "".join(f"k{number}<<<4, 128>>>(0, {n});" for number, (n, _) in enumerate(drawn))
    program = lower(tmp_path, f"{kernels}int main() {{ {calls} }}")
    launches = resolve_launches(program, NO_OVERRIDES, load_gpu("v100"))
    assert [launch.kernel for launch in launches] == list(program.kernels)
    monkeypatch.setattr(counting, "ALLOWANCE", 300.0)  # so that few are run one by one
    for number, (n, text) in enumerate(drawn):
        ran = run(program, number, (np.zeros(1000, "f4"), n), grid=4, block=128)
        profile = count(launches[number])
        truth = np.array(ran.execution.thread_counts) / 512
        found = np.array(profile.thread_counts)
        if profile.assumptions:
            off = np.abs(found - truth) / np.maximum(
                truth, max((loop.assumed for loop in profile.loops), default=1)
            )
            assert off.max() <= bound(profile) + 1e-9, text
        else:
            np.testing.assert_allclose(found, truth, rtol=1e-9, err_msg=text)


def test_loops_inside_each_other_that_take_too_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two nodes for each loop with loops inside: the middle iteration alone makes it 2.7 times too few."""
    monkeypatch.setattr(counting, "MAX_STEPS", 400)
    starts = zip("0abc", "abcd", strict=True)
    launch = kernel(
        "".join(f"for (int {i} = {first}; {i} < 200; ++{i}) " for first, i in starts) + "s += x[d];"
    )
    profile = count(launch)
    assert loads(launch, profile) == pytest.approx(math.comb(200 + 3, 4), rel=0.05)
    (said,) = (told.message for told in profile.assumptions if told.rule == "PW015")
    assert "in how many of its iterations what is in it runs is not known" in said


@pytest.mark.parametrize(("around", "evaluations"), [("int j = 0;", 2), ("for (int j = 0; j < 9; ++j) ", 3)])
def test_a_last_evaluation_only_where_it_is_another_one(
    around: str, evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop that is followed step by step takes as many steps at any price; one around it need not."""
    monkeypatch.setattr(counting, "MAX_STEPS", 50)
    evaluated, evaluate = list[bool](), counting._evaluate_blocks

    def counted(*given: Any, **named: Any) -> Any:
        evaluated.append(named["is_last"])
        return evaluate(*given, **named)

    def unplanned(*_: Any) -> Any:
        raise iterations.SurveyError

    monkeypatch.setattr(counting, "_evaluate_blocks", counted)
    monkeypatch.setattr(loops.Loops, "_plan", unplanned)
    launch = kernel(f"{around} for (int i = 27 + j; i > 1; i = i % 2 ? 3 * i + 1 : i / 2) s += x[i];", 0)
    with pytest.raises(counting.NotCountedError, match="more steps than allowed"):
        count(launch)
    assert evaluated == [False, False, True][:evaluations]


def test_a_warp_runs_as_often_as_its_busiest_lane_however_many_run_alike():
    runs = np.arange(2.0 * 64).reshape(2, 64)  # of two iterations by 64 threads
    twice_and_once = np.concatenate([np.arange(32), np.arange(32), np.arange(32, 64)])
    looked = SimpleNamespace(lanes=np.arange(96), thread_of=twice_and_once)
    survey = cast("Any", SimpleNamespace(looked=looked, runs=[runs], regions=(0,)))
    (means,) = warp_means(survey)
    assert means.tolist() == pytest.approx([(2 * 31 + 63) / 3, (2 * 95 + 127) / 3])


@pytest.mark.slow
def test_regions_that_run_together_share_a_row_of_what_was_looked_at():
    """The same answers with a third of the memory, where a body has many regions."""
    statements = "".join(f"s += x[{k}];" for k in range(40))
    launch = kernel(f"for (int i = 0; i < 1000; ++i) {{ {statements} if (i > threadIdx.x) s += x[d]; }}")
    surveys: list[Survey] = []

    def kept(*given: Any) -> Survey:
        surveys.append(surveyed(*given))
        return surveys[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "surveyed", kept)
        profile = count(launch)
    for survey in surveys:
        assert len(survey.regions) >= 40
        assert len(survey.runs) <= 4
        assert set(survey.rows) == set(range(len(survey.runs)))
    assert surveys
    assert loads(launch, profile) == pytest.approx(1000)


@pytest.mark.parametrize("rows", [1, 3])
def test_kinds_of_threads_are_those_that_numpy_tells_apart(rows):
    drawn = np.random.default_rng(rows).integers(-2, 2, (rows, 500)).astype(np.float64)
    _, first, kind_of = np.unique(drawn, axis=1, return_index=True, return_inverse=True)
    found = kinds_of(drawn)
    assert found[0].tolist() == first.tolist()
    assert found[1].tolist() == kind_of.ravel().tolist()


def test_what_decides_nothing_is_not_looked_at():
    launch = kernel(
        "float q = 0; for (int i = 0; i < n; i++) {"
        " int a = i * 3 % 7; float v = x[i]; s += v * 2.f; q = s; x[a] = q;"  # nothing comes of a, v, s, q
        " int b = i + 1; int c = x[b] > 0.f; int d = c ? 1 : 2; if (d == i) x[i] = 1.f;"  # all decide
        " int e = i > 5 && x[i] > 0.f; i += 0; }"  # counted: what is right of &&; a counter
    )
    (loop,) = (s for s in ir.walk_statements(launch.kernel.body) if isinstance(s, ir.Loop))
    found = needed(loop)

    def told(stmt: ir.Stmt) -> str:
        if isinstance(stmt, ir.Declare):
            return stmt.variable.name
        assert isinstance(stmt, ir.ExprStmt)
        assert isinstance(stmt.expr, ir.Assign)
        target = stmt.expr.target
        return target.variable.name if isinstance(target, ir.RegisterPlace) else "x[]"

    assert sorted(map(told, found.idle)) == ["a", "q", "s", "v", "x[]", "x[]"]
    assert {variable.name for variable in found.variables} >= {"b", "c", "d", "i", "n"}
    assert "q" not in {variable.name for variable in found.variables}


def test_whether_lanes_of_a_warp_load_together_is_kept_where_a_load_decides():
    """The address of what decides is no idle statement, although what is loaded is unknown."""
    body = "for (int i = 0; i < n; i++) {{ int a = {}; if (x[a] > 0.f) s += x[i]; if (i == 77) s += 1.f; }}"
    alike, apart = (count(kernel(body.format(place))) for place in ("i", "i + t"))
    assert max(alike.warp_counts) == pytest.approx(max(apart.warp_counts))
    ran = [
        (one.thread_counts[region], one.warp_counts[region])
        for one in (alike, apart)
        for region in [next(arm.region for arm in one.arms)]
    ]
    assert ran[0][1] == pytest.approx(N / 2)
    assert ran[1][1] == pytest.approx(N)
    assert ran[0][0] == ran[1][0] == pytest.approx(N / 2)


def test_what_tells_threads_apart_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    seen: list[tuple[int, ...]] = []

    def noted(columns):
        seen.append(columns.shape)
        return kinds_of(columns)

    monkeypatch.setattr(iterations, "kinds_of", noted)
    tests = "".join(f" if (i * {k} < t % 32) s += x[i + {k}];" for k in range(1, 9))
    count(kernel(f"for (int i = 0; i < n; i++) {{{tests} }}"))
    assert seen
    assert all(rows == 1 for rows, _ in seen)


def test_iterations_that_are_looked_at_together_use_what_each_warp_has_loaded():
    test = "i % 1000 == 7 && (row + i / 64) / 3 > 5"
    body = f"int row = ((int *)x)[t / 32]; for (int i = 0; i < n; i++) {{ if ({test}) s += x[i]; }}"
    launch = kernel(body)
    assert loads(launch, count(launch)) > 0
