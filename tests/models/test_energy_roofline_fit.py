"""The regression of Choi et al. 2013: what went in comes out, with errors that mean what they say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from wattslice_models.energy_roofline import EnergyRoofline
from wattslice_models.energy_roofline_fit import (
    Errors,
    SweepError,
    SweepPoint,
    SweepPrecision,
    best_rates,
    fit_energy_roofline,
)

pytest.importorskip("scipy")

SINGLE, DOUBLE = SweepPrecision
INTENSITIES = [2.0**power for power in range(-4, 7)]


def machine(precision, eps=(100e-12, 212e-12), byte_energy_j=513e-12, constant_power_w=122.0):
    """About a GTX 580; double at an eighth of the speed."""
    double = precision is DOUBLE
    flop_time_s = (8.0 if double else 1.0) / 1.4e12
    return EnergyRoofline(flop_time_s, 1 / 170e9, eps[double], byte_energy_j, constant_power_w)


def sweep(intensities=INTENSITIES, precisions=(SINGLE, DOUBLE), work_flop=1e9, **costs):
    """Runs that cost exactly what the model says."""
    points = []
    for precision in precisions:
        one = machine(precision, **costs)
        for intensity in intensities:
            traffic = work_flop / intensity
            time_s, energy_j = one.time_s(work_flop, traffic), one.energy_j(work_flop, traffic)
            points.append(SweepPoint(precision, work_flop, traffic, time_s, energy_j))
    return points


@settings(max_examples=settings().max_examples * 3 // 5)
@given(
    st.tuples(st.floats(1e-12, 1e-9), st.floats(1e-12, 1e-9)),
    st.floats(1e-12, 1e-9),
    st.floats(1.0, 500.0),
    st.floats(1e6, 1e13),
)
def test_exact_runs_give_exact_coefficients(eps, byte_energy_j, constant_power_w, work_flop):
    fit = fit_energy_roofline(
        sweep(eps=eps, byte_energy_j=byte_energy_j, constant_power_w=constant_power_w, work_flop=work_flop)
    )
    # What rounding leaves is relative to the largest part of the energy of a flop.
    scale = max(*eps, 16 * byte_energy_j, constant_power_w / 1e11)
    assert fit.single_flop_energy_j.value == pytest.approx(eps[0], rel=1e-9, abs=1e-11 * scale)
    assert fit.double_flop_energy_j.value == pytest.approx(eps[1], rel=1e-9, abs=1e-11 * scale)
    assert fit.double_extra_energy_j.value == pytest.approx(eps[1] - eps[0], rel=1e-9, abs=1e-11 * scale)
    assert fit.byte_energy_j.value == pytest.approx(byte_energy_j, rel=1e-9, abs=1e-11 * scale)
    assert fit.constant_power_w.value == pytest.approx(constant_power_w, rel=1e-6, abs=scale)
    assert fit.r_squared == pytest.approx(1.0, abs=1e-12)
    assert fit.worst_error < 1e-9


def test_rates_are_the_fastest_runs_and_make_the_machine_again():
    fit = fit_energy_roofline(sweep())
    for precision in SweepPrecision:
        found, known = fit.roofline(precision, 244.0), machine(precision)
        assert found.flop_time_s == pytest.approx(known.flop_time_s)
        assert found.byte_time_s == pytest.approx(known.byte_time_s)
        assert found.power_limit_w == 244.0
        assert found.flop_energy_j == pytest.approx(known.flop_energy_j)
        assert found.effective_balance_point == pytest.approx(known.effective_balance_point)
    assert best_rates(sweep([0.5, 64.0])).bytes_per_s == pytest.approx(170e9)
    given = fit.roofline(SINGLE, flop_time_s=1e-12, byte_time_s=2e-12)
    assert (given.flop_time_s, given.byte_time_s) == (1e-12, 2e-12)


def test_a_roof_that_was_not_reached_is_told():
    reached = fit_energy_roofline(sweep())
    assert (reached.rates.single_reached, reached.rates.double_reached) == (True, True)
    # Balances: 8.2 flops per byte in single precision, 1.03 in double.
    short = fit_energy_roofline(sweep([0.125, 0.25, 0.5, 1.0, 2.0, 4.0]))
    assert (short.rates.single_reached, short.rates.double_reached) == (False, True)
    assert any("flops in single precision still grow faster" in doubt for doubt in short.doubts)


def test_errors_and_p_values_are_those_of_the_textbook():
    points = noisy(np.random.default_rng(3), 0.03)
    fit = fit_energy_roofline(points)
    x = np.array(
        [[1.0, p.traffic_bytes / p.work_flop, p.time_s / p.work_flop, p.precision is DOUBLE] for p in points]
    )
    y = np.array([p.energy_j / p.work_flop for p in points])
    inverse = np.linalg.inv(x.T @ x)
    beta = inverse @ x.T @ y
    variance = ((y - x @ beta) ** 2).sum() / (len(y) - 4)
    found = (fit.single_flop_energy_j, fit.byte_energy_j, fit.constant_power_w, fit.double_extra_energy_j)
    assert [one.value for one in found] == pytest.approx(list(beta), rel=1e-6)
    errors = np.sqrt(variance * np.diag(inverse))
    assert [one.standard_error for one in found] == pytest.approx(list(errors), rel=1e-6)
    contrast = np.array([1.0, 0.0, 0.0, 1.0])
    assert fit.double_flop_energy_j.standard_error == pytest.approx(
        math.sqrt(variance * contrast @ inverse @ contrast), rel=1e-6
    )
    # Student's t of 18 degrees of freedom is above 2.1009 in 2.5 % of all cases (any table).
    assert len(points) - 4 == 18
    for one in found:
        assert one.t is not None
        assert one.significant == (abs(one.t) > 2.1009)
        assert one.t == pytest.approx(one.value / one.standard_error)


def noisy(chance, spread, **costs):
    """Independent errors of E / W of the same size, as ordinary least squares has them."""
    exact = sweep(**costs)
    step = spread * float(np.mean([p.energy_j / p.work_flop for p in exact]))
    return [
        replace(p, energy_j=max(1e-12, p.energy_j + p.work_flop * chance.normal(0.0, step))) for p in exact
    ]


def test_standard_errors_are_the_spread_over_many_sweeps():
    chance = np.random.default_rng(1)
    fits = [fit_energy_roofline(noisy(chance, 0.001)) for _ in range(400)]
    for name, true in (
        ("single_flop_energy_j", 100e-12),
        ("double_flop_energy_j", 212e-12),
        ("byte_energy_j", 513e-12),
        ("constant_power_w", 122.0),
    ):
        values = np.array([getattr(fit, name).value for fit in fits])
        told = np.sqrt(np.mean([getattr(fit, name).standard_error ** 2 for fit in fits]))
        assert values.std() == pytest.approx(told, rel=0.12), name
        assert abs(values.mean() - true) < 4 * told / math.sqrt(len(fits)), name


def test_relative_errors_are_met_by_the_fit_that_knows_them():
    chance = np.random.default_rng(6)
    told, values = {errors: [] for errors in Errors}, {errors: [] for errors in Errors}
    for _ in range(300):
        points = [replace(p, energy_j=p.energy_j * (1 + 0.01 * chance.normal())) for p in sweep()]
        for errors in Errors:
            one = fit_energy_roofline(points, errors).single_flop_energy_j
            values[errors].append(one.value)
            told[errors].append(one.standard_error**2)
    spread = {errors: float(np.std(values[errors])) for errors in Errors}
    assert spread[Errors.RELATIVE] == pytest.approx(math.sqrt(np.mean(told[Errors.RELATIVE])), rel=0.15)
    assert spread[Errors.RELATIVE] < spread[Errors.ALIKE] / 5


def test_what_is_zero_is_found_significant_as_often_as_the_level_says():
    chance = np.random.default_rng(2)
    found = sum(
        fit_energy_roofline(noisy(chance, 0.01, eps=(100e-12, 100e-12))).double_extra_energy_j.significant
        for _ in range(400)
    )
    assert 8 <= found <= 34  # 20 expected, standard deviation 4.4


def test_impossible_coefficients_are_told_and_make_no_machine():
    fit = fit_energy_roofline([replace(p, energy_j=50.0 * p.time_s) for p in noisy_times()])
    assert fit.byte_energy_j.value == pytest.approx(0.0, abs=1e-18)
    odd = fit_energy_roofline(
        [
            replace(p, energy_j=60.0 * p.time_s + 1e-10 * p.work_flop - 1e-11 * p.traffic_bytes)
            for p in noisy_times()
        ]
    )
    assert odd.byte_energy_j.value == pytest.approx(-1e-11)
    assert any("energy of a byte: negative" in doubt for doubt in odd.doubts)
    with pytest.raises(ValueError, match="byte_energy_j must be finite and not negative"):
        odd.roofline(SINGLE)
    weak = fit_energy_roofline(noisy(np.random.default_rng(5), 0.5))
    assert any("cannot be told from zero" in doubt for doubt in weak.doubts)


def noisy_times():
    chance = np.random.default_rng(4)
    return [replace(p, time_s=p.time_s * (1 + 0.2 * chance.random())) for p in sweep()]


@pytest.mark.parametrize(
    ("points", "told"),
    [
        (sweep(precisions=(SINGLE,)), "no run in double precision"),
        (sweep(precisions=(DOUBLE,)), "no run in single precision"),
        (sweep()[:3] + sweep()[-1:], "4 runs are too few"),
        (sweep([0.0625, 0.125, 0.25]), "too few ways to tell flops, bytes and time apart"),
        ([replace(p, traffic_bytes=0.0) for p in sweep()], "no run of the sweep moves a byte"),
        ([replace(p, precision=DOUBLE) for p in sweep()[:4]] + sweep()[:1] * 4, "too few ways"),
    ],
)
def test_a_sweep_that_cannot_tell_says_what_is_missing(points, told):
    with pytest.raises(SweepError, match=told):
        fit_energy_roofline(points)


def test_a_point_without_work_is_refused():
    with pytest.raises(ValueError, match="work_flop must be finite and above 0"):
        SweepPoint(SINGLE, 0.0, 1.0, 1.0, 1.0)
    assert math.isinf(SweepPoint(SINGLE, 1.0, 0.0, 1.0, 1.0).intensity)
