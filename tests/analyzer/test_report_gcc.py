import re

from msgspec.structs import replace

from wattslice.analysis import Analysis
from wattslice.findings.findings import Finding, findings_of
from wattslice.ir import Severity
from wattslice.report.ci.gcc import finding_line, render_gcc

from .samples import ANALYSIS, EMPTY, MATMUL

LINE = re.compile(r"[^:\n]+:[1-9]\d*:[1-9]\d*: (note|warning|error): .+")


def gcc(analysis: Analysis) -> str:
    return render_gcc(analysis, findings_of(analysis))


def test_golden(golden):
    golden("report.gcc", gcc(ANALYSIS))


def test_every_line_parses_as_a_compiler_message():
    lines = gcc(ANALYSIS).splitlines()
    assert all(LINE.fullmatch(line) for line in lines)
    assert (
        "src/matmul.cu:12:1: note: matMul<16>: 183 W (160-205 W), 1.20 ms, 220 mJ on v100, data live" in lines
    )
    assert "src/matmul.cu:50:1: note: histogram: power unknown [PW014] on v100, data live" in lines
    assert "src/matmul.cu:3:1: warning: unknown type name 'flaot' [PW001]" in lines


def test_a_message_stays_on_its_line():
    nasty = replace(ANALYSIS.diagnostics[0], message="two\nlines\x1b[31m", line=0)
    text = gcc(replace(EMPTY, diagnostics=(nasty,)))
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert text.startswith("src/matmul.cu:1:1: ")


def test_several_launches_share_their_findings():
    twice = replace(EMPTY, kernels=(MATMUL, MATMUL))
    assert gcc(twice).count("[PW010]") == 1


def test_what_concerns_no_file_begins_with_the_program():
    finding = Finding("PW030", Severity.NOTE, "", 0, "", "coefficients measured on another board")
    assert finding_line(finding) == "wattslice: note: coefficients measured on another board [PW030]"
