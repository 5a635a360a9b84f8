from itertools import pairwise

import pytest

from wattslice_models.types import ArithmeticDensity, PowerFactors, Prediction, Wanted


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


def test_beyond_the_limit_a_board_shows_watts_only_as_far_as_sensors_do():
    wanted = Wanted(300.0, 240.0, 380.0)
    free = [wanted.exceedance(budget_w, None, 262.5) for budget_w in (240.0, 250.0, 256.25)]
    held = [wanted.exceedance(budget_w, 250.0, 262.5) for budget_w in (240.0, 250.0, 256.25, 262.5, 300.0)]
    assert held[:2] == free[:2]  # up to the limit nothing is held back
    assert held[2] == pytest.approx(free[2] / 2)  # half way from the limit to what sensors show
    assert held[3:] == [0.0, 0.0]
