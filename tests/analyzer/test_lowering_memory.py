import pytest

from wattslice import ir

from .lowered import code, kernel_of, lower


def test_spaces_follow_pointers(tmp_path):
    body = """__shared__ float s[32]; extern __shared__ float d[]; float local[4];
      float* q = s; q += n; q[0] = c[n]; d[1] = local[n]; p[0] = *q;
      g += 1; float* r = local; r[1] = a.in[n].x;"""
    kernel = kernel_of(
        tmp_path,
        body,
        "float* p, int n, Args a",
        "struct Args { float4* in; int k; }; __constant__ float c[8]; __device__ int g;",
    )
    lines = code(kernel)
    assert "shared:f32[(q + 0*4)] = constant:f32[(&c + n*4)]" in lines
    assert "shared:f32[(&d + 1*4)] = local:f32[(&local + n*4)]" in lines
    assert "global:f32[(p + 0*4)] = shared:f32[q]" in lines
    assert "global:i32[&g] +=:i32 1" in lines
    assert "local:f32[(&local + 1*4)] = global:f32[((a.in + n*16))]" in lines
    assert {(v.name, v.dynamic) for v in kernel.shared_variables} == {("s", False), ("d", True)}


@pytest.mark.parametrize(
    ("declared", "is_dynamic", "length"),
    [
        ("extern __shared__ float s[32][32];", False, 32),
        ("extern\t __shared__ float s[sizeof(int) ][8];", False, 4),
        ("extern __shared__ __align__(16) float s[N + 1][8];", False, 9),
        ("extern __shared__ float s[ ][8];", True, None),
        ("extern __shared__ float s[];", True, None),
    ],
)
def test_extern_of_a_size_is_as_nvcc_takes_it_a_plain_array(tmp_path, declared, is_dynamic, length):
    kernel = kernel_of(tmp_path, f"{declared} p[0] = *(float *)s;", "float* p", "enum { N = 8 };")
    (variable,) = kernel.shared_variables
    assert (variable.dynamic, variable.type.length) == (is_dynamic, length)


def test_a_pointer_that_may_point_to_two_spaces_is_global(tmp_path):
    kernel = kernel_of(tmp_path, "__shared__ float s[4]; float* q = s; if (n) q = p; q[0] = 1;")
    assert code(kernel)[-1] == "global:f32[(q + 0*4)] = 1.0"


def test_records_in_registers_go_by_member_and_in_memory_by_offset(tmp_path):
    before = "struct P { float x; union { float f; int i; } u; }; struct W { float w[3]; int k; };"
    body = "P a; a.x = 1; a.u.i = 2; q[n].u.f = a.u.f; W b; b.k = 1; b.w[n] = 2; q[1] = q[0];"
    assert code(kernel_of(tmp_path, body, "P* q, int n", before)) == [
        "P a",
        "a.x = 1.0",
        "a.u.i = 2",
        "global:f32[(((q + n*8) + 4))] = a.u.f",
        "W b",
        "local:i32[(&b + 12)] = 1",
        "local:f32[((&b) + n*4)] = 2.0",
        "global:P[(q + 1*8)] = global:P[(q + 0*8)]",
    ]


def test_the_root_is_the_array_or_parameter_behind_a_pointer(tmp_path):
    kernel = kernel_of(tmp_path, "float* q = p + n; float* r = q; r[1] = 0;")
    stmt = kernel.body.statements[-1]
    assert isinstance(stmt, ir.ExprStmt)
    assert isinstance(stmt.expr, ir.Assign)
    assert isinstance(stmt.expr.target, ir.MemoryPlace)
    assert stmt.expr.target.root is kernel.parameters[0]


def test_a_reference_is_another_name(tmp_path):
    lines = code(kernel_of(tmp_path, "int& m = n; m += 1; float& x = p[n + 1]; x += 2;"))
    assert lines == ["n +=:i32 1", "f32* x = (p + (n +:i32 1)*4)", "global:f32[x] +=:f32 2.0"]


def test_casts_of_pointers_change_the_access(tmp_path):
    lines = code(kernel_of(tmp_path, "float4 v = reinterpret_cast<float4*>(p)[n]; p[0] = ((int2*)p)->y;"))
    assert lines[0] == "f32x4 v = global:f32x4[(f32x4*(p) + n*16)]"
    assert lines[1] == "global:f32[(p + 0*4)] = f32(global:i32[(i32x2*(p) + 4)])"


def test_library_accesses_are_accesses(tmp_path):
    body = """p[0] = __ldg(p + n); __stcs(p, 1.0f); atomicAdd(&s[n], 1); atomicCAS(m, 0, 1);
      p[1] = tex2D(t, 1, 2) + tex1Dfetch<float>(o, n);"""
    kernel = kernel_of(
        tmp_path,
        "__shared__ int s[4]; " + body,
        "float* p, int n, int* m, cudaTextureObject_t o",
        "texture<float, 2> t;",
    )
    assert code(kernel) == [
        "global:f32[(p + 0*4)] = global:f32[(p + n*4!)]",
        "global:f32[p] = 1.0",
        "atomic_add(shared:i32[(&s + n*4)]; 1)",
        "atomic_cas(global:i32[m]; 0, 1)",
        "global:f32[(p + 1*4)] = (fetch(t; 1.0, 2.0) +:f32 fetch(o; n))",
    ]
    assert kernel.parameters[3].space is ir.MemorySpace.TEXTURE


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", "int u = u + 1; p[u] = 1;"),
        ("", "float w[4] = {w[1], w[0]}; p[0] = w[0];"),
        ("", "{ x  p[n] = 3 * p[n]; }"),  # x is declared nowhere: an array `p` of its own
        ("__device__ int a = a + 1;", "p[a] = 1;"),
    ],
)
def test_what_is_initialised_with_itself_ends(tmp_path, before, body):
    program = lower(tmp_path, f"{before}\n__global__ void k(float* p, int n) {{ {body} }}\n")
    assert [kernel.name for kernel in program.kernels] == ["k"]
    assert not {d.rule for d in program.diagnostics} & {"PW007", "PW099"}
