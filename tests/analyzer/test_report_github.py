import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from wattslice.cli import main
from wattslice.findings.findings import Finding, findings_of
from wattslice.ir import Severity
from wattslice.report.ci.github import ANNOTATIONS, SUMMARY_BYTES, escaped, render_github, step_summary
from wattslice.report.ci.places import SourceTree

from .samples import ANALYSIS, EMPTY, MATMUL
from .test_report_sarif import many

TREE = SourceTree(Path("/repository"))
COMMAND = re.compile(r"::(error|warning|notice) (?P<properties>[^\n\r]*?)::(?P<data>[^\n\r]*)")


def parsed(line: str) -> tuple[dict[str, str], str]:
    """A line as the runner of GitHub Actions reads it: properties and message."""
    found = COMMAND.fullmatch(line)
    assert found, line
    properties = dict(pair.split("=", 1) for pair in found["properties"].split(","))
    for sign in "\r\n:,%":
        properties = {name: value.replace(f"%{ord(sign):02X}", sign) for name, value in properties.items()}
    return properties, found["data"].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_errors_come_first_then_watts_at_stake():
    warning = Finding("PW021", Severity.WARNING, "/repository/src/a.cu", 7, "k", "costs", "do this", 3.0)
    findings = (warning, replace(warning, power_w=9.0, line=8), *findings_of(ANALYSIS))
    lines = render_github(ANALYSIS, findings, tree=TREE).splitlines()
    assert lines[0].startswith("::error ")
    properties, message = parsed(lines[1])
    assert properties == {"file": "src/a.cu", "line": "8", "title": "PW021 may-hit-power-limit"}
    assert message == "costs\ndo this"
    assert parsed(lines[2])[0]["line"] == "7"
    assert lines[-1] == "wattslice: launches: 3 (data live), findings: 7"


def test_ten_annotations_and_the_number_of_the_rest():
    lines = render_github(ANALYSIS, many(143), tree=TREE).splitlines()
    assert sum(line.startswith("::") for line in lines) == ANNOTATIONS
    assert (
        lines[-1]
        == "wattslice: launches: 3 (data live), findings: 143, of which the 10 most important are shown"
    )


def test_whole_files_begin_at_line_1_and_whole_runs_have_no_place():
    findings = (Finding("PW002", Severity.WARNING, "/repository/a.cu", 0, "", "no header"),)
    assert "file=a.cu,line=1," in render_github(EMPTY, findings, tree=TREE)
    line = render_github(EMPTY, (replace(findings[0], file=""),), tree=TREE).splitlines()[0]
    assert line == "::warning title=PW002 include-not-found::no header"


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2)
@given(st.text(), st.text(), st.text().filter(lambda name: "\0" not in name))
def test_no_text_injects_a_command(message: str, fix: str, file: str):
    hostile = "\r\n::error file=x::y\n##[add-mask]z\n::stop-commands::"
    finding = Finding(
        "PW016", Severity.NOTE, f"/repository/a{file}", 3, "k", message + hostile, fix + hostile
    )
    text = render_github(EMPTY, (finding,), tree=TREE)
    first, second, last = re.split(r"\r\n|\r|\n", text)
    properties, _ = parsed(first)
    assert list(properties) == ["file", "line", "title"]
    assert second == "wattslice: launches: 0, findings: 1"
    assert last == ""
    text.encode()


def test_messages_keep_their_signs():
    finding = Finding("PW016", Severity.NOTE, "/repository/a,b:c%.cu", 3, "k", "100 % of a::b, \x1b[31mred")
    properties, message = parsed(render_github(EMPTY, (finding,), tree=TREE).splitlines()[0])
    assert properties["file"] == "a,b:c%.cu"
    assert message == "100 % of a::b, \N{REPLACEMENT CHARACTER}[31mred"


def test_the_summary_has_kernels_and_findings():
    text = step_summary(ANALYSIS, findings_of(ANALYSIS), tree=SourceTree())
    assert "### 3 kernels" in text
    assert "\nData live\n" in text
    assert "### 5 findings" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[1].startswith(r"| gpu::burn\<float, 4\> |".replace("::", r"\:\:"))
    assert "| 287 W | 255–310 W | 1.20 ms | 220 mJ |" in rows[1]
    assert "| unknown |  | unknown | unknown |" in rows[3]
    assert {line.count("|") - line.count(r"\|") for line in rows} == {7, 6}


@settings(max_examples=settings().max_examples // 2)
@given(st.text())
def test_markdown_shows_text_as_it_is(text: str):
    from markdown_it import MarkdownIt

    shown = escaped(f"x {text} x")
    assert "\n" not in shown
    (_, inline, _) = MarkdownIt("gfm-like", {"linkify": False}).parse(shown)
    assert {token.type for token in inline.children or []} <= {"text", "text_special"}


@pytest.mark.slow
def test_the_summary_keeps_to_its_room_and_says_so():
    findings = many(9_000, text="a | b `c` ")
    text = step_summary(replace(ANALYSIS, kernels=(MATMUL,) * 9_000), findings)
    assert SUMMARY_BYTES * 0.9 < len(text.encode()) <= SUMMARY_BYTES
    assert re.search(r"\n\d+ more kernels do not fit", text)
    assert re.search(r"\n\d+ more findings do not fit", text)
    assert len(step_summary(ANALYSIS, findings, room=3000).encode()) <= 3000
    assert step_summary(ANALYSIS, findings, room=0) == ""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wattslice.toml").write_text("", encoding="utf-8")
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(float *x, int n) { if (n) x[threadIdx.x] = n; }\n", encoding="utf-8")
    return path


def test_the_summary_is_appended_where_github_says(source: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    summary = source.with_name("summary.md")
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert main(["analyze", str(source), "--format", "github"]) == 0
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n## wattslice on ")
    assert "### 1 kernels" in text
    assert "::notice file=k.cu,line=1," in capsys.readouterr().out
    assert main(["analyze", str(source), "--format", "gcc"]) == 0
    assert summary.read_text(encoding="utf-8") == text


def test_a_summary_that_cannot_be_written_is_told(source: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(source.parent))
    assert main(["analyze", str(source), "--format", "github"]) == 0
    assert "the step summary could not be written" in capsys.readouterr().err
