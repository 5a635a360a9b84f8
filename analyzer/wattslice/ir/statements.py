"""Statements."""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.ir.enums import IdentityEnum
from wattslice.ir.expressions import Expr
from wattslice.ir.types import Span, Variable


@dataclass(frozen=True, slots=True, eq=False)
class ExprStmt:
    """An expression run for its effect."""

    expr: Expr
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Declare:
    """A declaration of a register variable or local array, with its initial value if it has one."""

    variable: Variable
    value: Expr | None
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A sequence of statements; a `Break` inside may leave it when it `is_breakable`, as PTX does."""

    statements: tuple[Stmt, ...]
    region: int
    span: Span
    is_breakable: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """`if`; `region` counts evaluations of the condition; the arms have regions of their own."""

    condition: Expr
    then: Block
    otherwise: Block | None
    region: int
    span: Span


class LoopKind(IdentityEnum):
    """Which keyword wrote the loop."""

    FOR = "for"
    WHILE = "while"
    DO = "do"


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Any loop: `region` counts entries, `test_region` tests, `step_region` evaluations of the step.

    `unroll`: the number in `#pragma unroll N`; 0 for the bare pragma (full); None without a pragma.
    A condition that is missing in the source (`for(;;)`) is None.
    """

    kind: LoopKind
    init: tuple[Stmt, ...]
    condition: Expr | None
    step: Expr | None
    body: Block
    unroll: int | None
    region: int
    test_region: int
    step_region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A `case`/`default` group: its labels (None = default) and the statements up to the next one.

    Without a `break` at its end control falls through to the next case.
    """

    labels: tuple[int | None, ...]
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class Switch:
    """`switch`; `region` counts evaluations of the selector."""

    selector: Expr
    cases: tuple[Case, ...]
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """Return from the kernel or from the innermost `InlinedCall`."""

    value: Expr | None
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """Leave the innermost loop, switch or breakable block; of PTX, that many of them (`levels`)."""

    region: int
    span: Span
    levels: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Continue:
    """Next iteration of the innermost loop."""

    region: int
    span: Span


Stmt = ExprStmt | Declare | Block | If | Loop | Switch | Return | Break | Continue
