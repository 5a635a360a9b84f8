"""What all functions of a module and all bodies inlined into a kernel share while they are lowered."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from math import prod
from pathlib import Path, PurePath

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.inputs import note_file, repository_root
from wattslice.frontend.ptx.lowering.blocks import Pointers, find_pointers, parameter_place
from wattslice.frontend.ptx.lowering.names import variable_name
from wattslice.frontend.ptx.operations import POINTER, SPACES, type_of
from wattslice.frontend.ptx.syntax import syntax
from wattslice.frontend.ptx.syntax.syntax import (
    Directive,
    Function,
    Instruction,
    Register,
    SourceFile,
    Symbol,
    call_of,
)
from wattslice.frontend.source_files import MAX_BYTES, SUFFIXES
from wattslice.ir import Diagnostic, MemorySpace, Severity, Span, Type, TypeKind, Variable, VariableRole

MAX_INSTRUCTIONS = 60_000
"""Instructions of a kernel with all that it inlines, up to which it is followed."""


class TooLargeError(Exception):
    """A kernel beyond what the analysis follows in reasonable time."""


class Unit(Struct):
    """A PTX file: its variables and functions by name, and what has to be said about it.

    `originals`: its kernels as the source has them, by mangled name, as far as that is known. `foreign`: the
    numbers of files that nothing is told of, those of the toolkit and those that may not be opened. `moved`:
    see `named_files`.
    """

    path: Path
    module: syntax.Module
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    functions: dict[str, syntax.Function] = field(default_factory=dict[str, syntax.Function])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    files: dict[int, str] = field(default_factory=dict[int, str])
    originals: dict[str, ir.Kernel] = field(default_factory=dict[str, ir.Kernel])
    foreign: frozenset[int] = frozenset()
    moved: tuple[Path, Path] | None = None
    pointer_parameters: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def __post_init__(self) -> None:
        for function in self.module.functions:
            known = self.functions.get(function.name)
            if known is None or known.body is None:
                self.functions[function.name] = function
        for declared in self.module.variables:
            self.variables[declared.name] = variable_of(declared, Span(str(self.path), declared.line, 1, 0))
        paths, barred = named_files(self.module.files, self.path, self.moved)
        toolkit = frozenset(file.number for file in self.module.files if _is_toolkit(file.path))
        self.files = {number: path for number, path in paths.items() if number not in barred}
        self.foreign = toolkit | barred
        for number in sorted(barred - toolkit):
            self.report("PW061", Severity.NOTE, 0, _not_opened(paths[number]))

    def report(self, rule: str, severity: Severity, line: int, message: str) -> Diagnostic:
        """Adds a diagnostic on a line of the PTX file."""
        return self.report_at(rule, severity, Span(str(self.path), line, 1, line), message)

    def report_at(self, rule: str, severity: Severity, span: Span, message: str) -> Diagnostic:
        """Adds a diagnostic where an instruction comes from, a line of the source where that is known."""
        self.diagnostics.append(Diagnostic(rule, severity, span.file, span.line, message))
        return self.diagnostics[-1]

    def span(self, instruction: syntax.Instruction) -> Span:
        """Where an instruction comes from: a line of the program that was compiled, else of the PTX file.

        What a foreign file does is told of the line that calls it, so is a line 0 inlined.
        """
        place = instruction.location
        while place is not None and place.inlined_at is not None:
            if place.file not in self.foreign and place.line:
                break
            place = place.inlined_at
        file = None if place is None else self.files.get(place.file)
        if place is None or file is None or place.line == 0:
            return Span(str(self.path), instruction.line, 1, instruction.line)
        return Span(file, place.line, max(1, place.column), place.line)


def _not_opened(written: str) -> str:
    shown = written if len(written) <= 120 else f"{written[:119]}…"
    where = "below the working folder, the folder of the PTX or its repository"
    return f"not opened: {shown!r} is no source of up to 32 MiB {where}; its lines are shown as the PTX's"


def _is_toolkit(file: str) -> bool:
    parts = PurePath(file).parts
    return "include" in parts and any(part.startswith(("cuda", "nvidia", "targets")) for part in parts)


def variable_of(declared: syntax.Variable, span: Span) -> Variable:
    """A variable of a module or function: an array of scalars; `extern .shared` of open size is dynamic."""
    scalar = type_of(declared.type, declared.lanes)
    space = SPACES.get(declared.space, MemorySpace.TEXTURE if declared.space == "tex" else MemorySpace.GLOBAL)
    if declared.type in ("texref", "surfref", "samplerref"):
        space = MemorySpace.TEXTURE
    size = declared.size_bytes
    is_open = None in declared.dimensions
    type_ = scalar
    if declared.dimensions:
        length = None if size is None else size // max(1, scalar.size_bytes)
        type_ = Type(TypeKind.ARRAY, element=scalar, length=length)
    return Variable(
        variable_name(declared.name),
        type_,
        space,
        VariableRole.FILE_SCOPE,
        span,
        dynamic=space is MemorySpace.SHARED and (is_open or declared.linkage == "extern"),
        is_constant=space is MemorySpace.CONSTANT,
    )


class KernelParts(Struct):
    """The dense numberings of one kernel, and what is collected on the way through all that it inlines.

    `taken`: names that mean parameters of the kernel, so that no register can have them.
    """

    unit: Unit
    taken: frozenset[str] = frozenset()
    regions: int = 0
    sites: int = 0
    machine: list[ir.MachineInstruction] = field(default_factory=list[ir.MachineInstruction])
    shared: dict[Variable, None] = field(default_factory=dict[Variable, None])
    holes: list[Diagnostic] = field(default_factory=list[Diagnostic])
    roots: dict[Variable, Variable] = field(default_factory=dict[Variable, Variable])
    inlining: list[str] = field(default_factory=list[str])
    size: int = 0

    def take(self, instructions: int) -> None:
        """Counts what is lowered; raises `TooLargeError` when it is more than the analysis follows."""
        self.size += instructions
        if self.size > MAX_INSTRUCTIONS:
            raise TooLargeError(f"more than {MAX_INSTRUCTIONS} instructions")

    def region(self) -> int:
        """A new region number."""
        self.regions += 1
        return self.regions - 1

    def site(self) -> int:
        """A new site number."""
        self.sites += 1
        return self.sites - 1


# ---------------------------------------------------------------------------
# The source files that a PTX file names (`.file`): where they lie, and whether they may be read.


def named_files(
    files: Iterable[SourceFile], ptx: Path, moved: tuple[Path, Path] | None = None
) -> tuple[dict[int, str], frozenset[int]]:
    """Where the files of a PTX lie: under the path written, taken from the folder of `ptx`, else beside it.

    By number, as reports name them; of a file that is not there, where it would be. And the numbers of those
    that are there, and are not opened.
    `moved`: what is written to lie below the first folder lies below the second.
    """
    folders = [Path(os.path.realpath(folder)) for folder in (ptx.parent, Path.cwd())]
    folders.append(repository_root(ptx))
    paths: dict[int, str] = {}
    barred: set[int] = set()
    for file in files:
        path = _found(file.path, ptx, folders, moved)
        if path is None:
            barred.add(file.number)
        paths[file.number] = file.path if path is None else _shown(path)
    return paths, frozenset(barred)


def _found(written: str, ptx: Path, folders: list[Path], moved: tuple[Path, Path] | None) -> Path | None:
    """None when only what may not be opened is there."""
    is_there = False
    for path in _places(written, ptx, moved):
        is_file = os.path.isfile(path)  # noqa: PTH113  (a path of any length, or with a null byte, is none)
        note_file(path, is_file)
        if is_file and _is_admitted(path, folders):
            return path
        is_there |= os.path.lexists(path)
    return None if is_there else next(_places(written, ptx, moved))


def _places(written: str, ptx: Path, moved: tuple[Path, Path] | None) -> Iterator[Path]:
    path = ptx.parent / written
    if moved is not None and path.is_relative_to(moved[0]):
        path = moved[1] / path.relative_to(moved[0])
    yield path
    yield ptx.parent / PurePath(written).name


def _is_admitted(path: Path, folders: list[Path]) -> bool:
    if path.suffix.lower() not in SUFFIXES:
        return False
    try:
        real = Path(os.path.realpath(path))
        is_small = real.stat().st_size <= MAX_BYTES
    except OSError:
        return False
    return is_small and real.suffix.lower() in SUFFIXES and any(map(real.is_relative_to, folders))


def _shown(path: Path) -> str:
    if ".." in path.parts:
        path = Path(os.path.realpath(path))
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


# ---------------------------------------------------------------------------
# The parameters of a kernel as variables: one for a scalar, one for each member read of a structure.


class KernelParameters:
    """The variables that loads from parameter space read."""

    def __init__(self, unit: Unit, function: syntax.Function) -> None:
        self._unit = unit
        self._found: dict[tuple[str, int], Variable] = {}
        self._declared = {parameter.name: parameter for parameter in function.parameters}
        self._numbers = {parameter.name: number for number, parameter in enumerate(function.parameters)}
        self._names = {
            parameter.name: _short(parameter.name, function.name) for parameter in function.parameters
        }
        original = unit.originals.get(function.name)
        self._originals = () if original is None else original.parameters
        for parameter in function.parameters:
            if not parameter.dimensions:
                self._add(parameter, 0, _scalar(parameter))

    def at(self, name: str, offset: int, type_: Type) -> Variable | None:
        """The variable at `offset` bytes of a parameter; None for a name that is none."""
        known = self._found.get((name, offset))
        if known is not None or name not in self._declared:
            return known
        return self._add(self._declared[name], offset, type_)

    def settle(self, pointers: Pointers) -> None:
        """Makes pointers of the 64-bit parameters that accesses use as such."""
        settled = {variable: replace(variable, type=POINTER) for variable in pointers.parameters}
        for place, variable in self._found.items():
            self._found[place] = settled.get(variable, variable)
        for origins in pointers.origins.values():
            for old in origins & settled.keys():
                origins.remove(old)
                origins.add(settled[old])  # pyright: ignore[reportArgumentType]

    def _add(self, parameter: syntax.Parameter, offset: int, type_: Type) -> Variable:
        name = self._written(parameter, offset) or self._number_name(parameter, offset)
        span = Span(str(self._unit.path), parameter.line, 1, parameter.line)
        found = Variable(name, type_, MemorySpace.REGISTER, VariableRole.PARAMETER, span)
        self._found[parameter.name, offset] = found
        return found

    def _number_name(self, parameter: syntax.Parameter, offset: int) -> str:
        return self._names[parameter.name] + (f"_{offset}" if parameter.dimensions or offset else "")

    def _written(self, parameter: syntax.Parameter, offset: int) -> str:
        """What the source calls it: `width`, `box_width` for a member; empty where that is not known."""
        number = self._numbers[parameter.name]
        original = self._originals[number] if number < len(self._originals) else None
        if original is None or not original.name:
            return ""
        if not parameter.dimensions and not offset:
            return original.name
        members = member_path(original.type, offset)
        return "_".join((original.name, *members)) if members else f"{original.name}_{offset}"

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All of them, by place."""
        return tuple(self._found[place] for place in self._places())

    @property
    def parts(self) -> tuple[ir.ArgumentPart, ...]:
        """Which part of which argument each of `variables` is."""
        return tuple(
            ir.ArgumentPart(self._numbers[name], offset, self._number_name(self._declared[name], offset))
            for name, offset in self._places()
        )

    def _places(self) -> list[tuple[str, int]]:
        return sorted(self._found, key=lambda place: (self._numbers[place[0]], place[1]))


def member_path(type_: Type, offset: int) -> tuple[str, ...]:
    """The names of the members that lead to the scalar at `offset` bytes; empty where none begins there."""
    for member in type_.fields:
        inside = offset - member.offset_bytes
        if member.type.kind is TypeKind.RECORD and 0 <= inside < member.type.size_bytes:
            below = member_path(member.type, inside)
            return (member.name, *below) if below else ()
        if inside == 0:
            return (member.name,)
    return ()


def _short(name: str, function: str) -> str:
    """`param2` for `_Z6matmulPfS_i_param_2`; names that a person chose stay."""
    found = re.fullmatch(re.escape(function) + r"_param_(\d+)", name)
    return f"param{found[1]}" if found else name


def _scalar(parameter: syntax.Parameter) -> Type:
    """A 64-bit parameter may be a pointer: it is one until its uses say otherwise."""
    type_ = type_of(parameter.type)
    if type_.kind is TypeKind.INT and type_.bits == 64:
        return POINTER if parameter.is_pointer else ir.INT64
    return replace(type_, signed=True) if type_.kind is TypeKind.INT else type_


# ---------------------------------------------------------------------------
# Which parameters of the functions of a file are addresses: told by what their bodies do with them.


def passed_addresses(unit: Unit, instructions: Iterable[Instruction]) -> frozenset[str]:
    """The places in parameter space from which calls among `instructions` take addresses."""
    found: set[str] = set()
    for instruction in instructions:
        call = call_of(instruction)
        function = None if call is None else unit.functions.get(call.callee.name)
        if call is None or function is None or not function.parameters:
            continue
        addresses = pointer_parameters(unit, function.name)
        for formal, actual in zip(function.parameters, call.arguments, strict=False):
            if formal.name in addresses and isinstance(actual, Symbol | Register):
                found.add(actual.name)
    return frozenset(found)


def pointer_parameters(unit: Unit, name: str) -> frozenset[str]:
    """The parameters of a function of the file that it uses as addresses, or hands on as such."""
    if (known := unit.pointer_parameters.get(name)) is not None:
        return known
    unit.pointer_parameters[name] = frozenset()  # of a function that calls itself, while it is looked at
    function = unit.functions[name]
    instructions = [s for s in function.body or () if isinstance(s, Instruction)]
    variables = {
        parameter.name: Variable(
            parameter.name,
            ir.INT64,
            MemorySpace.REGISTER,
            VariableRole.PARAMETER,
            Span(str(unit.path), parameter.line, 1, parameter.line),
        )
        for parameter in function.parameters
    }

    def read(instruction: Instruction) -> Variable | None:
        place = parameter_place(instruction)
        return None if place is None else variables.get(place[0])

    passed = passed_addresses(unit, instructions)
    pointers = find_pointers(instructions, read, unit.variables.get, passed)
    found = frozenset(variable.name for variable in pointers.parameters)
    unit.pointer_parameters[name] = found
    return found


# ---------------------------------------------------------------------------
# What `.maxntid`, `.reqntid`, `.minnctapersm` and `.maxnreg` allow a launch.


def launch_bounds(function: Function) -> tuple[int | None, int | None, int | None]:
    """Most threads of a block, least blocks on an SM, most registers: as directives of a kernel say."""
    threads = function.directive("reqntid") or function.directive("maxntid")
    blocks = function.directive("minnctapersm") or function.directive("minncta")
    return _bound(threads), _bound(blocks), _bound(function.directive("maxnreg"))


def _bound(directive: Directive | None) -> int | None:
    if directive is None:
        return None
    texts = (text.strip() for text in directive.arguments)
    numbers = [int(text) for text in texts if text.isascii() and text.isdecimal()]
    return prod(numbers) if numbers else None
