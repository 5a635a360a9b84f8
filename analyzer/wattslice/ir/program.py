"""What a translation unit gives: kernels, host functions, diagnostics."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wattslice.ir.enums import IdentityEnum
from wattslice.ir.expressions import Expr
from wattslice.ir.statements import Block
from wattslice.ir.types import Span, Variable


class Severity(IdentityEnum):
    """How much a diagnostic matters."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something a reader must know, with a stable rule id (`wattslice explain RULE`)."""

    rule: str
    severity: Severity
    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A host function, lowered without inlining, for reading launch geometry.

    `reference_parameters`: the parameters that name an object of the caller (`int& blocks`).
    """

    name: str
    mangled_name: str
    parameters: tuple[Variable, ...]
    default_arguments: tuple[Expr | None, ...]
    body: Block
    span: Span
    reference_parameters: frozenset[Variable] = frozenset()


@dataclass(frozen=True, slots=True)
class MachineInstruction:
    """One instruction of a kernel that was read from PTX.

    `opcode` is the mnemonic with the modifiers that make a difference to its cost (`ld.global.f32`,
    `div.rn.f32`); it runs as often as `region` of the kernel's execution profile.
    """

    opcode: str
    region: int
    span: Span


@dataclass(frozen=True, slots=True)
class ArgumentPart:
    """What a parameter of a kernel from PTX is in the source of that kernel: a part of an argument.

    `argument` counts the parameters of the source from 0; `offset_bytes` from the start of a by-value struct.
    `number_name` is how PTX alone names it: `param2`, `param2_8`.
    """

    argument: int
    offset_bytes: int
    number_name: str


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A `__global__` function (or a C function analysed as one), instantiated and inlined.

    `name` is the plain name, `qualified_name` with namespaces and template arguments. `region_count` and
    `site_count` are the sizes of the dense numberings. `shared_variables`: all `__shared__` objects
    reachable from the body. `max_threads_per_block`/`min_blocks_per_sm` from `__launch_bounds__`,
    `max_registers` from `__maxnreg__`.
    `body_is_complete` False: something in the body could not be read; `holes` are the diagnostics that
    name it, of CUDA files. `machine_instructions`: every PTX instruction of the body, of PTX files only,
    `argument_parts` as well: one for each parameter. `original`: the kernel of the program's `origin` that
    it was compiled from.
    """

    name: str
    qualified_name: str
    mangled_name: str
    parameters: tuple[Variable, ...]
    body: Block
    span: Span
    region_count: int
    site_count: int
    shared_variables: tuple[Variable, ...]
    max_threads_per_block: int | None
    min_blocks_per_sm: int | None
    body_is_complete: bool
    holes: tuple[Diagnostic, ...] = ()
    machine_instructions: tuple[MachineInstruction, ...] = ()
    argument_parts: tuple[ArgumentPart, ...] = ()
    original: Kernel | None = None
    max_registers: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One translation unit: its kernels, the host functions around their launches, what could not be read.

    `source_lines` are the lines of the main file, for quoting (index 0 is line 1). `origin`: of a PTX file,
    the CUDA program it was compiled from, where that is there to be read; of its kernels, those that are
    kernels of the PTX with the same parameters.
    """

    file: str
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]
    globals: tuple[Variable, ...]
    diagnostics: tuple[Diagnostic, ...]
    source_lines: tuple[str, ...]
    origin: Program | None = None


_LINE_END = re.compile(r"\r\n|\n|\r")


def numbered_lines(text: str) -> tuple[str, ...]:
    """The lines of a source, index 0 is line 1, as compilers number them: a form feed ends no line.

    A byte order mark at the beginning says how the file is encoded and belongs to no line.
    """
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    return tuple(lines if lines[-1] else lines[:-1])
