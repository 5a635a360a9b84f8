import csv
from pathlib import Path

from wattslice.findings.rules import RULES
from wattslice_tools import rules_page as page

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date():
    committed = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert committed == page.rules_page(), "run python -m wattslice_tools.rules_page docs/rules.md"


def test_what_was_checked_is_of_rules_that_advise_and_adds_up():
    with (Path(page.__file__).parent / "rules_checked.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["rule"] for row in rows] == [rule.id for rule in RULES if rule.check]
    for row in rows:
        assert 0 <= int(row["right"]) <= int(row["read"]) <= int(row["findings"])
