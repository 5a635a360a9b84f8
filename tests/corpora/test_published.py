from pathlib import Path

import pytest

from wattslice_corpora.published.arafa2020 import arafa2020_instruction_energies
from wattslice_corpora.published.escape2018 import (
    escape2018_gpus,
    escape2018_kernels,
    escape2018_roofline,
    escape2018_tables,
    escape2018_verification,
)
from wattslice_corpora.published.escape2018_energy import (
    escape2018_bifft,
    escape2018_bifft_energy,
    escape2018_coefficients,
    escape2018_cpu_power,
    escape2018_gpu_power,
    escape2018_node_energy,
)
from wattslice_corpora.published.tables import PublishedTableError, table_source
from wattslice_corpora.published.wang2013 import (
    wang2013_dense_programs,
    wang2013_regressions,
    wang2013_relative_errors,
    wang2013_sparse_programs,
    wang2013_tables,
)


def test_every_table_names_its_source() -> None:
    assert len(wang2013_tables()) == 4
    assert all("24(8):1746-1760" in table_source(path) for path in wang2013_tables())


def test_tables_have_the_printed_number_of_rows() -> None:
    assert [row.gpu for row in wang2013_regressions()] == ["GTX260", "GTX280", "C870", "GTX480"]
    assert len(wang2013_sparse_programs()) == 8
    assert len(wang2013_dense_programs()) == 5
    assert len(wang2013_relative_errors()) == (8 + 5) * 6


def test_a_row_is_read_as_printed() -> None:
    dotp = wang2013_sparse_programs()[0]
    assert (dotp.program, dotp.sm_saturation, dotp.arithmetic_density) == ("Dotp", 0.5, 20.5)
    assert (dotp.printed_prediction_w, dotp.measured_w) == (114.6, 119.5)
    first = wang2013_relative_errors()[0]
    assert (first.gpu, first.sm_saturation) == ("GTX280", 1.0)
    assert first.relative_error == pytest.approx(0.0422)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpu\nx\n", r"t\.csv:1: .*# Source:"),
        ("# Source: s\ngpu\nGTX280\n", r"t\.csv:3: column 'beta0_x1_SM_saturation' is missing"),
        ("# Source: s\ngpu,beta0_x1_SM_saturation\nGTX280,many\n", r"t\.csv:3: .*not a number: 'many'"),
    ],
)
def test_a_damaged_table_names_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(PublishedTableError, match=message):
        wang2013_regressions(path)


def test_every_table_of_the_escape_deliverable_names_itself() -> None:
    assert len(escape2018_tables()) == 41
    for path in escape2018_tables():
        assert "D3.5: Projections of achievable performance" in table_source(path)
        assert f"; Table {int(path.stem.removeprefix('table'))}: " in table_source(path)


def test_instruction_energies_are_microjoules_of_the_printed_numbers() -> None:
    rows = arafa2020_instruction_energies()
    assert len(rows) == 32 * 4 * 2 * 2
    assert sum(row.energy_j is None for row in rows) == 4
    first = rows[0]
    assert (first.gpu, first.optimized, first.method) == ("GTX TITAN X (Maxwell, cc5.2)", True, "PAPI")
    assert first.energy_j == pytest.approx(0.0942e-6)


def test_times_of_the_kernels_agree_between_the_escape_tables() -> None:
    for number in (12, 13, 14):
        verified = escape2018_verification(number)
        roofline = escape2018_roofline(number - 11)
        assert [row.gpu for row in verified] == [row.gpu for row in roofline]
        for row, line in zip(verified, roofline, strict=True):
            assert row.modelled_s == pytest.approx(line.time_s, rel=0.01)
            assert row.compute_s + row.transfer_s + row.inactive_s == pytest.approx(row.modelled_s, rel=0.03)
    for number in (15, 16, 17):
        whole = next(row for row in escape2018_verification(number) if row.kernel == "Dwarf")
        sizes = {row.name: row for row in escape2018_roofline(number + 3)}
        assert sizes[whole.domain].gpu == whole.gpu
        assert sizes[whole.domain].time_s == pytest.approx(whole.modelled_s, rel=0.01)


def test_the_transfer_time_follows_from_the_characteristics() -> None:
    """Table 11 gives half of every printed time: N is twice what the text says (3.2 million cells)."""
    gpus = {gpu.gpu: gpu for gpu in escape2018_gpus()}
    printed = {row.kernel: row for row in escape2018_verification(12)}
    for kernel in escape2018_kernels():
        row = printed[kernel.kernel]
        cells_bytes_per_s = kernel.memory_efficiency * gpus[row.gpu].memory_bandwidth_bytes_per_s
        assert 6.4e6 * kernel.requested_bytes / cells_bytes_per_s == pytest.approx(row.transfer_s, rel=0.01)


def test_energies_follow_from_the_printed_coefficients() -> None:
    package = escape2018_coefficients(33)[1]
    rows = escape2018_node_energy()
    assert (rows[0].cores, rows[0].time_s) == (0, None)
    assert package.busy is not None
    assert package.idle is not None
    for row in rows[1:]:
        assert row.time_s is not None
        modelled = row.time_s * (package.busy * row.package_w + package.idle * rows[0].package_w)
        assert modelled == pytest.approx(row.package_modelled_j, abs=0.05)
    for number in (33, 34, 42, 43):
        assert escape2018_coefficients(number)[0].measured_w is None
    assert [row.cores for row in escape2018_cpu_power()] == [0, 1, 2, 3, 4]
    for gpu in escape2018_gpu_power():
        assert gpu.average_w / gpu.limit_w == pytest.approx(gpu.share_of_limit, abs=5e-4)


def test_bifft_is_read_with_its_cases() -> None:
    assert [row.case for row in escape2018_bifft(38)] == [row.case for row in escape2018_bifft(39)]
    assert escape2018_bifft(38)[0].traffic_bytes == pytest.approx(32.81e9)
    worst = max(abs(row.modelled_j / row.measured_j - 1) for row in escape2018_bifft_energy())
    assert worst == pytest.approx(0.0608, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# Source: s\n# more\ncategory\nInteger\n", r"t\.csv:4: column 'optimized' is missing"),
        (
            "# Source: s\ncategory,instruction,gpu,optimized,method,energy_uj\na,b,c,maybe,PAPI,1\n",
            r"t\.csv:3: 'optimized' is neither",
        ),
    ],
)
def test_a_damaged_energy_table_names_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(PublishedTableError, match=message):
        arafa2020_instruction_energies(path)


def test_a_table_without_a_symbol_says_which(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("# Source: s\nsymbol,GeForce 970\nSM,13\n")
    with pytest.raises(PublishedTableError, match=r"t\.csv:1: no row whose symbol is 'C_G'"):
        escape2018_gpus(path)
