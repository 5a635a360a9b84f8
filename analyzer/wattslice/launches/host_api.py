"""What wattslice knows of library functions that host code calls: mathematics and the CUDA runtime.

Anything not listed here is unknown, and makes unknown what it may write through a pointer.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import PurePath

from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.builtins import value_of
from wattslice.launches.launch import MAX_BLOCK, MAX_GRID
from wattslice.launches.layouts import MOST_ELEMENTS, scalars_of
from wattslice.launches.memory import (
    MAX_CELLS,
    Course,
    Memory,
    Pointer,
    Record,
    Storage,
    Unknown,
    Value,
    construct,
    member_of,
    places_of,
    with_course,
)
from wattslice.patterns import regex
from wattslice_models.gpu import Gpu

Number = int | float


def _cube_root(x: Number) -> float:
    """Exact for cubes of integers, as compilers compute it of constants; `math.cbrt` may be off by a bit."""
    root = math.cbrt(x)
    nearest = round(root)
    return float(nearest) if nearest**3 == x else root


def _away_from_zero(x: Number) -> int:
    return math.floor(x + 0.5) if x >= 0 else math.ceil(x - 0.5)


def _leading_zeros(x: Number, bits: int) -> int:
    if not x:
        raise ValueError  # as C leaves it open
    return bits - (int(x) % (1 << bits)).bit_length()


def _trailing_zeros(x: Number) -> int:
    if not x:
        raise ValueError
    return (int(x) & -int(x)).bit_length() - 1


def _set_bits(x: Number, bits: int) -> int:
    return (int(x) % (1 << bits)).bit_count()


_OF_BITS: dict[str, Callable[[Number], Number]] = {
    "__builtin_ctz": _trailing_zeros,
    "__builtin_clz": lambda x: _leading_zeros(x, 32),
    "__builtin_clzl": lambda x: _leading_zeros(x, 64),
    "__builtin_clzll": lambda x: _leading_zeros(x, 64),
    "__builtin_popcount": lambda x: _set_bits(x, 32),
    "__builtin_popcountl": lambda x: _set_bits(x, 64),
    "__builtin_popcountll": lambda x: _set_bits(x, 64),
}
_OF_ONE: dict[str, Callable[[Number], Number]] = {
    "ceil": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)),
    "sqrt": math.sqrt,
    "cbrt": _cube_root,
    "exp": math.exp,
    "exp2": math.exp2,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "fabs": abs,
    "abs": abs,
    "labs": abs,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "lround": _away_from_zero,
    "llround": _away_from_zero,
    "lrint": round,
    "llrint": round,
}
_OF_TWO: dict[str, Callable[[Number, Number], Number]] = {
    "pow": math.pow,
    "fmod": math.fmod,
    "atan2": math.atan2,
    "hypot": math.hypot,
    "min": lambda x, y: min(x, y),
    "max": lambda x, y: max(x, y),
    "fmin": lambda x, y: min(x, y),
    "fmax": lambda x, y: max(x, y),
}


def _clamped(number: Number, low: Number, high: Number) -> Number:
    return min(max(number, low), high)


def _rounded_up(number: int, by: int) -> int:
    return -(-number // by)


_OF_PYTORCH = dict.fromkeys(("ceil_div", "ATenCeilDiv", "THCCeilDiv"), _rounded_up)
_MATHEMATICS: dict[str, Callable[..., Number]] = {
    **_OF_ONE,
    **_OF_TWO,
    **_OF_BITS,
    "clamp": _clamped,
    **_OF_PYTORCH,
}
"""Also found with the suffix f (single precision), l, ll and the prefix std::."""

_BY_SEMANTICS = {
    ir.Semantics.CEIL: "ceil",
    ir.Semantics.FLOOR: "floor",
    ir.Semantics.SQRT: "sqrt",
    ir.Semantics.MIN: "min",
    ir.Semantics.MAX: "max",
    ir.Semantics.ABS: "abs",
}

_NO_OPTION_GIVEN: dict[str, int] = {
    # A run without options is what the defaults in the source describe.
    "checkCmdLineFlag": 0,
    "getopt": -1,
    "getopt_long": -1,
    "getCmdLineArgumentString": 0,
    "getCmdLineArgumentValue": 0,
    "findCudaDevice": 0,
    "gpuGetMaxGflopsDeviceId": 0,
    "cudaSetDevice": 0,
    "getenv": 0,
}

ENVIRONMENT = ("getenv", "secure_getenv", "setenv", "putenv", "unsetenv", "clearenv")
FLAGS, SETS_FLAGS = "FLAGS_", "ParseCommandLineFlags"
"""Of gflags: how its variables are called, and what sets them."""
THREADS = ("omp_get_max_threads", "omp_set_num_threads", ir.TEAM, ir.TEAM_END)

TEXT_TESTS = frozenset(
    {"strcmp", "strncmp", "strcasecmp", "strncasecmp", "strlen", "strstr", "strchr", "strrchr", "strspn",
     "strcspn", "memcmp", "tolower", "toupper", "isdigit", "isalpha", "compare", "operator==", "operator!="}
)  # fmt: skip
"""Functions that tell something about text: of an option, whether it is given."""

EXITS = frozenset(
    {"exit", "_exit", "abort", "_Exit", "quick_exit", "terminate", "__builtin_unreachable", "longjmp"}
    | {"throw"}
)
"""Functions that do not return."""

CAPTURES = {
    "cudaStreamBeginCapture": True,
    "cudaStreamBeginCaptureToGraph": True,
    "cuStreamBeginCapture": True,
    "cudaStreamEndCapture": False,
    "cuStreamEndCapture": False,
}
"""Functions that begin (or end) the capture of launches into a graph, whose own launches are not counted."""

_TAKE_A_GRAPH = (
    "cudaGraphInstantiate",
    "cudaGraphClone",
    "cudaGraphAddChildGraphNode",
    "cudaGraphExecUpdate",
)


RUNS_A_GRAPH = ("cudaGraphLaunch", "cuGraphLaunch")
ABOUT_GRAPHS = frozenset((*CAPTURES, *RUNS_A_GRAPH))
"""Functions that decide when launches are made."""


def takes_a_graph(node: ir.Call) -> bool:
    """Whether a call may keep the nodes of a graph as they are: what changes them later comes beside."""
    if node.name.startswith("cudaGraph"):
        return node.name.startswith(_TAKE_A_GRAPH)
    pointed = (argument.type.element for argument in node.arguments)
    return any(type_ is not None and "CUgraph" in type_.name for type_ in pointed)


ALLOCATIONS = frozenset({"malloc", "calloc", "realloc", "operator new", "operator new[]", "aligned_alloc"})
"""Functions that return fresh memory."""

ALLOCATIONS_BY_POINTER = frozenset(
    {"cudaMalloc", "cudaMallocAsync", "cudaMallocFromPoolAsync", "cudaMallocHost", "cudaHostAlloc",
     "cudaMallocManaged"}
)  # fmt: skip
"""Functions that store the address of fresh memory, of as many bytes as the second argument says, where the
first points."""

ON_A_THREAD = frozenset({"std::thread", "std::jthread", "async", "emplace_back", "pthread_create"})
"""What calls of functions that a thread is begun with are named after."""

ON_THE_DEVICE = frozenset({"cudaMalloc", "cudaMallocAsync", "cudaMallocFromPoolAsync", "cudaMallocPitch"})
"""Functions whose memory the GPU must hold as a whole."""

_KEEPS_ITS_ARGUMENTS = frozenset(
    {
        "printf",
        "fprintf",
        "puts",
        "free",
        "cudaFree",
        "cudaMemPrefetchAsync",
        "cudaMemAdvise",
        "cudaEventRecord",
        "cudaMemcpyToSymbol",
        "cudaMemcpyToSymbolAsync",
        "glutInit",
        "MPI_Init",
        "checkCmdLineFlag",
        "strcmp",
        "strlen",
    }
)
"""Functions that write nothing through their arguments, but for what MPI_Init and glutInit take of argv."""

_LOGS = re.compile(
    r"(?:\w+::)*(?:log|trace|debug|info|warn|warning|error|critical|fatal|print|println|printf)", re.I
)
"""Functions of libraries that write what they are given behind a text, as `spdlog::info` and `fmt::print`."""

_TELLS_SUCCESS = re.compile(
    r"(cuda|cu|cublas(?!I[a-z]*(max|min)$)|curand|cufft|cusparse(?!Get)|cusolver|cudnn(?!GetVersion)|nccl|"
    r"nvml)(?=[A-Z])(?!\w*Query$)"
)
"""Functions whose result is a status of their library: a capital letter follows its name, as not in a user's
`cuda_gridsize`. Those that ask how far a run is are no such.
"""


def ends(node: ir.Call) -> bool:
    """Whether a call does not return."""
    return node.name.removeprefix("std::") in EXITS and not node.is_of_program


def keeps_its_arguments(node: ir.Call) -> bool:
    """Whether a call writes no number through its arguments that anything could depend on."""
    texts = [text.value for text in node.arguments[:2] if isinstance(text, ir.Text)]
    is_log = bool(texts) and _LOGS.fullmatch(node.name) is not None
    if node.is_of_program or not (is_log or node.name.removeprefix("std::") in _KEEPS_ITS_ARGUMENTS):
        return False
    return not node.name.endswith("printf") or not any(map(ir.COUNTS_CHARACTERS.search, texts))


_OF_A_LIBRARY = regex(
    "(cuda|cublas|cufft|curand|cusparse|cusolver|cudnn|nvtx|sdk|gl|glut|glew|cu|egl|nv)([A-Z]|::)"
    "|MPI_|omp_|pthread_|clock|std|operator"
)


def is_known(node: ir.Call) -> bool:
    """Whether a function is of a library, as far as its name and declaration tell."""
    name = node.name.removeprefix("std::")
    known = name in _KEEPS_ITS_ARGUMENTS | EXITS | ALLOCATIONS | TEXT_TESTS or name in _NO_OPTION_GIVEN
    known = known or _OF_A_LIBRARY.match(name) is not None or _function(name) is not None
    return known and not node.is_of_program


def mathematics(name: str, arguments: tuple[Value, ...]) -> Value | None:
    """Value of a mathematical function; None when `name` is none, Unknown when an argument is."""
    function = _function(name)
    if function is None:
        return None
    numbers: list[Number] = []
    for argument in arguments:
        if isinstance(argument, Unknown):
            is_alone = sum(isinstance(one, (int, float)) for one in arguments) == len(arguments) - 1
            is_in_order = is_alone and keeps_order(name) and argument.course is not Course.ANY
            return with_course(argument, Course.ONE_WAY if is_in_order else Course.ANY)
        if not isinstance(argument, (int, float)):
            return Unknown(f"argument of {name}")
        numbers.append(argument)
    try:
        return function(*numbers)
    except (ValueError, OverflowError, TypeError, ZeroDivisionError):
        return Unknown(f"{name} of these arguments is no number")


_KEEP_ORDER = frozenset(
    {"ceil", "floor", "round", "trunc", "sqrt", "cbrt", "log", "log2", "log10", "exp", "exp2", "min", "max"}
    | {"fmin", "fmax", "clamp"}
)


def keeps_order(name: str) -> bool:
    """Whether a function of one number, the others being constant, never turns round."""
    name = name.removeprefix("std::").removeprefix("::")
    return not _KEEP_ORDER.isdisjoint((name, name.removesuffix("f"), name.removesuffix("l")))


def limit_of(node: ir.Call) -> Number | None:
    """The value of `numeric_limits<T>::max()`, `lowest()` and, of integers, `min()`; None of another call."""
    if not node.callee.startswith(ir.NUMERIC_LIMITS):
        return None
    type_ = node.type
    most: Number | None = (1 << (type_.bits - type_.signed)) - 1
    least = -most - 1 if type_.signed else 0
    if type_.is_float:
        most = _LARGEST.get(type_.bits)
        least = None if most is None else -most
    return {"max": most, "lowest": least, "min": None if type_.is_float else least}.get(node.name)


_LARGEST = {32: 3.4028234663852886e38, 64: sys.float_info.max}


def _function(name: str) -> Callable[..., Number] | None:
    name = name.removeprefix("std::").removeprefix("::")
    stems = (name.removesuffix(suffix) for suffix in ("", "f", "l", "ll") if name.endswith(suffix))
    known = (_MATHEMATICS.get(stem) or value_of(stem) for stem in stems)
    return next((function for function in known if function is not None), None)


def by_semantics(semantics: ir.Semantics, arguments: tuple[Value, ...]) -> Value:
    """Value of an intrinsic from what the frontend says about it."""
    if semantics is ir.Semantics.IDENTITY and arguments:
        return arguments[0]
    name = _BY_SEMANTICS.get(semantics)
    value = None if name is None else mathematics(name, arguments)
    return Unknown("result of a function that is not followed") if value is None else value


def without_options(name: str) -> int | None:
    """What functions that look at the command line return when no option was given."""
    return _NO_OPTION_GIVEN.get(name.removeprefix("std::"))


def device_properties(gpu: Gpu) -> dict[str, Number]:
    """Members of `cudaDeviceProp`, as far as the catalogue of GPUs knows them."""
    major, minor = gpu.compute_capability
    properties: dict[str, Number | None] = {
        "multiProcessorCount": gpu.sm_count,
        "maxThreadsPerBlock": gpu.max_threads_per_block,
        "maxThreadsPerMultiProcessor": gpu.max_threads_per_sm,
        "maxBlocksPerMultiProcessor": gpu.max_blocks_per_sm,
        "warpSize": gpu.warp_size,
        "regsPerBlock": gpu.registers_per_sm,
        "regsPerMultiprocessor": gpu.registers_per_sm,
        "sharedMemPerBlock": min(49152, gpu.shared_memory_bytes_per_sm),
        "sharedMemPerBlockOptin": gpu.shared_memory_optin_bytes_per_block,
        "sharedMemPerMultiprocessor": gpu.shared_memory_bytes_per_sm,
        "totalGlobalMem": gpu.memory_bytes,
        "totalConstMem": 65536,
        "l2CacheSize": gpu.l2_bytes,
        "memoryBusWidth": gpu.memory_bus_bits,
        "clockRate": int(gpu.boost_clock_mhz * 1000),
        "textureAlignment": TEXTURE_ALIGNMENT_BYTES,
        "major": major,
        "minor": minor,
        "cooperativeLaunch": int(major >= 6),
        "concurrentKernels": int(major >= 2),
        "managedMemory": int(major >= 3),
        "unifiedAddressing": int(major >= 2),
        "canMapHostMemory": 1,
        "computeMode": 0,
    }
    return {name: value for name, value in properties.items() if value is not None}


_EXTENTS = {"maxThreadsDim": MAX_BLOCK, "maxGridSize": MAX_GRID}

_ATTRIBUTES = {  # numbers of enum cudaDeviceAttr in the runtime's documentation
    1: "maxThreadsPerBlock",
    8: "sharedMemPerBlock",
    9: "totalConstMem",
    10: "warpSize",
    12: "regsPerBlock",
    13: "clockRate",
    16: "multiProcessorCount",
    38: "l2CacheSize",
    39: "maxThreadsPerMultiProcessor",
    75: "major",
    76: "minor",
    81: "sharedMemPerMultiprocessor",
    82: "regsPerMultiprocessor",
    95: "cooperativeLaunch",
    97: "sharedMemPerBlockOptin",
}


def device_attribute(gpu: Gpu, attribute: Value) -> Value:
    """What `cudaDeviceGetAttribute` stores."""
    name = _ATTRIBUTES.get(attribute) if isinstance(attribute, int) else None
    value = None if name is None else device_properties(gpu).get(name)
    return Unknown("device attribute that the GPU catalogue lacks") if value is None else value


def active_blocks(gpu: Gpu, block_threads: Value) -> Value:
    """What `cudaOccupancyMaxActiveBlocksPerMultiprocessor` stores, registers and shared memory aside."""
    if not isinstance(block_threads, int) or block_threads < 1:
        return Unknown("occupancy of an unknown block")
    return min(gpu.max_blocks_per_sm, gpu.max_threads_per_sm // block_threads)


def potential_block_size(gpu: Gpu) -> tuple[int, int]:
    """What `cudaOccupancyMaxPotentialBlockSize` stores: (smallest full grid, block), registers aside.

    The largest block that fills an SM without rest, as the runtime's search (from large to small) finds it.
    """
    block = gpu.max_threads_per_block
    while block > gpu.warp_size and gpu.max_threads_per_sm % block:
        block -= gpu.warp_size
    return gpu.sm_count * (gpu.max_threads_per_sm // block), block


def device_property_cells(gpu: Gpu, type_: ir.Type) -> dict[int, Value]:
    """A `cudaDeviceProp` of this GPU as scalars by byte offset."""
    cells: dict[int, Value] = {
        member_of(type_, name)[0]: value for name, value in device_properties(gpu).items()
    }
    for name, extent in _EXTENTS.items():
        offset, member = member_of(type_, name)
        if member is not None:
            cells.update({offset + 4 * axis: value for axis, value in enumerate(extent)})
    return cells


def fresh_memory(name: str, size: Value | None = None) -> Pointer:
    """The address of newly allocated memory with unknown content, of `size` bytes if that is a number."""
    return Pointer(Storage(name, size_bytes=size if isinstance(size, int) else None, is_allocated=True), 0)


_Arguments = tuple[Value, ...]


ABOUT_THE_DEVICE = ("cudaGetDeviceProperties", "cudaDeviceGetAttribute", "cuDeviceGetAttribute")
"""Queries of which the answer is that of the GPU predicted for, whatever number it has."""


_CHOICES = {f"{ir.ADDRESS_OF}{name}": name for name in ("min", "max")}


_DECLARES_AN_OPTION = ("add_option", "add_flag")
"""Of CLI11: what they are given keeps its value where the command line says nothing of it."""


def library_call(
    memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments, *, calls: bool = False
) -> Value:
    """Value of a call to a function that is not part of the program, after its effect on `memory`.

    `calls`: it is given functions, which get what it is given.
    """
    name = node.name.removeprefix("std::")
    if name in (ir.UNREAD, ""):  # or of a function that clang does not find
        return _unread(memory, node, arguments)
    found = None if node.is_of_program else _of_library(memory, gpu, node, name, arguments)
    if found is not None:
        return found
    is_option = _looks_at_options(name, node, arguments)
    set_by = f"set by {_told(node)}"
    if node.is_of_program:
        set_by = f"perhaps {set_by}, of which only a declaration was read"
    why = Unknown(set_by, is_option=is_option, may_stay=node.is_of_program)
    first = arguments[0] if arguments else None
    told = first.storage.cells.get(first.offset) if isinstance(first, Pointer) else first
    told = told.cells.get(0) if isinstance(told, Record) else told
    if name.endswith("scanf") and isinstance(told, Unknown):  # what a text is read from, its numbers are
        why = told
    if not keeps_its_arguments(node):
        is_const = node.callee.startswith("_ZNK")  # a method that leaves its object as it is
        is_copy = name.startswith("cudaMemcpy") and name[10:12] != "3D" and not node.is_of_program
        written = arguments[1:] if is_const else arguments[:1] if is_copy else arguments
        const = frozenset(value for n, value in enumerate(arguments) if n in (node.looked_at or ()))
        for pointer in reached(written, everything=calls or name == "operator()" or not is_known(node)):
            if pointer not in const:
                before = memory.current((pointer.storage, pointer.offset))
                is_default = name in _DECLARES_AN_OPTION and isinstance(before, (int, float))
                memory.forget_behind(pointer, replace(why, likely=before) if is_default else why)
    if isinstance(told, Unknown) and name.startswith(("ato", "strto", "sto")):
        return replace(told, is_option=False)  # a number that is given is no question of whether it is
    if is_status(node):
        return 0  # success: a run that fails is none to predict
    around = reached(arguments, everything=True) if node.type.element is not None else ()
    is_kept = not name.startswith(ir.ADDRESS_OF)  # an address that nobody gave the function in this call
    return Unknown(f"the result of {_told(node)}", is_option=is_option, around=around, is_anywhere=is_kept)


def _told(node: ir.Call) -> str:
    """How messages name a call."""
    return (
        f"{node.name.removeprefix('std::')}()"
        if node.name
        else f"{written_at(node)}, which could not be read"
    )


def written_at(node: ir.Expr) -> str:
    """How messages name the place of an expression, which may be in another file than the launch."""
    return f"line {node.span.line} of {PurePath(node.span.file).name}"


def holds_status(type_: ir.Type) -> bool:
    """Whether a type is that of the statuses of a library, which are taken to say that it succeeded."""
    return type_.is_integral and _TELLS_SUCCESS.match(type_.name) is not None


def is_status(node: ir.Call) -> bool:
    """Whether what a function returns says that it succeeded."""
    is_number = node.type.is_integral and not node.is_of_program
    return is_number and _TELLS_SUCCESS.match(node.name) is not None


def _of_library(memory: Memory, gpu: Gpu, node: ir.Call, name: str, arguments: _Arguments) -> Value | None:
    """What a call of a function that is known gives, after its effect; None where it is none."""
    if (
        name == "make_pair"
        or name.startswith("make_cuda")
        or (name.startswith("make_") and node.type.lanes > 1)
    ):
        return construct(ir.Construct(node.arguments, (), node.type, node.span), arguments)
    if name in ("forward", "move") and len(arguments) == 1:
        given = node.arguments[0]
        is_pointer = given.type.name.startswith(("std::unique_ptr<", "std::shared_ptr<"))
        if name == "move" and isinstance(given, ir.Read) and is_pointer and not given.place.path:
            storage = memory.storage(given.place.variable)
            for key in tuple(storage.cells):
                memory.set_cell(storage, key, 0)
        elif name == "move" and isinstance(given, ir.Read) and isinstance(arguments[0], Record):
            memory.forget(memory.storage(given.place.variable), Unknown("moved from"))
        return arguments[0]
    if name in ALLOCATIONS:
        return fresh_memory(name, arguments[0] if name == "malloc" and arguments else None)
    if name in ("get", "raw_pointer_cast") and node.arguments and _is_device_pointer(node.arguments[0].type):
        return Unknown("an address on the device")
    if name in _CHOICES:
        return _one_of(memory, node, _CHOICES[name], arguments)
    stem = _VARIANT.sub("", name)
    effect = _EFFECTS.get(name, _EFFECTS.get(stem))
    found = None if effect is None else effect(memory, gpu, node, arguments)
    if found is not None:
        return found
    least, answers = _QUERIES.get(stem, (0, None))
    if answers is not None and len(arguments) >= least:
        pairs = tuple(zip(arguments, answers(gpu, arguments), strict=False))
        for pointer, value in pairs:
            if isinstance(pointer, Pointer):
                memory.write(pointer.storage, pointer.offset, value, ir.INT32)
        if any(isinstance(pointer, Pointer) for pointer, _ in pairs):
            return 0
    if name == "omp_set_num_threads" and arguments:
        memory.set_cell(memory.global_named("omp_get_max_threads"), 0, arguments[0])
        return Unknown("no value")
    if name in _OF_ONE_PROCESS:
        return _of_one_process(memory, name, arguments)
    if name in _RANDOM:
        return Unknown(f"the result of {name}()", likely=_RANDOM[name])
    return None


def _is_device_pointer(type_: ir.Type) -> bool:
    return (type_.element or type_).name.removeprefix("const ").startswith("thrust::device_ptr<")


def reached(arguments: _Arguments, *, everything: bool) -> tuple[Pointer, ...]:
    """The objects that a function may write by its arguments; `everything`: those behind pointers in them."""
    found = dict.fromkeys(places_of(*arguments))
    if not everything:
        return tuple(found)
    inside = [cell for value in arguments if isinstance(value, Record) for cell in value.cells.values()]
    waiting = [*_addresses(inside), *(cell for one in found for cell in _addresses_in(one.storage))]
    followed: set[int] = set()  # many cells tell the same places
    while waiting and len(found) < _MOST_REACHED:
        cell = waiting.pop()
        if isinstance(cell, Unknown):
            if id(cell.around) in followed:
                continue
            followed.add(id(cell.around))
        for place in cell.around if isinstance(cell, Unknown) else (cell,):
            if place not in found:
                found[place] = None
                waiting += _addresses_in(place.storage)
    return tuple(found)


def _addresses_in(storage: Storage) -> list[Pointer | Unknown]:
    """What a function may write behind, that gets the address of what holds it."""
    return [] if storage.is_given else _addresses(storage.cells.values())


def _addresses(values: Iterable[Value]) -> list[Pointer | Unknown]:
    """Those that may point somewhere."""
    return [v for v in values if isinstance(v, Pointer) or (isinstance(v, Unknown) and v.around)]


_MOST_REACHED = 256

_OF_ONE_PROCESS = {
    "MPI_Comm_size": 1,
    "MPI_Comm_rank": 0,
    "nvshmem_n_pes": 1,
    "nvshmem_my_pe": 0,
    "omp_get_max_threads": 1,
    "omp_get_num_threads": 1,
    "omp_get_thread_num": 0,
}
"""What the first of one process, or thread, is told of how many there are and which it is: one GPU is
predicted for."""


_RANDOM = {**dict.fromkeys(("rand", "random", "lrand48", "rand_r"), (1 << 30) - 1), "drand48": 0.5}
"""The middle of the numbers that functions give by chance: what is made of it is as likely as any."""


def _of_one_process(memory: Memory, name: str, arguments: _Arguments) -> Value:
    """Unknown, most likely that of one process; the number of threads may be set."""
    if (known := memory.global_named(name).cells.get(0)) is not None:
        return known
    why = Unknown(f"the result of {name}()", likely=_OF_ONE_PROCESS[name])
    if name.startswith("MPI_") and len(arguments) > 1 and isinstance(target := arguments[1], Pointer):
        memory.write(target.storage, target.offset, why, ir.INT32)
        return 0
    return why


_MOST_KEPT = 16
"""Places that a function which is not read gets, up to which it is taken to keep their addresses in each."""


def _unread(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value:
    line = written_at(node)
    written, result = (f"{of} {line}, which could not be read" for of in ("written on", "the result of"))
    if node.callee == ir.LOST_JUMP:
        written = result = f"decided by the goto on {line}, which is not followed"
    elif node.callee == ir.NOT_FOLLOWED:
        written = result = f"set by the function on {line}, one of too many to follow"
    elif node.callee == ir.RUN_BY_LIBRARY:
        written = result = f"decided by what a library runs on {line}, nobody knows how often"
    places = reached(arguments, everything=True)
    kept = places if len(places) <= _MOST_KEPT else ()  # the address of one in another
    for pointer in places:
        memory.forget_behind(pointer, Unknown(written, around=kept))
    return Unknown(result, around=places if node.type.element else ())


def _one_of(memory: Memory, node: ir.Call, name: str, arguments: _Arguments) -> Value:
    """Which of two objects, given by their addresses, std::min or std::max gives a reference to."""
    places = places_of(*arguments)
    if all(isinstance(argument, Pointer) for argument in arguments):
        element = node.type.element or ir.UNKNOWN_TYPE
        one, two = (
            memory.read(place.storage, place.offset, element)
            for place in arguments
            if isinstance(place, Pointer)
        )
        if isinstance(one, (int, float)) and isinstance(two, (int, float)):
            return arguments[(two < one) if name == "min" else (one < two)]
    return Unknown(f"the result of {name}()", around=places)


def _looks_at_options(name: str, node: ir.Call, arguments: _Arguments) -> bool:
    """True when a function compares text of the command line, or is handed argv as a whole."""
    for argument, value in zip(node.arguments, arguments, strict=False):
        target = argument.type.element
        if isinstance(value, Pointer):
            value = value.storage.cells.get(value.offset, value)
            target = None if target is None else target.element
        if isinstance(value, Unknown) and value.is_option:
            is_argv = target is not None and target.kind is ir.TypeKind.POINTER
            if is_argv or name in TEXT_TESTS:
                return True
    return False


def _properties(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    first = arguments[0] if arguments else None
    if not isinstance(first, Pointer):
        return None
    element = node.arguments[0].type.element or ir.UNKNOWN_TYPE
    for offset, value in device_property_cells(gpu, element).items():
        memory.set_cell(first.storage, first.offset + offset, value)
    return 0


def _function_attributes(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """The largest block, registers aside; of the rest nothing is known."""
    first = arguments[0] if arguments else None
    if not isinstance(first, Pointer):
        return None
    memory.forget(first.storage, Unknown(f"set by {node.name}()"))
    offset, _ = member_of(node.arguments[0].type.element or ir.UNKNOWN_TYPE, "maxThreadsPerBlock")
    memory.set_cell(first.storage, first.offset + offset, gpu.max_threads_per_block)
    return 0


def _copy(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """memcpy: the cells of the source, where both sides and the size are known."""
    del gpu
    if len(arguments) < 3 or not isinstance(arguments[0], Pointer):
        return None
    return arguments[0] if _copied(memory, arguments[0], arguments[1], arguments[2], node) else None


def _set_bytes(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """memset, which gives its first argument, cudaMemset: every number behind the pointer, of equal bytes."""
    del gpu
    if len(arguments) < 3:
        return None
    target, byte, size = arguments[0], arguments[1], arguments[2]
    if not isinstance(target, Pointer) or not isinstance(byte, int) or not isinstance(size, int):
        return None
    element = ir.strip_casts(node.arguments[0]).type.element or ir.UNKNOWN_TYPE
    _forget_bytes(memory, target, size, node)
    number = min(size // element.size_bytes, MOST_ELEMENTS) if element.size_bytes else 0
    starts = (target.offset + index * element.size_bytes for index in range(number))
    scalars = (scalar for start in starts for scalar in scalars_of(element, start))
    for offset, type_ in islice(scalars, MAX_CELLS):
        if type_.kind is ir.TypeKind.INT or not byte:
            value = int.from_bytes(bytes([byte & 255]) * type_.size_bytes, "little")
            memory.write(target.storage, offset, value, type_)
    return 0 if is_status(node) else target


def _copy_to_symbol(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del gpu
    symbol = symbol_of(node.arguments[0]) if node.arguments else None
    if symbol is None or len(arguments) < 3:
        return None
    offset = arguments[3] if len(arguments) > 3 else 0
    target = Pointer(memory.storage(symbol), offset if isinstance(offset, int) else 0)
    if not isinstance(offset, int) or not _copied(memory, target, arguments[1], arguments[2], node):
        memory.forget(target.storage, Unknown(f"set by {node.name}()"))
    return 0


def _copied(memory: Memory, target: Pointer, source: Value, size: Value, node: ir.Call) -> bool:
    if not isinstance(source, Pointer) or not isinstance(size, int):
        return False
    end = source.offset + size
    held = memory.held(source.storage, source.offset, end)
    cells = {at: value for at, value in held.items() if source.offset <= at < end}
    _forget_bytes(memory, target, size, node)
    for at, value in cells.items():
        memory.set_cell(target.storage, target.offset + at - source.offset, value)
    return True


def _forget_bytes(memory: Memory, target: Pointer, size: int, node: ir.Call) -> None:
    """What a call writes is lost: so many bytes, or all where they may begin inside of a number."""
    why = Unknown(f"set by {node.name}()")
    if target.offset in target.storage.cells or not target.storage.cells:
        memory.forget_bytes(target, size, why)
    else:
        memory.forget_behind(target, why)


def _allocation_by_pointer(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    del gpu
    first = arguments[0] if arguments else None
    if node.name not in ALLOCATIONS_BY_POINTER or not isinstance(first, Pointer):
        return None
    fresh = fresh_memory(node.name, arguments[1] if len(arguments) > 1 else None)
    memory.write(first.storage, first.offset, fresh, node.type)
    return 0


def _new_handle(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """An event, a stream, an array of textures: something that is there, where the first argument points."""
    del gpu
    first = arguments[0] if arguments else None
    if not isinstance(first, Pointer):
        return None
    memory.write(first.storage, first.offset, fresh_memory(node.name), node.type)
    return int(node.name == "sdkCreateTimer")  # which returns true


def _level_of_threads(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """MPI_Init_thread(&argc, &argv, required, &provided)."""
    del gpu
    if len(arguments) == 4 and isinstance(provided := arguments[3], Pointer):
        memory.forget_behind(provided, Unknown(f"set by {node.name}()"))
    return 0


def _pitched_allocation(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """cudaMallocPitch(&pointer, &pitch, width, height): rows begin where textures may."""
    del gpu
    if len(arguments) < 4 or not isinstance(first := arguments[0], Pointer):
        return None
    width, height = arguments[2], arguments[3]
    pitch: Value = width if isinstance(width, Unknown) else Unknown("the pitch of an unknown width")
    if isinstance(width, int):
        pitch = -(-width // TEXTURE_ALIGNMENT_BYTES) * TEXTURE_ALIGNMENT_BYTES
    size = pitch * height if isinstance(pitch, int) and isinstance(height, int) else None
    memory.write(first.storage, first.offset, fresh_memory(node.name, size), node.type)
    if isinstance(second := arguments[1], Pointer):
        memory.write(second.storage, second.offset, pitch, ir.INT64)
    return 0


TEXTURE_ALIGNMENT_BYTES = 512
"""`textureAlignment` of every GPU since compute capability 2.0 (deviceQuery), to which rows are aligned."""


def _module_function(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """cuModuleGetFunction(&function, module, "name"): a kernel by its name."""
    del gpu, node
    first = arguments[0] if arguments else None
    if len(arguments) < 3 or not isinstance(first, Pointer) or not isinstance(arguments[2], str):
        return None
    memory.set_cell(first.storage, first.offset, arguments[2])
    return 0


def _number_of_gpus(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """How many there are: 1, unless that is in doubt; a run without any is none to predict."""
    del gpu, node
    if isinstance(first := arguments[0] if arguments else None, Pointer):
        asked = memory.global_named(GPUS).cells
        memory.write(first.storage, first.offset, asked.setdefault(0, 1), ir.INT32)
    return 0


def _memory_of_gpu(memory: Memory, gpu: Gpu, node: ir.Call, arguments: _Arguments) -> Value | None:
    """The bytes of the GPU's memory, of which those that are free are not known: all, if they are assumed."""
    free = Unknown(f"set by {node.name}()", likely=gpu.memory_bytes)
    for place, value in zip(arguments, (free, gpu.memory_bytes), strict=False):
        if isinstance(place, Pointer):
            memory.write(place.storage, place.offset, value, ir.INT64)
    return 0


def asks_for_gpus(node: ir.Call) -> bool:
    """Whether a call asks how many GPUs there are."""
    return _EFFECTS.get(node.name) is _number_of_gpus


def doubt_gpus(memory: Memory) -> None:
    """There may be any number of GPUs."""
    memory.set_cell(memory.global_named(GPUS), 0, Unknown("the number of GPUs", likely=1, least=1))


GPUS = "cudaGetDeviceCount()"
"""What holds the number of GPUs, once the program asks for it."""

_QUERIES: dict[str, tuple[int, Callable[[Gpu, _Arguments], tuple[Value, ...]]]] = {
    "cudaDeviceGetAttribute": (2, lambda gpu, given: (device_attribute(gpu, given[1]),)),
    "cuDeviceGetAttribute": (2, lambda gpu, given: (device_attribute(gpu, given[1]),)),
    "cudaGetDevice": (1, lambda gpu, given: (0,)),
    "cudaOccupancyMaxActiveBlocksPerMultiprocessor": (3, lambda gpu, given: (active_blocks(gpu, given[2]),)),
    "cudaOccupancyMaxPotentialBlockSize": (1, lambda gpu, given: potential_block_size(gpu)),
}
"""What queries store where their first arguments point, by the stem of the name: how many arguments they
need, and the numbers."""

_HANDLES = ("cudaEventCreate", "cudaStreamCreate", "cudaMallocArray", "cudaMalloc3DArray",
            "cudaMallocMipmappedArray", "sdkCreateTimer")  # fmt: skip

_EFFECTS: dict[str, Callable[[Memory, Gpu, ir.Call, _Arguments], Value | None]] = {
    "memcpy": _copy,
    "memmove": _copy,
    "memset": _set_bytes,
    "cudaMemset": _set_bytes,
    "cuModuleGetFunction": _module_function,
    "cuLibraryGetKernel": _module_function,
    "cudaMemcpyToSymbol": _copy_to_symbol,
    "cudaGetDeviceProperties": _properties,
    "cudaFuncGetAttributes": _function_attributes,
    "cudaMallocPitch": _pitched_allocation,
    **dict.fromkeys(_HANDLES, _new_handle),
    "MPI_Init_thread": _level_of_threads,
    "cudaGetDeviceCount": _number_of_gpus,
    "cuDeviceGetCount": _number_of_gpus,
    "cudaMemGetInfo": _memory_of_gpu,
    "cuMemGetInfo": _memory_of_gpu,
    **dict.fromkeys(ALLOCATIONS_BY_POINTER, _allocation_by_pointer),
}
"""Effects by the stem of the name."""

_VARIANT = re.compile(r"(VariableSMem)?(WithFlags|WithPriority|Async|_v\d+)?$")
"""What ends the names of functions that do the same with more arguments."""


def symbol_of(argument: ir.Expr) -> ir.Variable | None:
    """The variable that the first argument of cudaMemcpyToSymbol names."""
    argument = base_of(argument)
    match argument:
        case ir.Read(place=place):
            return place.variable
        case ir.Load(place=place):
            return place.root
        case ir.AddressOf(variable=variable):
            return variable
        case _:
            return None


def base_of(address: ir.Expr) -> ir.Expr:
    """What an address is computed from."""
    while isinstance(address, (ir.PointerOffset, ir.Cast)):
        address = address.pointer if isinstance(address, ir.PointerOffset) else address.operand
    return address
