"""A function body without scopes: what an inner scope declares gets a name of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Arguments,
    BranchTargets,
    CallPrototype,
    Function,
    Guard,
    Immediate,
    Instruction,
    Label,
    Operand,
    Pair,
    Pragma,
    Register,
    RegisterDeclaration,
    Scope,
    Sink,
    Statement,
    Symbol,
    Variable,
    Vector,
)

FlatStatement = Instruction | Label | RegisterDeclaration | Variable | BranchTargets | CallPrototype | Pragma


def flat_body(function: Function) -> tuple[FlatStatement, ...]:
    """The statements of a function in order, those of scopes among them.

    A name declared in a scope is written `name@n` there, n counting the scopes of the function from 1;
    declarations at the outermost level keep theirs. Empty for a declaration without body.
    """
    if function.body is None:
        return ()
    return tuple(_Flattener().statements(function.body, _Names({}, {}), 0))


class _Names:
    """What the names of a scope are called outside: single names, and ranges by their prefix."""

    def __init__(self, single: dict[str, str], ranges: dict[str, str]) -> None:
        self.single = single
        self.ranges = ranges

    def of(self, name: str) -> str:
        found = self.single.get(name)
        if found is not None or not self.ranges:
            return found or name
        prefix = name.rstrip("0123456789")
        renamed = self.ranges.get(prefix)
        return name if renamed is None or prefix == name else renamed + name[len(prefix) :]


class _Flattener:
    def __init__(self) -> None:
        self._scopes = 0

    def statements(self, body: tuple[Statement, ...], names: _Names, number: int) -> Iterator[FlatStatement]:
        for statement in body:
            if isinstance(statement, Scope):
                self._scopes += 1
                inner = _with_declared(names, statement, self._scopes)
                yield from self.statements(statement.body, inner, self._scopes)
            elif number == 0:
                yield statement
            else:
                yield _renamed(statement, names)


def _with_declared(names: _Names, scope: Scope, number: int) -> _Names:
    single, ranges = dict(names.single), dict(names.ranges)
    for statement in scope.body:
        match statement:
            case RegisterDeclaration(name=name, count=int()):
                ranges[name] = f"{name}@{number}_"
            case (
                RegisterDeclaration(name=name)
                | Variable(name=name)
                | Label(name=name)
                | BranchTargets(name=name)
                | CallPrototype(name=name)
            ):
                single[name] = f"{name}@{number}"
            case _:
                pass
    return _Names(single, ranges)


def _renamed(statement: FlatStatement, names: _Names) -> FlatStatement:
    match statement:
        case Instruction():
            guard = statement.guard
            if guard is not None:
                guard = Guard(names.of(guard.register), guard.negated)
            operands = tuple(_operand(operand, names) for operand in statement.operands)
            return replace(statement, operands=operands, guard=guard)
        case RegisterDeclaration(name=name, count=int()):
            return replace(statement, name=names.ranges[name])
        case BranchTargets():
            targets = tuple(names.of(target) for target in statement.targets)
            return replace(statement, name=names.of(statement.name), targets=targets)
        case Pragma():
            return statement
        case _:
            return replace(statement, name=names.of(statement.name))


def _operand(operand: Operand, names: _Names) -> Operand:
    match operand:
        case Register() | Symbol():
            name = names.of(operand.name)
            return operand if name == operand.name else replace(operand, name=name)
        case Address():
            subscript = None if operand.subscript is None else _operand(operand.subscript, names)
            base = operand.base
            if not isinstance(base, Immediate):
                base = replace(base, name=names.of(base.name))
            arguments = tuple(_operand(argument, names) for argument in operand.arguments)
            return Address(base, operand.offset, arguments, subscript)
        case Vector() | Arguments():
            return replace(operand, elements=tuple(_operand(part, names) for part in operand.elements))
        case Pair(first, second):
            return Pair(_result(first, names), _result(second, names))
        case Immediate() | Sink():
            return operand


def _result(operand: Register | Sink, names: _Names) -> Register | Sink:
    return operand if isinstance(operand, Sink) else replace(operand, name=names.of(operand.name))
