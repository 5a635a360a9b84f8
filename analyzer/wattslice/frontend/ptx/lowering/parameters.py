"""The parameters of a kernel as variables: one for a scalar, one for each member read of a structure."""

from __future__ import annotations

import re
from dataclasses import replace

from wattslice.frontend.ptx.lowering.context import Unit
from wattslice.frontend.ptx.lowering.pointers import Pointers
from wattslice.frontend.ptx.lowering.types import POINTER, type_of
from wattslice.frontend.ptx.syntax import syntax
from wattslice.ir import INT64, ArgumentPart, MemorySpace, Span, Type, TypeKind, Variable, VariableRole


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
    def parts(self) -> tuple[ArgumentPart, ...]:
        """Which part of which argument each of `variables` is."""
        return tuple(
            ArgumentPart(self._numbers[name], offset, self._number_name(self._declared[name], offset))
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
        return POINTER if parameter.pointer_space is not None else INT64
    return replace(type_, signed=True) if type_.kind is TypeKind.INT else type_
