"""`#pragma unroll NAME` means what the compiler makes of the name."""

from pathlib import Path

import pytest

from wattslice import ir
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.workload.instructions import InstructionKind, lower_instructions

from .source_text import launched

LOOP = "for (int i = 0; i < 64; i++) s = s * 1.5f + a[i];"
KERNEL = "__global__ void k(float* a) {{ float s = 0; {body}\na[0] = s; }}\n"


def unrolls(tmp_path: Path, text: str, *defines: str) -> tuple[list[int | None], list[str]]:
    path = tmp_path / "k.cu"
    path.write_text(text)
    program = read_cuda(path, ParseOptions(defines=defines))
    loops = [
        stmt for kernel in program.kernels for stmt in kernel.body.statements if isinstance(stmt, ir.Loop)
    ]
    return [loop.unroll for loop in loops], [d.message for d in program.diagnostics if d.rule == "PW006"]


def branches(before: str, pragma: str) -> float:
    text = before + KERNEL.format(body=f"\n{pragma}\n{LOOP}")
    kernel, profile = launched(f"{text}int main() {{ k<<<1, 32>>>(0); }}")
    return lower_instructions(kernel, profile).number(InstructionKind.BRANCH)


@pytest.mark.parametrize(
    ("before", "pragma"),
    [
        ("#define UNROLL 8\n", "#pragma unroll UNROLL"),
        ("#define UF (2*4)\n", "#pragma unroll UF"),
        ("constexpr int UF = 8;\n", "#pragma unroll (UF*1)"),
    ],
)
def test_a_name_counts_as_its_number(before, pragma):
    assert branches(before, pragma) == branches("", "#pragma unroll 8") != branches("", "#pragma unroll 2")


@pytest.mark.parametrize(
    ("before", "pragma", "number"),
    [
        ('#include "factor.h"\n', "#pragma unroll FACTOR", 4),
        ("#define U 2\n#undef U\n#define U 4\n", "#pragma unroll U", 4),
        ("#if 0\n#define U 2\n#else\n#define U (1 + 1) * 2\n#endif\n", "#pragma unroll(U)", 4),
        ("#define U 4 // not 2\n", "#pragma unroll U // the loop", 4),
        ("", "#pragma unroll 4 // unroll the loop", 4),
        ("", "#pragma unroll 4\n// nounroll is slower", 4),
        ("", "#pragma unroll 010", 8),
        ("", "#pragma unroll D", 16),
        ("#undef D\n#define D 4\n", "#pragma unroll D", 4),
        ("enum { U = 2, V };\n", "#pragma unroll V", 3),
        ("namespace n { constexpr int U = 4; }\n", "#pragma unroll n::U", 4),
        ("struct C { static const int U = 4; };\n", "#pragma unroll C::U / 2", 2),
        ("constexpr int U = 2;\n", "{ constexpr int U = 8; a[1] = U; }\n#pragma unroll U", 2),
        ("constexpr int U = 2;\n", "constexpr int U = 4;\n#pragma unroll U", 4),
        ("", "#pragma unroll sizeof(float)", 4),
        ("#define AGAIN(n) _Pragma(#n)\n", "AGAIN(unroll 4)", 4),
        ("#define U\n", "#pragma unroll U", 0),
    ],
)
def test_a_number_is_what_the_compiler_sees(tmp_path, before, pragma, number):
    (tmp_path / "factor.h").write_text("#define FACTOR 4\n")
    text = before + KERNEL.format(body=f"\n{pragma}\n{LOOP}")
    assert unrolls(tmp_path, text, "D=16") == ([number], [])


def test_an_argument_of_a_template_is_a_number_of_its_instance(tmp_path):
    body = f"constexpr int L = T * 2;\n#pragma unroll T\n{LOOP}\n#pragma unroll (L)\n{LOOP}"
    text = f"template <int T> {KERNEL.format(body=body)}"
    text += "int main() { k<4><<<1, 32>>>(0); k<3><<<1, 32>>>(0); }"
    found, notes = unrolls(tmp_path, text)
    assert (set(found), notes) == ({3, 4, 6, 8}, [])


def test_what_is_unknown_is_told_with_what_is_assumed(tmp_path):
    text = "constexpr int f() { return 4; }\n" + KERNEL.format(body=f"\n#pragma unroll f()\n{LOOP}")
    found, notes = unrolls(tmp_path, text)
    assert found == [None]
    assert notes == [
        "unroll count 'f()' is not a number known here: unrolled as compilers do without a pragma"
    ]


def test_a_macro_of_the_command_line_that_the_file_defines_again_is_told(tmp_path: Path):
    path = tmp_path / "k.cu"
    path.write_text("#define N 4\n#define M 3\n" + KERNEL.format(body=LOOP))
    diagnostics = read_cuda(path, ParseOptions(defines=("N=8", "M=3"))).diagnostics
    assert [(d.rule, d.severity, d.line, d.message) for d in diagnostics] == [
        ("PW001", ir.Severity.NOTE, 1, "-D N has no effect after this line, which defines it again")
    ]


@pytest.mark.parametrize(
    "loop",
    [
        "for (unsigned s = 1; s < {n}; s *= 2)\nif (t % (2 * s) == 0) x[t] += x[t + s];",
        "for (int i = 0; i < {n}; i++) x[t] += x[i];",
        "for (unsigned i = 0; i < {n} / 2; i += 4) x[t] += x[i];",
    ],
)
@pytest.mark.parametrize("of_launch", ["blockDim.x", "gridDim.x"])
def test_what_the_launch_says_is_no_constant_of_the_compiler(loop: str, of_launch: str):
    def mix(bound: str) -> tuple[float, ...]:
        body = f"__shared__ int x[512]; unsigned t = threadIdx.x; {loop.format(n=bound)}\na[t] = x[t];"
        source = (
            f"__global__ void k(int* a, unsigned n) {{ {body} }}\nint main() {{ k<<<256, 256>>>(0, 256); }}"
        )
        kernel, profile = launched(source)
        lowered = lower_instructions(kernel, profile)
        return tuple(lowered.number(kind) for kind in (InstructionKind.BRANCH, InstructionKind.ISETP))

    found, told = mix(of_launch), mix("n")
    assert found == pytest.approx(told, abs=2)
    assert mix("256u")[0] < told[0]


@pytest.mark.parametrize(
    ("step", "start", "test"), [("h *= 2", 1, "h < 64"), ("h >>= 1", 32, "h > 0"), ("h /= 2", 32, "h > 0")]
)
def test_a_step_at_the_end_of_a_body_unrolls_as_one_in_the_head(step, start, test):
    """`nvcc 13.0 -arch=sm_80` makes the same code of all four."""
    inner = "s = s * 1.5f + a[h];"
    forms = [
        f"for (int h = {start}; {test}; {step}) {{ {inner} }}",
        f"int h = {start}; while ({test}) {{ {inner} {step}; }}",
        f"int h = {start}; while ({test}) {{ {{ {inner} }} {{ {step}, a[70] = 1; }} }}",
        f"int h = {start}; for (; {test};) {{ {inner} {step}; }}",
    ]
    found: list[float] = []
    for form in forms:
        kernel, profile = launched(KERNEL.format(body=form) + "int main() { k<<<1, 32>>>(0); }")
        mix = lower_instructions(kernel, profile)
        found.append(mix.total - mix.number(InstructionKind.STG))
    assert found == pytest.approx([found[0]] * 4, abs=1.1)
    assert found[0] < 40


@pytest.mark.parametrize(
    ("jumps", "branches_around"),
    [
        ("if (c == 3) continue; s += a[c];", "if (c != 3) s += a[c];"),
        ("if (a[c] < 0) continue; s += 1;", "if (!(a[c] < 0)) s += 1;"),
        ("if (c < 3) { s += a[c]; continue; } s *= a[c];", "if (c < 3) s += a[c]; else s *= a[c];"),
        (
            "if (c == 3) continue; s += 1; if (c == 5) continue; s += a[c];",
            "if (c != 3) { s += 1; if (c != 5) s += a[c]; }",
        ),
        (
            "if (c < 4) { if (c == 2) continue; s += 1; continue; } s += a[c];",
            "if (c < 4) { if (c != 2) s += 1; } else s += a[c];",
        ),
        ("s += a[c]; if (c == 3) continue;", "s += a[c]; if (c == 3) ;"),
    ],
)
def test_a_continue_is_a_branch_around_the_rest(jumps, branches_around):
    """A loop with one was never unrolled: 5.5 times the instructions of nvcc 13."""
    mixes = []
    for body in (jumps, branches_around):
        loop = f"for (int c = 0; c < 8; ++c) {{ {body} }}"
        text = f"__global__ void k(float *a) {{ float s = 0; {loop} a[threadIdx.x] = s; }}"
        kernel, profile = launched(f"{text} int main() {{ k<<<1, 32>>>(0); }}")
        mixes.append({kind: lower_instructions(kernel, profile).number(kind) for kind in InstructionKind})
    assert mixes[0] == mixes[1]


LU = (
    "for (int k = 0; k < N - 1; k++) { float r = 1.f / a[k][k]; for (int i = k + 1; i < N; i++) {"
    " a[i][k] *= r; for (int j = k + 1; j < N; j++) a[i][j] -= a[i][k] * a[k][j]; } }"
)
EACH = "for (int i = 0; i < N; i++) for (int j = 0; j < N; j++)"

PRODUCT = f"{EACH} {{ float s = 0; for (int k = 0; k < N; k++) s += a[i][k] * a[k][j]; b[i * N + j] = s; }}"


@pytest.mark.parametrize(
    ("size", "body", "loads", "is_whole"),  # of SASS of nvcc 13
    [
        (8, PRODUCT, 64, True),
        (10, PRODUCT, 100, False),
        (7, f"{LU} {EACH} b[i * N + j] = a[i][j];", 49, True),
        (8, f"{LU} {EACH} b[i * N + j] = a[i][j];", 64, False),
    ],
)  # fmt: skip
def test_an_array_is_in_registers_where_all_copies_of_its_loops_are_few(size, body, loads, is_whole):
    kernel, profile = launched(
        "template <int N> __global__ void f(const float *x, float *b) { float a[N][N]; "
        f"{EACH} a[i][j] = x[(i * N + j) * 5120 + threadIdx.x]; {body} }}\n"
        f"int main() {{ f<{size}><<<40, 128>>>(0, 0); }}"
    )
    mix = lower_instructions(kernel, profile)
    assert (mix.number(InstructionKind.LDG) + mix.number(InstructionKind.LDL) == loads) is is_whole


def lane_loop(inner: str, outer: str = "for (int r = 0; r < n; r++)") -> float:
    body = f"int lane = threadIdx.x & 31; {outer} for ({inner}) s += a[r * n + c];"
    text = f"__global__ void k(float* a, int n) {{ float s = 0; {body}\na[0] = s; }}\n"
    kernel, profile = launched(f"{text}int main() {{ k<<<1, 64>>>(0, 8); }}")
    mix = lower_instructions(kernel, profile)
    return sum(mix.number(kind) for kind in (InstructionKind.ISETP, InstructionKind.BRANCH))


@pytest.mark.parametrize(
    ("inner", "is_unrolled"),  # SASS of nvcc 13
    [
        ("int c = lane; c < 64; c += 32", True),
        ("int c = lane; c <= 159; c += 32", True),
        ("int c = 63 - lane; c >= 0; c -= 32", True),
        ("int c = lane * 4; c < 256; c += 128", True),
        ("int c = lane; c < 192; c += 32", False),  # six iterations
        ("int c = lane; c < 100; c += 32", False),  # three or four
        ("int c = lane; c < 96; c += 48", False),  # a division
        ("int c = threadIdx.x; c < 2048; c += 1024", False),
    ],
)
def test_a_few_iterations_from_a_lane_are_known(inner, is_unrolled):
    assert (lane_loop(inner) < 24) is is_unrolled


def test_a_few_iterations_from_a_lane_are_known_inside_a_loop_alone():
    inner = "int c = lane; c < 64; c += 32"
    assert lane_loop(inner, "for (int r = 0; r < 4; r++)") <= 1  # EXIT
    assert lane_loop(inner, "int r = n;") > 8
    assert lane_loop("int c = lane; c < 32; c += 32", "int r = n;") <= 1  # it runs once


@pytest.mark.parametrize(
    ("access", "control", "integers"),  # SASS of nvcc 13: control, and integer instructions without MOV
    [
        ("atomicAdd(&s[k], a[i * d + k])", 4, 29),
        ("atomicAdd(&s[i * d + k], 1.f)", 4, 43),  # four pointers
        ("atomicExch((int*)&s[i * d + k], k)", 4, 73),
        ("s[i * d + k] = 1.f; __threadfence()", 8, 49),
    ],
)
def test_copies_with_an_atomic(access, control, integers):
    body = f"int i = blockIdx.x * blockDim.x + threadIdx.x; for (int k = 0; k < d; k++) {{ {access}; }}"
    text = f"__global__ void k(float* s, const float* a, int d) {{ {body} }}\n"
    kernel, profile = launched(f"{text}int main() {{ k<<<16, 64>>>(0, 0, 32); }}")
    mix = lower_instructions(kernel, profile)
    kinds = (InstructionKind.IMAD, InstructionKind.IADD, InstructionKind.LOP, InstructionKind.ISETP)
    assert mix.number(InstructionKind.BRANCH) < 2 * control
    assert sum(mix.number(kind) for kind in kinds) == pytest.approx(integers, rel=0.25)
