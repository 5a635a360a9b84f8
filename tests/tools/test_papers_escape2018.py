from statistics import stdev

import pytest

from wattslice_corpora.published.escape2018 import escape2018_path, escape2018_roofline
from wattslice_corpora.published.escape2018_cpu import escape2018_skylake_states
from wattslice_corpora.published.escape2018_energy import (
    escape2018_bifft,
    escape2018_bifft_energy,
    escape2018_gpu_power,
)
from wattslice_models.node_energy import gpu_energy_j
from wattslice_tools.papers import escape2018_rooflines as rooflines
from wattslice_tools.papers.escape2018 import dwarf_time_s, escape2018, recomputed_times
from wattslice_tools.papers.escape2018_energy import (
    coefficients,
    fitted_coefficients,
    spherical_node_energies,
)
from wattslice_tools.papers.escape2018_inputs import published_rates
from wattslice_tools.papers.escape2018_nodes import spherical_time_s
from wattslice_tools.papers.escape2018_rooflines import contradictory_cells, escape2018_rooflines
from wattslice_tools.papers.markdown import relative_error, rms

WORST_TOTAL = {0: 0.0045, 1: 0.0033, 2: 0.0158}
"""GeForce 970, Tesla K20m, Tesla 2070-q: what of Tables 12 to 17 Table 11 with N doubled leaves."""


@pytest.mark.parametrize("number", range(12, 18))
def test_the_time_model_gives_the_printed_times_with_n_doubled(number: int) -> None:
    found = tuple(recomputed_times(number))
    assert len(found) == 7
    for one in found:
        assert one.doubled.total_s == pytest.approx(one.printed.modelled_s, rel=WORST_TOTAL[number % 3])
        assert one.doubled.compute_s == pytest.approx(one.printed.compute_s, rel=0.008)
        assert one.doubled.inactive_s == pytest.approx(one.printed.inactive_s, rel=0.008)
        transfer = 0.042 if number % 3 == 2 else 0.006
        assert one.doubled.transfer_s == pytest.approx(one.printed.transfer_s, rel=transfer)
        assert one.stated.total_s == pytest.approx(one.printed.modelled_s / 2, rel=0.016)


@pytest.mark.parametrize(
    ("number", "caption"), [(12, 0.08), (13, 0.15), (14, 0.23), (15, 0.07), (16, 0.15), (17, 0.23)]
)
def test_square_errors_of_the_captions_are_root_mean_squares(number: int, caption: float) -> None:
    errors = [relative_error(one.doubled.total_s, one.printed.measured_s) for one in recomputed_times(number)]
    assert rms(errors) == pytest.approx(caption, abs=0.005)


@pytest.mark.parametrize("number", [18, 19, 20])
def test_the_whole_dwarf_takes_the_printed_times(number: int) -> None:
    for row in escape2018_roofline(number):
        assert dwarf_time_s(row.gpu, row.name) == pytest.approx(row.time_s, rel=0.006)


def test_node_energies_are_the_printed_ones() -> None:
    errors: list[float] = []
    for _, energy, package_j, memory_j, package_measured_j, memory_measured_j in spherical_node_energies():
        assert energy.package_j == pytest.approx(package_j, abs=0.04)
        assert energy.memory_j == pytest.approx(memory_j, abs=0.04)
        errors.append(1 - (package_measured_j + memory_measured_j) / energy.total_j)
    assert max(errors) == pytest.approx(0.077, abs=5e-4)
    assert stdev(errors) == pytest.approx(0.0324, abs=5e-5)
    assert sum(errors) / 4 == pytest.approx(0.0484, abs=5e-5)  # printed: 7.7 %


@pytest.mark.parametrize(
    ("number", "full", "idle"), [(33, 0.50929, 1.2354), (34, 0.654, -0.944), (42, 0.042771, 3.2698)]
)
def test_least_squares_of_the_printed_powers(number: int, full: float, idle: float) -> None:
    found = fitted_coefficients(number)
    assert (found.full_share, found.idle_share) == pytest.approx((full, idle), rel=1e-3)
    printed = coefficients(number)[1]
    assert (abs(printed.full_share - full) < 1e-4) is (number == 42)


def test_gpu_powers_are_shares_of_the_limit() -> None:
    for gpu in escape2018_gpu_power():
        share = round(gpu.share_of_limit, 4)
        assert gpu_energy_j(10.0, 0.0, share, gpu.limit_w) == pytest.approx(10 * gpu.average_w, rel=3e-4)


def test_errors_of_bifft_are_the_printed_ones_but_for_their_mean() -> None:
    errors = [relative_error(row.modelled_j, row.measured_j) for row in escape2018_bifft_energy()]
    sizes = [abs(error) for error in errors]
    assert (max(sizes), min(sizes)) == pytest.approx((0.0608, 0.0023), abs=5e-5)
    assert stdev(errors) == pytest.approx(0.0281, abs=5e-5)
    assert sum(sizes) / len(sizes) == pytest.approx(0.0246, abs=5e-5)  # printed: 8.59 %


def test_nodes_divide_the_time_of_spherical_harmonics() -> None:
    assert spherical_time_s(14, 8) == pytest.approx(spherical_time_s(14, 1) / 8)
    assert spherical_time_s(14, 1) < spherical_time_s(1, 1) / 10
    assert [published_rates(row) is None for row in escape2018_skylake_states()].count(True) == 1


def test_the_page_says_what_does_not_reproduce() -> None:
    text = "\n".join(escape2018())
    assert "Largest difference from the printed T sim 0.55%" in text
    assert "A mean above the largest error is impossible" in text
    assert "L1 damaged in print" in text


def test_cells_of_tables_4_to_6_that_the_paper_contradicts() -> None:
    assert contradictory_cells() == (
        "Table 4 prints 0.267 s (its T sim) for 30x30x80, Table 18 0.269 s as T prof",
        "Table 6 prints Q = 2.46e+08 for 15x15x80, where the cells of 200x200x80 give 2.4e+08",
    )


@pytest.mark.parametrize("number", [1, 4, 18, 38])
@pytest.mark.parametrize("column", [1, 2, 3, 4, 5])
def test_a_wrong_cell_of_a_roofline_changes_the_page(number, column, tmp_path, monkeypatch) -> None:
    before = escape2018_rooflines()
    path = escape2018_path(number)
    lines = path.read_text(encoding="utf-8").splitlines()
    cells = lines[-1].split(",")
    cells[column] = f"{1.1 * float(cells[column]):.3g}"
    damaged = tmp_path / path.name
    damaged.write_text("\n".join([*lines[:-1], ",".join(cells)]) + "\n", encoding="utf-8")
    reader = escape2018_bifft if number == 38 else escape2018_roofline

    def read(wanted: int):
        return reader(wanted, damaged if wanted == number else None)

    monkeypatch.setattr(rooflines, reader.__name__, read)
    assert escape2018_rooflines() != before
