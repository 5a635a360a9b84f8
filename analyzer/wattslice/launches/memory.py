"""Values and memory of the host interpreter, known or not, with an undo log for ways that are only tried."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum, auto

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.c_arithmetic import EXACT, converted, fold
from wattslice.launches.layouts import NO_LAYOUT, NUMBERS, Layout, Member, is_named, layout_of, object_name

MOST_ARGC = 16
"""Up to here the values that follow from argc are known for each argc."""


class Course(Enum):
    """How a number goes from one iteration of a long loop to the next: known to be so for all of them."""

    ANY = auto()
    ONE_WAY = auto()  # it never turns round: the same in the first and the last, it is the same in all
    STEADY = auto()  # by the same amount each time


class Unknown(Struct, frozen=True, eq=False):
    """A value that the source does not tell, and why; `variable`, when set with --set, would settle it.

    `is_option`: what the command line holds, as argc or text of argv; a program run without options has
    none of it, so that defaults stay. A number read from there is another matter. `likely`: the value of
    `variable` on the way through an undecided branch that is likelier taken; of a number that no variable has
    held yet its own, as half of the largest one that rand() gives. `around`: an address somewhere
    in one of these objects, which a write through it may change; or, `is_anywhere`, in others. `is_derived`:
    other values that it is computed from settle it, not the variable that holds it. `by_argc`: what it is
    where argc is 1, 2, ... up to `MOST_ARGC`, None where not even that tells it; empty: it tells nothing.
    `may_stay`: where it is lost to this, what was there before is likely. `is_of_file`: whether one is there.
    `course`: of what a long loop changes, in any of its iterations.
    """

    reason: str
    variable: str | None = None
    is_option: bool = False
    likely: int | float | None = None
    least: int | None = None  # no number below it is possible: argc is at least 1
    around: tuple[Pointer, ...] = ()
    is_derived: bool = False
    is_anywhere: bool = False
    names: tuple[str, ...] = ()  # of functions, one of which it is
    by_argc: tuple[int | float | None, ...] = ()
    may_stay: bool = False
    is_of_file: bool = False
    course: Course = Course.ANY

    def __eq__(self, other: object) -> bool:
        """Whether both are unknown for the same reason and in the same way, in whatever object."""
        return type(other) is Unknown and self._told() == other._told()

    def __hash__(self) -> int:
        return hash(self._told())

    def _told(self) -> tuple[object, ...]:
        return (self.reason, self.variable, self.is_option, self.likely, self.least, self.by_argc)

    def at(self, argc: int) -> int | float | None:
        """What it is where argc is this; None where that does not tell it."""
        return self.by_argc[argc - 1] if argc <= len(self.by_argc) else None


class Pin(Struct, frozen=True):
    """What a number is, whatever the host code assigns; if it `is_assumed`, only where that is not known."""

    value: int | float
    is_assumed: bool


class NotTaken(Struct, frozen=True):
    """A jump that is taken not to happen: which, what decides it, and why that is not known."""

    jump: str
    decides: str
    why: str = ""


class Storage(Struct, eq=False):
    """Memory of one variable or allocation: scalars by byte offset.

    `is_scalar` for a variable of arithmetic type. `size_bytes`: of an allocation; None when unknown.
    `tensor_bytes`: of a tensor, by those of its sizes that are known: at least so many.
    `pinned`: the scalars that are fixed, by offset. `layout`: of an object. `is_named`: the source has it by
    this name. `variable`: whose value is missed when it is not known. `is_given`:
    argv or a literal, which a function that gets it reads and does not change. `is_part`: a name for a part
    of another object. `class_name`: of an object of a class.
    `is_allocated`: no variable's, but memory that pointers alone reach. `is_static`: of all calls of one.
    `absent`: of a file that is not there, how it is told.
    """

    name: str
    cells: dict[int, Value] = field(default_factory=dict[int, "Value"])
    pinned: dict[int, Pin] = field(default_factory=dict[int, "Pin"])
    layout: Layout = NO_LAYOUT
    is_named: bool = False
    variable: ir.Variable | None = None
    is_scalar: bool = False
    size_bytes: int | None = None
    tensor_bytes: int = 0
    is_given: bool = False
    is_part: bool = False
    class_name: str = ""
    is_allocated: bool = False
    is_static: bool = False
    absent: str = ""
    has_vectors: bool = False
    widths: dict[int, int] = field(default_factory=dict[int, int])  # most bytes written, by offset
    writes: int = 0  # of all ways, those that were undone as well
    scalar_bytes: int = 0  # of a variable of arithmetic type, or of each number in an array

    @property
    def part_of(self) -> Pointer | None:
        """Of a name for a part of another object: where that is, which it is read from and written to."""
        where = self.cells.get(_PART) if self.is_part else None
        return where if isinstance(where, Pointer) else None

    @property
    def told(self) -> str:
        """How messages name it."""
        return f"'memory of {self.name}()'" if self.is_allocated else f"'{self.name}'"

    @property
    def is_local(self) -> bool:
        """Whether it is a number of one function, which nothing else may give a value unseen."""
        variable = self.variable
        return variable is not None and variable.role is not ir.VariableRole.FILE_SCOPE

    def torn_memory(self, offset: int, size_bytes: int) -> list[int]:
        """Where numbers begin, in memory that pointers alone reach, of which a number written there is a part
        or which it is written over; `offset` where it was written wider before.
        """
        widths = self.widths
        around = (at for at in range(offset - 7, offset + size_bytes) if at != offset and at in widths)
        torn = [at for at in around if at + widths[at] > offset]
        is_part = widths.get(offset, 0) > size_bytes
        widths[offset] = max(size_bytes, widths.get(offset, 0))
        return [offset, *torn] if is_part else torn

    def torn_by(self, offset: int, size_bytes: int) -> list[int]:
        """Where the numbers begin that a number of another width, written there, changes."""
        width, end = self.scalar_bytes, offset + size_bytes
        if width:
            first = offset - offset % width
            return [] if first == offset and size_bytes == width else list(range(first, end, width))
        whole = self.layout.members.get(offset)
        if not self.layout.members or (whole is not None and whole.type.size_bytes == size_bytes):
            return []
        known = self.layout.members.items()
        return [at for at, one in known if at < end and at + one.type.size_bytes > offset]

    def parts_of(self, offset: int, size_bytes: int) -> list[int]:
        """Where numbers begin behind the start of one of `size_bytes`: bytes of a file that was read."""
        cells = self.cells
        if len(cells) < 2 or offset < 0 or is_length(offset) or self.layout.overlaps:
            return []  # of a union, members lose each other
        behind = range(offset + 1, offset + size_bytes)
        return [at for at in behind if cells.get(at, _MISSING) is not _MISSING]

    @property
    def members(self) -> Mapping[int, Member]:
        """The numbers in it that the source has names for."""
        return self.layout.members if self.is_named else {}

    def name_at(self, offset: int) -> str | None:
        """What `--set` calls the number there: the variable, or `variable.member`; None where nobody can."""
        if self.is_scalar:
            return self.name
        member = self.members.get(offset)
        return None if member is None else f"{self.name}{member.name}"


class Pointer(Struct, frozen=True, eq=False):
    """The address of a byte in a storage; `length`: of an element, the cell with its vector's length.

    `member_bytes`: of a scalar or array that is a member, so much of it from here on, beyond which nobody may
    write by it; else 0.
    """

    storage: Storage
    offset: int
    length: int | None = None
    member_bytes: int = 0

    def __eq__(self, other: object) -> bool:
        """Whether both are the same address, of whatever element."""
        return type(other) is Pointer and self.storage == other.storage and self.offset == other.offset

    def __hash__(self) -> int:
        return hash((self.storage, self.offset))

    @property
    def array(self) -> tuple[Storage, int]:
        """Equal for pointers whose offsets tell how far apart they are: not to elements of two vectors, nor
        to members that have no place of their own.
        """
        return self.storage, self.offset // _PAGE if self.offset >= 0 else self.offset


class Record(Struct, frozen=True, eq=False):
    """A struct, array, vector or dim3 as a value: scalars by byte offset from its start."""

    cells: dict[int, Value]


class Closure(Struct, frozen=True, eq=False):
    """A lambda as a value: the function, and the variables around it by what they mean there.

    `kept`: those that are its own, copies of what they were when it was made.
    """

    function: str
    frame: Mapping[ir.Variable, Storage]
    kept: frozenset[ir.Variable]

    def copy(self) -> Closure:
        """Another one, with copies of its variables."""
        own = {variable: self.frame[variable] for variable in self.kept if variable in self.frame}
        copies = {variable: replace(known, cells=dict(known.cells)) for variable, known in own.items()}
        return replace(self, frame={**self.frame, **copies})


Value = int | float | str | Pointer | Record | Closure | Unknown

_AXES = {"x": 0, "y": 1, "z": 2, "w": 3}


def is_dim3(type_: ir.Type) -> bool:
    """True for `dim3`, with or without qualifiers in its spelling."""
    return type_.kind is ir.TypeKind.RECORD and type_.name.split("::")[-1].split(" ")[-1] == "dim3"


TEXT_STREAMS = ("std::stringstream", "std::istringstream", "std::ostringstream")
INPUT_STREAMS = ("std::ifstream", "std::basic_ifstream", "ifstream")
_TEXTS = ("std::basic_string", "std::string", "basic_string", "string")


def is_text_object(type_: ir.Type) -> bool:
    """True for `std::string` and `std::string_view`."""
    name = type_.name.split("<")[0].removeprefix("const ")
    return type_.kind is ir.TypeKind.RECORD and name.removesuffix("_view") in _TEXTS


def before_nul(text: str) -> str:
    """What C takes for the characters of a literal."""
    return text.partition("\0")[0]


def member_of(type_: ir.Type, name: str) -> tuple[int, ir.Type | None]:
    """Byte offset and type of a member; a made-up stable negative offset when the layout is unknown."""
    for member in type_.fields:
        if member.name == name and member.bits is not None:
            return ir.made_up_offset(name), replace(member.type, bits=member.bits)
        if member.name == name:
            return member.offset_bytes, member.type
    if name in _AXES and is_dim3(type_):
        return 4 * _AXES[name], None
    if name in _AXES and type_.lanes > 1:
        return type_.bits // 8 * _AXES[name], None
    return ir.made_up_offset(name), None


def offset_of(type_: ir.Type, path: tuple[str, ...]) -> int:
    """Byte offset of a member path inside an object of `type_`."""
    offset = 0
    current: ir.Type | None = type_
    for name in path:
        step, current = member_of(current or ir.Type(ir.TypeKind.UNKNOWN), name)
        offset += step
    return offset


_AGGREGATES = (ir.TypeKind.RECORD, ir.TypeKind.ARRAY)


def is_aggregate(type_: ir.Type) -> bool:
    """True when a value of this type is a `Record`."""
    return type_.kind in _AGGREGATES or type_.lanes > 1


def convert(value: Value, type_: ir.Type) -> Value:
    """`value` as C converts it to the scalar `type_`; what is no number passes through."""
    if isinstance(value, Unknown) and value.course is not Course.ANY and not _holds_most(type_):
        value = replace(value, course=Course.ANY)
    if isinstance(value, Unknown) and value.by_argc and type_.lanes == 1:
        return of_argc(value, lambda known: convert(known[0], type_), value)
    if isinstance(value, Unknown) and value.variable is None and value.likely is not None:
        return replace(value, likely=_number(convert(value.likely, type_)))
    if not isinstance(value, (int, float)) or type_.lanes > 1:
        return value
    number = converted(value, type_)
    if number is None:
        return Unknown("conversion of a non-finite number to an integer")
    return _round(number, type_) if isinstance(number, float) and type_.is_float else number


def _round(value: float, type_: ir.Type) -> Value:
    if type_.bits == 32:
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return Unknown("float overflow")
    return value


def binary(op: ir.BinaryOp, left: Value, right: Value, operand_type: ir.Type) -> Value:
    """`left op right` carried out in `operand_type`, with C semantics."""
    if op is ir.BinaryOp.COMMA:
        return right
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        decided = _by_least(op, left, right)
        if decided is not None:
            return decided
        why = with_course(cause(left, right), _course_of(op, left, right, operand_type))
        if why.variable is None:
            one, two = (part.likely if isinstance(part, Unknown) else part for part in (left, right))
            made = None if one is None or two is None else _number(binary(op, one, two, operand_type))
            why = replace(why, likely=made)
        return of_argc(why, lambda known: binary(op, known[0], known[1], operand_type), left, right)
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        return _of_pointers(op, left, right, operand_type)
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return Unknown("arithmetic on something that is no number")
    result = fold(op, left, right, operand_type)
    if result is None:
        return Unknown(f"{left} {op.value} {right} in the host code has no value")
    exact = EXACT[op](left, right) if op in _MAY_OVERFLOW and type(result) is int else result
    if exact != result and operand_type.signed:
        return Unknown(f"{left} {op.value} {right}{_OVERFLOWS}{operand_type.bits} bits", is_derived=True)
    return result if op in ir.COMPARISONS else convert(result, operand_type)


def with_course(why: Unknown, course: Course) -> Unknown:
    """`why`, of a value that goes so."""
    return why if why.course is course else replace(why, course=course)


def without_course(value: Value) -> Value:
    """`value`, unknown or not, of which nobody knows how it goes."""
    return with_course(value, Course.ANY) if isinstance(value, Unknown) else value


def _holds_most(type_: ir.Type) -> bool:
    """Whether a number is taken not to wrap round, or to be torn, in a type."""
    return type_.is_float or (type_.is_integral and type_.bits >= ir.INT32.bits)


def _course_of(op: ir.BinaryOp, left: Value, right: Value, type_: ir.Type) -> Course:
    """How `left op right` goes in a type that holds it."""
    one, two = (part.course if isinstance(part, Unknown) else None for part in (left, right))
    courses = {course for course in (one, two) if course is not None}
    if Course.ANY in courses or not _holds_most(type_):
        return Course.ANY
    if one is not None and two is not None:
        is_sum = op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB)
        return Course.STEADY if is_sum and courses == {Course.STEADY} else Course.ANY
    known = right if two is None else left
    if not isinstance(known, (int, float)):
        return Course.ANY
    if op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL) or (op is ir.BinaryOp.SHL and two is None):
        return next(iter(courses))
    return Course.ONE_WAY if two is None and op in (ir.BinaryOp.DIV, ir.BinaryOp.SHR) else Course.ANY


_OVERFLOWS = " overflows "


def overflows(value: Value) -> bool:
    """Whether a number is not known because it is too large for its type."""
    return isinstance(value, Unknown) and value.is_derived and _OVERFLOWS in value.reason


def _number(value: Value) -> int | float | None:
    return value if isinstance(value, (int, float)) else None


_MAY_OVERFLOW = (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL)


def of_argc(why: Unknown, made: Callable[[tuple[Value, ...]], Value], *parts: Value) -> Unknown:
    """`why`, with what is `made` of the values that its parts have where argc is known."""
    if not any(isinstance(part, Unknown) and part.by_argc for part in parts):
        return why if why.least is None else replace(why, least=None)
    found: list[int | float | None] = []
    for argc in range(1, MOST_ARGC + 1):
        known = tuple(part.at(argc) if isinstance(part, Unknown) else part for part in parts)
        values = tuple(value for value in known if value is not None)
        value = made(values) if len(values) == len(known) else None
        found.append(value if isinstance(value, (int, float)) else None)
    return replace(why, least=None, by_argc=tuple(found))


def without_argc(value: Value) -> Value:
    """An unknown value that something else was made of than what follows from argc."""
    return replace(value, by_argc=(), least=None) if isinstance(value, Unknown) and value.by_argc else value


def _by_least(op: ir.BinaryOp, left: Value, right: Value) -> int | None:
    """What a comparison of an unknown number says, where the least that it can be decides."""
    if not isinstance(left, Unknown) or left.least is None or not isinstance(right, int):
        return None
    if right < left.least:
        return {ir.BinaryOp.GT: 1, ir.BinaryOp.NE: 1, ir.BinaryOp.LE: 0, ir.BinaryOp.EQ: 0}.get(
            op, _ALWAYS.get(op)
        )
    return _ALWAYS.get(op) if right == left.least else None


_ALWAYS = {ir.BinaryOp.GE: 1, ir.BinaryOp.LT: 0}


def _of_pointers(op: ir.BinaryOp, left: Value, right: Value, type_: ir.Type) -> Value:
    if op in (ir.BinaryOp.EQ, ir.BinaryOp.NE):
        same = left == right  # a pointer that is known points somewhere: never equal to 0
        return int(same == (op is ir.BinaryOp.EQ))
    if isinstance(left, Pointer) and isinstance(right, Pointer) and left.storage is right.storage:
        size = 0 if type_.element is None else type_.element.size_bytes
        if op is ir.BinaryOp.SUB and size:
            return (left.offset - right.offset) // size
        if op in ir.COMPARISONS and (number := fold(op, left.offset, right.offset, ir.INT64)) is not None:
            return number
    return Unknown("arithmetic on a pointer")


def condition_of(value: Value) -> Unknown:
    """Why nobody knows whether a condition holds."""
    return with_course(value, Course.ANY) if isinstance(value, Unknown) else Unknown(_NO_NUMBER)


_NO_NUMBER = "a condition that is no number"


def told_why(why: Unknown) -> str:
    """Why something is unknown, with the name of the variable that would settle it."""
    variable, reason = why.variable, why.reason
    if variable is None or f"'{variable}'" in reason:
        return reason
    return f"'{variable}' unknown, {reason}" if reason.startswith("'") else f"'{variable}' is {reason}"


def cause(left: Value, right: Value) -> Unknown:
    """Why a value made of two, of which one is unknown, is: what is no option counts more, and what some
    variable settles more than a number that is too large.
    """
    if overflows(left) and isinstance(right, Unknown):
        return right
    if isinstance(left, Unknown) and not (left.is_option and isinstance(right, Unknown)):
        return left
    return condition_of(right)


def places_of(*values: Value) -> tuple[Pointer, ...]:
    """What addresses, some of them perhaps not known, may point to."""
    every = [
        value.around if isinstance(value, Unknown) else (value,)
        for value in values
        if isinstance(value, Pointer) or (isinstance(value, Unknown) and value.around)
    ]
    first = every[0] if every else ()
    if all(places is first for places in every):  # each is there once, and there may be hundreds
        return first
    return tuple(dict.fromkeys(one for places in every for one in places))


def may_point(value: Value) -> bool:
    """Whether a value is an address, or one of some objects."""
    return bool(value.around) if isinstance(value, Unknown) else isinstance(value, Pointer)


def one_of(condition: Unknown, *values: Value) -> Unknown:
    """One of these values, or of what they may be: which, `condition` does not tell."""
    names: tuple[str, ...] | None = ()
    for value in values:
        more = (value,) if isinstance(value, str) else value.names if isinstance(value, Unknown) else ()
        names = (*names, *more) if more and names is not None else None
    is_anywhere = any(isinstance(v, Unknown) and (v.is_anywhere or not v.around) for v in values)
    named = tuple(dict.fromkeys(names or ()))
    return replace(
        condition,
        around=places_of(*values),
        is_anywhere=is_anywhere,
        names=named,
        least=None,
        by_argc=(),
        course=Course.ANY,
    )


def loaded_from(places: Iterable[Pointer], why: Unknown, type_: ir.Type) -> Unknown:
    """A value of `type_` somewhere in these objects, as in a table: where, nobody knows, and `why`."""
    if type_.kind not in (ir.TypeKind.POINTER, ir.TypeKind.RECORD):  # which is no address, and has none in it
        return replace(why, around=(), least=None, by_argc=(), course=Course.ANY)
    return one_of(why, *(cell for place in places for cell in place.storage.cells.values()))


def truth(value: Value) -> bool | None:
    """Whether a condition holds; None when unknown."""
    if isinstance(value, (int, float)):
        return value != 0
    if isinstance(value, Record):  # an object that holds a function
        return True if isinstance(value.cells.get(0), Closure) else None
    return True if isinstance(value, (Pointer, str, Closure)) else None


def same(left: Value, right: Value) -> bool:
    """True when both are known to be the same scalar, or the very same object."""
    if isinstance(left, (Unknown, Record, Closure)) or isinstance(right, (Unknown, Record, Closure)):
        return left is right
    return left == right


def joined(one: Value, two: Value, condition: Unknown) -> Value:
    """One of two values: which, `condition` does not tell."""
    if same(one, two):
        return one
    if isinstance(one, Record) and isinstance(two, Record):
        lost = replace(condition, around=())
        keys = dict.fromkeys((*one.cells, *two.cells))
        return Record({key: joined(one.cells.get(key, lost), two.cells.get(key, lost), lost) for key in keys})
    return one_of(condition, one, two)


_SMART_POINTERS = ("std::unique_ptr<", "std::shared_ptr<", "unique_ptr<", "shared_ptr<")
Cell = tuple[Storage, int]
Delta = dict[Cell, Value]
Frame = dict[ir.Variable, Storage]

_MISSING = Unknown("never assigned a value in the host code")
MAX_CELLS = 4096
_SENTINELS = (0, -1)
_PLAIN = (int, float, str)
_INITIALIZED = -2
"""The cell of a static that says that it was declared."""
_PART = -3
"""The cell of a name for a part of another object that says where that is."""
_PAGE = 1 << 40
"""How far apart the elements of the vectors in an object are kept: none reaches into what lies behind it."""


ELEMENTS = _PAGE + 8
"""Where the elements of a vector begin, which lies at 0; its length is kept in front of them."""


def is_length(key: int) -> bool:
    """Whether a cell holds the length of a vector."""
    return key >= _PAGE and key % _PAGE == ELEMENTS % _PAGE - 1


def length_cell(vector: Pointer) -> Cell:
    """Where the length of a vector is kept."""
    return vector.storage, moved(ELEMENTS - 1, vector.offset)


def inside(key: int, offset: int, end: int) -> int | None:
    """The cell of an object from `offset` to `end`, counted from its start; None of one that is not its."""
    if offset <= key < end:
        return key - offset
    vector = inside(key // _PAGE - 1, offset, end) if key >= _PAGE else None
    return None if vector is None else _PAGE * (vector + 1) + key % _PAGE


def outermost(key: int, end: int) -> int:
    """The cell in front of `end` that a cell is, or where the vector begins that it is in."""
    while key >= end and key >= _PAGE:
        key = key // _PAGE - 1
    return key


def _wholes(key: int) -> Iterator[int]:
    """Elements and lengths of the vectors that a cell is in, and these themselves; the whole storage."""
    while key >= _PAGE:
        yield key // _PAGE * _PAGE
        yield key // _PAGE * _PAGE + (ELEMENTS - 1) % _PAGE
        key = key // _PAGE - 1
        yield key
    yield 0


def moved(key: int, by: int) -> int:
    """The cell of an object, counted from its start, when that lies at `by`."""
    return key + by if key < _PAGE else _PAGE * (moved(key // _PAGE - 1, by) + 1) + key % _PAGE


class Splice(Struct, frozen=True):
    """How the elements of a container change places: so many are removed and added from one on."""

    at: int
    removed: int
    added: int

    def place_of(self, index: int) -> int | None:
        """Where an element is afterwards, or the end; None of one that is removed."""
        if index < self.at:
            return index
        return None if index < self.at + self.removed else index - self.removed + self.added


class SizesAsked(Struct):
    """What host code asks of tensors, by name, in all its readings: it tells how many dimensions they have.

    `sizes`: the `i` of each `x.size(i)`. `ranks`: dimensions that `x.dim() == 4` and accessors state.
    `totals`: names of which the number of elements was asked for while nothing of the others was known.
    """

    sizes: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    ranks: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    totals: set[str] = field(default_factory=set[str])

    def is_known_too_late(self) -> bool:
        """Whether a number of elements was given a name of its own that sizes named later make."""
        return not self.totals.isdisjoint({*self.sizes, *self.ranks})


class Memory:
    """Storages of all live variables; every write can be undone.

    `pins` are values by variable name, which no assignment changes; but of the names `assumed` one
    that gives a known value does. `asked`: those that were read, and names that have none (None): others
    would change nothing of what was done. `lacking`, `known`: scalars that were read so.
    """

    def __init__(
        self,
        pins: Mapping[str, int | float],
        assumed: Collection[str] = frozenset(),
        sizes_asked: SizesAsked | None = None,
    ) -> None:
        self.sizes_asked = SizesAsked() if sizes_asked is None else sizes_asked
        self.frames: list[Frame] = [{}]
        self.passed: dict[ir.Span, NotTaken] = {}
        self._globals: Frame = {}
        self._shared: dict[str, Storage] = {}
        self._pins = pins
        self._assumed = assumed
        self.asked: dict[str, int | float | None] = {}
        self.lacking: set[ir.Variable | str] = set()
        self.known: set[ir.Variable | str] = set()
        self.given: list[Storage] = []  # objects behind the parameters of entry points
        self.at_exit: dict[tuple[str, Pointer], tuple[ir.Call, int | Unknown]] = {}  # destructors, how often
        self._log: list[tuple[Storage, int, Value | None]] = []
        self._layouts: dict[int, Layout] = {}  # which keep their types, so that these stay where they are

    def storage(self, variable: ir.Variable) -> Storage:
        """Where a variable lives; created on first sight."""
        found = self.frames[-1].get(variable) or self._globals.get(variable)
        if found is not None:
            return found
        if variable.role is ir.VariableRole.FILE_SCOPE:  # such as `extern char *optarg;` in a function
            return self.declare_global(variable)
        if variable.role is ir.VariableRole.STATIC_LOCAL:
            storage = self.declare(variable, self._globals)
            storage.is_static = True
            return storage
        return self.declare(variable)

    def places_named(self, variable: ir.Variable) -> Iterator[Storage]:
        """Where a variable lives, in every call that is made."""
        for frame in (self._globals, *self.frames):
            storage = frame.get(variable)
            if storage is not None:
                yield storage if storage.part_of is None else storage.part_of.storage

    def declare(self, variable: ir.Variable, frame: Frame | None = None) -> Storage:
        """Fresh storage for a variable of the current call."""
        kind = variable.type.kind
        is_scalar = kind in NUMBERS and variable.type.lanes == 1
        number = number_in(variable.type)
        storage = Storage(
            variable.name,
            is_named=is_named(variable),
            is_scalar=is_scalar,
            scalar_bytes=0 if number is None else number.size_bytes,
            variable=variable if is_scalar else None,
        )
        if kind is ir.TypeKind.RECORD:
            storage.class_name = variable.type.name
            self._lay_out(storage, variable.type)
        elif kind in NUMBERS and not is_scalar:  # int2 and its like
            self._lay_out(storage, variable.type)
        pin = self._pin(variable.name, variable.type) if storage.is_named else None
        if variable.name not in self._pins:
            self.asked[variable.name] = None
        elif pin is not None:
            storage.pinned = {0: pin}
        (self.frames[-1] if frame is None else frame)[variable] = storage
        return storage

    def behind(self, parameter: ir.Variable, why: Unknown) -> Pointer | None:
        """The object with numbers that the parameter of an entry point points to; None where that is none.

        What it is besides, as whether of a class that derives from that, nobody knows.
        """
        element = parameter.type.element if parameter.type.kind is ir.TypeKind.POINTER else None
        if element is None or element.lanes > 1:
            return None
        storage = Storage(object_name(parameter), is_named=True)
        self._lay_out(storage, element)
        if not storage.members:
            return None
        self.forget_object(storage, 0, element, why)
        self.given.append(storage)
        return Pointer(storage, 0)

    def _name_object(self, pointer: Pointer, holder: Storage, type_: ir.Type) -> None:
        """An object that has no name in the source goes by that of the first pointer there that holds it."""
        storage, element = pointer.storage, type_.element
        is_pointer = element is not None and element.kind is ir.TypeKind.RECORD and not holder.class_name
        is_holder = holder.is_named and (is_pointer or holder.class_name.startswith(_SMART_POINTERS))
        if storage.is_named or not is_holder or pointer.offset:
            return
        if storage.layout is not NO_LAYOUT:
            element = storage.layout.type
        elif element is None or not storage.is_allocated or storage.size_bytes != element.size_bytes:
            return  # memory may be an object, by its size
        storage.name, storage.is_named = holder.name, True
        self._lay_out(storage, element)
        for key in storage.members:
            if (held := storage.cells.get(key)) is not None:
                self._set(storage, key, _named(held, storage, key))

    def _pin(self, name: str, type_: ir.Type) -> Pin | None:
        """What a number of this name is fixed to; None for what is no number, too."""
        fixed = self._pins.get(name)
        if fixed is None or is_aggregate(type_) or type_.kind is ir.TypeKind.POINTER:
            return None
        value = convert(fixed, type_)
        return Pin(value, name in self._assumed) if isinstance(value, (int, float)) else None

    def declare_global(self, variable: ir.Variable) -> Storage:
        """Storage for a file-scope variable: declarations that are linked share one."""
        known = None if variable.linked_as is None else self._shared.get(variable.linked_as)
        if known is not None:
            self._globals[variable] = known
            return known
        storage = self.declare(variable, self._globals)
        if variable.linked_as is not None:
            self._shared[variable.linked_as] = storage
        return storage

    def static(self, variable: ir.Variable) -> tuple[Storage, bool]:
        """Storage of a `static` variable of a function, and whether it has its initial value already."""
        storage = self.storage(variable)
        is_first = storage.cells.get(_INITIALIZED) is None
        if is_first:
            self._set(storage, _INITIALIZED, 1)
        return storage, not is_first

    def take_of_thread(self) -> Frame:
        """Where the variables live that each thread has for itself; they are no longer declared."""
        taken = {
            variable: self._globals.pop(variable)
            for variable in tuple(self._globals)
            if variable.is_of_thread
        }
        for variable in taken:
            self._shared.pop(variable.linked_as or "", None)
        return taken

    def give_of_thread(self, taken: Frame) -> None:
        """Go back to the thread whose variables were taken."""
        self.take_of_thread()
        self._globals.update(taken)
        self._shared.update({v.linked_as: where for v, where in taken.items() if v.linked_as is not None})

    def forget_of_thread(self, why: Unknown) -> None:
        """What each thread has for itself is unknown."""
        for variable, storage in self._globals.items():
            if variable.is_of_thread:
                self.forget(storage, why)

    def pin(self, name: str) -> int | float | None:
        """The value that is fixed for what goes by this name; None where none is."""
        self.asked[name] = found = self._pins.get(name)
        return found

    def set_by_users(self, name: str) -> int | float | None:
        """The value that users fix for what goes by this name; None where it is assumed or there is none."""
        fixed = self.pin(name)
        return None if name in self._assumed else fixed

    def global_named(self, name: str) -> Storage:
        """The storage of the file-scope variable of this name, which code may declare later."""
        return self._shared.setdefault(name, Storage(name))

    def globals_beginning(self, prefix: str) -> Iterator[Storage]:
        """The storages of the linked file-scope variables whose names begin so."""
        return (storage for name, storage in tuple(self._shared.items()) if name.startswith(prefix))

    def address(self, variable: ir.Variable) -> Pointer:
        """Where a variable is, also one that names a part of another."""
        storage = self.storage(variable)
        return Pointer(storage, 0) if storage.part_of is None else storage.part_of

    def declared(self, variable: ir.Variable) -> Pointer | None:
        """Where a variable is that was declared already."""
        known = self.frames[-1].get(variable) or self._globals.get(variable)
        return None if known is None else known.part_of or Pointer(known, 0)

    def alias(self, variable: ir.Variable, where: Pointer) -> None:
        """Let a reference parameter of the current call name an object of the caller."""
        part = Storage(variable.name, cells={_PART: where}, is_part=True)
        self.frames[-1][variable] = where.storage if where.offset == 0 else part

    def _layout(self, type_: ir.Type) -> Layout:
        layout = self._layouts.get(id(type_))
        if layout is None:
            layout = self._layouts[id(type_)] = layout_of(type_)
        return layout

    def _lay_out(self, storage: Storage, type_: ir.Type) -> None:
        """Say what is where in an object, and what is fixed of it."""
        storage.layout = layout = self._layout(type_)
        if self._pins and storage.is_named:
            for offset, member in layout.members.items():
                name = f"{storage.name}{member.name}"
                if (pin := self._pin(name, member.type)) is not None:
                    storage.pinned[offset] = pin

    def read(self, storage: Storage, offset: int, type_: ir.Type) -> Value:
        """The value of an object of `type_`."""
        if storage.part_of is not None:
            storage, offset = storage.part_of.storage, moved(offset, storage.part_of.offset)
        if is_aggregate(type_):
            end = offset + (type_.size_bytes or MAX_CELLS * 64)
            held = self.held(storage, offset, end)
            if offset == 0 and all(key < end or inside(key, 0, end) is not None for key in held):
                return Record(dict(held))
            cells = ((inside(key, offset, end), value) for key, value in held.items())
            return Record({key: value for key, value in cells if key is not None})
        if (fixed := self._fixed(storage, offset)) is not None:
            return fixed
        found, name = storage.cells.get(offset), storage.name_at(offset)
        if found is None or found is _MISSING:
            for start in map(storage.cells.get, _wholes(offset)):
                if isinstance(start, Unknown) and start is not _MISSING:  # forgotten as a whole
                    return start
            why = _MISSING.reason if storage.is_local else "given no value in the host code that is followed"
            told = storage.told if name is None else f"'{name}'"
            return Unknown(f"{told} is {why}", name)
        if (
            storage.layout.overlaps
            and isinstance(found, (int, float))
            and isinstance(found, int) is type_.is_float
        ):
            return Unknown(f"another member of the union {storage.told}")
        if storage.is_allocated and storage.widths.get(offset, type_.size_bytes) < type_.size_bytes:
            return Unknown(f"the bytes of {storage.told}")
        if type_.kind in NUMBERS and (parts := storage.parts_of(offset, type_.size_bytes)):
            return _of_parts(storage, offset, parts, type_)
        if type_.is_integral and isinstance(found, (int, float)):
            if isinstance(found, float):
                return Unknown(f"the bytes of {storage.told}")
            if found.bit_length() > type_.bits - type_.signed:
                return convert(found, type_)  # the first bytes of a wider number
        elif type_.is_float and isinstance(found, int) and found:
            return Unknown(f"the bytes of {storage.told}")
        return found

    def held(self, storage: Storage, begin: int, end: int) -> Mapping[int, Value]:
        """The cells of a storage, with what its numbers from `begin` to `end` are fixed to."""
        keys = (0,) if storage.is_scalar else storage.members
        fixed = ((key, self._fixed(storage, key)) for key in keys if begin <= key < end)
        known = {key: value for key, value in fixed if value is not None}
        return {**storage.cells, **known} if known else storage.cells

    def _fixed(self, storage: Storage, offset: int) -> int | float | None:
        """The value that a number is fixed to, where that holds; notes what is asked and not known."""
        found, name = storage.cells.get(offset), storage.name_at(offset)
        is_lacking = found is None or isinstance(found, Unknown)
        pin = storage.pinned.get(offset)
        if name is not None:
            self.asked[name] = self._pins.get(name)
        if pin is not None and (is_lacking or not pin.is_assumed):
            return pin.value
        what = storage.variable or name
        if what is not None:
            (self.lacking if is_lacking else self.known).add(what)
        return None

    def write(self, storage: Storage, offset: int, value: Value, type_: ir.Type) -> None:
        """Store `value`, converted to `type_`; aggregates are copied member by member."""
        if isinstance(value, Record):
            if storage.has_vectors:
                self.forget_object(
                    storage, offset, type_, Unknown("an element of a vector that was assigned")
                )
            for key, cell in value.cells.items():
                at = moved(key, offset)
                cell = cell.copy() if isinstance(cell, Closure) else _named(cell, storage, at)
                self._set(storage, at, cell)
            if len(storage.cells) > len(value.cells):
                self._lose_parts(storage, offset, value, type_)
            if isinstance(held := value.cells.get(0), Pointer):
                self._name_object(held, storage, type_)
        elif isinstance(value, Closure):
            self._set(storage, offset, value.copy())
        elif is_aggregate(type_):
            if isinstance(value, str) and "function<" in type_.name:  # std::function f = named;
                self._set(storage, offset, value)
            elif isinstance(value, str) and type_.element is not None and type_.element.bits == 8:
                for at, char in enumerate(f"{value}\0"):  # char name[] = "text";
                    self._set(storage, offset + at, ord(char))
            elif isinstance(value, str) and (is_text_object(type_) or type_.name in TEXT_STREAMS):
                self._set(storage, offset, before_nul(value))
            elif is_dim3(type_) and isinstance(value, (int, float)):  # dim3 d = 256;
                for axis in range(3):
                    self._set(storage, offset + 4 * axis, int(value) if axis == 0 else 1)
            else:
                why = value if isinstance(value, Unknown) else Unknown("not followed")
                self.forget_object(storage, offset, type_, why)
        else:
            value = _named(convert(value, type_), storage, offset)
            if isinstance(value, Pointer):
                self._name_object(value, storage, type_)
            if type_.kind in NUMBERS and (torn := storage.torn_by(offset, type_.size_bytes)):
                value = Unknown(f"the bytes of {storage.told}")
                for other in torn:
                    self._set(storage, other, value)
            elif type_.kind in NUMBERS:
                for other in storage.parts_of(offset, type_.size_bytes):
                    self._set(storage, other, _MISSING)
            if storage.is_allocated and type_.kind in NUMBERS and not storage.layout.members:
                lost = Unknown(f"the bytes of {storage.told}")
                for other in storage.torn_memory(offset, type_.size_bytes):
                    self._set(storage, other, lost)
                    value = lost if other == offset else value
            if (overlap := storage.layout.overlaps.get(offset)) is not None:
                lost = Unknown(f"another member of the union {storage.told}")
                for other in overlap.others:
                    self._set(storage, other, lost)
                value = value if type_.size_bytes >= overlap.widest_bytes else lost
            if isinstance(value, Unknown) and value is storage.cells.get(offset):
                value = replace(value)  # which was written, though nobody knows what
            self._set(storage, offset, value)

    def _lose_parts(self, storage: Storage, offset: int, value: Record, type_: ir.Type) -> None:
        """No bytes of their own are behind the starts of the numbers of an object that was assigned."""
        for start, member in self._layout(type_).members.items():
            if start in value.cells:
                for other in storage.parts_of(offset + start, member.type.size_bytes):
                    if other - offset not in value.cells:
                        self._set(storage, other, _MISSING)

    def forget_object(self, storage: Storage, offset: int, type_: ir.Type, why: Unknown) -> None:
        """An object that may be a part of another becomes unknown."""
        parts = self._layout(type_).scalars
        self._forget_cells(storage, offset, offset + (type_.size_bytes or MAX_CELLS * 64), why, parts)

    def forget_bytes(self, pointer: Pointer, size_bytes: int, why: Unknown) -> None:
        """So many bytes from an address on become unknown."""
        self._forget_cells(pointer.storage, pointer.offset, pointer.offset + size_bytes, why)

    def _forget_cells(
        self, storage: Storage, begin: int, end: int, why: Unknown, parts: Iterable[int] = ()
    ) -> None:
        if storage.part_of is not None:
            begin, end = (moved(key, storage.part_of.offset) for key in (begin, end))
            storage = storage.part_of.storage
        if not storage.is_given:
            known = (begin, *(begin + part for part in parts), *storage.cells, *storage.members)
            every = dict.fromkeys(known)
            keys = [
                key
                for key in every
                if begin <= key < end or (key >= _PAGE and inside(key, begin, end) is not None)
            ]
            self._lose(storage, keys, why)

    def forget(self, storage: Storage, why: Unknown) -> None:
        """Everything in `storage` becomes unknown."""
        storage = storage if storage.part_of is None else storage.part_of.storage
        if storage.is_given:
            return
        self._lose(storage, dict.fromkeys((*storage.cells, *storage.members)) or (0,), why)

    def _lose(self, storage: Storage, keys: Collection[int], why: Unknown) -> None:
        """Cells become unknown, which may be hundreds each time that an object is given to a library."""
        storage.writes += len(keys)
        members, lost = storage.members, dict[int, Value](dict.fromkeys(keys, why))
        if storage.is_scalar or why.may_stay:
            lost = {key: _lost(why, storage, key) for key in keys}
        elif members and why.variable is None and not why.is_derived:
            name = storage.name
            named = ((key, members.get(key)) for key in keys)
            lost |= {key: replace(why, variable=f"{name}{one.name}") for key, one in named if one is not None}
        self._put_all(storage, lost)

    def forget_behind(self, pointer: Pointer, why: Unknown) -> None:
        """What a function that gets a pointer may write becomes unknown: the length of a vector stays."""
        if pointer.member_bytes:
            self.forget_bytes(pointer, pointer.member_bytes, why)
            return
        kept = None if pointer.length is None else pointer.storage.cells.get(pointer.length)
        if pointer.offset >= _PAGE:
            self.forget_elements(pointer, why)
        else:
            self.forget(pointer.storage, why)
        if pointer.length is not None and kept is not None:
            self._set(pointer.storage, pointer.length, kept)

    def forget_elements(self, pointer: Pointer, why: Unknown) -> None:
        """A vector of which `pointer` is to an element becomes unknown, with its length."""
        page = pointer.offset // _PAGE * _PAGE
        self._forget_cells(pointer.storage, page, page + _PAGE, why)

    def follow_elements(self, start: Pointer, size: int, splice: Splice | None) -> None:
        """Addresses of elements, of `size` bytes from `start` on, that lie elsewhere from now on, as those of
        a list do not; None: nobody knows where.
        """
        page = start.offset // _PAGE
        lost = Unknown("an iterator of a container that was changed", around=(start,))

        def behind(pointer: Value) -> Value | None:
            """What the address of such an element is from now on; None of any other value."""
            if not isinstance(pointer, Pointer) or pointer.storage is not start.storage:
                return None
            if pointer.offset // _PAGE != page:
                return None
            index, part = divmod(pointer.offset - start.offset, size or 1)
            place = None if splice is None or not size else splice.place_of(index)
            return lost if place is None else replace(pointer, offset=start.offset + place * size + part)

        for storage, held in self._reached():
            for key, value in held:
                moved_to = behind(value)
                if isinstance(moved_to, Pointer) or (moved_to is not None and key != _PART):
                    self._put(storage, key, moved_to)

    def _reached(self) -> Iterator[tuple[Storage, list[tuple[int, Value]]]]:
        """All memory that something names or points to, each with what it holds that is no plain number."""
        frames = (self._globals, self._shared, *self.frames)
        waiting = [*self.given, *(storage for frame in frames for storage in frame.values())]
        seen: set[int] = set()
        while waiting:
            storage = waiting.pop()
            if id(storage) in seen:
                continue
            seen.add(id(storage))
            held = [(key, cell) for key, cell in storage.cells.items() if type(cell) not in _PLAIN]
            for _, cell in held:
                waiting += cell.frame.values() if isinstance(cell, Closure) else ()
                waiting += (one.storage for one in places_of(cell))
            yield storage, held

    def set_cell(self, storage: Storage, key: int, value: Value) -> None:
        """Store a scalar at a byte offset, as it is."""
        self._set(storage, key, value)

    def _set(self, storage: Storage, key: int, value: Value | None) -> None:
        if storage.part_of is not None:
            storage, key = storage.part_of.storage, moved(key, storage.part_of.offset)
        storage.writes += 1
        self._put(storage, key, value)

    def _put(self, storage: Storage, key: int, value: Value | None) -> None:
        cells = storage.cells
        if key >= _PAGE:
            storage.has_vectors = True
        old = cells.get(key)
        if old is None and len(cells) >= MAX_CELLS:
            return
        self._log.append((storage, key, old))
        if value is None:
            cells.pop(key, None)
        else:
            cells[key] = value

    def _put_all(self, storage: Storage, values: Mapping[int, Value]) -> None:
        cells = storage.cells
        if len(cells) + len(values) > MAX_CELLS:
            for key, value in values.items():
                self._put(storage, key, value)
            return
        storage.has_vectors = storage.has_vectors or max(values, default=0) >= _PAGE
        self._log += [(storage, key, cells.get(key)) for key in values]
        cells.update(values)

    # ----------------------------------------------------------------- trying paths

    def mark(self) -> int:
        """A point in time to come back to."""
        return len(self._log)

    def changes_since(self, mark: int) -> Delta:
        """The present value of every cell written since `mark`."""
        return {(storage, key): storage.cells.get(key, _MISSING) for storage, key, _ in self._log[mark:]}

    def is_as_at(self, mark: int) -> bool:
        """Whether every cell that had a value at `mark` has it again, or is unknown for the same reason."""
        before: Delta = {}
        for storage, key, old in self._log[mark:]:
            before.setdefault((storage, key), _MISSING if old is None else old)
        values = ((old, self.current(cell)) for cell, old in before.items() if old is not _MISSING)
        return all(type(old) is type(now) and old == now for old, now in values)

    def roll_back(self, mark: int) -> None:
        """Undo every write since `mark`."""
        undone = self._log[mark:]
        del self._log[mark:]
        for storage, key, old in reversed(undone):
            if old is None:
                storage.cells.pop(key, None)
            else:
                storage.cells[key] = old

    def apply(self, delta: Delta) -> None:
        """Write a set of cells."""
        for (storage, key), value in delta.items():
            self._put(storage, key, None if value is _MISSING else value)

    def current(self, cell: Cell) -> Value:
        """Present value of a cell."""
        return cell[0].cells.get(cell[1], _MISSING)

    def merge(self, first: Delta, second: Delta, condition: Unknown, *, is_first: bool = False) -> None:
        """Join two paths, of which one is taken: which one, `condition` does not tell.

        Where options decide, the path without them is taken: as a whole the one that leaves fewer values
        unknown; among equals the one that changes nothing, because the values before are the defaults; else
        the first. Where it `is_first` that the run takes, this is the winner. What the winner does not know
        comes from the other. Where anything else decides, numbers
        that the paths do not agree on are as unknown as the condition.
        """
        views: list[tuple[Cell, Value, Value, Value]] = []
        for cell in {**first, **second}:
            before = cell[0].cells.get(cell[1], _MISSING)
            views.append((cell, before, first.get(cell, before), second.get(cell, before)))
        apart = [(one, two) for _, _, one, two in views if one is not two]
        lost_first = sum(_is_lost(mine, other) for mine, other in apart)
        lost_second = sum(_is_lost(other, mine) for mine, other in apart)
        second_wins = lost_second < lost_first or (lost_second == lost_first and not second)
        second_wins = second_wins and not is_first
        made: dict[tuple[int, int], Value] = {}  # of two unknown ones, the same for every cell
        apart_named = [one for cell, _, one, two in views if cell[1] == _PART and not same(one, two)]
        for cell, before, one, two in views:
            if cell[1] == _PART:
                continue
            winner, other = (two, one) if second_wins else (one, two)
            chosen = other if isinstance(winner, Unknown) else winner
            if not condition.is_option and not same(one, two):
                pair = id(one), id(two)
                if pair not in made or not (isinstance(one, Unknown) and isinstance(two, Unknown)):
                    made[pair] = _undecided(cell, one, two, chosen, condition)
                chosen = made[pair]
            if chosen is not before:  # a default that stays is no change
                self._put(*cell, chosen)
        for place in places_of(*apart_named):
            self.forget_elements(place, condition)


def _undecided(cell: Cell, one: Value, two: Value, likely: Value, condition: Unknown) -> Value:
    """The value of a cell after a branch that is not decided: settled by what settles the condition."""
    if isinstance(one, Pointer) or isinstance(two, Pointer):
        is_first = one is _MISSING or two is _MISSING
        return likely if is_first else one_of(condition, one, two)
    if isinstance(one, Unknown) and isinstance(two, Unknown):
        return one_of(likely, one, two) if isinstance(likely, Unknown) else likely
    if condition.variable is not None:
        return one_of(Unknown(condition.reason, condition.variable, likely=condition.likely), one, two)
    storage, name = cell[0], cell[0].name_at(cell[1])
    told = f"'{name}'" if name else storage.told
    reason = f"{told} is set under a condition that is not known: {condition.reason}"
    if name is None or not isinstance(likely, (int, float)):
        return one_of(Unknown(reason), one, two)
    return Unknown(reason, name, likely=likely)


def number_in(type_: ir.Type) -> ir.Type | None:
    """The type of a number, or of the numbers in an array of whatever dimensions."""
    while type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        type_ = type_.element
    return type_ if type_.kind in NUMBERS and type_.lanes == 1 else None


def _of_parts(storage: Storage, offset: int, behind: list[int], type_: ir.Type) -> Value:
    """The number of `type_` whose bytes are numbers of their own: at `offset`, and those `behind` it."""
    raw, lost = b"", Unknown(f"the bytes of {storage.told}")
    each_bytes = behind[0] - offset
    is_smaller = 0 < storage.scalar_bytes < type_.size_bytes
    if each_bytes * (len(behind) + 1) != type_.size_bytes or (
        is_smaller and each_bytes != storage.scalar_bytes
    ):
        return lost
    for part in (storage.cells[at] for at in (offset, *behind)):
        if not isinstance(part, int) or not -128 << 8 * (each_bytes - 1) <= part < 1 << 8 * each_bytes:
            return lost
        raw += (part % (1 << 8 * each_bytes)).to_bytes(each_bytes, "little")
    if type_.is_float:
        return struct.unpack("<f" if type_.bits == 32 else "<d", raw)[0] if len(raw) in (4, 8) else lost
    return int.from_bytes(raw, "little", signed=type_.signed)


def _named(value: Value, storage: Storage, offset: int) -> Value:
    """An unknown value remembers the first variable or member that held it: what --set can settle."""
    if isinstance(value, Unknown) and value.variable is None and not value.is_derived:
        name = storage.name_at(offset)
        return value if name is None else replace(value, variable=name)
    return value


def _lost(why: Unknown, storage: Storage, offset: int) -> Value:
    """What is unknown from now on; a size with a name that `may_stay` is likely what it was."""
    before = storage.cells.get(offset) if why.may_stay and storage.name_at(offset) is not None else None
    before = before.likely if isinstance(before, Unknown) else before
    if isinstance(before, (int, float)) and before > 0:
        why = replace(why, reason=f"{why.reason}, and {before} before", likely=before)
    return _named(why, storage, offset)


def _is_lost(value: Value, other: Value) -> bool:
    """True when a path does not know what the other does; 0 and -1 say "not given" rather than a size."""
    if isinstance(other, Unknown):
        return False
    if isinstance(value, Unknown):
        return True
    return value in _SENTINELS and isinstance(other, (int, float)) and other not in (0, 1, -1)


_ONE_NUMBER = ("c10::ArrayRef<", "at::ArrayRef<")
"""Of PyTorch: made of one number they are this number, as in `torch::zeros(n)`."""


def construct(node: ir.Construct, values: tuple[Value, ...]) -> Value:
    """The record that `make_float4(...)`, `dim3(...)` or braces build."""
    type_ = node.type
    if not is_aggregate(type_):
        return values[0] if len(values) == 1 else Unknown("a value built from parts")
    is_array = type_.element is not None and type_.element.kind is ir.TypeKind.RECORD
    whole = Record if is_array else (Record, Closure, str)  # the others are elements: a function, a text
    if len(values) == 1 and not node.field_names and isinstance(values[0], whole):
        return values[0]
    cells: dict[int, Value] = {}
    if type_.name.startswith(_ONE_NUMBER) and len(values) == 1 and node.arguments[0].type.is_integral:
        return Record({0: values[0]})
    if is_text_object(type_) or type_.name.removeprefix("const ") in TEXT_STREAMS:
        if not is_text_object(type_):
            values = values[:1]  # of a stream, and how it is opened
        parts: Value = values[0] if values else ""
        if isinstance(parts, Record) and len(values) == 1:
            return Record(dict(parts.cells))
        parts = before_nul(parts) if isinstance(parts, str) else parts
        if len(values) > 1:
            parts = Unknown("a text made of parts")
            match values:
                case (str() as text, int() as number):
                    parts = text[:number]
                case (int() as number, int() as char) if 0 <= number <= MAX_CELLS and 0 < char < 128:
                    parts = chr(char) * number
                case _:
                    pass
        return Record({0: parts})
    if type_.name.startswith(INPUT_STREAMS):  # as the name of its file
        return Record(dict(enumerate(values[:1])))
    if is_dim3(type_):
        cells = {0: 1, 4: 1, 8: 1}
    for index, value in enumerate(values):
        offset, member = _position(type_, node.field_names, index)
        if offset is None:
            if isinstance(value, Pointer):  # which an object of a library keeps somewhere
                cells[ir.made_up_offset(str(index))] = value
            continue
        if isinstance(value, Record) and is_dim3(type_):
            cells[offset] = Unknown("a number that a class of a library makes of an object")
        elif isinstance(value, Record):
            cells.update({moved(key, offset): cell for key, cell in value.cells.items()})
        else:
            cells[offset] = convert(value, member) if member is not None else value
    return Record(cells)


def _position(type_: ir.Type, names: tuple[str, ...], index: int) -> tuple[int | None, ir.Type | None]:
    if is_dim3(type_):
        return (4 * index, ir.Type(ir.TypeKind.INT, bits=32, signed=False)) if index < 3 else (None, None)
    if type_.kind is ir.TypeKind.ARRAY and type_.element is not None and type_.element.size_bytes:
        return (index * type_.element.size_bytes, type_.element) if index < MAX_CELLS else (None, None)
    if type_.lanes > 1:
        return index * type_.bits // 8, None
    if index < len(names) and names[index]:
        return member_of(type_, names[index])
    if index < len(type_.fields):
        member = type_.fields[index]
        return member.offset_bytes, member.type
    return None, None
