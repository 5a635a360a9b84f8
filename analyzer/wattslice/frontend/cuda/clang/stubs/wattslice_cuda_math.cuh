// Mathematical functions and intrinsics (CUDA Math API), declared only: the analyzer knows them by name. Plain
// ones are rows of analyzer/wattslice/ir/builtins.py, from which `wattslice_builtins.cuh` is made for each parse.
#pragma once

// one / two / three arguments of type T under the name F
#define WS_1(T, F) WS_HD T F(T);
#define WS_2(T, F) WS_HD T F(T, T);
#define WS_3(T, F) WS_HD T F(T, T, T);
#define WS_BOTH_1(F) WS_C WS_1(double, F) WS_C WS_1(float, F##f) WS_OVERLOAD_1(F)
#define WS_BOTH_2(F) WS_C WS_2(double, F) WS_C WS_2(float, F##f) WS_OVERLOAD_2(F)
#define WS_BOTH_3(F) WS_C WS_3(double, F) WS_C WS_3(float, F##f) WS_OVERLOAD_3(F)
#define WS_C extern "C"
// C++ overloads: float, and double for integer arguments
#define WS_INTEGERS(M, F) M(int, F) M(unsigned, F) M(long, F) M(unsigned long, F) M(long long, F)             \
                          M(unsigned long long, F)
#define WS_DOUBLE_OF_1(T, F) WS_HD double F(T);
#define WS_OVERLOAD_1(F) WS_1(float, F) WS_INTEGERS(WS_DOUBLE_OF_1, F)
#define WS_OVERLOAD_2(F) WS_1OF2(F)
#define WS_1OF2(F) WS_2(float, F) WS_HD double F(float, double); WS_HD double F(double, float);               \
                   WS_MIXED(F, int) WS_MIXED(F, unsigned) WS_MIXED(F, long) WS_MIXED(F, unsigned long)
#define WS_MIXED(F, I) WS_HD double F(double, I); WS_HD double F(I, double); WS_HD double F(I, I);            \
                       WS_HD double F(float, I); WS_HD double F(I, float);
#define WS_OVERLOAD_3(F) WS_3(float, F)

WS_C WS_HD double norm4d(double, double, double, double); WS_C WS_HD double rnorm4d(double, double, double, double);
WS_C WS_HD float norm4df(float, float, float, float); WS_C WS_HD float rnorm4df(float, float, float, float);

#define WS_SPLIT(T, S)                                                                                       \
  WS_C WS_HD void sincos##S(T, T*, T*); WS_C WS_HD void sincospi##S(T, T*, T*);                              \
  WS_C WS_HD T frexp##S(T, int*); WS_C WS_HD T ldexp##S(T, int); WS_C WS_HD T scalbn##S(T, int);             \
  WS_C WS_HD T modf##S(T, T*); WS_C WS_HD T remquo##S(T, T, int*); WS_C WS_HD int ilogb##S(T);               \
  WS_C WS_HD long lrint##S(T); WS_C WS_HD long lround##S(T); WS_C WS_HD long long llrint##S(T);              \
  WS_C WS_HD long long llround##S(T); WS_C WS_HD T jn##S(int, T); WS_C WS_HD T yn##S(int, T);                \
  WS_C WS_HD T nan##S(const char*); WS_C WS_HD T scalbln##S(T, long); WS_C WS_HD T norm##S(int, const T*);   \
  WS_C WS_HD T rnorm##S(int, const T*);
WS_SPLIT(double, ) WS_SPLIT(float, f)
WS_HD float frexp(float, int*); WS_HD float ldexp(float, int); WS_HD float modf(float, float*);
WS_HD float scalbn(float, int); WS_HD void sincos(float, float*, float*);

WS_C WS_HD int abs(int); WS_C WS_HD long labs(long); WS_C WS_HD long long llabs(long long);
WS_HD long abs(long); WS_HD long long abs(long long); WS_HD float abs(float); WS_HD double abs(double);

#define WS_CLASSIFY(F) WS_HD bool F(float); WS_HD bool F(double); WS_HD bool F(int);

#define WS_MINMAX(T) WS_HD T min(T, T); WS_HD T max(T, T);
WS_MINMAX(int) WS_MINMAX(unsigned) WS_MINMAX(long) WS_MINMAX(unsigned long) WS_MINMAX(long long)
WS_MINMAX(unsigned long long) WS_MINMAX(float) WS_MINMAX(double)
#define WS_MINMAX_MIXED(R, A, B) WS_HD R min(A, B); WS_HD R max(A, B); WS_HD R min(B, A); WS_HD R max(B, A);
WS_MINMAX_MIXED(unsigned, int, unsigned) WS_MINMAX_MIXED(unsigned long, long, unsigned long)
WS_MINMAX_MIXED(unsigned long long, long long, unsigned long long) WS_MINMAX_MIXED(double, float, double)
WS_HD unsigned umin(unsigned, unsigned); WS_HD unsigned umax(unsigned, unsigned);
WS_HD long long llmin(long long, long long); WS_HD long long llmax(long long, long long);
WS_HD unsigned long long ullmin(unsigned long long, unsigned long long);
WS_HD unsigned long long ullmax(unsigned long long, unsigned long long);

#define WS_D1(T, F) WS_D T F(T);
#define WS_D2(T, F) WS_D T F(T, T);
#define WS_D3(T, F) WS_D T F(T, T, T);

// explicit rounding
#define WS_ROUNDED(T, P, R)                                                                                  \
  WS_D2(T, __##P##add_##R) WS_D2(T, __##P##sub_##R) WS_D2(T, __##P##mul_##R) WS_D2(T, __##P##div_##R)
#define WS_ROUND_ALL(R)                                                                                      \
  WS_ROUNDED(float, f, R) WS_ROUNDED(double, d, R) WS_D3(float, __fmaf_##R) WS_D3(double, __fma_##R)         \
  WS_D3(float, __fmaf_ieee_##R)                                                                              \
  WS_D1(float, __frcp_##R) WS_D1(float, __fsqrt_##R) WS_D1(double, __drcp_##R) WS_D1(double, __dsqrt_##R)    \
  WS_D int __float2int_##R(float); WS_D unsigned __float2uint_##R(float);                                    \
  WS_D long long __float2ll_##R(float); WS_D unsigned long long __float2ull_##R(float);                      \
  WS_D int __double2int_##R(double); WS_D unsigned __double2uint_##R(double);                                \
  WS_D long long __double2ll_##R(double); WS_D unsigned long long __double2ull_##R(double);                  \
  WS_D float __double2float_##R(double); WS_D float __int2float_##R(int);                                    \
  WS_D float __uint2float_##R(unsigned); WS_D float __ll2float_##R(long long);                               \
  WS_D float __ull2float_##R(unsigned long long); WS_D double __ll2double_##R(long long);                    \
  WS_D double __ull2double_##R(unsigned long long); WS_D double __int2double_##R(int);                       \
  WS_D double __uint2double_##R(unsigned);
WS_ROUND_ALL(rn) WS_ROUND_ALL(rz) WS_ROUND_ALL(ru) WS_ROUND_ALL(rd)

WS_D int __hadd(int, int);

// packed 8 and 16 bit arithmetic
#define WS_PACKED(F) WS_D unsigned F##2(unsigned, unsigned); WS_D unsigned F##4(unsigned, unsigned);
WS_PACKED(__vadd) WS_PACKED(__vsub) WS_PACKED(__vaddss) WS_PACKED(__vaddus) WS_PACKED(__vsubss)
WS_PACKED(__vsubus) WS_PACKED(__vavgs) WS_PACKED(__vavgu) WS_PACKED(__vmaxs) WS_PACKED(__vmaxu)
WS_PACKED(__vmins) WS_PACKED(__vminu) WS_PACKED(__vcmpeq) WS_PACKED(__vcmpne) WS_PACKED(__vcmpgts)
WS_PACKED(__vcmpgtu) WS_PACKED(__vcmpges) WS_PACKED(__vcmpgeu) WS_PACKED(__vcmplts) WS_PACKED(__vcmpltu)
WS_PACKED(__vcmples) WS_PACKED(__vcmpleu) WS_PACKED(__vseteq) WS_PACKED(__vsetne) WS_PACKED(__vabsdiffs)
WS_PACKED(__vabsdiffu) WS_PACKED(__vsads) WS_PACKED(__vsadu) WS_PACKED(__vhaddu)
#define WS_PACKED_1(F) WS_D unsigned F##2(unsigned); WS_D unsigned F##4(unsigned);
WS_PACKED_1(__vabs) WS_PACKED_1(__vneg) WS_PACKED_1(__vabsss) WS_PACKED_1(__vnegss)
