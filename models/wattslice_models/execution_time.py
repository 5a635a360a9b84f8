"""Time of a kernel launch: launch overhead plus the slowest resource (a roofline with many roofs).

    t_r = work_r / throughput_r    for each resource r
    t = t_launch + (t_sm^p + t_memory^p + t_rows^p + t_latency^p + t_barrier^p)^(1/p)

t_sm is what the units of an SM take: the slowest of pipes and issue, and the load/store units, in a p-norm
of their own. t_memory is the slower of L2 and DRAM, t_rows the opening of rows of DRAM, t_latency the
waiting, t_barrier the barriers, in which warps do nothing else. They go on side by side, but not perfectly:
the exponent p says how well (infinite: the slowest alone counts; 1: one after the other).

Throughputs per SM and clock come from the GPU catalogue; the busiest SM sets the time of everything that
happens inside an SM. It has at least the mean of all, and of the k blocks with the most work one SM gets
⌈k / SMs⌉: where a few blocks have nearly all of the work, the launch takes as long as they alone would.
Latency is a resource too, by Little's law: a warp whose instructions wait for one another cannot go faster,
and only so many warps fit on an SM at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum, auto

from msgspec import Struct

from wattslice_models.gpu import Gpu
from wattslice_models.workload import ASSUMED_TRIPS, PASS_BYTES, Workload


class Resource(StrEnum):
    """What can set the time of a kernel; the values are for reports."""

    FP32 = "fp32 pipe"
    FP64 = "fp64 pipe"
    FP16 = "fp16 pipe"
    INTEGER = "integer pipe"
    SPECIAL = "special-function unit"
    TENSOR = "tensor cores"
    ISSUE = "instruction issue"
    REGISTERS = "register ports"
    LOAD_STORE = "load/store and shared memory"
    TEXTURE = "texture units"
    CONSTANT = "constant cache"
    BARRIER = "barriers"
    L2 = "L2 bandwidth"
    ATOMICS = "atomics in L2"
    DRAM = "DRAM bandwidth"
    DRAM_ROWS = "opening of DRAM rows"
    LATENCY = "latency"
    LONGEST_BLOCK = "longest block"
    DISPATCH = "start of blocks"
    LAUNCH = "launch overhead"


class Clocks(Struct, frozen=True):
    """Clocks of the arithmetic units and of the memory, MHz; ``None``: those of the catalogue.

    Both as nvidia-smi counts them, which for the memory is half the data rate of a pin: 3505 MHz for a GTX
    Titan X whose specification sheet prints a command clock of 1753 MHz (`nvidia_smi_memory_mhz`).
    """

    core_mhz: float | None = None
    memory_mhz: float | None = None

    def __post_init__(self) -> None:
        for value in (self.core_mhz, self.memory_mhz):
            if value is not None and not value > 0:
                raise ValueError(f"a clock of {value} MHz: must be positive")


class Utilisation(Struct, frozen=True):
    """Share of the kernel's time that `resource` is busy, in [0, 1]."""

    resource: Resource
    share: float


class TimePrediction(Struct, frozen=True):
    """Seconds of one launch, the resource that sets them, and how busy each resource is, busiest first.

    `held_warps_per_sm`: warps that an SM holds, mean over the SMs and the time that the launch runs on them.
    """

    time_s: float
    held_warps_per_sm: float
    limited_by: Resource
    utilisations: tuple[Utilisation, ...]
    notes: tuple[str, ...]
    """What had to be assumed because the workload or the catalogue does not say."""


class TimeParameters(Struct, frozen=True):
    """What neither catalogue nor source says. Shares are of what the architecture's facts allow.

    The defaults serve every board: near what suits all measured ones together (docs/appendix/seconds.md),
    rounded.
    """

    launch_overhead_s: float = 3e-6
    dram_share: float = 1.0
    l2_share: float = 1.0
    pipe_share: float = 0.97
    """Of the peak rate of arithmetic pipes and register ports: what loops of multiply-adds reach on A100,
    V100 and Quadro RTX 8000 (gpu-benches, mixbench). Not fitted."""
    issue_share: float = 0.95
    """Of the peak rate of issue and load/store units; loops of one work reach 0.96 to 1 on an H200."""
    overlap: float = 2.0
    """Exponent p with which arithmetic, memory, waiting and barriers overlap; 1: not at all."""
    latency_share: float = 1.0
    """Of the length of a warp by its chain of dependences: what the schedule of the compiler leaves of it."""


DEFAULT_TIME_PARAMETERS = TimeParameters()

WAITING = (Resource.LATENCY, Resource.LONGEST_BLOCK)
_OF_THE_CHIP = (Resource.L2, Resource.ATOMICS, Resource.DRAM, Resource.DISPATCH)
_SHARED_BY_SMS = frozenset({*_OF_THE_CHIP, Resource.DRAM_ROWS})
_NEAR_MEMORY = (Resource.LOAD_STORE, Resource.TEXTURE, Resource.CONSTANT)
_NOT_A_PIPE = frozenset({*WAITING, *_SHARED_BY_SMS, Resource.LAUNCH, Resource.BARRIER})
ROW_OPENING_NS = 4.0
"""Between two rows that a channel of DRAM opens (tRRD, a quarter of tFAW): GDDR6 in Ramulator 2 (7 clocks of
0.57 ns), HBM2 in DRAMsim3 (4 of 1 ns), which says 5 ns of GDDR5. Taken not to follow the memory clock."""
_CHANNEL_BITS = {
    **dict.fromkeys(("GDDR5", "GDDR5X", "HBM3", "HBM3e"), 32),
    **dict.fromkeys(("GDDR6", "GDDR6X"), 16),
    **dict.fromkeys(("HBM2", "HBM2e"), 64),
    "GDDR7": 8,
}
"""Width of a channel that opens rows on its own, of HBM a pseudo channel; of other kinds not known here."""
L2_PORT_BYTES = 64.0
"""What one SM exchanges with L2 in a clock at most (recalled of Volta and Ampere; all SMs together less)."""
OTHER_REGISTER_READS = 1.2
"""Registers that an instruction reads which is no multiply-add of three: mean of 76 innermost loops of
NV-DVFS, llm.c and PolyBench in SASS, where `.reuse` spares a read."""
MOVED_TO_MULTIPLIERS = 0.2
"""Of the integer instructions that are no multiplications, what nvcc writes as IMAD where the units of fp32
have less to do: additions, left shifts, moves. 0.1 to 0.4 in kernels of the corpus without fp32, 0 in those
with much of it (SASS of sm_90). Since Volta."""
UNIT_OVERLAP = 3.0
"""Exponent with which pipes and load/store units of an SM overlap: among 2, 3, 4 and 6 the one that suits
tiled products, kernels and microbenchmarks of an H200 and applications of six older boards. Not fitted."""
BARRIER_CYCLES = 20.0
"""From the arrival of a block's last warp at a barrier until the first goes on: Volta, recalled."""


def core_clock_mhz(gpu: Gpu, clocks: Clocks) -> float:
    """The core clock asked for, else the catalogue's boost clock."""
    return gpu.boost_clock_mhz if clocks.core_mhz is None else clocks.core_mhz


def nvidia_smi_memory_mhz(gpu: Gpu) -> float:
    """The full memory clock of a GPU as nvidia-smi counts it: half the data rate of a pin, of any kind.

    From bandwidth and bus width, because specification sheets count clocks in several ways.
    """
    return 4e-6 * gpu.memory_bandwidth_bytes_per_s / gpu.memory_bus_bits


def memory_clock_scale(gpu: Gpu, clocks: Clocks) -> float:
    """Memory clock relative to the catalogue's, 1 when not asked for."""
    return 1.0 if clocks.memory_mhz is None else clocks.memory_mhz / nvidia_smi_memory_mhz(gpu)


def core_clock_range_mhz(gpu: Gpu) -> tuple[float, float]:
    """Clocks of the arithmetic units that such a board might run at, lowest and highest, generously.

    Idle boards run at a tenth of their clock, overclocked ones a third above it: twice that either way.
    """
    return round(gpu.boost_clock_mhz / 20), round(2 * gpu.boost_clock_mhz)


def memory_clock_range_mhz(gpu: Gpu) -> tuple[float, float]:
    """The same for the memory, as nvidia-smi counts it; idle boards print a thirtieth of the full clock."""
    full_mhz = nvidia_smi_memory_mhz(gpu)
    return round(full_mhz / 40), round(1.5 * full_mhz)


class MovedBytes(Struct, frozen=True):
    """Bytes that one launch moves at each level, and 128-byte passes through shared memory."""

    l1_bytes: float
    l2_bytes: float
    dram_bytes: float
    shared_passes: float
    notes: tuple[str, ...]


def moved_bytes(workload: Workload, gpu: Gpu) -> MovedBytes:
    """Bytes of the whole launch, with the stated fallback wherever the workload does not know."""
    notes: list[str] = []
    threads = workload.threads
    l1 = workload.l1_bytes
    if l1 is None:
        l1 = 4.0 * max(0.0, workload.instructions.load_store - workload.shared_accesses)
        notes.append("bytes of global accesses unknown: 4 per access, coalesced, assumed")
    l2 = workload.l2_bytes
    if l2 is None:
        l2 = l1
        if l1:
            notes.append("hits in L1 unknown: all global accesses taken to reach L2")
    passes = workload.shared_passes
    if passes is None:
        passes = workload.shared_accesses
        notes.append("bank conflicts unknown: none assumed")
    if workload.dram_bytes is not None:
        dram = threads * workload.dram_bytes
    else:
        dram = _dram_bytes(threads * l2, workload.footprint_bytes, gpu)
        if l2:
            notes.append("hits in L2 unknown: DRAM traffic estimated from the footprint")
    return MovedBytes(threads * l1, threads * l2, dram, workload.warps * passes, tuple(notes))


def _dram_bytes(l2_bytes: float, footprint_bytes: float | None, gpu: Gpu) -> float:
    """DRAM traffic of L2 traffic: none when the footprint fits L2 (a warm cache), else between the bounds.

    The footprint is the least, the L2 traffic the most that can move; reuse distances would decide. Their
    geometric mean is exact where both agree (streaming) and errs by the same factor either way elsewhere.
    """
    if footprint_bytes is None or l2_bytes <= footprint_bytes:
        return l2_bytes
    if gpu.l2_bytes is not None and footprint_bytes <= gpu.l2_bytes:
        return 0.0
    return (l2_bytes * footprint_bytes) ** 0.5


class _Place(Enum):
    """What a block shares a unit with: the blocks of an SM, those that follow it on its place there, all."""

    __hash__ = object.__hash__  # members are keys, and singletons

    SM = auto()
    SLOT = auto()
    CHIP = auto()


_Block = dict[tuple[_Place, Resource], float]
"""Seconds that a block holds each unit."""


def _mean_block(workload: Workload, gpu: Gpu, clocks: Clocks, parameters: TimeParameters) -> _Block:
    """The mean block of a launch."""
    hertz = 1e6 * core_clock_mhz(gpu, clocks)
    moved = moved_bytes(workload, gpu)
    warps, own = workload.warps_per_block, 1.0 / workload.blocks
    chip, instructions = gpu.architecture, workload.instructions
    # A warp occupies its pipe whole, however few of its lanes there are or take part.
    lanes = warps * gpu.warp_size * workload.divergence
    seconds = {Resource.INTEGER: lanes * _integer_clocks(workload, gpu) / parameters.pipe_share / hertz}
    lanes_of = {Resource.INTEGER: _rate(gpu, Resource.INTEGER)}
    # Since Volta, multiplications run on the units of fp32, beside additions on units of their own.
    shared_units = 0.0 if chip.has_one_integer_pipe else instructions.integer_multiply
    # A conversion from or to 64 bits is as slow as the slower of special functions and fp64: 2 a clock and
    # SM on cc 7.5, 4 on 5.x and 6.1, 16 on 6.0 and 7.0 (CUDA C++ Programming Guide, throughput table).
    fp64 = (instructions.fp64 + instructions.wide_conversion) / chip.fp64_efficiency
    for resource, number in (
        (Resource.FP32, instructions.fp32 + shared_units),
        (Resource.FP64, fp64),
        (Resource.FP16, instructions.fp16 / chip.fp16_efficiency),
        (Resource.SPECIAL, instructions.special),
        (Resource.TENSOR, instructions.tensor / chip.tensor_efficiency),
    ):
        lanes_of[resource] = _rate(gpu, resource)
        seconds[resource] = lanes * number / lanes_of[resource] / parameters.pipe_share / hertz
    per_warp = workload.issue_slots_per_warp
    schedulers = lanes_of[Resource.ISSUE] = chip.warp_instructions_per_clock_per_sm
    seconds[Resource.ISSUE] = warps * per_warp / (schedulers * parameters.issue_share) / hertz
    if chip.register_reads_per_clock_per_sm is not None:
        threes = instructions.fp32_three_registers * workload.divergence
        reads = 3.0 * threes + OTHER_REGISTER_READS * max(0.0, per_warp - threes)
        ports = lanes_of[Resource.REGISTERS] = chip.register_reads_per_clock_per_sm
        seconds[Resource.REGISTERS] = warps * reads / (ports * parameters.pipe_share) / hertz
    # The longest warp has no more of a unit than one scheduler has, if there is a lane for each.
    share = workload.longest_warp / warps
    of_slot = {one: share * min(schedulers, lanes) * seconds[one] for one, lanes in lanes_of.items()}
    warp_s = warp_length_s(workload, gpu, parameters, moved, clocks)
    of_slot[Resource.LATENCY] = workload.longest_warp * warp_s + chip.block_turnaround_cycles / hertz
    load_store = own * moved.shared_passes * PASS_BYTES / chip.shared_bytes_per_clock_per_sm
    known = workload.l1_passes
    l1_bytes = own * moved.l1_bytes if known is None else warps * known * PASS_BYTES
    load_store += l1_bytes / chip.l1_bytes_per_clock_per_sm
    held = warps * instructions.load_store * workload.divergence
    seconds[Resource.LOAD_STORE] = max(load_store, held) / parameters.issue_share / hertz
    if workload.texture_fetches:
        units = chip.texture_units_per_sm
        seconds[Resource.TEXTURE] = lanes * workload.texture_fetches / units / hertz
    constants = workload.constant_requests * chip.constant_request_cycles
    constants += workload.constant_misses * chip.constant_miss_cycles
    seconds[Resource.CONSTANT] = warps * constants / hertz
    seconds[Resource.BARRIER] = warps * workload.barriers / chip.barrier_warps_per_clock_per_sm / hertz
    seconds[Resource.L2] = own * moved.l2_bytes / L2_PORT_BYTES / hertz
    l2_bytes_per_s = chip.l2_bytes_per_clock_per_sm * gpu.sm_count * hertz
    bandwidth = gpu.memory_bandwidth_bytes_per_s * memory_clock_scale(gpu, clocks)
    bandwidth *= chip.dram_efficiency * parameters.dram_share
    if chip.l2_fill_bytes_per_clock_per_sm is not None:
        bandwidth = min(bandwidth, chip.l2_fill_bytes_per_clock_per_sm * gpu.sm_count * hertz)
    of_chip = {
        Resource.DISPATCH: chip.block_dispatch_cycles / hertz,
        Resource.L2: own * moved.l2_bytes / (l2_bytes_per_s * parameters.l2_share),
        Resource.ATOMICS: warps * _atomic_clocks(workload, gpu) / hertz,
        Resource.DRAM: own * moved.dram_bytes / bandwidth,
    }
    channels = gpu.memory_bus_bits / _CHANNEL_BITS.get(gpu.memory_type, math.inf)
    if workload.dram_rows and channels:
        opening_s = 1e-9 * ROW_OPENING_NS
        of_chip[Resource.DRAM_ROWS] = workload.threads_per_block * workload.dram_rows / channels * opening_s
    places = (_Place.SM, seconds), (_Place.SLOT, of_slot), (_Place.CHIP, of_chip)
    return {(place, one): held_s for place, found in places for one, held_s in found.items()}


def _kinds(
    workload: Workload, gpu: Gpu, clocks: Clocks, parameters: TimeParameters
) -> list[tuple[_Block, float]]:
    """The kinds of blocks and how many there are of each, longest first; they add up to the launch."""
    mean = _mean_block(workload, gpu, clocks, parameters)
    if not workload.kinds:
        return [(mean, workload.blocks)]
    more = workload.blocks / sum(kind.blocks for kind in workload.kinds)
    kinds = [(_mean_block(kind, gpu, clocks, parameters), more * kind.blocks) for kind in workload.kinds]
    kinds.sort(key=lambda kind: -math.fsum(kind[0].values()))
    for key, mean_s in mean.items():
        sum_s = math.fsum(number * block.get(key, 0.0) for block, number in kinds)
        for block, _ in kinds:
            block[key] = block.get(key, 0.0) * mean_s * workload.blocks / sum_s if sum_s else mean_s
    return kinds


def _dealt_s(blocks: Iterable[tuple[float, float]], places: float) -> float:
    """Seconds of the busiest of `places` at best; of each kind of blocks the seconds and how many there are.

    It has no less than the mean, and of the k blocks that take longest some place has ⌈k / places⌉.
    """
    total = before = most = 0.0
    for seconds, number in sorted(blocks, reverse=True):
        total, before = total + number * seconds, before + number
        most = max(most, math.ceil(round(before / places, 6)) * seconds)
    return max(most, total / places)


def _by_resource(found: Mapping[tuple[_Place, Resource], float], exponent: float) -> dict[Resource, float]:
    """Seconds of each resource. A warp that takes longer than its SM, for all that it has of a unit is one
    scheduler's part, waits: so long that with the units it comes to what it takes.
    """
    seconds: dict[Resource, float] = {}
    for (place, resource), held_s in found.items():
        if place is not _Place.SLOT:
            seconds[resource] = max(seconds.get(resource, 0.0), held_s)
    units_s = _units_s(seconds)
    waiting_s = found[_Place.SLOT, Resource.LATENCY]
    alone_s = max(s for key, s in found.items() if key[0] is _Place.SLOT and key[1] is not Resource.LATENCY)
    if alone_s > units_s:
        beyond_s = alone_s * (1.0 - (units_s / alone_s) ** exponent) ** (1.0 / exponent)
        waiting_s = max(waiting_s, beyond_s)
    seconds[Resource.LATENCY] = waiting_s
    return seconds


def predict_time(
    workload: Workload,
    gpu: Gpu,
    clocks: Clocks | None = None,
    parameters: TimeParameters = DEFAULT_TIME_PARAMETERS,
) -> TimePrediction:
    """Seconds of one launch of `workload` on `gpu`, and what limits them."""
    clocks = clocks or Clocks()
    kinds = _kinds(workload, gpu, clocks, parameters)
    slots = gpu.sm_count * resident_blocks(workload)
    places = {_Place.SM: gpu.sm_count, _Place.SLOT: slots, _Place.CHIP: 1}
    dealt = {
        key: _dealt_s([(block[key], number) for block, number in kinds], places[key[0]])
        for key in kinds[0][0]
    }
    seconds = _by_resource(dealt, parameters.overlap)
    overlapped_s = _overlapped_s(seconds, parameters.overlap)
    # So many blocks run at a time as the seconds of all of them are in those of the launch (Little's law).
    block_s = begun = 0.0
    for block, number in kinds:
        begun += number  # as many as are as long, and fit, share the units
        shared = {key: max(1.0, min(begun, slots) / places[key[0]]) * held_s for key, held_s in block.items()}
        block_s += number * _overlapped_s(_by_resource(shared, parameters.overlap), parameters.overlap)
    at_once = min(workload.blocks, slots)
    held = min(at_once, block_s / overlapped_s) if overlapped_s else at_once
    waiting = [(block[_Place.SLOT, Resource.LATENCY], number) for block, number in kinds]
    mean_s = math.fsum(one_s * number for one_s, number in waiting) / at_once
    if 1.001 * mean_s < seconds[Resource.LATENCY] <= 1.001 * max(waiting)[0]:
        seconds[Resource.LONGEST_BLOCK] = seconds.pop(Resource.LATENCY)
    seconds[Resource.LAUNCH] = parameters.launch_overhead_s
    time_s = parameters.launch_overhead_s + overlapped_s
    ranked = sorted(seconds, key=lambda resource: -seconds[resource])
    return TimePrediction(
        time_s,
        held * workload.warps_per_block / gpu.sm_count,
        ranked[0],
        tuple(Utilisation(resource, seconds[resource] / time_s) for resource in ranked if seconds[resource]),
        _notes(workload, gpu, {resource for resource in seconds if seconds[resource] > _MATTERS * time_s}),
    )


_MATTERS = 0.05
"""Share of the time below which no word is lost on the rate that is assumed for a unit."""


def _notes(workload: Workload, gpu: Gpu, busy: set[Resource]) -> tuple[str, ...]:
    notes = list(moved_bytes(workload, gpu).notes)
    done = workload.instructions
    for resource, number in (
        (Resource.INTEGER, done.integer),
        (Resource.FP64, done.fp64 + done.wide_conversion),
        (Resource.FP16, done.fp16),
        (Resource.SPECIAL, done.special),
        (Resource.TENSOR, done.tensor),
    ):
        rate = _known_rate(gpu, resource)
        if number and rate is None and resource in busy:
            share = f"{_SHARE_OF_FP32[resource]:g} of that of fp32 assumed, as on other boards"
            notes.append(f"rate of the {resource} unknown on the {gpu.name}: {share}")
        elif number and rate == 0:
            notes.append(f"the {gpu.name} has no {resource}: the rate of fp32 assumed")
    if workload.doubt == ASSUMED_TRIPS:
        notes.append("data decide how long loops run: all blocks taken to have the same work")
    if workload.atomics:
        notes.append("contention of atomics is modelled in part: the time is a lower bound")
    return tuple(notes)


def _overlapped_s(seconds: dict[Resource, float], exponent: float) -> float:
    """Seconds that resources take side by side: a p-norm of SM, memory, latency and barriers."""
    memory = max(seconds[resource] for resource in _OF_THE_CHIP)
    latency = max(seconds.get(resource, 0.0) for resource in WAITING)
    sm, rows = _units_s(seconds), seconds.get(Resource.DRAM_ROWS, 0.0)
    return _p_norm((memory, latency, sm, seconds[Resource.BARRIER], rows), exponent)


def _units_s(seconds: dict[Resource, float]) -> float:
    """Seconds that the units of an SM take: pipes and issue beside load/store, textures and constants."""
    near = max(seconds.get(resource, 0.0) for resource in _NEAR_MEMORY)
    pipes = max(
        held_s
        for resource, held_s in seconds.items()
        if resource not in _NOT_A_PIPE and resource not in _NEAR_MEMORY
    )
    return _p_norm((near, pipes), UNIT_OVERLAP)


def _p_norm(parts: tuple[float, ...], exponent: float) -> float:
    slowest = max(parts)
    if not slowest:
        return 0.0
    return slowest * sum((part / slowest) ** exponent for part in parts) ** (1.0 / exponent)


_SHARE_OF_FP32 = {
    Resource.INTEGER: 0.5,
    Resource.FP64: 1 / 64,
    Resource.FP16: 1.0,
    Resource.SPECIAL: 1 / 8,
    Resource.TENSOR: 4.0,
}
"""What an unknown rate is, relative to fp32: as on boards of compute capability 8.6 to 8.9."""


def _known_rate(gpu: Gpu, resource: Resource) -> float | None:
    """Operations that an SM starts in a clock; 0: the chip has no such unit; None: unknown."""
    match resource:
        case Resource.INTEGER:
            return gpu.int32_add_per_clock_per_sm
        case Resource.FP64:
            return gpu.fp64_fma_per_clock_per_sm
        case Resource.FP16:  # an instruction has two halves
            halves = gpu.fp16_vector_fma_per_clock_per_sm
            return None if halves is None else halves / 2
        case Resource.SPECIAL:
            return gpu.sfu_per_clock_per_sm
        case Resource.TENSOR:
            return gpu.tensor_fp16_dense_fma_per_clock_per_sm
        case _:
            return gpu.fp32_fma_per_clock_per_sm


def _rate(gpu: Gpu, resource: Resource) -> float:
    """The known rate, or what is assumed in its place."""
    rate, fp32 = _known_rate(gpu, resource), gpu.fp32_fma_per_clock_per_sm
    return _SHARE_OF_FP32[resource] * fp32 if rate is None else rate or fp32


def _integer_clocks(workload: Workload, gpu: Gpu) -> float:
    """Clocks of one SM for the integer instructions of one thread."""
    done, add_rate = workload.instructions, _rate(gpu, Resource.INTEGER)
    multiply_rate = gpu.int32_mul_per_clock_per_sm or add_rate
    multiply = done.integer_multiply / multiply_rate
    rest = max(0.0, done.integer - done.integer_multiply)
    if gpu.architecture.has_one_integer_pipe:
        return multiply + rest / add_rate
    busy = max(multiply, (done.fp32 + done.integer_multiply) / gpu.fp32_fma_per_clock_per_sm)
    even = (rest / add_rate - busy) / (1.0 / add_rate + 1.0 / multiply_rate)
    moved = min(MOVED_TO_MULTIPLIERS * rest, max(0.0, even))
    return max(multiply + moved / multiply_rate, (rest - moved) / add_rate)


def _atomic_clocks(workload: Workload, gpu: Gpu) -> float:
    """Clocks of L2 for the atomics of one warp: all slices together, or the one that has the busiest line."""
    chip = gpu.architecture
    together = workload.atomic_requests / (chip.atomic_requests_per_clock_per_sm * gpu.sm_count)
    return max(together, workload.atomic_line_requests * chip.atomic_line_cycles)


def resident_blocks(workload: Workload) -> float:
    """Blocks that an SM holds at a time, if the grid has so many."""
    return max(1.0, workload.active_warps_per_sm / workload.warps_per_block)


def warp_length_s(
    workload: Workload, gpu: Gpu, parameters: TimeParameters, moved: MovedBytes, clocks: Clocks
) -> float:
    """Seconds that a warp alone on its SM takes: its chain of dependent instructions, loads and barriers."""
    chip = gpu.architecture
    hertz = 1e6 * core_clock_mhz(gpu, clocks)
    loads = workload.global_loads if workload.dependent_loads is None else workload.dependent_loads
    if loads is None:
        loads = max(0.0, workload.instructions.load_store - workload.shared_accesses)
    past_l1 = min(1.0, moved.l2_bytes / moved.l1_bytes) if moved.l1_bytes else 0.0
    past_l2 = min(1.0, moved.dram_bytes / moved.l1_bytes) if moved.l1_bytes else 0.0
    load_cycles = chip.l1_latency_cycles + past_l1 * (chip.l2_latency_cycles - chip.l1_latency_cycles)
    load_s = load_cycles / hertz + past_l2 * 1e-9 * chip.dram_latency_ns
    slots, shared = workload.issue_slots_per_warp, workload.dependent_shared
    dependent = 0.5 * slots if workload.dependent_instructions is None else workload.dependent_instructions
    cycles = chip.dependent_issue_cycles * dependent
    cycles += chip.shared_latency_cycles * (0.5 * workload.shared_accesses if shared is None else shared)
    cycles = max(cycles, slots) + workload.barriers * BARRIER_CYCLES
    return parameters.latency_share * (cycles / hertz + loads * load_s)
