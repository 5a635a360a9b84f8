"""What our own models say of the kernels of a component: seconds and watts on one GPU."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path

from msgspec import Struct

from wattslice.analysis import Analysis, KernelAnalysis, Power
from wattslice.config.config import Options, make_config
from wattslice.errors import WattsliceError
from wattslice.findings.findings import power_limit_warning, why_unknown
from wattslice.launches.overrides import OverrideError
from wattslice.patterns import regex
from wattslice.pipeline.files import analyze_files
from wattslice.projection.workflow import KernelUse, Workflow
from wattslice_models.execution_time import TimeParameters
from wattslice_models.gpu import load_gpu

STATIC = "static analysis"
Analyses = Callable[[KernelUse, str], Analysis]
"""The analysis of the source of a kernel for one GPU."""


class KernelsOnGpu(Struct, frozen=True):
    """All kernels of a component for one step on one GPU: seconds and average watts of the board.

    `launching_s` of `time_s` is for launches, however small a part of the work each of them does.
    NaN where something is unknown: `problems` say why. `assumed`: what the analyses took for granted.
    """

    time_s: float
    power_w: float
    power_low_w: float
    power_high_w: float
    launching_s: float
    problems: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def caching_analyses() -> Analyses:
    """Analyses that are made once for each source, its options and GPU, however many kernels ask."""

    @cache
    def known(options: Options) -> Analysis:
        return analyze_files(make_config(options))

    def analysis(use: KernelUse, gpu_id: str) -> Analysis:
        options = Options(
            paths=(use.source,),
            gpu=gpu_id,
            launches=use.launch,
            overrides=use.overrides,
            definitions=use.definitions,
            include_directories=use.include,
            profile=use.profile,
        )
        return known(options)

    return analysis


def kernels_on_gpu(
    uses: tuple[KernelUse, ...], gpu_id: str, workflow: Workflow, analyses: Analyses
) -> KernelsOnGpu:
    """The kernels one after the other. Raises `WattsliceError` for a kernel that is not in its source."""
    time_s, launching_s, energies_j = 0.0, 0.0, [0.0, 0.0, 0.0]
    problems: list[str] = []
    assumed: list[str] = []
    for use in uses:
        try:
            analysis = analyses(use, gpu_id)
        except WattsliceError as error:
            raise error_of(use, workflow.path, error) from None
        for kernel in _launches(use, analysis, workflow):
            where = f"{kernel.name} ({use.source.name}:{kernel.source.line}) on {gpu_id}"
            assumed += [
                f"kernel {kernel.name} ({use.source.name}:{entry.line}): {entry.message}"
                + (f" ({as_keys(entry.fix)})" if entry.fix else "")
                for entry in kernel.assumptions
            ]
            assumed += _warnings(kernel, analysis)
            if kernel.time_s is None or kernel.power_w is None:
                what = "time" if kernel.time_s is None else "power"
                problems.append(f"the {what} of {where} is unknown{_reason(kernel, analysis)}")
            spent_s = math.nan if kernel.time_s is None else use.launches * kernel.time_s
            time_s += spent_s
            launching_s += use.launches * time_parameters(gpu_id).launch_overhead_s
            watts = kernel.power or Power(math.nan, math.nan, math.nan)
            for index, power_w in enumerate((watts.power_w, watts.low_w, watts.high_w)):
                energies_j[index] += spent_s * power_w
    power_w, low_w, high_w = (energy_j / time_s for energy_j in energies_j)
    return KernelsOnGpu(
        time_s, power_w, low_w, high_w, launching_s, tuple(problems), tuple(dict.fromkeys(assumed))
    )


def time_parameters(gpu_id: str) -> TimeParameters:
    """Those of the model that predicts times for this GPU."""
    from wattslice_models.energy import EnergyModel
    from wattslice_models.execution_time import DEFAULT_TIME_PARAMETERS
    from wattslice_models.store import energy_model

    model = energy_model(load_gpu(gpu_id))
    return model.time if isinstance(model, EnergyModel) else DEFAULT_TIME_PARAMETERS


def _launches(use: KernelUse, analysis: Analysis, workflow: Workflow) -> tuple[KernelAnalysis, ...]:
    def error(message: str, remedy: str) -> WattsliceError:
        return WattsliceError(f"{use.place}: {message}", path=workflow.path, remedy=remedy)

    found = analysis.kernels
    if not found:
        reasons = "; ".join(entry.message for entry in analysis.diagnostics[:2])
        raise error(f"no kernel found in {use.source}", reasons or "no __global__ function is defined there")
    if use.kernel is not None:
        found = tuple(entry for entry in found if use.kernel in (entry.name, entry.source.qualified_name))
        if not found:
            names = ", ".join(dict.fromkeys(entry.name for entry in analysis.kernels))
            raise error(f"no kernel {use.kernel!r} in {use.source}", f"there are {names}")
    if use.launch_line is not None:
        lines = sorted({entry.launch.line for entry in found if entry.launch.line is not None})
        found = tuple(entry for entry in found if entry.launch.line == use.launch_line)
        if not found:
            listed = f"launched in {', '.join(map(str, lines))}" if lines else "no launch was found"
            raise error(f"no launch in line {use.launch_line} of {use.source}", listed)
    elif use.kernel is not None and len(found) > 1:
        ways = ", ".join(
            f"line {entry.launch.line} grid {'x'.join(map(str, entry.launch.grid))}" for entry in found[:6]
        )
        remedy = f"launch_line = N chooses one of {ways}; without kernel all of them run"
        raise error(f"{use.kernel!r} is launched in {len(found)} ways in {use.source}", remedy)
    return found


def _warnings(kernel: KernelAnalysis, analysis: Analysis) -> tuple[str, ...]:
    """What else `analyze` tells of the kernel or of the GPU, but for why its power is unknown."""

    told = [
        entry
        for entry in analysis.diagnostics
        if entry != why_unknown(kernel, analysis)
        and entry.file in (kernel.source.file, "")
        and (entry.line in (0, kernel.launch.line) or entry.line in kernel.source.lines)
    ]
    where = f"kernel {kernel.name} on {analysis.gpu_id}"
    texts = [
        f"{where if entry.line else analysis.gpu_id}: {entry.message.removeprefix(f'{kernel.name}: ')}"
        f" [{entry.rule}]"
        for entry in told
    ]
    if kernel.power and kernel.power.may_hit_limit and not any(entry.rule == "PW021" for entry in told):
        warning = power_limit_warning(kernel)
        texts.append(f"{where}: {warning.message.removeprefix(f'{kernel.name} ')} [{warning.rule}]")
    return tuple(texts)


def _reason(kernel: KernelAnalysis, analysis: Analysis) -> str:
    for entry in analysis.diagnostics:
        if kernel.name in entry.message or entry.line in kernel.source.lines:
            return f": {entry.message} [{entry.rule}]"
    return ""


_KEYS = {"--set": "set", "--launch": "launch", "--profile": "profile", "-D": "define", "-I": "include"}
_OPTION = regex(rf"(?<!\S)({'|'.join(_KEYS)})(?=[\s:]|$)")
_LISTS = ("set", "launch")


def as_keys(fix: str) -> str:
    """The fix of an assumption: `set = ["k.n=VALUE", "k.m=VALUE"]` for `--set k.n=VALUE --set k.m=VALUE`."""
    words = shlex.split(fix)
    options, texts = words[::2], words[1::2]
    if not fix or len(options) != len(texts) or not set(options) <= _KEYS.keys():
        return fix
    values: dict[str, list[str]] = {}
    for option, text in zip(options, texts, strict=True):
        values.setdefault(_KEYS[option], []).append(f'"{text}"')
    return ", ".join(
        f"{key} = [{', '.join(given)}]" if key in _LISTS else f"{key} = {given[0]}"
        for key, given in values.items()
    )


def error_of(use: KernelUse, path: Path, error: WattsliceError) -> WattsliceError:
    """What is wrong with the options or the source of a kernel, with its place in the workflow file."""
    place = use.place
    if isinstance(error, OverrideError):
        given = [key for key, texts in (("set", use.overrides), ("launch", use.launch)) if texts]
        place += f".{' and '.join(given)}" if given else ""
    where = "" if error.path in (None, path) else f"{error.path}: "
    message, remedy = (_OPTION.sub(lambda option: _KEYS[option[1]], t) for t in (error.message, error.remedy))
    return WattsliceError(f"{place}: {where}{message}", path=path, remedy=remedy)
