"""Forms that device code is written in: executed instructions, from the SASS of `nvcc 13.0 -arch=sm_80`."""

from pathlib import Path
from typing import NamedTuple

import pytest

from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.ir import MemorySpace
from wattslice.ir.accesses import memory_accesses
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice.workload.instructions import InstructionMix, lower_instructions
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice_models.gpu import load_gpu

from .source_text import launched


class Form(NamedTuple):
    """A kernel `k` with `int i`, the index of the thread, and what each thread executes."""

    name: str
    before: str
    parameters: str
    body: str
    expected: dict[K, float]


def loads(number: float, stores: float = 1, **more: float) -> dict[K, float]:
    return {K.LDG: number, K.STG: stores, **{K[name.upper()]: n for name, n in more.items()}}


NUMBERED = """
template <typename T, int n> struct Op {
  T s; __device__ Op(T s) : s(s) {} __device__ T operator()(T v) const { return v * s + n; } };
template <typename T, size_t n> struct Sized;
template <typename T> struct Sized<T, 4> { __device__ void operator()(T *a, T v) { *a = *a * v; } };
template <typename T> __device__ void scaled(T *a, T v) { Sized<T, sizeof(T)>()(a, v); }
"""
UNIONS = """
union V { float4 v; float f[4]; };
union W { float f; unsigned u; };
union D { double d; int2 i; };
union H { uint4 u; half2 h[4]; };
struct Tagged { int tag; union { float f; int n; }; };
template <typename T, int N> union Pack { T t[N]; int4 raw;
  __device__ T sum() const { T s = 0; for (int i = 0; i < N; i++) s += t[i]; return s; } };
"""
TENSOR = """
#include <mma.h>
using namespace nvcuda::wmma;
typedef fragment<matrix_a, 16, 16, 16, half, row_major> fa;
typedef fragment<matrix_b, 16, 16, 16, half, row_major> fb;
typedef fragment<accumulator, 16, 16, 16, float> fc;
typedef fragment<accumulator, 16, 16, 16, half> fh;
"""
TILES = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
"""
RECORDS = """
struct Body { float3 pos; float mass; float3 vel; int id; };
struct Plain { float x, y, z, w; };
struct Pair { float x; int n; };
"""
GUARDS = """
struct Add { int* p; __device__ Add(int* q) : p(q) {} __device__ ~Add() { atomicAdd(p, 1); } };
struct Store { float* p; float v; __device__ ~Store() { *p = v; } };
struct Derived : Add { __device__ Derived(int* q) : Add(q) {} };
template <typename T> struct Sum { T* p; T v; __device__ Sum(T* q) : p(q), v(0) {}
  __device__ void add(T x) { v += x; } __device__ ~Sum() { *p += v; } };
__device__ Store made(float* p, float v) { Store s{p, v}; return s; }
__device__ float twice(const float* in, float* o, int i) { Store s{o + i, in[i]}; return s.v * 2; }
"""
EARLY = """
__device__ void root(float& x, const float* a, int i, bool c) {
  x = a[i]; if (c) return; x = sqrtf(a[i + 4096]); }
__device__ void both(float& x, float& y, const float* a, int i) {
  x = a[i]; y = a[i + 4096]; if (x < 3) return; x = y * y; y = a[i + 8192]; }
__device__ void claim(float& x, const float* a, int i, int* n) {
  for (int k = 0; k < 4; k++) { x = a[i + k * 4096]; if (atomicAdd(n + k, 1) > 7) return; } x = 0; }
__device__ void given(float* x, const float* a, int i, int* n) {
  if (atomicAdd(n, 1) > 7) return; *x = a[i]; }
__device__ float within(const float* a, int i, int n) {
  if (i >= n) return 0; float s = a[i]; return s + a[i + 4096]; }
__device__ void replace(float& x, const float* a, int i) { x = a[i]; }
struct Most { float v; int n; __device__ void add(float x) { if (x < v) return; v = x; n++; } };
"""
TWICE = "#define TWICE(p) ({ float v; const float* q = (p); v = *q; v *= 2; v; })"
FORMS = [
    Form("union_array", UNIONS, "const float4* in, float* o",
         "V u; u.v = in[i]; o[i] = u.f[0] + u.f[1] + u.f[2] + u.f[3];", loads(1, fadd=3)),
    Form("union_array_written", UNIONS, "const float* in, float4* o",
         "V u; for (int k = 0; k < 4; k++) u.f[k] = in[i + k * 1024]; o[i] = u.v;", loads(4)),
    Form("union_scalars", UNIONS, "const float* in, unsigned* o",
         "W w; w.f = in[i]; o[i] = w.u >> 3;", loads(1, shf=1)),
    Form("union_halves", UNIONS, "const double* in, int* o",
         "D d; d.d = in[i]; o[i] = d.i.x ^ d.i.y;", loads(1, lop=1)),
    Form("union_of_two_parts", UNIONS, "const int* a, const int* b, double* o",
         "D d; d.i.x = a[i]; d.i.y = b[i]; o[i] = d.d * 2;", loads(2, dadd=1)),
    Form("union_overwritten", UNIONS, "const float* a, const float* b, unsigned* o",
         "W w; w.f = a[i]; w.f = b[i]; o[i] = w.u;", loads(1)),
    Form("union_in_a_loop", UNIONS, "const int* in, float* o",
         "W w; w.u = 0; for (int k = 0; k < 4; k++) w.u ^= in[i + k * 1024]; o[i] = w.f;", loads(4)),
    Form("union_anonymous", UNIONS, "const int* in, float* o",
         "Tagged t; t.tag = 3; t.n = in[i] + 1; o[i] = t.f;", loads(1)),
    Form("union_template", UNIONS, "const int4* in, float* o",
         "Pack<float, 4> p; p.raw = in[i]; o[i] = p.sum();", loads(1, fadd=4)),
    Form("nested_record", "struct In { float x, y; }; struct Out { In a, b; };", "const In* in, float* o",
         "Out s; s.a = in[i]; s.b.x = 1; o[i] = s.a.x + s.a.y;", loads(2, fadd=1)),
    # Of what a pointer points at memcpy knows no alignment: byte by byte.
    Form("memcpy_vector", "", "const float4* in, float* o",
         "float4 t; memcpy(&t, &in[i], 16); o[i] = t.x + t.y + t.z + t.w;", loads(16, fadd=3)),
    Form("memcpy_word", "", "const unsigned char* in, int* o",
         "int t; memcpy(&t, in + 4 * i, sizeof t); o[i] = t + 1;", loads(4)),
    Form("memcpy_store", "", "const int* in, int* o",
         "int t = in[i] + 1; memcpy(o + i, &t, sizeof t);", loads(1, 4)),
    Form("memcpy_both", "", "const float4* in, float4* o",
         "memcpy(&o[i], &in[i], sizeof(float4));", loads(16, 16)),
    Form("memcpy_array", "", "const float* in, float* o",
         "float t[4]; memcpy(t, in + 4 * i, sizeof t); o[i] = t[0] + t[1] + t[2] + t[3];", loads(16, fadd=3)),
    Form("memcpy_registers", "", "const float4* in, float* o",
         "float4 v = in[i]; float f[4]; memcpy(f, &v, 16); o[i] = f[0] + f[1];", loads(1, fadd=1)),
    Form("memcpy_record", "struct S { float a, b; int c; };", "const S* in, float* o",
         "S s; memcpy(&s, in + i, sizeof(S)); o[i] = s.a + s.b * s.c;", loads(12, ffma=1)),
    Form("memcpy_part", "", "const int* in, int2* o",
         "int2 t = make_int2(1, 2); memcpy(&t, in + i, 4); o[i] = t;", loads(4)),
    Form("memcpy_bits",
         "template <class T, class F> __device__ T bits(F f) { T t; memcpy(&t, &f, sizeof(T)); return t; }",
         "const float* in, unsigned* o", "o[i] = bits<unsigned>(in[i]) ^ 5;", loads(1, lop=1)),
    Form("memcpy_from_shared", "", "const float* in, float* o",
         """__shared__ float s[1024]; s[threadIdx.x] = in[i]; __syncthreads();
         float4 t; memcpy(&t, &s[4 * (threadIdx.x ^ 1)], 16); o[i] = t.x + t.y + t.z + t.w;""",
         loads(1, lds=1, sts=1)),
    Form("memcpy_to_shared", "", "const float* in, float* o",
         """__shared__ float s[256]; memcpy(&s[threadIdx.x], &in[i], 4); __syncthreads();
         o[i] = s[threadIdx.x ^ 1];""", loads(4, lds=1, sts=1)),
    Form("memcpy_assumed_aligned", "", "const float4* in, float* o",
         "float4 t; memcpy(&t, __builtin_assume_aligned(&in[i], 16), 16); o[i] = t.x + t.y;", loads(1)),
    Form("memset", "", "float4* o", "memset(&o[i], 0, 16);", loads(0, 16)),
    Form("statement_expression", "#define MAX(a, b) ({ auto p = (a); auto q = (b); p > q ? p : q; })",
         "const float* a, const float* b, float* o", "o[i] = MAX(a[i], b[i]) + 1;", loads(2, fadd=1)),
    Form("statement_expression_in_a_loop", TWICE, "const float* a, float* o",
         "float s = 0; for (int k = 0; k < 8; k++) s += TWICE(a + i + k * 1024); o[i] = s;",
         loads(8, ffma=8)),
    Form("statement_expression_in_an_arm", TWICE, "const float* a, float* o",
         "o[i] = threadIdx.x < 64 ? TWICE(a + i) : 0.f;", loads(0.25)),
    Form("statement_expression_that_returns", "", "const float* a, float* o",
         "({ if (threadIdx.x >= 64) return; o[i] = a[i]; });", loads(0.25, 0.25)),
    Form("statement_expression_of_a_pointer", "", "const float* a, float* o",
         """__shared__ float s[256]; float* p = ({ float* q = s + threadIdx.x; *q = a[i]; q; });
         __syncthreads(); o[i] = p[0] + s[threadIdx.x ^ 1];""", loads(1, lds=2, sts=1)),
    Form("destructor_at_a_return", GUARDS, "const float* in, float* o, int* c",
         "Add g(c); if (threadIdx.x >= 64) return; o[i] = in[i];", loads(0.25, 0.25, atom=1)),
    Form("destructor_in_a_loop", GUARDS, "const float* in, float* o",
         "for (int k = 0; k < 4; k++) { Store s{o + i + k * 4096, 0}; s.v = in[i + k * 4096] * 2; }",
         loads(4, 4)),
    Form("destructor_at_a_break", GUARDS, "const float* in, float* o, int* c",
         "for (int k = 0; k < 4; k++) { Add g(c + k); if (k == 2) break; o[i + k * 4096] = in[i + k]; }",
         loads(2, 2, atom=3)),
    Form("destructor_of_a_member", GUARDS, "const float* in, float* o",
         "struct { Store s; int n; } h; h.s.p = o + i; h.s.v = in[i];", loads(1)),
    Form("destructor_of_a_base", GUARDS, "const float* in, float* o, int* c",
         "Derived d(c); o[i] = in[i];", loads(1, atom=1)),
    Form("destructor_of_an_instance", GUARDS, "const double* in, double* o",
         "Sum<double> a(o + i); for (int k = 0; k < 4; k++) a.add(in[i + k * 4096]);", loads(5, dadd=5)),
    Form("destructor_of_what_is_returned", GUARDS, "const float* in, float* o",
         "Store s = made(o + i, in[i]); s.v += 1;", loads(1, fadd=1)),
    Form("destructor_behind_a_result", GUARDS, "const float* in, float* o, float* q",
         "q[i] = twice(in, o, i);", loads(1, 2)),
    Form("base_constructor", "struct B { float x; __device__ B(const float* a) : x(*a) {} };"
         "struct D : B { float y; __device__ D(const float* a) : B(a), y(a[1]) {} };",
         "const float* in, float* o",
         "D d(in + i); o[i] = d.x + d.y;", loads(2, fadd=1)),
    Form("delegating_constructor", "struct D { float a, b; __device__ D(float p, float q) : a(p), b(q) {}"
         "__device__ D(const float* p) : D(p[0], p[1]) {} };", "const float* in, float* o",
         "D d(in + i); o[i] = d.a + d.b;", loads(2, fadd=1)),
    Form("goto_out_of_two_loops", "", "const float* in, float* o", """float s = 0;
         for (int k = 0; k < 4; k++) for (int j = 0; j < 4; j++) {
           if (k == 2 && j == 2) goto done; s += in[i + (k * 4 + j) * 4096]; } done: o[i] = s;""", loads(10)),
    Form("goto_as_continue", "", "const float* in, float* o",
         "for (int k = 0; k < 4; k++) { if (k == 1) goto next; o[i + k * 4096] = in[i + k * 4096]; next: ; }",
         loads(3, 3)),
    Form("goto_keeps_what_was_assigned", "", "const float* a, const float* b, float* o",
         "float x = a[i]; if (threadIdx.x < 64) goto done; x = b[i]; done: o[i] = x;", loads(1.75)),
    Form("goto_decided_by_data", "", "const float* a, const int* flag, float* o",
         "if (flag[0] == 1) goto done; o[i] = a[i]; done: return;", loads(1.5, 0.5)),
    Form("goto_out_of_a_guarded_scope", GUARDS, "const float* in, float* o, int* c",
         "{ Add g(c); if (threadIdx.x >= 64) goto out; o[i] = in[i]; } out: return;",
         loads(0.25, 0.25, atom=1)),
    Form("dot_product_of_bytes", "", "const char4* a, const char4* b, int* o",
         "o[i] = __dp4a(a[i], b[i], o[i]);", loads(3)),
    Form("dot_product_of_unsigned_bytes", "", "const uchar4* a, const uchar4* b, unsigned* o",
         "o[i] = __dp4a(a[i], b[i], o[i]);", loads(3)),
    Form("dot_product_of_halves_of_words", "", "const short2* a, const char4* b, int* o",
         "o[i] = __dp2a_lo(a[i], b[i], __dp2a_hi(a[i], b[i], 3));", loads(2)),
    Form("matrix_tiles", TENSOR, "const half* a, const half* b, float* o",
         "fa x; fb y; fc c; fill_fragment(c, 0.0f); load_matrix_sync(x, a, 64); load_matrix_sync(y, b, 64);"
         "mma_sync(c, x, y, c); store_matrix_sync(o, c, 64, mem_row_major);", loads(8, 4)),
    Form("matrix_tiles_of_sums", TENSOR, "const half* a, half* o",
         "fh c; load_matrix_sync(c, a, 64, mem_row_major); store_matrix_sync(o, c, 64, mem_col_major);",
         loads(4, 4)),
    Form("matrix_tiles_through_shared_memory", TENSOR, "const half* a, const half* b, float* o",
         "__shared__ half s[256], t[256]; __shared__ float u[256]; s[threadIdx.x] = a[i];"
         "t[threadIdx.x] = b[i]; __syncthreads(); fa x; fb y; fc c; fill_fragment(c, 0.0f);"
         "load_matrix_sync(x, s, 16); load_matrix_sync(y, t, 16); mma_sync(c, x, y, c);"
         "store_matrix_sync(u, c, 16, mem_row_major); __syncthreads(); o[i] = u[threadIdx.x];",
         loads(2, 1, lds=3, sts=6)),
    Form("list_of_numbers", "", "const float* in, float* o",
         "float s = 0; for (int d : {1, 2, 3}) s += in[i + d]; o[i] = s;", loads(3, fadd=3)),
    Form("list_of_pointers", "", "const float* a, const float* b, float* o",
         "float s = 0; for (const float* p : {a, b}) s += p[i]; o[i] = s;", loads(2, fadd=2)),
    Form("shared_never_read", "", "const float* in, float* o",
         "__shared__ float s[256]; s[threadIdx.x] = in[i]; __syncthreads(); o[i] = in[i + 4096];",
         loads(1, sts=0, bar=1)),
    Form("shared_read_behind_a_pointer", "", "const float* in, float* o",
         """__shared__ float s[256]; s[threadIdx.x] = in[i]; __syncthreads();
         float* p = s; o[i] = p[threadIdx.x ^ 1];""", loads(1, sts=1, lds=1)),
    Form("shared_volatile", "", "const float* in, float* o",
         "__shared__ volatile float s[256]; s[threadIdx.x] = in[i]; o[i] = 1;", loads(1, sts=1)),
    Form("shared_added_to", "", "const float* in, float* o",
         "__shared__ float s[256]; s[threadIdx.x] += in[i]; o[i] = 1;", loads(1, sts=1, lds=1, fadd=1)),
    Form("group_reduction", TILES, "const float* in, float* o",
         "o[i] = cg::reduce(cg::tiled_partition<32>(cg::this_thread_block()), in[i], cg::plus<float>());",
         loads(1, fadd=5, shfl=5)),
    Form("group_reduction_of_doubles", TILES, "const double* in, double* o",
         "o[i] = cg::reduce(cg::tiled_partition<16>(cg::this_thread_block()), in[i], cg::plus<double>());",
         loads(1, dadd=4, shfl=32)),  # each SHFL with VOTEU, MATCH and REDUX of the mask
    Form("group_shuffle", TILES, "const float* in, float* o",
         "auto t = cg::tiled_partition<32>(cg::this_thread_block()); o[i] = t.shfl_xor(in[i], 1);",
         loads(1, lop=0, shfl=1)),
    Form("group_shuffle_in_part_of_a_warp", TILES, "const float* in, float* o",
         "auto t = cg::tiled_partition<16>(cg::this_thread_block()); o[i] = t.shfl_xor(in[i], 1);",
         loads(1, lop=2, shf=1, shfl=4, branch=2)),
    Form("group_vote_in_part_of_a_warp", TILES, "const int* in, int* o",
         "auto t = cg::tiled_partition<8>(cg::this_thread_block()); o[i] = t.any(in[i]);",
         loads(1, isetp=3, lop=1, shf=1, shfl=2, branch=2)),
    Form("members_one_after_the_other", "", "const float4* a, float4* o",
         "o[i].x = a[i].x * 3; o[i].y = a[i].y * 3; o[i].z = a[i].z * 3; o[i].w = a[i].w * 3;", loads(1, 1)),
    Form("members_of_restrict", "", "const float4* __restrict__ a, float4* __restrict__ o",
         "o[i].x = a[i].x * 3; o[i].y = a[i].y * 3; o[i].z = a[i].z * 3; o[i].w = a[i].w * 3;", loads(1, 1)),
    Form("members_added_to", "", "const float4* a, float4* o",
         "o[i].x += a[i].x; o[i].y += a[i].y; o[i].z += a[i].z;", loads(2, 2)),
    Form("members_that_may_be_stored_before", "", "const float2* a, float2* o",
         "o[i].x = a[i].x * a[i].y; o[i].y = 2 * a[i].x * a[i].y;", loads(2, 2)),
    Form("members_of_another_record", "struct __align__(8) A { float x, y; };", "const float2* a, A* o",
         "o[i].x = a[i].x; o[i].y = a[i].y;", loads(2, 2)),
    Form("members_crossed_in_restrict", "", "const float2* __restrict__ a, float2* __restrict__ o",
         "o[i].x = a[i].y; o[i].y = a[i].x;", loads(1, 1)),
    Form("members_around_another_store", "", "const float2* a, float2* o, float* f",
         "o[i].x = a[i].x; f[i] = 1; o[i].y = a[i].y;", loads(2, 3)),
    Form("members_crossed", "", "const int4* a, int4* o", "o[i].w = a[i].x; o[i].x = a[i].w;", loads(2, 2)),
    Form("magnitude_of_a_difference", "", "const float* a, const float* b, float* o",
         "float s = 0; for (int k = 0; k < 4; k++) s += fabsf(a[i + k] - b[i]); o[i] = s;",
         loads(5, fadd=8)),
    Form("magnitude_of_a_product", "", "const double* a, const double* b, double* o",
         "o[i] = fabs(a[i] * b[i]) + a[i];", loads(2, dmul=1, dadd=1, dfma=0)),
    Form("magnitude_compared", "", "const float* a, const float* b, float* o",
         "o[i] = fmaxf(fabsf(a[i]), fabsf(b[i]));", loads(2, fadd=0, fsetp=1)),
    Form("division_of_halves", "", "const __half* a, const __half* b, __half* o",
         "o[i] = __hdiv(a[i], b[i]);", loads(2, mufu=1, hfma2=4, ffma=2)),
    Form("exponential_of_pairs", "", "const __half2* a, __half2* o",
         "o[i] = h2exp(a[i]);", loads(1, mufu=2, hfma2=10, ffma=2)),
    Form("division_rounded_to_nearest", "", "const double* a, const double* b, double* o",
         "o[i] = __ddiv_rn(a[i], b[i]);", loads(2, mufu=1, dfma=7, dmul=1)),
    Form("length_of_a_vector", "", "const float* a, const float* b, float* o",
         "o[i] = norm3df(a[i], b[i], 2.f);", loads(2, mufu=1, ffma=4, fmul=7)),
    Form("smaller_of_long_integers", "", "const long long* a, const long long* b, long long* o",
         "o[i] = min(a[i], b[i]);", loads(2, isetp=4)),
    Form("bytes_at_once", "", "const unsigned* a, const unsigned* b, unsigned* o",
         "o[i] = __vadd4(a[i], b[i]);", loads(2, lop=4)),
    Form("shuffle_of_doubles", "", "const double* in, double* o",
         "o[i] = __shfl_down_sync(~0u, in[i], 1);", loads(1, shfl=2)),
    Form("shuffle_of_halves", "", "const __half2* in, __half2* o",
         "o[i] = __shfl_down_sync(~0u, in[i], 1);", loads(1, shfl=1)),
    Form("group_shuffle_of_vectors", TILES, "const float4* in, float4* o",
         "o[i] = cg::tiled_partition<32>(cg::this_thread_block()).shfl(in[i], 1);", loads(1, shfl=4)),
    Form("group_scan", TILES, "const int* in, int* o",
         "o[i] = cg::inclusive_scan(cg::tiled_partition<32>(cg::this_thread_block()), in[i]);",
         loads(1, isetp=10, shfl=5)),
    Form("wait_of_a_warp", TILES, "const float* in, float* o",
         "auto t = cg::tiled_partition<32>(cg::this_thread_block()); t.sync(); o[i] = in[i];",
         loads(1, bar=0, shfl=0)),
    Form("wait_of_part_of_a_warp", TILES, "const float* in, float* o",
         "auto t = cg::tiled_partition<16>(cg::this_thread_block()); t.sync(); o[i] = in[i];",
         loads(1, bar=0, shfl=3)),
    Form("wait_of_a_block", TILES, "const float* in, float* o",
         "cg::sync(cg::this_thread_block()); o[i] = in[i];", loads(1, bar=1, branch=1)),
    Form("the_least_number", "#include <limits>\n", "const float* in, float* o",
         "typedef std::numeric_limits<float> L; o[i] = fmaxf(in[i], L::lowest()) + -L::infinity();",
         loads(1, fsetp=1, fadd=1)),
    Form("an_object_of_a_template_of_numbers", NUMBERED, "float* a", "a[i] = Op<float, 4>(2.f)(a[i]);",
         loads(1, ffma=1)),
    Form("a_functor_of_a_template_of_sizes", NUMBERED, "float* a", "scaled(a + i, 2.f);", loads(1)),
    Form("wait_of_the_grid", TILES, "const float* in, float* o",
         "cg::this_grid().sync(); o[i] = in[i];", loads(1, bar=2, isetp=3, branch=6)),
    Form("rank_in_a_group", TILES, "float* o",
         "auto t = cg::tiled_partition<32>(cg::this_thread_block()); o[i] = t.thread_rank();",
         loads(0, ffma=0)),
    Form("record_put_back", RECORDS, "Body* p, float dt",
         "Body q = p[i]; q.pos.x += q.vel.x * dt; q.pos.y += q.vel.y; q.pos.z += q.vel.z * dt; p[i] = q;",
         loads(6, 3, ffma=2, fadd=1)),
    Form("record_put_elsewhere", RECORDS, "const Plain* p, Plain* o",
         "Plain q = p[i]; q.x *= 2; o[i] = q;", loads(4, 4)),
    Form("record_put_back_behind_a_store", RECORDS, "Plain* p, float* f",
         "Plain q = p[i]; f[i] = q.y; q.x *= 2; p[i] = q;", loads(4, 5)),
    Form("record_put_back_aligned", "", "float4* p", "float4 q = p[i]; q.x *= 2; p[i] = q;", loads(1)),
    Form("member_under_a_condition", RECORDS, "Plain* p", "Plain q = p[i]; if (q.y > 0) q.x *= 2; p[i] = q;",
         loads(2, fsetp=1)),
    Form("lane_under_a_condition", "", "const float4* a, float* o, const int* f",
         "float4 v = a[i]; if (f[i]) v.x = 1; o[i] = v.x + v.y;", loads(2, isetp=1)),
    Form("members_under_a_condition", RECORDS, "const Pair* a, float* o, const int* f",
         "Pair s = a[i]; if (f[i] > 3) s.x = 0; else s.n = 2; o[i] = s.x * s.n;", loads(3, isetp=1)),
    Form("switch_without_a_default", "", "const float* a, const int* f, float* o",
         "float x = a[i]; switch (f[i]) { case 0: x = 1; break; case 1: x = 2; } o[i] = x;", loads(2)),
    Form("switch_left_early", "", "const float* a, const float* b, float* o",
         "float x = 0; switch (threadIdx.x & 1) { case 0: x = a[i]; if (b[0] > 0) break; x = 3; } o[i] = x;",
         loads(1)),
    Form("return_keeps_a_reference", EARLY, "const float* a, float* o",
         "float x; root(x, a, i, threadIdx.x < 64); o[i] = x;", loads(1.75, isetp=1.75, mufu=0.75)),
    Form("return_keeps_two", EARLY, "const float* a, float* o",
         "float x, y; both(x, y, a, i); o[i] = x; o[i + 4096] = y;", loads(2.5, 2, fmul=0.5, fsetp=1)),
    Form("return_out_of_a_loop", EARLY, "const float* a, float* o, int* n",
         "float x; claim(x, a, i, n); o[i] = x;", loads(4, atom=4)),
    Form("return_before_an_assignment", EARLY, "const float* a, const float* b, float* o, int* n",
         "float x = b[i]; given(&x, a, i, n); o[i] = x;", loads(1.5, atom=1)),
    Form("return_from_a_member", EARLY, "const float* a, float* o",
         "Most t{a[i], 0}; for (int k = 1; k < 4; k++) t.add(a[i + k * 4096]); o[i] = t.v + t.n;",
         loads(4, fsetp=3, fadd=1)),
    Form("return_as_a_guard", EARLY, "const float* a, const float* b, float* o",
         "o[i] = within(a, threadIdx.x, 64) + within(b, threadIdx.x, 64);", loads(1, fadd=1.5, isetp=1)),
    Form("return_from_the_kernel", "", "const float* a, float* o",
         "float x = a[i]; if (threadIdx.x >= 64) return; x = a[i + 4096]; o[i] = x;",
         loads(0.25, 0.25, isetp=1)),
    Form("break_keeps_what_was_assigned", "", "const float* a, float* o, int* n", """float x = 0;
         for (int k = 0; k < 4; k++) { x = a[i + k * 4096]; if (atomicAdd(n + k, 1) > 7) break; x = 0; }
         o[i] = x;""", loads(4, atom=4)),
    Form("break_in_two_loops", "", "const float* a, float* o, int* n", """float x = 0;
         for (int j = 0; j < 2; j++) { for (int k = 0; k < 2; k++) {
           x = a[i + (2 * j + k) * 4096]; if (atomicAdd(n + k, 1) > 7) break; x = 0; }
           if (x > 3) break; x = 0; } o[i] = x;""", loads(4, fsetp=2, atom=4)),
    Form("continue_keeps_what_was_assigned", "", "const float* a, float* o, int* n", """float x = 0;
         for (int k = 0; k < 4; k++) { x += a[i + k * 4096]; if (atomicAdd(n + k, 1) > 7) continue; x = 0; }
         o[i] = x;""", loads(4, fadd=4, atom=4)),
    Form("continue_into_the_next_iteration", "", "const float* a, float* o, int* n", """float x = 0, s = 0;
         #pragma unroll 1
         for (int k = 0; k < 4; k++) {
           s += x; x = a[i + k * 4096]; if (atomicAdd(n + k, 1) > 7) continue; x = 0; }
         o[i] = s;""", loads(4, fadd=4, atom=4)),
    Form("assigned_in_a_function", EARLY, "const float* a, const float* b, float* o",
         "float x = b[i]; replace(x, a, i); o[i] = x;", loads(1)),
]  # fmt: skip


HEADERS = (
    "cuda_fp16.h",
    "mma.h",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
)


def written(form: Form) -> tuple[str, str]:
    """Its kernel with what stands in front, and the launch."""
    given = ", ".join("{}" for _ in form.parameters.split(","))
    index = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    kernel = f"__global__ void k({form.parameters}) {{ {index} {form.body} }}"
    return f"{form.before}\n{kernel}\n", f"k<<<4096, 256>>>({given});"


def text_of(form: Form) -> str:
    kernel, launch = written(form)
    return f"#include <cuda_fp16.h>\n{kernel}int main() {{ {launch} }}\n"


def mix_of(form: Form) -> InstructionMix:
    return lower_instructions(*launched(text_of(form)))


@pytest.mark.slow
def test_executed_instructions_are_those_of_the_compiler(tmp_path: Path):
    """Of all forms in one file, each in a namespace."""
    text, calls = "".join(f"#include <{header}>\n" for header in HEADERS), ""
    for form in FORMS:
        kernel, launch = written(form)
        text += f"namespace {form.name} {{\n{kernel}}}\n"
        calls += f"{form.name}::{launch}\n"
    path = tmp_path / "forms.cu"
    path.write_text(f"{text}int main() {{\n{calls}}}\n")
    launches = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"))
    wrong: dict[str, dict[K, float]] = {}
    for form, launch in zip(FORMS, launches, strict=True):
        mix = lower_instructions(launch.kernel, count(launch))
        found = {kind: mix.number(kind) for kind in form.expected}
        if found != form.expected:
            wrong[form.name] = found
    assert wrong == {}


VIEWS = """
struct View { const float* p; int n; __device__ float operator[](int k) const { return p[k]; } };
struct Pair { View a, b; };
struct Wide { float t[4]; const float* p; };
struct Args { const float* in[4]; float* out; };
"""
KEPT_POINTERS = {
    "a_record": "struct { const float* p; } v{a}; o[i] = v.p[i];",
    "a_nested_record": "Pair p; p.a.p = a; p.b.p = b; o[i] = p.a[i] + p.b[i];",
    "an_array": "const float* p[2] = {a, b}; for (int k = 0; k < 2; k++) o[i] += p[k][i];",
    "an_array_by_block": "const float* p[2] = {a, b}; o[i] = p[blockIdx.x & 1][i];",
    "an_array_assigned": "const float* p[2]; p[0] = a + i; p[1] = b + i; o[i] = *p[0] + *p[1];",
    "an_array_of_records": "View v[2] = {{a, 1}, {b, 2}}; for (int k = 0; k < 2; k++) o[i] += v[k][i];",
    "a_record_with_an_array": "Wide w; w.p = a; for (int k = 0; k < 4; k++) w.t[k] = a[i]; o[i] = w.p[i];",
    "a_range": "const float* ps[2] = {a, b}; for (const float* p : ps) o[i] += p[i];",
    "an_argument": "float s = 0; for (int k = 0; k < 4; k++) s += g.in[k][i]; g.out[i] = s;",
    "shared": "__shared__ const float* p; if (!threadIdx.x) p = a + i; __syncthreads(); o[i] = p[i & 255];",
}  # fmt: skip


@pytest.mark.parametrize("body", KEPT_POINTERS.values(), ids=KEPT_POINTERS)
def test_a_pointer_kept_in_an_object_keeps_its_address(body: str):
    form = Form("", VIEWS, "const float* a, const float* b, float* o, Args g", body, {})
    kernel, profile = launched(text_of(form))
    sectors = [
        profile.sites[one.site].sectors_per_request
        for one in memory_accesses(kernel)
        if one.space is MemorySpace.GLOBAL
    ]
    assert sectors
    assert set(sectors) == {4.0}


@pytest.mark.parametrize(
    "body",
    [
        "const float* p[2] = {a, b}; o[i] = p[w[i] & 1][i];",
        "const float* p[2] = {a, b}; o[i] = p[i & 1][i] + w[i];",
        "const float* p = a; if (i & 1) p = b; o[i] = p[i] + w[i];",
        "const float* p = a; if (w[i]) p = b; o[i] = p[i];",
    ],
)
def test_a_pointer_that_lanes_choose_is_a_scatter(body: str):
    form = Form("", VIEWS, "const float* a, const float* b, const int* w, float* o", body, {})
    kernel, profile = launched(text_of(form))
    loads = [one for one in memory_accesses(kernel) if one.space is MemorySpace.GLOBAL and not one.is_store]
    assert {profile.sites[one.site].sectors_per_request for one in loads} == {None, 4.0}


def test_shared_arrays_behind_an_array_of_pointers_are_shared():
    form = Form("", "", "const float* in, float* o",
                """__shared__ float s0[256], s1[256]; float* b[2] = {s0, s1}; float s = 0;
                for (int k = 0; k < 8; k++) { b[k & 1][threadIdx.x] = in[i + k * 4096]; __syncthreads();
                  s += b[k & 1][threadIdx.x ^ 1]; } o[i] = s;""", loads(8, lds=8, sts=8))  # fmt: skip
    mix = mix_of(form)
    assert {kind: mix.number(kind) for kind in form.expected} == form.expected


def test_where_the_share_of_a_lane_in_a_fragment_begins_is_found_once():
    """LDSM with immediates in all copies of a loop and all its rounds."""
    text = (
        TENSOR
        + """
    __global__ void k(const half* p, float* d, const int* q, int n) {
        __shared__ half s[64][72];
        fc c; fill_fragment(c, 0.0f);
        for (int r = 0; r < n; r++) {
            s[threadIdx.x][r & 7] = p[r];
            __syncthreads();
    #pragma unroll
            for (int k = 0; k < 4; k++) {
                fa a; fb b;
                load_matrix_sync(a, &s[threadIdx.x / 64 * 16][k * 16], 72);
                load_matrix_sync(b, &s[16 + k * 8][0], 72);
                mma_sync(c, a, b, c);
            }
            __syncthreads();
        }
        store_matrix_sync(d, c, 16, mem_row_major);
    }
    int main() { k<<<1, 128>>>(0, 0, 0, %d); }"""
    )
    few, many = (lower_instructions(*launched(text % rounds)) for rounds in (32, 64))
    added = {kind: many.number(kind) - few.number(kind) for kind in (K.LDS, K.HMMA, K.IADD, K.IMAD)}
    assert (added[K.LDS], added[K.HMMA]) == (32 * 8, 32 * 8)
    assert added[K.IADD] + added[K.IMAD] <= 32 * 6  # the loop, and what it stores


def test_a_rank_hides_nothing_that_memory_holds():
    body = "auto t = cg::this_thread_block(); int i = t.thread_rank(); float u = p[0]; {} q[i] = u + p[0];"
    text = TILES + "__global__ void k(const float* p, float* q) {{ {} }} int main() {{ k<<<1, 64>>>(0, 0); }}"
    mix = lower_instructions(*launched(text.format(body.format("i += t.thread_rank();"))))
    assert mix.number(K.LDG) == 1


def test_elements_of_a_fragment_that_is_stored_are_computed():
    body = "fc c; load_matrix_sync(c, p, 16, mem_row_major); {} store_matrix_sync(d, c, 16, mem_row_major);"
    scale = "for (int t = 0; t < c.num_elements; t++) c.x[t] *= x;"
    text = TENSOR + "__global__ void k(const float* p, float* d, float x) {{ {} }}"
    launch = "int main() {{ k<<<1, 32>>>(0, 0, 2.f); }}"
    mix = lower_instructions(*launched((text + launch).format(body.format(scale))))
    assert mix.number(K.FMUL) == 8


@pytest.mark.parametrize(
    "body",
    [
        "a[i] = Op<float, 4>(2.f)(a[i]);",
        "scaled(a + i, 2.f);",
        "a[i] = std::numeric_limits<float>::lowest();",
        "a[i] = -std::numeric_limits<float>::infinity();",
    ],
)
def test_objects_of_templates_of_numbers_and_limits_leave_no_hole(tmp_path, body):
    path = tmp_path / "a.cu"
    path.write_text(
        f"#include <limits>\n{NUMBERED}__global__ void k(float *a) {{ int i = threadIdx.x; {body} }}\n"
    )
    program = read_cuda(path)
    (kernel,) = program.kernels
    assert not kernel.holes
    assert "PW005" not in {entry.rule for entry in program.diagnostics}
