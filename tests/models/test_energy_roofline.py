"""The energy roofline against the equations of Choi et al. 2013 and figures worked out by hand."""

import numpy as np
import pytest
from msgspec.structs import replace

from wattslice_models.energy_roofline import EnergyRoofline

# 100 Gflop/s, 50 GB/s, 200 pJ/flop, 800 pJ/B, 20 W: B_tau 2, B_eps 4, eps_0 200 pJ, eta 1/2
MACHINE = EnergyRoofline(1e-11, 2e-11, 2e-10, 8e-10, 20.0)
CAPPED = replace(MACHINE, power_limit_w=60.0)
INTENSITIES = np.array([0.25, 1.0, 2.0, 4.0, 64.0])


def test_the_parameters_derived_of_a_machine():
    assert MACHINE.time_balance == pytest.approx(2.0)
    assert MACHINE.energy_balance == pytest.approx(4.0)
    assert MACHINE.balance_gap == pytest.approx(2.0)
    assert MACHINE.flop_efficiency == pytest.approx(0.5)
    assert MACHINE.actual_flop_energy_j == pytest.approx(4e-10)
    assert (MACHINE.flop_power_w, MACHINE.byte_power_w) == pytest.approx((20.0, 40.0))
    assert MACHINE.peak_power_w == pytest.approx(80.0)


def test_time_overlaps_and_energy_adds_up():
    assert MACHINE.time_s(1e11, 1e9) == pytest.approx(1.0)
    assert MACHINE.time_s(1e9, 1e11) == pytest.approx(2.0)
    assert MACHINE.energy_j(1e11, 1e9) == pytest.approx(20.0 + 0.8 + 20.0)
    assert MACHINE.energy_j(0.0, 0.0) == 0.0


def test_the_factored_forms_5_and_7_of_the_paper():
    for intensity in INTENSITIES.tolist():
        balance = MACHINE.effective_energy_balance(intensity)
        energy_j = MACHINE.actual_flop_energy_j * (1 + balance / intensity)
        assert MACHINE.energy_j(1.0, 1.0 / intensity) == pytest.approx(energy_j)
        power_w = MACHINE.flop_power_w / MACHINE.flop_efficiency
        power_w *= min(intensity, 2.0) / 2.0 + balance / max(intensity, 2.0)
        assert MACHINE.power_w(intensity) == pytest.approx(power_w)


@pytest.mark.parametrize("constant_power_w", [0.0, 5.0, 20.0, 400.0])
def test_at_the_effective_balance_point_efficiency_is_half_its_peak(constant_power_w):
    machine = replace(MACHINE, constant_power_w=constant_power_w)
    point = machine.effective_balance_point
    assert machine.effective_energy_balance(point) == pytest.approx(point)
    assert machine.relative_efficiency(point) == pytest.approx(0.5)


def test_race_to_halt_is_lost_when_constant_power_goes():
    assert replace(MACHINE, constant_power_w=400.0).race_to_halt
    without = replace(MACHINE, constant_power_w=0.0)
    assert without.effective_balance_point == pytest.approx(without.energy_balance)
    assert not without.race_to_halt


def test_the_power_line_peaks_at_the_time_balance():
    places = np.geomspace(0.01, 100, 401)
    watts = MACHINE.power_w(places)
    assert MACHINE.power_w(2.0) == pytest.approx(MACHINE.peak_power_w)
    assert watts.max() <= MACHINE.peak_power_w
    assert places[watts.argmax()] == pytest.approx(2.0, rel=0.03)
    assert watts[0] == pytest.approx(60.0, rel=0.01)  # memory and being on
    assert watts[-1] == pytest.approx(40.0, rel=0.03)  # arithmetic and being on


def test_a_throttled_run_lasts_longer_and_draws_the_limit():
    assert CAPPED.is_capped
    assert not replace(MACHINE, power_limit_w=80.0).is_capped
    assert CAPPED.power_w(2.0) == 60.0
    assert CAPPED.demanded_power_w(2.0) == pytest.approx(80.0)
    seconds, joules = CAPPED.time_s(1e11, 5e10), CAPPED.energy_j(1e11, 5e10)
    assert seconds == pytest.approx(60.0 / 40.0)  # 60 J of flops and bytes, 40 W above constant power
    assert joules / seconds == pytest.approx(60.0)
    assert joules > MACHINE.energy_j(1e11, 5e10)
    assert CAPPED.relative_speed(2.0) == pytest.approx(2 / 3)
    assert CAPPED.without_limit() == MACHINE


def test_a_run_that_takes_longer_than_the_roofs_allow_draws_less():
    assert MACHINE.power_of_run_w(1e11, 5e10, 1.0) == pytest.approx(MACHINE.power_w(2.0))
    assert MACHINE.power_of_run_w(1e11, 5e10, 2.0) == pytest.approx(20.0 + 60.0 / 2)
    assert CAPPED.power_of_run_w(1e11, 5e10, 1.0) == 60.0
    with pytest.raises(ValueError, match="time_s"):
        MACHINE.power_of_run_w(1.0, 1.0, 0.0)


@pytest.mark.parametrize("machine", [MACHINE, CAPPED])
def test_power_is_energy_over_time_at_every_intensity(machine):
    work, traffic = np.ones(5), 1.0 / INTENSITIES
    ratio = machine.energy_j(work, traffic) / machine.time_s(work, traffic)
    assert machine.power_w(INTENSITIES) == pytest.approx(ratio)


@pytest.mark.parametrize(
    "line",
    [
        "power_w",
        "demanded_power_w",
        "flops_per_s",
        "flops_per_j",
        "relative_speed",
        "relative_efficiency",
        "effective_energy_balance",
    ],
)
def test_an_array_gives_what_its_numbers_give(line):
    of_array = getattr(CAPPED, line)(INTENSITIES)
    assert of_array.tolist() == pytest.approx([getattr(CAPPED, line)(one) for one in INTENSITIES.tolist()])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("flop_time_s", 0.0),
        ("byte_time_s", float("inf")),
        ("flop_energy_j", 0.0),
        ("byte_energy_j", -1e-12),
        ("constant_power_w", float("nan")),
        ("power_limit_w", 20.0),
    ],
)
def test_impossible_machines_are_refused(field, value):
    with pytest.raises(ValueError, match="power limit" if field == "power_limit_w" else field):
        replace(MACHINE, **{field: value})


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), np.array([1.0, 0.0])])
def test_impossible_intensities_are_refused(bad):
    with pytest.raises(ValueError, match="intensity"):
        MACHINE.power_w(bad)
    with pytest.raises(ValueError, match="work_flop"):
        MACHINE.time_s(-1.0 * abs(bad) - 1.0, 1.0 + 0.0 * abs(bad))


def test_what_the_limit_leaves_of_peak_and_efficiency():
    gtx580 = EnergyRoofline(1 / 1581.06e9, 1 / 192.4e9, 99.7e-12, 513e-12, 122.0, 244.0)
    assert gtx580.limited_flops_per_s == pytest.approx(1.2237e12, rel=1e-4)
    assert gtx580.limited_flops_per_j == pytest.approx(5.015e9, rel=1e-3)
    free = gtx580.without_limit()
    assert free.limited_flops_per_s == pytest.approx(free.peak_flops_per_s)
    assert free.limited_flops_per_j == pytest.approx(free.peak_flops_per_j)


def test_the_least_intensities_have_a_speed_and_watts():
    machine = EnergyRoofline(1e-12, 1e-11, 1e-11, 1e-10, 100.0, 200.0)
    assert machine.flops_per_s(1e-320) == pytest.approx(1e-309, rel=1e-3)
    assert machine.demanded_power_w(1e-320) == pytest.approx(110.0)
