"""Which objects of a kernel hold what the assignments to their names say, and which may hold anything.

A register whose address is used for more than to load from, or that is written as another type or as another
member of its union, may change in ways that no assignment to its name tells: nothing is known of its value.
An object in memory, on the other hand, can be followed like a register when every access names it and all
accesses are of the types that it holds: cells, of which the offset tells one from the other. A pointer that
has one value, an address in the object, and only accesses it, is as good as the name: `int& x = a[i]`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from functools import lru_cache

from msgspec import Struct

from wattslice.ir.accesses import register_assignments
from wattslice.ir.tree import (
    AddressOf,
    Assign,
    Atomic,
    Binary,
    Block,
    Cast,
    Construct,
    Declare,
    Expr,
    ExprStmt,
    Extract,
    Field,
    Increment,
    InlinedCall,
    Kernel,
    Load,
    MemoryPlace,
    MemorySpace,
    PointerOffset,
    Read,
    RegisterPlace,
    Return,
    Select,
    Stmt,
    Type,
    TypeKind,
    Variable,
    VariableRole,
)
from wattslice.ir.walking import children, expressions_below, walk_statements

MOST_CELLS = 256
"""Cells of an object that is followed at most."""

FOLLOWED = (MemorySpace.LOCAL, MemorySpace.SHARED, MemorySpace.CONSTANT)
"""Where objects lie whose contents may be known."""

KEPT = (TypeKind.INT, TypeKind.BOOL, TypeKind.POINTER)
"""What is followed of what such an object holds."""


class Objects(Struct, frozen=True):
    """What is known of a kernel's objects for being reached in no other way than by their names.

    `otherwise`: places that read a register as another type than its own. `hidden`: registers that may be
    written by an address or as another type. `unwritten`: objects in memory that nothing in the kernel
    writes behind their declaration. `cells`: objects in memory of which every access names them, as a type
    of theirs; their contents can be followed. `unread`: shared objects that are written only.
    """

    otherwise: frozenset[RegisterPlace]
    hidden: frozenset[Variable]
    unwritten: frozenset[Variable]
    cells: frozenset[Variable]
    unread: frozenset[Variable]


@lru_cache(maxsize=4)
def objects(kernel: Kernel) -> Objects:
    """The objects of `kernel`; kept for the last few kernels, since every evaluation asks."""
    addressed, loaded, accessed, stored = (Counter[AddressOf]() for _ in range(4))  # how often
    types: dict[Variable, set[tuple[TypeKind, int, bool]]] = {}
    written: dict[Variable, set[tuple[str, ...]]] = {}
    read: dict[Variable, set[tuple[str, ...]]] = {}
    otherwise: set[RegisterPlace] = set()
    hidden: set[Variable] = set()
    handed_on: set[Variable] = set()  # `q = (p = &x)` reads what it writes
    whole = {stmt.expr for stmt in walk_statements(kernel.body) if isinstance(stmt, ExprStmt)}
    declared = {stmt.variable for stmt in walk_statements(kernel.body) if isinstance(stmt, Declare)}
    given: list[tuple[Variable, Expr]] = list(register_assignments(kernel.body))
    names = _other_names(kernel.body, given)

    def named(place: MemoryPlace) -> Iterator[AddressOf]:
        """The object whose name the address of an access begins with, if it does."""
        base = _base(place.address)
        if isinstance(base, Read) and (object_ := names.get(base.place.variable)) is not None:
            base = object_
            addressed[base] += 1
        if isinstance(base, AddressOf):
            accessed[base] += 1
            types.setdefault(base.variable, set()).add(seen_as(place.type))
            yield base

    for expr in expressions_below(kernel.body):
        match expr:
            case AddressOf():
                addressed[expr] += 1
            case Load(place=place):
                loaded.update(named(place))
            case Assign(target=MemoryPlace() as place) | Increment(target=MemoryPlace() as place):
                found = list(named(place))
                if isinstance(expr, Assign) and expr.op is None and not place.is_volatile:
                    stored.update(found)
            case Atomic(place=place):
                for base in named(place):
                    types[base.variable].add((TypeKind.VOID, 0, False))
            case Read(place=place):
                read.setdefault(place.variable, set()).add(place.path)
                if _is_seen_otherwise(place):
                    otherwise.add(place)
            case Assign(target=RegisterPlace() as place) | Increment(target=RegisterPlace() as place):
                written.setdefault(place.variable, set()).add(place.path)
                if expr not in whole:
                    handed_on.add(place.variable)
                if _is_seen_otherwise(place):
                    hidden.add(place.variable)
            case _:
                pass
    for pointer, value in given:  # an address in a pointer that nobody reads reaches nothing
        base, is_read = _base(value), pointer in read or pointer in handed_on
        if (
            isinstance(base, AddressOf)
            and (not is_read or pointer in names)
            and pointer.space is MemorySpace.REGISTER
        ):
            addressed[base] -= 1
    for base in _in_members_unread(kernel.body, read):
        addressed[base] -= 1
    elsewhere = {base.variable for base, times in addressed.items() if loaded[base] < times}
    hidden |= {variable for variable in elsewhere if variable.space is MemorySpace.REGISTER}
    hidden |= {v for v, paths in written.items() if _writes_another_member(v, paths, read.get(v, set()))}
    copies = Counter((variable.name, variable.span) for variable in types)  # of a function inlined twice
    shared = {base.variable for base in addressed if base.variable.space is MemorySpace.SHARED}
    read_ones = {base.variable for base, times in addressed.items() if stored[base] < times}
    strays = {base.variable for base, times in addressed.items() if accessed[base] < times}
    return Objects(
        otherwise=frozenset(otherwise),
        hidden=frozenset(hidden),
        unwritten=frozenset(base.variable for base in addressed if base.variable not in elsewhere),
        cells=frozenset(
            variable
            for variable, seen in types.items()
            if variable not in strays
            and _is_followed(variable, seen, declared)
            and (variable.space is MemorySpace.LOCAL or copies[variable.name, variable.span] == 1)
        ),
        unread=frozenset(v for v in shared - read_ones if not v.dynamic and copies[v.name, v.span] == 1),
    )


def _other_names(body: Stmt, given: list[tuple[Variable, Expr]]) -> dict[Variable, AddressOf]:
    """Pointers in registers that have one value, an address in an object, and are read for nothing but to
    access that, or to make another such pointer.
    """
    times, changed, uses = Counter(pointer for pointer, _ in given), set[Variable](), Counter[Variable]()
    for expr in expressions_below(body):
        match expr:
            case Read(place=place):
                uses[place.variable] += 1
            case Assign(target=RegisterPlace() as place) | Increment(target=RegisterPlace() as place):
                changed.add(place.variable)
            case AddressOf(variable=variable):
                changed.add(variable)
            case _:
                pass
        if isinstance(expr, Load | Atomic | Assign | Increment):
            where = expr.place if isinstance(expr, Load | Atomic) else expr.target
            base = _base(where.address) if isinstance(where, MemoryPlace) else where
            if isinstance(base, Read) and isinstance(where, MemoryPlace):
                uses[base.place.variable] -= 1
                if where.root is None:  # a loop that fills it is not known to
                    changed.add(base.place.variable)
    bases = {
        pointer: _base(value)
        for pointer, value in given
        if pointer.space is MemorySpace.REGISTER and pointer.type.kind is TypeKind.POINTER
        if times[pointer] == 1 and pointer not in changed
    }
    while True:
        made = Counter(base.place.variable for base in bases.values() if isinstance(base, Read))
        kept = {
            pointer: base
            for pointer, base in bases.items()
            if uses[pointer] == made[pointer]
            and (isinstance(base, AddressOf) or (isinstance(base, Read) and base.place.variable in bases))
        }
        if len(kept) == len(bases):
            break
        bases = kept
    found: dict[Variable, AddressOf] = {}
    for pointer, base in bases.items():
        while isinstance(base, Read):
            base = bases[base.place.variable]
        if isinstance(base, AddressOf):
            found[pointer] = base
    return found


def _in_members_unread(body: Stmt, read: Container[Variable]) -> Iterator[AddressOf]:
    """The addresses that only members of records in registers have, which nothing reads: those of references
    that are followed by the names of their objects.
    """
    given = [(name, base) for name, base, of in _addresses_in_members(body) if of is None or of in read]
    if not given:
        return iter(())
    members: set[str] = set()
    for expr in expressions_below(body):
        match expr:
            case Read(place=place):
                members.update(place.path[-1:])
                part = part_of(place.variable.type, place.path)
                is_whole = part is not None and place.type.name == part[1].name
                is_own = place.path == outside_unions(place.variable.type, place.path)
                if not is_own or (not is_whole if place.type.kind is TypeKind.RECORD else not place.path):
                    members |= _pointers_of(place.variable.type)
            case Increment(target=RegisterPlace() as place):
                members.update(place.path[-1:])
            case Extract():
                members.add(expr.field)
            case AddressOf(variable=variable):
                members |= _pointers_of(variable.type)
            case Construct() | Select() | InlinedCall() | Binary() | Assign(target=RegisterPlace()):
                pass  # what they hold is in registers still
            case _:
                members.update(*(_pointers_of(child.type) for child in children(expr)))
    return (base for name, base in given if name not in members)


def _addresses_in_members(body: Stmt) -> Iterator[tuple[str, AddressOf, Variable | None]]:
    """The members of records that are given addresses: of values in braces, and of variables."""
    for expr in expressions_below(body):
        if isinstance(expr, Construct) and expr.type.kind is TypeKind.RECORD:
            for name, value in zip(expr.field_names, expr.arguments, strict=False):
                if isinstance(base := _base(value), AddressOf):
                    yield name, base, None
    for stmt in walk_statements(body):
        match stmt:
            case ExprStmt(expr=Assign(target=RegisterPlace() as place, value=value)) if place.path:
                if isinstance(base := _base(value), AddressOf):
                    yield place.path[-1], base, place.variable
            case _:
                pass


def _pointers_of(type_: Type) -> set[str]:
    """The names of the pointers in a record."""
    if type_.kind not in (TypeKind.RECORD, TypeKind.ARRAY):
        return set()
    return {path[-1] for _, path, _ in pointers_in(type_) if path}


def _base(address: Expr) -> Expr:
    """What an address is computed from, also by a function that only returns it."""
    while True:
        match address:
            case PointerOffset(pointer=inner) | Cast(operand=inner):
                address = inner
            case InlinedCall(body=Block(statements=(Return(value=inner),))) if inner is not None:
                address = inner
            case _:
                return address


def _is_followed(variable: Variable, seen: set[tuple[TypeKind, int, bool]], declared: set[Variable]) -> bool:
    is_local = variable.space is MemorySpace.LOCAL and variable in declared
    is_shared = variable.space is MemorySpace.SHARED and variable.role is not VariableRole.PARAMETER
    if variable.dynamic or not (is_local or is_shared):
        return False
    own = {seen_as(type_) for type_ in scalars_of(variable).values()}
    return seen <= own and any(kind in KEPT for kind, _, _ in seen)


@lru_cache(maxsize=64)
def scalars_of(variable: Variable) -> dict[int, Type]:
    """The numbers and pointers in an object, by offset; none where there are too many, or in a union."""
    found: dict[int, Type] = {}
    waiting = [(0, variable.type)]
    while waiting:
        offset, type_ = waiting.pop()
        if type_.kind is TypeKind.ARRAY and type_.element is not None:
            size, length = type_.element.size_bytes, type_.length or 0
            if not size or length > MOST_CELLS:
                return {}
            waiting += ((offset + size * at, type_.element) for at in range(length))
        elif type_.kind is TypeKind.RECORD and type_.fields:
            if any(field.bits is not None or _shares_bytes(type_, field) for field in type_.fields):
                return {}
            waiting += ((offset + field.offset_bytes, field.type) for field in type_.fields)
        elif len(found) == MOST_CELLS or type_.kind in (TypeKind.RECORD, TypeKind.UNKNOWN):
            return {}
        else:
            found[offset] = type_
    return found


def pointers_in(
    type_: Type, offset: int = 0, path: tuple[str, ...] = ()
) -> Iterator[tuple[int, tuple[str, ...], Type]]:
    """The pointers in an object: bytes from its start, the members that lead there, and the type.

    Up to MOST_CELLS of each array.
    """
    if type_.kind is TypeKind.POINTER:
        yield offset, path, type_
    elif type_.kind is TypeKind.ARRAY and type_.element is not None:
        for at in range(min(type_.length or 0, MOST_CELLS)):
            yield from pointers_in(type_.element, offset + at * type_.element.size_bytes, path)
    elif type_.kind is TypeKind.RECORD:
        for member in type_.fields:
            yield from pointers_in(member.type, offset + member.offset_bytes, (*path, member.name))


def seen_as(type_: Type) -> tuple[TypeKind, int, bool]:
    """Equal for types that show the same bytes as the same value."""
    return type_.kind, type_.size_bytes if type_.lanes == 1 else 0, type_.signed


def part_of(type_: Type, path: tuple[str, ...]) -> tuple[int, Type] | None:
    """Where in an object of `type_` a member lies, in bytes, and of which type it is; None if not known."""
    offset = 0
    for name in path:
        found = next((member for member in type_.members if member.name == name), None)
        if found is None:
            return None
        offset, type_ = offset + found.offset_bytes, found.type
    return offset, type_


def outside_unions(type_: Type, path: tuple[str, ...]) -> tuple[str, ...]:
    """The path of a member as far as its bytes are no other member's: up to the first union."""
    for depth, name in enumerate(path):
        found = next((field for field in type_.fields if field.name == name), None)
        if found is None:
            break
        if found.bits is None and _shares_bytes(type_, found):
            return path[:depth]
        type_ = found.type
    return path


def _shares_bytes(record: Type, field: Field) -> bool:
    end = field.offset_bytes + field.type.size_bytes
    return any(
        other is not field
        and other.offset_bytes < end
        and field.offset_bytes < other.offset_bytes + other.type.size_bytes
        for other in record.fields
        if other.bits is None
    )


def _is_seen_otherwise(place: RegisterPlace) -> bool:
    """Whether a register is accessed as another type than its own, so that a value means another there."""
    part = part_of(place.variable.type, place.path)
    if part is None:
        return False
    own, seen = part[1], place.type
    if TypeKind.UNKNOWN in (own.kind, seen.kind) or "dependent" in (own.name, seen.name):
        return False
    return _representation(own) != _representation(seen)


def _representation(type_: Type) -> tuple[object, ...]:
    if type_.kind in (TypeKind.RECORD, TypeKind.POINTER, TypeKind.ARRAY):
        return type_.kind, type_.size_bytes
    kind = TypeKind.INT if type_.kind is TypeKind.BOOL else type_.kind
    return kind, type_.bits, type_.lanes, type_.bfloat


def _writes_another_member(
    variable: Variable, written: set[tuple[str, ...]], read: set[tuple[str, ...]]
) -> bool:
    """Whether a member is written that shares bytes with another that is read: those of unions do."""
    if variable.type.kind is not TypeKind.RECORD or not written or not read:
        return False
    spans: list[tuple[int, int, bool, tuple[str, ...]]] = []
    for is_written, paths in ((True, written), (False, read)):
        spans += (
            (part[0], part[0] + part[1].size_bytes, is_written, path)
            for path in paths
            if (part := part_of(variable.type, path)) is not None
        )
    open_: list[tuple[int, int, bool, tuple[str, ...]]] = []  # those that reach where the next begins
    for span in sorted(spans):
        at, _, is_written, path = span
        open_ = [one for one in open_ if one[1] > at]
        for _, _, other_is_written, other in open_:
            depth = min(len(path), len(other))
            if is_written != other_is_written and path[:depth] != other[:depth]:
                return True
        open_.append(span)
    return False


def contents_given(body: Stmt) -> Iterator[tuple[Variable, Expr]]:
    """What decides the contents of local and shared objects in `body`: the values stored, and where."""
    for expr in expressions_below(body):
        if not isinstance(expr, Assign | Increment) or not isinstance(expr.target, MemoryPlace):
            continue
        place = expr.target
        if place.root is not None and place.space in FOLLOWED:
            yield place.root, place.address
            if isinstance(expr, Assign):
                yield place.root, expr.value
