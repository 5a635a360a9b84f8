"""The machine parameters of Choi et al. 2013: as written down, and honest about what was only recalled."""

import pytest
from msgspec.structs import astuple

from wattslice_corpora.published.choi2013 import (
    choi2013_fermi,
    choi2013_figures,
    choi2013_machines,
    choi2013_tables,
)
from wattslice_corpora.published.tables import PublishedTableError, table_source


def test_every_table_names_its_source_and_says_what_was_recalled():
    assert [path.name for path in choi2013_tables()] == [
        "table2.csv",
        "table3.csv",
        "table4.csv",
        "figures.csv",
    ]
    for path in choi2013_tables():
        assert "doi:10.1109/IPDPS.2013.77" in table_source(path)
        assert "recalled" in path.read_text(encoding="utf-8").lower()
    assert {label.read for label in choi2013_figures()} == {"slides", "recalled"}


def test_a_machine_is_read_in_base_units():
    rows = {(row.machine, row.precision): row for row in choi2013_machines()}
    assert len(rows) == 4
    double = rows["gtx580", "double"]
    assert astuple(double)[3:] == pytest.approx((197.63e9, 192.4e9, 212e-12, 513e-12, 122.0, 244.0))
    assert rows["i7-950", "single"].power_limit_w is None
    assert choi2013_fermi().byte_energy_j == pytest.approx(360e-12)


def test_a_machine_of_one_table_only_is_refused(tmp_path):
    fitted = tmp_path / "table4.csv"
    fitted.write_text(choi2013_tables()[2].read_text(encoding="utf-8").replace("i7-950", "i7-960"))
    with pytest.raises(PublishedTableError, match=r"table3\.csv:6: i7-950 is not in table4\.csv"):
        choi2013_machines(fitted=fitted)
