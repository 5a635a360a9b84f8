"""What the counting of a kernel does once where it could do it again and again, and that the answer stays."""

from pathlib import Path

import numpy as np
import pytest

from wattslice.counting import cells, expressions, loops
from wattslice.counting import count as counting
from wattslice.counting.sites import SiteTally
from wattslice.counting.state import NotCountedError, State
from wattslice.counting.values import UNIFORM, VARYING, Chance, Pointer, Record, Unknown, Value, identical
from wattslice.launches import memory as host

from .counted import counted

LANES = np.arange(64)

SHIFTED = """__global__ void k(float *x, int n) {
    int a = threadIdx.x * 3, b = threadIdx.x * 5;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j)
            x[a + b] += 1.0f;
}
"""


def test_lanes_of_the_same_operands_are_added_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    added: list[object] = []
    plain = expressions.binary

    def noted(op: object, left: Value, right: Value, type_: object) -> Value:
        if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
            added.append(op)
        return plain(op, left, right, type_)  # type: ignore[arg-type]

    monkeypatch.setattr(expressions, "binary", noted)
    _, few = counted(tmp_path, SHIFTED, "k=2:64", "n=10")
    once = len(added)
    _, many = counted(tmp_path, SHIFTED, "k=2:64", "n=30")
    assert len(added) == 2 * once < 10  # however many iterations there are
    assert 45.0 in few.thread_counts
    assert 435.0 in many.thread_counts


def test_operands_that_change_are_computed_anew(tmp_path: Path):
    source = """__global__ void k(float *x, int n) {
        int a = threadIdx.x;
        for (int i = 0; i < 12; ++i) {
            if (i % 4 == 3) a = a + threadIdx.x;
            if (a + a < 64) x[a] += 1.0f;
        }
    }
    """
    _, profile = counted(tmp_path, source, "k=1:32")
    expected = np.mean(
        [sum(2 * t * factor < 64 for factor in (1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4)) for t in range(32)]
    )
    assert expected in profile.thread_counts


PLANNED = """__global__ void k(float *x, const int *steps, int n, int m) {
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < END; ++j)
            if (j % 3 == 0) for (int l = 0; l < j; ++l) x[l] += 1.0f;
}
"""


@pytest.mark.parametrize(("end", "surveys"), [("m", 2), ("m + i", 8)])
def test_a_plan_is_made_again_only_where_something_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, surveys: int
):
    made: list[object] = []
    plain = loops.plan

    def noted(survey: object, most: int) -> object:
        made.append(survey)
        return plain(survey, most)  # type: ignore[arg-type]

    monkeypatch.setattr(loops, "plan", noted)
    counted(tmp_path, PLANNED.replace("END", end), "k=1:32", "n=8", "m=3000")
    assert len(made) == surveys


@pytest.mark.parametrize(
    ("a", "b", "is_so"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (1, True, False),
        (VARYING, UNIFORM, False),
        (LANES, LANES.copy(), True),
        (LANES, LANES.astype(np.float64), False),
        (LANES, LANES + 1, False),
        (Unknown(True, LANES), Unknown(True, LANES.copy()), True),
        (Unknown(True, LANES), Unknown(False, LANES), False),
        (Unknown(True, LANES, stride=4), Unknown(True, LANES), False),
        (Pointer(None, LANES), Pointer(None, LANES.copy()), True),
        (Pointer(None, 0), Pointer(None, 4), False),
        (Chance(0.5), Chance(0.5), True),
        (Chance(0.5), Chance(0.5, values=2), False),
        (Record(((("x",), LANES),)), Record(((("x",), LANES.copy()),)), True),
        (Record(((("x",), 1),)), Record(((("y",), 1),)), False),
        ((1, LANES), (1, LANES.copy()), True),
        ((1, 2), (1, 2, 3), False),
    ],
)
def test_identical(a: object, b: object, is_so: bool):
    assert identical(a, b) is is_so


def test_the_offsets_of_lanes_ascend_each_once():
    assert cells.offsets_of(np.array([8, 0, 8, 4])) == [0, 4, 8]
    assert cells.offsets_of(np.array([-4, 1 << 40, -4])) == [-4, 1 << 40]
    assert cells.offsets_of(np.array([], np.int64)) == []
    assert cells.offsets_of(4 * np.arange(257)) == []


@pytest.mark.parametrize(
    ("store", "taken"),
    [
        ("s[t] = 7;", 1.0),  # every block, every cell
        ("if (blockIdx.x < 2) s[t] = 7; else s[t] = 7;", 1.0),
        ("if (blockIdx.x < 1) s[t] = 7;", 0.25),  # the others still hold 3
        ("s[t] = p[t];", 0.5),  # data: nobody knows
        ("if (blockIdx.x < 1) s[t] = p[t];", 0.5),
    ],
)
def test_what_cells_of_a_shared_object_hold(tmp_path: Path, store: str, taken: float):
    source = f"""__global__ void k(float *x, const int *p) {{
        __shared__ int s[32];
        int t = threadIdx.x;
        s[t] = 3;
        __syncthreads();
        {store}
        __syncthreads();
        if (s[5] == 7) x[t] = 1.0f;
    }}
    """
    _, profile = counted(tmp_path, source, "k=4:32")
    assert profile.thread_counts[-1] == taken


COLLATZ = (
    "__global__ void k(int *x, int n) { int t = blockIdx.x * blockDim.x + threadIdx.x; int i = n, s = 0;"
    " while (i > 1) { i = (i & 1) ? 3 * i + 1 : i / 2; s += i; } x[t] = s; }"
)


def _attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launch: str) -> list[State]:
    """The evaluations of a kernel of which each takes too many steps."""
    made: list[State] = []

    class Noted(State):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr(counting, "MAX_STEPS", 10)
    monkeypatch.setattr(counting, "State", Noted)
    with pytest.raises(NotCountedError):
        counted(tmp_path, COLLATZ, launch, "n=27")
    return made


def test_a_kernel_that_takes_too_long_is_not_tried_again_in_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """No loop in it would run fewer iterations at the last attempt: 111 of n = 27, each as before."""
    assert len(_attempts(tmp_path, monkeypatch, "k=1:32")) == 2
    assert len(_attempts(tmp_path, monkeypatch, "k=4096:256")) == 2


def test_looks_at_loops_make_no_tallies_of_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One of each site for the one evaluation, however many loops are looked at."""
    made: list[SiteTally] = []
    plain = SiteTally.__init__

    def noted(self: SiteTally) -> None:
        made.append(self)
        plain(self)

    monkeypatch.setattr(SiteTally, "__init__", noted)
    source = """__global__ void k(float *x, int n) {
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < i; ++j)
                for (int l = 0; l < j; ++l) x[i + j + l] += 1.0f;
    }
    """
    launch, _ = counted(tmp_path, source, "k=2:64", "n=3000")
    assert len(made) == launch.kernel.site_count


def test_what_a_function_loses_of_an_object_comes_back_when_it_is_undone():
    """Hundreds of numbers, and then some of them again."""
    memory, many = host.Memory({}), host.Storage("many")
    for key in range(4090):
        memory.set_cell(many, key, key)
    before, mark = dict(many.cells), memory.mark()
    memory.forget(many, host.Unknown("lost"))
    assert set(many.cells.values()) == {host.Unknown("lost")}
    memory.forget_bytes(host.Pointer(many, 4088), 16, host.Unknown("lost again"))
    assert many.cells[4089] == host.Unknown("lost again")
    assert many.cells[4087] == host.Unknown("lost")
    memory.roll_back(mark)
    assert many.cells == before
