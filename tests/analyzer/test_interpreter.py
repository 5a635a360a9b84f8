# ruff: noqa: E501 - each kernel stands on one line
"""What the interpreter computes, feature by feature, against numpy or a hand-made result."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wattslice import ir
from wattslice.profiling.interpreter.launch import Addressing, Texture

from .interpreted import body, run_kernel, values

T = np.arange(32)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("t * 2147483647", (T * 2147483647).astype(np.int32)),
        ("(unsigned char)(t * 20) + (signed char)(t * 20)", (T * 20 % 256) + (T * 20).astype(np.int8)),
        ("(t - 16) / 3", np.trunc((T - 16) / 3)),
        ("(t - 16) % 3", np.fmod(T - 16, 3)),
        ("(t - 16) / -3", np.trunc((T - 16) / -3)),
        ("(t - 16) >> 1", (T - 16) >> 1),
        ("(int)((unsigned)(t - 16) >> 28)", np.where(T < 16, 15, 0)),
        ("1 << (t + 20)", np.where(T < 12, 1 << np.minimum(T + 20, 40), 0).astype(np.int64).astype(np.int32)),
        ("t - 1 < 5u", (T > 0) & (T < 6)),
        ("t && t - 5 || t == 5", T > 0),
        ("t < 3 ? 1 : t < 6 ? 2 : 3", np.where(T < 3, 1, np.where(T < 6, 2, 3))),
        ("(int)(t * 1e9f)", np.minimum(T * 1e9, 2**31 - 1)),
        ("(int)(0.0f / (t - t))", 0),
        ("(bool)(t & 2) + !t", (T & 2 > 0) * 0 + ((T & 2) > 0) + (T == 0)),
        ("__popc(t) * 100 + __clz(t) + __ffs(t)", [int(t).bit_count() * 100 + 32 - int(t).bit_length() + (int(t) & -int(t)).bit_length() for t in T]),
        ("__brevll((unsigned long long)t) >> 59", [int(f"{t:064b}"[::-1], 2) >> 59 for t in T]),
        ("(t, 7)", 7),
        ("__builtin_expect(t > 3, 1)", T > 3),
        ("sizeof(float3) + alignof(float4)", 28),
        ("__byte_perm(0x33221100, 0x77665544, 0x7410)", 0x77441100),
        ("__mulhi(t << 28, 3) + (int)__umulhi(t << 28, 3u)", [((((int(t) << 28) + 2**31) % 2**32 - 2**31) * 3 >> 32) + ((int(t) << 28) % 2**32 * 3 >> 32) for t in T]),
        ("__dp4a(0x01ff02fe, 0x01010101, t)", T - 0),
        ("__vadd4(0x01ff01ffu, 0x01010101u)", 0x02000200),
        ("__funnelshift_l(0x80000000u, t, 1)", (T * 2 + 1)),
        ("__float_as_int((float)t)", T.astype(np.float32).view(np.int32)),
        ("__float2int_rn(t * 0.5f) * 100 + __float2int_rd(-0.5f) + __float2int_ru(0.25f)", np.rint(T * 0.5) * 100),
        ("__double2hiint((double)t) ^ __double2loint(0.1)", (T.astype(np.float64).view(np.int64) >> 32) ^ (np.float64(0.1).view(np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)),
    ],
)  # fmt: skip
def test_whole_numbers(tmp_path: Path, expression: str, expected: object):
    assert (
        values(tmp_path, expression).tolist()
        == np.broadcast_to(np.asarray(expected), 32).astype(int).tolist()
    )


F = T.astype(np.float32) * np.float32(0.1)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("t * 0.1f", F),
        ("t * 0.1f * 3.3f - 1.1f", F * np.float32(3.3) - np.float32(1.1)),
        ("t * 0.1f + 0.1", (F + 0.1).astype(np.float32)),
        ("fmaf(t * 0.1f, t * 0.1f, -0.01f)", (F.astype(np.longdouble) ** 2 - np.float32(0.01)).astype(np.float32)),
        ("sqrtf(t * 0.1f)", np.sqrt(F)),
        ("1.0f / (t - 3)", np.divide(np.float32(1), (T - 3).astype(np.float32), where=T != 3, out=np.full(32, np.inf, np.float32))),
        ("fminf(NAN, t) + fmaxf(t, 4)", T + np.maximum(T, 4)),
        ("1 / fminf(0.0f * t, -0.0f) + 1 / fmaxf(-0.0f * t, 0.0f)", np.full(32, np.nan)),
        ("roundf(t * 0.5f - 4)", np.sign(T - 8) * np.floor(np.abs(T * 0.5 - 4) + 0.5)),
        ("__int_as_float(t)", T.astype(np.int32).view(np.float32)),
        ("__saturatef(t * 0.1f - 1)", np.clip(F - np.float32(1), 0, 1)),
        ("(float)16777217 + t", np.float32(16777216) + T.astype(np.float32)),
        ("make_float3(1, t, 2).y", T),
        ("copysignf(2, t - 5)", np.where(T < 5, -2, 2)),
    ],
)  # fmt: skip
def test_floats_are_rounded_at_each_operation(tmp_path: Path, expression: str, expected: object):
    actual = values(tmp_path, expression, dtype="f4")
    assert np.array_equal(actual, np.asarray(expected, np.float32), equal_nan=True)


MATHEMATICS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
        ("expf(x)", np.exp), ("__logf(x + 1)", lambda x: np.log(x + 1)), ("powf(x, 1.5f)", lambda x: x**1.5),
        ("sinf(x)", np.sin), ("rsqrtf(x + 1)", lambda x: 1 / np.sqrt(x + 1)), ("exp10f(x)", lambda x: 10**x),
        ("atan2f(x, 2.0f)", lambda x: np.arctan2(x, 2)), ("normcdff(0.0f * x)", lambda x: 0 * x + 0.5),
        ("erff(1.0f + 0 * x)", lambda x: 0 * x + 0.8427007929497149), ("fmodf(x, 0.7f)", lambda x: np.fmod(F, np.float32(0.7))),
        ("sinpif(x)", lambda x: np.sin(np.pi * x)), ("hypotf(x, 3)", lambda x: np.hypot(x, 3)),
        ("log1pf(x)", np.log1p), ("ldexpf(x, 3)", lambda x: x * 8), ("normcdfinvf(0.975f + 0 * x)", lambda x: 0 * x + 1.959964),
)  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), MATHEMATICS)
def test_mathematical_functions(tmp_path: Path, expression: str, expected: Callable[[Any], Any]):
    text = body(f"float x = t * 0.1f; out[t] = {expression};", "float* out")
    actual = run_kernel(tmp_path, text, np.zeros(32, np.float32)).arrays[0]
    assert np.allclose(actual, expected(F.astype(np.float64)), rtol=3e-7, atol=1e-7)


def test_fma_of_doubles_rounds_once(tmp_path: Path):
    draw = np.random.default_rng(3)
    a, b = draw.normal(size=64), draw.normal(size=64)
    c = -a * b * (1 + draw.integers(-2, 3, 64) * 2.0**-52)
    text = body(
        "out[t] = fma(a[t], b[t], c[t]);", "const double* a, const double* b, const double* c, double* out"
    )
    actual = run_kernel(tmp_path, text, a, b, c, np.zeros(64), block=64).arrays[3]
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    assert actual.tolist() == exact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int a = 1, b = 2, *p = &a; int *&r = p; r = &b; *p = t; out[t] = b + 100 * a;", T + 100),
        ("int s = 0; for (int i = 0; i < t; ++i) { if (i == 3) continue; if (i > 9) break; s += i; } out[t] = s;",
         [sum(i for i in range(min(t, 10)) if i != 3) for t in T]),
        ("int i = 0; do { i += 2; } while (i < t); out[t] = i;", np.maximum(2, (T + 1) // 2 * 2)),
        ("int i = t; while (i --> 5) out[t] += i;", [sum(range(5, t)) for t in T]),
        ("switch (t & 3) { case 0: out[t] = 1; case 1: out[t] += 2; break; default: out[t] = 9; case 3: out[t] -= 1; }",
         np.array([3, 2, 8, -1])[T & 3]),
        ("for (;;) { if (out[t] >= t) break; out[t]++; }", T),
        ("int a[3] = {1, 2}; a[t % 3] = t; int s = 0; for (int x : a) s += x; out[t] = s;",
         np.where(T % 3 == 0, T + 2, np.where(T % 3 == 1, T + 1, T + 3))),
        ("int x = t; int& r = x; r += 1; int* p = &x; *p *= 2; out[t] = x;", (T + 1) * 2),
        ("int x[2] = {t, 5}; int* p = x; if (t & 1) p = x + 1; *p += 1; out[t] = x[0] * 100 + x[1];",
         np.where(T & 1, T * 100 + 6, (T + 1) * 100 + 5)),
        ("out[t] = t++ < 5 && t++ > 3;", None),
        ("int2 v = make_int2(t, 2); v.x += v.y++; int2 w = v; w.x = 0; out[t] = v.x * 10 + v.y + w.x;", (T + 2) * 10 + 3),
        ("struct { int a; struct { char c; double d; } b; } s; s.a = t; s.b.c = 300; s.b.d = 2.5; auto u = s; u.a++; out[t] = s.a + u.a + u.b.c + (int)(u.b.d * 2);",
         2 * T + 1 + 44 + 5),
        ('unsigned l, m; asm("mov.u32 %0, %%laneid;" : "=r"(l)); asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m)); out[t] = l + m;',
         (T + (1 << T) - 1).astype(np.int32)),
        ("union { float f; int i; } u; u.f = t; out[t] = u.i;", T.astype(np.float32).view(np.int32)),
        ("unsigned char c = t * 100; c++; c -= 3; out[t] = c;", (T * 100 - 2) % 256),
        ("short s = 30000; s += t * 1000; out[t] = s;", (30000 + T * 1000).astype(np.int16)),
        ("float f = 3; f *= t; int i = 7; i *= 1.5; out[t] = f + i;", 3 * T + 10),
        ("auto add = [&](int k) { return t + k; }; out[t] = add(4);", T + 4),
        ("int* p = out; p += t; *p++ = 3; p[-1] += p - out;", T + 1 + 3),
        ("((char*)(out + t))[1] = 1;", np.full(32, 256)),
        ("float s, c; sincosf(0.0f, &s, &c); int e; float m = frexpf(8.0f * (t + 1), &e); out[t] = s + c + e * 0 + m * 0;", np.full(32, 1)),
        ("int e; frexpf(8.0f, &e); out[t] = e;", np.full(32, 4)),
        ("int x = 0; for (int k = 0; k < 4; k++) { if (k == t % 4) goto next; x += k; if (k == 2) break; next: x += 10; } out[t] = x;",
         [[23, 22, 44, 23][t % 4] for t in T]),
        ("int x = 1; if (t < 3) goto low; x = 2; if (t < 5) goto end; x = 3; goto end; low: x += 10; end: out[t] = x;",
         np.where(T < 3, 11, np.where(T < 5, 2, 3))),
        ("struct G { int* p; __device__ ~G() { *p = *p * 2 + 1; } }; int x = t; { G a{&x}, b{&x}; x += 5; } out[t] = x;",
         (T + 5) * 4 + 3),
        ("float4 v; memset(&v, 0, sizeof v); v.z = t; float4 w; memcpy(&w, &v, 16); out[t] = w.z + w.x;", T),
    ],
)  # fmt: skip
def test_statements_and_objects(tmp_path: Path, text: str, expected: object):
    if expected is None:
        text, expected = (
            "int u = t; int v = u++ < 5 && u++ > 3; out[t] = v * 100 + u;",
            [(t < 5 and t + 1 > 3) * 100 + t + 1 + (t < 5) for t in range(32)],
        )
    actual = run_kernel(tmp_path, body(text, "int* out"), np.zeros(32, np.int32)).arrays[0]
    assert actual.tolist() == np.asarray(expected).astype(int).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int& r = t & 1 ? a : b; r = 9;", np.where(T & 1, 92, 19)),
        ("for (int i = 0; i < 4; ++i) { int& r = t >> i & 1 ? a : b; r++; }", [12 + 9 * int(t & 15).bit_count() + 4 for t in T]),
        ("((t & 1) ? a : b) = 9; (t & 2 ? a : b) += 5;", np.where(T & 1, 92, 19) + np.where(T & 2, 50, 5)),
        ("int* p = &(t & 1 ? a : b); *p = 9;", np.where(T & 1, 92, 19)),
        ("inc(t & 1 ? a : b);", np.where(T & 1, 62, 17)),
        ("larger(a, t & 1 ? b : a) = 9;", np.where(T & 1, 19, 92)),
        ("b = t & 3; larger(a, b) = 9;", np.where((T & 3) > 1, 19, 90 + (T & 3))),
        ("int& r = t & 1 ? m[t & 3] : b; r = 7; a = m[t & 3];", np.where(T & 1, 72, 57)),
        ("const int& r = t & 1 ? a : b; a = 5; b = r;", np.where(T & 1, 55, 52)),
        ("b = least(least(t, 4), least(5, 3 + t));", 10 + np.minimum(T, 4)),
        ("Two w = {1, 2}; (t & 1 ? w : v).x = 9; a = w.x; b = v[t & 1];", np.where(T & 1, 94, 19)),
        ("v[t & 1] = 8; a = v.x; b = v.y;", np.where(T & 1, 38, 84)),
        ("v.plus(t & 3).plus(1); a = v.x; b = 0;", (4 + np.where((T & 3) == 2, 0, T & 3)) * 10),
    ],
)  # fmt: skip
def test_references_to_one_of_several_objects(tmp_path: Path, text: str, expected: object):
    before = """__device__ void inc(int& x) { x += 5; }
template <class T> __device__ T& larger(T& x, T& y) { if (x < y) return y; return x; }
template <class T> __device__ const T& least(const T& x, const T& y) { if (y < x) return y; return x; }
struct Two { int x, y;
    __device__ int& operator[](int i) { switch (i) { case 0: return x; default: return y; } }
    __device__ Two& plus(int k) { if (k == 2) return *this; x += k; return *this; } };"""
    around = f"int a = 1, b = 2, m[4] = {{5, 5, 5, 5}}; Two v = {{3, 4}}; {text} out[t] = a * 10 + b;"
    actual = run_kernel(tmp_path, body(around, "int* out", before), np.zeros(32, np.int32)).arrays[0]
    assert actual.tolist() == np.asarray(expected).tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('const char* s = "hello"; out[t] = s[t % 6];', [b"hello\0"[t % 6] for t in T]),
        ('out[t] = (unsigned char)"a\\xff\\n\\0é" "z"[t % 7];', [b"a\xff\n\0\xc3\xa9z"[t % 7] for t in T]),
        ('out[t] = length(t & 1 ? "ab" : "abcd") + "0123456789abcdef"[t & 15];',
         [4 - 2 * (t & 1) + b"0123456789abcdef"[t & 15] for t in T]),
        ('char s[4] = "xyz"; s[t & 1]++; out[t] = s[0] * 256 + s[1];', np.where(T & 1, 120 * 256 + 122, 121 * 256 + 121)),
    ],
)  # fmt: skip
def test_texts(tmp_path: Path, text: str, expected: object):
    before = "__device__ int length(const char* s) { int n = 0; while (s[n]) ++n; return n; }"
    actual = run_kernel(tmp_path, body(text, "int* out", before), np.zeros(32, np.int32)).arrays[0]
    assert actual.tolist() == np.asarray(expected).tolist()


def test_device_functions_return_early_and_write_through_references(tmp_path: Path):
    before = """
    struct Complex { float x, y; __device__ Complex(float a, float b) : x(a), y(b) {}
      __device__ Complex operator*(const Complex& o) const { return Complex(x * o.x - y * o.y, x * o.y + y * o.x); }
      __device__ float norm() const { return x * x + y * y; } };
    __device__ int first(const int* a, int n, int what, int& tries) {
        for (int i = 0; i < n; ++i) { ++tries; if (a[i] == what) return i; }
        return -1;
    }
    template <int N> __device__ int power(int x) { return x * power<N - 1>(x); }
    template <> __device__ int power<0>(int) { return 1; }
    """
    text = body(
        """int tries = 0; const int at = first(a, 8, t, tries);
        Complex c = Complex(t, 1) * Complex(2, -1);
        out[t] = at * 1000 + tries * 10 + power<3>(2); norms[t] = c.norm();""",
        "const int* a, int* out, float* norms", before,
    )  # fmt: skip
    a = np.array([5, 3, 30, 3, 0, 1, 9, 2], np.int32)
    ran = run_kernel(tmp_path, text, a, np.zeros(32, np.int32), np.zeros(32, np.float32))
    where = [list(a).index(t) if t in a else -1 for t in T]
    assert ran.arrays[1].tolist() == [w * 1000 + (w + 1 if w >= 0 else 8) * 10 + 8 for w in where]
    assert ran.arrays[2].tolist() == ((T**2 + 1) * 5).tolist()


def test_effects_in_the_head_of_a_loop_and_behind_a_condition_happen_there(tmp_path: Path):
    before = """
    struct V { float x; __device__ V(float a) : x(a) {} __device__ V operator-(const V& o) const { return V(x - o.x); }
      __device__ float norm() const { return x * x; } };
    struct It { int i; __device__ It next() const { It r; r.i = i + 1; return r; } };
    """
    text = body(
        """V a(t), b(0); int n = 0; while ((a - b).norm() > 4.0f) { a.x -= 1; ++n; }
        It it; it.i = 0; int m = 0; for (; it.next().i < t; it = it.next()) ++m;
        const int* p = t < 3 ? nullptr : in + t; const bool c = p && V(*p).norm() > 20;
        int x = 0; do { ++x; } while (++(++x) < t); int z = t; while (int w = z / 2) { z = w; ++n; }
        out[t] = n * 10000 + m * 100 + c * 50 + x;""",
        "int* out, const int* in",
        before,
    )
    out = run_kernel(tmp_path, text, np.zeros(32, np.int32), T.astype(np.int32)).arrays[0]
    steps = [max(0, t - 2) + max(0, t.bit_length() - 1) for t in range(32)]
    rest = [max(0, t - 1) * 100 + (t > 4) * 50 + max(3, (t + 2) // 3 * 3) for t in range(32)]
    assert out.tolist() == [n * 10000 + other for n, other in zip(steps, rest, strict=True)]


# --------------------------------------------------------------------------- threads together


def test_shared_memory_barriers_and_several_blocks(tmp_path: Path):
    text = """
    __global__ void k(const float* in, float* out) {
        extern __shared__ float s[];
        s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
        for (int step = blockDim.x / 2; step > 0; step /= 2) {
            __syncthreads();
            if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        }
        if (threadIdx.x == 0) out[blockIdx.x] = s[0];
    }"""
    values_in = np.random.default_rng(1).integers(0, 100, 64 * 300).astype(np.float32)
    ran = run_kernel(
        tmp_path, text, values_in, np.zeros(300, np.float32), grid=300, block=64, shared_bytes=256
    )
    assert np.array_equal(ran.arrays[1], values_in.reshape(300, 64).sum(1))


def test_atomics_take_turns_in_the_order_of_the_threads(tmp_path: Path):
    text = body(
        """old[t] = atomicAdd(&data[t % 3], t); atomicMax(&data[3], t); atomicMin(&data[4], -t);
        took[t] = atomicExch(&data[5], t); atomicInc((unsigned*)&data[6], 9); cas[t] = atomicCAS(&data[7], t, t + 1);
        atomicAdd(f, 0.1f); atomicOr(&data[8], 1 << t); atomicSub(&data[9], t);""",
        "int* data, int* old, int* took, int* cas, float* f",
    )
    zeros = np.zeros(32, np.int32)
    data, old, took, cas, f = run_kernel(
        tmp_path, text, zeros[:10], zeros, zeros, zeros, zeros[:1].view(np.float32)
    ).arrays
    assert old.tolist() == [sum(range(t % 3, t, 3)) for t in T]
    assert data.tolist() == [sum(T[0::3]), sum(T[1::3]), sum(T[2::3]), 31, -31, 31, 2, 32, -1, -496]
    assert took.tolist() == [0, *range(31)]
    assert cas.tolist() == list(range(32))
    total = np.float32(0)
    for _ in T:
        total += np.float32(0.1)
    assert f[0] == total


def test_a_lock_that_is_tried_again_makes_progress(tmp_path: Path):
    text = body(
        """for (bool done = false; !done;) {
            if (atomicCAS(lock, 0, 1) == 0) { *out += t; __threadfence(); atomicExch(lock, 0); done = true; }
        }""",
        "int* lock, int* out",
    )
    zero = np.zeros(1, np.int32)
    assert run_kernel(tmp_path, text, zero, zero).arrays[1][0] == 496


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("__shfl_sync(~0u, t, 5)", np.full(32, 5)),
        ("__shfl_sync(~0u, t, t + 1, 8)", T // 8 * 8 + (T + 1) % 8),
        ("__shfl_up_sync(~0u, t, 3)", np.where(T < 3, T, T - 3)),
        ("__shfl_down_sync(~0u, t, 3, 16)", np.where(T % 16 < 13, T + 3, T)),
        ("__shfl_xor_sync(~0u, t, 9)", T ^ 9),
        ("__shfl(t * 2, 31 - t)", (31 - T) * 2),
        ("__ballot_sync(~0u, t % 2)", np.full(32, np.uint32(0xAAAAAAAA).view(np.int32))),
        ("__any_sync(~0u, t == 7) + 2 * __all_sync(~0u, t < 32)", np.full(32, 3)),
        ("__match_any_sync(~0u, t / 4)", (np.uint32(15) << (T // 4 * 4).astype(np.uint32)).view(np.int32)),
        ("__reduce_max_sync(~0u, t * 3) + __reduce_add_sync(~0u, 1)", np.full(32, 125)),
        ("t < 16 ? __popc(__activemask()) : __popc(__ballot_sync(0xffff0000u, t > 20))", np.where(T < 16, 16, 11)),
        ("__syncthreads_count(t > 20) + __syncthreads_or(t == 1) * 100", np.full(32, 111)),
    ],
)  # fmt: skip
def test_threads_of_a_warp(tmp_path: Path, expression: str, expected: NDArray[Any]):
    assert values(tmp_path, expression).tolist() == expected.tolist()


def test_tiles_of_cooperative_groups(tmp_path: Path):
    before = "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;"
    text = body(
        """auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<8>(block);
        int v = t; for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
        const int sum = cg::reduce(tile, t, cg::plus<int>()); out[t] = tile.thread_rank() == 0 ? v : sum;
        block.sync(); more[t] = tile.ballot(t & 1) * 100 + tile.meta_group_rank();""",
        "int* out, int* more", before,
    )  # fmt: skip
    zero = np.zeros(64, np.int32)
    out, more = run_kernel(tmp_path, text, zero, zero, block=64).arrays
    numbers = np.arange(64)
    assert out.tolist() == (numbers // 8 * 64 + 28).tolist()
    assert more.tolist() == (0xAA * 100 + numbers // 8).tolist()


def test_halves(tmp_path: Path):
    text = body(
        """__half2 v = __floats2half2_rn(t * 0.1f, 3.0f); __half2 w = __hfma2(v, __float2half2_rn(2.0f), v);
        out[t] = __half2float(__float2half(t * 0.1f) * __float2half(3.0f)); out[t + 32] = __low2float(w); out[t + 64] = __high2float(__hadd2(w, v));""",
        "float* out", "#include <cuda_fp16.h>",
    )  # fmt: skip
    out = run_kernel(tmp_path, text, np.zeros(96, np.float32)).arrays[0]
    half = F.astype(np.float16)
    assert np.array_equal(out[:32], (half * np.float16(3)).astype(np.float32))
    assert np.array_equal(out[32:64], (half.astype(np.float64) * 3).astype(np.float16).astype(np.float32))
    assert np.array_equal(out[64:], np.full(32, 12))


@pytest.mark.parametrize(
    ("name", "numpys"),
    [
        ("eq", np.equal),
        ("ne", np.not_equal),
        ("lt", np.less),
        ("le", np.less_equal),
        ("gt", np.greater),
        ("ge", np.greater_equal),
    ],
)
def test_comparisons_of_halves(tmp_path: Path, name: str, numpys: np.ufunc):
    text = f"""
    #include <cuda_fp16.h>
    __global__ void k(int *out) {{
        int t = threadIdx.x;
        out[t] = __h{name}(__float2half(t % 3), __float2half(1.0f));
    }}"""
    (out,) = run_kernel(tmp_path, text, np.zeros(32, np.int32)).arrays
    assert np.array_equal(out != 0, numpys(np.arange(32) % 3, 1))


def test_constants_globals_and_records_as_arguments(tmp_path: Path):
    text = """
    struct Size { int width; float scale; short pad[2]; };
    __constant__ float weights[4] = {1, 2.5f, 3};
    __device__ int seen = 5;
    __global__ void k(Size size, float* out) {
        out[threadIdx.x] = weights[threadIdx.x % 4] * size.scale + size.width + size.pad[1] + seen;
    }"""
    size = (
        np.array([7], np.int32).tobytes()
        + np.array([0.5], np.float32).tobytes()
        + np.array([1, 2], np.int16).tobytes()
    )
    out = run_kernel(tmp_path, text, size, np.zeros(32, np.float32)).arrays[0]
    assert out.tolist() == (np.array([1, 2.5, 3, 0])[T % 4] * 0.5 + 14).tolist()


def test_textures(tmp_path: Path):
    text = """
    texture<float, 1, cudaReadModeElementType> line;
    __global__ void k(cudaTextureObject_t image, float* out) {
        float x = threadIdx.x * 0.5f - 2;
        out[threadIdx.x] = tex2D<float>(image, x, 1.5f);
        out[threadIdx.x + 32] = tex1Dfetch(line, (int)threadIdx.x - 2);
    }"""
    image = np.arange(12, dtype=np.float32).reshape(1, 3, 4, 1)
    fetched = {"line": Texture(np.arange(5, dtype=np.float32).reshape(1, 1, 5, 1))}
    x = T * 0.5 - 2
    for linear in (False, True):
        textures = {**fetched, 77: Texture(image, (Addressing.CLAMP,) * 3, is_linear=linear)}
        out = run_kernel(tmp_path, text, 77, np.zeros(64, np.float32), textures=textures).arrays[0]
        column = np.clip(x - 0.5, 0, 3) if linear else np.clip(np.floor(x), 0, 3)
        assert out[:32].tolist() == (4 + column).tolist()
        assert out[32:].tolist() == np.where((T >= 2) & (T < 7), T - 2, 0).tolist()


# --------------------------------------------------------------------------- counts


def test_counts_are_exact(tmp_path: Path):
    text = """__global__ void k(int* out, int n) {
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t >= n) return;
        for (int i = 0; i < (t & 3); ++i) { out[t] += i; }
        out[t] = t % 2 ? out[t] : 1;
    }"""
    ran = run_kernel(tmp_path, text, np.zeros(100, np.int32), 100, grid=2, block=64)
    threads, warps = ran.execution.thread_counts, ran.execution.warp_counts
    statements = list(ir.walk_statements(ran.kernel.body))
    (branch,) = (s for s in statements if isinstance(s, ir.If))
    (loop,) = (s for s in statements if isinstance(s, ir.Loop))
    select = next(e for e in ir.expressions_below(ran.kernel.body) if isinstance(e, ir.Select))
    assert (threads[branch.region], threads[branch.then.region]) == (128, 28)
    assert (warps[branch.region], warps[branch.then.region]) == (4, 1)
    assert (threads[loop.region], threads[loop.body.region]) == (100, 150)
    assert (threads[loop.test_region], threads[loop.step_region]) == (250, 150)
    assert (warps[loop.test_region], warps[loop.body.region]) == (16, 12)
    assert (threads[select.then_region], threads[select.otherwise_region]) == (50, 50)
    assert warps[select.then_region] == 4
    assert ran.execution.thread_instructions > 150
