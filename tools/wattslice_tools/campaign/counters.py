"""Section g: hardware counters of corpus kernels, the truth for static counts, where permitted."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

from wattslice_corpora.measuring.bench import Configuration
from wattslice_corpora.measuring.errors import ConfigurationError
from wattslice_corpora.measuring.program import run_to_end

METRICS = (
    "gpu__time_duration.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_control_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_memory_pred_on.sum",
    "smsp__inst_executed_pipe_xu.sum",
    "sm__inst_executed_pipe_tensor.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "sm__warps_active.avg.per_cycle_active",
)
"""From the profiler's documentation, not tried on a GPU: a name that it does not know is left out."""
LIMIT_S = 25.0
EACH_S = 5.0
"""Assumed, not measured yet: seconds for one kernel."""
_UNKNOWN = re.compile(r"Failed to find metric (\S+)")
_FORBIDDEN = ("ERR_NVGPUCTRPERM", "Failed to initialize the profiler", "No supported GPU")
_PLACES = ("ncu", "/usr/local/cuda/bin/ncu")
_VERSIONS = Path("/opt/nvidia/nsight-compute")
"""A folder for every version: 2025.3.1/ncu."""


class CountersRefusedError(RuntimeError):
    """This machine gives no counters at all; says why."""


class Profiler:
    """ncu with the metrics that it knows. It leaves clocks as they are."""

    def __init__(self, command: str | None = None) -> None:
        """Raises `CountersRefusedError` without ncu."""
        versions = sorted(map(str, _VERSIONS.glob("*/ncu")), reverse=True)
        places = (command,) if command else (*_PLACES, *versions)
        found = next((path for place in places if (path := shutil.which(place))), None)
        if found is None:
            raise CountersRefusedError("ncu is not installed")
        self._command = found
        self._metrics: tuple[str, ...] = METRICS

    def count(
        self, program: Path, configuration: Configuration, environment: tuple[tuple[str, str], ...]
    ) -> dict[str, float]:
        """Counters of the configuration's launch. Raises `ConfigurationError` and `CountersRefusedError`."""
        while self._metrics:
            text = self._run(program, configuration, environment)
            unknown = {match[1].rstrip(".,\"'") for match in _UNKNOWN.finditer(text)}
            if not unknown & set(self._metrics):
                return _values(text, self._metrics)
            self._metrics = tuple(name for name in self._metrics if name not in unknown)
        raise CountersRefusedError("ncu knows none of the metrics")

    def _run(
        self, program: Path, configuration: Configuration, environment: tuple[tuple[str, str], ...]
    ) -> str:
        choice = configuration.choice
        words = (
            *(self._command, "--csv", "--page", "raw", "--clock-control", "none"),
            *("--kernel-name", choice.kernel, "--launch-skip", str(choice.occurrence), "--launch-count", "1"),
            *("--kill", "yes", "--metrics", ",".join(self._metrics)),
            *(str(program), *configuration.arguments),
        )
        done = run_to_end(words, environment, LIMIT_S)
        text = done.stdout + done.stderr
        for sign in _FORBIDDEN:
            if sign in text:
                raise CountersRefusedError(f"ncu: {sign}")
        return text


def _values(text: str, metrics: tuple[str, ...]) -> dict[str, float]:
    """Of the raw page: a line of names, a line of units, a line for the launch."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    if len(lines) < 3:
        told = [line for line in text.splitlines() if "ERROR" in line or "error" in line]
        raise ConfigurationError(f"ncu: {(told or ['no counters'])[0].strip()[:200]}")
    names, units, cells = csv.reader(lines[:3])
    found: dict[str, float] = {}
    for name, unit, cell in zip(names, units, cells, strict=False):
        if name in metrics:
            try:
                found[name] = counter_value(cell, unit)
            except ValueError:
                continue
    return found


def counter_value(cell: str, unit: str) -> float:
    """A cell of the raw page in seconds, bytes or what else it counts. Raises `ValueError` for no number."""
    return float(cell.replace(",", "")) * _SCALES.get(unit.partition("/")[0], 1.0)


_SCALES = {
    "nsecond": 1e-9,
    "usecond": 1e-6,
    "msecond": 1e-3,
    "second": 1.0,
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "byte": 1.0,
    "Kbyte": 1e3,
    "Mbyte": 1e6,
    "Gbyte": 1e9,
}
