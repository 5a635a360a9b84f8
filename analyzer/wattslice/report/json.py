"""The JSON report: schema version 1, the contract that scripts rely on.

Unknown is null, never 0. Keys have a fixed order, numbers their full precision; what rounding left beside a
whole number of executions is told as that number. Fields beyond the contract may be added; none is removed or
changes its meaning without a new schema version.
"""

from __future__ import annotations

import json
import math

from wattslice.analysis import Analysis, KernelAnalysis, SliceAnalysis
from wattslice.findings.findings import Finding
from wattslice.ir.operation_counts import JSON_NAMES
from wattslice.version import __version__

SCHEMA_VERSION = 1

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


def render_json(analysis: Analysis, _findings: tuple[Finding, ...] = (), _status: int | None = None) -> str:
    """One object as in the contract, indented, with a newline at its end."""
    document: dict[str, Json] = {
        "schema_version": SCHEMA_VERSION,
        "tool": "wattslice",
        "tool_version": __version__,
        "gpu": analysis.gpu_id,
        "gpu_name": analysis.gpu_name,
        "gpu_source": analysis.gpu_source,
        "files": list(analysis.files),
        "kernels": [_kernel(kernel) for kernel in analysis.kernels],
        "diagnostics": [
            {
                "rule": entry.rule,
                "severity": entry.severity.value,
                "file": entry.file,
                "line": entry.line,
                "message": entry.message,
            }
            for entry in analysis.diagnostics
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _kernel(kernel: KernelAnalysis) -> dict[str, Json]:
    return {
        "name": kernel.name,
        "qualified_name": kernel.qualified_name,
        "mangled_name": kernel.mangled_name,
        "file": kernel.file,
        "line": kernel.line,
        "end_line": kernel.end_line,
        "ptx_file": kernel.ptx_file or None,
        "grid": list(kernel.grid),
        "block": list(kernel.block),
        "launch_source": kernel.launch_source.value,
        "launch_line": kernel.launch_line,
        "launch_file": None if kernel.launch_line is None else kernel.launch_file or kernel.file,
        "shared_bytes_per_block": kernel.shared_bytes_per_block,
        "registers_per_thread": kernel.registers_per_thread,
        "sm_saturation": finite(kernel.sm_saturation),
        "occupancy": finite(kernel.occupancy),
        "branch_class": None if kernel.branch_class is None else kernel.branch_class.value,
        "method": kernel.method,
        "methods": {
            "bspm": finite(kernel.methods.bspm_w),
            "bdpm": finite(kernel.methods.bdpm_w),
            "expected": finite(kernel.methods.expected_w),
        },
        "model": kernel.model,
        "power_w": finite(kernel.power_w),
        "power_low_w": finite(kernel.power_low_w),
        "power_high_w": finite(kernel.power_high_w),
        "power_limit_w": finite(kernel.power_limit_w),
        "may_hit_power_limit": kernel.may_hit_power_limit,
        "time_s": finite(kernel.time_s),
        "energy_j": finite(kernel.energy_j),
        "limited_by": kernel.limited_by,
        "bytes_per_thread": _times(kernel.bytes_per_thread),
        "counts_per_thread": None
        if kernel.counts_per_thread is None
        else {
            name: _times(value)
            for name, value in zip(JSON_NAMES, kernel.counts_per_thread.values(), strict=True)
        },
        "instructions_per_thread": {
            entry.name: _times(entry.number) for entry in kernel.instructions_per_thread
        },
        "slices": [_slice(part) for part in kernel.slices],
        "hot_lines": [
            {
                "file": heat.file,
                "line": heat.line,
                "power_w": finite(heat.power_w),
                "share": finite(heat.share),
                "text": heat.text,
            }
            for heat in kernel.hot_lines
        ],
        "loops": [
            {
                "file": loop.file or kernel.file,
                "line": loop.line,
                "trip_count": _times(loop.trip_count),
                "assumed": _times(loop.assumed),
            }
            for loop in kernel.loops
        ],
        "arms": [
            {
                "file": arm.file or kernel.file,
                "line": arm.line,
                "arm": arm.arm,
                "probability": finite(arm.probability),
                "probability_low": finite(arm.probability_low),
                "probability_high": finite(arm.probability_high),
                "source": arm.source.value,
                "power_w": finite(arm.power_w),
                "share_of_power": finite(arm.share_of_power),
                "kernel_low_w": finite(arm.kernel_low_w),
                "kernel_high_w": finite(arm.kernel_high_w),
            }
            for arm in kernel.arms
        ],
        "assumptions": [
            {
                "rule": assumption.rule,
                "file": assumption.file or kernel.file,
                "line": assumption.line,
                "message": assumption.message,
                "fix": assumption.fix,
            }
            for assumption in kernel.assumptions
        ],
        "advice": [
            {
                "rule": advice.rule,
                "file": advice.file or kernel.file,
                "line": advice.line,
                "also_lines": list(advice.also_lines),
                "severity": advice.severity.value,
                "message": advice.told,
                "fix": advice.fix,
                "power_w": finite(advice.power_w),
                "energy_j": finite(advice.energy_j),
            }
            for advice in kernel.advice
        ],
    }


def _slice(part: SliceAnalysis) -> dict[str, Json]:
    return {
        "memory_space": part.memory_space.value,
        "variables": list(part.variables),
        "lines": list(part.lines),
        "length": _times(part.length),
        "arithmetic_density": finite(part.arithmetic_density),
        "compute_ops": _times(part.compute_ops),
        "memory_ops_weighted": _times(part.memory_ops_weighted),
        "probability": finite(part.probability),
        "power_w": finite(part.power_w),
        "share_of_power": finite(part.share_of_power),
        "sub_slices": [
            {
                "probability": finite(one.probability),
                "length": _times(one.length),
                "compute_ops": _times(one.arithmetic_operations),
                "memory_ops_weighted": _times(one.normalised_accesses),
            }
            for one in part.sub_slices
        ],
    }


def finite(value: float | None) -> float | None:
    """JSON has neither NaN nor infinity: both mean that the figure is unknown."""
    return value if value is not None and math.isfinite(value) else None


def _times(value: float | None) -> float | None:
    """How often something happens: 17.000000000000004 is what sums of shares make of 17."""
    number = finite(value)
    if number is None or number == round(number) or not math.isclose(number, round(number), rel_tol=1e-9):
        return number
    return float(round(number))
