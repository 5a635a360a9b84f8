import pytest

from wattslice import ir

from .lowered import code, kernel_of


@pytest.mark.parametrize(
    ("source", "lowered"),
    [
        ("p[0] = p[1] * 2 + 1;", "global:f32[(p + 0*4)] = ((global:f32[(p + 1*4)] *:f32 2.0) +:f32 1.0)"),
        # an implicit promotion to double is visible in the type the operation is done in
        ("p[0] = p[1] * 2.0;", "global:f32[(p + 0*4)] = f32((f64(global:f32[(p + 1*4)]) *:f64 2.0))"),
        ("n = n < 4.5f;", "n = i32((f32(n) <:f32 4.5))"),
        ("n <<= 3;", "n <<=:i32 3"),
        ("p[n] *= 2.0;", "global:f32[(p + n*4)] *=:f64 2.0"),
        ("n = (int)sizeof(float4) * 2 + 'a';", "n = 129"),
        ("n = -n ^ ~n;", "n = (-n ^:i32 ~n)"),
        ("*p++ = 1;", "global:f32[p += 4] = 1.0"),
        ("*(p + n) = 1;", "global:f32[(p + n*4!)] = 1.0"),
        ("p[0] = *(p - 2);", "global:f32[(p + 0*4)] = global:f32[(p - 2*4!)]"),
        ("n = n > 2 ? 1 : n;", "n = ((n >:i32 2) ? 1 : n)"),
        ("n = n && p[0] > 0;", "n = i32((bool(n) && (global:f32[(p + 0*4)] >:f32 0.0)))"),
        ("n = 3 > 2 ? n : 5;", "n = n"),
        ("n = threadIdx.x + blockDim.y * gridDim.z;",
         "n = i32((threadIdx.x +:u32 (blockDim.y *:u32 gridDim.z)))"),
        ("n = warpSize;", "n = warpSize"),
        ("p[0] = n / 2;", "global:f32[(p + 0*4)] = f32((n /:i32 2))"),
        ("n = true ? 7 / 2 : 0;", "n = 3"),
        ("n = (unsigned char)300;", "n = 44"),
        ("n = (unsigned)-1 / 1000000000u;", "n = 4"),
        ("n = ~0ull >> 60;", "n = 15"),
        ("n = -4294967286u;", "n = 10"),
        # what C leaves undefined stays an operation
        ("n = 1 << 40;", "n = (1 <<:i32 40)"),
        ("n = (int)1e999;", "n = i32(inf)"),
    ],
)  # fmt: skip
def test_an_expression(tmp_path, source, lowered):
    assert code(kernel_of(tmp_path, source)) == [lowered]


def test_const_integers_are_constants_and_const_floats_are_not(tmp_path):
    lines = code(kernel_of(tmp_path, "const int a = 4; const float b = 2; n = a * 2; p[0] = b * 2;"))
    assert lines[2:] == ["n = 8", "global:f32[(p + 0*4)] = (b *:f32 2.0)"]


def test_vector_values_are_built_and_taken_apart_by_lane(tmp_path):
    body = "float4 v = make_float4(1, 2, n, 4); v.y += v.x; q[n] = v; p[0] = q[1].z;"
    kernel = kernel_of(tmp_path, body, "float* p, float4* q, int n")
    assert code(kernel) == [
        "f32x4 v = f32x4{1.0, 2.0, f32(n), 4.0}",
        "v.y +=:f32 v.x",
        "global:f32x4[(q + n*16)] = v",
        "global:f32[(p + 0*4)] = global:f32[((q + 1*16) + 8)]",
    ]


def test_half_operators_are_arithmetic_in_half(tmp_path):
    body = "half x = h[0]; h[1] = x * x + __float2half(2.0f); h[2] = __hfma(x, x, x); bool b = x > x;"
    lines = code(kernel_of(tmp_path, body, "half* h", "#include <cuda_fp16.h>"))
    assert lines[1] == "global:f16[(h + 1*2)] = ((x *:f16 x) +:f16 2.0)"
    assert lines[2] == "global:f16[(h + 2*2)] = __hfma{2 fp16}(x, x, x)"
    assert lines[3] == "bool b = (x >:f16 x)"


def test_template_values_and_types_are_those_of_the_instance(tmp_path):
    from .lowered import lower

    program = lower(
        tmp_path,
        """template <class T, int N, bool F> __global__ void k(T* p) {
             if constexpr (F) p[N + 1] = T(N); else p[0] = 1;
             __shared__ T s[N][N]; s[1][0] = sizeof(T); }
           void run(double* p, float* q) { k<double, 4, true><<<1, 1>>>(p);
             k<float, 2, false><<<1, 1>>>(q); }""",
    )
    first, second = program.kernels
    assert first.qualified_name == "k<double, 4, true>"
    assert code(first) == ["global:f64[(p + 5*8)] = 4.0", "shared:f64[((&s + 1*32) + 0*8)] = 8.0"]
    assert code(second) == ["global:f32[(p + 0*4)] = 1.0", "shared:f32[((&s + 1*8) + 0*4)] = 4.0"]
    assert first.shared_variables[0].type.size_bytes == 128
    assert first.mangled_name != second.mangled_name


def test_numbers_of_regions_and_sites_are_dense(tmp_path):
    kernel = kernel_of(tmp_path, "if (n && p[0] > 1) for (int i = 0; i < n; i++) p[i] += p[i + 1];")
    regions: list[int] = []
    sites: list[int] = []
    for stmt in ir.walk_statements(kernel.body):
        regions.append(stmt.region)
        if isinstance(stmt, ir.Loop):
            regions += [stmt.test_region, stmt.step_region]
        for top in ir.statement_expressions(stmt):
            for expr in ir.walk_expressions(top):
                if isinstance(expr, ir.Logical):
                    regions.append(expr.right_region)
                if isinstance(expr, ir.Load):
                    sites.append(expr.place.site)
                if isinstance(expr, ir.Assign) and isinstance(expr.target, ir.MemoryPlace):
                    sites.append(expr.target.site)
    assert sorted(regions) == list(range(kernel.region_count))
    assert sorted(sites) == list(range(kernel.site_count))
