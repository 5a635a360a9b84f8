"""Where variables live: registers as arrays of lanes, everything with a layout or an address as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.profiling.interpreter.errors import UnsupportedError
from wattslice.profiling.interpreter.lanes import Mask
from wattslice.profiling.interpreter.layout import (
    Dtype,
    Value,
    alignment_of,
    dtype_of,
    is_block,
    leaf,
    member_of,
    size_of,
    stored_dtype,
    zero_rows,
)
from wattslice.profiling.interpreter.machine import UNINITIALISED, Allocation, Machine, SharedObject


class Register:
    """A number in a register: its value in every lane of the batch.

    `scope` is how many lanes were active when the variable was declared. An assignment in that many lanes is
    one in all lanes that know the variable, and need not keep what others hold.
    """

    __slots__ = ("initial", "scope", "value")

    def __init__(self, machine: Machine, type_: ir.Type) -> None:
        initial = UNINITIALISED if type_.kind is ir.TypeKind.POINTER else 0
        self.initial: Value = np.asarray(dtype_of(type_).type(initial))[()]
        self.value: Any = self.initial
        self.scope = -1
        machine.at_begin.append(self._begin)

    def _begin(self) -> None:
        self.value = self.initial
        self.scope = -1

    def assign(self, value: Value, mask: Mask) -> None:
        """Sets the lanes of `mask`."""
        if mask.count == self.scope or mask.full:
            self.value = value
        else:
            self.value = np.where(mask.lanes, value, self.value)


class Rows:
    """An object of bytes for each lane: a record, a vector, an array, or a number whose address is taken.

    `one`: a parameter that nobody changes, one object for all lanes.
    """

    def __init__(self, machine: Machine, variable: ir.Variable, has_address: bool, one: bool) -> None:
        self.machine = machine
        self.name = variable.name
        self.size = size_of(variable.type)
        self.alignment = alignment_of(variable.type)
        self.one = one
        self.is_pointer = variable.type.kind is ir.TypeKind.POINTER
        self._window = machine.window() if has_address else None
        self.allocation: Allocation
        self._views: dict[tuple[int, Dtype], Value] = {}
        machine.at_begin.append(self._begin)

    def _begin(self) -> None:
        batch = self.machine.batch
        count = 1 if self.one else batch.size
        if self._window is None:
            self.allocation = Allocation(self.name, 0, self.size, count)
        else:
            self.allocation = self.machine.allocate(self._window, self.name, self.size, count)
            if not self.one:
                self.allocation.origin = self.allocation.base + np.arange(count) * self.allocation.stride
        self._views = {}
        self.count = count
        if self.is_pointer:
            self.numbers(0, np.dtype(np.int64))[...] = UNINITIALISED

    @property
    def address(self) -> NDArray[Any]:
        """The device address of each lane's object."""
        return self.allocation.origin

    def numbers(self, offset: int, dtype: Dtype) -> Value:
        """A member of every object, as a view that writes go through."""
        found = self._views.get((offset, dtype))
        if found is None:
            allocation = self.allocation
            found = np.ndarray((self.count,), dtype, allocation.data, offset, (allocation.stride,))
            self._views[(offset, dtype)] = found
        return found

    def bytes_at(self, offset: int, size: int) -> Value:
        """`size` bytes of every object, as a view."""
        allocation = self.allocation
        return np.ndarray((self.count, size), np.uint8, allocation.data, offset, (allocation.stride, 1))

    def read(self, offset: int, type_: ir.Type) -> Value:
        """A copy of a part."""
        if is_block(type_):
            return self.bytes_at(offset, size_of(type_)).copy()
        view = self.numbers(offset, stored_dtype(type_))
        value = view[0] if self.one else view.copy()
        return value != 0 if type_.kind is ir.TypeKind.BOOL else value

    def assign_all(self, type_: ir.Type, value: Value) -> None:
        """Sets the whole object in every lane."""
        if is_block(type_):
            self.bytes_at(0, self.size)[...] = value
        else:
            self.numbers(0, stored_dtype(type_))[...] = value

    def assign(self, offset: int, type_: ir.Type, value: Value, mask: Mask) -> None:
        """Sets a part in the lanes of `mask`."""
        if is_block(type_):
            view = self.bytes_at(offset, size_of(type_))
            lanes = mask.lanes[:, None]
        else:
            view = self.numbers(offset, stored_dtype(type_))
            lanes = mask.lanes
        if mask.full:
            view[...] = value
        else:
            np.copyto(view, value, where=lanes, casting="unsafe")


class Results:
    """What a function with several results gave: a temporary that is read at once."""

    def __init__(self) -> None:
        self.values: tuple[Value, ...] = ()


Storage = Register | Rows | Results


class Variables:
    """The variables of a kernel, and what its tree says about how they must be kept."""

    def __init__(self, machine: Machine, kernel: ir.Kernel) -> None:
        self.machine = machine
        self._storages: dict[ir.Variable, Storage] = {}
        self._has_address: set[ir.Variable] = set()
        self._in_bytes: set[ir.Variable] = set()
        self._assigned: set[ir.Variable] = set()
        self._known: set[ir.Variable] = set(kernel.parameters)
        self.parameters = frozenset(kernel.parameters)
        self._shared: dict[tuple[str, ir.Span, ir.Type], SharedObject] = {}
        self._dynamic: SharedObject | None = None
        self._globals: dict[ir.Variable, Allocation] = {}
        self._survey(kernel.body)

    def _survey(self, body: ir.Block) -> None:
        for stmt in ir.walk_statements(body):
            if isinstance(stmt, ir.Declare):
                self._known.add(stmt.variable)
        for expr in ir.expressions_below(body):
            match expr:
                case ir.AddressOf(variable=variable):
                    self._has_address.add(variable)
                case ir.InlinedCall(parameters=parameters):
                    self._known.update(parameters)
                case ir.Read(place=ir.RegisterPlace() as place):
                    self._see(place)
                case (
                    ir.Assign(target=ir.RegisterPlace() as place)
                    | ir.Increment(target=ir.RegisterPlace() as place)
                ):
                    self._see(place)
                    self._assigned.add(place.variable)
                    self._known.add(place.variable)
                case _:
                    pass

    def _see(self, place: ir.RegisterPlace) -> None:
        if place.path or place.type.size_bytes != place.variable.type.size_bytes:
            self._in_bytes.add(place.variable)

    def storage(self, variable: ir.Variable) -> Storage:
        """Where the values of a register or local variable are; `UnsupportedError` when it has none."""
        found = self._storages.get(variable)
        if found is None:
            found = self._storages[variable] = self._make(variable)
        return found

    def _make(self, variable: ir.Variable) -> Storage:
        if variable not in self._known and variable.role is not ir.VariableRole.TEMPORARY:
            raise UnsupportedError(f"the value of '{variable.name}' is not known here")
        if variable.name.startswith("results of ") and variable.role is ir.VariableRole.TEMPORARY:
            return Results()
        has_address = variable in self._has_address
        if has_address or variable in self._in_bytes or is_block(variable.type):
            # An array parameter cannot be told from one that is written through its address.
            one = variable in self.parameters and variable not in self._assigned and not has_address
            return Rows(self.machine, variable, has_address, one)
        return Register(self.machine, variable.type)

    def shared_object(self, variable: ir.Variable) -> SharedObject:
        """A `__shared__` variable; all dynamic ones are the same memory, as are copies of one declaration."""
        if variable.dynamic:
            if self._dynamic is None:
                size = self.machine.launch.shared_bytes
                self._dynamic = SharedObject(self.machine, variable.name, size)
            return self._dynamic
        key = (variable.name, variable.span, variable.type)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = SharedObject(self.machine, variable.name, size_of(variable.type))
        return found

    def global_address(self, variable: ir.Variable) -> NDArray[Any]:
        """The address of a `__device__` or `__constant__` object."""
        found = self._globals.get(variable)
        if found is None:
            machine = self.machine
            given = next((data for known, data in machine.launch.globals if known is variable), None)
            data = constant_bytes(variable.initializer, variable.type) if given is None else given
            if given is not None and len(given) != size_of(variable.type):
                raise UnsupportedError(
                    f"'{variable.name}' has {size_of(variable.type)} bytes, not {len(given)}"
                )
            found = self._globals[variable] = machine.allocate(machine.window(), variable.name, len(data), 1)
            found.data[: len(data)] = data
        return found.origin

    def literal(self, text: ir.Text) -> Value:
        """The address of a string literal."""
        data = constant_bytes(text, text.type)
        found = self.machine.allocate(self.machine.window(), f'"{text.value}"', len(data), 1)
        found.data[: len(data)] = data
        return found.origin

    def write_back(self) -> None:
        """Gives the launch the contents of its global objects back."""
        for variable, data in self.machine.launch.globals:
            if variable in self._globals:
                data[...] = self._globals[variable].data[: len(data)]

    def bytes_per_thread(self) -> int:
        """Bytes of all objects that every lane has its own of."""
        rows = (s for s in self._storages.values() if isinstance(s, Rows) and not s.one)
        return sum(s.size for s in rows)

    def bytes_per_block(self) -> int:
        """Bytes of `__shared__` objects of a block."""
        return sum(s.size for s in self._shared.values()) + (self._dynamic.size if self._dynamic else 0)

    def largest(self) -> tuple[str, int]:
        """The object that takes the most bytes in a thread."""
        rows = [(s.name, s.size) for s in self._storages.values() if isinstance(s, Rows)]
        return max(rows, key=lambda pair: pair[1], default=("", 0))


def constant_bytes(value: ir.Expr | None, type_: ir.Type) -> NDArray[np.uint8]:
    """The bytes of an initialiser of a file-scope object; zero where there is none."""
    data = zero_rows(1, size_of(type_))
    if value is not None:
        for offset, part in _parts(value, type_, 0):
            dtype = stored_dtype(part.type)
            leaf(data, offset, dtype)  # checks that it lies inside
            np.ndarray((1,), dtype, data, offset)[0] = part.value
    return data[0]


def _parts(value: ir.Expr, type_: ir.Type, offset: int) -> Iterator[tuple[int, ir.Constant]]:
    match value:
        case ir.Constant(value=number):
            yield offset, ir.Constant(number, type_, value.span)
        case ir.Cast(operand=operand):
            yield from _parts(operand, type_, offset)
        case ir.Text(value=text) if type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
            if type_.element.size_bytes != 1:
                raise UnsupportedError("a literal of wide characters")
            characters = text.encode().decode("unicode_escape").encode("latin-1", "replace")
            codes = np.frombuffer(characters, stored_dtype(type_.element)).tolist()
            for at, code in enumerate(codes[: type_.length]):
                yield offset + at, ir.Constant(code, type_.element, value.span)
        case ir.Construct(arguments=arguments, field_names=names):
            for at, part in enumerate(arguments):
                if type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
                    yield from _parts(part, type_.element, offset + at * size_of(type_.element))
                else:
                    field = member_of(type_, names[at])
                    yield from _parts(part, field.type, offset + field.offset_bytes)
        case _:
            raise UnsupportedError("the initial value of this object is not known")
