import pytest

from wattslice import ir
from wattslice.frontend.cuda.lowering import inlining
from wattslice.ir.builtins import builtin, operations_of

from .lowered import code, kernel_of, lower


def costs(kernel: ir.Kernel) -> dict[str, float]:
    """Operations of all intrinsics of a kernel, by class."""
    found: dict[str, float] = {}
    for stmt in ir.walk_statements(kernel.body):
        for top in ir.statement_expressions(stmt):
            for expr in ir.walk_expressions(top):
                if isinstance(expr, ir.Intrinsic):
                    for count in expr.operations:
                        name = count.operation.value
                        found[name] = found.get(name, 0) + count.number
    return found


def test_every_call_gets_a_fresh_copy(tmp_path):
    kernel = kernel_of(
        tmp_path,
        "p[0] = f(p[1], n); p[2] = f(p[3], 1);",
        before="__device__ float f(float x, int k) { float y = x * k; return y; }",
    )
    calls = [
        expr
        for stmt in kernel.body.statements
        for top in ir.statement_expressions(stmt)
        for expr in ir.walk_expressions(top)
        if isinstance(expr, ir.InlinedCall)
    ]
    first, second = calls
    assert first.parameters[0] is not second.parameters[0]
    assert first.body.region != second.body.region


def test_reference_and_pointer_parameters_are_the_arguments(tmp_path):
    before = """__device__ void twice(float& x) { x *= 2; }
      __device__ void put(float* to, float x) { *to = x; }"""
    kernel = kernel_of(tmp_path, "float a = 1; twice(a); twice(p[n]); put(&a, 3); put(p, 3);", before=before)
    assert code(kernel) == [
        "f32 a = 1.0",
        "inline twice()",
        "a *=:f32 2.0",
        "inline twice(x=(p + n*4))",
        "global:f32[x] *=:f32 2.0",
        "inline put(x=3.0)",
        "a = x",
        "inline put(to=p, x=3.0)",
        "global:f32[to] = x",
    ]


def test_a_reference_to_one_of_two_objects_is_an_address_that_is_selected(tmp_path):
    before = """__device__ void inc(float& x) { x += 1; }
      __device__ float& larger(float& x, float& y) { if (x < y) return y; return x; }
      __device__ const float& least(const float& x, const float& y) { if (y < x) return y; return x; }"""
    text = "float a = 1, b = 2; inc(n ? a : b); inc(n ? p[0] : p[1]); larger(a, b) = 3; p[2] = least(a, b);"
    kernel = kernel_of(tmp_path, text, before=before)
    lines = code(kernel)
    assert kernel.body_is_complete
    assert [line for line in lines if line.startswith("inline inc")] == [
        "inline inc(x=(bool(n) ? &a : &b))",
        "inline inc(x=(bool(n) ? (p + 0*4) : (p + 1*4)))",
    ]
    assert [line for line in lines if "*=" not in line and "+=" in line] == [
        "local:f32[x] +=:f32 1.0",
        "global:f32[x] +=:f32 1.0",
    ]
    assert [line for line in lines if line.startswith("return")] == [
        "return &b",
        "return &a",
        "return b",
        "return a",
    ]


def test_methods_operators_and_constructors_are_followed(tmp_path):
    before = """struct V { float x; __device__ V(float a) : x(a) {}
        __device__ V operator+(const V& o) const { return V(x + o.x); }
        __device__ V& operator+=(const V& o) { x += o.x; return *this; } };"""
    kernel = kernel_of(tmp_path, "V a(p[0]); V b = a + V(2); b += a; q[1] += b;", "float* p, V* q", before)
    lines = code(kernel)
    assert "V a = inline V(a=global:f32[(p + 0*4)])" in lines
    assert "b.x +=:f32 a.x" in lines
    assert "global:f32[(this)] +=:f32 b.x" in lines
    assert kernel.body_is_complete


def test_lambdas_and_function_arguments_are_followed(tmp_path):
    before = """__device__ float w(float x) { return x * 2; }
      template <float (*F)(float)> __device__ float by_value(float x) { return F(x); }
      template <class F> __device__ float apply(F f, float x) { return f(x); }"""
    body = "auto h = [=](float x) { return x + n; }; p[0] = h(1); p[1] = apply(h, 2); p[2] = by_value<w>(3);"
    kernel = kernel_of(tmp_path, body, before=before)
    lines = code(kernel)
    assert lines.count("return (x +:f32 f32(n))") == 2
    assert "return (x *:f32 2.0)" in lines
    assert kernel.body_is_complete


@pytest.mark.parametrize(
    "body",
    [
        "return n <= 1 ? 1 : n * fact(n - 1);",
        "if (n <= 1) { return 1; } else { return n * fact(n - 1); }",
        "if (!(n <= 1)) { return n * fact(n - 1); } else { return 1; }",
        "int r = 1; if (!(n <= 1)) r = n * fact(n - 1); return r;",
    ],
)
def test_recursion_with_a_constant_ends_where_it_should(tmp_path, body):
    kernel = kernel_of(tmp_path, "p[0] = fact(5);", before=f"__device__ int fact(int n) {{ {body} }}")
    assert kernel.body_is_complete
    assert sum("n *:i32" in line for line in code(kernel)) == 4
    assert sum("n <=:i32 1" in line for line in code(kernel)) == 5


def test_unbounded_recursion_is_cut_and_said(tmp_path):
    program = lower(
        tmp_path,
        "__device__ int f(int n) { if (n > 1) return f(n - 1) + f(n - 2); return 1; }\n"
        "__global__ void k(int* p) { p[0] = f(p[1]); }",
    )
    (kernel,) = program.kernels
    assert not kernel.body_is_complete
    assert [d.rule for d in program.diagnostics] == ["PW005"]


def test_a_call_without_a_body_is_told_with_its_line(tmp_path):
    program = lower(
        tmp_path, "__device__ float g(float);\n__global__ void k(float* p) {\n  p[0] = g(p[1]);\n}\n"
    )
    (kernel,) = program.kernels
    assert not kernel.body_is_complete
    (found,) = program.diagnostics
    assert (found.rule, found.line) == ("PW005", 3)
    assert code(kernel) == ["global:f32[(p + 0*4)] = g{?}(global:f32[(p + 1*4)])"]


@pytest.mark.parametrize(
    ("name", "result", "expected"),
    [
        ("fmaf", ir.FLOAT32, {"fp32": 2}),
        ("fma", ir.FLOAT64, {"fp64": 2}),
        ("sqrtf", ir.FLOAT32, {"special": 1}),
        ("__expf", ir.FLOAT32, {"special": 1}),
        ("pow", ir.FLOAT64, {"special": 1}),
        ("erff", ir.FLOAT32, {"special": 1}),
        ("fabsf", ir.FLOAT32, {"fp32": 1}),
        ("fmax", ir.FLOAT64, {"fp64": 1}),
        ("max", ir.INT32, {"int": 1}),
        ("__fadd_rn", ir.FLOAT32, {"fp32": 1}),
        ("__fmaf_rz", ir.FLOAT32, {"fp32": 2}),
        ("__dsqrt_rn", ir.FLOAT64, {"special": 1}),
        ("__frcp_rn", ir.FLOAT32, {"fp32": 1}),
        ("__mul24", ir.INT32, {"int": 1}),
        ("__popc", ir.INT32, {"int": 1}),
        ("__shfl_down_sync", ir.FLOAT32, {"int": 1}),
        ("__ballot_sync", ir.UINT32, {"int": 1}),
        ("__syncthreads_or", ir.INT32, {"barrier": 1}),
        ("__float_as_int", ir.INT32, {}),
        ("__float2int_rn", ir.INT32, {}),
        ("printf", ir.INT32, {}),
        ("__threadfence", ir.VOID, {}),
    ],
)
def test_what_library_functions_cost(name, result, expected):
    rule = builtin(name)
    assert rule is not None
    counts = operations_of(rule, result, ())
    assert {c.operation.value: c.number for c in counts} == expected


@pytest.mark.parametrize(
    ("group", "bits"),
    [
        ("this_thread_block()", 32),
        ("tiled_partition<8>(cg::this_thread_block())", 32),
        ("coalesced_threads()", 32),
        ("this_cluster()", 32),
        ("this_grid()", 64),
    ],
)
def test_ranks_and_sizes_of_groups_are_words_but_those_of_the_grid(tmp_path, group: str, bits: int):
    """As `cooperative_groups.h` of CUDA 13 declares them."""
    before = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;"
    body = f"auto g = cg::{group}; auto r = g.thread_rank(); auto s = g.size(); p[0] = r + s;"
    kernel = kernel_of(tmp_path, body, before=before)
    declared = [s for s in ir.walk_statements(kernel.body) if isinstance(s, ir.Declare)]
    assert [s.variable.type.bits for s in declared if s.variable.name in ("r", "s")] == [bits, bits]


@pytest.mark.parametrize("name", ["my_function", "dot", "clampf", "make"])
def test_the_table_does_not_claim_what_it_does_not_know(name):
    assert builtin(name) is None


def test_cooperative_groups_cost_their_barriers_and_shuffles_only(tmp_path):
    body = """auto b = cg::this_thread_block(); auto t = cg::tiled_partition<32>(b);
      p[0] = t.shfl_down(p[1], 2); b.sync(); cg::sync(t);
      int i = b.thread_rank() + t.thread_rank() + t.meta_group_rank() + t.size() + b.group_index().x;"""
    before = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;"
    kernel = kernel_of(tmp_path, body, before=before)
    assert kernel.body_is_complete
    assert costs(kernel) == {"int": 1, "barrier": 2}
    assert ir.Semantics.OPAQUE not in {
        expr.semantics
        for stmt in kernel.body.statements[-1:]
        for top in ir.statement_expressions(stmt)
        for expr in ir.walk_expressions(top)
        if isinstance(expr, ir.Intrinsic)
    }


def test_matrices_count_as_tensor_operations(tmp_path):
    body = """fragment<matrix_a, 16, 16, 16, half, row_major> a;
      fragment<matrix_b, 16, 16, 16, half, col_major> b;
      fragment<accumulator, 16, 16, 16, float> c; fill_fragment(c, 0.0f); load_matrix_sync(a, h, 16);
      mma_sync(c, a, b, c); store_matrix_sync(p, c, 16, mem_row_major);"""
    before = "#include <mma.h>\nusing namespace nvcuda::wmma;"
    kernel = kernel_of(tmp_path, body, "float* p, half* h", before)
    assert costs(kernel) == {"tensor": 1}
    lines = [line for line in code(kernel) if "matrix_sync" in line]
    # A thread moves its share of the tile: 256 elements over 32 lanes.
    assert "global:f16x8[((h + " in lines[0]
    assert "), 32), 2), 16)*2)" in lines[0]
    assert lines[1].startswith("global:f32x8[((p + ")


def test_inline_assembly_counts_products_of_matrices(tmp_path):
    half = 'asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%1}, {%0};"'
    asm = f'{half} : "+f"(x) : "r"(n)); {half} : "+f"(x) : "r"(n));'
    kernel = kernel_of(tmp_path, f"float x = 0; {asm} p[0] = x;", "float* p, int n")
    assert costs(kernel) == {"tensor": 1}
    assert kernel.holes == ()
    asm = 'asm volatile("tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %0, 1;" :: "r"(n), "l"(p), "l"(p));'
    kernel = kernel_of(tmp_path, f"{asm} p[0] = 1;", "float* p, int n")
    assert costs(kernel) == {}
    assert any("stands in a descriptor" in one.message for one in kernel.holes)


def test_inline_assembly_counts_by_mnemonic(tmp_path):
    asm = (
        'asm volatile("{ .reg .f32 t; ld.global.f32 t, [%1]; fma.rn.f32 %0, t, t, t;\\n\\t"'
        ' "@p bra L; mov.b32 a, b; add.s32 a, a, 1; add.s32 a, a, 1;"'
        ' "sqrt.approx.f32 t, t; bar.sync 0; }" : "=f"(x) : "l"(p));'
    )
    kernel = kernel_of(tmp_path, f"float x; {asm} p[0] = x;")
    assert costs(kernel) == {"fp32": 2, "int": 2, "special": 1, "barrier": 1}
    assert code(kernel)[1] == "global:f32[p]"
    assert code(kernel)[2].startswith("x = asm")


@pytest.mark.parametrize(
    ("asm", "expected"),
    [
        ('"ld.global.cg.s32 %0, [%1];" : "=r"(x) : "l"(q + n)',
         ["i32* operand = (q + n*4!)", "x = global:i32[operand]"]),
        ('"ld.global.u8 %0, [%1+16];" : "=r"(x) : "l"(q)', ["x = i32(global:u8[(q + 16)])"]),
        ('"ld.u32 %[to], [%[from] + -4];" : [to] "=r"(x) : [from] "l"(s)', ["x = shared:u32[(&s + -4)]"]),
        ('"st.shared.v2.u32 [%0], {%1, %1};" :: "r"((unsigned)__cvta_generic_to_shared(s)), "r"(n)',
         ["shared:u32x2[u32x2*(operand)] = u32x2{n, n}"]),
        ('"{ ld.v2.f32 {%0, t}, [%2]; add.f32 %1, t, t; }" : "=f"(f), "=f"(g) : "l"(q)',
         ["f32x2 loaded = global:f32x2[q]", "f = loaded.x",
          "g = asm { ld.v2.f32 {%0, t}, [%2]; add.f32 %1, t{1 fp32}(q)"]),
        ('"atom.global.add.u32 %0, [%1], 1;" : "=r"(x) : "l"(q)', ["x = atomic_add(global:u32[q]; 1)"]),
        ('"cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(n), "l"(q)', ["global:u32x4[q]"]),
        ('"L: ld.global.u32 %0, [%[at]];" : "=r"(x) : "r"((n ? (1) : 2)), [at] "l"(q)',
         ["x = global:u32[q]"]),
        ('"ld.param.u32 %0, [pointer];" : "=r"(x)', ["x = asm ld.param.u32 %0, [pointer];{}()"]),
    ],
)  # fmt: skip
def test_inline_assembly_accesses_have_their_address(tmp_path, asm, expected):
    before = "#define MACRO(...) asm volatile(__VA_ARGS__)\n"
    body = "__shared__ int s[64]; int x = 0; float f, g; {}; q[0] = x + f + g + s[0];"
    direct = code(kernel_of(tmp_path, body.format(f"asm volatile({asm})"), "int* q, int n"))
    assert [line for line in direct if any(line.startswith(part) for part in expected)]
    for part in expected:
        assert any(line.startswith(part) for line in direct), direct
    # Out of a macro the same, although the source has no text of it.
    assert code(kernel_of(tmp_path, body.format(f"MACRO({asm})"), "int* q, int n", before)) == direct


@pytest.mark.slow
def test_inlining_has_a_budget_that_the_kernels_own_size_does_not_use_up(tmp_path, monkeypatch):
    before = "__device__ float f(float x) { return x * 2 + 1; }"
    large = kernel_of(tmp_path, "p[n] = p[1] + p[2];" * 3000 + "p[0] = f(p[1]);", before=before)
    assert large.body_is_complete
    steps = "".join(f"float y{k} = x * {k} + 1; x += y{k}; " for k in range(20))  # nothing that folds
    many = f"__device__ float f(float x) {{ {steps} return x; }}"
    calls = "".join(f"float z{k} = f(p[1]); p[0] += z{k};" for k in range(20))
    assert kernel_of(tmp_path, calls, before=many).body_is_complete
    monkeypatch.setattr(inlining, "PLAIN_CALLS_NODES", 2000)
    assert not kernel_of(tmp_path, calls, before=many).body_is_complete


def test_device_launches_and_the_device_runtime_are_told_and_the_rest_is_read(tmp_path):
    text = """
    template <int N> __global__ void t(float* p) { if (p[0] > N) t<N><<<1, 32>>>(p + 1); p[2] = 1; }
    __global__ void k(float* p) { p[0] = 1; k<<<1, 32>>>(p); cudaStream_t s; cudaStreamCreateWithFlags(&s, 1);
      p[1] = 2; }
    void run(float* p) { k<<<1, 1>>>(p); t<4><<<1, 1>>>(p); }"""
    program = lower(tmp_path, text)
    assert all(kernel.body_is_complete for kernel in program.kernels)
    assert {(d.rule, d.line) for d in program.diagnostics} == {("PW006", 2), ("PW006", 3), ("PW005", 3)}
    first = next(kernel for kernel in program.kernels if kernel.name == "k")
    assert [line for line in code(first) if "global" in line] == [
        "global:f32[(p + 0*4)] = 1.0",
        "global:f32[(p + 1*4)] = 2.0",
    ]


def test_the_value_of_an_undeclared_name_is_unknown_and_told(tmp_path):
    program = lower(tmp_path, "__global__ void k(float* p) { p[0] = p[1] * LIMIT; }")
    assert "LIMIT" in code(program.kernels[0])[0]
    assert [d.rule for d in program.diagnostics] == ["PW001"]
