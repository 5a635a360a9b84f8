import numpy as np
import pytest

from wattslice_models.node_energy import (
    PartPower,
    PowerCoefficients,
    fit_power_coefficients,
    gpu_energy_j,
    node_energy,
    part_power_w,
)

PACKAGE, MEMORY = PartPower(40.0, 10.0), PartPower(8.0, 2.0)


def test_a_node_draws_shares_of_its_full_and_idle_power() -> None:
    half, quarter = PowerCoefficients(0.5, 0.1), PowerCoefficients(0.25, -0.5)
    energy = node_energy(2.0, PACKAGE, half, MEMORY, quarter)
    assert (energy.package_j, energy.memory_j, energy.total_j) == (42.0, 2.0, 44.0)
    swept = node_energy(
        np.array([1.0, 2.0]),
        PartPower(np.array([20.0, 40.0]), np.full(2, 10.0)),
        half,
        PartPower(np.full(2, 8.0), np.full(2, 2.0)),
        quarter,
    )
    assert swept.total_j == pytest.approx([12.0, 44.0])


def test_a_gpu_draws_a_share_of_its_limit_beside_an_idle_host() -> None:
    assert gpu_energy_j(10.0, 5.0, 0.5, 200.0) == 1050.0
    assert gpu_energy_j(np.array([1.0, 2.0]), 5.0, 0.5, 200.0) == pytest.approx([105.0, 210.0])


def test_a_fit_finds_the_coefficients_that_made_the_powers() -> None:
    true = PowerCoefficients(0.6, -0.4)
    full = [23.28, 35.12, 42.85, 49.71]
    measured = [part_power_w(PartPower(watts, 5.53), true) for watts in full]
    found = fit_power_coefficients(full, 5.53, measured)
    assert (found.full_share, found.idle_share) == pytest.approx((0.6, -0.4))
    with pytest.raises(ValueError, match="nothing tells U from S"):
        fit_power_coefficients([1.0, 1.0], 5.0, [1.0, 2.0])
    with pytest.raises(ValueError, match="two of each"):
        fit_power_coefficients([1.0], 5.0, [1.0])
