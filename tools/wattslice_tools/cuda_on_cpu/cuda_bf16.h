// Stands in for CUDA's header of this name: bfloat16, the upper half of a single precision number.
#pragma once

#include "cuda_fp16.h"

struct __nv_bfloat16 {
    uint16_t upper;
    __nv_bfloat16() = default;
    __nv_bfloat16(float x) {  // to the nearest, ties to even
        const uint32_t whole = cuda_on_cpu::bits<uint32_t>(x);
        upper = std::isnan(x) ? 0x7fff : static_cast<uint16_t>((whole + 0x7fff + (whole >> 16 & 1)) >> 16);
    }
    __nv_bfloat16(double x) : __nv_bfloat16(static_cast<float>(x)) {}
    __nv_bfloat16(int x) : __nv_bfloat16(static_cast<float>(x)) {}
    operator float() const { return cuda_on_cpu::bits<float>(uint32_t{upper} << 16); }
    __nv_bfloat16& operator+=(__nv_bfloat16 other) { return *this = float(*this) + float(other); }
    __nv_bfloat16& operator-=(__nv_bfloat16 other) { return *this = float(*this) - float(other); }
    __nv_bfloat16& operator*=(__nv_bfloat16 other) { return *this = float(*this) * float(other); }
};
using nv_bfloat16 = __nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
using nv_bfloat162 = __nv_bfloat162;

inline __nv_bfloat16 operator+(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) + float(b); }
inline __nv_bfloat16 operator-(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) - float(b); }
inline __nv_bfloat16 operator*(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) * float(b); }
inline __nv_bfloat16 operator/(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) / float(b); }
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return cuda_on_cpu::bits<__nv_bfloat16>(x); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.upper; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline float __low2float(__nv_bfloat162 v) { return v.x; }
inline float __high2float(__nv_bfloat162 v) { return v.y; }
inline __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
inline __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
inline __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x + b.x, a.y + b.y}; }

// With hints for the cache.
inline __nv_bfloat16 __ldcs(const __nv_bfloat16* address) { return *address; }
inline void __stcs(__nv_bfloat16* address, __nv_bfloat16 value) { *address = value; }
