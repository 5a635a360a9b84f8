"""How functions are called: with their namespaces and template arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.kinds import CursorKind as C

_USR_VALUE = re.compile(r"#V([a-zA-Z])(-?\d+)")
_USR_FUNCTION = re.compile(r"#@F@(\w+)#")


def qualified_name(function: Node) -> str:
    """The name with namespaces and template arguments."""
    names = [function.spelling]
    arguments = function.template_arguments
    if arguments:
        names[0] += f"<{', '.join(_shown_arguments(function, arguments))}>"
    parent = function.semantic_parent
    while parent is not None and parent.kind != C.TRANSLATION_UNIT:
        if parent.spelling and parent.kind != C.LINKAGE_SPEC:
            names.insert(0, parent.spelling)
        parent = parent.semantic_parent
    return "::".join(names)


def _shown_arguments(function: Node, arguments: tuple[ClangType | int | None, ...]) -> Iterator[str]:
    """Template arguments as text; the USR tells booleans and functions, which libclang's values do not."""
    usr = function.usr
    values = iter(_USR_VALUE.findall(usr))
    functions = iter(_USR_FUNCTION.findall(usr))
    for argument in arguments:
        if isinstance(argument, ClangType):
            yield argument.spelling
        elif argument is None:
            yield next(functions, "?")
        else:
            kind, _ = next(values, ("", ""))
            yield str(argument) if kind != "b" else "true" if argument else "false"
