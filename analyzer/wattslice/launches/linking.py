"""Files of one program, as a linker takes them: each name is defined by one of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.neighbours import EXTERN, HEADERS
from wattslice.launches.call_graph import call_graph


class _Definition(Struct, frozen=True):
    """`linked_as` in a file; `what`: the value of a number, else the file: no two say the same."""

    linked_as: str
    name: str
    what: object
    file: Path


def file_of(written: str) -> Path:
    """A file, however a path to it is written."""
    return Path(written).resolve()


def beside(program: ir.Program, others: Sequence[ir.Program]) -> list[ir.Program]:
    """Those in the folders of the program."""
    folders = {file_of(file).parent for file in {function.span.file for function in program.functions}}
    return [other for other in others if file_of(other.file).parent in folders]


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
    near = beside(program, others)
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


def uses(program: ir.Program, names: Collection[str]) -> bool:
    """Whether its host code, not its text alone, names one of these functions, kernels and variables."""
    if program.functions and any(
        v.linked_as is not None and EXTERN + v.name in names for v in program.globals
    ):
        return True
    values = [v.initializer for v in program.globals if v.initializer is not None]
    every = [expr for function in program.functions for expr in ir.expressions_below(function.body)]
    every += [expr for value in values for expr in ir.walk_expressions(value)]
    calls = {expr.name for expr in every if isinstance(expr, ir.Call)}
    calls |= {expr.kernel_name for expr in every if isinstance(expr, ir.LaunchCall)}
    calls |= {function.name for function in program.functions}  # another class has such a method as well
    held = {expr.value for expr in every if isinstance(expr, ir.Text) and expr.type.name == "function"}
    plain = {name.partition("<")[0].rpartition("::")[2] for name in calls}
    return "operator()" in calls or any(name in plain or any(name in one for one in held) for name in names)


def together(program: ir.Program, others: Sequence[ir.Program]) -> ir.Program:
    """Each function once; what a file has that others include is as they have it."""
    known = cache(file_of)
    own, found = known(program.file), [(other, f) for other in others for f in other.functions]
    there = {(_name(f), known(f.span.file)): (other, f) for other, f in found}
    included = {file for _, file in there} - {known(other.file) for other in others}

    def is_kept(function: ir.Function) -> bool:
        file = known(function.span.file)
        same = there.get((_name(function), file))
        unit = known(_unit(function) or function.span.file)
        is_of_others = unit in included and (unit == own or unit.suffix not in HEADERS)
        if same is None or not (is_of_others or _is_idle(program, function)):
            return True
        # alone, without the types of those that include it, it may have kernels of other names
        return not _launched(program, function) <= _launched(*same)

    kept = [function for function in program.functions if is_kept(function)]  # of several programs, each main
    names = {function.mangled_name for function in kept}
    here = {(_name(function), known(function.span.file)) for function in kept}
    more = {
        (f.mangled_name, f.span.file): f
        for other, f in reversed(found)
        if f.mangled_name not in names
        if not ((_name(f), known(f.span.file)) in here and _is_idle(other, f))
    }
    added = [variable for other in others for variable in other.globals]
    functions = (*kept, *reversed(more.values()))
    files = tuple(dict.fromkeys(file for one in (program, *others) for file in one.included))
    assumed = tuple(dict.fromkeys(told for one in (program, *others) for told in one.assumed))
    variables = (*program.globals, *added)
    return replace(program, functions=functions, globals=variables, included=files, assumed=assumed)


def _is_idle(program: ir.Program, function: ir.Function) -> bool:
    """Whether a file has a function for itself and does not use it."""
    return bool(_unit(function)) and function in call_graph(program).unused


def _launched(program: ir.Program, function: ir.Function) -> set[str]:
    return {site.kernel for site in call_graph(program).launches_from(function)}


def _name(function: ir.Function) -> str:
    return function.mangled_name.removesuffix(f"@{_unit(function)}")


def _unit(function: ir.Function) -> str:
    """The file parsed that has a function for itself; nothing of one that others may call."""
    _, at, file = function.mangled_name.rpartition("@")
    return file if at and Path(file).is_absolute() else ""
