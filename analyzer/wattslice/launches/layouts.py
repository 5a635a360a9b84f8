"""What lies where in an object of host code, and what the source calls it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from msgspec import Struct

from wattslice import ir

MOST_ELEMENTS = 64
MOST_MEMBERS = 64
"""Of an object, numbers that are told by name."""
_OURS = "ws_"
"""What names begin with in classes of libraries that are written down here, as in those of tuples."""
NUMBERS = (ir.TypeKind.INT, ir.TypeKind.FLOAT)
"""Kinds of the types that `--set` may give a value."""


class Overlap(Struct, frozen=True):
    """Where members of a union lie: the offsets of others that share bytes, and the widest member there."""

    others: frozenset[int]
    widest_bytes: int


class Member(Struct, frozen=True):
    """A number in an object: its name behind that of the object, as `.size.x`, and its type."""

    name: str
    type: ir.Type


class Layout(Struct, frozen=True):
    """Of the objects of a `type`, by offset: scalars that share bytes with others, as members of unions, and
    numbers that have a name, and bytes, of their own, the first `MOST_MEMBERS`. `scalars`: where all lie.
    """

    type: ir.Type
    overlaps: Mapping[int, Overlap]
    members: Mapping[int, Member]
    scalars: tuple[int, ...]


NO_LAYOUT = Layout(ir.UNKNOWN_TYPE, {}, {}, ())


def layout_of(type_: ir.Type) -> Layout:
    """What lies where in an object of this type."""
    overlaps = _overlaps_in(type_)
    members = (one for one in _members_of(type_, "", 0) if one[0] not in overlaps)
    scalars = tuple([at for at, _ in scalars_of(type_, 0)])
    return Layout(type_, overlaps, dict(islice(members, MOST_MEMBERS)), scalars)


def is_named(variable: ir.Variable) -> bool:
    """Whether the source has a variable, and what is in it, by this name: it is no temporary, nor one of a
    class of a library, as these are written down here.
    """
    is_ours = variable.role is ir.VariableRole.TEMPORARY or variable.name.startswith(_OURS)
    return not is_ours and variable.name != "this"


def object_name(pointer: ir.Variable) -> str:
    """What the object that a parameter points to goes by: its name, or of `this` the class."""
    if pointer.name != "this" or pointer.type.element is None:
        return pointer.name
    return pointer.type.element.name.split("<")[0].split("::")[-1]


def scalars_of(type_: ir.Type, start: int) -> Iterator[tuple[int, ir.Type]]:
    """The scalars of an object at `start` with their places; of an array the first `MOST_ELEMENTS`."""
    if type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        for at in range(min(type_.length or 0, MOST_ELEMENTS)):
            yield from scalars_of(type_.element, start + at * type_.element.size_bytes)
    elif type_.kind is ir.TypeKind.RECORD:
        for member in type_.fields:
            if member.bits is None:
                yield from scalars_of(member.type, start + member.offset_bytes)
    elif type_.lanes == 1 and type_.size_bytes:
        yield start, type_


def _overlaps_in(type_: ir.Type) -> dict[int, Overlap]:
    """The scalars of an object, by their offsets, that share bytes with other scalars: members of unions."""
    leaves = sorted({(start, leaf.size_bytes, leaf.is_float) for start, leaf in scalars_of(type_, 0)})
    found: dict[int, set[int]] = {}
    for at, (start, size, _) in enumerate(leaves):
        for other, _, _ in leaves[at + 1 :]:
            if other >= start + size:
                break
            found.setdefault(start, set()).add(other)
            found.setdefault(other, set()).add(start)
    widest = {start: size for start, size, _ in leaves}  # the last of each offset is the widest
    return {start: Overlap(frozenset(others - {start}), widest[start]) for start, others in found.items()}


def _members_of(type_: ir.Type, around: str, start: int) -> Iterator[tuple[int, Member]]:
    if type_.kind in NUMBERS and type_.lanes > 1:
        for lane, name in enumerate("xyzw"[: type_.lanes]):
            yield start + lane * type_.lane.size_bytes, Member(f"{around}.{name}", type_.lane)
    for field in type_.fields:
        name, offset = f"{around}.{field.name}", start + field.offset_bytes
        if not field.name or field.name.startswith(_OURS) or field.bits is not None:
            continue
        if field.type.kind is ir.TypeKind.RECORD or field.type.lanes > 1:
            yield from _members_of(field.type, name, offset)
        elif field.type.kind in NUMBERS:
            yield offset, Member(name, field.type)
