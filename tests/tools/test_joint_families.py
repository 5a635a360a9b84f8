"""Which programs leave the joint model's training together, and what intervals are made of."""

from __future__ import annotations

import pytest

from wattslice_corpora.synthetic.grid import default_grid
from wattslice_models.contract import Example, RepeatedLaunch, Subject
from wattslice_models.energy import Case
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import load_gpu
from wattslice_models.joint_rows import Reading
from wattslice_models.workload import Instructions, Workload
from wattslice_tools.accuracy.joint_training import case_interval, family

V100 = load_gpu("v100_pcie")


@pytest.mark.parametrize(
    ("benchmark", "name"),
    [
        ("mixbench-cuda-ro", "mixbench"),
        ("matrixMulGlobal", "matrixMul"),
        ("global_fp32_coalesced_d0.5_s1_zeros", "global_fp32"),
        ("global_fp32_random_d4_s0.6", "global_fp32"),
        ("global_fp64_coalesced_d4_s1", "global_fp64"),
        ("shared_fp32_coalesced_d4_s1", "shared_fp32"),
        ("registers_tensor_s1", "registers_tensor"),
        ("global_sums", "global_sums"),
        ("shared_sums_of_rows", "shared_sums_of_rows"),
    ],
)
def test_siblings_leave_together(benchmark: str, name: str):
    assert family(benchmark) == name


def test_a_sweep_of_synthetic_slices_is_a_few_programs():
    grid = default_grid(132)
    assert {family(spec.name) for spec in grid} == {f"{spec.space.value}_{spec.kind.value}" for spec in grid}


def reading(program: str, doubt: str = "") -> Reading:
    work = Workload(80, 256, 64.0, Instructions(fp32=1.0), doubt=doubt)
    subject = Subject(V100, Clocks(), (RepeatedLaunch(work),))
    example = Example("set", program, "k", "", subject, 100.0, None)
    return Reading(V100, Clocks(), "set", program, 100.0, example)


def test_runs_in_doubt_have_an_interval_of_their_own():
    """Ten programs off by little and ten in doubt, off by much: neither widens the other's interval."""
    known = [(reading(f"p{number}"), 1.0 + 0.01 * (number - 5)) for number in range(10)]
    unsure = [(reading(f"p{10 + number}", "guessed"), 1.0 + 0.1 * (number - 5)) for number in range(10)]
    idle = Reading(V100, Clocks(), "set", "idle", 20.0)
    found = case_interval(Case.MEASURED, [*known, *unsure, (idle, 9.0)])
    assert (found.interval.low, found.interval.high) == pytest.approx((0.95, 1 / 0.95))
    assert (found.doubted.low, found.doubted.high) == pytest.approx((0.5, 2.0))
    assert [found.of(one.example) for one, _ in (known[0], unsure[0]) if one.example is not None] == [
        found.interval,
        found.doubted,
    ]


def test_siblings_have_one_voice_in_an_interval():
    """Forty matrix products, all off by a half, are one application among forty that are off by nothing."""
    others = [(reading(f"p{number}"), 1.0) for number in range(39)]
    siblings = [(reading(f"matrixMul{number}"), 1.5) for number in range(40)]
    unsure = [(reading("q", "guessed"), 1.0)]
    found = case_interval(Case.MEASURED, [*others, *siblings, *unsure])
    assert (found.interval.low, found.interval.high) == (1.0, 1.0)
    assert "40 board's applications" in found.interval.source
