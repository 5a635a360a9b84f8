"""Findings and figures as an editor shows them, from hand-built analyses."""

from pathlib import Path

import pytest
from lsprotocol import types
from msgspec.structs import replace

from wattslice.analysis import Advice, KernelAnalysis, LineHeat
from wattslice.ir import Diagnostic, Severity
from wattslice.launches.launch import Assumption
from wattslice.lsp.diagnostics import MOST, diagnostics_of
from wattslice.lsp.documents import Document, LineMap
from wattslice.lsp.hover import hover_text
from wattslice.lsp.views import View, code, heat_text, launches_text, plain, stake_text

from ..samples import ANALYSIS, MATMUL, changed

PATH = Path("/w/src/matmul.cu")
TEXT = ["#include <a.h>\n", '# include "tile.cuh"\n', *(f"  line {n};\n" for n in range(3, 60))]
ENCODING = types.PositionEncodingKind.Utf16


def view(*kernels: KernelAnalysis, diagnostics: tuple[Diagnostic, ...] = (), lines: list[str] = TEXT) -> View:
    own = tuple(
        changed(
            kernel,
            source={"file": str(PATH)},
            hot_lines=tuple(replace(h, file=str(PATH)) for h in kernel.hot_lines),
        )
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
        ("PW013", MATMUL.source.line - 1),
    }


def test_launches_together():
    assert launches_text((MATMUL,)) == (
        "183 W (160–205 W) · 220 mJ · 1.20 ms · limited by fp32 · >99 % sure to stay under the limit of 300 W"
    )
    other = changed(
        MATMUL,
        source={"qualified_name": "matMul<32>"},
        power={"power_w": 120.0, "low_w": 99.0, "high_w": 150.0},
        time_s=9e-4,
        limited_by=None,
    )
    several = launches_text((MATMUL, other))
    assert several == (
        "2 launches of 2 instances · 120–183 W (99.0–205 W) · 220 mJ · 900 µs–1.20 ms · limited by fp32"
        " · >99 % sure to stay under the limit of 300 W"
    )
    unknown = replace(MATMUL, power=None, energy_j=None)
    assert launches_text((unknown,)) == "power unknown"
    assert launches_text((unknown, MATMUL)).startswith("2 launches · unknown · unknown · 1.20 ms")
    hot = changed(MATMUL, power={"may_hit_limit": True, "power_w": 270.0, "high_w": 300.0})
    assert launches_text((MATMUL, hot)).endswith(
        " · 95 % sure to stay under the limit of 300 W: may throttle"
    )


def test_heats_together():
    one, other = LineHeat("a", 1, 32.4, 0.42, ""), LineHeat("a", 1, 8.0, 0.003, "")
    assert heat_text((one,)) == "32.4 W · 42 %"
    assert heat_text((one, other)) == "8.00–32.4 W · <1–42 %"


def test_stakes():
    assert stake_text(-13.8, 5.76e-3) == "without it, per launch: 5.76 mJ less, 13.8 W more"
    assert stake_text(None, None) == ""


def test_torn_kernels():
    line = f"__global__ void {MATMUL.name}(float* a) {{}}\n"
    whole = view(MATMUL, lines=[line])
    assert whole.torn_since(whole) == ()
    problem = (Diagnostic("PW001", Severity.WARNING, str(PATH), MATMUL.source.line + 1, "not understood"),)
    torn = view(MATMUL, diagnostics=problem, lines=[line])
    (entry,) = torn.torn_since(whole)
    assert (entry.name, entry.line) == (MATMUL.name, MATMUL.source.line)
    assert [finding.message for finding in entry.why] == ["not understood"]
    assert torn.torn_since(torn) == ()  # it has been so before
    (entry,) = view(lines=["\n", f"__global__ void {MATMUL.name}( {{}}\n"]).torn_since(whole)
    assert (entry.line, entry.why) == (2, ())
    elsewhere = (replace(problem[0], line=MATMUL.source.end_line + 1),)
    assert view(MATMUL, diagnostics=elsewhere, lines=[line]).torn_since(whole) == ()
    assert view(lines=["void a() {}\n"]).torn_since(whole) == ()  # somebody deletes a kernel
    assert view(lines=["// " + line]).torn_since(whole) == ()


def test_parts_of_a_view():
    kernel = replace(MATMUL, assumptions=(Assumption("PW011", 20, "assumed", ""),))
    other = changed(kernel, name="other", source={"qualified_name": "other", "line": MATMUL.source.line + 30})
    problem = Diagnostic("PW001", Severity.WARNING, str(PATH), 1, "not understood")
    whole = view(kernel, other, diagnostics=(problem,))
    one, rest = whole.only({"other"}), whole.without({"other"})
    assert ([*one.kernels], [*rest.kernels]) == ([other.source.line], [kernel.source.line])
    assert [finding.kernel for finding in one.findings] == ["other"]
    assert [finding.kernel for finding in rest.findings] == ["", MATMUL.name]
    assert {k.name for heats in one.heats.values() for k, _ in heats} == {"other"}
    assert len(whole.kernels) == 2


def test_of_very_many_findings_the_most_important():
    advice = tuple(Advice("PW041", 20, f"saves {n}", "do", 1.0, float(n)) for n in range(MOST))
    assumed = tuple(Assumption("PW016", 5, f"assumed {n}", "") for n in range(30))
    problem = Diagnostic("PW001", Severity.WARNING, str(PATH), 50, "not understood")
    found = view(replace(MATMUL, assumptions=assumed, advice=advice), diagnostics=(problem,))
    document = Document("file:///w/src/matmul.cu", PATH, "cuda", 1, "".join(TEXT))
    note, *entries = diagnostics_of(found, document, LineMap(TEXT, TEXT), ENCODING)
    assert note.message.startswith("31 more findings")
    assert len(entries) == MOST
    messages = {entry.message.partition("\n")[0] for entry in entries}
    assert messages == {"not understood", *(f"saves {n}" for n in range(1, MOST))}


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
    assert "the limit of 300 W" in summary
    assert "of the 300 W limit" not in summary  # once is enough
    assert "| shared | `tileA, tileB` |" in summary
    assert "of the" in hover_text(found, MATMUL.hot_lines[0].line, "x", 0)
    assert hover_text(found, 59, "nothing", 3) == ""
