import json
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from wattslice.analysis import Analysis, Suppression
from wattslice.findings.findings import Finding, findings_of
from wattslice.findings.rules import RULES, find_rule
from wattslice.ir import Diagnostic, Severity
from wattslice.report.ci.places import SourceTree
from wattslice.report.ci.sarif import MAX_BYTES, MAX_RESULTS, MAX_TEXT, render_sarif

from .samples import ANALYSIS, EMPTY, MATMUL
from .sarif_schema import validator


def sarif(analysis: Analysis, findings: tuple[Finding, ...] | None = None, **more: Any) -> dict[str, Any]:
    found = findings_of(analysis) if findings is None else findings
    text = render_sarif(analysis, found, **more)
    document = json.loads(text)
    assert not list(validator().iter_errors(document))
    check_as_github_does(document)
    assert text.endswith("}\n")
    return document["runs"][0]


def check_as_github_does(document: dict[str, Any]) -> None:
    """What GitHub's documentation of its SARIF support requires beyond the schema."""
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) <= MAX_RESULTS
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert len(rule["fullDescription"]["text"]) <= 1024
        assert len(rule["properties"]["tags"]) <= 10
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
    prints: set[str] = set()
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        assert location["physicalLocation"]["region"]["startLine"] >= 1
        assert location["physicalLocation"]["artifactLocation"]["uri"]
        assert result["partialFingerprints"]["wattslice/v1"] not in prints
        prints.add(result["partialFingerprints"]["wattslice/v1"])


def test_the_schema_catches_mistakes():
    document = json.loads(render_sarif(ANALYSIS, findings_of(ANALYSIS)))
    document["runs"][0]["results"][0]["level"] = "info"
    document["runs"][0]["results"][1]["watts"] = 3
    assert len(list(validator().iter_errors(document))) == 2


def test_findings_are_results_and_kernels_properties():
    run = sarif(ANALYSIS, status=2)
    first = run["results"][0]
    assert (first["ruleId"], first["level"]) == ("PW014", "error")
    assert [result["level"] for result in run["results"]] == ["error", "warning", "warning", "note", "note"]
    trips = next(result for result in run["results"] if result["ruleId"] == "PW010")
    assert trips["message"]["text"].endswith("n assumed 1024 (--set matMul.n=...)")
    assert trips["locations"][0]["logicalLocations"] == [{"name": "matMul", "kind": "function"}]
    assert run["invocations"][0]["exitCode"] == 2
    assert run["automationDetails"]["id"] == "wattslice/v100/"
    kernel, unknown, _ = run["properties"]["kernels"]
    assert (kernel["name"], kernel["power_w"], kernel["energy_j"]) == ("matMul<16>", 183.25, 0.2199)
    assert unknown["power_w"] is None


def test_every_rule_is_described_with_its_remedy():
    rules = sarif(EMPTY)["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [rule.id for rule in RULES]
    for rule, described in zip(RULES, rules, strict=True):
        assert rule.remedy in described["help"]["text"]
        assert rule.example in described["help"]["markdown"]
    loops = next(rule for rule in rules if rule["id"] == "PW013")
    assert r"trip_L\<line\>" in loops["help"]["markdown"].replace(r"trip\_", "trip_")  # no HTML


def test_default_levels_are_what_findings_of_a_rule_mostly_have():
    assert find_rule("PW020").severity is Severity.ERROR
    assert find_rule("PW010").severity is Severity.NOTE
    assert find_rule("PW021").severity is Severity.WARNING


def test_watts_at_stake_are_properties():
    finding = Finding("PW021", Severity.WARNING, "a.cu", 3, "k", "m", "", 12.5, float("inf"))
    (result,) = sarif(EMPTY, (finding,))["results"]
    assert result["properties"] == {"power_w": 12.5, "energy_j": None}


SOURCE = "__global__ void k(float *x) {\n    x[0] = 1.0f;\n    x[0] = 1.0f;\n    x[1] = y[x[2]];\n}\n"


def test_fingerprints_survive_moves_and_tell_equal_lines_apart(tmp_path: Path):
    file = tmp_path / "a.cu"

    def prints(text: str, lines: tuple[int, ...], watts: float) -> list[str]:
        file.write_text(text, encoding="utf-8")
        findings = tuple(
            Finding("PW016", Severity.NOTE, str(file), line, "k", f"draws {watts} W") for line in lines
        )
        results = sarif(EMPTY, findings, tree=SourceTree(tmp_path))["results"]
        return [result["partialFingerprints"]["wattslice/v1"] for result in results]

    before = prints(SOURCE, (2, 3, 4), 10)
    assert len(set(before)) == 3
    moved = "// new\n\n" + SOURCE.replace("    x[1] =", "\tif (z)\n\t\tx[1] =")
    assert prints(moved, (4, 5, 7), 11) == before
    assert set(prints(SOURCE, (4, 3, 2), 10)) == set(before)
    assert prints(SOURCE, (3, 2), 10) == [before[1], before[0]]  # by line, whoever is told first
    rewritten = prints(SOURCE.replace("y[x[2]]", "y[x[3]]"), (2, 3, 4), 10)
    assert rewritten[:2] == before[:2]
    assert rewritten[2] != before[2]


def test_the_region_is_the_line_without_its_indentation(tmp_path: Path):
    (tmp_path / "a.cu").write_text(SOURCE.replace("1.0f", "one(\N{GREEK SMALL LETTER MU})"), encoding="utf-8")
    finding = Finding("PW016", Severity.NOTE, str(tmp_path / "a.cu"), 2, "k", "m")
    run = sarif(EMPTY, (finding, replace(finding, line=99)), tree=SourceTree(tmp_path))
    known, unknown = (one["locations"][0]["physicalLocation"]["region"] for one in run["results"])
    assert known["snippet"]["text"] == "x[0] = one(\N{GREEK SMALL LETTER MU});"
    assert known["endColumn"] - known["startColumn"] == len(known["snippet"]["text"])
    assert unknown == {"startLine": 99}


@pytest.mark.parametrize(
    "name", [b"with space.cu", "\N{GREEK SMALL LETTER MU}.cu".encode(), b"a\nb.cu", b"\xff%3A:.cu"]
)
def test_names_of_files_become_uris_that_lead_back(tmp_path: Path, name: bytes):
    folder = tmp_path / "src"
    folder.mkdir()
    file = folder / os.fsdecode(name)
    finding = Finding("PW016", Severity.NOTE, str(file), 1, "k", "m")
    run = sarif(EMPTY, (finding,), tree=SourceTree(tmp_path))
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uriBaseId"] == "%SRCROOT%"
    whole = run["originalUriBaseIds"]["%SRCROOT%"]["uri"] + place["uri"]
    assert unquote_to_bytes(whole.removeprefix("file://")) == os.fsencode(file)


def test_links_are_followed_but_not_out_of_the_root(tmp_path: Path):
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    for file in (root / "a.cu", elsewhere / "b.cu"):
        file.write_text("", encoding="utf-8")
    (root / "to_a.cu").symlink_to(root / "a.cu")
    (root / "to_b.cu").symlink_to(elsewhere / "b.cu")
    tree = SourceTree(root)
    assert tree.place(str(root / "to_a.cu")).uri == "a.cu"
    assert tree.place(str(root / "to_b.cu")).uri == "to_b.cu"
    outside = tree.place(str(elsewhere / "b.cu"))
    assert (outside.uri, outside.inside) == (f"file://{elsewhere}/b.cu", False)
    finding = Finding("PW016", Severity.NOTE, str(elsewhere / "b.cu"), 1, "k", "m")
    place = sarif(EMPTY, (finding,), tree=tree)["results"][0]["locations"][0]["physicalLocation"]
    assert "uriBaseId" not in place["artifactLocation"]


def test_paths_start_at_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert SourceTree().place("a.cu").path == "src/a.cu"


def test_what_concerns_no_file_or_could_not_be_read_is_a_notification():
    lost = Diagnostic("PW001", Severity.ERROR, "b.cu", 0, "not a text file")
    whole = Diagnostic("PW030", Severity.NOTE, "", 0, "coefficients of another board")
    run = sarif(replace(EMPTY, files=("b.cu",), diagnostics=(lost, whole)), status=2)
    invocation = run["invocations"][0]
    assert invocation["executionSuccessful"] is False
    told = [entry["message"]["text"] for entry in invocation["toolExecutionNotifications"]]
    assert told == ["not a text file", "coefficients of another board"]
    assert [result["ruleId"] for result in run["results"]] == [
        "PW001"
    ]  # GitHub rejects results without place


def test_suppressed_findings_are_marked_and_come_last(tmp_path: Path):
    covered = Suppression(MATMUL.source.file, 18, 18, ("PW010",), "n is a tuning constant")
    run = sarif(replace(ANALYSIS, suppressions=(covered,)))
    last = run["results"][-1]
    assert last["ruleId"] == "PW010"
    assert last["suppressions"] == [{"kind": "inSource", "justification": "n is a tuning constant"}]
    assert all("suppressions" not in result for result in run["results"][:-1])


def test_messages_hold_no_links_and_stay_short():
    text = "a[i](0) " + "long " * 1000
    (result,) = sarif(EMPTY, (Finding("PW016", Severity.NOTE, "a.cu", 1, "k", text),))["results"]
    assert "](" not in result["message"]["text"]
    assert len(result["message"]["text"]) == MAX_TEXT


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 2)
@given(st.text(), st.text())
def test_any_text_gives_valid_utf8(message: str, kernel: str):
    finding = Finding("PW016", Severity.NOTE, "a.cu", 1, kernel, f"m{message}")
    text = render_sarif(EMPTY, (finding,), tree=SourceTree(Path("/")))
    document = json.loads(text)
    assert not list(validator().iter_errors(document))
    json.dumps(document, ensure_ascii=False).encode()


def many(number: int, text: str = "") -> tuple[Finding, ...]:
    severities = (Severity.NOTE, Severity.WARNING, Severity.ERROR)
    return tuple(
        Finding(
            RULES[index % len(RULES)].id,
            severities[index % 3],
            f"src/{index // 50}.cu",
            1 + index % 50,
            f"kernel_{index % 7}",
            f"{text}finding {index} of many, as long as they usually are, with a hint on what to do",
            "--set kernel.n=VALUE",
            float(index),
        )
        for index in range(number)
    )


@pytest.mark.slow
def test_30_000_findings_stay_within_the_limits():
    findings = many(30_000)
    begin = time.process_time()
    text = render_sarif(EMPTY, findings)
    assert time.process_time() - begin < 6.0  # a second or so on an ordinary machine
    assert len(zlib.compress(text.encode())) < MAX_BYTES / 5
    document = json.loads(text)
    check_as_github_does(document)
    run = document["runs"][0]
    told = run["results"]
    assert len(told) == MAX_RESULTS
    assert [sum(one["level"] == level for one in told) for level in ("error", "warning", "note")] == [
        10_000,
        10_000,
        5_000,
    ]
    assert min(one["properties"]["power_w"] for one in told if one["level"] == "note") == 15_000.0
    (left_out,) = run["invocations"][0]["toolExecutionNotifications"][:1]
    assert "5000 findings were left out" in left_out["message"]["text"]
    run["results"] = told[:10] + told[-10:]
    assert not list(validator().iter_errors(document))


def test_a_file_too_large_for_upload_loses_its_least_important_results(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("wattslice.report.ci.sarif.MAX_BYTES", 40_000)
    text = render_sarif(EMPTY, many(2000))
    run = json.loads(text)["runs"][0]
    assert len(zlib.compress(text.encode(), 6)) <= 40_000
    kept = len(run["results"])
    assert 0 < kept < 2000
    assert run["results"][0]["properties"]["power_w"] == 1997.0
    assert (
        f"{2000 - kept} findings" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    )


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes_whatever_the_locale(tmp_path: Path):
    (tmp_path / "a.cu").write_text(SOURCE + "// \N{GREEK SMALL LETTER MU}\n", encoding="utf-8")
    command = [sys.executable, "-m", "wattslice", "analyze", "a.cu", "--format", "sarif"]
    outputs = {
        subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        ).stdout
        for seed, encoding in (("1", "utf-8"), ("2", "ascii"))
    }
    (output,) = outputs
    assert not list(validator().iter_errors(json.loads(output)))
