"""Findings and figures as an editor shows them, from hand-built analyses."""

from dataclasses import replace
from pathlib import Path

import pytest
from lsprotocol import types

from wattslice.analysis import Advice, KernelAnalysis, LineHeat
from wattslice.execution import Assumption
from wattslice.ir import Diagnostic, Severity
from wattslice.lsp.diagnostics import diagnostics_of
from wattslice.lsp.documents import Document
from wattslice.lsp.figures import heat_text, launches_text, stake_text
from wattslice.lsp.hover import hover_text
from wattslice.lsp.line_map import LineMap
from wattslice.lsp.markdown import code, plain
from wattslice.lsp.views import View

from ..samples import ANALYSIS, MATMUL

PATH = Path("/w/src/matmul.cu")
TEXT = ["#include <a.h>\n", '# include "tile.cuh"\n', *(f"  line {n};\n" for n in range(3, 60))]
ENCODING = types.PositionEncodingKind.Utf16


def view(*kernels: KernelAnalysis, diagnostics: tuple[Diagnostic, ...] = (), lines: list[str] = TEXT) -> View:
    own = tuple(
        replace(kernel, file=str(PATH), hot_lines=tuple(replace(h, file=str(PATH)) for h in kernel.hot_lines))
        for kernel in kernels
    )
    return View(
        replace(ANALYSIS, files=(str(PATH),), kernels=own, diagnostics=diagnostics), PATH, tuple(lines)
    )


def told(found: View) -> list[tuple[str, int, types.DiagnosticSeverity | None]]:
    document = Document("file:///w/src/matmul.cu", PATH, "cuda", 1, "".join(TEXT))
    entries = diagnostics_of(found, document, LineMap(TEXT, TEXT), ENCODING)
    return [(str(entry.code), entry.range.start.line, entry.severity) for entry in entries]


def test_severities():
    kernel = replace(
        MATMUL,
        assumptions=(
            Assumption("PW011", 20, "assumed", "--set n=VALUE"),
            Assumption("PW016", 21, "assumed", ""),
        ),
        advice=(
            Advice("PW041", 22, "saves", "do", -3.0, 1e-3),
            Advice("PW042", 23, "costs", "do", -3.0, -1e-3),
            Advice("PW043", 24, "who knows", "do"),
        ),
    )
    diagnostics = (
        Diagnostic("PW001", Severity.WARNING, str(PATH), 25, "not understood"),
        Diagnostic("PW099", Severity.ERROR, str(PATH), 0, "internal error"),
        Diagnostic("PW030", Severity.NOTE, "", 0, "of the whole run"),
    )
    found = {rule: severity for rule, _, severity in told(view(kernel, diagnostics=diagnostics))}
    severity = types.DiagnosticSeverity
    assert found == {
        "PW011": severity.Information,
        "PW016": severity.Hint,
        "PW041": severity.Warning,
        "PW042": severity.Information,
        "PW043": severity.Warning,
        "PW001": severity.Warning,
        "PW099": severity.Error,
    }


def test_findings_of_other_files_stand_where_they_come_from():
    kernel = replace(MATMUL, assumptions=(Assumption("PW013", 7, "of a header", "", "/w/src/tile.cuh"),))
    diagnostics = (
        Diagnostic("PW001", Severity.WARNING, "/w/src/tile.cuh", 3, "not understood"),
        Diagnostic("PW001", Severity.WARNING, "/w/src/deeper.cuh", 3, "not understood"),
    )
    found = told(view(kernel, diagnostics=diagnostics))
    assert {(rule, line) for rule, line, _ in found} == {
        ("PW001", 1),
        ("PW001", 0),
        ("PW013", MATMUL.line - 1),
    }


def test_launches_together():
    assert launches_text((MATMUL,)) == "183 W (160–205 W) · 220 mJ · 1.20 ms · limited by fp32"
    other = replace(
        MATMUL, qualified_name="matMul<32>", power_w=120.0, power_low_w=99.0, time_s=9e-4, limited_by=None
    )
    several = launches_text((MATMUL, other))
    assert several == (
        "2 launches of 2 instances · 120–183 W (99.0–205 W) · 220 mJ · 900 µs–1.20 ms · limited by fp32"
    )
    unknown = replace(MATMUL, power_w=None, energy_j=None, power_low_w=None)
    assert launches_text((unknown,)) == "power unknown"
    assert launches_text((unknown, MATMUL)).startswith("2 launches · unknown · unknown · 1.20 ms")
    assert launches_text((replace(MATMUL, may_hit_power_limit=True),)).endswith(
        " · may hit the limit of 300 W"
    )


def test_heats_together():
    one, other = LineHeat("a", 1, 32.4, 0.42, ""), LineHeat("a", 1, 8.0, 0.003, "")
    assert heat_text((one,)) == "32.4 W · 42 %"
    assert heat_text((one, other)) == "8.00–32.4 W · <1–42 %"


def test_stakes():
    assert stake_text(-13.8, 5.76e-3) == "without it, per launch: 5.76 mJ less, 13.8 W more"
    assert stake_text(None, None) == ""


def test_torn_texts():
    whole = view(MATMUL, lines=["__global__ void a() {}\n"])
    assert not whole.looks_torn(whole)
    problem = (Diagnostic("PW001", Severity.WARNING, str(PATH), 1, "not understood"),)
    torn = view(MATMUL, diagnostics=problem, lines=["__global__ void a() {}\n"])
    assert torn.looks_torn(whole)
    assert not torn.looks_torn(torn)  # it has been so before
    assert view(lines=["__global__ void a( {}\n"]).looks_torn(whole)
    assert not view(lines=["void a() {}\n"]).looks_torn(whole)  # somebody deletes a kernel


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b", "a_b"),
        ("_x_ *y*", r"\_x\_ \*y\*"),
        ("<b>", r"\<b>"),
        ("a[1](2)", r"a[1\](2)"),
        ("\x1b[1m", "\ufffd[1m"),
    ],
)
def test_markdown_of_any_text(text, shown):
    assert plain(text) == shown


def test_code_of_any_text():
    assert code("a|b") == "`a¦b`"
    assert code("a`b``c") == "``` a`b``c ```"


def test_hover_of_a_hand_built_kernel():
    found = view(MATMUL)
    summary = hover_text(found, 12, "__global__ void matMul(", 18)
    assert "`matMul<16><<<(64, 64), (16, 16)>>>` host code, line 88" in summary
    assert "61 % of the 300 W limit" in summary
    assert "| shared | `tileA, tileB` |" in summary
    assert "of the" in hover_text(found, MATMUL.hot_lines[0].line, "x", 0)
    assert hover_text(found, 59, "nothing", 3) == ""
