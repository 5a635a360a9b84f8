import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from wattslice_models.cluster import OneNode, joined, on_nodes

ALONE = OneNode(time_s=100, power_w=200, power_low_w=150, power_high_w=260, idle_power_w=50)
COUNTS = np.array([1.0, 2.0, 4.0])

seconds = st.floats(1e-3, 1e6)
watts = st.floats(1, 1e4)
nodes = st.lists(st.integers(1, 10**5).map(float), min_size=1, max_size=8).map(np.array)


def test_without_communication_time_falls_and_energy_stays():
    runs = on_nodes(ALONE, COUNTS)
    assert runs.time_s.tolist() == [100, 50, 25]
    assert runs.energy_j.tolist() == [20_000] * 3
    assert (runs.energy_low_j.tolist(), runs.energy_high_j.tolist()) == ([15_000] * 3, [26_000] * 3)


def test_two_nodes_with_communication_by_hand():
    # 50 s of work and 10 s of waiting on each of two nodes, 200 W and 50 W.
    runs = on_nodes(ALONE, np.array([2.0]), communication_s=np.array([10.0]))
    assert (runs.time_s, runs.energy_j) == (60, 2 * (50 * 200 + 10 * 50))
    busy = on_nodes(ALONE, np.array([2.0]), communication_s=np.array([10.0]), waits_busy=True)
    assert busy.energy_j == 2 * 60 * 200
    hidden = on_nodes(ALONE, np.array([2.0]), communication_s=np.array([10.0]), overlapped=True)
    assert (hidden.time_s, hidden.energy_j) == (50, 20_000)


def test_the_serial_share_runs_on_one_node_while_the_other_waits():
    runs = on_nodes(ALONE, np.array([2.0]), serial_share=0.2)
    assert runs.time_s == pytest.approx(20 + 40)
    assert runs.energy_j == pytest.approx(100 * 200 + 20 * 50)


def test_what_every_node_spends_is_not_divided():
    runs = on_nodes(replace(ALONE, fixed_s=20), np.array([1.0, 4.0]))
    assert runs.time_s.tolist() == [100, 20 + 20]
    assert runs.energy_j.tolist() == [20_000, 4 * 40 * 200]


def test_an_unknown_idle_power_matters_only_where_nodes_wait():
    unknown = OneNode(100, 200, 200, 200, math.nan)
    assert on_nodes(unknown, COUNTS).energy_j.tolist() == [20_000] * 3
    assert np.isnan(on_nodes(unknown, COUNTS, serial_share=0.1).energy_j).tolist() == [False, True, True]


@given(seconds, watts, st.floats(0, 1), st.floats(0, 1))
def test_one_node_is_the_node_model(time_s, power_w, idle_share, serial_share):
    alone = OneNode(time_s, power_w, power_w, power_w, power_w * idle_share)
    runs = on_nodes(alone, np.array([1.0]), serial_share=serial_share)
    assert runs.time_s[0] == pytest.approx(time_s)
    assert runs.energy_j[0] == pytest.approx(alone.energy_j)


@given(nodes, seconds, seconds, st.floats(0, 1))
def test_hiding_communication_never_costs(counts, time_s, exchange_s, serial_share):
    alone = OneNode(time_s, 200, 200, 200, 50)
    exchange = np.full_like(counts, exchange_s)
    hidden = on_nodes(alone, counts, serial_share=serial_share, communication_s=exchange, overlapped=True)
    added = on_nodes(alone, counts, serial_share=serial_share, communication_s=exchange)
    assert (hidden.time_s <= added.time_s).all()
    assert (hidden.energy_j <= added.energy_j * (1 + 1e-12)).all()


@given(nodes, seconds, st.floats(0, 1))
def test_nodes_never_save_energy_by_waiting(counts, time_s, serial_share):
    runs = on_nodes(OneNode(time_s, 200, 200, 200, 50), counts, serial_share=serial_share)
    assert (runs.energy_j >= 200 * time_s * (1 - 1e-12)).all()


def test_joined_keeps_the_order():
    both = joined([on_nodes(ALONE, COUNTS), on_nodes(ALONE, np.array([8.0]), machine=3)])
    assert both.nodes.tolist() == [1, 2, 4, 8]
    assert both.machine.tolist() == [0, 0, 0, 3]
    with pytest.raises(ValueError, match="no way"):
        joined([])


def test_impossible_divisions_are_refused():
    with pytest.raises(ValueError, match="serial share"):
        on_nodes(ALONE, COUNTS, serial_share=1.5)
    with pytest.raises(ValueError, match="at least one node"):
        on_nodes(ALONE, np.array([0.0]))


def test_the_highest_power_is_that_of_a_phase_not_a_mean():
    # 100 nodes of 300 W at work for 1 s, then 99 s of waiting: the mean would be 5.25 kW.
    talking = on_nodes(OneNode(100, 300, 300, 300, 50), np.array([100.0]), communication_s=np.array([99.0]))
    assert talking.highest_power_w == 30_000
    serial = on_nodes(ALONE, np.array([2.0]), serial_share=1.0)
    assert serial.highest_power_w == 200 + 50
    assert on_nodes(ALONE, np.array([2.0]), serial_share=0.9).highest_power_w == 400
    busy = on_nodes(ALONE, np.array([2.0]), serial_share=1.0, waits_busy=True)
    assert busy.highest_power_w == 400


def test_waiting_is_a_phase_that_may_draw_most():
    hungry = replace(ALONE, idle_power_w=300)
    talking = on_nodes(hungry, np.array([2.0]), communication_s=np.array([10.0]))
    assert talking.highest_power_w == 600
    assert on_nodes(hungry, np.array([2.0])).highest_power_w == 400  # nobody waits
