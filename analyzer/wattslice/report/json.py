"""The JSON report: schema version 1, the contract that scripts rely on.

Unknown is null, never 0. Keys have a fixed order, numbers their full precision; what rounding left beside a
whole number of executions is told as that number. Fields beyond the contract may be added; none is removed or
changes its meaning without a new schema version.
"""

from __future__ import annotations

import math
from typing import TypeVar

from msgspec.structs import replace

from wattslice.analysis import Advice, Analysis, ArmAnalysis, KernelAnalysis, Power, Resources, SliceAnalysis
from wattslice.counting.profile import LoopTrips
from wattslice.findings.findings import Finding
from wattslice.ir.operation_counts import JSON_NAMES
from wattslice.launches.launch import Assumption
from wattslice.report.json_values import Json, as_text, fields, finite
from wattslice.version import __version__

SCHEMA_VERSION = 1


def render_json(analysis: Analysis, _findings: tuple[Finding, ...] = (), _status: int | None = None) -> str:
    """One object as in the contract, indented, with a newline at its end."""
    document: dict[str, Json] = {
        **about_run(analysis.gpu_id, analysis.gpu_name, analysis.gpu_source),
        "files": list(analysis.files),
        "kernels": [_kernel(kernel) for kernel in analysis.kernels],
        "diagnostics": [
            fields(entry, "rule", "severity", "file", "line", "message") for entry in analysis.diagnostics
        ],
    }
    return as_text(document)


def about_run(gpu_id: str, gpu_name: str, gpu_source: str) -> dict[str, Json]:
    """What every document begins with."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": "wattslice",
        "tool_version": __version__,
        "gpu": gpu_id,
        "gpu_name": gpu_name,
        "gpu_source": gpu_source,
    }


def times(record: object, *names: str) -> dict[str, Json]:
    """The same of fields that tell how often something happens."""
    return {name: _times(getattr(record, name)) for name in names}


def power_fields(power: Power | None) -> dict[str, Json]:
    """The watts of a launch with their interval."""
    ends = (None, None, None) if power is None else (power.power_w, power.low_w, power.high_w)
    return dict(zip(("power_w", "power_low_w", "power_high_w"), map(finite, ends), strict=True))


def _kernel(kernel: KernelAnalysis) -> dict[str, Json]:
    def here(entry: _Placed) -> _Placed:
        """With its file told, which is empty for the kernel's own."""
        return replace(entry, file=entry.file or kernel.source.file)

    launch, work, watts, methods = kernel.launch, kernel.work, kernel.power, kernel.basis.methods
    return {
        "name": kernel.name,
        **fields(kernel.source, "qualified_name", "mangled_name", "file", "line", "end_line"),
        "ptx_file": kernel.source.ptx_file or None,
        "fast_math": kernel.source.fast_math or None,
        **fields(launch, "grid", "block"),
        "launch_source": launch.source.value,
        "launch_line": launch.line,
        "launch_file": None if launch.line is None else launch.file or kernel.source.file,
        "program_arguments": None
        if launch.program_arguments is None
        else fields(launch.program_arguments, "text", "source"),
        "launch_times": launch.times,
        "launch_times_unknown": None if launch.times is not None else launch.times_unknown,
        "data": launch.data,
        **fields(kernel.basis, "variants"),
        **fields(kernel.resources, *Resources.__struct_fields__),
        **fields(kernel.basis, "branch_class", "method"),
        "methods": {
            "bspm": finite(methods.bspm_w),
            "bdpm": finite(methods.bdpm_w),
            "expected": finite(methods.expected_w),
        },
        "model": kernel.basis.model,
        **power_fields(watts),
        "power_limit_w": finite(kernel.power_limit_w),
        "static_power_w": None if watts is None else finite(watts.static_w),
        "limit_exceedance": finite(kernel.limit_exceedance),
        "may_hit_power_limit": None if watts is None else watts.may_hit_limit,
        **fields(kernel, "time_s", "energy_j", "limited_by"),
        "bytes_per_thread": None if work is None else _times(work.bytes_per_thread),
        "counts_per_thread": None
        if work is None
        else dict(zip(JSON_NAMES, map(_times, work.counts_per_thread.values()), strict=True)),
        "instructions_per_thread": {}
        if work is None
        else {entry.name: _times(entry.number) for entry in work.instructions_per_thread},
        "slices": [_slice(part) for part in kernel.slices],
        "hot_lines": [fields(heat, "file", "line", "power_w", "share", "text") for heat in kernel.hot_lines],
        "loops": [
            {**fields(here(loop), "file", "line"), **times(loop, "trip_count", "assumed")}
            for loop in kernel.loops
        ],
        "arms": [fields(here(arm), *_ARM) for arm in kernel.arms],
        "assumptions": [
            fields(here(entry), "rule", "file", "line", "message", "fix") for entry in kernel.assumptions
        ],
        "advice": [
            {
                **fields(here(entry), "rule", "file", "line", "also_lines", "severity"),
                "message": entry.told,
                **fields(entry, "fix", "power_w", "energy_j"),
            }
            for entry in kernel.advice
        ],
    }


_Placed = TypeVar("_Placed", LoopTrips, ArmAnalysis, Assumption, Advice)
_ARM = (
    *("file", "line", "arm", "probability", "probability_low", "probability_high", "source"),
    *("power_w", "share_of_power", "kernel_low_w", "kernel_high_w"),
)


def _slice(part: SliceAnalysis) -> dict[str, Json]:
    figures: dict[str, Json] = {
        **fields(part, "memory_space", "variables", "lines"),
        **times(part, "length"),
        **fields(part, "arithmetic_density"),
        **times(part, "compute_ops", "memory_ops_weighted"),
        **fields(part, "probability", "power_w", "time_share", "average_power_w", "share_of_power"),
    }
    return {
        **figures,
        "unknown": {name: _why_null(name, part) for name, value in figures.items() if value is None},
        "sub_slices": [
            {
                **fields(one, "probability"),
                **times(one, "length"),
                "compute_ops": _times(one.arithmetic_operations),
                "memory_ops_weighted": _times(one.normalised_accesses),
            }
            for one in part.sub_slices
        ],
    }


def _why_null(name: str, part: SliceAnalysis) -> str:
    """The reason of a figure of a slice that is null."""
    if getattr(part, name) is not None:
        return "too large to tell"
    if part.never_runs:
        return "the slice never runs"
    if name == "arithmetic_density":
        return "it accesses no memory"
    return "the kernel's power is unknown: a diagnostic says why"


def _times(value: float | None) -> float | None:
    """How often something happens: 17.000000000000004 is what sums of shares make of 17."""
    number = finite(value)
    if number is None or number == round(number) or not math.isclose(number, round(number), rel_tol=1e-9):
        return number
    return float(round(number))
