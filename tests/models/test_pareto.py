import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice_models.cluster import OneNode, joined, on_nodes
from wattslice_models.pareto import Limits, Objective, best, keeping, pareto_front
from wattslice_models.workflow_energy import workflow_outcomes

figures = st.integers(1, 8).map(float)
points = st.lists(st.tuples(figures, figures | st.just(math.nan)), max_size=30)


def split(pairs):
    return np.array([time_s for time_s, _ in pairs]), np.array([energy_j for _, energy_j in pairs])


@given(points)
def test_the_front_is_what_no_other_beats(pairs):
    time_s, energy_j = split(pairs)
    front = pareto_front(time_s, energy_j, tolerance=0)
    known = [(t, e) for t, e in pairs if not math.isnan(e)]

    def beaten(t, e):
        return any(a <= t and b <= e and (a < t or b < e) for a, b in known)

    on_front = [(time_s[i], energy_j[i]) for i in front]
    assert sorted(on_front) == sorted({pair for pair in known if not beaten(*pair)})
    assert on_front == sorted(on_front), "fastest first"


@given(points)
def test_of_equals_the_first_is_kept(pairs):
    time_s, energy_j = split(pairs)
    for index in pareto_front(time_s, energy_j).tolist():
        assert pairs.index((time_s[index], energy_j[index])) == index


def test_rounding_makes_no_front():
    energy_j = np.array([100.0, 100.0 * (1 - 1e-15), 100.0 * (1 - 2e-15)])
    assert pareto_front(np.array([1.0, 2.0, 3.0]), energy_j).tolist() == [0]


def outcomes(*ways):
    """Time and power of each."""
    runs = [on_nodes(OneNode(t, p, p, p, 10), np.array([1.0])) for t, p in ways]
    return workflow_outcomes([joined(runs)], overlap=False)


def test_each_objective_takes_its_own():
    # energies 100, 80, 50; products 100, 160, 250
    found = outcomes((1, 100), (2, 40), (5, 10))
    assert [best(found, objective) for objective in Objective] == [2, 0, 0]


def test_limits_are_kept_and_may_exclude_everything():
    found = outcomes((1, 100), (2, 40), (5, 10))
    assert best(found, Objective.ENERGY, Limits(deadline_s=2)) == 1
    assert best(found, Objective.TIME, Limits(energy_budget_j=80)) == 1
    assert best(found, Objective.TIME, Limits(power_budget_w=39.9)) == 2
    assert best(found, Objective.TIME, Limits(deadline_s=1, power_budget_w=50)) is None


def test_the_same_energy_goes_to_the_fastest():
    assert best(outcomes((2, 50), (1, 100), (4, 25)), Objective.ENERGY) == 1


def test_an_unknown_energy_is_best_in_time_only():
    found = outcomes((1, math.nan), (2, 40))
    assert [best(found, objective) for objective in Objective] == [1, 0, 1]
    assert keeping(found, Limits(energy_budget_j=1e9)).tolist() == [False, True]
    assert best(outcomes((1, math.nan)), Objective.ENERGY) is None


def test_no_configuration_has_no_front():
    assert pareto_front(np.array([]), np.array([])).size == 0
    with pytest.raises(ValueError):
        Objective("least-money")
