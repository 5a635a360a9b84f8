from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from wattslice.analysis import Analysis
from wattslice.findings.findings import Finding, findings_of
from wattslice.ir import Diagnostic, Severity
from wattslice.report.ci.junit import render_junit
from wattslice.report.ci.places import SourceTree

from .samples import ANALYSIS, EMPTY, HOT, MATMUL, UNKNOWN, changed
from .test_report_sarif import many

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase", "system-out"},
    "properties": {"property"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}
REQUIRED = {
    "testsuite": {"name", "tests", "failures", "errors"},
    "testcase": {"name", "classname"},
    "property": {"name", "value"},
}


def junit(analysis: Analysis, findings: tuple[Finding, ...] | None = None) -> ElementTree.Element:
    """Parsed, after a check of what readers of JUnit (the schema of Jenkins' xUnit plugin) rely on."""
    text = render_junit(analysis, findings_of(analysis) if findings is None else findings)
    assert text.isascii()
    root = ElementTree.fromstring(text)
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        assert REQUIRED.get(element.tag, set()) <= set(element.keys())
    for suite in root:
        cases = suite.findall("testcase")
        names = [case.get("name") for case in cases]
        assert len(set(names)) == len(names)
        assert suite.get("tests") == str(len(cases))
        for outcome, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert suite.get(total) == str(sum(case.find(outcome) is not None for case in cases))
    return root


def outcomes(root: ElementTree.Element) -> dict[str, str]:
    return {
        case.get("name", ""): next((child.tag for child in case if child.tag != "system-out"), "passed")
        for case in root.iter("testcase")
    }


def test_a_suite_per_file_and_a_case_per_launch():
    root = junit(replace(ANALYSIS, kernels=(MATMUL, UNKNOWN, MATMUL, HOT)))
    assert [suite.get("name") for suite in root] == ["src/matmul.cu", "src/burn.cu"]
    assert outcomes(root) == {
        "matMul<16>": "passed",
        "histogram": "skipped",
        "matMul<16> (launch 2)": "passed",
        "gpu::burn<float, 4>": "passed",
    }
    case = root[0].findall("testcase")[1]
    assert case.get("classname") == "src.matmul_cu"
    skipped = case.find("skipped")
    assert skipped is not None
    assert skipped.get("message") == ("power unknown: 2048 threads per block, at most 1024 can run [PW014]")


def test_figures_are_properties_and_findings_output():
    suite = junit(ANALYSIS)[0]
    figures = {entry.get("name"): entry.get("value") for entry in suite.iter("property")}
    assert figures["gpu"] == "v100"
    assert figures["matMul<16>: power_w"] == "183.25"
    assert "histogram: power_w" not in figures  # unknown is nothing, not 0
    case = suite.find("testcase")
    assert case is not None
    assert "src/matmul.cu:18:1: note: " in (case.findtext("system-out") or "")
    assert "[PW001]" in (suite.findtext("system-out") or "")


def test_what_the_gate_forbids_is_red():
    unknown = Finding(
        "PW022", Severity.ERROR, UNKNOWN.source.file, UNKNOWN.source.line, UNKNOWN.name, "power unknown"
    )
    over = Finding(
        "PW020",
        Severity.ERROR,
        HOT.source.file,
        HOT.source.line,
        HOT.name,
        "287 W is over the budget of 200 W",
    )
    root = junit(ANALYSIS, (unknown, over, *findings_of(ANALYSIS)))
    assert outcomes(root) == {
        "matMul<16>": "passed",
        "histogram": "failure",
        "gpu::burn<float, 4>": "failure",
    }
    assert root.get("failures") == "2"
    failure = root[1].find("testcase/failure")
    assert failure is not None
    assert failure.get("type") == "PW020"
    assert "is over the budget of 200 W" in failure.get("message", "")
    second = changed(MATMUL, launch={"line": 99}, power={"power_w": 250.0})
    over = Finding(
        "PW020", Severity.ERROR, MATMUL.source.file, MATMUL.source.line, MATMUL.name, "m", launch_line=99
    )
    root = junit(replace(ANALYSIS, kernels=(MATMUL, second)), (over,))
    assert outcomes(root) == {"matMul<16>": "passed", "matMul<16> (launch 2)": "failure"}
    lenient = replace(unknown, severity=Severity.WARNING)
    assert outcomes(junit(ANALYSIS, (lenient,)))["histogram"] == "skipped"


def test_a_file_that_could_not_be_read_is_an_error():
    lost = Diagnostic("PW001", Severity.ERROR, "src/b.cu", 0, "not a text file")
    analysis = replace(EMPTY, files=("src/b.cu",), diagnostics=(lost,), unread=("src/b.cu",))
    assert outcomes(junit(analysis)) == {"(file)": "error"}
    unknown = Finding("PW022", Severity.ERROR, "src/b.cu", 0, "", "no kernel of this file could be analysed")
    assert outcomes(junit(analysis, (unknown, *findings_of(analysis)))) == {"(file)": "failure"}


def test_findings_in_headers_stand_with_their_kernel():
    finding = Finding("PW016", Severity.NOTE, "src/tile.cuh", 7, "matMul", "m")
    root = junit(ANALYSIS, (finding, Finding("PW030", Severity.NOTE, "", 0, "", "run")))
    assert "src/tile.cuh:7:1" in (root.findtext("testsuite/testcase/system-out") or "")
    assert root[-1].get("name") == "wattslice"
    assert "run [PW030]" in (root[-1].findtext("system-out") or "")


@settings(max_examples=settings().max_examples // 2)
@given(st.text(), st.text())
def test_any_text_is_well_formed_and_comes_back(message: str, name: str):
    kernel = changed(MATMUL, name=name, source={"qualified_name": f"k{name}"})
    finding = Finding(
        "PW020", Severity.ERROR, MATMUL.source.file, MATMUL.source.line, name, f"]]><x/>{message}"
    )
    text = render_junit(replace(EMPTY, kernels=(kernel,)), (finding,), tree=SourceTree(Path("/")))
    case = ElementTree.fromstring(text).find("testsuite/testcase")
    assert case is not None
    if name.isprintable():
        assert case.get("name") == f"k{name}"
    failure = case.find("failure")
    assert failure is not None
    if message.isprintable():
        assert failure.get("message") == f"]]><x/>{message}"


@pytest.mark.slow
def test_30_000_findings_are_all_told():
    root = junit(EMPTY, many(30_000))
    told = sum((suite.findtext("system-out") or "").count("\n") for suite in root)
    assert told == 30_000
