"""Expressions that are carried out in double precision although only floats and integers go in and come
out.

A tree is the largest connected part of an expression in double precision. It is unintended when its result
is rounded to float (or to an integer, or only compared), when a literal or a library function made it
double, and when all that flows in are floats, integers and constants: no variable of type double, and no
`double` in the lines it is written on.

What the compiler carries out in float anyway is no such tree (LLVM's InstCombine, seen in the PTX of nvcc
13): one operation on floats and constants that a float holds exactly, rounded to float at once; a
comparison of such; a choice between floats and constants; a product with 1 or -1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from wattslice import ir
from wattslice.ir.walking import evaluations

_NARROWED = frozenset({ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL, ir.BinaryOp.DIV})


@dataclass(frozen=True, slots=True)
class DoubleTree:
    """`root`: the cast, comparison or assignment that ends it; `nodes`: all of it, by identity of nodes."""

    root: ir.Expr
    nodes: frozenset[ir.Expr]
    region: int


def unintended_trees(kernel: ir.Kernel, line: Callable[[ir.Span], str]) -> tuple[DoubleTree, ...]:
    """All of a kernel; `line`: the source text where a span starts."""
    found: list[DoubleTree] = []
    for node, region in evaluations(kernel):
        parts = _ended(node)
        if not parts or all(_is_narrow(part) for part in parts) or _is_narrowed(node, parts):
            continue
        tree = _tree(node, parts)
        if tree is not None and not any("double" in line(part.span) for part in tree):
            found.append(DoubleTree(node, frozenset(tree), region))  # pyright: ignore[reportArgumentType]
    return tuple(found)


def in_single(nodes: frozenset[ir.Expr]) -> Callable[[Any, Any], Any]:
    """The change that makes `nodes` single precision (see `rewritten`)."""

    def change(old: Any, new: Any) -> Any:  # noqa: ANN401 - any node
        if old not in nodes:
            return new
        match new:
            case ir.Cast(operand=operand) if _is_double(new.type) and operand.type.is_float:
                return operand
            case ir.Cast() | ir.Constant() | ir.Unary() | ir.Select() if _is_double(new.type):
                return replace(new, type=ir.FLOAT32)
            case ir.Binary():
                type_ = ir.FLOAT32 if _is_double(new.type) else new.type
                return replace(new, operand_type=ir.FLOAT32, type=type_)
            case ir.Assign():
                return replace(new, operand_type=ir.FLOAT32)
            case ir.Intrinsic():
                single = tuple(
                    replace(count, operation=ir.OperationClass.FP32)
                    if count.operation is ir.OperationClass.FP64
                    else count
                    for count in new.operations
                )
                return replace(new, type=ir.FLOAT32 if _is_double(new.type) else new.type, operations=single)
            case _:
                return new

    return change


def has_other_doubles(kernel: ir.Kernel, trees: tuple[DoubleTree, ...]) -> bool:
    """Whether the kernel computes in double precision outside of `trees`, in what is not narrowed either."""
    inside = frozenset[ir.Expr]().union(*(tree.nodes for tree in trees))
    return any(
        (isinstance(node, ir.Read | ir.Load) and _is_double(node.type))
        or (isinstance(node, ir.Declare) and _is_double(node.variable.type))
        for node, _ in evaluations(kernel)
        if node not in inside
    )


def _ended(node: ir.Stmt | ir.Expr) -> tuple[ir.Expr, ...]:
    """The operands in double precision of a node whose own result is none; empty for others."""
    match node:
        case ir.Cast(operand=operand) if _is_double(operand.type) and not _is_double(node.type):
            return (operand,)
        case ir.Binary() if node.op in ir.COMPARISONS and _is_double(node.operand_type):
            return (node.left, node.right)
        case ir.Assign(op=op) if op is not None and _is_double(node.operand_type):
            return () if _is_double(node.target.type) else (node.value,)
        case _:
            return ()


def _tree(node: Any, parts: tuple[ir.Expr, ...]) -> list[ir.Expr] | None:  # noqa: ANN401 - any node
    """Every node of the tree, its root too; None when something double by intention flows in."""
    found: list[ir.Expr] = [node]
    stack = list(parts)
    from_float = isinstance(node, ir.Assign) or (isinstance(node, ir.Cast) and node.type.is_float)
    is_made_double = False
    while stack:
        part = stack.pop()
        found.append(part)
        match part:
            case ir.Constant():
                is_made_double = True
            case ir.Cast(operand=operand) if operand.type.is_float and not _is_double(operand.type):
                from_float = True
            case ir.Cast(operand=operand) if operand.type.is_integral:
                pass
            case ir.Binary() | ir.Unary() if _is_double(part.type):
                stack.extend(ir.children(part))
            case ir.Select():
                stack += (part.then, part.otherwise)
            case ir.Intrinsic() if part.semantics not in (ir.Semantics.OPAQUE, ir.Semantics.IDENTITY) or (
                part.operations
            ):
                if any(argument.type.kind is ir.TypeKind.POINTER for argument in part.arguments):
                    return None
                is_made_double = True
                stack.extend(one for one in part.arguments if _is_double(one.type))
            case _:
                return None
    return found if from_float and is_made_double else None


def _is_narrowed(node: Any, parts: tuple[ir.Expr, ...]) -> bool:  # noqa: ANN401 - any node
    """Whether the compiler computes in float what `node` ends: see above."""
    match node:
        case ir.Cast() if node.type.is_float:
            (value,) = parts
            match value:
                case ir.Binary(op=op, left=left, right=right) if op in _NARROWED:
                    return _is_narrow(left) and _is_narrow(right)
                case ir.Select(then=then, otherwise=otherwise):
                    arms = (then, otherwise)
                    return all(_is_narrow(arm) or isinstance(arm, ir.Constant) for arm in arms)
                case _:
                    return False
        case ir.Assign(op=op):
            return op in _NARROWED and _is_narrow(parts[0])
        case _:
            return False


def _is_narrow(expr: ir.Expr) -> bool:
    """Whether a float holds the value exactly, and the compiler can see it."""
    match expr:
        case ir.Constant(value=value):
            return _as_float(value) == value
        case ir.Cast(operand=operand):
            return operand.type.is_float and operand.type.bits <= 32
        case ir.Unary(op=ir.UnaryOp.NEGATE, operand=operand):
            return _is_narrow(operand)
        case ir.Binary(op=ir.BinaryOp.MUL, left=left, right=right):
            units = [side for side in (left, right) if isinstance(side, ir.Constant) and abs(side.value) == 1]
            return bool(units) and _is_narrow(left) and _is_narrow(right)
        case _:
            return False


def _as_float(value: float) -> float | None:
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except (OverflowError, struct.error):
        return None


def _is_double(type_: ir.Type) -> bool:
    return type_.kind is ir.TypeKind.FLOAT and type_.bits == 64
