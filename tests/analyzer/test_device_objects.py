"""What counting knows of a variable that is also written or read in other ways than by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from wattslice import analyze_text, ir
from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile
from wattslice.ir.accesses import memory_accesses
from wattslice.ir.objects import objects
from wattslice.launches.launch import KernelLaunch, LaunchSource

from .lowered import kernel_of, lower

N = 5  # of the launches below

DECLARATIONS = """
#include <array>
#include <cuda/std/array>
struct E { int e[4]; __device__ int& operator[](int i) { return e[i]; } };
__device__ int& pick(bool c, int* a, int* b) { if (c) return a[0]; return b[0]; }
struct P { int x, y; };
struct R { int* p; int n; };
struct M3 { float f[2]; int i; }; struct A3 { int a[3]; };
struct Q { P a, b; };
union U { int i; float f; unsigned char b[4]; };
struct C { int c; __device__ C& inc() { ++c; return *this; } __device__ int& ref() { return c; } };
struct V { int& r; __device__ V(int& x) : r(x) {} __device__ void operator()(int n) { r = n; } };
struct W { int& r; int n; __device__ ~W() { r = n; } }; struct X { W w; };
struct K { const int& r; };
struct G { int* p; __device__ G(int* q) : p(q) {} __device__ ~G() { *p = 7; }
  __device__ void set(int n) { *p = n; } };
struct H : G { __device__ H(int* q) : G(q) {} };
struct T { V v; int (&a)[2]; };
struct L { K k[2]; };
__device__ V one_of(bool c, int& a, int& b) { if (c) return V(a); return V(b); }
__device__ V none_of(int& a) { V v(a); return v; }
__device__ void run(V f, int n) { f(n); }
template <class F> __device__ void apply(F f, int n) { f(n); }
__device__ void opaque_too(V& v);
__device__ void opaque_value(V v);
__device__ void set(int* p, int n) { *p = n; }
__device__ void put(int a[2], int n) { a[1] = n; }
__device__ void put_in(int (&a)[2], int n) { a[1] = n; }
__device__ int second(const int* a) { return a[1]; }
__device__ void put_behind(int* a, int n) { ++a; a[0] = n; }
__device__ void swapped(int*& a, int*& b) { int* c = a; a = b; b = c; }
__device__ void point(int** p, int* q) { *p = q; }
__device__ void set_other(int* p, int* q, int n) { p = q; *p = n; }
__device__ void exchange(int& a, int& b) { int c = a; a = b; b = c; }
__device__ int* same(int* p) { return p; }
__device__ P more(P s) { s.x += 1; return s; }
__device__ void opaque(int& v);
__device__ int kept(int n) { __shared__ int q; if (n) q = n; __syncthreads(); return q; }
"""

# A body that sets `v`, the bound of the loop behind it; `t` is the thread. None: nobody may claim to know it.
BODIES: dict[str, tuple[str, float | None]] = {
    "memcpy": ("int v = 3; memcpy(&v, &n, 4);", None),
    "builtin_memcpy": ("int v = 3; __builtin_memcpy(&v, &n, sizeof v);", None),
    "destructor": ("int v = 3; { G g(&v); }", None),
    "destructor_of_a_base": ("int v = 3; { H h(&v); }", None),
    "method_of_a_base": ("int v = 3; H h(&v); h.set(n);", None),
    "memset": ("int v = 3; memset(&v, 0, 4);", None),
    "union_members": ("U u; u.i = 3; u.f = 1.0f; int v = u.i;", None),
    "union_one_member": ("U u; u.i = 3; u.i = n; int v = u.i;", None),  # an array is in it: it lies in memory
    "union_of_integers": ("union { int i; unsigned u; } q; q.i = 3; q.u = n; int v = q.i;", None),
    "union_read_as_written": ("union { int i; unsigned u; } q; q.i = 3; int v = q.i;", 3),
    "subscripted_cast": ("int v = 3; ((int*)&v)[0] = n;", N),
    "byte_of_integer": ("int v = 259; ((unsigned char*)&v)[0] = n;", None),
    "byte_by_reference": ("int v = 259; reinterpret_cast<unsigned char&>(v) = n;", None),
    "byte_behind_pointer": ("int v = 259; *(unsigned char*)&v = n;", None),
    "half_word": ("int v = 65539; short* s = (short*)&v; s[0] = n;", None),
    "other_sign": ("int v = 3; reinterpret_cast<unsigned&>(v) = n;", N),
    "float_as_integer": ("float f = 5.0f; int v = *(int*)&f;", None),
    "integer_as_float": ("int q = 0x40a00000; float v = *(float*)&q;", None),
    "bit_field": ("struct { unsigned a : 2; } s; s.a = n; int v = s.a;", N & 3),
    "pointer_in_record": ("int v = 3; R r; r.p = &v; *r.p = n;", None),
    "pointer_in_braces": ("int v = 3; R r{&v, 1}; r.p[0] = n;", None),
    "pointers_in_array": ("int v = 3, w = 1; int* const pp[2] = {&v, &w}; *pp[0] = n;", None),
    "one_of_two": ("int v = 3, w = 2; int* p; if (t & 1) p = &v; else p = &w; *p = n;", None),
    "returned_pointer": ("int v = 3; *same(&v) = n;", None),
    "lane_of_vector": ("int2 a = make_int2(3, 4); ((int*)&a)[t & 1] = n; int v = a.x;", None),
    "known_lane": ("int4 a = make_int4(3, 4, 5, 6); int* p = &a.x; p[1] = n; int v = a.y;", N),
    "vector_in_record": ("Q s = {{3, 4}, {1, 2}}; ((int*)&s)[2] = n; int v = s.b.x;", None),
    "atomic_on_register": ("int v = 3; atomicAdd(&v, n);", None),
    "opaque_reference": ("int v = 3; opaque(v);", None),
    "pointer": ("int v = 3; int* p = &v; *p = n;", N),
    "pointer_that_changes": (
        "int w = 3, v = 4; int* p = &w; for (int j = 0; j < 1; ++j) p = &v; *p = n;",
        None,
    ),
    "pointer_chosen_later": ("int w = 3, v = 4; int* p = &w; p = t < 0 ? &w : &v; *p = n;", None),
    "pointer_set_by_call": ("int w = 3, v = 4; int* p = &w; point(&p, &v); *p = n;", None),
    "pointer_set_by_lambda": ("int w = 3, v = 4; int* p = &w; auto f = [&] { p = &v; }; f(); *p = n;", None),
    "pointer_with_two_names": ("int w = 3, v = 4; int* p = &w; int*& q = p; q = &v; *p = n;", None),
    "pointer_to_pointer": ("int v = 4; int* p = &v; int** q = &p; **q = n;", None),
    "pointer_of_an_assignment": ("int v = 4; int *p, *q = (p = &v); *q = n;", None),
    "pointers_that_swap": ("int w = 3, v = 4; int *p = &w, *q = &v; swapped(p, q); *p = n;", None),
    "pointer_parameter_that_changes": ("int w[1] = {3}; int v = 4; set_other(&v, w, n);", None),
    "pointer_parameter": ("int v = 3; set(&v, n);", N),
    "exchanged": ("int v = 3, w = n; exchange(v, w);", N),
    "record_by_pointer": ("P s = {3, 4}; P* p = &s; p->x = n; int v = s.x;", N),
    "lambda_with_copy": ("int v = 3; auto f = [=]() mutable { v = n; return v; }; f();", 3),
    "lambda_keeps_state": ("int v = 3; auto f = [v]() mutable { return ++v; }; f(); v = f();", 5),
    "lambda_made_before": ("int v = 3; auto f = [=]() { return v; }; v = n; v = f();", 3),
    "lambda_with_value": ("int v = 3; auto f = [m = v + 1]() { return m; }; v = n; v = f();", 4),
    "lambda_by_reference": ("int v = 3; auto f = [&v](int q) { v = q; }; f(n);", N),
    "reference_member": ("int v = 3; V r(v); r(n);", N),
    "reference_member_in_braces": ("int v = 3; struct { int& r; } r{v}; r.r = n;", N),
    "reference_member_of_functor": ("int v = 3; run(V(v), n);", N),
    "reference_member_of_temporary": ("int v = 3; apply(V{v}, n);", N),
    "reference_member_called_at_once": ("int v = 3; V{v}(n);", N),
    "reference_member_by_pointer": ("int v = 3; V r(v); V* p = &r; p->r = n;", None),
    "reference_member_in_destructor": ("int v = 3; { W w{v, n}; }", N),
    "destructor_of_member": ("int v = 3; { X x{{v, n}}; }", N),
    "reference_member_to_element": ("int a[2] = {3, 4}; { W w{a[1], n}; } int v = a[1];", N),
    "reference_member_to_some_element": ("int a[2] = {3, 4}; { W w{a[t & 1], n}; } int v = a[1];", None),
    "reference_member_to_array": ("int v = 3, a[2] = {3, 4}; T q{V(v), a}; q.a[1] = n; v = a[1];", N),
    "reference_member_in_member": ("int v = 3, a[2] = {3, 4}; T q{V(v), a}; q.v.r = n;", N),
    "reference_member_copied": ("int v = 3; V r(v), q = r; q.r = n;", N),
    "reference_member_returned": ("int v = 3; none_of(v)(n);", N),
    "reference_member_of_one": ("int v = 3, w = 2; one_of(t & 1, v, w)(n);", None),
    "reference_member_of_one_named": ("int v = 3, w = 2; V r = one_of(t & 1, v, w); r.r = n;", None),
    "reference_member_chosen": ("int v = 3, w = 2; V r = t & 1 ? V(v) : V(w); r.r = n;", None),
    "reference_member_chosen_inside": ("int v = 3, w = 2; V r(t & 1 ? v : w); r.r = n;", None),
    "reference_member_of_element": ("int v = 3, w = 2; V a[2] = {V(v), V(w)}; a[t & 1].r = n;", None),
    "reference_member_handed_on": ("int v = 3; V r(v); opaque_too(r);", None),
    "reference_member_handed_on_by_value": ("int v = 3; V r(v); opaque_value(r);", None),
    "pointer_as_another_member": (
        "int v = 3; union { struct { int* p; } s; long long q; } u; u.s.p = &v; *(int*)u.q = n;",
        None,
    ),
    "reference_member_address": ("int v = 3; V r(v); int* p = &r.r; *p = n;", N),
    "reference_member_seen": ("int w = 3; K r{w}; w = n; int v = r.r;", N),
    "reference_member_of_value": ("K r{n + 1}; int v = r.r;", N + 1),
    "reference_member_of_other_type": ("short s = 4; K r{s}; s = 9; int v = r.r;", 4),
    "reference_member_in_loop": ("int v = 0; for (int j = 0; j < 10; ++j) { V r(v); r.r += 1; }", 10),
    "reference_member_to_shared": (
        "__shared__ int v; V r(v); if (threadIdx.x == 0) r.r = n; __syncthreads();",
        N,
    ),
    "lambda_with_copied_array": (
        "int a[2] = {4, 8}; auto f = [=]() mutable { a[0] = n; }; f(); int v = a[0];",
        4,
    ),
    "lambda_with_named_array": (
        "int a[2] = {4, 8}; auto f = [a]() mutable { return ++a[0]; }; f(); int v = f();",
        6,
    ),
    "lambda_with_array_made_again": (
        "int v, a[2] = {4, 8}; for (int j = 0; j < 3; ++j) "
        "{ auto f = [=]() mutable { return ++a[0]; }; v = f(); }",
        5,
    ),
    "lambda_with_older_array": (
        "int a[2] = {4, 8}; auto f = [=]() { return a[0]; }; a[0] = n; int v = f();",
        4,
    ),
    "lambda_with_array_by_reference": (
        "int a[2] = {4, 8}; auto f = [&]() { a[0] = n; }; f(); int v = a[0];",
        N,
    ),
    "lambda_with_wide_record": (
        "A3 s; s.a[0] = 4; auto f = [=]() mutable { s.a[0] = n; }; f(); int v = s.a[0];",
        4,
    ),
    "method_chain": ("C w; w.c = 3; w.inc().inc(); int v = w.c;", 5),
    "method_reference": ("C w; w.c = 3; w.ref() = n; int v = w.c;", N),
    "record_in_loop": ("P s = {0, 0}; for (int j = 0; j < 10; ++j) s = more(s); int v = s.x;", 10),
    "member_left_alone": ("P s = {0, 4}; for (int j = 0; j < 10; ++j) s.x += 1; int v = s.y;", 4),
    "array": ("const int a[3] = {1, n, 4}; int v = a[1];", N),
    "array_zeros": ("int a[4] = {1}; int v = a[2] + 2;", 2),
    "array_2d": ("int a[2][2] = {{1, 2}, {3, 4}}; a[1][0] = n; int v = a[1][0] + a[0][1];", N + 2),
    "array_written": ("int a[4] = {1, 2, 3, 4}; a[2] += n; a[2]++; int v = a[2];", N + 4),
    "array_unknown_index": ("int a[4] = {1, 2, 3, 4}; a[out[t] & 3] = 7; int v = a[1];", None),
    "array_behind_branch": ("int a[2] = {1, 2}; if (out[t] > 0) a[0] = 5; int v = a[0];", None),
    "array_by_pointer": ("int a[2] = {1, 2}; int* p = a; p[1] = n; int v = a[1];", N),
    "array_by_part": ("int a[3] = {1, 2, 3}; int* const p = &a[1]; p[1] = n; int v = a[2];", N),
    "array_parameter": ("int a[2] = {1, 2}; put(a, n); int v = a[1];", N),
    "array_part_parameter": ("int a[3] = {1, 2, 3}; put(a + 1, n); int v = a[2] + a[1];", N + 2),
    "array_reference": ("int a[2] = {1, 2}; put_in(a, n); int v = a[1];", N),
    "array_read_by_parameter": ("int a[2] = {1, n}; int v = second(a);", N),
    "array_by_pointer_that_moves": (
        "int a[2] = {1, 2}; int* p = a; if (out[t]) ++p; *p = n; int v = a[0];",
        None,
    ),
    "array_by_pointers_that_swap": (
        "int a[1] = {1}, b[1] = {2}; int *p = a, *q = b; swapped(p, q); *p = n; int v = b[0];",
        None,
    ),
    "array_by_pointer_with_two_names": (
        "int a[1] = {1}, b[1] = {2}; int* p = a; int*& q = p; q = b; *p = n; int v = a[0];",
        None,
    ),
    "array_by_pointer_that_a_lambda_sets": (
        "int a[1] = {1}, b[1] = {2}; int* p = a; auto f = [&]() { p = b; }; f(); *p = n; int v = a[0];",
        None,
    ),
    "array_by_parameter_that_moves": ("int a[2] = {1, 2}; put_behind(a, n); int v = a[0];", None),
    "array_handed_on": ("int a[2] = {1, 2}; opaque(a[0]); int v = a[0];", None),
    "array_escapes": ("int a[2] = {1, 2}; int* p = a; opaque(*p); int v = a[0];", None),
    "array_as_wider": ("int a[2] = {1, 2}; *(long long*)a = 0; int v = a[1];", None),
    "array_copied_to": ("int a[2] = {1, 2}; memcpy(a, &n, 4); int v = a[0];", None),
    "array_atomic": ("int a[2] = {1, 2}; atomicAdd(&a[1], n); int v = a[1];", None),
    "array_by_references": ("int a[4] = {1, 2, 3, 4}; for (int& x : a) x *= 2; int v = a[1] + a[3];", 12),
    "array_by_references_to_those": (
        "int a[4] = {1, 2, 3, 4}; for (int& x : a) { int& y = x; y = n; } int v = a[3];",
        N,
    ),
    "array_by_pointer_in_loop": (
        "int a[4] = {1, 2, 3, 4}; for (int j = 0; j < 4; ++j) { int* p = a + j; *p = n; } int v = a[3];",
        N,
    ),
    "array_by_pointer_to_unknown": (
        "int a[4] = {1, 2, 3, 4}; int& x = a[out[t] & 3]; x = 7; int v = a[1];",
        None,
    ),
    "array_by_pointer_that_is_stepped": (
        "int a[4] = {1, 2, 3, 4}; for (int j = 0; j < 2; ++j) { int* p = a + j; ++p; *p = n; } int v = a[2];",
        None,
    ),
    "array_by_reference_as_wider": (
        "int a[4] = {1, 2, 3, 4}; for (int& x : a) *(short*)&x = 0; int v = a[1];",
        None,
    ),
    "array_by_reference_handed_on": (
        "int a[4] = {1, 2, 3, 4}; for (int& x : a) opaque(x); int v = a[1];",
        None,
    ),
    "array_by_reference_kept": (
        "int* q; int a[4] = {1, 2, 3, 4}; for (int& x : a) q = &x; *q = n; int v = a[3];",
        None,
    ),
    "array_beside_pointer_to_data": (
        "int a[2] = {1, 2}; int* p = out + t; *p = 1; for (int& x : a) x = n; int v = a[1];",
        N,
    ),
    "array_of_class": ("E a; for (int j = 0; j < 4; ++j) a[j] = j + n; int v = a[3];", N + 3),
    "array_picked": ("int a[1] = {1}, b[1] = {2}; pick(out[t] > 0, a, b) = n; int v = b[0];", None),
    "array_of_std": (
        "std::array<int, 4> a = {1, 2, 3, 4}; a[2] = n; int v = a[2] + a.size() + a.data()[1];",
        N + 6,
    ),
    "array_of_std_filled": (
        "cuda::std::array<int, 4> a = {1, 2}; a.fill(3); a.back() = n; int v = a.front() + a[3];",
        N + 3,
    ),
    "array_of_std_by_references": (
        "std::array<int, 2> a{1, 2}; for (auto& x : a) x += n; int v = a[1];",
        N + 2,
    ),
    "array_in_loop": ("int a[2] = {1, 1}; for (int j = 0; j < 100; ++j) a[j & 1] = j; int v = a[0];", 98),
    "array_in_long": ("int a[2] = {1, 1}; for (int j = 0; j < 99998; ++j) a[j & 1] = j; int v = a[0];", None),
    "array_in_record": ("A3 s; s.a[0] = 3; s.a[t % 3] = n; int v = s.a[0];", 3 + (N - 3) * 43 / 128),
    "record_seen_otherwise": ("M3 s; s.i = 3; ((float*)&s)[2] = 1; int v = s.i;", None),
    "record_of_two_types": ("M3 s; s.f[0] = n; s.i = 3; s.f[1] = 2; int v = s.i;", 3),
    "records": ("M3 s[2] = {{{1, 2}, 7}, {{3, 4}, 9}}; int v = s[1].i;", 9),
    "records_partly_given": ("M3 s[2] = {{{1, 2}, 7}}; s[0].i = n; int v = s[1].i + s[0].i;", N),
    "shared": ("__shared__ int v; if (threadIdx.x == 0) v = n; __syncthreads();", N),
    "shared_twice": (
        "__shared__ int v; if (threadIdx.x == 0) v = n; __syncthreads(); "
        "if (threadIdx.x == 1) v = 2; __syncthreads();",
        2,
    ),
    "shared_array": ("__shared__ int m[64]; m[threadIdx.x] = threadIdx.x; __syncthreads(); int v = m[3];", 3),
    "shared_data": ("__shared__ int v; if (threadIdx.x == 0) v = out[7]; __syncthreads();", None),
    "shared_perhaps": ("__shared__ int v; v = 4; __syncthreads(); if (out[t]) v = 5; __syncthreads();", None),
    "shared_atomic": (
        "__shared__ int v; if (!threadIdx.x) v = 0; __syncthreads(); atomicAdd(&v, 1); __syncthreads();",
        None,
    ),
    "shared_of_two_calls": ("int v = kept(n); kept(2); v = kept(0);", None),
}


def _counted(kernel: ir.Kernel) -> ExecutionProfile:
    arguments = (None, N)
    return count(KernelLaunch(kernel, (2, 1, 1), (64, 1, 1), 0, LaunchSource.OPTION, None, arguments))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ir.Kernel]:
    text = DECLARATIONS + "".join(
        f"__global__ void {name}(int* out, int n) {{ int t = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"{body} for (int i = 0; i < v; ++i) out[t] = i; }}\n"
        for name, (body, _) in BODIES.items()
    )
    program = lower(tmp_path_factory.mktemp("objects"), text)
    return {kernel.name: kernel for kernel in program.kernels}


@pytest.mark.parametrize("name", BODIES)
def test_a_bound_is_known_where_nothing_else_may_have_written_it(
    kernels: dict[str, ir.Kernel], name: str
) -> None:
    assert _counted(kernels[name]).loops[-1].trip_count == BODIES[name][1]


LOOPS = {
    # per thread: iterations of the innermost loop
    "for (int j = 0; j < 8; ++j) for (int q = 0; q < off[j]; ++q) out[t] = q;": 28,
    "for (int j = 0; j < 16; ++j) for (int q = 0; q < off[j & 3]; ++q) out[t] = q;": 4 * 17,
    "for (int q = 0; q < off[blockIdx.x]; ++q) out[t] = q;": 3,  # 1 in one block, 5 in the other
    "for (int q = 0; q < off[t & 1]; ++q) out[t] = q;": 3,
    # 5 in the threads that store it, 3 in the others
    "int w[2] = {3, 3}; if (t < 32) w[t >> 6] = 5; for (int q = 0; q < w[t >> 6]; ++q) out[t] = q;": 4,
}


@pytest.mark.parametrize("loop", LOOPS)
def test_iterations_differ_by_what_a_table_holds(tmp_path: Path, loop: str) -> None:
    body = f"const int off[8] = {{1, 5, 2, 9, 3, 0, 7, 1}}; int t = threadIdx.x; {loop}"
    kernel = kernel_of(tmp_path, body, "int* out, int n")
    profile = _counted(kernel)
    innermost = [stmt for stmt in ir.walk_statements(kernel.body) if isinstance(stmt, ir.Loop)][-1]
    assert profile.thread_counts[innermost.body.region] == LOOPS[loop]
    assert not profile.assumptions


def test_many_blocks_read_different_places_of_a_table(tmp_path: Path) -> None:
    table = ", ".join(str(3 * (i % 7 == 0)) for i in range(64))
    body = f"const int off[64] = {{{table}}}; for (int q = 0; q < off[blockIdx.x]; ++q) out[q] = q;"
    kernel = kernel_of(tmp_path, body, "int* out, int n")
    launch = KernelLaunch(kernel, (64, 1, 1), (1024, 1, 1), 0, LaunchSource.OPTION, None, (None, N))
    profile = count(launch)
    innermost = next(stmt for stmt in ir.walk_statements(kernel.body) if isinstance(stmt, ir.Loop))
    assert profile.thread_counts[innermost.body.region] * 64 == pytest.approx(3 * 10)  # 10 multiples of 7


def test_an_index_from_a_local_array_differs_between_threads(tmp_path: Path) -> None:
    """Each thread has its own array: an index out of it is no broadcast."""
    body = "float w[4]; w[0] = in[threadIdx.x]; in[(int)w[0]] = 1.0f;"
    kernel = kernel_of(tmp_path, body, "float* in, int n")
    accesses = memory_accesses(kernel)
    (store,) = (a.site for a in accesses if a.is_store and a.space is ir.MemorySpace.GLOBAL)
    assert _counted(kernel).sites[store].sectors_per_request is None


def test_a_pointer_that_nobody_reads_hides_nothing(tmp_path: Path) -> None:
    kernel = kernel_of(tmp_path, "int v = 3; int* q = &v; *q = n; p[v] = 0;")
    assert not objects(kernel).hidden


@pytest.mark.parametrize("read", ["p[j] = s[j];", "int* q = s + j; p[j] = *q;", "int& q = s[j]; p[j] = q;"])
def test_what_is_read_by_another_name_is_read(tmp_path: Path, read: str) -> None:
    body = f"__shared__ int s[64]; s[threadIdx.x] = n; for (int j = 0; j < 4; ++j) {{ {read} }}"
    found = objects(kernel_of(tmp_path, body))
    assert not found.unread
    assert not found.unwritten


HOLES = {
    "with a reference": "struct V { int& r; __device__ V(int& x) : r(x) {} }; V d[2] = {n, n}; d[1].r = 7;",
    "'continue'": "for (int m = 0; m < n; m++) { int k = 0; up: if (m) continue; if (++k < n) goto up; }",
    "goto": "if (n) goto in; { in: p[0] = 0; }",
    "case label": "int c = n; switch (c & 3) { case 0: do { p[0] = 0; case 1: p[1] = 1; } while (--c > 0); }",
    "fib": "p[0] = fib(n + 9);",
}


@pytest.mark.parametrize("what", HOLES)
def test_a_kernel_that_is_not_whole_says_so(tmp_path: Path, what: str) -> None:
    before = "__device__ int fib(int q) { return q < 2 ? q : fib(q - 1) + fib(q - 2); }"
    profile = _counted(kernel_of(tmp_path, HOLES[what], before=before))
    (said,) = (told.message for told in profile.assumptions if told.rule == "PW029")
    assert what in said


@pytest.mark.parametrize(
    ("body", "is_whole"),
    [
        ("p[0] = fib(n);", True),
        ("p[0] = n < 3 ? opaque(n) : n;", True),
        ("p[0] = p[n] ? opaque(n) : n;", False),
    ],
)
def test_a_call_that_no_thread_makes_leaves_no_hole(tmp_path: Path, body: str, is_whole: bool) -> None:
    """A function that calls itself 5 times is followed as deep as 8 times."""
    before = "__device__ int fib(int q) { return q < 2 ? q : fib(q - 1) + fib(q - 2); }"
    kernel = kernel_of(tmp_path, body, before=f"{before} __device__ int opaque(int);")
    assert not kernel.body_is_complete
    assert (not [told for told in _counted(kernel).assumptions if told.rule == "PW029"]) == is_whole


def test_managed_variables_are_understood(tmp_path: Path) -> None:
    program = lower(tmp_path, "__managed__ int total;\n__global__ void k(int n) { total = n; }\n")
    assert not program.diagnostics
    (access,) = memory_accesses(program.kernels[0])
    assert access.space is ir.MemorySpace.GLOBAL


def test_many_loops_of_which_iterations_stand_for_others_are_told_once(tmp_path: Path) -> None:
    hashed = "for (int j = 0; j < ((i * 2654435761u) >> 29); ++j) p[j] = i;"
    kernel = kernel_of(tmp_path, f"for (int i = 0; i < 3000000; ++i) {{ {hashed} }}\n" * 3)
    told = [told.message for told in _counted(kernel).assumptions if told.rule == "PW015"]
    assert len(told) == 1


@pytest.mark.parametrize(
    "body",
    [
        "int c[3]; c[0] = t; c[1] = 4; c[2] = 7; int at = 0; for (int i = 0; i < 3; ++i) at += c[i];",
        "int c[3]; put_all(c, t); int at = 0; for (int i = 0; i < 3; ++i) at += c[i];",
        "int c[3]; c[0] = t; c[1] = 4; c[2] = 7; int at = total(c);",
        "int at = t + 11;",
    ],
)
def test_a_sum_of_a_few_numbers_is_an_address(body: str):
    text = (
        "__device__ void put_all(int* c, int t) { c[0] = t; c[1] = 4; c[2] = 7; }\n"
        "__device__ int total(const int* c) { int s = 0; for (int i = 0; i < 3; ++i) s += c[i]; return s; }\n"
        "__global__ void k(const float* x, float* y) { int t = blockIdx.x * blockDim.x + threadIdx.x;"
        f"{body} y[t] = x[at]; }}\nvoid run() {{ k<<<64, 256>>>(0, 0); }}\n"
    )
    (kernel,) = analyze_text(text, gpu="v100").kernels
    assert kernel.assumptions == ()
    assert kernel.work is not None
    assert kernel.work.bytes_per_thread == 8
