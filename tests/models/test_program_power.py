import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice_models.program_power import (
    SlicePower,
    arithmetic_density,
    branch_sparse_power_w,
    normalised_accesses,
)
from wattslice_models.types import AccessCounts, PowerFactors

FACTORS = PowerFactors(1.0, 0.1, 0.05, 0.5, provenance="test", gpu_matched=True)

slices = st.lists(st.builds(SlicePower, st.floats(1, 1000), st.floats(0.5, 1e6)), min_size=1, max_size=8).map(
    tuple
)


def test_normalised_accesses_by_hand() -> None:
    counts = AccessCounts(global_memory=10, shared_memory=20, constant_memory=40, texture_memory=4)
    assert normalised_accesses(counts, FACTORS) == pytest.approx(10 + 2 + 2 + 2)


def test_density_is_undefined_without_memory() -> None:
    assert arithmetic_density(8, 2).value == 4
    assert arithmetic_density(0, 2).value == 0
    without = arithmetic_density(8, 0)
    assert without.value is None
    assert "no memory access" in without.reason
    with pytest.raises(ValueError):
        arithmetic_density(-1, 2)


def test_bspm_by_hand() -> None:
    parts = (SlicePower(100, 30), SlicePower(200, 10))
    assert branch_sparse_power_w(parts) == pytest.approx(125)
    assert branch_sparse_power_w(()) is None
    assert branch_sparse_power_w((SlicePower(100, 0),)) is None


@given(slices, st.floats(0.1, 100))
def test_bspm_is_a_mean_and_knows_no_unit_of_length(parts: tuple[SlicePower, ...], scale: float) -> None:
    power_w = branch_sparse_power_w(parts)
    assert power_w is not None
    powers = [part.power_w for part in parts]
    assert min(powers) * (1 - 1e-9) <= power_w <= max(powers) * (1 + 1e-9)
    scaled = tuple(SlicePower(part.power_w, part.length * scale) for part in parts)
    assert branch_sparse_power_w(scaled) == pytest.approx(power_w)
