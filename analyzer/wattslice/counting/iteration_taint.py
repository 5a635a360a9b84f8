"""Whether the iterations of a loop can differ in what they execute."""

from __future__ import annotations

from collections import Counter

from wattslice import ir
from wattslice.counting.inductions import update_of
from wattslice.counting.syntax import Key, comma_parts, key_of


def iterations_differ(body: ir.Stmt, counters: frozenset[ir.Variable], assigned: Counter[Key]) -> bool:
    """True when some branch, bound or selector in the loop's `body` may depend on the iteration.

    `counters`: induction variables of the loop. `assigned`: registers that the loop writes. Conservative:
    True costs time, a wrong False would cost truth.
    """
    taint = _IterationTaint(counters, assigned)
    taint.visit(body, conditional=False)
    return taint.differ


class _IterationTaint:
    """Walks a body in execution order with the set of registers whose value depends on the iteration."""

    def __init__(self, carried: frozenset[ir.Variable], assigned: Counter[Key]) -> None:
        self._tainted: set[Key] = set(carried)
        self._assigned = assigned
        self._defined: set[Key] = set()
        self.differ = False

    def _reads_taint(self, expr: ir.Expr) -> bool:
        """True when the value of `expr` depends on the iteration; notes control decisions on the way."""
        found = False
        stack: list[ir.Expr] = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, ir.Read):
                key = key_of(node.place)
                if key in self._tainted:
                    found = True
                elif key in self._assigned and key not in self._defined and not node.type.is_float:
                    self._tainted.add(key)
                    found = True
            elif isinstance(node, ir.Load | ir.TextureFetch | ir.Atomic):
                continue
            elif isinstance(node, ir.Select):
                self._decide(node.condition)
            elif isinstance(node, ir.Logical):
                self._decide(node.left)
            elif isinstance(node, ir.InlinedCall):
                for parameter, argument in zip(node.parameters, node.arguments, strict=True):
                    self._assign(parameter, self._reads_taint(argument), conditional=False)
                self.visit(node.body, conditional=True)
                found = found or any(self._reads_taint(argument) for argument in node.arguments)
                continue
            elif isinstance(node, ir.Assign | ir.Increment) and isinstance(node.target, ir.RegisterPlace):
                self._write(node)
            stack.extend(ir.children(node))
        return found

    def _decide(self, condition: ir.Expr) -> None:
        self.differ = self.differ or self._reads_taint(condition)

    def _assign(self, key: Key, taint: bool, conditional: bool) -> None:
        if taint:
            self._tainted.add(key)
        elif not conditional:
            self._tainted.discard(key)
        if not conditional:
            self._defined.add(key)

    def _write(self, node: ir.Assign | ir.Increment, conditional: bool = True) -> None:
        assert isinstance(node.target, ir.RegisterPlace)
        key = key_of(node.target)
        if isinstance(node, ir.Assign):
            taint = self._reads_taint(node.value) or (node.op is not None and key in self._tainted)
            self._assign(key, taint, conditional or node.op is not None)

    def visit(self, stmt: ir.Stmt, conditional: bool) -> None:
        """Follows `stmt`; `conditional`: it may not run in every iteration."""
        if self.differ:
            return
        match stmt:
            case ir.Declare(variable=variable, value=value):
                self._assign(variable, value is not None and self._reads_taint(value), conditional=False)
            case ir.ExprStmt(expr=expr):
                for part in comma_parts(expr):
                    if isinstance(part, ir.Assign) and isinstance(part.target, ir.RegisterPlace):
                        self._write(part, conditional)
                    else:
                        self._reads_taint(part)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                self._decide(condition)
                self.visit(then, conditional=True)
                if otherwise is not None:
                    self.visit(otherwise, conditional=True)
            case ir.Loop():
                self._loop(stmt, conditional)
            case ir.Switch(selector=selector, cases=cases):
                self._decide(selector)
                for case in cases:
                    self.visit(case.body, conditional=True)
            case ir.Block(statements=statements):
                for inner in statements:
                    self.visit(inner, conditional)
            case ir.Return(value=value):
                if value is not None:
                    self._reads_taint(value)
            case ir.Break() | ir.Continue():
                pass

    def _loop(self, loop: ir.Loop, conditional: bool) -> None:
        for inner in loop.init:
            self.visit(inner, conditional)
        for _ in range(2):  # once more for what the inner loop carries
            if loop.condition is not None:
                self._decide(loop.condition)
            self.visit(loop.body, conditional=True)
            if loop.step is not None:
                for part in comma_parts(loop.step):
                    update = update_of(part)
                    amount = update.amount if update else part
                    if not isinstance(amount, int) and self._reads_taint(amount) and update:
                        self._tainted.add(update.variable)
