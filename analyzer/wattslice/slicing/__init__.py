"""Dependence graph of a kernel and its slices by memory space; `docs/slicing.md` tells the rules."""

from wattslice.slicing.slices import DependenceGraph, Slice, backward_slice, dependence_graph, slice_kernel
from wattslice.slicing.statements import Arm, LogicalStatement, StatementKind

__all__ = [
    "Arm",
    "DependenceGraph",
    "LogicalStatement",
    "Slice",
    "StatementKind",
    "backward_slice",
    "dependence_graph",
    "slice_kernel",
]
