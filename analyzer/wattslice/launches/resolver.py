"""Launch geometry of a program: what the host code tells, what the user fixed, what had to be assumed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.errors import Severity
from wattslice.frontend.neighbours import EXTERN
from wattslice.frontend.project.conditionals import macros_of
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.launches import host_api
from wattslice.launches.agreement import agreed_sizes, steps_of
from wattslice.launches.assumed_variables import with_assumed_variables
from wattslice.launches.call_graph import call_graph
from wattslice.launches.control_flow import NOT_COME
from wattslice.launches.host_code import ARGC, ENVIRONMENT, GPUS, HostCode, Place
from wattslice.launches.instances import (
    GEOMETRY_OF,
    Decision,
    LaunchInstance,
    is_read,
    kernel_key,
    values_of,
    without_dead,
)
from wattslice.launches.launch import (
    About,
    Assumption,
    ConstantValue,
    Dim3,
    GivenPointer,
    KernelLaunch,
    LaunchOverride,
    LaunchSource,
    NamedValue,
    Overrides,
    Setting,
)
from wattslice.launches.launches import (
    WrittenLaunch,
    assumed_launch,
    is_of_kernel,
    launched_by,
    launches_kernel,
    launches_of,
    of_few_instances,
)
from wattslice.launches.linking import beside, defines, file_of, in_doubt, linkable, together, uses
from wattslice.launches.memory import Unknown, convert
from wattslice.launches.overrides import OverrideError, names_kernel
from wattslice.launches.tensors import with_accessor_sizes
from wattslice.launches.zeros import ZeroArrays
from wattslice_models.gpu import Gpu

MOST_CALLS_APART = 4
"""Files that lie between a launch and `main`."""


_UNREAD = frozenset({"PW001", "PW006"})
"""Problems of source text that is passed over: a launch may stand there."""


def handed_over(launch: KernelLaunch, kernel: ir.Kernel, variables: Iterable[ir.Variable]) -> KernelLaunch:
    """`launch`, of the source's kernel, as one of `kernel`; `variables`: those of the compiled program."""
    written = launch.kernel
    file = written.span.file if written.span.file != kernel.span.file else ""
    return replace(
        launch,
        kernel=kernel,
        arguments=_arguments(launch, kernel),
        assumptions=tuple(replace(entry, file=entry.file or file) for entry in launch.assumptions),
        contents=replace(
            launch.contents,
            members=(),
            constants=_constants(launch, variables),
            pointers=tuple(_pointers(launch, kernel)),
        ),
        file="" if (launch.file or file) == kernel.span.file else launch.file or file,
        assumed_arguments=_assumed_arguments(launch, kernel),
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
    for member in launch.contents.members:
        parameter = launch.kernel.parameters[member.parameter]
        if (place := _place(parameter.type, member.path)) is not None:
            offset, type_ = place
            known[member.parameter, offset + member.element_bytes] = member.value, type_
    return tuple(
        _value(parameter, known.get((part.argument, part.offset_bytes)))
        for parameter, part in zip(kernel.parameters, kernel.argument_parts, strict=True)
    )


def _assumed_arguments(launch: KernelLaunch, kernel: ir.Kernel) -> tuple[NamedValue, ...]:
    known = {entry.name: entry.value for entry in launch.assumed_arguments}
    names = [parameter.name for parameter in launch.kernel.parameters]
    return tuple(
        NamedValue(parameter.name, known[names[part.argument]])
        for parameter, part in zip(kernel.parameters, kernel.argument_parts, strict=True)
        if not part.offset_bytes and names[part.argument] in known
    )


def _pointers(launch: KernelLaunch, kernel: ir.Kernel) -> Iterator[GivenPointer]:
    known = {(given.parameter, given.offset_bytes): given for given in launch.contents.pointers}
    for index, part in enumerate(kernel.argument_parts):
        if (given := known.get((part.argument, part.offset_bytes))) is not None:
            yield replace(given, parameter=index, offset_bytes=0)


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
        if member is None or member.bits is not None:
            return None
        offset, type_ = offset + member.offset_bytes, member.type
    while type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        type_ = type_.element
    return offset, type_


def _constants(launch: KernelLaunch, variables: Iterable[ir.Variable]) -> tuple[ConstantValue, ...]:
    compiled = {v.name: v for v in variables if v.space is ir.MemorySpace.CONSTANT}
    return tuple(
        replace(entry, variable=compiled[entry.variable.name])
        for entry in launch.contents.constants
        if entry.variable.name in compiled
    )


CallerReader = Callable[[frozenset[str]], Sequence[ir.Program]]
"""Reads the host code of other files that calls the functions, or launches the kernels, of these names."""

LauncherReader = Callable[[frozenset[str]], ir.Program | None]
"""Reads the host code of a file that includes this one and launches its kernels of these names."""

DefinitionReader = Callable[[tuple[Path, frozenset[str]]], Sequence[ir.Program]]
"""Reads the host code near a file that defines functions or variables of these names."""


ArgumentFinder = Callable[[Path], ProgramArguments | None]
"""What the program whose `main` is in this file is run with."""


class Neighbours(Struct, frozen=True):
    """Who is asked about other files. None: nobody.

    `callers`: the host code that calls the functions around the launches; `sharing`: that launches what is
    launched here as well, or calls what `main` calls. Where numbers are unknown then, `definitions`: of what
    that uses and does not define. When a kernel has no launch at all `launcher`, the code that includes it,
    then `linking`, which may launch it without. `arguments`, when a `main` takes some.
    """

    callers: CallerReader | None = None
    launcher: LauncherReader | None = None
    arguments: ArgumentFinder | None = None
    definitions: DefinitionReader | None = None
    linking: CallerReader | None = None
    sharing: CallerReader | None = None


ALONE = Neighbours()


def resolve_launches(
    program: ir.Program, overrides: Overrides, gpu: Gpu, around: Neighbours = ALONE
) -> tuple[KernelLaunch, ...]:
    """At least one launch for every kernel of `program`, in the order of the kernels; of the instances of a
    template those of `of_few_instances`.

    The geometry comes from `--launch`, else from the host code; where that depends on variables without a
    value, from values assumed for these; else it is assumed as a whole. Assumptions (PW011) name the option
    that settles them. Scalar parameters without a value are None: whether they matter, and what is assumed
    for them, is told when the kernel is counted. `gpu` answers what host code asks of the device, and sizes
    assumed grids. Of a program from PTX, the host code is that of `program.origin`.
    """
    if not program.kernels:
        return ()
    if program.origin is not None:
        return _of_origin(program, program.origin, overrides, gpu, around)
    pins = {
        setting.name if setting.kernel is None else f"{setting.kernel}.{setting.name}": setting.value
        for setting in overrides.settings  # of a kernel, or of a tensor: x.size0
    }
    is_c = program.file.endswith((".c", ".h"))
    problems = (d.rule for d in program.diagnostics if d.severity is not Severity.NOTE)
    is_read = _UNREAD.isdisjoint(problems)
    host = HostCode(program, gpu)
    including, linked = _launchers(program, host, around)
    if including or linked:
        program = together(program, including or linked)
        host = HostCode(program, gpu, None if including else _sites(program, host))
    assumed = host.lacking() if pins else frozenset[str]()
    instances = host.launches(pins, None, assumed)
    if given := _host_variables(program, overrides, instances):
        pins, assumed = {**given, **pins}, host.lacking()
        instances = host.launches(pins, None, assumed)
    was_complete = _are_complete(instances) and not _may_be_set(program)
    wider = _with_callers(program, around)
    wider = wider if was_complete else _with_what_they_use(wider, around)
    while wider is not program:
        program = wider = replace(wider, kernels=program.kernels)
        host = HostCode(program, gpu, _sites(program, host))
        assumed = host.lacking() if pins else assumed
        instances = host.launches(pins, None, assumed)
        if was_complete and not _are_complete(instances):
            was_complete, wider = False, _with_what_they_use(program, around)
    arguments = None if around.arguments is None else _arguments_of_main(program, around.arguments)
    if arguments is not None:
        assumed = host.lacking(arguments) if pins else assumed
        instances = _as_run(instances, host.launches(pins, arguments, assumed), arguments)
    if was_complete and host.is_cheap and any(map(_lacks_times, instances)):
        wider = _with_what_they_use(program, around)
        found, other = (), host
        if wider is not program:
            wider = replace(wider, kernels=program.kernels)
            other = HostCode(wider, gpu, _sites(program, host))
            found = other.launches(pins, arguments, assumed)
            if arguments is not None:
                found = _as_run(other.launches(pins, None, assumed), found, arguments)
        if (
            found
            and _are_complete(found)
            and sum(map(_lacks_times, found)) < sum(map(_lacks_times, instances))
        ):
            program, host, instances = wider, other, found

    def read_again(values: Mapping[str, int | float]) -> tuple[LaunchInstance, ...]:
        return host.launches({**values, **pins}, arguments, assumed | (frozenset(values) - frozenset(pins)))

    def agree(found: Iterable[LaunchInstance]) -> dict[str, int]:
        return agreed_sizes(found, program.kernels)

    def steps(instance: LaunchInstance) -> float:
        return steps_of(instance, program.kernels)

    instances = with_assumed_variables(instances, read_again, gpu, agree, steps)
    if arguments is None and _reads_argc(program):
        told = host.decided_by(ARGC, pins, None, assumed)
        instances = _with_decisions(instances, told, "")
    if names := _asked_of_the_environment(program):
        told = host.decided_by(ENVIRONMENT, pins, arguments, assumed)
        instances = _with_decisions(instances, told, f"no environment variable {names} assumed")
    told = host.decided_by(GPUS, pins, arguments, assumed)
    instances = _with_decisions(instances, told, "one GPU assumed", is_told_of_all=True)
    by_name: dict[str, list[LaunchInstance]] = {}
    for instance in instances:
        by_name.setdefault(kernel_key(instance), []).append(instance)
    launches: list[KernelLaunch] = []
    zeros = ZeroArrays(program)
    for kernel in program.kernels:
        names = dict.fromkeys((kernel.mangled_name, kernel.name, kernel.qualified_name))
        candidates = [instance for name in names for instance in by_name.get(name, ())]
        if kernel.mangled_name == kernel.name:  # a template, of which others launch instances
            candidates = [instance for instance in instances if is_of_kernel(instance, kernel)]
        found = launches_of(kernel, candidates, gpu, zeros) or (
            assumed_launch(
                kernel,
                gpu,
                is_c=is_c,
                is_read=is_read,
                given_to=_given_to(program, kernel),
                written=(written := _launch_written(program, kernel)),
                wanted=macros_of(program.source_lines, None if written is None else written.line),
            ),
        )
        chosen = [o for o in overrides.launches if names_kernel(o.kernel, kernel)]
        if chosen:
            found = tuple(_overridden(override, found[0]) for override in chosen)
        launches.extend(with_accessor_sizes(_with_settings(launch, overrides), pins) for launch in found)
    told = tuple(
        Assumption(
            "PW011", one.line, one.message, one.fix, "" if one.file == program.file else one.file, About.FILES
        )
        for one in program.assumed
    )
    return tuple(replace(one, assumptions=(*one.assumptions, *told)) for one in of_few_instances(launches))


def _given_to(program: ir.Program, kernel: ir.Kernel) -> tuple[int, str] | None:
    """Where the file gives the kernel, with more, to something that is not read, as a macro for launches."""
    given = re.compile(rf"(\w+)\s*\((?:[^;(){{}}]*,)?\s*&?{re.escape(kernel.name)}\s*(?:<[^;(){{}}]*>)?\s*,")
    for number, line in enumerate(program.source_lines, 1):
        found = given.search(line.split("//")[0])
        if found is not None and not found[1].startswith("cu"):
            return number, found[1]
    return None


def _written(program: ir.Program, kernel: ir.Kernel) -> Iterator[int]:
    """The lines of the file in which the text has a launch of the kernel."""
    launch = re.compile(rf"\b{re.escape(kernel.name)}\s*(?:<(?!<<)[^;]*>)?\s*<<<")
    return (line for line, text in enumerate(program.source_lines, 1) if launch.search(text.split("//")[0]))


def _launch_written(program: ir.Program, kernel: ir.Kernel) -> WrittenLaunch | None:
    """What the text of the file has as a launch of the kernel, in device code if there is one: by the kernel
    around it.
    """
    told = (d for d in program.diagnostics if d.message == ir.DEVICE_LAUNCH and d.file == program.file)
    on_the_device = {diagnostic.line for diagnostic in told}
    lines = sorted(_written(program, kernel), key=lambda line: line not in on_the_device)
    if not lines:
        return None
    line, *_ = lines
    text = " ".join(program.source_lines[line - 1 : line + 2])
    found = re.search(
        rf"\b{re.escape(kernel.name)}\b[^;]{{,200}}?<<<([^,;]{{,80}}),([^,;]{{,80}}?)(?:,|>>>)", text
    )
    grid, block = (None, None) if found is None else (_plain(program, part) for part in found.groups())
    spans = ((one.name, one.span) for one in program.kernels if one.span.file == program.file)
    around = next((name for name, span in spans if span.line <= line <= span.end_line), None)
    by = "device code" if around is None else f"kernel {around} on the device"
    return WrittenLaunch(line, grid, block, by if line in on_the_device else "")


def _plain(program: ir.Program, written: str) -> Dim3 | None:
    """A number of blocks or threads that stands there, or as what the file defines or declares constant."""
    name = written.strip()
    if not name.isdecimal():
        declared = rf"(?:#\s{{,9}}define|\bconst(?:expr)?\b[\w\s]{{,40}})\s{{1,9}}{re.escape(name)}"
        given = re.compile(rf"{declared}[\s=(]{{,9}}(\d{{1,9}})\)?\s{{,9}}(?:;|$)")
        numbers = {found[1] for line in program.source_lines for found in given.finditer(line)}
        name = numbers.pop() if len(numbers) == 1 else ""
    return (int(name), 1, 1) if len(name) < _DIGITS and name.isdecimal() and int(name) else None


_DIGITS = 10
"""Of no number of blocks or threads: their limits are below."""


def _are_complete(instances: Sequence[LaunchInstance]) -> bool:
    """Whether every launch that is met has a known geometry and known numbers at least once."""
    read = {i.node for i in instances if is_read(i) and not i.assumed and not _lacks_number(i)}
    return all(instance.node in read for instance in instances)


def _has_main(program: ir.Program) -> bool:
    return any(function.name == "main" for function in program.functions)


def _may_be_set(program: ir.Program) -> bool:
    """Whether functions of other files, which it calls, may set what they declare too."""
    graph = call_graph(program)
    return any(v.type.tells_files for call in graph.leaving for v in graph.written_elsewhere(call))


def _lacks_number(instance: LaunchInstance) -> bool:
    pairs = zip(instance.node.arguments, instance.arguments, strict=False)
    return any(argument.type.is_integral and isinstance(value, Unknown) for argument, value in pairs)


def _lacks_times(instance: LaunchInstance) -> bool:
    return isinstance(instance.times, Unknown) and instance.times != NOT_COME


def _arguments_of_main(program: ir.Program, find: ArgumentFinder) -> ProgramArguments | None:
    """What the program is run with; None as well where nobody looks at it."""
    main = next((f for f in program.functions if f.name == "main" and len(f.parameters) > 1), None)
    if main is None:
        return None
    given = frozenset(main.parameters)
    every = (expr for function in program.functions for expr in ir.expressions_below(function.body))
    return find(Path(main.span.file)) if any(_names(expr) in given for expr in every) else None


def _reads_argc(program: ir.Program) -> bool:
    """Whether host code looks at how many words the command line has."""
    every = (p for function in program.functions for p in function.parameters if p.type.is_integral)
    counts = {p for p in every if p.name == "argc"}
    counts |= {p for f in program.functions if f.name == "main" for p in f.parameters[:1]}
    return any(
        _names(expr) in counts
        for function in program.functions
        for expr in (ir.expressions_below(function.body) if counts else ())
    )


def _asked_of_the_environment(program: ir.Program) -> str:
    """The names of environment variables that host code asks for, those as well that it hands to a function
    which does; `X` where it does not say which.
    """
    graph = call_graph(program)
    every = (expr for function in program.functions for expr in ir.expressions_below(function.body))
    calls = [expr for expr in every if isinstance(expr, ir.Call)]
    asked = [a for e in calls if e.name.removeprefix("std::").endswith("getenv") for a in e.arguments[:1]]
    given: dict[ir.Variable, list[ir.Expr]] = {}
    for call in calls if asked else ():
        taken = () if (callee := graph.callee(call)) is None else callee.parameters
        for parameter, argument in zip(taken, call.arguments, strict=False):
            given.setdefault(parameter, []).append(argument)
    names = set[str]()
    for one in asked:  # which grows
        inner = [e for e in ir.walk_expressions(one) if isinstance(e, ir.Text) or _names(e) is not None]
        variable = _names(inner[0]) if len(inner) == 1 else None
        if variable in given:
            asked += given.pop(variable)
        elif len(inner) == 1 and isinstance(inner[0], ir.Text):
            names.add(inner[0].value)
        else:
            names.add("X")
    return " or ".join(sorted(names))


def _with_decisions(
    instances: Sequence[LaunchInstance],
    decided: Mapping[Place, str],
    assumed: str,
    *,
    is_told_of_all: bool = False,
) -> tuple[LaunchInstance, ...]:
    """The launches, with what was `assumed`, empty: of argc, where that decides something of them.

    `is_told_of_all`: also of those that the host code does not come to.
    """
    found: list[LaunchInstance] = []
    for one in instances:
        what = decided.get((one.node, one.path)) if one.is_certain or is_told_of_all else None
        if what is not None:
            decision = Decision(assumed or f"argc assumed {one.argc}", what, is_of_argc=not assumed)
            is_as_written = one.is_as_written and (one.is_certain or what != GEOMETRY_OF)
            one = replace(one, decided=(*one.decided, decision), is_as_written=is_as_written)
        found.append(one)
    return tuple(found)


def _names(expr: ir.Expr) -> ir.Variable | None:
    """The variable that an expression reads, changes or takes the address of."""
    place = expr.place if isinstance(expr, ir.Read) else getattr(expr, "target", None)
    if isinstance(place, ir.RegisterPlace):
        return place.variable
    return expr.variable if isinstance(expr, ir.AddressOf) else None


def _as_run(
    plain: Sequence[LaunchInstance], run: Sequence[LaunchInstance], arguments: ProgramArguments
) -> tuple[LaunchInstance, ...]:
    """The launches of a run with `arguments`; `plain`: without options.

    Where the arguments were found, not given, launches that this run does not come to stay as they are
    without options: the line may stand for one of several modes.
    """
    if not run:
        return tuple(plain)
    before, now = _made(plain), _made(run)
    marked = [
        replace(instance, given=arguments)
        if instance.is_certain and before.get(instance.node) != now[instance.node]
        else instance
        for instance in run
    ]
    if not arguments.is_found:
        return tuple(marked)
    reached = {instance.node for instance in marked if instance.is_certain}
    better = {i.node for i in plain if i.is_certain and is_read(i)} - reached
    return without_dead(
        [
            *(instance for instance in marked if instance.node not in better),
            *(instance for instance in plain if instance.node in better),
        ]
    )


def _made(instances: Sequence[LaunchInstance]) -> dict[ir.LaunchCall, Counter[object]]:
    """The certain launches of each node: with which numbers, and how often."""
    found: dict[ir.LaunchCall, Counter[object]] = {}
    for one in instances:
        if one.is_certain:
            number = one.times if isinstance(one.times, int) else None
            found.setdefault(one.node, Counter())[values_of(one), number] += 1
    return found


def _of_origin(
    program: ir.Program, origin: ir.Program, overrides: Overrides, gpu: Gpu, around: Neighbours
) -> tuple[KernelLaunch, ...]:
    """The launches of the source's kernels, for the kernels that were compiled from them."""
    overrides = with_written_names(overrides, program.kernels)
    known = resolve_launches(origin, overrides, gpu, around)
    launches: list[KernelLaunch] = []
    for kernel in program.kernels:
        own = [launch for launch in known if launch.kernel is kernel.original]
        if own:
            handed = (handed_over(launch, kernel, program.globals) for launch in own)
            launches.extend(_with_settings(launch, overrides) for launch in handed)
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
                    if not is_of_kernel(instance, kernel) or index >= len(instance.arguments):
                        continue
                    variable = ir.read_variable(instance.node.arguments[index])
                    if variable is not None and isinstance(instance.arguments[index], Unknown):
                        found[variable.name] = setting.value
    return found


def _with_callers(program: ir.Program, around: Neighbours) -> ir.Program:
    """The program together with host code of other files that calls it, or launches its kernels too."""
    wider, asked = program, set[str]()
    for _ in range(MOST_CALLS_APART):
        if _has_main(wider):
            break  # what calls the same names elsewhere is another program
        graph = call_graph(wider)
        launching = [f for f in graph.uncalled if graph.launches_from(f)]
        doubt = in_doubt((wider,), {function.name for function in launching})
        wider = replace(wider, in_doubt={**wider.in_doubt, **doubt}) if doubt else wider
        entries = {_name_in_calls(f) for f in launching if f.linked_as not in doubt} - asked
        asked |= entries
        found = around.callers(frozenset(entries)) if entries and around.callers is not None else ()
        known, wider = wider, _linked(wider, found, entries)
        if wider is known:
            break
    names = _open_to_others(program)
    found = around.sharing(frozenset(names)) if names and around.sharing is not None else ()
    included = set(map(file_of, wider.included))
    shared = _linked(wider, [other for other in found if file_of(other.file) not in included], names)
    if shared is wider or not _has_main(shared):
        return shared
    graph = call_graph(shared)
    is_run = not any(graph.launches_from(f) for f in graph.unused if f.name != "main")
    return shared if is_run else _with_what_they_use(shared, around, is_whole=True)


def _open_to_others(program: ir.Program) -> set[str]:
    """What it launches, calls to launch, and reads that other files may launch, call and set too."""
    graph = call_graph(program)
    launching = [f for f in program.functions if graph.launches_from(f)]
    sites = frozenset[ir.LaunchCall]().union(*map(graph.launches_from, launching))
    found = {k.name for k in launched_by(sites, program.kernels)}
    found.update(f"{EXTERN}{variable.name}" for variable in graph.shared if variable.type.tells_files)
    if not _has_main(program):
        return found
    if not graph.leaving:
        return set()  # nothing of another file is run
    return found | {_name_in_calls(f) for f in launching if "@" not in f.mangled_name and f.name != "main"}


def _linked(program: ir.Program, found: Sequence[ir.Program], names: Collection[str]) -> ir.Program:
    """`program` with those that were found for `names`, use them and may be of it."""
    using = [other for other in found if uses(other, names)]
    others = linkable(program, beside(program, using) or using)  # elsewhere such names may be another's
    return together(program, others) if others else program


def _with_what_they_use(program: ir.Program, around: Neighbours, *, is_whole: bool = False) -> ir.Program:
    """The program together with what defines the functions and variables that its host code uses."""
    wider, asked, names = program, frozenset[str](), _undefined(program, is_whole=is_whole)
    for _ in range(MOST_CALLS_APART):
        if names == asked:
            break
        wider, asked = _with_definitions(wider, names, around), names
        names = _undefined(wider, is_whole=is_whole) - _defined(wider)  # one answer is a few files
    return wider


def _defined(program: ir.Program) -> set[str]:
    variables = {variable.name for variable in program.globals if variable.initializer is not None}
    return variables.union(function.name for function in program.functions)


def _of_one_program(program: ir.Program, others: Sequence[ir.Program], names: Collection[str]) -> ir.Program:
    """`program` with those that it may be linked with; of `names` that several define none is linked.

    Those with a `main` are read apart from each other.
    """
    fitting = linkable(program, others)
    mains = {file_of(f.span.file) for one in (program, *fitting) for f in one.functions if f.name == "main"}
    alone = [other for other in fitting if file_of(other.file) not in mains]
    doubt = in_doubt(alone, names)
    chosen = [other for other in fitting if other not in alone or not defines(other, doubt)]
    if not doubt and not any(other.functions or other.globals for other in chosen):
        return program
    return replace(together(program, chosen), in_doubt={**program.in_doubt, **doubt})


def _with_definitions(program: ir.Program, names: frozenset[str], around: Neighbours) -> ir.Program:
    """`program` with what defines `names` near its file, or else near its `main`."""
    mains = (file_of(f.span.file) for f in program.functions if f.name == "main")
    wider = program
    for place in dict.fromkeys((file_of(program.file), *mains)):
        if names and around.definitions is not None:
            wider = _of_one_program(wider, around.definitions((place, names)), names)
            names &= _undefined(wider)
    return wider


def _name_in_calls(function: ir.Function) -> str:
    """What the code around its calls names: of a function-call operator the class."""
    this = function.parameters[0].type.element if function.name == "operator()" else None
    return function.name if this is None else re.sub(r"<.*", "", this.name).rpartition("::")[2]


_OF_C = frozenset(
    ("atoi", "atol", "atof", "strtol", "strtoul", "strtod", "strtof", "sscanf", "fopen", "fclose", "fread",
     "fwrite", "fscanf", "fgets", "feof", "fseek", "ftell", "fflush", "memcpy", "memset", "strcpy", "strcat")
)  # fmt: skip
"""Functions that no file of a program defines: programs often call them."""


def _undefined(program: ir.Program, *, is_whole: bool = False) -> frozenset[str]:
    """What launching code calls and reads, and others define: functions, those that may set what it reads
    among them, and variables.

    `is_whole`: also of what `main` calls and does not launch.
    """
    graph = call_graph(program)
    run = {function for function in program.functions if function.name == "main"}
    run = run.union(*(graph.functions_in(main.body) for main in run)) if is_whole else run
    calls = (
        expr
        for function in program.functions
        for expr in ir.expressions_below(function.body)
        if isinstance(expr, ir.Call) and expr.function is None and graph.callee(expr) is None
        if function in run or graph.launches_from(function) or graph.written_elsewhere(expr)
    )
    functions = {
        call.name
        for call in calls
        if call.name.isidentifier() and call.name not in _OF_C and not host_api.is_known(call)
    }
    variables = {
        variable.name
        for variable in program.globals
        if variable.initializer is None
        and variable.linked_as is not None
        and (variable.type.element or variable.type).is_of_numbers
        and variable.name.isidentifier()
    }
    return frozenset(functions | variables)


def _launchers(
    program: ir.Program, host: HostCode, around: Neighbours
) -> tuple[Sequence[ir.Program], Sequence[ir.Program]]:
    """The host code of other files that launches kernels of this one which it does not launch itself.

    Of the file that includes it, where it is no program; else of those that only declare the kernels, joined
    as the linker does.
    """
    own = launched_by(host.sites, program.kernels)
    alone = [k for k in program.kernels if k not in own]
    names = frozenset(kernel.name for kernel in alone)
    if not names:
        return (), ()
    if around.launcher is not None and not _has_main(program):
        including = around.launcher(names)
        if including is not None:
            return (including,), ()
    callers = () if around.linking is None else around.linking(names)
    return (), [caller for caller in callers if _launched(caller, alone)]


def _sites(wider: ir.Program, host: HostCode) -> frozenset[ir.LaunchCall]:
    """The launches of the kernels of a program, and those known before, also as other files include them."""
    known = cache(file_of)

    def written_at(site: ir.LaunchCall) -> tuple[Path, int, int]:
        return known(site.span.file), site.span.line, site.span.column

    before = {written_at(site) for site in host.sites}
    every = (node for function in wider.functions for node in ir.expressions_below(function.body))
    same = (node for node in every if isinstance(node, ir.LaunchCall) and written_at(node) in before)
    return _launched(wider, wider.kernels).union(same)


def _launched(program: ir.Program, kernels: Sequence[ir.Kernel]) -> frozenset[ir.LaunchCall]:
    """The launches of these kernels where they are only declared, or defined by the same file; and those
    through pointers, where one may hold such a kernel.
    """
    known = cache(file_of)
    names = {kernel.mangled_name for kernel in kernels}
    nodes = [node for function in program.functions for node in ir.expressions_below(function.body)]
    is_held = any(isinstance(node, ir.Text) and node.value in names for node in nodes)

    def is_of_these(node: ir.LaunchCall) -> bool:
        if node.function is not None:
            return is_held
        file = known(node.defined_in) if node.defined_in else None
        return any(file in (None, known(one.span.file)) and launches_kernel(node, one) for one in kernels)

    return frozenset(node for node in nodes if isinstance(node, ir.LaunchCall) and is_of_these(node))


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


def _with_settings(launch: KernelLaunch, overrides: Overrides) -> KernelLaunch:
    """The launch with the values for its kernel: `KERNEL.NAME` wins over `NAME`, and the host code's own
    argument, which follows from the values of its variables, over a `NAME` without a kernel.
    """
    kernel = launch.kernel
    own = {
        s.name: s.value for s in overrides.settings if s.kernel is not None and names_kernel(s.kernel, kernel)
    }
    values = {**{s.name: s.value for s in overrides.settings if s.kernel is None}, **own}
    is_read = launch.source in (LaunchSource.HOST_CODE, LaunchSource.ARGUMENTS)
    arguments: list[int | float | None] = []
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        if is_read and argument is not None and parameter.name not in own:
            values.pop(parameter.name, None)
        elif parameter.name in values:
            converted = convert(values[parameter.name], parameter.type)
            argument = converted if isinstance(converted, (int, float)) else None
        arguments.append(argument)
    settings = tuple(NamedValue(name, value) for name, value in values.items())
    return replace(launch, arguments=tuple(arguments), settings=settings)
