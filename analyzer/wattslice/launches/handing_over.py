"""Launches that the host code makes of the kernels of a source, for the kernels compiled from them (PTX).

Both are the same kernel, but a by-value struct is one parameter of the source and as many of the compiled
kernel as members of it are read (`ir.ArgumentPart`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from wattslice import ir
from wattslice.launches.overrides import OverrideError, names_kernel
from wattslice.launches.types import ConstantValue, KernelLaunch, Overrides, Setting
from wattslice.launches.values import convert


def handed_over(launch: KernelLaunch, kernel: ir.Kernel, variables: Iterable[ir.Variable]) -> KernelLaunch:
    """`launch`, of the source's kernel, as one of `kernel`; `variables`: those of the compiled program."""
    written = launch.kernel
    file = written.span.file if written.span.file != kernel.span.file else ""
    return replace(
        launch,
        kernel=kernel,
        arguments=_arguments(launch, kernel),
        members=(),
        assumptions=tuple(replace(entry, file=entry.file or file) for entry in launch.assumptions),
        constants=_constants(launch, variables),
        file="" if (launch.file or file) == kernel.span.file else launch.file or file,
        extents=_extents(launch, kernel),
    )


def with_written_names(overrides: Overrides, kernels: Sequence[ir.Kernel]) -> Overrides:
    """What `--set` says of `param2`, said of the parameter by its name in the source as well.

    Raises `OverrideError` where it says something else of that name.
    """
    added: list[Setting] = []
    for setting in overrides.settings:
        for kernel in kernels:
            if setting.kernel is not None and not names_kernel(setting.kernel, kernel):
                continue
            for parameter, part in zip(kernel.parameters, kernel.argument_parts, strict=True):
                if part.number_name == setting.name != parameter.name:
                    _check_agreed(overrides, setting, kernel, parameter.name)
                    added.append(Setting(kernel.mangled_name, parameter.name, setting.value))
    return replace(overrides, settings=(*overrides.settings, *added))


def _check_agreed(overrides: Overrides, setting: Setting, kernel: ir.Kernel, name: str) -> None:
    """Raises `OverrideError` where as much as `setting` says of a number is said of its `name`."""
    for other in overrides.settings:
        if other.name == name and other.value != setting.value:
            both = other.kernel is not None and setting.kernel is not None
            if names_kernel(other.kernel or "", kernel) if both else other.kernel is setting.kernel:
                raise OverrideError(
                    f"contradictory --set: {setting.name}={setting.value} and {name}={other.value} of"
                    f" {kernel.name} are one parameter",
                    remedy="keep one of them",
                )


def _arguments(launch: KernelLaunch, kernel: ir.Kernel) -> tuple[int | float | None, ...]:
    known: dict[tuple[int, int], tuple[int | float, ir.Type]] = {}
    for index, (parameter, value) in enumerate(zip(launch.kernel.parameters, launch.arguments, strict=True)):
        if value is not None:
            known[index, 0] = value, parameter.type
    for member in launch.members:
        parameter = launch.kernel.parameters[member.parameter]
        if (place := _place(parameter.type, member.path)) is not None:
            offset, type_ = place
            known[member.parameter, offset] = member.value, type_
    return tuple(
        _value(parameter, known.get((part.argument, part.offset_bytes)))
        for parameter, part in zip(kernel.parameters, kernel.argument_parts, strict=True)
    )


def _extents(launch: KernelLaunch, kernel: ir.Kernel) -> tuple[int | None, ...]:
    known = dict(enumerate(launch.extents))
    return tuple(None if part.offset_bytes else known.get(part.argument) for part in kernel.argument_parts)


def _value(parameter: ir.Variable, known: tuple[int | float, ir.Type] | None) -> int | float | None:
    """None as well where the compiled kernel reads other bytes than the member has: two members at once."""
    if known is None or parameter.type.kind is ir.TypeKind.POINTER:
        return None
    value, type_ = known
    if type_.size_bytes != parameter.type.size_bytes:
        return None
    if parameter.type.is_float != type_.is_float:
        return None
    converted = convert(value, parameter.type)
    return converted if isinstance(converted, (int, float)) else None


def _place(type_: ir.Type, path: tuple[str, ...]) -> tuple[int, ir.Type] | None:
    """Where a member is, in bytes from the start of the struct, and its type (of an array: its elements')."""
    offset = 0
    for name in path:
        member = next((field for field in type_.fields if field.name == name), None)
        if member is None:
            return None
        offset, type_ = offset + member.offset_bytes, member.type
    while type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        type_ = type_.element
    return offset, type_


def _constants(launch: KernelLaunch, variables: Iterable[ir.Variable]) -> tuple[ConstantValue, ...]:
    compiled = {v.name: v for v in variables if v.space is ir.MemorySpace.CONSTANT}
    return tuple(
        entry._replace(variable=compiled[entry.variable.name])
        for entry in launch.constants
        if entry.variable.name in compiled
    )
