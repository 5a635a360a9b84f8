"""The stand-in for a GPU keeps CUDA's rules, and says so when a program breaks one."""

from pathlib import Path

import pytest

from wattslice_tools.cuda_on_cpu.rewriting import rewritten
from wattslice_tools.cuda_on_cpu.toolchain import PLAIN, Toolchain

from .compiled import checking_toolchain, run

RULES = Path(__file__).parent / "cuda_on_cpu_rules.cu"
API = Path(__file__).parent / "cuda_on_cpu_api.cu"


@pytest.mark.slow
@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_what_works(order: str, toolchain: Toolchain):
    assert run(toolchain.compile(RULES), (), order) == (0, "")


@pytest.mark.slow
def test_the_api_of_programs(toolchain: Toolchain):
    assert run(toolchain.compile(API), ()) == (0, "")


SHELL = """
#include <cuda_runtime.h>
__global__ void k(int* data) {
    __shared__ int tile[32];
    BODY
}
int main() {
    int* data;
    cudaMalloc(&data, 32 * sizeof(int));
    k<<<1, 32>>>(data);
    for (int i = 0; i < 32; ++i) {
        if (data[i] != 31 - i) return 1;
    }
}
"""
RIGHT = "tile[threadIdx.x] = threadIdx.x; __syncthreads(); data[threadIdx.x] = tile[31 - threadIdx.x];"


LONELY = "if (threadIdx.x < 9) __syncwarp(); __syncthreads();"
STRANGER = "if (threadIdx.x < 9) __syncwarp(1); else __syncthreads();"
TWO_FUNCTIONS = "if (threadIdx.x & 1) __syncwarp(); else __any_sync(~0u, 1);"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "", None),
        ("__syncthreads();", "", ""),
        ("tile[threadIdx.x] = threadIdx.x;", "if (threadIdx.x > 0) tile[threadIdx.x] = threadIdx.x;", ""),
        ("31 - threadIdx.x", "32 - threadIdx.x", "global-buffer-overflow"),
        ("data[threadIdx.x]", "data[threadIdx.x + 1]", "heap-buffer-overflow"),
        ("__syncthreads();", LONELY, "waits for lanes that never come"),
        ("__syncthreads();", STRANGER, "not in its mask"),
        ("__syncthreads();", TWO_FUNCTIONS, "different functions"),
    ],
)
def test_what_is_found(old: str, new: str, message: str | None, tmp_path: Path, toolchain: Toolchain):
    path = tmp_path / f"{tmp_path.name}.cu"
    path.write_text(SHELL.replace("BODY", RIGHT.replace(old, new)), encoding="utf-8")
    executable = toolchain.compile(path)
    results = [run(executable, (), order) for order in ("ascending", "descending")]
    assert all(status == 0 for status, _ in results) == (message is None)
    assert message is None or any(status != 0 and message in output for status, output in results)


def test_rewriting_leaves_comments_strings_and_lines_alone():
    source = """// k<<<1, 2>>>(x)
/* k<<<1,
2>>>(x) */ char quote = '"'; const char* s = "k<<<1, 2>>>(x)";
void f() { ns::k<A<int>, 3>
  <<<dim3(n >> 3, g(a, b)), 32>>>(); k<<<1, 2>>>(h(x, y), z); }
void g() { out << "," << x; k << < 1, 2 >> > (); }
"""
    changed = rewritten(source)
    assert changed.splitlines()[:3] == source.splitlines()[:3]
    assert changed.count("\n") == source.count("\n")
    assert 'launch(cuda_on_cpu::Configuration(dim3(n >> 3, g(a, b)), 32), "k", [&]' in changed
    assert "{ ns::k<A<int>, 3>\n  (arguments...); });" in changed
    assert "{ k(arguments...); }, h(x, y), z); }" in changed
    assert 'out << "," << x; cuda_on_cpu::launch(cuda_on_cpu::Configuration( 1, 2 ), "k", ' in changed


@pytest.mark.slow
def test_the_other_way_to_switch_stacks(tmp_path: Path, toolchain: Toolchain):
    directory = tmp_path / "portable"
    directory.mkdir()
    flags = (*PLAIN, "-DCUDA_ON_CPU_UCONTEXT")
    portable = checking_toolchain(toolchain.compiler, directory, flags)
    assert run(portable.compile(RULES), (), "ascending") == (0, "")
