"""Plain C kernels: a `.c` file through pycparser into the same IR as CUDA.

Every function defined in the file becomes a kernel, except `main`, `inline` functions and those that only
other kernels call (they are followed where they are called). It stands for one thread in one block, unless
`--launch` says otherwise; all arrays and file-scope variables are global memory. A call that `main` makes
counts as the launch of that kernel, so that its arguments are read from `main` like those of CUDA launches.
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

import re
from pathlib import Path

from pycparser import c_ast, c_parser

from wattslice import ir
from wattslice.errors import FrontendError
from wattslice.frontend.c.lowering import Body, lower_host_function
from wattslice.frontend.c.preprocessor import Preprocessor
from wattslice.frontend.c.scope import CLoweringError, CTooLargeError, Unit, span_of
from wattslice.frontend.c.types import Node
from wattslice.frontend.cuda.clang.flags import ParseOptions
from wattslice.frontend.inputs import file_bytes, note_text
from wattslice.ir.walking import deep_recursion

# pycparser reads some 300 KB a second.
MAX_BYTES = 600_000
_PLACE = re.compile(r"^(?P<file>.*?):(?P<line>\d+)(?::\d+)?:\s*(?P<message>.*)$", re.S)


def read_c(path: Path, options: ParseOptions | None = None, source: bytes | None = None) -> ir.Program:
    """Read a C file; `source` None: what is on the disk. Raises `FrontendError` when it cannot be read."""
    text = _text(path, _read(path) if source is None else source)
    include_dirs = () if options is None else options.include_dirs
    defines = () if options is None else options.defines
    preprocessor = Preprocessor(include_dirs, defines)
    try:
        with deep_recursion():
            expanded = preprocessor.run(path, text)
            if len(expanded) > MAX_BYTES:
                raise FrontendError(path, None, _too_many(len(expanded), "after its includes"), "split it")
            tree = _parse(path, expanded, preprocessor.missing)
            program = _program(path, text, tree)
    except RecursionError:
        raise FrontendError(path, None, "expressions or blocks nest too deeply", "split them") from None
    missing = tuple(
        ir.Diagnostic("PW002", ir.Severity.WARNING, file, line, f"include file '{name}' not found; use -I")
        for file, line, name in preprocessor.missing
    )
    return ir.Program(
        program.file,
        program.kernels,
        program.functions,
        program.globals,
        (*missing, *program.diagnostics),
        program.source_lines,
    )


def _too_many(number: int, what: str) -> str:
    return f"{number} bytes {what} are too many for the parser of C, which takes seconds for {MAX_BYTES}"


def _read(path: Path) -> bytes:
    try:
        data = file_bytes(path)
    except OSError as error:
        raise FrontendError(path, None, f"cannot be read: {error.strerror}", "check the path") from None
    note_text(path, data)
    return data


def _text(path: Path, data: bytes) -> str:
    if len(data) > MAX_BYTES:
        raise FrontendError(path, None, _too_many(len(data), "of source"), "split it")
    if b"\0" in data:
        raise FrontendError(path, None, "this is a binary file", "give a C source file")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FrontendError(path, line, "not UTF-8", "convert the file to UTF-8") from None


def _parse(path: Path, expanded: str, missing: list[tuple[str, int, str]]) -> Node:
    parser = c_parser.CParser()
    try:
        return parser.parse(expanded, str(path))
    except (c_parser.ParseError, AssertionError, ValueError) as error:
        found = _PLACE.match(str(error))
        remedy = "kernels must be C99; CUDA belongs into .cu files"
        if missing:
            remedy = f"'{missing[0][2]}' was not found: name its folder with -I"
        if found is None:
            lexer = getattr(parser, "clex", None)  # pycparser < 3 has `lineno`, later `_lineno`
            line: int | None = getattr(lexer, "lineno", getattr(lexer, "_lineno", None))
            message = str(error).rpartition(": ")[2]
            raise FrontendError(path, line, f"not understood as C ({message})", remedy) from None
        message = f"not understood as C ({found['message'].strip()})"
        raise FrontendError(Path(found["file"]), int(found["line"]), message, remedy) from None


def _program(path: Path, text: str, tree: Node) -> ir.Program:
    unit = Unit()
    for node in tree.ext:
        if isinstance(node, c_ast.FuncDef):
            unit.functions[node.decl.name] = node
    declared: list[ir.Variable] = []
    for node in tree.ext:
        if isinstance(node, c_ast.Typedef):
            unit.types.typedefs[node.name] = unit.types.of(node)
        elif isinstance(node, c_ast.Decl) and not isinstance(node.type, c_ast.FuncDecl):
            variable = _global(unit, node, span_of(node))
            if variable is not None:
                declared.append(variable)
    kernels = tuple(_kernel(unit, node) for node in _kernel_definitions(unit, tree, path))
    names = frozenset(kernel.name for kernel in kernels)
    hosts = (_host_function(unit, node, names) for node in unit.functions.values())
    functions = tuple(function for function in hosts if function is not None)
    diagnostics = tuple(unit.diagnostics)
    return ir.Program(str(path), kernels, functions, tuple(declared), diagnostics, ir.numbered_lines(text))


def _global(unit: Node, node: Node, span: ir.Span) -> ir.Variable | None:
    body = Body(unit, is_host=False)
    ctype = unit.types.of(node)
    if not node.name:
        return None
    type_ = ctype.as_ir()
    constant = unit.fold(node.init) if node.init is not None and "const" in node.quals else None
    if constant is not None and type_.is_integral:
        unit.constants[node.name] = constant
    initializer: ir.Expr | None = None
    if node.init is not None and unit.fold(node.init) is not None:
        initializer = body.value(node.init).expr
    is_const = "const" in node.quals
    variable = ir.Variable(
        node.name,
        type_,
        ir.MemorySpace.GLOBAL,
        ir.VariableRole.FILE_SCOPE,
        span,
        is_constant=is_const,
        initializer=initializer,
    )
    unit.globals[node.name] = (variable, ctype.dimensions)
    return variable


def _kernel_definitions(unit: Node, tree: Node, path: Path) -> list[Node]:
    class Calls(c_ast.NodeVisitor):
        def __init__(self) -> None:
            self.names: set[str] = set()

        def visit_FuncCall(self, node: Node) -> None:  # noqa: N802 (pycparser's name)
            if isinstance(node.name, c_ast.ID):
                self.names.add(node.name.name)
            self.generic_visit(node)

    called_by_kernels: set[str] = set()
    called_by_main: set[str] = set()
    for name, definition in unit.functions.items():
        calls = Calls()
        calls.visit(definition.body)
        if name == "main":
            called_by_main |= calls.names
        else:
            called_by_kernels |= calls.names - {name}
    chosen: list[Node] = []
    for node in tree.ext:
        if not isinstance(node, c_ast.FuncDef) or str(getattr(node.coord, "file", "")) != str(path):
            continue
        name = node.decl.name
        is_helper = "inline" in (node.decl.funcspec or []) or (
            name in called_by_kernels and name not in called_by_main
        )
        if name != "main" and not is_helper:
            chosen.append(node)
    return chosen


def _kernel(unit: Node, node: Node) -> ir.Kernel:
    body = Body(unit, is_host=False)
    name = node.decl.name
    span = span_of(node)
    parameters: tuple[ir.Variable, ...] = ()
    try:
        parameters = body.parameters(node)
        block = body.block(node.body)
    except CTooLargeError as error:
        body.is_complete = False
        unit.report("PW007", ir.Severity.WARNING, span, f"'{name}' is not followed: {error}")
        block = ir.Block((), body.region(), span)
    except CLoweringError as error:
        body.hole(node, str(error))
        block = ir.Block((), body.region(), span)
    return ir.Kernel(
        name, name, name, parameters, block, span, body.regions, body.sites, (), None, None, body.is_complete
    )


def _host_function(unit: Node, node: Node, kernels: frozenset[str]) -> ir.Function | None:
    try:
        return lower_host_function(unit, node, kernels)
    except CTooLargeError:  # told of the kernel, where it is one
        return None
