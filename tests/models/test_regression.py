import pytest

from wattslice_models.gpu import load_gpu
from wattslice_models.regression import NoRegressionError, published_regression, published_regressions
from wattslice_models.types import ArithmeticDensity


def test_the_four_gpus_of_table_1_are_known_gpus() -> None:
    assert [model.gpu_id for model in published_regressions()] == ["gtx260", "gtx280", "c870", "gtx480"]
    for model in published_regressions():
        assert load_gpu(model.gpu_id).id == model.gpu_id


@pytest.mark.parametrize(
    ("gpu_id", "expected_w"),
    [("gtx260", 65.6 + 29.4 * 4), ("gtx280", 95 + 46.7 * 4), ("c870", 62.4 + 75.8 * 2)],
)
def test_equation_4_by_hand(gpu_id: str, expected_w: float) -> None:
    # 1024^0.2 = 4 and 1024^0.1 = 2
    assert published_regression(gpu_id).power_w(1.0, 1024.0) == pytest.approx(expected_w)


def test_equation_4_is_linear_in_saturation() -> None:
    model = published_regression("gtx480")
    assert model.power_w(0.75, 50.0) - model.power_w(0.25, 50.0) == pytest.approx(98.7 / 2)


def test_interval_and_domain() -> None:
    model = published_regression("gtx280")
    inside = model.predict(0.5, ArithmeticDensity(20.5))
    assert inside.in_trained_domain
    assert not inside.notes
    assert inside.power_w == pytest.approx(132.94, abs=0.005)
    assert inside.power_low_w == pytest.approx(132.94 * 0.635, abs=0.01)
    assert inside.power_high_w == pytest.approx(132.94 * 1.0398, abs=0.01)


@pytest.mark.parametrize(
    ("saturation", "density", "note"),
    [
        (0.5, 5.7, "density 5.7 outside"),
        (0.5, 9000.0, "density 9000 outside"),
        (0.05, 20.0, "saturation 0.05"),
    ],
)
def test_outside_the_fitted_range_is_said(saturation: float, density: float, note: str) -> None:
    prediction = published_regression("gtx280").predict(saturation, ArithmeticDensity(density))
    assert not prediction.in_trained_domain
    assert note in prediction.notes[0]


def test_an_undefined_density_gives_no_power() -> None:
    prediction = published_regression("gtx280").predict(0.5, ArithmeticDensity(None, "no memory access"))
    assert prediction.power_w is None
    assert "no memory access" in prediction.notes[0]


@pytest.mark.parametrize(
    ("saturation", "density"), [(0.0, 1.0), (1.1, 1.0), (float("nan"), 1.0), (0.5, -1.0), (0.5, float("inf"))]
)
def test_impossible_features_are_refused(saturation: float, density: float) -> None:
    with pytest.raises(ValueError):
        published_regression("gtx280").power_w(saturation, density)


def test_no_regression_for_other_gpus() -> None:
    with pytest.raises(NoRegressionError, match=r"'v100'; published for gtx260, gtx280, c870, gtx480"):
        published_regression("v100")
