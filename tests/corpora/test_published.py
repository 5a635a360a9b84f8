from pathlib import Path

import pytest

from wattslice_corpora.published import (
    PublishedTableError,
    table_source,
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
