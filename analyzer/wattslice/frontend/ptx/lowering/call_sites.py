"""Functions of the toolkit at the place that calls them: nobody reads their lines, if they have any."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from wattslice.frontend.ptx.syntax.syntax import Function, Instruction, Scope, SourceLocation, Statement


def as_called(function: Function, site: SourceLocation | None, toolkit: AbstractSet[int]) -> Function:
    """`function` as if it had been inlined at `site`, where it is of the toolkit or tells no lines.

    `toolkit`: the numbers of the toolkit's files.
    """
    if site is None or function.body is None:
        return function
    return replace(function, body=_at(function.body, site, toolkit))


def _at(
    body: tuple[Statement, ...], site: SourceLocation, toolkit: AbstractSet[int]
) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for statement in body:
        match statement:
            case Instruction(location=location):
                found.append(replace(statement, location=_inlined(location, site, toolkit)))
            case Scope(body=inner):
                found.append(replace(statement, body=_at(inner, site, toolkit)))
            case _:
                found.append(statement)
    return tuple(found)


def _inlined(
    location: SourceLocation | None, site: SourceLocation, toolkit: AbstractSet[int]
) -> SourceLocation:
    """The place of an instruction, called at `site` where the function around it is the toolkit's."""
    if location is None:
        return site
    if location.inlined_at is not None:
        return replace(location, inlined_at=_inlined(location.inlined_at, site, toolkit))
    return replace(location, inlined_at=site) if location.file in toolkit else location
