"""Kernels of sources with the time of ESCAPE's model (D3.5, 2018, Tables 8 to 11) in the place of ours."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.config.config import BranchChoice, Config
from wattslice.counting.count import BudgetExceededError, count
from wattslice.findings.quoting import Quoter
from wattslice.ir import Diagnostic, Severity
from wattslice.ir.walking import deep_recursion
from wattslice.launches.launch import KernelLaunch
from wattslice.pipeline.files import Stages, analyze_file, bare_facts
from wattslice.pipeline.launch import LaunchResult
from wattslice.projection.escape_characteristics import launch_characteristics, predicted_ipc
from wattslice.workload.launch_work import launch_work, residency
from wattslice_models.escape_time import GpuCharacteristics, gpu_time
from wattslice_models.execution_time import Clocks, TimeParameters
from wattslice_models.gpu import Gpu


def with_escape_times(analysis: Analysis, config: Config, parameters: TimeParameters) -> Analysis:
    """The analysis of the one file of `config` with every time replaced by that of ESCAPE's model.

    Its characteristics are those that the source tells, the instructions per clock those of our own model
    with `parameters`. None, and a diagnostic, where it has no time.
    """
    (path,) = config.files
    found = analyze_file(path, config, stages=_EscapeTimes(parameters))
    times_s = {_launch_of(kernel): kernel.time_s for kernel in found.kernels}
    kernels = (replace(kernel, time_s=times_s.get(_launch_of(kernel))) for kernel in analysis.kernels)
    own = {*analysis.diagnostics}
    without = (entry for entry in found.diagnostics if entry not in own)
    return replace(analysis, kernels=tuple(kernels), diagnostics=(*without, *analysis.diagnostics))


class _EscapeTimes(Stages):
    """The launches of a file with nothing but their times."""

    def __init__(self, parameters: TimeParameters) -> None:
        self._parameters = parameters

    def launch(self, launch: KernelLaunch, config: Config, gpu: Gpu, quoter: Quoter) -> LaunchResult:
        facts = bare_facts(launch, gpu)
        try:
            with deep_recursion():
                return LaunchResult(replace(facts, time_s=self._time_s(launch, config, gpu)), ())
        except BudgetExceededError:
            reason = "counting its executions took more steps than allowed"
        except RecursionError:
            reason = "statements or operators nest too deeply"
        except ValueError as error:
            reason = str(error)
        span = launch.kernel.span
        message = f"{launch.kernel.name}: no time by ESCAPE's model: {reason}"
        return LaunchResult(facts, (Diagnostic("PW030", Severity.WARNING, span.file, span.line, message),))

    def _time_s(self, launch: KernelLaunch, config: Config, gpu: Gpu) -> float:
        heuristics = config.branches is BranchChoice.HEURISTIC
        profile = count(launch, config.branch_profile, heuristics=heuristics)
        work = launch_work(launch, residency(launch, gpu), profile)
        if work.workload is None:
            raise ValueError(f"the launch cannot run on the {gpu.name}")
        clocks = Clocks(config.core_clock_mhz, config.memory_clock_mhz)
        ipc = predicted_ipc(work.workload, gpu, clocks, self._parameters)
        kernel = launch_characteristics(launch, profile, work, ipc)
        characteristics = GpuCharacteristics.from_gpu(gpu, clocks)
        return gpu_time(kernel, characteristics, float(work.workload.threads)).total_s


def _launch_of(kernel: KernelAnalysis) -> Hashable:
    """Which launch it is."""
    launched = (kernel.launch_file, kernel.launch_line, kernel.grid, kernel.block)
    return kernel.file, kernel.mangled_name, kernel.qualified_name, kernel.line, launched
