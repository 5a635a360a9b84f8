"""From everything the interpreter saw to the launches a report shows: representatives and defaults.

A launch inside a host loop is reached many times. Per launch site and chain of calls one instance stands
for all: the one whose number of threads is nearest in ratio to the mean (the middle one when all are alike),
so that `representative * times` misses the total work by the least factor. Equal launches are shown once, per
kernel the `MAX_LAUNCHES_PER_KERNEL` with the most threads, of all instances of a template
`MAX_LAUNCHES_PER_TEMPLATE`, those that are known first; how many more there are is said. Of an instance that
is not followed a launch is shown where it is known: the file is read again then, for this one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.objects import pointers_in
from wattslice.launches.agreement import extent_of, number_of
from wattslice.launches.control_flow import NOT_COME
from wattslice.launches.host_api import ON_THE_DEVICE
from wattslice.launches.instances import (
    GEOMETRY_OF,
    TIMES_OF,
    AssumedVariable,
    Geometry,
    LaunchInstance,
    Part,
    geometry_of,
    is_read,
    known_extents,
    parts_of,
    without_impossible,
)
from wattslice.launches.kernel_shape import NOTHING, default_block, default_grid
from wattslice.launches.launch import (
    MAX_BLOCK,
    MAX_GRID,
    NOT_FOUND,
    About,
    Assumption,
    CapturedValue,
    Contents,
    Dim3,
    GivenPointer,
    KernelLaunch,
    LaunchSource,
    MemberValue,
    NamedValue,
    UnknownArgument,
)
from wattslice.launches.memory import (
    Pointer,
    Record,
    Storage,
    Unknown,
    Value,
    convert,
    number_in,
    offset_of,
    told_why,
)
from wattslice.launches.sizes import covering_grid, orders_in
from wattslice.launches.zeros import ZeroArrays
from wattslice_models.gpu import Gpu

MAX_LAUNCHES_PER_KERNEL = 8
MAX_LAUNCHES_PER_TEMPLATE = 32
MAX_APART = 4
"""Launches from one loop that differ in whole numbers are shown each by itself, if they are no more."""


def _representative(group: Sequence[LaunchInstance]) -> LaunchInstance:
    """The one by whose ratio to the mean number of threads the sum of all is missed least."""
    known = [
        (instance, threads) for instance in group if (threads := geometry_of(instance).threads) is not None
    ]
    if not known:
        return group[0]
    weights = [one.times if isinstance(one.times, int) else 1 for one, _ in known]
    mean = sum(threads * weight for (_, threads), weight in zip(known, weights, strict=True)) / sum(weights)
    distances = [abs(math.log(threads / mean)) for _, threads in known]
    nearest = [instance for (instance, _), far in zip(known, distances, strict=True) if far == min(distances)]
    unknown = [sum(isinstance(value, Unknown) for value in one.arguments) for one in nearest]
    nearest = [one for one, number in zip(nearest, unknown, strict=True) if number == min(unknown)]
    return nearest[len(nearest) // 2]


def launches_of(
    kernel: ir.Kernel, instances: Sequence[LaunchInstance], gpu: Gpu, zeros: ZeroArrays
) -> tuple[KernelLaunch, ...]:
    """The launches of one kernel that the host code makes; empty when it makes none."""
    own = [instance for instance in instances if is_of_kernel(instance, kernel)]
    lost = None
    if not any(instance.is_certain and is_read(instance) for instance in own):
        written = [instance for instance in own if not instance.is_certain and is_read(instance)]
        if written:
            lost, own = next((instance for instance in own if instance.is_certain), None), written
    by_place: dict[tuple[ir.LaunchCall, tuple[ir.Call, ...]], list[LaunchInstance]] = {}
    for instance in own:
        by_place.setdefault((instance.node, instance.path), []).append(instance)
    groups = [(site, part) for (site, _), group in by_place.items() for part in _apart(group)]
    read_sites = {instance.node for instance in own if is_read(instance)}
    left_out = {site: group[0] for site, group in groups if not any(map(is_read, group))}
    launches: list[KernelLaunch] = []
    for site, group in groups:
        times = _sum(instance.times for instance in group if instance.is_certain)
        others = left_out.get(site, lost) if site in read_sites else None
        if others is None or any(map(is_read, group)):
            times = times if others is None else _OTHER_WAYS
            number, why = (None, times.reason) if isinstance(times, Unknown) else (times, "")
            held = zeros.at(site, kernel)
            ended = zeros.at_an_end(site, kernel, number)
            held += tuple(one for one in ended if one.array not in {other.array for other in held})
            launch = _launch(kernel, group, gpu, others)
            launches.append(replace(launch, times=number, times_unknown=why, zeros=held))
    if not any(instance.is_certain for instance in own):  # one stands for all of what is not run
        launches = launches[:1]
    equal: dict[tuple[object, ...], list[KernelLaunch]] = {}
    for launch in launches:
        shape = (launch.grid, launch.block, launch.dynamic_shared_bytes)
        shared = frozenset(pair for pair in launch.places.items() if pair[0] != pair[1][0])
        key = (
            *shape,
            shared,
            launch.arguments,
            launch.source,
            tuple((one.array, one.kind) for one in launch.zeros),
        )
        equal.setdefault(key, []).append(launch)
    distinct = [_together(same) for same in equal.values()]
    in_order = sorted(distinct, key=lambda launch: (launch.line or 0, launch.blocks))
    return _largest(in_order, MAX_LAUNCHES_PER_KERNEL)


def _apart(group: Sequence[LaunchInstance]) -> Iterable[Sequence[LaunchInstance]]:
    """Launches from one place: few different ones, of which all are known, each by itself."""
    if not all(one.is_certain and is_read(one) and isinstance(one.times, int) for one in group):
        return (group,)
    if any(one.is_moving or one.sample is not None or one.in_unknown_loop for one in group):
        return (group,)
    found: dict[tuple[tuple[Part, int], ...], list[LaunchInstance]] = {}
    for one in group:
        numbers = ((part, value) for part, value in parts_of(one).items() if isinstance(value, int))
        found.setdefault(tuple(numbers), []).append(one)
    are_known = len({tuple(part for part, _ in numbers) for numbers in found}) == 1  # in all the same parts
    return found.values() if are_known and len(found) <= MAX_APART else (group,)


def of_few_instances(launches: Sequence[KernelLaunch]) -> Iterator[KernelLaunch]:
    """`launches`, of every template `MAX_LAUNCHES_PER_TEMPLATE` at most, as `_largest` has them.

    What is assumed is shown of the instances that are followed.
    """
    groups: dict[tuple[str, ir.Span], list[KernelLaunch]] = {}
    for launch in launches:
        groups.setdefault((launch.kernel.name, launch.kernel.span), []).append(launch)
    for same in groups.values():
        worth = sum(one.kernel.is_followed or one.source is not LaunchSource.ASSUMED for one in same)
        yield from _largest(same, min(worth, MAX_LAUNCHES_PER_TEMPLATE))


_OTHER_WAYS = Unknown("it is launched on other ways, too, with a grid or block that is not known")


def _sum(numbers: Iterable[int | Unknown]) -> int | Unknown:
    """The sum; unknown where a number is, and of none."""
    total: int | Unknown = 0
    for number in numbers:
        if isinstance(number, Unknown):
            return number
        total += number
    return total or NOT_COME


def _together(same: Sequence[KernelLaunch]) -> KernelLaunch:
    """One for launches that are equal but for how often they are made and what is told of them: those that
    are not come to count where all are such.
    """
    same = [launch for launch in same if launch.times_unknown != NOT_COME.reason] or same
    told: dict[tuple[str, str, int], Assumption] = {}
    for entry in (entry for launch in same for entry in launch.assumptions):
        # Calls from two places look at different numbers of iterations of the same loops.
        message = "" if entry.about is About.WHICH else entry.message
        told.setdefault((entry.rule, message, 0 if message else entry.line), entry)
    one = replace(same[0], assumptions=tuple(told.values()))
    unknown = next((launch for launch in same if launch.times is None), None)
    if unknown is not None:
        return replace(one, times=None, times_unknown=unknown.times_unknown)
    return replace(one, times=sum(launch.times or 0 for launch in same))


def _largest(launches: Sequence[KernelLaunch], most: int) -> tuple[KernelLaunch, ...]:
    """The launches with the most threads, in the order given; the first says how many were left out.

    What is known goes before what is assumed, whose number of threads is no one's.
    """
    assumed = [one.source is LaunchSource.ASSUMED for one in launches]
    sizes = [
        (is_assumed, is_assumed and not one.kernel.is_followed, -one.blocks * one.threads_per_block)
        for one, is_assumed in zip(launches, assumed, strict=True)
    ]
    ranks = sorted(range(len(launches)), key=sizes.__getitem__)
    kept = [launches[i] for i in sorted(ranks[:most])]
    if left_out := [launches[i] for i in sorted(ranks[most:])]:
        number, kernel = len(left_out), left_out[0].kernel
        what = "further launch" if number == 1 else "further launches"
        shown = "those with the most threads, known ones first"
        if any(assumed[i] for i in ranks[:most]) and not all(one.kernel.is_followed for one in left_out):
            shown = "known ones and some instances"
        assumption = Assumption(
            "PW011",
            left_out[0].line or kernel.span.line,
            f"{number} {what} of {kernel.name} not shown; the {len(kept)} shown are {shown}",
            f"--launch '{kernel.name}={_text(left_out[0].grid)}:{_text(left_out[0].block)}'",
            left_out[0].file,
        )
        kept[0] = replace(kept[0], assumptions=(*kept[0].assumptions, assumption))
    return tuple(kept)


def launches_kernel(node: ir.LaunchCall, kernel: ir.Kernel) -> bool:
    """True when a launch in the source is of this kernel."""
    if node.kernel:
        return (
            node.kernel == kernel.mangled_name
            or (node.kernel == kernel.name and kernel.mangled_name != kernel.name)
            or _is_instance(node, kernel)
        )
    return node.kernel_name in (kernel.name, kernel.qualified_name)


def launched_by(sites: Iterable[ir.LaunchCall], kernels: Iterable[ir.Kernel]) -> frozenset[ir.Kernel]:
    """Those of `kernels` that any launch in the source is of: launches that name the same are one."""
    alike = {(site.kernel, site.kernel_name, len(site.arguments)): site for site in sites}
    return frozenset(k for k in kernels if any(launches_kernel(site, k) for site in alike.values()))


def _is_instance(node: ir.LaunchCall, kernel: ir.Kernel) -> bool:
    """True when another file launches an instance of a template that has none in its own file."""
    is_template = kernel.mangled_name == kernel.name == node.kernel_name
    return is_template and node.kernel.startswith("_Z") and len(node.arguments) == len(kernel.parameters)


def is_of_kernel(instance: LaunchInstance, kernel: ir.Kernel) -> bool:
    """True when what was launched is this kernel, also where a pointer decided that."""
    if instance.kernel:
        return instance.kernel in (kernel.mangled_name, kernel.name)
    return launches_kernel(instance.node, kernel)


def _launch(
    kernel: ir.Kernel, group: Sequence[LaunchInstance], gpu: Gpu, other: LaunchInstance | None
) -> KernelLaunch:
    """Of launches in one place: the one that stands for all, of those that are read if any is.

    `other`: one that is not read and not among them.
    """
    every = [instance for instance in group if instance.is_certain] or group
    group = list(filter(is_read, group)) or group
    running = [instance for instance in group if instance.is_certain]
    chosen = without_impossible(_representative(running or group))
    geometry = geometry_of(chosen)
    line, file = chosen.node.span.line, chosen.node.span.file
    host_file = "" if file == kernel.span.file else file
    assumptions: list[Assumption] = []
    block, grid = geometry.block, geometry.grid
    if block is None or grid is None:
        parts = NOTHING, NOTHING
        if not geometry.is_impossible:
            parts = known_extents(chosen.grid, MAX_GRID), known_extents(chosen.block, MAX_BLOCK)
        what = _what(grid, block)
        block = block or default_block(kernel, parts[1])
        numbers = tuple(number_of(chosen, index, each) for index, each in enumerate(kernel.parameters))
        grid = grid or covering_grid(kernel, default_grid(kernel, gpu, parts[0]), block, numbers)
        assumptions.append(_assumed(kernel, grid, block, line, f"{what} unknown", geometry.cause))
    assumptions.extend(_assumed_variable(kernel, grid, block, line, variable) for variable in chosen.assumed)
    assumptions.extend(_assumed_size(line, variable) for variable in chosen.assumed_sizes)
    is_argc_told = any(one.name == "argc" for one in chosen.assumed)
    for one in chosen.decided:
        if not (one.is_of_argc and is_argc_told):
            fix = "--args 'WORDS'" if one.is_of_argc else _by_launch(kernel)
            message = f"{one.assumed}: that decides {one.what} {kernel.name}"
            about = About.TIMES if one.what == TIMES_OF else About.REST
            assumptions.append(Assumption("PW011", line, message, fix, about=about))
    for span, one in chosen.passed:
        where = f"line {span.line}" + f" of {Path(span.file).name}" * (span.file != file)
        message = f"what {one.decides} decides in {where}, {one.jump} before the launch of {kernel.name}, is"
        message += f" taken not to happen{one.why and f': {one.why}'}"
        assumptions.append(Assumption("PW011", line, message, _by_launch(kernel)))
    shared = convert(chosen.shared_bytes, ir.INT64)
    if not isinstance(shared, int) or shared < 0:
        reason = shared.reason if isinstance(shared, Unknown) else "no number"
        assumptions.append(
            Assumption(
                "PW011",
                line,
                f"dynamic shared memory of {kernel.name} unknown: {reason}; 0 bytes assumed",
                f"--launch '{kernel.name}={_text(grid)}:{_text(block)}:BYTES'",
            )
        )
        shared = 0
    if chosen.files:
        assumptions.append(_of_files(kernel, chosen))
    assumptions.extend(_too_large(kernel, chosen, gpu))
    assumptions.extend(_without_extent(kernel, chosen))
    changing = _extents_that_differ(every)
    assumptions.extend(_loop_assumptions(kernel, every, chosen, grid, block))
    if chosen.sample is not None:
        message = f"{kernel.name}: {chosen.sample.told}"
        assumptions.append(Assumption("PW011", line, message, _by_launch(kernel)))
    if not running and not any(one.is_supposed for one in chosen.assumed):
        how = "as written there" if chosen.is_as_written else "assumed"
        where = f"launched{' only' * (other is None)} where the host code does not come"
        if chosen.is_other:
            where = "perhaps launched: through a pointer that holds another kernel"
        written = _configuration(kernel, grid, block)
        message = f"{kernel.name} is {where} with the values read or assumed; {how}: {written}"
        assumptions.append(Assumption("PW011", line, message, _by_launch(kernel)))
    if all(instance.is_guess for instance in running or group):
        message = f"{kernel.name} is perhaps launched: through a pointer whose value is unknown"
        assumptions.append(Assumption("PW011", line, message, _by_launch(kernel)))
    if other is not None:
        where = other.node.span.line if other.node.span.file == file else line
        assumptions.append(_by_other_ways(kernel, other, where))
    return KernelLaunch(
        kernel,
        grid,
        block,
        shared,
        LaunchSource.ASSUMED
        if changing and chosen.in_unknown_loop
        else _source(chosen, is_run=bool(running)),
        line,
        tuple(number_of(chosen, index, parameter) for index, parameter in enumerate(kernel.parameters)),
        assumptions=tuple(replace(entry, file=host_file) for entry in assumptions),
        contents=Contents(
            tuple(_members(kernel, chosen)),
            chosen.constants,
            tuple(_captures(kernel, chosen)),
            tuple(_pointers(kernel, chosen)),
        ),
        assumed_variables=tuple(
            NamedValue(variable.name, variable.value) for variable in (*chosen.assumed, *chosen.assumed_sizes)
        ),
        file=host_file,
        assumed_arguments=tuple(_assumed_arguments(kernel, chosen)),
        program_arguments=chosen.given,
        unknown_arguments=tuple(_unknown_arguments(kernel, chosen)),
    )


def _by_other_ways(kernel: ir.Kernel, other: LaunchInstance, line: int) -> Assumption:
    cause = geometry_of(other).cause
    message = (
        f"{kernel.name} is launched on other ways, too, with a grid or block that is not known: "
        f"{told_why(cause)}"
    )
    return Assumption("PW011", line, message, _by_launch(kernel))


def _of_files(kernel: ir.Kernel, chosen: LaunchInstance) -> Assumption:
    message = (
        f"{kernel.name} is launched after {' and '.join(chosen.files)} is read, as it lies in the repository"
    )
    return Assumption("PW011", chosen.node.span.line, message, _by_launch(kernel))


def _too_large(kernel: ir.Kernel, chosen: LaunchInstance, gpu: Gpu) -> Iterator[Assumption]:
    """Arrays that no memory of this GPU holds: a program whose allocation fails launches nothing."""
    cells = (cell for value in chosen.arguments for cell in _cells(value))
    given = {cell.storage for cell in cells if isinstance(cell, Pointer)}
    size = sum(storage.size_bytes or 0 for storage in given if storage.name in ON_THE_DEVICE)
    size += sum({storage.name: storage.tensor_bytes for storage in given}.values())
    if size > gpu.memory_bytes:
        message = f"{kernel.name} is given arrays of at least {size:.3g} bytes"
        message += f", taken to fit the {gpu.memory_bytes:.3g}"
        fix = f"--set {chosen.assumed[0].name}=VALUE" if chosen.assumed else "--gpu GPU"
        yield Assumption("PW011", chosen.node.span.line, f"{message} bytes of the GPU", fix)


def _without_extent(kernel: ir.Kernel, chosen: LaunchInstance) -> Iterator[Assumption]:
    """Numbers that what is assumed makes negative or 0, and that the kernel compares its indices with, or
    with a product of.
    """
    every = ir.expressions_below(kernel.body) if chosen.made_of_assumed else ()
    compared = (pair for expr in every if isinstance(expr, ir.Binary) for pair in orders_in(expr))
    sizes = (size for index, size, _ in compared if not isinstance(ir.strip_casts(index), ir.Constant))
    bounds = {ir.read_variable(factor) for size in sizes for factor in _factors(size)}
    for index, parameter in enumerate(kernel.parameters):
        number = number_of(chosen, index, parameter)
        is_made = index in chosen.made_of_assumed and parameter in bounds
        if is_made and number is not None and number <= 0:
            message = f"what is assumed makes argument {parameter.name} {number}, with which {kernel.name}"
            message += " compares: threads may do nothing"
            line, fix = chosen.node.span.line, f"--set {kernel.name}.{parameter.name}=VALUE"
            yield Assumption("PW011", line, message, fix)


def _factors(size: ir.Expr) -> Iterator[ir.Expr]:
    """Those of a product, else the size itself."""
    size = ir.strip_casts(size)
    if isinstance(size, ir.Binary) and size.op is ir.BinaryOp.MUL:
        yield from _factors(size.left)
        yield from _factors(size.right)
    else:
        yield size


def _cells(value: Value) -> Iterable[Value]:
    return value.cells.values() if isinstance(value, Record) else (value,)


def _source(chosen: LaunchInstance, *, is_run: bool) -> LaunchSource:
    is_assumed = any(variable.is_of_geometry for variable in chosen.assumed)
    is_assumed |= chosen.sample is not None and chosen.sample.is_of_geometry
    is_assumed |= any(one.what == GEOMETRY_OF and not one.is_of_argc for one in chosen.decided)
    if not is_read(chosen) or is_assumed or not (is_run or chosen.is_as_written):
        return LaunchSource.ASSUMED
    return LaunchSource.HOST_CODE if chosen.given is None else LaunchSource.ARGUMENTS


def _captures(kernel: ir.Kernel, instance: LaunchInstance) -> list[CapturedValue]:
    """What the kernel names of the host's variables, found by name and place."""
    if not instance.captured:
        return []
    known = {(v.name, v.span.file, v.span.line): value for v, value in instance.captured}
    named = {
        node.place.variable
        for node in ir.expressions_below(kernel.body)
        if isinstance(node, ir.Read) and node.place.variable.role is ir.VariableRole.FILE_SCOPE
    }
    found: list[CapturedValue] = []
    for variable in named:
        value = known.get((variable.name, variable.span.file, variable.span.line))
        if value is not None and variable.space is ir.MemorySpace.REGISTER:
            found.append(CapturedValue(variable, value))
    return sorted(found, key=lambda entry: entry.variable.name)


def _assumed_arguments(kernel: ir.Kernel, instance: LaunchInstance) -> list[NamedValue]:
    with_assumed = replace(instance, arguments=instance.assumed_arguments)
    found: list[NamedValue] = []
    for index, parameter in enumerate(kernel.parameters):
        value = number_of(with_assumed, index, parameter)
        if parameter.type.is_integral and value is not None and number_of(instance, index, parameter) is None:
            found.append(NamedValue(parameter.name, value))
    return found


def _unknown_arguments(kernel: ir.Kernel, instance: LaunchInstance) -> Iterator[UnknownArgument]:
    for parameter, value in zip(kernel.parameters, instance.arguments, strict=False):
        if isinstance(value, Unknown) and parameter.type.kind in (ir.TypeKind.INT, ir.TypeKind.FLOAT):
            yield UnknownArgument(parameter.name, told_why(value))


def _members(kernel: ir.Kernel, instance: LaunchInstance) -> list[MemberValue]:
    found: list[MemberValue] = []
    for index, (parameter, value) in enumerate(zip(kernel.parameters, instance.arguments, strict=False)):
        if isinstance(value, Record):
            found.extend(_scalars(index, (), parameter.type, value, 0))
            found.extend(_lanes(index, parameter.type, value))
    return found


def _pointers(kernel: ir.Kernel, instance: LaunchInstance) -> Iterator[GivenPointer]:
    """The arguments that point to a known place, and the pointers in records by value that do."""
    numbers: dict[tuple[Storage, int], int] = {}
    for index, (parameter, value) in enumerate(zip(kernel.parameters, instance.arguments, strict=False)):
        cells = value.cells if isinstance(value, Record) else {0: value}
        for offset, _, _ in pointers_in(parameter.type):
            cell = cells.get(offset)
            if isinstance(cell, Pointer):
                number = numbers.setdefault(cell.array, len(numbers))
                yield GivenPointer(index, offset, number, extent_of(cell), cell.offset)


def _lanes(index: int, type_: ir.Type, value: Record) -> Iterator[MemberValue]:
    """The numbers of a vector: uint3 and its like."""
    for lane, name in enumerate("xyzw"[: type_.lanes] if type_.lanes > 1 else ""):
        cell = value.cells.get(lane * type_.bits // 8)
        if isinstance(cell, (int, float)):
            yield MemberValue(index, (name,), cell)


def _scalars(
    index: int, path: tuple[str, ...], type_: ir.Type, value: Record, offset: int
) -> list[MemberValue]:
    found: list[MemberValue] = []
    for member in type_.fields:
        where = offset + (offset_of(type_, (member.name,)) if member.bits else member.offset_bytes)
        cell = value.cells.get(where)
        if member.type.kind is ir.TypeKind.RECORD:
            found.extend(_scalars(index, (*path, member.name), member.type, value, where))
        elif member.type.kind is ir.TypeKind.ARRAY and (element := number_in(member.type)) is not None:
            cells = (
                (at, value.cells.get(where + at))
                for at in range(0, member.type.size_bytes, element.size_bytes)
            )
            numbers = ((at, one) for at, one in cells if isinstance(one, (int, float)))
            found.extend(MemberValue(index, (*path, member.name), one, at) for at, one in numbers)
        elif isinstance(cell, (int, float)) and member.type.lanes == 1:
            found.append(MemberValue(index, (*path, member.name), cell))
    return found


def _loop_assumptions(
    kernel: ir.Kernel, group: Sequence[LaunchInstance], chosen: LaunchInstance, grid: Dim3, block: Dim3
) -> list[Assumption]:
    """What differs from one iteration to the next in the host loop that holds the launch."""
    line = chosen.node.span.line
    geometries = [geometry_of(instance) for instance in group]
    lost = next((one.cause for one in geometries if one.threads is None and one.cause.reason), None)
    numbers = {
        parameter.name: [number_of(instance, index, parameter) for instance in group]
        for index, parameter in enumerate(kernel.parameters)
    }
    known = [p.name for index, p in enumerate(kernel.parameters) if number_of(chosen, index, p) is not None]
    extents = _extents_that_differ(group)
    differing = {name: what for name in known if (what := _differs(f"argument {name}", numbers[name]))}
    arguments = list(differing)
    if not extents and not arguments:
        return []
    what = [*extents, *differing.values()]
    loop, shown = "a loop", _of_many(geometries, is_same=not extents)
    if chosen.in_unknown_loop:
        loop = "a loop of unknown length"
        shown = "the one of its first iteration" if chosen is group[0] else shown
    message = (
        f"{kernel.name} is launched from {loop}, with {' and '.join(what)} in each iteration"
        f"{'' if lost is None or not extents else f' ({told_why(lost)})'}; shown is "
        f"{shown}, {_configuration(kernel, grid, block)}"
    )
    fix = _by_launch(kernel) if extents else f"--set {kernel.name}.{arguments[0]}=VALUE"
    return [Assumption("PW011", line, message, fix, about=About.WHICH)]


def _extents_that_differ(group: Sequence[LaunchInstance]) -> list[str]:
    """What of grid and block is another in each iteration of a loop, or not always known."""
    geometries = [geometry_of(instance) for instance in group]
    pairs = ("grid", [g.grid for g in geometries]), ("block", [g.block for g in geometries])
    return [what for name, values in pairs if (what := _differs(name, values))]


def _differs(what: str, values: Sequence[object]) -> str:
    """How a value differs from one launch of a loop to the next; empty where it does not."""
    if len(set(values) - {None}) > 1:
        return f"another {what}"
    article = "an" if what[0] in "aeiou" else "a"
    return f"{article} {what} that is not always known" if None in values and set(values) != {None} else ""


def _of_many(geometries: Sequence[Geometry], *, is_same: bool) -> str:
    """Which launch of a loop stands for all, and how far the others are from it."""
    if is_same:
        return "one of them"
    threads = [g.threads for g in geometries if g.threads is not None]
    if not threads:
        return "one of them"
    return (
        f"the one nearest in ratio to the mean number of threads of the {len(threads)} looked at, which have "
        f"{min(threads)} to {max(threads)}"
    )


def _by_set(kernel: ir.Kernel, name: str) -> str:
    """How to say the value of a variable; what has no name to be said, as `[a, b].first`, by the launch."""
    return _by_launch(kernel) if name.startswith("[") else f"--set {name}=VALUE"


def _by_launch(kernel: ir.Kernel) -> str:
    return f"--launch '{kernel.name}=gx,gy,gz:bx,by,bz'"


# ----------------------------------------------------------------------------- stated defaults


class WrittenLaunch(Struct, frozen=True):
    """A launch as it stands in the text: grid and block where they are plain numbers; `by`: who makes it, of
    one in device code.
    """

    line: int
    grid: Dim3 | None
    block: Dim3 | None
    by: str = ""


def assumed_launch(
    kernel: ir.Kernel,
    gpu: Gpu,
    *,
    is_c: bool,
    is_read: bool = True,
    given_to: tuple[int, str] | None = None,
    written: WrittenLaunch | None = None,
    wanted: Sequence[str] = (),
) -> KernelLaunch:
    """The launch of a kernel about which nothing is known; a C function runs in one thread.

    `is_read`: whether all of the file could be read. `given_to`: the line and name of a call with it that is
    not followed, which may launch it. `written`: in device code, or what looks like a launch of it and was
    not read as one, `wanted`: macros it is there with.
    """
    grid, block = ((1, 1, 1), (1, 1, 1)) if is_c else (default_grid(kernel, gpu), default_block(kernel))
    reason = "nothing in this file calls it from main" if is_c else "no launch in this file"
    what, times = "launch unknown", NOT_FOUND
    if written is not None:
        grid, block = written.grid or grid, written.block or block
    if written is not None and written.by:
        is_known = written.grid is not None and written.block is not None
        what = f"{'number' if is_known else _what(written.grid, written.block)} unknown"
        times = f"{written.by} launches it (line {written.line})"
        reason = f"{times}, no host code in this file does"
    elif given_to is not None:
        times = reason = f"no launch is read: line {given_to[0]} gives it to {given_to[1]}(), not followed"
    elif written is not None:
        reason = f"no launch is read: that of line {written.line} is left out by #if, in a comment, or not"
        times = reason = f"{reason} understood"
        if wanted:
            times = reason = f"{reason} (it is there with {' '.join(f'-D {name}' for name in wanted)})"
    reason += "" if is_read else ", as far as it could be read"
    return KernelLaunch(
        kernel,
        grid,
        block,
        0,
        LaunchSource.ASSUMED,
        None,
        tuple(None for _ in kernel.parameters),
        assumptions=(_assumed(kernel, grid, block, kernel.span.line, what, Unknown(reason)),),
        times_unknown=times,
    )


def _assumed(kernel: ir.Kernel, grid: Dim3, block: Dim3, line: int, what: str, cause: Unknown) -> Assumption:
    reason = told_why(cause)
    message = f"{what}: {reason}; assumed {_configuration(kernel, grid, block)}"
    fix = _by_launch(kernel) if cause.variable is None else _by_set(kernel, cause.variable)
    return Assumption("PW011", line, message, fix)


def _assumed_variable(
    kernel: ir.Kernel, grid: Dim3, block: Dim3, line: int, variable: AssumedVariable
) -> Assumption:
    name, reason = variable.name, told_why(Unknown(variable.reason, variable.name))
    message = f"{reason}; {name} assumed {variable.value}: {_configuration(kernel, grid, block)}"
    return Assumption("PW011", line, message, _by_set(kernel, name))


def _assumed_size(line: int, variable: AssumedVariable) -> Assumption:
    reason = told_why(Unknown(variable.reason, variable.name))
    message = f"{reason}; {variable.name} assumed {variable.value}"
    return Assumption("PW010", line, message, f"--set {variable.name}=VALUE")


def _configuration(kernel: ir.Kernel, grid: Dim3, block: Dim3) -> str:
    return f"{kernel.name}<<<({_text(grid)}), ({_text(block)})>>>"


def _what(grid: Dim3 | None, block: Dim3 | None) -> str:
    if grid is None and block is None:
        return "grid and block"
    return "grid" if grid is None else "block"


def _text(extent: Dim3) -> str:
    return ",".join(str(part) for part in extent)
