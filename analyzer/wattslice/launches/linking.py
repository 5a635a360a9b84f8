"""Files of one program, as a linker takes them: each name is defined by one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from wattslice import ir


class _Definition(Struct, frozen=True):
    """`linked_as` in a file; `what`: the value of a number, else the file: no two say the same."""

    linked_as: str
    name: str
    what: object
    file: Path


def file_of(written: str) -> Path:
    """A file, however a path to it is written."""
    return Path(written).resolve()


def _definitions(programs: Iterable[ir.Program], *, private: bool = False) -> Iterator[_Definition]:
    """`private`: functions that a file has for itself as well."""
    known = cache(file_of)
    for program in programs:
        for function in program.functions:
            if private or function.linked_as is not None:
                file = known(function.span.file)
                yield _Definition(function.mangled_name, function.name, file, file)
        for variable in program.globals:
            given, file = variable.initializer, known(variable.span.file)
            if given is not None and variable.linked_as is not None:
                what = given.value if isinstance(given, ir.Constant) else file
                yield _Definition(variable.linked_as, variable.name, what, file)


def linkable(program: ir.Program, others: Sequence[ir.Program]) -> list[ir.Program]:
    """Those that may be of one program with it: what it defines none has another definition of.

    Those beside it come first: one elsewhere is another program's if it defines what these do.
    """
    folders = {file_of(function.span.file).parent for function in program.functions}
    near = [other for other in others if file_of(other.file).parent in folders]
    found: list[ir.Program] = []
    for group in (near, [other for other in others if other not in near]):
        own: dict[str, set[object]] = {}
        for one in _definitions((program, *found)):
            own.setdefault(one.linked_as, set()).add(one.what)
        found += [
            other
            for other in group
            if all(
                one.what in own.get(one.linked_as, (one.what,))
                for one in _definitions((other,), private=True)
            )
        ]
    return found


def in_doubt(programs: Iterable[ir.Program], names: Collection[str]) -> dict[str, str]:
    """Of those of `names` that they define in several ways, by linked names: where."""
    found: dict[str, dict[object, _Definition]] = {}
    for one in _definitions(programs):
        if one.name in names:
            found.setdefault(one.linked_as, {}).setdefault(one.what, one)
    return {
        linked_as: "defined in " + " and in ".join(sorted(one.file.name for one in ways.values()))
        for linked_as, ways in found.items()
        if len(ways) > 1
    }


def defines(program: ir.Program, names: Collection[str]) -> bool:
    """Whether it defines one of these linked names."""
    return any(one.linked_as in names for one in _definitions((program,)))
