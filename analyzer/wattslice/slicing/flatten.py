"""Split a kernel into logical statements, in evaluation order, each with what it reads, writes and obeys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.operation_counts import SPACE_OF, Operation, decision, own_operations
from wattslice.ir.walking import child_regions, evaluations
from wattslice.slicing.statements import (
    SLICED_SPACES,
    Arm,
    ArmChain,
    Definition,
    Event,
    FlatKernel,
    Key,
    LogicalStatement,
    Mark,
    MemoryKey,
    StatementKind,
)


class Aliases:
    """Classes of root variables that may point into the same object, per kernel."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self._parent: dict[ir.Variable, ir.Variable] = {}
        self._rootless: set[ir.MemorySpace] = set()
        self._keys: dict[tuple[ir.MemorySpace, ir.Variable | None], MemoryKey] = {}
        for node, _ in evaluations(kernel):
            self._visit(node)

    def key(self, place: ir.MemoryPlace) -> MemoryKey:
        """The memory that an access to `place` may touch; one key for a space once a root is not evident."""
        root = None if place.root is None or place.space in self._rootless else self._find(place.root)
        name = (place.space, root)
        if (key := self._keys.get(name)) is None:
            key = self._keys[name] = MemoryKey(place.space)
        return key

    def _visit(self, node: ir.Stmt | ir.Expr) -> None:
        match node:
            case ir.Binary() | ir.PointerOffset():
                pass  # most of all, and no copies
            case ir.Declare(variable=variable, value=value) if value is not None:
                self._copy(variable, value)
            case ir.Load(place=place) | ir.Atomic(place=place):
                self._note(place)
            case ir.Assign(target=ir.RegisterPlace(variable=variable), value=value):
                self._copy(variable, value)
            case ir.Assign(target=ir.MemoryPlace() as place) | ir.Increment(target=ir.MemoryPlace() as place):
                self._note(place)
            case ir.InlinedCall(parameters=parameters, arguments=arguments):
                for parameter, argument in zip(parameters, arguments, strict=True):
                    self._copy(parameter, argument)
            case _:
                pass

    def _note(self, place: ir.MemoryPlace) -> None:
        if place.root is None:
            self._rootless.add(place.space)

    def _copy(self, target: ir.Variable, value: ir.Expr) -> None:
        if value.type.kind is not ir.TypeKind.POINTER:
            return
        for base in pointer_bases(value):
            self._parent[self._find(base)] = self._find(target)

    def _find(self, variable: ir.Variable) -> ir.Variable:
        while (parent := self._parent.get(variable, variable)) is not variable:
            grandparent = self._parent.get(parent, parent)
            self._parent[variable] = grandparent  # path halving
            variable = grandparent
        return variable


def pointer_bases(pointer: ir.Expr) -> tuple[ir.Variable, ...]:
    """The variables a pointer value may be derived from."""
    found: list[ir.Variable] = []
    stack = [pointer]
    while stack:
        match stack.pop():
            case ir.PointerOffset(pointer=inner):
                stack.append(inner)
            case ir.Cast(operand=inner):
                stack.append(inner)
            case ir.Select(then=then, otherwise=otherwise):
                stack.extend((then, otherwise))
            case ir.Read(place=place):
                found.append(place.variable)
            case ir.AddressOf(variable=variable):
                found.append(variable)
            case _:
                pass
    return tuple(found)


class Draft(Struct, eq=False):
    """A logical statement to be. `is_binding`: it only names what other statements compute."""

    index: int
    kind: StatementKind
    span: ir.Span
    region: int
    space: ir.MemorySpace | None = None
    variable: ir.Variable | None = None
    access_bytes: int = 0
    operations: list[Operation] = field(default_factory=list[Operation])
    uses: list[Key] = field(default_factory=list[Key])
    definitions: list[Definition] = field(default_factory=list[Definition])
    sources: list[int] = field(default_factory=list[int])
    controls: tuple[int, ...] = ()
    arms: ArmChain | None = None
    is_binding: bool = False


class Frame(Struct):
    """A loop, call or kernel that a jump may leave: the last jump seen and the result of a call."""

    is_call: bool
    result: ir.Variable | None
    guard: int | None = None


class Context(Struct, frozen=True):
    """What governs a statement: innermost predicate and chain of branch arms."""

    predicate: int | None
    arms: ArmChain | None


Visit = tuple[ir.Expr, int, Draft, Context]
"""An expression to read: it, its region, the statement that takes its value, what governs it."""
Action = Visit | Event | Callable[[], None]
"""Something to do: read an expression, note an event, or whatever the function does."""


def access_place(draft: Draft, place: ir.MemoryPlace) -> None:
    """Make `draft` an access to `place`; a plain statement when that is local memory or the host's."""
    if place.space in SLICED_SPACES:
        draft.space, draft.variable = place.space, place.root
        draft.access_bytes = place.type.size_bytes
    else:
        draft.kind = StatementKind.COMPUTE


def operations_of(expr: ir.Expr, region: int) -> list[Operation]:
    """What one evaluation of `expr` costs by itself."""
    costs = own_operations(expr)
    return [Operation(region, expr.span, cls, number) for cls, number in costs] if costs else []


def _finished(draft: Draft) -> LogicalStatement:
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


def flatten(kernel: ir.Kernel) -> FlatKernel:
    """The logical statements of `kernel` with the bodies of inlined calls in place."""
    flattener = _Flattener(kernel)
    flattener.statement(kernel.body, Context(None, None))
    return flattener.finished()


_LOADS = frozenset(
    {
        ir.OperationClass.GLOBAL_LOAD,
        ir.OperationClass.SHARED_LOAD,
        ir.OperationClass.CONSTANT_LOAD,
        ir.OperationClass.TEXTURE_LOAD,
    }
)
_STORES = frozenset({ir.OperationClass.GLOBAL_STORE, ir.OperationClass.SHARED_STORE})


class _Flattener:
    """The drafts of a kernel, what is still to be read, and the frames that jumps may leave."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.aliases = Aliases(kernel)
        self.drafts: list[Draft] = []
        self.events: list[Event] = []
        self.frames: list[Frame] = [Frame(is_call=True, result=None)]
        self.pending: list[Action] = []

    def finished(self) -> FlatKernel:
        """Do all that is pending; what came of it."""
        pending, events, visit = self.pending, self.events, self.visit
        while pending:
            action = pending.pop()
            if isinstance(action, int | Mark):
                events.append(action)
            elif callable(action):
                action()
            else:
                expr, region, owner, context = action
                visit(expr, region, owner, context)
        return FlatKernel(tuple([_finished(draft) for draft in self.drafts]), tuple(events))

    def then(self, *actions: Action) -> None:
        """Do `actions` next, in this order."""
        self.pending.extend(reversed(actions))

    def draft(self, kind: StatementKind, span: ir.Span, region: int, context: Context) -> Draft:
        """A new logical statement, the next in number."""
        predicate, guard = context.predicate, self.frames[-1].guard
        controls = () if predicate is None else (predicate,)
        if guard is not None:
            controls = (*controls, guard)
        draft = Draft(len(self.drafts), kind, span, region, controls=controls, arms=context.arms)
        self.drafts.append(draft)
        return draft

    def split(self, kind: StatementKind, expr: ir.Expr, region: int, owner: Draft, context: Context) -> Draft:
        """A new logical statement whose value `owner` takes."""
        draft = self.draft(kind, expr.span, region, context)
        owner.sources.append(draft.index)
        return draft

    def access(
        self, place: ir.MemoryPlace, expr: ir.Expr, region: int, owner: Draft, context: Context
    ) -> Draft:
        """The statement that reads `place`: one of its own in the four spaces, else `owner` itself."""
        if place.space not in SLICED_SPACES:
            return owner
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context)
        access_place(draft, place)
        return draft

    def finish(self, draft: Draft, owner: Draft, *actions: Action) -> None:
        """Do `actions`, then close `draft` (unless it is `owner`, which is closed elsewhere)."""
        if draft is not owner:
            self.pending.append(draft.index)
        self.pending.extend(reversed(actions))

    # ------------------------------------------------------------------ expressions

    def root(self, expr: ir.Expr, region: int, context: Context) -> None:
        """An expression run for its effect; what is left when assignments and accesses are split off."""
        rest = self.draft(StatementKind.COMPUTE, expr.span, region, context)
        rest.is_binding = True
        self.then((expr, region, rest, context), rest.index)

    def visit(self, expr: ir.Expr, region: int, owner: Draft, context: Context) -> None:
        """Read `expr` into `owner`, splitting off accesses, assignments and inlined calls."""
        reader = _READERS.get(type(expr))
        if reader is not None:
            reader(self, expr, region, owner, context)
            return
        owner.operations += operations_of(expr, region)
        if isinstance(expr, ir.Read):
            owner.uses.append(expr.place.variable)
        elif isinstance(expr, ir.AddressOf):
            owner.uses.append(expr.variable)
        elif isinstance(expr, ir.Logical | ir.Select):
            self.pending.extend(reversed(self.parts(expr, region, owner, context)))
        else:
            for child in reversed(ir.children(expr)):
                if isinstance(child, ir.Read):  # leaves at once: half of all expressions
                    owner.uses.append(child.place.variable)
                elif not isinstance(child, ir.Constant | ir.Builtin):
                    self.pending.append((child, region, owner, context))

    def parts(self, expr: ir.Expr, region: int, owner: Draft, context: Context) -> list[Visit]:
        """The sub-expressions of `expr`, to be read into `owner`."""
        return [(child, inner, owner, context) for child, inner in child_regions(expr, region)]

    def load(self, expr: ir.Load, region: int, owner: Draft, context: Context) -> None:
        """A read from memory: a statement of its own in the four spaces."""
        place = expr.place
        target = self.access(place, expr, region, owner, context)
        target.uses.append(self.aliases.key(place))
        target.operations += operations_of(expr, region)
        self.finish(target, owner, (place.address, region, target, context))

    def fetch(self, expr: ir.TextureFetch, region: int, owner: Draft, context: Context) -> None:
        """A texture fetch or surface write."""
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context)
        draft.space, draft.variable = ir.MemorySpace.TEXTURE, expr.texture
        draft.access_bytes = expr.type.size_bytes
        draft.operations += operations_of(expr, region)
        self.finish(draft, owner, *self.parts(expr, region, draft, context))

    def atomic(self, expr: ir.Atomic, region: int, owner: Draft, context: Context) -> None:
        """An atomic: its operands, then the access, which reads and writes."""
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context)
        access_place(draft, expr.place)
        key = self.aliases.key(expr.place)
        draft.uses.append(key)
        draft.definitions.append(Definition(key, kills=False))
        draft.operations += operations_of(expr, region)
        values = self.split(StatementKind.COMPUTE, expr, region, draft, context)
        values.is_binding = True
        self.finish(
            draft,
            owner,
            *((argument, region, values, context) for argument in expr.arguments),
            values.index,
            (expr.place.address, region, draft, context),
        )

    def update(self, expr: ir.Assign | ir.Increment, region: int, owner: Draft, context: Context) -> None:
        """`target op= value`: [load,] arithmetic, store; one statement when the target is a register."""
        value = expr.value if isinstance(expr, ir.Assign) else None
        reads_target = isinstance(expr, ir.Increment) or expr.op is not None
        if isinstance(expr.target, ir.RegisterPlace):
            draft = self.split(StatementKind.COMPUTE, expr, region, owner, context)
            variable = expr.target.variable
            if reads_target:
                draft.uses.append(variable)
            draft.definitions.append(Definition(variable, kills=not expr.target.path))
            draft.operations.extend(operations_of(expr, region))
            actions = () if value is None else ((value, region, draft, context),)
            self.finish(draft, owner, *actions)
            return
        place = expr.target
        key = self.aliases.key(place)
        all_operations = operations_of(expr, region)
        store = self.split(StatementKind.ACCESS, expr, region, owner, context)
        store.definitions.append(Definition(key, kills=False))
        store.operations.extend(o for o in all_operations if o.operation in _STORES)
        access_place(store, place)
        compute = self.split(StatementKind.COMPUTE, expr, region, store, context)
        compute.is_binding = True
        compute.operations.extend(o for o in all_operations if o.operation not in _STORES | _LOADS)
        addressed = store
        actions: tuple[Action, ...] = ()
        if value is not None:
            actions = ((value, region, compute, context),)
        if reads_target:
            load = self.split(StatementKind.ACCESS, expr, region, compute, context)
            load.uses.append(key)
            load.operations.extend(o for o in all_operations if o.operation in _LOADS)
            access_place(load, place)
            addressed = load  # the address is computed once, for the load
            store.sources.append(load.index)
            actions = (*actions, load.index)
        self.finish(store, owner, (place.address, region, addressed, context), *actions, compute.index)

    def call(self, expr: ir.InlinedCall, region: int, owner: Draft, context: Context) -> None:
        """An inlined call: its arguments bound to the parameters, its body, what it returns."""
        result = ir.Variable(
            f"result of {expr.name}", expr.type, ir.MemorySpace.REGISTER, ir.VariableRole.TEMPORARY, expr.span
        )
        frame = Frame(is_call=True, result=result)
        actions: list[Action] = []
        for parameter, argument in zip(expr.parameters, expr.arguments, strict=True):
            draft = self.draft(StatementKind.COMPUTE, argument.span, region, context)
            draft.is_binding = True
            draft.definitions.append(Definition(parameter, kills=True))
            actions.append((argument, region, draft, context))
            actions.append(draft.index)
        owner.uses.append(result)
        self.then(
            *actions,
            lambda: self.frames.append(frame),
            Mark.CALL,
            lambda: self.statement(expr.body, context),
            Mark.CALL_END,
            self.leave,
        )

    def intrinsic(self, expr: ir.Intrinsic, region: int, owner: Draft, context: Context) -> None:
        """A call that is not followed; one that loads or stores (wmma, cp.async) is an access of its own."""
        spaces = tuple(SPACE_OF[c.operation] for c in expr.operations if c.operation in SPACE_OF)
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context) if spaces else owner
        if spaces:
            draft.space = spaces[0]
            pointers = tuple(base for argument in expr.arguments for base in pointer_bases(argument))
            draft.variable = pointers[0] if pointers else None
        elif any(count.operation is ir.OperationClass.BARRIER for count in expr.operations):
            draft.kind = StatementKind.BARRIER
        draft.operations.extend(operations_of(expr, region))
        for argument in expr.arguments:
            if isinstance(argument, ir.AddressOf):  # sincosf(x, &s, &c): written through the pointer
                draft.definitions.append(Definition(argument.variable, kills=False))
        self.finish(draft, owner, *self.parts(expr, region, draft, context))

    # ------------------------------------------------------------------ statements

    def statement(self, stmt: ir.Stmt, context: Context) -> None:
        match stmt:
            case ir.Block(is_breakable=True):
                frame = Frame(is_call=False, result=None)
                # Behind it all meet again who left no more than it: it guards nothing further.
                self.then(
                    Mark.CALL,
                    lambda: self.frames.append(frame),
                    lambda: self.statement(replace(stmt, is_breakable=False), context),
                    Mark.CALL_END,
                    self.leave,
                )
            case ir.Block(statements=statements):
                actions: list[Action] = []
                for inner in statements:
                    actions.append(lambda inner=inner, here=context: self.statement(inner, here))
                    if (
                        isinstance(inner, ir.If)
                        and inner.otherwise is None
                        and ir.never_falls_through(inner.then)
                    ):
                        arm = Arm(inner.then.region, inner.region, negated=True)
                        context = replace(context, arms=ArmChain(arm, context.arms))
                self.then(*actions)
            case ir.ExprStmt(expr=expr):
                self.root(expr, stmt.region, context)
            case ir.Declare(variable=variable, value=value) if value is not None:
                draft = self.draft(StatementKind.COMPUTE, stmt.span, stmt.region, context)
                draft.definitions.append(Definition(variable, kills=True))
                self.then((value, stmt.region, draft, context), draft.index)
            case ir.Declare():
                pass
            case ir.If():
                self.branch(stmt, stmt.condition, context, tuple(b for b in (stmt.then, stmt.otherwise) if b))
            case ir.Switch():
                self.branch(stmt, stmt.selector, context, tuple(case.body for case in stmt.cases))
            case ir.Loop():
                self.loop(stmt, context)
            case ir.Return(value=value):
                self.jump(stmt, value, context)
            case ir.Break() | ir.Continue():
                self.jump(stmt, None, context)

    def branch(
        self, stmt: ir.If | ir.Switch, condition: ir.Expr, context: Context, arms: tuple[ir.Block, ...]
    ) -> None:
        predicate = self.predicate(stmt, condition.span, stmt.region, context)
        actions: list[Action] = [(condition, stmt.region, predicate, context), predicate.index, Mark.BRANCH]
        for arm in arms:
            inside = Context(predicate.index, ArmChain(Arm(arm.region, stmt.region), context.arms))
            actions.append(lambda arm=arm, inside=inside: self.statement(arm, inside))
            actions.append(Mark.NEXT_ARM)
        self.then(*actions, Mark.BRANCH_END)

    def loop(self, loop: ir.Loop, context: Context) -> None:
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
        order = [*body, run_test] if loop.kind is ir.LoopKind.DO else [run_test, *body]
        init: list[Action] = [lambda stmt=stmt: self.statement(stmt, context) for stmt in loop.init]
        self.then(*init, lambda: self.frames.append(frame), Mark.LOOP, *order, Mark.LOOP_END, close)

    def jump(self, stmt: ir.Return | ir.Break | ir.Continue, value: ir.Expr | None, context: Context) -> None:
        draft = self.draft(StatementKind.JUMP, stmt.span, stmt.region, context)
        if isinstance(stmt, ir.Return):
            call = next(frame for frame in reversed(self.frames) if frame.is_call)
            if call.result is not None and value is not None:
                draft.definitions.append(Definition(call.result, kills=False))

        def leave() -> None:
            levels = stmt.levels if isinstance(stmt, ir.Break) else 1
            for level, frame in enumerate(reversed(self.frames), 1):
                frame.guard = draft.index
                if (level == levels and not isinstance(stmt, ir.Return)) or frame.is_call:
                    break
            self.events.append(Mark.JUMP)

        if value is None:
            self.then(draft.index, leave)
        else:
            self.then((value, stmt.region, draft, context), draft.index, leave)

    def predicate(self, stmt: ir.Stmt, span: ir.Span, region: int, context: Context) -> Draft:
        draft = self.draft(StatementKind.PREDICATE, span, region, context)
        if (control := decision(stmt)) is not None:
            draft.operations.append(control)
        return draft

    def leave(self) -> None:
        self.frames.pop()


_READERS: dict[type[ir.Expr], Callable[[_Flattener, Any, int, Draft, Context], None]] = {
    ir.Load: _Flattener.load,
    ir.TextureFetch: _Flattener.fetch,
    ir.Atomic: _Flattener.atomic,
    ir.Assign: _Flattener.update,
    ir.Increment: _Flattener.update,
    ir.InlinedCall: _Flattener.call,
    ir.Intrinsic: _Flattener.intrinsic,
}
