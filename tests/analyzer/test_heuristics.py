"""Static heuristics: what each looks at, and how several become one probability."""

import numpy as np
import pytest

from wattslice.counting.count import count
from wattslice.counting.profile import ProbabilitySource
from wattslice.heuristics import HIT_RATES, Heuristic, Opinion, combined, spread

from .source_text import launch_of

RATE = dict(HIT_RATES)


def then_probability(body: str) -> tuple[float, str]:
    """Of the last `if` that data decide in a kernel with this body, and what the assumption tells."""
    head, host = "__global__ void k(int* a, float* f, int** p) {", "int main() { k<<<1, 32>>>(0, 0, 0); }"
    text = f"{head}\n{body}\n}}\n{host}"
    profile = count(launch_of(text), heuristics=True)
    arm = [arm for arm in profile.arms if arm.arm == "then"][-1]
    messages = [a.message for a in profile.assumptions if a.rule == "PW012"]
    return arm.probability, messages[-1]


@pytest.mark.parametrize(
    ("body", "expected", "spoke"),
    [
        ("int r = 0; if (a[0] == 7) r = 1; a[1] = r;", 1 - RATE[Heuristic.OPCODE], "opcode"),
        ("int r = 0; if (7 != a[0]) r = 1; a[1] = r;", RATE[Heuristic.OPCODE], "opcode"),
        ("int r = 0; if (a[0] < 0) r = 1; a[1] = r;", 1 - RATE[Heuristic.OPCODE], "opcode"),
        ("int r = 0; if (0 >= a[0]) r = 1; a[1] = r;", 1 - RATE[Heuristic.OPCODE], "opcode"),
        ("int r = 0; if (!(a[0] == 7)) r = 1; a[1] = r;", RATE[Heuristic.OPCODE], "opcode"),
        ("int r = 0; if (f[0] == f[1]) r = 1; a[1] = r;", 1 - RATE[Heuristic.OPCODE], "opcode"),
        ("int r = 0; if (p[0] != p[1]) r = 1; a[1] = r;", RATE[Heuristic.POINTER], "pointer"),
        ("if (a[0] < a[1]) a[2] = 1;", 1 - RATE[Heuristic.STORE], "store"),
        ("if (a[0] < a[1]) atomicAdd(a + 2, 1);", 1 - RATE[Heuristic.STORE], "store"),
        ("if (a[0] < a[1]) return; int r = a[2]; f[r] = 1.0f;", None, "store, return"),
        ("int x = a[0], r = 0; if (x < a[1]) r = x + 1; a[1] = r;", RATE[Heuristic.GUARD], "guard"),
        ('int r = 0; if (a[0] < a[1]) printf("%d", r); a[1] = r;', 1 - RATE[Heuristic.CALL], "call"),
        (
            "int r = 0; if (a[0] < a[1]) for (int i = 0; i < 9; ++i) r += i; a[1] = r;",
            RATE[Heuristic.LOOP_HEADER],
            "loop header",
        ),
    ],
)
def test_each_heuristic_by_itself(body: str, expected: float | None, spoke: str):
    probability, message = then_probability(body)
    assert message == f"branch depends on data: its arms weighed by heuristics ({spoke})"
    if expected is not None:
        assert probability == pytest.approx(expected)


@pytest.mark.parametrize(
    "body",
    [
        "int r = 0; if (a[0] < a[1]) r = 1; a[1] = r;",  # nothing to go by
        "if (a[0] < a[1]) a[2] = 1; else a[3] = 1;",  # what holds for both arms says nothing
        "int r = 0; if (a[0]) r = 1; a[1] = r;",  # a flag is no comparison
        "int x = a[0], r = 0; if (x < a[1]) { x = 3; r = x; } a[1] = r;",  # overwritten before it is used
    ],
)
def test_where_no_heuristic_speaks_each_way_is_as_likely(body: str):
    probability, message = then_probability(body)
    assert probability == 0.5
    assert message.endswith("each arm assumed as likely as the other")


def test_what_thread_indices_decide_stays_exact():
    probability, _ = then_probability("if (threadIdx.x < 8 && a[0] == 3) f[0] = 1.0f;")
    opcode, store = 1 - RATE[Heuristic.OPCODE], 1 - RATE[Heuristic.STORE]
    both = opcode * store / (opcode * store + (1 - opcode) * (1 - store))
    assert probability == pytest.approx(both / 4)


def test_opinions_combine_as_dempster_and_shafer_have_it():
    against = Opinion(Heuristic.OPCODE, False)
    towards = Opinion(Heuristic.GUARD, True)
    p, q = 1 - RATE[Heuristic.OPCODE], RATE[Heuristic.GUARD]
    assert combined(0.5, (against,)) == pytest.approx(p)
    assert combined(0.5, (against, towards)) == pytest.approx(p * q / (p * q + (1 - p) * (1 - q)))
    lanes = combined(np.array([0.0, 0.5, 1.0]), (against,))
    assert list(np.asarray(lanes)) == pytest.approx([0.0, p, 1.0])  # what is certain stays so


def test_the_interval_is_widest_where_nothing_is_known():
    assert spread(0.5) == (0.0, 1.0)
    assert spread(1.0) == (1.0, 1.0)
    low, high = spread(0.84)
    assert low == pytest.approx(0.84 - (0.84 * 0.16) ** 0.5)
    assert high == 1.0


def test_heuristics_are_asked_only_when_wanted():
    launch = launch_of(
        "__global__ void k(int* a) { if (a[0] == 7) a[1] = 2; }\nint main() { k<<<1, 32>>>(0); }"
    )
    (even,), (weighed,) = count(launch).arms, count(launch, heuristics=True).arms
    assert (even.probability, even.source) == (0.5, ProbabilitySource.DEFAULT)
    assert weighed.source is ProbabilitySource.HEURISTIC
    assert weighed.interval[0] < weighed.probability < weighed.interval[1]
