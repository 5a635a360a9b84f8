import re
from pathlib import Path

import pytest

import wattslice
from wattslice.findings.rules import RULES, UnknownRuleError, find_rule

SOURCES = tuple(Path(wattslice.__file__).parent.rglob("*.py"))
REPORTING = tuple(path for path in SOURCES if path.parent.name != "rules")


def test_ids_and_names_are_unique_and_sorted():
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"PW\d{3}", rule_id) for rule_id in ids)
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_says_what_why_example_and_remedy(rule):
    for text in (rule.what, rule.why, rule.remedy):
        assert len(text) > 20
        assert text.rstrip(")`").endswith((".", "?")) or "`" in text
    assert rule.example


def test_every_rule_the_analyzer_may_report_is_explained():
    used = {
        rule for path in REPORTING for rule in re.findall(r"\bPW\d{3}\b", path.read_text(encoding="utf-8"))
    }
    assert used <= {rule.id for rule in RULES}


def test_found_by_id_in_either_case_and_by_name():
    assert find_rule("pw010") is find_rule("PW010") is find_rule("size-assumed")


def test_unknown_rule_names_close_matches():
    with pytest.raises(UnknownRuleError, match="PW010"):
        find_rule("PW10")
    with pytest.raises(UnknownRuleError, match="lists all"):
        find_rule("zzzzzzzz")
