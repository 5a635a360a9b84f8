"""Textures of a data set: an array with extents, and how coordinates are read."""

from __future__ import annotations

from wattslice.documents import Table, Value
from wattslice.ir import FLOAT32, Type, TypeKind
from wattslice.profiling.data_sets.arrays import Setting, array_bytes, scalar_dtype
from wattslice.profiling.interpreter import Addressing, Texture

_KEYS = ("texture", "element", "channels", "addressing", "linear", "normalised", "reads_normalised")
_ELEMENTS = {"float32": FLOAT32, "float16": Type(TypeKind.FLOAT, bits=16)} | {
    f"{'' if signed else 'u'}int{bits}": Type(TypeKind.INT, bits=bits, signed=signed)
    for bits in (8, 16, 32)
    for signed in (True, False)
}


def is_texture(value: Value) -> bool:
    """True for a table that describes a texture."""
    return value.is_table and "texture" in value.table()


def texture(value: Value, setting: Setting) -> Texture:
    """``{ texture = [width, height], element = "uint8", generator = … }``. Raises `DataError`."""
    table = value.table()
    extents = table.value("texture").list()
    if not 1 <= len(extents) <= 3:
        raise table.value("texture").error("expected one to three extents: width, height, depth")
    sizes = [extent.whole(1) for extent in extents]
    width, height, depth = (*sizes, *(1 for _ in range(3 - len(sizes))))
    channels = 1 if (given := table.optional("channels")) is None else given.whole(1, 4)
    element = _element(table)
    rest = {key: table.value(key).any for key in table if key not in _KEYS}
    if "file" not in rest:
        rest["size"] = width * height * depth * channels
    contents = array_bytes(value.inside("", rest), element, setting)
    texels = contents.view(scalar_dtype(value, element))
    if len(texels) != width * height * depth * channels:
        raise value.error(f"{len(texels)} numbers, not {width} × {height} × {depth} × {channels}")
    addressing = _addressing(table)
    return Texture(
        texels.reshape(depth, height, width, channels),
        (addressing, addressing, addressing),
        is_linear=_flag(table, "linear"),
        is_normalised=_flag(table, "normalised"),
        reads_normalised=_flag(table, "reads_normalised"),
    )


def _element(table: Table) -> Type:
    named = table.optional("element")
    if named is None:
        return FLOAT32
    found = _ELEMENTS.get(named.text())
    if found is None:
        raise named.error(f"unknown element {named.any!r}", f"one of {', '.join(_ELEMENTS)}")
    return found


def _addressing(table: Table) -> Addressing:
    named = table.optional("addressing")
    if named is None:
        return Addressing.CLAMP
    known = [str(entry.value) for entry in Addressing]
    if named.text() not in known:
        raise named.error(f"unknown addressing {named.any!r}", f"one of {', '.join(known)}")
    return Addressing(named.text())


def _flag(table: Table, key: str) -> bool:
    value = table.optional(key)
    if value is None:
        return False
    if not isinstance(value.any, bool):
        raise value.error(f"expected true or false, found {value.any!r}")
    return value.any
