from pathlib import Path

import pytest
from msgspec.structs import replace

from wattslice_corpora.published.wang2013 import (
    wang2013_dense_programs,
    wang2013_regressions,
    wang2013_sparse_programs,
)
from wattslice_models.regression import published_regression
from wattslice_tools.papers.__main__ import main
from wattslice_tools.papers.choi2013 import checked_labels
from wattslice_tools.papers.choi2013_pictures import plot_choi2013
from wattslice_tools.papers.page import papers_markdown
from wattslice_tools.papers.wang2013 import measured_over_computed, wang2013

COMMITTED = Path(__file__).parents[2] / "docs" / "appendix" / "papers.md"


def test_the_committed_file_is_the_generated_text() -> None:
    assert COMMITTED.read_text(encoding="utf-8") == papers_markdown(), (
        "run `python -m wattslice_tools.papers`"
    )


def test_models_use_table_1_as_printed() -> None:
    for row in wang2013_regressions():
        model = published_regression(row.gpu.lower())
        assert (model.beta_0_w, model.beta_1_w, model.beta_2) == (row.beta_0_w, row.beta_1_w, row.beta_2)


def test_the_stored_interval_is_the_one_the_tables_give() -> None:
    model = published_regression("gtx280")
    ratios = measured_over_computed(model, wang2013_sparse_programs(), wang2013_dense_programs())
    low = model.measured_over_predicted_low
    assert low <= min(ratios) < low + 0.001
    assert max(ratios) < model.measured_over_predicted_high


def test_the_known_mismatch_is_reported() -> None:
    text = papers_markdown()
    assert "32.8 W (+15.0 to +55.8 W)" in text
    assert "BSPM 3.98% to 10.51%" in text
    assert "FAILS" not in "\n".join(wang2013())


def test_check_says_what_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "papers.md"
    assert main(["--check", str(path)]) == 1
    assert "run `python -m wattslice_tools.papers" in capsys.readouterr().err
    assert main([str(path)]) == 0
    assert main(["--check", str(path)]) == 0
    assert main([str(tmp_path / "no" / "papers.md")]) == 2


def test_every_number_printed_by_choi_agrees_to_its_digits() -> None:
    checked = checked_labels()
    assert len(checked) == 17
    assert all(one.agrees for one in checked)
    wrong = replace(checked[0], computed=1.05 * checked[0].computed)
    assert not wrong.agrees


def test_the_claims_of_choi_are_told_with_their_verdict() -> None:
    text = papers_markdown()
    assert "holds: 2.42 > 1.03, effective 0.79, 2.42 without π0" in text
    assert "holds: 378 W at `B_τ`" in text
    assert "recalled, not re-read" in text


@pytest.mark.slow
def test_the_pictures_of_choi_are_those_that_the_page_shows(tmp_path: Path) -> None:
    text = papers_markdown()
    for path in plot_choi2013(tmp_path):
        assert f"](plots/{path.name})" in text
        assert (COMMITTED.parent / "plots" / path.name).is_file()
        assert path.read_text(encoding="utf-8").startswith("<?xml")
