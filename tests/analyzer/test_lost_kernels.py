# pyright: reportOptionalMemberAccess=false
# What is missing fails the test.

"""Kernels that clang loses because of something at file scope: told by name and line, never passed over."""

from pathlib import Path

import pytest

from wattslice import analyze_text, ir
from wattslice.cli import main
from wattslice.commands.analyze import exit_status, no_kernels
from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.findings.findings import findings_of
from wattslice.pipeline.files import analyze_files
from wattslice.report.formats import render

from .lowered import lower

LATER = """
__global__ void k(float *a) { a[threadIdx.x] += 1; }
__global__ void q(float *a) { a[threadIdx.x] += 1; }
int main() { float *a; k<<<64, 256>>>(a); q<<<64, 256>>>(a); }
"""


def _unread(program: ir.Program) -> dict[str, int]:
    """The kernels of which nothing is known, by name, with the line of the error that says so."""
    errors = {d.line: d.message for d in program.diagnostics if d.severity is ir.Severity.ERROR}
    found = {k.name: k.span.line for k in program.kernels if not k.body_is_complete and not k.body.statements}
    for name, line in found.items():
        assert errors[line].startswith(f"kernel '{name}' could not be read: ")
    return found


@pytest.mark.parametrize(
    "front",
    [
        "EXPORT_API",
        "DEFINE_THING(x)",
        "int z",
        "struct S { int a; }",
        "stray",
        ")",
        "#pragma unroll",
        "#pragma GCC unroll 4",
        "#pragma clang loop unroll(full)",
        "#ifdef __CUDACC__\nint z",  # what is lost may lie in a branch
    ],
)
def test_a_kernel_behind_something_unreadable_is_told(tmp_path: Path, front: str) -> None:
    program = lower(tmp_path, front + LATER + "#endif\n" * front.count("#if"))
    assert {kernel.name for kernel in program.kernels if kernel.body_is_complete} == {"q"}
    assert _unread(program) == {"k": front.count("\n") + 2}


@pytest.mark.parametrize(
    "front", ["template <typename T", "void f(int a) {", "#if 0", "/* no end", "class A {", "using std::none"]
)
def test_all_kernels_behind_something_without_end_are_told(tmp_path: Path, front: str) -> None:
    assert _unread(lower(tmp_path, front + LATER)) == {"k": 2, "q": 3}


def test_the_place_that_clang_complains_about_is_told_too(tmp_path: Path) -> None:
    program = lower(tmp_path, "#define TILE 16\n)" + LATER)
    assert ("PW001", 2, "not understood: expected unqualified-id") in [
        (d.rule, d.line, d.message) for d in program.diagnostics
    ]


def test_the_type_of_a_name_that_is_declared_nowhere_is_int(tmp_path: Path) -> None:
    program = lower(tmp_path, "__global__ void k(float *a) { a[0] = MISSING; MISSING.x = 3; }")
    told = " ".join(d.message for d in program.diagnostics)
    assert "member reference base type 'int' is not a structure" in told


@pytest.mark.parametrize(
    "text",
    [
        '// __global__ void k() {}\n/* __global__ void k() {} */ const char *s = "__global__ void k() {}";',
        'const char *s = R"(\n__global__ void k() {}\n)";',
        "#if 0 // off\n__global__ void k() {}\n#elif 0\n__global__ void k() {}\n#endif",
        "#if 1\nint x;\n#else\n__global__ void k() {}\n#endif",
        "#ifdef NOT_DEFINED\n__global__ void k() {}\n#else\n__global__ void r() {}\n#endif",
        "#define KERNEL(n) __global__ void n(float *a) { a[0] = 1; }\nKERNEL(r)",
        "#define WRAP(...) __VA_ARGS__\nWRAP(__global__ void r(float *a) { a[0] = 1; })",
        "#define NAME r\n__global__ void __launch_bounds__(64) NAME(float *a) { a[0] = 1; }",
        "__global__ void k(float *a);",
        "template <typename T> __global__ void r(T *a) { a[0] = 1; }",
        "template <typename T> __global__ void r(T *a) { a[0] = 1; }\n"
        "template <> __global__ void r<int>(int *a) { a[0] = 2; }",
        "struct A { template <int N> static __device__ void f(); };\nvoid __global__ r() {}",
    ],
)
def test_what_is_no_lost_kernel_is_not_told(tmp_path: Path, text: str) -> None:
    program = lower(tmp_path, text + "\nint *z = 2.5f;\n")  # such errors alone are nobody's concern
    assert {kernel.name for kernel in program.kernels} <= {"r"}
    if program.kernels:
        assert not [d for d in program.diagnostics if d.rule == "PW001"]


def test_a_lost_kernel_does_not_pass_the_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.cu"
    path.write_text("int z" + LATER)
    assert main(["gate", str(path), "--gpu", "v100", "--max-power", "1000"]) == 1
    assert "k: power unknown: kernel 'k' could not be read" in " ".join(capsys.readouterr().out.split())


def test_a_file_that_lost_all_its_kernels_gave_nothing(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("void f() {" + LATER)
    analysis = analyze_files(Config((path,), GpuChoice("v100")))
    assert exit_status(analysis) == 2
    report = render("junit", analysis, findings_of(analysis))
    assert '<error type="PW001" message="kernel \'k\' could not be read' in report
    path.write_text("int z" + LATER)
    assert exit_status(analyze_files(Config((path,), GpuChoice("v100")))) == 0


def test_no_kernel_is_called_undefined_that_clang_could_not_make(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("#define MAKE(n) __global__ void n(float *a) { a[0] = 1; }\nint z\nMAKE(k)\n")
    analysis = analyze_files(Config((path,), GpuChoice("v100")))
    assert no_kernels(analysis) == f"no kernel found in {path}: see the diagnostics"
    assert main(["gate", str(path), "--gpu", "v100", "--max-power", "1000"]) != 0


MISSING = """
#include "nowhere/types.h"
#include <lib/tensor.hpp>
template <typename T> __global__ void a(MissingAccessor<T, 2> x, T *y) { y[threadIdx.x] = x[threadIdx.x][0]; }
__global__ void b(lib::Tensor<float, 3> x, float *y) { y[threadIdx.x] = x(1, 2, threadIdx.x); }
__global__ void c(const lib::detail::Params p, float *y) { y[threadIdx.x] = p.scale; }
template <typename T, int N> __global__ void d(lib::View<T, N> v, T *y) { y[threadIdx.x] = v[threadIdx.x]; }
__global__ void e(lib::index_t n, float *y) { y[threadIdx.x] = 2; }
int main() {
    a<float><<<4, 64>>>(MissingAccessor<float, 2>(), nullptr);
    c<<<3, 64>>>({}, nullptr);
    lib::View<float, 2> v;
    d<float, 2><<<5, 64>>>(v, nullptr);
}
"""


def test_kernels_with_parameters_of_types_that_are_not_there():
    analysis = analyze_text(MISSING, gpu="v100")
    found = {kernel.name: kernel for kernel in analysis.kernels}
    assert sorted(found) == ["a", "b", "c", "d", "e"]
    assert all(kernel.work.counts_per_thread.global_store == 1 for kernel in found.values())
    assert [found[name].launch.grid for name in "acd"] == [(4, 1, 1), (3, 1, 1), (5, 1, 1)]
    assert "PW002" in {entry.rule for entry in analysis.diagnostics}


GOOD = """\
__global__ void k(float *a) { a[threadIdx.x] = 1.0f; }
int main() {
  float *a;
  k<<<4, 64>>>(a);
}
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (GOOD, None),
        (f"#include <nowhere.h>\n{GOOD}Thing made = thing();\n", None),
        (f"#include <nowhere.h>\n{GOOD}MACRO(of that header) here;\n", None),
        (GOOD + "std::chrono::no_such<int> f();\n", None),
        (GOOD + "syntax error here {\n", 6),
        (GOOD + "int f( { return\n", 6),
        (GOOD.removesuffix("}\n"), 4),
        (GOOD + "}\n", 6),
        (GOOD.replace("  float", "<<<<<<< HEAD\n  float").replace("  k", "=======\n>>>>>>> other\n  k"), 3),
    ],
)
def test_broken_syntax_is_told_wherever_it_stands(tmp_path, text, line):
    program = lower(tmp_path, text)
    told = {entry.line for entry in program.diagnostics if entry.message.startswith("not understood")}
    assert told == ({line} if line else set())
    assert [kernel.name for kernel in program.kernels] == ["k"]


@pytest.mark.parametrize(
    ("head", "others"),
    [
        ("#define KERNEL __global__\n", 1),
        ("#define KERNEL __attribute__((global))\n", 1),
        ("#define KERNEL __attribute__((global))\n", 2),
    ],
)
def test_a_kernel_that_a_macro_marks_stands_for_no_other(tmp_path: Path, head: str, others: int) -> None:
    seen = "".join(f"KERNEL void seen{number}(float *a) {{ *a = 1; }}\n" for number in range(others))
    program = lower(tmp_path, f"{head}int z\n__global__ void lost(float *a) {{ *a = 1; }}\n{seen}")
    assert _unread(program) == {"lost": 3}
    program = lower(tmp_path, f"{head}{seen}int z\n__global__ void lost(float *a) {{ *a = 1; }}\n")
    assert _unread(program) == {"lost": 3 + others}


def test_a_template_that_nobody_instantiates_has_the_defaults_of_its_parameters():
    """What the note says, and nothing that follows from them is called data."""
    text = """
    template <const int THREADS = 128, typename T>
    __global__ void sum(const T* a, T* y, int n) {
        int i = blockIdx.x * THREADS + threadIdx.x;
        T s = i < n ? a[i] : 0;
        for (int m = THREADS >> 1; m >= 1; m >>= 1) s += __shfl_xor_sync(~0u, s, m);
        y[i] = s;
    }
    template <int TILE, bool CHECKS> __global__ void copy(const float* a, float* o, int n) {
        __shared__ float tile[TILE][TILE + 1];
        int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
        if (!CHECKS || (x < n && y < n)) tile[threadIdx.y][threadIdx.x] = a[y * n + x];
        __syncthreads();
        o[y * n + x] = tile[threadIdx.y][threadIdx.x];
    }
    """
    analysis = analyze_text(text, gpu="v100")
    sum_, copy = analysis.kernels
    assert sum_.launch.block == (128, 1, 1)
    assert [loop.trip_count for loop in sum_.loops] == [7]
    assert copy.launch.block == (32, 32, 1)
    assert {told.rule for kernel in (sum_, copy) for told in kernel.assumptions} == {"PW010", "PW011"}
    notes = [told.message for told in analysis.diagnostics if told.rule == "PW006"]
    assert len(notes) == 2
    assert all("numbers as their defaults or 32, truths as true" in note for note in notes)


def test_launches_of_kernels_that_nothing_declares_are_told_by_line(tmp_path: Path) -> None:
    text = """#include "gone.h"
    __global__ void known(float *a) { a[threadIdx.x] += 1; }
    int main() {
      float *a = 0; void *all[] = {&a};
      known<<<1, 32>>>(a);
      plain<<<2, 64>>>(a);
      shaped<64, float><<<dim3(2), dim3(64)>>>(a);
      lib::inner<<<2, 64>>>(a);
      cudaLaunchKernel((void *)given, 2, 64, all, 0, 0);
      // talked<<<1, 1>>>(a);
    }"""
    told = [d for d in lower(tmp_path, text).diagnostics if "nothing declares" in d.message]
    names = ("plain", "shaped", "inner", "given")
    assert [(d.rule, d.line) for d in told] == [("PW001", 6), ("PW001", 7), ("PW001", 8), ("PW001", 9)]
    assert all(f"launch of '{name}'" in entry.message for name, entry in zip(names, told, strict=True))


def test_a_launch_of_what_a_header_has_is_no_unknown_one(tmp_path: Path) -> None:
    (tmp_path / "k.cuh").write_text("__global__ void k(float *a) { a[threadIdx.x] = gone(1); }")
    text = '#include "k.cuh"\nint main() { float *a = 0; k<<<1, 32>>>(a); }'
    assert not [d for d in lower(tmp_path, text).diagnostics if "nothing declares" in d.message]
