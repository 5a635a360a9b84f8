"""One time that the interpreter reaches a launch: what it found there, and grid and block of it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.launches.launch import MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK, ConstantValue, Dim3
from wattslice.launches.memory import NotTaken, Record, Unknown, Value, convert, overflows


class AssumedVariable(Struct, frozen=True):
    """A host variable that the source does not give: the value assumed for it, and why it is unknown.

    `is_of_geometry`: grid or block follow from it, not arguments alone. `is_supposed`: the source gives
    another value, with which the launch is not come to.
    """

    name: str
    value: int | float
    reason: str
    is_of_geometry: bool = True
    is_supposed: bool = False


TIMES_OF = "how often the program launches"
GEOMETRY_OF = "the grid or block of"


class Decision(Struct, frozen=True):
    """What was `assumed`, of `argc` or of the environment, and `what` of a launch follows from it."""

    assumed: str
    what: str
    is_of_argc: bool


class Sample(Struct, frozen=True):
    """So many of the `iterations` of a long loop were looked at, which do not tell what the others launch.

    `is_of_geometry`: another grid, block or shared memory perhaps, not arguments alone. `is_shown`: those
    that were looked at differ as well.
    """

    looked_at: int
    iterations: int
    is_of_geometry: bool
    is_shown: bool

    @property
    def told(self) -> str:
        """As in a report."""
        what = "a grid or block" if self.is_of_geometry else "arguments"
        return (
            f"of {self.iterations} iterations of a loop {self.looked_at} are looked at, and others may have "
            f"{what} of their own"
        )


class LaunchInstance(Struct, frozen=True, eq=False):
    """One time that a launch is reached: the evaluated configuration, and by which calls."""

    node: ir.LaunchCall
    path: tuple[ir.Call, ...]
    grid: Value
    block: Value
    shared_bytes: Value
    arguments: tuple[Value, ...]
    is_certain: bool  # False: in an arm that the known values do not take
    in_unknown_loop: bool
    constants: tuple[ConstantValue, ...] = ()
    captured: tuple[tuple[ir.Variable, int | float], ...] = ()  # known values that lambdas among them keep
    is_guess: bool = False  # the pointer that it was launched through is not known
    is_other: bool = False  # the pointer that it was launched through holds another kernel
    kernel: str = ""  # the kernel that the pointer held through which it was launched
    assumed: tuple[AssumedVariable, ...] = ()  # what it was computed from and the source does not give
    assumed_sizes: tuple[AssumedVariable, ...] = ()  # of tensors, that only its arguments were computed from
    assumed_arguments: tuple[Value, ...] = ()  # `arguments`, with values assumed for variables without one
    made_of_assumed: frozenset[int] = frozenset()  # arguments that were unknown before it was `assumed`
    is_as_written: bool = True  # False: grid or block depend on what keeps the launch from being run
    files: tuple[str, ...] = ()  # data files that were read before
    given: ProgramArguments | None = None  # what makes it other than in a run without options
    times: int | Unknown = 1  # the launches it stands for
    argc: int = 1  # where no words are known: what was assumed
    decided: tuple[Decision, ...] = ()
    passed: tuple[tuple[ir.Span, NotTaken], ...] = ()  # where jumps are that are taken not to happen
    sample: Sample | None = None  # that it is of, where that does not tell the others
    is_moving: bool = False  # it stands for others, of numbers that go on from one to the next
    is_replaced: bool = False  # in its graph's node, by another launch, before the graph was taken


Site = tuple[ir.LaunchCall, tuple[ir.Call, ...], str]
"""A launch in the source, the calls that lead to it, and the kernel of a pointer."""


def site_of(instance: LaunchInstance) -> Site:
    """Where and on which way a launch is made."""
    return instance.node, instance.path, instance.kernel


class Geometry(Struct, frozen=True):
    """Grid and block as far as they are known. `is_impossible`: one is known, and no GPU would start it."""

    grid: Dim3 | None
    block: Dim3 | None
    cause: Unknown  # why one of them is None
    is_impossible: bool = False

    @property
    def threads(self) -> int | None:
        """Threads of the launch; None when unknown."""
        if self.grid is None or self.block is None:
            return None
        product = 1
        for extent in (*self.grid, *self.block):
            product *= extent
        return product


_NO_MEMBER = Unknown("a dim3 member without a value")


def _extent(value: Value, limits: Dim3) -> Dim3 | Unknown | str:
    """The three extents, why one is unknown, or in words why no GPU would start them."""
    cells: list[Value] = [value, 1, 1]
    if isinstance(value, Record):
        cells = [value.cells.get(offset, _NO_MEMBER) for offset in (0, 4, 8)]
    extent: list[int] = []
    for cell, limit in zip(cells, limits, strict=True):
        number = cell if type(cell) is int and 1 <= cell <= limit else convert(cell, ir.INT64)
        if not isinstance(number, int):
            return number if isinstance(number, Unknown) else Unknown("no number")
        if not 1 <= number <= limit:
            return f"the host code gives {number}, which cannot be launched"
        extent.append(number)
    return extent[0], extent[1], extent[2]


def known_extents(value: Value, limits: Dim3) -> dict[int, int]:
    """Of a grid or block that is not known as a whole, the extents that are, by axis."""
    cells = [value.cells.get(offset) for offset in (0, 4, 8)] if isinstance(value, Record) else []
    pairs = enumerate(zip(cells, limits, strict=False))
    return {axis: cell for axis, (cell, limit) in pairs if isinstance(cell, int) and 1 <= cell <= limit}


def geometry_of(instance: LaunchInstance) -> Geometry:
    """Grid and block of a launch that was reached."""
    grid, block = _extent(instance.grid, MAX_GRID), _extent(instance.block, MAX_BLOCK)
    if isinstance(block, tuple) and (threads := block[0] * block[1] * block[2]) > MAX_THREADS_PER_BLOCK:
        block = f"the host code gives a block of {threads} threads"
    causes = [extent for extent in (grid, block) if not isinstance(extent, tuple)]
    cause = causes[0] if causes else ""
    return Geometry(
        grid if isinstance(grid, tuple) else None,
        block if isinstance(block, tuple) else None,
        cause if isinstance(cause, Unknown) else Unknown(cause),
        is_impossible=any(isinstance(one, str) for one in causes),
    )


def without_impossible(instance: LaunchInstance) -> LaunchInstance:
    """`instance`; of one that no GPU would start (an empty grid), the numbers passed along are unknown too.

    They are what a program does without its options or its data: a kernel given these would idle.
    """
    geometry = geometry_of(instance)
    if not geometry.is_impossible:
        return instance
    return replace(
        instance,
        arguments=tuple(
            geometry.cause if isinstance(one, (int, float, Record)) else one for one in instance.arguments
        ),
    )


def is_read(instance: LaunchInstance) -> bool:
    """True when grid and block of a launch are known."""
    return geometry_of(instance).threads is not None


def is_too_large(instance: LaunchInstance) -> bool:
    """True when a grid has more blocks than a GPU launches, or than a number of the host code holds."""
    grid = instance.grid
    cells = grid.cells.items() if isinstance(grid, Record) else ((0, grid),)
    limits = {4 * axis: limit for axis, limit in enumerate(MAX_GRID)}
    return any(
        value > limits.get(key, value) if isinstance(value, int) else overflows(value) for key, value in cells
    )


def values_of(instance: LaunchInstance) -> tuple[object, ...]:
    """The numbers that a launch is made with; what pointers point to is no concern."""
    parts = (instance.grid, instance.block, instance.shared_bytes, *instance.arguments)
    return tuple(
        tuple(sorted((k, v) for k, v in part.cells.items() if isinstance(v, (int, float))))
        if isinstance(part, Record)
        else part
        if isinstance(part, (int, float))
        else None
        for part in parts
    )


Part = tuple[int, int]
"""One number of a launch: of grid, block, shared memory or an argument, and where in that it lies."""
FIRST_ARGUMENT = 3


def parts_of(instance: LaunchInstance) -> dict[Part, Value]:
    """The scalars that a launch is made with."""
    values = (instance.grid, instance.block, instance.shared_bytes, *instance.arguments)
    return {
        (index, offset): cell
        for index, value in enumerate(values)
        for offset, cell in (value.cells.items() if isinstance(value, Record) else ((0, value),))
    }


def kernel_key(instance: LaunchInstance) -> str:
    """The kernel that is launched, as the host code names it."""
    return instance.kernel or instance.node.kernel or instance.node.kernel_name


def without_dead(instances: Sequence[LaunchInstance]) -> tuple[LaunchInstance, ...]:
    """`instances`, without those in code that is not run, where what is run launches the same kernel, or the
    same launch is run another time, those through a pointer to another kernel, where its own launch is
    written, and those that are replaced.
    """
    run = {site_of(instance) for instance in instances if instance.is_certain}
    instances = [
        instance
        for instance in instances
        if not instance.is_replaced and (instance.is_certain or site_of(instance) not in run)
    ]
    running = {kernel_key(instance) for instance in instances if instance.is_certain and is_read(instance)}
    written = {kernel_key(instance) for instance in instances if not instance.is_other}
    return tuple(
        i for i in instances if i.is_certain or kernel_key(i) not in (written if i.is_other else running)
    )
