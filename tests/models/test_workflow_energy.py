import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice_models.cluster import OneNode, joined, on_nodes
from wattslice_models.workflow_energy import configurations, workflow_outcomes

ONE = np.array([1.0])
seconds, watts = st.floats(1e-3, 1e5), st.floats(1, 1e4)


def runs(time_s, power_w, idle_w, nodes=1.0, machine=0):
    return on_nodes(
        OneNode(time_s * nodes, power_w, power_w, power_w, idle_w), np.array([nodes]), machine=machine
    )


@given(seconds, watts, watts, st.integers(1, 100), seconds, watts, watts, st.integers(1, 100))
def test_two_components_are_the_papers_equations(t1, p1, idle1, n1, t2, p2, idle2, n2):
    first, second = runs(t1, p1, idle1, float(n1)), runs(t2, p2, idle2, float(n2), machine=1)
    e1, e2, const1, const2 = n1 * p1 * t1, n2 * p2 * t2, n1 * idle1, n2 * idle2
    apart = workflow_outcomes([first, second], overlap=False)
    assert apart.time_s[0] == pytest.approx(t1 + t2)
    assert apart.energy_j[0] == pytest.approx(e1 + const1 * t2 + e2 + const2 * t1)
    together = workflow_outcomes([first, second], overlap=True)
    waiting_j = (t2 - t1) * const1 if t1 < t2 else (t1 - t2) * const2
    assert together.time_s[0] == pytest.approx(max(t1, t2))
    assert together.energy_j[0] == pytest.approx(e1 + e2 + waiting_j)


def test_three_components_by_hand():
    parts = [runs(1, 100, 10, machine=0), runs(2, 200, 20, machine=1), runs(3, 300, 30, machine=2)]
    outcome = workflow_outcomes(parts, overlap=False)
    assert outcome.idle_j[0] == pytest.approx(10 * 5 + 20 * 4 + 30 * 3)
    assert outcome.energy_j[0] == pytest.approx(100 + 400 + 900 + 220)
    assert outcome.highest_power_w[0] == pytest.approx(300 + 10 + 20)
    assert outcome.average_power_w[0] == pytest.approx(1620 / 6)
    assert outcome.delay_product_js[0] == pytest.approx(1620 * 6)
    overlapped = workflow_outcomes(parts, overlap=True)
    assert overlapped.idle_j[0] == pytest.approx(10 * 2 + 20 * 1)
    assert overlapped.highest_power_w[0] == pytest.approx(600)


def test_components_on_one_machine_take_turns_on_its_nodes():
    # 4 nodes for 1 s, then 2 of the same for 3 s: the other two wait.
    parts = [runs(1, 100, 10, 4.0), runs(3, 100, 10, 2.0)]
    assert workflow_outcomes(parts, overlap=False).idle_j[0] == pytest.approx(10 * 2 * 3)
    apart = workflow_outcomes(parts, overlap=False, share_nodes=False)
    assert apart.idle_j[0] == pytest.approx(10 * (4 * 3 + 2 * 1))
    assert workflow_outcomes(parts, overlap=True).idle_j[0] == pytest.approx(10 * 4 * 2)


def test_one_component_is_itself():
    counts = np.arange(1.0, 9.0)
    alone = on_nodes(OneNode(100, 200, 150, 260, 50), counts, serial_share=0.1)
    for overlap in (False, True):
        outcome = workflow_outcomes([alone], overlap=overlap)
        assert outcome.energy_j.tolist() == alone.energy_j.tolist()
        assert outcome.time_s.tolist() == alone.time_s.tolist()
        assert not outcome.idle_j.any()


def test_every_combination_is_there_with_its_choice():
    first = joined([runs(1, 1, 1), runs(2, 1, 1)])
    second = joined([runs(10, 1, 1, machine=1), runs(20, 1, 1, machine=1), runs(40, 1, 1, machine=1)])
    outcome = workflow_outcomes([first, second], overlap=False)
    assert configurations([first, second]) == len(outcome) == 6
    assert outcome.choice.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert outcome.time_s.tolist() == [11, 21, 41, 12, 22, 42]


def test_unknown_powers_stay_unknown_and_do_not_spread():
    known, unknown = runs(1, 100, 10), runs(1, math.nan, 10)
    outcome = workflow_outcomes([joined([known, unknown]), runs(1, 100, 10, machine=1)], overlap=False)
    assert np.isnan(outcome.energy_j).tolist() == [False, True]
    assert np.isfinite(outcome.time_s).all()


@given(st.lists(st.tuples(seconds, watts, watts, st.integers(0, 2)), min_size=1, max_size=4))
def test_overlap_is_never_slower(parts):
    components = [runs(time_s, power_w, idle_w, machine=m) for time_s, power_w, idle_w, m in parts]
    apart = workflow_outcomes(components, overlap=False)
    together = workflow_outcomes(components, overlap=True)
    assert together.time_s[0] <= apart.time_s[0]


def test_no_component_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        workflow_outcomes([], overlap=False)


def test_an_unknown_idle_power_leaves_the_power_known_where_nothing_idles():
    alone = workflow_outcomes([runs(1, 100, math.nan, 2.0)], overlap=False)
    assert alone.highest_power_w.tolist() == [200]
    turns = [runs(1, 100, math.nan, 2.0), runs(1, 150, math.nan, 2.0)]
    assert workflow_outcomes(turns, overlap=False).highest_power_w.tolist() == [300]
    apart = workflow_outcomes(turns, overlap=False, share_nodes=False)
    assert np.isnan(apart.highest_power_w).all()
    assert workflow_outcomes(turns, overlap=True).highest_power_w.tolist() == [500]


def test_what_is_done_first_idles_beside_the_rest():
    overlapped = workflow_outcomes([runs(1, 100, 500), runs(2, 100, 10, machine=1)], overlap=True)
    assert overlapped.highest_power_w.tolist() == [500 + 100]
