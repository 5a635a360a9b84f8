# ruff: noqa: E501  (CUDA sources on one line)
"""What CUDA declares without an #include: known by name, never followed, never mistaken for the user's code."""

from pathlib import Path

import pytest

from wattslice.frontend.cuda.clang.kinds import CursorKind
from wattslice.frontend.cuda.clang.session import parse_cuda
from wattslice.frontend.cuda.lowering.program import lower_program
from wattslice.frontend.cuda.read import read_cuda

from .lowered import lower


@pytest.mark.parametrize(
    "statement",
    [
        "a[0] = __fmaf_rn(a[0], __expf(a[1]), rsqrtf(a[2]));",
        "a[0] = __ldg(a + 1) + __ldcs(a + 2); __stcs(a, 1.0f);",
        "sincosf(a[0], a + 1, a + 2); a[3] = fminf(a[4], 2.0f) + max(3, 4);",
        "atomicAdd(a, 1.0f); atomicCAS((int*)a, 1, 2); __threadfence();",
        "a[0] += __shfl_down_sync(0xffffffffu, a[0], 16); __syncwarp(); a[1] = __ballot_sync(__activemask(), 1);",
        "float4 v = *reinterpret_cast<float4*>(a); v.x += v.w; *(float4*)a = make_float4(v.x, v.y, 0, 0);",
        "a[0] = tex1Dfetch<float>((cudaTextureObject_t)0, 3) + tex2D<float>((cudaTextureObject_t)0, 1.f, 2.f);",
        "a[0] = tex1Dfetch(ref, 3);",
        'asm volatile("add.f32 %0, %0, %1;" : "+f"(a[0]) : "f"(a[1]));',
        'printf("%d", 3); assert(a[0] > 0); a[0] = std::max(a[1], a[2]) + std::numeric_limits<float>::max();',
    ],
)
def test_builtins_of_the_device_are_known(tmp_path: Path, statement: str):
    path = tmp_path / "k.cu"
    legacy = "texture<float, 1, cudaReadModeElementType> ref;\n"
    path.write_text(f"{legacy}__global__ void k(float* a) {{ {statement} }}\n")
    unit = parse_cuda(path)
    assert unit.recovered.declared == ()
    assert unit.diagnostics == ()
    calls = [n for d in unit.root.children for n in d.walk() if n.kind == CursorKind.CALL_EXPR]
    targets = [target for call in calls if (target := call.referenced) is not None]
    assert len(targets) == len(calls)
    assert all(unit.is_builtin(target) for target in targets)
    program = lower_program(unit)
    assert [kernel.body_is_complete for kernel in program.kernels] == [True]
    assert program.diagnostics == ()


def test_user_functions_are_not_builtins(tmp_path: Path):
    path = tmp_path / "k.cu"
    path.write_text(
        "__device__ float fminf2(float x) { return x; }\n__global__ void k(float* a) { a[0] = fminf2(a[1]); }\n"
    )
    unit = parse_cuda(path)
    assert [unit.is_builtin(declaration) for declaration in unit.root.children] == [False, False]


def test_maxnreg_is_read(tmp_path: Path):
    path = tmp_path / "k.cu"
    path.write_text(
        "__global__ void __maxnreg__(8 * 3) k(int *a) { a[0] = 1; }\n__global__ void l(int *a) {}"
    )
    assert [kernel.max_registers for kernel in read_cuda(path).kernels] == [24, None]


def test_launch_bounds_fold_constants_and_refuse_made_up_names(tmp_path: Path):
    text = """#define T 128
    enum { E = 2 };
    __global__ void __launch_bounds__(T * 2, E + 1) k(int* a) { a[0] = 1; }
    __global__ void __launch_bounds__(UNKNOWN + 1) made_up(int* a) { a[0] = 1; }
    __global__ void plain(int* a) { a[0] = 1; }
    """
    kernels = {kernel.name: kernel for kernel in lower(tmp_path, text).kernels}
    bounds = {name: (k.max_threads_per_block, k.min_blocks_per_sm) for name, k in kernels.items()}
    assert bounds == {"k": (256, 3), "made_up": (None, None), "plain": (None, None)}


@pytest.mark.parametrize(
    "statement",
    [
        "auto [x, y] = std::array<float, 2>{a[0], a[1]}; a[2] = x * y;",
        "a[0] = std::get<1>(std::array<float, 2>{a[1], a[2]}) + std::array<float, 2>{a[3], a[4]}.back();",
        "std::array<float, 4> v{a[0], 1, 2, 3}; for (auto i = v.rbegin(); i != v.rend(); ++i) a[1] += *i;",
        "cuda::std::optional<float> v; if (a[0] > 0) v = a[1]; if (v) a[2] = *v + v.value_or(1);",
        "const cuda::std::optional<float> v(a[0]); a[1] = v.has_value() ? v.value() : 0;",
        "static_assert(std::is_trivially_copy_assignable<float>::value && std::tuple_size_v<std::pair<int, int>> == 2); a[0] = 1;",
        "static_assert(std::is_copy_constructible<int>::value && std::numeric_limits<float>::is_iec559); a[0] = 1;",
    ],
)
def test_parts_of_the_library_are_followed_on_the_device(tmp_path: Path, statement: str):
    heads = "#include <array>\n#include <cuda/std/optional>\n#include <limits>\n#include <tuple>\n"
    program = lower(tmp_path, f"{heads}__global__ void k(float *a) {{ {statement} }}")
    assert program.diagnostics == ()
    assert [kernel.body_is_complete for kernel in program.kernels] == [True]
