"""Aims beside figures, and who wins where: what the pages of accuracy say of made-up figures."""

from pathlib import Path

import pytest

from wattslice.errors import WattsliceError
from wattslice_models.contract import Interval
from wattslice_models.learners import entry
from wattslice_models.worth import Worth, shipped_worth
from wattslice_tools.accuracy import aims
from wattslice_tools.accuracy.accuracy_page import begin_marker, check_document
from wattslice_tools.accuracy.aims import Aim
from wattslice_tools.accuracy.joint_page import Held, _by_unit, _share_inside  # pyright: ignore[reportPrivateUsage]
from wattslice_tools.accuracy.winners import MARKERS, winners_section


@pytest.mark.parametrize(
    ("aim", "figure", "told"),
    [
        (Aim(0.11), 0.1099, "aim ≤ 11%: met"),
        (Aim(0.11), 0.11, "aim ≤ 11%: met"),
        (Aim(0.11), 0.1101, "aim ≤ 11%: **missed**"),  # printed as 11.0%
        (Aim(0.9, at_least=True), 0.9, "aim ≥ 90%: met"),
        (Aim(0.9, at_least=True), 0.8999, "aim ≥ 90%: **missed**"),
        (Aim(0.9, at_least=True), None, ""),
    ],
)
def test_an_aim_stands_beside_its_figure(aim, figure, told):
    assert aim.verdict(figure) == told


def test_the_table_of_aims_marks_what_is_missed():
    rows = (aims.found("boards", Aim(0.14), 0.106), aims.Found("losers", "none", "`a40`", met=False))
    assert aims.table(rows)[2:] == [
        "| boards | ≤ 14% | 10.6% | met |",
        "| losers | none | `a40` | **missed** |",
    ]


def test_every_unit_has_one_voice():
    interval = Interval(0.8, 1.25, 0.9, "test")
    runs = [Held("a one", ratio, interval) for ratio in (0.79, 0.8, 1.25, 1.26)]
    runs += [Held("a two", 1.0, interval)] * 12
    units = _by_unit(runs)
    assert {unit: _share_inside(those) for unit, those in units.items()} == {"a one": 0.5, "a two": 1.0}


def test_who_wins_where_is_told_in_words():
    def row(gpu_id: str, model: str, error: float) -> Worth:
        return Worth(gpu_id, model, "applications", "elsewhere", 9, error, 0.2, 0.1)

    rows = (
        row("t4", "energy", 0.05),
        row("t4", "wavelet", 0.15),
        row("l4", "energy", 0.3),
        row("general", "wavelet", 0.01),
    )
    told = winners_section(rows).splitlines()
    assert told[:2] == [
        "- **wavelet network**: judged on 1 board; the nearest model on 0 of them; loses to the constant "
        "mean on none; loses to the mean at each clock on Tesla T4.",
        "- **energy model**: judged on 2 boards; the nearest model on 2 of them; loses to the constant "
        "mean on L4; loses to the mean at each clock on L4.",
    ]
    assert told[-2:] == [
        "| Tesla T4 | applications | 15.0% | **5.0%** | 20.0% | 10.0% |",
        "| L4 | applications | – | 30.0% | 20.0% | **10.0%** |",
    ]


def test_a_page_without_a_place_for_them_is_told_before_minutes_of_work(tmp_path):
    page = tmp_path / "accuracy.md"
    page.write_text("no markers\n")
    with pytest.raises(WattsliceError, match="winners"):
        check_document(page, ())
    page.write_text("\n".join(MARKERS))
    check_document(page, ())


PAGE = Path(__file__).parents[2] / "docs" / "appendix" / "accuracy.md"


def test_what_models_say_of_themselves_is_what_the_page_has():
    """`worth.json` and the tables of each board come from one run of the command."""
    text = PAGE.read_text(encoding="utf-8")
    rows = tuple(shipped_worth().values())
    assert winners_section(rows) in text
    for row in rows:
        if row.gpu_id == "general":
            continue
        section = text.partition(begin_marker(row.gpu_id))[2].partition("<!-- evaluate: end")[0]
        title = entry(row.model).title
        told = [line for line in section.splitlines() if line.startswith((f"| {title} |", f"| {title}, "))]
        assert any(f"| {row.runs} | {row.error:.1%} |" in line for line in told), (row, told)
