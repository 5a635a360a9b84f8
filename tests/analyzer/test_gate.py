import io

from msgspec.structs import replace

from wattslice.config.budgets import Budget
from wattslice.findings.findings import Finding, findings_of, why_unknown
from wattslice.gate.verdict import Compared, UnknownPolicy, judge
from wattslice.ir import Diagnostic, Severity
from wattslice.report.text import write_verdict
from wattslice_models.types import Held, Wanted

from .samples import ANALYSIS, EMPTY, HOT, MATMUL, UNKNOWN, changed


def watts(limit_w: float) -> tuple[Budget]:
    return (Budget(max_power_w=limit_w),)


KNOWN = replace(ANALYSIS, kernels=(MATMUL, HOT), diagnostics=())


def test_over_budget_fails_with_pw020():
    verdict = judge(KNOWN, watts(200.0), UnknownPolicy.FAIL)
    assert not verdict.passed
    assert [(finding.rule, finding.kernel) for finding in verdict.findings] == [("PW020", "burn")]
    assert "287.0 W (P(> 200 W) > 0.99) is over the budget of 200 W by 87.0 W" in verdict.findings[0].message


def test_exactly_at_the_budget_passes_but_not_without_a_word():
    verdict = judge(KNOWN, watts(287.0), UnknownPolicy.FAIL)
    assert verdict.passed
    (told,) = verdict.findings
    assert (told.rule, told.severity) == ("PW020", Severity.WARNING)
    assert told.message == "burn: 287.0 W (P(> 287 W) = 0.50) may exceed the budget of 287 W"
    assert not judge(KNOWN, watts(286.999), UnknownPolicy.FAIL).passed


def test_a_budget_that_is_not_surely_kept_is_warned_of():
    """matMul: 183 W, at most 205 with 90 % (both sides): above 200 W once in ten."""

    def told(budget_w: float, confidence: float) -> list[Severity]:
        analysis = replace(KNOWN, kernels=(MATMUL,))
        verdict = judge(analysis, watts(budget_w), UnknownPolicy.FAIL, confidence=confidence)
        assert verdict.passed
        assert verdict.likeliest is not None
        assert verdict.likeliest.probability == MATMUL.exceedance(budget_w)
        return [one.severity for one in verdict.findings]

    assert told(200.0, 0.9) == []
    assert told(199.0, 0.9) == [Severity.WARNING]
    assert told(199.0, 0.8) == []
    assert told(200.0, 0.95) == [Severity.WARNING]
    assert told(184.0, 0.5) == []


def test_a_launch_that_the_limit_holds_back_may_exceed_a_budget_there():
    """It wants 400 W, and draws about the 300 that it gets: as probably more as less."""
    held = changed(HOT, power={"power_w": 300.0, "wanted": Wanted(400.0, 350.0, 450.0, Held(300.0, 303.0))})
    analysis = replace(KNOWN, kernels=(held,))
    for budget in (*watts(300.0), Budget(max_limit_share=1.0)):
        verdict = judge(analysis, (budget,), UnknownPolicy.FAIL)
        assert verdict.passed
        assert "(P(> 300 W) = 0.50)" in verdict.findings[0].message
        assert "may exceed the budget" in verdict.findings[0].message
    assert not judge(analysis, watts(299.0), UnknownPolicy.FAIL).passed
    assert judge(analysis, watts(304.0), UnknownPolicy.FAIL).findings == ()


def test_the_last_line_tells_the_odds_of_the_likeliest():
    def last_line(*budgets: Budget) -> str:
        text = io.StringIO()
        write_verdict(judge(KNOWN, budgets, UnknownPolicy.FAIL), KNOWN, text)
        return text.getvalue().splitlines()[-1]

    passed = "gate passed: 2 checked, 0 over 300 W, 1 may be, at most P(> 300 W) = 0.17 (burn) on"
    assert last_line(*watts(300.0)).startswith(passed)
    assert "at most P(> 400 W) < 0.01" in last_line(*watts(400.0))
    assert "P(" not in last_line(Budget(max_energy_j=1e6))
    of_one = (Budget("matMul", max_power_w=182.0), Budget("burn", max_power_w=400.0))
    assert "at most P(> 182 W) = 0.53 (matMul)" in last_line(*of_one)


def test_unknown_power_is_not_below_the_budget():
    analysis = replace(ANALYSIS, kernels=(MATMUL, UNKNOWN))
    failed = judge(analysis, watts(1000.0), UnknownPolicy.FAIL)
    assert not failed.passed
    assert failed.findings[0].rule == "PW022"
    assert failed.findings[0].message == (
        "histogram: power unknown: 2048 threads per block, at most 1024 can run (PW014)"
    )
    warned = judge(analysis, watts(1000.0), UnknownPolicy.WARN)
    assert warned.passed
    assert warned.findings[0].severity is Severity.WARNING


def test_a_file_that_could_not_be_read_is_not_below_the_budget():
    broken = Diagnostic("PW001", Severity.ERROR, "src/burn.cu", 1, "not a source file")
    analysis = replace(ANALYSIS, kernels=(MATMUL,), diagnostics=(broken,), unread=("src/burn.cu",))
    (told,) = judge(analysis, watts(1000.0), UnknownPolicy.FAIL).findings
    assert (told.rule, told.message) == ("PW022", "no kernel of this file could be analysed")
    assert judge(analysis, watts(1000.0), UnknownPolicy.WARN).passed


def test_the_last_line_tells_warnings_from_what_is_worse():
    def rise(severity: Severity) -> Finding:
        return Finding("PW023", severity, MATMUL.source.file, MATMUL.source.line, MATMUL.name, "energy +50 %")

    def last_line(*severities: Severity) -> str:
        compared = Compared("against main", 3, tuple(map(rise, severities)))
        text = io.StringIO()
        write_verdict(judge(KNOWN, (), UnknownPolicy.FAIL, (compared,)), KNOWN, text)
        return text.getvalue().splitlines()[-1]

    warned = last_line(Severity.WARNING, Severity.WARNING)
    assert warned.startswith("gate passed: 2 checked, 0 of 3 worse against main, 2 warned of")
    assert last_line(Severity.ERROR).startswith("gate failed: 2 checked, 1 of 3 worse against main on")


def test_a_kernel_that_the_frontend_lost_is_not_below_the_budget():
    why = Diagnostic("PW001", Severity.ERROR, HOT.source.file, 2, "kernel 'lost' could not be read")
    analysis = replace(KNOWN, diagnostics=(why,))
    verdict = judge(analysis, watts(1000.0), UnknownPolicy.FAIL)
    assert [(f.rule, f.line, f.message) for f in verdict.findings] == [
        ("PW022", 2, "a kernel's power is unknown: kernel 'lost' could not be read (PW001)")
    ]
    assert not verdict.passed
    assert judge(analysis, watts(1000.0), UnknownPolicy.WARN).passed
    assert judge(analysis, (Budget(file="other.cu", max_power_w=1000.0),), UnknownPolicy.FAIL).passed
    stands = changed(
        UNKNOWN, name="lost", source={"qualified_name": "lost", "file": HOT.source.file, "line": 2}
    )
    with_it = replace(analysis, kernels=(*KNOWN.kernels, stands))
    (told,) = judge(with_it, watts(1000.0), UnknownPolicy.FAIL).findings  # once, by its name
    assert (told.rule, told.kernel, why.message in told.message) == ("PW022", "lost", True)


def test_reason_of_an_unknown_power():
    assert why_unknown(MATMUL, ANALYSIS) is None
    assert why_unknown(UNKNOWN, EMPTY) is None
    inside = Diagnostic(
        "PW005", Severity.WARNING, UNKNOWN.source.file, UNKNOWN.source.line + 1, "no body of f"
    )
    no_model = Diagnostic("PW031", Severity.WARNING, "", 0, "no model for histogram")
    both = replace(EMPTY, diagnostics=(inside, no_model))
    assert why_unknown(UNKNOWN, both) is no_model
    elsewhere = replace(inside, file="other.cu")
    assert why_unknown(UNKNOWN, replace(EMPTY, diagnostics=(elsewhere,))) is None


def test_findings_are_sorted_and_hold_the_power_limit_once():
    told = Diagnostic("PW021", Severity.WARNING, HOT.source.file, HOT.source.line, "burn may hit the limit")
    findings = findings_of(ANALYSIS)
    assert [finding.line for finding in findings if finding.file == "src/matmul.cu"] == [3, 18, 36, 50]
    assert [finding.rule for finding in findings if finding.file == "src/burn.cu"] == ["PW021"]
    assert len([f for f in findings_of(replace(ANALYSIS, diagnostics=(told,))) if f.rule == "PW021"]) == 1
