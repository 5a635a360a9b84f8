"""Which memory objects may overlap: root variables joined by pointer copies (flow-insensitive).

Two pointer parameters are taken to point to different objects, as kernels are written (the compiler may not
assume so without `__restrict__`; for slicing the programmer's view is the useful one).
"""

from __future__ import annotations

from wattslice.ir import (
    AddressOf,
    Assign,
    Atomic,
    Binary,
    Cast,
    Declare,
    Expr,
    Increment,
    InlinedCall,
    Kernel,
    Load,
    MemoryPlace,
    MemorySpace,
    PointerOffset,
    Read,
    RegisterPlace,
    Select,
    Stmt,
    TypeKind,
    Variable,
)
from wattslice.ir.walking import evaluations
from wattslice.slicing.statements import MemoryKey


class Aliases:
    """Classes of root variables that may point into the same object, per kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._parent: dict[Variable, Variable] = {}
        self._rootless: set[MemorySpace] = set()
        self._keys: dict[tuple[MemorySpace, Variable | None], MemoryKey] = {}
        for node, _ in evaluations(kernel):
            self._visit(node)

    def key(self, place: MemoryPlace) -> MemoryKey:
        """The memory that an access to `place` may touch; one key for a space once a root is not evident."""
        root = None if place.root is None or place.space in self._rootless else self._find(place.root)
        name = (place.space, root)
        if (key := self._keys.get(name)) is None:
            key = self._keys[name] = MemoryKey(place.space, root)
        return key

    def _visit(self, node: Stmt | Expr) -> None:
        match node:
            case Binary() | PointerOffset():
                pass  # most of all, and no copies
            case Declare(variable=variable, value=value) if value is not None:
                self._copy(variable, value)
            case Load(place=place) | Atomic(place=place):
                self._note(place)
            case Assign(target=RegisterPlace(variable=variable), value=value):
                self._copy(variable, value)
            case Assign(target=MemoryPlace() as place) | Increment(target=MemoryPlace() as place):
                self._note(place)
            case InlinedCall(parameters=parameters, arguments=arguments):
                for parameter, argument in zip(parameters, arguments, strict=True):
                    self._copy(parameter, argument)
            case _:
                pass

    def _note(self, place: MemoryPlace) -> None:
        if place.root is None:
            self._rootless.add(place.space)

    def _copy(self, target: Variable, value: Expr) -> None:
        if value.type.kind is not TypeKind.POINTER:
            return
        for base in pointer_bases(value):
            self._parent[self._find(base)] = self._find(target)

    def _find(self, variable: Variable) -> Variable:
        while (parent := self._parent.get(variable, variable)) is not variable:
            grandparent = self._parent.get(parent, parent)
            self._parent[variable] = grandparent  # path halving
            variable = grandparent
        return variable


def pointer_bases(pointer: Expr) -> tuple[Variable, ...]:
    """The variables a pointer value may be derived from."""
    found: list[Variable] = []
    stack = [pointer]
    while stack:
        match stack.pop():
            case PointerOffset(pointer=inner):
                stack.append(inner)
            case Cast(operand=inner):
                stack.append(inner)
            case Select(then=then, otherwise=otherwise):
                stack.extend((then, otherwise))
            case Read(place=place):
                found.append(place.variable)
            case AddressOf(variable=variable):
                found.append(variable)
            case _:
                pass
    return tuple(found)
