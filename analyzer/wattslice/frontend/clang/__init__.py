"""The clang layer: from a `.cu` path to a syntax tree (see `session.parse_cuda`)."""

from wattslice.frontend.clang.cursors import Node, Place, Type, strip
from wattslice.frontend.clang.diagnostics import ParseDiagnostic, Severity
from wattslice.frontend.clang.flags import ParseOptions
from wattslice.frontend.clang.kinds import BinaryOperator, CursorKind, TypeKind, UnaryOperator
from wattslice.frontend.clang.session import ParsedUnit, Recovered, parse_cuda

__all__ = [
    "BinaryOperator",
    "CursorKind",
    "Node",
    "ParseDiagnostic",
    "ParseOptions",
    "ParsedUnit",
    "Place",
    "Recovered",
    "Severity",
    "Type",
    "TypeKind",
    "UnaryOperator",
    "parse_cuda",
    "strip",
]
