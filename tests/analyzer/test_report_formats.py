"""All formats on files whose names and texts are out to break them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from wattslice.analysis import Analysis
from wattslice.cli import main
from wattslice.config.config import Options, make_config
from wattslice.findings.findings import Finding, findings_of
from wattslice.ir import Severity
from wattslice.pipeline.files import analyze_files
from wattslice.report.ci.github import step_summary
from wattslice.report.formats import FORMATS, render
from wattslice_tools.formats_table import with_table

from .samples import ANALYSIS, EMPTY
from .sarif_schema import validator

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
NAMES = (
    b"with space.cu",
    "gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n.cu".encode(),
    b"new\nline.cu",
    b"not\xffutf8.cu",
    b"::error file=x::y.cu",
    b"a<b>&\"c'].cu",
    b"100%25,[x](y)|`.cu",
)
SOURCE = """
__device__ int \N{GREEK SMALL LETTER MU};
__global__ void k(float *x, const int *i) {
    if (x[i[threadIdx.x]] > 1.0f) x[0] = 2.0f;  // ]]> </testcase> ::error::x ##[error]y "\\ \x0c \x07
}
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / ".git").mkdir()
    for name in NAMES:
        (folder / os.fsdecode(name)).write_text(SOURCE, encoding="utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        return analyze_files(make_config(Options(paths=(Path(),), gpu="v100")))
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_ends_with_a_newline_and_repeats_itself(name: str):
    for analysis in (ANALYSIS, EMPTY):
        text = render(name, analysis, findings_of(analysis), 0)
        assert text.endswith("\n") or (name == "gcc" and analysis is EMPTY and not text)
        assert render(name, analysis, findings_of(analysis), 0) == text


NEW_FORMAT = """
import sys, types
from wattslice.report import formats

row = formats.Format("count", "nobody", "a number", "a number", "counting.render_count")
formats.FORMATS[row.name] = row
module = types.ModuleType("wattslice.report.counting")
module.render_count = lambda analysis, findings, status: f"{len(analysis.kernels)} kernels, {status}\\n"
sys.modules[module.__name__] = module

from wattslice.cli import main  # noqa
from wattslice_tools.formats_table import with_table  # noqa

assert "| `count` | nobody | a number | a number |" in with_table(open(sys.argv[1], encoding="utf-8").read())
for command in (["analyze"], ["gate", "--max-power", "300"]):
    assert main([*command, "--help"]) == 0
    assert main([*command, "k.cu", "--format", "count"]) == 0
"""


def test_a_new_format_is_one_row(tmp_path: Path):
    """The choices of both commands, what they write and the table of the page follow from the row."""
    (tmp_path / "k.cu").write_text("__global__ void k(float *x) { x[threadIdx.x] = 1.0f; }\n")
    (tmp_path / "wattslice.toml").write_text("")
    command = [sys.executable, "-c", NEW_FORMAT, str(PAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("|html|count]") == 2
    assert done.stdout.count("1 kernels, 0\n") == 2


def test_the_page_has_the_table_of_formats():
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "run python -m wattslice_tools.formats_table docs/formats.md"


def test_hostile_files_are_all_analysed(hostile: Analysis):
    assert len(hostile.kernels) == len(NAMES)
    assert len(findings_of(hostile)) >= 2 * len(NAMES)


@pytest.mark.parametrize("name", ["gcc", "github", "junit", "gitlab"])
def test_what_is_suppressed_is_told_by_sarif_alone(name: str):
    open_, closed = (Finding("PW020", Severity.ERROR, "a.cu", line, "k", f"line {line}") for line in (3, 4))
    findings = (open_, replace(closed, suppressed="a prototype"))
    text = render(name, EMPTY, findings)
    assert "line 3" in text
    assert "line 4" not in text
    results = json.loads(render("sarif", EMPTY, findings))["runs"][0]["results"]
    assert [bool(one.get("suppressions")) for one in results] == [False, True]


def json_places(results: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in results]


def test_sarif_is_valid(hostile: Analysis):
    document = json.loads(render("sarif", hostile, findings_of(hostile)))
    assert not list(validator().iter_errors(document))
    uris = {place["uri"] for place in json_places(document["runs"][0]["results"])}
    assert {unquote_to_bytes(uri) for uri in uris} == set(NAMES)


def test_lines_are_as_many_as_findings(hostile: Analysis):
    lines = re.split(r"[\r\n]", render("gcc", hostile, findings_of(hostile)).rstrip("\n"))
    assert len(lines) == len(NAMES) + len(findings_of(hostile))
    commands = re.split(r"[\r\n]", render("github", hostile, findings_of(hostile)).rstrip("\n"))
    assert len(commands) == 11
    assert all(re.match(r"::notice file=[^:,]+,line=\d+,title=[^:,]+::", line) for line in commands[:-1])
    rows = step_summary(hostile, findings_of(hostile)).splitlines()
    assert sum(row.startswith("| k |") for row in rows) == len(NAMES)


def test_junit_and_gitlab_parse(hostile: Analysis):
    root = ElementTree.fromstring(render("junit", hostile, findings_of(hostile)))
    names = {suite.get("name") for suite in root}
    assert len(root.findall("testsuite/testcase")) == len(NAMES)
    assert {"with space.cu", "gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n.cu", "a<b>&\"c'].cu"} <= names
    issues = json.loads(render("gitlab", hostile, findings_of(hostile)))
    assert {issue["location"]["path"] for issue in issues} == names - {"wattslice"}  # the whole run
    assert "not\N{REPLACEMENT CHARACTER}utf8.cu" in names


@pytest.mark.parametrize("name", ["sarif", "junit", "gitlab"])
def test_a_report_replaces_its_file_as_a_whole(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wattslice.toml").write_text("", encoding="utf-8")
    (tmp_path / "k.cu").write_text(SOURCE, encoding="utf-8")
    target = tmp_path / "report"
    target.write_text("old" * 100_000, encoding="utf-8")
    assert main(["analyze", "k.cu", "--format", name, "-o", str(target)]) == 0
    text = target.read_text(encoding="ascii")
    assert text.rstrip().endswith(("}", "]", "</testsuites>"))


def test_names_of_files_give_no_commands_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "wattslice.toml").write_text("", encoding="utf-8")
    empty = tmp_path / "a\n::stop-commands::b.cu"
    empty.write_text("int i;\n", encoding="utf-8")
    assert main(["analyze", str(empty), "--format", "github"]) == 2
    assert not re.search(r"^::stop", "".join(capsys.readouterr()), re.MULTILINE)


STEERING = "\x07\x1b[31m\x7f\x9b2J\u2028\u202e"


@pytest.mark.parametrize("report_format", FORMATS)
def test_no_format_lets_a_name_steer_the_terminal(report_format, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = f"a{STEERING}\n::error::.cu"
    text = f'#include "b{STEERING}.h"\n__global__ void k(int *p) {{ p[threadIdx.x * 32] = 1; }}\n'
    (tmp_path / name).write_text(text, encoding="utf-8")
    for words in (
        ["analyze", "--format", report_format, name],
        ["gate", "--max-power", "1", name],
        ["x" + name],
    ):
        main(words)
        out, err = capsys.readouterr()
        assert not re.search("[\x00-\x09\x0b-\x1f\x80-\x9f\u2028\u202e]", out + err)
        assert not re.search(r"^::error::", out + err, re.MULTILINE)
