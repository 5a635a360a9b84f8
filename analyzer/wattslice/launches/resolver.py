"""Launch geometry of a program: what the host code tells, what the user fixed, what had to be assumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from wattslice import ir
from wattslice.launches.assumed_variables import with_assumed_variables
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.collection import HostCode
from wattslice.launches.handing_over import handed_over, with_written_names
from wattslice.launches.launch_geometry import is_read
from wattslice.launches.launches import assumed_launch, launches_kernel, launches_of
from wattslice.launches.overrides import names_kernel
from wattslice.launches.statements import LaunchInstance
from wattslice.launches.types import KernelLaunch, LaunchOverride, LaunchSource, NamedValue, Overrides
from wattslice.launches.values import Unknown, convert
from wattslice_models.gpu import Gpu

CallerReader = Callable[[frozenset[str]], Sequence[ir.Program]]
"""Reads the host code of other files that calls the functions of these names."""

LauncherReader = Callable[[frozenset[str]], ir.Program | None]
"""Reads the host code of a file that includes this one and launches its kernels of these names."""


def resolve_launches(
    program: ir.Program,
    overrides: Overrides,
    gpu: Gpu,
    read_callers: CallerReader | None = None,
    read_launcher: LauncherReader | None = None,
) -> tuple[KernelLaunch, ...]:
    """At least one launch for every kernel of `program`, in the order of the kernels.

    The geometry comes from `--launch`, else from the host code; where that depends on variables without a
    value, from values assumed for these; else it is assumed as a whole. Assumptions (PW011) name the option
    that settles them. Scalar parameters without a value are None: whether they matter, and what is assumed
    for them, is told when the kernel is counted. `gpu` answers what host code asks of the device, and sizes
    assumed grids. `read_callers` is asked, once and only when a geometry would have to be assumed, for the
    host code of other files that calls the functions around the launches; `read_launcher` only when a
    kernel has no launch at all. Of a program from PTX, the host code is that of `program.origin`.
    """
    if program.origin is not None:
        return _of_origin(program, program.origin, overrides, gpu, read_callers, read_launcher)
    pins = {setting.name: setting.value for setting in overrides.settings if setting.kernel is None}
    is_c = program.file.endswith((".c", ".h"))
    host = HostCode(program, gpu)
    launcher = None if read_launcher is None else _launcher(program, host, read_launcher)
    if launcher is not None:
        program = _together(program, (launcher,))
        host = HostCode(program, gpu)
    instances = host.launches(pins)
    if given := _host_variables(program, overrides, instances):
        pins = {**given, **pins}
        instances = host.launches(pins)
    read = {instance.node for instance in instances if is_read(instance)}
    if any(instance.node not in read for instance in instances):
        wider = None if read_callers is None else _with_callers(program, read_callers)
        if wider is not None:
            host = HostCode(wider, gpu, host.sites)
            instances = host.launches(pins)
        instances = with_assumed_variables(instances, lambda values: host.launches({**pins, **values}), gpu)
    by_name: dict[str, list[LaunchInstance]] = {}
    for instance in instances:
        by_name.setdefault(instance.node.kernel or instance.node.kernel_name, []).append(instance)
    launches: list[KernelLaunch] = []
    for kernel in program.kernels:
        settings = _settings(kernel, overrides)
        names = dict.fromkeys((kernel.mangled_name, kernel.name, kernel.qualified_name))
        candidates = [instance for name in names for instance in by_name.get(name, ())]
        found = launches_of(kernel, candidates, gpu) or (assumed_launch(kernel, gpu, is_c=is_c),)
        chosen = [o for o in overrides.launches if names_kernel(o.kernel, kernel)]
        if chosen:
            found = tuple(_overridden(override, found[0]) for override in chosen)
        launches.extend(_with_settings(launch, settings) for launch in found)
    return tuple(launches)


def _of_origin(
    program: ir.Program,
    origin: ir.Program,
    overrides: Overrides,
    gpu: Gpu,
    read_callers: CallerReader | None,
    read_launcher: LauncherReader | None,
) -> tuple[KernelLaunch, ...]:
    """The launches of the source's kernels, for the kernels that were compiled from them."""
    overrides = with_written_names(overrides, program.kernels)
    known = resolve_launches(origin, overrides, gpu, read_callers, read_launcher)
    launches: list[KernelLaunch] = []
    for kernel in program.kernels:
        own = [launch for launch in known if launch.kernel is kernel.original]
        if own:
            settings = _settings(kernel, overrides)
            handed = (handed_over(launch, kernel, program.globals) for launch in own)
            launches.extend(_with_settings(launch, settings) for launch in handed)
        else:
            alone = replace(program, kernels=(kernel,), origin=None)
            launches.extend(resolve_launches(alone, overrides, gpu))
    return tuple(launches)


def _host_variables(
    program: ir.Program, overrides: Overrides, instances: Sequence[LaunchInstance]
) -> dict[str, int | float]:
    """What `--set KERNEL.NAME` says of host variables: of those without a value that are passed for NAME."""
    found: dict[str, int | float] = {}
    for setting in overrides.settings:
        for kernel in program.kernels:
            if setting.kernel is None or not names_kernel(setting.kernel, kernel):
                continue
            for index, parameter in enumerate(kernel.parameters):
                if parameter.name != setting.name:
                    continue
                for instance in instances:
                    if not launches_kernel(instance.node, kernel) or index >= len(instance.arguments):
                        continue
                    name = _variable_read(instance.node.arguments[index])
                    if name is not None and isinstance(instance.arguments[index], Unknown):
                        found[name] = setting.value
    return found


def _variable_read(argument: ir.Expr) -> str | None:
    """The host variable that an argument is, converted or not."""
    while isinstance(argument, ir.Cast):
        argument = argument.operand
    return argument.place.variable.name if isinstance(argument, ir.Read) and not argument.place.path else None


def _with_callers(program: ir.Program, read_callers: CallerReader) -> ir.Program | None:
    """The program together with host code of other files; None when there is none."""
    graph = CallGraph(program)
    entries = frozenset(f.name for f in graph.uncalled if f.name != "main" and graph.launches_from(f))
    callers = read_callers(entries) if entries else ()
    return _together(program, callers) if any(caller.functions for caller in callers) else None


def _launcher(program: ir.Program, host: HostCode, read_launcher: LauncherReader) -> ir.Program | None:
    """The host code that includes this file, which is no program itself and has a kernel without a launch."""
    if any(function.name == "main" for function in program.functions):
        return None
    alone = [k for k in program.kernels if not any(launches_kernel(site, k) for site in host.sites)]
    return read_launcher(frozenset(kernel.name for kernel in alone)) if alone else None


def _together(program: ir.Program, others: Sequence[ir.Program]) -> ir.Program:
    known = {function.mangled_name for function in program.functions}
    functions = [f for other in others for f in other.functions if f.mangled_name not in known]
    variables = [variable for other in others for variable in other.globals]
    return replace(
        program, functions=(*program.functions, *functions), globals=(*program.globals, *variables)
    )


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
        assumed_variables=(),
    )


def _with_settings(launch: KernelLaunch, settings: tuple[NamedValue, ...]) -> KernelLaunch:
    values = dict(settings)
    arguments: list[int | float | None] = []
    for parameter, argument in zip(launch.kernel.parameters, launch.arguments, strict=True):
        if parameter.name in values:
            converted = convert(values[parameter.name], parameter.type)
            argument = converted if isinstance(converted, (int, float)) else None
        arguments.append(argument)
    return replace(launch, arguments=tuple(arguments), settings=settings)
