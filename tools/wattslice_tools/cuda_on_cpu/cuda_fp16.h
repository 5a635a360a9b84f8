// Stands in for CUDA's header of this name: half precision on the compiler's own 16-bit type.
#pragma once

#include "cuda_runtime.h"

struct __half {
    _Float16 value;
    __half() = default;
    __half(float x) : value(static_cast<_Float16>(x)) {}
    __half(double x) : value(static_cast<_Float16>(x)) {}
    __half(int x) : value(static_cast<_Float16>(x)) {}
    operator float() const { return static_cast<float>(value); }
    __half& operator+=(__half other) { return *this = __half(float(*this) + float(other)); }
    __half& operator-=(__half other) { return *this = __half(float(*this) - float(other)); }
    __half& operator*=(__half other) { return *this = __half(float(*this) * float(other)); }
    __half& operator/=(__half other) { return *this = __half(float(*this) / float(other)); }
};
using half = __half;

struct alignas(4) __half2 {
    __half x, y;
    __half2() = default;
    __half2(__half low, __half high) : x(low), y(high) {}
};
using half2 = __half2;

// Sums and products of halves are exact enough in single precision that rounding twice changes nothing.
inline __half operator+(__half a, __half b) { return float(a) + float(b); }
inline __half operator-(__half a, __half b) { return float(a) - float(b); }
inline __half operator*(__half a, __half b) { return float(a) * float(b); }
inline __half operator/(__half a, __half b) { return float(a) / float(b); }
inline __half operator-(__half a) { return -float(a); }
inline bool operator<(__half a, __half b) { return float(a) < float(b); }
inline bool operator>(__half a, __half b) { return float(a) > float(b); }
inline bool operator<=(__half a, __half b) { return float(a) <= float(b); }
inline bool operator>=(__half a, __half b) { return float(a) >= float(b); }
inline bool operator==(__half a, __half b) { return float(a) == float(b); }
inline bool operator!=(__half a, __half b) { return float(a) != float(b); }

inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __double2half(double x) { return x; }
inline __half __int2half_rn(int x) { return static_cast<float>(x); }
inline float __half2float(__half x) { return x; }
inline __half __ushort_as_half(unsigned short x) { return cuda_on_cpu::bits<__half>(x); }
inline unsigned short __half_as_ushort(__half x) { return cuda_on_cpu::bits<unsigned short>(x); }

inline __half __hadd(__half a, __half b) { return a + b; }
inline __half __hsub(__half a, __half b) { return a - b; }
inline __half __hmul(__half a, __half b) { return a * b; }
inline __half __hdiv(__half a, __half b) { return a / b; }
inline __half __hneg(__half a) { return -a; }
inline __half __habs(__half a) { return std::fabs(float(a)); }
inline __half __hmax(__half a, __half b) { return std::fmax(float(a), float(b)); }
inline __half __hmin(__half a, __half b) { return std::fmin(float(a), float(b)); }
inline __half __hfma(__half a, __half b, __half c) { return double(float(a)) * float(b) + float(c); }
inline bool __hgt(__half a, __half b) { return a > b; }
inline bool __hlt(__half a, __half b) { return a < b; }
inline __half hexp(__half a) { return std::exp(float(a)); }
inline __half hlog(__half a) { return std::log(float(a)); }
inline __half hsqrt(__half a) { return std::sqrt(float(a)); }
inline __half hrsqrt(__half a) { return 1.0f / std::sqrt(float(a)); }
inline __half hrcp(__half a) { return 1.0f / float(a); }

inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline float __low2float(__half2 v) { return v.x; }
inline float __high2float(__half2 v) { return v.y; }
inline __half2 __hadd2(__half2 a, __half2 b) { return {a.x + b.x, a.y + b.y}; }
inline __half2 __hsub2(__half2 a, __half2 b) { return {a.x - b.x, a.y - b.y}; }
inline __half2 __hmul2(__half2 a, __half2 b) { return {a.x * b.x, a.y * b.y}; }
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
inline __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
inline __half2 operator+(__half2 a, __half2 b) { return __hadd2(a, b); }
inline __half2 operator-(__half2 a, __half2 b) { return __hsub2(a, b); }
inline __half2 operator*(__half2 a, __half2 b) { return __hmul2(a, b); }
