"""The gcc report: `file:line:column: severity: message [RULE]`, which editors and CI logs already parse."""

from __future__ import annotations

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.findings import Finding, why_unknown
from wattslice.units import energy, power, printable, time


def render_gcc(analysis: Analysis, findings: tuple[Finding, ...], _status: int | None = None) -> str:
    """A note with the watts of each kernel, then one line per finding; a newline ends every line."""
    lines = [kernel_line(kernel, analysis) for kernel in analysis.kernels]
    lines += [finding_line(finding) for finding in findings]
    return "".join(f"{line}\n" for line in lines)


def finding_line(finding: Finding) -> str:
    """One finding. Column 1: findings concern lines; line 1 stands for the whole file.

    What concerns no file at all begins with the program's name, as compilers do it.
    """
    hint = f" ({finding.fix})" if finding.fix else ""
    message = printable(" ".join(f"{finding.message}{hint}".split()))
    place = f"{printable(finding.file)}:{max(1, finding.line)}:1" if finding.file else "wattslice"
    return f"{place}: {finding.severity.value}: {message} [{finding.rule}]"


def kernel_line(kernel: KernelAnalysis, analysis: Analysis) -> str:
    """The note on a kernel: `a.cu:12:1: note: mul: 183 W (160-205 W), 1.2 ms, 220 mJ on v100, data live`."""
    if kernel.power is None:
        reason = why_unknown(kernel, analysis)
        figures = "power unknown" + (f" [{reason.rule}]" if reason else "")
    else:
        figures = f"{power(kernel.power_w)} ({kernel.power.low_w:.0f}-{kernel.power.high_w:.0f} W)"
        figures += f", {time(kernel.time_s)}, {energy(kernel.energy_j)}"
    source, data = kernel.source, f"data {printable(kernel.launch.data)}"
    place, name = f"{printable(source.file)}:{source.line}:1", printable(source.qualified_name)
    return f"{place}: note: {name}: {figures} on {analysis.gpu_id}, {data}"
