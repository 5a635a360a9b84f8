// Half and bfloat16: types, conversions, operators and intrinsics (CUDA Math API), declared only.
#pragma once

struct __half_raw { unsigned short x; };
struct __half2_raw { unsigned short x, y; };
struct __nv_bfloat16_raw { unsigned short x; };

// H: the scalar, V: the pair
#define WS_HALF_TYPES(H, V, RAW)                                                                             \
  struct __attribute__((aligned(2))) H {                                                                     \
    unsigned short x;                                                                                        \
    H() = default;                                                                                           \
    WS_HD constexpr H(RAW r) : x(r.x) {}                                                                     \
    WS_HD H(float); WS_HD H(double); WS_HD H(int); WS_HD H(unsigned); WS_HD H(long); WS_HD H(unsigned long); \
    WS_HD H(short); WS_HD H(unsigned short); WS_HD H(long long); WS_HD H(unsigned long long);                \
    WS_HD operator float() const; WS_HD explicit operator int() const; WS_HD explicit operator bool() const; \
    WS_HD explicit operator unsigned() const; WS_HD explicit operator short() const;                         \
    WS_HD explicit operator signed char() const; WS_HD explicit operator unsigned char() const;              \
    WS_HD H& operator=(float); WS_HD H& operator=(double); WS_HD H& operator=(int);                          \
  };                                                                                                         \
  struct __attribute__((aligned(4))) V {                                                                     \
    H x, y; V() = default; WS_HD constexpr V(const H& a, const H& b) : x(a), y(b) {}                         \
  };                                                                                                         \
  WS_HALF_OPERATORS(H) WS_HALF_OPERATORS(V)

#define WS_HALF_OPERATORS(H)                                                                                 \
  WS_HD H operator+(const H&, const H&); WS_HD H operator-(const H&, const H&);                              \
  WS_HD H operator*(const H&, const H&); WS_HD H operator/(const H&, const H&);                              \
  WS_HD H& operator+=(H&, const H&); WS_HD H& operator-=(H&, const H&); WS_HD H& operator*=(H&, const H&);   \
  WS_HD H& operator/=(H&, const H&); WS_HD H operator-(const H&); WS_HD H operator+(const H&);               \
  WS_HD bool operator==(const H&, const H&); WS_HD bool operator!=(const H&, const H&);                      \
  WS_HD bool operator<(const H&, const H&); WS_HD bool operator>(const H&, const H&);                        \
  WS_HD bool operator<=(const H&, const H&); WS_HD bool operator>=(const H&, const H&);

WS_HALF_TYPES(__half, __half2, __half_raw)
WS_HALF_TYPES(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw)
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define WS_HALF_FUNCTIONS(H, V)                                                                              \
  WS_HALF_BOTH_2(H, V, __hadd) WS_HALF_BOTH_2(H, V, __hsub) WS_HALF_BOTH_2(H, V, __hmul)                     \
  WS_HALF_BOTH_2(H, V, __hadd_sat) WS_HALF_BOTH_2(H, V, __hsub_sat) WS_HALF_BOTH_2(H, V, __hmul_sat)         \
  WS_HALF_BOTH_2(H, V, __hadd_rn) WS_HALF_BOTH_2(H, V, __hsub_rn) WS_HALF_BOTH_2(H, V, __hmul_rn)            \
  WS_HALF_BOTH_2(H, V, __hmax) WS_HALF_BOTH_2(H, V, __hmin) WS_HALF_BOTH_2(H, V, __hmax_nan)                 \
  WS_HALF_BOTH_2(H, V, __hmin_nan)                                                                           \
  WS_D H __hdiv(H, H); WS_D V __h2div(V, V); WS_D H __hfma(H, H, H); WS_D V __hfma2(V, V, V);                \
  WS_D H __hfma_sat(H, H, H); WS_D V __hfma2_sat(V, V, V); WS_D H __hfma_relu(H, H, H);                      \
  WS_D V __hfma2_relu(V, V, V); WS_D V __hcmadd(V, V, V); WS_D H __hneg(H); WS_D V __hneg2(V);               \
  WS_D H __habs(H); WS_D V __habs2(V); WS_D bool __hisnan(H); WS_D int __hisinf(H); WS_D V __hisnan2(V);     \
  WS_HALF_COMPARE(H, V, eq) WS_HALF_COMPARE(H, V, ne) WS_HALF_COMPARE(H, V, lt) WS_HALF_COMPARE(H, V, le)    \
  WS_HALF_COMPARE(H, V, gt) WS_HALF_COMPARE(H, V, ge) WS_HALF_COMPARE(H, V, equ) WS_HALF_COMPARE(H, V, ltu)  \
  WS_HALF_COMPARE(H, V, gtu)                                                                                 \
  WS_HALF_MATH(H, V, sqrt) WS_HALF_MATH(H, V, rsqrt) WS_HALF_MATH(H, V, rcp) WS_HALF_MATH(H, V, exp)         \
  WS_HALF_MATH(H, V, exp2) WS_HALF_MATH(H, V, exp10) WS_HALF_MATH(H, V, log) WS_HALF_MATH(H, V, log2)        \
  WS_HALF_MATH(H, V, log10) WS_HALF_MATH(H, V, sin) WS_HALF_MATH(H, V, cos) WS_HALF_MATH(H, V, floor)        \
  WS_HALF_MATH(H, V, ceil) WS_HALF_MATH(H, V, rint) WS_HALF_MATH(H, V, trunc)                                \
  WS_D H atomicAdd(H*, H); WS_D V atomicAdd(V*, V); WS_CACHED(H) WS_CACHED(V) WS_SHUFFLES(H) WS_SHUFFLES(V)  \
  WS_CAS(H)
#define WS_HALF_BOTH_2(H, V, F) WS_D H F(H, H); WS_HALF_PAIR(V, F)
#define WS_HALF_PAIR(V, F) WS_HALF_PAIR_(V, F)
#define WS_HALF_PAIR_(V, F) WS_D V F##2(V, V);
#define WS_HALF_COMPARE(H, V, C) WS_D bool __h##C(H, H); WS_D V __h##C##2(V, V); WS_D bool __hb##C##2(V, V);
#define WS_HALF_MATH(H, V, F) WS_D H h##F(H); WS_D V h2##F(V);
WS_HALF_FUNCTIONS(__half, __half2)
WS_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)

// conversions; N is how the name spells the type, P how it spells the pair
#define WS_HALF_CONVERT(H, V, N, P)                                                                          \
  WS_HD H __float2##N(float); WS_HD H __float2##N##_rn(float); WS_HD H __float2##N##_rz(float);              \
  WS_HD H __float2##N##_ru(float); WS_HD H __float2##N##_rd(float); WS_HD H __double2##N(double);            \
  WS_HD float __##N##2float(H); WS_HD V __float2##P##_rn(float); WS_HD V __floats2##P##_rn(float, float);    \
  WS_HD V __float22##P##_rn(float2); WS_D V __##N##2##P(H);                 \
  WS_D V __##N##s2##P(H, H); WS_D V make_##P(H, H); WS_D int __##N##2int_rn(H); WS_D int __##N##2int_rz(H);  \
  WS_D int __##N##2int_rd(H); WS_D int __##N##2int_ru(H); WS_D unsigned __##N##2uint_rn(H);                  \
  WS_D H __int2##N##_rn(int); WS_D H __uint2##N##_rn(unsigned); WS_D H __short2##N##_rn(short);              \
  WS_D H __ushort2##N##_rn(unsigned short); WS_D short __##N##2short_rn(H); WS_D H __ll2##N##_rn(long long); \
  WS_D short __##N##_as_short(H); WS_D unsigned short __##N##_as_ushort(H); WS_D H __short_as_##N(short);    \
  WS_D H __ushort_as_##N(unsigned short);
WS_HALF_CONVERT(__half, __half2, half, half2)
WS_HALF_CONVERT(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)
WS_D __half2 __halves2half2(__half, __half); WS_D __nv_bfloat162 __halves2bfloat162(__nv_bfloat16, __nv_bfloat16);
WS_D __nv_bfloat162 __lows2bfloat162(__nv_bfloat162, __nv_bfloat162);
WS_D __nv_bfloat162 __highs2bfloat162(__nv_bfloat162, __nv_bfloat162);
WS_D __nv_bfloat162 __low2bfloat162(__nv_bfloat162); WS_D __nv_bfloat162 __high2bfloat162(__nv_bfloat162);
WS_HD float2 __half22float2(__half2);
WS_HD float2 __bfloat1622float2(__nv_bfloat162);
WS_HD float __low2float(__half2); WS_HD float __high2float(__half2);
WS_HD float __low2float(__nv_bfloat162); WS_HD float __high2float(__nv_bfloat162);
WS_D __half __low2half(__half2); WS_D __half __high2half(__half2);
WS_D __nv_bfloat16 __low2bfloat16(__nv_bfloat162); WS_D __nv_bfloat16 __high2bfloat16(__nv_bfloat162);
WS_D __half2 __low2half2(__half2); WS_D __half2 __high2half2(__half2); WS_D __half2 __lowhigh2highlow(__half2);
WS_D __half2 __lows2half2(__half2, __half2); WS_D __half2 __highs2half2(__half2, __half2);
#define CUDART_INF_FP16 __ushort_as_half((unsigned short)0x7C00U)
#define CUDART_ZERO_FP16 __ushort_as_half((unsigned short)0x0000U)
#define CUDART_ONE_FP16 __ushort_as_half((unsigned short)0x3C00U)
