// 8-bit floating point types (CUDA Math API): every conversion is one call.
#pragma once
#include "wattslice_fp16.cuh"
typedef unsigned char __nv_fp8_storage_t; typedef unsigned short __nv_fp8x2_storage_t; typedef unsigned __nv_fp8x4_storage_t;
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 }; enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
WS_HD __nv_fp8_storage_t __nv_cvt_float_to_fp8(float, __nv_saturation_t, __nv_fp8_interpretation_t); WS_HD __nv_fp8_storage_t __nv_cvt_double_to_fp8(double, __nv_saturation_t, __nv_fp8_interpretation_t);
WS_HD __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2, __nv_saturation_t, __nv_fp8_interpretation_t); WS_HD float __nv_cvt_fp8_to_float(__nv_fp8_storage_t, __nv_fp8_interpretation_t);
WS_HD __half __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t, __nv_fp8_interpretation_t); WS_HD __half2 __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t, __nv_fp8_interpretation_t);
#define WS_FP8(N, K) struct N { __nv_fp8_storage_t __x; N() = default; \
  WS_HD explicit N(float f) : __x(__nv_cvt_float_to_fp8(f, __NV_SATFINITE, K)) {} WS_HD explicit N(double f) : __x(__nv_cvt_double_to_fp8(f, __NV_SATFINITE, K)) {} \
  WS_HD explicit N(__half f) : __x(__nv_cvt_float_to_fp8((float)f, __NV_SATFINITE, K)) {} WS_HD explicit operator float() const { return __nv_cvt_fp8_to_float(__x, K); } \
  WS_HD explicit operator __half() const { return __nv_cvt_fp8_to_halfraw(__x, K); } };
WS_FP8(__nv_fp8_e4m3, __NV_E4M3) WS_FP8(__nv_fp8_e5m2, __NV_E5M2)
#define WS_FP8X2(N, K) struct N { __nv_fp8x2_storage_t __x; N() = default; WS_HD explicit N(float2 f) : __x(__nv_cvt_float2_to_fp8x2(f, __NV_SATFINITE, K)) {} };
WS_FP8X2(__nv_fp8x2_e4m3, __NV_E4M3) WS_FP8X2(__nv_fp8x2_e5m2, __NV_E5M2)
