"""Parsing of `--launch` and `--set`: typed, without contradictions, with errors that say what to change."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from wattslice import ir
from wattslice.errors import WattsliceError
from wattslice.ir.objects import pointers_in
from wattslice.launches.launch import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_THREADS_PER_BLOCK,
    Dim3,
    KernelLaunch,
    LaunchOverride,
    Overrides,
    Setting,
    trip_name,
)
from wattslice.launches.layouts import layout_of, object_name
from wattslice.launches.tensors import accessor_sizes, names_size
from wattslice.patterns import regex

_LAUNCH_SYNTAX = "write --launch 'KERNEL=gx,gy,gz:bx,by,bz' with optional ':shared_memory_bytes'"
_SET_SYNTAX = "write --set NAME=NUMBER or --set KERNEL.NAME=NUMBER"
_NAME = regex(r"[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*\Z")
_OBJECT = regex(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")
_KERNEL = regex(r"[A-Za-z_]\w*(?:<[^=]*>)?(?:::[A-Za-z_]\w*(?:<[^=]*>)?)*\Z")
_TRIP = regex(r"trip_L\d+(?:@.+)?")
_TRIP_OF = regex(rf"(?:(?P<kernel>[^@]+)\.)?(?P<trip>{_TRIP.pattern})")
_SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class OverrideError(WattsliceError):
    """A `--launch` or `--set` that cannot be read, contradicts another, or names nothing in the sources."""


def parse_launch(text: str) -> LaunchOverride:
    """Read `KERNEL=gx[,gy[,gz]]:bx[,by[,bz]][:smem]`. Raises `OverrideError`."""
    name, equals, rest = text.partition("=")
    parts = rest.split(":")
    if not equals or len(parts) not in (2, 3) or not _KERNEL.match(name.strip()):
        raise OverrideError(f"--launch {text!r} cannot be read", remedy=_LAUNCH_SYNTAX)
    grid = _extent(text, "grid", parts[0], MAX_GRID)
    block = _extent(text, "block", parts[1], MAX_BLOCK)
    if block[0] * block[1] * block[2] > MAX_THREADS_PER_BLOCK:
        raise OverrideError(
            f"--launch {text!r}: a block of {block[0] * block[1] * block[2]} threads",
            remedy=f"a block has at most {MAX_THREADS_PER_BLOCK} threads",
        )
    shared = None
    if len(parts) == 3:
        shared = _integer(parts[2])
        if shared is None or shared < 0:
            raise OverrideError(
                f"--launch {text!r}: {parts[2]!r} is no number of bytes", remedy=_LAUNCH_SYNTAX
            )
    return LaunchOverride(name.strip(), grid, block, shared)


def _integer(text: str) -> int | None:
    try:
        return int(text.strip(), 0)
    except ValueError:
        return None


def _extent(option: str, what: str, text: str, limits: Dim3) -> Dim3:
    values = [_integer(part) for part in text.split(",")]
    if not 1 <= len(values) <= 3:
        raise OverrideError(f"--launch {option!r}: the {what} has 1 to 3 numbers", remedy=_LAUNCH_SYNTAX)
    extent: list[int] = []
    for value, part, limit in zip(values, text.split(","), limits, strict=False):
        if value is None or not 1 <= value <= limit:
            raise OverrideError(
                f"--launch {option!r}: {part!r} in the {what} is no integer from 1 to {limit}",
                remedy=_LAUNCH_SYNTAX,
            )
        extent.append(value)
    x, y, z = (*extent, 1, 1)[:3]
    return x, y, z


def parse_setting(text: str) -> Setting:
    """Read `[KERNEL.]NAME=VALUE`; a value is an integer (also 0x…, 4K, 1M) or a float. `OverrideError`."""
    left, equals, right = text.partition("=")
    kernel, dot, name = left.strip().rpartition(".")
    if found := _TRIP_OF.fullmatch(left.strip()):  # the file of a loop has a dot of its own
        value = _number(text, right.strip())
        if value < 0:
            raise OverrideError(f"--set {text!r}: a loop cannot run {value} times", remedy=_SET_SYNTAX)
        return Setting(found["kernel"], found["trip"], value)
    is_readable = not dot or _KERNEL.match(kernel) or _OBJECT.match(kernel)
    if not equals or not _NAME.match(name) or not is_readable:
        raise OverrideError(f"--set {text!r} cannot be read", remedy=_SET_SYNTAX)
    return Setting(kernel or None, name, _number(text, right.strip()))


def _number(option: str, text: str) -> int | float:
    factor = _SUFFIXES.get(text[-1:].upper(), 1) if text[:-1].isdigit() else 1
    digits = text[:-1] if factor > 1 else text
    integer = _integer(digits)
    if integer is not None:
        return integer * factor
    try:
        value = float(digits)
    except ValueError:
        raise OverrideError(f"--set {option!r}: {text!r} is no number", remedy=_SET_SYNTAX) from None
    if value != value or value in (float("inf"), float("-inf")):
        raise OverrideError(f"--set {option!r}: {text!r} is no finite number", remedy=_SET_SYNTAX)
    return value


def parse_overrides(launches: Iterable[str], settings: Iterable[str]) -> Overrides:
    """All `--launch` and `--set` texts of a command line. Raises `OverrideError`, also on contradictions.

    Saying the same thing twice is allowed; several `--launch` of one kernel are several launches.
    """
    parsed_launches = tuple(dict.fromkeys(parse_launch(text) for text in launches))
    parsed: dict[tuple[str | None, str], Setting] = {}
    for text in settings:
        setting = parse_setting(text)
        key = (setting.kernel, setting.name)
        earlier = parsed.setdefault(key, setting)
        if earlier.value != setting.value:
            name = setting.name if setting.kernel is None else f"{setting.kernel}.{setting.name}"
            raise OverrideError(
                f"contradictory --set: {name}={earlier.value} and {name}={setting.value}",
                remedy="keep one of them",
            )
    return Overrides(parsed_launches, tuple(parsed.values()))


def names_kernel(name: str, kernel: ir.Kernel) -> bool:
    """True when a name on the command line means this kernel."""
    return _without_spaces(name) in _aliases(kernel)


def _aliases(kernel: ir.Kernel) -> tuple[str, ...]:
    """With and without namespace and template arguments; no spaces, so that `k<int,4>` means `k<int, 4>`."""
    qualified = _without_spaces(kernel.qualified_name)
    plain = qualified.split("<")[0].split("(")[0]
    names = [kernel.name, qualified, kernel.mangled_name, plain]
    if plain.endswith(kernel.name):
        names.append(qualified[len(plain) - len(kernel.name) :])
    return tuple(dict.fromkeys(names))


def _without_spaces(name: str) -> str:
    return "".join(name.split())


class KernelNames(Struct, frozen=True):
    """How one kernel may be named on the command line, and the variables that `--set` may name in it.

    `parameters` are those of the `variables` that are told first; `arrays` those that `--data` may name;
    `given` those that all launches give a number, whatever `--set NAME` says; `computed` those to which the
    kernel gives a value.
    """

    name: str
    aliases: tuple[str, ...]
    variables: frozenset[str]
    loops: frozenset[str]
    parameters: frozenset[str] = frozenset()
    arrays: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()


class KnownNames(Struct, frozen=True):
    """Everything in one program that an override may name. `host_members`: of objects, as `config.width`."""

    kernels: tuple[KernelNames, ...] = ()
    host_variables: frozenset[str] = frozenset()
    host_members: frozenset[str] = frozenset()


def known_names(
    program: ir.Program, others: Sequence[ir.Program] = (), launches: Sequence[KernelLaunch] = ()
) -> KnownNames:
    """What `--set` and `--launch` may name in `program`, whose `launches` these are, and in the host code of
    `others` that calls it.
    """
    variables = tuple(variable for one in (program, *others) for variable in _host_variables(one))
    return KnownNames(
        tuple(
            KernelNames(
                kernel.name,
                _aliases(kernel),
                frozenset(v.name for v in _kernel_variables(kernel)) | _number_names(kernel),
                frozenset(trip_name(kernel, loop) for loop in _loops(kernel)),
                frozenset(v.name for v in kernel.parameters) | _number_names(kernel),
                arrays_of(kernel),
                _given(kernel, launches),
                frozenset(variable.name for variable in _declared(kernel.body)),
            )
            for kernel in program.kernels
        ),
        frozenset(variable.name for variable in variables),
        frozenset(name for variable in variables for name in _members(variable)) | _sizes(program.kernels),
    )


def _given(kernel: ir.Kernel, launches: Sequence[KernelLaunch]) -> frozenset[str]:
    """The parameters that every launch of a kernel gives a number that no setting says."""
    found = [
        {
            parameter.name
            for parameter, value in zip(kernel.parameters, launch.arguments, strict=True)
            if value is not None and all(setting.name != parameter.name for setting in launch.settings)
        }
        for launch in launches
        if launch.kernel is kernel
    ]
    return frozenset(set[str].intersection(*found)) if found else frozenset()


def _sizes(kernels: Iterable[ir.Kernel]) -> frozenset[str]:
    """Sizes of the tensors that kernels get as accessors: `x.size1`."""
    accessors = (parameter for kernel in kernels for parameter in kernel.parameters if parameter.type.fields)
    return frozenset(f"{one.name}.{size}" for one in accessors for size in accessor_sizes(one.type).values())


def arrays_of(kernel: ir.Kernel) -> frozenset[str]:
    """Its parameters that are no numbers: pointers, textures, records that hold them; and what these hold."""
    whole = {v.name for v in kernel.parameters if not (v.type.is_integral or v.type.is_float)}
    held = {".".join((v.name, *path)) for v in kernel.parameters for _, path, _ in pointers_in(v.type)}
    return frozenset(whole | held)


class _Fault(Struct, frozen=True):
    """An entry that concerns nothing in the analysed files. `unknown`: the name that they lack; `is_here`:
    it is of a kernel that they have.
    """

    entry: str
    unknown: str
    is_here: bool
    error: OverrideError


def check_overrides(overrides: Overrides, known: Sequence[KnownNames]) -> None:
    """Raise `OverrideError` for kernels and variables that none of the analysed files has.

    Call it once, with the names of all files of a run: an option may concern one file only.
    """
    for fault in _faults(overrides, known):
        raise fault.error


def unmatched_settings(
    overrides: Overrides, known: Sequence[KnownNames], is_elsewhere: Callable[[str], bool] = lambda name: True
) -> tuple[tuple[str, OverrideError], ...]:
    """The entries of settings (`set k.n`) that concern nothing, each with what is wrong with it.

    Those for kernels of other files, or for any kernel, may well be for other files: only of a kernel or
    variable whose name is not `is_elsewhere` it is certain.
    """
    return tuple(
        (fault.entry, fault.error)
        for fault in _faults(overrides, known)
        if fault.is_here or not (_TRIP.fullmatch(fault.unknown) or is_elsewhere(fault.unknown))
    )


def _faults(overrides: Overrides, known: Sequence[KnownNames]) -> Iterator[_Fault]:
    kernels = [kernel for names in known for kernel in names.kernels]

    def lost(entry: str, name: str) -> Iterator[_Fault]:
        if not any(_without_spaces(name) in kernel.aliases for kernel in kernels):
            remedy = _nearest(name, {kernel.name for kernel in kernels})
            yield _Fault(
                entry, name, False, OverrideError(f"no kernel {name!r} in the analysed files", remedy=remedy)
            )

    for launch in overrides.launches:
        yield from lost(f"launch {launch.kernel}", launch.kernel)
    for setting in overrides.settings:
        if _is_of_object(setting, known):
            continue
        entry = f"set {setting.name}" if setting.kernel is None else f"set {setting.kernel}.{setting.name}"
        if (error := _names_no_member(setting, kernels, known)) is not None:
            yield _Fault(entry, setting.name, False, error)
            continue
        faults = () if setting.kernel is None else tuple(lost(entry, setting.kernel))
        yield from faults
        if not faults and (error := _names_nothing(setting, kernels, known)) is not None:
            yield _Fault(entry, setting.name, setting.kernel is not None, error)


def _is_of_object(setting: Setting, known: Sequence[KnownNames]) -> bool:
    """Whether a setting is of an object in the host code: of a tensor, `x.size0`, or a member."""
    if any(f"{setting.kernel}.{setting.name}" in names.host_members for names in known):
        return True
    variable = (setting.kernel or "").partition(".")[0]  # of one that is a member: x.weight.size0
    return names_size(setting.name) and any(variable in names.host_variables for names in known)


def _names_no_member(
    setting: Setting, kernels: Sequence[KernelNames], known: Sequence[KnownNames]
) -> OverrideError | None:
    """Why a setting concerns no member of the object that it names, None when it names none."""
    of = setting.kernel or ""
    variables = {variable for names in known for variable in names.host_variables}
    is_kernel = any(_without_spaces(of) in kernel.aliases for kernel in kernels)
    if is_kernel or of.partition(".")[0] not in variables:
        return None
    name = f"{of}.{setting.name}"
    begin = f"{of.partition('.')[0]}."
    own = {one for names in known for one in names.host_members if one.startswith(begin)}
    return OverrideError(f"no number {name!r} in the host code", remedy=_nearest(name, own))


def _names_nothing(
    setting: Setting, kernels: Sequence[KernelNames], known: Sequence[KnownNames]
) -> OverrideError | None:
    """Why a setting concerns no variable of these kernels, None when it does."""
    is_trip = _TRIP.fullmatch(setting.name) is not None
    named = [
        kernel
        for kernel in kernels
        if setting.kernel is None or _without_spaces(setting.kernel) in kernel.aliases
    ]
    variables = {variable for kernel in named for variable in (kernel.loops if is_trip else kernel.variables)}
    giving = [kernel for kernel in named if setting.name in kernel.given and setting.kernel is None]
    taking = [kernel for kernel in named if setting.name in kernel.variables and kernel not in giving]
    if setting.kernel is None and not is_trip:
        others = {variable for names in known for variable in names.host_variables}
        if giving and not taking and setting.name not in others:
            first, said = giving[0].name, f"{setting.name}={setting.value}"
            message = f"--set {said} changes nothing: every launch of {first} gives {setting.name!r} a value"
            return OverrideError(message, remedy=f"--set {first}.{said} says another")
        variables |= others
    if setting.name in variables:
        return None
    where = "the analysed files" if setting.kernel is None else f"kernel {setting.kernel!r}"
    what = "loop" if is_trip else "variable"
    first = {name for kernel in kernels for name in kernel.parameters}
    remedy = _nearest(setting.name, variables, first)
    for kernel in named:
        if setting.name in kernel.computed:
            why = f"{kernel.name} computes {setting.name!r}"
            message = f"--set {setting.name}={setting.value} changes nothing: {why}"
            return OverrideError(message, remedy=remedy)
    return OverrideError(f"no {what} {setting.name!r} in {where}", remedy=remedy)


def _nearest(name: str, known: Iterable[str], first: Collection[str] = ()) -> str:
    named = (one for one in known if one != "this" and one[:1] not in "[.")  # of which nobody can say another
    candidates = sorted(named, key=lambda one: (one not in first, one))
    close = difflib.get_close_matches(name, candidates, n=3)
    if close:
        return f"did you mean {', '.join(close)}?"
    return f"known: {', '.join(candidates[:8])}" if candidates else "there is none"


def _number_names(kernel: ir.Kernel) -> frozenset[str]:
    return frozenset(part.number_name for part in kernel.argument_parts)


def _kernel_variables(kernel: ir.Kernel) -> Iterable[ir.Variable]:
    """Its parameters, and what it declares: of numbers, those to which it gives no value."""
    written = {
        expr.target.variable
        for expr in ir.expressions_below(kernel.body)
        if isinstance(expr, ir.Assign) and isinstance(expr.target, ir.RegisterPlace)
    }
    yield from kernel.parameters
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.Declare):
            is_number = stmt.variable.type.is_integral or stmt.variable.type.is_float
            if not is_number or (stmt.value is None and stmt.variable not in written):
                yield stmt.variable


def _loops(kernel: ir.Kernel) -> Iterable[ir.Loop]:
    return (stmt for stmt in ir.walk_statements(kernel.body) if isinstance(stmt, ir.Loop))


def _host_variables(program: ir.Program) -> Iterable[ir.Variable]:
    if program.origin is not None:
        yield from _host_variables(program.origin)
    yield from program.globals
    for function in program.functions:
        yield from function.parameters
        yield from _declared(function.body)


def _members(variable: ir.Variable) -> Iterator[str]:
    """The numbers in an object, or in what a pointer points to."""
    type_ = variable.type
    if type_.kind is ir.TypeKind.POINTER and type_.element is not None and type_.element.lanes == 1:
        type_ = type_.element
    for member in layout_of(type_).members.values():
        yield f"{object_name(variable)}{member.name}"


def _declared(body: ir.Stmt) -> Iterable[ir.Variable]:
    return (stmt.variable for stmt in ir.walk_statements(body) if isinstance(stmt, ir.Declare))
