"""Re-analysis of edited texts: what a fresh analysis of the same text says, and no more work than needed."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.errors import WattsliceError
from wattslice.findings.quoting import Quoter
from wattslice.frontend.cuda.lowering.reuse import LoweredFunctions
from wattslice.ir import Program
from wattslice.launches.launch import KernelLaunch
from wattslice.launches.resolver import Neighbours
from wattslice.pipeline import incremental
from wattslice.pipeline.files import analyze_file, analyze_files, read_program
from wattslice.pipeline.incremental import CancelledError, IncrementalAnalyzer
from wattslice.pipeline.launch import LaunchResult
from wattslice_models.gpu import Gpu

from .ir_tokens import ir_tokens
from .text_edits import edited

SAXPY = """\
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
int main() { float *x, *y; saxpy<<<4096, 256>>>(1 << 20, 2.0f, x, y); }
"""

MANY = """\
#include "sizes.h"
#define TILE 16
#define MODE 1
#define SQUARE(x) ((x) * (x))
#if MODE == 1
#define STEP(x) ((x) + 1)
#else
#define STEP(x) ((x) * 2)
#endif
struct Pair { float left; int right[2]; };
struct Sum { __device__ float operator()(float a, float b) const { return a + b * TILE; } };
__constant__ int limits[4] = {1, 2, 3, 4};
__device__ float bias = 0.5f;
const int kRounds = 3;
static int size = 1 << 12, blocks;
__device__ float scaled(float x) { return SQUARE(x) * bias; }
__device__ inline float twice(float x) { return scaled(x) + scaled(x + 1.0f); }
__device__ Pair operator+(Pair a, Pair b) { a.left += b.left; return a; }
extern "C" {
__global__ void plain(int n, float *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < kRounds; ++r) x[i] = twice(x[i]) + limits[r];
}
}
namespace inner {
template <typename T, int N>
__global__ void general(const T *in, T *out, int n) {
    __shared__ T tile[TILE * N];
    int i = threadIdx.x;
    tile[i % (TILE * N)] = in[i];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (i + k < n) out[i] += tile[k];
}
}  // namespace inner
__global__ void with_object(Pair p, float *x) {
    Sum sum;
    Pair q = p + p;
    x[threadIdx.x] = sum(q.left, x[threadIdx.x]) + STEP(undeclared_somewhere);
}
int ceiling(int a, int b = 128) { return (a + b - 1) / b; }
void launch_all(float *x) {
    blocks = ceiling(size);
    plain<<<blocks, 128>>>(size, x);
    inner::general<float, 4><<<2, TILE * 4>>>(x, x, size);
    inner::general<double, 2><<<PARTS, 32>>>((double *)x, (double *)x, 64);
}
int main(int argc, char **argv) {
    float *x;
    Pair p = {1.0f, {2, 3}};
    if (argc > 1) size = atoi(argv[1]);
    cudaMalloc(&x, size * sizeof(float));
    launch_all(x);
    with_object<<<1, 32>>>(p, x);
}
"""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A file with what functions can depend on each other by."""
    (tmp_path / "sizes.h").write_text("#define PARTS 5\ninline int part(int n) { return n / PARTS; }\n")
    path = tmp_path / "many.cu"
    path.write_text(MANY, encoding="utf-8")
    return path


def _read(path: Path, text: str, earlier: LoweredFunctions | None) -> list[str]:
    try:
        return ir_tokens(read_program(path, Config((path,), GpuChoice("v100")), text.encode(), earlier))
    except WattsliceError as error:
        return [str(error)]


@given(seed=st.integers(0, 1 << 30))
@example(seed=164)  # an edit takes the instance away whose errors stood in the body of a template
@example(seed=265873829)  # several findings of one line, some remembered
@settings(
    max_examples=settings().max_examples // 25,
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)
@pytest.mark.slow
def test_an_edited_text_is_read_as_if_it_were_new(many: Path, seed: int) -> None:
    random = Random(seed)
    memory = LoweredFunctions()
    history = [MANY]
    for _ in range(6):
        assert _read(many, history[-1], memory) == _read(many, history[-1], None), history[-2:]
        history.append(edited(history, random))


@given(seed=st.integers(0, 1 << 30))
@settings(
    max_examples=settings().max_examples // 50,
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.function_scoped_fixture],
)
@pytest.mark.slow
def test_an_edited_text_is_analysed_as_if_it_were_new(many: Path, seed: int) -> None:
    random = Random(seed)
    config = Config((many,), GpuChoice("v100"))
    analyzer = IncrementalAnalyzer(config)
    history = [MANY]
    for _ in range(5):
        try:
            fresh = repr(IncrementalAnalyzer(config).analyze(many, history[-1]))
        except WattsliceError as error:
            with pytest.raises(WattsliceError, match=error.message):
                analyzer.analyze(many, history[-1])
        else:
            assert repr(analyzer.analyze(many, history[-1])) == fresh, history[-2:]
        history.append(edited(history, random))


@pytest.mark.parametrize(
    ("old", "new", "anew"),
    [
        ("kRounds; ++r) x", "kRounds; ++r)  x", {"plain"}),
        ("* bias; }", "* bias * 2; }", {"plain"}),  # by way of `twice`
        ("#define MODE 1", "#define MODE 2", {"plain", "general", "with_object"}),  # an #if asks for it
        ("#define MODE 1", "#define float double", {"plain", "general", "with_object"}),
        ("#define TILE 16", "#define TILE 32", {"plain", "general", "with_object"}),  # of Sum by operator()
        ("size = 1 << 12, blocks", "size = 1 << 13, blocks", set[str]()),
        ("<<<2, TILE", "<<<3, TILE", set[str]()),
        ("blocks = ceiling(size);", "if (blocks) {", set[str]()),  # no end of it
        ("a.left += b.left", "a.left += 2", {"plain", "general", "with_object"}),  # an operator: anybody's
    ],
)
def test_only_what_an_edit_can_have_touched_is_lowered_anew(
    many: Path, old: str, new: str, anew: set[str]
) -> None:
    config, memory = Config((many,), GpuChoice("v100")), LoweredFunctions()
    before = read_program(many, config, MANY.encode(), memory)
    assert MANY.count(old) == 1
    after = read_program(many, config, MANY.replace(old, new).encode(), memory)
    assert {k.name for k in after.kernels if k not in before.kernels} == anew


def test_a_name_that_a_macro_makes_is_depended_on(tmp_path: Path) -> None:
    path, memory = tmp_path / "pasted.cu", LoweredFunctions()
    text = """\
#define CALL(name, x) name##_step(x)
__device__ float half_step(float x) { return x * 0.5f; }
__global__ void k(float *x) { x[0] = CALL(half, x[0]); }
"""
    _read(path, text, memory)
    edited = text.replace("x * 0.5f", "x * 0.5f + 1")
    assert _read(path, edited, memory) == _read(path, edited, None)


def test_a_name_that_goes_on_in_the_next_line_is_depended_on(tmp_path: Path) -> None:
    path, memory = tmp_path / "spliced.cu", LoweredFunctions()
    text = """\
__device__ float half_of(float x) { return x * 0.5f; }
__global__ void k(float *x) { x[0] = half\\
_of(x[0]); }
"""
    _read(path, text, memory)
    edited = text.replace("x * 0.5f", "x * 0.5f + 1")
    assert _read(path, edited, memory) == _read(path, edited, None)


def test_a_name_made_up_for_host_code_is_nobodys_concern_after_an_edit_either(tmp_path: Path) -> None:
    path, memory = tmp_path / "torn.cu", LoweredFunctions()
    text = """\
__device__ int size = 3;
#pragma unroll
__global__ void k(float *x) { x[0] = 1; }
__global__ void q(float *x) { x[0] = 1; }
int main() { float *x; k<<<64, 256>>>(x); q<<<size, 256>>>(x); }
"""
    _read(path, text, memory)
    edited = text.replace("{ x[0] = 1; }", "{ x[0] = 2; }", 1)
    assert _read(path, edited, memory) == _read(path, edited, None)


def test_a_carriage_return_alone_ends_a_line(many: Path) -> None:
    memory, text = LoweredFunctions(), MANY.replace("\n", "\r\n")
    _read(many, text, memory)
    edited = text.replace("blocks;\r\n", "blocks;\r// a remark\r\n")
    assert edited != text
    assert _read(many, edited, memory) == _read(many, edited, None)


def test_what_is_told_of_a_reused_function_follows_the_text(many: Path) -> None:
    memory = LoweredFunctions()
    _read(many, MANY, memory)
    text = MANY.replace("kRounds = 3;", "kRounds = 3;  // undeclared_somewhere")  # the first mention of it
    assert _read(many, text, memory) == _read(many, text, None)


def test_an_included_file_that_changes_is_noticed(many: Path) -> None:
    analyzer = IncrementalAnalyzer(Config((many,), GpuChoice("v100")))
    assert (5, 1, 1) in [kernel.launch.grid for kernel in analyzer.analyze(many, MANY).kernels]
    many.with_name("sizes.h").write_text("#define PARTS 7\n", encoding="utf-8")
    assert (7, 1, 1) in [kernel.launch.grid for kernel in analyzer.analyze(many, MANY).kernels]


def test_a_launch_that_is_what_it_was_is_not_analysed_again(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyzer = IncrementalAnalyzer(Config((many,), GpuChoice("v100")))
    first = analyzer.analyze(many, MANY)
    analysed: list[str] = []
    original = incremental.Stages.launch

    def counted(
        self: incremental.Stages, launch: KernelLaunch, config: Config, gpu: Gpu, quoter: Quoter
    ) -> LaunchResult:
        analysed.append(launch.kernel.name)
        return original(self, launch, config, gpu, quoter)

    monkeypatch.setattr(incremental.Stages, "launch", counted)
    assert analyzer.analyze(many, MANY) == first
    assert analysed == []
    analyzer.analyze(many, MANY.replace("<<<2, TILE", "<<<3, TILE"))
    assert analysed == ["general"]


def test_the_host_code_of_another_file_counts_and_is_looked_at_again(tmp_path: Path) -> None:
    path, caller = tmp_path / "kernel.cu", tmp_path / "main.cpp"
    text = "__global__ void k(float *x) { x[0] = 1; }\nvoid run(int n, float *x) { k<<<n, 64>>>(x); }\n"
    caller.write_text("void run(int, float *);\nint main() { run(9, 0); }\n", encoding="utf-8")
    analyzer = IncrementalAnalyzer(Config((path,), GpuChoice("v100")))
    assert analyzer.analyze(path, text).kernels[0].launch.grid == (9, 1, 1)
    caller.write_text("void run(int, float *);\nint main() { run(11, 0); }\n", encoding="utf-8")
    assert analyzer.analyze(path, text).kernels[0].launch.grid == (11, 1, 1)


def test_another_file_that_launches_the_kernel_too_is_looked_at_again(tmp_path: Path) -> None:
    path, other = tmp_path / "kernel.cu", tmp_path / "more.cu"
    text = (
        "__global__ void k(float *x) { x[0] = 1; }\nvoid more();\nint main() { k<<<1, 64>>>(0); more(); }\n"
    )
    launching = "__global__ void k(float *);\nvoid more() { k<<<9, 64>>>(0); }\n"
    analyzer = IncrementalAnalyzer(Config((path,), GpuChoice("v100")))
    for blocks in (9, 11):
        other.write_text(launching.replace("9", str(blocks)), encoding="utf-8")
        found = analyzer.analyze(path, text).kernels
        assert {kernel.launch.grid[0] for kernel in found} == {1, blocks}


def test_the_text_counts_and_not_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "saxpy.cu"
    path.write_text(SAXPY, encoding="utf-8")
    config = Config((path,), GpuChoice("v100"))
    edited = SAXPY.replace("4096, 256", "16, 128")
    (kernel,) = IncrementalAnalyzer(config).analyze(path, edited).kernels
    assert (kernel.launch.grid, kernel.launch.block) == ((16, 1, 1), (128, 1, 1))
    path.write_text(edited, encoding="utf-8")
    assert analyze_files(config).kernels == (kernel,)


@pytest.mark.parametrize("name", ["new.cu", "new.c"])
def test_a_file_that_was_never_saved(tmp_path: Path, name: str) -> None:
    text = SAXPY if name.endswith(".cu") else "void f(float *a) { for (int i = 0; i < 9; i++) a[i] += 1; }\n"
    path = tmp_path / name
    found = IncrementalAnalyzer(Config((path,), GpuChoice("v100"))).analyze(path, text)
    path.write_text(text, encoding="utf-8")
    assert found.kernels
    assert found.kernels == analyze_file(path, Config((path,), GpuChoice("v100"))).kernels


def test_the_fragment_of_another_file_is_read_from_memory(tmp_path: Path) -> None:
    path = tmp_path / "body.cu"
    path.write_text("", encoding="utf-8")
    whole = '#define REAL float\n#define STEP 2\n#include "body.cu"\n'
    (tmp_path / "whole.cu").write_text(whole, encoding="utf-8")
    text = "__global__ void k(REAL *x) { x[threadIdx.x * STEP] += STEP; }\n"
    (kernel,) = IncrementalAnalyzer(Config((path,), GpuChoice("v100"))).analyze(path, text).kernels
    assert kernel.power_w is not None


def test_a_cancelled_analysis_ends_between_launches_and_leaves_no_trace(many: Path) -> None:
    analyzer = IncrementalAnalyzer(Config((many,), GpuChoice("v100")))
    asked = iter([False] * 4 + [True] * 99)
    with pytest.raises(CancelledError):
        analyzer.analyze(many, MANY, lambda: next(asked))
    assert analyzer.analyze(many, MANY) == IncrementalAnalyzer(Config((many,), GpuChoice("v100"))).analyze(
        many, MANY
    )


_GUARDED = """__managed__ int n;
__global__ void k(float *x, int n) { if (blockIdx.x * blockDim.x + threadIdx.x < n) x[threadIdx.x] = 1; }
"""


@pytest.mark.parametrize(("text", "old", "new"), [
    ("__global__ void k(float *x) { x[threadIdx.x] = 1; }", "threadIdx.x", "threadIdx.y"),
    (_GUARDED + "int main() { k<<<512, 256>>>(0, asked()); }", "< n", "< 2 * n"),
    (_GUARDED + "int main() { n = 3; k<<<1, 1>>>(0, 1); k<<<n, 32>>>(0, 1); }", "x[threadIdx.x]", "::n"),
    ("__global__ void k(float *x) { x[threadIdx.x] = 0; }\nint main() { float *x; cudaMalloc(&x, 1024);"
     "cudaMemset(x, 0, 1024); k<<<1, 256>>>(x); k<<<1, 256>>>(x); }", "= 0", "= 1.5f"),
    ("__global__ void k(float *x) { x[threadIdx.x] += 2; }\nint main() { float *x; cudaMalloc(&x, 1024);"
     "for (int i = 0; i < 5000; i++) k<<<1, 256>>>(x); }", "+=", "*="),
])  # fmt: skip
def test_what_is_told_of_launches_follows_the_bodies_of_kernels(
    tmp_path: Path, text: str, old: str, new: str
) -> None:
    path = tmp_path / "a.cu"
    config, edit = Config((path,), GpuChoice("v100")), text.replace(old, new)
    analyzer = IncrementalAnalyzer(config)
    before = repr(analyzer.analyze(path, text))
    assert (
        repr(analyzer.analyze(path, edit)) == repr(IncrementalAnalyzer(config).analyze(path, edit)) != before
    )


def test_an_edit_beside_many_instances_reads_no_host_code_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve instances, of which eight are followed; their grids are assumed, and so rest on their bodies."""
    path = tmp_path / "many.cu"
    ladder = " ".join(f"case {n}: k<{n}><<<m, 32>>>(x); break;" for n in range(12))
    text = (
        "template <int N> __global__ void k(float *x) { x[threadIdx.x + N] = N; }\n"
        f"void run(float *x, int n, int m) {{ switch (n) {{ {ladder} }} }}\n"
        "__global__ void other(float *x) { x[0] = 1; }\n"
    )
    resolved: list[int] = []
    plain = incremental.Stages.launches

    def noted(
        self: incremental.Stages, program: Program, config: Config, gpu: Gpu, around: Neighbours
    ) -> tuple[KernelLaunch, ...]:
        resolved.append(len(program.kernels))
        return plain(self, program, config, gpu, around)

    monkeypatch.setattr(incremental.Stages, "launches", noted)
    analyzer = IncrementalAnalyzer(Config((path,), GpuChoice("v100")))
    first = analyzer.analyze(path, text)
    assert len(first.kernels) == 9
    assert analyzer.analyze(path, f"{text}// an edit\n").kernels == first.kernels
    assert resolved == [13]
