"""`KernelLaunch`, which all later stages take, with what it assumes; and `Overrides`, what users fix."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from pathlib import PurePath

from msgspec import Struct

from wattslice import ir
from wattslice.frontend.project.runs import ProgramArguments

Dim3 = tuple[int, int, int]
"""Extent along x, y, z; each at least 1."""

MAX_GRID: Dim3 = (2**31 - 1, 65535, 65535)
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_THREADS_PER_BLOCK = 1024
"""What any GPU can launch: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability",
the same for every compute capability from 3.0 on; older GPUs launch less (catalogue, PW014)."""

DEFAULT_BLOCK: Dim3 = (256, 1, 1)
"""Block assumed when nothing is known: the commonest block in public CUDA code."""

BLOCKS_PER_SM = 8
"""Blocks per SM of an assumed grid: 8 blocks of 256 threads fill the 2048 threads of most SMs once."""


ASSUMED_SIZE = 1024
"""Value assumed for a size that nobody knows and nothing hints at."""


class About(Enum):
    """What an assumption of a launch is about, where somebody asks."""

    REST = "the rest"
    TIMES = "how often it is made"
    WHICH = "which of those that a loop makes is shown"
    FILES = "its files as a whole: types and macros that nothing defines"


class Assumption(Struct, frozen=True):
    """Something the analysis had to assume, the line it concerns, and the option that settles it.

    `file`: empty for the kernel's own file, else the file of an inlined function or of the host code.
    """

    rule: str
    line: int
    message: str
    fix: str
    file: str = ""
    about: About = About.REST


class LaunchSource(Enum):
    """Where a launch configuration came from; values are those of the JSON contract."""

    HOST_CODE = "host code"
    ARGUMENTS = "program arguments"  # host code, with what the program is given on its command line
    OPTION = "--launch"
    ASSUMED = "assumed"


class NamedValue(Struct, frozen=True):
    """A value for a kernel parameter, host variable, global or loop (`trip_L42`)."""

    name: str
    value: int | float


class MemberValue(Struct, frozen=True):
    """The value of one scalar inside a by-value struct parameter: `parameter` index, member `path`.

    `element_bytes`: of an element of an array, how far it lies from the first one.
    """

    parameter: int
    path: tuple[str, ...]
    value: int | float
    element_bytes: int = 0


class GivenPointer(Struct, frozen=True):
    """A pointer that the host code hands over: in parameter number `parameter`, so many bytes from its start.

    `array`: a number, equal for pointers into one array; `at_bytes`: how far from its start. `extent_bytes`:
    allocated from there on, None when unknown.
    """

    parameter: int
    offset_bytes: int
    array: int
    extent_bytes: int | None
    at_bytes: int = 0


class UnknownArgument(Struct, frozen=True):
    """A scalar parameter without a value, and why the host code does not tell it."""

    name: str
    reason: str


class CapturedValue(Struct, frozen=True):
    """The value of a host variable that a lambda captured, by the name that it has in the kernel."""

    variable: ir.Variable
    value: int | float


class ConstantValue(Struct, frozen=True):
    """The value of one scalar in constant memory: `variable`, bytes from its start."""

    variable: ir.Variable
    offset_bytes: int
    value: int | float


class DataKind(Enum):
    """What an array holds; values are those of `--data`."""

    LIVE = "live"
    ZEROS = "zeros"
    CONSTANT = "constant"


class ArrayData(Struct, frozen=True):
    """One `--data`: `kernel` None: of every kernel; `array` None: every array that no other entry names.

    `why`: how the source tells it, where nobody said it.
    """

    kernel: str | None
    array: str | None
    kind: DataKind
    why: str = ""

    @property
    def told(self) -> str:
        """As in a report."""
        told = self.kind.value if self.array is None else f"{self.array} {self.kind.value}"
        return f"{told} ({self.why})" if self.why else told


EVERYTHING_LIVE = ArrayData(None, None, DataKind.LIVE)


class LaunchOverride(Struct, frozen=True):
    """`--launch KERNEL=gx,gy,gz:bx,by,bz[:smem]`; `dynamic_shared_bytes` None when not given."""

    kernel: str
    grid: Dim3
    block: Dim3
    dynamic_shared_bytes: int | None


class Setting(Struct, frozen=True):
    """`--set [KERNEL.]NAME=VALUE`; `kernel` None: for every kernel and for the host code."""

    kernel: str | None
    name: str
    value: int | float


class Overrides(Struct, frozen=True):
    """What the user fixed on the command line, already parsed and free of contradictions."""

    launches: tuple[LaunchOverride, ...] = ()
    settings: tuple[Setting, ...] = ()


NO_OVERRIDES = Overrides()


class Contents(Struct, frozen=True):
    """What a launch gives besides numbers: known scalars of by-value structs, what cudaMemcpyToSymbol
    left in constant memory, known values of what lambdas captured, and the arguments that point somewhere
    known, or hold what does.
    """

    members: tuple[MemberValue, ...] = ()
    constants: tuple[ConstantValue, ...] = ()
    captures: tuple[CapturedValue, ...] = ()
    pointers: tuple[GivenPointer, ...] = ()


NOT_FOUND = "no launch of it was found"


class KernelLaunch(Struct, frozen=True):
    """One launch of one kernel: its geometry and everything known about its arguments.

    `arguments[i]` is the value of `kernel.parameters[i]`, None when unknown, a pointer or a record.
    `assumed_arguments`: values for parameters without one that agree with other launches that get the same
    variable. `settings`: `--set` values that concern this kernel, already applied to `arguments`, and those
    that name no parameter (loop trips, locals). `assumed_variables`: host variables that the source does not
    give and that grid, block or arguments were computed from, with the values assumed. `line` of the launch,
    None without host code; `file` where that is not the kernel's own, else empty. `program_arguments`: of a
    launch that is another one without them. `data`: what arrays hold, the entry for all others first;
    `zeros`: those that the host code set to zero. `unknown_arguments`: why scalar arguments are None.
    `times`: how often one run of the program (of the entry point, where no `main` is read) makes it, of long
    loops as a few iterations tell that tell all; None when unknown, for the reason `times_unknown`.
    """

    kernel: ir.Kernel
    grid: Dim3
    block: Dim3
    dynamic_shared_bytes: int
    source: LaunchSource
    line: int | None
    arguments: tuple[int | float | None, ...]
    settings: tuple[NamedValue, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    contents: Contents = Contents()
    assumed_variables: tuple[NamedValue, ...] = ()
    file: str = ""
    assumed_arguments: tuple[NamedValue, ...] = ()
    program_arguments: ProgramArguments | None = None
    data: tuple[ArrayData, ...] = (EVERYTHING_LIVE,)
    unknown_arguments: tuple[UnknownArgument, ...] = ()
    times: int | None = None
    times_unknown: str = NOT_FOUND
    zeros: tuple[ArrayData, ...] = ()

    @property
    def extents(self) -> dict[ir.Root, int | None]:
        """Bytes allocated from where each known pointer points on; None: how many is unknown."""
        return {self._behind(given): given.extent_bytes for given in self.contents.pointers}

    @property
    def same_arrays(self) -> dict[ir.Root, ir.Root]:
        """Of each known pointer what it points to: by the first pointer there."""
        return {root: first for root, (first, _) in self.places.items()}

    @property
    def places(self) -> dict[ir.Root, tuple[ir.Root, int]]:
        """Where each known pointer points: at the first one to the same place, or, where the kernel asks how
        far apart pointers are, so many bytes behind the lowest one into the same array.
        """
        are_one, found = _compares_pointers(self.kernel.body), dict[ir.Root, tuple[ir.Root, int]]()
        lowest: dict[tuple[int, int], tuple[ir.Root, int]] = {}
        for given in sorted(self.contents.pointers, key=lambda given: given.at_bytes):
            root, place = self._behind(given), (given.array, 0 if are_one else given.at_bytes)
            first, start = lowest.setdefault(place, (root, given.at_bytes))
            found[root] = first, given.at_bytes - start
        return found

    def _behind(self, given: GivenPointer) -> ir.Root:
        parameter = self.kernel.parameters[given.parameter]
        return ir.Behind(parameter, given.offset_bytes) if parameter.type.fields else parameter

    @property
    def threads_per_block(self) -> int:
        """Threads of one block."""
        x, y, z = self.block
        return x * y * z

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        x, y, z = self.grid
        return x * y * z


@lru_cache(maxsize=16)
def _compares_pointers(body: ir.Stmt) -> bool:
    """Whether a kernel computes with pointers, as such or as numbers, but for tests for null."""
    return any(
        isinstance(node, ir.Binary)
        and any(ir.strip_casts(side).type.kind is ir.TypeKind.POINTER for side in (node.left, node.right))
        and not any(isinstance(ir.strip_casts(side), ir.Constant) for side in (node.left, node.right))
        for node in ir.expressions_below(body)
    )


def trip_name(kernel: ir.Kernel, loop: ir.Loop) -> str:
    """How `--set` names the trip count of the loops on a line: `trip_L5`, elsewhere `trip_L5@that.h`."""
    name = f"trip_L{loop.span.line}"
    return name if loop.span.file == kernel.span.file else f"{name}@{PurePath(loop.span.file).name}"
