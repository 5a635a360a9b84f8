"""What all functions of a module and all bodies inlined into a kernel share while they are lowered."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePath

from wattslice.frontend.ptx.files import named_files
from wattslice.frontend.ptx.lowering.names import variable_name
from wattslice.frontend.ptx.lowering.types import SPACES, type_of
from wattslice.frontend.ptx.syntax import syntax
from wattslice.ir import (
    Diagnostic,
    Kernel,
    MachineInstruction,
    MemorySpace,
    Severity,
    Span,
    Type,
    TypeKind,
    Variable,
    VariableRole,
)

MAX_INSTRUCTIONS = 60_000
"""Instructions of a kernel with all that it inlines, up to which it is followed."""


class TooLargeError(Exception):
    """A kernel beyond what the analysis follows in reasonable time."""


@dataclass(slots=True)
class Unit:
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
    originals: dict[str, Kernel] = field(default_factory=dict[str, Kernel])
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
        named = named_files(self.module.files, self.path, self.moved)
        toolkit = frozenset(file.number for file in self.module.files if _is_toolkit(file.path))
        self.files = {number: path for number, path in named.paths.items() if number not in named.barred}
        self.foreign = toolkit | named.barred
        for number in sorted(named.barred - toolkit):
            self.report("PW061", Severity.NOTE, 0, _not_opened(named.paths[number]))

    def report(self, rule: str, severity: Severity, line: int, message: str) -> Diagnostic:
        """Adds a diagnostic on a line of the PTX file."""
        return self._added(Diagnostic(rule, severity, str(self.path), line, message))

    def report_at(self, rule: str, severity: Severity, span: Span, message: str) -> Diagnostic:
        """Adds a diagnostic where an instruction comes from, a line of the source where that is known."""
        return self._added(Diagnostic(rule, severity, span.file, span.line, message))

    def _added(self, found: Diagnostic) -> Diagnostic:
        self.diagnostics.append(found)
        return found

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
    return f"not opened: {shown!r} is no source of up to 32 MiB {where}; its lines are told as the PTX's"


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


@dataclass(slots=True)
class KernelParts:
    """The dense numberings of one kernel, and what is collected on the way through all that it inlines.

    `taken`: names that mean parameters of the kernel, so that no register can have them.
    """

    unit: Unit
    taken: frozenset[str] = frozenset()
    regions: int = 0
    sites: int = 0
    machine: list[MachineInstruction] = field(default_factory=list[MachineInstruction])
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
