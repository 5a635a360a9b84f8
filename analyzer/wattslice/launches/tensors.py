"""Sizes of tensors in the host code of PyTorch extensions.

Whoever calls an extension gives the tensors, so that their sizes are named: `x.size0`, `x.size1`, ... Such a
name is a variable like any other: assumed where a launch depends on it, the same in all launches, and settled
by `--set x.size0=VALUE`. What is made of a tensor keeps its names; a tensor of given sizes has these.

Numbers beside the tensors whose names tell a role (`kernel_h`, `stride`) are small where they are assumed.

`x.numel()` is the product of the sizes, `x.size(-1)` the last of them, where the number of dimensions is
known: from an accessor, or from `TORCH_CHECK(x.dim() == 4)`. Checks state sizes and numbers as well: a tensor
whose sizes are those of another goes by its name. Else that number is `x.dim`, assumed to be as many as sizes
are asked for. A tensor of which no size is asked for has `x.numel`, and `x.size(-1)` is `x.size_1` without
`x.dim`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import prod

from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.launch import ASSUMED_SIZE, Assumption, KernelLaunch, MemberValue
from wattslice.launches.memory import Memory, Pointer, Record, Storage, Unknown, Value, member_of
from wattslice.patterns import regex

_DIMENSIONS = -1
"""Where a shape holds its number of dimensions; sizes are at 0, 1, ..."""
_LOST = -2
"""Where a shape holds why none of its sizes is known."""
_STRIDED = -3
"""Where a shape holds why its strides do not follow from its sizes."""
_MOST_DIMENSIONS = 16
_BY_CALLER = "given by whoever calls the extension"
_ACCESSOR = "GenericPackedTensorAccessor<"
_TYPES = frozenset({"at::Tensor", "torch::Tensor", "Tensor", "c10::Tensor"})
_ARRAYS = ("c10::ArrayRef<", "at::ArrayRef<", "ArrayRef<", "c10::IntArrayRef", "at::IntArrayRef")


def _is_tensor(type_: ir.Type) -> bool:
    is_own = bool(type_.fields)  # a class of the program
    is_record = type_.kind is ir.TypeKind.RECORD and not is_own
    return is_record and type_.name.removeprefix("const ").rstrip(" &") in _TYPES


def _is_array(type_: ir.Type) -> bool:
    return type_.kind is ir.TypeKind.RECORD and type_.name.removeprefix("const ").startswith(_ARRAYS)


def _shape_of(memory: Memory, value: Value) -> Storage | None:
    """What is known of the sizes of a tensor, or of a tensor's sizes; a shape by the name of its variable."""
    if isinstance(value, Record):
        held = value.cells.get(0)
        return held.storage if isinstance(held, Pointer) else None
    if not isinstance(value, Pointer):
        return None
    held = value.storage.cells.get(value.offset)
    if isinstance(held, Pointer):
        return held.storage
    shape = Storage(_name_of(value))
    memory.set_cell(value.storage, value.offset, Pointer(shape, 0))
    return shape


def name_tensors(memory: Memory, place: Pointer, type_: ir.Type) -> None:
    """Let the tensors that an entry point is given have its names, also where it hands on copies."""
    if _is_tensor(type_):
        _shape_of(memory, place)
    for member in type_.fields:
        name_tensors(memory, Pointer(place.storage, place.offset + member.offset_bytes), member.type)


_ROLES = (  # of the numbers beside tensors, by what their names have in them, and the likely value
    (regex(r"^k(ernel)?_?vol"), 27),
    (regex(r"kernel(?!s)|ksize|filter_size|^k_?[hwdt]$"), 3),
    (regex(r"strid|dilat|groups?$|^d_?[hwdt]$|^(up|down)_?[dhwtxyz]$|pad(?!ded)"), 1),
    (regex(r"scale_?factor|sampling_ratio"), 2),
    (regex(r"radius|patch|split|top_?k$"), 4),
    (regex(r"pooled_|pool_size"), 7),
    (regex(r"head|nsample|neighbo|batch_?size"), 16),
)


def given_scalar(function: ir.Function, parameter: ir.Variable) -> Unknown | None:
    """A number that an extension is given beside tensors and whose name tells its role, likely small."""
    if parameter.type.kind is not ir.TypeKind.INT or parameter.type.bits < ir.INT32.bits:
        return None
    if not any(_is_tensor(one.type.element or one.type) for one in function.parameters):
        return None
    likely = (value for role, value in _ROLES if role.search(parameter.name.lower()))
    value = next(likely, None)
    return None if value is None else Unknown(_BY_CALLER, parameter.name, likely=value)


def _name_of(tensor: Pointer) -> str:
    """The variable, or `variable.member`."""
    name, type_, offset = tensor.storage.name, tensor.storage.layout.type, tensor.offset
    while type_.fields and not _is_tensor(type_):
        member = max(
            (one for one in type_.fields if one.offset_bytes <= offset), key=lambda m: m.offset_bytes
        )
        name, type_, offset = f"{name}.{member.name}", member.type, offset - member.offset_bytes
    return name


def _made(shape: Storage) -> Record:
    return Record({0: Pointer(shape, 0)})


def _named(memory: Memory, shape: Storage, what: str, likely: int | None = None) -> Value:
    name = f"{shape.name}.{what}"
    if (lost := shape.cells.get(_LOST)) is not None:
        return lost
    known = memory.pin(name)
    return Unknown(_BY_CALLER, name, likely=likely) if known is None else int(known)


def _count(memory: Memory, shape: Storage) -> Value:
    """The number of dimensions; where nothing states it, likely as many as sizes are asked of, but two."""
    if (known := shape.cells.get(_DIMENSIONS)) is not None:
        return known
    stated = memory.sizes_asked.ranks.get(shape.name, set[int]())
    if len(stated) == 1 and _LOST not in shape.cells:
        return next(iter(stated))
    asked = {*memory.sizes_asked.sizes.get(shape.name, ()), *(rank - 1 for rank in stated)}
    first, last = max(asked, default=-1) + 1, max(0, -min(asked, default=0))
    return _named(memory, shape, "dim", max(2, first + last) if asked else None)


def _size(memory: Memory, shape: Storage, dimension: int) -> Value:
    count = _count(memory, shape)
    if dimension < 0 and isinstance(count, int):
        dimension += count
    if dimension in shape.cells and dimension >= 0:
        return shape.cells[dimension]
    if dimension >= 0 and isinstance(count, int):
        from_end = f"size_{count - dimension}"
        if memory.pin(f"{shape.name}.size{dimension}") is None and memory.pin(f"{shape.name}.{from_end}"):
            return _named(memory, shape, from_end)
    return _named(memory, shape, f"size{dimension}" if dimension >= 0 else f"size_{-dimension}")


def _product(memory: Memory, shape: Storage, after: int = 0) -> Value:
    """The number of elements; of a row of the dimensions from `after`."""
    count = _count(memory, shape)
    if not after and _DIMENSIONS not in shape.cells:
        total = _named(memory, shape, "numel")
        if isinstance(total, int):
            return total
        if isinstance(count, Unknown) and count.likely is None:
            memory.sizes_asked.totals.add(shape.name)
            return total
    if not isinstance(count, int):
        return count
    product = 1
    for dimension in range(after, count):
        size = _size(memory, shape, dimension)
        if not isinstance(size, int):
            return size
        product *= size
    return product


def _given(value: Value) -> tuple[Value, ...] | None:
    """The sizes in `{n, m}`; None where they are not written like that."""
    if not isinstance(value, Record) or isinstance(value.cells.get(0), Pointer):
        return None
    keys = sorted(key for key in value.cells if key >= 0)
    return tuple(value.cells[key] for key in keys) if 0 < len(keys) <= _MOST_DIMENSIONS else None


def _of_sizes(name: str, sizes: tuple[Value, ...]) -> Storage:
    return Storage(name, {_DIMENSIONS: len(sizes), **dict(enumerate(sizes))})


_Arguments = tuple[Value, ...]


def _like(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """empty_like(x), x.contiguous(), x.sizes(): the sizes of x."""
    shape = _shape_of(memory, arguments[0])
    if shape is not None and _STRIDED in shape.cells and node.name == "contiguous":
        shape = Storage(shape.name, {at: cell for at, cell in shape.cells.items() if at != _STRIDED})
    return None if shape is None else _made(shape)


def _with_strides_of(made: Storage, node: ir.Call) -> Record:
    """A view of the same data, whose elements lie otherwise than its sizes say."""
    made.cells[_STRIDED] = Unknown(f"of what {node.name}() made")
    return _made(made)


def _stride(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """x.stride(i) of a contiguous tensor: the elements of a row of the dimensions behind it."""
    shape, at = _shape_of(memory, arguments[0]), arguments[1] if len(arguments) > 1 else None
    if shape is None or not isinstance(at, int):
        return None
    if (strided := shape.cells.get(_STRIDED)) is not None or at == -1:
        return 1 if strided is None else strided
    if _DIMENSIONS not in shape.cells:
        memory.sizes_asked.sizes.setdefault(shape.name, set()).add(at)
    count = _count(memory, shape)
    at = at + count if at < 0 and isinstance(count, int) else at
    return _product(memory, shape, at + 1) if at >= 0 else count


def _created(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """empty({n, m}), zeros(x.sizes())."""
    sizes = _given(arguments[0])
    if sizes is not None:
        return _made(_of_sizes(node.name, sizes))
    return _like(memory, node, arguments) if _is_array(node.arguments[0].type) else None


def _viewed(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """view and reshape; one size of -1 is what the others leave."""
    shape = _shape_of(memory, arguments[0])
    sizes = _given(arguments[1]) if len(arguments) == 2 else arguments[1:]
    if shape is None or not sizes:
        return None
    known = [size for size in sizes if isinstance(size, int) and size > 0]
    total = _product(memory, shape) if -1 in sizes else 0
    rest: Value = total if isinstance(total, Unknown) else Unknown("a size that the others leave")
    if isinstance(total, int) and len(known) == len(sizes) - 1:
        rest = total // prod(known) or Unknown("of more elements than the tensor has")
    return _made(_of_sizes(shape.name, tuple(rest if size == -1 else size for size in sizes)))


def _transposed(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    shape = _shape_of(memory, arguments[0])
    first, second = (0, 1) if node.name == "t" else arguments[1:3] if len(arguments) > 2 else (None, None)
    if shape is None or not isinstance(first, int) or not isinstance(second, int):
        return None
    count = _count(memory, shape)
    if isinstance(count, int):
        first, second = first % max(count, 1), second % max(count, 1)
    if min(first, second) < 0:
        return None
    cells = dict(shape.cells)
    cells[first], cells[second] = _size(memory, shape, second), _size(memory, shape, first)
    return _with_strides_of(Storage(shape.name, cells), node)


def _resized(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """x.resize_({n, m}), x.squeeze_(): x itself has other sizes from then on."""
    tensor = arguments[0]
    if not isinstance(tensor, Pointer):
        return None
    sizes = _given(arguments[1]) if node.name == "resize_" and len(arguments) == 2 else None
    lost = Storage(tensor.storage.name, {_LOST: Unknown(f"what {node.name}() made of it")})
    shape = lost if sizes is None else _of_sizes(tensor.storage.name, sizes)
    memory.set_cell(tensor.storage, tensor.offset, Pointer(shape, 0))
    return _made(shape)


def _permuted(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """x.permute({2, 0, 1}), which names every dimension."""
    shape = _shape_of(memory, arguments[0])
    order = _given(arguments[1]) if len(arguments) == 2 else arguments[1:]
    whole = [at for at in order or () if isinstance(at, int)]
    if shape is None or not order or len(whole) != len(order):
        return None
    whole = [at % len(whole) for at in whole]
    if sorted(whole) != list(range(len(whole))):
        return None
    return _with_strides_of(_of_sizes(shape.name, tuple(_size(memory, shape, at) for at in whole)), node)


def _narrowed(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """x.narrow(dimension, start, length), and x.select(dimension, index), x.squeeze(d), x.unsqueeze(d).

    Its number of elements has a name of its own.
    """
    shape = _shape_of(memory, arguments[0])
    at = arguments[1] if len(arguments) > 1 else None
    if shape is None or not isinstance(at, int) or at < 0:
        return None
    count = shape.cells.get(_DIMENSIONS)
    known = count if isinstance(count, int) else _MOST_DIMENSIONS
    sizes = [_size(memory, shape, dimension) for dimension in range(known)]
    if node.name == "narrow" and len(arguments) == 4 and at < known:
        sizes[at] = arguments[3]
    elif node.name == "unsqueeze" and at <= known:
        sizes.insert(at, 1)
    elif node.name in ("select", "squeeze") and at < known and (node.name == "select" or sizes[at] == 1):
        del sizes[at]
    else:
        return None
    found = _of_sizes(f"{shape.name}.{node.name}", tuple(sizes))
    if not isinstance(count, int):
        del found.cells[_DIMENSIONS]
    return _with_strides_of(found, node)


def _asked_size(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """x.size(i), x.sizes()[i]; of sizes themselves size() is the number of dimensions."""
    shape = _shape_of(memory, arguments[0])
    if shape is None:
        return None
    if len(arguments) < 2:
        return _dimensions(memory, node, arguments)
    if not isinstance(arguments[1], int):
        return None
    if _DIMENSIONS not in shape.cells:
        memory.sizes_asked.sizes.setdefault(shape.name, set()).add(arguments[1])
    return _size(memory, shape, arguments[1])


def _dimensions(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    del node
    shape = _shape_of(memory, arguments[0])
    if shape is None:
        return None
    count = _count(memory, shape)
    if isinstance(count, Unknown) and count.variable and count.likely is None:  # no size is asked for
        return replace(count, likely=2)
    return count


def _numel(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    del node
    shape = _shape_of(memory, arguments[0])
    return None if shape is None else _product(memory, shape)


def _data(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    shape = _shape_of(memory, arguments[0])
    if shape is None:
        return None
    total = _product(memory, shape)
    width = None if node.type.element is None else node.type.element.size_bytes
    size_bytes = total * width if isinstance(total, int) and width else None
    least = _least_bytes(memory, shape, node.type)
    return Pointer(Storage(shape.name, size_bytes=size_bytes, tensor_bytes=least), 0)


def _least_bytes(memory: Memory, shape: Storage, data: ir.Type) -> int:
    """Bytes behind a pointer to a tensor's data by those of its sizes that are known; 0: none is."""
    count = shape.cells.get(_DIMENSIONS)
    every = (_size(memory, shape, d) for d in range(count if isinstance(count, int) else _MOST_DIMENSIONS))
    sizes = [size for size in every if isinstance(size, int)]
    return prod(sizes) * data.element.size_bytes if sizes and data.element is not None else 0


def _accessor(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """A packed accessor: where the data are, and its sizes; the tensor is contiguous."""
    shape = _shape_of(memory, arguments[0])
    if shape is None:
        return None
    cells: dict[int, Value] = {}
    names = accessor_sizes(node.type)
    if names and _DIMENSIONS not in shape.cells:
        memory.sizes_asked.ranks.setdefault(shape.name, set()).add(len(names))
    for member in node.type.fields:
        offset = member_of(node.type, member.name)[0]
        if member.name.startswith("size_"):
            cells[offset] = _size(memory, shape, int(member.name.removeprefix("size_")))
        elif member.name == "data_":
            least = _least_bytes(memory, shape, member.type)
            cells[offset] = Pointer(Storage(shape.name, tensor_bytes=least), 0)
    return Record(cells)


def _true(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    del memory, node, arguments
    return 1


_Function = Callable[[Memory, ir.Call, _Arguments], Value | None]
_LIKE_WORDS = """
    empty_like zeros_like ones_like rand_like randn_like full_like contiguous clone detach to cuda cpu toType
    zero_ fill_ sizes relu sigmoid tanh exp sqrt
"""
_FUNCTIONS: dict[str, _Function] = {
    **dict.fromkeys(_LIKE_WORDS.split(), _like),
    **dict.fromkeys(("empty", "zeros", "ones", "rand", "randn", "full"), _created),
    **dict.fromkeys(("view", "reshape"), _viewed),
    **dict.fromkeys(("transpose", "t"), _transposed),
    **dict.fromkeys(("resize_", "set_", "squeeze_", "unsqueeze_", "t_", "transpose_"), _resized),
    **dict.fromkeys(("narrow", "select", "squeeze", "unsqueeze"), _narrowed),
    "permute": _permuted,
    **dict.fromkeys(("size", "operator[]"), _asked_size),
    **dict.fromkeys(("dim", "ndimension"), _dimensions),
    **dict.fromkeys(("data_ptr", "mutable_data_ptr", "const_data_ptr", "data"), _data),
    **dict.fromkeys(("packed_accessor32", "packed_accessor64", "packed_accessor", "accessor"), _accessor),
    **dict.fromkeys(("is_cuda", "is_contiguous", "defined"), _true),
    "numel": _numel,
    "stride": _stride,
}


def tensor_call(memory: Memory, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    """Value of a function of tensors or of their sizes; None where it is none."""
    if not arguments:
        return None
    first = node.arguments[0].type
    first = first.element or first
    if not (_is_tensor(first) or _is_array(first) or _is_tensor(node.type)):
        return None
    arguments = (_itself(memory, node.arguments[0], arguments[0]), *arguments[1:])
    name = node.name.removeprefix("torch::").removeprefix("at::")
    function = _FUNCTIONS.get(name)
    if function is _asked_size and name == "operator[]" and _is_tensor(first):
        function = None  # a row
    found = None if function is None else function(memory, node, arguments)
    return Unknown(f"the result of {name}()") if found is None else found


def is_check(node: ir.Call) -> bool:
    """Whether a call says that a condition holds: TORCH_CHECK and the like."""
    return node.name == "wattslice_check" and len(node.arguments) == 1


def note_check(
    memory: Memory, condition: ir.Expr, evaluate: Callable[[ir.Expr], Value], *, is_likely: bool = False
) -> None:
    """Keep what a condition that holds says of tensors: `x.dim() == 4 && x.sizes() == y.sizes()`, and of
    numbers: `k == 3`. Of `x.numel() == 0 || ...` the rest holds of a tensor that is given; of
    `k == 2 || k == 3` the first number `is_likely`.
    """
    condition = ir.strip_casts(condition)
    if isinstance(condition, ir.Logical):
        parts = (condition.left, condition.right)
        if condition.op is ir.LogicalOp.OR:
            given = tuple(part for part in parts if not _is_empty(part))
            is_likely, parts = is_likely or len(given) > 1, given[:1]
        for part in parts:
            note_check(memory, part, evaluate, is_likely=is_likely)
        return
    one, other = _equal_in(condition)
    for asked, value in ((one, other), (other, one)):
        if isinstance(asked, ir.Read) and value is not None:
            _note_number(memory, asked, evaluate(value), is_likely=is_likely)
        elif isinstance(asked, ir.Call) and value is not None and _is_of_tensor(asked) and not is_likely:
            _note_equal(memory, asked, evaluate(value), evaluate)


def _equal_in(condition: ir.Expr) -> tuple[ir.Expr | None, ir.Expr | None]:
    """The sides of `a == b`."""
    if isinstance(condition, ir.Binary) and condition.op is ir.BinaryOp.EQ:
        return ir.strip_casts(condition.left), ir.strip_casts(condition.right)
    if isinstance(condition, ir.Call) and condition.name in ("operator==", "equals"):
        return condition.arguments[0], condition.arguments[-1]
    return None, None


def _is_of_tensor(asked: ir.Call) -> bool:
    of = asked.arguments[0].type if asked.arguments else ir.VOID
    return _is_tensor(of.element or of)


def _is_empty(condition: ir.Expr) -> bool:
    """Whether a condition says that a tensor has no elements, as one that is not given: `x.numel() == 0`."""
    one, other = _equal_in(ir.strip_casts(condition))
    is_none = isinstance(other, ir.Constant) and other.value == 0
    return is_none and isinstance(one, ir.Call) and one.name == "numel" and _is_of_tensor(one)


def _note_number(memory: Memory, asked: ir.Read, value: Value, *, is_likely: bool) -> None:
    """Keep what a variable is, or likely is, unless that is known."""
    where = memory.address(asked.place.variable)
    known = memory.current((where.storage, where.offset))
    if isinstance(known, Unknown) and isinstance(value, int) and not asked.place.path:
        reason = _BY_CALLER if asked.place.variable.role is ir.VariableRole.PARAMETER else known.reason
        told = replace(known, reason=reason, likely=value) if is_likely else value
        memory.set_cell(where.storage, where.offset, told)


def _note_equal(memory: Memory, asked: ir.Call, value: Value, evaluate: Callable[[ir.Expr], Value]) -> None:
    """Keep that x.dim(), x.numel(), x.size(i) or x.sizes() is `value`, unless it is known."""
    tensor, *rest = (evaluate(argument) for argument in asked.arguments)
    tensor = _itself(memory, asked.arguments[0], tensor)
    shape = _shape_of(memory, tensor)
    if shape is None:
        return
    if asked.name == "sizes" and isinstance(tensor, Pointer) and not shape.cells:
        if (alike := _shape_of(memory, value)) is not None:
            memory.set_cell(tensor.storage, tensor.offset, Pointer(alike, 0))
    elif not (isinstance(value, int) or (isinstance(value, Unknown) and value.variable)):
        return
    elif _FUNCTIONS.get(asked.name) is _dimensions and isinstance(value, int):
        if _DIMENSIONS not in shape.cells:
            memory.set_cell(shape, _DIMENSIONS, value)
    elif asked.name == "size" and rest and isinstance(at := rest[0], int):
        known, count = _size(memory, shape, at), _count(memory, shape)
        at += count if at < 0 and isinstance(count, int) else 0
        is_other = isinstance(known, Unknown) and not (
            isinstance(value, Unknown) and value.variable == known.variable
        )
        if at >= 0 and is_other:
            memory.set_cell(shape, at, value)


def _itself(memory: Memory, argument: ir.Expr, value: Value) -> Value:
    """The tensor that a variable holds, which is known by the name of the variable."""
    while isinstance(argument, ir.Construct) and len(argument.arguments) == 1:
        argument = argument.arguments[0]
    if isinstance(argument, ir.Read) and not argument.place.path and _is_tensor(argument.type):
        value = Pointer(memory.storage(argument.place.variable), 0)
        _set_by_users(memory, value, argument.place.variable.name)
    elif isinstance(argument, ir.AddressOf) and _is_tensor(argument.variable.type):
        _set_by_users(memory, value, argument.variable.name)
    return value


def _set_by_users(memory: Memory, value: Value, name: str) -> None:
    """What users say of the sizes of a tensor by the name that a function has for its caller's."""
    shape = _shape_of(memory, value)
    if shape is None or shape.name == name:
        return
    for at in range(_MOST_DIMENSIONS):
        size = memory.set_by_users(f"{name}.size{at}")
        if size is not None and shape.cells.get(at) != size:
            memory.set_cell(shape, at, int(size))


def names_size(name: str) -> bool:
    """Whether `--set x.NAME` may be said of a tensor x."""
    plain = name.removeprefix("size").removeprefix("_")
    return name in ("numel", "dim") or (name.startswith("size") and plain.isdigit())


def is_given_size(value: Value) -> bool:
    """Whether a value is a size of a tensor that whoever calls the extension gives, or computed from one."""
    return isinstance(value, Unknown) and value.reason == _BY_CALLER and value.variable is not None


def may_be_less(name: str, reason: str) -> bool:
    """Whether less may be assumed of what goes by a name: a size of a tensor, not how many it has."""
    return reason == _BY_CALLER and not name.endswith(".dim")


def is_channels(name: str, names: Collection[str]) -> bool:
    """Whether a size is the second of four of a tensor: of images, which have few channels."""
    tensor, _, size = name.rpartition(".")
    return size == "size1" and {f"{tensor}.size2", f"{tensor}.size3"} <= set(names)


def accessor_sizes(type_: ir.Type) -> dict[str, str]:
    """The members of a packed accessor that hold sizes, each with what the size is called: `size1`."""
    if _ACCESSOR not in type_.name:
        return {}
    names = (member.name for member in type_.fields if member.name.startswith("size_"))
    return {name: name.replace("_", "") for name in names}


def with_accessor_sizes(launch: KernelLaunch, settings: Mapping[str, int | float]) -> KernelLaunch:
    """`launch`, with values for sizes of its packed accessors that the host code does not tell.

    `settings`: what users say of them, by name: `x.size1`. A tensor is contiguous, so sizes make strides.
    """
    known = {(member.parameter, member.path) for member in launch.contents.members}
    members: list[MemberValue] = []
    told: list[Assumption] = []
    for index, parameter in enumerate(launch.kernel.parameters):
        sizes = accessor_sizes(parameter.type)
        lacking = {name: size for name, size in sizes.items() if (index, (name,)) not in known}
        named = {name: f"{parameter.name}.{size}" for name, size in lacking.items()}
        members += (MemberValue(index, (m,), settings.get(name, ASSUMED_SIZE)) for m, name in named.items())
        if assumed := [name for name in named.values() if name not in settings]:
            sizes = f"{', '.join(assumed)} assumed {ASSUMED_SIZE}"
            message = f"sizes of tensor '{parameter.name}' unknown: {sizes}"
            told.append(Assumption("PW010", parameter.span.line, message, f"--set {assumed[-1]}=VALUE"))
    if not members:
        return launch
    contents = replace(launch.contents, members=(*launch.contents.members, *members))
    return replace(launch, contents=contents, assumptions=(*launch.assumptions, *told))
