"""A data spec to start from: every parameter of a kernel with a value of its type."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import mul

from wattslice.ir import (
    Assign,
    Atomic,
    Increment,
    InlinedCall,
    Kernel,
    Load,
    MemoryPlace,
    MemorySpace,
    Program,
    Read,
    TextureFetch,
    Type,
    TypeKind,
    Variable,
    expressions_below,
)
from wattslice.launches.launch import Dim3, KernelLaunch

MOST_THREADS = 1 << 14
"""Larger launches of the host code are made smaller: a profile wants every way taken, not every element."""
_BLOCKS = 4
_MOST_ELEMENTS = 1 << 22


def skeleton(program: Program, launches: tuple[tuple[KernelLaunch, bool], ...]) -> str:
    """One data set for each launch; the flag says whether the host code tells the launch for certain."""
    parts = [
        "# What the kernels run on when `wattslice profile` counts their branches. Sizes and generators are\n"
        "# only a start: give what the kernels meet in earnest, small, and several data sets of each.\n"
        "# Arrays, and numbers that are sizes, must cover what the launch touches: its threads times the\n"
        "# elements that each of them reads and writes.\n"
    ]
    several = len(program.kernels) > 1
    parts += ["\n".join(_data_set(program, *known, several)) + "\n" for known in launches]
    return "\n".join(parts)


def _data_set(program: Program, launch: KernelLaunch, is_certain: bool, several: bool) -> Iterator[str]:
    kernel = launch.kernel
    fits = is_certain and launch.blocks * launch.threads_per_block <= MOST_THREADS
    grid = launch.grid if fits else _small(launch.grid)
    lengths = [value for value in launch.arguments if isinstance(value, int) and value <= _MOST_ELEMENTS]
    size = max(math.prod(grid) * launch.threads_per_block, *(lengths if fits else ()), 1)
    yield "[[data]]"
    yield 'name = "first"'
    if several:
        yield f'kernel = "{kernel.qualified_name}"'
    yield "seed = 1"
    yield "[data.launch]"
    side = min(extent for extent in map(mul, grid, launch.block) if extent > 1 or size == 1)
    source = f"the host code has {list(launch.grid)}" if is_certain and not fits else ""
    yield _line("grid", str(list(grid)), source)
    yield _line("block", str(list(launch.block)), "" if is_certain else "assumed")
    if launch.dynamic_shared_bytes:
        yield _line("shared_bytes", str(launch.dynamic_shared_bytes), "")
    yield "[data.arguments]"
    read, written = _touched(kernel)
    textures = _textures(kernel)
    for parameter, known in zip(kernel.parameters, launch.arguments, strict=True):
        if parameter in textures:
            yield _line(_key(parameter.name), textures[parameter], "texture")
            continue
        only_written = parameter in written and parameter not in read
        yield _parameter(parameter, known if fits else None, known, size, side, only_written)
    used = [variable for variable in program.globals if _needs_contents(variable, read)]
    references = [variable for variable in program.globals if variable in textures]
    if used or references:
        yield "[data.globals]"
        for variable in references:
            yield _line(_key(variable.name), textures[variable], "texture")
        for variable in used:
            yield _line(_key(variable.name), _contents(variable.type, 1, False), _words(variable.type))


def _small(grid: Dim3) -> Dim3:
    """At most four blocks, of a grid of as many dimensions."""
    if grid[1] == grid[2] == 1:
        return (min(grid[0], _BLOCKS), 1, 1)
    x, y, z = (min(extent, 2) for extent in grid)
    return (x, y, z)


def _line(name: str, value: str, comment: str) -> str:
    return f"{name} = {value}{f'  # {comment}' if comment else ''}"


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() else f'"{name}"'


def _parameter(
    parameter: Variable,
    value: int | float | None,
    host: int | float | None,
    size: int,
    side: int,
    only_written: bool,
) -> str:
    """`size` for arrays; `side`, the least extent of the launch, for numbers: so width times height fits."""
    type_ = parameter.type
    comment = _words(type_) + (", written only" if only_written else "")
    if type_.kind is TypeKind.POINTER and type_.element is not None:
        return _line(_key(parameter.name), _array(type_.element, size, only_written), comment)
    # Of the host's numbers those are kept that fit the arrays even when they are sizes.
    if value is not None or (host is not None and abs(host) <= side):
        value = host if value is None else value
        return _line(_key(parameter.name), repr(value), f"{comment}, as in the host code")
    if host is not None:
        comment += f"; the host code passes {host!r}"
    return _line(_key(parameter.name), _contents(type_, side, only_written), comment)


def _array(element: Type, size: int, only_written: bool) -> str:
    if only_written or element.kind in (TypeKind.VOID, TypeKind.UNKNOWN, TypeKind.POINTER):
        return f"{{ size = {size} }}"
    if element.kind is TypeKind.RECORD and element.fields:
        return f"{{ size = {size}, members = {{ {_members(element, size)} }} }}"
    return f"{{ size = {size}, {_generator(element, size)} }}"


def _members(type_: Type, size: int) -> str:
    parts: list[str] = []
    for field in type_.fields:
        inner = field.type
        while inner.kind is TypeKind.ARRAY and inner.element is not None:
            inner = inner.element
        if inner.kind in (TypeKind.INT, TypeKind.BOOL, TypeKind.FLOAT):
            parts.append(f"{_key(field.name)} = {{ {_generator(inner, size)} }}")
    return ", ".join(parts)


def _generator(element: Type, size: int) -> str:
    if element.is_float:
        return 'generator = "uniform", low = 0.0, high = 1.0'
    if element.kind is TypeKind.BOOL:
        return 'generator = "one_of", values = [0, 1]'
    if element.bits == 8:
        return 'generator = "text", alphabet = "abcd"'
    return f'generator = "uniform", low = 0, high = {min(size, 1 << (element.bits - 1))}'


def _contents(type_: Type, size: int, only_written: bool) -> str:
    """The value of something that is no pointer."""
    if type_.kind is TypeKind.ARRAY:
        inner, count = type_, 1
        while inner.kind is TypeKind.ARRAY and inner.element is not None:
            inner, count = inner.element, count * (inner.length or 1)
        return _array(inner, count, only_written)
    if type_.lanes > 1:
        return str([1] * type_.lanes)
    if type_.kind is TypeKind.RECORD:
        parts = (f"{_key(field.name)} = {_member(field.type, size)}" for field in type_.fields)
        return f"{{ {', '.join(parts)} }}"
    return "1.0" if type_.is_float else "1" if type_.kind is TypeKind.BOOL else str(size)


def _member(type_: Type, size: int) -> str:
    if type_.kind is TypeKind.POINTER and type_.element is not None:
        return _array(type_.element, size, False)
    return _contents(type_, size, False)


def _words(type_: Type) -> str:
    if type_.kind is TypeKind.POINTER and type_.element is not None:
        return f"{_words(type_.element)}*"
    if type_.kind is TypeKind.ARRAY and type_.element is not None:
        return f"{_words(type_.element)}[{type_.length or ''}]"
    if type_.name:
        return type_.name
    sign = "u" if type_.kind is TypeKind.INT and not type_.signed else ""
    lanes = f" x {type_.lanes}" if type_.lanes > 1 else ""
    return f"{sign}{type_.kind.value}{type_.bits or ''}{lanes}"


def _touched(kernel: Kernel) -> tuple[set[Variable | None], set[Variable | None]]:
    """Variables whose memory is evidently read, and written; None among them for what is not evident."""
    read: set[Variable | None] = set()
    written: set[Variable | None] = set()
    for expr in expressions_below(kernel.body):
        match expr:
            case Load(place=place):
                read.add(place.root)
            case Assign(target=MemoryPlace() as place, op=op):
                written.add(place.root)
                if op is not None:
                    read.add(place.root)
            case Increment(target=MemoryPlace() as place) | Atomic(place=place):
                read.add(place.root)
                written.add(place.root)
            case _:
                pass
    return read, written


def _textures(kernel: Kernel) -> dict[Variable, str]:
    """A texture for each parameter or reference that is fetched from, also in functions it is passed to."""
    passed: dict[Variable, Variable] = {}
    fetched: dict[Variable, TextureFetch] = {}
    for expr in expressions_below(kernel.body):
        match expr:
            case InlinedCall(parameters=parameters, arguments=arguments):
                for parameter, argument in zip(parameters, arguments, strict=False):
                    if isinstance(argument, Read):
                        passed[parameter] = argument.place.variable
            case TextureFetch(texture=Variable() as variable):
                fetched.setdefault(variable, expr)
            case _:
                pass
    found: dict[Variable, str] = {}
    for variable, fetch in fetched.items():
        owner = variable
        while owner in passed and passed[owner] is not owner:
            owner = passed[owner]
        type_ = fetch.type
        whole = f"{'' if type_.signed else 'u'}int{type_.bits}"
        element = f"float{type_.bits}" if type_.is_float else whole if type_.is_integral else "float32"
        extents = [64] * min(3, max(1, len(fetch.coordinates)))
        channels = f", channels = {type_.lanes}" if type_.lanes > 1 else ""
        limit = ", low = 0, high = 256" if type_.is_integral else ""
        found[owner] = (
            f'{{ texture = {extents}, element = "{element}"{channels}, generator = "uniform"{limit} }}'
        )
    return found


def _needs_contents(variable: Variable, read: set[Variable | None]) -> bool:
    is_device = variable.space in (MemorySpace.CONSTANT, MemorySpace.GLOBAL)
    return is_device and variable in read and variable.initializer is None
