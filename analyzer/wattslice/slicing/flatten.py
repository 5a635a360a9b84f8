"""Split a kernel into logical statements, in evaluation order, each with what it reads, writes and obeys.

One stack of pending actions replaces recursion over statements and expressions, so that neither long
`else if` chains nor deep expressions can exhaust Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from wattslice.evaluations import child_regions
from wattslice.ir import (
    AddressOf,
    Assign,
    Atomic,
    Block,
    Break,
    Continue,
    Declare,
    Expr,
    ExprStmt,
    If,
    Increment,
    InlinedCall,
    Intrinsic,
    Kernel,
    Load,
    Loop,
    LoopKind,
    MemoryPlace,
    MemorySpace,
    OperationClass,
    Read,
    RegisterPlace,
    Return,
    Span,
    Stmt,
    Switch,
    TextureFetch,
    Variable,
    VariableRole,
)
from wattslice.region_operations import Operation, decision, own_operations
from wattslice.slicing.aliases import Aliases, pointer_bases
from wattslice.slicing.statements import (
    SLICED_SPACES,
    Arm,
    Definition,
    Event,
    FlatKernel,
    Key,
    LogicalStatement,
    Mark,
    StatementKind,
)

_LOADS = frozenset(
    {
        OperationClass.GLOBAL_LOAD,
        OperationClass.SHARED_LOAD,
        OperationClass.CONSTANT_LOAD,
        OperationClass.TEXTURE_LOAD,
    }
)
_STORES = frozenset({OperationClass.GLOBAL_STORE, OperationClass.SHARED_STORE})
SPACE_OF: dict[OperationClass, MemorySpace] = {
    OperationClass.GLOBAL_LOAD: MemorySpace.GLOBAL,
    OperationClass.GLOBAL_STORE: MemorySpace.GLOBAL,
    OperationClass.SHARED_LOAD: MemorySpace.SHARED,
    OperationClass.SHARED_STORE: MemorySpace.SHARED,
    OperationClass.CONSTANT_LOAD: MemorySpace.CONSTANT,
    OperationClass.TEXTURE_LOAD: MemorySpace.TEXTURE,
}


def flatten(kernel: Kernel) -> FlatKernel:
    """The logical statements of `kernel` with the bodies of inlined calls in place."""
    return _Flattener(kernel).run()


@dataclass(slots=True, eq=False)
class _Draft:
    """A logical statement while its expression is still being read."""

    index: int
    kind: StatementKind
    span: Span
    region: int
    space: MemorySpace | None = None
    variable: Variable | None = None
    access_bytes: int = 0
    operations: list[Operation] = field(default_factory=list[Operation])
    uses: list[Key] = field(default_factory=list[Key])
    definitions: list[Definition] = field(default_factory=list[Definition])
    sources: list[int] = field(default_factory=list[int])
    controls: tuple[int, ...] = ()
    arms: tuple[Arm, ...] = ()
    is_binding: bool = False


@dataclass(slots=True)
class _Frame:
    """A loop, call or kernel that a jump may leave: the last jump seen and the result of a call."""

    is_call: bool
    result: Variable | None
    guard: int | None = None


@dataclass(frozen=True, slots=True)
class _Context:
    """What governs a statement: innermost predicate and chain of branch arms."""

    predicate: int | None
    arms: tuple[Arm, ...]


class _Flattener:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.aliases = Aliases(kernel)
        self.drafts: list[_Draft] = []
        self.events: list[Event] = []
        self.frames: list[_Frame] = [_Frame(is_call=True, result=None)]
        self.pending: list[Callable[[], None]] = []

    def run(self) -> FlatKernel:
        self.statement(self.kernel.body, _Context(None, ()))
        while self.pending:
            self.pending.pop()()
        return FlatKernel(tuple(_finished(draft) for draft in self.drafts), tuple(self.events))

    def then(self, *actions: Callable[[], None]) -> None:
        """Run `actions` next, in this order."""
        self.pending.extend(reversed(actions))

    def mark(self, mark: Mark) -> Callable[[], None]:
        return lambda: self.events.append(mark)

    # ------------------------------------------------------------------ statements

    def statement(self, stmt: Stmt, context: _Context) -> None:
        match stmt:
            case Block(statements=statements):
                actions: list[Callable[[], None]] = []
                for inner in statements:
                    actions.append(lambda inner=inner, here=context: self.statement(inner, here))
                    if isinstance(inner, If) and inner.otherwise is None and _leaves(inner.then):
                        arm = Arm(inner.then.region, inner.region, negated=True)
                        context = replace(context, arms=(*context.arms, arm))
                self.then(*actions)
            case ExprStmt(expr=expr):
                self.root(expr, stmt.region, context)
            case Declare(variable=variable, value=value) if value is not None:
                draft = self.draft(StatementKind.COMPUTE, stmt.span, stmt.region, context)
                draft.definitions.append(Definition(variable, kills=True))
                self.then(partial(self.expression, value, stmt.region, draft, context), self.emit(draft))
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

    def branch(self, stmt: If | Switch, condition: Expr, context: _Context, arms: tuple[Block, ...]) -> None:
        predicate = self.predicate(stmt, condition.span, stmt.region, context)
        actions = [
            lambda: self.expression(condition, stmt.region, predicate, context),
            self.emit(predicate),
            self.mark(Mark.BRANCH),
        ]
        for arm in arms:
            inside = _Context(predicate.index, (*context.arms, Arm(arm.region, stmt.region)))
            actions.append(lambda arm=arm, inside=inside: self.statement(arm, inside))
            actions.append(self.mark(Mark.NEXT_ARM))
        self.then(*actions, self.mark(Mark.BRANCH_END))

    def loop(self, loop: Loop, context: _Context) -> None:
        frame = _Frame(is_call=False, result=None)
        condition = loop.condition
        test = None
        inside = context
        if condition is not None:
            test = self.predicate(loop, condition.span, loop.test_region, context)
            inside = replace(context, predicate=test.index)

        def run_test() -> None:
            if test is not None and condition is not None:
                evaluate = partial(self.expression, condition, loop.test_region, test, inside)
                self.then(evaluate, self.emit(test))

        def run_step() -> None:
            if loop.step is not None:
                self.root(loop.step, loop.step_region, inside)

        def close() -> None:
            if test is not None and frame.guard is not None:
                test.controls = (*test.controls, frame.guard)
            self.frames.pop()

        body: list[Callable[[], None]] = [lambda: self.statement(loop.body, inside), run_step]
        order = [*body, run_test] if loop.kind is LoopKind.DO else [run_test, *body]
        init: list[Callable[[], None]] = [
            lambda stmt=stmt: self.statement(stmt, context) for stmt in loop.init
        ]
        self.then(
            *init,
            lambda: self.frames.append(frame),
            self.mark(Mark.LOOP),
            *order,
            self.mark(Mark.LOOP_END),
            close,
        )

    def jump(self, stmt: Return | Break | Continue, value: Expr | None, context: _Context) -> None:
        draft = self.draft(StatementKind.JUMP, stmt.span, stmt.region, context)
        if isinstance(stmt, Return):
            call = next(frame for frame in reversed(self.frames) if frame.is_call)
            if call.result is not None and value is not None:
                draft.definitions.append(Definition(call.result, kills=False))

        def leave() -> None:
            for frame in reversed(self.frames):
                frame.guard = draft.index
                if not isinstance(stmt, Return) or frame.is_call:
                    break
            self.events.append(Mark.JUMP)

        if value is None:
            self.then(self.emit(draft), leave)
        else:
            returned = value
            self.then(lambda: self.expression(returned, stmt.region, draft, context), self.emit(draft), leave)

    # ------------------------------------------------------------------ expressions

    def root(self, expr: Expr, region: int, context: _Context) -> None:
        """An expression run for its effect; what is left when assignments and accesses are split off."""
        rest = self.draft(StatementKind.COMPUTE, expr.span, region, context)
        rest.is_binding = True
        self.then(lambda: self.expression(expr, region, rest, context), self.emit(rest))

    def expression(self, expr: Expr, region: int, owner: _Draft, context: _Context) -> None:
        """Read `expr` into `owner`, splitting off accesses, assignments and inlined calls."""
        match expr:
            case Read(place=place):
                owner.uses.append(place.variable)
            case Load(place=place):
                target = self.access(place, expr, region, owner, context)
                target.uses.append(self.aliases.key(place))
                target.operations.extend(_operations(expr, region))
                self.finish(target, owner, lambda: self.expression(place.address, region, target, context))
            case TextureFetch():
                draft = self.split(StatementKind.ACCESS, expr, region, owner, context)
                draft.space, draft.variable = MemorySpace.TEXTURE, expr.texture
                draft.access_bytes = expr.type.size_bytes
                draft.operations.extend(_operations(expr, region))
                self.finish(draft, owner, *self.parts(expr, region, draft, context))
            case Atomic(place=place, arguments=arguments):
                draft = self.split(StatementKind.ACCESS, expr, region, owner, context)
                self.place(draft, place)
                key = self.aliases.key(place)
                draft.uses.append(key)
                draft.definitions.append(Definition(key, kills=False))
                draft.operations.extend(_operations(expr, region))
                values = self.split(StatementKind.COMPUTE, expr, region, draft, context)
                values.is_binding = True
                self.finish(
                    draft,
                    owner,
                    *(lambda a=a: self.expression(a, region, values, context) for a in arguments),
                    self.emit(values),
                    lambda: self.expression(place.address, region, draft, context),
                )
            case Assign() | Increment():
                self.update(expr, region, owner, context)
            case InlinedCall():
                self.call(expr, region, owner, context)
            case Intrinsic():
                self.intrinsic(expr, region, owner, context)
            case _:
                owner.operations.extend(_operations(expr, region))
                if isinstance(expr, AddressOf):
                    owner.uses.append(expr.variable)
                self.then(*self.parts(expr, region, owner, context))

    def parts(
        self, expr: Expr, region: int, owner: _Draft, context: _Context
    ) -> tuple[Callable[[], None], ...]:
        return tuple(
            lambda child=child, inner=inner: self.expression(child, inner, owner, context)
            for child, inner in child_regions(expr, region)
        )

    def update(self, expr: Assign | Increment, region: int, owner: _Draft, context: _Context) -> None:
        """`target op= value`: [load,] arithmetic, store; one statement when the target is a register."""
        value = expr.value if isinstance(expr, Assign) else None
        reads_target = isinstance(expr, Increment) or expr.op is not None
        if isinstance(expr.target, RegisterPlace):
            draft = self.split(StatementKind.COMPUTE, expr, region, owner, context)
            variable = expr.target.variable
            if reads_target:
                draft.uses.append(variable)
            draft.definitions.append(Definition(variable, kills=not expr.target.path))
            draft.operations.extend(_operations(expr, region))
            actions = () if value is None else (lambda: self.expression(value, region, draft, context),)
            self.finish(draft, owner, *actions)
            return
        place = expr.target
        key = self.aliases.key(place)
        all_operations = _operations(expr, region)
        store = self.split(StatementKind.ACCESS, expr, region, owner, context)
        store.definitions.append(Definition(key, kills=False))
        store.operations.extend(o for o in all_operations if o.operation in _STORES)
        self.place(store, place)
        compute = self.split(StatementKind.COMPUTE, expr, region, store, context)
        compute.is_binding = True
        compute.operations.extend(o for o in all_operations if o.operation not in _STORES | _LOADS)
        addressed = store
        actions: tuple[Callable[[], None], ...] = ()
        if value is not None:
            actions = (lambda: self.expression(value, region, compute, context),)
        if reads_target:
            load = self.split(StatementKind.ACCESS, expr, region, compute, context)
            load.uses.append(key)
            load.operations.extend(o for o in all_operations if o.operation in _LOADS)
            self.place(load, place)
            addressed = load  # the address is computed once, for the load
            store.sources.append(load.index)
            actions = (*actions, self.emit(load))
        self.finish(
            store,
            owner,
            lambda: self.expression(place.address, region, addressed, context),
            *actions,
            self.emit(compute),
        )

    def call(self, expr: InlinedCall, region: int, owner: _Draft, context: _Context) -> None:
        result = Variable(f"result of {expr.name}", expr.type, MemorySpace.REGISTER, _TEMPORARY, expr.span)
        frame = _Frame(is_call=True, result=result)
        actions: list[Callable[[], None]] = []
        for parameter, argument in zip(expr.parameters, expr.arguments, strict=True):
            draft = self.draft(StatementKind.COMPUTE, argument.span, region, context)
            draft.is_binding = True
            draft.definitions.append(Definition(parameter, kills=True))
            actions.append(lambda a=argument, d=draft: self.expression(a, region, d, context))
            actions.append(self.emit(draft))
        owner.uses.append(result)
        self.then(
            *actions,
            lambda: self.frames.append(frame),
            self.mark(Mark.CALL),
            lambda: self.statement(expr.body, context),
            self.mark(Mark.CALL_END),
            lambda: void(self.frames.pop()),
        )

    def intrinsic(self, expr: Intrinsic, region: int, owner: _Draft, context: _Context) -> None:
        """A call that is not followed; one that loads or stores (wmma, cp.async) is an access of its own."""
        spaces = tuple(SPACE_OF[c.operation] for c in expr.operations if c.operation in SPACE_OF)
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context) if spaces else owner
        if spaces:
            draft.space = spaces[0]
            pointers = tuple(base for argument in expr.arguments for base in pointer_bases(argument))
            draft.variable = pointers[0] if pointers else None
        elif any(count.operation is OperationClass.BARRIER for count in expr.operations):
            draft.kind = StatementKind.BARRIER
        draft.operations.extend(_operations(expr, region))
        for argument in expr.arguments:
            if isinstance(argument, AddressOf):  # sincosf(x, &s, &c): written through the pointer
                draft.definitions.append(Definition(argument.variable, kills=False))
        self.finish(draft, owner, *self.parts(expr, region, draft, context))

    # ------------------------------------------------------------------ drafts

    def draft(self, kind: StatementKind, span: Span, region: int, context: _Context) -> _Draft:
        guard = self.frames[-1].guard
        controls = tuple(index for index in (context.predicate, guard) if index is not None)
        draft = _Draft(len(self.drafts), kind, span, region, controls=controls, arms=context.arms)
        self.drafts.append(draft)
        return draft

    def predicate(self, stmt: Stmt, span: Span, region: int, context: _Context) -> _Draft:
        draft = self.draft(StatementKind.PREDICATE, span, region, context)
        if (control := decision(stmt)) is not None:
            draft.operations.append(control)
        return draft

    def split(self, kind: StatementKind, expr: Expr, region: int, owner: _Draft, context: _Context) -> _Draft:
        """A new logical statement whose value `owner` takes."""
        draft = self.draft(kind, expr.span, region, context)
        owner.sources.append(draft.index)
        return draft

    def access(self, place: MemoryPlace, expr: Expr, region: int, owner: _Draft, context: _Context) -> _Draft:
        """The statement that reads `place`: one of its own in the four spaces, else `owner` itself."""
        if place.space not in SLICED_SPACES:
            return owner
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context)
        self.place(draft, place)
        return draft

    def place(self, draft: _Draft, place: MemoryPlace) -> None:
        """Make `draft` an access to `place`; a plain statement when that is local memory or the host's."""
        if place.space in SLICED_SPACES:
            draft.space, draft.variable = place.space, place.root
            draft.access_bytes = place.type.size_bytes
        else:
            draft.kind = StatementKind.COMPUTE

    def finish(self, draft: _Draft, owner: _Draft, *actions: Callable[[], None]) -> None:
        """Run `actions`, then close `draft` (unless it is `owner`, which is closed elsewhere)."""
        self.then(*actions, *(() if draft is owner else (self.emit(draft),)))

    def emit(self, draft: _Draft) -> Callable[[], None]:
        return lambda: self.events.append(draft.index)


_TEMPORARY = VariableRole.TEMPORARY


def void(_: object) -> None:
    """Drop a value."""


def _operations(expr: Expr, region: int) -> tuple[Operation, ...]:
    return tuple(Operation(region, expr.span, cls, number) for cls, number in own_operations(expr))


def _leaves(block: Block) -> bool:
    """Does control never fall out of the end of `block`?"""
    last: Stmt | None = block
    while isinstance(last, Block):
        last = last.statements[-1] if last.statements else None
    return isinstance(last, Return | Break | Continue)


def _finished(draft: _Draft) -> LogicalStatement:
    copies_a_value = bool(draft.sources) and not draft.operations
    binds = draft.is_binding and not draft.operations
    is_plain_jump = draft.kind is StatementKind.JUMP and not draft.operations and bool(draft.definitions)
    is_compute = draft.kind is StatementKind.COMPUTE
    return LogicalStatement(
        draft.index,
        draft.kind,
        draft.space,
        draft.variable,
        draft.access_bytes,
        draft.span,
        draft.region,
        tuple(draft.operations),
        tuple(dict.fromkeys(draft.uses)),
        tuple(draft.definitions),
        tuple(draft.sources),
        draft.controls,
        draft.arms,
        is_effective=not (is_compute and (copies_a_value or binds)) and not is_plain_jump,
    )
