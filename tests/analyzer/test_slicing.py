"""Backward slices, and the partition of docs/slicing.md."""

from pathlib import Path

from wattslice.frontend.cuda.read import read_cuda
from wattslice.ir import Kernel, MemorySpace
from wattslice.slicing import slices
from wattslice.slicing.slices import dependence_graph, slice_kernel

from .source_text import kernel_of

CORPUS = sorted((Path(__file__).parents[2] / "corpora" / "wattslice_corpora" / "kernels").rglob("*.cu"))
SCALE = """__global__ void scale(const float* a, float* out, int n) {
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = a[i];
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 256; k++)
        sum += s[k];
    out[i] = sum * 0.5f;
}
"""


def lines_of(kernel: Kernel) -> dict[str, tuple[int, ...]]:
    return {part.memory_space.value: part.lines for part in slice_kernel(kernel)}


def test_the_worked_example_of_the_documentation():
    assert lines_of(kernel_of(SCALE)) == {"global": (3, 4, 6, 9), "shared": (4, 5, 7, 8)}


def test_variables_are_those_accessed():
    found = {part.memory_space.value: set(part.variables) for part in slice_kernel(kernel_of(SCALE))}
    assert found == {"global": {"a", "out"}, "shared": {"s"}}


def test_address_arithmetic_goes_with_its_access():
    kernel = kernel_of(
        "__global__ void k(float* a, int n) {\n    __shared__ float s[64];\n    s[n * 3 + 1] = a[n * 7];\n}"
    )
    operators = {
        part.memory_space.value: sum(len(s.operations) for s in part.statements)
        for part in slice_kernel(kernel)
    }
    assert operators == {"global": 1 + 1, "shared": 1 + 2}


def test_a_kernel_without_memory_is_one_register_slice():
    (only,) = slice_kernel(
        kernel_of("__global__ void k(int n) { int x = n; for (int i = 0; i < n; i++) x += i; }")
    )
    assert only.memory_space is MemorySpace.REGISTER
    assert only.variables == ()


def test_the_backward_slice_of_a_space_leaves_out_what_it_does_not_need():
    graph = dependence_graph(kernel_of(SCALE))
    shared = [s.index for s in graph.statements if s.space is MemorySpace.SHARED]
    needed = set(shared)
    for index in (waiting := list(shared)):
        more = {*graph.sources(index), *graph.control[index]} - needed
        needed |= more
        waiting += more
    assert {graph.statements[i].span.line for i in needed} == {3, 4, 7, 8}


def test_slicing_gives_the_same_every_time():
    kernel = read_cuda(CORPUS[0]).kernels[0]
    first, second = slice_kernel(kernel), slice_kernel(kernel)
    assert [(p.memory_space, p.lines, p.variables) for p in first] == [
        (p.memory_space, p.lines, p.variables) for p in second
    ]


def test_a_dependence_is_looked_at_once_however_many_statements_share_it(monkeypatch):
    text = "".join(f" if (n > {i}) x = x + {i};\n" for i in range(40))
    uses = "".join(f" a[{i}] = x;\n" for i in range(40))
    graph = dependence_graph(kernel_of(f"__global__ void k(int* a, int n) {{\n int x = 0;\n{text}{uses}}}"))
    noted: list[int] = []
    push = slices.heappush

    def noting(heap: list[tuple[int, int]], item: tuple[int, int]) -> None:
        noted.append(item[1])
        push(heap, item)

    monkeypatch.setattr(slices, "heappush", noting)
    slices.partition(graph)
    assert sum(len(graph.sources(s.index)) for s in graph.statements) > 1500
    assert sum(map(len, graph.data)) < 5 * len(graph.statements)
    assert len(noted) < len(graph.data)


def test_a_value_is_as_near_by_two_ways_as_by_one():
    """Line 2 feeds the shared store, and the global one where it meets line 4: a tie, won by global."""
    kernel = kernel_of(
        "__global__ void k(int* a, int n) {\n int v = n * 2;\n __shared__ int s[1]; s[0] = v;\n"
        " if (n) v = 3;\n a[0] = v;\n}"
    )
    parts = {part.memory_space: part.lines for part in slice_kernel(kernel)}
    assert 2 in parts[MemorySpace.GLOBAL]
    assert 2 not in parts[MemorySpace.SHARED]
