"""Where a register is a variable of one arm or of a loop's body alone: declared there, as a person would.

PTX has its registers for a whole function. A register that an arm writes before it reads it, and that is used
nowhere else, has nothing to do with what lanes that do not run in this arm hold in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from wattslice.ir import (
    Assign,
    Block,
    Declare,
    ExprStmt,
    If,
    Increment,
    InlinedCall,
    Loop,
    Read,
    RegisterPlace,
    Stmt,
    Switch,
    Variable,
    expressions_below,
    walk_statements,
)


def scoped(body: Block) -> Block:
    """The body of a kernel, first assignments made declarations."""
    declared = frozenset(_first_assignments(body))
    return _rewritten(body, declared) if declared else body


def _first_assignments(body: Block) -> Iterator[ExprStmt]:
    """The assignments that come before all else that happens to their register, all of it in one sequence."""
    total = _uses(body)
    waiting: list[tuple[Stmt, ...]] = [body.statements]
    while waiting:
        sequence = list(_flat(waiting.pop()))
        first: dict[Variable, Stmt] = {}
        here: Counter[Variable] = Counter()
        for stmt in sequence:
            used = _uses(stmt)
            here.update(used)
            for variable in used:
                first.setdefault(variable, stmt)
            waiting += _arms(stmt)
        for variable, stmt in first.items():
            if here[variable] == total[variable] and _sets(stmt) is variable:
                assert isinstance(stmt, ExprStmt)
                yield stmt


def _flat(statements: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Statements that run one after the other, those of plain blocks among them."""
    for stmt in statements:
        if isinstance(stmt, Block) and not stmt.is_breakable:
            yield from _flat(stmt.statements)
        else:
            yield stmt


def _arms(stmt: Stmt) -> list[tuple[Stmt, ...]]:
    """The sequences inside a statement."""
    match stmt:
        case If(then=then, otherwise=otherwise):
            return [then.statements] if otherwise is None else [then.statements, otherwise.statements]
        case Loop(body=body):
            return [body.statements]
        case Switch(cases=cases):
            return [case.body.statements for case in cases]
        case Block(statements=statements):
            return [statements]
        case _:
            return []


def _uses(stmt: Stmt) -> Counter[Variable]:
    """How often each register is mentioned in a statement and all that it holds."""
    found: Counter[Variable] = Counter(
        inner.variable for inner in walk_statements(stmt) if isinstance(inner, Declare)
    )
    for expr in expressions_below(stmt):
        match expr:
            case Read(place=RegisterPlace(variable=variable)):
                found[variable] += 1
            case Assign(target=RegisterPlace(variable=variable)):
                found[variable] += 1
            case Increment(target=RegisterPlace(variable=variable)):
                found[variable] += 1
            case InlinedCall(parameters=parameters):
                found.update(parameters)
            case _:
                pass
    return found


def _sets(stmt: Stmt) -> Variable | None:
    """The register that a statement gives a value that does not come from itself."""
    match stmt:
        case ExprStmt(expr=Assign(target=RegisterPlace(variable=variable, path=()), op=None)):
            return variable if _uses(stmt)[variable] == 1 else None
        case _:
            return None


def _rewritten(block: Block, declared: frozenset[Stmt]) -> Block:
    return replace(block, statements=tuple(_declared(stmt, declared) for stmt in block.statements))


def _declared(stmt: Stmt, declared: frozenset[Stmt]) -> Stmt:
    """A statement with the assignments in `declared` as declarations."""
    match stmt:
        case ExprStmt(expr=Assign(target=RegisterPlace(variable=variable), value=value)) if stmt in declared:
            return Declare(variable, value, stmt.region, stmt.span)
        case Block():
            return _rewritten(stmt, declared)
        case If(then=then, otherwise=otherwise):
            other = None if otherwise is None else _rewritten(otherwise, declared)
            return replace(stmt, then=_rewritten(then, declared), otherwise=other)
        case Loop(body=body):
            return replace(stmt, body=_rewritten(body, declared))
        case Switch(cases=cases):
            return replace(stmt, cases=tuple(replace(c, body=_rewritten(c.body, declared)) for c in cases))
        case _:
            return stmt
