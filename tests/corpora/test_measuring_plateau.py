import numpy as np
import pytest
from numpy.typing import NDArray

from wattslice_corpora.measuring.plateau import denoised, find_plateau, without_spikes

TIMES_S = tuple(float(time) for time in np.arange(0.0, 6.0, 0.015))


def rising_and_falling(noise_w: float) -> NDArray[np.float64]:
    """Idle, an exponential rise at 1 s to 300 W, idle again from 5 s on."""
    times = np.array(TIMES_S)
    rise = 300.0 - 210.0 * np.exp(-(times - 1.0) / 0.1)
    powers = np.where(times < 1.0, 90.0, np.where(times < 5.0, rise, 120.0))
    return powers + np.random.default_rng(7).normal(0.0, noise_w, times.size)


@pytest.mark.parametrize("noise_w", [0.0, 2.0, 8.0])
def test_the_plateau_is_found_through_noise_and_wild_readings(noise_w: float):
    powers = rising_and_falling(noise_w)
    powers[150], powers[200] = 6553.5, 0.0
    plateau = find_plateau(TIMES_S, tuple(powers))
    assert plateau is not None
    assert plateau.power_w == pytest.approx(300.0, rel=0.01)
    assert 1.1 < plateau.begin_s < 1.5
    assert 4.8 < plateau.end_s < 5.1
    assert plateau.noise_w == pytest.approx(noise_w, abs=0.35 * noise_w + 0.1)


def test_a_constant_trace_is_one_plateau():
    plateau = find_plateau(TIMES_S, tuple(200.0 + 0.0 * rising_and_falling(0.0)))
    assert plateau is not None
    assert (plateau.begin_s, plateau.end_s) == (TIMES_S[0], TIMES_S[-1])


def test_the_longer_of_two_plateaus_is_taken():
    times = np.array(TIMES_S)
    powers = np.where(times < 2.0, 310.0, np.where(times < 2.5, 100.0, 290.0))
    plateau = find_plateau(TIMES_S, tuple(powers))
    assert plateau is not None
    assert plateau.power_w == pytest.approx(290.0)


def test_too_few_readings_have_no_plateau():
    assert find_plateau(TIMES_S[:7], (1.0,) * 7) is None


def test_spikes_go_and_steps_stay():
    step = np.where(np.arange(40) < 20, 100.0, 200.0)
    spiked = step.copy()
    spiked[10] = 900.0
    assert without_spikes(spiked) == pytest.approx(step)
    smooth, noise_w = denoised(step)
    assert smooth == pytest.approx(step)
    assert noise_w == pytest.approx(0.0)
