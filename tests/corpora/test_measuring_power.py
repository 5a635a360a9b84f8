import math
import random

import pytest
from msgspec.structs import replace

from wattslice_corpora.measuring.power import Method, counter_power, integrated_power, power_of
from wattslice_corpora.measuring.sensor import Reading, Throttle
from wattslice_corpora.measuring.trace import Trace

from .power_traces import IDLE_W, Course, without


def test_all_methods_agree_on_a_steady_kernel():
    power = power_of(Course().trace())
    assert power.invalid == ""
    assert power.method is Method.ENERGY_COUNTER
    powers = power.powers
    for watts in (powers.energy_counter_w, powers.mtsm_w, powers.sma_w, powers.papi_w):
        assert watts == pytest.approx(300.0, rel=0.01)
    assert power.energy_j == pytest.approx(300.0 * 2.5 / 25000, rel=0.01)
    assert power.idle_w == pytest.approx(IDLE_W, abs=2.0)
    assert power.memory_w == pytest.approx(60.0, rel=0.01)
    assert (power.capped, power.throttled) == (False, False)


def test_a_counter_that_wraps_at_32_bits_still_counts():
    modulus_j = 2**32 * 1e-3
    wraps = Course(counter_start_j=modulus_j - 700.0, counter_modulus_j=modulus_j).trace()
    inside = wraps.between(2.0, 4.5)
    energies = [reading.energy_j or 0.0 for reading in inside]
    assert energies[0] > energies[-1]
    assert counter_power(inside) == pytest.approx(300.0, rel=0.01)


def test_a_counter_that_starts_anew_is_not_believed():
    trace = Course(counter_start_j=0.0, counter_modulus_j=600.0).trace()
    power = power_of(trace)
    assert power.powers.energy_counter_w is None
    assert power.method is Method.MTSM
    assert "energy counter stood still or went backwards" in power.invalid


def test_a_counter_that_stands_still_is_told():
    assert "stood still" in power_of(Course(counter_factor=0.0).trace()).invalid


def test_counter_and_samples_apart_by_more_than_three_percent_are_told():
    assert power_of(Course(counter_factor=1.02).trace()).invalid == ""
    power = power_of(Course(counter_factor=1.05).trace())
    assert "energy counter and samples are 5.0%" in power.invalid
    assert power.power_w == pytest.approx(315.0, rel=0.01)  # kept, though flagged


def test_a_board_without_a_counter_is_measured_by_its_samples():
    power = power_of(without(Course().trace(), energy_j=None))
    assert (power.method, power.invalid) == (Method.MTSM, "")
    assert power.power_w == pytest.approx(300.0, rel=0.01)
    assert power.energy_j is None


def test_a_board_that_only_averages_is_measured_by_the_averages():
    power = power_of(without(Course().trace(), instant_w=None, memory_w=None, energy_j=None))
    assert power.power_w == pytest.approx(300.0, rel=0.01)
    assert power.memory_w is None


def test_a_dead_sensor_gives_no_watts():
    dead = without(Course().trace(), instant_w=None, average_w=None, energy_j=None)
    power = power_of(dead)
    assert power.power_w is None
    assert "missing or dead" in power.invalid


def test_a_sensor_that_never_moves_is_not_believed():
    trace = without(Course(busy_w=IDLE_W, noise_w=0.0).trace(), energy_j=None)
    assert "never moved" in power_of(trace).invalid


def test_a_board_that_mostly_does_not_answer_is_not_believed():
    trace = replace(Course().trace(), failures=100)
    assert "the sensor failed 100 of 400 times" in power_of(trace).invalid


def test_a_short_window_is_told():
    assert "shorter than 2 s" in power_of(Course(window_s=1.5).trace()).invalid


def test_heat_that_slows_the_clocks_spoils_the_row():
    power = power_of(Course(throttle=Throttle.HW_THERMAL).trace())
    assert power.throttled
    assert "heat slowed the clocks" in power.invalid


def test_a_power_cap_is_a_censored_value_and_not_a_fault():
    power = power_of(Course(throttle=Throttle.POWER_CAP).trace())
    assert (power.capped, power.throttled, power.invalid) == (True, False, "")


def test_a_board_that_swings_about_its_limit_has_the_mean_of_the_window():
    readings = tuple(swinging(reading) for reading in Course(throttle=Throttle.POWER_CAP).trace().readings)
    trace = replace(Course().trace(), readings=readings)
    power = power_of(trace)
    inside = trace.between(2.0, 4.5)
    assert (power.capped, power.invalid) == (True, "")
    assert power.powers.mtsm_w == integrated_power(inside)
    assert power.power_w == pytest.approx(680.0, rel=0.02)  # three halves of a second high, two low
    assert power.core_mhz == pytest.approx(1836.0, rel=0.02)
    free = replace(trace, readings=tuple(replace(one, throttle=Throttle.NONE) for one in readings))
    assert "not steady" in power_of(free).invalid


def swinging(reading: Reading) -> Reading:
    """500 W and 800 W, each for half a second; the clock swings along."""
    at_s = math.floor(reading.time_s * 10) / 10
    high = at_s % 1.0 < 0.5
    whole, rest = divmod(at_s, 1.0)
    energy_j = 650.0 * whole + (800.0 * rest if rest < 0.5 else 400.0 + 500.0 * (rest - 0.5))
    power_w = 800.0 if high else 500.0
    return replace(reading, instant_w=power_w, energy_j=energy_j, core_mhz=1980.0 if high else 1620.0)


def test_unknown_throttling_stays_unknown():
    power = power_of(Course(throttle=None).trace())
    assert (power.capped, power.throttled) == (None, None)


def test_a_clock_that_moves_is_told():
    trace = Course().trace()
    slower = tuple(
        replace(reading, core_mhz=1500.0) if reading.time_s > 3.0 else reading for reading in trace.readings
    )
    assert "clock moved from 1500 to 1980 MHz" in power_of(replace(trace, readings=slower)).invalid


def test_a_kernel_that_stops_half_way_is_not_steady():
    trace = Course().trace()
    stopped = tuple(
        replace(reading, instant_w=IDLE_W) if reading.time_s > 3.5 else reading for reading in trace.readings
    )
    assert "not steady: the plateau covers" in power_of(replace(trace, readings=stopped)).invalid


def test_the_integral_is_the_area_under_the_samples():
    course = Course(noise_w=0.0)
    readings = (course.reading(0.0), replace(course.reading(1.0), instant_w=170.0))
    assert integrated_power(readings) == pytest.approx((IDLE_W + 170.0) / 2)
    assert integrated_power(readings[:1]) is None


def test_each_method_can_be_asked_for():
    trace = Course().trace()
    for method in Method:
        power = power_of(trace, method)
        assert power.method is method
        assert power.power_w == power.powers.by(method)


def held(scatter: float, seed: int) -> Trace:
    """A steady kernel whose sensor scatters by `scatter` from update to update, as Hopper's does."""
    chance = random.Random(seed)
    levels: dict[int, float] = {}

    def reading(before: Reading) -> Reading:
        factor = levels.setdefault(math.floor(before.time_s * 10), 1 + scatter * chance.gauss(0, 1))
        return replace(before, instant_w=(before.instant_w or 0.0) * factor)

    trace = Course(noise_w=0.0).trace()
    return replace(trace, readings=tuple(map(reading, trace.readings)))


@pytest.mark.parametrize("scatter", [0.01, 0.02, 0.03])
def test_a_sensor_that_holds_its_scattered_value_is_believed(scatter: float):
    steady = [power_of(held(scatter, seed)).invalid == "" for seed in range(40)]
    assert sum(steady) >= 36


def test_a_wild_value_that_the_sensor_holds_is_still_one_wild_value():
    trace = Course().trace()
    wild = tuple(
        replace(reading, instant_w=900.0) if 3.0 < reading.time_s < 3.1 else reading
        for reading in trace.readings
    )
    power = power_of(replace(trace, readings=wild))
    assert power.powers.sma_w == pytest.approx(300.0, rel=0.01)


def test_launches_too_short_to_hide_the_gaps_between_them_are_told():
    trace = Course().trace()
    short = replace(trace, window=replace(trace.window, launches=1_000_000))
    assert "launches of 2 µs: the gaps between them are some 24%" in power_of(short).invalid


def test_the_power_brake_is_no_heat():
    power = power_of(Course(throttle=Throttle.POWER_BRAKE | Throttle.HW_SLOWDOWN).trace())
    assert (power.capped, power.throttled, power.invalid) == (True, False, "")


def test_a_moment_of_heat_is_not_yet_throttling():
    trace = Course().trace()
    readings = tuple(
        replace(reading, throttle=Throttle.SW_THERMAL) if 3.0 < reading.time_s < 3.05 else reading
        for reading in trace.readings
    )
    assert power_of(replace(trace, readings=readings)).throttled is False
    half = tuple(
        replace(reading, throttle=Throttle.SW_THERMAL) if reading.time_s < 3.0 else reading
        for reading in trace.readings
    )
    assert power_of(replace(trace, readings=half)).throttled is True
