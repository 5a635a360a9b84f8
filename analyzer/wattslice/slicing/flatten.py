"""Split a kernel into logical statements, in evaluation order, each with what it reads, writes and obeys."""

from __future__ import annotations

from dataclasses import replace

from wattslice.ir import (
    Block,
    Break,
    Continue,
    Declare,
    Expr,
    ExprStmt,
    If,
    Kernel,
    Loop,
    LoopKind,
    Return,
    Span,
    Stmt,
    Switch,
    never_falls_through,
)
from wattslice.ir.operation_counts import decision
from wattslice.slicing.drafts import Action, Context, Draft, Frame
from wattslice.slicing.flatten_expressions import FlattenExpressions
from wattslice.slicing.statements import Arm, Definition, FlatKernel, Mark, StatementKind


def flatten(kernel: Kernel) -> FlatKernel:
    """The logical statements of `kernel` with the bodies of inlined calls in place."""
    flattener = _Flattener(kernel)
    flattener.statement(kernel.body, Context(None, ()))
    return flattener.finished()


class _Flattener(FlattenExpressions):
    def statement(self, stmt: Stmt, context: Context) -> None:
        match stmt:
            case Block(is_breakable=True):
                frame = Frame(is_call=False, result=None)
                self.then(
                    Mark.CALL,
                    lambda: self.frames.append(frame),
                    lambda: self.statement(replace(stmt, is_breakable=False), context),
                    Mark.CALL_END,
                    self.leave_block,
                )
            case Block(statements=statements):
                actions: list[Action] = []
                for inner in statements:
                    actions.append(lambda inner=inner, here=context: self.statement(inner, here))
                    if isinstance(inner, If) and inner.otherwise is None and never_falls_through(inner.then):
                        arm = Arm(inner.then.region, inner.region, negated=True)
                        context = replace(context, arms=(*context.arms, arm))
                self.then(*actions)
            case ExprStmt(expr=expr):
                self.root(expr, stmt.region, context)
            case Declare(variable=variable, value=value) if value is not None:
                draft = self.draft(StatementKind.COMPUTE, stmt.span, stmt.region, context)
                draft.definitions.append(Definition(variable, kills=True))
                self.then((value, stmt.region, draft, context), draft.index)
            case Declare():
                pass
            case If():
                self.branch(stmt, stmt.condition, context, tuple(b for b in (stmt.then, stmt.otherwise) if b))
            case Switch():
                self.branch(stmt, stmt.selector, context, tuple(case.body for case in stmt.cases))
            case Loop():
                self.loop(stmt, context)
            case Return(value=value):
                self.jump(stmt, value, context)
            case Break() | Continue():
                self.jump(stmt, None, context)

    def branch(self, stmt: If | Switch, condition: Expr, context: Context, arms: tuple[Block, ...]) -> None:
        predicate = self.predicate(stmt, condition.span, stmt.region, context)
        actions: list[Action] = [
            (condition, stmt.region, predicate, context),
            predicate.index,
            Mark.BRANCH,
        ]
        for arm in arms:
            inside = Context(predicate.index, (*context.arms, Arm(arm.region, stmt.region)))
            actions.append(lambda arm=arm, inside=inside: self.statement(arm, inside))
            actions.append(Mark.NEXT_ARM)
        self.then(*actions, Mark.BRANCH_END)

    def loop(self, loop: Loop, context: Context) -> None:
        frame = Frame(is_call=False, result=None)
        condition = loop.condition
        test = None
        inside = context
        if condition is not None:
            test = self.predicate(loop, condition.span, loop.test_region, context)
            inside = replace(context, predicate=test.index)

        def run_test() -> None:
            if test is not None and condition is not None:
                self.then((condition, loop.test_region, test, inside), test.index)

        def run_step() -> None:
            if loop.step is not None:
                self.root(loop.step, loop.step_region, inside)

        def close() -> None:
            if test is not None and frame.guard is not None:
                test.controls = (*test.controls, frame.guard)
            self.frames.pop()

        body: list[Action] = [lambda: self.statement(loop.body, inside), run_step]
        order = [*body, run_test] if loop.kind is LoopKind.DO else [run_test, *body]
        init: list[Action] = [lambda stmt=stmt: self.statement(stmt, context) for stmt in loop.init]
        self.then(
            *init,
            lambda: self.frames.append(frame),
            Mark.LOOP,
            *order,
            Mark.LOOP_END,
            close,
        )

    def jump(self, stmt: Return | Break | Continue, value: Expr | None, context: Context) -> None:
        draft = self.draft(StatementKind.JUMP, stmt.span, stmt.region, context)
        if isinstance(stmt, Return):
            call = next(frame for frame in reversed(self.frames) if frame.is_call)
            if call.result is not None and value is not None:
                draft.definitions.append(Definition(call.result, kills=False))

        def leave() -> None:
            levels = stmt.levels if isinstance(stmt, Break) else 1
            for level, frame in enumerate(reversed(self.frames), 1):
                frame.guard = draft.index
                if (level == levels and not isinstance(stmt, Return)) or frame.is_call:
                    break
            self.events.append(Mark.JUMP)

        if value is None:
            self.then(draft.index, leave)
        else:
            self.then((value, stmt.region, draft, context), draft.index, leave)

    def leave_block(self) -> None:
        """Behind a breakable block all meet again who left no more than it: it guards nothing further."""
        self.frames.pop()

    def predicate(self, stmt: Stmt, span: Span, region: int, context: Context) -> Draft:
        draft = self.draft(StatementKind.PREDICATE, span, region, context)
        if (control := decision(stmt)) is not None:
            draft.operations.append(control)
        return draft
