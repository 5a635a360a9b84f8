from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from wattslice_models.types import ArithmeticDensity, Held, PowerFactors, Prediction, Wanted


def test_unknown_power_has_a_reason() -> None:
    unknown = Prediction.unknown("no memory access")
    assert unknown.power_w is None
    assert unknown.notes == ("no memory access",)
    with pytest.raises(ValueError, match="why it is unknown"):
        Prediction(None, None, None, "", False)


@pytest.mark.parametrize("interval", [(101.0, 110.0), (90.0, 99.0), (-1.0, 110.0), (None, 110.0)])
def test_a_power_lies_in_its_interval(interval: tuple[float | None, float]) -> None:
    low_w, high_w = interval
    with pytest.raises(ValueError):
        Prediction(100.0, low_w, high_w, "test", True)


def test_only_an_undefined_density_has_a_reason() -> None:
    with pytest.raises(ValueError):
        ArithmeticDensity(None)
    with pytest.raises(ValueError):
        ArithmeticDensity(1.0, "but why")


@pytest.mark.parametrize("factors", [(0.9, 0.1, 0.1, 0.1), (1.0, 0.0, 0.1, 0.1)])
def test_power_factors_are_relative_to_global_and_positive(
    factors: tuple[float, float, float, float],
) -> None:
    with pytest.raises(ValueError):
        PowerFactors(*factors, provenance="test", gpu_matched=True)


def test_the_ends_of_the_interval_are_exceeded_in_one_case_of_twenty():
    found = Prediction(100.0, 80.0, 140.0, "a test", True)
    chances = [found.exceedance(watts) for watts in (0.0, 80.0, 99.0, 100.0, 120.0, 140.0, 1e9)]
    assert all(left is not None and right is not None and left >= right for left, right in pairwise(chances))
    assert chances[1] == pytest.approx(0.95, abs=1e-3)
    assert chances[3] == 0.5
    assert chances[5] == pytest.approx(0.05, abs=1e-3)
    assert (chances[0], chances[-1]) == (1.0, 0.0)


def test_a_prediction_without_an_interval_exceeds_or_does_not():
    sure = Prediction(100.0, 100.0, 100.0, "a test", True)
    assert [sure.exceedance(watts) for watts in (99.0, 101.0)] == [1.0, 0.0]
    assert Prediction.unknown("why").exceedance(100.0) is None
    with pytest.raises(ValueError, match="budget"):
        sure.exceedance(-1.0)


@st.composite
def wanted_watts(draw: st.DrawFn) -> Wanted:
    """Of any launch on a board with some limit, or none that is known."""
    power_w, low, high = draw(st.floats(20.0, 900.0)), draw(st.floats(0.3, 0.99)), draw(st.floats(1.01, 3.0))
    limit_w, peak = draw(st.none() | st.floats(50.0, 700.0)), draw(st.floats(1.005, 1.3))
    held = None if limit_w is None else Held(limit_w, peak * limit_w)
    return Wanted(power_w, low * power_w, high * power_w, held)


@pytest.mark.hypothesis
@given(wanted_watts(), st.floats(0.1, 3.0))
def test_what_exceeds_a_budget_agrees_with_the_interval_that_is_told(wanted: Wanted, share: float):
    """Told are the lesser of wanted watts and limit, with the interval of `shown`."""
    low_w, high_w = wanted.shown
    told_w = wanted.power_w if wanted.held is None else min(wanted.power_w, wanted.held.limit_w)
    assert low_w < told_w < high_w
    assert wanted.exceedance(low_w) == pytest.approx(0.95, abs=1e-3)
    assert wanted.exceedance(high_w) == pytest.approx(0.05, abs=1e-3)
    assert wanted.exceedance(told_w) <= 0.5 + 1e-9
    ends = (low_w, told_w, high_w, wanted.power_w, share * told_w)
    budgets = sorted(near * end for end in ends for near in (1 - 1e-5, 1.0, 1 + 1e-5))
    chances = [wanted.exceedance(budget_w) for budget_w in budgets]
    assert all(one >= other for one, other in pairwise(chances))
    jumps = (wanted.exceedance(end * (1 - 1e-5)) - wanted.exceedance(end * (1 + 1e-5)) for end in ends)
    assert max(jumps) < 0.005


def test_a_board_that_its_limit_holds_back_shows_about_the_limit_whatever_is_wanted():
    far, further = (
        Wanted(power_w, 0.8 * power_w, 1.3 * power_w, Held(250.0, 252.5)) for power_w in (500, 900)
    )
    assert far.shown == further.shown == (237.5, 252.5)
    for budget_w, chance in ((237.5, 0.95), (249.0, 0.55), (250.0, 0.5), (252.5, 0.05)):
        assert far.exceedance(budget_w) == pytest.approx(chance, abs=0.01)
    assert far.beyond(250.0) > 0.999


def test_a_limit_far_away_changes_nothing():
    free = Wanted(100.0, 80.0, 140.0)
    assert replace(free, held=Held(300.0, 303.0)).shown == free.shown == (80.0, 140.0)
    # Half way: of what is wanted beyond the limit, half is shown below it.
    near = replace(free, held=Held(120.0, 121.2))
    assert near.exceedance(120.0) == pytest.approx(0.5 * free.beyond(120.0))
    assert near.shown[0] == 80.0
    assert 120.0 < near.shown[1] < 121.2
