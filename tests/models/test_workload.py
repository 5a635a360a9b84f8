import pytest

from wattslice_models.workload import Instructions, Workload


def test_derived_numbers_of_a_launch():
    work = Workload(10, 100, 8.0, Instructions(fp32=3.0, other=1.0))
    assert (work.warps_per_block, work.threads, work.warps) == (4, 1000, 40)


def test_issue_slots_fall_back_to_the_instructions_of_a_thread():
    assert (
        Workload(1, 32, 1.0, Instructions(fp32=3.0, load_store=2.0, tensor=256.0)).issue_slots_per_warp == 9.0
    )
    assert Workload(1, 32, 1.0, Instructions(fp32=3.0), warp_instructions=9.0).issue_slots_per_warp == 9.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Workload(0, 32, 1.0, Instructions()),
        lambda: Workload(1, 0, 1.0, Instructions()),
        lambda: Workload(1, 32, 0.0, Instructions()),
        lambda: Workload(1, 32, float("nan"), Instructions()),
        lambda: Workload(1, 32, 1.0, Instructions(fp64=-1.0)),
        lambda: Workload(1, 32, 1.0, Instructions(), l2_bytes=float("inf")),
    ],
)
def test_what_cannot_run_is_refused(make):
    with pytest.raises(ValueError):
        make()
