"""The CUDA text of a synthetic slice: one file, one kernel, one launch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from wattslice_corpora.synthetic.host import host_part
from wattslice_corpora.synthetic.kinds import CHAINS, LIGHT_CHAINS, SCALAR_KINDS, ScalarKind
from wattslice_corpora.synthetic.plan import Plan, plan, uses_thread
from wattslice_corpora.synthetic.spec import THREADS_PER_BLOCK, OperationKind, SliceSpec, Space
from wattslice_corpora.synthetic.tiles import TILE_CHAINS, TILE_ELEMENTS

KERNEL_NAME = "slice"
"""The name of the kernel in every generated file."""
_PER_LINE = 4
_TILE = "Tile<wmma::matrix_a, __half, wmma::row_major> "
_WIDTH = 94
_THREAD = "    const int thread = blockIdx.x * blockDim.x + threadIdx.x;"


def source(spec: SliceSpec) -> str:
    """A CUDA program that launches `spec` once: `slice [iterations]`, exit status 0 when all is well.

    The text needs nothing but the CUDA toolkit and compiles without warnings. Raises `SpecError` when the
    density is lower than accesses of this kind allow.
    """
    numbers = plan(spec)
    body = _tile_kernel(spec, numbers) if spec.kind is OperationKind.TENSOR else _scalar_kernel(spec, numbers)
    text = "\n".join((*body, "", *host_part(spec, numbers)))
    return "\n".join((*_head(spec, numbers), "", *_constants(spec, numbers, text), "", text)) + "\n"


def _head(spec: SliceSpec, numbers: Plan) -> Iterator[str]:
    where = f"{spec.data} data, {spec.blocks} of {spec.sm_count} multiprocessors"
    made = numbers.density(spec.access_weight)
    trip = f"{numbers.loads} loads, {numbers.mains_per_trip} main and {numbers.lights} light operations"
    yield f"// Synthetic slice {spec.name}."
    yield f"// A trip of the loop: {trip}."
    if made is not None:
        yield f"// Arithmetic density {made:.4g} with accesses of weight {spec.access_weight:.4g}."
        yield f"// {spec.pattern.capitalize()} addresses, {where}."
    else:
        yield f"// No memory access, {where}."
    yield "// Usage: slice [iterations]"
    if not spec.is_global and spec.kind is not OperationKind.INT:
        yield "#undef NDEBUG"
        yield "#include <cassert>"
    yield "#include <cmath>"
    yield "#include <cstdio>"
    yield "#include <cstdlib>"
    yield "#include <vector>"
    if spec.kind in (OperationKind.FP16, OperationKind.TENSOR):
        yield "#include <cuda_fp16.h>"
    if spec.kind is OperationKind.TENSOR:
        yield "#include <mma.h>"
        yield ""
        yield "using namespace nvcuda;"


def _constants(spec: SliceSpec, numbers: Plan, text: str) -> Iterator[str]:
    """What stands between the includes and the kernel; of the constants only those that `text` needs."""
    needed: list[str] = []
    for name, value in reversed(numbers.addressing.constants):
        if name in "\n".join((text, *needed)):
            needed.insert(0, f"constexpr int {name} = {value};")
    yield f"constexpr int kBlocks = {spec.blocks};"
    yield f"constexpr int kThreads = {THREADS_PER_BLOCK};"
    yield from needed
    if numbers.rounds:
        yield f"constexpr int kRounds = {numbers.rounds};"
    if spec.space is Space.CONSTANT:
        yield ""
        yield f"__constant__ {SCALAR_KINDS[spec.kind].element} table[kTable];"
    if spec.kind is OperationKind.FP16:
        yield ""
        yield "__device__ __half2 asHalves(unsigned bits) {"
        yield "    return *reinterpret_cast<const __half2*>(&bits);"
        yield "}"
    if spec.kind is OperationKind.SPECIAL:
        yield ""
        yield '#define RECIPROCAL(x) asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(x) : "f"(x))'
    if spec.kind is OperationKind.FP64 and spec.space is Space.TEXTURE:
        yield ""
        yield "__device__ double asDouble(int2 bits) { return __hiloint2double(bits.y, bits.x); }"


def _signature(spec: SliceSpec, element: str, skip: bool, seed_type: str, total_type: str) -> str:
    parameters: list[str] = []
    if spec.is_global:
        volatile = "volatile " if skip else ""
        parameters.append(f"const {volatile}{element}* data")
    if spec.space is Space.TEXTURE:
        parameters.append("cudaTextureObject_t data")
    if spec.is_global:
        parameters.append(f"{total_type}* out")
    parameters += [f"{seed_type} seed", "int iterations"]
    return f"__global__ void __launch_bounds__(kThreads)\n{KERNEL_NAME}({', '.join(parameters)}) {{"


def _scalar_kernel(spec: SliceSpec, numbers: Plan) -> Iterator[str]:
    kind = SCALAR_KINDS[spec.kind]
    where = numbers.addressing
    lights = tuple(f"b{chain}" for chain in range(min(numbers.lights, LIGHT_CHAINS)))
    mains = tuple(f"a{chain}" for chain in range(CHAINS))
    skip = numbers.values_used < numbers.loads
    yield _signature(spec, kind.element, skip, kind.seed_type, kind.total_type)
    if uses_thread(spec, where):
        yield _THREAD
    yield f"    const {kind.value} start = {kind.start};"
    yield from _indented(1, where.setup)
    starts = ["a0 = start", *(f"{name} = {kind.times.format(n)}" for n, name in enumerate(mains[1:], 1))]
    for line in _lines(starts, ", ", prefix=f"{kind.value} "):
        yield f"    {line};"
    if lights:
        yield f"    {kind.value} {', '.join(f'{name} = start' for name in lights)};"
    yield "#pragma unroll 1"
    yield "    for (int i = 0; i < iterations; ++i) {"
    yield from _indented(2, where.trip)
    yield from _indented(2, _scalar_loads(spec, kind, numbers))
    yield from _indented(2, _scalar_work(kind, numbers))
    yield from _indented(2, where.trip_end)
    yield "    }"
    if kind.lanes == 1:
        joined = " + ".join((*mains, *lights))
    else:
        joined = kind.total
        yield f"    {kind.value} all = a0;"
        yield from _indented(1, _lines([kind.join.format(a=name) for name in (*mains[1:], *lights)], " "))
    yield f"    const {kind.total_type} total = {joined};"
    yield from _end(spec, kind.improbable, kind.finite)
    yield "}"


def _scalar_loads(spec: SliceSpec, kind: ScalarKind, numbers: Plan) -> Iterator[str]:
    """The used values by name, the others read and dropped."""
    to_value = kind.to_value
    if spec.kind is OperationKind.FP64 and spec.space is Space.TEXTURE:
        to_value = "asDouble({v})"
    texts = [to_value.format(v=numbers.addressing.load_text(number)) for number in range(numbers.loads)]
    used = [f"v{number} = {text}" for number, text in enumerate(texts[: numbers.values_used])]
    for line in _lines(used, ", ", prefix=f"const {kind.value} "):
        yield f"{line};"
    dropped = [numbers.addressing.load_text(number) for number in range(numbers.values_used, numbers.loads)]
    if dropped:
        yield f"[[maybe_unused]] {kind.element} unused = {dropped[0]};"
        for line in _lines([f"unused = {text};" for text in dropped[1:]], " "):
            yield line


def _scalar_work(kind: ScalarKind, numbers: Plan) -> Iterator[str]:
    used = max(1, numbers.values_used)

    def main(number: int) -> str:
        return kind.main.format(a=f"a{number % CHAINS}", v=f"v{number % used}")

    yield from _round_loop(numbers, main)
    yield from _lines([main(number) for number in range(numbers.mains)], " ")
    first = numbers.mains
    lights = [
        kind.light.format(a=f"b{number % LIGHT_CHAINS}", v=f"v{(first + number) % used}")
        for number in range(numbers.lights)
    ]
    yield from _lines(lights, " ")


def _end(spec: SliceSpec, improbable: str, finite: str) -> Iterator[str]:
    """What keeps the total alive: a store, or, where global memory is not the slice's, a sleep of no time."""
    if spec.is_global:
        yield "    out[thread] = total;"
        return
    if finite:
        yield f"    assert({finite});"
    yield f"    __nanosleep({improbable});  // no time, but it needs the total: nothing can be left out"


def _tile_kernel(spec: SliceSpec, numbers: Plan) -> Iterator[str]:
    where = numbers.addressing
    chains = tuple(f"c{chain}" for chain in range(TILE_CHAINS))
    used = max(1, numbers.values_used)
    yield "template <class Use, class... Layout>"
    yield "using Tile = wmma::fragment<Use, 16, 16, 16, Layout...>;"
    yield ""
    yield _signature(spec, "__half", False, "float", "float")
    if uses_thread(spec, where):
        yield _THREAD
    yield from _indented(1, where.setup)
    yield f"    Tile<wmma::accumulator, float> {', '.join(chains)};"
    for name in chains:
        yield f"    wmma::fill_fragment({name}, seed);"
    yield "    Tile<wmma::matrix_b, __half, wmma::row_major> b;"
    first = {Space.SHARED: "table", Space.REGISTERS: ""}.get(spec.space, "data")
    if first:
        yield f"    wmma::load_matrix_sync(b, {first}, kLead);"
    else:
        yield "    wmma::fill_fragment(b, __float2half(seed));"
    for line in _lines([f"v{number}" for number in range(used)], ", ", prefix=_TILE):
        yield f"    {line};"
    if not first:
        yield "    wmma::fill_fragment(v0, __float2half(seed));"
    yield "#pragma unroll 1"
    yield "    for (int i = 0; i < iterations; ++i) {"
    yield from _indented(2, where.trip)
    for number in range(numbers.loads):
        yield f"        wmma::load_matrix_sync(v{number}, {where.load_text(number)}, kLead);"

    def main(number: int) -> str:
        chain = chains[number % TILE_CHAINS]
        return f"wmma::mma_sync({chain}, v{number % used}, b, {chain});"

    yield from _indented(2, _round_loop(numbers, main))
    yield from _indented(2, _lines([main(number) for number in range(numbers.mains)], " "))
    yield from _indented(2, where.trip_end)
    yield "    }"
    yield "    float total = 0.0f;"
    yield f"    for (int e = 0; e < {TILE_ELEMENTS}; ++e) {{"
    yield f"        total += {' + '.join(f'{name}.x[e]' for name in chains)};"
    yield "    }"
    yield from _end(spec, "total > 1e30f", "fabsf(total) < 1e30f")
    yield "}"


def _round_loop(numbers: Plan, main: Callable[[int], str]) -> Iterator[str]:
    if not numbers.rounds:
        return
    yield "#pragma unroll 1"
    yield "for (int k = 0; k < kRounds; ++k) {"
    yield from _indented(1, _lines([main(number) for number in range(numbers.round_mains)], " "))
    yield "}"


def _lines(texts: Sequence[str], separator: str, prefix: str = "") -> Iterator[str]:
    """`texts` joined behind `prefix`, up to four on a line and no line too long."""
    start = 0
    while start < len(texts):
        end = start + 1
        while end < min(start + _PER_LINE, len(texts)):
            if len(prefix + separator.join(texts[start : end + 1])) > _WIDTH:
                break
            end += 1
        yield prefix + separator.join(texts[start:end])
        start = end


def _indented(levels: int, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.startswith("#") else "    " * levels + line
