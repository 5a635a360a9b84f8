import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattslice_models.program_power import (
    SlicePower,
    SubSlice,
    arithmetic_density,
    branch_dense_power_w,
    branch_sparse_power_w,
    effective_density,
    effective_length,
    execution_probabilities,
    normalised_accesses,
    program_energy_j,
)
from wattslice_models.types import AccessCounts, PowerFactors

FACTORS = PowerFactors(1.0, 0.1, 0.05, 0.5, provenance="test", gpu_matched=True)
# The paper's example of section 4.3: the dense statement 8 executes with a probability of only 0.001.
OFTEN = SubSlice(length=9, probability=0.999, arithmetic_operations=18, normalised_accesses=9)
RARE = SubSlice(length=1, probability=0.001, arithmetic_operations=500, normalised_accesses=1)

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
    assert program_energy_j(parts, time_s=2) == pytest.approx(250)
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


def test_rare_sub_slices_are_dropped() -> None:
    assert effective_length((OFTEN, RARE), threshold=0.001) == 9
    assert effective_length((OFTEN, RARE), threshold=0.0005) == 10
    assert effective_density((OFTEN, RARE), threshold=0.001).value == 2
    assert effective_density((OFTEN, RARE), threshold=0.0).value == pytest.approx(51.8)


def test_nothing_above_the_threshold_is_unknown() -> None:
    gone = effective_density((RARE,), threshold=0.5)
    assert gone.value is None
    assert "above 0.5" in gone.reason
    assert branch_dense_power_w((SlicePower(100, effective_length((RARE,), 0.5)),)) is None


def test_bdpm_follows_algorithm_4_not_equation_13() -> None:
    effective = (SlicePower(100, 9), SlicePower(200, 3))
    assert branch_dense_power_w(effective) == pytest.approx(125)
    assert branch_dense_power_w(effective, total_length=16) == pytest.approx(93.75)
    with pytest.raises(ValueError, match="less than the effective length"):
        branch_dense_power_w(effective, total_length=11)


@given(slices)
def test_bdpm_without_rare_branches_is_bspm(parts: tuple[SlicePower, ...]) -> None:
    assert branch_dense_power_w(parts) == branch_sparse_power_w(parts)


def test_probabilities_are_means_over_data_sets() -> None:
    assert execution_probabilities(((3, 1), (1, 1))) == pytest.approx((0.625, 0.375))


@given(st.lists(st.lists(st.integers(0, 1000), min_size=3, max_size=3), min_size=1, max_size=5))
def test_probabilities_sum_to_one(rows: list[list[int]]) -> None:
    counts = tuple((*row, 1) for row in rows)
    assert sum(execution_probabilities(counts)) == pytest.approx(1)


@pytest.mark.parametrize("executions", [(), ((1, 2), (1,)), ((-1, 2),), ((1, 1), (0, 0))])
def test_impossible_executions_are_refused(executions: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(ValueError):
        execution_probabilities(executions)


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan")])
def test_impossible_thresholds_are_refused(threshold: float) -> None:
    with pytest.raises(ValueError):
        effective_length((OFTEN,), threshold)
