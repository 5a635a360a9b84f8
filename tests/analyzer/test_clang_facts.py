# ruff: noqa: E501  (CUDA sources on one line)
from pathlib import Path

import pytest

from wattslice.frontend.clang import BinaryOperator, CursorKind, ParsedUnit, ParseOptions, parse_cuda
from wattslice.frontend.clang.facts import (
    as_launch,
    attributes,
    body,
    clean,
    evaluate_int,
    functions,
    holes,
    kernels,
    launch_bounds,
    launches,
    unroll_pragma,
)


@pytest.fixture
def parse(tmp_path: Path):
    def run(text: str) -> ParsedUnit:
        path = tmp_path / "k.cu"
        path.write_text(text)
        return parse_cuda(path, ParseOptions(search_root=tmp_path))

    return run


def test_attributes_of_functions_and_variables(parse):
    unit = parse(
        "__constant__ float c[4]; __device__ int d; __managed__ int m;\n"
        "__host__ __device__ int f() { return 1; }\n__global__ void k() { __shared__ int s[3]; s[0] = f(); }\n"
    )
    found = {node.spelling: attributes(node) for node in unit.declarations()}
    assert found["c"] == {"constant"}
    assert found["d"] == {"device"}
    assert "managed" in found["m"]
    assert found["f"] == {"host", "device"}
    assert found["k"] == {"global"}
    shared = [n for k in kernels(unit) for n in k.walk() if n.kind == CursorKind.VAR_DECL]
    assert [(n.spelling, attributes(n), n.type.array_size) for n in shared] == [("s", {"shared"}, 3)]


def test_launch_bounds_fold_constants(parse):
    unit = parse(
        "#define T 128\n__global__ void __launch_bounds__(T * 2, 3) k() {}\n__global__ void plain() {}\n"
    )
    assert {k.spelling: launch_bounds(k, unit) for k in kernels(unit)} == {"k": (256, 3), "plain": ()}


def test_launch_shows_geometry_kernel_and_arguments(parse):
    unit = parse(
        "__global__ void k(float*, int) {}\nvoid go(float* a, dim3 g) { k<<<g, 64, 512>>>(a, 7); k<<<2, 3>>>(a, 8); }\n"
    )
    first, second = launches(unit)
    assert (first.kernel_name, first.line, len(first.arguments)) == ("k", 2, 2)
    assert first.kernel is not None
    assert first.grid is not None
    assert first.block is not None
    assert first.shared is not None
    assert evaluate_int(first.shared, unit) == 512
    assert unit.text(first.block) == "64"
    assert first.stream is None
    assert (second.shared, second.stream) == (None, None)
    assert as_launch(unit.root) is None


def test_template_launch_leads_to_its_instance_with_resolved_types(parse):
    unit = parse(
        "template <int N, class T> __global__ void k(T* a) { __shared__ T s[N]; if constexpr (N > 9) a[0] = s[0]; }\n"
        "void go(float* a) { k<32, float><<<1, 32>>>(a); }\n"
    )
    (site,) = launches(unit)
    assert site.kernel is not None
    assert site.kernel.template is not None
    assert site.kernel.template_arguments[0] == 32
    shared = next(n for n in site.kernel.walk() if n.kind == CursorKind.VAR_DECL)
    assert (shared.type.array_size, shared.type.element.canonical.spelling) == (32, "float")
    assert {k.kind for k in kernels(unit)} == {CursorKind.FUNCTION_TEMPLATE, CursorKind.FUNCTION_DECL}


def test_unroll_pragmas_are_read_from_the_text(parse):
    loop = "for (int i = 0; i < 8; i++) a[i] = i;\n"
    pragmas = [
        "#pragma unroll\n",
        "#pragma unroll 4\n",
        "#pragma nounroll\n",
        "#pragma unroll (N) // why\n",
        "",
    ]
    unit = parse("#define N 2\n__global__ void k(int* a) {\n" + "".join(p + loop for p in pragmas) + "}\n")
    loops = [n for k in kernels(unit) for n in k.walk() if n.kind == CursorKind.FOR_STMT]
    found = [unroll_pragma(n, unit) for n in loops]
    assert [None if p is None else (p.count_text, p.count) for p in found] == [
        ("", None),
        ("4", 4),
        ("1", 1),
        ("(N)", None),
        None,
    ]


def test_operators_are_named(parse):
    unit = parse("__global__ void k(int* a) { a[0] += 1; a[0] = a[1] << 2; }\n")
    (kernel,) = kernels(unit)
    kinds = (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR)
    assert [n.binary_operator for n in kernel.walk() if n.kind in kinds] == [
        BinaryOperator.ADD_ASSIGN,
        BinaryOperator.ASSIGN,
        BinaryOperator.SHL,
    ]


def test_evaluate_int_folds_enums_and_refuses_made_up_names(parse):
    unit = parse(
        "enum { E = 5 }; constexpr int C = E * 3;\n__global__ void k(int* a) { a[0] = C + 1; a[1] = UNKNOWN + 1; a[2] = a[3]; }\n"
    )
    (kernel,) = kernels(unit)
    right = [
        n.children[1]
        for n in kernel.walk()
        if n.kind == CursorKind.BINARY_OPERATOR
        and len(n.children) == 2
        and n.binary_operator == BinaryOperator.ASSIGN
    ]
    assert [evaluate_int(n, unit) for n in right] == [16, None, None]


def test_a_dropped_statement_is_a_hole_at_its_line(parse):
    unit = parse(
        "__global__ void k(int* a) {\n  a[0] = 1;\n  a[1] = a.x + 2;\n}\n__global__ void fine(int* a) { a[0] = 1; }\n"
    )
    found = {k.spelling: holes(k, unit) for k in kernels(unit)}
    assert [h.line for h in found["k"]][:1] == [3]
    assert found["fine"] == ()


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
def test_builtins_of_the_device_are_known(parse, statement: str):
    legacy = "texture<float, 1, cudaReadModeElementType> ref;\n"
    unit = parse(f"{legacy}__global__ void k(float* a) {{ {statement} }}\n")
    assert unit.recovered.declared == ()
    (kernel,) = kernels(unit)
    assert holes(kernel, unit) == ()
    for call in (n for n in kernel.walk() if n.kind == CursorKind.CALL_EXPR):
        target = call.referenced
        assert target is not None
        assert unit.is_builtin(target)
        assert target.kind != CursorKind.FUNCTION_DECL or body(target) is None


def test_user_functions_are_not_builtins(parse):
    unit = parse(
        "__device__ float f(float x) { return x; }\n__global__ void k(float* a) { a[0] = f(a[1]); }\n"
    )
    (kernel,) = kernels(unit)
    assert clean(kernel, unit)
    assert [unit.is_builtin(n) for n in functions(unit)] == [False, False]


def test_pragmas_text_and_holes_of_a_header_are_read_from_the_header(parse, tmp_path: Path):
    (tmp_path / "dev.h").write_text(
        "// a line that shifts everything\n__device__ void f(int* a) {\n#pragma unroll 6\n  for (int i = 0; i < 9; i++) a[i] = i;\n}\n"
        "__device__ void g(int* a) { a[0] = a.x; }\n"
    )
    unit = parse('#include "dev.h"\n__global__ void k(int* a) { f(a); g(a); }\n')
    (kernel,) = kernels(unit)
    f, g = (n.referenced for n in kernel.walk() if n.kind == CursorKind.CALL_EXPR)
    assert f is not None
    assert g is not None
    loop = next(n for n in f.walk() if n.kind == CursorKind.FOR_STMT)
    pragma = unroll_pragma(loop, unit)
    assert pragma is not None
    assert pragma.count == 6
    assert unit.text(loop).startswith("for (int i = 0;")
    assert [holes(n, unit) == () for n in (f, g)] == [True, False]
