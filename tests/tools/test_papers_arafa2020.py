from pathlib import Path

import pytest

from wattslice.ptx_energy.tables import watt_step_j
from wattslice_tools.papers.arafa2020 import (
    ADDITION,
    DIVISION,
    READINGS,
    UNITS,
    Reading,
    full_launches,
    latency_clocks,
    shared_power,
)
from wattslice_tools.papers.arafa2020_claims import (
    copied_rows,
    least,
    least_error_sum,
    papi_minus_mtsm,
    unoptimized_over_optimized,
)

DOCS = Path(__file__).parents[2] / "docs"


def test_only_microjoules_without_optimisation_give_watts_a_board_can_draw() -> None:
    possible = [(name, reading) for reading in READINGS for name, unit_j in UNITS if reading.possible(unit_j)]
    assert possible == [("µJ", Reading(False, 20e6))]


def test_the_watts_by_hand() -> None:
    # 20.2517 µJ x 20 million in 13 s, and 0.2384 µJ x 20 million in 0.28 s.
    reading = Reading(False, 20e6)
    assert reading.power_w(DIVISION, 1e-6) == pytest.approx(405.034 / 13)
    assert reading.power_w(ADDITION, 1e-6) == pytest.approx(4.768 / 0.28)


def test_both_kernels_agree_on_an_idle_board() -> None:
    power_w, overhead_s = shared_power()
    assert power_w * (13.0 - overhead_s) == pytest.approx(405.034)
    assert power_w * (0.28 - overhead_s) == pytest.approx(4.768)
    assert 30 < power_w < 41
    assert 0 < overhead_s < 0.28


def test_an_optimised_addition_would_take_less_than_a_clock() -> None:
    assert latency_clocks(ADDITION, True) < 0.1
    assert latency_clocks(DIVISION, True) == pytest.approx(148, abs=1)


def test_the_claims_counted() -> None:
    assert least(True, "MTSM") == {"Maxwell": 4, "Pascal": 3, "Volta": 24, "Turing": 1}
    largest, row, gpu, optimized = papi_minus_mtsm()[0]
    assert (round(largest, 4), row[1], gpu, optimized) == (3.8102, "{s} div", "Maxwell", True)
    assert all(
        ratio > 1
        for gpu in ("Maxwell", "Pascal", "Volta", "Turing")
        for ratio in unoptimized_over_optimized(gpu)
    )
    assert least_error_sum(True) > 0.0639 + 0.1024 > least_error_sum(True, False) > least_error_sum(False)


def test_the_copies_found() -> None:
    everywhere = {row for row, original, places in copied_rows() if original == ADDITION and len(places) == 8}
    assert {name for _, name in everywhere} == {"and / or / not / xor", "shl / shr", "add / sub / min / max"}


def test_threads_times_energy_would_be_kilowatts() -> None:
    for launch in full_launches():
        assert launch.multiply_adds == 2048**3
        assert launch.power_w < 300
        for optimized in (True, False):
            assert launch.absurd_w(optimized) > 10 * launch.power_w


def test_the_page_about_the_command_tells_the_computed_figures() -> None:
    page = " ".join((DOCS / "instruction-energies.md").read_text(encoding="utf-8").split())
    _, volta = full_launches()
    power_w, _ = shared_power()
    for figure in (
        f"drew {volta.power_w:.0f} W on a V100 would come to {volta.absurd_w(True) / 1e3:.1f} kW with `-O3`, "
        f"{volta.absurd_w(False) / 1e3:.0f} kW with `-O0`",
        f"the numbers are {power_w:.1f} W",
        f"{1e9 * watt_step_j(optimized=True):.0f} nJ with `-O3`",
        f"{1e9 * watt_step_j(optimized=False):.0f} nJ with `-O0`",
    ):
        assert figure in page
