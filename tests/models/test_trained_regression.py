"""What a trained regression says between, at and outside of what was measured."""

import subprocess
import sys

import pytest
from msgspec.structs import replace

from wattslice_models.contract import Interval, SliceSample, Subject
from wattslice_models.execution_time import Clocks
from wattslice_models.regression_diagnostics import RegressionDiagnostics, ResidualTest
from wattslice_models.trained_regression import (
    ClockRegression,
    Coefficient,
    RegressionDomain,
    TrainedRegression,
)

from .model_examples import GPU, subject

UNTESTED = ResidualTest("none", None, None, "made by hand")


def at(core_mhz: float, memory_mhz: float | None, beta_0_w: float) -> ClockRegression:
    """``P = beta_0 Sa + 10 Ã^0.5``"""
    return ClockRegression(
        core_mhz,
        memory_mhz,
        1.0,
        100.0,
        Coefficient(beta_0_w, None, None),
        Coefficient(10.0, None, None),
        Coefficient(0.5, None, None),
        RegressionDiagnostics(20, 0.0, 0.0, UNTESTED, UNTESTED, UNTESTED),
    )


def model(*clocks: ClockRegression) -> TrainedRegression:
    domain = RegressionDomain(1.0, 100.0, 0.2, 1.0, 0.1)
    return TrainedRegression(GPU.id, clocks, domain, 0, Interval(0.9, 1.1, 0.9, "a test"))


ONE = model(at(1000.0, None, 50.0))
PAIRS = model(
    at(500.0, 400.0, 20.0), at(1000.0, 400.0, 40.0), at(500.0, 800.0, 60.0), at(1000.0, 800.0, 100.0)
)


def run(*slices: SliceSample, core_mhz: float = 1000.0, memory_mhz: float | None = None) -> Subject:
    return replace(subject(4.0), slices=slices, clocks=Clocks(core_mhz, memory_mhz))


def dense(density: float, weight: float = 1.0, saturation: float = 1.0) -> SliceSample:
    return SliceSample("global", density, saturation, 12, weight)


def silent(weight: float) -> SliceSample:
    return SliceSample("register", None, 1.0, 12, weight)


def test_slices_count_by_their_length():
    prediction = ONE.predict(run(dense(4.0, 0.75), dense(16.0, 0.25, saturation=0.5)))
    assert prediction.power_w == pytest.approx(0.75 * (50 + 20) + 0.25 * (25 + 40))
    assert prediction.in_trained_domain


@pytest.mark.parametrize(
    ("core_mhz", "memory_mhz", "beta_0_w", "note"),
    [
        (500.0, 400.0, 20.0, ""),
        (750.0, 400.0, 30.0, ""),
        (1000.0, 600.0, 70.0, ""),
        (750.0, 600.0, 55.0, ""),
        (750.0, None, 80.0, ""),  # nothing set: the highest memory clock
        (1005.0, 800.0, 100.0, ""),
        (400.0, 800.0, 60.0, "core clock 400 MHz outside of those measured, [500, 1000] MHz"),
        (1300.0, 400.0, 40.0, "watts are those at 1000 MHz"),
        (1000.0, 900.0, 100.0, "memory clock 900 MHz outside of those measured, [400, 800] MHz"),
    ],
)
def test_watts_between_and_beside_the_measured_clocks(
    core_mhz: float, memory_mhz: float | None, beta_0_w: float, note: str
):
    prediction = PAIRS.predict(run(dense(4.0), core_mhz=core_mhz, memory_mhz=memory_mhz))
    assert prediction.power_w == pytest.approx(beta_0_w + 20.0)
    assert prediction.in_trained_domain is not bool(note)
    assert note in "".join(prediction.notes)


def test_without_density_the_watts_are_unknown():
    assert "no slice touches memory" in ONE.predict(run(silent(1.0))).notes[0]
    assert ONE.predict(run(silent(1.0))).power_w is None
    assert ONE.predict(run()).notes == ("no slices were computed",)


def test_in_a_mixture_slices_without_density_count_as_the_mean():
    few = ONE.predict(run(dense(4.0, 0.9), silent(0.1)))
    many = ONE.predict(run(dense(4.0, 0.5), silent(0.5)))
    assert few.power_w == many.power_w == pytest.approx(70.0)
    assert few.in_trained_domain
    assert not many.in_trained_domain
    assert "50% of the statements are in slices that touch no memory, at most 10%" in many.notes[0]


def test_no_power_law_is_extrapolated():
    prediction = ONE.predict(run(dense(1e6)))
    assert prediction.power_w == pytest.approx(50 + 100)
    assert prediction.notes == ("arithmetic density 1e+06 outside the fitted range [1, 100]",)
    assert ONE.predict(run(dense(0.0))).power_w == pytest.approx(50 + 10)


def test_saturation_outside_says_so():
    assert ONE.predict(run(dense(4.0, saturation=0.199))).in_trained_domain
    assert "SM saturation 0.05 outside" in ONE.predict(run(dense(4.0, saturation=0.05))).notes[0]


def test_a_negligible_slice_outside_is_not_told():
    assert ONE.predict(run(dense(4.0, 0.96), dense(1e6, 0.04))).in_trained_domain
    assert not ONE.predict(run(dense(4.0, 0.94), dense(1e6, 0.06))).in_trained_domain


def test_another_gpu_is_unknown():
    prediction = ONE.predict(subject(4.0, gpu_id="gtx_1080_ti"))
    assert prediction.power_w is None
    assert "trained on v100_pcie" in prediction.notes[0]


def test_predicting_needs_neither_numpy_nor_scipy():
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; import wattslice_models.trained_regression; "
        "sys.exit(len({'numpy', 'scipy', 'torch'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
