// Device functions of one thread: arithmetic, bits, loads and stores with hints, atomics, barriers.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "launch.h"

// ---- barriers and fences ----
inline void __syncthreads() { cuda_on_cpu::blockBarrier(false); }
inline int __syncthreads_count(int predicate) { return cuda_on_cpu::blockBarrier(predicate != 0).yes; }
inline int __syncthreads_or(int predicate) { return cuda_on_cpu::blockBarrier(predicate != 0).yes > 0; }
inline int __syncthreads_and(int predicate) {
    const cuda_on_cpu::Votes votes = cuda_on_cpu::blockBarrier(predicate != 0);
    return votes.yes == votes.threads;
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) { cuda_on_cpu::yield(); }
[[noreturn]] inline void __trap() { abort(); }
// The host's time in nanoseconds: code that waits for a clock goes on.
inline long long clock64() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}
inline unsigned long long __globaltimer() { return static_cast<unsigned long long>(clock64()); }
inline void __prof_trigger(int) {}
inline void __brkpt() {}
inline unsigned __isGlobal(const void*) { return 1; }
inline size_t __cvta_generic_to_shared(const void* address) { return reinterpret_cast<size_t>(address); }
inline size_t __cvta_generic_to_global(const void* address) { return reinterpret_cast<size_t>(address); }

// ---- reinterpretation of bits ----
namespace cuda_on_cpu {
template <class To, class From>
To bits(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To result;
    memcpy(&result, &value, sizeof result);
    return result;
}
}  // namespace cuda_on_cpu
inline int __float_as_int(float x) { return cuda_on_cpu::bits<int>(x); }
inline float __int_as_float(int x) { return cuda_on_cpu::bits<float>(x); }
inline unsigned __float_as_uint(float x) { return cuda_on_cpu::bits<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return cuda_on_cpu::bits<float>(x); }
inline long long __double_as_longlong(double x) { return cuda_on_cpu::bits<long long>(x); }
inline double __longlong_as_double(long long x) { return cuda_on_cpu::bits<double>(x); }

// ---- conversions with a rounding mode: n nearest even, z zero, d down, u up ----
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline int __float2int_rd(float x) { return static_cast<int>(std::floor(x)); }
inline int __float2int_ru(float x) { return static_cast<int>(std::ceil(x)); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(std::nearbyint(x)); }
inline unsigned __float2uint_rz(float x) { return static_cast<unsigned>(x); }
inline unsigned __float2uint_rd(float x) { return static_cast<unsigned>(std::floor(x)); }
inline unsigned __float2uint_ru(float x) { return static_cast<unsigned>(std::ceil(x)); }
inline long long __float2ll_rn(float x) { return static_cast<long long>(std::nearbyint(x)); }
inline long long __float2ll_rz(float x) { return static_cast<long long>(x); }
inline unsigned long long __float2ull_rn(float x) { return static_cast<unsigned long long>(std::nearbyint(x)); }
inline long long __double2ll_rn(double x) { return static_cast<long long>(std::nearbyint(x)); }
inline long long __double2ll_rz(double x) { return static_cast<long long>(x); }
inline unsigned __double2uint_rn(double x) { return static_cast<unsigned>(std::nearbyint(x)); }
inline unsigned __double2uint_rz(double x) { return static_cast<unsigned>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline double __ll2double_rn(long long x) { return static_cast<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(cuda_on_cpu::bits<uint64_t>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(cuda_on_cpu::bits<uint64_t>(x)); }
inline double __hiloint2double(int high, int low) {
    return cuda_on_cpu::bits<double>(uint64_t{static_cast<unsigned>(high)} << 32 | static_cast<unsigned>(low));
}
inline int __double2int_rn(double x) { return static_cast<int>(std::nearbyint(x)); }
inline int __double2int_rz(double x) { return static_cast<int>(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

// ---- floating point ----
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0f, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline void __sincosf(float x, float* s, float* c) {
    *s = std::sin(x);
    *c = std::cos(x);
}
inline float __fdividef(float x, float y) { return x / y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frsqrt_rn(float x) { return 1.0f / std::sqrt(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline float fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return std::fmin(std::fmax(x, 0.0f), 1.0f); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float rcbrtf(float x) { return 1.0f / std::cbrt(x); }
inline float sinpif(float x) { return static_cast<float>(std::sin(M_PI * x)); }
inline float cospif(float x) { return static_cast<float>(std::cos(M_PI * x)); }
inline double sinpi(double x) { return std::sin(M_PI * x); }
inline double cospi(double x) { return std::cos(M_PI * x); }
inline void sincospif(float x, float* s, float* c) {
    *s = sinpif(x);
    *c = cospif(x);
}
inline float normcdff(float x) { return 0.5f * std::erfc(-x * static_cast<float>(M_SQRT1_2)); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }
inline float norm3df(float x, float y, float z) { return std::sqrt(x * x + y * y + z * z); }
inline float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }

// ---- whole numbers ----
template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline unsigned long long __brevll(unsigned long long x) {
    unsigned long long result = 0;
    for (int bit = 0; bit < 64; ++bit) {
        result |= (x >> bit & 1u) << (63 - bit);
    }
    return result;
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned result = 0;
    for (int bit = 0; bit < 32; ++bit) {
        result |= (x >> bit & 1u) << (31 - bit);
    }
    return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>(((uint64_t{high} << 32 | low) << (shift & 31u)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (shift & 31u));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const uint64_t bytes = uint64_t{y} << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        result |= static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7u)) & 0xffu) << (8 * i);
    }
    return result;
}
inline int __mulhi(int a, int b) { return static_cast<int>(int64_t{a} * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) { return (a << 8 >> 8) * (b << 8 >> 8); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline unsigned __sad(int a, int b, unsigned c) { return c + static_cast<unsigned>(a < b ? b - a : a - b); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>(static_cast<__int128>(a) * b >> 64); }
inline int __hadd(int a, int b) { return static_cast<int>((int64_t{a} + b) >> 1); }
inline int __rhadd(int a, int b) { return static_cast<int>((int64_t{a} + b + 1) >> 1); }
inline unsigned umin(unsigned a, unsigned b) { return b < a ? b : a; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline unsigned __usad4(unsigned a, unsigned b) {
    unsigned sum = 0;
    for (int shift = 0; shift < 32; shift += 8) {
        sum += std::abs(static_cast<int>(a >> shift & 0xffu) - static_cast<int>(b >> shift & 0xffu));
    }
    return sum;
}
inline int __dp4a(int a, int b, int c) {
    for (int shift = 0; shift < 32; shift += 8) {
        c += static_cast<int8_t>(a >> shift) * static_cast<int8_t>(b >> shift);
    }
    return c;
}

// ---- loads and stores with cache hints ----
#define CUDA_ON_CPU_LOAD(NAME)            \
    template <class T>                    \
    T NAME(const T* address) {            \
        return *address;                  \
    }
#define CUDA_ON_CPU_STORE(NAME)           \
    template <class T>                    \
    void NAME(T* address, T value) {      \
        *address = value;                 \
    }
CUDA_ON_CPU_LOAD(__ldg)
CUDA_ON_CPU_LOAD(__ldca)
CUDA_ON_CPU_LOAD(__ldcg)
CUDA_ON_CPU_LOAD(__ldcs)
CUDA_ON_CPU_LOAD(__ldcv)
CUDA_ON_CPU_LOAD(__ldlu)
CUDA_ON_CPU_STORE(__stcg)
CUDA_ON_CPU_STORE(__stcs)
CUDA_ON_CPU_STORE(__stwb)
CUDA_ON_CPU_STORE(__stwt)

// ---- atomics: only one thread runs at a time ----
namespace cuda_on_cpu {
template <class T>
struct Itself {
    using type = T;
};
// Not deduced: atomicAdd(&aFloat, 1) converts as a call of the overload for float does.
template <class T>
using Value = typename Itself<std::remove_volatile_t<T>>::type;

template <class T, class Change>
std::remove_volatile_t<T> update(T* address, Change change) {
    const std::remove_volatile_t<T> old = *address;
    *address = change(old);
    return old;
}
}  // namespace cuda_on_cpu

#define CUDA_ON_CPU_ATOMIC(NAME, CHANGED)                                                                   \
    template <class T>                                                                                      \
    std::remove_volatile_t<T> NAME(T* address, cuda_on_cpu::Value<T> value) {                               \
        return cuda_on_cpu::update(address, [value](cuda_on_cpu::Value<T> old) -> cuda_on_cpu::Value<T> { \
            return CHANGED;                                                                                 \
        });                                                                                                 \
    }                                                                                                       \
    template <class T>                                                                                      \
    std::remove_volatile_t<T> NAME##_block(T* address, cuda_on_cpu::Value<T> value) {                       \
        return NAME(address, value);                                                                        \
    }                                                                                                       \
    template <class T>                                                                                      \
    std::remove_volatile_t<T> NAME##_system(T* address, cuda_on_cpu::Value<T> value) {                      \
        return NAME(address, value);                                                                        \
    }
CUDA_ON_CPU_ATOMIC(atomicAdd, old + value)
CUDA_ON_CPU_ATOMIC(atomicSub, old - value)
CUDA_ON_CPU_ATOMIC(atomicExch, value)
CUDA_ON_CPU_ATOMIC(atomicMin, old < value ? old : value)
CUDA_ON_CPU_ATOMIC(atomicMax, old < value ? value : old)
CUDA_ON_CPU_ATOMIC(atomicAnd, old & value)
CUDA_ON_CPU_ATOMIC(atomicOr, old | value)
CUDA_ON_CPU_ATOMIC(atomicXor, old ^ value)
CUDA_ON_CPU_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
CUDA_ON_CPU_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)

template <class T>
std::remove_volatile_t<T> atomicCAS(T* address, cuda_on_cpu::Value<T> expected, cuda_on_cpu::Value<T> value) {
    const std::remove_volatile_t<T> old = *address;
    if (old == expected) {
        *address = value;
    } else {
        cuda_on_cpu::yield();  // a lock that another thread holds
    }
    return old;
}
template <class T>
std::remove_volatile_t<T> atomicCAS_system(T* address, cuda_on_cpu::Value<T> expected, cuda_on_cpu::Value<T> value) {
    return atomicCAS(address, expected, value);
}
template <class T>
std::remove_volatile_t<T> atomicCAS_block(T* address, cuda_on_cpu::Value<T> expected, cuda_on_cpu::Value<T> value) {
    return atomicCAS(address, expected, value);
}
