"""pycparser's nodes carry no types; this alias names them where the strict checker would ask for more."""

from __future__ import annotations

from typing import Any, TypeAlias

Node: TypeAlias = Any
"""A `pycparser.c_ast.Node` of any class."""
