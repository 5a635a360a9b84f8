"""The host part of a generated program: allocate, fill, launch once, check."""

from __future__ import annotations

from collections.abc import Iterator

from wattslice_corpora.synthetic.kinds import SCALAR_KINDS
from wattslice_corpora.synthetic.plan import Plan
from wattslice_corpora.synthetic.spec import InputData, OperationKind, Pattern, SliceSpec, Space
from wattslice_corpora.synthetic.tiles import HOST_BITS

_CHECK = """\
#define CUDA_CHECK(call)                                                                    \\
    do {                                                                                    \\
        const cudaError_t status = (call);                                                  \\
        if (status != cudaSuccess) {                                                        \\
            fprintf(stderr, "%s:%d: %s\\n", __FILE__, __LINE__, cudaGetErrorString(status)); \\
            exit(1);                                                                        \\
        }                                                                                   \\
    } while (0)"""


def host_part(spec: SliceSpec, numbers: Plan) -> Iterator[str]:
    """`main` and what it needs."""
    seed_type, seed, total = "float", "-1.0f / 1024", "float"
    if spec.kind is not OperationKind.TENSOR:
        kind = SCALAR_KINDS[spec.kind]
        seed_type, seed, total = kind.seed_type, kind.seed, kind.total_type
    if spec.data is InputData.ZEROS:
        seed = "0"
    yield from _CHECK.splitlines()
    yield ""
    if spec.space in (Space.GLOBAL, Space.L2, Space.CONSTANT, Space.TEXTURE):
        yield from _patterned(spec)
        yield ""
    yield "int main(int argc, char** argv) {"
    yield f"    const int iterations = argc > 1 ? atoi(argv[1]) : {numbers.iterations};"
    arguments: list[str] = []
    if spec.is_global:
        yield from _memory(spec)
        arguments = ["data", "out"]
        yield f"    {total}* out;"
        yield f"    CUDA_CHECK(cudaMalloc(&out, kBlocks * kThreads * sizeof({total})));"
    elif spec.space is Space.CONSTANT:
        yield "    const std::vector<Bits> values = patterned(kTable);"
        yield "    CUDA_CHECK(cudaMemcpyToSymbol(table, values.data(), kTable * sizeof(Bits)));"
    elif spec.space is Space.TEXTURE:
        yield from _texture(spec)
        arguments = ["data"]
    arguments += [f"static_cast<{seed_type}>({seed})", "iterations"]
    yield f"    slice<<<kBlocks, kThreads>>>({', '.join(arguments)});"
    yield "    CUDA_CHECK(cudaGetLastError());"
    yield "    CUDA_CHECK(cudaDeviceSynchronize());"
    if spec.is_global:
        yield from _check(spec, total)
    else:  # the kernel itself has checked
        yield '    printf("OK\\n");'
        yield "    return 0;"
    yield "}"


def _patterned(spec: SliceSpec) -> Iterator[str]:
    if spec.kind is OperationKind.TENSOR:
        bits_type, bits = "unsigned", HOST_BITS
    else:
        kind = SCALAR_KINDS[spec.kind]
        bits_type = "unsigned long long" if kind.element_bytes == 8 else "unsigned"
        bits = kind.host_bits
    yield f"using Bits = {bits_type};  // of what memory holds"
    yield ""
    yield "std::vector<Bits> patterned(size_t count) {"
    if spec.data is InputData.ZEROS:
        yield "    return std::vector<Bits>(count);"
    else:
        yield "    std::vector<Bits> values(count);"
        yield "    unsigned h = 1;"
        yield "    for (Bits& value : values) {"
        yield "        h = h * 1664525u + 1013904223u;"
        yield f"        value = {bits};"
        yield "    }"
        yield "    return values;"
    yield "}"


def _memory(spec: SliceSpec) -> Iterator[str]:
    tensor = spec.kind is OperationKind.TENSOR
    element = "__half" if tensor else SCALAR_KINDS[spec.kind].element
    streams = spec.space is Space.GLOBAL and spec.pattern is not Pattern.RANDOM
    count = "static_cast<size_t>(iterations) * kStep" if streams else "kSet"
    yield f"    const size_t bytes = sizeof({element}) * {count};"
    yield f"    {element}* data;"
    yield "    CUDA_CHECK(cudaMalloc(&data, bytes));"
    yield "    const std::vector<Bits> values = patterned(1 << 20);"
    yield "    const size_t piece = values.size() * sizeof(Bits);"
    yield "    for (size_t done = 0; done < bytes; done += piece) {"
    yield "        const size_t next = bytes - done < piece ? bytes - done : piece;"
    yield "        char* const target = reinterpret_cast<char*>(data) + done;"
    yield "        CUDA_CHECK(cudaMemcpy(target, values.data(), next, cudaMemcpyHostToDevice));"
    yield "    }"


def _texture(spec: SliceSpec) -> Iterator[str]:
    texel = SCALAR_KINDS[spec.kind].texel
    yield "    const std::vector<Bits> values = patterned(kTable);"
    yield "    void* linear;"
    yield "    CUDA_CHECK(cudaMalloc(&linear, kTable * sizeof(Bits)));"
    yield "    CUDA_CHECK(cudaMemcpy(linear, values.data(), kTable * sizeof(Bits), cudaMemcpyHostToDevice));"
    yield "    cudaResourceDesc resource = {};"
    yield "    resource.resType = cudaResourceTypeLinear;"
    yield "    resource.res.linear.devPtr = linear;"
    yield f"    resource.res.linear.desc = cudaCreateChannelDesc<{texel}>();"
    yield "    resource.res.linear.sizeInBytes = kTable * sizeof(Bits);"
    yield "    cudaTextureDesc reading = {};"
    yield "    reading.readMode = cudaReadModeElementType;"
    yield "    cudaTextureObject_t data;"
    yield "    CUDA_CHECK(cudaCreateTextureObject(&data, &resource, &reading, nullptr));"


def _check(spec: SliceSpec, total: str) -> Iterator[str]:
    """Results are numbers; what always is one differs between threads at least."""
    sound = "std::isfinite(result)"
    if spec.data is InputData.ZEROS:
        sound = "result == 0"
    elif spec.kind is OperationKind.SPECIAL:
        sound = "!std::isnan(result)"  # 1 / 0 is a step like any other
    yield f"    std::vector<{total}> results(kBlocks * kThreads);"
    yield f"    const size_t size = results.size() * sizeof({total});"
    yield "    CUDA_CHECK(cudaMemcpy(results.data(), out, size, cudaMemcpyDeviceToHost));"
    if spec.kind is OperationKind.INT and spec.data is not InputData.ZEROS:
        yield "    const bool ok = results.front() != results.back();"
    else:
        yield "    bool ok = true;"
        yield f"    for (const {total} result : results) {{"
        yield f"        ok = ok && {sound};"
        yield "    }"
    yield '    printf("%s\\n", ok ? "OK" : "FAILED");'
    yield "    return ok ? 0 : 1;"
