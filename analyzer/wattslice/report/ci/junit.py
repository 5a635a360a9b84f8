"""The JUnit report: a suite per file, a case per launch of a kernel, red where the exit status is.

A case fails when the gate says so, and is skipped when its power is unknown and no gate forbids that. A file
of which nothing could be read is a case in error. Everything else is output of its case or suite.
Time is left out: a kernel's predicted seconds are not those of a test.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from xml.etree import ElementTree

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.findings import GATE_RULES, Finding, plain_reason, unread_files, why_unknown
from wattslice.ir import Severity
from wattslice.patterns import regex
from wattslice.report.ci.gcc import finding_line
from wattslice.report.ci.places import SourceTree, clean

_NOT_XML = regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHOLE_RUN = "wattslice"
_WHOLE_FILE = "(file)"


def render_junit(
    analysis: Analysis,
    findings: tuple[Finding, ...],
    _status: int | None = None,
    tree: SourceTree | None = None,
) -> str:
    """One XML document in ASCII. Suites come in the order of the run, cases in that of the source."""
    tree = tree or SourceTree()
    kernels: defaultdict[str, list[KernelAnalysis]] = defaultdict(list)
    for kernel in analysis.kernels:
        kernels[kernel.source.file].append(kernel)
    told: defaultdict[str, list[Finding]] = defaultdict(list)
    home = {kernel.name: kernel.source.file for kernel in reversed(analysis.kernels)}
    known = {*analysis.files, *kernels}
    for finding in findings:  # what lies in a header is told where its kernel is
        told[finding.file if finding.file in known else home.get(finding.kernel, finding.file)].append(
            finding
        )
    unread = frozenset(unread_files(analysis))
    root = ElementTree.Element("testsuites", name="wattslice")
    for file in dict.fromkeys((*analysis.files, *kernels, *told)):
        path = tree.place(file).path if file else _WHOLE_RUN
        root.append(_suite(path, kernels[file], told[file], analysis, file in unread))
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="us-ascii", xml_declaration=True).decode("ascii") + "\n"


def _suite(
    path: str, kernels: list[KernelAnalysis], findings: list[Finding], analysis: Analysis, unread: bool
) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_text(path))
    properties = _add(suite, "properties")
    _add(properties, "property", name="gpu", value=analysis.gpu_id)
    failing: defaultdict[str, list[Finding]] = defaultdict(list)
    rest: list[Finding] = []
    output: defaultdict[int, list[Finding]] = defaultdict(list)
    by_name = {kernel.name: number for number, kernel in reversed(list(enumerate(kernels)))}
    by_line = _first_kernels(kernels)
    for finding in findings:
        owner = by_name.get(finding.kernel) if finding.kernel else by_line.get(finding.line)
        (rest if owner is None else output[owner]).append(finding)
        if _forbids(finding):
            failing[finding.kernel].append(finding)
    names: Counter[str] = Counter()
    for number, kernel in enumerate(kernels):
        names[kernel.source.qualified_name] += 1
        launch = names[kernel.source.qualified_name]
        name = kernel.source.qualified_name + (f" (launch {launch})" if launch > 1 else "")
        for key, value in (("data", kernel.launch.data), *_figures(kernel)):
            _add(properties, "property", name=f"{name}: {key}", value=value)
        case = _add(suite, "testcase", name=name, classname=_classname(path))
        _judge(case, kernel, [one for one in failing[kernel.name] if _is_about(one, kernel)], analysis)
        _output(case, output[number])
    failing_file = [finding for finding in rest if _forbids(finding)]
    _judge_file(suite, path, failing_file, [one for one in findings if not _forbids(one)], unread)
    _output(suite, rest)
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for outcome, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(total, str(sum(case.find(outcome) is not None for case in cases)))
    return suite


def _judge(
    case: ElementTree.Element, kernel: KernelAnalysis, failing: list[Finding], analysis: Analysis
) -> None:
    for finding in failing:
        _outcome(case, "failure", finding)
    if kernel.power_w is None and not failing:
        reason = why_unknown(kernel, analysis)
        why = f"{plain_reason(kernel, reason)} [{reason.rule}]" if reason else "no diagnostic says why"
        _add(case, "skipped", message=f"power unknown: {why}")


def _judge_file(
    suite: ElementTree.Element, path: str, failing: list[Finding], findings: list[Finding], unread: bool
) -> None:
    """A case for the file as a whole, if there is anything wrong with it."""
    if not (failing or unread):
        return
    case = _add(suite, "testcase", name=_WHOLE_FILE, classname=_classname(path))
    for finding in failing:
        _outcome(case, "failure", finding)
    if not failing:
        for finding in findings:
            if finding.severity is Severity.ERROR:
                _outcome(case, "error", finding)


def _forbids(finding: Finding) -> bool:
    """Whether the gate fails because of it."""
    return finding.rule in GATE_RULES and finding.severity is Severity.ERROR


def _is_about(finding: Finding, kernel: KernelAnalysis) -> bool:
    """Whether a finding of the gate is about this launch; one that names no launch is about each."""
    unknown = kernel.power_w is None
    return (
        (finding.kernel, finding.line) == (kernel.name, kernel.source.line)
        and finding.launch_line in (None, kernel.launch.line)
        and (finding.rule == "PW022") == unknown
    )


def _first_kernels(kernels: list[KernelAnalysis]) -> dict[int, int]:
    """For every line of a kernel the number of its first launch."""
    found: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    for number, kernel in enumerate(kernels):
        if (kernel.source.line, kernel.source.end_line) not in seen:
            seen.add((kernel.source.line, kernel.source.end_line))
            for line in range(kernel.source.line, kernel.source.end_line + 1):
                found.setdefault(line, number)
    return found


def _figures(kernel: KernelAnalysis) -> Iterable[tuple[str, str]]:
    """Watts, seconds and joules with their full precision; what is unknown is not there."""
    figures = {
        "power_w": kernel.power_w,
        "power_low_w": None if kernel.power is None else kernel.power.low_w,
        "power_high_w": None if kernel.power is None else kernel.power.high_w,
        "time_s": kernel.time_s,
        "energy_j": kernel.energy_j,
    }
    return ((name, repr(value)) for name, value in figures.items() if value is not None)


def _classname(path: str) -> str:
    """`src/matmul.cu` as `src.matmul_cu`: readers make a tree of packages from the dots."""
    folder, _, name = path.strip("/").rpartition("/")
    return ".".join((*folder.split("/"), name.replace(".", "_"))).strip(".")


def _outcome(case: ElementTree.Element, kind: str, finding: Finding) -> None:
    element = _add(case, kind, type=finding.rule, message=finding.message)
    element.text = _text(finding_line(finding))


def _output(parent: ElementTree.Element, findings: list[Finding]) -> None:
    if findings:
        _add(parent, "system-out").text = _text("".join(f"{finding_line(one)}\n" for one in findings))


def _add(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, {name: _text(value) for name, value in attributes.items()})


def _text(text: str) -> str:
    """`text` with what XML 1.0 cannot hold, not even as a reference, replaced."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", clean(text))
