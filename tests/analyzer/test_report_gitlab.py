import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from wattslice.findings.findings import Finding, findings_of
from wattslice.ir import Severity
from wattslice.report.ci.gitlab import render_gitlab
from wattslice.report.ci.places import SourceTree

from .samples import ANALYSIS, EMPTY
from .test_report_sarif import many

TREE = SourceTree(Path("/repository"))
SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


def check(text: str) -> list[dict[str, Any]]:
    """The fields GitLab requires, with values it knows."""
    issues = json.loads(text)
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in SEVERITIES
        assert issue["description"]
        assert issue["location"]["lines"]["begin"] >= 1
        assert not issue["location"]["path"].startswith("./")
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    return issues


def test_one_issue_per_finding():
    issues = check(render_gitlab(ANALYSIS, findings_of(ANALYSIS), tree=SourceTree()))
    assert [issue["check_name"] for issue in issues] == ["PW001", "PW010", "PW012", "PW014", "PW021"]
    assert issues[1]["severity"] == "info"
    assert issues[1]["description"].endswith("n assumed 1024 (--set matMul.n=...)")
    assert issues[1]["location"] == {"path": "src/matmul.cu", "lines": {"begin": 18}}
    assert [issue["severity"] for issue in issues] == ["major", "info", "info", "critical", "major"]


def test_without_findings_an_empty_array():
    assert render_gitlab(EMPTY, ()) == "[]\n"


def test_what_concerns_no_file_is_left_out():
    assert check(render_gitlab(EMPTY, (Finding("PW030", Severity.NOTE, "", 0, "", "m"),))) == []


@settings(max_examples=settings().max_examples // 2)
@given(st.text(), st.text().filter(lambda name: "\0" not in name))
def test_any_text_is_valid_json_in_ascii(message: str, file: str):
    finding = Finding("PW016", Severity.NOTE, f"/repository/a{file}", 0, "k", f"m{message}")
    text = render_gitlab(EMPTY, (finding,), tree=TREE)
    check(text)
    assert text.isascii()
    json.dumps(json.loads(text), ensure_ascii=False).encode()


def test_3_000_findings_are_all_there():
    assert len(check(render_gitlab(EMPTY, many(3_000)))) == 3_000
