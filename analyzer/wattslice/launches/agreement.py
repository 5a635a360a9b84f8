"""One value for one host variable: what launches of known geometry tell of the sizes passed to them.

`k<<<512, 256>>>(x, n)` with `n` read from a file does not say what `n` is, but the kernel's `if (i < n)`
does: as many as there are threads (`sizes.py`). That value is then assumed for `n` wherever the host code
uses it, also in the grids of other launches, exactly as `--set n=VALUE` would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.instances import LaunchInstance, geometry_of, is_read, kernel_key
from wattslice.launches.memory import Pointer, Unknown, Value, convert
from wattslice.launches.sizes import agreeing_sizes, heaviest_steps
from wattslice.launches.tensors import is_given_size

_Reached = tuple[ir.LaunchCall, tuple[ir.Call, ...]]
_Known = tuple[str, str]
"""A variable without a value: its name, and the reason, which says of which function it is."""


def agreed_sizes(instances: Iterable[LaunchInstance], kernels: Iterable[ir.Kernel]) -> dict[str, int]:
    """Values for host variables that have none, from the launches of known geometry that they are passed to.

    The least of all bounds checks, for each is the most that its launch covers; else the largest that a
    launch walks through. None for a name that different functions have, as their `n`, where it does not
    agree: each of their launches then has its own.
    """
    by_name = _by_name(kernels)
    checked: dict[_Known, int] = {}
    walked: dict[_Known, int] = {}
    for instance in _one_of_each(instances):
        kernel = by_name.get(kernel_key(instance))
        passed = dict[ir.Variable, _Known]() if kernel is None else _passed(instance, kernel)
        grid, block = geometry_of(instance).grid, geometry_of(instance).block
        if kernel is None or not passed or grid is None or block is None:
            continue
        arguments = [number_of(instance, index, p) for index, p in enumerate(kernel.parameters)]
        extents = dict[ir.Root, int | None](
            zip(kernel.parameters, map(extent_of, instance.arguments), strict=False)
        )
        for parameter, size in agreeing_sizes(kernel, grid, block, arguments, extents).items():
            name = passed.get(parameter)
            if name is None or not size.value:
                continue
            if size.is_check:
                checked[name] = min(size.value, checked.get(name, size.value))
            else:
                walked[name] = max(size.value, walked.get(name, size.value))
    values: dict[str, set[int]] = {}
    for (name, _), value in {**walked, **checked}.items():
        values.setdefault(name, set()).add(value)
    return {name: next(iter(found)) for name, found in values.items() if len(found) == 1}


def steps_of(instance: LaunchInstance, kernels: Iterable[ir.Kernel]) -> float:
    """About how many steps the lanes of a launch take; 0 where its kernel or geometry is not known."""
    kernel = _by_name(kernels).get(kernel_key(instance))
    grid, block = geometry_of(instance).grid, geometry_of(instance).block
    if kernel is None or grid is None or block is None:
        return 0
    arguments = [number_of(instance, index, parameter) for index, parameter in enumerate(kernel.parameters)]
    return heaviest_steps(kernel, grid, block, arguments)


def _by_name(kernels: Iterable[ir.Kernel]) -> dict[str, ir.Kernel]:
    return {name: kernel for kernel in kernels for name in (kernel.name, kernel.mangled_name)}


def counterparts(
    instances: Sequence[LaunchInstance], again: Sequence[LaunchInstance]
) -> list[LaunchInstance | None]:
    """For each of `instances` the same launch of the reading `again`, reached on the same way; None: none."""
    places: dict[_Reached, list[LaunchInstance]] = {}
    for instance in again:
        places.setdefault((instance.node, instance.path), []).append(instance)
    numbers: dict[_Reached, int] = {}
    found: list[LaunchInstance | None] = []
    for instance in instances:
        place = (instance.node, instance.path)
        number = numbers[place] = numbers.get(place, -1) + 1
        same = places.get(place, ())
        found.append(same[number] if number < len(same) else None)
    return found


def with_assumed_arguments(
    instances: Sequence[LaunchInstance], again: Sequence[LaunchInstance]
) -> tuple[LaunchInstance, ...]:
    """`instances`, each with what the reading `again`, with values assumed for variables, knows of arguments
    that it does not know itself.
    """
    return tuple(
        instance
        if same is None or not any(isinstance(argument, Unknown) for argument in instance.arguments)
        else replace(instance, assumed_arguments=same.arguments)
        for instance, same in zip(instances, counterparts(instances, again), strict=True)
    )


def number_of(instance: LaunchInstance, index: int, parameter: ir.Variable) -> int | float | None:
    """The number passed for the parameter at `index`; None where there is none that is known."""
    if index >= len(instance.arguments) or parameter.type.kind is ir.TypeKind.POINTER:
        return None
    value = convert(instance.arguments[index], parameter.type)
    return value if isinstance(value, (int, float)) else None


def extent_of(argument: Value) -> int | None:
    """Bytes from where a pointer argument points to the end of what was allocated there."""
    if not isinstance(argument, Pointer) or argument.storage.size_bytes is None:
        return None
    left = argument.storage.size_bytes - argument.offset
    return left if argument.offset >= 0 and left > 0 else None


def _one_of_each(instances: Iterable[LaunchInstance]) -> Iterable[LaunchInstance]:
    """The last visit of each way to each launch whose geometry is known."""
    visits = {(instance.node, instance.path): instance for instance in instances if is_read(instance)}
    return visits.values()


def _passed(instance: LaunchInstance, kernel: ir.Kernel) -> dict[ir.Variable, _Known]:
    """For parameters that a variable without a value is passed to, as it is: the name that settles it, and
    why it has none.
    """
    found: dict[ir.Variable, _Known] = {}
    for parameter, node, value in zip(
        kernel.parameters, instance.node.arguments, instance.arguments, strict=False
    ):
        if not isinstance(value, Unknown) or value.variable is None:
            continue
        if is_given_size(value) and value.likely is not None:  # its name tells its role
            continue
        if ir.read_variable(ir.strip_casts(node)) is not None:
            found[parameter] = value.variable, value.reason
    return found
