"""Split expressions into logical statements: accesses, assignments and calls out of the arithmetic around."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from wattslice.ir import (
    AddressOf,
    Assign,
    Atomic,
    Builtin,
    Constant,
    Expr,
    Increment,
    InlinedCall,
    Intrinsic,
    Load,
    Logical,
    MemorySpace,
    OperationClass,
    Read,
    RegisterPlace,
    Select,
    Stmt,
    TextureFetch,
    Variable,
    VariableRole,
    children,
)
from wattslice.ir.operation_counts import SPACE_OF
from wattslice.ir.walking import child_regions
from wattslice.slicing.aliases import pointer_bases
from wattslice.slicing.drafts import (
    Action,
    Context,
    Draft,
    Drafting,
    Frame,
    Visit,
    access_place,
    operations_of,
)
from wattslice.slicing.statements import Definition, Mark, StatementKind

_LOADS = frozenset(
    {
        OperationClass.GLOBAL_LOAD,
        OperationClass.SHARED_LOAD,
        OperationClass.CONSTANT_LOAD,
        OperationClass.TEXTURE_LOAD,
    }
)
_STORES = frozenset({OperationClass.GLOBAL_STORE, OperationClass.SHARED_STORE})


class FlattenExpressions(Drafting):
    """Reads expressions into drafts."""

    @abstractmethod
    def statement(self, stmt: Stmt, context: Context) -> None:
        """Read a statement: the subclass's business."""

    def root(self, expr: Expr, region: int, context: Context) -> None:
        """An expression run for its effect; what is left when assignments and accesses are split off."""
        rest = self.draft(StatementKind.COMPUTE, expr.span, region, context)
        rest.is_binding = True
        self.then((expr, region, rest, context), rest.index)

    def visit(self, expr: Expr, region: int, owner: Draft, context: Context) -> None:
        """Read `expr` into `owner`, splitting off accesses, assignments and inlined calls."""
        reader = _READERS.get(type(expr))
        if reader is not None:
            reader(self, expr, region, owner, context)
            return
        owner.operations += operations_of(expr, region)
        if isinstance(expr, Read):
            owner.uses.append(expr.place.variable)
        elif isinstance(expr, AddressOf):
            owner.uses.append(expr.variable)
        elif isinstance(expr, Logical | Select):
            self.pending.extend(reversed(self.parts(expr, region, owner, context)))
        else:
            for child in reversed(children(expr)):
                if isinstance(child, Read):  # leaves at once: half of all expressions
                    owner.uses.append(child.place.variable)
                elif not isinstance(child, Constant | Builtin):
                    self.pending.append((child, region, owner, context))

    def parts(self, expr: Expr, region: int, owner: Draft, context: Context) -> list[Visit]:
        """The sub-expressions of `expr`, to be read into `owner`."""
        return [(child, inner, owner, context) for child, inner in child_regions(expr, region)]

    def load(self, expr: Load, region: int, owner: Draft, context: Context) -> None:
        """A read from memory: a statement of its own in the four spaces."""
        place = expr.place
        target = self.access(place, expr, region, owner, context)
        target.uses.append(self.aliases.key(place))
        target.operations += operations_of(expr, region)
        self.finish(target, owner, (place.address, region, target, context))

    def fetch(self, expr: TextureFetch, region: int, owner: Draft, context: Context) -> None:
        """A texture fetch or surface write."""
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context)
        draft.space, draft.variable = MemorySpace.TEXTURE, expr.texture
        draft.access_bytes = expr.type.size_bytes
        draft.operations += operations_of(expr, region)
        self.finish(draft, owner, *self.parts(expr, region, draft, context))

    def atomic(self, expr: Atomic, region: int, owner: Draft, context: Context) -> None:
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

    def update(self, expr: Assign | Increment, region: int, owner: Draft, context: Context) -> None:
        """`target op= value`: [load,] arithmetic, store; one statement when the target is a register."""
        value = expr.value if isinstance(expr, Assign) else None
        reads_target = isinstance(expr, Increment) or expr.op is not None
        if isinstance(expr.target, RegisterPlace):
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
        self.finish(
            store,
            owner,
            (place.address, region, addressed, context),
            *actions,
            compute.index,
        )

    def call(self, expr: InlinedCall, region: int, owner: Draft, context: Context) -> None:
        """An inlined call: its arguments bound to the parameters, its body, what it returns."""
        result = Variable(
            f"result of {expr.name}", expr.type, MemorySpace.REGISTER, VariableRole.TEMPORARY, expr.span
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
            self.leave_frame,
        )

    def intrinsic(self, expr: Intrinsic, region: int, owner: Draft, context: Context) -> None:
        """A call that is not followed; one that loads or stores (wmma, cp.async) is an access of its own."""
        spaces = tuple(SPACE_OF[c.operation] for c in expr.operations if c.operation in SPACE_OF)
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context) if spaces else owner
        if spaces:
            draft.space = spaces[0]
            pointers = tuple(base for argument in expr.arguments for base in pointer_bases(argument))
            draft.variable = pointers[0] if pointers else None
        elif any(count.operation is OperationClass.BARRIER for count in expr.operations):
            draft.kind = StatementKind.BARRIER
        draft.operations.extend(operations_of(expr, region))
        for argument in expr.arguments:
            if isinstance(argument, AddressOf):  # sincosf(x, &s, &c): written through the pointer
                draft.definitions.append(Definition(argument.variable, kills=False))
        self.finish(draft, owner, *self.parts(expr, region, draft, context))

    def leave_frame(self) -> None:
        """The end of a call."""
        self.frames.pop()


_READERS: dict[type[Expr], Callable[[FlattenExpressions, Any, int, Draft, Context], None]] = {
    Load: FlattenExpressions.load,
    TextureFetch: FlattenExpressions.fetch,
    Atomic: FlattenExpressions.atomic,
    Assign: FlattenExpressions.update,
    Increment: FlattenExpressions.update,
    InlinedCall: FlattenExpressions.call,
    Intrinsic: FlattenExpressions.intrinsic,
}
