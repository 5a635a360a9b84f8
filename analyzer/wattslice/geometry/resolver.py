"""Launch geometry of a program: what the host code tells, what the user fixed, what had to be assumed."""

from __future__ import annotations

from dataclasses import replace

from wattslice import ir
from wattslice.analysis import LaunchSource
from wattslice.execution import Assumption
from wattslice.geometry.interpreter import collect_launches
from wattslice.geometry.launches import assumed_launch, launches_of
from wattslice.geometry.overrides import names_kernel
from wattslice.geometry.types import KernelLaunch, LaunchOverride, NamedValue, Overrides
from wattslice.geometry.values import convert
from wattslice_models.gpu import Gpu


def resolve_launches(program: ir.Program, overrides: Overrides, gpu: Gpu) -> tuple[KernelLaunch, ...]:
    """At least one launch for every kernel of `program`, in the order of the kernels.

    The geometry comes from `--launch`, else from the host code, else it is assumed, with an assumption
    (PW011) that names the option that settles it. Scalar parameters without a value are None, with an
    assumption (PW010). `gpu` answers what host code asks of the device, and sizes assumed grids.
    """
    pins = {setting.name: setting.value for setting in overrides.settings if setting.kernel is None}
    is_c = program.file.endswith((".c", ".h"))
    instances = collect_launches(program, gpu, pins)
    launches: list[KernelLaunch] = []
    for kernel in program.kernels:
        settings = _settings(kernel, overrides)
        found = launches_of(kernel, instances, gpu) or (assumed_launch(kernel, gpu, is_c=is_c),)
        chosen = [o for o in overrides.launches if names_kernel(o.kernel, kernel)]
        if chosen:
            found = tuple(_overridden(override, found[0]) for override in chosen)
        launches.extend(_with_settings(launch, settings) for launch in found)
    return tuple(launches)


def _settings(kernel: ir.Kernel, overrides: Overrides) -> tuple[NamedValue, ...]:
    """Values for this kernel; `KERNEL.NAME` wins over `NAME`."""
    values: dict[str, int | float] = {}
    for setting in sorted(overrides.settings, key=lambda setting: setting.kernel is not None):
        if setting.kernel is None or names_kernel(setting.kernel, kernel):
            values[setting.name] = setting.value
    return tuple(NamedValue(name, value) for name, value in values.items())


def _overridden(override: LaunchOverride, base: KernelLaunch) -> KernelLaunch:
    """The launch from `--launch`, with the arguments that the host code gives."""
    shared = override.dynamic_shared_bytes
    return replace(
        base,
        grid=override.grid,
        block=override.block,
        dynamic_shared_bytes=base.dynamic_shared_bytes if shared is None else shared,
        source=LaunchSource.OPTION,
        assumptions=(),
    )


def _with_settings(launch: KernelLaunch, settings: tuple[NamedValue, ...]) -> KernelLaunch:
    values = dict(settings)
    arguments: list[int | float | None] = []
    assumptions = list(launch.assumptions)
    kernel = launch.kernel
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        if parameter.name in values:
            converted = convert(values[parameter.name], parameter.type)
            argument = converted if isinstance(converted, (int, float)) else None
        arguments.append(argument)
        if argument is None and parameter.type.is_integral and parameter.type.lanes == 1:
            name = f"{kernel.name}.{parameter.name}"
            message = f"value of parameter '{parameter.name}' of {kernel.name} unknown"
            line = launch.line or kernel.span.line
            assumptions.append(Assumption("PW010", line, message, f"--set {name}=..."))
    return replace(launch, arguments=tuple(arguments), settings=settings, assumptions=tuple(assumptions))
